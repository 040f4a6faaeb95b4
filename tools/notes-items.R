# What five lecture notes have, and the calls of gibbsite that make it.
# tools/notes.R reads this file: a line "# ====" begins a note (short name |
# author and title), a line "# ----" an item (where | what); the lines below an
# item are its call. Calls run from top to bottom, and may use what earlier ones
# have made.

# ==== Paisley | Bayesian Models for Machine Learning, lecture 3
# ---- eq. 1 | Bayes' rule, in closed form where the prior is conjugate
conjugate <- gibbs_lm(mpg ~ wt, mtcars, lm_prior("nig"), seed = 1)
# ---- eq. 2 | its denominator, the evidence
log_evidence(conjugate)
# ---- eq. 3 | logistic regression
posterior_epred(gibbs_logistic(am ~ wt, mtcars, seed = 1))[1:2, 1:3]
# ---- eq. 4 | normal prior of the weights, variance c
prior <- logistic_prior(slope_variance = 4, intercept_variance = 4)
prior_predict(gibbs_logistic(am ~ wt, mtcars, prior), seed = 1)
# ---- eq. 5 | its posterior, which has no closed form
gibbs_logistic(am ~ wt, mtcars, prior, seed = 1)
# ---- eq. 6, 12 | Laplace approximation of any log density
log_density <- function(x) {
  dgamma(exp(x[["log_rate"]]), 3, log = TRUE) + x[["log_rate"]]
}
approximation <- laplace(log_density, c(log_rate = 0), seed = 1)
c(coef(approximation), vcov(approximation))
# ---- eq. 7, 11 | evidence by Laplace's method, and corrected
log_evidence(approximation)
log_evidence(approximation, correct = "importance", seed = 1)
# ---- eq. 8, 10 | Taylor series of second order at the mode
hessian <- -solve(vcov(approximation))
log_density(coef(approximation)) + hessian * 0.1^2 / 2
# ---- eq. 9 | mode of the posterior (MAP)
coef(approximation)
# ---- algorithm | steepest ascent from 0
climbed <- laplace_logistic(am ~ wt, mtcars, prior, start = c(0, 0),
  method = "gradient", seed = 1)
# ---- picture | the approximation beside the density itself
corrected <- laplace(log_density, c(log_rate = 0), correct = "importance",
  seed = 1)
plot(compare(approximation, corrected))
# ---- eq. 13 | log joint density of logistic regression
w <- as.matrix(climbed)
(rowSums(log_lik(climbed)) + rowSums(dnorm(w, 0, 2, log = TRUE)))[1:3]
# ---- eq. 14 | its gradient, which is zero at the mode
x <- cbind(1, mtcars$wt)
drop(crossprod(x, mtcars$am - plogis(x %*% coef(climbed)))) - coef(climbed) / 4
# ---- eq. 15 | its Hessian: minus the inverse of the covariance
vcov(climbed)
# ---- setup | ratings in part of the cells
set.seed(1)
ratings <- sim_bmf(30, 20, rank = 2, share = 0.4)
# ---- eq. 16 | matrix factorisation with known variances
fixed <- bmf_prior("fixed", factor_variance = 0.7, noise_variance = 0.25)
factors <- gibbs_bmf(ratings, rank = 2, prior = fixed,
  predict_at = ratings[1:4, ], draws = 500, seed = 1)
# ---- prior | normal priors of users and items
prior_predict(gibbs_bmf(ratings, rank = 2, prior = fixed), seed = 1)
# ---- eq. 17 | posterior of all factors
factors_of(factors, "users")
factors_of(factors, "items")
# ---- eq. 18-20 | mean of a rating
predict(factors, ratings[1:4, ])$mean
# ---- eq. 21 | Monte Carlo integration, with its error
set.seed(1)
monte_carlo(rnorm(1000), function(x) x^2)
# ---- eq. 22 | draws of users and items
dim(draws_of(gibbs_bmf(ratings, rank = 2, prior = fixed, keep = c("u", "v"),
  draws = 100, seed = 1), "u"))
# ---- eq. 23 | mean of a product over the draws
predict(factors, ratings[1:4, ])
# ---- eq. 24 | variance of a rating: noise and uncertainty apart
predict(factors, ratings[1:4, ])
# ---- algorithm | Gibbs sampler of two unknowns
coupled <- gibbs_sample(list(
  a = function(state) rnorm(1, 0.8 * state$b, 0.6),
  b = function(state) rnorm(1, 0.8 * state$a, 0.6)
), list(a = 0, b = 0), draws = 500, burnin = 100, seed = 1)
# ---- step 1 | random starting values
gibbs_gmm(faithful, 2, draws = 100, inits = list(list(pi = c(0.2, 0.8))),
  chains = 1, seed = 1)
