# gibbs_sample(): Gibbs sampling from conditionals that the user writes.

#' Gibbs sampling from your own conditionals
#'
#' The general recipe: the unknowns are cut into blocks
#' \eqn{\theta_1, \dots, \theta_K}, and each block is drawn in turn from its
#' distribution given all the others,
#' \deqn{\theta_k \sim p(\theta_k \mid \theta_1, \dots, \theta_{k-1},
#'   \theta_{k+1}, \dots, \theta_K),}{theta_k ~ p(theta_k | all other blocks),}
#' where those that were drawn before it in the same sweep have their new
#' values. You write the draws; the chain, its random numbers, storage,
#' diagnostics, interruption and continuation are seen to.
#'
#' Each update leaves the joint distribution \eqn{p(\theta_1, \dots, \theta_K)}
#' invariant if the conditionals all belong to it: that is yours to see to.
#' Nothing can tell from conditionals that there is such a joint distribution,
#' nor that it is proper.
#'
#' @section Conditionals:
#' A conditional is a function of the whole current state, a named list with
#' one element a block, and returns a draw of its own block:
#' `function(state) rnorm(1, state$y, 1)`. It draws with R's own functions, on
#' the stream of its chain. Arguments given to `gibbs_sample()` in `...` are
#' passed on to those that take them.
#'
#' What it returns must be numbers (double, integer or logical, the last two
#' recorded as numbers) of the same length and dimensions as the block in
#' `init`, all finite, or the chain stops with an error that names the block and
#' the sweep. Integers stay integers in the state. Dimensions count: for a block
#' that is a plain vector a one-column matrix is an error
#' ([drop()] helps).
#'
#' The list that a function is given is its own: changing it changes nothing
#' outside, and a function that keeps it finds it as it was. A conditional may
#' run other samplers. It must not change the kind of random number generator,
#' which is an error, nor set a seed, which makes the chain repeat its numbers;
#' chains that have come to be copies of each other by that are warned of.
#'
#' @section Blocks without a closed form:
#' [mh_step()] in the place of a function updates its block by
#' Metropolis-Hastings steps on a log density, known up to a constant.
#'
#' @section Order of the blocks:
#' `scan = "systematic"` (default) updates the blocks in the order of
#' `conditionals`, each once a sweep; printing the fit shows it. `scan =
#' "random"` makes as many updates a sweep as there are blocks, each of a block
#' taken at random, with equal probabilities, independently of all before. The
#' chain is then reversible (Liu, Wong and Kong 1995); the systematic one is
#' usually the better one of the two (a sweep of the random one leaves a
#' block as it was with probability about 0.37).
#'
#' @section Search for the mode:
#' With `method = "icm"` (iterated conditional modes, Besag 1986) the functions
#' return the *modes* of the conditionals in place of draws. Blocks are set in
#' turn until the log joint density, if `log_joint` is given, rises no more, or
#' else until no number of the state changes by more than 1e-8 of its size. The
#' result is a point, not a posterior: an object of class `gibbsite_map`.
#'
#' @section Stored quantities:
#' A block that is a single number is a column of its name; one of more numbers
#' has columns `w[1]`, `w[2]`, ..., a matrix `Sigma[1,1]`, `Sigma[2,1]`, ...
#' `keep` says which blocks are stored.
#'
#' @section Speed:
#' A sweep costs about what the calls of your functions cost:
#' the loop around them is compiled and adds less than a microsecond a block.
#' Within them, R's functions fetch and store the state of the generator
#' each time they are called, about 5 microseconds for the Mersenne Twister: one
#' `rnorm(2)` is cheaper than two `rnorm(1)`.
#'
#' @param conditionals Named list with one element a block, in the order in
#'   which they are updated: a function of the state, or [mh_step()].
#' @param init Named list with the starting value of each block: finite numbers,
#'   a scalar, vector, matrix or array. It fixes the shapes. Every chain starts
#'   from it, unless `inits` says otherwise: an entry of `inits` is such a list
#'   with any of the blocks.
#' @param ... Further arguments of the conditionals, by name: each is given to
#'   the functions that have an argument of its name, or `...`.
#' @param scan `"systematic"` (default) or `"random"`.
#' @param method `"gibbs"` (default), or `"icm"` to search for a mode.
#' @param log_joint For `"icm"`: `NULL` (default), or a function of the state
#'   (and of `...`) that returns the log joint density up to a constant.
#' @param keep `NULL` (default) to store every block, or the names of those to
#'   store.
#' @inheritParams running
#' @return An object of class `gibbs_sample`, a `gibbsite_fit` and a
#'   [coda::mcmc.list]: one matrix of draws a chain. With `method = "icm"` an
#'   object of class `gibbsite_map` whose `estimate` is the state.
#' @section Errors:
#' Errors in the arguments have class `gibbsite_error_argument` and are raised
#' before any chain runs. A chain stops where a conditional fails or returns
#' what its block cannot be: an error of class `gibbsite_error_chain`, which
#' names the chain, the block and the sweep, and carries the other chains in
#' `$fit`.
#' @references
#' Gelfand AE, Smith AFM (1990). Sampling-based approaches to calculating
#' marginal densities. *Journal of the American Statistical Association* 85,
#' 398-409. \doi{10.1080/01621459.1990.10476213}
#'
#' Liu JS, Wong WH, Kong A (1995). Covariance structure and convergence rate of
#' the Gibbs sampler with various scans. *Journal of the Royal Statistical
#' Society B* 57, 157-169. \doi{10.1111/j.2517-6161.1995.tb02021.x}
#'
#' Besag J (1986). On the statistical analysis of dirty pictures. *Journal of
#' the Royal Statistical Society B* 48, 259-302.
#' \doi{10.1111/j.2517-6161.1986.tb01412.x}
#'
#' Rai P. *CS772A: Probabilistic Machine Learning*, "Gibbs sampling".
#' @seealso [mh_sample()] when there is a density and no conditionals.
#' @examples
#' # A normal distribution in the plane, mean (4, 4), variances 1 and
#' # correlation 0.8, from its two conditionals
#' fit <- gibbs_sample(
#'   list(
#'     z1 = function(state) rnorm(1, 4 + 0.8 * (state$z2 - 4), 0.6),
#'     z2 = function(state) rnorm(1, 4 + 0.8 * (state$z1 - 4), 0.6)
#'   ),
#'   init = list(z1 = 0, z2 = 0), burnin = 100, chains = 2, seed = 1
#' )
#' fit
#' summary(fit)
#'
#' # Linear regression: w ~ N(0, I / lambda), y | w ~ N(X w, 1 / beta),
#' # lambda and beta ~ Gamma(2, 1) (shape, rate)
#' X <- cbind(1, scale(as.matrix(mtcars[c("wt", "hp")])))
#' y <- drop(scale(mtcars$mpg))
#' conditionals <- list(
#'   w = function(state, X, y) {
#'     precision <- state$beta * crossprod(X) + diag(state$lambda, ncol(X))
#'     root <- chol(precision)
#'     mean <- backsolve(
#'       root, forwardsolve(t(root), state$beta * crossprod(X, y))
#'     )
#'     drop(mean + backsolve(root, rnorm(ncol(X))))
#'   },
#'   lambda = function(state, X, y) {
#'     rgamma(1, 2 + ncol(X) / 2, 1 + sum(state$w^2) / 2)
#'   },
#'   beta = function(state, X, y) {
#'     rgamma(1, 2 + length(y) / 2, 1 + sum((y - X %*% state$w)^2) / 2)
#'   }
#' )
#' fit <- gibbs_sample(
#'   conditionals, init = list(w = c(0, 0, 0), lambda = 1, beta = 1),
#'   X = X, y = y, draws = 500, burnin = 100, chains = 2, seed = 1
#' )
#' summary(fit)
#' @export
gibbs_sample <- function(conditionals, init, ...,
                         scan = c("systematic", "random"),
                         method = c("gibbs", "icm"), log_joint = NULL,
                         draws = 1000, burnin = 1000, thin = 1, chains = 4,
                         inits = NULL, keep = NULL, threads = 1,
                         cores = getOption("mc.cores", 1L), seed = NULL,
                         checkpoint = NULL, stop_when = NULL,
                         progress = interactive()) {
  call <- rlang::current_env()
  if (missing(conditionals)) {
    abort_needed("conditionals", "a named list of functions", call)
  }
  if (missing(init)) {
    abort_needed("init", "a named list with one element a block", call)
  }
  scan <- check_choice(scan, c("systematic", "random"))
  method <- check_choice(method, c("gibbs", "icm"))
  conditionals <- check_conditionals(conditionals, method, call)
  blocks <- names(conditionals)
  init <- check_init_blocks(init, blocks, call)
  check_log_joint(log_joint, method, call)
  arguments <- check_extra_arguments(
    list(...), c(conditionals, list(log_joint)), call
  )
  running <- running(
    draws = draws, burnin = burnin, thin = thin, chains = chains,
    inits = inits, keep = keep, threads = threads, cores = cores, seed = seed,
    checkpoint = checkpoint, stop_when = stop_when, progress = progress,
    keep_choices = blocks, call = call
  )
  check_steps_size(conditionals, init, running$chains, call)
  model <- gibbs_sample_model(
    conditionals, init, arguments, scan, running$keep, log_joint, call
  )
  if (method == "icm") {
    return(icm_search(model, running, match.call(), call))
  }
  run_chains(model, running, match.call(), call)
}
