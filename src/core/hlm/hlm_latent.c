#include "numeric/rounding.h"

#include "hlm/hlm_latent.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "numeric/arena.h"
#include "numeric/linalg.h"
#include "numeric/log_cdf.h"
#include "run/slice.h"

/* ---- work space ------------------------------------------------------------ */

static size_t larger(size_t a, size_t b) {
  return a > b ? a : b;
}

static size_t kept_count(const hlm_data *bar) {
  return (size_t)bar->start[bar->groups];
}

static size_t width_of(const hlm_latent_data *data, size_t f) {
  return data->bar[f].q + data->p + 1;
}

static size_t largest_group(const hlm_latent_data *data, size_t f) {
  const int *first = data->rows[f].first;
  size_t most = 0;
  for (size_t j = 0; j < data->bar[f].groups; j++)
    most = larger(most, (size_t)(first[j + 1] - first[j]));
  return most;
}

static void carve(hlm_latent *m, arena *work) {
  const hlm_latent_data *data = &m->data;
  const double p = (double)data->p, n = (double)data->n;
  size_t kept = 0, pool = 0, width = 0, q = 0, size = 0;
  for (size_t f = 0; f < data->bars; f++) {
    kept = larger(kept, kept_count(data->bar + f));
    pool = larger(pool, data->n - kept_count(data->bar + f));
    width = larger(width, width_of(data, f));
    q = larger(q, data->bar[f].q);
    size = larger(size, largest_group(data, f));
  }
  m->bar = arena_take(work, (double)data->bars, sizeof *m->bar);
  m->z = arena_doubles(work, (double)q * (double)kept);
  m->x = arena_doubles(work, p * (double)kept);
  m->y = arena_doubles(work, (double)kept);
  m->pool_x = arena_doubles(work, p * (double)pool);
  m->pool_y = arena_doubles(work, (double)pool);
  m->mean = arena_doubles(work, p);
  m->eta = arena_doubles(work, n);
  m->along = arena_doubles(work, n);
  m->trial = arena_doubles(work, n);
  m->latent = arena_take(work, n, sizeof *m->latent);
  m->rows = arena_doubles(work, (double)width * (double)size);
  m->sums = arena_doubles(work, (double)width);
  hlm_nested_carve(&m->nested, data->bar, data->bars, work);
  hlm_joint_open(&m->joint, &data->joint, work);
}

/* The data of bar f for hlm.h, with the places of its reduced rows. */
static hlm_data reduced_data(const hlm_latent *m, size_t f) {
  hlm_data bar = m->data.bar[f];
  bar.z = m->z;
  bar.x = m->x;
  bar.y = m->y;
  bar.pool_x = m->pool_x;
  bar.pool_y = m->pool_y;
  bar.pool = m->data.n - kept_count(&bar);
  bar.mean = m->mean;
  return bar;
}

static void *carve_bar(const hlm_latent *m, size_t f, arena *work) {
  const hlm_data bar = reduced_data(m, f);
  const size_t size = hlm_work_size(&bar);
  return arena_take(work, size > 0 ? (double)size : (double)PTRDIFF_MAX, 1);
}

size_t hlm_latent_work_size(const hlm_latent_data *data) {
  hlm_latent model = {.data = *data};
  arena counting = arena_measure();
  carve(&model, &counting);
  for (size_t f = 0; f < data->bars; f++)
    carve_bar(&model, f, &counting);
  return arena_size(&counting);
}

void hlm_latent_open(hlm_latent *m, const hlm_latent_data *data,
                     const hlm_state *state, void *work) {
  log_cdf_open();
  m->data = *data;
  arena over = arena_over(work);
  carve(m, &over);
  memcpy(m->mean, data->bar->mean, data->p * sizeof *m->mean);
  hlm_state own = *state;
  for (size_t f = 0; f < data->bars; f++) {
    const hlm_data bar = reduced_data(m, f);
    hlm_open(m->bar + f, &bar, &own, carve_bar(m, f, &over));
    own.factor += bar.q * bar.q;
    own.u += bar.q * bar.groups;
  }
}

/* ---- the linear predictor ------------------------------------------------------ */

