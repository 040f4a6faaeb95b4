# Conditions and argument checks, shared by every sampler.
#
# A check returns the value in the one form the rest of the package uses, or
# raises an error of the user's own call that says which argument, what was
# expected, what was given and where.  User mistakes end here: what lies below
# checks types and lengths only.

# ---- Conditions ------------------------------------------------------------

# Classes of a condition of ours, from the particular to the general.  `class`
# is the particular part ("missing") or a full name ("gibbsite_error_missing").
condition_classes <- function(type, class, family = NULL) {
  prefix <- paste0("gibbsite_", type)
  class <- as.character(class)
  bare <- !startsWith(class, "gibbsite_")
  class[bare] <- paste0(prefix, "_", class[bare], recycle0 = TRUE)
  unique(c(class, if (!is.null(family)) paste0(prefix, "_", family), prefix))
}

abort_gibbsite <- function(family, message, ..., call, class, envir) {
  cli::cli_abort(message, ...,
    class = condition_classes("error", class, family),
    call = call, .envir = envir
  )
}

# `message` is a cli template (names "x", "i", "!" make bullets), evaluated in
# `envir`; `...` are fields of the condition, `call` is the user's call.
# Three families: what the user gave, what the arithmetic met, and what the
# session, a file or an object at hand is not fit for.
abort_argument <- function(message, ..., call = envir, class = NULL,
                           envir = rlang::caller_env()) {
  force(envir)
  abort_gibbsite("argument", message, ...,
    call = call, class = class, envir = envir
  )
}

abort_numeric <- function(message, ..., call = envir, class = NULL,
                          envir = rlang::caller_env()) {
  force(envir)
  abort_gibbsite("numeric", message, ...,
    call = call, class = class, envir = envir
  )
}

abort_state <- function(message, ..., call = envir, class = NULL,
                        envir = rlang::caller_env()) {
  force(envir)
  abort_gibbsite("state", message, ...,
    call = call, class = class, envir = envir
  )
}

# A warning or a message that can be suppressed alone, by its class.
warn_gibbsite <- function(message, class, ..., envir = rlang::caller_env()) {
  cli::cli_warn(message, ...,
    class = condition_classes("warning", class), .envir = envir
  )
}

inform_gibbsite <- function(message, class, ..., envir = rlang::caller_env()) {
  cli::cli_inform(message, ...,
    class = condition_classes("message", class), .envir = envir
  )
}

# ---- What was given, in words ----------------------------------------------

# A number as a person would type it.
format_number <- function(x) {
  trimws(format(x, digits = 15, scientific = if (abs(x) < 1e15) 10 else -10))
}

quoted <- function(x) encodeString(x, quote = "\"")

# Strings that can be read as text.  Bytes that are none in the session's
# encoding cannot be counted, compared or shown by most of R.
is_text <- function(x) validEnc(x) & Encoding(x) != "bytes"

describe_string <- function(x) {
  # what is no text is shown by its bytes, which are too many only at length
  if (is_text(x)) {
    if (nchar(x, "chars") > 40) x <- paste0(substr(x, 1, 37), "...")
  } else if (nchar(x, "bytes") > 40) {
    return("a string")
  }
  paste("the string", quoted(x))
}

describe_scalar <- function(x) {
  if (is.na(x)) {
    return(if (is.numeric(x) && is.nan(x)) "NaN" else "NA")
  }
  switch(typeof(x),
    logical = as.character(x),
    double = ,
    integer = format_number(x),
    character = describe_string(x),
    paste("the", typeof(x), "value", format(x))
  )
}

# "numeric", "character", ...: what a person calls the type of an atomic vector
type_word <- function(x) {
  switch(typeof(x), double = , integer = "numeric", typeof(x))
}

with_article <- function(noun) {
  paste(if (grepl("^[aeio]", noun)) "an" else "a", noun)
}

describe_array <- function(x) {
  size <- dim(x)
  if (length(size) == 2) {
    return(paste("a", size[1], "x", size[2], type_word(x), "matrix"))
  }
  sprintf(
    "%s array of %d dimension%s", with_article(type_word(x)), length(size),
    if (length(size) == 1) "" else "s"
  )
}

describe_object <- function(x) {
  known <- c(
    data.frame = "a data frame", factor = "a factor", formula = "a formula"
  )
  found <- intersect(class(x), names(known))
  if (length(found) > 0) return(known[[found[1]]])
  paste("an object of class", quoted(class(x)[1]))
}

