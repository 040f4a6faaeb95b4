# gibbs_hlm(): checks, constructs and runs.

#' Hierarchical linear regression by Gibbs sampling
#'
#' Linear regression with coefficients that vary between groups (multilevel
#' regression, "J schools"). Observation \eqn{i} of group \eqn{j} has the
#' response
#' \deqn{y_i \sim \mathrm{N}(o_i + x_i^\top b + z_i^\top u_j, \sigma^2/v_i),
#'   \quad u_j \sim \mathrm{N}(0, \Sigma),}{
#'   y_i ~ N(o_i + x_i'b + z_i'u_j, sigma^2 / v_i),  u_j ~ N(0, Sigma),}
#' with offset \eqn{o_i}{o_i}, weight \eqn{v_i}{v_i}, fixed effects \eqn{b} and
#' deviations \eqn{u_j}{u_j} of the groups. The coefficients of a group are
#' \eqn{w_j = \mu_w + u_j}{w_j = mu_w + u_j}, where \eqn{\mu_w}{mu_w} has the
#' fixed effects of the terms before the bar, and 0 for a term that is not among
#' the fixed effects. [hlm_prior()] describes the prior. The draws are from the
#' exact posterior.
#'
#' The formula is that of lme4: in `y ~ x + (1 + x | group)` the terms outside
#' the parentheses are the fixed effects, those before the bar vary between the
#' groups. `(x || group)` makes \eqn{\Sigma} diagonal: the deviations of all
#' columns are independent (also those of the levels of a factor). The groups
#' can be given by two variables, `(1 | a:b)`. For successes and failures
#' [gibbs_logistic()] takes such formulas.
#'
#' There may be several bars, crossed or nested: `(1 | student) + (1 |
#' lecturer)`, `(1 | school/class)`, which is `(1 | school) + (1 |
#' school:class)`, and `(1 | g) + (0 + x | g)`. Each bar \eqn{f}{f} has
#' deviations \eqn{u_{fj}}{u_fj} with a covariance matrix
#' \eqn{\Sigma_f}{Sigma_f} of its own, and the mean of an observation is the sum
#' over the bars, \eqn{o_i + x_i^\top b + \sum_f z_{fi}^\top u_{f,j(f,i)}}{o_i +
#' x_i'b + sum_f z_fi'u_f,j(f,i)}. Two bars of the same factor have the names
#' `g` and `g.1`.
#'
#' [regression_sampler] has the conditionals from which the draws are made. The
#' time of a sweep with one bar does not depend on the number of observations;
#' with several it grows in proportion.
#'
#' Groups are told apart by the values of their variables. The names of groups
#' by two variables are those of their levels, `a:b`. Where two groups would
#' have the same name, the levels are in quotes, as in `"x:y":"z"` and
#' `"x":"y:z"`, and numbers of which two print alike have 17 digits. `NA` is a
#' group if it is a level of a factor.
#'
#' @section Known standard errors:
#' With `se` the standard deviation of each response is known, as in a
#' meta-analysis: \eqn{\sigma = 1} and \eqn{v_i = 1/\mathrm{se}_i^2}{v_i =
#' 1/se_i^2}, and there is no column `sigma`.
#'
#' @section Small groups:
#' A group may have one observation, or predictors that do not vary within it.
#' If every group has one observation and `se` is not given, the data hardly
#' separate \eqn{\sigma} from the spread of the groups: their priors do. Levels
#' of the grouping factor without observations are left out; predictions for
#' them need `allow_new_levels = TRUE`. A group all of whose rows have weight 0
#' stays: its deviations are drawn from their prior.
#'
#' @section Missing values:
#' `na_action = "fail"` (the default) raises an error that names the first
#' missing value, `"omit"` leaves incomplete rows out and says so, `"exclude"`
#' does too, and fills the results of [fitted()] and [residuals()] with `NA`
#' there.
#' With missing predictors impute the values several times, fit each completed
#' data set, and combine the fits: see [combine_fits()].
#'
#' @section t errors:
#' With `errors = "t"` the errors have a Student t distribution, so that a few
#' observations far from the rest hardly move the coefficients:
#' \deqn{y_i \sim \mathrm{t}_\nu(o_i + x_i^\top b + z_i^\top u_j, \sigma^2/v_i),
#' \quad
#'   \nu \sim \mathrm{Gamma}(2, 0.1),}{
#'   y_i ~ t_nu(o_i + x_i'b + z_i'u_j, sigma^2 / v_i),  nu ~ Gamma(2, 0.1),}
#' with location, squared scale and degrees of freedom \eqn{\nu}{nu} (Geweke
#' 1993; the prior is that of Juarez and Steel 2010, by shape and rate).
#' `hlm_prior(nu = 4)` fixes \eqn{\nu}{nu} instead. `sigma` and [sigma()] are
#' the scale: the standard deviation of an error is \eqn{\sigma \sqrt{\nu/(\nu -
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
#' The column `nu` follows `sigma`. The deviations are drawn with the rest: with
#' one bar the coefficients `w[k,j]` of the groups are always stored. Standard
#' errors `se` and `log_evidence()` need normal errors.
#'
#' @section Stored quantities:
#' One column for each fixed effect, with the name of its column of the model
#' matrix; `sd[k]`, the standard deviation of term \eqn{k} before the bar;
#' `cor[k,l]`, the correlations (not with `||`); `sigma`; `log_lik`, the
#' log-likelihood given \eqn{b} and \eqn{u}; with `keep = "w"` the coefficients
#' `w[k,j]` of the groups. Without it [ranef][ranef.gibbsite_regression] and
#' predictions use the exact distribution of the deviations given each draw.
#'
#' With several bars the names begin with the number of the bar: `sd[f,k]`,
#' `cor[f,k,l]`, and always `u[f,k,j]`, the deviation of term \eqn{k} in group
#' \eqn{j}. The convergence of 20 groups of each factor is judged.
#'
#' @section Starting values:
#' By default each chain starts at standard deviations from the spread of the
#' responses, each multiplied by a random factor between 1/10 and 10. An entry
#' of `inits` is a list with any of `sigma`, a positive number, with t errors
#' `nu`, another, and `Sigma`, a
#' positive definite matrix; with several bars a list of matrices with the names
#' of the factors. The first sweep draws the rest from these.
#'
#' @param formula A formula, `response ~ fixed + (terms | group)`, with one or
#'   more bars. `.` stands for all columns of `data` but those of the response
#'   and the groups, before the bar too. A term or a group that uses other rows
#'   of the data, such as `I(x - mean(x))` or `(1 | cut(x, 3))`, raises a
#'   warning, see [gibbs_lm()].
#' @param data A data frame in which the formula's variables are looked up
#'   first.
#' @param prior The prior, made by [hlm_prior()].
#' @param weights `NULL` or `n` numbers, 0 or between 1e-100 and 1e100, not all
#'   0: the precision of each observation relative to
#'   \eqn{1/\sigma^2}{1/sigma^2}. A row of weight 0 is not used.
#' @param se `NULL` or `n` numbers between 1e-50 and 1e50: known standard
#'   deviations of the responses, each at least a millionth of the standard
#'   deviation of all responses. Not with `weights`.
#' @param offset `NULL` or `n` numbers between -1e100 and 1e100 that are added
#'   to the mean.
#' @param subset Rows of `data` to use, as in [stats::lm()].
#' @param na_action What to do about missing values: `"fail"` (default),
#'   `"omit"` or `"exclude"`. The functions [stats::na.omit()] and the like are
#'   accepted too.
#' @param contrasts As in [stats::lm()].
#' @param errors `"normal"` (default), or `"t"` for errors with heavy tails: see
#'   the section on t errors.
#' @param keep `NULL`, or `"w"`: store every draw of the groups' coefficients.
#'   Without effect with several bars or t errors.
#' @param draws,burnin,thin,chains,inits,threads,cores,seed As in [running].
#' @param checkpoint,stop_when,progress,keep_data As in [running].
#' @param ... Not used: any further argument is an error.
#' @return An object of class `gibbs_hlm`, a `gibbsite_fit` and a
#'   [coda::mcmc.list]: one matrix of draws for each chain. See
#'   [summary.gibbsite_fit()], [predict.gibbsite_regression()],
#'   [coef.gibbsite_fit()], [log_lik.gibbsite_regression()],
#'   [plot.gibbsite_regression()].
#' @section Errors:
#' Errors in the arguments have class `gibbsite_error_argument` and are raised
#' before any chain runs; among them `gibbsite_error_formula` for a formula with
#' no bar, and `gibbsite_error_missing` and
#' `gibbsite_error_infinite` for the data. A chain that fails raises
#' `gibbsite_error_chain`, which carries the other chains in `$fit`.
#' @references
#' Rai P. *CS772A: Probabilistic Machine Learning*, lecture slides, "J schools".
#' Indian Institute of Technology Kanpur.
#'
#' Murphy KP (2012). *Machine Learning: A Probabilistic Perspective*, section
#' 24.2.3. MIT Press.
#'
#' Huang A, Wand MP (2013). Simple marginally noninformative prior distributions
#' for covariance matrices. *Bayesian Analysis* 8, 439-452.
#' \doi{10.1214/13-BA815}
#'
#' Papaspiliopoulos O, Roberts GO, Zanella G (2020). Scalable inference for
#' crossed random effects models. *Biometrika* 107, 25-40.
#' \doi{10.1093/biomet/asz058}
#'
#' Geweke J (1993). Bayesian treatment of the independent Student-t linear
#' model. *Journal of Applied Econometrics* 8, S19-S40.
#' \doi{10.1002/jae.3950080504}
#'
#' Juarez MA, Steel MFJ (2010). Model-based clustering of non-Gaussian panel
#' data based on skew-t distributions. *Journal of Business & Economic
#' Statistics* 28, 52-66. \doi{10.1198/jbes.2009.07145}
#' @seealso [hlm_prior()], [regression_sampler], [fixef.gibbsite_regression()],
#'   [predict.gibbsite_regression()], [plot.gibbsite_regression()],
#'   [gibbs_logistic()] for successes in groups; `vignette("groups",
#'   "gibbsite")`.
#' @examples
#' # crossed factors
#' if (requireNamespace("lme4", quietly = TRUE)) {
#'   assay <- gibbs_hlm(diameter ~ 1 + (1 | plate) + (1 | sample),
#'     lme4::Penicillin, seed = 1
#'   )
#'   print(VarCorr(assay))
#' }
#'
#' # one factor, with a slope for each group
#' fit <- gibbs_hlm(weight ~ Time + (1 + Time | Chick), ChickWeight, seed = 1)
#' summary(fit)
#' head(coef(fit)$Chick)
#'
#' # eight schools: known standard errors
#' schools <- data.frame(
#'   effect = c(28, 8, -3, 7, -1, 1, 18, 12),
#'   se = c(15, 10, 16, 11, 9, 11, 10, 18), school = LETTERS[1:8]
#' )
#' gibbs_hlm(effect ~ 1 + (1 | school), schools, se = se, seed = 1)
#' @export
gibbs_hlm <- function(formula, data, prior = hlm_prior(), weights = NULL,
                      se = NULL, offset = NULL, subset = NULL,
                      na_action = "fail", contrasts = NULL,
                      errors = c("normal", "t"), draws = NULL,
                      burnin = 1000, thin = 1, chains = 4, inits = NULL,
                      keep = NULL, threads = 1,
                      cores = getOption("mc.cores", 1L), seed = NULL,
                      checkpoint = NULL, stop_when = NULL,
                      progress = TRUE, keep_data = TRUE, ...) {
  call <- rlang::current_env()
  check_needed(formula = "a formula")
  check_no_more(..., call = call)
  prior <- made_prior(prior, hlm_prior, call)
  errors <- check_errors(errors, prior, call)
  running <- running_of(call, keep_choices = "w", keep_default = character())
  user_call <- call_of_model(match.call(), "gibbs_hlm", formula)
  action <- check_na_action(na_action, call)
  rows <- if (!missing(data)) data
  frame <- hlm_frame_of_call(
    formula, rows, user_call, action, contrasts, parent.frame(), call
  )
  model <- if (errors == "t") {
    if (frame$known) {
      abort_argument(
        c("{.arg se} must be NULL with {.code errors = \"t\"}.",
          i = "With known standard errors the errors are normal."),
        call = call
      )
    }
    hlm_t_model(frame, prior, call)
  } else if (is.null(frame$bars)) {
    hlm_model(frame, prior, running$keep, call)
  } else {
    hlm_crossed_model(frame, prior, call)
  }
  run_chains(model, running, user_call, call)
}

