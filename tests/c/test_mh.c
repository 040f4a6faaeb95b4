/* Metropolis-Hastings without R: densities are C functions. */
#include "mh/mh_sweep.h"

#include "harness.h"
#include "mh/mh_proposal.h"
#include "mh/mh_types.h"
#include "numeric/linalg.h"
#include "numeric/rmath.h"

#include <math.h>
#include <string.h>

void test_mh(void);

enum { MAX_D = 3, MAX_BLOCKS = 3, ROWS = 7 };

/* A sampler with room for all of its parts. */
typedef struct {
  mh_model model;
  mh_block block[MAX_BLOCKS];
  mh_proposal proposal[MAX_BLOCKS];
  double x[MAX_D], point[MAX_D], value[2], slope[MAX_D + 1], nan_count, sweep;
  double factor[MAX_BLOCKS][MAX_D * MAX_D], mean[MAX_BLOCKS][MAX_D];
  double tuning[MAX_BLOCKS][2], counts[MAX_BLOCKS][4];
  double ahead[ROWS * 32], work[MAX_D * 16];
  int asked, keep[MAX_D];
} sampler;

static const int all_coordinates[MAX_D] = {0, 1, 2};

/* ---- densities ------------------------------------------------------------- */

/* N(j, (j + 1)^2), independent, in coordinate j. */
static double z_of(double x, size_t j) {
  return (x - (double)j) / (double)(j + 1);
}

static int normals(void *context, const double *x, double *value) {
  sampler *s = context;
  s->asked++;
  *value = 0.0;
  for (size_t j = 0; j < s->model.d; j++)
    *value -= 0.5 * z_of(x[j], j) * z_of(x[j], j);
  return 0;
}

static int normals_slope(void *context, const double *x, double *slope) {
  sampler *s = context;
  for (size_t j = 0; j < s->model.d; j++)
    slope[j] = -z_of(x[j], j) / (double)(j + 1);
  return 0;
}

static int not_a_number(void *context, const double *x, double *value) {
  normals(context, x, value);
  if (x[0] > 1.0)
    *value = NAN;
  return 0;
}

static int infinite(void *context, const double *x, double *value) {
  normals(context, x, value);
  if (x[0] > 1.0)
    *value = INFINITY;
  return 0;
}

static int failing(void *context, const double *x, double *value) {
  normals(context, x, value);
  return x[0] > 1.0;
}

/* ---- samplers -------------------------------------------------------------- */

/* Block b on `d` coordinates from `index`, with L = scale I. */
static mh_proposal *add_block(sampler *s, const mh_move_type *kind, size_t d,
                              const int *index, double scale) {
  const size_t b = s->model.blocks++;
  mh_proposal *p = &s->proposal[b];
  *p = (mh_proposal){.type = kind, .d = d, .target = 0.4};
  for (size_t i = 0; i < d * d; i++)
    s->factor[b][i] = i % (d + 1) == 0 ? scale : 0.0;
  p->factor = s->factor[b];
  p->mean = s->mean[b];
  s->block[b] =
    (mh_block){.proposal = p,
               .memory = {s->factor[b], s->mean[b], s->tuning[b], s->counts[b]},
               .index = index};
  return p;
}

static void new_sampler(sampler *s, size_t d, mh_function log_density) {
  memset(s, 0, sizeof(*s));
  mh_model *m = &s->model;
  *m = (mh_model){.d = d,
                  .block = s->block,
                  .context = s,
                  .gradient_context = s,
                  .log_density = log_density,
                  .gradient = normals_slope,
                  .x = s->x,
                  .point = s->point,
                  .value = s->value,
                  .slope = s->slope,
                  .nan_count = &s->nan_count,
                  .ahead = s->ahead,
                  .rows = ROWS,
                  .sweep = &s->sweep,
                  .keep = s->keep,
                  .kept = d};
  for (size_t j = 0; j < d; j++)
    s->keep[j] = (int)j;
}

static void start(sampler *s) {
  mh_open(&s->model, s->work);
  EXPECT(mh_variates(&s->model) * ROWS <= LENGTH(s->ahead));
  EXPECT(mh_work_size(s->model.d) <= LENGTH(s->work));
  EXPECT(mh_evaluate_current(&s->model) == STATUS_OK);
}

static status run(sampler *s, size_t n, double burnin, double *draws,
                  size_t rows) {
  const scan_control control = {.burnin = burnin, .thin = 1.0, .threads = 1};
  const scan_model scan = {&s->model, mh_sweep, mh_record};
  return scan_sweeps(&scan, &control, n, &s->sweep, draws, rows);
}

/* ---- moments --------------------------------------------------------------- */

enum { DRAWS = 40000, BATCH = 400 };

