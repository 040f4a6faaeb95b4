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

# A call of f, `typed` in `env`, in which each argument before `...` has its
# whole name, or NULL if R takes no other name for one. An argument that is not
# given is empty in it.
whole_names <- function(f, typed, env) {
  known <- names(formals(f))
  before <- known[seq_len(match("...", known) - 1L)]
  given <- as.list(match.call(
    function(...) NULL, typed, expand.dots = FALSE, envir = env
  )$...)
  names <- names(given) %||% rep("", length(given))
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

# The call of a model with its formula: `..1`, as lapply() gives it, means
# nothing elsewhere.
call_with_formula <- function(call, formula, name) {
  call[[1L]] <- as.name(name)
  if (is.name(call$formula) && grepl("^[.][.][0-9]+$", call$formula)) {
    call$formula <- formula
  }
  call
}
