#include "numeric/rounding.h"

#include "gmm/gmm_combine.h"

#include <math.h>

#include "gmm/gmm.h"
#include "numeric/linalg.h"
#include "numeric/rdist.h"
#include "numeric/rmath.h"

/* The parameters of the split, of which any choice leaves the posterior
 * invariant: the second parameter of the Beta distribution of |v|^2 (larger: the
 * two means are nearer), the scale of the two shapes of B's matrix beta (larger:
 * the two covariances are more alike), and the power of the overlap by which
 * pairs are drawn. */
#define V_BETA 4.0
#define B_SHAPE 30.0
#define OVERLAP_POWER 4.0

/* A chain's first tries come one a sweep, later ones in a sweep with the
 * probability RATE: the likelihood is computed twice for each. */
#define FIRST_TRIES 200
#define RATE 0.25

#define LEAST_SHARE 1e-8 /* of p and 1 - p */

/* ---- work space --------------------------------------------------------------- */

static gmm_part carve_part(double width, arena *a) {
  gmm_part part = {0};
  part.mean = arena_doubles(a, width);
  part.factor = arena_doubles(a, width * width);
  return part;
}

void gmm_combine_carve(gmm_combine_work *work, size_t d, size_t k, arena *a) {
  const double width = (double)d;
  for (int e = 0; e < 3; e++) {
    work->old[e] = carve_part(width, a);
    work->new[e] = carve_part(width, a);
  }
  work->nearness = arena_doubles(a, (double)k * (double)k);
  for (int e = 0; e < 4; e++)
    work->matrix[e] = arena_doubles(a, width * width);
  work->vector = arena_doubles(a, width);
}

/* ---- the transformation --------------------------------------------------------- */

/* How many variables a block has: those that a covariance matrix ties. */
static size_t block_width(const gmm_model *m) {
  return m->data.form == COVARIANCE_DIAGONAL ? 1 : m->data.d;
}

/* What the density of a split needs of one block: log determinants. */
typedef struct {
  double whole, within, first, second; /* Sigma, W, Sigma_a, Sigma_b */
} determinants;

/* log of q / J of one block, but for w in J and for constants. */
static double log_block(double d, double p, const determinants *det) {
  const double s = 0.5 * d + B_SHAPE * p, t = 0.5 * d + B_SHAPE * (1.0 - p);
  const double log_p = log(p), log_rest = log1p(-p);
  double value = (V_BETA - 1.0) * (det->within - det->whole);
  for (double j = 0.0; j < d; j += 1.0)
    value +=
      lgammafn(s + t - 0.5 * j) - lgammafn(s - 0.5 * j) - lgammafn(t - 0.5 * j);
  value += (s - 0.5 * (d + 1.0)) * (d * log_p + det->first - det->within) +
           (t - 0.5 * (d + 1.0)) * (d * log_rest + det->second - det->within);
  return value - 0.5 * det->whole - 0.5 * (d + 1.0) * det->within +
         0.5 * d * (d + 2.0) * (log_p + log_rest);
}

/* Sigma = L L' of the pair from W = M M' and delta: out <- L. */
static status add_gap(double *out, const double *within, const double *delta,
                      size_t d) {
  for (size_t j = 0; j < d; j++)
    for (size_t i = j; i < d; i++)
      out[i + d * j] = within[i + d * j] + delta[i] * delta[j];
  return linalg_cholesky(out, d);
}

/* One block of the combination of a and b: out <- L, the determinants. `from`:
 * its first variable. */
static status combine_block(gmm_combine_work *work, const gmm_part *a,
                            const gmm_part *b, double p, size_t d, size_t from,
                            double *out, determinants *det) {
  double *within = work->matrix[0], *other = work->matrix[1];
  double *delta = work->vector;
  const double *l_a = a->factor + from, *l_b = b->factor + from;
  linalg_outer_gram(l_a, d, within);
  linalg_outer_gram(l_b, d, other);
  for (size_t e = 0; e < d * d; e++)
    within[e] = p * within[e] + (1.0 - p) * other[e];
  for (size_t j = 0; j < d; j++)
    delta[j] = sqrt(p * (1.0 - p)) * (b->mean[from + j] - a->mean[from + j]);
  status outcome = add_gap(out, within, delta, d);
  if (outcome == STATUS_OK)
    outcome = linalg_cholesky(within, d);
  if (outcome != STATUS_OK)
    return outcome;
  det->whole = linalg_log_determinant(out, d);
  det->within = linalg_log_determinant(within, d);
  det->first = linalg_log_determinant(l_a, d);
  det->second = linalg_log_determinant(l_b, d);
  return STATUS_OK;
}

