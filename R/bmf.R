# Bayesian matrix factorisation: gibbs_bmf() and its simulator.

#' Bayesian matrix factorisation by Gibbs sampling
#'
#' Draws from the posterior of a low-rank model of ratings, or of any table of
#' numbers of which few cells were observed. With \eqn{\Omega}{Omega} the
#' observed pairs of a user \eqn{i = 1, \dots, N} and an item
#' \eqn{j = 1, \dots, M}:
#' \deqn{r_{ij} \sim \mathrm{N}(u_i^\top v_j, 1 / \beta), \quad
#'   (i, j) \in \Omega, \quad u_i, v_j \in R^{rank},}{
#'   r_ij ~ N(u_i'v_j, 1/beta), (i, j) in Omega, u_i, v_j in R^rank,}
#' with one of the priors of [bmf_prior()]. The default is that of Salakhutdinov
#' and Mnih (2008),
#' \deqn{u_i \sim \mathrm{N}(\mu_u, \Lambda_u^{-1}), \quad
#'   \mu_u \mid \Lambda_u \sim \mathrm{N}(\mu_0, (\kappa_0 \Lambda_u)^{-1}),
#'   \quad \Lambda_u \sim \mathrm{W}(\nu_0, W_0),}{
#'   u_i ~ N(mu_u, Lambda_u^-1), mu_u | Lambda_u ~ N(mu0, (kappa0
#'   Lambda_u)^-1), Lambda_u ~ W(nu0, W0),}
#' the same for the items, and \eqn{\beta \sim \mathrm{Gamma}(e, f)}{beta ~
#' Gamma(e, f)} (shape, rate).
#'
#' In the paper the precision of the ratings is fixed; here it is unknown. The
#' density that the chain leaves invariant is, up to a constant,
#' \deqn{\prod_{(i,j) \in \Omega} \mathrm{N}(r_{ij} \mid u_i^\top v_j, 1/\beta)
#'   \prod_i p(u_i \mid \mu_u, \Lambda_u) \prod_j p(v_j \mid \mu_v, \Lambda_v)
#'   \, p(\mu_u, \Lambda_u) \, p(\mu_v, \Lambda_v) \, p(\beta).}{
#'   prod_{(i,j) in Omega} N(r_ij | u_i'v_j, 1/beta) prod_i p(u_i | mu_u,
#'   Lambda_u) prod_j p(v_j | mu_v, Lambda_v) p(mu_u, Lambda_u) p(mu_v,
#'   Lambda_v) p(beta).}
#' [bmf_sampler] has the conditionals from which it draws.
#'
#' @section Mean and intercepts:
#' With `center = TRUE` the mean of the observed ratings is subtracted first and
#' added back in all predictions. It is a plug-in estimate: the model treats
#' this number from the data as known, and the posterior does not include its
#' uncertainty. `center = FALSE` leaves the ratings as they are.
#'
#' With `biases = TRUE` each user and each item has an intercept, \eqn{r_{ij}
#' \sim \mathrm{N}(u_i^\top v_j + a_i + b_j, 1/\beta)}{r_ij ~ N(u_i'v_j + a_i +
#' b_j, 1/beta)}. An intercept is one more coordinate, the last one, of the same
#' Gaussian model: \eqn{(u_i, a_i)} has the prior written above for \eqn{u_i},
#' in \eqn{D = rank + 1} dimensions, and is drawn as one block.
#'
#' @section Ratings:
#' * A data frame with a row for each rating. Its columns are `user`, `item` and
#'   `value` (or `rating`), or are named by the arguments `user`, `item` and
#'   `value`. Ids may be of any type. If they are a factor, levels that do not
#'   occur also become users or items. Ratings are numbers. Of a factor whose
#'   levels are numbers these numbers are taken. Of another ordered factor the
#'   codes 1, 2, ... are taken. A message says so. With codes the steps between
#'   levels count as equal, and ratings given later must have the same levels.
#' * A formula `value ~ user + item`, with `data`.
#' * A matrix with users in rows and items in columns, `NA` where there is no
#'   rating.
#' * A sparse matrix of the Matrix package: its stored entries are the ratings,
#'   including stored zeros; or a `simple_triplet_matrix` of the slam package.
#' * An object that holds such a matrix in its slot `data`, as recommenderlab's
#'   `realRatingMatrix` does.
#'
#' A rating that is `NA` was not observed; `NaN` and infinite ones are errors. A
#' rating of 0 is a rating: tables made by [table()] and [xtabs()], and matrices
#' filled up with 0, have `0` where nothing was observed. A message says how
#' many zeros were taken as ratings if all pairs have a value and a tenth of
#' them or more are 0. A table with a row for each user and a column for each
#' item is given as a matrix, without the column of ids. Ratings that are all
#' equal, such as likes alone, distinguish nothing, and a message says so: add
#' pairs that were not chosen as 0, or give counts.
#'
#' A pair may be rated more than once: these are repeated measurements, and a
#' message says how many. Users and items without a rating are kept, and their
#' factors are drawn from the prior (a message says so too).
#'
#' @section Features, levels and a range:
#' `user_features` and `item_features` hold what is known of users and items
#' beside their ratings. `link = "ordinal"` is a model of ratings with few
#' levels, `link = "probit"` one of likes. `range` keeps predictions within the
#' scale of the ratings. [bmf_options] describes each of them.
#'
#' @section Rotations:
#' The likelihood depends on users and items through \eqn{u_i^\top v_j}{u_i'v_j}
#' alone. Factors are therefore known only up to a rotation (the likelihood
#' alone would leave any invertible matrix free), and a chain can move between
#' rotations. The draws are returned without any rotation. R-hat and effective
#' sample sizes are judged on quantities that do not depend on the rotation: the
#' precision of the ratings, the error in the data, the log joint density and
#' the predictions at some observed cells. [summary()][summary.gibbs_bmf] brings
#' the factors into a canonical form, and [factors_of()] gives them with their
#' ids. The size of one side alone (`lambda_u`, `trace_u`, `logdet_u`,
#' `norm_mu_u` and those of the items) is not judged either; the summary shows
#' its R-hat.
#'
#' If the rank is larger than the ratings need, the precision of the ratings
#' mixes more slowly than the predictions. If only the predictions at the
#' observed cells have converged, `print()` and `summary()` say so.
#'
#' @section Stored quantities:
#' See [summary.gibbs_bmf()] for their meaning: `beta` (not with `type =
#' "fixed"` of [bmf_prior()], or `link`); `theta[1]`, ... (with `link`: the
#' cutpoints); `lambda_u`, `lambda_v` (`"gamma"`); `trace_u`, `logdet_u`,
#' `norm_mu_u` and the same for `v` (`"wishart"`: trace and log determinant of
#' \eqn{\Lambda}{Lambda}, length of \eqn{\mu}{mu}); `lambda_b_u`, `lambda_b_v`
#' (with features, unless known); `rmse` (of the ratings about
#' \eqn{u_i^\top v_j}{u_i'v_j} at this draw; with `link` instead
#' `log_lik`, the log probability of all ratings), `log_joint` (log density of
#' ratings and parameters, every constant included); `cell[1]`, `cell[2]`, ...
#' (the mean of the rating in some observed cells, spread evenly over the data);
#' with `keep = "u"` and `"v"` every draw of the factors, `u[k,i]` and `v[k,j]`
#' (coordinate first).
#'
#' For prediction a thinned set of the draws of all factors is stored as the
#' chains run, at most 200 in each chain (fewer if
#' `options(gibbsite.max_draws_mb)` requires it). The thinning interval is the
#' smallest power of 2 for which this holds. Extending a fit thins them again in
#' the same way.
#'
#' @section Choosing k:
#' Fit several ranks and compare them by [compare_k()], which holds the ratings
#' back in folds. For large data hold some ratings back at random, give them as
#' `predict_at`, and compare the fits by `held_out(fit)`: root mean square
#' error, mean log predictive density and coverage. The prior shrinks factors
#' that are not needed, so that too large a rank costs time rather than
#' accuracy. [loo()][loo::loo] also works, but a rating depends on two factors
#' that few ratings inform, and the approximation of loo is then often poor (it
#' gives a warning); held-out ratings are safer.
#'
#' @section Search for the mode:
#' `method = "icm"` (iterated conditional modes) sets each block to the mode of
#' its conditional instead of drawing it. This is alternating least squares with
#' the same prior. Its result is a point, not a posterior, of class
#' `gibbsite_map`: see [bmf_map].
#'
#' @param ratings The ratings: a data frame, a matrix or a sparse matrix, see
#'   the section on ratings; or a formula; or ratings on the workers of a
#'   cluster ([scatter()]).
#' @param rank Whole number from 1 to 200, default 10: the length of each factor
#'   (of \eqn{u_i} and \eqn{v_j}).
#' @param prior The prior, made by [bmf_prior()].
#' @param formula A formula `value ~ user + item`: the columns of `data`, or
#'   terms of them such as `log(value)`.
#' @param data A data frame in which the formula's variables are looked up
#'   first.
#' @param user,item,value For a data frame: the names of its columns. `NULL`
#'   (default): `user`, `item`, and `value` or `rating`.
#' @param center `TRUE` (default) or `FALSE`: subtract the mean of the observed
#'   ratings first, and add it back in predictions.
#' @param biases `TRUE` or `FALSE` (default): an intercept for each user and
#'   each item.
#' @param range `NULL` (default), or the lowest and the highest possible rating,
#'   two numbers: predictions stay between them, see [bmf_options].
#' @param link `NULL` (default) for ratings that are numbers; `"ordinal"` for
#'   ratings on a scale of 2 to 100 levels, `"probit"` for likes (0 and 1,
#'   logical, or a factor of two levels): see [bmf_options].
#' @param cutpoint_sd With `link`: positive number, default 5, the prior
#'   standard deviation of a cutpoint on the scale on which a latent value has
#'   standard deviation 1.
#' @param method `"gibbs"` (default), or `"icm"` to search for a mode.
#' @param predict_at `NULL`, or a data frame with pairs of users and items, in
#'   columns named like those of the ratings. Predictions for these pairs are
#'   averaged over every kept draw as the chains run, see [predicted_at()]. A
#'   third column may hold the ratings held back; [held_out()] compares the
#'   predictions with them. New ids are added as users or items without a
#'   rating.
#' @param user_features,item_features `NULL`, or a numeric matrix, a sparse
#'   matrix or a data frame with a row for each user (item): see
#'   [bmf_options].
#' @param keep `NULL`, or any of `"u"` and `"v"`: store every draw of the
#'   factors. A run whose draws would need more than
#'   `options(gibbsite.max_draws_mb)` is refused.
#' @param draws,burnin,thin,chains,inits,threads,cores,seed As in [running].
#' @param checkpoint,stop_when,progress,keep_data As in [running].
#' @param ... Not used: any further argument is an error.
#' @return An object of class `gibbs_bmf`, a `gibbsite_fit` and a
#'   [coda::mcmc.list]: one matrix of draws for each chain. See
#'   [predict.gibbs_bmf()], [recommend()], [fold_in()], [summary.gibbs_bmf()],
#'   [plot.gibbs_bmf()], [factors_of()]. With `method = "icm"` an object of
#'   class `gibbsite_map`.
#' @section Errors:
#' Errors in the arguments have class `gibbsite_error_argument` and are raised
#' before any chain runs: a rating that is not finite (naming its user and
#' item), a missing id, a missing column, a column that is not numeric, no
#' rating at all. A chain that fails raises `gibbsite_error_chain`, which
#' carries the other chains in `$fit`.
#' @references
#' Salakhutdinov R, Mnih A (2008). Bayesian probabilistic matrix factorization
#' using Markov chain Monte Carlo. *Proceedings of the 25th International
#' Conference on Machine Learning*, 880-887. \doi{10.1145/1390156.1390267}
#' (In its equation for the scale matrix of \eqn{\Lambda_u}{Lambda_u},
#' \eqn{\bar S}{S-bar} has to be centred at the mean of the users, as above.)
#'
#' Paisley J (2015). *EECS E6892: Bayesian Models for Machine Learning*, lecture
#' 3, equations 16 to 29. Columbia University.
#'
#' Rai P. *CS772A: Probabilistic Machine Learning*, lecture slides, "Gibbs
#' sampling: one more example" (the Gamma priors). Indian Institute of
#' Technology Kanpur.
#' @seealso [bmf_options], [bmf_prior], [bmf_sampler], [predict.gibbs_bmf()],
#'   [recommend()], [fold_in()], [factors_of()], [held_out()],
#'   [plot.gibbs_bmf()], [compare_k()] for the rank, [scatter()] for several
#'   machines; `vignette("ratings", "gibbsite")`.
#' @examples
#' # lawyers' ratings of 43 judges on 12 qualities, a fifth of them hidden
#' ratings <- as.matrix(USJudgeRatings)
#' set.seed(1)
#' hidden <- sample(length(ratings), 100)
#' holes <- replace(ratings, hidden, NA)
#' fit <- gibbs_bmf(holes, rank = 2, draws = 300, burnin = 300, chains = 2,
#'   seed = 1
#' )
#' fit
#' asked <- data.frame(
#'   user = rownames(ratings)[row(ratings)[hidden]],
#'   item = colnames(ratings)[col(ratings)[hidden]], value = ratings[hidden]
#' )
#' head(predict(fit, asked, interval = "prediction"), 3)
#' held_out(fit, asked)
#'
#' # a data frame, here by a formula
#' set.seed(1)
#' made <- sim_bmf(40, 30, rank = 2, share = 0.3)
#' by_formula <- gibbs_bmf(value ~ user + item, made, rank = 2, draws = 200,
#'   burnin = 200, chains = 2, seed = 1
#' )
#' recommend(by_formula, users = 1:2, n = 3)
#' @export
gibbs_bmf <- function(ratings, ...) {
  what <- "the ratings, or a formula"
  check_ambiguous(..., known = names(formals(gibbs_bmf.default)))
  UseMethod("gibbs_bmf", formula_or_first(
    ratings, ..., what = what, arg = "ratings"
  ))
}

