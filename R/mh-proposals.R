# Proposals of Metropolis-Hastings: the objects that a user makes, and the lists
# that C reads.
#
# A proposal is a plain list of class c("<kind>", "gibbsite_proposal") without a
# dimension; functions in it are sent with it to other processes.
# compile_proposal() makes it for the d coordinates of a block,
# proposal_memory() makes its adaptive state, and proposal_functions() gives the
# functions to call.

new_proposal <- function(kind, ...) {
  structure(list(...), class = c(kind, "gibbsite_proposal"))
}

# Makes a proposal again from its elements: an error if this fails.
check_proposal_fields <- function(x, arg, call = rlang::caller_env()) {
  kind <- intersect(class(x)[[1L]], names(proposal_kinds))
  maker <- if (length(kind) > 0L) get(kind, asNamespace("gibbsite"))
  if (is.null(maker)) {
    abort_argument(
      c("{.arg {arg}} has the class of a proposal, but is of no kind.",
        i = "Proposals are made by {.fn random_walk}, {.fn adaptive}, ..."),
      call = call, class = "forged"
    )
  }
  made_by <- paste0(kind, "()")
  if (kind == "mixture_proposal") {
    check_made(x, c("parts", "weights"), made_by, arg, call)
    remade(
      list(parts = x$parts, weights = x$weights),
      function(parts, weights) {
        do.call(mixture_proposal, c(unname(as.list(parts)), list(
          weights = weights
        )), quote = TRUE)
      }, made_by, arg, call
    )
  } else if (kind == "tempered") {
    check_made(x, c("temperatures", "tune", "parts"), made_by, arg, call)
    remade(
      list(temperatures = x$temperatures, tune = x$tune, parts = x$parts),
      function(temperatures, tune, parts) {
        maker(temperatures, parts[[1L]], tune)
      }, made_by, arg, call
    )
  } else if (kind == "delayed_rejection") {
    check_made(x, c("scale", "parts"), made_by, arg, call)
    remade(
      list(scale = x$scale, parts = x$parts),
      function(scale, parts) maker(parts[[1L]], scale %||% parts[[2L]]),
      made_by, arg, call
    )
  } else if (kind == "random_walk") {
    check_made(x, names(formals(random_walk)), made_by, arg, call)
    # df of steps that are not t is infinite
    own <- unclass(x)
    if (!identical(own$family, "t")) own$df <- 5
    remade(own, random_walk, made_by, arg, call)
  } else {
    remade(x, maker, made_by, arg, call)
  }
  x
}

check_approximation <- function(x, arg, call) {
  if (inherits(x, "laplace_model")) x else check_whole_fit(x, arg, call)
}

#' Random walk proposal
#'
#' Proposes \eqn{y = x + L e}{y = x + L e} from the current point \eqn{x}, where
#' the increments \eqn{e}{e} have mean zero and do not depend on \eqn{x}. The
#' proposal is symmetric, so that [mh_sample()] accepts \eqn{y} with probability
#' \eqn{\min(1, p(y) / p(x))}{min(1, p(y) / p(x))} (Metropolis et al. 1953).
#'
#' \eqn{L} is diagonal with `scale` on it, or the Cholesky factor of `cov`. The
#' elements of \eqn{e} are
#' * `family = "normal"`: independent N(0, 1);
#' * `"t"`: independent N(0, 1), all divided by the same \eqn{\sqrt{\chi^2_{df}
#'   / df}}{sqrt(chi^2_df / df)}. This is a multivariate t distribution, which
#'   makes an occasional long step;
#' * `"uniform"`: independent uniform on \eqn{(-\sqrt 3, \sqrt 3)}{(-sqrt 3,
#'   sqrt 3)}, of variance 1: for steps uniform on \eqn{(-a, a)} give
#'   `scale = a / sqrt(3)`.
#'
#' @param scale `NULL`, one positive number (for each coordinate) or `d` of
#'   them: the standard deviation of a step in each coordinate, in its units
#'   (with `"t"`: the scale). Names match those of `init`.
#' @param cov `NULL`, or the covariance of a step: a symmetric positive definite
#'   `d x d` matrix; or `"laplace"`, \eqn{2.38^2/d}{2.38^2/d} times the inverse
#'   of the negative Hessian of the log density at its mode, which is found from
#'   `init` before the chains run; or a Laplace approximation, whose covariance
#'   is used with the same factor. \eqn{2.38^2/d}{2.38^2/d} is best for normal
#'   densities in many dimensions (Roberts, Gelman and Gilks 1997). Names of
#'   rows or columns match those of `init`; a Laplace approximation with other
#'   names is taken by position. Give either `scale` or `cov`.
#' @param family `"normal"` (default), `"t"` or `"uniform"`.
#' @param df Degrees of freedom of `family = "t"`: a positive number (default
#'   5).
#' @return A proposal: an object of class `random_walk` and `gibbsite_proposal`.
#' @section Errors: `gibbsite_error_argument` for values of the wrong type or
#'   out of range; lengths are compared with `init` by [mh_sample()].
#' @references
#' Metropolis N, Rosenbluth AW, Rosenbluth MN, Teller AH, Teller E (1953).
#' Equation of state calculations by fast computing machines. *Journal of
#' Chemical Physics* 21, 1087-1092. \doi{10.1063/1.1699114}
#'
#' Roberts GO, Gelman A, Gilks WR (1997). Weak convergence and optimal scaling
#' of random walk Metropolis algorithms. *Annals of Applied Probability* 7,
#' 110-120. \doi{10.1214/aoap/1034625254}
#' @family proposals
#' @examples
#' random_walk(0.5)
#' random_walk(cov = matrix(c(1, 0.8, 0.8, 1), 2), family = "t")
#' random_walk(cov = "laplace")
#' @export
random_walk <- function(scale = NULL, cov = NULL,
                        family = c("normal", "t", "uniform"), df = 5) {
  family <- check_choice(family, c("normal", "t", "uniform"))
  if (is.null(scale) == is.null(cov)) {
    abort_argument(
      c("Either {.arg scale} or {.arg cov} must be given, and not both.",
        i = "{.fn adaptive} finds them itself.")
    )
  }
  df <- check_number(df, 0, lower_open = TRUE)
  new_proposal("random_walk",
    scale = check_scale(scale), cov = check_spread(cov), family = family,
    df = if (family == "t") df else Inf
  )
}

