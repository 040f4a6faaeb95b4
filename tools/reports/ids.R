# Groups, users, documents and columns whose names paste or print alike.

brief <- function(sampler, ...) {
  suppressWarnings(suppressMessages(sampler(
    ..., draws = 200, burnin = 50, chains = 1, seed = 1, progress = FALSE
  )))
}

pairs <- data.frame(
  a = rep(c("x:y", "x", "w"), each = 20), b = rep(c("z", "y:z", "v"), each = 20)
)
pairs$y <- rep(c(0, 5, 9), each = 20) + sin(1:60)
fit <- brief(gibbs_hlm, y ~ 1 + (1 | a:b), pairs)

right("(x:y, z) and (x, y:z) are two groups", {
  means <- tapply(pairs$y, rep(1:3, each = 20), mean)
  all.equal(unname(fitted(fit)[c(1, 21, 41)]), unname(c(means)),
            tolerance = 0.05)
})
right("their names are different", {
  !anyDuplicated(rownames(nlme::ranef(fit)[["a:b"]]))
})
right("new data find their groups", {
  all.equal(unname(predict(fit, pairs)), unname(fitted(fit)))
})
refused("a pair that is not in the data is new",
        predict(fit, data.frame(a = "x", b = "z")), "x:z")
right("users 0.1 + 0.2 and 0.3 are two users", {
  data <- expand.grid(user = c(0.1 + 0.2, 0.3), item = c("a", "b"))
  data$value <- c(1, 5, 1.2, 5.1)
  bmf <- brief(gibbs_bmf, data, rank = 1)
  diff(predict(bmf, data)$mean[1:2]) > 1
})
right("documents keep their names whatever the other names are", {
  data <- data.frame(document = c(1, 2.5), term = c("p", "q"), count = 1)
  identical(rownames(token_counts(data)), c("1", "2.5"))
})
told("columns of two terms with one name are renamed", {
  data <- data.frame(
    y = pairs$y, a = factor(rep(c("x", "bc"), 30), c("x", "bc")),
    ab = factor(rep(c("x", "c"), each = 30), c("x", "c"))
  )
  fit <- suppressWarnings(gibbs_lm(
    y ~ a + ab, data, draws = 50, seed = 1, progress = FALSE
  ))
  print(names(coef(fit)))
}, "abc[.]1")