#' @rdname gibbs_bmf
#' @export
gibbs_bmf.formula <- function(formula, data, rank = 10, prior = bmf_prior(),
                              center = TRUE, biases = FALSE, range = NULL,
                              link = NULL, cutpoint_sd = 5,
                              method = c("gibbs", "icm"), predict_at = NULL,
                              user_features = NULL, item_features = NULL,
                              draws = NULL, burnin = 1000, thin = 1, chains = 4,
                              inits = NULL, keep = NULL, threads = 1,
                              cores = getOption("mc.cores", 1L), seed = NULL,
                              checkpoint = NULL, stop_when = NULL,
                              progress = TRUE, keep_data = TRUE, ...) {
  call <- rlang::current_env()
  check_no_more(..., call = call)
  settings <- bmf_settings(rank, center, biases, link, cutpoint_sd, method,
                           call)
  rows <- if (!missing(data)) data
  arg <- if (is.null(rows)) "formula" else "data"
  ratings <- as_ratings(
    formula, data = rows, arg = arg, call = call, likes = settings$likes
  )
  run_bmf(
    ratings, prior, range, predict_at, list(user_features, item_features),
    settings, call_of_model(match.call(), "gibbs_bmf", formula), call
  )
}

#' @rdname gibbs_bmf
#' @export
gibbs_bmf.default <- function(ratings, rank = 10, prior = bmf_prior(),
                              user = NULL, item = NULL, value = NULL,
                              center = TRUE, biases = FALSE, range = NULL,
                              link = NULL, cutpoint_sd = 5,
                              method = c("gibbs", "icm"), predict_at = NULL,
                              user_features = NULL, item_features = NULL,
                              draws = NULL, burnin = 1000, thin = 1, chains = 4,
                              inits = NULL, keep = NULL, threads = 1,
                              cores = getOption("mc.cores", 1L), seed = NULL,
                              checkpoint = NULL, stop_when = NULL,
                              progress = TRUE, keep_data = TRUE, ...) {
  call <- rlang::current_env()
  check_no_more(..., call = call)
  settings <- bmf_settings(rank, center, biases, link, cutpoint_sd, method,
                           call)
  ratings <- as_ratings(
    ratings, user, item, value, arg = "ratings", call = call,
    likes = settings$likes
  )
  user_call <- call_of_model(match.call(), "gibbs_bmf")
  run_bmf(
    ratings, prior, range, predict_at, list(user_features, item_features),
    settings, user_call, call
  )
}

