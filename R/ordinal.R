# Regression of ordered categories: gibbs_ordinal().

#' Regression of ordered categories
#'
#' Draws from the posterior of an ordered probit regression (cumulative probit
#' model), with or without groups. With \eqn{n} responses \eqn{y_i} in the
#' ordered categories \eqn{1, \ldots, K}{1, ..., K}, predictors
#' \eqn{x_i \in R^p}{x_i in R^p} and offsets \eqn{o_i},
#' \deqn{P(y_i \le k \mid w, \theta) = \Phi(\theta_k - \eta_i), \quad
#'   \eta_i = x_i^\top w + o_i, \quad \theta_1 < \ldots < \theta_{K-1}.}{
#'   P(y_i <= k | w, theta) = Phi(theta_k - eta_i), eta_i = x_i'w + o_i,
#'   theta_1 < ... < theta_(K-1).}
#' Or, \eqn{y_i = k} if a latent response \eqn{z_i \sim \mathrm{N}(\eta_i,
#' 1)}{z_i ~ N(eta_i, 1)} lies between \eqn{\theta_{k-1}}{theta_(k-1)} and
#' \eqn{\theta_k}{theta_k}. The thresholds stand in the place of the intercept,
#' which \eqn{\eta} does not have. A positive coefficient makes higher
#' categories more probable, as in `MASS::polr(method = "probit")`.
#' [ordinal_prior()] describes the priors.
#'
#' @section Groups:
#' A formula `y ~ x + (1 + x | g) + (1 | item)` has coefficients that vary
#' between groups, in the notation of [gibbs_hlm()]: any number of bars, whose
#' groups are nested or crossed. With bar \eqn{f},
#' \deqn{\eta_i = o_i + x_i^\top b + \sum_f z_{fi}^\top u_{f,j(f,i)}, \quad
#'   u_{fj} \sim \mathrm{N}(0, \Sigma_f).}{
#'   eta_i = o_i + x_i'b + sum_f z_fi'u_f,j(f,i), u_fj ~ N(0, Sigma_f).}
#'
#' The columns are those of [gibbs_hlm()] with several factors, also for one
#' bar: `sd[f,k]` and `cor[f,k,l]` of factor \eqn{f}, and the deviations
#' `u[f,k,j]` of group \eqn{j}. Convergence is judged on all other columns and
#' on the deviations of at most 20 groups of each factor.
#'
#' @section Sampler:
#' A Gibbs sampler with the latent responses \eqn{z_i} (Albert and Chib 1993),
#' whose draws have no error but the Monte Carlo error. The thresholds are moved
#' together, given the linear predictor, with the latent responses integrated
#' out (as in Cowles 1996): given these, each threshold could only move between
#' the largest \eqn{z_i} of one category and the smallest of the next, which
#' takes a step of order \eqn{1/n}. The proposal is a t distribution with 5
#' degrees of freedom at the mode, which Newton's method finds, in the
#' coordinates \eqn{\theta_1, \log(\theta_k - \theta_{k-1})}{theta_1,
#' log(theta_k - theta_(k-1))}. Then the coefficients are drawn given the latent
#' responses with the groups' deviations integrated out, together with a shift
#' of all thresholds and latent responses, which changes no probability (Liu
#' and Sabatti 2000). With groups there are the further steps of [gibbs_hlm()].
#' The time of a sweep is proportional to the number of observations.
#'
#' @section Weights:
#' A weight is the whole number of observations that a row stands for, as in a
#' table of frequencies. Rows with weight 0 are left out.
#'
#' @section Stored quantities:
#' One column for each coefficient, with the name of its column of the model
#' matrix; of groups the columns named above; the thresholds `theta[k]`,
#' between category \eqn{k} and the next; and `log_lik`, the log-likelihood.
#'
#' @section Predictions:
#' `predict(type = "response")`, `fitted()` and [posterior_epred()] have a
#' probability for each category: see [predict.gibbsite_categories()].
#'
#' @section Starting values:
#' An entry of `inits` is a list with `coefficients`, `thresholds`, which
#' increase, and with groups `Sigma`, a list of matrices by the names of the
#' factors.
#'
#' @param formula A formula `y ~ x`, with offsets and bars if there are any,
#'   never without an intercept. The response is an ordered factor ([ordered()])
#'   or has the whole numbers from 1 to \eqn{K}. There are three categories or
#'   more, each with observations.
#' @param data A data frame, list or environment with the variables.
#' @param prior An [ordinal_prior()].
#' @param weights `NULL` or `n` whole numbers, 0 or more, not all 0.
#' @param offset `NULL` or `n` numbers, added to the linear predictor.
#' @param subset,contrasts As in [gibbs_lm()].
#' @param na_action As in [gibbs_lm()], but for `"impute"`.
#' @param draws,burnin,thin,chains,inits,cores,seed As in [running].
#' @param checkpoint,stop_when,progress,keep_data As in [running].
#' @param ... Not used: an argument that is not known is an error.
#' @return An object of class `gibbs_ordinal`, a `gibbsite_fit` and a
#'   [coda::mcmc.list]: one matrix of draws for each chain. See
#'   [summary.gibbsite_fit()], [predict.gibbsite_categories()],
#'   [plot.gibbsite_regression()], [coef.gibbsite_fit()],
#'   [log_lik.gibbsite_regression()].
#' @section Errors:
#' Errors in the arguments have class `gibbsite_error_argument` and are raised
#' before any chain runs; among them `gibbsite_error_missing` and
#' `gibbsite_error_infinite` for the data, `gibbsite_error_formula` for the
#' formula, and `gibbsite_error_empty` for a category without observations.
#' [log_evidence()], [residuals()] and [bayes_R2()] of a fit are errors. A chain
#' that fails raises `gibbsite_error_chain`, which carries the other chains in
#' `$fit`.
#' @references
#' Albert JH, Chib S (1993). Bayesian analysis of binary and polychotomous
#' response data. *Journal of the American Statistical Association* 88, 669-679.
#' \doi{10.1080/01621459.1993.10476321}
#'
#' Cowles MK (1996). Accelerating Monte Carlo Markov chain convergence for
#' cumulative-link generalized linear models. *Statistics and Computing* 6,
#' 101-111. \doi{10.1007/BF00162520}
#'
#' Liu JS, Sabatti C (2000). Generalised Gibbs sampler and multigrid Monte Carlo
#' for Bayesian computation. *Biometrika* 87, 353-369.
#' \doi{10.1093/biomet/87.2.353}
#'
#' McCullagh P (1980). Regression models for ordinal data. *Journal of the Royal
#' Statistical Society B* 42, 109-127. \doi{10.1111/j.2517-6161.1980.tb01109.x}
#' @seealso [ordinal_prior()], [gibbs_logistic()] for two outcomes,
#'   [gibbs_bmf()] for ratings of many items by many users.
#' @examples
#' # satisfaction of tenants, from a table of frequencies
#' fit <- gibbs_ordinal(Sat ~ Infl + Type + Cont, MASS::housing,
#'   weights = Freq, seed = 1
#' )
#' fit
#' head(predict(fit, type = "response"), 3)
#' plot(fit, type = "response", variable = "Infl")
#' @export
gibbs_ordinal <- function(formula, data, prior = ordinal_prior(),
                          weights = NULL, offset = NULL, subset = NULL,
                          na_action = "fail", contrasts = NULL, draws = NULL,
                          burnin = 1000, thin = 1, chains = 4, inits = NULL,
                          cores = getOption("mc.cores", 1L), seed = NULL,
                          checkpoint = NULL, stop_when = NULL, progress = TRUE,
                          keep_data = TRUE, ...) {
  call <- rlang::current_env()
  check_needed(formula = "a formula")
  check_no_more(..., call = call)
  running <- running_of(call, keep_choices = character())
  user_call <- call_of_model(match.call(), "gibbs_ordinal", formula)
  action <- check_na_action(na_action, call)
  frame <- ordinal_frame(
    formula, if (!missing(data)) data, user_call, action, contrasts,
    parent.frame(), call
  )
  run_chains(ordinal_model(frame, prior, call), running, user_call, call)
}

