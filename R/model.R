# The contract of a model: everything that the driver and a fit need from it.
#
# A model is a plain list of class c("<x>_model", "gibbsite_model") without
# closures of the package, so that it can be sent to other processes.
# new_model() makes it with these fields:
#
#   name         the public function, first class of the fit
#   title        what it is called in print
#   headline     one line for print(): model, size, data
#   data         list of plain vectors, as C reads them
#   data_hash    the value of model_hash()
#   data_part    the field that holds what keep_data = FALSE leaves out
#   given        words for the data in messages: see given_words()
#   arguments_at the field with the further arguments of the user's functions
#   nobs         number of observations
#   prior        the completed prior
#   columns      names of the stored quantities, in the order of a row
#   independent  TRUE if the draws are independent, so that convergence need not
#                be checked
#   pivot        NULL, or what fixes the numbering of components in the draws:
#                "first draw" (R/run-pool.R), or the model's own
#   cures        what to try when chains are stuck or mix slowly: sentences
#
# and has methods for the generics below, which are internal. A state is a list
# of plain vectors. It holds everything that the next sweep needs, and its
# element `sweep` counts the sweeps since the start of the chain.
#
# tests/testthat/helper-fit.R has a complete model in 50 lines.

new_model <- function(class, name, title, headline, data, prior, nobs, columns,
                      ..., data_part = "data", given = given_words(),
                      arguments_at = NULL, independent = FALSE, cures = NULL,
                      fit_class = fit_classes(name)) {
  model <- structure(
    list(
      name = name, title = title, headline = headline, data = data,
      data_hash = NULL, data_part = data_part, given = given,
      arguments_at = arguments_at, nobs = nobs, prior = prior,
      columns = columns, independent = independent, cures = cures,
      fit_class = fit_class, ...
    ),
    class = with_parents(c(class, "gibbsite_model"))
  )
  model$data_hash <- model_hash(model)
  model
}

# How a message names a fit: its call in short, "gibbs_gmm(k = 3)".
short_call <- function(model) {
  paste0(model$name, "(", paste(model_words(model), collapse = ", "), ")")
}

# Arguments that tell fits of one kind apart, as a user types them.
model_words <- function(model) UseMethod("model_words")
#' @exportS3Method
model_words.default <- function(model) {
  formula <- model$design$formula
  link <- model$design$link %||% "logit"
  words <- if (!is.null(formula)) deparse1(formula)
  family <- model$design$family
  c(
    if (any(nchar(words) > 60L)) paste0(substr(words, 1L, 57L), "...") else
      words,
    if (link != "logit") paste0("link = \"", link, "\""),
    if (identical(family, "negbinomial")) "family = \"negbinomial\"",
    if (!is.null(model$design$errors)) {
      paste0("errors = \"", model$design$errors, "\"")
    }
  )
}

# ---- Required ---------------------------------------------------------------

# The state of a chain before its first sweep, drawn on the chain's own stream.
# `init`: NULL, or a named list given by the user and checked.
model_start <- function(model, init) UseMethod("model_start")

# n sweeps from `state`: list(state, draws, rng), or NULL when an interrupt
# was seen inside a sweep.  control: list(burnin, thin, threads).
model_sweeps <- function(model, state, n, control) UseMethod("model_sweeps")

# NULL from the core means that Ctrl-C was pressed there; the interrupt is
# raised here.
interrupt_or <- function(result) {
  if (is.null(result)) {
    rlang::interrupt()
  }
  result
}

# Checks one chain's starting values given by the user.  Returns them in the
# model's form, or raises an error of the user's call.
model_check_init <- function(model, init, where, call) {
  UseMethod("model_check_init")
}

# Starting values for a new run from the last state of a chain of an earlier fit
# of the same kind; elements may be NULL.
model_init_from_state <- function(model, state) {
  UseMethod("model_init_from_state")
}

# ---- Quantities for convergence ---------------------------------------------

# Quantities that do not depend on the numbering of components: a matrix with
# names, one row a draw.  R-hat and effective sample sizes are judged on them.
model_invariants <- function(model, draws) UseMethod("model_invariants")
#' @exportS3Method
model_invariants.default <- function(model, draws) draws

