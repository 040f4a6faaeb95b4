/* The Gaussian mixture's core without R: shapes around the lengths of lanes and
 * chunks, each form of the covariances, with and without missing entries;
 * threads, segments, what is recorded, densities against a computation with the
 * formulas, the kernels in every width, and the failures it reports.  That its
 * draws have the right distribution is tested from R (test-gmm-exact.R). */
#include "gmm/gmm_sweep.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "gmm_fixture.h"
#include "harness.h"
#include "numeric/lanes.h"
#include "numeric/rmath.h"

void test_gmm(void);

#define MAX_D 5
#define MAX_K 4
#define LOG_2PI 1.837877066409345483560659472811

/* ---- runs --------------------------------------------------------------- */

static fixture new_fixture(size_t n, size_t d, size_t k) {
  return new_case(COVARIANCE_FULL, 0, n, d, k);
}

/* A segment: opens the model in fresh work space, as each .Call does; runs. */
static status run_segment(fixture *f, size_t sweeps,
                          const scan_control *control, double *draws) {
  gmm_model model;
  double *work = new_bytes(gmm_work_size(&f->data));
  const status opened =
    gmm_open(&model, &f->data, &f->state, work, control->threads);
  if (opened != STATUS_OK) {
    release_numbers(work);
    return opened;
  }
  const scan_model scan = {&model, gmm_sweep, gmm_record};
  const size_t rows = scan_rows(f->sweep, sweeps, control);
  const status outcome =
    scan_sweeps(&scan, control, sweeps, &f->sweep, draws, rows);
  release_numbers(work);
  return outcome;
}

/* All draws of `segments` segments of `length` sweeps, by segment, row and
 * column. */
