# What a model tells the driver.  A model is a plain list of class
# c("<x>_model", "gibbsite_model"): no closures, so that it travels to other
# processes as it is.  It holds
#
#   name       the public function, first class of the fit
#   title      what it is called in print
#   data       list of plain vectors, as C reads them (NULL: not kept)
#   data_hash  hash of `data`
#   nobs       number of observations
#   prior      the completed prior
#   columns    names of the stored quantities, in the order of a row
#
# and answers the generics below.  They are internal; the state they pass
# around is a list of plain vectors whose element `sweep` counts the sweeps
# since the start of the chain, and which holds everything the next sweep
# needs.

new_model <- function(class, name, title, data, prior, nobs, columns, ...,
                      data_hash = hash(data)) {
  structure(
    list(
      name = name, title = title, data = data, data_hash = data_hash,
      nobs = nobs, prior = prior, columns = columns, ...
    ),
    class = c(class, "gibbsite_model")
  )
}

# The hash of an R object's value, the same in every session and for every
# version of R.
hash <- function(x) rlang::hash(x)

# state of a chain before its first sweep, drawn on the chain's own stream.
# `init`: NULL or a named list given by the user, already checked.
model_start <- function(model, init) UseMethod("model_start")

# n sweeps from `state`: list(state, draws, rng), or NULL when an interrupt
# was seen inside a sweep.  control: list(burnin, thin, threads).
model_sweeps <- function(model, state, n, control) UseMethod("model_sweeps")

# checks one chain's user-given starting values; returns them in the model's
# form or raises an error of the user's call.
model_check_init <- function(model, init, where, call) {
  UseMethod("model_check_init")
}

# starting values for a new run out of the last state of a chain of an
# earlier fit of the same kind.
model_init_from_state <- function(model, state) {
  UseMethod("model_init_from_state")
}

# quantities that do not depend on the labelling: a matrix with names, one row
# a draw.  R-hat and effective sample sizes are judged on them.
model_invariants <- function(model, draws) UseMethod("model_invariants")

# one line for print(): model, size, data.
model_headline <- function(model) UseMethod("model_headline")

# data.frame(variable, label): what a column means to a person.
model_labels <- function(model) UseMethod("model_labels")

# the model without the user's data, as drop_data() and keep_data = FALSE leave
# it; whether what it holds is enough to go on.
model_without_data <- function(model) UseMethod("model_without_data")

model_has_data <- function(model) UseMethod("model_has_data")

# whether draws are independent by construction: there is no convergence to be
# judged then.
model_independent <- function(model) UseMethod("model_independent")

# the model without what may differ between equal models: environments that
# formulas refer to.
model_comparable <- function(model) UseMethod("model_comparable")

# what functions of the user in the model need in another process:
# list(globals, packages), as needs_of() finds it.
model_needs <- function(model) UseMethod("model_needs")

#' @exportS3Method
model_needs.default <- function(model) {
  list(globals = list(), packages = character())
}

# Two more questions to a model with exchangeable components, each with an
# answer for models that have none.

# The columns that mean something only under a numbering of the components.
model_labelled <- function(model, invariants) UseMethod("model_labelled")

#' @exportS3Method
model_labelled.default <- function(model, invariants) {
  setdiff(model$columns, invariants)
}

# The draws (one matrix a chain) with the components of each draw renumbered so
# that a column means the same in every draw; NULL where that is not done.
model_relabelled <- function(model, draws) UseMethod("model_relabelled")

#' @exportS3Method
model_relabelled.default <- function(model, draws) NULL

# Further lines about how a model's sampler did, for print() and summary().
model_notes <- function(model, fit, table) UseMethod("model_notes")

#' @exportS3Method
model_notes.default <- function(model, fit, table) NULL

# data.frame(block, steps, rate, burnin_steps, burnin_rate, scale) of one chain;
# NULL for a model without such steps.
model_acceptance <- function(model, state) UseMethod("model_acceptance")

#' @exportS3Method
model_acceptance.default <- function(model, state) NULL

# one sweep of conditional modes: list(state, log_joint), and where log_joint is
# not known (NA) also `change`, the largest change of a number of the state in
# units of its size.
model_climb <- function(model, state, threads) UseMethod("model_climb")

# what a state says in the model's own terms: a named list.
model_estimate <- function(model, state) UseMethod("model_estimate")

# The log of the density that the fit approximates, at each row of `w` (points x
# p), with the constant that the evidence needs.
model_log_joint <- function(model, w) UseMethod("model_log_joint")

# the model made ready to run, where that takes code of the user and may be
# interrupted: a model of class "unfinished_model" has to be asked again.
model_prepare <- function(model, running, call) UseMethod("model_prepare")

#' @exportS3Method
model_prepare.default <- function(model, running, call) model

# What a model is given by its user in the place of data.
data_words <- function(model) UseMethod("data_words")

#' @exportS3Method
data_words.default <- function(model) {
  list(
    arg = "data", them = "them", are = "are not the data", those = "those",
    hint = "Give the data to which the model was fitted."
  )
}

# Hooks of the tests of exactness: a state drawn from the prior (on R's
# generator), data simulated given a state, the model with other data.
draw_prior <- function(model) UseMethod("draw_prior")

simulate_data <- function(model, state) UseMethod("simulate_data")

set_data <- function(model, data, call = rlang::caller_env()) {
  UseMethod("set_data")
}

# Most samplers have one C entry and need nothing else of the data: the
# default hands the model's data, the state and the control to it.
#' @exportS3Method
model_invariants.default <- function(model, draws) draws

#' @exportS3Method
model_without_data.default <- function(model) {
  # list(NULL): the element stays, empty
  model["data"] <- list(NULL)
  model
}

#' @exportS3Method
model_has_data.default <- function(model) !is.null(model$data)

#' @exportS3Method
model_comparable.default <- function(model) model

#' @exportS3Method
model_independent.default <- function(model) FALSE

#' @exportS3Method
model_labels.default <- function(model) {
  data.frame(variable = model$columns, label = model$columns)
}
