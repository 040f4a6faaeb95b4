# Log densities in compiled code: native_density().

#' A log density in compiled code
#'
#' Lets [mh_sample()] use a function in C, C++ or Fortran instead of an R
#' function:
#' ```
#' double f(const double *x, int d, void *data);
#' ```
#' returns the log density at the `d` numbers `x`, up to a constant. The header
#' `gibbsite.h`, in `system.file("include", package = "gibbsite")`, states the
#' contract in full, and
#' `system.file("examples", "logistic.c", package = "gibbsite")` is an example.
#'
#' A second function can return the same log density and write its gradient:
#' ```
#' double g(const double *x, int d, void *data, double *gradient);
#' ```
#' [nuts()] and [hmc()] use it, and [nuts()] becomes the default proposal.
#'
#' The result can be called as an R function of `x`, to test it, to
#' differentiate it or to maximise it.
#'
#' @section Where the function is found:
#' * In a package, `native_density("mypackage", "f")`: registered for other
#'   packages by `R_RegisterCCallable("mypackage", "f", (DL_FUNC) f)`, or else
#'   visible in its shared object.
#' * In a shared object, `native_density(dll = "f.so", symbol = "f")`: made by
#'   `R CMD SHLIB f.c`; it is loaded if it is not loaded yet.
#' * At an external pointer, `native_density(pointer = p)`, for example from a
#'   compiler inside the session.
#'
#' A package or a file is looked up again in each process. Chains on other
#' cores, a fit read from a file and a resumed run therefore find the function,
#' if the package or the file is there. It is not possible to check that the
#' code is still the same. An external pointer is valid in one process only: its
#' chains cannot run in other processes, and in another session the density must
#' be supplied again, as `log_density` of [extend()] or [resume()].
#'
#' @section Data:
#' `data` is a named list of numeric vectors, matrices and arrays (a vector
#' alone is taken as `list(x = )`); integers and logical values become doubles.
#' C reads them by name, `gibbsite_find(data, "y")->x`, with length, rows and
#' columns; they are never copied or changed.
#'
#' @section Values:
#' As for an R function: `-Inf` where the density is zero; NaN and `Inf` stop
#' the chain with an error that names the point. The function must not raise an
#' R error or a C++ exception. Interrupts are checked between its calls.
#'
#' @param package String: the name of an installed package. (A path or a
#'   `DLLInfo` object is treated as `dll`.)
#' @param symbol String: the name of the function.
#' @param data `NULL` (default), a numeric vector, or a named list of numeric
#'   vectors, matrices and arrays.
#' @param dll String: the path of a shared object; or an object of class
#'   `DLLInfo`, as [dyn.load()] returns it.
#' @param pointer An external pointer to the function, or an object of class
#'   `NativeSymbolInfo`.
#' @param gradient `NULL` (default), or the function that gives the gradient: a
#'   string, its name in the same package or file; with `pointer` an external
#'   pointer or an object of class `NativeSymbolInfo`.
#' @return A function of class `gibbsite_native_density`.
#' @section Errors:
#' `gibbsite_error_argument` if the arguments do not name exactly one existing
#' function, or the data are not numbers; `gibbsite_error_state` in a process
#' that does not find the function.
#' @seealso [mh_sample()]
#' @examples
#' # Logistic regression, compiled from the example's source
#' source <- system.file("examples", "logistic.c", package = "gibbsite")
#' cat(tail(readLines(source), 24), sep = "\n")
#'
#' \donttest{
#' if (nzchar(Sys.which("make"))) {
#'   folder <- tempfile("density")
#'   dir.create(folder)
#'   file.copy(source, folder)
#'   include <- system.file("include", package = "gibbsite")
#'   old <- Sys.getenv("PKG_CPPFLAGS")
#'   Sys.setenv(PKG_CPPFLAGS = paste0("-I", shQuote(include)))
#'   here <- setwd(folder)
#'   tools::Rcmd(c("SHLIB", "logistic.c"))
#'   setwd(here)
#'   Sys.setenv(PKG_CPPFLAGS = old)
#'   dll <- file.path(folder, paste0("logistic", .Platform$dynlib.ext))
#'   if (file.exists(dll)) {
#'     x <- cbind(1, scale(mtcars$wt))
#'     f <- native_density(
#'       dll = dll, symbol = "logistic",
#'       data = list(x = x, y = mtcars$am, sd = 10)
#'     )
#'     f(c(0, 0))
#'   }
#' }
#' }
#' @export
native_density <- function(package = NULL, symbol = NULL, data = NULL,
                           dll = NULL, pointer = NULL, gradient = NULL) {
  call <- rlang::current_env()
  native <- c(
    native_place(package, dll, pointer, symbol, call),
    list(data = native_data(data, call))
  )
  resolve_native(native, "argument", call)
  if (!is.null(gradient)) {
    native$gradient <- if (is.null(pointer)) {
      check_string(gradient)
    } else {
      native_address(gradient, NULL, call, "gradient")
    }
    resolve_native(gradient_place(native), "argument", call, "gradient")
  }
  structure(
    native_function, class = "gibbsite_native_density", native = native
  )
}

