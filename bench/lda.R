# Latent Dirichlet allocation: gibbs_lda()'s samplers beside topicmodels, lda,
# text2vec, seededlda and tidylda.
#
#   Rscript bench/lda.R [ROUNDS] [PART ...] [CORPUS ...] [K ...] [PROGRAM ...]
#     ROUNDS   default 3
#     PART     of: speed perplexity threads chains large starts agreement more;
#              default the first four
#     CORPUS   of: ap ng help; default ap ng, for starts and more help
#     K        numbers of topics; default 20 100 500 for speed, 20 100 for
#              threads, 100 for perplexity and chains, 6 12 for starts, 20 for
#              more
#     PROGRAM  of: topicmodels lda text2vec seededlda tidylda; default all that
#              are installed
# in any order after ROUNDS: `Rscript bench/lda.R 3 speed ap 20 topicmodels`.
#
# Corpora: topicmodels::AssociatedPress (435,838 tokens), and 20 Newsgroups in
# newsgroups20_train.rds (a documents x terms dgCMatrix of 2,765,300 tokens) in
# the folder that the environment variable GIBBSITE_BENCH_DATA names, which is
# skipped where it is not. `help`: the help pages of R's package stats (about
# 28,000 tokens), with the terms of at least five pages and at most a tenth of
# them.
#
# speed: million tokens per second of the processor's time (user and system:
# other programs disturb it less than the clock), alpha = 0.1, eta = 0.01, one
# thread, by the difference of a run of few sweeps and one of more, so that
# setting up does not count; the programs take turns, medians, and medians of
# the ratios within a round.  gibbsite's is that of the sweeps after the 100th
# ("late"; sparse words are fast) and of the first 20 ("early"); the others'
# sweeps take the same time throughout, but for WarpLDA's.  WarpLDA does not
# leave the posterior invariant: shown for its speed alone.
#
# perplexity: document completion on a tenth of the documents.  phi is estimated
# from the last topics of a run of so many sweeps on the rest; half of the
# tokens of each new document are folded in, the other half is scored: the same
# code for every program.  Seconds of the processor for that run.  Then, for
# each program, the seconds by which it first has the perplexity that the worst
# (of three or more, the worst but one) comes down to; a straight line between
# two runs.
#
# chains: four chains of gibbs_lda() on the corpus without that tenth, defaults
# but for alpha and eta: each chain's held-out perplexity, and the topics' top
# terms.
#
# threads: two threads over one, by the clock, the same bits asked for.
#
# starts: what short runs before a chain are worth. 16 ROUNDS chains of 3,000
# sweeps from uniform topics (default prior), without a tenth of the documents,
# stand for the chains of every scheme: N runs of S sweeps take N of them at
# random, and go on with that whose log joint is highest after S sweeps.
# log_joint: mean and standard deviation over 2,000 choices, after a burn-in of
# 1,000 sweeps of the chosen run (`burn-in`), and after 1,500 and 2,500 sweeps
# of all runs together; perplexity of the new documents after the burn-in.
#
# agreement: affinity of the topics of four chains, for texts of sim_lda() (5
# topics, 200 documents of 80 tokens, 400 terms), default call, with as many
# topics and with three more: the least one over topics and texts, and how many
# topics have 0.9 or more in all chains. 2 ROUNDS texts.
#
# more: a tenth of the documents is added to a fit of the others (extend(), no
# burn-in), beside a new run of all (no burn-in): sweeps until log_joint is
# within two standard deviations of its mean over the last 500 of 1,500, by
# chain, that mean, and seconds a sweep.
#
# large: 50 million tokens of 100,000 documents and 50,000 terms whose
# frequencies are Zipf's, 200 topics: seconds a sweep and the process's largest
# memory.

library(gibbsite)
here <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- if (length(here) > 0L) dirname(here) else "bench"
source(file.path(here, "deps.R"))
source(file.path(here, "data.R"))

