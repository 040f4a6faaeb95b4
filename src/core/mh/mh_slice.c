/* Slice sampling of each coordinate of a block in turn.  An interval of the
 * coordinate's width w lies about it at random, and is stepped out by w (Neal
 * 2003, section 4.1) to at most max_steps widths; points are drawn from it, and
 * shrink it (section 4.2), until one is above the height. */
#include "numeric/rounding.h"

#include "mh/mh_types.h"

#include <float.h>
#include <math.h>

#include "mh/mh_height.h"
#include "mh/mh_proposal.h"
#include "numeric/uniforms.h"

static size_t variates(const mh_proposal *p) {
  (void)p;
  return 2;
}

static void draw(const mh_proposal *p, size_t rows, const generator *g,
                 double *out) {
  (void)p;
  uniforms_draw(g, out, 2 * rows);
}

/* An interval of coordinate `at` of the model, and how it was changed. */
typedef struct {
  size_t at;
  double left, right;
  double grown, shrunk;
} interval;

/* Kept away from overflow, since widths are added to it. */
static double within(double x) {
  return fmin(fmax(x, -0.25 * DBL_MAX), 0.25 * DBL_MAX);
}

/* Moves *end outwards by `width`, at most `steps` times, while the density there
 * is above the height. */
static status step_end(mh_height *s, interval *i, double *end, double width,
                       double steps) {
  for (double n = 0.0; n < steps; n += 1.0) {
    s->m->next[i->at] = *end;
    const status outcome = mh_ask_height(s, 0.0);
    if (outcome != STATUS_OK || !s->above)
      return outcome;
    *end = within(*end + width);
    i->grown += 1.0;
  }
  return STATUS_OK;
}

/* The steps that the interval may take are divided between its ends at random,
 * so that any of its points would have led to it as likely. */
static status step_out(mh_height *s, interval *i, double x, double width) {
  const double most = (double)s->block->proposal->settings.slice.widths - 1.0;
  i->left = within(x - width * philox_unif(&s->choices));
  i->right = within(i->left + width);
  const double below = floor((most + 1.0) * philox_unif(&s->choices));
  const status outcome = step_end(s, i, &i->left, -width, below);
  return outcome == STATUS_OK ? step_end(s, i, &i->right, width, most - below)
                              : outcome;
}

/* Draws points until one is above the height.  If the interval has shrunk to x,
 * which happens only with a random density, the chain stays at x. */
static status shrink(mh_height *s, interval *i, double x) {
  for (;;) {
    const double y = i->left + philox_unif(&s->choices) * (i->right - i->left);
    s->m->next[i->at] = y;
    if (y == x)
      return STATUS_OK;
    const status outcome = mh_ask_height(s, 0.0);
    if (outcome != STATUS_OK)
      return outcome;
    if (s->above) {
      mh_take_point(s);
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

static status update(mh_model *m, size_t b, double u, const double *variates,
                     const scan_control *control) {
  mh_height s = mh_open_height(m, b, variates, control);
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
  mh_end_height(&s, u);
  return STATUS_OK;
}

const mh_move_type mh_slice = {.variates = variates,
                               .draw = draw,
                               .update = update,
                               .learn_again = mh_count_again,
                               .takes_power = 1};
