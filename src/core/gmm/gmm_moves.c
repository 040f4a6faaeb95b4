#include "numeric/rounding.h"

#include "gmm/gmm_moves.h"

#include <math.h>

#include "gmm/gmm.h"
#include "numeric/lanes.h"
#include "numeric/linalg.h"
#include "numeric/rdist.h"
#include "numeric/rmath.h"
#include "numeric/uniforms.h"

/* A chain's first tries come one a sweep, to leave a poor start; later ones in a
 * sweep with this probability, so that they take about a third of its time.  How
 * many there were says nothing of the chain's values. */
#define FIRST_TRIES 200
#define RATE_OF_TWO (1.0 / 16.0)
#define RATE (1.0 / 8.0)
#define EMPTY_RATE 0.2 /* of the tries: moves of the kind MOVE_EMPTY */

#define EDGE 1e-4      /* of the probabilities of a side                  */
#define EM_STEPS 30    /* at most, over at most EM_ROWS observations ...  */
#define EM_ENOUGH 0.05 /* a change of the log-likelihood that ends them   */
#define EM_ROWS 512
#define EM_LAST 2 /* ... and then over all, where there are more     */
#define LOG_2 0.693147180559945309417232121458

/* ---- work space --------------------------------------------------------------- */

static gmm_group carve_group(size_t d, arena *a) {
  const double width = (double)d;
  gmm_group group = {0};
  group.mean = arena_doubles(a, width);
  group.scatter = arena_doubles(a, width * width);
  return group;
}

void gmm_moves_carve(gmm_moves *moves, gmm_form form, size_t n, size_t d,
                     arena *a) {
  const double rows = (double)n, width = (double)d;
  moves->v0 = arena_doubles(a, width * width);
  gmm_components_carve(&moves->sides, form, d, 2, a);
  moves->y = arena_doubles(a, rows * width);
  moves->chance = arena_doubles(a, rows);
  moves->uniforms = arena_doubles(a, rows);
  moves->proposed = arena_take(a, rows, sizeof(int));
  for (size_t e = 0; e < MOVE_LABELS; e++) {
    moves->before[e] = carve_group(d, a);
    moves->after[e] = carve_group(d, a);
  }
  for (size_t s = 0; s < 2; s++)
    moves->half[s] = carve_group(d, a);
  moves->whole = carve_group(d, a);
  moves->second = carve_group(d, a);
  moves->factor = arena_doubles(a, MOVE_LABELS * width * width);
  moves->bin = arena_doubles(a, BIN * width);
  moves->root = arena_doubles(a, BIN);
  moves->zero = arena_doubles(a, width);
  moves->scratch = arena_doubles(a, 2.0 * LANES * width);
  moves->weight = arena_doubles(a, 2.0 * LANES);
  moves->matrix[0] = arena_doubles(a, width * width);
  moves->matrix[1] = arena_doubles(a, width * width);
  moves->vector = arena_doubles(a, width);
}

/* ---- groups ------------------------------------------------------------------- */

/* to <- to + weight v v' (lower triangle). */
static void add_square(double *to, size_t d, double weight, const double *v) {
  for (size_t j = 0; j < d; j++)
    for (size_t i = j; i < d; i++)
      to[i + d * j] += weight * v[i] * v[j];
}

static void clear_group(gmm_group *g, size_t d) {
  g->count = 0.0;
  for (size_t j = 0; j < d; j++)
    g->mean[j] = 0.0;
  for (size_t e = 0; e < d * d; e++)
    g->scatter[e] = 0.0;
}

/* The group of component c as the sweep's sums have it. */
static void group_of(gmm_model *m, size_t c, gmm_group *g) {
  const size_t d = m->data.d;
  const double *sum = m->sums.sum + c * d;
  const double *cross = m->sums.cross + c * d * d;
  clear_group(g, d);
  g->count = m->sums.count[c];
  if (!(g->count > 0.0))
    return;
  for (size_t j = 0; j < d; j++)
    g->mean[j] = m->components.mean[c * d + j] + sum[j] / g->count;
  for (size_t e = 0; e < d * d; e++)
    g->scatter[e] = cross[e];
  add_square(g->scatter, d, -1.0 / g->count, sum);
}