arguments <- commandArgs(trailingOnly = TRUE)
rounds <- as.integer(c(arguments, "3")[[1L]])
chosen <- function(choices, default) {
  found <- intersect(arguments[-1L], choices)
  if (length(found) == 0L) default else found
}
rivals <- c("topicmodels", "lda", "text2vec", "seededlda", "tidylda")
all_parts <- c(
  "speed", "perplexity", "threads", "chains", "large", "starts", "agreement",
  "more"
)
parts <- chosen(all_parts, all_parts[1:4])
usual <- c(
  if (any(all_parts[1:4] %in% parts)) c("ap", "ng"),
  if (any(c("starts", "more") %in% parts)) "help"
)
wanted_corpora <- chosen(c("ap", "ng", "help"), usual)
numbers <- grep("^[0-9]+$", arguments[-1L], value = TRUE)
topics_or <- function(default) {
  if (length(numbers) > 0L) as.integer(numbers) else default
}
unknown <- setdiff(
  arguments[-1L], c(all_parts, "ap", "ng", "help", rivals, numbers)
)
if (length(unknown) > 0L) {
  stop("There is no ", paste(unknown, collapse = ", "), " to choose.")
}

inside <- function(name) get(name, asNamespace("gibbsite"))
`%||%` <- function(x, y) if (is.null(x)) y else x
alpha <- 0.1
eta <- 0.01

# ---- corpora -----------------------------------------------------------------

# document, term, count -> what lda_model() reads, and the triplets
corpus_of <- function(document, term, count, documents, terms,
                      vocabulary = NULL) {
  order <- order(document, term)
  document <- document[order]
  term <- term[order]
  count <- count[order]
  lengths <- numeric(documents)
  sums <- tapply(count, document, sum)
  lengths[as.integer(names(sums))] <- sums
  list(
    word = rep(term, count), start = c(0, cumsum(lengths)),
    documents = as.character(seq_len(documents)),
    terms = as.character(seq_len(terms)),
    vocabulary = vocabulary %||% as.character(seq_len(terms)),
    matrix = Matrix::sparseMatrix(
      document, term, x = as.double(count), dims = c(documents, terms)
    )
  )
}

corpora <- list()
if ("ap" %in% wanted_corpora && peer_available("topicmodels")) {
  found <- new.env()
  utils::data("AssociatedPress", package = "topicmodels", envir = found)
  x <- found$AssociatedPress
  corpora[["AssociatedPress"]] <- corpus_of(
    x$i, x$j, x$v, x$nrow, x$ncol, x$dimnames[[2L]]
  )
}
x <- if ("ng" %in% wanted_corpora) newsgroups()
if (!is.null(x)) {
  x <- methods::as(x, "TsparseMatrix")
  corpora$`20 Newsgroups` <- corpus_of(
    x@i + 1L, x@j + 1L, as.integer(x@x), nrow(x), ncol(x), colnames(x)
  )
}
if ("help" %in% wanted_corpora) {
  pages <- vapply(tools::Rd_db("stats"), function(page) {
    plain <- list(underline_titles = FALSE)
    text <- utils::capture.output(tools::Rd2txt(page, options = plain))
    tolower(paste(text, collapse = " "))
  }, "")
  words <- regmatches(pages, gregexpr("[a-z]{3,}", pages))
  spread <- table(unlist(lapply(words, unique)))
  terms <- names(spread)[spread >= 5 & spread <= 0.1 * length(pages)]
  tokens <- stats::aggregate(
    count ~ document + term, FUN = sum, data = data.frame(
      document = rep(seq_along(words), lengths(words)),
      term = match(unlist(words), terms), count = 1L
    )
  )
  corpora$`help pages` <- corpus_of(
    tokens$document, tokens$term, tokens$count, length(pages), length(terms),
    terms
  )
}

# Some documents of a corpus.
subset_of <- function(corpus, rows) {
  x <- methods::as(corpus$matrix[rows, , drop = FALSE], "TsparseMatrix")
  corpus_of(x@i + 1L, x@j + 1L, as.integer(x@x), nrow(x), ncol(x))
}

# ---- the programs: each runs so many sweeps and gives phi (k x terms) --------

model_of <- function(corpus, k, method = "collapsed") {
  inside("lda_model")(corpus, k, list(alpha = alpha, eta = eta), method)
}