static int share_is_possible(double p) {
  return p >= LEAST_SHARE && p <= 1.0 - LEAST_SHARE;
}

static double log_sum(double a, double b) {
  return fmax(a, b) + log1p(exp(-fabs(a - b)));
}

/* out <- a and b combined.  *log_h: log of q / J of the split that it undoes;
 * *log_overlap: log(|W| / |Sigma|). */
static status combine(const gmm_model *m, gmm_combine_work *work,
                      const gmm_part *a, const gmm_part *b, gmm_part *out,
                      double *log_h, double *log_overlap) {
  const size_t d = m->data.d, width = block_width(m);
  out->log_weight = log_sum(a->log_weight, b->log_weight);
  const double p = exp(a->log_weight - out->log_weight);
  *log_overlap = 0.0;
  *log_h = -out->log_weight;
  if (!share_is_possible(p))
    return STATUS_NOT_FINITE;
  for (size_t from = 0; from < d; from += width) {
    determinants det;
    const status outcome =
      combine_block(work, a, b, p, width, from, out->factor + from, &det);
    if (outcome != STATUS_OK)
      return outcome;
    *log_overlap += det.within - det.whole;
    *log_h += log_block((double)width, p, &det);
  }
  for (size_t j = 0; j < d; j++)
    out->mean[j] = p * a->mean[j] + (1.0 - p) * b->mean[j];
  return STATUS_OK;
}

/* v in the unit ball: |v|^2 ~ Beta(d/2, V_BETA), a direction. */
static void draw_gap(size_t d, double *v) {
  double square = 0.0;
  for (size_t j = 0; j < d; j++) {
    v[j] = norm_rand();
    square += v[j] * v[j];
  }
  /* Beta(d/2, V_BETA) as a share of chi-squares, of which the first is that */
  const double root = sqrt(square + rchisq(2.0 * V_BETA));
  for (size_t j = 0; j < d; j++)
    v[j] /= root;
}

/* to <- scale^(1/2) L_1 L_2^-1 L_3, all lower triangular; to is another matrix
 * than these. */
static void lower_product(const double *l1, const double *l2, const double *l3,
                          double scale, size_t d, double *column, double *to) {
  for (size_t j = 0; j < d; j++) {
    for (size_t i = 0; i < d; i++)
      column[i] = i < j ? 0.0 : l3[i + d * j];
    linalg_solve_lower(l2, d, column);
    linalg_lower_times_vector(l1, d, column, column);
    for (size_t i = 0; i < d; i++)
      to[i + d * j] = i < j ? 0.0 : sqrt(scale) * column[i];
  }
}

/* One block of a split of c.  With A_1 = T_1 T_1' ~ W(2 s, I), A_2 = T_2 T_2' ~ W(2
 * t, I) and A_1 + A_2 = C C', B = C^-1 A_1 C^-T is matrix beta: the factors of the
 * parts are M C^-1 T_1 / p^(1/2) and M C^-1 T_2 / (1 - p)^(1/2). */
static status split_block(gmm_combine_work *work, const gmm_part *c, double p,
                          size_t d, size_t from, gmm_part *a, gmm_part *b,
                          determinants *det) {
  double *within = work->matrix[0], *sum = work->matrix[1];
  double *t_1 = work->matrix[2], *t_2 = work->matrix[3], *delta = work->vector;
  const double *l = c->factor + from;
  draw_gap(d, delta);
  linalg_lower_times_vector(l, d, delta, delta);
  linalg_outer_gram(l, d, within);
  for (size_t j = 0; j < d; j++)
    for (size_t i = 0; i < d; i++)
      within[i + d * j] -= delta[i] * delta[j];
  status outcome = linalg_cholesky(within, d);
  if (outcome != STATUS_OK)
    return outcome;
  rdist_bartlett((double)d + 2.0 * B_SHAPE * p, d, t_1);
  rdist_bartlett((double)d + 2.0 * B_SHAPE * (1.0 - p), d, t_2);
  linalg_outer_gram(t_1, d, sum);
  linalg_outer_gram(t_2, d, b->factor + from);
  for (size_t e = 0; e < d * d; e++)
    sum[e] += b->factor[from + e];
  outcome = linalg_cholesky(sum, d);
  if (outcome != STATUS_OK)
    return outcome;
  for (size_t j = 0; j < d; j++) {
    a->mean[from + j] = c->mean[from + j] - sqrt((1.0 - p) / p) * delta[j];
    b->mean[from + j] = c->mean[from + j] + sqrt(p / (1.0 - p)) * delta[j];
  }
  lower_product(within, sum, t_1, 1.0 / p, d, delta, a->factor + from);
  lower_product(within, sum, t_2, 1.0 / (1.0 - p), d, delta, b->factor + from);
  det->whole = linalg_log_determinant(l, d);
  det->within = linalg_log_determinant(within, d);
  det->first = linalg_log_determinant(a->factor + from, d);
  det->second = linalg_log_determinant(b->factor + from, d);
  return STATUS_OK;
}

