# gibbs_gmm() with an unknown number of components: prior and model.

#' @section An unknown number of components:
#' Given as the argument `k` of [gibbs_gmm()], `unknown_k()` makes the number of
#' components an unknown of the model, with a prior on \eqn{1, \dots,
#' \mathrm{max}}{1, ..., max} (a mixture of finite mixtures):
#' \deqn{k \sim p(k), \quad \pi \mid k \sim \mathrm{Dir}(\gamma, \dots,
#'   \gamma), \quad \gamma = \alpha \mbox{ or } \alpha / k.}{
#'   k ~ p(k), pi | k ~ Dir(gamma, ..., gamma), gamma = alpha or alpha / k.}
#' `k = "unknown"` means `unknown_k()`.
#'
#' The named priors are truncated: \eqn{p(k)} is proportional to
#'
#' * `"bnb"`: \eqn{(k + 1)! / (k + 6)!}, up to a constant the
#'   beta-negative-binomial distribution \eqn{\mathrm{BNB}(1, 4, 3)}{BNB(1, 4,
#'   3)} of \eqn{k - 1}, whose mean without truncation is 1;
#' * `"uniform"`: 1;
#' * `"geometric"`: \eqn{0.9^{k - 1}}{0.9^(k - 1)};
#' * `"poisson"`: \eqn{1 / (k - 1)!}, the Poisson distribution of \eqn{k - 1}
#'   with mean 1.
#'
#' The number of components \eqn{k} is not the number of clusters
#' \eqn{k_+}{k+}, the components that hold observations. With dynamic weights
#' the concentration of each component falls with \eqn{k}. In the prior the gap
#' between the numbers of components and clusters therefore grows with \eqn{k}.
#' @param max The largest number of components, a whole number from 1 to 1000.
#' @param prior The prior of `k`: `"bnb"` (default), `"uniform"`, `"geometric"`,
#'   `"poisson"`, or a vector of `max` probabilities of 1, ..., `max`, which are
#'   divided by their sum. If `max` is not given, it is the vector's length.
#' @param weights `"dynamic"` (default): \eqn{\gamma = \alpha / k}{gamma =
#'   alpha / k}. `"static"`: \eqn{\gamma = \alpha}{gamma = alpha}, so that
#'   `alpha = 1` is uniform over the weights.
#' @return `unknown_k()`: an object of class `unknown_k`; printing it shows the
#'   prior.
#' @section Errors: `gibbsite_error_argument` for a value of the wrong type or
#'   out of its range.
#' @references
#' Frühwirth-Schnatter S, Malsiner-Walli G, Grün B (2021). Generalized
#' mixtures of finite mixtures and telescoping sampling. *Bayesian Analysis* 16,
#' 1279-1307. \doi{10.1214/21-BA1294}
#'
#' Miller JW, Harrison MT (2018). Mixture models with a prior on the number of
#' components. *JASA* 113, 340-356. \doi{10.1080/01621459.2016.1255636}
#' @examples
#' unknown_k()
#' unknown_k(30, "uniform", "static")
#' fit <- gibbs_gmm(faithful, unknown_k(10), draws = 200, burnin = 200,
#'   chains = 2, seed = 1
#' )
#' posterior_k(fit)
#' @rdname gmm-unknown
#' @export
unknown_k <- function(max = 20, prior = c("bnb", "uniform", "geometric",
                                          "poisson"),
                      weights = c("dynamic", "static")) {
  call <- rlang::current_env()
  if (is.numeric(prior)) {
    prior <- check_numeric_vector(prior, lower = 0)
    if (missing(max)) max <- length(prior)
  } else {
    prior <- check_choice(prior, names(size_priors))
  }
  max <- check_count(max, max = 1000)
  if (is.numeric(prior)) {
    prior <- check_size_probabilities(prior, max, call)
  }
  structure(
    list(
      max = max, prior = prior,
      weights = check_choice(weights, c("dynamic", "static"))
    ),
    class = "unknown_k"
  )
}

check_size_probabilities <- function(prior, max, call) {
  if (length(prior) != max) {
    abort_argument(
      "{.arg prior} must have {max} probabilities ({.arg max}), not
       {length(prior)}.",
      call = call
    )
  }
  if (!(sum(prior) > 0 && sum(prior) < Inf)) {
    abort_argument(
      "{.arg prior} must have a positive and finite sum, not {sum(prior)}.",
      call = call
    )
  }
  unname(prior)
}