describe_vector <- function(x) {
  if (!is.null(dim(x))) return(describe_array(x))
  if (length(x) == 1) return(describe_scalar(x))
  if (length(x) == 0) return(paste("an empty", type_word(x), "vector"))
  paste(with_article(type_word(x)), "vector of length", whole(length(x)))
}

# "3.5", "the string \"a\"", "a list", "a numeric vector of length 3", ...
describe <- function(x) {
  if (is.null(x)) return("NULL")
  if (is.object(x)) return(describe_object(x))
  if (is.atomic(x)) return(describe_vector(x))
  if (is.function(x)) return("a function")
  if (is.environment(x)) return("an environment")
  if (is.list(x)) return(if (length(x) == 0) "an empty list" else "a list")
  "an unevaluated expression"
}

# a, b or c; a, b and c
word_list <- function(x, link) {
  if (length(x) < 2) return(as.character(x))
  paste(paste(x[-length(x)], collapse = ", "), link, x[length(x)])
}

or_words <- function(x) word_list(x, "or")

and_words <- function(x) word_list(x, "and")

# " between 1 and 272 (rows of `x`)", " above 0", ...: the second half of "a
# whole number ..." or "a number ...".  `upper_why` says whence the upper end.
range_words <- function(lower, upper, lower_open = FALSE, upper_open = FALSE,
                        upper_why = NULL) {
  why <- if (is.null(upper_why)) "" else paste0(" (", upper_why, ")")
  low <- format_number(lower)
  high <- paste0(format_number(upper), why)
  bounded <- is.finite(c(lower, upper))
  if (all(bounded) && !lower_open && !upper_open) {
    return(paste(" between", low, "and", high))
  }
  at_most <- if (bounded[1]) "at most" else "of at most"
  ends <- c(
    paste(if (lower_open) "above" else "of at least", low),
    paste(if (upper_open) "below" else at_most, high)
  )[bounded]
  if (length(ends) == 0) return("")
  paste0(" ", paste(ends, collapse = " and "))
}

# `hint` is plain text: nothing in it is a template.
abort_expected <- function(x, expected, null_ok, arg, call, hint = NULL) {
  expected <- paste0(if (null_ok) "NULL or ", expected)
  given <- describe(x)
  hint <- text_hint(x) %||% hint
  abort_argument(
    c(
      "{.arg {arg}} must be {expected}, not {given}.",
      i = if (!is.null(hint)) "{hint}"
    ),
    call = call
  )
}

text_hint <- function(x) {
  odd <- is.character(x) && length(x) == 1 && !is_text(x)
  if (odd) "It is not valid text: see `validUTF8()` and `iconv()`."
}

# The first of several strings that is no text is an error.
check_text <- function(x, arg, call) {
  if (!is.character(x)) return(invisible())
  bad <- which(!is_text(x))
  if (length(bad) > 0) {
    first <- bad[[1]]
    given <- describe(as.vector(x)[[first]])
    abort_argument(
      c("{.arg {arg}} must be valid text: element {first} is {given}.",
        i = "See {.fn validUTF8} and {.fn iconv}."),
      call = call, class = "text"
    )
  }
}

# ---- One value -------------------------------------------------------------

# One value that is not NA, without a class: no factor, no date.
is_plain_scalar <- function(x) {
  is.atomic(x) && !is.object(x) && length(x) == 1 && !is.na(x)
}

is_plain_number <- function(x) is_plain_scalar(x) && is.numeric(x)

is_plain_string <- function(x) {
  is_plain_scalar(x) && is.character(x) && is_text(x)
}

in_range <- function(x, lower, upper, lower_open = FALSE, upper_open = FALSE) {
  (if (lower_open) x > lower else x >= lower) &
    (if (upper_open) x < upper else x <= upper)
}

# 0, or a rounding error away from another whole number, as arithmetic leaves
# it.  Nothing but 0 is taken for 0: what is close to it was meant to be small.
is_whole_number <- function(x) {
  nearest <- round(x)
  x == nearest |
    nearest != 0 & abs(x - nearest) <= sqrt(.Machine$double.eps)
}