# Names of quantities that are judged less strictly, because no user reads an
# answer from them: R/fit-convergence.R, row_limits().
model_inner <- function(model) UseMethod("model_inner")
#' @exportS3Method
model_inner.default <- function(model) character()

# The columns that depend on the numbering of the components.
model_labelled <- function(model, invariants) UseMethod("model_labelled")
#' @exportS3Method
model_labelled.default <- function(model, invariants) {
  setdiff(model$columns, invariants)
}

# The result of model_sweeps(), list(draws, state, rng), with the components of
# each draw numbered so that a column has the same meaning in every draw of
# every chain. The numbering of a draw depends on the draw and the model alone.
# `before`: the state before these sweeps.
model_numbered <- function(model, run, before) UseMethod("model_numbered")
#' @exportS3Method
model_numbered.default <- function(model, run, before) run

# Whether components are numbered consistently across draws.
is_numbered <- function(model) !is.null(model$pivot)

# For a model whose chains keep their own numbers of the components while they
# run (R/run-pool.R): a list with one vector for each chain, its numbers of the
# fit's components 1, 2, ..., from the states of chains that have a kept draw.
# NULL: the chains' numbers are the fit's.
model_orders <- function(model, states) UseMethod("model_orders")
#' @exportS3Method
model_orders.default <- function(model, states) NULL

# Draws, in which component `order[c]` gets the number c.
model_reordered <- function(model, draws, order) UseMethod("model_reordered")

# For relabel(): list(draws, labels) of each chain. draws: in the numbers of
# `method`; labels: these numbers, draws x components. chains: matrices of
# draws.
model_renumbered <- function(model, chains, method, by, call) {
  UseMethod("model_renumbered")
}

# ---- Optional ---------------------------------------------------------------

# data.frame(variable, label): the meaning of each column, in words.
model_labels <- function(model) UseMethod("model_labels")
#' @exportS3Method
model_labels.default <- function(model) {
  data.frame(variable = model$columns, label = model$columns)
}

# Lines that explain the indices of those columns that summary() shows.
model_key <- function(model, shown) UseMethod("model_key")
#' @exportS3Method
model_key.default <- function(model, shown) NULL

# The columns, last of all, that a printed summary shows on demand: the stored
# effects of groups.
model_details <- function(model) {
  if (has_groups(model)) grep("^[uw]\\[", model$columns, value = TRUE)
}

# The words about those blocks that are shown, and what the numbers of the first
# ten `members` stand for.
key_of_blocks <- function(shown, words, title, members) {
  used <- vapply(names(words), function(block) {
    any(startsWith(shown, paste0(block, "[")))
  }, NA)
  if (!any(used)) {
    return(NULL)
  }
  numbered <- paste(seq_along(members), members)
  if (length(numbered) > 10L) {
    numbered <- c(numbered[1:10], "...")
  }
  paste0(
    paste(c(words[used], title), collapse = "; "),
    paste(numbered, collapse = ", ")
  )
}

# Why the chains of a fit have not converged, and what to do: `cause` as
# find_cause() gives it from the table of quantities, or a cause of the model's
# own, list(kind, variable, drop, more, lead, words, call), where `lead` is the
# first line of the verdict, `words` are the last ones and `call` is the next
# call.
model_cause <- function(model, fit, table, cause) UseMethod("model_cause")
#' @exportS3Method
model_cause.default <- function(model, fit, table, cause) cause

# Lines of a warning about a fit whose chains have converged.
model_faults <- function(model, fit) UseMethod("model_faults")
#' @exportS3Method
model_faults.default <- function(model, fit) NULL

# Further lines about the sampler's performance, for print() and summary().
model_notes <- function(model, fit, table) UseMethod("model_notes")
#' @exportS3Method
model_notes.default <- function(model, fit, table) NULL

# What is doubtful about a density that the user has given: a list of doubts,
# list(kind, words); those of kind "improper" say that no chain will converge.
# `draws`: a matrix for each chain; NULL before the chains run.
model_doubts <- function(model, draws, converged) UseMethod("model_doubts")
#' @exportS3Method
model_doubts.default <- function(model, draws, converged) NULL

