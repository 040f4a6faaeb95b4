#include "numeric/rounding.h"

#include "mh/mh_tempered.h"

#include <math.h>
#include <stdint.h>

#include "mh/mh_proposal.h"
#include "mh/mh_types.h"
#include "numeric/rmath.h"

/* ---- variates ------------------------------------------------------------ */

static size_t variates(const mh_proposal *p) {
  const size_t count = p->settings.tempered.temperatures;
  return count - 1 + count * (1 + p->part->type->variates(p->part));
}

/* Uniforms for the swaps; for each temperature a uniform and the variates of its
 * step. */
static void draw(const mh_proposal *p, size_t rows, const generator *g,
                 double *out) {
  const size_t count = p->settings.tempered.temperatures;
  const size_t width = p->part->type->variates(p->part);
  for (size_t row = 0; row < rows; row++) {
    for (size_t k = 0; k + 1 < count; k++)
      *out++ = unif_rand();
    for (size_t k = 0; k < count; k++, out += width) {
      *out++ = unif_rand();
      p->part->type->draw(p->part, 1, g, out);
    }
  }
}

/* ---- replicas ------------------------------------------------------------ */

static void open(mh_block *block) {
  const mh_proposal *p = block->proposal;
  for (size_t k = 0; k < p->settings.tempered.temperatures; k++) {
    mh_block *inner = &block->memory.ladder->inner[k];
    inner->index = block->index;
    inner->whole = block->whole;
    inner->sloped = block->sloped;
    inner->symmetric = mh_is_symmetric(p->part);
  }
}

/* The model as replica k sees it. */
static mh_model replica_of(const mh_model *m, const mh_ladder *l, size_t k) {
  mh_model r = *m;
  r.blocks = 1;
  r.block = &l->inner[k];
  r.power = l->power[k];
  r.trace = r.transitions = NULL;
  r.high = NULL;
  if (k > 0) {
    r.x = l->x + (k - 1) * m->d;
    r.point = l->point + (k - 1) * m->d;
    r.value = l->value + (k - 1) * 2;
    r.slope = l->slope + (k - 1) * (m->d + 1);
  }
  return r;
}

static status move_replicas(mh_model *m, const mh_block *block,
                            const double *row, const scan_control *control) {
  const mh_proposal *p = block->proposal;
  const mh_move_type *inner = p->part->type;
  const size_t width = 1 + inner->variates(p->part);
  const size_t count = p->settings.tempered.temperatures;
  for (size_t k = 0; k < count; k++, row += width) {
    if (scan_must_stop(control))
      return STATUS_INTERRUPTED;
    mh_model r = replica_of(m, block->memory.ladder, k);
    const status outcome = inner->update(&r, 0, row[0], row + 1, control);
    if (outcome != STATUS_OK) {
      m->fault = r.fault;
      m->fault_point = r.fault_point;
      return outcome;
    }
  }
  return STATUS_OK;
}

/* ---- swaps --------------------------------------------------------------- */

static void exchange(double *a, double *b, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const double left = a[i];
    a[i] = b[i];
    b[i] = left;
  }
}

static double log_p(const mh_model *m, const mh_ladder *l, size_t k) {
  return k > 0 ? l->value[2 * (k - 1) + 1] : m->value[1];
}

/* The probability of a swap of k and k + 1. */
static double swap_probability(const mh_model *m, const mh_ladder *l,
                               size_t k) {
  const double apart = l->power[k] - l->power[k + 1];
  return exp(fmin(0.0, apart * (log_p(m, l, k + 1) - log_p(m, l, k))));
}

static void swap(mh_model *m, const mh_ladder *l, size_t k) {
  mh_model cold = replica_of(m, l, k), hot = replica_of(m, l, k + 1);
  exchange(cold.x, hot.x, m->d);
  exchange(cold.point, hot.point, m->d);
  exchange(cold.value, hot.value, 2);
  exchange(cold.slope, hot.slope, m->d + 1);
  exchange(&l->journeys[k], &l->journeys[k + 1], 1);
}

