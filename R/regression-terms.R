# What a formula may hold, and its variables whose value in a row depends on
# other rows, or on random numbers.

# ---- What a formula may hold -------------------------------------------------

# A formula must have two sides, and on the right none of the terms that only
# other packages support.
# `maker`: the function that was called; `other`: the one that has random
# effects.
check_model_formula <- function(formula, maker, call, other = maker) {
  check_has_response(formula, "y ~ x", call)
  terms <- formula_terms(formula[[3L]])
  check_foreign_terms(formula[[2L]], terms, environment(formula), call)
  bars <- vapply(terms, is_random_effect, NA)
  if (any(bars)) {
    shown <- deparse1(terms[bars][[1L]])
    abort_argument(
      c(
        "`formula` cannot have random effects, such as {.code ({shown})}: they
         are not supported by {.fn {maker}}.",
        i = "{.fn {other}} has them; a logical `or` is written
             {.code I(a | b)}."
      ),
      call = call, class = "formula"
    )
  }
  smooth <- unlist(lapply(terms, smooth_names, environment(formula)))
  if (length(smooth) > 0L) {
    abort_argument(
      c(
        "`formula` cannot have smooth terms, such as {.code {smooth[1]}()}: they
         are not supported by {.fn {maker}}.",
        i = "Use columns of a basis: {.code splines::ns(x, 4)},
             {.code splines::bs(x)} or {.code poly(x, 3)}."
      ),
      call = call, class = "formula"
    )
  }
}

# What stands after the bar of a response in brms, and its terms.
response_words <- c(
  weights = "Give `weights = `.",
  se = "{.fn gibbs_hlm} has {.arg se}: known standard errors.",
  trials = "The response is {.code cbind(successes, failures)}.",
  rate = "Give {.code offset = log()} of it.",
  cens = NA, trunc = NA, mi = NA, thres = NA
)

check_foreign_terms <- function(response, terms, env, call) {
  name_of <- function(x) {
    if (is.call(x) && is.name(x[[1L]])) as.character(x[[1L]]) else ""
  }
  own <- vapply(terms, name_of, "")
  strange <- own[own %in% c("mo", "me", "mi", "cs", "gp", "ar", "arma")]
  strange <- Filter(function(name) {
    !exists(name, env %||% globalenv(), mode = "function")
  }, strange)
  hint <- if ("mo" %in% strange) "An ordered factor is a predictor as it is."
  if (name_of(response) == "|") {
    added <- name_of(response[[3L]])
    if (added %in% names(response_words)) {
      strange <- added
      hint <- stats::na.omit(response_words[[added]])
    }
  }
  if (length(strange) > 0L) {
    abort_argument(
      c("`formula` cannot have {.fn {strange[[1]]}}, which is of brms.",
        as_bullets(hint)),
      call = call, class = "formula"
    )
  }
}

# shown: a formula, as an example.
check_has_response <- function(formula, shown, call) {
  if (is.data.frame(formula)) {
    abort_argument(
      c("`formula` must be a formula, such as {.code {shown}}, not a data
         frame.",
        i = "After a pipe give it by its name: {.code formula = {shown}}."),
      call = call
    )
  }
  if (is.character(formula)) {
    abort_argument(
      c("`formula` must be a formula, such as {.code {shown}}, not text.",
        i = "{.fn as.formula} makes one of text."),
      call = call
    )
  }
  if (!inherits(formula, "formula") || length(formula) != 3L) {
    abort_argument("`formula` must have a response: `{shown}`.", call = call)
  }
}

# The parts of a right-hand side that are not formula operators.
formula_terms <- function(part) {
  operators <- c("+", "-", "*", "/", ":", "^", "%in%", "(")
  if (is.call(part) && is.name(part[[1L]]) &&
        as.character(part[[1L]]) %in% operators) {
    return(unlist(lapply(as.list(part)[-1L], formula_terms)))
  }
  list(part)
}

# `.` stands for the columns of the data, as a term of its own.
check_dot <- function(part, data, call) {
  dotted <- Filter(function(term) "." %in% all.vars(term), formula_terms(part))
  if ("." %in% names(data) || length(dotted) == 0L) {
    return(invisible())
  }
  within <- Filter(is.call, dotted)
  if (length(within) > 0L) {
    shown <- deparse1(within[[1L]])
    abort_argument(
      c("`.` in `formula` must be a term of its own, not a part of
         {.code {shown}}.",
        i = "Name the variables there."),
      call = call, class = "formula"
    )
  }
  if (is.null(data) || is.environment(data)) {
    abort_dot(call)
  }
}

