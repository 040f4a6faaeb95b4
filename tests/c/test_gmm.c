/* The Gaussian mixture's core without R: shapes around the lengths of lanes and
 * chunks, threads, segments, what is recorded, densities against a computation
 * with the formulas, and the failures it reports.  That its draws have the
 * right distribution is tested from R (test-gmm-exact.R). */
#include "gmm.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "harness.h"
#include "lanes.h"
#include "rmath.h"

void test_gmm(void);

#define MAX_D 5
#define MAX_K 4
#define LOG_2PI 1.837877066409345483560659472811

/* ---- a model with its memory --------------------------------------------- */

/* Every array is a block of its own of exactly the right length, so that the
 * address sanitizer sees any step beyond it. */
typedef struct {
  gmm_data data;
  gmm_state state;
  double *x, *alpha, *m0, *q0, *q0_m0, *s0, *z;
  double sweep;
} fixture;

/* scale * 0.4^|i - j| */
static double *new_spread(size_t d, double scale) {
  double *a = new_numbers(d * d);
  for (size_t j = 0; j < d; j++)
    for (size_t i = 0; i < d; i++)
      a[i + d * j] = scale * pow(0.4, fabs((double)i - (double)j));
  return a;
}

static void set_prior(fixture *f, size_t d, size_t k) {
  f->alpha = new_numbers(k);
  f->m0 = new_numbers(d);
  f->q0_m0 = new_numbers(d);
  f->q0 = new_spread(d, 0.3);
  f->s0 = new_spread(d, 1.9);
  for (size_t c = 0; c < k; c++)
    f->alpha[c] = 0.7 + (double)c;
  for (size_t j = 0; j < d; j++)
    f->m0[j] = 0.5 - (double)j;
  for (size_t j = 0; j < d; j++)
    for (size_t i = 0; i < d; i++)
      f->q0_m0[i] += f->q0[i + d * j] * f->m0[j];
}

/* z lives in memory of doubles, which is aligned for it. */
static void set_state(fixture *f, size_t n, size_t d, size_t k) {
  f->z = new_numbers(n);
  f->state.z = (int *)(void *)f->z;
  f->state.log_pi = new_numbers(k);
  f->state.mu = new_numbers(k * d);
  f->state.sigma = new_numbers(k * d * d);
  for (size_t i = 0; i < n; i++)
    f->state.z[i] = 1 + (int)(i % k);
  for (size_t c = 0; c < k; c++)
    f->state.log_pi[c] = -log((double)k);
  for (size_t e = 0; e < k * d; e++)
    f->state.mu[e] = norm_rand();
  for (size_t c = 0; c < k; c++)
    for (size_t j = 0; j < d; j++)
      f->state.sigma[c + k * (j + d * j)] = 1.0 + (double)c;
}

/* Two clusters; the same numbers whenever the sizes are the same. */
static fixture new_fixture(size_t n, size_t d, size_t k) {
  fixture f = {0};
  set_seed(31, 32);
  f.x = new_numbers(n * d);
  for (size_t e = 0; e < n * d; e++)
    f.x[e] = norm_rand() + (e % 3 == 0 ? 2.0 : -1.0);
  set_prior(&f, d, k);
  set_state(&f, n, d, k);
  const gmm_data data = {
    n, d, k, f.x, f.alpha, f.m0, f.q0, f.q0_m0, f.s0, (double)d + 2.5, 1};
  f.data = data;
  return f;
}

static void release_fixture(fixture *f) {
  double *all[] = {f->x,        f->alpha,      f->m0, f->q0,
                   f->q0_m0,    f->s0,         f->z,  f->state.log_pi,
                   f->state.mu, f->state.sigma};
  for (size_t i = 0; i < LENGTH(all); i++)
    release_numbers(all[i]);
}

