# Logistic regression by the Laplace approximation: laplace_logistic(), its
# prior, and the search for the mode.

# ---- the prior -----------------------------------------------------------

#' Prior of a logistic regression
#'
#' The prior of [laplace_logistic()]: the coefficients are normal with mean 0
#' and variance `c`,
#' \deqn{w \sim \mathrm{N}(0, c I)}{w ~ N(0, c I)}
#' for one number `c`, \eqn{\mathrm{N}(0, \mathrm{diag}(c))}{N(0, diag(c))} for
#' several, \eqn{\mathrm{N}(0, C)}{N(0, C)} for a covariance matrix. The
#' intercept has a variance of its own, `intercept_c`.
#'
#' What is left `NULL` is completed from the predictors at the fit, never from
#' the response, and [prior_summary()] shows the values used:
#'
#' * `c`: \eqn{(2.5 / s_j)^2} for a predictor of standard deviation \eqn{s_j}: a
#'   standard deviation of 2.5 for the change in log-odds with one standard
#'   deviation of the predictor. That is weak (a change by 5, from odds of 1 to
#'   12 to odds of 12 to 1, is two standard deviations), and does not depend on
#'   the predictor's unit. Gelman et al. (2008) discuss the scale.
#' * `intercept_c`: \eqn{10^2 + \sum_j c_j m_j^2}, with \eqn{m_j} the mean of
#'   predictor \eqn{j}: the variance that the intercept has when the log-odds at
#'   the predictors' means are \eqn{\mathrm{N}(0, 10^2)}{N(0, 10^2)}. With a
#'   matrix `c` the sum is \eqn{m^\top C m}{m'Cm}.
#'
#' A predictor that does not vary counts as an intercept when it is not zero
#' (with \eqn{10^2 / m_j^2}), and has variance 1 when it is, with a message.
#'
#' @param c `NULL`, or the prior variance in squared units of the coefficients:
#'   one positive number for every coefficient but the intercept; a vector, one
#'   for each of them or, when `intercept_c` is `NULL`, for all coefficients in
#'   the order of the model matrix (a vector with names is put in that order);
#'   or a symmetric positive definite matrix of either size. `Inf` leaves a
#'   coefficient without a prior (a flat one).
#' @param intercept_c `NULL`, or the prior variance of the intercept: a positive
#'   number or `Inf`.
#' @return An object of class `logistic_prior`; printing it shows the model.
#' @section Errors:
#' A value of the wrong type or out of its range is an error of class
#' `gibbsite_error_argument`; lengths are compared with the model matrix at the
#' fit.
#' @references
#' Gelman A, Jakulin A, Pittau MG, Su Y-S (2008). A weakly informative default
#' prior distribution for logistic and other regression models. *Annals of
#' Applied Statistics* 2, 1360-1383. \doi{10.1214/08-AOAS191}
#' @examples
#' logistic_prior()
#' logistic_prior(c = 100, intercept_c = Inf)
#' @export
logistic_prior <- function(c = NULL, intercept_c = NULL) {
  call <- rlang::current_env()
  structure(
    list(
      c = check_prior_variance(c, call),
      intercept_c = check_number(
        intercept_c, lower = 0, lower_open = TRUE, infinite_ok = TRUE,
        null_ok = TRUE, arg = "intercept_c", call = call
      )
    ),
    class = c("logistic_prior", "gibbsite_prior")
  )
}

check_prior_variance <- function(c, call) {
  if (is.null(c)) {
    return(NULL)
  }
  if (!is.matrix(c)) {
    return(check_numeric_vector(
      c, lower = 0, lower_open = TRUE, finite = FALSE, arg = "c", call = call
    ))
  }
  checked <- check_spd_matrix(c, nrow(c), arg = "c", call = call)
  dimnames(checked) <- dimnames(c)
  checked
}

#' @export
format.logistic_prior <- function(x, ...) {
  number <- function(v) {
    paste(format(signif(v, 4), trim = TRUE, drop0trailing = TRUE),
      collapse = ", "
    )
  }
  value <- function(v) {
    if (is.null(v)) {
      "from the predictors"
    } else if (is.matrix(v)) {
      paste0("a ", nrow(v), " x ", ncol(v), " covariance matrix")
    } else {
      number(v)
    }
  }
  head <- "y_i | w ~ Bernoulli(sigma(x_i'w + o_i)),  w ~ N(0, C)"
  each <- x$c
  if (!is.null(names(each)) && !is.matrix(each)) {
    return(c(head, paste0(
      "  ", format(c("coefficient", names(each))), "  ",
      format(c("variance", vapply(each, number, "")), justify = "right")
    )))
  }
  c(
    head,
    paste0("  variance of the coefficients:  c = ", value(x$c)),
    if (!isTRUE(x$complete)) {
      paste0(
        "  variance of the intercept:     intercept_c = ", value(x$intercept_c)
      )
    }
  )
}

#' @export
print.logistic_prior <- function(x, ...) {
  writeLines(format(x))
  invisible(x)
}

# The prior with `c` for every column of the design: p variances, or a p x p
# matrix, with names.  design: what as_design() gives.
complete_logistic_prior <- function(prior, design, call) {
  check_class(prior, "logistic_prior", "logistic_prior()", call = call)
  # fields may have been changed by hand since they were checked
  prior <- logistic_prior(prior$c, prior$intercept_c)
  columns <- design$columns
  p <- length(columns)
  intercept <- design$intercept
  slopes <- setdiff(seq_len(p), intercept)
  given <- arrange_prior(prior, columns, slopes, call)
  if (NROW(given) == p && (p > length(slopes) || is.matrix(given))) {
    return(completed_prior(given, columns))
  }
  if (is.null(given)) {
    given <- default_variances(design, slopes, call)
  }
  own <- prior$intercept_c
  if (length(intercept) == 1L && is.null(own)) {
    means <- design$mean[slopes]
    own <- 100 + if (is.matrix(given)) {
      sum(means * (given %*% means))
    } else {
      sum(ifelse(means == 0, 0, means^2 * given))
    }
  }
  completed_prior(unite_variances(given, own, slopes, intercept, p), columns)
}

completed_prior <- function(variances, columns) {
  if (is.matrix(variances)) {
    dimnames(variances) <- list(columns, columns)
  } else {
    names(variances) <- columns
  }
  structure(
    list(c = variances, intercept_c = NULL, complete = TRUE),
    class = c("logistic_prior", "gibbsite_prior")
  )
}

