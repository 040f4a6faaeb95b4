/* The stored draws of a factorisation (core/run/store.h) as R sees them: the lists
 * `factor_draws` (raw vectors of floats) and `hyper_draws` of a state, which also
 * has `kept`, the number of draws recorded so far. */
#ifndef GIBBSITE_R_STORE_H
#define GIBBSITE_R_STORE_H

#include <Rinternals.h>
#include <stddef.h>

#include "run/store.h"

/* A copy of the state whose vectors may be written into, all but the stored draws:
 * these are large, never change, and are shared (protect it). */
SEXP store_copy_state(SEXP state);

/* Makes room in the copy for the draws that a segment of `rows` recorded draws will
 * store, and thins the set where it will have grown beyond `cap`.  factors, hypers:
 * numbers of a draw. */
draw_store store_prepare(SEXP copy, size_t cap, size_t rows, size_t factors,
                         size_t hypers);

#endif
