# Regression of categories without an order: gibbs_categorical().

#' Regression of categories without an order
#'
#' Draws from the posterior of a multinomial logit regression, with or without
#' groups. With \eqn{n} responses in the categories \eqn{1, \ldots, K}{1, ...,
#' K}, predictors \eqn{x_i \in R^p}{x_i in R^p} and offsets \eqn{o_i}, the
#' log-odds of category \eqn{k} against the first are
#' \deqn{\log \frac{p_{ik}}{p_{i1}} = \eta_{ik} = x_i^\top b_k + o_i, \quad
#'   k = 2, \ldots, K.}{log(p_ik / p_i1) = eta_ik = x_i'b_k + o_i,
#'   k = 2, ..., K.}
#' A row has one category, or a count in each category,
#' \deqn{(s_{i1}, \ldots, s_{iK}) \sim \mathrm{Multinomial}(m_i, p_i).}{
#'   (s_i1, ..., s_iK) ~ Multinomial(m_i, p_i).}
#' The first category is the reference, as in `nnet::multinom()`. With two
#' categories the model is that of [gibbs_logistic()].
#'
#' @section Groups:
#' A formula `y ~ x + (1 + x | g) + (1 | item)` has coefficients that vary
#' between groups, in the notation of [gibbs_hlm()]: any number of bars, whose
#' groups are nested or crossed. With bar \eqn{f},
#' \deqn{\eta_{ik} = o_i + x_i^\top b_k + \sum_f z_{fi}^\top u_{fk,j(f,i)},
#'   \quad u_{fkj} \sim \mathrm{N}(0, \Sigma_{fk}).}{
#'   eta_ik = o_i + x_i'b_k + sum_f z_fi'u_fk,j(f,i), u_fkj ~ N(0, Sigma_fk).}
#' Each category has deviations and covariances of its own, which are
#' independent of those of the others.
#'
#' @section Prior:
#' Each category but the first has its own coefficients and covariances, with
#' the prior of [logistic_prior()]. Variances of coefficients must be finite.
#' The prior is that of differences from the first category: another reference
#' is another prior.
#'
#' @section Sampler:
#' A Gibbs sampler that takes one category after the other against the rest
#' (Holmes and Held 2006). Given the coefficients of the other categories, those
#' of category \eqn{k} have the likelihood of a logistic regression with the
#' offset \eqn{o_i - \log \sum_{l \ne k} \exp \eta_{il}}{o_i - log(sum over the
#' other categories of exp(eta_il))}. This is the sampler of [gibbs_logistic()]
#' with groups: with Polya-Gamma variables (Polson, Scott and Windle 2013), or
#' with the proposals of [gibbs_count()] where rows have five observations or
#' more on average. With more than two categories further steps move the fixed
#' effects of all of them together, and the deviations of each group (Liu and
#' Sabatti 2000): they are correlated where the first category is rare. The
#' draws have no error but the Monte Carlo error. The time of a sweep is
#' proportional to the number of rows times \eqn{K - 1}.
#'
#' @section Weights:
#' A weight is the number of observations that a row stands for, as in a table
#' of frequencies: it multiplies the log-likelihood. Rows with weight 0 are left
#' out.
#'
#' @section Stored quantities:
#' One column for each coefficient, `b[category,term]`; of groups the standard
#' deviations `sd[category,f,k]` of term \eqn{k} of factor \eqn{f}, the
#' correlations `cor[category,f,k,l]` and the deviations `u[category,f,k,j]` of
#' group \eqn{j}; and `log_lik`, the log-likelihood. Convergence is judged on
#' all columns but the deviations, and on those of at most 20 groups of each
#' factor.
#'
#' @section Predictions:
#' `predict(type = "response")`, `fitted()` and [posterior_epred()] have a
#' probability for each category: see [predict.gibbsite_categories()].
#'
#' @section Starting values:
#' An entry of `inits` is a list with `coefficients`, all in the order of the
#' columns, and with groups `Sigma`: by the names of categories, lists of
#' matrices by the names of the factors.
#'
#' @param formula A formula `y ~ x`, with offsets and bars if there are any. The
#'   response is a factor without an order, whose first level is the reference,
#'   or text, or a matrix of counts with a column for each category, such as
#'   `cbind(a, b, c)`. There are two categories or more, each with observations.
#' @param data A data frame, list or environment with the variables.
#' @param prior A [logistic_prior()] for each category, or a list of these with
#'   the names of all categories but the first.
#' @param weights `NULL` or `n` numbers, 0 or more, not all 0.
#' @param offset `NULL` or `n` numbers, added to the linear predictors of all
#'   categories but the first.
#' @param subset,contrasts As in [gibbs_lm()].
#' @param na_action As in [gibbs_lm()], but for `"impute"`.
#' @param draws,burnin,thin,chains,inits,cores,seed As in [running].
#' @param checkpoint,stop_when,progress,keep_data As in [running].
#' @param ... Not used: an argument that is not known is an error.
#' @return An object of class `gibbs_categorical`, a `gibbsite_fit` and a
#'   [coda::mcmc.list]: one matrix of draws for each chain. See
#'   [summary.gibbsite_fit()], [predict.gibbsite_categories()],
#'   [plot.gibbsite_regression()], [coef.gibbsite_fit()],
#'   [log_lik.gibbsite_regression()].
#' @section Errors:
#' Errors in the arguments have class `gibbsite_error_argument` and are raised
#' before any chain runs; among them `gibbsite_error_missing` and
#' `gibbsite_error_infinite` for the data, `gibbsite_error_formula` for the
#' formula, and `gibbsite_error_empty` for a category without observations.
#' [log_evidence()], [residuals()] and [bayes_R2()] of a fit are errors. A chain
#' that fails raises `gibbsite_error_chain`, which carries the other chains in
#' `$fit`.
#' @references
#' Holmes CC, Held L (2006). Bayesian auxiliary variable models for binary and
#' multinomial regression. *Bayesian Analysis* 1, 145-168.
#' \doi{10.1214/06-BA105}
#'
#' Liu JS, Sabatti C (2000). Generalised Gibbs sampler and multigrid Monte Carlo
#' for Bayesian computation. *Biometrika* 87, 353-369.
#' \doi{10.1093/biomet/87.2.353}
#'
#' Polson NG, Scott JG, Windle J (2013). Bayesian inference for logistic models
#' using Polya-Gamma latent variables. *Journal of the American Statistical
#' Association* 108, 1339-1349. \doi{10.1080/01621459.2013.829001}
#' @seealso [gibbs_logistic()] for two outcomes, [gibbs_ordinal()] for ordered
#'   categories, [logistic_prior()].
#' @examples
#' fit <- gibbs_categorical(Species ~ Sepal.Length, iris, draws = 2000,
#'                          chains = 2, seed = 1, progress = FALSE)
#' fit
#' head(predict(fit, type = "response"), 3)
#' plot(fit, type = "response", variable = "Sepal.Length")
#'
#' # counts: the types of dwellings by satisfaction, in a row for each
#' homes <- as.data.frame.matrix(xtabs(Freq ~ Sat + Type, MASS::housing))
#' homes$Sat <- rownames(homes)
#' gibbs_categorical(
#'   cbind(Tower, Apartment, Atrium, Terrace) ~ Sat, homes, draws = 500,
#'   burnin = 300, chains = 2, seed = 1, progress = FALSE
#' )
#' @export
gibbs_categorical <- function(formula, data, prior = logistic_prior(),
                              weights = NULL, offset = NULL, subset = NULL,
                              na_action = "fail", contrasts = NULL,
                              draws = NULL, burnin = 1000, thin = 1,
                              chains = 4, inits = NULL,
                              cores = getOption("mc.cores", 1L), seed = NULL,
                              checkpoint = NULL, stop_when = NULL,
                              progress = TRUE, keep_data = TRUE, ...) {
  call <- rlang::current_env()
  check_needed(formula = "a formula")
  check_no_more(..., call = call)
  running <- running_of(call, keep_choices = character())
  user_call <- call_of_model(match.call(), "gibbs_categorical", formula)
  action <- check_na_action(na_action, call)
  frame <- frame_with_bars(
    formula, if (!missing(data)) data, user_call, "gibbs_categorical",
    as_categories, action, contrasts, parent.frame(), call
  )
  run_chains(categorical_model(frame, prior, call), running, user_call, call)
}

