# Counts of terms from texts and tokens: token_counts().

#' Counts of terms in documents
#'
#' Makes the matrix of counts from texts, tokens or any other form of documents
#' that [gibbs_lda()] takes, and leaves out stop words, short terms and terms
#' that most documents have.
#'
#' @section Texts:
#' A token of a text is a run of letters of any alphabet, in lower case. An
#' apostrophe between letters is part of the token: `don't` is one, and the
#' curved apostrophe is taken as the straight one. Digits, punctuation and
#' symbols separate tokens and are not counted. No word is left out unless
#' `stopwords` has it, and words are not reduced to stems. Languages that write
#' words without spaces between them need tokens made by another package.
#' `tolower()` makes the lower case; it knows letters other than a to z only in
#' a UTF-8 locale. Accents written as a letter and a mark differ from those
#' written as one letter.
#'
#' @param x The documents:
#'   * texts: a character vector with a text for each document, whose names are
#'     those of the documents; a corpus of quanteda; or a data frame with a
#'     column `text` and perhaps `document` or `doc_id`;
#'   * tokens: a list with a character vector for each document, or tokens of
#'     quanteda, which are counted as they are;
#'   * counts: see [gibbs_lda()].
#' @param stopwords `NULL` (default), or the words to leave out. For texts they
#'   are put in lower case first; otherwise a term is left out if it equals one
#'   of them. The package has no list of its own: `stopwords::stopwords("en")`
#'   and `tm::stopwords()` are two.
#' @param min_length Whole number, at least 1 (default): terms with fewer
#'   characters are left out.
#' @param max_share Number above 0 and at most 1 (default): terms in a larger
#'   share of the documents are left out. They blur the topics, and no list of
#'   stop words has all of them.
#' @return A sparse matrix (`dgCMatrix`) of counts, documents x terms. Terms are
#'   in the order in which they first occur. A document without a token is a row
#'   of zeros, and [gibbs_lda()] says what it does about it.
#' @section Errors: `gibbsite_error_argument` for a form of documents that is
#'   not known, a text or token that is missing (`gibbsite_error_missing`) or
#'   not valid (`gibbsite_error_text`), and if no token is left
#'   (`gibbsite_error_empty`).
#' @seealso [gibbs_lda()]
#' @examples
#' texts <- c(
#'   one = "The cat sat on the mat.", two = "The dog didn't like the cat."
#' )
#' token_counts(texts, stopwords = c("the", "on"))
#' token_counts(texts, max_share = 0.9)
#'
#' # terms that occur in two documents or more
#' counts <- token_counts(texts)
#' counts[, Matrix::colSums(counts > 0) >= 2]
#' @export
token_counts <- function(x, stopwords = NULL, min_length = 1, max_share = 1) {
  check_needed(x = "texts, tokens or counts of terms in documents")
  call <- rlang::current_env()
  stopwords <- check_stopwords(stopwords, call)
  min_length <- check_count(min_length)
  max_share <- check_number(max_share, 0, 1, lower_open = TRUE)
  table <- checked_table(x, NULL, NULL, "x", call)
  if (isTRUE(table$cut)) {
    stopwords <- fold_case(stopwords)
  }
  kept <- which(
    !table$terms %in% stopwords & nchar(table$terms, "chars") >= min_length
  )
  term <- match(table$term, kept)
  own <- !is.na(term)
  counts <- Matrix::sparseMatrix(
    i = table$document[own], j = term[own], x = table$count[own],
    dims = c(table$size[[1L]], length(kept)),
    dimnames = list(table$documents, table$terms[kept])
  )
  share <- Matrix::colSums(counts > 0) / nrow(counts)
  counts <- counts[, share <= max_share, drop = FALSE]
  if (sum(counts) == 0) {
    abort_argument(
      c(
        "No token of {.arg x} is left.",
        i = "See {.arg stopwords}, {.arg min_length} and {.arg max_share}."
      ),
      class = "empty"
    )
  }
  counts
}

check_stopwords <- function(stopwords, call) {
  if (is.null(stopwords)) {
    return(character())
  }
  if (!is_texts(stopwords) || anyNA(stopwords)) {
    abort_expected(
      stopwords, "words without NA", TRUE, "stopwords", call
    )
  }
  check_text(stopwords, "stopwords", call)
  as.vector(stopwords)
}
