# Methods by which insight, emmeans, marginaleffects and performance read a
# regression. insight has other fits as coda's lists.

#' Regressions in insight, emmeans, marginaleffects, parsnip and others
#'
#' Fits of [gibbs_lm()], [gibbs_hlm()], [gibbs_logistic()],
#' [laplace_logistic()], [gibbs_count()], [gibbs_ordinal()] and
#' [gibbs_categorical()] by formula have methods for these packages. The last
#' two have no single expected response: where one is needed there is an error.
#'
#' - insight: `get_data()`, `find_formula()`, `get_parameters()`, `model_info()`
#'   and others. The thresholds of [gibbs_ordinal()], the dispersion of
#'   [gibbs_count()] and `nu` are auxiliary parameters. bayestestR and
#'   performance build on them, for instance `bayestestR::describe_posterior()`.
#' - emmeans: `emmeans()`, `contrast()`, `emtrends()` and `hpd.summary()` use
#'   the draws of the coefficients. The means of a hierarchical regression are
#'   those of its fixed effects.
#' - marginaleffects: `predictions()`, `comparisons()` and `slopes()` use the
#'   draws of the expected response (`type = "response"`), of the linear
#'   predictor (`"link"`) or of new responses (`"prediction"`). Loading gibbsite
#'   adds `"gibbsite_fit"` to the option `marginaleffects_model_classes`. For a
#'   hierarchical regression, `re_formula = NA` leaves out the groups'
#'   deviations, and `allow_new_levels = TRUE` allows new groups. Each draw of
#'   the fit has one draw of a group's deviations, the same in every call.
#'   Hypotheses go into the argument `hypothesis` of these functions.
#' - ggeffects: `ggpredict()` and `ggemmeans()`, by `insight::get_predicted()`:
#'   means and central intervals of the expected response. For new data of a
#'   regression with groups they leave out the groups' deviations, unless
#'   `include_random = TRUE`.
#' - performance: `r2_bayes()` uses the draws of [rstantools::bayes_R2()].
#' - projpred: `get_refmodel()`, for `varsel()` and `project()`, of fits without
#'   weights, trials, offset, known and t errors.
#'
#' A fit does not store variables that its formula transforms. They are read
#' from the call's `data`, and must still give the fit's model frame.
#'
#' @section The engine "gibbsite" of parsnip:
#' With the package parsnip loaded, `set_engine("gibbsite")` fits
#' `logistic_reg()` by [gibbs_logistic()] and `linear_reg()` by [gibbs_lm()].
#' Further arguments of `set_engine()`, such as `prior`, `seed` and `draws`, are
#' arguments of these. Case weights are their `weights`. The fit itself is
#' `parsnip::extract_fit_engine()` of the model.
#'
#' `predict()` of parsnip has the types
#' * `"numeric"` (linear): the posterior mean of the expected response.
#' * `"class"` and `"prob"` (logistic): the more probable outcome, and the
#'   posterior means of both probabilities. As with parsnip's engine `"glm"` the
#'   probability modelled is that of the second level.
#' * `"conf_int"`: posterior intervals of the expected response, or of the
#'   probabilities; `std_error = TRUE` adds posterior standard deviations.
#' * `"pred_int"` (linear): posterior intervals of a new response.
#' * `"raw"`: [predict.gibbsite_regression()] on the scale of the linear
#'   predictor.
#'
#' @section Errors: `gibbsite_error_argument` for a fit from a matrix, where the
#'   formula or the data are wanted, for an offset that the new data do not
#'   give, and for `performance::r2()`, which has no method for these fits.
#'   `gibbsite_error_state` if the data have changed or cannot be found.
#' @seealso [clients] for packages that take every fit; [regression-draws]
#'   for the draws that these packages use.
#' @examples
#' fit <- gibbs_lm(mpg ~ log(hp) + factor(cyl), mtcars, draws = 500, seed = 1,
#'                 progress = FALSE)
#' if (requireNamespace("emmeans", quietly = TRUE)) {
#'   emmeans::emmeans(fit, ~ cyl)
#' }
#' # marginaleffects 1.0.0 needs R 4.4, and collapse for draws
#' if (getRversion() >= "4.4" &&
#'       requireNamespace("marginaleffects", quietly = TRUE) &&
#'       requireNamespace("collapse", quietly = TRUE)) {
#'   marginaleffects::avg_slopes(fit, variables = "hp")
#' }
#'
#' # parsnip::logistic_reg() |>
#' #   parsnip::set_engine("gibbsite", seed = 1) |>
#' #   parsnip::fit(factor(am) ~ wt, mtcars)
#' @name regression-clients
#' @aliases parsnip-engine
NULL

