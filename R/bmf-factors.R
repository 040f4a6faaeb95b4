# The factors of a fit in a form that does not depend on their rotation, the
# summary of a fit, and the methods of the result of a search for a mode.

# U'V of one draw (without intercepts) as sum_k d_k p_k q_k' with orthonormal
# p_k and q_k, d decreasing: the singular value decomposition, computed from the
# rank x rank Gram matrices. list(d, left, right): the rank x rank matrices with
# left u_i = sqrt(d) p_i and right v_j = sqrt(d) q_j. In this form the scale of
# a factor is divided equally between users and items.
canonical_form <- function(u, v) {
  rank <- nrow(u)
  gram <- eigen(tcrossprod(u), symmetric = TRUE)
  size <- sqrt(pmax(gram$values, 0))
  root <- gram$vectors %*% diag(size, rank)
  inner <- eigen(crossprod(root, tcrossprod(v) %*% root), symmetric = TRUE)
  d <- sqrt(pmax(inner$values, 0))
  # a value that is numerically 0 has the inverse 0
  inverse <- function(x) ifelse(x > max(x, 0) * 1e-10, 1 / x, 0)
  list(
    d = d,
    left = (sqrt(d) * t(inner$vectors)) %*% (inverse(size) * t(gram$vectors)),
    right = (inverse(sqrt(d)) * t(inner$vectors)) %*% t(root)
  )
}

# The orthogonal matrix R that brings R x closest to `target` (Schoenemann 1966,
# doi:10.1007/BF02289451), rows being coordinates.
closest_rotation <- function(x, target) {
  both <- svd(tcrossprod(target, x))
  both$u %*% t(both$v)
}

# Factors of at most `most` kept draws in one canonical form: list(d, draws x
# rank; users and items, each list(mean, sd), D x ids; draws). The draw with the
# highest log joint density is brought into canonical form, with the sign of
# each factor such that the larger entries of the items are positive. The other
# draws are rotated to be as close to it as possible. A factor has mean square 1
# over the users; its scale is in the items.
canonical_factors <- function(kept) {
  model <- kept$model
  k <- seq_len(model$rank)
  rank_part <- function(x) x[k, , drop = FALSE]
  forms <- over_draws(kept, function(draw) {
    canonical_form(rank_part(draw$u), rank_part(draw$v))
  })
  d <- do.call(rbind, lapply(forms, `[[`, "d"))
  pivot <- pivot_draw(kept)
  centre <- nth_draw(kept, pivot)
  reference <- list(
    u = forms[[pivot]]$left %*% rank_part(centre$u),
    v = forms[[pivot]]$right %*% rank_part(centre$v)
  )
  sign <- ifelse(rowSums(reference$v^3) < 0, -1, 1)
  reference <- lapply(reference, function(x) sign * x)
  # users and items have equal weight, for any numbers of them
  sides <- cbind(reference$u, reference$v)
  mean <- m2 <- list(u = 0, v = 0)
  for (s in seq_along(forms)) {
    draw <- nth_draw(kept, s)
    u <- forms[[s]]$left %*% rank_part(draw$u)
    v <- forms[[s]]$right %*% rank_part(draw$v)
    rotation <- closest_rotation(cbind(u, v), sides)
    draw$u[k, ] <- rotation %*% u
    draw$v[k, ] <- rotation %*% v
    # running means and variances by Welford's rule
    for (side in c("u", "v")) {
      away <- draw[[side]] - mean[[side]]
      mean[[side]] <- mean[[side]] + away / s
      m2[[side]] <- m2[[side]] + away * (draw[[side]] - mean[[side]])
    }
  }
  scale <- c(sqrt(colMeans(d) / model$n), if (model$biases) 1)
  scale[scale == 0] <- 1
  finish <- function(side, factor) {
    sd <- sqrt(m2[[side]] / max(1, length(forms) - 1))
    list(mean = factor * mean[[side]], sd = factor * sd)
  }
  list(
    d = d, users = finish("u", 1 / scale), items = finish("v", scale),
    draws = nrow(d)
  )
}

