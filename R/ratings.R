# Ratings of items by users, converted to one form: a list of class
# "gibbsite_ratings" with
#
#   user, item   integer codes from 1, in the order of the data; a pair may
#                occur more than once
#   value        the ratings, doubles
#   users, items the ids of the codes, in their original type (integer, double,
#                character, factor)
#   names        names of the three columns
#   levels       of an ordered factor whose codes are the ratings, if it was one
#   scale        the numbers that a factor's levels stand for, in order, if the
#                ratings were one: all possible ratings
#
# `likes`: of ratings of two kinds, which may also be logical, or a factor
# without an order.
#
# Users and items without a rating have a code that does not occur.

as_ratings <- function(x, user = NULL, item = NULL, value = NULL, data = NULL,
                       arg = rlang::caller_arg(x),
                       call = rlang::caller_env(), likes = FALSE) {
  force(arg)
  if (inherits(x, "gibbsite_shared_ratings")) {
    check_columns_used(x, list(user = user, item = item, value = value), arg,
                       call)
    return(x)
  }
  check_sparse(x, arg, call)
  if (inherits(x, "ftable")) {
    x <- as.table(as.matrix(x))
  }
  named <- list(user = user, item = item, value = value)
  check_columns_used(x, named, arg, call)
  parts <- if (inherits(x, "formula")) {
    ratings_from_formula(x, data, arg, call, likes)
  } else if (is.data.frame(x)) {
    ratings_from_frame(x, named, arg, call, likes)
  } else if (is.matrix(x)) {
    ratings_from_matrix(if (likes) as_likes(x) else x, arg, call)
  } else if (isS4(x) && methods::is(x, "denseMatrix")) {
    x <- methods::as(x, "matrix")
    ratings_from_matrix(x, arg, call)
  } else {
    say_terms(NULL, class(x), arg)
    ratings_from_triplets(as_triplets(x, arg, call))
  }
  ratings <- new_ratings(parts, arg, call)
  if (all(!is.na(parts$value))) {
    say_zeros(ratings, x, arg)
  }
  say_negative_ids(ratings, arg)
  ratings
}

# `user`, `item` and `value` have no meaning for ratings without named columns.
check_columns_used <- function(x, named, arg, call) {
  given <- names(named)[lengths(named) > 0]
  if (length(given) > 0 && !is.data.frame(x)) {
    abort_argument(
      c(
        "{.arg {given[1]}} names a column, and {.arg {arg}} is not a data
         frame.",
        i = "With a formula name the columns in it: {.code value ~ user +
             item}."
      ),
      call = call
    )
  }
}

# parts: list(user, item) of ids or codes with `users`, `items`; value; names
new_ratings <- function(parts, arg, call) {
  wild <- which(is.nan(parts$value) | is.infinite(parts$value))
  if (length(wild) > 0) {
    at <- wild[[1]]
    given <- parts$value[[at]]
    pair <- pair_words(parts, at)
    count <- length(wild)
    abort_argument(
      c(
        "{.arg {arg}} must be finite: the rating of {pair} is {given}.",
        i = if (count > 1) "{count} ratings are NaN or infinite."
      ),
      call = call, class = "infinite", row = at
    )
  }
  # squares and their sums must not overflow
  large <- which(abs(parts$value) > 1e70)
  if (length(large) > 0) {
    pair <- pair_words(parts, large[[1]])
    abort_argument(
      c(
        "{.arg {arg}} must be below 1e70: the rating of {pair} is not.",
        i = "Change its unit."
      ),
      call = call
    )
  }
  ratings <- leave_unobserved_out(parts, arg)
  if (length(ratings$value) == 0) {
    abort_argument("{.arg {arg}} has no ratings.",
      call = call, class = "empty"
    )
  }
  say_unrated(ratings)
  say_repeated(ratings)
  structure(ratings, class = "gibbsite_ratings")
}