# The model of a fit of a regression.
check_regression <- function(object, arg, call) {
  if (!is_fit(object) || !is_regression(object)) {
    abort_argument("{.arg {arg}} must be a fit of a regression.", call = call)
  }
  invisible(fit_part(object, "model"))
}

# ---- The data ----------------------------------------------------------------

# The variables of the rows that the fit used; with `further` also the other
# columns of the call's data. What the model frame does not have is read from
# the call.
client_data <- function(object, further = FALSE, call = rlang::caller_env(),
                        hint = NULL) {
  frame <- stats::model.frame(object)
  given <- stats::getCall(object)
  env <- environment(stats::formula(object))
  wanted <- all.vars(attr(frame, "terms"))
  others <- unlist(lapply(as.list(given)[c("weights", "offset")], all.vars))
  own <- intersect(wanted, names(frame))
  out <- call_variables(
    given$data, c(wanted, others), attr(frame, "row.names"), env, further
  )
  out[own] <- frame[own]
  if (length(own) < length(wanted)) {
    where <- if (is.name(given$data)) paste0(" to `", given$data, "`")
    check_unchanged(
      out, frame, hint %||% paste0("Assign them again", where, "."), call
    )
  }
  out
}

# Those of the variables that have a value for each row, and with `further` all
# columns of the data. rows: names of the rows of the model frame.
call_variables <- function(data, variables, rows, env, further) {
  data <- tryCatch(eval(data, env), error = function(cnd) NULL)
  # a function of this name, where the data were an argument
  if (!is.list(data) && !is.environment(data)) data <- NULL
  out <- data.frame(row.names = rows)
  at <- as_row_numbers(rows, data)
  for (name in union(variables, if (further) names(data))) {
    value <- if (is.environment(data)) get0(name, data) else data[[name]]
    value <- value %||% get0(name, env)
    if (is.atomic(value) && !anyNA(at) && NROW(value) >= max(2L, at)) {
      out[[name]] <- if (length(dim(value)) == 2L) {
        value[at, , drop = FALSE]
      } else {
        value[at]
      }
    }
  }
  out
}

# The data must give the columns of the model frame.
check_unchanged <- function(data, frame, hint, call) {
  plain <- function(v) if (is.numeric(v)) as.numeric(v) else as.character(v)
  made <- tryCatch(
    stats::model.frame(attr(frame, "terms"), data, na.action = stats::na.pass),
    error = function(cnd) NULL
  )
  same <- vapply(names(made), function(name) {
    isTRUE(all.equal(plain(made[[name]]), plain(frame[[name]])))
  }, NA)
  if (is.null(made) || !all(same)) {
    abort_state(
      c("The variables of the fit cannot be read from the data of its call.",
        x = if (is.null(made)) "They are not found." else "They have changed.",
        i = hint),
      call = call, class = "data"
    )
  }
}

# ---- Fit again ---------------------------------------------------------------

changed_formula <- function(fit, changes, call) {
  old <- formula_of(fit, call)
  if (!inherits(changes, "formula") && !is_plain_string(changes)) {
    abort_expected(changes, "a formula", FALSE, "formula.", call)
  }
  tryCatch(stats::update.formula(old, changes), error = function(cnd) {
    abort_argument(
      c("{.arg formula.} cannot be applied to {.code {deparse1(old)}}.",
        x = "{conditionMessage(cnd)}"),
      call = call
    )
  })
}

