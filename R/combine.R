# combine_fits(): chains of several runs of one model, or fits of several
# completed data sets, as one fit.

#' Unite the chains of several runs
#'
#' Puts the chains of several runs into one fit. The runs are of the same model
#' on the same data with different seeds, and may come from several machines.
#' The result is a fit like any other and can be continued with [extend()].
#' `c()` does the same.
#'
#' With `data = "imputed"` the fits are of several completed data sets, in which
#' missing values were imputed several times, and the result is the mixture of
#' their posteriors.
#'
#' @section Several completed data sets:
#' Missing values of predictors are imputed \eqn{M} times by draws, each
#' completed data set is fitted by the same call, and the posterior given the
#' observed values is the average of the \eqn{M} posteriors (Gelman and others
#' 2013, section 18.2; Zhou and Reiter 2010). The draws of all fits, of equal
#' length, are its draws: means, standard deviations and intervals need no
#' further rules. With few data sets the mixture is rough, above all its
#' intervals: take 20 or more where much is missing.
#'
#' Chains of different data sets have different distributions. R-hat and
#' effective sample sizes are therefore measured within each data set, and the
#' worst is shown; `mcse` is the error of the mean over all of them. The
#' posterior package's own functions do not know of the data sets. `print()` and
#' `summary()` give the fraction of missing information of coefficients,
#' \eqn{(1 + 1/M) B / T}{(1 + 1/M) B / T} with \eqn{B} the variance between the
#' means of the data sets and \eqn{T = W + (1 + 1/M) B}{T = W + (1 + 1/M) B},
#' \eqn{W} the mean variance within them (Rubin 1987).
#'
#' The fits must have the same formula, link, rows, stored quantities and number
#' of chains, the same functions, and priors by the same call: the values of a
#' default prior, which depend on the scale of the data, may differ. Where the
#' numbers of draws differ, the first draws of each fit are used, and a message
#' says so. The same seed may be used for all data sets. Fits of [gibbs_lm()],
#' [gibbs_hlm()], [gibbs_logistic()], [gibbs_count()], [gibbs_ordinal()],
#' [gibbs_categorical()], [mh_sample()] and [gibbs_sample()] are combined; their
#' methods are those of [imputed-fits].
#'
#' The imputations should be draws that use the response, as those of mice and
#' Amelia are. Of mice, give the result of `with()`, or fit each element of
#' `complete(imputed, "all")`.
#'
#' @param ... Two or more fits with the same model, data, prior, `burnin`,
#'   `thin`, `keep` and number of draws; or one list of them, also as mice's
#'   `with()` returns it.
#' @param data `"same"` (default), or `"imputed"` for fits of several completed
#'   data sets.
#' @return One fit with all chains, in the order given. Its seed is the vector
#'   of the runs' seeds. With `data = "imputed"` a fit of class
#'   `gibbsite_imputed`, too, which is not continued.
#' @section Errors: `gibbsite_error_argument` when the fits do not match, naming
#'   the first difference; `gibbsite_error_state` when chains share a stream of
#'   random numbers (the same seed, generator or draws), because such chains are
#'   copies and add no information, and when draws were changed by hand.
#' @references
#' Gelman A, Carlin JB, Stern HS, Dunson DB, Vehtari A, Rubin DB (2013).
#' *Bayesian Data Analysis*, third edition. CRC Press.
#'
#' Rubin DB (1987). *Multiple Imputation for Nonresponse in Surveys*. Wiley.
#'
#' Zhou X, Reiter JP (2010). A note on Bayesian inference after multiple
#' imputation. *The American Statistician* 64, 159-163.
#' \doi{10.1198/tast.2010.09109}
#' @seealso [extend()] to go on, [resume()] for a run that was stopped,
#'   [imputed-fits] for fits of completed data sets.
#' @examples
#' one <- gibbs_gmm(faithful, 2, draws = 100, burnin = 100, chains = 1,
#'                  seed = 1, progress = FALSE)
#' two <- gibbs_gmm(faithful, 2, draws = 100, burnin = 100, chains = 1,
#'                  seed = 2, progress = FALSE)
#' posterior::nchains(combine_fits(one, two))
#'
#' # Solar.R has missing values: ten imputations by a regression, whose
#' # coefficients are drawn too
#' air <- airquality[!is.na(airquality$Ozone), ]
#' lost <- is.na(air$Solar.R)
#' guess <- gibbs_lm(Solar.R ~ Ozone + Temp + Wind, air[!lost, ],
#'   lm_prior("nig"), draws = 100, seed = 1
#' )
#' set.seed(1)
#' drawn <- posterior_predict(guess, air[lost, ], ndraws = 10)
#' fits <- lapply(1:10, function(m) {
#'   completed <- transform(air, Solar.R = replace(Solar.R, lost, drawn[m, ]))
#'   gibbs_lm(Ozone ~ Solar.R + Temp + Wind, completed, lm_prior("nig"),
#'     draws = 200, seed = m
#'   )
#' })
#' fit <- combine_fits(fits, data = "imputed")
#' fit
#' predict(fit, data.frame(Solar.R = 200, Temp = 80, Wind = 10),
#'   interval = "mean"
#' )
#' @export
combine_fits <- function(..., data = c("same", "imputed")) {
  call <- rlang::current_env()
  fits <- list(...)
  if (length(fits) == 1 && !is_fit(fits[[1]]) && is.list(fits[[1]])) {
    fits <- fits[[1]]
  }
  # what mice's with() returns
  if (inherits(fits, "mira")) {
    data <- if (missing(data)) "imputed" else data
    fits <- fits$analyses
  }
  data <- check_choice(data, c("same", "imputed"))
  fits <- unname(as.list(fits))
  if (data == "imputed") mix_fits(fits, call) else unite_fits(fits, call)
}

