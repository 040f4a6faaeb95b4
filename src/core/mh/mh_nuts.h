/* The no-U-turn sampler (Hoffman & Gelman 2014, JMLR 15, 1593-1623), with
 * positions drawn by their densities (Betancourt 2017, arXiv:1701.02434,
 * appendix A).
 *
 * A trajectory is doubled, forwards or backwards, until it turns back.  A
 * trajectory whose momenta sum to R, with momenta r- and r+ at its ends, has
 * turned when R'r- <= 0 or R'r+ <= 0.  Each subtree must not have turned, nor
 * one half of it with the nearest momentum of the other.
 *
 * Within a subtree a position is drawn with probability proportional to
 * exp(-H).  Between the trajectory so far, of weight w, and its new half, of
 * weight v, the draw moves on with probability min(1, v / w). */
#ifndef GIBBSITE_MH_NUTS_H
#define GIBBSITE_MH_NUTS_H

#include "mh/mh_hamiltonian.h"

/* t->whole.drawn <- a position of the trajectory from the model's with the
 * momentum of t->edge[0].  The two uniforms are the key of its choices. */
status mh_nuts_transition(mh_trajectory *t, const double *uniforms);

#endif
