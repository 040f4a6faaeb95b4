# Predictions of a hierarchical linear regression: rows, means, intervals and
# draws.
#
# The deviations u_j of gibbs_hlm() are not stored. Given the stored parameters
# of a draw they are normal with known mean and covariance, which the fit's
# reduced rows give. Those of a logistic regression are stored.

# ---- The draws ---------------------------------------------------------------

# list(b, factor, sigma, u): S x p, q x q x S (lower triangular) and S, of the
# stored draws, chain after chain; u: q x J x S, or NULL if the deviations are
# not stored. `chosen`: some of the draws.
hlm_draws <- function(fit, chosen = NULL) {
  draws <- do.call(rbind, chain_matrices(fit))
  if (!is.null(chosen)) {
    draws <- draws[chosen, , drop = FALSE]
  }
  hlm_draws_in(fit_part(fit, "model"), draws)
}

# The same of a matrix of draws.
hlm_draws_in <- function(model, draws) {
  p <- model$data$p
  q <- model$data$q
  column <- function(name) draws[, match(name, model$columns)]
  cor <- array(0, c(nrow(draws), q, q))
  for (k in seq_len(q)) {
    cor[, k, k] <- 1
    for (l in seq_len(k - 1)) {
      if (model$data$diagonal == 0) {
        cor[, k, l] <- column(sprintf("cor[%d,%d]", k, l))
      }
    }
  }
  factor <- factor_correlations(cor)
  for (k in seq_len(q)) {
    factor[, k, ] <- factor[, k, ] * column(indexed("sd", k))
  }
  list(
    b = draws[, seq_len(p), drop = FALSE], factor = aperm(factor, c(2, 3, 1)),
    sigma = if (model$data$known == 1) {
      rep(1, nrow(draws))
    } else {
      column("sigma")
    },
    u = if (inherits(model, "hlm_binomial_model")) {
      stored_deviations(model, draws)
    }
  )
}

# The stored coefficients of the groups less their means.
stored_deviations <- function(model, draws) {
  q <- model$data$q
  groups <- model$data$groups
  w <- draws[, match(coefficient_names(q, groups), model$columns), drop = FALSE]
  at <- model$data$fixed_at
  for (k in which(at >= 0L)) {
    own <- seq.int(k, by = q, length.out = groups)
    w[, own] <- w[, own] - draws[, at[[k]] + 1L]
  }
  array(t(w), c(q, groups, nrow(draws)))
}

# The deviations of groups given each draw: list(mean, root), q x G x S and q x
# q x G x S. codes: 1, ..., J, or above J for groups that are not in the fit.
hlm_deviations <- function(model, d, codes) {
  data <- model$data
  q <- data$q
  count <- length(d$sigma)
  mean <- array(0, c(q, length(codes), count))
  root <- array(0, c(q, q, length(codes), count))
  known <- codes <= data$groups
  if (!is.null(d$u)) {
    mean[, known, ] <- d$u[, codes[known], ]
  } else if (any(known)) {
    b <- t(d$b) * data$unit
    at <- data$intercept_at + 1
    if (at <= data$p) {
      b[at, ] <- d$b[, at] - data$centre +
        drop(d$b[, -at, drop = FALSE] %*% data$column_mean[-at])
    }
    found <- .Call(
      C_hlm_conditionals, groups_of_data(data, codes[known]), as.double(b),
      as.double(d$factor), 1 / d$sigma^2
    )
    mean[, known, ] <- found$mean
    root[, , known, ] <- found$root
  }
  for (g in which(!known)) {
    root[, , g, ] <- d$factor
  }
  list(mean = mean, root = root)
}

# The data of some groups.
groups_of_data <- function(data, codes) {
  count <- diff(data$start)[codes]
  rows <- sequence(count, data$start[codes] + 1L)
  n <- length(data$response)
  data$bar <- as.double(matrix(data$bar, data$q, n)[, rows])
  data$fixed <- as.double(matrix(data$fixed, data$p, n)[, rows])
  data$response <- data$response[rows]
  data$start <- as.integer(c(0, cumsum(count)))
  data$groups <- as.double(length(codes))
  data
}

