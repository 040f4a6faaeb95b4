/* Mixtures of every form with their memory, for tests of the cores of gmm.h and
 * gmm_unknown.h. */
#ifndef GIBBSITE_TEST_GMM_FIXTURE_H
#define GIBBSITE_TEST_GMM_FIXTURE_H

#include <math.h>

#include "gmm/gmm_sweep.h"
#include "harness.h"
#include "numeric/rmath.h"

static const gmm_form forms[] = {COVARIANCE_FULL, COVARIANCE_DIAGONAL,
                                 COVARIANCE_SHARED};

/* Every array is a block of its own of exactly the right length, so that the
 * address sanitizer sees any step beyond it. */
typedef struct {
  gmm_data data;
  gmm_state state;
  double *x, *alpha, *m0, *q0, *q0_m0, *s0, *z;
  double *pattern, *missing, *offset; /* memory of integers */
  double sweep;
} fixture;

/* Integers live in memory of doubles, which is aligned for them. */
static int *as_int(double *x) {
  return (int *)(void *)x;
}

/* scale * 0.4^|i - j|, or its diagonal */
static double *new_spread(size_t d, double scale, int diagonal) {
  double *a = new_numbers(d * d);
  for (size_t j = 0; j < d; j++)
    for (size_t i = 0; i < d; i++)
      if (i == j || !diagonal)
        a[i + d * j] = scale * pow(0.4, fabs((double)i - (double)j));
  return a;
}

static void set_prior(fixture *f, gmm_form form, size_t d, size_t k) {
  f->alpha = new_numbers(k);
  f->m0 = new_numbers(d);
  f->q0_m0 = new_numbers(d);
  f->q0 = new_spread(d, 0.3, 0);
  f->s0 = new_spread(d, 1.9, form == COVARIANCE_DIAGONAL);
  for (size_t c = 0; c < k; c++)
    f->alpha[c] = 0.7 + (double)c;
  for (size_t j = 0; j < d; j++)
    f->m0[j] = 0.5 - (double)j;
  for (size_t j = 0; j < d; j++)
    for (size_t i = 0; i < d; i++)
      f->q0_m0[i] += f->q0[i + d * j] * f->m0[j];
}

/* Every fifth row has missing entries: variable 1 alone, 2 alone, ..., all. */
static void set_holes(fixture *f, size_t n, size_t d) {
  const size_t patterns = d > 1 ? d + 1 : 1;
  int *pattern = as_int(f->pattern), *offset = as_int(f->offset);
  int *missing = as_int(f->missing);
  size_t entries = 0;
  for (size_t p = 0; p < patterns; p++)
    for (size_t j = 0; j < d; j++)
      missing[p * d + j] = p == d || p == j;
  for (size_t i = 0; i < n; i++) {
    offset[i] = (int)entries;
    if (i % 5)
      continue;
    pattern[i] = 1 + (int)(i / 5 % patterns);
    for (size_t j = 0; j < d; j++)
      if (missing[((size_t)pattern[i] - 1) * d + j]) {
        f->x[i + n * j] = NAN;
        entries++;
      }
  }
  const gmm_missing all = {entries, patterns, pattern, missing, offset};
  f->data.missing = all;
}

static void set_state(fixture *f) {
  const size_t n = f->data.n, d = f->data.d, k = f->data.k;
  const gmm_form form = f->data.form;
  const size_t step = form == COVARIANCE_DIAGONAL ? 1 : d + 1;
  const size_t block = form == COVARIANCE_DIAGONAL ? d : d * d;
  f->state.z = as_int(f->z);
  f->state.log_pi = new_numbers(k);
  f->state.mu = new_numbers(k * d);
  f->state.factor = new_numbers(gmm_factor_size(form, d, k));
  f->state.x_missing = new_numbers(f->data.missing.entries);
  f->state.prob = new_numbers(n * k);
  f->state.kept = new_numbers(1);
  f->state.moves = new_numbers(2 * MOVE_KINDS);
  for (size_t e = 0; e < 2 * MOVE_KINDS; e++)
    f->state.moves[e] = 0.0;
  for (size_t i = 0; i < n; i++)
    f->state.z[i] = 1 + (int)(i % k);
  for (size_t c = 0; c < k; c++)
    f->state.log_pi[c] = -log((double)k);
  for (size_t e = 0; e < k * d; e++)
    f->state.mu[e] = norm_rand();
  for (size_t c = 0; c < (form == COVARIANCE_SHARED ? 1 : k); c++)
    for (size_t j = 0; j < d; j++)
      f->state.factor[c * block + j * step] = sqrt(1.0 + (double)c);
}

/* Two clusters; the same numbers whenever the sizes are the same. */
static fixture new_case(gmm_form form, int holes, size_t n, size_t d,
                        size_t k) {
  fixture f = {.z = new_numbers(n),
               .pattern = new_numbers(n),
               .missing = new_numbers((d + 1) * d),
               .offset = new_numbers(n)};
  set_seed(31, 32);
  f.x = new_numbers(n * d);
  for (size_t e = 0; e < n * d; e++)
    f.x[e] = norm_rand() + (e % 3 == 0 ? 2.0 : -1.0);
  set_prior(&f, form, d, k);
  const gmm_data data = {.form = form,
                         .n = n,
                         .d = d,
                         .k = k,
                         .x = f.x,
                         .alpha = f.alpha,
                         .m0 = f.m0,
                         .q0 = f.q0,
                         .q0_m0 = f.q0_m0,
                         .s0 = f.s0,
                         .nu0 = (double)d + 2.5,
                         .keep_z = 1,
                         .keep_x = 1,
                         .merge_split = 1};
  f.data = data;
  if (holes)
    set_holes(&f, n, d);
  set_state(&f);
  return f;
}

static void release_fixture(fixture *f) {
  double *all[] = {f->x,
                   f->alpha,
                   f->m0,
                   f->q0,
                   f->q0_m0,
                   f->s0,
                   f->z,
                   f->pattern,
                   f->missing,
                   f->offset,
                   f->state.log_pi,
                   f->state.mu,
                   f->state.factor,
                   f->state.x_missing,
                   f->state.prob,
                   f->state.kept,
                   f->state.moves};
  for (size_t i = 0; i < LENGTH(all); i++)
    release_numbers(all[i]);
}

#endif
