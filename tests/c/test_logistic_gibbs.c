/* The two steps of gibbs_logistic() leave the joint distribution of coefficients
 * and counts invariant, with dense and with sparse rows, for a proposal about any
 * centre; and the choice of the steps of a sweep. */
#include "logistic/logistic_gibbs.h"

#include <math.h>
#include <string.h>

#include "harness.h"
#include "numeric/rmath.h"

void test_logistic_gibbs(void);

enum { N = 9, P = 2 };

/* Rows (1, x), the second column 0 in some. */
static const double x[N * P] = {1.0, 1.0,  1.0, 1.0, 1.0,  1.0, 1.0, 1.0, 1.0,
                                0.3, -1.2, 0.0, 2.0, -0.4, 0.0, 0.9, 0.0, -1.7};
static const int row_start[N + 1] = {0, 2, 4, 5, 7, 9, 10, 12, 13, 15};
static const int column[15] = {0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 1};
static const double value[15] = {1.0,  0.3, 1.0, -1.2, 1.0, 1.0, 2.0, 1.0,
                                 -0.4, 1.0, 1.0, 0.9,  1.0, 1.0, -1.7};
static const double total[N] = {1, 3, 0, 2, 1, 5, 1, 1, 4};
static const double offset[N] = {0.2, 0, -0.3, 0, 0.5, 0, 0, -0.1, 0};
static const double precision[P] = {1.0, 0.5};
static const double map[P] = {0.2, -0.1};
static const double factor[P * P] = {1.5, 0.2, 0.0, 1.2};

typedef struct {
  double success[N], w[P], counts[4], sweep;
  logistic_gibbs_data data;
  double *work;
  logistic_gibbs model;
} chain;

static void open_chain(chain *c, int sparse) {
  const logistic_data density = {.n = N,
                                 .p = P,
                                 .x = sparse ? NULL : x,
                                 .row_start = row_start,
                                 .column = column,
                                 .value = value,
                                 .success = c->success,
                                 .total = total,
                                 .offset = offset,
                                 .precision = precision,
                                 .diagonal = 1};
  c->data = (logistic_gibbs_data){density, map, factor, 4.0};
  memset(c->counts, 0, sizeof c->counts);
  c->sweep = 0.0;
  c->work = new_bytes(logistic_gibbs_work_size(&c->data));
  const logistic_gibbs_state state = {c->w, c->counts, &c->sweep};
  logistic_gibbs_open(&c->model, &c->data, &state, c->work);
}

/* w from the prior, s given w */
static void draw_joint(chain *c) {
  for (size_t j = 0; j < P; j++)
    c->w[j] = norm_rand() / sqrt(precision[j]);
  for (size_t i = 0; i < N; i++) {
    const double eta = offset[i] + x[i] * c->w[0] + x[i + N] * c->w[1];
    c->success[i] = rbinom(total[i], 1.0 / (1.0 + exp(-eta)));
  }
  c->model.known = 0;
}

enum { STATISTICS = 7 };

static void fill_statistics(const chain *c, double *statistics) {
  double sum = 0.0, slope = 0.0;
  for (size_t i = 0; i < N; i++) {
    sum += c->success[i];
    slope += c->success[i] * x[i + N];
  }
  const double *w = c->w;
  const double all[STATISTICS] = {w[0],        w[1],        w[0] * w[0],
                                  w[1] * w[1], w[0] * w[1], w[0] * sum,
                                  w[1] * slope};
  memcpy(statistics, all, sizeof all);
}

typedef void (*step)(chain *c);

static const generator plain = {0};

static void augment(chain *c) {
  EXPECT(logistic_gibbs_augment(&c->model, &plain) == STATUS_OK);
}

static void propose(chain *c) {
  logistic_gibbs_propose(&c->model, &plain, 0);
}

/* Mutant: a trial that is not there. */
static void augment_with_a_trial_more(chain *c) {
  double more[N];
  for (size_t i = 0; i < N; i++)
    more[i] = total[i] + 1.0;
  c->model.data.density.total = more;
  augment(c);
  c->model.data.density.total = total;
}

/* Mutant: every proposal is accepted. */
static void propose_and_accept(chain *c) {
  c->model.value = -1e300;
  c->model.known = 1;
  propose(c);
}

static invariance moved_by(step take, int sparse, int draws) {
  chain c;
  open_chain(&c, sparse);
  invariance v = new_invariance(STATISTICS);
  for (int i = 0; i < draws; i++) {
    double before[STATISTICS], after[STATISTICS];
    draw_joint(&c);
    fill_statistics(&c, before);
    take(&c);
    fill_statistics(&c, after);
    compare(&v, before, after);
  }
  release_numbers(c.work);
  return v;
}

static void steps_are_invariant(void) {
  set_seed(101, 102);
  for (int sparse = 0; sparse <= 1; sparse++) {
    const invariance augmented = moved_by(augment, sparse, 40000);
    EXPECT_INVARIANT(&augmented);
    const invariance proposed = moved_by(propose, sparse, 40000);
    EXPECT_INVARIANT(&proposed);
  }
}

/* The largest |z| of a mean of differences. */
static double largest_shift(const invariance *v) {
  double worst = 0.0;
  for (size_t k = 0; k < v->count; k++) {
    const double mean = v->sum[k] / v->n;
    const double variance = v->square[k] / v->n - mean * mean;
    worst = fmax(worst, fabs(mean) / sqrt(variance / v->n));
  }
  return worst;
}

static void mutants_are_found(void) {
  set_seed(103, 104);
  const invariance trial = moved_by(augment_with_a_trial_more, 0, 40000);
  EXPECT(largest_shift(&trial) > MAX_Z);
  const invariance accepted = moved_by(propose_and_accept, 0, 40000);
  EXPECT(largest_shift(&accepted) > MAX_Z);
}

/* Sweeps of w that a sweep without the augmentation leaves where it was: a
 * proposal of a far centre is never accepted. */
static void sweeps_take_the_steps_they_should(void) {
  static const double far[P] = {1e3, 1e3};
  static const struct {
    double counts[4], sweep;
    int augmented;
  } cases[] = {{{49, 49, 0, 0}, 0, 1}, {{50, 25, 0, 0}, 0, 0},
               {{50, 24, 0, 0}, 0, 1}, {{50, 50, 9, 0}, 3, 1},
               {{50, 50, 9, 0}, 4, 0}, {{0, 0, 90, 90}, 1, 1}};
  set_seed(105, 106);
  chain c;
  open_chain(&c, 0);
  c.model.data.map = far;
  const scan_control control = {.burnin = 0.0, .thin = 1.0, .threads = 1};
  for (size_t k = 0; k < LENGTH(cases); k++) {
    draw_joint(&c);
    memcpy(c.counts, cases[k].counts, sizeof c.counts);
    c.sweep = cases[k].sweep;
    const double before = c.w[0];
    EXPECT(logistic_gibbs_sweep(&c.model, &control) == STATUS_OK);
    EXPECT((c.w[0] != before) == cases[k].augmented);
    EXPECT(c.counts[2] == cases[k].counts[2] + 1.0);
    double row[2 * P];
    logistic_gibbs_record(&c.model, row, 2);
    EXPECT(row[0] == c.w[0] && row[2] == c.w[1]);
  }
  release_numbers(c.work);
}

void test_logistic_gibbs(void) {
  run_test("logistic sampler: both steps are invariant", steps_are_invariant);
  run_test("logistic sampler: mutants are found", mutants_are_found);
  run_test("logistic sampler: the steps of a sweep",
           sweeps_take_the_steps_they_should);
}
