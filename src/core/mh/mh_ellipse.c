/* Elliptical slice sampling (Murray, Adams & MacKay 2010, JMLR W&CP 9, 541-548)
 * of a whole block.  The density is taken as N(x; m, C) times the rest of it,
 * C = L L', and x' = m + (x - m) cos(a) + L e sin(a), e ~ N(0, I), with an angle
 * a for which the rest of the density is above a height. */
#include "numeric/rounding.h"

#include "mh/mh_types.h"

#include <math.h>

#include "mh/mh_height.h"
#include "mh/mh_proposal.h"
#include "numeric/linalg.h"
#include "numeric/rmath.h"

/* The ellipse through z = L^-1 (x - m) and e, and what the normal's log density
 * needs of it. */
typedef struct {
  const double *from, *other; /* d: x - m, L e */
  double square, other_square, product;
} ellipse;

static ellipse open_ellipse(const mh_height *s, const double *e) {
  const mh_proposal *p = s->block->proposal;
  mh_model *m = s->m;
  for (size_t j = 0; j < p->d; j++)
    m->a[j] = m->from[j] = m->x[s->block->index[j]] - p->mean[j];
  mh_solve_factor(p, p->factor, m->a);
  mh_times_factor(p, p->factor, e, m->to);
  return (ellipse){.from = m->from,
                   .other = m->to,
                   .square = linalg_inner(m->a, m->a, p->d),
                   .other_square = linalg_inner(e, e, p->d),
                   .product = linalg_inner(m->a, e, p->d)};
}

/* log N(x'; m, C) at an angle, without its constant. */
static double log_normal(const ellipse *e, double angle) {
  const double c = cos(angle), d = sin(angle);
  return -0.5 * (c * c * e->square + d * d * e->other_square +
                 2.0 * c * d * e->product);
}

static status ask_angle(mh_height *s, const ellipse *e, double angle) {
  const mh_proposal *p = s->block->proposal;
  const double c = cos(angle), d = sin(angle);
  for (size_t j = 0; j < p->d; j++)
    s->m->next[s->block->index[j]] =
      p->mean[j] + (c * e->from[j] + d * e->other[j]);
  return mh_ask_height(s, log_normal(e, angle));
}

/* u: of the height. */
static status update(mh_model *m, size_t b, double u, const double *variates,
                     const scan_control *control) {
  const size_t d = m->block[b].proposal->d;
  mh_height s = mh_open_height(m, b, variates + d, control);
  const ellipse e = open_ellipse(&s, variates);
  double angle = 2.0 * M_PI * philox_unif(&s.choices);
  double low = angle - 2.0 * M_PI, high = angle;
  s.height = m->power * m->value[1] - log_normal(&e, 0.0) + log(u);
  /* at an angle of zero, only reached with a random density, x stays */
  while (angle != 0.0) {
    const status outcome = ask_angle(&s, &e, angle);
    if (outcome != STATUS_OK)
      return outcome;
    if (s.above) {
      mh_take_point(&s);
      break;
    }
    if (angle < 0.0)
      low = angle;
    else
      high = angle;
    angle = low + philox_unif(&s.choices) * (high - low);
  }
  mh_end_height(&s, u);
  return STATUS_OK;
}

const mh_move_type mh_ellipse = {.variates = mh_keyed_variates,
                                 .draw = mh_keyed_draw,
                                 .update = update,
                                 .takes_power = 1};
