# What a fit saves with its functions, formulas and call: of the environments in
# which they were made only the objects that they use.

# x: a model, or a list of models, functions, formulas and calls. Functions that
# share an environment share the new one. If it cannot be known what one of them
# uses, x is returned as it is. columns: names of variables that the data have,
# so that formulas do not need others of these names; further: a list of objects
# for formulas; bare: leave vectors and data frames out of those for formulas.
with_own_objects <- function(x, columns = NULL, further = list(),
                             bare = FALSE) {
  in_own_environments(x, list(
    columns = columns, further = further, bare = bare, formulas = TRUE
  ))
}

# x with what its functions use of the workspace. A run calls the functions of
# the user as they are, because they may tell each other something there; what
# outlives the run has its own values. Formulas stay as they are.
with_workspace <- function(x) {
  in_own_environments(x, list(workspace = kept_workspace(), formulas = FALSE))
}

in_own_environments <- function(x, settings) {
  callCC(function(leave) {
    memo <- list2env(settings, new.env(parent = emptyenv()))
    memo$places <- list()
    memo$give_up <- function() leave(x)
    own_objects(x, memo)
  })
}

own_objects <- function(x, memo) {
  if (is.function(x)) {
    return(own_function(x, memo))
  }
  env <- attr(x, ".Environment")
  if (is.environment(env)) {
    if (memo$formulas) {
      attr(x, ".Environment") <- own_formula_environment(x, env, memo)
    }
  } else if (is.call(x)) {
    # function(x) x in a call, with its source text
    if (identical(x[[1L]], quote(`function`))) {
      return(x[-4L])
    }
    # values stand in a call that do.call() makes
    values <- which(!vapply(as.list(x), is.name, NA))
    for (i in values) x[i] <- list(own_objects(x[[i]], memo))
  } else if (is.list(x) && !isS4(x)) {
    if (!is.null(attr(x, "terms"))) {
      attr(x, "terms") <- own_objects(attr(x, "terms"), memo)
    }
    if (!is.data.frame(x)) {
      parts <- lapply(unclass(x), own_objects, memo)
      attributes(parts) <- attributes(x)
      x <- parts
    }
  }
  x
}

own_function <- function(f, memo) {
  env <- environment(f)
  if (is.null(env) || isNamespace(env) || is_native_density(f)) {
    return(f)
  }
  keeps <- !is.null(memo$workspace) && identical(workspace_of(env), globalenv())
  if (keeps || !is_top_environment(env)) {
    if (isS4(f) || isdebugged(f) || reaches_further(f)) memo$give_up()
    if (keeps) keep_workspace(f, env, memo)
    if (!is_top_environment(env)) {
      around <- if (keeps) memo$workspace
      environment(f) <- own_environment(env, names_in_code(f), memo, around)
    } else if (length(memo$workspace) > 0L) {
      environment(f) <- memo$workspace
    }
  }
  if (is.null(attr(f, "srcref"))) {
    return(f)
  }
  plain <- utils::removeSource(f)
  attributes(plain) <- attributes(f)[setdiff(names(attributes(f)), "srcref")]
  plain
}

# Adds what the function reads in the global environment. An object that cannot
# be kept is looked up there.
keep_workspace <- function(f, env, memo) {
  own <- memo$workspace
  read <- free_names(f)$read
  for (name in setdiff(names_in_code(f), ls(own, all.names = TRUE))) {
    inner <- !is.null(holder_of(name, env))
    value <- if (!inner) workspace_value(name, name %in% read)
    if (!is.null(value)) keep_object(name, value[[1L]], own, memo)
  }
}

# Adds an object to the environment `own`. Its name is there before the object
# is made, because a function may use itself.
keep_object <- function(name, value, own, memo) {
  assign(name, NULL, own)
  assign(name, own_objects(value, memo), own)
}

# Names that a function takes from outside, also as text (do.call("f")) and in
# code that it does not evaluate itself (formulas).
names_in_code <- function(f) {
  unique(c(
    unlist(free_names(f)), unlist(lapply(c(formals(f), body(f)), quoted_names))
  ))
}

quoted_names <- function(code) {
  if (is.character(code)) {
    return(code)
  }
  if (!is.call(code) && !is.pairlist(code)) {
    return(NULL)
  }
  quotes <- c("~", "quote", "bquote", "expression", "substitute")
  if (is.name(code[[1L]]) && as.character(code[[1L]]) %in% quotes) {
    return(all.names(code))
  }
  unlist(lapply(as.list(code), function(part) {
    if (!missing(part)) quoted_names(part)
  }))
}

