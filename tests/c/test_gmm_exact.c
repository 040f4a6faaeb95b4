/* The Gaussian mixture leaves its posterior as it is.  Parameters drawn from the
 * prior, allocations and observations drawn given them are a draw of all; after a
 * sweep given these observations they still are, so that no mean has changed.  Each
 * draw starts anew. */
#include "gmm/gmm_sweep.h"

#include <math.h>
#include <string.h>

#include "drawing.h"
#include "harness.h"
#include "numeric/linalg.h"
#include "numeric/rdist.h"
#include "numeric/rmath.h"

void test_gmm_exact(void);

/* N: a block of lanes and some more */
enum { N = 19, D = 2, K = 3, PATTERNS = 3 };

typedef struct {
  gmm_data data;
  gmm_state state;
  double x[N * D], alpha[K], m0[D], q0[D * D], q0_m0[D], s0[D * D];
  double q0_factor[D * D], s0_factor[D * D];
  double log_pi[K], mu[K * D], factor[K * D * D], x_missing[N * D], prob[N * K];
  double kept, moves[2 * MOVE_KINDS], *work;
  int z[N], pattern[N], missing[PATTERNS * D], offset[N];
} fixture;

/* ---- a model and its memory ---------------------------------------------- */

static void set_prior(fixture *f) {
  f->data.nu0 = D + 5.0;
  for (size_t c = 0; c < K; c++)
    f->alpha[c] = 0.8 + (double)c;
  for (size_t j = 0; j < D; j++) {
    f->m0[j] = 0.5 - (double)j;
    for (size_t i = 0; i < D; i++) {
      f->q0[i + D * j] = i == j ? 0.6 + 0.2 * (double)j : 0.2;
      f->s0[i + D * j] = i == j ? 9.0 + 2.0 * (double)j : 2.0;
      if (i != j && f->data.form == COVARIANCE_DIAGONAL)
        f->s0[i + D * j] = 0.0;
    }
  }
  for (size_t j = 0; j < D; j++)
    for (size_t i = 0; i < D; i++)
      f->q0_m0[i] += f->q0[i + D * j] * f->m0[j];
  memcpy(f->q0_factor, f->q0, sizeof f->q0);
  memcpy(f->s0_factor, f->s0, sizeof f->s0);
  EXPECT(linalg_cholesky(f->q0_factor, D) == STATUS_OK);
  EXPECT(linalg_cholesky(f->s0_factor, D) == STATUS_OK);
}

/* Rows 0, 4, 8, ... lack variable 1, then 2, then both. */
static void set_holes(fixture *f) {
  static const int missing[PATTERNS * D] = {1, 0, 0, 1, 1, 1};
  int entries = 0;
  memcpy(f->missing, missing, sizeof missing);
  for (size_t i = 0; i < N; i++) {
    f->offset[i] = entries;
    f->pattern[i] = i % 4 == 0 ? 1 + (int)(i / 4 % PATTERNS) : 0;
    entries += f->pattern[i] == 3 ? 2 : f->pattern[i] > 0;
  }
  f->data.missing =
    (gmm_missing){(size_t)entries, PATTERNS, f->pattern, f->missing, f->offset};
}

static void open_fixture(fixture *f, gmm_form form, int holes) {
  memset(f, 0, sizeof *f);
  f->data = (gmm_data){.form = form,
                       .n = N,
                       .d = D,
                       .k = K,
                       .x = f->x,
                       .alpha = f->alpha,
                       .m0 = f->m0,
                       .q0 = f->q0,
                       .q0_m0 = f->q0_m0,
                       .s0 = f->s0};
  set_prior(f);
  if (holes)
    set_holes(f);
  f->state = (gmm_state){f->z,         f->log_pi, f->mu,    f->factor,
                         f->x_missing, f->prob,   &f->kept, f->moves};
  f->work = new_bytes(gmm_work_size(&f->data));
}

/* ---- drawing all of it --------------------------------------------------- */

static double *factor_of(fixture *f, size_t c) {
  const gmm_form form = f->data.form;
  return f->factor + (form == COVARIANCE_DIAGONAL ? c * D
                      : form == COVARIANCE_SHARED ? 0
                                                  : c * D * D);
}

static void draw_covariance(fixture *f, size_t c) {
  double work[D * D], *l = factor_of(f, c);
  if (f->data.form == COVARIANCE_DIAGONAL)
    for (size_t j = 0; j < D; j++)
      l[j] = sqrt(f->s0[j + D * j] / rchisq(f->data.nu0));
  else if (f->data.form == COVARIANCE_FULL || c == 0)
    rdist_inverse_wishart_factor(f->data.nu0, f->s0_factor, D, l, work);
}

static void draw_parameters(fixture *f) {
  double mean[D];
  rdist_log_dirichlet(f->alpha, K, f->log_pi);
  for (size_t c = 0; c < K; c++) {
    for (size_t j = 0; j < D; j++)
      mean[j] = norm_rand();
    linalg_solve_lower_transposed(f->q0_factor, D, mean);
    for (size_t j = 0; j < D; j++)
      f->mu[c + K * j] = f->m0[j] + mean[j];
    draw_covariance(f, c);
  }
}

/* x_i ~ N(mu_c, L L') */
static void draw_observation(fixture *f, size_t i) {
  const size_t c = (size_t)f->z[i] - 1;
  const double *l = factor_of(f, c), e[D] = {norm_rand(), norm_rand()};
  for (size_t j = 0; j < D; j++) {
    double x = f->mu[c + K * j];
    if (f->data.form == COVARIANCE_DIAGONAL)
      x += l[j] * e[j];
    else
      for (size_t k = 0; k <= j; k++)
        x += l[j + D * k] * e[k];
    f->x[i + N * j] = x;
  }
}

