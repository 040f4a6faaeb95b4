/* The steps of gibbs_logistic() leave the joint distribution of coefficients
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
  double success[N], w[P], counts[4], leap, sweep;
  logistic_gibbs_data data;
  double *work;
  logistic_gibbs model;
} chain;

static void open_chain(chain *c, int sparse, int probit) {
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
                                 .diagonal = 1,
                                 .probit = probit};
  c->data = (logistic_gibbs_data){density, map, factor, 4.0};
  memset(c->counts, 0, sizeof c->counts);
  c->sweep = 0.0;
  c->leap = 0.7;
  c->work = new_bytes(logistic_gibbs_work_size(&c->data));
  const logistic_gibbs_state state = {c->w, c->counts, &c->leap, &c->sweep};
  logistic_gibbs_open(&c->model, &c->data, &state, c->work);
}

/* w from the prior, s given w */
static void draw_joint(chain *c) {
  for (size_t j = 0; j < P; j++)
    c->w[j] = norm_rand() / sqrt(precision[j]);
  for (size_t i = 0; i < N; i++) {
    const double eta = offset[i] + x[i] * c->w[0] + x[i + N] * c->w[1];
    const double share = c->data.density.probit ? pnorm(eta, 0.0, 1.0, 1, 0)
                                                : 1.0 / (1.0 + exp(-eta));
    c->success[i] = rbinom(total[i], share);
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

static void travel(chain *c) {
  logistic_gibbs_travel(&c->model, &plain, 0);
}

/* Mutants: a trial that is not there. */
static void take_with_a_trial_more(chain *c, step take) {
  double more[N];
  for (size_t i = 0; i < N; i++)
    more[i] = total[i] + 1.0;
  c->model.data.density.total = more;
  take(c);
  c->model.data.density.total = total;
}

static void augment_with_a_trial_more(chain *c) {
  take_with_a_trial_more(c, augment);
}

static void travel_with_a_trial_more(chain *c) {
  take_with_a_trial_more(c, travel);
}

/* Mutant: every end is accepted. */
static void travel_and_accept(chain *c) {
  c->leap = 1.5;
  c->model.place = (logistic_place){-1e300, 0.0};
  c->model.known = 1;
  travel(c);
}

/* Mutant: every proposal is accepted. */
static void propose_and_accept(chain *c) {
  c->model.place = (logistic_place){-1e300, 0.0};
  c->model.known = 1;
  propose(c);
}

/* Mutant: of a model of the other link. */
static void augment_for_the_other_link(chain *c) {
  c->model.data.density.probit ^= 1;
  augment(c);
  c->model.data.density.probit ^= 1;
}

static invariance moved_by(step take, int sparse, int probit, int draws) {
  chain c;
  open_chain(&c, sparse, probit);
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
  for (int kind = 0; kind < 4; kind++) {
    const int sparse = kind % 2, probit = kind / 2;
    const invariance augmented = moved_by(augment, sparse, probit, 40000);
    EXPECT_INVARIANT(&augmented);
    const invariance proposed = moved_by(propose, sparse, probit, 40000);
    EXPECT_INVARIANT(&proposed);
    const invariance travelled = moved_by(travel, sparse, probit, 40000);
    EXPECT_INVARIANT(&travelled);
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
  static const step mutants[] = {augment_with_a_trial_more, propose_and_accept,
                                 augment_for_the_other_link,
                                 travel_with_a_trial_more, travel_and_accept};
  for (size_t k = 0; k < LENGTH(mutants); k++)
    for (int probit = 0; probit <= 1; probit++) {
      const invariance moved = moved_by(mutants[k], 0, probit, 40000);
      EXPECT(largest_shift(&moved) > MAX_Z);
    }
}

/* Few proposals accepted: the leap is adapted in the burn-in alone, and the step taken
 * from its 50th sweep on. */
static void leap_is_adapted_in_the_burnin(void) {
  set_seed(107, 108);
  chain c;
  open_chain(&c, 0, 0);
  draw_joint(&c);
  const scan_control control = {.burnin = 60.0, .thin = 1.0, .threads = 1};
  static const double few[4] = {49, 3, 0, 0};
  memcpy(c.counts, few, sizeof few);
  for (c.sweep = 49.0; c.sweep < 80.0; c.sweep++) {
    const double before = c.leap;
    EXPECT(logistic_gibbs_sweep(&c.model, &control) == STATUS_OK);
    EXPECT((c.leap != before) == (c.sweep > 49.0 && c.sweep < 60.0));
  }
  release_numbers(c.work);
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
  open_chain(&c, 0, 0);
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
  run_test("logistic sampler: all steps are invariant", steps_are_invariant);
  run_test("logistic sampler: mutants are found", mutants_are_found);
  run_test("logistic sampler: the leap is adapted in the burn-in",
           leap_is_adapted_in_the_burnin);
  run_test("logistic sampler: the steps of a sweep",
           sweeps_take_the_steps_they_should);
}
