# Regression of counts: gibbs_count().

#' Poisson and negative binomial regression
#'
#' Draws from the posterior of a regression of counts with a log link, with or
#' without groups. With \eqn{n} observations \eqn{y_i}, predictors
#' \eqn{x_i \in R^p}{x_i in R^p} and offsets \eqn{o_i},
#' \deqn{y_i \mid w \sim \mathrm{Poisson}(\mu_i) \quad \mathrm{or} \quad
#'   y_i \mid w, r \sim \mathrm{NB}(\mu_i, r), \quad \log \mu_i = \eta_i =
#'   x_i^\top w + o_i.}{
#'   y_i | w ~ Poisson(mu_i) or y_i | w, r ~ NB(mu_i, r),
#'   log mu_i = eta_i = x_i'w + o_i.}
#' The negative binomial distribution has the mean \eqn{\mu}{mu} and the
#' variance \eqn{\mu + \tau^2 \mu^2}{mu + tau^2 mu^2}, with the size \eqn{r =
#' 1/\tau^2}{r = 1/tau^2} ([stats::dnbinom()], `theta` of [MASS::glm.nb()]). The
#' fit stores the *dispersion* \eqn{\tau}{tau}, which is 0 where the counts are
#' Poisson and \eqn{r} is infinite. [count_prior()] describes the priors
#' of \eqn{w} and \eqn{\tau}{tau}.
#'
#' With exposures \eqn{t_i}, such as person-years or areas, a term
#' `offset(log(t))` of the formula makes \eqn{\exp(x_i^\top w)}{exp(x_i'w)} the
#' rate of one unit of exposure. `tidy(fit, exponentiate = TRUE)` has the ratios
#' of rates.
#'
#' @section Groups:
#' A formula `y ~ x + (1 + x | g) + (1 | h)` has coefficients that vary between
#' groups, in the notation of [gibbs_hlm()]: any number of bars, whose groups
#' are nested or crossed. With bar \eqn{f},
#' \deqn{\eta_i = o_i + x_i^\top b + \sum_f z_{fi}^\top u_{f,j(f,i)}, \quad
#'   u_{fj} \sim \mathrm{N}(0, \Sigma_f).}{
#'   eta_i = o_i + x_i'b + sum_f z_fi'u_f,j(f,i), u_fj ~ N(0, Sigma_f).}
#' A bar `(1 | row)` with a group for each observation gives counts that are
#' more variable than Poisson ones.
#'
#' The columns are those of [gibbs_hlm()] with several factors, also for one
#' bar: `sd[f,k]` and `cor[f,k,l]` of factor \eqn{f}, and the deviations
#' `u[f,k,j]` of group \eqn{j}. Convergence is judged on all other columns and
#' on the deviations of at most 20 groups of each factor.
#'
#' @section Sampler:
#' The draws have no error but the Monte Carlo error. Given the rest, the log
#' density of the coefficients, and that of the deviations of one group, is
#' concave. A Metropolis-Hastings step proposes from a normal distribution (in
#' one of ten steps a t distribution with 5 degrees of freedom) at its mode,
#' with the curvature there, which Newton's method finds from a point that does
#' not depend on the present value. [acceptance()] gives the shares of proposals
#' that were accepted. A bar has two more steps: one of the coefficients with
#' the groups' own intercepts and slopes \eqn{u_j + A_j b} fixed, in which the
#' groups' means move with the coefficients (Yu and Meng 2011), and one that
#' multiplies the deviations and their standard deviation. The deviations of a
#' group whose counts are all 0 have slice steps too. Of two bars that are
#' nested, or nearly so (pupils of whom few change their school), the deviation
#' of each outer group and those of the groups within it move against each
#' other, by a normal draw or by a slice step. \eqn{\Sigma}{Sigma}
#' has its conditional, \eqn{\tau}{tau} a slice step given everything else. The
#' time of a sweep is proportional to the number of observations and does not
#' depend on the size of the counts.
#'
#' @section Weights:
#' A weight \eqn{v} multiplies the log-likelihood of an observation, so that a
#' whole number counts it \eqn{v} times.
#'
#' @section Without a prior:
#' With `count_prior(slope_variance = Inf)`, for `family = "poisson"` without
#' groups, the posterior is proper only if the maximum likelihood estimate
#' exists. Collinear columns, and counts that do not bound a coefficient (all
#' counts are 0, or all of one level), are errors then. Under a proper prior
#' neither is.
#'
#' @section Stored quantities:
#' One column for each coefficient, with the name of its column of the model
#' matrix; of groups the columns named above; `dispersion` with
#' `family = "negbinomial"`; and `log_lik`, the log-likelihood.
#'
#' @section Starting values:
#' An entry of `inits` is a list with `coefficients` (without groups),
#' `dispersion`, and with groups `Sigma`, a list of matrices by the names of the
#' factors.
#'
#' @param formula A formula `y ~ x`, with offsets and bars if there are any. The
#'   response has whole numbers from 0 to \eqn{2^{53}}{2^53}.
#' @param data A data frame, list or environment with the variables.
#' @param family `"poisson"` (default; also `poisson` of stats) or
#'   `"negbinomial"`. All methods of the fit use it.
#' @param prior A [count_prior()].
#' @param weights `NULL` or `n` numbers, 0 or more, not all 0.
#' @param offset `NULL` or `n` numbers, added to the linear predictor.
#' @param subset,contrasts As in [gibbs_lm()].
#' @param na_action As in [gibbs_lm()], but for `"impute"`.
#' @param draws,burnin,thin,chains,inits,cores,seed As in [running].
#' @param checkpoint,stop_when,progress,keep_data As in [running].
#' @param ... Not used: an argument that is not known is an error.
#' @return An object of class `gibbs_count`, a `gibbsite_fit` and a
#'   [coda::mcmc.list]: one matrix of draws for each chain. See
#'   [summary.gibbsite_fit()], [predict.gibbsite_regression()],
#'   [plot.gibbsite_regression()], [coef.gibbsite_fit()],
#'   [log_lik.gibbsite_regression()]. `print()` says so if the counts vary
#'   clearly more about their means than a Poisson distribution allows: by the
#'   mean squared Pearson residual, without groups and weights.
#' @section Errors:
#' Errors in the arguments have class `gibbsite_error_argument` and are raised
#' before any chain runs; among them `gibbsite_error_missing` and
#' `gibbsite_error_infinite` for the data, `gibbsite_error_formula` for the
#' formula, `gibbsite_error_collinear` and `gibbsite_error_separated` for a flat
#' prior. [log_evidence()] of a fit with groups is an error. A chain that fails
#' raises `gibbsite_error_chain`, which carries the other chains in `$fit`.
#' @references
#' Gamerman D (1997). Sampling from the posterior distribution in generalized
#' linear mixed models. *Statistics and Computing* 7, 57-68.
#' \doi{10.1023/A:1018509429360}
#'
#' Sun T, Tran-Dinh Q (2019). Generalized self-concordant functions: a recipe
#' for Newton-type methods. *Mathematical Programming* 178, 145-213.
#' \doi{10.1007/s10107-018-1282-4}
#'
#' Yu Y, Meng X-L (2011). To center or not to center: that is not the question -
#' an ancillarity-sufficiency interweaving strategy (ASIS) for boosting MCMC
#' efficiency. *Journal of Computational and Graphical Statistics* 20, 531-570.
#' \doi{10.1198/jcgs.2011.203main}
#'
#' Neal RM (2003). Slice sampling. *Annals of Statistics* 31, 705-767.
#' \doi{10.1214/aos/1056562461}
#' @seealso [count_prior()], [gibbs_hlm()], [gibbs_logistic()].
#' @examples
#' fit <- gibbs_count(count ~ spray, InsectSprays, seed = 1)
#' fit
#' tidy(fit, exponentiate = TRUE)
#'
#' # rates: claims of insurance holders
#' gibbs_count(Claims ~ District + offset(log(Holders)), MASS::Insurance,
#'   seed = 1
#' )
#'
#' # counts that vary more than Poisson ones
#' quine <- gibbs_count(Days ~ Eth + Sex + Age, MASS::quine,
#'   family = "negbinomial", seed = 1
#' )
#' coef(quine)
#'
#' # patients, each seen four times
#' gibbs_count(y ~ trt + lbase + (1 | subject),
#'   transform(MASS::epil, lbase = log(base / 4)), seed = 1
#' )
#' @export
gibbs_count <- function(formula, data, family = c("poisson", "negbinomial"),
                        prior = count_prior(), weights = NULL, offset = NULL,
                        subset = NULL, na_action = "fail", contrasts = NULL,
                        draws = NULL, burnin = 1000, thin = 1, chains = 4,
                        inits = NULL, cores = getOption("mc.cores", 1L),
                        seed = NULL, checkpoint = NULL, stop_when = NULL,
                        progress = TRUE, keep_data = TRUE, ...) {
  call <- rlang::current_env()
  check_needed(formula = "a formula")
  check_no_more(..., call = call)
  family <- check_count_family(family, call)
  running <- running_of(call, keep_choices = character())
  user_call <- call_of_model(match.call(), "gibbs_count", formula)
  action <- check_na_action(na_action, call)
  frame <- frame_with_bars(
    formula, if (!missing(data)) data, user_call, "gibbs_count",
    as_events, action, contrasts, parent.frame(), call
  )
  run_chains(
    count_model(frame, family, prior, call), running, user_call, call
  )
}