#' @rdname update.gibbsite_fit
#' @param formula. For a fit by formula: changes to it, as in
#'   [stats::update.formula()].
#' @export
update.gibbsite_regression <- function(
    object, formula., # nolint: object_name_linter.
    ..., evaluate = TRUE) {
  evaluate <- check_flag(evaluate)
  call <- rlang::current_env()
  check_changes(as.list(substitute(list(...)))[-1L], call)
  out <- update.gibbsite_fit(object, ..., evaluate = FALSE)
  if (!missing(formula.)) {
    out$formula <- changed_formula(object, formula., call)
  }
  if (!evaluate) {
    return(out)
  }
  evaluate_again(
    out, with_kept_data(parent.frame(), out, object), object, call
  )
}

# The environment `env` of the caller. Where it has no more data of the name
# that the call of the fit has, the fit's own variables have this name; where it
# has no more another object that the formula names, such as a constant, it is
# the fit's own. A function of the name, such as stats::df(), is none of them.
with_kept_data <- function(env, again, fit) {
  found <- function(name) {
    !is.function(get0(name, env, ifnotfound = sum))
  }
  if (is.null(again$formula)) {
    # of a matrix
    return(env)
  }
  kept <- list()
  own <- environment(stats::formula(fit))
  data <- again$data
  if (is.name(data) && identical(data, stats::getCall(fit)$data) &&
        is.null(again$subset) && !found(as.character(data))) {
    variables <- tryCatch(client_data(fit), gibbsite_error = function(cnd) NULL)
    kept <- stats::setNames(list(variables), as.character(data))
  }
  columns <- if (length(kept) > 0L) {
    names(kept[[1L]])
  } else {
    tryCatch(names(eval(data, env)), error = function(cnd) NULL)
  }
  lacking <- setdiff(all.vars(again$formula), c(columns, "."))
  for (name in lacking[!vapply(lacking, found, NA)]) {
    value <- if (is.environment(own)) get0(name, own)
    if (is.null(value) || is.function(value)) {
      return(env)
    }
    kept[[name]] <- value
  }
  if (any(vapply(kept, is.null, NA))) {
    return(env)
  }
  list2env(kept, new.env(parent = env))
}

# ---- Terms -------------------------------------------------------------------

# The terms of the coefficients, without the response.
coefficient_terms <- function(model) {
  design <- model_design(model)
  if (is.null(design$fixed_terms)) {
    return(stats::delete.response(design$terms))
  }
  terms <- terms_within(design$fixed_terms, design$terms)
  attr(terms, ".Environment") <- environment(design$formula)
  terms
}

# The offset that was an argument of the fit, for new data.
client_offset <- function(object, newdata, arg, call) {
  given <- stats::getCall(object)[["offset"]]
  design <- model_design(fit_part(object, "model"))
  if (!isTRUE(design$offset) || is.null(newdata) || is.null(given)) {
    return(NULL)
  }
  check_row_variables(design$other_rows, "(offset)", arg, call)
  wanted <- all.vars(given)
  if (length(wanted) == 0L || !all(wanted %in% names(newdata))) {
    abort_argument(
      c("The offset of the fit cannot be read from {.arg {arg}}.",
        i = "Fit with {.code offset()} in the formula."),
      call = call
    )
  }
  eval(given, newdata, environment(stats::formula(object)))
}

# ---- insight -----------------------------------------------------------------

#' @exportS3Method insight::get_call
get_call.gibbsite_fit <- function(x) stats::getCall(x)