# ---- The model ---------------------------------------------------------------

# The model behind gibbs_ordinal(): its fields, states and starting values, with
# groups or without. src/core/hlm/hlm_latent.h and hlm_ordinal.h have the
# mathematics.

# ---- Frames ------------------------------------------------------------------

# The frame of a formula, with `bars` if it has any. The thresholds take the
# place of the intercept, which the design does not have. user_call: that of
# gibbs_ordinal().
ordinal_frame <- function(formula, data, user_call, action, contrasts, env,
                          call) {
  frame <- frame_with_bars(
    formula, data, user_call, "gibbs_ordinal", as_ordered, action, contrasts,
    env, call
  )
  check_has_intercept(frame$fixed_terms %||% frame$terms, call)
  frame$x <- without_intercept(frame$x)
  frame
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
  check_any_used(used, call)
  check_categories(frame, call)
  check_ordinal_weights(frame, call)
  columns <- colnames(frame$x) %||% character()
  layout <- bars_layout(frame, length(columns) + 1, call)
  check_none_taken(
    grep("^log_lik$|^(theta|u)\\[", columns, value = TRUE), call
  )
  found <- fixed_design(frame, columns, as.double(used), call)
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
  most <- 1e8
  if (sum(weights) > most) {
    abort_argument(
      "`weights` must be {digits(most)} at most together, not
       {digits(sum(weights))}: each observation is a latent variable.",
      call = call, class = "size"
    )
  }
}

