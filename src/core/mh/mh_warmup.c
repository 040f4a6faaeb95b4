#include "numeric/rounding.h"

#include "mh/mh_warmup.h"

#include <math.h>
#include <string.h>

#include "numeric/linalg.h"

/* ---- the step ------------------------------------------------------------ */

int mh_warmup_begins(const mh_memory *memory) {
  return memory->averaging[MH_UPDATES] == 0.0;
}

void mh_warmup_begin(const mh_memory *memory) {
  memory->averaging[MH_CENTRE] = log(10.0) + memory->tuning[0];
  memory->averaging[MH_ERROR] = memory->averaging[MH_LOG_STEP] = 0.0;
}

/* Dual averaging with gamma = 0.05, t0 = 10, kappa = 0.75. */
static void learn_step(const mh_memory *memory, double short_of) {
  double *a = memory->averaging;
  const double n = a[MH_UPDATES] += 1.0;
  const double gain = 1.0 / (n + 10.0), weight = pow(n, -0.75);
  a[MH_ERROR] += gain * (short_of - a[MH_ERROR]);
  memory->tuning[0] = a[MH_CENTRE] - a[MH_ERROR] * sqrt(n) / 0.05;
  memory->tuning[1] += 1.0;
  a[MH_LOG_STEP] += weight * (memory->tuning[0] - a[MH_LOG_STEP]);
}

/* ---- windows ------------------------------------------------------------- */

/* The sweeps of the first buffer, of the first window, and the last sweep of the
 * last window. */
typedef struct {
  double before, first, end;
} windows;

static windows windows_of(double burnin) {
  if (burnin < 20.0)
    return (windows){burnin, 0.0, 0.0};
  if (burnin >= 150.0)
    return (windows){75.0, 25.0, burnin - 50.0};
  const double before = floor(0.15 * burnin), after = floor(0.1 * burnin);
  return (windows){before, burnin - before - after, burnin - after};
}

int mh_in_window(double t, double burnin) {
  const windows w = windows_of(burnin);
  return t > w.before && t <= w.end;
}

/* If the window after this one would not fit into the burn-in, this one takes all
 * the time that is left. */
int mh_window_ends(double t, double burnin) {
  const windows w = windows_of(burnin);
  if (!mh_in_window(t, burnin))
    return 0;
  double length = w.first, end = w.before + length;
  for (;;) {
    if (end + 2.0 * length > w.end)
      end = w.end;
    if (end >= t)
      return end == t;
    length *= 2.0;
    end += length;
  }
}

/* ---- the covariance ------------------------------------------------------ */

/* mean and spread with one more position. */
static void collect(const mh_block *block, const double *x) {
  const mh_memory *memory = &block->memory;
  const size_t d = block->proposal->d;
  const double n = memory->averaging[MH_COLLECTED] += 1.0;
  for (size_t j = 0; j < d; j++) {
    const double before = x[block->index[j]] - memory->mean[j];
    if (block->proposal->diagonal) {
      memory->spread[j] += before * before * (n - 1.0) / n;
      continue;
    }
    for (size_t i = j; i < d; i++)
      memory->spread[i + d * j] +=
        before * (x[block->index[i]] - memory->mean[i]) * (n - 1.0) / n;
  }
  for (size_t j = 0; j < d; j++)
    memory->mean[j] += (x[block->index[j]] - memory->mean[j]) / n;
}

/* Element (i, j) of L L', i >= j */
static double product(const double *l, size_t d, size_t i, size_t j) {
  double sum = 0.0;
  for (size_t k = 0; k <= j; k++)
    sum += l[i + d * k] * l[j + d * k];
  return sum;
}

/* L L' <- n / (n + 5) S + 0.001 * 5 / (n + 5) L L', with S the covariance of the
 * window's n positions.  A matrix without a factor leaves L as it is. */
static void learn_factor(const mh_block *block) {
  const mh_memory *memory = &block->memory;
  const size_t d = block->proposal->d;
  const double n = memory->averaging[MH_COLLECTED];
  const double weight = n / (n + 5.0) / (n - 1.0), rest = 0.005 / (n + 5.0);
  double *s = memory->spread, *l = memory->factor;
  if (block->proposal->diagonal) {
    for (size_t j = 0; j < d; j++)
      l[j] = sqrt(weight * s[j] + rest * l[j] * l[j]);
    return;
  }
  for (size_t j = 0; j < d; j++)
    for (size_t i = j; i < d; i++)
      s[i + d * j] = weight * s[i + d * j] + rest * product(l, d, i, j);
  if (linalg_cholesky(s, d) == STATUS_OK)
    memcpy(l, s, d * d * sizeof(double));
}

static void end_window(const mh_block *block) {
  const mh_memory *memory = &block->memory;
  const size_t d = block->proposal->d;
  const size_t length = block->proposal->diagonal ? d : d * d;
  if (memory->averaging[MH_COLLECTED] > 1.0)
    learn_factor(block);
  memset(memory->mean, 0, d * sizeof(double));
  memset(memory->spread, 0, length * sizeof(double));
  memory->averaging[MH_COLLECTED] = memory->averaging[MH_UPDATES] = 0.0;
}

void mh_warmup_learn(const mh_block *block, const double *x, double rate,
                     double t, double burnin) {
  const mh_memory *memory = &block->memory;
  learn_step(memory, block->proposal->target - rate);
  if (mh_in_window(t, burnin))
    collect(block, x);
  if (mh_window_ends(t, burnin))
    end_window(block);
  if (t == burnin)
    memory->tuning[0] = memory->averaging[MH_LOG_STEP];
}
