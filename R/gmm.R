# Gaussian mixtures: gibbs_gmm() and its simulator.

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
#' `"full"`: each component has its own matrix, as above. `"shared"`: one
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
#' With `na_action = "impute"` missing entries (`NA`) are unknowns of the model.
#' The model assumes that they are missing at random: the probability that an
#' entry is missing may depend on the observed values, but not on the missing
#' value. Each sweep draws the allocation of an incomplete observation given its
#' observed entries and then the missing ones given the allocation, from their
#' conditional normal distribution. `log_lik` is the density of the observed
#' entries. `"fail"` raises an error that names the first missing entry,
#' `"omit"` leaves incomplete rows out and says so. An observation without any
#' entry does not count in `nobs()`, [log_lik()] and `loo()`, whose columns have
#' the numbers of the rows; [predict()], [coclustering()] and
#' [posterior_predict()] have all rows.
#'
#' @section Labels:
#' The posterior does not change when the components are renumbered (unless
#' `alpha` differs between them), and a long chain visits all numberings. The
#' components of each draw are therefore numbered to agree with a mode of the
#' posterior, whose components are in decreasing order of weight. Points are
#' taken at the mean of each component of the mode and one standard deviation
#' from it. A component of a draw gets the number of that component of the mode
#' to whose points it gives the highest probabilities (a variant of
#' Papastamoulis and Iliopoulos 2010). Where little of the posterior is near the
#' highest mode, a draw of a short chain with which its other draws agree best
#' takes the place of the mode. It is found before the chains begin, and does
#' not depend on `seed`. So the numbers mean the same in all
#' draws, chains and runs, and for every function that takes the draws. If
#' `alpha` differs between the components, each component keeps the number of
#' its `alpha`, and the draws are not renumbered. [relabel()] gives other
#' numberings.
#'
#' R-hat and effective sample sizes are judged on quantities that do not depend
#' on the numbering: the log-likelihood, the sorted weights (`weight[1]` is the
#' largest of a draw), the mean and covariance of the mixture (`mean[j]`,
#' `cov[i,j]`), and `together`, which tells how a draw clusters the space of the
#' data. It is \eqn{\sum_c (\sum_i w_i r_{ic})^2}{sum_c (sum_i w_i r_ic)^2} for
#' the mean of the data and the points one standard deviation from it in each of
#' the first eight variables, where \eqn{r_{ic}}{r_ic} is the probability of
#' component \eqn{c} at point \eqn{i} by its variances alone, and the weights
#' \eqn{w_i} between 1 and 2 are fixed. `summary(fit, variables = )` and
#' `plot(fit, type = "trace", variables = )` take these names. With more
#' components than the data support, the posterior often has several modes
#' between which a chain moves rarely. The R-hats of the sorted weights then
#' show this, and so does a trace plot of `n_occupied`. `print()` and
#' `summary()` then name the components that are not the same in all draws. A
#' component counts as another one in a draw if it has less than a quarter of
#' its usual share of the points of its component of the mode.
#'
#' @section Sampler:
#' A sweep also moves whole groups of observations between components, and
#' combines and splits components, unless `merge_split = FALSE`. Draws of single
#' allocations rarely lead from one mode of the posterior to another. The moves
#' leave the posterior exactly invariant. [gmm_sampler] gives them, with their
#' acceptance probabilities. `print()` and `summary()` show how many succeeded.
#' If one mode has all of the probability, few moves succeed, and nothing is
#' wrong.
#'
#' @section Stored quantities:
#' Columns `pi[c]`, `mu[c,j]`, the covariances (`Sigma[c,i,j]` when full,
#' variances `sigma2[c,j]` when diagonal, `Sigma[i,j]` when shared; `c`
#' component, `i`, `j` variables), `log_lik` (the sum over observations of
#' \eqn{\log \sum_c \pi_c \mathrm{N}(x_i \mid \mu_c, \Sigma_c)}) and
#' `n_occupied` (components with at least one observation); with `keep = "z"`
#' also the allocations `z[i]`, with `keep = "x"` the missing entries `x[i,j]`,
#' with `keep = "labels"` the sampler's own numbers of the components
#' `label[c]`. Some columns are functions of others, because the weights sum to
#' 1 and covariance matrices are stored whole: [coda::gelman.diag()] needs
#' `multivariate = FALSE` (see [coda-methods]).
#' The probability of each observation's allocations is averaged as the chains
#' run: see [allocation_probabilities()].
#'
#' @section Unknown k:
#' With `k = "unknown"`, or `k` made by [unknown_k()], the number of components
#' is an unknown of the model, with a prior on \eqn{1, \dots,
#' \mathrm{max}}{1, ..., max}. It is drawn by the telescoping
#' sampler, see [gmm_sampler].
#'
#' The columns are `k`, `n_occupied` (the number of clusters), `alpha` and `S0`
#' if they are drawn, and `log_lik`. With `keep = "components"` also `pi`, `mu`
#' and the covariances with places for `max` components, in which those beyond
#' the `k` of a draw are 0. By default components and allocations are kept, and
#' the draws of a chain then have \eqn{n} and about \eqn{\mathrm{max} \cdot
#' d^2}{max d^2} numbers: leave one out, by `keep = "z"` or `keep =
#' "components"`, for large data. The components are numbered as in the sampler,
#' and their numbers mean nothing. [posterior_k()] gives the posteriors of the
#' numbers of components and clusters, [point_clustering()] a clustering of the
#' observations, [predict()][gmm-unknown] how certain an observation's cluster
#' is, the clusters of new observations, and densities.
#'
#' The number of clusters changes by moves that succeed rarely. Where clusters
#' overlap, chains need some tens of thousands of sweeps: give a larger `thin`.
#' The posterior of `k` depends on the priors of `k`, `alpha` and the
#' covariances, also with many observations, and more so than that of the number
#' of clusters. An entry of `inits` is a list with any of `k`, `alpha` and `z`.
#'
#' Rounded data need care if \eqn{S_0}{S0} is drawn, which is the default, and
#' the covariances are not shared. Let \eqn{m} observations have the same value
#' of a variable. A component of these alone may have a variance near 0. The
#' posterior has no finite integral if \eqn{m \ge \nu_0 + g + 1}{m >= nu0 + g +
#' 1}, where \eqn{g}{g} is `s0_df`. Chains find such a component only if a large
#' part of the observations near the value have exactly this value. The chain
#' then fails (`gibbsite_error_ties`), and the error names the variable and what
#' to do: give `gmm_prior(s0 = )` a scale, or add uniform noise of the size of
#' the rounding to the values that are rounded. The number of clusters can
#' depend much on that scale: compare several. With noise that is much smaller
#' than the rounding, equal values are a cluster of their own.
#'
#' @section Choosing k:
#' `k = "unknown"` gives the posterior of the number of components in one run
#' (section Unknown k). Or fit several numbers of components and compare them:
#' `fits <- lapply(1:6, function(k) update(fit, k = k))`, then
#' [compare_k()]`(fits)`. The log
#' evidence of a mixture depends on the prior of means and covariances: a wide
#' prior favours few components. Or fit once with more components than needed
#' and `alpha = "sparse"` ([gmm_prior()]): components that are not needed stay
#' empty.
#'
#' @section Search for the mode:
#' `method = "icm"` (iterated conditional modes) sets each block to the mode of
#' its conditional instead of drawing it, from `chains` starting points, until
#' the log joint density no longer rises. Its result is a point, not a
#' posterior: an object of class `gibbsite_map`. If \eqn{\alpha_c + n_c} is at
#' most 1, the conditional mode of the weight \eqn{\pi_c} is 0. The weight then
#' stays at 0, and its prior is left out of the log joint density.
#'
#' @section Starting values:
#' By default each chain starts from `k` observations as means, equal weights
#' and the prior's scale of covariance. The observations are chosen at random
#' and far from each other: the first with equal probabilities, each further one
#' with probability proportional to its squared distance from the nearest chosen
#' one, in units of the prior's scale (Arthur and Vassilvitskii 2007). Of five
#' such starts the chain takes the one from which ten sweeps of conditional
#' modes reach the highest log joint density (with more than 2,000 observations,
#' computed from 2,000 of them). An entry of `inits` is a list with any of `pi`
#' (`k` positive numbers that sum to 1), `mu` (`k x d`), `Sigma` (`k x d x d`;
#' shared `d x d`), `sigma2` (`k x d`, diagonal) and `z` (`n` whole numbers from
#' 1 to `k`); missing elements are drawn.
#'
#' @param x The observations: a numeric matrix, also a dense or sparse one of
#'   the Matrix package, or a data frame, with `n` rows and `d` columns; a
#'   numeric vector (`d = 1`); or a formula.
#' @param formula A formula without response, `~ a + b`: the variables of the
#'   mixture. `~ . - c` takes all columns of `data` but `c`; a term such as
#'   `log(a)` is a variable too. Interactions are an error. One that uses other
#'   rows, such as `rank(a)`, raises a warning, see [gibbs_lm()].
#' @param data A data frame in which the formula's variables are looked up
#'   first.
#' @param subset Rows of `data` to use, as in [stats::lm()].
#' @param k The number of components: a whole number from 1 to `n`, or
#'   `"unknown"`, or a prior of it made by [unknown_k()].
#' @param prior The prior, made by [gmm_prior()].
#' @param covariance `"full"` (default), `"diagonal"` or `"shared"`.
#' @param method `"gibbs"` (default), or `"icm"` to search for a mode.
#' @param na_action What to do about missing values: `"fail"` (default),
#'   `"omit"` or `"impute"`.
#' @param merge_split `TRUE` (default) or `FALSE`: whether the sampler also
#'   moves whole groups of observations between components, and combines and
#'   splits components.
#' @param keep `NULL`, or any of `"z"`, `"x"` and `"labels"`: store every draw
#'   of the allocations, of the missing entries, of the sampler's own numbers of
#'   the components. With an unknown `k` any of `"components"`, `"z"` and `"x"`;
#'   `NULL` means the first two.
#' @param draws,burnin,thin,chains,inits,threads,cores,seed As in [running].
#' @param checkpoint,stop_when,progress,keep_data As in [running].
#' @param ... Not used: any further argument is an error.
#' @return An object of class `gibbs_gmm`, a `gibbsite_fit` and a
#'   [coda::mcmc.list]: one matrix of draws for each chain. See
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
#' Papastamoulis P, Iliopoulos G (2010). An artificial allocations based
#' solution to the label switching problem in Bayesian analysis of mixtures of
#' distributions. *Journal of Computational and Graphical Statistics* 19,
#' 313-331. \doi{10.1198/jcgs.2010.09008}
#'
#' Rai P. *CS772A: Probabilistic Machine Learning*, lecture slides, "Gibbs
#' sampling: an example" (the conditionals as used here). Indian Institute of
#' Technology Kanpur.
#'
#' Arthur D, Vassilvitskii S (2007). k-means++: the advantages of careful
#' seeding. *Proceedings of the 18th ACM-SIAM Symposium on Discrete Algorithms*,
#' 1027-1035.
#' @seealso [gmm_sampler], [gmm_prior()], [unknown_k()], [predict.gibbs_gmm()],
#'   [plot.gibbs_gmm()], [relabel()], [point_clustering()], [compare_k()] for
#'   the number of components; `vignette("mixtures", "gibbsite")`.
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 500, burnin = 200, chains = 2,
#'   seed = 1
#' )
#' fit
#' head(predict(fit, type = "prob"))
#' plot(fit)
#'
#' # the variables by a formula
#' flowers <- gibbs_gmm(~ . - Species, iris, 3, draws = 200, burnin = 200,
#'   chains = 2, seed = 1
#' )
#' table(predict(flowers, iris), iris$Species)
#'
#' # an unknown number of components
#' free <- gibbs_gmm(faithful$waiting, "unknown", draws = 200, burnin = 200,
#'   chains = 2, seed = 1
#' )
#' head(posterior_k(free))
#'
#' # missing entries are drawn with the rest
#' holes <- faithful
#' holes$waiting[1:5] <- NA
#' gibbs_gmm(holes, 2, na_action = "impute", keep = "x", draws = 200,
#'   burnin = 200, chains = 2, seed = 1
#' ) |> summary("x")
#' @export
gibbs_gmm <- function(x, ...) {
  what <- "the observations, or a formula"
  UseMethod("gibbs_gmm", formula_or_first(x, ..., what = what))
}

