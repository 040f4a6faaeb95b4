/* Adaptive random walks: y = x + s L e, s and L learned. */
#include "numeric/rounding.h"

#include "mh/mh_types.h"

#include <math.h>
#include <string.h>

#include "mh/mh_move.h"
#include "mh/mh_proposal.h"
#include "numeric/linalg.h"

static status propose(const mh_proposal *p, const mh_memory *memory, mh_place x,
                      const double *row, double *y, double *work) {
  memcpy(y, x.x, p->d * sizeof(double));
  mh_add_step(p, memory->factor, mh_learned_step(p, memory), row, y, work);
  return STATUS_OK;
}

static status log_q(const mh_proposal *p, const mh_memory *memory,
                    const double *y, mh_place x, double *value, double *work) {
  memcpy(work, x.x, p->d * sizeof(double));
  *value =
    mh_step_log_q(p, memory->factor, mh_learned_step(p, memory), y, work);
  return STATUS_OK;
}

/* mean <- mean + g (x - mean), L L' <- (1 - g) L L' + g (x - mean)(x - mean)'
 * (Haario, Saksman & Tamminen 2001, doi:10.2307/3318737).  With g = 2 / (n +
 * n0) in place of 1 / n the weight of the n-th point grows as n, and that of
 * the first points, far from the mass of p, vanishes. */
static void learn_covariance(const mh_proposal *p, const mh_memory *memory,
                             const double *x, double *work) {
  const size_t d = p->d;
  const double gain = 2.0 / (memory->tuning[1] + 10.0 * (double)d + 40.0);
  const double shrink = sqrt(1.0 - gain), grow = sqrt(gain);
  for (size_t j = 0; j < d; j++) {
    const double apart = x[j] - memory->mean[j];
    memory->mean[j] += gain * apart;
    work[j] = grow * apart;
    for (size_t i = j; i < d; i++)
      memory->factor[i + d * j] *= shrink;
  }
  linalg_rank_one_update(memory->factor, d, work);
}

static void learn(const mh_proposal *p, const mh_memory *memory,
                  const double *x, double rate, double *work) {
  mh_learn_step(p, memory, rate);
  if (memory->tuning[1] > 0.0)
    learn_covariance(p, memory, x, work);
  else
    memcpy(memory->mean, x, p->d * sizeof(double));
}

/* Starts the running mean and covariance anew from the next point.  L and s keep
 * their values. */
static void learn_again(const mh_proposal *p, const mh_memory *memory) {
  (void)p;
  memory->tuning[1] = -1.0;
}

const mh_move_type mh_adaptive = {.variates = mh_law_variates,
                                  .draw = mh_law_draw,
                                  .update = mh_metropolis_update,
                                  .propose = propose,
                                  .log_q = log_q,
                                  .learn = learn,
                                  .learn_again = learn_again,
                                  .symmetric = 1,
                                  .takes_power = 1};
