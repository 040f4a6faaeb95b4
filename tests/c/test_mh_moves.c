/* Slice sampling and parallel tempering leave their targets as they are, at every
 * temperature, and wrong samplers do not: points drawn from a density that is not
 * normal, several sweeps from each, and no mean has changed. */
#include "mh/mh_sweep.h"

#include "harness.h"
#include "mh/mh_tempered.h"
#include "mh/mh_types.h"
#include "mh_targets.h"
#include "numeric/rmath.h"

#include <math.h>
#include <string.h>

void test_mh_moves(void);

enum { MOST_BLOCKS = 2, SWEEPS = 4, STARTS = 12000, K = 3 };

/* ---- samplers ------------------------------------------------------------- */

typedef struct {
  mh_model model;
  mh_block block[MOST_BLOCKS];
  mh_proposal proposal[MOST_BLOCKS], part;
  target_chain at;
  double factor[MOST_BLOCKS][D * D], mean[MOST_BLOCKS][D];
  double tuning[MOST_BLOCKS][2], counts[MOST_BLOCKS][4];
  double effort[MOST_BLOCKS][2];
  double ahead[SWEEPS * 32], work[D * 16];
  /* tempering: the temperatures that are drawn from are `temperature` */
  mh_ladder ladder;
  mh_block inner[K];
  double temperature[K], power[K], other_x[D * (K - 1)];
  double other_point[D * (K - 1)], other_value[2 * (K - 1)];
  double other_slope[(D + 1) * (K - 1)], swaps[2 * (K - 1)], heights[3 * K];
  double journeys[2 * K + 1], rate[K - 1], gap[K - 1];
  double inner_tuning[K][2], inner_counts[K][4], inner_effort[K][2];
} sampler;

static const int first[] = {2, 0}, last[] = {1, 2};

static void new_sampler(sampler *s, int has_bounds) {
  memset(s, 0, sizeof *s);
  s->model = target_model(&s->at, has_bounds);
  s->model.block = s->block;
  s->model.ahead = s->ahead;
  s->model.rows = SWEEPS;
}

static mh_proposal *add_block(sampler *s, const mh_move_type *kind, size_t d,
                              const int *index) {
  const size_t b = s->model.blocks++;
  mh_proposal *p = &s->proposal[b];
  *p = (mh_proposal){
    .type = kind, .d = d, .factor = s->factor[b], .mean = s->mean[b]};
  s->block[b] = (mh_block){.proposal = p,
                           .memory = {.factor = s->factor[b],
                                      .mean = s->mean[b],
                                      .tuning = s->tuning[b],
                                      .counts = s->counts[b],
                                      .effort = s->effort[b]},
                           .index = index};
  return p;
}

static void add_slice(sampler *s, size_t d, const int *index, size_t widths) {
  static const double width[] = {0.6, 2.0, 1.1};
  memcpy(s->factor[s->model.blocks], width, d * sizeof(double));
  add_block(s, &mh_slice, d, index)->settings.slice.widths = widths;
}

/* L = 1.5 (I + 0.3 below the diagonal), or 1.5 I */
static void add_ellipse(sampler *s, size_t d, const int *index, int diagonal) {
  const size_t b = s->model.blocks;
  add_block(s, &mh_ellipse, d, index)->diagonal = diagonal;
  for (size_t j = 0; j < d; j++) {
    s->mean[b][j] = 0.3 - 0.2 * (double)j;
    for (size_t i = j; i < d; i++)
      s->factor[b][diagonal ? j : i + d * j] = i == j || diagonal ? 1.5 : 0.45;
  }
}

