# Tokens of documents: cut from texts, or given as words.

# list(document, word): the tokens of texts, in their order. A token is a run of
# letters, with the marks that belong to them and with apostrophes between
# letters, in lower case.
text_tokens <- function(x) {
  x <- chartr("\t\n\v\f\r", "     ", enc2utf8(as.vector(x)))
  pieces <- strsplit(x, " ", fixed = TRUE)
  document <- rep.int(seq_along(pieces), lengths(pieces))
  pieces <- unlist(pieces) %||% character()
  # a text has few different pieces, and a short string is cut faster than a
  # long one
  different <- unique(pieces)
  words <- cut_words(fold_case(different))[match(pieces, different)]
  list(
    document = rep.int(document, lengths(words)),
    word = unlist(words) %||% character()
  )
}

# Lower case, with one form of apostrophe.
fold_case <- function(x) {
  tolower(gsub("[\u2019\u02bc\uff07]", "'", enc2utf8(x)))
}

cut_words <- function(x) {
  x <- gsub("[^\\p{L}\\p{M}']+", " ", x, perl = TRUE)
  # apostrophes and marks that no letter precedes, apostrophes that none follows
  x <- gsub(
    "(?<![\\p{L}\\p{M}])['\\p{M}]+|'+(?!\\p{L})", " ", x, perl = TRUE
  )
  lapply(strsplit(x, " ", fixed = TRUE), function(words) words[nzchar(words)])
}

# A character vector, plain or of a class (such as quanteda's corpus).
is_texts <- function(x) {
  is.character(x) && is.null(dim(x))
}

check_texts <- function(x, arg, call) {
  if (length(x) > .Machine$integer.max) {
    abort_argument(
      "{.arg {arg}} must have 2^31 - 1 texts at most, not {digits(length(x))}.",
      call = call
    )
  }
  check_text(as.vector(x), arg, call)
  if (anyNA(x)) {
    first <- which(is.na(x))[[1L]]
    count <- sum(is.na(x))
    abort_argument(
      c(
        "{.arg {arg}} must have a text for each document: element {first} is
         NA.",
        i = "{count} text{?s} {?is/are} missing: leave {?it/them} out, with
             {.code {arg}[!is.na({arg})]}."
      ),
      call = call, class = "missing"
    )
  }
}

# Names of documents: numbers for those that have no name; NULL if none has.
document_names <- function(x, arg, call) {
  names <- names(x)
  if (is.null(names)) {
    return(NULL)
  }
  check_text(names, paste0("names(", arg, ")"), call)
  numbered_names(names)
}

# list(document, word) of a list of words.
listed_tokens <- function(x, arg, call) {
  fine <- vapply(x, is_texts, NA)
  if (!all(fine)) {
    bad <- which(!fine)[[1L]]
    given <- describe(x[[bad]])
    abort_argument(
      c(
        "Each document of {.arg {arg}} must be a character vector of its
         tokens: {.code {arg}[[{bad}]]} is {given}.",
        i = "A document without a token is {.code character()}."
      ),
      call = call
    )
  }
  word <- unlist(x, use.names = FALSE) %||% character()
  document <- rep.int(seq_along(x), lengths(x))
  wrong <- is.na(word) | !is_text(word)
  if (any(wrong)) {
    at <- which(wrong)[[1L]]
    where <- document[[at]]
    token <- at - match(where, document) + 1L
    given <- describe(word[[at]])
    abort_argument(
      "Tokens of {.arg {arg}} must be valid text: token {token} of document
       {where} is {given}.",
      call = call, class = if (is.na(word[[at]])) "missing" else "text"
    )
  }
  if (all(lengths(x) == 1L) && any(grepl("[[:space:]]", word))) {
    abort_argument(
      c(
        "{.arg {arg}} must hold the tokens of each document: each has one
         string, and some have spaces.",
        i = "Texts are given as a character vector:
             {.code unlist({arg})}."
      ),
      call = call
    )
  }
  list(document = document, word = word)
}

# quanteda's tokens: whole numbers that are places in the attribute `types`, and
# 0 for a token that was removed and left its place.
quanteda_tokens <- function(x, arg, call) {
  if (typeof(x) == "externalptr") {
    abort_argument(
      c(
        "{.arg {arg}} points to tokens that only quanteda can read.",
        i = "Convert it with {.code quanteda::as.tokens({arg})}."
      ),
      call = call
    )
  }
  types <- attr(x, "types", exact = TRUE)
  codes <- if (is.list(x)) unclass(x)
  sound <- is.list(codes) && is.character(types) &&
    all(vapply(codes, is.numeric, NA))
  all <- if (sound) unlist(codes, use.names = FALSE) %||% integer()
  if (!sound || anyNA(all) || any(all < 0 | all > length(types)) ||
        any(all != round(all))) {
    abort_argument(
      c(
        "{.arg {arg}} of class {.cls tokens} is not what {.fn
         quanteda::tokens} makes.",
        i = "Tokens that another package made are given as a list of character
             vectors."
      ),
      call = call, class = "forged"
    )
  }
  words <- c("", types)
  stats::setNames(
    lapply(codes, function(one) words[as.integer(one) + 1L]), names(codes)
  )
}
