/* Linear regression: the recorded row by hand, and one-step invariance.
 * Parameters drawn from the prior and responses drawn given them are a draw of
 * both; after a sweep given these responses they still are. */
#include "lm/lm.h"

#include <math.h>
#include <string.h>

#include "harness.h"
#include "numeric/rmath.h"

void test_lm(void);

enum { N = 6, P = 4, MOST_MISSING = 2 };

/* Orthonormal columns, orthogonal to a constant. */
static double left[N * 3];

/* The right singular vectors: columns of the reflection I - 2 v v'/v'v. */
static double right_vectors[P * P];

static void make_vectors(void) {
  static const double contrasts[3][N] = {
    {1, -1, 0, 0, 0, 0}, {1, 1, -2, 0, 0, 0}, {0, 0, 0, 1, -1, 0}};
  static const double v[P] = {1.0, 0.4, -0.7, 0.2};
  double square = 0.0;
  for (size_t j = 0; j < 3; j++) {
    double size = 0.0;
    for (size_t i = 0; i < N; i++)
      size += contrasts[j][i] * contrasts[j][i];
    for (size_t i = 0; i < N; i++)
      left[i + N * j] = contrasts[j][i] / sqrt(size);
  }
  for (size_t j = 0; j < P; j++)
    square += v[j] * v[j];
  for (size_t j = 0; j < P; j++)
    for (size_t i = 0; i < P; i++)
      right_vectors[i + P * j] = (i == j) - 2.0 * v[i] * v[j] / square;
}

/* ---- a model and its memory ---------------------------------------------- */

typedef struct {
  lm_data data;
  lm_state state;
  double lambda, beta, alpha, theta[P], free[P], u[P];
  double local[P], local_aux[P];
  double eigenvalue[3], estimate[3], vectors[P * 3], scale[P], mean[P];
  double z[N * P], y[N], prior_mean;
  double gram[3 * 3];
  double missing_x[MOST_MISSING * P], missing_offset[MOST_MISSING];
  double missing_weight[MOST_MISSING];
} fixture;

typedef struct {
  size_t p; /* predictors, of which 3 at most are informed */
  int conjugate, intercept, collapsed, horseshoe;
} form;

static void open_fixture(fixture *f, form of) {
  memset(f, 0, sizeof *f);
  make_vectors();
  const size_t p = of.p, r = p < 3 ? p : 3;
  for (size_t j = 0; j < p; j++) {
    f->scale[j] = 0.5 + (double)j;
    f->mean[j] = 1.0 - 0.6 * (double)j;
  }
  for (size_t k = 0; k < r; k++) {
    f->eigenvalue[k] = 4.0 / (1.0 + (double)k);
    for (size_t j = 0; j < p; j++)
      f->vectors[j + p * k] =
        p == P ? right_vectors[j + P * k] : (double)(j == (k + 1) % p);
    for (size_t j = 0; j < p; j++)
      for (size_t i = 0; i < N; i++)
        f->z[i + N * j] +=
          left[i + N * k] * sqrt(f->eigenvalue[k]) * f->vectors[j + p * k];
  }
  for (size_t j = 0; j < p && r == p; j++)
    for (size_t i = 0; i < p; i++)
      for (size_t k = 0; k < r; k++)
        f->gram[i + p * j] +=
          f->vectors[i + p * k] * f->eigenvalue[k] * f->vectors[j + p * k];
  f->prior_mean = 0.8;
  f->data = (lm_data){.p = p,
                      .r = r,
                      .conjugate = of.conjugate,
                      .intercept = of.intercept,
                      .collapsed = of.collapsed,
                      .horseshoe = of.horseshoe,
                      .tau = 0.6,
                      .n = N,
                      .a = 4.0,
                      .b = 3.0,
                      .c = 5.0,
                      .d = 2.5,
                      .lambda = 1.3,
                      .total = N,
                      .prior_precision = of.intercept ? 0.7 : 0.0,
                      .eigenvalue = f->eigenvalue,
                      .estimate = f->estimate,
                      .vectors = f->vectors,
                      .gram = f->gram,
                      .scale = f->scale,
                      .mean = f->mean,
                      .intercept_at = 1};
  if (!of.intercept)
    memset(f->mean, 0, sizeof f->mean);
  f->state = (lm_state){&f->lambda, &f->beta, &f->alpha,   f->theta,
                        f->free,    f->local, f->local_aux};
}

