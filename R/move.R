# Moves of mh_sample(): the objects that a user makes, and the lists that C
# reads.
#
# A move is a plain list of class c("<kind>", "gibbsite_proposal") without a
# dimension; functions in it are sent with it to other processes. The kinds are
# in R/move-*.R, each with its constructor and its methods of the generics
# below. src/core/mh/mh_types.h lists the kinds in C.

new_proposal <- function(kind, ...) {
  structure(list(...), class = c(kind, "gibbsite_proposal"))
}

proposal_kinds <- c(
  "random_walk", "adaptive", "independence", "custom_proposal", "langevin",
  "mixture_proposal", "hmc", "nuts", "univariate_slice", "elliptical_slice",
  "tempered", "delayed_rejection"
)

# ---- Properties of a kind ----------------------------------------------------

# The properties of a move, a list of flags; those left out are FALSE:
#   density     its q(y | x) is known, as mixtures and delayed rejection need
#   why_not     if it is not known: a sentence on what to do instead
#   learns      adapts in burn-in
#   scalable    has steps that a number can multiply
#   gradient    uses the gradient
#   far         each sweep moves all coordinates far
#   slice       counts the points that its slices ask for
#   dynamics    Hamiltonian dynamics
#   replicas    parallel tempering
#   scale       begins at the scales of the density, which must be found
#   covariance  begins at a covariance, which must be found
#   mass        its mass adapts in burn-in
#   mode        asks for the covariance at the mode
#   matrix      has a d x d matrix
#   user        functions of the user draw it
move_traits <- function(move) UseMethod("move_traits")

has_trait <- function(move, trait) isTRUE(move_traits(move)[[trait]])

# Whether the move or a part of it has a trait.
any_trait <- function(move, trait) {
  has_trait(move, trait) || any(vapply(move$parts, any_trait, NA, trait))
}

# Which blocks of a plan have a trait, a flag each; and whether any has.
plan_traits <- function(plan, trait, test = any_trait) {
  vapply(plan, function(block) test(block$proposal, trait), NA)
}

plan_has <- function(plan, trait) any(plan_traits(plan, trait))

# A function that makes a move again from its elements.
move_maker <- function(move) UseMethod("move_maker")

#' @exportS3Method
move_maker.default <- function(move) {
  get(class(move)[[1L]], asNamespace("gibbsite"))
}

# What print() calls the move.
move_words <- function(move) UseMethod("move_words")

# The fields that C reads of this kind of move alone. `at`: of
# compile_proposal().
move_compile <- function(move, at) UseMethod("move_compile")

# The block's part of a chain's state. `scale`: the scale of the density in each
# coordinate (reach()); `x`: the starting point; `factor`: the factor of a
# covariance to begin with, or NULL.
move_memory <- function(move, compiled, x, scale, factor = NULL) {
  UseMethod("move_memory")
}

#' @exportS3Method
move_memory.default <- function(move, compiled, x, scale, factor = NULL) {
  new_memory()
}

# `more`: fields of this kind of move alone.
new_memory <- function(factor = numeric(), mean = numeric(), log_step = 0,
                       more = NULL) {
  c(
    list(
      factor = factor, mean = mean, tuning = c(log_step, 0),
      counts = numeric(4L)
    ), more
  )
}

# The user's functions that C calls: list(draw, log_q, parts), or some of these.
move_functions <- function(move) UseMethod("move_functions")

#' @exportS3Method
move_functions.default <- function(move) {
  list(parts = lapply(move$parts, move_functions))
}

# Lines for print() and summary() on all blocks with this kind of move. `rates`:
# of acceptance().
move_notes <- function(move, model, fit, rates) UseMethod("move_notes")

#' @exportS3Method
move_notes.default <- function(move, ...) NULL

# The lines of all kinds of moves in a plan, each once.
plan_notes <- function(model, fit, rates) {
  unique(unlist(lapply(model$plan, function(block) {
    move_notes(block$proposal, model, fit, rates)
  })))
}

# ---- Checks -----------------------------------------------------------------

# Makes a proposal again from its elements: an error if this fails.
check_proposal_fields <- function(x, arg, call = rlang::caller_env()) {
  kind <- class(x)[[1L]]
  if (!kind %in% proposal_kinds) {
    abort_argument(
      c("{.arg {arg}} has the class of a proposal, but is of no kind.",
        i = "Proposals are made by {.fn random_walk}, {.fn adaptive}, ..."),
      call = call, class = "forged"
    )
  }
  remade(x, move_maker(x), paste0(kind, "()"), arg, call)
  x
}

