# Names of arguments: in calls of functions that pass `...` on, and those that
# only other packages have.

# R takes a short name for an argument before `...`: `p`, data of the user's
# function, for `proposal`. A function that passes `...` on begins with
#
#   if (has_short_names()) return(with_whole_names())
#
# which calls it again so that only whole names are taken for its arguments.
has_short_names <- function() {
  f <- sys.function(-1L)
  typed <- sys.call(-1L)
  !is.null(whole_names(f, typed, parent.frame(2L)))
}

with_whole_names <- function() {
  f <- sys.function(-1L)
  typed <- sys.call(-1L)
  env <- parent.frame(2L)
  again <- whole_names(f, typed, env)
  # the name of a method, which the caller may not find
  known <- if (is.name(typed[[1L]])) {
    stats::setNames(list(f), as.character(typed[[1L]]))
  }
  eval(again, known, env)
}

# The arguments of a call that was typed in env, with those of its `...`.
given_arguments <- function(typed, env) {
  as.list(match.call(
    function(...) NULL, typed, expand.dots = FALSE, envir = env
  )$...)
}

# A call of f, `typed` in `env`, in which each argument before `...` has its
# whole name, or NULL if R takes no other name for one. An argument that is not
# given is empty in it.
whole_names <- function(f, typed, env) {
  known <- names(formals(f))
  before <- known[seq_len(match("...", known) - 1L)]
  given <- given_arguments(typed, env)
  names <- rlang::names2(given)
  others <- setdiff(names, c("", known))
  free <- setdiff(before, names)
  if (!any(outer(free, others, startsWith))) {
    return(NULL)
  }
  at <- utils::head(which(!nzchar(names)), length(free))
  names[at] <- free[seq_along(at)]
  empty <- setdiff(before, names)
  as.call(c(
    typed[[1L]], stats::setNames(given, names),
    stats::setNames(rep(list(quote(expr = )), length(empty)), empty)
  ))
}

# The names in the call of the function that runs in `frame` that are those of
# no argument of it. For methods of other packages' generics there are none:
# there an argument may be abbreviated where R allows it.
completed_names <- function(frame) {
  i <- frame_number(frame)
  generic <- frame[[".Generic"]]
  if (is.na(i) || !is.null(generic) && !is_own_function(generic)) {
    return(character())
  }
  given <- given_arguments(sys.call(i), sys.frame(sys.parents()[[i]]))
  setdiff(rlang::names2(given), c("", names(formals(sys.function(i)))))
}

is_own_function <- function(name) {
  f <- get0(name, mode = "function")
  is.function(f) && identical(topenv(environment(f)), topenv())
}

# The number of a frame, NA if no function runs in it.
frame_number <- function(frame) {
  for (i in rev(seq_len(sys.nframe()))) {
    if (identical(sys.frame(i), frame)) {
      return(i)
    }
  }
  NA_integer_
}

# The arguments of the function that runs in a frame, with their defaults.
frame_formals <- function(frame) {
  i <- frame_number(frame)
  if (!is.na(i)) formals(sys.function(i))
}

# What a generic of models dispatches on: the formula of a call that names it
# (`formula =`), in any position, otherwise the first argument.
# what: the words for `x`;  arg: its name in the generic.
formula_or_first <- function(x, ...,
                             what = paste("a formula, or a numeric matrix of",
                                          "predictors"),
                             arg = "x", call = rlang::caller_env()) {
  at <- match("formula", names(substitute(list(...)))[-1L])
  if (!is.na(at)) {
    formula <- ...elt(at)
    if (!inherits(formula, "formula")) {
      abort_expected(formula, "a formula", FALSE, "formula", call)
    }
    return(formula)
  }
  if (missing(x)) {
    abort_needed(arg, what, call)
  }
  x
}

# The call of the model `name`, made in `env`. In the place of a formula `..1`,
# as lapply() gives it, means nothing elsewhere. Expressions in the columns of
# the data are taken as they were written.
call_of_model <- function(call, name, formula = NULL, env = parent.frame(2L)) {
  call[[1L]] <- as.name(name)
  if (is_dots_element(call$formula)) {
    call$formula <- formula
  }
  for (arg in c("weights", "offset", "subset", "se")) {
    given <- call[[arg]]
    if (is_dots_element(given)) {
      call[arg] <- list(typed_in_dots(given, env))
    }
  }
  call
}

# The expression that `..2` stands for in env. `...` may be that of a function
# around the one that runs there.
typed_in_dots <- function(element, env) {
  while (!exists("...", env, inherits = FALSE)) env <- parent.env(env)
  typed <- eval(quote(substitute(list(...))), env)
  typed[[as.integer(sub("[.][.]", "", element)) + 1L]]
}

is_dots_element <- function(x) is.name(x) && grepl("^[.][.][0-9]+$", x)

# ---- Arguments of other packages ---------------------------------------------

# Arguments that only other packages have: what a user writes here.