# `se` as an expression in the call, before rows are left out.
check_given_se <- function(expression, data, env, call) {
  se <- evaluate_argument(expression, data, env, "se", call)
  n <- if (is.data.frame(data)) nrow(data) else length(se)
  check_vector_length(se, n, "one for each row of `data`", "se", call)
  if (is.numeric(se)) {
    # missing ones are a matter of na_action
    se <- se[is.nan(se) | !is.na(se)]
  }
  check_numeric_vector(
    se, lower = 0, lower_open = TRUE, arg = "se", call = call
  )
}

# The frame of a call of gibbs_hlm(), made in `env`.
hlm_frame_of_call <- function(formula, data, user_call, action, contrasts, env,
                              call) {
  parsed <- parse_hlm_formula(formula, data, call)
  check_model_formula(parsed$flat, "gibbs_hlm", call)
  if (!is.null(user_call[["se"]]) && !is.null(user_call[["weights"]])) {
    abort_argument("Give either `se` or `weights`, not both.", call = call)
  }
  frame_call <- user_call
  frame_call$formula <- parsed$with_group
  # standard errors are handled as weights, so that the same rows are left out
  if (!is.null(user_call[["se"]])) {
    check_given_se(user_call[["se"]], data, environment(formula), call)
    frame_call$weights <- user_call[["se"]]
  }
  made <- regression_frame(
    parsed$with_group, data, frame_call, action, env, call
  )
  se <- NULL
  if (!is.null(user_call[["se"]])) {
    se <- check_numeric_vector(
      made$frame[["(weights)"]], length = nrow(made$frame),
      length_why = "one for each observation", lower = 1e-50, upper = 1e50,
      arg = "se", call = call
    )
    made$frame[["(weights)"]] <- NULL
  }
  response <- as_measurements(
    stats::model.response(made$frame), deparse1(formula[[2L]]), call
  )
  check_precision(se, response$y, call)
  hlm_frame(made, parsed, formula, response, contrasts, se, call)
}

