# Ids of users, items, groups, documents and terms: their codes, their words,
# and rows of several ids. Ids are told apart by their values. Text pasted from
# them is only shown: it may be the same for different ids.

# Codes and their ids. All levels of a factor are kept, in their order. Other
# ids are sorted; text is sorted in the same way in every locale.
index_ids <- function(x, what, arg, call) {
  check_ids(x, what, arg, call)
  if (is.factor(x)) {
    if (anyNA(levels(x))) x <- factor(x, levels(x))
    return(list(
      code = as.integer(x), ids = factor(levels(x), levels(x))
    ))
  }
  x <- plain_ids(x, call)
  ids <- sort(unique(x), method = "radix")
  list(code = match(x, ids), ids = ids)
}

check_ids <- function(x, what, arg, call) {
  if (!isNamespaceLoaded("bit64")) {
    check_not_64_bit(x, paste0("The ", what, " column of `", arg, "`"), call)
  }
  if (is.null(x) || !is.atomic(x) || is.complex(x) || is.raw(x) ||
        length(dim(x)) > 1) {
    abort_argument(
      "The {what} column of {.arg {arg}} must hold ids (a factor, text or
       numbers), not {describe(x)}.",
      call = call, class = "column"
    )
  }
  if (length(x) > .Machine$integer.max) {
    abort_argument(
      "The {what} column of {.arg {arg}} must have 2^31 - 1 ids at most, not
       {digits(length(x))}.",
      call = call, class = "column"
    )
  }
  words <- if (is.factor(x)) levels(x) else x
  check_text(words, paste0(arg, " (", what, ")"), call)
  # a factor may have NA among its levels
  missing <- if (is.factor(x)) is.na(x) | is.na(words)[x] else is.na(x)
  if (is.character(words) && any(!missing)) {
    empty <- if (is.factor(x)) !nzchar(words)[x] else !nzchar(x)
    row <- which(empty)[1L]
    if (!is.na(row)) {
      abort_argument(
        "The {what} of each rating must be known: in row {row} of {.arg {arg}}
         it is an empty text.",
        call = call, class = "missing", row = row
      )
    }
  }
  if (any(missing)) {
    row <- which(missing)[[1]]
    abort_argument(
      c(
        "The {what} of each rating must be known: in row {row} of
         {.arg {arg}} it is missing.",
        i = "{sum(missing)} row{?s} {?has/have} no {what}."
      ),
      call = call, class = "missing", row = row
    )
  }
}

# Ids of a class (dates, labelled codes, ...) as text; of times each by
# itself, with the time zone, because an hour may occur twice.
plain_ids <- function(x, call = rlang::caller_env()) {
  if (!isNamespaceLoaded("bit64")) {
    check_not_64_bit(x, "A column of ids", call)
  }
  if (inherits(x, "vctrs_vctr")) {
    x <- bare_values(x)
  }
  if (inherits(x, "POSIXct")) {
    return(sub("[.]0+ ", " ", format(x, "%Y-%m-%d %H:%M:%OS6 %Z")))
  }
  if (is.object(x) && !identical(class(x), "AsIs") || is.logical(x)) {
    return(as.character(x))
  }
  as.vector(unclass(x))
}

plain_or_level <- function(x) {
  if (is.factor(x)) as.character(x) else plain_ids(x)
}

# Ids as text: 100000 is "100000", never "1e+05". R writes a number with 15
# digits; those of which two would be the same text, or with `exact` all that
# need them, are written with 17.
id_words <- function(ids, exact = FALSE) {
  if (!is.double(ids) || is.object(ids)) {
    return(as.character(ids))
  }
  whole <- which(ids == round(ids) & abs(ids) < 1e15)
  words <- as.character(ids)
  words[whole] <- sprintf("%.0f", ids[whole])
  longer <- !is.na(ids) & as.double(words) != ids
  if (!exact && any(longer)) {
    first <- !duplicated(ids)
    shown <- words[first]
    longer <- longer & words %in% shown[duplicated(shown)]
  }
  words[longer] <- sprintf("%.17g", ids[longer])
  words
}

# Codes of ids given later; NA for one that the ratings do not have.
match_ids <- function(x, ids) {
  x <- plain_or_level(x)
  ids <- plain_or_level(ids)
  if (is.numeric(x) && is.numeric(ids)) {
    return(match(x, ids))
  }
  match_words(id_words(x), id_words(ids))
}

# The places of ids in `known`; the level "1e+05" of a factor that R made of
# numbers is 100000.
match_words <- function(x, known) {
  code <- match(x, known)
  lost <- is.na(code)
  if (any(lost)) {
    code[lost] <- match(whole_words(x[lost]), whole_words(known))
  }
  code
}

whole_words <- function(x) {
  odd <- grep("^[0-9.]+e\\+[0-9]+$", x)
  x[odd] <- id_words(as.double(x[odd]))
  x
}

# Names of the rows or columns of a matrix as ids: numbers for those that have
# no name, and other names for those that are repeated.
unique_names <- function(names) {
  given <- names[!is_nameless(names)]
  if (anyDuplicated(given) > 0) {
    twice <- utils::head(unique(given[duplicated(given)]), 3)
    inform_gibbsite(
      c(i = "Several rows or columns are named {and_words(quoted(twice))}: a
             number was added to tell them apart."),
      class = "names"
    )
  }
  make.unique(numbered_names(names))
}

is_nameless <- function(names) is.na(names) | !nzchar(names)

# The name of another one is not taken.
numbered_names <- function(names) {
  nameless <- is_nameless(names)
  if (any(nameless)) {
    given <- unique(names[!nameless])
    all <- make.unique(c(given, as.character(which(nameless))))
    names[nameless] <- utils::tail(all, sum(nameless))
  }
  names
}

# ---- Rows of several ids -----------------------------------------------------

# columns: a list of vectors (or a data frame). A number for each row: rows have
# the same one if and only if all their values are equal.
row_codes <- function(columns) {
  Reduce(function(code, column) {
    # exact below 2^53
    key <- (code - 1) * as.double(length(column)) +
      match(column, unique(column))
    match(key, unique(key))
  }, unname(as.list(columns)), rep(1L, lengths(columns)[[1L]]))
}

# Words for rows of several ids, all different: "a:b". Where two would be the
# same, each part is in quotes, as in "\"x:y\":\"z\"".
joined_words <- function(parts, sep = ":") {
  pasted <- function(parts) do.call(paste, c(unname(parts), sep = sep))
  words <- pasted(parts)
  twice <- words %in% words[duplicated(words)]
  words[twice] <- pasted(lapply(parts, function(part) {
    encodeString(part[twice], quote = "\"")
  }))
  make.unique(words)
}
