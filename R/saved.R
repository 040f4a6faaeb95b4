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

# ---- The objects that functions use ------------------------------------------

# The objects that functions of the user take from outside: they are found, to
# be kept with a fit and to be sent to other processes, and hashed.

# The hash of functions (one, or a list with lists in it) by their code and the
# values that they take from outside; see also hash_code(). Of a function that a
# fit has kept it is the same.
hash_functions <- function(x, parts = list(
                             x, lapply(functions_in(x), closure_values)
                           )) {
  workspace <- if (!is_hashing_as_before()) workspace_values(x)
  hash_code(c(parts, if (length(workspace) > 0L) list(workspace)))
}

# Values that a function finds in environments between its own frame and the
# global environment, except those that it changes itself: those of every name
# in its code but its arguments, some of which it may not read.
closure_values <- function(f) {
  env <- environment(f)
  if (is.null(env) || is_native_density(f)) {
    return(list())
  }
  before <- is_hashing_as_before()
  used <- if (before) unlist(free_names(f)) else names_written(f)
  values <- list()
  while (!is_top_environment(env)) {
    for (name in intersect(used, setdiff(ls(env), names(values)))) {
      # NULL for an argument that was not given
      values[name] <- list(tryCatch(
        get(name, envir = env, inherits = FALSE), error = function(cnd) NULL
      ))
    }
    env <- parent.env(env)
  }
  values <- values[setdiff(names(values), assigned_in(body(f)))]
  opaque <- vapply(values, function(value) {
    is.environment(value) || typeof(value) == "externalptr"
  }, NA)
  values <- lapply(values[!opaque], without_index)
  sorted <- order(
    as.character(names(values)), method = if (before) "shell" else "radix"
  )
  values[sorted]
}

# Without what a data.table adds to itself when it is searched.
without_index <- function(x) {
  if (inherits(x, "data.table")) attr(x, "index") <- NULL
  x
}

names_written <- function(f) {
  setdiff(c(symbols_in(formals(f)), symbols_in(body(f))), names(formals(f)))
}

symbols_in <- function(code) {
  if (is.name(code)) {
    return(as.character(code))
  }
  if (is.call(code) || is.pairlist(code)) {
    unique(unlist(lapply(as.list(code), function(part) {
      if (!missing(part)) symbols_in(part)
    })))
  }
}

# Names to the left of an arrow in an expression.
assigned_in <- function(code, arrows = "<<-") {
  if (!is.call(code)) {
    return(character())
  }
  arrow <- is.name(code[[1L]]) && as.character(code[[1L]]) %in% arrows
  own <- if (arrow) all.vars(code[[2L]])
  c(own, unlist(lapply(as.list(code), function(part) {
    if (!missing(part)) assigned_in(part, arrows)
  })))
}

# list(globals, packages): the objects of the global environment and the
# attached packages that the functions in `x` (a list, or lists in it) use. A
# function's own environment is sent with it to another process, but these are
# not.
needs_of <- function(x) {
  globals <- list()
  packages <- character()
  each_outer_name(x, function(name, read, space) {
    if (is_kept_workspace(space) && exists(name, space, inherits = FALSE)) {
      return(space[[name]])
    }
    place <- place_on_search_path(name)
    if (startsWith(place, "package:")) {
      packages <<- c(packages, sub("^package:", "", place))
    }
    if (identical(place, ".GlobalEnv")) {
      globals[name] <<- list(get(name, globalenv(), inherits = FALSE))
      globals[[name]]
    }
  })
  list(
    globals = globals,
    packages = setdiff(unique(packages), always_attached)
  )
}

# The values that the functions in `x` read in the workspace, by name. Functions
# among them come with the values of their own environments. There are none if a
# function may change them.
workspace_values <- function(x) {
  values <- list()
  callCC(function(leave) {
    each_outer_name(x, function(name, read, space) {
      value <- workspace_value(name, read, space)
      f <- value[[1L]]
      if (!is.null(value)) {
        own <- if (is.function(f)) list(f, closure_values(f))
        values[name] <<- list(own %||% without_index(f))
      }
      f
    }, give_up = function() leave(values <<- list()))
  })
  values[order(as.character(names(values)), method = "radix")]
}