# ---- The model ---------------------------------------------------------------

# The model behind gibbs_categorical(): its fields, states and starting values,
# with groups or without. src/core/hlm/hlm_categories.h has the mathematics.
#
# A model has K - 1 categories with coefficients of their own. What a method
# does for each is that of the model of one, category_view().

# ---- The model ---------------------------------------------------------------

categorical_model <- function(frame, prior, call) {
  check_any_used(rows_used(frame), call)
  check_any_categories(frame, call)
  columns <- colnames(frame$x) %||% character()
  if (length(columns) == 0L && is.null(frame$bars)) {
    abort_argument("The model has no coefficients.", call = call)
  }
  counted <- frame
  counted$weights <- rowSums(category_counts(frame))
  layout <- bars_layout(counted, length(columns), call)
  used <- ifelse(rows_used(frame), counted$weights, 0)
  found <- fixed_design(frame, columns, used, call)
  prior <- complete_latent_priors(
    prior, frame$response$levels[-1L], found, layout, call
  )
  model <- categorical_model_of(frame, prior, layout)
  twice <- model$columns[duplicated(model$columns)]
  if (length(twice) > 0L) {
    abort_argument(
      c("Two quantities would have the name {.val {twice[[1L]]}}.",
        i = "Rename the categories."),
      call = call, class = "names"
    )
  }
  if (length(layout) > 1L) say_aliased(category_view(model, 1L)$model)
  model
}

