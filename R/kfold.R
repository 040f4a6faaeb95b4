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
#' there is no answer. `log_lik(newdata = )` has a column for each new row.
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
#'   its data.
#' @param K Whole number, 2 or more (default 10): how many folds, of sizes as
#'   equal as possible, drawn at random. As many as there are observations is
#'   leave-one-out.
#' @param ... Not used.
#' @param folds `NULL`, or the fold of each element: a vector or a factor with
#'   at least two values, such as the groups of the observations. `K` is then
#'   not used.
#' @param by `"observation"` (default), or of a fit with groups a grouping
#'   factor, as for [log_lik()][regression-draws]: the elements are its groups.
#'   Those of a fold are left out whole, and each is predicted as a new group,
#'   with its deviations integrated out. So are those of groups of other factors
#'   that only the fold has, such as the classes of a school.
#' @param cores,seed,progress As in [running].
#' @return An object of class `c("kfold", "loo")`, for
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
  most <- .Machine$integer.max
  seed <- check_count(seed, -most, most, null_ok = TRUE)
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
  if (any(vapply(model[model$data_part], is.null, NA))) {
    abort_no_data(call = call)
  }
}

# The function that judges predictions of models that kfold() does not fit.
other_validation <- function(model) {
  other <- c(gibbs_lda = "held_out_perplexity", gibbs_bmf = "held_out")
  other[model$name]
}

# One value for each element; as a factor.
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

# With the attribute by which loo_compare() knows fits of other data.
with_outcome <- function(loo, fit) {
  attr(loo, "yhash") <- hash(model_outcome(fit_part(fit, "model")))
  loo
}

# In the form that the loo package has for it.
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
