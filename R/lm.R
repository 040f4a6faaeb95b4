# Linear regression: gibbs_lm() and its simulator.

#' Linear regression by Gibbs sampling
#'
#' Draws from the posterior of a linear regression with a normal prior of the
#' slopes. With \eqn{n} observations, predictors \eqn{x_i \in R^p}, offsets
#' \eqn{o_i}, weights \eqn{v_i} and the weighted means \eqn{\bar x}{m} of the
#' predictors:
#' \deqn{y_i \mid \alpha, w, \beta \sim \mathrm{N}\bigl(o_i + \alpha +
#'   (x_i - \bar x)^\top w, \, 1/(\beta v_i)\bigr),}{
#'   y_i | alpha, w, beta ~ N(o_i + alpha + (x_i - m)'w, 1/(beta v_i)),}
#' \deqn{s_j w_j \mid \lambda \sim \mathrm{N}(0, 1/\lambda), \quad
#'   \lambda \sim \mathrm{Gamma}(a, b), \quad
#'   \beta \sim \mathrm{Gamma}(c, d), \quad
#'   \alpha \sim \mathrm{N}(m_\alpha, t^2),}{
#'   s_j w_j | lambda ~ N(0, 1/lambda), lambda ~ Gamma(a, b),
#'   beta ~ Gamma(c, d), alpha ~ N(m_alpha, t^2),}
#' with gamma distributions given by shape and rate. The intercept of the
#' formula is \eqn{\alpha - \bar x^\top w}{alpha - m'w}. [lm_prior()] describes
#' the prior, its defaults and the alternatives `type = "nig"` (conjugate) and
#' `type = "horseshoe"` (few of many slopes).
#' With `lm_prior(scale = 1)` all \eqn{s_j = 1}{s_j = 1}: the prior is one of
#' slopes in the units of the data. Without an intercept (`y ~ x - 1`) there is
#' no \eqn{\alpha}{alpha}, and the predictors are not centred.
#'
#' [regression_sampler] has the conditionals from which the draws are made. With
#' `lm_prior("nig")` they are independent draws of the posterior, and
#' [log_evidence()] is exact. There is then no rule for convergence: `draws =
#' NULL` are 1000 draws, without a burn-in by default.
#'
#' @section Matrices:
#' With a matrix `x` instead of a formula the columns are used as they are: no
#' intercept is added. A column of ones named `"(Intercept)"` is the intercept.
#' A sparse matrix is made dense.
#'
#' @section Collinear and constant predictors:
#' Both are allowed, and so are more predictors than observations: the prior is
#' proper. A predictor that does not vary (with an intercept) keeps its prior,
#' with a message. If there are few more observations than predictors, or fewer,
#' the posterior of \eqn{\sigma} depends on its prior: give `noise_shape` and
#' `noise_rate` where something is known about the noise.
#'
#' @section Missing values:
#' With `na_action = "impute"` rows whose response is missing (`NA`) stay in the
#' fit: they have fitted values, and `keep = "y"` stores draws of their
#' responses, from \eqn{\mathrm{N}(o_i + \alpha + (x_i - \bar x)^\top w,
#' 1/(\beta v_i))}{N(o_i + alpha + (x_i - m)'w, 1/(beta v_i))}. The responses
#' are assumed to be missing at random. Such rows say nothing about the
#' parameters, which are drawn from their posterior given the observed
#' responses. `"fail"` (the default) raises an error that names the first
#' missing value, `"omit"` leaves incomplete rows out and says so, `"exclude"`
#' does too, and fills the results of [fitted()] and [residuals()] with `NA`
#' there. Missing predictors cannot be drawn.
#'
#' With missing predictors impute the values several times, fit each completed
#' data set, and combine the fits: see [combine_fits()].
#'
#' @section t errors:
#' With `errors = "t"` the errors have a Student t distribution, so that a few
#' observations far from the rest hardly move the coefficients:
#' \deqn{y_i \sim \mathrm{t}_\nu(o_i + \alpha + (x_i - \bar x)^\top w,
#' \sigma^2/v_i), \quad
#'   \nu \sim \mathrm{Gamma}(2, 0.1),}{
#'   y_i ~ t_nu(o_i + alpha + (x_i - m)'w, sigma^2 / v_i),  nu ~ Gamma(2, 0.1),}
#' with location, squared scale and degrees of freedom \eqn{\nu}{nu} (Geweke
#' 1993; the prior is that of Juarez and Steel 2010, by shape and rate).
#' `lm_prior(nu = 4)` fixes \eqn{\nu}{nu} instead. `sigma` and [sigma()] are the
#' scale: the standard deviation of an error is \eqn{\sigma \sqrt{\nu/(\nu -
#' 2)}}{sigma sqrt(nu / (nu - 2))}, and infinite with \eqn{\nu \le 2}{nu <= 2}.
#' The `sd` of a new observation in [predict()] is `Inf` if some draws have
#' \eqn{\nu \le 2}{nu <= 2}; its quantiles are finite. `bayes_R2()` is 0 in such
#' draws. Weights are precisions, as of normal errors.
#'
#' [augment()] has the column `.weight`: the posterior mean of
#' \eqn{\lambda_i}{lambda_i}, where \eqn{y_i} is normal with the variance
#' \eqn{\sigma^2/(\lambda_i v_i)}{sigma^2 / (lambda_i v_i)} given
#' \eqn{\lambda_i}{lambda_i}. It is about 1 for most observations and near 0 for
#' outliers.
#' The prior must be `lm_prior("hierarchical")`, the default: under the others
#' the variances of the coefficients depend on that of the errors. The column
#' `nu` follows `sigma`, and missing responses are not stored.
#'
#' @section Stored quantities:
#' One column for each coefficient, with the name of its column of the model
#' matrix; `sigma` \eqn{= 1/\sqrt\beta}{= 1/sqrt(beta)}, the standard deviation
#' of an observation of weight 1; `lambda` (not with `"nig"`; with `"horseshoe"`
#' `tau` instead); `log_lik`, the
#' log-likelihood \eqn{\sum_i \log \mathrm{N}(y_i \mid \cdot)}{sum_i log N(y_i |
#' .)} of the observed responses with weights above 0; with `keep = "y"` the
#' missing responses `y[i]`, \eqn{i} counting the rows of the fit's data.
#'
#' @section Starting values:
#' By default each chain starts at values of \eqn{\lambda}{lambda} and
#' \eqn{\beta}{beta} from the least squares fit, each multiplied by a random
#' factor between 1/10 and 10. An entry of `inits` is a list with any of
#' `lambda`, `sigma` and, with t errors, `nu`, positive numbers. Nothing else is
#' needed: the first sweep draws the coefficients from these. With the horseshoe
#' it has `tau` instead of `lambda`; by default that is \eqn{\tau_0}{tau0} times
#' such a factor, and the scales of the slopes start at 1.
#'
#' @param x The matrix of predictors, `n x p`, dense or sparse; or a formula.
#' @param formula A formula, `response ~ predictors`, as in [stats::lm()]. A
#'   term whose value in a row depends on other rows of the data, such as `I(x -
#'   mean(x))` or `cut(x, 3)`, or on random numbers, such as `jitter(x)`, is
#'   named in a warning (`gibbsite_warning_other_rows`), and new data are
#'   refused: make its column in the data. `scale(x)`, `poly(x, 2)`,
#'   `splines::ns(x, 3)` and `splines::bs(x)` as terms of their own keep what
#'   they took from the data. A call may name it in any position, as in
#'   `lapply(split(data, data$g), gibbs_lm, formula = y ~ x)`.
#' @param data A data frame in which the formula's variables are looked up
#'   first.
#' @param y With a matrix: the response, `n` numbers.
#' @param prior The prior, made by [lm_prior()].
#' @param weights `NULL` or `n` numbers, 0 or between 1e-100 and 1e100, not all
#'   0: the precision of each observation relative to \eqn{\beta}{beta}. A row
#'   of weight 0 is not used.
#' @param offset `NULL` or `n` numbers between -1e100 and 1e100 that are added
#'   to the mean.
#' @param subset Rows of `data` to use, as in [stats::lm()].
#' @param na_action What to do about missing values: `"fail"` (default; `"pass"`
#'   is the same), `"omit"`, `"exclude"` or `"impute"`. The functions
#'   [stats::na.omit()] and the like are accepted too.
#' @param contrasts As in [stats::lm()].
#' @param errors `"normal"` (default), or `"t"` for errors with heavy tails: see
#'   the section on t errors.
#' @param burnin As in [running]; the default is 0 with `lm_prior("nig")`.
#' @param keep `NULL`, or `"y"`: store every draw of the missing responses.
#' @param draws,thin,chains,inits,cores,seed As in [running].
#' @param checkpoint,stop_when,progress,keep_data As in [running].
#' @param ... Not used: any further argument is an error.
#' @return An object of class `gibbs_lm`, a `gibbsite_fit` and a
#'   [coda::mcmc.list]: one matrix of draws for each chain. See
#'   [summary.gibbsite_fit()], [predict.gibbsite_regression()],
#'   [plot.gibbsite_regression()], [coef.gibbsite_fit()],
#'   [log_lik.gibbsite_regression()].
#' @section Errors:
#' Errors in the arguments have class `gibbsite_error_argument` and are raised
#' before any chain runs; among them `gibbsite_error_missing` and
#' `gibbsite_error_infinite` for the data, and an error for a predictor whose
#' column has the name of a stored quantity, such as `sigma`. A chain that fails
#' raises `gibbsite_error_chain`, which carries the other chains in `$fit`.
#' @references
#' Lindley DV, Smith AFM (1972). Bayes estimates for the linear model. *JRSS B*
#' 34, 1-41. \doi{10.1111/j.2517-6161.1972.tb00885.x}
#'
#' Geweke J (1993). Bayesian treatment of the independent Student-t linear
#' model. *Journal of Applied Econometrics* 8, S19-S40.
#' \doi{10.1002/jae.3950080504}
#'
#' Juarez MA, Steel MFJ (2010). Model-based clustering of non-Gaussian panel
#' data based on skew-t distributions. *Journal of Business & Economic
#' Statistics* 28, 52-66. \doi{10.1198/jbes.2009.07145}
#' @seealso [lm_prior()], [regression_sampler], [predict.gibbsite_regression()],
#'   [regression-data], [plot.gibbsite_regression()], [log_evidence()],
#'   [kfold()]; `vignette("regression", "gibbsite")`.
#' @examples
#' fit <- gibbs_lm(mpg ~ wt + hp, mtcars, seed = 1)
#' fit
#' coef(fit)
#' predict(fit, data.frame(wt = 3, hp = c(100, 200)), interval = "mean")
#'
#' # the conjugate prior, and its exact evidence
#' small <- gibbs_lm(mpg ~ wt, mtcars, prior = lm_prior("nig"), seed = 1)
#' both <- gibbs_lm(mpg ~ wt + hp, mtcars, prior = lm_prior("nig"), seed = 1)
#' log_evidence(both) - log_evidence(small)
#'
#' # errors with heavy tails, and the outliers
#' robust <- gibbs_lm(stack.loss ~ ., stackloss, errors = "t", seed = 1)
#' coef(robust)
#' round(augment(robust)$.weight, 2)
#'
#' # missing responses are drawn with the rest
#' gibbs_lm(Ozone ~ Wind + Temp, airquality[1:30, ], na_action = "impute",
#'   keep = "y", seed = 1
#' ) |> summary("y")
#' @export
gibbs_lm <- function(x, ...) {
  UseMethod("gibbs_lm", formula_or_first(x, ...))
}