categorical_model_of <- function(frame, prior, layout) {
  count <- length(frame$response$levels)
  model <- bars_model(
    frame, layout, "categorical_model", "categories_model",
    "gibbs_categorical", "Multinomial logit regression", NULL,
    categorical_data(frame, prior, layout), prior, paste(count, "categories")
  )
  model$single <- model[c("coefficients", "columns")]
  categories <- names(prior)
  named <- lapply(categories, of_category, model$single$columns,
                  model$single$coefficients)
  each <- function(pattern, invert = FALSE) {
    unlist(lapply(named, grep, pattern = pattern, value = TRUE,
                  invert = invert))
  }
  model$coefficients <- each("^b\\[")
  model$columns <- c(
    model$coefficients, each("^(b\\[|u\\[|log_lik$)", TRUE), "log_lik",
    each("^u\\[")
  )
  model
}

# The columns of a category, of those of its own model: "b[cat,x]" of "x",
# "sd[cat,1,1]" of "sd[1,1]".
of_category <- function(category, columns, coefficients) {
  own <- seq_along(columns) <= length(coefficients)
  ifelse(
    own, paste0("b[", category, ",", columns, "]"),
    sub("[", paste0("[", category, ","), columns, fixed = TRUE)
  )
}

# list(model, at, category): category k against the first, as a binary model,
# and the places of its columns.
category_view <- function(model, k) {
  category <- model_response(model)$levels[[k + 1L]]
  single <- model
  single[names(model$single)] <- model$single
  single["data"] <- list(model$data$parts[[k]])
  class(single) <- intersect(
    c("hlm_crossed_model", "hlm_model", "gibbsite_model"), class(model)
  )
  own <- of_category(
    category, model$single$columns, model$single$coefficients
  )
  list(
    model = single, at = match(own, model$columns), category = category
  )
}

category_views <- function(model) {
  lapply(seq_along(model_response(model)$levels[-1L]), category_view,
         model = model)
}

