# Messages of as_ratings() about data that may not be the ratings meant.

# Zeros where every pair has a value: often they stand for "not rated". Of a
# table every zero counts, of other data a tenth of the values or more.
say_zeros <- function(ratings, x, arg) {
  sparse <- !is.data.frame(x) && !is.matrix(x) && !inherits(x, "formula")
  zeros <- sum(ratings$value == 0)
  values <- length(ratings$value)
  cells <- length(ratings$users) * as.double(length(ratings$items))
  often <- zeros >= (if (inherits(x, c("table", "ftable"))) 0 else values / 10)
  if (zeros == 0 || !(sparse && values < cells || values == cells && often)) {
    return(invisible())
  }
  way_out <- if (is.matrix(x)) {
    "If 0 stands for no rating, put NA in its place,
     {.code {arg}[{arg} == 0] <- NA}, or give a sparse matrix, or a data frame
     with a row for each rating."
  } else if (sparse) {
    "If 0 stands for no rating, leave the zeros out:
     {.code Matrix::drop0({arg})}."
  } else {
    "If 0 stands for no rating, leave the rows with 0 out."
  }
  inform_gibbsite(
    c(
      i = "{zeros} of the {values} values of {.arg {arg}}
           {cli::qty(zeros)}{?is/are} 0 and {?is taken as a rating/are taken as
           ratings}.",
      i = way_out
    ),
    class = "zeros"
  )
}

# Numbers as ids, of which some are negative.
say_negative_ids <- function(ratings, arg) {
  for (side in c("user", "item")) {
    ids <- ratings[[paste0(side, "s")]]
    rated <- tabulate(ratings[[side]], length(ids))
    if (is.numeric(ids) && any(ids < 0) && any(ids > 0)) {
      below <- ids[ids < 0]
      count <- sum(rated[ids < 0])
      shown <- few_words(id_text(below))
      inform_gibbsite(
        c(
          i = "{count} rating{?s} of {.arg {arg}} {cli::qty(count)}{?has/have} a
               negative number for the {side} ({shown}), which is taken as an
               id like any other.",
          i = "If it stands for an unknown {side}, leave the
               {cli::qty(count)}{?row/rows} out."
        ),
        class = "ids"
      )
    }
  }
}

id_text <- function(ids) format(ids, scientific = FALSE, trim = TRUE)

# Columns whose names are those of another role.
say_roles <- function(names, arg) {
  usual <- c(user = "user", item = "item", value = "value", rating = "value")
  meant <- unname(usual[tolower(names)])
  here <- c("user", "item", "value")
  # users and items may change places
  odd <- which(!is.na(meant) & (meant == "value") != (here == "value"))
  if (length(odd) > 0L) {
    at <- odd[[1L]]
    shown <- quoted(names)
    inform_gibbsite(
      c(
        i = "The column {shown[[at]]} of {.arg {arg}} is taken as the
             {here[[at]]}: users are {shown[[1]]}, items {shown[[2]]} and
             ratings {shown[[3]]}.",
        i = "In a formula the rating comes first: {.code value ~ user + item}."
      ),
      class = "columns"
    )
  }
}

# A matrix that may be something else than users x items.
say_odd_matrix <- function(x, arg) {
  if (ncol(x) == 3L && nrow(x) > 3L && looks_like_triplets(x)) {
    inform_gibbsite(
      c(
        i = "{.arg {arg}} is a matrix of 3 columns and is taken as the ratings
             of 3 items by {nrow(x)} users.",
        i = "If its columns are user, item and value, give a data frame:
             {.code data.frame(user = , item = , value = )}."
      ),
      class = "triplets"
    )
    return(invisible())
  }
  say_ids_as_items(x, arg)
  if (is_mirrored(x)) {
    zeros <- sum(diag(x) == 0, na.rm = TRUE)
    inform_gibbsite(
      c(
        i = "{.arg {arg}} is symmetric: each value is there twice, and both are
             taken as ratings, of rows (users) for columns (items).",
        i = if (zeros > 1) {
          "The {zeros} zeros of the diagonal are taken as ratings too:
           {.code diag({arg}) <- NA} leaves them out."
        }
      ),
      class = "symmetric"
    )
  }
  say_terms(names(dimnames(x)), class(x), arg)
}

usual_ids <- c(
  "user", "user_id", "userid", "user.id", "id", "uid", "users", "customer",
  "customer_id", "subject", "subject_id", "respondent", "person"
)

# A column of ids within a matrix of ratings.
say_ids_as_items <- function(x, arg) {
  column <- match(TRUE, tolower(colnames(x)) %in% usual_ids)
  if (!is.na(column) && nrow(x) > 1L && are_ids(x[, column])) {
    name <- colnames(x)[[column]]
    inform_gibbsite(
      c(
        i = "The column {quoted(name)} of {.arg {arg}} has a different number in
             each row, and is taken as the ratings of an item.",
        i = "If it has the users' ids, make it the row names:
             {.code rownames({arg}) <- {arg}[, {column}]}, and then leave it
             out: {.code {arg}[, -{column}]}."
      ),
      class = "ids"
    )
  }
}

