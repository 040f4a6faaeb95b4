# Arguments that only other packages have: what a user writes here.

# Names of arguments in other packages, and what they are here.
foreign_arguments <- c(
  na.action = "na_action", mcmc = "draws", n.sample = "draws",
  iter = "draws", n.iter = "draws",
  warmup = "burnin", nburn = "burnin", n.burnin = "burnin", burn_in = "burnin",
  nchains = "chains", n.chains = "chains", G = "k",
  num_topics = "k", nbatch = "draws", k = "rank", modelNames = "covariance",
  allow.new.levels = "allow_new_levels", re.form = "re_formula",
  n.thin = "thin", new_data = "newdata", draws = "ndraws", ndraws = "draws"
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
  if (name %in% stan_settings && "burnin" %in% known) {
    return("A Gibbs sampler has no such setting: see {.code ?running}.")
  }
  if (startsWith(name, "prior_") && "prior" %in% known) {
    return("{.arg prior} has all priors.")
  }
  if (name %in% c("pars", "params", "parameters", "regex_pars") &&
        "variables" %in% known) {
    return("It is {.arg variables} here.")
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
    paste0("Is it ", or_words(paste0("{.arg ", longer, "}")),
           "? Names must be whole.")
  }
}