# log p(k) but for a constant.
size_priors <- list(
  bnb = function(k) lgamma(k + 2) - lgamma(k + 7),
  uniform = function(k) 0 * k,
  geometric = function(k) (k - 1) * log(0.9),
  poisson = function(k) -lgamma(k)
)

# log p(k) of 1, ..., max.
log_size_prior <- function(number) {
  value <- if (is.numeric(number$prior)) {
    log(number$prior)
  } else {
    size_priors[[number$prior]](seq_len(number$max))
  }
  value <- value - max(value)
  value - log(sum(exp(value)))
}

#' @export
format.unknown_k <- function(x, ...) {
  x <- remade(x, unknown_k, "unknown_k()")
  on <- paste0(" on 1, ..., ", x$max)
  c(
    paste0("k ~ ", if (is.numeric(x$prior)) {
      paste0("given probabilities", on)
    } else {
      paste0(switch(x$prior,
        bnb = "1 + BNB(1, 4, 3)", uniform = "uniform",
        geometric = "1 + Geometric(0.1)", poisson = "1 + Poisson(1)"
      ), on)
    }),
    paste0(
      "pi | k ~ Dir(", if (x$weights == "dynamic") "alpha / k" else "alpha", ")"
    )
  )
}

#' @export
print.unknown_k <- function(x, ...) print_lines(x)

# An object of unknown_k() from the argument k, NULL for a number.
as_unknown_k <- function(k, call) {
  if (identical(k, "unknown")) {
    return(unknown_k())
  }
  if (is.character(k)) {
    abort_expected(
      k, "a whole number, \"unknown\" or made by unknown_k()", FALSE, "k", call,
      hint = case_hint(k, "unknown")
    )
  }
  if (inherits(k, "unknown_k")) {
    remade(k, unknown_k, "unknown_k()", arg = "k", call = call)
  }
}

# ---- The complete prior ------------------------------------------------------

# The prior with every field filled in, or an error of the user's call.
complete_unknown_prior <- function(prior, x, number, covariance, call,
                                   names = colnames(x)) {
  prior <- made_prior(prior, gmm_prior, call)
  d <- ncol(x)
  diagonal <- covariance == "diagonal"
  spans <- column_scales(x, call)
  prior <- complete_components(
    prior, spans, if (diagonal) 5 else d + 4, names, covariance, call
  )
  prior$alpha <- complete_one_alpha(prior$alpha, call)
  if (is.null(prior$s0) || identical(prior$s0, "drawn")) {
    if (!diagonal) check_full_rank(x, names, call)
    prior$s0 <- "drawn"
    prior$s0_df <- prior$s0_df %||% if (diagonal) 1 else d
    check_degrees(prior$s0_df, "s0_df", d, covariance, "Wishart", call)
    prior$s0_mean <- complete_gmm_scale(
      prior$s0_mean %||% (prior$nu0 / 100 * spans$range^2), d, names, "s0_mean",
      covariance, call
    )
  } else {
    prior$s0 <- complete_gmm_scale(prior$s0, d, names, "s0", covariance, call)
  }
  prior$number <- number
  class(prior) <- union("gmm_unknown_prior", class(prior))
  prior
}

complete_one_alpha <- function(alpha, call) {
  if (identical(alpha, "sparse")) {
    return(0.01)
  }
  alpha <- alpha %||% "drawn"
  if (length(alpha) != 1L) {
    abort_argument(
      "`alpha` of `prior` must be one number or {.val drawn} for an unknown
       number of components, not {length(alpha)} numbers.",
      call = call
    )
  }
  alpha
}

#' @export
format.gmm_unknown_prior <- function(x, ...) {
  check_made(x, c(names(formals(gmm_prior)), "number"), "gibbs_gmm()")
  number <- remade(x$number, unknown_k, "unknown_k()", arg = "x")
  dynamic <- number$weights == "dynamic"
  c(
    format(number)[[1L]],
    paste0("pi | k   ~ Dir(", if (dynamic) "alpha / k)" else "alpha)    ",
           "  z_i | pi ~ Categorical(pi)"),
    "mu_c     ~ N(m0, V0)       x_i | z_i = c ~ N(mu_c, Sigma_c)",
    "Sigma_c  ~ IW(nu0, S0)     (degrees of freedom, scale matrix)",
    format_gmm_fields(x)
  )
}

