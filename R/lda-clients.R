# A fit of gibbs_lda() as an object of the package topicmodels.

#' A topic model for topicmodels and topicdoc
#'
#' Makes an object of class `LDA_Gibbs` of the package topicmodels from the
#' posterior means of a fit, for functions that take one: `posterior()`,
#' `terms()`, `topics()` and `perplexity()` of topicmodels,
#' `topicdoc::topic_diagnostics()`.
#'
#' The topics and their order are those of [topic_estimates()]. The object has
#' one point and no posterior: its `alpha` is the posterior mean, its topics of
#' words are the most probable topic of each term in its document given the
#' means, and its log-likelihood is that of the means.
#'
#' @inheritParams topic_estimates
#' @return An object of class `LDA_Gibbs`, whose slot `gamma` has the shares of
#'   topics in documents, and `beta` the logarithms of the topics' distributions
#'   over terms.
#' @section Errors: `gibbsite_error_argument` as for [topic_estimates()], and
#'   without the package topicmodels. The fit must hold its data
#'   (`gibbsite_error_state`).
#' @seealso [tidy.gibbs_lda()] for tidytext, [ldavis_data()] for LDAvis.
#' @examples
#' corpus <- sim_lda(50, k = 3, terms = 40, tokens = 60)
#' fit <- gibbs_lda(corpus$x, 3, draws = 100, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' # with topicmodels installed
#' \dontrun{
#' topicmodels::terms(as_topicmodels(fit), 5)
#' }
#' @export
as_topicmodels <- function(fit, chain = NULL) {
  check_needed(fit = "a fit made by gibbs_lda()")
  call <- rlang::current_env()
  check_lda(fit)
  tokens <- lda_tokens(fit, NULL, call)
  topics <- estimate_topics(fit, chain, c("phi", "theta"), call)
  if (!requireNamespace(topicmodels, quietly = TRUE)) {
    abort_argument(
      c("The package topicmodels is not installed.",
        i = "{.fn topic_estimates} has the same numbers as matrices."),
      call = call
    )
  }
  phi <- unname(topics$phi / rowSums(topics$phi))
  theta <- unname(topics$theta / rowSums(topics$theta))
  words <- words_of_means(tokens, phi, theta)
  model <- fit_part(fit, "model")
  running <- fit_part(fit, "running")
  alpha <- mean_alpha(fit)
  count <- length(tokens$word)
  size <- c(nrow(theta), ncol(phi))
  whole_number <- function(x) as.integer(min(x, .Machine$integer.max))
  sweeps <- whole_number(running$burnin + running$draws * running$thin)
  control <- methods::new(
    class_of_topicmodels("LDA_Gibbscontrol"),
    alpha = alpha, delta = mean(model$prior$eta), iter = sweeps,
    burnin = whole_number(running$burnin), thin = whole_number(running$thin),
    seed = whole_number(running$seed), verbose = 0L, save = 0L, keep = 0L,
    nstart = as.integer(running$chains), best = TRUE, estimate.beta = TRUE,
    initialize = "random", prefix = ""
  )
  methods::new(
    class_of_topicmodels("LDA_Gibbs"),
    call = stats::getCall(fit), Dim = as.integer(size), control = control,
    k = as.integer(model$k), terms = tokens$terms,
    documents = tokens$documents, beta = log(phi), gamma = theta,
    alpha = alpha, iter = sweeps, z = words$z, n = as.integer(count),
    wordassignments = words$table, loglikelihood = words$log_lik,
    logLiks = words$log_lik, seedwords = NULL
  )
}

# not in Suggests: it needs the GNU Scientific Library
topicmodels <- "topicmodels"

class_of_topicmodels <- function(name) {
  methods::getClass(name, where = asNamespace(topicmodels))
}

# The posterior mean of the concentration of a document's topics.
mean_alpha <- function(fit) {
  model <- fit_part(fit, "model")
  if (!"alpha" %in% model$columns) {
    return(mean(model$prior$alpha))
  }
  mean(vapply(model_matrices(fit), function(m) mean(m[, "alpha"]), 0))
}

# The most probable topic of each token: list(z, table, log_lik), where `table`
# is a sparse matrix of topics, documents x terms.
words_of_means <- function(tokens, phi, theta) {
  document <- document_of_token(tokens)
  cell <- document + (tokens$word - 1) * nrow(theta)
  first <- !duplicated(cell)
  i <- document[first]
  j <- tokens$word[first]
  share <- theta[i, , drop = FALSE] * t(phi[, j, drop = FALSE])
  topic <- max.col(share, "first")
  place <- match(cell, cell[first])
  order <- order(i, j)
  list(
    z = topic[place], log_lik = sum(log(rowSums(share))[place]),
    table = structure(
      list(
        i = i[order], j = j[order], v = topic[order], nrow = nrow(theta),
        ncol = ncol(phi), dimnames = NULL
      ),
      class = "simple_triplet_matrix"
    )
  )
}
