# Small fits of regressions. format-3/regressions.rds has those of a version
# whose fits did not have the class "gibbsite_regression", and
# format-3/logistic-run its checkpoint of the one named "logistic".

cars <- datasets::mtcars[c("mpg", "wt", "am", "cyl")]

regression_calls <- list(
  lm = quote(gibbs_lm(mpg ~ wt, cars)),
  hlm = quote(gibbs_hlm(mpg ~ wt + (1 | cyl), cars)),
  logistic = quote(gibbs_logistic(am ~ wt, cars)),
  grouped = quote(gibbs_logistic(am ~ wt + (1 | cyl), cars)),
  laplace = quote(laplace_logistic(am ~ wt, cars))
)

regression_run <- function(call, draws = 20, ...) {
  call[names(list(...))] <- list(...)
  if (call[[1L]] != quote(laplace_logistic)) call$burnin <- 10
  call[c("draws", "chains", "seed", "progress")] <- list(draws, 1, 3, FALSE)
  suppressMessages(suppressWarnings(eval(call)))
}

regression_runs <- function(...) lapply(regression_calls, regression_run, ...)