start_of <- function(model) inside("uniform_start")(model)

sweeps_of <- function(model, state, n, threads = 1, burnin = n + 1e6) {
  .Call(
    inside("C_lda_sweeps"), model$data, state, n,
    list(burnin = burnin, thin = 1, threads = threads)
  )$state
}

run_gibbsite <- function(corpus, k, sweeps) {
  model <- model_of(corpus, k)
  phi_of(model, sweeps_of(model, start_of(model), sweeps), eta)
}

# E(phi | z)
phi_of <- function(model, state, eta) {
  k <- model$k
  terms <- length(model$terms)
  word <- model$data$word
  z <- inside("lda_topics")(state)
  count <- matrix(tabulate(z + k * (word - 1L), k * terms), k)
  (count + eta) / (rowSums(count) + terms * eta)
}

triplet_of <- function(corpus) {
  x <- methods::as(corpus$matrix, "TsparseMatrix")
  slam::simple_triplet_matrix(
    x@i + 1L, x@j + 1L, x@x, nrow(x), ncol(x),
    dimnames = list(corpus$documents, corpus$terms)
  )
}

run_topicmodels <- function(corpus, k, sweeps) {
  used <- Matrix::rowSums(corpus$matrix) > 0
  fit <- topicmodels::LDA(
    triplet_of(corpus)[used, ], k, method = "Gibbs",
    control = list(
      alpha = alpha, delta = eta, burnin = 0, iter = sweeps, seed = 1
    )
  )
  exp(fit@beta)
}

# lda is given single tokens: of a count above one it draws all at once.
run_lda <- function(corpus, k, sweeps) {
  lengths <- diff(corpus$start)
  ends <- cumsum(lengths)
  documents <- lapply(which(lengths > 0), function(d) {
    words <- corpus$word[seq.int(ends[[d]] - lengths[[d]] + 1, ends[[d]])]
    rbind(words - 1L, 1L)
  })
  fit <- lda::lda.collapsed.gibbs.sampler(
    documents, k, corpus$terms, sweeps, alpha, eta
  )
  (fit$topics + eta) / rowSums(fit$topics + eta)
}

run_text2vec <- function(corpus, k, sweeps) {
  x <- corpus$matrix
  dimnames(x) <- list(corpus$documents, corpus$terms)
  model <- text2vec::LDA$new(
    n_topics = k, doc_topic_prior = alpha, topic_word_prior = eta
  )
  model$fit_transform(
    x[Matrix::rowSums(x) > 0, ], n_iter = sweeps, convergence_tol = -1,
    n_check_convergence = sweeps + 1, progressbar = FALSE
  )
  model$topic_word_distribution
}

run_seededlda <- function(corpus, k, sweeps) {
  x <- corpus$matrix
  dimnames(x) <- list(corpus$documents, corpus$terms)
  fit <- seededlda::textmodel_lda(
    quanteda::as.dfm(x), k, max_iter = sweeps, alpha = alpha, beta = eta,
    auto_iter = FALSE, verbose = FALSE
  )
  fit$phi
}

run_tidylda <- function(corpus, k, sweeps) {
  x <- corpus$matrix
  dimnames(x) <- list(corpus$documents, corpus$terms)
  fit <- tidylda::tidylda(
    x[Matrix::rowSums(x) > 0, ], k = k, iterations = sweeps, burnin = -1,
    alpha = alpha, eta = eta, calc_likelihood = FALSE, calc_r2 = FALSE,
    threads = 1, verbose = FALSE
  )
  fit$beta
}

programs <- list(gibbsite = run_gibbsite)
for (name in chosen(rivals, rivals)) {
  if (peer_available(name)) {
    programs[[name]] <- get(paste0("run_", name))
  }
}

quietly <- function(expr) {
  utils::capture.output(value <- suppressWarnings(suppressMessages(expr)))
  value
}

seconds_of <- function(expr, clock = c("user.self", "sys.self")) {
  gc()
  began <- sum(proc.time()[clock])
  force(expr)
  sum(proc.time()[clock]) - began
}