static double *run_chain(fixture *f, size_t segments, size_t length,
                         int threads) {
  const scan_control control = {.thin = 1.0, .threads = threads};
  const size_t columns = gmm_columns(&f->data), size = length * columns;
  double *draws = new_numbers(segments * size), *rows = new_numbers(size);
  set_seed(41, 42);
  for (size_t s = 0; s < segments; s++) {
    EXPECT(run_segment(f, length, &control, rows) == STATUS_OK);
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

/* Sigma_c[i, j] of the stored numbers of a form. */
static double covariance(const gmm_data *data, const double *sigma,
                         size_t stride, size_t c, size_t i, size_t j) {
  const size_t d = data->d, k = data->k;
  if (data->form == COVARIANCE_DIAGONAL)
    return i == j ? sigma[(c + k * j) * stride] : 0.0;
  return data->form == COVARIANCE_SHARED
           ? sigma[(i + d * j) * stride]
           : sigma[(c + k * (i + d * j)) * stride];
}

/* pi_c N(x_i | mu_c, Sigma_c) of the observed entries of x_i; element e of pi,
 * mu, sigma at [e * stride]. */
static double joint_density(const gmm_data *data, size_t i, size_t c,
                            const double *pi, const double *mu,
                            const double *sigma, size_t stride) {
  const size_t n = data->n, k = data->k;
  double a[MAX_D * MAX_D], b[MAX_D], deviation[MAX_D], square = 0.0;
  size_t seen[MAX_D], d = 0;
  for (size_t j = 0; j < data->d; j++)
    if (!isnan(data->x[i + n * j]))
      seen[d++] = j;
  for (size_t j = 0; j < d; j++) {
    const double mean = mu[(c + k * seen[j]) * stride];
    b[j] = deviation[j] = data->x[i + n * seen[j]] - mean;
    for (size_t l = 0; l < d; l++)
      a[l + d * j] = covariance(data, sigma, stride, c, seen[l], seen[j]);
  }
  const double determinant = eliminate(a, b, d);
  for (size_t j = 0; j < d; j++)
    square += deviation[j] * b[j];
  return pi[c * stride] *
         exp(-0.5 * ((double)d * LOG_2PI + log(determinant) + square));
}

/* ---- shapes -------------------------------------------------------------- */

/* The parts of a row of the record. */
typedef struct {
  const double *pi, *mu, *sigma, *log_lik, *occupied, *z, *x;
} row_parts;

static row_parts parts_of(const gmm_data *data, const double *row) {
  const size_t k = data->k, d = data->d;
  row_parts p = {.pi = row, .mu = row + k};
  p.sigma = p.mu + k * d;
  p.log_lik = p.sigma + gmm_factor_size(data->form, d, k);
  p.occupied = p.log_lik + 1;
  p.z = p.log_lik + 2;
  p.x = p.z + data->n;
  return p;
}

/* One row of the record against what its columns mean; the probabilities of the
 * allocations (n x k) are added to `prob`. */
static void check_row(const gmm_data *data, const double *row, double *prob) {
  const size_t n = data->n, d = data->d, k = data->k;
  const row_parts p = parts_of(data, row);
  double total = 0.0, log_lik = 0.0, counts[MAX_K] = {0}, occupied = 0.0;
  for (size_t c = 0; c < k; c++)
    total += p.pi[c];
  for (size_t i = 0; i < n; i++) {
    double density = 0.0, joint[MAX_K];
    for (size_t c = 0; c < k; c++) {
      joint[c] = joint_density(data, i, c, p.pi, p.mu, p.sigma, 1);
      density += joint[c];
    }
    for (size_t c = 0; c < k; c++)
      prob[i + n * c] += joint[c] / density;
    log_lik += log(density);
    EXPECT(p.z[i] >= 1.0 && p.z[i] <= (double)k);
    counts[(size_t)p.z[i] - 1] += 1.0;
  }
  for (size_t c = 0; c < k; c++)
    occupied += counts[c] > 0.0;
  EXPECT_NEAR(total, 1.0, 1e-14);
  EXPECT_NEAR(*p.log_lik, log_lik, 1e-11);
  EXPECT(*p.occupied == occupied);
  for (size_t c = 0; c < k; c++)
    for (size_t j = 0; j < d; j++)
      for (size_t i = 0; i < j; i++)
        EXPECT(covariance(data, p.sigma, 1, c, i, j) ==
               covariance(data, p.sigma, 1, c, j, i));
}

static void check_shape(gmm_form form, int holes, size_t n, size_t d,
                        size_t k) {
  const size_t sweeps = 3;
  fixture f = new_case(form, holes, n, d, k);
  const size_t columns = gmm_columns(&f.data);
  double *draws = run_chain(&f, 1, sweeps, 1), *prob = new_numbers(n * k);
  EXPECT(f.sweep == (double)sweeps && *f.state.kept == (double)sweeps);
  EXPECT(all_finite(draws, sweeps * columns));
  for (size_t s = 0; s < sweeps; s++)
    check_row(&f.data, draws + s * columns, prob);
  for (size_t e = 0; e < n * k; e++)
    EXPECT_NEAR(f.state.prob[e], prob[e] / (double)sweeps, 1e-11);
  release_numbers(prob);
  release_numbers(draws);
  release_fixture(&f);
}

/* n below, at and above a block of lanes and a chunk; k above n too. */
static const size_t lengths[] = {1, 15, 16, 17, 511, 512, 513, 1300};

static void every_shape_is_recorded_right(void) {
  for (size_t f = 0; f < LENGTH(forms); f++)
    for (int holes = 0; holes < 2; holes++)
      for (size_t l = 0; l < LENGTH(lengths); l++)
        for (size_t d = 1; d <= MAX_D; d++)
          for (size_t k = 1; k <= MAX_K; k++)
            check_shape(forms[f], holes, lengths[l], d, k);
}

/* Without z and the missing entries there are fewer columns and nothing else
 * changes. */
static void blocks_are_recorded_on_request(void) {
  const size_t plain = 3 * 7 + 2;
  fixture f = new_case(COVARIANCE_FULL, 1, 20, 2, 3);
  fixture g = new_case(COVARIANCE_FULL, 1, 20, 2, 3);
  fixture h = new_case(COVARIANCE_FULL, 1, 20, 2, 3);
  g.data.keep_z = g.data.keep_x = 0;
  h.data.keep_z = 0;
  double *with = run_chain(&f, 1, 1, 1), *without = run_chain(&g, 1, 1, 1);
  double *x_alone = run_chain(&h, 1, 1, 1);
  EXPECT(f.data.missing.entries == 5); /* rows 0 and 15: 1; 5: 1; 10: 2 */
  EXPECT(gmm_columns(&f.data) == plain + 20 + 5);
  EXPECT(gmm_columns(&g.data) == plain);
  EXPECT(gmm_columns(&h.data) == plain + 5);
  EXPECT(same_bits(with, without, plain) && same_bits(with, x_alone, plain));
  EXPECT(same_bits(with + plain + 20, x_alone + plain, 5));
  release_numbers(with);
  release_numbers(without);
  release_numbers(x_alone);
  release_fixture(&f);
  release_fixture(&g);
  release_fixture(&h);
}

/* Sigma_c[i, j] = (L L')[i, j] of the state's factors. */
static double covariance_of_factor(const fixture *f, size_t c, size_t i,
                                   size_t j) {
  const size_t d = f->data.d;
  if (f->data.form == COVARIANCE_DIAGONAL)
    return i == j ? pow(f->state.factor[c * d + j], 2.0) : 0.0;
  const double *l =
    f->state.factor + (f->data.form == COVARIANCE_SHARED ? 0 : c * d * d);
  double sum = 0.0;
  for (size_t m = 0; m <= (i < j ? i : j); m++)
    sum += l[i + d * m] * l[j + d * m];
  return sum;
}

static void record_is_the_state(void) {
  for (size_t t = 0; t < LENGTH(forms); t++) {
    fixture f = new_case(forms[t], 1, 30, 3, 2);
    double *draws = run_chain(&f, 1, 5, 1);
    const row_parts p = parts_of(&f.data, draws + 4 * gmm_columns(&f.data));
    for (size_t c = 0; c < 2; c++)
      EXPECT(p.pi[c] == exp(f.state.log_pi[c]));
    EXPECT(same_bits(p.mu, f.state.mu, 2 * 3));
    for (size_t c = 0; c < 2; c++)
      for (size_t e = 0; e < 9; e++)
        EXPECT_NEAR(covariance(&f.data, p.sigma, 1, c, e % 3, e / 3),
                    covariance_of_factor(&f, c, e % 3, e / 3), 1e-13);
    for (size_t i = 0; i < 30; i++)
      EXPECT(p.z[i] == f.state.z[i]);
    EXPECT(same_bits(p.x, f.state.x_missing, f.data.missing.entries));
    release_numbers(draws);
    release_fixture(&f);
  }
}

/* Sweeps of burn-in and those thinned away leave no trace in prob. */
static void prob_is_of_recorded_sweeps(void) {
  const scan_control control = {.burnin = 3.0, .thin = 2.0, .threads = 1};
  fixture f = new_case(COVARIANCE_FULL, 1, 40, 2, 3);
  const size_t columns = gmm_columns(&f.data);
  double *draws = new_numbers(3 * columns), *row = new_numbers(columns);
  double *prob = new_numbers(40 * 3);
  set_seed(43, 44);
  EXPECT(run_segment(&f, 10, &control, draws) == STATUS_OK);
  EXPECT(*f.state.kept == 3.0);
  for (size_t r = 0; r < 3; r++) {
    for (size_t c = 0; c < columns; c++)
      row[c] = draws[r + 3 * c];
    check_row(&f.data, row, prob);
  }
  for (size_t e = 0; e < 40 * 3; e++)
    EXPECT_NEAR(f.state.prob[e], prob[e] / 3.0, 1e-12);
  release_numbers(draws);
  release_numbers(row);
  release_numbers(prob);
  release_fixture(&f);
}

/* ---- threads and segments: the same bits --------------------------------- */

static void same_ends(const fixture *f, const fixture *g) {
  const gmm_data *data = &f->data;
  EXPECT(same_bits(f->state.log_pi, g->state.log_pi, data->k));
  EXPECT(same_bits(f->state.prob, g->state.prob, data->n * data->k));
  EXPECT(
    same_bits(f->state.x_missing, g->state.x_missing, data->missing.entries));
  EXPECT(memcmp(f->state.z, g->state.z, data->n * sizeof(int)) == 0);
}

static void same_chains(fixture f, fixture g, double *one, double *other) {
  EXPECT(same_bits(one, other, 12 * gmm_columns(&f.data)));
  same_ends(&f, &g);
  release_numbers(one);
  release_numbers(other);
  release_fixture(&f);
  release_fixture(&g);
}

static void same_as_one_thread(gmm_form form, int holes, size_t n,
                               int threads) {
  fixture f = new_case(form, holes, n, 2, 3),
          g = new_case(form, holes, n, 2, 3);
  double *one = run_chain(&f, 1, 12, 1),
         *several = run_chain(&g, 1, 12, threads);
  same_chains(f, g, one, several);
}

static void threads_never_show(void) {
  const int threads[] = {2, 3, 7};
  for (size_t t = 0; t < LENGTH(threads); t++)
    for (size_t f = 0; f < LENGTH(forms); f++)
      for (int holes = 0; holes < 2; holes++) {
        same_as_one_thread(forms[f], holes, 9, threads[t]);
        same_as_one_thread(forms[f], holes, 5000, threads[t]);
      }
  same_as_one_thread(COVARIANCE_FULL, 1, 40000, 3); /* 64 chunks but a part */
}

static void same_as_one_segment(gmm_form form, int holes, size_t n, size_t d,
                                size_t k) {
  fixture f = new_case(form, holes, n, d, k),
          g = new_case(form, holes, n, d, k);
  double *whole = run_chain(&f, 1, 12, 1), *cut = run_chain(&g, 6, 2, 1);
  same_chains(f, g, whole, cut);
}

static void segments_never_show(void) {
  for (size_t f = 0; f < LENGTH(forms); f++)
    for (int holes = 0; holes < 2; holes++)
      for (size_t l = 0; l < LENGTH(lengths); l++) {
        same_as_one_segment(forms[f], holes, lengths[l], 1, 2);
        same_as_one_segment(forms[f], holes, lengths[l], 2, 1);
        same_as_one_segment(forms[f], holes, lengths[l], 3, 4);
      }
}

/* ---- iterated conditional modes ------------------------------------------ */

static status run_modes(fixture *f, size_t sweeps) {
  const scan_control control = {.thin = 1.0, .threads = 1};
  gmm_model model;
  double *work = new_bytes(gmm_work_size(&f->data));
  double *draws = new_numbers(sweeps * gmm_columns(&f->data));
  EXPECT(gmm_open(&model, &f->data, &f->state, work, 1) == STATUS_OK);
  model.mode = 1;
  const scan_model scan = {&model, gmm_sweep, gmm_record};
  const status outcome =
    scan_sweeps(&scan, &control, sweeps, &f->sweep, draws, sweeps);
  release_numbers(work);
  release_numbers(draws);
  return outcome;
}

/* No random number is used, and the search comes to rest. */
static void modes_are_a_search(void) {
  for (size_t t = 0; t < LENGTH(forms); t++)
    for (int holes = 0; holes < 2; holes++) {
      fixture f = new_case(forms[t], holes, 60, 2, 2);
      set_seed(45, 46);
      const double next = unif_rand();
      set_seed(45, 46);
      EXPECT(run_modes(&f, 500) == STATUS_OK);
      EXPECT(unif_rand() == next);
      double mu[4];
      memcpy(mu, f.state.mu, sizeof mu);
      EXPECT(run_modes(&f, 1) == STATUS_OK);
      for (size_t e = 0; e < 4; e++)
        EXPECT_NEAR(f.state.mu[e], mu[e], 1e-8);
      release_fixture(&f);
    }
}

/* alpha + n <= 1: the weight's mode is 0, of which the log is -Inf. */
static void weights_of_mode_zero(void) {
  fixture f = new_fixture(20, 1, 2);
  f.alpha[1] = 0.5;
  for (size_t i = 0; i < 20; i++)
    f.state.z[i] = 1;
  EXPECT(run_modes(&f, 1) == STATUS_OK);
  EXPECT(f.state.log_pi[0] == 0.0 && f.state.log_pi[1] == -INFINITY);
  for (size_t i = 0; i < 20; i++)
    EXPECT(f.state.z[i] == 1);
  EXPECT(all_finite(f.state.mu, 2) && all_finite(f.state.factor, 2));
  release_fixture(&f);
}

/* ---- interrupts ---------------------------------------------------------- */

static int second_question(void *asked) {
  return ++*(int *)asked == 2;
}

/* The first question comes before the sweep, the second one inside it, after 16
 * of 17 chunks, each with so much work that a batch has no more of them. */
static void a_long_sweep_is_interrupted(void) {
  int asked = 0;
  const scan_control control = {
    .thin = 1.0, .threads = 2, .stop = second_question, .stop_data = &asked};
  fixture f = new_fixture(17 * 512, 5, 600);
  double *draws = new_numbers(gmm_columns(&f.data));
  EXPECT(run_segment(&f, 1, &control, draws) == STATUS_INTERRUPTED);
  EXPECT(asked == 2 && f.sweep == 0.0);
  release_numbers(draws);
  release_fixture(&f);
}

/* ---- gmm_evaluate -------------------------------------------------------- */

/* Parameters of `draws` draws as rows: pi, mu and sigma of a chain. */
typedef struct {
  fixture f;
  double *pi, *mu, *sigma;
  gmm_evaluation job;
} evaluation_fixture;

static evaluation_fixture new_evaluation(gmm_form form, size_t n, size_t d,
                                         size_t k, size_t draws) {
  evaluation_fixture e = {.f = new_case(form, 0, n, d, k)};
  const size_t columns = gmm_columns(&e.f.data);
  const size_t size = gmm_factor_size(form, d, k);
  double *rows = run_chain(&e.f, 1, draws, 1);
  e.pi = new_numbers(draws * k);
  e.mu = new_numbers(draws * k * d);
  e.sigma = new_numbers(draws * size);
  for (size_t s = 0; s < draws; s++) {
    const row_parts p = parts_of(&e.f.data, rows + s * columns);
    for (size_t c = 0; c < k; c++)
      e.pi[s + draws * c] = p.pi[c];
    for (size_t c = 0; c < k * d; c++)
      e.mu[s + draws * c] = p.mu[c];
    for (size_t c = 0; c < size; c++)
      e.sigma[s + draws * c] = p.sigma[c];
  }
  release_numbers(rows);
  const gmm_evaluation job = {.form = form,
                              .n = n,
                              .d = d,
                              .k = k,
                              .draws = draws,
                              .x = e.f.x,
                              .pi = e.pi,
                              .mu = e.mu,
                              .sigma = e.sigma};
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
  double *work = new_bytes(gmm_evaluate_size(job->form, job->d, job->k));
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
static void evaluation_is_right(gmm_form form, size_t n, size_t d, size_t k,
                                size_t draws) {
  evaluation_fixture e = new_evaluation(form, n, d, k, draws);
  double *order = new_numbers(draws * k), *pivot = new_numbers(n);
  int *labels = as_int(order), *pivots = as_int(pivot);
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
  const size_t n[] = {1, 15, 16, 17, 50};
  for (size_t f = 0; f < LENGTH(forms); f++)
    for (size_t l = 0; l < LENGTH(n); l++) {
      evaluation_is_right(forms[f], n[l], 1, 1, 1);
      evaluation_is_right(forms[f], n[l], 2, 3, 4);
      evaluation_is_right(forms[f], n[l], 5, 4, 3);
    }
}

/* Each result may be left out; without an order labels stand as they are. */
static void evaluation_of_less(void) {
  evaluation_fixture e = new_evaluation(COVARIANCE_FULL, 11, 2, 2, 3);
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
  evaluation_fixture e = new_evaluation(COVARIANCE_FULL, n, 1, 3, draws);
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
  const scan_control control = {.thin = 1.0, .threads = 1};
  double *draws = new_numbers(2 * gmm_columns(&f->data));
  set_seed(51, 52);
  EXPECT(run_segment(f, 2, &control, draws) == expected);
  release_numbers(draws);
  release_fixture(f);
}

static void indefinite_matrices_are_reported(void) {
  for (size_t t = 0; t < LENGTH(forms); t++) {
    fixture s0 = new_case(forms[t], 0, 5, 2, 2);
    fixture q0 = new_case(forms[t], 0, 5, 2, 2);
    fixture factor = new_case(forms[t], 0, 5, 2, 2);
    fixture holes = new_case(forms[t], 1, 5, 2, 2);
    s0.s0[0] = -1e6;
    expect_status(&s0, STATUS_NOT_POSITIVE_DEFINITE);
    q0.q0[3] = -1e6;
    expect_status(&q0, STATUS_NOT_POSITIVE_DEFINITE);
    factor.state.factor[0] = 0.0;
    expect_status(&factor, STATUS_NOT_POSITIVE_DEFINITE);
    holes.state.factor[0] = NAN;
    expect_status(&holes, STATUS_NOT_POSITIVE_DEFINITE);
  }
}

static void values_off_the_line_are_reported(void) {
  fixture missing = new_fixture(9, 2, 2), alpha = new_fixture(9, 2, 2);
  missing.x[4] = NAN;
  expect_status(&missing, STATUS_NOT_POSITIVE_DEFINITE);
  alpha.alpha[1] = NAN;
  expect_status(&alpha, STATUS_NOT_FINITE);
}

static void evaluation_reports_too(void) {
  const gmm_form reporting[] = {COVARIANCE_FULL, COVARIANCE_SHARED};
  for (size_t t = 0; t < LENGTH(reporting); t++) {
    evaluation_fixture e = new_evaluation(reporting[t], 4, 2, 2, 2);
    e.sigma[1] = -1.0;
    EXPECT(evaluate(&e.job) == STATUS_NOT_POSITIVE_DEFINITE);
    release_evaluation(&e);
  }
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
  data.missing.patterns = SIZE_MAX / 64;
  EXPECT(gmm_work_size(&data) == 0);
}

/* ---- the kernels, in every width ----------------------------------------- */

#define MAX_KERNEL_D 9

/* x: LANES x d; bin: what fills a bin, of which `filled` observations count. */
typedef struct {
  gmm_components components;
  const double *x, *uniforms, *bin, *ones;
  size_t filled;
  double *scratch;
} kernel_inputs;

/* What the kernels of one width make of a block and of a bin. */
typedef struct {
  double block[MAX_KERNEL_D * LANES];
  double weight[MAX_K * LANES], partial[MAX_K * LANES];
  double largest[LANES], total[LANES], prob[MAX_K * LANES], mean[LANES];
  double sum[MAX_KERNEL_D], cross[MAX_KERNEL_D * MAX_KERNEL_D];
  int z[LANES];
} kernel_results;

#define RUN_KERNELS(width, bytes, target)                                      \
  static void width##_run(const kernel_inputs *in, kernel_results *r) {        \
    const gmm_components *p = &in->components;                                 \
    double bin[MAX_KERNEL_D * BIN];                                            \
    memset(r, 0, sizeof *r);                                                   \
    width##_load(in->x, LANES, p->d, r->block);                                \
    width##_densities(p, r->block, in->scratch, r->weight);                    \
    memcpy(r->partial, r->weight, sizeof r->weight);                           \
    width##_partial_sums(r->partial, p->k, r->largest, r->total);              \
    width##_pick(r->partial, p->k, in->uniforms, r->z);                        \
    memcpy(r->prob, r->partial, sizeof r->prob);                               \
    width##_normalise(r->prob, p->k);                                          \
    width##_average(r->prob, 0.3, r->mean);                                    \
    memcpy(bin, in->bin, p->d *BIN * sizeof *bin);                             \
    width##_add_bin(p->form, bin, p->d, in->filled, in->ones, p->mean, r->sum, \
                    r->cross);                                                 \
  }                                                                            \
  target static void width##_exp(const double *x, double *out) {               \
    for (size_t i = 0; i < 8; i += bytes / sizeof(double))                     \
      AT(out + i) = width##_exp_nonpositive(FROM(x + i));                      \
  }

