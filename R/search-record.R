# The values of a density that a search has seen. An interrupted search goes on
# with them and does not call the density again.

new_record <- function(search) {
  record <- new.env(parent = emptyenv())
  record$at <- 0L
  # by their numbers: a list would be copied with each value
  record$values <- list2env(stats::setNames(
    as.list(search$values), as.character(seq_along(search$values))
  ), new.env(parent = emptyenv()))
  record$known <- length(search$values)
  record$seed <- search$seed
  record$best <- search$best
  record
}

# The stored value of the user's function at this step of the search, or
# otherwise the value of `evaluate`. `known` is set last, so that a value that
# was not stored completely is computed again.
recorded <- function(record, evaluate) {
  if (is.null(record)) {
    return(evaluate())
  }
  at <- record$at <- record$at + 1L
  if (at <= record$known) {
    if (at == record$known) set_generator_seed(record$seed)
    return(record$values[[as.character(at)]])
  }
  value <- evaluate()
  assign(as.character(at), value, record$values)
  suspendInterrupts({
    record$seed <- generator_seed()
    record$known <- at
  })
  value
}

recorded_search <- function(record) {
  list(
    values = unname(mget(
      as.character(seq_len(record$known)), envir = record$values
    )), seed = record$seed,
    best = record$best
  )
}

remember_best <- function(record, values, points) {
  top <- which.max(values)
  if (!is.null(record) && values[[top]] > max(record$best$value, -Inf)) {
    record$best <- list(value = values[[top]], theta = points[top, ])
  }
}
