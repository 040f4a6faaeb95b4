# Bayesian matrix factorisation: gibbs_bmf(), its priors, and what the driver
# asks in words.  The model object, its state and the C entries are in
# bmf-model.R; what a fit answers is in bmf-predict.R, bmf-recommend.R and
# bmf-answers.R.

# ---- the priors ----------------------------------------------------------

#' Priors of a Bayesian matrix factorisation
#'
#' The priors of [gibbs_bmf()], for the factors \eqn{u_i} of users and
#' \eqn{v_j} of items, and for the precision \eqn{\beta} (one over the variance)
#' of a rating about \eqn{u_i^\top v_j}{u_i'v_j}.
#'
#' `bmf_fixed()`, nothing but the factors unknown (Paisley, eq. 16 and 28):
#' \deqn{u_i \sim \mathrm{N}(0, c I), \quad v_j \sim \mathrm{N}(0, c I), \quad
#'   1 / \beta = \sigma^2.}{
#'   u_i ~ N(0, c I), v_j ~ N(0, c I), 1/beta = sigma2.}
#'
#' `bmf_gamma()`, one precision for all users and one for all items (Rai;
#' Gamma(shape, rate)):
#' \deqn{u_i \sim \mathrm{N}(0, \lambda_u^{-1} I), \quad
#'   v_j \sim \mathrm{N}(0, \lambda_v^{-1} I),}{
#'   u_i ~ N(0, I / lambda_u), v_j ~ N(0, I / lambda_v),}
#' \deqn{\lambda_u \sim \mathrm{Gamma}(a, b), \quad
#'   \lambda_v \sim \mathrm{Gamma}(c, d), \quad
#'   \beta \sim \mathrm{Gamma}(e, f).}{
#'   lambda_u ~ Gamma(a, b), lambda_v ~ Gamma(c, d), beta ~ Gamma(e, f).}
#'
#' `bmf_wishart()`, mean and full precision matrix of users and of items unknown
#' (Salakhutdinov and Mnih 2008):
#' \deqn{u_i \sim \mathrm{N}(\mu_u, \Lambda_u^{-1}), \quad
#'   \mu_u \mid \Lambda_u \sim \mathrm{N}(\mu_0, (\kappa_0 \Lambda_u)^{-1}),
#'   \quad \Lambda_u \sim \mathrm{W}(\nu_0, W_0), \quad
#'   \beta \sim \mathrm{Gamma}(e, f),}{
#'   u_i ~ N(mu_u, Lambda_u^-1), mu_u | Lambda_u ~ N(mu0, (kappa0
#'   Lambda_u)^-1), Lambda_u ~ W(nu0, W0), beta ~ Gamma(e, f),}
#' and independently the same for the items. \eqn{\mathrm{W}(\nu_0, W_0)} has
#' mean \eqn{\nu_0 W_0} and density proportional to
#' \eqn{|\Lambda|^{(\nu_0 - D - 1)/2} \exp(-\mathrm{tr}(W_0^{-1}\Lambda)/2)}.
#'
#' Here \eqn{D} is the rank, or the rank and 1 with `biases = TRUE`: the
#' intercept of a user or an item is one more coordinate of the same normal
#' distribution, the last one.
#'
#' Fields left `NULL` are completed at the fit from \eqn{s^2}{s2}, the mean
#' square of the ratings (about their mean with `center = TRUE`), and
#' [prior_summary()] shows the values used. They are weak, and such that
#' \eqn{u_i^\top v_j}{u_i'v_j} has about the variance \eqn{s^2}{s2} before the
#' data:
#'
#' * `c`: \eqn{\sqrt{s^2 / rank}}{sqrt(s2 / rank)}; `sigma2`:
#'   \eqn{s^2 / 2}{s2 / 2};
#' * `a`, `c` (of `bmf_gamma()`), `e`: 2; `b`, `d`: \eqn{\sqrt{s^2 /
#'   rank}}{sqrt(s2 / rank)}, `f`: \eqn{s^2 / 2}{s2 / 2}, which are (with
#'   shapes of 2) the prior means of the variances
#'   \eqn{1/\lambda_u}{1/lambda_u}, \eqn{1/\lambda_v}{1/lambda_v} and
#'   \eqn{1/\beta}{1/beta};
#' * `mu0`: 0; `kappa0`: 2; `nu0`: \eqn{D + 2}; `W0`: diagonal, for a factor
#'   \eqn{\sqrt{rank / s^2}}{sqrt(rank / s2)} and for an intercept \eqn{2 /
#'   s^2}{2 / s2}, so that the prior mean of \eqn{\Lambda^{-1}}{Lambda^-1} is
#'   \eqn{W_0^{-1}}{W0^-1}.
#'
#' @param c For `bmf_fixed()`: `NULL` or a positive number, the prior variance
#'   of each coordinate. For `bmf_gamma()`: `NULL` or a positive number, the
#'   shape for \eqn{\lambda_v}{lambda_v}.
#' @param sigma2 `NULL` or a positive number: the variance of a rating, in
#'   squared units of the ratings.
#' @param a,b,d `NULL` or positive numbers: shape `a` and rate `b` for
#'   \eqn{\lambda_u}{lambda_u}, rate `d` for \eqn{\lambda_v}{lambda_v}.
#' @param e,f `NULL` or positive numbers: shape and rate for
#'   \eqn{\beta}{beta}; the rate has squared units of the ratings.
#' @param mu0 `NULL`, one number (for every coordinate) or `D` numbers.
#' @param kappa0 `NULL` or a positive number: how many users (items) the prior
#'   mean counts for.
#' @param W0 `NULL`, one positive number (a multiple of the identity), `D`
#'   positive numbers (a diagonal) or a symmetric positive definite `D x D`
#'   matrix: the scale matrix of the Wishart distribution.
#' @param nu0 `NULL` or a number above `D - 1`: degrees of freedom.
#' @return An object of class `bmf_prior` (and `bmf_fixed`, `bmf_gamma` or
#'   `bmf_wishart`); printing it shows the model.
#' @section Errors:
#' A value of the wrong type or out of its range is an error of class
#' `gibbsite_error_argument`; sizes are compared with the rank at the fit.
#' @references
#' Salakhutdinov R, Mnih A (2008). Bayesian probabilistic matrix factorization
#' using Markov chain Monte Carlo. *Proceedings of the 25th International
#' Conference on Machine Learning*, 880-887. \doi{10.1145/1390156.1390267}
#'
#' Paisley J. *EECS E6892: Bayesian Models for Machine Learning*, lecture 3.
#'
#' Rai P. *CS772A: Probabilistic Machine Learning*, "Bayesian matrix
#' factorization".
#' @examples
#' bmf_wishart()
#' bmf_gamma(e = 3, f = 2)
#' bmf_fixed(c = 0.5, sigma2 = 1)
#' @name bmf_prior
NULL

