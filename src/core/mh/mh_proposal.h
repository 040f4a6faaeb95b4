/* What proposals share: the law of e, the factor L, steps y = c + s L e, and the
 * search for s.  A proposal sees a block: x and y have proposal->d numbers, and
 * so has the gradient of the working log density where a proposal uses one. */
#ifndef GIBBSITE_MH_PROPOSAL_H
#define GIBBSITE_MH_PROPOSAL_H

#include "mh/mh.h"
#include "numeric/rdist.h"

/* Of mh_move_type: e of the proposal's family. */
size_t mh_law_variates(const mh_proposal *p);
void mh_law_draw(const mh_proposal *p, size_t rows, const generator *g,
                 double *out);

/* Of mh_move_type: d normals and two uniforms, the key of choices. */
size_t mh_keyed_variates(const mh_proposal *p);
void mh_keyed_draw(const mh_proposal *p, size_t rows, const generator *g,
                   double *out);

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

/* y <- y + s L e, with e of a row of variates.  work: d numbers. */
void mh_add_step(const mh_proposal *p, const double *l, double step,
                 const double *row, double *y, double *work);

/* The log density of y = c + s L e; the centre c is written over. */
double mh_step_log_q(const mh_proposal *p, const double *l, double step,
                     const double *y, double *centre);

/* The s that a proposal has learned. */
double mh_learned_step(const mh_proposal *p, const mh_memory *memory);

/* The gain of update n of log s: Robbins & Monro's search. */
double mh_gain(double n);

/* s learns from a step that was accepted with probability `rate`. */
void mh_learn_step(const mh_proposal *p, const mh_memory *memory, double rate);

/* mh_move_type's learn_again, where the number of updates is all that counts. */
void mh_count_again(const mh_proposal *p, const mh_memory *memory);

#endif
