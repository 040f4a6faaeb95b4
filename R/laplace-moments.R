# What every Laplace approximation knows: mode, standard deviations, covariance.

is_corrected <- function(model) identical(model$correct, "importance")

# Whether the draws are of the posterior itself, and not of a normal
# approximation.
draws_posterior <- function(model) {
  model_algorithm(model) != "laplace" || is_corrected(model)
}

laplace_mode <- function(model) {
  stats::setNames(model$data$map, model$columns)
}

laplace_sd <- function(model) sqrt(diag(laplace_covariance(model)))

laplace_covariance <- function(model) {
  covariance <- chol2inv(t(model$data$precision_factor))
  dimnames(covariance) <- list(model$columns, model$columns)
  covariance
}