#include "numeric/lanes_next.h"

#include "gmm/gmm_kernel.h"
RUN_KERNELS(narrow, 16, )

#if LANES_HAVE_WIDE
#include "numeric/lanes_next.h"

#include "gmm/gmm_kernel.h"
RUN_KERNELS(wide, 32, LANE_TARGET)

#include "numeric/lanes_next.h"

#include "gmm/gmm_kernel.h"
RUN_KERNELS(widest, 64, LANE_TARGET)
#endif

typedef struct {
  void (*run)(const kernel_inputs *, kernel_results *);
  void (*exp)(const double *, double *); /* of eight numbers */
} kernel_width;

/* The widths of this processor, the narrowest first; returned: how many. */
static size_t all_widths(kernel_width widths[3]) {
  size_t count = 0;
  widths[count++] = (kernel_width){narrow_run, narrow_exp};
#if LANES_HAVE_WIDE
  if (lanes_has(LANES_WIDE, 0))
    widths[count++] = (kernel_width){wide_run, wide_exp};
  if (lanes_has(LANES_WIDEST, 0))
    widths[count++] = (kernel_width){widest_run, widest_exp};
#endif
  return count;
}

/* Doubles between two positive ones. */
static double ulps_between(double a, double b) {
  int64_t i, j;
  memcpy(&i, &a, sizeof i);
  memcpy(&j, &b, sizeof j);
  return fabs((double)(i - j));
}

