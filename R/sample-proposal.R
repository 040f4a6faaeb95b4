# Proposals of rejection and importance sampling: a function that draws and the
# log density of its draws.

# list(draw(n), log_density(x)) of what a user gives as a proposal.
sampling_proposal <- function(proposal, call) {
  if (inherits(proposal, "independence")) {
    check_proposal_fields(proposal, "proposal", call)
    return(independent_draws(proposal))
  }
  parts <- c("draw", "log_density")
  plain <- is.list(proposal) && !is.object(proposal)
  there <- plain & vapply(parts, function(part) {
    plain && is.function(proposal[[part]])
  }, NA)
  if (!all(there)) {
    given <- if (plain) {
      paste0("a list without the function `", parts[!there][[1L]], "`")
    } else {
      describe(proposal)
    }
    abort_argument(
      c("{.arg proposal} must be a list of two functions, {.field draw} and
         {.field log_density}, or made by {.fn independence}, not {given}.",
        i = "{.code list(draw = function(n) rnorm(n),
             log_density = function(x) dnorm(x, log = TRUE))}"),
      call = call
    )
  }
  proposal[parts]
}

# independence(): N(m, R'R), or multivariate t.
independent_draws <- function(proposal) {
  d <- length(proposal$mean)
  df <- proposal$df
  factor <- chol(proposal$cov)
  log_det <- sum(log(diag(factor)))
  list(
    draw = function(n) {
      z <- matrix(stats::rnorm(n * d), d)
      x <- crossprod(z, factor)
      if (is.finite(df)) x <- x / sqrt(stats::rchisq(n, df) / df)
      x <- x + rep(proposal$mean, each = n)
      colnames(x) <- names(proposal$mean)
      if (d == 1L) as.vector(x) else x
    },
    log_density = function(x) {
      away <- t(as.matrix(x)) - as.vector(proposal$mean)
      square <- colSums(backsolve(factor, away, transpose = TRUE)^2)
      if (!is.finite(df)) {
        return(-d / 2 * log(2 * pi) - log_det - square / 2)
      }
      lgamma((df + d) / 2) - lgamma(df / 2) - d / 2 * log(df * pi) - log_det -
        (df + d) / 2 * log1p(square / df)
    }
  )
}

# `n` draws with both log densities: list(x, log_target, log_proposal).
propose_draws <- function(n, log_target, proposal, call) {
  x <- tryCatch(proposal$draw(n), error = function(cnd) {
    abort_numeric(
      "{.field draw} of {.arg proposal} failed.", parent = cnd, call = call,
      class = "density"
    )
  })
  if (!is.numeric(x) || NROW(x) != n || length(dim(x)) > 2L) {
    given <- describe(x)
    abort_numeric(
      c("{.field draw} of {.arg proposal} must return {n} draw{?s}, not
         {given}.",
        i = "Draws are a vector, or a matrix with a draw in each row."),
      call = call, class = "density"
    )
  }
  if (!all(is.finite(x))) {
    abort_numeric(
      "{.field draw} of {.arg proposal} must return finite numbers.",
      call = call, class = "density"
    )
  }
  # as the user's functions get it: a vector, or a matrix
  x <- if (is.matrix(x)) unclass(x) else as.double(x)
  log_proposal <- values_of(
    proposal$log_density, x, arg = "log_density", call = call, infinite = TRUE
  )
  if (any(is.infinite(log_proposal))) {
    first <- which(is.infinite(log_proposal))[[1L]]
    abort_numeric(
      "{.field log_density} of {.arg proposal} is {log_proposal[[first]]} at
       {draw_place(x, first)}, a draw of its own.",
      call = call, class = "density"
    )
  }
  value <- values_of(
    log_target, x, arg = "log_target", call = call, infinite = TRUE
  )
  if (any(value == Inf)) {
    first <- which(value == Inf)[[1L]]
    abort_numeric(
      "{.arg log_target} is Inf at {draw_place(x, first)}.", call = call,
      class = "density"
    )
  }
  list(x = x, log_target = value, log_proposal = log_proposal)
}