/* to_i <- to_i + z_fi'u_f,j(i) */
static void add_bar(const hlm_latent *m, size_t f, double *to) {
  const hlm_rows *rows = m->data.rows + f;
  const size_t q = m->data.bar[f].q, groups = m->data.bar[f].groups;
  for (size_t j = 0; j < groups; j++) {
    const double *u = m->bar[f].state.u + q * j;
    for (int at = rows->first[j]; at < rows->first[j + 1]; at++) {
      const size_t i = (size_t)rows->row[at];
      to[i] += linalg_inner(rows->z + q * i, u, q);
    }
  }
}

static double offset_of(const hlm_latent *m, size_t i) {
  return m->data.offset ? m->data.offset[i] : 0.0;
}

void hlm_latent_predict(hlm_latent *m) {
  const hlm_latent_data *data = &m->data;
  const double *b = m->bar->state.b;
  for (size_t i = 0; i < data->n; i++)
    m->eta[i] =
      offset_of(m, i) + linalg_inner(data->x + data->p * i, b, data->p);
  for (size_t f = 0; f < data->bars; f++)
    add_bar(m, f, m->eta);
}

/* ---- scales -------------------------------------------------------------------- */

typedef struct {
  const hlm_latent *model;
  size_t f, k;
} scale_target;

/* along_i = z_ik u_jk is the part of eta_i that the scale multiplies. */
static double log_of_scale(const void *target, double x) {
  const scale_target *t = target;
  const hlm_latent *m = t->model;
  const hlm_latent_data *data = &m->data;
  const double step = expm1(x);
  for (size_t i = 0; i < data->n; i++)
    m->trial[i] = m->eta[i] + step * m->along[i];
  return hlm_log_scale(m->bar + t->f, t->k, x) +
         data->type->log_lik(data->response, m->trial, data->n);
}

static void scale_coordinate(hlm_latent *m, size_t f, size_t k) {
  const hlm_rows *rows = m->data.rows + f;
  const double *u = m->bar[f].state.u;
  const size_t q = m->data.bar[f].q, groups = m->data.bar[f].groups;
  for (size_t j = 0; j < groups; j++)
    for (int at = rows->first[j]; at < rows->first[j + 1]; at++) {
      const size_t i = (size_t)rows->row[at];
      m->along[i] = rows->z[k + q * i] * u[k + q * j];
    }
  const scale_target target = {m, f, k};
  const double x = slice_step(log_of_scale, &target, 0.0);
  const double step = expm1(x);
  for (size_t i = 0; i < m->data.n; i++)
    m->eta[i] += step * m->along[i];
  hlm_scale_groups(m->bar + f, k, x);
}

