# The help page of the simulators of the models.

#' Simulated data for the models
#'
#' Each function draws data from the model of its name: `sim_gmm()` for
#' [gibbs_gmm()], `sim_lm()` for [gibbs_lm()], `sim_hlm()` for [gibbs_hlm()],
#' `sim_bmf()` for [gibbs_bmf()], `sim_pmf()` for [gibbs_pmf()] and `sim_lda()`
#' for [gibbs_lda()]. Random numbers come from R's generator.
#'
#' * `sim_gmm()`: the component of each observation, and the observation from
#'   it.
#' * `sim_lm()`: standard normal predictors, and responses \eqn{y_i \sim
#'   \mathrm{N}(w_0 + x_i^\top w, \sigma^2)}{y_i ~ N(w_0 + x_i'w, sigma^2)}.
#' * `sim_hlm()`: groups with coefficients \eqn{w_j \sim \mathrm{N}(\mu,
#'   \Sigma)}{w_j ~ N(mu, Sigma)}, standard normal predictors, and responses
#'   \eqn{y_i \sim \mathrm{N}(w_{j0} + x_i^\top w_{j1}, \sigma^2)}{y_i ~
#'   N(w_j0 + x_i'w_j1, sigma^2)}, where \eqn{w_{j0}}{w_j0} is the intercept of
#'   the group of row \eqn{i} and \eqn{w_{j1}}{w_j1} are its slopes.
#' * `sim_bmf()`: factors \eqn{u_i, v_j \sim \mathrm{N}(0, c I)}{u_i, v_j ~ N(0,
#'   c I)}, intercepts from \eqn{\mathrm{N}(0, b^2)}{N(0, b^2)}, and ratings
#'   \eqn{r_{ij} \sim \mathrm{N}(m + u_i^\top v_j + a_i + b_j, \sigma^2)}{r_ij ~
#'   N(m + u_i'v_j + a_i + b_j, sigma2)} in cells taken at random, each at most
#'   once.
#' * `sim_pmf()`: factors from Gamma(0.5, 1) times the activity of a user and
#'   the popularity of an item, Gamma(3, 3) (shape, rate), all multiplied by one
#'   number that makes the mean expected count `mean`, and Poisson counts.
#' * `sim_lda()`: topics, the documents' shares of them, and words.
#'
#' @param n Whole number, at least 1: how many observations.
#' @param pi The weights of the `k` components, positive numbers that sum to 1.
#' @param mu `sim_gmm()`: the means, a `k x d` matrix (for one variable a vector
#'   of `k`). `sim_hlm()`: at least one number, the means of the intercept and
#'   the slopes; names of the slopes become those of the predictors.
#' @param Sigma `sim_gmm()`: the covariances, a `k x d x d` array, one `d x d`
#'   matrix for all components, or for one variable `k` (or one) variances.
#'   `sim_hlm()`: the covariances of the groups' coefficients, a symmetric
#'   positive definite matrix with a row for each number of `mu`, or a variance
#'   if `mu` is one number.
#' @param w The slopes, at least one number; names become those of the
#'   predictors.
#' @param sigma Number, 0 or more (default 1): the standard deviation of an
#'   observation.
#' @param intercept Number (default 0): \eqn{w_0}{w_0}.
#' @param groups Whole number, at least 1: how many groups.
#' @param size Whole numbers, at least 1: the observations of each group, one
#'   number for all groups or one for each.
#' @param users,items Whole numbers, at least 1: how many of them.
#' @param rank Whole number, at least 1: the length of each factor.
#' @param share Number above 0 and at most 1: the share of all cells that is
#'   rated (at least one cell is).
#' @param sigma2 Number, at least 0, default 0.25: the variance of a rating.
#' @param c Positive number, default `1 / sqrt(rank)`, with which
#'   \eqn{u_i^\top v_j}{u_i'v_j} has variance 1: the variance of each
#'   coordinate.
#' @param mean `sim_bmf()`: number, default 0, the mean \eqn{m} of all ratings.
#'   `sim_pmf()`: positive number, default 0.3, the mean of the expected counts.
#' @param biases Number, at least 0, default 0: standard deviation of the
#'   intercepts.
#' @param documents,k,terms Whole numbers, at least 1: how many documents,
#'   topics and terms.
#' @param tokens The number of tokens of each document: one whole number, or one
#'   for each document.
#' @param alpha,eta Positive numbers, one, or one for each topic (`alpha`) or
#'   term (`eta`): the concentrations.
#' @return
#'   * `sim_gmm()`: a matrix with `n` rows and `d` columns, with the components
#'     that the observations came from in its attribute `z`.
#'   * `sim_lm()`: a data frame with `n` rows, the response `y` and the
#'     predictors, `x1`, `x2`, ... if `w` has no names.
#'   * `sim_hlm()`: a data frame with a row for each observation: the response
#'     `y`, the predictors, `x1`, `x2`, ... if `mu` has no names, and the factor
#'     `group`. Its attribute `w` is the matrix of the groups' coefficients, one
#'     row a group.
#'   * `sim_bmf()`: a data frame with a row for each rating and the columns
#'     `user`, `item` (factors, whose levels are all users and all items) and
#'     `value`; its attributes `u` (`rank x users`) and `v` (`rank x items`) are
#'     the factors, `a` and `b` the intercepts, and `truth` is the mean of each
#'     rating.
#'   * `sim_pmf()`: a data frame with a row for each pair with a count above 0
#'     and the columns `user`, `item` (factors, whose levels are all users and
#'     all items) and `count`; its attributes are `theta` (`rank x users`),
#'     `beta` (`rank x items`) and `truth`, the expected counts (users x items).
#'   * `sim_lda()`: a list: `x` (documents x terms, a sparse `dgCMatrix` of
#'     counts), `theta` (documents x topics), `phi` (topics x terms) and `z`,
#'     the topic of each token in the order of [gibbs_lda()]: document after
#'     document, within a document by term.
#' @section Errors: `gibbsite_error_argument` for arguments out of range, sizes
#'   that do not fit and matrices that are not positive definite;
#'   `gibbsite_error_size` for a corpus larger than
#'   `options(gibbsite.max_draws_mb = )` allows.
#' @seealso [prior_predict()] for data from the prior of a fit, [sbc()].
#' @examples
#' set.seed(1)
#' x <- sim_gmm(200, c(0.3, 0.7), rbind(c(0, 0), c(4, 1)), diag(2))
#' plot(x, col = attr(x, "z"))
#'
#' data <- sim_lm(100, c(1, -2), sigma = 0.5, intercept = 3)
#' coef(gibbs_lm(y ~ x1 + x2, data, seed = 1))
#'
#' data <- sim_hlm(50, 10, mu = c(3, 1), Sigma = diag(c(1, 0.25)))
#' fit <- gibbs_hlm(y ~ x1 + (x1 | group), data, seed = 1)
#' plot(attr(data, "w")[, 2], coef(fit)$group[, "x1"])
#'
#' made <- sim_bmf(20, 10, rank = 2, share = 0.5)
#' head(made)
#' cor(made$value, attr(made, "truth"))
#'
#' corpus <- sim_lda(20, k = 3, terms = 30, tokens = 50)
#' dim(corpus$x)
#' rowSums(corpus$theta)[1:3]
#' @name simulated-data
NULL
