# The priors of a Bayesian matrix factorisation.

#' Priors of a Bayesian matrix factorisation
#'
#' The prior of [gibbs_bmf()], for the factors \eqn{u_i} of users and
#' \eqn{v_j} of items, and for the precision \eqn{\beta} (one over the variance)
#' of a rating about \eqn{u_i^\top v_j}{u_i'v_j}.
#'
#' `type = "fixed"`: only the factors are unknown (Paisley, eq. 16 and 28), with
#' \eqn{c} = `factor_variance` and \eqn{\sigma^2}{sigma2} = `noise_variance`:
#' \deqn{u_i \sim \mathrm{N}(0, c I), \quad v_j \sim \mathrm{N}(0, c I), \quad
#'   1 / \beta = \sigma^2.}{
#'   u_i ~ N(0, c I), v_j ~ N(0, c I), 1/beta = sigma2.}
#'
#' `type = "gamma"`: one unknown precision for all users and one for all items
#' (Rai; Gamma(shape, rate)), with \eqn{a, b} = `user_shape`, `user_rate`,
#' \eqn{c, d} = `item_shape`, `item_rate` and \eqn{e, f} = `noise_shape`,
#' `noise_rate`:
#' \deqn{u_i \sim \mathrm{N}(0, \lambda_u^{-1} I), \quad
#'   v_j \sim \mathrm{N}(0, \lambda_v^{-1} I),}{
#'   u_i ~ N(0, I / lambda_u), v_j ~ N(0, I / lambda_v),}
#' \deqn{\lambda_u \sim \mathrm{Gamma}(a, b), \quad
#'   \lambda_v \sim \mathrm{Gamma}(c, d), \quad
#'   \beta \sim \mathrm{Gamma}(e, f).}{
#'   lambda_u ~ Gamma(a, b), lambda_v ~ Gamma(c, d), beta ~ Gamma(e, f).}
#'
#' `type = "wishart"` (default): unknown mean and full precision matrix of users
#' and of items (Salakhutdinov and Mnih 2008), with \eqn{e, f} = `noise_shape`,
#' `noise_rate`:
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
#' [prior_summary()] shows the values used. The defaults are weak: without
#' biases the prior variance of \eqn{u_i^\top v_j}{u_i'v_j} is \eqn{s^2}{s2} for
#' `"fixed"` and `"gamma"`. For `"wishart"` the prior variance of \eqn{u_i}{u_i}
#' is \eqn{(1 + 1/\kappa_0) W_0^{-1}}{(1 + 1/kappa0) W0^-1}, and that of a
#' rating's mean \eqn{2.25 s^2}{2.25 s2}, with biases \eqn{3.75 s^2}{3.75 s2}.
#'
#' * `factor_variance`: \eqn{\sqrt{s^2 / rank}}{sqrt(s2 / rank)};
#'   `noise_variance`: \eqn{s^2 / 2}{s2 / 2};
#' * `user_shape`, `item_shape`, `noise_shape`: 2; `user_rate`, `item_rate`:
#'   \eqn{\sqrt{s^2 / rank}}{sqrt(s2 / rank)}, `noise_rate`: \eqn{s^2 / 2}{s2 /
#'   2}. With shapes of 2 these rates are the prior means of the variances
#'   \eqn{1/\lambda_u}{1/lambda_u}, \eqn{1/\lambda_v}{1/lambda_v} and
#'   \eqn{1/\beta}{1/beta};
#' * `mu0`: 0; `kappa0`: 2; `nu0`: \eqn{D + 2}; `W0`: diagonal, for a factor
#'   \eqn{\sqrt{rank / s^2}}{sqrt(rank / s2)} and for an intercept \eqn{2 /
#'   s^2}{2 / s2}, so that the prior mean of \eqn{\Lambda^{-1}}{Lambda^-1} is
#'   \eqn{W_0^{-1}}{W0^-1}.
#'
#' The precision \eqn{\lambda_b}{lambda_b} of the coefficients of features (see
#' [bmf_options]) is unknown, \eqn{\lambda_b \sim
#' \mathrm{Gamma}(g, h)}{lambda_b ~ Gamma(g, h)} with \eqn{g, h} =
#' `feature_shape`, `feature_rate`, or it is `feature_precision`. These fields
#' have no use without features. By default \eqn{g} is 2 and \eqn{h} one over
#' the mean of \eqn{f_i^\top f_i}{f_i'f_i} over the users (items): the prior
#' mean of \eqn{f_i^\top f_i / \lambda_b}{f_i'f_i / lambda_b} is then about 1,
#' and the features of a user explain about as much of the factors as they
#' leave.
#'
#' @param type `"wishart"` (default), `"gamma"` or `"fixed"`. A field of another
#'   type must be `NULL`.
#' @param noise_shape,noise_rate For `"wishart"` and `"gamma"`: `NULL` or
#'   positive numbers, shape and rate of the precision \eqn{\beta}{beta} of a
#'   rating; the rate has squared units of the ratings.
#' @param mu0 For `"wishart"`: `NULL`, one number (for every coordinate) or `D`
#'   numbers.
#' @param kappa0 For `"wishart"`: `NULL` or a positive number, how many users
#'   (items) the prior mean counts as.
#' @param W0 For `"wishart"`: `NULL`, one positive number (a multiple of the
#'   identity), `D` positive numbers (a diagonal) or a symmetric positive
#'   definite `D x D` matrix: the scale matrix of the Wishart distribution.
#' @param nu0 For `"wishart"`: `NULL` or a number above `D - 1`, the degrees of
#'   freedom.
#' @param feature_shape,feature_rate For `"wishart"`: `NULL`, one positive
#'   number, or two, of users and of items (also by the names `users` and
#'   `items`): shape and rate of the precision of the coefficients of features.
#' @param feature_precision For `"wishart"`: `NULL` if that precision is
#'   unknown, or one or two positive numbers like those.
#' @param user_shape,user_rate,item_shape,item_rate For `"gamma"`: `NULL` or
#'   positive numbers, shape and rate of the precisions
#'   \eqn{\lambda_u}{lambda_u} of users and \eqn{\lambda_v}{lambda_v} of items.
#' @param factor_variance For `"fixed"`: `NULL` or a positive number, the prior
#'   variance of each coordinate of a factor.
#' @param noise_variance For `"fixed"`: `NULL` or a positive number, the
#'   variance of a rating, in squared units of the ratings.
#' @return An object of class `bmf_prior`; printing it shows the model.
#' @section Errors:
#' A value of the wrong type or out of its range, or a field of another type, is
#' an error of class `gibbsite_error_argument`; sizes are compared with the rank
#' at the fit.
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
#' @seealso [gibbs_bmf()] for the model, [prior_predict()] for the ratings that
#'   a prior predicts, [prior_summary()][prior_summary.gibbsite_fit].
#' @examples
#' bmf_prior()
#' bmf_prior("gamma", noise_shape = 3, noise_rate = 2)
#' bmf_prior("fixed", factor_variance = 0.5, noise_variance = 1)
#' @export
bmf_prior <- function(type = c("wishart", "gamma", "fixed"),
                      noise_shape = NULL, noise_rate = NULL, mu0 = NULL,
                      kappa0 = NULL,
                      W0 = NULL, # nolint: object_name_linter.
                      nu0 = NULL, feature_shape = NULL, feature_rate = NULL,
                      feature_precision = NULL, user_shape = NULL,
                      user_rate = NULL, item_shape = NULL, item_rate = NULL,
                      factor_variance = NULL, noise_variance = NULL) {
  call <- rlang::current_env()
  type <- check_choice(type, names(bmf_prior_fields))
  own <- bmf_prior_fields[[type]]
  given <- mget(setdiff(names(formals()), "type"))
  foreign <- setdiff(names(given)[!vapply(given, is.null, NA)], own)
  if (length(foreign) > 0L) {
    abort_argument(
      "`{foreign[[1L]]}` must be NULL with {.code type = \"{type}\"}.",
      call = call
    )
  }
  fields <- lapply(stats::setNames(nm = own), function(field) {
    check_bmf_field(given[[field]], field, call)
  })
  if (!is.null(fields$feature_precision) &&
        length(c(fields$feature_shape, fields$feature_rate)) > 0L) {
    abort_argument(
      c("{.arg feature_precision} is a known precision, {.arg feature_shape}
         and {.arg feature_rate} are the prior of an unknown one.",
        i = "Leave {.arg feature_precision} out, or the other two."),
      call = call
    )
  }
  structure(
    c(list(type = type), fields), class = c("bmf_prior", "gibbsite_prior")
  )
}