# Where columns are linear combinations of others s0 is drawn towards 0 in a
# direction, and no covariance stays positive definite.
check_full_rank <- function(x, names, call) {
  complete <- x[rowSums(is.na(x)) == 0, , drop = FALSE]
  varies <- which(apply(complete, 2L, function(v) any(v != v[[1L]])))
  if (nrow(complete) <= ncol(x) || length(varies) < 2L) {
    return(invisible())
  }
  factors <- qr(scale(complete[, varies]), tol = 1e-9)
  if (factors$rank < length(varies)) {
    lost <- varies[factors$pivot[[factors$rank + 1L]]]
    lost <- (names %||% paste("column", seq_len(ncol(x))))[[lost]]
    abort_argument(
      c("{.arg x} must not have columns that are linear combinations of others:
         {.val {lost}} is one.",
        i = "Leave it out, or give {.code gmm_prior(s0 = )} a scale."),
      call = call, class = "collinear"
    )
  }
}

# ---- The model ---------------------------------------------------------------

# The model behind gibbs_gmm() with an unknown number of components: its methods
# for the generics of model.R. src/core/gmm/gmm_unknown.h has the mathematics.
#
# The field `k` is the largest number of components, for which draws and states
# have places. The components that a state has are a mixture of a fixed number:
# fixed_model() and fixed_state().

gmm_unknown_model <- function(x, number, prior, covariance, keep, merge_split,
                              source) {
  k <- number$max
  data <- unknown_data(x, number, prior, covariance, keep, merge_split)
  new_model(
    "gmm_unknown_model",
    name = "gibbs_gmm", fit_class = c("gibbs_gmm_unknown", "gibbs_gmm"),
    title = "Gaussian mixture",
    headline = unknown_headline(x, k, covariance),
    data = data, prior = prior, nobs = sum(rows_seen(x)), rows = nrow(x),
    columns = unknown_columns(x, k, prior, covariance, keep),
    k = as.integer(k), variables = colnames(x), covariance = covariance,
    cures = paste(
      "The number of components mixes slowly where clusters overlap, and may",
      "need tens of thousands of draws: see ?gibbs_gmm, section Unknown k."
    ),
    reference = reference_points(x),
    keep = keep, merge_split = merge_split, source = source,
    ties = tied_variables(x, prior, covariance)
  )
}

#' @exportS3Method
model_words.gmm_unknown_model <- function(model) {
  c("k = \"unknown\"", covariance_words(model))
}

unknown_headline <- function(x, k, covariance) {
  sub(
    "[0-9,]+ components?", paste0("unknown number of components (at most ", k,
                                  ")"),
    gmm_headline(x, k, covariance)
  )
}

# What C reads. Numbers of alpha and S0 stand in the state.
unknown_data <- function(x, number, prior, covariance, keep, merge_split) {
  d <- ncol(x)
  fixed <- prior
  fixed$alpha <- numeric(number$max)
  fixed$s0 <- matrix(0, d, d)
  data <- gmm_data(x, number$max, fixed, covariance, keep, merge_split)
  drawn <- identical(prior$s0, "drawn")
  data$unknown <- list(
    log_prior = log_size_prior(number),
    dynamic = as.integer(number$weights == "dynamic"),
    draw_alpha = as.integer(identical(prior$alpha, "drawn")),
    f1 = alpha_degrees[[1L]], f2 = alpha_degrees[[2L]],
    draw_s0 = as.integer(drawn),
    df0 = if (drawn) as.double(prior$s0_df) else 0,
    # W(g, M / g): G0 = g M^-1
    g0 = as.double(if (drawn) {
      prior$s0_df * chol2inv(chol(prior$s0_mean))
    } else {
      numeric(d^2)
    }),
    keep_components = as.integer("components" %in% keep)
  )
  data
}

# alpha ~ F(6, 3), unless it is a number
alpha_degrees <- c(6, 3)

draw_alpha <- function(prior) {
  if (is.character(prior$alpha)) {
    return(stats::rf(1L, alpha_degrees[[1L]], alpha_degrees[[2L]]))
  }
  prior$alpha
}

