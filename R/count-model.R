# The model behind gibbs_count(): its fields, states and starting values, of
# fixed effects and with groups. src/core/hlm/hlm_count.h has the mathematics.

# ---- The model ---------------------------------------------------------------

count_model <- function(frame, family, prior, call) {
  used <- rows_used(frame)
  check_any_used(used, call)
  columns <- colnames(frame$x) %||% character()
  grouped <- !is.null(frame$bars)
  if (length(columns) == 0L && !grouped) {
    abort_argument("The model has no coefficients.", call = call)
  }
  layout <- bars_layout(frame, length(columns), call)
  check_none_taken(intersect(c("dispersion", "log_lik"), columns), call)
  found <- fixed_design(frame, columns, as.double(used), call)
  prior <- complete_count_prior(prior, family, found, layout, call)
  check_count_bounds(frame, prior, columns, call)
  model <- count_model_of(frame, family, prior, layout)
  if (grouped) say_aliased(model)
  model
}

# Without a prior a coefficient needs counts above 0 that bound it: there is no
# direction beta with x'beta = 0 for every count above 0 and x'beta <= 0 for all
# others, in which the likelihood would increase without end. This is the
# condition of a logistic regression where a count above 0 is a success and a
# failure.
check_count_bounds <- function(frame, prior, columns, call) {
  variance <- prior$slope_variance
  flat <- if (!is.matrix(variance)) which(!is.finite(variance))
  used <- rows_used(frame)
  if (length(flat) == 0L) {
    if (all(frame$y[used] == 0)) {
      inform_gibbsite(
        c(i = "Every count of `{frame$response$name}` is 0: the prior alone
               keeps the intercept finite."),
        class = "constant_response"
      )
    }
    return(invisible())
  }
  above <- as.double(frame$y > 0)
  signed <- list(
    x = frame$x[used, , drop = FALSE], success = above[used],
    total = 1 + above[used]
  )
  check_collinear(signed, flat, columns, call, "count_prior()")
  needed <- separating_columns(signed_rows(signed, flat), length(flat))
  if (length(needed) > 0L) {
    names <- columns[flat][needed]
    abort_argument(
      c(
        "{cli::qty(names)}The counts do not bound the coefficient{?s} of
         {.val {names}}: without a prior {?it is/they are} infinite.",
        x = "The means of some rows, all with count 0, can go to 0 while those
             of the others stay.",
        i = "Give {cli::qty(names)}{?it/them} a proper prior, such as
             {.code count_prior()}."
      ),
      call = call, class = "separated", columns = names
    )
  }
}

count_model_of <- function(frame, family, prior, layout) {
  name <- c(poisson = "Poisson", negbinomial = "Negative binomial")[[family]]
  bars_model(
    frame, layout, "count_model", "events_model", "gibbs_count",
    paste(name, "regression"), if (family == "negbinomial") "dispersion",
    count_data(frame, family, prior, layout), prior,
    design = list(family = family)
  )
}

# What C reads, as core/hlm/hlm_count.h describes.
count_data <- function(frame, family, prior, layout) {
  rows <- which(rows_used(frame))
  x <- unname(in_basis(frame$x[rows, , drop = FALSE], prior$basis))
  y <- as.double(frame$y[rows])
  weights <- frame$weights[rows]
  offset <- frame$offset[rows]
  p <- ncol(x)
  own <- as_logistic_prior(prior)
  own$basis <- NULL
  quadratic <- prior_precision(own)
  precision <- quadratic$precision
  none <- bar_fixed_effects(numeric(p), numeric(p))
  bars <- if (is.null(layout)) list() else {
    lapply(latent_bars(frame, layout, rows, prior, none), function(bar) {
      # in the order of the groups
      bar$bar <- as.double(matrix(bar$bar, bar$q)[, bar$row + 1L])
      bar
    })
  }
  nesting <- if (length(bars) > 0L) nestings(frame, layout) else list()
  data <- list(
    count = as.double(length(bars)), p = as.double(p),
    n = as.double(length(y)), negbinomial = as.double(family == "negbinomial"),
    x = as.double(t(x)), y = y, weights = weights, offset = offset,
    mean = quadratic$mean %||% numeric(p),
    precision = as.double(
      if (is.matrix(precision)) precision else diag(precision, p)
    ),
    start = count_start(x, y, weights %||% 1, offset %||% 0),
    df = prior$dispersion_df %||% 1, scale = prior$dispersion_scale %||% 1,
    constant = if (family == "poisson") {
      sum((weights %||% 1) * stats::dpois(y, y, log = TRUE))
    } else {
      0
    },
    bars = bars, nesting = nesting
  )
  data$near <- near_bars(
    frame, layout, rows, x, diag(matrix(data$precision, p)),
    rep(mean(y), length(y)), nesting
  )
  data$basis <- prior$basis
  data
}

# Where Newton's method begins: at the mean of the counts, where a column of
# ones allows it.
count_start <- function(x, y, weights, offset) {
  start <- numeric(ncol(x))
  ones <- which(colSums(x != 1) == 0)
  if (length(ones) > 0L) {
    most <- max(offset)
    rate <- sum(weights * y + 0.5 / length(y)) /
      sum(weights * exp(offset - most) + 0 * y)
    start[[ones[[1L]]]] <- log(rate) - most
  }
  start
}

#' @exportS3Method
model_response.events_model <- function(model) {
  events_response(model$design$family)
}

#' @exportS3Method
model_labels.count_model <- function(model) {
  columns <- model$columns
  fixed <- seq_along(model$coefficients)
  label <- columns
  label[fixed] <- coefficient_labels(columns[fixed])
  data.frame(variable = columns, label = with_count_labels(columns, label))
}

#' @exportS3Method
model_labels.hlm_count_model <- function(model) {
  out <- model_labels.hlm_crossed_model(model)
  out$label <- with_count_labels(out$variable, out$label)
  out
}

with_count_labels <- function(columns, label) {
  label[columns == "dispersion"] <- "dispersion: 1 / sqrt(size)"
  label[columns == "log_lik"] <- "log-likelihood"
  label
}

# ---- Starting values and sweeps ----------------------------------------------

# The first sweep draws b. `covariances`: of each bar, NULL without groups.
count_state <- function(model, covariances, dispersion,
                        b = model$data$start) {
  base <- state_of_bars(model, covariances)
  list(
    sweep = 0, factor = base$factor, beta = 1, b = as.double(b), u = base$u,
    dispersion = as.double(dispersion), counts = numeric(8L)
  )
}

#' @exportS3Method
model_notes.count_model <- function(model, fit, table) {
  if (model$design$family == "poisson") {
    dispersion_note(fit, "`family = \"negbinomial\"` has their dispersion.")
  }
}

# The standard deviations of the groups and the dispersion are those of the
# prior, each over or under by a factor of up to 10.
start_dispersion <- function(model, init) {
  spread <- exp(stats::runif(1L, -1, 1) * log(10))
  init$dispersion %||% (model$data$scale * spread)
}

#' @exportS3Method
model_start.count_model <- function(model, init) {
  count_state(
    model, NULL, start_dispersion(model, init),
    init$coefficients %||% model$data$start
  )
}

#' @exportS3Method
model_start.hlm_count_model <- function(model, init) {
  dispersion <- start_dispersion(model, init)
  count_state(model, start_bar_covariances(model, init), dispersion)
}

#' @exportS3Method
model_sweeps.events_model <- function(model, state, n, control) {
  with_bases(model, .Call(C_hlm_count_sweeps, model$data, state, n, control))
}

#' @exportS3Method
model_check_init.count_model <- function(model, init, where, call) {
  check_count_init(model, init, "coefficients", where, call)
  check_init_vector(
    init, "coefficients", length(model$coefficients), where, call
  )
  in_columns_of_c(model, init)
}

check_count_init <- function(model, init, further, where, call) {
  check_init_names(
    init, c(further, if (model$data$negbinomial == 1) "dispersion"), where,
    call
  )
  if (!is.null(init$dispersion)) {
    check_init_scales(init, "dispersion", where, call, c(1e-60, 1e60))
  }
}

#' @exportS3Method
model_check_init.hlm_count_model <- function(model, init, where, call) {
  check_count_init(model, init, "Sigma", where, call)
  check_bar_covariances(model, init, where, call)
}

#' @exportS3Method
model_init_from_state.count_model <- function(model, state) {
  list(
    coefficients = with_fixed_of_data(model, state)$b,
    dispersion = dispersion_of(model, state)
  )
}

#' @exportS3Method
model_init_from_state.hlm_count_model <- function(model, state) {
  list(
    Sigma = state_covariances(model, state),
    dispersion = dispersion_of(model, state)
  )
}

# Of the fixed effects, and of those of groups.
#' @exportS3Method
model_acceptance.events_model <- function(model, state) {
  blocks <- c("coefficients", if (has_groups(model)) "groups")
  at <- list(1:4, 5:8)[seq_along(blocks)]
  memory_table(blocks, lapply(at, function(own) {
    list(counts = state$counts[own], tuning = 0)
  }))
}

# ---- The joint distribution --------------------------------------------------

#' @exportS3Method
draw_prior.events_model <- function(model) {
  data <- model$data
  root <- chol(matrix(data$precision, data$p))
  b <- data$mean + backsolve(root, stats::rnorm(data$p))
  dispersion <- abs(stats::rt(1L, data$df)) * data$scale
  covariances <- draw_bar_covariances(model, data$bars)
  state <- count_state(model, covariances, dispersion, b)
  state$u <- draw_bar_deviations(data$bars, covariances) %||% numeric()
  state
}

# NULL for Poisson counts.
dispersion_of <- function(model, state) {
  if (model$data$negbinomial == 1) state$dispersion
}

#' @exportS3Method
simulate_data.events_model <- function(model, state) {
  eta <- matrix(eta_of_state(model, with_fixed_of_data(model, state)), 1L)
  drop(response_draw(
    model_response(model), eta, NULL, dispersion_of(model, state)
  ))
}

# `data`: the counts, one for each row of the fit's data.
#' @exportS3Method
set_data.events_model <- function(model, data, call = rlang::caller_env()) {
  with_responses(model, data, "count regression", function(frame, ...) {
    count_model_of(frame, model$design$family, model$prior, model$layout)
  }, call, function(y) as_events(y, "data", call, Inf))
}

#' @exportS3Method
model_quantities.events_model <- function(model, state) {
  dispersion <- dispersion_of(model, state)
  state <- with_fixed_of_data(model, state)
  c(
    model_effects(model, state), dispersion = dispersion,
    log_lik = log_lik_of_state(
      model, eta_of_state(model, state), dispersion
    )
  )
}

# ---- The density -------------------------------------------------------------

#' @exportS3Method
model_density.count_model <- function(model) {
  p <- length(model$coefficients)
  negbinomial <- model$data$negbinomial == 1
  lower <- c(rep(-Inf, p), if (negbinomial) 0)
  frame <- model$frame
  log_lik <- function(x, rows) {
    rowSums(response_log_lik(
      model_response(model),
      linear_predictors(
        frame$x[rows, , drop = FALSE], x[, seq_len(p), drop = FALSE],
        frame$offset[rows]
      ),
      frame_rows(frame, rows), if (negbinomial) x[, p + 1L]
    ))
  }
  list(
    columns = c(model$coefficients, if (negbinomial) "dispersion"),
    spec = list(
      lower = lower, upper = rep(Inf, length(lower)),
      map = if (negbinomial) as.integer(is.finite(lower))
    ),
    log_joint = function(x) {
      log_lik(x, which(rows_used(frame))) + count_log_prior(model, x)
    },
    log_lik = function(x, i) log_lik(x, which(rows_used(frame))[[i]]),
    proper = all(is.finite(model$prior$slope_variance))
  )
}

count_log_prior <- function(model, x) {
  data <- model$data
  p <- length(model$coefficients)
  quadratic <- prior_precision(as_logistic_prior(model$prior))
  away <- to_basis(x[, seq_len(p), drop = FALSE], data$basis) -
    rep(data$mean, each = nrow(x))
  out <- quadratic$constant -
    rowSums((away %*% matrix(data$precision, p)) * away) / 2
  if (data$negbinomial == 1) {
    out <- out + log(2 / data$scale) +
      stats::dt(x[, p + 1L] / data$scale, data$df, log = TRUE)
  }
  out
}

# ---- Cross-validation --------------------------------------------------------

#' @exportS3Method
model_fold.events_model <- function(model, held, by) {
  fold_of_rows(model, held, by, function(rest) {
    count_model_of(rest, model$design$family, model$prior, model$layout)
  })
}
