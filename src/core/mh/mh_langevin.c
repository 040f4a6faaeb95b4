/* Langevin proposals (Roberts & Tweedie 1996, doi:10.2307/3318418):
 * y = x + s^2/2 L L' grad log p(x) + s L e, s learned. */
#include "numeric/rounding.h"

#include "mh/mh_types.h"

#include "mh/mh_move.h"
#include "mh/mh_proposal.h"
#include "numeric/linalg.h"

/* out <- L L' g: the gradient in the metric of L. */
static void times_covariance(const mh_proposal *p, const double *l,
                             const double *g, double *out) {
  const size_t d = p->d;
  if (p->diagonal) {
    for (size_t j = 0; j < d; j++)
      out[j] = l[j] * l[j] * g[j];
    return;
  }
  for (size_t j = 0; j < d; j++) {
    double sum = 0.0;
    for (size_t i = j; i < d; i++)
      sum += l[i + d * j] * g[i];
    out[j] = sum;
  }
  linalg_lower_times_vector(l, d, out, out);
}

static void centre(const mh_proposal *p, double step, mh_place x, double *out) {
  times_covariance(p, p->factor, x.slope, out);
  for (size_t j = 0; j < p->d; j++)
    out[j] = x.x[j] + 0.5 * step * step * out[j];
}

static status propose(const mh_proposal *p, const mh_memory *memory, mh_place x,
                      const double *row, double *y, double *work) {
  const double step = mh_learned_step(p, memory);
  centre(p, step, x, y);
  mh_add_step(p, p->factor, step, row, y, work);
  return STATUS_OK;
}

static status log_q(const mh_proposal *p, const mh_memory *memory,
                    const double *y, mh_place x, double *value, double *work) {
  const double step = mh_learned_step(p, memory);
  centre(p, step, x, work);
  *value = mh_step_log_q(p, p->factor, step, y, work);
  return STATUS_OK;
}

static void learn(const mh_proposal *p, const mh_memory *memory,
                  const double *x, double rate, double *work) {
  (void)x;
  (void)work;
  mh_learn_step(p, memory, rate);
}

const mh_move_type mh_langevin = {.variates = mh_law_variates,
                                  .draw = mh_law_draw,
                                  .update = mh_metropolis_update,
                                  .propose = propose,
                                  .log_q = log_q,
                                  .learn = learn,
                                  .learn_again = mh_count_again,
                                  .needs_slope = 1,
                                  .takes_power = 1};
