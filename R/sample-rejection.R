# Rejection sampling from a density known up to a constant.

#' Rejection sampling
#'
#' Draws exactly from a density \eqn{p(x) = \tilde p(x) / Z}{p(x) = p~(x) / Z}
#' whose normaliser \eqn{Z} need not be known. A point \eqn{x} is drawn from a
#' proposal with density \eqn{q}, and kept with probability \deqn{\frac{\tilde
#' p(x)}{M q(x)}, \quad M q(x) \ge \tilde p(x) \text{ for all } x.}{p~(x) / (M
#' q(x)), M q(x) >= p~(x) for all x.} The proportion of kept points is \eqn{Z /
#' M}, so that it estimates \eqn{Z}.
#'
#' Points are proposed in batches, until `n` are kept. With \eqn{T} proposals up
#' to the last one kept, the acceptance rate is estimated by \eqn{(n - 1) / (T -
#' 1)}, which is unbiased; its standard error is the rate times \eqn{\sqrt{(1 -
#' \mathrm{rate}) / n}}{sqrt((1 - rate) / n)}.
#'
#' Nothing but the drawn points can show that \eqn{M} is too small. A draw at
#' which \eqn{\tilde p}{p~} exceeds \eqn{M q} is an error. Without such a draw
#' the sample may still be wrong where the proposal seldom goes.
#'
#' @param n Whole number, 1 or more: how many draws.
#' @param log_target A function: the log density \eqn{\log \tilde p}{log p~} up
#'   to a constant, `-Inf` where the density is zero. It is called with many
#'   points at once, as `draw` returns them, and returns one number for each.
#' @param proposal A list of two functions: `draw(n)` returns `n` draws, in a
#'   vector or (several variables) in a matrix with a draw in each row;
#'   `log_density(x)` returns their log densities, normalised. Or a proposal
#'   made by [independence()], normal or t.
#' @param log_m A number: \eqn{\log M}.
#' @param max_tries A number of at least `n` (default `1e6 + 1000 * n`): an
#'   error is raised when `n` draws would need more proposals.
#' @return An object of class `rejection_sample`: the draws, a vector or a
#'   matrix, with the attributes `acceptance` and `acceptance_se` (the rate with
#'   its standard error), `log_normaliser` and `log_normaliser_se` (\eqn{\log Z}
#'   likewise) and `tries` (the number \eqn{T}). A subset of it is a plain
#'   vector or matrix.
#' @section Errors: `gibbsite_error_argument` for arguments of the wrong kind.
#'   `gibbsite_error_numeric` when a function fails or returns anything but one
#'   number for each point; of class `gibbsite_error_envelope` when the target
#'   exceeds its envelope (fields `point` and `excess`, \eqn{\log \tilde p -
#'   \log M q}{log p~ - log(M q)} there); of class `gibbsite_error_max_tries`
#'   (fields `draws`, those kept so far, and `tries`).
#' @references
#' von Neumann J (1951). Various techniques used in connection with random
#' digits. *National Bureau of Standards Applied Mathematics Series* 12, 36-38.
#'
#' Robert CP, Casella G (2004). *Monte Carlo Statistical Methods*, chapter 2.
#' Springer. \doi{10.1007/978-1-4757-4145-2}
#' @family samples
#' @examples
#' # a normal density without its constant, within a Cauchy envelope
#' set.seed(1)
#' x <- sample_rejection(
#'   1000, function(x) -x^2 / 2,
#'   list(draw = rcauchy, log_density = function(x) dcauchy(x, log = TRUE)),
#'   log_m = log(2 * pi) - 0.5
#' )
#' x
#' log(sqrt(2 * pi)) # the normaliser
#' hist(x)
#' @export
sample_rejection <- function(n, log_target, proposal, log_m,
                             max_tries = 1e6 + 1000 * n) {
  check_needed(
    n = "how many draws", log_target = "the log density to draw from",
    proposal = "where draws are proposed",
    log_m = "the log of the envelope's constant"
  )
  call <- rlang::current_env()
  n <- check_sample_size(n)
  check_function(log_target, "log_target", call = call)
  proposal <- sampling_proposal(proposal, call)
  log_m <- check_number(log_m)
  max_tries <- check_number(max_tries, n, infinite_ok = TRUE)
  kept <- list()
  found <- 0
  tries <- 0
  while (found < n) {
    size <- next_batch(n, found, tries, max_tries)
    if (size < 1) {
      abort_tries(kept, found, tries, n, call)
    }
    batch <- propose_draws(size, log_target, proposal, call)
    log_ratio <- batch$log_target - batch$log_proposal - log_m
    check_envelope(batch, log_ratio, call)
    accepted <- which(log(stats::runif(size)) <= log_ratio)
    if (length(accepted) >= n - found) {
      accepted <- accepted[seq_len(n - found)]
      tries <- tries + accepted[[n - found]]
    } else {
      tries <- tries + size
    }
    found <- found + length(accepted)
    kept[[length(kept) + 1L]] <- pick_draws(batch$x, accepted)
  }
  rejection_sample(stack_draws(kept), n, tries, log_m)
}