# What C reads, as core/hlm/hlm_categories.h describes.
categorical_data <- function(frame, prior, layout) {
  rows <- which(rows_used(frame))
  n <- length(rows)
  counts <- category_counts(frame)[rows, , drop = FALSE]
  total <- rowSums(counts)
  proposals <- has_proposals(counts, total)
  # the columns are the same for all categories
  basis <- prior[[1L]]$basis
  x <- in_basis(frame$x[rows, , drop = FALSE], basis)
  fixed <- as.double(t(unname(x)))
  constant <- if (is.null(frame$counts)) 0 else {
    sum(row_weights(frame)[rows] *
          log_multinomial(frame$counts[rows, , drop = FALSE]))
  }
  nesting <- nestings(frame, layout)
  p <- ncol(frame$x)
  # the priors of the categories differ, the groups and predictors do not
  way <- way_of_trials(
    frame, layout, rows, x, 1 / prior[[1L]]$slope_variance, total / 4, nesting,
    proposals = proposals
  )
  part <- function(bars, category) {
    out <- list(
      count = as.double(length(bars)), p = as.double(p), n = as.double(n),
      bars = bars, fixed = fixed,
      offset = as.double(frame$offset[rows]), constant = constant,
      nesting = nesting, response = binomial_rows(
        "logit", unname(counts[, category]), unname(total), proposals
      )
    )
    out$basis <- basis
    c(out, way)
  }
  parts <- lapply(seq_along(prior), function(k) {
    own <- prior[[k]]
    common <- bar_fixed_effects(prior_means(own), 1 / own$slope_variance)
    part(latent_bars(frame, layout, rows, own, common), k + 1L)
  })
  list(parts = parts, shift = if (length(prior) > 1L && p > 0L) {
    precision <- Reduce(`+`, lapply(prior, function(own) {
      1 / own$slope_variance
    }))
    nesting <- list()
    way <- NULL
    common <- bar_fixed_effects(numeric(p), precision)
    part(latent_bars(frame, NULL, rows, NULL, common), 1L)
  })
}

#' @exportS3Method
model_response.categories_model <- function(model) {
  response <- model_design(model)$response
  categories_response(response$levels, response$kind == "category_counts")
}

#' @exportS3Method
model_outcome.categories_model <- function(model) {
  out <- NextMethod()
  frame <- model$frame
  if (!is.null(frame$counts)) {
    out$y <- as.double(frame$counts[rows_used(frame), ])
  }
  out
}

#' @exportS3Method
model_labels.categories_model <- function(model) {
  columns <- model$columns
  label <- columns
  for (view in category_views(model)) {
    own <- if (has_groups(model)) {
      model_labels(view$model)$label
    } else {
      coefficient_labels(view$model$columns)
    }
    label[view$at] <- paste0(view$category, ": ", own)
  }
  label[columns == "log_lik"] <- "log-likelihood"
  data.frame(variable = columns, label = label)
}

#' @exportS3Method
model_key.hlm_categorical_model <- function(model, shown) {
  key_of_bars(
    model, shown,
    c(sd = "sd[c,f,k]: category c, term k of factor f",
      cor = "cor[c,f,k,l]: terms k and l",
      u = "u[c,f,k,j]: deviation of group j, in the order of the levels")
  )
}

#' @exportS3Method
model_invariants.hlm_categorical_model <- function(model, draws) {
  draws <- unclass(draws)
  judged <- unlist(lapply(category_views(model), function(view) {
    none <- matrix(0, 0L, length(view$at))
    colnames(none) <- view$model$columns
    kept <- colnames(model_invariants(view$model, none))
    view$at[match(kept, view$model$columns)]
  }))
  draws[, sort(unique(judged)), drop = FALSE]
}

# ---- The linear predictors ---------------------------------------------------

