# The log density of mh_sample(), in the forms that C and the search for scales
# call.
#
# `point` is a point on the user's scale. `x` (the working point) is the same on
# the whole line, where `transform = TRUE` maps bounded coordinates.

# The calls for C, made again for each segment, because C writes into them.
mh_functions <- function(model) {
  list(
    log_density = density_caller(model$data$log_density, model$extra),
    gradient = gradient_caller(model),
    blocks = lapply(model$plan, function(block) {
      move_functions(block$proposal)
    })
  )
}

# The object that C calls for a log density: a caller, or another object for
# other classes of density.
density_caller <- function(log_density, extra = list()) {
  UseMethod("density_caller")
}

#' @exportS3Method
density_caller.default <- function(log_density, extra = list()) {
  caller(log_density, "log_density", 1L, extra)
}

#' @exportS3Method
density_caller.gibbsite_native_density <- function(log_density,
                                                   extra = list()) {
  native_pointer(log_density)
}

# ---- Scales -----------------------------------------------------------------

# The working point of a user's point, and back.
to_working <- function(spec, point) {
  x <- as.double(point)
  if (is.null(spec$map)) {
    return(x)
  }
  low <- spec$lower
  up <- spec$upper
  one <- spec$map == 1L
  two <- spec$map == 2L
  both <- spec$map == 3L
  x[one] <- log(x[one] - low[one])
  x[two] <- log(up[two] - x[two])
  x[both] <- log(x[both] - low[both]) - log(up[both] - x[both])
  x
}

from_working <- function(spec, x) {
  if (is.null(spec$map)) {
    return(x)
  }
  low <- spec$lower
  up <- spec$upper
  one <- spec$map == 1L
  two <- spec$map == 2L
  both <- spec$map == 3L
  x[one] <- low[one] + exp(x[one])
  x[two] <- up[two] - exp(x[two])
  x[both] <- low[both] + (up[both] - low[both]) * stats::plogis(x[both])
  x
}

# log of the Jacobian d point / d x.
log_jacobian <- function(spec, x) {
  if (is.null(spec$map)) {
    return(0)
  }
  both <- spec$map == 3L
  width <- (spec$upper - spec$lower)[both]
  sum(x[spec$map %in% 1:2]) +
    sum(log(width) + stats::plogis(x[both], log.p = TRUE) +
          stats::plogis(-x[both], log.p = TRUE))
}

# The points of draws (a row each) on a scale without bounds, the log density
# there and the Jacobian, for any bounds. log_density: of a user's point.
unbounded_box <- function(lower, upper, log_density) {
  spec <- list(
    lower = lower, upper = upper,
    map = is.finite(lower) + 2L * is.finite(upper)
  )
  d <- length(lower)
  # the coordinates of a point stand together, as the maps expect them
  rows <- function(values) matrix(values, ncol = d, byrow = TRUE)
  list(
    points = function(draws) {
      rows(to_working(spec, t(draws)))
    },
    log_density = function(x) {
      log_density(rows(from_working(spec, as.double(t(x))))) +
        apply(x, 1L, log_jacobian, spec = spec)
    }
  )
}

# d point / d x, for each coordinate.
map_slope <- function(spec, x) {
  slope <- rep(1, length(x))
  point <- from_working(spec, x)
  one <- spec$map == 1L
  two <- spec$map == 2L
  both <- spec$map == 3L
  slope[one] <- (point - spec$lower)[one]
  slope[two] <- (point - spec$upper)[two]
  width <- (spec$upper - spec$lower)[both]
  slope[both] <- width * stats::dlogis(x[both])
  slope
}

# The working log density as a function of x, for computations before the chains
# run. If it is NaN or fails at a point, the density there counts as zero.
working_density <- function(model) {
  spec <- model$spec
  density <- point_density(model)
  function(x) {
    point <- from_working(spec, x)
    value <- if (all(is.finite(point))) density(point) else -Inf
    if (is.na(value) || value == Inf) -Inf else value + log_jacobian(spec, x)
  }
}