abort_dot <- function(call) {
  abort_argument(
    c("`.` in `formula` needs a data frame `data`.",
      i = "Give {.arg data}, or name the variables."),
    call = call, class = "formula"
  )
}

is_random_effect <- function(term) {
  is.call(term) && is.name(term[[1L]]) &&
    as.character(term[[1L]]) %in% c("|", "||")
}

# Smooth terms such as s(x) of mgcv, gam and brms: either the function is not
# found, or it is one of these packages and does not return a column. A function
# of the user with such a name is accepted.
smooth_names <- function(term, env) {
  if (!is.call(term) || !is.name(term[[1L]])) {
    return(NULL)
  }
  name <- as.character(term[[1L]])
  if (!name %in% c("s", "te", "ti", "t2", "lo")) {
    return(NULL)
  }
  found <- get0(name, envir = env %||% globalenv(), mode = "function")
  theirs <- is.null(found) ||
    environmentName(environment(found)) %in% c("mgcv", "gam", "brms")
  if (theirs) name
}

# ---- Variables of other rows -------------------------------------------------
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

# ---- The design --------------------------------------------------------------

# What every regression knows of its design, and its weights and offset.

# ---- the design --------------------------------------------------------------

# list(mean, sd, squares, finite) of the columns of a matrix, dense or sparse;
# `total`: only observations for which it is positive are used.
measure_columns <- function(x, total) {
  .Call(C_design_columns, columns_for_c(x), as.double(total))
}

# list(columns, intercept, mean, sd) of a matrix with the measures `found`.
describe_design <- function(x, columns, found, call) {
  if (!all(found$finite)) {
    j <- which(!found$finite)[[1L]]
    abort_wild(column_of(x, j), columns[[j]], rownames(x), call)
  }
  empty <- found$sd == 0 & found$mean == 0
  wild <- !empty & !(found$squares > 1e-290 & found$squares < 1e290)
  if (any(wild)) {
    names <- columns[wild]
    abort_argument(
      c(
        "{cli::qty(names)}Column{?s} {.val {names}} {?has/have} values or a
         spread whose square is beyond the range of doubles.",
        i = "Change {cli::qty(names)}{?its/their} unit."
      ),
      call = call
    )
  }
  check_far_columns(columns, found, call)
  list(
    columns = columns, intercept = which(columns == "(Intercept)"),
    mean = found$mean, sd = found$sd
  )
}

# If a column is far from 0: the names of those that are nearly a combination of
# other columns, and of the one that is most alike. Where x is a year they are x
# and x^2, or the indicator of a group and its product with x.
nearly_one <- function(x, columns, found) {
  any_far <- any(found$sd > 0 & abs(found$mean) > 15 * found$sd)
  varying <- which(found$sd > 0)
  if (!any_far || length(varying) < 2L || length(varying) > 50L) {
    return(character())
  }
  values <- vapply(varying, function(j) {
    (column_of(x, j) - found$mean[[j]]) / found$sd[[j]]
  }, numeric(nrow(x)))
  # of each column what those before it do not explain
  own <- abs(diag(qr.R(qr(values, tol = 0)))) / sqrt(colSums(values^2))
  last <- which(own < 0.05)
  if (length(last) == 0L) {
    return(character())
  }
  alike <- abs(crossprod(values, values[, last[[1L]]]))
  alike[last[[1L]]] <- 0
  columns[varying[c(which.max(alike), last)]]
}

# The precision matrix of the coefficients has the squares of the columns, whose
# last digits are lost beside a large mean.
check_far_columns <- function(columns, found, call) {
  far <- which(found$sd > 0 & abs(found$mean) > 1e6 * found$sd)
  if (length(far) > 0L) {
    name <- columns[[far[[1L]]]]
    size <- signif(c(found$mean[[far[[1L]]]], found$sd[[far[[1L]]]]), 3)
    abort_argument(
      c("Column {.val {name}} is too far from 0: its mean is {size[[1]]}, and
         its standard deviation {size[[2]]}.",
        i = "Centre it: the intercept takes up the difference."),
      call = call
    )
  }
}

# One column as plain doubles, so that a large matrix is never copied as a
# whole.
column_of <- function(x, j) {
  if (is.matrix(x)) {
    return(x[, j])
  }
  v <- numeric(nrow(x))
  at <- seq_len(x@p[[j + 1L]] - x@p[[j]]) + x@p[[j]]
  v[x@i[at] + 1L] <- x@x[at]
  v
}

abort_wild <- function(v, column, rows, call) {
  at <- which(!is.finite(v))[[1L]]
  given <- v[[at]]
  place <- row_words(at, rows[at])
  abort_argument(
    "The predictors must be finite: {place}, column {.val {column}} is
     {given}.",
    call = call, class = "infinite"
  )
}

