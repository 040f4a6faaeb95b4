/* Hamiltonian Monte Carlo (Duane et al. 1987, doi:10.1016/0370-2693(87)91197-X;
 * Neal 2011, doi:10.1201/b10905-6).
 *
 * A block's position x gets a momentum p ~ N(0, M), and both move along
 *
 *   H(x, p) = -log p(x) + p' M^-1 p / 2.
 *
 * With M^-1 = L L', L the block's factor, the momentum is kept as r = L' p ~
 * N(0, I), so that no inverse occurs: H = -log p(x) + r'r / 2, and a leapfrog
 * step of size s is
 *
 *   r <- r + s/2 L' grad log p(x);  x <- x + s L r;
 *   r <- r + s/2 L' grad log p(x),
 *
 * which preserves volume and is undone by a step of -s. */
#ifndef GIBBSITE_MH_TRAJECTORY_H
#define GIBBSITE_MH_TRAJECTORY_H

#include "mh/mh.h"
#include "numeric/arena.h"

/* A position, with what is known of it, and a momentum. */
typedef struct {
  double *x, *point, *slope; /* the model's d: working point, the user's, and
                                the gradient of the working log density      */
  double *momentum;          /* the block's d: r                             */
  double value[2];           /* as the model's                               */
  double energy;             /* H; INFINITY where the trajectory must end    */
} mh_phase;

/* A part of a trajectory that mh_nuts.c builds. */
typedef struct {
  double *total;        /* sum of its momenta                               */
  double *first, *last; /* momenta at its ends                              */
  mh_phase drawn;       /* one of its positions, drawn by their densities   */
  double log_weight;    /* log of the sum of exp(-H), less that of the start */
} mh_subtree;

typedef struct mh_trajectory {
  mh_model *m;
  mh_block *block;
  const scan_control *control;
  double step;  /* of this trajectory                                       */
  double start; /* H at its start                                           */
  /* what it has met */
  double leapfrogs, rates; /* steps; the sum of min(1, exp(H start - H))     */
  double depth;
  int divergent;
  /* scratch */
  double *work;         /* block's d                                        */
  mh_phase edge[2];     /* where it goes on, backwards and forwards          */
  mh_subtree whole;     /* of mh_nuts.c, and                                 */
  mh_subtree *subtrees; /* as many as mh_trajectory_open() was asked for     */
} mh_trajectory;

/* H above that of the start by more than this is a divergence. */
#define MH_DIVERGENCE 1000.0

/* Lays out the scratch of a block of a model on d coordinates, with so many
 * subtrees (numeric/arena.h). */
mh_trajectory *mh_trajectory_open(const mh_proposal *p, size_t d,
                                  size_t subtrees, arena *a);

/* One leapfrog step of size `step`, and H there.  Where the density is zero, or
 * so low that the step is a divergence, the gradient is not asked for and H is
 * INFINITY. */
status mh_leapfrog(mh_trajectory *t, mh_phase *z, double step);

/* A leapfrog step of the trajectory, counted. */
status mh_advance(mh_trajectory *t, mh_phase *z, double step);

/* z <- the model's position, without a momentum; from <- a position. */
void mh_copy_position(const mh_trajectory *t, const mh_phase *from,
                      mh_phase *to);

/* A transition of block b: from the model's position with a momentum, of which
 * `momentum` has the d normals.  Where the block learns and its step must be
 * found anew, that comes first. */
status mh_begin_transition(mh_model *m, size_t b, const double *momentum,
                           const scan_control *control, mh_trajectory **t);

/* The mean acceptance probability of its steps. */
double mh_acceptance(const mh_trajectory *t);

/* How it ended. */
typedef struct {
  const mh_phase *at; /* the position that it leads to                       */
  double log_ratio;   /* of the decision to move; NaN without one            */
  int moved;
  double accepted; /* what counts as accepted: from 0 to 1                */
  int deepest;     /* a tree of the greatest depth                        */
} mh_ending;

/* The state moves; what was met is noted, and the block learns.  u: a uniform,
 * for the trace. */
void mh_end_transition(mh_trajectory *t, size_t b, double u, mh_ending end);

#endif