# The log density as a function of the user's point: -Inf outside of its bounds,
# NaN where it fails.
point_density <- function(model) {
  functions <- mh_functions(model)
  spec <- model$spec
  place <- new.env(parent = emptyenv())
  function(point) {
    if (any(point < spec$lower) || any(point > spec$upper)) {
      return(-Inf)
    }
    tryCatch(
      suppressWarnings(.Call(
        C_mh_evaluate, functions$log_density, as.double(point), spec$names,
        place
      )),
      error = function(cnd) NaN
    )
  }
}

abort_zero_density <- function(model, point, arg, call) {
  at <- state_point_words(point, model$user_names)
  value <- if (model$spec$reject_nan > 0L) "-Inf or NaN" else "-Inf"
  abort_argument(
    c("`{arg}` must have positive density: `log_density` is {value} there.",
      x = "At {at}.",
      i = "Start the chains at a point that is possible under the model."),
    call = call, class = "zero_density"
  )
}

# ---- Where the gradient comes from -------------------------------------------

# The gradient of a model: NULL, a function, or a word for where it is: "native"
# (with the compiled density), "value" (an attribute of the density's value) or
# "differences".
find_gradient <- function(given, plan, log_density, extra, init, call) {
  proposals <- lapply(plan, `[[`, "proposal")
  found <- unique(c(
    given, unlist(lapply(proposals, proposal_gradients), recursive = FALSE)
  ))
  if (length(found) > 1L) {
    abort_argument(
      c("Proposals of one sampler must have the same {.arg gradient}.",
        i = "It is that of the whole log density; each block takes its part."),
      call = call
    )
  }
  if (length(found) == 1L) {
    return(found[[1L]])
  }
  if (!plan_has(plan, "gradient")) {
    return(NULL)
  }
  if (has_native_gradient(log_density)) {
    return("native")
  }
  if (value_has_gradient(log_density, extra, init)) {
    return("value")
  }
  inform_gibbsite(
    c(
      "No gradient is given: it is computed by differences, which takes
       {4 * length(init)} evaluations of {.arg log_density} for each step.",
      i = "{.arg gradient} or {.fn native_density} makes it faster.",
      i = "The default proposal, {.fn adaptive}, needs no gradient and is
           probably faster than differences."
    ),
    class = "gradient"
  )
  "differences"
}

# An error of the density is reported where the chains start.
value_has_gradient <- function(log_density, extra, init) {
  if (is_native_density(log_density)) {
    return(FALSE)
  }
  saved <- save_generator()
  on.exit(restore_generator(saved))
  value <- tryCatch(
    suppressWarnings(do.call(log_density, c(list(init), extra), quote = TRUE)),
    error = function(cnd) NULL
  )
  !is.null(attr(value, "gradient", exact = TRUE))
}

# The object that C calls for the gradient.
gradient_caller <- function(model) {
  gradient <- model$gradient
  density <- model$data$log_density
  if (is.null(gradient)) {
    return(NULL)
  }
  if (is.function(gradient)) {
    return(caller(
      gradient, "gradient", 1L, taken_by(gradient, model$extra)
    ))
  }
  switch(gradient,
    native = native_gradient_pointer(density),
    value = gradient,
    differences = caller(
      difference_gradient, "gradient", 1L,
      list(
        log_density = density, extra = model$extra, unit = model$search$unit
      )
    )
  )
}

# Two steps of Richardson's extrapolation. Beside an edge of the density the
# differences are of the side where it is finite.
difference_gradient <- function(x, log_density, extra, unit) {
  density <- function(z) {
    value <- if (length(extra) == 0L) log_density(z) else {
      do.call(log_density, c(list(z), extra), quote = TRUE)
    }
    if (is.na(value)) -Inf else value
  }
  slope <- gradient_along(density, x, unit, r = 2)
  for (side in c(1, -1)) {
    lost <- !is.finite(slope)
    if (any(lost)) {
      sides <- ifelse(lost, side, NA)
      slope[lost] <- gradient_along(density, x, unit, sides, r = 2)[lost]
    }
  }
  slope
}

# ---- Is it the gradient of the log density? ----------------------------------

# A gradient is compared with differences where each chain starts.