# ---- The model ---------------------------------------------------------------

# The model behind gibbs_count(): its fields, states and starting values, of
# fixed effects and with groups. src/core/hlm/hlm_count.h has the mathematics.

# ---- The model ---------------------------------------------------------------

count_model <- function(frame, family, prior, call) {
  used <- rows_used(frame)
  check_any_used(used, call)
  columns <- colnames(frame$x) %||% character()
  grouped <- !is.null(frame$bars)
  if (length(columns) == 0L && !grouped) {
    abort_argument("The model has no coefficients.", call = call)
  }
  layout <- bars_layout(frame, length(columns), call)
  check_none_taken(intersect(c("dispersion", "log_lik"), columns), call)
  found <- fixed_design(frame, columns, as.double(used), call)
  prior <- complete_count_prior(prior, family, found, layout, call)
  check_count_bounds(frame, prior, columns, call)
  model <- count_model_of(frame, family, prior, layout)
  if (grouped) say_aliased(model)
  model
}

# Without a prior a coefficient needs counts above 0 that bound it: there is no
# direction beta with x'beta = 0 for every count above 0 and x'beta <= 0 for all
# others, in which the likelihood would increase without end. This is the
# condition of a logistic regression where a count above 0 is a success and a
# failure.
check_count_bounds <- function(frame, prior, columns, call) {
  variance <- prior$slope_variance
  flat <- if (!is.matrix(variance)) which(!is.finite(variance))
  used <- rows_used(frame)
  if (length(flat) == 0L) {
    if (all(frame$y[used] == 0)) {
      inform_gibbsite(
        c(i = "Every count of `{frame$response$name}` is 0: the prior alone
               keeps the intercept finite."),
        class = "constant_response"
      )
    }
    return(invisible())
  }
  above <- as.double(frame$y > 0)
  signed <- list(
    x = frame$x[used, , drop = FALSE], success = above[used],
    total = 1 + above[used]
  )
  check_collinear(signed, flat, columns, call, "count_prior()")
  needed <- separating_columns(signed_rows(signed, flat), length(flat))
  if (length(needed) > 0L) {
    names <- columns[flat][needed]
    abort_argument(
      c(
        "{cli::qty(names)}The counts do not bound the coefficient{?s} of
         {.val {names}}: without a prior {?it is/they are} infinite.",
        x = "The means of some rows, all with count 0, can go to 0 while those
             of the others stay.",
        i = "Give {cli::qty(names)}{?it/them} a proper prior, such as
             {.code count_prior()}."
      ),
      call = call, class = "separated", columns = names
    )
  }
}

count_model_of <- function(frame, family, prior, layout) {
  name <- c(poisson = "Poisson", negbinomial = "Negative binomial")[[family]]
  bars_model(
    frame, layout, "count_model", "events_model", "gibbs_count",
    paste(name, "regression"), if (family == "negbinomial") "dispersion",
    count_data(frame, family, prior, layout), prior,
    design = list(family = family)
  )
}

# What C reads, as core/hlm/hlm_count.h describes.
count_data <- function(frame, family, prior, layout) {
  rows <- which(rows_used(frame))
  x <- unname(in_basis(frame$x[rows, , drop = FALSE], prior$basis))
  y <- as.double(frame$y[rows])
  weights <- frame$weights[rows]
  offset <- frame$offset[rows]
  p <- ncol(x)
  own <- as_logistic_prior(prior)
  own$basis <- NULL
  quadratic <- prior_precision(own)
  precision <- quadratic$precision
  none <- bar_fixed_effects(numeric(p), numeric(p))
  bars <- if (is.null(layout)) list() else {
    lapply(latent_bars(frame, layout, rows, prior, none), function(bar) {
      # in the order of the groups
      bar$bar <- as.double(matrix(bar$bar, bar$q)[, bar$row + 1L])
      bar
    })
  }
  nesting <- nestings(frame, layout)
  data <- list(
    count = as.double(length(bars)), p = as.double(p),
    n = as.double(length(y)), negbinomial = as.double(family == "negbinomial"),
    x = as.double(t(x)), y = y, weights = weights, offset = offset,
    mean = quadratic$mean %||% numeric(p),
    precision = as.double(
      if (is.matrix(precision)) precision else diag(precision, p)
    ),
    start = count_start(x, y, weights %||% 1, offset %||% 0),
    df = prior$dispersion_df %||% 1, scale = prior$dispersion_scale %||% 1,
    constant = if (family == "poisson") {
      sum((weights %||% 1) * stats::dpois(y, y, log = TRUE))
    } else {
      0
    },
    bars = bars, nesting = nesting
  )
  data$near <- near_bars(
    frame, layout, rows, x, diag(matrix(data$precision, p)),
    rep(mean(y), length(y)), nesting
  )
  data$basis <- prior$basis
  data
}

# Where Newton's method begins: at the mean of the counts, where a column of
# ones allows it.
count_start <- function(x, y, weights, offset) {
  start <- numeric(ncol(x))
  ones <- which(colSums(x != 1) == 0)
  if (length(ones) > 0L) {
    most <- max(offset)
    rate <- sum(weights * y + 0.5 / length(y)) /
      sum(weights * exp(offset - most) + 0 * y)
    start[[ones[[1L]]]] <- log(rate) - most
  }
  start
}

#' @exportS3Method
model_response.events_model <- function(model) {
  events_response(model$design$family)
}

#' @exportS3Method
model_labels.events_model <- function(model) {
  out <- if (has_groups(model)) NextMethod() else fixed_effects_labels(model)
  out$label[out$variable == "dispersion"] <- "dispersion: 1 / sqrt(size)"
  out
}

# ---- Starting values and sweeps ----------------------------------------------

# covariances: of each bar, NULL without groups.
count_state <- function(model, covariances, dispersion, b) {
  base <- state_of_bars(model, covariances)
  list(
    sweep = 0, factor = base$factor, beta = 1, b = as.double(b), u = base$u,
    dispersion = as.double(dispersion), counts = numeric(8L)
  )
}

#' @exportS3Method
model_notes.count_model <- function(model, fit, table) {
  if (model$design$family == "poisson") {
    dispersion_note(fit, "`family = \"negbinomial\"` has their dispersion.")
  }
}

# The standard deviations of the groups and the dispersion are those of the
# prior, each over or under by a factor of up to 10. The first sweep draws b.
#' @exportS3Method
model_start.events_model <- function(model, init) {
  spread <- exp(stats::runif(1L, -1, 1) * log(10))
  dispersion <- init$dispersion %||% (model$data$scale * spread)
  count_state(
    model, start_bar_covariances(model, init), dispersion,
    init$coefficients %||% model$data$start
  )
}

#' @exportS3Method
model_sweeps.events_model <- function(model, state, n, control) {
  with_bases(model, .Call(C_hlm_count_sweeps, model$data, state, n, control))
}

#' @exportS3Method
model_check_init.events_model <- function(model, init, where, call) {
  grouped <- has_groups(model)
  check_init_names(init, c(
    if (grouped) "Sigma" else "coefficients",
    if (model$data$negbinomial == 1) "dispersion"
  ), where, call)
  if (!is.null(init$dispersion)) {
    check_init_scales(init, "dispersion", where, call, c(1e-60, 1e60))
  }
  if (grouped) {
    return(check_bar_covariances(model, init, where, call))
  }
  check_init_vector(
    init, "coefficients", length(model$coefficients), where, call
  )
  in_columns_of_c(model, init)
}

#' @exportS3Method
model_init_from_state.events_model <- function(model, state) {
  c(
    if (has_groups(model)) {
      list(Sigma = state_covariances(model, state))
    } else {
      list(coefficients = with_fixed_of_data(model, state)$b)
    },
    list(dispersion = dispersion_of(model, state))
  )
}

#' @exportS3Method
model_acceptance.events_model <- function(model, state) {
  bars_acceptance(model, state)
}

# Of the fixed effects, and of those of groups.
bars_acceptance <- function(model, state) {
  blocks <- c("coefficients", if (has_groups(model)) "groups")
  at <- list(1:4, 5:8)[seq_along(blocks)]
  memory_table(blocks, lapply(at, function(own) {
    list(counts = state$counts[own], tuning = 0)
  }))
}

# ---- The joint distribution --------------------------------------------------

#' @exportS3Method
draw_prior.events_model <- function(model) {
  data <- model$data
  root <- chol(matrix(data$precision, data$p))
  b <- data$mean + backsolve(root, stats::rnorm(data$p))
  dispersion <- abs(stats::rt(1L, data$df)) * data$scale
  covariances <- draw_bar_covariances(model, data$bars)
  state <- count_state(model, covariances, dispersion, b)
  state$u <- draw_bar_deviations(data$bars, covariances) %||% numeric()
  state
}

# NULL for Poisson counts.
dispersion_of <- function(model, state) {
  if (model$data$negbinomial == 1) state$dispersion
}

#' @exportS3Method
simulate_data.events_model <- function(model, state) {
  eta <- matrix(state_predictor(model, state), 1L)
  drop(response_draw(
    model_response(model), eta, NULL, dispersion_of(model, state)
  ))
}

# `data`: the counts, one for each row of the fit's data.
#' @exportS3Method
set_data.events_model <- function(model, data, call = rlang::caller_env()) {
  with_responses(model, data, "count regression", function(frame, ...) {
    count_model_of(frame, model$design$family, model$prior, model$layout)
  }, call, function(y) as_events(y, "data", call, Inf))
}

#' @exportS3Method
model_quantities.events_model <- function(model, state) {
  dispersion <- dispersion_of(model, state)
  state <- with_fixed_of_data(model, state)
  c(
    model_effects(model, state), dispersion = dispersion,
    log_lik = log_lik_of_state(
      model, eta_of_state(model, state), dispersion
    )
  )
}

# ---- The density -------------------------------------------------------------

#' @exportS3Method
model_density.count_model <- function(model) {
  p <- length(model$coefficients)
  negbinomial <- model$data$negbinomial == 1
  lower <- c(rep(-Inf, p), if (negbinomial) 0)
  frame <- model$frame
  log_lik <- function(x, rows) {
    rowSums(response_log_lik(
      model_response(model),
      linear_predictors(
        frame$x[rows, , drop = FALSE], x[, seq_len(p), drop = FALSE],
        frame$offset[rows]
      ),
      frame_rows(frame, rows), if (negbinomial) x[, p + 1L]
    ))
  }
  list(
    columns = c(model$coefficients, if (negbinomial) "dispersion"),
    spec = list(
      lower = lower, upper = rep(Inf, length(lower)),
      map = if (negbinomial) as.integer(is.finite(lower))
    ),
    log_joint = function(x) {
      log_lik(x, which(rows_used(frame))) + count_log_prior(model, x)
    },
    log_lik = function(x, i) log_lik(x, which(rows_used(frame))[[i]]),
    proper = all(is.finite(model$prior$slope_variance))
  )
}

count_log_prior <- function(model, x) {
  data <- model$data
  p <- length(model$coefficients)
  quadratic <- prior_precision(as_logistic_prior(model$prior))
  away <- to_basis(x[, seq_len(p), drop = FALSE], data$basis) -
    rep(data$mean, each = nrow(x))
  out <- quadratic$constant -
    rowSums((away %*% matrix(data$precision, p)) * away) / 2
  if (data$negbinomial == 1) {
    out <- out + log(2 / data$scale) +
      stats::dt(x[, p + 1L] / data$scale, data$df, log = TRUE)
  }
  out
}

# ---- Cross-validation --------------------------------------------------------

#' @exportS3Method
model_fold.events_model <- function(model, held, by) {
  fold_of_rows(model, held, by, function(rest) {
    count_model_of(rest, model$design$family, model$prior, model$layout)
  })
}

# ---- The prior ---------------------------------------------------------------

#' Prior of a count regression
#'
#' The prior of [gibbs_count()]: the coefficients are normal and the standard
#' deviations of groups half-t, as in [logistic_prior()]; so is the dispersion
#' of the negative binomial distribution,
#' \deqn{w \sim \mathrm{N}(m, C), \quad \sqrt{\Sigma_{kk}} \sim
#'   \mathrm{half}\textrm{-}t_{\nu}(A_k), \quad \tau = 1/\sqrt{r} \sim
#'   \mathrm{half}\textrm{-}t_{\nu_\tau}(A_\tau).}{
#'   w ~ N(m, C), sqrt(Sigma_kk) ~ half-t_nu(A_k), tau = 1/sqrt(r) ~
#'   half-t_nu_tau(A_tau).}
#'
#' Fields left `NULL` are completed at the fit from the predictors, never from
#' the response, and [prior_summary()] shows the values used. Those of the
#' coefficients and of groups are as in [logistic_prior()], on the scale of the
#' log of the mean: with the default of a slope the change by one standard
#' deviation of the predictor has a prior standard deviation of 2.5, a factor of
#' 12 for the mean. As there, the prior depends on where a predictor has its 0:
#' with centred predictors the log of the mean at their means is `N(0, 10^2)`.
#' Where the response is far from 1 for rows with offset 0, such as
#' counts per million, `intercept_mean` says so.
#'
#' The dispersion \eqn{\tau}{tau} is the standard deviation, relative to its
#' mean, of the gamma variate that multiplies the mean of a Poisson variate to
#' give a negative binomial one. \eqn{\tau = 0}{tau = 0} is the Poisson
#' distribution, which a prior with a positive density at 0 does not exclude: a
#' prior of the size \eqn{r = 1/\tau^2}{r = 1/tau^2} that looks flat does
#' (Simpson et al. 2017). The half-t is that of standard deviations of groups
#' (Gelman 2006).
#'
#' * `dispersion_df`: 2.
#' * `dispersion_scale`: 1.
#'
#' @inheritParams logistic_prior
#' @param dispersion_df,dispersion_scale `NULL` or a positive number: degrees of
#'   freedom and scale of the half-t distribution of
#'   \eqn{\tau = 1/\sqrt{r}}{tau = 1/sqrt(r)}. Used with
#'   `family = "negbinomial"`.
#' @return An object of class `count_prior`; printing it shows the model.
#' @section Errors:
#' A value of the wrong type or out of its range is an error of class
#' `gibbsite_error_argument`; lengths are compared with the model matrix at the
#' fit.
#' @references
#' Gelman A (2006). Prior distributions for variance parameters in hierarchical
#' models. *Bayesian Analysis* 1, 515-534. \doi{10.1214/06-BA117A}
#'
#' Simpson D, Rue H, Riebler A, Martins TG, Sorbye SH (2017). Penalising model
#' component complexity: a principled, practical approach to constructing
#' priors. *Statistical Science* 32, 1-28. \doi{10.1214/16-STS576}
#' @seealso [gibbs_count()], [logistic_prior()],
#'   [prior_summary()][prior_summary.gibbsite_fit].
#' @examples
#' count_prior()
#' count_prior(slope_scale = 1, dispersion_scale = 0.5)
#' @export
count_prior <- function(slope_variance = NULL, intercept_variance = NULL,
                        group_df = NULL, group_scale = NULL, slope_mean = NULL,
                        slope_sd = NULL, slope_scale = NULL,
                        intercept_mean = NULL, intercept_sd = NULL,
                        dispersion_df = NULL, dispersion_scale = NULL) {
  call <- rlang::current_env()
  coefficients <- check_coefficient_fields(
    slope_variance, intercept_variance, group_df, group_scale, slope_mean,
    slope_sd, slope_scale, intercept_mean, intercept_sd, call
  )
  structure(
    c(coefficients, list(
      dispersion_df = positive_number(dispersion_df, "dispersion_df", call),
      dispersion_scale = positive_number(
        dispersion_scale, "dispersion_scale", call
      )
    )),
    class = c("count_prior", "gibbsite_prior")
  )
}

# The prior with every field filled in. design: of describe_design(); bars: a
# list of hlm_design(), NULL without groups.
complete_count_prior <- function(prior, family, design, bars, call) {
  prior <- made_prior(prior, count_prior, call)
  own <- as_logistic_prior(prior)
  done <- unclass(complete_logistic_prior(own, design, call))
  if (family == "negbinomial" || length(bars) > 0L) {
    there <- " with groups or `family = \"negbinomial\"`"
    check_finite_variances(own, done, there, call)
  }
  if (length(bars) > 0L) {
    check_no_covariances(done, " for a formula with groups", call)
    done <- complete_group_fields(done, prior, bars, call)
  }
  negbinomial <- family == "negbinomial"
  done["dispersion_df"] <- list(if (negbinomial) prior$dispersion_df %||% 2)
  done["dispersion_scale"] <-
    list(if (negbinomial) prior$dispersion_scale %||% 1)
  structure(
    c(done, list(family = family)), class = c("count_prior", "gibbsite_prior")
  )
}

#' @export
format.count_prior <- function(x, ...) {
  check_made(x, needed_fields(count_prior), "count_prior()")
  mean <- c(
    poisson = "y_i | w ~ Poisson(exp(x_i'w + o_i)),",
    negbinomial = "y_i | w, tau ~ NB(mean exp(x_i'w + o_i), size 1 / tau^2),"
  )[[x$family %||% "poisson"]]
  lines <- format(as_logistic_prior(x))
  lines[[1L]] <- sub("^.*,  w ~", paste0(mean, "  w ~"), lines[[1L]])
  c(
    lines,
    if (!identical(x$family, "poisson")) {
      c("dispersion: tau ~ half-t(df, A)",
        paste0("  df = ", format_prior_value(x$dispersion_df, "2")),
        paste0("  A = ", format_prior_value(x$dispersion_scale, "1")))
    }
  )
}

# ---- The responses given the linear predictor --------------------------------

# The responses of gibbs_count() given the linear predictor: counts with a log
# link, Poisson or negative binomial. scale: the dispersion tau of each draw,
# NULL for Poisson. The variance is mu + tau^2 mu^2.

# poisson, poisson() and poisson("log"), as glm() takes them, are "poisson".
check_count_family <- function(family, call) {
  known <- if (identical(family, stats::poisson)) family() else family
  if (inherits(known, "family") && identical(known[["family"]], "poisson") &&
        identical(known[["link"]], "log")) {
    return("poisson")
  }
  check_choice(family, c("poisson", "negbinomial"), call = call)
}

events_response <- function(family) {
  structure(list(family = family, link = "log"), class = "count_response")
}

# Numbers of events: whole, 0 or more. most: those that a double tells apart;
# simulated ones may be larger.
as_events <- function(y, name, call, most = 2^53) {
  expected <- "whole numbers, 0 or more"
  if (is.logical(y) || is.factor(y)) {
    hint <- if (nlevels(y) > 2L) {
      paste("For categories use `gibbs_categorical()`, with an order",
            "`gibbs_ordinal()`.")
    } else {
      paste0(
        "For two outcomes use `gibbs_logistic()`",
        if (is.logical(y)) paste0(", for events `as.integer(", name, ")`"), "."
      )
    }
    abort_expected(y, expected, FALSE, name, call, hint = hint)
  }
  y <- as_measurements(y, name, call)$y
  wrong <- function(at) at & !is.na(y)
  abort_elements(
    wrong(y < 0 | y != round(y)), y, name, expected, call,
    "Measurements are the response of {.fn gibbs_lm} or {.fn gibbs_hlm}."
  )
  abort_elements(wrong(y > most), y, name, "at most 2^53", call)
  list(y = y, kind = "events")
}

# The distribution of an observation with a mean and the size 1 / tau^2.
count_distribution <- function(response, what) {
  if (response$family == "poisson") {
    of <- list(d = stats::dpois, p = stats::ppois, r = stats::rpois)[[what]]
    function(x, mean, scale, ...) of(x, mean, ...)
  } else {
    of <- list(d = stats::dnbinom, p = stats::pnbinom, r = stats::rnbinom)[[
      what
    ]]
    function(x, mean, scale, ...) of(x, size = 1 / scale^2, mu = mean, ...)
  }
}

#' @exportS3Method
response_types.count_response <- function(response) c("link", "response")

# As of stats::glm(); the functions of the variance are those of one dispersion.
#' @exportS3Method
response_family.count_response <- function(response) {
  out <- stats::poisson()
  if (response$family == "negbinomial") {
    out$family <- "Negative Binomial"
    out[c("variance", "dev.resids", "aic", "initialize", "simulate")] <- NULL
  }
  out
}

#' @exportS3Method
response_mean.count_response <- function(response, eta, scale = NULL) {
  expected_responses("log", eta)
}

#' @exportS3Method
response_moments.count_response <- function(response, mean, sd,
                                            spread = TRUE) {
  out <- list(mean = exp(mean + sd^2 / 2), sd = 0 * mean)
  if (spread) out$sd <- out$mean * sqrt(expm1(sd^2))
  out
}

#' @exportS3Method
response_scale.count_response <- function(response, draws) {
  if (response$family == "negbinomial") unname(draws[, "dispersion"])
}

#' @exportS3Method
response_draw.count_response <- function(response, eta, size, scale) {
  draw <- count_distribution(response, "r")
  # of NA, which a missing predictor gives, R's functions warn
  eta[] <- suppressWarnings(as.double(
    draw(length(eta), exp(eta), rep_len(scale %||% 0, length(eta)))
  ))
  eta
}

# A weight counts an observation so often.
#' @exportS3Method
response_log_lik.count_response <- function(response, eta, data, scale) {
  density <- count_distribution(response, "d")
  out <- density(
    rep(data$y, each = nrow(eta)), exp(eta), scale %||% 0, log = TRUE
  )
  out <- out * rep(column_weights(data, eta), each = nrow(eta))
  matrix(out, nrow(eta), dimnames = dimnames(eta))
}

#' @exportS3Method
response_bend.count_response <- function(response, eta, data, scale) {
  y <- rep(data$y, each = nrow(eta))
  weights <- rep(column_weights(data, eta), each = nrow(eta))
  if (is.null(scale)) {
    mean <- exp(eta)
    return(list(first = weights * (y - mean), second = weights * mean))
  }
  # a binomial response of y + size trials
  at <- eta + 2 * log(scale)
  share <- stats::plogis(at)
  trials <- y + scale^-2
  list(
    first = weights * (y - trials * share),
    second = weights * trials * share * stats::plogis(at, lower.tail = FALSE)
  )
}

#' @exportS3Method
observed_response.count_response <- function(response, y, known, weights,
                                             call) {
  list(y = as_events(y, known$name, call)$y, weights = weights)
}

#' @exportS3Method
response_residual.count_response <- function(response, frame, mean, type,
                                             scale) {
  y <- frame$y
  weights <- frame$weights %||% 1
  # the mean of the variance over the draws
  square <- if (is.null(scale)) 0 else mean(scale^2)
  switch(type,
    response = y - mean,
    pearson = (y - mean) * sqrt(weights / (mean + square * mean^2)),
    deviance = sign(y - mean) *
      sqrt(weights * pmax(0, count_deviance(y, mean, square)))
  )
}

# Twice the log of the ratio of the density at its best mean to that at `mean`;
# square: tau^2.
count_deviance <- function(y, mean, square) {
  own <- ifelse(y == 0, 0, y * log(y / mean))
  2 * if (square == 0) {
    own - (y - mean)
  } else {
    own - (y + 1 / square) * log1p(
      (y - mean) * square / (1 + mean * square)
    )
  }
}

#' @exportS3Method
response_variance.count_response <- function(response, eta, scale, ...) {
  rowMeans(exp(eta)) + (scale %||% 0)^2 * rowMeans(exp(2 * eta))
}

#' @exportS3Method
new_observations.count_response <- function(response, at, size, scale, tails) {
  square <- (scale %||% 0)^2
  at <- with_mean(at)
  known <- is.null(at$sd)
  own <- if (known) {
    list(mean = exp(at$mean), sd = 0)
  } else {
    response_moments(response, at$mean, at$sd)
  }
  whole <- mixture_table(own$mean, own$sd, NULL)
  within <- whole$mean
  if (any(square > 0)) {
    within <- within + colMeans(square * (own$mean^2 + own$sd^2))
  }
  z <- if (known) 0 else normal_points(nrow(at$mean))
  ends <- vapply(seq_len(ncol(at$mean)), function(i) {
    mean <- if (known) {
      own$mean[, i]
    } else {
      exp(as.vector(at$mean[, i] + at$sd[, i] * z))
    }
    count_quantiles(response, mean, rep(scale, NCOL(z)), tails)
  }, numeric(2))
  data.frame(
    mean = whole$mean, sd = sqrt(whole$sd^2 + within), two_ends(ends)
  )
}

# The least counts whose probability, the mean over the draws, is at least p.
count_quantiles <- function(response, mean, scale, probs) {
  if (!all(is.finite(mean))) {
    return(rep(NA_real_, length(probs)))
  }
  distribution <- count_distribution(response, "p")
  square <- (scale %||% 0)^2
  slope <- square * mean / (1 + square * mean)
  poisson <- response$family == "poisson"
  least_counts(
    if (poisson) -mean else -log1p(square * mean) / square,
    if (poisson) 0 * mean else slope,
    if (poisson) mean else slope * (1 / square - 1),
    probs, 4 * max(1, mean) + 16,
    function(k) mean(distribution(k, mean, scale))
  )
}
