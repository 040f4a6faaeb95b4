# More documents for a topic model that has been fitted.

texts <- c(
  a = "The cat chased the mouse, and the mouse ran.",
  b = "A mouse and a cat lived in the house with a cat.",
  c = "Shares fell as the bank raised its rates.",
  d = "The bank's rates and shares rose as the bank sold."
)
more <- c(e = "The cat ate a mouse.", f = "A zebra bank sold shares.")
fit_of <- function(x, ...) {
  suppressWarnings(suppressMessages(gibbs_lda(
    x, 2, draws = 50, burnin = 200, chains = 2, seed = 1, progress = FALSE, ...
  )))
}
fit <- fit_of(texts)
add <- function(data, to = fit) {
  suppressWarnings(extend(to, 50, data = data, progress = FALSE))
}

right("the topics are those of all documents", {
  all <- suppressMessages(add(more))
  nobs(all) == nobs(fit_of(c(texts, more))) &&
    identical(rownames(predict(all)), c(names(texts), names(more))) &&
    setequal(colnames(topic_estimates(all)$phi),
             colnames(topic_estimates(fit_of(c(texts, more)))$phi))
})
told("words that the fit does not know", add(more), "new terms join .*zebra")
told("tokens that are written otherwise", add(list(e = c("Cat", "mouse"))),
     "upper or lower case")
refused("a document of the fit", add(texts["b"]), "is a document of the fit")
refused("new words and a prior for each term", add(more, fit_of(
  texts, prior = lda_prior(0.5, seeded_topics(list(pets = "cat")))
)), "numbers for each term, and none for")
refused("more rows for a mixture", {
  g <- gibbs_gmm(faithful[1:200, ], 2, draws = 50, seed = 1, progress = FALSE)
  extend(g, 50, data = faithful[201:272, ])
}, "More data need a new fit")
