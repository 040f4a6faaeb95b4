# Fits of several completed data sets as one.

set.seed(1)
air <- airquality[!is.na(airquality$Ozone), ]
lost <- is.na(air$Solar.R)
guess <- gibbs_lm(Solar.R ~ Ozone + Temp, air[!lost, ], lm_prior("nig"),
  draws = 100, seed = 1
)
drawn <- posterior_predict(guess, air[lost, ], ndraws = 5)
sets <- lapply(1:5, function(m) {
  transform(air, Solar.R = replace(Solar.R, lost, drawn[m, ]))
})
fits <- lapply(sets, gibbs_lm,
  formula = Ozone ~ Solar.R + Temp, prior = lm_prior("nig"), draws = 500,
  seed = 1
)
fit <- combine_fits(fits, data = "imputed")

refused("missing predictors", gibbs_lm(Ozone ~ Solar.R, air, seed = 1),
        "impute the values several times.*combine_fits")
refused("fits of completed data sets without the argument", combine_fits(fits),
        "data = \"imputed\"")
right("means are averages", all.equal(
  coef(fit), rowMeans(vapply(fits, coef, coef(fit)))
))
right("it has converged where each has", converged(fit))
told("print() tells of the data sets", print(fit),
     "5 completed data sets.*within each.*missing information")
right("predictions of new data", all.equal(
  predict(fit, air[1:3, ]), rowMeans(vapply(fits, predict, 1:3 + 0, air[1:3, ]))
))
right("observed rows", identical(
  dim(posterior_predict(fit)), c(5L * ndraws(fits[[1]]), nrow(air))
))
right("mice's with()", identical_fit(
  combine_fits(structure(list(analyses = fits), class = "mira")), fit
))
right("a saved fit", {
  path <- tempfile()
  saveRDS(fit, path)
  identical_fit(fit, readRDS(path))
})
refused("loo()", loo::loo(fit), "of different data")
refused("extend()", extend(fit, 10), "single data sets")
refused("another formula", combine_fits(
  fits[[1]], gibbs_lm(Ozone ~ Temp, sets[[2]], draws = 500, seed = 1),
  data = "imputed"
), "differ in formula")
refused("another link", {
  rain <- lapply(sets[1:2], transform, high = Ozone > 40)
  suppressWarnings(combine_fits(
    gibbs_logistic(high ~ Temp, rain[[1]], draws = 50, seed = 1),
    gibbs_logistic(high ~ Temp, rain[[2]], link = "probit", draws = 50,
                   seed = 1),
    data = "imputed"
  ))
}, "differ in link")
refused("an offset of one fit alone", suppressWarnings(combine_fits(
  gibbs_lm(Ozone ~ Temp, sets[[1]], draws = 50, seed = 1),
  gibbs_lm(Ozone ~ Temp, sets[[2]], offset = Wind, draws = 50, seed = 1),
  data = "imputed"
)), "differ in arguments")
