# window(): a fit with fewer of its draws.

#' Leave out draws of a fit
#'
#' Returns the fit with the draws from sweep `start` to sweep `end` only: to
#' drop a burn-in that was too short, or to thin. The result is a fit: it can be
#' summarised, judged, saved and continued by [extend()].
#'
#' The sweeps before the first draw count as burn-in. Draws after `end` stay in
#' the fit without being shown, and [extend()] uses them first. So
#' `extend(window(fit, start = s), n)` has the same draws, bit for bit, as
#' `window(extend(fit, n), start = s)`.
#'
#' Some quantities are averaged as the chains run, because their draws are too
#' large to store: the topics of [gibbs_lda()], the allocation probabilities of
#' [gibbs_gmm()], the predictions of [gibbs_bmf()] and the factors it predicts
#' from. An average cannot leave out draws that are in it. When `window()` drops
#' draws, these averages therefore start again, with the first draw that
#' [extend()] makes. Until then the functions that need them raise an error that
#' says so.
#'
#' @param x A fit.
#' @param start,end The first and the last sweep, numbers within the sweeps of
#'   the fit ([coda::mcpar()]); default all.
#' @param thin Whole number, a multiple of the fit's own `thin`: keep the draws
#'   at `start`, `start + thin` and so on (or at `thin`, `2 * thin` and so on
#'   when `start` is less than `thin`).
#' @param ... Not used.
#' @return A fit.
#' @section Errors: `gibbsite_error_argument` for sweeps outside the fit, for a
#'   `thin` that is no multiple, and if no draw is left.
#' @seealso [convergence()], which says when to drop draws; [extend()].
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 200, burnin = 0, chains = 2,
#'                  seed = 1, progress = FALSE)
#' late <- window(fit, start = 101)
#' late
#' extend(late, 100, progress = FALSE)
#' @importFrom stats window
#' @export
window.gibbsite_fit <- function(x, start = NULL, end = NULL, thin = NULL,
                                ...) {
  check_no_more(...)
  call <- rlang::current_env()
  sweeps <- attr(fit_draws(x)[[1L]], "mcpar")
  within <- function(value, arg) {
    check_number(
      value, lower = sweeps[1], upper = sweeps[2], null_ok = TRUE, arg = arg,
      call = call
    )
  }
  start <- within(start, "start") %||% sweeps[1]
  end <- within(end, "end") %||% sweeps[2]
  thin <- check_count(thin, null_ok = TRUE) %||% sweeps[3]
  if (thin %% sweeps[3] > 0) {
    abort_argument(c(
      "{.arg thin} must be a multiple of {sweeps[3]}, not {thin}.",
      i = "The draws are {sweeps[3]} sweep{?s} apart."
    ))
  }
  # the draws at or after `start` and at or before `end`; the burn-in before the
  # first of them has at least no sweeps
  first <- ceiling((max(start, thin) - sweeps[1]) / sweeps[3]) + 1
  last <- floor((end - sweeps[1]) / sweeps[3]) + 1
  if (first > last) {
    abort_argument(c(
      "There is no draw between sweeps {start} ({.arg start}) and {end}
       ({.arg end}).",
      i = if (thin > sweeps[3]) {
        "The draws at every {thin} sweeps ({.arg thin}) are asked for."
      }
    ))
  }
  windowed(x, first, last, thin / sweeps[3])
}

# The fit with draws first, first + step, ..., at most `last`.
windowed <- function(fit, first, last, step) {
  if (first == 1 && last == shown_draws(fit) && step == 1) {
    return(fit)
  }
  whole <- is.null(find_damage(fit))
  if (whole) fit <- renew_fit(fit)
  running <- attr(fit, "running")
  pending <- attr(fit, "pending")
  parts <- lapply(seq_along(attr(fit, "chains")), function(k) {
    all <- rbind(plain_matrix(.subset2(fit, k)), plain_matrix(pending[[k]]))
    rows <- seq(first, nrow(all), by = step)
    list(
      shown = all[rows[rows <= last], , drop = FALSE],
      ahead = all[rows[rows > last], , drop = FALSE]
    )
  })
  running$burnin <- running$burnin + (first - step) * running$thin
  running$thin <- running$thin * step
  model <- attr(fit, "model")
  chains <- lapply(attr(fit, "chains"), function(chain) {
    chain$state <- model_without_averages(model, chain$state)
    # a fit whose draws were changed stays recognisable
    if (whole) chain$hash <- NULL
    chain$from <- NULL
    chain
  })
  if (!identical(chains[[1]]$state, attr(fit, "chains")[[1]]$state)) {
    running$averaged_from <- nrow(parts[[1]]$shown) + nrow(parts[[1]]$ahead)
  }
  new_fit(
    lapply(parts, `[[`, "shown"), model, running, chains,
    lapply(parts, `[[`, "ahead"), attr(fit, "run")
  )
}

# Draws of a chain that came before its averages, because window() has dropped
# some.
draws_before_averages <- function(fit) {
  fit_part(fit, "running")$averaged_from %||% 0
}

abort_no_averages <- function(what, call) {
  abort_argument(
    c(
      paste(what, "are averaged as the chains run, and {.fn window} has dropped
                   draws that were in the averages."),
      i = "Use {.code extend(fit, n)}: they are averaged over the {.code n} new
           draws."
    ),
    call = call, class = "window"
  )
}
