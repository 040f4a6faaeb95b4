# Rows to predict of every regression, and the linear predictor.
#
# A model has the field `frame`, what the methods need of the data, and
# `design`, the parts of it that are kept without the data. `coefficients` are
# the names of the design's columns, where the fit stores further quantities.

model_design <- function(model) model$design %||% model$frame

# A design of ordered categories, whose thresholds stand in the place of the
# intercept.
without_intercept <- function(x) {
  x[, colnames(x) != "(Intercept)", drop = FALSE]
}

has_groups <- function(model) !is.null(model$group_name)

# The numbers of the bars of each grouping factor, by its name.
bars_by_factor <- function(model) {
  bars <- model_design(model)$bars
  if (is.null(bars)) {
    return(stats::setNames(list(1L), model$group_name))
  }
  of <- vapply(bars, function(bar) deparse1(bar$group_expr), "")
  split(seq_along(of), factor(of, unique(of)))
}

# The names of the variables that make the groups.
group_variable_names <- function(design) {
  bars <- design$bars %||% list(design)
  as.character(unique(unlist(lapply(bars, function(bar) {
    all.vars(bar$group_expr)
  }))))
}

# The group of each row of a frame. by: of check_by().
groups_by <- function(model, by) {
  frame <- model$frame
  if (is.null(frame$bars)) return(frame$group)
  frame$bars[[bars_by_factor(model)[[by]][[1L]]]]$group
}

# The columns of the coefficients; all, where nothing else is stored. A formula
# with groups may have no fixed effects.
coefficient_columns <- function(model) {
  if (has_groups(model)) {
    as.character(model$coefficients)
  } else {
    model$coefficients %||% model$columns
  }
}

# The parts of a frame that predictions for new data need, which are kept
# without the data, and `...` further ones. times: of time_kinds(); named:
# whether a matrix had names of its columns; other_rows: of
# variables_of_other_rows(); constants: of constant_variables(); offset: whether
# the fit had an argument `offset`.
kept_parts <- function(frame, ...) {
  parts <- c(
    "terms", "xlevels", "contrasts", "formula", "response", "times", "named",
    "other_rows", "constants", ...
  )
  c(
    frame[intersect(parts, names(frame))],
    list(offset = has_offset_argument(frame))
  )
}

# list(x, offset, names, data): the rows to predict.  x: n x p, dense or sparse;
# data: the data frame from which they were made, NULL for a matrix.
prediction_rows <- function(model, newdata, offset, call) {
  if (is.null(newdata)) {
    if (is.null(model$frame)) {
      abort_no_data("newdata", call)
    }
    if (!is.null(offset)) {
      abort_argument(
        "{.arg offset} goes with {.arg newdata}: the fit's own data have
         theirs.",
        call = call
      )
    }
    frame <- model$frame
    return(list(
      x = frame$x, offset = frame$offset, names = frame$row_names,
      data = frame$model
    ))
  }
  terms <- model_design(model)$terms
  if (is.null(terms)) {
    rows <- matrix_rows(model, newdata, call)
  } else {
    terms <- stats::delete.response(terms)
    rows <- formula_rows(model, newdata, terms, call)
    rows$x <- fitted_design(model_design(model), terms, rows$frame)
  }
  rows$offset <- new_offset(model, rows$offset, offset, nrow(rows$x), call)
  rows
}

matrix_rows <- function(model, newdata, call) {
  columns <- coefficient_columns(model)
  # a plain vector is one observation
  if (is.numeric(newdata) && is.null(dim(newdata)) &&
        length(newdata) == length(columns)) {
    newdata <- matrix(newdata, 1L, dimnames = list(NULL, names(newdata)))
  }
  x <- as_design(newdata, call, "newdata")
  names <- if (!is.null(colnames(x))) {
    whole_column_names(colnames(x), ncol(x), "newdata", call)
  }
  lacking <- setdiff(columns, names)
  if (length(lacking) == 0L) {
    x <- x[, match(columns, names), drop = FALSE]
  } else if (isTRUE(model_design(model)$named) && !is.null(names)) {
    abort_argument(
      c("{.arg newdata} lacks the column{cli::qty(lacking)}{?s} {.val {lacking}}
         of the fit.",
        i = "A matrix without names of columns is taken by position."),
      call = call
    )
  } else if (ncol(x) != length(columns)) {
    abort_argument(
      c(
        "{.arg newdata} must have {length(columns)} column{?s} like the fit, not
         {ncol(x)}.",
        i = "They are {.val {columns}}."
      ),
      call = call
    )
  }
  list(x = x, offset = NULL, names = rownames(x), data = NULL)
}