/* out <- the observations of a and b together. */
static void join_groups(gmm_model *m, const gmm_group *a, const gmm_group *b,
                        gmm_group *out) {
  const size_t d = m->data.d;
  double *gap = m->moves.vector;
  const double count = a->count + b->count, share = b->count / count;
  for (size_t j = 0; j < d; j++)
    gap[j] = b->mean[j] - a->mean[j];
  for (size_t e = 0; e < d * d; e++)
    out->scatter[e] = a->scatter[e] + b->scatter[e];
  for (size_t j = 0; j < d; j++)
    out->mean[j] = a->mean[j] + share * gap[j];
  out->count = count;
  add_square(out->scatter, d, a->count * share, gap);
}

/* first, second <- the sides of a set from sums about whole->mean: of all its
 * observations in `whole` and of the second side in `second`, mean holding the
 * sum of deviations and scatter that of their products. */
static void part_groups(gmm_model *m, gmm_group *first, gmm_group *second) {
  const size_t d = m->data.d;
  const gmm_group *whole = &m->moves.whole, *half = &m->moves.second;
  double *sum = m->moves.vector;
  first->count = whole->count - half->count;
  second->count = half->count;
  for (size_t e = 0; e < d * d; e++) {
    second->scatter[e] = half->scatter[e];
    first->scatter[e] = whole->scatter[e] - half->scatter[e];
  }
  for (size_t j = 0; j < d; j++)
    sum[j] = -half->mean[j];
  add_square(second->scatter, d, -1.0 / second->count, sum);
  add_square(first->scatter, d, -1.0 / first->count, sum);
  for (size_t j = 0; j < d; j++) {
    first->mean[j] = whole->mean[j] + sum[j] / first->count;
    second->mean[j] = whole->mean[j] - sum[j] / second->count;
  }
}

/* ---- the set that splits -------------------------------------------------------- */

/* The observations of one component, or of two. */
typedef struct {
  int first, second; /* labels as in z; one component: both the same */
} label_set;

static int belongs(label_set set, int z) {
  return z == set.first || z == set.second;
}

/* The index of the t-th observation of the set, from 0. */
static size_t member(const gmm_model *m, label_set set, size_t t) {
  size_t i = 0;
  for (;; i++)
    if (belongs(set, m->state.z[i]) && t-- == 0)
      return i;
}

/* y <- every step-th observation of the set; returns how many. */
static size_t gather(gmm_model *m, label_set set, size_t rows, size_t step) {
  const size_t n = m->data.n, d = m->data.d;
  const size_t taken = (rows + step - 1) / step;
  size_t place = 0, t = 0;
  for (size_t i = 0; i < n; i++) {
    if (!belongs(set, m->state.z[i]) || t++ % step != 0)
      continue;
    for (size_t j = 0; j < d; j++)
      m->moves.y[place + taken * j] = m->x[i + n * j];
    place++;
  }
  return taken;
}

/* group <- sums over the rows of y, weighted by `weight` (NULL: by 1): their
 * number, and in mean and scatter the deviations from `centre` and their
 * products. */
static void weighted_sums(gmm_model *m, size_t rows, const double *weight,
                          const double *centre, gmm_group *group) {
  const size_t d = m->data.d;
  gmm_moves *moves = &m->moves;
  clear_group(group, d);
  for (size_t first = 0; first < rows; first += BIN) {
    const size_t filled = rows - first < BIN ? rows - first : BIN;
    for (size_t s = 0; s < BIN; s++) {
      const double w = s >= filled ? 0.0 : weight ? weight[first + s] : 1.0;
      moves->root[s] = sqrt(w);
      group->count += w;
    }
    for (size_t j = 0; j < d; j++)
      for (size_t s = 0; s < filled; s++)
        moves->bin[j * BIN + s] =
          moves->root[s] * (moves->y[first + s + rows * j] - centre[j]);
    gmm_add_bin(m->data.form, moves->bin, d, filled, moves->root, moves->zero,
                group->mean, group->scatter);
  }
}

/* whole <- sums over the rows of y about their mean; whole->mean is that mean. */
static void sum_whole(gmm_model *m, size_t rows) {
  const size_t d = m->data.d;
  double *mean = m->moves.matrix[0];
  gmm_group *whole = &m->moves.whole;
  for (size_t j = 0; j < d; j++) {
    mean[j] = 0.0;
    for (size_t r = 0; r < rows; r++)
      mean[j] += m->moves.y[r + rows * j];
    mean[j] /= (double)rows;
  }
  weighted_sums(m, rows, NULL, mean, whole);
  for (size_t j = 0; j < d; j++)
    whole->mean[j] = mean[j];
}

/* ---- EM of two normals ---------------------------------------------------------- */

