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
# Numbers are little-endian. A checksum of version 3 is checksum() of R/saved.R,
# one of version 2 is rlang_hash() of R/saved.R. The header detects a
# damaged or foreign file before unserialize() reads it. With a single wrong bit
# unserialize() may try to allocate gigabytes.

checkpoint_magic <- charToRaw("GIBBSITE")

checkpoint_version <- 3L

readable_versions <- 2:3

checkpoint_kinds <- c("data", "state", "draws")

header_size <- 64L

checksum_of <- function(version) {
  if (identical(version, 2L)) {
    function(bytes) hex_to_raw(rlang_hash(bytes))
  } else {
    checksum
  }
}

little <- function(x, size = NA_integer_) {
  writeBin(x, raw(), size = size, endian = "little")
}

# `run`: 32 hexadecimal digits.
make_header <- function(kind, run, payload, version = checkpoint_version) {
  sum_of <- checksum_of(version)
  bytes <- c(
    checkpoint_magic, little(version), little(match(kind, checkpoint_kinds)),
    little(as.double(length(payload))), sum_of(payload), hex_to_raw(run)
  )
  c(bytes, sum_of(bytes)[1:8])
}

# ---- Writing ----------------------------------------------------------------

aside_of <- function(path) paste0(path, ".part")

# Writes a file under a temporary name next to its final one, and checks that
# all of it is on the disk: a full disk may show only then. Returns the
# checksum.
write_aside <- function(path, kind, run, value) {
  write_payload(
    path, kind, run, serialize(value, NULL, version = 3L, xdr = FALSE)
  )
}

write_payload <- function(path, kind, run, payload) {
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

# list(value, run, version, sum, payload); a file that differs from what was
# written is an error. `sum`: NULL, or the checksum that the file must have.
read_envelope <- function(path, kind, run = NULL, call, sum = NULL) {
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
  own <- raw_to_hex(header$sum)
  # until a state is renewed it knows its draws by their old checksums
  if (!is.null(sum) && own != sum && rlang_hash(payload) != sum) {
    abort_file(path, "is not the file that this checkpoint wrote.", call = call)
  }
  value <- tryCatch(unserialize(payload), error = function(cnd) {
    reason <- conditionMessage(cnd)
    abort_file(path, "cannot be read in this session: {reason}.", call = call)
  })
  list(
    value = value, run = header$run, version = header$version, sum = own,
    payload = payload
  )
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
  number <- function(at, what, size) {
    readBin(bytes[at], what, size = size, endian = "little")
  }
  header <- list(
    version = number(9:12, "integer", 4L),
    kind = checkpoint_kinds[match(number(13:16, "integer", 4L), 1:3)],
    length = number(17:24, "double", 8L), sum = bytes[25:40],
    run = raw_to_hex(bytes[41:56])
  )
  whole <- length(bytes) == header_size &&
    identical(checksum_of(header$version)(bytes[1:56])[1:8], bytes[57:64])
  if (!whole) {
    abort_header(header, path, call)
  }
  if (!header$version %in% readable_versions) {
    abort_version(header$version, path, call)
  }
  header
}

# The header is not what was written. In a file of version 2, where all else is
# as it should be, rlang may be another one.
abort_header <- function(header, path, call) {
  plausible <- !is.na(header$kind) && is_as_long(path, header)
  if (identical(header$version, 2L) && plausible) {
    abort_unverified(
      "{.file {path}}", "the file is damaged",
      "{.fn resume} the run once, by this version of gibbsite: its files then
       no longer depend on rlang",
      call = call, class = "checkpoint"
    )
  }
  abort_file(
    path, "is damaged: its header is not what was written.",
    if (!header$version %in% readable_versions) {
      "Or a later version of gibbsite wrote it."
    },
    call = call
  )
}

is_as_long <- function(path, header) {
  identical(header_size + header$length, as.double(file.size(path)))
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
      " of the format; this package reads versions ",
      paste(readable_versions, collapse = " and "), "."
    ),
    "Use the version of gibbsite that wrote it.",
    call = call
  )
}

# Never reads more bytes than the file has.
read_payload <- function(connection, header, path, call) {
  if (!is_as_long(path, header)) {
    abort_file(path, "is damaged: its length is not what was written.",
      call = call
    )
  }
  payload <- readBin(connection, "raw", header$length)
  if (!identical(checksum_of(header$version)(payload), header$sum)) {
    abort_file(path, "is damaged: its checksum does not match.", call = call)
  }
  payload
}

# One run at a time writes to a checkpoint.
#
# The lock is a lock of the operating system on the file `lock`, by the package
# filelock. It ends with the process that holds it, for any reason, so that no
# lock is ever left over. Forked children of the process do not hold it. The
# file is never removed: a lock on a removed file would not exclude a lock on a
# new one. (The process that holds the lock must not open the file: closing it
# would release the lock.) The file `owner` names the process that holds the
# lock, for error messages and for a second check before each write.

# The locks of this process, by directory: list(lock, owner).
open_locks <- new.env(parent = emptyenv())

lock_file <- function(path) file.path(path, "lock")

owner_file <- function(path) file.path(path, "owner")

this_process <- function() {
  pid <- Sys.getpid()
  c(list(pid = pid, started = .Call(C_process_started, pid)), this_place())
}

