/* Regression of counts, with groups and without: the recorded row by hand, one-step
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
  int negbinomial;
} form;

static const form forms[] = {
  {{0, {0, 0}, 1, 0}, 0}, {{0, {0, 0}, 0, 0}, 1}, {{1, {2, 0}, 1, 0}, 0},
  {{2, {1, 1}, 0, 0}, 1}, {{2, {2, 1}, 1, 0}, 1}, {{2, {1, 2}, 0, 1}, 0},
};

typedef struct {
  bars bars;
  hlm_count_data data;
  hlm_data prior[MOST_BARS];
  int none[BAR_GROUPS + 1]; /* no rows are rotated */
  size_t first[MOST_BARS + 1];
  double y[BAR_ROWS], weight[BAR_ROWS], precision[BAR_P * BAR_P], start[BAR_P];
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
                             .n = BAR_ROWS,
                             .negbinomial = of.negbinomial,
                             .x = f->bars.x,
                             .y = f->y,
                             .offset = f->bars.data.offset,
                             .mean = f->bars.mean,
                             .precision = f->precision,
                             .start = f->start,
                             .freedom = 4.0,
                             .scale = 0.7};
}

static void draw_all(fixture *f) {
  double eta[BAR_ROWS];
  if (f->data.negbinomial)
    f->dispersion = f->data.scale * fabs(norm_rand()) /
                    sqrt(rchisq(f->data.freedom) / f->data.freedom);
  const double size = 1.0 / (f->dispersion * f->dispersion);
  bars_draw(&f->bars);
  bars_predict(&f->bars, eta);
  for (size_t i = 0; i < BAR_ROWS; i++) {
    const double rate = f->data.negbinomial ? rgamma(size, 1.0 / size) : 1.0;
    f->y[i] = rpois(rate * exp(eta[i]));
  }
}

static void sweep_model(fixture *f) {
  const scan_control control = {.thin = 1.0, .threads = 1};
  const double sweep = 0.0;
  double counts[8] = {0.0};
  const hlm_count_state state = {f->bars.state, &f->dispersion, &sweep, counts};
  hlm_count model;
  hlm_model bar[MOST_BARS];
  void *bar_work[MOST_BARS];
  f->data.constant = 0.0;
  for (size_t i = 0; !f->data.negbinomial && i < BAR_ROWS; i++)
    f->data.constant +=
      (f->data.weights ? f->weight[i] : 1.0) * dpois(f->y[i], f->y[i], 1);
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
  bars_predict(&f->bars, eta);
  for (size_t i = 0; i < BAR_ROWS; i++) {
    const double mean = exp(eta[i]);
    const double size = 1.0 / (f->dispersion * f->dispersion);
    sum += (f->data.weights ? f->weight[i] : 1.0) *
           (f->data.negbinomial ? dnbinom_mu(f->y[i], size, mean, 1)
                                : dpois(f->y[i], mean, 1));
  }
  return sum;
}

static void rows_by_hand(void) {
  for (size_t k = 0; k < LENGTH(forms); k++) {
    fixture f;
    open_fixture(&f, forms[k]);
    draw_all(&f);
    for (size_t i = 0; i < BAR_ROWS; i++)
      f.weight[i] = 0.5 + (double)(i % 3);
    f.data.weights = f.weight;
    sweep_model(&f);
    size_t at = BAR_P;
    EXPECT(same_bits(f.row, f.bars.b, BAR_P));
    for (size_t bar = 0; bar < forms[k].bars.bars; bar++)
      at += f.prior[bar].q * (f.prior[bar].q + 1) / 2;
    if (f.data.negbinomial)
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
  if (f->data.negbinomial) {
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
               {3, groups_wider},      {5, another_parent}};
  for (size_t k = 0; k < LENGTH(wrong); k++)
    EXPECT(!is_sound(forms[wrong[k].form], wrong[k].change, 6000));
}

void test_hlm_count(void) {
  run_test("hlm_count: the recorded row, by hand", rows_by_hand);
  run_test("hlm_count: sweeps leave the posterior", sweeps_leave_the_posterior);
  run_test("hlm_count: wrong sweeps rejected", wrong_sweeps_are_found);
}