# The user's `c` for the slopes (or for all columns, where it has as many), in
# the order of the columns.
arrange_prior <- function(prior, columns, slopes, call) {
  given <- prior$c
  p <- length(columns)
  if (is.null(given) || (length(given) == 1L && !is.matrix(given))) {
    return(if (!is.null(given)) rep(unname(given), length(slopes)))
  }
  size <- NROW(given)
  sizes <- unique(c(length(slopes), if (is.null(prior$intercept_c)) p))
  if (!size %in% sizes) {
    wanted <- or_words(sizes)
    what <- if (is.matrix(given)) "rows" else "elements"
    abort_argument(
      c(
        "`c` of `prior` must have {wanted} {what}, not {size}.",
        i = "The coefficients are {.val {columns}}."
      ),
      call = call
    )
  }
  names <- if (is.matrix(given)) colnames(given) else names(given)
  expected <- if (size == p) columns else columns[slopes]
  if (is.null(names)) {
    return(given)
  }
  if (!setequal(names, expected) || anyDuplicated(names)) {
    odd <- c(setdiff(names, expected), names[duplicated(names)])[1L]
    abort_argument(
      c(
        "The names of `c` of `prior` must be those of the coefficients.",
        x = "{.val {odd}} is not one, or is there twice.",
        i = "The coefficients are {.val {expected}}."
      ),
      call = call
    )
  }
  at <- match(expected, names)
  if (is.matrix(given)) given[at, at, drop = FALSE] else given[at]
}

# (2.5 / s_j)^2; a column that does not vary has no scale of its own.
default_variances <- function(design, slopes, call) {
  sd <- design$sd[slopes]
  mean <- design$mean[slopes]
  flat <- !(sd > 0)
  variances <- (2.5 / sd)^2
  variances[flat] <- ifelse(mean[flat] == 0, 1, 100 / mean[flat]^2)
  names <- design$columns[slopes][flat]
  if (length(names) > 0L) {
    inform_gibbsite(
      c(
        "{cli::qty(names)}Column{?s} {.val {names}} {?does/do} not vary: the
         default prior takes {?it/them} for an intercept, or gives variance 1
         where all is 0.",
        i = "Give `prior = logistic_prior(c = )` in the data's units."
      ),
      class = "constant"
    )
  }
  variances
}

# One variance or matrix for all p columns out of that of the slopes and that of
# the intercept.
unite_variances <- function(given, own, slopes, intercept, p) {
  if (!is.matrix(given)) {
    all <- numeric(p)
    all[slopes] <- given
    all[intercept] <- own
    return(all)
  }
  all <- matrix(0, p, p)
  all[slopes, slopes] <- given
  diag(all)[intercept] <- own
  all
}

# Q = C^-1 as C reads it, and log((2 pi)^-p/2 |Q|^1/2): over the proper
# directions alone when some are flat, which then count as having density 1.
prior_precision <- function(prior) {
  c <- prior$c
  if (!is.matrix(c)) {
    proper <- is.finite(c)
    return(list(
      precision = unname(1 / c),
      constant = -0.5 * sum(log(2 * pi * c[proper])), flat = which(!proper)
    ))
  }
  root <- chol(unname(c))
  list(
    precision = chol2inv(root),
    constant = -nrow(c) / 2 * log(2 * pi) - sum(log(diag(root))),
    flat = integer()
  )
}

# ---- the response --------------------------------------------------------

# list(y, trials, kind, levels) of a response of any kind: y are proportions of
# successes, trials NULL where all are 1.
as_response <- function(y, name, call) {
  if (is.ordered(y)) {
    abort_argument(
      c(
        "`{name}` must not be an ordered factor.",
        i = "For two levels use {.code factor({name}, ordered = FALSE)}."
      ),
      call = call
    )
  }
  if (is.factor(y)) {
    return(factor_response(y, name, call))
  }
  if (length(dim(y)) > 1L && ncol(y) > 1L) {
    return(count_response(y, name, call))
  }
  if (!is.null(dim(y))) {
    y <- as.vector(y)
  }
  if (is.logical(y)) {
    return(list(y = as.double(y), kind = "logical"))
  }
  if (!is.numeric(y) || is.object(y)) {
    abort_expected(
      y, "0 and 1, logical, a factor with two levels or two columns of counts",
      FALSE, name, call,
      hint = if (is.character(y)) paste0("Use `factor(", name, ")`.")
    )
  }
  known <- y == 0 | y == 1
  if (!all(known, na.rm = TRUE)) {
    first <- which(!known)[[1L]]
    given <- describe(unname(y[[first]]))
    abort_argument(
      c(
        "`{name}` must hold 0 and 1: element {first} is {given}.",
        i = "Counts of successes are given as
             {.code cbind(successes, failures)}."
      ),
      call = call
    )
  }
  list(y = as.double(y), kind = "number")
}

# The first level is failure, the second success.
factor_response <- function(y, name, call) {
  if (nlevels(y) != 2L) {
    y <- factor(y)
  }
  if (nlevels(y) != 2L) {
    count <- nlevels(y)
    names <- utils::head(levels(y), 5L)
    abort_argument(
      c(
        "`{name}` must be a factor with two levels, not {count}.",
        x = if (count > 0L) "Its levels are {.val {names}}."
      ),
      call = call
    )
  }
  list(y = as.double(y == levels(y)[[2L]]), kind = "factor", levels = levels(y))
}

# Two columns: successes and failures.
count_response <- function(y, name, call) {
  if (ncol(y) != 2L || !(is.numeric(y) || is.data.frame(y))) {
    abort_argument(
      c(
        "`{name}` must have two columns of counts, not {ncol(y)} columns.",
        i = "Use {.code cbind(successes, failures)}."
      ),
      call = call
    )
  }
  y <- as.matrix(y)
  bad <- is.na(y) | y < 0 | y != round(y) | !is.finite(y)
  # what is missing is for na.action
  bad[is.na(y) & !is.nan(y)] <- FALSE
  if (!is.numeric(y) || any(bad)) {
    at <- first_place(bad)
    given <- describe(y[[at$row, at$column]])
    abort_argument(
      c(
        "`{name}` must hold whole numbers, 0 or more: row {at$row}, column
         {at$column} is {given}.",
        i = "Fractions belong into `weights`."
      ),
      call = call
    )
  }
  trials <- unname(y[, 1L] + y[, 2L])
  list(
    y = ifelse(trials == 0, 0, unname(y[, 1L]) / pmax(trials, 1)),
    trials = as.double(trials), kind = "counts"
  )
}

# ---- the design ----------------------------------------------------------