# Compares the gradient at a point with differences of the log density.
# Differences over steps that are too long or too short are wrong; one that
# agrees is enough. Where no difference is finite there is no comparison, and an
# invalid gradient is reported by the first sweep.
check_gradient <- function(model, point, call) {
  if (!plan_has(model$plan, "dynamics") ||
        identical(model$gradient, "differences")) {
    return(invisible())
  }
  names(point) <- model$user_names
  given <- gradient_at(model, point)
  if (is.numeric(given) && length(given) != length(point)) {
    wanted <- counted(length(point), "number")
    abort_argument(
      c("`gradient` must return {wanted}, one for each parameter, not
         {length(given)}.",
        x = "At {state_point_words(unname(point), model$user_names)}."),
      call = call, class = "gradient", point = point
    )
  }
  if (!is.numeric(given) || length(given) != length(point) ||
        !all(is.finite(given))) {
    return(invisible())
  }
  model$spec$map <- NULL
  density <- working_density(model)
  check_gradient_value(model, point, attr(given, "value"), density, call)
  unit <- reach(density, unname(point))
  near <- lapply(c(1e-3, 1e-5, 1e-7), function(size) {
    differences_at(density, unname(point), size, unit)
  })
  wrong <- Reduce(`&`, lapply(near, function(by) {
    !(abs(given - by$value) <= 0.01 * pmax(abs(given), abs(by$value)) +
        by$noise)
  }))
  known <- is.finite(near[[1L]]$value)
  if (any(wrong & known)) {
    abort_gradient(
      model, point, which(wrong & known)[[1L]], given, near[[1L]]$value, call
    )
  }
}

# The log density that a compiled gradient returns.
check_gradient_value <- function(model, point, value, density, call) {
  direct <- density(unname(point))
  if (!identical(model$gradient, "native") ||
        isTRUE(abs(value - direct) <= 1e-6 * (1 + abs(direct)))) {
    return(invisible())
  }
  at <- state_point_words(unname(point), model$user_names)
  shown <- format(c(value, direct), digits = 6, trim = TRUE)
  abort_argument(
    c("The compiled `gradient` must return the log density.",
      x = "It returns {shown[1]}; the log density is {shown[2]}.",
      x = "At {at}."),
    call = call, class = "gradient", point = point
  )
}

# list(value, noise): differences over `size` times `unit`, and a bound of their
# rounding error.
differences_at <- function(density, x, size, unit) {
  value <- tryCatch(
    gradient_along(density, x, unit, d = size, r = 2),
    error = function(cnd) rep(NA_real_, length(x))
  )
  list(
    value = value,
    noise = 20 * .Machine$double.eps * (1 + abs(density(x))) / (size * unit)
  )
}

# The gradient at a user's point, NULL where it fails.
gradient_at <- function(model, point) {
  density <- model$data$log_density
  ask <- function() {
    if (is.function(model$gradient)) {
      extra <- taken_by(model$gradient, model$extra)
      return(do.call(model$gradient, c(list(point), extra), quote = TRUE))
    }
    if (model$gradient == "native") {
      return(.Call(
        C_native_gradient, native_gradient_pointer(density), unname(point)
      ))
    }
    value <- do.call(density, c(list(point), model$extra), quote = TRUE)
    attr(value, "gradient", exact = TRUE)
  }
  tryCatch(suppressWarnings(ask()), error = function(cnd) NULL)
}

abort_gradient <- function(model, point, j, given, differences, call) {
  name <- model$parameters[[j]]
  at <- state_point_words(unname(point), model$user_names)
  shown <- format(c(given[[j]], differences[[j]]), digits = 6, trim = TRUE)
  abort_argument(
    c("`gradient` must be that of `log_density`: it is not in coordinate
       {.val {name}}.",
      x = "It is {shown[1]}; by differences of the log density it is
           {shown[2]}.",
      x = "At {at}.",
      i = "It is the gradient of the whole log density, on the scale of
           `init`."),
    call = call, class = "gradient", point = point
  )
}

# ---- Compiled log densities --------------------------------------------------

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