#' @exportS3Method insight::find_formula
find_formula.gibbsite_fit <- function(x, ...) {
  if (!is_regression(x)) {
    return(NextMethod())
  }
  formula <- model_design(fit_part(x, "model"))$formula
  if (is.null(formula)) {
    return(NULL)
  }
  out <- list(conditional = formula)
  if (has_groups(fit_part(x, "model"))) {
    bars <- split_bars(formula[[3L]], rlang::current_env())$bars
    random <- lapply(bars, function(bar) {
      bar[[1L]] <- quote(`|`)
      stats::as.formula(call("~", bar), environment(formula))
    })
    fixed <- coefficient_terms(fit_part(x, "model"))
    out$conditional[[3L]] <- stats::formula(fixed)[[2L]]
    out$random <- if (length(random) > 1L) random else random[[1L]]
  }
  structure(out, class = c("insight_formula", "list"))
}

# insight's own method needs the package reformulas.
#' @exportS3Method insight::find_random
find_random.gibbsite_fit <- function(x, split_nested = FALSE, flatten = FALSE) {
  if (!is_regression(x) || !has_groups(fit_part(x, "model"))) {
    return(NULL)
  }
  name <- fit_part(x, "model")$group_name
  if (split_nested) {
    name <- unique(unlist(lapply(name, function(one) {
      group_parts(str2lang(one))
    })))
  }
  if (flatten) name else list(random = name)
}

#' @exportS3Method insight::get_data
get_data.gibbsite_fit <- function(x, effects = c("all", "fixed", "random"),
                                  ..., additional_variables = FALSE) {
  # ggeffects asks for data first, and has no message of its own
  design <- model_design(check_regression(x, "x", rlang::current_env()))
  effects <- check_choice(effects, c("all", "fixed", "random"))
  out <- client_data(x, isTRUE(additional_variables))
  groups <- group_variable_names(design)
  switch(effects,
    all = out, random = out[groups],
    fixed = out[setdiff(names(out), setdiff(groups, all.vars(design$terms)))]
  )
}

#' @exportS3Method insight::find_parameters
find_parameters.gibbsite_fit <- function(x, effects = "all", component = "all",
                                         flatten = FALSE, parameters = NULL,
                                         ...) {
  if (!is_regression(x)) {
    return(NextMethod())
  }
  model <- fit_part(x, "model")
  coefficients <- coefficient_columns(model)
  others <- setdiff(model$columns, c(coefficients, "log_lik"))
  out <- list(
    conditional = coefficients,
    random = grep("^(sd|cor)\\[", others, value = TRUE),
    sigma = intersect(others, "sigma"),
    auxiliary = c(
      intersect(others, c("lambda", "tau", "nu", "dispersion")),
      if (is_ordered(model_response(model))) {
        model$columns[threshold_columns(model)]
      }
    )
  )
  if (!is.null(parameters)) {
    out <- lapply(out, function(v) grep(parameters, v, value = TRUE))
  }
  parts <- switch(effects,
    fixed = setdiff(names(out), "random"), random = "random", names(out)
  )
  if (component != "all") {
    further <- c("sigma", "auxiliary")
    parts <- intersect(
      parts, if (component %in% further) component else
        setdiff(names(out), further)
    )
  }
  out <- Filter(length, out[parts])
  if (flatten) unlist(out, use.names = FALSE) else out
}

#' @exportS3Method insight::get_parameters
get_parameters.gibbsite_fit <- function(x, effects = "fixed",
                                        component = "conditional",
                                        parameters = NULL, summary = FALSE,
                                        centrality = "mean", ...) {
  if (is_regression(x)) {
    names <- find_parameters.gibbsite_fit(
      x, effects, component, TRUE, parameters
    )
    out <- as.data.frame(x, index = FALSE)[names]
  } else {
    out <- as.data.frame(bind_chains(chain_matrices(x)), optional = TRUE)
    names <- grep(parameters %||% "", names(out), value = TRUE)
    out <- out[names]
  }
  if (!summary) {
    return(out)
  }
  middle <- if (centrality == "median") stats::median else mean
  data.frame(Parameter = names, Estimate = unname(vapply(out, middle, 0)))
}

