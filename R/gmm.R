# Gaussian mixtures: gibbs_gmm(), its prior, and what its fits answer.

# ---- the prior ----------------------------------------------------------------

#' Prior of a Gaussian mixture
#'
#' The prior of [gibbs_gmm()]:
#' \deqn{\pi \sim \mathrm{Dir}(\alpha), \quad
#'   \mu_c \sim \mathrm{N}(m_0, V_0), \quad
#'   \Sigma_c \sim \mathrm{IW}(\nu_0, S_0),}{
#'   pi ~ Dir(alpha), mu_c ~ N(m0, V0), Sigma_c ~ IW(nu0, S0),}
#' independently over the components \eqn{c = 1, \dots, k}. The inverse Wishart
#' \eqn{\mathrm{IW}(\nu_0, S_0)} has density proportional to
#' \eqn{|\Sigma|^{-(\nu_0 + d + 1)/2} \exp(-\mathrm{tr}(S_0 \Sigma^{-1})/2)} and
#' mean \eqn{S_0 / (\nu_0 - d - 1)} when \eqn{\nu_0 > d + 1}.
#'
#' Fields left `NULL` are completed from the data at the fit, and
#' [prior_summary()] shows the values used. Of these defaults `alpha`, `nu0` and
#' `s0` are those of Fraley and Raftery (2007) for the covariances, the mean's are
#' in the manner of Richardson and Green (1997):
#'
#' * `alpha`: 1 for each component (uniform on the simplex);
#' * `m0`: the middle of each variable's range;
#' * `v0`: diagonal, the square of each variable's range;
#' * `nu0`: `d + 2`;
#' * `s0`: diagonal, each variable's variance divided by `k^(2 / d)`.
#'
#' A range or variance that is zero (or unknown, with one observation) counts as
#' 1, with a message.
#'
#' @param alpha `NULL`, one positive number (for every component) or `k` of
#'   them: the Dirichlet concentrations.
#' @param m0 `NULL`, one number or `d` numbers: the prior mean of each mean.
#' @param v0 `NULL`, one positive number (a multiple of the identity), `d`
#'   positive numbers (a diagonal) or a symmetric positive definite `d x d`
#'   matrix: the prior covariance of each mean, in squared units of the data.
#' @param nu0 `NULL` or one number above `d - 1`: degrees of freedom.
#' @param s0 Scale matrix of the inverse Wishart, given like `v0`.
#' @return An object of class `gmm_prior`; printing it shows the model.
#' @section Errors:
#' A value of the wrong type or out of its range is an error of class
#' `gibbsite_error_argument`; lengths are compared with the data at the fit.
#' @references
#' Fraley C, Raftery AE (2007). Bayesian regularization for normal mixture
#' estimation and model-based clustering. *Journal of Classification* 24,
#' 155-181. \doi{10.1007/s00357-007-0004-5}
#'
#' Richardson S, Green PJ (1997). On Bayesian analysis of mixtures with an
#' unknown number of components. *JRSS B* 59, 731-792.
#' \doi{10.1111/1467-9868.00095}
#' @examples
#' gmm_prior()
#' gmm_prior(alpha = 2, nu0 = 6)
#' @export
gmm_prior <- function(alpha = NULL, m0 = NULL, v0 = NULL, nu0 = NULL,
                      s0 = NULL) {
  call <- rlang::current_env()
  numbers <- function(x, arg, above = -Inf) {
    if (is.null(x)) {
      return(NULL)
    }
    check_numeric_vector(
      x, lower = above, lower_open = TRUE, arg = arg, call = call
    )
  }
  spread <- function(x, arg) {
    if (is.matrix(x)) {
      check_spd_matrix(x, nrow(x), arg = arg, call = call)
    } else {
      numbers(x, arg, above = 0)
    }
  }
  if (!is.null(nu0)) {
    nu0 <- check_number(
      nu0, lower = 0, lower_open = TRUE, arg = "nu0", call = call
    )
  }
  structure(
    list(
      alpha = numbers(alpha, "alpha", above = 0), m0 = numbers(m0, "m0"),
      v0 = spread(v0, "v0"), nu0 = nu0, s0 = spread(s0, "s0")
    ),
    class = c("gmm_prior", "gibbsite_prior")
  )
}

#' @export
format.gmm_prior <- function(x, ...) {
  value <- function(v) {
    if (is.null(v)) {
      return("from the data")
    }
    if (is.matrix(v)) {
      off <- v - diag(diag(v), nrow(v))
      if (all(off == 0)) {
        return(value_diagonal(diag(v)))
      }
      rows <- apply(signif(v, 4), 1, paste, collapse = ", ")
      return(paste0("[", paste(rows, collapse = "; "), "]"))
    }
    paste(format(signif(v, 4), trim = TRUE, drop0trailing = TRUE),
      collapse = ", "
    )
  }
  value_diagonal <- function(v) {
    paste0("diag(", paste(signif(v, 4), collapse = ", "), ")")
  }
  c(
    "pi       ~ Dir(alpha)      z_i | pi ~ Categorical(pi)",
    "mu_c     ~ N(m0, V0)       x_i | z_i = c ~ N(mu_c, Sigma_c)",
    "Sigma_c  ~ IW(nu0, S0)     (degrees of freedom, scale matrix)",
    paste0("  alpha = ", value(x$alpha)),
    paste0("  m0    = ", value(x$m0)),
    paste0("  V0    = ", value(x$v0)),
    paste0("  nu0   = ", value(x$nu0)),
    paste0("  S0    = ", value(x$s0))
  )
}