ordinal_model_of <- function(frame, prior, layout) {
  count <- length(frame$response$levels)
  bars_model(
    frame, layout, "ordinal_model", "ordered_model", "gibbs_ordinal",
    "Ordered probit regression", indexed("theta", seq_len(count - 1L)),
    ordinal_data(frame, prior, layout), prior, paste(count, "categories")
  )
}

# What C reads, as core/hlm/hlm_latent.h and hlm_ordinal.h describe: the columns
# less their means, and a last one of ones.
ordinal_data <- function(frame, prior, layout) {
  rows <- which(rows_used(frame))
  n <- length(rows)
  x <- unname(in_basis(frame$x[rows, , drop = FALSE], prior$basis))
  x <- cbind(x - rep(prior$centre, each = n), rep(1, n), deparse.level = 0)
  thresholds <- length(frame$response$levels) - 1
  common <- bar_fixed_effects(
    c(prior_means(prior), 0),
    c(1 / prior$slope_variance, thresholds / prior$threshold_sd^2)
  )
  bars <- latent_bars(frame, layout, rows, prior, common)
  nesting <- nestings(frame, layout)
  weights <- row_weights(frame)[rows]
  data <- list(
    count = as.double(length(bars)), p = common$p, n = as.double(n),
    bars = bars, fixed = as.double(t(x)),
    offset = as.double(frame$offset[rows]), constant = 0,
    nesting = nesting,
    response = list(
      type = "ordinal", levels = thresholds + 1, sd = prior$threshold_sd,
      code = as.double(frame$y[rows]),
      weight = as.double(weights),
      mean = unname(prior$centre)
    )
  )
  data$basis <- prior$basis
  data$joint <- joint_draw(
    frame, layout, rows, x, common$precision, weights, nesting
  )
  data
}

#' @exportS3Method
model_response.ordered_model <- function(model) {
  ordered_response(model_design(model)$response$levels)
}

#' @exportS3Method
model_labels.ordered_model <- function(model) {
  out <- if (has_groups(model)) NextMethod() else fixed_effects_labels(model)
  levels <- model_response(model)$levels
  out$label[threshold_columns(model)] <- paste(
    "threshold between", levels[-length(levels)], "and", levels[-1L]
  )
  out
}

threshold_columns <- function(model) {
  levels <- model_response(model)$levels
  match(indexed("theta", seq_along(levels[-1L])), model$columns)
}

# ---- Starting values and sweeps ----------------------------------------------

