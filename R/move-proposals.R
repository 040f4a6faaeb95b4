# Moves that propose by a density q(y | x): random_walk(), adaptive(),
# langevin(), independence() and custom_proposal(). src/core/mh/ has a file for
# each: mh_walk.c, mh_adaptive.c, mh_langevin.c, mh_independence.c, mh_custom.c.

# ---- adaptive() --------------------------------------------------------------

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

#' @exportS3Method
move_traits.adaptive <- function(move) {
  unknown <- is.null(move$scale) && is.null(move$cov)
  list(
    density = TRUE, scalable = TRUE, learns = TRUE, matrix = TRUE,
    scale = unknown, covariance = unknown,
    mode = identical(move$cov, "laplace")
  )
}

#' @exportS3Method
move_words.adaptive <- function(move) {
  paste0(
    "adaptive random walk, ",
    if (move$forever) "never frozen" else "frozen after burn-in"
  )
}

# `factor` is the starting value of the adaptation; it is empty when it still
# has to be found.
#' @exportS3Method
move_compile.adaptive <- function(move, at) {
  list(
    target = move$target %||% (0.234 + 0.206 / at$d),
    tuned = if (move$forever) 2L else 1L,
    factor = if (!is.null(move$scale)) {
      diag_vector(as_coordinates(move$scale, "scale", at))
    } else if (!is.null(move$cov)) {
      proposal_factor(move$cov, at)
    } else {
      numeric()
    }
  )
}

#' @exportS3Method
move_memory.adaptive <- function(move, compiled, x, scale, factor = NULL) {
  new_memory(
    factor = if (length(compiled$factor) > 0L) {
      compiled$factor + 0
    } else {
      factor %||% diag_vector(scale)
    },
    mean = as.double(x), log_step = log(2.38 / sqrt(compiled$d))
  )
}

# ---- custom_proposal() -------------------------------------------------------

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

#' @exportS3Method
move_traits.custom_proposal <- function(move) {
  list(density = TRUE, user = TRUE)
}

#' @exportS3Method
move_words.custom_proposal <- function(move) {
  if (is.null(move$log_density)) {
    "custom proposal, taken for symmetric"
  } else {
    "custom proposal with its density"
  }
}

#' @exportS3Method
move_compile.custom_proposal <- function(move, at) {
  list()
}

#' @exportS3Method
move_functions.custom_proposal <- function(move) {
  list(
    draw = caller(move$draw, "draw", role = "draw of custom_proposal()"),
    log_q = caller(move$log_density %||% function(y, x) 0, "log_density", 2L,
      role = "log_density of custom_proposal()"
    )
  )
}

# ---- independence() ----------------------------------------------------------

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
  if (is_laplace_fit(mean)) cov <- cov %||% mean
  mean <- mode_or_point(mean, "mean", call)
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

#' @exportS3Method
move_traits.independence <- function(move) {
  list(density = TRUE, matrix = TRUE)
}

#' @exportS3Method
move_words.independence <- function(move) {
  paste0(
    "independence proposal, ",
    if (is.finite(move$df)) paste0("t with ", move$df, " degrees of freedom")
    else "normal"
  )
}

#' @exportS3Method
move_compile.independence <- function(move, at) {
  list(
    family = if (is.finite(move$df)) 1L else 0L,
    df = as.double(move$df),
    mean = as_coordinates(move$mean, "mean", at, move$borrowed),
    factor = proposal_factor(move$cov, at, borrowed = move$borrowed)
  )
}

# ---- langevin() --------------------------------------------------------------

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
  step <- check_tuned_step(step, tune)
  new_proposal("langevin",
    step = step, gradient = check_gradient_function(gradient),
    cov = check_spread(cov), tune = check_flag(tune),
    target = check_rate(target)
  )
}

#' @exportS3Method
move_traits.langevin <- function(move) {
  list(
    density = TRUE, scalable = TRUE, gradient = TRUE, learns = move$tune,
    scale = is.null(move$step) && is.null(move$cov),
    matrix = !is.null(move$cov), mode = identical(move$cov, "laplace")
  )
}

#' @exportS3Method
move_words.langevin <- function(move) {
  paste0(
    "Langevin proposal",
    if (!is.null(move$step)) paste0(", step ", format(move$step, digits = 4)),
    if (move$tune) ", tuned in burn-in"
  )
}

# A fixed step is part of the factor L.
#' @exportS3Method
move_compile.langevin <- function(move, at) {
  factor <- if (is.null(move$cov)) {
    rep(1, at$d)
  } else {
    proposal_factor(move$cov, at)
  }
  list(
    target = move$target, tuned = if (move$tune) 1L else 0L,
    factor = if (move$tune) factor else move$step * factor
  )
}

#' @exportS3Method
move_memory.langevin <- function(move, compiled, x, scale, factor = NULL) {
  if (!move$tune) return(new_memory())
  unit <- if (is.null(move$cov)) min(scale) else 1
  new_memory(
    log_step = log(move$step %||% (1.65 / compiled$d^(1 / 6) * unit))
  )
}

# ---- random_walk() -----------------------------------------------------------

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

# Steps that are not t have df = Inf.
#' @exportS3Method
move_maker.random_walk <- function(move) {
  function(scale, cov, family, df) {
    random_walk(scale, cov, family, if (identical(family, "t")) df else 5)
  }
}

#' @exportS3Method
move_traits.random_walk <- function(move) {
  list(
    density = TRUE, scalable = TRUE, matrix = !is.null(move$cov),
    mode = identical(move$cov, "laplace")
  )
}

#' @exportS3Method
move_words.random_walk <- function(move) {
  steps <- switch(move$family,
    normal = "normal", uniform = "uniform", t = paste0("t (df ", move$df, ")")
  )
  size <- if (!is.null(move$scale)) {
    shown <- paste(format(utils::head(move$scale, 4), digits = 4, trim = TRUE),
                   collapse = ", ")
    paste0("scale ", shown, if (length(move$scale) > 4) ", ...")
  } else if (is.character(move$cov)) {
    "covariance from the mode"
  } else {
    "given covariance"
  }
  paste0("random walk, ", steps, " steps, ", size)
}

#' @exportS3Method
move_compile.random_walk <- function(move, at) {
  list(
    family = proposal_families[[move$family]], df = as.double(move$df),
    factor = if (!is.null(move$scale)) {
      as_coordinates(move$scale, "scale", at)
    } else {
      proposal_factor(move$cov, at, 2.38^2 / at$d)
    }
  )
}
