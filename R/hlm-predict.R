# Predictions of a hierarchical linear regression: rows, means, intervals and
# draws.
#
# The deviations u_j of gibbs_hlm() are not stored. Given the stored parameters
# of a draw they are normal with known mean and covariance, which the fit's
# reduced rows give. Those of a logistic regression are stored.

# ---- The draws ---------------------------------------------------------------

# list(b, factor, sigma, u): S x p, q x q x S (lower triangular) and S, of a
# matrix of draws; u: q x J x S, or NULL if the deviations are not stored.
hlm_draws_in <- function(model, draws) {
  data <- model$data
  factor <- factors_in_columns(draws, model$columns, data$q, data$diagonal == 1)
  list(
    b = draws[, seq_len(data$p), drop = FALSE],
    factor = aperm(factor, c(2, 3, 1)),
    sigma = if (data$known == 1) {
      rep(1, nrow(draws))
    } else {
      draws[, match("sigma", model$columns)]
    },
    u = predictor_stored_deviations(model, draws)
  )
}

# L of each draw, draws x q x q, lower triangular: of bar f, or with NULL of the
# only one.
factors_in_columns <- function(draws, columns, q, diagonal, f = NULL) {
  column <- function(block, ...) {
    name <- paste0(block, "[", paste(c(f, ...), collapse = ","), "]")
    draws[, match(name, columns)]
  }
  cor <- array(0, c(nrow(draws), q, q))
  for (k in seq_len(q)) {
    cor[, k, k] <- 1
    for (l in seq_len(if (diagonal) 0 else k - 1)) {
      cor[, k, l] <- column("cor", k, l)
    }
  }
  factor <- factor_correlations(cor)
  for (k in seq_len(q)) factor[, k, ] <- factor[, k, ] * column("sd", k)
  factor
}

#' @exportS3Method
predictor_stored_deviations.default <- function(model, draws) NULL

