# Errors, warnings and messages are compared by their class, their call and
# their conditionMessage(), which are formatted here and not by testthat,
# because versions of testthat print conditions differently. The stored text of
# a call in _snaps/:
#
#   > gibbs_gmm(x, 7)
#   Error in `gibbs_gmm()` <gibbsite_error_argument>
#   `k` must be a whole number between 1 and 6 (rows of `x`), not 7.
#
#   expect_gibbsite_error()      each call of `code` raises an error of ours
#   expect_gibbsite_condition() each call gives a warning or a message, and
#   returns
#
# `code` is a call, or several between braces. It is evaluated in the calling
# frame, so that `fit <- ...` exists afterwards. `class` is the class that each
# error, or each warning and message, has to inherit from. `transform`, a
# function of the lines, removes parts that differ from run to run. On CRAN only
# the class is compared.

# list(call, lines) of each call, as written in the test file but without its
# indentation.
statements <- function(code) {
  if (!is.call(code) || !identical(code[[1]], quote(`{`))) {
    return(list(list(call = code, lines = deparse(code, width.cutoff = 75L))))
  }
  at <- attr(code, "srcref")
  lapply(seq_along(code)[-1], function(i) {
    lines <- as.character(at[[i]])
    indent <- sprintf("^ {0,%d}", at[[i]][[5]] - 1L)
    lines[-1] <- sub(indent, "", lines[-1])
    list(call = code[[i]], lines = lines)
  })
}

# The warnings and messages of a call in their order, then its error.
conditions_of <- function(call, envir) {
  found <- list()
  note <- function(condition, restart = NULL) {
    found[[length(found) + 1]] <<- condition
    if (!is.null(restart)) invokeRestart(restart)
  }
  tryCatch(
    withCallingHandlers(
      eval(call, envir),
      warning = function(condition) note(condition, "muffleWarning"),
      message = function(condition) note(condition, "muffleMessage")
    ),
    error = note
  )
  found
}

# The words of our errors without cli, which takes 20 ms for each: a line for
# the header, and one with its sign for each of the rest.
signs <- c(i = "i ", x = "x ", "!" = "! ", "*" = "* ", ">" = "> ", " " = "  ")
registerS3method("conditionMessage", "gibbsite_error", function(c) {
  if (!isTRUE(c$use_cli_format)) return(rlang::cnd_message(c))
  sign <- signs[rlang::names2(c$body)]
  sign[is.na(sign)] <- ""
  words <- gsub("[ \n]+", " ", c(c$message, c$body))
  c$message <- paste0(c("", sign), words, collapse = "\n")
  c$body <- NULL
  c$use_cli_format <- FALSE
  rlang::cnd_message(c)
})

# rlang records the call stack of each error; no test reads it.
options("rlang:::disable_trace_capture" = TRUE)

kind_of <- function(condition) {
  intersect(c("error", "warning", "message"), class(condition))[[1]]
}

# "Error in `f()` <class, more general class>", then the message
condition_text <- function(condition) {
  kind <- kind_of(condition)
  call <- conditionCall(condition)
  where <- if (kind != "message" && is.call(call)) {
    sprintf(" in `%s()`", paste(deparse(call[[1]]), collapse = " "))
  } else {
    ""
  }
  everyones <- c("condition", kind, paste0(c("rlang_", "gibbsite_"), kind))
  classes <- setdiff(class(condition), everyones)
  substr(kind, 1, 1) <- toupper(substr(kind, 1, 1))
  message <- cli::ansi_strip(conditionMessage(condition))
  c(
    sprintf("%s%s <%s>", kind, where, toString(classes)),
    strsplit(sub("\n$", "", message), "\n", fixed = TRUE)[[1]]
  )
}

# One list(lines, conditions) a call of `code`
evaluated <- function(code, envir) {
  testthat::local_reproducible_output(width = 80)
  lapply(statements(code), function(statement) {
    list(
      lines = statement$lines,
      conditions = conditions_of(statement$call, envir)
    )
  })
}

told_lines <- function(results) {
  unlist(lapply(results, function(result) {
    prompt <- c("> ", rep("+ ", length(result$lines) - 1L))
    c(
      paste0(prompt, result$lines),
      unlist(lapply(result$conditions, condition_text))
    )
  }))
}

compare_told <- function(results, transform) {
  if (!identical(Sys.getenv("NOT_CRAN"), "true")) {
    # the test continues; a skip is recorded, so that the stored text is kept
    skipped <- testthat::expectation(
      "skip", "On CRAN: the text is not compared"
    )
    return(invisible(testthat::exp_signal(skipped)))
  }
  text <- told_lines(results)
  if (!is.null(transform)) text <- transform(text)
  testthat::expect_snapshot(writeLines(text))
}

expect_gibbsite_error <- function(code, class = "gibbsite_error",
                                  transform = NULL) {
  results <- evaluated(substitute(code), parent.frame())
  for (result in results) {
    last <- result$conditions[length(result$conditions)]
    testthat::expect(
      length(last) == 1L && kind_of(last[[1]]) == "error" &&
        inherits(last[[1]], class),
      paste(c(sprintf("No error of class \"%s\":", class), result$lines),
        collapse = "\n"
      )
    )
  }
  compare_told(results, transform)
  invisible(results)
}

expect_gibbsite_condition <- function(code, class, transform = NULL) {
  results <- evaluated(substitute(code), parent.frame())
  for (result in results) {
    fits <- vapply(result$conditions, function(condition) {
      kind_of(condition) != "error" && inherits(condition, class)
    }, NA)
    testthat::expect(
      length(fits) > 0L && all(fits),
      paste(c(sprintf("No condition of class \"%s\":", class), result$lines),
        collapse = "\n"
      )
    )
  }
  compare_told(results, transform)
  invisible(results)
}
