# The t response of regressions (R/regression-response.R): normal but for its
# tails. `scale` is a matrix with the columns sigma and nu, a row for each draw.

# nu: NULL if the draws have it.
t_response <- function(nu) {
  structure(list(nu = nu), class = c("t_response", "normal_response"))
}

# The name is that of brms.
#' @exportS3Method
response_family.t_response <- function(response) {
  family <- stats::gaussian()
  family$family <- "student"
  family
}

#' @exportS3Method
response_scale.t_response <- function(response, draws) {
  cbind(
    sigma = unname(draws[, "sigma"]),
    nu = response$nu %||% unname(draws[, "nu"])
  )
}

#' @exportS3Method
response_draw.t_response <- function(response, eta, size, scale) {
  # rt() recycles nu down the columns
  eta + errors_sd(size, scale[, 1L]) * stats::rt(length(eta), scale[, 2L])
}

#' @exportS3Method
response_log_lik.t_response <- function(response, eta, data, scale) {
  sd <- errors_sd(column_weights(data, eta), scale[, 1L])
  away <- (rep(data$y, each = nrow(eta)) - eta) / sd
  out <- stats::dt(away, scale[, 2L], log = TRUE) - log(sd)
  matrix(out, nrow(eta), dimnames = dimnames(eta))
}

# The log density is not concave: the precision of the normal response that has
# the same first derivatives takes the place of the second.
#' @exportS3Method
response_bend.t_response <- function(response, eta, data, scale) {
  variance <- errors_sd(column_weights(data, eta), scale[, 1L])^2
  nu <- scale[, 2L]
  away <- rep(data$y, each = nrow(eta)) - eta
  precision <- (nu + 1) / (nu * variance + away^2)
  list(first = precision * away, second = precision)
}

# Infinite with 2 degrees of freedom or fewer.
#' @exportS3Method
response_variance.t_response <- function(response, eta, scale) {
  scale[, 1L]^2 * t_variance(scale[, 2L])
}

t_variance <- function(nu) ifelse(nu > 2, nu / (nu - 2), Inf)

#' @exportS3Method
new_observations.t_response <- function(response, at, size, scale, tails) {
  count <- nrow(at$mean)
  variance <- t_variance(scale[, 2L])
  z <- normal_points(count)
  table <- vapply(seq_along(size), function(i) {
    mean <- at$mean[, i]
    sd <- scale[, 1L] / sqrt(size[[i]])
    spread <- at$sd[, i] %||% numeric(count)
    within <- mean(variance * sd^2 + spread^2)
    nu <- scale[, 2L]
    out <- c(mean(mean), sqrt(sum((mean - mean(mean))^2) / max(1, count - 1) +
                                within))
    if (any(spread > 0, na.rm = TRUE)) {
      mean <- mean + outer(spread, z)
      sd <- rep(sd, length(z))
      nu <- rep(nu, length(z))
    }
    c(out, vapply(tails, t_mixture_quantile, 0, as.vector(mean), sd, nu))
  }, numeric(2L + length(tails)))
  stats::setNames(as.data.frame(t(table)), c("mean", "sd", "lower", "upper"))
}

# The quantile of the mixture of t distributions with equal weights.
t_mixture_quantile <- function(p, mean, sd, nu) {
  if (anyNA(mean) || !all(is.finite(sd))) {
    return(NA_real_)
  }
  # those of the components enclose it
  ends <- range(mean + sd * stats::qt(p, nu))
  if (!(ends[[2L]] > ends[[1L]])) {
    return(ends[[1L]])
  }
  away <- function(x) mean(stats::pt((x - mean) / sd, nu)) - p
  stats::uniroot(
    away, ends, tol = 1e-8 * stats::median(sd), maxiter = 1000,
    extendInt = "upX"
  )$root
}
