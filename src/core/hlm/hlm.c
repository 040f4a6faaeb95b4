#include "numeric/rounding.h"

#include "hlm/hlm.h"

#include <math.h>
#include <string.h>

#include "numeric/arena.h"
#include "numeric/dense.h"
#include "numeric/linalg.h"
#include "numeric/normals.h"
#include "numeric/rdist.h"
#include "run/parts.h"
#include "run/slice.h"

#define LOG_2PI 1.837877066409345483560659472811

/* ---- work space ------------------------------------------------------------ */

/* least groups in a part of a sum (parts.h) */
#define GROUPS 64

static size_t rows_of(const hlm_data *data) {
  return (size_t)data->start[data->groups];
}

static size_t shear_count(const hlm_data *data) {
  return data->diagonal ? 0 : data->q * (data->q - 1);
}

static void carve(hlm_model *m, arena *work) {
  const hlm_data *data = &m->data;
  const double p = (double)data->p, q = (double)data->q;
  const double rows = (double)rows_of(data), groups = (double)data->groups;
  const double parts = (double)parts_count(data->groups, GROUPS);
  m->all_normals =
    data->p + data->q * data->groups + rows_of(data) + shear_count(data);
  m->normals = arena_doubles(work, (double)m->all_normals);
  m->residual = arena_doubles(work, rows);
  m->pool_residual = arena_doubles(work, (double)data->pool);
  m->loaded = arena_doubles(work, q * rows);
  m->root = arena_doubles(work, q * q * groups);
  m->white_x = arena_doubles(work, p * rows);
  m->white_y = arena_doubles(work, rows);
  m->part_gram = arena_doubles(work, p * p * parts);
  m->part_right = arena_doubles(work, p * parts);
  m->part_sum = arena_doubles(work, parts);
  m->gram = arena_doubles(work, p * p);
  m->panel = arena_doubles(work, (double)dense_cholesky_work(data->p));
  m->right = arena_doubles(work, p);
  m->inverse = arena_doubles(work, q * q);
  m->sums = arena_doubles(work, q * q);
  m->scatter = arena_doubles(work, q * q);
  m->work = arena_doubles(work, q * q);
  m->b = arena_doubles(work, p);
  m->length = arena_doubles(work, q);
}

size_t hlm_work_size(const hlm_data *data) {
  hlm_model model = {.data = *data};
  arena counting = arena_measure();
  carve(&model, &counting);
  return arena_size(&counting);
}

void hlm_open(hlm_model *model, const hlm_data *data, const hlm_state *state,
              void *work) {
  model->data = *data;
  model->state = *state;
  model->pool_right = NULL;
  arena over = arena_over(work);
  carve(model, &over);
}

/* Multiplications of a sweep for its rows, roughly. */
static double sweep_work(const hlm_data *data) {
  const double p = (double)data->p, q = (double)data->q;
  return (double)rows_of(data) * (0.5 * p * p + q * p + 2.0 * q * q + 20.0);
}

/* ---- groups with u integrated out ---------------------------------------- */

/* The reduced rows of group j. */
typedef struct {
  size_t first, count;
} rows;

static rows rows_at(const hlm_data *data, size_t j) {
  const size_t first = (size_t)data->start[j];
  return (rows){first, (size_t)data->start[j + 1] - first};
}

/* loaded_i = L'z_i, and C_j of H_j = I + beta Z L L'Z'. */
static status factor_group(hlm_model *m, const double *l, double beta,
                           size_t j) {
  const size_t q = m->data.q;
  const rows r = rows_at(&m->data, j);
  double *root = m->root + q * q * j;
  for (size_t i = 0; i < r.count; i++) {
    const double *z = m->data.z + q * (r.first + i);
    double *loaded = m->loaded + q * (r.first + i);
    for (size_t k = 0; k < q; k++)
      loaded[k] = linalg_inner(l + k + q * k, z + k, q - k);
    for (size_t other = 0; other <= i; other++)
      root[i + r.count * other] =
        beta * linalg_inner(loaded, m->loaded + q * (r.first + other), q);
    root[i + r.count * i] += 1.0;
  }
  return linalg_cholesky(root, r.count);
}