# Calls of `fit` that answer what a user of the model asks first, for the last
# line of print(). The fit holds its data and averages, and has converged.
model_next <- function(model) UseMethod("model_next")
#' @exportS3Method
model_next.default <- function(model) {
  response <- model_response(model)
  c(
    if (!is.null(response)) "predict(fit)",
    if (isTRUE(response$link %in% c("logit", "log"))) {
      "tidy(fit, exponentiate = TRUE)"
    }
  )
}

# What to do instead where a fit has no answer: sentences with the names
# "comparison", "coefficients", "weights" and "pp_check". R/fit-generics.R has
# those of the default.
model_hints <- function(model) UseMethod("model_hints")

# For a model of the user: the names of the columns that a draw needs, and a row
# of the draws as the user's functions take it.
model_point_columns <- function(model) UseMethod("model_point_columns")
model_point <- function(model, row) UseMethod("model_point")

# data.frame(block, steps, rate, burnin_steps, burnin_rate, scale) of one chain;
# block alone if each is drawn from its conditional; NULL for a model whose
# steps are not counted.
model_acceptance <- function(model, state) UseMethod("model_acceptance")
#' @exportS3Method
model_acceptance.default <- function(model, state) NULL

# A data frame for each chain with its steps, see mh_trace(). Attributes: start,
# the point before the first step, if it is known; log_density, NULL or a
# function of the point.
model_trace <- function(model, fit, arg, call) UseMethod("model_trace")
#' @exportS3Method
model_trace.default <- function(model, fit, arg, call) {
  abort_argument(
    "{.arg {arg}} must be made by {.code mh_sample(debug = TRUE)} or by
     {.fn gibbs_sample}.", call = call
  )
}

# The state with its running averages (over kept draws) as before the first one;
# `anew`: draws that were kept before are given up, too.
model_without_averages <- function(model, state, anew = FALSE) {
  UseMethod("model_without_averages")
}
#' @exportS3Method
model_without_averages.default <- function(model, state, anew = FALSE) state

# The model prepared to run, if this calls code of the user and may be
# interrupted. For a model of class "unfinished_model" it must be called again.
model_prepare <- function(model, running, call) UseMethod("model_prepare")
#' @exportS3Method
model_prepare.default <- function(model, running, call) model

unfinished <- function(model) {
  class(model) <- union(class(model), "unfinished_model")
  model
}

# The model without parts that may differ between equal models, such as the
# environment of a formula, and the connection to the processes that hold its
# data.
model_comparable <- function(model) UseMethod("model_comparable")
#' @exportS3Method
model_comparable.default <- function(model) {
  bare <- function(x) {
    if (!is.null(x)) attr(x, ".Environment") <- NULL
    x
  }
  for (part in c("frame", "design")) {
    for (name in intersect(c("formula", "terms"), names(model[[part]]))) {
      model[[part]][name] <- list(bare(model[[part]][[name]]))
    }
  }
  if (!is.null(model$frame$model)) {
    attr(model$frame$model, "terms") <- bare(attr(model$frame$model, "terms"))
  }
  model$corpus <- NULL
  model
}

# One sweep of conditional modes, for method = "icm": list(state, log_joint).
# If log_joint is unknown (NA), also `change`, the largest relative change of a
# number of the state.
model_climb <- function(model, state, threads) UseMethod("model_climb")

# The parameters of a state in the model's own terms: a named list.
model_estimate <- function(model, state) UseMethod("model_estimate")

# The log of the density that a Laplace approximation approximates, at each row
# of `w` (points x p), with the constant that the evidence needs.
model_log_joint <- function(model, w) UseMethod("model_log_joint")

# The log of p(y | parameters) p(parameters) as a function of stored columns:
# list(columns, spec, log_joint, log_lik, proper), NULL if there is none. `spec`
# has bounds and scales as R/mh-density.R reads them; log_joint(x) is the value
# at each row of x (points x columns), log_lik(x, i) that of observation i of
# log_lik() alone; `proper`: whether the prior is.
model_density <- function(model) UseMethod("model_density")
#' @exportS3Method
model_density.default <- function(model) NULL

