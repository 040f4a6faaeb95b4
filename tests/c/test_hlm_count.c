/* Regression of counts and of many trials, with groups and without: the recorded row by hand, one-step
 * invariance, and wrong sweeps. */
#include "hlm/hlm_count.h"

#include <math.h>
#include <string.h>

#include "bars.h"
#include "harness.h"
#include "numeric/rmath.h"

void test_hlm_count(void);

typedef struct {
  bars_form bars;
  hlm_type type;
} form;

static const form forms[] = {
  {{0, {0, 0}, 1, 0}, HLM_POISSON},     {{0, {0, 0}, 0, 0}, HLM_NEGBINOMIAL},
  {{1, {2, 0}, 1, 0}, HLM_POISSON},     {{2, {1, 1}, 0, 0}, HLM_NEGBINOMIAL},
  {{2, {2, 1}, 1, 0}, HLM_NEGBINOMIAL}, {{2, {1, 2}, 0, 1}, HLM_POISSON},
  {{0, {0, 0}, 1, 0}, HLM_LOGIT},       {{1, {2, 0}, 0, 0}, HLM_PROBIT},
  {{2, {1, 2}, 0, 1}, HLM_LOGIT},       {{0, {0, 0}, 0, 0}, HLM_PROBIT},
};

typedef struct {
  bars bars;
  hlm_count_data data;
  hlm_data prior[MOST_BARS];
  int none[BAR_GROUPS + 1]; /* no rows are rotated */
  size_t first[MOST_BARS + 1];
  double y[BAR_ROWS], failures[BAR_ROWS], weight[BAR_ROWS];
  double precision[BAR_P * BAR_P], start[BAR_P];
  double dispersion;
  double row[32];
} fixture;

static void open_fixture(fixture *f, form of) {
  memset(f, 0, sizeof *f);
  set_seed(95, 96);
  bars_open(&f->bars, of.bars);
  for (size_t bar = 0; bar < of.bars.bars; bar++) {
    f->prior[bar] = f->bars.bar[bar];
    f->prior[bar].start = f->none;
    f->prior[bar].keep = 1;
    f->first[bar + 1] = f->first[bar] + f->prior[bar].q * f->prior[bar].groups;
  }
  for (size_t k = 0; k < BAR_P; k++)
    f->precision[k + BAR_P * k] = f->bars.precision[k];
  f->dispersion = 1.0;
  f->data = (hlm_count_data){.groups = {.bars = of.bars.bars,
                                        .p = BAR_P,
                                        .bar = f->prior,
                                        .first = f->first,
                                        .nestings = f->bars.data.nestings,
                                        .nesting = &f->bars.nesting,
                                        .known = 1,
                                        .keep = 1},
                             .bar = f->bars.rows,
                             .rows = {.type = of.type,
                                      .n = BAR_ROWS,
                                      .y = f->y,
                                      .failures = f->failures},
                             .x = f->bars.x,
                             .offset = f->bars.data.offset,
                             .mean = f->bars.mean,
                             .precision = f->precision,
                             .start = f->start,
                             .freedom = 4.0,
                             .scale = 0.7};
}

static int is_binomial(hlm_type type) {
  return type == HLM_LOGIT || type == HLM_PROBIT;
}

static double share_at(hlm_type type, double eta) {
  return type == HLM_LOGIT ? plogis(eta, 0.0, 1.0, 1, 0)
                           : pnorm(eta, 0.0, 1.0, 1, 0);
}

/* 1 to 50 */
static double trials_of(size_t i) {
  return i % 3 == 0 ? 1.0 : i % 3 == 1 ? 6.0 : 50.0;
}

static void draw_all(fixture *f) {
  double eta[BAR_ROWS];
  const hlm_type type = f->data.rows.type;
  if (type == HLM_NEGBINOMIAL)
    f->dispersion = f->data.scale * fabs(norm_rand()) /
                    sqrt(rchisq(f->data.freedom) / f->data.freedom);
  const double size = 1.0 / (f->dispersion * f->dispersion);
  bars_draw(&f->bars);
  bars_predict(&f->bars, eta);
  for (size_t i = 0; i < BAR_ROWS; i++) {
    if (is_binomial(type)) {
      const double trials = trials_of(i);
      f->y[i] = rbinom(trials, share_at(type, eta[i]));
      f->failures[i] = trials - f->y[i];
    } else {
      const double rate =
        type == HLM_NEGBINOMIAL ? rgamma(size, 1.0 / size) : 1.0;
      f->y[i] = rpois(rate * exp(eta[i]));
    }
  }
}