# ---- step 2 | burn-in, thinning, several chains
gibbs_gmm(faithful, 2, burnin = 200, draws = 100, thin = 5, chains = 2,
  seed = 1)
# ---- step 3 | correlation of neighbouring draws
autocorrelation_time(coupled)
plot(coupled, type = "autocorrelation")
# ---- step 4 | run until enough is known, instead of a guess
gibbs_gmm(faithful, 2, stop_when = until(rhat = 1.01, ess = 400), seed = 1)
# ---- eq. 25 | draws taken as a sample of the posterior
summary(coupled)
# ---- eq. 26 | expectations from them
monte_carlo(coupled, function(x) x[["a"]] > 1)
# ---- step 6 | whether the chains have converged
converged(coupled)
convergence(coupled)
# ---- eq. 27-29 | conditional of a user, given the items
fold_in(factors, data.frame(user = "new", item = c("1", "2"), value = c(1, -1)))
# ---- algorithm | Gibbs sampler of matrix factorisation
extend(factors, 100)

# ==== Daume | Bayesian inference II
# ---- algorithm | Metropolis-Hastings
walk <- mh_sample(function(x) -sum(x^2) / 2, c(a = 0, b = 0), draws = 500,
  seed = 1)
# ---- step a | any proposal, also one that is not symmetric
mh_sample(function(x) dgamma(x, 3, log = TRUE), c(rate = 2), lower = 0,
  custom_proposal(
    function(x) rlnorm(1, log(x), 0.5),
    function(from, to) dlnorm(to, log(from), 0.5, log = TRUE)
  ), draws = 500, seed = 1)
# ---- step b, c | probability of acceptance, step by step
steps <- mh_sample(function(x) -sum(x^2) / 2, c(a = 0), random_walk(2),
  debug = TRUE, draws = 10, burnin = 0, chains = 1, seed = 1)
mh_trace(steps)
# ---- algorithm | Gibbs sampling, one unknown after another
gibbs_sample(list(
  x = function(state) rnorm(1, state$y / 2),
  y = function(state) rnorm(1, state$x / 2)
), list(x = 0, y = 0), draws = 200, burnin = 100, seed = 1)
# ---- conditional | of every unknown, of a table of probabilities
gibbs_matrix(matrix(c(0.4, 0.1, 0.1, 0.4), 2))
# ---- model | generative model of documents
set.seed(1)
documents <- sim_lda(40, 3, 30, tokens = 60, alpha = 0.5)
# ---- step 1 | alpha uniform from 0 to 10
lda_prior(alpha = uniform_prior(0, 10), eta = 0.1)
# ---- step 2, 3 | data that the priors predict
prior_predict(gibbs_lda(documents$x, 3), seed = 1)
# ---- eq. 1 | latent Dirichlet allocation
topics <- gibbs_lda(documents$x, 3, lda_prior(uniform_prior(0, 10)),
  method = "uncollapsed", keep = c("theta", "phi", "z"), draws = 200,
  burnin = 200, seed = 1)
# ---- conditional | of alpha, a draw by a slice step
draws_of(topics, "alpha")[1:5, 1]
# ---- conditional | of the topics, Dirichlet
draws_of(topics, "phi")[1, 1, , 1:4]
top_terms(topics, 5)
# ---- conditional | of the shares of a document, Dirichlet
topic_estimates(topics)
# ---- conditional | of the topic of each word
draws_of(topics, "z")[1, 1, 1:10]
# ---- sampler | the same with the Dirichlets integrated out
gibbs_lda(documents$x, 3, method = "collapsed", draws = 100, burnin = 100,
  seed = 1)
# ---- optimisation | alpha by its maximum: a mode, which is no draw
theta <- sample_dirichlet(200, rep(0.5, 3), log = TRUE)
coef(laplace(function(a) {
  200 * (lgamma(3 * exp(a)) - 3 * lgamma(exp(a))) + exp(a) * sum(theta)
}, c(log_alpha = 0), seed = 1))

# ==== Rai (a) | Metropolis-Hastings and Gibbs sampling
# ---- algorithm | Metropolis-Hastings sampling
acceptance(walk)
# ---- example | normal target in the plane, steps of 0.1
normal <- function(z) {
  away <- z - 4
  -sum(away * solve(matrix(c(1, 0.8, 0.8, 1), 2), away)) / 2
}
small <- mh_sample(normal, c(z1 = 0, z2 = 2), random_walk(0.1), draws = 500,
  burnin = 0, chains = 1, inits = list(c(0, 2)), debug = TRUE, seed = 1)