check_scale <- function(scale, arg = "scale", call = rlang::caller_env()) {
  check_numeric_vector(scale,
    lower = 0, lower_open = TRUE, null_ok = TRUE, arg = arg, call = call
  )
}

# A covariance in any form that a user may give: NULL, a matrix (of size 1: a
# number), "laplace", or a Laplace approximation.
check_spread <- function(cov, arg = "cov", laplace_ok = TRUE,
                         call = rlang::caller_env()) {
  if (is.null(cov)) {
    return(cov)
  }
  if (is_laplace_fit(cov)) {
    return(check_approximation(cov, arg, call))
  }
  if (is.character(cov) && laplace_ok) {
    return(check_choice(cov, "laplace", arg = arg, call = call))
  }
  if (is_plain_number(cov)) {
    cov <- matrix(cov)
  }
  cov <- numeric_matrix(cov, arg, call)
  if (!is.matrix(cov)) {
    also <- if (laplace_ok) ", \"laplace\"" else ""
    abort_expected(
      cov, paste0("a covariance matrix", also, " or a Laplace approximation"),
      TRUE, arg, call
    )
  }
  check_covariance(cov, arg, call)
}

# A Laplace approximation has coef() and vcov().
is_laplace_fit <- function(x) {
  inherits(x, c("gibbsite_laplace", "laplace_model", "laplace_logistic"))
}

# Their names count where they are those of the coordinates, in any order: the
# user did not choose them.
approximation_mean <- function(fit) stats::coef(fit)

approximation_covariance <- function(fit) as.matrix(stats::vcov(fit))