/* exp(x) in lane `lane` of eight, the others busy with something else; all
 * widths must agree to the last bit. */
static double kernel_exp(double x, size_t lane) {
  double in[8] = {-1.0, -800.0, -2.5, -0.1, -30.0, -708.0, -0.7, -9.0};
  double first[8], other[8];
  kernel_width widths[3];
  const size_t count = all_widths(widths);
  in[lane] = x;
  widths[0].exp(in, first);
  for (size_t w = 1; w < count; w++) {
    widths[w].exp(in, other);
    EXPECT(isnan(x) ? isnan(other[lane]) : same_bits(first, other, 8));
  }
  return first[lane];
}

static void exp_is_within_two_ulps(void) {
  double worst = 0.0;
  for (int i = 0; i <= 708 * 500; i++) {
    const double x = -(double)i / 500.0;
    worst = fmax(worst, ulps_between(kernel_exp(x, (size_t)i % 8), exp(x)));
  }
  /* where the nearest multiple of log 2 changes, and near zero */
  for (int i = 1; i < 2042; i++) {
    const double x = -(double)i * 0.34657359027997265;
    for (int step = -3; step <= 3 && x > -707.9; step++) {
      const double near = x * (1.0 + step * DBL_EPSILON);
      worst = fmax(worst, ulps_between(kernel_exp(near, 1), exp(near)));
    }
  }
  for (double x = -1.0; x < -1e-320; x *= 0.7)
    worst = fmax(worst, ulps_between(kernel_exp(x, 2), exp(x)));
  EXPECT(worst <= 2.0);
}