# ---- speed -------------------------------------------------------------------

# Seconds of a sweep of a program: `more` sweeps take a few seconds, so that
# what setting up takes, and takes differently each time, does not count.
sweep_seconds <- function(run, corpus, k, more) {
  set.seed(1)
  few <- seconds_of(quietly(run(corpus, k, 2)))
  many <- seconds_of(quietly(run(corpus, k, 2 + more)))
  (many - few) / more
}

sweeps_for <- function(name, tokens, k) {
  rate <- if (name == "text2vec") 4e6 else 2.5e8 / (k + 40)
  max(5, round(6 * rate / tokens))
}

gibbsite_speeds <- function(corpus, k) {
  model <- model_of(corpus, k)
  set.seed(1)
  state <- start_of(model)
  early <- seconds_of(state <- sweeps_of(model, state, 20)) / 20
  list(early = early, model = model, state = sweeps_of(model, state, 80))
}

measure_speed <- function(name, corpus, k) {
  ours <- gibbsite_speeds(corpus, k)
  tokens <- length(corpus$word)
  n <- max(10, round(5e7 / tokens))
  set.seed(2)
  peers <- setdiff(names(programs), "gibbsite")
  times <- vapply(seq_len(rounds), function(round) {
    opened <- seconds_of(sweeps_of(ours$model, ours$state, 0))
    late <- seconds_of(sweeps_of(ours$model, ours$state, n))
    others <- vapply(peers, function(peer) {
      tryCatch(
        sweep_seconds(programs[[peer]], corpus, k, sweeps_for(peer, tokens, k)),
        error = function(cnd) {
          message(peer, ": ", conditionMessage(cnd))
          NA_real_
        }
      )
    }, 0)
    c(gibbsite = (late - opened) / n, others)
  }, numeric(length(programs)))
  times <- matrix(times, length(programs), dimnames = list(names(programs)))
  data.frame(
    corpus = name, k = k, program = names(programs),
    `Mtokens/s` = round(tokens / apply(times, 1L, stats::median) / 1e6, 2),
    early = c(round(tokens / ours$early / 1e6, 2), rep(NA, length(peers))),
    `ours over it` = round(
      apply(times, 1L, function(x) stats::median(x / times[1L, ])), 2
    ),
    check.names = FALSE, row.names = NULL
  )
}

# ---- perplexity --------------------------------------------------------------

completion <- function(phi, halves, alpha = 0.1) {
  set.seed(3)
  theta <- inside("lda_fold_in")(
    halves$seen$word, halves$seen$start, phi, alpha, sweeps = 20, burnin = 20
  )$mean
  p <- inside("lda_token_probabilities")(
    halves$left$word, halves$left$start, phi, theta
  )
  exp(-mean(log(p)))
}

# Every second token of a document, after a shuffle.
split_halves <- function(corpus) {
  set.seed(4)
  document <- rep(seq_along(corpus$documents), diff(corpus$start))
  order <- order(document, stats::runif(length(document)))
  word <- corpus$word[order]
  odd <- (seq_along(word) - corpus$start[document]) %% 2 == 1
  half <- function(which) {
    lengths <- tabulate(document[which], length(corpus$documents))
    list(word = word[which], start = c(0, cumsum(lengths)))
  }
  list(seen = half(odd), left = half(!odd))
}

# A tenth of the documents.
held_out_of <- function(corpus) {
  set.seed(5)
  documents <- length(corpus$documents)
  sample.int(documents, documents %/% 10)
}

measure_perplexity <- function(name, corpus, k, counts) {
  out <- held_out_of(corpus)
  train <- subset_of(corpus, -out)
  halves <- split_halves(subset_of(corpus, out))
  rows <- lapply(names(programs), function(program) {
    run <- programs[[program]]
    lapply(counts[[program]] %||% counts$other, function(sweeps) {
      set.seed(6)
      seconds <- seconds_of(phi <- tryCatch(
        quietly(run(train, k, sweeps)), error = function(cnd) NULL
      ))
      if (is.null(phi)) {
        return(NULL)
      }
      phi <- pmax(unname(as.matrix(phi)), 1e-12)
      data.frame(
        corpus = name, k = k, program = program, sweeps = sweeps,
        seconds = round(seconds, 2),
        perplexity = round(completion(phi, halves), 1)
      )
    })
  })
  do.call(rbind, unlist(rows, recursive = FALSE))
}