/* A segment: opens the model in fresh work space, as each .Call does; runs. */
static status run_segment(fixture *f, size_t sweeps, int threads, double *draws,
                          gmm_model *model, double **work) {
  const scan_control control = {0.0, 1.0, threads, NULL, NULL};
  *work = new_numbers(gmm_work_size(&f->data));
  const status outcome = gmm_open(model, &f->data, &f->state, *work, threads);
  if (outcome != STATUS_OK)
    return outcome;
  const scan_model scan = {model, gmm_sweep, gmm_record};
  return scan_sweeps(&scan, &control, sweeps, &f->sweep, draws, sweeps);
}

/* All draws of `segments` segments of `length` sweeps, by segment, row and
 * column. */
static double *run_chain(fixture *f, size_t segments, size_t length,
                         int threads) {
  const size_t columns = gmm_columns(&f->data), size = length * columns;
  double *draws = new_numbers(segments * size), *rows = new_numbers(size);
  set_seed(41, 42);
  for (size_t s = 0; s < segments; s++) {
    gmm_model model;
    double *work;
    EXPECT(run_segment(f, length, threads, rows, &model, &work) == STATUS_OK);
    release_numbers(work);
    for (size_t r = 0; r < length; r++)
      for (size_t c = 0; c < columns; c++)
        draws[s * size + r * columns + c] = rows[r + length * c];
  }
  release_numbers(rows);
  return draws;
}

/* ---- the densities by the formulas --------------------------------------- */

/* a (d x d) is overwritten; b <- a^-1 b and the determinant, by elimination: a
 * is positive definite, so no pivot vanishes. */
static double eliminate(double *a, double *b, size_t d) {
  double determinant = 1.0;
  for (size_t p = 0; p < d; p++) {
    determinant *= a[p + d * p];
    for (size_t i = 0; i < d; i++) {
      if (i == p)
        continue;
      const double factor = a[i + d * p] / a[p + d * p];
      for (size_t j = p; j < d; j++)
        a[i + d * j] -= factor * a[p + d * j];
      b[i] -= factor * b[p];
    }
  }
  for (size_t p = 0; p < d; p++)
    b[p] /= a[p + d * p];
  return determinant;
}

/* pi_c N(x_i | mu_c, Sigma_c); element e of pi, mu, sigma at [e * stride]. */
static double joint_density(const gmm_data *data, size_t i, size_t c,
                            const double *pi, const double *mu,
                            const double *sigma, size_t stride) {
  const size_t n = data->n, d = data->d, k = data->k;
  double a[MAX_D * MAX_D], b[MAX_D], deviation[MAX_D], square = 0.0;
  for (size_t j = 0; j < d; j++)
    b[j] = deviation[j] = data->x[i + n * j] - mu[(c + k * j) * stride];
  for (size_t e = 0; e < d * d; e++)
    a[e] = sigma[(c + k * e) * stride];
  const double determinant = eliminate(a, b, d);
  for (size_t j = 0; j < d; j++)
    square += deviation[j] * b[j];
  return pi[c * stride] *
         exp(-0.5 * ((double)d * LOG_2PI + log(determinant) + square));
}

/* ---- shapes -------------------------------------------------------------- */

/* One row of the record (column c at row[c]) against what its columns mean. */
static void check_row(const gmm_data *data, const double *row) {
  const size_t n = data->n, d = data->d, k = data->k;
  const double *mu = row + k, *sigma = mu + k * d, *rest = sigma + k * d * d;
  double total = 0.0, log_lik = 0.0, counts[MAX_K] = {0}, occupied = 0.0;
  for (size_t c = 0; c < k; c++)
    total += row[c];
  for (size_t i = 0; i < n; i++) {
    double density = 0.0;
    for (size_t c = 0; c < k; c++)
      density += joint_density(data, i, c, row, mu, sigma, 1);
    log_lik += log(density);
    EXPECT(rest[2 + i] >= 1.0 && rest[2 + i] <= (double)k);
    counts[(size_t)rest[2 + i] - 1] += 1.0;
  }
  for (size_t c = 0; c < k; c++)
    occupied += counts[c] > 0.0;
  EXPECT_NEAR(total, 1.0, 1e-14);
  EXPECT_NEAR(rest[0], log_lik, 1e-11);
  EXPECT(rest[1] == occupied);
  for (size_t c = 0; c < k; c++)
    for (size_t j = 0; j < d; j++)
      for (size_t i = 0; i < j; i++)
        EXPECT(sigma[c + k * (i + d * j)] == sigma[c + k * (j + d * i)]);
}