static void exp_at_the_ends(void) {
  for (size_t lane = 0; lane < 8; lane++) {
    EXPECT(kernel_exp(0.0, lane) == 1.0);
    EXPECT(kernel_exp(-0.0, lane) == 1.0);
    EXPECT(kernel_exp(-DBL_MIN, lane) == 1.0);
    EXPECT(ulps_between(kernel_exp(-708.0, lane), exp(-708.0)) <= 2.0);
    EXPECT(kernel_exp(nextafter(-708.0, -INFINITY), lane) == 0.0);
    EXPECT(kernel_exp(-1e4, lane) == 0.0);
    EXPECT(kernel_exp(-DBL_MAX, lane) == 0.0);
    EXPECT(kernel_exp(-INFINITY, lane) == 0.0);
    EXPECT(isnan(kernel_exp(NAN, lane)));
  }
}

/* Components of a form with d variables, from the generator; their memory. */
static double *random_components(gmm_components *p, gmm_form form, size_t d,
                                 size_t k) {
  arena count = arena_measure();
  gmm_components_carve(p, form, d, k, &count);
  double *memory = new_bytes(arena_size(&count));
  arena a = arena_over(memory);
  gmm_components_carve(p, form, d, k, &a);
  for (size_t e = 0; e < gmm_factor_size(form, d, k); e++)
    p->factor[e] = 0.5 + unif_rand(); /* above the diagonal too: unread */
  for (size_t e = 0; e < k * d; e++)
    p->mean[e] = norm_rand();
  for (size_t c = 0; c < k; c++)
    gmm_set_constant(p, c, log(0.1 + unif_rand()));
  return memory;
}

