/* Metropolis-Hastings leaves its target as it is: points drawn from a density that
 * is not normal, several sweeps from each, and no mean has changed.  Every kind of
 * proposal, alone and in blocks, on the line and between bounds.  The ratio from x
 * to y is that from y to x turned round. */

#include "mh/mh_sweep.h"

#include <string.h>

#include "harness.h"
#include "mh/mh_move.h"
#include "mh/mh_proposal.h"
#include "mh/mh_types.h"
#include "mh_targets.h"
#include "numeric/rmath.h"

void test_mh_exact(void);

/* SWEEPS: of a start; as many are drawn ahead */
enum { MOST_BLOCKS = 3, SWEEPS = 6, STARTS = 20000 };

/* ---- samplers ------------------------------------------------------------- */

typedef struct {
  mh_model model;
  mh_block block[MOST_BLOCKS];
  mh_proposal proposal[MOST_BLOCKS], part[2];
  mh_memory stage[2];
  double stage_tuning[2][2], stage_counts[2][4];
  target_chain at;
  double factor[MOST_BLOCKS][D * D], mean[MOST_BLOCKS][D];
  double tuning[MOST_BLOCKS][2], counts[MOST_BLOCKS][4];
  double ahead[SWEEPS * 32], work[D * 16];
} sampler;

static void new_sampler(sampler *s, int has_bounds) {
  memset(s, 0, sizeof *s);
  s->model = target_model(&s->at, has_bounds);
  s->model.block = s->block;
  s->model.ahead = s->ahead;
  s->model.rows = SWEEPS;
}

/* Block b on d coordinates, L = scale (I + 0.3 below the diagonal). */
static mh_proposal *add_block(sampler *s, const mh_move_type *kind, size_t d,
                              const int *index, double scale) {
  const size_t b = s->model.blocks++;
  mh_proposal *p = &s->proposal[b];
  for (size_t j = 0; j < d; j++)
    for (size_t i = j; i < d; i++)
      s->factor[b][i + d * j] = i == j ? scale : 0.3 * scale;
  for (size_t j = 0; j < d; j++)
    s->mean[b][j] = 0.2 * (double)j - 0.3;
  s->tuning[b][0] = 0.15;
  *p = (mh_proposal){
    .type = kind, .d = d, .factor = s->factor[b], .mean = s->mean[b]};
  s->block[b] =
    (mh_block){.proposal = p,
               .memory = {s->factor[b], s->mean[b], s->tuning[b], s->counts[b]},
               .index = index};
  return p;
}

/* Up by a gamma, down by one: q(y | x) is not q(x | y). */
static int draw_up(void *context, const double *x, double *y) {
  (void)context;
  for (size_t j = 0; j < D; j++)
    y[j] = x[j] + rgamma(2.0, 0.5) - 0.8;
  return 0;
}

static int log_up(void *context, const double *y, const double *x,
                  double *value) {
  (void)context;
  *value = 0.0;
  for (size_t j = 0; j < D; j++)
    *value += dgamma(y[j] - x[j] + 0.8, 2.0, 0.5, 1);
  return 0;
}

static void add_mixture(sampler *s) {
  static const double weight[] = {0.7, 0.3};
  static const double narrow[] = {0.4, 0.6, 0.5}, wide[] = {1.8, 1.6, 1.5};
  mh_proposal *p = add_block(s, &mh_mixture, D, coordinates, 1.0);
  s->part[0] = (mh_proposal){.type = &mh_random_walk,
                             .family = MH_T,
                             .freedom = 3.0,
                             .d = D,
                             .factor = narrow,
                             .diagonal = 1};
  s->part[1] = (mh_proposal){.type = &mh_independence,
                             .d = D,
                             .mean = s->mean[0],
                             .factor = wide,
                             .diagonal = 1};
  p->parts = 2;
  p->settings.mixture.weight = weight;
  p->part = s->part;
}

