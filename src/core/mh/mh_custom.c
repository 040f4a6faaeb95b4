/* Proposals that the user wrote. */
#include "numeric/rounding.h"

#include "mh/mh_types.h"

#include "mh/mh_move.h"

static size_t variates(const mh_proposal *p) {
  (void)p;
  return 0;
}

static void draw(const mh_proposal *p, size_t rows, const generator *g,
                 double *out) {
  (void)p;
  (void)rows;
  (void)g;
  (void)out;
}

static status propose(const mh_proposal *p, const mh_memory *memory, mh_place x,
                      const double *row, double *y, double *work) {
  (void)memory;
  (void)row;
  (void)work;
  return p->settings.custom.draw(p->settings.custom.context, x.x, y)
           ? STATUS_USER_FUNCTION
           : STATUS_OK;
}

static status log_q(const mh_proposal *p, const mh_memory *memory,
                    const double *y, mh_place x, double *value, double *work) {
  (void)memory;
  (void)work;
  return p->settings.custom.log_q(p->settings.custom.context, y, x.x, value)
           ? STATUS_USER_FUNCTION
           : STATUS_OK;
}

const mh_move_type mh_custom = {.variates = variates,
                                .draw = draw,
                                .update = mh_metropolis_update,
                                .propose = propose,
                                .log_q = log_q,
                                .takes_power = 1};