bmf_settings <- function(rank, center, biases, link, cutpoint_sd, method,
                         call) {
  method <- check_choice(method, c("gibbs", "icm"), call = call)
  link <- check_link(link, method, call)
  list(
    method = method, rank = check_count(rank, max = 200, call = call),
    center = check_flag(center, call = call),
    biases = check_flag(biases, call = call), link = link,
    likes = identical(link, "probit"),
    cutpoint_sd = check_number(
      cutpoint_sd, lower = 0, lower_open = TRUE, call = call
    )
  )
}

run_bmf <- function(ratings, prior, range, predict_at, features, settings,
                    user_call, call) {
  running <- running_of(
    call, keep_choices = c("u", "v"), keep_default = character()
  )
  check_class(prior, "bmf_prior", "bmf_prior()", arg = "prior", call = call)
  link <- settings$link
  say_equal_ratings(ratings, link, call)
  response <- bmf_response(ratings, range, link, settings$cutpoint_sd, call)
  ratings$response <- response
  check_shared_run(ratings, settings, features, call)
  asked <- ratings_asked(predict_at, ratings, call)
  check_shared_ids(ratings, asked$ratings, call)
  check_held_values(asked$pairs$value, response, "predict_at", call)
  described <- with_features(asked$ratings, features[[1L]], features[[2L]],
                             call)
  asked$ratings <- described$ratings
  features <- described$features
  centre <- if (settings$center && is.null(link)) {
    mean(asked$ratings$value)
  } else {
    0
  }
  spread <- if (is.null(link)) {
    rating_spread(asked$ratings$value, centre, call)
  } else {
    1
  }
  prior <- complete_bmf_prior(
    prior, spread, settings$rank, settings$biases, call, features, response
  )
  model <- described_bmf(bmf_model(
    asked$ratings, settings$rank, prior, centre, settings$biases, running$keep,
    asked$pairs, chains = running$chains, features = features,
    response = response
  ), asked)
  model$corpus <- ratings$corpus
  say_traffic(
    model$corpus$cluster, 8 * model$size * (as.double(model$n) + model$m),
    "the factors of all users and items"
  )
  if (settings$method == "icm") {
    return(icm_search(model, running, user_call, call))
  }
  run_chains(model, running, user_call, call)
}

