# The priors of a Bayesian matrix factorisation.

#' Priors of a Bayesian matrix factorisation
#'
#' The priors of [gibbs_bmf()], for the factors \eqn{u_i} of users and
#' \eqn{v_j} of items, and for the precision \eqn{\beta} (one over the variance)
#' of a rating about \eqn{u_i^\top v_j}{u_i'v_j}.
#'
#' `bmf_fixed()`: only the factors are unknown (Paisley, eq. 16 and 28):
#' \deqn{u_i \sim \mathrm{N}(0, c I), \quad v_j \sim \mathrm{N}(0, c I), \quad
#'   1 / \beta = \sigma^2.}{
#'   u_i ~ N(0, c I), v_j ~ N(0, c I), 1/beta = sigma2.}
#'
#' `bmf_gamma()`: one unknown precision for all users and one for all items
#' (Rai; Gamma(shape, rate)):
#' \deqn{u_i \sim \mathrm{N}(0, \lambda_u^{-1} I), \quad
#'   v_j \sim \mathrm{N}(0, \lambda_v^{-1} I),}{
#'   u_i ~ N(0, I / lambda_u), v_j ~ N(0, I / lambda_v),}
#' \deqn{\lambda_u \sim \mathrm{Gamma}(a, b), \quad
#'   \lambda_v \sim \mathrm{Gamma}(c, d), \quad
#'   \beta \sim \mathrm{Gamma}(e, f).}{
#'   lambda_u ~ Gamma(a, b), lambda_v ~ Gamma(c, d), beta ~ Gamma(e, f).}
#'
#' `bmf_wishart()`: unknown mean and full precision matrix of users and of items
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
#' Here \eqn{D} is the rank, or the rank plus 1 with `biases = TRUE`: the
#' intercept of a user or an item is one more coordinate of the same normal
#' distribution, the last one.
#'
#' Fields left `NULL` are completed at the fit from \eqn{s^2}{s2}, the mean
#' square of the ratings (about their mean with `center = TRUE`), and
#' [prior_summary()] shows the values used. The defaults are weak: the prior
#' variance of \eqn{u_i^\top v_j}{u_i'v_j} is about \eqn{s^2}{s2}.
#'
#' * `c`: \eqn{\sqrt{s^2 / rank}}{sqrt(s2 / rank)}; `sigma2`:
#'   \eqn{s^2 / 2}{s2 / 2};
#' * `a`, `c` (of `bmf_gamma()`), `e`: 2; `b`, `d`: \eqn{\sqrt{s^2 /
#'   rank}}{sqrt(s2 / rank)}, `f`: \eqn{s^2 / 2}{s2 / 2}. With shapes of 2 these
#'   rates are the prior means of the variances \eqn{1/\lambda_u}{1/lambda_u},
#'   \eqn{1/\lambda_v}{1/lambda_v} and \eqn{1/\beta}{1/beta};
#' * `mu0`: 0; `kappa0`: 2; `nu0`: \eqn{D + 2}; `W0`: diagonal, for a factor
#'   \eqn{\sqrt{rank / s^2}}{sqrt(rank / s2)} and for an intercept \eqn{2 /
#'   s^2}{2 / s2}, so that the prior mean of \eqn{\Lambda^{-1}}{Lambda^-1} is
#'   \eqn{W_0^{-1}}{W0^-1}.
#'
#' `g`, `h` and `lambda_b` are of the coefficients of features (see the section
#' on features in [gibbs_bmf()]), and have no use without them: \eqn{\lambda_b
#' \sim \mathrm{Gamma}(g, h)}{lambda_b ~ Gamma(g, h)}, or
#' \eqn{\lambda_b}{lambda_b} is known. By default `g` is 2 and `h` one over the
#' mean of \eqn{f_i^\top f_i}{f_i'f_i} over the users (items): the prior mean of
#' \eqn{f_i^\top f_i / \lambda_b}{f_i'f_i / lambda_b} is then about 1, and the
#' features of a user explain about as much of the factors as they leave.
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
#' @param kappa0 `NULL` or a positive number: the number of users (items) that
#'   the prior mean has the weight of.
#' @param W0 `NULL`, one positive number (a multiple of the identity), `D`
#'   positive numbers (a diagonal) or a symmetric positive definite `D x D`
#'   matrix: the scale matrix of the Wishart distribution.
#' @param nu0 `NULL` or a number above `D - 1`: degrees of freedom.
#' @param g,h `NULL`, one positive number, or two, of users and of items (also
#'   by the names `users` and `items`): shape and rate for the precision of the
#'   coefficients of features.
#' @param lambda_b `NULL` if that precision is unknown, or one or two positive
#'   numbers like those.
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
#' Paisley J (2015). *EECS E6892: Bayesian Models for Machine Learning*, lecture
#' 3. Columbia University.
#'
#' Rai P. *CS772A: Probabilistic Machine Learning*, lecture slides, "Bayesian
#' matrix factorization". Indian Institute of Technology Kanpur.
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
                        nu0 = NULL, e = NULL, f = NULL, g = NULL, h = NULL,
                        lambda_b = NULL) {
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
  if (!is.null(lambda_b) && !(is.null(g) && is.null(h))) {
    abort_argument(
      c("{.arg lambda_b} is a known precision, {.arg g} and {.arg h} are the
         prior of an unknown one.",
        i = "Leave {.arg lambda_b} out, or the other two."),
      call = call
    )
  }
  new_bmf_prior("bmf_wishart", list(
    mu0 = mu0, kappa0 = check_positive(kappa0, "kappa0", call), W0 = W0,
    nu0 = check_positive(nu0, "nu0", call), e = check_positive(e, "e", call),
    f = check_positive(f, "f", call), g = check_of_sides(g, "g", call),
    h = check_of_sides(h, "h", call),
    lambda_b = check_of_sides(lambda_b, "lambda_b", call)
  ))
}

