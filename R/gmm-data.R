# The observations of a mixture from a formula, and new ones by the same
# formula.

# list(x, terms): a data frame of the variables of a one-sided formula, and the
# terms by which new data are made. user_call: match.call(), made in `env`.
formula_observations <- function(formula, data, user_call, env, call) {
  check_model_data(data, call)
  formula <- variables_formula(formula, data, call)
  user_call$formula <- formula
  # missing values are the model's own affair
  frame <- formula_frame(formula, data, user_call, identity, env, call)$frame
  list(x = flat_frame(frame), terms = attr(frame, "terms"))
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
  if (!is.null(model$terms)) {
    return(observations_by_terms(model, data, arg, call))
  }
  names <- colnames(data)
  if (all(model$variables %in% names)) {
    return(data[, model$variables, drop = FALSE])
  }
  if (!is.null(names)) {
    abort_lacking(setdiff(model$variables, names), arg, call)
  }
  data
}

observations_by_terms <- function(model, data, arg, call) {
  plain <- identical(model$variables, all.vars(model$terms))
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
  check_new_variables(data, model$terms, call, arg)
  frame <- tryCatch(
    stats::model.frame(model$terms, data, na.action = stats::na.pass),
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

abort_lacking <- function(lacking, arg, call) {
  abort_argument(
    "{.arg {arg}} lacks the variable{cli::qty(lacking)}{?s} {.val {lacking}} of
     the fit.",
    call = call
  )
}