unknown_columns <- function(x, k, prior, covariance, keep) {
  all <- gmm_columns(x, k, covariance, keep)
  block <- column_parts(all)$block
  components <- block %in% c("pi", "mu", "Sigma", "sigma2")
  d <- seq_len(ncol(x))
  c(
    "k", "n_occupied", if (identical(prior$alpha, "drawn")) "alpha",
    if (identical(prior$s0, "drawn")) {
      if (covariance == "diagonal") indexed("S0", d) else indexed("S0", d, d)
    },
    "log_lik", if ("components" %in% keep) all[components],
    all[block %in% c("z", "x")]
  )
}

# ---- The components of a state -----------------------------------------------

# The mixture of k components given alpha and S0.
fixed_model <- function(model, k, alpha, s0) {
  prior <- model$prior
  d <- length(model$variables)
  weight <- if (prior$number$weights == "dynamic") alpha / k else alpha
  prior$alpha <- rep(weight, k)
  prior$s0 <- matrix(s0, d, d)
  class(prior) <- setdiff(class(prior), "gmm_unknown_prior")
  gmm_model(
    model$data$x, k, prior, model$covariance, character(), model$merge_split
  )
}

fixed_of <- function(model, state) {
  fixed_model(model, state$k, state$alpha, state$s0)
}

# The places that the present components have in vectors of the state.
fixed_state <- function(model, state) {
  k <- state$k
  state$log_pi <- state$log_pi[seq_len(k)]
  state$mu <- as.vector(matrix(state$mu, model$k)[seq_len(k), ])
  if (model$covariance != "shared") {
    size <- length(state$factor) / model$k
    state$factor <- state$factor[seq_len(k * size)]
  }
  state
}

# The state with places for all components, from one of a fixed number.
unknown_state <- function(model, state, k, alpha, s0) {
  d <- length(model$variables)
  empty <- model$k - k
  one <- switch(model$covariance,
    full = diag(d), diagonal = rep(1, d), shared = numeric()
  )
  state$prob <- numeric()
  state$numbering <- NULL
  state$log_pi <- c(state$log_pi, numeric(empty))
  state$mu <- as.vector(rbind(matrix(state$mu, k), matrix(0, empty, d)))
  state$factor <- c(state$factor, rep(as.double(one), empty))
  c(state, list(
    k = as.double(k), alpha = as.double(alpha), s0 = as.double(s0)
  ))
}

# ---- Starting values ---------------------------------------------------------

# Chains start from numbers of components spread over 1 to 10.
#' @exportS3Method
model_start.gmm_unknown_model <- function(model, init) {
  prior <- model$prior
  alpha <- init$alpha %||% draw_alpha(prior)
  s0 <- if (identical(prior$s0, "drawn")) prior$s0_mean else prior$s0
  k <- init$k %||% start_size(model, max(init$z, 1))
  fixed <- fixed_model(model, k, alpha, s0)
  state <- if (is.null(init$z)) {
    best_start(fixed)
  } else {
    one_start(fixed, list(z = init$z))
  }
  unknown_state(model, state, k, alpha, s0)
}

# A number of components of positive probability, `least` or more.
start_size <- function(model, least) {
  possible <- which(model$data$unknown$log_prior > -Inf)
  possible <- possible[possible >= least]
  near <- possible[possible <= max(least, min(10, model$rows))]
  if (length(near) == 0L) near <- possible[[1L]]
  near[[sample.int(length(near), 1L)]]
}

#' @exportS3Method
model_check_init.gmm_unknown_model <- function(model, init, where, call) {
  check_init_names(init, c("k", "alpha", "z"), where, call)
  sizes <- list(k = 1, alpha = 1, z = model$rows)
  arg <- function(name) paste0(where, "$", name)
  for (name in names(init)) {
    check_init_shape(init[[name]], sizes[[name]], arg(name), call)
  }
  possible <- which(model$data$unknown$log_prior > -Inf)
  abort_elements(
    !init$k %in% possible, init$k, arg("k"),
    paste("a whole number of positive probability, at most", model$k), call
  )
  most <- init$k %||% max(possible)
  abort_elements(
    !init$z %in% seq_len(most), init$z, arg("z"),
    paste("whole numbers from 1 to", most), call
  )
  abort_elements(init$alpha <= 0, init$alpha, arg("alpha"), "positive", call)
  if (!is.null(init$alpha) && !is.character(model$prior$alpha)) {
    abort_argument(
      "`{where}$alpha` is not for a prior with a fixed `alpha`.", call = call
    )
  }
  init
}