# A rating that is NA was not observed.  Its user and item stay.
leave_unobserved_out <- function(parts, arg) {
  seen <- !is.na(parts$value)
  if (!all(seen)) {
    count <- sum(!seen)
    inform_gibbsite(
      c(i = "{count} rating{?s} of {.arg {arg}} {cli::qty(count)}{?is/are} NA:
             not observed."),
      class = "unobserved"
    )
    parts[c("user", "item", "value")] <- lapply(
      parts[c("user", "item", "value")], function(column) column[seen]
    )
  }
  parts$value <- as.double(parts$value)
  kept <- c(
    "user", "item", "value", "users", "items", "names", "levels", "scale"
  )
  parts[intersect(kept, names(parts))]
}

# How many users and items have no rating: list(count, words).
count_unrated <- function(ratings) {
  without <- c(
    user = length(ratings$users) - count_distinct(ratings$user),
    item = length(ratings$items) - count_distinct(ratings$item)
  )
  without <- without[without > 0]
  list(count = sum(without), words = and_words(paste0(
    without, " ", names(without), ifelse(without == 1, "", "s")
  )))
}

say_unrated <- function(ratings) {
  without <- count_unrated(ratings)
  count <- without$count
  if (count > 0) {
    lacking <- without$words
    inform_gibbsite(
      c(i = "{lacking} {cli::qty(count)}{?has/have} no rating: predictions for
             {?it/them} come from the prior, and from features if there are
             any.",
        i = if (is.factor(ratings$users) || is.factor(ratings$items)) {
          "{.fn droplevels} of the ratings leaves out levels without a rating
           that have no features."
        }),
      class = "unrated"
    )
  }
}

count_distinct <- function(codes) sum(tabulate(codes) > 0)

say_repeated <- function(ratings) {
  again <- sum(duplicated(pair_keys(
    ratings$user, ratings$item, length(ratings$items)
  )))
  if (again > 0) {
    inform_gibbsite(
      c(i = "{again} rating{?s} {?is/are} of a pair of user and item rated
             before: {?it is/they are} taken as {?a repeated
             measurement/repeated measurements}."),
      class = "repeated"
    )
  }
}

# One number for a pair of codes; exact below 2^53.
pair_keys <- function(user, item, items) (user - 1) * as.double(items) + item

# Which pairs of codes the data of a fit have; NA: an id that it does not have.
pairs_in_data <- function(model, user, item) {
  items <- length(model$items)
  pair_keys(user, item, items) %in%
    pair_keys(model$data$user, model$data$item, items)
}

# The user and item of a rating, in words: 'user "ann" and item "tea"'.
pair_words <- function(parts, at) {
  id <- function(ids, code) quoted(id_words(ids)[[code]])
  paste(
    "user", id(parts$users, parts$user[[at]]),
    "and item", id(parts$items, parts$item[[at]])
  )
}

# ---- One form from many -----------------------------------------------------

# Columns by name; the usual names are found without arguments.
usual_columns <- list(
  user = "user", item = "item", value = c("value", "rating")
)

ratings_from_frame <- function(x, named, arg, call, likes) {
  check_data_frame(x, arg, call)
  names <- vapply(names(usual_columns), function(role) {
    find_column(x, named[[role]], role, arg, call)
  }, "")
  if (anyDuplicated(names)) {
    twice <- names[duplicated(names)][[1]]
    abort_argument(
      "User, item and value must be three columns of {.arg {arg}}:
       {.val {twice}} is named twice.",
      call = call
    )
  }
  ratings_from_columns(x[[names[[1]]]], x[[names[[2]]]], x[[names[[3]]]],
    unname(names), arg, call, likes
  )
}

# Likes: logical as 1 and 0, and a factor of two levels as an ordered one.
as_likes <- function(value) {
  if (is.logical(value)) {
    storage.mode(value) <- "double"
  }
  if (is.factor(value) && nlevels(value) == 2L) {
    value <- factor(value, levels(value), ordered = TRUE)
  }
  value
}

find_column <- function(x, name, role, arg, call) {
  if (is.null(name)) {
    found <- intersect(usual_columns[[role]], names(x))
    if (length(found) > 0) {
      return(found[[1]])
    }
  } else {
    name <- check_string(name, arg = role, call = call)
    if (name %in% names(x)) {
      return(name)
    }
  }
  lacking <- or_words(quoted(name %||% usual_columns[[role]]))
  there <- utils::head(names(x), 10)
  wide <- if (is.null(name)) wide_hint(x, arg)
  abort_argument(
    c(
      "{.arg {arg}} must have a column for the {role}: there is no column
       {lacking}.",
      i = "Name it with {.arg {role}}, or give a formula of columns,
           {.code value ~ user + item}; they are {.val {there}}.",
      i = if (!is.null(wide)) {
        "Where each row is a user and each column an item, give a matrix:
         {.code {wide}}."
      }
    ),
    call = call, class = "column"
  )
}

# value ~ user + item, each evaluated in the data.
ratings_from_formula <- function(formula, data, arg, call, likes) {
  right <- formula[[length(formula)]]
  is_sum <- function(x) is.call(x) && identical(x[[1]], quote(`+`))
  two <- is_sum(right) && length(right) == 3 && !is_sum(right[[2]])
  if (length(formula) != 3 || !two) {
    shown <- paste(deparse(formula), collapse = " ")
    if (!is.null(data)) arg <- "formula"
    abort_argument(
      "{.arg {arg}} must be {.code value ~ user + item}, not {.code {shown}}.",
      call = call
    )
  }
  if (!is.null(data) && !is.list(data) && !is.environment(data)) {
    abort_expected(data, "a data frame", TRUE, "data", call)
  }
  terms <- list(right[[2]], right[[3]], formula[[2]])
  names <- vapply(terms, function(term) {
    paste(deparse(term), collapse = " ")
  }, "")
  columns <- lapply(seq_along(terms), function(k) {
    tryCatch(
      eval(terms[[k]], data, environment(formula)),
      error = function(cnd) {
        reason <- conditionMessage(cnd)
        abort_argument(
          c("{.code {names[[k]]}} of `formula` could not be evaluated:
             {reason}.",
            i = misspelt_hint(terms[k], data, environment(formula))),
          call = call, class = "column"
        )
      }
    )
  })
  ratings_from_columns(columns[[1]], columns[[2]], columns[[3]], names, arg,
    call, likes
  )
}

ratings_from_columns <- function(user, item, value, names, arg, call,
                                 likes) {
  if (likes) {
    value <- as_likes(value)
  }
  levels <- coded_levels(value)
  scale <- factor_scale(value)
  value <- check_rating_column(value, names[[3]], arg, call)
  sizes <- c(length(user), length(item), length(value))
  if (length(unique(sizes)) > 1) {
    abort_argument(
      "User, item and value of {.arg {arg}} must be of one length, not
       {sizes[[1]]}, {sizes[[2]]} and {sizes[[3]]}.",
      call = call
    )
  }
  say_roles(names, arg)
  user <- index_ids(user, "user", arg, call)
  item <- index_ids(item, "item", arg, call)
  list(
    user = user$code, item = item$code, value = value, users = user$ids,
    items = item$ids, names = names, levels = levels, scale = scale
  )
}

# The levels of an ordered factor that are no numbers, or NULL.
coded_levels <- function(value) {
  if (is.ordered(value) && is.null(numeric_levels(value))) levels(value)
}

# The numbers that a factor's levels are, or NULL.
numeric_levels <- function(value) {
  if (all(is_text(levels(value)))) {
    numbers <- suppressWarnings(as.double(levels(value)))
    if (!anyNA(numbers)) numbers
  }
}

# The numbers that a factor's levels stand for, in order; NULL for others.
factor_scale <- function(value) {
  if (is.factor(value)) {
    numbers <- numeric_levels(value) %||% as.double(seq_len(nlevels(value)))
    sort(unique(numbers[is.finite(numbers)]))
  }
}

# known: NULL for the ratings of a fit; for ratings given later, those of the
# fit (or its model), with the levels of which their codes are taken.
check_rating_column <- function(value, name, arg, call, known = NULL) {
  if (is.logical(value) && all(is.na(value))) {
    return(as.double(value))
  }
  labelled <- is.factor(value) || is.logical(value) || is.character(value)
  if (!is.null(known$levels) && labelled) {
    check_text(as.character(value), paste0(arg, "$", name), call)
    return(codes_of_levels(as.character(value), name, arg, call, known$levels))
  }
  if (is.factor(value)) {
    check_text(levels(value), paste0("levels(", arg, "$", name, ")"), call)
    return(factor_ratings(value, name, arg, call, known))
  }
  fault <- column_fault(value)
  if (!is.null(fault)) {
    abort_argument(
      c(
        "Ratings must be numbers or an ordered factor: column {quoted(name)} of
         {.arg {arg}} {fault}.",
        i = if (is.logical(value)) {
          "For likes use {.fn gibbs_pmf}, or {.code as.numeric()} and
           {.code link = \"probit\"}."
        } else {
          "Recode it as numbers."
        }
      ),
      call = call, class = "column"
    )
  }
  lost <- column_loss(value)
  if (!is.null(lost)) {
    inform_conversion(paste0("Column ", quoted(name), " of `", arg, "`"), lost)
  }
  as_plain_double(value)
}

# The codes of ratings given later, by the levels of the fit's.
codes_of_levels <- function(value, name, arg, call, levels) {
  code <- match(value, levels)
  lost <- unique(value[is.na(code) & !is.na(value)])
  if (length(lost) > 0L) {
    abort_argument(
      c(
        "Ratings must be like those of the fit: column {quoted(name)} of
         {.arg {arg}} has {.val {lost[[1L]]}}.",
        i = "Those of the fit are the levels {and_words(quoted(levels))}."
      ),
      call = call, class = "column"
    )
  }
  as.double(code)
}

# Levels that are numbers, as numbers; other ordered levels by their codes.
factor_ratings <- function(value, name, arg, call, known) {
  numbers <- numeric_levels(value)
  if (is.null(numbers) && !is.ordered(value)) {
    abort_argument(
      c(
        "Ratings must be numbers or an ordered factor: column {quoted(name)} of
         {.arg {arg}} is a factor without an order.",
        i = "Give its levels their order, with {.fn ordered}, or recode it as
             numbers."
      ),
      call = call, class = "column"
    )
  }
  levels <- levels(value)
  if (is.null(known)) {
    how <- if (is.null(numbers)) {
      count <- length(levels)
      ends <- quoted(levels[c(1L, count)])
      paste0(
        "is taken as the numbers 1 (", ends[[1L]], ") to ", count, " (",
        ends[[2L]], ") of its ordered levels"
      )
    } else {
      "is a factor, and is taken as the numbers that its levels are"
    }
    inform_conversion(paste0("Column ", quoted(name), " of `", arg, "`"), how)
  } else if (is.null(numbers)) {
    abort_argument(
      c(
        "Ratings must be like those of the fit: column {quoted(name)} of
         {.arg {arg}} has levels.",
        i = "Those of the fit are numbers."
      ),
      call = call, class = "column"
    )
  }
  (numbers %||% seq_along(levels))[as.integer(value)]
}

# Rows are users, columns items; NA: not observed.
ratings_from_matrix <- function(x, arg, call) {
  check_sides(dimnames(x), dim(x), "dimnames", arg, call)
  if (!is.numeric(x) && !(is.logical(x) && all(is.na(x)))) {
    abort_expected(
      x, "a numeric matrix of ratings", FALSE, arg, call,
      hint = "A column of ids is no item: make it the row names."
    )
  }
  say_odd_matrix(x, arg)
  if (is.object(x) && !inherits(x, "table")) {
    inform_conversion(paste0("`", arg, "` of class ", quoted(class(x)[1])))
  }
  x <- bare_values(x)
  # NaN is not a missing rating but an error: it stays here and is found later
  observed <- which(!is.na(x) | is.nan(x))
  ratings_from_triplets(list(
    user = (observed - 1L) %% nrow(x) + 1L,
    item = (observed - 1L) %/% nrow(x) + 1L,
    value = as.double(x[observed]), dim = dim(x), dimnames = dimnames(x)
  ))
}

ratings_from_triplets <- function(x) {
  ids <- function(along) {
    names <- x$dimnames[[along]]
    if (is.null(names)) seq_len(x$dim[[along]]) else unique_names(names)
  }
  called <- names(x$dimnames) %||% c("", "")
  called[is.na(called) | !nzchar(called)] <-
    c("user", "item")[is.na(called) | !nzchar(called)]
  list(
    user = as.integer(x$user), item = as.integer(x$item), value = x$value,
    users = ids(1L), items = ids(2L), names = c(called, "value")
  )
}

# The stored entries of a sparse matrix, zeros and repetitions included.
as_triplets <- function(x, arg, call) {
  if (inherits(x, "simple_triplet_matrix")) {
    return(list(
      user = x$i, item = x$j, value = as.double(x$v),
      dim = c(x$nrow, x$ncol), dimnames = x$dimnames
    ))
  }
  x <- as_sparse(x, arg, call)
  columns <- attr(x, "p")
  list(
    user = attr(x, "i") + 1L,
    item = if (is.null(columns)) {
      attr(x, "j") + 1L
    } else {
      rep(seq_len(length(columns) - 1L), diff(columns))
    },
    value = attr(x, "x"), dim = attr(x, "Dim"), dimnames = attr(x, "Dimnames")
  )
}

# A dgCMatrix or a dgTMatrix; others are converted. Objects such as
# recommenderlab's realRatingMatrix hold one in their slot `data`.
as_sparse <- function(x, arg, call) {
  if (inherits(x, c("dgCMatrix", "dgTMatrix"))) {
    return(x)
  }
  if (!isS4(x)) {
    abort_expected(
      x, "a data frame, a formula, a matrix or a sparse matrix of ratings",
      FALSE, arg, call,
      hint = "A data frame has a row for each rating: user, item and value."
    )
  }
  inside <- if (methods::.hasSlot(x, "data")) methods::slot(x, "data")
  if (isS4(inside)) {
    check_sparse(inside, paste0(arg, "@data"), call)
    return(as_sparse(inside, arg, call))
  }
  numeric <- tryCatch(
    {
      requireNamespace("Matrix", quietly = TRUE)
      if (methods::is(x, "nMatrix") || methods::is(x, "lMatrix")) {
        NULL
      } else {
        general <- methods::as(x, "generalMatrix")
        methods::as(general, "TsparseMatrix")
      }
    },
    error = function(cnd) NULL
  )
  if (!inherits(numeric, "dgTMatrix")) {
    abort_argument(
      c(
        "{.arg {arg}} of class {.cls {class(x)[1]}} cannot be taken as a sparse
         matrix of numbers.",
        i = "Convert it to a {.cls dgCMatrix}, or to a data frame of user, item
             and value."
      ),
      call = call
    )
  }
  numeric
}

# ---- Doubts about the data ---------------------------------------------------

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
      shown <- few_words(format(below, scientific = FALSE, trim = TRUE))
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
  is.numeric(x) && nrow(x) == ncol(x) && nrow(x) > 2L && any(!is.na(x)) &&
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

# A message where all ratings are equal; an error if `link` needs two.
say_equal_ratings <- function(ratings, link, call) {
  value <- ratings$value
  if (!all(value == value[[1L]])) {
    return(invisible())
  }
  given <- ratings$levels[value[[1L]]] %||% format(value[[1L]], digits = 15)
  words <- c(
    if (length(value) == 1L) {
      "There is one rating alone: nothing distinguishes users or items."
    } else {
      "All {length(value)} ratings are equal ({given}): nothing in them
       distinguishes users or items."
    },
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