/* ---- drawing all of it --------------------------------------------------- */

static double prior_mean(const fixture *f, size_t i) {
  double mean = f->data.intercept ? f->alpha : 0.0;
  for (size_t j = 0; j < f->data.p; j++)
    mean += f->z[i + N * j] * f->u[j];
  return mean;
}

/* The statistics of y that the sampler reads. */
static void reduce_responses(fixture *f) {
  double centre = 0.0;
  for (size_t i = 0; i < N && f->data.intercept; i++)
    centre += f->y[i] / N;
  f->data.centre = centre;
  f->data.prior_gap = f->data.intercept ? f->prior_mean - centre : 0.0;
  double rest[N];
  for (size_t i = 0; i < N; i++)
    rest[i] = f->y[i] - centre;
  for (size_t k = 0; k < f->data.r; k++) {
    double along = 0.0;
    for (size_t i = 0; i < N; i++)
      along += left[i + N * k] * f->y[i];
    f->estimate[k] = along / sqrt(f->eigenvalue[k]);
    for (size_t i = 0; i < N; i++)
      rest[i] -= along * left[i + N * k];
  }
  f->data.rss = 0.0;
  for (size_t i = 0; i < N; i++)
    f->data.rss += rest[i] * rest[i];
}

/* The scales of the slopes. */
static void draw_scales(fixture *f) {
  const lm_data *data = &f->data;
  f->lambda = data->conjugate ? data->lambda : rgamma(data->a, 1.0 / data->b);
  for (size_t j = 0; j < data->p; j++)
    f->local[j] = 1.0;
  if (!data->horseshoe)
    return;
  f->lambda = pow(data->tau * rcauchy(0.0, 1.0), -2.0);
  for (size_t j = 0; j < data->p; j++) {
    f->local[j] = pow(rcauchy(0.0, 1.0), 2.0);
    f->local_aux[j] = (1.0 + 1.0 / f->local[j]) / exp_rand();
  }
}

static void draw_all(fixture *f) {
  const lm_data *data = &f->data;
  const size_t p = data->p;
  f->beta = rgamma(data->c, 1.0 / data->d);
  draw_scales(f);
  const double in_common = data->conjugate ? f->beta : 1.0;
  if (data->intercept)
    f->alpha =
      f->prior_mean + norm_rand() / sqrt(data->prior_precision * in_common);
  for (size_t j = 0; j < p; j++)
    f->free[j] = f->u[j] =
      norm_rand() * sqrt(f->local[j] / (f->lambda * in_common));
  for (size_t k = 0; k < data->r; k++) {
    f->theta[k] = 0.0;
    for (size_t j = 0; j < p; j++)
      f->theta[k] += f->vectors[j + p * k] * f->u[j];
  }
  for (size_t i = 0; i < N; i++)
    f->y[i] = prior_mean(f, i) + norm_rand() / sqrt(f->beta);
  reduce_responses(f);
}

/* ---- sweeps -------------------------------------------------------------- */

/* A sweep, and the row that it records. */
static void sweep_model(fixture *f, lm_model *model, double *work,
                        double *row) {
  const scan_control control = {.thin = 1.0, .threads = 1};
  lm_open(model, &f->data, &f->state, work);
  EXPECT(lm_sweep(model, &control) == STATUS_OK);
  lm_record(model, row, 1);
}

static double *new_work(const fixture *f) {
  return new_bytes(lm_work_size(&f->data));
}

