# Data that look right and may not be: ratings and documents.

run <- function(f, ...) {
  f(..., draws = 20, burnin = 10, chains = 1, seed = 1, progress = FALSE)
}
bmf <- function(ratings, ...) {
  suppressWarnings(run(gibbs_bmf, ratings, rank = 2, ...))
}
lda <- function(x, ...) suppressWarnings(run(gibbs_lda, x, k = 2, ...))

set.seed(1)
dense <- matrix(0, 10, 8)
dense[sample(80, 30)] <- sample(5, 30, TRUE)
long <- data.frame(user = sample(5, 30, TRUE), item = sample(4, 30, TRUE))

told("zeros of a dense matrix", bmf(dense), "50 of the 80 values.*NA")
told("zeros of xtabs()", bmf(xtabs(~ user + item, long)), "are 0 and are taken")
told("zeros of table()", bmf(table(long)), "are 0 and are taken")
told("zeros of ftable()", bmf(ftable(table(long))), "are 0 and are taken")
told("a matrix of 0 and 1", bmf((dense > 0) + 0, link = "probit"), "50 of the")
told("stored zeros of a sparse matrix", bmf(
  Matrix::sparseMatrix(i = 1:3, j = 1:3, x = c(0, 2, 3))
), "1 of the 3 values.*drop0")
right("a matrix with NA and 0 has ratings of 0", {
  fit <- bmf(replace(dense, dense == 3, NA))
  nobs(fit) == sum(dense != 3)
})

wide <- data.frame(id = 1:6, tea = c(1, 2, 3, 3, 2, 1), milk = 6:1)
refused("a wide table", bmf(wide),
        "as.matrix\\(data.frame\\(ratings, row.names")
refused("a wide table of words", bmf(cbind(wide, a = letters[1:6])[-1]),
        "row.names = \"a\"")
told("ids within a matrix", bmf(as.matrix(wide)), "column \"id\"")
told("a table of distances", bmf(as.matrix(dist(wide))), "symmetric.*diagonal")
told("triplets in a matrix", bmf(cbind(value = 1:4, user = 1:4, item = 1)),
     "3 items by 4 users")
told("negative ids", bmf(data.frame(user = c(-1, 1, 2), item = 1, value = 1:3)),
     "negative number")
told("a formula that begins with the user", bmf(
  user ~ item + value, data = data.frame(user = 1:3, item = 1:3, value = 3:1)
), "rating comes first")

likes <- transform(unique(long), value = 1)
told("likes alone", bmf(likes), "ratings are equal.*by sampling")
told("likes alone, probit", bmf(likes, link = "probit"),
     "ratings are equal.*by sampling")
refused("likes alone, ordinal", bmf(likes, link = "ordinal"),
        "ratings are equal.*by sampling")

documents <- function(...) lapply(list(...), function(i) rbind(i, 1L))
words <- c("a", "b", "c", "d")
told("stm's documents with a vocabulary",
     lda(documents(1:2, 3:4), vocabulary = words), "numbered from 1")
told("documents that may be stm's",
     lda(documents(1:2, 2:3), vocabulary = words), "taken as numbered from 0")
right("lda's documents", {
  fit <- lda(documents(0:1, 2:3), vocabulary = words)
  identical(colnames(topic_estimates(fit)$phi), words) && nobs(fit) == 4
})
tokens <- list(c("covid-19", "NASA", "moon"), c("NASA", "moon"))
told("texts for a fit of tokens", predict(lda(tokens), "covid-19 NASA"),
     "give tokens")
told("no word of new documents is known",
     predict(lda(tokens), list("sun")), "No token is left")
turned <- matrix(1:6, 3, dimnames = list(Terms = words[1:3], Docs = 1:2))
told("terms in rows, by their name", lda(turned), "is transposed")
plain <- matrix(1:6, 3, dimnames = list(words[1:3], c("x", "y")))
refused("terms in rows of new documents", predict(lda(t(turned)), plain),
        "Documents must be rows")
refused("the same without names of documents", predict(
  lda(t(turned)), `colnames<-`(plain, NULL)
), "Documents must be rows")
refused("ratings as documents", lda(transform(long, rating = 1)), "gibbs_bmf")
told("documents as ratings", bmf(t(turned)), "gibbs_lda")

set.seed(1)
made <- sim_bmf(8, 6, rank = 1, share = 0.5)
fit <- bmf(made)
again <- data.frame(
  user = "3", item = setdiff(1:6, made$item[made$user == 3])[1], value = 1
)
told("fold_in() of a user of the fit", fold_in(fit, again), "not used")
right("its recommendations leave out what was rated", {
  folded <- fold_in(fit, again)
  !any(recommend(folded)$item %in% c(again$item, made$item[made$user == 3]))
})