# A user can set the class of any function.
check_native_density <- function(x, arg, call) {
  if (!is.function(x)) {
    abort_expected(x, "a function of a numeric vector", FALSE, arg, call)
  }
  check_made(
    attr(x, "native", exact = TRUE),
    c("package", "dll", "pointer", "symbol", "data"), "native_density()", arg,
    call
  )
}

# The function calls its own attribute, so that the data occur once when the
# density is saved or sent to another process.
native_function <- function(x) {
  native_value(attr(sys.function(), "native"), x)
}

native_value <- function(native, x) {
  if (!is.numeric(x)) {
    abort_expected(x, "a numeric vector", FALSE, "x", rlang::caller_env())
  }
  pointer <- resolve_native(native, "state", rlang::caller_env())
  .Call(C_native_value, pointer, as.double(x))
}

# The external pointer that C takes, resolved in this process.
native_pointer <- function(density, call = rlang::caller_env()) {
  resolve_native(attr(density, "native"), "state", call)
}

has_native_gradient <- function(density) {
  is_native_density(density) && !is.null(attr(density, "native")$gradient)
}

# Where the gradient is, in the form of the density's place.
gradient_place <- function(native) {
  native[[if (is.null(native$pointer)) "symbol" else "pointer"]] <-
    native$gradient
  native
}

native_gradient_pointer <- function(density, call = rlang::caller_env()) {
  resolve_native(
    gradient_place(attr(density, "native")), "state", call, "gradient"
  )
}

