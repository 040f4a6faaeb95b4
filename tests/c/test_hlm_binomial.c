/* Hierarchical logistic and probit regression: the reduced rows and the recorded
 * log-likelihood by hand, and one-step invariance, as in test_hlm.c. */
#include "hlm/hlm_binomial.h"

#include <math.h>
#include <string.h>

#include "harness.h"
#include "numeric/linalg.h"
#include "numeric/rdist.h"
#include "numeric/rmath.h"

void test_hlm_binomial(void);

enum { MOST_Q = 2, MOST_P = 2, GROUPS = 5, ROWS = 11, COLUMNS = 32 };

static const int first_rows[GROUPS + 1] = {0, 4, 4, 5, 8, ROWS};

typedef struct {
  size_t q, p;
  int probit, diagonal, offset;
} form;

typedef struct {
  hlm_latent_data data;
  hlm_data groups;
  hlm_rows rows;
  hlm_binomial responses;
  hlm_state state;
  int start[GROUPS + 1], fixed_at[MOST_Q], order[ROWS];
  double z[MOST_Q * ROWS], x[MOST_P * ROWS];
  double success[ROWS], total[ROWS], offset[ROWS];
  double mean[MOST_P], precision[MOST_P], unit[MOST_P], column_mean[MOST_P];
  double scale[MOST_Q];
  double factor[MOST_Q * MOST_Q], beta, b[MOST_P], u[MOST_Q * GROUPS];
} fixture;

static void make_rows(fixture *f, form of) {
  for (size_t j = 0; j < GROUPS; j++) {
    const int count = first_rows[j + 1] - first_rows[j], q = (int)of.q;
    f->start[j + 1] = f->start[j] + (count < q ? count : q);
  }
  for (size_t i = 0; i < ROWS; i++) {
    for (size_t k = 0; k < of.q; k++)
      f->z[k + of.q * i] = k == 0 ? 1.0 : norm_rand();
    for (size_t k = 0; k < of.p; k++)
      f->x[k + of.p * i] = k == 0 ? 1.0 : norm_rand();
    f->total[i] = 1.0 + (double)(i % 3);
    f->offset[i] = norm_rand();
    f->order[i] = (int)i;
  }
}

static void open_fixture(fixture *f, form of) {
  memset(f, 0, sizeof *f);
  set_seed(71, 72);
  make_rows(f, of);
  for (size_t k = 0; k < MOST_P; k++) {
    f->mean[k] = 0.5 - (double)k;
    f->precision[k] = 0.8 + (double)k;
    f->unit[k] = 1.0;
  }
  for (size_t k = 0; k < of.q; k++) {
    f->scale[k] = 0.6 + 0.4 * (double)k;
    f->fixed_at[k] = k < of.p && k != 1 ? (int)k : -1;
  }
  f->groups = (hlm_data){.q = of.q,
                         .p = of.p,
                         .groups = GROUPS,
                         .start = f->start,
                         .diagonal = of.diagonal,
                         .known = 1,
                         .half_t = 1,
                         .keep = 1,
                         .mean = f->mean,
                         .precision = f->precision,
                         .df = 4.5,
                         .scale = f->scale,
                         .unit = f->unit,
                         .column_mean = f->column_mean,
                         .intercept_at = of.p,
                         .fixed_at = f->fixed_at};
  f->rows = (hlm_rows){first_rows, f->order, f->z};
  f->responses = (hlm_binomial){f->success, f->total};
  f->data = (hlm_latent_data){.bars = 1,
                              .p = of.p,
                              .n = ROWS,
                              .bar = &f->groups,
                              .rows = &f->rows,
                              .x = f->x,
                              .offset = of.offset ? f->offset : NULL,
                              .type = of.probit ? &hlm_probit : &hlm_logit,
                              .response = &f->responses,
                              .constant = 0.7};
  f->beta = 1.0;
  f->state = (hlm_state){f->factor, &f->beta, f->b, f->u};
}