# A whole number in [min, max]: an integer where it fits, else a double.  1e4
# is a count.
check_count <- function(x, min = 1, max = Inf, max_why = NULL, null_ok = FALSE,
                        arg = rlang::caller_arg(x),
                        call = rlang::caller_env()) {
  if (null_ok && is.null(x)) return(NULL)
  whole <- is_plain_number(x) && is.finite(x) && is_whole_number(x)
  if (!whole || !in_range(round(x), min, max)) {
    range <- range_words(min, max, upper_why = max_why)
    abort_expected(x, paste0("a whole number", range), null_ok, arg, call)
  }
  x <- round(as.vector(x))
  names(x) <- NULL
  if (abs(x) <= .Machine$integer.max) as.integer(x) else x
}

# One number as a double.  `infinite_ok`: -Inf and Inf count as numbers.
check_number <- function(x, lower = -Inf, upper = Inf, lower_open = FALSE,
                         upper_open = FALSE, infinite_ok = FALSE,
                         null_ok = FALSE, arg = rlang::caller_arg(x),
                         call = rlang::caller_env()) {
  if (null_ok && is.null(x)) return(NULL)
  number <- is_plain_number(x)
  finite <- infinite_ok || !number || is.finite(x)
  if (!number || !finite ||
    !in_range(x, lower, upper, lower_open, upper_open)) {
    range <- range_words(lower, upper, lower_open, upper_open)
    what <- if (finite) "a number" else "a finite number"
    abort_expected(x, paste0(what, range), null_ok, arg, call)
  }
  as.double(x)
}

check_flag <- function(x, arg = rlang::caller_arg(x),
                       call = rlang::caller_env()) {
  if (!is_plain_scalar(x) || !is.logical(x)) {
    abort_expected(x, "TRUE or FALSE", FALSE, arg, call)
  }
  as.vector(x)
}

check_string <- function(x, null_ok = FALSE, arg = rlang::caller_arg(x),
                         call = rlang::caller_env()) {
  if (null_ok && is.null(x)) return(NULL)
  if (!is_plain_string(x) || !nzchar(x)) {
    what <- if (identical(x, "")) "a non-empty string" else "a string"
    abort_expected(x, what, null_ok, arg, call)
  }
  as.vector(x)
}

# One of `choices`, as match.arg() has it: NULL or the whole default is the
# first, a beginning that fits one choice alone stands for it, case matters.
check_choice <- function(x, choices, arg = rlang::caller_arg(x),
                         call = rlang::caller_env()) {
  if (is.null(x) || identical(x, choices)) return(choices[1])
  found <- if (is_plain_string(x)) pmatch(x, choices) else NA
  if (is.na(found)) {
    one_of <- if (length(choices) > 1) "one of " else ""
    abort_expected(x, paste0(one_of, or_words(quoted(choices))), FALSE, arg,
      call,
      hint = case_hint(x, choices)
    )
  }
  choices[found]
}

case_hint <- function(x, choices) {
  if (!is_plain_string(x)) return(NULL)
  same <- choices[tolower(choices) %in% tolower(x)]
  if (length(same) != 1) return(NULL)
  paste0("Case matters: did you mean ", quoted(same), "?")
}

# Some of `choices`, each at most once; returned in the order of `choices`.
# `what` is the noun for them, in the plural.
check_subset <- function(x, choices, what = "names",
                         arg = rlang::caller_arg(x),
                         call = rlang::caller_env()) {
  hint <- paste0("The ", what, " are ", and_words(quoted(choices)), ".")
  if (!is.character(x) || is.object(x) || length(x) == 0 || anyNA(x)) {
    abort_expected(x, paste("a character vector of", what), FALSE, arg, call,
      hint = hint
    )
  }
  check_text(x, arg, call)
  unknown <- setdiff(x, choices)
  if (length(unknown) > 0) {
    unknown <- or_words(quoted(unknown))
    abort_argument(
      c("{.arg {arg}} must name {what} of this model, not {unknown}.",
        i = "{hint}"
      ),
      call = call
    )
  }
  if (anyDuplicated(x) > 0) {
    twice <- and_words(quoted(unique(x[duplicated(x)])))
    abort_argument("{.arg {arg}} names {twice} more than once.", call = call)
  }
  choices[choices %in% x]
}

