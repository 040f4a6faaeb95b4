/* Hierarchical regression of ordered responses: the recorded row by hand, one-step
 * invariance, and wrong sweeps. */
#include "hlm/hlm_ordinal.h"

#include <math.h>
#include <string.h>

#include "bars.h"
#include "harness.h"
#include "numeric/log_cdf.h"
#include "numeric/rmath.h"

void test_hlm_ordinal(void);

enum { MOST_LEVELS = 4 };

typedef struct {
  bars_form bars;
  size_t levels;
} form;

static const form forms[] = {
  {{1, {0, 0}, 0, 0}, 3}, {{1, {2, 0}, 1, 0}, 4}, {{2, {1, 1}, 1, 0}, 3},
  {{2, {2, 1}, 0, 0}, 2}, {{2, {2, 1}, 1, 1}, 3},
};

typedef struct {
  bars bars;
  hlm_ordinal ordinal;
  double code[BAR_ROWS], weight[BAR_ROWS], theta[MOST_LEVELS], mean[1];
  double row[32];
} fixture;

static void open_fixture(fixture *f, form of) {
  memset(f, 0, sizeof *f);
  set_seed(93, 94);
  log_cdf_open();
  bars_open(&f->bars, of.bars);
  f->bars.effects = 1;
  f->mean[0] = 0.3;
  for (size_t i = 0; i < BAR_ROWS; i++) {
    f->bars.x[BAR_P * i] = norm_rand();
    f->bars.x[1 + BAR_P * i] = 1.0;
    f->weight[i] = 1.0;
  }
  const double sd = 1.5;
  f->bars.precision[1] = (double)(of.levels - 1) / (sd * sd);
  f->ordinal = (hlm_ordinal){.cutpoints = {.levels = of.levels,
                                           .count = BAR_ROWS,
                                           .sd = sd,
                                           .code = f->code,
                                           .weight = f->weight},
                             .theta = f->theta,
                             .b = f->bars.b,
                             .mean = f->mean,
                             .p = 1};
  f->bars.data.type = &f->ordinal.type;
  f->bars.data.response = &f->ordinal;
}

/* P(c <= k) */
static double below(const fixture *f, size_t k, double eta) {
  if (k == 0 || k == f->ordinal.cutpoints.levels)
    return k == 0 ? 0.0 : 1.0;
  return pnorm(f->theta[k - 1], eta, 1.0, 1, 0);
}

static void draw_all(fixture *f) {
  double eta[BAR_ROWS];
  const size_t cuts = f->ordinal.cutpoints.levels - 1;
  for (size_t k = 0; k < cuts; k++) { /* into its place in order */
    const double drawn = f->ordinal.cutpoints.sd * norm_rand();
    size_t at = k;
    for (; at > 0 && f->theta[at - 1] > drawn; at--)
      f->theta[at] = f->theta[at - 1];
    f->theta[at] = drawn;
  }
  bars_draw(&f->bars);
  bars_predict(&f->bars, eta);
  for (size_t i = 0; i < BAR_ROWS; i++) {
    const double u = unif_rand();
    size_t k = 1;
    while (u > below(f, k, eta[i]))
      k++;
    f->code[i] = (double)k;
  }
}

static void sweep_model(fixture *f) {
  const scan_control control = {.thin = 1.0, .threads = 1};
  EXPECT(f->bars.b[1] == 0.0);
  double *work = new_bytes(hlm_latent_work_size(&f->bars.data));
  double *own = new_bytes(hlm_ordinal_work_size(&f->ordinal));
  hlm_latent model;
  hlm_ordinal_open(&f->ordinal, own);
  hlm_latent_open(&model, &f->bars.data, &f->bars.state, work);
  EXPECT(hlm_latent_sweep(&model, &control) == STATUS_OK);
  hlm_latent_record(&model, f->row, 1);
  release_numbers(own);
  release_numbers(work);
}