/* z-scores from the means of batches, which are nearly independent. */
static void expect_normals(const double *draws, size_t d) {
  double batch[DRAWS / BATCH], square[DRAWS / BATCH];
  for (size_t j = 0; j < d; j++) {
    for (size_t b = 0; b < DRAWS / BATCH; b++) {
      batch[b] = square[b] = 0.0;
      for (size_t i = 0; i < BATCH; i++) {
        const double z = z_of(draws[j * DRAWS + b * BATCH + i], j);
        batch[b] += z / BATCH;
        square[b] += z * z / BATCH;
      }
    }
    EXPECT(fabs(z_mean(batch, DRAWS / BATCH, 0.0)) < MAX_Z);
    EXPECT(fabs(z_mean(square, DRAWS / BATCH, 1.0)) < MAX_Z);
  }
}

static void draw_and_compare(sampler *s) {
  const size_t d = s->model.d;
  double *draws = new_numbers((d + 1) * DRAWS);
  start(s);
  EXPECT(run(s, 500 + DRAWS, 500.0, draws, DRAWS) == STATUS_OK);
  expect_normals(draws, d);
  for (size_t i = 0; i < DRAWS; i += 997) {
    double x[MAX_D], value;
    for (size_t j = 0; j < d; j++)
      x[j] = draws[j * DRAWS + i];
    normals(s, x, &value);
    EXPECT(value == draws[d * DRAWS + i]);
  }
  release_numbers(draws);
}

static void compiled_proposals_have_the_moments(void) {
  const mh_move_type *const kinds[] = {&mh_random_walk, &mh_adaptive,
                                       &mh_independence, &mh_langevin};
  for (size_t k = 0; k < LENGTH(kinds); k++) {
    sampler s;
    set_seed(11, 12);
    new_sampler(&s, 3, normals);
    mh_proposal *p = add_block(&s, kinds[k], 3, all_coordinates,
                               kinds[k] == &mh_independence ? 4.0 : 1.2);
    p->tuned = kinds[k] == &mh_adaptive || kinds[k] == &mh_langevin;
    if (kinds[k] == &mh_independence) {
      p->family = MH_T;
      p->freedom = 5.0;
    }
    draw_and_compare(&s);
    EXPECT(s.asked > DRAWS);
  }
}

static void blocks_have_the_moments(void) {
  static const int first[] = {2, 0}, second[] = {1, 2};
  sampler s;
  set_seed(13, 14);
  new_sampler(&s, 3, normals);
  add_block(&s, &mh_random_walk, 2, first, 2.0)->family = MH_UNIFORM;
  add_block(&s, &mh_langevin, 2, second, 1.5);
  draw_and_compare(&s);
}

static void mixtures_have_the_moments(void) {
  static const double weight[] = {0.6, 0.4};
  static const double mean[] = {0.0, 0.0}, wide[] = {3.0, 4.0},
                      narrow[] = {0.5, 0.8};
  mh_proposal part[2] = {{.type = &mh_random_walk,
                          .family = MH_T,
                          .freedom = 3.0,
                          .d = 2,
                          .factor = narrow,
                          .diagonal = 1},
                         {.type = &mh_independence,
                          .d = 2,
                          .mean = mean,
                          .factor = wide,
                          .diagonal = 1}};
  sampler s;
  set_seed(15, 16);
  new_sampler(&s, 2, normals);
  mh_proposal *p = add_block(&s, &mh_mixture, 2, all_coordinates, 1.0);
  p->parts = 2;
  p->settings.mixture.weight = weight;
  p->part = part;
  EXPECT(!mh_is_symmetric(p));
  draw_and_compare(&s);
}

/* ---- what a step does ------------------------------------------------------ */

static void density_is_asked_once_a_step(void) {
  sampler s;
  set_seed(1, 2);
  new_sampler(&s, 2, normals);
  add_block(&s, &mh_random_walk, 2, all_coordinates, 1.0);
  start(&s);
  EXPECT(s.asked == 1);
  EXPECT(run(&s, 100, 100.0, NULL, 0) == STATUS_OK);
  EXPECT(s.asked == 101);
  EXPECT(s.counts[0][0] == 100.0);
  EXPECT(s.counts[0][1] > 0.0 && s.counts[0][1] < 100.0);
}

/* Steps of look-ahead and their refilling do not show: 23 sweeps at once, or one
 * by one, from the same seed. */
static void pieces_do_not_show(void) {
  sampler once, pieces;
  double a[3 * 23], b[3 * 23], row[3];
  for (int piece = 0; piece < 2; piece++) {
    sampler *s = piece ? &pieces : &once;
    set_seed(5, 6);
    new_sampler(s, 2, normals);
    add_block(s, &mh_adaptive, 2, all_coordinates, 1.0)->tuned = MH_FOREVER;
    start(s);
    if (!piece)
      EXPECT(run(s, 23, 0.0, a, 23) == STATUS_OK);
    for (size_t i = 0; piece && i < 23; i++) {
      EXPECT(run(s, 1, 0.0, row, 1) == STATUS_OK);
      for (size_t c = 0; c < 3; c++)
        b[c * 23 + i] = row[c];
    }
  }
  EXPECT(same_bits(a, b, LENGTH(a)));
  EXPECT(same_bits(once.factor[0], pieces.factor[0], 4));
}