#' @rdname gibbs_gmm
#' @export
gibbs_gmm.formula <- function(formula, data, k, prior = gmm_prior(),
                              covariance = c("full", "diagonal", "shared"),
                              method = c("gibbs", "icm"), subset = NULL,
                              na_action = c("fail", "omit", "impute"),
                              merge_split = TRUE, draws = NULL, burnin = 1000,
                              thin = 1, chains = 4, inits = NULL, keep = NULL,
                              threads = 1, cores = getOption("mc.cores", 1L),
                              seed = NULL, checkpoint = NULL, stop_when = NULL,
                              progress = TRUE, keep_data = TRUE, ...) {
  call <- rlang::current_env()
  check_no_more(..., call = call)
  check_needed(k = "the number of components, or \"unknown\"")
  settings <- gmm_settings(covariance, method, na_action, merge_split, call)
  user_call <- call_of_model(match.call(), "gibbs_gmm", formula)
  rows <- if (!missing(data)) data
  made <- formula_observations(formula, rows, user_call, parent.frame(), call)
  arg <- if (is.null(rows)) "formula" else "data"
  x <- check_data_matrix(made$x, settings$na_action, arg = arg, call = call)
  model <- checked_gmm(x, k, prior, settings, arg, call)
  run_gmm(model, settings, made$source, user_call, call)
}

