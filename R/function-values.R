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