/* to <- C^-1 to;  to: width x count, one right-hand side a row of `to`. */
static void whiten(const double *root, size_t count, double *to, size_t width) {
  for (size_t i = 0; i < count; i++) {
    double *row = to + width * i;
    for (size_t other = 0; other < i; other++) {
      const double *before = to + width * other;
      const double c = root[i + count * other];
      for (size_t k = 0; k < width; k++)
        row[k] -= c * before[k];
    }
    const double pivot = root[i + count * i];
    for (size_t k = 0; k < width; k++)
      row[k] /= pivot;
  }
}

/* gram (lower triangle) += x x', right += x y */
static void add_row(const double *x, double y, size_t p, double *gram,
                    double *right) {
  for (size_t k = 0; k < p; k++) {
    for (size_t i = k; i < p; i++)
      gram[i + p * k] += x[i] * x[k];
    right[k] += x[k] * y;
  }
}

/* Sums of the groups of a part into its places. */
static status weigh_part(hlm_model *m, double beta, size_t part) {
  const hlm_data *data = &m->data;
  const size_t p = data->p, q = data->q;
  const parts_range own = parts_of(data->groups, GROUPS, (int)part);
  double *gram = m->part_gram + p * p * part, *right = m->part_right + p * part;
  memset(gram, 0, p * p * sizeof *gram);
  memset(right, 0, p * sizeof *right);
  m->part_sum[part] = 0.0;
  for (size_t j = own.first; j < own.first + own.count; j++) {
    const rows r = rows_at(data, j);
    const status outcome = factor_group(m, m->state.factor, beta, j);
    if (outcome != STATUS_OK)
      return outcome;
    const double *root = m->root + q * q * j;
    double *x = m->white_x + p * r.first, *y = m->white_y + r.first;
    memcpy(x, data->x + p * r.first, p * r.count * sizeof *x);
    memcpy(y, data->y + r.first, r.count * sizeof *y);
    whiten(root, r.count, x, p);
    whiten(root, r.count, y, 1);
    for (size_t i = 0; i < r.count; i++)
      add_row(x + p * i, y[i], p, gram, right);
    m->part_sum[part] += linalg_log_determinant(root, r.count);
  }
  return STATUS_OK;
}

/* b | Sigma, beta, y ~ N(G^-1 g, G^-1),
 * G = T + beta (X_0'X_0 + sum_j X_j'H_j^-1 X_j),
 * g = T m + beta (X_0'y_0 + sum_j X_j'H_j^-1 y_j),  T = diag(t), 0 the pool.
 * G (lower triangle) into m->gram, g into m->right. */
static status weigh(hlm_model *m, double beta, int threads) {
  const hlm_data *data = &m->data;
  const size_t p = data->p;
  const int parts = (int)parts_count(data->groups, GROUPS);
  const int team = parts_team(sweep_work(data), threads);
  int failed = 0;
  (void)team;
#ifdef _OPENMP
#pragma omp parallel for num_threads(team) schedule(dynamic, 1) \
  reduction(|                                                   \
            : failed) if (team > 1)
#endif
  for (int part = 0; part < parts; part++)
    failed |= weigh_part(m, beta, (size_t)part) != STATUS_OK;
  memset(m->gram, 0, p * p * sizeof *m->gram);
  memset(m->right, 0, p * sizeof *m->right);
  for (size_t i = 0; i < data->pool; i++)
    add_row(data->pool_x + p * i, data->pool_y[i], p, m->gram, m->right);
  for (size_t k = 0; m->pool_right != NULL && k < p; k++)
    m->right[k] += m->pool_right[k];
  m->log_det = 0.0;
  for (size_t part = 0; part < (size_t)parts; part++) {
    for (size_t k = 0; k < p * p; k++)
      m->gram[k] += m->part_gram[p * p * part + k];
    for (size_t k = 0; k < p; k++)
      m->right[k] += m->part_right[p * part + k];
    m->log_det += m->part_sum[part];
  }
  for (size_t k = 0; k < p * p; k++)
    m->gram[k] *= beta;
  for (size_t k = 0; k < p; k++) {
    m->gram[k + p * k] += data->precision[k];
    m->right[k] = beta * m->right[k] + data->precision[k] * data->mean[k];
  }
  return failed ? STATUS_NOT_POSITIVE_DEFINITE : STATUS_OK;
}