#' @export
print.gmm_prior <- function(x, ...) {
  writeLines(format(x))
  invisible(x)
}

# The prior with every field filled in for k components and the data x, or an
# error of the user's call that names the field.
complete_gmm_prior <- function(prior, x, k, call) {
  check_class(prior, "gmm_prior", "gmm_prior()", call = call)
  d <- ncol(x)
  spans <- column_scales(x)
  prior$alpha <- as_length(prior$alpha %||% 1, k, "alpha", "k", call)
  prior$m0 <- as_length(prior$m0 %||% spans$middle, d, "m0", "ncol(x)", call)
  prior$v0 <- as_covariance(prior$v0 %||% spans$range^2, d, "v0", call)
  prior$nu0 <- prior$nu0 %||% (d + 2)
  if (prior$nu0 <= d - 1) {
    abort_argument(
      c(
        paste0(
          "`nu0` of `prior` must be above {d - 1} for {d} variable{?s}, ",
          "not {prior$nu0}."
        ),
        i = "The inverse Wishart is proper for `nu0 > ncol(x) - 1` only."
      ),
      call = call
    )
  }
  prior$s0 <- as_covariance(
    prior$s0 %||% (spans$variance / k^(2 / d)), d, "s0", call
  )
  prior
}

# Middle, range and variance of each column; a spread of zero counts as 1.
column_scales <- function(x) {
  low <- apply(x, 2, min)
  high <- apply(x, 2, max)
  range <- high - low
  variance <- if (nrow(x) > 1) apply(x, 2, stats::var) else rep(0, ncol(x))
  flat <- !(range > 0 & variance > 0)
  if (any(flat)) {
    names <- colnames(x)[flat]
    inform_gibbsite(
      c(
        paste0(
          "Column{?s} {.val {names}} of `x` {?is/are} constant: ",
          "the default prior takes 1 for {?its/their} spread."
        ),
        i = "Give `prior = gmm_prior(v0 = , s0 = )` in the data's units."
      ),
      class = "constant"
    )
  }
  range[flat] <- 1
  variance[flat] <- 1
  list(
    middle = unname((low + high) / 2), range = unname(range),
    variance = unname(variance)
  )
}

as_length <- function(value, length, arg, size, call) {
  if (length(value) == 1L) {
    return(rep(as.double(value), length))
  }
  if (length(value) != length) {
    abort_argument(
      paste0(
        "`{arg}` of `prior` must have length 1 or {length} (`{size}`), ",
        "not {length(value)}."
      ),
      call = call
    )
  }
  as.double(value)
}

as_covariance <- function(value, d, arg, call) {
  if (!is.matrix(value)) {
    return(diag(as_length(value, d, arg, "ncol(x)", call), d))
  }
  if (nrow(value) != d) {
    abort_argument(
      paste0(
        "`{arg}` of `prior` must be a {d} x {d} matrix (`ncol(x)`), ",
        "not {nrow(value)} x {ncol(value)}."
      ),
      call = call
    )
  }
  matrix(as.double(value), d, d)
}

# ---- the sampler ------------------------------------------------------------------

