# Logistic regression by the Laplace approximation: laplace_logistic().

#' Logistic regression by the Laplace approximation
#'
#' Fits \eqn{n} observations with predictors \eqn{x_i \in R^p} and offsets
#' \eqn{o_i},
#' \deqn{y_i \mid w \sim \mathrm{Bernoulli}(\sigma(x_i^\top w + o_i)), \quad
#'   \sigma(\eta) = \frac{1}{1 + e^{-\eta}}, \quad w \sim \mathrm{N}(0, C),}{
#'   y_i | w ~ Bernoulli(sigma(x_i'w + o_i)), sigma(eta) = 1 / (1 + exp(-eta)),
#'   w ~ N(0, C),}
#' with \eqn{C = cI}, a diagonal or a full covariance matrix
#' ([logistic_prior()]). The posterior is not normal; its Laplace approximation
#' is:
#' \deqn{p(w \mid y) \approx \mathrm{N}(\hat w, \Sigma), \quad
#'   \hat w = \arg\max L(w), \quad \Sigma^{-1} = -L''(\hat w),}{
#'   p(w | y) ~= N(w_map, Sigma), w_map = argmax L(w),
#'   Sigma^-1 = -L''(w_map),}
#' where \eqn{L(w) = \log p(y \mid w) + \log p(w)} is the log joint density,
#' with the prior in its gradient and its Hessian. The draws are independent
#' draws of that normal distribution. `summary()` reports the quality of the
#' approximation.
#'
#' Counts are given as `cbind(successes, failures)`, or as proportions of
#' successes with the numbers of trials as `weights`. Otherwise `weights`
#' \eqn{v_i} multiply the log likelihood of an observation,
#' \deqn{L(w) = \sum_i v_i \Bigl[\log {m_i \choose s_i} + s_i \eta_i - m_i
#'   \log(1 + e^{\eta_i})\Bigr] + \log \mathrm{N}(w \mid 0, C),}{
#'   L(w) = sum_i v_i [log choose(m_i, s_i) + s_i eta_i - m_i log(1 +
#'   exp(eta_i))] + log N(w | 0, C),}
#' and need not be whole numbers. A whole weight \eqn{v} counts an observation
#' \eqn{v} times; other weights raise its likelihood to the power \eqn{v}.
#'
#' @section Without a prior:
#' With `slope_variance = Inf` the mode is the maximum likelihood estimate, if
#' it exists.
#' Columns that are linear combinations of others raise an error that names
#' them. Separated data, for which the likelihood has no maximum (Albert and
#' Anderson 1984), also raise an error. When the search fails, a linear program
#' decides exactly whether some combination of columns separates successes from
#' failures, and the error names the columns (Konis 2007). Under a proper prior
#' neither is an error. The evidence is `NA` when any coefficient has a flat
#' prior.
#'
#' @section Quality of the approximation: [importance_check()] computes
#' importance weights of the draws; `print()` and `summary()` show the result.
#' With `correct = "importance"` the chains draw from the posterior itself, by
#' iterated sampling importance resampling, see the same page; they then have a
#' burn-in of 20 sweeps, and R-hat and effective sample sizes.
#'
#' @section Matrices:
#' With a matrix `x` instead of a formula the columns are used as they are: no
#' intercept is added. A column of ones named `"(Intercept)"` gets the
#' intercept's prior. A matrix of doubles is not copied; other numbers are
#' converted first. Sparse matrices of the Matrix package stay sparse
#' (`dgCMatrix`; others are converted to it).
#'
#' @section Missing values:
#' A missing value is an error by default, where [stats::glm()] leaves its row
#' out. `na_action = "omit"` leaves the row out too, and a message says how many
#' rows are left out. NaN and infinite values are errors in any case.
#'
#' @param x The matrix of predictors, `n x p`, dense or sparse; or a formula.
#' @param formula A formula, `response ~ predictors`. A term that uses other
#'   rows of the data, such as `I(x - mean(x))`, raises a warning, see
#'   [gibbs_lm()].
#'   A call may name it in any position, as in `lapply(split(data, data$g),
#'   laplace_logistic, formula = y ~ x)`.
#' @param data A data frame in which the formula's variables are looked up
#'   first.
#' @param y With a matrix: the response, of length `n` (or `n x 2`). Like the
#'   response of a formula it is 0 and 1, logical (`TRUE` is success), a factor
#'   with two levels (the second is success), text with two different values
#'   (the second in alphabetical order is success, and a message says so), two
#'   columns of whole numbers (successes and failures), or proportions of
#'   successes with the numbers of trials as `weights`.
#' @param prior The prior, made by [logistic_prior()].
#' @param weights `NULL` or `n` numbers, 0 or between 1e-100 and 1e100, not all
#'   0. Where the response has proportions between 0 and 1 they are numbers of
#'   trials, as in [stats::glm()]: whole numbers, with proportions that make
#'   whole numbers of successes (up to 0.001).
#' @param offset `NULL` or `n` numbers between -1e100 and 1e100 that are added
#'   to the linear predictor.
#' @param subset Rows of `data` to use, as in [stats::glm()].
#' @param na_action What to do about missing values: `"fail"` (default) raises
#'   an error that names the first one, `"omit"` leaves incomplete rows out and
#'   says so, `"exclude"` does too, and fills the results of [fitted()] and
#'   [residuals()] with `NA` there. The functions [stats::na.omit()] and the
#'   like are accepted too. For several imputations of missing predictors see
#'   [combine_fits()], which takes fits of [gibbs_logistic()].
#' @param contrasts As in [stats::glm()].
#' @param start `NULL` or `p` numbers: where the search for the mode begins. By
#'   default at 0.
#' @param method `"newton"` (default) or `"gradient"`, see [regression_sampler]:
#'   how the mode is found.
#' @param correct `"none"` (default): independent draws of the normal
#'   approximation. `"importance"`: draws of the posterior itself, see
#'   [importance_check()].
#' @param draws Whole number: draws from the approximation in each chain.
#' @param chains,cores,seed,checkpoint,stop_when,progress,keep_data As in
#'   [running]. The draws of a chain are independent: there is no burn-in.
#' @param ... Not used: any further argument is an error.
#' @return An object of class `laplace_logistic`, a `gibbsite_fit` and a
#'   [coda::mcmc.list] whose columns are those of the model matrix.
#' @section Errors:
#' Errors in the arguments have class `gibbsite_error_argument`; among them
#' `gibbsite_error_collinear` and `gibbsite_error_separated`, both with the
#' names of the columns in `$columns`. A search that does not reach the mode is
#' an error of class `gibbsite_error_numeric`.
#' @references
#' Paisley J (2015). *EECS E6892: Bayesian Models for Machine Learning*,
#' Columbia University, lecture 3, eq. 3-15 (whose gradient and Hessian leave
#' out the prior's terms).
#'
#' MacKay DJC (1992). The evidence framework applied to classification
#' networks. *Neural Computation* 4, 720-736.
#' \doi{10.1162/neco.1992.4.5.720}
#'
#' Albert A, Anderson JA (1984). On the existence of maximum likelihood
#' estimates in logistic regression models. *Biometrika* 71, 1-10.
#' \doi{10.1093/biomet/71.1.1}
#'
#' Konis K (2007). *Linear programming algorithms for detecting separated data
#' in binary logistic regression models*. DPhil thesis, University of Oxford.
#' @seealso [gibbs_logistic()] for exact draws, [importance_check()],
#'   [log_evidence()], [logistic_prior()], [predict.gibbsite_regression()],
#'   [plot.gibbsite_regression()]; `vignette("logistic", "gibbsite")`.
#' @examples
#' fit <- laplace_logistic(type ~ npreg + glu + bmi + ped + age,
#'   data = MASS::Pima.tr, seed = 1
#' )
#' fit
#' prior_summary(fit)
#' @export
laplace_logistic <- function(x, ...) {
  UseMethod("laplace_logistic", formula_or_first(x, ...))
}

