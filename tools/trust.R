# For every sampler and its options: simulation-based calibration, Geweke's
# joint test, how many wrong samplers the latter finds, and the largest
# difference from the sampler's slow twin in R. Fails if a right sampler does
# not pass, or a wrong one does.
#
# The table goes to vignettes/trust.csv, which the vignette Trust shows; with a
# pattern only the rows of its cases are replaced.
#
#   Rscript tools/trust.R [pattern of cases]
#   MC_CORES=2 Rscript tools/trust.R           two cases at a time

library(gibbsite)
library(testthat)

# the wrong samplers and the cases
helpers <- paste0(c("exact", "joint", "run", "[a-z-]+-twin"), collapse = "|")
files <- list.files(
  "tests/testthat", paste0("^helper-(", helpers, ")[.]R$"), full.names = TRUE
)
for (file in files) source(file)

pattern <- c(commandArgs(trailingOnly = TRUE), "")[[1L]]
error <- 0.001
label <- function(case) paste(case$sampler, case$option)

# Whether Geweke's test finds a wrong sampler, with longer chains if short ones
# do not show it: they begin at the right distribution, and leave it slowly.
is_found <- function(fit, sweeps, further) {
  wrong <- mutant_fit(fit, sweeps)
  for (steps in c(20, 100)) {
    found <- suppressMessages(do.call(geweke_joint, c(
      list(wrong, n = 60, steps = steps, seed = 2, progress = FALSE), further
    )))
    if (smallest_p(found) < error) {
      return(TRUE)
    }
  }
  FALSE
}

row_of <- function(case) {
  ranks <- check_case(sbc, case, n = 200, draws = 49)
  joint <- check_case(geweke_joint, case, n = 400)
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
    geweke_z = max(abs(summary(joint)$z)), geweke_p = smallest_p(joint),
    geweke_means = nrow(summary(joint)),
    found = sum(found), mutants = length(found),
    twin = difference_from_twin(case)
  )
}

cases <- Filter(function(case) {
  grepl(pattern, label(case))
}, joint_cases_of_all())

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
rows <- parallel::mclapply(cases, told_row, mc.preschedule = FALSE)
table <- do.call(rbind, rows)
cat(sprintf(
  "%d cases: smallest p of calibration %.3f, of Geweke's test %.3f; %d of %d wrong samplers found\n", # nolint: line_length_linter.
  nrow(table), min(table$sbc_p), min(table$geweke_p), sum(table$found),
  sum(table$mutants)
))

file <- file.path("vignettes", "trust.csv")
all <- table
if (file.exists(file)) {
  old <- utils::read.csv(file)
  all <- rbind(table, old[!label(old) %in% label(table), ])
}
at <- match(vapply(joint_cases_of_all(), label, ""), label(all))
all <- all[at[!is.na(at)], ]
numbers <- vapply(all, is.numeric, NA)
all[numbers] <- lapply(all[numbers], signif, 3L)
utils::write.csv(all, file, row.names = FALSE)

fine <- table$sbc_p >= error & table$geweke_p >= error &
  table$found == table$mutants & (is.na(table$twin) | table$twin < 1e-5)
quit(status = as.integer(!all(fine)))