#' @rdname gibbs_lm
#' @export
gibbs_lm.formula <- function(formula, data, prior = lm_prior(),
                             weights = NULL, offset = NULL, subset = NULL,
                             na_action = "fail", contrasts = NULL,
                             errors = c("normal", "t"),
                             draws = NULL, burnin = 1000, thin = 1, chains = 4,
                             inits = NULL, keep = NULL,
                             cores = getOption("mc.cores", 1L), seed = NULL,
                             checkpoint = NULL, stop_when = NULL,
                             progress = TRUE, keep_data = TRUE, ...) {
  call <- rlang::current_env()
  check_no_more(..., call = call)
  settings <- lm_settings(
    prior, errors, draws, if (!missing(burnin)) burnin, stop_when, call
  )
  user_call <- call_of_model(match.call(), "gibbs_lm", formula)
  action <- check_na_action(na_action, call, further = "impute")
  parts <- formula_parts(
    formula, if (!missing(data)) data, user_call, "gibbs_lm",
    as_measurements, action, contrasts, parent.frame(), call,
    other = "gibbs_hlm"
  )
  run_lm(parts, settings, user_call, call)
}

#' @rdname gibbs_lm
#' @export
gibbs_lm.default <- function(x, y, prior = lm_prior(), weights = NULL,
                             offset = NULL, na_action = "fail",
                             errors = c("normal", "t"), draws = NULL,
                             burnin = 1000, thin = 1, chains = 4, inits = NULL,
                             keep = NULL, cores = getOption("mc.cores", 1L),
                             seed = NULL, checkpoint = NULL, stop_when = NULL,
                             progress = TRUE, keep_data = TRUE, ...) {
  call <- rlang::current_env()
  check_no_more(..., call = call)
  settings <- lm_settings(
    prior, errors, draws, if (!missing(burnin)) burnin, stop_when, call
  )
  user_call <- call_of_model(match.call(), "gibbs_lm")
  action <- check_na_action(
    na_action, call, frame = FALSE, further = "impute"
  )
  parts <- matrix_parts(x, y, weights, offset, action, as_measurements, call)
  run_lm(parts, settings, user_call, call)
}