/* Factor of side s from its covariance (S0 + scatter) / df. */
static status set_side(gmm_model *m, size_t s, const double *scatter,
                       double df) {
  const size_t d = m->data.d;
  double *factor = gmm_factor(&m->moves.sides, s);
  if (m->data.form == COVARIANCE_DIAGONAL) {
    for (size_t j = 0; j < d; j++) {
      factor[j] = sqrt((m->data.s0[j + d * j] + scatter[j + d * j]) / df);
      if (!(factor[j] > 0.0) || !isfinite(factor[j]))
        return STATUS_NOT_POSITIVE_DEFINITE;
    }
    return STATUS_OK;
  }
  for (size_t e = 0; e < d * d; e++)
    factor[e] = (m->data.s0[e] + scatter[e]) / df;
  return linalg_cholesky(factor, d);
}

/* Observation i as the mean of side s, weight 1, and as its covariance that of
 * the set over 2^(2/d). */
static status start_side(gmm_model *m, size_t s, size_t i) {
  const size_t n = m->data.n, d = m->data.d;
  const gmm_group *whole = &m->moves.whole;
  const double df = (m->data.nu0 + whole->count) * pow(2.0, 2.0 / (double)d);
  for (size_t v = 0; v < d; v++)
    m->moves.sides.mean[s * d + v] = m->x[i + n * v];
  const status outcome = set_side(m, s, whole->scatter, df);
  if (outcome == STATUS_OK)
    gmm_set_constant(&m->moves.sides, s, 0.0);
  return outcome;
}

/* chance <- probability of the second side, for each row of y; returns the
 * log-likelihood but for a constant. */
static double expect(gmm_model *m, size_t rows) {
  gmm_moves *moves = &m->moves;
  gmm_log_sum log_lik = gmm_log_sum_open();
  for (size_t r = 0; r < rows; r += LANES) {
    const size_t lanes = rows - r < LANES ? rows - r : LANES;
    gmm_log_joint(&moves->sides, moves->y + r, rows, lanes, moves->scratch,
                  moves->weight);
    gmm_accumulate(moves->weight, 2, lanes, &log_lik);
    for (size_t lane = 0; lane < lanes; lane++)
      moves->chance[r + lane] =
        1.0 - moves->weight[lane] / moves->weight[LANES + lane];
  }
  return gmm_log_sum_close(&log_lik);
}

/* Means, covariances (S0 + scatter_s) / (nu0 + n_s) and weights (1 + n_s) / (2 +
 * N); shared: (S0 + both scatters) / (nu0 + N). */
static status maximise(gmm_model *m, size_t rows) {
  const size_t d = m->data.d;
  gmm_moves *moves = &m->moves;
  gmm_group *half = moves->half;
  status outcome = STATUS_OK;
  weighted_sums(m, rows, moves->chance, moves->whole.mean, &moves->second);
  part_groups(m, &half[0], &half[1]);
  if (m->data.form == COVARIANCE_SHARED)
    for (size_t e = 0; e < d * d; e++)
      half[0].scatter[e] = half[1].scatter[e] += half[0].scatter[e];
  for (size_t s = 0; s < 2 && outcome == STATUS_OK; s++) {
    const double count =
      m->data.form == COVARIANCE_SHARED ? moves->whole.count : half[s].count;
    for (size_t v = 0; v < d; v++)
      moves->sides.mean[s * d + v] = half[s].mean[v];
    outcome = set_side(m, s, half[s].scatter, m->data.nu0 + count);
  }
  for (size_t s = 0; s < 2 && outcome == STATUS_OK; s++)
    gmm_set_constant(&moves->sides, s,
                     log((1.0 + half[s].count) / (2.0 + moves->whole.count)));
  return outcome;
}

/* At most `steps` steps, fewer where the log-likelihood has stopped to rise. */
static status climb(gmm_model *m, size_t rows, int steps) {
  status outcome = STATUS_OK;
  double before = -INFINITY;
  for (int step = 0; step < steps && outcome == STATUS_OK; step++) {
    const double log_lik = expect(m, rows);
    if (fabs(log_lik - before) < EM_ENOUGH)
      break;
    before = log_lik;
    outcome = maximise(m, rows);
  }
  return outcome;
}

/* chance <- squared distance of each of the set's `rows` observations from
 * observation i, in the metric of the set's covariance; *total: their sum. */