static double log_likelihood(const fixture *f) {
  double eta[BAR_ROWS], sum = 0.0;
  bars_predict(&f->bars, eta);
  for (size_t i = 0; i < BAR_ROWS; i++) {
    const size_t k = (size_t)f->code[i];
    sum += f->weight[i] * log(below(f, k, eta[i]) - below(f, k - 1, eta[i]));
  }
  return sum;
}

static void rows_by_hand(void) {
  for (size_t k = 0; k < LENGTH(forms); k++) {
    fixture f;
    open_fixture(&f, forms[k]);
    draw_all(&f);
    for (size_t i = 0; i < BAR_ROWS; i++)
      f.weight[i] = 1.0 + (double)(i % 3);
    sweep_model(&f);
    size_t at = 1;
    EXPECT(f.row[0] == f.bars.b[0]);
    for (size_t bar = 0; bar < f.bars.data.bars; bar++)
      at += f.bars.bar[bar].q * (f.bars.bar[bar].q + 1) / 2;
    for (size_t c = 0; c + 1 < forms[k].levels; c++)
      EXPECT_NEAR(f.row[at++], f.theta[c] + 0.3 * f.bars.b[0], 1e-14);
    EXPECT_NEAR(f.row[at++], log_likelihood(&f), 1e-10);
    EXPECT(hlm_latent_columns(&f.bars.data) == at);
  }
}

static size_t statistics(const fixture *f, double *out) {
  double eta[BAR_ROWS], *next = bars_statistics(&f->bars, out);
  bars_predict(&f->bars, eta);
  *next++ = squash(log_likelihood(f) / 20.0);
  *next++ = squash((f->code[0] - 2.0) * f->bars.b[0]);
  *next++ = squash((f->code[1] - 2.0) * eta[1]);
  for (size_t k = 0; k + 1 < f->ordinal.cutpoints.levels; k++) {
    *next++ = f->theta[k];
    *next++ = squash(f->theta[k] * f->theta[k]);
    *next++ = squash((f->code[2] - 2.0) * f->theta[k]);
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
  const fixture first = f;
  for (size_t i = 0; i < draws; i++) {
    draw_all(&f);
    statistics(&f, before);
    if (change != NULL)
      change(&f);
    sweep_model(&f);
    memcpy(f.weight, first.weight, sizeof f.weight);
    memcpy(f.bars.precision, first.bars.precision, sizeof f.bars.precision);
    f.ordinal = first.ordinal;
    f.bars.data = first.bars.data;
    statistics(&f, after);
    compare(&sweeps, before, after);
  }
  return is_invariant(&sweeps);
}

static void sweeps_leave_the_posterior(void) {
  for (size_t k = 0; k < LENGTH(forms); k++)
    EXPECT(is_sound(forms[k], NULL, 6000));
}

static void more_weight(fixture *f) {
  for (size_t i = 0; i < BAR_ROWS; i++)
    f->weight[i] = 2.0;
}
static void no_offset(fixture *f) {
  f->bars.data.offset = NULL;
}
static void sd_larger(fixture *f) {
  f->ordinal.cutpoints.sd *= 1.5;
}
static void intercept_precise(fixture *f) {
  f->bars.precision[1] *= 3.0;
}

static void wrong_sweeps_are_found(void) {
  static const struct {
    size_t form;
    void (*change)(fixture *f);
  } wrong[] = {
    {0, more_weight}, {1, no_offset}, {2, sd_larger}, {0, intercept_precise}};
  for (size_t k = 0; k < LENGTH(wrong); k++)
    EXPECT(!is_sound(forms[wrong[k].form], wrong[k].change, 6000));
}

void test_hlm_ordinal(void) {
  run_test("hlm_ordinal: the recorded row, by hand", rows_by_hand);
  run_test("hlm_ordinal: sweeps leave the posterior",
           sweeps_leave_the_posterior);
  run_test("hlm_ordinal: wrong sweeps rejected", wrong_sweeps_are_found);
}