#' @rdname bmf_prior
#' @export
bmf_wishart <- function(mu0 = NULL, kappa0 = NULL,
                        W0 = NULL, # nolint: object_name_linter.
                        nu0 = NULL, e = NULL, f = NULL) {
  call <- rlang::current_env()
  mu0 <- check_numeric_vector(mu0, null_ok = TRUE)
  check_no_names(mu0, "mu0", call)
  if (is.matrix(W0)) {
    W0 <- check_spd_matrix( # nolint: object_name_linter.
      W0, nrow(W0), arg = "W0", call = call
    )
  } else {
    W0 <- check_numeric_vector( # nolint: object_name_linter.
      W0, lower = 0, lower_open = TRUE, null_ok = TRUE
    )
    check_no_names(W0, "W0", call)
  }
  new_bmf_prior("bmf_wishart", list(
    mu0 = mu0, kappa0 = check_positive(kappa0, "kappa0", call), W0 = W0,
    nu0 = check_positive(nu0, "nu0", call), e = check_positive(e, "e", call),
    f = check_positive(f, "f", call)
  ))
}

#' @rdname bmf_prior
#' @export
bmf_gamma <- function(a = NULL, b = NULL, c = NULL, d = NULL, e = NULL,
                      f = NULL) {
  call <- rlang::current_env()
  given <- list(a = a, b = b, c = c, d = d, e = e, f = f)
  new_bmf_prior("bmf_gamma", stats::setNames(lapply(names(given), function(x) {
    check_positive(given[[x]], x, call)
  }), names(given)))
}

#' @rdname bmf_prior
#' @export
bmf_fixed <- function(c = NULL, sigma2 = NULL) {
  call <- rlang::current_env()
  new_bmf_prior("bmf_fixed", list(
    c = check_positive(c, "c", call),
    sigma2 = check_positive(sigma2, "sigma2", call)
  ))
}

# Coordinates have no names: those of a vector are of something else.
check_no_names <- function(x, arg, call) {
  if (!is.null(names(x))) {
    abort_argument(
      c("{.arg {arg}} must not have names: the coordinates have none.",
        i = "Use {.fn unname} if its order is meant."),
      call = call
    )
  }
}

new_bmf_prior <- function(class, fields) {
  structure(fields, class = c(class, "bmf_prior", "gibbsite_prior"))
}

check_positive <- function(x, arg, call) {
  check_number(
    x, lower = 0, lower_open = TRUE, null_ok = TRUE, arg = arg, call = call
  )
}

# Which of the makers made it: what has the class alone goes by the last.
bmf_makers <- list(
  bmf_fixed = bmf_fixed, bmf_gamma = bmf_gamma, bmf_wishart = bmf_wishart
)

bmf_prior_kind <- function(prior) {
  c(intersect(class(prior), names(bmf_makers)), "bmf_wishart")[[1]]
}

bmf_prior_lines <- list(
  bmf_fixed = c(
    "r_ij ~ N(u_i'v_j, sigma2)",
    "u_i  ~ N(0, c I)      v_j ~ N(0, c I)"
  ),
  bmf_gamma = c(
    "r_ij ~ N(u_i'v_j, 1 / beta)",
    "u_i  ~ N(0, I / lambda_u)      v_j ~ N(0, I / lambda_v)",
    "lambda_u ~ Gamma(a, b)         lambda_v ~ Gamma(c, d)   (shape, rate)",
    "beta ~ Gamma(e, f)"
  ),
  bmf_wishart = c(
    "r_ij ~ N(u_i'v_j, 1 / beta)",
    "u_i  ~ N(mu_u, Lambda_u^-1)    v_j ~ N(mu_v, Lambda_v^-1)",
    "mu_x | Lambda_x ~ N(mu0, (kappa0 Lambda_x)^-1)          for x = u, v",
    "Lambda_x ~ W(nu0, W0)          (degrees of freedom, scale; mean nu0 W0)",
    "beta ~ Gamma(e, f)             (shape, rate)"
  )
)

#' @export
format.bmf_prior <- function(x, ...) {
  make <- bmf_makers[[bmf_prior_kind(x)]]
  check_made(x, names(formals(make)), paste0(bmf_prior_kind(x), "()"))
  fields <- unclass(x)
  attributes(fields) <- list(names = names(x))
  names <- format(names(fields))
  c(
    bmf_prior_lines[[bmf_prior_kind(x)]],
    vapply(seq_along(fields), function(k) {
      paste0("  ", names[[k]], " = ", format_prior_value(fields[[k]]))
    }, "")
  )
}

