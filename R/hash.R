# Identity: whether an object, a function or a file is what it was. Fits and
# checkpoints hold hashes, and are compared by them for years: their values must
# not depend on another package, the version of R or the processor.

# The hash of an object's value. src/r_hash.c defines the bytes of an object,
# and src/core/numeric/siphash.h the hash of bytes; the name before the colon
# stands for both. Equal values have the same hash: it depends neither on how R
# stores a vector (1:3 as its ends, a sorted vector with a mark), nor on the
# bits of NA, NaN and 0, nor on the order of attributes, nor on the encoding of
# text.
hash <- function(x) {
  if (is_hashing_as_before()) rlang_hash(x) else named_hash(x, FALSE)
}

# The hash of code and of the values that come with it. For a function it
# includes its arguments and its body, but not its source reference, its byte
# code or its environment. Pointers to memory all count as the same.
hash_code <- function(x) {
  if (is_hashing_as_before()) {
    rlang_hash(rlang_code(x))
  } else {
    named_hash(with_native_places(x), TRUE)
  }
}

named_hash <- function(x, code) {
  paste0("siphash:", raw_to_hex(.Call(C_hash, x, code)))
}

with_native_places <- function(x) {
  if (is_native_density(x)) {
    return(native_place_of(x))
  }
  if (typeof(x) != "list") {
    return(x)
  }
  copy <- lapply(unclass(x), with_native_places)
  attributes(copy) <- attributes(x)
  copy
}

# 16 bytes for the bytes of a raw vector.
checksum <- function(bytes) .Call(C_checksum, bytes)

# 32 hexadecimal digits that no other call has, in this process or another one.
unique_token <- function(...) {
  raw_to_hex(.Call(C_hash, list(..., tempdir(), Sys.time()), FALSE))
}

hex_to_raw <- function(x) {
  start <- seq(1L, nchar(x), by = 2L)
  as.raw(strtoi(substring(x, start, start + 1L), 16L))
}

raw_to_hex <- function(x) paste(format(x), collapse = "")