#' @rdname combine_fits
#' @export
c.gibbsite_fit <- function(...) {
  unite_fits(unname(list(...)), rlang::current_env())
}

unite_fits <- function(fits, call) {
  check_fits(fits, call)
  for (fit in fits) {
    if (is_imputed(fit)) {
      abort_imputed(
        fit, "chains to unite",
        "Combine the fits of the single data sets, all at once.", call = call
      )
    }
  }
  fits <- lapply(fits, verify_fit, call = call)
  check_same_runs(fits, call)
  check_streams(fits, call)
  each <- function(part) lapply(fits, fit_part, part)
  model <- united_model(each("model"))
  before <- do.call(c, each("chains"))
  chains <- united_chains(model, before)
  if (!is.null(before[[1L]]$order)) {
    # names go with the topics
    model$names <- model$names[match(chains[[1L]]$order, before[[1L]]$order)]
  }
  numbered <- function(draws) {
    Map(function(x, chain) fit_numbers(model, x, chain$order), draws, chains)
  }
  new_fit(
    numbered(do.call(c, lapply(fits, shown_in_chains))),
    model = model,
    running = united_running(each("running")),
    chains = chains,
    pending = numbered(do.call(c, lapply(fits, pending_in_chains))),
    run = united_run(each("run"))
  )
}

# Two or more whole fits.
check_fits <- function(fits, call) {
  for (k in seq_along(fits)) {
    if (!inherits(fits[[k]], "gibbsite_fit")) {
      given <- describe(fits[[k]])
      abort_argument(
        "Argument {k} must be a fit with draws, not {given}.",
        call = call
      )
    }
  }
  for (k in seq_along(fits)) {
    check_whole_fit(fits[[k]], paste("fit", k), call, draws = FALSE)
  }
  if (length(fits) < 2) {
    abort_argument("There must be two or more fits, not {length(fits)}.",
                   call = call)
  }
}