/* The failures and successes of binomial rows hold their weights already. */
static double weight_of(const fixture *f, size_t i) {
  return f->data.rows.weights ? f->weight[i] : 1.0;
}

static void sweep_model(fixture *f) {
  const scan_control control = {.thin = 1.0, .threads = 1};
  const double sweep = 0.0;
  double counts[8] = {0.0};
  const hlm_count_state state = {f->bars.state, &f->dispersion, &sweep, counts};
  hlm_count model;
  hlm_model bar[MOST_BARS];
  void *bar_work[MOST_BARS];
  hlm_likelihood *rows = &f->data.rows;
  rows->constant = 0.0;
  for (size_t i = 0; rows->type == HLM_POISSON && i < BAR_ROWS; i++)
    rows->constant += weight_of(f, i) * dpois(f->y[i], f->y[i], 1);
  for (size_t i = 0; is_binomial(rows->type) && i < BAR_ROWS; i++)
    rows->constant += lchoose(f->y[i] + f->failures[i], f->y[i]);
  for (size_t k = 0; k < f->data.groups.bars; k++)
    bar_work[k] = new_bytes(hlm_work_size(f->prior + k));
  double *work = new_bytes(hlm_count_work_size(&f->data));
  EXPECT(hlm_count_open(&model, &f->data, &state, bar, bar_work, work) ==
         STATUS_OK);
  EXPECT(hlm_count_sweep(&model, &control) == STATUS_OK);
  hlm_count_record(&model, f->row, 1);
  EXPECT(counts[2] > 0.0 && counts[0] == 0.0); /* there is no burn-in */
  release_numbers(work);
  for (size_t k = 0; k < f->data.groups.bars; k++)
    release_numbers(bar_work[k]);
}

static double log_likelihood(const fixture *f) {
  double eta[BAR_ROWS], sum = 0.0;
  const hlm_type type = f->data.rows.type;
  const double size = 1.0 / (f->dispersion * f->dispersion);
  bars_predict(&f->bars, eta);
  for (size_t i = 0; i < BAR_ROWS; i++) {
    const double y = f->y[i];
    if (is_binomial(type))
      sum += dbinom(y, y + f->failures[i], share_at(type, eta[i]), 1);
    else
      sum += weight_of(f, i) * (type == HLM_NEGBINOMIAL
                                  ? dnbinom_mu(y, size, exp(eta[i]), 1)
                                  : dpois(y, exp(eta[i]), 1));
  }
  return sum;
}

/* The slopes and bends, and the bound of the third derivatives, by differences of the
 * log-likelihood. */
static void derivatives_by_differences(void) {
  static const hlm_type types[] = {HLM_POISSON, HLM_NEGBINOMIAL, HLM_LOGIT,
                                   HLM_PROBIT};
  for (size_t k = 0; k < LENGTH(types); k++) {
    const double y[] = {0.0, 3.0, 20.0}, failures[] = {4.0, 0.0, 7.5};
    const double weights[] = {1.0, 2.5, 1.0};
    double known[3];
    hlm_likelihood rows = {.type = types[k],
                           .n = 3,
                           .y = y,
                           .failures = failures,
                           .weights = weights,
                           .size = 2.0,
                           .log_size = log(2.0)};
    hlm_likelihood_open(&rows, known);
    for (size_t i = 0; i < 3; i++)
      for (double eta = -40.0; eta <= 6.0; eta += 0.5) {
        const double h = 1e-4;
        const hlm_derivatives at = hlm_differentiate(&rows, i, eta),
                              above = hlm_differentiate(&rows, i, eta + h),
                              below = hlm_differentiate(&rows, i, eta - h);
        const double slope =
          (hlm_log_row(&rows, i, eta + h) - hlm_log_row(&rows, i, eta - h)) /
          (2.0 * h);
        EXPECT_NEAR(slope, at.slope, 1e-6 * (1.0 + fabs(slope)));
        const double bend = (below.slope - above.slope) / (2.0 * h);
        EXPECT_NEAR(bend, at.bend, 1e-6 * (1.0 + bend));
        const double third = (above.bend - below.bend) / (2.0 * h);
        EXPECT(!hlm_is_self_concordant(&rows) ||
               fabs(third) <= at.bend + 1e-6 * (1.0 + at.bend));
      }
  }
}

