#include "numeric/rounding.h"

#include "hlm/hlm_binomial.h"

#include <math.h>
#include <string.h>

#include "numeric/arena.h"
#include "numeric/linalg.h"
#include "numeric/polya_gamma.h"
#include "numeric/positive_normal.h"
#include "numeric/rmath.h"
#include "run/slice.h"

/* ---- work space ------------------------------------------------------------ */

static size_t row_count(const hlm_binomial_data *data) {
  return (size_t)data->first[data->groups.groups];
}

static size_t pool_count(const hlm_binomial_data *data) {
  return row_count(data) - (size_t)data->groups.start[data->groups.groups];
}

static size_t width_of(const hlm_binomial_data *data) {
  return data->groups.q + data->groups.p + 1;
}

static size_t largest_group(const hlm_binomial_data *data) {
  size_t most = 0;
  for (size_t j = 0; j < data->groups.groups; j++) {
    const size_t size = (size_t)(data->first[j + 1] - data->first[j]);
    most = size > most ? size : most;
  }
  return most;
}

/* Returns what is left for the model of hlm.h. */
static void *carve(hlm_binomial *m, arena *work) {
  const hlm_binomial_data *data = &m->data;
  const double q = (double)data->groups.q, p = (double)data->groups.p;
  const double kept = (double)data->groups.start[data->groups.groups];
  const double pool = (double)pool_count(data);
  const double width = (double)width_of(data);
  m->z = arena_doubles(work, q * kept);
  m->x = arena_doubles(work, p * kept);
  m->y = arena_doubles(work, kept);
  m->pool_x = arena_doubles(work, p * pool);
  m->pool_y = arena_doubles(work, pool);
  m->eta = arena_doubles(work, (double)row_count(data));
  m->along = arena_doubles(work, (double)row_count(data));
  m->rows = arena_doubles(work, width * (double)largest_group(data));
  m->sums = arena_doubles(work, width);
  hlm_data groups = data->groups;
  groups.pool = pool_count(data);
  return arena_take(work, (double)hlm_work_size(&groups), 1);
}

size_t hlm_binomial_work_size(const hlm_binomial_data *data) {
  hlm_binomial model = {.data = *data};
  arena counting = arena_measure();
  carve(&model, &counting);
  return arena_size(&counting);
}

void hlm_binomial_open(hlm_binomial *model, const hlm_binomial_data *data,
                       const hlm_state *state, void *work) {
  model->data = *data;
  arena over = arena_over(work);
  void *rest = carve(model, &over);
  hlm_data groups = data->groups;
  groups.z = model->z;
  groups.x = model->x;
  groups.y = model->y;
  groups.pool_x = model->pool_x;
  groups.pool_y = model->pool_y;
  groups.pool = pool_count(data);
  hlm_open(&model->groups, &groups, state, rest);
}

/* ---- the linear predictor ------------------------------------------------------ */

static void predict(hlm_binomial *m) {
  const hlm_binomial_data *data = &m->data;
  const size_t q = data->groups.q, p = data->groups.p;
  const hlm_state *state = &m->groups.state;
  for (size_t j = 0; j < data->groups.groups; j++)
    for (size_t i = (size_t)data->first[j]; i < (size_t)data->first[j + 1]; i++)
      m->eta[i] = (data->offset ? data->offset[i] : 0.0) +
                  linalg_inner(data->x + p * i, state->b, p) +
                  linalg_inner(data->z + q * i, state->u + q * j, q);
}

/* log P(s_i | eta), the binomial coefficient left out */
static double log_share(const hlm_binomial_data *data, size_t i, double eta) {
  const double s = data->success[i], f = data->total[i] - s;
  if (data->probit)
    return (s > 0.0 ? s * pnorm(eta, 0.0, 1.0, 1, 1) : 0.0) +
           (f > 0.0 ? f * pnorm(eta, 0.0, 1.0, 0, 1) : 0.0);
  return (eta > 0.0 ? -f * eta : s * eta) -
         data->total[i] * log1p(exp(-fabs(eta)));
}

/* ---- scales -------------------------------------------------------------------- */

typedef struct {
  const hlm_binomial *model;
  size_t k;
} scale_target;

/* along_i = z_ik u_jk is the part of eta_i that the scale multiplies. */
static double log_of_scale(const void *target, double x) {
  const scale_target *t = target;
  const hlm_binomial *m = t->model;
  const double step = expm1(x);
  double sum = hlm_log_scale(&m->groups, t->k, x);
  for (size_t i = 0; i < row_count(&m->data); i++)
    sum += log_share(&m->data, i, m->eta[i] + step * m->along[i]);
  return sum;
}

static void scale_coordinate(hlm_binomial *m, size_t k) {
  const hlm_binomial_data *data = &m->data;
  const hlm_state *state = &m->groups.state;
  const size_t q = data->groups.q, groups = data->groups.groups;
  for (size_t j = 0; j < groups; j++)
    for (size_t i = (size_t)data->first[j]; i < (size_t)data->first[j + 1]; i++)
      m->along[i] = data->z[k + q * i] * state->u[k + q * j];
  const scale_target target = {m, k};
  const double x = slice_step(log_of_scale, &target, 0.0);
  const double scale = exp(x), step = expm1(x);
  for (size_t i = 0; i < row_count(data); i++)
    m->eta[i] += step * m->along[i];
  for (size_t j = 0; j < groups; j++)
    state->u[k + q * j] *= scale;
  for (size_t c = 0; c <= k; c++)
    state->factor[k + q * c] *= scale;
  hlm_scale_inverse(&m->groups, k, x);
}

