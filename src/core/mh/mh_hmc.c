/* Hamiltonian Monte Carlo: trajectories of a given number of steps, of a size
 * spread over s (1 - jitter, 1 + jitter). */
#include "numeric/rounding.h"

#include "mh/mh_types.h"

#include <math.h>

#include "mh/mh_proposal.h"
#include "mh/mh_trajectory.h"

/* The end, t->edge[0]. */
static status travel(mh_trajectory *t, double uniform) {
  const mh_proposal *p = t->block->proposal;
  status outcome = STATUS_OK;
  t->step *= 1.0 + p->settings.hmc.jitter * (2.0 * uniform - 1.0);
  for (size_t i = 0; i < p->settings.hmc.steps && !t->divergent; i++) {
    outcome = mh_advance(t, &t->edge[0], t->step);
    if (outcome != STATUS_OK)
      return outcome;
  }
  return STATUS_OK;
}

/* Is the end accepted? */
static status update(mh_model *m, size_t b, double u, const double *variates,
                     const scan_control *control) {
  mh_trajectory *t = NULL;
  const size_t d = m->block[b].proposal->d;
  status outcome = mh_begin_transition(m, b, variates, control, &t);
  if (outcome == STATUS_OK)
    outcome = travel(t, variates[d]);
  if (outcome != STATUS_OK)
    return outcome;
  const double log_ratio = t->start - t->edge[0].energy;
  t->rates = t->leapfrogs * (t->divergent ? 0.0 : exp(fmin(0.0, log_ratio)));
  const int moved = !t->divergent && log(u) < log_ratio;
  mh_end_transition(t, b, u,
                    (mh_ending){.at = &t->edge[0],
                                .log_ratio = log_ratio,
                                .moved = moved,
                                .accepted = moved});
  return STATUS_OK;
}

const mh_move_type mh_hmc = {.variates = mh_keyed_variates,
                             .draw = mh_keyed_draw,
                             .update = update,
                             .needs_slope = 1,
                             .has_transitions = 1};
