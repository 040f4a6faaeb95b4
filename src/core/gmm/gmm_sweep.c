#include "numeric/rounding.h"

#include "gmm/gmm_sweep.h"

#include <math.h>

#include "gmm/gmm_combine.h"
#include "gmm/gmm_moves.h"
#include "numeric/lanes.h"
#include "numeric/linalg.h"

/* ---- sizes and layout of the work space --------------------------------- */

/* At most 64 chunks of at least 512 observations, whole blocks of lanes: the
 * same for any number of threads, so that sums over chunks are too. */
static size_t chunk_length(size_t n) {
  size_t length = (n + 63) / 64;
  if (length < 512)
    length = 512;
  return (length + LANES - 1) / LANES * LANES;
}

static size_t sigma_columns(const gmm_data *data) {
  return gmm_factor_size(data->form, data->d, data->k);
}

size_t gmm_columns(const gmm_data *data) {
  return data->k * (1 + data->d) + sigma_columns(data) + 2 +
         (data->keep_z ? data->n : 0) +
         (data->keep_x ? data->missing.entries : 0);
}

static gmm_sums carve_sums(const gmm_data *data, arena *a) {
  const double k = (double)data->k, d = (double)data->d;
  gmm_sums sums = {0};
  sums.count = arena_doubles(a, k);
  sums.sum = arena_doubles(a, k * d);
  sums.cross = arena_doubles(a, k * d * d);
  return sums;
}

static gmm_chunk carve_chunk(const gmm_data *data, arena *a) {
  const double k = (double)data->k, d = (double)data->d;
  gmm_chunk chunk = {0};
  chunk.sums = carve_sums(data, a);
  chunk.sums.ones = arena_doubles(a, BIN);
  chunk.sums.bin = arena_doubles(a, BIN * k * d);
  chunk.sums.waiting = arena_take(a, k, sizeof(size_t));
  chunk.scratch = arena_doubles(a, 2.0 * LANES * d);
  chunk.weight = arena_doubles(a, LANES * k);
  return chunk;
}

static void carve_chunks(gmm_model *m, arena *a) {
  m->chunk = chunk_length(m->data.n);
  m->chunks = (m->data.n + m->chunk - 1) / m->chunk;
  m->areas = arena_take(a, (double)m->chunks, sizeof(gmm_chunk));
  for (size_t index = 0; index < m->chunks; index++) {
    const gmm_chunk chunk = carve_chunk(&m->data, a);
    if (m->areas)
      m->areas[index] = chunk;
  }
}

static void carve_scratch(gmm_model *m, arena *a) {
  const double k = (double)m->data.k, d = (double)m->data.d;
  for (int part = 0; part < 3; part++) {
    m->matrix[part] = arena_doubles(a, d * d);
    m->vector[part] = arena_doubles(a, d);
  }
  m->concentration = arena_doubles(a, k);
  m->order = arena_take(a, d, sizeof(size_t));
}

static void carve(gmm_model *m, arena *a) {
  const gmm_data *data = &m->data;
  const gmm_missing *missing = &data->missing;
  const double n = (double)data->n, d = (double)data->d, k = (double)data->k;
  gmm_components_carve(&m->components, data->form, data->d, data->k, a);
  carve_chunks(m, a);
  m->sums = carve_sums(data, a);
  m->uniforms = arena_doubles(a, n);
  m->normals = arena_doubles(a, (double)missing->entries);
  m->patterns = arena_doubles(a, (double)missing->patterns * k *
                                   (double)gmm_pattern_size(data));
  carve_scratch(m, a);
  if (data->merge_split) {
    gmm_moves_carve(&m->moves, data->form, data->n, data->d, a);
    gmm_combine_carve(&m->combine, data->d, data->k, a);
  }
  m->x = missing->entries ? arena_doubles(a, n * d) : NULL;
}

size_t gmm_work_size(const gmm_data *data) {
  gmm_model m = {.data = *data};
  arena count = arena_measure();
  carve(&m, &count);
  return arena_size(&count);
}

/* ---- a sweep ---------------------------------------------------------------- */

void gmm_move_groups(gmm_model *m, const scan_control *control) {
  gmm_move(m, control);
  for (size_t e = 0; e < m->moves.labels; e++)
    gmm_sum_afresh(m, m->moves.label[e]);
}

