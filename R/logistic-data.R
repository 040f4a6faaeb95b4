# The data of laplace_logistic(): response, design, and the frame that the
# methods read.

# ---- the response ------------------------------------------------------------

# list(y, trials, kind, levels) of a response of any kind: y are proportions of
# successes, trials is NULL if all are 1. With `proportions` y may hold
# fractions: trials_of_weights() then makes them counts.
as_response <- function(y, name, call, proportions = FALSE) {
  check_not_64_bit(y, paste0("`", name, "`"), call)
  if (is.ordered(y)) {
    abort_argument(
      c(
        "`{name}` must not be an ordered factor.",
        i = "For two levels use {.code factor({name}, ordered = FALSE)}."
      ),
      call = call
    )
  }
  if (is.factor(y)) {
    return(factor_response(y, name, call))
  }
  if (length(dim(y)) > 1L && ncol(y) > 1L) {
    return(count_response(y, name, call))
  }
  if (stats::is.ts(y) || !is.null(dim(y))) {
    y <- as.vector(y)
  }
  if (is.logical(y)) {
    return(list(y = as.double(y), kind = "logical"))
  }
  if (is.character(y)) {
    return(text_response(y, name, call))
  }
  if (!is.numeric(y) || is.object(y)) {
    abort_expected(
      y, paste(
        "0 and 1, logical, a factor with two levels, two texts, two columns of",
        "counts or proportions with weights"
      ), FALSE, name, call
    )
  }
  number_response(y, name, proportions, call)
}

# 0 and 1, or proportions.
number_response <- function(y, name, proportions, call) {
  known <- y == 0 | y == 1
  if (proportions && !all(known, na.rm = TRUE) &&
        all(y >= 0 & y <= 1, na.rm = TRUE)) {
    return(list(y = as.double(y), kind = "proportions"))
  }
  if (!all(known, na.rm = TRUE)) {
    first <- which(!known)[[1L]]
    given <- describe(unname(y[[first]]))
    others <- if (proportions) {
      ", proportions with the numbers of trials as `weights`"
    }
    abort_argument(
      c(
        "`{name}` must hold 0 and 1: element {first} is {given}.",
        i = "Counts of successes are given as
             {.code cbind(successes, failures)}{others}.",
        i = if (all(y >= 0 & is_whole_number(y), na.rm = TRUE)) {
          "{.fn gibbs_count} has counts of events."
        }
      ),
      call = call
    )
  }
  list(y = as.double(y), kind = "number")
}

# A response of a fit, for which weights may be numbers of trials.
as_weighted_response <- function(y, name, call) {
  as_response(y, name, call, proportions = TRUE)
}

# Two different texts: the second in the order of the C locale is success, and a
# message says so.
text_response <- function(y, name, call) {
  check_text(y, name, call)
  levels <- sort(unique(y[!is.na(y)]), method = "radix")
  if (length(levels) != 2L) {
    shown <- utils::head(levels, 5L)
    abort_argument(
      c(
        "`{name}` must have two different values, not {length(levels)}.",
        x = if (length(levels) > 0L) "They are {.val {shown}}.",
        i = "A factor with two levels may have one of them alone."
      ),
      call = call
    )
  }
  inform_gibbsite(
    c(i = "`{name}` is text: {.val {levels[2]}} is success, {.val {levels[1]}}
           is failure."),
    class = "conversion"
  )
  list(
    y = as.double(y == levels[[2L]]), kind = "factor", levels = levels
  )
}

# The first level is failure, the second success.
factor_response <- function(y, name, call) {
  if (nlevels(y) != 2L) {
    y <- factor(y)
  }
  if (nlevels(y) != 2L) {
    count <- nlevels(y)
    names <- utils::head(levels(y), 5L)
    abort_argument(
      c(
        "`{name}` must be a factor with two levels, not {count}.",
        x = if (count > 0L) "Its levels are {.val {names}}.",
        i = if (count > 2L) {
          "{.fn gibbs_categorical} takes more levels, {.fn gibbs_ordinal} levels
           with an order."
        }
      ),
      call = call
    )
  }
  list(y = as.double(y == levels(y)[[2L]]), kind = "factor", levels = levels(y))
}

# Two columns: successes and failures.
count_response <- function(y, name, call) {
  if (ncol(y) != 2L || !(is.numeric(y) || is.data.frame(y))) {
    abort_argument(
      c(
        "`{name}` must have two columns of counts, not {ncol(y)} columns.",
        i = "Use {.code cbind(successes, failures)}."
      ),
      call = call
    )
  }
  y <- as.matrix(y)
  bad <- is.na(y) | y < 0 | y != round(y) | !is.finite(y)
  # missing values are handled by `na_action`
  bad[is.na(y) & !is.nan(y)] <- FALSE
  if (!is.numeric(y) || any(bad)) {
    at <- first_place(bad)
    given <- describe(y[[at$row, at$column]])
    abort_argument(
      c(
        "`{name}` must hold whole numbers, 0 or more: row {at$row}, column
         {at$column} is {given}.",
        i = "Fractions belong in `weights`."
      ),
      call = call
    )
  }
  trials <- unname(y[, 1L] + y[, 2L])
  abort_elements(
    !is.na(trials) & trials > 2^53, trials, name,
    "counts of 2^53 trials at most", call
  )
  list(
    y = ifelse(trials == 0, 0, unname(y[, 1L]) / pmax(trials, 1)),
    trials = as.double(trials), kind = "counts"
  )
}

# ---- the frame: what methods need of the data --------------------------------

# parts: x, a double matrix or dgCMatrix; response, of as_response(); weights
# and offset, checked, NULL for none; total, of total_weights(); link, NULL for
# "logit"; `more`: terms and the like.
logistic_frame <- function(parts) {
  response <- parts$response
  weights <- parts$weights
  trials <- response$trials
  success <- response$y
  binomial <- 0
  if (!is.null(trials)) {
    success <- round(trials * success)
    binomial <- sum((weights %||% 1) * lchoose(trials, success))
  }
  if (!is.null(weights)) {
    success <- weights * success
  }
  c(
    list(
      x = parts$x, y = response$y, trials = trials, weights = weights,
      offset = parts$offset, success = success, total = parts$total,
      link = parts$link, constant = binomial,
      response = list(
        name = response$name, kind = response$kind, levels = response$levels
      )
    ),
    parts$more
  )
}

# What core/hlm/hlm_latent.h reads of the responses. proposals: NULL for none.
binomial_rows <- function(type, success, total,
                          proposals = has_proposals(success, total)) {
  out <- list(type = type, success = success, total = total)
  if (proposals) out$proposals <- 1
  out
}

# Binary responses and few trials have latent responses. These take time for
# each trial and are whole, and the chains mix slowly where a row has many: with
# five or more a row on average, and with fractional weights, the effects are
# drawn by proposals, as those of counts.
has_proposals <- function(success, total) {
  has_fractions(success, total) || mean(total[total > 0]) >= 5
}

has_fractions <- function(success, total) {
  any(success != round(success)) || any(total != round(total))
}

# What a regression with a link is called, in print.
link_title <- function(link) {
  paste(c(logit = "Logistic", probit = "Probit")[[link]], "regression")
}
