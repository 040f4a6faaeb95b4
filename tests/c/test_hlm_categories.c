/* Responses in categories without an order, with groups and without: the recorded row
 * by hand, one-step invariance, and wrong sweeps. */
#include "hlm/hlm_categories.h"

#include <math.h>
#include <string.h>

#include "bars.h"
#include "harness.h"
#include "hlm/hlm_binomial.h"
#include "hlm/hlm_proposals.h"
#include "numeric/log_cdf.h"
#include "numeric/rmath.h"

void test_hlm_categories(void);

enum { MOST_PARTS = 2 };

/* parts: categories but the first; shift: their common move is made; proposals: in place
 * of latent responses, with more trials */
typedef struct {
  bars_form bars;
  size_t parts;
  int shift, proposals;
} form;

static const form forms[] = {
  {{1, {0, 0}, 0, 0}, 1, 0, 0}, {{1, {0, 0}, 1, 0}, 2, 1, 0},
  {{1, {2, 0}, 1, 0}, 2, 0, 0}, {{2, {1, 1}, 0, 0}, 2, 1, 0},
  {{2, {2, 1}, 1, 0}, 1, 0, 0}, {{2, {1, 1}, 1, 1}, 2, 0, 0},
  {{1, {0, 0}, 1, 0}, 2, 1, 1}, {{2, {1, 1}, 0, 0}, 2, 1, 1},
  {{2, {1, 1}, 1, 1}, 2, 0, 1},
};

typedef struct {
  bars part[MOST_PARTS], shift; /* of shift no groups and no offset */
  hlm_binomial response[MOST_PARTS + 1];
  double count[MOST_PARTS + 1][BAR_ROWS], total[BAR_ROWS];
  size_t parts;
  int has_shift, proposals;
  double row[48];
} fixture;

static void open_fixture(fixture *f, form of) {
  memset(f, 0, sizeof *f);
  set_seed(97, 98);
  log_cdf_open();
  f->parts = of.parts;
  f->has_shift = of.shift;
  f->proposals = of.proposals;
  for (size_t i = 0; i < BAR_ROWS; i++)
    f->total[i] = (of.proposals ? 7.0 : 1.0) + (double)(i % 3);
  bars *all[] = {f->part, f->part + 1, &f->shift};
  const bars_form without = {1, {0, 0}, 0, 0};
  for (size_t k = 0; k < LENGTH(all); k++) {
    bars_open(all[k], k < MOST_PARTS ? of.bars : without);
    memcpy(all[k]->x, f->part->x, sizeof f->part->x);
    memcpy(all[k]->z, f->part->z, sizeof f->part->z);
    memcpy(all[k]->offset, f->part->offset, sizeof f->part->offset);
  }
  for (size_t c = 0; c <= MOST_PARTS; c++) {
    f->response[c] = (hlm_binomial){f->count[c], f->total};
    bars *own = c == 0 ? &f->shift : f->part + c - 1;
    own->data.type = &hlm_logit;
    own->data.response = f->response + c;
  }
  for (size_t j = 0; j < BAR_P; j++)
    f->shift.precision[j] = (double)of.parts * f->part->precision[j];
}

/* log p of each category in row i */
static void log_shares(const fixture *f, size_t i, double *log_share) {
  double eta[MOST_PARTS][BAR_ROWS], sum = 1.0;
  for (size_t k = 0; k < f->parts; k++) {
    bars_predict(f->part + k, eta[k]);
    sum += exp(eta[k][i]);
  }
  for (size_t c = 0; c <= f->parts; c++)
    log_share[c] = (c == 0 ? 0.0 : eta[c - 1][i]) - log(sum);
}

static void draw_all(fixture *f) {
  for (size_t k = 0; k < f->parts; k++)
    bars_draw(f->part + k);
  memset(f->count, 0, sizeof f->count);
  for (size_t i = 0; i < BAR_ROWS; i++) {
    double log_share[MOST_PARTS + 1];
    log_shares(f, i, log_share);
    for (double made = 0.0; made < f->total[i]; made += 1.0) {
      double left = unif_rand() - exp(log_share[0]);
      size_t c = 0;
      for (; left > 0.0 && c < f->parts; c++)
        left -= exp(log_share[c + 1]);
      f->count[c][i] += 1.0;
    }
  }
}

/* The proposals of a model of hlm_latent.h, with their places. */
typedef struct {
  void *data, *bar_work[MOST_BARS], *work;
  hlm_model bar[MOST_BARS];
  double sweep, counts[8];
} proposals;

static void open_proposals(hlm_count *model, proposals *own,
                           const hlm_latent_data *data,
                           const hlm_state *state) {
  memset(own, 0, sizeof *own);
  own->data = new_bytes(hlm_proposals_work_size(data));
  const hlm_count_data counts = hlm_proposals_data(data, own->data);
  const hlm_count_state all = {*state, NULL, &own->sweep, own->counts};
  for (size_t f = 0; f < counts.groups.bars; f++)
    own->bar_work[f] = new_bytes(hlm_work_size(counts.groups.bar + f));
  own->work = new_bytes(hlm_count_work_size(&counts));
  EXPECT(hlm_count_open(model, &counts, &all, own->bar, own->bar_work,
                        own->work) == STATUS_OK);
}