formula_rows <- function(model, newdata, terms, call) {
  design <- model_design(model)
  if (!is.data.frame(newdata)) {
    abort_argument(
      "{.arg newdata} must be a data frame, not {describe(newdata)}.",
      call = call
    )
  }
  check_one_column(newdata, all.vars(terms), "newdata", call)
  check_new_variables(newdata, terms, call, constants = design$constants)
  check_row_variables(
    design$other_rows, all_term_variables(terms), "newdata", call
  )
  data <- as_times_of_fit(newdata, design$times, all.vars(terms), call)
  make <- function(...) {
    tryCatch(
      suppressWarnings(
        bare_columns(
          stats::model.frame(terms, data, na.action = stats::na.pass, ...)
        )
      ),
      error = function(cnd) {
        abort_argument(
          c("The model frame of {.arg newdata} cannot be made.",
            x = "{conditionMessage(cnd)}"),
          call = call
        )
      }
    )
  }
  frame <- make()
  check_new_classes(frame, terms, design$times, call)
  check_new_levels(frame, design$xlevels, call)
  frame <- make(xlev = design$xlevels)
  frame <- as_times_of_fit(frame, design$times, names(frame), call)
  list(
    frame = frame, offset = stats::model.offset(frame),
    names = row.names(newdata), data = newdata
  )
}

# The design of terms in a frame of formula_rows(), with the contrasts of the
# fit.
fitted_design <- function(design, terms, frame) {
  own <- intersect(names(design$contrasts), all_term_variables(terms))
  x <- stats::model.matrix(
    terms, frame, contrasts.arg = if (length(own)) design$contrasts[own]
  )
  storage.mode(x) <- "double"
  x
}

# R would find a variable that is missing in `newdata` in another environment,
# if one of that name exists there. Only a function, a single value, such as a
# degree, or one of `constants` may come from there.
check_new_variables <- function(newdata, terms, call, arg = "newdata",
                                constants = NULL) {
  used <- all.vars(attr(terms, "predvars") %||% terms)
  wanted <- setdiff(used, names(newdata))
  env <- environment(terms)
  lacking <- wanted[!vapply(wanted, function(name) {
    value <- get0(name, envir = env)
    is.function(value) || is.atomic(value) &&
      (length(value) == 1L || length(value) > 0L && name %in% constants)
  }, NA)]
  if (length(lacking) > 0L) {
    abort_argument(
      "{.arg {arg}} lacks the variable{cli::qty(lacking)}{?s} {.val {lacking}}
       of the fit.",
      call = call
    )
  }
}

check_new_levels <- function(frame, xlevels, call) {
  for (name in names(xlevels)) {
    seen <- unique(as.character(frame[[name]]))
    unseen <- setdiff(seen[!is.na(seen)], xlevels[[name]])
    if (length(unseen) > 0L) {
      row <- which(as.character(frame[[name]]) == unseen[[1L]])[[1L]]
      shown <- utils::head(unseen, 3L)
      known <- utils::head(xlevels[[name]], 5L)
      abort_argument(
        c(
          "{cli::qty(shown)}Level{?s} {.val {shown}} of {.val {name}} in
           {.arg newdata} {cli::qty(shown)}{?was/were} not among the data of the
           fit.",
          x = "The first is in row {row}.",
          i = "The fit knows {.val {known}}; leave other rows out, or fit
               with data that have them."
        ),
        call = call, class = "level", variable = name, levels = unseen
      )
    }
  }
}