#' @rdname gibbs_gmm
#' @export
gibbs_gmm.default <- function(x, k, prior = gmm_prior(),
                              covariance = c("full", "diagonal", "shared"),
                              method = c("gibbs", "icm"),
                              na_action = c("fail", "omit", "impute"),
                              merge_split = TRUE, draws = NULL, burnin = 1000,
                              thin = 1, chains = 4, inits = NULL, keep = NULL,
                              threads = 1, cores = getOption("mc.cores", 1L),
                              seed = NULL, checkpoint = NULL, stop_when = NULL,
                              progress = TRUE, keep_data = TRUE, ...) {
  call <- rlang::current_env()
  check_no_more(..., call = call)
  check_needed(
    x = "the observations", k = "the number of components, or \"unknown\""
  )
  settings <- gmm_settings(covariance, method, na_action, merge_split, call)
  user_call <- call_of_model(match.call(), "gibbs_gmm")
  source <- list(names = if (length(dim(x)) > 1L) colnames(x))
  x <- check_data_matrix(x, settings$na_action, arg = "x", call = call)
  model <- checked_gmm(x, k, prior, settings, "x", call, source$names)
  run_gmm(model, settings, source, user_call, call)
}

gmm_settings <- function(covariance, method, na_action, merge_split, call) {
  list(
    covariance = check_choice(
      covariance, c("full", "diagonal", "shared"), call = call
    ),
    method = check_choice(method, c("gibbs", "icm"), call = call),
    na_action = check_choice(
      na_action, c("fail", "omit", "impute"), call = call
    ),
    merge_split = check_flag(merge_split, call = call)
  )
}

