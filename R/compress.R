# Fewer draws in the place of many: support points of the draws, or Stein
# thinning where the gradient of the log density is known. Both choose draws one
# after another, each the one that is best together with those chosen before.

#' Few draws that stand for many
#'
#' `compress_draws()` chooses `n` of the draws such that their means are close
#' to those of all draws. They are for computations that take long for each
#' draw, such as a simulation from it, or for a small file. For everything else
#' all draws are better.
#'
#' Without a gradient the draws are chosen by their energy distance from all
#' draws,
#' \deqn{\frac{2}{n N} \sum_{i=1}^n \sum_{m=1}^N \|x_i - y_m\| -
#'   \frac{1}{n^2} \sum_{i,j} \|x_i - x_j\|,}{
#'   2 / (n N) sum_im |x_i - y_m| - 1 / n^2 sum_ij |x_i - x_j|,}
#' up to a constant, which support points minimise (Mak and Joseph 2018). Here
#' it is minimised greedily, one draw after another, among the draws themselves,
#' divided by their standard deviations. The time grows with the square of the
#' number of draws: about a second for 4,000.
#'
#' With a gradient it is Stein thinning (Riabiz et al. 2022): the kernel Stein
#' discrepancy from the *density* is minimised in the same way, with the inverse
#' multiquadric kernel and the covariance of the draws. It also leaves out draws
#' of a burn-in that was too short. A draw may be chosen several times, and has
#' more weight then. It does not see if a mode far from the others has too many
#' draws or too few.
#'
#' What is kept are the means of smooth functions. Tail quantiles of few draws
#' are poor, and neighbouring draws of the result are not those of a chain:
#' effective sample sizes of it mean nothing. Of many variables a few draws can
#' represent only some; choose them by `variables`. Topics, components and
#' factors whose numbers change between draws are chosen as they are in the
#' columns.
#'
#' @param draws A fit, draws of the coda or the posterior package, or a vector
#'   or a matrix with a draw in each row.
#' @param n Whole number, from 1 to the number of draws: how many to choose.
#' @param gradient `NULL` (default), or a function of a draw of the `variables`
#'   that returns the gradient of the log density, on the scale of the draws.
#'   The density must be positive everywhere.
#' @param variables `NULL` (default: all; with a gradient and a fit of
#'   [mh_sample()] its parameters), or names or numbers of variables.
#' @return An object of class `compressed_draws`, an [empirical_distribution()]
#'   with its methods: `mean()`, `quantile()`, `as.data.frame()`, and others.
#'   [monte_carlo()] gives means of functions, with the error that independent
#'   points would have, which is too large here. Without weights
#'   `posterior::as_draws_df(x$x)` and `coda::mcmc(x$x)` are for other packages.
#'   Beside the points `x` and their `weights` it has
#'   * `chosen`: the numbers of the draws, of all chains one after another;
#'   * `means`: a data frame with a row for each variable: the `mean` of all
#'     draws, their `sd` and the Monte Carlo standard error `mcse` of the mean,
#'     the mean of the `compressed` draws, and that of `n` evenly spaced ones,
#'     `thinned`.
#'
#'   Printing it shows how far these means are from each other.
#' @section Errors: `gibbsite_error_argument` for draws that are not finite or
#'   have weights, and `n` above their number; with a gradient also for draws
#'   whose covariance is not positive definite. `gibbsite_error_numeric` if
#'   `gradient` fails or does not return a number for each variable.
#' @references
#' Mak S, Joseph VR (2018). Support points. *Annals of Statistics* 46,
#' 2562-2592. \doi{10.1214/17-AOS1629}
#'
#' Riabiz M, Chen WY, Cockayne J, Swietach P, Niederer SA, Mackey L, Oates CJ
#' (2022). Optimal thinning of MCMC output. *Journal of the Royal Statistical
#' Society B* 84, 1059-1081. \doi{10.1111/rssb.12503}
#' @seealso [monte_carlo()], [empirical_distribution()],
#'   [window()][window.gibbsite_fit] for thinning.
#' @examples
#' fit <- gibbs_lm(mpg ~ wt + hp, mtcars, draws = 250, seed = 1)
#' few <- compress_draws(fit, 20, variables = c("wt", "hp", "sigma"))
#' few
#' few$means
#'
#' # a normal density, with its gradient; the chain starts far away
#' walk <- mh_sample(function(x) -sum(x^2) / 2, c(a = 0, b = 0), burnin = 0,
#'   draws = 300, inits = list(c(8, 8)), chains = 1, random_walk(1), seed = 1
#' ) |> suppressWarnings()
#' compress_draws(walk, 20, function(x) -x, variables = c("a", "b"))
#' @export
compress_draws <- function(draws, n, gradient = NULL, variables = NULL) {
  call <- rlang::current_env()
  check_needed(draws = "a fit or draws", n = "how many draws to choose")
  source <- mc_source(draws, call)
  if (!is.null(source$weights)) {
    abort_argument("{.arg draws} must not have weights.")
  }
  check_function(gradient, "gradient", TRUE, call)
  x <- check_points(as.matrix(source$x), "draws", call)
  if (is.null(variables) && !is.null(gradient) && is_fit(draws)) {
    variables <- fit_part(draws, "model")$parameters
  }
  if (!is.null(variables)) {
    x <- x[, check_some_of(variables, colnames(x), call), drop = FALSE]
  }
  n <- check_count(n, max = nrow(x), max_why = "the number of draws")
  order <- if (is.null(gradient)) {
    energy_points(scaled_columns(x), n)
  } else {
    stein_points(x, n, gradient, is.null(dim(source$x)), call)
  }
  chosen <- sort(unique(order))
  weights <- tabulate(match(order, chosen)) / n
  points <- x[chosen, , drop = FALSE]
  new_empirical(
    points, weights, is.null(dim(source$x)), "compressed_draws",
    chosen = chosen,
    means = compressed_means(x, source$chains %||% 1L, points, weights, n)
  )
}

