# Topics by covariates of the documents.

#' Prevalence of topics by covariates
#'
#' How the documents' shares of topics go with covariates of the documents, such
#' as a party or a year. In each draw of the fit the shares of a topic are
#' regressed on the covariates by least squares, and coefficients are drawn from
#' the posterior of this regression under the prior \eqn{p(b, \sigma^2) \propto
#' 1 / \sigma^2}{p(b, sigma^2) prop. to 1 / sigma^2}. The draws together have
#' the uncertainty of the topics and that of the regression (the method of
#' composition, Treier & Jackman 2008, as in `estimateEffect()` of stm).
#'
#' It describes the fitted topics. The model of [gibbs_lda()] itself does not
#' know the covariates: it shrinks the documents' shares to their common mean,
#' and so differences between groups of short documents a little to 0. With
#' `~ 0 + party` the coefficients are the mean shares of the parties, with
#' `~ party` differences from the first one.
#'
#' @param fit A fit made by [gibbs_lda()] with `keep = "theta"`.
#' @param formula A formula with the right side only, such as `~ party + year`.
#' @param data A data frame with a row for each document of the fit, in their
#'   order. Row names that are not numbers must be the names of the documents,
#'   in any order.
#' @param topics `NULL` (default) for all, or numbers of topics.
#' @param ndraws `NULL` (default) for all kept draws, or how many of them,
#'   spread evenly.
#' @param level Number between 0 and 1 (default 0.95), of the intervals.
#' @param chain As in [topic_estimates()].
#' @param x An object made by `topic_prevalence()`.
#' @param object The same.
#' @param terms Coefficients to draw: by default the first six that are not the
#'   intercept.
#' @param ... Not used.
#' @return A data frame of class `topic_prevalence`, with a row for each topic
#'   and coefficient: `topic`, `name` (where topics have names), `term`,
#'   `estimate` (the posterior mean, in shares of a document), `std.error`,
#'   `conf.low`, `conf.high`, the ends of the 50% interval, `low_50` and
#'   `high_50`, and `level`. R's generator is used: call [set.seed()] for the
#'   same numbers.
#' @section Errors: `gibbsite_error_argument` for a fit without draws of the
#'   shares, data that do not have a row for each document, missing values and
#'   covariates that are linear combinations of others.
#' @references
#' Roberts ME, Stewart BM, Airoldi EM (2016). A model of text for
#' experimentation in the social sciences. *Journal of the American Statistical
#' Association* 111, 988-1003. \doi{10.1080/01621459.2016.1141684}
#'
#' Treier S, Jackman S (2008). Democracy as a latent variable. *American Journal
#' of Political Science* 52, 201-217. \doi{10.1111/j.1540-5907.2007.00308.x}
#' @seealso [top_terms()], [name_topics()].
#' @examples
#' corpus <- sim_lda(50, k = 3, terms = 40, tokens = 60)
#' fit <- gibbs_lda(corpus$x, 3, draws = 100, burnin = 200, chains = 2,
#'   keep = "theta", seed = 1, progress = FALSE
#' )
#' documents <- data.frame(party = rep(c("left", "right"), 25))
#' effects <- topic_prevalence(fit, ~ 0 + party, documents)
#' effects
#' plot(effects)
#' @export
topic_prevalence <- function(fit, formula, data, topics = NULL, ndraws = NULL,
                             level = 0.95, chain = NULL) {
  check_needed(
    fit = "a fit made by gibbs_lda()", formula = "such as ~ party",
    data = "a data frame with a row for each document"
  )
  call <- rlang::current_env()
  check_fit_of(fit, "gibbs_lda")
  check_kept(fit, "theta", call)
  model <- fit_part(fit, "model")
  level <- check_level(level)
  chains <- chosen_chains(chain, fit, call)
  all <- seq_len(model$k)
  topics <- check_topics(topics %||% all, all, call, most = model$k)
  design <- design_of_documents(formula, data, model$documents, call)
  draws <- bind_chains(model_matrices(fit)[chains])
  rows <- spread_rows(ndraws, nrow(draws), call)
  effects <- draws_of_prevalence(model, draws[rows, , drop = FALSE], design)
  out <- table_of_prevalence(
    effects[, topics, , drop = FALSE], topics, topic_names(model), level
  )
  attr(out, "words") <- attr(design, "words")
  out
}

