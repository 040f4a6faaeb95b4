# Moves that are made of other moves: delayed_rejection(), mixture_proposal()
# and tempered(). src/core/mh/mh_delayed.c, mh_mixture.c and mh_tempered.h move
# them.

# ---- delayed_rejection(): a second proposal after a rejected one -------------

#' Delayed rejection
#'
#' If the first proposal \eqn{y \sim q_1(\cdot | x)}{y ~ q1(. | x)} is rejected,
#' a second one \eqn{z \sim q_2(\cdot | x)}{z ~ q2(. | x)} is made in the same
#' step (Tierney and Mira 1999; Mira 2001). With \eqn{a_1}{a1} the acceptance
#' probability of [mh_sample()] for \eqn{q_1}{q1}, it is accepted with
#' probability
#' \deqn{\min\Bigl(1, \frac{p(z)\, q_1(y | z)\, (1 - a_1(z, y))\, q_2(x | z)}{
#'   p(x)\, q_1(y | x)\, (1 - a_1(x, y))\, q_2(z | x)}\Bigr).}{
#'   min(1, p(z) q1(y | z) (1 - a1(z, y)) q2(x | z) /
#'          (p(x) q1(y | x) (1 - a1(x, y)) q2(z | x))).}
#' The posterior is exactly invariant. The chain rejects less often, and a step
#' evaluates the log density once or twice.
#'
#' A bold first proposal with a careful second one helps if most first proposals
#' fail: with steps that are too long, with a poor covariance, or in narrow
#' regions of the density. Where the first proposal suits the density, a second
#' one costs more evaluations than it saves.
#'
#' With a number as `second`, the second proposal is the first with its steps
#' multiplied by it. With [adaptive()] as `first` this is delayed rejection
#' adaptive Metropolis (Haario, Laine, Mira and Saksman 2006), here with
#' adaptation in burn-in alone.
#'
#' A proposal that adapts learns in burn-in from its own tries, and is fixed
#' afterwards. [acceptance()] and the print of a fit show the rate of each try.
#'
#' @param first A proposal: [adaptive()] (the default), [random_walk()],
#'   [langevin()], [independence()], [mixture_proposal()] or a
#'   [custom_proposal()] with its density.
#' @param second A positive number (default 0.2): the second proposal is
#'   `first` with its steps multiplied by this number. `first` must then be
#'   [adaptive()], [random_walk()] or [langevin()]. Or a proposal of a kind that
#'   `first` may have; a [custom_proposal()] then needs no density. Proposals
#'   that adapt after burn-in cannot be used.
#' @return A proposal: an object of class `delayed_rejection` and
#'   `gibbsite_proposal`.
#' @inheritSection random_walk Errors
#' @references
#' Green PJ, Mira A (2001). Delayed rejection in reversible jump
#' Metropolis-Hastings. *Biometrika* 88, 1035-1053.
#' \doi{10.1093/biomet/88.4.1035}
#'
#' Haario H, Laine M, Mira A, Saksman E (2006). DRAM: efficient adaptive MCMC.
#' *Statistics and Computing* 16, 339-354. \doi{10.1007/s11222-006-9438-0}
#'
#' Mira A (2001). On Metropolis-Hastings algorithms with delayed rejection.
#' *Metron* 59, 231-241.
#'
#' Tierney L, Mira A (1999). Some adaptive Monte Carlo methods for Bayesian
#' inference. *Statistics in Medicine* 18, 2507-2515.
#' \doi{10.1002/(SICI)1097-0258(19990915)18:17/18<2507::AID-SIM272>3.0.CO;2-O}
#' @family proposals
#' @examples
#' # a funnel: the scale of x depends on v
#' funnel <- function(p) {
#'   dnorm(p[["v"]], 0, 1.5, log = TRUE) +
#'     dnorm(p[["x"]], 0, exp(p[["v"]] / 2), log = TRUE)
#' }
#' fit <- mh_sample(funnel, c(v = 0, x = 0), delayed_rejection(), draws = 500,
#'   thin = 10, chains = 2, seed = 1
#' )
#' fit
#' acceptance(fit)
#' @export
delayed_rejection <- function(first = adaptive(), second = 0.2) {
  call <- rlang::current_env()
  check_proposal(first, "first")
  check_stage(first, "first", call)
  scale <- NULL
  if (is.numeric(second)) {
    scale <- check_number(second, lower = 0, lower_open = TRUE)
    check_scalable(first, call)
    second <- first
  } else {
    check_proposal(second, "second")
    check_stage(second, "second", call)
  }
  new_proposal("delayed_rejection", scale = scale, parts = list(first, second))
}

