# Ratings on the workers of a cluster, which draw users and items of one chain.
#
# The chain is in this session. Its sweep (src/core/bmf/bmf.h) draws the moves,
# the hyperparameters and the precision of the ratings from its generator here.
# A half sweep sends the factors of the other side and a key to all workers,
# which answer with those of their rows. Each worker has the ratings of its
# users, by user, and those of its items, by item. Normals belong to the key by
# their place among those of all rows, so that workers need no generator, and a
# sweep differs from that of one machine only in who runs bmf_draw_given(). Of
# ordinal ratings the cutpoints are drawn here too, and the latent values there,
# also by a key: each worker draws those of its users, and those of its items,
# before it draws its users, and keeps them until it has drawn its items. (All
# ratings stay here as well: the chain and all methods for a fit are then those
# of one machine, and a state holds nothing that workers have.)
#
# A model has besides `corpus`, list(cluster, id, name); ratings have the same.

share_ratings <- function(cluster, ratings, shards) {
  id <- unique_token(this_process())
  sides <- rated_sides(ratings)
  for (side in names(sides)) {
    parts <- parts_of_side(sides[[side]], shards)
    worker <- worker_of_shards(length(parts), cluster)
    each <- for_each_worker(cluster, worker, function(own) list(parts[own]))
    exchange(cluster, "hold_ratings", list(id, side), each)
  }
  ratings$corpus <- list(cluster = cluster, id = id, name = "ratings")
  class(ratings) <- c("gibbsite_shared_ratings", class(ratings))
  ratings
}

# The ratings by user and by item, each with its place among those by user.
rated_sides <- function(ratings) {
  sides <- bmf_compressed(
    ratings, length(ratings$users), length(ratings$items), 0
  )[c("users", "items")]
  place <- order(order(ratings$user, ratings$item)) - 1L
  sides$users$place <- seq_along(place) - 1L
  sides$items$place <- place[order(ratings$item, ratings$user)]
  sides
}

# Rows of about the same work side by side: a row takes as long as some five
# ratings more. Parts have rows, so there may be fewer.
parts_of_side <- function(side, shards) {
  rows <- length(side$start) - 1L
  ends <- even_cuts(side$start + 5 * seq(0, rows), shards)
  ends <- unique(ends[ends > 0])
  begins <- c(0L, ends[-length(ends)])
  lapply(seq_along(ends), function(s) {
    start <- side$start[begins[[s]]:ends[[s]] + 1L]
    own <- start[[1L]] + seq_len(start[[length(start)]] - start[[1L]])
    list(
      start = start - start[[1L]], index = side$index[own],
      value = side$value[own], place = side$place[own],
      order = order(-diff(start)) - 1L, first = as.integer(begins[[s]])
    )
  })
}

read_shared_ratings <- function(cluster, files, read, call) {
  worker <- worker_of_shards(length(files), cluster)
  each <- for_each_worker(cluster, worker, function(own) {
    list(files = files[own])
  })
  found <- exchange(
    cluster, "read_ratings", list(read), each, call, Inf
  )
  x <- tryCatch(
    do.call(rbind, unlist(found, recursive = FALSE)),
    error = function(cnd) {
      reason <- conditionMessage(cnd)
      abort_argument(
        c(
          "The data frames of {.arg read} do not fit together: {reason}.",
          i = "All must have the same columns."
        ),
        call = call
      )
    }
  )
  ratings <- as_ratings(x, arg = "read(file)", call = call)
  share_ratings(cluster, ratings, worker_count(cluster))
}

#' @export
print.gibbsite_shared_ratings <- function(x, ...) {
  count <- format(length(x$value), big.mark = ",")
  cat(
    "Ratings on ", counted(worker_count(x$corpus$cluster), "worker"), ": ",
    count, " of ", counted_in_digits(length(x$items), "item"), " by ",
    counted_in_digits(length(x$users), "user"), "\n", sep = ""
  )
  invisible(x)
}

# ---- What such ratings cannot have -------------------------------------------

# features: list(users', items').
check_shared_run <- function(ratings, settings, features, call) {
  if (!inherits(ratings, "gibbsite_shared_ratings")) {
    return(invisible())
  }
  given <- !vapply(features, is.null, NA)
  if (any(given)) {
    arg <- c("user_features", "item_features")[given][[1L]]
    abort_argument(
      c(
        "{.arg {arg}} cannot be given for ratings on the workers of a cluster.",
        i = "Give {.fn gibbs_bmf} the ratings themselves."
      ),
      call = call
    )
  }
  if (settings$method == "icm") {
    abort_argument(
      c(
        "{.arg method} must be \"gibbs\" for ratings on the workers of a
         cluster, not \"icm\".",
        i = "Give {.fn gibbs_bmf} the ratings themselves."
      ),
      call = call
    )
  }
  check_connected(ratings$corpus$cluster, call)
}