# The state has the thresholds at the predictors' means, and 0 for the
# coefficient of the last column. thresholds: those of the fit; NULL: theirs.
ordinal_state <- function(model, covariances, b, thresholds, u = NULL) {
  base <- state_of_bars(model, covariances, u)
  list(
    sweep = 0, factor = base$factor, beta = 1, b = c(as.double(b), 0),
    u = base$u,
    theta = as.double(thresholds) - sum(model$data$response$mean * b)
  )
}

# The coefficients begin near 0, the thresholds around those of the shares of
# the categories, the standard deviations of the groups at those of the prior,
# each over or under by a factor of up to 10.
#' @exportS3Method
model_start.ordered_model <- function(model, init) {
  data <- model$data
  p <- length(model$coefficients)
  x <- matrix(data$fixed, data$p)[seq_len(p), , drop = FALSE]
  b <- init$coefficients %||% start_coefficients(x)
  wide <- stats::runif(1L, 0.5, 2)
  thresholds <- init$thresholds %||% (
    wide * share_thresholds(data$response) + sum(data$response$mean * b)
  )
  ordinal_state(model, start_bar_covariances(model, init), b, thresholds)
}

# Phi^-1 of the shares up to each category.
share_thresholds <- function(response) {
  counts <- tapply(
    response$weight, factor(response$code, seq_len(response$levels)), sum,
    default = 0
  ) + 0.5
  stats::qnorm(unname(cumsum(counts))[-response$levels] / sum(counts))
}

#' @exportS3Method
model_sweeps.ordered_model <- function(model, state, n, control) {
  with_bases(model, .Call(C_hlm_latent_sweeps, model$data, state, n, control))
}

#' @exportS3Method
model_check_init.ordered_model <- function(model, init, where, call) {
  check_init_names(
    init, c("coefficients", "thresholds", if (has_groups(model)) "Sigma"),
    where, call
  )
  check_init_vector(
    init, "coefficients", length(model$coefficients), where, call
  )
  check_init_vector(
    init, "thresholds", model$data$response$levels - 1L, where, call
  )
  if (any(diff(init$thresholds) <= 0)) {
    abort_argument("`{where}$thresholds` must increase.", call = call)
  }
  init <- in_columns_of_c(model, init)
  if (has_groups(model)) check_bar_covariances(model, init, where, call) else
    init
}

#' @exportS3Method
model_init_from_state.ordered_model <- function(model, state) {
  list(
    coefficients = with_fixed_of_data(model, own_state(state))$b,
    thresholds = own_thresholds(model, state),
    Sigma = if (has_groups(model)) state_covariances(model, state)
  )
}

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
draw_prior.ordered_model <- function(model) {
  data <- model$data
  own <- data$bars[[1L]]
  at <- seq_along(model$coefficients)
  b <- own$mean[at] + stats::rnorm(length(at)) / sqrt(own$precision[at])
  covariances <- draw_bar_covariances(model, data$bars)
  thresholds <- sort(stats::rnorm(data$response$levels - 1)) * data$response$sd
  ordinal_state(
    model, covariances, b, thresholds + sum(data$response$mean * b),
    draw_bar_deviations(data$bars, covariances)
  )
}

ordinal_eta <- function(model, state) {
  state_predictor(model, own_state(state))
}

#' @exportS3Method
simulate_data.ordered_model <- function(model, state) {
  eta <- matrix(ordinal_eta(model, state), 1L)
  drop(response_draw(
    model_response(model), eta, NULL, matrix(own_thresholds(model, state), 1L)
  ))
}

# `data`: the codes of the categories, or these, one for each row of the fit's
# data.
#' @exportS3Method
set_data.ordered_model <- function(model, data, call = rlang::caller_env()) {
  what <- "regression of ordered categories"
  with_responses(model, data, what, function(frame, ...) {
    ordinal_model_of(frame, model$prior, model$layout)
  }, call, function(y) {
    observed_response(
      model_response(model), y, list(name = "data"), NULL, call
    )
  })
}

