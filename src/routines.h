/* Every native routine, once: init.c registers from this list with the number
 * of arguments that the prototype has. */
#ifndef GIBBSITE_ROUTINES_H
#define GIBBSITE_ROUTINES_H

#include <Rinternals.h>

/* name, number of arguments */
#define GIBBSITE_ROUTINES(ROUTINE)    \
  ROUTINE(gmm_sweeps, 5)              \
  ROUTINE(gmm_evaluate, 6)            \
  ROUTINE(lda_sweeps, 4)              \
  ROUTINE(lda_fold_in, 6)             \
  ROUTINE(lda_token_probabilities, 5) \
  ROUTINE(lda_left_to_right, 6)       \
  ROUTINE(philox_variates, 4)         \
  ROUTINE(in_forked_child, 0)         \
  ROUTINE(file_size_signal, 1)

SEXP C_gmm_sweeps(SEXP data, SEXP state, SEXP n, SEXP control, SEXP mode);
SEXP C_gmm_evaluate(SEXP form, SEXP x, SEXP blocks, SEXP order, SEXP pivot,
                    SEXP what);
SEXP C_lda_sweeps(SEXP data, SEXP state, SEXP n, SEXP control);
SEXP C_lda_fold_in(SEXP word, SEXP start, SEXP phi, SEXP alpha, SEXP sweeps,
                   SEXP threads);
SEXP C_lda_token_probabilities(SEXP word, SEXP start, SEXP phi, SEXP theta,
                               SEXP threads);
SEXP C_lda_left_to_right(SEXP word, SEXP start, SEXP phi, SEXP alpha,
                         SEXP particles, SEXP threads);
SEXP C_philox_variates(SEXP key, SEXP item, SEXP draw, SEXP shapes);
SEXP C_in_forked_child(void);
SEXP C_file_size_signal(SEXP ignore);

#endif