static status distances(gmm_model *m, label_set set, size_t rows, size_t i,
                        double *total) {
  gmm_moves *moves = &m->moves;
  gather(m, set, rows, 1);
  sum_whole(m, rows);
  status outcome = start_side(m, 0, i);
  if (outcome == STATUS_OK)
    outcome = start_side(m, 1, i);
  *total = 0.0;
  for (size_t r = 0; r < rows && outcome == STATUS_OK; r += LANES) {
    const size_t lanes = rows - r < LANES ? rows - r : LANES;
    gmm_log_joint(&moves->sides, moves->y + r, rows, lanes, moves->scratch,
                  moves->weight);
    for (size_t lane = 0; lane < lanes; lane++) {
      moves->chance[r + lane] =
        fmax(moves->sides.log_constant[0] - moves->weight[lane], 0.0);
      *total += moves->chance[r + lane];
    }
  }
  if (outcome == STATUS_OK && !(*total > 0.0 && isfinite(*total)))
    outcome = STATUS_NOT_FINITE;
  return outcome;
}

/* chance <- probability of the second side for each of the set's `rows`
 * observations, a function of the set and the anchors i and j alone; y and
 * `whole` are left those of the set. */
static status launch(gmm_model *m, label_set set, size_t rows, size_t i,
                     size_t j) {
  const size_t step = (rows + EM_ROWS - 1) / EM_ROWS;
  const size_t taken = gather(m, set, rows, step);
  sum_whole(m, taken);
  status outcome = start_side(m, 0, i);
  if (outcome == STATUS_OK)
    outcome = start_side(m, 1, j);
  if (outcome == STATUS_OK)
    outcome = climb(m, taken, EM_STEPS);
  if (outcome == STATUS_OK && step > 1) {
    gather(m, set, rows, 1);
    sum_whole(m, rows);
    outcome = climb(m, rows, EM_LAST);
  }
  if (outcome == STATUS_OK)
    expect(m, rows);
  for (size_t r = 0; r < rows; r++)
    m->moves.chance[r] = fmin(fmax(m->moves.chance[r], EDGE), 1.0 - EDGE);
  return outcome;
}

/* log of a product of many probabilities, none below EDGE. */
typedef struct {
  double sum, product;
} log_product;

static void multiply(log_product *p, double factor) {
  p->product *= factor;
  if (p->product < 1e-200) {
    p->sum += log(p->product);
    p->product = 1.0;
  }
}

/* log q of the sides in `labels`, those of the anchors left out. */
static double log_sides(const gmm_model *m, label_set set, const int *labels,
                        int second, size_t i, size_t j) {
  log_product q = {0.0, 1.0};
  size_t r = 0;
  for (size_t t = 0; t < m->data.n; t++) {
    if (!belongs(set, m->state.z[t]))
      continue;
    const double chance = m->moves.chance[r++];
    if (t != i && t != j)
      multiply(&q, labels[t] == second ? chance : 1.0 - chance);
  }
  return q.sum + log(q.product);
}

/* proposed <- sides drawn for the set: labels `first` and `second`; the groups of
 * both. */
static void draw_sides(gmm_model *m, const scan_control *control, label_set set,
                       size_t rows, size_t i, size_t j, int first, int second,
                       gmm_group *group_first, gmm_group *group_second) {
  gmm_moves *moves = &m->moves;
  size_t r = 0;
  uniforms_draw(&control->generator, moves->uniforms, rows);
  for (size_t t = 0; t < m->data.n; t++) {
    if (!belongs(set, m->state.z[t]))
      continue;
    int side = moves->uniforms[r] < moves->chance[r];
    if (t == i || t == j)
      side = t == j;
    moves->proposed[t] = side ? second : first;
    moves->uniforms[r++] = side;
  }
  weighted_sums(m, rows, moves->uniforms, moves->whole.mean, &moves->second);
  part_groups(m, group_first, group_second);
}

/* ---- densities ------------------------------------------------------------------- */

/* log Z(df, scale); scale becomes its factor, of variances the sums stay. */
static status log_normaliser(const gmm_model *m, double df, double *scale,
                             double *value) {
  const size_t d = m->data.d;
  *value = 0.5 * df * (double)d * LOG_2;
  if (m->data.form == COVARIANCE_DIAGONAL) {
    for (size_t j = 0; j < d; j++)
      *value += lgammafn(0.5 * df) - 0.5 * df * log(scale[j + d * j]);
    return isfinite(*value) ? STATUS_OK : STATUS_NOT_POSITIVE_DEFINITE;
  }
  const status outcome = linalg_cholesky(scale, d);
  if (outcome != STATUS_OK)
    return outcome;
  for (size_t j = 0; j < d; j++)
    *value += lgammafn(0.5 * (df - (double)j)) - df * log(scale[j + d * j]);
  return STATUS_OK;
}