/* ---- drawing all of it --------------------------------------------------- */

/* factor <- L of d coordinates of Sigma from the first on; half-t. */
static void draw_block(fixture *f, size_t first, size_t d) {
  const size_t q = f->groups.q;
  const double df = f->groups.df;
  double sums[MOST_Q * MOST_Q] = {0.0}, sigma[MOST_Q * MOST_Q];
  double work[2 * MOST_Q * MOST_Q];
  for (size_t k = 0; k < d; k++) {
    const double a = f->scale[first + k];
    sums[k + d * k] = 2.0 * df * rgamma(0.5, a * a);
  }
  EXPECT(linalg_cholesky(sums, d) == STATUS_OK);
  rdist_inverse_wishart(df + (double)(d - 1), sums, d, sigma, work);
  EXPECT(linalg_cholesky(sigma, d) == STATUS_OK);
  for (size_t k = 0; k < d; k++)
    for (size_t i = k; i < d; i++)
      f->factor[first + i + q * (first + k)] = sigma[i + d * k];
}

static double predictor(const fixture *f, size_t j, size_t i) {
  const size_t p = f->groups.p, q = f->groups.q;
  return (f->data.offset ? f->offset[i] : 0.0) +
         linalg_inner(f->x + p * i, f->b, p) +
         linalg_inner(f->z + q * i, f->u + q * j, q);
}

/* log F(eta), or log(1 - F(eta)) */
static double log_share(const fixture *f, double eta, int lower) {
  return f->data.type == &hlm_probit ? pnorm(eta, 0.0, 1.0, lower, 1)
                                     : plogis(eta, 0.0, 1.0, lower, 1);
}

static void predict_all(const fixture *f, double *eta) {
  for (size_t j = 0; j < GROUPS; j++)
    for (size_t i = (size_t)first_rows[j]; i < (size_t)first_rows[j + 1]; i++)
      eta[i] = predictor(f, j, i);
}

static void draw_all(fixture *f) {
  const hlm_data *groups = &f->groups;
  const size_t q = groups->q;
  if (!groups->diagonal)
    draw_block(f, 0, q);
  for (size_t k = 0; k < q && groups->diagonal; k++)
    draw_block(f, k, 1);
  for (size_t k = 0; k < groups->p; k++)
    f->b[k] = f->mean[k] + norm_rand() / sqrt(f->precision[k]);
  for (size_t j = 0; j < GROUPS; j++) {
    for (size_t k = 0; k < q; k++)
      f->u[k + q * j] = norm_rand();
    linalg_lower_times_vector(f->factor, q, f->u + q * j, f->u + q * j);
  }
  double eta[ROWS];
  predict_all(f, eta);
  for (size_t i = 0; i < ROWS; i++)
    f->success[i] = rbinom(f->total[i], exp(log_share(f, eta[i], 1)));
}

/* ---- sweeps -------------------------------------------------------------- */

static void sweep_model(fixture *f, hlm_latent *model, double *work,
                        double *row) {
  const scan_control control = {.thin = 1.0, .threads = 1};
  hlm_latent_open(model, &f->data, &f->state, work);
  EXPECT(hlm_latent_sweep(model, &control) == STATUS_OK);
  hlm_latent_record(model, row, 1);
}

static const form forms[] = {
  /* q, p, probit, diagonal, offset */
  {1, 1, 0, 0, 0}, {2, 2, 0, 0, 1}, {2, 1, 0, 1, 0}, {1, 2, 1, 0, 1},
  {2, 2, 1, 0, 0}, {2, 0, 0, 0, 1}, {2, 2, 1, 1, 1},
};

/* ---- by hand ------------------------------------------------------------- */

