/* Hierarchical linear regression: the recorded row and the groups' conditionals
 * by hand, and one-step invariance.  Parameters drawn from the prior and
 * responses drawn given them are a draw of both; after a sweep given these
 * responses they still are. */
#include "hlm/hlm.h"

#include <math.h>
#include <string.h>

#include "harness.h"
#include "numeric/linalg.h"
#include "numeric/rdist.h"
#include "numeric/rmath.h"

void test_hlm(void);

/* MANY groups are summed in more than one part. */
enum { MOST_Q = 3, MOST_P = 3, FEW = 6, MANY = 70, POOL = 2, FURTHER = 3 };
enum { MOST_ROWS = MOST_Q * MANY, MOST_COLUMNS = 16 + MOST_Q * MANY };

/* ---- a model and its memory ---------------------------------------------- */

typedef struct {
  size_t q, p, groups;
  int half_t, diagonal, known, collapsed;
} form;

typedef struct {
  hlm_data data;
  hlm_state state;
  int start[MANY + 1], fixed_at[MOST_Q];
  double z[MOST_Q * MOST_ROWS], x[MOST_P * MOST_ROWS], y[MOST_ROWS];
  double pool_x[MOST_P * POOL], pool_y[POOL];
  double mean[MOST_P], precision[MOST_P], unit[MOST_P], column_mean[MOST_P];
  double scale[MOST_Q * MOST_Q];
  double factor[MOST_Q * MOST_Q], beta, own_b[MOST_P], u[MOST_Q * MANY];
  double b[MOST_P]; /* in the units of x */
} fixture;

/* Groups have q, 0, 1, q, 1, ... rows. */
static size_t rows_of_group(size_t j, size_t q) {
  return j % 3 == 0 ? q : j % 3 == 1 && j % 2 == 1 ? 0 : 1;
}

static void make_rows(fixture *f, form of) {
  for (size_t j = 0; j < of.groups; j++)
    f->start[j + 1] = f->start[j] + (int)rows_of_group(j, of.q);
  const size_t rows = (size_t)f->start[of.groups];
  for (size_t i = 0; i < rows; i++) {
    for (size_t k = 0; k < of.q; k++)
      f->z[k + of.q * i] = k == 0 ? 1.5 : norm_rand();
    for (size_t k = 0; k < of.p; k++)
      f->x[k + of.p * i] = k == 0 ? 1.5 : norm_rand();
  }
  for (size_t i = 0; i < of.p * POOL; i++)
    f->pool_x[i] = norm_rand();
}

static void make_prior(fixture *f, form of) {
  for (size_t k = 0; k < of.p; k++) {
    f->mean[k] = 0.7 - (double)k;
    f->precision[k] = 0.8 + 0.5 * (double)k;
    f->unit[k] = 0.5 + (double)k;
    f->column_mean[k] = 0.3 * (double)k;
  }
  for (size_t k = 0; k < of.q; k++)
    f->fixed_at[k] = k < of.p && k != 1 ? (int)k : -1;
  for (size_t k = 0; k < of.q; k++)
    for (size_t i = 0; i < of.q; i++) {
      if (of.half_t)
        f->scale[k] = 0.6 + 0.4 * (double)k;
      else
        f->scale[i + of.q * k] = i == k        ? 2.0 + (double)k
                                 : of.diagonal ? 0.0
                                               : 1.7;
    }
}

static void open_fixture(fixture *f, form of) {
  memset(f, 0, sizeof *f);
  set_seed(61, 62);
  make_rows(f, of);
  make_prior(f, of);
  f->data = (hlm_data){.q = of.q,
                       .p = of.p,
                       .groups = of.groups,
                       .pool = POOL,
                       .start = f->start,
                       .z = f->z,
                       .x = f->x,
                       .y = f->y,
                       .pool_x = f->pool_x,
                       .pool_y = f->pool_y,
                       .n = f->start[of.groups] + POOL + FURTHER,
                       .log_weights = 0.4,
                       .diagonal = of.diagonal,
                       .known = of.known,
                       .half_t = of.half_t,
                       .collapsed = of.collapsed,
                       .keep = 1,
                       .mean = f->mean,
                       .precision = f->precision,
                       .df = 4.5,
                       .scale = f->scale,
                       .shape = 4.0,
                       .rate = 3.0,
                       .unit = f->unit,
                       .column_mean = f->column_mean,
                       .centre = 0.9,
                       .intercept_at = 0,
                       .fixed_at = f->fixed_at};
  f->state = (hlm_state){f->factor, &f->beta, f->own_b, f->u};
}

