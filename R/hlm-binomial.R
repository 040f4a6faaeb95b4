# gibbs_logistic() with groups: the models of gibbs_hlm() of one bar and of
# several, with binomial responses. src/core/hlm/hlm_latent.h and hlm_binomial.h
# have the mathematics.

# The frame of hlm_frame() with the parts of logistic_frame(). user_call: that
# of gibbs_logistic().
hlm_binomial_frame <- function(formula, data, user_call, action, contrasts,
                               link, env, call) {
  parts <- grouped_parts(
    formula, data, user_call, "gibbs_logistic", as_weighted_response, action,
    contrasts, env, call
  )
  frame <- parts$frame
  settled <- trials_of_weights(parts$response, frame$weights, call)
  frame["weights"] <- list(settled$weights)
  frame$link <- link
  binomial_frame(frame, settled$response)
}

# The frame with the counts of a response, of as_response() with its name.
binomial_frame <- function(frame, response) {
  own <- logistic_frame(list(
    x = frame$x, response = response, weights = frame$weights,
    offset = frame$offset, total = total_weights(response, frame$weights),
    link = frame$link
  ))
  frame[names(own)] <- own
  frame
}

hlm_binomial_model <- function(frame, prior, call) {
  parts <- hlm_binomial_parts(bar_frames(frame), prior, call)
  prior <- parts$prior
  prior[c("group_df", "group_scale")] <- lapply(
    prior[c("group_df", "group_scale")], `[[`, 1L
  )
  hlm_binomial_model_of(frame, prior, parts$layout[[1L]])
}

# list(layout, prior): of each of `frames`, which have one bar each; the prior
# with every field filled in, `group_df` and `group_scale` by bar.
hlm_binomial_parts <- function(frames, prior, call) {
  frame <- frames[[1L]]
  used <- rows_used(frame)
  if (!any(used)) {
    abort_argument("There are no observations with trials.", call = call)
  }
  layout <- lapply(frames, hlm_design, used, frame$total[used], call)
  prior <- complete_group_prior(prior, frame, layout, call)
  list(layout = layout, prior = prior)
}

complete_group_prior <- function(prior, frame, layout, call) {
  found <- fixed_design(frame, layout[[1L]]$columns, frame$total, call)
  there <- " for a formula with groups"
  complete_latent_prior(prior, found, layout, call, there)
}

hlm_binomial_model_of <- function(frame, prior, design) {
  data <- hlm_binomial_data(frame, prior, design)
  nobs <- sum(rows_used(frame))
  title <- paste("Hierarchical", tolower(link_title(frame$link)))
  new_model(
    c("hlm_binomial_model", "hlm_model"),
    name = "gibbs_logistic", title = title,
    headline = hlm_headline(title, frame, design, nobs),
    data = data, data_part = "frame",
    prior = linked_prior(prior, frame$link), nobs = nobs,
    columns = hlm_columns(frame, design, "w"),
    cures = binomial_cures,
    coefficients = design$columns, layout = design, keep = "w",
    levels = frame$levels, group_name = frame$group_name,
    unbounded = design$columns[
      unbounded_columns(frame, seq_along(design$columns))
    ],
    design = c(hlm_design_of(frame), list(link = frame$link)), frame = frame
  )
}

binomial_cures <- paste(
  "Groups with few observations say little about the covariance of their",
  "effects: use fewer terms before the bar, or a prior with a smaller",
  "`group_scale`: see ?logistic_prior."
)

# The rows stand by group.
hlm_binomial_data <- function(frame, prior, design) {
  used <- which(rows_used(frame))
  rows <- used[order(frame$group[used])]
  p <- length(design$columns)
  x <- in_basis(frame$x[rows, , drop = FALSE], prior$basis)
  data <- list(
    q = as.double(length(design$bar)), p = as.double(p),
    groups = as.double(length(frame$levels)),
    diagonal = as.double(design$diagonal),
    known = 1, half_t = 1, collapsed = 0, keep = 1,
    probit = as.double(frame$link == "probit"),
    mean = unname(prior_means(prior)),
    precision = unname(1 / prior$slope_variance),
    df = as.double(prior$group_df),
    scale = unname(as.double(prior$group_scale)), shape = 0, rate = 0,
    unit = rep(1, p), column_mean = numeric(p), centre = 0,
    intercept_at = as.double(p),
    fixed_at = as.integer(match(design$bar, design$columns, 0L) - 1L),
    first = c(0L, cumsum(tabulate(frame$group[used], length(frame$levels)))),
    bar = as.double(
      t(in_basis(frame$z[rows, , drop = FALSE], design$bar_basis))
    ),
    fixed = as.double(t(x)),
    success = as.double(frame$success[rows]),
    total = as.double(frame$total[rows]),
    offset = as.double(frame$offset[rows]), constant = frame$constant
  )
  data$basis <- prior$basis
  data
}

# ---- Starting values and sweeps ----------------------------------------------

# The standard deviations of the groups are those of the prior, each over or
# under by a factor of up to 10; b and u are 0.
#' @exportS3Method
model_start.hlm_binomial_model <- function(model, init) {
  default <- start_covariance(model$data)
  hlm_state(model, list(init$Sigma %||% default), 1)
}

