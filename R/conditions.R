# Conditions: the classes of the package's errors, warnings and messages, and
# the words that describe a value that was given.

# Classes of a condition, from the most specific to the most general. `class` is
# the specific part ("missing") or a full name ("gibbsite_error_missing").
condition_classes <- function(type, class, family = NULL) {
  prefix <- paste0("gibbsite_", type)
  class <- as.character(class)
  bare <- !startsWith(class, "gibbsite_")
  class[bare] <- paste0(prefix, "_", class[bare], recycle0 = TRUE)
  unique(c(class, if (!is.null(family)) paste0(prefix, "_", family), prefix))
}

# There are three families of errors: in arguments, numerical errors, and errors
# because the session, a file or an object is in a wrong state. `message` is a
# cli template (names "x", "i", "!" make bullets), evaluated in `envir`; `...`
# are fields of the condition, `call` is the user's call.
abort_of_family <- function(family) {
  force(family)
  function(message, ..., call = envir, class = NULL,
           envir = rlang::caller_env()) {
    force(envir)
    cli::cli_abort(message, ...,
      class = condition_classes("error", class, family), call = call,
      .envir = envir
    )
  }
}

abort_argument <- abort_of_family("argument")

abort_numeric <- abort_of_family("numeric")

abort_state <- abort_of_family("state")

# A warning or a message with its own class, by which it can be suppressed.
warn_gibbsite <- function(message, class, ..., envir = rlang::caller_env()) {
  cli::cli_warn(message, ...,
    class = condition_classes("warning", class), .envir = envir
  )
}

# A warning of plain words: a first line, then a bullet for each element of
# `rest`. cli, which warn_gibbsite() uses, takes longer than a quick fit.
warn_plainly <- function(header, rest, class, ..., call = NULL) {
  width <- getOption("cli.condition_width", getOption("width"))
  wrapped <- function(words, ...) paste(strwrap(words, ...), collapse = "\n")
  rest <- vapply(rest, wrapped, "", width - 2, exdent = 2, USE.NAMES = FALSE)
  rlang::warn(c(wrapped(header, width), as_bullets(rest)), ...,
    class = condition_classes("warning", class), call = call,
    use_cli_format = FALSE
  )
}

inform_gibbsite <- function(message, class, ..., envir = rlang::caller_env()) {
  cli::cli_inform(message, ...,
    class = condition_classes("message", class), .envir = envir
  )
}

# ---- Values in words --------------------------------------------------------

# A number as a person would type it; a whole number too long to count its
# digits has commas, as far as a double is exact.
format_number <- function(x) {
  size <- abs(x)
  if (isTRUE(size >= 1e15 && size <= 2^53 && x == round(x))) {
    return(format(x, big.mark = ",", digits = 17, scientific = FALSE))
  }
  extreme <- isTRUE(size >= 1e15 || size > 0 && size < 1e-15)
  trimws(format(x, digits = if (extreme) 7 else 15,
                scientific = if (extreme) -10 else 10))
}

# "1 chain", "4 chains": for the headline of a quick fit, which cli::pluralize()
# would slow down.
counted <- function(n, what) {
  paste0(format_number(n), " ", what, if (n != 1) "s")
}

# "12,000 items": for the headline of a model.
counted_in_digits <- function(n, what) {
  number <- format(n, big.mark = ",", scientific = FALSE)
  paste0(number, " ", what, if (n != 1) "s")
}

seconds_words <- function(seconds) {
  if (seconds < 120) {
    shown <- if (seconds < 10) signif(seconds, 2) else round(seconds)
    return(paste(format(shown, scientific = FALSE), "s"))
  }
  minutes <- seconds / 60
  if (minutes < 120) {
    return(paste(format(round(minutes)), "min"))
  }
  paste(format(round(minutes / 60, 1)), "h")
}

# Whether strings are valid text. Most of R cannot count, compare or show bytes
# that are invalid in the session's encoding.
is_text <- function(x) validEnc(x) & Encoding(x) != "bytes"

text_hint <- function(x) {
  odd <- is.character(x) && length(x) == 1 && !is_text(x)
  if (odd) "It is not valid text: see `validUTF8()` and `iconv()`."
}

quoted <- function(x) encodeString(x, quote = "\"")

digits <- function(x) format(as.numeric(x), scientific = FALSE, digits = 15)

describe_string <- function(x) {
  # invalid text is shown by its bytes
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

# "numeric", "character", ...: the usual name of an atomic vector's type
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
    data.frame = "a data frame", ordered = "an ordered factor",
    factor = "a factor", formula = "a formula",
    gibbsite_partial = "a run without draws, which `extend()` goes on with"
  )
  found <- intersect(class(x), names(known))
  if (length(found) > 0) return(known[[found[1]]])
  paste("an object of class", quoted(class(x)[1]))
}

