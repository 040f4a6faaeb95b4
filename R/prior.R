# Priors that several models share, and how every prior is printed.

#' @rdname lda_prior
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

#' @rdname lda_prior
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
print.gibbsite_prior <- function(x, ...) print_lines(x)

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

# Numbers with their names, unless all are equal.
format_prior_named <- function(v, absent = "from the data") {
  if (is.null(names(v)) || length(v) > 12L ||
        length(v) > 1L && all(v == v[[1L]])) {
    return(format_prior_value(v, absent))
  }
  paste(names(v), vapply(signif(v, 4), format, ""), collapse = ", ")
}

# The prior with values for those of its fields that are NULL.
with_defaults <- function(prior, ...) {
  defaults <- list(...)
  for (field in names(defaults)) {
    prior[[field]] <- prior[[field]] %||% defaults[[field]]
  }
  prior
}

# A field that is a number above 0, or NULL.
positive_number <- function(x, arg, call, infinite_ok = FALSE) {
  check_number(
    x, lower = 0, lower_open = TRUE, null_ok = TRUE, infinite_ok = infinite_ok,
    arg = arg, call = call
  )
}

positive_numbers <- function(x, arg, call) {
  check_numeric_vector(
    x, lower = 0, lower_open = TRUE, null_ok = TRUE, arg = arg, call = call
  )
}

# ---- The coefficients of a regression ----------------------------------------

# What the priors of all regressions have for each coefficient: the mean and the
# standard deviation of slopes and intercept, and the standard deviation of the
# slopes in units of the default's.

# The fields of slopes, checked. infinite_ok: whether a slope may be flat.
check_slope_fields <- function(slope_mean, slope_sd, slope_scale, call,
                               infinite_ok = FALSE) {
  list(
    slope_mean = check_slope_numbers(slope_mean, "slope_mean", call),
    slope_sd = check_slope_numbers(
      slope_sd, "slope_sd", call, 0, finite = !infinite_ok
    ),
    slope_scale = check_slope_numbers(slope_scale, "slope_scale", call, 0)
  )
}

# Numbers of a prior, one for each slope, all above `lower`. There are none in
# the prior_summary() of a model without slopes.
check_slope_numbers <- function(x, arg, call, lower = -Inf, finite = TRUE) {
  if (is.numeric(x) && is.null(dim(x)) && !is.object(x) &&
        length(x) == 0L) {
    return(x)
  }
  check_numeric_vector(
    x, lower = lower, lower_open = TRUE, finite = finite, null_ok = TRUE,
    arg = arg, call = call
  )
}

# One number for each of `names`. `x` is one number for all, or one for each in
# their order. If it has names, it is for some of them, and the others have the
# default.
complete_each <- function(x, default, names, field, whose, call) {
  filled <- stats::setNames(rep_len(as.double(default), length(names)), names)
  if (is.null(x)) {
    return(filled)
  }
  given <- if (length(x) > 0L) names(x)
  if (is.null(given)) {
    if (!length(x) %in% c(1L, length(names))) {
      wanted <- or_words(unique(c(1L, length(names))))
      abort_argument(
        c("`{field}` of `prior` must have length {wanted}, not {length(x)}.",
          i = "It is for {whose}: {.val {names}}."),
        call = call
      )
    }
    filled[] <- x
    return(filled)
  }
  odd <- c(setdiff(given, names), given[duplicated(given)])
  if (length(odd) > 0L) {
    abort_argument(
      c("`{field}` of `prior` must have names of {whose}, each once:
         {.val {odd[[1L]]}} is not one, or is there twice.",
        i = if (length(names) > 0L) "They are {.val {names}}.",
        i = if (odd[[1L]] == "(Intercept)") {
          "The intercept has fields of its own: {.arg intercept_mean} and
           {.arg intercept_sd}."
        }),
      call = call
    )
  }
  filled[given] <- x
  filled
}

complete_slopes <- function(prior, field, default, slopes, call) {
  complete_each(prior[[field]], default, slopes, field, "the slopes", call)
}

# The fields that every prior must have; priors of earlier versions have only
# these.
needed_fields <- function(maker) {
  setdiff(
    names(formals(maker)),
    c(
      "slope_mean", "slope_sd", "slope_scale", "intercept_mean", "intercept_sd",
      "nu", "relevant"
    )
  )
}

# The prior that a user gives, checked. maker: the function of its class.
made_prior <- function(prior, maker, call) {
  class <- deparse1(substitute(maker))
  made_by <- paste0(class, "()")
  check_class(prior, class, made_by, arg = "prior", call = call)
  remade(
    prior, maker, made_by, arg = "prior", call = call,
    needed = needed_fields(maker)
  )
}

# ---- The degrees of freedom of t errors --------------------------------------

# Whether t errors belong to the prior: of a fit, or because `nu` is given.
has_t_errors <- function(prior) {
  identical(prior$errors, "t") || !is.null(prior$nu)
}

format_nu <- function(prior) {
  if (!is.null(prior$nu)) {
    paste0("  nu = ", format_prior_value(prior$nu))
  } else if (has_t_errors(prior)) {
    paste0("nu ~ Gamma(", nu_shape, ", ", nu_rate, ")    (shape, rate)")
  }
}

# The prior of the degrees of freedom, a gamma distribution (Juarez and Steel
# 2010): shape and rate.
nu_shape <- 2
nu_rate <- 0.1

# Known degrees of freedom of t errors: with fewer, nearly all weights of the
# observations are lost in rounding.
check_known_nu <- function(nu, call) {
  check_number(nu, 0.01, null_ok = TRUE, arg = "nu", call = call)
}