# list(value), or NULL if the workspace has no value of this name that a fit
# keeps. read: whether other values than functions count.
workspace_value <- function(name, read, space = globalenv()) {
  if (!nzchar(name) || !exists(name, space, inherits = FALSE) ||
        bindingIsActive(as.name(name), space)) {
    return(NULL)
  }
  value <- get(name, space, inherits = FALSE)
  if (is.function(value) || read && is_plain_value(value)) list(value)
}

# Neither an environment nor a pointer to memory, which have another value in
# another session, nor a list that holds one.
is_plain_value <- function(x) {
  if (is.list(x) && !is.data.frame(x)) {
    return(all(vapply(unclass(x), is_plain_value, NA)))
  }
  is.null(x) || is.atomic(x) || is.language(x) || is.list(x) ||
    is.function(x) || isS4(x) && typeof(x) == "S4" &&
      all(vapply(methods::slotNames(x), function(name) {
        is_plain_value(methods::slot(x, name))
      }, NA))
}

# Calls outside(name, read, space) for each name that the functions in `x`, and
# the functions that these use, do not find in their own environments. `space`
# is the workspace that they see; the value of `outside` is searched for further
# functions. give_up: called for a function that reaches_further().
each_outer_name <- function(x, outside, give_up = NULL) {
  queue <- functions_in(x)
  seen <- list()
  while (length(queue) > 0L) {
    f <- queue[[1L]]
    queue <- queue[-1L]
    env <- environment(f)
    if (is_native_density(f) || isNamespace(env) ||
          any(vapply(seen, identical, NA, f))) {
      next
    }
    if (!is.null(give_up) && reaches_further(f)) give_up()
    seen <- c(seen, list(f))
    names <- free_names(f)
    space <- workspace_of(env)
    for (name in unique(unlist(names))) {
      holder <- holder_of(name, env)
      value <- if (!is.null(holder)) {
        tryCatch(get(name, holder, inherits = FALSE), error = function(cnd) {})
      } else if (!is.null(space)) {
        outside(name, name %in% names$read, space)
      }
      queue <- c(queue, functions_in(value))
    }
  }
}

# Functions by which code reaches objects that it does not name, or changes
# them. `...` of an outer function is such an object too.
reaching_calls <- c(
  "<<-", "get", "get0", "mget", "exists", "eval", "evalq", "assign",
  "delayedAssign", "environment", "environment<-", "as.environment",
  "parent.env", "parent.frame", "sys.function", "sys.frame", "source", "attach",
  "eval_tidy", "env_get", "caller_env", "current_env"
)

reaches_further <- function(f) {
  known <- formals(f)
  names <- c(all.names(body(f)), unlist(lapply(known, all.names)))
  outer <- !"..." %in% names(known) & grepl("^[.][.]([.]|[0-9]+)$", names)
  any(outer | names %in% reaching_calls)
}

# The global environment, or what a fit has kept of it; NULL for a function of
# another place.
workspace_of <- function(env) {
  while (!is_top_environment(env)) env <- parent.env(env)
  if (identical(env, globalenv()) || is_kept_workspace(env)) env
}

# The values of a workspace that a fit keeps. It is the parent of the
# environments of functions, in the place of the global environment, whose other
# objects it leaves in sight.
kept_workspace <- function() {
  structure(new.env(parent = globalenv()), name = "workspace of a fit")
}

is_kept_workspace <- function(env) {
  identical(attr(env, "name"), "workspace of a fit")
}

holder_of <- function(name, env) {
  while (nzchar(name) && !is_top_environment(env)) {
    if (exists(name, envir = env, inherits = FALSE)) {
      return(env)
    }
    env <- parent.env(env)
  }
  NULL
}

is_top_environment <- function(env) {
  identical(env, globalenv()) || identical(env, emptyenv()) ||
    identical(env, baseenv()) || isNamespace(env) ||
    !is.null(attr(env, "name"))
}

