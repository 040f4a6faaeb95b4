# The size of a fit that is made in a function with a large object, and what
# works after it was saved.

brief <- function(sampler, ...) {
  suppressWarnings(sampler(
    ..., draws = 100, burnin = 20, chains = 1, seed = 1, progress = FALSE
  ))
}
size <- function(x) length(serialize(x, NULL))
read_again <- function(x) unserialize(serialize(x, NULL))

right("a regression made in a function is small", {
  made <- local({
    big <- rnorm(1e6)
    centre <- 3
    suppressWarnings(gibbs_lm(
      mpg ~ I(wt - centre), mtcars, draws = 100, seed = 1, progress = FALSE
    ))
  })
  size(made) < 1e5 && size(drop_data(made)) < 1e5
})
right("its predictions work where `centre` is not", {
  all.equal(predict(read_again(made), mtcars), predict(made, mtcars))
})
right("a density made in a function is small, and the chain goes on", {
  fit <- local({
    big <- rnorm(1e6)
    scale <- 2
    shared <- function(w) w / scale
    brief(mh_sample, function(w) -sum(shared(w)^2), c(a = 0))
  })
  longer <- suppressWarnings(extend(read_again(fit), 10, progress = FALSE))
  size(fit) < 1e5 && nrow(as.matrix(longer)) == 110L
})
right("a density that counts its calls still counts them", {
  calls <- 0
  fit <- brief(mh_sample, function(w) {
    calls <<- calls + 1
    -sum(w^2)
  }, c(a = 0))
  calls > 100
})
right("do.call() does not put unused columns into the fit", {
  fit <- do.call(brief, list(
    gibbs_lm, mpg ~ wt, cbind(mtcars, matrix(rnorm(32e4), 32))
  ))
  size(fit) < 1e5
})
