# The package's options, the limits of memory, and the clock.

option_names <- c(
  "on_interrupt", "max_draws_mb", "segment_seconds", "round_seconds",
  "checkpoint_seconds", "worker_seconds"
)

# The value of options("gibbsite.<name>"), checked, or its default.
gibbsite_option <- function(name, call = rlang::caller_env()) {
  option <- paste0("gibbsite.", name)
  value <- getOption(option)
  if (is.null(value)) {
    return(option_default(name))
  }
  arg <- sprintf("options(\"%s\")", option)
  if (name == "on_interrupt") {
    return(check_choice(value, c("return", "stop"), arg = arg, call = call))
  }
  check_number(value,
    lower = 0, lower_open = name != "checkpoint_seconds",
    infinite_ok = name %in% c("max_draws_mb", "worker_seconds"), arg = arg,
    call = call
  )
}

option_default <- function(name) {
  switch(name,
    on_interrupt = if (interactive()) "return" else "stop",
    max_draws_mb = 2000,
    segment_seconds = 0.25,
    round_seconds = 3,
    checkpoint_seconds = 30,
    worker_seconds = Inf,
    rlang::abort(paste("unknown option:", name), .internal = TRUE)
  )
}

check_options <- function(call) {
  for (name in option_names) {
    gibbsite_option(name, call)
  }
}

# The options that the run uses from here on. If a function of the user has set
# an option to an invalid value, the run ends here and returns its draws so far.
read_options <- function(job) {
  names <- setdiff(option_names, "max_draws_mb")
  values <- tryCatch(
    lapply(stats::setNames(names, names), gibbsite_option, call = job$frame),
    gibbsite_error_argument = function(cnd) cnd
  )
  if (!inherits(values, "condition")) {
    job$options <- values
  } else if (job$outcome == "done") {
    job$outcome <- "broken"
    job$problem <- values
  }
  job
}

# ---- Sizes ------------------------------------------------------------------

# `numbers` doubles must fit into options(gibbsite.max_draws_mb). `what`
# describes them, `fewer` names what to reduce: templates of cli, which are made
# only for the error. `place`: NULL, or plain text that says where the most is.
check_memory <- function(numbers, what, fewer, call, place = NULL) {
  mb <- 8 * numbers / 2^20
  limit <- gibbsite_option("max_draws_mb", call = call)
  if (mb > limit) {
    abort_argument(
      c(
        paste0(
          what, " would take {format(ceiling(mb), big.mark = ',')} MB, more than
           the {format(limit, big.mark = ',')} MB allowed."
        ),
        x = if (!is.null(place)) "{place}",
        i = paste0(
          fewer, ", or raise {.code options(gibbsite.max_draws_mb = )}."
        )
      ),
      call = call, class = "gibbsite_error_size"
    )
  }
}

# Checks the size of the draws that the chains of a run will store: by a rule a
# round more than are kept, otherwise one of `stride` draws.
check_run_size <- function(model, running, call, stride = 1) {
  rule <- running$stop_when
  draws <- if (is.null(rule)) {
    running$draws / stride
  } else {
    min(rule$max_draws, rule$kept + rule$every)
  }
  columns <- length(model$columns)
  check_memory(
    draws * running$chains * columns,
    cli::pluralize(
      "{format_number(draws)} draws of {columns} quantit{?y/ies} in ",
      "{running$chains} chain{?s}"
    ),
    "Keep fewer draws (`draws`, `thin`)", call
  )
}

# A result of size[1] x size[2] x ... numbers.
check_result_size <- function(size, what, fewer, call) {
  check_memory(
    prod(size), paste0("The result (", size_words(size), ": ", what, ")"),
    paste("Lower", fewer), call
  )
}

# `copies` square matrices of `size` rows.
check_square_size <- function(size, copies, what, fewer, call) {
  check_memory(
    copies * as.double(size)^2,
    paste(what, size_words(c(size, size)), "numbers: that"), fewer, call
  )
}

# "1,000 x 20"
size_words <- function(size) {
  words <- format(size, big.mark = ",", trim = TRUE, scientific = FALSE)
  vast <- size >= 1e15
  words[vast] <- format(size[vast], digits = 3)
  paste(words, collapse = " x ")
}

# ---- The clock --------------------------------------------------------------

now <- function() unclass(Sys.time())[[1L]]

# How a run ends that was not stopped.
endings <- c("done", "cap", "rule", "time", "vain")