# Each variable must be of the fit's kind, but text may stand for a factor, a
# factor for text and an ordered factor for one without order.
check_new_classes <- function(frame, terms, times, call) {
  fitted <- attr(terms, "dataClasses")
  for (name in intersect(names(frame), names(fitted))) {
    v <- frame[[name]]
    check_not_64_bit(v, paste("Variable", quoted(name), "in `newdata`"), call)
    kinds <- c(fitted[[name]], stats::.MFclass(v))
    same <- kinds[[1L]] == kinds[[2L]] ||
      all(kinds %in% c("factor", "character")) ||
      identical(kinds, c("factor", "ordered"))
    if (!same) {
      expected <- kind_words(kinds[[1L]], times[[name]][1L])
      given <- kind_words(kinds[[2L]], class(v)[[1L]])
      abort_new_kind(name, expected, given, call)
    }
  }
}

abort_new_kind <- function(name, expected, given, call) {
  abort_argument(
    "Variable {.val {name}} in {.arg newdata} must be {expected}, as in the fit,
     not {given}.",
    call = call, class = "column", variable = name
  )
}

# kind: of stats::.MFclass(); class: the first, or NULL.
kind_words <- function(kind, class) {
  switch(kind,
    factor = "a factor", ordered = "an ordered factor", character = "text",
    other = if (is.null(class)) {
      "of a class of its own"
    } else {
      paste("of class", quoted(sub("^POSIXt$", "POSIXct", class)))
    },
    if (startsWith(kind, "nmatrix.")) {
      columns <- as.integer(sub("nmatrix.", "", kind, fixed = TRUE))
      paste("a matrix of", counted(columns, "column"))
    } else {
      kind
    }
  )
}

# Dates and times of the fit's classes, differences in its units.
as_times_of_fit <- function(data, times, names, call) {
  for (name in intersect(names(times), intersect(names, names(data)))) {
    kind <- times[[name]]
    v <- data[[name]]
    if (!inherits(v, kind[[1L]])) {
      expected <- kind_words("other", kind[[1L]])
      given <- kind_words(stats::.MFclass(v), class(v)[[1L]])
      abort_new_kind(name, expected, given, call)
    }
    if (length(kind) == 2L && attr(v, "units") != kind[[2L]]) {
      units(v) <- kind[[2L]]
      data[[name]] <- v
    }
  }
  data
}

# Offsets that the formula names come with newdata; one that was an argument of
# the fit must be given again.
new_offset <- function(model, in_formula, offset, n, call) {
  if (isTRUE(model_design(model)$offset) && is.null(offset)) {
    abort_argument(
      c("{.arg offset} is needed for {.arg newdata}: the fit used one.",
        i = "Give one number for each row, or 0."),
      call = call
    )
  }
  if (is.null(offset)) {
    return(in_formula)
  }
  offset <- check_numeric_vector(
    offset, length = c(1, n), length_why = "one for each row of `newdata`",
    arg = "offset", call = call
  )
  rep_len(unname(offset), n) + (in_formula %||% 0)
}

# The response of new data: `y`, or what the fit's formula takes from newdata.
# as_response(y, known): a list with the values `y`, checked; `known` describes
# the response of the fit.
new_response <- function(model, newdata, y, n, as_response, call) {
  design <- model_design(model)
  if (is.null(y)) {
    if (is.null(design$terms)) {
      abort_argument(
        "{.arg y} is needed: the response of {.arg newdata}.", call = call
      )
    }
    check_row_variables(
      design$other_rows, design$response$name, "newdata", call
    )
    variables <- attr(design$terms, "predvars") %||%
      attr(design$terms, "variables")
    response <- variables[[attr(design$terms, "response") + 1L]]
    y <- tryCatch(
      eval(response, newdata, environment(design$terms)),
      error = function(cnd) {
        name <- design$response$name
        lacking <- setdiff(all.vars(response), c(names(newdata), name))
        abort_argument(
          c("{.arg newdata} lacks the response {.val {name}}.",
            i = if (length(lacking) > 0L) {
              "Add the variable{cli::qty(lacking)}{?s} {.val {lacking}}, or give
               the response as {.arg y}."
            }),
          call = call
        )
      }
    )
  }
  response <- as_response(y, design$response)
  if (length(response$y) != n) {
    abort_argument(
      "The response of {.arg newdata} must have {n} observation{?s}, not
       {length(response$y)}.",
      call = call
    )
  }
  response
}

