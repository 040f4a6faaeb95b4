# The links of gibbs_logistic(): P(success) = F(eta), with F the logistic or the
# normal distribution function. laplace_logistic() has the logit link alone.

logistic_links <- c("logit", "probit")

model_link <- function(model) model_design(model)$link %||% "logit"

# What a coefficient changes.
link_words <- function(model) {
  c(logit = "log-odds", probit = "probit")[[model_link(model)]]
}

# Whether the coefficients are log-odds.
has_log_odds <- function(model) {
  model$name %in% c("gibbs_logistic", "laplace_logistic") &&
    model_link(model) == "logit"
}

logistic_next <- function(model) {
  c("predict(fit)", if (has_log_odds(model)) "tidy(fit, exponentiate = TRUE)")
}

# F(eta), or 1 - F(eta), or their logarithms; eta: a vector or a matrix.
success_probability <- function(model, eta, success = TRUE, log = FALSE) {
  distribution <- switch(
    model_link(model), logit = stats::plogis, probit = stats::pnorm
  )
  distribution(eta, lower.tail = success, log.p = log)
}

# What a regression with a link is called, in print.
link_title <- function(link) {
  paste(c(logit = "Logistic", probit = "Probit")[[link]], "regression")
}

check_logit_alone <- function(..., call) {
  if ("link" %in% names(substitute(list(...)))) {
    abort_argument(
      c("`laplace_logistic()` has the logit link alone: there is no argument
         `link`.",
        i = "{.code gibbs_logistic(link = \"probit\")} draws from the posterior
             of a probit regression."),
      call = call
    )
  }
  check_no_more(..., call = call)
}
