# Functions that a user gives to a sampler: how they are checked, and how an
# error in one is reported.

# ---- Arguments of a user's function -----------------------------------------

# Checks `...`: arguments by name that f has. `what`: its first argument in
# words; `of`: the function that passes them on, if it has arguments of its own
# after them.
check_extra <- function(extra, f, arg, what, call, of = NULL) {
  if (length(extra) == 0L) {
    return(list())
  }
  given <- names(extra) %||% rep("", length(extra))
  if (any(!nzchar(given))) {
    abort_argument(
      "Further arguments of {.arg {arg}} must be named.", call = call
    )
  }
  check_once(given, call)
  known <- names(argument_list(f))
  unknown <- setdiff(given, known)
  if (!"..." %in% known && length(unknown) > 0L) {
    abort_argument(
      c(if (is.null(of)) {
          "There is no argument {.arg {unknown[1]}} of `{arg}`."
        } else {
          "There is no argument {.arg {unknown[1]}}, neither of {.fn {of}} nor
           of {.arg {arg}}."
        },
        i = if (!is.null(of)) {
          foreign_hint(unknown[[1L]], setdiff(names(formals(of)), "..."))
        },
        i = if (is_native_density(f)) {
          "Data of compiled code are given to {.fn native_density}."
        }),
      call = call
    )
  }
  check_not_first(given, f, arg, what, call)
  extra
}

# Formal arguments, of primitives too (none for language primitives such as
# `if`).
argument_list <- function(f) {
  shown <- if (is.function(f)) args(f)
  if (!is.null(shown)) formals(shown)
}

# An error for an argument that occurs twice in `...`.
check_once <- function(given, call) {
  if (anyDuplicated(given) > 0L) {
    twice <- given[duplicated(given)][[1L]]
    abort_argument(
      "{.arg {twice}} is given twice in {.arg ...}.", call = call
    )
  }
}

# R would match an argument of the first one's name to it, and the point or the
# state to the next.
check_not_first <- function(given, f, arg, what, call) {
  first <- names(argument_list(f))[1L]
  if (!is.null(first) && first != "..." && first %in% given) {
    abort_argument(
      "{.arg {first}} cannot be given: {.arg {arg}} takes {what} by this name.",
      call = call
    )
  }
}

# A function that can be called with `n` arguments by position.
check_user_function <- function(f, n, arg = rlang::caller_arg(f),
                                call = rlang::caller_env()) {
  force(arg)
  what <- paste(
    "a function of", c("one argument", "two arguments")[[n]]
  )
  if (!is.function(f) || is_native_density(f)) {
    abort_expected(f, what, FALSE, arg, call)
  }
  # no primitive of R draws random numbers or is a density
  if (is.primitive(f)) {
    abort_argument(
      c("{.arg {arg}} must be {what} of yours, not one of R's primitives.",
        i = "Write it as {.code function(...)}."),
      call = call
    )
  }
  known <- argument_list(f)
  if (is.null(args(f)) || "..." %in% names(known)) {
    return(f)
  }
  needed <- sum(vapply(known, rlang::is_missing, NA))
  if (length(known) < n || needed > n) {
    count <- if (length(known) < n) length(known) else needed
    abort_argument(
      "{.arg {arg}} must be {what}, not of {count}.", call = call
    )
  }
  f
}

# Those further arguments that the function has.
taken_by <- function(f, arguments) {
  known <- names(formals(f))
  if ("..." %in% known) arguments else arguments[names(arguments) %in% known]
}

# ---- Calls ------------------------------------------------------------------

# A function with `arguments` places for vectors, which C fills: the call is
# name(NULL, ...), so that errors in it carry a name and not the function.
# `role` is its name in messages.
caller <- function(f, name, arguments = 1L, extra = list(), role = name) {
  env <- new.env(hash = FALSE, parent = baseenv()) # the quicker, for so few
  assign(name, f, envir = env)
  symbols <- lapply(seq_along(extra), function(i) {
    symbol <- paste0(".extra_", i)
    assign(symbol, extra[[i]], envir = env)
    as.name(symbol)
  })
  names(symbols) <- names(extra)
  list(
    call = as.call(c(as.name(name), rep(list(NULL), arguments), symbols)),
    env = env, role = role
  )
}

# Evaluates code(place), a .Call that calls functions of the user. `place` is an
# environment to which C writes the current sweep and point. An R error in such
# a function, or an invalid value from it, becomes an error that names sweep and
# point.
calling_user_code <- function(model, code, call = NULL) {
  place <- new.env(parent = emptyenv())
  tryCatch(code(place), error = function(cnd) {
    abort_user_code(model, place, cnd, call)
  })
}

abort_user_code <- function(model, place, cnd, call) {
  role <- place$role
  fault <- place$fault
  if (is.null(role) && is.null(fault)) {
    rlang::cnd_signal(cnd)
  }
  sweep <- place$state$sweep
  at_start <- is.null(sweep) || sweep == 0 && !is.null(call)
  when <- if (at_start) {
    "at the start"
  } else {
    paste("in sweep", format(sweep + 1, scientific = FALSE))
  }
  point <- if (is.null(place$point)) place$call[[2L]] else place$point
  at <- state_point_words(unname(point), names(point))
  words <- fault_words(fault, role, place$value, length(point), cnd)
  box <- if (identical(fault, "nan")) {
    domain_hint(model, point, at_start)
  }
  abort_numeric(
    c(paste0(words[[1L]], " ", when, "."), x = "At {at}.",
      i = if (length(words) > 1L) words[[2L]], i = box,
      i = if (is.null(fault)) missing_hint(cnd, role),
      i = if (is.null(fault) && at_start && identical(role, "log_density")) {
        name_hint(model$data$log_density, point)
      }),
    call = call, class = "user_function", point = point,
    sweep = if (is.null(sweep)) 0 else sweep + 1,
    parent = if (is.null(fault)) cnd
  )
}

