# Checks of arguments, shared by all functions.
#
# A check returns the value in the form that the rest of the package uses, or
# raises an error of the user's call that names the argument, what was expected,
# what was given and where. All user errors are found here: the C code checks
# types and lengths only.

# Whether x is one value without a class that is not NA: no factor, no date.
is_plain_scalar <- function(x) {
  is.atomic(x) && !is.object(x) && length(x) == 1 && !is.na(x)
}

is_plain_number <- function(x) is_plain_scalar(x) && is.numeric(x)

is_plain_string <- function(x) {
  is_plain_scalar(x) && is.character(x) && is_text(x)
}

# Exactly 0, or within rounding error of another whole number. A number close to
# 0 does not count as 0, because it was probably meant to be small.
is_whole_number <- function(x) {
  nearest <- round(x)
  x == nearest |
    nearest != 0 & abs(x - nearest) <= sqrt(.Machine$double.eps)
}

in_range <- function(x, lower, upper, lower_open = FALSE, upper_open = FALSE) {
  (if (lower_open) x > lower else x >= lower) &
    (if (upper_open) x < upper else x <= upper)
}

# The longest vector that an argument other than data (or one value for each
# observation) may be. A longer one is an error before it is copied.
longest_vector <- 1e7

# Checks that the calling function got its arguments without a default. Each is
# given with its description: check_needed(fit = "a fit").
check_needed <- function(..., call = rlang::caller_env()) {
  what <- c(...)
  for (arg in names(what)) {
    if (eval(as.call(list(quote(missing), as.name(arg))), call)) {
      abort_needed(arg, what[[arg]], call)
    }
  }
}

# A whole number in [min, max]: an integer if it fits, otherwise a double. A
# double such as 1e4 is valid.
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

# A seed of R's generator, or NULL.
check_seed <- function(seed, call = rlang::caller_env()) {
  most <- .Machine$integer.max
  check_count(seed, -most, most, null_ok = TRUE, call = call)
}

# Returns one number as a double. `infinite_ok`: -Inf and Inf count as numbers.
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

# The probability of an interval.
check_level <- function(x, arg = rlang::caller_arg(x),
                        call = rlang::caller_env()) {
  check_number(
    x, lower = 0, upper = 1, lower_open = TRUE, upper_open = TRUE, arg = arg,
    call = call
  )
}

# What an interval of predict() is of: the mean, or a new observation. lacking:
# the one that a kind of fit does not have, by its name, and the reason.
check_interval <- function(x, call, lacking = NULL) {
  choices <- setdiff(c("none", "mean", "prediction"), names(lacking))
  if (!is.null(lacking) && identical(x, names(lacking))) {
    abort_expected(
      x, or_words(quoted(choices)), FALSE, "interval", call, hint = lacking
    )
  }
  check_choice(
    x, choices, arg = "interval", call = call,
    hint = if (identical(x, "confidence")) {
      "`interval = \"mean\"` is of the expected response."
    }
  )
}

check_function <- function(f, arg, null_ok = FALSE, call) {
  if (is.null(f) && null_ok) {
    return(NULL)
  }
  if (!is.function(f)) {
    abort_expected(f, "a function", null_ok, arg, call)
  }
  f
}

check_flag <- function(x, arg = rlang::caller_arg(x),
                       call = rlang::caller_env()) {
  if (!is_plain_scalar(x) || !is.logical(x)) {
    abort_expected(x, "TRUE or FALSE", FALSE, arg, call)
  }
  as.vector(x)
}

# An error for the first string that is not valid text.
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

check_string <- function(x, null_ok = FALSE, arg = rlang::caller_arg(x),
                         call = rlang::caller_env()) {
  if (null_ok && is.null(x)) return(NULL)
  if (!is_plain_string(x) || !nzchar(x)) {
    what <- if (identical(x, "")) "a non-empty string" else "a string"
    abort_expected(x, what, null_ok, arg, call)
  }
  as.vector(x)
}