# An object of a class of ours.  `made_by`: the function that makes one.
check_class <- function(x, class, made_by, null_ok = FALSE,
                        arg = rlang::caller_arg(x),
                        call = rlang::caller_env()) {
  if (null_ok && is.null(x)) return(NULL)
  if (!inherits(x, class)) {
    hint <- if (is.function(x)) "Call it: {.code {arg} = {made_by}}."
    given <- describe(x)
    or_null <- if (null_ok) "NULL or " else ""
    abort_argument(
      c(
        "{.arg {arg}} must be {or_null}made by {.code {made_by}}, not {given}.",
        i = hint
      ),
      call = call
    )
  }
  x
}

# A class can be written on anything, and the elements of what has it be changed
# by hand: it must have those that its maker gives it.
check_made <- function(x, fields, made_by, arg = rlang::caller_arg(x),
                       call = rlang::caller_env()) {
  force(arg)
  lacking <- if (is.list(x)) setdiff(fields, names(unclass(x))) else fields
  if (length(lacking) > 0) {
    abort_argument(
      c(
        "{.arg {arg}} is not what {.code {made_by}} makes: it has no
         {.field {lacking[1]}}.",
        i = "Its elements were changed by hand: make it anew."
      ),
      call = call, class = "forged"
    )
  }
  invisible(x)
}

# The same made again by `maker` of its elements, which are so checked.
remade <- function(x, maker, made_by, arg = rlang::caller_arg(x),
                   call = rlang::caller_env(),
                   fields = names(formals(maker))) {
  force(arg)
  check_made(x, fields, made_by, arg, call)
  tryCatch(
    do.call(maker, unclass(x)[fields], quote = TRUE),
    gibbsite_error_argument = function(cnd) {
      reason <- cli::ansi_strip(conditionMessage(cnd))
      abort_argument(
        c(
          "{.arg {arg}} is not what {.code {made_by}} makes.",
          x = "{reason}"
        ),
        call = call, class = "forged"
      )
    }
  )
}

# ---- Vectors and matrices --------------------------------------------------

# A numeric vector as doubles, names kept.  `length`: the lengths allowed
# (nothing is recycled here; a caller that takes a scalar for a vector says
# `length = c(1, d)`); `length_why` says where the length comes from.
check_numeric_vector <- function(x, length = NULL, length_why = NULL,
                                 lower = -Inf, upper = Inf, lower_open = FALSE,
                                 upper_open = FALSE, finite = TRUE,
                                 null_ok = FALSE, arg = rlang::caller_arg(x),
                                 call = rlang::caller_env()) {
  if (null_ok && is.null(x)) return(NULL)
  if (!is.numeric(x) || is.object(x) || length(dim(x)) > 1) {
    abort_expected(x, "a numeric vector", null_ok, arg, call)
  }
  check_vector_length(x, length, length_why, arg, call)
  check_text(names(x), paste0("names(", arg, ")"), call)
  bad <- which(
    is.na(x) | (finite & is.infinite(x)) |
      !in_range(x, lower, upper, lower_open, upper_open)
  )
  if (length(bad) > 0) {
    first <- bad[1]
    range <- range_words(lower, upper, lower_open, upper_open)
    what <- paste0(if (finite) "finite numbers" else "numbers", range)
    given <- describe(as.vector(x)[[first]])
    abort_argument(
      "{.arg {arg}} must hold {what}: element {first} is {given}.",
      call = call
    )
  }
  structure(as.double(x), names = names(x))
}

# No argument that is neither data nor one number a datum is longer than this:
# what is was not meant for it, and would be copied before that was found.
longest_vector <- 1e7

check_vector_length <- function(x, length, length_why, arg, call) {
  given <- base::length(x)
  shown <- whole(given)
  if (is.null(length)) {
    if (given == 0) {
      abort_argument("{.arg {arg}} must not be empty.", call = call)
    }
    if (given > longest_vector) {
      abort_argument(
        "{.arg {arg}} must have length {whole(longest_vector)} at most, not
         {shown}.",
        call = call
      )
    }
    return(invisible())
  }
  if (!given %in% length) {
    wanted <- or_words(unique(length))
    why <- if (is.null(length_why)) "" else paste0(" (", length_why, ")")
    abort_argument(
      "{.arg {arg}} must have length {wanted}{why}, not {shown}.",
      call = call
    )
  }
}

