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