# list(x, k, prior), checked.  arg: the argument that holds the observations;
# names: those that the user gave the columns.
checked_gmm <- function(x, k, prior, settings, arg, call,
                        names = colnames(x)) {
  number <- as_unknown_k(k, call)
  if (!is.null(number)) {
    return(checked_unknown(x, number, prior, settings, arg, call, names))
  }
  if (is.numeric(k) && length(k) > 1L) {
    abort_expected(
      k, "one whole number", FALSE, "k", call,
      hint = "`k = \"unknown\"` draws the number too; `compare_k()` compares
              fits with several."
    )
  }
  k <- check_count(
    k, min = 1, max = nrow(x), max_why = paste0("rows of `", arg, "`"),
    arg = "k", call = call
  )
  check_columns(x, arg, call)
  list(
    x = x, k = k,
    prior = complete_gmm_prior(prior, x, k, settings$covariance, call, names)
  )
}

checked_unknown <- function(x, number, prior, settings, arg, call, names) {
  if (settings$method == "icm") {
    abort_argument(
      "{.code method = \"icm\"} needs a fixed number of components {.arg k}.",
      call = call, class = "unknown_k"
    )
  }
  check_columns(x, arg, call)
  list(
    x = x, k = number,
    prior = complete_unknown_prior(
      prior, x, number, settings$covariance, call, names
    )
  )
}

check_columns <- function(x, arg, call) {
  check_square_size(
    ncol(x), 4, paste0("A covariance matrix of the columns of {.arg ", arg,
                       "} has"),
    "Use fewer columns, such as principal components", call
  )
}

