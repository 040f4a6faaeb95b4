# The help page of pictures by ggplot2: the methods are beside those of plot().

#' Plot a fit by ggplot2
#'
#' `ggplot2::autoplot()` of a fit gives the picture of `plot()` as a ggplot, to
#' which scales, themes and layers can be added. Types, defaults and numbers are
#' those of `plot()`; the theme is the current one. The data of the ggplot are
#' the table of the picture. The colours are one scale, whose values have the
#' names of the legend.
#'
#' - All fits: types of [plot.gibbsite_fit()].
#' - Mixtures: [plot.gibbs_gmm()]; with an unknown `k`
#'   [plot.gibbs_gmm_unknown()].
#' - Topics: [plot.gibbs_lda()].
#' - Ratings: [plot.gibbs_bmf()].
#' - Regressions: [plot.gibbsite_regression()].
#' - Normal approximations: [plot.gibbsite_laplace()].
#'
#' @param object A fit.
#' @param type,variables,level,topics,n,chain As in the `plot()` method.
#' @param newdata,variable,term,groups,per As in the `plot()` method.
#' @param ... Not used.
#' @return A ggplot.
#' @section Errors: As for the `plot()` method.
#' @seealso [plot.gibbsite_fit()], [plot.gibbsite_regression()],
#'   [plot.gibbs_gmm()], [plot.gibbs_lda()], [plot.gibbs_bmf()].
#' @examples
#' fit <- gibbs_gmm(faithful, 2, draws = 200, burnin = 100, chains = 2,
#'                  seed = 1, progress = FALSE)
#' if (requireNamespace("ggplot2", quietly = TRUE)) {
#'   print(ggplot2::autoplot(fit))
#'   ggplot2::autoplot(fit, "trace", variables = "pi") +
#'     ggplot2::ggtitle("Weights of two components")
#' }
#' @name autoplot
NULL