# The kept draw of the highest log joint density.
pivot_draw <- function(kept) {
  best <- unlist(lapply(seq_along(kept$states), function(k) {
    numbers <- bmf_kept(kept$states[[k]])[kept$which[[k]]]
    kept$log_joint[[k]][numbers]
  }))
  if (all(is.na(best))) 1L else which.max(best)
}

# At most 200 kept draws, with the log joint density of all draws.
factor_basis <- function(fit, call) {
  kept <- kept_factors(fit, call = call)
  if (length(kept$noise) > 200) {
    kept <- kept_factors(fit, 200, call)
  }
  kept$log_joint <- lapply(chain_matrices(fit), function(draws) {
    draws[, "log_joint"]
  })
  kept
}

#' Factors of users and items, and summary of a matrix factorisation
#'
#' `factors_of()` gives the posterior means and standard deviations of the
#' factors, with their ids. `summary()` gives the table of
#' [summary.gibbsite_fit()], and below it a table of the factors, by decreasing
#' variance: how much of the variance of the ratings' mean, over all cells, each
#' factor accounts for, and the items at its two ends.
#'
#' Factors are known only up to a rotation, and the chains move between
#' rotations. The mean of a coordinate over the raw draws is therefore
#' meaningless. Here each draw is first brought into a canonical form:
#' \eqn{U^\top V}{U'V}, users by items, is written as \eqn{\sum_k d_k p_k
#' q_k^\top}{sum_k d_k p_k q_k'} with orthogonal factors in decreasing order of
#' \eqn{d_k} (the singular value decomposition) for the draw with the highest
#' log joint density. The other draws are rotated to agree with that one
#' (orthogonal Procrustes problem, Schoenemann 1966). Products \eqn{u_i^\top
#' v_j}{u_i'v_j} do not change.
#'
#' Users' factors are scaled to the mean square 1. An item's entry is then in
#' the unit of the ratings: it says by how much the item's rating rises with one
#' unit of the user's factor. The sign is chosen so that the larger entries of
#' the items are positive. The draws in the fit are not changed.
#'
#' With `bmf_prior("wishart")`, `print()` and `summary()` name the factors that
#' have less than a tenth of an equal share of the variance of the mean of a
#' rating, for users and items drawn from the prior with the hyperparameters of
#' the kept draws: a smaller rank may do.
#'
#' @section Stored quantities: `beta` (precision of a rating; with `link`
#' instead `theta[1]`, ..., the cutpoints), `lambda_u` and `lambda_v`
#' (precisions of users and of items), or `trace_u`, `logdet_u` (trace and log
#' determinant of \eqn{\Lambda_u}{Lambda_u}), `norm_mu_u` (length of
#' \eqn{\mu_u}{mu_u}) and the same for items, `rmse` (of the ratings about their
#' mean at this draw; with `link` instead `log_lik`), `log_joint`, and
#' `cell[1]`, ... (mean of the rating in some observed cells;
#' [tidy()][tidy.gibbsite_fit] says which). None depends on the rotation of the
#' factors.
#'
#' @param fit A fit made by [gibbs_bmf()], or the result of a search for a mode.
#' @param object A fit made by [gibbs_bmf()].
#' @param variables,probs As in [summary.gibbsite_fit()].
#' @param factors `TRUE` (default) or `FALSE`: whether `summary()` computes the
#'   table of factors, which takes some time for many users and items.
#' @param ... Not used.
#' @param of `"items"` (default) or `"users"`.
#' @return `factors_of()`: a data frame with a row for each item (user): its id,
#'   `ratings` (how many it has), the factors `factor_1`, `factor_2`, ... by
#'   decreasing variance and their standard deviations `sd_1`, ...; with
#'   intercepts also `intercept` and `sd_intercept`. Without `sd_` columns for a
#'   mode.
#'
#'   `summary()`: a data frame of class `gibbsite_summary`, see
#'   [summary.gibbsite_fit()]; its attribute `factors` is a data frame with a
#'   row for each factor: `factor`, `variance` (posterior mean of \eqn{d_k^2 /
#'   (N M)}{d_k^2 / (N M)}, in squared units of the ratings), its `sd`, `share`
#'   of the sum, and `high` and `low`, the items (with at least five ratings,
#'   where there are such) with the largest and smallest entries.
#' @section Errors: `gibbsite_error_argument` for anything but a fit of
#'   [gibbs_bmf()].
#' @references
#' Schoenemann PH (1966). A generalized solution of the orthogonal Procrustes
#' problem. *Psychometrika* 31, 1-10. \doi{10.1007/BF02289451}
#' @seealso [summary.gibbsite_fit()], [compare_k()], [recommend()],
#'   [predict.gibbs_bmf()].
#' @examples
#' set.seed(1)
#' made <- sim_bmf(40, 30, rank = 2, share = 0.3)
#' fit <- gibbs_bmf(made, rank = 2, draws = 200, burnin = 200, chains = 2,
#'   seed = 1
#' )
#' head(factors_of(fit))
#' attr(summary(fit), "factors")
#' @export
factors_of <- function(fit, of = c("items", "users")) {
  check_needed(fit = "a fit made by gibbs_bmf()")
  UseMethod("factors_of")
}