#' @exportS3Method
model_quantities.ordered_model <- function(model, state) {
  thresholds <- own_thresholds(model, state)
  c(
    model_effects(model, with_fixed_of_data(model, own_state(state))),
    stats::setNames(thresholds, indexed("theta", seq_along(thresholds))),
    log_lik = log_lik_of_state(
      model, ordinal_eta(model, state), matrix(thresholds, 1L)
    )
  )
}

# ---- Cross-validation --------------------------------------------------------

#' @exportS3Method
model_fold.ordered_model <- function(model, held, by) {
  fold_of_rows(model, held, by, function(rest) {
    ordinal_model_of(rest, model$prior, model$layout)
  })
}

# ---- Rows to predict ---------------------------------------------------------

#' @exportS3Method
predictor_rows.ordered_model <- function(model, at, call) {
  rows <- NextMethod()
  rows$x <- without_intercept(rows$x)
  rows
}

# ---- The prior ---------------------------------------------------------------

#' Prior of a regression of ordered categories
#'
#' The prior of [gibbs_ordinal()]: the coefficients are normal and the standard
#' deviations of groups half-t, as in [logistic_prior()]. The thresholds
#' \eqn{\theta}{theta}, at the predictors' means \eqn{\bar x}{xbar}, are ordered
#' normal variates,
#' \deqn{w \sim \mathrm{N}(m, C), \quad \sqrt{\Sigma_{kk}} \sim
#'   \mathrm{half}\textrm{-}t_{\nu}(A_k), \quad p(\theta \mid w) = (K - 1)!
#'   \prod_{k=1}^{K-1} \mathrm{N}(\theta_k - \bar x^\top w \mid 0, s^2)
#'   \quad \mathrm{for} \quad \theta_1 < \ldots < \theta_{K-1}.}{
#'   w ~ N(m, C), sqrt(Sigma_kk) ~ half-t_nu(A_k),
#'   p(theta | w) = (K - 1)! prod_k N(theta_k - xbar'w | 0, s^2)
#'   for theta_1 < ... < theta_(K-1).}
#'
#' Fields left `NULL` are completed at the fit from the predictors, never from
#' the response, and [prior_summary()] shows the values used. Those of the
#' coefficients and of groups are as in [logistic_prior()], in units of the
#' standard deviation of the latent response. The prior of the thresholds is
#' that of [gibbs_bmf()] with `link = "ordinal"`; with \eqn{s} = 5 a threshold
#' may be far beyond all responses.
#'
#' * `threshold_sd`: \eqn{s} = 5.
#'
#' @param slope_variance,slope_mean,slope_sd,slope_scale As in
#'   [logistic_prior()]; variances must be finite.
#' @param group_df,group_scale As in [logistic_prior()].
#' @param threshold_sd `NULL` or a positive number: \eqn{s}, the prior standard
#'   deviation of a threshold at the predictors' means.
#' @return An object of class `ordinal_prior`; printing it shows the model.
#' @section Errors:
#' A value of the wrong type or out of its range is an error of class
#' `gibbsite_error_argument`; lengths are compared with the model matrix at the
#' fit.
#' @seealso [gibbs_ordinal()], [logistic_prior()],
#'   [prior_summary()][prior_summary.gibbsite_fit].
#' @examples
#' ordinal_prior()
#' ordinal_prior(slope_scale = 1, threshold_sd = 3)
#' @export
ordinal_prior <- function(slope_variance = NULL, group_df = NULL,
                          group_scale = NULL, slope_mean = NULL,
                          slope_sd = NULL, slope_scale = NULL,
                          threshold_sd = NULL) {
  call <- rlang::current_env()
  coefficients <- of_call(logistic_prior(
    slope_variance, group_df = group_df, group_scale = group_scale,
    slope_mean = slope_mean, slope_sd = slope_sd, slope_scale = slope_scale
  ), call)
  structure(
    c(unclass(coefficients), list(
      threshold_sd = check_number(
        threshold_sd, lower = 0, lower_open = TRUE, upper = 1e50,
        null_ok = TRUE, arg = "threshold_sd", call = call
      )
    )),
    class = c("ordinal_prior", "gibbsite_prior")
  )
}