#' Adaptive random walk
#'
#' A normal random walk \eqn{y = x + s L e}{y = x + s L e}, \eqn{e \sim N(0,
#' I)}{e ~ N(0, I)}, whose covariance \eqn{L L^\top}{L L'} and scale \eqn{s} are
#' adapted during burn-in and then fixed. The kept draws are those of an
#' ordinary random walk, which leaves the posterior exactly invariant.
#'
#' After each step of burn-in, with \eqn{x} the current point of the chain,
#' \eqn{\alpha} the acceptance probability of the step and \eqn{n} the number of
#' steps (Haario et al. 2001; Andrieu and Thoms 2008, algorithm 4):
#' \deqn{\log s \leftarrow \log s + \min(1, 3 n^{-2/3}) (\alpha - \alpha^*),}{
#'   log s <- log s + min(1, 3 n^(-2/3)) (alpha - alpha*),}
#' \deqn{m \leftarrow m + g_n (x - m), \quad
#'   L L^\top \leftarrow (1 - g_n) L L^\top + g_n (x - m)(x - m)^\top,}{
#'   m <- m + g (x - m), L L' <- (1 - g) L L' + g (x - m)(x - m)',}
#' with \eqn{g_n = 2 / (n + 10 d + 40)}{g = 2 / (n + 10 d + 40)}. With these
#' gains the weight of a point grows with \eqn{n}, so that the points visited on
#' the way from a poor start lose their weight.
#'
#' `forever = TRUE` continues to adapt after burn-in, with the same decreasing
#' gains (diminishing adaptation). The draws are then not a Markov chain, and
#' have the posterior distribution only asymptotically (Vihola 2012 gives
#' conditions).
#'
#' @param target `NULL` or a number between 0 and 1: the target acceptance rate.
#'   `NULL` (default) is \eqn{0.234 + 0.206 / d}{0.234 + 0.206 / d}: 0.44 for
#'   one coordinate, near 0.234 for many (Roberts, Gelman and Gilks 1997).
#' @param scale,cov The scales or the covariance of the density with which the
#'   adaptation begins, in the forms that [random_walk()] takes. The first
#'   steps have \eqn{2.38 / \sqrt d}{2.38 / sqrt(d)} times this scale. The
#'   default is the covariance of the normal density with the curvature of the
#'   log density at its mode, which [mh_sample()] finds once for all chains. If
#'   no mode is found, or with `inits`, it is the curvature at `init` or at the
#'   chain's entry of `inits`. It is then computed from differences over the
#'   distances at which the log density has fallen by 1/2 along each coordinate,
#'   and again along the principal axes that these give. This takes some
#'   \eqn{d^2 + 10 d}{d^2 + 10 d} evaluations for each chain.
#' @param forever `FALSE` (default): stop adapting after burn-in. `TRUE`: never
#'   stop.
#' @return A proposal: an object of class `adaptive` and `gibbsite_proposal`.
#' @inheritSection random_walk Errors
#' @references
#' Andrieu C, Thoms J (2008). A tutorial on adaptive MCMC. *Statistics and
#' Computing* 18, 343-373. \doi{10.1007/s11222-008-9110-y}
#'
#' Haario H, Saksman E, Tamminen J (2001). An adaptive Metropolis algorithm.
#' *Bernoulli* 7, 223-242. \doi{10.2307/3318737}
#'
#' Vihola M (2012). Robust adaptive Metropolis algorithm with coerced acceptance
#' rate. *Statistics and Computing* 22, 997-1008.
#' \doi{10.1007/s11222-011-9269-5}
#'
#' Roberts GO, Gelman A, Gilks WR (1997). Weak convergence and optimal scaling
#' of random walk Metropolis algorithms. *Annals of Applied Probability* 7,
#' 110-120. \doi{10.1214/aoap/1034625254}
#' @family proposals
#' @examples
#' adaptive()
#' adaptive(scale = c(0.1, 10), target = 0.3)
#' @export
adaptive <- function(target = NULL, scale = NULL, cov = NULL,
                     forever = FALSE) {
  if (!is.null(scale) && !is.null(cov)) {
    abort_argument("{.arg scale} and {.arg cov} must not both be given.")
  }
  new_proposal("adaptive",
    target = check_rate(target, null_ok = TRUE), scale = check_scale(scale),
    cov = check_spread(cov), forever = check_flag(forever)
  )
}

check_rate <- function(target, null_ok = FALSE, call = rlang::caller_env()) {
  check_number(target,
    lower = 0, upper = 1, lower_open = TRUE, upper_open = TRUE,
    null_ok = null_ok, arg = "target", call = call
  )
}

#' Independence proposal
#'
#' Proposes \eqn{y \sim N(m, C)}{y ~ N(m, C)}, or multivariate t, independently
#' of the current point. [mh_sample()] accepts it with probability \eqn{\min(1,
#' p(y) q(x) / (p(x) q(y)))}{min(1, p(y) q(x) / (p(x) q(y)))}. It works well if
#' the proposal is close to the target and has heavier tails. If its tails are
#' lighter, a chain can stay in the tail for a very long time; for this reason
#' the default is a t distribution.
#'
#' @param mean The centre: `d` numbers, or a Laplace approximation, whose mode
#'   and (if `cov` is missing) covariance are used. Names of `mean` and `cov`
#'   match those of `init`.
#' @param cov The covariance (for t: the scale matrix), a symmetric positive
#'   definite `d x d` matrix or a Laplace approximation.
#' @param df Degrees of freedom, a positive number (default 5); `Inf` for the
#'   normal distribution.
#' @return A proposal: an object of class `independence` and
#'   `gibbsite_proposal`.
#' @inheritSection random_walk Errors
#' @references
#' Tierney L (1994). Markov chains for exploring posterior distributions.
#' *Annals of Statistics* 22, 1701-1728. \doi{10.1214/aos/1176325750}
#' @family proposals
#' @examples
#' independence(c(0, 0), diag(2))
#' @export
independence <- function(mean, cov = NULL, df = 5) {
  check_needed(mean = "the centre of the proposal")
  call <- rlang::current_env()
  borrowed <- is_laplace_fit(mean) || is_laplace_fit(cov)
  if (is_laplace_fit(mean)) {
    check_approximation(mean, "mean", call)
    cov <- cov %||% mean
    mean <- approximation_mean(mean)
  }
  if (is.null(cov)) {
    abort_argument("{.arg cov} is needed: the covariance of the proposal.")
  }
  if (is_laplace_fit(cov)) {
    check_approximation(cov, "cov", call)
    cov <- approximation_covariance(cov)
  }
  cov <- check_spread(cov, laplace_ok = FALSE)
  mean <- check_numeric_vector(mean, length = nrow(cov),
    length_why = "rows of `cov`"
  )
  new_proposal("independence",
    mean = mean, cov = in_order_of_mean(cov, mean, borrowed, "cov", call),
    borrowed = borrowed,
    df = check_number(df, 0, lower_open = TRUE, infinite_ok = TRUE)
  )
}

