# Arguments that moves share: scales, covariances, rates and gradients, and what
# they are for the coordinates of a block.

check_approximation <- function(x, arg, call) {
  if (inherits(x, "laplace_model")) x else check_whole_fit(x, arg, call)
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

# The names of an approximation are used only if they are those of the
# coordinates, in any order: the user did not choose them.
approximation_mean <- function(fit) stats::coef(fit)

approximation_covariance <- function(fit) as.matrix(stats::vcov(fit))

check_rate <- function(target, null_ok = FALSE, call = rlang::caller_env()) {
  check_number(target,
    lower = 0, upper = 1, lower_open = TRUE, upper_open = TRUE,
    null_ok = null_ok, arg = "target", call = call
  )
}

# A step that is given, or NULL if it is tuned in burn-in.
check_tuned_step <- function(step, tune, call = rlang::caller_env()) {
  step <- check_number(
    step, lower = 0, lower_open = TRUE, null_ok = TRUE, call = call
  )
  if (is.null(step) && !check_flag(tune, call = call)) {
    abort_argument(
      "{.arg step} is needed with {.code tune = FALSE}.", call = call
    )
  }
  step
}

check_gradient_function <- function(gradient, null_ok = FALSE,
                                    call = rlang::caller_env()) {
  if (is.null(gradient) && null_ok) {
    return(NULL)
  }
  if (!is.function(gradient) || is_native_density(gradient)) {
    abort_expected(
      gradient, "a function of a point", null_ok, "gradient", call
    )
  }
  if (length(argument_list(gradient)) == 0L) {
    abort_argument(
      "{.arg gradient} must be a function of a point; it takes no argument.",
      call = call
    )
  }
  gradient
}

# ---- For the coordinates of a block -----------------------------------------

# One number for each coordinate. `at`: of compile_proposal(); borrowed: see
# names_for().
as_coordinates <- function(x, arg, at, borrowed = FALSE) {
  d <- at$d
  where <- at$where
  if (!length(x) %in% c(1L, d)) {
    abort_argument(
      "`{arg}` of `{where}` must have length {or_words(unique(c(1, d)))}
       (coordinates), not {length(x)}.",
      call = at$call
    )
  }
  if (d > 1L) {
    x <- in_order_of(
      x, names_for(x, at$names, borrowed), paste0(arg, "` of `", where),
      "the coordinates", at$call
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
proposal_factor <- function(cov, at, inflate = 1, arg = "cov",
                            borrowed = is_laplace_fit(cov)) {
  force(borrowed)
  d <- at$d
  where <- at$where
  if (identical(cov, "laplace")) {
    cov <- inflate * at$at_mode()
  } else if (is_laplace_fit(cov)) {
    cov <- inflate * approximation_covariance(cov)
  }
  if (nrow(cov) != d) {
    abort_argument(
      "`{arg}` of `{where}` must be {d} x {d} (coordinates), not {nrow(cov)} x
       {ncol(cov)}.",
      call = at$call
    )
  }
  cov <- matrix_in_order_of(
    cov, names_for(cov, at$names, borrowed), paste0(arg, "` of `", where),
    "the coordinates", at$call
  )
  as.double(t(chol(cov)))
}

# d scales as the factor of a diagonal covariance, d * d numbers.
diag_vector <- function(scale) as.double(diag(scale, length(scale)))