static void faults_stop(void) {
  const mh_function functions[] = {not_a_number, infinite, failing};
  const mh_fault faults[] = {MH_NAN, MH_PLUS_INFINITY, MH_NO_FAULT};
  for (size_t k = 0; k < 3; k++) {
    sampler s;
    set_seed(3, 4);
    new_sampler(&s, 2, functions[k]);
    add_block(&s, &mh_random_walk, 2, all_coordinates, 1.0);
    start(&s);
    EXPECT(run(&s, 1000, 1000.0, NULL, 0) == STATUS_USER_FUNCTION);
    EXPECT(s.model.fault == faults[k]);
    if (faults[k] != MH_NO_FAULT)
      EXPECT(s.model.fault_point[0] > 1.0);
    EXPECT(s.x[0] <= 1.0);
  }
}

static void nan_can_be_rejected(void) {
  sampler s;
  set_seed(3, 4);
  new_sampler(&s, 2, not_a_number);
  s.model.reject_nan = 1;
  add_block(&s, &mh_random_walk, 2, all_coordinates, 1.0);
  start(&s);
  EXPECT(run(&s, 1000, 1000.0, NULL, 0) == STATUS_OK);
  EXPECT(s.nan_count > 0.0 && s.nan_count < 1000.0);
  EXPECT(s.x[0] <= 1.0);
}

static void bounds_are_not_asked(void) {
  static const double lower[] = {-0.5, -INFINITY}, upper[] = {0.5, 1.0};
  sampler s;
  set_seed(7, 8);
  new_sampler(&s, 2, normals);
  s.model.lower = lower;
  s.model.upper = upper;
  add_block(&s, &mh_random_walk, 2, all_coordinates, 1.0);
  start(&s);
  double draws[3 * 500];
  EXPECT(run(&s, 500, 0.0, draws, 500) == STATUS_OK);
  EXPECT(s.asked < 400);
  for (size_t i = 0; i < 500; i++)
    EXPECT(fabs(draws[i]) <= 0.5 && draws[500 + i] <= 1.0);
}

/* The rate aimed at is reached, and after burn-in nothing is learned. */
static void learning_ends_with_burnin(void) {
  sampler s;
  set_seed(9, 10);
  new_sampler(&s, 1, normals);
  add_block(&s, &mh_adaptive, 1, all_coordinates, 0.01)->tuned = MH_BURNIN;
  start(&s);
  EXPECT(run(&s, 5000, 5000.0, NULL, 0) == STATUS_OK);
  const double scale = s.tuning[0][0], factor = s.factor[0][0];
  double *draws = new_numbers(2 * 5000);
  EXPECT(run(&s, 5000, 5000.0, draws, 5000) == STATUS_OK);
  release_numbers(draws);
  EXPECT(s.tuning[0][0] == scale && s.factor[0][0] == factor);
  EXPECT(s.tuning[0][1] == 5000.0);
  EXPECT(fabs(s.counts[0][3] / 5000.0 - 0.4) < 0.05);
}

/* ---- the factor's update --------------------------------------------------- */

static void rank_one_update_is_the_factor(void) {
  double l[9] = {2.0, 0.5, -1.0, 0.0, 1.5, 0.25, 0.0, 0.0, 0.75};
  double a[9], v[3] = {0.3, -2.0, 1.1};
  linalg_outer_gram(l, 3, a);
  for (size_t i = 0; i < 3; i++)
    for (size_t j = 0; j < 3; j++)
      a[i + 3 * j] += v[i] * v[j];
  EXPECT(linalg_cholesky(a, 3) == STATUS_OK);
  linalg_rank_one_update(l, 3, v);
  for (size_t j = 0; j < 3; j++)
    for (size_t i = j; i < 3; i++)
      EXPECT_NEAR(l[i + 3 * j], a[i + 3 * j], 1e-14);
}

void test_mh(void) {
  run_test("mh: moments", compiled_proposals_have_the_moments);
  run_test("mh: moments with blocks", blocks_have_the_moments);
  run_test("mh: moments of mixtures", mixtures_have_the_moments);
  run_test("mh: one evaluation a step", density_is_asked_once_a_step);
  run_test("mh: pieces", pieces_do_not_show);
  run_test("mh: faults", faults_stop);
  run_test("mh: NaN rejected", nan_can_be_rejected);
  run_test("mh: bounds", bounds_are_not_asked);
  run_test("mh: learning ends", learning_ends_with_burnin);
  run_test("mh: rank-one update", rank_one_update_is_the_factor);
}
