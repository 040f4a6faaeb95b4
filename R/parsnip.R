# What loading the package changes, and the engine "gibbsite" of parsnip's
# models, registered when parsnip is loaded.

.onLoad <- function(libname, pkgname) { # nolint: object_name_linter.
  bind_late_generics(topenv())
  name_to_marginaleffects()
  setHook(
    packageEvent("parsnip", "onLoad"), function(...) register_engines()
  )
  if (isNamespaceLoaded("parsnip")) register_engines()
}

# marginaleffects takes models of other packages by this option alone.
name_to_marginaleffects <- function() {
  options(marginaleffects_model_classes = union(
    getOption("marginaleffects_model_classes"), "gibbsite_fit"
  ))
}

# Another session's registration may already be there, where the package is
# loaded again.
register_engines <- function() {
  of_parsnip <- function(name) getExportedValue("parsnip", name)
  known <- of_parsnip("get_from_env")("logistic_reg")
  if ("gibbsite" %in% known$engine) {
    return(invisible())
  }
  models <- list(
    list(
      model = "logistic_reg", mode = "classification", fun = "gibbs_logistic",
      predictions = engine_logistic
    ),
    list(
      model = "linear_reg", mode = "regression", fun = "gibbs_lm",
      predictions = engine_linear
    )
  )
  for (one in models) {
    place <- list(one$model, mode = one$mode, eng = "gibbsite")
    run <- function(name, ...) do.call(of_parsnip(name), c(place, list(...)))
    run("set_model_engine")
    of_parsnip("set_dependency")(
      one$model, eng = "gibbsite", pkg = "gibbsite", mode = one$mode
    )
    run("set_fit", value = list(
      interface = "formula", protect = c("formula", "data", "weights"),
      func = c(pkg = "gibbsite", fun = one$fun),
      defaults = list(progress = FALSE)
    ))
    run("set_encoding", options = list(
      predictor_indicators = "traditional", compute_intercept = TRUE,
      remove_intercept = TRUE, allow_sparse_x = FALSE
    ))
    for (type in names(one$predictions)) {
      run("set_pred", type = type, value = one$predictions[[type]])
    }
  }
}

# A call of predict() for parsnip, and what makes its table of the result.
engine_prediction <- function(..., post = NULL) {
  list(
    pre = NULL, post = post, func = c(fun = "predict"),
    args = list(
      object = quote(object$fit), newdata = quote(new_data), ...
    )
  )
}

engine_logistic <- list(
  class = engine_prediction(type = "class"),
  prob = engine_prediction(
    type = "response", post = function(x, object) {
      of_both_levels(list(1 - x, x), object$lvl)
    }
  ),
  conf_int = engine_prediction(
    type = "response", interval = "mean", level = quote(level),
    post = function(x, object) {
      lower <- of_both_levels(list(1 - x$upper, x$lower), object$lvl)
      upper <- of_both_levels(list(1 - x$lower, x$upper), object$lvl)
      names(lower) <- paste0(".pred_lower_", object$lvl)
      names(upper) <- paste0(".pred_upper_", object$lvl)
      # as parsnip has them: both ends of a level beside each other
      out <- cbind(lower, upper)[c(1L, 3L, 2L, 4L)]
      with_std_error(out, x, object, "conf_int")
    }
  ),
  raw = engine_prediction(type = "link")
)

engine_linear <- list(
  numeric = engine_prediction(type = "response", post = function(x, object) {
    unname(x)
  }),
  conf_int = engine_prediction(
    type = "response", interval = "mean", level = quote(level),
    post = function(x, object) engine_interval(x, object, "conf_int")
  ),
  pred_int = engine_prediction(
    type = "response", interval = "prediction", level = quote(level),
    post = function(x, object) engine_interval(x, object, "pred_int")
  ),
  raw = engine_prediction(type = "link")
)

engine_interval <- function(x, object, type) {
  out <- data.frame(.pred_lower = x$lower, .pred_upper = x$upper)
  with_std_error(out, x, object, type)
}

with_std_error <- function(out, x, object, type) {
  if (isTRUE(object$spec$method$pred[[type]]$extras$std_error)) {
    out$.std_error <- x$sd
  }
  out
}

of_both_levels <- function(values, levels) {
  stats::setNames(
    data.frame(unname(values[[1L]]), unname(values[[2L]])), levels
  )
}