/* The number of partial sums <= u total, one lane at a time. */
static void check_picks(const kernel_results *r, size_t k, const double *u) {
  for (size_t lane = 0; lane < LANES; lane++) {
    int expected = 1;
    for (size_t c = 0; c + 1 < k; c++)
      expected += r->partial[c * LANES + lane] <= u[lane] * r->total[lane];
    EXPECT(r->z[lane] == expected);
  }
}

/* Probabilities are differences of the partial sums over the total; those of the
 * first component have moved a mean of 0 by three tenths of the way. */
static void check_probabilities(const kernel_results *r, size_t k) {
  for (size_t lane = 0; lane < LANES; lane++) {
    for (size_t c = 0; c < k; c++) {
      const double before = c ? r->partial[(c - 1) * LANES + lane] : 0.0;
      EXPECT_NEAR(r->prob[c * LANES + lane],
                  (r->partial[c * LANES + lane] - before) / r->total[lane],
                  1e-15);
    }
    EXPECT(r->mean[lane] == 0.3 * r->prob[lane]);
  }
}

/* Sums and products of the observations in the bin, one at a time. */
static void check_sums(const kernel_results *r, const kernel_inputs *in) {
  const gmm_components *p = &in->components;
  const size_t d = p->d;
  for (size_t j = 0; j < d; j++)
    for (size_t i = 0; i < d; i++) {
      const int wanted = p->form == COVARIANCE_DIAGONAL ? i == j : i >= j;
      double sum = 0.0, product = 0.0;
      for (size_t s = 0; s < in->filled; s++) {
        const double y = in->bin[j * BIN + s] - p->mean[j];
        sum += y;
        product += y * (in->bin[i * BIN + s] - p->mean[i]);
      }
      EXPECT_NEAR(r->sum[j], sum, 1e-12);
      EXPECT_NEAR(r->cross[i + d * j], wanted ? product : 0.0, 1e-12);
    }
}