# ---- picture | its path over the target
plot(mh_trace(small), log_density = normal)
# ---- special case | symmetric proposals (Metropolis)
random_walk(1)
# ---- picture | steps too small and too large
scales <- lapply(c(small = 0.1, right = 1.3, large = 8), function(scale) {
  mh_sample(normal, c(z1 = 4, z2 = 4), random_walk(scale), draws = 500,
    burnin = 0, chains = 1, debug = TRUE, seed = 1)
})
plot(mh_trace(scales), log_density = normal)
# ---- law | (L/sigma)^2 steps of a random walk
autocorrelation_time(scales$small)
# ---- cost | a density that is costly: its evaluations
calls <- 0
counted <- mh_sample(function(x) {
  calls <<- calls + 1
  -x^2 / 2
}, c(a = 0), random_walk(2), draws = 100, burnin = 0, chains = 1, seed = 1)
calls
# ---- algorithm | Gibbs sampling as Metropolis-Hastings
acceptance(coupled)
# ---- sketch | the blocks of a sweep in their order
coupled
# ---- order | of the blocks: at random
gibbs_sample(list(a = function(state) rnorm(1, state$b / 2),
  b = function(state) rnorm(1, state$a / 2)), list(a = 0, b = 0),
  scan = "random", draws = 200, seed = 1)
# ---- picture | staircase in the plane
plot(mh_trace(coupled), 20, log_density = function(z) normal(z + 4))
# ---- variant | blocked Gibbs
gibbs_hlm(Reaction ~ Days + (Days | Subject), lme4::sleepstudy, draws = 200,
  burnin = 200, seed = 1)
# ---- variant | collapsed (Rao-Blackwellised) Gibbs
gibbs_lda(documents$x, 3, method = "partially_collapsed", draws = 100,
  burnin = 100, seed = 1)
# ---- variant | Metropolis-Hastings within Gibbs
gibbs_sample(list(a = mh_step(function(state) dt(state$a, 5, log = TRUE))),
  list(a = 0), draws = 200, seed = 1)
# ---- variant | iterated conditional modes (ICM)
gibbs_gmm(faithful, 2, method = "icm", seed = 1)
gibbs_sample(list(a = function(state) state$b / 2 + 1,
  b = function(state) state$a / 2), list(a = 0, b = 0), method = "icm")
# ---- collection | burn-in and thinning cut off afterwards
window(coupled, start = 200, thin = 2)
# ---- collection | empirical distribution of the kept draws
empirical_distribution(as.matrix(coupled)[, c("a", "b")])
# ---- recipe | the log of the joint density gives all conditionals
mh_sample(function(z) -sum(z^2) / 2 - z[1]^2 * z[2]^2, c(a = 0, b = 0),
  blocks = "each", proposal = univariate_slice(), draws = 200, burnin = 100,
  seed = 1)
# ---- prediction | average over draws
predict(conjugate, data.frame(wt = 3), interval = "prediction")
# ---- prediction | draws of new data
posterior_predict(conjugate, data.frame(wt = c(2, 3)))[1:2, ]
# ---- labels | label switching, raw and relabelled
mixture <- gibbs_gmm(faithful, 2, keep = "z", draws = 200, burnin = 200,
  seed = 1)
plot(mixture, type = "labels")
relabel(mixture)
# ---- labels | probability that two points are together
together <- coclustering(mixture)
plot(together)
# ---- labels | products of factors, which no rotation changes
predict(factors, ratings[1:4, ])
# ---- proposal | covariance from the Hessian at the mode
mode <- laplace(normal, c(z1 = 0, z2 = 0), seed = 1)
mh_sample(normal, coef(mode), random_walk(cov = mode), draws = 200, seed = 1)
# ---- proposal | a mixture of several
mh_sample(normal, c(z1 = 4, z2 = 4),
  mixture_proposal(random_walk(0.2), random_walk(2)), draws = 200, seed = 1)
# ---- proposal | adaptive
mh_sample(normal, c(z1 = 4, z2 = 4), adaptive(), draws = 200, seed = 1)
# ---- autocorrelation | effective size, standard error
monte_carlo(walk, function(x) x[["a"]])
# ---- chains | several, and their union
plot(walk, type = "trace")
plot(coupled, type = "ranks")
combine_fits(conjugate, update(conjugate, seed = 2))
# ---- comparison | an approximation beside draws
compare(laplace_logistic(am ~ wt, mtcars, seed = 1),
  gibbs_logistic(am ~ wt, mtcars, seed = 1))