#' @export
factors_of.default <- function(fit, of = c("items", "users")) {
  check_fit_of(fit, "gibbs_bmf", call = rlang::caller_env())
}

#' @rdname factors_of
#' @export
factors_of.gibbs_bmf <- function(fit, of = c("items", "users")) {
  call <- rlang::current_env()
  of <- check_choice(of, c("items", "users"))
  model <- fit_part(fit, "model")
  factors <- canonical_factors(factor_basis(fit, call))
  factor_frame(model, factors[[of]], of)
}

factor_frame <- function(model, side, of) {
  items <- of == "items"
  ids <- if (items) model$items else model$users
  counts <- if (items) model$item_counts else model$user_counts
  out <- data.frame(ids, ratings = counts)
  names(out)[[1L]] <- model$names[[if (items) 2L else 1L]]
  labels <- c(seq_len(model$rank), if (model$biases) "intercept")
  mean <- as.data.frame(t(side$mean))
  names(mean) <- sub("factor_intercept", "intercept", paste0("factor_", labels))
  out <- cbind(out, mean)
  if (!is.null(side$sd)) {
    sd <- as.data.frame(t(side$sd))
    names(sd) <- paste0("sd_", labels)
    out <- cbind(out, sd)
  }
  out
}

# ---- Summary ----------------------------------------------------------------

#' @rdname factors_of
#' @export
summary.gibbs_bmf <- function(object, variables = NULL,
                              probs = c(0.025, 0.5, 0.975), factors = TRUE,
                              ...) {
  call <- rlang::current_env()
  check_no_more(...)
  factors <- check_flag(factors)
  model <- fit_part(object, "model")
  out <- fit_summary(object, variables, probs, "object", call)
  if (identical(attr(out, "note"), "labelled")) {
    attr(out, "note") <- "rotated"
  }
  if (factors) {
    attr(out, "factors") <- factor_table(
      model, canonical_factors(factor_basis(object, call))
    )
  }
  class(out) <- c("bmf_summary", class(out))
  out
}

factor_table <- function(model, factors) {
  variance <- factors$d^2 / (as.double(model$n) * model$m)
  mean <- colMeans(variance)
  items <- factors$items$mean
  usual <- which(model$item_counts >= 5)
  if (length(usual) < 6L) usual <- seq_along(model$items)
  ids <- id_words(model$items)
  end <- function(k, sign) {
    first <- utils::head(usual[order(-sign * items[k, usual])], 3L)
    paste(ids[first], collapse = ", ")
  }
  k <- seq_len(model$rank)
  data.frame(
    factor = k, variance = mean,
    sd = if (nrow(variance) > 1) apply(variance, 2, stats::sd) else NA_real_,
    share = mean / max(sum(mean), .Machine$double.xmin),
    high = vapply(k, end, "", sign = 1), low = vapply(k, end, "", sign = -1)
  )
}

