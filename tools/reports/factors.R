# Successes with several grouping factors.

data(VerbAgg, package = "lme4")
answers <- droplevels(VerbAgg[VerbAgg$id %in% levels(VerbAgg$id)[1:25], ])
answers$yes <- answers$r2 == "Y"
few <- function(formula, data = answers, ...) {
  suppressMessages(suppressWarnings(gibbs_logistic(
    formula, data, ..., draws = 150, burnin = 100, chains = 2, seed = 1,
    progress = FALSE
  )))
}
rasch <- few(r2 ~ btype + (1 | id) + (1 | item))

right("the Rasch model has effects of people and of items", {
  effects <- nlme::ranef(rasch)
  identical(names(effects), c("id", "item")) && nrow(effects$item) == 24L
})
right("easy items have high estimates", {
  share <- tapply(answers$yes, answers$item, mean)
  kind <- answers$btype[match(names(share), answers$item)]
  by_kind <- nlme::fixef(rasch)[c(NA, "btypescold", "btypeshout")]
  by_kind[[1]] <- 0
  cor(qlogis(share), coef(rasch)$item[, 1] + by_kind[kind]) > 0.95
})
right("(1 | a/b) is (1 | a) + (1 | a:b)", identical(
  as.matrix(few(yes ~ btype + (1 | situ / btype))),
  as.matrix(few(yes ~ btype + (1 | situ) + (1 | situ:btype)))
))
right("bars with independent terms have no correlation", {
  fit <- few(yes ~ Anger + (1 | id) + (mode || item))
  !any(grepl("^cor", colnames(as.matrix(fit))))
})
right("a new person answers a known item, and a known person a new one", {
  new <- answers[c(1, 30, 60), ]
  new$id <- factor(c("new", levels(new$id)[1:2]))
  new$item <- factor(c("S1WantCurse", "other", "other"))
  p <- predict(rasch, new, "response", allow_new_levels = TRUE)
  length(p) == 3L && all(p > 0 & p < 1)
})
refused("new people are not predicted unasked",
        predict(rasch, transform(answers[1, ], id = "new")),
        says = "id.*allow_new_levels")
refused("groups of one factor are not independent",
        log_lik(rasch, by = "group"), says = "grouping factors")
right("priors of the factors by name", {
  fit <- few(r2 ~ 1 + (1 | id) + (1 | item),
             prior = logistic_prior(group_scale = list(id = 1)))
  scale <- prior_summary(fit)$group_scale
  scale$id[[1]] == 1 && scale$item[[1]] == 2.5
})
refused("a prior of a factor that is not there",
        few(r2 ~ 1 + (1 | id) + (1 | item),
            prior = logistic_prior(group_scale = list(person = 1))),
        says = "person.*no grouping factor")
told("factors with the same groups are named", {
  again <- transform(answers, who = paste("person", id))
  suppressWarnings(gibbs_logistic(
    r2 ~ 1 + (1 | id) + (1 | who), again, draws = 20, burnin = 5, chains = 1,
    seed = 1, progress = FALSE
  ))
}, says = "id.*who.*same")
refused("a sum of factors in one bar", few(r2 ~ 1 + (1 | id + item)),
        says = "bars of their own")
right("probit, weights and an offset", {
  own <- transform(answers, v = rep_len(0:2, nrow(answers)), o = 0.1)
  fit <- suppressWarnings(gibbs_logistic(
    yes ~ btype + (1 | id) + (1 | item), own, weights = v, offset = o,
    link = "probit", draws = 20, burnin = 5, chains = 1, seed = 1,
    progress = FALSE
  ))
  nobs(fit) == sum(own$v > 0) && all(own$v[1:3] == 0:2)
})
right("update() leaves a factor out", {
  fit <- update(rasch, . ~ . - (1 | item), data = answers)
  identical(attr(fit, "model")$levels, levels(answers$id))
})
right("a checkpoint has the run", {
  path <- tempfile()
  whole <- few(yes ~ 1 + (1 | id) + (1 | item), checkpoint = path)
  identical_fit(resume(path, progress = FALSE), whole)
})
