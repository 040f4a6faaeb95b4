# Counts of terms in documents, converted to the one form that gibbs_lda()
# reads: tokens, document after document.  Sparse counts are never made dense.
#
# The intermediate table of counts is a list: `document`, `term` (whole
# numbers from 1), `count`, `documents`, `terms` (names, or NULL for none),
# `size` (how many documents and terms), for texts `cut = TRUE` and for terms
# that are numbers `from`, the first of them.

# list(word, start, documents, terms): `word` has the term of each token, sorted
# by document and within a document by term; document d has the tokens start[d]
# + 1, ..., start[d + 1]. With `from = 1` if the terms were numbers from 1 on.
#
# vocabulary: names of the terms if `x` has none. known: the terms of an earlier
# fit, to which those of `x` are matched by name; its attribute `from` is 1 if
# that fit's terms were numbers from 1 on. empty: of documents without a word
# "error" or "keep"; "none" if there may be no document at all.
as_counts <- function(x, vocabulary = NULL, empty = "error", known = NULL,
                      arg = rlang::caller_arg(x), call = rlang::caller_env()) {
  force(arg)
  table <- checked_table(x, vocabulary, known, arg, call, empty == "none")
  if (is.null(known)) {
    say_cut(table, arg)
  } else {
    table <- match_terms(table, known, arg, call)
  }
  check_empty_documents(table, empty, arg, call)
  # new documents may have no known word at all
  count_tokens(table, none_ok = !is.null(known), arg, call)
}

# The table of counts of any form, with names and all counts above 0.
checked_table <- function(x, vocabulary, known, arg, call, none_ok = FALSE) {
  check_sparse(x, arg, call)
  table <- counts_table(x, vocabulary, known, arg, call)
  table <- name_counts(table, vocabulary, known, arg, call, none_ok)
  check_counts(table, arg, call)
}

counts_table <- function(x, vocabulary, known, arg, call) {
  if (inherits(x, "simple_triplet_matrix")) {
    return(turned_table(table_of_triplets(x), names(x$dimnames), arg))
  }
  if (isS4(x) && methods::is(x, "Matrix")) {
    table <- table_of_sparse(x, arg, call)
    return(turned_table(table, names(x@Dimnames), arg))
  }
  if (is.data.frame(x)) {
    return(table_of_data_frame(x, vocabulary, arg, call))
  }
  if (is.matrix(x) && is.logical(x)) abort_not_counts(arg, call)
  if (is.matrix(x) && is.numeric(x)) {
    check_sides(dimnames(x), dim(x), "dimnames", arg, call)
    return(turned_table(table_of_matrix(x), names(dimnames(x)), arg))
  }
  table_of_words_or_list(x, vocabulary, known, arg, call)
}

# What has no rows and columns.
table_of_words_or_list <- function(x, vocabulary, known, arg, call) {
  if (is_texts(x)) {
    return(table_of_texts(as.vector(x), names(x), vocabulary, arg, call))
  }
  if (inherits(x, "tokens")) {
    x <- quanteda_tokens(x, arg, call)
    return(table_of_tokens(x, vocabulary, arg, call))
  }
  if (is_stm(x)) {
    return(table_of_stm(x, vocabulary, arg, call))
  }
  if (inherits(x, "lda_c")) {
    # text2vec's, numbered as those of the lda package
    return(table_of_documents(unclass(x), vocabulary, arg, call))
  }
  if (is.list(x) && !is.object(x)) {
    return(table_of_list(x, vocabulary, known, arg, call))
  }
  ratings <- isS4(x) && methods::.hasSlot(x, "data")
  abort_expected(
    x, "counts of terms in documents, tokens or texts", FALSE, arg, call,
    hint = if (ratings) ratings_hint else accepted_counts
  )
}

ratings_hint <- "Ratings of items by users are for `gibbs_bmf()`."

accepted_counts <- paste(
  "It may be a matrix or sparse matrix of counts (documents in rows), a",
  "DocumentTermMatrix, quanteda's dfm or tokens, a data frame with the columns",
  "`document`, `term` and `count`, a list with the words of each document, a",
  "character vector with a text for each document, or the documents of the lda",
  "or stm package."
)

new_table <- function(document, term, count, names, size) {
  list(
    document = document, term = term, count = count, documents = names[[1L]],
    terms = names[[2L]], size = size
  )
}