check_link <- function(link, method, call) {
  if (is.null(link)) {
    return(NULL)
  }
  link <- check_choice(link, c("ordinal", "probit"), call = call)
  if (method == "icm") {
    abort_argument(
      c(
        "{.arg method} must be \"gibbs\" with a {.arg link}: latent values are
         drawn.",
        i = "Leave {.arg link} out to search for a mode."
      ),
      call = call
    )
  }
  link
}

#' Features, ordinal ratings and a range of ratings
#'
#' Three arguments of [gibbs_bmf()], in its notation: `user_features` and
#' `item_features` let the prior of a user or an item depend on what is known of
#' them; `link` is a model of ratings with few levels or of likes; `range` keeps
#' predictions within the scale of the ratings.
#'
#' @section Features:
#' `user_features` and `item_features` hold what is known of users and items
#' beside their ratings. With \eqn{f_i} the features of user \eqn{i} (\eqn{p}
#' numbers) the prior mean of its factors depends on them (Macau, Simm and
#' others 2017):
#' \deqn{u_i \sim \mathrm{N}(\mu_u + B_u^\top f_i, \Lambda_u^{-1}), \quad
#'   b_k \mid \Lambda_u, \lambda_b \sim \mathrm{N}(0, (\lambda_b
#'   \Lambda_u)^{-1}), \quad \lambda_b \sim \mathrm{Gamma}(g, h),}{
#'   u_i ~ N(mu_u + B_u'f_i, Lambda_u^-1), b_k | Lambda_u, lambda_b ~ N(0,
#'   (lambda_b Lambda_u)^-1), lambda_b ~ Gamma(g, h),}
#' \eqn{b_k} the rows of \eqn{B_u} (\eqn{p \times D}{p x D}), one for each
#' feature, and the same for items. With `biases` the intercepts depend on the
#' features too. Features need the default `type = "wishart"` of
#' [bmf_prior()], with \eqn{g, h} = `feature_shape`, `feature_rate`, or a known
#' \eqn{\lambda_b}{lambda_b} = `feature_precision`. They help most for users and
#' items with few ratings. They also predict for users and items without
#' ratings.
#'
#' A table of features is a numeric matrix, a sparse matrix of the Matrix
#' package or a data frame. Its rows belong to users (items) by row names or, in
#' a data frame, by a column that is called like that of the ratings; a matrix
#' without row names has the rows of ids 1, 2, ... Columns of a data frame are
#' numbers, logicals, or factors and text, which have a feature of 0 and 1 for
#' each level. Each user of the ratings needs a row. Users that occur in the
#' table alone are users without a rating, and a message says so. Constant and
#' collinear columns do no harm.
#'
#' Numbers are taken as they are: nothing is centred or scaled. All coefficients
#' of a side have one prior, so that features should be of similar size: use
#' [scale()] for ages, prices or years.
#'
#' For new users and items give their features to [predict.gibbs_bmf()],
#' [recommend()] and [fold_in()]. A table has at most 5,000 columns, because a
#' run needs the eigenvectors of the \eqn{p \times p}{p x p} cross-product of
#' the table once, and each sweep takes \eqn{p^2 D}{p^2 D} operations. Features
#' stay in a fit without its data.
#'
#' @section Ordinal ratings and likes:
#' With `link = "ordinal"` a rating on a scale of \eqn{K} levels is a latent
#' value that falls between two cutpoints (Albert and Chib 1993):
#' \deqn{r_{ij} = c \iff \theta_{c-1} < z_{ij} \le \theta_c, \quad
#'   z_{ij} \sim \mathrm{N}(u_i^\top v_j, 1), \quad -\infty = \theta_0 <
#'   \theta_1 < \dots < \theta_K = \infty,}{
#'   r_ij = c iff theta_{c-1} < z_ij <= theta_c, z_ij ~ N(u_i'v_j, 1),
#'   -Inf = theta_0 < theta_1 < ... < theta_K = Inf,}
#' with intercepts if there are `biases`. The \eqn{K - 1} cutpoints are unknown
#' and have the prior \eqn{\mathrm{N}(0, s^2)}{N(0, s^2)} each, given that they
#' are in order, \eqn{s} = `cutpoint_sd`. The variance of a latent value is 1,
#' so the prior has no \eqn{\beta}{beta}; `center` has no effect. Steps between
#' levels need not be equal, and no prediction leaves the scale. The levels are
#' the different ratings of the data in increasing order. A factor has all its
#' levels, also those without a rating. Levels that are numbers count as these
#' numbers, the levels of another ordered factor as 1, 2, ....
#'
#' `link = "probit"` is the same for likes: 0 and 1, logical ratings, or a
#' factor of two levels. \eqn{-\theta_1}{-theta_1} is then the intercept.
#'
#' What is predicted is the rating: its mean (the expected number), its
#' standard deviation, intervals of ratings, and with `predict(type =
#' "probabilities")` the probability of each level. An interval of ratings holds
#' at least its probability and, with few levels, often much more. `log_lik()`
#' and what is made of it are log probabilities of ratings; without `link` they
#' are log densities, and the two cannot be compared. To compare them, replace
#' the log density of a rating by the log of a normal probability: that of the
#' interval from half a step below the rating to half a step above it.
#'
#' A constant may be added to all latent values and cutpoints without a change
#' of the likelihood: only distances of cutpoints are judged for convergence.
#'
#' Choose `"ordinal"` for ratings of few levels if the probabilities of levels
#' matter or levels are used very unequally: it describes single ratings much
#' better. Means are predicted about as well without `link`, which is several
#' times faster and whose [fold_in()] is exact. `range` is for means and
#' intervals on the scale without the cost of a link.
#'
#' @section Range of the ratings:
#' The model takes ratings as real numbers without bounds. With `range = c(1,
#' 5)` a rating outside the range counts as the nearer end: a draw of 5.3
#' counts as 5. All predictions on the scale of the ratings use these values:
#' means, standard deviations, intervals, errors, coverage and recommendations.
#' The posterior stays the same, and so do
#' `log_lik()`, `loo()` and the mean log predictive density of [held_out()],
#' which are of the model's rating, as are the stored `cell[1]`, ... and
#' [rstantools::posterior_linpred()]. Because draws beyond an end count as the
#' end, means near an end lie further inside than without `range`.
#'
#' @references
#' Albert JH, Chib S (1993). Bayesian analysis of binary and polychotomous
#' response data. *Journal of the American Statistical Association* 88, 669-679.
#' \doi{10.1080/01621459.1993.10476321}
#'
#' Simm J, Arany A, Zakeri P, Haber T, Wegner JK, Chupakhin V, Ceulemans H,
#' Moreau Y (2017). Macau: scalable Bayesian factorization with high-dimensional
#' side information using MCMC. *IEEE 27th International Workshop on Machine
#' Learning for Signal Processing*. \doi{10.1109/MLSP.2017.8168143}
#' @seealso [gibbs_bmf()], [predict.gibbs_bmf()], [bmf_prior()].
#' @examples
#' set.seed(1)
#' made <- sim_bmf(40, 30, rank = 2, share = 0.3)
#'
#' # users with features: what a user without a rating may like
#' known <- t(attr(made, "u")) + rnorm(80) / 5
#' dimnames(known) <- list(1:40, c("x", "y"))
#' with_features <- gibbs_bmf(made[made$user != "40", ], rank = 2,
#'   user_features = known, draws = 200, burnin = 200, chains = 2, seed = 1
#' )
#' recommend(with_features, users = 40, n = 3)
#'
#' # ratings from 1 to 5 on their scale
#' made$value <- findInterval(made$value, c(-1.5, -0.5, 0.5, 1.5)) + 1
#' stars <- gibbs_bmf(made, rank = 2, link = "ordinal", draws = 200,
#'   burnin = 200, chains = 2, seed = 1
#' )
#' head(predict(stars, type = "probabilities"), 3)
#' recommend(stars, users = 1:2, n = 2, at_least = 4)
#' @name bmf_options
NULL

