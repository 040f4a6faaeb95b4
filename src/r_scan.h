/* A segment of a chain as R sees it: a copy of the state goes in, and state,
 * draws and generator come back in one value. */
#ifndef GIBBSITE_R_SCAN_H
#define GIBBSITE_R_SCAN_H

#include <Rinternals.h>
#include <stddef.h>

#include "numeric/status.h"
#include "run/scan.h"

/* A copy of the state whose vectors the core may write into (protect it). */
SEXP scan_copy_state(SEXP state);

/* Runs n sweeps of `scan` on R's generator.  `state` is the copy that the model
 * works on; its element `sweep` is moved on.  Returns
 * list(state, draws, rng), or NULL when the user interrupted; a numerical
 * failure is an R error. */
SEXP scan_segment(const scan_model *scan, scan_control control, SEXP n,
                  SEXP state, size_t columns);

/* The same for a model whose sweeps call functions of the user.  Such a function
 * may draw random numbers, so that the generator's state is left where R looks
 * for it, and the model fetches and puts it back where it draws itself. */
SEXP scan_segment_open(const scan_model *scan, scan_control control, SEXP n,
                       SEXP state, size_t columns);

/* A stop callback: has the user pressed Ctrl-C?  The answer yes is given once. */
int scan_interrupted(void *unused);

/* Raises the R error that belongs to a status other than STATUS_OK. */
void scan_stop(status outcome);

/* R_alloc'd work space; an R error for size 0, which says that it is too large. */
void *scan_work(size_t size);

#endif