format_prior_value <- function(v) {
  if (is.null(v)) {
    return("from the data")
  }
  plain <- function(v) {
    if (length(v) > 1 && all(v == v[[1]])) {
      return(paste0(format(signif(v[[1]], 4)), " (", length(v), " times)"))
    }
    shown <- vapply(signif(utils::head(v, 12), 4), format, "")
    paste(c(shown, if (length(v) > 12) "..."), collapse = ", ")
  }
  if (!is.matrix(v)) {
    return(plain(v))
  }
  if (all(v[upper.tri(v)] == 0)) {
    return(paste0("diag(", plain(diag(v)), ")"))
  }
  if (nrow(v) > 4) {
    return(paste0(nrow(v), " x ", nrow(v), " matrix, diagonal ",
                  plain(diag(v))))
  }
  rows <- apply(signif(v, 4), 1, paste, collapse = ", ")
  paste0("[", paste(rows, collapse = "; "), "]")
}

#' @export
print.bmf_prior <- function(x, ...) {
  writeLines(format(x))
  invisible(x)
}

check_bmf_prior <- function(prior, call) {
  if (!inherits(prior, "bmf_prior") || !inherits(prior, names(bmf_makers))) {
    given <- describe(prior)
    hint <- if (is.function(prior)) "Call it: {.code prior = bmf_wishart()}."
    abort_argument(
      c(
        "{.arg prior} must be made by {.fn bmf_wishart}, {.fn bmf_gamma} or
         {.fn bmf_fixed}, not {given}.",
        i = hint
      ),
      call = call
    )
  }
}

# The prior with every field filled in, or an error of the user's call that
# names the field.  spread: s2 above.
complete_bmf_prior <- function(prior, spread, rank, biases, call = NULL) {
  check_bmf_prior(prior, call)
  kind <- bmf_prior_kind(prior)
  prior <- remade(prior, bmf_makers[[kind]], paste0(kind, "()"), call = call)
  width <- sqrt(spread / rank)
  if (kind == "bmf_fixed") {
    prior$c <- prior$c %||% width
    prior$sigma2 <- prior$sigma2 %||% (spread / 2)
    return(prior)
  }
  prior$e <- prior$e %||% 2
  prior$f <- prior$f %||% (spread / 2)
  if (kind == "bmf_gamma") {
    return(complete_bmf_gamma(prior, width))
  }
  complete_bmf_wishart(prior, spread, rank, biases, call)
}

complete_bmf_gamma <- function(prior, width) {
  defaults <- list(a = 2, b = width, c = 2, d = width)
  for (field in names(defaults)) {
    prior[[field]] <- prior[[field]] %||% defaults[[field]]
  }
  prior
}

complete_bmf_wishart <- function(prior, spread, rank, biases, call) {
  size <- rank + biases
  width <- sqrt(spread / rank)
  scales <- c(rep(1 / width, rank), if (biases) 2 / spread)
  why <- if (biases) "`rank` + 1, with biases" else "`rank`"
  prior$mu0 <- as_size(prior$mu0 %||% 0, size, "mu0", why, call)
  prior$kappa0 <- prior$kappa0 %||% 2
  prior$nu0 <- prior$nu0 %||% (size + 2)
  if (prior$nu0 <= size - 1) {
    abort_argument(
      c(
        "`nu0` of `prior` must be above {size - 1} for {size} coordinate{?s}
         ({why}), not {prior$nu0}.",
        i = "The Wishart distribution is proper for larger `nu0` only."
      ),
      call = call
    )
  }
  scale <- prior$W0 %||% scales
  if (is.matrix(scale)) {
    if (nrow(scale) != size) {
      abort_argument(
        "`W0` of `prior` must be {size} x {size} ({why}), not {nrow(scale)} x
         {ncol(scale)}.",
        call = call
      )
    }
  } else {
    scale <- diag(as_size(scale, size, "W0", why, call), size)
  }
  prior$W0 <- scale # nolint: object_name_linter.
  prior
}

as_size <- function(value, size, field, why, call) {
  if (!length(value) %in% c(1L, size)) {
    abort_argument(
      "`{field}` of `prior` must have length 1 or {size} ({why}), not
       {length(value)}.",
      call = call
    )
  }
  rep_len(as.double(value), size)
}

# s2: the mean square of the ratings about `centre`; 1 where it is 0.
rating_spread <- function(value, centre) {
  spread <- mean((value - centre)^2)
  if (spread > 0) {
    return(spread)
  }
  inform_gibbsite(
    c(
      "All ratings are {if (centre == 0) 0 else 'the same'}: the default prior
       takes 1 for their spread.",
      i = "Give the fields of `prior` in the ratings' unit."
    ),
    class = "constant"
  )
  1
}

# ---- the sampler ---------------------------------------------------------