# draws x rows x (K - 1)
#' @exportS3Method
predictor_at_draws.categories_model <- function(model, draws, rows) {
  views <- category_views(model)
  eta <- lapply(views, function(view) {
    predictor_at_draws(view$model, draws[, view$at, drop = FALSE], rows)
  })
  array(
    unlist(eta), c(nrow(draws), nrow(rows$x), length(eta)),
    dimnames = list(
      NULL, rows$names, vapply(views, `[[`, "", "category")
    )
  )
}

#' @exportS3Method
predictor_view.categories_model <- function(model, draws, term) {
  views <- category_views(model)
  bar <- group_term(model, term)
  view <- views[[(bar$f - 1L) %/% length(model$layout) + 1L]]
  own <- view$model$single$coefficients
  single <- unique(c(own, unlist(lapply(model$layout, `[[`, "bar"))))
  name <- single[match(bar$term, of_category(view$category, single, single))]
  list(
    model = view$model, draws = draws[, view$at, drop = FALSE],
    term = if (length(model$layout) > 1L) paste(name, "|", bar$name) else name
  )
}

# ---- Starting values and sweeps ----------------------------------------------

# parts: of each category list(b, covariances, u), the last NULL for 0.
categorical_state <- function(model, parts) {
  views <- category_views(model)
  each <- Map(function(view, part) {
    c(list(b = as.double(part$b)),
      state_of_bars(view$model, part$covariances, part$u))
  }, views, parts)
  all <- function(name) as.double(unlist(lapply(each, `[[`, name)))
  list(
    sweep = 0, factor = all("factor"), beta = 1, b = all("b"), u = all("u")
  )
}

# The parts of a state: of each category list(factor, beta, b, u).
category_states <- function(model, state) {
  count <- length(model_response(model)$levels) - 1L
  lapply(seq_len(count), function(k) {
    own <- function(x) matrix(x, ncol = count)[, k]
    list(
      factor = own(state$factor), beta = 1, b = own(state$b), u = own(state$u)
    )
  })
}

# The coefficients begin near 0, the standard deviations of the groups at those
# of the prior, each over or under by a factor of up to 10.
#' @exportS3Method
model_start.categories_model <- function(model, init) {
  p <- length(model$single$coefficients)
  x <- matrix(model$data$parts[[1L]]$fixed, p)
  given <- if (!is.null(init$coefficients)) {
    matrix(init$coefficients, p, length(model$data$parts))
  }
  parts <- lapply(seq_along(model$data$parts), function(k) {
    view <- category_view(model, k)
    list(
      b = if (is.null(given)) start_coefficients(x) else given[, k],
      covariances = start_bar_covariances(
        view$model, list(Sigma = init$Sigma[[view$category]])
      )
    )
  })
  categorical_state(model, parts)
}

#' @exportS3Method
model_sweeps.categories_model <- function(model, state, n, control) {
  parts <- model$data$parts
  if (!is.null(parts[[1L]]$response$proposals)) {
    state$counts <- state$counts %||% numeric(8L * (length(parts) + 1L))
  }
  run <- .Call(C_hlm_categories_sweeps, model$data, state, n, control)
  for (view in category_views(model)) {
    run <- with_bases(view$model, run, view$at)
  }
  run
}

#' @exportS3Method
model_acceptance.categories_model <- function(model, state) {
  if (is.null(state$counts)) {
    return(NULL)
  }
  categories <- model_response(model)$levels[-1L]
  counts <- matrix(state$counts, 8L)
  do.call(rbind, lapply(seq_along(categories), function(k) {
    out <- bars_acceptance(model, list(counts = counts[, k]))
    out$block <- paste0(categories[[k]], ": ", out$block)
    out
  }))
}

