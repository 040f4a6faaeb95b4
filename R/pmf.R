# Poisson factorisation: gibbs_pmf(), its prior and its simulator.

#' Poisson factorisation of counts and likes by Gibbs sampling
#'
#' Draws from the posterior of a low-rank model of how often users used, bought
#' or liked items. All pairs count: a user \eqn{u = 1, \dots, N} has a count of
#' 0 for each item \eqn{i = 1, \dots, M} that the data do not have. It is the
#' hierarchical Poisson factorisation of Gopalan, Hofman and Blei (2015), all
#' gamma distributions with shape and rate:
#' \deqn{y_{ui} \sim \mathrm{Poisson}(\theta_u^\top \beta_i), \quad \theta_{uk}
#'   \sim \mathrm{Gamma}(a, \xi_u), \quad \beta_{ik} \sim \mathrm{Gamma}(c,
#'   \eta_i), \quad k = 1, \dots, rank,}{
#'   y_ui ~ Poisson(theta_u'beta_i), theta_uk ~ Gamma(a, xi_u), beta_ik ~
#'   Gamma(c, eta_i), k = 1, ..., rank,}
#' \deqn{\xi_u \sim \mathrm{Gamma}(a', a' / b'), \quad \eta_i \sim
#'   \mathrm{Gamma}(c', c' / d').}{
#'   xi_u ~ Gamma(a', a'/b'), eta_i ~ Gamma(c', c'/d').}
#' \eqn{1 / \xi_u}{1/xi_u} is how active a user is, \eqn{1 / \eta_i}{1/eta_i}
#' how popular an item. [pmf_prior()] has the numbers.
#'
#' For ratings on a scale, where a missing pair says nothing, use [gibbs_bmf()];
#' its `link = "probit"` is for likes *and* dislikes.
#'
#' @section Sampler:
#' A count is a sum over factors, \eqn{y_{ui} = \sum_k s_{uik}}{y_ui = sum_k
#' s_uik} with \eqn{s_{uik} \sim \mathrm{Poisson}(\theta_{uk} \beta_{ik})}{s_uik
#' ~ Poisson(theta_uk beta_ik)}. A sweep draws, for users and then in the same
#' way for items,
#' \deqn{\xi_u \mid \theta \sim \mathrm{Gamma}\Bigl(a' + K a, \frac{a'}{b'} +
#'   \sum_k \theta_{uk}\Bigr), \quad s_{ui} \mid y, \theta, \beta \sim
#'   \mathrm{Multinomial}(y_{ui}, \theta_{uk} \beta_{ik}),}{
#'   xi_u | theta ~ Gamma(a' + K a, a'/b' + sum_k theta_uk),
#'   s_ui | y, theta, beta ~ Multinomial(y_ui, theta_uk beta_ik),}
#' \deqn{\theta_{uk} \mid s, \xi, \beta \sim \mathrm{Gamma}\Bigl(a + \sum_i
#'   s_{uik}, \xi_u + \sum_i \beta_{ik}\Bigr),}{
#'   theta_uk | s, xi, beta ~ Gamma(a + sum_i s_uik, xi_u + sum_i beta_ik),}
#' and then scales each factor, \eqn{\theta_{\cdot k} \to e^t \theta_{\cdot
#' k}}{theta_.k -> e^t theta_.k} and \eqn{\beta_{\cdot k} \to e^{-t}
#' \beta_{\cdot k}}{beta_.k -> e^-t beta_.k}, by a slice step in \eqn{t} (Liu
#' and Sabatti 2000), which no expected count shows. Only pairs with a count
#' need an
#' \eqn{s}: a sweep takes time in proportion to their number times the rank.
#' Draws do not depend on the number of threads. A \eqn{\theta}{theta} or
#' \eqn{\beta}{beta} below 1e-300 counts as 1e-300.
#'
#' @section Counts:
#' * A data frame with the columns `user` and `item`, and `count`, `value` or
#'   `rating`, or columns named by the arguments `user`, `item` and `count`.
#'   Without a column of counts each row counts once: likes, or a log of events.
#' * A formula `count ~ user + item`, or `~ user + item`, with `data`.
#' * A matrix, users in rows and items in columns, or a sparse matrix of the
#'   Matrix package, also of logical values or a pattern.
#'
#' Counts are whole numbers; `TRUE` is 1. The counts of a pair that occurs more
#' than once are added up. Zeros need not be given. A missing count is an error,
#' because the model knows no pairs that were not observed. Users and items
#' without a count (levels of a factor, rows of a matrix) have 0 everywhere.
#'
#' @section Stored quantities:
#' `log_lik` (the log probability of all counts, zeros included), `log_joint`
#' (log density of counts and parameters, every constant included), `cell[1]`,
#' `cell[2]`, ... (the expected count of some pairs, spread evenly over the
#' data), and with `keep` every draw of the factors, `theta[k,u]` and
#' `beta[k,i]`. Factors may change places, within a chain and between chains:
#' convergence is judged on the other quantities. For predictions a thinned set
#' of the draws of all factors is stored as in [gibbs_bmf()].
#'
#' @param ratings The counts: a data frame, a matrix or a sparse matrix, see the
#'   section on counts; or a formula.
#' @param rank Whole number from 1 to 200, default 10: the number of factors. To
#'   choose it, hold pairs back and compare the [rank_measures()] of fits with
#'   several ranks.
#' @param prior The prior, made by [pmf_prior()].
#' @param formula A formula `count ~ user + item` or `~ user + item`.
#' @param data A data frame in which the formula's variables are looked up
#'   first.
#' @param user,item,count For a data frame: the names of its columns.
#' @param keep `NULL`, or any of `"theta"` and `"beta"`: store every draw of the
#'   factors.
#' @param draws,burnin,thin,chains,inits,threads,cores,seed As in [running]. An
#'   entry of `inits` is a list with any of `theta` (rank x users) and `beta`
#'   (rank x items).
#' @param checkpoint,stop_when,progress,keep_data As in [running].
#' @param ... Not used: any further argument is an error.
#' @return An object of class `gibbs_pmf`, a `gibbsite_fit` and a
#'   [coda::mcmc.list]: one matrix of draws for each chain. See
#'   [predict.gibbs_pmf()], [recommend()], [rank_measures()], [similar_items()],
#'   [fold_in()].
#' @section Errors:
#' Errors in the arguments have class `gibbsite_error_argument` and are raised
#' before any chain runs: a count that is missing, negative or no whole number
#' (naming its user and item), a missing column, no count above 0.
#' @references
#' Gopalan P, Hofman JM, Blei DM (2015). Scalable recommendation with
#' hierarchical Poisson factorization. *Proceedings of the 31st Conference on
#' Uncertainty in Artificial Intelligence*, 326-335.
#'
#' Liu JS, Sabatti C (2000). Generalised Gibbs sampler and multigrid Monte Carlo
#' for Bayesian computation. *Biometrika* 87, 353-369.
#' \doi{10.1093/biomet/87.2.353}
#' @seealso [pmf_prior()], [predict.gibbs_pmf()], [rank_measures()] for counts
#'   held back, [gibbs_bmf()] for ratings; `vignette("ratings", "gibbsite")`.
#' @examples
#' # which feature films of a year a panel has seen: likes alone
#' set.seed(1)
#' made <- sim_pmf(60, 40, rank = 3)
#' held <- sample(nrow(made), 60)
#' fit <- gibbs_pmf(made[-held, ], rank = 3, draws = 200, burnin = 200,
#'   chains = 2, seed = 1
#' )
#' fit
#' recommend(fit, users = 1:2, n = 3)
#' rank_measures(fit, made[held, ], k = 10)
#' @export
gibbs_pmf <- function(ratings, ...) {
  what <- "the counts, or a formula"
  check_ambiguous(..., known = names(formals(gibbs_pmf.default)))
  UseMethod("gibbs_pmf", formula_or_first(
    ratings, ..., what = what, arg = "ratings"
  ))
}

