# Checks of data matrices: make one numeric matrix from any form of the data,
# and find missing values before any chain starts.

# A valid data frame: columns of the same length, with names that are valid
# text.
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

# Observations in rows, as a matrix of doubles: row names as given; column names
# as given, filled if missing and made unique. Accepts a numeric matrix, one of
# the Matrix package, a numeric vector (one column) or a data frame of any kind,
# with a message when a class or a unit is lost. NaN and infinite values are
# errors. Missing values are errors too ("fail"), or their rows are left out
# with a message ("omit": the attribute "na.action" then holds them, as in
# stats::na.omit()). empty_ok: no rows are an answer's, of no rows.
check_data_matrix <- function(x, na_action = "fail",
                              arg = rlang::caller_arg(x),
                              call = rlang::caller_env(), empty_ok = FALSE) {
  force(arg)
  x <- dense_matrix(x, arg, call)
  if (is.null(dim(x)) && length(x) > .Machine$integer.max) {
    abort_argument(
      "{.arg {arg}} must have 2^31 - 1 rows at most, not {digits(length(x))}
       values.",
      call = call
    )
  }
  if (is.data.frame(x)) {
    x <- matrix_from_data_frame(x, arg, call, na_action == "keep")
  } else {
    x <- matrix_from_array(x, arg, call)
  }
  if (ncol(x) == 0 || nrow(x) == 0 && !empty_ok) {
    none <- if (nrow(x) == 0 && !empty_ok) "rows" else "columns"
    abort_argument("{.arg {arg}} has no {none}.", call = call, class = "empty")
  }
  check_text(rownames(x), paste0("rownames(", arg, ")"), call)
  colnames(x) <- whole_column_names(colnames(x), ncol(x), arg, call)
  check_finite_data(x, arg, call)
  drop_missing(x, na_action, arg, call)
}

# A plain matrix of a matrix of the Matrix package, dense or sparse. Other
# objects are returned unchanged.
dense_matrix <- function(x, arg, call) {
  if (!isS4(x) || !methods::is(x, "Matrix")) {
    return(x)
  }
  check_sparse(x, arg, call)
  if (prod(dim(x)) > .Machine$integer.max) {
    abort_argument(
      "{.arg {arg}} must have fewer than 2^31 entries, zeros counted, not
       {digits(prod(dim(x)))}.",
      call = call, class = "size"
    )
  }
  methods::as(x, "matrix")
}

# A matrix of the Matrix package as a dgCMatrix.
sparse_columns <- function(x) {
  x <- methods::as(methods::as(x, "dMatrix"), "generalMatrix")
  methods::as(x, "CsparseMatrix")
}

# A data frame of numbers and a matrix of the Matrix package as an R matrix, all
# else as it is.
numeric_matrix <- function(x, arg, call) {
  if (is.data.frame(x) && length(x) > 0L && all(vapply(x, is.numeric, NA))) {
    check_data_frame(x, arg, call)
    return(as.matrix(x))
  }
  dense_matrix(x, arg, call)
}

# The values of a vector or an array with names and dimensions alone. Methods of
# a class whose package is not loaded fail, or are those of a class above it.
bare_values <- function(x) {
  if (!is.object(x) || !is.atomic(x) || isS4(x)) {
    return(x)
  }
  kept <- attributes(x)[c("names", "dim", "dimnames")]
  x <- unclass(x)
  attributes(x) <- kept[lengths(kept) > 0L]
  x
}

# Columns of a class of the vctrs package as plain values.
bare_columns <- function(frame) {
  foreign <- vapply(frame, inherits, NA, "vctrs_vctr")
  frame[foreign] <- lapply(frame[foreign], bare_values)
  frame
}

