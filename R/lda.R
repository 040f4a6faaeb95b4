# Latent Dirichlet allocation: gibbs_lda() and its simulator.

#' Latent Dirichlet allocation by Gibbs sampling
#'
#' Draws from the posterior of a topic model. Document \eqn{d} has shares
#' \eqn{\theta_d} of `k` topics, topic \eqn{t} has a distribution \eqn{\phi_t}
#' over the terms, and each token \eqn{i} has a topic \eqn{z_i} and a term
#' \eqn{w_i}:
#' \deqn{\theta_d \sim \mathrm{Dir}(\alpha), \quad \phi_t \sim
#'   \mathrm{Dir}(\eta), \quad z_i \mid \theta \sim
#'   \mathrm{Categorical}(\theta_{d(i)}), \quad w_i \mid z_i, \phi \sim
#'   \mathrm{Categorical}(\phi_{z_i}).}{
#'   theta_d ~ Dir(alpha), phi_t ~ Dir(eta),
#'   z_i | theta ~ Categorical(theta_{d(i)}),
#'   w_i | z_i, phi ~ Categorical(phi_{z_i}).}
#'
#' `method` is the kind of sweep. `"collapsed"` (the default) mixes best per
#' sweep; `"partially_collapsed"` and `"uncollapsed"` are faster with several
#' `threads`. All three have the same posterior, and their only error is
#' rounding: see [lda_sampler].
#'
#' @section Documents:
#' * Counts, with documents in rows: a matrix, a sparse matrix of the Matrix or
#'   slam packages, a DocumentTermMatrix of tm, a dfm of quanteda. A
#'   TermDocumentMatrix is transposed.
#' * A data frame with a row for each document and term, as tidytext has it. Its
#'   columns are `document` or `doc_id`; `term`, `word` or `token`; and `count`
#'   or `n`. Without counts each row is one token. Rows of the same document and
#'   term are added up.
#' * Tokens: a list with a character vector for each document, or tokens of
#'   quanteda. Empty strings are left out, with a message.
#' * Texts: a character vector with a text for each document, a corpus of
#'   quanteda, or a data frame with a column `text` (and `document` or
#'   `doc_id`). They are cut into runs of letters in lower case, and a message
#'   says so. [token_counts()] does the same, and leaves out stop words.
#' * The documents of the lda package: a list of matrices of two rows, the
#'   numbers of the terms from 0 on and their counts; the terms are named by
#'   `vocabulary`. Those of the stm package, with numbers from 1 on, are given
#'   as its functions return them, in a list with the elements `documents` and
#'   `vocab`. A list of documents alone counts from 1 if no term is 0 and the
#'   highest is the length of `vocabulary`; otherwise from 0, with a message if
#'   no term is 0.
#'
#' Documents are rows. A matrix whose dimnames say that terms are in its rows,
#' as those of tm and quanteda do, is transposed, with a message.
#'
#' Names of the list, of the character vector and of rows are the names of the
#' documents. A text or a token that is `NA` is an error. [lda_sampler] says how
#' much memory a run takes.
#'
#' @section Stored quantities:
#' Columns `alpha` and `eta` (where they are drawn), `log_joint`, always
#' \eqn{\log p(w, z, \alpha, \eta)} with \eqn{\theta} and \eqn{\phi} integrated
#' out; `log_lik`, the mean over tokens of \eqn{\log \sum_t \theta_{d t} \phi_{t
#' w_i}}; `n_topics_used` (topics with a token) and `size[t]` (tokens of topic
#' `t`). `keep` adds every draw of `theta[d,t]`, `phi[t,w]` or the tokens'
#' topics `z[i]`, if their size is within the limit, and the sampler's own
#' number `label[t]` of each topic. Without `keep` the means
#' and standard deviations of \eqn{\theta} and \eqn{\phi} over all kept draws
#' are accumulated as the chains run (total variance, with the variance of the
#' Dirichlet distributions given \eqn{z}).
#'
#' @section Topics:
#' The posterior does not change when the topics are renumbered (unless `alpha`
#' differs between them), and each chain numbers them in its own way. In the fit
#' they are renumbered to agree: a topic has the same number in all draws of all
#' chains, in every column and in every summary. Topics with more tokens come
#' first. [lda_sampler] says how this is done. [relabel()]
#' with `"none"` gives the sampler's own numbers, if `keep = "labels"` stored
#' them. Topics with different rows of `eta` keep the numbers of the rows
#' ([lda_prior()], [seeded_topics()]). If `alpha` differs between the topics,
#' each topic keeps the number of its `alpha`.
#'
#' R-hat and effective sample sizes are judged on quantities that do not depend
#' on the numbering: `log_joint`, `log_lik`, the concentrations, and the shares
#' of the largest topics (at most 20) in all tokens, in decreasing order:
#' `share[1]` is the share of the largest topic of a draw. `summary(fit,
#' variables = "share[1]")` and `plot(fit, variables = "share[1]")` take these
#' names.
#'
#' @section Convergence:
#' On real text an R-hat of 1.01 for every quantity takes very long runs, also
#' where all chains show a reader the same topics. The verdict on chains that
#' have not converged therefore begins with the topics: "6 of 8 topics are the
#' same in all chains; topics 3 and 7 are not." Its advice is the same for all
#' such fits. `print()` and `summary()` say how far the chains agree:
#'
#' * *Topics*: how many have an affinity (see [topic_estimates()]) of 0.9 or
#'   more in all chains. On simulated texts the affinity was at least 0.99 with
#'   the true number of topics, and at least 0.94 with three more.
#' * *Documents*: the total variation distance between the shares of a document
#'   in two chains, averaged over documents and pairs of chains.
#' * *Perplexity*: \eqn{\exp(-}{exp(-}`log_lik`\eqn{)}{)} of each chain, for
#'   the text of the fit.
#'
#' In a small corpus topics can change places within a chain, as the posterior
#' allows. The means of such topics mix several topics; they are named.
#'
#' If all topics agree, their terms and the documents' shares can be used with
#' the standard deviations of [topic_estimates()], which include the differences
#' between chains; more draws make the other quantities more precise. If some
#' differ, use one chain, or try a longer burn-in or fewer topics; more draws of
#' the same chains seldom help. Pairs of topics with an affinity of 0.9 or more
#' to each other and topics that hold less than a tenth of an equal share of the
#' tokens are named: there may be too many topics.
#'
#' @section Choosing k:
#' Fit several numbers of topics and compare them by [compare_k()]: perplexity
#' of held-out documents, and the coherence of the topics. Perplexity often
#' still falls where there are already too many topics to interpret. If several
#' numbers do not clearly differ, take the smallest one or the one with the most
#' coherent topics.
#'
#' @param x The documents: counts of terms, tokens or texts, see the section on
#'   documents. Or a corpus made by [shards()] or [scatter()]: one chain then
#'   runs on several processes or machines.
#' @param k The number of topics: a whole number from 1 to 65,535.
#' @param prior The prior, made by [lda_prior()].
#' @param method `"collapsed"` (default), `"partially_collapsed"` or
#'   `"uncollapsed"`: the kind of sweep.
#' @param vocabulary `NULL`, or the names of the terms if `x` has no names. For
#'   tokens and texts it is an error.
#' @param empty What to do about documents without a word: `"error"` (default)
#'   or `"keep"`: their shares then have the prior distribution.
#' @param keep `NULL`, or any of `"theta"`, `"phi"`, `"z"` and `"labels"` (the
#'   sampler's own numbers of the topics): blocks of which every draw is stored.
#' @param draws Whole number, 1 or more (default 1000): the draws kept in each
#'   chain. (`NULL` runs by the rule [until()]: few collections of real
#'   documents meet it.)
#' @param burnin,thin,chains,inits,threads,cores,seed As in [running].
#' @param checkpoint,stop_when,progress,keep_data As in [running].
#' @param ... Not used: any further argument is an error.
#' @return An object of class `gibbs_lda`, a `gibbsite_fit` and a
#'   [coda::mcmc.list]: one matrix of draws for each chain.
#' @section Errors:
#' Errors in the arguments have class `gibbsite_error_argument` and are raised
#' before any chain starts: counts that are not whole or negative (the first is
#' named), documents without a word (`gibbsite_error_empty`), texts and tokens
#' that are missing (`gibbsite_error_missing`) or not valid
#' (`gibbsite_error_text`), names of terms that occur twice, and more tokens
#' than memory allows (`gibbsite_error_size`).
#' @references
#' Blei DM, Ng AY, Jordan MI (2003). Latent Dirichlet allocation. *Journal of
#' Machine Learning Research* 3, 993-1022.
#'
#' Griffiths TL, Steyvers M (2004). Finding scientific topics. *PNAS* 101,
#' 5228-5235. \doi{10.1073/pnas.0307752101}
#' @seealso [lda_sampler], [lda_prior()], [seeded_topics()], [token_counts()],
#'   [top_terms()], [extend()] for more draws and for more documents,
#'   [predict.gibbs_lda()], [held_out_perplexity()], [plot.gibbs_lda()],
#'   [compare_k()] for the number of topics;
#'   `vignette("topics", "gibbsite")`.
#' @examples
#' corpus <- sim_lda(50, k = 3, terms = 40, tokens = 60)
#' fit <- gibbs_lda(corpus$x, 3, draws = 100, burnin = 200, chains = 2,
#'   seed = 1, progress = FALSE
#' )
#' fit
#'
#' # texts, here without some frequent words
#' texts <- c(
#'   a = "The cat chased the mouse, and the mouse ran.",
#'   b = "A mouse and a cat lived in the house.",
#'   c = "Shares fell as the bank raised its rates.",
#'   d = "The bank's rates and shares rose."
#' )
#' counts <- token_counts(texts, stopwords = c("a", "and", "as", "the"))
#' gibbs_lda(counts, 2, draws = 100, burnin = 200, chains = 2, seed = 1,
#'   progress = FALSE
#' )
#' @export
gibbs_lda <- function(x, k, prior = lda_prior(),
                      method = c("collapsed", "partially_collapsed",
                                 "uncollapsed"),
                      vocabulary = NULL, empty = c("error", "keep"),
                      draws = 1000, burnin = 1000, thin = 1, chains = 4,
                      inits = NULL, keep = NULL, threads = 1,
                      cores = getOption("mc.cores", 1L), seed = NULL,
                      checkpoint = NULL, stop_when = NULL,
                      progress = TRUE, keep_data = TRUE, ...) {
  check_no_more(...)
  check_needed(
    x = "counts of terms, tokens or texts", k = "the number of topics"
  )
  call <- rlang::current_env()
  if (inherits(x, "formula")) {
    abort_expected(x, "counts of terms, tokens or texts", FALSE, "x", call)
  }
  method <- check_choice(
    method, c("collapsed", "partially_collapsed", "uncollapsed")
  )
  empty <- check_choice(empty, c("error", "keep"))
  k <- check_count(k, min = 1, max = 65535, arg = "k", call = call)
  counts <- if (inherits(x, "gibbsite_corpus")) {
    check_corpus_run(x, method, vocabulary, inits, call)
  } else {
    as_counts(x, vocabulary, empty, arg = "x", call = call)
  }
  prior <- complete_lda_prior(prior, k, counts, call)
  running <- running_of(
    call, keep_choices = c("theta", "phi", "z", "labels"),
    keep_default = character()
  )
  model <- if (inherits(x, "gibbsite_corpus")) {
    check_keep_in_shards(running$keep, call)
    lda_shards_model(x, k, prior, method, running$keep)
  } else {
    lda_model(counts, k, prior, method, running$keep)
  }
  run_chains(model, running, match.call(), call)
}

