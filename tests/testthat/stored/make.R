# Rscript make.R, in this folder: writes the runs and fits of the format of the
# gibbsite that is installed, to the folder format-<version>. test-stored.R
# reads them with every later version.

library(gibbsite)
source("runs.R")
folder <- paste0("format-", gibbsite:::checkpoint_version)
dir.create(folder)
withr::with_dir(folder, {
  options(gibbsite.segment_seconds = 1e-9, stored.stop = 0.5)
  try(walk_run(checkpoint = "run"))
  options(stored.stop = NULL)
  unlink("run/lock")
  saveRDS(
    list(walk = walk_run(20), mixture = mixture_run(draws = 20)),
    "fits.rds", version = 3L, compress = "xz"
  )
})
