# The data of every regression: model frame or matrix, and missing values. The
# response is the model's own.

# ---- formula and matrix ------------------------------------------------------

# `na_action` in any form that a user may give, as one of "fail", "omit",
# "exclude" or `further`, or a function of a data frame where there is one.
check_na_action <- function(na_action, call, frame = TRUE, further = NULL) {
  known <- list(
    fail = stats::na.fail, omit = stats::na.omit, exclude = stats::na.exclude,
    pass = stats::na.pass
  )
  if (is.function(na_action)) {
    same <- vapply(known, identical, NA, na_action)
    if (!any(same) && frame) {
      return(na_action)
    }
    if (!any(same)) {
      words <- or_words(quoted(c("fail", "omit", "exclude", further)))
      abort_argument("`na_action` must be {words} with a matrix.", call = call)
    }
    na_action <- names(known)[same]
  }
  if (is_plain_string(na_action)) {
    na_action <- sub("^na\\.", "", na_action)
  }
  check_choice(
    na_action, c("fail", "omit", "exclude", "pass", further), call = call
  )
}

# `incomplete`: rows with a missing value; `where`: of the first one, in words.
# Returns the rows to leave out, as stats::na.omit() marks them, or NULL.
rows_left_out <- function(incomplete, action, where, names, call) {
  rows <- which(incomplete)
  if (length(rows) == 0L) {
    return(NULL)
  }
  if (!action %in% c("omit", "exclude")) {
    abort_argument(
      c(
        "There are missing values, the first in {where}.",
        i = "{.code na_action = \"omit\"} leaves incomplete rows out.",
        i = "Or impute the values several times and fit each completed data set;
             {.code combine_fits(fits, data = \"imputed\")} combines the fits."
      ),
      call = call, class = "missing"
    )
  }
  if (length(rows) == length(incomplete)) {
    abort_argument("Every row has a missing value.", call = call,
      class = "missing"
    )
  }
  kept <- length(incomplete) - length(rows)
  inform_gibbsite(
    c(i = "{length(rows)} row{?s} with missing values
           {cli::qty(length(rows))}{?is/are} left out; {kept} {?is/are} kept."),
    class = "omitted"
  )
  structure(
    stats::setNames(rows, names[rows]), class = action
  )
}

# Checks that `data` is of a type that stats::model.frame() accepts.
check_model_data <- function(data, call) {
  if (is.data.frame(data)) {
    check_data_frame(data, "data", call)
    return(invisible())
  }
  plain <- is.list(data) && !is.object(data) || is.environment(data)
  if (!plain && !is.null(data)) {
    abort_expected(
      data, "a data frame, a list or an environment", FALSE, "data", call
    )
  }
}

# Of several columns with one name R takes the first. used: names of variables.
check_one_column <- function(data, used, arg, call) {
  names <- names(data)
  twice <- intersect(names[duplicated(names)], used)
  for (name in if (is.data.frame(data)) twice) {
    columns <- unclass(data)[names == name]
    if (length(unique(columns)) > 1L) {
      abort_argument(
        c("{.arg {arg}} has {length(columns)} different columns named
           {.val {name}}.",
          i = "Rename them, or leave some out: which one is meant is not
               known."),
        call = call, class = "column"
      )
    }
  }
}

# The value of an argument given as an expression in the columns of `data`.
evaluate_argument <- function(expression, data, env, arg, call) {
  tryCatch(eval(expression, data, env), error = function(cnd) {
    abort_argument(
      c("`{arg}` could not be evaluated.", x = "{conditionMessage(cnd)}"),
      call = call
    )
  })
}

# The value of `subset`, an expression in the call: TRUE and FALSE (NA: left
# out), numbers of rows, or their names.
check_model_subset <- function(expression, data, env, call) {
  if (is.null(expression)) {
    return(invisible())
  }
  subset <- evaluate_argument(expression, data, env, "subset", call)
  rows <- if (is.data.frame(data)) row.names(data)
  if (is_empty_subset(subset)) {
    abort_argument(
      "There are no observations: `subset` is TRUE nowhere.",
      call = call, class = "empty"
    )
  }
  if (!is.null(subset) && !chooses_rows(subset, rows)) {
    abort_argument(
      "`subset` must choose rows by TRUE and FALSE, by number or by name, not
       {describe(subset)}.",
      call = call
    )
  }
  invisible(subset)
}

is_empty_subset <- function(x) {
  is.logical(x) && !is.object(x) && length(x) > 0L && !anyNA(x) && !any(x)
}

# `rows`: their names, or NULL where it is not known which there are.
chooses_rows <- function(x, rows) {
  one_column <- length(dim(x)) < 2L || length(x) == nrow(x)
  if (is.object(x) || length(x) > .Machine$integer.max || !one_column) {
    return(FALSE)
  }
  switch(typeof(x),
    logical = any(x, na.rm = TRUE),
    integer = ,
    double = length(x) > 0L && all(is.finite(x) & x == round(x)) &&
      any(x != 0) && (is.null(rows) || all(abs(x) <= length(rows))),
    character = length(x) > 0L && (is.null(rows) || all(x %in% rows)),
    FALSE
  )
}

# For a vector of another length than the data has rows, in the words of
# model.frame(); NULL for another reason.
length_hint <- function(reason, data) {
  of <- regmatches(
    reason, regexec("variable lengths differ \\(found for '(.*)'\\)", reason)
  )[[1L]][2L]
  if (!is.na(of) && is.data.frame(data)) {
    name <- gsub("[()]", "", of)
    paste0("`", name, "` must have ", digits(nrow(data)), " values, one for ",
           "each row of `data`.")
  }
}

# The model frame of a call with a formula, with its missing values. The
# arguments are those of formula_frame().
whole_frame <- function(formula, data, user_call, env, call) {
  check_model_data(data, call)
  others <- c("subset", "weights", "offset")
  columns <- c(list(formula), as.list(user_call)[others])
  check_one_column(data, unlist(lapply(columns, all.vars)), "data", call)
  subset <- check_model_subset(
    user_call$subset, data, environment(formula), call
  )
  wanted <- c("formula", "data", others)
  call_frame <- user_call[c(1L, match(wanted, names(user_call), 0L))]
  if (is.logical(subset) && anyNA(subset)) {
    # model.frame() would keep a row of missing values
    call_frame$subset <- bquote((.(user_call$subset)) %in% TRUE)
  }
  # evaluated once: the expression may draw random numbers
  if (!is.null(call_frame$data)) call_frame$data <- data
  call_frame$na.action <- quote(stats::na.pass)
  call_frame[[1L]] <- quote(stats::model.frame)
  frame <- tryCatch(
    eval(call_frame, env),
    error = function(cnd) {
      reason <- conditionMessage(cnd)
      parts <- c("formula", "data", intersect(others, names(call_frame)))
      parts <- and_words(paste0("`", parts, "`"))
      abort_argument(
        c("The model frame cannot be made of {parts}.", x = "{reason}",
          i = length_hint(reason, data) %||%
            misspelt_hint(columns, data, environment(formula))),
        call = call
      )
    }
  )
  if (nrow(frame) == 0L) {
    abort_argument("There are no observations.", call = call, class = "empty")
  }
  bare_columns(frame)
}

# list(frame, na_action, ...): the model frame of a call with a formula,
# complete, and what is known of its variables. data: NULL if there are none;
# user_call: match.call(), made in `env`.
formula_frame <- function(formula, data, user_call, action, env, call) {
  frame <- whole_frame(formula, data, user_call, env, call)
  words <- frame_column_words(names(frame), !is.null(user_call[["se"]]))
  check_frame_columns(frame, words, call)
  if (is.function(action)) {
    frame <- act_on_missing(action, frame, call)
    left_out <- attr(frame, "na.action")
  } else {
    left_out <- frame_left_out(frame, action, words, call)
    if (!is.null(left_out)) {
      terms <- attr(frame, "terms")
      frame <- frame[-left_out, , drop = FALSE]
      attr(frame, "terms") <- terms
    }
  }
  raw <- raw_variables(formula, data, user_call[["offset"]])
  other_rows <- variables_of_other_rows(frame, raw, data, user_call[["offset"]])
  warn_other_rows(other_rows, attr(frame, "terms"))
  list(
    frame = drop_predictor_levels(frame), na_action = left_out,
    times = time_kinds(c(raw, as.list(frame))), other_rows = other_rows,
    constants = constant_variables(frame, raw, formula, data)
  )
}

# The names of values that are no columns, such as the breaks of cut(x, breaks):
# new data do not have them. NULL if there are none.
constant_variables <- function(frame, raw, formula, data) {
  own <- setdiff(intersect(all.vars(formula), names(raw)), names(data))
  size <- rows_of_data(frame, raw, data)
  constant <- vapply(raw[own], function(v) {
    is.atomic(v) && length(v) > 0L && NROW(v) != size
  }, NA)
  if (any(constant)) own[constant]
}

# The variables of a formula, and of an argument `offset`, before they are
# transformed, as far as they are found.
raw_variables <- function(formula, data, offset = NULL) {
  env <- environment(formula) %||% globalenv()
  names <- setdiff(union(all.vars(formula), all.vars(offset)), ".")
  if (is.data.frame(data)) {
    names <- union(names, names(data))
  }
  found <- lapply(stats::setNames(nm = names), function(name) {
    if (is.environment(data)) get0(name, data) else data[[name]]
  })
  absent <- lengths(found) == 0L
  found[absent] <- lapply(names[absent], get0, env, mode = "any")
  found
}

# What the numbers of a date, a time or a difference of times mean: its class,
# and the unit of a difference. NULL: of other values.
time_kind <- function(x) {
  class <- intersect(c("Date", "POSIXt", "difftime"), class(x))
  if (length(class) > 0L) {
    c(class[[1L]], if (class[[1L]] == "difftime") attr(x, "units"))
  }
}

time_kinds <- function(values) {
  kinds <- lapply(values[!duplicated(names(values))], time_kind)
  kinds[lengths(kinds) > 0L]
}

# formula_frame() of a regression, whose frame holds weights and offset under
# names of their own.
regression_frame <- function(formula, data, user_call, action, env, call) {
  check_dot(formula[[3L]], data, call)
  made <- formula_frame(formula, data, user_call, action, env, call)
  taken <- intersect(
    all.vars(attr(made$frame, "terms")), c("(weights)", "(offset)")
  )
  if (length(taken) > 0L) {
    abort_argument(
      c("A variable of {.arg formula} cannot be named {.val {taken[[1L]]}}: the
         model frame has a column of this name.",
        i = "Rename the variable."),
      call = call, class = "formula"
    )
  }
  if (is.function(action)) {
    check_none_missing(
      made$frame, !is.null(user_call[["se"]]), call
    )
  }
  made
}

# What a function `na_action` returned.
check_none_missing <- function(frame, se, call) {
  missing <- frame_missing(frame)
  if (any(missing)) {
    at <- first_place(missing)
    words <- frame_column_words(names(frame), se)
    where <- frame_place(frame, at$row, words[[at$column]])
    abort_argument(
      c("`na_action` must return rows without missing values: {where} is NA.",
        i = "{.code na_action = \"omit\"} leaves incomplete rows out."),
      call = call, class = "missing"
    )
  }
}

act_on_missing <- function(action, frame, call) {
  kept <- tryCatch(action(frame), error = function(cnd) {
    abort_argument(
      c("`na_action` failed.", x = "{conditionMessage(cnd)}"), call = call
    )
  })
  if (!is.data.frame(kept) || nrow(kept) == 0L ||
        !identical(names(kept), names(frame))) {
    abort_argument(
      "`na_action` must return rows of the model frame, not {describe(kept)}.",
      call = call
    )
  }
  if (is.null(attr(kept, "terms"))) {
    abort_argument(
      c("`na_action` must return rows of the model frame with its attributes:
         {.val terms} is missing.",
        i = "Take rows by {.code frame[rows, , drop = FALSE]}."),
      call = call
    )
  }
  kept
}

# Words for the columns of a model frame. `se`: weights hold standard errors.
frame_column_words <- function(names, se = FALSE) {
  words <- paste("variable", quoted(names))
  words[names == "(weights)"] <- if (se) "`se`" else "`weights`"
  words[names == "(offset)"] <- "`offset`"
  words
}

# NaN and infinite values are errors: only NA is missing. words: for columns.
check_frame_columns <- function(frame, words, call) {
  for (j in seq_along(frame)) {
    v <- frame[[j]]
    check_not_64_bit(v, sub("^v", "V", words[[j]]), call)
    if (is.complex(v) || is.raw(v)) {
      kind <- if (is.raw(v)) "raw bytes" else "complex numbers"
      abort_argument(
        c("{sub('^v', 'V', words[[j]])} holds {kind}.",
          i = if (is.raw(v)) "{.fn as.integer} makes numbers of them." else
            "Give their parts, {.fn Re} and {.fn Im}."),
        call = call, class = "column"
      )
    }
    wild <- if (is.numeric(v)) is.nan(v) | is.infinite(v) else FALSE
    if (any(wild)) {
      at <- (which(wild)[[1L]] - 1L) %% nrow(frame) + 1L
      place <- frame_place(frame, at, words[[j]])
      given <- v[[which(wild)[[1L]]]]
      abort_argument(
        "The data must be finite: {place} is {given}.",
        call = call, class = "infinite"
      )
    }
  }
}

frame_place <- function(frame, row, column) {
  paste0(row_words(row, row.names(frame)[[row]]), ", ", column)
}

# Whether values are missing, rows x columns of a frame.
frame_missing <- function(frame) {
  missing <- vapply(frame, function(v) {
    # of classes such as Surv a matrix has one value for each row
    missing <- is.na(v)
    if (length(dim(missing)) > 1L) rowSums(missing) > 0 else missing
  }, logical(nrow(frame)))
  matrix(missing, nrow(frame))
}

frame_left_out <- function(frame, action, words, call) {
  missing <- frame_missing(frame)
  if (action == "impute") {
    # missing responses stay
    missing[, attr(attr(frame, "terms"), "response")] <- FALSE
  }
  if (!any(missing)) {
    return(NULL)
  }
  at <- first_place(missing)
  where <- frame_place(frame, at$row, words[[at$column]])
  rows_left_out(
    rowSums(missing) > 0, action, where, row.names(frame), call
  )
}

# Drops unused levels, which would give columns of zeros. A matrix of contrasts
# has a row for each level, and goes with them.
drop_predictor_levels <- function(frame) {
  response <- attr(attr(frame, "terms"), "response")
  lost <- character()
  for (j in setdiff(seq_along(frame), response)) {
    v <- frame[[j]]
    if (is.factor(v) && any(tabulate(v, nlevels(v)) == 0L)) {
      own <- attr(v, "contrasts")
      frame[[j]] <- v[, drop = TRUE]
      if (is.character(own)) {
        attr(frame[[j]], "contrasts") <- own
      } else if (!is.null(own)) {
        lost <- c(lost, names(frame)[[j]])
      }
    }
  }
  if (length(lost) > 0L) {
    warn_gibbsite(
      c("The contrasts of {.val {lost}} are left out, with levels that no
         observation has.",
        i = "Set contrasts after {.fn droplevels}, or give {.arg contrasts}."),
      class = "contrasts"
    )
  }
  frame
}

# What the model `maker` needs of a formula without groups and its data; other:
# the function that has random effects. as_response(y, name, call): list(y,
# trials, kind, ...), checked.
formula_parts <- function(formula, data, user_call, maker, as_response, action,
                          contrasts, env, call, other = maker) {
  check_model_formula(formula, maker, call, other)
  made <- regression_frame(formula, data, user_call, action, env, call)
  frame <- made$frame
  terms <- attr(frame, "terms")
  name <- deparse1(terms[[2L]])
  parts <- weighted_response(
    as_response(stats::model.response(frame), name, call), name,
    frame[["(weights)"]], frame_offset(frame, call), nrow(frame), call
  )
  check_contrasts(contrasts, frame, call)
  x <- model_matrix(terms, frame, contrasts, call)
  storage.mode(x) <- "double"
  more <- list(
    formula = stats::formula(terms), terms = terms,
    xlevels = stats::.getXlevels(terms, frame),
    contrasts = attr(x, "contrasts"), model = frame,
    na.action = made$na_action, row_names = row.names(frame),
    times = made$times, other_rows = made$other_rows
  )
  more$constants <- made$constants
  c(list(x = x, columns = colnames(x)), parts, list(more = more))
}

# R makes the names of columns of those of variables and levels: "abc" of `a`
# and "bc" as of `ab` and "c".
model_matrix <- function(terms, frame, contrasts, call) {
  x <- tryCatch(
    stats::model.matrix(terms, frame, contrasts.arg = contrasts),
    error = function(cnd) {
      check_several_levels(terms, frame, call)
      abort_argument(
        c("The model matrix cannot be made.", x = "{conditionMessage(cnd)}"),
        call = call
      )
    }
  )
  if (anyDuplicated(colnames(x)) > 0L) {
    colnames(x) <- whole_column_names(
      colnames(x), ncol(x), "formula", call
    )
  }
  x
}

# R has no contrasts of one level.
check_several_levels <- function(terms, frame, call) {
  used <- vapply(as.list(attr(terms, "variables"))[-1L], deparse1, "")
  response <- used[attr(terms, "response")]
  for (name in intersect(setdiff(used, response), names(frame))) {
    v <- frame[[name]]
    if (!is.numeric(v) && length(dim(v)) == 0L && length(unique(v)) == 1L) {
      level <- as.character(v[[1L]])
      abort_argument(
        c("Variable {.val {name}} has one level, {.val {level}}, in all rows
           used.",
          i = "Leave it out of {.arg formula}."),
        call = call, class = "level"
      )
    }
  }
}

# A list with an entry for each of some factors (or texts, or flags).
check_contrasts <- function(contrasts, frame, call) {
  if (is.null(contrasts)) {
    return(invisible())
  }
  if (!is.list(contrasts) || is.object(contrasts)) {
    abort_expected(contrasts, "a list", TRUE, "contrasts", call)
  }
  known <- names(frame)[!vapply(frame, is.numeric, NA)]
  unknown <- setdiff(names(contrasts) %||% rep("", length(contrasts)), known)
  if (length(unknown) > 0L || anyDuplicated(names(contrasts)) > 0L) {
    odd <- c(unknown, names(contrasts)[duplicated(names(contrasts))])[[1L]]
    abort_argument(
      "`contrasts` must be named by factors of the formula, each once: not
       {quoted(odd)}.",
      call = call
    )
  }
}

# As formula_parts(), of a matrix and a response.
matrix_parts <- function(x, y, weights, offset, action, as_response, call) {
  if (missing(y)) {
    abort_argument("`y` is needed: the response.", call = call)
  }
  if (inherits(y, "formula")) {
    abort_argument(
      c("`y` must be a response, not a formula.",
        i = "A formula comes first. After a pipe give it by its name:
             {.code formula = {deparse1(y)}}."),
      call = call
    )
  }
  x <- as_design(x, call)
  n <- nrow(x)
  if (NROW(y) != n) {
    abort_argument(
      "`y` must have {n} observation{?s} (rows of `x`), not {NROW(y)}.",
      call = call
    )
  }
  parts <- weighted_response(
    as_response(y, "y", call), "y", weights, offset, n, call
  )
  columns <- whole_column_names(colnames(x), ncol(x), "x")
  found <- measure_columns(x, parts$total)
  left_out <- matrix_left_out(
    x, parts$response, columns, which(!found$finite), action, call
  )
  if (!is.null(left_out)) {
    found <- NULL
    kept <- -as.integer(left_out)
    x <- x[kept, , drop = FALSE]
    own <- intersect(c("y", "trials"), names(parts$response))
    parts$response[own] <- lapply(parts$response[own], `[`, kept)
    own <- c("weights", "offset", "total")
    parts[own] <- lapply(parts[own], `[`, kept)
  }
  c(list(x = x, columns = columns), parts, list(
    found = found, more = list(
      formula = NULL, terms = NULL, xlevels = NULL, contrasts = NULL,
      model = NULL, na.action = left_out, row_names = rownames(x),
      named = !is.null(colnames(x))
    )
  ))
}

# A double matrix or a dgCMatrix, unchanged if it already is one.
as_design <- function(x, call, arg = "x") {
  check_not_64_bit(x, paste0("`", arg, "`"), call)
  check_sparse(x, arg, call)
  if (inherits(x, "Matrix")) {
    if (!inherits(x, "dgCMatrix")) x <- sparse_columns(x)
    check_text(colnames(x), paste0("names of ", arg), call)
  } else if (is.data.frame(x)) {
    x <- matrix_from_data_frame(x, arg, call)
  } else if (!is.matrix(x) || !(is.numeric(x) || is.logical(x))) {
    if (!is.numeric(x) || is.object(x) || length(dim(x)) > 0L) {
      # the argument `x` of a fit may be a formula, new data may not
      expected <- paste0(
        if (arg == "x") "a formula, or ", "a numeric matrix of predictors"
      )
      abort_expected(x, expected, FALSE, arg, call)
    }
    if (length(x) > .Machine$integer.max) {
      abort_argument(
        "{.arg {arg}} must have 2^31 - 1 rows at most, not
         {digits(length(x))}.",
        call = call
      )
    }
    x <- matrix(x, dimnames = list(names(x), NULL))
  }
  if (is.matrix(x) && !is.double(x)) {
    storage.mode(x) <- "double"
  }
  if (nrow(x) == 0L && arg == "x") {
    abort_argument("{.arg {arg}} has no rows.", call = call, class = "empty")
  }
  x
}

# wild: columns with values that are not finite.
matrix_left_out <- function(x, response, columns, wild, action, call) {
  if (length(wild) == 0L && !anyNA(response$y)) {
    return(NULL)
  }
  incomplete <- is.na(response$y) & action != "impute"
  where <- if (any(incomplete)) paste("element", which(incomplete)[[1L]],
                                      "of `y`")
  for (j in wild) {
    v <- column_of(x, j)
    if (anyNA(v)) {
      # NaN does not count as missing: it is an error
      gone <- is.na(v) & !is.nan(v)
      if (any(gone) && is.null(where)) {
        where <- paste0(
          "row ", which(gone)[[1L]], ", column ", quoted(columns[[j]]),
          " of `x`"
        )
      }
      incomplete <- incomplete | gone
    }
  }
  if (!any(incomplete)) {
    return(NULL)
  }
  rows_left_out(incomplete, action, where, rownames(x), call)
}