# An error for standard errors so small that the squares of the numbers keep no
# digits.
check_precision <- function(se, response, call) {
  least <- 1e-6 * stats::sd(response)
  if (is.null(se) || is.na(least) || min(se) >= least) {
    return(invisible())
  }
  row <- which.min(se)
  abort_argument(
    c(
      "{.arg se} must be at least {format(least, digits = 3)}, a millionth of
       the standard deviation of the response: element {row} is
       {format(se[[row]], digits = 3)}.",
      i = "A smaller one says that the response is known exactly; the
           calculations would lose all digits."
    ),
    call = call
  )
}

# ---- Simulation -------------------------------------------------------------

#' @rdname simulated-data
#' @export
sim_hlm <- function(groups, size, mu, Sigma, # nolint: object_name_linter.
                    sigma = 1) {
  check_needed(
    groups = "how many", size = "observations of a group",
    mu = "the mean coefficients", Sigma = "the covariances"
  )
  call <- rlang::current_env()
  check_unlocked(call)
  groups <- check_count(groups, max = .Machine$integer.max)
  size <- check_sizes(size, groups, call)
  mu <- check_numeric_vector(mu)
  q <- length(mu)
  covariance <- check_spd_matrix(
    Sigma, q, "numbers of `mu`", arg = "Sigma", call = call
  )
  sigma <- check_number(sigma, lower = 0)
  n <- sum(size)
  check_result_size(
    c(n, q + 1), "observations x variables", "{.arg groups} or {.arg size}",
    call
  )
  given <- names(mu) %||% c("(Intercept)", sprintf("x%d", seq_len(q - 1L)))
  w <- rep(mu, each = groups) +
    matrix(stats::rnorm(groups * q), groups) %*% chol(covariance)
  dimnames(w) <- list(seq_len(groups), given)
  j <- rep(seq_len(groups), size)
  x <- matrix(
    stats::rnorm(n * (q - 1)), n, q - 1L, dimnames = list(NULL, given[-1L])
  )
  y <- unname(w[j, 1L] + rowSums(w[j, -1L, drop = FALSE] * x)) +
    sigma * stats::rnorm(n)
  out <- data.frame(
    y = y, x, group = factor(j, seq_len(groups)), check.names = FALSE
  )
  structure(out, w = w)
}

# The sizes as one whole number for each group.
check_sizes <- function(size, groups, call) {
  size <- check_numeric_vector(
    size, length = c(1L, groups), length_why = "one for each group", lower = 1,
    upper = .Machine$integer.max, arg = "size", call = call
  )
  broken <- which(size != round(size))
  if (length(broken) > 0L) {
    given <- describe(unname(size[[broken[[1L]]]]))
    abort_argument(
      "{.arg size} must be whole numbers: element {broken[[1]]} is {given}.",
      call = call
    )
  }
  rep_len(as.integer(size), groups)
}
