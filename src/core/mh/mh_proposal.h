/* Proposals: how y is drawn given x, and log q(y | x).
 *
 * A proposal sees a block: x and y have proposal->d numbers, and so has the
 * gradient of the working log density where a proposal uses one. */
#ifndef GIBBSITE_MH_PROPOSAL_H
#define GIBBSITE_MH_PROPOSAL_H

#include "mh/mh.h"
#include "numeric/rdist.h"

/* A point of a block, with the gradient there (NULL where not needed). */
typedef struct {
  const double *x, *slope;
} mh_place;

/* Numbers that a draw uses, and their drawing from R's generator for `rows`
 * draws, row by row, in the order in which mh_propose() uses them. */
size_t mh_proposal_variates(const mh_proposal *p);
void mh_proposal_draw_variates(const mh_proposal *p, size_t rows,
                               const generator *g, double *out);

/* Is it Hamiltonian dynamics, which mh_hamiltonian.h moves?  A slice sampler, of
 * mh_slice.h? */
int mh_is_hamiltonian(const mh_proposal *p);
int mh_is_slice(const mh_proposal *p);

/* For moves that need a number of uniforms that is not known ahead: a stream of
 * which two uniforms, drawn ahead, are the key. */
philox_stream mh_open_choices(const double *uniforms);

/* Does it use gradients?  Is q(y | x) = q(x | y) for all x and y? */
int mh_needs_slope(const mh_proposal *p);
int mh_is_symmetric(const mh_proposal *p);

/* y <- L x,  b <- L^-1 b,  with the L given. */
void mh_times_factor(const mh_proposal *p, const double *l, const double *x,
                     double *y);
void mh_solve_factor(const mh_proposal *p, const double *l, double *b);

/* y ~ q(. | x).  work: d numbers. */
status mh_propose(const mh_proposal *p, const mh_memory *memory, mh_place x,
                  const double *row, double *y, double *work);

/* *value <- log q(y | x) with every constant that differs between proposals.
 * work: d numbers.  May be NaN when a function of the user's says so. */
status mh_proposal_log_q(const mh_proposal *p, const mh_memory *memory,
                         const double *y, mh_place x, double *value,
                         double *work);

/* The gain of update n of log s: Robbins & Monro's search. */
double mh_gain(double n);

/* Learns from a step that was accepted with probability `rate`, after which
 * the block stands at x.  work: d numbers. */
void mh_learn(const mh_proposal *p, const mh_memory *memory, const double *x,
              double rate, double *work);

/* Learning begins again, after a climb. */
void mh_learn_again(const mh_proposal *p, const mh_memory *memory);

#endif