#' @exportS3Method
model_check_init.categories_model <- function(model, init, where, call) {
  check_init_names(
    init, c("coefficients", if (has_groups(model)) "Sigma"), where, call
  )
  check_init_vector(
    init, "coefficients", length(model$coefficients), where, call
  )
  init <- in_columns_of_c(model, init)
  if (!is.null(init$Sigma)) {
    arg <- paste0(where, "$Sigma")
    views <- category_views(model)
    names(views) <- vapply(views, `[[`, "", "category")
    check_init_names(init$Sigma, names(views), arg, call)
    for (name in names(init$Sigma)) {
      init$Sigma[[name]] <- check_bar_covariances(
        views[[name]]$model, list(Sigma = init$Sigma[[name]]),
        paste0(arg, "$", name), call
      )$Sigma
    }
  }
  init
}

#' @exportS3Method
model_init_from_state.categories_model <- function(model, state) {
  views <- category_views(model)
  states <- category_states(model, state)
  list(
    coefficients = unlist(lapply(states, function(own) {
      with_fixed_of_data(views[[1L]]$model, own)$b
    })),
    Sigma = if (has_groups(model)) {
      stats::setNames(Map(function(view, own) {
        state_covariances(view$model, own)
      }, views, states),
      vapply(views, `[[`, "", "category"))
    }
  )
}

# ---- The joint distribution --------------------------------------------------

#' @exportS3Method
draw_prior.categories_model <- function(model) {
  parts <- lapply(model$data$parts, function(data) {
    own <- data$bars[[1L]]
    covariances <- draw_bar_covariances(model, data$bars)
    list(
      b = own$mean + stats::rnorm(length(own$mean)) / sqrt(own$precision),
      covariances = covariances,
      u = draw_bar_deviations(data$bars, covariances)
    )
  })
  categorical_state(model, parts)
}

# 1 x rows x (K - 1)
categorical_eta <- function(model, state) {
  eta <- lapply(category_states(model, state), function(own) {
    eta_of_state(model, with_fixed_of_data(category_view(model, 1L)$model, own))
  })
  array(unlist(eta), c(1L, length(eta[[1L]]), length(eta)))
}

# In the form of set_data().
#' @exportS3Method
simulate_data.categories_model <- function(model, state) {
  response <- model_response(model)
  out <- response_draw(
    response, categorical_eta(model, state), model$frame$trials, NULL
  )
  if (response$trials) matrix(out, ncol = length(response$levels)) else
    drop(out)
}

# `data`: the codes of the categories, these, or counts, one for each row of the
# fit's data.
#' @exportS3Method
set_data.categories_model <- function(model, data, call = rlang::caller_env()) {
  response <- model_response(model)
  remake <- function(frame, given) {
    own <- intersect(c("counts", "trials"), names(given))
    frame[own] <- given[own]
    categorical_model_of(frame, model$prior, model$layout)
  }
  with_responses(
    model, data, "regression of categories", remake, call, function(y) {
      if (is.numeric(y) && is.null(dim(y))) {
        count <- length(response$levels)
        abort_elements(
          !is.na(y) & !y %in% seq_len(count), y, "data",
          paste("whole numbers from 1 to", count), call
        )
        return(list(y = as.double(y)))
      }
      observed_response(response, y, list(name = "data"), NULL, call)
    }
  )
}

#' @exportS3Method
model_quantities.categories_model <- function(model, state) {
  views <- category_views(model)
  effects <- unlist(Map(function(view, own) {
    own <- with_fixed_of_data(view$model, own)
    out <- model_effects(view$model, own)
    stats::setNames(out, of_category(
      view$category, names(out), view$model$coefficients
    ))
  }, views, category_states(model, state)))
  used <- which(rows_used(model$frame))
  log_lik <- response_log_lik(
    model_response(model),
    categorical_eta(model, state)[, used, , drop = FALSE],
    frame_rows(model$frame, used), NULL
  )
  c(effects, log_lik = sum(log_lik))
}

# ---- Cross-validation --------------------------------------------------------

#' @exportS3Method
model_fold.categories_model <- function(model, held, by) {
  fold_of_rows(model, held, by, function(rest) {
    categorical_model_of(rest, model$prior, model$layout)
  })
}

# ---- Groups ------------------------------------------------------------------