#' Bayesian matrix factorisation by Gibbs sampling
#'
#' Draws from the posterior of a low-rank model of ratings, or of any table of
#' numbers of which few cells were observed. With \eqn{\Omega}{Omega} the
#' observed pairs of a user \eqn{i = 1, \dots, N} and an item
#' \eqn{j = 1, \dots, M}:
#' \deqn{r_{ij} \sim \mathrm{N}(u_i^\top v_j, 1 / \beta), \quad
#'   (i, j) \in \Omega, \quad u_i, v_j \in R^{rank},}{
#'   r_ij ~ N(u_i'v_j, 1/beta), (i, j) in Omega, u_i, v_j in R^rank,}
#' with one of the priors of [bmf_prior]. The default is that of Salakhutdinov
#' and Mnih (2008),
#' \deqn{u_i \sim \mathrm{N}(\mu_u, \Lambda_u^{-1}), \quad
#'   \mu_u \mid \Lambda_u \sim \mathrm{N}(\mu_0, (\kappa_0 \Lambda_u)^{-1}),
#'   \quad \Lambda_u \sim \mathrm{W}(\nu_0, W_0),}{
#'   u_i ~ N(mu_u, Lambda_u^-1), mu_u | Lambda_u ~ N(mu0, (kappa0
#'   Lambda_u)^-1), Lambda_u ~ W(nu0, W0),}
#' the same for the items, and \eqn{\beta \sim \mathrm{Gamma}(e, f)}{beta ~
#' Gamma(e, f)} (shape, rate): unlike in their paper the precision of the
#' ratings is learnt. The density that the chain leaves invariant is, up to a
#' constant,
#' \deqn{\prod_{(i,j) \in \Omega} \mathrm{N}(r_{ij} \mid u_i^\top v_j, 1/\beta)
#'   \prod_i p(u_i \mid \mu_u, \Lambda_u) \prod_j p(v_j \mid \mu_v, \Lambda_v)
#'   \, p(\mu_u, \Lambda_u) \, p(\mu_v, \Lambda_v) \, p(\beta).}{
#'   prod_{(i,j) in Omega} N(r_ij | u_i'v_j, 1/beta) prod_i p(u_i | mu_u,
#'   Lambda_u) prod_j p(v_j | mu_v, Lambda_v) p(mu_u, Lambda_u) p(mu_v,
#'   Lambda_v) p(beta).}
#'
#' @section Conditionals:
#' Each user given the rest (Paisley eq. 29 with prior mean and precision
#' \eqn{\mu_u, \Lambda_u}{mu_u, Lambda_u}; for the other priors \eqn{\mu_u =
#' 0}{mu_u = 0} and \eqn{\Lambda_u = \lambda_u I}{Lambda_u = lambda_u I} or
#' \eqn{I / c}):
#' \deqn{u_i \mid \cdot \sim \mathrm{N}(m_i, P_i^{-1}), \quad
#'   P_i = \Lambda_u + \beta \sum_{j : (i,j) \in \Omega} v_j v_j^\top, \quad
#'   m_i = P_i^{-1} \Bigl(\Lambda_u \mu_u + \beta \sum_j r_{ij} v_j\Bigr),}{
#'   u_i | . ~ N(m_i, P_i^-1), P_i = Lambda_u + beta sum_j v_j v_j',
#'   m_i = P_i^-1 (Lambda_u mu_u + beta sum_j r_ij v_j),}
#' and each item in the same way. With \eqn{\bar u}{ubar} the mean of the users
#' and \eqn{S = \sum_i (u_i - \bar u)(u_i - \bar u)^\top}{S = sum_i (u_i -
#' ubar)(u_i - ubar)'}:
#' \deqn{\Lambda_u \mid U \sim \mathrm{W}\Bigl(\nu_0 + N, \Bigl[W_0^{-1} + S +
#'   \frac{\kappa_0 N}{\kappa_0 + N} (\bar u - \mu_0)(\bar u - \mu_0)^\top
#'   \Bigr]^{-1}\Bigr), \quad
#'   \mu_u \mid \Lambda_u, U \sim \mathrm{N}\Bigl(\frac{\kappa_0 \mu_0 + N
#'   \bar u}{\kappa_0 + N}, [(\kappa_0 + N) \Lambda_u]^{-1}\Bigr).}{
#'   Lambda_u | U ~ W(nu0 + N, [W0^-1 + S + kappa0 N / (kappa0 + N) (ubar -
#'   mu0)(ubar - mu0)']^-1), mu_u | Lambda_u, U ~ N((kappa0 mu0 + N ubar) /
#'   (kappa0 + N), [(kappa0 + N) Lambda_u]^-1).}
#' With [bmf_gamma()] instead \eqn{\lambda_u \mid U \sim \mathrm{Gamma}(a + N
#' D / 2, b + \sum_i u_i^\top u_i / 2)}{lambda_u | U ~ Gamma(a + N D / 2, b +
#' sum_i u_i'u_i / 2)}. The precision of the ratings, over all
#' \eqn{|\Omega|}{|Omega|} of them:
#' \deqn{\beta \mid \cdot \sim \mathrm{Gamma}\Bigl(e + |\Omega| / 2, f +
#'   \tfrac12 \sum_{(i,j) \in \Omega} (r_{ij} - u_i^\top v_j)^2\Bigr).}{
#'   beta | . ~ Gamma(e + |Omega| / 2, f + sum (r_ij - u_i'v_j)^2 / 2).}
#'
#' @section Mean and intercepts:
#' With `center = TRUE` the mean of the observed ratings is taken off before,
#' and put back in all predictions. It is a plug-in: a number from the data that
#' the model takes as known, outside the posterior. `center = FALSE` leaves the
#' ratings as they are.
#'
#' With `biases = TRUE` each user and each item has an intercept, \eqn{r_{ij}
#' \sim \mathrm{N}(u_i^\top v_j + a_i + b_j, 1/\beta)}{r_ij ~ N(u_i'v_j + a_i +
#' b_j, 1/beta)}. An intercept is one more coordinate, the last one, of the same
#' Gaussian model: \eqn{(u_i, a_i)} has the prior written above for \eqn{u_i},
#' in \eqn{D = rank + 1} dimensions, and is drawn at once.
#'
#' @section Ratings:
#' * A data frame with a row for each rating. Its columns are `user`, `item` and
#'   `value` (or `rating`), or are named by the arguments `user`, `item` and
#'   `value`. Ids may be of any kind; all levels of a factor count, also those
#'   that do not occur.
#' * A formula `value ~ user + item`, with `data`.
#' * A matrix with users in rows and items in columns, `NA` where there is no
#'   rating.
#' * A sparse matrix of the Matrix package: its stored entries are the ratings,
#'   zeros among them; or a `simple_triplet_matrix` of the slam package.
#' * An object that holds such a matrix in its slot `data`, as recommenderlab's
#'   `realRatingMatrix` does.
#'
#' A rating that is `NA` was not observed; `NaN` and infinite ones are errors.
#' A pair may be rated more than once: these are repeated measurements, and a
#' message says how many. Users and items without a rating are kept, and what is
#' said of them comes from the prior (a message says so too).
#'
#' @section Rotations:
#' The likelihood depends on users and items through \eqn{u_i^\top v_j}{u_i'v_j}
#' alone, so that factors are known only up to a rotation (up to any invertible
#' matrix, but for the prior), and a chain is free to move between rotations.
#' Draws are returned as they came. R-hat and effective sample sizes are judged
#' on quantities that do not depend on it: the precision of the ratings, the
#' error in the data, the log joint density and the predictions at some observed
#' cells. [summary()][summary.gibbs_bmf] brings the factors into a canonical
#' form, and [factors_of()] gives them with their ids.
#'
#' Users and items can also be scaled against each other, \eqn{u_i \to A
#' u_i}{u_i -> A u_i} and \eqn{v_j \to A^{-\top} v_j}{v_j -> A^-T v_j}, which
#' only the prior notices, and along which a chain that draws one side given the
#' other moves slowly. A sweep therefore draws such moves too, after the items
#' and before the hyperparameters (generalised Gibbs, Liu and Sabatti 2000): with
#' [bmf_wishart()] \eqn{A} stretches random directions, as many as factors but
#' at most 16, by factors from a slice step (Neal 2003), and \eqn{\mu}{mu} and
#' \eqn{\Lambda}{Lambda} go along; with [bmf_gamma()] \eqn{A = c I}, with
#' \eqn{\lambda_u / c^2}{lambda_u / c^2} and \eqn{\lambda_v c^2}{lambda_v c^2}.
#' With `biases` a constant also goes from the intercepts of one side to those of
#' the other. With [bmf_fixed()] the scales are all but known, and only that
#' constant moves. The posterior stays the same. The size of one side alone
#' (`lambda_u`, `trace_u`, `logdet_u`, `norm_mu_u` and those of the items) is not
#' judged; the summary shows its R-hat.
#'
#' @section Stored quantities:
#' See [summary.gibbs_bmf()] for what they mean:
#' `beta` (not with [bmf_fixed()]); `lambda_u`, `lambda_v` ([bmf_gamma()]);
#' `trace_u`, `logdet_u`, `norm_mu_u` and the same for `v` ([bmf_wishart()]:
#' trace and log determinant of \eqn{\Lambda}{Lambda}, length of
#' \eqn{\mu}{mu}); `rmse` (of the ratings about \eqn{u_i^\top v_j}{u_i'v_j} at
#' this draw), `log_joint` (log density of ratings and parameters, every
#' constant included); `cell[1]`, `cell[2]`, ... (the mean of the rating in some
#' observed cells, spread evenly over the data); with `keep = "u"` and `"v"`
#' every draw of the factors, `u[k,i]` and `v[k,j]` (coordinate first).
#'
#' For prediction a part of the draws of all factors is stored as the chains
#' run: those whose number is a multiple of the least power of 2 with which
#' there are at most 200 in a chain (fewer where
#' `options(gibbsite.max_draws_mb)` asks for it). Extending a fit thins them
#' again in the same way.
#'
#' @section Choosing the rank:
#' Hold some ratings back at random, give them as `predict_at`, and compare
#' fits of several ranks by `held_out(fit)`: root mean square error, mean log
#' predictive density and coverage. The prior shrinks what is not needed, so
#' that a rank too large costs time more than accuracy. [loo()][loo::loo] is
#' also there, but with two factors learnt from few ratings each its
#' approximation is often poor (it says so); held-out ratings are safer.
#'
#' @section Search for the mode:
#' `method = "icm"` (iterated conditional modes) sets each block to the mode of
#' its conditional in place of a draw: alternating least squares with the same
#' prior. Its result is a point, not a posterior, of class `gibbsite_map`: see
#' [bmf_map].
#'
#' @section Starting values:
#' By default each chain starts at factors drawn from normal distributions on
#' its own stream, wider than the posterior. An entry of `inits` is a list with
#' any of `u` (`D x N`), `v` (`D x M`), `beta`, and, as the prior has them,
#' `lambda_u`, `lambda_v`; what is missing is drawn.
#'
#' @param ratings The ratings: a data frame, a formula, a matrix or a sparse
#'   matrix, see the section on ratings.
#' @param rank Whole number from 1 to 200, default 10: the length of each factor
#'   (of \eqn{u_i} and \eqn{v_j}).
#' @param prior The prior, made by [bmf_wishart()] (default), [bmf_gamma()] or
#'   [bmf_fixed()].
#' @param data For a formula: the data frame with its variables.
#' @param user,item,value For a data frame: the names of its columns. `NULL`
#'   (default): `user`, `item`, and `value` or `rating`.
#' @param center `TRUE` (default) or `FALSE`: take the mean of the observed
#'   ratings off before, and put it back.
#' @param biases `TRUE` or `FALSE` (default): an intercept for each user and
#'   each item.
#' @param method `"gibbs"` (default), or `"icm"` to search for a mode.
#' @param predict_at `NULL`, or a data frame with pairs of users and items, in
#'   columns called as those of the ratings: their predictions are averaged over
#'   every kept draw as the chains run, see [predicted_at()]. A third column
#'   with ratings held back is compared with them by [held_out()]. Ids that the
#'   ratings do not have are added as users or items without a rating.
#' @param keep `NULL`, or any of `"u"` and `"v"`: store every draw of the
#'   factors. A run whose draws would need more than
#'   `options(gibbsite.max_draws_mb)` is refused.
#' @inheritParams running
#' @return An object of class `gibbs_bmf`, a `gibbsite_fit` and a
#'   [coda::mcmc.list]: one matrix of draws a chain. See
#'   [predict.gibbs_bmf()], [recommend()], [fold_in()], [summary.gibbs_bmf()],
#'   [plot.gibbs_bmf()], [factors_of()]. With `method = "icm"` an object of
#'   class `gibbsite_map`.
#' @section Errors:
#' Errors in the arguments have class `gibbsite_error_argument` and are raised
#' before any chain runs: a rating that is not finite (naming its user and
#' item), a missing id, a column that is not there or is not of numbers, no
#' rating at all. A chain that fails raises `gibbsite_error_chain`, which
#' carries the other chains in `$fit`.
#' @references
#' Salakhutdinov R, Mnih A (2008). Bayesian probabilistic matrix factorization
#' using Markov chain Monte Carlo. *Proceedings of the 25th International
#' Conference on Machine Learning*, 880-887. \doi{10.1145/1390156.1390267}
#' (In its equation for the scale matrix of \eqn{\Lambda_u}{Lambda_u},
#' \eqn{\bar S}{S-bar} has to be centred at the mean of the users, as above.)
#'
#' Paisley J. *EECS E6892: Bayesian Models for Machine Learning*, lecture 3,
#' equations 16 to 29.
#'
#' Rai P. *CS772A: Probabilistic Machine Learning*, "Gibbs sampling: one more
#' example" (the Gamma priors).
#'
#' Liu JS, Sabatti C (2000). Generalised Gibbs sampler and multigrid Monte Carlo
#' for Bayesian computation. *Biometrika* 87, 353-369.
#' \doi{10.1093/biomet/87.2.353}
#'
#' Neal RM (2003). Slice sampling. *Annals of Statistics* 31, 705-767.
#' \doi{10.1214/aos/1056562461}
#' @examples
#' # lawyers' ratings of 43 judges on 12 qualities, a fifth of them hidden
#' ratings <- as.matrix(USJudgeRatings)
#' set.seed(1)
#' hidden <- sample(length(ratings), 100)
#' holes <- replace(ratings, hidden, NA)
#' fit <- gibbs_bmf(holes, rank = 2, draws = 300, burnin = 300, chains = 2,
#'   seed = 1
#' )
#' fit
#' asked <- data.frame(
#'   user = rownames(ratings)[row(ratings)[hidden]],
#'   item = colnames(ratings)[col(ratings)[hidden]], value = ratings[hidden]
#' )
#' head(predict(fit, asked, type = "interval"), 3)
#' held_out(fit, asked)
#'
#' # a data frame, here by a formula
#' set.seed(1)
#' made <- sim_bmf(40, 30, rank = 2, share = 0.3)
#' by_formula <- gibbs_bmf(value ~ user + item, data = made, rank = 2,
#'   draws = 200, burnin = 200, chains = 2, seed = 1
#' )
#' recommend(by_formula, users = 1:2, n = 3)
#' @export
gibbs_bmf <- function(ratings, rank = 10, prior = bmf_wishart(), data = NULL,
                      user = NULL, item = NULL, value = NULL, center = TRUE,
                      biases = FALSE, method = c("gibbs", "icm"),
                      predict_at = NULL, draws = 1000, burnin = 1000, thin = 1,
                      chains = 4, inits = NULL, keep = NULL, threads = 1,
                      cores = getOption("mc.cores", 1L), seed = NULL,
                      checkpoint = NULL, stop_when = NULL,
                      progress = interactive(), keep_data = TRUE) {
  check_needed(ratings = "the ratings")
  call <- rlang::current_env()
  method <- check_choice(method, c("gibbs", "icm"))
  rank <- check_count(rank, max = 200)
  center <- check_flag(center)
  biases <- check_flag(biases)
  running <- running(
    draws = draws, burnin = burnin, thin = thin, chains = chains,
    inits = inits, keep = keep, threads = threads, cores = cores, seed = seed,
    checkpoint = checkpoint, stop_when = stop_when, progress = progress,
    keep_data = keep_data, keep_choices = c("u", "v"),
    keep_default = character(), call = call
  )
  check_bmf_prior(prior, call)
  ratings <- as_ratings(ratings, user, item, value, data, "ratings", call)
  asked <- ratings_asked(predict_at, ratings, call)
  centre <- if (center) mean(asked$ratings$value) else 0
  prior <- complete_bmf_prior(
    prior, rating_spread(asked$ratings$value, centre), rank, biases, call
  )
  model <- described_bmf(bmf_model(
    asked$ratings, rank, prior, centre, biases, running$keep, asked$pairs,
    chains = running$chains
  ), asked)
  if (method == "icm") {
    return(search_mode(model, running, match.call(), call))
  }
  run_chains(model, running, match.call(), call)
}

