# gibbs_hlm() with t errors: the models of one bar and of several.
# R/t-errors.R has what they share with gibbs_lm().

hlm_t_model <- function(frame, prior, call) {
  check_none_taken(intersect("nu", colnames(frame$x)), call)
  crossed <- !is.null(frame$bars)
  frames <- if (crossed) {
    bar_frames(frame)
  } else {
    stats::setNames(list(frame), frame$group_name)
  }
  parts <- hlm_parts(frames, prior, call)
  priors <- lapply(parts$priors, function(own) {
    own$errors <- "t"
    own
  })
  if (!crossed) {
    return(hlm_t_model_of(frame, priors, parts$layout))
  }
  model <- hlm_crossed_t_model_of(frame, priors, parts$layout)
  say_aliased(model)
  model
}

# priors, layout: lists with an element for each bar.
hlm_t_model_of <- function(frame, priors, layout) {
  design <- layout[[1L]]
  prior <- priors[[1L]]
  n <- sum(rows_used(frame))
  data <- hlm_t_data(frame, list(frame), priors, layout)
  # as the methods of a single bar read them
  bar <- data$bars[[1L]]
  data[c("q", "groups", "diagonal")] <- bar[c("q", "groups", "diagonal")]
  data$fixed_at <- match(design$bar, design$columns, 0L) - 1L
  title <- errors_title("Hierarchical linear regression", prior)
  new_model(
    c("hlm_t_model", "t_errors_model", "hlm_model"),
    name = "gibbs_hlm",
    title = title, headline = hlm_headline(title, frame, design, n),
    data = data, data_part = "frame", prior = prior, priors = priors, nobs = n,
    columns = with_nu_column(hlm_columns(frame, design, "w"), prior),
    cures = hlm_cures, coefficients = design$columns, layout = design,
    keep = "w", levels = frame$levels, group_name = frame$group_name,
    design = c(hlm_design_of(frame), list(errors = "t")), frame = frame
  )
}

hlm_crossed_t_model_of <- function(frame, priors, layout) {
  prior <- crossed_prior(priors)
  n <- sum(rows_used(frame))
  title <- errors_title("Hierarchical linear regression", prior)
  levels <- lapply(frame$bars, `[[`, "levels")
  new_model(
    c("hlm_crossed_t_model", "t_errors_model", "hlm_crossed_model",
      "hlm_model"),
    name = "gibbs_hlm",
    title = title, headline = crossed_headline(title, layout, levels, n),
    data = hlm_t_data(
      frame, bar_frames(frame), priors, layout, nestings(frame, layout)
    ),
    data_part = "frame", prior = prior, priors = priors, nobs = n,
    columns = with_nu_column(crossed_columns(frame, layout), prior),
    cures = hlm_cures, coefficients = layout[[1L]]$columns, layout = layout,
    levels = levels, group_name = names(levels),
    design = c(crossed_design_of(frame), list(errors = "t")), frame = frame
  )
}

hlm_t_data <- function(frame, frames, priors, layout, nesting = list()) {
  used <- rows_used(frame)
  design <- layout[[1L]]
  prior <- priors[[1L]]
  weights <- used_weights(frame, used)
  y <- (frame$y - (frame$offset %||% 0))[used]
  # a state must not depend on the responses
  centre <- if (length(design$intercept) == 1L) prior$intercept_mean else 0
  fixed <- c(
    scaled_design(frame, design), scaled_fixed_prior(prior, design, centre),
    list(
      y = y - centre, weights = weights, centre = centre,
      intercept = design$intercept
    )
  )
  bars <- Map(function(bar, prior, design) {
    c(
      bar_groups(bar, design, which(used), prior$df, prior$scale,
                 prior$type == "half-t"),
      list(reach = design$reach)
    )
  }, frames, priors, layout)
  noise <- c(prior$nu0, prior$nu0 * prior$sigma0^2) / 2
  t_data(fixed, bars, noise, prior$nu, nesting = nesting)
}

# ---- One bar -----------------------------------------------------------------

# The coefficients of the groups are stored.
#' @exportS3Method
model_stored_draws.hlm_t_model <- function(model, draws) {
  data <- model$data
  first <- ncol(draws) - data$q * data$groups
  for (k in which(data$fixed_at >= 0L)) {
    own <- first + seq.int(k, by = data$q, length.out = data$groups)
    draws[, own] <- draws[, own] + draws[, data$fixed_at[[k]] + 1L]
  }
  draws
}

# ---- Both --------------------------------------------------------------------

# Of other data or rows, with the priors as they are.
hlm_t_model_again <- function(model, frame, layout) {
  if (inherits(model, "hlm_crossed_model")) {
    hlm_crossed_t_model_of(frame, model$priors, layout)
  } else {
    hlm_t_model_of(frame, model$priors, layout)
  }
}

set_hlm_t_data <- function(model, data, call) {
  layout <- if (inherits(model, "hlm_crossed_model")) {
    model$layout
  } else {
    list(model$layout)
  }
  with_responses(model, data, "hierarchical regression", function(frame, ...) {
    hlm_t_model_again(model, frame, layout)
  }, call)
}

# `data`: the responses, one for each row of the fit's data.
#' @exportS3Method
set_data.hlm_t_model <- function(model, data, call = rlang::caller_env()) {
  set_hlm_t_data(model, data, call)
}

#' @exportS3Method
set_data.hlm_crossed_t_model <- function(model, data,
                                         call = rlang::caller_env()) {
  set_hlm_t_data(model, data, call)
}

fold_hlm_t <- function(model, held, by) {
  fold_of_rows(model, held, by, function(rest) {
    used <- rows_used(rest)
    # the prior of the intercept is at the means of the rows that are used
    frames <- if (is.null(rest$bars)) list(rest) else bar_frames(rest)
    layout <- lapply(frames, hlm_design, used, rest$weights[used], NULL)
    hlm_t_model_again(model, rest, layout)
  })
}

#' @exportS3Method
model_fold.hlm_t_model <- function(model, held, by) {
  fold_hlm_t(model, held, by)
}

#' @exportS3Method
model_fold.hlm_crossed_t_model <- function(model, held, by) {
  fold_hlm_t(model, held, by)
}