static double log_likelihood(const fixture *f) {
  double sum = f->data.constant, eta[ROWS];
  predict_all(f, eta);
  for (size_t i = 0; i < ROWS; i++) {
    const double s = f->success[i], failures = f->total[i] - s;
    sum += s > 0.0 ? s * log_share(f, eta[i], 1) : 0.0;
    sum += failures > 0.0 ? failures * log_share(f, eta[i], 0) : 0.0;
  }
  return sum;
}

static void check_row(form of) {
  fixture f;
  hlm_latent model;
  double row[COLUMNS];
  open_fixture(&f, of);
  draw_all(&f);
  double *work = new_bytes(hlm_latent_work_size(&f.data));
  sweep_model(&f, &model, work, row);
  size_t at = of.p + of.q + (of.diagonal ? 0 : of.q * (of.q - 1) / 2);
  for (size_t k = 0; k < of.p; k++)
    EXPECT(row[k] == f.b[k]);
  EXPECT_NEAR(row[at++], log_likelihood(&f), 1e-13);
  for (size_t j = 0; j < GROUPS; j++)
    for (size_t k = 0; k < of.q; k++) {
      const int fixed = f.fixed_at[k];
      EXPECT(row[at++] == f.u[k + of.q * j] + (fixed < 0 ? 0.0 : f.b[fixed]));
    }
  EXPECT(hlm_latent_columns(&f.data) == at);
  release_numbers(work);
}

static void rows_by_hand(void) {
  for (size_t k = 0; k < LENGTH(forms); k++)
    check_row(forms[k]);
}

/* Element (a, b) of the sum of c c' over rows, c = (z, x), by the numbers m_i of
 * trials, which are the precisions of the probit link. */
static double product_of(const fixture *f, size_t from, size_t to, size_t a,
                         size_t b) {
  const size_t q = f->groups.q, p = f->groups.p;
  double sum = 0.0;
  for (size_t i = from; i < to; i++) {
    const double left = a < q ? f->z[a + q * i] : f->x[a - q + p * i];
    const double right = b < q ? f->z[b + q * i] : f->x[b - q + p * i];
    sum += f->total[i] * left * right;
  }
  return sum;
}

static double reduced_product(const hlm_latent *m, size_t from, size_t to,
                              size_t a, size_t b) {
  const size_t q = m->data.bar->q, p = m->data.p;
  double sum = 0.0;
  for (size_t i = from; i < to; i++) {
    const double left = a < q ? m->z[a + q * i] : m->x[a - q + p * i];
    const double right = b < q ? m->z[b + q * i] : m->x[b - q + p * i];
    sum += left * right;
  }
  return sum;
}

/* Rotations keep inner products: those with z in each group, those of x in all
 * groups together with the pool. */
static void reduced_rows_by_hand(void) {
  fixture f;
  hlm_latent m;
  double row[COLUMNS];
  const form of = {2, 2, 1, 0, 0};
  open_fixture(&f, of);
  draw_all(&f);
  double *work = new_bytes(hlm_latent_work_size(&f.data));
  sweep_model(&f, &m, work, row);
  for (size_t j = 0; j < GROUPS; j++)
    for (size_t a = 0; a < 2; a++)
      for (size_t b = 0; b < 4; b++)
        EXPECT_NEAR(
          reduced_product(&m, (size_t)f.start[j], (size_t)f.start[j + 1], a, b),
          product_of(&f, (size_t)first_rows[j], (size_t)first_rows[j + 1], a,
                     b),
          1e-13);
  for (size_t a = 2; a < 4; a++)
    for (size_t b = 2; b < 4; b++) {
      double pool = 0.0;
      for (size_t i = 0; i < ROWS - (size_t)f.start[GROUPS]; i++)
        pool += m.pool_x[a - 2 + 2 * i] * m.pool_x[b - 2 + 2 * i];
      EXPECT_NEAR(pool + reduced_product(&m, 0, (size_t)f.start[GROUPS], a, b),
                  product_of(&f, 0, ROWS, a, b), 1e-13);
    }
  release_numbers(work);
}