/* -d/2 log n + log N(xbar | m0, V0 + Sigma / n) + d/2 log(2 pi); 0 for an empty
 * group. */
static status log_location(gmm_model *m, const gmm_group *g,
                           const double *factor, double *value) {
  const size_t d = m->data.d;
  double *spread = m->moves.matrix[0], *white = m->moves.vector;
  *value = 0.0;
  if (!(g->count > 0.0))
    return STATUS_OK;
  if (m->data.form == COVARIANCE_DIAGONAL) {
    for (size_t e = 0; e < d * d; e++)
      spread[e] = 0.0;
    for (size_t j = 0; j < d; j++)
      spread[j + d * j] = factor[j] * factor[j];
  } else {
    linalg_outer_gram(factor, d, spread);
  }
  for (size_t e = 0; e < d * d; e++)
    spread[e] = m->moves.v0[e] + spread[e] / g->count;
  const status outcome = linalg_cholesky(spread, d);
  if (outcome != STATUS_OK)
    return outcome;
  for (size_t j = 0; j < d; j++)
    white[j] = g->mean[j] - m->data.m0[j];
  linalg_solve_lower(spread, d, white);
  *value = -0.5 * ((double)d * log(g->count) + linalg_inner(white, white, d) +
                   linalg_log_determinant(spread, d));
  return STATUS_OK;
}

/* factor <- a draw of Sigma ~ IW(df, L L'), `scale` as log_normaliser() leaves
 * it. */
static status draw_proposal(const gmm_model *m, double df, const double *scale,
                            double *factor) {
  const size_t d = m->data.d;
  if (m->data.form != COVARIANCE_DIAGONAL) {
    rdist_inverse_wishart_factor(df, scale, d, factor, m->matrix[1]);
    return STATUS_OK;
  }
  for (size_t j = 0; j < d; j++) {
    factor[j] = sqrt(scale[j + d * j] / rchisq(df));
    if (!(factor[j] > 0.0) || !isfinite(factor[j]))
      return STATUS_NOT_POSITIVE_DEFINITE;
  }
  return STATUS_OK;
}

/* scale <- S0 + scatter (lower triangle). */
static void add_prior(const gmm_model *m, const double *scatter,
                      double *scale) {
  for (size_t e = 0; e < m->data.d * m->data.d; e++)
    scale[e] = m->data.s0[e] + scatter[e];
}

/* log of p(Sigma) p(x | Sigma) / g(Sigma) of one group, but for powers of 2 pi
 * that all allocations share.  draw: Sigma is drawn from g first. */
static status log_group(gmm_model *m, const gmm_group *g, int draw,
                        double *factor, double *value) {
  double *scale = m->moves.matrix[1], location = 0.0;
  const double df = m->data.nu0 + (g->count > 0.0 ? g->count - 1.0 : 0.0);
  add_prior(m, g->scatter, scale);
  status outcome = log_normaliser(m, df, scale, value);
  if (outcome == STATUS_OK && draw)
    outcome = draw_proposal(m, df, scale, factor);
  if (outcome == STATUS_OK)
    outcome = log_location(m, g, factor, &location);
  *value += location - m->moves.log_prior;
  return outcome;
}

/* ---- the change of the density by a move ------------------------------------------ */

/* Full and diagonal covariances: those of the changed labels. */
static status log_own(gmm_model *m, gmm_group *groups, int draw,
                      double *value) {
  gmm_moves *moves = &m->moves;
  const size_t size = gmm_factor_size(m->data.form, m->data.d, 1);
  status outcome = STATUS_OK;
  *value = 0.0;
  for (size_t e = 0; e < moves->labels && outcome == STATUS_OK; e++) {
    double one = 0.0;
    double *factor = draw ? moves->factor + e * size
                          : gmm_factor(&m->components, moves->label[e]);
    outcome = log_group(m, &groups[e], draw, factor, &one);
    *value += one;
  }
  return outcome;
}

/* The group of component c, of a changed one that in `groups`. */
static const gmm_group *group_among(gmm_model *m, size_t c,
                                    const gmm_group *groups) {
  for (size_t e = 0; e < m->moves.labels; e++)
    if (m->moves.label[e] == c)
      return &groups[e];
  group_of(m, c, &m->moves.whole);
  return &m->moves.whole;
}