# list(mean, sd, squares, finite) of the columns of a matrix, dense or sparse;
# `total`: an observation counts where it is positive.
measure_columns <- function(x, total) {
  .Call(C_design_columns, columns_for_c(x), as.double(total))
}

# list(columns, intercept, mean, sd) of a matrix that was found to be so.
describe_design <- function(x, columns, found, call) {
  if (!all(found$finite)) {
    j <- which(!found$finite)[[1L]]
    abort_wild(column_of(x, j), columns[[j]], rownames(x), call)
  }
  empty <- found$sd == 0 & found$mean == 0
  wild <- !empty & !(found$squares > 1e-290 & found$squares < 1e290)
  if (any(wild)) {
    names <- columns[wild]
    abort_argument(
      c(
        "{cli::qty(names)}Column{?s} {.val {names}} {?has/have} values or a
         spread whose square is beyond the range of doubles.",
        i = "Change {cli::qty(names)}{?its/their} unit."
      ),
      call = call
    )
  }
  list(
    columns = columns, intercept = which(columns == "(Intercept)"),
    mean = found$mean, sd = found$sd
  )
}

# One column as plain doubles; a matrix of any size is never copied whole.
column_of <- function(x, j) {
  if (is.matrix(x)) {
    return(x[, j])
  }
  v <- numeric(nrow(x))
  at <- seq_len(x@p[[j + 1L]] - x@p[[j]]) + x@p[[j]]
  v[x@i[at] + 1L] <- x@x[at]
  v
}

abort_wild <- function(v, column, rows, call) {
  at <- which(!is.finite(v))[[1L]]
  given <- v[[at]]
  place <- paste("row", at)
  if (!is.null(rows) && rows[[at]] != as.character(at)) {
    place <- paste0(place, " (", quoted(rows[[at]]), ")")
  }
  abort_argument(
    "The predictors must be finite: {place}, column {.val {column}} is
     {given}.",
    call = call, class = "infinite"
  )
}

# Sparse rows one after another, as core/logistic.h has them; a dense matrix as
# it is.
design_for_c <- function(x) {
  if (is.matrix(x)) {
    return(x)
  }
  rows <- Matrix::t(x)
  list(
    n = nrow(x), p = ncol(x), row_start = rows@p, column = rows@i,
    value = rows@x
  )
}

columns_for_c <- function(x) {
  if (is.matrix(x)) {
    return(x)
  }
  list(n = nrow(x), p = ncol(x), start = x@p, row = x@i, value = x@x)
}

# ---- the frame: what methods need of the data ------------------------------

# parts: x, a double matrix or dgCMatrix; response, of as_response(); weights and
# offset, checked, NULL for none; total, of total_weights(); `more`: terms and the
# like.
logistic_frame <- function(parts) {
  response <- parts$response
  weights <- parts$weights
  trials <- response$trials
  success <- response$y
  binomial <- 0
  if (!is.null(trials)) {
    success <- round(trials * success)
    binomial <- sum((weights %||% 1) * lchoose(trials, success))
  }
  if (!is.null(weights)) {
    success <- weights * success
  }
  c(
    list(
      x = parts$x, y = response$y, trials = trials, weights = weights,
      offset = parts$offset, success = success, total = parts$total,
      constant = binomial,
      response = list(
        name = response$name, kind = response$kind, levels = response$levels
      )
    ),
    parts$more
  )
}

# v_i m_i: what an observation counts.
total_weights <- function(response, weights) {
  trials <- response$trials %||% rep(1, length(response$y))
  if (is.null(weights)) trials else weights * trials
}

check_weights <- function(weights, n, call) {
  weights <- check_numeric_vector(
    weights, length = n, length_why = "one for each observation", lower = 0,
    null_ok = TRUE, arg = "weights", call = call
  )
  if (is.null(weights)) {
    return(NULL)
  }
  if (!any(weights > 0)) {
    abort_argument("`weights` must not all be 0.", call = call)
  }
  if (all(weights == 1)) NULL else unname(weights)
}

check_offset <- function(offset, n, call) {
  offset <- check_numeric_vector(
    offset, length = n, length_why = "one for each observation",
    null_ok = TRUE, arg = "offset", call = call
  )
  if (is.null(offset) || all(offset == 0)) NULL else unname(offset)
}

# ---- formula and matrix ----------------------------------------------------

# na.action as a person may give it, as one of "fail", "omit", "exclude", or a
# function of a data frame.
check_na_action <- function(na_action, default, call) {
  if (is.null(na_action)) {
    na_action <- default
  }
  known <- list(
    fail = stats::na.fail, omit = stats::na.omit, exclude = stats::na.exclude,
    pass = stats::na.pass
  )
  if (is.function(na_action)) {
    same <- vapply(known, identical, NA, na_action)
    if (!any(same)) {
      return(na_action)
    }
    na_action <- names(known)[same]
  }
  if (is_plain_string(na_action)) {
    na_action <- sub("^na\\.", "", na_action)
  }
  check_choice(
    na_action, c("fail", "omit", "exclude", "pass"), arg = "na.action",
    call = call
  )
}

