# Functions that a user hands to a sampler: how two are told apart, and what
# they need in another process.

# The hash of code and plain values, the same in every session.  A function
# counts by its arguments and its body: neither where it was written down, nor
# what the compiler has made of it, nor the environment around it.
hash_code <- function(x) hash(code_of(x))

code_of <- function(x) {
  if (is_native_density(x)) {
    native <- attr(x, "native")
    return(native[c("package", "symbol", "data")])
  }
  if (is.primitive(x)) {
    return(deparse(x))
  }
  if (is.function(x)) {
    x <- utils::removeSource(x)
    return(list(formals(x), body(x)))
  }
  if (is.list(x)) {
    return(lapply(x, code_of))
  }
  x
}

# What the functions in `x` (a list, or lists in it) use of the global
# environment and of attached packages: list(globals, packages).  A function
# carries its own environment to another process, but not these.
needs_of <- function(x) {
  globals <- list()
  packages <- character()
  queue <- functions_in(x)
  while (length(queue) > 0L) {
    names <- codetools::findGlobals(queue[[1L]], merge = TRUE)
    queue <- queue[-1L]
    for (name in setdiff(names, names(globals))) {
      place <- place_on_search_path(name)
      if (identical(place, ".GlobalEnv")) {
        globals[name] <- list(get(name, globalenv(), inherits = FALSE))
        queue <- c(queue, functions_in(globals[[name]]))
      } else if (startsWith(place, "package:")) {
        packages <- c(packages, sub("^package:", "", place))
      }
    }
  }
  list(globals = globals, packages = setdiff(packages, always_attached))
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
