/* Poisson-gamma matrix factorisation: the recorded row by hand, one-step invariance
 * of the joint distribution, and wrong sweeps. */
#include "pmf/pmf.h"

#include <math.h>
#include <string.h>

#include "harness.h"
#include "numeric/linalg.h"
#include "numeric/rmath.h"

void test_pmf(void);

enum { USERS = 3, ITEMS = 4, MOST_K = 2, PAIRS = USERS * ITEMS, COLUMNS = 32 };

typedef struct {
  size_t k;
  int known[2]; /* the rates of users, of items */
  double shape; /* a; large ones for large counts */
} form;

static const form forms[] = {
  {1, {0, 0}, 1.5}, {2, {0, 0}, 0.9},  {2, {1, 0}, 1.5},
  {2, {1, 1}, 1.5}, {2, {0, 1}, 40.0},
};

typedef struct {
  pmf_data data;
  pmf_state state;
  int start[2][ITEMS + 1], index[2][PAIRS];
  double value[2][PAIRS], y[USERS][ITEMS];
  double u[MOST_K * USERS], v[MOST_K * ITEMS], rate_u[USERS], rate_v[ITEMS];
  double kept;
} fixture;

static const int cell_user[] = {2, 0}, cell_item[] = {1, 3};

static void open_fixture(fixture *f, form of) {
  memset(f, 0, sizeof *f);
  set_seed(81, 82);
  f->data = (pmf_data){.n = USERS,
                       .m = ITEMS,
                       .k = of.k,
                       .prior = {{of.shape, 5.0, 1.2}, {1.2, 6.0, 0.8}},
                       .cells = 2,
                       .cell_user = cell_user,
                       .cell_item = cell_item,
                       .keep = {1, 1}};
  for (size_t w = 0; w < 2; w++) {
    if (of.known[w])
      f->data.prior[w].rate_shape = INFINITY;
    f->data.counts[w] =
      (pmf_counts){w == 0 ? USERS : ITEMS, w == 0 ? ITEMS : USERS, f->start[w],
                   f->index[w], f->value[w]};
  }
  f->state = (pmf_state){f->u, f->v, f->rate_u, f->rate_v, &f->kept};
}

/* ---- drawing all of it ---------------------------------------------------- */

static void draw_factors(const pmf_prior *prior, size_t rows, size_t k,
                         double *rate, double *factor) {
  for (size_t r = 0; r < rows; r++) {
    rate[r] =
      isfinite(prior->rate_shape)
        ? rgamma(prior->rate_shape, prior->rate_mean / prior->rate_shape)
        : prior->rate_mean;
    for (size_t j = 0; j < k; j++)
      factor[j + k * r] = rgamma(prior->shape, 1.0 / rate[r]);
  }
}

static double expected(const fixture *f, size_t user, size_t item) {
  const size_t k = f->data.k;
  return linalg_inner(f->u + k * user, f->v + k * item, k);
}

static void compress(fixture *f, size_t which) {
  const size_t rows = which == 0 ? USERS : ITEMS,
               partners = which == 0 ? ITEMS : USERS;
  int at = 0;
  for (size_t r = 0; r < rows; r++) {
    for (size_t s = 0; s < partners; s++) {
      const double y = which == 0 ? f->y[r][s] : f->y[s][r];
      if (y > 0.0) {
        f->index[which][at] = (int)s;
        f->value[which][at++] = y;
      }
    }
    f->start[which][r + 1] = at;
  }
}

static void draw_all(fixture *f) {
  draw_factors(&f->data.prior[0], USERS, f->data.k, f->rate_u, f->u);
  draw_factors(&f->data.prior[1], ITEMS, f->data.k, f->rate_v, f->v);
  f->data.log_const = 0.0;
  for (size_t i = 0; i < USERS; i++)
    for (size_t j = 0; j < ITEMS; j++) {
      f->y[i][j] = rpois(expected(f, i, j));
      f->data.log_const += lgammafn(f->y[i][j] + 1.0);
    }
  compress(f, 0);
  compress(f, 1);
}

static void sweep_model(fixture *f, pmf_model *model, void *work) {
  const scan_control control = {.thin = 1.0, .threads = 1, .recording = 1};
  memset(model, 0, sizeof *model);
  pmf_open(model, &f->data, &f->state, work, 1);
  EXPECT(pmf_sweep(model, &control) == STATUS_OK);
}

/* ---- by hand -------------------------------------------------------------- */

static double log_likelihood(const fixture *f) {
  double sum = 0.0;
  for (size_t i = 0; i < USERS; i++)
    for (size_t j = 0; j < ITEMS; j++)
      sum += dpois(f->y[i][j], expected(f, i, j), 1);
  return sum;
}