# `incomplete`: rows with a missing value; `where`: of the first one, in words.
# Returns the rows to leave out, as stats::na.omit() marks them, or NULL.
rows_left_out <- function(incomplete, action, where, names, call) {
  rows <- which(incomplete)
  if (length(rows) == 0L) {
    return(NULL)
  }
  if (action %in% c("fail", "pass")) {
    abort_argument(
      c(
        "There are missing values, the first in {where}.",
        i = "{.code na.action = na.omit} leaves incomplete rows out."
      ),
      call = call, class = "missing"
    )
  }
  if (length(rows) == length(incomplete)) {
    abort_argument("Every row has a missing value.", call = call,
      class = "missing"
    )
  }
  kept <- length(incomplete) - length(rows)
  inform_gibbsite(
    c(i = "{length(rows)} row{?s} with missing values
           {cli::qty(length(rows))}{?is/are} left out; {kept} {?is/are} kept."),
    class = "omitted"
  )
  structure(
    stats::setNames(rows, names[rows]), class = action
  )
}

# The model frame of the call, complete; list(frame, na_action).
logistic_model_frame <- function(call_frame, action, env, call) {
  call_frame$na.action <- quote(stats::na.pass)
  call_frame[[1L]] <- quote(stats::model.frame)
  frame <- tryCatch(
    eval(call_frame, env),
    error = function(cnd) {
      reason <- conditionMessage(cnd)
      abort_argument(
        c("The model frame cannot be made.", x = "{reason}"),
        call = call
      )
    }
  )
  if (nrow(frame) == 0L) {
    abort_argument("There are no observations.", call = call, class = "empty")
  }
  check_frame_columns(frame, call)
  if (is.function(action)) {
    frame <- action(frame)
    left_out <- attr(frame, "na.action")
  } else {
    left_out <- frame_left_out(frame, action, call)
    if (!is.null(left_out)) {
      terms <- attr(frame, "terms")
      frame <- frame[-left_out, , drop = FALSE]
      attr(frame, "terms") <- terms
    }
  }
  list(frame = drop_predictor_levels(frame), na_action = left_out)
}

# NaN and infinite values are errors: only NA is missing.
check_frame_columns <- function(frame, call) {
  for (name in names(frame)) {
    v <- frame[[name]]
    wild <- if (is.numeric(v)) is.nan(v) | is.infinite(v) else FALSE
    if (any(wild)) {
      at <- (which(wild)[[1L]] - 1L) %% nrow(frame) + 1L
      place <- frame_place(frame, at, name)
      given <- v[[which(wild)[[1L]]]]
      abort_argument(
        "The data must be finite: {place} is {given}.",
        call = call, class = "infinite"
      )
    }
  }
}

frame_place <- function(frame, row, name) {
  label <- row.names(frame)[[row]]
  words <- paste("row", row)
  if (label != as.character(row)) {
    words <- paste0(words, " (", quoted(label), ")")
  }
  paste0(words, ", variable ", quoted(name))
}

frame_left_out <- function(frame, action, call) {
  missing <- vapply(frame, function(v) {
    if (length(dim(v)) > 1L) rowSums(is.na(v)) > 0 else is.na(v)
  }, logical(nrow(frame)))
  missing <- matrix(missing, nrow(frame))
  if (!any(missing)) {
    return(NULL)
  }
  at <- first_place(missing)
  where <- frame_place(frame, at$row, names(frame)[[at$column]])
  rows_left_out(
    rowSums(missing) > 0, action, where, row.names(frame), call
  )
}

# Levels that no row has any more would make columns of zeros.
drop_predictor_levels <- function(frame) {
  response <- attr(attr(frame, "terms"), "response")
  for (j in setdiff(seq_along(frame), response)) {
    if (is.factor(frame[[j]])) {
      frame[[j]] <- frame[[j]][, drop = TRUE]
    }
  }
  frame
}

#' Logistic regression by the Laplace approximation
#'
#' Fits \eqn{n} observations with predictors \eqn{x_i \in R^p} and offsets
#' \eqn{o_i},
#' \deqn{y_i \mid w \sim \mathrm{Bernoulli}(\sigma(x_i^\top w + o_i)), \quad
#'   \sigma(\eta) = \frac{1}{1 + e^{-\eta}}, \quad w \sim \mathrm{N}(0, C),}{
#'   y_i | w ~ Bernoulli(sigma(x_i'w + o_i)), sigma(eta) = 1 / (1 + exp(-eta)),
#'   w ~ N(0, C),}
#' with \eqn{C = cI}, a diagonal or a full covariance matrix
#' ([logistic_prior()]). The posterior is not normal; its Laplace approximation
#' is:
#' \deqn{p(w \mid y) \approx \mathrm{N}(\hat w, \Sigma), \quad
#'   \hat w = \arg\max L(w), \quad \Sigma^{-1} = -L''(\hat w),}{
#'   p(w | y) ~= N(w_map, Sigma), w_map = argmax L(w),
#'   Sigma^-1 = -L''(w_map),}
#' where \eqn{L(w) = \log p(y \mid w) + \log p(w)} is the log joint density,
#' with the prior in its gradient and its Hessian. The draws are independent
#' draws of that normal distribution. How good the approximation is,
#' `summary()` says.
#'
#' Counts are given as `cbind(successes, failures)`; `weights` \eqn{v_i}
#' multiply the log likelihood of an observation,
#' \deqn{L(w) = \sum_i v_i \Bigl[\log {m_i \choose s_i} + s_i \eta_i - m_i
#'   \log(1 + e^{\eta_i})\Bigr] + \log \mathrm{N}(w \mid 0, C),}{
#'   L(w) = sum_i v_i [log choose(m_i, s_i) + s_i eta_i - m_i log(1 +
#'   exp(eta_i))] + log N(w | 0, C),}
#' and need not be whole numbers: a whole weight counts an observation so many
#' times, any other one tempers it.
#'
#' @section Search for the mode:
#' `method = "newton"` takes steps \eqn{\Sigma(w) L'(w)}{Sigma(w) L'(w)}, each
#' halved until \eqn{L} rises enough (Armijo's rule); since \eqn{L} is strictly
#' concave it gets there from any `start`. With many observations the start is
#' the mode for every so many-th of them. `method = "gradient"` is gradient
#' ascent in units of each coefficient's largest curvature, with Barzilai and
#' Borwein's first step and the same halving: no system of equations is solved
#' on the way, and many more steps are taken. Both end when the mode is within
#' 1e-8 posterior standard deviations (in the metric of \eqn{\Sigma^{-1}}) up to
#' rounding.
#'
#' @section Without a prior:
#' With `c = Inf` the mode is the maximum likelihood estimate, where there is
#' one. Columns that are linear combinations of others are an error that names
#' them. So are separated data, for which the likelihood has no maximum (Albert
#' and Anderson 1984): when the search fails, a linear program decides exactly
#' whether some combination of columns separates successes from failures, and
#' the error names the columns (Konis 2007). Under a proper prior both are
#' fine. The evidence is `NA` when any coefficient has a flat prior.
#'
#' @section How good it is:
#' [importance_check()] weighs the draws against the posterior; `print()` and
#' `summary()` say what it found. With `correct = "importance"` the chains draw
#' from the posterior itself, by iterated sampling importance resampling, see
#' [laplace()]; they then have a burn-in of 20 sweeps, and R-hat and effective
#' sample sizes.
#'
#' @section Matrices:
#' With a matrix `x` in place of the formula the columns are taken as they are:
#' no intercept is added. Give a column of ones the name `"(Intercept)"` and it
#' has the intercept's prior. A matrix of doubles is not copied; other numbers
#' are converted first. Sparse matrices of the Matrix package stay sparse
#' (`dgCMatrix`; others are converted to it).
#'
#' @section Missing values:
#' With a formula `na.action` is as in [stats::glm()], except that nothing is
#' left out without a message; with a matrix the default is `"fail"`. NaN and
#' infinite values are errors in any case.
#'
#' @param x The matrix of predictors, `n x p`, dense or sparse; or a formula.
#' @param formula A formula, `response ~ predictors`.
#' @param data A data frame in which the formula's variables are looked up
#'   first.
#' @param y With a matrix: the response, of length `n` (or `n x 2`). Like the
#'   response of a formula it is 0 and 1, logical (`TRUE` is success), a factor
#'   with two levels (the second is success), or two columns of whole numbers:
#'   successes and failures.
#' @param prior The prior, made by [logistic_prior()].
#' @param weights `NULL` or `n` numbers, 0 or more.
#' @param offset `NULL` or `n` numbers that are added to the linear predictor.
#' @param subset Rows of `data` to use, as in [stats::glm()].
#' @param na.action What to do about missing values: [stats::na.omit()],
#'   [stats::na.exclude()], [stats::na.fail()] or their names, with or without
#'   `na.`. `NULL` is `getOption("na.action")` with a formula, `"fail"` with a
#'   matrix.
#' @param contrasts As in [stats::glm()].
#' @param start `NULL` or `p` numbers: where the search for the mode begins. By
#'   default at 0.
#' @param method `"newton"` (default) or `"gradient"`.
#' @param correct `"none"` (default): independent draws of the normal
#'   approximation. `"importance"`: draws of the posterior itself, see below.
#' @param draws Whole number: draws from the approximation in each chain.
#' @param chains,cores,seed,checkpoint,stop_when,progress,keep_data As in
#'   [running]. A chain is so many independent draws: there is no burn-in.
#' @param ... Not used: anything else is an error.
#' @return An object of class `laplace_logistic`, a `gibbsite_fit` and a
#'   [coda::mcmc.list] whose columns are those of the model matrix.
#' @section Errors:
#' Errors in the arguments have class `gibbsite_error_argument`; among them
#' `gibbsite_error_collinear` and `gibbsite_error_separated`, both with the
#' names of the columns in `$columns`. A search that does not reach the mode is
#' an error of class `gibbsite_error_numeric`.
#' @references
#' Paisley J (2015). *E6892 Bayesian Models for Machine Learning*, lecture 3,
#' eq. 3-15 (whose gradient and Hessian leave out the prior's terms).
#'
#' MacKay DJC (1992). The evidence framework applied to classification
#' networks. *Neural Computation* 4, 720-736.
#' \doi{10.1162/neco.1992.4.5.720}
#'
#' Albert A, Anderson JA (1984). On the existence of maximum likelihood
#' estimates in logistic regression models. *Biometrika* 71, 1-10.
#' \doi{10.1093/biomet/71.1.1}
#'
#' Konis K (2007). *Linear programming algorithms for detecting separated data
#' in binary logistic regression models*. DPhil thesis, University of Oxford.
#'
#' Barzilai J, Borwein JM (1988). Two-point step size gradient methods. *IMA
#' Journal of Numerical Analysis* 8, 141-148. \doi{10.1093/imanum/8.1.141}
#' @examples
#' fit <- laplace_logistic(type ~ npreg + glu + bmi + ped + age,
#'   data = MASS::Pima.tr, seed = 1
#' )
#' fit
#' prior_summary(fit)
#' @export
laplace_logistic <- function(x, ...) {
  if (!missing(x)) {
    UseMethod("laplace_logistic")
  }
  # `formula =` by name, wherever it stands
  formula <- match.call(expand.dots = FALSE)$...$formula
  UseMethod("laplace_logistic", eval(formula, parent.frame()))
}

#' @rdname laplace_logistic
#' @export
laplace_logistic.formula <- function(formula, data, prior = logistic_prior(),
                                     weights = NULL, offset = NULL,
                                     subset = NULL, na.action = NULL,
                                     contrasts = NULL, start = NULL,
                                     method = c("newton", "gradient"),
                                     correct = c("none", "importance"),
                                     draws = 1000, chains = 4,
                                     cores = getOption("mc.cores", 1L),
                                     seed = NULL, checkpoint = NULL,
                                     stop_when = NULL,
                                     progress = interactive(),
                                     keep_data = TRUE, ...) {
  call <- rlang::current_env()
  check_no_more(..., call = call)
  method <- check_choice(method, c("newton", "gradient"))
  correct <- check_choice(correct, c("none", "importance"))
  running <- laplace_running(
    correct, draws, chains, cores, seed, checkpoint, stop_when, progress,
    keep_data, call
  )
  user_call <- match.call()
  user_call[[1L]] <- quote(laplace_logistic)
  action <- check_na_action(
    na.action, getOption("na.action", "na.omit"), call
  )
  if (length(formula) != 3L) {
    abort_argument("`formula` must have a response: `y ~ x`.", call = call)
  }
  wanted <- c("formula", "data", "subset", "weights", "offset")
  made <- logistic_model_frame(
    user_call[c(1L, match(wanted, names(user_call), 0L))], action,
    parent.frame(), call
  )
  parts <- formula_parts(made, contrasts, call)
  model <- logistic_model(parts, prior, start, method, correct, call)
  run_chains(model, running, user_call, call)
}

#' @rdname laplace_logistic
#' @export
laplace_logistic.default <- function(x, y, prior = logistic_prior(),
                                     weights = NULL, offset = NULL,
                                     na.action = NULL, start = NULL,
                                     method = c("newton", "gradient"),
                                     correct = c("none", "importance"),
                                     draws = 1000, chains = 4,
                                     cores = getOption("mc.cores", 1L),
                                     seed = NULL, checkpoint = NULL,
                                     stop_when = NULL,
                                     progress = interactive(),
                                     keep_data = TRUE, ...) {
  call <- rlang::current_env()
  check_no_more(..., call = call)
  method <- check_choice(method, c("newton", "gradient"))
  correct <- check_choice(correct, c("none", "importance"))
  running <- laplace_running(
    correct, draws, chains, cores, seed, checkpoint, stop_when, progress,
    keep_data, call
  )
  user_call <- match.call()
  user_call[[1L]] <- quote(laplace_logistic)
  action <- check_na_action(na.action, "fail", call)
  parts <- matrix_parts(x, y, weights, offset, action, call)
  model <- logistic_model(parts, prior, start, method, correct, call)
  run_chains(model, running, user_call, call)
}

# The running arguments that make sense for a Laplace approximation.
laplace_running <- function(correct, draws, chains, cores, seed, checkpoint,
                            stop_when, progress, keep_data, call) {
  running(
    draws = draws, burnin = laplace_burnin(correct), thin = 1, chains = chains,
    cores = cores, seed = seed, checkpoint = checkpoint, stop_when = stop_when,
    progress = progress, keep_data = keep_data, keep_choices = character(),
    call = call
  )
}

# list(design, frame) of a model frame.
formula_parts <- function(made, contrasts, call) {
  frame <- made$frame
  terms <- attr(frame, "terms")
  n <- nrow(frame)
  name <- deparse1(terms[[2L]])
  response <- as_response(stats::model.response(frame), name, call)
  response$name <- name
  weights <- check_weights(frame[["(weights)"]], n, call)
  offset <- check_offset(stats::model.offset(frame), n, call)
  if (!is.null(contrasts) && !is.list(contrasts)) {
    abort_expected(contrasts, "a list", TRUE, "contrasts", call)
  }
  x <- tryCatch(
    stats::model.matrix(terms, frame, contrasts),
    error = function(cnd) {
      reason <- conditionMessage(cnd)
      abort_argument(
        c("The model matrix cannot be made.", x = "{reason}"),
        call = call
      )
    }
  )
  storage.mode(x) <- "double"
  list(
    x = x, columns = colnames(x), response = response, weights = weights,
    offset = offset, total = total_weights(response, weights),
    more = list(
      formula = stats::formula(terms), terms = terms,
      xlevels = stats::.getXlevels(terms, frame),
      contrasts = attr(x, "contrasts"), model = frame,
      na.action = made$na_action, row_names = row.names(frame)
    )
  )
}

# The same of a matrix and a response.
matrix_parts <- function(x, y, weights, offset, action, call) {
  if (missing(y)) {
    abort_argument("`y` is needed: the response.", call = call)
  }
  x <- as_design(x, call)
  n <- nrow(x)
  if (NROW(y) != n) {
    abort_argument(
      "`y` must have {n} observation{?s} (rows of `x`), not {NROW(y)}.",
      call = call
    )
  }
  response <- as_response(y, "y", call)
  response$name <- "y"
  weights <- check_weights(weights, n, call)
  offset <- check_offset(offset, n, call)
  columns <- whole_column_names(colnames(x), ncol(x), "x")
  total <- total_weights(response, weights)
  found <- measure_columns(x, total)
  left_out <- matrix_left_out(
    x, response, columns, which(!found$finite), action, call
  )
  if (!is.null(left_out)) {
    found <- NULL
    out <- -as.integer(left_out)
    x <- x[out, , drop = FALSE]
    response$y <- response$y[out]
    response$trials <- response$trials[out]
    weights <- weights[out]
    offset <- offset[out]
    total <- total[out]
  }
  list(
    x = x, columns = columns, response = response, weights = weights,
    offset = offset, total = total, found = found,
    more = list(
      formula = NULL, terms = NULL, xlevels = NULL, contrasts = NULL,
      model = NULL, na.action = left_out, row_names = rownames(x)
    )
  )
}

# A double matrix or a dgCMatrix; as it is where it is one.
as_design <- function(x, call) {
  if (inherits(x, "Matrix")) {
    if (!inherits(x, "dgCMatrix")) {
      x <- methods::as(methods::as(methods::as(
        x, "dMatrix"), "generalMatrix"), "CsparseMatrix")
    }
  } else if (is.data.frame(x)) {
    x <- matrix_from_data_frame(x, "x", call)
  } else if (!is.matrix(x) || !(is.numeric(x) || is.logical(x))) {
    if (!is.numeric(x) || is.object(x) || length(dim(x)) > 0L) {
      abort_expected(
        x, "a formula, or a numeric matrix of predictors", FALSE, "x", call
      )
    }
    x <- matrix(x, dimnames = list(names(x), NULL))
  }
  if (is.matrix(x) && !is.double(x)) {
    storage.mode(x) <- "double"
  }
  if (nrow(x) == 0L) {
    abort_argument("`x` has no rows.", call = call, class = "empty")
  }
  x
}

# wild: columns that are not finite throughout.
matrix_left_out <- function(x, response, columns, wild, action, call) {
  if (length(wild) == 0L && !anyNA(response$y)) {
    return(NULL)
  }
  incomplete <- is.na(response$y)
  where <- if (any(incomplete)) paste("element", which(incomplete)[[1L]],
                                      "of `y`")
  for (j in wild) {
    v <- column_of(x, j)
    if (anyNA(v)) {
      # NaN is not missing, but wrong
      gone <- is.na(v) & !is.nan(v)
      if (any(gone) && is.null(where)) {
        where <- paste0(
          "row ", which(gone)[[1L]], ", column ", quoted(columns[[j]]),
          " of `x`"
        )
      }
      incomplete <- incomplete | gone
    }
  }
  if (!any(incomplete)) {
    return(NULL)
  }
  if (is.function(action)) {
    abort_argument(
      "`na.action` must be \"fail\", \"omit\" or \"exclude\" with a matrix.",
      call = call
    )
  }
  rows_left_out(incomplete, action, where, rownames(x), call)
}

# ---- the model -----------------------------------------------------------

logistic_model <- function(parts, prior, start, method, correct, call) {
  frame <- logistic_frame(parts)
  p <- length(parts$columns)
  if (p == 0L) {
    abort_argument("The model has no coefficients.", call = call)
  }
  nobs <- sum(frame$total > 0)
  if (nobs == 0L) {
    abort_argument("There are no observations with trials.", call = call)
  }
  found <- parts$found %||% measure_columns(frame$x, frame$total)
  design <- describe_design(frame$x, parts$columns, found, call)
  prior <- complete_logistic_prior(prior, design, call)
  quadratic <- prior_precision(prior)
  start <- check_numeric_vector(
    start, length = p, length_why = "the number of coefficients",
    null_ok = TRUE, arg = "start", call = call
  )
  tell_constant_response(frame, quadratic$flat)
  found <- search_mode_logistic(frame, quadratic, start, method, parts$columns,
                                call)
  evidence <- if (length(quadratic$flat) > 0L) {
    NA_real_
  } else {
    laplace_log_evidence(found$log_joint, found$precision_factor)
  }
  new_laplace_model(
    "laplace_logistic_model",
    name = "laplace_logistic", title = "Logistic regression",
    map = found$map, precision_factor = found$precision_factor, prior = prior,
    nobs = nobs, columns = parts$columns,
    log_evidence = evidence, log_joint_map = found$log_joint,
    trace = found$trace, iterations = length(found$trace) - 1L, method = method,
    correct = correct, design = logistic_design_of(frame), frame = frame
  )
}

# What predictions for new data need, and is no data.
logistic_design_of <- function(frame) {
  c(
    frame[c("terms", "xlevels", "contrasts", "formula", "response")],
    list(offset = !is.null(frame$offset))
  )
}

# With successes alone, or failures alone, nothing but the prior keeps the
# coefficients from infinity.
tell_constant_response <- function(frame, flat) {
  none <- max(frame$success) <= 0
  all <- identical(frame$success, frame$total)
  if (!none && !all || length(flat) > 0L) {
    return(invisible())
  }
  what <- if (none) "failure" else "success"
  name <- frame$response$name
  inform_gibbsite(
    c(i = "Every observation of `{name}` is a {what}: the prior alone keeps the
           coefficients finite."),
    class = "constant_response"
  )
}

# ---- the search for the mode -----------------------------------------------

# The log joint density as C reads it.
logistic_density <- function(frame, quadratic) {
  list(
    x = design_for_c(frame$x), success = frame$success, total = frame$total,
    offset = frame$offset, precision = quadratic$precision,
    constant = frame$constant + quadratic$constant
  )
}

search_outcomes <- c(
  "converged", "limit", "stalled", "singular", "interrupted"
)

# price: of a factor, see src/core/logistic_inexact.h; 0: counted.
climb_density <- function(density, start, method = "newton", share = FALSE,
                          limit = if (method == "newton") 200 else 20000,
                          tolerance = 1e-8, price = 0) {
  found <- .Call(
    C_logistic_search, density, as.double(start),
    list(
      gradient = as.double(method == "gradient"),
      limit = as.double(limit),
      share = as.double(share), tolerance = tolerance, price = price
    )
  )
  if (is.null(found)) {
    rlang::interrupt()
  }
  found$outcome <- search_outcomes[[found$outcome + 1L]]
  # as near as rounding lets it come
  if (found$outcome == "stalled" && found$distance < 1e-4) {
    found$outcome <- "converged"
  }
  found
}

search_mode_logistic <- function(frame, quadratic, start, method, columns,
                                 call) {
  density <- logistic_density(frame, quadratic)
  before <- NULL
  if (is.null(start)) {
    start <- numeric(length(columns))
    if (method == "newton" && length(columns) > nrow(frame$x) &&
          length(quadratic$flat) == 0L) {
      reduced <- search_row_space(frame, density)
      start <- reduced$map
      before <- reduced$trace
    } else if (method == "newton") {
      start <- warm_start(frame, density, start)
    }
  }
  found <- climb_density(
    density, start, method, share = length(quadratic$flat) > 0L
  )
  if (!is.null(before)) {
    found$trace <- c(before, found$trace[-1L])
  }
  flat <- quadratic$flat
  # a share this small is what collinear columns and separated data leave
  if (length(flat) > 0L &&
        (found$outcome != "converged" || found$share < 1e-10)) {
    check_collinear(frame, flat, columns, call)
    check_separated(frame, flat, columns, call)
  }
  if (found$outcome != "converged" || !is.finite(found$log_joint)) {
    abort_search(found, method, call)
  }
  found
}

# The mode for every step-th row: with many rows a step there costs little, and
# the full data then need two or three.
warm_start <- function(frame, density, start) {
  n <- nrow(frame$x)
  step <- floor(min(40, n / 1000, n / (50 * length(start))))
  if (step < 4) {
    return(start)
  }
  found <- climb_density(
    every_row(frame, density, step), start, limit = 25, tolerance = 0.1
  )
  if (found$outcome == "converged" && all(is.finite(found$map))) {
    found$map
  } else {
    start
  }
}

# The density of rows 1, 1 + step, ..., each of which counts `step` times.
every_row <- function(frame, density, step) {
  rows <- seq.int(1L, nrow(frame$x), by = step)
  density$x <- design_for_c(frame$x[rows, , drop = FALSE])
  density$success <- step * density$success[rows]
  density$total <- step * density$total[rows]
  density["offset"] <- list(density$offset[rows])
  density
}

# More columns than rows: the mode lies where w = C X'a, as there L' = 0 reads
# X'(s - m sigma) = Q w.  With X C X' = R R' and w = C X' R^-T u the linear
# predictor is o + R u and w'Qw = u'u: a regression on n columns with prior
# N(0, I), whose L is that of w.
search_row_space <- function(frame, density) {
  q <- density$precision
  rows <- Matrix::t(frame$x)
  spread <- unname(as.matrix(if (is.matrix(q)) solve(q, rows) else rows / q))
  cross <- unname(as.matrix(frame$x %*% spread))
  root <- eigen((cross + t(cross)) / 2, symmetric = TRUE)
  kept <- root$values > 1e-14 * max(root$values, 0)
  if (!any(kept)) {
    return(list(map = numeric(ncol(frame$x))))
  }
  vectors <- root$vectors[, kept, drop = FALSE]
  sizes <- sqrt(root$values[kept])
  reduced <- density
  reduced$x <- vectors * rep(sizes, each = nrow(vectors))
  reduced$precision <- rep(1, length(sizes))
  found <- climb_density(reduced, numeric(length(sizes)))
  list(
    map = drop(spread %*% (vectors %*% (found$map / sizes))),
    trace = found$trace
  )
}

abort_search <- function(found, method, call) {
  taken <- length(found$trace) - 1L
  distance <- format(found$distance, digits = 2)
  hint <- if (method == "gradient") {
    "`method = \"newton\"` needs far fewer iterations."
  } else {
    "Look for predictors on very different scales, or nearly collinear ones."
  }
  abort_numeric(
    c(
      "The mode was not found in {taken} iteration{?s} ({found$outcome}).",
      x = "It is about {distance} posterior standard deviations away.",
      i = "{hint}"
    ),
    call = call, class = "mode", trace = found$trace
  )
}

# ---- diagnosis under a flat prior ------------------------------------------

# Columns that are linear combinations of those before them, by the Gram matrix
# of the flat columns in units of their length: qr() moves such columns to the
# end.  (1 - R^2 below 1e-11 is a relative residual below 3e-6.)
check_collinear <- function(frame, flat, columns, call) {
  rows <- list(
    n = nrow(frame$x), p = ncol(frame$x), x = design_for_c(frame$x)
  )
  # minus the Hessian at eta = 0 is x' diag(total / 4) x
  gram <- .Call(
    C_logistic_derivatives,
    list(
      x = rows$x, success = frame$total / 2, total = 4 * frame$total,
      offset = NULL, precision = numeric(rows$p), constant = 0
    ),
    numeric(rows$p)
  )$hessian[flat, flat, drop = FALSE]
  size <- sqrt(diag(gram))
  empty <- !(size > 0)
  size[empty] <- 1
  reduced <- qr(gram / outer(size, size), tol = 1e-11)
  dependent <- reduced$pivot[seq_along(flat) > reduced$rank]
  if (length(dependent) == 0L) {
    return(invisible())
  }
  names <- columns[flat][sort(dependent)]
  zero <- all(empty[dependent])
  abort_argument(
    c(
      "{cli::qty(names)}The column{?s} {.val {names}} {?is/are} {?a linear
       combination/linear combinations} of the others: without a prior
       {?its coefficient is/their coefficients are} not determined.",
      x = if (zero) "{cli::qty(names)}{?It is/They are} 0 in every row.",
      i = "Leave {cli::qty(names)}{?it/them} out, or give a proper prior, such
           as {.code logistic_prior()}."
    ),
    call = call, class = "collinear", columns = names
  )
}

# Data are separated when some beta != 0 of the flat columns has x_i'beta >= 0
# for every success, <= 0 for every failure (both: = 0), and not 0 everywhere:
# the likelihood then rises for ever along beta (Albert & Anderson 1984).  A
# linear program finds one (Konis 2007, sec. 4.2).  Columns that are not needed
# to separate as many observations are then left out one by one.
check_separated <- function(frame, flat, columns, call) {
  signed <- signed_rows(frame, flat)
  found <- separating_direction(signed, seq_along(flat))
  if (found$count == 0) {
    return(invisible())
  }
  needed <- seq_along(flat)
  for (j in rev(seq_along(flat))) {
    fewer <- setdiff(needed, j)
    if (length(fewer) > 0L &&
          separating_direction(signed, fewer)$count >= found$count) {
      needed <- fewer
    }
  }
  names <- columns[flat][needed]
  abort_argument(
    c(
      "{cli::qty(names)}Successes and failures are separated by column{?s}
       {.val {names}}: without a prior {?its coefficient is/their coefficients
       are} infinite.",
      i = "Give {cli::qty(names)}{?it/them} a proper prior, such as
           {.code logistic_prior()}."
    ),
    call = call, class = "separated", columns = names
  )
}

# Rows x_i of the flat columns for successes and -x_i for failures, in units of
# each column's largest value, and whether an observation has both; every
# different row once, `times` says how often.
signed_rows <- function(frame, flat) {
  kept <- frame$total > 0
  x <- as.matrix(frame$x[kept, flat, drop = FALSE])
  success <- frame$success[kept]
  both <- success > 0 & success < frame$total[kept]
  size <- apply(abs(x), 2L, max)
  size[!(size > 0)] <- 1
  x <- ifelse(success > 0, 1, -1) * x / rep(size, each = nrow(x))
  keys <- paste(both, do.call(paste, as.data.frame(x)))
  first <- !duplicated(keys)
  list(
    x = unname(x[first, , drop = FALSE]), both = both[first],
    times = as.vector(table(keys)[keys[first]])
  )
}

# max sum_i x_i'beta, x_i'beta >= 0 (= 0 where both), |beta_j| <= 1, for the
# columns `among`: how many observations the maximum separates.
separating_direction <- function(signed, among) {
  x <- signed$x[, among, drop = FALSE]
  p <- length(among)
  gain <- colSums(x[!signed$both, , drop = FALSE])
  # the program's variables 1 + beta are not negative
  solved <- lpSolve::lp(
    "max", gain, rbind(x, diag(p)),
    c(ifelse(signed$both, "=", ">="), rep("<=", p)), c(rowSums(x), rep(2, p))
  )
  if (solved$status != 0L) {
    return(list(count = 0))
  }
  beyond <- drop(x %*% (solved$solution - 1)) > 1e-9
  list(count = sum(signed$times[beyond]))
}

# ---- what the driver asks ------------------------------------------------

#' @exportS3Method
model_headline.laplace_logistic_model <- function(model) {
  p <- length(model$columns)
  cli::pluralize(
    "Logistic regression: {p} coefficient{?s}, {model$nobs} ",
    "observation{?s}; Laplace approximation"
  )
}

#' @exportS3Method
model_comparable.laplace_logistic_model <- function(model) {
  bare <- function(x) {
    if (!is.null(x)) attr(x, ".Environment") <- NULL
    x
  }
  for (part in c("frame", "design")) {
    for (name in intersect(c("formula", "terms"), names(model[[part]]))) {
      model[[part]][name] <- list(bare(model[[part]][[name]]))
    }
  }
  if (!is.null(model$frame$model)) {
    attr(model$frame$model, "terms") <- bare(attr(model$frame$model, "terms"))
  }
  model
}

# ---- densities -----------------------------------------------------------

check_frame <- function(model, call = rlang::caller_env()) {
  if (is.null(model$frame)) {
    abort_state(
      c(
        "The fit no longer holds its data.",
        i = "It was made with {.code keep_data = FALSE} or {.fn drop_data}."
      ),
      call = call
    )
  }
  model$frame
}

# A row a vector of parameters.
parameter_rows <- function(w, p) {
  if (is.matrix(w)) w else matrix(w, ncol = p)
}

# log p(y | w) + log p(w), every constant included (a flat direction counts as
# having density 1), for each row of w.
logistic_log_joint <- function(model, w) {
  frame <- check_frame(model)
  density <- logistic_density(frame, prior_precision(model$prior))
  w <- parameter_rows(w, length(model$columns))
  .Call(C_logistic_draws, density, t(unname(w)), 0)
}

# log p(y_i | w), rows of w by observations, with weights and binomial
# coefficients.
logistic_log_lik <- function(model, w) {
  frame <- check_frame(model)
  density <- logistic_density(frame, prior_precision(model$prior))
  w <- parameter_rows(w, length(model$columns))
  values <- .Call(C_logistic_draws, density, t(unname(w)), 1)
  if (!is.null(frame$trials)) {
    coefficient <- (frame$weights %||% 1) *
      lchoose(frame$trials, round(frame$trials * frame$y))
    values <- values + rep(coefficient, each = nrow(values))
  }
  values
}

# o + x w, rows of w by rows of x.
logistic_linpred <- function(x, w, offset = NULL) {
  none <- numeric(nrow(x))
  w <- parameter_rows(w, ncol(x))
  .Call(
    C_logistic_draws,
    list(
      x = design_for_c(x), success = none, total = none,
      offset = if (!is.null(offset)) as.double(offset),
      precision = numeric(ncol(x)), constant = 0
    ),
    t(unname(w)), 2
  )
}
