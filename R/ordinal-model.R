# The model behind gibbs_ordinal(): its fields, states and starting values, with
# groups or without. src/core/hlm/hlm_latent.h and hlm_ordinal.h have the
# mathematics.

# ---- Frames ------------------------------------------------------------------

# The frame of a formula, with `bars` if it has any. The thresholds take the
# place of the intercept, which the design does not have. user_call: that of
# gibbs_ordinal().
ordinal_frame <- function(formula, data, user_call, action, contrasts, env,
                          call) {
  others <- c("ordinal::clmm", "brms::brm")
  if (!has_bar(formula)) {
    check_model_formula(formula, "gibbs_ordinal", others, call)
    made <- regression_frame(formula, data, user_call, action, env, call)
    parts <- formula_parts(made, contrasts, as_ordered, call)
    frame <- lm_frame(parts, call)
    frame$response$levels <- parts$response$levels
    check_has_intercept(frame$terms, call)
  } else {
    parsed <- parse_hlm_formula(formula, data, call)
    check_model_formula(parsed$flat, "gibbs_ordinal", others, call)
    user_call$formula <- parsed$with_group
    made <- regression_frame(
      parsed$with_group, data, user_call, action, env, call
    )
    response <- as_ordered(
      stats::model.response(made$frame), deparse1(formula[[2L]]), call
    )
    frame <- hlm_frame(made, parsed, formula, response, contrasts, NULL, call)
    frame$response$levels <- response$levels
    frame$known <- TRUE
    frame <- with_bars(frame)
    check_has_intercept(frame$fixed_terms, call)
  }
  frame$x <- without_intercept(frame$x)
  frame
}

# A frame of one bar in the form of that of several.
with_bars <- function(frame) {
  if (!is.null(frame$bars)) {
    return(frame)
  }
  own <- c("z", "group", "levels", "group_ids", "group_name", "group_expr",
           "diagonal", "bar_terms")
  frame$bars <- stats::setNames(list(frame[own]), frame$group_name)
  frame[setdiff(names(frame), own)]
}

check_has_intercept <- function(terms, call) {
  if (attr(terms, "intercept") == 0L) {
    abort_argument(
      c("`formula` cannot be without an intercept: the thresholds stand in its
         place.",
        i = "Leave {.code 0} or {.code -1} out."),
      call = call, class = "formula"
    )
  }
}

# ---- The model ---------------------------------------------------------------

ordinal_model <- function(frame, prior, call) {
  used <- rows_used(frame)
  if (!any(used)) {
    abort_argument(
      "There are no observations with a weight above 0.",
      call = call, class = "empty"
    )
  }
  check_categories(frame, call)
  frame$total <- NULL
  check_ordinal_weights(frame, call)
  columns <- colnames(frame$x) %||% character()
  layout <- if (!is.null(frame$bars)) {
    lapply(bar_frames(frame), hlm_design, used,
           (frame$weights %||% rep(1, length(used)))[used], call)
  } else {
    check_square_size(
      length(columns) + 1, 2, "The precision matrix of the coefficients has",
      "Use fewer columns", call
    )
    NULL
  }
  check_ordinal_names(columns, call)
  found <- describe_design(
    frame$x, columns, measure_columns(frame$x, as.double(used)), call
  )
  prior <- complete_ordinal_prior(prior, found, layout, call)
  model <- ordinal_model_of(frame, prior, layout)
  if (length(layout) > 1L) say_aliased(model)
  model
}

check_ordinal_weights <- function(frame, call) {
  weights <- frame$weights
  if (is.null(weights)) {
    return(invisible())
  }
  abort_elements(
    weights != round(weights), weights, "weights",
    "whole numbers of observations", call
  )
  if (sum(weights) > most_trials) {
    abort_argument(
      "`weights` must be {digits(most_trials)} at most together, not
       {digits(sum(weights))}: each observation is a latent variable.",
      call = call, class = "size"
    )
  }
}

check_ordinal_names <- function(columns, call) {
  taken <- grep("^log_lik$|^(theta|u)\\[", columns, value = TRUE)
  if (length(taken) > 0L) {
    abort_argument(
      c("A column of the predictors cannot be named {.val {taken[[1]]}}: the
         fit has a quantity of this name.",
        i = "Rename the variable."),
      call = call
    )
  }
}