#' @exportS3Method insight::model_info
model_info.gibbsite_fit <- function(x, ...) {
  out <- NextMethod()
  if (is_regression(x)) {
    model <- fit_part(x, "model")
    out$is_bayesian <- TRUE
    kind <- model_design(model)$response$kind
    out$is_bernoulli <- out$is_binomial && !identical(kind, "counts")
    # insight knows neither family by its name here
    out$is_ordinal <- out$is_cumulative <- is_ordered(model_response(model))
    out$is_linear <- inherits(model_response(model), "normal_response")
  }
  out
}

#' @exportS3Method insight::find_algorithm
find_algorithm.gibbsite_fit <- function(x, ...) {
  list(
    algorithm = model_algorithm(fit_part(x, "model")),
    chains = nchains(x), iterations = niterations(x),
    warmup = fit_part(x, "running")$burnin
  )
}

# insight's own method needs the package reformulas where there are groups.
#' @exportS3Method insight::find_predictors
find_predictors.gibbsite_fit <- function(x, effects = "fixed",
                                         component = "all", flatten = FALSE,
                                         ...) {
  formula <- if (is_regression(x)) find_formula.gibbsite_fit(x)
  if (is.null(formula) || !component %in% c("all", "conditional", "location")) {
    return(NULL)
  }
  groups <- group_variable_names(model_design(fit_part(x, "model")))
  slopes <- setdiff(unlist(lapply(c(formula$random), all.vars)), groups)
  fixed <- all.vars(stats::formula(formula$conditional)[[3L]])
  out <- switch(effects,
    fixed = list(conditional = fixed), random = list(random = groups),
    list(
      conditional = fixed, random = c(groups, setdiff(slopes, fixed))
    )
  )
  out <- Filter(length, out)
  if (length(out) == 0L) {
    return(NULL)
  }
  if (flatten) unique(unlist(out, use.names = FALSE)) else out
}

#' @exportS3Method insight::get_predicted
get_predicted.gibbsite_fit <- function(x, data = NULL,
                                       predict = "expectation", ci = 0.95,
                                       include_random = "default", ...) {
  call <- rlang::current_env()
  model <- check_regression(x, "x", call)
  predict <- check_choice(
    predict, c("expectation", "response", "link", "prediction")
  )
  check_one_predictor(model, call)
  level <- check_level(ci %||% 0.95, arg = "ci")
  if (predict %in% c("expectation", "response")) {
    check_has_moments(model_response(model), "one mean", call)
  }
  draw <- switch(predict,
    link = posterior_linpred, prediction = posterior_predict, posterior_epred
  )
  # ggeffects gives some group in its data, and wants the fixed effects alone
  groups <- if (identical(include_random, "default")) {
    is.null(data)
  } else {
    is.null(include_random) || check_flag(include_random)
  }
  draws <- draw(
    x, newdata = data, offset = client_offset(x, data, "data", call),
    re_formula = if (!groups) NA
  )
  ends <- central_intervals(draws, level)
  structure(
    unname(colMeans(draws)),
    ci_data = data.frame(
      SE = unname(apply(draws, 2L, stats::sd)), CI_low = ends[, 1L],
      CI_high = ends[, 2L], row.names = NULL
    ),
    data = data %||% client_data(x, call = call), ci = level,
    predict = predict, class = c("get_predicted", "numeric")
  )
}

# ---- performance -------------------------------------------------------------

#' @exportS3Method performance::r2_posterior
r2_posterior.gibbsite_fit <- function(model, ...) {
  check_regression(model, "model", rlang::current_env())
  share <- function(name, ...) {
    out <- bayes_R2(model, ...)
    stats::setNames(out, rep(name, length(out)))
  }
  if (!has_groups(fit_part(model, "model"))) {
    return(list(R2_Bayes = share("R2")))
  }
  list(
    R2_Bayes = share("Conditional R2"),
    R2_Bayes_marginal = share("Marginal R2", re_formula = NA)
  )
}

