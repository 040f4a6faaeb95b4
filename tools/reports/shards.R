# One chain on several processes.

set.seed(3)
x <- sim_lda(60, k = 3, terms = 30, tokens = rep(c(5, 40, 200), 20))$x
run <- function(x, ...) {
  suppressWarnings(gibbs_lda(
    x, 3, method = "partially_collapsed", draws = 10, burnin = 10, chains = 2,
    seed = 1, progress = FALSE, ...
  ))
}
one <- run(x)
for (shards in c(1, 4, 59)) {
  fit <- run(scatter(NULL, x, shards = shards))
  right(paste("the draws of one machine with", shards, "shards"), {
    identical(lapply(fit, unclass), lapply(one, unclass))
  })
  right(paste("the shares of one machine with", shards, "shards"), {
    theta <- do.call(rbind, on_shards(fit, function(theta, ...) theta))
    identical(unname(theta), unname(topic_estimates(one)$theta))
  })
}
refused("the collapsed sampler", gibbs_lda(scatter(NULL, x), 3),
        says = "partially_collapsed")
refused("draws of theta", run(scatter(NULL, x), keep = "theta"),
        says = "on_shards")
right("a checkpoint goes on in another number of shards", {
  folder <- tempfile()
  run(scatter(NULL, x, shards = 4), checkpoint = folder)
  fit <- resume(folder, data = scatter(NULL, x, shards = 2))
  identical(lapply(fit, unclass), lapply(one, unclass))
})
refused("the documents of the fit", predict(fit), says = "on_shards")
refused("a file that is not there", {
  shards(NULL, "absent.rds", function(file) readRDS(file))
}, says = "absent.rds")
