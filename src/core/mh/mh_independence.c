/* Independence proposals: y = m + L e, m and L given. */
#include "numeric/rounding.h"

#include "mh/mh_types.h"

#include <string.h>

#include "mh/mh_move.h"
#include "mh/mh_proposal.h"

static status propose(const mh_proposal *p, const mh_memory *memory, mh_place x,
                      const double *row, double *y, double *work) {
  (void)memory;
  (void)x;
  memcpy(y, p->mean, p->d * sizeof(double));
  mh_add_step(p, p->factor, 1.0, row, y, work);
  return STATUS_OK;
}

static status log_q(const mh_proposal *p, const mh_memory *memory,
                    const double *y, mh_place x, double *value, double *work) {
  (void)memory;
  (void)x;
  memcpy(work, p->mean, p->d * sizeof(double));
  *value = mh_step_log_q(p, p->factor, 1.0, y, work);
  return STATUS_OK;
}

const mh_move_type mh_independence = {.variates = mh_law_variates,
                                      .draw = mh_law_draw,
                                      .update = mh_metropolis_update,
                                      .propose = propose,
                                      .log_q = log_q,
                                      .takes_power = 1};