#' @exportS3Method
model_init_from_state.gmm_unknown_model <- function(model, state) {
  c(
    list(k = state$k, z = state$z),
    if (is.character(model$prior$alpha)) list(alpha = state$alpha)
  )
}

# ---- The state ---------------------------------------------------------------

#' @exportS3Method
model_sweeps.gmm_unknown_model <- function(model, state, n, control) {
  result <- tryCatch(
    .Call(C_gmm_unknown_sweeps, model$data, state, n, control),
    gibbsite_collapse = function(cnd) {
      if (is.null(model$ties)) {
        rlang::cnd_signal(cnd)
      }
      abort_ties(model, model$ties[1L, ])
    }
  )
  if (!is.null(result) && !is.null(model$ties)) {
    check_not_tied(model, result$state)
  }
  result
}

# ---- Tied observations -------------------------------------------------------

# The variables of which so many observations have the same value that the
# posterior has no finite integral, the worst first. A data frame with the
# columns variable, value, count and unit (the smallest difference of two
# values), or NULL if there is none.
#
# Let k = 2, and let one component have these `count` observations alone. The
# density, integrated over S0, goes as the component's smallest variance v to
# the power
#   (nu0 + s0_df - count - 1) / 2,
# which has a finite integral at 0 if count < nu0 + s0_df + 1. With diagonal
# covariances the same holds for each variable.
tied_variables <- function(x, prior, covariance) {
  if (!identical(prior$s0, "drawn") || covariance == "shared") {
    return(NULL)
  }
  rows <- lapply(seq_len(ncol(x)), function(j) {
    values <- sort(unique(x[, j]))
    counts <- tabulate(match(x[, j], values))
    at <- which.max(counts)
    data.frame(
      variable = j, value = values[[at]], count = counts[[at]],
      unit = if (length(values) > 1L) min(diff(values)) else Inf
    )
  })
  found <- do.call(rbind, rows)
  found <- found[found$count >= prior$nu0 + prior$s0_df + 1, ]
  if (nrow(found) > 0L) found[order(-found$count), ]
}

# A component whose standard deviation is far below the unit of the values has
# tied observations alone, and its variance falls without end.
check_not_tied <- function(model, state) {
  d <- length(model$variables)
  squares <- fixed_state(model, state)$factor^2
  # d x components: variances, of which a factor's rows have the squares
  variances <- if (model$covariance == "diagonal") {
    squares
  } else {
    apply(array(squares, c(d, d, state$k)), 3L, rowSums)
  }
  least <- sqrt(apply(matrix(variances, d), 1L, min))
  for (row in seq_len(nrow(model$ties))) {
    tie <- model$ties[row, ]
    if (least[[tie$variable]] < tie$unit / 100) {
      abort_ties(model, tie)
    }
  }
}