# ---- pairs to predict as the chains run ----------------------------------

# predict_at as codes, and the ratings with the ids that only it has as users
# or items without a rating: list(ratings, pairs).
ratings_asked <- function(predict_at, ratings, call) {
  if (is.null(predict_at)) {
    return(list(ratings = ratings, pairs = NULL))
  }
  asked <- pair_columns(predict_at, ratings$names, "predict_at", call)
  if (length(asked$user) == 0) {
    abort_argument("{.arg predict_at} has no rows.",
      call = call, class = "empty"
    )
  }
  ratings$users <- append_ids(ratings$users, asked$user)
  ratings$items <- append_ids(ratings$items, asked$item)
  pairs <- list(
    user = match_ids(asked$user, ratings$users),
    item = match_ids(asked$item, ratings$items), value = asked$value
  )
  list(ratings = ratings, pairs = pairs)
}

append_ids <- function(ids, asked) {
  extra <- unique(asked[is.na(match_ids(asked, ids))])
  if (length(extra) == 0) {
    return(ids)
  }
  if (is.factor(ids)) {
    levels <- c(levels(ids), as.character(extra))
    return(factor(levels, levels))
  }
  extra <- if (is.factor(extra)) as.character(extra) else plain_ids(extra)
  if (is.numeric(ids) && is.numeric(extra)) {
    return(c(ids, extra))
  }
  c(id_words(ids), id_words(extra))
}