# Distinct whole numbers or words.
are_ids <- function(x) {
  plain <- is.character(x) || is.factor(x) ||
    is.numeric(x) && all(is.finite(x)) && all(x == round(x))
  plain && !anyNA(x) && anyDuplicated(x) == 0L
}

# Whether two of three columns are whole numbers, no pair of which comes twice,
# and far above the third; or the names say so.
looks_like_triplets <- function(x) {
  named <- tolower(colnames(x) %||% "")
  if (all(c("user", "item") %in% named)) {
    return(TRUE)
  }
  if (!is.null(colnames(x)) || anyNA(x)) {
    return(FALSE)
  }
  any(vapply(1:3, function(value) {
    ids <- x[, -value]
    whole <- all(ids == round(ids)) && all(ids >= 0)
    whole && anyDuplicated(ids) == 0L &&
      min(apply(ids, 2L, max)) > 2 * max(x[, value])
  }, NA))
}

is_mirrored <- function(x) {
  is.numeric(x) && nrow(x) == ncol(x) && nrow(x) > 2L &&
    identical(rownames(x), colnames(x)) && isSymmetric(unname(x))
}

# Counts of terms in documents, by their class or the names of their sides.
say_terms <- function(sides, class, arg) {
  counts <- c("DocumentTermMatrix", "TermDocumentMatrix", "dfm", "tcm")
  words <- c("docs", "terms", "features", "documents")
  if (any(class %in% counts) || any(tolower(sides) %in% words)) {
    inform_gibbsite(
      c(
        i = "{.arg {arg}} has counts of terms in documents, and they are taken
             as ratings.",
        i = "{.fn gibbs_lda} is the model of such counts."
      ),
      class = "terms"
    )
  }
}

# How a data frame with a row for each user and a column for each item is given;
# NULL if this one cannot be one.
wide_hint <- function(x, arg) {
  id <- id_column(x)
  items <- setdiff(names(x), id)
  numeric <- vapply(items, function(name) {
    is.numeric(x[[name]]) || is.logical(x[[name]])
  }, NA)
  # ids or words that occur again are those of a long table
  ids <- items[!numeric | grepl("id$", items, ignore.case = TRUE)]
  repeated <- vapply(ids, function(name) anyDuplicated(x[[name]]) > 0L, NA)
  long <- is.null(id) && any(repeated)
  if (length(items) < 2L || sum(numeric) < 2L || long) {
    return(NULL)
  }
  others <- items[!numeric]
  table <- if (length(others) > 0L) {
    left <- vapply(others, function(name) {
      deparse(as.name(name), backtick = TRUE)
    }, "")
    left <- paste(left, collapse = ", ")
    paste0("subset(", arg, ", select = -c(", left, "))")
  } else {
    arg
  }
  if (is.null(id)) {
    return(paste0("as.matrix(", table, ")"))
  }
  paste0(
    "as.matrix(data.frame(", table, ", row.names = ", quoted(id),
    ", check.names = FALSE))"
  )
}

# The column with the users' ids, or NULL: distinct words, or distinct whole
# numbers in the first column or in one with a usual name.
id_column <- function(x) {
  usual <- tolower(names(x)) %in% usual_ids
  words <- vapply(x, function(column) {
    is.character(column) || is.factor(column)
  }, NA)
  candidates <- unique(c(
    names(x)[usual], names(x)[words], names(x)[1L]
  ))
  found <- Filter(function(name) are_ids(x[[name]]), candidates)
  if (length(found) > 0L && nrow(x) > 1L) found[[1L]]
}

# Equal ratings: an error (`abort`) or a message, the same for all models.
say_equal_ratings <- function(ratings, link, call) {
  value <- ratings$value
  if (!all(value == value[[1L]])) {
    return(invisible())
  }
  given <- ratings$levels[value[[1L]]] %||% format(value[[1L]], digits = 15)
  words <- c(
    "All {length(value)} ratings are equal ({given}): nothing in them
     distinguishes users or items.",
    i = "Where they are likes alone, add pairs that were not chosen as ratings
         of 0, by sampling, or give counts, such as how often an item was
         used."
  )
  if (identical(link, "ordinal") && length(ratings$scale) < 2L) {
    abort_argument(
      c(words, x = "{.code link = \"ordinal\"} needs two different ratings, or a
                    factor with all levels of the scale."),
      call = call, class = c("constant", "scale")
    )
  }
  inform_gibbsite(
    c(
      words,
      i = if (is.null(link)) {
        "The default prior takes 1 for their spread: give the fields of `prior`
         in the ratings' unit."
      }
    ),
    class = "constant"
  )
}
