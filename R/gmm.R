# Gaussian mixtures: gibbs_gmm(), its prior, and what its fits answer.

# ---- the prior -----------------------------------------------------------

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
#' `s0` are those of Fraley and Raftery (2007) for the covariances, the mean's
#' are in the manner of Richardson and Green (1997):
#'
#' * `alpha`: 1 for each component (uniform on the simplex);
#' * `m0`: the middle of each variable's range;
#' * `v0`: diagonal, the square of each variable's range;
#' * `nu0`: `d + 2`;
#' * `s0`: diagonal, each variable's variance divided by `k^(2 / d)`.
#'
#' With `covariance = "diagonal"` the variances are independent,
#' \eqn{\sigma^2_{cj} \sim \mathrm{IG}(\nu_0 / 2, S_{0,jj} / 2)}{sigma2_cj ~
#' IG(nu0 / 2, S0_jj / 2)} (shape, scale), `nu0` is by default 3 and may be any
#' positive number. With `"shared"` there is one \eqn{\Sigma \sim
#' \mathrm{IW}(\nu_0, S_0)}{Sigma ~ IW(nu0, S0)}.
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
#' @param nu0 `NULL` or one number above `d - 1` (with diagonal covariances
#'   above 0): degrees of freedom.
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
  check_made(x, names(formals(gmm_prior)), "gmm_prior()")
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
complete_gmm_prior <- function(prior, x, k, covariance = "full", call = NULL) {
  check_class(prior, "gmm_prior", "gmm_prior()", call = call)
  prior <- remade(prior, gmm_prior, "gmm_prior()", call = call)
  d <- ncol(x)
  diagonal <- covariance == "diagonal"
  spans <- column_scales(x, call)
  prior$alpha <- as_length(prior$alpha %||% 1, k, "alpha", "k", call)
  prior$m0 <- as_length(prior$m0 %||% spans$middle, d, "m0", "ncol(x)", call)
  prior$v0 <- as_covariance(prior$v0 %||% spans$range^2, d, "v0", call)
  prior$nu0 <- prior$nu0 %||% (if (diagonal) 3 else d + 2)
  if (!diagonal && prior$nu0 <= d - 1) {
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
  check_invertible(prior$v0, "v0", call)
  check_invertible(prior$s0, "s0", call)
  if (diagonal && any(prior$s0[upper.tri(prior$s0)] != 0)) {
    abort_argument(
      paste(
        "`s0` of `prior` must be diagonal with",
        "{.code covariance = \"diagonal\"}."
      ),
      call = call
    )
  }
  prior
}

# Middle, range and variance of each column; a spread of zero counts as 1.
column_scales <- function(x, call) {
  low <- apply(x, 2, min, na.rm = TRUE)
  high <- apply(x, 2, max, na.rm = TRUE)
  range <- high - low
  variance <- apply(x, 2, stats::var, na.rm = TRUE)
  variance[is.na(variance)] <- 0
  flat <- !(range > 0)
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
  squares <- cbind(range^2, variance)
  wild <- rowSums(!(squares > 0 & squares < Inf)) > 0
  if (any(wild)) {
    names <- colnames(x)[wild]
    abort_argument(
      c(
        paste(
          "{cli::qty(names)}Column{?s} {.val {names}} of {.arg x} {?has/have}",
          "a spread whose square is beyond the range of doubles."
        ),
        i = "Change {cli::qty(names)}{?its/their} unit."
      ),
      call = call
    )
  }
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

# The inverse of a covariance must be within the range of doubles.
check_invertible <- function(matrix, arg, call) {
  inverse <- chol2inv(chol(matrix))
  if (!all(is.finite(inverse))) {
    abort_argument(
      c(
        "`{arg}` of `prior` is so small that its inverse is beyond the range of
         doubles.",
        i = "Give it in squared units of the data, or change their unit."
      ),
      call = call
    )
  }
}

# ---- the sampler ---------------------------------------------------------

#' Gaussian mixture by Gibbs sampling
#'
#' Draws from the posterior of a mixture of `k` multivariate normal
#' distributions. With \eqn{n} observations \eqn{x_i \in R^d}:
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
#' @section Covariances:
#' `"full"`: each component its own matrix, as above. `"shared"`: one
#' \eqn{\Sigma \sim \mathrm{IW}(\nu_0, S_0)}{Sigma ~ IW(nu0, S0)} for all
#' components, drawn from \eqn{\mathrm{IW}(\nu_0 + n, S_0 + \sum_i
#' (x_i - \mu_{z_i})(x_i - \mu_{z_i})^\top)}{IW(nu0 + n, S0 + sum_i (x_i -
#' mu_{z_i})(x_i - mu_{z_i})')}. `"diagonal"`: variances
#' \eqn{\sigma^2_{cj} \sim \mathrm{IG}(\nu_0/2, S_{0,jj}/2)}{sigma2_cj ~
#' IG(nu0/2, S0_jj/2)}, drawn from \eqn{\mathrm{IG}((\nu_0 + n_c)/2, (S_{0,jj} +
#' \sum_{z_i = c} (x_{ij} - \mu_{cj})^2)/2)}{IG((nu0 + n_c)/2, (S0_jj + sum_{z_i
#' = c} (x_ij - mu_cj)^2)/2)}.
#'
#' @section Missing values:
#' With `na_action = "impute"` missing entries (`NA`) are unknowns of the model,
#' which assumes that they are missing at random: that an entry is missing may
#' depend on what was observed, not on the value that is missing. Each sweep
#' draws the allocation of an incomplete observation given its observed entries
#' and then the missing ones given the allocation, from their conditional normal
#' distribution. `log_lik` is the density of the observed entries. `"fail"`
#' raises an error that names the first missing entry, `"omit"` leaves
#' incomplete rows out and says so.
#'
#' @section Labels:
#' The posterior does not change when the components are renumbered (unless
#' `alpha` differs between them), and a long chain visits all numberings. Draws
#' are returned as they came. R-hat and effective sample sizes are judged on
#' quantities that do not depend on the numbering: the log-likelihood, the
#' sorted weights, and the mean and covariance of the mixture. `predict()`,
#' `summary()` and `plot()` number the components of each draw so that they
#' agree with one pivotal draw, largest component first; [relabel()] does it
#' for the draws. With more components than the data call for the posterior
#' often has several modes between which a chain moves seldom: the sizes and
#' R-hat of the sorted weights then tell.
#'
#' @section Stored quantities:
#' Columns `pi[c]`, `mu[c,j]`, the covariances (`Sigma[c,i,j]` when full,
#' variances `sigma2[c,j]` when diagonal, `Sigma[i,j]` when shared; `c`
#' component, `i`, `j` variables), `log_lik` (the sum over observations of
#' \eqn{\log \sum_c \pi_c \mathrm{N}(x_i \mid \mu_c, \Sigma_c)}) and
#' `n_occupied` (components with at least one observation); with `keep = "z"`
#' also the allocations `z[i]`, with `keep = "x"` the missing entries `x[i,j]`.
#' The probability of each observation's allocations is averaged as the chains
#' run: see [allocation_probabilities()].
#'
#' @section Search for the mode:
#' `method = "icm"` (iterated conditional modes) sets each block to the mode of
#' its conditional in place of a draw, from `chains` starting points, until the
#' log joint density rises no more. Its result is a point, not a posterior: an
#' object of class `gibbsite_map`. A weight whose \eqn{\alpha_c + n_c} is at
#' most 1 has its conditional mode at 0; it then stays there, and its prior is
#' left out of the log joint density.
#'
#' @section Starting values:
#' By default each chain starts from `k` observations as means, taken at random
#' and far from each other (the first with equal probabilities, each further one
#' in proportion to its squared distance from the nearest one taken, in units of
#' the prior's scale: Arthur and Vassilvitskii 2007), equal weights and the
#' prior's scale of covariance. Of five such starts it takes the one from which
#' ten sweeps of conditional modes reach the highest log joint density (for more
#' than 2,000 observations judged on 2,000 of them). An entry of `inits` is a
#' list with any of `pi` (`k` positive numbers that sum to 1), `mu` (`k x d`),
#' `Sigma` (`k x d x d`; shared `d x d`), `sigma2` (`k x d`, diagonal) and `z`
#' (`n` whole numbers from 1 to `k`); what is missing is drawn.
#'
#' @param x The observations: a numeric matrix or data frame with `n` rows and
#'   `d` columns, or a numeric vector (`d = 1`).
#' @param k The number of components: a whole number from 1 to `n`.
#' @param prior The prior, made by [gmm_prior()].
#' @param covariance `"full"` (default), `"diagonal"` or `"shared"`.
#' @param method `"gibbs"` (default), or `"icm"` to search for a mode.
#' @param na_action What to do about missing values: `"fail"` (default),
#'   `"omit"` or `"impute"`.
#' @param keep `NULL`, or any of `"z"` and `"x"`: store every draw of the
#'   allocations, of the missing entries.
#' @inheritParams running
#' @return An object of class `gibbs_gmm`, a `gibbsite_fit` and a
#'   [coda::mcmc.list]: one matrix of draws a chain. See
#'   [summary.gibbsite_fit()], [predict.gibbs_gmm()], [plot.gibbs_gmm()],
#'   [relabel()]. With `method = "icm"` an object of class `gibbsite_map`.
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
#'
#' Arthur D, Vassilvitskii S (2007). k-means++: the advantages of careful
#' seeding. *Proceedings of the 18th ACM-SIAM Symposium on Discrete Algorithms*,
#' 1027-1035.
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 500, burnin = 200, chains = 2,
#'   seed = 1
#' )
#' fit
#' head(predict(fit, type = "prob"))
#' plot(fit)
#'
#' # missing entries are drawn with the rest
#' holes <- faithful
#' holes$waiting[1:5] <- NA
#' gibbs_gmm(holes, 2, na_action = "impute", keep = "x", draws = 200,
#'   burnin = 200, chains = 2, seed = 1
#' ) |> summary("x")
#' @export
gibbs_gmm <- function(x, k, prior = gmm_prior(),
                      covariance = c("full", "diagonal", "shared"),
                      method = c("gibbs", "icm"),
                      na_action = c("fail", "omit", "impute"), draws = 1000,
                      burnin = 1000, thin = 1, chains = 4, inits = NULL,
                      keep = NULL, threads = 1,
                      cores = getOption("mc.cores", 1L), seed = NULL,
                      checkpoint = NULL, stop_when = NULL,
                      progress = interactive(), keep_data = TRUE) {
  check_needed(x = "the data", k = "the number of components")
  call <- rlang::current_env()
  covariance <- check_choice(covariance, c("full", "diagonal", "shared"))
  method <- check_choice(method, c("gibbs", "icm"))
  na_action <- check_choice(na_action, c("fail", "omit", "impute"))
  x <- check_data_matrix(x, na_action, arg = "x", call = call)
  k <- check_count(
    k, min = 1, max = nrow(x), max_why = "rows of `x`", arg = "k", call = call
  )
  check_square_size(
    ncol(x), 4, "A covariance matrix of the columns of {.arg x} has",
    "Use fewer columns, such as principal components", call
  )
  prior <- complete_gmm_prior(prior, x, k, covariance, call)
  running <- running(
    draws = draws, burnin = burnin, thin = thin, chains = chains,
    inits = inits, keep = keep, threads = threads, cores = cores, seed = seed,
    checkpoint = checkpoint, stop_when = stop_when, progress = progress,
    keep_data = keep_data, keep_choices = c("z", "x"),
    keep_default = character(), call = call
  )
  if ("x" %in% running$keep && !anyNA(x)) {
    inform_gibbsite(
      "{.code keep = \"x\"} has nothing to store: no entry of `x` is missing.",
      class = "unused"
    )
  }
  model <- gmm_model(x, k, prior, covariance, running$keep)
  if (method == "icm") {
    return(search_mode(model, running, match.call(), call))
  }
  run_chains(model, running, match.call(), call)
}

gmm_model <- function(x, k, prior, covariance = "full", keep = character()) {
  new_model(
    "gmm_model",
    name = "gibbs_gmm", title = "Gaussian mixture",
    data = gmm_data(x, k, prior, covariance, keep), prior = prior,
    nobs = nrow(x), columns = gmm_columns(x, k, covariance, keep),
    k = as.integer(k), variables = colnames(x), covariance = covariance,
    keep = keep
  )
}

gmm_forms <- c(full = 0L, diagonal = 1L, shared = 2L)

# What C reads.  V0^-1 is needed as such: it is added to n_c Sigma_c^-1.
gmm_data <- function(x, k, prior, covariance, keep) {
  q0 <- chol2inv(chol(prior$v0))
  list(
    x = x, k = as.integer(k), form = gmm_forms[[covariance]],
    alpha = prior$alpha, m0 = prior$m0, q0 = q0,
    q0_m0 = drop(q0 %*% prior$m0), nu0 = as.double(prior$nu0), s0 = prior$s0,
    missing = gmm_missing(x), keep_z = as.integer("z" %in% keep),
    keep_x = as.integer("x" %in% keep)
  )
}

# Rows with missing entries by pattern, as core/gmm.h describes; NULL when x is
# complete.
gmm_missing <- function(x) {
  holes <- is.na(x)
  if (!any(holes)) {
    return(NULL)
  }
  incomplete <- which(rowSums(holes) > 0)
  key <- apply(holes[incomplete, , drop = FALSE], 1L, function(row) {
    paste(which(row), collapse = ",")
  })
  first <- incomplete[!duplicated(key)]
  pattern <- integer(nrow(x))
  pattern[incomplete] <- match(key, unique(key))
  counts <- rowSums(holes)
  list(
    entries = sum(holes), patterns = length(first), pattern = pattern,
    missing = as.integer(t(holes[first, , drop = FALSE])),
    offset = as.integer(cumsum(counts) - counts)
  )
}

gmm_columns <- function(x, k, covariance, keep) {
  c <- seq_len(k)
  d <- seq_len(ncol(x))
  holes <- which(t(is.na(x)), arr.ind = TRUE)
  c(
    indexed("pi", c), indexed("mu", c, d),
    switch(covariance,
      full = indexed("Sigma", c, d, d),
      diagonal = indexed("sigma2", c, d),
      shared = indexed("Sigma", d, d)
    ),
    "log_lik", "n_occupied",
    if ("z" %in% keep) indexed("z", seq_len(nrow(x))),
    if ("x" %in% keep && nrow(holes) > 0) {
      paste0("x[", holes[, 2L], ",", holes[, 1L], "]")
    }
  )
}

# Names of the elements of a block, the first index fastest: "mu[1,1]", ...
indexed <- function(block, ...) {
  paste0(block, "[", do.call(paste, c(expand.grid(...), sep = ",")), "]")
}

# ---- what the driver asks ------------------------------------------------

#' @exportS3Method
model_sweeps.gmm_model <- function(model, state, n, control) {
  .Call(C_gmm_sweeps, model$data, state, n, control, FALSE)
}

#' @exportS3Method
model_start.gmm_model <- function(model, init) {
  if (is.null(init)) best_start(model) else one_start(model, init)
}

# Of five random starts the one from which ten sweeps of conditional modes lead
# to the highest log joint density.  It stays as scattered as it was drawn, but
# a chain seldom begins where a poor local mode would hold it.  Of many
# observations 2,000 spread evenly over the data decide, and give the means.
best_start <- function(model, starts = 5L, sweeps = 10) {
  x <- model$data$x
  rows <- unique(round(seq(1, nrow(x), length.out = min(nrow(x), 2000))))
  some <- x[rows, , drop = FALSE]
  if (length(rows) == nrow(x) || any(colSums(!is.na(some)) == 0)) {
    return(best_of_starts(model, starts, sweeps))
  }
  fewer <- gmm_model(some, model$k, model$prior, model$covariance)
  if (model$k > length(rows)) {
    return(one_start(model, NULL))
  }
  best <- best_of_starts(fewer, starts, sweeps)
  one_start(model, list(mu = matrix(best$mu, model$k)))
}

best_of_starts <- function(model, starts, sweeps) {
  control <- list(burnin = sweeps, thin = 1, threads = 1)
  best <- NULL
  highest <- -Inf
  for (i in seq_len(starts)) {
    state <- one_start(model, NULL)
    value <- tryCatch(
      {
        climbed <- interrupt_or(.Call(
          C_gmm_sweeps, model$data, state, sweeps, control, TRUE
        ))
        gmm_log_joint(model, climbed$state)
      },
      error = function(cnd) -Inf
    )
    # starts that reach the same mode tie, and the first of them is taken
    # whatever the rounding
    if (is.null(best) || isTRUE(value - highest > 1e-6 * (1 + abs(value)))) {
      best <- state
      highest <- value
    }
  }
  best
}

# A start with what the user gave; `k` observations as means unless given.  The
# allocations follow from the other parameters (one uniform an observation);
# missing entries start at the mean of their column.
one_start <- function(model, init) {
  data <- model$data
  k <- model$k
  filled <- fill_column_means(data$x)
  pi <- init$pi %||% rep(1 / k, k)
  mu <- init$mu %||% scattered_rows(filled, k, sqrt(diag(data$s0)))
  sigma <- init$Sigma %||% init$sigma2 %||% default_covariances(model)
  state <- gmm_state(model, log(pi), mu, sigma, init$z)
  if (is.null(init$z)) {
    state$z <- draw_labels(gmm_probabilities(model, state, filled))
  }
  state
}

# k rows of x: the first with equal probabilities, each further one in
# proportion to the squared distance from the nearest one taken (Arthur &
# Vassilvitskii 2007, "k-means++: the advantages of careful seeding", SODA,
# 1027-1035).
scattered_rows <- function(x, k, scale) {
  y <- t(x) / scale
  taken <- sample.int(ncol(y), 1L)
  distance <- colSums((y - y[, taken])^2)
  while (length(taken) < k) {
    # all that are left coincide with one taken
    weight <- if (any(distance > 0)) distance else rep(1, ncol(y))
    taken <- c(taken, sample.int(ncol(y), 1L, prob = weight))
    distance <- pmin(distance, colSums((y - y[, taken[length(taken)]])^2))
  }
  x[taken, , drop = FALSE]
}

default_covariances <- function(model) {
  k <- model$k
  s0 <- model$data$s0
  d <- nrow(s0)
  switch(model$covariance,
    full = aperm(array(s0, c(d, d, k)), c(3L, 1L, 2L)),
    diagonal = matrix(diag(s0), k, d, byrow = TRUE),
    shared = s0
  )
}

fill_column_means <- function(x) {
  holes <- is.na(x)
  if (any(holes)) {
    x[holes] <- colMeans(x, na.rm = TRUE)[col(x)[holes]]
  }
  x
}

# A state; sigma: k x d x d, k x d (variances) or d x d, as the form has it.
gmm_state <- function(model, log_pi, mu, sigma, z) {
  x <- model$data$x
  n <- nrow(x)
  holes <- t(is.na(x))
  list(
    sweep = 0, z = as.integer(z), log_pi = as.double(log_pi),
    mu = as.double(mu), factor = gmm_factor(model, sigma),
    x_missing = unname(t(fill_column_means(x))[holes]),
    prob = numeric(n * model$k), kept = 0
  )
}

# Factors L_c of the covariances in the layout of core/gmm_density.h.
gmm_factor <- function(model, sigma) {
  k <- model$k
  d <- length(model$variables)
  lower <- function(s) as.double(t(chol(matrix(s, d, d))))
  switch(model$covariance,
    full = {
      sigma <- array(sigma, c(k, d, d))
      unlist(lapply(seq_len(k), function(c) lower(sigma[c, , ])))
    },
    diagonal = as.double(t(sqrt(matrix(sigma, k, d)))),
    shared = lower(sigma)
  )
}

# The parameters of a state as people write them: pi (k), mu (k x d), Sigma
# (k x d x d whatever the form), and in the form's own shape `sigma`.
gmm_parameters <- function(model, state) {
  k <- model$k
  d <- length(model$variables)
  f <- state$factor
  square <- function(l) {
    l <- matrix(l, d, d)
    l %*% t(l)
  }
  full <- array(0, c(k, d, d))
  for (c in seq_len(k)) {
    full[c, , ] <- switch(model$covariance,
      full = square(f[(c - 1L) * d * d + seq_len(d * d)]),
      diagonal = diag(f[(c - 1L) * d + seq_len(d)]^2, d),
      shared = square(f)
    )
  }
  sigma <- switch(model$covariance,
    full = full,
    diagonal = t(matrix(f, d, k))^2,
    shared = matrix(full[1L, , ], d, d)
  )
  list(
    pi = exp(state$log_pi), mu = matrix(state$mu, k, d), Sigma = full,
    sigma = sigma
  )
}

# P(z_i = c | x_i, parameters of one state), n x k.
gmm_probabilities <- function(model, state, x) {
  p <- gmm_parameters(model, state)
  blocks <- list(
    k = model$k, d = ncol(x), covariance = model$covariance,
    pi = matrix(p$pi, 1L), mu = matrix(p$mu, 1L), sigma = matrix(p$sigma, 1L)
  )
  evaluate_draws(blocks, x, prob = TRUE)$prob
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

#' @exportS3Method
model_check_init.gmm_model <- function(model, init, where, call) {
  k <- model$k
  d <- length(model$variables)
  spread <- if (model$covariance == "diagonal") "sigma2" else "Sigma"
  known <- c("pi", "mu", spread, "z")
  named <- length(init) == 0L || !is.null(names(init))
  if (!is.list(init) || !named || !all(names(init) %in% known)) {
    abort_argument(
      c(
        "`{where}` must be a list with names among {.val {known}}.",
        i = "What is left out is drawn."
      ),
      call = call
    )
  }
  sizes <- list(
    pi = k, mu = c(k, d), z = model$nobs, sigma2 = c(k, d),
    Sigma = if (model$covariance == "full") c(k, d, d) else c(d, d)
  )
  for (name in names(init)) {
    check_init_shape(
      init[[name]], sizes[[name]], paste0(where, "$", name), call
    )
  }
  check_init_values(init, k, where, call)
  check_init_covariances(init$Sigma, d, where, call)
  init
}

check_init_shape <- function(value, size, arg, call) {
  if (!is.numeric(value) || length(value) != prod(size) ||
        !(is.null(dim(value)) || identical(as.numeric(dim(value)), size + 0))) {
    shape <- paste(size, collapse = " x ")
    given <- describe(value)
    abort_argument(
      "`{arg}` must be {shape} finite numbers, not {given}.", call = call
    )
  }
  abort_elements(!is.finite(value), value, arg, "finite", call)
}

# The first element that breaks the rule.
abort_elements <- function(wrong, value, arg, rule, call) {
  if (any(wrong)) {
    at <- which(wrong)[[1L]]
    found <- value[[at]]
    abort_argument(
      "`{arg}` must be {rule}: element {at} is {found}.", call = call
    )
  }
}

check_init_values <- function(init, k, where, call) {
  pi <- init$pi
  arg <- function(name) paste0(where, "$", name)
  abort_elements(pi <= 0, pi, arg("pi"), "positive", call)
  if (!is.null(pi) && abs(sum(pi) - 1) > 1e-8) {
    abort_argument("`{where}$pi` must sum to 1, not {sum(pi)}.", call = call)
  }
  abort_elements(
    !init$z %in% seq_len(k), init$z, arg("z"),
    paste("whole numbers from 1 to", k), call
  )
  abort_elements(
    init$sigma2 <= 0, init$sigma2, arg("sigma2"), "positive", call
  )
}

check_init_covariances <- function(sigma, d, where, call) {
  if (is.null(sigma)) {
    return(invisible())
  }
  k <- length(sigma) / d^2
  sigma <- array(sigma, c(k, d, d))
  for (c in seq_len(k)) {
    which <- if (k > 1) paste0("[", c, ", , ]") else ""
    check_spd_matrix(
      matrix(sigma[c, , ], d, d), d, arg = paste0(where, "$Sigma", which),
      call = call
    )
  }
}

#' @exportS3Method
model_init_from_state.gmm_model <- function(model, state) {
  p <- gmm_parameters(model, state)
  spread <- if (model$covariance == "diagonal") "sigma2" else "Sigma"
  init <- list(pi = p$pi / sum(p$pi), mu = p$mu, z = state$z)
  init[[spread]] <- p$sigma
  init
}

# Blocks of a chain's draws: pi draws x k, mu draws x (k d), sigma draws x (the
# numbers of the form).
gmm_blocks <- function(model, draws) {
  k <- model$k
  d <- length(model$variables)
  size <- switch(model$covariance, full = k * d * d, diagonal = k * d,
    shared = d * d
  )
  list(
    k = k, d = d, covariance = model$covariance,
    pi = draws[, seq_len(k), drop = FALSE],
    mu = draws[, k + seq_len(k * d), drop = FALSE],
    sigma = draws[, k + k * d + seq_len(size), drop = FALSE]
  )
}

# Draws of element (i, j) of each component's covariance: draws x k.
gmm_covariance <- function(blocks, i, j) {
  k <- blocks$k
  d <- blocks$d
  group <- function(g) blocks$sigma[, (g - 1L) * k + seq_len(k), drop = FALSE]
  switch(blocks$covariance,
    full = group(i + d * (j - 1L)),
    diagonal = if (i == j) group(i) else 0 * blocks$pi,
    shared = blocks$sigma[, rep(i + d * (j - 1L), k), drop = FALSE]
  )
}

# log-likelihood, weights in decreasing order, mean and covariance of the
# mixture: sum_c pi_c mu_c and sum_c pi_c (Sigma_c + mu_c mu_c') - mean mean'.
#' @exportS3Method
model_invariants.gmm_model <- function(model, draws) {
  draws <- unclass(draws)
  b <- gmm_blocks(model, draws)
  k <- b$k
  d <- b$d
  weight <- b$pi
  if (k > 1L && nrow(draws) > 0L) {
    row <- as.vector(row(b$pi))
    sorted <- b$pi[order(row, -as.vector(b$pi))]
    weight <- matrix(sorted, nrow(draws), k, byrow = TRUE)
  }
  mean <- vapply(seq_len(d), function(j) {
    rowSums(b$pi * b$mu[, (j - 1L) * k + seq_len(k), drop = FALSE])
  }, numeric(nrow(draws)))
  mean <- matrix(mean, nrow(draws), d)
  pairs <- which(lower.tri(diag(d), diag = TRUE), arr.ind = TRUE)
  covariance <- apply(pairs, 1L, function(pair) {
    i <- pair[[1L]]
    j <- pair[[2L]]
    of <- function(column) b$mu[, (column - 1L) * k + seq_len(k), drop = FALSE]
    second <- gmm_covariance(b, i, j) + of(i) * of(j)
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

#' @exportS3Method
model_headline.gmm_model <- function(model) {
  entries <- model$data$missing$entries
  paste0(
    cli::pluralize(
      "Gaussian mixture: {model$k} component{?s}, ",
      "{model$covariance} covariances; ",
      "{model$nobs} observation{?s} of {length(model$variables)} variable{?s}"
    ),
    if (!is.null(entries)) paste0(", ", entries, " missing entries drawn")
  )
}

#' @exportS3Method
model_labels.gmm_model <- function(model) {
  names <- model$variables
  block <- sub("\\[.*", "", model$columns)
  inside <- sub("^[^[]*", "", model$columns)
  index <- regmatches(inside, gregexpr("[0-9]+", inside))
  covariance <- function(i, j) {
    if (i == j) {
      return(paste("variance of", names[i]))
    }
    paste("covariance of", names[i], "and", names[j])
  }
  label <- function(block, at) {
    at <- as.integer(at)
    switch(block,
      pi = paste("weight of component", at),
      mu = paste0("mean of ", names[at[2L]], " in component ", at[1L]),
      Sigma = if (length(at) == 2L) {
        covariance(at[1L], at[2L])
      } else {
        paste(covariance(at[2L], at[3L]), "in component", at[1L])
      },
      sigma2 = paste(covariance(at[2L], at[2L]), "in component", at[1L]),
      z = paste("component of observation", at),
      x = paste0(names[at[2L]], " of observation ", at[1L]),
      log_lik = "log-likelihood", n_occupied = "occupied components"
    )
  }
  data.frame(variable = model$columns, label = mapply(
    label, block, index, USE.NAMES = FALSE
  ))
}

# ---- the log joint density -----------------------------------------------

# log p(x, z, pi, mu, Sigma) of a state, every constant included; missing
# entries count as the unknowns they are.  The density of pi is with respect
# to the first k - 1 weights, that of a covariance to its lower triangle.
# Weights that a search has set to 0, where the density is 0 or infinite, are
# left out.
gmm_log_joint <- function(model, state) {
  prior <- model$prior
  k <- model$k
  d <- length(model$variables)
  p <- gmm_parameters(model, state)
  x <- t(model$data$x)
  x[is.na(x)] <- state$x_missing
  normal <- function(x, mean, sigma) {
    l <- t(chol(sigma))
    white <- forwardsolve(l, x - mean)
    -0.5 * colSums(matrix(white, d)^2) - sum(log(diag(l))) - d / 2 * log(2 * pi)
  }
  pi <- base::pi
  total <- lgamma(sum(prior$alpha)) - sum(lgamma(prior$alpha)) +
    sum(ifelse(
      prior$alpha == 1 | state$log_pi == -Inf, 0,
      (prior$alpha - 1) * state$log_pi
    )) +
    log_covariance_prior(model, p)
  for (c in seq_len(k)) {
    sigma <- matrix(p$Sigma[c, , ], d, d)
    own <- state$z == c
    total <- total + normal(matrix(p$mu[c, ], d), prior$m0, prior$v0) +
      if (any(own)) {
        sum(normal(x[, own, drop = FALSE], p$mu[c, ], sigma)) +
          sum(own) * state$log_pi[[c]]
      } else {
        0
      }
  }
  total
}

log_covariance_prior <- function(model, p) {
  prior <- model$prior
  d <- length(model$variables)
  if (model$covariance == "diagonal") {
    shape <- prior$nu0 / 2
    scale <- rep(diag(prior$s0) / 2, each = model$k)
    variance <- as.vector(p$sigma)
    return(sum(shape * log(scale) - lgamma(shape) -
                 (shape + 1) * log(variance) - scale / variance))
  }
  inverse_wishart <- function(sigma) {
    nu <- prior$nu0
    s0 <- prior$s0
    log_det <- function(m) 2 * sum(log(diag(chol(m))))
    nu / 2 * log_det(s0) - nu * d / 2 * log(2) - d * (d - 1) / 4 * log(pi) -
      sum(lgamma((nu + 1 - seq_len(d)) / 2)) -
      (nu + d + 1) / 2 * log_det(sigma) -
      sum(diag(s0 %*% chol2inv(chol(sigma)))) / 2
  }
  matrices <- if (model$covariance == "shared") 1L else seq_len(model$k)
  sum(vapply(matrices, function(c) {
    inverse_wishart(matrix(p$Sigma[c, , ], d, d))
  }, 0))
}

# ---- test hooks ----------------------------------------------------------

#' @exportS3Method
draw_prior.gmm_model <- function(model) {
  prior <- model$prior
  k <- model$k
  d <- length(prior$m0)
  weights <- stats::rgamma(k, prior$alpha)
  pi <- weights / sum(weights)
  mu <- t(prior$m0 + t(chol(prior$v0)) %*% matrix(stats::rnorm(d * k), d, k))
  inverse_wishart <- function() {
    w <- stats::rWishart(1L, prior$nu0, chol2inv(chol(prior$s0)))
    chol2inv(chol(matrix(w, d, d)))
  }
  sigma <- switch(model$covariance,
    full = {
      all <- array(0, c(k, d, d))
      for (c in seq_len(k)) all[c, , ] <- inverse_wishart()
      all
    },
    diagonal = 1 / matrix(
      stats::rgamma(k * d, prior$nu0 / 2, rep(diag(prior$s0) / 2, each = k)), k
    ),
    shared = inverse_wishart()
  )
  z <- sample.int(k, model$nobs, replace = TRUE, prob = pi)
  gmm_state(model, log(pi), mu, sigma, z)
}

# Complete data; a test that hides entries puts their values into the state's
# x_missing.
#' @exportS3Method
simulate_data.gmm_model <- function(model, state) {
  x <- sim_normals(gmm_parameters(model, state), state$z)
  colnames(x) <- model$variables
  x
}

# x_i ~ N(mu_{z_i}, Sigma_{z_i})
sim_normals <- function(parameters, z) {
  d <- ncol(parameters$mu)
  x <- matrix(stats::rnorm(length(z) * d), length(z), d)
  for (c in unique(z)) {
    rows <- z == c
    root <- chol(matrix(parameters$Sigma[c, , ], d, d))
    x[rows, ] <- x[rows, , drop = FALSE] %*% root +
      rep(parameters$mu[c, ], each = sum(rows))
  }
  x
}

#' @exportS3Method
set_data.gmm_model <- function(model, data, call = rlang::caller_env()) {
  x <- check_data_matrix(
    data, "impute", arg = "data", call = call
  )
  fresh <- gmm_model(x, model$k, model$prior, model$covariance, model$keep)
  model[names(fresh)] <- fresh
  model
}
