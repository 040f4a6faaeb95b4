/* Hierarchical regression with Student t errors: the recorded row by hand, one-step
 * invariance, and wrong sweeps. */
#include "hlm/hlm_t.h"

#include <math.h>
#include <string.h>

#include "bars.h"
#include "harness.h"
#include "numeric/rmath.h"

void test_hlm_t(void);

typedef struct {
  bars_form bars;
  int nu_known, slopes;
} form;

static const form forms[] = {
  {{1, {0, 0}, 0, 0}, 0, 0}, {{1, {0, 0}, 1, 0}, 1, 1},
  {{1, {2, 0}, 1, 0}, 0, 0}, {{2, {1, 1}, 0, 0}, 1, 0},
  {{2, {2, 1}, 1, 0}, 0, 1}, {{2, {1, 1}, 0, 1}, 1, 0},
};

typedef struct {
  bars bars;
  hlm_t t;
  hlm_response type;
  int at[1];
  double y[BAR_ROWS], root[BAR_ROWS], sigma, nu, phi;
} fixture;

static void open_fixture(fixture *f, form of) {
  memset(f, 0, sizeof *f);
  set_seed(91, 92);
  bars_open(&f->bars, of.bars);
  f->at[0] = 1;
  f->nu = 5.0;
  f->t = (hlm_t){.y = f->y,
                 .root = f->root,
                 .shape = 3.0,
                 .rate = 2.0,
                 .nu_shape = 4.0,
                 .nu_rate = 0.8,
                 .nu_known = of.nu_known,
                 .sigma = &f->sigma,
                 .nu = &f->nu,
                 .slopes = {(size_t)of.slopes, f->at, 3.0, 2.0, f->bars.b,
                            f->bars.mean, f->bars.precision, &f->phi}};
  for (size_t i = 0; i < BAR_ROWS; i++) {
    f->root[i] = sqrt(0.5 + (double)(i % 4));
    f->bars.data.constant += log(f->root[i]);
  }
  f->type = hlm_t_type(&f->t);
  f->bars.data.type = &f->type;
  f->bars.data.response = &f->t;
}

static void draw_all(fixture *f) {
  double eta[BAR_ROWS];
  f->sigma = 1.0 / sqrt(rgamma(f->t.shape, 1.0 / f->t.rate));
  if (!f->t.nu_known)
    f->nu = rgamma(f->t.nu_shape, 1.0 / f->t.nu_rate);
  if (f->t.slopes.count > 0) {
    f->phi = rgamma(f->t.slopes.shape, 1.0 / f->t.slopes.rate);
    f->bars.precision[1] = f->phi;
  }
  bars_draw(&f->bars);
  bars_predict(&f->bars, eta);
  for (size_t i = 0; i < BAR_ROWS; i++)
    f->y[i] = eta[i] + f->sigma / f->root[i] * norm_rand() /
                         sqrt(rgamma(0.5 * f->nu, 2.0 / f->nu));
}

static void sweep_model(fixture *f, hlm_latent *model, double *work) {
  const scan_control control = {.thin = 1.0, .threads = 1};
  hlm_t_open(&f->t);
  hlm_latent_open(model, &f->bars.data, &f->bars.state, work);
  EXPECT(hlm_latent_sweep(model, &control) == STATUS_OK);
}

static double log_likelihood(const fixture *f) {
  double eta[BAR_ROWS], sum = 0.0;
  bars_predict(&f->bars, eta);
  for (size_t i = 0; i < BAR_ROWS; i++) {
    const double sd = f->sigma / f->root[i];
    sum += dt((f->y[i] - eta[i]) / sd, f->nu, 1) - log(sd);
  }
  return sum;
}

