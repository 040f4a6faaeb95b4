# Does a default call give an answer that can be trusted?
#
#   Rscript bench/answers.R [PATTERN] [SEEDS]
#   PATTERN  cases whose names match; default all.  SEEDS: default 10.
#
# Each case is a call with its defaults, for seeds 1, 2, ...  A case of which a
# call takes minutes has two seeds at most. Columns:
#
#   converged  fits for which converged() is TRUE
#   rhat       median over the fits of the largest R-hat
#   verdicts   what the other fits are said to be: short, slow (the chains mix
#              slowly), burnin, stuck
#   cured      of these, those that converge when the advice is followed once
#              (all but stuck; at most a minute more for each)
#   spread     largest difference between the mean of a quantity in one fit and
#              its mean over all fits, in standard errors of that difference,
#              over the fits that converged and the quantities of convergence()
#   seconds    median of a call
#   topics     of a topic model, how many topics are the same in all chains: the
#              least and the largest number over the fits
#
# 20 Newsgroups is newsgroups20_train.rds, a sparse matrix of documents x terms,
# in the folder GIBBSITE_BENCH_DATA; MovieLens-100k comes with recommenderlab,
# or from its source package. A case without its data is skipped.
#
# With an older gibbsite the columns verdicts, cured and topics are empty.
# mh_sample() has answers-mh.R, where the true moments are known.
suppressPackageStartupMessages(library(gibbsite))

arguments <- commandArgs(trailingOnly = TRUE)
pattern <- if (length(arguments) > 0L) arguments[[1L]] else "."
seeds <- if (length(arguments) > 1L) as.integer(arguments[[2L]]) else 10L
seeds <- seq_len(seeds)

self <- grep("^--file=", commandArgs(), value = TRUE)
here <- dirname(sub("^--file=", "", self))
source(file.path(here, "deps.R"))
source(file.path(here, "data.R"))

# ---- the cases ---------------------------------------------------------------

mixture <- function(x, k) {
  force(x)
  function(seed) gibbs_gmm(x, k, seed = seed, progress = FALSE)
}
topics <- function(x, k) {
  force(x)
  function(seed) gibbs_lda(x, k, seed = seed, progress = FALSE)
}
ratings <- function(x, rank) {
  force(x)
  function(seed) {
    gibbs_bmf(x, rank = rank, seed = seed, progress = FALSE)
  }
}

groups <- function(x, formula) {
  force(x)
  function(seed) gibbs_hlm(formula, x, seed = seed, progress = FALSE)
}

# A regression by another function.
fit_by <- function(fit, x, formula, ...) {
  force(x)
  function(seed) fit(formula, x, ..., seed = seed, progress = FALSE)
}

one_row_each <- function(x, count) x[rep(seq_len(nrow(x)), x[[count]]), ]

binary_groups <- function(x, formula) {
  force(x)
  function(seed) gibbs_logistic(formula, x, seed = seed, progress = FALSE)
}

# The items of R's news, without the words that are in most of them.
news_counts <- function() {
  items <- tolower(utils::news()$Text)
  words <- regmatches(items, gregexpr("[a-z]{4,}", items))
  tokens <- data.frame(
    document = rep(seq_along(words), lengths(words)), term = unlist(words)
  )
  spread <- table(unlist(lapply(words, unique)))
  tokens[spread[tokens$term] %in% 5:60, ]
}

schools <- function() {
  data.frame(
    effect = c(28, 8, -3, 7, -1, 1, 18, 12),
    se = c(15, 10, 16, 11, 9, 11, 10, 18), school = LETTERS[1:8]
  )
}

