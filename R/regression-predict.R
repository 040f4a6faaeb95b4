# Predictions of every regression: rows, means, intervals and draws.

# ---- The predictor of fixed effects ------------------------------------------

#' @exportS3Method
predictor_rows.default <- function(model, at, call) {
  check_re_formula(at$re_formula, call)
  prediction_rows(model, at$newdata, at$offset, call)
}

#' @exportS3Method
predictor_at_draws.default <- function(model, draws, rows) {
  columns <- seq_along(coefficient_columns(model))
  eta <- linear_predictors(
    rows$x, draws[, columns, drop = FALSE], rows$offset
  )
  # a missing predictor gives NA and not NaN
  if (anyNA(eta)) eta[is.nan(eta)] <- NA_real_
  colnames(eta) <- rows$names
  eta
}

# The mean of a dense design is left to predicted_columns(). The coefficients
# are the first columns of the draws.
#' @exportS3Method
predictor_moments.default <- function(model, draws, rows) {
  if (is.matrix(rows$x)) {
    offset <- rows$offset
    list(
      x = rows$x, w = draws, offset = if (!is.null(offset)) as.double(offset)
    )
  } else {
    list(mean = unname(predictor_at_draws(model, draws, rows)))
  }
}

# "observation", or the name of a grouping factor.
check_by <- function(by, model, call) {
  by <- check_string(by, arg = "by", call = call)
  factors <- if (has_groups(model)) names(bars_by_factor(model))
  if (by %in% c("observation", factors)) {
    return(by)
  }
  if (by == "group" && length(factors) == 1L) {
    return(factors)
  }
  if (by == "group" && length(factors) > 1L) {
    abort_argument(
      c("{.arg by} must name one of the grouping factors {.val {factors}}, not
         be \"group\".",
        i = "{.code by = {quoted(factors[[1L]])}} has an element for each
             group of {.val {factors[[1L]]}}."),
      call = call
    )
  }
  if (is.null(factors)) {
    abort_no_groups(model, "by", "\"observation\"", call, no_groups_hint(model))
  }
  known <- c("observation", if (length(factors) == 1L) "group", factors)
  abort_expected(
    by, paste("one of", or_words(quoted(known))), FALSE, "by", call
  )
}

abort_no_groups <- function(model, arg, must, call, hint = character()) {
  abort_argument(
    c("{.arg {arg}} must be {must}: a fit of {.code {short_call(model)}} has no
       groups.",
      as_bullets(hint)),
    call = call
  )
}

# How to predict whole groups all the same.
no_groups_hint <- function(model) {
  others <- c(gibbs_lm = "gibbs_hlm", laplace_logistic = "gibbs_logistic")
  name <- model$name
  if (name %in% names(others)) name <- others[[name]]
  c(
    if (!is.null(model_response(model))) {
      paste0(
        "Fit a formula with groups: {.code ", name, "(y ~ x + (1 | g), data)}."
      )
    },
    "Without group effects {.code kfold(fit, folds = g)} leaves out whole
     groups, where {.code g} is the group of each observation."
  )
}

# ---- Moments -----------------------------------------------------------------

# A data frame with a row for each of the rows: `mean`, and with `interval` the
# columns sd, lower and upper. type: "link" or "response"; interval: of
# predict(). In blocks of rows, of which those of a group stay together.
prediction_table <- function(fit, rows, type, interval = "none", level = 0.95) {
  model <- fit_part(fit, "model")
  response <- model_response(model)
  draws <- bind_chains(chain_matrices(fit))
  scale <- response_scale(response, draws)
  tails <- if (interval != "none") central_tails(level)
  if (type == "link") {
    response <- normal_response()
  }
  # the mean of a linear function is its value at the mean of the draws
  linear <- (is.null(rows$group) || !is.null(rows$codes)) &&
    inherits(response, "normal_response")
  mean_draw <- matrix(colMeans(draws), 1L,
                      dimnames = list(NULL, colnames(draws)))
  n <- nrow(rows$x)
  if (n == 0L) {
    none <- numeric()
    return(data.frame(mean = none, sd = none, lower = none, upper = none))
  }
  order <- if (is.null(rows$group)) seq_len(n) else order(rows$group)
  at_mean <- linear && interval == "none"
  # blocks of 8 MB: larger ones wait for memory, if there is a matrix of draws
  summed <- interval != "prediction" && is.null(rows$group) &&
    is.matrix(rows$x)
  blocks <- row_blocks(
    n, if (at_mean) 1 else nrow(draws), most = if (summed) 1e7 else 1e6
  )
  parts <- tell_each(blocks, "Blocks of predictions", function(block) {
    i <- order[block]
    moments <- function(draws) {
      predictor_moments(model, draws, rows_at_places(rows, i))
    }
    if (at_mean) {
      return(mean_responses(response, moments(mean_draw), tails))
    }
    at <- moments(draws)
    out <- if (interval == "prediction") {
      new_observations(response, at, rows$size[i], scale, tails)
    } else {
      mean_responses(response, at, tails)
    }
    if (linear) out$mean <- colMeans(with_mean(moments(mean_draw))$mean)
    out
  })
  out <- do.call(rbind, parts)
  out[order, ] <- out
  rownames(out) <- NULL
  out[] <- lapply(out, function(v) ifelse(is.nan(v), NA_real_, v))
  out
}

# The expected responses. tails: NULL for their means alone.
mean_responses <- function(response, at, tails) {
  if (is.null(tails)) {
    return(data.frame(mean = mean_over_draws(response, at)))
  }
  if (is.null(at$sd)) {
    return(draws_table(response, at, tails))
  }
  values <- response_moments(response, at$mean, at$sd)
  ends <- mixture_quantiles(at$mean, at$sd, tails)
  cbind(
    mixture_table(values$mean, values$sd, NULL),
    two_ends(response_mean(response, ends))
  )
}

# As mixture_table(), of expected responses that are known given a draw.
draws_table <- function(response, at, tails) {
  found <- predicted_columns(response, at, tails)
  data.frame(
    mean = found$mean, sd = sqrt(found$squares / (draws_in(at) - 1)),
    two_ends(found$quantiles)
  )
}

# Some of the rows.
rows_at_places <- function(rows, at) {
  for (part in intersect(c("x", "z", "codes"), names(rows))) {
    rows[[part]] <- rows[[part]][at, , drop = FALSE]
  }
  for (part in c("offset", "group", "names", "size")) {
    rows[[part]] <- rows[[part]][at]
  }
  rows
}

# The rows of new data, or of the fit's own.
rows_to_predict <- function(model, newdata = NULL, offset = NULL,
                            re_formula = NULL, allow_new_levels = FALSE,
                            call) {
  allow_new_levels <- check_flag(
    allow_new_levels, arg = "allow_new_levels", call = call
  )
  predictor_rows(
    model, list(
      newdata = newdata, offset = offset, re_formula = re_formula,
      allow_new_levels = allow_new_levels
    ), call
  )
}

# ---- predict() ---------------------------------------------------------------

#' Predictions of a regression
#'
#' Predictions for the data of the fit or for new data, from the whole
#' posterior. With the linear predictor \eqn{\eta = o + x^\top w}{eta = o + x'w}
#' (with groups \eqn{o + x^\top b + z^\top u_j}{o + x'b + z'u_j}) `"link"` is
#' \eqn{\eta}{eta}, and `"response"` the expected response: \eqn{\eta}{eta} of a
#' linear regression, the probability of success \eqn{F(\eta)}{F(eta)} of a
#' logistic or probit regression, and the mean \eqn{\exp(\eta)}{exp(eta)} of a
#' count. `"class"` is the more probable outcome of a binary response.
#'
#' `interval = "mean"` adds the posterior standard deviation and interval of
#' this quantity. `interval = "prediction"` is of a new observation, as
#' [posterior_predict()][posterior_predict.gibbsite_regression] draws it: all
#' four columns are of a new response, or of the number of successes in `trials`
#' trials.
#'
#' Given the parameters of a draw the distribution of a prediction is known: the
#' distribution of a new observation, and of the deviations of a group where the
#' fit does not store them. The predictions are those of the mixture of these
#' distributions over the draws, without a further Monte Carlo error. The
#' deviations \eqn{u_j}{u_j} of a group of the fit have their distribution
#' given its data, those of a new group \eqn{\mathrm{N}(0, \Sigma)}{N(0,
#' Sigma)}.
#'
#' @section Laplace approximations:
#' Of a fit of [laplace_logistic()] the probability of success is
#' \deqn{P(y = 1 \mid x) = \int \sigma(x^\top w + o)\, p(w \mid y)\, dw
#'   = E\, \sigma(m + s Z), \quad m = x^\top \hat w + o, \quad
#'   s^2 = x^\top \Sigma x, \quad Z \sim \mathrm{N}(0, 1).}{
#'   P(y = 1 | x) = integral of sigma(x'w + o) p(w | data) dw
#'   = E sigma(m + s Z), m = x'map + o, s^2 = x' Sigma x, Z ~ N(0, 1).}
#' This probability is nearer to 1/2 than \eqn{\sigma(m)}{sigma(m)}, and the
#' more so the larger \eqn{s} is. The integral has an error below 1e-13 for any
#' \eqn{m} and \eqn{s}: the logistic function is a mixture of normal
#' distribution functions (Stefanski 1991), and the mean of each of these over a
#' normally distributed argument is again a normal distribution function. With
#' `correct = "importance"` predictions are those of the draws. The linear
#' predictor of a new group is integrated out in the same way.
#'
#' @param object A fit of [gibbs_lm()], [gibbs_hlm()], [gibbs_logistic()],
#'   [gibbs_count()] or [laplace_logistic()]; of the fits of [gibbs_ordinal()]
#'   and [gibbs_categorical()] see [predict.gibbsite_categories()].
#' @param newdata `NULL` for the data of the fit, or new observations: a data
#'   frame with the formula's variables; for a fit of a matrix, a matrix with
#'   the same columns, matched by name if both have column names. Variables must
#'   be of the fit's class; differences of times may have another unit. Rows
#'   with missing values have missing predictions.
#' @param type `"link"` (default), `"response"`, or for binomial responses
#'   `"class"`, in the form of the fit's response. With
#'   `interval = "prediction"` it is `"response"`.
#' @param interval `"none"` (default), `"mean"` or `"prediction"`.
#' @param level Number between 0 and 1, default 0.95: the posterior probability
#'   of each interval.
#' @param offset For `newdata`, if the fit was made with an argument `offset`:
#'   a number for each row, or one for all.
#' @param weights For `newdata` and `interval = "prediction"` of a linear
#'   regression: the weight \eqn{v} of each new observation, whose variance is
#'   \eqn{\sigma^2/v}{sigma^2/v}: one positive number or one for each row;
#'   default 1. If the fit has known standard errors,
#'   \eqn{1/\mathrm{se}^2}{1/se^2}. The fit's own data have their weights;
#'   where these are 0 the interval is `NA`.
#' @param trials For `newdata` and `interval = "prediction"` of a binomial
#'   response: the number of trials of each row, one number or several; default
#'   1.
#' @param re_formula `NULL` (default): with the deviations of the groups; `NA`:
#'   without, \eqn{o + x^\top b}{o + x'b}; a formula: with those of some bars or
#'   terms of the fit, such as `~ (1 | g)`. `newdata` needs no variables of the
#'   others. `NULL` and `NA` are the same for a fit without groups.
#' @param allow_new_levels `FALSE` (default): a group that is not in the fit is
#'   an error; `TRUE`: it is a new group.
#' @param ... Not used.
#' @return A vector with the names of the rows; with an interval a data frame
#'   with the columns `mean`, `sd`, `lower` and `upper`; for `"class"` the type
#'   of the response: a factor, a logical vector, or numbers 0 and 1. The other
#'   observations in `newdata` do not change a bit of an observation's
#'   prediction (if factors have the same levels).
#' @section Errors: `gibbsite_error_argument` for variables that are missing, of
#'   another kind, or with levels or groups that are not in the fit
#'   (`gibbsite_error_level`), for terms that use other rows of the data
#'   (`gibbsite_error_other_rows`, see [gibbs_lm()]), and for `newdata = NULL`
#'   when the fit does not hold its data.
#' @references
#' Stefanski LA (1991). A normal scale mixture representation of the logistic
#' distribution. *Statistics & Probability Letters* 11, 69-70.
#' \doi{10.1016/0167-7152(91)90181-P}
#' @seealso [regression-draws] for the draws themselves,
#'   [plot.gibbsite_regression()] with `type = "response"`.
#' @examples
#' fit <- gibbs_lm(mpg ~ wt, mtcars, seed = 1)
#' new <- data.frame(wt = c(2, 3, 6))
#' predict(fit, new)
#' predict(fit, new, interval = "mean")
#' predict(fit, new, interval = "prediction")
#'
#' fit <- laplace_logistic(am ~ wt, mtcars, seed = 1)
#' predict(fit, new, type = "response", interval = "mean")
#' plogis(predict(fit, new)) # at the mode: too sure
#' predict(fit, new, type = "class")
#'
#' fit <- gibbs_hlm(weight ~ Time + (1 + Time | Chick), ChickWeight, seed = 1)
#' new <- data.frame(Time = c(10, 20), Chick = c("1", "new"))
#' predict(fit, new, allow_new_levels = TRUE, interval = "mean")
#' predict(fit, new, re_formula = NA, interval = "mean")
#' @export
predict.gibbsite_regression <- function(object, newdata = NULL, type = NULL,
                                        interval = c(
                                          "none", "mean", "prediction"
                                        ), level = 0.95, offset = NULL,
                                        weights = NULL, trials = NULL, ...,
                                        re_formula = NULL,
                                        allow_new_levels = FALSE) {
  now <- current_fit(object)
  if (!is.null(now)) {
    return(ask_again(now, "predict", match.call(), parent.frame()))
  }
  call <- rlang::current_env()
  check_no_more(...)
  model <- fit_part(object, "model")
  response <- model_response(model)
  interval <- check_interval(interval, call)
  type <- check_prediction_type(type, interval, response, call)
  level <- check_level(level)
  rows <- rows_to_predict(
    model, newdata, offset, re_formula, allow_new_levels, call
  )
  rows$size <- response_size(
    response, model, newdata, weights, trials, nrow(rows$x), call
  )
  if (interval == "prediction") say_weight_one(model, newdata, weights)
  out <- if (type == "class") {
    as_class(model, prediction_table(object, rows, "response")$mean, call)
  } else {
    table <- prediction_table(object, rows, type, interval, level)
    if (interval == "none") table$mean else table
  }
  out <- with_row_names(out, rows$names)
  if (is.null(newdata)) as_excluded(model, out) else out
}

check_prediction_type <- function(type, interval, response, call) {
  known <- response_types(response)
  hint <- foreign_type_hint(type, known)
  if (interval == "none") {
    return(check_choice(type, known, arg = "type", call = call, hint = hint))
  }
  known <- setdiff(known, "class")
  type <- check_choice(
    type %||% if (interval == "mean") "link" else "response", known,
    arg = "type", call = call, hint = hint
  )
  if (interval == "prediction" && type == "link") {
    abort_argument(
      "{.arg type} must be {.val response} with
       {.code interval = \"prediction\"}: a new observation is a response.",
      call = call
    )
  }
  type
}

# What to write for a type of other packages, or NULL.
foreign_type_hint <- function(type, known) {
  if (!is_plain_string(type)) {
    return(NULL)
  }
  if (startsWith(type, "prob") && "class" %in% known) {
    return("`type = \"response\"` has the probabilities.")
  }
  if (startsWith(type, "predict")) {
    "`interval = \"prediction\"` is of a new observation."
  }
}

# ---- Draws of predictions ----------------------------------------------------

#' Posterior draws of predictions of a regression
#'
#' For each draw: the linear predictor of each observation
#' (`posterior_linpred()`), its expected response or probability of success
#' (`posterior_epred()`), a new response or number of successes
#' (`posterior_predict()`), or the log density or probability of the response
#' that was observed (`log_lik()`). `loo()` and `waic()` use `log_lik()` to
#' estimate how well new observations would be predicted. `pp_check()` compares
#' the responses with replicated ones. `bayes_R2()` gives for each draw the
#' variance of the expected responses divided by the sum of this variance and
#' that of an observation (Gelman et al. 2019): \eqn{\sigma^2}{sigma^2}, with t
#' errors \eqn{\sigma^2 \nu/(\nu - 2)}{sigma^2 nu/(nu - 2)}, and with weights
#' or known standard errors the mean of \eqn{\sigma^2 / v_i}{sigma^2/v_i} or
#' \eqn{s_i^2}{s_i^2} over the fit's data, for new data too; the mean binomial
#' variance of one trial; or the mean of \eqn{\mu_i + \tau^2 \mu_i^2}{mu_i +
#' tau^2 mu_i^2}, the variance of a count with the mean \eqn{\mu_i}{mu_i}
#' (Poisson: \eqn{\tau = 0}{tau = 0}).
#'
#' With groups their deviations are those of the draws. A fit of [gibbs_hlm()]
#' with one bar does not store them unless it was made with `keep = "w"`: they
#' are drawn from their exact distribution given the parameters of the draw and
#' the data. Random numbers made from the fit's seed give each group the same
#' deviations in each call. The deviations of new groups are drawn anew in each
#' call from \eqn{\mathrm{N}(0, \Sigma)}{N(0, Sigma)}, with random numbers of
#' R's generator.
#'
#' `log_lik(by = )` a grouping factor is the log density of the responses of
#' each group of the factor, with the deviations of this group integrated out
#' (the marginal likelihood of the group):
#' \eqn{\log \int p(y_j \mid u_j)\, p(u_j \mid \Sigma)\, du_j}{the log of the
#' integral of p(y_j | u_j) p(u_j | Sigma) over u_j}. The deviations of other
#' factors are those of the draw. All bars of the factor are integrated over
#' together. There are no random numbers. For normal responses it is exact. For
#' others it is by points around the mode (adaptive quadrature, Pinheiro and
#' Bates 1995): 81 for one deviation, 21 for each of two, 9 for each of three
#' and 3 to 5 for each of four to six; for more it is importance sampling of
#' 1000 fixed points from the normal approximation. With one deviation the error
#' is below 1e-6 where its standard deviation is 2 or less, and below 1e-3 where
#' it is 20. Of t errors it is up to 5e-3 where the standard deviation is ten
#' times `sigma`. Categories have a deviation for
#' each but the first.
#'
#' @inheritParams predict.gibbsite_regression
#' @param newdata,offset,weights,trials,re_formula,allow_new_levels As in
#'   [predict.gibbsite_regression()]; for `log_lik()` `newdata` with the
#'   response.
#' @param ndraws `NULL` for all draws (`pp_check()`: for at most 50), or the
#'   number of draws to use, spread evenly over the chains' draws.
#' @param transform `FALSE` (default); `TRUE` is `posterior_epred()`.
#' @param y For `log_lik()` with `newdata`: its response. It is needed for a fit
#'   by matrix, and as `cbind(successes, failures)` for one of proportions with
#'   weights.
#' @param by For `log_lik()` of the fit's own data: `"observation"` (default),
#'   or of a fit with groups the name of a grouping factor, such as `"a"` or
#'   `"a:b"`, as `VarCorr()` and `ranef()` show it (of a factor with two bars
#'   without `.1`). With one factor `"group"` means it.
#' @param ... Not used; for `pp_check()` passed to bayesplot.
#' @return A matrix, draws x observations or groups (chain after chain);
#'   `bayes_R2()` a vector, a number for each draw; `pp_check()` a plot.
#'   `log_lik()` of the fit's own data, `bayes_R2()` and `pp_check()` leave out
#'   rows without a response or trials, with weight 0, and groups without other
#'   rows; a row of several trials is one observation: see
#'   [kfold][kfold.gibbsite_fit], section Observations. Weights of binomial
#'   responses are used only in `log_lik()` of the fit's own data.
#'   `posterior_predict()` is `NA` where the weight of a normal one is 0.
#' @section Errors: `gibbsite_error_argument` for more draws than there are, and
#'   the errors of [predict.gibbsite_regression()].
#' @references
#' Gelman A, Goodrich B, Gabry J, Vehtari A (2019). R-squared for Bayesian
#' regression models. *The American Statistician* 73, 307-309.
#' \doi{10.1080/00031305.2018.1549100}
#'
#' Pinheiro JC, Bates DM (1995). Approximations to the log-likelihood function
#' in the nonlinear mixed-effects model. *Journal of Computational and Graphical
#' Statistics* 4, 12-35. \doi{10.1080/10618600.1995.10474663}
#' @seealso [predict.gibbsite_regression()] for means and intervals, [kfold()],
#'   [loo_moment_match()].
#' @examples
#' fit <- gibbs_lm(mpg ~ wt, mtcars, seed = 1)
#' new <- data.frame(wt = c(2, 3, 6))
#' colMeans(posterior_epred(fit, new))
#' dim(posterior_predict(fit, new))
#' summary(bayes_R2(fit))
#' loo(fit)
#' if (requireNamespace("bayesplot", quietly = TRUE)) pp_check(fit)
#'
#' fit <- gibbs_hlm(weight ~ Time + (1 + Time | Chick), ChickWeight, seed = 1)
#' dim(posterior_predict(fit, ndraws = 100))
#' dim(log_lik(fit, by = "group", ndraws = 100))
#' @aliases pp_check
#' @name regression-draws
NULL

# list(model, response, rows, draws, eta, scale): some of the draws, and the
# linear predictor of each of them in each row.
draws_at_rows <- function(object, newdata, draws, offset = NULL,
                          re_formula = NULL, allow_new_levels = FALSE, call) {
  at <- rows_and_draws(
    object, newdata, draws, offset, re_formula, allow_new_levels, call
  )
  check_result_size(
    c(nrow(at$draws), nrow(at$rows$x)), "draws x observations",
    "{.arg ndraws}", call
  )
  at_some_draws(at)
}

rows_and_draws <- function(object, newdata, draws, offset, re_formula,
                           allow_new_levels, call) {
  model <- fit_part(object, "model")
  response <- model_response(model)
  if (has_groups(model)) {
    check_unlocked(call)
  }
  rows <- rows_to_predict(
    model, newdata, offset, re_formula, allow_new_levels, call
  )
  chosen <- spread_rows(draws, ndraws(object), call)
  list(
    model = model, response = response,
    rows = with_steady_groups(rows, object, chosen, call),
    draws = bind_chains(chain_matrices(object))[chosen, , drop = FALSE]
  )
}

# The rows to predict in draws `chosen` of a fit (their places, chain after
# chain), with what group_noise() needs: a seed for each group of the fit and
# chain.
with_steady_groups <- function(rows, fit, chosen, call) {
  if (is.null(rows$group) || !is.null(rows$codes)) {
    return(rows)
  }
  seed <- fit_part(fit, "running")$seed
  shape <- c(length(fit_part(fit, "model")$levels), length(fit))
  seeds <- from_seed(1L, {
    stream <- spare_stream(seed, length(fit), "deviations", call)
    with_stream(stream, distinct_seeds(prod(shape)), call)$value
  })
  rows$steady <- list(
    seeds = matrix(seeds, shape[[1L]], shape[[2L]]), length = coda::niter(fit),
    chosen = chosen
  )
  rows
}

# The same of some of the draws, with their linear predictors and scale.
at_some_draws <- function(at, some = seq_len(nrow(at$draws))) {
  at$draws <- at$draws[some, , drop = FALSE]
  at$rows$steady$chosen <- at$rows$steady$chosen[some]
  at$eta <- predictor_at_draws(at$model, at$draws, at$rows)
  at["scale"] <- list(response_scale(at$response, at$draws))
  at
}

# The rows of the draws that `draws` names, chain after chain.
drawn_rows <- function(object, draws, call) {
  all <- bind_chains(chain_matrices(object))
  all[spread_rows(draws, nrow(all), call), , drop = FALSE]
}

#' @rdname regression-draws
#' @export
posterior_linpred.gibbsite_regression <- function(object, transform = FALSE,
                                                  newdata = NULL, ndraws = NULL,
                                                  offset = NULL, ...,
                                                  re_formula = NULL,
                                                  allow_new_levels = FALSE) {
  call <- rlang::current_env()
  check_no_more(...)
  transform <- check_flag(transform)
  at <- draws_at_rows(
    object, newdata, ndraws, offset, re_formula, allow_new_levels, call
  )
  if (transform) response_mean(at$response, at$eta, at$scale) else at$eta
}

#' @rdname regression-draws
#' @export
posterior_epred.gibbsite_regression <- function(object, newdata = NULL,
                                                ndraws = NULL, offset = NULL,
                                                ..., re_formula = NULL,
                                                allow_new_levels = FALSE) {
  call <- rlang::current_env()
  check_no_more(...)
  at <- draws_at_rows(
    object, newdata, ndraws, offset, re_formula, allow_new_levels, call
  )
  response_mean(at$response, at$eta, at$scale)
}

#' @rdname regression-draws
#' @export
posterior_predict.gibbsite_regression <- function(object, newdata = NULL,
                                                  ndraws = NULL, offset = NULL,
                                                  weights = NULL,
                                                  trials = NULL, ...,
                                                  re_formula = NULL,
                                                  allow_new_levels = FALSE) {
  call <- rlang::current_env()
  check_unlocked(call)
  check_no_more(...)
  at <- draws_at_rows(
    object, newdata, ndraws, offset, re_formula, allow_new_levels, call
  )
  size <- response_size(
    at$response, at$model, newdata, weights, trials, ncol(at$eta), call
  )
  say_weight_one(at$model, newdata, weights)
  say_rows_once(at$model, newdata)
  out <- response_draw(at$response, at$eta, size, at$scale)
  if (has_categories(at$response) && length(dim(out)) == 2L) {
    attr(out, "levels") <- at$response$levels
  }
  out
}

#' @rdname regression-draws
#' @export
log_lik.gibbsite_regression <- function(object, newdata = NULL, ndraws = NULL,
                                        by = "observation",
                                        offset = NULL, weights = NULL, y = NULL,
                                        ..., re_formula = NULL,
                                        allow_new_levels = FALSE) {
  call <- rlang::current_env()
  check_no_more(...)
  model <- fit_part(object, "model")
  by <- check_by(by, model, call)
  if (is.null(newdata)) {
    check_frame(model)
    for (arg in c("weights", "y")) {
      if (!is.null(get(arg))) {
        abort_argument("{.arg {arg}} goes with {.arg newdata}.")
      }
    }
  }
  if (by != "observation") {
    if (!is.null(newdata) || !is.null(re_formula) || !is.null(offset)) {
      abort_argument(
        "{.arg newdata}, {.arg re_formula} and {.arg offset} must be NULL where
         {.arg by} names a factor: the groups are those of the fit's data."
      )
    }
    chosen <- drawn_rows(object, ndraws, call)
    return(predictor_group_log_lik(model, chosen, by, call))
  }
  if (is.null(newdata) && is.null(offset)) {
    out <- predictor_log_lik(model, drawn_rows(object, ndraws, call))
    if (!is.null(out)) {
      colnames(out) <- model$frame$row_names
      return(used_columns(out, rows_used(model$frame)))
    }
  }
  at <- draws_at_rows(
    object, newdata, ndraws, offset, re_formula, allow_new_levels, call
  )
  data <- model$frame
  used <- rows_used(data)
  if (!is.null(newdata)) {
    n <- ncol(at$eta)
    size <- given_size(weights, "weights", newdata, n, TRUE, call)
    say_weight_one(model, newdata, weights)
    data <- new_response(model, newdata, y, n, function(y, known) {
      observed_response(at$response, y, known, size, call)
    }, call)
    used <- rep(TRUE, n)
  }
  out <- response_log_lik(at$response, at$eta, data, at$scale)
  used_columns(out, used)
}

#' @rdname regression-draws
#' @export
bayes_R2.gibbsite_regression <- function( # nolint: object_name_linter.
    object, newdata = NULL, ndraws = NULL, offset = NULL, ...,
    re_formula = NULL, allow_new_levels = FALSE) {
  call <- rlang::current_env()
  check_no_more(...)
  check_has_moments(
    model_response(fit_part(object, "model")), "explained variance", call
  )
  all <- rows_and_draws(
    object, newdata, ndraws, offset, re_formula, allow_new_levels, call
  )
  frame <- fit_part(object, "model")$frame
  weights <- frame$weights[rows_used(frame)]
  spread <- if (length(weights) > 0L) mean(1 / weights) else 1
  blocks <- row_blocks(nrow(all$draws), nrow(all$rows$x))
  unlist(lapply(blocks, function(some) {
    at <- at_some_draws(all, some)
    eta <- if (is.null(newdata)) {
      used_columns(at$eta, rows_used(at$model$frame))
    } else {
      at$eta
    }
    # Gelman et al. (2019)
    explained <- apply(response_mean(at$response, eta), 1L, stats::var)
    within <- response_variance(at$response, eta, at$scale, spread)
    explained / (explained + within)
  }))
}

#' @rdname regression-draws
#' @rawNamespace S3method(bayesplot::pp_check, gibbsite_regression)
pp_check.gibbsite_regression <- function(object, ndraws = NULL, ...) {
  if (has_short_names()) return(with_whole_names())
  check_passed_on(...)
  frame <- check_frame(fit_part(object, "model"))
  ndraws <- ndraws %||% min(50, ndraws(object))
  used <- rows_used(frame)
  replicated <- unname(posterior_predict(object, ndraws = ndraws))
  if (!is.null(frame$counts)) {
    y <- as.vector(frame$counts[used, ])
    replicated <- matrix(replicated[, used, ], ndraws)
    used <- rep(TRUE, length(y))
  } else {
    y <- (frame$y * (frame$trials %||% 1))[used]
  }
  # successes of few trials, and categories, have few values
  response <- model_response(fit_part(object, "model"))
  few <- max(frame$trials %||% 1) <= 30 &&
    (!is.null(frame$total) || has_categories(response))
  picture <- if (few) bayesplot::ppc_bars else bayesplot::ppc_dens_overlay
  out <- picture(y, replicated[, used, drop = FALSE], ...)
  if (!has_categories(response)) {
    return(out)
  }
  # ggplot2 tells that an axis is replaced
  suppressMessages(out + ggplot2::scale_x_continuous(
    breaks = seq_along(response$levels), labels = response$levels
  ))
}