scaled_columns <- function(x) {
  sd <- column_sds(x)
  sweep(x, 2L, ifelse(is.finite(sd) & sd > 0, sd, 1), "/")
}

# ---- Energy distance

energy_points <- function(z, n) {
  z <- sweep(z, 2L, colMeans(z)) # distances are differences of squares
  square <- rowSums(z^2)
  to_point <- function(i) {
    sqrt(pmax(square - 2 * drop(z %*% z[i, ]) + square[[i]], 0))
  }
  far <- mean_distances(z, square)
  near <- numeric(nrow(z))
  order <- integer(n)
  for (i in seq_len(n)) {
    cost <- far - near / i
    cost[order[seq_len(i - 1L)]] <- Inf
    order[[i]] <- which.min(cost)
    near <- near + to_point(order[[i]])
  }
  order
}

# Of each point from all, in blocks of rows, so that no matrix of all pairs is
# in memory.
mean_distances <- function(z, square) {
  blocks <- row_blocks(length(square), 1, most = 256)
  unlist(tell_each(blocks, "Blocks of distances", function(block) {
    # as outer() has it, in half the time
    squares <- square[block] + rep(square, each = length(block)) -
      2 * tcrossprod(z[block, , drop = FALSE], z)
    rowMeans(sqrt(pmax(squares, 0)))
  }))
}

# ---- Kernel Stein discrepancy

# In coordinates whose covariance is the identity, z = L^-1 x, the Stein kernel
# of k(z, y) = (1 + |z - y|^2)^(-1/2) is, with r = z - y and q = 1 + |r|^2,
#   -3 |r|^2 q^(-5/2) + (d + r'(g_z - g_y)) q^(-3/2) + g_z'g_y q^(-1/2).
stein_points <- function(x, n, gradient, flat, call) {
  g <- mc_values(
    gradient, if (flat) x[, 1L] else x, FALSE, "gradient", call
  )
  if (ncol(g) != ncol(x)) {
    abort_numeric(
      c("{.arg gradient} must return {counted(ncol(x), 'number')}, one for each
         variable, not {ncol(g)}.",
        i = "{.arg variables} chooses variables; here they are
             {.val {colnames(x)}}."),
      call = call, class = "density"
    )
  }
  root <- tryCatch(chol(stats::cov(x)), error = function(cnd) {
    abort_argument(
      c("The covariance of {.arg draws} must be positive definite.",
        i = "Leave out constant variables, and those that are functions of
             others, by {.arg variables}."),
      call = call
    )
  })
  z <- x %*% backsolve(root, diag(ncol(x)))
  g <- g %*% t(root)
  total <- (ncol(z) + rowSums(g^2)) / 2
  order <- integer(n)
  for (i in seq_len(n)) {
    best <- order[[i]] <- which.min(total)
    total <- total + stein_kernel(z, g, best)
  }
  order
}

stein_kernel <- function(z, g, i) {
  r <- sweep(z, 2L, z[i, ])
  q <- 1 + rowSums(r^2)
  slope <- ncol(z) + rowSums(r * sweep(g, 2L, g[i, ]))
  -3 * (q - 1) * q^-2.5 + slope * q^-1.5 + drop(g %*% g[i, ]) / sqrt(q)
}

# ---- What is lost

compressed_means <- function(x, chains, points, weights, n) {
  data.frame(
    variable = colnames(x), mean = colMeans(x), sd = column_sds(x),
    # of a few draws posterior caps the ESS, with a warning
    mcse = suppressWarnings(apply(x, 2L, function(draws) {
      posterior::mcse_mean(matrix(draws, ncol = chains))
    })),
    compressed = colSums(points * weights),
    thinned = colMeans(x[evenly(nrow(x), n), , drop = FALSE]),
    row.names = NULL
  )
}

#' @exportS3Method
print_weighing.compressed_draws <- function(x) {
  means <- check_made(
    x, c("chosen", "means"), "compress_draws()", "x"
  )$means
  away <- function(estimate) {
    sizes <- abs(means[[estimate]] - means$mean) / means$sd
    format(sqrt(mean(sizes[which(means$sd > 0)]^2)), digits = 2)
  }
  writeLines(c(
    "Means differ from those of all draws, in standard deviations (root mean",
    paste0(
      "square), by ", away("compressed"), "; of as many evenly spaced draws ",
      "by ", away("thinned"), "."
    )
  ))
}