# Enough proposals for the draws still missing, by the rate so far; at most
# 65536, so that memory is bounded.
next_batch <- function(n, found, tries, max_tries) {
  rate <- (found + 1) / (tries + 1)
  min(ceiling(1.1 * (n - found) / rate) + 10, 65536, floor(max_tries) - tries)
}

stack_draws <- function(parts) {
  if (is.matrix(parts[[1L]])) do.call(rbind, parts) else unlist(parts)
}

# Rounding alone may let the target exceed its envelope by little.
check_envelope <- function(batch, log_ratio, call) {
  slack <- 1e-10 * (1 + abs(batch$log_target))
  worst <- which.max(log_ratio)
  if (!any(log_ratio > slack)) {
    return(invisible())
  }
  excess <- log_ratio[[worst]]
  point <- draw_place(batch$x, worst)
  abort_numeric(
    c("{.arg log_target} exceeds its envelope by {format(excess, digits = 4)} at
       {point}.",
      i = "The envelope is {.arg log_m} plus the log density of
           {.arg proposal}: {.arg log_m} must be larger by this at least, or the
           proposal must have heavier tails."),
    call = call, class = "envelope", point = pick_draws(batch$x, worst),
    excess = excess
  )
}

abort_tries <- function(kept, found, tries, n, call) {
  abort_numeric(
    c("{digits(tries)} proposals gave {found} of {n} draws: {.arg max_tries} is
       reached.",
      i = "A smaller {.arg log_m} or a {.arg proposal} closer to the target
           accepts more."),
    call = call, class = "max_tries", draws = if (found > 0) stack_draws(kept),
    tries = tries
  )
}

# A single draw has no unbiased estimate of the rate.
rejection_sample <- function(x, n, tries, log_m) {
  rate <- if (n > 1) (n - 1) / (tries - 1) else 1 / tries
  error <- sqrt((1 - rate) / n)
  structure(x,
    acceptance = rate, acceptance_se = rate * error,
    log_normaliser = log_m + log(rate), log_normaliser_se = error,
    tries = tries,
    class = c("rejection_sample", if (is.matrix(x)) "matrix" else "numeric")
  )
}

#' @export
print.rejection_sample <- function(x, ...) {
  part <- function(name) attr(x, name, exact = TRUE)
  fields <- c("acceptance", "acceptance_se", "log_normaliser",
              "log_normaliser_se", "tries")
  whole <- vapply(fields, function(name) is_plain_number(part(name)), NA)
  if (!all(whole) || !is.numeric(x)) {
    check_made(list(), "acceptance", "sample_rejection()", "x")
  }
  with_error <- function(name) {
    paste0(format(part(name), digits = 4), " (standard error ",
           format(part(paste0(name, "_se")), digits = 2), ")")
  }
  writeLines(c(
    paste0(
      "<sample_rejection> ", counted(NROW(x), "draw"), " of ",
      counted(NCOL(x), "variable")
    ),
    paste0(
      "Acceptance rate ", with_error("acceptance"), ", ",
      counted(part("tries"), "proposal")
    ),
    paste("Log normaliser", with_error("log_normaliser"))
  ))
  invisible(x)
}