# The stored coefficients of the groups less their means.
#' @exportS3Method
predictor_stored_deviations.stored_groups_model <- function(model, draws) {
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
    own <- to_basis(d$b, data$basis)
    b <- t(own) * data$unit
    at <- data$intercept_at + 1
    if (at <= data$p) {
      b[at, ] <- own[, at] - data$centre +
        drop(own[, -at, drop = FALSE] %*% data$column_mean[-at])
    }
    rows <- groups_of_data(data, codes[known], model$layout$bar_basis)
    found <- .Call(
      C_hlm_conditionals, rows, as.double(b),
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

# The data of some groups, with the data's columns of the bar.
groups_of_data <- function(data, codes, basis) {
  count <- diff(data$start)[codes]
  rows <- sequence(count, data$start[codes] + 1L)
  n <- length(data$response)
  bar <- matrix(data$bar, data$q, n)[, rows, drop = FALSE]
  data$bar <- as.double(if (is.null(basis)) bar else solve(t(basis), bar))
  data$fixed <- as.double(matrix(data$fixed, data$p, n)[, rows])
  data$response <- data$response[rows]
  data$start <- as.integer(c(0, cumsum(count)))
  data$groups <- as.double(length(codes))
  data
}

# ---- Rows --------------------------------------------------------------------

# list(x, z, offset, group, names): the rows to predict; group: NULL without the
# deviations of groups, otherwise codes as in hlm_deviations().
#' @exportS3Method
predictor_rows.hlm_model <- function(model, at, call) {
  design <- model_design(model)
  kept <- kept_bar_terms(model, at$re_formula, call)[[1L]]
  rows <- bar_rows(model, at, list(kept), call)
  if (isTRUE(at$new_groups)) {
    return(rows_of_new_groups(model, rows))
  }
  if (length(kept) == 0L) {
    return(rows)
  }
  rows$group <- if (is.null(at$newdata)) {
    model$frame$group
  } else {
    new_groups(
      design, model$group_name, at$newdata, at$allow_new_levels, call
    )
  }
  rows
}

# The rows of prediction_rows() with z, the columns of all bars. Where a bar has
# some terms in `kept`, of kept_bar_terms(), those of its others are 0.
bar_rows <- function(model, at, kept, call) {
  design <- model_design(model)
  terms <- lapply(design$bars %||% list(design), `[[`, "bar_terms")
  if (is.null(at$newdata)) {
    rows <- prediction_rows(model, NULL, at$offset, call)
    frame <- model$frame$model
    z <- lapply(model$frame$bars %||% list(model$frame), `[[`, "z")
  } else {
    rows <- formula_rows(
      model, at$newdata, terms_to_predict(design, unlist(kept)), call
    )
    frame <- with_other_variables(rows$frame, design)
    rows$frame <- NULL
    rows$x <- plain_design(fitted_design(design, design$fixed_terms, frame))
    rows$offset <- new_offset(
      model, rows$offset, at$offset, nrow(rows$x), call
    )
    z <- lapply(terms, function(terms) {
      plain_design(fitted_design(design, terms, frame))
    })
  }
  rows$z <- do.call(cbind, unname(Map(function(z, terms, kept) {
    if (length(kept) > 0L && !setequal(kept, labels_of_terms(terms))) {
      own <- column_terms(fitted_design(design, terms, frame), terms)
      z[, !own %in% kept] <- 0
    }
    z
  }, z, terms, kept)))
  rows
}

# The terms of the fixed effects with those of these labels, for new data.
terms_to_predict <- function(design, labels) {
  labels <- setdiff(labels, "(Intercept)")
  fixed <- stats::formula(design$fixed_terms)
  whole <- stats::as.formula(
    call("~", Reduce(call_sum, lapply(labels, str2lang),
                     call("(", fixed[[length(fixed)]]))),
    environment(design$terms)
  )
  terms_within(stats::terms(whole), design$terms)
}

# A model frame with the variables that predictions do not need: any value of
# their class.
with_other_variables <- function(frame, design) {
  classes <- attr(design$terms, "dataClasses")
  response <- all_term_variables(design$terms)[attr(design$terms, "response")]
  for (name in setdiff(names(classes), c(names(frame), response))) {
    class <- classes[[name]]
    levels <- design$xlevels[[name]]
    frame[[name]] <- if (!is.null(levels)) {
      factor(rep(levels[[1L]], nrow(frame)), levels)
    } else if (startsWith(class, "nmatrix.")) {
      matrix(0, nrow(frame), as.integer(sub("nmatrix.", "", class)))
    } else {
      rep(if (class == "logical") FALSE else 0, nrow(frame))
    }
  }
  frame
}

labels_of_terms <- function(terms) {
  c(if (attr(terms, "intercept") == 1L) "(Intercept)",
    attr(terms, "term.labels"))
}

# The terms of each bar whose deviations predictions have, by their labels: all
# for NULL, none for NA, and those of a formula such as ~ (1 | g).
kept_bar_terms <- function(model, re_formula, call) {
  design <- model_design(model)
  bars <- design$bars %||% list(design)
  all <- lapply(bars, function(bar) labels_of_terms(bar$bar_terms))
  if (is.null(re_formula)) {
    return(all)
  }
  kept <- lapply(all, function(labels) character())
  if (identical(re_formula, NA)) {
    return(kept)
  }
  if (!inherits(re_formula, "formula") || length(re_formula) != 2L) {
    abort_expected(
      re_formula, "NULL, NA or a formula of bars such as `~ (1 | g)`", FALSE,
      "re_formula", call
    )
  }
  asked <- split_bars(re_formula[[2L]], call)
  if (!deparse1(asked$fixed %||% 0) %in% c("0", "1")) {
    abort_bar(
      "`re_formula` must have bars alone, such as {.code ~ (1 | g)}.", call
    )
  }
  groups <- lapply(bars, function(bar) sort(group_parts(bar$group_expr)))
  parsed <- unlist(lapply(asked$bars, function(bar) {
    parse_bar(bar, environment(re_formula), call)
  }), recursive = FALSE)
  for (bar in parsed) {
    own <- vapply(groups, identical, NA, sort(group_parts(bar$group)))
    labels <- labels_of_terms(stats::terms(bar$bar))
    lacking <- setdiff(labels, unlist(all[own]))
    if (!any(own) || length(lacking) > 0L) {
      name <- deparse1(bar$group)
      known <- bar_words(bars)
      abort_argument(
        c(if (any(own)) {
          "The fit has no deviations of {.val {lacking[[1]]}} by {.val {name}},
           which {.arg re_formula} asks for."
        } else {
          "The fit has no groups {.val {name}}, which {.arg re_formula} asks
           for."
        },
          i = "Its bars are {.code {known}}."),
        call = call, class = "formula"
      )
    }
    kept[own] <- Map(function(kept, all) {
      union(kept, intersect(all, labels))
    }, kept[own], all[own])
  }
  kept
}

# The bars of a fit as text.
bar_words <- function(bars) {
  vapply(bars, function(bar) {
    sprintf("(%s | %s)", deparse1(stats::formula(bar$bar_terms)[[2L]]),
            deparse1(bar$group_expr))
  }, "", USE.NAMES = FALSE)
}

# The codes of hlm_deviations(). design: the parts of the fit's design with
# those of one bar; name: of its groups.
new_groups <- function(design, name, newdata, allow_new_levels, call) {
  used <- setdiff(all.vars(design$group_expr), design$constants)
  check_row_variables(
    design$other_rows, group_parts(design$group_expr), "newdata", call
  )
  newdata <- as_times_of_fit(newdata, design$times, used, call)
  for (own in intersect(group_parts(design$group_expr), names(newdata))) {
    check_not_64_bit(
      newdata[[own]], paste("Variable", quoted(own), "in `newdata`"), call
    )
  }
  reason <- NULL
  values <- tryCatch(
    group_values(design$group_expr, newdata, environment(design$formula)),
    error = function(cnd) {
      reason <<- conditionMessage(cnd)
      NULL
    }
  )
  lacking <- setdiff(used, names(newdata))
  if (length(lacking) > 0L || is.null(values) ||
        any(lengths(values) != nrow(newdata))) {
    abort_argument(
      c(if (length(lacking) > 0L) {
        "{.arg newdata} lacks the groups {.val {name}} of the fit."
      } else {
        "The groups {.val {name}} of the fit cannot be made of {.arg newdata}."
      },
        x = if (length(lacking) == 0L) reason,
        i = "Give {.code re_formula = NA} for predictions without the groups'
             deviations."),
      call = call
    )
  }
  codes <- group_codes(group_ids(values), design$group_ids)
  new <- which(codes > length(design$group_ids[[1L]]) & !duplicated(codes))
  if (length(new) > 0L && !allow_new_levels) {
    shown <- utils::head(joined_words(lapply(values, function(v) {
      id_words(v[new])
    })), 3L)
    abort_argument(
      c("{cli::qty(shown)}Group{?s} {.val {shown}} of {.val {name}}
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
# standard deviation given the draw; with `draw` the deviations that are not
# stored are drawn, and there is no spread.
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
      noise <- if (draw && any(u$root[, , g, ] != 0)) {
        group_noise(rows$steady, codes[block[[g]]], q, count)
      }
      for (c in seq_len(q)) {
        root <- matrix(u$root[, c, g, ], q)
        if (!is.null(noise)) {
          centre <- centre + root * rep(noise[c, ], each = q)
        } else if (!draw) {
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
  if (anyNA(mu)) mu[is.nan(mu)] <- NA
  colnames(mu) <- rows$names
  list(mu = mu, spread = spread)
}

# Standard normal numbers for the deviations of a group, q x draws. Those of a
# group of the fit are the same in each call, so that the predictions of a draw
# agree with each other. Those of a new group come from R's generator.
group_noise <- function(steady, code, q, count) {
  if (is.null(steady) || code > nrow(steady$seeds)) {
    return(matrix(stats::rnorm(q * count), q))
  }
  chain <- (steady$chosen - 1) %/% steady$length + 1
  do.call(cbind, lapply(unique(chain), function(k) {
    own <- steady$chosen[chain == k] - (k - 1) * steady$length
    noise <- from_seed(steady$seeds[[code, k]], stats::rnorm(q * max(own)))
    matrix(noise, q)[, own, drop = FALSE]
  }))
}

#' @exportS3Method
predictor_at_draws.hlm_model <- function(model, draws, rows) {
  d <- hlm_draws_in(model, draws)
  # those that `keep` has stored are the draws'
  own <- coefficient_names(model$data$q, model$data$groups)
  if (is.null(d$u) && all(own %in% model$columns)) {
    d$u <- predictor_stored_deviations.stored_groups_model(model, draws)
  }
  hlm_eta(model, d, rows, TRUE)$mu
}

#' @exportS3Method
predictor_moments.hlm_model <- function(model, draws, rows) {
  at <- hlm_eta(model, hlm_draws_in(model, draws), rows, FALSE)
  list(mean = unname(at$mu), sd = at$spread)
}

# Rows of groups that are not in the fit.
rows_of_new_groups <- function(model, rows) {
  n <- nrow(rows$x)
  if (is.list(model$levels)) {
    rows$codes <- matrix(
      rep(lengths(model$levels) + 1, each = n), n, length(model$levels)
    )
    rows$group <- rows$codes[, 1L]
  } else {
    rows$group <- rep(length(model$levels) + 1L, n)
  }
  rows
}

# ---- Estimates ---------------------------------------------------------------

# Estimates of regressions with groups.

#' Effects of the groups of a regression
#'
#' `fixef()` are the posterior means of the fixed effects \eqn{b}. `ranef()` are
#' the posterior means of the groups' deviations \eqn{u_j}{u_j}, and
#' [coef()][coef.gibbsite_fit] those of the groups' coefficients: the
#' fixed effects plus the deviations, of all bars of a factor together. Of
#' [gibbs_hlm()] both are averages of exact conditional means over the draws,
#' and so are the covariances.
#' `VarCorr()` summarises the standard deviations and correlations of the
#' deviations and \eqn{\sigma}.
#'
#' `fixef()`, `ranef()` and `VarCorr()` are the generics of nlme, which lme4 has
#' too: fits of these packages are read by them as before.
#'
#' @param object,x A fit of a regression with groups: of [gibbs_hlm()],
#'   [gibbs_logistic()], [gibbs_count()], [gibbs_ordinal()] or
#'   [gibbs_categorical()]; for `fixef()` of any regression.
#' @param sigma Not used (an argument of the generic).
#' @param condVar `TRUE` (default) or `FALSE`: whether the data frames have the
#'   attribute `postVar`, as in lme4.
#' @param level Number between 0 and 1, default 0.95: the posterior probability
#'   of each interval.
#' @param ... Not used.
#' @return `fixef()`: a vector with names; `ranef()`: a list with a data frame
#'   for each grouping factor, by its name. It has a row for each group, a
#'   column for each term (of [gibbs_categorical()] one for each category and
#'   term, such as `b[Apartment,(Intercept)]`) and the attribute `postVar`, the
#'   posterior covariances (terms x terms x groups); `VarCorr()`: a data frame
#'   with a row for each parameter; `lme4::ngrps()`: the number of groups of
#'   each factor.
#' @section Errors: `gibbsite_error_argument` for a level out of range, and for
#'   fits without groups.
#' @seealso [gibbs_hlm()], [gibbs_logistic()], [regression-data],
#'   [plot.gibbsite_regression()].
#' @examples
#' fit <- gibbs_hlm(weight ~ Time + (1 + Time | Chick), ChickWeight, seed = 1)
#' fixef(fit)
#' head(ranef(fit)$Chick)
#' VarCorr(fit)
#' head(coef(fit)$Chick)
#' @aliases fixef ranef VarCorr
#' @name fixef.gibbsite_regression
NULL

#' @rdname fixef.gibbsite_regression
#' @rawNamespace S3method(nlme::fixef, gibbsite_regression)
fixef.gibbsite_regression <- function(object, ...) {
  check_no_more(...)
  model <- fit_part(object, "model")
  if (has_groups(model)) fixed_effects(object) else stats::coef(object)
}

fixed_effects <- function(fit) colMeans(coefficient_draws(fit))

# The model of a fit with groups.
grouped_model <- function(fit, arg, call) {
  model <- fit_part(fit, "model")
  if (!has_groups(model)) {
    abort_no_groups(model, arg, "a fit of a formula with groups", call)
  }
  model
}

# list(mean, cov): q x J and q x q x J, of the deviations.
deviation_moments <- function(fit) {
  if (is_imputed(fit)) {
    return(mixed_moments(lapply(imputed_parts(fit), deviation_moments)))
  }
  model <- fit_part(fit, "model")
  d <- hlm_draws_in(model, bind_chains(chain_matrices(fit)))
  q <- model$data$q
  groups <- length(model$levels)
  mean <- matrix(0, q, groups)
  cov <- array(0, c(q, q, groups))
  for (block in row_blocks(groups, length(d$sigma) * q^2, most = 4e6)) {
    u <- hlm_deviations(model, d, block)
    for (g in seq_along(block)) {
      centre <- matrix(u$mean[, g, ], q)
      j <- block[[g]]
      mean[, j] <- rowMeans(centre)
      within <- 0
      for (c in seq_len(q)) {
        within <- within + tcrossprod(matrix(u$root[, c, g, ], q))
      }
      cov[, , j] <- within / ncol(centre) + stats::cov(t(centre))
    }
  }
  list(mean = mean, cov = cov)
}

# The moments of a mixture with equal weights.
mixed_moments <- function(parts) {
  count <- length(parts)
  mean <- Reduce(`+`, lapply(parts, `[[`, "mean")) / count
  cov <- Reduce(`+`, lapply(parts, `[[`, "cov")) / count
  for (j in seq_len(ncol(mean))) {
    away <- vapply(parts, function(part) part$mean[, j] - mean[, j], mean[, j])
    cov[, , j] <- cov[, , j] + tcrossprod(matrix(away, nrow(mean))) / count
  }
  list(mean = mean, cov = cov)
}

#' @rdname fixef.gibbsite_regression
#' @rawNamespace S3method(nlme::ranef, gibbsite_regression)
ranef.gibbsite_regression <- function(object,
                                      condVar = TRUE, # nolint
                                      ...) {
  check_no_more(...)
  condVar <- check_flag(condVar) # nolint: object_name_linter.
  grouped_model(object, "object", rlang::current_env())
  out <- predictor_deviations(fit_part(object, "model"), object)
  if (condVar) out else lapply(out, `attr<-`, "postVar", NULL)
}

#' @exportS3Method
predictor_deviations.hlm_model <- function(model, fit) {
  found <- deviation_moments(fit)
  bar <- model$layout$bar
  out <- as.data.frame(t(found$mean))
  dimnames(out) <- list(model$levels, bar)
  dimnames(found$cov) <- list(bar, bar, model$levels)
  attr(out, "postVar") <- found$cov
  stats::setNames(list(out), model$group_name)
}

#' @exportS3Method
predictor_coefficients.hlm_model <- function(model, fit) {
  fixed <- fixed_effects(fit)
  effects <- predictor_deviations(model, fit)
  # all bars of a factor make the coefficients of its groups
  lapply(bars_by_factor(model), function(bars) {
    deviations <- do.call(cbind, unname(effects[bars]))
    names <- union(names(fixed), names(deviations))
    out <- vapply(names, function(name) {
      rep(if (name %in% names(fixed)) fixed[[name]] else 0, nrow(deviations)) +
        if (name %in% names(deviations)) deviations[[name]] else 0
    }, numeric(nrow(deviations)))
    out <- as.data.frame(matrix(out, nrow(deviations)))
    dimnames(out) <- list(rownames(deviations), names)
    out
  })
}

#' @rdname fixef.gibbsite_regression
#' @exportS3Method lme4::ngrps
ngrps.gibbsite_fit <- function(object, ...) {
  check_no_more(...)
  model <- grouped_model(object, "object", rlang::current_env())
  levels <- model$levels
  if (is.list(levels)) {
    lengths(levels)
  } else {
    stats::setNames(length(levels), model$group_name)
  }
}

#' @rdname fixef.gibbsite_regression
#' @rawNamespace S3method(nlme::VarCorr, gibbsite_regression)
VarCorr.gibbsite_regression <- function( # nolint: object_name_linter.
    x, sigma = 1, level = 0.95, ...) {
  check_no_more(...)
  if (!identical(sigma, 1)) {
    abort_argument("`sigma` must be 1: it belongs to nlme's generic.")
  }
  level <- check_level(level)
  model <- grouped_model(x, "x", rlang::current_env())
  bars <- predictor_bars(model)
  noise <- "sigma" %in% model$columns
  columns <- c(
    unlist(lapply(bars, `[[`, "columns")), if (noise) "sigma"
  )
  words <- do.call(rbind, Map(function(name, design, columns) {
    bar <- design$bar
    q <- length(bar)
    cor <- term_pairs(q)
    if (design$diagonal) cor <- cor[0L, , drop = FALSE]
    data.frame(
      group = rep(name, length(columns)), term = c(bar, bar[cor[, 2L]]),
      with = c(rep(NA, q), bar[cor[, 1L]])
    )
  }, names(bars), lapply(bars, `[[`, "design"), lapply(bars, `[[`, "columns")))
  if (noise) words <- rbind(words, data.frame(
    group = "Residual", term = NA, with = NA
  ))
  draws <- bind_chains(
    chain_matrices(x), columns = match(columns, model$columns)
  )
  bounds <- central_intervals(draws, level)
  data.frame(
    words, mean = colMeans(draws), sd = apply(draws, 2L, stats::sd),
    lower = bounds[, 1L], upper = bounds[, 2L], row.names = columns
  )
}

# The bars by the names of their groups: a list of list(design, columns), the
# names of the standard deviations and correlations.
#' @exportS3Method
predictor_bars.hlm_model <- function(model) {
  design <- model$layout
  q <- length(design$bar)
  stats::setNames(list(list(
    design = design, columns = c(
      indexed("sd", seq_len(q)),
      if (!design$diagonal && q > 1L) correlation_names(q)
    )
  )), model$group_name)
}

# The parameters are all columns but the log-likelihood and the coefficients of
# groups.
#' @exportS3Method
predictor_parameters.hlm_model <- function(model) {
  grep("^(log_lik$|w\\[)", model$columns, invert = TRUE)
}