#' Mixture of proposals
#'
#' Draws from one of several proposals, chosen at random: \eqn{q(y | x) = \sum_i
#' w_i q_i(y | x)}{q(y | x) = sum_i w_i q_i(y | x)}. The acceptance probability
#' uses the mixture's density, so that it does not depend on which proposal made
#' the draw. A mixture of short and long steps, or with an independence
#' proposal, helps if a single scale does not fit the whole density.
#'
#' @param ... Two or more proposals: [random_walk()], [independence()],
#'   [custom_proposal()], [langevin()] with `tune = FALSE`. Adaptive proposals
#'   cannot be parts of a mixture.
#' @param weights `NULL` (default: equal) or one positive number for each
#'   proposal; they are divided by their sum. Names match those of `...`.
#' @return A proposal: an object of class `mixture_proposal` and
#'   `gibbsite_proposal`.
#' @inheritSection random_walk Errors
#' @references
#' Tierney L (1994). Markov chains for exploring posterior distributions.
#' *Annals of Statistics* 22, 1701-1728. \doi{10.1214/aos/1176325750}
#' @family proposals
#' @examples
#' mixture_proposal(random_walk(0.1), random_walk(3), weights = c(0.8, 0.2))
#' @export
mixture_proposal <- function(..., weights = NULL) {
  parts <- list(...)
  names <- names(parts)
  parts <- unname(parts)
  for (i in seq_along(parts)) {
    check_proposal(parts[[i]], paste("Proposal", i))
    check_part(parts[[i]], i)
  }
  if (length(parts) < 2L) {
    abort_argument(
      "A mixture needs two or more proposals, not {length(parts)}."
    )
  }
  weights <- check_numeric_vector(weights,
    length = length(parts), length_why = "one for each proposal", lower = 0,
    lower_open = TRUE, null_ok = TRUE
  )
  weights <- if (is.null(weights)) {
    rep(1, length(parts))
  } else {
    in_order_of(
      weights, names, "weights", "the proposals", rlang::current_env()
    )
  }
  # so that the sum of large weights cannot overflow
  weights <- weights / max(weights)
  new_proposal("mixture_proposal",
    parts = parts, weights = weights / sum(weights)
  )
}

check_part <- function(part, i, call = rlang::caller_env()) {
  if (moves_far(part) || is_tempered(part) || is_delayed(part)) {
    abort_argument(
      c("Proposal {i} of a mixture must have a density: that of
         {.fn {class(part)[1]}} is not known.",
        i = if (is_hamiltonian(part)) {
          "{.fn langevin} with {.code tune = FALSE} takes a gradient."
        } else if (is_tempered(part)) {
          "{.fn tempered} takes a mixture as its {.arg proposal}."
        } else if (is_delayed(part)) {
          "{.fn delayed_rejection} takes a mixture as its {.arg first}."
        } else {
          "{.arg blocks} that share coordinates alternate between proposals."
        }),
      call = call
    )
  }
  learns <- inherits(part, "adaptive") || isTRUE(part$tune)
  nested <- inherits(part, "mixture_proposal")
  if (learns || nested) {
    what <- if (nested) "is itself a mixture" else "learns as the chain runs"
    hint <- if (inherits(part, "langevin")) {
      "Give a step: {.code langevin(step, gradient, tune = FALSE)}."
    } else if (learns) {
      "Use {.code random_walk()} with the scale that {.code adaptive()} found."
    } else {
      "Give its proposals to the outer mixture, with their weights."
    }
    abort_argument(
      c("Proposal {i} of a mixture must be a fixed one: it {what}.", i = hint),
      call = call
    )
  }
}

check_proposal <- function(x, arg, call = rlang::caller_env()) {
  if (!inherits(x, "gibbsite_proposal")) {
    given <- describe(x)
    hint <- if (is.function(x)) {
      "Call it, as in {.code random_walk(scale = 1)}; a function of your own
       goes into {.fn custom_proposal}."
    } else {
      "Proposals are made by {.fn random_walk}, {.fn adaptive}, ..."
    }
    abort_argument(
      c("{.arg {arg}} must be a proposal, not {given}.", i = hint),
      call = call
    )
  }
  check_proposal_fields(x, arg, call)
}

