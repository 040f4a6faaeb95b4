# loo() and waic() of every fit that has log_lik(), loo_moment_match(), and
# kfold().

# The models have the names of the arguments.
#' @export
loo_compare.gibbsite_fit <- function(x, ...) {
  fits <- list(x, ...)
  typed <- vapply(as.list(substitute(list(x, ...)))[-1L], deparse1, "")
  given <- rlang::names2(fits)
  names(fits) <- ifelse(nzchar(given), given, typed)
  check_fit(x, "x")
  for (k in seq_along(fits)) check_fit(fits[[k]], names(fits)[[k]])
  loo::loo_compare(lapply(fits, loo))
}

#' @rdname predict.gibbs_gmm
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

# This warning replaces that of the loo package, which knows neither the fit nor
# what can be done for it.
warn_pareto <- function(loo, model, draws, name, call) {
  limit <- pareto_limit(draws)
  high <- which(loo$diagnostics$pareto_k > limit)
  if (length(high) == 0L) {
    return(invisible())
  }
  total <- length(loo$diagnostics$pareto_k)
  held <- !lacks_data(model)
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

#' @rdname predict.gibbs_gmm
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
  if (!nzchar(odd[[1L]])) {
    abort_argument(
      c("{.fn loo} and {.fn waic} take one fit.",
        i = "{.code loo_compare(fit1, fit2)} compares several."),
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

#' @section Better leave-one-out estimates for influential observations:
#' [loo::loo_moment_match()] moves the draws for observations for which the
#' importance weights of [loo()][loo::loo] are too variable (a large Pareto k),
#' until the weights are better, with the joint density of the model (Paananen
#' et al. 2021). [kfold()][kfold.gibbsite_fit] with as many folds as
#' observations needs no weights, but fits the model once for each.
#'
#' The method has the joint density of [gibbs_lm()] (but not with the horseshoe
#' prior, whose local scales are not stored), of [gibbs_logistic()] and
#' [gibbs_count()] without groups, and of [laplace_logistic()]. Draws of the
#' latter without `correct = "importance"` are those of an approximation, and so
#' are the results.
#' @param loo The result of `loo(x)`.
#' @return `loo_moment_match()`: an object of class `c("psis_loo", "loo")`, as
#'   `loo` with the rows of the observations that were moved.
#' @section Errors: `loo_moment_match()`: `gibbsite_error_argument` for a `loo`
#'   of another fit; `gibbsite_error_no_data` for a fit without its data.
#' @references
#' Paananen T, Piironen J, Bürkner PC, Vehtari A (2021). Implicitly adaptive
#' importance sampling. *Statistics and Computing* 31, 16.
#' \doi{10.1007/s11222-020-09982-2}
#' @seealso `log_lik()` on [regression-draws] and
#'   [gmm-checks].
#' @examples
#' fit <- gibbs_lm(dist ~ speed, cars, draws = 500, seed = 1, progress = FALSE)
#' suppressWarnings(first <- loo(fit))
#' loo::loo_moment_match(fit, first, k_threshold = 0.3)
#' @rdname kfold.gibbsite_fit
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

# ---- kfold() -----------------------------------------------------------------

# kfold(): cross-validation by fits without a part of the data. Registered if
# loo is installed.

#' K-fold cross-validation of a fit
#'
#' Estimates how well a model predicts observations that it has not seen:
#' \eqn{\sum_i \log p(y_i \mid y_{-f(i)})}{sum_i log p(y_i | y_-f(i))}, with
#' \eqn{y_{-f(i)}}{y_-f(i)} the data without the fold of observation \eqn{i}.
#' The model is fitted once without each fold. Unlike [loo()][loo::loo] this has
#' no approximation that influential observations can spoil.
#'
#' A fit without a fold has the prior of the whole fit, with the values that
#' [prior_summary()] shows, its settings, and as many chains and draws as the
#' fit has. Chains run where `cores` and [future::plan()] say, and the result is
#' the same everywhere.
#'
#' If the fit was made by a rule ([until()], the default without `draws`), each
#' fold runs by the same rule, with the burn-in of the fit and for at most as
#' many draws as the fit has made. It is given up between a quarter and three
#' quarters of these, if it would need more than twice the draws that are left.
#' The time of `until(seconds = )` is that of each fold. Folds that have not
#' converged are counted, with the reason.
#'
#' The intercept of [gibbs_lm()] and [gibbs_hlm()] has its prior at the means of
#' the predictors (not where they are 0): in a fold at the means over the rows
#' that are fitted. The scales of the prior stay those of the whole fit. So a
#' fold is the fit to its rows with the prior of [prior_summary()]. The
#' intercept of a logistic regression has its prior where the predictors are 0,
#' in each fold. A coefficient that the rows of a fold do not inform, such as
#' that of a level that is held out, keeps its prior.
#'
#' The elements are the columns of [log_lik()].
#'
#' @section Observations:
#' A row that does not inform the parameters does not count as an observation: a
#' row of weight 0, without trials or without a response (`na_action =
#' "impute"`); of a mixture a row without any value; a document without words; a
#' group without observations. `nobs()`, [log_lik()] of the fit's own data,
#' `loo()`, `waic()`, `kfold()`, [log_evidence()], [compare_k()], `bayes_R2()`
#' and the first line of a print leave it out, so that they are those of a fit
#' without the row. The columns of [log_lik()], and so the rows of `pointwise`,
#' have the names of the rows, or their numbers if some are left out and the
#' rows have no names. [predict()], `fitted()`, `residuals()`, [augment()] and
#' [posterior_predict()] have an element for each row of the data, `NA` where
#' there is no answer. With `na_action = "exclude"` the first three also have
#' the rows that were left out, [augment()] and the draws do not.
#' `log_lik(newdata = )` has a column for each new row.
#'
#' A row of several trials (`cbind(successes, failures)`, or weights of a
#' logistic regression) is one observation: `loo()` and `kfold()` leave out all
#' of its trials, and the Pareto k of a row with many trials is often high. In
#' data with a row for each trial they leave out single trials. The posterior is
#' the same, the elpd differs. A weight of [gibbs_lm()] and [gibbs_hlm()]
#' is a precision: the row is one response.
#'
#' @param x A fit of a regression ([gibbs_lm()], [gibbs_hlm()],
#'   [gibbs_logistic()], [laplace_logistic()], [gibbs_count()],
#'   [gibbs_ordinal()], [gibbs_categorical()]) or of [gibbs_gmm()] that holds
#'   its data. A section below names those for `loo_moment_match()`.
#' @param K Whole number, 2 or more (default 10): how many folds, of sizes as
#'   equal as possible, drawn at random. As many as there are observations is
#'   leave-one-out.
#' @param ... For `loo_moment_match()` arguments of [loo::loo_moment_match()],
#'   such as `k_threshold`; otherwise not used.
#' @param folds `NULL`, or the fold of each element: a vector or a factor with
#'   at least two values, such as the groups of the observations. `K` is then
#'   not used.
#' @param by `"observation"` (default), or of a fit with groups a grouping
#'   factor, as for [log_lik()][regression-draws]: the elements are its groups.
#'   Those of a fold are left out whole, and each is predicted as a new group,
#'   with its deviations integrated out. So are those of groups of other factors
#'   that only the fold has, such as the classes of a school.
#' @param cores,seed,progress As in [running].
#' @return `kfold()`: an object of class `c("kfold", "loo")`, for
#'   [loo::loo_compare()]. `pointwise` has a row for each element, with the
#'   columns `elpd_kfold`, `p_kfold` and `kfoldic`; `estimates` their sums with
#'   standard errors. The attribute `folds` is the fold of each element.
#' @section Errors: `gibbsite_error_argument` for other fits and for folds that
#'   do not fit the data; `gibbsite_error_fold` names a fold without which the
#'   model cannot be fitted; `gibbsite_error_no_data` for a fit without its
#'   data. A warning of class `gibbsite_warning_convergence` names folds whose
#'   chains have not converged.
#' @seealso [loo_moment_match()], [held_out()] for ratings,
#'   [held_out_perplexity()] for topics, [log_evidence()].
#' @examples
#' small <- gibbs_lm(mpg ~ wt, mtcars, lm_prior("nig"), seed = 1)
#' large <- gibbs_lm(mpg ~ wt + qsec, mtcars, lm_prior("nig"), seed = 1)
#' folds <- loo::kfold_split_random(4, nrow(mtcars))
#' loo_compare(
#'   kfold(small, folds = folds, seed = 1), kfold(large, folds = folds, seed =
#'   1)
#' )
#' @name kfold.gibbsite_fit
#' @export
kfold.gibbsite_fit <- function(x, K = 10, ..., folds = NULL,
                               by = "observation",
                               cores = getOption("mc.cores", 1L), seed = NULL,
                               progress = TRUE) {
  call <- rlang::current_env()
  name <- fit_words(substitute(x))
  check_no_more(...)
  cores <- check_count(cores, max = 1024)
  progress <- check_flag(progress)
  seed <- check_seed(seed)
  check_can_fold(fit_part(x, "model"), call)
  by <- check_by(by, fit_part(x, "model"), call)
  root <- root_seed(seed, call)
  streams <- chain_streams(root, 2L, call)
  what <- if (by == "observation") by else "group"
  # the deviations of groups are drawn
  whole <- with_stream(streams[[1L]], fold_log_lik(x, by), call)$value
  folds <- if (is.null(folds)) {
    K <- check_count(
      K, min = 2, max = ncol(whole), max_why = paste0(what, "s"), arg = "K"
    )
    rep_len(seq_len(K), ncol(whole))
  } else {
    check_folds(folds, ncol(whole), what, call)
  }
  count <- length(unique(folds))
  plan <- with_stream(streams[[2L]], {
    # the same seeds, whether the folds are given or drawn
    seeds <- distinct_seeds(count)
    list(seeds = seeds,
         folds = if (is.integer(folds)) folds[sample.int(length(folds))])
  }, call)$value
  folds <- factor(plan$folds %||% folds)
  elpd <- predict_folds(
    x, folds, by, plan$seeds, cores, progress, name, call
  )
  with_outcome(new_kfold(elpd, log_means(whole), folds, colnames(whole)), x)
}

check_can_fold <- function(model, call) {
  if (!can_fold(model)) {
    other <- other_validation(model)
    given <- short_call(model)
    abort_argument(
      c("{.arg x} must be a fit whose model {.fn kfold} can fit to a part of
         its data, not one of {.code {given}}.",
        i = if (is.na(other)) {
          "{.fn loo} takes the log-likelihood of each draw."
        } else {
          "Use {.fn {other}}."
        }),
      call = call
    )
  }
  if (lacks_data(model)) abort_no_data(call = call)
}

# The function that judges predictions of models that kfold() does not fit.
other_validation <- function(model) {
  other <- c(
    gibbs_lda = "held_out_perplexity", gibbs_bmf = "held_out",
    gibbs_pmf = "rank_measures"
  )
  other[model$name]
}

# The folds as a factor: one value for each element.
check_folds <- function(folds, n, what, call) {
  kinds <- c("logical", "integer", "double", "character")
  plain <- typeof(folds) %in% kinds && length(dim(folds)) < 2L
  if (!plain || is.object(folds) && !is.factor(folds)) {
    abort_expected(
      folds, "a vector or a factor", TRUE, "folds", call
    )
  }
  check_vector_length(folds, n, paste("one for each", what), "folds", call)
  if (anyNA(folds)) {
    at <- which(is.na(folds))[[1L]]
    abort_argument(
      "{.arg folds} must not have missing values: element {at} is one.",
      call = call
    )
  }
  folds <- if (is.double(folds)) {
    factor(id_words(folds), id_words(sort(unique(folds))))
  } else {
    factor(folds)
  }
  if (nlevels(folds) < 2L) {
    abort_argument("{.arg folds} must have two values or more.", call = call)
  }
  folds
}

fold_log_lik <- function(fit, by) {
  if (by == "observation") log_lik(fit) else log_lik(fit, by = by)
}

# log((1/S) sum_s exp(x_si)) of each column.
log_means <- function(x) {
  largest <- pmax(apply(x, 2L, max), -.Machine$double.xmax)
  largest + log(colMeans(exp(x - rep(largest, each = nrow(x)))))
}

# The log predictive density of each element without its fold.
predict_folds <- function(fit, folds, by, seeds, cores, progress, name,
                          call) {
  elpd <- numeric(length(folds))
  slow <- character()
  count <- part_counter("Folds", nlevels(folds), progress)
  for (k in seq_len(nlevels(folds))) {
    held <- which(as.integer(folds) == k)
    fold <- levels(folds)[[k]]
    one <- fit_fold(fit, held, by, seeds[[k]], cores, fold, call)
    if (!is.null(one$slow)) slow[[fold]] <- one$slow
    # the random numbers of log_lik() come from another stream than the chains'
    stream <- spare_stream(seeds[[k]], length(fit), "fold", call)
    values <- with_stream(stream, fold_log_lik(one$fit, by), call)$value
    elpd[held] <- log_means(values)
    count()
  }
  warn_slow_folds(slow, nlevels(folds), name, call)
  elpd
}

# list(fit, slow): the draws without the elements `held`, as a fit of the model
# that evaluates these; `slow`: NULL, or why the chains have not converged.
fit_fold <- function(fit, held, by, seed, cores, name, call) {
  slow <- NULL
  done <- tryCatch(
    withCallingHandlers(
      {
        models <- model_fold(fit_part(fit, "model"), held, by)
        list(
          fit = run_chains(
            models$train, fold_running(fit, seed, cores), NULL, NULL
          ),
          test = models$test
        )
      },
      gibbsite_warning_convergence = function(cnd) {
        slow <<- reason_words(cnd$table)
        rlang::cnd_muffle(cnd)
      },
      gibbsite_message = function(cnd) rlang::cnd_muffle(cnd)
    ),
    gibbsite_error = function(cnd) {
      abort_state(
        "The model cannot be fitted without fold {.val {name}}.",
        call = call, class = "fold", parent = cnd
      )
    }
  )
  if (!fit_part(done$fit, "run")$outcome %in% endings) {
    abort_state(
      "The fit without fold {.val {name}} was interrupted.",
      call = call, class = "fold"
    )
  }
  attr(done$fit, "model") <- done$test
  list(fit = done$fit, slow = slow)
}

# The running arguments of the fit, for a run of as many draws; of a fit under a
# rule, for a run under this rule of at most as many, which is given up early.
fold_running <- function(fit, seed, cores) {
  earlier <- fit_part(fit, "running")
  rule <- earlier$stop_when
  if (!is.null(rule)) {
    earlier <- running_of_job(earlier)
    earlier$draws <- min(rule$every, draws_made(fit))
  }
  running <- running(
    draws = earlier$draws, burnin = earlier$burnin, thin = earlier$thin,
    chains = length(fit), threads = fit_part(fit, "run")$threads %||% 1L,
    cores = cores, seed = seed, progress = FALSE, keep_choices = character(),
    stop_when = if (!is.null(rule)) {
      until(
        rule$rhat, rule$ess, draws_made(fit), burnin = "fixed",
        seconds = rule$seconds
      )
    }
  )
  if (!is.null(rule)) running$stop_when$gives_up <- TRUE
  running
}

warn_slow_folds <- function(slow, count, name, call) {
  if (length(slow) > 0L) {
    folds <- utils::head(names(slow), 5L)
    warn_gibbsite(
      c("{.fn kfold} of {name}, {count} folds: the chains of
         {length(slow)} fit{?s} have not converged,
         {cli::qty(slow)}without fold{?s} {.val {folds}}.",
        x = "Without fold {.val {folds[[1L]]}}: {slow[[1L]]}.",
        i = "Use a fit with more draws."),
      class = "convergence", call = call
    )
  }
}

# Adds the attribute by which loo_compare() knows fits of other data.
with_outcome <- function(loo, fit) {
  attr(loo, "yhash") <- hash(model_outcome(fit_part(fit, "model")))
  loo
}

# The value of kfold() in the form that the loo package has for it.
new_kfold <- function(elpd, lpd, folds, names) {
  pointwise <- cbind(
    elpd_kfold = elpd, p_kfold = lpd - elpd, kfoldic = -2 * elpd
  )
  rownames(pointwise) <- names
  estimates <- cbind(
    Estimate = colSums(pointwise),
    SE = sqrt(nrow(pointwise) * apply(pointwise, 2L, stats::var))
  )
  structure(
    list(estimates = estimates, pointwise = pointwise),
    class = c("kfold", "loo"), K = nlevels(folds), folds = folds,
    dims = c(NA_integer_, nrow(pointwise))
  )
}
