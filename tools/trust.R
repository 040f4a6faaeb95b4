# For every sampler and its options: simulation-based calibration, Geweke's
# joint test, how many wrong samplers the latter finds, and the largest
# difference from the sampler's slow twin in R. And for small posteriors that
# are known exactly: how far the draws' means are from theirs. Fails if a right
# sampler does not pass, or a wrong one does.
#
# The tables go to vignettes/trust.csv and vignettes/known.csv, which the
# vignette Trust shows. With a pattern only the rows of its cases are replaced.
#
#   Rscript tools/trust.R [pattern of cases]
#   MC_CORES=2 Rscript tools/trust.R           two cases at a time

library(gibbsite)
library(testthat)

# the wrong samplers and the cases, with as many draws as the extended tests
Sys.setenv(GIBBSITE_EXTENDED_TESTS = "true")
source("tests/testthat/helper-exact.R")
for (file in trust_helpers("tests/testthat")) source(file)
# testthat's helpers see it in the package
`%||%` <- rlang::`%||%`

pattern <- c(commandArgs(trailingOnly = TRUE), "")[[1L]]
error <- 0.001
# cases run side by side, the chains of a case do not: forking costs more
at_a_time <- as.integer(Sys.getenv("MC_CORES", "1"))
options(mc.cores = 1L)
label <- function(case) paste(case$sampler, case$option)

# Whether Geweke's test finds a wrong sampler, with longer chains if short ones
# do not show it: they begin at the right distribution, and leave it slowly. A
# small mistake needs more chains.
is_found <- function(fit, sweeps, further) {
  wrong <- mutant_fit(fit, sweeps)
  for (size in list(c(60, 20), c(60, 100), c(400, 50))) {
    found <- suppressMessages(do.call(geweke_joint, c(
      list(wrong, n = size[[1L]], steps = size[[2L]], seed = 2,
           progress = FALSE), further
    )))
    if (smallest_p(found) < error) {
      return(TRUE)
    }
  }
  FALSE
}

geweke_columns <- function(case) {
  if (!case$joint) {
    return(data.frame(geweke_z = NA, geweke_p = NA, geweke_means = NA))
  }
  joint <- summary(check_case(geweke_joint, case, n = 400))
  data.frame(
    geweke_z = max(abs(joint$z)), geweke_p = smallest_adjusted(joint),
    geweke_means = nrow(joint)
  )
}

row_of <- function(case) {
  ranks <- check_case(sbc, case, n = 200, draws = 49)
  fit <- fit_of_case(case)
  found <- vapply(case$mutants, function(sweeps) {
    is_found(fit, sweeps, case$further)
  }, NA)
  if (any(!found)) {
    message("not found: ", toString(names(found)[!found]))
  }
  data.frame(
    sampler = case$sampler, option = case$option,
    sbc_p = smallest_p(ranks), sbc_quantities = nrow(summary(ranks)),
    geweke_columns(case),
    found = sum(found), mutants = length(found),
    twin = difference_from_twin(case)
  )
}

# ---- simulation --------------------------------------------------------------

told_row <- function(case) {
  began <- proc.time()[["elapsed"]]
  row <- row_of(case)
  cat(sprintf(
    "%-15s %-35s sbc p %.3f, |z| %.1f (p %.3f), %d of %d found, twin %.0e; %.0f s\n", # nolint: line_length_linter.
    row$sampler, row$option, row$sbc_p, row$geweke_z, row$geweke_p, row$found,
    row$mutants, row$twin, proc.time()[["elapsed"]] - began
  ))
  row
}

# ---- known posteriors --------------------------------------------------------

known_row <- function(case) {
  scores <- known_scores(case$run())
  z <- max(abs(scores$z))
  row <- data.frame(
    sampler = case$sampler, option = case$option, exact = case$how,
    means = nrow(scores), distance = max(scores$distance), z = z,
    p = min(1, 2 * stats::pnorm(-z) * nrow(scores))
  )
  cat(sprintf(
    "%-15s %-55s %.4f sd, |z| %.1f (p %.3f)\n", row$sampler, row$option,
    row$distance, row$z, row$p
  ))
  row
}

# ---- tables ------------------------------------------------------------------

# The rows of those cases that the pattern asks for, NULL if it asks for none.
asked_rows <- function(cases, row) {
  chosen <- Filter(function(case) grepl(pattern, label(case)), cases)
  do.call(
    rbind, parallel::mclapply(
      chosen, row, mc.preschedule = FALSE, mc.cores = at_a_time
    )
  )
}

# The table in a file with these rows in place of those that it had.
write_rows <- function(table, name, cases) {
  file <- file.path("vignettes", name)
  all <- table
  if (file.exists(file)) {
    old <- utils::read.csv(file)
    all <- rbind(table, old[!label(old) %in% label(table), ])
  }
  at <- match(vapply(cases, label, ""), label(all))
  all <- all[at[!is.na(at)], ]
  numbers <- vapply(all, is.numeric, NA)
  all[numbers] <- lapply(all[numbers], signif, 3L)
  utils::write.csv(all, file, row.names = FALSE)
}

fine <- TRUE

known <- known_cases()
table <- asked_rows(known, known_row)
if (!is.null(table)) {
  cat(sprintf(
    "%d known posteriors: largest distance %.4f sd, smallest p %.3f\n",
    nrow(table), max(table$distance), min(table$p)
  ))
  write_rows(table, "known.csv", known)
  fine <- fine && all(table$p >= error)
}

simulated <- joint_cases_of_all()
table <- asked_rows(simulated, told_row)
if (!is.null(table)) {
  cat(sprintf(
    "%d cases: smallest p of calibration %.3f, of Geweke's test %.3f; %d of %d wrong samplers found\n", # nolint: line_length_linter.
    nrow(table), min(table$sbc_p), min(table$geweke_p, 1, na.rm = TRUE),
    sum(table$found), sum(table$mutants)
  ))
  write_rows(table, "trust.csv", simulated)
  fine <- fine && all(
    table$sbc_p >= error, is.na(table$geweke_p) | table$geweke_p >= error,
    table$found == table$mutants, is.na(table$twin) | table$twin < 1e-5
  )
}

quit(status = as.integer(!fine))