/* sum_i (y_i - x_i'b)^2 */
static double squares_about(const double *x, const double *y, size_t rows,
                            const double *b, size_t p) {
  double sum = 0.0;
  for (size_t i = 0; i < rows; i++) {
    const double gap = y[i] - linalg_inner(x + p * i, b, p);
    sum += gap * gap;
  }
  return sum;
}

/* log p(log beta | Sigma, y), constants left out:  with the mean b of b,
 *   (shape + n/2) log beta - rate beta - (sum log |H_j| + log |G|)/2
 *   - (beta (rss + |y_0 - X_0 b|^2 + sum_j |C_j^-1 (y_j - X_j b)|^2)
 *      + sum_k t_k (b_k - m_k)^2)/2. */
typedef struct {
  hlm_model *model;
  int threads;
  int failed;
} noise_target;

static double log_of_noise(const void *target, double log_beta) {
  const noise_target *t = target;
  hlm_model *m = t->model;
  const hlm_data *data = &m->data;
  const size_t p = data->p;
  const double beta = exp(log_beta);
  if (!(beta > 0.0 && isfinite(beta)) ||
      weigh(m, beta, t->threads) != STATUS_OK ||
      dense_cholesky(m->gram, p, m->panel) != STATUS_OK)
    return -INFINITY;
  double *b = m->right;
  dense_solve_lower(m->gram, p, b);
  dense_solve_lower_transposed(m->gram, p, b);
  const double squares =
    data->rss + squares_about(data->pool_x, data->pool_y, data->pool, b, p) +
    squares_about(m->white_x, m->white_y, rows_of(data), b, p);
  double away = 0.0;
  for (size_t k = 0; k < p; k++)
    away +=
      data->precision[k] * (b[k] - data->mean[k]) * (b[k] - data->mean[k]);
  return (data->shape + 0.5 * data->n) * log_beta - data->rate * beta -
         0.5 * (m->log_det + linalg_log_determinant(m->gram, p) +
                beta * squares + away);
}

static void draw_noise_alone(hlm_model *m, int threads) {
  const noise_target target = {.model = m, .threads = threads};
  *m->state.beta = exp(slice_step(log_of_noise, &target, log(*m->state.beta)));
}

/* ---- b and u --------------------------------------------------------------- */

/* The fixed effects in the units of the data. */
static void own_units(hlm_model *m) {
  const hlm_data *data = &m->data;
  double *own = m->state.b, moved = 0.0;
  for (size_t k = 0; k < data->p; k++) {
    own[k] = m->b[k] / data->unit[k];
    if (k != data->intercept_at)
      moved += data->column_mean[k] * own[k];
  }
  if (data->intercept_at < data->p)
    own[data->intercept_at] += data->centre - moved;
}

static status draw_fixed(hlm_model *m, int threads) {
  const hlm_data *data = &m->data;
  const size_t p = data->p;
  status outcome = weigh(m, *m->state.beta, threads);
  if (outcome == STATUS_OK)
    outcome = dense_cholesky(m->gram, p, m->panel);
  if (outcome != STATUS_OK)
    return outcome;
  dense_solve_lower(m->gram, p, m->right);
  for (size_t k = 0; k < p; k++)
    m->b[k] = m->right[k] + m->normals[k];
  dense_solve_lower_transposed(m->gram, p, m->b);
  own_units(m);
  for (size_t i = 0; i < data->pool; i++)
    m->pool_residual[i] =
      data->pool_y[i] - linalg_inner(data->pool_x + p * i, m->b, p);
  return STATUS_OK;
}

/* u_j = L e, e | b, Sigma, beta, y:  with f ~ N(0, I), g ~ N(0, I) and
 * s = H^-1 (y - X b - Z L f - g / sqrt(beta)),
 *   e = f + beta L'Z's,   and the residuals are y - X b - Z u = s + g / sqrt(beta),
 * in which nothing cancels. */