own_formula_environment <- function(x, env, memo) {
  if (is_top_environment(env)) {
    return(env)
  }
  variables <- all.vars(x)
  functions <- setdiff(all.names(x), variables)
  if (any(functions %in% reaching_calls)) memo$give_up()
  names <- c(functions, setdiff(variables, memo$columns))
  if (memo$bare) names <- c(names, ls(env, all.names = TRUE))
  own_environment(env, names, memo, formula = TRUE)
}

# The environment with the objects of these names that `env` or one around it
# has, below that of the session or of a package.
own_environment <- function(env, names, memo, around = NULL, formula = FALSE) {
  own <- NULL
  for (place in memo$places) {
    if (identical(place$of, env) && place$formula == formula) own <- place$own
  }
  if (is.null(own)) {
    top <- env
    while (!is_top_environment(top)) top <- parent.env(top)
    own <- new.env(parent = around %||% top)
    memo$places <- c(
      memo$places, list(list(of = env, formula = formula, own = own))
    )
    if (formula) list2env(memo$further, own)
    if (formula && !memo$bare) {
      attr(own, "made_in") <- attr(env, "made_in") %||% rlang::new_weakref(env)
    }
  }
  while (length(names <- setdiff(names, ls(own, all.names = TRUE))) > 0L) {
    name <- names[[1L]]
    names <- names[-1L]
    holder <- holder_of(name, env)
    if (is.null(holder)) next
    value <- value_in(name, holder, memo)
    if (formula && memo$bare && !is_small_constant(value)) next
    keep_object(name, value, own, memo)
    # it may be the name of a function
    if (is.character(value) && length(value) <= 20L) names <- c(names, value)
  }
  own
}

# The formula in the environment in which it was made, as long as the session
# has this. A weak reference keeps no object, and nothing of it is saved.
in_its_space <- function(formula) {
  made_in <- attr(environment(formula), "made_in")
  space <- if (!is.null(made_in)) rlang::wref_key(made_in)
  if (!is.null(space)) environment(formula) <- space
  formula
}

is_small_constant <- function(x) {
  is.function(x) || is.atomic(x) && length(x) == 1L
}

value_in <- function(name, env, memo) {
  if (bindingIsActive(name, env)) memo$give_up()
  value <- tryCatch(
    list(get(name, envir = env, inherits = FALSE)),
    error = function(cnd) NULL
  )
  # an argument that was not given, or fails
  if (is.null(value) || rlang::is_missing(value[[1L]])) memo$give_up()
  value[[1L]]
}

# ---- The call ----------------------------------------------------------------

# A call as a fit stores it: without empty arguments and references to source.
stored_call <- function(call) {
  if (is.null(call)) {
    return(NULL)
  }
  utils::removeSource(call[!vapply(as.list(call), rlang::is_missing, NA)])
}

# The arguments by which functions of the package take data.
data_arguments <- c("data", "x", "y", "ratings", "sequences")

# The call without data that stand in it as values, as do.call() makes them.
call_without_data <- function(call) {
  if (is.list(call)) {
    return(lapply(call, call_without_data))
  }
  for (i in seq_along(call)[-1L]) {
    value <- call[[i]]
    if (is.language(value) || is.function(value) || is.null(value)) next
    large <- utils::object.size(value) > 1000
    if (large || rlang::names2(call)[[i]] %in% data_arguments) {
      call[[i]] <- as.name("dropped_data")
    }
  }
  call
}

# list(columns, further, call): the names of the data's variables; the objects
# with which variables of a formula that the model frame does not have can be
# read again from the call; the call, whose data have the variables that are
# used. frame: of the function that was called.
data_of_call <- function(model, call, frame) {
  data <- if (is_given("data", frame)) frame$data
  made <- model$frame
  formula <- made$terms %||% model$source$terms
  if (is.null(formula) || is.null(call)) {
    return(list(columns = names(data), further = list(), call = call))
  }
  parts <- as.list(call)[c("weights", "offset", "subset", "se")]
  used <- c(all.vars(formula), group_variable_names(made),
            unlist(lapply(parts, all.vars)))
  some <- function(x) {
    if (is.data.frame(x)) x[intersect(names(x), used)] else x
  }
  if (is.data.frame(call$data)) call$data <- some(call$data)
  again <- !all(used %in% names(made$model)) && !is.environment(data)
  env <- environment(formula)
  further <- list()
  if (again && !is.null(env)) {
    names <- unique(c(
      all.names(call$data), unlist(lapply(parts, all.names))
    ))
    for (name in setdiff(names, names(data))) {
      holder <- holder_of(name, env)
      if (!is.null(holder)) {
        further[name] <- list(some(get0(name, holder, inherits = FALSE)))
      }
    }
  }
  list(columns = names(data), further = further, call = call)
}

is_given <- function(name, frame) {
  is.environment(frame) && exists(name, envir = frame, inherits = FALSE) &&
    !eval(call("missing", as.name(name)), frame)
}