static void check_shape(size_t n, size_t d, size_t k) {
  const size_t sweeps = 3;
  fixture f = new_fixture(n, d, k);
  const size_t columns = gmm_columns(&f.data);
  double *draws = run_chain(&f, 1, sweeps, 1);
  EXPECT(f.sweep == (double)sweeps);
  EXPECT(all_finite(draws, sweeps * columns));
  for (size_t s = 0; s < sweeps; s++)
    check_row(&f.data, draws + s * columns);
  release_numbers(draws);
  release_fixture(&f);
}

/* n below, at and above a block of lanes and a chunk; k above n too. */
static const size_t lengths[] = {1, 7, 8, 9, 511, 512, 513, 1000, 5000};

static void every_shape_is_recorded_right(void) {
  for (size_t l = 0; l < LENGTH(lengths); l++)
    for (size_t d = 1; d <= MAX_D; d++)
      for (size_t k = 1; k <= MAX_K; k++)
        check_shape(lengths[l], d, k);
}

/* Without z there are n columns fewer and nothing else changes. */
static void z_is_recorded_on_request(void) {
  fixture f = new_fixture(20, 2, 3), g = new_fixture(20, 2, 3);
  g.data.keep_z = 0;
  double *with = run_chain(&f, 1, 1, 1), *without = run_chain(&g, 1, 1, 1);
  EXPECT(gmm_columns(&f.data) == 3 * 7 + 2 + 20);
  EXPECT(gmm_columns(&g.data) == 3 * 7 + 2);
  EXPECT(same_bits(with, without, 3 * 7 + 2));
  release_numbers(with);
  release_numbers(without);
  release_fixture(&f);
  release_fixture(&g);
}

static void record_is_the_state(void) {
  fixture f = new_fixture(30, 3, 2);
  const size_t k = 2, d = 3, means = k * d, squares = k * d * d;
  double *draws = run_chain(&f, 1, 5, 1);
  const double *row = draws + 4 * gmm_columns(&f.data);
  for (size_t c = 0; c < k; c++)
    EXPECT(row[c] == exp(f.state.log_pi[c]));
  EXPECT(same_bits(row + k, f.state.mu, means));
  EXPECT(same_bits(row + k + means, f.state.sigma, squares));
  for (size_t i = 0; i < 30; i++)
    EXPECT(row[k + means + squares + 2 + i] == f.state.z[i]);
  release_numbers(draws);
  release_fixture(&f);
}

/* ---- threads and segments: the same bits --------------------------------- */

static void same_as_one_thread(size_t n, int threads) {
  const size_t sweeps = 10;
  fixture f = new_fixture(n, 2, 3), g = new_fixture(n, 2, 3);
  double *one = run_chain(&f, 1, sweeps, 1);
  double *several = run_chain(&g, 1, sweeps, threads);
  EXPECT(same_bits(one, several, sweeps * gmm_columns(&f.data)));
  release_numbers(one);
  release_numbers(several);
  release_fixture(&f);
  release_fixture(&g);
}

static void threads_never_show(void) {
  const int threads[] = {2, 3, 7};
  for (size_t t = 0; t < LENGTH(threads); t++) {
    same_as_one_thread(9, threads[t]);
    same_as_one_thread(1000, threads[t]);
    same_as_one_thread(5000, threads[t]);
    same_as_one_thread(40000, threads[t]); /* all 64 chunks but a part */
  }
}

static void same_as_one_segment(size_t n, size_t d, size_t k) {
  fixture f = new_fixture(n, d, k), g = new_fixture(n, d, k);
  double *whole = run_chain(&f, 1, 12, 1), *cut = run_chain(&g, 6, 2, 1);
  EXPECT(same_bits(whole, cut, 12 * gmm_columns(&f.data)));
  EXPECT(same_bits(f.state.log_pi, g.state.log_pi, k));
  EXPECT(memcmp(f.state.z, g.state.z, n * sizeof(int)) == 0);
  release_numbers(whole);
  release_numbers(cut);
  release_fixture(&f);
  release_fixture(&g);
}