bmf_feature_fields <- c("feature_shape", "feature_rate", "feature_precision")

# The fields of each type, in the order in which they are printed.
bmf_prior_fields <- list(
  wishart = c(
    "mu0", "kappa0", "W0", "nu0", "noise_shape", "noise_rate",
    bmf_feature_fields
  ),
  gamma = c(
    "user_shape", "user_rate", "item_shape", "item_rate", "noise_shape",
    "noise_rate"
  ),
  fixed = c("factor_variance", "noise_variance")
)

check_bmf_field <- function(x, field, call) {
  if (field == "W0") x <- dense_matrix(x, field, call)
  if (field == "W0" && is.matrix(x)) {
    return(check_spd_matrix(x, nrow(x), arg = field, call = call))
  }
  if (field %in% c("mu0", "W0")) {
    lower <- if (field == "W0") 0 else -Inf
    x <- check_numeric_vector(
      x, lower = lower, lower_open = TRUE, null_ok = TRUE, arg = field,
      call = call
    )
    check_no_names(x, field, call)
    return(x)
  }
  if (field %in% bmf_feature_fields) {
    return(check_of_sides(x, field, call))
  }
  positive_number(x, field, call)
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

bmf_prior_lines <- list(
  fixed = c(
    "r_ij ~ N(u_i'v_j, noise_variance)",
    "u_i  ~ N(0, factor_variance I)      v_j ~ N(0, factor_variance I)"
  ),
  gamma = c(
    "r_ij ~ N(u_i'v_j, 1 / beta)",
    "u_i  ~ N(0, I / lambda_u)      v_j ~ N(0, I / lambda_v)",
    "lambda_u ~ Gamma(user_shape, user_rate)",
    "lambda_v ~ Gamma(item_shape, item_rate)",
    "beta ~ Gamma(noise_shape, noise_rate)"
  ),
  wishart = c(
    "r_ij ~ N(u_i'v_j, 1 / beta)",
    "u_i  ~ N(mu_u, Lambda_u^-1)    v_j ~ N(mu_v, Lambda_v^-1)",
    "mu_x | Lambda_x ~ N(mu0, (kappa0 Lambda_x)^-1)          for x = u, v",
    "Lambda_x ~ W(nu0, W0)          (degrees of freedom, scale; mean nu0 W0)",
    "beta ~ Gamma(noise_shape, noise_rate)"
  )
)

ordinal_prior_lines <- c(
  "r_ij = c where theta_c-1 < z_ij <= theta_c      z_ij ~ N(u_i'v_j, 1)",
  "theta_k ~ N(0, cutpoint_sd^2), in increasing order"
)

# Fields that a prior of a type must have.
needed_bmf_fields <- function(prior) {
  type <- if (is.list(prior)) unclass(prior)$type
  if (!is_plain_string(type) || !type %in% names(bmf_prior_fields)) {
    type <- "wishart"
  }
  c("type", bmf_prior_fields[[type]])
}

#' @export
format.bmf_prior <- function(x, ...) {
  ordinal <- is.list(x) && !is.null(unclass(x)$cutpoint_sd)
  noise <- c("noise_shape", "noise_rate")
  check_made(
    x, setdiff(needed_bmf_fields(x), if (ordinal) noise), "bmf_prior()"
  )
  fields <- unclass(x)[names(x) != "type"]
  # of features, which a fit need not have
  unused <- names(fields) %in% bmf_feature_fields & lengths(fields) == 0L
  fields <- fields[!unused]
  lines <- bmf_prior_lines[[x$type]]
  if (ordinal) {
    lines <- c(ordinal_prior_lines, lines[!grepl("^(r_ij|beta)", lines)])
    fields$noise_variance <- NULL
  }
  names <- format(names(fields))
  c(
    lines,
    if (any(names(fields) %in% bmf_feature_fields)) bmf_feature_lines(fields),
    vapply(seq_along(fields), function(k) {
      paste0("  ", names[[k]], " = ", format_prior_value(fields[[k]]))
    }, "")
  )
}

bmf_feature_lines <- function(fields) {
  unknown <- is.null(fields$feature_precision)
  c(
    "with features  u_i ~ N(mu_u + B_u'f_i, Lambda_u^-1), the same for v_j,",
    "rows of B_x ~ N(0, (lambda_b Lambda_x)^-1)",
    if (unknown) {
      "lambda_b ~ Gamma(feature_shape, feature_rate)"
    } else {
      "lambda_b = feature_precision"
    }
  )
}

# The prior with every field filled in, or an error of the user's call that
# names the field.  spread: s2 above.
# With a response that has a link the ratings' precision is 1 and no field
# concerns it.
complete_bmf_prior <- function(prior, spread, rank, biases, call = NULL,
                               features = list(), response = NULL) {
  needed <- needed_bmf_fields(prior)
  prior <- remade(
    prior, bmf_prior, "bmf_prior()", call = call, fields = needed
  )
  type <- prior$type
  if (length(features) > 0L && type != "wishart") {
    abort_argument(
      c("Features need {.code type = \"wishart\"} of {.fn bmf_prior}:
         {.val {type}} has no mean that could depend on them.",
        i = "Leave {.arg user_features} and {.arg item_features} out, or change
             {.arg prior}."),
      call = call
    )
  }
  if (is.null(response$link)) {
    return(complete_bmf_fields(prior, spread, rank, biases, features, call))
  }
  noise <- c("noise_variance", "noise_shape", "noise_rate")
  known <- intersect(noise, names(prior)[lengths(prior) > 0])
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
  prior <- complete_bmf_fields(prior, spread, rank, biases, features, call)
  prior[noise] <- NULL
  if (type == "fixed") {
    prior$noise_variance <- 1
  }
  prior$cutpoint_sd <- response$cutpoint_sd
  prior
}

complete_bmf_fields <- function(prior, spread, rank, biases, features, call) {
  width <- sqrt(spread / rank)
  prior <- switch(prior$type,
    fixed = with_defaults(
      prior, factor_variance = width, noise_variance = spread / 2
    ),
    gamma = with_defaults(
      prior, user_shape = 2, user_rate = width, item_shape = 2,
      item_rate = width, noise_shape = 2, noise_rate = spread / 2
    ),
    wishart = complete_bmf_wishart(
      with_defaults(prior, noise_shape = 2, noise_rate = spread / 2), spread,
      rank, biases, call
    )
  )
  if (prior$type == "wishart") {
    prior <- complete_bmf_features(prior, features, call)
  }
  prior
}

# The fields of features, with a value for each side that has them (list(u, v)).
complete_bmf_features <- function(prior, features, call) {
  given <- bmf_feature_fields[lengths(unclass(prior)[bmf_feature_fields]) > 0L]
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
  each <- function(field, default) {
    of_sides(prior[[field]] %||% default, sides, field, call)
  }
  if ("feature_precision" %in% given) {
    prior$feature_precision <- each("feature_precision")
    return(prior)
  }
  size <- vapply(features, function(own) sum(own$value^2) / ncol(own$x), 0)
  rate <- stats::setNames(ifelse(size > 0, 1 / size, 1), sides)
  prior$feature_shape <- each("feature_shape", 2)
  prior$feature_rate <- each("feature_rate", rate)
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
  if (all(alike)) {
    return(1)
  }
  spread <- mean((value - centre)^2)
  if (spread < .Machine$double.xmin) {
    abort_argument(
      c("{.arg ratings} lie so close together that the square of their spread is
         below the range of doubles.",
        i = "Change their unit."),
      call = call
    )
  }
  spread
}
