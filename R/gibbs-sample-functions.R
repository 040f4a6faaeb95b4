# Calls of the user's functions of the state.

is_mh_step <- function(x) inherits(x, "gibbsite_mh_step")

# The function of a block that returns its draw or its log density.
main_function <- function(conditional) {
  if (is_mh_step(conditional)) conditional$log_density else conditional
}

check_state_function <- function(f, arg, expected, call) {
  if (!is.function(f)) {
    abort_expected(f, expected, FALSE, arg, call)
  }
  if (is.primitive(f) || length(formals(f)) == 0L) {
    abort_argument(
      c(
        "{.arg {arg}} must take the state as its first argument.",
        i = "Write it as {.code function(state) ...}."
      ),
      call = call
    )
  }
}

# conditional(state, x = argument_x): symbols that are bound in `run`.
state_call <- function(name, f, arguments) {
  taken <- taken_by(f, arguments)
  symbols <- lapply(paste0("argument_", names(taken), recycle0 = TRUE), as.name)
  as.call(c(
    list(as.name(name), quote(state)), stats::setNames(symbols, names(taken))
  ))
}

# The same call made from R.
call_on_state <- function(f, state, arguments) {
  do.call(f, c(list(state), taken_by(f, arguments)), quote = TRUE)
}