static void segments_never_show(void) {
  for (size_t l = 0; l < LENGTH(lengths); l++) {
    same_as_one_segment(lengths[l], 1, 2);
    same_as_one_segment(lengths[l], 2, 1);
    same_as_one_segment(lengths[l], 3, 4);
  }
}

/* ---- gmm_evaluate -------------------------------------------------------- */

/* Parameters of `draws` draws as rows: pi, mu and sigma of a chain. */
typedef struct {
  fixture f;
  double *pi, *mu, *sigma;
  gmm_evaluation job;
} evaluation_fixture;

static evaluation_fixture new_evaluation(size_t n, size_t d, size_t k,
                                         size_t draws) {
  evaluation_fixture e = {.f = new_fixture(n, d, k)};
  const size_t columns = gmm_columns(&e.f.data);
  double *rows = run_chain(&e.f, 1, draws, 1);
  e.pi = new_numbers(draws * k);
  e.mu = new_numbers(draws * k * d);
  e.sigma = new_numbers(draws * k * d * d);
  for (size_t s = 0; s < draws; s++) {
    const double *row = rows + s * columns;
    for (size_t c = 0; c < k; c++)
      e.pi[s + draws * c] = row[c];
    for (size_t c = 0; c < k * d; c++)
      e.mu[s + draws * c] = row[k + c];
    for (size_t c = 0; c < k * d * d; c++)
      e.sigma[s + draws * c] = row[k + k * d + c];
  }
  release_numbers(rows);
  const gmm_evaluation job = {n,       d,    k,    draws, e.f.x, e.pi, e.mu,
                              e.sigma, NULL, NULL, NULL,  NULL,  NULL};
  e.job = job;
  return e;
}

static void release_evaluation(evaluation_fixture *e) {
  release_numbers(e->pi);
  release_numbers(e->mu);
  release_numbers(e->sigma);
  release_fixture(&e->f);
}

static status evaluate(const gmm_evaluation *job) {
  double *work = new_numbers(gmm_evaluate_size(job->d, job->k));
  const status outcome = gmm_evaluate(job, work);
  release_numbers(work);
  return outcome;
}

/* The three results by the formulas, from one draw at a time. */
static void evaluate_directly(const evaluation_fixture *e,
                              const gmm_evaluation *job, double *log_density,
                              double *prob, double *agreement) {
  const size_t n = job->n, k = job->k, draws = job->draws;
  for (size_t s = 0; s < draws; s++)
    for (size_t i = 0; i < n; i++) {
      double joint[MAX_K], total = 0.0;
      for (size_t c = 0; c < k; c++) {
        joint[c] = joint_density(&e->f.data, i, c, job->pi + s, job->mu + s,
                                 job->sigma + s, draws);
        total += joint[c];
      }
      log_density[s + draws * i] = log(total);
      for (size_t c = 0; c < k; c++) {
        const size_t label = (size_t)job->order[s + draws * c] - 1;
        const size_t pivot = (size_t)job->pivot[i] - 1;
        prob[i + n * label] += joint[c] / total / (double)draws;
        agreement[s + draws * (c + k * pivot)] += joint[c] / total;
      }
    }
}

static void all_near(const double *a, const double *b, size_t n) {
  for (size_t i = 0; i < n; i++)
    EXPECT_NEAR(a[i], b[i], 1e-11);
}