/* ---- two bars -------------------------------------------------------------- */

/* The groups of the first bar lie within the two of the second. */
static const int outer_first[3] = {0, 8, ROWS},
                 parents[GROUPS] = {0, 1, 0, 1, 0};
static const int outer_row[ROWS] = {0, 1, 2, 3, 4, 8, 9, 10, 5, 6, 7};

static void two_bars_by_hand(void) {
  fixture f;
  const form of = {2, 2, 0, 0, 1};
  open_fixture(&f, of);
  draw_all(&f);
  const int term = 0, mean_at = -1, outer_start[3] = {0, 1, 2};
  double ones[ROWS], one = 1.0, factor[5] = {0.0}, u[2 * GROUPS + 2] = {0.0};
  for (size_t i = 0; i < ROWS; i++)
    ones[i] = 1.0;
  hlm_data bars[2] = {f.groups, f.groups};
  bars[1].q = 1;
  bars[1].groups = 2;
  bars[1].start = outer_start;
  bars[1].scale = &one;
  bars[1].fixed_at = &mean_at;
  const hlm_rows rows[2] = {f.rows, {outer_first, outer_row, ones}};
  const hlm_nesting nest = {1, 0, 1, &term, &term, parents};
  hlm_latent_data data = f.data;
  data.bars = 2;
  data.bar = bars;
  data.rows = rows;
  data.nestings = 1;
  data.nesting = &nest;
  factor[0] = factor[3] = factor[4] = 1.0;
  const hlm_state state = {factor, &f.beta, f.b, u};
  double *work = new_bytes(hlm_latent_work_size(&data)), row[COLUMNS];
  const scan_control control = {.thin = 1.0, .threads = 1};
  hlm_latent model;
  hlm_latent_open(&model, &data, &state, work);
  for (size_t i = 0; i < 50; i++)
    EXPECT(hlm_latent_sweep(&model, &control) == STATUS_OK);
  hlm_latent_record(&model, row, 1);
  /* the outer deviations as parts of the inner ones */
  for (size_t j = 0; j < GROUPS; j++) {
    f.u[2 * j] = u[2 * j] + u[2 * GROUPS + (size_t)parents[j]];
    f.u[2 * j + 1] = u[2 * j + 1];
  }
  EXPECT_NEAR(row[6], log_likelihood(&f), 1e-12);
  EXPECT_NEAR(row[5], factor[4], 1e-15);
  EXPECT(row[7 + 2 * GROUPS] == u[2 * GROUPS]);
  EXPECT(hlm_latent_columns(&data) == 9 + 2 * GROUPS);
  release_numbers(work);
}

/* ---- one-step invariance ------------------------------------------------- */

static double covariance(const fixture *f, size_t i, size_t k) {
  const size_t q = f->groups.q;
  return linalg_inner(f->factor + i, f->factor + k, 1) +
         (q > 1 ? f->factor[i + q] * f->factor[k + q] : 0.0);
}

/* The half-t distribution has no moments of its order and above: statistics are
 * squashed. */
static size_t statistics(const fixture *f, double *out) {
  const size_t q = f->groups.q, p = f->groups.p;
  double fit = 0.0, square = 0.0, eta[ROWS];
  size_t count = 0;
  predict_all(f, eta);
  for (size_t i = 0; i < ROWS; i++) {
    fit += squash((f->success[i] - 0.5 * f->total[i]) * eta[i]);
    square += squash(eta[i] * eta[i]);
  }
  out[count++] = fit;
  out[count++] = square;
  out[count++] = squash(log_likelihood(f) / 10.0);
  for (size_t k = 0; k < q; k++) {
    const double u = f->u[k], other = f->u[k + 3 * q];
    out[count++] = log(covariance(f, k, k));
    out[count++] = squash(u * u / covariance(f, k, k));
    out[count++] = squash(u * other);
    out[count++] = squash(u * (f->success[0] - 0.5 * f->total[0]));
  }
  if (q > 1 && !f->groups.diagonal) {
    const double c = covariance(f, 1, 0);
    out[count++] = c / sqrt(covariance(f, 0, 0) * covariance(f, 1, 1));
    out[count++] = squash(f->u[0] * f->u[1]);
  }
  for (size_t k = 0; k < p; k++) {
    out[count++] = f->b[k];
    out[count++] = f->b[k] * f->b[k];
    out[count++] = squash(f->b[k] * f->success[0]);
  }
  return count;
}