# ---- comparison | evidence lower bound (ELBO) by Monte Carlo
entropy <- log(2 * pi * exp(1)) + determinant(vcov(mode))$modulus / 2
coef(monte_carlo(mode, normal)) + entropy
# ---- storage | running means instead of all draws
gibbs_bmf(ratings, rank = 2, prior = fixed, keep = NULL, draws = 100, seed = 1)
# ---- storage | fewer draws in the place of many
compress_draws(coupled, 50)
# ---- outlook | gradients of the density
mh_sample(normal, c(z1 = 4, z2 = 4),
  gradient = function(z) -solve(matrix(c(1, 0.8, 0.8, 1), 2), z - 4),
  draws = 200, burnin = 200, seed = 1)
# ---- outlook | one chain over several processes
corpus <- scatter(NULL, documents$x, shards = 2)
gibbs_lda(corpus, 3, method = "partially_collapsed", draws = 50, burnin = 50,
  chains = 1, seed = 1)

# ==== Rai (b) | Markov chain Monte Carlo (MCMC) sampling
# ---- scheme | burn-in T1, gap between kept draws
mh_sample(normal, c(z1 = 4, z2 = 4), burnin = 300, thin = 4, draws = 200,
  seed = 1)
# ---- definition | chain of first order, initial distribution
chain <- markov_chain(rbind(c(0, 1, 0), c(0, 0.1, 0.9), c(0.6, 0.4, 0)),
  initial = c(0.5, 0.2, 0.3))
# ---- table | transition probabilities of five states
five <- markov_chain(rbind(
  c(0.4, 0.6, 0, 0, 0), c(0.5, 0, 0.5, 0, 0), c(0, 0.3, 0, 0.7, 0),
  c(0, 0, 0.1, 0.3, 0.6), c(0, 0.3, 0, 0.5, 0.2)
))
# ---- picture | the graph of a chain
plot(five)
# ---- definition | homogeneous chain, and one that changes
markov_chain(list(as.matrix(chain), diag(3)))
# ---- example | distribution after one step
state_after(chain, 1)
# ---- example | after many steps
state_after(chain, 50)
plot(state_after(chain, 0:20))
# ---- example | stationary distribution
stationary(chain)
# ---- property | irreducibility
is_irreducible(chain)
communicating_classes(chain)
# ---- property | aperiodicity
is_aperiodic(chain)
mixing_time(chain)
# ---- property | detailed balance, reversibility
is_reversible(chain)
detailed_balance(chain)
# ---- algorithm | Metropolis-Hastings on few states
neighbours <- abs(outer(1:6, 1:6, "-")) == 1
proposed <- neighbours / rowSums(neighbours)
metropolis <- metropolis_matrix(1:6, proposed)
# ---- transition | probability to move, and to stay
as.matrix(metropolis)
# ---- proof | detailed balance of Metropolis-Hastings
is_reversible(metropolis, 1:6 / 21)
# ---- algorithm | Gibbs sampling of two normals by their conditionals
summary(coupled)
# ---- picture | two normals by one-dimensional draws
plot(mh_trace(coupled), 10)
# ---- model | linear regression, unknown precisions
regression <- gibbs_lm(mpg ~ wt, mtcars,
  lm_prior(slope_shape = 1, slope_rate = 1, noise_shape = 1, noise_rate = 1),
  seed = 1)
# ---- conditional | of w, lambda and beta, by hand
x <- cbind(1, scale(mtcars$wt))
gibbs_sample(list(
  w = function(state) {
    precision <- state$beta * crossprod(x) + state$lambda * diag(2)
    mean <- solve(precision, state$beta * crossprod(x, mtcars$mpg))
    sample_mvnorm(1, drop(mean), precision = precision)
  },
  lambda = function(state) rgamma(1, 1 + 2 / 2, 1 + sum(state$w^2) / 2),
  beta = function(state) {
    rgamma(1, 1 + 32 / 2, 1 + sum((mtcars$mpg - x %*% state$w)^2) / 2)
  }
), list(w = c(20, 0), lambda = 1, beta = 1), draws = 300, burnin = 100,
  seed = 1)
# ---- model | Gaussian mixture
prior <- gmm_prior(alpha = 1, m0 = c(3.5, 70), v0 = c(4, 400), nu0 = 5,
  s0 = c(1, 100))