# list(prior, errors, running). Independent draws need no burn-in and no rule.
lm_settings <- function(prior, errors, draws, burnin, stop_when, call) {
  prior <- made_prior(prior, lm_prior, call)
  errors <- check_errors(errors, prior, call)
  nig <- prior$type == "nig"
  running <- running_of(
    call, draws = if (nig && is.null(stop_when)) draws %||% 1000 else draws,
    burnin = burnin %||% (if (nig) 0 else 1000), keep_choices = "y",
    keep_default = character()
  )
  list(prior = prior, errors = errors, running = running)
}

run_lm <- function(parts, settings, user_call, call) {
  make <- if (settings$errors == "t") lm_t_model else lm_model
  running <- settings$running
  if ("y" %in% running$keep && !anyNA(parts$response$y)) {
    inform_gibbsite(
      "{.code keep = \"y\"} has nothing to store: no response is missing.",
      class = "unused"
    )
  }
  model <- make(parts, settings$prior, running$keep, call)
  run_chains(model, running, user_call, call)
}

# ---- Simulation -------------------------------------------------------------

#' @rdname simulated-data
#' @export
sim_lm <- function(n, w, sigma = 1, intercept = 0) {
  check_needed(n = "how many observations", w = "the slopes")
  call <- rlang::current_env()
  check_unlocked(call)
  n <- check_count(n, max = .Machine$integer.max)
  w <- check_numeric_vector(w)
  sigma <- check_number(sigma, lower = 0)
  intercept <- check_number(intercept)
  check_result_size(
    c(n, length(w) + 1), "observations x variables", "{.arg n}", call
  )
  names <- names(w) %||% paste0("x", seq_along(w))
  check_text(names, "names of w", call)
  x <- matrix(
    stats::rnorm(n * length(w)), n, length(w), dimnames = list(NULL, names)
  )
  y <- intercept + drop(x %*% unname(w)) + sigma * stats::rnorm(n)
  data.frame(y = y, x, check.names = FALSE)
}
