# The priors of the categories of gibbs_categorical(): a list of
# logistic_prior() with the names of all categories but the first.

# prior: a logistic_prior(), or a list of these. design: of describe_design();
# layout: a list of hlm_design(), NULL without groups.
complete_latent_priors <- function(prior, categories, design, layout, call) {
  prior <- check_category_priors(prior, categories, call)
  structure(
    lapply(prior, complete_latent_prior, design, layout, call),
    class = c("categorical_prior", "gibbsite_prior")
  )
}

check_category_priors <- function(prior, categories, call) {
  own <- function(x) inherits(x, "logistic_prior")
  if (own(prior)) {
    return(stats::setNames(rep(list(prior), length(categories)), categories))
  }
  known <- is.list(prior) && length(prior) > 0L &&
    all(vapply(unclass(prior), own, NA))
  if (!known) {
    abort_expected(
      prior, "made by `logistic_prior()`, or a list of such priors by category",
      FALSE, "prior", call
    )
  }
  names <- names(prior)
  if (!setequal(names, categories) || anyDuplicated(names)) {
    abort_argument(
      c("{.arg prior} must have the names of all categories but the first,
         each once.",
        i = "They are {.val {categories}}."),
      call = call, class = "names"
    )
  }
  unclass(prior)[categories]
}

#' @export
format.categorical_prior <- function(x, ...) {
  whole <- is.list(x) && length(x) > 0L && !is.null(names(x)) &&
    all(vapply(unclass(x), inherits, NA, "logistic_prior"))
  if (!whole) {
    abort_argument(
      "{.arg x} has the class of priors of categories, but not their parts.",
      class = "forged"
    )
  }
  x <- unclass(x)
  lines <- lapply(x, function(prior) {
    lines <- format(prior)
    lines[[1L]] <- sub("^.*,  w ~", "w_k ~", lines[[1L]])
    lines
  })
  same <- length(unique(lines)) == 1L
  if (same) lines <- lines[1L]
  c(
    "log(p_ik / p_i1) = x_i'w_k + o_i",
    unlist(Map(function(name, own) {
      c(paste0(if (same) "each category" else name, ":  ", own[[1L]]),
        own[-1L])
    }, names(lines), lines), use.names = FALSE)
  )
}
