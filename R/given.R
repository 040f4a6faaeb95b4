# What a user gives by hand to go on with a fit or a checkpoint, in the place of
# what is stored: data and functions, which must be those of the run.

# The model with all of it.  `given`: list(data, log_density, proposal,
# arguments).
model_given <- function(model, given, call) {
  model <- check_same_arguments(model, given$arguments, call)
  model <- check_same_proposal(model, given$proposal, call)
  data <- given_data(model, given$data, given$log_density, call)
  check_same_data(model, data, call)
}

# The model of a fit or a checkpoint with data given by hand in the place of its
# own: the same hash, or an error.
check_same_data <- function(model, data, call) {
  if (is.null(data)) {
    return(model)
  }
  given <- set_data(model, data, call)
  if (!identical(given$data_hash, model$data_hash)) {
    what <- data_words(model)
    abort_argument(
      c(
        "`{what$arg}` {what$are} that the run was started with.",
        i = "Leave `{what$arg}` out to use {what$those} of the checkpoint or the
             fit."
      ),
      call = call
    )
  }
  for (part in intersect(c("data", "frame"), names(given))) {
    model[part] <- given[part]
  }
  model
}

# What a model is given by its user in the place of data.
data_words <- function(model) UseMethod("data_words")

#' @exportS3Method
data_words.default <- function(model) {
  list(
    arg = "data", them = "them", are = "are not the data", those = "those",
    hint = "Give the data to which the model was fitted."
  )
}

# `data` or `log_density`, whichever the model goes by.
given_data <- function(model, data, log_density, call) {
  given <- c("data", "log_density")[
    c(!is.null(data), !is.null(log_density))
  ]
  wrong <- setdiff(given, data_words(model)$arg)
  if (length(wrong) > 0L) {
    abort_argument(
      "A fit of {.fn {model$name}} goes by {.arg {data_words(model)$arg}}, not
       by {.arg {wrong[1]}}.",
      call = call
    )
  }
  data %||% log_density
}

# Code and values, and what functions find where they were made.
same_code <- function(a, b) {
  both <- lapply(list(a, b), function(x) {
    x <- if (inherits(x, "gibbsite_proposal")) unclass_proposal(x) else x
    hash_code(list(x, lapply(functions_in(x), closure_values)))
  })
  identical(both[[1L]], both[[2L]])
}

# ---- further arguments -------------------------------------------------------

# Where a model keeps the further arguments of its user's functions; NULL: it
# has none.
arguments_place <- function(model) UseMethod("arguments_place")

#' @exportS3Method
arguments_place.default <- function(model) NULL
#' @exportS3Method
arguments_place.mh_model <- function(model) "extra"
#' @exportS3Method
arguments_place.gibbs_sample_model <- function(model) c("data", "arguments")
#' @exportS3Method
arguments_place.laplace_density_model <- function(model) {
  c("frame", "arguments")
}

check_same_arguments <- function(model, given, call) {
  if (length(given) == 0L) {
    return(model)
  }
  place <- arguments_place(model)
  stored <- if (!is.null(place)) model[[place]]
  names <- names(given) %||% rep("", length(given))
  unknown <- setdiff(names, names(stored))
  if (any(!nzchar(names)) || length(unknown) > 0L) {
    abort_argument(
      if (any(!nzchar(names))) {
        "Further arguments must be named."
      } else {
        "There is no argument {.arg {unknown[1]}}, neither of {.fn resume} nor
         of the run."
      },
      call = call
    )
  }
  check_once(names, call)
  for (name in names) {
    if (!same_code(stored[[name]], given[[name]])) {
      abort_argument(
        c(
          "{.arg {name}} is not what the run was started with.",
          i = "Leave it out to use that of the checkpoint."
        ),
        call = call
      )
    }
  }
  stored[names] <- given
  model[[place]] <- stored
  model
}

# ---- proposals ---------------------------------------------------------------

check_same_proposal <- function(model, proposal, call) {
  if (is.null(proposal)) {
    return(model)
  }
  if (!inherits(model, "mh_model")) {
    abort_argument(
      "A fit of {.fn {model$name}} has no {.arg proposal}: leave it out.",
      call = call
    )
  }
  blocks <- length(model$plan)
  labels <- vapply(model$plan, `[[`, "", "name")
  given <- block_proposals(
    proposal, blocks, if (blocks > 1L) labels, labels, call
  )
  for (b in seq_len(blocks)) {
    if (!same_code(model$plan[[b]]$proposal, given[[b]])) {
      block <- if (blocks > 1L) paste0(", in block ", b)
      abort_argument(
        c(
          "{.arg proposal} is not what the run was started with{block}.",
          i = "Leave it out to use that of the checkpoint."
        ),
        call = call
      )
    }
    model$plan[[b]]$proposal <- given[[b]]
  }
  model$gradient <- plan_gradient(model$plan, call)
  model
}