matrix_from_array <- function(x, arg, call) {
  # a vector of NAs is logical, but the error should say that values are missing
  if (is.logical(x) && length(x) > 0 && all(is.na(x))) {
    storage.mode(x) <- "double"
  }
  check_array(x, arg, call)
  if (is.object(x)) {
    inform_conversion(paste0("`", arg, "` of class ", quoted(class(x)[1])))
    x <- bare_values(x)
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
  if (is.null(x)) {
    return("A column that a data frame does not have is NULL: check its name.")
  }
  if (isS4(x)) return("Convert it with `as.matrix()`.")
  if (is.logical(x)) return("Use `x + 0` if 0 and 1 are meant.")
  if (inherits(x, "integer64")) {
    return("Load the bit64 package, then convert it with `as.double()`.")
  }
  NULL
}

# na_ok: whether a column may hold NA alone.
matrix_from_data_frame <- function(x, arg, call, na_ok = FALSE) {
  check_data_frame(x, arg, call)
  names <- names(x)
  columns <- lapply(seq_along(x), function(j) {
    column <- x[[j]]
    empty <- na_ok && identical(class(column), "logical") && all(is.na(column))
    if (empty) as.double(column) else column
  })
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
  # row names 1, 2, ... are dropped, also if they are not automatic
  rows <- row.names(x)
  if (identical(rows, as.character(seq_len(nrow(x))))) rows <- NULL
  values <- vapply(columns, as_plain_double, double(nrow(x)))
  matrix(values, nrow(x), length(columns), dimnames = list(rows, names))
}

as_plain_double <- function(x) {
  if (inherits(x, "POSIXlt")) x <- as.POSIXct(x)
  as.double(unclass(x))
}

# The reason why a column is not numeric data, in words; NULL when it is.
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

# R reads the bits of 64-bit integers as doubles near 0 unless the package bit64
# is loaded. `what`: words for x.
check_not_64_bit <- function(x, what, call) {
  if (inherits(x, "integer64")) {
    abort_argument(
      c("{what} holds 64-bit integers.",
        i = "Load the bit64 package, then convert it with {.code as.double()},
             ids with {.code as.character()}."),
      call = call, class = "column"
    )
  }
}

# The class or unit that is lost when a column becomes plain numbers, or NULL.
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

# What may turn a faulty column into numbers.
remedies <- c(
  "is logical" = "{.code as.double()} if 0 and 1 are meant",
  "is a factor" = "{.code as.numeric(as.character())} if levels are numbers",
  "is text" = "{.code as.numeric()} if it holds numbers"
)

abort_columns <- function(names, faults, arg, call) {
  shown <- utils::head(seq_along(names), 5)
  bullets <- paste0("Column ", quoted(names[shown]), " ", faults[shown], ".")
  more <- length(names) - length(shown)
  if (more > 0) bullets <- c(bullets, paste("And", more, "more."))
  them <- if (length(names) > 1L) "them" else "it"
  ways <- remedies[intersect(names(remedies), faults)]
  way <- if (length(ways) > 0L) paste(", or use", ways[[1L]])
  hint <- paste0("Leave ", them, " out", way, ".")
  abort_argument(
    c("All columns of {.arg {arg}} must be numeric.",
      bullets_of("bullets", bullets, "x"), i = hint),
    call = call, class = "column", columns = names
  )
}

inform_conversion <- function(what, how = "is taken as plain numbers") {
  lines <- paste0(what, " ", how, ".")
  inform_gibbsite(bullets_of("lines", lines), class = "conversion")
}

# Returns only the names: setting them in a large matrix would copy it.
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

# Missing entries may stay, but a column without any value is an error.
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

# Data for a fit without some of its variables.
abort_lacking <- function(lacking, arg, call) {
  abort_argument(
    "{.arg {arg}} lacks the variable{cli::qty(lacking)}{?s} {.val {lacking}} of
     the fit.",
    call = call
  )
}

# Checks of sparse matrices of the Matrix and slam packages (and of classes
# built on them, such as a dfm). A user can change the slots, and C uses them as
# indices. So all slots are checked completely here before any other code uses
# the matrix.

# An error of the user's call that says which slot is wrong, and where.
check_sparse <- function(x, arg, call) {
  if (inherits(x, "simple_triplet_matrix")) {
    check_slam(x, arg, call)
  } else if (isS4(x) && methods::is(x, "Matrix")) {
    check_slots(x, arg, call)
  }
  invisible(x)
}

# `what` is wrong with `part` of the matrix `arg`; both are plain text.
abort_sparse <- function(part, what, arg, call) {
  abort_argument(
    c(
      "{.arg {arg}} is not a valid sparse matrix: `{part}` {what}.",
      i = "Its parts were changed by hand: make it anew, as with
           {.fn Matrix::sparseMatrix}."
    ),
    call = call, class = "sparse"
  )
}

# Slots are read as attributes, because methods would trust their contents.
check_slots <- function(x, arg, call) {
  slot <- function(name) attr(x, name, exact = TRUE)
  size <- check_dim(slot("Dim"), arg, call)
  check_places(slot, size, arg, call)
  stored <- slot("i") %||% slot("j")
  if (!is.null(stored) && !is.null(slot("x"))) {
    check_same_length(stored, slot("x"), "x", arg, call)
  }
  check_sides(slot("Dimnames"), size, "Dimnames", arg, call)
  check_by_matrix(x, arg, call)
}

check_dim <- function(size, arg, call) {
  if (!is.integer(size) || length(size) != 2L || anyNA(size) || any(size < 0)) {
    abort_sparse("Dim", "must be two whole numbers", arg, call)
  }
  size
}

# The rows and columns of the entries, compressed or one by one. slot(name)
# gives a slot, or NULL.
check_places <- function(slot, size, arg, call) {
  if (!is.null(slot("p"))) {
    inner <- if (is.null(slot("i"))) "j" else "i"
    groups <- size[[if (inner == "i") 2L else 1L]]
    limit <- size[[if (inner == "i") 1L else 2L]]
    check_compressed(slot("p"), slot(inner), groups, limit, inner, arg, call)
  } else if (!is.null(slot("i")) && !is.null(slot("j"))) {
    check_indices(slot("i"), size[[1L]], "i", arg, call, from = 0L)
    check_indices(slot("j"), size[[2L]], "j", arg, call, from = 0L)
    check_same_length(slot("i"), slot("j"), "j", arg, call)
  }
}

# Starts `p` of `groups` columns (or rows), and the indices below `limit` in
# them.
check_compressed <- function(p, index, groups, limit, name, arg, call) {
  if (!is.integer(p) || length(p) != groups + 1) {
    abort_sparse(
      "p", paste("must be", format_number(groups + 1), "whole numbers"), arg,
      call
    )
  }
  if (!is.integer(index)) {
    abort_sparse(name, "must be whole numbers", arg, call)
  }
  found <- .Call(C_sparse_fault, p, index, limit)
  if (is.null(found)) {
    return(invisible())
  }
  at <- found[[2L]]
  given <- function(x) describe(x[[at]])
  switch(found[[1L]],
    abort_sparse("p", paste("must begin with 0, not", given(p)), arg, call),
    abort_sparse("p", paste0(
      "must not fall: element ", format_number(at), " is ", given(p),
      ", after ", describe(p[[at - 1]])
    ), arg, call),
    abort_sparse("p", paste0(
      "must end with ", length(index), " (length of `", name, "`), not ",
      given(p)
    ), arg, call),
    abort_range(index, at, limit, 0L, name, arg, call),
    abort_sparse(name, paste0(
      "must rise within a ", if (name == "i") "column" else "row",
      ": element ", format_number(at), " is ", given(index), ", after ",
      describe(index[[at - 1]])
    ), arg, call)
  )
}

abort_range <- function(index, at, limit, from, name, arg, call) {
  abort_sparse(name, paste0(
    "must lie between ", from, " and ", format_number(limit - 1 + from),
    ": element ", format_number(at), " is ", describe(index[[at]])
  ), arg, call)
}

check_indices <- function(index, limit, name, arg, call, from = 1L) {
  if (!is.integer(index)) {
    abort_sparse(name, "must be whole numbers", arg, call)
  }
  wrong <- which(is.na(index) | index < from | index >= limit + from)
  if (length(wrong) > 0L) {
    abort_range(index, wrong[[1L]], limit, from, name, arg, call)
  }
}

check_same_length <- function(index, x, name, arg, call) {
  if (length(x) != length(index)) {
    abort_sparse(name, paste0(
      "must have ", length(index), " elements, one for each entry, not ",
      length(x)
    ), arg, call)
  }
}

# Names of rows and columns: NULL, or a name for each that is valid text.
check_sides <- function(names, size, name, arg, call) {
  if (is.null(names)) {
    return(invisible())
  }
  sound <- is.list(names) && length(names) == 2L
  for (side in 1:2) {
    sound <- sound && (is.null(names[[side]]) ||
                         is.character(names[[side]]) &&
                           length(names[[side]]) == size[[side]])
  }
  if (!sound) {
    abort_sparse(
      name, "must be a list of the names of rows and columns", arg, call
    )
  }
  for (side in 1:2) {
    check_text(names[[side]], paste0("dimnames(", arg, ")[[", side, "]]"), call)
  }
}

# The checks that the class itself defines for its other slots.
check_by_matrix <- function(x, arg, call) {
  fault <- tryCatch(
    methods::validObject(x, test = TRUE),
    error = function(cnd) conditionMessage(cnd)
  )
  if (!isTRUE(fault)) {
    fault <- fault[[1L]]
    abort_argument(
      c(
        "{.arg {arg}} is not a valid object of its class {.cls {class(x)[1]}}.",
        x = "{fault}"
      ),
      call = call, class = "sparse"
    )
  }
}

check_slam <- function(x, arg, call) {
  x <- unclass(x)
  lacking <- setdiff(c("i", "j", "v", "nrow", "ncol"), names(x))
  if (!is.list(x) || length(lacking) > 0L) {
    part <- if (is.list(x)) lacking[[1L]] else "i"
    abort_sparse(part, "is missing", arg, call)
  }
  size <- lapply(c(nrow = "nrow", ncol = "ncol"), function(name) {
    n <- x[[name]]
    if (!is_plain_number(n) || !is_whole_number(n) ||
          !in_range(n, 0, 2^31 - 1)) {
      abort_sparse(name, "must be a whole number of at least 0", arg, call)
    }
    as.double(n)
  })
  # slam also accepts doubles as indices
  for (side in c("i", "j")) {
    index <- x[[side]]
    if (is.double(index) && isTRUE(all(index == round(index)))) {
      index <- suppressWarnings(as.integer(index))
    }
    limit <- size[[c(i = "nrow", j = "ncol")[[side]]]]
    check_indices(index, limit, side, arg, call)
    check_same_length(index, x$v, "v", arg, call)
  }
  if (!is.numeric(x$v)) {
    abort_sparse("v", "must be numbers", arg, call)
  }
  check_sides(x$dimnames, unlist(size), "dimnames", arg, call)
}

# ---- Covariances -------------------------------------------------------------

# A symmetric positive definite d x d matrix of doubles, without names and
# symmetric to the last bit. A single number is valid when d = 1.
check_spd_matrix <- function(x, d, d_why = NULL, arg = rlang::caller_arg(x),
                             call = rlang::caller_env()) {
  force(arg)
  if (d == 1 && is_plain_number(x)) x <- matrix(x)
  x <- check_square(x, d, d_why, arg, call)
  check_symmetric(x, arg, call)
  # halves first: their sum cannot overflow
  x <- x / 2 + t(x) / 2
  check_positive_definite(x, arg, call)
  x
}

# A covariance matrix with the names of its coordinates, those of its rows or
# columns: see matrix_in_order_of().
check_covariance <- function(x, arg, call) {
  checked <- check_spd_matrix(x, nrow(x), arg = arg, call = call)
  names <- rownames(x) %||% colnames(x)
  if (!identical(names, colnames(x) %||% names)) {
    abort_argument(
      "Rows and columns of {.arg {arg}} must have the same names.", call = call
    )
  }
  check_text(names, paste0("dimnames(", arg, ")"), call)
  dimnames(checked) <- if (!is.null(names)) list(names, names)
  checked
}

# A d x d matrix of doubles without names.
check_square <- function(x, d, d_why, arg, call) {
  x <- dense_matrix(x, arg, call)
  why <- if (is.null(d_why)) "" else paste0(" (", d_why, ")")
  if (length(x) == 0L && !is.null(x)) {
    abort_argument("{.arg {arg}} must not be empty.", call = call)
  }
  if (!is.numeric(x) || !is.matrix(x) || is.object(x)) {
    expected <- paste0("a numeric matrix, ", d, " x ", d, why)
    abort_expected(x, expected, FALSE, arg, call)
  }
  if (any(dim(x) != d)) {
    abort_argument(
      "{.arg {arg}} must be {d} x {d}{why}, not {nrow(x)} x {ncol(x)}.",
      call = call
    )
  }
  matrix(as.double(x), d, d)
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

# Positive definite to working precision: the smallest eigenvalue exceeds the
# rounding error of the largest.
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