# performance's own method takes the response before its transformation.
#' @exportS3Method performance::r2
r2.gibbsite_fit <- function(model, ...) {
  abort_argument(
    c("{.arg model} must not be a fit of gibbsite.",
      i = "Use {.fn performance::r2_bayes} or {.fn bayes_R2} for a regression.")
  )
}

# ---- projpred ----------------------------------------------------------------

#' @exportS3Method projpred::get_refmodel
get_refmodel.gibbsite_fit <- function(object, ...) {
  call <- rlang::current_env()
  model <- check_regression(object, "object", call)
  check_one_predictor(model, call)
  frame <- check_frame(model)
  formula <- stats::formula(object)
  gaussian <- stats::family(object)$family == "gaussian"
  counts <- identical(model_design(model)$response$kind, "counts")
  weighted <- any((frame$weights %||% 1) != 1)
  known <- gaussian && !"sigma" %in% model$columns
  heavy <- inherits(model_response(model), "t_response")
  if (counts || weighted || known || heavy || !is.null(frame$offset)) {
    abort_argument(
      c("{.arg object} must have no weights, trials, offset, known or t errors
         for {.fn get_refmodel}.",
        i = "Use {.fn projpred::init_refmodel}, with {.arg ref_predfun} from
             {.fn posterior_linpred}."),
      call = call
    )
  }
  data <- client_data(object, call = call)
  terms <- model_design(model)$terms
  response <- function(newdata) {
    if (is.null(newdata)) {
      return(as.double(frame$y))
    }
    made <- stats::model.frame(terms, newdata, na.action = stats::na.pass)
    y <- stats::model.response(made)
    if (is.factor(y)) as.double(y != levels(y)[1L]) else as.double(y)
  }
  # projpred has called this method, and is therefore installed
  init_refmodel <- getExportedValue("projpred", "init_refmodel")
  init_refmodel(
    object, data, formula, stats::family(object),
    ref_predfun = function(fit, newdata = NULL) {
      t(posterior_linpred(fit, newdata = newdata, allow_new_levels = TRUE))
    },
    extract_model_data = function(object, newdata = NULL, wrhs = NULL,
                                  orhs = NULL, extract_y = TRUE) {
      n <- nrow(newdata %||% data)
      list(
        y = if (extract_y) response(newdata), weights = rep(1, n),
        offset = numeric(n)
      )
    },
    dis = if (gaussian) as.matrix(object)[, "sigma"], ...
  )
}

# ---- emmeans -----------------------------------------------------------------

#' @exportS3Method emmeans::recover_data
recover_data.gibbsite_fit <- function(object, data = NULL, ...) {
  if (has_short_names()) return(with_whole_names())
  # emmeans calls its methods by another name
  call <- quote(recover_data())
  model <- check_regression(object, "object", call)
  check_one_predictor(model, call)
  frame <- stats::model.frame(object)
  terms <- coefficient_terms(model)
  # means are those of a grid of the variables
  check_row_variables(
    model_design(model)$other_rows, c(all_term_variables(terms), "(offset)"),
    "data", call
  )
  # emmeans undoes a transformation of the response that this call shows: a
  # binomial outcome has none. Some versions read the offset from here.
  formula <- stats::formula(object)
  if (stats::family(object)$family == "binomial") {
    formula[[2L]] <- quote(outcome)
  }
  made_by <- call(model$name, formula)
  made_by$offset <- stats::getCall(object)[["offset"]]
  out <- emmeans::recover_data(
    made_by, terms, NULL,
    data = emmeans_data(object, data, terms, call), frame = frame, ...
  )
  if (NROW(out) == nrow(frame)) {
    out[["(weights)"]] <- model$frame$total %||% frame[["(weights)"]]
  }
  out
}

# The user's data or those of the fit, with the offset of the fit's call.
emmeans_data <- function(object, data, terms, call) {
  if (is.null(data)) {
    data <- client_data(object, call = call, hint = paste(
      "Give them as the argument `data` of `emmeans()`, as they were when the",
      "model was fitted."
    ))
    data[["(offset)"]] <- stats::model.frame(object)[["(offset)"]]
    return(data)
  }
  check_given_data(data, call)
  constants <- model_design(fit_part(object, "model"))$constants
  check_new_variables(data, terms, call, "data", constants)
  data[["(offset)"]] <- client_offset(object, data, "data", call)
  data
}

#' @exportS3Method emmeans::emm_basis
emm_basis.gibbsite_fit <- function(object, trms, xlev, grid, ...) {
  model <- fit_part(object, "model")
  ordered <- is_ordered(model_response(model))
  frame <- stats::model.frame(trms, grid, na.action = stats::na.pass,
                              xlev = xlev)
  draws <- coefficient_draws(object)
  attr(draws, "n.chains") <- nchains(object)
  x <- fitted_design(model_design(model), trms, frame)
  list(
    X = if (ordered) without_intercept(x) else x,
    bhat = fixef.gibbsite_regression(object), V = stats::vcov(object),
    # every linear function of the coefficients has a posterior
    nbasis = matrix(NA), dffun = function(k, dfargs) Inf, dfargs = list(),
    # Phi(x'w) is the probability of no category
    misc = if (ordered) {
      list()
    } else {
      emmeans::.std.link.labels(stats::family(object), list())
    },
    post.beta = draws
  )
}

# ---- marginaleffects ---------------------------------------------------------

#' @exportS3Method marginaleffects::get_coef
get_coef.gibbsite_fit <- function(model, ...) {
  check_regression(model, "model", rlang::current_env())
  fixef.gibbsite_regression(model)
}

#' @exportS3Method marginaleffects::get_vcov
get_vcov.gibbsite_fit <- function(model, ...) {
  check_regression(model, "model", rlang::current_env())
  stats::vcov(model)
}

# The default method would change the list of chains.
#' @exportS3Method marginaleffects::set_coef
set_coef.gibbsite_fit <- function(model, coefs, ...) {
  check_regression(model, "model", rlang::current_env())
  abort_argument(
    c("{.arg coefs} cannot become the coefficients of a fit.",
      i = "Use the argument {.arg hypothesis} of
           {.fn marginaleffects::predictions}.")
  )
}

#' @exportS3Method marginaleffects::get_predict
get_predict.gibbsite_fit <- function(model, newdata = NULL,
                                     type = c("response", "link", "prediction"),
                                     ..., re_formula = NULL,
                                     allow_new_levels = FALSE) {
  call <- rlang::current_env()
  check_regression(model, "model", call)
  type <- check_choice(type, c("response", "link", "prediction"))
  offset <- client_offset(model, newdata, "newdata", call)
  draws <- steady_draws(
    model, newdata, offset, re_formula, allow_new_levels, type, call
  )
  out <- data.frame(estimate = apply(draws, 2L, stats::median))
  out$rowid <- if (is.data.frame(newdata)) newdata$rowid
  structure(out, posterior_draws = t(unname(draws)))
}

# Draws of the linear predictor, the expected response or new responses, draws x
# rows. Differences of predictions are taken: a new group has the same
# deviations in each call.
steady_draws <- function(object, newdata, offset, re_formula, allow_new_levels,
                         type, call) {
  response <- model_response(fit_part(object, "model"))
  check_one_predictor(fit_part(object, "model"), call)
  if (type == "response") check_has_moments(response, "one mean", call)
  at <- rows_and_draws(
    object, newdata, NULL, offset, re_formula, allow_new_levels, call
  )
  check_result_size(
    c(nrow(at$draws), nrow(at$rows$x)), "draws x observations",
    "{.arg newdata}", call
  )
  at <- from_seed(1L, at_some_draws(at))
  switch(type,
    link = at$eta, response = response_mean(response, at$eta),
    prediction = response_draw(
      response, at$eta,
      response_size(
        response, at$model, newdata, NULL, NULL, ncol(at$eta), call
      ), at$scale
    )
  )
}

# ---- parsnip -----------------------------------------------------------------

# The engine "gibbsite" of parsnip's models, registered when parsnip is loaded.

# Another session's registration may already be there, where the package is
# loaded again.
register_engines <- function() {
  of_parsnip <- function(name) getExportedValue("parsnip", name)
  known <- of_parsnip("get_from_env")("logistic_reg")
  if ("gibbsite" %in% known$engine) {
    return(invisible())
  }
  models <- list(
    list(
      model = "logistic_reg", mode = "classification", fun = "gibbs_logistic",
      predictions = engine_logistic
    ),
    list(
      model = "linear_reg", mode = "regression", fun = "gibbs_lm",
      predictions = engine_linear
    )
  )
  for (one in models) {
    place <- list(one$model, mode = one$mode, eng = "gibbsite")
    run <- function(name, ...) do.call(of_parsnip(name), c(place, list(...)))
    run("set_model_engine")
    of_parsnip("set_dependency")(
      one$model, eng = "gibbsite", pkg = "gibbsite", mode = one$mode
    )
    run("set_fit", value = list(
      interface = "formula", protect = c("formula", "data", "weights"),
      func = c(pkg = "gibbsite", fun = one$fun),
      defaults = list(progress = FALSE)
    ))
    run("set_encoding", options = list(
      predictor_indicators = "traditional", compute_intercept = TRUE,
      remove_intercept = TRUE, allow_sparse_x = FALSE
    ))
    for (type in names(one$predictions)) {
      run("set_pred", type = type, value = one$predictions[[type]])
    }
  }
}

# A call of predict() for parsnip, and what makes its table of the result.
engine_prediction <- function(..., post = NULL) {
  list(
    pre = NULL, post = post, func = c(fun = "predict"),
    args = list(
      object = quote(object$fit), newdata = quote(new_data), ...
    )
  )
}

engine_logistic <- list(
  class = engine_prediction(type = "class"),
  prob = engine_prediction(
    type = "response", post = function(x, object) {
      of_both_levels(list(1 - x, x), object$lvl)
    }
  ),
  conf_int = engine_prediction(
    type = "response", interval = "mean", level = quote(level),
    post = function(x, object) {
      lower <- of_both_levels(list(1 - x$upper, x$lower), object$lvl)
      upper <- of_both_levels(list(1 - x$lower, x$upper), object$lvl)
      names(lower) <- paste0(".pred_lower_", object$lvl)
      names(upper) <- paste0(".pred_upper_", object$lvl)
      # as parsnip has them: both ends of a level beside each other
      out <- cbind(lower, upper)[c(1L, 3L, 2L, 4L)]
      with_std_error(out, x, object, "conf_int")
    }
  ),
  raw = engine_prediction(type = "link")
)

engine_linear <- list(
  numeric = engine_prediction(type = "response", post = function(x, object) {
    unname(x)
  }),
  conf_int = engine_prediction(
    type = "response", interval = "mean", level = quote(level),
    post = function(x, object) engine_interval(x, object, "conf_int")
  ),
  pred_int = engine_prediction(
    type = "response", interval = "prediction", level = quote(level),
    post = function(x, object) engine_interval(x, object, "pred_int")
  ),
  raw = engine_prediction(type = "link")
)

engine_interval <- function(x, object, type) {
  out <- data.frame(.pred_lower = x$lower, .pred_upper = x$upper)
  with_std_error(out, x, object, type)
}

with_std_error <- function(out, x, object, type) {
  if (isTRUE(object$spec$method$pred[[type]]$extras$std_error)) {
    out$.std_error <- x$sd
  }
  out
}

of_both_levels <- function(values, levels) {
  stats::setNames(
    data.frame(unname(values[[1L]]), unname(values[[2L]])), levels
  )
}