#' The sampler of gibbs_lda()
#'
#' The conditionals from which [gibbs_lda()] draws, in its notation, how the
#' topics are numbered, where the chains start, and how much memory a run takes.
#'
#' @section Conditionals:
#' The density that the chains leave invariant is, up to a constant,
#' \deqn{p(\alpha)\, p(\eta) \prod_d \mathrm{Dir}(\theta_d \mid \alpha)
#'   \prod_t \mathrm{Dir}(\phi_t \mid \eta) \prod_i \theta_{d(i), z_i}
#'   \phi_{z_i, w_i}.}{
#'   p(alpha) p(eta) prod_d Dir(theta_d | alpha) prod_t Dir(phi_t | eta)
#'   prod_i theta_{d(i), z_i} phi_{z_i, w_i}.}
#' With \eqn{n_{dt}} tokens of document \eqn{d} and \eqn{n_{tw}} tokens of term
#' \eqn{w} in topic \eqn{t}, \eqn{n_t} in all, \eqn{V} terms, and
#' \eqn{-i} for counts without token \eqn{i}:
#'
#' * `"collapsed"` (Griffiths and Steyvers 2004), the default: \eqn{\theta} and
#'   \eqn{\phi} are integrated out, and each token's topic is drawn given all
#'   others, \deqn{P(z_i = t \mid z_{-i}, w) \propto (n_{dt}^{-i} + \alpha_t)
#'   \frac{n_{tw}^{-i} + \eta_w}{n_t^{-i} + \sum_v \eta_v}.}{
#'   P(z_i = t | z_-i, w) proportional to (n_dt^-i + alpha_t)
#'   (n_tw^-i + eta_w) / (n_t^-i + sum_v eta_v).}
#' * `"partially_collapsed"` (Magnusson et al. 2018): \eqn{\theta} is
#'   integrated out, \eqn{\phi_t \mid z \sim \mathrm{Dir}(\eta + n_t)}{phi_t |
#'   z ~ Dir(eta + n_t)} is drawn, and \eqn{P(z_i = t \mid \cdot) \propto
#'   (n_{dt}^{-i} + \alpha_t) \phi_{t w_i}}{P(z_i = t | .) proportional to
#'   (n_dt^-i + alpha_t) phi_{t w_i}}. Documents are independent given
#'   \eqn{\phi}, so that several `threads` make it faster.
#' * `"uncollapsed"`, with nothing integrated out: \eqn{\theta_d \mid z \sim
#'   \mathrm{Dir}(\alpha + n_d)}{theta_d | z ~ Dir(alpha + n_d)}, \eqn{\phi} as
#'   above, and \eqn{P(z_i = t \mid \cdot) \propto \theta_{dt} \phi_{t w_i}}{
#'   P(z_i = t | .) proportional to theta_dt phi_{t w_i}}.
#'
#' All three have the same posterior; the collapsed one mixes best per sweep. A
#' concentration with a prior is drawn by a slice step given \eqn{z} with
#' \eqn{\theta} (and for `eta` \eqn{\phi}) integrated out. \eqn{\theta} and
#' \eqn{\phi} are drawn after it, because the reverse order would not leave the
#' posterior invariant.
#'
#' The only error of the samplers is rounding. The weights of the topics of a
#' token are held in single precision. The probability with which a topic is
#' drawn differs from the exact one by at most about \eqn{2^{-24}(k / 4 +
#' 60)}{2^-24 (k / 4 + 60)}, which is 5e-6 for 100 topics; an error near 1e-7 is
#' usual. An element of \eqn{\theta} or \eqn{\phi} below 1e-18 counts as 0 in
#' these weights.
#'
#' @section Numbers of the topics:
#' Within a chain each draw is compared with the first kept draw. Its topics are
#' numbered so that as many tokens as possible keep their topic (an assignment
#' problem; Papastamoulis & Iliopoulos 2010). Then the first kept draws of the
#' chains are compared. The chains are numbered so that as many tokens as
#' possible have the same topic in two chains, over all pairs. With more than
#' 1024 topics the draws of a chain are not renumbered.
#'
#' @section Starting values:
#' Without `inits` each chain makes four short runs on its own stream of random
#' numbers, and starts at the last state of that with the highest `log_joint`
#' there. In a short run each token starts in a topic drawn with equal
#' probabilities. A concentration with a prior starts at a draw from the middle
#' half of that prior (between its quartiles). If `eta` is a matrix, the topic
#' \eqn{t} of a token of term \eqn{w} is drawn with a probability proportional
#' to \eqn{\eta_{tw} / \sum_v \eta_{tv}}{eta_tw / sum_v eta_tv}. A short run is
#' a tenth of `burnin` long. The sweeps of the short runs are not counted as
#' sweeps of the chain; they make its burn-in longer by two fifths. With a
#' `burnin` below 200 there are no short runs, and the chain starts where the
#' first one would start. From a single start a chain more often stays near a
#' poor mode for thousands of sweeps.
#'
#' An entry of `inits` is a list with any of `z` (whole numbers from 1 to `k`,
#' one for each token, document after document, within a document by term),
#' `alpha` and `eta`; missing elements are drawn as for a short run, and the
#' chain starts there.
#'
#' @section Memory:
#' A run takes about 20 bytes of memory for each token, and some 4 more for each
#' further chain; documents given as words take some 60 while they are read.
#' Documents whose tokens take more than `options(gibbsite.max_draws_mb = )` at
#' 24 bytes are refused: at its default of 2000 more than 87 million tokens. So
#' are 2^31 tokens or more.
#'
#' @references
#' Magnusson M, Jonsson L, Villani M, Broman D (2018). Sparse partially
#' collapsed MCMC for parallel inference in topic models. *Journal of
#' Computational and Graphical Statistics* 27, 449-463.
#' \doi{10.1080/10618600.2017.1366913}
#'
#' Papastamoulis P, Iliopoulos G (2010). An artificial allocations based
#' solution to the label switching problem in Bayesian analysis of mixtures of
#' distributions. *Journal of Computational and Graphical Statistics* 19,
#' 313-331. \doi{10.1198/jcgs.2010.09008}
#'
#' Neal RM (2003). Slice sampling. *Annals of Statistics* 31, 705-767.
#' \doi{10.1214/aos/1056562461}
#'
#' Griffiths TL, Steyvers M (2004). Finding scientific topics. *PNAS* 101,
#' 5228-5235. \doi{10.1073/pnas.0307752101}
#' @seealso [gibbs_lda()], [lda_prior()], [topic_estimates()].
#' @name lda_sampler
NULL

