# Features of users and items of gibbs_bmf(): a table in any form as a sparse
# matrix, in the order of the users or items of a fit, and features given later
# for ids that a fit does not have.
#
# What the model holds of a side is list(x, start, index, value, v, s, g, spec):
#
#   x            p x rows, a dgCMatrix: column i has the features of row i
#   start, index, value   its slots, as C reads them
#   v, s, g      V and s of F'F = V diag(s) V' (F = x'), and V'F'1
#   spec         list(names, levels): how a table given later is read

most_features <- 5000L

# ratings: as_ratings(). list(ratings, features): ratings with the ids that
# occur in the tables alone, and list(u, v), each NULL without features.
with_features <- function(ratings, user_features, item_features, call) {
  users <- side_features(
    user_features, ratings$users, ratings$names[[1L]], "user", call
  )
  items <- side_features(
    item_features, ratings$items, ratings$names[[2L]], "item", call
  )
  ratings$users <- users$ids
  ratings$items <- items$ids
  features <- list(u = users$features, v = items$features)
  list(
    ratings = ratings, features = features[!vapply(features, is.null, NA)]
  )
}

side_features <- function(table, ids, column, role, call) {
  if (is.null(table)) {
    return(list(ids = ids, features = NULL))
  }
  arg <- paste0(role, "_features")
  table <- feature_table(table, column, role, arg, NULL, call)
  all <- append_ids(ids, table$ids)
  x <- features_of_ids(table, all, role, arg, call)
  extra <- length(all) - length(ids)
  if (extra > 0) {
    inform_gibbsite(
      c(i = "{counted(extra, role)} of {.arg {arg}} {cli::qty(extra)}{?has/have}
             no rating: what is said of {?it/them} comes from {?its/their}
             features."),
      class = "unrated"
    )
  }
  features <- if (nrow(x) > 0) rotated_features(x, table$spec, arg, call)
  list(ids = all, features = features)
}

# The columns of a table for these ids, in their order.
features_of_ids <- function(table, ids, role, arg, call) {
  at <- match_ids(ids, table$ids)
  lost <- is.na(at)
  if (any(lost)) {
    shown <- utils::head(id_words(plain_or_level(ids[lost])), 3)
    abort_argument(
      c(
        "{.arg {arg}} must have a row for each {role}: there is none for
         {.val {shown}}.",
        x = if (sum(lost) > 3) "{sum(lost)} {role}s have no row.",
        i = "Rows belong to the {role}s in their names, or in a column of a data
             frame that is called like the one of the ratings.",
        i = "Give a row of zeros to {role}s of which nothing is known."
      ),
      call = call, class = "missing"
    )
  }
  x <- table$x[, at, drop = FALSE]
  dimnames(x) <- list(table$spec$names, NULL)
  x
}

rotated_features <- function(x, spec, arg, call) {
  square <- as.matrix(Matrix::tcrossprod(x))
  if (!all(is.finite(square))) {
    abort_argument(
      c("{.arg {arg}} is too large: its sums of squares overflow.",
        i = "Change the unit of its columns."),
      call = call
    )
  }
  own <- eigen(unname(square), symmetric = TRUE)
  list(
    x = x, start = x@p, index = x@i, value = as.double(x@x), v = own$vectors,
    s = pmax(own$values, 0),
    g = drop(crossprod(own$vectors, unname(Matrix::rowSums(x)))), spec = spec
  )
}

# ---- tables in any form ------------------------------------------------------

# list(ids, x, spec): ids of the rows, and the features, p x rows. known: NULL,
# or the spec of a fit, whose columns the table must have.
feature_table <- function(table, column, role, arg, known, call) {
  check_sparse(table, arg, call)
  read <- if (is.data.frame(table)) {
    features_from_frame(table, column, role, arg, known, call)
  } else if (isS4(table) && methods::is(table, "Matrix")) {
    features_from_sparse(table, arg, call)
  } else if (is.matrix(table) && is.numeric(table)) {
    check_sides(dimnames(table), dim(table), "dimnames", arg, call)
    list(
      ids = rownames(table), names = feature_names(table, arg, call),
      x = by_row(matrix(as.double(table), nrow(table), ncol(table)))
    )
  } else {
    abort_expected(
      table, "a numeric matrix, a sparse matrix or a data frame of features",
      TRUE, arg, call
    )
  }
  read$ids <- read$ids %||% seq_len(ncol(read$x))
  check_some_rows(read$ids, arg, call)
  check_feature_values(read, role, arg, call)
  if (!is.null(known)) {
    return(list(
      ids = read$ids, x = same_columns(read, known, arg, call), spec = known
    ))
  }
  if (nrow(read$x) > most_features) {
    abort_argument(
      c(
        "{.arg {arg}} must have {digits(most_features)} columns at most, not
         {digits(nrow(read$x))}.",
        i = "The sampler needs the eigenvectors of their products."
      ),
      call = call, class = "size"
    )
  }
  list(
    ids = read$ids, x = read$x,
    spec = list(
      names = read$names, count = nrow(read$x), levels = read$levels
    )
  )
}

features_from_sparse <- function(table, arg, call) {
  general <- tryCatch(sparse_columns(table), error = function(cnd) NULL)
  if (is.null(general)) {
    abort_expected(table, "a matrix of numbers", TRUE, arg, call)
  }
  ids <- rownames(general)
  names <- feature_names(general, arg, call)
  dimnames(general) <- list(NULL, NULL)
  list(ids = ids, names = names, x = Matrix::t(general))
}

# The names of a table's columns, made unique; NULL if it has none.
feature_names <- function(table, arg, call) {
  if (!is.null(colnames(table))) {
    whole_column_names(colnames(table), ncol(table), arg, call)
  }
}

# The rows of a table without ids are those of 1, 2, ... A column of different
# values may be meant as ids.
say_rows_as_ids <- function(table, column, role, arg) {
  keys <- Filter(function(name) {
    x <- table[[name]]
    (is.character(x) || is.factor(x) || is.numeric(x) && !is.object(x) &&
       all(x == round(x), na.rm = TRUE)) && !anyDuplicated(x)
  }, names(table))
  if (length(keys) > 0L && nrow(table) > 1L) {
    inform_gibbsite(
      c(i = "{.arg {arg}} has neither row names nor a column {.val {column}}
             with ids: its rows are taken as the {role}s 1, 2, ... If
             {.val {keys[[1L]]}} has the ids, name it {.val {column}}."),
      class = "ids"
    )
  }
}

# A number for each number or logical; 0 and 1 for each level of a factor or a
# text, all levels.
features_from_frame <- function(table, column, role, arg, known, call) {
  check_data_frame(table, arg, call)
  id <- intersect(c(column, role), names(table))
  ids <- if (length(id) > 0) {
    check_ids(table[[id[[1L]]]], role, arg, call)
    table[[id[[1L]]]]
  } else if (.row_names_info(table) > 0) {
    row.names(table)
  }
  if (is.null(ids) && is.null(known)) say_rows_as_ids(table, column, role, arg)
  others <- setdiff(seq_along(table), match(id[1L], names(table)))
  columns <- as.list(table)[others]
  names <- whole_column_names(names(columns), length(columns), arg, call)
  lost <- setdiff(names(known$levels), names)
  if (length(lost) > 0L) {
    abort_features_lost(lost, arg, call)
  }
  if (!is.null(known$levels)) {
    columns <- columns[match(names(known$levels), names)]
    names <- names(known$levels)
  } else if (!is.null(known$names)) {
    # the fit's table was a matrix
    columns <- columns[names %in% known$names]
    names <- names[names %in% known$names]
  }
  parts <- Map(function(x, name) {
    feature_block(x, name, known$levels[[name]], !is.null(known), arg, call)
  }, unname(columns), names)
  blocks <- lapply(parts, `[[`, "x")
  x <- if (length(blocks) > 0) {
    do.call(rbind, blocks)
  } else {
    Matrix::sparseMatrix(integer(), integer(), x = 0, dims = c(0, nrow(table)))
  }
  list(
    ids = ids, x = x,
    names = make.unique(as.character(unlist(lapply(parts, `[[`, "names")))),
    levels = stats::setNames(lapply(parts, `[[`, "levels"), names)
  )
}

# list(x, names, levels) of one column; x: p x rows. `levels`: those of the fit,
# if the column has been one with levels; again: whether the fit has the column.
feature_block <- function(x, name, levels, again, arg, call) {
  if (is.character(x) || is.factor(x) || !is.null(levels)) {
    if (again && is.null(levels)) {
      abort_argument(
        "Column {quoted(name)} of {.arg {arg}} must be numbers, as in the fit,
         not {describe(x)}.",
        call = call, class = "column"
      )
    }
    return(level_block(x, name, levels, arg, call))
  }
  fault <- if (is.logical(x)) NULL else column_fault(x)
  if (!is.null(fault)) {
    abort_argument(
      c(
        "Features must be numbers, factors or text: column {quoted(name)} of
         {.arg {arg}} {fault}.",
        i = "Recode it as numbers or as a factor."
      ),
      call = call, class = "column"
    )
  }
  list(x = by_row(matrix(as_plain_double(x))), names = name)
}

# The transpose of a matrix of numbers, sparse.
by_row <- function(x) {
  at <- which(is.na(x) | x != 0, arr.ind = TRUE)
  Matrix::sparseMatrix(
    at[, 2L], at[, 1L], x = x[at], dims = rev(dim(x))
  )
}

level_block <- function(x, name, levels, arg, call) {
  words <- if (is.factor(x)) levels(x) else plain_ids(x)
  check_text(words, paste0(arg, " (", name, ")"), call)
  if (anyNA(x)) {
    abort_argument(
      c(
        "{.arg {arg}} must have no missing values: column {quoted(name)} has one
         in row {which(is.na(x))[[1L]]}.",
        i = "Give unknown values a level of their own, or a row of zeros."
      ),
      call = call, class = "missing", row = which(is.na(x))[[1L]]
    )
  }
  known <- levels
  if (is.null(known)) {
    known <- if (is.factor(x)) levels(x) else sort(unique(x), method = "radix")
  }
  given <- id_words(plain_or_level(x))
  code <- match_words(given, known)
  if (anyNA(code)) {
    lost <- given[is.na(code)][[1L]]
    abort_argument(
      "Column {quoted(name)} of {.arg {arg}} must have the levels of the fit's
       features: {.val {lost}} is none of them.",
      call = call, class = "column"
    )
  }
  list(
    x = Matrix::sparseMatrix(
      code, seq_along(code), x = 1, dims = c(length(known), length(code))
    ),
    names = paste0(name, known, recycle0 = TRUE), levels = known
  )
}

check_feature_values <- function(read, role, arg, call) {
  wild <- which(!is.finite(read$x@x))
  if (length(wild) > 0) {
    row <- findInterval(wild[[1L]] - 1, read$x@p)
    column <- read$x@i[[wild[[1L]]]] + 1L
    given <- read$x@x[[wild[[1L]]]]
    id <- id_words(plain_or_level(read$ids))[[row]]
    named <- if (is.null(read$names)) column else quoted(read$names[[column]])
    missing <- is.na(given) && !is.nan(given)
    abort_argument(
      c(
        "{.arg {arg}} must be finite: column {named} is {given} for {role}
         {.val {id}}.",
        i = if (missing) "Put 0 in the place of missing values, and add a column
                          that says which values are known."
      ),
      call = call, class = if (missing) "missing" else "infinite"
    )
  }
  check_ids(read$ids, role, arg, call)
  ids <- plain_or_level(read$ids)
  again <- which(duplicated(ids))
  if (length(again) > 0) {
    id <- id_words(ids)[[again[[1L]]]]
    abort_argument(
      "{.arg {arg}} must have one row for each {role}: {.val {id}} has
       several.",
      call = call, class = "duplicated"
    )
  }
}

# The features that the fit has, by name where both have names.
same_columns <- function(read, known, arg, call) {
  count <- known$count
  if (is.null(read$names) || is.null(known$names)) {
    if (nrow(read$x) != count) {
      abort_argument(
        "{.arg {arg}} must have the {counted(count, 'feature')} of the fit, not
         {nrow(read$x)}.",
        call = call, class = "column"
      )
    }
    return(read$x)
  }
  at <- match(known$names, read$names)
  if (anyNA(at)) {
    abort_features_lost(known$names[is.na(at)], arg, call)
  }
  read$x[at, , drop = FALSE]
}

abort_features_lost <- function(lost, arg, call) {
  lost <- utils::head(lost, 3)
  abort_argument(
    "{.arg {arg}} must have the features of the fit: {.val {lost}}
     {cli::qty(lost)}{?is/are} missing.",
    call = call, class = "column"
  )
}

# ---- ids that the fit does not have ------------------------------------------

sides_words <- c(u = "user", v = "item")

# given: list(u, v), tables or NULL. codes, ids: list(user, item) of pairs; the
# codes of new ids are NA. list(place, x), each list(u, v): `place` numbers the
# new ids, and x has their features, p x new ids; NULL for a side without
# features.
new_features <- function(model, codes, ids, given, call) {
  place <- x <- list(u = NULL, v = NULL)
  for (side in names(sides_words)) {
    role <- sides_words[[side]]
    own <- model$features[[side]]
    check_features_of_fit(own, given[[side]], role, call)
    fresh <- is.na(codes[[role]])
    if (is.null(own) || !any(fresh)) {
      next
    }
    all <- plain_or_level(ids[[role]])
    new <- unique(all[fresh])
    place[[side]] <- match(all, new)
    x[[side]] <- features_given(model, side, new, given[[side]], call)
  }
  list(place = place, x = x)
}

check_features_of_fit <- function(own, table, role, call) {
  if (is.null(own) && !is.null(table)) {
    abort_argument(
      c(
        "{.arg {role}_features} need a fit with features: this one has none of
         its {role}s.",
        i = "Give {.arg {role}_features} to {.fn gibbs_bmf}."
      ),
      call = call
    )
  }
}

# The features of new ids (p x ids).
features_given <- function(model, side, ids, table, call) {
  role <- sides_words[[side]]
  if (is.null(table)) {
    abort_argument(
      c(
        "{.arg {role}_features} is needed: the fit has features of its {role}s,
         and {.val {utils::head(id_words(ids), 3)}} {cli::qty(ids)}{?is/are}
         new.",
        i = "Give {cli::qty(ids)}{?its/their} features, with the columns that
             those of the fit have."
      ),
      call = call, class = "missing"
    )
  }
  arg <- paste0(role, "_features")
  column <- model$names[[match(side, names(sides_words))]]
  read <- feature_table(
    table, column, role, arg, model$features[[side]]$spec, call
  )
  features_of_ids(read, ids, role, arg, call)
}

# ---- Ratings -----------------------------------------------------------------

# Ratings of gibbs_bmf(): by user and by item, pairs to predict as the chains
# run, and ratings supplied again to a fit without data.

# The ratings minus the constant, by user and by item. Ordinal ones are codes,
# and `place` says where each rating by item is by user.
bmf_compressed <- function(ratings, n, m, center, response = NULL) {
  ordinal <- !is.null(response$link)
  value <- if (ordinal) {
    as.double(match(ratings$value, response$values))
  } else {
    ratings$value - center
  }
  by_user <- order(ratings$user, ratings$item)
  by_item <- order(ratings$item, ratings$user)
  compressed <- function(rows, partners, order, count, parts) {
    length <- tabulate(rows, count)
    part <- (seq_len(count) - 1L) %/% ceiling(count / parts)
    list(
      start = c(0L, cumsum(length)), index = partners[order] - 1L,
      value = value[order],
      # rows with most ratings first: threads then end together
      order = order(part, -length) - 1L
    )
  }
  list(
    # users in quarters, as the hashes of saved fits have them
    users = compressed(ratings$user, ratings$item, by_user, n, 4L),
    items = compressed(ratings$item, ratings$user, by_item, m, 1L),
    place = if (ordinal) order(by_user)[by_item] - 1L else integer()
  )
}

# list(ratings, pairs): predict_at as codes, and the ratings, in which ids that
# occur only in predict_at are users or items without a rating.
ratings_asked <- function(predict_at, ratings, call) {
  if (is.null(predict_at)) {
    return(list(ratings = ratings, pairs = NULL))
  }
  asked <- pair_columns(predict_at, ratings, "predict_at", call)
  check_some_rows(asked$user, "predict_at", call)
  ratings$users <- append_ids(ratings$users, asked$user)
  ratings$items <- append_ids(ratings$items, asked$item)
  pairs <- list(
    user = match_ids(asked$user, ratings$users),
    item = match_ids(asked$item, ratings$items), value = asked$value
  )
  list(ratings = ratings, pairs = pairs)
}

# ids: of the rows.
check_some_rows <- function(ids, arg, call) {
  if (length(ids) == 0L) {
    abort_argument("{.arg {arg}} has no rows.", call = call, class = "empty")
  }
}

append_ids <- function(ids, asked) {
  extra <- unique(plain_or_level(asked[is.na(match_ids(asked, ids))]))
  if (length(extra) == 0) {
    return(ids)
  }
  if (is.factor(ids)) {
    levels <- c(levels(ids), id_words(extra))
    return(factor(levels, levels))
  }
  if (is.numeric(ids) && is.numeric(extra)) {
    return(c(ids, extra))
  }
  c(id_words(ids), id_words(extra))
}

# The term of a formula that has this name, or NULL for a column.
column_term <- function(name) {
  term <- tryCatch(str2lang(name), error = function(cnd) NULL)
  if (is.call(term)) term
}

# The columns in which a fit finds what it calls `name`, in words.
wanted_columns <- function(name, role) {
  term <- column_term(name)
  or_words(quoted(unique(c(
    name, if (is.null(term)) usual_columns[[role]] else all.vars(term)
  ))))
}

# The user, item and (if there) value columns of pairs given by a user: by the
# names of the ratings' columns, otherwise by the usual names; a term of the
# fit's formula, such as log(value), is evaluated. known: the ratings or the
# model, with the names of the columns and the levels of the ratings. values:
# whether the ratings are needed.
pair_columns <- function(x, known, arg, call, values = TRUE) {
  if (!is.data.frame(x)) {
    abort_expected(
      x, "a data frame of users and items", arg == "predict_at", arg, call
    )
  }
  check_data_frame(x, arg, call)
  column <- function(role, which) {
    own <- known$names[[which]]
    term <- column_term(own)
    found <- intersect(c(own, if (is.null(term)) usual_columns[[role]]),
                       names(x))
    if (length(found) > 0) {
      return(x[[found[[1]]]])
    }
    if (!is.null(term) && all(all.vars(term) %in% names(x))) {
      return(eval(term, x, globalenv()))
    }
    if (role == "value") {
      return(NULL)
    }
    lacking <- wanted_columns(own, role)
    abort_argument(
      "{.arg {arg}} must have a column for the {role}: there is no column
       {lacking}.",
      call = call, class = "column"
    )
  }
  asked <- list(
    user = column("user", 1L), item = column("item", 2L),
    value = if (values) column("value", 3L)
  )
  check_ids(asked$user, "user", arg, call)
  check_ids(asked$item, "item", arg, call)
  if (!is.null(asked$value)) {
    asked$value <- values_of_pairs(asked$value, known, arg, call)
  }
  asked
}

values_of_pairs <- function(value, known, arg, call) {
  # with levels the ratings go by them
  likes <- is.null(known$levels) && (
    identical(known$response$link, "probit") ||
      inherits(known, "pmf_model") && is.logical(value)
  )
  value <- check_rating_column(
    if (likes) as_likes(value) else value, known$names[[3]], arg, call, known
  )
  wild <- which(is.nan(value) | is.infinite(value))
  if (length(wild) > 0) {
    row <- wild[[1]]
    abort_argument(
      "{.arg {arg}} must hold finite ratings or NA: row {row} is
       {value[[row]]}.",
      call = call, class = "infinite", row = row
    )
  }
  value
}

# Quantities that methods need also for a fit without its data: how often each
# user and item was rated, the pairs of predict_at, and how many draws of the
# factors a chain may store.
described_bmf <- function(model, asked) {
  ratings <- asked$ratings
  model$user_counts <- tabulate(ratings$user, length(ratings$users))
  model$item_counts <- tabulate(ratings$item, length(ratings$items))
  model["pairs"] <- list(asked$pairs)
  model$cap <- model$data$cap
  model
}

ratings_again <- function(model, data, call) {
  if (!inherits(data, "gibbsite_ratings")) {
    data <- suppressMessages(
      reread_ratings(model, data, call), classes = "gibbsite_message"
    )
  }
  sides <- c(user = "users", item = "items")
  for (side in names(sides)) {
    ids <- sides[[side]]
    # the fit's codes, whatever the type of the ids
    code <- match_ids(data[[ids]], model[[ids]])
    if (anyNA(code)) {
      data[[ids]] <- append_ids(data[[ids]], model[[ids]])
    } else {
      data[[side]] <- code[data[[side]]]
      data[[ids]] <- model[[ids]]
    }
  }
  data
}

reread_ratings <- function(model, data, call) {
  likes <- identical(model$response$link, "probit")
  read <- function(...) {
    as_ratings(..., arg = "data", call = call, likes = likes)
  }
  if (!is.data.frame(data)) {
    return(read(data))
  }
  names <- model$names
  if (all(names %in% names(data))) {
    return(read(data, names[[1]], names[[2]], names[[3]]))
  }
  terms <- lapply(names, function(name) {
    tryCatch(str2lang(name), error = function(cnd) NULL)
  })
  if (all(unlist(lapply(terms, all.vars)) %in% names(data)) &&
        !any(vapply(terms, is.null, NA))) {
    formula <- call("~", terms[[3]], call("+", terms[[1]], terms[[2]]))
    formula <- stats::as.formula(formula, env = globalenv())
    return(read(formula, data = data))
  }
  # three columns of other names, such as those of ratings that were a matrix
  if (ncol(data) != 3L) {
    abort_lacking(setdiff(names, names(data)), "data", call)
  }
  names <- names(data)
  read(data, names[[1]], names[[2]], names[[3]])
}