# Seconds until a program's perplexity is first at most `target`.
seconds_until <- function(runs, target) {
  below <- which(runs$perplexity <= target)
  if (length(below) == 0L) {
    return(NA_real_)
  }
  at <- below[[1L]]
  if (at == 1L) {
    return(runs$seconds[[1L]])
  }
  pair <- c(at - 1L, at)
  stats::approx(runs$perplexity[pair], runs$seconds[pair], target)$y
}

time_to_perplexity <- function(table) {
  runs <- split(table, factor(table$program, unique(table$program)))
  reached <- vapply(runs, function(x) min(x$perplexity), 0)
  # of three or more, one that is nowhere near the others does not set the mark
  target <- sort(reached, decreasing = TRUE)[[1L + (length(reached) > 2L)]]
  seconds <- vapply(runs, seconds_until, 0, target = target)
  data.frame(
    program = names(runs), perplexity = target, seconds = round(seconds, 2),
    `over gibbsite` = round(seconds / seconds[["gibbsite"]], 2),
    check.names = FALSE, row.names = NULL
  )
}

# ---- chains ------------------------------------------------------------------

measure_chains <- function(name, corpus, k) {
  out <- held_out_of(corpus)
  x <- corpus$matrix
  dimnames(x) <- list(corpus$documents, corpus$vocabulary)
  began <- proc.time()[["elapsed"]]
  fit <- quietly(gibbs_lda(
    x[-out, ], k, lda_prior(alpha, eta), empty = "keep", draws = 200,
    burnin = 800, seed = 11, progress = FALSE
  ))
  cat(sprintf(
    "%s, %d topics: 4 chains of 1000 sweeps, %.0f s\n", name, k,
    proc.time()[["elapsed"]] - began
  ))
  each <- vapply(seq_len(4L), function(chain) {
    set.seed(12)
    halves <- split_halves(subset_of(corpus, out))
    completion(topic_estimates(fit, chain)$phi, halves)
  }, 0)
  cat("held-out perplexity of each chain:", round(each, 1), "\n")
  print(top_terms(fit, 8))
}

# ---- threads -----------------------------------------------------------------

measure_threads <- function(name, corpus, k, method) {
  model <- model_of(corpus, k, method)
  set.seed(7)
  state <- sweeps_of(model, start_of(model), 5)
  run <- function(threads) {
    set.seed(8)
    sweeps_of(model, state, 5, threads)
  }
  ratio <- vapply(seq_len(2L * rounds), function(round) {
    one <- seconds_of(run(1), "elapsed")
    two <- seconds_of(run(2), "elapsed")
    c(one, two)
  }, c(0, 0))
  data.frame(
    corpus = name, k = k, method = method,
    `Mtokens/s` = round(5e-6 * model$nobs / stats::median(ratio[1L, ]), 2),
    `two over one` = round(stats::median(ratio[1L, ] / ratio[2L, ]), 2),
    `best` = round(min(ratio[1L, ]) / min(ratio[2L, ]), 2),
    `same bits` = identical(run(1), run(2)), check.names = FALSE
  )
}

# ---- starts ------------------------------------------------------------------

schemes <- list(
  c(1, 0), c(4, 50), c(8, 25), c(8, 50), c(4, 100), c(16, 50), c(8, 100),
  c(4, 200)
)
looked_at <- 25

