/* Hamiltonian dynamics: a leapfrog step preserves volume and can be undone, the
 * windows of the burn-in are where they should be, and transitions leave their
 * target as it is. */
#include "mh/mh_trajectory.h"

#include "harness.h"
#include "mh/mh_proposal.h"
#include "mh/mh_sweep.h"
#include "mh/mh_types.h"
#include "mh/mh_warmup.h"
#include "mh_targets.h"
#include "numeric/rmath.h"

#include <math.h>
#include <string.h>

void test_mh_hamiltonian(void);

enum { MOST_BLOCKS = 2, SWEEPS = 4, STARTS = 12000, SUBTREES = 6 };

/* ---- samplers ------------------------------------------------------------- */

typedef struct {
  mh_model model;
  mh_block block[MOST_BLOCKS];
  mh_proposal proposal[MOST_BLOCKS];
  target_chain at;
  double factor[MOST_BLOCKS][D * D], mean[MOST_BLOCKS][D];
  double tuning[MOST_BLOCKS][2], counts[MOST_BLOCKS][4];
  double spread[MOST_BLOCKS][D * D], averaging[MOST_BLOCKS][MH_AVERAGING];
  double energies[MOST_BLOCKS][MH_ENERGIES];
  double ahead[SWEEPS * 32], work[D * 16];
  double *scratch[MOST_BLOCKS];
} sampler;

static void new_sampler(sampler *s, int has_bounds) {
  memset(s, 0, sizeof *s);
  s->model = target_model(&s->at, has_bounds);
  s->model.block = s->block;
  s->model.ahead = s->ahead;
  s->model.rows = SWEEPS;
}

/* L = I + 0.3 below the diagonal, or I */
static void set_factor(sampler *s, size_t b, const mh_proposal *p) {
  for (size_t j = 0; j < p->d; j++)
    for (size_t i = j; i < p->d; i++)
      s->factor[b][p->diagonal ? j : i + p->d * j] =
        i == j || p->diagonal ? 1.0 : 0.3;
}

static mh_proposal *add_block(sampler *s, const mh_move_type *kind, size_t d,
                              const int *index, int diagonal, double step) {
  const size_t b = s->model.blocks++;
  mh_proposal *p = &s->proposal[b];
  *p = (mh_proposal){.type = kind, .d = d, .diagonal = diagonal, .target = 0.8};
  if (kind == &mh_nuts) {
    p->settings.nuts.depth = SUBTREES;
  } else {
    p->settings.hmc.steps = 5;
    p->settings.hmc.jitter = 0.2;
  }
  set_factor(s, b, p);
  s->tuning[b][0] = log(step);
  s->block[b] =
    (mh_block){.proposal = p,
               .memory = {s->factor[b], s->mean[b], s->tuning[b], s->counts[b],
                          s->spread[b], s->averaging[b], s->energies[b]},
               .index = index};
  arena a = arena_measure();
  mh_trajectory_open(p, D, SUBTREES, &a);
  s->scratch[b] = new_bytes(arena_size(&a));
  a = arena_over(s->scratch[b]);
  s->block[b].trajectory = mh_trajectory_open(p, D, SUBTREES, &a);
  return p;
}

static void release(sampler *s) {
  for (size_t b = 0; b < s->model.blocks; b++)
    release_numbers(s->scratch[b]);
}

static void start_anew(sampler *s) {
  s->at.sweep = 0.0;
  s->model.row = 0;
  s->at.draw(s->at.x);
  EXPECT(mh_evaluate_current(&s->model) == STATUS_OK);
}

/* ---- one leapfrog step ----------------------------------------------------- */

static mh_trajectory *open_step(sampler *s, int diagonal, int has_bounds) {
  new_sampler(s, has_bounds);
  add_block(s, &mh_hmc, D, coordinates, diagonal, 0.3);
  mh_open(&s->model, s->work);
  mh_trajectory *t = s->block[0].trajectory;
  t->m = &s->model;
  t->block = &s->block[0];
  t->start = 1e6;
  return t;
}

/* z <- position and momentum (2 D numbers), with the gradient there */
static void place(mh_trajectory *t, const double *at, mh_phase *z) {
  memcpy(z->x, at, D * sizeof(double));
  memcpy(z->momentum, at + D, D * sizeof(double));
  EXPECT(mh_evaluate(t->m, z->x, z->point, z->value) == STATUS_OK);
  EXPECT(mh_evaluate_slope(t->m, z->x, z->point, z->slope) == STATUS_OK);
}

static void map(mh_trajectory *t, const double *at, double step, double *out) {
  mh_phase *z = &t->edge[0];
  place(t, at, z);
  EXPECT(mh_leapfrog(t, z, step) == STATUS_OK);
  EXPECT(isfinite(z->energy));
  memcpy(out, z->x, D * sizeof(double));
  memcpy(out + D, z->momentum, D * sizeof(double));
}

static void draw_phase(sampler *s, double *at) {
  s->at.draw(at);
  for (size_t j = 0; j < D; j++)
    at[D + j] = norm_rand();
}

