/* The core of mixtures with an unknown number of components, without R: what is
 * recorded, threads, segments, a number that the prior fixes, and failures.  That
 * its draws have the right distribution is tested from R
 * (test-gmm-unknown-exact.R). */
#include "gmm/gmm_unknown.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "gmm_fixture.h"
#include "harness.h"

void test_gmm_unknown(void);

enum { SWEEPS = 40 };

/* ---- a model with its memory ------------------------------------------------- */

typedef struct {
  fixture mixture; /* its k: the largest number of components */
  gmm_unknown_data data;
  gmm_unknown_state state;
  double *log_prior, *g0, *s0;
  double k, alpha;
} number_fixture;

/* Everything is drawn and recorded. */
static number_fixture new_number(gmm_form form, int holes, size_t n, size_t d,
                                 size_t max) {
  number_fixture f = {.mixture = new_case(form, holes, n, d, max),
                      .log_prior = new_numbers(max),
                      .g0 = new_spread(d, 0.8, form == COVARIANCE_DIAGONAL),
                      .s0 = new_spread(d, 1.9, form == COVARIANCE_DIAGONAL),
                      .k = (double)max,
                      .alpha = 1.3};
  for (size_t c = 0; c < max; c++)
    f.log_prior[c] = -log((double)max);
  f.data = (gmm_unknown_data){.log_prior = f.log_prior,
                              .g0 = f.g0,
                              .f1 = 6.0,
                              .f2 = 3.0,
                              .df0 = (double)d + 1.0,
                              .dynamic = 1,
                              .draw_alpha = 1,
                              .draw_s0 = 1,
                              .keep_components = 1};
  /* probabilities of allocations are not recorded */
  release_numbers(f.mixture.state.prob);
  f.mixture.state.prob = NULL;
  return f;
}

static void release_number(number_fixture *f) {
  release_fixture(&f->mixture);
  release_numbers(f->log_prior);
  release_numbers(f->g0);
  release_numbers(f->s0);
}

static status run_segment(number_fixture *f, size_t sweeps, int threads,
                          double *draws) {
  const scan_control control = {.thin = 1.0, .threads = threads};
  const gmm_data *data = &f->mixture.data;
  const gmm_unknown_state further = {&f->k, &f->alpha, f->s0};
  gmm_unknown model;
  double *work = new_bytes(gmm_unknown_work_size(data));
  status outcome = gmm_unknown_open(&model, data, &f->mixture.state, &f->data,
                                    &further, work, threads);
  if (outcome == STATUS_OK) {
    const scan_model scan = {&model, gmm_unknown_sweep, gmm_unknown_record};
    outcome =
      scan_sweeps(&scan, &control, sweeps, &f->mixture.sweep, draws, sweeps);
  }
  release_numbers(work);
  return outcome;
}

/* All draws of `segments` segments, a row a sweep: SWEEPS x columns. */
static double *run_chain(number_fixture *f, size_t segments, int threads) {
  const size_t columns = gmm_unknown_columns(&f->mixture.data, &f->data);
  const size_t length = SWEEPS / segments;
  double *draws = new_numbers(SWEEPS * columns);
  double *part = new_numbers(length * columns);
  set_seed(61, 62);
  for (size_t s = 0; s < segments; s++) {
    EXPECT(run_segment(f, length, threads, part) == STATUS_OK);
    for (size_t r = 0; r < length; r++)
      for (size_t c = 0; c < columns; c++)
        draws[(s * length + r) * columns + c] = part[r + length * c];
  }
  release_numbers(part);
  return draws;
}

/* ---- what is recorded --------------------------------------------------------- */

static size_t distinct(const double *z, size_t n, size_t max) {
  size_t count = 0;
  for (size_t c = 1; c <= max; c++)
    for (size_t i = 0; i < n; i++)
      if (z[i] == (double)c) {
        count++;
        break;
      }
  return count;
}