static void scale_bar(hlm_latent *m, size_t f) {
  hlm_model *bar = m->bar + f;
  linalg_inverse_from_cholesky(bar->state.factor, bar->data.q, bar->inverse);
  for (size_t k = 0; k < bar->data.q; k++)
    scale_coordinate(m, f, k);
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

/* The rows of group j of bar f into m->rows, times sqrt(v_i); returns their number.
 * others: the offset and the other bars' part of eta. */
static size_t weigh_group(hlm_latent *m, size_t f, size_t j,
                          const double *others) {
  const hlm_rows *rows = m->data.rows + f;
  const size_t q = m->data.bar[f].q, p = m->data.p, width = q + p + 1;
  const size_t first = (size_t)rows->first[j];
  const size_t count = (size_t)rows->first[j + 1] - first;
  for (size_t at = 0; at < count; at++) {
    const size_t i = (size_t)rows->row[first + at];
    const double root = m->latent[i].root;
    double *row = m->rows + width * at;
    for (size_t k = 0; k < q; k++)
      row[k] = root * rows->z[k + q * i];
    for (size_t k = 0; k < p; k++)
      row[q + k] = root * m->data.x[k + p * i];
    row[q + p] = m->latent[i].y - root * others[i];
  }
  return count;
}

/* The reduced rows of group j.  `pool`: the rows that are in the pool already;
 * returns how many are after it. */
static size_t reduce_group(hlm_latent *m, size_t f, size_t j,
                           const double *others, size_t pool) {
  const size_t q = m->data.bar[f].q, p = m->data.p, width = q + p + 1;
  const size_t count = weigh_group(m, f, j, others);
  const size_t to = (size_t)m->data.bar[f].start[j];
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

static void reduce_bar(hlm_latent *m, size_t f) {
  double *others = m->along;
  size_t pool = 0;
  for (size_t i = 0; i < m->data.n; i++)
    others[i] = offset_of(m, i);
  for (size_t g = 0; g < m->data.bars; g++)
    if (g != f)
      add_bar(m, g, others);
  for (size_t j = 0; j < m->data.bar[f].groups; j++)
    pool = reduce_group(m, f, j, others, pool);
}

/* ---- the sweep --------------------------------------------------------------------- */

static void settle(hlm_latent *m) {
  const hlm_latent_data *data = &m->data;
  if (data->type->settle == NULL)
    return;
  const size_t last = data->p - 1;
  double *b = m->bar->state.b;
  m->mean[last] = data->type->settle(data->response, b[last]);
  b[last] = 0.0;
}

/* Of the parameters, the scales and the latent responses: what has the likelihood. */
static status draw_latent(hlm_latent *m, const scan_control *control) {
  const hlm_latent_data *data = &m->data;
  const hlm_response *type = data->type;
  hlm_latent_predict(m);
  if (type->update != NULL) {
    const status outcome =
      type->update(data->response, m->eta, data->n, control);
    if (outcome != STATUS_OK)
      return outcome;
  }
  for (size_t f = 0; f < data->bars; f++)
    scale_bar(m, f);
  for (size_t i = 0; i < data->n; i++)
    m->latent[i] = type->draw(data->response, i, m->eta[i]);
  settle(m);
  return STATUS_OK;
}

static status draw_jointly(hlm_latent *m, const scan_control *control) {
  if (m->joint.data.deviations == 0)
    return STATUS_OK;
  for (size_t i = 0; i < m->data.n; i++) {
    m->joint.root[i] = m->latent[i].root;
    m->joint.y[i] = m->latent[i].y - m->latent[i].root * offset_of(m, i);
  }
  return hlm_joint_draw(&m->joint, m->bar->state.factor, m->mean,
                        m->bar->state.u, control);
}

status hlm_latent_sweep(void *model, const scan_control *control) {
  hlm_latent *m = model;
  const hlm_latent_data *data = &m->data;
  status outcome = draw_latent(m, control);
  if (outcome == STATUS_OK)
    outcome = draw_jointly(m, control);
  for (size_t f = 0; outcome == STATUS_OK && f < data->bars; f++) {
    reduce_bar(m, f);
    outcome = hlm_sweep(m->bar + f, control);
  }
  if (outcome == STATUS_OK)
    outcome = hlm_nested_moves(&m->nested, m->bar, data->nesting,
                               data->nestings, control);
  settle(m);
  return outcome;
}

/* ---- the stored quantities ----------------------------------------------------------- */

static size_t fixed_columns(const hlm_latent_data *data) {
  return data->p - (data->type->settle != NULL);
}

size_t hlm_latent_columns(const hlm_latent_data *data) {
  size_t columns = fixed_columns(data) + data->type->parameters + 1;
  for (size_t f = 0; f < data->bars; f++)
    columns += hlm_columns(data->bar + f) - data->p - 1;
  return columns;
}

void hlm_latent_record(void *model, double *row, size_t stride) {
  hlm_latent *m = model;
  const hlm_latent_data *data = &m->data;
  double *next = row;
  for (size_t k = 0; k < fixed_columns(data); k++, next += stride)
    *next = m->bar->state.b[k];
  for (size_t f = 0; f < data->bars; f++)
    next = hlm_record_covariance(m->bar + f, next, stride);
  if (data->type->parameters > 0)
    data->type->record(data->response, next, stride);
  next += stride * data->type->parameters;
  hlm_latent_predict(m);
  *next = data->constant + data->type->log_lik(data->response, m->eta, data->n);
  for (size_t f = 0; f < data->bars; f++)
    next = hlm_record_deviations(m->bar + f, next, stride);
}
