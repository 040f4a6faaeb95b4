/* Random walks: y = x + L e, L given. */
#include "numeric/rounding.h"

#include "mh/mh_types.h"

#include <string.h>

#include "mh/mh_move.h"
#include "mh/mh_proposal.h"

/* L diagonal */
static void walk_along_axes(const mh_proposal *p, double scale, const double *x,
                            const double *e, double *y) {
  for (size_t j = 0; j < p->d; j++)
    y[j] = x[j] + scale * (p->factor[j] * e[j]);
}

static status propose(const mh_proposal *p, const mh_memory *memory, mh_place x,
                      const double *row, double *y, double *work) {
  (void)memory;
  if (p->diagonal) {
    walk_along_axes(p, p->family == MH_T ? row[p->d] : 1.0, x.x, row, y);
    return STATUS_OK;
  }
  memcpy(y, x.x, p->d * sizeof(double));
  mh_add_step(p, p->factor, 1.0, row, y, work);
  return STATUS_OK;
}

static status log_q(const mh_proposal *p, const mh_memory *memory,
                    const double *y, mh_place x, double *value, double *work) {
  (void)memory;
  memcpy(work, x.x, p->d * sizeof(double));
  *value = mh_step_log_q(p, p->factor, 1.0, y, work);
  return STATUS_OK;
}

const mh_move_type mh_random_walk = {.variates = mh_law_variates,
                                     .draw = mh_law_draw,
                                     .update = mh_metropolis_update,
                                     .propose = propose,
                                     .log_q = log_q,
                                     .symmetric = 1,
                                     .takes_power = 1};