# "laplace" if the chains draw from a normal approximation, or correct one.
model_algorithm <- function(model) UseMethod("model_algorithm")
#' @exportS3Method
model_algorithm.default <- function(model) "sampling"

# The evidence, if the model knows it without a bridge; otherwise NULL.
# correct: of log_evidence().
model_evidence <- function(model, fit, correct, call) {
  UseMethod("model_evidence")
}

# The log of p(y | parameters) p(parameters) on a scale without bounds, with
# every constant and the Jacobian, for log_evidence(): list(points,
# log_density). points(draws): the coordinates of stored draws, draws x
# coordinates; log_density(x): the value at each row of x. Or list(points,
# ratios, method) with a proposal of the model's own, of the name `method`
# (bridge_integral() says what ratios() returns). NULL if the prior is
# improper. A model whose fits do not hold what it takes raises an error of the
# user's call. `given`: NULL, or the user's list(log_density, lower, upper).
model_unbounded <- function(model, given, call) UseMethod("model_unbounded")

# What log_lik() is the density of; of a regression this is its response. Its
# hash tells loo_compare() whether fits are of the same data. NULL if the model
# does not hold its data, or holds none.
model_outcome <- function(model) UseMethod("model_outcome")
#' @exportS3Method
model_outcome.default <- function(model) {
  frame <- model$frame
  if (!is.null(frame$y)) {
    used <- rows_used(frame)
    list(
      y = unname(as.double(frame$y[used])),
      trials = if (!is.null(frame$trials)) as.double(frame$trials[used])
    )
  }
}

# Whether kfold() has fits of the model: all regressions have.
can_fold <- function(model) UseMethod("can_fold")
#' @exportS3Method
can_fold.default <- function(model) !is.null(model_response(model))

# The models of a fold of kfold(): list(train, test). `train` is the model
# without the elements `held` of log_lik(), with its prior as it is. `test` is
# the model whose log_lik() of draws of `train` evaluates these elements
# (compare_k(): whose predictions do). `by`: "observation", or a factor of
# check_by().
model_fold <- function(model, held, by) UseMethod("model_fold")

# For compare_k(): the number of components, topics or factors; the data, which
# must be equal; and how fits are compared: list(of, columns, criterion, second,
# evidence, difference, se, notes). `of`: the first line of the print;
# `columns`: a data frame with a row for each fit, which has the columns
# `criterion` and, drawn below it, `second`; `difference`: how much worse a fit
# is than the best, with its standard error `se`; `evidence`: whether it is a
# log Bayes factor; `notes`: lines below the table.
model_size <- function(model) UseMethod("model_size")
model_observed <- function(model) UseMethod("model_observed")
model_compare_k <- function(model, fits, names, settings, call) {
  UseMethod("model_compare_k")
}

# ---- Regressions: a predictor and a response ---------------------------------
#
# The predictor is eta = o + x'w (fixed effects, the default), with groups
# o + x'b + z'u_j, or that of a normal approximation. Methods of fits use it
# through these generics only.

# The response given eta, of R/regression-response.R; NULL: no regression.
model_response <- function(model) UseMethod("model_response")
#' @exportS3Method
model_response.default <- function(model) NULL

# The rows to predict: list(x, offset, names, ...). at: list(newdata, offset,
# re_formula, allow_new_levels, new_groups: whether all are of new groups).
predictor_rows <- function(model, at, call) UseMethod("predictor_rows")

# eta of each of the draws (a matrix with the model's columns) in each of the
# rows. Deviations of groups that are not stored are drawn.
predictor_at_draws <- function(model, draws, rows) {
  UseMethod("predictor_at_draws")
}

# list(mean, sd): eta is the mixture of N(mean, sd^2) over the rows of these
# matrices; sd is NULL if eta is known given a draw. Or list(x, w, offset),
# which stands for the mean o + x'w.
predictor_moments <- function(model, draws, rows) {
  UseMethod("predictor_moments")
}

