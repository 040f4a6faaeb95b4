# What gibbs_count(), gibbs_ordinal() and gibbs_categorical() share: frames,
# models and states of a response whose linear predictor has groups or none.

# ---- Frames ------------------------------------------------------------------

# The frame of a formula, with `bars` if it has any. user_call: that of `name`;
# read: the response, of an element of the model frame.
frame_with_bars <- function(formula, data, user_call, name, read, action,
                            contrasts, env, call) {
  grouped <- has_bar(formula)
  parts <- (if (grouped) grouped_parts else formula_parts)(
    formula, data, user_call, name, read, action, contrasts, env, call
  )
  frame <- if (grouped) with_bars(parts$frame) else lm_frame(parts, call)
  response <- parts$response
  frame$response$levels <- response$levels
  counts <- intersect(c("counts", "trials"), names(response))
  frame[counts] <- response[counts]
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

# A list of hlm_design() for each bar; NULL without groups. size: the number of
# coefficients that are drawn together.
bars_layout <- function(frame, size, call) {
  used <- rows_used(frame)
  if (!is.null(frame$bars)) {
    weights <- used_weights(frame, used)
    return(lapply(bar_frames(frame), hlm_design, used, weights, call))
  }
  check_square_size(
    size, 2, "The precision matrix of the coefficients has",
    "Use fewer columns", call
  )
  NULL
}

# ---- Models ------------------------------------------------------------------

# class: that without groups; trait: of both models; parameters: the columns of
# the response; counts: words of the headline before the number of coefficients.
bars_model <- function(frame, layout, class, trait, name, title, parameters,
                       data, prior, counts = NULL, design = NULL) {
  grouped <- !is.null(frame$bars)
  fixed <- colnames(frame$x) %||% character()
  levels <- lapply(frame$bars, `[[`, "levels")
  columns <- if (grouped) crossed_columns(frame, layout) else {
    c(fixed, "log_lik")
  }
  # the categories have a logistic_prior() each
  of <- sub("gibbs_", "", sub("categorical", "logistic", name))
  page <- paste0("see ?", of, "_prior.")
  if (grouped) title <- paste("Hierarchical", within_sentence(title))
  new_model(
    if (grouped) {
      c(paste0("hlm_", class), trait, "hlm_crossed_model", "hlm_model")
    } else {
      c(class, trait)
    },
    name = name, title = title,
    headline = paste0(
      title, ": ", paste(c(
        counts,
        counted(length(fixed), if (grouped) "fixed effect" else "coefficient"),
        paste0(lengths(levels), " ", names(levels), recycle0 = TRUE),
        counted(sum(rows_used(frame)), "observation")
      ), collapse = ", "), joint_words(data)
    ),
    data = data, data_part = "frame", prior = prior,
    nobs = sum(rows_used(frame)),
    columns = append(columns, parameters, match("log_lik", columns) - 1L),
    cures = if (grouped) {
      paste(
        "Groups with few observations say little about the covariance of",
        "their effects: use fewer terms before the bar, or a prior with a",
        "smaller `group_scale`:", page
      )
    } else {
      paste("Try a prior with smaller variances:", page)
    },
    coefficients = fixed, layout = layout,
    levels = if (grouped) levels, group_name = if (grouped) names(levels),
    design = c(
      if (grouped) crossed_design_of(frame) else kept_parts(frame), design
    ),
    frame = frame
  )
}

# The labels of the columns of a model without groups.
fixed_effects_labels <- function(model) {
  label <- model$columns
  fixed <- seq_along(model$coefficients)
  label[fixed] <- coefficient_labels(label[fixed])
  label[label == "log_lik"] <- "log-likelihood"
  data.frame(variable = model$columns, label = label)
}

#' @exportS3Method
predictor_parameters.fixed_effects_model <- function(model) {
  which(model$columns != "log_lik")
}

# A title as it stands within a sentence: a person's name keeps its capital.
within_sentence <- function(title) {
  if (startsWith(title, "Poisson")) title else tolower(title)
}

# What C reads of the fixed effects in each bar, as core/hlm/hlm.h describes.
# Coefficients are not rescaled; the latent variance is fixed at 1.
bar_fixed_effects <- function(mean, precision) {
  p <- length(mean)
  list(
    p = as.double(p), known = 1, collapsed = 0, keep = 1, mean = unname(mean),
    precision = unname(precision), shape = 0, rate = 0, unit = rep(1, p),
    column_mean = numeric(p), centre = 0, intercept_at = as.double(p)
  )
}

# The same of the groups and their rows; the deviations are stored without the
# fixed effects.
bar_groups <- function(bar, design, rows, df, scale, half_t = TRUE) {
  group <- bar$group[rows]
  groups <- length(bar$levels)
  z <- unname(in_basis(bar$z[rows, , drop = FALSE], design$bar_basis))
  list(
    q = as.double(ncol(z)), groups = as.double(groups),
    diagonal = as.double(design$diagonal), half_t = as.double(half_t),
    df = as.double(df), scale = unname(as.double(scale)),
    fixed_at = rep(-1L, ncol(z)),
    first = c(0L, cumsum(tabulate(group, groups))), row = order(group) - 1L,
    bar = as.double(t(z))
  )
}

# The bars with the fixed effects `common` of each; without groups one without
# terms.
latent_bars <- function(frame, layout, rows, prior, common) {
  if (is.null(layout)) {
    return(list(c(common, no_groups(length(rows)))))
  }
  unname(Map(function(bar, design, df, scale) {
    c(common, bar_groups(bar, design, rows, df, scale))
  }, frame$bars, layout, prior$group_df, prior$group_scale))
}

# A bar without terms: all rows are in one group.
no_groups <- function(n) {
  list(
    q = 0, groups = 1, diagonal = 1, half_t = 1, df = 1, scale = numeric(),
    fixed_at = integer(), first = c(0L, as.integer(n)), row = seq_len(n) - 1L,
    bar = numeric()
  )
}

# ---- States ------------------------------------------------------------------

# Coefficients near 0. x: coefficients x rows.
start_coefficients <- function(x) {
  p <- nrow(x)
  spread <- sqrt(rowMeans(x^2) * max(1, p))
  stats::runif(p, -1, 1) / ifelse(spread > 0, spread, 1)
}

# The standard deviations are those of the prior, each over or under by a factor
# of up to 10.
start_covariance <- function(bar) {
  sd <- exp(stats::runif(bar$q, -1, 1) * log(10)) * bar$scale / 2.5
  diag(sd^2, bar$q)
}

# The covariances that a chain begins with; NULL without groups.
start_bar_covariances <- function(model, init) {
  if (!has_groups(model)) {
    return(NULL)
  }
  default <- lapply(model$data$bars, start_covariance)
  names(default) <- names(model$layout)
  utils::modifyList(default, init$Sigma %||% list())
}

# Sigma of each bar from its prior; NULL without groups.
draw_bar_covariances <- function(model, bars) {
  if (has_groups(model)) lapply(bars, draw_covariance_prior)
}

# The deviations of all bars; covariances: NULL without groups.
draw_bar_deviations <- function(bars, covariances) {
  if (!is.null(covariances)) unlist(Map(draw_deviations, bars, covariances))
}

# list(factor, u) of a state. u: NULL for 0.
state_of_bars <- function(model, covariances, u = NULL) {
  if (is.null(covariances)) {
    return(list(factor = numeric(), u = numeric()))
  }
  out <- hlm_state(model, covariances, 1)[c("factor", "u")]
  if (!is.null(u)) out$u <- u
  out
}

# The log-likelihood of the responses given the linear predictor of each row.
log_lik_of_state <- function(model, eta, scale) {
  used <- which(rows_used(model$frame))
  sum(response_log_lik(
    model_response(model), matrix(eta[used], 1L),
    frame_rows(model$frame, used), scale
  ))
}
