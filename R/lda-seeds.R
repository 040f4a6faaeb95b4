# Topics with words of their own: seeded_topics().

#' Topics seeded with words
#'
#' Makes the concentrations of [lda_prior()] from words that some topics are
#' about: `lda_prior(eta = seeded_topics(...))`. The terms of the seeded topic
#' \eqn{t} have \deqn{\eta_{tw} = \mathtt{eta} + \mathtt{weight}\, n / (k s_t)
#'   }{eta_tw = eta + weight n / (k s_t)} if \eqn{w} is one of its \eqn{s_t}
#' seeds, and \eqn{\mathtt{eta}}{eta} if not, where \eqn{n} is the number of
#' tokens of the corpus and \eqn{k} the number of topics. If all topics were
#' equally large, each would have \eqn{n / k} tokens. The seeds of a topic
#' together add `weight` times this number to its prior counts.
#'
#' Seeds change the prior of a topic and do not fix its words. Documents without
#' any of its seeds can have the topic, and a seed can occur in other topics.
#' Topics beyond the seeded ones have \eqn{\eta_{tw} = \mathtt{eta}}{eta_tw =
#' eta} for all terms; they are named `"topic 3"` and so on, and take up what no
#' seeded topic is about.
#'
#' @param seeds A named list with a character vector for each seeded topic: its
#'   words. The names are those of the topics. A word with `*` at its end stands
#'   for all terms that begin so. A word may be a seed of several topics.
#' @param weight A positive number (default 0.03): the prior counts of the seeds
#'   of a topic together, relative to the \eqn{n / k} tokens of a topic.
#' @param eta A positive number (default 0.1): the concentration of all terms.
#' @return An object of class `seeded_topics`, for [lda_prior()].
#' @section Errors:
#' `gibbsite_error_argument` for seeds without names, names that occur twice,
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
        i = "More topics than seeded ones are unseeded."
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
      x$weight * length(counts$word) / (k * length(own))
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