# Returns one of `choices`, as match.arg() does: NULL or the whole default means
# the first, a unique beginning is enough, case matters.
check_choice <- function(x, choices, arg = rlang::caller_arg(x),
                         call = rlang::caller_env(), hint = NULL) {
  if (is.null(x) || identical(x, choices)) return(choices[1])
  found <- if (is_plain_string(x)) pmatch(x, choices) else NA
  if (is.na(found)) {
    one_of <- if (length(choices) > 1) "one of " else ""
    abort_expected(x, paste0(one_of, or_words(quoted(choices))), FALSE, arg,
      call,
      hint = case_hint(x, choices) %||% hint
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

# The name of `known` that x may stand for: one that x begins, or with few other
# letters. NULL if there is none.
nearest_name <- function(x, known) {
  if (length(known) == 0L) {
    return(NULL)
  }
  begun <- known[startsWith(tolower(known), tolower(x))]
  if (length(begun) == 1L) {
    return(begun)
  }
  letters_off <- utils::adist(x, known, ignore.case = TRUE)
  near <- which(letters_off <= (nchar(x) + 1L) %/% 4L)
  if (length(near) > 0L) known[[near[[which.min(letters_off[near])]]]]
}

# A hint, a template or NULL, about variables that are neither columns of the
# data nor known in `env`. `expressions`: a list of those that use them.
misspelt_hint <- function(expressions, data, env) {
  names <- setdiff(unlist(lapply(expressions, all.vars)), c(names(data), "."))
  known <- vapply(names, exists, NA, envir = env %||% globalenv())
  near <- if (any(!known)) nearest_name(names[!known][[1L]], names(data))
  if (!is.null(near)) paste0("Is it ", quoted(near), "?")
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

# Some of `names`, or the `one`: named, or by their numbers.  The names in the
# order asked for.  Nothing but strings and numbers is ever coerced.
check_some_of <- function(x, names, call, one = FALSE,
                          arg = rlang::caller_arg(x)) {
  force(arg)
  if (!is_plain_choice(x) || length(x) == 0L || one && length(x) != 1L) {
    expected <- if (one) "a name or a number" else "names or numbers"
    shown <- and_words(quoted(utils::head(names, 20L)))
    abort_expected(x, expected, FALSE, arg, call,
      hint = paste0("Names are ", shown, if (length(names) > 20L) ", ...", ".")
    )
  }
  if (is.numeric(x)) {
    check_vector_length(x, NULL, NULL, arg, call)
  } else {
    check_text(x, arg, call)
  }
  place <- match(x, if (is.numeric(x)) seq_along(names) else names)
  if (anyNA(place)) {
    lost <- describe(x[is.na(place)][[1L]])
    n <- length(names)
    numbers <- if (n > 1L) paste("numbers from 1 to", n) else "1"
    abort_argument(
      "{.arg {arg}} must be among {.val {names}}, or {numbers}, not {lost}.",
      call = call
    )
  }
  names[place]
}

# An object of one of the package's classes. `made_by`: the function that makes
# it.
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

# A user can set a class by hand and change elements: the object must have the
# elements that its maker gives it.
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

# Makes the object again from its elements by `maker`, which checks them.
remade <- function(x, maker, made_by, arg = rlang::caller_arg(x),
                   call = rlang::caller_env(),
                   fields = setdiff(names(formals(maker)), "..."),
                   needed = fields) {
  force(arg)
  check_made(x, needed, made_by, arg, call)
  tryCatch(
    do.call(
      maker, unclass(x)[intersect(fields, names(unclass(x)))], quote = TRUE
    ),
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

# ---- Vectors and matrices ---------------------------------------------------

# A numeric vector as doubles, names kept.  `length`: the lengths allowed
# (nothing is recycled here; a caller that also accepts a scalar sets `length =
# c(1, d)`); `length_why` says where the length comes from.
check_numeric_vector <- function(x, length = NULL, length_why = NULL,
                                 lower = -Inf, upper = Inf, lower_open = FALSE,
                                 upper_open = FALSE, finite = TRUE,
                                 null_ok = FALSE, expected = "a numeric vector",
                                 arg = rlang::caller_arg(x),
                                 call = rlang::caller_env()) {
  if (null_ok && is.null(x)) return(NULL)
  if (!is.numeric(x) || is.object(x) || length(dim(x)) > 1) {
    abort_expected(x, expected, null_ok, arg, call)
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

check_vector_length <- function(x, length, length_why, arg, call) {
  given <- base::length(x)
  shown <- digits(given)
  if (is.null(length)) {
    if (given == 0) {
      abort_argument("{.arg {arg}} must not be empty.", call = call)
    }
    if (given > longest_vector) {
      abort_argument(
        "{.arg {arg}} must have length {digits(longest_vector)} at most, not
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

# ---- Starting values --------------------------------------------------------

# A list with names among the `known`.
check_init_names <- function(init, known, where, call,
                             left_out = "What is left out is drawn.") {
  named <- length(init) == 0L || !is.null(names(init))
  if (!is.list(init) || !named || !all(names(init) %in% known)) {
    abort_argument(
      c(
        "`{where}` must be a list with names among {.val {known}}.",
        i = left_out
      ),
      call = call
    )
  }
  twice <- names(init)[duplicated(names(init))]
  if (length(twice) > 0L) {
    abort_argument(
      "`{where}` must not have {.val {twice[[1L]]}} more than once.",
      call = call
    )
  }
}

check_init_shape <- function(value, size, arg, call) {
  if (!is.numeric(value) || length(value) != prod(size) ||
        !(is.null(dim(value)) || identical(as.numeric(dim(value)), size + 0))) {
    shape <- paste(size, collapse = " x ")
    given <- describe(value)
    abort_argument(
      "`{arg}` must be {shape} finite numbers, not {given}.", call = call
    )
  }
  abort_elements(!is.finite(value), value, arg, "finite", call)
}

# The numbers `name` of an entry of `inits`, if it has them.
check_init_vector <- function(init, name, size, where, call) {
  if (!is.null(init[[name]])) {
    arg <- paste0(where, "$", name)
    check_init_shape(init[[name]], size, arg, call)
    check_numeric_vector(
      init[[name]], lower = -1e150, upper = 1e150, arg = arg, call = call
    )
  }
}

# The positive numbers `names`, one each.
check_init_scales <- function(init, names, where, call,
                              range = c(1e-150, 1e150)) {
  for (name in intersect(names(init), names)) {
    arg <- paste0(where, "$", name)
    check_init_shape(init[[name]], 1L, arg, call)
    check_number(
      init[[name]], range[[1L]], range[[2L]], arg = arg, call = call
    )
  }
}

is_plain_choice <- function(x) {
  (is.character(x) || is.numeric(x)) && !is.object(x) && is.null(dim(x))
}
