# The observations of a mixture from a formula, the same ones again, and new
# ones by the same formula.
#
# The field `source` of a model says how its observations came from what the
# user gave, list(na_action, names, terms, rows, size):
#
#   names        of the columns of x, as they were given; NULL for none
#   terms        of the formula, NULL without one
#   rows, size   the rows of the data that `subset` chose, of how many; NULL
#                without `subset`

# list(x, source): a data frame of the variables of a one-sided formula, and the
# source without na_action. user_call: match.call(), made in `env`.
formula_observations <- function(formula, data, user_call, env, call) {
  check_model_data(data, call)
  formula <- variables_formula(formula, data, call)
  user_call$formula <- formula
  # missing values are the model's own affair
  made <- formula_frame(formula, data, user_call, identity, env, call)
  frame <- made$frame
  source <- list(terms = attr(frame, "terms"), other_rows = made$other_rows)
  if (!is.null(user_call$subset) && is.data.frame(data)) {
    rows <- match(row.names(frame), row.names(data))
    # a row that was chosen twice has a name of its own
    if (!anyNA(rows)) {
      source$rows <- rows
      source$size <- nrow(data)
    }
  }
  list(x = flat_frame(frame), source = source)
}

# The formula without `.` and without the variables that it takes out.
variables_formula <- function(formula, data, call) {
  if (!inherits(formula, "formula") || length(formula) != 2L) {
    abort_argument(
      c(
        "`formula` must name the variables of the mixture: {.code ~ a + b}.",
        i = "A mixture has no response; {.code ~ . - c} takes all columns of
             `data` but one."
      ),
      call = call, class = "formula"
    )
  }
  terms <- tryCatch(
    stats::terms(formula, data = if (is.data.frame(data)) data),
    error = function(cnd) {
      reason <- conditionMessage(cnd)
      abort_argument(
        c("`formula` cannot be read.", x = "{reason}"), call = call,
        class = "formula"
      )
    }
  )
  names <- attr(terms, "term.labels")
  crossed <- names[attr(terms, "order") > 1L]
  if (length(crossed) > 0L || !is.null(attr(terms, "offset"))) {
    shown <- c(crossed, "offset()")[[1L]]
    abort_argument(
      c(
        "`formula` must name variables, without interactions and offsets: not
         {.code {shown}}.",
        i = "A product of two variables is {.code I(a * b)}."
      ),
      call = call, class = "formula"
    )
  }
  if (length(names) == 0L) {
    abort_argument("`formula` has no variables.", call = call, class = "empty")
  }
  stats::reformulate(names, env = environment(formula) %||% globalenv())
}

# Columns that are matrices, such as those of scale(), in their parts.
flat_frame <- function(frame) {
  parts <- lapply(names(frame), function(name) {
    v <- frame[[name]]
    if (length(dim(v)) != 2L || is.data.frame(v)) {
      return(stats::setNames(list(v), name))
    }
    inner <- colnames(v) %||% seq_len(ncol(v))
    stats::setNames(
      lapply(seq_len(ncol(v)), function(j) as.vector(v[, j])),
      if (ncol(v) == 1L) name else paste0(name, inner)
    )
  })
  structure(
    do.call(c, parts), class = "data.frame", row.names = row.names(frame)
  )
}

# New observations as the model's own were given: with a formula its variables
# are made anew, otherwise columns are taken by name where there are names.
observations_of <- function(model, data, arg, call) {
  check_sparse(data, arg, call)
  if (is.data.frame(data)) {
    check_data_frame(data, arg, call)
  }
  if (!is.null(model$source$terms)) {
    found <- model$source$other_rows
    check_row_variables(found, found, arg, call)
    return(observations_by_terms(model, data, model$source$terms, arg, call))
  }
  names <- colnames(data)
  if (is.null(names)) {
    return(data)
  }
  if (!all(model$variables %in% names)) {
    # a fit of columns without names takes others by position
    if (is.null(model$source$names) &&
          ncol(data) == length(model$variables)) {
      return(data)
    }
    # names that are missing or equal are completed as in the fit
    names <- whole_column_names(names, ncol(data), arg, call)
  }
  lacking <- setdiff(model$variables, names)
  if (length(lacking) > 0L) {
    abort_lacking(lacking, arg, call)
  }
  data[, match(model$variables, names), drop = FALSE]
}

# The model's own observations, of data that a user gives again: as
# check_data_matrix() returns them.
observations_again <- function(model, data, call) {
  source <- model$source
  terms <- source$terms
  whole <- is.null(source$rows) || identical(nrow(data), source$size)
  if (!is.null(terms) && whole) {
    # variables such as poly(a, 2) are of these rows, as they were in the fit
    attr(terms, "predvars") <- NULL
    data <- observations_by_terms(model, data, terms, "data", call)
    if (!is.null(source$rows)) {
      data <- data[source$rows, , drop = FALSE]
    }
  } else {
    data <- observations_of(model, data, "data", call)
  }
  missing <- if (identical(source$na_action, "omit")) "omit" else "impute"
  x <- check_data_matrix(data, missing, arg = "data", call = call)
  if (ncol(x) == length(model$variables)) {
    colnames(x) <- model$variables
  }
  x
}

observations_by_terms <- function(model, data, terms, arg, call) {
  plain <- identical(model$variables, all.vars(terms))
  if (is.null(colnames(data))) {
    if (plain) {
      return(data)
    }
    given <- describe(data)
    abort_argument(
      "{.arg {arg}} must be a data frame with the variables of the fit's
       formula, not {given}.",
      call = call
    )
  }
  # a matrix, dense or sparse, of the variables
  if (!is.data.frame(data)) {
    data <- as.data.frame(as.matrix(data))
  }
  check_new_variables(data, terms, call, arg)
  frame <- tryCatch(
    stats::model.frame(terms, data, na.action = stats::na.pass),
    error = function(cnd) {
      reason <- conditionMessage(cnd)
      abort_argument(
        c("The variables of {.arg {arg}} cannot be made.", x = "{reason}"),
        call = call
      )
    }
  )
  flat_frame(frame)
}