#' @export
print.bmf_summary <- function(x, ...) {
  NextMethod()
  factors <- attr(x, "factors")
  if (!is.data.frame(factors) || !"variable" %in% names(x)) {
    return(invisible(x))
  }
  write_lines(c("", "Factors, by the variance they account for:"))
  print_factors(factors)
  invisible(x)
}

print_factors <- function(factors, n = 10L) {
  rows <- utils::head(seq_len(nrow(factors)), n)
  shown <- data.frame(
    variance = show_significant(factors$variance[rows], 3),
    share = paste0(round(100 * factors$share[rows]), "%"),
    high = substr(factors$high[rows], 1, 24),
    low = substr(factors$low[rows], 1, 24)
  )
  print_table(as.character(factors$factor[rows]), shown)
  if (nrow(factors) > n) {
    write_lines(sprintf("... %d more", nrow(factors) - n))
  }
}

#' @exportS3Method
model_next.bmf_model <- function(model) c("recommend(fit)", "predict(fit)")

#' @exportS3Method
model_notes.bmf_model <- function(model, fit, table) {
  c(prediction_line(table), unused_factors_line(model, fit))
}

# What can be used of chains that have not converged: predictions mix faster
# than the precision of the ratings if the rank is larger than they need.
prediction_line <- function(table) {
  is_cell <- table$variable %in% in_blocks(table$variable, "cell")
  cells <- as.data.frame(table)[is_cell & !table$constant, ]
  if (table_converged(table) || nrow(cells) == 0L || !all(cells$ok)) {
    return(NULL)
  }
  paste0(
    "Predictions have converged: R-hat at most ",
    format_rhat(max(cells$rhat), attr(table, "thresholds")$rhat),
    " and ESS at least ", digits(floor(min(effective_sizes(cells)))), " in ",
    cli::pluralize("{nrow(cells)} observed cell{?s}"), "."
  )
}

# Factors, in the order of the table, with less than a tenth of an equal share
# of the variance. Only the Normal-Wishart prior has a scale for each direction.
unused_factors_line <- function(model, fit) {
  if (model$prior$type != "wishart") {
    return(NULL)
  }
  share <- factor_shares(model, fit)
  first <- match(TRUE, share < 0.1 / model$rank)
  if (is.na(first)) {
    return(NULL)
  }
  which <- if (first == model$rank) {
    paste("factor", first)
  } else {
    paste("factors", first, "to", model$rank)
  }
  paste0(
    "Hardly used (less than a tenth of an equal share of the variance): ",
    which, "."
  )
}

# The share of each factor in the variance of the mean of the rating of a user
# and an item drawn from the prior given a draw: the eigenvalues of M_u M_v, M =
# Lambda^-1 + mu mu' (with features the mean of m_i m_i', m_i = mu + B'f_i), in
# decreasing order, averaged over at most ten kept draws of each chain.
# Hyperparameters are enough here, and the factors of many users need not be
# read. NULL without kept draws.
factor_shares <- function(model, fit) {
  k <- seq_len(model$rank)
  root <- function(hyper, side) {
    covariance <- chol2inv(chol(hyper[[paste0("precision_", side)]]))
    moment <- covariance + mean_square(model, hyper, side)
    chol(moment[k, k, drop = FALSE])
  }
  variance <- lapply(fit_part(fit, "chains"), function(chain) {
    count <- length(chain$state$hyper_draws)
    some <- ceiling(seq_len(min(count, 10L)) * count / min(count, 10L))
    vapply(some, function(j) {
      hyper <- bmf_kept_hyper(model, chain$state, j)
      svd(tcrossprod(root(hyper, "u"), root(hyper, "v")), 0L, 0L)$d^2
    }, numeric(model$rank))
  })
  variance <- matrix(unlist(variance), model$rank)
  if (ncol(variance) > 0L) rowSums(variance) / sum(variance)
}