/* ---- drawing all of it --------------------------------------------------- */

/* factor <- L of d coordinates of Sigma from the first on, L L' = Sigma. */
static void draw_block(fixture *f, size_t first, size_t d) {
  const size_t q = f->data.q;
  double sums[MOST_Q * MOST_Q] = {0.0}, sigma[MOST_Q * MOST_Q];
  double work[2 * MOST_Q * MOST_Q];
  for (size_t k = 0; k < d; k++)
    for (size_t i = 0; i < d; i++) {
      const double a = f->data.half_t ? f->scale[first + k] : 0.0;
      if (!f->data.half_t)
        sums[i + d * k] = f->scale[first + i + q * (first + k)];
      else if (i == k)
        sums[i + d * k] = 2.0 * f->data.df * rgamma(0.5, a * a);
    }
  EXPECT(linalg_cholesky(sums, d) == STATUS_OK);
  rdist_inverse_wishart(f->data.half_t ? f->data.df + (double)(d - 1)
                                       : f->data.df,
                        sums, d, sigma, work);
  EXPECT(linalg_cholesky(sigma, d) == STATUS_OK);
  for (size_t k = 0; k < d; k++)
    for (size_t i = k; i < d; i++)
      f->factor[first + i + q * (first + k)] = sigma[i + d * k];
}

static double mean_of_row(const fixture *f, size_t j, size_t i) {
  const size_t p = f->data.p, q = f->data.q;
  return linalg_inner(f->x + p * i, f->b, p) +
         linalg_inner(f->z + q * i, f->u + q * j, q);
}

static void draw_responses(fixture *f) {
  const double sd = 1.0 / sqrt(f->beta);
  for (size_t j = 0; j < f->data.groups; j++)
    for (size_t i = (size_t)f->start[j]; i < (size_t)f->start[j + 1]; i++)
      f->y[i] = mean_of_row(f, j, i) + sd * norm_rand();
  for (size_t i = 0; i < POOL; i++)
    f->pool_y[i] = linalg_inner(f->pool_x + f->data.p * i, f->b, f->data.p) +
                   sd * norm_rand();
  f->data.rss = rchisq((double)FURTHER) / f->beta;
}

static void draw_all(fixture *f) {
  const hlm_data *data = &f->data;
  const size_t q = data->q;
  f->beta = data->known ? 1.0 : rgamma(data->shape, 1.0 / data->rate);
  if (!data->diagonal)
    draw_block(f, 0, q);
  for (size_t k = 0; k < q && data->diagonal; k++)
    draw_block(f, k, 1);
  for (size_t k = 0; k < data->p; k++)
    f->b[k] = f->mean[k] + norm_rand() / sqrt(f->precision[k]);
  for (size_t j = 0; j < data->groups; j++) {
    for (size_t k = 0; k < q; k++)
      f->u[k + q * j] = norm_rand();
    linalg_lower_times_vector(f->factor, q, f->u + q * j, f->u + q * j);
  }
  draw_responses(f);
}

/* ---- sweeps -------------------------------------------------------------- */

static double *new_work(const fixture *f) {
  return new_bytes(hlm_work_size(&f->data));
}

/* A sweep, and the row that it records. */
static void sweep_model(fixture *f, hlm_model *model, double *work,
                        double *row) {
  const scan_control control = {.thin = 1.0, .threads = 1};
  hlm_open(model, &f->data, &f->state, work);
  EXPECT(hlm_sweep(model, &control) == STATUS_OK);
  hlm_record(model, row, 1);
  memcpy(f->b, model->b, f->data.p * sizeof *f->b);
}