#' @exportS3Method
predictor_deviations.categories_model <- function(model, fit) {
  draws <- bind_chains(chain_matrices(fit))
  views <- category_views(model)
  stats::setNames(lapply(seq_along(model$layout), function(f) {
    bar <- model$layout[[f]]$bar
    levels <- model$levels[[f]]
    terms <- unlist(lapply(views, function(view) {
      of_category(view$category, bar, bar)
    }))
    # draws x terms x groups
    u <- vapply(views, function(view) {
      stored_deviations(view$model, draws[, view$at, drop = FALSE], f)
    }, matrix(0, nrow(draws), length(bar) * length(levels)))
    u <- aperm(
      array(u, c(nrow(draws), length(bar), length(levels), length(views))),
      c(1, 2, 4, 3)
    )
    deviation_table(matrix(u, nrow(draws)), terms, levels)
  }), names(model$layout))
}

# A bar for each category and factor.
#' @exportS3Method
predictor_bars.categories_model <- function(model) {
  out <- lapply(category_views(model), function(view) {
    bars <- predictor_bars(view$model)
    lapply(bars, function(bar) {
      named <- of_category(view$category, c(bar$design$bar, bar$columns),
                           bar$design$bar)
      own <- seq_along(bar$design$bar)
      bar$design$bar <- named[own]
      bar$columns <- named[-own]
      bar
    })
  })
  unlist(out, recursive = FALSE)
}

# ---- The prior ---------------------------------------------------------------

# A list of logistic_prior() with the names of all categories but the first.
# prior: a logistic_prior(), or such a list. design: of describe_design();
# layout: a list of hlm_design(), NULL without groups.
complete_latent_priors <- function(prior, categories, design, layout, call) {
  prior <- check_category_priors(prior, categories, call)
  # what is said of a column is said once
  said <- character()
  completed <- withCallingHandlers(
    lapply(prior, complete_latent_prior, design, layout, call),
    message = function(cnd) {
      if (conditionMessage(cnd) %in% said) invokeRestart("muffleMessage")
      said <<- c(said, conditionMessage(cnd))
    }
  )
  structure(completed, class = c("categorical_prior", "gibbsite_prior"))
}

check_category_priors <- function(prior, categories, call) {
  own <- function(x) inherits(x, "logistic_prior")
  if (own(prior)) {
    return(stats::setNames(rep(list(prior), length(categories)), categories))
  }
  known <- is.list(prior) && length(prior) > 0L &&
    all(vapply(unclass(prior), own, NA))
  if (!known) {
    abort_expected(
      prior, "made by `logistic_prior()`, or a list of such priors by category",
      FALSE, "prior", call
    )
  }
  names <- names(prior)
  if (!setequal(names, categories) || anyDuplicated(names)) {
    abort_argument(
      c("{.arg prior} must have the names of all categories but the first,
         each once.",
        i = "They are {.val {categories}}."),
      call = call, class = "names"
    )
  }
  unclass(prior)[categories]
}

#' @export
format.categorical_prior <- function(x, ...) {
  whole <- is.list(x) && length(x) > 0L && !is.null(names(x)) &&
    all(vapply(unclass(x), inherits, NA, "logistic_prior"))
  if (!whole) {
    abort_argument(
      "{.arg x} has the class of priors of categories, but not their parts.",
      class = "forged"
    )
  }
  x <- unclass(x)
  lines <- lapply(x, function(prior) {
    lines <- format(prior)
    lines[[1L]] <- sub("^.*,  w ~", "w_k ~", lines[[1L]])
    lines
  })
  same <- length(unique(lines)) == 1L
  if (same) lines <- lines[1L]
  c(
    "log(p_ik / p_i1) = x_i'w_k + o_i",
    unlist(Map(function(name, own) {
      c(paste0(if (same) "each category" else name, ":  ", own[[1L]]),
        own[-1L])
    }, names(lines), lines), use.names = FALSE)
  )
}
