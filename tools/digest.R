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