# log_joint after every 25 sweeps, and the perplexity there from sweep 1,000
# to 1,250.
long_chain <- function(model, halves, seed, sweeps) {
  set.seed(seed)
  state <- start_of(model)
  column <- match("log_joint", model$columns)
  log_joint <- perplexity <- numeric()
  for (at in seq(looked_at, sweeps, by = looked_at)) {
    control <- list(burnin = at - 1, thin = 1, threads = 1)
    end <- .Call(
      inside("C_lda_sweeps"), model$data, state, looked_at, control
    )
    state <- inside("model_without_averages.lda_model")(model, end$state)
    log_joint <- c(log_joint, end$draws[1L, column])
    if (at >= 1000 && at <= 1250) {
      generator <- get(".Random.seed", globalenv())
      perplexity <- c(perplexity, completion(
        phi_of(model, state, model$prior$eta), halves, state$alpha
      ))
      assign(".Random.seed", generator, globalenv())
    }
  }
  list(log_joint = log_joint, perplexity = perplexity)
}

measure_starts <- function(name, corpus, k) {
  out <- held_out_of(corpus)
  halves <- split_halves(subset_of(corpus, out))
  prior <- inside("complete_lda_prior")(
    lda_prior(), k, length(corpus$terms), environment()
  )
  model <- inside("lda_model")(subset_of(corpus, -out), k, prior)
  pool <- lapply(seq_len(16L * rounds), function(chain) {
    long_chain(model, halves, 1000 + chain, 3000)
  })
  joint <- do.call(rbind, lapply(pool, `[[`, "log_joint"))
  perplexity <- do.call(rbind, lapply(pool, `[[`, "perplexity"))
  set.seed(13)
  do.call(rbind, lapply(schemes, function(scheme) {
    runs <- scheme[[1L]]
    sweeps <- scheme[[2L]]
    picked <- replicate(2000, {
      some <- sample.int(nrow(joint), runs)
      if (runs == 1L) some else some[which.max(joint[some, sweeps / looked_at])]
    })
    others <- (runs - 1) * sweeps
    at <- function(sweep) {
      x <- joint[picked, sweep / looked_at]
      sprintf("%.0f (%.0f)", mean(x), stats::sd(x))
    }
    new <- perplexity[picked, 1 + min(sweeps, 250) / looked_at]
    data.frame(
      corpus = name, k = k, runs = runs, sweeps = sweeps,
      `burn-in` = at(sweeps + 1000), `1500 in all` = at(1500 - others),
      `2500 in all` = at(2500 - others),
      perplexity = sprintf("%.1f (%.1f)", mean(new), stats::sd(new)),
      check.names = FALSE
    )
  }))
}

# ---- agreement ---------------------------------------------------------------

measure_agreement <- function(k) {
  affinity <- lapply(seq_len(2L * rounds), function(seed) {
    set.seed(seed)
    x <- sim_lda(200, k = 5, terms = 400, tokens = 80)$x
    fit <- quietly(gibbs_lda(x, k, seed = seed, progress = FALSE))
    apply(topic_estimates(fit)$affinity, 2L, min)
  })
  data.frame(
    topics = k, texts = length(affinity),
    least = round(min(unlist(affinity)), 3),
    `0.9 or more` = paste(
      sum(unlist(affinity) >= 0.9), "of", length(unlist(affinity))
    ),
    check.names = FALSE
  )
}

# ---- more --------------------------------------------------------------------

measure_more <- function(name, corpus, k) {
  out <- held_out_of(corpus)
  x <- corpus$matrix
  dimnames(x) <- list(corpus$documents, corpus$vocabulary)
  run <- function(x, ...) {
    gibbs_lda(x, k, empty = "keep", seed = 14, progress = FALSE, ...)
  }
  old <- quietly(run(x[-out, ], draws = 1, burnin = 1000))
  fits <- quietly(list(
    `new run` = run(x, draws = 1500, burnin = 0),
    `extend()` = extend(old, 1500, data = x[out, ], burnin = 0,
                        progress = FALSE)
  ))
  do.call(rbind, Map(function(fit, of) {
    each <- lapply(fit, function(draws) {
      values <- draws[, "log_joint"]
      last <- utils::tail(values, 500)
      level <- mean(last) - 2 * stats::sd(last)
      c(which(values >= level)[[1L]], mean(last))
    })
    seconds <- attr(fit, "run")$elapsed$chains / 1500
    data.frame(
      corpus = name, k = k, run = of,
      sweeps = paste(vapply(each, `[[`, 0, 1L), collapse = " "),
      log_joint = paste(round(vapply(each, `[[`, 0, 2L)), collapse = " "),
      seconds = signif(mean(seconds), 2)
    )
  }, fits, names(fits)))
}