/* Shared covariance: that of all. */
static status log_shared(gmm_model *m, gmm_group *groups, int draw,
                         double *value) {
  const size_t d = m->data.d, k = m->data.k;
  double *scale = m->moves.matrix[1], location;
  double *factor = draw ? m->moves.factor : gmm_factor(&m->components, 0);
  double df = m->data.nu0 + (double)m->data.n;
  for (size_t e = 0; e < d * d; e++)
    scale[e] = m->data.s0[e];
  for (size_t c = 0; c < k; c++) {
    const gmm_group *g = group_among(m, c, groups);
    df -= g->count > 0.0;
    for (size_t e = 0; e < d * d; e++)
      scale[e] += g->scatter[e];
  }
  status outcome = log_normaliser(m, df, scale, value);
  if (outcome == STATUS_OK && draw)
    outcome = draw_proposal(m, df, scale, factor);
  for (size_t c = 0; c < k && outcome == STATUS_OK; c++) {
    outcome = log_location(m, group_among(m, c, groups), factor, &location);
    *value += location;
  }
  return outcome;
}

/* log of p(z, Sigma | x) / g(Sigma), in which the changed labels have `groups`. */
static status log_density(gmm_model *m, gmm_group *groups, int draw,
                          double *value) {
  const status outcome = m->data.form == COVARIANCE_SHARED
                           ? log_shared(m, groups, draw, value)
                           : log_own(m, groups, draw, value);
  for (size_t e = 0; e < m->moves.labels; e++)
    *value += lgammafn(m->data.alpha[m->moves.label[e]] + groups[e].count);
  return outcome;
}

/* ---- a move ------------------------------------------------------------------------ */

/* A set that a move splits, or whose split it undoes: labels of the sides and
 * the numbers on them, anchors. */
typedef struct {
  label_set set;
  size_t rows, anchor[2];
  double log_anchors; /* log of n_1 n_2 / (N (N - 1)) */
} split;

/* Ordered labels, all such with the same probability. */
static void draw_labels(gmm_model *m, size_t labels) {
  size_t *label = m->moves.label;
  for (size_t e = 0; e < labels; e++) {
    size_t rank = rdist_below(m->data.k - e);
    for (size_t c = 0; c < m->data.k; c++) {
      int taken = 0;
      for (size_t other = 0; other < e; other++)
        taken |= label[other] == c;
      if (!taken && rank-- == 0) {
        label[e] = c;
        break;
      }
    }
  }
  m->moves.labels = labels;
}

/* The split of labels e and f as it is: an anchor from each, uniformly. */
static status present_split(gmm_model *m, size_t e, size_t f, split *s) {
  const gmm_moves *moves = &m->moves;
  const int first = (int)moves->label[e] + 1, second = (int)moves->label[f] + 1;
  const double in_first = moves->before[e].count;
  const double in_second = moves->before[f].count;
  const size_t i = rdist_below((size_t)in_first);
  const size_t j = rdist_below((size_t)in_second);
  *s = (split){.set = {first, second}, .rows = (size_t)(in_first + in_second)};
  s->anchor[0] = member(m, (label_set){first, first}, i);
  s->anchor[1] = member(m, (label_set){second, second}, j);
  double total, distance = 0.0;
  const status outcome = distances(m, s->set, s->rows, s->anchor[0], &total);
  if (outcome != STATUS_OK)
    return outcome;
  size_t r = 0;
  for (size_t t = 0; t <= s->anchor[1]; t++)
    if (belongs(s->set, m->state.z[t]))
      distance = moves->chance[r++];
  s->log_anchors = log(distance / total) + log(in_first) + log(in_second) -
                   log((double)s->rows);
  return outcome;
}

/* A new split of the observations of labels e and f (or of one): two of them as
 * anchors, the second by its squared distance from the first. */
static status new_split(gmm_model *m, size_t e, size_t f, split *s) {
  const gmm_moves *moves = &m->moves;
  const label_set set = {(int)moves->label[e] + 1, (int)moves->label[f] + 1};
  const double rows =
    moves->before[e].count + (e == f ? 0.0 : moves->before[f].count);
  double total, partial = 0.0;
  *s = (split){.set = set, .rows = (size_t)rows};
  s->anchor[0] = member(m, set, rdist_below(s->rows));
  const double u = unif_rand();
  const status outcome = distances(m, set, s->rows, s->anchor[0], &total);
  if (outcome != STATUS_OK)
    return outcome;
  size_t r = 0, last = 0;
  for (; r < s->rows && partial <= u * total; r++)
    if (moves->chance[r] > 0.0) {
      partial += moves->chance[r];
      last = r;
    }
  s->anchor[1] = member(m, set, last);
  s->log_anchors = log(moves->chance[last] / total) - log(rows);
  return outcome;
}

