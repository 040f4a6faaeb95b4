/* One proposal that is made and accepted or rejected: the parts of a step. */
#ifndef GIBBSITE_MH_MOVE_H
#define GIBBSITE_MH_MOVE_H

#include "mh/mh.h"

/* What a step is about: the block's own coordinates before and after, x and y.
 * Where the block is the whole model, x is the model's and y its `next`. */
typedef struct {
  mh_block *block;
  const mh_proposal *proposal; /* the block's, or a part of it               */
  const mh_memory *memory;     /* what this proposal has learned             */
  int symmetric;               /* q(y | x) = q(x | y)                        */
  double *proposed;            /* y.x, to be written                         */
  mh_place x, y;
  double value[2];   /* of the proposal                                      */
  double correction; /* log q(x | y) - log q(y | x)                          */
  double log_ratio;  /* of p(y) q(x | y) / (p(x) q(y | x))                   */
} mh_move;

/* At the state's point, with the block's own proposal, and with the gradient if
 * the block needs one. */
status mh_start_move(mh_model *m, size_t b, mh_move *move);

/* y ~ q(. | x) */
status mh_draw_move(mh_model *m, mh_move *move, const double *variates);

/* The density at y, the gradient there if the block needs one, and the log
 * ratio. */
status mh_evaluate_move(mh_model *m, mh_move *move);

/* Is a step of this log ratio taken? */
int mh_accepts(double u, double log_ratio);

/* The state moves to y. */
void mh_accept_move(mh_model *m, const mh_move *move);

void mh_write_trace(mh_model *m, size_t b, const mh_move *move, double u,
                    int moved);

/* An adaptive proposal learns from its own step, after the state has moved. */
void mh_learn_from(mh_model *m, const mh_move *move, int in_burnin);

/* The step of Metropolis and Hastings on block b: of mh_move_type. */
status mh_metropolis_update(mh_model *m, size_t b, double u,
                            const double *variates,
                            const scan_control *control);

#endif
