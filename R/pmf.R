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

# ---- Predictions -------------------------------------------------------------

# Expected counts, their intervals and recommendations of a fit of gibbs_pmf().

#' Predict counts
#'
#' Predictions are averages over the draws of the factors that the fit keeps for
#' prediction (see [gibbs_pmf()]): with \eqn{\mu_{ui} = \theta_u^\top
#' \beta_i}{mu_ui = theta_u'beta_i} the mean of a count is the mean of
#' \eqn{\mu_{ui}}{mu_ui}, and the probability of a count of at least one that of
#' \eqn{1 - \exp(-\mu_{ui})}{1 - exp(-mu_ui)}. `posterior_epred()` gives the
#' draws of \eqn{\mu_{ui}}{mu_ui}, `posterior_predict()` draws counts given
#' them, and `log_lik()` gives the log probability of each count.
#'
#' New users and items are refused: their prior has so wide a tail that the
#' expected count need not be finite. [fold_in()] takes new users with counts.
#'
#' @param object A fit made by [gibbs_pmf()].
#' @param newdata `NULL` for the pairs with a count above 0 in the data, each
#'   once, by user and within a user by item (`log_lik()`: for all pairs, zeros
#'   included, as all are data of the model; [stats::nobs()] is the number of
#'   counts above 0), or a data frame of pairs with columns called as in the
#'   data, also the data of the fit: an answer for each row, in its order.
#'   `log_lik()` needs the counts in it too.
#' @param interval `"none"` (default), `"mean"` for the interval of the expected
#'   count, or `"prediction"` for that of the count: its ends are quantiles of
#'   the mixture of the Poisson distributions of the draws.
#' @param level Number between 0 and 1, default 0.95: the probability of the
#'   interval; with `"prediction"` at least this.
#' @param ndraws `NULL` for all draws that the fit keeps for prediction, or the
#'   number of them to use, spread evenly.
#' @param ... Not used.
#' @return `predict()`: a data frame with a row for each pair and the columns
#'   user and item (under their names in the data), `mean` (expected count),
#'   `probability` (of at least one), `sd` (of the count; with `interval =
#'   "mean"` of the expected count), with an interval `lower` and `upper`, and
#'   `unknown` as in [predict.gibbs_bmf()]: who has no count in the data. The
#'   others: a matrix, draws x pairs. `log_lik()` of the fit's own data, and so
#'   `loo()`, has a column for each of the users x items pairs, with the names
#'   `user:item`; `nobs()` counts the pairs with a count.
#' @section Errors: `gibbsite_error_argument` for missing columns, for users and
#'   items that the fit does not have, and for a fit without its data when
#'   `newdata` is `NULL`; `gibbsite_error_size` when the fit keeps no draws of
#'   the factors or a matrix would be larger than
#'   `options(gibbsite.max_draws_mb)`.
#' @seealso [recommend()], [rank_measures()], [fold_in()].
#' @examples
#' set.seed(1)
#' made <- sim_pmf(40, 30, rank = 2)
#' fit <- gibbs_pmf(made, rank = 2, draws = 200, burnin = 200, chains = 2,
#'   seed = 1
#' )
#' pairs <- data.frame(user = c("1", "2"), item = c("1", "5"))
#' predict(fit, pairs, interval = "mean")
#' dim(posterior_predict(fit, pairs))
#' @export
predict.gibbs_pmf <- function(object, newdata = NULL,
                              interval = c("none", "mean", "prediction"),
                              level = 0.95, ndraws = NULL, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  interval <- check_interval(interval, call)
  level <- check_level(level)
  model <- fit_part(object, "model")
  pairs <- pmf_pairs(model, newdata, call, FALSE)
  out <- predict_counts(
    kept_factors(object, ndraws, call), pairs, interval, level, linear_draws
  )
  out$unknown <- pairs$unknown
  out
}

# expected(kept, user, item): draws x pairs.
predict_counts <- function(kept, pairs, interval, level, expected) {
  answers <- by_blocks(kept, pairs, function(rows) {
    mean <- expected(kept, pairs$user[rows], pairs$item[rows])
    count_answers(mean, interval, level)
  })
  pair_frame(kept$model, pairs, answers)
}

# mean: expected counts, draws x pairs
count_answers <- function(mean, interval, level) {
  moments <- column_moments(mean)
  noise <- if (interval == "mean") 0 else moments$mean
  out <- data.frame(
    mean = moments$mean, probability = colMeans(-expm1(-mean)),
    sd = sqrt(moments$squares / nrow(mean) + noise)
  )
  if (interval == "none") {
    return(out)
  }
  ends <- if (interval == "mean") {
    central_intervals(mean, level)
  } else {
    vapply(central_tails(level), function(p) {
      poisson_mixture_quantile(mean, p)
    }, numeric(ncol(mean)))
  }
  ends <- matrix(ends, ncol = 2L)
  cbind(out, lower = ends[, 1L], upper = ends[, 2L])
}