/* What the core chooses for one block is what the narrow kernels make of it. */
static void check_choice(const kernel_inputs *in, const kernel_results *r) {
  const gmm_components *p = &in->components;
  const size_t k = p->k;
  double weight[MAX_K * LANES], mean[MAX_K * LANES] = {0};
  int z[LANES];
  gmm_log_sum log_sum = gmm_log_sum_open();
  gmm_log_joint(p, in->x, LANES, LANES, in->scratch, weight);
  EXPECT(same_bits(r->weight, weight, k * LANES));
  gmm_accumulate(weight, k, LANES, &log_sum);
  EXPECT(same_bits(r->partial, weight, k * LANES));
  gmm_pick(weight, k, in->uniforms, LANES, z);
  EXPECT(memcmp(r->z, z, sizeof z) == 0);
  gmm_average(weight, LANES, k, LANES, 0.3, mean);
  EXPECT(same_bits(r->prob, weight, k * LANES));
  EXPECT(same_bits(r->mean, mean, LANES));
}

/* One block and one bin by the kernels of every width. */
static void check_widths(gmm_form form, size_t d, size_t k, size_t filled) {
  kernel_width widths[3];
  const size_t count = all_widths(widths);
  kernel_results first, other;
  double *x = new_numbers(d * LANES), *scratch = new_numbers(2 * d * LANES);
  double u[LANES], bin[MAX_KERNEL_D * BIN], ones[BIN];
  kernel_inputs in = {.x = x,
                      .uniforms = u,
                      .bin = bin,
                      .ones = ones,
                      .filled = filled,
                      .scratch = scratch};
  double *memory = random_components(&in.components, form, d, k);
  for (size_t e = 0; e < d * LANES; e++)
    x[e] = 3.0 * norm_rand();
  for (size_t e = 0; e < MAX_KERNEL_D * BIN; e++)
    bin[e] = 3.0 * norm_rand();
  for (size_t s = 0; s < BIN; s++)
    ones[s] = 1.0;
  for (size_t lane = 0; lane < LANES; lane++)
    u[lane] = unif_rand();
  widths[0].run(&in, &first);
  EXPECT(same_bits(first.block, x, d * LANES));
  check_picks(&first, k, u);
  check_probabilities(&first, k);
  check_sums(&first, &in);
  check_choice(&in, &first);
  for (size_t w = 1; w < count; w++) {
    widths[w].run(&in, &other);
    EXPECT(memcmp(&first, &other, sizeof first) == 0);
  }
  release_numbers(memory);
  release_numbers(x);
  release_numbers(scratch);
}

static void widths_give_the_same_bits(void) {
  size_t filled = 0;
  set_seed(61, 62);
  for (size_t f = 0; f < LENGTH(forms); f++)
    for (size_t d = 1; d <= MAX_KERNEL_D; d++)
      for (size_t k = 1; k <= MAX_K; k++, filled = (filled + 7) % (BIN + 1))
        check_widths(forms[f], d, k, filled);
}

/* The log-likelihood of one block. */
static double accumulated(double *weight, size_t k, size_t lanes) {
  gmm_log_sum s = gmm_log_sum_open();
  gmm_accumulate(weight, k, lanes, &s);
  return gmm_log_sum_close(&s);
}

/* The sum of many logarithms: products that would overflow, and totals of 1. */
static void logarithms_add_up(void) {
  const size_t sizes[] = {1, 2, 50}, k = 50;
  for (size_t s = 0; s < LENGTH(sizes); s++) {
    gmm_log_sum sum = gmm_log_sum_open();
    double weight[50 * LANES];
    for (int block = 0; block < 2000; block++) {
      for (size_t c = 0; c < k; c++)
        for (size_t lane = 0; lane < LANES; lane++)
          weight[c * LANES + lane] = c < sizes[s] ? 0.25 : -INFINITY;
      gmm_accumulate(weight, k, LANES, &sum);
    }
    const double expected = 2000.0 * LANES * (0.25 + log((double)sizes[s]));
    EXPECT_NEAR(gmm_log_sum_close(&sum), expected, 1e-12 * expected);
  }
}

/* A block of fewer observations gives the lanes of a full one, and the sum over
 * its valid lanes. */