static void draw_group(hlm_model *m, size_t j) {
  const hlm_data *data = &m->data;
  const size_t p = data->p, q = data->q;
  const rows r = rows_at(data, j);
  const double *l = m->state.factor, *root = m->root + q * q * j;
  const double *f = m->normals + p + q * j + r.first, *g = f + q;
  const double beta = *m->state.beta, sd = 1.0 / sqrt(beta);
  double *s = m->residual + r.first, *u = m->state.u + q * j;
  for (size_t i = 0; i < r.count; i++) {
    const size_t at = r.first + i;
    s[i] = data->y[at] - linalg_inner(data->x + p * at, m->b, p) -
           linalg_inner(m->loaded + q * at, f, q) - sd * g[i];
  }
  linalg_solve_lower(root, r.count, s);
  linalg_solve_lower_transposed(root, r.count, s);
  for (size_t k = 0; k < q; k++)
    u[k] = f[k];
  for (size_t i = 0; i < r.count; i++) {
    const double *loaded = m->loaded + q * (r.first + i);
    for (size_t k = 0; k < q; k++)
      u[k] += beta * s[i] * loaded[k];
    s[i] += sd * g[i];
  }
  linalg_lower_times_vector(l, q, u, u);
}

static void draw_groups(hlm_model *m, int threads) {
  const int groups = (int)m->data.groups;
  const int team = parts_team(sweep_work(&m->data), threads);
  (void)team;
#ifdef _OPENMP
#pragma omp parallel for num_threads(team) schedule(static) if (team > 1)
#endif
  for (int j = 0; j < groups; j++)
    draw_group(m, (size_t)j);
}

/* ---- moves of u and Sigma -------------------------------------------------- */

/* With t_i = z_ik u_jl: sum t_i^2 and sum t_i residual_i. */
typedef struct {
  double square, product;
} along;

static along measure_along(const hlm_model *m, size_t k, size_t l) {
  const size_t q = m->data.q;
  along sum = {0.0, 0.0};
  for (size_t j = 0; j < m->data.groups; j++) {
    const rows r = rows_at(&m->data, j);
    const double u = m->state.u[l + q * j];
    for (size_t i = r.first; i < r.first + r.count; i++) {
      const double t = m->data.z[k + q * i] * u;
      sum.square += t * t;
      sum.product += t * m->residual[i];
    }
  }
  return sum;
}

/* u_k <- u_k + c u_l in every group. */
static void move_along(hlm_model *m, size_t k, size_t l, double c) {
  const size_t q = m->data.q;
  for (size_t j = 0; j < m->data.groups; j++) {
    const rows r = rows_at(&m->data, j);
    const double step = c * m->state.u[l + q * j];
    m->state.u[k + q * j] += step;
    for (size_t i = r.first; i < r.first + r.count; i++)
      m->residual[i] -= m->data.z[k + q * i] * step;
  }
}

double hlm_log_scale(const hlm_model *m, size_t k, double x) {
  const hlm_data *data = &m->data;
  const size_t q = data->q;
  const double order = data->diagonal ? 1.0 : (double)q, df = data->df;
  const double inverse = exp(-x);
  const double diagonal = m->inverse[k + q * k] * inverse * inverse;
  if (data->half_t)
    return (1.0 - order - df) * x -
           0.5 * (df + order) *
             log(df * diagonal + 1.0 / (data->scale[k] * data->scale[k]));
  double trace = data->scale[k + q * k] * diagonal;
  for (size_t i = 0; i < q; i++)
    if (i != k && !data->diagonal)
      trace += 2.0 * inverse * data->scale[i + q * k] * m->inverse[i + q * k];
  return -df * x - 0.5 * trace;
}

static void scale_inverse(hlm_model *m, size_t k, double x) {
  const size_t q = m->data.q;
  const double inverse = exp(-x);
  for (size_t i = 0; i < q; i++) {
    m->inverse[i + q * k] *= inverse;
    m->inverse[k + q * i] *= inverse;
  }
}