# slam's triplets and tm's classes built on them.
table_of_triplets <- function(x) {
  x <- unclass(x)
  names <- x$dimnames %||% list(NULL, NULL)
  new_table(
    as.integer(x$i), as.integer(x$j), x$v, unname(names), c(x$nrow, x$ncol)
  )
}

# A table with documents in its rows. `sides`: what tm and quanteda call rows
# and columns, or NULL. Without it the names of the columns may tell.
turned_table <- function(table, sides, arg) {
  sides <- tolower(sides)
  if (any(sides %in% c("user", "users", "item", "items"))) {
    inform_gibbsite(
      c(i = "The rows of {.arg {arg}} are taken as documents and its columns as
             terms. {ratings_hint}"),
      class = "ratings"
    )
  }
  if (identical(sides, c("terms", "docs")) ||
        identical(sides, c("features", "docs"))) {
    inform_gibbsite(
      c(i = "{.arg {arg}} has terms in its rows and is transposed: documents are
             its columns."),
      class = "conversion"
    )
    return(new_table(
      table$term, table$document, table$count,
      list(table$terms, table$documents), rev(table$size)
    ))
  }
  if (are_document_names(table$terms) &&
        !are_document_names(table$documents)) {
    shown <- quoted(table$terms[[1L]])
    inform_gibbsite(
      c(
        i = "The columns of {.arg {arg}} are taken as terms, and their names
             ({shown}, ...) look like those of documents.",
        i = "If documents are its columns, give {.code t({arg})}."
      ),
      class = "transposed"
    )
  }
  table
}

are_document_names <- function(names) {
  length(names) > 1L &&
    all(grepl("^(doc|document|text)[ _.-]?[0-9]+([.]txt)?$", names,
              ignore.case = TRUE))
}

# Any matrix of the Matrix package, and classes that extend it (a dfm).
table_of_sparse <- function(x, arg, call) {
  if (methods::is(x, "nMatrix") || methods::is(x, "lMatrix")) {
    abort_not_counts(arg, call)
  }
  x <- methods::as(methods::as(x, "generalMatrix"), "CsparseMatrix")
  new_table(
    x@i + 1L, rep.int(seq_len(ncol(x)), diff(x@p)), x@x, unname(x@Dimnames),
    dim(x)
  )
}

abort_not_counts <- function(arg, call) {
  abort_argument(
    c(
      "{.arg {arg}} must hold counts, not TRUE and FALSE.",
      i = "Use {.code {arg} + 0} if 0 and 1 are meant."
    ),
    call = call
  )
}

table_of_matrix <- function(x) {
  filled <- which(x != 0 | is.na(x))
  new_table(
    (filled - 1L) %% nrow(x) + 1L, (filled - 1L) %/% nrow(x) + 1L,
    as.double(bare_values(x)[filled]),
    unname(dimnames(x) %||% list(NULL, NULL)), dim(x)
  )
}

# The columns of a data frame of counts: the package's own names, then those of
# tidytext, quanteda, spacyr and others.
count_columns <- list(
  document = c("document", "doc_id"), term = c("term", "word", "token"),
  count = c("count", "n")
)

# One row for each document and term, with the count; without a column of counts
# each row is one token. With a column `text` each row is a document.
table_of_data_frame <- function(x, vocabulary, arg, call) {
  check_data_frame(x, arg, call)
  found <- lapply(count_columns, choose_column, names(x), arg, call)
  if (is.null(found$term) && "text" %in% names(x)) {
    return(table_of_text_column(x, found$document, vocabulary, arg, call))
  }
  if (is.null(found$document) || is.null(found$term)) {
    given <- names(x)
    abort_argument(
      c(
        "{.arg {arg}} must have the columns {.val {names(count_columns)}}; it
         has {.val {given}}.",
        i = "Rename them; without {.val count} each row is one token.",
        i = "The names {.val doc_id}, {.val word}, {.val token} and {.val n} are
             understood too. A column {.val text} has a text for each
             document.",
        i = if (any(c("user", "item", "rating") %in% given)) {
          ratings_hint
        } else if (length(unlist(found)) == 0L &&
                     all(vapply(x, is.numeric, NA))) {
          "Where each row is a document and each column a term, give a matrix:
           {.code as.matrix({arg})}."
        }
      ),
      call = call
    )
  }
  x <- bare_columns(x)
  if (is.null(found$count)) say_single_tokens(x, unlist(found), arg)
  count <- if (is.null(found$count)) rep(1, nrow(x)) else x[[found$count]]
  check_not_64_bit(count, paste("Column", quoted(found$count)), call)
  if (!is.numeric(count)) {
    given <- describe(count)
    abort_argument(
      "Column {.val {found$count}} of {.arg {arg}} must be numeric, not
       {given}.",
      call = call
    )
  }
  document <- name_codes(x[[found$document]], found$document, arg, call)
  term <- name_codes(x[[found$term]], found$term, arg, call)
  new_table(
    document$code, term$code, as.double(count),
    list(document$names, term$names),
    c(length(document$names), length(term$names))
  )
}

# Where another column may have the counts.
say_single_tokens <- function(x, used, arg) {
  others <- setdiff(names(x), used)
  others <- others[vapply(others, function(name) is.numeric(x[[name]]), NA)]
  others <- grep("_id$", others, value = TRUE, invert = TRUE)
  if (length(others) > 0L) {
    inform_gibbsite(
      c(i = "{.arg {arg}} has no column {.val count} or {.val n}: each row is
             one token. If {.val {others[[1L]]}} has the counts, name it
             {.val count}."),
      class = "events"
    )
  }
}

# The name of a column, NULL if there is none. The first of `wanted` is used
# whatever else there is; two of the others are an error.
choose_column <- function(wanted, given, arg, call) {
  found <- intersect(wanted, given)
  if (length(found) > 1L && found[[1L]] != wanted[[1L]]) {
    abort_argument(
      c(
        "{.arg {arg}} has the columns {.val {found}}, of which only one can be
         used.",
        i = "Name that one {.val {wanted[1]}}."
      ),
      call = call
    )
  }
  if (length(found) > 0L) found[[1L]]
}

# A row for each document.
table_of_text_column <- function(x, document, vocabulary, arg, call) {
  text <- x[["text"]]
  text <- if (is.factor(text)) as.character(text) else text
  if (!is_texts(text)) {
    given <- describe(text)
    abort_argument(
      "Column {.val text} of {.arg {arg}} must be text, not {given}.",
      call = call
    )
  }
  names <- if (!is.null(document)) {
    codes <- name_codes(x[[document]], document, arg, call)
    codes$names[codes$code]
  }
  table_of_texts(text, names, vocabulary, paste0(arg, "$text"), call)
}

# A column of names as numbers: a factor's levels are all kept, other names come
# in the order in which they first occur.
name_codes <- function(column, name, arg, call) {
  check_not_64_bit(column, paste("Column", quoted(name)), call)
  if (!(is.factor(column) || is.character(column) || is.numeric(column))) {
    given <- describe(column)
    abort_argument(
      "Column {.val {name}} of {.arg {arg}} must be text, a factor or numbers,
       not {given}.",
      call = call
    )
  }
  missing <- is.na(if (is.factor(column)) as.character(column) else column)
  if (any(missing)) {
    row <- which(missing)[[1L]]
    abort_argument(
      "Column {.val {name}} of {.arg {arg}} has a missing value in row {row}.",
      call = call, class = "missing"
    )
  }
  if (is.factor(column)) {
    if (anyNA(levels(column))) column <- factor(column, levels(column))
    check_text(levels(column), paste0("levels(", arg, "$", name, ")"), call)
    return(list(code = as.integer(column), names = levels(column)))
  }
  check_text(column, paste0(arg, "$", name), call)
  names <- unique(column)
  list(code = match(column, names), names = id_words(names, exact = TRUE))
}

# ---- Texts and tokens --------------------------------------------------------

table_of_texts <- function(x, names, vocabulary, arg, call) {
  check_texts(x, arg, call)
  check_no_vocabulary(vocabulary, arg, call)
  names <- document_names(stats::setNames(seq_along(x), names), arg, call)
  table <- table_of_words(text_tokens(x), length(x), names)
  table$cut <- TRUE
  table
}

# What the user of texts is told once, and not for each new document.
say_cut <- function(table, arg) {
  if (!isTRUE(table$cut)) {
    return(invisible())
  }
  tokens <- sum(table$count)
  terms <- length(table$terms)
  inform_gibbsite(
    c(i = "The texts of {.arg {arg}} are cut into {digits(tokens)}
           token{cli::qty(tokens)}{?s} of {terms} term{?s}: runs of letters, in
           lower case. {.code token_counts({arg}, stopwords = )} leaves words
           out."),
    class = "conversion"
  )
}

table_of_tokens <- function(x, vocabulary, arg, call) {
  check_no_vocabulary(vocabulary, arg, call)
  table_of_words(
    listed_tokens(x, arg, call), length(x), document_names(x, arg, call)
  )
}

# Terms come in the order in which they first occur.
table_of_words <- function(tokens, documents, names) {
  terms <- unique(tokens$word)
  new_table(
    tokens$document, match(tokens$word, terms), rep(1, length(tokens$word)),
    list(names, terms), c(documents, length(terms))
  )
}

# Words name the terms themselves.
check_no_vocabulary <- function(vocabulary, arg, call) {
  if (!is.null(vocabulary)) {
    abort_argument(
      c(
        "{.arg vocabulary} goes with counts without names, and {.arg {arg}} has
         the terms themselves.",
        i = "See {.fn token_counts} to leave terms out."
      ),
      call = call
    )
  }
}

# ---- Lists of documents ------------------------------------------------------

# stm's documents with their vocabulary, as readCorpus(), textProcessor() and
# prepDocuments() give them: numbers of the terms count from 1.
is_stm <- function(x) {
  is.list(x) && !is.data.frame(x) &&
    all(c("documents", "vocab") %in% names(x)) && is.list(x[["documents"]]) &&
    is.character(x[["vocab"]])
}

table_of_stm <- function(x, vocabulary, arg, call) {
  check_no_vocabulary(vocabulary, arg, call)
  check_vocabulary(x[["vocab"]], length(x[["vocab"]]), arg, call,
    name = paste0(arg, "$vocab")
  )
  table_of_documents(
    x[["documents"]], as.vector(x[["vocab"]]), paste0(arg, "$documents"), call,
    from = 1
  )
}

table_of_list <- function(x, vocabulary, known, arg, call) {
  words <- vapply(x, is.character, NA)
  if (any(words)) {
    return(table_of_tokens(x, vocabulary, arg, call))
  }
  names <- vocabulary %||% known
  from <- attr(known, "from") %||% first_number(x, names, arg)
  if (!is.null(vocabulary)) {
    check_vocabulary(vocabulary, length(vocabulary), arg, call)
  }
  table_of_documents(x, names, arg, call, from)
}

# Whether terms are numbered from 0, as in the package lda, or from 1, as in
# stm: the highest number of a term is one less than their count, or the count.
first_number <- function(x, vocabulary, arg) {
  numbers <- unlist(lapply(Filter(has_two_rows, x), function(one) one[1L, ]))
  terms <- length(vocabulary)
  too_high <- !is.null(vocabulary) && any(numbers > terms)
  if (length(numbers) == 0L || anyNA(numbers) || min(numbers) < 1 || too_high) {
    return(0)
  }
  if (!is.null(vocabulary) && max(numbers) == terms) {
    inform_gibbsite(
      c(i = "The terms of {.arg {arg}} are numbered from 1, as in the stm
             package: 0 does not occur, and {terms}, the number of names,
             does."),
      class = "conversion"
    )
    return(1)
  }
  inform_gibbsite(
    c(
      i = "The terms of {.arg {arg}} are taken as numbered from 0, as in the lda
           package; 0 does not occur.",
      i = "Where they are numbered from 1, as in the stm package, give
           {.code list(documents = , vocab = )}."
    ),
    class = "numbering"
  )
  0
}

has_two_rows <- function(x) is.numeric(x) && is.matrix(x) && nrow(x) == 2L

# The form of the packages lda and stm: a document is a matrix of two rows, the
# numbers of the terms, from 0 (lda) or 1 (stm) on, and their counts.
table_of_documents <- function(x, vocabulary, arg, call, from = 0) {
  fine <- vapply(x, has_two_rows, NA)
  if (!all(fine)) {
    bad <- which(!fine)[[1L]]
    given <- describe(x[[bad]])
    abort_argument(
      c(
        "Each element of {.arg {arg}} must be a matrix of two rows: {.code
         {arg}[[{bad}]]} is {given}.",
        i = "The rows are the numbers of the terms, from {from} on, and their
             counts.",
        i = if (from == 0) accepted_counts
      ),
      call = call
    )
  }
  all <- matrix(as.double(unlist(x, use.names = FALSE)), 2L)
  document <- rep.int(seq_along(x), vapply(x, ncol, 0L))
  term <- all[1L, ] - from + 1
  wrong <- is.na(term) | term < 1 | term != round(term)
  if (!is.null(vocabulary)) {
    wrong <- wrong | term > length(vocabulary)
  }
  if (any(wrong)) {
    abort_term(all[1L, ], document, which(wrong)[[1L]], vocabulary, from, arg,
      call
    )
  }
  terms <- max(length(vocabulary), term, 0)
  table <- new_table(
    document, as.integer(term), as.double(all[2L, ]),
    list(document_names(x, arg, call), vocabulary), c(length(x), terms)
  )
  table$from <- from
  table
}

abort_term <- function(numbers, document, at, vocabulary, from, arg, call) {
  where <- document[[at]]
  found <- numbers[[at]]
  size <- length(vocabulary)
  whose <- if (arg %in% c("newdata", "data")) {
    "terms of the fit"
  } else if (endsWith(arg, "$documents")) {
    "length of `vocab`"
  } else {
    "length of `vocabulary`"
  }
  most <- if (!is.null(vocabulary)) {
    paste0(
      if (from == 1) " to " else " below ", size, " (", whose, ")"
    )
  }
  abort_argument(
    "Terms of {.arg {arg}} must be whole numbers from {from}{most}: document
     {where} has {found}.",
    call = call
  )
}

name_counts <- function(table, vocabulary, known, arg, call, none_ok = FALSE) {
  if (!is.null(vocabulary)) {
    table$terms <- check_vocabulary(vocabulary, table$size[[2L]], arg, call)
  }
  table <- without_empty_term(table, arg)
  # new texts may have no word at all
  none_ok <- c(none_ok, !is.null(known) && !is.null(table$terms))
  none <- c("documents", "terms")[table$size == 0 & !none_ok]
  if (length(none) > 0L) {
    abort_argument(
      "{.arg {arg}} has no {none[[1L]]}.", call = call, class = "empty"
    )
  }
  if (is.null(table$terms)) {
    check_unnamed_terms(table, known, arg, call)
    table$terms <- as.vector(known) %||%
      as.character(seq_len(table$size[[2L]]))
  }
  whose <- if (is.null(vocabulary)) arg else "vocabulary"
  check_term_names(table$terms, whose, arg, call)
  table$unnamed <- is.null(table$documents)
  table$documents <- unique_names(
    table$documents %||% as.character(seq_len(table$size[[1L]]))
  )
  table
}

# Terms without names are those of the fit.
check_unnamed_terms <- function(table, known, arg, call) {
  if (is.null(known) || length(known) == table$size[[2L]]) {
    return(invisible())
  }
  turned <- isTRUE(mean(table$documents %in% known) > 0.5)
  abort_argument(
    c(
      "{.arg {arg}} must have {length(known)} term{?s} like the fit, not
       {table$size[[2L]]}.",
      i = if (turned) {
        "Its rows have the names of terms. Documents must be rows:
         {.code t({arg})}."
      } else {
        "With names, terms are matched by name."
      }
    ),
    call = call
  )
}

# whose: the argument that has the names.
check_term_names <- function(terms, whose, arg, call) {
  if (anyNA(terms)) {
    at <- which(is.na(terms))[[1L]]
    abort_argument(
      "The name of term {at} in {.arg {arg}} is missing.",
      call = call, class = "names"
    )
  }
  twice <- terms[duplicated(terms)]
  if (length(twice) > 0L) {
    abort_argument(
      c(
        "Names of terms in {.arg {whose}} must be different: {.val {twice[1]}}
         is there more than once.",
        i = "Add up their columns first."
      ),
      call = call, class = "names"
    )
  }
}

# The table with some of its entries.
some_counts <- function(table, kept) {
  entries <- c("document", "term", "count")
  table[entries] <- lapply(table[entries], `[`, kept)
  table
}

# Without tokens that are an empty string, with a message.
without_empty_term <- function(table, arg) {
  empty <- which(!nzchar(table$terms))
  if (length(empty) == 0L) {
    return(table)
  }
  none <- table$term %in% empty
  count <- sum(table$count[none])
  inform_gibbsite(
    c(i = "{count} token{?s} of {.arg {arg}} {cli::qty(count)}{?is an empty
           string and is/are empty strings and are} left out."),
    class = "terms"
  )
  table <- some_counts(table, !none)
  known <- seq_along(table$terms)[-empty]
  table$term <- match(table$term, known)
  table$terms <- table$terms[known]
  table$size[[2L]] <- length(known)
  table
}

check_vocabulary <- function(vocabulary, terms, arg, call,
                             name = "vocabulary") {
  if (!is.character(vocabulary) || is.object(vocabulary) ||
        anyNA(vocabulary)) {
    abort_expected(
      vocabulary, "the names of the terms", name == "vocabulary", name, call
    )
  }
  check_text(vocabulary, name, call)
  if (length(vocabulary) != terms) {
    abort_argument(
      "{.arg vocabulary} must have {terms} name{?s}, one for each term of
       {.arg {arg}}, not {length(vocabulary)}.",
      call = call
    )
  }
  as.vector(vocabulary)
}

# Matches terms by name to those of an earlier fit. Unknown terms have no
# information about the fit's topics and are dropped.
match_terms <- function(table, known, arg, call) {
  to <- match(table$terms, known)
  kept <- !is.na(to[table$term])
  lost <- sum(table$count[!kept])
  if (lost > 0) {
    say_unknown_terms(table, known, !kept, arg, call)
  }
  table <- some_counts(table, kept)
  table$term <- to[table$term]
  table$terms <- as.vector(known)
  table$size[[2L]] <- length(known)
  table
}

# What is said of terms that the fit does not have; `lost`: which entries.
say_unknown_terms <- function(table, known, lost, arg, call) {
  count <- sum(table$count[lost])
  total <- sum(table$count)
  terms <- table$terms[unique(table$term[lost])]
  if (count == total && mean(table$documents %in% known) > 0.5) {
    abort_argument(
      c(
        "No term of {.arg {arg}} is one of the fit, and its rows have the names
         of the fit's terms.",
        i = "Documents must be rows: {.code t({arg})}."
      ),
      call = call, class = "transposed"
    )
  }
  inform_gibbsite(
    c(
      i = "{count} token{?s} of {length(terms)} term{?s} that the fit does not
           know {cli::qty(count)}{?is/are} left out.",
      "!" = if (count == total) {
        "No token is left."
      } else if (count > total / 2) {
        "These are most of the {total} tokens."
      },
      i = lost_by_form(table, terms, known)
    ),
    class = "terms"
  )
}

# A hint where terms of the fit have another form than these.
lost_by_form <- function(table, terms, known) {
  uncut <- setdiff(known, unique(unlist(cut_words(fold_case(known)))))
  if (isTRUE(table$cut) && length(uncut) > 0L) {
    shown <- quoted(uncut[[1L]])
    return(paste0(
      "Texts are cut into runs of letters in lower case, and the fit has ",
      "other terms, such as ", shown, ": give tokens, cut like those of the ",
      "fit, as a list of character vectors."
    ))
  }
  alike <- sum(fold_case(terms) %in% fold_case(known))
  if (alike > 0L) {
    paste0(
      alike, if (alike == 1L) " of them is a term" else " of them are terms",
      " of the fit in upper or lower case: see `tolower()`."
    )
  }
}

# Counts must be whole and not negative; the error names the first that is not.
# Zeros are dropped, repeated entries added.
check_counts <- function(table, arg, call) {
  count <- as.double(table$count)
  wrong <- !is.finite(count) | count < 0 | count != round(count)
  if (any(wrong)) {
    order <- order(table$document, table$term)
    at <- order[wrong[order]][[1L]]
    place <- entry_words(table, at)
    found <- count[[at]]
    abort_argument(
      c(
        "Counts in {.arg {arg}} must be whole numbers of at least 0: {place} has
         {found}.",
        i = if (is.finite(found) && found != round(found)) {
          "Weighted counts, such as tf-idf, are not counts of tokens."
        },
        i = if (is.na(found)) {
          paste("A term that a document does not have has the count 0.",
                ratings_hint)
        }
      ),
      call = call
    )
  }
  table$count <- count
  some_counts(table, count > 0)
}

# 'document 3 ("draft.txt"), term "tea"'
entry_words <- function(table, at) {
  paste0(
    document_words(table, table$document[[at]]), ", term ",
    quoted(table$terms[[table$term[[at]]]])
  )
}

document_words <- function(table, d) {
  name <- table$documents[[d]]
  if (name == as.character(d)) {
    return(paste("document", d))
  }
  paste0("document ", d, " (", quoted(name), ")")
}

check_empty_documents <- function(table, empty, arg, call) {
  if (empty != "error") {
    return(invisible())
  }
  bare <- which(tabulate(table$document, table$size[[1L]]) == 0L)
  if (length(bare) == 0L) {
    return(invisible())
  }
  first <- document_words(table, bare[[1L]])
  substr(first, 1L, 1L) <- "D"
  more <- length(bare) - 1L
  others <- if (more > 0L) cli::pluralize(" and {more} other{?s}")
  abort_argument(
    c(
      "{first}{others} of {.arg {arg}} {cli::qty(length(bare))}{?has/have} no
       words.",
      i = "Drop empty documents, or set {.code empty = \"keep\"} to give them
           the prior."
    ),
    call = call, class = "empty", documents = table$documents[bare]
  )
}

count_tokens <- function(table, none_ok, arg, call) {
  total <- sum(table$count)
  check_token_count(
    total, arg, largest_count(table),
    "Correct the counts or take fewer documents", call
  )
  if (total == 0 && !none_ok) {
    abort_argument("{.arg {arg}} has no words.", call = call, class = "empty")
  }
  table <- some_counts(
    table, order(table$document, table$term, method = "radix")
  )
  # how many entries come before each document, and in all
  entries <- cumsum(c(0, tabulate(table$document, table$size[[1L]])))
  c(
    list(
      word = rep.int(table$term, table$count),
      start = c(0, cumsum(table$count))[entries + 1],
      documents = table$documents, terms = table$terms
    ),
    if (identical(table$from, 1)) list(from = 1)
  )
}

# In 8 bytes, and rounded up: a run of one chain takes 20 bytes for each token
# (its term, its topic and their copies), each further chain 4 more
# (bench/costs.R).
numbers_of_token <- 3

# `largest`: NULL, or a sentence that says where the most tokens are. `fewer`
# names what to reduce: a template of cli.
check_token_count <- function(total, arg, largest, fewer, call) {
  if (total >= 2^31) {
    abort_argument(
      c(
        "{.arg {arg}} must have fewer than 2^31 tokens, not
         {format_number(total)}.",
        x = if (!is.null(largest)) "{largest}", i = paste0(fewer, ".")
      ),
      call = call, class = "size"
    )
  }
  check_memory(
    numbers_of_token * total,
    paste0("The ", format_number(total), " tokens of {.arg ", arg, "}"),
    fewer, call, place = largest
  )
}

largest_count <- function(table) {
  at <- which.max(table$count)
  if (length(at) == 0L) {
    return(NULL)
  }
  paste0("The largest count is ", format_number(table$count[[at]]), ": ",
         entry_words(table, at), ".")
}

# Tokens of the fit's documents, or an error that the fit does not hold its
# data, with the argument, if any, that accepts other documents.
lda_tokens <- function(fit, arg, call) {
  model <- fit_part(fit, "model")
  if (is_in_shards(model)) {
    abort_in_shards(call)
  }
  if (is.null(model$data)) {
    abort_no_data(arg, call)
  }
  model_tokens(model)
}

model_tokens <- function(model) {
  c(model$data[c("word", "start")], model[c("documents", "terms")])
}

lda_newdata <- function(fit, newdata, call) {
  if (is.null(newdata)) {
    return(lda_tokens(fit, "newdata", call))
  }
  as_counts(
    newdata, empty = "none", known = known_terms(fit_part(fit, "model")),
    arg = "newdata", call = call
  )
}

# The terms of a fit as as_counts() takes them.
known_terms <- function(model) structure(model$terms, from = model$from)

document_of_token <- function(tokens) {
  lengths <- diff(tokens$start)
  rep.int(seq_along(lengths), lengths)
}

# A sparse matrix, documents x terms, of tokens.
tokens_matrix <- function(document, word, documents, terms) {
  Matrix::sparseMatrix(
    i = document, j = word, x = 1, dims = c(length(documents), length(terms)),
    dimnames = list(documents, terms)
  )
}
