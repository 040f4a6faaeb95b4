#include "numeric/rounding.h"

#include "mh/mh_trajectory.h"

#include <math.h>
#include <string.h>

#include "mh/mh_warmup.h"
#include "numeric/linalg.h"

/* ---- laying out ---------------------------------------------------------- */

static mh_phase lay_phase(size_t block_d, size_t d, arena *a) {
  mh_phase z = {0};
  z.x = arena_doubles(a, (double)d);
  z.point = arena_doubles(a, (double)d);
  z.slope = arena_doubles(a, (double)d);
  z.momentum = arena_doubles(a, (double)block_d);
  return z;
}

static mh_subtree lay_subtree(size_t block_d, size_t d, arena *a) {
  mh_subtree s = {0};
  s.total = arena_doubles(a, (double)block_d);
  s.first = arena_doubles(a, (double)block_d);
  s.last = arena_doubles(a, (double)block_d);
  s.drawn = lay_phase(block_d, d, a);
  return s;
}

mh_trajectory *mh_trajectory_open(const mh_proposal *p, size_t d, size_t count,
                                  arena *a) {
  mh_trajectory laid = {0};
  mh_trajectory *t = arena_take(a, 1.0, sizeof(mh_trajectory));
  laid.subtrees = arena_take(a, (double)count, sizeof(mh_subtree));
  laid.work = arena_doubles(a, (double)p->d);
  for (size_t i = 0; i < 2; i++)
    laid.edge[i] = lay_phase(p->d, d, a);
  laid.whole = lay_subtree(p->d, d, a);
  for (size_t i = 0; i < count; i++) {
    const mh_subtree s = lay_subtree(p->d, d, a);
    if (laid.subtrees)
      laid.subtrees[i] = s;
  }
  if (t)
    *t = laid;
  return t;
}

void mh_copy_position(const mh_trajectory *t, const mh_phase *from,
                      mh_phase *to) {
  const size_t bytes = t->m->d * sizeof(double);
  memcpy(to->x, from->x, bytes);
  memcpy(to->point, from->point, bytes);
  memcpy(to->slope, from->slope, bytes);
  to->value[0] = from->value[0];
  to->value[1] = from->value[1];
  to->energy = from->energy;
}

/* ---- dynamics ------------------------------------------------------------ */

static double half_square(const double *r, size_t d) {
  return 0.5 * linalg_inner(r, r, d);
}

/* r <- r + s L' g, g the gradient of the block's coordinates. */
static void kick(const mh_block *block, const double *slope, double s,
                 double *r) {
  const size_t d = block->proposal->d;
  const double *l = block->memory.factor;
  for (size_t j = 0; j < d; j++) {
    double sum = 0.0;
    if (block->proposal->diagonal)
      sum = l[j] * slope[block->index[j]];
    else
      for (size_t i = j; i < d; i++)
        sum += l[i + d * j] * slope[block->index[i]];
    r[j] += s * sum;
  }
}

/* x <- x + s L r */
static void drift(const mh_trajectory *t, const mh_phase *z, double s) {
  const mh_block *block = t->block;
  const size_t d = block->proposal->d;
  const double *l = block->memory.factor;
  if (block->proposal->diagonal)
    for (size_t j = 0; j < d; j++)
      t->work[j] = l[j] * z->momentum[j];
  else
    linalg_lower_times_vector(l, d, z->momentum, t->work);
  for (size_t j = 0; j < d; j++)
    z->x[block->index[j]] += s * t->work[j];
}

status mh_leapfrog(mh_trajectory *t, mh_phase *z, double step) {
  kick(t->block, z->slope, 0.5 * step, z->momentum);
  drift(t, z, step);
  z->energy = INFINITY;
  status outcome = mh_evaluate(t->m, z->x, z->point, z->value);
  if (outcome != STATUS_OK || !(-z->value[1] <= t->start + MH_DIVERGENCE))
    return outcome;
  outcome = mh_evaluate_slope(t->m, z->x, z->point, z->slope);
  if (outcome != STATUS_OK)
    return outcome;
  kick(t->block, z->slope, 0.5 * step, z->momentum);
  z->energy = -z->value[1] + half_square(z->momentum, t->block->proposal->d);
  return STATUS_OK;
}

status mh_advance(mh_trajectory *t, mh_phase *z, double step) {
  if (scan_must_stop(t->control))
    return STATUS_INTERRUPTED;
  const status outcome = mh_leapfrog(t, z, step);
  const double rise = z->energy - t->start;
  t->leapfrogs += 1.0;
  t->divergent = !(rise <= MH_DIVERGENCE);
  if (!t->divergent)
    t->rates += exp(fmin(0.0, -rise));
  return outcome;
}

/* ---- a trajectory -------------------------------------------------------- */

/* z <- the model's position with a momentum. */
static void begin_at(const mh_trajectory *t, const double *momentum,
                     mh_phase *z) {
  const mh_model *m = t->m;
  const mh_phase here = {.x = m->x,
                         .point = m->point,
                         .slope = m->slope + 1,
                         .value = {m->value[0], m->value[1]},
                         .energy = t->start};
  mh_copy_position(t, &here, z);
  memcpy(z->momentum, momentum, t->block->proposal->d * sizeof(double));
}