#' Proposal of your own
#'
#' Any proposal \eqn{q(y | x)} that can be drawn from and whose density is known
#' up to a constant that does not depend on \eqn{x} and \eqn{y}. [mh_sample()]
#' accepts a draw with probability \eqn{\min(1, p(y) q(x | y) / (p(x) q(y |
#' x)))}{min(1, p(y) q(x | y) / (p(x) q(y | x)))} (Hastings 1970), which
#' corrects for an asymmetric proposal.
#'
#' Both functions get points in the form in which proposals are made: with names
#' if `init` has them, only the coordinates of the block if there are blocks,
#' and on the transformed scale with `transform = TRUE`. `draw` may use R's
#' random numbers, but must not set a seed.
#'
#' @param draw Function of one argument, the current point `x`. It returns a
#'   draw `y`, finite numbers, as many as `x` has.
#' @param log_density Function of two arguments, `y` and `x` (in this order):
#'   \eqn{\log q(y | x)}{log q(y | x)}, one number; `-Inf` where `y` cannot be
#'   drawn from `x`. `NULL` says that the proposal is symmetric, \eqn{q(y | x) =
#'   q(x | y)}{q(y | x) = q(x | y)}: this is not checked.
#' @return A proposal: an object of class `custom_proposal` and
#'   `gibbsite_proposal`.
#' @inheritSection random_walk Errors
#' @references
#' Hastings WK (1970). Monte Carlo sampling methods using Markov chains and
#' their applications. *Biometrika* 57, 97-109. \doi{10.1093/biomet/57.1.97}
#' @family proposals
#' @examples
#' # a positive number, moved by a random factor
#' custom_proposal(
#'   draw = function(x) x * exp(rnorm(1, 0, 0.5)),
#'   log_density = function(y, x) dlnorm(y, log(x), 0.5, log = TRUE)
#' )
#' @export
custom_proposal <- function(draw, log_density) {
  check_needed(
    draw = "a function that draws from the proposal",
    log_density = "log q(y | x), or NULL for a symmetric proposal"
  )
  new_proposal("custom_proposal",
    draw = check_user_function(draw, 1L),
    log_density = if (!is.null(log_density)) {
      check_user_function(log_density, 2L)
    }
  )
}

#' Langevin proposal (MALA)
#'
#' The Metropolis-adjusted Langevin algorithm: a normal step along the gradient
#' of the log density,
#' \deqn{y \sim N(x + \tfrac{s^2}{2} C \nabla \log p(x), s^2 C),}{
#'   y ~ N(x + s^2/2 C grad log p(x), s^2 C),}
#' corrected for its asymmetry (Roberts and Tweedie 1996). In many dimensions it
#' needs about \eqn{d^{1/3}}{d^(1/3)} steps where a random walk needs \eqn{d}.
#'
#' The step \eqn{s} is tuned during burn-in to an acceptance rate of 0.574, the
#' best one for many independent coordinates (Roberts and Rosenthal 1998), and
#' then fixed.
#'
#' @param step `NULL` or a positive number: the \eqn{s} at which the tuning
#'   begins. With `NULL` (default) it is found at the mode, or at the starting
#'   point if there was no search for the mode.
#' @param gradient `NULL` (default): found as for [nuts()], section Gradient. Or
#'   a function of a point: the gradient of the *whole* log density (on its own
#'   scale, also with `transform = TRUE`), `d` finite numbers. It gets those
#'   further arguments of the density that it has arguments for. [mh_step()]
#'   needs it here.
#' @param cov \eqn{C}: `NULL` (default: the identity), a symmetric positive
#'   definite matrix, `"laplace"` (the inverse of the negative Hessian at the
#'   mode), or a Laplace approximation. Set it if the coordinates' scales
#'   differ.
#' @param tune `TRUE` (default): tune the step in burn-in. `FALSE`: keep it.
#' @param target Number between 0 and 1 (default 0.574): the target acceptance
#'   rate.
#' @return A proposal: an object of class `langevin` and `gibbsite_proposal`.
#' @inheritSection random_walk Errors
#' @references
#' Roberts GO, Rosenthal JS (1998). Optimal scaling of discrete approximations
#' to Langevin diffusions. *JRSS B* 60, 255-268. \doi{10.1111/1467-9868.00123}
#'
#' Roberts GO, Tweedie RL (1996). Exponential convergence of Langevin
#' distributions and their discrete approximations. *Bernoulli* 2, 341-363.
#' \doi{10.2307/3318418}
#' @family proposals
#' @examples
#' langevin(gradient = function(x) -x)
#' @export
langevin <- function(step = NULL, gradient = NULL, cov = NULL, tune = TRUE,
                     target = 0.574) {
  step <- check_number(step, lower = 0, lower_open = TRUE, null_ok = TRUE)
  tune <- check_flag(tune)
  if (is.null(step) && !tune) {
    abort_argument("{.arg step} is needed with {.code tune = FALSE}.")
  }
  new_proposal("langevin",
    step = step, gradient = check_gradient_function(gradient, null_ok = TRUE),
    cov = check_spread(cov), tune = tune, target = check_rate(target)
  )
}

# ---- Print ------------------------------------------------------------------