static void short_blocks_are_parts_of_whole_ones(void) {
  gmm_components p;
  double scratch[2 * 2 * LANES], x[2 * LANES], u[LANES];
  double whole[3 * LANES], part[3 * LANES];
  set_seed(63, 64);
  double *memory = random_components(&p, COVARIANCE_FULL, 2, 3);
  for (size_t e = 0; e < 2 * LANES; e++)
    x[e] = norm_rand();
  for (size_t lane = 0; lane < LANES; lane++)
    u[lane] = unif_rand();
  for (size_t lanes = 1; lanes <= LANES; lanes++) {
    int z[LANES] = {0}, all[LANES];
    gmm_log_joint(&p, x, LANES, LANES, scratch, whole);
    gmm_log_joint(&p, x, LANES, lanes, scratch, part);
    double expected = 0.0;
    for (size_t lane = 0; lane < lanes; lane++) {
      double total = 0.0;
      for (size_t c = 0; c < 3; c++) {
        EXPECT(part[c * LANES + lane] == whole[c * LANES + lane]);
        total += exp(whole[c * LANES + lane]);
      }
      expected += log(total);
    }
    EXPECT_NEAR(accumulated(part, 3, lanes), expected, 1e-13);
    accumulated(whole, 3, LANES);
    gmm_pick(part, 3, u, lanes, z);
    gmm_pick(whole, 3, u, LANES, all);
    for (size_t lane = 0; lane < LANES; lane++)
      EXPECT(z[lane] == (lane < lanes ? all[lane] : 0));
  }
  release_numbers(memory);
}

/* Uniforms next to 0 and 1 never pick a component of weight zero. */
static void weightless_components_are_not_picked(void) {
  double weight[4 * LANES], u[LANES];
  int z[LANES];
  for (size_t lane = 0; lane < LANES; lane++) {
    weight[lane] = weight[3 * LANES + lane] = -INFINITY;
    weight[LANES + lane] = 0.0;
    weight[2 * LANES + lane] = -1.0;
    u[lane] = lane % 2 ? 1.0 - DBL_EPSILON / 2.0 : DBL_MIN;
  }
  EXPECT_NEAR(accumulated(weight, 4, LANES), LANES * log1p(exp(-1.0)), 1e-14);
  gmm_pick(weight, 4, u, LANES, z);
  for (size_t lane = 0; lane < LANES; lane++)
    EXPECT(z[lane] == (lane % 2 ? 3 : 2));
}

/* ---- moves of groups -------------------------------------------------------- */

/* Every kind is tried, and some succeed, with components that are often empty. */
static void moves_of_every_kind_are_tried(void) {
  for (int form = 0; form < 3; form++)
    for (int holes = 0; holes < 2; holes++) {
      fixture f = new_case((gmm_form)form, holes, 40, 2, 4);
      for (size_t c = 0; c < 4; c++)
        f.alpha[c] = 0.2;
      double *draws = run_chain(&f, 3, 400, 1);
      double succeeded = 0.0;
      for (int kind = 0; kind < MOVE_KINDS; kind++) {
        const int none = kind == MOVE_COMBINE && form == COVARIANCE_SHARED;
        EXPECT((f.state.moves[kind] > 0.0) == !none);
        succeeded += f.state.moves[MOVE_KINDS + kind];
      }
      EXPECT(succeeded > 0.0);
      release_numbers(draws);
      release_fixture(&f);
    }
}

/* A set of more observations than EM takes at first. */
static void moves_of_many_observations(void) {
  fixture f = new_case(COVARIANCE_FULL, 0, 1500, 3, 2);
  double *draws = run_chain(&f, 2, 30, 1);
  EXPECT(f.state.moves[MOVE_RESPLIT] > 0.0);
  release_numbers(draws);
  release_fixture(&f);
}

void test_gmm(void) {
  run_test("gmm: moves of every kind are tried", moves_of_every_kind_are_tried);
  run_test("gmm: moves of many observations", moves_of_many_observations);
  run_test("gmm: every shape is recorded right", every_shape_is_recorded_right);
  run_test("gmm: blocks are recorded on request",
           blocks_are_recorded_on_request);
  run_test("gmm: the record is the state", record_is_the_state);
  run_test("gmm: probabilities are of recorded sweeps",
           prob_is_of_recorded_sweeps);
  run_test("gmm: threads never show", threads_never_show);
  run_test("gmm: segments never show", segments_never_show);
  run_test("gmm: modes are a search", modes_are_a_search);
  run_test("gmm: weights whose mode is zero", weights_of_mode_zero);
  run_test("gmm: a long sweep is interrupted", a_long_sweep_is_interrupted);
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
  run_test("lanes: widths give the same bits", widths_give_the_same_bits);
  run_test("lanes: short blocks are parts of whole ones",
           short_blocks_are_parts_of_whole_ones);
  run_test("lanes: logarithms add up", logarithms_add_up);
  run_test("lanes: weightless components are not picked",
           weightless_components_are_not_picked);
}
