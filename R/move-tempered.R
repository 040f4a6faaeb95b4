# tempered(). src/core/mh/mh_tempered.h has the mathematics.

#' Parallel tempering
#'
#' For densities with several modes. Each chain has \eqn{K} replicas at
#' temperatures \eqn{1 = T_1 < \dots < T_K}{1 = T_1 < ... < T_K}. Replica
#' \eqn{k} moves by `proposal` on \eqn{p(x)^{1/T_k}}{p(x)^(1/T_k)}, which is
#' flatter than \eqn{p(x)}{p(x)}, so that hot replicas cross between modes.
#' After the moves of a sweep neighbours swap their points with probability
#' \deqn{\min\Bigl(1, \exp\bigl((1/T_k - 1/T_{k+1}) (\log p(x_{k+1}) - \log
#'   p(x_k))\bigr)\Bigr),}{
#'   min(1, exp((1/T_k - 1/T_(k+1)) (log p(x_(k+1)) - log p(x_k)))),}
#' pairs (1, 2), (3, 4), ... and pairs (2, 3), (4, 5), ... in turn (Syed et al.
#' 2022). The draws are those of the replica at temperature 1, whose
#' distribution is exactly the posterior. A sweep takes \eqn{K} times the
#' evaluations of `proposal`.
#'
#' Let \eqn{A_k} be the probability of a swap of replicas \eqn{k} and \eqn{k +
#' 1}. With `tune = TRUE` sweep \eqn{n} of burn-in moves the gaps \eqn{g_k =
#' \log T_{k+1} - \log T_k}{g_k = log T_(k+1) - log T_k} towards equal rates, in
#' the manner of Vousden, Farr and Mandel (2016):
#' \deqn{\log g_k \leftarrow \log g_k + \frac{10}{n + 10} (A_k - \bar A),}{
#'   log g_k <- log g_k + 10 / (n + 10) (A_k - mean A),}
#' after which all gaps are multiplied by a number so that \eqn{T_K} stays. Then
#' the temperatures are fixed. An adaptive `proposal` adapts in burn-in at each
#' temperature separately.
#'
#' The powers \eqn{p(x)^{1/T}}{p(x)^(1/T)} must be integrable at all
#' temperatures. This holds if the density falls exponentially in its tails or
#' its region is bounded. It fails for heavy tails: a density that falls as
#' \eqn{|x|^{-a}}{|x|^-a} in one dimension needs \eqn{T_K < a}{T_K < a}. With
#' `transform = TRUE` \eqn{p(x)}{p(x)} is the density of the transformed
#' coordinates. Where the density is zero it is zero at all temperatures.
#'
#' `print()` and `summary()` of a fit show the swap rates after burn-in, and the
#' round trips: how often a replica went from temperature 1 to \eqn{T_K} and
#' back. Without round trips the hot replicas do not help.
#'
#' @param temperatures `"auto"` (default): a ladder from 1 to 50, with more
#'   temperatures for more coordinates, at most 30; or the temperatures: two or
#'   more increasing numbers, of which the first is 1.
#' @param proposal The proposal that moves each replica (default [adaptive()]):
#'   all but [nuts()], [hmc()], `tempered()`, and those that adapt after
#'   burn-in.
#' @param tune `TRUE` (default): tune the temperatures between the first and the
#'   last in burn-in. `FALSE`: keep them.
#' @return A proposal: an object of class `tempered` and `gibbsite_proposal`. It
#'   cannot be used with several `blocks`, nor in [mh_step()].
#' @inheritSection random_walk Errors
#' @references
#' Syed S, Bouchard-Cote A, Deligiannidis G, Doucet A (2022). Non-reversible
#' parallel tempering: a scalable highly parallel MCMC scheme. *JRSS B* 84,
#' 321-350. \doi{10.1111/rssb.12464}
#'
#' Vousden WD, Farr WM, Mandel I (2016). Dynamic temperature selection for
#' parallel tempering in Markov chain Monte Carlo simulations. *Monthly Notices
#' of the Royal Astronomical Society* 455, 1919-1937.
#' \doi{10.1093/mnras/stv2422}
#' @seealso [evidence_methods], section *Several modes*, for the integral of the
#'   density.
#' @family proposals
#' @examples
#' # two modes, 20 standard deviations apart
#' log_density <- function(x) {
#'   log(0.3 * dnorm(x[1], -10) + 0.7 * dnorm(x[1], 10)) - x[2]^2 / 2
#' }
#' fit <- mh_sample(log_density, c(a = 10, b = 0), tempered(), draws = 1000,
#'   burnin = 1000, chains = 2, seed = 1
#' )
#' fit
#' colMeans(as.matrix(fit) > 0)
#' @export
tempered <- function(temperatures = "auto", proposal = adaptive(),
                     tune = TRUE) {
  call <- rlang::current_env()
  check_proposal(proposal, "proposal")
  bad <- has_trait(proposal, "dynamics") || has_trait(proposal, "replicas") ||
    isTRUE(proposal$forever)
  if (bad) {
    abort_argument(
      c("{.fn {class(proposal)[1]}} cannot be tempered as it is.",
        i = "Use {.fn adaptive}, {.fn random_walk}, {.fn univariate_slice} or
             {.fn langevin}."),
      call = call
    )
  }
  new_proposal("tempered",
    temperatures = check_temperatures(temperatures, call),
    tune = check_flag(tune), parts = list(proposal)
  )
}

check_temperatures <- function(temperatures, call) {
  if (is.character(temperatures)) {
    return(check_choice(
      temperatures, "auto", arg = "temperatures", call = call
    ))
  }
  if (!is.numeric(temperatures)) {
    abort_expected(
      temperatures, "\"auto\" or increasing numbers, the first 1", FALSE,
      "temperatures", call
    )
  }
  temperatures <- check_numeric_vector(temperatures,
    lower = 1, upper = 1e100, arg = "temperatures", call = call
  )
  wrong <- length(temperatures) < 2L || length(temperatures) > 1000L ||
    temperatures[[1L]] != 1 || any(diff(temperatures) <= 0)
  if (wrong) {
    abort_argument(
      "{.arg temperatures} must be 2 to 1000 increasing numbers, the first 1.",
      call = call
    )
  }
  unname(temperatures)
}

#' @exportS3Method
move_maker.tempered <- function(move) {
  function(temperatures, tune, parts) tempered(temperatures, parts[[1L]], tune)
}

#' @exportS3Method
move_traits.tempered <- function(move) {
  list(
    replicas = TRUE,
    why_not = "{.fn tempered} takes a mixture as its {.arg proposal}."
  )
}

#' @exportS3Method
move_words.tempered <- function(move) {
  ladder <- move$temperatures
  paste0(
    "parallel tempering, ",
    if (is.numeric(ladder)) paste0(length(ladder), " "), "temperatures",
    if (is.numeric(ladder)) paste(" to", format(max(ladder), digits = 4)),
    if (move$tune) " tuned in burn-in", ": ", format(move$parts[[1L]])
  )
}

# The temperatures with which a ladder on d coordinates begins. "auto":
# neighbours differ by a ratio at which normal densities swap at a rate of 0.7
# (d = 1) to 0.35 (d = 100).
ladder_of <- function(temperatures, d) {
  if (is.numeric(temperatures)) {
    return(as.double(temperatures))
  }
  top <- 50
  steps <- min(29, ceiling(log(top) / log1p(1.5 * sqrt(2 / d))))
  top^(seq(0, steps) / steps)
}

replicas_of <- function(move, d) {
  if (!has_trait(move, "replicas")) return(1)
  length(ladder_of(move$temperatures, d))
}

#' @exportS3Method
move_compile.tempered <- function(move, at) {
  list(
    tuned = as.integer(move$tune),
    parts = list(compile_at(move$parts[[1L]], at)),
    power = 1 / ladder_of(move$temperatures, at$d)
  )
}

# place_replicas() fills in the replicas' points.
#' @exportS3Method
move_memory.tempered <- function(move, compiled, x, scale, factor = NULL) {
  count <- length(compiled$power)
  others <- count - 1
  d <- compiled$d
  new_memory(more = list(
    power = compiled$power + 0,
    x = numeric(d * others), point = numeric(d * others),
    value = rep(-Inf, 2 * others), slope = numeric((d + 1) * others),
    swaps = numeric(2 * others), heights = numeric(3 * count),
    journeys = c(seq_len(count) - 1, numeric(count + 1)),
    inner = lapply(1 / compiled$power, function(temperature) {
      wider <- sqrt(temperature)
      move_memory(
        move$parts[[1L]], compiled$parts[[1L]], x, scale * wider,
        if (!is.null(factor)) factor * wider
      )
    })
  ))
}

# All replicas start at the chain's point.
place_replicas <- function(state) {
  state$blocks <- lapply(state$blocks, function(memory) {
    others <- length(memory$power) - 1L
    if (others > 0L) {
      for (what in c("x", "point", "value")) {
        memory[[what]] <- rep(state[[what]], others)
      }
    }
    memory
  })
  state
}

# A row for each chain and temperature: `power` is its inverse; mean and
# variance of the log density (with the Jacobian of `transform`) at that
# temperature over `sweeps` after burn-in; `swap_rate` that with the next one.
temperature_table <- function(fit) {
  tables <- lapply(seq_along(fit), function(k) {
    memory <- fit_part(fit, "chains")[[k]]$state$blocks[[1L]]
    count <- length(memory$power)
    heights <- matrix(memory$heights, 3L)
    after <- memory$swaps[seq(count, length.out = count - 1L)]
    data.frame(
      chain = k, temperature = 1 / memory$power, power = memory$power,
      sweeps = heights[1L, ], mean_log_density = heights[2L, ],
      variance = heights[3L, ] / (heights[1L, ] - 1),
      swap_rate = c(after / heights[1L, 1L], NA),
      round_trips = memory$journeys[[2L * count + 1L]]
    )
  })
  do.call(rbind, tables)
}

# A line on swaps and round trips after burn-in, and one on what to do.
#' @exportS3Method
move_notes.tempered <- function(move, model, fit, rates) {
  within <- move_notes(move$parts[[1L]], model, fit, rates)
  table <- temperature_table(fit)
  if (all(table$sweeps == 0)) {
    return(within)
  }
  trips <- table$round_trips[!duplicated(table$chain)]
  rates <- table$swap_rate[!is.na(table$swap_rate)]
  c(
    within,
    paste0(
      "Parallel tempering: ", sum(table$chain == 1L), " temperatures to ",
      format(max(table$temperature), digits = 4), "; swap rates ",
      paste(unique(format(range(rates), digits = 2)), collapse = " to "), "; ",
      digits(sum(trips)), " round trips, ", digits(min(trips)),
      " in a chain at least."
    ),
    if (min(rates) < 0.1) {
      "Swap rates below 0.1: give more `temperatures`, closer to each other."
    } else if (min(trips) < 5) {
      "Few round trips: run longer, with a burn-in that is longer too."
    }
  )
}