check_stage <- function(proposal, arg, call) {
  bad <- !has_trait(proposal, "density") || isTRUE(proposal$forever)
  if (bad) {
    abort_argument(
      c("{.fn {class(proposal)[1]}} cannot be {.arg {arg}} of
         {.fn delayed_rejection} as it is.",
        i = "Use {.fn adaptive}, {.fn random_walk}, {.fn langevin},
             {.fn independence} or a mixture."),
      call = call
    )
  }
  if (arg == "first" && lacks_density(proposal)) {
    abort_argument(
      c("{.arg first} must have a density: the acceptance of the second proposal
         depends on it.",
        i = "Give {.arg log_density} of {.fn custom_proposal}."),
      call = call
    )
  }
}

# Whether a custom proposal, alone or in a mixture, comes without its density.
lacks_density <- function(proposal) {
  has_trait(proposal, "user") && is.null(proposal$log_density) ||
    any(vapply(proposal$parts, lacks_density, NA))
}

check_scalable <- function(first, call) {
  if (!has_trait(first, "scalable")) {
    abort_argument(
      c("{.arg second} must be a proposal: {.fn {class(first)[1]}} has no steps
         that a number could multiply.",
        i = "Give {.code second = random_walk(scale = )}."),
      call = call
    )
  }
}

#' @exportS3Method
move_maker.delayed_rejection <- function(move) {
  function(scale, parts) delayed_rejection(parts[[1L]], scale %||% parts[[2L]])
}

#' @exportS3Method
move_traits.delayed_rejection <- function(move) {
  list(why_not = "{.fn delayed_rejection} takes a mixture as its {.arg first}.")
}

#' @exportS3Method
move_words.delayed_rejection <- function(move) {
  paste0(
    "delayed rejection: ", format(move$parts[[1L]]), "; then ",
    if (is.null(move$scale)) {
      format(move$parts[[2L]])
    } else {
      paste0("its steps times ", format(move$scale, digits = 4))
    }
  )
}

# With `scale` the second proposal has the steps of the first, multiplied by
# that number. If the first adapts, both use its memory. The second never
# adapts.
#' @exportS3Method
move_compile.delayed_rejection <- function(move, at) {
  parts <- compile_parts(move, at)
  scale <- move$scale
  log_shrink <- NA_real_
  if (!is.null(scale)) {
    adapts <- parts[[2L]]$tuned > 0L
    log_shrink <- if (adapts) log(scale) else 0
    parts[[2L]]$tuned <- 0L
    if (!adapts) {
      parts[[2L]]$factor <- scale * parts[[2L]]$factor
    }
  }
  list(parts = parts, log_shrink = log_shrink)
}

# `relative`: the log of the second scale over the first, if `scale` is given.
#' @exportS3Method
move_memory.delayed_rejection <- function(move, compiled, x, scale,
                                          factor = NULL) {
  memory <- function(part) {
    move_memory(
      move$parts[[part]], compiled$parts[[part]], x, scale, factor
    )
  }
  second <- if (is.null(move$scale)) {
    memory(2L)
  } else {
    list(counts = numeric(4L), relative = log(move$scale))
  }
  new_memory(more = list(stages = list(memory(1L), second)))
}

# The states of a block's two tries; NULL if rejection is not delayed.
tries_of <- function(memory) {
  stages <- memory$stages
  relative <- stages[[2L]]$relative
  if (!is.null(relative)) {
    stages[[2L]]$tuning <- stages[[1L]]$tuning + c(relative, 0)
  }
  stages
}

try_words <- c("first try", "second try")

# A line on both tries, over all chains and blocks.
#' @exportS3Method
move_notes.delayed_rejection <- function(move, model, fit, rates) {
  delayed <- vapply(model$plan, function(block) {
    moves <- c(list(block$proposal), block$proposal$parts)
    any(vapply(moves, inherits, NA, "delayed_rejection"))
  }, NA)
  names <- vapply(model$plan[delayed], `[[`, "", "name")
  shares <- vapply(try_words, function(try) {
    own <- rates[rates$block %in% paste0(names, ", ", try), ]
    sum(own$rate * own$steps, na.rm = TRUE) / sum(own$steps)
  }, 0)
  paste0(
    "Delayed rejection: accepted ", format(shares[[1L]], digits = 2),
    " of the first proposals and ", format(shares[[2L]], digits = 2),
    " of the second ones."
  )
}

# ---- mixture_proposal() ------------------------------------------------------

#' Mixture of proposals
#'
#' Draws from one of several proposals, chosen at random: \eqn{q(y | x) = \sum_i
#' w_i q_i(y | x)}{q(y | x) = sum_i w_i q_i(y | x)}. The acceptance probability
#' uses the mixture's density, so that it does not depend on which proposal made
#' the draw. A mixture of short and long steps, or with an independence
#' proposal, helps if a single scale does not fit the whole density.
#'
#' @param ... Two or more proposals: [random_walk()], [independence()],
#'   [custom_proposal()], [langevin()] with `tune = FALSE`. Adaptive proposals
#'   cannot be parts of a mixture.
#' @param weights `NULL` (default: equal) or one positive number for each
#'   proposal; they are divided by their sum. Names match those of `...`.
#' @return A proposal: an object of class `mixture_proposal` and
#'   `gibbsite_proposal`.
#' @inheritSection random_walk Errors
#' @references
#' Tierney L (1994). Markov chains for exploring posterior distributions.
#' *Annals of Statistics* 22, 1701-1728. \doi{10.1214/aos/1176325750}
#' @family proposals
#' @examples
#' mixture_proposal(random_walk(0.1), random_walk(3), weights = c(0.8, 0.2))
#' @export
mixture_proposal <- function(..., weights = NULL) {
  parts <- list(...)
  names <- names(parts)
  parts <- unname(parts)
  for (i in seq_along(parts)) {
    check_proposal(parts[[i]], paste("Proposal", i))
    check_part(parts[[i]], i)
  }
  if (length(parts) < 2L) {
    abort_argument(
      "A mixture needs two or more proposals, not {length(parts)}."
    )
  }
  weights <- check_numeric_vector(weights,
    length = length(parts), length_why = "one for each proposal", lower = 0,
    lower_open = TRUE, null_ok = TRUE
  )
  weights <- if (is.null(weights)) {
    rep(1, length(parts))
  } else {
    in_order_of(
      weights, names, "weights", "the proposals", rlang::current_env()
    )
  }
  # so that the sum of large weights cannot overflow
  weights <- weights / max(weights)
  new_proposal("mixture_proposal",
    parts = parts, weights = weights / sum(weights)
  )
}

check_part <- function(part, i, call = rlang::caller_env()) {
  traits <- move_traits(part)
  if (!isTRUE(traits$density)) {
    abort_argument(
      c("Proposal {i} of a mixture must have a density: that of
         {.fn {class(part)[1]}} is not known.",
        i = traits$why_not),
      call = call
    )
  }
  learns <- isTRUE(traits$learns)
  nested <- !is.null(part$parts)
  if (learns || nested) {
    what <- if (nested) "is itself a mixture" else "learns as the chain runs"
    hint <- if (isTRUE(traits$gradient)) {
      "Give a step: {.code langevin(step, gradient, tune = FALSE)}."
    } else if (learns) {
      "Use {.code random_walk()} with the scale that {.code adaptive()} found."
    } else {
      "Give its proposals to the outer mixture, with their weights."
    }
    abort_argument(
      c("Proposal {i} of a mixture must be a fixed one: it {what}.", i = hint),
      call = call
    )
  }
}

#' @exportS3Method
move_maker.mixture_proposal <- function(move) {
  function(parts, weights) {
    do.call(mixture_proposal, c(unname(as.list(parts)), list(
      weights = weights
    )), quote = TRUE)
  }
}

#' @exportS3Method
move_traits.mixture_proposal <- function(move) {
  list(density = TRUE)
}

#' @exportS3Method
move_words.mixture_proposal <- function(move) {
  paste0(
    "mixture of ", paste(
      format(move$weights, digits = 2, trim = TRUE),
      vapply(move$parts, format, ""), collapse = " + "
    )
  )
}

#' @exportS3Method
move_compile.mixture_proposal <- function(move, at) {
  list(weights = move$weights, parts = compile_parts(move, at))
}

# ---- tempered() --------------------------------------------------------------

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
