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