abort_ties <- function(model, tie) {
  n <- nrow(model$data$x)
  variable <- model$variables[[tie$variable]]
  value <- if (length(model$variables) == 1L) "value" else "`{variable}`"
  scale <- call_of_scale(model$prior$s0_mean)
  abort_numeric(
    c("A component has tied observations alone, and its variance falls without
       end, because {.code s0} is drawn.",
      x = paste0("{tie$count} of {n} observations have the same ", value,
                 ", {tie$value}."),
      i = "Give {.code gmm_prior(s0 = )} a scale, such as {.code {scale}}. The
           number of clusters depends on it: try a third of it too.",
      i = "Or undo the rounding: add {.code runif(n, -h, h)} to the n values
           that are rounded, where h is half of the unit of the rounding."),
    call = NULL, class = "ties"
  )
}

# A scale matrix as one would type it, with two digits.
call_of_scale <- function(scale) {
  numbers <- toString(signif(if (is.matrix(scale)) diag(scale) else scale, 2))
  if (is.matrix(scale) && nrow(scale) > 1L) {
    paste0("diag(c(", numbers, "))")
  } else if (length(scale) > 1L) {
    paste0("c(", numbers, ")")
  } else {
    numbers
  }
}

#' @exportS3Method
set_data.gmm_unknown_model <- function(model, data,
                                       call = rlang::caller_env()) {
  fresh <- gmm_unknown_model(
    observations_again(model, data, call), model$prior$number, model$prior,
    model$covariance, model$keep, model$merge_split, model$source
  )
  model[names(fresh)] <- fresh
  model
}

# ---- Invariants and notes ----------------------------------------------------

# The numbers of components and of clusters, alpha, the log-likelihood and the
# variances of S0; where components are stored also the largest weight, and mean
# and covariance of the mixture.
#' @exportS3Method
model_invariants.gmm_unknown_model <- function(model, draws) {
  own <- unlabelled_columns(model)
  if (!"components" %in% model$keep) {
    return(unname_rows(draws[, own, drop = FALSE]))
  }
  columns <- in_blocks(model$columns, c("pi", "mu", "Sigma", "sigma2"))
  moments <- model_invariants.gmm_model(
    model, draws[, c(columns, "log_lik"), drop = FALSE]
  )
  kept <- column_parts(colnames(moments))$block %in%
    c("mean", "cov", "together") | colnames(moments) == "weight[1]"
  unname_rows(
    cbind(draws[, own, drop = FALSE], moments[, kept, drop = FALSE])
  )
}

# The answers are the density, its moments and the occupied components.
#' @exportS3Method
model_inner.gmm_unknown_model <- function(model) c("k", "alpha")

# Columns that do not depend on the numbering, off-diagonal elements of S0 and
# missing entries left out.
unlabelled_columns <- function(model) {
  d <- length(model$variables)
  c(
    in_blocks(model$columns, c("k", "n_occupied", "alpha", "log_lik")),
    intersect(
      c(paste0("S0[", seq_len(d), ",", seq_len(d), "]"),
        paste0("S0[", seq_len(d), "]")),
      model$columns
    )
  )
}

#' @exportS3Method
model_labelled.gmm_unknown_model <- function(model, invariants) {
  in_blocks(model$columns, c(
    "pi", "mu", "sigma2", "z", if (model$covariance != "shared") "Sigma"
  ))
}

#' @exportS3Method
model_labels.gmm_unknown_model <- function(model) {
  labels <- model_labels.gmm_model(model)
  parts <- column_parts(model$columns)
  own <- parts$block %in% c("k", "alpha", "S0")
  labels$label[own] <- vapply(which(own), function(i) {
    at <- parts$index[[i]]
    switch(parts$block[[i]],
      k = "components", alpha = "concentration of the weights",
      S0 = paste("scale of the covariances of",
                 paste(unique(model$variables[at]), collapse = " and "))
    )
  }, "")
  labels
}

#' @exportS3Method
model_next.gmm_unknown_model <- function(model) {
  c("posterior_k(fit)", if ("z" %in% model$keep) "point_clustering(fit)")
}

#' @exportS3Method
model_notes.gmm_unknown_model <- function(model, fit, table) {
  c("", size_lines(fit))
}

# A small table of the posteriors of the numbers of components and of clusters.
size_lines <- function(fit) {
  table <- size_table(fit)
  shown <- which(table$components >= 0.005 | table$clusters >= 0.005)
  shown <- seq(min(shown), max(shown))
  shown <- utils::head(shown, 10L)
  cells <- rbind(
    format(table$k[shown]), sprintf("%.2f", table$components[shown]),
    sprintf("%.2f", table$clusters[shown])
  )
  names <- c("k", "P(components = k)", "P(clusters = k)")
  cells <- format(cells, width = 5, justify = "right")
  paste(format(names), apply(cells, 1L, paste, collapse = " "))
}

# data.frame(k, prior, components, clusters) of 1, ..., max.
size_table <- function(fit) {
  model <- fit_part(fit, "model")
  share <- function(column) {
    at <- match(column, model$columns)
    # a column without a copy of the chain
    draws <- unlist(lapply(seq_along(fit), function(k) {
      chain <- .subset2(fit, k)
      .subset(chain, seq_len(nrow(chain)) + (at - 1) * nrow(chain))
    }))
    tabulate(draws, model$k) / length(draws)
  }
  data.frame(
    k = seq_len(model$k), prior = exp(log_size_prior(model$prior$number)),
    components = share("k"), clusters = share("n_occupied")
  )
}

#' @rdname gmm-unknown
#' @export
posterior_k <- function(fit) {
  check_needed(fit = "a fit made by gibbs_gmm() with an unknown k")
  check_gmm(fit)
  if (!draws_k(fit_part(fit, "model"))) {
    abort_argument(c(
      "{.arg fit} must be a fit with an unknown number of components, not one
       with a fixed {.arg k}.",
      i = "Fit with {.code k = \"unknown\"}; {.fn compare_k} compares fits of
           several {.arg k}."
    ))
  }
  size_table(fit)
}

# The quantities that do not depend on the numbering, unless others are asked
# for.
#' @export
summary.gibbs_gmm_unknown <- function(object, variables = NULL,
                                      probs = c(0.025, 0.5, 0.975), ...) {
  call <- rlang::current_env()
  check_no_more(...)
  variables <- variables %||% unlabelled_columns(fit_part(object, "model"))
  fit_summary(object, variables, probs, "object", call)
}

# The same quantities: a mean over draws without a component says nothing.
#' @export
tidy.gibbs_gmm_unknown <- function(x, conf.level = 0.95, ..., conf.int = TRUE,
                                   exponentiate = FALSE) {
  check_no_more(...)
  tidy_quantities(
    x, conf.level, conf.int, exponentiate, rlang::current_env(),
    unlabelled_columns(fit_part(x, "model"))
  )
}

# ---- What needs a fixed k ----------------------------------------------------

#' @exportS3Method
model_unbounded.gmm_unknown_model <- function(model, given, call) {
  abort_unknown_k(
    "The log evidence", call,
    "The posterior of the number of components takes its place:
     {.fn posterior_k}."
  )
}

#' @exportS3Method
model_compare_k.gmm_unknown_model <- function(model, fits, names, settings,
                                              call) {
  abort_unknown_k(
    "{.fn compare_k}", call,
    "The fit compares the numbers of components itself: {.fn posterior_k}."
  )
}

# ---- The joint distribution --------------------------------------------------

#' @exportS3Method
draw_prior.gmm_unknown_model <- function(model) {
  prior <- model$prior
  k <- sample.int(model$k, 1L, prob = exp(model$data$unknown$log_prior))
  alpha <- draw_alpha(prior)
  s0 <- draw_prior_scale(model)
  fixed <- fixed_model(model, k, alpha, s0)
  unknown_state(model, draw_prior.gmm_model(fixed), k, alpha, s0)
}

draw_prior_scale <- function(model) {
  prior <- model$prior
  if (!identical(prior$s0, "drawn")) {
    return(prior$s0)
  }
  d <- length(model$variables)
  g <- prior$s0_df
  if (model$covariance == "diagonal") {
    return(diag(
      stats::rgamma(d, g / 2, g / (2 * diag(prior$s0_mean))), d
    ))
  }
  matrix(stats::rWishart(1L, g, prior$s0_mean / g), d)
}

#' @exportS3Method
simulate_data.gmm_unknown_model <- function(model, state) {
  simulate_data.gmm_model(fixed_of(model, state), fixed_state(model, state))
}

# Invariants, the likelihood of the observed entries and log p(z | pi) of the
# components that the state has; the numbers of components and of observations
# in them.
#' @exportS3Method
model_quantities.gmm_unknown_model <- function(model, state) {
  fixed <- fixed_of(model, state)
  values <- model_quantities.gmm_model(fixed, fixed_state(model, state))
  block <- column_parts(names(values))$block
  sizes <- tabulate(state$z, state$k)
  c(
    values[block != "weight" | names(values) == "weight[1]"],
    k = state$k, n_occupied = sum(sizes > 0), pairs = sum(sizes^2),
    alone = sum(sizes == 1),
    if (is.character(model$prior$alpha)) {
      c(log_alpha = log(state$alpha),
        "k log_alpha" = state$k * log(state$alpha))
    },
    if (identical(model$prior$s0, "drawn")) {
      c(log_s0 = log(det(matrix(state$s0, length(model$variables)))))
    }
  )
}

# Of the components with and without observations: mean squares of the means
# about m0, and log determinants of the covariances.
#' @exportS3Method
further_quantities.gmm_unknown_model <- function(model, state) {
  p <- gmm_parameters(fixed_of(model, state), fixed_state(model, state))
  filled <- seq_len(state$k) %in% state$z
  square <- rowMeans((p$mu - rep(model$prior$m0, each = state$k))^2)
  log_det <- vapply(seq_len(state$k), function(c) {
    log(det(as.matrix(p$Sigma[c, , ])))
  }, 0)
  c(
    filled_mean = sum(square[filled]), empty_mean = sum(square[!filled]),
    filled_log_det = sum(log_det[filled]),
    empty_log_det = sum(log_det[!filled]),
    empty_weight = sum(p$pi[!filled])
  )
}