static double log_prior(const pmf_prior *prior, size_t rows, size_t k,
                        const double *rate, const double *factor) {
  double sum = 0.0;
  for (size_t r = 0; r < rows; r++) {
    if (isfinite(prior->rate_shape))
      sum += dgamma(rate[r], prior->rate_shape,
                    prior->rate_mean / prior->rate_shape, 1);
    for (size_t j = 0; j < k; j++)
      sum += dgamma(factor[j + k * r], prior->shape, 1.0 / rate[r], 1);
  }
  return sum;
}

static void check_row(form of) {
  fixture f;
  pmf_model model;
  double row[COLUMNS];
  open_fixture(&f, of);
  draw_all(&f);
  double *work = new_bytes(pmf_work_size(&f.data, 1));
  sweep_model(&f, &model, work);
  pmf_record(&model, row, 1);
  const double fit = log_likelihood(&f);
  EXPECT_NEAR(row[0], fit, 1e-12);
  EXPECT_NEAR(row[1],
              fit + log_prior(&f.data.prior[0], USERS, of.k, f.rate_u, f.u) +
                log_prior(&f.data.prior[1], ITEMS, of.k, f.rate_v, f.v),
              1e-12);
  EXPECT_NEAR(row[2], expected(&f, 2, 1), 1e-14);
  EXPECT_NEAR(row[3], expected(&f, 0, 3), 1e-14);
  EXPECT(same_bits(row + 4, f.u, of.k * USERS));
  EXPECT(same_bits(row + 4 + of.k * USERS, f.v, of.k * ITEMS));
  EXPECT(pmf_columns(&f.data) == 4 + of.k * (USERS + ITEMS));
  release_numbers(work);
}

static void rows_by_hand(void) {
  for (size_t k = 0; k < LENGTH(forms); k++)
    check_row(forms[k]);
}

/* ---- one-step invariance --------------------------------------------------- */

static size_t statistics(const fixture *f, double *out) {
  size_t count = 0;
  out[count++] = squash(log_likelihood(f) / 20.0);
  out[count++] = log(expected(f, 0, 0));
  out[count++] = squash((f->y[0][0] - expected(f, 0, 0)) * f->u[0]);
  out[count++] = squash((f->y[2][3] - expected(f, 2, 3)) * f->v[0]);
  out[count++] = log(f->u[0]);
  out[count++] = log(f->v[0]);
  out[count++] = squash(f->u[0] * f->v[0]);
  out[count++] = squash(f->u[0] * f->u[f->data.k]);
  if (isfinite(f->data.prior[0].rate_shape)) {
    out[count++] = log(f->rate_u[0]);
    out[count++] = squash(f->rate_u[0] * f->u[0]);
  }
  if (isfinite(f->data.prior[1].rate_shape)) {
    out[count++] = log(f->rate_v[0]);
    out[count++] = squash(f->rate_v[0] * f->v[0]);
  }
  return count;
}

/* change(f): makes a mistake in what the sampler is given; or NULL. */
static int is_sound(form of, void (*change)(fixture *f), size_t draws) {
  fixture f;
  pmf_model model;
  double before[MOST_STATISTICS], after[MOST_STATISTICS];
  open_fixture(&f, of);
  double *work = new_bytes(pmf_work_size(&f.data, 1));
  draw_all(&f);
  invariance sweeps = new_invariance(statistics(&f, before));
  const pmf_data first = f.data;
  for (size_t i = 0; i < draws; i++) {
    f.data = first;
    draw_all(&f);
    statistics(&f, before);
    if (change != NULL)
      change(&f);
    sweep_model(&f, &model, work);
    memcpy(f.data.prior, first.prior, sizeof first.prior);
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

static void shape_larger(fixture *f) {
  f->data.prior[0].shape *= 1.2;
}
static void rate_mean_larger(fixture *f) {
  f->data.prior[1].rate_mean *= 1.2;
}
static void rate_shape_smaller(fixture *f) {
  f->data.prior[0].rate_shape /= 2.0;
}
static void one_count_more(fixture *f) {
  for (int e = 0; e < f->start[1][ITEMS]; e++)
    f->value[1][e] += 1.0;
}

static void wrong_sweeps_are_found(void) {
  void (*const wrong[])(fixture *) = {shape_larger, rate_mean_larger,
                                      rate_shape_smaller, one_count_more};
  for (size_t k = 0; k < LENGTH(wrong); k++)
    EXPECT(!is_sound(forms[1], wrong[k], 20000));
}

void test_pmf(void) {
  run_test("pmf: the recorded row by hand", rows_by_hand);
  run_test("pmf: a sweep leaves the posterior as it is",
           sweeps_leave_the_posterior);
  run_test("pmf: wrong sweeps are found", wrong_sweeps_are_found);
}