# The smallest count that is not exceeded with at least probability p, for each
# column of means: by bisection.
poisson_mixture_quantile <- function(mean, p) {
  below <- rep(-1, ncol(mean))
  above <- stats::qpois(p, apply(mean, 2L, max))
  while (any(above - below > 1)) {
    middle <- floor((below + above) / 2)
    share <- stats::ppois(rep(middle, each = nrow(mean)), mean)
    reached <- colMeans(matrix(share, nrow(mean))) >= p
    above <- ifelse(reached, middle, above)
    below <- ifelse(reached, below, middle)
  }
  above
}

# Pairs of known users and items, as bmf_pairs() has them.
pmf_pairs <- function(model, newdata, call, values = TRUE) {
  pairs <- bmf_pairs(model, newdata, call, values = values)
  for (side in c("user", "item")) {
    lost <- is.na(pairs[[side]])
    if (any(lost)) {
      shown <- unique(id_words(plain_or_level(pairs$ids[[side]]))[lost])
      shown <- utils::head(shown, 3)
      abort_argument(
        c(
          "{.arg newdata} must be of {side}s of the fit: {.val {shown}}
           {cli::qty(shown)}{?is/are} not.",
          i = if (side == "user") {
            "{.fn fold_in} takes new users with counts."
          } else {
            "A new item needs counts: fit again with them."
          }
        ),
        call = call
      )
    }
  }
  pairs
}

#' @rdname predict.gibbs_pmf
#' @export
posterior_epred.gibbs_pmf <- function(object, newdata = NULL, ndraws = NULL,
                                      ...) {
  call <- rlang::current_env()
  check_no_more(...)
  pairs <- pmf_pairs(fit_part(object, "model"), newdata, call, FALSE)
  kept <- kept_factors(object, ndraws, call)
  check_pairs_size(kept, pairs, call)
  linear_draws(kept, pairs$user, pairs$item)
}

#' @rdname predict.gibbs_pmf
#' @export
posterior_predict.gibbs_pmf <- function(object, newdata = NULL, ndraws = NULL,
                                        ...) {
  check_unlocked()
  check_no_more(...)
  mean <- posterior_epred.gibbs_pmf(object, newdata, ndraws)
  matrix(as.double(stats::rpois(length(mean), mean)), nrow(mean))
}

#' @rdname predict.gibbs_pmf
#' @export
log_lik.gibbs_pmf <- function(object, newdata = NULL, ndraws = NULL, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  model <- fit_part(object, "model")
  pairs <- if (is.null(newdata)) {
    all_pairs(model, call)
  } else {
    pmf_pairs(model, newdata, call)
  }
  check_values(pairs, model, call)
  wrong <- pairs$value < 0 | pairs$value != floor(pairs$value)
  abort_elements(wrong, pairs$value, paste0("newdata$", model$names[[3L]]),
                 "whole numbers of at least 0", call)
  kept <- kept_factors(object, ndraws, call)
  check_pairs_size(kept, pairs, call)
  mean <- linear_draws(kept, pairs$user, pairs$item)
  out <- matrix(
    stats::dpois(rep(pairs$value, each = nrow(mean)), mean, log = TRUE),
    nrow(mean)
  )
  if (is.null(newdata)) colnames(out) <- pair_names(model)
  out
}

# The pairs of all_pairs().
pair_names <- function(model) {
  paste(
    rep(as.character(model$users), model$m),
    rep(as.character(model$items), each = model$n), sep = ":"
  )
}

# Every pair of the fit with its count, user by user within an item.
all_pairs <- function(model, call) {
  if (is.null(model$data)) {
    abort_no_data("newdata", call)
  }
  check_result_size(
    c(model$n, model$m), "users x items", "pairs, in {.arg newdata}", call
  )
  value <- matrix(0, model$n, model$m)
  value[cbind(model$data$user, model$data$item)] <- model$data$value
  list(
    user = rep(seq_len(model$n), model$m),
    item = rep(seq_len(model$m), each = model$n), value = as.vector(value)
  )
}

#' @rdname recommend
#' @export
recommend.gibbs_pmf <- function(fit, users = NULL, n = 10, level = 0.95, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  n <- check_count(n)
  level <- check_level(level)
  model <- fit_part(fit, "model")
  if (is.null(model$data)) {
    abort_no_data(
      call = call,
      hint = "The data say what each user has used. {.fn predict} needs pairs
              alone."
    )
  }
  codes <- chosen_users(users, model$users, call,
                        hint = "For a new user with counts see {.fn fold_in}.")
  check_recommended(length(codes), n, length(model$items), call)
  kept <- kept_factors(fit, call = call)
  best <- best_unseen(kept, codes, n, NULL)
  recommended_counts(kept, best, model$users, linear_draws, level)
}