# Names of arguments in other packages, and what they are here.
foreign_arguments <- c(
  na.action = "na_action", mcmc = "draws", n.sample = "draws",
  iter = "draws", n.iter = "draws",
  warmup = "burnin", nburn = "burnin", n.burnin = "burnin", burn_in = "burnin",
  nchains = "chains", n.chains = "chains", G = "k",
  num_topics = "k", nbatch = "draws", k = "rank", modelNames = "covariance",
  allow.new.levels = "allow_new_levels", re.form = "re_formula",
  n.thin = "thin", new_data = "newdata", draws = "ndraws", ndraws = "draws",
  nsamples = "ndraws", niter = "draws", n_iter = "draws", iterations = "draws",
  nburnin = "burnin", num_warmup = "burnin", n_chains = "chains",
  thinning = "thin", nspac = "thin", initial = "init", verbose = "progress",
  ci = "conf.level", prob = "level", adapt_delta = "target",
  max_treedepth = "max_depth", pars = "variables", params = "variables",
  parameters = "variables", regex_pars = "variables"
)

family_hint <- function(known) {
  if ("link" %in% known) {
    return("The response is binomial; {.arg link} is \"logit\" or \"probit\".")
  }
  if (all(c("prior", "offset") %in% known)) {
    return(paste(
      "Responses of {.fn gibbs_lm} and {.fn gibbs_hlm} are normal,",
      if ("errors" %in% known) "or t distributed with {.code errors = \"t\"};",
      "those of {.fn gibbs_logistic} and {.fn laplace_logistic} are binomial,",
      "of {.fn gibbs_count} counts, and of {.fn gibbs_ordinal} and",
      "{.fn gibbs_categorical} categories."
    ))
  }
}

# Arguments of regressions in other packages, or of some functions here.
regression_words <- c(
  se = "{.fn gibbs_hlm} has {.arg se}: known standard errors of a normal
        response.",
  random = "Groups are bars of the formula: {.code y ~ x + (1 | g)}.",
  exposure = "An exposure is an offset: {.code offset = log(exposure)}.",
  link = "{.fn gibbs_logistic} has {.arg link}. Counts have a log link, ordered
          categories a probit link, other categories a logit link."
)

stan_settings <- c(
  "REML", "adapt_delta", "refresh", "backend", "iter_sampling", "max_treedepth"
)

# What to write for an argument of other packages, or NULL; a template. known:
# the arguments that there are.
foreign_hint <- function(name, known) {
  here <- foreign_arguments[name]
  if (!is.na(here) && here %in% known) {
    return(paste0("It is {.arg ", here, "} here."))
  }
  if (name != tolower(name) && tolower(name) %in% known) {
    return(paste0("It is {.arg ", tolower(name), "} here."))
  }
  if (name == "family") {
    return(family_hint(known))
  }
  if (name %in% names(regression_words) &&
        all(c("prior", "offset") %in% known)) {
    return(regression_words[[name]])
  }
  if (name %in% stan_settings && "log_density" %in% known) {
    return("{.fn nuts} has {.arg target} and {.arg max_depth}:
            {.code proposal = nuts(target = 0.9)}.")
  }
  if (name %in% stan_settings && "burnin" %in% known) {
    return("A Gibbs sampler has no such setting: see {.code ?running}.")
  }
  if (startsWith(name, "prior_") && "prior" %in% known) {
    return("{.arg prior} has all priors.")
  }
  if (name %in% c("pars", "variable")) {
    return("Take columns by their names afterwards, or {.fn draws_of}.")
  }
  if (name %in% c("reloo", "k_threshold")) {
    return("{.fn kfold} fits the model without some observations.")
  }
  if (name == "moment_match") {
    return("{.fn loo_moment_match} does this.")
  }
  if (name == "se.fit" && "interval" %in% known) {
    return("{.code interval = \"mean\"} adds standard deviations, as the column
            {.field sd}, and intervals.")
  }
  if (name == "summary" && "re_formula" %in% known) {
    return("{.fn posterior_epred} and {.fn posterior_predict} have the draws.")
  }
  if (name == "control" && "burnin" %in% known) {
    return("{.arg draws}, {.arg burnin}, {.arg chains} and {.arg seed} are
            arguments of their own.")
  }
  if (name == "exponentiate") {
    return("{.code tidy(fit, exponentiate = TRUE)} has odds ratios of a logistic
            regression, and {.code plot(fit, type = \"odds\")} draws them.")
  }
  if (name %in% c("stopwords", "min_length", "max_share") &&
        "vocabulary" %in% known) {
    return("{.code token_counts(x, stopwords = , min_length = )} makes
            {.arg x}.")
  }
  longer <- known[startsWith(known, name)]
  if (length(longer) > 0L) {
    return(paste0("Is it ", or_words(paste0("{.arg ", longer, "}")),
                  "? Names must be whole."))
  }
  near <- known[utils::adist(name, known) <= nchar(name) / 4]
  if (length(near) > 0L) {
    paste0("Is it ", or_words(paste0("{.arg ", near, "}")), "?")
  }
}
