# Arguments of gibbs_sample(): checks of conditionals and starting values.

check_conditionals <- function(conditionals, method, call) {
  if (!is.list(conditionals) || is.object(conditionals) ||
        length(conditionals) == 0L) {
    abort_expected(
      conditionals, "a named list of functions", FALSE, "conditionals", call
    )
  }
  check_block_names(names(conditionals), call)
  for (block in names(conditionals)) {
    check_conditional(conditionals[[block]], block, method, call)
  }
  conditionals
}

check_block_names <- function(names, call) {
  wrong <- is.null(names) || anyNA(names)
  odd <- names[names != make.names(names) | names %in% reserved_names]
  if (wrong || length(odd) > 0L) {
    abort_argument(
      c(
        "Each element of {.arg conditionals} must be named by its block.",
        x = if (length(odd) > 0L) {
          "{quoted(odd[1])} cannot be the name of a block."
        },
        i = "Names are those of R's variables; {.val {reserved_names}} are
             taken."
      ),
      call = call
    )
  }
  twice <- names[duplicated(names)]
  if (length(twice) > 0L) {
    abort_argument(
      "{.arg conditionals} has several blocks named {.val {twice[1]}}.",
      call = call
    )
  }
}

# posterior reserves columns of these names
reserved_names <- c(".chain", ".iteration", ".draw")

check_conditional <- function(conditional, block, method, call) {
  arg <- paste0("conditionals$", block)
  if (is_mh_step(conditional)) {
    if (method == "icm") {
      abort_argument(
        c(
          "{.arg {arg}} must be a function with {.code method = \"icm\"}.",
          i = "{.fn mh_step} draws; the search needs the conditional mode."
        ),
        call = call
      )
    }
    remade(
      conditional, mh_step, "mh_step()", arg, call,
      c("log_density", "proposal", "steps")
    )
    check_made(conditional, "gradient", "mh_step()", arg, call)
    return(invisible())
  }
  check_state_function(conditional, arg, "a function of the state", call)
}

check_log_joint <- function(log_joint, method, call) {
  if (is.null(log_joint)) {
    return(invisible())
  }
  check_state_function(
    log_joint, "log_joint", "NULL or a function of the state", call
  )
  if (method != "icm") {
    abort_argument(
      c(
        "{.arg log_joint} serves {.code method = \"icm\"} alone.",
        i = "Draws need the conditionals only: leave it out."
      ),
      call = call
    )
  }
}

# The state in the order of the blocks.
check_init_blocks <- function(init, blocks, call) {
  if (!is.list(init) || is.object(init) || is.null(names(init))) {
    abort_expected(
      init, "a named list with one element a block", FALSE, "init", call
    )
  }
  missing <- setdiff(blocks, names(init))
  unknown <- setdiff(names(init), blocks)
  if (length(missing) + length(unknown) > 0L || anyDuplicated(names(init))) {
    abort_argument(
      c(
        "{.arg init} must have one element for each block of
         {.arg conditionals}: {.val {blocks}}.",
        x = if (length(missing) > 0L) "It has none for {.val {missing}}.",
        x = if (length(unknown) > 0L) {
          "There is no conditional for {.val {unknown}}: what stays fixed goes
           into {.arg ...}."
        }
      ),
      call = call
    )
  }
  for (block in blocks) {
    check_block(init[[block]], paste0("init$", block), call)
  }
  init[blocks]
}

# A block's value: finite numbers, without a class.
check_block <- function(value, arg, call) {
  plain <- (is.numeric(value) || is.logical(value)) && !is.object(value)
  if (!plain || length(value) == 0L) {
    abort_expected(
      value, "finite numbers: a scalar, vector, matrix or array", FALSE, arg,
      call
    )
  }
  abort_elements(!is.finite(value), value, arg, "finite", call)
}

# Checks `...`: arguments by name, each an argument of at least one function.
check_extra_arguments <- function(arguments, conditionals, call) {
  names <- names(arguments) %||% rep("", length(arguments))
  if (any(names == "")) {
    abort_argument(
      c(
        "Arguments in {.arg ...} must be named.",
        i = "They are passed on to the conditionals that take them."
      ),
      call = call
    )
  }
  check_once(names, call)
  functions <- functions_in(lapply(conditionals, unclass))
  known <- unlist(lapply(functions, function(f) names(formals(f))))
  unknown <- setdiff(names, known)
  if (length(unknown) > 0L && !"..." %in% known) {
    abort_argument(
      "There is no argument {.arg {unknown[1]}}, neither of {.fn gibbs_sample}
       nor of a conditional.",
      call = call
    )
  }
  for (i in which(lengths(conditionals) > 0L)) {
    f <- main_function(conditionals[[i]])
    check_not_first(
      names(taken_by(f, arguments)), f,
      paste0("conditionals[[", i, "]]"), "the state", call
    )
  }
  arguments
}

# A column "a[1]" cannot also be the name of a block, because names of blocks
# have no brackets. A block may still be too wide.
check_distinct_columns <- function(columns, call) {
  if (length(columns) > .Machine$integer.max) {
    abort_argument("The blocks in {.arg keep} are too large.", call = call)
  }
}

check_steps_size <- function(conditionals, init, chains, call) {
  for (block in names(conditionals)) {
    step <- conditionals[[block]]
    if (is_mh_step(step) && any_trait(step$proposal, "matrix")) {
      check_matrix_of(
        length(init[[block]]), chains,
        paste0("The proposal of {.arg conditionals$", block, "}"), call
      )
    }
  }
}