/* Replicas at temperatures 1, 1.8 and 4 that move by walks or by slices. */
static void add_ladder(sampler *s, const mh_move_type *kind) {
  static const double temperature[K] = {1.0, 1.8, 4.0};
  static const double scales[] = {0.9, 0.8, 0.7};
  mh_proposal *p = add_block(s, &mh_tempered, D, coordinates);
  mh_ladder *l = &s->ladder;
  memcpy(s->temperature, temperature, sizeof temperature);
  memcpy(s->factor[0], scales, sizeof scales);
  s->part =
    (mh_proposal){.type = kind, .d = D, .factor = s->factor[0], .diagonal = 1};
  if (kind == &mh_slice)
    s->part.settings.slice.widths = 50;
  p->settings.tempered.temperatures = K;
  p->parts = 1;
  p->part = &s->part;
  *l = (mh_ladder){s->power,       s->other_x, s->other_point, s->other_value,
                   s->other_slope, s->swaps,   s->heights,     s->journeys,
                   s->inner,       s->rate,    s->gap};
  for (size_t k = 0; k < K; k++) {
    s->power[k] = 1.0 / temperature[k];
    s->journeys[k] = (double)k;
    s->inner[k] = (mh_block){.proposal = &s->part,
                             .memory = {.factor = s->factor[0],
                                        .tuning = s->inner_tuning[k],
                                        .counts = s->inner_counts[k],
                                        .effort = s->inner_effort[k]}};
  }
  s->block[0].memory.ladder = l;
}

/* The samplers that are looked at, by their number; 0: there are no more.  Those
 * of parallel tempering are on the line alone, where replicas can be drawn. */
static int set_sampler(sampler *s, int number, int has_bounds) {
  new_sampler(s, has_bounds);
  switch (number) {
  case 0:
    add_slice(s, D, coordinates, 100);
    return 1;
  case 1: /* intervals that are cut short */
    add_slice(s, D, coordinates, 2);
    return 1;
  case 2:
    add_ellipse(s, D, coordinates, 0);
    return 1;
  case 3:
    add_ellipse(s, 2, last, 1);
    add_slice(s, 2, first, 4);
    return 1;
  case 4:
    add_ladder(s, &mh_random_walk);
    return !has_bounds;
  case 5:
    add_ladder(s, &mh_slice);
    return !has_bounds;
  default:
    return 0;
  }
}

/* ---- starts ---------------------------------------------------------------- */

/* From the bent density to the power 1 / t. */
static void draw_heated(double t, double *x) {
  const double wide = sqrt(t);
  x[0] = 1.5 * wide * norm_rand();
  x[1] = 0.4 * x[0] * x[0] - 0.9 + wide * norm_rand();
  x[2] = 0.5 * x[1] + 0.8 * wide * norm_rand();
}

static void start_replicas(sampler *s) {
  for (size_t k = 1; k < K; k++) {
    double *x = s->other_x + (k - 1) * D;
    double *value = s->other_value + (k - 1) * 2;
    draw_heated(s->temperature[k], x);
    memcpy(s->other_point + (k - 1) * D, x, D * sizeof(double));
    bent(NULL, x, value);
    value[1] = value[0];
  }
}

static void start_anew(sampler *s) {
  s->at.sweep = 0.0;
  s->model.row = 0;
  s->at.draw(s->at.x);
  EXPECT(mh_evaluate_current(&s->model) == STATUS_OK);
  if (s->block[0].memory.ladder)
    start_replicas(s);
}

/* ---- the target stays as it is -------------------------------------------- */

static size_t moments(const double *x, double *out) {
  const double value[] = {x[0],        x[1],        x[2],
                          x[0] * x[0], x[1] * x[1], x[2] * x[2],
                          x[0] * x[1], x[1] * x[2], x[0] * x[2]};
  memcpy(out, value, sizeof value);
  return LENGTH(value);
}

/* Of all replicas. */
static size_t statistics(const sampler *s, double *out) {
  size_t n = moments(s->at.x, out);
  out[n++] = s->at.value[1];
  out[n++] = s->at.point[1];
  for (size_t k = 1; s->block[0].memory.ladder && k < K; k++)
    n += moments(s->other_x + (k - 1) * D, out + n);
  return n;
}

/* spoil: what is wrong with a sampler before its sweeps; NULL: nothing. */
static int leaves_the_target(sampler *s, void (*spoil)(sampler *)) {
  const scan_control control = {.thin = 1.0, .threads = 1};
  double before[MOST_STATISTICS], after[MOST_STATISTICS];
  set_seed(71, 72);
  mh_open(&s->model, s->work);
  EXPECT(mh_variates(&s->model) * SWEEPS <= LENGTH(s->ahead));
  start_anew(s);
  invariance sweeps = new_invariance(statistics(s, before));
  for (int i = 0; i < STARTS; i++) {
    start_anew(s);
    statistics(s, before);
    for (int sweep = 0; sweep < SWEEPS; sweep++, s->at.sweep += 1.0) {
      if (spoil)
        spoil(s);
      EXPECT(mh_sweep(&s->model, &control) == STATUS_OK);
    }
    statistics(s, after);
    compare(&sweeps, before, after);
  }
  return is_invariant(&sweeps);
}

