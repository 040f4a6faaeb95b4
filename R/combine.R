# combine_fits(): chains of several runs of one model as one fit.

#' Unite the chains of several runs
#'
#' Puts the chains of several runs into one fit. The runs are of the same model
#' on the same data with different seeds, and may come from several machines.
#' The result is a fit like any other and can be continued with [extend()].
#' `c()` does the same.
#'
#' @param ... Two or more fits with the same model, data, prior, `burnin`,
#'   `thin`, `keep` and number of draws; or one list of them.
#' @return One fit with all chains, in the order given. Its seed is the vector
#'   of the runs' seeds.
#' @section Errors: `gibbsite_error_argument` when the fits do not match, naming
#'   the first difference; `gibbsite_error_state` when chains share a stream of
#'   random numbers (the same seed, generator or draws), because such chains are
#'   copies and add no information, and when draws were changed by hand.
#' @examples
#' one <- gibbs_gmm(faithful, 2, draws = 100, burnin = 100, chains = 1,
#'                  seed = 1, progress = FALSE)
#' two <- gibbs_gmm(faithful, 2, draws = 100, burnin = 100, chains = 1,
#'                  seed = 2, progress = FALSE)
#' posterior::nchains(combine_fits(one, two))
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
        "chains to unite",
        "Combine the fits of the single data sets, all at once.", call
      )
    }
  }
  fits <- lapply(fits, verify_fit, call = call)
  check_same_runs(fits, call)
  check_streams(fits, call)
  each <- function(part) lapply(fits, fit_part, part)
  model <- united_model(each("model"))
  chains <- united_chains(model, do.call(c, each("chains")))
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
  bare <- function(fit) {
    model <- model_comparable(fit_part(fit, "model"))
    running <- fit_part(fit, "running")
    list(
      "model" = class(fit)[1],
      "specification" = model[
        setdiff(
          names(model), c("data", "data_hash", "prior", "columns", "frame")
        )
      ],
      "stored quantities" = model$columns,
      "prior" = model$prior,
      "data" = model$data_hash,
      "burnin" = as.numeric(running$burnin),
      "thin" = as.numeric(running$thin),
      "number of draws" = as.numeric(running$draws),
      "keep" = running$keep,
      "kind of generator" = running$rng_kind
    )
  }
  first <- bare(fits[[1]])
  for (k in seq_along(fits)[-1]) {
    other <- bare(fits[[k]])
    same <- mapply(identical, first, other,
                   MoreArgs = list(ignore.environment = TRUE))
    if (!all(same)) {
      what <- names(first)[!same][1]
      if (what == "data") {
        check_same_hash(c(first$data, other$data), call)
      }
      abort_argument(
        c("Fits 1 and {k} cannot be united: they differ in {what}.",
          i = switch(what,
            data = "Fits of several completed data sets are combined with
              {.code data = \"imputed\"}.",
            "number of draws" =
              "Bring them to one length with {.fn extend} first.",
            burnin = "Give {.arg draws} and {.arg burnin} in both calls:
              without {.arg draws} a run may add burn-in (see {.fn until})."
          )),
        call = call
      )
    }
  }
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
  models[[if (any(kept)) which(kept)[1] else 1]]
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
