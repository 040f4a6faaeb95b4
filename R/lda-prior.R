# The prior of latent Dirichlet allocation.

#' Prior of latent Dirichlet allocation
#'
#' The prior of [gibbs_lda()]:
#' \deqn{\theta_d \sim \mathrm{Dir}(\alpha), \quad
#'   \phi_t \sim \mathrm{Dir}(\eta),}{theta_d ~ Dir(alpha), phi_t ~ Dir(eta),}
#' for the topics' shares \eqn{\theta_d} of each document and the terms'
#' probabilities \eqn{\phi_t} in each topic.
#'
#' One number means a symmetric Dirichlet distribution, in which every
#' concentration is that number; several numbers mean an asymmetric one. An
#' unknown concentration has a prior, [uniform_prior()] or [gamma_prior()]; the
#' Dirichlet distribution is then symmetric, and the concentration is drawn with
#' the other unknowns. The default for \eqn{\alpha} is Uniform(0, 10).
#' `uniform_prior()` is uniform between two bounds, `gamma_prior()` has density
#' \deqn{p(a) = \frac{r^s}{\Gamma(s)} a^{s - 1} e^{-r a}}{p(a) = r^s / Gamma(s)
#'   a^(s - 1) exp(-r a)}
#' with shape \eqn{s} and rate \eqn{r}, mean \eqn{s / r}.
#'
#' @param alpha A positive number, `k` positive numbers, or a prior of a number:
#'   the concentration of topics in documents. Numbers lie between 1e-20 and
#'   1e20.
#' @param eta The same for the terms in a topic; as numbers, one for each term,
#'   matched by name if they have names.
#'   Or a matrix, topics x terms, of fixed concentrations \eqn{\eta_{tw}}{
#'   eta_tw}, so that the topics differ in what they are about: each row is a
#'   topic, and its name is the topic's. Columns with names are matched to the
#'   terms of the documents; every term needs a column, and columns of other
#'   terms are left out. Or `seeded_topics()`, which makes such a matrix from
#'   words for some topics; its own `eta` is the concentration of all terms.
#' @param lower,upper Finite numbers, `0 <= lower < upper`: the bounds.
#' @param shape,rate Finite positive numbers.
#' @return `lda_prior()`: an object of class `lda_prior`; printing it shows the
#'   model. `uniform_prior()`, `gamma_prior()`: an object of class
#'   `gibbsite_prior`, which prints too.
#' @section Topics with priors of their own:
#' With a matrix the topics are no longer exchangeable. Topics with different
#' rows keep the numbers of their rows, within a chain and between chains.
#' Topics with the same row are renumbered among themselves, as described in
#' [gibbs_lda()], section Topics. The numbers of a matrix are fixed: a
#' concentration that is drawn belongs to a symmetric prior.
#' @section Errors:
#' A value of the wrong type or out of its range is an error of class
#' `gibbsite_error_argument`; lengths are compared with the data at the fit.
#' @references
#' Blei DM, Ng AY, Jordan MI (2003). Latent Dirichlet allocation. *Journal of
#' Machine Learning Research* 3, 993-1022.
#'
#' Wallach HM, Mimno D, McCallum A (2009). Rethinking LDA: why priors matter.
#' *Advances in Neural Information Processing Systems* 22.
#' @seealso [gibbs_lda()].
#' @examples
#' lda_prior()
#' lda_prior(alpha = gamma_prior(1, 10), eta = 0.01)
#' @aliases scalar-priors
#' @export
lda_prior <- function(alpha = uniform_prior(0, 10), eta = 0.1) {
  call <- rlang::current_env()
  structure(
    list(
      alpha = check_concentration(alpha, "alpha", call),
      eta = check_terms_concentration(eta, call)
    ),
    class = c("lda_prior", "gibbsite_prior")
  )
}

check_terms_concentration <- function(eta, call) {
  if (inherits(eta, "seeded_topics")) {
    return(remade(eta, seeded_topics, "seeded_topics()", "eta", call))
  }
  if (!is.numeric(eta) || length(dim(eta)) != 2L) {
    value <- check_concentration(eta, "eta", call)
    if (is.numeric(value) && !is.null(names(eta))) {
      check_eta_names(names(eta), "value", call)
      names(value) <- names(eta)
    }
    return(value)
  }
  check_numeric_vector(
    as.vector(eta), lower = 0, lower_open = TRUE, arg = "eta", call = call
  )
  check_eta_names(rownames(eta), "row", call)
  check_eta_names(colnames(eta), "column", call)
  names <- dimnames(eta)
  matrix(as.double(eta), nrow(eta), dimnames = names)
}