# A symmetric positive definite d x d matrix of doubles, without names and
# symmetric to the last bit.  A single number serves when d = 1.
check_spd_matrix <- function(x, d, d_why = NULL, null_ok = FALSE,
                             arg = rlang::caller_arg(x),
                             call = rlang::caller_env()) {
  if (null_ok && is.null(x)) return(NULL)
  force(arg)
  if (d == 1 && is_plain_number(x)) x <- matrix(x)
  check_square(x, d, d_why, null_ok, arg, call)
  x <- matrix(as.double(x), d, d)
  check_symmetric(x, arg, call)
  # halves first: their sum cannot overflow
  x <- x / 2 + t(x) / 2
  check_positive_definite(x, arg, call)
  x
}

check_square <- function(x, d, d_why, null_ok, arg, call) {
  why <- if (is.null(d_why)) "" else paste0(" (", d_why, ")")
  if (length(x) == 0L && !is.null(x)) {
    abort_argument("{.arg {arg}} must not be empty.", call = call)
  }
  if (!is.numeric(x) || !is.matrix(x) || is.object(x)) {
    expected <- paste0("a numeric matrix, ", d, " x ", d, why)
    abort_expected(x, expected, null_ok, arg, call)
  }
  if (any(dim(x) != d)) {
    abort_argument(
      "{.arg {arg}} must be {d} x {d}{why}, not {nrow(x)} x {ncol(x)}.",
      call = call
    )
  }
}

check_symmetric <- function(x, arg, call) {
  if (!all(is.finite(x))) {
    at <- first_place(!is.finite(x))
    given <- describe(x[at$row, at$column])
    abort_argument(
      "{.arg {arg}} must be finite: row {at$row}, column {at$column} is
       {given}.",
      call = call
    )
  }
  apart <- abs(x - t(x)) > 100 * .Machine$double.eps * max(abs(x))
  if (any(apart)) {
    at <- first_place(apart)
    one <- format(x[at$row, at$column], digits = 7)
    other <- format(x[at$column, at$row], digits = 7)
    abort_argument(
      c(
        "{.arg {arg}} must be symmetric.",
        x = "Row {at$row}, column {at$column} is {one};
             row {at$column}, column {at$row} is {other}."
      ),
      call = call
    )
  }
}

# Positive definite to working precision: the smallest eigenvalue stands above
# the rounding error of the largest.
check_positive_definite <- function(x, arg, call) {
  values <- eigen(x, symmetric = TRUE, only.values = TRUE)$values
  smallest <- values[length(values)]
  if (smallest <= nrow(x) * .Machine$double.eps * max(abs(values))) {
    smallest <- format(smallest, digits = 4)
    abort_argument(
      c(
        "{.arg {arg}} must be positive definite.",
        x = "Its smallest eigenvalue is {smallest}."
      ),
      call = call
    )
  }
}

# An argument without a default that was left out: what it is, in words.
abort_needed <- function(arg, what, call) {
  abort_argument("{.arg {arg}} is needed: {what}.", call = call)
}

# The arguments without a default of the function that calls this, each with
# what it is, in words: check_needed(fit = "a fit").
check_needed <- function(..., call = rlang::caller_env()) {
  what <- c(...)
  for (arg in names(what)) {
    if (eval(as.call(list(quote(missing), as.name(arg))), call)) {
      abort_needed(arg, what[[arg]], call)
    }
  }
}

# First TRUE of a logical matrix, in reading order: along the rows.
first_place <- function(at) {
  row <- unname(which(rowSums(at) > 0)[1])
  list(row = row, column = unname(which(at[row, ])[1]))
}

# ---- Data ------------------------------------------------------------------

# Observations in rows, as a matrix of doubles: row names as given, column
# names as given, filled where missing and made unique.  Takes a numeric
# matrix, a numeric vector (one column) or a data frame of any kind; says so
# when a class or a unit is lost.  NaN and infinite values are errors; missing
# ones too ("fail"), or their rows are left out with a message ("omit": the
# attribute "na.action" then holds them, as stats::na.omit() has it).
check_data_matrix <- function(x, na_action = "fail",
                              arg = rlang::caller_arg(x),
                              call = rlang::caller_env()) {
  force(arg)
  if (is.null(dim(x)) && length(x) > .Machine$integer.max) {
    abort_argument(
      "{.arg {arg}} must have 2^31 - 1 rows at most, not {whole(length(x))}
       values.",
      call = call
    )
  }
  if (is.data.frame(x)) {
    x <- matrix_from_data_frame(x, arg, call)
  } else {
    x <- matrix_from_array(x, arg, call)
  }
  if (nrow(x) == 0 || ncol(x) == 0) {
    none <- if (nrow(x) == 0) "rows" else "columns"
    abort_argument("{.arg {arg}} has no {none}.", call = call, class = "empty")
  }
  x <- with_column_names(x, arg, call)
  check_finite_data(x, arg, call)
  drop_missing(x, na_action, arg, call)
}