ordinal_model_of <- function(frame, prior, layout) {
  grouped <- !is.null(frame$bars)
  n <- sum(rows_used(frame))
  categories <- frame$response$levels
  title <- paste0(
    if (grouped) "Hierarchical ordered" else "Ordered", " probit regression"
  )
  fixed <- colnames(frame$x) %||% character()
  levels <- lapply(frame$bars, `[[`, "levels")
  bars <- paste0(lengths(levels), " ", names(levels), recycle0 = TRUE)
  columns <- if (grouped) crossed_columns(frame, layout) else {
    c(fixed, "log_lik")
  }
  columns <- append(
    columns, indexed("theta", seq_len(length(categories) - 1L)),
    match("log_lik", columns) - 1L
  )
  new_model(
    if (grouped) {
      c("hlm_ordinal_model", "hlm_crossed_model", "hlm_model")
    } else {
      "ordinal_model"
    },
    name = "gibbs_ordinal", fit_class = regression_class("gibbs_ordinal"),
    title = title,
    headline = paste0(
      title, ": ", paste(c(
        paste(length(categories), "categories"),
        counted(length(fixed), if (grouped) "fixed effect" else "coefficient"),
        bars, counted(n, "observation")
      ), collapse = ", ")
    ),
    data = ordinal_data(frame, prior, layout), data_part = "frame",
    prior = prior, nobs = n, columns = columns,
    cures = if (grouped) {
      paste(
        "Groups with few observations say little about the covariance of",
        "their effects: use fewer terms before the bar, or a prior with a",
        "smaller `group_scale`: see ?ordinal_prior."
      )
    } else {
      "Try a prior with smaller variances: see ?ordinal_prior."
    },
    coefficients = fixed, layout = layout,
    levels = if (grouped) levels, group_name = if (grouped) names(levels),
    design = if (grouped) crossed_design_of(frame) else lm_design_of(frame),
    frame = frame
  )
}

# What C reads, as core/hlm/hlm_latent.h and hlm_ordinal.h describe: the columns
# less their means, and a last one of ones.
ordinal_data <- function(frame, prior, layout) {
  rows <- which(rows_used(frame))
  n <- length(rows)
  x <- unname(frame$x[rows, , drop = FALSE])
  x <- cbind(x - rep(prior$centre, each = n), rep(1, n), deparse.level = 0)
  thresholds <- length(frame$response$levels) - 1
  quadratic <- prior_precision(ordinal_slopes_prior(prior))
  common <- list(
    p = as.double(ncol(x)), known = 1, half_t = 1, collapsed = 0, keep = 1,
    mean = c(quadratic$mean %||% numeric(ncol(x) - 1L), 0),
    precision = c(
      as.double(quadratic$precision), thresholds / prior$threshold_sd^2
    ),
    shape = 0, rate = 0, unit = rep(1, ncol(x)), column_mean = numeric(ncol(x)),
    centre = 0, intercept_at = as.double(ncol(x))
  )
  bars <- lapply(names(frame$bars), function(name) {
    ordinal_bar(
      frame$bars[[name]], layout[[name]], rows, prior$group_df[[name]],
      prior$group_scale[[name]], common
    )
  })
  if (length(bars) == 0L) bars <- list(no_bar(n, common))
  list(
    count = as.double(length(bars)), p = common$p, n = as.double(n),
    bars = bars, fixed = as.double(t(x)),
    offset = as.double(frame$offset[rows]), constant = 0,
    nesting = if (!is.null(layout)) nestings(frame, layout) else list(),
    response = list(
      type = "ordinal", levels = thresholds + 1, sd = prior$threshold_sd,
      code = as.double(frame$y[rows]),
      weight = as.double((frame$weights %||% rep(1, length(frame$y)))[rows]),
      mean = unname(prior$centre)
    )
  )
}

ordinal_bar <- function(bar, design, rows, df, scale, common) {
  group <- bar$group[rows]
  groups <- length(bar$levels)
  z <- unname(bar$z[rows, , drop = FALSE])
  c(common, list(
    q = as.double(ncol(z)), groups = as.double(groups),
    diagonal = as.double(design$diagonal), df = as.double(df),
    scale = unname(as.double(scale)), fixed_at = rep(-1L, ncol(z)),
    first = c(0L, cumsum(tabulate(group, groups))), row = order(group) - 1L,
    bar = as.double(t(z))
  ))
}

# A bar without terms, which has all rows.
no_bar <- function(n, common) {
  c(common, list(
    q = 0, groups = 1, diagonal = 1, df = 1, scale = numeric(),
    fixed_at = integer(), first = c(0L, n), row = seq_len(n) - 1L,
    bar = numeric()
  ))
}

#' @exportS3Method
model_response.ordinal_model <- function(model) {
  ordered_response(model_design(model)$response$levels)
}