static void close_proposals(proposals *own) {
  for (size_t f = 0; f < MOST_BARS; f++)
    if (own->bar_work[f] != NULL)
      release_numbers(own->bar_work[f]);
  release_numbers(own->work);
  release_numbers(own->data);
}

static void sweep_model(fixture *f) {
  const scan_control control = {.thin = 1.0, .threads = 1};
  hlm_latent part[MOST_PARTS], shift;
  double *work[MOST_PARTS];
  for (size_t k = 0; k < f->parts; k++) {
    work[k] = new_bytes(hlm_latent_work_size(&f->part[k].data));
    hlm_latent_open(part + k, &f->part[k].data, &f->part[k].state, work[k]);
  }
  double *of_shift = new_bytes(hlm_latent_work_size(&f->shift.data));
  hlm_latent_open(&shift, &f->shift.data, &f->shift.state, of_shift);
  double *own = new_bytes(hlm_categories_work_size(f->parts, BAR_ROWS));
  hlm_count drawn[MOST_PARTS + 1];
  proposals places[MOST_PARTS + 1];
  const size_t count = f->parts + (size_t)f->has_shift;
  for (size_t k = 0; f->proposals && k < count; k++) {
    const bars *of = k < f->parts ? f->part + k : &f->shift;
    open_proposals(drawn + k, places + k, &of->data, &of->state);
  }
  hlm_categories model;
  hlm_categories_open(&model, part, f->parts, f->has_shift ? &shift : NULL,
                      f->proposals ? drawn : NULL, own);
  EXPECT(hlm_categories_sweep(&model, &control) == STATUS_OK);
  hlm_categories_record(&model, f->row, 1);
  for (size_t k = 0; f->proposals && k < count; k++)
    close_proposals(places + k);
  release_numbers(own);
  release_numbers(of_shift);
  for (size_t k = 0; k < f->parts; k++)
    release_numbers(work[k]);
}

static double log_likelihood(const fixture *f) {
  double sum = 0.0;
  for (size_t i = 0; i < BAR_ROWS; i++) {
    double log_share[MOST_PARTS + 1];
    log_shares(f, i, log_share);
    for (size_t c = 0; c <= f->parts; c++)
      sum += f->count[c][i] * log_share[c];
  }
  return sum;
}

static void rows_by_hand(void) {
  for (size_t k = 0; k < LENGTH(forms); k++) {
    fixture f;
    open_fixture(&f, forms[k]);
    draw_all(&f);
    sweep_model(&f);
    size_t at = 0;
    for (size_t c = 0; c < f.parts; c++, at += BAR_P)
      EXPECT(same_bits(f.row + at, f.part[c].b, BAR_P));
    for (size_t bar = 0; bar < f.part->data.bars; bar++)
      at += f.parts * f.part->bar[bar].q * (f.part->bar[bar].q + 1) / 2;
    EXPECT_NEAR(f.row[at++], log_likelihood(&f), 1e-10);
  }
}

static size_t statistics(const fixture *f, double *out) {
  double *next = out, log_share[MOST_PARTS + 1];
  for (size_t k = 0; k < f->parts; k++)
    next = bars_statistics(f->part + k, next);
  *next++ = squash(log_likelihood(f) / 20.0);
  log_shares(f, 0, log_share);
  for (size_t c = 0; c <= f->parts; c++)
    *next++ = squash(f->count[c][0] * log_share[c]);
  *next++ = squash(f->part->b[0] * f->part[f->parts - 1].b[1]);
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
    memcpy(f.count, right.count, sizeof f.count);
    for (size_t k = 0; k < f.parts; k++) {
      f.part[k].data = right.part[k].data;
      memcpy(f.part[k].precision, right.part[k].precision,
             sizeof f.part->precision);
    }
    memcpy(f.shift.precision, right.shift.precision, sizeof f.shift.precision);
    statistics(&f, after);
    compare(&sweeps, before, after);
  }
  return is_invariant(&sweeps);
}

static void sweeps_leave_the_posterior(void) {
  for (size_t k = 0; k < LENGTH(forms); k++)
    EXPECT(is_sound(forms[k], NULL, 6000));
}

static void one_count_elsewhere(fixture *f) {
  f->count[0][2] = f->total[2];
  f->count[1][2] = f->count[2][2] = 0.0;
}
static void another_offset(fixture *f) {
  for (size_t k = 0; k < f->parts; k++)
    f->part[k].data.offset = f->part->x;
}
static void slope_precise(fixture *f) {
  f->part[0].precision[1] *= 4.0;
}
static void shift_wide(fixture *f) {
  for (size_t j = 0; j < BAR_P; j++)
    f->shift.precision[j] *= 0.05;
}

static void wrong_sweeps_are_found(void) {
  static const struct {
    size_t form;
    void (*change)(fixture *f);
  } wrong[] = {{3, one_count_elsewhere}, {2, another_offset},
               {0, slope_precise},       {1, shift_wide},
               {8, one_count_elsewhere}, {7, slope_precise},
               {6, shift_wide}};
  for (size_t k = 0; k < LENGTH(wrong); k++)
    EXPECT(!is_sound(forms[wrong[k].form], wrong[k].change, 6000));
}

void test_hlm_categories(void) {
  run_test("hlm_categories: the recorded row, by hand", rows_by_hand);
  run_test("hlm_categories: sweeps leave the posterior",
           sweeps_leave_the_posterior);
  run_test("hlm_categories: wrong sweeps rejected", wrong_sweeps_are_found);
}