#' The sampler of gibbs_bmf()
#'
#' The conditionals of the model of [gibbs_bmf()], in its notation, and the
#' moves that a sweep adds to them. A sweep draws the users, the items, the
#' moves, the hyperparameters and the precision of the ratings.
#'
#' @section Conditionals:
#' Each user given the rest (Paisley eq. 29 with prior mean and precision
#' \eqn{\mu_u, \Lambda_u}{mu_u, Lambda_u}; for the other priors \eqn{\mu_u =
#' 0}{mu_u = 0} and \eqn{\Lambda_u = \lambda_u I}{Lambda_u = lambda_u I} or
#' \eqn{I / c}):
#' \deqn{u_i \mid \cdot \sim \mathrm{N}(m_i, P_i^{-1}), \quad
#'   P_i = \Lambda_u + \beta \sum_{j : (i,j) \in \Omega} v_j v_j^\top, \quad
#'   m_i = P_i^{-1} \Bigl(\Lambda_u \mu_u + \beta \sum_j r_{ij} v_j\Bigr),}{
#'   u_i | . ~ N(m_i, P_i^-1), P_i = Lambda_u + beta sum_j v_j v_j',
#'   m_i = P_i^-1 (Lambda_u mu_u + beta sum_j r_ij v_j),}
#' and each item in the same way. With \eqn{\bar u}{ubar} the mean of the users
#' and \eqn{S = \sum_i (u_i - \bar u)(u_i - \bar u)^\top}{S = sum_i (u_i -
#' ubar)(u_i - ubar)'}:
#' \deqn{\Lambda_u \mid U \sim \mathrm{W}\Bigl(\nu_0 + N, \Bigl[W_0^{-1} + S +
#'   \frac{\kappa_0 N}{\kappa_0 + N} (\bar u - \mu_0)(\bar u - \mu_0)^\top
#'   \Bigr]^{-1}\Bigr), \quad
#'   \mu_u \mid \Lambda_u, U \sim \mathrm{N}\Bigl(\frac{\kappa_0 \mu_0 + N
#'   \bar u}{\kappa_0 + N}, [(\kappa_0 + N) \Lambda_u]^{-1}\Bigr).}{
#'   Lambda_u | U ~ W(nu0 + N, [W0^-1 + S + kappa0 N / (kappa0 + N) (ubar -
#'   mu0)(ubar - mu0)']^-1), mu_u | Lambda_u, U ~ N((kappa0 mu0 + N ubar) /
#'   (kappa0 + N), [(kappa0 + N) Lambda_u]^-1).}
#' With features, \eqn{F} (\eqn{N \times p}{N x p}), \eqn{\mu_u}{mu_u} in the
#' prior of a user becomes \eqn{\mu_u + B_u^\top f_i}{mu_u + B_u'f_i}, and
#' \eqn{\Lambda_u}{Lambda_u}, \eqn{\mu_u}{mu_u} and \eqn{B_u} are drawn
#' together. With \eqn{G = (F, 1)}, \eqn{C = (B_u; \mu_u^\top)}{C = (B_u;
#' mu_u')}, \eqn{C_0 = (0; \mu_0^\top)}{C0 = (0; mu0')}, \eqn{K_0 =
#' \mathrm{diag}(\lambda_b, \dots, \lambda_b, \kappa_0)}{K0 =
#' diag(lambda_b, ..., lambda_b, kappa0)}, \eqn{K =
#' K_0 + G^\top G}{K = K0 + G'G}, \eqn{M = K^{-1} (G^\top U^\top + K_0 C_0)}{M =
#' K^-1 (G'U' + K0 C0)} and \eqn{R = U^\top - G M}{R = U' - G M}:
#' \deqn{\Lambda_u \mid U \sim \mathrm{W}\bigl(\nu_0 + N, [W_0^{-1} + R^\top R +
#'   (M - C_0)^\top K_0 (M - C_0)]^{-1}\bigr), \quad
#'   C \mid \Lambda_u, U \sim \mathrm{MN}(M, K^{-1}, \Lambda_u^{-1}),}{
#'   Lambda_u | U ~ W(nu0 + N, [W0^-1 + R'R + (M - C0)'K0(M - C0)]^-1),
#'   C | Lambda_u, U ~ MN(M, K^-1, Lambda_u^-1),}
#' \deqn{\lambda_b \mid B_u, \Lambda_u \sim \mathrm{Gamma}\Bigl(g + p D / 2, h +
#'   \tfrac12 \sum_k b_k^\top \Lambda_u b_k\Bigr).}{
#'   lambda_b | B_u, Lambda_u ~ Gamma(g + p D / 2, h + sum_k b_k'Lambda_u b_k /
#'   2).}
#' With `bmf_prior("gamma")` instead \eqn{\lambda_u \mid U \sim \mathrm{Gamma}(a
#' + N D / 2, b + \sum_i u_i^\top u_i / 2)}{lambda_u | U ~ Gamma(a + N D / 2, b
#' + sum_i u_i'u_i / 2)}. The precision of the ratings, over all
#' \eqn{|\Omega|}{|Omega|} of them:
#' \deqn{\beta \mid \cdot \sim \mathrm{Gamma}\Bigl(e + |\Omega| / 2, f +
#'   \tfrac12 \sum_{(i,j) \in \Omega} (r_{ij} - u_i^\top v_j)^2\Bigr).}{
#'   beta | . ~ Gamma(e + |Omega| / 2, f + sum (r_ij - u_i'v_j)^2 / 2).}
#'
#' @section Moves:
#' Users and items can be scaled against each other, \eqn{u_i \to A u_i}{u_i ->
#' A u_i} and \eqn{v_j \to A^{-\top} v_j}{v_j -> A^-T v_j}, without a change of
#' the likelihood; only the prior changes. A chain that draws one side given the
#' other moves slowly in this direction. A sweep therefore also draws such
#' moves, after the items and before the hyperparameters (generalised Gibbs, Liu
#' and Sabatti 2000): with `bmf_prior("wishart")` \eqn{A} stretches random
#' directions, as many as factors but at most 16, by factors from a slice step
#' (Neal 2003), and \eqn{\mu}{mu}, \eqn{\Lambda}{Lambda} and \eqn{B} are
#' transformed with it; with `"gamma"` \eqn{A = c I}, with \eqn{\lambda_u /
#' c^2}{lambda_u / c^2} and \eqn{\lambda_v c^2}{lambda_v c^2}. With `biases` a
#' constant is also moved from the intercepts of one side to those of the other.
#' With `"fixed"` the scales are nearly fixed by the prior, and only that
#' constant is moved. These moves leave the posterior invariant.
#'
#' @section Cutpoints and latent values:
#' With `link` a sweep begins with the cutpoints, given users and items and with
#' the latent values integrated out, as Cowles (1996) does. They are drawn all
#' at once by an independence step in \eqn{\theta_1}{theta_1} and the
#' \eqn{\log(\theta_k - \theta_{k-1})}{log(theta_k - theta_{k-1})}: the
#' proposal is a t distribution of 5 degrees of freedom about the mode of an
#' approximate density, in which ratings of one level with nearly the same
#' predictor are grouped, and it is accepted with the exact ratio. It depends on
#' users, items and ratings alone and is not adapted. Then each latent value is
#' drawn from its normal distribution between the cutpoints of its rating, and
#' all other blocks take it for the rating, with \eqn{\beta = 1}{beta = 1}. With
#' `biases` a constant is also moved between the cutpoints and the intercepts of
#' the users. With `"wishart"` or `"gamma"` latent values, cutpoints and
#' users are also multiplied by one factor (Liu and Sabatti 2000).
#'
#' @section Starting values:
#' By default each chain starts at factors drawn on its own stream of random
#' numbers, from normal distributions wider than the posterior. An entry of
#' `inits` is a list with any of `u` (`D x N`), `v` (`D x M`), `beta` (with
#' `link` instead `theta`, in increasing order), and, as the prior has them,
#' `lambda_u`, `lambda_v`; missing elements are drawn. With features also
#' `coefficients_u` (\eqn{B_u^\top}{B_u'}, `D x p`), `lambda_b_u` and those of
#' the items, which are otherwise 0 and the mean of their prior.
#'
#' @references
#' Cowles MK (1996). Accelerating Monte Carlo Markov chain convergence for
#' cumulative-link generalized linear models. *Statistics and Computing* 6,
#' 101-111. \doi{10.1007/BF00162520}
#'
#' Paisley J (2015). *EECS E6892: Bayesian Models for Machine Learning*, lecture
#' 3, equations 16 to 29. Columbia University.
#'
#' Liu JS, Sabatti C (2000). Generalised Gibbs sampler and multigrid Monte Carlo
#' for Bayesian computation. *Biometrika* 87, 353-369.
#' \doi{10.1093/biomet/87.2.353}
#'
#' Neal RM (2003). Slice sampling. *Annals of Statistics* 31, 705-767.
#' \doi{10.1214/aos/1056562461}
#' @seealso [gibbs_bmf()]
#' @name bmf_sampler
NULL