/* The labels move on by one from draw to draw: 1 2 3, 2 3 1, 3 1 2, ... */
static void evaluation_is_right(size_t n, size_t d, size_t k, size_t draws) {
  evaluation_fixture e = new_evaluation(n, d, k, draws);
  double *order = new_numbers(draws * k), *pivot = new_numbers(n);
  int *labels = (int *)(void *)order, *pivots = (int *)(void *)pivot;
  double *got[] = {new_numbers(draws * n), new_numbers(n * k),
                   new_numbers(draws * k * k)};
  double *expected[] = {new_numbers(draws * n), new_numbers(n * k),
                        new_numbers(draws * k * k)};
  for (size_t s = 0; s < draws; s++)
    for (size_t c = 0; c < k; c++)
      labels[s + draws * c] = 1 + (int)((s + c) % k);
  for (size_t i = 0; i < n; i++)
    pivots[i] = 1 + (int)(i * i % k);
  e.job.order = labels;
  e.job.pivot = pivots;
  e.job.log_density = got[0];
  e.job.prob = got[1];
  e.job.agreement = got[2];
  EXPECT(evaluate(&e.job) == STATUS_OK);
  evaluate_directly(&e, &e.job, expected[0], expected[1], expected[2]);
  all_near(got[0], expected[0], draws * n);
  all_near(got[1], expected[1], n * k);
  all_near(got[2], expected[2], draws * k * k);
  for (size_t r = 0; r < 3; r++) {
    release_numbers(got[r]);
    release_numbers(expected[r]);
  }
  release_numbers(order);
  release_numbers(pivot);
  release_evaluation(&e);
}

static void evaluations_are_right(void) {
  const size_t n[] = {1, 7, 8, 9, 50};
  for (size_t l = 0; l < LENGTH(n); l++) {
    evaluation_is_right(n[l], 1, 1, 1);
    evaluation_is_right(n[l], 2, 3, 4);
    evaluation_is_right(n[l], 5, 4, 3);
  }
}

/* Each result may be left out; without an order labels stand as they are. */
static void evaluation_of_less(void) {
  evaluation_fixture e = new_evaluation(11, 2, 2, 3);
  const double *none = NULL;
  double *prob = new_numbers(11 * 2);
  EXPECT(evaluate(&e.job) == STATUS_OK);
  e.job.prob = prob;
  EXPECT(evaluate(&e.job) == STATUS_OK);
  for (size_t i = 0; i < 11; i++)
    EXPECT_NEAR(prob[i] + prob[i + 11], 1.0, 1e-14);
  EXPECT(e.job.log_density == none && e.job.agreement == none);
  release_numbers(prob);
  release_evaluation(&e);
}

/* Observation by observation gives the bits of all at once. */
static void evaluation_in_parts(void) {
  const size_t n = 21, draws = 3;
  evaluation_fixture e = new_evaluation(n, 1, 3, draws);
  double *whole = new_numbers(draws * n), *one = new_numbers(draws);
  e.job.log_density = whole;
  EXPECT(evaluate(&e.job) == STATUS_OK);
  e.job.n = 1;
  e.job.log_density = one;
  for (size_t i = 0; i < n; i++) {
    e.job.x = e.f.x + i; /* d = 1 */
    EXPECT(evaluate(&e.job) == STATUS_OK);
    EXPECT(same_bits(one, whole + draws * i, draws));
  }
  release_numbers(whole);
  release_numbers(one);
  release_evaluation(&e);
}

/* ---- failures ------------------------------------------------------------ */

static void expect_status(fixture *f, status expected) {
  double *draws = new_numbers(2 * gmm_columns(&f->data)), *work;
  gmm_model model;
  set_seed(51, 52);
  EXPECT(run_segment(f, 2, 1, draws, &model, &work) == expected);
  release_numbers(work);
  release_numbers(draws);
  release_fixture(f);
}

static void indefinite_matrices_are_reported(void) {
  fixture s0 = new_fixture(5, 2, 2), q0 = new_fixture(5, 2, 2);
  fixture sigma = new_fixture(5, 2, 2);
  s0.s0[0] = -1e6;
  expect_status(&s0, STATUS_NOT_POSITIVE_DEFINITE);
  q0.q0[3] = -1e6;
  expect_status(&q0, STATUS_NOT_POSITIVE_DEFINITE);
  sigma.state.sigma[0] = 0.0;
  expect_status(&sigma, STATUS_NOT_POSITIVE_DEFINITE);
}