/* ---- latent responses ---------------------------------------------------------- */

/* sqrt(v_i), and sqrt(v_i) y_i */
typedef struct {
  double root, y;
} latent;

static latent draw_latent(const hlm_binomial *m, size_t i) {
  const hlm_binomial_data *data = &m->data;
  const double eta = m->eta[i], total = data->total[i];
  const double success = data->success[i];
  if (!data->probit) {
    const double root = sqrt(polya_gamma_draw((size_t)total, eta));
    return (latent){root, (success - 0.5 * total) / root};
  }
  double sum = 0.0;
  for (size_t l = 0; l < (size_t)total; l++)
    sum += l < (size_t)success ? positive_normal_draw(eta)
                               : -positive_normal_draw(-eta);
  return (latent){sqrt(total), sum / sqrt(total)};
}

/* ---- the reduced rows ------------------------------------------------------------ */

/* Reflects the rows from `k` on of `rows` (width x count), so that their element k is
 * 0 in all of them but the first. */
static void reflect(double *rows, size_t width, size_t count, size_t k,
                    double *sums) {
  double square = 0.0;
  for (size_t i = k; i < count; i++)
    square += rows[k + width * i] * rows[k + width * i];
  const double length = sqrt(square), pivot = rows[k + width * k];
  if (!(length > 0.0))
    return;
  const double corner = pivot > 0.0 ? -length : length;
  const double scale = 1.0 / (length * (length + fabs(pivot)));
  rows[k + width * k] = pivot - corner;
  memset(sums, 0, width * sizeof *sums);
  for (size_t i = k; i < count; i++) {
    const double *row = rows + width * i, v = row[k];
    for (size_t c = k + 1; c < width; c++)
      sums[c] += v * row[c];
  }
  for (size_t i = k; i < count; i++) {
    double *row = rows + width * i;
    const double v = scale * row[k];
    for (size_t c = k + 1; c < width; c++)
      row[c] -= v * sums[c];
    row[k] = 0.0;
  }
  rows[k + width * k] = corner;
}

/* Draws the latent responses of group j and reduces its rows.  `pool`: the rows that
 * are in the pool already; returns how many are after it. */
static size_t reduce_group(hlm_binomial *m, size_t j, size_t pool) {
  const hlm_binomial_data *data = &m->data;
  const size_t q = data->groups.q, p = data->groups.p, width = width_of(data);
  const size_t first = (size_t)data->first[j];
  const size_t count = (size_t)data->first[j + 1] - first;
  const size_t to = (size_t)data->groups.start[j];
  for (size_t i = 0; i < count; i++) {
    const latent y = draw_latent(m, first + i);
    double *row = m->rows + width * i;
    for (size_t k = 0; k < q; k++)
      row[k] = y.root * data->z[k + q * (first + i)];
    for (size_t k = 0; k < p; k++)
      row[q + k] = y.root * data->x[k + p * (first + i)];
    row[q + p] = y.y - (data->offset ? y.root * data->offset[first + i] : 0.0);
  }
  for (size_t k = 0; k < q && count > q; k++)
    reflect(m->rows, width, count, k, m->sums);
  for (size_t i = 0; i < count; i++) {
    const double *row = m->rows + width * i;
    const int kept = i < q;
    double *x = kept ? m->x + p * (to + i) : m->pool_x + p * pool;
    if (kept)
      memcpy(m->z + q * (to + i), row, q * sizeof *row);
    memcpy(x, row + q, p * sizeof *row);
    *(kept ? m->y + to + i : m->pool_y + pool) = row[q + p];
    pool += !kept;
  }
  return pool;
}

/* ---- the sweep --------------------------------------------------------------------- */

status hlm_binomial_sweep(void *model, const scan_control *control) {
  hlm_binomial *m = model;
  const hlm_data *groups = &m->data.groups;
  size_t pool = 0;
  predict(m);
  linalg_inverse_from_cholesky(m->groups.state.factor, groups->q,
                               m->groups.inverse);
  for (size_t k = 0; k < groups->q; k++)
    scale_coordinate(m, k);
  for (size_t j = 0; j < groups->groups; j++)
    pool = reduce_group(m, j, pool);
  return hlm_sweep(&m->groups, control);
}

void hlm_binomial_record(void *model, double *row, size_t stride) {
  hlm_binomial *m = model;
  const hlm_data *groups = &m->data.groups;
  const size_t kept = groups->keep ? groups->q * groups->groups : 0;
  hlm_record(&m->groups, row, stride);
  predict(m);
  double log_lik = m->data.constant;
  for (size_t i = 0; i < row_count(&m->data); i++)
    log_lik += log_share(&m->data, i, m->eta[i]);
  row[stride * (hlm_columns(groups) - 1 - kept)] = log_lik;
}