static double residual_squares(const fixture *f) {
  double sum = f->data.rss;
  for (size_t j = 0; j < f->data.groups; j++)
    for (size_t i = (size_t)f->start[j]; i < (size_t)f->start[j + 1]; i++)
      sum += pow(f->y[i] - mean_of_row(f, j, i), 2.0);
  for (size_t i = 0; i < POOL; i++)
    sum += pow(f->pool_y[i] -
                 linalg_inner(f->pool_x + f->data.p * i, f->b, f->data.p),
               2.0);
  return sum;
}

/* Sigma_ik */
static double covariance(const fixture *f, size_t i, size_t k) {
  const size_t q = f->data.q;
  double sum = 0.0;
  for (size_t c = 0; c < q; c++)
    sum += f->factor[i + q * c] * f->factor[k + q * c];
  return sum;
}

static double correlation(const fixture *f, size_t i, size_t k) {
  return covariance(f, i, k) / sqrt(covariance(f, i, i) * covariance(f, k, k));
}

/* ---- by hand ------------------------------------------------------------- */

static const form forms[] = {
  /* q, p, groups, half-t, diagonal, known, collapsed */
  {1, 1, FEW, 1, 0, 0, 0},  {2, 3, FEW, 1, 0, 0, 0},  {2, 2, FEW, 0, 0, 0, 0},
  {2, 2, FEW, 1, 1, 0, 0},  {2, 2, FEW, 0, 1, 0, 0},  {1, 2, FEW, 1, 0, 1, 0},
  {3, 2, FEW, 0, 0, 0, 1},  {2, 3, FEW, 1, 0, 0, 1},  {1, 0, FEW, 1, 0, 0, 0},
  {2, 2, MANY, 1, 0, 0, 0}, {1, 1, MANY, 0, 0, 0, 1},
};

/* The fixed effects in the units of the data. */
static const double *check_fixed(const fixture *f, const double *row) {
  const size_t p = f->data.p;
  double moved = 0.0;
  for (size_t k = 1; k < p; k++) {
    EXPECT_NEAR(row[k], f->b[k] / f->unit[k], 1e-14);
    moved += f->column_mean[k] * row[k];
  }
  if (p > 0)
    EXPECT_NEAR(row[0], f->b[0] / f->unit[0] + f->data.centre - moved, 1e-14);
  return row + p;
}

static void check_row(form of) {
  fixture f;
  open_fixture(&f, of);
  draw_all(&f);
  double *work = new_work(&f), row[MOST_COLUMNS];
  hlm_model model;
  sweep_model(&f, &model, work, row);
  const double *next = check_fixed(&f, row);
  for (size_t k = 0; k < of.q; k++)
    EXPECT_NEAR(*next++, sqrt(covariance(&f, k, k)), 1e-14);
  for (size_t k = 0; k < of.q && !of.diagonal; k++)
    for (size_t i = k + 1; i < of.q; i++)
      EXPECT_NEAR(*next++, correlation(&f, i, k), 1e-13);
  if (!of.known)
    EXPECT_NEAR(*next++, 1.0 / sqrt(f.beta), 1e-14);
  const double sd = 1.0 / sqrt(f.beta);
  EXPECT_NEAR(*next++,
              f.data.n * dnorm(0.0, 0.0, sd, 1) + 0.5 * f.data.log_weights -
                0.5 * f.beta * residual_squares(&f),
              1e-11);
  for (size_t j = 0; j < of.groups; j++)
    for (size_t k = 0; k < of.q; k++) {
      const int at = f.fixed_at[k];
      EXPECT_NEAR(*next++, f.u[k + of.q * j] + (at < 0 ? 0.0 : row[at]), 1e-13);
    }
  EXPECT(hlm_columns(&f.data) == (size_t)(next - row));
  release_numbers(work);
}

/* Column c of (Sigma^-1 + beta Z'Z) root root' against that of I, and this matrix
 * times mean against beta Z'(y - X b). */