/* Missing entries are part of the state, and not of the data. */
static void take_out_missing(fixture *f) {
  for (size_t i = 0; i < N && f->data.missing.entries; i++) {
    double *value = f->x_missing + f->offset[i];
    for (size_t j = 0; f->pattern[i] > 0 && j < D; j++)
      if (f->missing[((size_t)f->pattern[i] - 1) * D + j]) {
        *value++ = f->x[i + N * j];
        f->x[i + N * j] = NAN;
      }
  }
}

static void draw_all(fixture *f) {
  double weight[K];
  draw_parameters(f);
  for (size_t c = 0; c < K; c++)
    weight[c] = exp(f->log_pi[c]);
  for (size_t i = 0; i < N; i++) {
    f->z[i] = 1 + (int)draw_index(weight, K, unif_rand());
    draw_observation(f, i);
  }
  take_out_missing(f);
}

/* ---- what is looked at --------------------------------------------------- */

static double log_root(fixture *f, size_t c) {
  const double *l = factor_of(f, c);
  const size_t step = f->data.form == COVARIANCE_DIAGONAL ? 1 : D + 1;
  return log(l[0]) + log(l[step]);
}

/* (x - mu)'Sigma^-1(x - mu) of an observation in its component, bounded. */
static double closeness(fixture *f, size_t i) {
  const size_t c = (size_t)f->z[i] - 1;
  const double *l = factor_of(f, c);
  const double a = f->x[i] - f->mu[c], b = f->x[i + N] - f->mu[c + K];
  const int full = f->data.form != COVARIANCE_DIAGONAL;
  const double u = a / l[0],
               v = (b - (full ? l[1] * u : 0.0)) / l[full ? 3 : 1];
  return exp(-0.5 * (u * u + v * v));
}

static size_t statistics(fixture *f, double *out) {
  size_t count = 0;
  for (size_t c = 0; c < K; c++) {
    out[count++] = fmax(f->log_pi[c], -20.0);
    out[count++] = log_root(f, c);
    out[count++] = f->mu[c];
  }
  out[count++] = f->mu[K] * f->mu[0];
  out[count++] = f->mu[2 * K - 1] * f->mu[2 * K - 1];
  out[count++] = factor_of(f, 1)[1];
  out[count++] = f->z[1] == f->z[2];
  out[count++] = f->z[0] == 2; /* a row with a hole, where there are any */
  out[count++] = log_root(f, (size_t)f->z[0] - 1);
  out[count++] = log_root(f, (size_t)f->z[4] - 1);
  out[count++] = log_root(f, (size_t)f->z[18] - 1);
  out[count++] = closeness(f, 1);
  out[count++] = f->x[18] * f->mu[(size_t)f->z[18] - 1];
  for (size_t e = 0; e < 2 && f->data.missing.entries; e++) {
    out[count++] = f->x_missing[e];
    out[count++] = f->x_missing[e] * f->x_missing[e];
  }
  return count;
}

/* ---- sweeps -------------------------------------------------------------- */

/* prob after one recorded sweep is P(z_i = c | .), whose mean is that of z_i = c. */
static void compare_probabilities(const fixture *f, const int *z,
                                  invariance *prob) {
  double before[K], after[K];
  for (size_t c = 0; c < K; c++) {
    before[c] = z[18] == (int)c + 1;
    after[c] = f->prob[18 + N * c];
  }
  compare(prob, before, after);
}

static void sweep_model(fixture *f) {
  const scan_control control = {.thin = 1.0, .threads = 1, .recording = 1};
  gmm_model model;
  f->kept = 0.0;
  memset(f->prob, 0, sizeof f->prob);
  EXPECT(gmm_open(&model, &f->data, &f->state, f->work, 1) == STATUS_OK);
  EXPECT(gmm_sweep(&model, &control) == STATUS_OK);
}

static void sweeps_of(gmm_form form, int holes) {
  fixture f;
  double before[MOST_STATISTICS], after[MOST_STATISTICS];
  int z[N];
  open_fixture(&f, form, holes);
  set_seed(21, 22);
  draw_all(&f);
  invariance sweep = new_invariance(statistics(&f, before));
  invariance prob = new_invariance(K);
  for (int i = 0; i < 20000; i++) {
    draw_all(&f);
    statistics(&f, before);
    memcpy(z, f.z, sizeof z);
    sweep_model(&f);
    statistics(&f, after);
    compare(&sweep, before, after);
    compare_probabilities(&f, z, &prob);
  }
  EXPECT_INVARIANT(&sweep);
  EXPECT_INVARIANT(&prob);
  release_numbers(f.work);
}

static void sweeps_of_complete_rows(void) {
  sweeps_of(COVARIANCE_FULL, 0);
  sweeps_of(COVARIANCE_DIAGONAL, 0);
  sweeps_of(COVARIANCE_SHARED, 0);
}

static void sweeps_of_rows_with_holes(void) {
  sweeps_of(COVARIANCE_FULL, 1);
  sweeps_of(COVARIANCE_DIAGONAL, 1);
  sweeps_of(COVARIANCE_SHARED, 1);
}

void test_gmm_exact(void) {
  run_test("gmm: sweeps leave the posterior", sweeps_of_complete_rows);
  run_test("gmm: sweeps leave it with holes too", sweeps_of_rows_with_holes);
}