faces <- gibbs_gmm(faithful, 2, prior, draws = 300, burnin = 100, seed = 1)
# ---- joint density | of data and unknowns
gibbs_gmm(faithful, 2, prior, method = "icm", seed = 1)$log_joint
# ---- conditional | of z, the responsibilities
head(predict(faces, type = "prob"))
# ---- conditional | of pi
draws_of(faces, "pi")[1, 1, ]
# ---- conditional | of mu
draws_of(faces, "mu")[1, 1, , ]
# ---- conditional | of Sigma
draws_of(faces, "Sigma")[1, 1, 1, , ]
sample_inverse_wishart(2, 5, diag(2))
# ---- picture | the mixture over the data
plot(faces)
# ---- model | J schools
set.seed(1)
schools <- sim_hlm(8, 20, mu = c(50, 3), Sigma = diag(c(25, 4)), sigma = 5)
hierarchical <- gibbs_hlm(y ~ x1 + (x1 | group), schools,
  hlm_prior("inverse-wishart", nu0 = 1, sigma0 = 5), draws = 300, burnin = 200,
  seed = 1)
# ---- conditional | of the coefficients of a school
ranef(hierarchical)
# ---- conditional | of their mean
fixef(hierarchical)
# ---- conditional | of their covariance
VarCorr(hierarchical)
# ---- conditional | of the variance of an observation
sigma(hierarchical)
# ---- picture | the schools, shrunk towards each other
plot(hierarchical, type = "shrinkage")
# ---- model | matrix factorisation, unknown precisions
precisions <- gibbs_bmf(ratings, rank = 2, prior = bmf_prior("gamma"),
  draws = 300, burnin = 200, seed = 1)
# ---- conditional | of lambda_u and lambda_v
draws_of(precisions, "lambda_u")[1:3, 1]
# ---- conditional | of beta
draws_of(precisions, "beta")[1:3, 1]
# ---- variant | means and covariances unknown, Wishart priors
gibbs_bmf(ratings, rank = 2, prior = bmf_prior("wishart"), draws = 100,
  burnin = 100, seed = 1)
# ---- prediction | a mean of normal densities over draws
predict(regression, data.frame(wt = 3))
# ---- prediction | its mean and variance
new <- posterior_predict(regression, data.frame(wt = 3))
c(mean(new), var(new))

# ==== Singh | Approximate inference and sampling methods
# ---- 1.1 | local conjugacy: conditionals that can be drawn
gibbs_sample(list(
  m = function(state) rnorm(1, mean(rivers), 1 / sqrt(141 * state$t)),
  t = function(state) rgamma(1, 141 / 2, sum((rivers - state$m)^2) / 2)
), list(m = 500, t = 1e-5), draws = 200, seed = 1)
# ---- 1.2 | matrix factorisation, model and data
sim_bmf(5, 4, rank = 2, share = 1)[1:3, ]
# ---- figure 1 | ratings against what is predicted
plot(factors)
# ---- 1.2 | conditionals of users and items
gibbs_bmf(ratings, rank = 2, prior = fixed, draws = 50, burnin = 50, chains = 1,
  seed = 1)
# ---- 1.2 | alternating optimisation in their place
gibbs_bmf(ratings, rank = 2, prior = fixed, method = "icm", seed = 1)
# ---- 2.0.1 | empirical distribution with weights
set.seed(1)
weighted <- empirical_distribution(rnorm(200), runif(200))
plot(weighted)
# ---- 2.0.1 | histogram and distribution function
plot(weighted, type = "cdf")
# ---- 2.1.1 | inverse of the distribution function
sample_inverse_cdf(5, quantile = qexp, rate = 2)
# ---- 2.1.1 | where only the distribution function is known
sample_inverse_cdf(5, cdf = function(x) pexp(x)^2, lower = 0)
# ---- algorithm 1 | Box-Muller
sample_box_muller(4)
# ---- 2.1.2 | any normal, by a Cholesky factor
sample_mvnorm(2, c(4, 4), matrix(c(1, 0.8, 0.8, 1), 2))
# ---- algorithm 2 | rejection sampling
kept <- sample_rejection(500, function(x) -x^2 / 2, list(
  draw = rcauchy, log_density = function(x) dcauchy(x, log = TRUE)
), log_m = log(2 * pi) - 0.5)
# ---- proof | acceptance estimates the constant
kept
# ---- picture | target, envelope and points
plot(kept)
# ---- 3 | expectations, with control of their error
monte_carlo(runif(500), exp, control = identity, control_mean = 1 / 2)
# ---- 3 | draws with weights
sample_importance(500, function(x) dgamma(x, 3, log = TRUE), list(
  draw = function(n) rexp(n, 0.3),
    log_density = function(x) dexp(x, 0.3, log = TRUE)
))
