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
      i = "See to it that no other run writes to it."
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
