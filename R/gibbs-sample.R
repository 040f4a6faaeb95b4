# gibbs_sample(): Gibbs sampling from conditionals that the user writes.

#' Gibbs sampling from your own conditionals
#'
#' The general recipe: the unknowns are cut into blocks
#' \eqn{\theta_1, \dots, \theta_K}, and each block is drawn in turn from its
#' distribution given all the others,
#' \deqn{\theta_k \sim p(\theta_k \mid \theta_1, \dots, \theta_{k-1},
#'   \theta_{k+1}, \dots, \theta_K),}{theta_k ~ p(theta_k | all other blocks),}
#' where blocks drawn earlier in the same sweep have their new values. You write
#' the functions that draw; the package runs the chains and handles random
#' numbers, storage, diagnostics, interruption and continuation.
#'
#' Each update leaves the joint distribution \eqn{p(\theta_1, \dots, \theta_K)}
#' invariant if all conditionals are those of this joint distribution. You must
#' make sure of this: the package cannot check that the conditionals have a
#' common joint distribution, nor that it is proper.
#'
#' @section Conditionals:
#' A conditional is a function of the whole current state, a named list with
#' one element a block, and returns a draw of its own block:
#' `function(state) rnorm(1, state$y, 1)`. It draws with R's own functions, on
#' the chain's stream of random numbers. Arguments given to `gibbs_sample()` in
#' `...` are passed to the conditionals that have arguments of these names.
#'
#' It must return finite numbers (double, integer or logical, the last two
#' recorded as numbers) of the same length and dimensions as the block in
#' `init`; elements with the names of `init` are in its order. Otherwise the
#' chain stops with an error that names the block and the sweep. Integers stay
#' integers in the state. For a block that is a plain vector a matrix of one
#' row, as [sample_mvnorm()] returns it, or of one column is taken as a vector.
#'
#' Each function gets its own copy of the list: changes to it have no effect
#' outside the function, and a copy that a function keeps does not change. A
#' conditional may run other samplers. It must not change the kind of random
#' number generator, which is an error, nor set a seed, which makes the chain
#' repeat its random numbers. A warning is given if chains have become copies of
#' each other because of this.
#'
#' @section Blocks without a closed form:
#' [mh_step()] instead of a function updates its block by Metropolis-Hastings
#' steps on a log density, known up to a constant.
#'
#' @section Order of the blocks:
#' `scan = "systematic"` (default) updates the blocks in the order of
#' `conditionals`, each once a sweep; printing the fit shows it. `scan =
#' "random"` makes as many updates a sweep as there are blocks; each updates a
#' block chosen at random, with equal probabilities, independently of the
#' earlier ones. The chain is then reversible (Liu, Wong and Kong 1995). The
#' systematic scan is usually better: a sweep of the random scan leaves a block
#' unchanged with probability about 0.37.
#'
#' @section Stored quantities:
#' A block that is a single number is a column with the block's name; a longer
#' block has columns `w[1]`, `w[2]`, ..., a matrix `Sigma[1,1]`, `Sigma[2,1]`,
#' ... `keep` says which blocks are stored.
#'
#' @section Speed:
#' The time of a sweep is mostly the time of your functions: the loop around
#' them is compiled and adds less than a microsecond a block. R's functions load
#' and save the state of the generator at each call, about 5 microseconds for
#' the Mersenne Twister: one `rnorm(2)` is cheaper than two `rnorm(1)`.
#'
#' @param conditionals Named list with one element a block, in the order in
#'   which they are updated: a function of the state, or [mh_step()].
#' @param init Named list with the starting value of each block: finite numbers,
#'   a scalar, vector, matrix or array. It fixes the shapes of the blocks. Every
#'   chain starts from it, unless `inits` is given; an entry of `inits` is such
#'   a list with any of the blocks.
#' @param ... Further arguments of the conditionals, by name: each is given to
#'   the functions that have an argument of its name, or `...`. Arguments of
#'   `gibbs_sample()` itself need their whole names.
#' @param scan `"systematic"` (default) or `"random"`.
#' @param method `"gibbs"` (default), or `"icm"` to search for a mode with
#'   functions that return the modes of the conditionals, see [gibbsite_map].
#' @param log_joint For `"icm"`: `NULL` (default), or a function of the state
#'   (and of `...`) that returns the log joint density up to a constant.
#' @param keep `NULL` (default) to store every block, or the names of those to
#'   store.
#' @param draws,burnin,thin,chains,inits,cores,seed As in [running].
#' @param threads Accepted, but not used.
#' @param checkpoint,stop_when,progress As in [running].
#' @return An object of class `gibbs_sample`, a `gibbsite_fit` and a
#'   [coda::mcmc.list]: one matrix of draws for each chain. With `method =
#'   "icm"` an object of class `gibbsite_map` whose `estimate` is the state.
#' @section Errors:
#' Errors in the arguments have class `gibbsite_error_argument` and are raised
#' before any chain runs. A chain stops if a conditional fails or returns an
#' invalid value for its block: an error of class `gibbsite_error_chain`, which
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
#' Rai P. *CS772A: Probabilistic Machine Learning*, lecture slides, "Gibbs
#' sampling". Indian Institute of Technology Kanpur.
#' @seealso [mh_step()], [mh_sample()] when there is a density and no
#'   conditionals, [predict()][mh-predict] for predictions from the draws;
#'   `vignette("metropolis", "gibbsite")`.
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
                         draws = NULL, burnin = 1000, thin = 1, chains = 4,
                         inits = NULL, keep = NULL, threads = 1,
                         cores = getOption("mc.cores", 1L), seed = NULL,
                         checkpoint = NULL, stop_when = NULL,
                         progress = TRUE) {
  if (has_short_names()) return(with_whole_names())
  call <- rlang::current_env()
  check_needed(
    conditionals = "a named list of functions",
    init = "a named list with one element a block"
  )
  scan <- check_choice(scan, c("systematic", "random"))
  method <- check_choice(method, c("gibbs", "icm"))
  conditionals <- check_conditionals(conditionals, method, call)
  blocks <- names(conditionals)
  init <- check_init_blocks(init, blocks, call)
  check_log_joint(log_joint, method, call)
  arguments <- check_extra_arguments(
    list(...), c(conditionals, list(log_joint)), call
  )
  running <- running_of(call, keep_choices = blocks)
  check_steps_size(conditionals, init, running$chains, call)
  model <- gibbs_sample_model(
    conditionals, init, arguments, scan, running$keep, log_joint, call
  )
  if (method == "icm") {
    return(icm_search(model, running, match.call(), call))
  }
  run_chains(model, running, match.call(), call)
}
