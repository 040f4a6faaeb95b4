# loo() and waic() of every fit that has log_lik(), and loo_moment_match().

#' @rdname gmm-checks
#' @export
loo.gibbsite_fit <- function(x, ...) {
  call <- rlang::current_env()
  name <- fit_words(substitute(x))
  check_passed_to_loo(..., known = c("save_psis", "cores", "is_method"))
  log_lik <- rstantools::log_lik(x)
  high <- FALSE
  out <- withCallingHandlers(
    loo::loo(log_lik, r_eff = relative_efficiency(x, log_lik), ...),
    warning = function(cnd) {
      if (grepl("Pareto k", conditionMessage(cnd), fixed = TRUE)) {
        high <<- TRUE
        rlang::cnd_muffle(cnd)
      }
    }
  )
  rownames(out$pointwise) <- colnames(log_lik)
  if (high) {
    warn_pareto(out, fit_part(x, "model"), nrow(log_lik), name, call)
  }
  with_outcome(out, x)
}

# The largest Pareto k of a reliable estimate (Vehtari et al. 2024).
pareto_limit <- function(draws) min(1 - 1 / log10(draws), 0.7)

# In place of the loo package's warning, which knows neither the fit nor what
# can be done for it.
warn_pareto <- function(loo, model, draws, name, call) {
  limit <- pareto_limit(draws)
  high <- which(loo$diagnostics$pareto_k > limit)
  if (length(high) == 0L) {
    return(invisible())
  }
  total <- length(loo$diagnostics$pareto_k)
  held <- !any(vapply(model[model$data_part], is.null, NA))
  moves <- held && !is.null(model_density(model))
  folds <- held && can_fold(model)
  other <- other_validation(model)
  names <- rownames(loo$pointwise)[high] %||% high
  repeated <- isTRUE(any(model$frame$total[rows_used(model$frame)][high] > 1))
  warn_gibbsite(
    c("{.fn loo} of {name}: Pareto k is above {format(limit, digits = 2)} for
       {length(high)} of {total} observation{?s}, whose estimates are
       unreliable: {utils::head(names, 5L)}.",
      i = if (repeated) {
        "A row of several trials is one observation. In data with a row for each
         trial, {.fn loo} leaves out single trials."
      },
      i = if (moves) {
        "{.fn loo_moment_match} moves the draws for them."
      },
      i = if (folds) {
        "{.fn kfold} fits the model without them, and needs no weights."
      },
      i = if (!moves && !folds) {
        if (is.na(other)) {
          "Fit the model without these observations, or see
           {.fn loo::loo_moment_match.default}."
        } else {
          "Use {.fn {other}}."
        }
      }),
    class = "pareto_k", call = call
  )
}

#' @rdname gmm-checks
#' @export
waic.gibbsite_fit <- function(x, ...) {
  check_passed_to_loo(..., known = character())
  log_lik <- rstantools::log_lik(x)
  out <- loo::waic(log_lik)
  rownames(out$pointwise) <- colnames(log_lik)
  with_outcome(out, x)
}