static void rows_by_hand(void) {
  for (size_t k = 0; k < LENGTH(forms); k++) {
    fixture f;
    open_fixture(&f, forms[k]);
    draw_all(&f);
    for (size_t i = 0; i < BAR_ROWS; i++)
      f.weight[i] = 0.5 + (double)(i % 3);
    if (!is_binomial(forms[k].type))
      f.data.rows.weights = f.weight;
    sweep_model(&f);
    size_t at = BAR_P;
    EXPECT(same_bits(f.row, f.bars.b, BAR_P));
    for (size_t bar = 0; bar < forms[k].bars.bars; bar++)
      at += f.prior[bar].q * (f.prior[bar].q + 1) / 2;
    if (f.data.rows.type == HLM_NEGBINOMIAL)
      EXPECT(f.row[at++] == f.dispersion);
    EXPECT_NEAR(f.row[at++], log_likelihood(&f), 1e-9);
    const size_t deviations = f.first[forms[k].bars.bars];
    EXPECT(same_bits(f.row + at, f.bars.u, deviations));
    EXPECT(hlm_count_columns(&f.data) == at + deviations);
  }
}

static size_t statistics(const fixture *f, double *out) {
  double eta[BAR_ROWS], *next = bars_statistics(&f->bars, out);
  bars_predict(&f->bars, eta);
  *next++ = squash(log_likelihood(f) / 20.0);
  *next++ = squash(f->y[0] * f->bars.b[0]);
  *next++ = squash((f->y[1] - 1.0) * eta[1]);
  if (f->data.rows.type == HLM_NEGBINOMIAL) {
    *next++ = log(f->dispersion);
    *next++ = squash(f->y[2] * f->dispersion);
  }
  return (size_t)(next - out);
}

/* change(f): makes a mistake in what the sampler is given; or NULL. */
static int is_sound(form of, void (*change)(fixture *f), size_t draws) {
  fixture f;
  double before[MOST_STATISTICS], after[MOST_STATISTICS];
  open_fixture(&f, of);
  draw_all(&f);
  invariance sweeps = new_invariance(statistics(&f, before));
  for (size_t i = 0; i < draws; i++) {
    draw_all(&f);
    statistics(&f, before);
    const fixture right = f;
    if (change != NULL)
      change(&f);
    sweep_model(&f);
    f.data = right.data;
    memcpy(f.y, right.y, sizeof f.y);
    memcpy(f.failures, right.failures, sizeof f.failures);
    memcpy(f.precision, right.precision, sizeof f.precision);
    memcpy(f.bars.scale, right.bars.scale, sizeof f.bars.scale);
    memcpy(f.bars.parent, right.bars.parent, sizeof f.bars.parent);
    statistics(&f, after);
    compare(&sweeps, before, after);
  }
  return is_invariant(&sweeps);
}

static void sweeps_leave_the_posterior(void) {
  for (size_t k = 0; k < LENGTH(forms); k++)
    EXPECT(is_sound(forms[k], NULL, 6000));
}

static void one_count_more(fixture *f) {
  f->y[3] += 1.0;
}
static void one_failure_less(fixture *f) {
  for (size_t i = 0; i < BAR_ROWS; i++)
    f->failures[i] = fmax(0.0, f->failures[i] - 1.0);
}
static void no_offset(fixture *f) {
  f->data.offset = NULL;
}
static void dispersion_larger(fixture *f) {
  f->data.scale *= 2.0;
}
static void intercept_precise(fixture *f) {
  f->precision[0] *= 3.0;
}
static void groups_wider(fixture *f) {
  f->bars.scale[0] *= 2.0;
}

static void another_parent(fixture *f) {
  f->bars.parent[0] = 1;
}

static void wrong_sweeps_are_found(void) {
  static const struct {
    size_t form;
    void (*change)(fixture *f);
  } wrong[] = {{0, one_count_more},    {0, no_offset},
               {1, dispersion_larger}, {2, intercept_precise},
               {3, groups_wider},      {5, another_parent},
               {6, one_failure_less},  {7, groups_wider},
               {8, one_failure_less},  {9, one_failure_less}};
  for (size_t k = 0; k < LENGTH(wrong); k++)
    EXPECT(!is_sound(forms[wrong[k].form], wrong[k].change, 6000));
}

void test_hlm_count(void) {
  run_test("hlm_count: derivatives of a row", derivatives_by_differences);
  run_test("hlm_count: the recorded row, by hand", rows_by_hand);
  run_test("hlm_count: sweeps leave the posterior", sweeps_leave_the_posterior);
  run_test("hlm_count: wrong sweeps rejected", wrong_sweeps_are_found);
}