typedef struct {
  const hlm_model *model;
  size_t k;
  along sums;
} scale_target;

static double log_of_scale(const void *target, double x) {
  const scale_target *t = target;
  const double step = expm1(x);
  const double fit = *t->model->state.beta * step *
                     (t->sums.product - 0.5 * step * t->sums.square);
  return fit + hlm_log_scale(t->model, t->k, x);
}

void hlm_scale_groups(hlm_model *m, size_t k, double x) {
  const size_t q = m->data.q;
  const double scale = exp(x);
  for (size_t j = 0; j < m->data.groups; j++)
    m->state.u[k + q * j] *= scale;
  for (size_t c = 0; c <= k; c++)
    m->state.factor[k + q * c] *= scale;
  scale_inverse(m, k, x);
}

/* u_k <- s u_k, Sigma <- D Sigma D. */
static void scale_coordinate(hlm_model *m, size_t k) {
  const scale_target target = {m, k, measure_along(m, k, k)};
  const double x = slice_step(log_of_scale, &target, 0.0);
  move_along(m, k, k, expm1(x));
  scale_inverse(m, k, x);
}

/* S of Sigma's prior: wishart: its own;
 * half-t: 2 df / a_k, 1 / a_k | Sigma ~ Gamma((df + q)/2, df Sigma^-1_kk + 1/A_k^2)
 * (rate; the order is 1 for each variance of a diagonal Sigma). */
void hlm_draw_sums(hlm_model *m) {
  const hlm_data *data = &m->data;
  const size_t q = data->q;
  const double order = data->diagonal ? 1.0 : (double)q, df = data->df;
  if (!data->half_t) {
    memcpy(m->sums, data->scale, q * q * sizeof *m->sums);
    return;
  }
  memset(m->sums, 0, q * q * sizeof *m->sums);
  for (size_t k = 0; k < q; k++) {
    const double rate =
      df * m->inverse[k + q * k] + 1.0 / (data->scale[k] * data->scale[k]);
    const double log_gamma = rdist_log_gamma(0.5 * (df + order));
    m->sums[k + q * k] = 2.0 * df * exp(log_gamma - log(rate));
  }
}

void hlm_shear_inverse(hlm_model *m, size_t k, size_t l, double c) {
  const size_t q = m->data.q;
  double *inverse = m->inverse;
  for (size_t i = 0; i < q; i++)
    inverse[i + q * l] -= c * inverse[i + q * k];
  for (size_t i = 0; i < q; i++)
    inverse[l + q * i] -= c * inverse[k + q * i];
}

/* u_k <- u_k + c u_l, Sigma <- G Sigma G':  with Q = Sigma^-1 and the sums t of
 * measure_along(), c ~ N(((Q S)_kl + beta sum t residual) / h, 1 / h),
 * h = Q_kk S_ll + beta sum t^2. */
static void shear(hlm_model *m, size_t k, size_t l, double normal) {
  const size_t q = m->data.q;
  const double beta = *m->state.beta, *inverse = m->inverse;
  const along sums = measure_along(m, k, l);
  const double h = inverse[k + q * k] * m->sums[l + q * l] + beta * sums.square;
  const double right =
    linalg_inner(inverse + q * k, m->sums + q * l, q) + beta * sums.product;
  const double c = right / h + normal / sqrt(h);
  move_along(m, k, l, c);
  hlm_shear_inverse(m, k, l, c);
}

static void shear_all(hlm_model *m) {
  const size_t q = m->data.q;
  const double *normal = m->normals + m->all_normals - shear_count(&m->data);
  if (m->data.diagonal)
    return;
  for (size_t k = 0; k < q; k++)
    for (size_t l = 0; l < q; l++)
      if (k != l)
        shear(m, k, l, *normal++);
}