# The user, item and (if there) value columns of pairs given by a user: by the
# names that the ratings' columns have, else by the usual ones.
pair_columns <- function(x, names, arg, call) {
  if (!is.data.frame(x)) {
    abort_expected(
      x, "a data frame of users and items", arg == "predict_at", arg, call
    )
  }
  check_data_frame(x, arg, call)
  column <- function(role, which) {
    known <- c(names[[which]], usual_columns[[role]])
    found <- intersect(known, names(x))
    if (length(found) > 0) {
      return(x[[found[[1]]]])
    }
    if (role == "value") {
      return(NULL)
    }
    lacking <- or_words(quoted(unique(known)))
    abort_argument(
      "{.arg {arg}} must have a column for the {role}: there is no column
       {lacking}.",
      call = call, class = "column"
    )
  }
  asked <- list(
    user = column("user", 1L), item = column("item", 2L),
    value = column("value", 3L)
  )
  check_ids(asked$user, "user", arg, call)
  check_ids(asked$item, "item", arg, call)
  if (!is.null(asked$value)) {
    asked$value <- check_rating_column(asked$value, names[[3]], arg, call)
    wild <- which(is.nan(asked$value) | is.infinite(asked$value))
    if (length(wild) > 0) {
      abort_argument(
        "{.arg {arg}} must hold finite ratings or NA: row {wild[[1]]} is
         {asked$value[[wild[[1]]]]}.",
        call = call, class = "infinite", row = wild[[1]]
      )
    }
  }
  asked
}