# best: list(user, item, place); expected: of predict_counts().
recommended_counts <- function(kept, best, users, expected, level) {
  model <- kept$model
  pairs <- list(
    user = best$user, item = best$item,
    ids = list(user = users[best$user], item = model$items[best$item])
  )
  out <- predict_counts(kept, pairs, "mean", level, expected)
  data.frame(
    out[1L], place = best$place, out[-1L],
    counts = model$item_counts[best$item], check.names = FALSE
  )
}

# ---- New users: fold_in() ----------------------------------------------------

#' @rdname fold_in
#' @export
fold_in.gibbs_pmf <- function(fit, new_ratings, ndraws = NULL, ...) {
  check_needed(new_ratings = "a data frame")
  call <- rlang::current_env()
  check_unlocked(call)
  check_no_more(...)
  model <- fit_part(fit, "model")
  if (!is.data.frame(new_ratings)) {
    abort_expected(
      new_ratings, "a data frame of users, items and counts", FALSE,
      "new_ratings", call
    )
  }
  asked <- pair_columns(new_ratings, model, "new_ratings", call)
  check_some_rows(asked$user, "new_ratings", call)
  value <- asked$value %||% rep(1, length(asked$user))
  if (anyNA(value)) {
    abort_unobserved("new_ratings", call)
  }
  abort_elements(
    value < 0 | value != floor(value) | value > 1e9, value,
    paste0("new_ratings$", model$names[[3L]]),
    "whole numbers from 0 to 1e9", call
  )
  new <- new_users(asked, value, value > 0, model, call)
  kept <- kept_factors(fit, ndraws, call)
  new_fold("pmf_fold", fold_counts(kept, new$rated), new, kept)
}

# K x users x draws: for each kept draw of the items the last of some sweeps of
# the new users, from those of the draw before.
fold_counts <- function(kept, rated) {
  model <- kept$model
  data <- list(
    n = rated$n, m = model$m, size = model$rank,
    prior = pmf_prior_numbers(model$prior),
    users = bmf_compressed(rated, rated$n, model$m, 0)$users
  )
  u <- stats::rgamma(model$rank * rated$n, 1) + 1e-10
  drawn <- over_draws(kept, function(draw) {
    u <<- .Call(
      C_pmf_fold_in, data, as.double(u), pmax(as.double(draw$v), 1e-300),
      fold_sweeps
    )
  })
  array(unlist(drawn), c(model$rank, rated$n, length(drawn)))
}

#' @export
print.pmf_fold <- function(x, ...) {
  check_fold(x, "pmf_model")
  print_fold(x, "pmf_fold", "item")
}

# The expected counts of pairs in each draw, for predict_counts().
fold_expected <- function(fold) {
  function(kept, user, item) {
    do.call(rbind, over_draws(kept, function(draw) {
      u <- matrix(fold$draws[, user, draw$place], kept$model$rank)
      colSums(u * draw$v[, item, drop = FALSE])
    }))
  }
}

#' @rdname fold_in
#' @export
predict.pmf_fold <- function(object, newdata,
                             interval = c("none", "mean", "prediction"),
                             level = 0.95, ...) {
  check_fold(object, "pmf_model")
  check_needed(newdata = "a data frame of users and items")
  call <- rlang::current_env()
  check_no_more(...)
  interval <- check_interval(interval, call)
  level <- check_level(level)
  model <- object$kept$model
  ids <- pair_columns(newdata, model, "newdata", call, FALSE)
  pairs <- list(
    user = folded_users(ids$user, object, call),
    item = known_items(ids$item, TRUE, model, call, "newdata"),
    ids = ids[c("user", "item")]
  )
  predict_counts(object$kept, pairs, interval, level, fold_expected(object))
}

#' @rdname fold_in
#' @export
recommend.pmf_fold <- function(fit, users = NULL, n = 10, level = 0.95, ...) {
  check_fold(fit, "pmf_model")
  call <- rlang::current_env()
  check_no_more(...)
  n <- check_count(n)
  level <- check_level(level)
  kept <- fit$kept
  codes <- chosen_users(users, fit$users, call)
  items <- seq_along(kept$model$items)
  check_recommended(length(codes), n, length(items), call)
  expected <- fold_expected(fit)
  do.call(rbind, lapply(codes, function(code) {
    left <- setdiff(items, rated_of_fold(fit, code))
    mean <- colMeans(expected(kept, rep(code, length(left)), left))
    top <- utils::head(left[order(-mean, left)], n)
    best <- list(
      user = rep(code, length(top)), item = top, place = seq_along(top)
    )
    recommended_counts(kept, best, fit$users, expected, level)
  }))
}
