# A fabricated fit for the tests of methods: a model whose state is a running
# sum, whose data are one number, and draws that the test gives or that are
# normal. The model has the methods that the driver needs, so that such a fit
# can also be run and continued.

toy_model <- function(columns = c("a", "b[1]", "b[2]"), shift = 0) {
  gibbsite:::new_model(
    "toy_model",
    name = "gibbs_toy", title = "Toy", headline = "Toy: a running sum",
    data = list(shift = shift), prior = structure(
      list(sd = 1), class = "toy_prior"
    ),
    nobs = 7L, columns = columns
  )
}

toy_methods <- list(
  model_start = function(model, init) list(sweep = 0, sum = 0),
  model_sweeps = function(model, state, n, control) {
    width <- length(model$columns)
    rows <- list()
    for (i in seq_len(n)) {
      row <- model$data$shift + stats::rnorm(width)
      state$sweep <- state$sweep + 1
      state$sum <- state$sum + sum(row)
      past <- state$sweep - control$burnin
      if (past > 0 && past %% control$thin == 0) {
        rows[[length(rows) + 1]] <- row
      }
    }
    list(
      state = state,
      draws = matrix(as.double(unlist(rows)), ncol = width, byrow = TRUE),
      rng = get(".Random.seed", globalenv())
    )
  },
  model_check_init = function(model, init, where, call) init,
  model_init_from_state = function(model, state) list(),
  model_labels = function(model) {
    data.frame(variable = model$columns, label = paste("the", model$columns))
  },
  set_data = function(model, data, call) {
    model$data <- list(shift = data)
    model$data_hash <- gibbsite:::hash(model$data)
    model
  }
)
for (generic in names(toy_methods)) {
  registerS3method(generic, "toy_model", toy_methods[[generic]],
                   envir = asNamespace("gibbsite"))
}

# columns: names, or how many; values(chain): a chain's matrix of draws.
fake_fit <- function(draws = 100, burnin = 100, thin = 1, chains = 4,
                     columns = c("a", "b[1]", "b[2]"), seed = 1,
                     values = NULL, pending = NULL, class = NULL) {
  if (is.numeric(columns)) {
    columns <- paste0("x[", seq_len(columns), "]")
  }
  made <- withr::with_seed(seed, lapply(seq_len(chains), function(k) {
    if (is.null(values)) {
      matrix(stats::rnorm(draws * length(columns)), draws)
    } else {
      values(k)
    }
  }))
  streams <- withr::with_seed(seed, lapply(seq_len(chains), function(k) {
    stats::runif(1)
    get(".Random.seed", globalenv())
  }))
  model <- toy_model(columns)
  class(model) <- c(class, class(model))
  states <- lapply(seq_len(chains), function(k) {
    list(
      state = list(
        sweep = burnin + (draws + NROW(pending[[k]])) * thin,
        sum = sum(made[[k]])
      ),
      rng = streams[[k]]
    )
  })
  running <- list(
    draws = draws, burnin = burnin, thin = thin, chains = chains, inits = NULL,
    keep = NULL, seed = as.integer(seed), rng_kind = RNGkind(),
    stop_when = NULL, keep_data = TRUE
  )
  gibbsite:::new_fit(
    made, model, running, states, pending,
    run = list(
      call = quote(gibbs_toy(1)),
      elapsed = list(total = 0.5, chains = rep(0.5 / chains, chains)),
      threads = 1L, cores = 1L, checkpoint = NULL, outcome = "done"
    )
  )
}