# log_lik() of the fit's own data, if C has it in one pass; NULL: it is that of
# the response given the predictor.
predictor_log_lik <- function(model, draws) UseMethod("predictor_log_lik")
#' @exportS3Method
predictor_log_lik.default <- function(model, draws) NULL

# The value of coef() of a fit.
predictor_coefficients <- function(model, fit) {
  UseMethod("predictor_coefficients")
}

# The value of ranef() of a fit.
predictor_deviations <- function(model, fit) UseMethod("predictor_deviations")

# The bars of a formula by the names of their groups, each list(design,
# columns).
predictor_bars <- function(model) UseMethod("predictor_bars")

# list(model, draws, term): where the coefficients of a term of groups (see
# group_terms()) are those of a model of one linear predictor.
predictor_view <- function(model, draws, term) UseMethod("predictor_view")
#' @exportS3Method
predictor_view.default <- function(model, draws, term) {
  list(model = model, draws = draws, term = term)
}

# The deviations of the groups that draws store, q x groups x draws. NULL if the
# draws do not store them.
predictor_stored_deviations <- function(model, draws) {
  UseMethod("predictor_stored_deviations")
}

# The columns of which confint() has intervals.
predictor_parameters <- function(model) UseMethod("predictor_parameters")

# The log density of the responses of each group of the factor `by`, draws x
# groups, with the group's deviations integrated out.
predictor_group_log_lik <- function(model, draws, by, call) {
  UseMethod("predictor_group_log_lik")
}

# L of the covariance L L' of the groups of bar f: of each linear predictor an
# array, draws x terms x terms.
predictor_factors <- function(model, draws, f) UseMethod("predictor_factors")

# The draws of a regression with t errors as they are stored. `draws`: those
# that C gives, with the coefficients in the units of the data.
model_stored_draws <- function(model, draws) UseMethod("model_stored_draws")

# The quantities of a state that its predictor has: the coefficients, and of
# groups those of their covariances and the first deviations.
model_effects <- function(model, state) UseMethod("model_effects")
#' @exportS3Method
model_effects.default <- function(model, state) {
  stats::setNames(state$b, model$coefficients)
}

# ---- Topic models, whose documents may be in shards (R/lda-shards.R) ---------

# model_sweeps() from a start that is chosen.
topic_sweeps <- function(model, state, n, control) UseMethod("topic_sweeps")

# Elements of a start for these topics of all tokens; NULL: they are drawn.
place_topics <- function(model, z) UseMethod("place_topics")

# A state is not needed any more.
forget_topics <- function(model, state) UseMethod("forget_topics")
#' @exportS3Method
forget_topics.default <- function(model, state) invisible()

# Whether other processes hold the data and the large parts of states: chains
# then run in the session which has the connections.
is_in_shards <- function(model) !is.null(model$corpus)

# ---- Checkpoints of a model whose data other processes hold ------------------

# The model and a state as a checkpoint holds them.
model_to_store <- function(model) UseMethod("model_to_store")
#' @exportS3Method
model_to_store.default <- function(model) model

state_to_store <- function(model, state) UseMethod("state_to_store")
#' @exportS3Method
state_to_store.default <- function(model, state) state

# A state of a checkpoint, as chains of this model have it.
state_from_store <- function(model, state) UseMethod("state_from_store")
#' @exportS3Method
state_from_store.default <- function(model, state) state

# The model of a checkpoint with the data that resume() was given, if other
# processes hold them, or held them; an error if they are not those of the run.
# NULL: neither.
model_moved <- function(model, data, call) UseMethod("model_moved")
#' @exportS3Method
model_moved.default <- function(model, data, call) NULL

# The model that goes on where the data are which the user gave again: in other
# processes or here. `given`: the model with these data.
model_placed <- function(model, given, data, call) UseMethod("model_placed")
#' @exportS3Method
model_placed.default <- function(model, given, data, call) model

# ---- The joint distribution of parameters and data (R/joint.R) ---------------

# A state drawn from the prior, on R's generator.
draw_prior <- function(model) UseMethod("draw_prior")

