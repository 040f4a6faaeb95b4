# The web site, into check/site: Rscript tools/site.R, or `make site`.
#
# It needs no network. Links to packages that are not installed are looked up in
# CRAN's table of packages; here this table is empty, and they are left out.
empty <- tempfile("cran")
dir.create(file.path(empty, "web", "packages"), recursive = TRUE)
saveRDS(
  data.frame(Package = character(), URL = character()),
  file.path(empty, "web", "packages", "packages.rds")
)
Sys.setenv(R_CRAN_WEB = paste0("file://", empty))
options(pkgdown.internet = FALSE)
pkgdown::build_site(install = FALSE, new_process = FALSE, preview = FALSE)