# Workers have no rows of users and items that pairs to predict would add.
check_shared_ids <- function(ratings, asked, call) {
  if (is.null(ratings$corpus)) {
    return(invisible())
  }
  for (side in c("users", "items")) {
    extra <- asked[[side]][-seq_along(ratings[[side]])]
    if (length(extra) > 0L) {
      abort_argument(
        c(
          "{.arg predict_at} must have {side} of the ratings, not
           {quoted(id_words(extra)[[1L]])}: the workers of the cluster do not
           know others.",
          i = "{.fn predict} takes any after the run."
        ),
        call = call
      )
    }
  }
}

# ---- A model elsewhere -------------------------------------------------------

# A checkpoint is that of one machine.
#' @exportS3Method
model_to_store.bmf_model <- function(model) model_comparable(model)

# On the workers of another cluster, or on this machine.
#' @exportS3Method
model_placed.bmf_model <- function(model, given, data, call) {
  model$corpus <- NULL
  if (!inherits(data, "gibbsite_shared_ratings")) {
    return(model)
  }
  check_shared_run(
    data, list(method = "gibbs"), model$features[c("u", "v")], call
  )
  same <- length(data$users) == model$n && length(data$items) == model$m &&
    identical(data[c("user", "item")], given$data[c("user", "item")])
  if (!same) {
    abort_argument(
      c(
        "{.arg data} must have the users and items of the run in their order.",
        i = "Give {.fn scatter} the ratings as {.fn gibbs_bmf} had them."
      ),
      call = call
    )
  }
  model$corpus <- data$corpus
  model
}

# ---- The chain's side --------------------------------------------------------

# data: bmf_data() of the model.
bmf_sweeps_apart <- function(model, data, state, n, control) {
  .Call(
    C_bmf_sweeps_apart, data, state, n, control,
    function(request) draw_apart(model, request, control$threads)
  )
}

# The rows of all workers, which have them in their order.
draw_apart <- function(model, request, threads) {
  corpus <- model$corpus
  factors <- request$factors
  request$factors <- NULL
  settings <- list(
    n = model$n, m = model$m, size = model$size,
    biases = as.integer(model$biases), kind = model$data$prior$kind,
    center = model$center, levels = model$response$values
  )
  answers <- exchange_large(
    corpus$cluster, "draw_ratings",
    list(corpus$id, settings, request, threads), factors, 0
  )
  parts <- unlist(lapply(answers$values, `[[`, "parts"), recursive = FALSE)
  of_parts <- function(name) unlist(lapply(parts, `[[`, name))
  list(factors = of_parts("factors"), squares = of_parts("squares"))
}

# ---- A worker's side ---------------------------------------------------------

hold_ratings <- function(id, side, parts) {
  if (is.null(held[[id]])) {
    held[[id]] <- new.env(parent = emptyenv())
  }
  held[[id]][[side]] <- parts
  invisible()
}

read_ratings <- function(read, files) {
  lapply(files, function(file) {
    reading(file, {
      x <- read(file)
      if (!is.null(x) && !is.data.frame(x)) {
        rlang::abort(
          "`read(file)` must return a data frame of users, items and values."
        )
      }
      x
    })
  })
}

# The ratings as the model has them: less its constant, ordinal ones as codes.
# Most often it is the model of the request before.
prepare_ratings <- function(corpus, settings) {
  of <- settings[c("center", "levels")]
  if (identical(corpus$prepared_for, of)) {
    return(invisible())
  }
  prepared <- function(part) {
    part$value <- if (is.null(of$levels)) {
      part$value - of$center
    } else {
      as.double(match(part$value, of$levels))
    }
    part
  }
  corpus$prepared <- lapply(
    list(corpus$users, corpus$items), lapply, prepared
  )
  corpus$prepared_for <- of
}

# The latent values of ordinal ratings.
draw_latents <- function(corpus, settings, request, threads) {
  corpus$latent <- lapply(0:1, function(side) {
    lapply(corpus$prepared[[side + 1L]], function(part) {
      .Call(C_bmf_latents, settings, part, side, request, threads)
    })
  })
}

draw_ratings <- function(id, settings, request, threads, factors) {
  corpus <- held_corpus(id)
  prepare_ratings(corpus, settings)
  request$factors <- factors
  ordinal <- !is.null(settings$levels)
  if (ordinal && request$which == 0L) {
    draw_latents(corpus, settings, request, threads)
    request$factors <- factors[seq_len(8 * settings$size * settings$m)]
  }
  side <- request$which + 1L
  parts <- corpus$prepared[[side]]
  list(parts = lapply(seq_along(parts), function(s) {
    part <- parts[[s]]
    if (ordinal) part$value <- corpus$latent[[side]][[s]]
    settings[[c("n", "m")[[side]]]] <- length(part$start) - 1L
    interrupt_or(.Call(
      C_bmf_part, settings, part, settings["kind"], request, threads
    ))
  }))
}
