# What bench/mh.R and bench/nuts.R share: how time is taken, how C files are
# compiled, and posteriors to draw from.  The scripts source this file after
# deps.R.

quietly <- function(expr) {
  utils::capture.output(value <- suppressWarnings(suppressMessages(expr)))
  value
}

# All of this runs in one process and one thread.
seconds_of <- function(expr) {
  gc(FALSE)
  before <- proc.time()[["user.self"]]
  force(expr)
  proc.time()[["user.self"]] - before
}

least_ess <- function(draws) {
  min(apply(draws, 3L, posterior::ess_bulk))
}

# A shared object made of a C file; NULL where there is no compiler.
compile <- function(file) {
  place <- tempfile("bench")
  dir.create(place)
  file.copy(file, place)
  source <- file.path(place, basename(file))
  include <- system.file("include", package = "gibbsite")
  Sys.setenv(PKG_CPPFLAGS = paste0("-I", shQuote(include)))
  on.exit(Sys.unsetenv("PKG_CPPFLAGS"))
  try(tools::Rcmd(c("SHLIB", shQuote(source)), stdout = FALSE), silent = TRUE)
  dll <- sub("[.]c$", .Platform$dynlib.ext, source)
  if (file.exists(dll)) dll
}

# ---- logistic regression: w ~ N(0, 10^2 I) -----------------------------------

logistic_dll <- compile(
  system.file("examples", "logistic.c", package = "gibbsite")
)

# data: list(x, y, sd), as logistic.c takes it.
logistic_density <- function(data) {
  x <- unname(data$x)
  y <- data$y
  function(w) {
    eta <- drop(x %*% w)
    sum(y * eta - log1p(exp(eta))) - sum(w * w) / (2 * data$sd^2)
  }
}

logistic_gradient <- function(data) {
  x <- unname(data$x)
  y <- data$y
  function(w) drop(crossprod(x, y - plogis(drop(x %*% w)))) - w / data$sd^2
}

pima <- if (peer_available("MASS")) {
  with(list(data = MASS::Pima.tr), list(
    x = cbind(1, scale(as.matrix(data[1:7]))), y = as.integer(data$type) - 1,
    sd = 10
  ))
}

# ---- the eight schools (Rubin 1981) ------------------------------------------

# mu ~ N(0, 5), tau ~ half-Cauchy(0, 5), theta_j = mu + tau eta_j; coordinates
# mu, log tau, eta
schools_data <- list(
  y = c(28, 8, -3, 7, -1, 1, 18, 12), sigma = c(15, 10, 16, 11, 9, 11, 10, 18)
)

schools_density <- local({
  y <- schools_data$y
  sigma <- schools_data$sigma
  function(x) {
    mu <- x[[1L]]
    log_tau <- x[[2L]]
    eta <- x[3:10]
    tau <- exp(log_tau)
    -mu^2 / 50 - log1p(tau^2 / 25) + log_tau - sum(eta * eta) / 2 -
      sum(((y - mu - tau * eta) / sigma)^2) / 2
  }
})

schools_gradient <- local({
  y <- schools_data$y
  variance <- schools_data$sigma^2
  function(x) {
    eta <- x[3:10]
    tau <- exp(x[[2L]])
    away <- (y - x[[1L]] - tau * eta) / variance
    c(
      -x[[1L]] / 25 + sum(away),
      1 - 2 * tau^2 / (25 + tau^2) + tau * sum(eta * away),
      -eta + tau * away
    )
  }
})