static void values_off_the_line_are_reported(void) {
  fixture missing = new_fixture(9, 2, 2), alpha = new_fixture(9, 2, 2);
  missing.x[4] = NAN;
  expect_status(&missing, STATUS_NOT_POSITIVE_DEFINITE);
  alpha.alpha[1] = NAN;
  expect_status(&alpha, STATUS_NOT_FINITE);
}

static void evaluation_reports_too(void) {
  evaluation_fixture e = new_evaluation(4, 2, 2, 2);
  e.sigma[1] = -1.0;
  EXPECT(evaluate(&e.job) == STATUS_NOT_POSITIVE_DEFINITE);
  release_evaluation(&e);
}

static void sizes_that_overflow_are_zero(void) {
  gmm_data data = {.n = SIZE_MAX / 8, .d = 2, .k = 2};
  EXPECT(gmm_work_size(&data) == 0);
  data.n = 10;
  data.k = SIZE_MAX / 64;
  EXPECT(gmm_work_size(&data) == 0);
  data.k = 2;
  data.d = SIZE_MAX / 1024;
  EXPECT(gmm_work_size(&data) == 0);
  data.d = 2;
  EXPECT(gmm_work_size(&data) > 0);
}

/* ---- exp_nonpositive ----------------------------------------------------- */

/* Doubles between two positive ones. */
static double ulps_between(double a, double b) {
  int64_t i, j;
  memcpy(&i, &a, sizeof i);
  memcpy(&j, &b, sizeof j);
  return fabs((double)(i - j));
}

static void exp_is_within_two_ulps(void) {
  double worst = 0.0;
  for (int i = 0; i <= 708 * 500; i++) {
    const double x = -(double)i / 500.0;
    worst = fmax(worst, ulps_between(exp_nonpositive(x), exp(x)));
  }
  /* where the nearest multiple of log 2 changes, and near zero */
  for (int i = 1; i < 2042; i++) {
    const double x = -(double)i * 0.34657359027997265;
    for (int step = -3; step <= 3 && x > -707.9; step++) {
      const double near = x * (1.0 + step * DBL_EPSILON);
      worst = fmax(worst, ulps_between(exp_nonpositive(near), exp(near)));
    }
  }
  for (double x = -1.0; x < -1e-320; x *= 0.7)
    worst = fmax(worst, ulps_between(exp_nonpositive(x), exp(x)));
  EXPECT(worst <= 2.0);
}

static void exp_at_the_ends(void) {
  EXPECT(exp_nonpositive(0.0) == 1.0);
  EXPECT(exp_nonpositive(-0.0) == 1.0);
  EXPECT(exp_nonpositive(-DBL_MIN) == 1.0);
  EXPECT(ulps_between(exp_nonpositive(-708.0), exp(-708.0)) <= 2.0);
  EXPECT(exp_nonpositive(nextafter(-708.0, -INFINITY)) == 0.0);
  EXPECT(exp_nonpositive(-1e4) == 0.0);
  EXPECT(exp_nonpositive(-DBL_MAX) == 0.0);
  EXPECT(exp_nonpositive(-INFINITY) == 0.0);
  EXPECT(isnan(exp_nonpositive(NAN)));
}

void test_gmm(void) {
  run_test("gmm: every shape is recorded right", every_shape_is_recorded_right);
  run_test("gmm: z is recorded on request", z_is_recorded_on_request);
  run_test("gmm: the record is the state", record_is_the_state);
  run_test("gmm: threads never show", threads_never_show);
  run_test("gmm: segments never show", segments_never_show);
  run_test("gmm: densities are those of the formulas", evaluations_are_right);
  run_test("gmm: results may be left out", evaluation_of_less);
  run_test("gmm: densities in parts", evaluation_in_parts);
  run_test("gmm: indefinite matrices are reported",
           indefinite_matrices_are_reported);
  run_test("gmm: values off the real line are reported",
           values_off_the_line_are_reported);
  run_test("gmm: densities report too", evaluation_reports_too);
  run_test("gmm: sizes that overflow are zero", sizes_that_overflow_are_zero);
  run_test("lanes: exp is within two ulps", exp_is_within_two_ulps);
  run_test("lanes: exp at the ends", exp_at_the_ends);
}
