# Names of arguments in calls of functions that pass `...` on.

# R takes a short name for an argument before `...`: `p`, data of the user's
# function, for `proposal`. A function that passes `...` on begins with
#
#   if (has_short_names()) return(with_whole_names())
#
# which calls it again so that only whole names are taken for its arguments.
has_short_names <- function() {
  f <- sys.function(-1L)
  typed <- sys.call(-1L)
  !is.null(whole_names(f, typed, parent.frame(2L)))
}

with_whole_names <- function() {
  f <- sys.function(-1L)
  typed <- sys.call(-1L)
  env <- parent.frame(2L)
  again <- whole_names(f, typed, env)
  # the name of a method, which the caller may not find
  known <- if (is.name(typed[[1L]])) {
    stats::setNames(list(f), as.character(typed[[1L]]))
  }
  eval(again, known, env)
}

# The arguments of a call that was typed in env, with those of its `...`.
given_arguments <- function(typed, env) {
  as.list(match.call(
    function(...) NULL, typed, expand.dots = FALSE, envir = env
  )$...)
}

# A call of f, `typed` in `env`, in which each argument before `...` has its
# whole name, or NULL if R takes no other name for one. An argument that is not
# given is empty in it.
whole_names <- function(f, typed, env) {
  known <- names(formals(f))
  before <- known[seq_len(match("...", known) - 1L)]
  given <- given_arguments(typed, env)
  names <- rlang::names2(given)
  others <- setdiff(names, c("", known))
  free <- setdiff(before, names)
  if (!any(outer(free, others, startsWith))) {
    return(NULL)
  }
  at <- utils::head(which(!nzchar(names)), length(free))
  names[at] <- free[seq_along(at)]
  empty <- setdiff(before, names)
  as.call(c(
    typed[[1L]], stats::setNames(given, names),
    stats::setNames(rep(list(quote(expr = )), length(empty)), empty)
  ))
}

# The names in the call of the function that runs in `frame` that are those of
# no argument of it. For methods of other packages' generics there are none:
# there an argument may be abbreviated where R allows it.
completed_names <- function(frame) {
  i <- frame_number(frame)
  generic <- frame[[".Generic"]]
  if (is.na(i) || !is.null(generic) && !is_own_function(generic)) {
    return(character())
  }
  given <- given_arguments(sys.call(i), sys.frame(sys.parents()[[i]]))
  setdiff(rlang::names2(given), c("", names(formals(sys.function(i)))))
}

is_own_function <- function(name) {
  f <- get0(name, mode = "function")
  is.function(f) && identical(topenv(environment(f)), topenv())
}

# The number of a frame, NA if no function runs in it.
frame_number <- function(frame) {
  for (i in rev(seq_len(sys.nframe()))) {
    if (identical(sys.frame(i), frame)) {
      return(i)
    }
  }
  NA_integer_
}

# The arguments of the function that runs in a frame, with their defaults.
frame_formals <- function(frame) {
  i <- frame_number(frame)
  if (!is.na(i)) formals(sys.function(i))
}

# What a generic of models dispatches on: the formula of a call that names it
# (`formula =`), in any position, otherwise the first argument.
# what: the words for `x`;  arg: its name in the generic.
formula_or_first <- function(x, ...,
                             what = paste("a formula, or a numeric matrix of",
                                          "predictors"),
                             arg = "x", call = rlang::caller_env()) {
  at <- match("formula", names(substitute(list(...)))[-1L])
  if (!is.na(at)) {
    formula <- ...elt(at)
    if (!inherits(formula, "formula")) {
      abort_expected(formula, "a formula", FALSE, "formula", call)
    }
    return(formula)
  }
  if (missing(x)) {
    abort_needed(arg, what, call)
  }
  x
}

# The call of the model `name`, made in `env`. In the place of a formula `..1`,
# as lapply() gives it, means nothing elsewhere. Expressions in the columns of
# the data are taken as they were written.
call_of_model <- function(call, name, formula = NULL, env = parent.frame(2L)) {
  call[[1L]] <- as.name(name)
  if (is_dots_element(call$formula)) {
    call$formula <- formula
  }
  for (arg in c("weights", "offset", "subset", "se")) {
    given <- call[[arg]]
    if (is_dots_element(given)) {
      call[arg] <- list(typed_in_dots(given, env))
    }
  }
  call
}

# The expression that `..2` stands for in env. `...` may be that of a function
# around the one that runs there.
typed_in_dots <- function(element, env) {
  while (!exists("...", env, inherits = FALSE)) env <- parent.env(env)
  typed <- eval(quote(substitute(list(...))), env)
  typed[[as.integer(sub("[.][.]", "", element)) + 1L]]
}

is_dots_element <- function(x) is.name(x) && grepl("^[.][.][0-9]+$", x)