describe_vector <- function(x) {
  if (!is.null(dim(x))) return(describe_array(x))
  if (length(x) == 1) return(describe_scalar(x))
  if (length(x) == 0) return(paste("an empty", type_word(x), "vector"))
  paste(with_article(type_word(x)), "vector of length", digits(length(x)))
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

# "one number", "3 numbers", "a 2 x 2 matrix", "a 2 x 2 x 3 array"
shape_words <- function(x) {
  size <- dim(x)
  if (is.null(size)) {
    return(if (length(x) == 1L) "one number" else paste(length(x), "numbers"))
  }
  kind <- if (length(size) == 2L) "matrix" else "array"
  paste("a", paste(size, collapse = " x "), kind)
}

# a, b or c; a, b and c
word_list <- function(x, link) {
  if (length(x) < 2) return(as.character(x))
  paste(paste(x[-length(x)], collapse = ", "), link, x[length(x)])
}

or_words <- function(x) word_list(x, "or")

and_words <- function(x) word_list(x, "and")

# At most five of them.
few_words <- function(words) {
  more <- length(words) - 5L
  paste0(
    paste(utils::head(words, 5L), collapse = ", "),
    if (more > 0L) paste(" and", more, "more")
  )
}

# " between 1 and 272 (rows of `x`)", " above 0", ...: the second half of "a
# whole number ..." or "a number ...". `upper_why` explains the upper end.
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

# Bullets of a message that show the words in the variable `name` as they are.
bullets_of <- function(name, words, bullet = "i") {
  as_bullets(sprintf("{%s[[%d]]}", name, seq_along(words)), bullet)
}

as_bullets <- function(templates, bullet = "i") {
  stats::setNames(templates, rep(bullet, length(templates)))
}

# "row 3 (\"Duster 360\")", "row 3" if it has no other name
row_words <- function(row, name) {
  if (is.null(name) || name == as.character(row)) {
    return(paste("row", row))
  }
  paste0("row ", row, " (", quoted(name), ")")
}

# "row 3 (\"Duster 360\"), column \"mpg\""
place_words <- function(x, at) {
  row <- row_words(at$row, rownames(x)[at$row])
  paste0(row, ", column ", quoted(colnames(x)[at$column]))
}

# First TRUE of a logical matrix, in reading order: along the rows.
first_place <- function(at) {
  row <- unname(which(rowSums(at) > 0)[1])
  list(row = row, column = unname(which(at[row, ])[1]))
}

# ---- Errors that many functions raise ---------------------------------------

# `hint` is plain text and not a template.
abort_expected <- function(x, expected, null_ok, arg, call, hint = NULL) {
  expected <- paste0(if (null_ok) "NULL or ", expected)
  given <- describe(x)
  hint <- text_hint(x) %||% list_hint(x, expected, arg) %||% hint
  abort_argument(
    c(
      "{.arg {arg}} must be {expected}, not {given}.",
      i = if (!is.null(hint)) "{hint}"
    ),
    call = call
  )
}

# A hint for a list of numbers where a vector is expected.
list_hint <- function(x, expected, arg) {
  wanted <- grepl("^(NULL or )?a numeric vector$", expected)
  if (wanted && is.list(x) && length(x) > 0L &&
        all(vapply(x, is.numeric, NA))) {
    paste0("`unlist(", arg, ")` is one.")
  }
}

# An error for a missing argument without a default. `what`: its description.
abort_needed <- function(arg, what, call) {
  abort_argument("{.arg {arg}} is needed: {what}.", call = call)
}

# An error that shows the first element that breaks the rule.
abort_elements <- function(wrong, value, arg, rule, call, hint = NULL,
                           class = NULL) {
  if (any(wrong)) {
    at <- which(wrong)[[1L]]
    found <- value[[at]]
    abort_argument(
      c("`{arg}` must be {rule}: element {at} is {found}.", i = hint),
      call = call, class = class
    )
  }
}

# "mu = 1.2, tau = 3", "(1.2, 3)": eight coordinates at most
state_point_words <- function(point, names = NULL, digits = 7) {
  shown <- utils::head(seq_along(point), 8L)
  values <- vapply(point[shown], format, "", digits = digits)
  more <- if (length(point) > 8L) ", ..." else ""
  if (is.null(names)) {
    return(paste0("(", paste(values, collapse = ", "), more, ")"))
  }
  paste0(paste(names[shown], values, sep = " = ", collapse = ", "), more)
}

# "(mean = 4, log_sd = 0)"
point_words <- function(theta) {
  paste0("(", state_point_words(theta, names(theta), digits = 5), ")")
}

# An error for a fit without its data. `arg`: the argument by which the data can
# be supplied, or NULL; `what` the fit lacks; `hint`: another solution.
abort_no_data <- function(arg = NULL, call, hint = NULL, what = "data") {
  abort_state(
    c(
      if (is.null(arg)) {
        "This needs the {what}, which the fit does not hold."
      } else {
        "{.arg {arg}} is needed: the fit does not hold its {what}."
      },
      i = "It was made with {.code keep_data = FALSE} or {.fn drop_data}.",
      i = hint
    ),
    call = call, class = "no_data"
  )
}

abort_in_shards <- function(call) {
  abort_state(
    c(
      "This needs the documents or their shares, which are in shards.",
      i = "{.fn on_shards} runs a function where they are."
    ),
    call = call, class = "no_data"
  )
}