/* u of a recorded row; its intercept is in place 1. */
static void take_slopes(fixture *f, const double *row) {
  for (size_t j = 0; j < f->data.p; j++) {
    const size_t at = f->data.intercept && j >= 1 ? j + 1 : j;
    f->u[j] = row[at] * f->scale[j];
  }
}

/* ---- the recorded row ---------------------------------------------------- */

static void check_row(form of) {
  fixture f;
  open_fixture(&f, of);
  set_seed(51, 52);
  draw_all(&f);
  for (size_t i = 0; i < MOST_MISSING; i++) {
    f.missing_offset[i] = 0.4 - (double)i;
    f.missing_weight[i] = 0.5 + 2.0 * (double)i;
    for (size_t j = 0; j < of.p; j++)
      f.missing_x[i + MOST_MISSING * j] = norm_rand();
  }
  f.data.missing =
    (lm_missing){MOST_MISSING, f.missing_x, f.missing_offset, f.missing_weight};
  double *work = new_work(&f), row[P + 4 + MOST_MISSING];
  lm_model model;
  sweep_model(&f, &model, work, row);
  take_slopes(&f, row);

  const size_t coefficients = of.p + (of.intercept ? 1 : 0);
  const double sigma = row[coefficients];
  EXPECT_NEAR(sigma, 1.0 / sqrt(f.beta), 1e-14);
  double sum = 0.0;
  for (size_t i = 0; i < N; i++) {
    /* by the predictors in their own units */
    double mean = of.intercept ? row[1] : 0.0;
    for (size_t j = 0; j < of.p; j++)
      mean += (f.mean[j] + f.scale[j] * f.z[i + N * j]) * f.u[j] / f.scale[j];
    sum += dnorm(f.y[i], mean, sigma, 1);
  }
  const double *next = row + coefficients + 1;
  if (of.horseshoe || !of.conjugate) {
    EXPECT_NEAR(*next, of.horseshoe ? 1.0 / sqrt(f.lambda) : f.lambda, 1e-14);
    next++;
  }
  EXPECT_NEAR(*next, sum, 1e-12);
  for (size_t i = 0; i < MOST_MISSING; i++) {
    double mean = f.missing_offset[i] + f.alpha;
    for (size_t j = 0; j < of.p; j++)
      mean += f.missing_x[i + MOST_MISSING * j] * f.u[j] / f.scale[j];
    const double z = (next[1 + i] - mean) * sqrt(f.missing_weight[i]) / sigma;
    EXPECT_NEAR(z, model.normals[model.all_normals - MOST_MISSING + i], 1e-12);
  }
  EXPECT(lm_columns(&f.data) == (size_t)(next - row) + 1 + MOST_MISSING);
  release_numbers(work);
}

static const form forms[] = {
  {3, 0, 1, 0, 0}, {2, 0, 0, 0, 0}, {4, 0, 1, 0, 0},
  {3, 0, 1, 1, 0}, {4, 0, 0, 1, 0}, {3, 1, 1, 0, 0},
  {4, 1, 0, 0, 0}, {3, 1, 1, 0, 1}, {4, 1, 0, 0, 1},
};

static void rows_by_hand(void) {
  for (size_t k = 0; k < LENGTH(forms); k++)
    check_row(forms[k]);
}

/* ---- one-step invariance ------------------------------------------------- */