# ---- Simulation -------------------------------------------------------------

#' @rdname simulated-data
#' @export
sim_lda <- function(documents, k, terms, tokens, alpha = 0.1, eta = 0.1) {
  check_needed(
    documents = "how many", k = "the number of topics", terms = "how many",
    tokens = "how many in each document"
  )
  call <- rlang::current_env()
  check_unlocked(call)
  documents <- check_count(documents)
  k <- check_count(k)
  terms <- check_count(terms)
  check_result_size(
    c(k, documents + terms), "topics x (documents + terms)",
    "{.arg k}, {.arg documents} or {.arg terms}", call
  )
  tokens <- check_tokens(tokens, documents, call)
  alpha <- sim_concentration(alpha, k, "alpha", call)
  eta <- sim_concentration(eta, terms, "eta", call)
  theta <- sim_dirichlet(documents, alpha)
  phi <- sim_dirichlet(k, eta)
  document <- rep.int(seq_len(documents), tokens)
  z <- unlist(lapply(seq_len(documents), function(d) {
    sample.int(k, tokens[[d]], replace = TRUE, prob = theta[d, ])
  }))
  word <- draw_words(z, phi)
  order <- order(document, word)
  x <- tokens_matrix(
    document, word, paste0("document", seq_len(documents)),
    paste0("term", seq_len(terms))
  )
  list(x = x, theta = theta, phi = phi, z = z[order])
}

