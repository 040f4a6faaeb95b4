# Draws of parameters and data from the prior alone: prior_predict().

#' Draws from the prior, and the data that it predicts
#'
#' Draws parameters from the prior of a model and data given the parameters. The
#' data show what the prior says, before any data are used: implausible values
#' are a reason to change it.
#'
#' @inheritParams sbc
#' @param n Whole number from 1 to 1e6 (default 100): how many draws.
#' @param seed `NULL` (default), or a number for [set.seed()]; the state of the
#'   generator is restored afterwards.
#' @param statistic A function of one set of simulated data that returns one
#'   number. Default: the mean of the numbers in it.
#' @param ... Further arguments of [graphics::hist()], such as `main`.
#' @param x An object made by `prior_predict()`.
#' @return An object of class `prior_prediction`, a list: \item{data}{a list of
#'   `n` sets of data, each in the form of the model's data: the responses of a
#'   regression, a matrix for [gibbs_gmm()], a data frame of ratings for
#'   [gibbs_bmf()], of counts for [gibbs_pmf()], a sparse matrix of counts for
#'   [gibbs_lda()], the list that `simulate_data` returns.} \item{quantities}{a
#'   matrix of `n` draws of parameters and other quantities, as [sbc()] uses
#'   them.} \item{observed}{the data of the call, in the same form, or `NULL`.}
#'   For a regression `as.matrix()` gives the simulated responses, draws x
#'   observations, for bayesplot's functions. `plot()` draws a histogram of a
#'   statistic of the simulated data, with a line at that of the data.
#' @section Errors: As for [sbc()].
#' @references
#' Gabry J, Simpson D, Vehtari A, Betancourt M, Gelman A (2019). Visualization
#' in Bayesian workflow. *Journal of the Royal Statistical Society A* 182,
#' 389-402. \doi{10.1111/rssa.12378}
#' @seealso [prior_summary()][prior_summary.gibbsite_fit] for the numbers of a
#'   prior, [sbc()] and [geweke_joint()], which draw from it too.
#' @examples
#' prior <- lm_prior(noise_shape = 3, noise_rate = 600)
#' predicted <- prior_predict(gibbs_lm(dist ~ speed, cars, prior), seed = 1)
#' predicted
#' plot(predicted, statistic = median)
#' @export
prior_predict <- function(model, n = 100, draw_prior = NULL,
                          simulate_data = NULL, seed = NULL) {
  call <- rlang::current_env()
  check_needed(model = "a call of a sampler, or a fit")
  n <- check_count(n, max = 1e6)
  seed <- check_seed(seed)
  inner <- joint_model(rlang::enquo(model), draw_prior, simulate_data, call)
  if (!is.null(seed)) {
    generator <- save_generator()
    on.exit(restore_generator(generator))
    set.seed(seed)
  }
  check_unlocked(call)
  draws <- of_call(lapply(seq_len(n), function(i) prior_draw(inner)), call)
  structure(
    list(
      data = lapply(draws, `[[`, "data"),
      quantities = do.call(rbind, lapply(draws, `[[`, "quantities")),
      observed = observed_data(inner), name = inner$name
    ),
    class = "prior_prediction"
  )
}

prior_draw <- function(model) {
  joint <- draw_joint(model)
  list(
    data = shown_data(joint$model, joint$data),
    quantities = model_quantities(joint$model, joint$state)
  )
}

# The data of a model, in the form in which its data are shown.
observed_data <- function(model) {
  if (!is.null(model$arguments_at)) {
    return(model[[model$arguments_at]])
  }
  frame <- model$frame
  own <- if (!is.null(frame$success)) {
    list(y = cbind(frame$success, frame$total - frame$success))
  } else if (!is.null(frame)) {
    frame$counts %||% frame$y
  } else {
    model$data$x %||% model$data$value %||% model$data$word
  }
  shown_data(model, own)
}