# ---- Rows --------------------------------------------------------------------

# list(x, z, offset, group, names): the rows to predict; group: NULL without the
# deviations of groups, otherwise codes as in hlm_deviations().
hlm_rows <- function(model, newdata, offset, re_formula, allow_new_levels,
                     call) {
  deviations <- is.null(re_formula)
  if (is.null(newdata)) {
    rows <- prediction_rows(model, NULL, offset, call)
    rows$z <- model$frame$z
    rows$group <- if (deviations) model$frame$group
    return(rows)
  }
  design <- model_design(model)
  rows <- formula_rows(
    model, newdata, stats::delete.response(design$terms), call
  )
  frame <- rows$frame
  made <- function(terms) {
    own <- intersect(names(design$contrasts), all_term_variables(terms))
    x <- stats::model.matrix(
      terms, frame, contrasts.arg = if (length(own)) design$contrasts[own]
    )
    plain_design(x)
  }
  rows$x <- made(design$fixed_terms)
  rows$z <- made(design$bar_terms)
  rows$offset <- new_offset(model, rows$offset, offset, nrow(rows$x), call)
  if (deviations) {
    rows$group <- new_groups(model, newdata, allow_new_levels, call)
  }
  rows
}

new_groups <- function(model, newdata, allow_new_levels, call) {
  design <- model_design(model)
  used <- all.vars(design$group_expr)
  check_row_variables(
    design$other_rows, group_parts(design$group_expr), "newdata", call
  )
  newdata <- as_times_of_fit(newdata, design$times, used, call)
  for (name in intersect(group_parts(design$group_expr), names(newdata))) {
    check_not_64_bit(
      newdata[[name]], paste("Variable", quoted(name), "in `newdata`"), call
    )
  }
  values <- tryCatch(
    group_values(design$group_expr, newdata, environment(design$formula)),
    error = function(cnd) NULL
  )
  lacking <- setdiff(used, names(newdata))
  if (length(lacking) > 0L || is.null(values) ||
        any(lengths(values) != nrow(newdata))) {
    abort_argument(
      c("{.arg newdata} lacks the groups {.val {model$group_name}} of the fit.",
        i = "Give {.code re_formula = NA} for predictions without the groups'
             deviations."),
      call = call
    )
  }
  codes <- group_codes(group_ids(values), design$group_ids)
  new <- which(codes > length(model$levels) & !duplicated(codes))
  if (length(new) > 0L && !allow_new_levels) {
    shown <- utils::head(joined_words(lapply(values, function(v) {
      id_words(v[new])
    })), 3L)
    abort_argument(
      c("{cli::qty(shown)}Group{?s} {.val {shown}} of {.val {model$group_name}}
         in {.arg newdata} {cli::qty(shown)}{?was/were} not among the data of
         the fit.",
        i = "{.code allow_new_levels = TRUE} predicts for new groups."),
      call = call, class = "level"
    )
  }
  codes
}

# The places among the groups `known` of rows with the values `ids`, and numbers
# above theirs for other groups; NA where a value is.
group_codes <- function(ids, known) {
  groups <- length(known[[1L]])
  codes <- row_codes(Map(function(id, known) {
    ids <- unique(known)
    code <- match_ids(id, ids)
    new <- is.na(code)
    code[new] <- length(ids) + match(id[new], unique(id[new]))
    c(match(known, ids), code)
  }, ids, known))
  codes <- codes[-seq_len(groups)]
  missing <- Map(function(id, known) is.na(id) & !anyNA(known), ids, known)
  codes[Reduce(`|`, missing)] <- NA
  codes
}

# The linear predictor of rows in each draw, S x n: list(mu, spread), mean and
# standard deviation given the draw; with `draw` the deviations are drawn, and
# there is no spread.
hlm_eta <- function(model, d, rows, draw) {
  q <- model$data$q
  count <- length(d$sigma)
  n <- nrow(rows$x)
  mu <- d$b %*% t(rows$x)
  if (!is.null(rows$offset)) {
    mu <- mu + rep(rows$offset, each = count)
  }
  spread <- matrix(0, count, n)
  codes <- unique(rows$group[!is.na(rows$group)])
  for (block in row_blocks(length(codes), count * q^2, most = 4e6)) {
    u <- hlm_deviations(model, d, codes[intersect(block, seq_along(codes))])
    for (g in seq_len(dim(u$mean)[[2L]])) {
      i <- which(rows$group == codes[block[[g]]])
      z <- rows$z[i, , drop = FALSE]
      centre <- matrix(u$mean[, g, ], q)
      square <- 0
      noise <- if (draw) matrix(stats::rnorm(q * count), q)
      for (c in seq_len(q)) {
        root <- matrix(u$root[, c, g, ], q)
        if (draw) {
          centre <- centre + root * rep(noise[c, ], each = q)
        } else {
          square <- square + (z %*% root)^2
        }
      }
      mu[, i] <- mu[, i] + t(z %*% centre)
      spread[, i] <- if (draw) 0 else t(sqrt(square))
    }
  }
  if (!is.null(rows$group)) {
    mu[, is.na(rows$group)] <- NA
  }
  mu[is.nan(mu)] <- NA
  colnames(mu) <- rows$names
  list(mu = mu, spread = spread)
}

# Some of the rows.
rows_at_places <- function(rows, at) {
  rows$x <- rows$x[at, , drop = FALSE]
  rows$z <- rows$z[at, , drop = FALSE]
  rows$offset <- rows$offset[at]
  rows$group <- rows$group[at]
  rows$names <- rows$names[at]
  rows
}

# ---- Predictions -------------------------------------------------------------

#' Predictions of a hierarchical linear regression
#'
#' Predictions for the data of the fit or for new data. `"mean"` is the expected
#' response \eqn{o + x^\top b + z^\top u_j}{o + x'b + z'u_j} of an observation
#' in its group, `"response"` a new response. Given the parameters of a draw
#' both are normal with known mean and variance: the distribution of a
#' prediction is the mixture of these over the draws, and the ends of an
#' interval are quantiles of that mixture, without a further Monte Carlo error.
#' The deviations \eqn{u_j}{u_j} of a group of the fit have their distribution
#' given its data, those of a new group \eqn{\mathrm{N}(0, \Sigma)}{N(0,
#' Sigma)}.
#'
#' @param object A fit of [gibbs_hlm()].
#' @param newdata `NULL` for the data of the fit, or a data frame with the
#'   formula's variables, of the fit's class; differences of times may have
#'   another unit. Rows with missing values have missing predictions.
#' @param type `"mean"` (default) or `"response"`.
#' @param interval `FALSE` (default), or `TRUE` for standard deviations and
#'   intervals.
#' @param level Number between 0 and 1, default 0.95: the posterior probability
#'   of each interval.
#' @param re_formula `NULL` (default): with the deviations of the groups; `NA`:
#'   without, \eqn{o + x^\top b}{o + x'b}.
#' @param allow_new_levels `FALSE` (default): a group that is not in the fit is
#'   an error; `TRUE`: it is a new group.
#' @param offset For `newdata`, if the fit was made with an argument `offset`:
#'   a number for each row, or one for all.
#' @param weights For `newdata` and `"response"`: the weight of each new
#'   observation, one positive number or one for each row; default 1. If the fit
#'   has known standard errors, \eqn{1/\mathrm{se}^2}{1/se^2}.
#' @param ... Not used.
#' @return A vector with the names of the rows; with `interval` a data frame
#'   with the columns `mean`, `sd`, `lower` and `upper`.
#' @section Errors: `gibbsite_error_argument` for variables that are missing, of
#'   another kind, or with levels or groups that are not in the fit
#'   (`gibbsite_error_level`), for terms that use other rows of the data
#'   (`gibbsite_error_other_rows`, see [gibbs_lm()]), and for `newdata = NULL`
#'   when the fit does not hold its data.
#' @examples
#' fit <- gibbs_hlm(weight ~ Time + (1 + Time | Chick), ChickWeight, seed = 1)
#' new <- data.frame(Time = c(10, 20), Chick = c("1", "new"))
#' predict(fit, new, allow_new_levels = TRUE, interval = TRUE)
#' predict(fit, new, re_formula = NA, interval = TRUE)
#' @export
predict.gibbs_hlm <- function(object, newdata = NULL,
                              type = c("mean", "response"), interval = FALSE,
                              level = 0.95, re_formula = NULL,
                              allow_new_levels = FALSE, offset = NULL,
                              weights = NULL, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  type <- check_choice(type, c("mean", "response"))
  interval <- check_flag(interval)
  level <- check_level(level)
  allow_new_levels <- check_flag(allow_new_levels)
  check_re_formula(re_formula, call)
  model <- fit_part(object, "model")
  rows <- hlm_rows(
    model, newdata, offset, re_formula, allow_new_levels, call
  )
  weights <- new_weights(model, newdata, weights, nrow(rows$x), call)
  out <- hlm_moments(object, rows, weights, type, level, interval)
  out <- if (interval) as.data.frame(out) else out$mean
  out <- with_row_names(out, rows$names)
  if (is.null(newdata)) as_excluded(model, out) else out
}

# list(mean, sd, lower, upper), the last three with `interval`; in blocks of
# rows. type: "mean", "response", or "share" for probabilities of success.
hlm_moments <- function(fit, rows, weights, type, level, interval) {
  model <- fit_part(fit, "model")
  d <- hlm_draws(fit)
  n <- nrow(rows$x)
  none <- rep(NA_real_, n)
  out <- list(mean = none, sd = none, lower = none, upper = none)
  # rows of a group stay together
  order <- if (is.null(rows$group)) seq_len(n) else order(rows$group)
  for (block in row_blocks(n, length(d$sigma), most = 4e6)) {
    i <- order[intersect(block, seq_len(n))]
    at <- hlm_eta(model, d, rows_at_places(rows, i), FALSE)
    mu <- unname(at$mu)
    shares <- if (type == "share") share_moments(model, mu, at$spread)
    out$mean[i] <- colMeans(shares$mean %||% mu)
    if (!interval || length(i) == 0L) {
      next
    }
    spread <- at$spread
    if (type == "response") {
      spread <- sqrt(spread^2 + outer(d$sigma^2, 1 / weights[i]))
    }
    known <- !is.na(colSums(mu)) & is.finite(colSums(spread))
    mean <- (shares$mean %||% mu)[, known, drop = FALSE]
    sd <- (shares$sd %||% spread)[, known, drop = FALSE]
    out$sd[i[known]] <- sqrt(apply(mean, 2L, stats::var) + colMeans(sd^2))
    tails <- central_tails(level)
    for (end in 1:2) {
      mean <- mu[, known, drop = FALSE]
      sd <- spread[, known, drop = FALSE]
      bound <- if (all(sd == 0)) {
        apply(mean, 2L, known_quantiles, tails[[end]])
      } else {
        mixture_quantile(mean, sd, tails[[end]])
      }
      out[[2L + end]][i[known]] <- if (is.null(shares)) {
        bound
      } else {
        success_probability(model, bound)
      }
    }
  }
  out
}

# ---- Draws of predictions ----------------------------------------------------

#' Posterior draws of predictions of a hierarchical linear regression
#'
#' For each draw: the expected response of each observation (`posterior_epred()`
#' and `posterior_linpred()`, which are the same here), a new response
#' (`posterior_predict()`), or the log density of the response that was observed
#' (`log_lik()`). The groups' deviations are drawn from their exact distribution
#' given the parameters of the draw and the data, with random numbers of R's
#' generator: a fit does not store them. `loo()` and `waic()` use `log_lik()`.
#' `log_lik(by = "group")` is the log density of the responses of each group
#' with its deviations integrated out, without random numbers. `bayes_R2()`
#' gives for each draw the variance of the expected responses divided by the sum
#' of this variance and \eqn{\sigma^2}{sigma^2}. `pp_check()` compares the
#' responses with replicated ones.
#'
#' @param object A fit of [gibbs_hlm()].
#' @param newdata,re_formula,allow_new_levels,offset,weights As in
#'   [predict.gibbs_hlm()].
#' @param draws `NULL` for all draws (`pp_check()`: for at most 50), or the
#'   number of draws to use, spread evenly over the chains' draws.
#' @param ndraws Another name of `draws`, which tidybayes uses.
#' @param transform `FALSE` or `TRUE`, without effect: the link is the identity.
#' @param by `"observation"` (default) or `"group"`.
#' @param ... Not used; for `pp_check()` passed to bayesplot.
#' @return A matrix, draws x observations (or groups), chain after chain;
#'   `bayes_R2()` a vector; `pp_check()` a plot. `log_lik()`, `bayes_R2()` and
#'   `pp_check()` leave out rows of weight 0 and groups without other rows, see
#'   [kfold][kfold.gibbsite_fit], section Observations.
#' @section Errors: `gibbsite_error_argument` for more draws than there are, and
#'   the errors of [predict.gibbs_hlm()].
#' @examples
#' fit <- gibbs_hlm(weight ~ Time + (1 + Time | Chick), ChickWeight, seed = 1)
#' dim(posterior_predict(fit, draws = 100))
#' dim(log_lik(fit, by = "group", draws = 100))
#' summary(bayes_R2(fit, draws = 100))
#' @name hlm-draws
NULL

# list(mu, sigma, weights): draws x observations, and the rest.
hlm_draws_at <- function(object, newdata, re_formula, allow_new_levels, offset,
                         weights, draws, call) {
  check_unlocked(call)
  allow_new_levels <- check_flag(allow_new_levels, call = call)
  check_re_formula(re_formula, call)
  model <- fit_part(object, "model")
  rows <- hlm_rows(model, newdata, offset, re_formula, allow_new_levels, call)
  weights <- new_weights(model, newdata, weights, nrow(rows$x), call)
  d <- hlm_draws(object, spread_rows(draws, ndraws(object), call))
  check_result_size(
    c(length(d$sigma), nrow(rows$x)), "draws x observations", "{.arg draws}",
    call
  )
  list(
    mu = hlm_eta(model, d, rows, TRUE)$mu, sigma = d$sigma, weights = weights
  )
}

#' @rdname hlm-draws
#' @export
posterior_linpred.gibbs_hlm <- function(object, transform = FALSE,
                                        newdata = NULL, draws = NULL,
                                        re_formula = NULL,
                                        allow_new_levels = FALSE,
                                        offset = NULL, ..., ndraws = NULL) {
  call <- rlang::current_env()
  check_no_more(...)
  check_flag(transform)
  draws <- either_draws(draws, ndraws, call)
  hlm_draws_at(
    object, newdata, re_formula, allow_new_levels, offset, NULL, draws, call
  )$mu
}

#' @rdname hlm-draws
#' @export
posterior_epred.gibbs_hlm <- function(object, newdata = NULL, draws = NULL,
                                      re_formula = NULL,
                                      allow_new_levels = FALSE, offset = NULL,
                                      ..., ndraws = NULL) {
  call <- rlang::current_env()
  check_no_more(...)
  draws <- either_draws(draws, ndraws, call)
  hlm_draws_at(
    object, newdata, re_formula, allow_new_levels, offset, NULL, draws, call
  )$mu
}

#' @rdname hlm-draws
#' @export
posterior_predict.gibbs_hlm <- function(object, newdata = NULL, draws = NULL,
                                        re_formula = NULL,
                                        allow_new_levels = FALSE,
                                        offset = NULL, weights = NULL, ...,
                                        ndraws = NULL) {
  call <- rlang::current_env()
  check_no_more(...)
  draws <- either_draws(draws, ndraws, call)
  at <- hlm_draws_at(
    object, newdata, re_formula, allow_new_levels, offset, weights, draws, call
  )
  at$mu + lm_sd(at) * stats::rnorm(length(at$mu))
}

#' @rdname hlm-draws
#' @export
log_lik.gibbs_hlm <- function(object, draws = NULL,
                              by = c("observation", "group"), ...) {
  call <- rlang::current_env()
  check_no_more(...)
  by <- check_choice(by, c("observation", "group"))
  model <- fit_part(object, "model")
  frame <- check_frame(model)
  used <- rows_used(frame)
  if (by == "group") {
    d <- hlm_draws(object, spread_rows(draws, ndraws(object), call))
    return(group_log_lik(model, frame, used, d))
  }
  at <- hlm_draws_at(object, NULL, NULL, FALSE, NULL, NULL, draws, call)
  out <- stats::dnorm(
    rep(frame$y, each = nrow(at$mu)), at$mu, lm_sd(at), log = TRUE
  )
  dim(out) <- dim(at$mu)
  colnames(out) <- colnames(at$mu)
  used_columns(out, used)
}

# log p(y_j | b, Sigma, sigma) = log p(y_j | u) + log p(u) - log p(u | y_j) at
# the mean u of the last: draws x groups.
group_log_lik <- function(model, frame, used, d) {
  groups <- length(model$levels)
  count <- length(d$sigma)
  rows <- split(which(used), factor(frame$group[used], seq_len(groups)))
  out <- matrix(0, count, groups, dimnames = list(NULL, model$levels))
  cost <- cumsum(pmax(lengths(rows), model$data$q^2)) * count
  for (block in split(seq_len(groups), cost %/% 4e6)) {
    u <- hlm_deviations(model, d, block)
    out[, block] <- t(
      rows_log_lik(frame, d, rows[block], u$mean) + log_prior_ratio(d, u)
    )
  }
  out[, lengths(rows) > 0L, drop = FALSE]
}

# The sum of log p(y_i | u) over the rows of each group: groups x draws.
# rows: a list with those of each group; u: q x groups x draws.
rows_log_lik <- function(frame, d, rows, u) {
  i <- unlist(rows, use.names = FALSE)
  group <- rep(seq_along(rows), lengths(rows))
  mu <- tcrossprod(frame$x[i, , drop = FALSE], d$b)
  if (!is.null(frame$offset)) {
    mu <- mu + frame$offset[i]
  }
  for (k in seq_len(ncol(frame$z))) {
    mu <- mu + frame$z[i, k] * layer(u, k)[group, , drop = FALSE]
  }
  weights <- frame$weights[i] %||% rep(1, length(i))
  log_y <- stats::dnorm(
    frame$y[i], mu, outer(1 / sqrt(weights), d$sigma), log = TRUE
  )
  # 0 for a group without rows
  out <- matrix(0, length(rows), length(d$sigma))
  out[unique(group), ] <- rowsum(
    matrix(log_y, length(i)), group, reorder = FALSE
  )
  out
}

# log p(u) - log p(u | y) at the mean u of the last: groups x draws. Sigma = L
# L', and the covariance of the last is root root' with L^-1 root upper
# triangular. u: the value of hlm_deviations().
log_prior_ratio <- function(d, u) {
  groups <- dim(u$mean)[[2L]]
  # L^-1 x; x: a list of the first elements of vectors, groups x draws each
  solve_lower <- function(x) {
    for (k in seq_along(x)) {
      for (c in seq_len(k - 1)) {
        x[[k]] <- x[[k]] - rep(d$factor[k, c, ], each = groups) * x[[c]]
      }
      x[[k]] <- x[[k]] / rep(d$factor[k, k, ], each = groups)
    }
    x
  }
  out <- 0
  white <- solve_lower(lapply(seq_len(dim(u$mean)[[1L]]), layer, x = u$mean))
  for (k in seq_along(white)) {
    column <- array(u$root[, k, , ], dim(u$mean))
    shrunk <- solve_lower(lapply(seq_len(k), layer, x = column))
    out <- out + log(abs(shrunk[[k]])) - white[[k]]^2 / 2
  }
  out
}

# Matrix k of an array of matrices, a x n x m.
layer <- function(x, k) matrix(x[k, , ], dim(x)[[2L]])

#' @rdname hlm-draws
#' @export
bayes_R2.gibbs_hlm <- function( # nolint: object_name_linter.
    object, newdata = NULL, draws = NULL, re_formula = NULL,
    allow_new_levels = FALSE, ...) {
  call <- rlang::current_env()
  check_no_more(...)
  at <- hlm_draws_at(
    object, newdata, re_formula, allow_new_levels, NULL, NULL, draws, call
  )
  mean <- observed_columns(object, newdata, at$mu)
  explained_share(mean, at$sigma^2)
}