/* Every second pair may swap; the probabilities of all are noted. */
static void swap_neighbours(mh_model *m, const mh_block *block,
                            const double *uniforms, int in_burnin) {
  const mh_ladder *l = block->memory.ladder;
  const size_t pairs = block->proposal->settings.tempered.temperatures - 1;
  for (size_t k = 0; k < pairs; k++) {
    l->rate[k] = swap_probability(m, l, k);
    l->swaps[in_burnin ? k : pairs + k] += l->rate[k];
  }
  for (size_t k = (size_t)((uint64_t)*m->sweep % 2); k < pairs; k += 2)
    if (uniforms[k] < l->rate[k])
      swap(m, l, k);
}

/* ---- what is noted ------------------------------------------------------- */

static void note_journeys(const mh_ladder *l, size_t count, int in_burnin) {
  double *where = l->journeys + count;
  double *coldest = &where[(size_t)l->journeys[0]];
  double *hottest = &where[(size_t)l->journeys[count - 1]];
  if (*coldest == 2.0 && !in_burnin)
    l->journeys[2 * count] += 1.0;
  *coldest = 1.0;
  if (*hottest == 1.0)
    *hottest = 2.0;
}

static void note_heights(const mh_model *m, const mh_ladder *l, size_t count) {
  for (size_t k = 0; k < count; k++) {
    double *h = l->heights + 3 * k;
    const double value = log_p(m, l, k), apart = value - h[1];
    h[0] += 1.0;
    h[1] += apart / h[0];
    h[2] += apart * (value - h[1]);
  }
}

/* ---- learning ------------------------------------------------------------ */

/* log of each gap between log temperatures <- itself + gain (rate - mean rate);
 * the gaps then have the sum that they had.  Rates of one chain depend on each
 * other over many sweeps: the gain falls as 1 / n, which averages most. */
static void learn_ladder(const mh_block *block) {
  const mh_ladder *l = block->memory.ladder;
  const size_t pairs = block->proposal->settings.tempered.temperatures - 1;
  const double n = block->memory.tuning[1] += 1.0, gain = 10.0 / (n + 10.0);
  const double total = -log(l->power[pairs]);
  double mean = 0.0, sum = 0.0, above = 0.0;
  for (size_t k = 0; k < pairs; k++)
    mean += l->rate[k] / (double)pairs;
  for (size_t k = 0; k < pairs; k++) {
    l->gap[k] =
      log(l->power[k] / l->power[k + 1]) * exp(gain * (l->rate[k] - mean));
    sum += l->gap[k];
  }
  for (size_t k = 0; k + 1 < pairs; k++) {
    above += l->gap[k] * (total / sum);
    l->power[k + 1] = exp(-above);
  }
}

/* Starts the counts of swaps anew, and those of the replicas. */
static void learn_again(const mh_proposal *p, const mh_memory *memory) {
  mh_count_again(p, memory);
  for (size_t k = 0; k < p->settings.tempered.temperatures; k++)
    if (p->part->type->learn_again)
      p->part->type->learn_again(p->part, &memory->ladder->inner[k].memory);
}

/* ---- a sweep ------------------------------------------------------------- */

static status update(mh_model *m, size_t b, double u, const double *variates,
                     const scan_control *control) {
  const mh_block *block = &m->block[b];
  const size_t count = block->proposal->settings.tempered.temperatures;
  const int in_burnin = scan_in_burnin(*m->sweep + 1.0, control);
  const status outcome = move_replicas(m, block, variates + count - 1, control);
  if (outcome != STATUS_OK)
    return outcome;
  swap_neighbours(m, block, variates, in_burnin);
  note_journeys(block->memory.ladder, count, in_burnin);
  if (in_burnin)
    mh_forget_climb(m);
  if (in_burnin && block->proposal->tuned != MH_FIXED)
    learn_ladder(block);
  if (!in_burnin)
    note_heights(m, block->memory.ladder, count);
  if (m->trace)
    mh_trace_end(m, b, u);
  return STATUS_OK;
}

const mh_move_type mh_tempered = {.variates = variates,
                                  .draw = draw,
                                  .update = update,
                                  .learn_again = learn_again,
                                  .open = open};
