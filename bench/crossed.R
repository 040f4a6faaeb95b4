# Several grouping factors: gibbs_hlm(), gibbs_logistic() with the probit link
# and gibbs_count(), beside MCMCglmm, rstanarm and lme4.
#
#   Rscript bench/crossed.R [REGEX]     default: all
#   Rscript bench/crossed.R seeds [REGEX]
#
# REGEX chooses data sets by name. For each data set: seconds of lmer() or
# glmer() (a point estimate); of our default call, with whether it converged;
# the standard deviations of both, of groups and errors (estimate / posterior
# mean); and effective draws a second of processor time of the worst of the
# fixed effects and standard deviations, ours, of MCMCglmm and of rstanarm
# (2,000 iterations, given up after ten minutes), one chain and one thread each.
# At last (`growth`), milliseconds of a sweep and the smallest effective size of
# 510 draws as rows are added to a simulated design, and (`million`) the default
# call for a million rows. With `seeds` instead: of 20 default calls, how many
# converged, the median seconds of one, the standard deviations of the first, and
# the largest range of these over the calls; also on data sets of one factor.
suppressPackageStartupMessages({
  library(gibbsite)
  library(lme4)
})
arguments <- commandArgs(trailingOnly = TRUE)
seeded <- "seeds" %in% arguments
chosen <- c(setdiff(arguments, "seeds"), "")[[1L]]

quietly <- function(code) suppressMessages(suppressWarnings(code))
seconds <- function(code) {
  sum(system.time(code)[c("user.self", "sys.self", "user.child", "sys.child")])
}
worst <- function(draws) {
  min(apply(draws, 2L, function(v) posterior::ess_bulk(matrix(v))))
}

# Pupils over ten years, of whom one in twenty changes the school.
movers <- function(pupils = 1000, schools = 50, years = 10) {
  set.seed(1)
  school <- matrix(sample(schools, pupils, TRUE), pupils, years)
  for (i in which(stats::runif(pupils) < 0.05)) {
    school[i, sample(2:years, 1):years] <- sample(schools, 1)
  }
  d <- data.frame(
    pupil = factor(rep(seq_len(pupils), years)),
    school = factor(c(school)), year = rep(seq_len(years), each = pupils)
  )
  d$score <- d$year + stats::rnorm(pupils)[d$pupil] +
    stats::rnorm(schools)[d$school] + stats::rnorm(nrow(d), 0, 0.5)
  d
}
machines <- nlme::Machines
machines$Worker <- factor(as.character(machines$Worker))
sets <- list(
  InstEval = list(y ~ service + (1 | s) + (1 | d), InstEval, 1000),
  Penicillin = list(
    diameter ~ 1 + (1 | plate) + (1 | sample), Penicillin, 10000
  ),
  Pastes = list(strength ~ 1 + (1 | batch / cask), Pastes, 10000),
  Machines = list(
    score ~ Machine + (1 | Worker / Machine), machines, 10000
  ),
  movers = list(
    score ~ year + (1 | pupil) + (1 | school), movers(), 1000
  ),
  VerbAgg = list(
    r2 ~ btype + (1 | id) + (1 | item), VerbAgg, 1000, family = "probit"
  ),
  # the factor INDEX has a level for each row: the residual of MCMCglmm
  grouseticks = list(
    TICKS ~ YEAR + scale(HEIGHT) + (1 | BROOD) + (1 | LOCATION) + (1 | INDEX),
    grouseticks, 10000, family = "poisson"
  )
)

family_of <- function(set) c(set$family, "gaussian")[[1L]]
fit_set <- function(set, ...) {
  fit <- switch(family_of(set),
    probit = function(...) gibbs_logistic(..., link = "probit"),
    logit = gibbs_logistic,
    poisson = function(...) gibbs_count(..., family = "poisson"),
    gibbs_hlm
  )
  quietly(fit(set[[1L]], set[[2L]], ..., progress = FALSE))
}
point_of <- function(set) {
  switch(family_of(set),
    probit = glmer(set[[1L]], set[[2L]], stats::binomial("probit")),
    logit = glmer(set[[1L]], set[[2L]], stats::binomial),
    poisson = glmer(set[[1L]], set[[2L]], stats::poisson()),
    lmer(set[[1L]], set[[2L]])
  )
}