# The parameters that a user's draw_prior() gave, complete and in the form of a
# start. init: checked by model_check_init().
model_whole_start <- function(model, init) UseMethod("model_whole_start")
#' @exportS3Method
model_whole_start.default <- function(model, init) init

# Data simulated given a state, in the form of set_data().
simulate_data <- function(model, state) UseMethod("simulate_data")

# Simulated data in the form in which a user knows them.
shown_data <- function(model, data) UseMethod("shown_data")
#' @exportS3Method
shown_data.default <- function(model, data) data

# A vector of numbers with names, of a state and of the model's data, which do
# not depend on the numbering of components.
model_quantities <- function(model, state) UseMethod("model_quantities")

# Further ones for geweke_joint(): they may depend on the numbering, because the
# test does not need chains that visit every numbering.
further_quantities <- function(model, state) UseMethod("further_quantities")
#' @exportS3Method
further_quantities.default <- function(model, state) NULL

# The model with other data. extend() and resume() also use it, for data
# supplied again.
set_data <- function(model, data, call = rlang::caller_env()) {
  UseMethod("set_data")
}

# The model for extend(data = ): of its own data and, after them, `data`. NULL:
# the data are the model's own, or no more can be added.
model_enlarged <- function(model, data, call) UseMethod("model_enlarged")
#' @exportS3Method
model_enlarged.default <- function(model, data, call) NULL

# The start of a chain of that model, from the last state of a chain of a fit,
# whose model was `before`. Runs on the chain's stream.
model_state_enlarged <- function(model, before, chain) {
  UseMethod("model_state_enlarged")
}

# ---- The data of a model ----------------------------------------------------

# The hash of the user's data (of a density: of its code, and what comes with
# it), by which data that are supplied again are compared with those of the run.
model_hash <- function(model) UseMethod("model_hash")
#' @exportS3Method
model_hash.default <- function(model) hash(model$data)

# The words of messages about the user's data: `arg` names the argument of
# extend() and resume().
given_words <- function(arg = "data", what = "data", are = "are not the data",
                        those = "those",
                        hint = "Give the data to which the model was fitted.") {
  list(arg = arg, what = what, are = are, those = those, hint = hint)
}

given_density <- given_words(
  "log_density", "log density", "is not the function", "that",
  "Give the function with which the fit was made."
)

# The model without its data, as after drop_data() or keep_data = FALSE.
model_without_data <- function(model) {
  # list(NULL) keeps the element with the value NULL
  model[model$data_part] <- list(NULL)
  if (!is.null(model$imputed)) {
    model$imputed$models <- lapply(model$imputed$models, model_without_data)
  }
  model
}

# Whether the model lacks what model_without_data() leaves out.
lacks_data <- function(model) {
  any(vapply(unclass(model)[model$data_part], is.null, NA))
}

# Whether chains can be continued.
model_has_data <- function(model) !is.null(model$data)

# The model in the form of this version: its prior, and the hash of its data.
# The hash of data which the model does not hold stays, until they are supplied
# again.
renew_model <- function(model) {
  model <- current_model(model)
  if (inherits(model$data$model, "gibbsite_model")) {
    model$data$model <- renew_model(model$data$model)
  }
  if (is_old_hash(model$data_hash) && model_has_data(model)) {
    model$data_hash <- model_hash(model)
  }
  model_renew(model)
}

# A model that an earlier version stored, with its own fields in the form of
# this version.
model_renew <- function(model) UseMethod("model_renew")

#' @exportS3Method
model_renew.default <- function(model) model

# Names that fields of priors had before, by the class of the prior.
earlier_fields <- list(
  lm_prior = c(
    a = "slope_shape", b = "slope_rate", c = "noise_shape", d = "noise_rate"
  ),
  hlm_prior = character(),
  logistic_prior = c(
    c = "slope_variance", intercept_c = "intercept_variance"
  ),
  bmf_wishart = c(
    e = "noise_shape", f = "noise_rate", g = "feature_shape",
    h = "feature_rate", lambda_b = "feature_precision"
  ),
  bmf_gamma = c(
    a = "user_shape", b = "user_rate", c = "item_shape", d = "item_rate",
    e = "noise_shape", f = "noise_rate"
  ),
  bmf_fixed = c(c = "factor_variance", sigma2 = "noise_variance")
)