# ---- large -------------------------------------------------------------------

# Topics are Zipf's distribution with each term's frequency multiplied by a
# Gamma(0.1) variate a topic; a document has three topics.
large_corpus <- function(documents = 1e5, terms = 5e4, length = 500, k = 200) {
  set.seed(9)
  base <- 1 / seq_len(terms)
  topics <- lapply(seq_len(k), function(topic) {
    cumsum(base * stats::rgamma(terms, 0.1))
  })
  word <- integer(documents * length)
  for (d in seq_len(documents)) {
    part <- topics[[sample.int(k, 1L)]]
    own <- seq.int((d - 1) * length + 1, d * length)
    u <- stats::runif(length) * part[[terms]]
    word[own] <- sort(pmin(findInterval(u, part) + 1L, terms))
  }
  list(
    word = word, start = seq(0, documents) * length,
    documents = as.character(seq_len(documents)),
    terms = as.character(seq_len(terms))
  )
}

peak_memory <- function() {
  status <- "/proc/self/status"
  if (!file.exists(status)) {
    return(NA)
  }
  line <- grep("^VmHWM", readLines(status), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) / 2^20
}

measure_large <- function() {
  corpus <- large_corpus()
  for (method in names(inside("lda_methods"))) {
    model <- model_of(corpus, 200, method)
    set.seed(10)
    state <- sweeps_of(model, start_of(model), 2)
    opened <- seconds_of(sweeps_of(model, state, 0))
    sweep <- (seconds_of(sweeps_of(model, state, 3)) - opened) / 3
    kept <- seconds_of(state <- sweeps_of(model, state, 1, burnin = 0))
    cat(sprintf("%s: %.0f tokens, %.2f s a sweep, ", method, model$nobs, sweep))
    cat(sprintf(
      "%.2f s a recorded one, %.2f GB at most\n", kept - opened, peak_memory()
    ))
  }
}

# ---- the report --------------------------------------------------------------

cat(R.version.string, "on", R.version$platform, "\n")
cat("Processors:", parallel::detectCores(), "\n")
for (package in names(programs)) {
  cat(" ", package, format(utils::packageVersion(package)), "\n")
}
options(width = 110)

if ("speed" %in% parts) {
  for (name in names(corpora)) {
    for (k in topics_or(c(20, 100, 500))) {
      print(measure_speed(name, corpora[[name]], k), row.names = FALSE)
    }
  }
}
if ("perplexity" %in% parts) {
  counts <- list(
    gibbsite = c(25, 50, 100, 200, 400), other = c(25, 50, 100, 200)
  )
  for (name in names(corpora)) {
    for (k in topics_or(100)) {
      table <- measure_perplexity(name, corpora[[name]], k, counts)
      print(table, row.names = FALSE)
      print(time_to_perplexity(table), row.names = FALSE)
    }
  }
}
if ("threads" %in% parts) {
  for (name in names(corpora)) {
    for (k in topics_or(c(20, 100))) {
      for (method in c("partially_collapsed", "uncollapsed")) {
        print(
          measure_threads(name, corpora[[name]], k, method), row.names = FALSE
        )
      }
    }
  }
}
if ("chains" %in% parts) {
  for (name in names(corpora)) {
    for (k in topics_or(100)) {
      measure_chains(name, corpora[[name]], k)
    }
  }
}
if ("large" %in% parts) {
  measure_large()
}
if ("starts" %in% parts) {
  for (name in names(corpora)) {
    for (k in topics_or(c(6, 12))) {
      print(measure_starts(name, corpora[[name]], k), row.names = FALSE)
    }
  }
}
if ("agreement" %in% parts) {
  print(rbind(measure_agreement(5), measure_agreement(8)), row.names = FALSE)
}
if ("more" %in% parts) {
  for (name in names(corpora)) {
    for (k in topics_or(20)) {
      print(measure_more(name, corpora[[name]], k), row.names = FALSE)
    }
  }
}