# What answers need and is not in the data, which a fit may lack: how often each
# user and item was rated, the pairs asked for, and how many draws of the
# factors a chain may store.
described_bmf <- function(model, asked) {
  ratings <- asked$ratings
  model$user_counts <- tabulate(ratings$user, length(ratings$users))
  model$item_counts <- tabulate(ratings$item, length(ratings$items))
  model["pairs"] <- list(asked$pairs)
  model$cap <- model$data$cap
  model
}

# The model with the ratings that a user gives once more (extend(data = ),
# resume(data = )).
bmf_with_ratings <- function(model, data) {
  ratings <- ratings_again(model, data)
  fresh <- bmf_model(
    ratings, model$rank, model$prior, model$center, model$biases, model$keep,
    model$pairs
  )
  fresh$data$cap <- model$cap
  model$data <- fresh$data
  model$data_hash <- hash(model$data)
  model
}

ratings_again <- function(model, data) {
  if (!inherits(data, "gibbsite_ratings")) {
    data <- suppressMessages(
      reread_ratings(model, data), classes = "gibbsite_message"
    )
  }
  data$users <- append_ids(data$users, model$users)
  data$items <- append_ids(data$items, model$items)
  data
}

reread_ratings <- function(model, data) {
  call <- rlang::caller_env(3)
  if (!is.data.frame(data)) {
    return(as_ratings(data, arg = "data", call = call))
  }
  names <- model$names
  if (!all(names %in% names(data))) {
    # a formula's terms
    formula <- call("~", str2lang(names[[3]]),
                    call("+", str2lang(names[[1]]), str2lang(names[[2]])))
    formula <- stats::as.formula(formula, env = globalenv())
    return(as_ratings(formula, data = data, arg = "data", call = call))
  }
  as_ratings(data, names[[1]], names[[2]], names[[3]], arg = "data",
             call = call)
}

# ---- words ---------------------------------------------------------------

# Coordinates rotate from draw to draw; everything else means something as it
# is.
#' @exportS3Method
model_labelled.bmf_model <- function(model, invariants) {
  grep("^[uv]\\[", model$columns, value = TRUE)
}

#' @exportS3Method
model_headline.bmf_model <- function(model) {
  count <- function(n) format(n, big.mark = ",", scientific = FALSE)
  prior <- switch(class(model$prior)[[1]],
    bmf_fixed = "fixed", bmf_gamma = "Gamma", bmf_wishart = "Normal-Wishart"
  )
  users <- length(model$users)
  items <- length(model$items)
  paste0(
    "Matrix factorisation of rank ", model$rank, ", ", prior, " prior",
    if (model$biases) ", with intercepts", "; ", count(model$nobs),
    if (model$nobs == 1) " rating" else " ratings", " of ", count(items),
    if (items == 1) " item" else " items", " by ", count(users),
    if (users == 1) " user" else " users"
  )
}

