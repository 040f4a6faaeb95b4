# What a user waits for around a chain: printing, summaries, pictures and
# predictions of fits that are made already.
#
#   Rscript bench/around.R [REGEX] [LIBRARY]     default: all; three minutes
#
# REGEX chooses lines by name. LIBRARY is another folder with gibbsite, for the
# times of another build. Processor seconds, each of one call after a first one
# (of `library` a new session with R itself; of searches and predictions the
# first call), beside the budget in seconds; tables of 1e5 rows are not printed.
# A busy machine shows larger figures.
arguments <- commandArgs(trailingOnly = TRUE)
chosen <- if (length(arguments) > 0L) arguments[[1L]] else ""
if (length(arguments) > 1L) .libPaths(c(arguments[[2L]], .libPaths()))
suppressPackageStartupMessages(library(gibbsite))

quietly <- function(code) suppressMessages(suppressWarnings(code))
processor <- function(code) {
  sum(system.time(code)[c("user.self", "sys.self", "user.child", "sys.child")])
}
line <- function(name, budget, code, first = FALSE) {
  if (!grepl(chosen, name)) return(invisible())
  call <- substitute(code)
  run <- function() {
    processor(quietly(utils::capture.output(eval(call, parent.frame(2L)))))
  }
  seconds <- tryCatch({
    if (!first) run()
    run()
  }, error = function(e) conditionMessage(e))
  cat(sprintf("%-48s %8s %8.2f\n", name,
              if (is.numeric(seconds)) sprintf("%.2f", seconds) else seconds,
              budget))
}
fixed <- function(f, ...) {
  quietly(f(..., seed = 1, progress = FALSE))
}
grDevices::pdf(NULL)
cat(sprintf("%-48s %8s %8s\n", "", "seconds", "budget"))

# ---- the session and short fits ----------------------------------------------

line("library", 0.5, {
  system2(
    file.path(R.home("bin"), "Rscript"),
    c("-e", shQuote("suppressPackageStartupMessages(library(gibbsite))")),
    env = paste0("R_LIBS=", paste(.libPaths(), collapse = ":"))
  )
})
line("default call: lm", 0.06, fixed(gibbs_lm, dist ~ speed, cars))
line("default call: gmm faithful 2", 0.3, fixed(gibbs_gmm, faithful, 2))
line("default call: gmm iris 3", 0.3, fixed(gibbs_gmm, iris[1:4], 3))

# ---- a long fit: 4 x 4,000 x 200 ---------------------------------------------

wide <- local({
  set.seed(1)
  x <- matrix(rnorm(400 * 198), 400)
  data.frame(y = rnorm(400) + x[, 1], x)
})
if (grepl("long", chosen) || chosen == "") {
  long <- fixed(gibbs_lm, y ~ ., wide, prior = lm_prior("horseshoe"),
                draws = 4000, burnin = 100)
}
line("long: print", 0.05, print(long))
line("long: summary", 1, summary(long), first = TRUE)
line("long: tidy", 1, tidy(long))
line("long: plot", 1, plot(long))
line("long: plot trace", 1, plot(long, type = "trace"))

# ---- groups ------------------------------------------------------------------

grouped <- local({
  set.seed(2)
  g <- rep(seq_len(1500), each = 4)
  x <- rnorm(6000)
  data.frame(g, x, y = rnorm(1500)[g] + x + rnorm(6000))
})
if (grepl("groups", chosen) || chosen == "") {
  groups <- fixed(gibbs_hlm, y ~ x + (1 + x | g), grouped, draws = 500)
}
line("groups of 1,500: print", 0.05, print(groups))
line("groups of 1,500: plot", 1, plot(groups))

# ---- regressions -------------------------------------------------------------

large <- wide[sample(400, 1e5, TRUE), 1:11]
if (grepl("regression", chosen) || chosen == "") {
  regression <- fixed(gibbs_lm, y ~ ., wide[1:11])
  logistic <- fixed(gibbs_logistic, I(y > 0) ~ ., wide[1:11])
}
line("regression: plot", 1, plot(regression))
line("regression: predict 1e5 rows", 1,
     invisible(predict(regression, large)), TRUE)