# list(read, called): the names of values and of functions that a function takes
# from outside, also those that it takes there before it assigns a value of its
# own. Code that is only quoted is left out.
free_names <- function(f) {
  read <- character()
  called <- character()
  # the names with a value, somewhere in the functions around
  around <- character()
  call_of <- function(name, own) called <<- c(called, setdiff(name, own))
  # `own`: the names that have a value of the function; returns those after
  # the code
  visit <- function(code, own) {
    if (is.name(code)) read <<- c(read, setdiff(as.character(code), own))
    if (!is.call(code)) {
      return(own)
    }
    parts <- as.list(code)
    head <- if (is.name(code[[1L]])) as.character(code[[1L]]) else ""
    switch(head,
      "<-" = , "=" = return(visit_assignment(code[[2L]], code[[3L]], own)),
      "function" = return(visit_function(code[[2L]], code[[3L]], own, around)),
      "if" = {
        own <- visit(code[[2L]], own)
        ends <- lapply(parts[-(1:2)], visit, own)
        return(intersect(ends[[1L]], c(ends, list(own))[[2L]]))
      },
      "for" = {
        own <- union(visit(code[[3L]], own), as.character(code[[2L]]))
        visit(code[[4L]], own)
        return(own)
      },
      "::" = , ":::" = , "~" = , quote = , bquote = , expression = ,
      substitute = return(own),
      "$" = , "@" = parts <- parts[1:2]
    )
    if (nzchar(head)) {
      call_of(head, own)
      parts <- parts[-1L]
    }
    after <- visit_all(parts, own)
    # the arguments of other functions may not be evaluated, or elsewhere
    if (head %in% c("{", "(")) after else own
  }
  visit_all <- function(parts, own) {
    for (part in parts) if (!missing(part)) own <- visit(part, own)
    own
  }
  visit_assignment <- function(target, value, own) {
    own <- visit(value, own)
    place <- target
    while (is.call(place)) {
      call_of(paste0(as.character(place[[1L]])[[1L]], "<-"), own)
      place <- place[[2L]]
    }
    if (is.call(target)) visit(target, own)
    union(own, as.character(place))
  }
  visit_function <- function(arguments, body, own, outer) {
    around <<- c(outer, names(arguments), assigned_in(body, c("<-", "=")))
    visit_all(c(as.list(arguments), body), c(own, outer, names(arguments)))
    around <<- outer
    own
  }
  visit_function(formals(f), body(f), character(), character())
  list(read = unique(read), called = unique(called))
}

always_attached <- c(
  "base", "methods", "datasets", "utils", "grDevices", "graphics", "stats"
)

functions_in <- function(x) {
  if (is.function(x)) {
    return(if (is.primitive(x)) list() else list(x))
  }
  if (is.list(x) && !is.data.frame(x)) {
    return(unlist(lapply(unname(x), functions_in), recursive = FALSE))
  }
  list()
}

place_on_search_path <- function(name) {
  for (place in search()) {
    if (exists(name, as.environment(place), inherits = FALSE)) {
      return(place)
    }
  }
  ""
}

# ---- Identity ----------------------------------------------------------------

# Identity: whether an object, a function or a file is what it was. Fits and
# checkpoints hold hashes, and are compared by them for years: their values must
# not depend on another package, the version of R or the processor.

# The hash of an object's value. src/r_hash.c defines the bytes of an object,
# and src/core/numeric/siphash.h the hash of bytes; the name before the colon
# stands for both. Equal values have the same hash: it depends neither on how R
# stores a vector (1:3 as its ends, a sorted vector with a mark), nor on the
# bits of NA, NaN and 0, nor on the order of attributes, nor on the encoding of
# text.
hash <- function(x) {
  if (is_hashing_as_before()) rlang_hash(x) else named_hash(x, FALSE)
}

