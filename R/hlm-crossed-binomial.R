# gibbs_logistic() with several bars: hlm-crossed-model.R with the responses of
# hlm-binomial.R. src/core/hlm/hlm_latent.h has the mathematics.

hlm_crossed_binomial_model <- function(frame, prior, call) {
  parts <- hlm_binomial_parts(bar_frames(frame), prior, call)
  model <- hlm_crossed_binomial_model_of(frame, parts$prior, parts$layout)
  say_aliased(model)
  model
}

hlm_crossed_binomial_model_of <- function(frame, prior, layout) {
  n <- sum(rows_used(frame))
  title <- paste("Hierarchical", tolower(link_title(frame$link)))
  levels <- lapply(frame$bars, `[[`, "levels")
  columns <- layout[[1L]]$columns
  new_model(
    c("hlm_crossed_binomial_model", "hlm_crossed_model", "hlm_model"),
    name = "gibbs_logistic", fit_class = regression_class("gibbs_logistic"),
    title = title, headline = crossed_headline(title, layout, levels, n),
    data = crossed_binomial_data(frame, prior, layout), data_part = "frame",
    prior = linked_prior(prior, frame$link), nobs = n,
    columns = crossed_columns(frame, layout), cures = binomial_cures,
    coefficients = columns, layout = layout, levels = levels,
    group_name = names(levels),
    unbounded = columns[unbounded_columns(frame, seq_along(columns))],
    design = c(crossed_design_of(frame), list(link = frame$link)),
    frame = frame
  )
}

# What C reads, as core/hlm/hlm_latent.h describes.
crossed_binomial_data <- function(frame, prior, layout) {
  used <- rows_used(frame)
  common <- bar_fixed_effects(prior_means(prior), 1 / prior$slope_variance)
  bars <- latent_bars(frame, layout, which(used), prior, common)
  list(
    count = as.double(length(bars)), p = common$p, n = as.double(sum(used)),
    known = 1, bars = bars,
    fixed = as.double(t(frame$x[used, , drop = FALSE])),
    offset = as.double(frame$offset[used]), constant = frame$constant,
    nesting = nestings(frame, layout), response = binomial_data(list(
      probit = as.double(frame$link == "probit"),
      success = as.double(frame$success[used]),
      total = as.double(frame$total[used])
    ))
  )
}

#' @exportS3Method
model_response.hlm_crossed_binomial_model <- function(model) {
  binomial_response(model)
}

# As model_start.hlm_binomial_model(), for each bar.
#' @exportS3Method
model_start.hlm_crossed_binomial_model <- function(model, init) {
  crossed_state(model, start_bar_covariances(model, init), 1)
}

#' @exportS3Method
model_sweeps.hlm_crossed_binomial_model <- function(model, state, n, control) {
  .Call(C_hlm_latent_sweeps, model$data, state, n, control)
}

#' @exportS3Method
model_notes.hlm_crossed_binomial_model <- function(model, fit, table) {
  unbounded_note(model$unbounded)
}

# In the form of set_data().
#' @exportS3Method
simulate_data.hlm_crossed_binomial_model <- function(model, state) {
  simulated_successes(model, eta_of_state(model$frame, state))
}

# `data`: the response, one for each row of the fit's data.
#' @exportS3Method
set_data.hlm_crossed_binomial_model <- function(model, data,
                                                call = rlang::caller_env()) {
  with_binomial_responses(model, data, hlm_crossed_binomial_model_of, call)
}

#' @exportS3Method
model_quantities.hlm_crossed_binomial_model <- function(model, state) {
  c(
    model_effects(model, state),
    log_lik = share_sum(model, eta_of_state(model$frame, state))
  )
}

#' @exportS3Method
model_fold.hlm_crossed_binomial_model <- function(model, held, by) {
  fold_of_trials(model, held, by, hlm_crossed_binomial_model_of)
}