#' @rdname gibbs_pmf
#' @export
gibbs_pmf.formula <- function(formula, data, rank = 10, prior = pmf_prior(),
                              draws = NULL, burnin = 1000, thin = 1, chains = 4,
                              inits = NULL, keep = NULL, threads = 1,
                              cores = getOption("mc.cores", 1L), seed = NULL,
                              checkpoint = NULL, stop_when = NULL,
                              progress = TRUE, keep_data = TRUE, ...) {
  call <- rlang::current_env()
  check_no_more(..., call = call)
  rows <- if (!missing(data)) data
  arg <- if (is.null(rows)) "formula" else "data"
  counts <- as_user_counts(formula, data = rows, arg = arg, call = call)
  run_pmf(
    counts, rank, prior, call_of_model(match.call(), "gibbs_pmf", formula),
    call
  )
}

#' @rdname gibbs_pmf
#' @export
gibbs_pmf.default <- function(ratings, rank = 10, prior = pmf_prior(),
                              user = NULL, item = NULL, count = NULL,
                              draws = NULL, burnin = 1000, thin = 1, chains = 4,
                              inits = NULL, keep = NULL, threads = 1,
                              cores = getOption("mc.cores", 1L), seed = NULL,
                              checkpoint = NULL, stop_when = NULL,
                              progress = TRUE, keep_data = TRUE, ...) {
  call <- rlang::current_env()
  check_no_more(..., call = call)
  named <- list(user = user, item = item, count = check_string(
    count, null_ok = TRUE, call = call
  ))
  counts <- as_user_counts(ratings, named, arg = "ratings", call = call)
  user_call <- call_of_model(match.call(), "gibbs_pmf")
  run_pmf(counts, rank, prior, user_call, call)
}

run_pmf <- function(counts, rank, prior, user_call, call) {
  rank <- check_count(rank, max = 200, call = call)
  running <- running_of(
    call, keep_choices = c("theta", "beta"), keep_default = character()
  )
  model <- pmf_model(
    counts, rank, made_prior(prior, pmf_prior, call), running$keep,
    running$chains
  )
  model$cap <- model$data$cap
  run_chains(model, running, user_call, call)
}