status gmm_sweep(void *model, const scan_control *control) {
  gmm_model *m = model;
  status outcome = STATUS_OK;
  m->recording = control->recording;
  if (!m->mode && m->data.merge_split && gmm_move_due(m))
    gmm_move_groups(m, control);
  gmm_draw_weights(m);
  for (size_t c = 0; c < m->data.k && outcome == STATUS_OK; c++)
    outcome = gmm_draw_mean(m, c);
  if (outcome == STATUS_OK)
    outcome = gmm_draw_covariances(m, 0, m->data.k);
  if (outcome == STATUS_OK)
    gmm_set_constants(m);
  if (outcome == STATUS_OK && !m->mode && m->data.merge_split &&
      gmm_combine_due(m))
    outcome = gmm_combine(m, control);
  if (outcome == STATUS_OK)
    outcome = gmm_draw_allocations(m, control);
  for (size_t e = 0; e < sigma_columns(&m->data); e++)
    m->state.factor[e] = m->components.factor[e];
  return outcome;
}

/* ---- opening and recording ---------------------------------------------------- */

/* Missing entries of x from the state. */
static void fill_missing(gmm_model *m) {
  const size_t n = m->data.n, d = m->data.d;
  for (size_t i = 0; i < n; i++) {
    const int p = m->data.missing.pattern[i];
    const double *value = m->state.x_missing + m->data.missing.offset[i];
    for (size_t j = 0; p > 0 && j < d; j++)
      if (m->data.missing.missing[((size_t)p - 1) * d + j])
        m->x[i + n * j] = *value++;
  }
}

status gmm_open(gmm_model *m, const gmm_data *data, const gmm_state *state,
                void *work, int threads) {
  const size_t d = data->d, k = data->k;
  arena space = arena_over(work);
  m->data = *data;
  m->state = *state;
  m->mode = m->recording = 0;
  m->room = k;
  carve(m, &space);
  /* gmm_sum_afresh() gathers its observations in the bins of the first chunk */
  m->sums.ones = m->areas[0].sums.ones;
  m->sums.bin = m->areas[0].sums.bin;
  m->sums.waiting = m->areas[0].sums.waiting;
  if (data->missing.entries) {
    for (size_t e = 0; e < data->n * d; e++)
      m->x[e] = data->x[e];
    fill_missing(m);
  } else {
    m->x = (double *)data->x; /* only missing entries are ever written */
  }
  for (size_t e = 0; e < sigma_columns(data); e++)
    m->components.factor[e] = state->factor[e];
  for (size_t c = 0; c < k; c++) {
    for (size_t j = 0; j < d; j++)
      m->components.mean[c * d + j] = state->mu[c + k * j];
    gmm_set_constant(&m->components, c, state->log_pi[c]);
  }
  gmm_sum_all(m, threads);
  return data->merge_split ? gmm_moves_open(m) : STATUS_OK;
}

/* Sigma = L L' of the stored form; returns where the row goes on. */
double *gmm_record_covariances(const gmm_model *m, double *row, size_t stride) {
  const size_t k = m->data.k, d = m->data.d, room = m->room;
  const int shared = m->data.form == COVARIANCE_SHARED;
  double *sigma = m->matrix[0];
  for (size_t c = 0; c < (shared ? 1 : k); c++) {
    const double *l = gmm_factor(&m->components, c);
    if (m->data.form == COVARIANCE_DIAGONAL) {
      for (size_t j = 0; j < d; j++)
        row[(c + room * j) * stride] = l[j] * l[j];
      continue;
    }
    linalg_outer_gram(l, d, sigma);
    for (size_t ij = 0; ij < d * d; ij++)
      row[(shared ? ij : c + room * ij) * stride] = sigma[ij];
  }
  return row + gmm_factor_size(m->data.form, d, room) * stride;
}

void gmm_record_observations(const gmm_model *m, double *row, size_t stride) {
  for (size_t i = 0; m->data.keep_z && i < m->data.n; i++, row += stride)
    *row = m->state.z[i];
  for (size_t e = 0; m->data.keep_x && e < m->data.missing.entries;
       e++, row += stride)
    *row = m->state.x_missing[e];
}

void gmm_record(void *model, double *row, size_t stride) {
  const gmm_model *m = model;
  const size_t k = m->data.k, d = m->data.d;
  double occupied = 0.0;
  for (size_t c = 0; c < k; c++, row += stride)
    *row = exp(m->state.log_pi[c]);
  for (size_t e = 0; e < k * d; e++, row += stride)
    *row = m->state.mu[e];
  row = gmm_record_covariances(m, row, stride);
  for (size_t c = 0; c < k; c++)
    occupied += m->sums.count[c] > 0.0;
  row[0] = m->log_lik;
  row[stride] = occupied;
  gmm_record_observations(m, row + 2 * stride, stride);
}