/* change(f): makes a mistake in what the sampler is given; or NULL. */
static int is_sound(form of, void (*change)(fixture *f), size_t draws) {
  fixture f;
  hlm_latent model;
  double before[MOST_STATISTICS], after[MOST_STATISTICS], row[COLUMNS];
  open_fixture(&f, of);
  double *work = new_bytes(2 * hlm_latent_work_size(&f.data));
  draw_all(&f);
  const size_t count = statistics(&f, before);
  EXPECT(count <= MOST_STATISTICS);
  invariance sweeps = new_invariance(count);
  const fixture first = f;
  for (size_t i = 0; i < draws; i++) {
    draw_all(&f);
    statistics(&f, before);
    if (change != NULL)
      change(&f);
    sweep_model(&f, &model, work, row);
    f.data = first.data;
    f.groups = first.groups;
    memcpy(f.total, first.total, sizeof f.total);
    memcpy(f.scale, first.scale, sizeof f.scale);
    memcpy(f.mean, first.mean, sizeof f.mean);
    statistics(&f, after);
    compare(&sweeps, before, after);
  }
  release_numbers(work);
  return is_invariant(&sweeps);
}

static void sweeps_leave_the_posterior(void) {
  for (size_t k = 0; k < LENGTH(forms); k++)
    EXPECT(is_sound(forms[k], NULL, 20000));
}

static void no_offset(fixture *f) {
  f->data.offset = NULL;
}
static void one_trial_more(fixture *f) {
  for (size_t i = 0; i < ROWS; i++)
    f->total[i] += 1.0;
}
static void other_link(fixture *f) {
  f->data.type = f->data.type == &hlm_probit ? &hlm_logit : &hlm_probit;
}
static void df_larger(fixture *f) {
  f->groups.df *= 4.0;
}
static void scale_squared(fixture *f) {
  for (size_t k = 0; k < f->groups.q; k++)
    f->scale[k] *= f->scale[k];
}
static void mean_zero(fixture *f) {
  memset(f->mean, 0, sizeof f->mean);
}
static void correlated(fixture *f) {
  f->groups.diagonal = 0;
}
static void noise_drawn(fixture *f) {
  f->groups.known = 0;
  f->groups.shape = f->groups.rate = 4.0;
}

static void wrong_sweeps_are_found(void) {
  static const struct {
    size_t form;
    void (*change)(fixture *f);
  } wrong[] = {
    {1, no_offset},  {3, no_offset},  {0, one_trial_more}, {4, one_trial_more},
    {1, other_link}, {4, other_link}, {1, df_larger},      {0, scale_squared},
    {1, mean_zero},  {2, correlated}, {0, noise_drawn},
  };
  for (size_t k = 0; k < LENGTH(wrong); k++)
    EXPECT(!is_sound(forms[wrong[k].form], wrong[k].change, 20000));
}

void test_hlm_binomial(void) {
  run_test("hlm_binomial: the recorded row, by hand", rows_by_hand);
  run_test("hlm_binomial: the reduced rows, by hand", reduced_rows_by_hand);
  run_test("hlm_binomial: two bars, by hand", two_bars_by_hand);
  run_test("hlm_binomial: sweeps leave the posterior",
           sweeps_leave_the_posterior);
  run_test("hlm_binomial: wrong sweeps rejected", wrong_sweeps_are_found);
}
