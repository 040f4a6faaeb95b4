/* Every native routine, once: init.c registers from this list with the number
 * of arguments that the prototype has. */
#ifndef GIBBSITE_ROUTINES_H
#define GIBBSITE_ROUTINES_H

#include <Rinternals.h>

/* name, number of arguments */
#define GIBBSITE_ROUTINES(ROUTINE) \
  ROUTINE(gmm_sweeps, 5)           \
  ROUTINE(gmm_evaluate, 6)         \
  ROUTINE(bmf_sweeps, 5)           \
  ROUTINE(bmf_linear, 5)           \
  ROUTINE(bmf_fold_in, 5)          \
  ROUTINE(in_forked_child, 0)      \
  ROUTINE(file_size_signal, 1)

SEXP C_gmm_sweeps(SEXP data, SEXP state, SEXP n, SEXP control, SEXP mode);
SEXP C_gmm_evaluate(SEXP form, SEXP x, SEXP blocks, SEXP order, SEXP pivot,
                    SEXP what);
SEXP C_bmf_sweeps(SEXP data, SEXP state, SEXP n, SEXP control, SEXP mode);
SEXP C_bmf_linear(SEXP sizes, SEXP draws, SEXP user, SEXP item, SEXP moments);
SEXP C_bmf_fold_in(SEXP sizes, SEXP ratings, SEXP kind, SEXP hyper, SEXP v);
SEXP C_in_forked_child(void);
SEXP C_file_size_signal(SEXP ignore);

#endif
