# Likes alone and counts of users by items.

likes <- data.frame(
  user = c("ann", "ann", "bob", "bob", "cid", "cid"),
  item = c("tea", "jam", "tea", "rum", "jam", "tea")
)
fit <- suppressWarnings(gibbs_pmf(likes, 2, draws = 40, burnin = 40, chains = 2,
                                  seed = 1, progress = FALSE))

right("likes alone are a table of users and items", inherits(fit, "gibbs_pmf"))
right("what a user has is not recommended", {
  all(recommend(fit, "ann")$item == "rum")
})
refused("a missing count is no count", {
  gibbs_pmf(cbind(likes, count = c(1, NA)))
}, says = "missing counts")
refused("ratings of half stars are no counts", {
  gibbs_pmf(cbind(likes, count = 1.5))
}, says = "whole numbers")
told("counts under another name are asked for", {
  suppressWarnings(gibbs_pmf(cbind(likes, plays = 2), 1, draws = 10,
                             burnin = 0, seed = 1, progress = FALSE))
}, says = "Name another column")
right("a new user with likes has recommendations", {
  nrow(recommend(fold_in(fit, data.frame(user = "dan", item = "tea")))) == 2
})
right("similar items are others, with intervals", {
  near <- similar_items(fit, "tea")
  nrow(near) == 2 && all(near$lower <= near$upper)
})
refused("ratings on a scale need to say what is liked", {
  rank_measures(suppressWarnings(gibbs_bmf(
    cbind(likes, value = 1:6), 1, draws = 10, burnin = 0, seed = 1,
    progress = FALSE
  )), data.frame(user = "ann", item = "rum", value = 5))
}, says = "at_least")
