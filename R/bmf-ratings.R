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