/* Sigma | u, a ~ IW(df + J, S + sum_j u_j u_j'), half-t: df + q - 1 + J. */
status hlm_draw_covariance(hlm_model *m) {
  const hlm_data *data = &m->data;
  const size_t q = data->q;
  double *scatter = m->scatter, *l = m->state.factor;
  memcpy(scatter, m->sums, q * q * sizeof *scatter);
  for (size_t j = 0; j < data->groups; j++) {
    const double *u = m->state.u + q * j;
    for (size_t k = 0; k < q; k++)
      for (size_t i = k; i < q; i++)
        scatter[i + q * k] += u[i] * u[k];
  }
  const double df = data->df + (double)data->groups;
  if (data->diagonal) {
    for (size_t k = 0; k < q; k++) {
      const double root = sqrt(scatter[k + q * k]);
      rdist_inverse_wishart_factor(df, &root, 1, l + k + q * k, m->work);
    }
    return STATUS_OK;
  }
  const status outcome = linalg_cholesky(scatter, q);
  if (outcome == STATUS_OK)
    rdist_inverse_wishart_factor(data->half_t ? df + (double)(q - 1) : df,
                                 scatter, q, l, m->work);
  return outcome;
}

static double residual_squares(const hlm_model *m) {
  const size_t n = rows_of(&m->data), pool = m->data.pool;
  return m->data.rss + linalg_inner(m->pool_residual, m->pool_residual, pool) +
         linalg_inner(m->residual, m->residual, n);
}

/* beta | b, u, y ~ Gamma(shape + n/2, rate + RSS/2) */
static void draw_noise(hlm_model *m) {
  const double shape = m->data.shape + 0.5 * m->data.n;
  const double rate = m->data.rate + 0.5 * residual_squares(m);
  *m->state.beta = exp(rdist_log_gamma(shape) - log(rate));
}

status hlm_draw_effects(hlm_model *m, int threads) {
  const hlm_data *data = &m->data;
  const status outcome = draw_fixed(m, threads);
  if (outcome != STATUS_OK)
    return outcome;
  draw_groups(m, threads);
  linalg_inverse_from_cholesky(m->state.factor, data->q, m->inverse);
  for (size_t k = 0; k < data->q; k++)
    scale_coordinate(m, k);
  hlm_draw_sums(m);
  shear_all(m);
  return hlm_draw_covariance(m);
}

status hlm_sweep(void *model, const scan_control *control) {
  hlm_model *m = model;
  const hlm_data *data = &m->data;
  normals_draw(&control->generator, m->normals, m->all_normals);
  if (data->collapsed)
    draw_noise_alone(m, control->threads);
  const status outcome = hlm_draw_effects(m, control->threads);
  if (!data->known && outcome == STATUS_OK)
    draw_noise(m);
  const int sound = *m->state.beta > 0.0 && isfinite(*m->state.beta) &&
                    isfinite(residual_squares(m));
  return outcome == STATUS_OK && !sound ? STATUS_NOT_FINITE : outcome;
}

/* ---- the stored quantities ------------------------------------------------- */

static size_t correlation_count(const hlm_data *data) {
  return data->diagonal ? 0 : data->q * (data->q - 1) / 2;
}

size_t hlm_columns(const hlm_data *data) {
  return data->p + data->q + correlation_count(data) + (data->known ? 0 : 1) +
         1 + (data->keep ? data->q * data->groups : 0);
}

double *hlm_record_covariance(hlm_model *m, double *next, size_t stride) {
  const size_t q = m->data.q;
  const double *l = m->state.factor;
  double *length = m->length;
  for (size_t k = 0; k < q; k++) {
    double square = 0.0;
    for (size_t c = 0; c <= k; c++)
      square += l[k + q * c] * l[k + q * c];
    length[k] = sqrt(square);
    *next = length[k];
    next += stride;
  }
  for (size_t k = 0; k < q && !m->data.diagonal; k++)
    for (size_t i = k + 1; i < q; i++) {
      double inner = 0.0;
      for (size_t c = 0; c <= k; c++)
        inner += l[i + q * c] * l[k + q * c];
      *next = inner / length[i] / length[k];
      next += stride;
    }
  return next;
}