#' @rdname laplace_logistic
#' @export
laplace_logistic.formula <- function(formula, data, prior = logistic_prior(),
                                     weights = NULL, offset = NULL,
                                     subset = NULL, na_action = "fail",
                                     contrasts = NULL, start = NULL,
                                     method = c("newton", "gradient"),
                                     correct = c("none", "importance"),
                                     draws = 1000, chains = 4,
                                     cores = getOption("mc.cores", 1L),
                                     seed = NULL, checkpoint = NULL,
                                     stop_when = NULL,
                                     progress = TRUE,
                                     keep_data = TRUE, ...) {
  call <- rlang::current_env()
  check_logit_alone(..., call = call)
  settings <- laplace_settings(method, correct, draws, call)
  user_call <- call_of_model(match.call(), "laplace_logistic", formula)
  action <- check_na_action(na_action, call)
  parts <- formula_parts(
    formula, if (!missing(data)) data, user_call, "laplace_logistic",
    as_weighted_response, action, contrasts, parent.frame(), call,
    other = "gibbs_logistic"
  )
  run_laplace_logistic(parts, prior, start, settings, user_call, call)
}

#' @rdname laplace_logistic
#' @export
laplace_logistic.default <- function(x, y, prior = logistic_prior(),
                                     weights = NULL, offset = NULL,
                                     na_action = "fail", start = NULL,
                                     method = c("newton", "gradient"),
                                     correct = c("none", "importance"),
                                     draws = 1000, chains = 4,
                                     cores = getOption("mc.cores", 1L),
                                     seed = NULL, checkpoint = NULL,
                                     stop_when = NULL,
                                     progress = TRUE,
                                     keep_data = TRUE, ...) {
  call <- rlang::current_env()
  check_logit_alone(..., call = call)
  settings <- laplace_settings(method, correct, draws, call)
  user_call <- call_of_model(match.call(), "laplace_logistic")
  action <- check_na_action(na_action, call, frame = FALSE)
  parts <- matrix_parts(
    x, y, weights, offset, action, as_weighted_response, call
  )
  run_laplace_logistic(parts, prior, start, settings, user_call, call)
}