# The rows with a response, and with trials or a weight above 0. Only they count
# as observations, in nobs(), log_lik(), kfold() and the like.
rows_used <- function(frame) {
  if (is.null(frame$total)) {
    !is.na(frame$y) & (frame$weights %||% 1) > 0
  } else {
    frame$total > 0
  }
}

without_offset <- function(frame) frame$y - (frame$offset %||% 0)

row_weights <- function(frame) frame$weights %||% rep(1, length(frame$y))

# used: of rows_used().
used_weights <- function(frame, used) row_weights(frame)[used]

check_any_used <- function(used, call) {
  if (!any(used)) {
    abort_argument(
      "There are no observations with a weight above 0.",
      call = call, class = "empty"
    )
  }
}

# taken: columns of the predictors with the names of other quantities of a fit.
check_none_taken <- function(taken, call) {
  if (length(taken) > 0L) {
    abort_argument(
      c("A column of the predictors cannot be named {.val {taken[[1]]}}: the
         fit has a quantity of this name.",
        i = "Rename the variable."),
      call = call
    )
  }
}

check_frame <- function(model, call = rlang::caller_env()) {
  if (is.null(model$frame)) {
    abort_no_data(call = call)
  }
  model$frame
}

# Rows that na.exclude left out are NA in the result.
as_excluded <- function(model, x) {
  action <- model$frame$na.action
  if (is.data.frame(x)) {
    # R's method takes vectors and matrices
    return(as.data.frame(stats::napredict(action, as.matrix(x))))
  }
  stats::napredict(action, x)
}

# The frame of some of its rows.
frame_rows <- function(frame, rows) {
  for (part in intersect(c("x", "z", "model", "counts"), names(frame))) {
    frame[[part]] <- frame[[part]][rows, , drop = FALSE]
  }
  vectors <- c(
    "y", "trials", "weights", "offset", "success", "total", "group",
    "row_names"
  )
  for (part in intersect(vectors, names(frame))) {
    frame[[part]] <- frame[[part]][rows]
  }
  if (!is.null(frame$bars)) {
    frame$bars <- lapply(frame$bars, frame_rows, rows)
  }
  frame
}

# The rows of the elements `held`: of the observations, or of the groups of a
# factor that have some. by: of check_by().
fold_rows <- function(model, held, by) {
  used <- which(rows_used(model$frame))
  if (by == "observation") {
    return(used[held])
  }
  group <- groups_by(model, by)[used]
  used[group %in% sort(unique(group))[held]]
}

# A fold of cross-validation: the model of the rest, and that of `rows`, with
# the groups of each bar that the rest does not have.
fold_at_rows <- function(model, train, rows) {
  test <- train
  test$frame <- frame_rows(model$frame, rows)
  rest <- setdiff(which(rows_used(model$frame)), rows)
  test$unseen <- lapply(unname(model$frame$bars), function(bar) {
    setdiff(bar$group[rows], bar$group[rest])
  })
  list(train = train, test = test)
}

# The frame with weight 0 for some rows, which then do not inform the
# parameters.
without_rows <- function(frame, rows) {
  frame$weights <- row_weights(frame)
  frame$weights[rows] <- 0
  frame
}

# The same for the rows of `held`: train_of(rest) is the model of a frame in
# which they have weight 0.
fold_of_rows <- function(model, held, by, train_of) {
  rows <- fold_rows(model, held, by)
  fold_at_rows(model, train_of(without_rows(model$frame, rows)), rows)
}

# ---- The linear predictor ---------------------------------------------------