# The loo package does not notice arguments that it does not have.
check_passed_to_loo <- function(..., known, call = rlang::caller_env()) {
  given <- rlang::names2(substitute(list(...)))[-1L]
  odd <- setdiff(given, known)
  if (length(odd) == 0L) {
    return(invisible())
  }
  if (odd[[1L]] == "by") {
    abort_argument(
      c("There is no argument {.arg by}: single observations are left out.",
        i = "{.code kfold(x, by = )} leaves out groups, and
             {.code loo(log_lik(x, by = ))} approximates it."),
      call = call
    )
  }
  abort_extra(odd, call)
}

relative_efficiency <- function(fit, log_lik) {
  chain <- rep(seq_along(fit), each = nrow(log_lik) / length(fit))
  # scaled because a likelihood may underflow; the result does not depend on the
  # scale
  largest <- apply(log_lik, 2L, max)
  loo::relative_eff(exp(sweep(log_lik, 2L, largest)), chain_id = chain)
}

#' Better leave-one-out estimates for influential observations
#'
#' [loo::loo_moment_match()] moves the draws for observations for which the
#' importance weights of [loo()][loo::loo] are too variable (a large Pareto k),
#' until the weights are better, with the joint density of the model (Paananen
#' et al. 2021). [kfold()][kfold.gibbsite_fit] with as many folds as
#' observations needs no weights, but fits the model once for each.
#'
#' The method has the joint density of [gibbs_lm()] (but not with the horseshoe
#' prior, whose local scales are not stored), of [gibbs_logistic()] without
#' groups, and of [laplace_logistic()]. Draws of the latter without
#' `correct = "importance"` are those of an approximation, and so are the
#' results.
#'
#' @param x A fit that holds its data.
#' @param loo The result of `loo(x)`.
#' @param ... Arguments of [loo::loo_moment_match()], such as `k_threshold`.
#' @return An object of class `c("psis_loo", "loo")`, as `loo` with the rows of
#'   the observations that were moved.
#' @section Errors: `gibbsite_error_argument` for other fits, and for a `loo` of
#'   another fit; `gibbsite_error_no_data` for a fit without its data.
#' @references
#' Paananen T, Piironen J, Bürkner PC, Vehtari A (2021). Implicitly adaptive
#' importance sampling. *Statistics and Computing* 31, 16.
#' \doi{10.1007/s11222-020-09982-2}
#' @seealso [kfold()], which fits again; `log_lik()` on [regression-draws] and
#'   [gmm-checks].
#' @examples
#' fit <- gibbs_lm(dist ~ speed, cars, draws = 500, seed = 1, progress = FALSE)
#' suppressWarnings(first <- loo(fit))
#' loo::loo_moment_match(fit, first, k_threshold = 0.3)
#' @name loo_moment_match
#' @exportS3Method loo::loo_moment_match
loo_moment_match.gibbsite_fit <- function(x, loo, ...) {
  if (has_short_names()) return(with_whole_names())
  call <- rlang::current_env()
  check_needed(loo = "the value of `loo(x)`")
  known <- moment_density(x, call)
  log_lik <- rstantools::log_lik(x)
  check_loo_of(loo, log_lik, call)
  rows <- bind_chains(model_matrices(x), columns = known$columns)
  spec <- known$spec
  by_row <- function(m, f) {
    values <- apply(m, 1L, f)
    if (is.matrix(values)) t(values) else values
  }
  user_scale <- function(upars) {
    if (is.null(spec$map)) {
      return(upars)
    }
    by_row(upars, function(one) from_working(spec, one))
  }
  loo::loo_moment_match.default(
    x, loo,
    post_draws = function(x, ...) rows,
    log_lik_i = function(x, i, ...) {
      matrix(log_lik[, i], ncol = length(x))
    },
    unconstrain_pars = function(x, pars, ...) {
      by_row(pars, function(one) to_working(spec, one))
    },
    log_prob_upars = function(x, upars, ...) {
      known$log_joint(user_scale(upars)) +
        by_row(upars, function(one) log_jacobian(spec, one))
    },
    log_lik_i_upars = function(x, upars, i, ...) {
      known$log_lik(user_scale(upars), i)
    },
    ...
  )
}

moment_density <- function(fit, call) {
  model <- fit_part(fit, "model")
  known <- model_density(model)
  if (is.null(known)) {
    abort_argument(
      c("{.arg x} must be a fit with a joint density of what it stores, and
         that of {.fn {model$name}} has none here.",
        i = if (can_fold(model)) {
          "Use {.fn kfold}."
        } else {
          "{.fn loo::loo_moment_match.default} takes functions of yours."
        }),
      call = call
    )
  }
  check_frame(model, call)
  known
}

check_loo_of <- function(loo, log_lik, call) {
  if (!inherits(loo, "psis_loo") || !is.list(loo)) {
    abort_expected(loo, "the value of `loo(x)`", FALSE, "loo", call)
  }
  size <- attr(loo, "dims")
  if (!identical(as.integer(size), dim(log_lik))) {
    abort_argument(
      c("{.arg loo} must be the value of {.code loo(x)}: it has other draws or
         observations.",
        x = "{.arg x} has {nrow(log_lik)} draws and {ncol(log_lik)}
             observations."),
      call = call
    )
  }
}