# name = list(data, call, seeds): the data are made when the case is run. Where
# there is a third element, it is the largest number of seeds.
cases <- list(
  "gmm faithful 2" = list(function() faithful, function(x) mixture(x, 2)),
  "gmm iris 3" = list(function() iris[, 1:4], function(x) mixture(x, 3)),
  "gmm galaxies 3" = list(galaxies, function(x) mixture(x, 3)),
  "gmm galaxies 4" = list(galaxies, function(x) mixture(x, 4)),
  "gmm galaxies 6" = list(galaxies, function(x) mixture(x, 6)),
  "gmm banknote 2" = list(
    function() columns_of("banknote", "mclust", -1),
    function(x) mixture(x, 2)
  ),
  "gmm crabs 4" = list(
    function() columns_of("crabs", "MASS", 4:8),
    function(x) mixture(x, 4)
  ),
  "gmm diabetes 3" = list(
    function() columns_of("diabetes", "mclust", -1),
    function(x) mixture(x, 3)
  ),
  "gmm thyroid 3" = list(
    function() columns_of("thyroid", "mclust", -1),
    function(x) mixture(x, 3)
  ),
  "gmm quakes 4" = list(
    function() quakes[, 1:3], function(x) mixture(x, 4)
  ),
  "gmm faithful 4" = list(function() faithful, function(x) mixture(x, 4)),
  "gmm xclara 4" = list(
    function() columns_of("xclara", "cluster", 1:2),
    function(x) mixture(x, 4)
  ),
  "gmm Boston 3" = list(
    function() columns_of("Boston", "MASS", c("lstat", "medv")),
    function(x) mixture(x, 3)
  ),
  "gmm swiss 2" = list(function() swiss[1:4], function(x) mixture(x, 2)),
  "gmm rock 2" = list(function() rock, function(x) mixture(x, 2)),
  "gmm trees 2" = list(function() trees, function(x) mixture(x, 2)),
  "gmm airquality 3" = list(
    function() stats::na.omit(airquality)[1:4], function(x) mixture(x, 3)
  ),
  "lda news 6" = list(news_counts, function(x) topics(x, 6)),
  "lda AssociatedPress 10" = list(
    function() data_of("AssociatedPress", "topicmodels"),
    function(x) topics(x, 10), 2L
  ),
  "lda AssociatedPress 20" = list(
    function() data_of("AssociatedPress", "topicmodels"),
    function(x) topics(x, 20), 2L
  ),
  "lda 20 Newsgroups 20" = list(newsgroups, function(x) topics(x, 20), 1L),
  "lda sim 5" = list(
    function() {
      set.seed(1)
      sim_lda(200, k = 5, terms = 400, tokens = 80)$x
    },
    function(x) topics(x, 5)
  ),
  "bmf InstEval 5" = list(insteval, function(x) ratings(x, 5)),
  "bmf InstEval 10" = list(insteval, function(x) ratings(x, 10)),
  "bmf MovieLens 10" = list(movielens, function(x) ratings(x, 10), 2L),
  "bmf sim 3" = list(
    function() {
      set.seed(1)
      sim_bmf(100, 60, 3, 0.3)
    },
    function(x) ratings(x, 3)
  ),
  "hlm sleepstudy" = list(
    function() data_of("sleepstudy", "lme4"),
    function(x) groups(x, Reaction ~ Days + (Days | Subject))
  ),
  "hlm Orthodont" = list(
    function() data_of("Orthodont", "nlme"),
    function(x) groups(x, distance ~ age * Sex + (age | Subject))
  ),
  "hlm MathAchieve" = list(
    function() data_of("MathAchieve", "nlme"),
    function(x) groups(x, MathAch ~ SES + (SES | School))
  ),
  "hlm Penicillin" = list(
    function() data_of("Penicillin", "lme4"),
    function(x) groups(x, diameter ~ plate + (1 | sample))
  ),
  "hlm Dyestuff" = list(
    function() data_of("Dyestuff", "lme4"),
    function(x) groups(x, Yield ~ 1 + (1 | Batch))
  ),
  "hlm Dyestuff2" = list(
    function() data_of("Dyestuff2", "lme4"),
    function(x) groups(x, Yield ~ 1 + (1 | Batch))
  ),
  "hlm Pastes" = list(
    function() data_of("Pastes", "lme4"),
    function(x) groups(x, strength ~ 1 + (1 | batch:cask))
  ),
  "hlm eight schools" = list(
    schools,
    function(x) {
      function(seed) {
        gibbs_hlm(
          effect ~ 1 + (1 | school), x, se = x$se, seed = seed, progress = FALSE
        )
      }
    }
  ),
  "hlm Oxboys" = list(
    function() data_of("Oxboys", "nlme"),
    function(x) groups(x, height ~ age + I(age^2) + (age + I(age^2) | Subject))
  ),
  "hlm Rail" = list(
    function() data_of("Rail", "nlme"),
    function(x) groups(x, travel ~ 1 + (1 | Rail))
  ),
  "hlm ChickWeight" = list(
    function() ChickWeight,
    function(x) groups(x, weight ~ Time * Diet + (Time | Chick))
  ),
  "hlm oats" = list(
    function() data_of("oats", "MASS"),
    function(x) groups(x, Y ~ V + N + (1 | B:V))
  ),
  "hlm InstEval" = list(
    function() data_of("InstEval", "lme4"),
    function(x) groups(x, y ~ 1 + (1 | s)), 2L
  ),
  "binary cbpp" = list(
    function() data_of("cbpp", "lme4"),
    function(x) {
      binary_groups(
        x, cbind(incidence, size - incidence) ~ period + (1 | herd)
      )
    }
  ),
  "binary bacteria" = list(
    function() data_of("bacteria", "MASS"),
    function(x) binary_groups(x, y ~ trt + week + (1 | ID))
  ),
  "binary epil" = list(
    function() data_of("epil", "MASS"),
    function(x) {
      binary_groups(x, (y > 4) ~ trt + lage + V4 + (1 + V4 | subject))
    }
  ),
  "binary sleepstudy" = list(
    function() data_of("sleepstudy", "lme4"),
    function(x) binary_groups(x, (Reaction > 300) ~ Days + (Days | Subject))
  ),
  "binary grouseticks" = list(
    function() data_of("grouseticks", "lme4"),
    function(x) {
      binary_groups(x, (TICKS > 0) ~ YEAR + scale(HEIGHT) + (1 | BROOD))
    }
  ),
  "binary VerbAgg" = list(
    function() data_of("VerbAgg", "lme4"),
    function(x) binary_groups(x, r2 ~ Anger + btype + situ + (1 | id))
  ),
  "binary items" = list(
    function() data_of("VerbAgg", "lme4"),
    function(x) binary_groups(x, r2 ~ Gender + (Gender | item))
  ),
  "binary admissions" = list(
    function() {
      x <- as.data.frame(datasets::UCBAdmissions)
      merge(
        x[x$Admit == "Admitted", -1], x[x$Admit == "Rejected", -1],
        by = c("Gender", "Dept"), suffixes = c(".yes", ".no")
      )
    },
    function(x) {
      binary_groups(x, cbind(Freq.yes, Freq.no) ~ Gender + (Gender | Dept))
    }
  ),
  "binary MathAchieve" = list(
    function() data_of("MathAchieve", "nlme"),
    function(x) binary_groups(x, (MathAch > 15) ~ SES + (SES | School))
  ),
  "binary esoph" = list(
    function() datasets::esoph,
    function(x) {
      binary_groups(
        x, cbind(ncases, ncontrols) ~ unclass(alcgp) + (1 | agegp)
      )
    }
  ),
  "binary InstEval" = list(
    function() data_of("InstEval", "lme4"),
    function(x) binary_groups(x, (y > 3) ~ service + (1 | s)), 2L
  ),
  "crossed Penicillin" = list(
    function() data_of("Penicillin", "lme4"),
    function(x) groups(x, diameter ~ 1 + (1 | plate) + (1 | sample))
  ),
  "crossed Pastes" = list(
    function() data_of("Pastes", "lme4"),
    function(x) groups(x, strength ~ 1 + (1 | batch / cask))
  ),
  "crossed Machines" = list(
    function() as.data.frame(data_of("Machines", "nlme")),
    function(x) groups(x, score ~ Machine + (1 | Worker / Machine))
  ),
  "crossed Oxide" = list(
    function() as.data.frame(data_of("Oxide", "nlme")),
    function(x) groups(x, Thickness ~ Source + (1 | Lot / Wafer))
  ),
  "crossed Pixel" = list(
    function() as.data.frame(data_of("Pixel", "nlme")),
    function(x) {
      groups(x, pixel ~ day + I(day^2) + (day | Dog) + (1 | Dog:Side))
    }
  ),
  "crossed oats" = list(
    function() data_of("oats", "MASS"),
    function(x) groups(x, Y ~ V + N + (1 | B / V))
  ),
  "crossed InstEval" = list(
    function() data_of("InstEval", "lme4"),
    function(x) groups(x, y ~ service + (1 | s) + (1 | d)), 2L
  ),
  "crossed VerbAgg" = list(
    function() data_of("VerbAgg", "lme4"),
    function(x) binary_groups(x, r2 ~ btype + (1 | id) + (1 | item)), 2L
  ),
  "counts epil" = list(
    function() data_of("epil", "MASS"),
    function(x) fit_by(gibbs_count, x, y ~ lbase * trt + lage + V4 + (1 | subject))
  ),
  "counts grouseticks" = list(
    function() data_of("grouseticks", "lme4"),
    function(x) {
      fit_by(gibbs_count, x, TICKS ~ YEAR + scale(HEIGHT) + (1 | BROOD) +
               (1 | LOCATION) + (1 | INDEX))
    }
  ),
  "counts quine" = list(
    function() data_of("quine", "MASS"),
    function(x) {
      fit_by(gibbs_count, x, Days ~ Eth * Sex * Age * Lrn, family = "negbinomial")
    }
  ),
  "counts InsectSprays" = list(
    function() InsectSprays, function(x) fit_by(gibbs_count, x, count ~ spray)
  ),
  "counts claims" = list(
    function() data_of("Insurance", "MASS"),
    function(x) {
      fit_by(gibbs_count, x,
             Claims ~ offset(log(Holders)) + Age + Group + (1 | District))
    }
  ),
  "ordered housing" = list(
    function() one_row_each(data_of("housing", "MASS"), "Freq"),
    function(x) fit_by(gibbs_ordinal, x, Sat ~ Infl + Type + Cont)
  ),
  "ordered VerbAgg" = list(
    function() data_of("VerbAgg", "lme4"),
    function(x) fit_by(gibbs_ordinal, x, resp ~ btype + (1 | id) + (1 | item)),
    2L
  ),
  "categories iris" = list(
    function() iris,
    function(x) fit_by(gibbs_categorical, x, Species ~ Sepal.Length + Sepal.Width)
  ),
  "categories housing" = list(
    function() one_row_each(data_of("housing", "MASS"), "Freq"),
    function(x) fit_by(gibbs_categorical, x, Type ~ Infl + Cont)
  ),
  "t stackloss" = list(
    function() stackloss,
    function(x) fit_by(gibbs_lm, x, stack.loss ~ ., errors = "t")
  ),
  "t Orthodont" = list(
    function() as.data.frame(data_of("Orthodont", "nlme")),
    function(x) {
      fit_by(gibbs_hlm, x, distance ~ age * Sex + (1 | Subject), errors = "t")
    }
  )
)