static void check_group(const fixture *f, size_t j, const double *mean,
                        const double *root) {
  const size_t p = f->data.p, q = f->data.q;
  double precision[MOST_Q * MOST_Q], right[MOST_Q] = {0.0};
  linalg_inverse_from_cholesky(f->factor, q, precision);
  for (size_t i = (size_t)f->start[j]; i < (size_t)f->start[j + 1]; i++) {
    const double *z = f->z + q * i;
    const double gap = f->y[i] - linalg_inner(f->x + p * i, f->b, p);
    for (size_t k = 0; k < q; k++) {
      right[k] += f->beta * z[k] * gap;
      for (size_t c = 0; c < q; c++)
        precision[k + q * c] += f->beta * z[k] * z[c];
    }
  }
  for (size_t k = 0; k < q; k++) {
    EXPECT_NEAR(linalg_inner(precision + q * k, mean, q), right[k], 1e-10);
    for (size_t c = 0; c < q; c++) {
      double product = 0.0;
      for (size_t i = 0; i < q; i++)
        for (size_t l = 0; l < q; l++)
          product += precision[i + q * k] * root[i + q * l] * root[c + q * l];
      EXPECT_NEAR(product, k == c ? 1.0 : 0.0, 1e-10);
    }
  }
}

static void check_conditionals(form of) {
  fixture f;
  open_fixture(&f, of);
  draw_all(&f);
  double *work = new_work(&f);
  double *mean = new_numbers(of.q * of.groups);
  double *root = new_numbers(of.q * of.q * of.groups);
  hlm_model model;
  hlm_open(&model, &f.data, &f.state, work);
  EXPECT(hlm_conditionals(&model, 1, f.b, f.factor, &f.beta, mean, root) ==
         STATUS_OK);
  for (size_t j = 0; j < of.groups; j++)
    check_group(&f, j, mean + of.q * j, root + of.q * of.q * j);
  release_numbers(root);
  release_numbers(mean);
  release_numbers(work);
}

static void rows_by_hand(void) {
  for (size_t k = 0; k < LENGTH(forms); k++)
    check_row(forms[k]);
}

static void conditionals_by_hand(void) {
  for (size_t k = 0; k < LENGTH(forms); k++)
    check_conditionals(forms[k]);
}

/* ---- one-step invariance ------------------------------------------------- */

/* Sums over the groups of u'Sigma^-1 u and u_k^2. */
static void group_squares(const fixture *f, double *white, double *square) {
  const size_t q = f->data.q;
  double inverse[MOST_Q * MOST_Q];
  linalg_inverse_from_cholesky(f->factor, q, inverse);
  *white = 0.0;
  memset(square, 0, q * sizeof *square);
  for (size_t j = 0; j < f->data.groups; j++) {
    const double *u = f->u + q * j;
    for (size_t k = 0; k < q; k++) {
      square[k] += u[k] * u[k];
      *white += u[k] * linalg_inner(inverse + q * k, u, q);
    }
  }
}

/* The half-t distribution has no moments of its order and above: statistics are
 * squashed. */
static size_t statistics(const fixture *f, double *out) {
  const hlm_data *data = &f->data;
  const size_t q = data->q;
  const double residuals = residual_squares(f);
  double square[MOST_Q];
  size_t count = 0;
  group_squares(f, &out[count++], square);
  out[count++] = f->beta * residuals;
  out[count++] = log(residuals);
  if (!data->known) {
    out[count++] = log(f->beta);
    out[count++] = log(f->beta) * log(covariance(f, 0, 0));
  }
  for (size_t k = 0; k < q; k++) {
    out[count++] = log(covariance(f, k, k));
    out[count++] = log(square[k]);
    out[count++] = squash(square[k] / covariance(f, k, k));
    out[count++] = squash(f->u[k] * f->y[0]);
  }
  for (size_t k = 1; k < q && !data->diagonal; k++) {
    out[count++] = correlation(f, k, 0);
    out[count++] = pow(correlation(f, k, k - 1), 2.0);
    out[count++] = squash(f->u[k] * f->u[0]);
  }
  for (size_t k = 0; k < data->p; k++) {
    out[count++] = f->b[k];
    out[count++] = f->b[k] * f->b[k];
    out[count++] = squash(f->b[k] * f->y[0]);
  }
  return count;
}

