# delayed_rejection(): a second proposal after a rejected one.
# src/core/mh/mh_delayed.c has the mathematics.

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