# o + x'b + sum z'u of each row of the data; b: of the data's columns.
eta_of_state <- function(model, state) {
  frame <- model$frame
  eta <- drop(frame$x %*% state$b) + (frame$offset %||% 0)
  first <- 0
  bars <- frame$bars %||% if (!is.null(frame$z)) list(frame)
  for (f in seq_along(bars)) {
    bar <- bars[[f]]
    z <- in_basis(bar$z, bar_designs(model)[[f]]$bar_basis)
    size <- ncol(z) * length(bar$levels)
    u <- matrix(state$u[first + seq_len(size)], ncol(z))
    eta <- eta + colSums(t(z) * u[, bar$group, drop = FALSE])
    first <- first + size
  }
  eta
}

# One vector of parameters in each row.
parameter_rows <- function(w, p) {
  if (is.matrix(w)) w else matrix(w, ncol = p)
}

# o + x w, rows of w by rows of x.
linear_predictors <- function(x, w, offset = NULL) {
  none <- numeric(nrow(x))
  w <- parameter_rows(w, ncol(x))
  .Call(
    C_logistic_draws,
    list(
      x = design_for_c(x), success = none, total = none,
      offset = if (!is.null(offset)) as.double(offset),
      precision = numeric(ncol(x)), probit = 0, constant = 0
    ),
    t(unname(w)), 2
  )
}

# A sparse matrix is made dense in blocks of rows; a dense one is one block.
row_blocks <- function(n, p, sparse = TRUE, most = 8e6) {
  size <- if (sparse) max(1, floor(most / max(1, p))) else max(1, n)
  lapply(seq(1, max(1, n), by = size), function(first) {
    seq.int(first, length.out = min(size, n - first + 1))
  })
}

check_re_formula <- function(re_formula, call) {
  if (!is.null(re_formula) && !identical(re_formula, NA)) {
    abort_expected(re_formula, "NULL or NA", FALSE, "re_formula", call)
  }
}

# ---- Centred variables -------------------------------------------------------

# Coefficients of centred variables. The default priors are those of centred
# variables: of an interaction the slope of x is that where z is at its mean,
# and the effects of a group have their prior where all its variables are at
# their means. So they do not depend on where a variable has its 0. The columns
# in C are those of centred variables, and so is a state. Draws are stored, and
# read, as coefficients of the data.

# ---- the basis ---------------------------------------------------------------

# The matrix M such that b = M c are the coefficients of the columns X of some
# terms for those, c, of X M, in which numeric variables are less their means
# over the rows that are used: those of interactions, or with `all` all of them.
# NULL without such variables, or where the centred columns are no combinations
# of those of X.
centred_basis <- function(terms, frame, contrasts, used, call, all = FALSE) {
  factors <- attr(terms, "factors")
  several <- attr(terms, "order") > if (all) 0L else 1L
  if (is.null(frame) || !any(several)) {
    return(NULL)
  }
  held <- rowSums(factors[, several, drop = FALSE] > 0) > 0
  moved <- data.frame(
    term = which(held), column = match(
      all_term_variables(terms)[held], all_term_variables(attr(frame, "terms"))
    )
  )
  moved <- moved[vapply(moved$column, function(at) {
    v <- frame[[at]]
    is.numeric(v) && is.null(dim(v)) && isTRUE(stats::sd(v[used]) > 0)
  }, NA), ]
  if (nrow(moved) == 0L) {
    return(NULL)
  }
  own <- frame[moved$column]
  mean <- vapply(own, function(v) mean(v[used]), 0, USE.NAMES = FALSE)
  frame[moved$column] <- Map(function(v, mean) {
    (as.double(v) - mean) / stats::sd(v[used])
  }, own, mean)
  # some of many rows have all columns, but for rare levels
  texts <- vapply(frame, is.character, NA)
  frame[texts] <- lapply(frame[texts], factor)
  rows <- which(used)
  some <- rows[unique(round(seq(1, length(rows), length.out = 1e4)))]
  found <- shift_of_columns(terms, frame, moved$column, contrasts, some, call)
  if (is.null(found) && length(rows) > length(some)) {
    found <- shift_of_columns(terms, frame, moved$column, contrasts, rows, call)
  }
  if (is.null(found)) {
    return(NULL)
  }
  m <- found$m
  # a shift by 1 becomes one by the mean, in each variable that a column has and
  # the other has not
  holds <- cbind(FALSE, factors[moved$term, , drop = FALSE] > 0)
  holds <- holds[, found$assign + 1L, drop = FALSE]
  for (v in seq_along(mean)) {
    m <- m * mean[[v]]^outer(!holds[v, ], holds[v, ])
  }
  if (all(m == diag(ncol(m)))) NULL else m
}