#' @exportS3Method
model_response.hlm_ordinal_model <- model_response.ordinal_model

#' @exportS3Method
model_comparable.ordinal_model <- function(model) comparable_regression(model)

#' @exportS3Method
model_labels.ordinal_model <- function(model) {
  columns <- model$columns
  fixed <- seq_along(model$coefficients)
  label <- columns
  label[fixed] <- paste("slope of", columns[fixed], recycle0 = TRUE)
  data.frame(variable = columns, label = with_threshold_labels(model, label))
}

#' @exportS3Method
model_labels.hlm_ordinal_model <- function(model) {
  out <- model_labels.hlm_crossed_model(model)
  out$label <- with_threshold_labels(model, out$label)
  out
}

with_threshold_labels <- function(model, label) {
  levels <- model_response(model)$levels
  label[threshold_columns(model)] <- paste(
    "threshold between", levels[-length(levels)], "and", levels[-1L]
  )
  label[model$columns == "log_lik"] <- "log-likelihood"
  label
}

threshold_columns <- function(model) {
  levels <- model_response(model)$levels
  match(indexed("theta", seq_along(levels[-1L])), model$columns)
}

#' @exportS3Method
predictor_parameters.ordinal_model <- function(model) {
  which(model$columns != "log_lik")
}

# ---- Starting values and sweeps ----------------------------------------------

# The state has the thresholds at the predictors' means, and 0 for the
# coefficient of the last column. thresholds: those of the fit; NULL: theirs.
ordinal_state <- function(model, covariances, b, thresholds, u = NULL) {
  places <- if (has_groups(model)) unlist(model_places(model))
  list(
    sweep = 0, factor = unlist(lapply(covariances, function(covariance) {
      as.double(t(chol(covariance)))
    }), use.names = FALSE) %||% numeric(),
    beta = 1, b = c(as.double(b), 0), u = u %||% numeric(length(places)),
    theta = as.double(thresholds) - sum(model$data$response$mean * b)
  )
}

# The coefficients begin near 0, the thresholds around those of the shares of
# the categories, the standard deviations of the groups at those of the prior,
# each over or under by a factor of up to 10.
#' @exportS3Method
model_start.ordinal_model <- function(model, init) {
  data <- model$data
  p <- length(model$coefficients)
  x <- matrix(data$fixed, data$p)[seq_len(p), , drop = FALSE]
  spread <- sqrt(rowMeans(x^2) * max(1, p))
  b <- init$coefficients %||%
    (stats::runif(p, -1, 1) / ifelse(spread > 0, spread, 1))
  wide <- stats::runif(1L, 0.5, 2)
  thresholds <- init$thresholds %||% (
    wide * share_thresholds(data$response) + sum(data$response$mean * b)
  )
  ordinal_state(model, start_bar_covariances(model, init), b, thresholds)
}

#' @exportS3Method
model_start.hlm_ordinal_model <- model_start.ordinal_model

# Phi^-1 of the shares up to each category.
share_thresholds <- function(response) {
  counts <- tapply(
    response$weight, factor(response$code, seq_len(response$levels)), sum,
    default = 0
  ) + 0.5
  stats::qnorm(unname(cumsum(counts))[-response$levels] / sum(counts))
}

start_bar_covariances <- function(model, init) {
  if (!has_groups(model)) {
    return(NULL)
  }
  default <- lapply(model$data$bars, start_covariance)
  names(default) <- names(model$layout)
  utils::modifyList(default, init$Sigma %||% list())
}

#' @exportS3Method
model_sweeps.ordinal_model <- function(model, state, n, control) {
  .Call(C_hlm_latent_sweeps, model$data, state, n, control)
}

#' @exportS3Method
model_sweeps.hlm_ordinal_model <- model_sweeps.ordinal_model

#' @exportS3Method
model_check_init.ordinal_model <- function(model, init, where, call) {
  check_init_names(
    init, c("coefficients", "thresholds", if (has_groups(model)) "Sigma"),
    where, call
  )
  for (part in c("coefficients", "thresholds")) {
    if (is.null(init[[part]])) next
    arg <- paste0(where, "$", part)
    count <- if (part == "coefficients") length(model$coefficients) else
      model$data$response$levels - 1L
    check_init_shape(init[[part]], count, arg, call)
    check_numeric_vector(
      init[[part]], lower = -1e150, upper = 1e150, arg = arg, call = call
    )
  }
  if (any(diff(init$thresholds) <= 0)) {
    abort_argument("`{where}$thresholds` must increase.", call = call)
  }
  if (has_groups(model)) check_bar_covariances(model, init, where, call) else
    init
}