ours <- function(set) {
  time <- seconds(fit <- fit_set(
    set, draws = set[[3L]], burnin = 200, chains = 1, seed = 1
  ))
  draws <- unclass(fit[[1L]])
  if (identical(set, sets$movers)) {
    each <- apply(draws[, grep("^u\\[", colnames(draws))], 2L, function(v) {
      posterior::ess_bulk(matrix(v))
    })
    cat(sprintf(
      "movers      effective of %d draws of deviations: worst %.0f, median %.0f\n",
      nrow(draws), min(each), stats::median(each)
    ))
  }
  columns <- grep("^(log_lik$|u\\[|cor\\[)", colnames(draws), invert = TRUE)
  worst(draws[, columns, drop = FALSE]) / time
}

# The same groups as independent effects, with parameter-expanded priors.
theirs <- function(set) {
  form <- set[[1L]]
  bars <- setdiff(names(attr(
    fit_set(set, draws = 2, burnin = 0, chains = 1), "model"
  )$levels), "INDEX")
  data <- set[[2L]]
  random <- vapply(bars, function(bar) {
    parts <- strsplit(bar, ":")[[1L]]
    name <- paste(parts, collapse = "_")
    data[[name]] <<- do.call(interaction, c(data[parts], drop = TRUE))
    name
  }, "")
  g <- rep(list(list(V = 1, nu = 1, alpha.mu = 0, alpha.V = 1000)), length(bars))
  names(g) <- paste0("G", seq_along(g))
  fixed <- lme4::nobars(form)
  draws <- min(set[[3L]], 300 + 9700 * (nrow(data) < 1e4))
  time <- seconds(fit <- quietly(MCMCglmm::MCMCglmm(
    fixed, stats::as.formula(paste("~", paste(random, collapse = " + "))),
    data = data, nitt = draws + 100, burnin = 100, thin = 1, verbose = FALSE,
    family = switch(family_of(set), probit = "threshold", family_of(set)),
    prior = list(G = g, R = if (family_of(set) == "probit") {
      list(V = 1, fix = 1)
    } else {
      list(V = 1, nu = 0.002)
    })
  )))
  draws <- cbind(as.matrix(fit$Sol), sqrt(as.matrix(fit$VCV)))
  worst(draws[, apply(draws, 2L, stats::sd) > 0]) / time
}

# NULL if it takes more than ten minutes.
by_stan <- function(set) {
  family <- switch(family_of(set),
    probit = stats::binomial("probit"), poisson = stats::poisson(),
    stats::gaussian()
  )
  on.exit(setTimeLimit())
  time <- seconds(fit <- tryCatch({
    setTimeLimit(elapsed = 600, transient = TRUE)
    quietly(rstanarm::stan_glmer(
      set[[1L]], set[[2L]], family, chains = 1, iter = 2000, seed = 1, cores = 1,
      refresh = 0
    ))
  }, error = function(e) NULL))
  if (is.null(fit)) return(NULL)
  draws <- as.matrix(fit)
  draws <- draws[, grep("^b\\[", colnames(draws), invert = TRUE), drop = FALSE]
  worst(draws) / time
}

# "group term estimate / posterior mean" of each standard deviation.
both_deviations <- function(model, fit) {
  key <- function(group, term) {
    group <- vapply(strsplit(group, ":"), function(x) {
      paste(sort(x), collapse = ":")
    }, "")
    paste(group, ifelse(is.na(term), "Observation", term))
  }
  own <- tidy(fit, effects = "ran_pars")
  own <- own[startsWith(own$term, "sd__"), ]
  theirs <- as.data.frame(VarCorr(model))
  theirs <- theirs[is.na(theirs$var2), ]
  term <- sub("^sd__", "", own$term)
  at <- match(key(own$group, term), key(theirs$grp, theirs$var1))
  paste(sprintf(
    "%s %s %.3f / %.3f", own$group, term, theirs$sdcor[at], own$estimate
  ), collapse = ", ")
}