static mh_trajectory *begin(mh_model *m, mh_block *block,
                            const double *momentum,
                            const scan_control *control) {
  mh_trajectory *t = block->trajectory;
  t->m = m;
  t->block = block;
  t->control = control;
  t->step = exp(block->memory.tuning[0]);
  t->start = -m->value[1] + half_square(momentum, block->proposal->d);
  t->leapfrogs = t->rates = t->depth = 0.0;
  t->divergent = 0;
  begin_at(t, momentum, &t->edge[0]);
  return t;
}

/* The step at which the acceptance probability of a single one crosses 0.8: by
 * doubling or halving (Hoffman & Gelman 2014, algorithm 4). */
static status find_step(mh_model *m, mh_block *block, const double *momentum,
                        const scan_control *control) {
  const double sought = log(0.8);
  double direction = 0.0;
  for (int tries = 0; tries < 60; tries++) {
    mh_trajectory *t = begin(m, block, momentum, control);
    const status outcome = mh_advance(t, &t->edge[0], t->step);
    if (outcome != STATUS_OK)
      return outcome;
    const double towards = t->start - t->edge[0].energy > sought ? 1.0 : -1.0;
    if (direction != 0.0 && towards != direction)
      break;
    direction = towards;
    block->memory.tuning[0] += direction * M_LN2;
  }
  return STATUS_OK;
}

/* ---- one transition ------------------------------------------------------ */

static int learns(const mh_model *m, const mh_block *block,
                  const scan_control *control) {
  return block->proposal->tuned != MH_FIXED &&
         scan_in_burnin(*m->sweep + 1.0, control);
}

status mh_begin_transition(mh_model *m, size_t b, const double *momentum,
                           const scan_control *control, mh_trajectory **t) {
  mh_block *block = &m->block[b];
  status outcome = mh_know_slope(m);
  if (outcome == STATUS_OK && learns(m, block, control) &&
      mh_warmup_begins(&block->memory)) {
    outcome = find_step(m, block, momentum, control);
    mh_warmup_begin(&block->memory);
  }
  if (outcome == STATUS_OK)
    *t = begin(m, block, momentum, control);
  return outcome;
}

double mh_acceptance(const mh_trajectory *t) {
  return t->leapfrogs > 0.0 ? t->rates / t->leapfrogs : 0.0;
}

static void write_trace(mh_model *m, size_t b, double u, mh_ending end) {
  const double *value = end.at->value;
  const double correction =
    isnan(end.log_ratio) ? NAN : end.log_ratio - (value[1] - m->value[1]);
  const double numbers[MH_TRACE] = {
    *m->sweep + 1.0, (double)b + 1.0, u,        value[0], value[1],
    correction,      end.log_ratio,   end.moved};
  for (size_t i = 0; i < MH_TRACE; i++)
    *m->trace++ = numbers[i];
  for (size_t j = 0; j < m->d; j++)
    *m->trace++ = end.at->x[j];
}

static void move_to(mh_model *m, const mh_phase *z) {
  const size_t bytes = m->d * sizeof(double);
  memcpy(m->x, z->x, bytes);
  memcpy(m->point, z->point, bytes);
  memcpy(m->slope + 1, z->slope, bytes);
  m->value[0] = z->value[0];
  m->value[1] = z->value[1];
  m->slope[0] = 1.0;
}

/* Divergences, trees of the greatest depth; transitions, mean energy, sum of
 * squares about it, sum of squared differences, the last energy. */
static void count_energy(double *energies, const mh_trajectory *t,
                         double energy, int deepest) {
  const double apart = energy - energies[3], step = energy - energies[6];
  energies[0] += t->divergent;
  energies[1] += deepest;
  energies[5] += energies[2] > 0.0 ? step * step : 0.0;
  energies[2] += 1.0;
  energies[3] += apart / energies[2];
  energies[4] += apart * (energy - energies[3]);
  energies[6] = energy;
}

static void note_transition(mh_trajectory *t, size_t b, mh_ending end) {
  mh_block *block = t->block;
  const double sweep = *t->m->sweep + 1.0;
  const int in_burnin = scan_in_burnin(sweep, t->control);
  const double energy = end.moved ? end.at->energy : t->start;
  double *counts = block->memory.counts + (in_burnin ? 0 : 2);
  const double numbers[MH_TRANSITION] = {
    sweep,    (double)b + 1.0, mh_acceptance(t),     t->step,
    t->depth, t->leapfrogs,    (double)t->divergent, energy};
  memcpy(block->transition, numbers, sizeof(numbers));
  counts[0] += 1.0;
  counts[1] += end.accepted;
  if (!in_burnin)
    count_energy(block->memory.energies, t, energy, end.deepest);
}

void mh_end_transition(mh_trajectory *t, size_t b, double u, mh_ending end) {
  mh_model *m = t->m;
  note_transition(t, b, end);
  if (m->trace)
    write_trace(m, b, u, end);
  if (end.moved)
    move_to(m, end.at);
  if (learns(m, t->block, t->control))
    mh_warmup_learn(t->block, m->x, mh_acceptance(t), *m->sweep + 1.0,
                    t->control->burnin);
}