/* a, b <- c split; log_h as above. */
static status split(const gmm_model *m, gmm_combine_work *work,
                    const gmm_part *c, gmm_part *a, gmm_part *b,
                    double *log_h) {
  const size_t d = m->data.d, width = block_width(m);
  const double p = unif_rand();
  *log_h = -c->log_weight;
  if (!share_is_possible(p))
    return STATUS_NOT_FINITE;
  a->log_weight = c->log_weight + log(p);
  b->log_weight = c->log_weight + log1p(-p);
  for (size_t from = 0; from < d; from += width) {
    determinants det;
    const status outcome = split_block(work, c, p, width, from, a, b, &det);
    if (outcome != STATUS_OK)
      return outcome;
    *log_h += log_block((double)width, p, &det);
  }
  return STATUS_OK;
}

/* ---- the prior --------------------------------------------------------------------- */

/* log p of the weight, mean and covariance of label c, but for constants. */
static double log_prior(const gmm_model *m, gmm_combine_work *work,
                        const gmm_part *part, size_t c) {
  const size_t d = m->data.d;
  const double *l = part->factor;
  double *inverse = work->matrix[0], *gap = work->vector, square = 0.0;
  double trace = 0.0;
  for (size_t j = 0; j < d; j++)
    gap[j] = part->mean[j] - m->data.m0[j];
  for (size_t j = 0; j < d; j++)
    square += gap[j] * linalg_inner(m->data.q0 + d * j, gap, d);
  double value = (m->data.alpha[c] - 1.0) * part->log_weight - 0.5 * square;
  if (m->data.form == COVARIANCE_DIAGONAL) {
    for (size_t j = 0; j < d; j++)
      value -= (m->data.nu0 + 2.0) * log(l[j]) +
               0.5 * m->data.s0[j + d * j] / (l[j] * l[j]);
    return value;
  }
  linalg_inverse_from_cholesky(l, d, inverse);
  for (size_t e = 0; e < d * d; e++)
    trace += inverse[e] * m->data.s0[e];
  return value - 0.5 * trace -
         0.5 * (m->data.nu0 + (double)d + 1.0) * linalg_log_determinant(l, d);
}

/* ---- pairs ------------------------------------------------------------------------- */

static void read_part(const gmm_model *m, size_t c, gmm_part *part) {
  const size_t d = m->data.d, size = gmm_factor_size(m->data.form, d, 1);
  const double *factor = gmm_factor(&m->components, c);
  part->log_weight = m->state.log_pi[c];
  for (size_t j = 0; j < d; j++)
    part->mean[j] = m->components.mean[c * d + j];
  for (size_t e = 0; e < size; e++)
    part->factor[e] = factor[e];
}

static void write_part(gmm_model *m, size_t c, const gmm_part *part) {
  const size_t d = m->data.d, size = gmm_factor_size(m->data.form, d, 1);
  double *factor = gmm_factor(&m->components, c);
  m->state.log_pi[c] = part->log_weight;
  for (size_t j = 0; j < d; j++)
    m->state.mu[c + m->room * j] = m->components.mean[c * d + j] =
      part->mean[j];
  for (size_t e = 0; e < size; e++)
    factor[e] = part->factor[e];
  gmm_set_constant(&m->components, c, part->log_weight);
}

/* nearness[a + k b], a < b; 0 where the pair cannot be combined. */
static void set_nearness(const gmm_model *m, gmm_combine_work *work, size_t a,
                         size_t b) {
  gmm_part one = work->new[0], two = work->new[1];
  double log_h, log_overlap;
  read_part(m, a, &one);
  read_part(m, b, &two);
  const status outcome =
    combine(m, work, &one, &two, &work->new[2], &log_h, &log_overlap);
  work->nearness[a + m->data.k * b] =
    outcome == STATUS_OK ? exp(OVERLAP_POWER * log_overlap) : 0.0;
}

static double sum_nearness(const gmm_model *m, const gmm_combine_work *work) {
  double sum = 0.0;
  for (size_t b = 1; b < m->data.k; b++)
    for (size_t a = 0; a < b; a++)
      sum += work->nearness[a + m->data.k * b];
  return sum;
}

