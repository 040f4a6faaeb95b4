# Variables of a formula whose value in a row depends on other rows, or on
# random numbers.
#
# stats::model.frame() makes a variable such as I(x - mean(x)) anew from the
# rows that it is given, so that it means something else in new data. It keeps
# what scale(), poly(), splines::ns() and splines::bs() took from the data, if
# they are terms of their own. A variable uses other rows if its values
# change when they are computed from a few of the rows.

# Such variables of a model frame, and "(offset)" if the argument `offset` is
# one; the element names are "other" or "random". raw: the variables before they
# are transformed, by name; data: that of the call; offset: an expression.
variables_of_other_rows <- function(frame, raw, data, offset = NULL) {
  terms <- attr(frame, "terms")
  made_by <- as.list(attr(terms, "predvars") %||% attr(terms, "variables"))[-1L]
  names(made_by) <- names(frame)[seq_along(made_by)]
  made_by[["(offset)"]] <- offset
  made_by <- made_by[!vapply(made_by, is.name, NA)]
  if (length(made_by) == 0L || nrow(frame) < 2L) {
    return(character())
  }
  generator <- save_generator()
  on.exit(restore_generator(generator))
  again <- row_maker(frame, raw, data, environment(terms))
  found <- vapply(names(made_by), function(name) {
    uses_other_rows(frame[[name]], made_by[[name]], again)
  }, "")
  found <- found[found != ""]
  stats::setNames(names(found), found)
}

# A function (expression, rows): its value for some rows of the frame alone.
# NULL if it cannot be made of them or does not have a value for each; NA if it
# is random.
row_maker <- function(frame, raw, data, env) {
  labels <- attr(frame, "row.names")
  size <- rows_of_data(frame, raw, data)
  function(expression, rows) {
    at <- as_row_numbers(labels[rows], data)
    own <- raw[intersect(all.vars(expression), names(raw))]
    whole <- vapply(own, function(v) !is.function(v) && NROW(v) == size, NA)
    own[whole] <- lapply(own[whole], function(v) {
      if (length(dim(v)) == 2L) v[at, , drop = FALSE] else v[at]
    })
    before <- generator_seed()
    value <- tryCatch(
      suppressWarnings(suppressMessages(eval(expression, own, env))),
      error = function(cnd) NULL
    )
    if (!identical(generator_seed(), before)) {
      return(NA)
    }
    if (NROW(value) == length(rows) && !anyNA(at)) value
  }
}

# How many rows the data of a model frame have.
rows_of_data <- function(frame, raw, data) {
  if (is.data.frame(data)) {
    return(nrow(data))
  }
  terms <- attr(frame, "terms")
  NROW(eval(attr(terms, "variables")[[2L]], raw, environment(terms)))
}

# The numbers of rows of a data frame, or of other data, by their names.
as_row_numbers <- function(rows, data) {
  if (!is.data.frame(data) ||
        is.integer(rows) && .row_names_info(data) < 0L) {
    suppressWarnings(as.integer(rows))
  } else {
    match(rows, row.names(data))
  }
}

# Single rows show whether a variable uses other rows, a few rows in reverse
# whether it uses their order: "other", "random" or "". A variable that cannot
# be made of a few rows, such as relevel(factor(x), "a") of rows without "a", is
# made of all of them.
uses_other_rows <- function(value, expression, again) {
  n <- NROW(value)
  size <- column_sizes(value)
  first <- telling_rows(value)
  some <- unique(c(first, round(seq(1, n, length.out = 5L))))
  tried <- c(as.list(first), list(sort(some, decreasing = TRUE)))
  failed <- FALSE
  for (rows in tried) {
    made <- again(expression, rows)
    if (identical(made, NA)) {
      return("random")
    }
    failed <- is.null(made)
    if (!failed && !same_rows(made, value, rows, size)) {
      return("other")
    }
  }
  if (failed) {
    for (rows in list(n:1, c(n:1, some))) {
      made <- again(expression, rows)
      if (!is.null(made) && !same_rows(made, value, rows, size)) {
        return("other")
      }
    }
  }
  ""
}

# The rows of the least and the largest value, or of the first five different
# ones.
telling_rows <- function(value) {
  if (length(dim(value)) == 2L) {
    value <- value[, 1L]
  }
  if (is.numeric(value) || inherits(value, c("Date", "POSIXct"))) {
    return(unique(c(which.min(value), which.max(value))))
  }
  utils::head(which(!duplicated(as.vector(value))), 5L)
}

is_labelled <- function(v) is.factor(v) || is.character(v)

# The largest number of each column, without its sign.
column_sizes <- function(value) {
  if (is_labelled(value) || is.list(value)) {
    return(0)
  }
  sizes <- abs(matrix(as.numeric(value), NROW(value)))
  apply(sizes, 2L, max, 0, na.rm = TRUE)
}

# Whether `made` are those rows of `value`, up to rounding. The levels of a
# factor and the unit of a difference of times are those of the fit in every
# prediction.
same_rows <- function(made, value, rows, size) {
  own <- if (length(dim(value)) == 2L) value[rows, , drop = FALSE] else
    value[rows]
  if (is_labelled(own) || is_labelled(made)) {
    return(identical(as.character(made), as.character(own)))
  }
  if (is.list(own) || is.list(made)) {
    return(isTRUE(all.equal(made, own, check.attributes = FALSE)))
  }
  if (inherits(own, "difftime") && inherits(made, "difftime")) {
    units(made) <- attr(own, "units")
  }
  made <- as.numeric(made)
  own <- as.numeric(own)
  length(made) == length(own) && identical(is.na(made), is.na(own)) &&
    all(abs(made - own) <= 1e-8 * rep(size, each = length(rows)), na.rm = TRUE)
}

# ---- What is said of them ----------------------------------------------------

# terms: of the formula; found: names of such variables.
warn_other_rows <- function(found, terms) {
  names <- found[!found %in% c(
    "(offset)", all_term_variables(terms)[attr(terms, "response")]
  )]
  if (length(names) > 0L) {
    source <- row_sources(names)
    warn_gibbsite(
      c(
        "{cli::qty(names)}The value{?s} of {.code {unname(names)}} in a row
         depend{?s/} on {source}.",
        "!" = "Predictions for new data are refused: {cli::qty(names)}{?it/they}
               would mean something else there.",
        i = other_rows_cure
      ),
      class = "other_rows"
    )
  }
}

# What the values of such variables depend on.
row_sources <- function(found) {
  random <- names(found) %in% "random"
  or_words(c(
    if (!all(random)) "other rows of the data",
    if (any(random)) "random numbers"
  ))
}

other_rows_cure <-
  "Make the column in the data before the fit, or use {.fn scale}, {.fn poly},
   {.fn ns} or {.fn bs} of a variable as a term of its own."

all_term_variables <- function(terms) {
  vapply(as.list(attr(terms, "variables"))[-1L], deparse1, "")
}

# Refuses to make such variables of new data. found: their names; names: of the
# variables that are to be made; arg: the argument with the new data.
check_row_variables <- function(found, names, arg, call) {
  found <- found[found %in% names]
  names <- unname(found)
  if (length(names) > 0L) {
    source <- row_sources(found)
    abort_argument(
      c(
        "{.code {names}} cannot be made for {.arg {arg}}: in the fit
         {cli::qty(names)}{?its value/their values} in a row depend{?s/} on
         {source}.",
        i = other_rows_cure
      ),
      call = call, class = "other_rows", variables = names
    )
  }
}