# ---- Simulation -------------------------------------------------------------

#' @rdname simulated-data
#' @export
sim_bmf <- function(users, items, rank = 2, share = 0.2, sigma2 = 0.25,
                    c = 1 / sqrt(rank), mean = 0, biases = 0) {
  check_unlocked()
  check_needed(users = "how many", items = "how many")
  most <- .Machine$integer.max
  users <- check_count(users, max = most)
  items <- check_count(items, max = most)
  rank <- check_count(rank, max = 1000)
  share <- check_number(share, lower = 0, upper = 1, lower_open = TRUE)
  sigma2 <- check_number(sigma2, lower = 0)
  c <- check_number(c, lower = 0, lower_open = TRUE)
  mean <- check_number(mean)
  biases <- check_number(biases, lower = 0)
  cells <- as.double(users) * items
  taken <- sort(sample(cells, max(1, round(share * cells))))
  i <- as.integer((taken - 1) %% users) + 1L
  j <- as.integer((taken - 1) %/% users) + 1L
  u <- matrix(stats::rnorm(rank * users, 0, sqrt(c)), rank)
  v <- matrix(stats::rnorm(rank * items, 0, sqrt(c)), rank)
  a <- biases * stats::rnorm(users)
  b <- biases * stats::rnorm(items)
  truth <- mean + colSums(u[, i, drop = FALSE] * v[, j, drop = FALSE]) +
    a[i] + b[j]
  out <- data.frame(
    user = factor(i, seq_len(users)), item = factor(j, seq_len(items)),
    value = truth + sqrt(sigma2) * stats::rnorm(length(truth))
  )
  structure(out, u = u, v = v, a = a, b = b, truth = truth)
}
