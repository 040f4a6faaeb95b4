/* Files that are to outlast a loss of power: what was written to them is handed
 * to the disk, and so are the entries of the directories that name them. */
#ifndef _WIN32
#define _POSIX_C_SOURCE 200809L
#define _DARWIN_C_SOURCE /* F_FULLFSYNC */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#else
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#endif

#include <R.h>

#include "routines.h"

#ifndef _WIN32

static int sync_descriptor(int fd) {
#ifdef F_FULLFSYNC
  /* fsync() of macOS leaves the data in the disk's own memory */
  if (fcntl(fd, F_FULLFSYNC) == 0)
    return 0;
#endif
  int status;
  do {
    status = fsync(fd);
  } while (status != 0 && errno == EINTR);
  return status;
}

/* Some file systems do not take fsync() of a directory: they keep its entries
 * by other means, or not at all. */
static int is_refused(int number) {
  return number == EINVAL || number == EBADF || number == ENOTSUP ||
         number == ENOSYS;
}

/* NULL, or what went wrong. */
static const char *sync_path(const char *path, int directory) {
  const int fd = open(path, directory ? O_RDONLY : O_RDWR);
  if (fd < 0)
    return strerror(errno);
  const int failed = sync_descriptor(fd) != 0;
  const int number = errno;
  close(fd);
  return failed && !(directory && is_refused(number)) ? strerror(number) : NULL;
}

static const char *path_of(SEXP path) {
  return R_ExpandFileName(Rf_translateChar(STRING_ELT(path, 0)));
}

#else

/* Renaming writes a directory through on Windows. */
static const char *sync_path(const char *path, int directory) {
  if (directory)
    return NULL;
  const int size = MultiByteToWideChar(CP_UTF8, 0, path, -1, NULL, 0);
  if (size <= 0)
    return "the path is not valid";
  wchar_t *wide = (wchar_t *)R_alloc((size_t)size, sizeof(wchar_t));
  MultiByteToWideChar(CP_UTF8, 0, path, -1, wide, size);
  const HANDLE file =
    CreateFileW(wide, GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
  if (file == INVALID_HANDLE_VALUE)
    return "the file cannot be opened";
  const BOOL done = FlushFileBuffers(file);
  CloseHandle(file);
  return done ? NULL : "the file cannot be flushed to the disk";
}

static const char *path_of(SEXP path) {
  return R_ExpandFileName(Rf_translateCharUTF8(STRING_ELT(path, 0)));
}

#endif

/* Returns when the file or directory is on the disk; an R error where that
 * cannot be had. */
SEXP C_sync_path(SEXP path, SEXP directory) {
  if (TYPEOF(path) != STRSXP || XLENGTH(path) != 1)
    Rf_error("`path` must be a string");
  if (TYPEOF(directory) != LGLSXP || XLENGTH(directory) != 1)
    Rf_error("`directory` must be TRUE or FALSE");
  const char *problem = sync_path(path_of(path), LOGICAL(directory)[0]);
  if (problem)
    Rf_error("%s", problem);
  return R_NilValue;
}