# Chains of several fits, each of which has its own numbers of components, get
# common ones.
united_chains <- function(model, chains) {
  if (is.null(chains[[1L]]$order)) {
    return(chains)
  }
  orders <- model_orders(model, lapply(chains, `[[`, "state"))
  lapply(set_orders(chains, orders), function(chain) {
    # the hash is that of the draws with their old numbers
    chain$hash <- NULL
    chain
  })
}

# An error for the first difference between runs that must agree.
check_same_runs <- function(fits, call) {
  first <- run_parts(fits[[1L]])
  for (k in seq_along(fits)[-1L]) {
    other <- run_parts(fits[[k]])
    same <- mapply(
      identical, first, other, MoreArgs = list(ignore.environment = TRUE)
    )
    if (!all(same)) abort_different_runs(fits, k, first, other, same, call)
  }
}

# In the order in which a difference is named.
run_parts <- function(fit) {
  model <- model_comparable(fit_part(fit, "model"))
  running <- fit_part(fit, "running")
  list(
    "the function that made them" = class(fit)[1],
    "the formula" = if (is_regression(fit)) formula_words(fit),
    "the number of observations" = as.numeric(model$nobs),
    "the model" = model[setdiff(names(model), c(
      "data", "data_hash", "prior", "columns", "frame", "names", "nobs",
      "reference"
    ))],
    "the stored quantities" = model$columns,
    "the prior" = model$prior,
    "the data" = model$data_hash,
    "`burnin`" = as.numeric(running$burnin),
    "`thin`" = c(as.numeric(running$thin), stride_in(running)),
    "the number of draws" = as.numeric(running$draws),
    "`keep`" = running$keep,
    "the kind of generator" = running$rng_kind
  )
}