#' @export
format.gibbsite_proposal <- function(x, ...) {
  check_proposal_fields(x, "x")
  switch(class(x)[[1L]],
    random_walk = format_random_walk(x),
    adaptive = paste0(
      "adaptive random walk, ",
      if (x$forever) "never frozen" else "frozen after burn-in"
    ),
    independence = paste0(
      "independence proposal, ",
      if (is.finite(x$df)) paste0("t with ", x$df, " degrees of freedom")
      else "normal"
    ),
    mixture_proposal = paste0(
      "mixture of ", paste(
        format(x$weights, digits = 2, trim = TRUE),
        vapply(x$parts, format, ""), collapse = " + "
      )
    ),
    custom_proposal = if (is.null(x$log_density)) {
      "custom proposal, taken for symmetric"
    } else {
      "custom proposal with its density"
    },
    hmc = ,
    nuts = format_hamiltonian(x),
    univariate_slice = ,
    elliptical_slice = format_slice(x),
    tempered = paste0(format_ladder(x), format(x$parts[[1L]])),
    delayed_rejection = format_delayed(x),
    langevin = paste0(
      "Langevin proposal",
      if (!is.null(x$step)) paste0(", step ", format(x$step, digits = 4)),
      if (x$tune) ", tuned in burn-in"
    )
  )
}

format_random_walk <- function(x) {
  steps <- switch(x$family,
    normal = "normal", uniform = "uniform", t = paste0("t (df ", x$df, ")")
  )
  size <- if (!is.null(x$scale)) {
    shown <- paste(format(utils::head(x$scale, 4), digits = 4, trim = TRUE),
                   collapse = ", ")
    paste0("scale ", shown, if (length(x$scale) > 4) ", ...")
  } else if (is.character(x$cov)) {
    "covariance from the mode"
  } else {
    "given covariance"
  }
  paste0("random walk, ", steps, " steps, ", size)
}

#' @export
print.gibbsite_proposal <- function(x, ...) {
  text <- format(x)
  writeLines(paste0(toupper(substr(text, 1, 1)), substring(text, 2)))
  invisible(x)
}

# ---- The form for C ---------------------------------------------------------

proposal_kinds <- c(
  random_walk = 0L, adaptive = 1L, independence = 2L, custom_proposal = 3L,
  langevin = 4L, mixture_proposal = 5L, hmc = 6L, nuts = 7L,
  univariate_slice = 8L, elliptical_slice = 9L, tempered = 10L,
  delayed_rejection = 11L
)

proposal_families <- c(normal = 0L, t = 1L, uniform = 2L)

# A proposal on d coordinates, in the form of core/mh/mh.h. `at_mode`: function
# that gives the inverse of the negative Hessian at the mode, d x d, for
# proposals that ask for it. `where` names the proposal in messages; `names` are
# those of the coordinates, if they have any.
compile_proposal <- function(proposal, d, where = "proposal", at_mode = NULL,
                             call = rlang::caller_env(), names = NULL) {
  kind <- class(proposal)[[1L]]
  compiled <- list(
    kind = proposal_kinds[[kind]], family = 0L, tuned = 0L, d = as.integer(d),
    df = Inf, target = 0.5, mean = numeric(), factor = numeric(),
    weights = numeric(), parts = list()
  )
  own <- switch(kind,
    random_walk = compile_random_walk(proposal, d, where, at_mode, call,
                                      names),
    adaptive = compile_adaptive(proposal, d, where, at_mode, call, names),
    independence = compile_independence(proposal, d, where, call, names),
    langevin = compile_langevin(proposal, d, where, at_mode, call, names),
    hmc = ,
    nuts = compile_hamiltonian(proposal),
    univariate_slice = compile_slice(proposal, d, where, call, names),
    elliptical_slice = compile_ellipse(proposal, d, where, call, names),
    tempered = c(compile_ladder(proposal, d), list(parts = list(
      compile_proposal(
        proposal$parts[[1L]], d, where, at_mode, call, names
      )
    ))),
    delayed_rejection = compile_delayed(proposal, function(part) {
      compile_proposal(
        proposal$parts[[part]], d, paste0(where, " (part ", part, ")"),
        at_mode, call, names
      )
    }),
    mixture_proposal = list(
      weights = proposal$weights,
      parts = lapply(seq_along(proposal$parts), function(i) {
        compile_proposal(proposal$parts[[i]], d,
          paste0(where, " (part ", i, ")"), at_mode, call, names
        )
      })
    ),
    custom_proposal = list()
  )
  compiled[names(own)] <- own
  compiled
}

compile_random_walk <- function(proposal, d, where, at_mode, call, names) {
  list(
    family = proposal_families[[proposal$family]], df = as.double(proposal$df),
    factor = if (!is.null(proposal$scale)) {
      as_scales(proposal$scale, d, where, call, names)
    } else {
      proposal_factor(proposal$cov, d, 2.38^2 / d, where, at_mode, call, names)
    }
  )
}

# `factor` is the starting value of the adaptation; it is empty when it still
# has to be found.
compile_adaptive <- function(proposal, d, where, at_mode, call, names) {
  list(
    target = proposal$target %||% (0.234 + 0.206 / d),
    tuned = if (proposal$forever) 2L else 1L,
    factor = if (!is.null(proposal$scale)) {
      diag_vector(as_scales(proposal$scale, d, where, call, names))
    } else if (!is.null(proposal$cov)) {
      proposal_factor(proposal$cov, d, 1, where, at_mode, call, names)
    } else {
      numeric()
    }
  )
}