check_proposal <- function(x, arg, call = rlang::caller_env()) {
  if (!inherits(x, "gibbsite_proposal")) {
    given <- describe(x)
    hint <- if (is.function(x)) {
      "Call it, as in {.code random_walk(scale = 1)}; a function of your own
       goes into {.fn custom_proposal}."
    } else if (rlang::is_string(x, proposal_kinds)) {
      paste0("Call the function: {.code ", x, "()}, without quotes.")
    } else {
      "Proposals are made by {.fn random_walk}, {.fn adaptive}, ..."
    }
    abort_argument(
      c("{.arg {arg}} must be a proposal, not {given}.", i = hint),
      call = call
    )
  }
  check_proposal_fields(x, arg, call)
}

# ---- Print ------------------------------------------------------------------

#' @export
format.gibbsite_proposal <- function(x, ...) {
  check_proposal_fields(x, "x")
  move_words(x)
}

#' @export
print.gibbsite_proposal <- function(x, ...) {
  text <- format(x)
  writeLines(paste0(toupper(substr(text, 1, 1)), substring(text, 2)))
  invisible(x)
}

# ---- The form for C ---------------------------------------------------------

proposal_families <- c(normal = 0L, t = 1L, uniform = 2L)

# A proposal on d coordinates, as C reads it. `at_mode`: function that gives the
# inverse of the negative Hessian at the mode, d x d, for proposals that ask for
# it. `where` names the proposal in messages; `names` are those of the
# coordinates, if they have any.
compile_proposal <- function(proposal, d, where = "proposal", at_mode = NULL,
                             call = rlang::caller_env(), names = NULL) {
  compile_at(proposal, list(
    d = d, where = where, at_mode = at_mode, call = call, names = names
  ))
}

compile_at <- function(proposal, at) {
  compiled <- list(
    kind = class(proposal)[[1L]], family = 0L, tuned = 0L,
    d = as.integer(at$d), df = Inf, target = 0.5
  )
  own <- move_compile(proposal, at)
  compiled[names(own)] <- own
  compiled
}

# The compiled parts of a proposal. Messages name the parts by their numbers.
compile_parts <- function(move, at) {
  where <- at$where
  lapply(seq_along(move$parts), function(i) {
    at$where <- paste0(where, " (part ", i, ")")
    compile_at(move$parts[[i]], at)
  })
}

# A compiled proposal in the form of this version. Earlier ones stored the kind
# as a number, the same fields for all kinds, and `longest` for fields that now
# have names of their own.
renew_proposal <- function(compiled) {
  if (is.character(compiled$kind)) {
    return(compiled)
  }
  kind <- proposal_kinds[[compiled$kind + 1L]]
  compiled$kind <- kind
  word <- c(hmc = "steps", nuts = "depth", univariate_slice = "widths")[kind]
  names(compiled)[names(compiled) == "longest" & !is.na(word)] <- word
  unused <- Filter(function(field) length(compiled[[field]]) == 0L, c(
    "mean", "weights", "parts", if (kind != "adaptive") "factor"
  ))
  compiled[c(unused, "longest", if (kind == "nuts") "jitter")] <- NULL
  if (!is.null(compiled$parts)) {
    compiled$parts <- lapply(compiled$parts, renew_proposal)
  }
  compiled
}

# Number of variates drawn ahead that a sweep uses.
block_variates <- function(block) .Call(C_mh_variates, block$proposal)

# The gradients in a proposal: a list of functions.
proposal_gradients <- function(proposal) {
  own <- if (has_trait(proposal, "gradient")) proposal$gradient
  c(
    if (!is.null(own)) list(own),
    unlist(lapply(proposal$parts, proposal_gradients), recursive = FALSE)
  )
}

# ---- Arguments that moves share ----------------------------------------------

check_approximation <- function(x, arg, call) {
  if (inherits(x, "laplace_model")) x else check_whole_fit(x, arg, call)
}

check_scale <- function(scale, call = rlang::caller_env()) {
  check_numeric_vector(
    scale, lower = 0, lower_open = TRUE, null_ok = TRUE, call = call
  )
}

# A covariance in any form that a user may give: NULL, a matrix (of size 1: a
# number), "laplace", or a Laplace approximation.
check_spread <- function(cov, arg = "cov", laplace_ok = TRUE,
                         call = rlang::caller_env()) {
  if (is.null(cov)) {
    return(cov)
  }
  if (is_laplace_fit(cov)) {
    return(check_approximation(cov, arg, call))
  }
  if (is.character(cov) && laplace_ok) {
    return(check_choice(cov, "laplace", arg = arg, call = call))
  }
  if (is_plain_number(cov)) {
    cov <- matrix(cov)
  }
  cov <- numeric_matrix(cov, arg, call)
  if (!is.matrix(cov)) {
    also <- if (laplace_ok) ", \"laplace\"" else ""
    abort_expected(
      cov, paste0("a covariance matrix", also, " or a Laplace approximation"),
      TRUE, arg, call
    )
  }
  check_covariance(cov, arg, call)
}