run_gmm <- function(checked, settings, source, user_call, call) {
  unknown <- inherits(checked$k, "unknown_k")
  running <- running_of(
    call, keep_choices = if (unknown) {
      c("components", "z", "x")
    } else {
      c("z", "x", "labels")
    }, keep_default = if (unknown) c("components", "z") else character()
  )
  if ("x" %in% running$keep && !anyNA(checked$x)) {
    inform_gibbsite(
      "{.code keep = \"x\"} has nothing to store: no observation has a missing
       entry.",
      class = "unused"
    )
  }
  build <- if (unknown) gmm_unknown_model else gmm_model
  model <- build(
    checked$x, checked$k, checked$prior, settings$covariance, running$keep,
    settings$merge_split, c(source, settings["na_action"])
  )
  if (settings$method == "icm") {
    return(icm_search(model, running, user_call, call))
  }
  run_chains(model, running, user_call, call)
}

# ---- Simulation -------------------------------------------------------------

#' The sampler of gibbs_gmm()
#'
#' The moves that a sweep of [gibbs_gmm()] adds to the conditionals on its page,
#' in the notation of that page, and the sweep with an unknown number of
#' components.
#'
#' @section Moves of groups:
#' With `merge_split = TRUE` a sweep may begin with a
#' move of whole groups, which keeps `k`:
#'
#' * *exchange*: of three components drawn at random, the second joins the
#'   first, and the third splits into two;
#' * *merge or split*: of two components, the second joins the first; if it is
#'   empty, the first splits into both;
#' * *resplit*: the observations of two components split anew.
#'
#' A set of \eqn{N} observations splits from two of them, the anchors \eqn{i}
#' and \eqn{j}. The first has probability \eqn{1/N}. The second has a
#' probability proportional to its squared distance \eqn{D_{ij}^2}{D_ij^2} from
#' the first, in the metric of the set's covariance. A few EM steps from the
#' anchors give every other observation a probability of each side, between
#' 0.0001 and 0.9999. The sides are drawn independently, and \eqn{q} is the
#' product of the probabilities of the sides drawn. To undo a split with
#' \eqn{n_1} and \eqn{n_2} observations, an anchor is drawn from each side. With
#' \eqn{W_c} the scatter of component \eqn{c} about its mean, new covariances
#' are drawn from \eqn{g_c = \mathrm{IW}(\nu_0 + n_c - 1, S_0 + W_c)}{g_c =
#' IW(nu0 + n_c - 1, S0 + W_c)}, or from the prior if \eqn{c} is empty. The move
#' is accepted with probability \eqn{\min(1, r)},
#' \deqn{r = \frac{\prod_c \Gamma(\alpha_c + n'_c)\, p(\Sigma'_c)\,
#'   p(x'_c \mid \Sigma'_c) / g'_c(\Sigma'_c)}{\prod_c \Gamma(\alpha_c + n_c)\,
#'   p(\Sigma_c)\, p(x_c \mid \Sigma_c) / g_c(\Sigma_c)} \cdot
#'   \frac{h(\mbox{split undone})}{h(\mbox{split made})}, \quad
#'   h = q\, \frac{n_1 n_2}{N} \frac{D_{ij}^2}{\sum_l D_{il}^2},}{
#'   r = [prod_c Gamma(alpha_c + n'_c) p(Sigma'_c) p(x'_c | Sigma'_c) /
#'   g'_c(Sigma'_c)] / [prod_c Gamma(alpha_c + n_c) p(Sigma_c)
#'   p(x_c | Sigma_c) / g_c(Sigma_c)] h(split undone) / h(split made),
#'   h = q (n_1 n_2 / N) D_ij^2 / sum_l D_il^2,}
#' in which \eqn{\pi} and all \eqn{\mu_c}{mu_c} are integrated out, and the
#' factor \eqn{h} of a split that is not there is 1 (after Jain and Neal 2004).
#' Then \eqn{\pi} and \eqn{\mu_c}{mu_c} are drawn given the new \eqn{z} and
#' \eqn{\Sigma}{Sigma}, so that the sweep leaves the posterior exactly invariant
#' (van Dyk and Park 2008). Missing entries keep their values.
#'
#' Each chain tries one move in each of its first 200 sweeps. After that each
#' sweep tries one with probability 1/8 (1/16 with `k = 2`).
#'
#' @section Combinations:
#' If `k` is larger than the data need, two components describe one group, and
#' which of the groups has two differs between the modes. With many observations
#' no move of the last section leads from one such mode to another: it would
#' have to draw hundreds of allocations at once. So with `k` above 2 and
#' covariances of their own there is a move that does not use the allocations.
#' Two components that overlap become one with the same weight, mean and
#' covariance, and a third one splits into two (after Richardson and Green 1997;
#' without allocations as in Cappé, Robert and Rydén 2003).
#'
#' Components \eqn{a} and \eqn{b} combine into
#' \deqn{w = w_a + w_b, \quad p = w_a / w, \quad \mu = p \mu_a + (1 - p) \mu_b,
#'   \quad W = p \Sigma_a + (1 - p) \Sigma_b, \quad
#'   \Sigma = W + \delta \delta', \quad
#'   \delta = \sqrt{p (1 - p)} (\mu_b - \mu_a).}{
#'   w = w_a + w_b, p = w_a / w, mu = p mu_a + (1 - p) mu_b,
#'   W = p Sigma_a + (1 - p) Sigma_b, Sigma = W + delta delta',
#'   delta = sqrt(p (1 - p)) (mu_b - mu_a).}
#' A split is the reverse, from a uniform \eqn{p}, a vector \eqn{v = L^{-1}
#' \delta}{v = L^-1 delta} in the unit ball with density proportional to
#' \eqn{(1 - |v|^2)^3}, and a matrix beta variable \eqn{B = p M^{-1} \Sigma_a
#' M^{-T}}{B = p M^-1 Sigma_a M^-T} with the parameters \eqn{d/2 + 30 p} and
#' \eqn{d/2 + 30 (1 - p)}; \eqn{\Sigma = L L'}{Sigma = L L'}, \eqn{W = M M'}.
#' With \eqn{q} the density of \eqn{(p, v, B)}, \eqn{\theta = (\pi, \mu,
#' \Sigma)}{theta = (pi, mu, Sigma)} and
#' \deqn{J = w |\Sigma|^{1/2} |W|^{(d + 1) / 2} (p (1 - p))^{-d (d + 2) / 2}}{
#'   J = w |Sigma|^(1/2) |W|^((d + 1)/2) (p (1 - p))^(-d (d + 2)/2)}
#' the move is accepted with probability \eqn{\min(1, r)},
#' \deqn{r = \frac{p(x \mid \theta') p(\theta')}{p(x \mid \theta) p(\theta)}
#'   \cdot \frac{(q / J)(\mbox{split undone})}{(q / J)(\mbox{split made})} \cdot
#'   \frac{P'(\mbox{pair})}{P(\mbox{pair})}.}{
#'   r = p(x | theta') p(theta') / [p(x | theta) p(theta)]
#'   (q / J)(split undone) / (q / J)(split made) P'(pair) / P(pair).}
#' A pair has a probability \eqn{P} proportional to
#' \eqn{(|W| / |\Sigma|)^4}{(|W| / |Sigma|)^4}. Then the allocations and the
#' missing entries are drawn given \eqn{\theta'}{theta'}. Diagonal covariances:
#' each variable by itself with \eqn{d = 1}, and the same \eqn{p}. A chain tries
#' one combination in each of its first 200 sweeps, then in a sweep with
#' probability 1/4.
#'
#' @section Unknown k:
#' The sampler is the telescoping sampler
#' (Frühwirth-Schnatter, Malsiner-Walli and Grün 2021). With \eqn{n_c}
#' observations in each of \eqn{k_+}{k+} components that hold observations
#' (clusters), and \eqn{\gamma = \alpha / k}{gamma = alpha / k} or
#' \eqn{\gamma = \alpha}{gamma = alpha}, a sweep
#'
#' 1. makes four moves of groups, and draws \eqn{\mu_c}{mu_c} and
#'    \eqn{\Sigma_c}{Sigma_c} of the components that hold observations;
#' 2. draws \eqn{k} from \deqn{p(k \mid \mbox{partition}, \alpha) \propto p(k)
#'    \frac{k!}{(k - k_+)!} \frac{\Gamma(\gamma k)}{\Gamma(\gamma k + n)}
#'    \prod_{n_c > 0} \frac{\Gamma(\gamma + n_c)}{\Gamma(\gamma)},}{
#'    p(k | partition, alpha) proportional to p(k) k! / (k - k+)!
#'    Gamma(gamma k) / Gamma(gamma k + n) prod_{n_c > 0} Gamma(gamma + n_c) /
#'    Gamma(gamma),}
#'    and \eqn{\alpha}{alpha}, if it is not fixed, by a slice step on its
#'    logarithm;
#' 3. draws \eqn{S_0}{S0}, if it is not fixed, given the covariances of the
#'    components that hold observations, from a Wishart distribution;
#' 4. draws the empty components from their prior, then \eqn{\pi}{pi} and
#'    \eqn{z}.
#'
#' The weights and the empty components are integrated out in steps 1 to 3, and
#' drawn in step 4, so that the sweep leaves the posterior exactly invariant.
#'
#' @references
#' Cappé O, Robert CP, Rydén T (2003). Reversible jump, birth-and-death and more
#' general continuous time Markov chain Monte Carlo samplers. *JRSS B* 65,
#' 679-700. \doi{10.1111/1467-9868.00409}
#'
#' Frühwirth-Schnatter S, Malsiner-Walli G, Grün B (2021). Generalized
#' mixtures of finite mixtures and telescoping sampling. *Bayesian Analysis* 16,
#' 1279-1307. \doi{10.1214/21-BA1294}
#'
#' Jain S, Neal RM (2004). A split-merge Markov chain Monte Carlo procedure for
#' the Dirichlet process mixture model. *Journal of Computational and Graphical
#' Statistics* 13, 158-182. \doi{10.1198/1061860043001}
#'
#' Richardson S, Green PJ (1997). On Bayesian analysis of mixtures with an
#' unknown number of components. *JRSS B* 59, 731-792.
#' \doi{10.1111/1467-9868.00095}
#'
#' van Dyk DA, Park T (2008). Partially collapsed Gibbs samplers: theory and
#' methods. *JASA* 103, 790-796. \doi{10.1198/016214508000000409}
#' @seealso [gibbs_gmm()], [unknown_k()].
#' @name gmm_sampler
NULL