compile_independence <- function(proposal, d, where, call, names) {
  list(
    family = if (is.finite(proposal$df)) 1L else 0L,
    df = as.double(proposal$df),
    mean = as_coordinates(
      proposal$mean, d, "mean", where, call,
      names_for(proposal$mean, names, proposal$borrowed)
    ),
    factor = proposal_factor(
      proposal$cov, d, 1, where, NULL, call,
      names_for(proposal$cov, names, proposal$borrowed)
    )
  )
}

# A step that is not tuned is included in L.
compile_langevin <- function(proposal, d, where, at_mode, call, names) {
  factor <- if (is.null(proposal$cov)) {
    rep(1, d)
  } else {
    proposal_factor(proposal$cov, d, 1, where, at_mode, call, names)
  }
  list(
    target = proposal$target, tuned = if (proposal$tune) 1L else 0L,
    factor = if (proposal$tune) factor else proposal$step * factor
  )
}

# `width` is empty when it is tuned.
compile_slice <- function(proposal, d, where, call, names) {
  tuned <- is.character(proposal$width)
  list(
    tuned = as.integer(tuned), longest = as.double(proposal$max_steps),
    width = if (tuned) {
      numeric()
    } else {
      as_coordinates(proposal$width, d, "width", where, call, names)
    }
  )
}

compile_ellipse <- function(proposal, d, where, call, names) {
  mean <- proposal$prior_mean
  cov <- proposal$prior_cov
  names_of <- function(x) names_for(x, names, proposal$borrowed)
  list(
    mean = as_coordinates(mean, d, "prior_mean", where, call, names_of(mean)),
    factor = if (is.matrix(cov)) {
      proposal_factor(cov, d, 1, where, NULL, call, names_of(cov), "prior_cov")
    } else {
      sqrt(as_coordinates(cov, d, "prior_cov", where, call, names_of(cov)))
    }
  )
}

as_scales <- function(scale, d, where, call, names = NULL) {
  as_coordinates(scale, d, "scale", where, call, names)
}

# One number for each of d coordinates.
as_coordinates <- function(x, d, arg, where, call, names = NULL) {
  if (!length(x) %in% c(1L, d)) {
    abort_argument(
      "`{arg}` of `{where}` must have length {or_words(unique(c(1, d)))}
       (coordinates), not {length(x)}.",
      call = call
    )
  }
  if (d > 1L) {
    x <- in_order_of(
      x, names, paste0(arg, "` of `", where), "the coordinates", call
    )
  }
  as.double(rep_len(x, d))
}

# The names of the coordinates, to which `x` is matched. borrowed: whether x is
# of a Laplace approximation; NULL where its names are others.
names_for <- function(x, names, borrowed) {
  own <- if (is.matrix(x)) rownames(x) else names(x)
  if (borrowed && !setequal(own, names)) NULL else names
}

# A covariance, or variances, in the order of the mean, where both have names.
in_order_of_mean <- function(cov, mean, borrowed, arg, call) {
  own <- names(mean)
  if (length(own) < 2L || is.null(rownames(cov) %||% names(cov))) {
    return(cov)
  }
  expected <- names_for(cov, own, borrowed)
  if (!is.matrix(cov)) {
    return(stats::setNames(
      in_order_of(cov, expected, arg, "the mean", call), own
    ))
  }
  ordered <- matrix_in_order_of(cov, expected, arg, "the mean", call)
  dimnames(ordered) <- list(own, own)
  ordered
}

# The lower Cholesky factor of a covariance, as d * d numbers; one that comes
# from a Laplace approximation is multiplied by `inflate`.
proposal_factor <- function(cov, d, inflate, where, at_mode, call, names,
                          arg = "cov") {
  if (identical(cov, "laplace")) {
    cov <- inflate * at_mode()
  } else if (is_laplace_fit(cov)) {
    cov <- inflate * approximation_covariance(cov)
    names <- names_for(cov, names, TRUE)
  }
  if (nrow(cov) != d) {
    abort_argument(
      "`{arg}` of `{where}` must be {d} x {d} (coordinates), not {nrow(cov)} x
       {ncol(cov)}.",
      call = call
    )
  }
  cov <- matrix_in_order_of(
    cov, names, paste0(arg, "` of `", where), "the coordinates", call
  )
  as.double(t(chol(cov)))
}

# d scales as the factor of a diagonal covariance, d * d numbers.
diag_vector <- function(scale) as.double(diag(scale, length(scale)))

uses_laplace <- function(proposal) {
  identical(proposal$cov, "laplace") ||
    any(vapply(proposal$parts, uses_laplace, NA))
}

# ---- Adaptive state and counts of a block -----------------------------------