# describe_design() of the fixed effects of a frame, and `near`, of
# nearly_one(). Where they have a basis it is of the columns in this, with
# `basis`, and `raw`, that of the columns of the data. total: as for
# measure_columns(), whose value `found` may be.
fixed_design <- function(frame, columns, total, call, found = NULL) {
  raw <- describe_design(
    frame$x, columns, found %||% measure_columns(frame$x, total), call
  )
  raw$near <- nearly_one(frame$x, columns, raw)
  basis <- if (is.matrix(frame$x)) {
    terms <- frame$fixed_terms %||% frame$terms
    centred_basis(terms, frame$model, frame$contrasts, total > 0, call)
  }
  if (is.null(basis)) {
    return(raw)
  }
  # thresholds stand in the place of the intercept
  if (ncol(basis) > length(columns)) basis <- basis[-1L, -1L]
  dimnames(basis) <- list(columns, columns)
  x <- in_basis(frame$x, basis)
  own <- measure_columns(x, total)
  out <- raw
  out[c("mean", "sd")] <- own[c("mean", "sd")]
  out$near <- nearly_one(x, columns, out)
  c(out, list(basis = basis, raw = raw))
}

# list(m, assign): X(v) = X(v + 1) m, where v are the variables `at` of a frame,
# as far as the columns of X(v) are combinations of those of X(v + 1); NULL if
# the latter are not independent in these rows. assign: of model.matrix().
shift_of_columns <- function(terms, frame, at, contrasts, rows, call) {
  all <- attr(frame, "terms")
  frame <- frame[rows, , drop = FALSE]
  attr(frame, "terms") <- all
  centred <- frame_design(terms, frame, contrasts, call)
  frame[at] <- lapply(frame[at], `+`, 1)
  shifted <- frame_design(terms, frame, contrasts, call)
  m <- qr.coef(qr(shifted), centred)
  if (anyNA(m)) {
    return(NULL)
  }
  away <- apply(abs(centred - shifted %*% m), 2L, max)
  lost <- away > 1e-8 * apply(abs(centred), 2L, max)
  m[, lost] <- diag(ncol(m))[, lost]
  whole <- abs(m - round(m)) < 1e-9
  m[whole] <- round(m[whole])
  list(m = m, assign = attr(shifted, "assign"))
}

# The columns X M; b of c and c of b in the rows of a matrix; M S M' of a
# covariance matrix S of c. basis: M, or NULL for none. The sums do not use
# BLAS, whose bits can depend on its threads.
in_basis <- function(x, basis) {
  if (is.null(basis)) {
    return(x)
  }
  out <- x
  for (j in seq_len(ncol(basis))) {
    parts <- which(basis[, j] != 0)
    out[, j] <- Reduce(`+`, lapply(parts, function(k) x[, k] * basis[[k, j]]))
  }
  out
}

of_basis <- function(c, basis) {
  if (is.null(basis)) c else in_basis(c, t(basis))
}

to_basis <- function(b, basis) {
  if (is.null(basis)) b else of_basis(b, solve(basis))
}

covariance_of_basis <- function(s, basis) {
  of_basis(t(of_basis(s, basis)), basis)
}

# A list of hlm_design() for each bar of a model.
bar_designs <- function(model) {
  if (is.null(model$group_name)) {
    list()
  } else if (is.list(model$levels)) {
    model$layout
  } else {
    list(model$layout)
  }
}
