# gibbs_lm() with t errors. R/t-errors.R has what it shares with gibbs_hlm().

lm_t_model <- function(parts, prior, keep, call) {
  if (prior$type != "hierarchical") {
    abort_argument(
      c("`type` of `prior` must be \"hierarchical\" with
         {.code errors = \"t\"}, not {.val {prior$type}}.",
        i = "The variances of the coefficients must not depend on that of the
             errors."),
      call = call
    )
  }
  if ("y" %in% keep) {
    abort_argument(
      c("{.arg keep} must be NULL with {.code errors = \"t\"}.",
        i = "{.fn posterior_predict} draws missing responses."),
      call = call
    )
  }
  check_none_taken(intersect("nu", parts$columns), call)
  parts <- lm_parts(parts, prior, keep, call)
  parts$prior$errors <- "t"
  lm_t_model_of(parts$frame, parts$prior, parts$design)
}

lm_t_model_of <- function(frame, prior, design) {
  n <- sum(rows_used(frame))
  missing <- sum(is.na(frame$y))
  title <- errors_title("Linear regression", prior)
  new_model(
    c("lm_t_model", "t_errors_model", "lm_model"),
    name = "gibbs_lm",
    title = title,
    headline = paste0(
      title, ": ", counted(length(design$columns), "coefficient"), ", ",
      counted(n, "observation"),
      if (missing > 0) paste0(", ", counted(missing, "missing response"))
    ),
    data = lm_t_data(frame, prior, design), data_part = "frame", prior = prior,
    nobs = n,
    columns = with_nu_column(
      c(
        design$columns, "sigma", if (length(design$slopes) > 0L) "lambda",
        "log_lik"
      ),
      prior
    ),
    cures = paste(
      "Try a prior of the precisions with larger shapes,",
      "`lm_prior(slope_shape = , noise_shape = )`: see ?lm_prior."
    ),
    coefficients = design$columns, layout = design,
    design = c(lm_design_of(frame), list(errors = "t")), frame = frame
  )
}

lm_t_data <- function(frame, prior, design) {
  used <- rows_used(frame)
  weights <- used_weights(frame, used)
  y <- (frame$y - (frame$offset %||% 0))[used]
  intercept <- length(design$intercept) == 1L
  # a state must not depend on the responses
  centre <- if (intercept) prior$intercept_mean else 0
  p <- length(design$columns)
  at <- design$slopes
  numbers <- function(own, slopes, alpha) {
    out <- rep(own, p)
    out[at] <- slopes
    out[design$intercept] <- if (intercept) alpha
    out
  }
  middle <- numbers(0, design$mean, 0)
  unit <- numbers(1, prior$scale, 1)
  x <- (frame$x[used, , drop = FALSE] - rep(middle, each = sum(used))) /
    rep(unit, each = sum(used))
  x[, at[design$constant]] <- 0
  fixed <- list(
    x = unname(x), y = y - centre, weights = weights, unit = unit,
    middle = middle, centre = centre, intercept = design$intercept,
    mean = numbers(
      0, prior$slope_mean * prior$scale, prior$intercept_mean - centre
    ),
    precision = numbers(1, 1, prior$intercept_sd^-2)
  )
  t_data(
    fixed, list(no_groups(length(y))), c(prior$noise_shape, prior$noise_rate),
    prior$nu,
    list(
      at = at - 1L, shape = as.double(prior$slope_shape),
      rate = as.double(prior$slope_rate)
    )
  )
}

# `data`: the responses, one for each row of the fit's data.
#' @exportS3Method
set_data.lm_t_model <- function(model, data, call = rlang::caller_env()) {
  with_responses(model, data, "linear regression", function(frame, ...) {
    lm_t_model_of(frame, model$prior, centred_design(model$layout, frame))
  }, call)
}

#' @exportS3Method
model_fold.lm_t_model <- function(model, held, by) {
  fold_of_rows(model, held, by, function(rest) {
    lm_t_model_of(rest, model$prior, centred_design(model$layout, rest))
  })
}

# In the coefficients, sigma, nu and lambda.
#' @exportS3Method
model_density.lm_t_model <- function(model) {
  prior <- model$prior
  p <- length(model$coefficients)
  scales <- setdiff(model$columns, c(model$coefficients, "log_lik"))
  lower <- c(rep(-Inf, p), rep(0, length(scales)))
  columns <- c(model$coefficients, scales)
  point <- function(x) {
    each <- function(name, default) {
      at <- match(name, columns)
      if (is.na(at)) rep(default, nrow(x)) else x[, at]
    }
    list(
      w = x[, seq_len(p), drop = FALSE], lambda = each("lambda", 1),
      scale = cbind(sigma = each("sigma"), nu = each("nu", prior$nu))
    )
  }
  log_lik <- function(at, frame) {
    eta <- tcrossprod(at$w, frame$x) +
      rep(frame$offset %||% 0, each = nrow(at$w))
    response_log_lik(t_response(prior$nu), eta, frame, at$scale)
  }
  list(
    columns = columns,
    spec = list(
      lower = lower, upper = rep(Inf, length(lower)),
      map = as.integer(is.finite(lower))
    ),
    log_joint = function(x) {
      at <- point(x)
      frame <- frame_rows(model$frame, which(rows_used(model$frame)))
      # the coordinates of lm_point()
      normal <- lm_point(model, cbind(at$w, at$scale[, 1L], at$lambda))
      out <- rowSums(log_lik(at, frame)) + lm_log_prior(model, normal)
      if (is.null(prior$nu)) {
        out <- out +
          stats::dgamma(at$scale[, 2L], nu_shape, nu_rate, log = TRUE)
      }
      # without slopes there is no lambda
      if (!"lambda" %in% columns) {
        out <- out - stats::dgamma(
          1, prior$slope_shape, prior$slope_rate, log = TRUE
        )
      }
      out
    },
    log_lik = function(x, i) {
      frame <- model$frame
      log_lik(point(x), frame_rows(frame, which(rows_used(frame))[[i]]))[, 1L]
    },
    proper = length(model$layout$intercept) == 0L ||
      is.finite(prior$intercept_sd)
  )
}