/* change(f): makes a mistake in what the sampler is given; or NULL. */
static int is_sound(form of, void (*change)(fixture *f), size_t draws) {
  fixture f;
  hlm_model model;
  double before[MOST_STATISTICS], after[MOST_STATISTICS], row[MOST_COLUMNS];
  open_fixture(&f, of);
  double *work = new_work(&f);
  draw_all(&f);
  const size_t count = statistics(&f, before);
  EXPECT(count <= MOST_STATISTICS);
  invariance sweeps = new_invariance(count);
  const fixture first = f;
  for (size_t i = 0; i < draws; i++) {
    draw_all(&f);
    statistics(&f, before);
    const hlm_data right = f.data;
    if (change != NULL)
      change(&f);
    sweep_model(&f, &model, work, row);
    f.data = right;
    memcpy(f.scale, first.scale, sizeof f.scale);
    memcpy(f.precision, first.precision, sizeof f.precision);
    memcpy(f.mean, first.mean, sizeof f.mean);
    statistics(&f, after);
    compare(&sweeps, before, after);
  }
  release_numbers(work);
  return is_invariant(&sweeps);
}

static void sweeps_leave_the_posterior(void) {
  for (size_t k = 0; k < LENGTH(forms); k++)
    EXPECT(is_sound(forms[k], NULL, forms[k].groups == MANY ? 4000 : 20000));
}

static void group_more(fixture *f) {
  f->data.df += 1.0;
}
static void group_fewer(fixture *f) {
  f->data.df -= 1.0;
}
static void scale_inverted(fixture *f) {
  double factor[MOST_Q * MOST_Q];
  memcpy(factor, f->scale, sizeof factor);
  EXPECT(linalg_cholesky(factor, f->data.q) == STATUS_OK);
  linalg_inverse_from_cholesky(factor, f->data.q, f->scale);
}
static void scale_not_squared(fixture *f) {
  for (size_t k = 0; k < f->data.q; k++)
    f->scale[k] = sqrt(f->scale[k]);
}
static void correlated(fixture *f) {
  f->data.diagonal = 0;
}
static void nu0_not_halved(fixture *f) {
  f->data.shape *= 2.0;
}
static void rate_not_halved(fixture *f) {
  f->data.rate *= 2.0;
}
static void one_observation_more(fixture *f) {
  f->data.n += 1.0;
}
static void no_pool(fixture *f) {
  f->data.pool = 0;
}
static void no_rss(fixture *f) {
  f->data.rss = 0.0;
}
static void mean_zero(fixture *f) {
  memset(f->mean, 0, sizeof f->mean);
}
static void variance_as_precision(fixture *f) {
  for (size_t k = 0; k < f->data.p; k++)
    f->precision[k] = 1.0 / f->precision[k];
}
static void noise_drawn(fixture *f) {
  f->data.known = 0;
}

static void wrong_sweeps_are_found(void) {
  static const struct {
    size_t form;
    void (*change)(fixture *f);
  } wrong[] = {
    {2, group_more},        {2, group_fewer},
    {2, scale_inverted},    {4, scale_inverted},
    {1, scale_not_squared}, {2, nu0_not_halved},
    {4, correlated},        {7, nu0_not_halved},
    {1, rate_not_halved},   {3, one_observation_more},
    {0, no_pool},           {6, no_rss},
    {1, mean_zero},         {5, variance_as_precision},
    {5, noise_drawn},       {7, group_more},
  };
  for (size_t k = 0; k < LENGTH(wrong); k++)
    EXPECT(!is_sound(forms[wrong[k].form], wrong[k].change, 20000));
}

void test_hlm(void) {
  run_test("hlm: the recorded row, by hand", rows_by_hand);
  run_test("hlm: the groups' conditionals, by hand", conditionals_by_hand);
  run_test("hlm: sweeps leave the posterior", sweeps_leave_the_posterior);
  run_test("hlm: wrong sweeps rejected", wrong_sweeps_are_found);
}