# ---- one case ----------------------------------------------------------------

quietly <- function(expr) suppressMessages(suppressWarnings(expr))

# Follows the printed advice once; NULL where it asks for more than a minute.
cured <- function(fit, cause) {
  if (cause$kind == "burnin") {
    fit <- window(fit, start = cause$start)
  }
  quick <- is.finite(cause$seconds) && cause$seconds <= 60
  if (cause$kind == "stuck" || !quick) {
    return(NULL)
  }
  if (cause$more > 0) {
    fit <- quietly(extend(fit, cause$more, progress = FALSE))
  }
  converged(fit)
}

kind_of <- function(cause) {
  if (is.null(cause)) "" else if (isTRUE(cause$slow)) "slow" else cause$kind
}

topics_of <- function(fit) {
  known <- exists("same_topics", asNamespace("gibbsite"))
  if (known && inherits(fit, "gibbs_lda")) gibbsite:::same_topics(fit) else NA
}

one_fit <- function(call, seed) {
  seconds <- system.time(fit <- quietly(call(seed)))[["elapsed"]]
  table <- convergence(fit)
  cause <- attr(table, "cause")
  invariants <- as.data.frame(table)$variable
  draws <- gibbsite:::fit_invariants(fit)
  mcse <- vapply(seq_along(invariants), function(v) {
    quietly(posterior::mcse_mean(matrix(draws[, , v], dim(draws)[1])))
  }, 0)
  list(
    converged = converged(fit), rhat = max(table$rhat, na.rm = TRUE),
    seconds = seconds, kind = kind_of(cause),
    cured = if (!is.null(cause)) cured(fit, cause), topics = topics_of(fit),
    mean = apply(draws, 3L, mean), mcse = mcse
  )
}