static void check_components(const gmm_data *data, size_t k,
                             const double *row) {
  const size_t d = data->d, max = data->k;
  const double *pi = row, *mu = row + max, *sigma = mu + max * d;
  double total = 0.0;
  for (size_t c = 0; c < max; c++) {
    EXPECT(c < k ? pi[c] >= 0.0 : pi[c] == 0.0);
    total += pi[c];
    for (size_t j = 0; j < d; j++) {
      EXPECT(c < k ? isfinite(mu[c + max * j]) : mu[c + max * j] == 0.0);
      if (data->form == COVARIANCE_FULL) {
        const double variance = sigma[c + max * (j + d * j)];
        EXPECT(c < k ? variance > 0.0 : variance == 0.0);
      } else if (data->form == COVARIANCE_DIAGONAL) {
        const double variance = sigma[c + max * j];
        EXPECT(c < k ? variance > 0.0 : variance == 0.0);
      } else {
        EXPECT(sigma[j + d * j] > 0.0);
      }
    }
  }
  EXPECT_NEAR(total, 1.0, 1e-12);
}

static void check_row(const number_fixture *f, const double *row) {
  const gmm_data *data = &f->mixture.data;
  const size_t n = data->n, d = data->d, k = (size_t)row[0];
  const size_t scales = data->form == COVARIANCE_DIAGONAL ? d : d * d;
  const size_t step = data->form == COVARIANCE_DIAGONAL ? 1 : d + 1;
  const size_t columns = gmm_unknown_columns(data, &f->data);
  const double *z = row + columns - data->missing.entries - n;
  EXPECT(row[0] == (double)k && k >= 1 && k <= data->k);
  EXPECT(row[2] > 0.0);
  for (size_t j = 0; j < d; j++)
    EXPECT(row[3 + j * step] > 0.0);
  EXPECT(isfinite(row[3 + scales]));
  check_components(data, k, row + 4 + scales);
  for (size_t i = 0; i < n; i++)
    EXPECT(z[i] >= 1.0 && z[i] <= (double)k);
  EXPECT(row[1] == (double)distinct(z, n, data->k));
  EXPECT(all_finite(row, columns));
}

static void check_shape(gmm_form form, int holes, size_t n, size_t d,
                        size_t max) {
  number_fixture f = new_number(form, holes, n, d, max);
  const size_t columns = gmm_unknown_columns(&f.mixture.data, &f.data);
  double *draws = run_chain(&f, 1, 1);
  for (size_t r = 0; r < SWEEPS; r++)
    check_row(&f, draws + r * columns);
  EXPECT(f.k == draws[(SWEEPS - 1) * columns]);
  EXPECT(f.alpha == draws[(SWEEPS - 1) * columns + 2]);
  release_numbers(draws);
  release_number(&f);
}

static void every_shape_is_recorded_right(void) {
  const size_t lengths[] = {1, 16, 600}, numbers[] = {1, 2, 7};
  for (size_t t = 0; t < LENGTH(forms); t++)
    for (int holes = 0; holes < 2; holes++)
      for (size_t l = 0; l < LENGTH(lengths); l++)
        for (size_t m = 0; m < LENGTH(numbers); m++)
          check_shape(forms[t], holes, lengths[l], 1 + (l + m) % 3, numbers[m]);
}

/* ---- threads and segments: the same bits ---------------------------------------- */

static void same_chains(gmm_form form, int holes, size_t n, size_t segments,
                        int threads) {
  number_fixture f = new_number(form, holes, n, 2, 6);
  number_fixture g = new_number(form, holes, n, 2, 6);
  const size_t columns = gmm_unknown_columns(&f.mixture.data, &f.data);
  double *one = run_chain(&f, 1, 1), *other = run_chain(&g, segments, threads);
  EXPECT(same_bits(one, other, SWEEPS * columns));
  EXPECT(same_bits(f.s0, g.s0, 4));
  EXPECT(same_bits(f.mixture.state.mu, g.mixture.state.mu, 12));
  EXPECT(same_bits(f.mixture.state.factor, g.mixture.state.factor,
                   gmm_factor_size(form, 2, 6)));
  release_numbers(one);
  release_numbers(other);
  release_number(&f);
  release_number(&g);
}