# Names of topics or terms: none, or different ones.
check_eta_names <- function(names, side, call) {
  of <- c(row = "rownames", column = "colnames", value = "names")[[side]]
  check_text(names, paste0(of, "(eta)"), call)
  bad <- is.na(names) | names == "" | duplicated(names)
  if (any(bad)) {
    at <- which(bad)[[1L]]
    given <- describe(names[[at]])
    abort_argument(
      c(
        "The names of the {side}s of `eta` must be different words.",
        x = "The name of {side} {at} is {given}, which is empty or a repeat."
      ),
      call = call
    )
  }
}

check_concentration <- function(x, arg, call) {
  if (inherits(x, "uniform_prior")) {
    return(remade(x, uniform_prior, "uniform_prior()", arg, call))
  }
  if (inherits(x, "gamma_prior")) {
    return(remade(x, gamma_prior, "gamma_prior()", arg, call))
  }
  if (!is.numeric(x)) {
    abort_expected(
      x, "positive numbers, `uniform_prior()` or `gamma_prior()`", FALSE, arg,
      call
    )
  }
  check_numeric_vector(x, lower = 0, lower_open = TRUE, arg = arg, call = call)
}

#' @export
format.lda_prior <- function(x, ...) {
  check_made(x, c("alpha", "eta"), "lda_prior()")
  line <- function(name) {
    v <- x[[name]]
    sampled <- !is.numeric(v) && !inherits(v, "seeded_topics")
    shown <- if (is.matrix(v)) {
      format_eta_matrix(v)
    } else if (is.numeric(v)) {
      format_prior_value(v)
    } else {
      format(v)
    }
    paste0("  ", format(name, width = 5), if (sampled) " ~ " else " = ", shown)
  }
  c(
    "theta_d ~ Dir(alpha)      z_i | theta ~ Categorical(theta_{d(i)})",
    "phi_t   ~ Dir(eta)        w_i | z_i = t ~ Categorical(phi_t)",
    line("alpha"), line("eta")
  )
}

format_eta_matrix <- function(eta) {
  size <- paste(dim(eta), collapse = " x ")
  numbers <- paste(format(range(eta), trim = TRUE, digits = 3L),
                   collapse = " to ")
  paste0("matrix, ", size, " (topics x terms), ", numbers)
}

# The prior checked against k topics and the terms, or an error of the user's
# call that names the field. A matrix eta gets the columns of the terms, seeds
# become a matrix.
complete_lda_prior <- function(prior, k, counts, call) {
  if (inherits(prior, "seeded_topics")) {
    abort_argument(
      c("{.arg prior} must be made by {.fn lda_prior}.",
        i = "Give the seeded topics as {.code lda_prior(eta = )}."),
      call = call
    )
  }
  prior <- made_prior(prior, lda_prior, call)
  check_numbers_of(prior$alpha, k, "alpha", "topics", call)
  if (inherits(prior$eta, "seeded_topics")) {
    prior$eta <- matrix_of_seeds(prior$eta, k, counts, call)
  } else if (is.matrix(prior$eta)) {
    prior$eta <- matched_eta(prior$eta, k, counts$terms, call)
  } else if (is.numeric(prior$eta) && !is.null(names(prior$eta))) {
    eta <- matched_columns(rbind(prior$eta), counts$terms, "value", call)
    prior$eta <- as.vector(eta)
  } else {
    check_numbers_of(prior$eta, length(counts$terms), "eta", "terms", call)
  }
  check_in_bounds(prior$alpha, "alpha", call)
  check_in_bounds(prior$eta, "eta", call)
  prior
}

# k x terms, in the order of the terms.
matched_eta <- function(eta, k, terms, call) {
  if (nrow(eta) != k) {
    abort_argument(
      "`eta` of `prior` must have {k} row{?s} (topics), not {nrow(eta)}.",
      call = call
    )
  }
  if (is.null(colnames(eta))) {
    if (ncol(eta) != length(terms)) {
      abort_argument(
        c(
          "`eta` of `prior` must have {length(terms)} column{?s} (terms), not
           {ncol(eta)}.",
          i = "Give its columns the names of their terms."
        ),
        call = call
      )
    }
    colnames(eta) <- terms
    return(eta)
  }
  matched_columns(eta, terms, "column", call)
}