#' Gaussian mixture by Gibbs sampling
#'
#' Draws from the posterior of a mixture of `k` multivariate normal
#' distributions with full covariances. With \eqn{n} observations
#' \eqn{x_i \in R^d}:
#' \deqn{\pi \sim \mathrm{Dir}(\alpha), \quad z_i \mid \pi \sim
#'   \mathrm{Categorical}(\pi), \quad x_i \mid z_i = c \sim
#'   \mathrm{N}(\mu_c, \Sigma_c),}{
#'   pi ~ Dir(alpha), z_i | pi ~ Categorical(pi),
#'   x_i | z_i = c ~ N(mu_c, Sigma_c),}
#' \deqn{\mu_c \sim \mathrm{N}(m_0, V_0), \quad \Sigma_c \sim
#'   \mathrm{IW}(\nu_0, S_0).}{
#'   mu_c ~ N(m0, V0), Sigma_c ~ IW(nu0, S0).}
#'
#' The density that the chain leaves invariant is, up to a constant,
#' \deqn{p(\pi) \prod_c p(\mu_c) p(\Sigma_c) \prod_i \pi_{z_i}
#'   \mathrm{N}(x_i \mid \mu_{z_i}, \Sigma_{z_i}).}{
#'   p(pi) prod_c p(mu_c) p(Sigma_c) prod_i pi_{z_i} N(x_i | mu_{z_i},
#'   Sigma_{z_i}).}
#'
#' One sweep draws in turn
#' \deqn{\pi \mid z \sim \mathrm{Dir}(\alpha + n_1, \dots, \alpha + n_k),}{
#'   pi | z ~ Dir(alpha + n),}
#' \deqn{\mu_c \mid \Sigma_c, z \sim \mathrm{N}(m_c, V_c), \quad
#'   V_c^{-1} = V_0^{-1} + n_c \Sigma_c^{-1}, \quad
#'   m_c = V_c (V_0^{-1} m_0 + \Sigma_c^{-1} n_c \bar x_c),}{
#'   mu_c | Sigma_c, z ~ N(m_c, V_c), V_c^-1 = V0^-1 + n_c Sigma_c^-1,
#'   m_c = V_c (V0^-1 m0 + Sigma_c^-1 n_c xbar_c),}
#' \deqn{\Sigma_c \mid \mu_c, z \sim \mathrm{IW}\Bigl(\nu_0 + n_c,
#'   S_0 + \sum_{z_i = c} (x_i - \mu_c)(x_i - \mu_c)^\top\Bigr),}{
#'   Sigma_c | mu_c, z ~ IW(nu0 + n_c,
#'   S0 + sum_{z_i = c} (x_i - mu_c)(x_i - mu_c)'),}
#' \deqn{P(z_i = c \mid \cdot) \propto \pi_c
#'   \mathrm{N}(x_i \mid \mu_c, \Sigma_c).}{
#'   P(z_i = c | .) proportional to pi_c N(x_i | mu_c, Sigma_c).}
#' An empty component is drawn from its prior.
#'
#' @section Labels:
#' The posterior does not change when the components are renumbered (unless
#' `alpha` differs between them), and a long chain visits all numberings. Draws
#' are returned as they came. R-hat and effective sample sizes are judged on
#' quantities that do not depend on the numbering: the log-likelihood, the
#' sorted weights, and the mean and covariance of the mixture. `predict()`,
#' `summary()` and `plot()` number the components of each draw so that they agree
#' with one pivotal draw, largest component first.
#'
#' @section Stored quantities:
#' Columns `pi[c]`, `mu[c,j]`, `Sigma[c,i,j]` (`c` component, `i`, `j`
#' variables), `log_lik` (the sum over observations of
#' \eqn{\log \sum_c \pi_c \mathrm{N}(x_i \mid \mu_c, \Sigma_c)}) and `n_occupied`
#' (components with at least one observation); with `keep = "z"` also the
#' allocations `z[i]`.
#'
#' @section Starting values:
#' By default each chain starts from `k` observations taken at random as means,
#' equal weights and the prior's scale of covariance. An entry of `inits` is a
#' list with any of `pi` (`k` positive numbers that sum to 1), `mu` (`k x d`),
#' `Sigma` (`k x d x d`) and `z` (`n` whole numbers from 1 to `k`); what is
#' missing is drawn.
#'
#' @param x The observations: a numeric matrix or data frame with `n` rows and
#'   `d` columns, or a numeric vector (`d = 1`). No missing values.
#' @param k The number of components: a whole number from 1 to `n`.
#' @param prior The prior, made by [gmm_prior()].
#' @param keep `NULL`, or `"z"` to store every draw of the allocations.
#' @inheritParams running
#' @return An object of class `gibbs_gmm`, a `gibbsite_fit` and a
#'   [coda::mcmc.list]: one matrix of draws a chain. See [gibbsite_fit] for
#'   what it answers, [predict.gibbs_gmm()] for densities and clusters.
#' @section Errors:
#' Errors in the arguments have class `gibbsite_error_argument` and are raised
#' before any chain runs; a chain that fails raises `gibbsite_error_chain`,
#' which carries the other chains in `$fit`.
#' @references
#' Diebolt J, Robert CP (1994). Estimation of finite mixture distributions
#' through Bayesian sampling. *JRSS B* 56, 363-375.
#' \doi{10.1111/j.2517-6161.1994.tb01985.x}
#'
#' Rai P. *CS772A: Probabilistic Machine Learning*, "Gibbs sampling: an
#' example" (the conditionals as used here).
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 500, burnin = 200, chains = 2, seed = 1)
#' fit
#' head(predict(fit, type = "prob"))
#' plot(fit)
#' @export
gibbs_gmm <- function(x, k, prior = gmm_prior(), draws = 1000, burnin = 1000,
                      thin = 1, chains = 4, inits = NULL, keep = NULL,
                      threads = 1, cores = getOption("mc.cores", 1L),
                      seed = NULL, checkpoint = NULL, stop_when = NULL,
                      progress = interactive(), keep_data = TRUE) {
  call <- rlang::current_env()
  x <- check_data_matrix(x, arg = "x", call = call)
  k <- check_count(
    k, min = 1, max = nrow(x), max_why = "rows of `x`", arg = "k", call = call
  )
  prior <- complete_gmm_prior(prior, x, k, call)
  running <- running(
    draws = draws, burnin = burnin, thin = thin, chains = chains,
    inits = inits, keep = keep, threads = threads, cores = cores, seed = seed,
    checkpoint = checkpoint, stop_when = stop_when, progress = progress,
    keep_data = keep_data, keep_choices = "z", keep_default = character(),
    call = call
  )
  model <- gmm_model(x, k, prior, "z" %in% running$keep)
  run_chains(model, running, match.call(), call)
}