/* Draws the sides, labels to[0] and to[1] (of those that change), and takes log h
 * off the ratio. */
static status make_split(gmm_model *m, const scan_control *control, split *s,
                         const size_t to[2], double *log_ratio) {
  gmm_moves *moves = &m->moves;
  const size_t i = s->anchor[0], j = s->anchor[1];
  const int second = (int)moves->label[to[1]] + 1;
  gmm_group *one = &moves->after[to[0]], *two = &moves->after[to[1]];
  const status outcome = launch(m, s->set, s->rows, i, j);
  if (outcome != STATUS_OK)
    return outcome;
  draw_sides(m, control, s->set, s->rows, i, j, (int)moves->label[to[0]] + 1,
             second, one, two);
  *log_ratio -= s->log_anchors + log(one->count) + log(two->count) +
                log_sides(m, s->set, moves->proposed, second, i, j);
  return outcome;
}

/* Adds log h of the present sides, the less important part of it only where the
 * rest lets the move be accepted: log q is negative. */
static status undo_split(gmm_model *m, const split *s, double log_uniform,
                         double *log_ratio) {
  *log_ratio += s->log_anchors;
  if (!(*log_ratio > log_uniform))
    return STATUS_OK;
  const status outcome = launch(m, s->set, s->rows, s->anchor[0], s->anchor[1]);
  if (outcome == STATUS_OK)
    *log_ratio += log_sides(m, s->set, m->state.z, s->set.second, s->anchor[0],
                            s->anchor[1]);
  return outcome;
}

/* Where the second label would have more of the first one's observations than
 * the first, the two change places: with equal alpha this is a symmetry of the
 * density and of the move, and labels do not switch for no reason. */
static void keep_labels(gmm_model *m, label_set set, size_t rows) {
  gmm_moves *moves = &m->moves;
  const size_t size = gmm_factor_size(m->data.form, m->data.d, 1);
  size_t moved = 0;
  if (m->data.alpha[moves->label[0]] != m->data.alpha[moves->label[1]])
    return;
  for (size_t t = 0; t < m->data.n; t++)
    moved += belongs(set, m->state.z[t]) && moves->proposed[t] != m->state.z[t];
  if (2 * moved <= rows)
    return;
  for (size_t t = 0; t < m->data.n; t++)
    if (belongs(set, m->state.z[t]))
      moves->proposed[t] = set.first + set.second - moves->proposed[t];
  const gmm_group first = moves->after[0];
  moves->after[0] = moves->after[1];
  moves->after[1] = first;
  for (size_t e = 0; m->data.form != COVARIANCE_SHARED && e < size; e++) {
    const double value = moves->factor[e];
    moves->factor[e] = moves->factor[e + size];
    moves->factor[e + size] = value;
  }
}

/* z, Sigma and the means of the changed components become the new ones. */
static void accept(gmm_model *m, const split *made, const split *undone) {
  const size_t d = m->data.d;
  gmm_moves *moves = &m->moves;
  const size_t size = gmm_factor_size(m->data.form, d, 1);
  const int shared = m->data.form == COVARIANCE_SHARED;
  for (size_t t = 0; t < m->data.n; t++) {
    int *z = &m->state.z[t];
    if (made && belongs(made->set, *z))
      *z = moves->proposed[t];
    else if (undone && belongs(undone->set, *z))
      *z = undone->set.first;
  }
  for (size_t e = 0; e < moves->labels; e++) {
    const size_t c = moves->label[e];
    double *factor = gmm_factor(&m->components, c);
    for (size_t j = 0; j < d; j++)
      m->components.mean[c * d + j] = moves->after[e].mean[j];
    for (size_t v = 0; v < size && (!shared || e == 0); v++)
      factor[v] = moves->factor[e * size + v];
  }
}

/* The kind of a move: with two components there is no third to exchange with. */
static int draw_kind(const gmm_model *m) {
  const double u = unif_rand();
  const double empty = m->moves.empty_rate;
  if (u < empty)
    return MOVE_EMPTY;
  return u < 0.5 + 0.5 * empty && m->data.k > 2 ? MOVE_EXCHANGE : MOVE_RESPLIT;
}

