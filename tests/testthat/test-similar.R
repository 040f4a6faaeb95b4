# similar_items() and similar_users().

ratings_of_three <- function() {
  data.frame(
    user = rep(1:6, each = 4), item = rep(c("a", "b", "c", "d"), 6),
    value = c(5, 4, 1, 2, 4, 5, 2, 1, 1, 1, 5, 3, 2, 1, 4, 5, 5, 5, 1, 1, 1, 2,
              5, 4)
  )
}

short_fit <- function(f, x, ...) {
  suppressWarnings(f(
    x, 2, draws = 40, burnin = 40, chains = 2, seed = 1, progress = FALSE, ...
  ))
}

test_that("the similarity is the cosine of the predictions for all users", {
  x <- ratings_of_three()
  for (fit in list(
    short_fit(gibbs_bmf, x), short_fit(gibbs_bmf, x, biases = TRUE),
    short_fit(gibbs_pmf, x)
  )) {
    kept <- gibbsite:::kept_factors(fit)
    cosine <- function(a, b) sum(a * b) / sqrt(sum(a^2) * sum(b^2))
    each <- gibbsite:::over_draws(kept, function(draw) {
      own <- crossprod(draw$u[1:2, ], draw$v[1:2, ])
      c(item = cosine(own[, 1], own[, 2]), user = cosine(own[1, ], own[5, ]))
    })
    each <- do.call(rbind, each)
    found <- similar_items(fit, "a", level = 0.8)
    expect_identical(nrow(found), 3L)
    expect_identical(found$place, 1:3)
    expect_false(is.unsorted(-found$similarity))
    own <- found[found$item == "b", ]
    expect_equal(own$similarity, mean(each[, "item"]))
    expect_equal(
      c(own$lower, own$upper),
      stats::quantile(each[, "item"], c(0.1, 0.9), names = FALSE)
    )
    users <- similar_users(fit, 1, n = 5)
    expect_equal(
      users$similarity[users$user == 5], mean(each[, "user"])
    )
  }
  expect_true(all(similar_items(fit, "c")$lower >= 0))
})

test_that("rotations and scales of the factors do not matter", {
  set.seed(1)
  u <- matrix(rnorm(20), 2)
  v <- matrix(rnorm(14), 2)
  a <- matrix(c(2, 1, -0.5, 0.3), 2)
  plain <- gibbsite:::cosines(v, tcrossprod(u), 3)
  moved <- gibbsite:::cosines(solve(t(a), v), tcrossprod(a %*% u), 3)
  expect_equal(plain, moved)
  expect_equal(plain[[3]], 1)
})

test_that("ids are those of the fit, and draws are needed", {
  fit <- short_fit(gibbs_bmf, ratings_of_three())
  expect_gibbsite_error({
    similar_items(fit, "x")
    similar_items(fit, c("a", "b"))
    similar_users(fit, 9)
  })
  # one draw of 404 factors of 2 is larger than the option
  many <- data.frame(user = 1:400, item = 1:4, value = 1:2)
  withr::local_options(gibbsite.max_draws_mb = 0.0015)
  none <- suppressWarnings(gibbs_bmf(
    many, 2, draws = 2, burnin = 0, chains = 1, seed = 1, progress = FALSE
  ))
  expect_gibbsite_error(class = "gibbsite_error_size", similar_items(none, 1))
})

test_that("similarities are drawn with their intervals", {
  found <- similar_items(short_fit(gibbs_bmf, ratings_of_three()), "a")
  page <- drawn(plot(found))$pictures[[1]]
  expect_identical(page$table$name, found$item)
  expect_identical(page$table$centre, found$similarity)
  expect_identical(page$x$title, "similarity to item a")
  expect_identical(class(as.data.frame(found)), "data.frame")
  expect_gibbsite_error({
    plot(found[1:2, ])
    plot(found, n = 2)
  })
  skip_if_not_installed("ggplot2")
  expect_identical(ggplot2::autoplot(found)$data, page$table)
})