gmm_model <- function(x, k, prior, keep_z = FALSE) {
  new_model(
    "gmm_model",
    name = "gibbs_gmm", title = "Gaussian mixture",
    data = gmm_data(x, k, prior, keep_z), prior = prior, nobs = nrow(x),
    columns = gmm_columns(k, ncol(x), if (keep_z) nrow(x) else 0L),
    k = as.integer(k), variables = colnames(x), keep_z = keep_z
  )
}

# What C reads.  V0^-1 is needed as such: it is added to n_c Sigma_c^-1.
gmm_data <- function(x, k, prior, keep_z) {
  q0 <- chol2inv(chol(prior$v0))
  list(
    x = x, k = as.integer(k), alpha = prior$alpha, m0 = prior$m0, q0 = q0,
    q0_m0 = drop(q0 %*% prior$m0), nu0 = as.double(prior$nu0), s0 = prior$s0,
    keep_z = as.integer(keep_z)
  )
}

gmm_columns <- function(k, d, n_kept) {
  c <- seq_len(k)
  pairs <- expand.grid(c = c, j = seq_len(d))
  triples <- expand.grid(c = c, i = seq_len(d), j = seq_len(d))
  c(
    paste0("pi[", c, "]"),
    paste0("mu[", pairs$c, ",", pairs$j, "]"),
    paste0("Sigma[", triples$c, ",", triples$i, ",", triples$j, "]"),
    "log_lik", "n_occupied",
    if (n_kept > 0) paste0("z[", seq_len(n_kept), "]")
  )
}

# ---- what the driver asks -----------------------------------------------------------

model_sweeps.gmm_model <- function(model, state, n, control) {
  .Call(C_gmm_sweeps, model$data, state, n, control)
}

# Starting values: `k` observations as means, unless given.  The allocations
# follow from the other parameters (one uniform an observation).
model_start.gmm_model <- function(model, init) {
  data <- model$data
  n <- nrow(data$x)
  k <- model$k
  d <- ncol(data$x)
  pi <- init$pi %||% rep(1 / k, k)
  mu <- init$mu %||% data$x[sample.int(n, k), , drop = FALSE]
  sigma <- init$Sigma %||% aperm(array(data$s0, c(d, d, k)), c(3L, 1L, 2L))
  state <- gmm_state(log(pi), mu, sigma, init$z)
  if (is.null(init$z)) {
    state$z <- draw_labels(gmm_probabilities(data$x, state))
  }
  state
}

gmm_state <- function(log_pi, mu, sigma, z) {
  list(
    sweep = 0, z = as.integer(z), log_pi = as.double(log_pi),
    mu = as.double(mu), sigma = as.double(sigma)
  )
}

# P(z_i = c | x_i, parameters of one state), n x k.
gmm_probabilities <- function(x, state) {
  row <- function(v) matrix(v, 1L)
  .Call(
    C_gmm_evaluate, x, row(exp(state$log_pi)), row(state$mu), row(state$sigma),
    NULL, NULL, c(FALSE, TRUE)
  )$prob
}

# One label a row of a matrix of probabilities.
draw_labels <- function(prob) {
  u <- stats::runif(nrow(prob))
  partial <- prob
  for (c in seq_len(ncol(prob))[-1L]) {
    partial[, c] <- partial[, c] + partial[, c - 1L]
  }
  u <- u * partial[, ncol(prob)]
  as.integer(1 + rowSums(partial[, -ncol(prob), drop = FALSE] <= u))
}

model_check_init.gmm_model <- function(model, init, where, call) {
  k <- model$k
  n <- nrow(model$data$x)
  d <- ncol(model$data$x)
  known <- c("pi", "mu", "Sigma", "z")
  if (!is.list(init) || is.null(names(init)) ||
        !all(names(init) %in% known)) {
    abort_argument(
      c(
        "`{where}` must be a list with names among {.val {known}}.",
        i = "What is left out is drawn."
      ),
      call = call
    )
  }
  shape <- function(name, length, text) {
    value <- init[[name]]
    if (!is.null(value) && (!is.numeric(value) || length(value) != length ||
                              !all(is.finite(value)))) {
      abort_argument(
        "`{where}${name}` must be {text} of finite numbers.",
        call = call
      )
    }
  }
  shape("pi", k, paste("a vector of", k))
  shape("mu", k * d, paste0("a ", k, " x ", d, " matrix"))
  shape("Sigma", k * d * d, paste0("a ", k, " x ", d, " x ", d, " array"))
  shape("z", n, paste("a vector of", n))
  if (!is.null(init$pi) && (any(init$pi <= 0) || abs(sum(init$pi) - 1) > 1e-8)) {
    abort_argument(
      "`{where}$pi` must be positive and sum to 1.", call = call
    )
  }
  if (!is.null(init$z) && !all(init$z %in% seq_len(k))) {
    abort_argument(
      "`{where}$z` must hold whole numbers from 1 to {k}.", call = call
    )
  }
  if (!is.null(init$Sigma)) {
    sigma <- array(init$Sigma, c(k, d, d))
    for (c in seq_len(k)) {
      check_spd_matrix(
        matrix(sigma[c, , ], d, d), d,
        arg = paste0(where, "$Sigma[", c, ", , ]"), call = call
      )
    }
  }
  init
}