static void rows_by_hand(void) {
  for (size_t k = 0; k < LENGTH(forms); k++) {
    fixture f;
    hlm_latent model;
    double row[32];
    open_fixture(&f, forms[k]);
    draw_all(&f);
    double *work = new_bytes(hlm_latent_work_size(&f.bars.data));
    sweep_model(&f, &model, work);
    hlm_latent_record(&model, row, 1);
    size_t at = BAR_P;
    EXPECT(same_bits(row, f.bars.b, BAR_P));
    for (size_t bar = 0; bar < f.bars.data.bars; bar++)
      at += f.bars.bar[bar].q * (f.bars.bar[bar].q + 1) / 2;
    EXPECT(row[at++] == f.sigma);
    if (!f.t.nu_known)
      EXPECT(row[at++] == f.nu);
    if (f.t.slopes.count > 0) {
      EXPECT(row[at++] == f.phi);
      EXPECT(f.bars.precision[1] == f.phi);
    }
    EXPECT_NEAR(row[at++], log_likelihood(&f), 1e-12);
    EXPECT(hlm_latent_columns(&f.bars.data) == at);
    release_numbers(work);
  }
}

static size_t statistics(const fixture *f, double *out) {
  double eta[BAR_ROWS], *next = bars_statistics(&f->bars, out);
  bars_predict(&f->bars, eta);
  *next++ = squash(log_likelihood(f) / 20.0);
  *next++ = squash((f->y[0] - eta[0]) * f->bars.b[0]);
  *next++ = log(f->sigma);
  *next++ = squash((f->y[1] - eta[1]) * (f->y[1] - eta[1]) / f->sigma);
  if (!f->t.nu_known)
    *next++ = log(f->nu);
  if (f->t.slopes.count > 0) {
    *next++ = log(f->phi);
    *next++ = squash(f->phi * f->bars.b[1] * f->bars.b[1]);
  }
  return (size_t)(next - out);
}

/* change(f): makes a mistake in what the sampler is given; or NULL. */
static int is_sound(form of, void (*change)(fixture *f), size_t draws) {
  fixture f;
  hlm_latent model;
  double before[MOST_STATISTICS], after[MOST_STATISTICS];
  open_fixture(&f, of);
  double *work = new_bytes(hlm_latent_work_size(&f.bars.data));
  draw_all(&f);
  invariance sweeps = new_invariance(statistics(&f, before));
  const fixture first = f;
  for (size_t i = 0; i < draws; i++) {
    draw_all(&f);
    statistics(&f, before);
    if (change != NULL)
      change(&f);
    sweep_model(&f, &model, work);
    memcpy(f.root, first.root, sizeof f.root);
    f.t = first.t;
    f.bars.data = first.bars.data;
    f.nu = f.t.nu_known ? first.nu : f.nu;
    statistics(&f, after);
    compare(&sweeps, before, after);
  }
  release_numbers(work);
  return is_invariant(&sweeps);
}

static void sweeps_leave_the_posterior(void) {
  for (size_t k = 0; k < LENGTH(forms); k++)
    EXPECT(is_sound(forms[k], NULL, 8000));
}

static void no_weights(fixture *f) {
  for (size_t i = 0; i < BAR_ROWS; i++)
    f->root[i] = 1.0;
}
static void no_offset(fixture *f) {
  f->bars.data.offset = NULL;
}
static void rate_larger(fixture *f) {
  f->t.rate *= 2.0;
}
static void nu_rate_larger(fixture *f) {
  f->t.nu_rate *= 1.5;
}
static void slopes_rate_larger(fixture *f) {
  f->t.slopes.rate *= 1.5;
}

static void wrong_sweeps_are_found(void) {
  static const struct {
    size_t form;
    void (*change)(fixture *f);
  } wrong[] = {{0, no_weights},
               {2, no_offset},
               {3, rate_larger},
               {0, nu_rate_larger},
               {1, slopes_rate_larger}};
  for (size_t k = 0; k < LENGTH(wrong); k++)
    EXPECT(!is_sound(forms[wrong[k].form], wrong[k].change, 8000));
}

void test_hlm_t(void) {
  run_test("hlm_t: the recorded row, by hand", rows_by_hand);
  run_test("hlm_t: sweeps leave the posterior", sweeps_leave_the_posterior);
  run_test("hlm_t: wrong sweeps rejected", wrong_sweeps_are_found);
}
