# gibbs_hlm(): checks, constructs and runs.

#' @export
gibbs_hlm <- function(formula, data, prior = hlm_prior(), weights = NULL,
                      se = NULL, offset = NULL, subset = NULL,
                      na_action = "fail", contrasts = NULL, draws = NULL,
                      burnin = 1000, thin = 1, chains = 4, inits = NULL,
                      keep = NULL, threads = 1,
                      cores = getOption("mc.cores", 1L), seed = NULL,
                      checkpoint = NULL, stop_when = NULL,
                      progress = interactive(), keep_data = TRUE, ...) {
  call <- rlang::current_env()
  check_needed(formula = "a formula")
  check_no_more(..., call = call)
  check_class(prior, "hlm_prior", "hlm_prior()", arg = "prior", call = call)
  prior <- remade(prior, hlm_prior, "hlm_prior()", arg = "prior", call = call)
  running <- running(
    draws = draws, burnin = burnin, thin = thin, chains = chains,
    inits = inits, keep = keep, threads = threads, cores = cores, seed = seed,
    checkpoint = checkpoint, stop_when = stop_when, progress = progress,
    keep_data = keep_data, keep_choices = "w", keep_default = character()
  )
  user_call <- match.call()
  action <- check_na_action(na_action, "fail", call, arg = "na_action")
  rows <- if (!missing(data)) data
  frame <- hlm_frame_of_call(
    formula, rows, user_call, action, contrasts, parent.frame(), call
  )
  model <- hlm_model(frame, prior, running$keep, call)
  run_chains(model, running, user_call, call)
}

# The frame of a call of gibbs_hlm(), made in `env`.
hlm_frame_of_call <- function(formula, data, user_call, action, contrasts, env,
                              call) {
  parsed <- parse_hlm_formula(formula, data, call)
  check_model_formula(
    parsed$flat, "gibbs_hlm", c("lme4::lmer", "brms::brm"), call
  )
  if (!is.null(user_call[["se"]]) && !is.null(user_call[["weights"]])) {
    abort_argument("Give either `se` or `weights`, not both.", call = call)
  }
  frame_call <- user_call
  frame_call$formula <- parsed$with_group
  # the standard errors go the way of weights, so that rows are left out alike
  if (!is.null(user_call[["se"]])) {
    frame_call$weights <- user_call[["se"]]
  }
  made <- formula_frame(
    parsed$with_group, data, frame_call, action, env, call, hint = omit_hint
  )
  se <- NULL
  if (!is.null(user_call[["se"]])) {
    se <- check_numeric_vector(
      made$frame[["(weights)"]], length = nrow(made$frame),
      length_why = "one for each observation", lower = 0, lower_open = TRUE,
      arg = "se", call = call
    )
    made$frame[["(weights)"]] <- NULL
  }
  hlm_frame(made, parsed, formula, contrasts, se, call)
}