model_init_from_state.gmm_model <- function(model, state) {
  list(
    pi = exp(state$log_pi) / sum(exp(state$log_pi)), mu = state$mu,
    Sigma = state$sigma, z = state$z
  )
}

# Blocks of a chain's draws: pi draws x k, mu draws x (k d), Sigma draws x (k d d).
gmm_blocks <- function(model, draws) {
  k <- model$k
  d <- length(model$variables)
  list(
    k = k, d = d,
    pi = draws[, seq_len(k), drop = FALSE],
    mu = draws[, k + seq_len(k * d), drop = FALSE],
    sigma = draws[, k + k * d + seq_len(k * d * d), drop = FALSE]
  )
}

# log-likelihood, weights in decreasing order, mean and covariance of the
# mixture: sum_c pi_c mu_c and sum_c pi_c (Sigma_c + mu_c mu_c') - mean mean'.
model_invariants.gmm_model <- function(model, draws) {
  draws <- unclass(draws)
  b <- gmm_blocks(model, draws)
  k <- b$k
  d <- b$d
  weight <- b$pi
  if (k > 1L && nrow(draws) > 0L) {
    weight <- t(apply(b$pi, 1L, sort, decreasing = TRUE))
  }
  mean <- vapply(seq_len(d), function(j) {
    rowSums(b$pi * b$mu[, (j - 1L) * k + seq_len(k), drop = FALSE])
  }, numeric(nrow(draws)))
  mean <- matrix(mean, nrow(draws), d)
  pairs <- which(lower.tri(diag(d), diag = TRUE), arr.ind = TRUE)
  covariance <- apply(pairs, 1L, function(pair) {
    i <- pair[[1L]]
    j <- pair[[2L]]
    of <- function(block, column) {
      block[, (column - 1L) * k + seq_len(k), drop = FALSE]
    }
    second <- of(b$sigma, i + d * (j - 1L)) + of(b$mu, i) * of(b$mu, j)
    rowSums(b$pi * second) - mean[, i] * mean[, j]
  })
  covariance <- matrix(covariance, nrow(draws), nrow(pairs))
  result <- cbind(draws[, "log_lik"], weight, mean, covariance)
  dimnames(result) <- list(NULL, c(
    "log_lik", paste0("weight[", seq_len(k), "]"),
    paste0("mean[", seq_len(d), "]"),
    paste0("cov[", pairs[, 1L], ",", pairs[, 2L], "]")
  ))
  result
}

model_headline.gmm_model <- function(model) {
  cli::pluralize(
    "Gaussian mixture: {model$k} component{?s}, full covariances; ",
    "{model$nobs} observation{?s} of {length(model$variables)} variable{?s}"
  )
}

model_labels.gmm_model <- function(model) {
  k <- model$k
  names <- model$variables
  d <- length(names)
  c <- seq_len(k)
  pairs <- expand.grid(c = c, j = seq_len(d))
  triples <- expand.grid(c = c, i = seq_len(d), j = seq_len(d))
  data.frame(
    variable = model$columns,
    label = c(
      paste("weight of component", c),
      paste0("mean of ", names[pairs$j], " in component ", pairs$c),
      paste0(
        ifelse(triples$i == triples$j,
          paste("variance of", names[triples$i]),
          paste("covariance of", names[triples$i], "and", names[triples$j])
        ),
        " in component ", triples$c
      ),
      "log-likelihood", "occupied components",
      if (model$keep_z) paste("component of observation", seq_len(model$nobs))
    )
  )
}

# ---- test hooks ------------------------------------------------------------------------

draw_prior.gmm_model <- function(model) {
  prior <- model$prior
  k <- model$k
  d <- length(prior$m0)
  weights <- stats::rgamma(k, prior$alpha)
  pi <- weights / sum(weights)
  mu <- t(prior$m0 + t(chol(prior$v0)) %*% matrix(stats::rnorm(d * k), d, k))
  precision <- stats::rWishart(k, prior$nu0, chol2inv(chol(prior$s0)))
  sigma <- array(0, c(k, d, d))
  for (c in seq_len(k)) {
    sigma[c, , ] <- chol2inv(chol(matrix(precision[, , c], d, d)))
  }
  z <- sample.int(k, model$nobs, replace = TRUE, prob = pi)
  gmm_state(log(pi), mu, sigma, z)
}

simulate_data.gmm_model <- function(model, state) {
  k <- model$k
  d <- length(model$variables)
  mu <- matrix(state$mu, k, d)
  sigma <- array(state$sigma, c(k, d, d))
  x <- matrix(stats::rnorm(model$nobs * d), model$nobs, d)
  for (c in unique(state$z)) {
    rows <- state$z == c
    x[rows, ] <- x[rows, , drop = FALSE] %*% chol(matrix(sigma[c, , ], d, d)) +
      rep(mu[c, ], each = sum(rows))
  }
  colnames(x) <- model$variables
  x
}

