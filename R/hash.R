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

# Hashes that rlang made, in fits saved and in checkpoints written (version 2 of
# their format) before R/hash.R. The value of rlang::hash() changes between
# versions of rlang, and nothing in the fit or file says which one made it. So
# such a hash can be verified where the rlang installed gives it again, and is
# then replaced. Where it does not, either rlang or the object is another one.

# They have no name before the 32 digits.
is_old_hash <- function(x) {
  is.character(x) && length(x) == 1L && grepl("^[0-9a-f]{32}$", x)
}

hashing <- new.env(parent = emptyenv())
hashing$as_before <- FALSE

is_hashing_as_before <- function() hashing$as_before

# Evaluates `code` with hash() and hash_code() as they were.
as_before <- function(code) {
  hashing$as_before <- TRUE
  on.exit(hashing$as_before <- FALSE)
  force(code)
}

rlang_hash <- function(x) rlang::hash(plain_copy(x))

# Vectors, lists and their attributes, copied; all else as it is.
plain_copy <- function(x) {
  if (typeof(x) == "list") {
    copy <- lapply(unclass(x), plain_copy)
  } else if (is.atomic(x) && !is.null(x) && !isS4(x)) {
    copy <- vector(typeof(x), length(x))
    copy[] <- x
    if (is.double(copy)) {
      copy[copy == 0] <- 0
      none <- is.na(copy)
      copy[none] <- ifelse(is.nan(copy[none]), NaN, NA_real_)
    }
  } else {
    return(x)
  }
  with <- attributes(x)
  if (length(with) > 0L) {
    sorted <- order(names(with), method = "radix")
    attributes(copy) <- lapply(with[sorted], plain_copy)
  }
  copy
}

rlang_code <- function(x) {
  if (is_native_density(x)) {
    return(native_place_of(x))
  }
  if (is.primitive(x)) {
    return(deparse(x))
  }
  if (is.function(x)) {
    x <- utils::removeSource(x)
    return(list(formals(x), body(x)))
  }
  if (is.list(x)) lapply(x, rlang_code) else x
}

# `what` cannot be verified, a template; `otherwise`: what else may be the cause
# (NULL: nothing); `way`: what to do where that version of rlang is installed.
abort_unverified <- function(what, otherwise, way, call, class = NULL,
                             envir = rlang::caller_env()) {
  installed <- utils::packageVersion("rlang")
  cause <- c("It was made by another version of rlang", otherwise)
  abort_state(
    c(
      paste0(
        what, " cannot be verified: the hash was made by rlang, for an earlier
        version of gibbsite, and rlang ", installed, ", which is installed,
        does not give it again."
      ),
      x = paste0(paste(cause, collapse = ", or "), "."),
      i = paste0("With the rlang of that time in the library, ", way, ".")
    ),
    call = call, class = c(class, "old_hash"), envir = envir,
    installed = as.character(installed)
  )
}