# A model whose prior has the names and the class of this version.
with_renewed_prior <- function(model) {
  prior <- model$prior
  class <- class(prior)[[1L]]
  if (!class %in% names(earlier_fields)) {
    return(model)
  }
  fields <- unclass(prior)
  known <- names(fields) %in% names(earlier_fields[[class]])
  # there were no t errors
  normal <- class %in% c("lm_prior", "hlm_prior") && !"nu" %in% names(fields)
  if (!any(known) && !normal && !startsWith(class, "bmf_")) {
    return(model)
  }
  if (normal) {
    at <- match("intercept_sd", names(fields))
    fields <- append(fields, list(nu = NULL), at)
    known <- append(known, FALSE, at)
  }
  names(fields)[known] <- earlier_fields[[class]][names(fields)[known]]
  if (startsWith(class, "bmf_")) {
    fields <- c(list(type = sub("bmf_", "", class)), fields)
    class <- "bmf_prior"
  }
  model$prior <- structure(fields, class = c(class, "gibbsite_prior"))
  if (!is.null(model$cures)) {
    model$cures <- sub(
      "logistic_prior(c = )`", "logistic_prior(slope_variance = )`",
      model$cures, fixed = TRUE
    )
  }
  if (!is.null(model$imputed)) {
    model$imputed$models <- lapply(model$imputed$models, with_renewed_prior)
  }
  model
}

# Classes that models share, by the first class of the model. They stand after
# it.
model_parents <- list(
  gmm_model = "mixture_model", gmm_unknown_model = "mixture_model",
  mh_model = "user_model", gibbs_sample_model = "user_model",
  geweke_model = "joint_test_model", sbc_model = "joint_test_model",
  logistic_model = c("ungrouped_logistic_model", "trials_model"),
  laplace_logistic_model = c("ungrouped_logistic_model", "trials_model"),
  hlm_binomial_model = c(
    "hlm_trials_model", "trials_model", "stored_groups_model"
  ),
  hlm_crossed_binomial_model = c("hlm_trials_model", "trials_model"),
  hlm_t_model = c("stored_groups_model", "no_evidence_model"),
  hlm_crossed_t_model = "no_evidence_model",
  hlm_count_model = "no_evidence_model", count_model = "fixed_effects_model",
  hlm_ordinal_model = "no_evidence_model",
  ordinal_model = "fixed_effects_model",
  hlm_categorical_model = "no_evidence_model",
  categorical_model = "fixed_effects_model"
)

with_parents <- function(classes) {
  parents <- model_parents[[classes[[1L]]]]
  c(classes[[1L]], parents, setdiff(classes[-1L], parents))
}

# The classes of the fits that the function of this name makes.
fit_classes <- function(name) {
  c(name, switch(name,
    mh_sample = , gibbs_sample = "gibbsite_sample",
    gibbs_ordinal = ,
    gibbs_categorical = c("gibbsite_categories", "gibbsite_regression"),
    laplace_logistic = c("gibbsite_regression", "gibbsite_laplace"),
    gibbs_lm = , gibbs_hlm = , gibbs_logistic = ,
    gibbs_count = "gibbsite_regression"
  ))
}

# A model of an earlier version, with the classes of this one: there was a
# "logit_model", and fits of regressions and samples had no class in common.
current_model <- function(model) {
  if (!inherits(model, "gibbsite_model")) {
    return(model)
  }
  model <- with_renewed_prior(model)
  class(model)[class(model) == "logit_model"] <- "logistic_model"
  class(model) <- with_parents(class(model))
  classes <- fit_classes(model$name)
  imputed <- intersect("gibbsite_imputed", model$fit_class)
  if (length(classes) > 1L &&
        !identical(model$fit_class, c(imputed, classes))) {
    model$fit_class <- c(imputed, classes)
    if (!is.null(model$imputed)) {
      model$imputed$models <- lapply(model$imputed$models, current_model)
    }
  }
  model
}