set_data.gmm_model <- function(model, data) {
  x <- check_data_matrix(data, arg = "data", call = rlang::caller_env(2))
  fresh <- gmm_model(x, model$k, model$prior, model$keep_z)
  model[names(fresh)] <- fresh
  model
}

# ---- labels -------------------------------------------------------------------------------

# For each draw (all chains together) the labels that its components get:
# integers, draws x k.  The pivot is the draw of the highest log-likelihood.  A
# component gets the label of the pivot's component with which it shares most
# observations: the assignment problem over expected counts, pivotal reordering by
# allocations (Papastamoulis & Iliopoulos 2010, doi:10.1198/jcgs.2010.09008) with
# probabilities in place of drawn allocations.  Labels are then ranked by mean
# weight, largest first.
gmm_labels <- function(model, draws) {
  b <- gmm_blocks(model, draws)
  if (b$k == 1L) {
    return(matrix(1L, nrow(draws), 1L))
  }
  best <- which.max(draws[, "log_lik"])
  x <- matching_points(model, b, best)
  pivot <- max.col(
    evaluate_draws(b, x, rows = best, prob = TRUE)$prob,
    ties.method = "first"
  )
  labels <- match_labels(evaluate_draws(b, x, pivot = pivot)$agreement)
  rank_labels(labels, b$pi)
}

# Where components are compared: at most 1,000 observations spread evenly over
# the data; for a fit without its data, the means of the pivot's components and
# points one standard deviation from them along the columns of its factor.
matching_points <- function(model, blocks, best) {
  x <- model$data$x
  if (!is.null(x)) {
    n <- nrow(x)
    return(x[unique(round(seq(1, n, length.out = min(n, 1000)))), ,
             drop = FALSE])
  }
  k <- blocks$k
  d <- blocks$d
  mu <- matrix(blocks$mu[best, ], k, d)
  sigma <- array(blocks$sigma[best, ], c(k, d, d))
  do.call(rbind, lapply(seq_len(k), function(c) {
    factor <- chol(matrix(sigma[c, , ], d, d))
    rep(mu[c, ], each = 2L * d + 1L) + rbind(0, factor, -factor)
  }))
}

# agreement: draws x k x k, expected number of observations that component a of
# the draw shares with component b of the pivot.
match_labels <- function(agreement) {
  k <- dim(agreement)[[2L]]
  t(apply(agreement, 1L, function(shared) {
    as.integer(clue::solve_LSAP(matrix(shared, k, k), maximum = TRUE))
  }))
}

rank_labels <- function(labels, pi) {
  k <- ncol(labels)
  weight <- vapply(seq_len(k), function(label) sum(pi[labels == label]), 0)
  ranks <- integer(k)
  ranks[order(-weight)] <- seq_len(k)
  matrix(ranks[labels], nrow(labels), k)
}

# Every block of a row is k numbers for each of its columns, component fastest:
# the number of component c moves to place labels[, c].
model_relabelled.gmm_model <- function(model, draws) {
  sizes <- vapply(draws, nrow, 0L)
  all <- do.call(rbind, draws)
  labels <- gmm_labels(model, all)
  k <- model$k
  d <- length(model$variables)
  from <- all
  rows <- seq_len(nrow(all))
  for (group in seq_len(1L + d + d * d) - 1L) {
    for (c in seq_len(k)) {
      all[cbind(rows, group * k + labels[, c])] <- from[, group * k + c]
    }
  }
  if (model$keep_z) {
    z <- startsWith(model$columns, "z[")
    all[, z] <- labels[cbind(rep(rows, sum(z)), as.vector(from[, z]))]
  }
  ends <- cumsum(sizes)
  Map(function(start, end) all[seq.int(start, end), , drop = FALSE],
    ends - sizes + 1L, ends)
}

model_labelled.gmm_model <- function(model, invariants) {
  if (model$k == 1L) {
    return(character())
  }
  setdiff(model$columns, c("log_lik", "n_occupied"))
}

# The C evaluation of all draws, or of some rows of them, at x.
evaluate_draws <- function(blocks, x, rows = NULL, labels = NULL, pivot = NULL,
                           density = FALSE, prob = FALSE) {
  take <- function(m) unname(if (is.null(rows)) m else m[rows, , drop = FALSE])
  .Call(
    C_gmm_evaluate, unname(x), take(blocks$pi), take(blocks$mu),
    take(blocks$sigma), labels, pivot, c(density, prob)
  )
}

# ---- predictions -----------------------------------------------------------------------------