laplace_settings <- function(method, correct, draws, call) {
  method <- check_choice(method, c("newton", "gradient"), call = call)
  correct <- check_choice(correct, c("none", "importance"), call = call)
  list(
    method = method, correct = correct,
    running = laplace_running(correct, draws, call)
  )
}

run_laplace_logistic <- function(parts, prior, start, settings, user_call,
                                 call) {
  model <- laplace_logistic_model(
    parts, prior, start, settings$method, settings$correct, call
  )
  run_chains(model, settings$running, user_call, call)
}

check_logit_alone <- function(..., call) {
  if ("link" %in% names(substitute(list(...)))) {
    abort_argument(
      c("`laplace_logistic()` has the logit link alone: there is no argument
         `link`.",
        i = "{.code gibbs_logistic(link = \"probit\")} draws from the posterior
             of a probit regression."),
      call = call
    )
  }
  check_no_more(..., call = call)
}

# ---- The model ---------------------------------------------------------------

laplace_logistic_model <- function(parts, prior, start, method, correct, call) {
  posterior <- logistic_posterior(parts, prior, start, method, call)
  frame <- posterior$frame
  found <- posterior$mode
  p <- length(parts$columns)
  evidence <- if (length(posterior$flat) > 0L) {
    NA_real_
  } else {
    laplace_log_evidence(found$log_joint, found$precision_factor)
  }
  new_laplace_model(
    "laplace_logistic_model",
    name = "laplace_logistic",
    title = "Logistic regression",
    headline = paste0(
      "Logistic regression: ", counted(p, "coefficient"), ", ",
      counted(posterior$nobs, "observation"), "; Laplace approximation"
    ),
    map = found$map + (posterior$mean %||% 0),
    precision_factor = found$precision_factor, prior = posterior$prior,
    nobs = posterior$nobs, columns = parts$columns,
    log_evidence = evidence, log_joint_map = found$log_joint,
    trace = found$trace, iterations = length(found$trace) - 1L, method = method,
    correct = correct, unbounded = posterior$unbounded,
    design = logistic_design_of(frame), frame = frame,
    # about 1 nanosecond for a product and 20 for an exponential
    point_seconds = 1e-9 * nrow(frame$x) * (p + 20)
  )
}

#' @exportS3Method
model_log_joint.laplace_logistic_model <- function(model, w) {
  logistic_log_joint(model, w)
}

#' @exportS3Method
model_fold.laplace_logistic_model <- function(model, held, by) {
  logistic_fold(model, held, function(parts, call) {
    laplace_logistic_model(
      parts, model$prior, NULL, model$method, model$correct, call
    )
  })
}

# ---- The predictor of the normal approximation -------------------------------

# eta is N(mean, sd^2) under N(map, Sigma), in each row.
#' @exportS3Method
predictor_moments.laplace_logistic_model <- function(model, draws, rows) {
  if (draws_posterior(model)) {
    return(NextMethod())
  }
  by <- row_blocks(
    nrow(rows$x), ncol(rows$x), sparse = !is.matrix(rows$x)
  )
  parts <- lapply(by, function(block) {
    x <- as.matrix(rows$x[block, , drop = FALSE])
    .Call(C_logistic_predictor, unname(x), model$data)
  })
  mean <- unlist(lapply(parts, `[[`, "mean")) + (rows$offset %||% 0)
  sd <- unlist(lapply(parts, `[[`, "sd"))
  # a missing predictor gives NA and not NaN
  mean[is.nan(mean)] <- NA_real_
  sd[is.nan(sd)] <- NA_real_
  list(mean = rbind(mean, deparse.level = 0), sd = rbind(sd, deparse.level = 0))
}

# ---- Methods that a fit by glm() also has ------------------------------------

#' @rdname regression-data
#' @importFrom stats logLik
#' @export
logLik.laplace_logistic <- function( # nolint: object_name_linter.
    object, ...) {
  model <- fit_part(object, "model")
  check_frame(model)
  value <- sum(logistic_log_lik(model, rbind(model$data$map)))
  structure(
    value, df = length(model$columns), nobs = model$nobs, class = "logLik"
  )
}

#' @rdname regression-data
#' @export
deviance.laplace_logistic <- function(object, ...) {
  check_no_more(...)
  model <- fit_part(object, "model")
  frame <- check_frame(model)
  used <- rows_used(frame)
  eta <- drop(linear_predictors(frame$x, model$data$map, frame$offset))
  mean <- stats::binomial()$linkinv(eta)
  sum(stats::binomial()$dev.resids(
    frame$y[used], mean[used], frame$total[used]
  ))
}

#' @rdname regression-data
#' @export
df.residual.laplace_logistic <- function(object, ...) {
  check_no_more(...)
  model <- fit_part(object, "model")
  model$nobs - length(model$columns)
}