static double nearness_of(const gmm_model *m, const gmm_combine_work *work,
                          size_t a, size_t b) {
  return work->nearness[a < b ? a + m->data.k * b : b + m->data.k * a];
}

/* label <- a and b, of which b is freed, and c; log P(pair a, b). */
static double draw_labels(const gmm_model *m, const gmm_combine_work *work,
                          size_t label[3]) {
  const double total = sum_nearness(m, work), u = unif_rand() * total;
  double partial = 0.0;
  size_t first = 0, second = 0;
  for (size_t b = 1; b < m->data.k; b++)
    for (size_t a = 0; a < b; a++) {
      const double value = nearness_of(m, work, a, b);
      if (value > 0.0 && (partial <= u || second == 0)) {
        first = a;
        second = b;
      }
      partial += value;
    }
  const int swapped = unif_rand() < 0.5;
  label[0] = swapped ? second : first;
  label[1] = swapped ? first : second;
  size_t c = rdist_below(m->data.k - 2);
  c += c >= first;
  c += c >= second;
  label[2] = c;
  return total > 0.0 ? log(nearness_of(m, work, first, second) / total)
                     : -INFINITY;
}

/* Nearness of all pairs with one of the labels. */
static void update_nearness(const gmm_model *m, gmm_combine_work *work,
                            const size_t label[3]) {
  for (size_t e = 0; e < 3; e++)
    for (size_t c = 0; c < m->data.k; c++)
      if (c < label[e])
        set_nearness(m, work, c, label[e]);
      else if (c > label[e])
        set_nearness(m, work, label[e], c);
}

/* ---- a try ------------------------------------------------------------------------- */

/* new <- the parts after the move; *log_ratio: but for the likelihood and the
 * choice of pairs. */
static status propose(const gmm_model *m, gmm_combine_work *work,
                      const size_t label[3], double *log_ratio) {
  gmm_part *old = work->old, *new = work->new;
  double undone, made, overlap;
  for (size_t e = 0; e < 3; e++)
    read_part(m, label[e], &old[e]);
  status outcome =
    combine(m, work, &old[0], &old[1], &new[0], &undone, &overlap);
  if (outcome == STATUS_OK)
    outcome = split(m, work, &old[2], &new[2], &new[1], &made);
  if (outcome != STATUS_OK)
    return outcome;
  *log_ratio = undone - made;
  for (size_t e = 0; e < 3; e++)
    *log_ratio += log_prior(m, work, &new[e], label[e]) -
                  log_prior(m, work, &old[e], label[e]);
  return STATUS_OK;
}

static void write_parts(gmm_model *m, const size_t label[3],
                        const gmm_part *parts) {
  for (size_t e = 0; e < 3; e++)
    write_part(m, label[e], &parts[e]);
}

int gmm_combine_due(const gmm_model *m) {
  return m->data.k > 2 && m->data.form != COVARIANCE_SHARED &&
         (m->state.moves[MOVE_COMBINE] < FIRST_TRIES || unif_rand() < RATE);
}

status gmm_combine(gmm_model *m, const scan_control *control) {
  gmm_combine_work *work = &m->combine;
  size_t label[3];
  double log_ratio, before, after;
  for (size_t b = 1; b < m->data.k; b++)
    for (size_t a = 0; a < b; a++)
      set_nearness(m, work, a, b);
  const double log_pair = draw_labels(m, work, label);
  m->state.moves[MOVE_COMBINE] += 1.0;
  if (!isfinite(log_pair) || propose(m, work, label, &log_ratio) != STATUS_OK)
    return STATUS_OK;
  status outcome = gmm_log_likelihood(m, control, &before);
  if (outcome != STATUS_OK)
    return outcome;
  write_parts(m, label, work->new);
  outcome = gmm_log_likelihood(m, control, &after);
  if (outcome != STATUS_OK) {
    /* covariances that cannot be factored are not taken */
    write_parts(m, label, work->old);
    return outcome == STATUS_INTERRUPTED ? outcome : STATUS_OK;
  }
  log_ratio += after - before - log_pair;
  /* the parts in `new` are needed no more */
  update_nearness(m, work, label);
  log_ratio +=
    log(nearness_of(m, work, label[2], label[1]) / sum_nearness(m, work));
  if (log(unif_rand()) < log_ratio) {
    m->state.moves[MOVE_KINDS + MOVE_COMBINE] += 1.0;
    return STATUS_OK;
  }
  write_parts(m, label, work->old);
  return STATUS_OK;
}