# A Laplace approximation has coef() and vcov().
is_laplace_fit <- function(x) {
  inherits(x, c("gibbsite_laplace", "laplace_model", "laplace_logistic"))
}

# A point, or the mode of a Laplace approximation in its place. The names of an
# approximation are used only if they are those of the coordinates, in any
# order: the user did not choose them.
mode_or_point <- function(x, arg, call) {
  if (!is_laplace_fit(x)) {
    return(x)
  }
  check_approximation(x, arg, call)
  stats::coef(x)
}

approximation_covariance <- function(fit) as.matrix(stats::vcov(fit))

check_rate <- function(target, null_ok = FALSE, call = rlang::caller_env()) {
  check_number(target,
    lower = 0, upper = 1, lower_open = TRUE, upper_open = TRUE,
    null_ok = null_ok, arg = "target", call = call
  )
}

# A step that is given, or NULL if it is tuned in burn-in.
check_tuned_step <- function(step, tune, call = rlang::caller_env()) {
  step <- check_number(
    step, lower = 0, lower_open = TRUE, null_ok = TRUE, call = call
  )
  if (is.null(step) && !check_flag(tune, call = call)) {
    abort_argument(
      "{.arg step} is needed with {.code tune = FALSE}.", call = call
    )
  }
  step
}

check_gradient_function <- function(gradient, call = rlang::caller_env()) {
  if (is.null(gradient)) {
    return(NULL)
  }
  if (!is.function(gradient) || is_native_density(gradient)) {
    abort_expected(gradient, "a function of a point", TRUE, "gradient", call)
  }
  if (length(argument_list(gradient)) == 0L) {
    abort_argument(
      "{.arg gradient} must be a function of a point; it takes no argument.",
      call = call
    )
  }
  gradient
}

# ---- For the coordinates of a block -----------------------------------------

# One number for each coordinate. `at`: of compile_proposal(); borrowed: see
# names_for().
as_coordinates <- function(x, arg, at, borrowed = FALSE) {
  d <- at$d
  where <- at$where
  if (!length(x) %in% c(1L, d)) {
    abort_argument(
      "`{arg}` of `{where}` must have length {or_words(unique(c(1, d)))}
       (coordinates), not {length(x)}.",
      call = at$call
    )
  }
  if (d > 1L) {
    x <- in_order_of(
      x, names_for(x, at$names, borrowed), paste0(arg, "` of `", where),
      "the coordinates", at$call
    )
  }
  as.double(rep_len(x, d))
}

# The names of the coordinates, to which `x` is matched. borrowed: whether x is
# of a Laplace approximation; NULL where its names are others.
names_for <- function(x, names, borrowed) {
  own <- if (is.matrix(x)) rownames(x) else names(x)
  if (borrowed && !setequal(own, names)) NULL else names
}

# A covariance, or variances, in the order of the mean, where both have names.
in_order_of_mean <- function(cov, mean, borrowed, arg, call) {
  own <- names(mean)
  if (length(own) < 2L || is.null(rownames(cov) %||% names(cov))) {
    return(cov)
  }
  expected <- names_for(cov, own, borrowed)
  if (!is.matrix(cov)) {
    return(stats::setNames(
      in_order_of(cov, expected, arg, "the mean", call), own
    ))
  }
  ordered <- matrix_in_order_of(cov, expected, arg, "the mean", call)
  dimnames(ordered) <- list(own, own)
  ordered
}

# The lower Cholesky factor of a covariance, as d * d numbers; one that comes
# from a Laplace approximation is multiplied by `inflate`.
proposal_factor <- function(cov, at, inflate = 1, arg = "cov",
                            borrowed = is_laplace_fit(cov)) {
  force(borrowed)
  d <- at$d
  where <- at$where
  if (identical(cov, "laplace")) {
    cov <- inflate * at$at_mode()
  } else if (is_laplace_fit(cov)) {
    cov <- inflate * approximation_covariance(cov)
  }
  if (nrow(cov) != d) {
    abort_argument(
      "`{arg}` of `{where}` must be {d} x {d} (coordinates), not {nrow(cov)} x
       {ncol(cov)}.",
      call = at$call
    )
  }
  cov <- matrix_in_order_of(
    cov, names_for(cov, at$names, borrowed), paste0(arg, "` of `", where),
    "the coordinates", at$call
  )
  as.double(t(chol(cov)))
}

# d scales as the factor of a diagonal covariance, d * d numbers.
diag_vector <- function(scale) as.double(diag(scale, length(scale)))