#' @exportS3Method
model_labels.bmf_model <- function(model) {
  columns <- model$columns
  fixed <- c(
    beta = "precision of a rating", lambda_u = "precision of the users",
    lambda_v = "precision of the items",
    trace_u = "trace of the users' precision matrix",
    trace_v = "trace of the items' precision matrix",
    logdet_u = "log determinant of the users' precision matrix",
    logdet_v = "log determinant of the items' precision matrix",
    norm_mu_u = "length of the users' mean",
    norm_mu_v = "length of the items' mean",
    rmse = "root mean square error in the data",
    log_joint = "log joint density"
  )
  label <- unname(fixed[columns])
  part <- function(block) {
    at <- which(startsWith(columns, paste0(block, "[")))
    inside <- sub("\\]$", "", substring(columns[at], nchar(block) + 2))
    list(at = at, index = do.call(rbind, lapply(
      strsplit(inside, ",", fixed = TRUE), as.integer
    )))
  }
  cells <- part("cell")
  if (length(cells$at) > 0) {
    label[cells$at] <- paste0(
      "mean rating of item ", id_words(model$items)[model$cells$item],
      " by user ", id_words(model$users)[model$cells$user]
    )
  }
  for (block in c("u", "v")) {
    own <- part(block)
    if (length(own$at) > 0) {
      ids <- id_words(if (block == "u") model$users else model$items)
      coordinate <- ifelse(
        own$index[, 1L] > model$rank, "intercept",
        paste("factor", own$index[, 1L])
      )
      label[own$at] <- paste0(
        coordinate, " of ", if (block == "u") "user " else "item ",
        ids[own$index[, 2L]]
      )
    }
  }
  label[is.na(label)] <- columns[is.na(label)]
  data.frame(variable = columns, label = label)
}

# ---- simulation ----------------------------------------------------------

#' Simulate ratings from a low-rank model
#'
#' Factors \eqn{u_i, v_j \sim \mathrm{N}(0, c I)}{u_i, v_j ~ N(0, c I)},
#' intercepts from \eqn{\mathrm{N}(0, b^2)}{N(0, b^2)}, and ratings
#' \eqn{r_{ij} \sim \mathrm{N}(m + u_i^\top v_j + a_i + b_j,
#' \sigma^2)}{r_ij ~ N(m + u_i'v_j + a_i + b_j, sigma2)} in cells taken at
#' random, each at most once.
#'
#' @param users,items Whole numbers, at least 1: how many of them.
#' @param rank Whole number, at least 1: the length of each factor.
#' @param share Number above 0 and at most 1: the share of all cells that is
#'   rated; at least one.
#' @param sigma2 Number, at least 0, default 0.25: the variance of a rating.
#' @param c Positive number, default `1 / sqrt(rank)`, with which
#'   \eqn{u_i^\top v_j}{u_i'v_j} has variance 1: the variance of each
#'   coordinate.
#' @param mean Number, default 0: the mean \eqn{m} of all ratings.
#' @param biases Number, at least 0, default 0: standard deviation of the
#'   intercepts.
#' @return A data frame with a row for each rating and the columns `user`,
#'   `item` (factors, whose levels are all users and all items) and `value`; its
#'   attributes `u` (`rank x users`) and `v` (`rank x items`) are the factors,
#'   `a` and `b` the intercepts, and `truth` is the mean of each rating. Random
#'   numbers come from R's generator.
#' @section Errors: `gibbsite_error_argument` for arguments out of range.
#' @examples
#' set.seed(1)
#' made <- sim_bmf(20, 10, rank = 2, share = 0.5)
#' head(made)
#' cor(made$value, attr(made, "truth"))
#' @export
sim_bmf <- function(users, items, rank = 2, share = 0.2, sigma2 = 0.25,
                    c = 1 / sqrt(rank), mean = 0, biases = 0) {
  check_unlocked()
  check_needed(users = "how many", items = "how many")
  most <- .Machine$integer.max
  users <- check_count(users, max = most)
  items <- check_count(items, max = most)
  rank <- check_count(rank, max = 1000)
  share <- check_number(share, lower = 0, upper = 1, lower_open = TRUE)
  sigma2 <- check_number(sigma2, lower = 0)
  c <- check_number(c, lower = 0, lower_open = TRUE)
  mean <- check_number(mean)
  biases <- check_number(biases, lower = 0)
  cells <- as.double(users) * items
  taken <- sort(sample(cells, max(1, round(share * cells))))
  i <- as.integer((taken - 1) %% users) + 1L
  j <- as.integer((taken - 1) %/% users) + 1L
  u <- matrix(stats::rnorm(rank * users, 0, sqrt(c)), rank)
  v <- matrix(stats::rnorm(rank * items, 0, sqrt(c)), rank)
  a <- biases * stats::rnorm(users)
  b <- biases * stats::rnorm(items)
  truth <- mean + colSums(u[, i, drop = FALSE] * v[, j, drop = FALSE]) +
    a[i] + b[j]
  out <- data.frame(
    user = factor(i, seq_len(users)), item = factor(j, seq_len(items)),
    value = truth + sqrt(sigma2) * stats::rnorm(length(truth))
  )
  structure(out, u = u, v = v, a = a, b = b, truth = truth)
}