# One positive number, or two: of users and of items.
check_of_sides <- function(x, arg, call) {
  x <- check_numeric_vector(
    x, length = 1:2, lower = 0, lower_open = TRUE, null_ok = TRUE, arg = arg,
    call = call
  )
  if (!is.null(names(x)) && !all(names(x) %in% bmf_sides)) {
    abort_argument(
      "{.arg {arg}} must have no names, or {.val users} and {.val items}.",
      call = call
    )
  }
  x
}

bmf_sides <- c("users", "items")

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

# Coordinates have no names, so a vector with names is meant for something else.
check_no_names <- function(x, arg, call) {
  if (!is.null(names(x))) {
    abort_argument(
      c("{.arg {arg}} must not have names: the coordinates have none.",
        i = "Use {.fn unname} if its order is meant."),
      call = call
    )
  }
}

# The functions that make a prior, by class. An object with the class bmf_prior
# only is treated as made by the last.
bmf_makers <- list(
  bmf_fixed = bmf_fixed, bmf_gamma = bmf_gamma, bmf_wishart = bmf_wishart
)

bmf_prior_kind <- function(prior) {
  c(intersect(class(prior), names(bmf_makers)), "bmf_wishart")[[1]]
}

new_bmf_prior <- function(class, fields) {
  structure(fields, class = c(class, "bmf_prior", "gibbsite_prior"))
}