static void steps_can_be_undone(void) {
  double at[2 * D], there[2 * D], back[2 * D];
  set_seed(51, 52);
  for (int kind = 0; kind < 4; kind++) {
    sampler s;
    mh_trajectory *t = open_step(&s, kind % 2, kind / 2);
    for (int i = 0; i < 20; i++) {
      draw_phase(&s, at);
      map(t, at, 0.3, there);
      map(t, there, -0.3, back);
      for (size_t j = 0; j < 2 * D; j++)
        EXPECT_NEAR(back[j], at[j], 1e-10);
    }
    release(&s);
  }
}

/* |a|, by elimination with pivots; a is used up. */
static double determinant(double a[2 * D][2 * D]) {
  double product = 1.0;
  for (size_t k = 0; k < 2 * D; k++) {
    size_t top = k;
    for (size_t i = k; i < 2 * D; i++)
      top = fabs(a[i][k]) > fabs(a[top][k]) ? i : top;
    product *= top == k ? a[top][k] : -a[top][k];
    for (size_t j = 0; j < 2 * D; j++) {
      const double left = a[k][j];
      a[k][j] = a[top][j];
      a[top][j] = left;
    }
    for (size_t i = k + 1; i < 2 * D; i++)
      for (size_t j = 2 * D; j-- > k;)
        a[i][j] -= a[i][k] / a[k][k] * a[k][j];
  }
  return product;
}

/* The derivative of the map, by differences of order 8: their error is far below
 * 1e-10 for a smooth map of order 1. */
static void volume_is_preserved(void) {
  static const double weight[] = {4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0,
                                  -1.0 / 280.0};
  const double h = 0.01;
  double at[2 * D], up[2 * D], down[2 * D], slope[2 * D][2 * D];
  set_seed(53, 54);
  for (int kind = 0; kind < 4; kind++) {
    sampler s;
    mh_trajectory *t = open_step(&s, kind % 2, kind / 2);
    for (int i = 0; i < 10; i++) {
      draw_phase(&s, at);
      memset(slope, 0, sizeof slope);
      for (size_t j = 0; j < 2 * D; j++)
        for (size_t k = 0; k < LENGTH(weight); k++) {
          const double here = at[j], away = h * (double)(k + 1);
          at[j] = here + away;
          map(t, at, 0.3, up);
          at[j] = here - away;
          map(t, at, 0.3, down);
          at[j] = here;
          for (size_t l = 0; l < 2 * D; l++)
            slope[l][j] += weight[k] * (up[l] - down[l]) / h;
        }
      EXPECT_NEAR(determinant(slope), 1.0, 1e-10);
    }
    release(&s);
  }
}

/* ---- transitions ----------------------------------------------------------- */

/* The samplers that are looked at, by their number; 0: there are no more. */
static int set_sampler(sampler *s, int number, int has_bounds) {
  static const int first[] = {2, 0}, last[] = {1, 2};
  new_sampler(s, has_bounds);
  switch (number) {
  case 0:
  case 1:
    add_block(s, &mh_nuts, D, coordinates, number, 0.8);
    return 1;
  case 2:
  case 3:
    add_block(s, &mh_hmc, D, coordinates, number % 2, 0.8);
    return 1;
  case 4:
    add_block(s, &mh_nuts, 2, last, 0, 0.9);
    add_block(s, &mh_hmc, 2, first, 1, 0.7);
    return 1;
  default:
    return 0;
  }
}

static size_t statistics(const sampler *s, double *out) {
  const double *x = s->at.x;
  const double value[] = {x[0],           x[1],          x[2],
                          x[0] * x[0],    x[1] * x[1],   x[2] * x[2],
                          x[0] * x[1],    x[1] * x[2],   x[0] * x[2],
                          s->at.value[1], s->at.point[1]};
  memcpy(out, value, sizeof value);
  return LENGTH(value);
}

static void sweeps_of(sampler *s) {
  const scan_control control = {.thin = 1.0, .threads = 1};
  double before[MOST_STATISTICS], after[MOST_STATISTICS];
  set_seed(55, 56);
  mh_open(&s->model, s->work);
  EXPECT(mh_variates(&s->model) * SWEEPS <= LENGTH(s->ahead));
  start_anew(s);
  invariance sweeps = new_invariance(statistics(s, before));
  for (int i = 0; i < STARTS; i++) {
    start_anew(s);
    statistics(s, before);
    for (int sweep = 0; sweep < SWEEPS; sweep++, s->at.sweep += 1.0)
      EXPECT(mh_sweep(&s->model, &control) == STATUS_OK);
    statistics(s, after);
    compare(&sweeps, before, after);
  }
  EXPECT_INVARIANT(&sweeps);
}

static void transitions_leave_the_target(void) {
  sampler s;
  for (int has_bounds = 0; has_bounds < 2; has_bounds++)
    for (int number = 0; set_sampler(&s, number, has_bounds); number++) {
      sweeps_of(&s);
      release(&s);
    }
}