matrix_from_array <- function(x, arg, call) {
  # NA alone is logical: its fault is that it is missing
  if (is.logical(x) && length(x) > 0 && all(is.na(x))) {
    storage.mode(x) <- "double"
  }
  check_array(x, arg, call)
  if (is.object(x)) {
    inform_conversion(paste0("`", arg, "` of class ", quoted(class(x)[1])))
  }
  if (is.matrix(x)) {
    return(matrix(as.double(x), nrow(x), ncol(x), dimnames = dimnames(x)))
  }
  # one column, named after the argument
  names <- if (is.null(dim(x))) names(x) else dimnames(x)[[1]]
  matrix(as.double(x), ncol = 1, dimnames = list(names, arg))
}

check_array <- function(x, arg, call) {
  odd <- inherits(x, c("factor", "integer64", "Date", "POSIXt", "difftime"))
  if (!is.numeric(x) || length(dim(x)) > 2 || odd) {
    abort_expected(x, "a numeric matrix, a numeric vector or a data frame",
      FALSE, arg, call,
      hint = array_hint(x)
    )
  }
}

array_hint <- function(x) {
  if (isS4(x)) return("Convert it with `as.matrix()`.")
  if (is.logical(x)) return("Use `x + 0` if 0 and 1 are meant.")
  if (inherits(x, "integer64")) return("Convert it with `as.double()`.")
  NULL
}

matrix_from_data_frame <- function(x, arg, call) {
  check_data_frame(x, arg, call)
  names <- names(x)
  columns <- lapply(seq_along(x), function(j) x[[j]])
  faults <- lapply(columns, column_fault)
  faulty <- which(lengths(faults) > 0)
  if (length(faulty) > 0) {
    abort_columns(names[faulty], unlist(faults), arg, call)
  }
  lost <- lapply(columns, column_loss)
  losing <- which(lengths(lost) > 0)
  if (length(losing) > 0) {
    inform_conversion(
      paste0("Column ", quoted(names[losing]), " of `", arg, "`"),
      unlist(lost)
    )
  }
  # names that only count the rows say nothing, automatic or written down
  rows <- row.names(x)
  if (identical(rows, as.character(seq_len(nrow(x))))) rows <- NULL
  values <- vapply(columns, as_plain_double, double(nrow(x)))
  matrix(values, nrow(x), length(columns), dimnames = list(rows, names))
}

# A data frame as R's own functions leave one: columns of one length, with names
# that can be read.
check_data_frame <- function(x, arg, call) {
  columns <- unclass(x)
  rows <- .row_names_info(x, 2L)
  sizes <- if (is.list(columns)) vapply(columns, NROW, 0) else NA
  names <- names(columns)
  if (anyNA(sizes) || any(sizes != rows) || length(names) != length(columns)) {
    abort_argument(
      c("{.arg {arg}} is not a valid data frame.",
        x = "Its columns must have names and {rows} row{?s} each."),
      call = call, class = "forged"
    )
  }
  check_text(names, paste0("names of ", arg), call)
}

as_plain_double <- function(x) {
  if (inherits(x, "POSIXlt")) x <- as.POSIXct(x)
  as.double(unclass(x))
}

# Why a column cannot be data of numbers, in words; NULL when it can.
column_fault <- function(x) {
  if (inherits(x, "POSIXlt")) return(NULL)
  if (length(dim(x)) > 1) return("is a matrix or a data frame")
  if (is.factor(x)) return("is a factor")
  if (inherits(x, "integer64")) return("holds 64-bit integers")
  switch(typeof(x),
    double = ,
    integer = NULL,
    list = "is a list",
    character = "is text",
    logical = if (all(is.na(x))) "holds nothing but NA" else "is logical",
    paste("is of type", typeof(x))
  )
}