#' @exportS3Method
model_sweeps.hlm_trials_model <- function(model, state, n, control) {
  data <- trials_data(model)
  if (!is.null(data$response$proposals)) {
    state$counts <- state$counts %||% numeric(8L)
  }
  with_bases(model, .Call(C_hlm_latent_sweeps, data, state, n, control))
}

#' @exportS3Method
model_acceptance.hlm_trials_model <- function(model, state) {
  if (!is.null(state$counts)) bars_acceptance(model, state)
}

trials_data <- function(model) {
  if (is.null(model$data$bars)) one_bar_data(model$data) else model$data
}

# What C reads of a single bar, as core/hlm/hlm_latent.h describes.
one_bar_data <- function(data) {
  n <- length(data$total)
  bar <- c(data, list(row = seq_len(n) - 1L))
  list(
    count = 1, p = data$p, n = as.double(n), bars = list(bar),
    fixed = data$fixed, offset = data$offset, constant = data$constant,
    nesting = list(), response = binomial_data(data)
  )
}

# success and total in the order of the rows.
binomial_data <- function(data) {
  binomial_rows(
    if (data$probit == 1) "probit" else "logit", data$success, data$total
  )
}

# The parameters, the log-likelihood, and the coefficients of at most 20 groups.
# Those of thousands of groups would take longer to judge than to draw.
#' @exportS3Method
model_invariants.stored_groups_model <- function(model, draws) {
  groups <- length(model$levels)
  shown <- unique(round(seq(1, groups, length.out = 20)))
  left_out <- coefficient_names(model$data$q, groups)[
    rep(!seq_len(groups) %in% shown, each = model$data$q)
  ]
  draws <- unclass(draws)
  draws[, !colnames(draws) %in% left_out, drop = FALSE]
}

# ---- Other responses ---------------------------------------------------------

# Simulated responses have the form that set_data() takes.
#' @exportS3Method
simulate_data.hlm_trials_model <- function(model, state) {
  simulated_successes(model, state_predictor(model, state))
}

# `data`: the response, one for each row of the fit's data.
#' @exportS3Method
set_data.hlm_trials_model <- function(model, data,
                                      call = rlang::caller_env()) {
  read <- function(y) as_response(y, "data", call)
  remake <- function(frame, response) {
    counts <- c(response[c("y", "trials")], frame$response)
    hlm_trials_model_again(model, binomial_frame(frame, counts))
  }
  with_responses(model, data, "hierarchical regression", remake, call, read)
}

# The model of other rows of the same layout.
hlm_trials_model_again <- function(model, frame) {
  model_of <- if (is.null(frame$bars)) {
    hlm_binomial_model_of
  } else {
    hlm_crossed_binomial_model_of
  }
  model_of(frame, model$prior, model$layout)
}

#' @exportS3Method
model_quantities.hlm_trials_model <- function(model, state) {
  eta <- state_predictor(model, state)
  c(
    model_effects(model, with_fixed_of_data(model, state)),
    log_lik = share_sum(model, eta)
  )
}

#' @exportS3Method
model_fold.hlm_trials_model <- function(model, held, by) {
  rows <- fold_rows(model, held, by)
  rest <- model$frame
  rest$total[rows] <- 0
  rest$success[rows] <- 0
  fold_at_rows(model, hlm_trials_model_again(model, rest), rows)
}

# ---- Several bars ------------------------------------------------------------

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
  data <- crossed_binomial_data(frame, prior, layout)
  new_model(
    c("hlm_crossed_binomial_model", "hlm_crossed_model", "hlm_model"),
    name = "gibbs_logistic",
    title = title, headline = crossed_headline(title, layout, levels, n, data),
    data = data, data_part = "frame",
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
  x <- in_basis(frame$x[used, , drop = FALSE], prior$basis)
  nesting <- nestings(frame, layout)
  data <- list(
    count = as.double(length(bars)), p = common$p, n = as.double(sum(used)),
    known = 1, bars = bars,
    fixed = as.double(t(x)),
    offset = as.double(frame$offset[used]), constant = frame$constant,
    nesting = nesting, response = binomial_data(list(
      probit = as.double(frame$link == "probit"),
      success = as.double(frame$success[used]),
      total = as.double(frame$total[used])
    ))
  )
  data$basis <- prior$basis
  c(data, way_of_trials(
    frame, layout, which(used), x, common$precision,
    frame$total[used] / if (frame$link == "probit") 1 else 4, nesting,
    proposals = !is.null(data$response$proposals)
  ))
}

# How the deviations of several bars are drawn together: the element `near` of
# proposals, or `joint` of latent responses.
way_of_trials <- function(..., proposals) {
  way <- if (proposals) list(near = near_bars(...)) else
    list(joint = joint_draw(...))
  Filter(Negate(is.null), way)
}

# Each bar starts as in model_start.hlm_binomial_model().
#' @exportS3Method
model_start.hlm_crossed_binomial_model <- function(model, init) {
  hlm_state(model, start_bar_covariances(model, init), 1)
}