# Two processes see each other under their numbers if both fields agree.
# Containers on one machine may have a name in common, but not the name space of
# process numbers, which Linux shows as a link.
this_place <- function() {
  space <- Sys.readlink("/proc/self/ns/pid")
  list(
    host = Sys.info()[["nodename"]], space = if (is.na(space)) "" else space
  )
}

is_in_sight <- function(process) {
  identical(process[c("host", "space")], this_place())
}

# FALSE if the process has ended or its number now belongs to another one. For
# processes that cannot be seen from here this is unknown.
process_lives <- function(process) {
  if (!is_in_sight(process)) {
    return(TRUE)
  }
  started <- .Call(C_process_started, process$pid)
  !is.na(started) && (started %in% c(0, process$started) ||
                        process$started %in% 0)
}

# Takes the lock of an existing directory, or raises an error that names the
# process that holds it. Returns the owner's record; NULL if this directory
# cannot be written to.
take_lock <- function(path, call) {
  key <- normalizePath(path)
  held <- open_locks[[key]]
  if (!is.null(held)) {
    if (process_lives(held$owner)) {
      abort_locked(path, held$owner, call)
    }
    # a lock inherited from a parent process, which has ended
    forget_lock(key)
  }
  lock <- tryCatch(
    filelock::lock(lock_file(path), timeout = 0),
    error = function(cnd) cnd
  )
  if (is.null(lock)) {
    abort_locked(path, living_owner(path), call)
  }
  if (inherits(lock, "error")) {
    if (file.access(lock_file(path), 2L) != 0L) {
      return(NULL)
    }
    go_without_lock(path, conditionMessage(lock), call)
  }
  owner <- c(this_process(), list(
    since = format(Sys.time(), "%Y-%m-%d %H:%M:%S %Z"),
    token = unique_token(this_process(), key)
  ))
  assign(key, list(lock = lock, owner = owner), envir = open_locks)
  write_owner(path, owner)
  c(owner, key = key)
}

# Some file systems have no locks: then only the owner's file is used.
go_without_lock <- function(path, reason, call) {
  owner <- read_owner(path)
  if (!is.null(owner) && process_lives(owner) &&
        identical(owner$host, Sys.info()[["nodename"]])) {
    abort_locked(path, owner, call)
  }
  warn_gibbsite(
    c(
      "{.file {path}} cannot be locked: {reason}.",
      i = "Make sure that no other run writes to it."
    ),
    class = "lock"
  )
}

release_lock <- function(owner) {
  key <- owner$key
  held <- open_locks[[key]]
  if (is.null(held) || !identical(held$owner$token, owner$token)) {
    return(invisible())
  }
  if (owns_directory(key, owner)) {
    unlink(owner_file(key))
  }
  forget_lock(key)
}

forget_lock <- function(key) {
  lock <- open_locks[[key]]$lock
  rm(list = key, envir = open_locks)
  if (inherits(lock, "filelock_lock")) {
    filelock::unlock(lock)
  }
  invisible()
}

# On a full disk a directory can be locked but not written to.
write_owner <- function(path, owner) {
  aside <- aside_of(owner_file(path))
  tryCatch(
    suppressWarnings({
      writeLines(c(
        "gibbsite: a run writes to this directory",
        paste(
          owner_fields, vapply(owner[owner_fields], format, "", digits = 22)
        )
      ), aside)
      file.rename(aside, owner_file(path))
    }),
    error = function(cnd) unlink(aside)
  )
}

owner_fields <- c("pid", "started", "host", "space", "since", "token")

# NULL if there is no owner's file, or it cannot be read.
read_owner <- function(path) {
  lines <- tryCatch(
    suppressWarnings(readLines(owner_file(path), n = 7L)),
    error = function(cnd) character()
  )
  field <- function(name) {
    line <- lines[startsWith(lines, paste0(name, " "))]
    if (length(line) == 1L) substring(line, nchar(name) + 2L) else NA_character_
  }
  owner <- stats::setNames(lapply(owner_fields, field), owner_fields)
  owner$pid <- suppressWarnings(as.integer(owner$pid))
  owner$started <- suppressWarnings(as.double(owner$started))
  if (anyNA(unlist(owner)) || owner$pid < 1L) NULL else owner
}

owns_directory <- function(path, owner) {
  identical(read_owner(path)$token, owner$token)
}

# A process that has just taken the lock may not have written `owner` yet.
living_owner <- function(path) {
  for (attempt in 1:20) {
    owner <- read_owner(path)
    if (!is.null(owner) && process_lives(owner)) {
      return(owner)
    }
    Sys.sleep(0.05)
  }
  NULL
}

abort_locked <- function(path, owner, call) {
  ours <- !is.null(owner) && identical(owner$pid, Sys.getpid()) &&
    is_in_sight(owner)
  who <- if (is.null(owner)) {
    "another process"
  } else if (ours) {
    paste0("a run of this session, since ", owner$since)
  } else {
    paste0(
      "process ", owner$pid, " on ", quoted(owner$host), ", since ", owner$since
    )
  }
  abort_state(
    c(
      "{.file {path}} is in use by {who}.",
      i = "Only one run at a time can write to a checkpoint. {.fn resume} goes
           on from it once that one is over."
    ),
    call = call, class = "lock", pid = owner$pid, host = owner$host,
    since = owner$since
  )
}
