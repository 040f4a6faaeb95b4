# Counts of a user by item for gibbs_pmf(): the forms of ratings that
# R/ratings.R reads, as a "gibbsite_ratings" without zeros, in which a pair
# occurs once.

# named: list(user, item, count), names of columns of a data frame, or NULL.
as_user_counts <- function(x, named = list(), data = NULL, arg, call) {
  check_sparse(x, arg, call)
  x <- numbers_of_likes(x)
  events <- NULL
  if (inherits(x, "formula")) {
    events <- length(x) == 2L
    x <- formula_of_counts(x)
  } else if (is.data.frame(x)) {
    check_data_frame(x, arg, call)
    found <- named$count %||% intersect(usual_counts, names(x))
    events <- length(found) == 0L
    if (events) {
      say_events(x, arg)
      x$count <- rep(1, nrow(x))
      found <- "count"
    }
    if (!found[[1L]] %in% names(x)) {
      there <- utils::head(names(x), 10)
      abort_argument(
        c("{.arg {arg}} must have a column for the count: there is no column
           {quoted(found[[1L]])}.",
          i = "The columns are {.val {there}}."),
        call = call, class = "column"
      )
    }
    named$count <- found[[1L]]
  }
  check_observed(x, arg, call)
  ratings <- tryCatch(
    suppressMessages(
      as_ratings(
        x, named$user, named$item, named$count, data, arg, call, likes = TRUE
      ),
      classes = paste0("gibbsite_message_", c("repeated", "unrated", "zeros"))
    ),
    gibbsite_message_unobserved = function(cnd) abort_unobserved(arg, call)
  )
  if (isTRUE(events)) {
    ratings$names[[3L]] <- "count"
  }
  positive_counts(ratings, isTRUE(events), arg, call)
}

usual_counts <- c("count", "value", "rating")

# Sparse matrices of logical values, or of a pattern alone, as numbers.
numbers_of_likes <- function(x) {
  if (isS4(x) && (methods::is(x, "nMatrix") || methods::is(x, "lMatrix"))) {
    tryCatch(methods::as(x, "dMatrix"), error = function(cnd) x)
  } else if (isS4(x) && methods::is(x, "denseMatrix")) {
    methods::as(x, "matrix")
  } else {
    x
  }
}

# ~ user + item: each row counts once.
formula_of_counts <- function(formula) {
  if (length(formula) != 2L || !is.call(formula[[2L]])) {
    return(formula)
  }
  ones <- call("rep", 1, call("length", formula[[2L]][[2L]]))
  stats::as.formula(call("~", ones, formula[[2L]]), environment(formula))
}

say_events <- function(x, arg) {
  if (ncol(x) > 2L) {
    inform_gibbsite(
      c(i = "{.arg {arg}} has no column {or_words(quoted(usual_counts))}: each
             row counts once. Name another column with {.arg count}."),
      class = "events"
    )
  }
}

check_observed <- function(x, arg, call) {
  if (is.matrix(x) && anyNA(x)) {
    abort_unobserved(arg, call)
  }
}

abort_unobserved <- function(arg, call) {
  abort_argument(
    c(
      "{.arg {arg}} must have no missing counts: a pair without a count is a
       count of 0.",
      i = "Leave such pairs out, or put 0 in their place, if 0 is meant.",
      i = "Where pairs were not observed {.fn gibbs_bmf} leaves them out of the
           model."
    ),
    call = call, class = "missing"
  )
}

# events: whether repeated rows are expected.
positive_counts <- function(ratings, events, arg, call) {
  value <- ratings$value
  wrong <- which(value < 0 | value != floor(value) | value > 1e9)
  if (length(wrong) > 0L || !is.null(ratings$levels)) {
    at <- c(wrong, 1L)[[1L]]
    pair <- pair_words(ratings, at)
    given <- quoted_level(ratings, at)
    abort_argument(
      c(
        "{.arg {arg}} must hold counts, whole numbers from 0 to 1e9: that of
         {pair} is {given}.",
        i = "Likes are TRUE and FALSE, 1 and 0, or rows of users and items
             alone. Ratings on a scale are for {.fn gibbs_bmf}."
      ),
      call = call, class = "count"
    )
  }
  if (all(value == 0)) {
    abort_argument(
      "{.arg {arg}} has no count above 0.", call = call, class = "empty"
    )
  }
  said <- merged_counts(ratings, value > 0, events, arg)
  say_uncounted(said, arg)
  said
}

quoted_level <- function(ratings, at) {
  value <- ratings$value[[at]]
  if (is.null(ratings$levels)) {
    format(value, digits = 15)
  } else {
    quoted(ratings$levels[[value]])
  }
}

# The counts of a pair added up.
merged_counts <- function(ratings, positive, events, arg) {
  user <- ratings$user[positive]
  item <- ratings$item[positive]
  key <- pair_keys(user, item, length(ratings$items))
  first <- !duplicated(key)
  if (!all(first) && !events) {
    again <- sum(!first)
    inform_gibbsite(
      c(i = "{again} count{?s} of {.arg {arg}} {?is/are} of a pair of user and
             item that occurred before: the counts of a pair are added up."),
      class = "repeated"
    )
  }
  sums <- rowsum(ratings$value[positive], match(key, key[first]))
  ratings$user <- user[first]
  ratings$item <- item[first]
  ratings$value <- as.vector(sums)
  ratings
}

say_uncounted <- function(ratings, arg) {
  without <- count_unrated(ratings)
  count <- without$count
  if (count > 0) {
    lacking <- without$words
    inform_gibbsite(
      c(i = "{lacking} of {.arg {arg}} {cli::qty(count)}{?has/have} no count:
             all counts of {?it/them} are taken as 0."),
      class = "unrated"
    )
  }
}

# Counts that a user supplies again, in the codes of the fit.
counts_again <- function(model, data, call) {
  if (!inherits(data, "gibbsite_ratings")) {
    named <- list()
    if (is.data.frame(data)) {
      names <- if (all(model$names[1:2] %in% names(data))) {
        model$names
      } else if (ncol(data) %in% 2:3) {
        c(names(data), "")
      } else {
        abort_lacking(setdiff(model$names, names(data)), "data", call)
      }
      named <- list(user = names[[1L]], item = names[[2L]])
      named$count <- intersect(names[[3L]], names(data))
      if (length(named$count) == 0L) named$count <- NULL
    }
    data <- suppressMessages(
      as_user_counts(data, named, arg = "data", call = call),
      classes = "gibbsite_message"
    )
  }
  ratings_again(model, data, call)
}
