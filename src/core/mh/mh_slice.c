#include "numeric/rounding.h"

#include "mh/mh_slice.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "mh/mh_proposal.h"
#include "numeric/linalg.h"
#include "numeric/rmath.h"

/* A sweep over a block; m->next is the point asked for. */
typedef struct {
  mh_model *m;
  mh_block *block;
  const scan_control *control;
  philox_stream choices;
  double height;   /* log of it                            */
  double asked;    /* points                               */
  double value[2]; /* of the point asked for last          */
  int above;       /* is the density there above the height */
} slice;

static slice open_slice(mh_model *m, size_t b, const double *uniforms,
                        const scan_control *control) {
  slice s = {.m = m, .block = &m->block[b], .control = control};
  s.choices = mh_open_choices(uniforms);
  memcpy(m->next, m->x, m->d * sizeof(double));
  return s;
}

/* s->above <- does m->next, where log density less `part` counts, lie above? */
static status ask(slice *s, double part) {
  mh_model *m = s->m;
  const scan_control *control = s->control;
  if (control->stop && control->stop(control->stop_data))
    return STATUS_INTERRUPTED;
  const status outcome = mh_evaluate(m, m->next, m->next_point, s->value);
  s->asked += 1.0;
  s->above =
    s->value[1] > -INFINITY && m->power * s->value[1] - part >= s->height;
  return outcome;
}

/* The state's point <- the one asked for last. */
static void take(slice *s) {
  mh_model *m = s->m;
  memcpy(m->x, m->next, m->d * sizeof(double));
  memcpy(m->point, m->next_point, m->d * sizeof(double));
  memcpy(m->value, s->value, sizeof s->value);
  m->slope[0] = 0.0;
}

static void end_slice(slice *s, size_t b, double u) {
  const int in_burnin = scan_in_burnin(*s->m->sweep + 1.0, s->control);
  mh_count(&s->block->memory, in_burnin, 1);
  s->block->memory.effort[in_burnin ? 0 : 1] += s->asked;
  if (s->m->trace)
    mh_trace_end(s->m, b, u);
}

/* ---- one coordinate ------------------------------------------------------ */

/* An interval of coordinate `at` of the model, and how it was changed. */
typedef struct {
  size_t at;
  double left, right;
  double grown, shrunk;
} interval;

/* Sums of widths may overflow. */
static double within(double x) {
  return fmin(fmax(x, -0.25 * DBL_MAX), 0.25 * DBL_MAX);
}

/* *end moves out by `width` while the density there is above the height, at most
 * `steps` times. */
static status step_end(slice *s, interval *i, double *end, double width,
                       double steps) {
  for (double n = 0.0; n < steps; n += 1.0) {
    s->m->next[i->at] = *end;
    const status outcome = ask(s, 0.0);
    if (outcome != STATUS_OK || !s->above)
      return outcome;
    *end = within(*end + width);
    i->grown += 1.0;
  }
  return STATUS_OK;
}

/* The steps that the interval may take are divided between its ends at random,
 * so that any of its points would have led to it as likely. */
static status step_out(slice *s, interval *i, double x, double width) {
  const double most = (double)s->block->proposal->longest - 1.0;
  i->left = within(x - width * philox_unif(&s->choices));
  i->right = within(i->left + width);
  const double below = floor((most + 1.0) * philox_unif(&s->choices));
  const status outcome = step_end(s, i, &i->left, -width, below);
  return outcome == STATUS_OK ? step_end(s, i, &i->right, width, most - below)
                              : outcome;
}

/* Points are drawn until one is above.  An interval without points other than x,
 * which only a random density leads to, leaves x. */
static status shrink(slice *s, interval *i, double x) {
  for (;;) {
    const double y = i->left + philox_unif(&s->choices) * (i->right - i->left);
    s->m->next[i->at] = y;
    if (y == x)
      return STATUS_OK;
    const status outcome = ask(s, 0.0);
    if (outcome != STATUS_OK)
      return outcome;
    if (s->above) {
      take(s);
      return STATUS_OK;
    }
    i->shrunk += 1.0;
    if (y < x)
      i->left = y;
    else
      i->right = y;
  }
}

/* log w <- log w + gain (share - 1/2), with the share of steps out among steps
 * out and shrinkages (the aim of Tibbits et al. 2014,
 * doi:10.1080/10618600.2013.791193). */
static void learn_width(const interval *i, double gain, double *width) {
  const double changes = i->grown + i->shrunk;
  if (changes > 0.0)
    *width *= exp(gain * (i->grown / changes - 0.5));
}

status mh_slice_update(mh_model *m, size_t b, double u, const double *variates,
                       const scan_control *control) {
  slice s = open_slice(m, b, variates, control);
  const mh_proposal *p = s.block->proposal;
  const mh_memory *memory = &s.block->memory;
  const int learns =
    p->tuned != MH_FIXED && scan_in_burnin(*m->sweep + 1.0, control);
  if (learns)
    memory->tuning[1] += 1.0;
  for (size_t j = 0; j < p->d; j++) {
    interval i = {.at = (size_t)s.block->index[j]};
    const double x = m->x[i.at];
    s.height = m->power * m->value[1] + log(philox_unif(&s.choices));
    status outcome = step_out(&s, &i, x, memory->factor[j]);
    if (outcome == STATUS_OK)
      outcome = shrink(&s, &i, x);
    if (outcome != STATUS_OK)
      return outcome;
    if (learns)
      learn_width(&i, mh_gain(memory->tuning[1]), &memory->factor[j]);
  }
  end_slice(&s, b, u);
  return STATUS_OK;
}

/* ---- ellipses ------------------------------------------------------------ */

/* The ellipse through z = L^-1 (x - m) and e, and what the normal's log density
 * needs of it. */
typedef struct {
  const double *from, *other; /* d: x - m, L e */
  double square, other_square, product;
} ellipse;

static ellipse open_ellipse(const slice *s, const double *e) {
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

static status ask_angle(slice *s, const ellipse *e, double angle) {
  const mh_proposal *p = s->block->proposal;
  const double c = cos(angle), d = sin(angle);
  for (size_t j = 0; j < p->d; j++)
    s->m->next[s->block->index[j]] =
      p->mean[j] + (c * e->from[j] + d * e->other[j]);
  return ask(s, log_normal(e, angle));
}

status mh_ellipse_update(mh_model *m, size_t b, double u,
                         const double *variates, const scan_control *control) {
  const size_t d = m->block[b].proposal->d;
  slice s = open_slice(m, b, variates + d, control);
  const ellipse e = open_ellipse(&s, variates);
  double angle = 2.0 * M_PI * philox_unif(&s.choices);
  double low = angle - 2.0 * M_PI, high = angle;
  s.height = m->power * m->value[1] - log_normal(&e, 0.0) + log(u);
  /* an angle of zero, to which only a random density leads, leaves x */
  while (angle != 0.0) {
    const status outcome = ask_angle(&s, &e, angle);
    if (outcome != STATUS_OK)
      return outcome;
    if (s.above) {
      take(&s);
      break;
    }
    if (angle < 0.0)
      low = angle;
    else
      high = angle;
    angle = low + philox_unif(&s.choices) * (high - low);
  }
  end_slice(&s, b, u);
  return STATUS_OK;
}