if (seeded) {
  sets <- c(sets, list(
    sleepstudy = list(Reaction ~ Days + (1 + Days | Subject), sleepstudy),
    Oxide = list(Thickness ~ 1 + (1 | Lot / Wafer), as.data.frame(nlme::Oxide)),
    cake = list(
      angle ~ recipe * temperature + (1 | replicate) + (1 | recipe:replicate),
      cake
    ),
    cbpp = list(
      cbind(incidence, size - incidence) ~ period + (1 | herd), cbpp,
      family = "logit"
    ),
    bacteria = list(
      y ~ trt + week + (1 | ID), MASS::bacteria, family = "logit"
    ),
    epil = list(
      y ~ trt * log(base) + log(age) + V4 + (1 | subject) + (1 | row),
      transform(MASS::epil, row = factor(seq_along(y))), family = "poisson"
    )
  ))
  for (name in grep(chosen, names(sets), value = TRUE)) {
    set <- sets[[name]]
    model <- quietly(point_of(set))
    runs <- lapply(1:20, function(seed) {
      time <- seconds(fit <- fit_set(set, seed = seed))
      own <- tidy(fit, effects = "ran_pars")
      list(
        time = time, converged = converged(fit),
        sd = own$estimate[startsWith(own$term, "sd__")],
        words = both_deviations(model, fit)
      )
    })
    sds <- do.call(rbind, lapply(runs, `[[`, "sd"))
    spread <- apply(sds, 2L, function(x) diff(range(x)) / mean(x))
    cat(sprintf(
      "%-11s %d of 20 converged, median %.2f s; largest range %.3f; seed 1: %s\n",
      name, sum(vapply(runs, `[[`, NA, "converged")),
      stats::median(vapply(runs, `[[`, 0, "time")), max(spread),
      runs[[1L]]$words
    ))
  }
  quit()
}

# R compiles a function when it is called for the third time
for (i in 1:3) fit_set(sets$Penicillin, draws = 10, burnin = 5, chains = 1)

for (name in grep(chosen, names(sets), value = TRUE)) {
  set <- sets[[name]]
  point <- seconds(model <- quietly(point_of(set)))
  time <- seconds(fit <- fit_set(set, seed = 1))
  cat(sprintf(
    "%-11s lme4 %6.2f s; gibbsite %6.2f s, %s\n", name, point, time,
    if (converged(fit)) "converged" else "not converged"
  ))
  cat(sprintf(
    "%-11s standard deviations: %s\n", name, both_deviations(model, fit)
  ))
  rate <- ours(set)
  cat(sprintf("%-11s effective draws a second: gibbsite %.0f", name, rate))
  if (requireNamespace("MCMCglmm", quietly = TRUE)) {
    other <- theirs(set)
    cat(sprintf(", MCMCglmm %.1f, ratio %.1f", other, rate / other))
  }
  if (requireNamespace("rstanarm", quietly = TRUE)) {
    other <- by_stan(set)
    cat(if (is.null(other)) {
      ", rstanarm more than ten minutes"
    } else {
      sprintf(", rstanarm %.1f, ratio %.1f", other, rate / other)
    })
  }
  cat("\n")
}

simulated <- function(n, groups) {
  set.seed(1)
  a <- sample(groups, n, TRUE)
  b <- sample(groups, n, TRUE)
  data.frame(
    y = stats::rnorm(groups)[a] + stats::rnorm(groups)[b] + stats::rnorm(n),
    a = factor(a), b = factor(b)
  )
}
if (grepl(chosen, "million")) {
  data <- simulated(1e6, 1e4)
  time <- system.time(fit <- quietly(gibbs_hlm(
    y ~ 1 + (1 | a) + (1 | b), data, seed = 1, progress = FALSE
  )))[["elapsed"]]
  cat(sprintf(
    "million: 1e6 rows, 2 x 10,000 groups: %.0f s of the clock, %s\n", time,
    if (converged(fit)) "converged" else "not converged"
  ))
}
for (n in c(1e4, 1e5, 1e6)[grepl(chosen, "growth")]) {
  data <- simulated(n, n / 100)
  run <- function(draws) {
    quietly(gibbs_hlm(
      y ~ 1 + (1 | a) + (1 | b), data, draws = draws, burnin = 100, chains = 1,
      seed = 1, progress = FALSE
    ))
  }
  short <- seconds(run(10))
  long <- seconds(fit <- run(510))
  columns <- c("(Intercept)", "sd[1,1]", "sd[2,1]", "sigma")
  cat(sprintf(
    "growth: %.0e rows, 2 x %.0f groups: %.2f ms a sweep, effective %.0f of 510\n",
    n, n / 100, 1000 * (long - short) / 500,
    worst(unclass(fit[[1L]])[, columns])
  ))
}
