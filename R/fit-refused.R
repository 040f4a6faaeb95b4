# Generics that refuse a fit or a partial fit: those of vectors, which would
# take a fit for a list of numbers, and of a run without draws all that needs
# draws.

# The methods of `generics` for a class, by their names. abort: the name of a
# function of the generic's name and the frame of the method.
refused <- function(generics, class, abort) {
  methods <- lapply(generics, function(generic) {
    name <- sub("^.*::", "", generic)
    args <- switch(name,
      Math = alist(x = , ... = ), Ops = alist(e1 = , e2 = ),
      Summary = alist(... = , na.rm = FALSE), "$" = alist(x = , name = ),
      "[" = alist(x = , i = , j = , ... = , drop = TRUE),
      "[[" = alist(x = , i = , ... = ),
      formals(args(eval(str2lang(generic))))
    )
    rlang::new_function(args, bquote(
      .(as.name(abort))(.(name), rlang::current_env())
    ), topenv())
  })
  names(methods) <- paste0(sub("^.*::", "", generics), ".", class)
  methods
}

# ---- Generics of vectors -----------------------------------------------------

# R has no error for most of them: it prints all draws, or gives NA.
generics_of_vectors <- c(
  "Math", "Ops", "Summary", "mean", "stats::median", "stats::quantile", "rev",
  "sort", "split", "unique"
)

abort_vector_generic <- function(generic, frame) {
  # of a group of generics
  name <- get0(".Generic", frame, inherits = FALSE) %||% generic
  given <- if (generic == "Summary") {
    eval(quote(list(...)), frame)
  } else {
    mget(setdiff(names(frame_formals(frame)), "..."), frame,
         ifnotfound = list(NULL))
  }
  fit <- Filter(function(x) inherits(x, "gibbsite_fit"), given)[[1L]]
  model <- fit_part(fit, "model")
  column <- quoted(model$columns[[1L]])
  abort_argument(
    c("{.code {name}} has no meaning for a fit of {.fn {model$name}}, which has
       draws of several quantities.",
      i = "{.code draws_of(fit, {column})} has the draws of one,
           {.fn as.matrix} those of all; {.fn summary} has their means and
           quantiles."),
    call = if (name == generic) frame else as.call(list(as.name(name)))
  )
}

#' @rawNamespace
#' S3method(Math, gibbsite_fit)
#' S3method(Ops, gibbsite_fit)
#' S3method(Summary, gibbsite_fit)
#' S3method(mean, gibbsite_fit)
#' S3method(stats::median, gibbsite_fit)
#' S3method(stats::quantile, gibbsite_fit)
#' S3method(rev, gibbsite_fit)
#' S3method(sort, gibbsite_fit)
#' S3method(split, gibbsite_fit)
#' S3method(unique, gibbsite_fit)
list2env(
  refused(generics_of_vectors, "gibbsite_fit", "abort_vector_generic"),
  topenv()
)

# ---- A run without draws -----------------------------------------------------

generics_of_draws <- c(
  "$", "[", "[[", "as.array", "as.data.frame", "as.matrix", "c",
  "coda::as.mcmc.list", "draws_of", "generics::augment", "generics::glance",
  "generics::tidy", "loo::kfold", "loo::loo", "loo::waic", "plot",
  "posterior::as_draws", "posterior::nchains", "posterior::ndraws",
  "posterior::niterations", "posterior::variables", "rstantools::log_lik",
  "rstantools::posterior_epred", "rstantools::posterior_interval",
  "rstantools::posterior_linpred", "rstantools::posterior_predict",
  "stats::coef", "stats::confint", "stats::fitted", "stats::predict",
  "stats::residuals", "stats::simulate", "stats::vcov", "stats::window",
  "summary"
)

abort_no_draws <- function(generic, frame) {
  first <- names(frame_formals(frame))[[1L]]
  if (first != "...") check_whole_fit(frame[[first]], first, frame)
  abort_state(
    c("The run has no draws yet: it was stopped before every chain had one.",
      i = "Go on with {.code fit <- extend(fit, 1000)}, with the number of draws
           that you want. {.fn print} says where the chains are."),
    call = frame, class = "no_draws"
  )
}

#' @rawNamespace
#' S3method("$", gibbsite_partial)
#' S3method("[", gibbsite_partial)
#' S3method("[[", gibbsite_partial)
#' S3method(as.array, gibbsite_partial)
#' S3method(as.data.frame, gibbsite_partial)
#' S3method(as.matrix, gibbsite_partial)
#' S3method(c, gibbsite_partial)
#' S3method(as.mcmc.list, gibbsite_partial)
#' S3method(draws_of, gibbsite_partial)
#' S3method(augment, gibbsite_partial)
#' S3method(glance, gibbsite_partial)
#' S3method(tidy, gibbsite_partial)
#' S3method(kfold, gibbsite_partial)
#' S3method(loo, gibbsite_partial)
#' S3method(waic, gibbsite_partial)
#' S3method(plot, gibbsite_partial)
#' S3method(posterior::as_draws, gibbsite_partial)
#' S3method(posterior::nchains, gibbsite_partial)
#' S3method(posterior::ndraws, gibbsite_partial)
#' S3method(posterior::niterations, gibbsite_partial)
#' S3method(posterior::variables, gibbsite_partial)
#' S3method(log_lik, gibbsite_partial)
#' S3method(posterior_epred, gibbsite_partial)
#' S3method(posterior_interval, gibbsite_partial)
#' S3method(posterior_linpred, gibbsite_partial)
#' S3method(posterior_predict, gibbsite_partial)
#' S3method(coef, gibbsite_partial)
#' S3method(confint, gibbsite_partial)
#' S3method(fitted, gibbsite_partial)
#' S3method(predict, gibbsite_partial)
#' S3method(residuals, gibbsite_partial)
#' S3method(simulate, gibbsite_partial)
#' S3method(vcov, gibbsite_partial)
#' S3method(window, gibbsite_partial)
#' S3method(summary, gibbsite_partial)
list2env(
  refused(generics_of_draws, "gibbsite_partial", "abort_no_draws"), topenv()
)

# What needs none.

#' @export
getCall.gibbsite_partial <- function(x, ...) getCall.gibbsite_fit(x)

#' @export
nobs.gibbsite_partial <- function(object, ...) nobs.gibbsite_fit(object)

#' @export
prior_summary.gibbsite_partial <- function(object, ...) {
  prior_summary.gibbsite_fit(object)
}

#' @export
update.gibbsite_partial <- function(object, ..., evaluate = TRUE) {
  call <- sys.call()
  call[[1L]] <- update.gibbsite_fit
  eval(call, parent.frame())
}
