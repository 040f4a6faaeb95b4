# An unknown number of components: its prior, and the complete prior of such a
# mixture.

#' An unknown number of components
#'
#' Given as the argument `k` of [gibbs_gmm()], it makes the number of components
#' an unknown of the model, with a prior on \eqn{1, \dots, \mathrm{max}}{1, ...,
#' max} (a mixture of finite mixtures):
#' \deqn{k \sim p(k), \quad \pi \mid k \sim \mathrm{Dir}(\gamma, \dots,
#'   \gamma), \quad \gamma = \alpha \mbox{ or } \alpha / k.}{
#'   k ~ p(k), pi | k ~ Dir(gamma, ..., gamma), gamma = alpha or alpha / k.}
#' `k = "unknown"` means `unknown_k()`.
#'
#' The named priors are truncated: \eqn{p(k)} is proportional to
#'
#' * `"bnb"`: \eqn{(k + 1)! / (k + 6)!}, up to a constant the
#'   beta-negative-binomial distribution \eqn{\mathrm{BNB}(1, 4, 3)}{BNB(1, 4,
#'   3)} of \eqn{k - 1}, whose mean without truncation is 1;
#' * `"uniform"`: 1;
#' * `"geometric"`: \eqn{0.9^{k - 1}}{0.9^(k - 1)};
#' * `"poisson"`: \eqn{1 / (k - 1)!}, the Poisson distribution of \eqn{k - 1}
#'   with mean 1.
#'
#' The number of components \eqn{k} is not the number of clusters
#' \eqn{k_+}{k+}, the components that hold observations. With dynamic weights
#' the concentration of each component falls with \eqn{k}. In the prior the gap
#' between the numbers of components and clusters therefore grows with \eqn{k}.
#'
#' @param max The largest number of components, a whole number from 1 to 1000.
#' @param prior The prior of `k`: `"bnb"` (default), `"uniform"`, `"geometric"`,
#'   `"poisson"`, or a vector of `max` probabilities of 1, ..., `max`, which are
#'   divided by their sum. If `max` is not given, it is the vector's length.
#' @param weights `"dynamic"` (default): \eqn{\gamma = \alpha / k}{gamma =
#'   alpha / k}. `"static"`: \eqn{\gamma = \alpha}{gamma = alpha}, so that
#'   `alpha = 1` is uniform over the weights.
#' @return An object of class `unknown_k`; printing it shows the prior.
#' @section Errors: `gibbsite_error_argument` for a value of the wrong type or
#'   out of its range.
#' @references
#' Frühwirth-Schnatter S, Malsiner-Walli G, Grün B (2021). Generalized
#' mixtures of finite mixtures and telescoping sampling. *Bayesian Analysis* 16,
#' 1279-1307. \doi{10.1214/21-BA1294}
#'
#' Miller JW, Harrison MT (2018). Mixture models with a prior on the number of
#' components. *JASA* 113, 340-356. \doi{10.1080/01621459.2016.1255636}
#' @examples
#' unknown_k()
#' unknown_k(30, "uniform", "static")
#' fit <- gibbs_gmm(faithful, unknown_k(10), draws = 200, burnin = 200,
#'   chains = 2, seed = 1
#' )
#' posterior_k(fit)
#' @seealso [posterior_k()], [point_clustering()].
#' @export
unknown_k <- function(max = 20, prior = c("bnb", "uniform", "geometric",
                                          "poisson"),
                      weights = c("dynamic", "static")) {
  call <- rlang::current_env()
  if (is.numeric(prior)) {
    prior <- check_numeric_vector(prior, lower = 0)
    if (missing(max)) max <- length(prior)
  } else {
    prior <- check_choice(prior, names(size_priors))
  }
  max <- check_count(max, max = 1000)
  if (is.numeric(prior)) {
    prior <- check_size_probabilities(prior, max, call)
  }
  structure(
    list(
      max = max, prior = prior,
      weights = check_choice(weights, c("dynamic", "static"))
    ),
    class = "unknown_k"
  )
}

check_size_probabilities <- function(prior, max, call) {
  if (length(prior) != max) {
    abort_argument(
      "{.arg prior} must have {max} probabilities ({.arg max}), not
       {length(prior)}.",
      call = call
    )
  }
  if (!(sum(prior) > 0 && sum(prior) < Inf)) {
    abort_argument(
      "{.arg prior} must have a positive and finite sum, not {sum(prior)}.",
      call = call
    )
  }
  unname(prior)
}