/* What a kind of move does with the labels a, b (and c) drawn. */
typedef struct {
  int possible, splits, undoes;
  size_t from[2], to[2]; /* of the new split, as places in `label` */
} move_plan;

static move_plan plan_move(const gmm_model *m, int kind) {
  const gmm_group *before = m->moves.before;
  const double a = before[0].count, b = before[1].count;
  move_plan plan = {a > 0.0 && b > 0.0, 1, 1, {0, 1}, {0, 1}};
  if (kind == MOVE_EXCHANGE) {
    plan.possible = plan.possible && before[2].count > 1.0;
    plan.from[0] = plan.from[1] = plan.to[0] = 2;
  } else if (kind == MOVE_EMPTY) {
    plan.splits = !(b > 0.0);
    plan.undoes = !plan.splits;
    plan.possible = plan.splits ? a > 1.0 : a > 0.0;
    plan.from[1] = 0;
  }
  return plan;
}

/* 1: the move was accepted. */
static int try_move(gmm_model *m, const scan_control *control,
                    const move_plan *plan) {
  gmm_moves *moves = &m->moves;
  double log_ratio = 0.0, value = 0.0;
  split undone = {0}, made = {0};
  if (plan->undoes && present_split(m, 0, 1, &undone) != STATUS_OK)
    return 0;
  if (plan->undoes)
    join_groups(m, &moves->before[0], &moves->before[1], &moves->after[0]);
  if (plan->splits &&
      new_split(m, plan->from[0], plan->from[1], &made) != STATUS_OK)
    return 0;
  if (!plan->splits)
    clear_group(&moves->after[1], m->data.d);
  if (plan->splits &&
      make_split(m, control, &made, plan->to, &log_ratio) != STATUS_OK)
    return 0;
  if (log_density(m, moves->after, 1, &value) != STATUS_OK)
    return 0;
  log_ratio += value;
  if (log_density(m, moves->before, 0, &value) != STATUS_OK)
    return 0;
  log_ratio -= value;
  const double log_uniform = log(unif_rand());
  if (plan->undoes &&
      undo_split(m, &undone, log_uniform, &log_ratio) != STATUS_OK)
    return 0;
  if (!(log_uniform < log_ratio))
    return 0;
  if (plan->splits && plan->undoes && moves->labels == 2)
    keep_labels(m, made.set, made.rows);
  accept(m, plan->splits ? &made : NULL, plan->undoes ? &undone : NULL);
  return 1;
}

int gmm_move_due(const gmm_model *m) {
  double tries = 0.0;
  if (m->data.k < 2)
    return 0;
  for (int kind = 0; kind < MOVE_COMBINE; kind++)
    tries += m->state.moves[kind];
  return tries < FIRST_TRIES ||
         unif_rand() < (m->data.k == 2 ? RATE_OF_TWO : RATE);
}

void gmm_move(gmm_model *m, const scan_control *control) {
  m->moves.labels = 0;
  if (m->data.k < 2)
    return;
  const int kind = draw_kind(m);
  draw_labels(m, kind == MOVE_EXCHANGE ? 3 : 2);
  for (size_t e = 0; e < m->moves.labels; e++)
    group_of(m, m->moves.label[e], &m->moves.before[e]);
  const move_plan plan = plan_move(m, kind);
  const int accepted = plan.possible && try_move(m, control, &plan);
  m->state.moves[kind] += 1.0;
  m->state.moves[MOVE_KINDS + kind] += accepted;
  if (!accepted)
    m->moves.labels = 0;
}

/* ---- opening ------------------------------------------------------------------------ */

status gmm_moves_open(gmm_model *m) {
  const size_t d = m->data.d;
  gmm_moves *moves = &m->moves;
  double *lower = moves->matrix[0];
  moves->labels = 0;
  moves->empty_rate = EMPTY_RATE;
  for (size_t j = 0; j < d; j++)
    moves->zero[j] = 0.0;
  for (size_t e = 0; e < d * d; e++) {
    lower[e] = m->data.q0[e];
    moves->matrix[1][e] = m->data.s0[e];
  }
  status outcome =
    log_normaliser(m, m->data.nu0, moves->matrix[1], &moves->log_prior);
  if (outcome == STATUS_OK)
    outcome = linalg_cholesky(lower, d);
  if (outcome == STATUS_OK)
    linalg_inverse_from_cholesky(lower, d, moves->v0);
  return outcome;
}