# The columns of the terms, by name; side: their word in messages.
matched_columns <- function(eta, terms, side, call) {
  absent <- setdiff(terms, colnames(eta))
  if (length(absent) > 0L) {
    abort_argument(
      c(
        "`eta` of `prior` has no {side} for {length(absent)} term{?s} of the
         documents: {few_words(dQuote(absent, FALSE))}.",
        i = "Give every term a {side}, or leave those terms out of `x`."
      ),
      call = call
    )
  }
  other <- setdiff(colnames(eta), terms)
  if (length(other) > 0L) {
    shown <- few_words(dQuote(other, FALSE))
    inform_gibbsite(
      "{length(other)} {side}{?s} of `eta` of `prior` belong{?s/} to no term of
       the documents and {?is/are} left out: {shown}.",
      class = "terms"
    )
  }
  eta[, terms, drop = FALSE]
}

# Beyond these bounds a sum of a count and a concentration loses one of them to
# rounding.
check_in_bounds <- function(value, arg, call) {
  if (!is.numeric(value)) {
    return(invisible())
  }
  outside <- value <= lda_bounds[[1L]] | value >= lda_bounds[[2L]]
  if (!any(outside)) {
    return(invisible())
  }
  at <- which(outside)[[1L]]
  given <- paste0(
    format(value[[at]]), if (length(value) > 1L) paste(" at element", at)
  )
  abort_argument(
    "`{arg}` of `prior` must be above {lda_bounds[[1L]]} and below
     {lda_bounds[[2L]]}, not {given}.",
    call = call
  )
}

check_numbers_of <- function(value, n, arg, what, call) {
  if (is.numeric(value) && !length(value) %in% c(1L, n)) {
    abort_argument(
      "`{arg}` of `prior` must be 1 number or {n} ({what}), not
       {length(value)}.",
      call = call
    )
  }
}

# Topics with words of their own: seeded_topics().

#' @section Topics seeded with words:
#' `seeded_topics()` makes the concentrations of [lda_prior()] from words that
#' some topics are about: `lda_prior(eta = seeded_topics(...))`. The terms of
#' the seeded topic \eqn{t} have \deqn{\eta_{tw} = \mathtt{eta} +
#' \mathtt{weight}\, n / (k s_t)}{eta_tw = eta + weight n / (k s_t)} if
#' \eqn{w} is one of its \eqn{s_t} seeds, and \eqn{\mathtt{eta}}{eta} if not,
#' where \eqn{n} is the number of tokens of the corpus and \eqn{k} the number of
#' topics. If all topics were equally large, each would have \eqn{n / k} tokens.
#' The seeds of a topic together add `weight` times this number to its prior
#' counts.
#'
#' Seeds change the prior of a topic and do not fix its words. Documents without
#' any of its seeds can have the topic, and a seed can occur in other topics.
#' Topics beyond the seeded ones have \eqn{\eta_{tw} = \mathtt{eta}}{eta_tw =
#' eta} for all terms; they are named `"topic 3"` and so on, and take up what no
#' seeded topic is about.
#' @param seeds A named list with a character vector for each seeded topic: its
#'   words. The names are those of the topics. A word with `*` at its end stands
#'   for all terms that begin so. A word may be a seed of several topics.
#' @param weight A positive number (default 0.03): the prior counts of the seeds
#'   of a topic together, relative to the \eqn{n / k} tokens of a topic.
#' @return `seeded_topics()`: an object of class `seeded_topics`.
#' @section Errors:
#' `seeded_topics()`: for seeds without names, names that occur twice,
#' words that are missing and text that is not valid (`gibbsite_error_text`); at
#' the fit, for fewer topics than seeds, and for a topic none of whose words are
#' terms of the documents. Other words that are not terms are left out, with a
#' warning of class `gibbsite_warning_seeds`.
#' @references
#' Jagarlamudi J, Daume III H, Udupa R (2012). Incorporating lexical priors into
#' topic models. *EACL* 13, 204-213.
#'
#' Lu B, Ott M, Cardie C, Tsou BK (2011). Multi-aspect sentiment analysis with
#' topic models. *ICDM Workshops*, 81-88. \doi{10.1109/ICDMW.2011.125}
#' @seealso [predict.gibbs_lda()] with `type = "class"`.
#' @examples
#' texts <- c(
#'   a = "The cat chased the mouse, and the mouse ran.",
#'   b = "A mouse and a cat lived in the house.",
#'   c = "Shares fell as the bank raised its rates.",
#'   d = "The bank's rates and shares rose."
#' )
#' counts <- token_counts(texts, stopwords = c("a", "and", "as", "the"))
#' seeds <- seeded_topics(list(animals = "cat", money = c("bank*", "rates")))
#' fit <- gibbs_lda(counts, 2, lda_prior(alpha = 0.5, eta = seeds),
#'   draws = 100, burnin = 200, chains = 2, seed = 1, progress = FALSE
#' )
#' top_terms(fit, 3)
#' predict(fit, type = "class")
#' @rdname lda_prior
#' @export
seeded_topics <- function(seeds, weight = 0.03, eta = 0.1) {
  check_needed(seeds = "a named list of words")
  call <- rlang::current_env()
  if (!is.list(seeds) || is.object(seeds) || length(seeds) == 0L) {
    abort_expected(
      seeds, "a named list of words, one vector for each topic", FALSE, "seeds",
      call
    )
  }
  check_seed_names(names(seeds), call)
  for (name in names(seeds)) {
    check_seed_words(seeds[[name]], name, call)
  }
  structure(
    list(
      seeds = lapply(seeds, function(words) unique(unname(words))),
      weight = check_number(
        weight, lower = 0, lower_open = TRUE, arg = "weight", call = call
      ),
      eta = check_number(
        eta, lower = 0, lower_open = TRUE, arg = "eta", call = call
      )
    ),
    class = "seeded_topics"
  )
}