# log p(k) but for a constant.
size_priors <- list(
  bnb = function(k) lgamma(k + 2) - lgamma(k + 7),
  uniform = function(k) 0 * k,
  geometric = function(k) (k - 1) * log(0.9),
  poisson = function(k) -lgamma(k)
)

# log p(k) of 1, ..., max.
log_size_prior <- function(number) {
  value <- if (is.numeric(number$prior)) {
    log(number$prior)
  } else {
    size_priors[[number$prior]](seq_len(number$max))
  }
  value <- value - max(value)
  value - log(sum(exp(value)))
}

#' @export
format.unknown_k <- function(x, ...) {
  x <- remade(x, unknown_k, "unknown_k()")
  on <- paste0(" on 1, ..., ", x$max)
  c(
    paste0("k ~ ", if (is.numeric(x$prior)) {
      paste0("given probabilities", on)
    } else {
      paste0(switch(x$prior,
        bnb = "1 + BNB(1, 4, 3)", uniform = "uniform",
        geometric = "1 + Geometric(0.1)", poisson = "1 + Poisson(1)"
      ), on)
    }),
    paste0(
      "pi | k ~ Dir(", if (x$weights == "dynamic") "alpha / k" else "alpha", ")"
    )
  )
}

#' @export
print.unknown_k <- function(x, ...) {
  writeLines(format(x))
  invisible(x)
}

# An object of unknown_k() from the argument k, NULL for a number.
as_unknown_k <- function(k, call) {
  if (identical(k, "unknown")) {
    return(unknown_k())
  }
  if (is.character(k)) {
    abort_expected(
      k, "a whole number, \"unknown\" or made by unknown_k()", FALSE, "k", call,
      hint = case_hint(k, "unknown")
    )
  }
  if (inherits(k, "unknown_k")) {
    remade(k, unknown_k, "unknown_k()", arg = "k", call = call)
  }
}

# ---- The complete prior ------------------------------------------------------

# The prior with every field filled in, or an error of the user's call.
complete_unknown_prior <- function(prior, x, number, covariance, call,
                                   names = colnames(x)) {
  prior <- made_prior(prior, gmm_prior, call)
  d <- ncol(x)
  diagonal <- covariance == "diagonal"
  spans <- column_scales(x, call)
  prior <- complete_components(
    prior, spans, if (diagonal) 5 else d + 4, names, covariance, call
  )
  prior$alpha <- complete_one_alpha(prior$alpha, call)
  if (is.null(prior$s0) || identical(prior$s0, "drawn")) {
    prior$s0 <- "drawn"
    prior$s0_df <- prior$s0_df %||% if (diagonal) 1 else d
    check_degrees(prior$s0_df, "s0_df", d, covariance, "Wishart", call)
    prior$s0_mean <- complete_gmm_scale(
      prior$s0_mean %||% (prior$nu0 / 100 * spans$range^2), d, names, "s0_mean",
      covariance, call
    )
  } else {
    prior$s0 <- complete_gmm_scale(prior$s0, d, names, "s0", covariance, call)
  }
  prior$number <- number
  class(prior) <- union("gmm_unknown_prior", class(prior))
  prior
}

complete_one_alpha <- function(alpha, call) {
  if (identical(alpha, "sparse")) {
    return(0.01)
  }
  alpha <- alpha %||% "drawn"
  if (length(alpha) != 1L) {
    abort_argument(
      "`alpha` of `prior` must be one number or {.val drawn} for an unknown
       number of components, not {length(alpha)} numbers.",
      call = call
    )
  }
  alpha
}

#' @export
format.gmm_unknown_prior <- function(x, ...) {
  check_made(x, c(names(formals(gmm_prior)), "number"), "gibbs_gmm()")
  number <- remade(x$number, unknown_k, "unknown_k()", arg = "x")
  dynamic <- number$weights == "dynamic"
  c(
    format(number)[[1L]],
    paste0("pi | k   ~ Dir(", if (dynamic) "alpha / k)" else "alpha)    ",
           "  z_i | pi ~ Categorical(pi)"),
    "mu_c     ~ N(m0, V0)       x_i | z_i = c ~ N(mu_c, Sigma_c)",
    "Sigma_c  ~ IW(nu0, S0)     (degrees of freedom, scale matrix)",
    format_gmm_fields(x)
  )
}
