# Priors that several models share, and how every prior is printed.

#' @rdname scalar-priors
#' @export
uniform_prior <- function(lower, upper) {
  check_needed(lower = "a number", upper = "a number")
  lower <- check_number(lower, lower = 0)
  upper <- check_number(upper, lower = 0)
  if (lower >= upper) {
    abort_argument(
      "{.arg upper} must be above {.arg lower} ({lower}), not {upper}."
    )
  }
  structure(
    list(lower = lower, upper = upper),
    class = c("uniform_prior", "gibbsite_prior")
  )
}

#' @rdname scalar-priors
#' @export
gamma_prior <- function(shape, rate) {
  check_needed(shape = "a number", rate = "a number")
  structure(
    list(
      shape = check_number(shape, lower = 0, lower_open = TRUE),
      rate = check_number(rate, lower = 0, lower_open = TRUE)
    ),
    class = c("gamma_prior", "gibbsite_prior")
  )
}

#' Priors of a positive number
#'
#' Priors for a hyperparameter that is not fixed: `uniform_prior()` is uniform
#' between two bounds, `gamma_prior()` has density
#' \deqn{p(a) = \frac{r^s}{\Gamma(s)} a^{s - 1} e^{-r a}}{p(a) = r^s / Gamma(s)
#'   a^(s - 1) exp(-r a)}
#' with shape \eqn{s} and rate \eqn{r}, mean \eqn{s / r}.
#'
#' @param lower,upper Finite numbers, `0 <= lower < upper`: the bounds.
#' @param shape,rate Finite positive numbers.
#' @return An object of class `gibbsite_prior` that prints as mathematics.
#' @section Errors:
#' A value of the wrong type or out of its range is an error of class
#' `gibbsite_error_argument`.
#' @seealso [lda_prior()].
#' @examples
#' uniform_prior(0, 10)
#' gamma_prior(shape = 1, rate = 10)
#' @name scalar-priors
NULL

#' @export
format.uniform_prior <- function(x, ...) {
  check_made(x, c("lower", "upper"), "uniform_prior()")
  paste0("Uniform(", format(x$lower), ", ", format(x$upper), ")")
}

#' @export
format.gamma_prior <- function(x, ...) {
  check_made(x, c("shape", "rate"), "gamma_prior()")
  paste0("Gamma(shape = ", format(x$shape), ", rate = ", format(x$rate), ")")
}

# The prior of a model whose log density or conditionals contain it. `within`
# names the object that contains it.
no_prior <- function(within) {
  structure(list(within = within), class = c("no_prior", "gibbsite_prior"))
}

#' @export
format.no_prior <- function(x, ...) {
  check_made(x, "within", "prior_summary()")
  paste0("No prior apart: it is part of ", x$within, ".")
}

# ---- Every prior ------------------------------------------------------------

#' @export
print.gibbsite_prior <- function(x, ...) {
  writeLines(format(x))
  invisible(x)
}

# The printed form of a field's value: a number, several, or a matrix. `absent`
# is printed for NULL.
format_prior_value <- function(v, absent = "from the data") {
  if (is.null(v)) {
    return(absent)
  }
  if (!is.matrix(v)) {
    return(format_prior_numbers(v))
  }
  if (all(v[upper.tri(v)] == 0)) {
    return(paste0("diag(", format_prior_numbers(diag(v)), ")"))
  }
  if (nrow(v) > 4) {
    return(paste0(
      nrow(v), " x ", nrow(v), " matrix, diagonal ",
      format_prior_numbers(diag(v))
    ))
  }
  rows <- apply(signif(v, 4), 1, paste, collapse = ", ")
  paste0("[", paste(rows, collapse = "; "), "]")
}

# At most twelve numbers; more than three equal ones are counted.
format_prior_numbers <- function(v) {
  if (length(v) > 3 && all(v == v[[1]])) {
    return(paste0(format(signif(v[[1]], 4)), " (", length(v), " times)"))
  }
  shown <- vapply(signif(utils::head(v, 12), 4), format, "")
  more <- if (length(v) > 12) paste0("... (", length(v), " numbers)")
  paste(c(shown, more), collapse = ", ")
}

# Numbers of a prior, one for each slope, all above `lower`. There are none in
# the prior_summary() of a model without slopes.
check_slope_numbers <- function(x, arg, call, lower = -Inf) {
  if (is.numeric(x) && !is.object(x) && length(x) == 0L) {
    return(x)
  }
  check_numeric_vector(
    x, lower = lower, lower_open = TRUE, null_ok = TRUE, arg = arg, call = call
  )
}
