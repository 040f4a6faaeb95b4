#include "threads.h"

#include "routines.h"

#ifndef _WIN32
#include <pthread.h>
#endif
#include <signal.h>

/* The one mutable static of the package: set once, in a forked child. */
static volatile sig_atomic_t in_child = 0;

#ifndef _WIN32
static void mark_child(void) {
  in_child = 1;
}
#endif

void threads_watch_forks(void) {
#ifndef _WIN32
  pthread_atfork(NULL, NULL, mark_child);
#endif
}

int threads_in_child(void) {
  return in_child != 0;
}

int threads_allowed(int requested) {
#ifdef _OPENMP
  return threads_in_child() || requested < 1 ? 1 : requested;
#else
  (void)requested;
  return 1;
#endif
}

/* A file that reaches the limit of `ulimit -f` kills the process with SIGXFSZ
 * unless the signal is ignored; then the write fails and can be reported.
 * Returns whether it was ignored before. */
SEXP C_file_size_signal(SEXP ignore) {
  if (TYPEOF(ignore) != LGLSXP || XLENGTH(ignore) != 1)
    Rf_error("`ignore` must be TRUE or FALSE");
#ifdef SIGXFSZ
  void (*before)(int) = signal(SIGXFSZ, LOGICAL(ignore)[0] ? SIG_IGN : SIG_DFL);
  return Rf_ScalarLogical(before == SIG_IGN);
#else
  return Rf_ScalarLogical(0);
#endif
}
