/* Whether another process is there, and workers that do not outlive the process
 * that they work for. */
#ifndef _WIN32
#define _POSIX_C_SOURCE 200809L
#define _DARWIN_C_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#else
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#endif

#include <R.h>

#include "routines.h"
#include "threads.h"

static int as_pid(SEXP pid) {
  if (TYPEOF(pid) != INTSXP || XLENGTH(pid) != 1 || INTEGER(pid)[0] < 1)
    Rf_error("`pid` must be the number of a process");
  return INTEGER(pid)[0];
}

/* ---- another process ------------------------------------------------------- */

/* When process `pid` was started, in units of the system: NA_REAL if there is
 * no such process, 0 if it is there and its start is not known. */

#if defined(_WIN32)

static double process_started(int pid) {
  const HANDLE process = OpenProcess(
    PROCESS_QUERY_LIMITED_INFORMATION | SYNCHRONIZE, FALSE, (DWORD)pid);
  if (!process)
    return GetLastError() == ERROR_ACCESS_DENIED ? 0.0 : NA_REAL;
  FILETIME created, ended, kernel, user;
  double started = 0.0;
  if (GetProcessTimes(process, &created, &ended, &kernel, &user))
    started =
      created.dwHighDateTime * 4294967296.0 + (double)created.dwLowDateTime;
  if (WaitForSingleObject(process, 0) == WAIT_OBJECT_0)
    started = NA_REAL;
  CloseHandle(process);
  return started;
}

#else

#ifdef __linux__
/* Field 22 of /proc/<pid>/stat; the name of the program, field 2, may hold
 * anything and ends at the last parenthesis.  A process of state Z or X has
 * ended.  0: the file says nothing. */
static double linux_started(int pid) {
  char path[32], line[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE *file = fopen(path, "r");
  if (!file)
    return 0.0;
  const size_t length = fread(line, 1, sizeof line - 1, file);
  fclose(file);
  line[length] = '\0';
  const char *rest = strrchr(line, ')');
  char state;
  unsigned long long started;
  if (!rest || sscanf(rest + 1,
                      " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
                      " %*s %*s %*s %*s %*s %llu",
                      &state, &started) != 2)
    return 0.0;
  return state == 'Z' || state == 'X' ? NA_REAL : (double)started;
}
#endif

static double process_started(int pid) {
  if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
    return NA_REAL;
#ifdef __linux__
  return linux_started(pid);
#else
  return 0.0;
#endif
}

#endif

SEXP C_process_started(SEXP pid) {
  return Rf_ScalarReal(process_started(as_pid(pid)));
}

/* ---- a worker and its parent ----------------------------------------------- */

#ifndef _WIN32

/* Calls nothing of R.  A child whose parent has ended gets another one. */
static void *watch_parent(void *parent) {
  while ((intptr_t)getppid() == (intptr_t)parent)
    sleep(1);
  kill(getpid(), SIGKILL);
  return NULL;
}

/* Signals are for R, in the thread that was there before. */
static int start_watching(int parent) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_t thread;
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int failed =
    pthread_create(&thread, NULL, watch_parent, (void *)(intptr_t)parent);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return !failed && pthread_detach(thread) == 0;
}

/* The process that watches its parent; its own children do not. */
static pid_t watching = 0;

#endif

/* A forked child that process `parent`, started at `started`, has made ends from
 * now on within a second or two of its parent, whatever it is doing then: a thread
 * sees to it.  Where the parent has ended already, the child ends here.  FALSE
 * where that cannot be had: this is no forked child, or that of another process. */
SEXP C_end_with_parent(SEXP parent, SEXP started) {
  const int pid = as_pid(parent);
  if (TYPEOF(started) != REALSXP || XLENGTH(started) != 1)
    Rf_error("`started` must be the start of a process");
#ifndef _WIN32
  if (!threads_in_child())
    return Rf_ScalarLogical(0);
  if ((int)getppid() != pid) {
    if (process_started(pid) != REAL(started)[0])
      kill(getpid(), SIGKILL);
    return Rf_ScalarLogical(0);
  }
  if (watching != getpid() && start_watching(pid))
    watching = getpid();
  return Rf_ScalarLogical(watching == getpid());
#else
  (void)pid;
  return Rf_ScalarLogical(0);
#endif
}