# What is lost when a classed column becomes plain numbers; NULL for nothing.
column_loss <- function(x) {
  if (!is.object(x) || identical(class(x), "AsIs")) return(NULL)
  if (inherits(x, "Date")) return("is taken as days since 1970-01-01")
  if (inherits(x, "POSIXt")) return("is taken as seconds since 1970-01-01 UTC")
  if (inherits(x, "difftime")) {
    return(paste("is taken as a number of", attr(x, "units")))
  }
  if (inherits(x, "units")) {
    unit <- as.character(attr(x, "units"))
    return(paste("is taken as plain numbers in", unit))
  }
  if (inherits(x, c("haven_labelled", "labelled"))) {
    return("is taken as its numeric codes, without the labels")
  }
  paste0("of class ", quoted(class(x)[1]), " is taken as plain numbers")
}

abort_columns <- function(names, faults, arg, call) {
  shown <- utils::head(seq_along(names), 5)
  bullets <- paste0("Column ", quoted(names[shown]), " ", faults[shown], ".")
  more <- length(names) - length(shown)
  if (more > 0) bullets <- c(bullets, paste("And", more, "more."))
  template <- stats::setNames(
    sprintf("{bullets[%d]}", seq_along(bullets)), rep("x", length(bullets))
  )
  hint <- if (any(faults == "is logical")) {
    "Leave them out, or recode them as numbers, with {.code as.double()} if 0
     and 1 are meant."
  } else {
    "Leave them out, or recode them as numbers."
  }
  abort_argument(
    c("All columns of {.arg {arg}} must be numeric.", template, i = hint),
    call = call, class = "column", columns = names
  )
}

inform_conversion <- function(what, how = "is taken as plain numbers") {
  lines <- paste0(what, " ", how, ".")
  template <- stats::setNames(
    sprintf("{lines[%d]}", seq_along(lines)), rep("i", length(lines))
  )
  inform_gibbsite(template, class = "conversion")
}

with_column_names <- function(x, arg, call = rlang::caller_env()) {
  colnames(x) <- whole_column_names(colnames(x), ncol(x), arg, call)
  x
}