# For mh_sample(): NaN often is the logarithm of a parameter that must be
# positive. A template, or NULL.
domain_hint <- function(model, point, at_start) {
  spec <- model$spec
  if (!"reject_nan" %in% names(spec)) {
    return(NULL)
  }
  open <- point < 0
  if (!is.null(spec$lower)) open <- open & spec$lower < 0
  unknown <- if (at_start) name_hint(model$data$log_density, point)
  if (!is.null(unknown)) {
    return(unknown)
  }
  # a name may be taken by a function that log_density calls
  if (!any(open) && at_start && is.null(names(point))) {
    return(no_names_hint)
  }
  if (!any(open)) {
    return("{.arg lower} and {.arg upper} keep parameters where it is defined.")
  }
  name <- names(point)[open][[1L]] %||% ""
  bound <- if (nzchar(name)) paste0("c(", name, " = 0)") else "0"
  paste0(
    "If a parameter must be positive, as for a logarithm or a standard ",
    "deviation, bound it: {.code lower = ", bound, "}; see also {.arg upper}."
  )
}

# For a value that f takes by a name that the point does not have. A template,
# or NULL.
name_hint <- function(f, point) {
  taken <- if (is.function(f)) taken_names(f)
  lost <- setdiff(taken, names(point))
  if (length(lost) == 0L) {
    return(NULL)
  }
  if (is.null(names(point))) {
    return(no_names_hint)
  }
  paste0("{.arg init} has no ", quoted(lost[[1L]]), ", which `log_density` ",
         "takes by name; it has ", and_words(quoted(names(point))), ".")
}

no_names_hint <- "{.arg init} has no names: a value that `log_density` takes by
                  name, such as {.code p[\"mean\"]}, is NA."

# The names by which a function takes elements of its first argument.
taken_names <- function(f) {
  if (length(formals(f)) == 0L) {
    return(character())
  }
  argument <- as.name(names(formals(f))[[1L]])
  found <- character()
  search <- function(expression) {
    if (!is.call(expression)) {
      return(invisible())
    }
    parts <- as.list(expression)
    takes <- is.name(parts[[1L]]) && length(parts) == 3L &&
      as.character(parts[[1L]]) %in% c("[", "[[") &&
      identical(parts[[2L]], argument)
    if (takes && is.character(parts[[3L]])) found <<- c(found, parts[[3L]])
    for (part in parts) if (!missing(part)) search(part)
  }
  search(body(f))
  unique(found)
}

# For a function with more arguments than the point. A template, or NULL.
missing_hint <- function(cnd, role) {
  said <- conditionMessage(cnd)
  if (role == "log_density" && grepl("is missing, with no default", said)) {
    "`log_density` gets all parameters as one vector. Its further arguments are
     given to {.fn mh_sample} by name."
  }
}

# A description of the error, and a hint; both are templates.
fault_words <- function(fault, role, value, d, cnd) {
  if (is.null(fault)) {
    said <- gsub("([{}])", "\\1\\1", conditionMessage(cnd))
    return(paste0("`", role, "` failed (", said, ")"))
  }
  given <- gsub("([{}])", "\\1\\1", describe(value))
  count <- length(value)
  if (fault == "vector" && is.numeric(value)) {
    given <- cli::pluralize("{count} number{?s}")
  }
  switch(fault,
    nan = c(
      "`log_density` is NaN",
      "It must be -Inf where the density is zero; {.code on_nan = \"reject\"}
       takes NaN for that."
    ),
    infinite = c(
      "`log_density` is +Inf",
      "A chain would never leave a point with infinite density."
    ),
    number = paste0("`", role, "` must return one number, not ", given, ","),
    vector = paste0(
      "`", role, "` must return ", d, " number", if (d != 1) "s", ", not ",
      given, ","
    ),
    gradient = "`gradient` is not finite",
    attribute = paste0(
      "the attribute \"gradient\" of `log_density` must be ", d, " number",
      if (d != 1) "s", ", not ", given, ","
    ),
    draw = "`draw` of custom_proposal() is not finite",
    ratio = c(
      "`log_density` of the proposal is NaN or infinite for a draw of its own",
      "It must be the density of what `draw` draws: {.code log q(y | x)}, `y`
       first."
    ),
    generator = c(
      "A function given to the sampler has changed the kind of random number
       generator",
      "It must put the kind back with {.fn on.exit}."
    )
  )
}

is_native_density <- function(x) inherits(x, "gibbsite_native_density")

# What compiled code is known by: where it is found, not its address.
native_place_of <- function(density) {
  native <- attr(density, "native")
  native[c("package", "symbol", "data", if (is.character(native$gradient)) {
    "gradient"
  })]
}
