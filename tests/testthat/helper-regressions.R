# A short fit of each response with groups.

grouped_fits <- function() {
  cars <- transform(datasets::mtcars, cyl = factor(cyl), gear = factor(gear))
  of <- function(f, ...) {
    quietly(f(..., cars, draws = 60, burnin = 60, chains = 2, seed = 1,
              progress = FALSE))
  }
  list(
    normal = of(gibbs_hlm, mpg ~ wt + (1 + wt | cyl)),
    crossed = of(gibbs_hlm, mpg ~ wt + (1 | cyl) + (0 + wt | gear)),
    logit = of(gibbs_logistic, am ~ wt + (1 | cyl)),
    logits = of(gibbs_logistic, am ~ wt + (1 | cyl) + (1 | gear)),
    count = of(gibbs_count, carb ~ wt + (1 | cyl)),
    ordered = of(gibbs_ordinal, ordered(gear) ~ wt + (1 | cyl)),
    two = of(gibbs_categorical, factor(am) ~ wt + (1 | cyl)),
    three = of(gibbs_categorical, factor(gear) ~ wt + (1 + wt | cyl)),
    t = quietly(gibbs_hlm(
      mpg ~ wt + (1 | cyl), cars, errors = "t", draws = 60, burnin = 60,
      chains = 2, seed = 1, progress = FALSE
    ))
  )
}