#' Clusters, probabilities and densities from a Gaussian mixture
#'
#' Averages over the posterior draws, without refitting. The density of new data
#' does not depend on how components are numbered. For clusters and
#' probabilities the components of each draw are first renumbered to agree with
#' a pivotal draw (that of the highest log-likelihood), by the assignment that
#' shares most observations with it (Papastamoulis and Iliopoulos 2010);
#' cluster 1 is the one with the largest weight.
#'
#' @param object A fit made by [gibbs_gmm()].
#' @param newdata `NULL` for the data of the fit, or new observations: a matrix,
#'   data frame or vector with the fit's variables, taken by name where there are
#'   names.
#' @param type `"cluster"`: the most probable component of each observation;
#'   `"prob"`: the posterior probabilities of all components; `"density"`: the
#'   density \eqn{\sum_c \pi_c \mathrm{N}(x \mid \mu_c, \Sigma_c)}{sum_c pi_c
#'   N(x | mu_c, Sigma_c)}, its mean over the draws being the posterior
#'   predictive density.
#' @param level For `"density"`: a number between 0 and 1, the probability of the
#'   central interval; default 0.9.
#' @param ... Not used.
#' @return For `"cluster"` a vector of whole numbers, for `"prob"` a matrix with
#'   a row for each observation and a column for each component, for `"density"`
#'   a data frame with the columns `mean`, `sd`, `lower` and `upper` (per unit
#'   of volume of the data). Row names are kept. Each observation's result is
#'   the same, to the last bit, whatever others are asked for with it.
#' @section Errors: `gibbsite_error_argument` for variables that are missing or
#'   too many, missing values, and for a fit without its data when `newdata` is
#'   `NULL`.
#' @references
#' Papastamoulis P, Iliopoulos G (2010). An artificial allocations based solution
#' to the label switching problem in Bayesian analysis of mixtures of
#' distributions. *Journal of Computational and Graphical Statistics* 19,
#' 313-331. \doi{10.1198/jcgs.2010.09008}
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 500, burnin = 200, chains = 2, seed = 1,
#'   progress = FALSE)
#' table(predict(fit))
#' new <- data.frame(eruptions = c(2, 3, 4.5), waiting = c(55, 70, 80))
#' predict(fit, new, type = "prob")
#' predict(fit, new, type = "density")
#' @export
predict.gibbs_gmm <- function(object, newdata = NULL,
                              type = c("cluster", "prob", "density"),
                              level = 0.9, ...) {
  call <- rlang::current_env()
  rlang::check_dots_empty()
  type <- check_choice(type, c("cluster", "prob", "density"))
  level <- check_number(
    level, lower = 0, upper = 1, lower_open = TRUE, upper_open = TRUE
  )
  model <- fit_part(object, "model")
  x <- gmm_newdata(model, newdata, call)
  draws <- do.call(rbind, chain_matrices(object))
  if (type == "density") {
    return(predict_density(model, draws, x, level))
  }
  prob <- evaluate_draws(
    gmm_blocks(model, draws), x, labels = gmm_labels(model, draws), prob = TRUE
  )$prob
  dimnames(prob) <- list(rownames(x), seq_len(model$k))
  if (type == "prob") {
    return(prob)
  }
  stats::setNames(max.col(prob, ties.method = "first"), rownames(x))
}

# In blocks of observations, so that draws x observations stays below 64 MB.
predict_density <- function(model, draws, x, level) {
  blocks <- gmm_blocks(model, draws)
  probs <- c((1 - level) / 2, (1 + level) / 2)
  size <- max(1, floor(8e6 / nrow(draws)))
  starts <- seq(1, nrow(x), by = size)
  parts <- lapply(starts, function(start) {
    rows <- seq.int(start, min(nrow(x), start + size - 1))
    density <- exp(evaluate_draws(
      blocks, x[rows, , drop = FALSE], density = TRUE
    )$log_density)
    bounds <- apply(density, 2, stats::quantile, probs = probs, names = FALSE)
    data.frame(
      mean = colMeans(density), sd = apply(density, 2, stats::sd),
      lower = bounds[1L, ], upper = bounds[2L, ]
    )
  })
  out <- do.call(rbind, parts)
  rownames(out) <- rownames(x)
  out
}

# The observations to predict, with the variables of the fit in their order.
gmm_newdata <- function(model, newdata, call) {
  if (is.null(newdata)) {
    if (is.null(model$data)) {
      abort_argument(
        c(
          "{.arg newdata} is needed: the fit does not hold its data.",
          i = "It was made with {.code keep_data = FALSE} or {.fn drop_data}."
        ),
        call = call
      )
    }
    return(model$data$x)
  }
  named <- !is.null(colnames(newdata))
  if (named && all(model$variables %in% colnames(newdata))) {
    newdata <- newdata[, model$variables, drop = FALSE]
  } else if (is.data.frame(newdata)) {
    lacking <- setdiff(model$variables, colnames(newdata))
    abort_argument(
      "{.arg newdata} lacks the variable{?s} {.val {lacking}} of the fit.",
      call = call
    )
  }
  d <- length(model$variables)
  if (d > 1L && is.null(dim(newdata)) && length(newdata) == d) {
    newdata <- matrix(newdata, 1L)
  }
  x <- check_data_matrix(newdata, arg = "newdata", call = call)
  if (ncol(x) != d) {
    abort_argument(
      "{.arg newdata} must have {d} column{?s} like the fit, not {ncol(x)}.",
      call = call
    )
  }
  x
}

# ---- pictures ----------------------------------------------------------------------------------