/* The gradient and the values that the state holds are those of its point. */
static void states_are_current(void) {
  const scan_control control = {.thin = 1.0, .threads = 1};
  sampler s;
  set_seed(57, 58);
  for (int number = 0; set_sampler(&s, number, 0); number++) {
    double slope[D], value;
    mh_open(&s.model, s.work);
    start_anew(&s);
    for (int i = 0; i < 100; i++, s.at.sweep += 1.0) {
      EXPECT(mh_sweep(&s.model, &control) == STATUS_OK);
      bent(NULL, s.at.x, &value);
      bent_slope(NULL, s.at.x, slope);
      EXPECT(s.at.slope[0] == 1.0 && s.at.value[1] == value);
      EXPECT(same_bits(s.at.slope + 1, slope, D));
    }
    release(&s);
  }
}

/* ---- interrupts ------------------------------------------------------------- */

static int stop_later(void *asked) {
  return --*(int *)asked < 0;
}

/* In the middle of a trajectory too, and the state is as before. */
static void trajectories_are_interrupted(void) {
  int asked = 7;
  double before[D];
  sampler s;
  set_seed(59, 60);
  new_sampler(&s, 0);
  add_block(&s, &mh_hmc, D, coordinates, 1, 1e-6)->settings.hmc.steps = 1000000;
  mh_open(&s.model, s.work);
  start_anew(&s);
  memcpy(before, s.at.x, sizeof before);
  const scan_control control = {
    .thin = 1.0, .threads = 1, .stop = stop_later, .stop_data = &asked};
  EXPECT(mh_sweep(&s.model, &control) == STATUS_INTERRUPTED);
  EXPECT(asked == -1);
  EXPECT(same_bits(s.at.x, before, D));
  release(&s);
}

/* ---- burn-in ----------------------------------------------------------------- */

static void expect_windows(double burnin, double first, const double *ends,
                           size_t n) {
  size_t met = 0;
  for (double t = 1.0; t <= burnin; t += 1.0) {
    const double last = n > 0 ? ends[n - 1] : 0.0;
    EXPECT(mh_in_window(t, burnin) == (n > 0 && t > first && t <= last));
    if (!mh_window_ends(t, burnin))
      continue;
    EXPECT(met < n && t == ends[met]);
    met++;
  }
  EXPECT(met == n);
}

static void windows_double(void) {
  static const double thousand[] = {100.0, 150.0, 250.0, 450.0, 950.0};
  static const double few[] = {100.0, 150.0, 250.0};
  static const double longer[] = {100.0, 150.0, 260.0};
  static const double one[] = {90.0}, short_one[] = {18.0};
  expect_windows(1000.0, 75.0, thousand, LENGTH(thousand));
  expect_windows(300.0, 75.0, few, LENGTH(few));
  expect_windows(310.0, 75.0, longer, LENGTH(longer));
  expect_windows(100.0, 15.0, one, LENGTH(one));
  expect_windows(20.0, 3.0, short_one, LENGTH(short_one));
  expect_windows(19.0, 0.0, NULL, 0);
}

/* The covariance and the acceptance statistic that are aimed at. */
static void burnin_learns(void) {
  const scan_model none = {NULL, mh_sweep, mh_record};
  for (int diagonal = 0; diagonal < 2; diagonal++) {
    sampler s;
    set_seed(61, 62);
    new_sampler(&s, 0);
    add_block(&s, &mh_nuts, D, coordinates, diagonal, 1e-3)->tuned = MH_BURNIN;
    for (size_t j = 0; j < D; j++)
      s.factor[0][diagonal ? j : j + D * j] = 100.0;
    mh_open(&s.model, s.work);
    start_anew(&s);
    scan_model scan = none;
    const scan_control control = {.burnin = 3000.0, .thin = 1.0, .threads = 1};
    scan.model = &s.model;
    EXPECT(scan_sweeps(&scan, &control, 3000, &s.at.sweep, NULL, 0) ==
           STATUS_OK);
    EXPECT(fabs(s.counts[0][1] / s.counts[0][0] - 0.8) < 0.03);
    const double variance = s.factor[0][0] * s.factor[0][0];
    EXPECT(variance > 2.25 / 1.4 && variance < 2.25 * 1.4);
    EXPECT(s.averaging[0][MH_COLLECTED] == 0.0);
    EXPECT(s.tuning[0][0] == s.averaging[0][MH_LOG_STEP]);
    release(&s);
  }
}

void test_mh_hamiltonian(void) {
  run_test("hamiltonian: steps can be undone", steps_can_be_undone);
  run_test("hamiltonian: volume is preserved", volume_is_preserved);
  run_test("hamiltonian: transitions leave the target",
           transitions_leave_the_target);
  run_test("hamiltonian: states are current", states_are_current);
  run_test("hamiltonian: interrupts", trajectories_are_interrupted);
  run_test("hamiltonian: windows", windows_double);
  run_test("hamiltonian: burn-in", burnin_learns);
}
