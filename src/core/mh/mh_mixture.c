/* Mixtures: y ~ sum_i w_i q_i(. | x). */
#include "numeric/rounding.h"

#include "mh/mh_types.h"

#include <math.h>

#include "mh/mh_move.h"
#include "numeric/rmath.h"

/* A uniform that chooses the part, and the variates of that part. */
static size_t variates(const mh_proposal *p) {
  size_t most = 0;
  for (size_t i = 0; i < p->parts; i++) {
    const size_t part = p->part[i].type->variates(&p->part[i]);
    most = part > most ? part : most;
  }
  return 1 + most;
}

/* The part that the uniform u chooses. */
static const mh_proposal *chosen_part(const mh_proposal *p, double u) {
  const double *weight = p->settings.mixture.weight;
  size_t i = 0;
  for (double sum = weight[0]; i + 1 < p->parts && u >= sum; i++)
    sum += weight[i + 1];
  return &p->part[i];
}

static void draw(const mh_proposal *p, size_t rows, const generator *g,
                 double *out) {
  const size_t width = variates(p);
  for (double *row = out; row < out + rows * width; row += width) {
    row[0] = unif_rand();
    const mh_proposal *part = chosen_part(p, row[0]);
    part->type->draw(part, 1, g, row + 1);
  }
}

static status propose(const mh_proposal *p, const mh_memory *memory, mh_place x,
                      const double *row, double *y, double *work) {
  const mh_proposal *part = chosen_part(p, row[0]);
  return part->type->propose(part, memory, x, row + 1, y, work);
}

/* log sum_i w_i q_i(y | x), the largest taken out. */
static status log_q(const mh_proposal *p, const mh_memory *memory,
                    const double *y, mh_place x, double *value, double *work) {
  double top = -INFINITY, sum = 0.0;
  for (size_t i = 0; i < p->parts; i++) {
    double part;
    const status outcome =
      p->part[i].type->log_q(&p->part[i], memory, y, x, &part, work);
    if (outcome != STATUS_OK)
      return outcome;
    part += log(p->settings.mixture.weight[i]);
    if (isnan(part) || part == INFINITY) {
      *value = part;
      return STATUS_OK;
    }
    if (part > top) {
      sum = sum * exp(top - part) + 1.0;
      top = part;
    } else if (part > -INFINITY) {
      sum += exp(part - top);
    }
  }
  *value = top > -INFINITY ? top + log(sum) : -INFINITY;
  return STATUS_OK;
}

const mh_move_type mh_mixture = {.variates = variates,
                                 .draw = draw,
                                 .update = mh_metropolis_update,
                                 .propose = propose,
                                 .log_q = log_q,
                                 .symmetric = 1,
                                 .takes_power = 1};