line("regression: interval of 1e5 rows", 1,
     invisible(predict(regression, large, interval = "mean")), TRUE)
line("regression: predictions of 1e5 rows", 3,
     invisible(predict(regression, large, interval = "prediction")), TRUE)
line("regression: logistic, predict 1e5 rows", 1,
     invisible(predict(logistic, large)), TRUE)
line("regression: logistic, interval of 1e5 rows", 3,
     invisible(predict(logistic, large, type = "response", interval = "mean")),
     TRUE)

# ---- predictions of new counts and of responses with t errors ----------------

if (grepl("new", chosen) || chosen == "") {
  some <- withr::with_seed(7, data.frame(x = rnorm(2000), g = gl(20, 100)))
  some <- withr::with_seed(8, transform(
    some, count = rpois(2000, exp(1 + 0.3 * x)), y = 1 + x + rt(2000, 4)
  ))
  counts <- fixed(gibbs_count, count ~ x, some)
  by_group <- fixed(gibbs_count, count ~ x + (1 | g), some, draws = 500)
  heavy <- fixed(gibbs_lm, y ~ x, some[1:300, ], errors = "t")
}
line("new: 2,000 counts", 0.5, invisible(predict(
  counts, some, type = "response", interval = "prediction"
)), TRUE)
line("new: 100 counts with groups", 0.5, invisible(predict(
  by_group, some[1:100, ], type = "response", interval = "prediction"
)), TRUE)
line("new: 300 responses with t errors", 0.5, invisible(predict(
  heavy, some[1:300, ], interval = "prediction"
)), TRUE)

# ---- ratings -----------------------------------------------------------------

if (grepl("ratings", chosen) || chosen == "") {
  made <- withr::with_seed(3, sim_bmf(800, 1000, rank = 5, share = 0.025))
  ratings <- fixed(gibbs_bmf, made, rank = 5, draws = 1000)
  users <- unique(made$user)
  items <- unique(made$item)
  pairs <- withr::with_seed(4, data.frame(
    user = sample(users, 1e5, TRUE), item = sample(items, 1e5, TRUE)
  ))
}
line("ratings: print", 0.05, print(ratings))
line("ratings: predict 1e5 pairs", 2, invisible(predict(ratings, pairs)), TRUE)
line("ratings: 1e5 pairs with intervals", 2,
     invisible(predict(ratings, pairs, interval = "prediction")), TRUE)
line("ratings: recommend for a user", 0.05, recommend(ratings, users[[1L]]))
line("ratings: plot", 1, plot(ratings))

# ---- mixtures and topics -----------------------------------------------------

if (grepl("mixture", chosen) || chosen == "") {
  rows <- withr::with_seed(5, sim_gmm(
    2000, c(0.3, 0.3, 0.4), rbind(c(0, 0), c(4, 1), c(-3, 4)), diag(2)
  ))
  mixture <- fixed(gibbs_gmm, rows, 3, draws = 1000, keep = "z")
}
line("mixture: print", 0.05, print(mixture))
line("mixture: plot", 1, plot(mixture))
line("mixture: coclustering 2,000 x 4,000", 1, invisible(coclustering(mixture)),
     TRUE)

# ---- densities ---------------------------------------------------------------

quadratic <- function(d) {
  scale <- seq_len(d)
  function(x) -sum((x / scale)^2) / 2 - sum(x^4) / 100
}
line("density: laplace of 50 parameters", 5,
     laplace(quadratic(50), stats::setNames(rep(1, 50), paste0("a", 1:50)),
             seed = 1, progress = FALSE), TRUE)
line("density: 5e5 draws by inversion", 1, invisible(
  sample_inverse_cdf(5e5, cdf = function(x) stats::pgamma(x, 2), lower = 0)
), TRUE)