double *hlm_record_deviations(const hlm_model *m, double *next, size_t stride) {
  const hlm_data *data = &m->data;
  for (size_t j = 0; data->keep && j < data->groups; j++)
    for (size_t k = 0; k < data->q; k++) {
      const int at = data->fixed_at[k];
      *(next += stride) =
        m->state.u[k + data->q * j] + (at < 0 ? 0.0 : m->state.b[at]);
    }
  return next;
}

void hlm_record(void *model, double *row, size_t stride) {
  hlm_model *m = model;
  const hlm_data *data = &m->data;
  const double beta = *m->state.beta;
  double *next = row;
  for (size_t k = 0; k < data->p; k++, next += stride)
    *next = m->state.b[k];
  next = hlm_record_covariance(m, next, stride);
  if (!data->known) {
    *next = 1.0 / sqrt(beta);
    next += stride;
  }
  *next = 0.5 * (data->n * (log(beta) - LOG_2PI) + data->log_weights -
                 beta * residual_squares(m));
  hlm_record_deviations(m, next, stride);
}

/* ---- groups given draws ------------------------------------------------------ */

/* mean = L e, e = beta L'Z'H^-1 (y - X b);  root = L R^-T,
 * R R' = I + beta L'Z'Z L. */
static status condition_group(hlm_model *m, const double *b, const double *l,
                              double beta, size_t j, double *mean,
                              double *root) {
  const hlm_data *data = &m->data;
  const size_t p = data->p, q = data->q;
  const rows r = rows_at(data, j);
  double *s = m->residual + r.first, *inner = m->work;
  status outcome = factor_group(m, l, beta, j);
  if (outcome != STATUS_OK)
    return outcome;
  for (size_t i = 0; i < r.count; i++)
    s[i] =
      data->y[r.first + i] - linalg_inner(data->x + p * (r.first + i), b, p);
  linalg_solve_lower(m->root + q * q * j, r.count, s);
  linalg_solve_lower_transposed(m->root + q * q * j, r.count, s);
  memset(mean, 0, q * sizeof *mean);
  memset(inner, 0, q * q * sizeof *inner);
  for (size_t k = 0; k < q; k++)
    inner[k + q * k] = 1.0;
  for (size_t i = 0; i < r.count; i++) {
    const double *loaded = m->loaded + q * (r.first + i);
    for (size_t k = 0; k < q; k++) {
      mean[k] += beta * s[i] * loaded[k];
      for (size_t c = 0; c < q; c++)
        inner[k + q * c] += beta * loaded[k] * loaded[c];
    }
  }
  linalg_lower_times_vector(l, q, mean, mean);
  outcome = linalg_cholesky(inner, q);
  /* row i of root is R^-1 (row i of L) */
  for (size_t i = 0; outcome == STATUS_OK && i < q; i++) {
    double *row = m->scatter;
    for (size_t c = 0; c < q; c++)
      row[c] = c <= i ? l[i + q * c] : 0.0;
    linalg_solve_lower(inner, q, row);
    for (size_t c = 0; c < q; c++)
      root[i + q * c] = row[c];
  }
  return outcome;
}

status hlm_conditionals(hlm_model *m, size_t count, const double *b,
                        const double *factor, const double *beta, double *mean,
                        double *root) {
  const size_t q = m->data.q, groups = m->data.groups;
  for (size_t draw = 0; draw < count; draw++)
    for (size_t j = 0; j < groups; j++) {
      const size_t at = j + groups * draw;
      const status outcome =
        condition_group(m, b + m->data.p * draw, factor + q * q * draw,
                        beta[draw], j, mean + q * at, root + q * q * at);
      if (outcome != STATUS_OK)
        return outcome;
    }
  return STATUS_OK;
}

/* ---- the marginal likelihood given the variances ---------------------------- */

void hlm_log_marginal(hlm_model *m, size_t count, const double *factor,
                      const double *log_beta, double *value) {
  const size_t square = m->data.q * m->data.q;
  const noise_target target = {.model = m, .threads = 1};
  m->state.factor = m->scatter;
  for (size_t i = 0; i < count; i++) {
    memcpy(m->scatter, factor + square * i, square * sizeof *factor);
    value[i] = log_of_noise(&target, log_beta[i]);
  }
}