spread_of <- function(fits) {
  if (length(fits) < 2L) {
    return(NA)
  }
  means <- vapply(fits, `[[`, fits[[1L]]$mean, "mean")
  errors <- vapply(fits, `[[`, fits[[1L]]$mcse, "mcse")
  means <- matrix(means, ncol = length(fits))
  errors <- matrix(errors, ncol = length(fits))
  n <- length(fits)
  z <- abs(means - rowMeans(means)) /
    sqrt(errors^2 * (1 - 2 / n) + rowSums(errors^2) / n^2)
  max(z[is.finite(z)])
}

run_case <- function(name) {
  data <- cases[[name]][[1L]]()
  if (is.null(data)) {
    return(invisible())
  }
  call <- cases[[name]][[2L]](data)
  most <- c(cases[[name]][-(1:2)], Inf)[[1L]]
  fits <- lapply(seeds[seeds <= most], function(seed) one_fit(call, seed))
  of <- function(part, value) vapply(fits, `[[`, value, part)
  good <- of("converged", NA)
  kinds <- table(of("kind", "")[!good])
  told <- paste(names(kinds), kinds, collapse = ", ")
  tried <- unlist(lapply(fits, `[[`, "cured"))
  same <- range(of("topics", 0))
  cat(sprintf(
    "%-24s %3d of %-3d %7.3f  %-24s %-8s %6.1f %8.1f %s\n", name, sum(good),
    length(good), stats::median(of("rhat", 0)), told,
    if (length(tried) > 0L) paste(sum(tried), "of", length(tried)) else "",
    spread_of(fits[good]), stats::median(of("seconds", 0)),
    if (anyNA(same)) "" else paste0(same[[1L]], "-", same[[2L]])
  ))
}

cat(
  "gibbsite ", format(utils::packageVersion("gibbsite")), ", ",
  R.version.string, ", seeds 1 to ", max(seeds), "\n\n",
  sprintf(
    "%-24s %-10s %7s  %-24s %-8s %6s %8s %s\n", "", "converged", "rhat",
    "verdicts", "cured", "spread", "seconds", "topics"
  ),
  sep = ""
)
for (name in grep(pattern, names(cases), value = TRUE)) run_case(name)