# first, other: run_parts() of the fits 1 and k; same: which of them agree.
abort_different_runs <- function(fits, k, first, other, same, call) {
  what <- names(first)[!same][[1L]]
  if (what == "the data") {
    check_same_hash(c(first[[what]], other[[what]]), call)
  }
  same_rows <- same_observations(fits[[1L]], fits[[k]])
  given <- differing_arguments(fits[[1L]], fits[[k]])
  said <- sprintf("%s in fit 1, %s in fit %d.", given[[1L]], given[[2L]], k)
  if (length(said) == 0L || what == "the function that made them") {
    said <- differing_words(first[[what]], other[[what]], what, k)
  }
  # what is computed from the prior or the data differs
  if (what == "the model" && length(said) == 0L && !same[["the data"]]) {
    what <- if (same_rows) "the prior" else "the data"
    said <- differing_words(first[[what]], other[[what]], what, k)
  }
  imputed <- inherits(fits[[1L]], imputed_kinds) && !same[["the data"]] &&
    same[["the function that made them"]] && !same_rows
  abort_argument(
    c("Fits 1 and {k} cannot be united: they differ in {what}.",
      bullets_of("said", said),
      i = if (imputed) {
        "Fits of several completed data sets are combined with
         {.code data = \"imputed\"}."
      },
      i = switch(what,
        "the number of draws" =
          "Bring them to one length with {.fn extend} first.",
        "`thin`" = ,
        "`burnin`" = "Give {.arg draws}, {.arg burnin} and {.arg thin} in both
          calls: without {.arg draws} a run may add burn-in, and keep fewer
          draws (see {.fn until})."
      )),
    call = call
  )
}

# Whether two fits hold the same observations.
same_observations <- function(a, b) {
  seen <- lapply(list(a, b), function(fit) {
    observations_in(fit_part(fit, "model"))
  })
  length(seen[[1L]]) > 0L && identical(seen[[1L]], seen[[2L]])
}

# The same where the calls are alike: parts of the models or priors, in words.
differing_words <- function(a, b, what, k) {
  if (what == "the data") {
    return(paste(
      "The calls are the same, but what they name had other values or another",
      "order."
    ))
  }
  if (what == "`thin`") {
    # sweeps from one kept draw to the next
    a <- prod(a)
    b <- prod(b)
  }
  a <- a %||% "none"
  b <- b %||% "none"
  if (is.atomic(a) && is.atomic(b)) {
    return(sprintf("%s in fit 1, %s in fit %d.", few_words(a), few_words(b), k))
  }
  words <- c(
    k = "`k`", rank = "`rank`", keep = "`keep`", method = "`method`",
    covariance = "`covariance`", init = "`init`", plan = "`proposal`",
    spec = "bounds or `transform`", extra = "further arguments of the density",
    parameters = "names of parameters", levels = "groups",
    coefficients = "coefficients", design = "terms, link or levels of factors"
  )
  if (what == "the prior") {
    words <- stats::setNames(paste0("`", names(a), "`"), names(a))
  }
  differ <- Filter(function(field) !identical(
    a[[field]], b[[field]], ignore.environment = TRUE
  ), names(words))
  if (length(differ) > 0L) {
    shown <- unname(words[utils::head(differ, 3L)])
    paste0("Not the same: ", and_words(shown), ".")
  }
}

# Arguments with which the calls of two fits differ, at most three, as they were
# written: list(of a, of b), "no `k`" where there is none.
differing_arguments <- function(a, b) {
  written <- lapply(list(a, b), function(fit) {
    call <- fit_part(fit, "run")$call
    args <- as.list(if (is.call(call)) call)[-1L]
    unnamed <- !nzchar(rlang::names2(args))
    words <- vapply(args, function(arg) {
      strtrim(paste(deparse(arg), collapse = " "), 60L)
    }, "")
    names(words)[unnamed] <- paste("argument", which(unnamed))
    words
  })
  names <- unique(unlist(lapply(written, names)))
  names <- setdiff(names, c(
    "seed", "chains", "cores", "threads", "progress", "checkpoint", "inits"
  ))
  shown <- lapply(written, function(words) {
    value <- words[names]
    ifelse(is.na(value), paste0("no `", names, "`"), ifelse(
      startsWith(names, "argument "), paste0("`", value, "`"),
      paste0("`", names, " = ", value, "`")
    ))
  })
  # `..2` means nothing outside of the function whose argument it was
  known <- !grepl("[.][.][0-9]+`$", shown[[1L]]) &
    !grepl("[.][.][0-9]+`$", shown[[2L]])
  differ <- utils::head(which(known & shown[[1L]] != shown[[2L]]), 3L)
  lapply(shown, function(words) unname(words[differ]))
}

# An error if two chains have the same stream: they are copies of each other.
check_streams <- function(fits, call) {
  run <- rep(seq_along(fits), lengths(fits))
  chain <- sequence(lengths(fits))
  within <- function(values) {
    twice <- which(duplicated(values))
    if (length(twice) > 0) {
      again <- twice[1]
      first <- match(values[again], values)
      abort_state(
        c("Chain {chain[first]} of fit {run[first]} and chain {chain[again]}
           of fit {run[again]} ran on the same stream of random numbers.",
          x = "Such chains are copies of each other.",
          i = "Run the fits with different seeds."),
        call = call, class = "streams"
      )
    }
  }
  chains <- do.call(c, lapply(fits, fit_part, "chains"))
  within(lapply(chains, sampler_stream))
  within(vapply(chains, `[[`, character(1), "hash"))
  within(vapply(do.call(c, lapply(fits, chain_matrices)),
                function(x) hash_draws(list(x)), character(1)))
  # A seed that occurs twice gives both fits the same chain 1, even when other
  # starting values hide it.
  seeds <- lapply(fits, function(fit) fit_part(fit, "running")$seed)
  seed <- unlist(seeds)
  if (anyDuplicated(seed)) {
    value <- seed[duplicated(seed)][1]
    holders <- which(vapply(seeds, function(s) value %in% s, logical(1)))
    abort_state(
      c("Fits {.val {holders}} were made with the same seed, {value}.",
        x = "Their chains ran on the same streams of random numbers.",
        i = "Run the fits with different seeds."),
      call = call, class = "streams"
    )
  }
}

united_model <- function(models) {
  kept <- vapply(models, model_has_data, logical(1))
  out <- models[[if (any(kept)) which(kept)[1] else 1]]
  out$names <- models[[1]]$names
  out
}

united_running <- function(runs) {
  out <- runs[[1]]
  each <- function(name) lapply(runs, `[[`, name)
  inits <- do.call(c, lapply(runs, function(run) {
    if (is.list(run$inits)) run$inits else rep(list(run$inits), run$chains)
  }))
  none <- all(vapply(inits, is.null, logical(1)))
  out["inits"] <- list(if (none) NULL else inits)
  out$chains <- sum(unlist(each("chains")))
  out$seed <- unlist(each("seed"))
  same_rule <- length(unique(each("stop_when"))) == 1
  out["stop_when"] <- list(if (same_rule) runs[[1]]$stop_when)
  out$keep_data <- any(unlist(each("keep_data")))
  out
}

united_run <- function(runs) {
  out <- runs[[1]]
  out["call"] <- list(NULL)
  elapsed <- lapply(runs, `[[`, "elapsed")
  out$elapsed <- list(
    total = sum(unlist(lapply(elapsed, `[[`, "total"))),
    chains = unlist(lapply(elapsed, `[[`, "chains"))
  )
  out
}

# ---- Several completed data sets --------------------------------------------

mix_fits <- function(fits, call) {
  check_fits(fits, call)
  check_mixed_kinds(fits, call)
  check_same_models(fits, call)
  check_different_data(fits, call)
  fits <- with_one_thin(fits)
  draws <- vapply(fits, shown_draws, 0)
  if (any(draws != draws[[1L]])) {
    least <- min(draws)
    inform_gibbsite(
      c(i = "The fits have from {least} to {max(draws)} draws a chain: the first
             {least} of each are used, so that all data sets count alike."),
      class = "draws"
    )
    fits <- lapply(fits, windowed, 1, least, 1)
  }
  each <- function(part) lapply(fits, fit_part, part)
  models <- each("model")
  model <- models[[1L]]
  model$imputed <- list(
    models = models, set = rep(seq_along(fits), lengths(fits))
  )
  model$headline <- paste0(
    model$headline, "; ", length(fits), " completed data sets"
  )
  model$fit_class <- c("gibbsite_imputed", model$fit_class)
  running <- united_running(each("running"))
  running$burnin <- max(vapply(each("running"), `[[`, 0, "burnin"))
  new_fit(
    do.call(c, lapply(fits, shown_in_chains)),
    model = model, running = running, chains = do.call(c, each("chains")),
    run = united_run(each("run"))
  )
}

# Fits whose draws are as many sweeps apart as those of the longest run.
with_one_thin <- function(fits) {
  thin <- vapply(fits, function(fit) fit_part(fit, "running")$thin, 0)
  Map(function(fit, step) {
    windowed(fit, step, shown_draws(fit), step)
  }, fits, max(thin) / thin)
}

# Fits whose draws have the same meaning in every data set.
check_mixed_kinds <- function(fits, call) {
  for (k in seq_along(fits)) {
    fit <- fits[[k]]
    if (is_imputed(fit)) {
      abort_argument(
        c("Fit {k} is of several data sets already.",
          i = "Combine the fits of the single data sets, all at once."),
        call = call
      )
    }
    if (!inherits(fit, imputed_kinds)) {
      name <- fit_part(fit, "model")$name
      abort_argument(
        c(
          "Fits of {.fn {name}} to several completed data sets are not
           combined.",
          x = if (model_algorithm(fit_part(fit, "model")) == "laplace") {
            "They are approximations at the mode of one data set."
          } else {
            "Their components, topics or factors have no common numbers."
          },
          i = "Combine their predictions instead: average them over the fits."
        ),
        call = call
      )
    }
  }
}

# An error for the first difference between models that must agree. The data and
# what is computed from them may differ, and so may a default prior.
check_same_models <- function(fits, call) {
  first <- mixed_parts(fits[[1L]])
  for (k in seq_along(fits)[-1L]) {
    other <- mixed_parts(fits[[k]])
    same <- mapply(identical, first, other,
                   MoreArgs = list(ignore.environment = TRUE,
                                   ignore.bytecode = TRUE,
                                   ignore.srcref = TRUE))
    same[["prior"]] <- same_priors(fits[[1L]], fits[[k]])
    if (!all(same)) {
      what <- names(first)[!same][[1L]]
      abort_argument(
        c("Fits 1 and {k} cannot be combined: they differ in {what}.",
          i = switch(what,
            prior = "Give the same call of the prior's function for all data
              sets.",
            "levels of the response" = "They must be levels of the factor in
              all data sets, in the same order.",
            "number of chains" =
              "Each data set must have as many draws as the others.",
            "stored quantities" = "Levels that some data sets lack must be
              levels of the factor in all of them."
          )),
        call = call
      )
    }
  }
}

# In the order in which a difference is named: the first is its reason.
mixed_parts <- function(fit) {
  model <- fit_part(fit, "model")
  regression <- is_regression(fit)
  design <- if (regression) model_design(model)
  rows <- model$frame$x
  list(
    "model" = class(model),
    "formula" = if (regression) formula_words(fit),
    "levels of the response" = design$response$levels,
    "link" = design$link,
    "family" = design$family,
    "contrasts" = design$contrasts,
    "units of times" = design$times,
    "arguments (`weights`, `offset` or `se`)" = given_columns(fit),
    "prior" = class(model$prior),
    "stored quantities" = model$columns,
    "functions" = if (!regression) hash_code(functions_in(model$data)),
    "number of observations" = as.numeric(model$nobs),
    "rows" = if (!is.null(rows)) list(nrow(rows), rownames(rows)),
    "groups" = model$levels,
    "thin" = running_of_job(fit_part(fit, "running"))$thin,
    "number of chains" = length(fit)
  )
}

# The names of further columns of the data that the call of a fit has.
given_columns <- function(fit) {
  given <- as.list(fit_part(fit, "run")$call)
  names(Filter(length, given[c("weights", "offset", "se")]))
}

formula_words <- function(fit) {
  formula <- tryCatch(stats::formula(fit), error = function(cnd) NULL)
  paste(deparse(formula), collapse = " ")
}

# Default priors depend on the scale of the data: the values may differ if the
# calls are equal.
same_priors <- function(a, b) {
  prior <- function(fit) fit_part(fit, "model")$prior
  given <- function(fit) fit_part(fit, "run")$call$prior
  if (identical(prior(a), prior(b), ignore.environment = TRUE)) {
    return(TRUE)
  }
  identical(class(prior(a)), class(prior(b))) &&
    identical(prior(a)$type, prior(b)$type) && identical(given(a), given(b))
}

# Fits of one and the same data are chains of one posterior.
check_different_data <- function(fits, call) {
  hashes <- vapply(fits, function(fit) fit_part(fit, "model")$data_hash, "")
  if (length(unique(hashes)) == 1L) {
    abort_argument(
      c("The fits are of the same data.",
        i = "Without {.code data = \"imputed\"} their chains are united."),
      call = call
    )
  }
  chains <- do.call(c, lapply(fits, fit_part, "chains"))
  hash <- vapply(chains, `[[`, "", "hash")
  if (anyDuplicated(hash) > 0L) {
    run <- rep(seq_along(fits), lengths(fits))
    again <- which(duplicated(hash))[[1L]]
    twice <- run[c(match(hash[again], hash), again)]
    abort_argument(
      c("Fits {twice[[1]]} and {twice[[2]]} have the same draws: they are of the
         same data, with the same seed.",
        i = "Give the fit of each completed data set once."),
      call = call
    )
  }
}