/* The slopes of a horseshoe have no mean: statistics are squashed. */
static size_t statistics(const fixture *f, double *out) {
  const lm_data *data = &f->data;
  double squares = 0.0, residuals = 0.0;
  for (size_t j = 0; j < data->p; j++)
    squares += f->u[j] * f->u[j] / f->local[j];
  for (size_t i = 0; i < N; i++) {
    const double rest = f->y[i] - prior_mean(f, i);
    residuals += rest * rest;
  }
  size_t count = 0;
  out[count++] = log(f->beta);
  out[count++] = f->beta * residuals;
  out[count++] = log(residuals);
  out[count++] = log(f->beta) * squash(f->y[0] * f->y[0]);
  out[count++] = squash(f->u[0]);
  out[count++] = squash(f->u[0] * f->u[1]);
  out[count++] = squash(f->u[data->p - 1] * f->u[data->p - 1]);
  out[count++] = squash(f->u[1] * f->y[0]);
  if (data->horseshoe) {
    out[count++] = log(f->lambda);
    out[count++] = squash(f->beta * f->lambda * squares);
    out[count++] = log(f->local[1]);
    out[count++] = squash(f->u[1] * f->u[1]) * squash(f->local[1]);
    out[count++] = log(f->local_aux[0]) * log(f->local[0]);
  } else if (!data->conjugate) {
    out[count++] = log(f->lambda);
    out[count++] = f->lambda * squares;
    out[count++] = log(f->lambda) * log(f->beta);
  } else {
    out[count++] = f->beta * squares;
  }
  if (data->intercept) {
    const double gap = f->alpha - f->prior_mean;
    out[count++] = gap;
    out[count++] = gap * gap;
    out[count++] = gap * squash(f->y[1]);
    if (data->conjugate)
      out[count++] = gap * gap * f->beta;
  }
  return count;
}

/* change(f): makes a mistake in what the sampler is given; or NULL. */
static int is_sound(form of, void (*change)(fixture *f), size_t draws) {
  fixture f;
  lm_model model;
  double before[MOST_STATISTICS], after[MOST_STATISTICS];
  double row[P + 4];
  open_fixture(&f, of);
  double *work = new_work(&f);
  set_seed(53, 54);
  draw_all(&f);
  invariance sweeps = new_invariance(statistics(&f, before));
  for (size_t i = 0; i < draws; i++) {
    draw_all(&f);
    statistics(&f, before);
    const lm_data right = f.data;
    if (change != NULL)
      change(&f);
    sweep_model(&f, &model, work, row);
    f.data = right;
    take_slopes(&f, row);
    statistics(&f, after);
    compare(&sweeps, before, after);
  }
  release_numbers(work);
  return is_invariant(&sweeps);
}

static void sweeps_leave_the_posterior(void) {
  for (size_t k = 0; k < LENGTH(forms); k++)
    EXPECT(is_sound(forms[k], NULL, 40000));
}

static void one_observation_more(fixture *f) {
  f->data.n += 1.0;
}
static void shape_of_lambda(fixture *f) {
  f->data.a += 0.5;
}
static void rate_twice(fixture *f) {
  f->data.b *= 2.0;
}
static void residuals_of_means(fixture *f) {
  f->data.rss += f->data.prior_gap * f->data.prior_gap;
}
static void intercept_at_zero(fixture *f) {
  f->data.prior_gap = -f->data.centre;
}
static void root_of_total(fixture *f) {
  f->data.total = sqrt(f->data.total);
}

static void tau_twice(fixture *f) {
  f->data.tau *= 2.0;
}
static void aux_of_another(fixture *f) {
  f->local_aux[0] = f->local_aux[1];
}

static void wrong_sweeps_are_found(void) {
  EXPECT(!is_sound(forms[0], one_observation_more, 40000));
  EXPECT(!is_sound(forms[0], shape_of_lambda, 40000));
  EXPECT(!is_sound(forms[3], rate_twice, 40000));
  EXPECT(!is_sound(forms[0], residuals_of_means, 40000));
  EXPECT(!is_sound(forms[5], intercept_at_zero, 40000));
  EXPECT(!is_sound(forms[3], root_of_total, 40000));
  EXPECT(!is_sound(forms[7], tau_twice, 40000));
  EXPECT(!is_sound(forms[8], one_observation_more, 40000));
  EXPECT(!is_sound(forms[7], aux_of_another, 40000));
}

void test_lm(void) {
  run_test("lm: the recorded row, by hand", rows_by_hand);
  run_test("lm: sweeps leave the posterior", sweeps_leave_the_posterior);
  run_test("lm: wrong sweeps rejected", wrong_sweeps_are_found);
}