# ---- The prior --------------------------------------------------------------

#' Prior of a Poisson factorisation
#'
#' The prior of [gibbs_pmf()], in its notation; all gamma distributions have a
#' shape and a rate:
#' \deqn{\theta_{uk} \sim \mathrm{Gamma}(a, \xi_u), \quad \xi_u \sim
#'   \mathrm{Gamma}(a', a' / b'), \quad \beta_{ik} \sim \mathrm{Gamma}(c,
#'   \eta_i), \quad \eta_i \sim \mathrm{Gamma}(c', c' / d').}{
#'   theta_uk ~ Gamma(a, xi_u), xi_u ~ Gamma(a', a'/b'),
#'   beta_ik ~ Gamma(c, eta_i), eta_i ~ Gamma(c', c'/d').}
#' The rates \eqn{\xi_u}{xi_u} and \eqn{\eta_i}{eta_i} have the means
#' \eqn{b'} and \eqn{d'}. The defaults are those of Gopalan, Hofman and Blei
#' (2015): shapes below 1 make most entries of \eqn{\theta_u}{theta_u} and
#' \eqn{\beta_i}{beta_i} small.
#'
#' @param user_shape,item_shape Positive numbers, default 0.3: \eqn{a} and
#'   \eqn{c}.
#' @param user_rate_shape,item_rate_shape Positive numbers, default 0.3:
#'   \eqn{a'} and \eqn{c'}. With `Inf` the rates are known and equal to their
#'   mean.
#' @param user_rate_mean,item_rate_mean Positive numbers, default 1: \eqn{b'}
#'   and \eqn{d'}.
#' @return An object of class `pmf_prior`; printing it shows the model.
#' @section Errors:
#' A value of the wrong type or out of its range is an error of class
#' `gibbsite_error_argument`.
#' @inherit gibbs_pmf references
#' @seealso [gibbs_pmf()] for the model.
#' @examples
#' pmf_prior()
#' pmf_prior(user_shape = 1, user_rate_shape = Inf, user_rate_mean = 2)
#' @export
pmf_prior <- function(user_shape = 0.3, item_shape = 0.3, user_rate_shape = 0.3,
                      item_rate_shape = 0.3, user_rate_mean = 1,
                      item_rate_mean = 1) {
  call <- rlang::current_env()
  given <- mget(names(formals()))
  fields <- Map(function(x, field) {
    if (endsWith(field, "rate_shape") && identical(x, Inf)) {
      return(Inf)
    }
    check_number(
      x, lower = 1e-10, upper = 1e10, arg = field, call = call
    )
  }, given, names(given))
  structure(fields, class = c("pmf_prior", "gibbsite_prior"))
}

#' @export
format.pmf_prior <- function(x, ...) {
  check_made(x, names(formals(pmf_prior)), "pmf_prior()")
  rate <- function(role, name) {
    if (identical(x[[paste0(role, "_rate_shape")]], Inf)) {
      return(paste0(name, " = ", role, "_rate_mean"))
    }
    paste0(
      name, " ~ Gamma(", role, "_rate_shape, ", role, "_rate_shape / ", role,
      "_rate_mean)"
    )
  }
  fields <- unclass(x)
  c(
    "y_ui ~ Poisson(theta_u'beta_i)",
    paste0("theta_uk ~ Gamma(user_shape, xi_u)      ",
           "beta_ik ~ Gamma(item_shape, eta_i)"),
    rate("user", "xi_u "), rate("item", "eta_i"),
    paste0("  ", format(names(fields)), " = ",
           vapply(fields, format_prior_value, ""))
  )
}

# ---- Simulation -------------------------------------------------------------

#' @rdname simulated-data
#' @export
sim_pmf <- function(users, items, rank = 2, mean = 0.3) {
  check_unlocked()
  check_needed(users = "how many", items = "how many")
  users <- check_count(users, max = 1e5)
  items <- check_count(items, max = 1e5)
  rank <- check_count(rank, max = 1000)
  mean <- check_number(mean, lower = 0, lower_open = TRUE, upper = 1e6)
  check_result_size(c(users, items), "users x items", "{.arg users}",
                    rlang::current_env())
  factors <- function(count) {
    activity <- stats::rgamma(count, 3, 3)
    matrix(stats::rgamma(rank * count, 0.5), rank) *
      rep(activity, each = rank)
  }
  theta <- factors(users)
  beta <- factors(items)
  expected <- crossprod(theta, beta)
  scale <- sqrt(mean / base::mean(expected))
  counts <- stats::rpois(length(expected), expected * scale^2)
  at <- which(counts > 0)
  out <- data.frame(
    user = factor((at - 1L) %% users + 1L, seq_len(users)),
    item = factor((at - 1L) %/% users + 1L, seq_len(items)),
    count = as.double(counts[at])
  )
  structure(
    out, theta = theta * scale, beta = beta * scale,
    truth = expected * scale^2
  )
}