native_place <- function(package, dll, pointer, symbol, call) {
  if (is_shared_object(package) && is.null(dll)) {
    dll <- package
    package <- NULL
  }
  given <- c(
    package = !is.null(package), dll = !is.null(dll),
    pointer = !is.null(pointer)
  )
  if (sum(given) != 1L) {
    abort_argument(
      c(
        "Give one of {.arg package}, {.arg dll} and {.arg pointer}, not
         {sum(given)} of them.",
        i = "For example {.code native_density(\"mypackage\", \"f\")} or
             {.code native_density(dll = \"f.so\", symbol = \"f\")}."
      ),
      call = call
    )
  }
  place <- list(package = NULL, dll = NULL, pointer = NULL, symbol = NULL)
  if (given[["pointer"]]) {
    place$pointer <- native_address(pointer, symbol, call)
    return(place)
  }
  place$symbol <- check_string(symbol, arg = "symbol", call = call)
  if (given[["package"]]) {
    place$package <- check_string(package, arg = "package", call = call)
  } else {
    place$dll <- native_file(dll, call)
  }
  place
}

# Whether `package` is a path: no name of a package looks like one.
is_shared_object <- function(x) {
  inherits(x, "DLLInfo") ||
    (is_plain_string(x) &&
       (endsWith(x, .Platform$dynlib.ext) || grepl("/", x, fixed = TRUE)))
}

native_address <- function(pointer, symbol, call, arg = "pointer") {
  if (!is.null(symbol)) {
    abort_argument(
      "{.arg symbol} has no meaning with {.arg pointer}: leave it out.",
      call = call
    )
  }
  if (is.list(pointer) && inherits(pointer, "NativeSymbolInfo")) {
    pointer <- pointer$address
  }
  if (typeof(pointer) != "externalptr") {
    abort_expected(
      pointer, "an external pointer to a compiled function", FALSE, arg, call
    )
  }
  pointer
}

native_file <- function(dll, call) {
  if (is.list(dll) && inherits(dll, "DLLInfo")) {
    dll <- dll[["path"]]
  }
  dll <- check_string(dll, arg = "dll", call = call)
  if (!file.exists(dll)) {
    abort_argument(
      c(
        "{.arg dll} must be the path of a shared object: there is no file
         {.file {dll}}.",
        i = "{.code R CMD SHLIB} makes one."
      ),
      call = call
    )
  }
  normalizePath(dll)
}

# A named list of doubles that keep their dimensions.
native_data <- function(data, call) {
  if (is.null(data)) {
    return(NULL)
  }
  if (is_data_vector(data)) {
    data <- list(x = data)
  }
  if (!is.list(data) || is.data.frame(data) || !has_names(data)) {
    abort_expected(
      data, "NULL, a numeric vector or a list of such with different names",
      FALSE, "data", call,
      hint = if (is.data.frame(data)) "Give its columns: `as.list(data)`."
    )
  }
  Map(function(value, name) {
    arg <- paste0("data$", name)
    if (!is_data_vector(value)) {
      abort_expected(value, "numeric", FALSE, arg, call)
    }
    if (anyNA(value)) {
      abort_elements(is.na(value), value, arg, "numbers", call)
    }
    in_memory(structure(as.double(value), dim = dim(value)), call)
  }, data, names(data))
}

# The numbers of a sequence such as 1:1e9 take memory only once they are read.
# Here they are read, and a lack of memory is reported.
in_memory <- function(value, call) {
  tryCatch(value, error = function(cnd) {
    reason <- conditionMessage(cnd)
    abort_argument(
      c("`data` cannot be read as doubles.", x = "{reason}"),
      call = call
    )
  })
}

is_data_vector <- function(x) {
  (is.numeric(x) || is.logical(x)) && !is.object(x)
}

# Whether each element has a different name.
has_names <- function(x) {
  names <- names(x)
  !is.null(names) && all(nzchar(names)) && !anyDuplicated(names)
}

# An external pointer to the function with its data. `family`: the class of the
# error if it is not found: "argument" when the user has just named it, "state"
# when it was found earlier; what: what the function computes.
resolve_native <- function(native, family, call, what = "log density") {
  address <- tryCatch(
    native_find(native),
    error = function(cnd) abort_native(native, cnd, family, call, what)
  )
  in_memory(.Call(C_native_pointer, address, native$data), call)
}

native_find <- function(native) {
  if (!is.null(native$pointer)) {
    # fails here, with a clear error, if the pointer is of another process
    .Call(C_native_pointer, native$pointer, NULL)
    return(native$pointer)
  }
  if (is.null(native$package)) {
    return(symbol_in(native$symbol, loaded_dll(native$dll)))
  }
  loadNamespace(native$package)
  tryCatch(
    .Call(C_native_callable, native$package, native$symbol),
    error = function(cnd) {
      symbol_in(native$symbol, getLoadedDLLs()[[native$package]])
    }
  )
}

symbol_in <- function(symbol, dll) {
  if (is.null(dll)) {
    abort_state("it has no compiled code", call = NULL)
  }
  getNativeSymbolInfo(symbol, dll)$address
}

loaded_dll <- function(path) {
  is_it <- function(dll) {
    identical(normalizePath(dll[["path"]], mustWork = FALSE), path)
  }
  all <- getLoadedDLLs()
  # R names a shared object by its file
  name <- sub("[.][^.]*$", "", basename(path))
  for (dll in c(unclass(all)[names(all) == name], unclass(all))) {
    if (is_it(dll)) {
      return(dll)
    }
  }
  dyn.load(path)
}

abort_native <- function(native, cnd, family, call, what) {
  abort <- if (family == "state") abort_state else abort_argument
  reason <- conditionMessage(cnd)
  if (!is.null(native$pointer)) {
    abort(
      c(
        "The compiled {what} is an external pointer of another process.",
        i = "Name it by {.arg package} or {.arg dll}, which are looked up in
             each process, or give it again, as {.arg log_density} of
             {.fn extend}."
      ),
      call = call, class = "native"
    )
  }
  place <- if (is.null(native$package)) {
    paste0("the shared object \"", native$dll, "\"")
  } else {
    paste0("package ", native$package)
  }
  abort(
    c(
      "The compiled {what} {quoted(native$symbol)} was not found in
       {place}.",
      x = "{reason}"
    ),
    call = call, class = "native"
  )
}

#' @export
format.gibbsite_native_density <- function(x, ...) {
  check_native_density(x, "x", rlang::current_env())
  native <- attr(x, "native")
  place <- if (!is.null(native$pointer)) {
    "at an external pointer"
  } else if (!is.null(native$package)) {
    paste0(native$symbol, "() of package ", native$package)
  } else {
    paste0(native$symbol, "() of ", basename(native$dll))
  }
  data <- native$data
  c(
    paste("Compiled log density", place),
    if (is.character(native$gradient)) {
      paste0("  gradient: ", native$gradient, "()")
    } else if (!is.null(native$gradient)) {
      "  gradient: at an external pointer"
    },
    if (length(data) > 0L) {
      paste0(
        "  data: ",
        paste(names(data), vapply(data, shape_words, ""), sep = ", ",
              collapse = "; ")
      )
    }
  )
}

#' @export
print.gibbsite_native_density <- function(x, ...) print_lines(x)