static void sweeps_leave_the_target(void) {
  sampler s;
  for (int has_bounds = 0; has_bounds < 2; has_bounds++)
    for (int number = 0; set_sampler(&s, number, has_bounds); number++)
      EXPECT(leaves_the_target(&s, NULL));
}

/* ---- wrong samplers --------------------------------------------------------- */

/* Heights above the density. */
static void raise_height(sampler *s) {
  s->at.value[1] += 0.4;
}

/* The density of another power. */
static void flatten(sampler *s) {
  s->model.power = 0.85;
}

/* Swaps and moves as of other temperatures. */
static void cool(sampler *s) {
  s->power[1] = 1.0 / 1.4;
}

/* Replicas that swap whatever their densities. */
static void forget_values(sampler *s) {
  for (size_t k = 1; k < K; k++)
    s->other_value[2 * (k - 1) + 1] = s->at.value[1];
}

static int finds(int number, void (*wrong)(sampler *)) {
  sampler s;
  set_sampler(&s, number, 0);
  return !leaves_the_target(&s, wrong);
}

static void wrong_moves_are_found(void) {
  for (int number = 0; number < 3; number++) {
    EXPECT(finds(number, raise_height));
    EXPECT(finds(number, flatten));
  }
  for (int number = 4; number < 6; number++) {
    EXPECT(finds(number, cool));
    EXPECT(finds(number, forget_values));
  }
}

/* ---- states ------------------------------------------------------------------ */

static void states_are_current(void) {
  const scan_control control = {.thin = 1.0, .threads = 1};
  sampler s;
  double value;
  set_seed(73, 74);
  for (int number = 0; set_sampler(&s, number, 0); number++) {
    mh_open(&s.model, s.work);
    start_anew(&s);
    for (int i = 0; i < 100; i++, s.at.sweep += 1.0) {
      EXPECT(mh_sweep(&s.model, &control) == STATUS_OK);
      bent(NULL, s.at.x, &value);
      EXPECT(s.at.value[0] == value && s.at.value[1] == value);
      EXPECT(same_bits(s.at.x, s.at.point, D));
      for (size_t k = 1; s.block[0].memory.ladder && k < K; k++) {
        bent(NULL, s.other_x + (k - 1) * D, &value);
        EXPECT(s.other_value[2 * (k - 1) + 1] == value);
      }
    }
  }
}

/* Widths of 100 and of 0.01 come near the scales; temperatures stay in order, the
 * first and the last where they are. */
static void burnin_learns(void) {
  const scan_control control = {.burnin = 2000.0, .thin = 1.0, .threads = 1};
  const scan_model none = {NULL, mh_sweep, mh_record};
  sampler s;
  set_seed(75, 76);
  set_sampler(&s, 0, 0);
  s.proposal[0].tuned = MH_BURNIN;
  s.factor[0][0] = 100.0;
  s.factor[0][1] = 0.01;
  mh_open(&s.model, s.work);
  start_anew(&s);
  scan_model scan = none;
  scan.model = &s.model;
  EXPECT(scan_sweeps(&scan, &control, 2000, &s.at.sweep, NULL, 0) == STATUS_OK);
  for (size_t j = 0; j < D; j++)
    EXPECT(s.factor[0][j] > 0.5 && s.factor[0][j] < 20.0);
  set_sampler(&s, 4, 0);
  s.proposal[0].tuned = MH_BURNIN;
  s.power[1] = 1.0 / 1.01;
  mh_open(&s.model, s.work);
  start_anew(&s);
  scan.model = &s.model;
  EXPECT(scan_sweeps(&scan, &control, 2000, &s.at.sweep, NULL, 0) == STATUS_OK);
  EXPECT(s.power[0] == 1.0 && s.power[2] == 0.25);
  EXPECT(s.power[1] > 0.35 && s.power[1] < 0.75);
}

void test_mh_moves(void) {
  run_test("moves: sweeps leave the target", sweeps_leave_the_target);
  run_test("moves: wrong ones are found", wrong_moves_are_found);
  run_test("moves: states are current", states_are_current);
  run_test("moves: burn-in", burnin_learns);
}