#' @rdname simulated-data
#' @export
sim_gmm <- function(n, pi, mu, Sigma) { # nolint: object_name_linter.
  check_needed(
    n = "how many observations", pi = "the weights", mu = "the means",
    Sigma = "the covariances"
  )
  call <- rlang::current_env()
  check_unlocked(call)
  n <- check_count(n)
  pi <- check_numeric_vector(pi, lower = 0)
  k <- length(pi)
  if (abs(sum(pi) - 1) > 1e-8) {
    abort_argument("{.arg pi} must sum to 1, not {sum(pi)}.")
  }
  mu <- check_means(mu, call)
  d <- ncol(mu)
  check_init_shape(mu, c(k, d), "mu", call)
  sigma <- sim_covariances(Sigma, k, d, call)
  check_result_size(
    c(n, d), "observations x variables", "{.arg n}", call
  )
  z <- sample.int(k, n, replace = TRUE, prob = pi)
  x <- sim_normals(list(mu = mu, Sigma = sigma), z)
  colnames(x) <- colnames(mu) %||% paste0("x", seq_len(d))
  structure(x, z = z)
}

check_means <- function(mu, call) {
  if (is.data.frame(mu)) {
    return(matrix_from_data_frame(mu, "mu", call))
  }
  if (!is.numeric(mu) || is.object(mu) || length(dim(mu)) > 2L ||
        length(mu) > longest_vector) {
    abort_expected(mu, "a numeric matrix or vector", FALSE, "mu", call)
  }
  as.matrix(mu)
}

sim_covariances <- function(sigma, k, d, call) {
  sigma <- dense_matrix(sigma, "Sigma", call)
  if (!is.numeric(sigma) || !length(sigma) %in% c(d^2, k * d^2)) {
    given <- describe(sigma)
    abort_argument(
      "{.arg Sigma} must be {k} x {d} x {d} or {d} x {d} numbers for a
       {.arg mu} of {k} x {d}, not {given}.",
      call = call
    )
  }
  if (length(sigma) == d^2 && (k > 1L || is.null(dim(sigma)) || d > 1L)) {
    sigma <- array(rep(sigma, each = k), c(k, d, d))
  }
  sigma <- array(sigma, c(k, d, d))
  for (c in seq_len(k)) {
    check_spd_matrix(
      matrix(sigma[c, , ], d, d), d, arg = paste0("Sigma[", c, ", , ]"),
      call = call
    )
  }
  sigma
}
