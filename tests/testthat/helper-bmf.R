# Short fits of gibbs_bmf(), for the files test-bmf*.R.

quiet <- function(code) {
  suppressWarnings(
    suppressMessages(code, classes = "gibbsite_message"),
    classes = "gibbsite_warning_convergence"
  )
}

# 25 users, 15 items, 40% of the cells; user ids are letters, item ids numbers
small_ratings <- function(seed = 1, ...) {
  made <- withr::with_seed(seed, sim_bmf(25, 15, rank = 2, share = 0.4, ...))
  data.frame(
    user = letters[made$user], item = 10L * as.integer(made$item),
    value = 3 + made$value
  )
}

short_bmf <- function(ratings = small_ratings(), rank = 2, draws = 40,
                      burnin = 20, chains = 2, seed = 1, ...) {
  quiet(gibbs_bmf(ratings, rank, draws = draws, burnin = burnin,
    chains = chains, seed = seed, progress = FALSE, ...
  ))
}

some_pairs <- data.frame(
  user = c("a", "b", "y", "c", "a"), item = c(10, 150, 70, 10, 20)
)

# Ratings of which some are of new users and items.
new_pairs <- function(made) {
  made <- made[1:12, ]
  made$user <- as.character(made$user)
  made$item <- as.character(made$item)
  made$user[9:10] <- "new"
  made$item[10:11] <- "new"
  made
}

# ---- by hand ---------------------------------------------------------------

# All stored draws of the factors, chain after chain, as lists.
raw_draws <- function(fit) {
  model <- attr(fit, "model")
  unlist(lapply(attr(fit, "chains"), function(chain) {
    lapply(seq_along(gibbsite:::bmf_kept(chain$state)), function(j) {
      gibbsite:::bmf_kept_draw(model, chain$state, j)
    })
  }), recursive = FALSE)
}

# Mean of a rating under one draw, with intercepts where there are any.
eta_by_hand <- function(fit, draw, user, item) {
  model <- attr(fit, "model")
  i <- match(user, as.character(model$users))
  j <- match(item, as.character(model$items))
  k <- seq_len(model$rank)
  d <- model$size
  vapply(seq_along(i), function(p) {
    u <- draw$u[, i[p]]
    v <- draw$v[, j[p]]
    model$center + sum(u[k] * v[k]) + if (model$biases) u[d] + v[d] else 0
  }, 0)
}

etas_by_hand <- function(fit, user, item) {
  do.call(rbind, lapply(raw_draws(fit), function(draw) {
    eta_by_hand(fit, draw, user, item)
  }))
}

noise_by_hand <- function(fit) {
  vapply(raw_draws(fit), function(draw) 1 / draw$beta, 0)
}

# Mean and covariance of the factors of a new user (side "u") or item ("v").
prior_by_hand <- function(fit, draw, side) {
  model <- attr(fit, "model")
  prior <- model$prior
  d <- model$size
  if (prior$type == "wishart") {
    return(list(
      mean = draw[[paste0("mu_", side)]],
      covariance = solve(draw[[paste0("precision_", side)]])
    ))
  }
  variance <- if (prior$type == "fixed") {
    prior$factor_variance
  } else {
    1 / draw[[paste0("lambda_", side)]]
  }
  list(mean = numeric(d), covariance = diag(variance, d))
}