# Sparse matrices by rows, in the layout of core/logistic/logistic.h; a dense
# matrix unchanged.
design_for_c <- function(x) {
  if (is.matrix(x)) {
    return(x)
  }
  rows <- Matrix::t(x)
  list(
    n = nrow(x), p = ncol(x), row_start = rows@p, column = rows@i,
    value = rows@x
  )
}

columns_for_c <- function(x) {
  if (is.matrix(x)) {
    return(x)
  }
  list(n = nrow(x), p = ncol(x), start = x@p, row = x@i, value = x@x)
}

# ---- weights and offset ------------------------------------------------------

# v_i m_i: the total weight of an observation.
total_weights <- function(response, weights) {
  trials <- response$trials %||% rep(1, length(response$y))
  if (is.null(weights)) trials else weights * trials
}

# list(response, weights): for proportions, as glm() has them, weights are
# numbers of trials, and the response becomes counts.
trials_of_weights <- function(response, weights, call) {
  if (!identical(response$kind, "proportions")) {
    return(list(response = response, weights = weights))
  }
  name <- response$name
  if (is.null(weights)) {
    fraction <- which(response$y != round(response$y))[[1L]]
    given <- describe(response$y[[fraction]])
    abort_argument(
      c(
        "`weights` are needed where `{name}` has proportions: element {fraction}
         is {given}.",
        i = "They are the numbers of trials. Counts of successes are given as
             {.code cbind(successes, failures)}."
      ),
      call = call
    )
  }
  abort_elements(
    weights != round(weights), weights, "weights",
    paste0("whole numbers of trials, where `", name, "` has proportions"), call
  )
  successes <- weights * response$y
  # glm() warns beyond this
  odd <- which(abs(successes - round(successes)) > 1e-3)
  if (length(odd) > 0L) {
    first <- odd[[1L]]
    given <- describe(response$y[[first]])
    trials <- weights[[first]]
    abort_argument(
      c(
        "`{name}` times `weights` must be whole numbers of successes: element
         {first} is {given} times {trials}.",
        i = "Counts are given as {.code cbind(successes, failures)}."
      ),
      call = call
    )
  }
  response$y <- ifelse(weights == 0, 0 * response$y,
                       round(successes) / pmax(weights, 1))
  response$trials <- as.double(weights)
  response$kind <- "counts"
  list(response = response, weights = NULL)
}

# list(response, weights, offset, total), checked; of trials_of_weights() and
# total_weights(). n: the number of rows.
weighted_response <- function(response, name, weights, offset, n, call) {
  response$name <- name
  weights <- check_weights(weights, n, call)
  settled <- trials_of_weights(response, weights, call)
  c(settled, list(
    offset = check_offset(offset, n, call),
    total = total_weights(settled$response, settled$weights)
  ))
}

check_weights <- function(weights, n, call) {
  weights <- check_numeric_vector(
    weights, length = n, length_why = "one for each observation", lower = 0,
    null_ok = TRUE, arg = "weights", call = call
  )
  if (is.null(weights)) {
    return(NULL)
  }
  if (!any(weights > 0)) {
    abort_argument("`weights` must not all be 0.", call = call)
  }
  # sums of squares with them stay within the range of doubles
  abort_elements(
    weights > 0 & !in_range(weights, 1e-100, 1e100), weights, "weights",
    "0 or between 1e-100 and 1e+100", call
  )
  if (all(weights == 1)) NULL else unname(weights)
}

# The sum of the offsets of a model frame, or NULL.
frame_offset <- function(frame, call) {
  terms <- names(frame)[attr(attr(frame, "terms"), "offset")]
  for (name in intersect(c(terms, "(offset)"), names(frame))) {
    v <- frame[[name]]
    if (!is.numeric(v)) {
      arg <- if (name == "(offset)") "offset" else name
      abort_expected(v, "a numeric vector", FALSE, arg, call)
    }
  }
  stats::model.offset(frame)
}

check_offset <- function(offset, n, call) {
  # squares with them stay within the range of doubles
  offset <- check_numeric_vector(
    offset, length = n, length_why = "one for each observation",
    lower = -1e100, upper = 1e100, null_ok = TRUE, arg = "offset", call = call
  )
  if (is.null(offset) || all(offset == 0)) NULL else unname(offset)
}

# Whether an offset was an argument of the fit. New data do not hold it.
has_offset_argument <- function(frame) {
  !is.null(frame$offset) &&
    (is.null(frame$model) || "(offset)" %in% names(frame$model))
}