check_positive <- function(x, arg, call) {
  check_number(
    x, lower = 0, lower_open = TRUE, null_ok = TRUE, arg = arg, call = call
  )
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

ordinal_prior_lines <- c(
  "r_ij = c where theta_c-1 < z_ij <= theta_c      z_ij ~ N(u_i'v_j, 1)",
  "theta_k ~ N(0, cutpoint_sd^2), in increasing order"
)

#' @export
format.bmf_prior <- function(x, ...) {
  make <- bmf_makers[[bmf_prior_kind(x)]]
  ordinal <- is.list(x) && !is.null(unclass(x)$cutpoint_sd)
  made <- setdiff(names(formals(make)), if (ordinal) c("e", "f"))
  check_made(x, made, paste0(bmf_prior_kind(x), "()"))
  fields <- unclass(x)
  attributes(fields) <- list(names = names(x))
  # of features, which a fit need not have
  unused <- names(fields) %in% c("g", "h", "lambda_b") & lengths(fields) == 0L
  fields <- fields[!unused]
  lines <- bmf_prior_lines[[bmf_prior_kind(x)]]
  if (ordinal) {
    lines <- c(ordinal_prior_lines, lines[!grepl("^(r_ij|beta)", lines)])
    fields$sigma2 <- NULL
  }
  names <- format(names(fields))
  of_features <- any(names(fields) %in% c("g", "h", "lambda_b"))
  c(
    lines,
    if (of_features) bmf_feature_lines(fields),
    vapply(seq_along(fields), function(k) {
      paste0("  ", names[[k]], " = ", format_prior_value(fields[[k]]))
    }, "")
  )
}

bmf_feature_lines <- function(fields) {
  unknown <- is.null(fields$lambda_b)
  c(
    "with features  u_i ~ N(mu_u + B_u'f_i, Lambda_u^-1), the same for v_j,",
    "rows of B_x ~ N(0, (lambda_b Lambda_x)^-1)",
    if (unknown) "lambda_b ~ Gamma(g, h)         (shape, rate)"
  )
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
# With a response that has a link the ratings' precision is 1 and no field
# concerns it.
complete_bmf_prior <- function(prior, spread, rank, biases, call = NULL,
                               features = list(), response = NULL) {
  check_bmf_prior(prior, call)
  kind <- bmf_prior_kind(prior)
  if (length(features) > 0L && kind != "bmf_wishart") {
    abort_argument(
      c("Features need {.code prior = bmf_wishart()}: {.fn {kind}} has no mean
         that could depend on them.",
        i = "Leave {.arg user_features} and {.arg item_features} out, or change
             {.arg prior}."),
      call = call
    )
  }
  prior <- remade(prior, bmf_makers[[kind]], paste0(kind, "()"), call = call)
  if (is.null(response$link)) {
    return(complete_bmf_fields(
      prior, kind, spread, rank, biases, features, call
    ))
  }
  known <- intersect(c("sigma2", "e", "f"), names(prior)[lengths(prior) > 0])
  if (length(known) > 0) {
    abort_argument(
      c(
        "{.arg prior} must leave {.field {known[[1]]}} out: with a {.arg link}
         the variance of a latent value is 1.",
        i = "{.arg cutpoint_sd} is the prior of the cutpoints."
      ),
      call = call
    )
  }
  prior <- complete_bmf_fields(
    prior, kind, spread, rank, biases, features, call
  )
  prior[c("e", "f")] <- NULL
  if (kind == "bmf_fixed") {
    prior$sigma2 <- 1
  }
  prior$cutpoint_sd <- response$cutpoint_sd
  prior
}

complete_bmf_fields <- function(prior, kind, spread, rank, biases, features,
                                call) {
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
  prior <- complete_bmf_wishart(prior, spread, rank, biases, call)
  complete_bmf_features(prior, features, call)
}

# g, h and lambda_b of the sides with features (list(u, v)), with names.
complete_bmf_features <- function(prior, features, call) {
  fields <- c("g", "h", "lambda_b")
  given <- fields[lengths(unclass(prior)[fields]) > 0L]
  if (length(features) == 0L) {
    if (length(given) > 0L) {
      abort_argument(
        c("`{given[[1L]]}` of `prior` is of the coefficients of features, and
           there are no features.",
          i = "Give {.arg user_features} or {.arg item_features}."),
        call = call
      )
    }
    return(prior)
  }
  sides <- bmf_sides[c("u", "v") %in% names(features)]
  if ("lambda_b" %in% given) {
    prior$lambda_b <- of_sides(prior$lambda_b, sides, "lambda_b", call)
    return(prior)
  }
  size <- vapply(features, function(own) sum(own$value^2) / ncol(own$x), 0)
  rate <- stats::setNames(ifelse(size > 0, 1 / size, 1), sides)
  prior$g <- of_sides(prior$g %||% 2, sides, "g", call)
  prior$h <- of_sides(prior$h %||% rate, sides, "h", call)
  prior
}

of_sides <- function(x, sides, field, call) {
  if (is.null(names(x))) {
    x <- stats::setNames(rep_len(x, 2L), bmf_sides)
  }
  lost <- setdiff(sides, names(x))
  if (length(lost) > 0L) {
    abort_argument(
      "`{field}` of `prior` must have a value for {.val {lost}}.", call = call
    )
  }
  x[sides]
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

# s2: the mean square of the ratings about `centre`, which is their mean or 0;
# 1 where all ratings are equal to it.
rating_spread <- function(value, centre, call) {
  alike <- if (centre == 0) value == 0 else value == value[[1L]]
  if (!all(alike)) {
    spread <- mean((value - centre)^2)
    if (spread < .Machine$double.xmin) {
      abort_argument(
        c("{.arg ratings} lie so close together that the square of their spread
           is below the range of doubles.",
          i = "Change their unit."),
        call = call
      )
    }
    return(spread)
  }
  1
}