# The numbers of one set of data.
data_numbers <- function(data) {
  values <- if (is.data.frame(data)) {
    data$value
  } else if (is.list(data)) {
    unlist(Filter(is.numeric, data))
  } else {
    as.double(data)
  }
  values[is.finite(values)]
}

check_prior_prediction <- function(x, call) {
  parts <- c("data", "quantities", "observed", "name")
  if (!is.list(x) || !all(parts %in% names(x)) || !is.list(x$data) ||
        !is.matrix(x$quantities) || !is.numeric(x$quantities)) {
    abort_argument(
      "{.arg x} has the class of a prior prediction, but not its parts.",
      call = call, class = "forged"
    )
  }
  x
}

#' @rdname prior_predict
#' @export
print.prior_prediction <- function(x, ...) {
  x <- check_prior_prediction(x, rlang::current_env())
  writeLines(c(
    paste0("<prior_prediction> ", counted(length(x$data), "draw"),
           " from the prior of ", x$name, "()"), ""
  ))
  table <- t(apply(x$quantities, 2L, stats::quantile, c(0.05, 0.5, 0.95)))
  table <- data.frame(table, check.names = FALSE)
  print_table(rownames(table), show_numbers(
    table, table[["50%"]], table[["95%"]] - table[["5%"]]
  ))
  invisible(x)
}

#' @rdname prior_predict
#' @export
plot.prior_prediction <- function(x, statistic = NULL, ...) {
  if (has_short_names()) return(with_whole_names())
  call <- rlang::current_env()
  x <- check_prior_prediction(x, call)
  check_function(statistic, "statistic", TRUE, call)
  words <- if (is.null(statistic)) {
    "mean of the data"
  } else {
    words <- deparse(substitute(statistic), nlines = 1L)
    paste(sub("^[[:alnum:].]+::", "", words), "of the data")
  }
  f <- statistic %||% function(data) mean(data_numbers(data))
  values <- vapply(x$data, function(data) one_statistic(f, data, call), 0)
  observed <- if (length(x$observed) > 0L) one_statistic(f, x$observed, call)
  given <- list(...)
  bars <- graphics::hist(values[is.finite(values)], given$breaks %||% 30,
                         plot = FALSE)
  draw_base(picture(
    data.frame(value = values), list(
      picture_layer("rect", data.frame(
        xmin = bars$breaks[-length(bars$breaks)], xmax = bars$breaks[-1L],
        ymin = 0, ymax = bars$counts
      ), "draw from the prior"),
      picture_layer("vline", data.frame(x = as.double(observed)), "data")
    ), rbind(
      plot_key("draw from the prior", "white", fill = "grey80"),
      plot_key("data", gibbsite_palette(2L)[[2L]], lty = 1,
               shown = is.finite(observed %||% NA))
    ), x = picture_axis(words), y = picture_axis(
      "draws from the prior", floor = TRUE
    ), title = "Prior prediction"
  ), given[setdiff(names(given), "breaks")])
  invisible(x)
}

one_statistic <- function(f, data, call) {
  value <- tryCatch(f(data), error = function(cnd) {
    abort_argument(
      "{.arg statistic} failed.", call = call, parent = cnd,
      class = "user_function"
    )
  })
  if (!is.numeric(value) || length(value) != 1L) {
    given <- describe(value)
    abort_argument(
      "{.arg statistic} must return one number, not {given}.", call = call
    )
  }
  as.double(value)
}

#' @rdname prior_predict
#' @export
as.matrix.prior_prediction <- function(x, ...) {
  x <- check_prior_prediction(x, rlang::current_env())
  plain <- vapply(x$data, function(data) {
    is.numeric(data) && is.null(dim(data))
  }, NA)
  if (!all(plain)) {
    abort_argument(
      "The simulated data of {.fn {x$name}} are not vectors: see
       {.code $data}."
    )
  }
  do.call(rbind, x$data)
}