#' Plot a Gaussian mixture
#'
#' With two variables, the observations coloured by cluster (paler where the
#' cluster is less certain), the contours of the posterior predictive density and
#' for each component the ellipse that holds `level` of it, at the posterior mean
#' of its parameters (components renumbered as in [predict.gibbs_gmm()]).
#'
#' @param x A fit made by [gibbs_gmm()].
#' @param type `"mixture"` (default with two variables and the data kept), or
#'   one of the types of [plot.gibbsite_fit()].
#' @param level Number between 0 and 1, default 0.9: the probability that each
#'   ellipse holds.
#' @param ... Passed to [plot.gibbsite_fit()], or graphical parameters for
#'   `"mixture"`.
#' @return `x`, invisibly.
#' @section Errors: `gibbsite_error_argument` for an unknown `type`, and for
#'   `"mixture"` without the data or with other than two variables.
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 500, burnin = 200, chains = 2, seed = 1,
#'   progress = FALSE)
#' plot(fit)
#' plot(fit, type = "trace")
#' @export
plot.gibbs_gmm <- function(x, type = NULL, level = 0.9, ...) {
  model <- fit_part(x, "model")
  drawable <- length(model$variables) == 2L && !is.null(model$data)
  if (is.null(type)) {
    type <- if (drawable) "mixture" else "trace"
  }
  if (!identical(type, "mixture")) {
    return(NextMethod(type = type))
  }
  level <- check_number(
    level, lower = 0, upper = 1, lower_open = TRUE, upper_open = TRUE
  )
  if (!drawable) {
    abort_argument(c(
      "{.code type = \"mixture\"} needs two variables and the data.",
      i = "Use {.code type = \"trace\"}."
    ))
  }
  plot_mixture(x, model, level, ...)
  invisible(x)
}

plot_mixture <- function(fit, model, level, ...) {
  x <- model$data$x
  mean <- colMeans(do.call(
    rbind, model_relabelled(model, chain_matrices(fit))
  ))
  prob <- predict(fit, type = "prob")
  colours <- gibbsite_palette(model$k)
  limits <- apply(x, 2L, grDevices::extendrange, f = 0.08)
  defaults <- list(
    x = x, type = "n", xlim = limits[, 1L], ylim = limits[, 2L],
    xlab = model$variables[[1L]], ylab = model$variables[[2L]], las = 1,
    bty = "l"
  )
  old <- graphics::par(mar = c(4.1, 4.1, 2.6, 1.1))
  on.exit(graphics::par(old))
  do.call(graphics::plot, utils::modifyList(defaults, list(...)))
  draw_contours(fit, model)
  draw_observations(x, prob, colours)
  draw_ellipses(mean, model$k, level, colours)
  graphics::legend(
    "top", horiz = TRUE, bty = "n", xpd = NA, inset = c(0, -0.08), cex = 0.9,
    legend = sprintf("%d: weight %.2f", seq_len(model$k), mean[seq_len(model$k)]),
    col = colours, lwd = 2
  )
}

# Paler where the most probable component is less certain.
draw_observations <- function(x, prob, colours) {
  cluster <- max.col(prob, ties.method = "first")
  certainty <- prob[cbind(seq_along(cluster), cluster)]
  least <- 1 / ncol(prob)
  strength <- if (least < 1) (certainty - least) / (1 - least) else 1
  graphics::points(
    x, pch = 19, cex = 0.7,
    col = mapply(
      grDevices::adjustcolor, colours[cluster], pmax(0.12, 0.8 * strength)
    )
  )
}

# The posterior predictive density from at most 200 draws, on a 60 x 60 grid
# over the plot.
draw_contours <- function(fit, model) {
  draws <- do.call(rbind, chain_matrices(fit))
  rows <- unique(round(seq(1, nrow(draws), length.out = 200)))
  edges <- matrix(graphics::par("usr"), 2L)
  grid <- apply(edges, 2L, function(l) seq(l[[1L]], l[[2L]], length.out = 60))
  points <- as.matrix(expand.grid(grid[, 1L], grid[, 2L]))
  log_density <- evaluate_draws(
    gmm_blocks(model, draws), points, rows = rows, density = TRUE
  )$log_density
  density <- matrix(colMeans(exp(log_density)), 60L, 60L)
  graphics::contour(
    grid[, 1L], grid[, 2L], density, add = TRUE, drawlabels = FALSE,
    levels = max(density) * c(0.02, 0.05, 0.1, 0.2, 0.4, 0.7),
    col = "grey75"
  )
}

# The ellipse that holds `level` of each component at the posterior mean of its
# parameters, its centre a cross.
draw_ellipses <- function(mean, k, level, colours) {
  mu <- matrix(mean[k + seq_len(2L * k)], k, 2L)
  sigma <- array(mean[3L * k + seq_len(4L * k)], c(k, 2L, 2L))
  angle <- seq(0, 2 * pi, length.out = 200)
  circle <- cbind(cos(angle), sin(angle)) * sqrt(stats::qchisq(level, 2))
  for (c in seq_len(k)) {
    edge <- circle %*% chol(sigma[c, , ]) + rep(mu[c, ], each = nrow(circle))
    graphics::lines(edge, col = colours[[c]], lwd = 2)
    graphics::points(
      mu[c, 1L], mu[c, 2L], pch = 3, cex = 1.4, lwd = 2, col = colours[[c]]
    )
  }
}