/* `other` after a rejection of `kind`, with other steps and another family. */
static void add_delayed(sampler *s, const mh_move_type *kind,
                        const mh_move_type *other, double scale) {
  static const double second[] = {0.5, 0.7, 0.6};
  const mh_proposal *p = add_block(s, &mh_delayed, D, coordinates, scale);
  s->part[0] =
    (mh_proposal){.type = kind, .d = D, .factor = p->factor, .mean = p->mean};
  s->part[1] = (mh_proposal){.type = other,
                             .family = MH_T,
                             .freedom = 4.0,
                             .d = D,
                             .mean = p->mean,
                             .factor = second,
                             .diagonal = 1};
  s->proposal[0].parts = 2;
  s->proposal[0].part = s->part;
  for (size_t i = 0; i < 2; i++)
    s->stage[i] = (mh_memory){.factor = s->factor[0],
                              .mean = s->mean[0],
                              .tuning = s->stage_tuning[i],
                              .counts = s->stage_counts[i]};
  s->block[0].memory.stage = s->stage;
}

/* The samplers that are looked at, by their number; 0: there are no more. */
static int set_sampler(sampler *s, int number, int has_bounds) {
  static const int first[] = {2, 0}, last[] = {1, 2};
  const double scale = has_bounds ? 0.5 : 0.7;
  mh_proposal *p;
  new_sampler(s, has_bounds);
  switch (number) {
  case 0:
    add_block(s, &mh_random_walk, D, coordinates, scale);
    return 1;
  case 1:
    add_block(s, &mh_random_walk, D, coordinates, scale)->family = MH_UNIFORM;
    return 1;
  case 2:
    add_block(s, &mh_adaptive, D, coordinates, scale);
    return 1;
  case 3:
    p = add_block(s, &mh_independence, D, coordinates, 2.0 * scale);
    p->family = MH_T;
    p->freedom = 4.0;
    return 1;
  case 4:
    add_block(s, &mh_langevin, D, coordinates, scale);
    return 1;
  case 5:
    add_mixture(s);
    return 1;
  case 6:
    p = add_block(s, &mh_custom, D, coordinates, scale);
    p->settings.custom.draw = draw_up;
    p->settings.custom.log_q = log_up;
    return 1;
  case 7: /* a gradient that the other block's moves make old */
    add_block(s, &mh_langevin, 2, last, 2.2 * scale);
    add_block(s, &mh_random_walk, 1, coordinates, 4.0 * scale);
    return 1;
  case 8:
    p = add_block(s, &mh_random_walk, 1, coordinates, 2.0 * scale);
    p->family = MH_T;
    p->freedom = 5.0;
    add_block(s, &mh_langevin, 2, last, scale);
    add_block(s, &mh_independence, 2, first, 2.0 * scale);
    return 1;
  case 9:
    add_delayed(s, &mh_random_walk, &mh_random_walk, 2.0 * scale);
    return 1;
  case 10:
    add_delayed(s, &mh_langevin, &mh_independence, 1.5 * scale);
    return 1;
  case 11: /* one memory */
    add_delayed(s, &mh_adaptive, &mh_adaptive, 1.5 * scale);
    s->part[1].log_shrink = -1.2;
    s->stage[1].tuning = s->stage_tuning[0];
    return 1;
  default:
    return 0;
  }
}

/* ---- the target stays as it is -------------------------------------------- */

static size_t statistics(const sampler *s, double *out) {
  const double *x = s->at.x;
  const double value[] = {x[0],           x[1],          x[2],
                          x[0] * x[0],    x[1] * x[1],   x[2] * x[2],
                          x[0] * x[1],    x[1] * x[2],   x[0] * x[2],
                          s->at.value[1], s->at.point[1]};
  memcpy(out, value, sizeof value);
  return LENGTH(value);
}

static void start_anew(sampler *s) {
  s->at.sweep = 0.0;
  s->model.row = 0;
  s->at.draw(s->at.x);
  EXPECT(mh_evaluate_current(&s->model) == STATUS_OK);
}