check_seed_names <- function(names, call) {
  check_text(names, "names(seeds)", call)
  bad <- is.na(names) | names == "" | duplicated(names)
  if (is.null(names) || any(bad)) {
    abort_argument(
      c(
        "Each element of `seeds` must have a name of its own.",
        i = "Write {.code list(economy = c(\"tax\", \"trade\"))}: the name of a
             topic, then its words."
      ),
      call = call
    )
  }
}

check_seed_words <- function(words, name, call) {
  check_text(words, paste0("seeds$", name), call)
  fine <- is.character(words) && length(words) > 0L && !anyNA(words) &&
    all(words != "")
  if (!fine) {
    abort_expected(
      words, "one or more words", FALSE, paste0("seeds$", name), call
    )
  }
}

#' @export
format.seeded_topics <- function(x, ...) {
  check_made(x, c("seeds", "weight", "eta"), "seeded_topics()")
  paste0(
    format(x$eta), ", more for the seeds (weight ", format(x$weight), ") of ",
    few_words(names(x$seeds))
  )
}

#' @export
print.seeded_topics <- function(x, ...) {
  first <- format(x)
  words <- vapply(x$seeds, paste, "", collapse = " ")
  writeLines(c(first, paste0("  ", names(x$seeds), ": ", words)))
  invisible(x)
}

# eta, k x terms, for the terms and the tokens of a corpus.
matrix_of_seeds <- function(x, k, counts, call) {
  count <- length(x$seeds)
  if (count > k) {
    abort_argument(
      c(
        "`k` must be at least {count}, the number of seeded topics, not {k}.",
        i = "Topics beyond the seeded ones have no seeds."
      ),
      call = call
    )
  }
  found <- lapply(x$seeds, terms_of_seeds, terms = counts$terms)
  warn_unknown_seeds(x$seeds, found, call)
  eta <- matrix(
    x$eta, k, length(counts$terms),
    dimnames = list(topics_with_seeds(names(x$seeds), k), counts$terms)
  )
  for (t in seq_len(count)) {
    own <- unique(unlist(found[[t]]))
    eta[t, own] <- x$eta +
      x$weight * token_total(counts) / (k * length(own))
  }
  eta
}

# "topic 3", ... after the seeded ones; a seeded topic may have such a name.
topics_with_seeds <- function(names, k) {
  rest <- seq_len(k)[-seq_along(names)]
  others <- if (length(rest) > 0L) paste("topic", rest)
  make.unique(c(names, others))
}

# For each word the numbers of its terms.
terms_of_seeds <- function(words, terms) {
  lapply(words, function(word) {
    if (endsWith(word, "*") && nchar(word) > 1L) {
      return(which(startsWith(terms, substr(word, 1L, nchar(word) - 1L))))
    }
    which(terms == word)
  })
}

warn_unknown_seeds <- function(seeds, found, call) {
  unknown <- Map(function(words, terms) words[lengths(terms) == 0L],
                 seeds, found)
  empty <- names(seeds)[lengths(unknown) == lengths(seeds)]
  if (length(empty) > 0L) {
    words <- few_words(dQuote(seeds[[empty[[1L]]]], FALSE))
    abort_argument(
      c(
        "No seed of the topic {.val {empty[[1L]]}} is a term of the documents:
         {words}.",
        i = "Write seeds as the terms are written: in lower case or stemmed, or
             {.val tax*} for all terms that begin with {.val tax}."
      ),
      call = call
    )
  }
  words <- unique(unlist(unknown))
  if (length(words) > 0L) {
    shown <- few_words(dQuote(words, FALSE))
    warn_gibbsite(
      "{length(words)} seed{?s} {?is/are} no term{?s} of the documents and
       {?is/are} left out: {shown}.",
      class = "seeds"
    )
  }
}

# ---- Topics by covariates of the documents -----------------------------------

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