# The prior with every field filled in. design: of describe_design(); bars: a
# list of hlm_design(), NULL without groups. centre: where the thresholds have
# their prior.
complete_ordinal_prior <- function(prior, design, bars, call) {
  prior <- made_prior(prior, ordinal_prior, call)
  for (field in c("slope_mean", "slope_sd", "slope_scale", "slope_variance")) {
    if ("(Intercept)" %in% names(prior[[field]])) {
      abort_argument(
        c("`{field}` of `prior` is for slopes: the model has no intercept.",
          i = "The thresholds stand in its place: {.arg threshold_sd}."),
        call = call
      )
    }
  }
  done <- unclass(
    complete_latent_prior(as_logistic_prior(prior), design, bars, call)
  )
  structure(
    c(done, list(
      threshold_sd = prior$threshold_sd %||% 5,
      centre = stats::setNames(as.double(design$mean), design$columns)
    )),
    class = c("ordinal_prior", "gibbsite_prior")
  )
}

#' @export
format.ordinal_prior <- function(x, ...) {
  check_made(x, needed_fields(ordinal_prior), "ordinal_prior()")
  lines <- format(as_logistic_prior(x))
  lines[[1L]] <- sub(
    "^.*,  w ~", "P(y_i <= k) = Phi(theta_k - x_i'w - o_i),  w ~", lines[[1L]]
  )
  c(
    lines[!grepl("^  intercept_", lines)],
    paste(
      "thresholds, at the predictors' means: theta_k ~ N(0, s^2), in",
      "increasing order"
    ),
    paste0("  s = ", format_prior_value(x$threshold_sd, "5"))
  )
}

# ---- The responses given the linear predictor --------------------------------

# The responses of gibbs_ordinal() given the linear predictor: ordered
# categories 1 to K with P(y <= k) = Phi(theta_k - eta). scale: the thresholds
# theta, draws x (K - 1).

ordered_response <- function(levels) {
  structure(list(link = "probit", levels = levels), class = "ordered_response")
}

# The codes of ordered categories: list(y, kind, levels).
as_ordered <- function(y, name, call) {
  expected <- "an ordered factor, or whole numbers from 1"
  if (is.ordered(y)) {
    return(list(y = as.double(y), kind = "ordered", levels = levels(y)))
  }
  if (is.factor(y) || is.character(y) || is.logical(y)) {
    hint <- if (is.factor(y) && nlevels(y) > 2L) {
      paste0("An order is given by `ordered(", name, ", levels = )`; the",
             " levels of a factor have none.")
    } else if (is.logical(y) || is.factor(y) || length(unique(y)) <= 2L) {
      "For two outcomes use `gibbs_logistic()`."
    } else {
      paste0("An order is given by `ordered(", name, ", levels = )`.")
    }
    abort_expected(y, expected, FALSE, name, call, hint = hint)
  }
  y <- as_measurements(y, name, call)$y
  abort_elements(
    !is.na(y) & (y < 1 | y != round(y)), y, name, "whole numbers from 1", call,
    "{.fn ordered} or {.fn cut} makes categories of numbers; measurements are
     the response of {.fn gibbs_lm} or {.fn gibbs_hlm}."
  )
  most <- max(0, y, na.rm = TRUE)
  if (most > 1000) {
    abort_argument(
      c("`{name}` must have 1000 categories at most, not {digits(most)}.",
        i = "Numbers with many values are the response of {.fn gibbs_lm}."),
      call = call
    )
  }
  list(y = y, kind = "codes", levels = as.character(seq_len(most)))
}

# At least three categories, each with observations.
check_categories <- function(frame, call) {
  response <- frame$response
  levels <- response$levels
  name <- response$name
  if (length(levels) < 3L) {
    abort_argument(
      c("`{name}` must have at least three ordered categories, not
         {length(levels)}.",
        i = "For two outcomes use {.fn gibbs_logistic}."),
      call = call
    )
  }
  count <- tabulate(frame$y[rows_used(frame)], length(levels))
  check_none_empty(
    name, levels[count == 0], response$kind == "ordered",
    "Number the categories from 1 without gaps, or give an ordered factor.",
    call
  )
}

