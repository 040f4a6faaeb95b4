# random_walk(). src/core/mh/mh_walk.c moves it.

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