#' @exportS3Method
model_check_init.hlm_ordinal_model <- model_check_init.ordinal_model

#' @exportS3Method
model_init_from_state.ordinal_model <- function(model, state) {
  list(
    coefficients = own_state(state)$b,
    thresholds = own_thresholds(model, state),
    Sigma = if (has_groups(model)) crossed_covariances(model, state)
  )
}

#' @exportS3Method
model_init_from_state.hlm_ordinal_model <- model_init_from_state.ordinal_model

# The state without the coefficient of the last column.
own_state <- function(state) {
  state$b <- state$b[-length(state$b)]
  state
}

own_thresholds <- function(model, state) {
  state$theta + sum(model$data$response$mean * own_state(state)$b)
}

# ---- The joint distribution --------------------------------------------------

#' @exportS3Method
draw_prior.ordinal_model <- function(model) {
  data <- model$data
  own <- data$bars[[1L]]
  at <- seq_along(model$coefficients)
  b <- own$mean[at] + stats::rnorm(length(at)) / sqrt(own$precision[at])
  covariances <- if (has_groups(model)) {
    lapply(data$bars, draw_covariance_prior)
  }
  thresholds <- sort(stats::rnorm(data$response$levels - 1)) * data$response$sd
  ordinal_state(
    model, covariances, b, thresholds + sum(data$response$mean * b),
    if (has_groups(model)) {
      unlist(Map(draw_deviations, data$bars, covariances))
    }
  )
}

#' @exportS3Method
draw_prior.hlm_ordinal_model <- draw_prior.ordinal_model

ordinal_predictor <- function(model, state) {
  state <- own_state(state)
  if (has_groups(model)) {
    return(crossed_predictor(model, state))
  }
  drop(model$frame$x %*% state$b) + (model$frame$offset %||% 0)
}

#' @exportS3Method
simulate_data.ordinal_model <- function(model, state) {
  eta <- matrix(ordinal_predictor(model, state), 1L)
  drop(response_draw(
    model_response(model), eta, NULL, matrix(own_thresholds(model, state), 1L)
  ))
}

#' @exportS3Method
simulate_data.hlm_ordinal_model <- simulate_data.ordinal_model

# `data`: the codes of the categories, or these, one for each row of the fit's
# data.
#' @exportS3Method
set_data.ordinal_model <- function(model, data, call = rlang::caller_env()) {
  with_responses(model, data, "ordinal regression", function(frame, ...) {
    ordinal_model_of(frame, model$prior, model$layout)
  }, call, function(y) {
    observed_response(
      model_response(model), y, list(name = "data"), NULL, call
    )
  })
}

#' @exportS3Method
set_data.hlm_ordinal_model <- set_data.ordinal_model

ordinal_log_lik_sum <- function(model, state) {
  used <- rows_used(model$frame)
  eta <- matrix(ordinal_predictor(model, state)[used], 1L)
  sum(response_log_lik(
    model_response(model), eta, frame_rows(model$frame, which(used)),
    matrix(own_thresholds(model, state), 1L)
  ))
}

#' @exportS3Method
model_quantities.ordinal_model <- function(model, state) {
  thresholds <- own_thresholds(model, state)
  c(
    if (has_groups(model)) bars_quantities(model, own_state(state)) else
      stats::setNames(own_state(state)$b, model$coefficients),
    stats::setNames(thresholds, indexed("theta", seq_along(thresholds))),
    log_lik = ordinal_log_lik_sum(model, state)
  )
}

#' @exportS3Method
model_quantities.hlm_ordinal_model <- model_quantities.ordinal_model

# ---- Cross-validation --------------------------------------------------------

#' @exportS3Method
model_fold_kinds.ordinal_model <- function(model) "observation"

#' @exportS3Method
model_fold.ordinal_model <- function(model, held, by) {
  frame <- model$frame
  rows <- which(rows_used(frame))[held]
  train <- ordinal_model_of(
    without_rows(frame, rows), model$prior, model$layout
  )
  test <- train
  test$frame <- frame_rows(frame, rows)
  list(train = train, test = test)
}

#' @exportS3Method
model_fold.hlm_ordinal_model <- model_fold.ordinal_model

# ---- Rows to predict ---------------------------------------------------------

#' @exportS3Method
predictor_rows.ordinal_model <- function(model, at, call) {
  rows <- NextMethod()
  rows$x <- without_intercept(rows$x)
  rows
}

#' @exportS3Method
predictor_rows.hlm_ordinal_model <- predictor_rows.ordinal_model