# empty: the categories without observations; other: what to do where the
# response is not a factor, a template with these.
check_none_empty <- function(name, empty, is_factor, other, call) {
  if (length(empty) > 0L) {
    hint <- if (is_factor) {
      "Leave {cli::qty(empty)}{?it/them} out: give {.arg data} as `droplevels()`
       of the rows to fit."
    } else {
      other
    }
    abort_argument(
      c("{cli::qty(empty)}Categor{?y/ies} {.val {empty}} of `{name}`
         {cli::qty(empty)}{?has/have} no observations in the rows that
         {.arg subset} and {.arg na_action} keep.",
        i = hint),
      call = call, class = "empty"
    )
  }
}

#' @exportS3Method
response_family.ordered_response <- function(response) {
  structure(
    list(family = "Cumulative", link = "probit"), class = "family"
  )
}

# The probabilities of the categories, draws x rows x K.
#' @exportS3Method
response_mean.ordered_response <- function(response, eta, scale = NULL) {
  levels <- response$levels
  bounds <- cbind(-Inf, scale, Inf)
  out <- vapply(seq_along(levels), function(k) {
    as.double(between(bounds[, k] - eta, bounds[, k + 1L] - eta))
  }, numeric(length(eta)))
  out[is.nan(out)] <- NA_real_
  array(
    out, c(dim(eta), length(levels)),
    dimnames = list(rownames(eta), colnames(eta), levels)
  )
}

#' @exportS3Method
response_scale.ordered_response <- function(response, draws) {
  unname(draws[
    , indexed("theta", seq_len(length(response$levels) - 1L)), drop = FALSE
  ])
}

# Codes of categories.
#' @exportS3Method
response_draw.ordered_response <- function(response, eta, size, scale) {
  z <- eta + stats::rnorm(length(eta))
  out <- eta
  out[] <- 1
  for (k in seq_len(ncol(scale))) out <- out + (z > scale[, k])
  out
}

# list(low, high): the thresholds less eta on both sides of each code, draws x
# rows.
bounds_of_codes <- function(eta, data, scale) {
  bounds <- cbind(-Inf, scale, Inf)
  code <- rep(as.integer(data$y), each = nrow(eta))
  row <- rep_len(seq_len(nrow(eta)), length(eta))
  list(
    low = bounds[cbind(row, code)] - as.vector(eta),
    high = bounds[cbind(row, code + 1L)] - as.vector(eta)
  )
}

# A weight counts an observation so often.
#' @exportS3Method
response_log_lik.ordered_response <- function(response, eta, data, scale) {
  at <- bounds_of_codes(eta, data, scale)
  out <- log_between(at$low, at$high)
  out <- out * rep(column_weights(data, eta), each = nrow(eta))
  matrix(out, nrow(eta), dimnames = dimnames(eta))
}

#' @exportS3Method
response_bend.ordered_response <- function(response, eta, data, scale) {
  at <- bounds_of_codes(eta, data, scale)
  low <- at$low
  high <- at$high
  log_share <- log_between(low, high)
  density <- function(x) exp(stats::dnorm(x, log = TRUE) - log_share)
  times <- function(x) ifelse(is.finite(x), x, 0) * density(x)
  first <- density(low) - density(high)
  weights <- rep(column_weights(data, eta), each = nrow(eta))
  list(
    first = weights * first,
    # of rounding errors not below 0
    second = weights * pmax(0, first^2 + times(high) - times(low))
  )
}

#' @exportS3Method
observed_response.ordered_response <- function(response, y, known, weights,
                                               call) {
  check_no_size(weights, "weights", "normal", call)
  levels <- response$levels
  if (is.factor(y) || is.character(y)) {
    check_known_levels(y, levels, call)
    return(list(y = match(as.character(y), levels)))
  }
  y <- as_ordered(y, known$name, call)$y
  abort_elements(
    !is.na(y) & y > length(levels), y, known$name,
    paste("whole numbers from 1 to", length(levels)), call
  )
  list(y = y)
}