# The model matrix with a row for each document; its attribute `words` names the
# coefficients: "party: left".
design_of_documents <- function(formula, data, documents, call) {
  if (!inherits(formula, "formula") || length(formula) != 2L) {
    abort_expected(
      formula, "a formula with the right side only, such as `~ party`", FALSE,
      "formula", call
    )
  }
  if (!is.data.frame(data)) {
    abort_expected(data, "a data frame", FALSE, "data", call)
  }
  check_data_frame(data, "data", call)
  if (nrow(data) != length(documents)) {
    abort_argument(
      c("{.arg data} must have a row for each of the {length(documents)}
         documents of the fit, not {nrow(data)}.",
        i = "Leave out the rows of documents that were left out."),
      call = call
    )
  }
  data <- rows_of_documents(data, documents, call)
  frame <- tryCatch(
    stats::model.frame(formula, data, na.action = stats::na.pass),
    error = function(cnd) {
      abort_argument(
        c("{.arg formula} cannot be computed from {.arg data}.",
          x = "{conditionMessage(cnd)}"),
        call = call
      )
    }
  )
  lacking <- which(rowSums(is.na(frame)) > 0L)
  if (length(lacking) > 0L) {
    abort_argument(
      c("The covariates of document {lacking[[1L]]} are missing.",
        i = "{length(lacking)} document{?s} lack{?s/} them: fit without
             {?it/them}, or give values."),
      call = call, class = "missing"
    )
  }
  x <- stats::model.matrix(formula, frame)
  if (ncol(x) == 0L || qr(x)$rank < ncol(x) || nrow(x) <= ncol(x)) {
    abort_argument(
      c("{.arg formula} gives {counted(ncol(x), 'coefficient')} that {nrow(x)}
         documents do not determine.",
        i = "Leave out covariates that are combinations of others."),
      call = call
    )
  }
  terms <- attr(frame, "terms")
  words <- coefficient_words(colnames(x), list(
    terms = terms, xlevels = stats::.getXlevels(terms, frame)
  ))
  structure(x, words = stats::setNames(words, colnames(x)))
}

rows_of_documents <- function(data, documents, call) {
  if (.row_names_info(data) < 0L) {
    return(data)
  }
  at <- match(documents, rownames(data))
  if (anyNA(at)) {
    first <- documents[[which(is.na(at))[[1L]]]]
    abort_argument(
      c("The row names of {.arg data} must be the names of the documents.",
        x = "Document {.val {first}} is not among them.",
        i = "Without row names the order counts: {.code rownames(data) <-
             NULL}."),
      call = call
    )
  }
  data[at, , drop = FALSE]
}

# coefficients x topics x draws
draws_of_prevalence <- function(model, draws, x) {
  qr <- qr(x)
  free <- nrow(x) - ncol(x)
  root <- backsolve(qr.R(qr), diag(ncol(x)))
  out <- vapply(seq_len(nrow(draws)), function(s) {
    theta <- t(block_of_draw(model, draws, s, "theta"))
    sigma <- sqrt(
      colSums(qr.resid(qr, theta)^2) / stats::rchisq(ncol(theta), free)
    )
    noise <- root %*% matrix(stats::rnorm(ncol(x) * ncol(theta)), ncol(x))
    qr.coef(qr, theta) + sweep(noise, 2L, sigma, `*`)
  }, matrix(0, ncol(x), model$k))
  out <- array(out, c(ncol(x), model$k, nrow(draws)))
  dimnames(out)[[1L]] <- colnames(x)
  out
}

table_of_prevalence <- function(effects, topics, names, level) {
  sides <- expand.grid(term = rownames(effects), topic = seq_along(topics),
                       stringsAsFactors = FALSE)
  of <- function(f, ...) as.vector(apply(effects, 1:2, f, ...))
  ends <- function(level) {
    lapply(central_tails(level), function(p) {
      of(stats::quantile, probs = p, names = FALSE)
    })
  }
  wide <- ends(level)
  narrow <- ends(0.5)
  table <- data.frame(
    topic = topics[sides$topic], term = sides$term, estimate = of(mean),
    std.error = of(stats::sd), conf.low = wide[[1L]], conf.high = wide[[2L]],
    low_50 = narrow[[1L]], high_50 = narrow[[2L]], level = level
  )
  structure(
    named_topics(table, names), class = c("topic_prevalence", "data.frame")
  )
}

prevalence_columns <- c(
  "topic", "term", "estimate", "std.error", "conf.low", "conf.high", "low_50",
  "high_50", "level"
)

#' @rdname topic_prevalence
#' @export
print.topic_prevalence <- function(x, ...) {
  if (!all(prevalence_columns %in% names(x))) {
    return(invisible(print(as.data.frame(x), ...)))
  }
  shown <- as.data.frame(x)[setdiff(names(x), prevalence_columns[7:9])]
  names <- prevalence_columns[3:6]
  shown[names] <- lapply(shown[names], round, 3)
  writeLines(paste0(
    "Shares of topics by covariates, with ", percent(x$level[1L]), " intervals"
  ))
  print(shown, row.names = FALSE, ...)
  invisible(x)
}

#' @export
as.data.frame.topic_prevalence <- function(x, ...) bare_frame(x)

picture_effects <- function(x, terms = NULL, ..., call) {
  check_made(x, prevalence_columns, "topic_prevalence()", "x", call)
  known <- unique(x$term)
  if (is.null(terms)) {
    terms <- setdiff(known, "(Intercept)")
    terms <- utils::head(if (length(terms) > 0L) terms else known, 6L)
  } else if (!is.character(terms) || !all(terms %in% known)) {
    abort_expected(
      terms, paste("coefficients, of", or_words(quoted(known))), TRUE, "terms",
      call
    )
  }
  table <- as.data.frame(x)
  table <- table[table$term %in% terms, ]
  # the topics in one order for all coefficients
  first <- table[table$term == terms[[1L]], ]
  table <- table[order(
    match(table$term, terms),
    match(table$topic, first$topic[order(-first$estimate)])
  ), ]
  centre <- stats::setNames(
    table$estimate, table$name %||% paste("Topic", table$topic)
  )
  words <- attr(x, "words") %||% stats::setNames(nm = known)
  left <- length(setdiff(known, c(terms, "(Intercept)")))
  shown <- intervals_shown(
    centre, as.matrix(table[c("conf.low", "conf.high")]),
    as.matrix(table[c("low_50", "high_50")]), table$level[[1L]],
    if (length(terms) > 1L) "share" else paste("share:", words[[terms]]),
    note = if (left > 0L) {
      paste0(counted(left, "more coefficient"), ": plot(x, terms = )")
    },
    beside = TRUE
  )
  if (length(terms) > 1L) {
    shown$table$panel <- factor(words[table$term], words[terms])
  }
  out <- picture_intervals(shown)
  # shares of several levels are compared on one axis
  out$x$free <- needs_own_scales(shown)
  out
}

#' @rdname topic_prevalence
#' @export
plot.topic_prevalence <- plot_method(picture_effects)

#' @rdname topic_prevalence
#' @exportS3Method ggplot2::autoplot
autoplot.topic_prevalence <- autoplot_method(picture_effects)