# The names alone: setting them in a large matrix would copy it.
whole_column_names <- function(names, count, arg,
                               call = rlang::caller_env()) {
  if (is.null(names)) names <- rep("", count)
  check_text(names, paste0("names of ", arg), call)
  nameless <- is.na(names) | !nzchar(names)
  names[nameless] <- paste0("V", seq_along(names))[nameless]
  if (anyDuplicated(names) > 0) {
    twice <- unique(names[duplicated(names)])
    names <- make.unique(names)
    inform_gibbsite(
      c(i = "Columns of {.arg {arg}} share the name{cli::qty(twice)}{?s}
             {and_words(quoted(twice))}: they are now
             {and_words(quoted(names))}."),
      class = "names"
    )
  }
  names
}

# "row 3 (\"Duster 360\"), column \"mpg\""
place_words <- function(x, at) {
  row <- paste("row", at$row)
  name <- rownames(x)[at$row]
  if (!is.null(name) && name != as.character(at$row)) {
    row <- paste0(row, " (", quoted(name), ")")
  }
  paste0(row, ", column ", quoted(colnames(x)[at$column]))
}

check_finite_data <- function(x, arg, call) {
  wild <- is.nan(x) | is.infinite(x)
  if (any(wild)) {
    at <- first_place(wild)
    place <- place_words(x, at)
    value <- x[at$row, at$column]
    count <- sum(wild)
    abort_argument(
      c(
        "{.arg {arg}} must be finite: {place} is {value}.",
        i = if (count > 1) "{count} values are NaN or infinite."
      ),
      call = call, class = "infinite", row = at$row, column = at$column
    )
  }
}

drop_missing <- function(x, na_action, arg, call) {
  na_action <- check_choice(
    na_action, c("fail", "omit", "impute", "keep"), call = call
  )
  missing <- is.na(x)
  if (!any(missing) || na_action == "keep") return(x)
  if (na_action == "impute") return(check_some_observed(x, missing, arg, call))
  at <- first_place(missing)
  place <- place_words(x, at)
  count <- sum(missing)
  if (na_action == "fail") {
    abort_argument(
      c(
        "{.arg {arg}} has {count} missing value{?s}, the first in {place}.",
        i = "{.code na_action = \"omit\"} leaves incomplete rows out,
             {.code na_action = \"impute\"} draws the missing entries."
      ),
      call = call, class = "missing", row = at$row, column = at$column
    )
  }
  omit_rows(x, which(rowSums(missing) > 0), arg, call)
}

# Missing entries stay; a column without a single value tells nothing.
check_some_observed <- function(x, missing, arg, call) {
  empty <- colnames(x)[colSums(!missing) == 0]
  if (length(empty) > 0) {
    abort_argument(
      "{.arg {arg}} has no observed value in column{?s} {.val {empty}}.",
      call = call, class = "missing"
    )
  }
  x
}

omit_rows <- function(x, rows, arg, call) {
  if (length(rows) == nrow(x)) {
    abort_argument("{.arg {arg}} has a missing value in every row.",
      call = call, class = "missing"
    )
  }
  inform_gibbsite(
    c(i = "{length(rows)} row{?s} of {.arg {arg}} with missing values
           {cli::qty(length(rows))}{?is/are} left out; {nrow(x) - length(rows)}
           {?is/are} kept."),
    class = "omitted"
  )
  names(rows) <- if (!is.null(rownames(x))) rownames(x)[rows]
  structure(x[-rows, , drop = FALSE],
    na.action = structure(rows, class = "omit")
  )
}

# ---- Files -----------------------------------------------------------------

# A directory to be made, or an empty one: its absolute path.  Nothing is
# written here.
check_new_directory <- function(x, null_ok = FALSE,
                                arg = rlang::caller_arg(x),
                                call = rlang::caller_env()) {
  path <- check_string(x, null_ok, arg = arg, call = call)
  if (is.null(path)) return(NULL)
  path <- path.expand(path)
  # most file systems take no longer name
  if (nchar(basename(path), "bytes") > 255) {
    abort_argument(
      "{.arg {arg}} must have a name of 255 bytes at most.", call = call
    )
  }
  parent <- if (dir.exists(path)) path else dirname(path)
  if (file.exists(path) && !dir.exists(path)) {
    abort_argument(
      "{.arg {arg}} must be a directory: {.file {path}} is a file.",
      call = call
    )
  }
  if (!dir.exists(parent)) {
    abort_argument(
      c(
        "{.arg {arg}} must lie in a directory that exists.",
        x = "There is no directory {.file {parent}}."
      ),
      call = call
    )
  }
  check_writable(parent, arg, call)
  if (dir.exists(path)) return(normalizePath(path))
  file.path(normalizePath(parent), basename(path))
}

check_writable <- function(directory, arg, call) {
  if (file.access(directory, 2) != 0) {
    abort_argument(
      c(
        "{.arg {arg}} must be a directory that can be written to.",
        x = "There is no permission to write to {.file {directory}}."
      ),
      call = call
    )
  }
}

# A result of `size` numbers must fit into what options(gibbsite.max_draws_mb)
# allows.
check_result_size <- function(size, what, fewer, call) {
  mb <- 8 * prod(size) / 2^20
  limit <- gibbsite_option("max_draws_mb", call = call)
  if (mb > limit) {
    numbers <- format(size, big.mark = ",", trim = TRUE, scientific = FALSE)
    shape <- paste(numbers, collapse = " x ")
    abort_argument(
      c(
        "The result ({shape}: {what}) would take
         {format(ceiling(mb), big.mark = ',')} MB, more than the
         {format(limit, big.mark = ',')} MB allowed.",
        i = paste0(
          "Lower ", fewer, ", or raise ",
          "{.code options(gibbsite.max_draws_mb = )}."
        )
      ),
      call = call, class = "gibbsite_error_size"
    )
  }
}

# `copies` square matrices of `size` rows must fit into the same.  `what` takes
# them (a template), `hint` is the way out.
check_square_size <- function(size, copies, what, hint, call) {
  mb <- 8 * copies * as.double(size)^2 / 2^20
  limit <- gibbsite_option("max_draws_mb", call = call)
  if (mb > limit) {
    numbers <- format(size, big.mark = ",", scientific = FALSE)
    abort_argument(
      c(
        paste0(
          what, " {numbers} x {numbers} numbers: that would take
           {format(ceiling(mb), big.mark = ',')} MB, more than the
           {format(limit, big.mark = ',')} MB allowed."
        ),
        i = paste0(
          hint, ", or raise {.code options(gibbsite.max_draws_mb = )}."
        )
      ),
      call = call, class = "gibbsite_error_size"
    )
  }
}