# A term for each token given its topic; phi: topics x terms.
draw_words <- function(z, phi) {
  word <- integer(length(z))
  for (own in split(seq_along(z), z)) {
    t <- z[[own[[1L]]]]
    word[own] <- sample.int(
      ncol(phi), length(own), replace = TRUE, prob = phi[t, ]
    )
  }
  word
}

check_tokens <- function(tokens, documents, call) {
  tokens <- check_numeric_vector(
    tokens, lower = 0, arg = "tokens", call = call
  )
  if (!length(tokens) %in% c(1L, documents) || any(tokens != round(tokens))) {
    given <- describe(tokens)
    abort_argument(
      "{.arg tokens} must be 1 whole number or {documents} ({.arg documents}),
       not {given}.",
      call = call
    )
  }
  tokens <- rep_len(tokens, documents)
  if (sum(tokens) < 1) {
    abort_argument("{.arg tokens} must add up to at least 1.", call = call)
  }
  check_token_count(
    sum(tokens), "tokens", NULL, "Lower {.arg tokens} or {.arg documents}", call
  )
  tokens
}

sim_concentration <- function(x, n, arg, call) {
  x <- check_numeric_vector(
    x, lower = 0, lower_open = TRUE, arg = arg, call = call
  )
  if (!length(x) %in% c(1L, n)) {
    abort_argument(
      "{.arg {arg}} must be 1 number or {n}, not {length(x)}.", call = call
    )
  }
  rep_len(x, n)
}