static void sweeps_of(sampler *s) {
  const scan_control control = {.thin = 1.0, .threads = 1};
  double before[MOST_STATISTICS], after[MOST_STATISTICS];
  set_seed(41, 42);
  mh_open(&s->model, s->work);
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

static void sweeps_leave_the_target(void) {
  sampler s;
  for (int number = 0; set_sampler(&s, number, 0); number++)
    sweeps_of(&s);
}

static void sweeps_leave_it_between_bounds(void) {
  sampler s;
  for (int number = 0; set_sampler(&s, number, 1); number++)
    sweeps_of(&s);
}

/* ---- one step -------------------------------------------------------------- */

/* For block b at the state's point: out <- log q(y | x), log q(x | y), and the
 * log of the ratio in a(x, y) that a step would use.  y: proposal->d numbers.
 */
static status examine(mh_model *m, size_t b, const double *y, double *out) {
  mh_move move;
  status outcome = mh_start_move(m, b, &move);
  for (size_t j = 0; j < m->block[b].proposal->d; j++)
    move.proposed[j] = y[j];
  if (outcome == STATUS_OK)
    outcome = mh_evaluate_move(m, &move);
  const mh_proposal *p = move.block->proposal;
  const mh_memory *memory = &move.block->memory;
  if (outcome == STATUS_OK)
    outcome = p->type->log_q(p, memory, move.y.x, move.x, &out[0], m->a);
  if (outcome == STATUS_OK)
    outcome = p->type->log_q(p, memory, move.x.x, move.y, &out[1], m->a);
  out[2] = move.log_ratio;
  return outcome;
}

/* log p(y) - log p(x) + log q(x | y) - log q(y | x), there and back. */
static void there_and_back(sampler *s) {
  double there[3], back[3], y[D];
  mh_open(&s->model, s->work);
  for (int pair = 0; pair < 50; pair++) {
    const mh_block *block = &s->block[(size_t)pair % s->model.blocks];
    const size_t b = (size_t)pair % s->model.blocks;
    start_anew(s);
    const double before = s->at.value[1];
    for (size_t j = 0; j < block->proposal->d; j++)
      y[j] = s->at.x[block->index[j]] + 0.3 * norm_rand();
    EXPECT(examine(&s->model, b, y, there) == STATUS_OK);
    for (size_t j = 0; j < block->proposal->d; j++) {
      const double x = s->at.x[block->index[j]];
      s->at.x[block->index[j]] = y[j];
      y[j] = x;
    }
    EXPECT(mh_evaluate_current(&s->model) == STATUS_OK);
    EXPECT(examine(&s->model, b, y, back) == STATUS_OK);
    EXPECT_NEAR(there[2], -back[2], 1e-10);
    EXPECT_NEAR(there[0], back[1], 1e-10);
    EXPECT_NEAR(there[2], s->at.value[1] - before + there[1] - there[0], 1e-10);
  }
}

static void ratios_turn_round(void) {
  sampler s;
  set_seed(43, 44);
  for (int has_bounds = 0; has_bounds < 2; has_bounds++)
    for (int number = 0; set_sampler(&s, number, has_bounds); number++)
      if (s.proposal[0].type != &mh_custom &&
          s.proposal[0].type != &mh_delayed &&
          s.proposal[0].family != MH_UNIFORM)
        there_and_back(&s);
}

/* The working log density, and its slope by differences. */
static double working_density(sampler *s, const double *x) {
  memcpy(s->at.x, x, sizeof s->at.x);
  EXPECT(mh_evaluate_current(&s->model) == STATUS_OK);
  return s->at.value[1];
}

static void slope_by_differences(sampler *s, const double *at, double *slope) {
  const double h = 1e-5;
  double x[D];
  for (size_t j = 0; j < D; j++) {
    memcpy(x, at, sizeof x);
    x[j] = at[j] + h;
    slope[j] = working_density(s, x);
    x[j] = at[j] - h;
    slope[j] = (slope[j] - working_density(s, x)) / (2.0 * h);
  }
  working_density(s, at);
}

/* L: lower triangular, or its diagonal */
static double factor_at(const mh_proposal *p, size_t i, size_t j) {
  if (p->diagonal)
    return i == j ? p->factor[i] : 0.0;
  return i >= j ? p->factor[i + p->d * j] : 0.0;
}

/* centre <- x, m, or x + s^2/2 L L' g, by loops */
static void centre_by_hand(const mh_proposal *p, double step, const double *x,
                           const double *slope, double *centre) {
  for (size_t i = 0; i < D; i++) {
    centre[i] = p->type == &mh_independence ? p->mean[i] : x[i];
    for (size_t j = 0; p->type == &mh_langevin && j < D; j++)
      for (size_t k = 0; k < D; k++)
        centre[i] += 0.5 * step * step * factor_at(p, i, j) *
                     factor_at(p, k, j) * slope[k];
  }
}

/* log q(y | x): density of e at L^-1 (y - centre) / s, over s^d |L|. */
static double log_q_by_hand(const mh_proposal *p, double step, const double *x,
                            const double *slope, const double *y) {
  double centre[D], e[D], square = 0.0, sum = 0.0;
  if (p->type == &mh_mixture) {
    for (size_t i = 0; i < p->parts; i++)
      sum += p->settings.mixture.weight[i] *
             exp(log_q_by_hand(&p->part[i], 1.0, x, slope, y));
    return log(sum);
  }
  centre_by_hand(p, step, x, slope, centre);
  for (size_t i = 0; i < D; i++) {
    e[i] = (y[i] - centre[i]) / step;
    for (size_t j = 0; j < i; j++)
      e[i] -= factor_at(p, i, j) * e[j];
    e[i] /= factor_at(p, i, i);
    square += e[i] * e[i];
    sum += dnorm(e[i], 0.0, 1.0, 1) - log(step * factor_at(p, i, i));
  }
  if (p->family == MH_T) {
    const double nu = p->freedom, all = nu + D;
    sum += 0.5 * square + 0.5 * D * log(2.0 / nu) + lgammafn(0.5 * all) -
           lgammafn(0.5 * nu) - 0.5 * all * log1p(square / nu);
  }
  return sum;
}

static void densities_by_hand(void) {
  sampler s;
  double x[D], y[D], slope[D], out[3];
  set_seed(45, 46);
  for (int has_bounds = 0; has_bounds < 2; has_bounds++)
    for (int number = 0; number < 6; number++) {
      if (number == 1) /* uniform */
        continue;
      set_sampler(&s, number, has_bounds);
      mh_open(&s.model, s.work);
      const mh_move_type *kind = s.proposal[0].type;
      const double step =
        kind == &mh_langevin || kind == &mh_adaptive ? exp(0.15) : 1.0;
      for (int pair = 0; pair < 10; pair++) {
        s.at.draw(x);
        for (size_t j = 0; j < D; j++)
          y[j] = x[j] + 0.4 * norm_rand();
        slope_by_differences(&s, x, slope);
        EXPECT(examine(&s.model, 0, y, out) == STATUS_OK);
        EXPECT_NEAR(out[0], log_q_by_hand(&s.proposal[0], step, x, slope, y),
                    1e-7);
      }
    }
}

/* A gradient that is said to be known is that of the point where the chain is, also
 * after the moves of blocks that do without. */
static void known_slopes_are_current(void) {
  const scan_control control = {.thin = 1.0, .threads = 1};
  sampler s;
  double slope[D], known[D];
  int met = 0;
  set_seed(47, 48);
  for (int number = 7; set_sampler(&s, number, 0); number++) {
    mh_open(&s.model, s.work);
    start_anew(&s);
    mh_draw_ahead(&s.model);
    for (size_t step = 0; step < 200; step++) {
      const size_t row = step / s.model.blocks % SWEEPS;
      const size_t b = step % s.model.blocks;
      if (row == 0 && b == 0)
        mh_draw_ahead(&s.model);
      EXPECT(mh_update(&s.model, b, row, &control) == STATUS_OK);
      if (!(s.at.slope[0] > 0.0))
        continue;
      memcpy(known, s.at.slope + 1, sizeof known);
      bent_slope(NULL, s.at.x, slope);
      for (size_t j = 0; j < D; j++)
        EXPECT_NEAR(known[j], slope[j], 1e-12);
      met++;
    }
  }
  EXPECT(met > 20);
}

void test_mh_exact(void) {
  run_test("mh: known gradients are current", known_slopes_are_current);
  run_test("mh: densities of proposals by hand", densities_by_hand);
  run_test("mh: sweeps leave the target", sweeps_leave_the_target);
  run_test("mh: sweeps leave it between bounds",
           sweeps_leave_it_between_bounds);
  run_test("mh: ratios there and back", ratios_turn_round);
}