# The hash of code and of the values that come with it. For a function it
# includes its arguments and its body, but not its source reference, its byte
# code or its environment. Pointers to memory all count as the same.
hash_code <- function(x) {
  if (is_hashing_as_before()) {
    rlang_hash(rlang_code(x))
  } else {
    named_hash(with_native_places(x), TRUE)
  }
}

named_hash <- function(x, code) {
  paste0("siphash:", raw_to_hex(.Call(C_hash, x, code)))
}

with_native_places <- function(x) {
  if (is_native_density(x)) {
    return(native_place_of(x))
  }
  if (typeof(x) != "list") {
    return(x)
  }
  copy <- lapply(unclass(x), with_native_places)
  attributes(copy) <- attributes(x)
  copy
}

# 16 bytes for the bytes of a raw vector.
checksum <- function(bytes) .Call(C_checksum, bytes)

# 32 hexadecimal digits that no other call has, in this process or another one.
unique_token <- function(...) {
  raw_to_hex(.Call(C_hash, list(..., tempdir(), Sys.time()), FALSE))
}

hex_to_raw <- function(x) {
  start <- seq(1L, nchar(x), by = 2L)
  as.raw(strtoi(substring(x, start, start + 1L), 16L))
}

raw_to_hex <- function(x) paste(format(x), collapse = "")

# Hashes that rlang made, in fits saved and in checkpoints written (version 2 of
# their format) before checksum(). The value of rlang::hash() changes between
# versions of rlang, and nothing in the fit or file says which one made it. So
# such a hash can be verified where the rlang installed gives it again, and is
# then replaced. Where it does not, either rlang or the object is another one.

# They have no name before the 32 digits.
is_old_hash <- function(x) {
  is.character(x) && length(x) == 1L && grepl("^[0-9a-f]{32}$", x)
}

hashing <- new.env(parent = emptyenv())
hashing$as_before <- FALSE

is_hashing_as_before <- function() hashing$as_before

# Evaluates `code` with hash() and hash_code() as they were.
as_before <- function(code) {
  hashing$as_before <- TRUE
  on.exit(hashing$as_before <- FALSE)
  force(code)
}

rlang_hash <- function(x) rlang::hash(plain_copy(x))

# Vectors, lists and their attributes, copied; all else as it is.
plain_copy <- function(x) {
  if (typeof(x) == "list") {
    copy <- lapply(unclass(x), plain_copy)
  } else if (is.atomic(x) && !is.null(x) && !isS4(x)) {
    copy <- vector(typeof(x), length(x))
    copy[] <- x
    if (is.double(copy)) {
      copy[copy == 0] <- 0
      none <- is.na(copy)
      copy[none] <- ifelse(is.nan(copy[none]), NaN, NA_real_)
    }
  } else {
    return(x)
  }
  with <- attributes(x)
  if (length(with) > 0L) {
    sorted <- order(names(with), method = "radix")
    attributes(copy) <- lapply(with[sorted], plain_copy)
  }
  copy
}

rlang_code <- function(x) {
  if (is_native_density(x)) {
    return(native_place_of(x))
  }
  if (is.primitive(x)) {
    return(deparse(x))
  }
  if (is.function(x)) {
    x <- utils::removeSource(x)
    return(list(formals(x), body(x)))
  }
  if (is.list(x)) lapply(x, rlang_code) else x
}

# `what` cannot be verified, a template; `otherwise`: what else may be the cause
# (NULL: nothing); `way`: what to do where that version of rlang is installed.
abort_unverified <- function(what, otherwise, way, call, class = NULL,
                             envir = rlang::caller_env()) {
  installed <- utils::packageVersion("rlang")
  cause <- c("It was made by another version of rlang", otherwise)
  abort_state(
    c(
      paste0(
        what, " cannot be verified: the hash was made by rlang, for an earlier
        version of gibbsite, and rlang ", installed, ", which is installed,
        does not give it again."
      ),
      x = paste0(paste(cause, collapse = ", or "), "."),
      i = paste0("With the rlang of that time in the library, ", way, ".")
    ),
    call = call, class = c(class, "old_hash"), envir = envir,
    installed = as.character(installed)
  )
}
