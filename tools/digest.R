# The digest by which tools/bits.R and tools/identical.R compare draws: of every
# bit of every number in x.

numbers <- function(x) {
  if (is.list(x)) return(unlist(lapply(x, numbers), use.names = FALSE))
  if (isS4(x)) return(numbers(as.matrix(x)))
  if (is.numeric(x)) as.double(x)
}

digest <- function(x) {
  file <- tempfile()
  on.exit(unlink(file))
  writeBin(numbers(x), file, endian = "little")
  unname(tools::md5sum(file))
}

# The draws of a fit without its attributes.
draws_alone <- function(fit) lapply(fit, unclass)

# bmf_prior(), also of an earlier build, which named the fields by letters.
bmf_prior <- function(type = "wishart", ...) {
  here <- asNamespace("gibbsite")
  if (exists("bmf_prior", here, inherits = FALSE)) {
    return(here$bmf_prior(type, ...))
  }
  letters <- c(
    factor_variance = "c", noise_variance = "sigma2", noise_shape = "e",
    noise_rate = "f"
  )
  given <- list(...)
  names(given) <- letters[names(given)]
  do.call(here[[paste0("bmf_", type)]], given)
}

# f(...) with n of the draws of a fit, by the name of the argument in the build.
with_draws <- function(f, ..., n) {
  known <- names(formals(gibbsite::fold_in))
  arg <- if ("ndraws" %in% known) "ndraws" else "draws"
  do.call(f, c(list(...), stats::setNames(list(n), arg)))
}
