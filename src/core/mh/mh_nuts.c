/* The no-U-turn sampler (Hoffman & Gelman 2014, JMLR 15, 1593-1623), with
 * positions drawn by their densities (Betancourt 2017, arXiv:1701.02434,
 * appendix A).
 *
 * A trajectory is doubled, forwards or backwards, until it turns back.  A
 * trajectory whose momenta sum to R, with momenta r- and r+ at its ends, has
 * turned when R'r- <= 0 or R'r+ <= 0.  Each subtree must not have turned, nor
 * one half of it with the nearest momentum of the other.
 *
 * Within a subtree a position is drawn with probability proportional to
 * exp(-H).  Between the trajectory so far, of weight w, and its new half, of
 * weight v, the draw moves on with probability min(1, v / w). */
#include "numeric/rounding.h"

#include "mh/mh_types.h"

#include <math.h>
#include <string.h>

#include "mh/mh_proposal.h"
#include "mh/mh_trajectory.h"
#include "numeric/linalg.h"

/* ---- U-turns ------------------------------------------------------------- */

/* With momenta that sum to `a` + `b`, and `first` and `last` at the ends. */
static int turns(const double *a, const double *b, const double *first,
                 const double *last, size_t d) {
  double at_first = 0.0, at_last = 0.0;
  for (size_t j = 0; j < d; j++) {
    at_first += (a[j] + b[j]) * first[j];
    at_last += (a[j] + b[j]) * last[j];
  }
  return !(at_first > 0.0 && at_last > 0.0);
}

/* Does a trajectory, or one half of it with the next momentum of the other,
 * turn back? */
static int joined_turn(const mh_subtree *near, const mh_subtree *far,
                       size_t d) {
  return turns(near->total, far->total, near->first, far->last, d) ||
         turns(near->total, far->first, near->first, far->first, d) ||
         turns(near->last, far->total, near->last, far->last, d);
}

/* ---- subtrees ------------------------------------------------------------ */

typedef struct {
  mh_trajectory *t;
  philox_stream choices;
  mh_phase *edge; /* where the trajectory goes on */
  double step;    /* with its direction           */
} mh_tree;

static double log_sum(double a, double b) {
  return fmax(a, b) + log1p(exp(-fabs(a - b)));
}

/* Joins `far` to `near`, and takes the position drawn from `far` with the
 * probability exp(log_probability).  Returns whether there is no U-turn. */
static int join(mh_tree *tree, mh_subtree *near, mh_subtree *far,
                double log_probability) {
  const size_t d = tree->t->block->proposal->d;
  if (log(philox_unif(&tree->choices)) < log_probability) {
    const mh_phase left = near->drawn;
    near->drawn = far->drawn;
    far->drawn = left;
  }
  const int turned = joined_turn(near, far, d);
  double *end = near->last;
  near->last = far->last;
  far->last = end;
  near->log_weight = log_sum(near->log_weight, far->log_weight);
  for (size_t j = 0; j < d; j++)
    near->total[j] += far->total[j];
  return !turned;
}

/* One step further, as a tree of depth 0. */
static status build_leaf(mh_tree *tree, mh_subtree *out, int *goes_on) {
  mh_trajectory *t = tree->t;
  const size_t bytes = t->block->proposal->d * sizeof(double);
  const status outcome = mh_advance(t, tree->edge, tree->step);
  *goes_on = !t->divergent;
  if (outcome != STATUS_OK || t->divergent)
    return outcome;
  mh_copy_position(t, tree->edge, &out->drawn);
  memcpy(out->total, tree->edge->momentum, bytes);
  memcpy(out->first, tree->edge->momentum, bytes);
  memcpy(out->last, tree->edge->momentum, bytes);
  out->log_weight = t->start - tree->edge->energy;
  return STATUS_OK;
}

/* 2^depth steps further.  *goes_on is 0 when it turned or diverged. */
static status build(mh_tree *tree, size_t depth, mh_subtree *out,
                    int *goes_on) {
  if (depth == 0)
    return build_leaf(tree, out, goes_on);
  mh_subtree *far = &tree->t->subtrees[depth - 1];
  status outcome = build(tree, depth - 1, out, goes_on);
  if (outcome == STATUS_OK && *goes_on)
    outcome = build(tree, depth - 1, far, goes_on);
  if (outcome == STATUS_OK && *goes_on)
    *goes_on =
      join(tree, out, far,
           far->log_weight - log_sum(out->log_weight, far->log_weight));
  return outcome;
}

/* ---- the trajectory ------------------------------------------------------ */

static void begin_whole(mh_trajectory *t) {
  const size_t bytes = t->block->proposal->d * sizeof(double);
  mh_phase *start = &t->edge[0];
  mh_copy_position(t, start, &t->edge[1]);
  mh_copy_position(t, start, &t->whole.drawn);
  memcpy(t->edge[1].momentum, start->momentum, bytes);
  memcpy(t->whole.total, start->momentum, bytes);
  memcpy(t->whole.first, start->momentum, bytes);
  memcpy(t->whole.last, start->momentum, bytes);
  t->whole.log_weight = 0.0;
}

/* The same subtree with its ends exchanged. */
static void reverse(mh_subtree *s) {
  double *end = s->first;
  s->first = s->last;
  s->last = end;
}

/* The trajectory twice as long.  *goes_on: may it be doubled again? */
static status double_whole(mh_tree *tree, int *goes_on) {
  mh_trajectory *t = tree->t;
  const size_t depth = (size_t)t->depth;
  mh_subtree *far = &t->subtrees[depth];
  const int forwards = philox_unif(&tree->choices) < 0.5;
  tree->edge = &t->edge[forwards];
  tree->step = forwards ? t->step : -t->step;
  const status outcome = build(tree, depth, far, goes_on);
  if (outcome != STATUS_OK || !*goes_on)
    return outcome;
  t->depth += 1.0;
  if (!forwards)
    reverse(&t->whole);
  *goes_on = join(tree, &t->whole, far, far->log_weight - t->whole.log_weight);
  if (!forwards)
    reverse(&t->whole);
  return STATUS_OK;
}

/* t->whole.drawn <- a position of the trajectory from the model's with the
 * momentum of t->edge[0].  The two uniforms are the key of its choices. */
static status grow(mh_trajectory *t, const double *uniforms, size_t most) {
  mh_tree tree = {.t = t, .choices = mh_open_choices(uniforms)};
  status outcome = STATUS_OK;
  int goes_on = 1;
  begin_whole(t);
  while (outcome == STATUS_OK && goes_on && t->depth < (double)most)
    outcome = double_whole(&tree, &goes_on);
  return outcome;
}

static status update(mh_model *m, size_t b, double u, const double *variates,
                     const scan_control *control) {
  const mh_proposal *p = m->block[b].proposal;
  const size_t most = p->settings.nuts.depth;
  mh_trajectory *t = NULL;
  status outcome = mh_begin_transition(m, b, variates, control, &t);
  if (outcome == STATUS_OK)
    outcome = grow(t, variates + p->d, most);
  if (outcome != STATUS_OK)
    return outcome;
  mh_end_transition(t, b, u,
                    (mh_ending){.at = &t->whole.drawn,
                                .log_ratio = NAN,
                                .moved = 1,
                                .accepted = mh_acceptance(t),
                                .deepest = t->depth >= (double)most});
  return STATUS_OK;
}

const mh_move_type mh_nuts = {.variates = mh_keyed_variates,
                              .draw = mh_keyed_draw,
                              .update = update,
                              .needs_slope = 1,
                              .has_transitions = 1};