# The mean of m_i m_i' over the rows of a side.
mean_square <- function(model, hyper, side) {
  mu <- hyper[[paste0("mu_", side)]]
  features <- model$features[[side]]
  if (is.null(features)) {
    return(tcrossprod(mu))
  }
  rows <- ncol(features$x)
  rotated <- hyper[[paste0("coefficients_", side)]] %*% features$v
  cross <- tcrossprod(mu, rotated %*% features$g)
  tcrossprod(mu) + (cross + t(cross) + rotated %*% (features$s * t(rotated))) /
    rows
}

# ---- Search for a mode ------------------------------------------------------

#' A mode of a matrix factorisation
#'
#' What `gibbs_bmf(method = "icm")` returns: factors of high posterior density,
#' found by setting each user, each item and each parameter of the prior to its
#' conditional mode in turn (alternating least squares with the model's own
#' penalties). It is a point and not a posterior: predictions ignore the
#' uncertainty of the factors, and their intervals are too short. If parameters
#' of the prior are unknown, the joint density of factors and variances may be
#' highest where a variance is small and the factors shrink towards 0. The
#' posterior mean of predictions, from `method = "gibbs"`, does not have this
#' problem.
#'
#' @param object,fit An object of class `bmf_map`.
#' @param newdata `NULL` for the ratings of the search, or a data frame as in
#'   [predict.gibbs_bmf()]; new users and items get the mean of their prior.
#' @param interval `"none"` (default), or `"prediction"` for the normal
#'   distribution of a rating about its mean, with variance
#'   \eqn{1/\beta}{1/beta}. The mean of a rating at a point has no interval.
#' @param level Number between 0 and 1, default 0.95 (`held_out()`: several).
#' @param of As in [factors_of()].
#' @param user_features,item_features As in [predict.gibbs_bmf()].
#' @param ... Not used.
#' @return The object is a list, see [gibbsite_map]: its element `estimate` has
#'   `u` (`D x N`), `v` (`D x M`), `beta` and, as the prior has them,
#'   `lambda_u`, `lambda_v` or `mu_u`, `precision_u`, `mu_v`, `precision_v`,
#'   with features `coefficients_u` (\eqn{B_u^\top}{B_u'}, `D x p`),
#'   `lambda_b_u` and those of the items. `predict()`: a vector of means, or a
#'   data frame with `mean`, `sd`, `lower` and `upper`. `fitted()`,
#'   `residuals()`, [held_out()] and [factors_of()] work too.
#' @seealso [gibbs_bmf()], [factors_of()], [recommend()].
#' @examples
#' set.seed(1)
#' made <- sim_bmf(40, 30, rank = 2, share = 0.3)
#' top <- gibbs_bmf(made, rank = 2, method = "icm", seed = 1)
#' top
#' predict(top, made[1:3, ])
#' @name bmf_map
NULL

#' @export
print.bmf_map <- function(x, ...) {
  check_map(x)
  NextMethod()
  model <- x$model
  error <- if (!is.null(model$data)) {
    paste0("; root mean square error in the data ",
           format(sqrt(mean(stats::residuals(x)^2)), digits = 4))
  }
  write_lines(c(
    paste0("Standard deviation of a rating ",
           format(1 / sqrt(x$estimate$beta), digits = 4), error, "."),
    "", "Factors, by the variance they account for:"
  ))
  print_factors(factor_table(model, map_factors(x)), 5L)
  write_lines(c("", "Next: predict(map, pairs), held_out(map, ratings)"))
  invisible(x)
}

# The mode in canonical form, scaled as canonical_factors() does.
map_factors <- function(map) {
  model <- map$model
  k <- seq_len(model$rank)
  u <- map$estimate$u
  v <- map$estimate$v
  form <- canonical_form(u[k, , drop = FALSE], v[k, , drop = FALSE])
  scale <- sqrt(form$d / model$n)
  scale[scale == 0] <- 1
  right <- scale * (form$right %*% v[k, , drop = FALSE])
  sign <- ifelse(rowSums(right^3) < 0, -1, 1)
  u[k, ] <- sign / scale * (form$left %*% u[k, , drop = FALSE])
  v[k, ] <- sign * right
  list(
    d = matrix(form$d, 1L), users = list(mean = u), items = list(mean = v)
  )
}

