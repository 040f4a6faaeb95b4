# What a user waits for in eight ordinary tasks, from the call to the answer.
#
#   Rscript bench/tasks.R [PATTERN]     tasks whose names match; default all
#
# Each task is a default call with seed 1, and then what is done with a fit: it
# is printed, summarised, drawn, and asked for its answer. Columns: seconds of
# the clock of the call and of all the rest, seconds of the processor of both,
# megabytes of the fit, and what print() says of convergence. The first call of
# a session also compiles the functions that it uses; it is not counted. Tasks
# whose data are not at hand are skipped.
suppressPackageStartupMessages(library(gibbsite))

arguments <- commandArgs(trailingOnly = TRUE)
pattern <- c(arguments, ".")[[1L]]
quietly <- function(code) suppressMessages(suppressWarnings(code))
self <- grep("^--file=", commandArgs(), value = TRUE)
source(file.path(dirname(sub("^--file=", "", self)), "data.R"))

instructors <- function() {
  x <- lme4::InstEval
  x <- x[x$s %in% utils::head(levels(x$s), 800L), c("s", "d", "y")]
  stats::setNames(droplevels(x), c("user", "item", "value"))
}

# documents x terms, without the packages that the data come with
press <- function() {
  x <- data_of("AssociatedPress", "topicmodels")
  if (is.null(x)) {
    return(NULL)
  }
  Matrix::sparseMatrix(
    x$i, x$j, x = as.double(x$v), dims = c(x$nrow, x$ncol),
    dimnames = list(NULL, x$dimnames$Terms)
  )[1:500, ]
}

tasks <- list(
  "groups of flowers" = list(
    function() iris[1:4], function(x) gibbs_gmm(x, 3, seed = 1),
    function(fit, x) predict(fit, x, type = "prob")
  ),
  "number of groups" = list(
    function() faithful,
    function(x) gibbs_gmm(x, "unknown", seed = 1),
    function(fit, x) posterior_k(fit)
  ),
  "growth by subject" = list(
    function() lme4::sleepstudy,
    function(x) gibbs_hlm(Reaction ~ Days + (1 + Days | Subject), x, seed = 1),
    function(fit, x) predict(fit, x, interval = "prediction")
  ),
  "risks of low weight" = list(
    function() transform(MASS::birthwt, race = factor(race)),
    function(x) gibbs_logistic(low ~ age + lwt + race + smoke, x, seed = 1),
    function(fit, x) tidy(fit, exponentiate = TRUE)
  ),
  "lecturers and students" = list(
    function() lme4::InstEval,
    function(x) gibbs_hlm(y ~ service + (1 | s) + (1 | d), x, seed = 1),
    function(fit, x) nlme::ranef(fit)
  ),
  "counts of seizures" = list(
    function() MASS::epil,
    function(x) {
      gibbs_count(y ~ lbase * trt + lage + V4 + (1 | subject), x, seed = 1)
    },
    function(fit, x) predict(fit, x, type = "response", interval = "mean")
  ),
  "themes of the news" = list(
    press, function(x) gibbs_lda(x, 10, seed = 1),
    function(fit, x) list(top_terms(fit), predict(fit, x[1:10, ]))
  ),
  "ratings of lecturers" = list(
    instructors, function(x) gibbs_bmf(x, rank = 5, seed = 1),
    function(fit, x) list(recommend(fit, x$user[[1L]]), predict(fit, x))
  )
)

timed <- function(code) {
  began <- proc.time()
  value <- quietly(code)
  took <- (proc.time() - began)[1:5]
  list(value = value, clock = took[[3L]], processor = sum(took[-3L]))
}

run_task <- function(name) {
  task <- tasks[[name]]
  x <- tryCatch(task[[1L]](), error = function(cnd) NULL)
  if (is.null(x)) {
    cat(sprintf("%-24s the data are not at hand\n", name))
    return(invisible())
  }
  call <- timed(task[[2L]](x))
  fit <- call$value
  rest <- timed({
    words <- utils::capture.output(print(fit), print(summary(fit)))
    plot(fit)
    task[[3L]](fit, x)
  })
  verdict <- grep("onverged", words, value = TRUE)[1L]
  cat(sprintf(
    "%-24s %8.1f %8.1f %10.1f %6.0f  %s\n", name, call$clock, rest$clock,
    call$processor + rest$processor, as.numeric(object.size(fit)) / 1e6,
    substr(verdict, 1L, 60L)
  ))
}

grDevices::pdf(NULL)
invisible(quietly(gibbs_lm(dist ~ speed, cars, seed = 1)))
cat(sprintf(
  "%-24s %8s %8s %10s %6s\n", "", "call", "rest", "processor", "MB"
))
for (name in grep(pattern, names(tasks), value = TRUE)) run_task(name)
print(utils::packageVersion("gibbsite"))
cat(R.version.string, "\n")
