# The log posterior densities on scales without bounds that log_evidence() needs
# of each model. Those of mixtures and of hierarchical regressions are in
# R/gmm-evidence.R and R/hlm-evidence.R.

# With model_density(): gibbs_lm() and gibbs_logistic().
#' @exportS3Method
model_unbounded.default <- function(model, given, call) {
  known <- model_density(model)
  if (is.null(known)) {
    abort_no_evidence(
      model, "the posterior density of what the fit stores is not known",
      c("With the horseshoe prior the local scales are not stored.",
        "Compare fits by {.fn loo} or {.fn kfold}."),
      call
    )
  }
  check_frame(model, call)
  if (!known$proper) {
    return(NULL)
  }
  box <- unbounded_box(known$spec$lower, known$spec$upper, known$log_joint)
  list(
    points = function(draws) {
      box$points(unname(draws[, known$columns, drop = FALSE]))
    },
    log_density = box$log_density
  )
}

#' @exportS3Method
model_unbounded.mh_model <- function(model, given, call) {
  d <- length(model$parameters)
  if (length(model$coefficients) < d) {
    abort_argument(
      c("{.arg fit} must have stored every parameter.",
        i = "Leave {.arg keep} out in {.fn mh_sample}."),
      call = call
    )
  }
  check_has_density(model, call)
  # at points of the user: the fit's own maps would add their Jacobian
  model$spec["map"] <- list(NULL)
  density <- working_density(model)
  box <- unbounded_box(
    model$spec$lower %||% rep(-Inf, d), model$spec$upper %||% rep(Inf, d),
    function(x) apply(x, 1L, density)
  )
  list(
    points = function(draws) {
      box$points(unname(draws[, seq_len(d), drop = FALSE]))
    },
    log_density = box$log_density
  )
}

check_has_density <- function(model, call) {
  if (is.null(model$data$log_density)) {
    abort_no_data(call = call, what = "log density")
  }
}

# The conditionals alone do not say what the joint density is.
#' @exportS3Method
model_unbounded.gibbs_sample_model <- function(model, given, call) {
  if (is.null(given$log_density)) {
    abort_argument(
      c("{.arg log_density} is needed for a fit of {.fn gibbs_sample}: its
         conditionals do not determine the evidence.",
        i = "Give the log of likelihood times prior, with all constants, as a
             function of the state; bounds of the parameters are {.arg lower}
             and {.arg upper}."),
      call = call, class = "no_evidence"
    )
  }
  columns <- model_point_columns(model)
  lacking <- setdiff(columns, model$columns)
  if (length(lacking) > 0L) {
    abort_argument(
      c("{.arg fit} must have stored every parameter: {.val {lacking[[1L]]}} is
         not.",
        i = "Leave {.arg keep} out in {.fn gibbs_sample}."),
      call = call
    )
  }
  arguments <- taken_by(given$log_density, model$arguments)
  bounds <- check_bounds(
    given$lower, given$upper, columns, length(columns),
    "numbers of the state", "the parameters", call
  )
  density <- function(row) {
    state <- model_point(model, stats::setNames(row, columns))
    value <- tryCatch(
      do.call(given$log_density, c(list(state), arguments), quote = TRUE),
      error = function(cnd) {
        abort_numeric(
          "{.arg log_density} failed at a point.", parent = cnd, call = call,
          class = "density"
        )
      }
    )
    if (!is_plain_number(value) && !identical(value, NaN)) {
      abort_numeric(
        "{.arg log_density} must return one number, not {describe(value)}.",
        call = call, class = "density"
      )
    }
    as.double(value)
  }
  box <- unbounded_box(
    bounds$lower, bounds$upper, function(x) apply(x, 1L, density)
  )
  list(
    points = function(draws) {
      values <- draws[, columns, drop = FALSE]
      outside <- rowSums(t(t(values) <= bounds$lower) |
                           t(t(values) >= bounds$upper)) > 0
      if (any(outside)) {
        abort_argument(
          c("The draws of {.arg fit} must lie between `lower` and `upper`.",
            x = "{sum(outside)} of them {?does/do} not."),
          call = call
        )
      }
      box$points(unname(values))
    },
    log_density = box$log_density
  )
}

#' @exportS3Method
model_unbounded.lda_model <- function(model, given, call) {
  abort_no_evidence(
    model, "the topics of all tokens would have to be summed out",
    "Compare numbers of topics by {.fn held_out_perplexity}.", call
  )
}

#' @exportS3Method
model_unbounded.bmf_model <- function(model, given, call) {
  abort_no_evidence(
    model,
    "a fit stores averages of the factors, which have too many dimensions",
    "Compare fits by the error of ratings held out: {.fn held_out}.", call
  )
}

# why: a clause; hints: what to use instead.
abort_no_evidence <- function(model, why, hints, call) {
  abort_argument(
    c("A fit of {.fn {model$name}} has no evidence here: {why}.",
      stats::setNames(hints, rep("i", length(hints)))),
    call = call, class = "no_evidence"
  )
}