#' @rdname bmf_map
#' @export
factors_of.bmf_map <- function(fit, of = c("items", "users")) {
  check_map(fit)
  of <- check_choice(of, c("items", "users"))
  factor_frame(fit$model, map_factors(fit)[[of]], of)
}

# The latent value of each pair: list(mean, sd).
map_latent <- function(map, pairs) {
  model <- map$model
  estimate <- map$estimate
  side <- function(which, codes) {
    x <- estimate[[which]]
    prior <- list(mean = estimate[[paste0("mu_", which)]] %||%
                    numeric(model$size))
    own <- x[, ifelse(is.na(codes), 1L, codes), drop = FALSE]
    new <- is.na(codes)
    own[, new] <- new_means(
      estimate, which, prior, pairs$x[[which]], places(pairs, which, new)
    )
    own
  }
  mean <- model$center + inner(
    model, side("u", pairs$user), side("v", pairs$item)
  )
  list(mean = mean, sd = 1 / sqrt(estimate$beta))
}

#' @rdname bmf_map
#' @export
predict.bmf_map <- function(object, newdata = NULL,
                            interval = c("none", "prediction"), level = 0.95,
                            ...,
                            user_features = NULL, item_features = NULL) {
  check_map(object)
  call <- rlang::current_env()
  check_no_more(...)
  interval <- check_interval(interval, call, c(
    mean = "A mode is a point: it does not tell how uncertain a mean is."
  ))
  level <- check_level(level)
  model <- object$model
  pairs <- bmf_pairs(
    model, newdata, call, list(u = user_features, v = item_features), FALSE
  )
  latent <- map_latent(object, pairs)
  half <- stats::qnorm((1 + level) / 2) * latent$sd
  rated <- latent
  ends <- list(latent$mean - half, latent$mean + half)
  if (is_latent(model)) {
    moments <- rating_moments(list(model = model), latent)
    rated <- list(mean = moments$mean, sd = sqrt(moments$variance))
    ends <- lapply(ends, clip, model$response$range)
  }
  if (interval == "none") {
    return(rated$mean)
  }
  pair_frame(
    model, pairs, mean = rated$mean,
    sd = rep_len(rated$sd, length(rated$mean)), lower = ends[[1L]],
    upper = ends[[2L]], unknown = pairs$unknown
  )
}

#' @rdname bmf_map
#' @export
fitted.bmf_map <- function(object, ...) {
  check_map(object)
  check_no_more(...)
  predict(object)
}

#' @rdname bmf_map
#' @export
residuals.bmf_map <- function(object, ...) {
  check_map(object)
  check_no_more(...)
  object$model$data$value - predict(object)
}

#' @rdname bmf_map
#' @export
held_out.bmf_map <- function(fit, newdata = NULL, level = c(0.5, 0.8, 0.95),
                             ...) {
  check_map(fit)
  check_no_more(...)
  call <- rlang::current_env()
  level <- check_levels(level)
  model <- fit$model
  pairs <- if (is.null(newdata)) {
    if (is.null(model$pairs$value)) {
      abort_argument(
        "{.arg newdata} is needed: no ratings were held back by
         {.arg predict_at}."
      )
    }
    pairs_held_back(model)
  } else {
    bmf_pairs(model, newdata, call)
  }
  check_some_rows(pairs$user, "newdata", call)
  check_values(pairs, model, call)
  say_not_held(pairs, model, newdata)
  known <- list(model = model)
  latent <- map_latent(fit, pairs)
  mean <- predict(fit, stats::setNames(
    data.frame(pairs$ids$user, pairs$ids$item), model$names[1:2]
  ))
  latent$mean <- matrix(latent$mean, 1L)
  held_out_row(
    pairs$value, mean, drop(rating_log_density(known, pairs$value, latent)),
    rating_below(known, pairs$value, latent), level
  )
}