# The block's part of a chain's state. `scale`: the scale of the density in each
# coordinate (reach()); `x`: the starting point; `factor`: the starting value of
# adaptive() unless the proposal gives one, diagonal by default.
proposal_memory <- function(proposal, compiled, x, scale, factor = NULL) {
  if (is_hamiltonian(proposal)) {
    return(hamiltonian_memory(proposal, compiled, scale, factor))
  }
  if (is_slice(proposal)) {
    return(slice_memory(proposal, compiled, scale))
  }
  if (is_tempered(proposal)) {
    memory <- ladder_memory(compiled)
    memory$inner <- lapply(1 / memory$power, function(temperature) {
      wider <- sqrt(temperature)
      proposal_memory(
        proposal$parts[[1L]], compiled$parts[[1L]], x, scale * wider,
        if (!is.null(factor)) factor * wider
      )
    })
    return(memory)
  }
  if (is_delayed(proposal)) {
    return(delayed_memory(proposal, function(part) {
      proposal_memory(
        proposal$parts[[part]], compiled$parts[[part]], x, scale, factor
      )
    }))
  }
  d <- compiled$d
  adaptive <- inherits(proposal, "adaptive")
  log_step <- if (adaptive) {
    log(2.38 / sqrt(d))
  } else if (inherits(proposal, "langevin") && proposal$tune) {
    unit <- if (is.null(proposal$cov)) min(scale) else 1
    log(proposal$step %||% (1.65 / d^(1 / 6) * unit))
  } else {
    0
  }
  list(
    factor = if (!adaptive) {
      numeric()
    } else if (length(compiled$factor) > 0L) {
      compiled$factor + 0
    } else {
      factor %||% diag_vector(scale)
    },
    mean = if (adaptive) as.double(x) else numeric(),
    tuning = c(log_step, 0), counts = numeric(4L)
  )
}

needs_covariance <- function(proposal) {
  any(vapply(steps_of(proposal), covariance_is_needed, NA))
}

covariance_is_needed <- function(proposal) {
  inherits(proposal, "adaptive") &&
    is.null(proposal$scale) && is.null(proposal$cov)
}

needs_scale <- function(proposal) {
  any(vapply(steps_of(proposal), scale_is_needed, NA))
}

scale_is_needed <- function(proposal) {
  covariance_is_needed(proposal) || learns_mass(proposal) ||
    identical(proposal$width, "auto") ||
    (inherits(proposal, "langevin") && is.null(proposal$step) &&
       is.null(proposal$cov))
}

# ---- Functions that C calls -------------------------------------------------

# The object that C calls for a log density: a caller, or another object for
# other classes of density.
density_caller <- function(log_density, extra = list()) {
  UseMethod("density_caller")
}

#' @exportS3Method
density_caller.default <- function(log_density, extra = list()) {
  caller(log_density, "log_density", 1L, extra)
}

#' @exportS3Method
density_caller.gibbsite_native_density <- function(log_density,
                                                   extra = list()) {
  native_pointer(log_density)
}

proposal_functions <- function(proposal) {
  custom <- inherits(proposal, "custom_proposal")
  list(
    draw = if (custom) {
      caller(proposal$draw, "draw", role = "draw of custom_proposal()")
    },
    log_q = if (custom) {
      caller(proposal$log_density %||% function(y, x) 0, "log_density", 2L,
        role = "log_density of custom_proposal()"
      )
    },
    parts = lapply(proposal$parts, proposal_functions)
  )
}

takes_gradient <- function(proposal) {
  is_hamiltonian(proposal) || inherits(proposal, "langevin")
}

# Whether a proposal or a part of it takes the gradient.
uses_gradient <- function(proposal) {
  takes_gradient(proposal) || any(vapply(proposal$parts, uses_gradient, NA))
}

# The gradients in a proposal: a list of functions.
proposal_gradients <- function(proposal) {
  c(
    if (takes_gradient(proposal)) {
      Filter(Negate(is.null), list(proposal$gradient))
    },
    unlist(lapply(proposal$parts, proposal_gradients), recursive = FALSE)
  )
}

# Number of variates drawn ahead that a sweep uses, as core/mh/mh.c counts them.
block_variates <- function(block) 1 + proposal_variates(block$proposal)

proposal_variates <- function(compiled) {
  if (compiled$kind == proposal_kinds[["mixture_proposal"]]) {
    return(1 + max(vapply(compiled$parts, proposal_variates, 0)))
  }
  if (compiled$kind == proposal_kinds[["custom_proposal"]]) {
    return(0)
  }
  if (compiled$kind == proposal_kinds[["univariate_slice"]]) {
    return(2)
  }
  if (compiled$kind == proposal_kinds[["delayed_rejection"]]) {
    return(1 + sum(vapply(compiled$parts, proposal_variates, 0)))
  }
  if (compiled$kind == proposal_kinds[["tempered"]]) {
    k <- compiled$longest
    return(k - 1 + k * (1 + proposal_variates(compiled$parts[[1L]])))
  }
  keyed <- c("hmc", "nuts", "elliptical_slice")
  if (compiled$kind %in% proposal_kinds[keyed]) {
    return(compiled$d + 2)
  }
  compiled$d + (compiled$family == proposal_families[["t"]])
}