static void threads_and_segments_never_show(void) {
  for (size_t t = 0; t < LENGTH(forms); t++)
    for (int holes = 0; holes < 2; holes++) {
      same_chains(forms[t], holes, 700, 1, 3);
      same_chains(forms[t], holes, 40, 8, 1);
      same_chains(forms[t], holes, 40, SWEEPS, 2);
    }
}

/* ---- priors that leave less to draw ---------------------------------------------- */

/* Only k = 2 has a probability; alpha and S0 are fixed; nothing of components. */
static void what_is_fixed_stays(void) {
  for (size_t t = 0; t < LENGTH(forms); t++) {
    number_fixture f = new_number(forms[t], 0, 30, 2, 5);
    for (size_t c = 0; c < 5; c++)
      f.log_prior[c] = c == 1 ? 0.0 : -INFINITY;
    for (size_t i = 0; i < 30; i++)
      f.mixture.state.z[i] = 1 + (int)(i % 2);
    f.k = 2.0;
    f.data.draw_alpha = f.data.draw_s0 = f.data.keep_components = 0;
    f.data.dynamic = 0;
    const size_t columns = gmm_unknown_columns(&f.mixture.data, &f.data);
    EXPECT(columns == 3 + 30);
    double *draws = run_chain(&f, 1, 1);
    for (size_t r = 0; r < SWEEPS; r++)
      EXPECT(draws[r * columns] == 2.0 && draws[r * columns + 1] <= 2.0);
    EXPECT(f.alpha == 1.3 && f.s0[0] == 1.9);
    release_numbers(draws);
    release_number(&f);
  }
}

/* ---- failures ---------------------------------------------------------------------- */

static void expect_status(number_fixture *f, status expected) {
  double *draws =
    new_numbers(2 * gmm_unknown_columns(&f->mixture.data, &f->data));
  set_seed(71, 72);
  EXPECT(run_segment(f, 2, 1, draws) == expected);
  release_numbers(draws);
  release_number(f);
}

static void failures_are_reported(void) {
  for (size_t t = 0; t < LENGTH(forms); t++) {
    number_fixture prior = new_number(forms[t], 0, 9, 2, 3);
    number_fixture factor = new_number(forms[t], 0, 9, 2, 3);
    for (size_t c = 0; c < 3; c++)
      prior.log_prior[c] = -INFINITY;
    expect_status(&prior, STATUS_NOT_FINITE);
    /* a move of a group would draw the covariance anew */
    factor.mixture.data.merge_split = 0;
    factor.mixture.state.factor[0] = 0.0;
    expect_status(&factor, STATUS_NOT_POSITIVE_DEFINITE);
  }
  number_fixture g0 = new_number(COVARIANCE_FULL, 0, 9, 2, 3);
  g0.g0[0] = -1e9;
  expect_status(&g0, STATUS_NOT_POSITIVE_DEFINITE);
}

static void sizes_that_overflow_are_zero(void) {
  gmm_data data = {.n = 10, .d = 2, .k = SIZE_MAX / 64};
  EXPECT(gmm_unknown_work_size(&data) == 0);
  data.k = 20;
  EXPECT(gmm_unknown_work_size(&data) > gmm_work_size(&data));
}

void test_gmm_unknown(void) {
  run_test("gmm_unknown: every shape is recorded right",
           every_shape_is_recorded_right);
  run_test("gmm_unknown: threads and segments never show",
           threads_and_segments_never_show);
  run_test("gmm_unknown: what is fixed stays", what_is_fixed_stays);
  run_test("gmm_unknown: failures are reported", failures_are_reported);
  run_test("gmm_unknown: sizes that overflow are zero",
           sizes_that_overflow_are_zero);
}
