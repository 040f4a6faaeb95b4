# The files of a checkpoint: a header of 64 bytes, then a serialized R object.
#
#   bytes  1-8   "GIBBSITE"
#          9-12  version of the format
#         13-16  kind: 1 data, 2 state, 3 draws
#         17-24  length of what follows the header, a double
#         25-40  checksum of what follows the header
#         41-56  the run that the file belongs to
#         57-64  checksum of bytes 1-56, its first half
#
# Numbers are little-endian. The header detects a damaged or foreign file before
# unserialize() reads it. With a single wrong bit unserialize() may try to
# allocate gigabytes.

checkpoint_magic <- charToRaw("GIBBSITE")

checkpoint_version <- 2L

checkpoint_kinds <- c("data", "state", "draws")

header_size <- 64L

# 16 bytes for the bytes `x`, the same in every session.
checksum <- function(x) hex_to_raw(hash(x))

hex_to_raw <- function(x) {
  start <- seq(1L, nchar(x), by = 2L)
  as.raw(strtoi(substring(x, start, start + 1L), 16L))
}

raw_to_hex <- function(x) paste(format(x), collapse = "")

little <- function(x, size = NA_integer_) {
  writeBin(x, raw(), size = size, endian = "little")
}

# `run`: 32 hexadecimal digits.
make_header <- function(kind, run, payload, version = checkpoint_version) {
  bytes <- c(
    checkpoint_magic, little(version), little(match(kind, checkpoint_kinds)),
    little(as.double(length(payload))), checksum(payload), hex_to_raw(run)
  )
  c(bytes, checksum(bytes)[1:8])
}

# ---- Writing ----------------------------------------------------------------

aside_of <- function(path) paste0(path, ".part")

# Writes a file under a temporary name next to its final one, and checks that
# all of it is on the disk: a full disk may show only then. Returns the
# checksum.
write_aside <- function(path, kind, run, value) {
  payload <- serialize(value, NULL, version = 3L, xdr = FALSE)
  header <- make_header(kind, run, payload)
  aside <- aside_of(path)
  whole <- FALSE
  on.exit(if (!whole) unlink(aside), add = TRUE)
  connection <- file(aside, "wb")
  tryCatch(
    {
      writeBin(header, connection)
      writeBin(payload, connection)
    },
    finally = close(connection)
  )
  size <- as.double(header_size) + length(payload)
  if (!identical(as.double(file.size(aside)), size)) {
    abort_state("the file could not be written in full (is the disk full?)")
  }
  sync_file(aside)
  whole <- TRUE
  raw_to_hex(header[25:40])
}

put_in_place <- function(path) {
  if (!file.rename(aside_of(path), path)) {
    abort_state("the file could not be renamed into place")
  }
}

# Flush the contents of a file, or the names in a directory, to the disk.
sync_file <- function(path) .Call(C_sync_path, path, FALSE)

sync_directory <- function(path) .Call(C_sync_path, path, TRUE)

abort_file <- function(path, what, hint = NULL, call) {
  abort_state(
    c("{.file {path}} {what}", i = hint), call = call, class = "checkpoint"
  )
}

# ---- Reading ----------------------------------------------------------------

# list(value, run, sum); a file that differs from what was written is an error.
read_envelope <- function(path, kind, run = NULL, call) {
  if (!file.exists(path)) {
    abort_file(path, "does not exist.",
      "Is this the directory given as `checkpoint`?",
      call = call
    )
  }
  connection <- open_file(path, call)
  on.exit(close(connection))
  header <- read_header(connection, path, call)
  payload <- read_payload(connection, header, path, call)
  if (!identical(header$kind, kind)) {
    abort_file(path, paste0("holds ", header$kind, ", not ", kind, "."),
      call = call
    )
  }
  if (!is.null(run) && !identical(header$run, run)) {
    abort_file(path, "belongs to another run.", call = call)
  }
  value <- tryCatch(unserialize(payload), error = function(cnd) {
    reason <- conditionMessage(cnd)
    abort_file(path, "cannot be read in this session: {reason}.", call = call)
  })
  list(value = value, run = header$run, sum = raw_to_hex(header$sum))
}

open_file <- function(path, call) {
  tryCatch(
    suppressWarnings(file(path, "rb")),
    error = function(cnd) abort_file(path, "cannot be opened.", call = call)
  )
}

read_header <- function(connection, path, call) {
  bytes <- readBin(connection, "raw", header_size)
  if (!identical(utils::head(bytes, 8L), checkpoint_magic)) {
    abort_not_ours(bytes, path, call)
  }
  if (length(bytes) < header_size ||
        !identical(checksum(bytes[1:56])[1:8], bytes[57:64])) {
    abort_file(path, "is damaged: its header is not what was written.",
      call = call
    )
  }
  number <- function(at, what, size) {
    readBin(bytes[at], what, size = size, endian = "little")
  }
  version <- number(9:12, "integer", 4L)
  if (version != checkpoint_version) {
    abort_version(version, path, call)
  }
  list(
    kind = checkpoint_kinds[number(13:16, "integer", 4L)],
    length = number(17:24, "double", 8L), sum = bytes[25:40],
    run = raw_to_hex(bytes[41:56])
  )
}

# Version 1 was a serialized list, whose first element named the format.
abort_not_ours <- function(bytes, path, call) {
  shown <- rawToChar(bytes[bytes > as.raw(31) & bytes < as.raw(127)])
  if (grepl("gibbsite-check", shown, fixed = TRUE)) {
    abort_version(1L, path, call)
  }
  abort_file(path, "is damaged, or is not a file of a gibbsite checkpoint.",
    call = call
  )
}

abort_version <- function(version, path, call) {
  abort_file(
    path,
    paste0(
      "was written in version ", format(version),
      " of the format; this package reads version ", checkpoint_version, "."
    ),
    "Use the version of gibbsite that wrote it.",
    call = call
  )
}

# Never reads more bytes than the file has.
read_payload <- function(connection, header, path, call) {
  if (!identical(header_size + header$length, as.double(file.size(path)))) {
    abort_file(path, "is damaged: its length is not what was written.",
      call = call
    )
  }
  payload <- readBin(connection, "raw", header$length)
  if (!identical(checksum(payload), header$sum)) {
    abort_file(path, "is damaged: its checksum does not match.", call = call)
  }
  payload
}
