/* Proposals and blocks of Metropolis-Hastings out of R's lists. */
#ifndef GIBBSITE_R_MH_PROPOSAL_H
#define GIBBSITE_R_MH_PROPOSAL_H

#include <Rinternals.h>

#include "mh/mh.h"
#include "r_mh_functions.h"

/* compiled, functions: as compile_proposal() and proposal_functions() give
 * them; memory: the block's part of the state (written into); names of the
 * block's coordinates, or NULL.  The caller sets `index`. */
void mh_open_block(mh_block *block, SEXP compiled, SEXP memory, SEXP functions,
                   SEXP names, mh_session *session);

/* The scratch of a block of a model on d coordinates, if it needs some. */
void mh_open_scratch(mh_block *block, size_t d);

#endif
