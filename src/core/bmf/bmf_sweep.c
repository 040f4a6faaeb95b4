#include "numeric/rounding.h"

#include "bmf/bmf_model.h"

#include <math.h>
#include <string.h>

#include "numeric/arena.h"
#include "numeric/linalg.h"

/* ---- sizes and layout of the work space --------------------------------- */

size_t bmf_hyper_size(const bmf_data *data) {
  const size_t d = data->d;
  size_t size = 1 + (data->prior.kind == BMF_WISHART ? 2 * d + 2 * d * d : 2) +
                bmf_cutpoint_count(data);
  for (int which = 0; which < 2; which++)
    if (data->features[which].p > 0)
      size += d * data->features[which].p + 1;
  return size;
}

static void carve_scratch(bmf_model *m, arena *a) {
  const double d = (double)m->data.d, stride = (double)bmf_stride(m->data.d);
  for (int part = 0; part < 4; part++)
    m->matrix[part] = arena_doubles(a, d * d);
  for (int part = 0; part < 2; part++) {
    m->vector[part] = arena_doubles(a, d);
    m->map[part] = arena_doubles(a, stride * (d + 1.0));
  }
  m->direction = arena_doubles(a, d);
  m->move_work = arena_doubles(a, 3.0 * d);
}

static void carve_features(bmf_model *m, arena *a) {
  const bmf_features *f = m->data.features;
  const size_t p = larger(f[0].p, f[1].p);
  const size_t rows =
    larger(f[0].p > 0 ? m->data.n : 0, f[1].p > 0 ? m->data.m : 0);
  const double d = (double)m->data.d;
  m->shift = arena_doubles(a, d * (double)rows);
  for (int part = 0; part < 2; part++)
    m->spare[part] = arena_doubles(a, d * (double)p);
}

static void carve(bmf_model *m, int threads, arena *a) {
  const size_t d = m->data.d, most = larger(m->data.n, m->data.m);
  const double square = (double)bmf_square_size(d);
  m->design = arena_doubles(a, (double)most * (double)bmf_stride(d));
  m->offset = arena_doubles(a, (double)most);
  m->prior = arena_doubles(a, square);
  m->squares = arena_doubles(a, (double)m->data.m);
  m->grams = arena_doubles(a, (double)parts_count(most, ROWS) * square);
  carve_scratch(m, a);
  carve_features(m, a);
  if (m->data.levels > 0) {
    m->ordinal.levels = m->data.levels;
    m->ordinal.count = (size_t)m->data.users.start[m->data.n];
    cutpoints_carve(&m->ordinal, a);
    m->ordinal.below = arena_doubles(a, 2.0 * (double)m->ordinal.count);
    m->drawn = arena_doubles(a, (double)m->ordinal.count);
    m->latent = arena_doubles(a, (double)m->ordinal.count);
  }
  m->areas = arena_doubles(a, (double)threads * (double)bmf_area_size(d));
}

size_t bmf_work_size(const bmf_data *data, int threads) {
  bmf_model m = {.data = *data};
  arena count = arena_measure();
  carve(&m, threads, &count);
  return arena_size(&count);
}

void bmf_open(bmf_model *m, const bmf_data *data, const bmf_state *state,
              void *work, int threads) {
  arena a = arena_over(work);
  memset(m, 0, sizeof *m);
  m->data = *data;
  m->state = *state;
  carve(m, threads, &a);
  if (data->levels == 0)
    return;
  m->ordinal.sd = data->cutpoint_sd;
  m->ordinal.code = data->users.value;
  m->data.users.value = m->drawn;
  m->data.items.value = m->latent;
}

/* ---- ordinal ratings ---------------------------------------------------- */

/* eta of the ratings of the rows of a side, from `first` on; they do not depend on
 * the threads. */
static void predict_rows(const bmf_data *data, const bmf_state *state,
                         int which, size_t first, double *eta, int threads) {
  const size_t d = data->d;
  const int users = which == BMF_USERS;
  const bmf_ratings *by = users ? &data->users : &data->items;
  const int rows = (int)by->rows;
  const double ratings = (double)by->start[rows];
  const int team = parts_team(ratings * (double)d, threads);
  (void)team;
#ifdef _OPENMP
#pragma omp parallel for num_threads(team) schedule(static) if (team > 1)
#endif
  for (int row = 0; row < rows; row++)
    for (int e = by->start[row]; e < by->start[row + 1]; e++) {
      const size_t own = first + (size_t)row, other = (size_t)by->index[e];
      eta[e] =
        bmf_predictor(state->u + (users ? own : other) * d,
                      state->v + (users ? other : own) * d, d, data->biases);
    }
}

static void predict_ratings(bmf_model *m, int threads) {
  predict_rows(&m->data, &m->state, BMF_USERS, 0, m->ordinal.eta, threads);
}

void bmf_draw_latents(const bmf_data *data, const bmf_state *state, int which,
                      philox_key key, size_t first, double *eta, double *z,
                      int threads) {
  const bmf_ratings *by = which == BMF_USERS ? &data->users : &data->items;
  predict_rows(data, state, which, first, eta, threads);
  const cutpoints_responses all = {by->value, eta, data->place,
                                   (size_t)by->start[by->rows], NULL};
  cutpoints_draw_latents(state->theta, data->levels, key, &all, z, threads);
}

/* Cutpoints, then the latent values, which others may draw.  What is known of the end
 * of the last sweep is what is computed here otherwise. */
static status draw_latent(bmf_model *m, int threads) {
  cutpoints *o = &m->ordinal;
  if (!o->known)
    predict_ratings(m, threads);
  const status outcome = cutpoints_draw(o, m->state.theta, threads);
  o->known = 0;
  m->latent_key = philox_key_from_r();
  if (outcome != STATUS_OK || m->data.ask != NULL)
    return outcome;
  const cutpoints_responses all = {o->code, o->eta, NULL, o->count,
                                   o->accepted ? o->below : NULL};
  cutpoints_draw_latents(m->state.theta, o->levels, m->latent_key, &all,
                         m->drawn, threads);
  for (size_t e = 0; e < o->count; e++)
    m->latent[e] = m->drawn[m->data.place[e]];
  return outcome;
}

/* a_i + delta, theta_k + delta: no probability of a rating changes, and the prior
 * of the two is normal in delta.  mu_u goes along with the a_i. */
static void shift_cutpoints(bmf_model *m) {
  const size_t d = m->data.d, last = d - 1;
  const bmf_prior *prior = &m->data.prior;
  const bmf_side side = bmf_side_of(m, BMF_USERS);
  double precision, linear;
  if (prior->kind == BMF_WISHART) {
    const double *row = side.precision + d * last;
    precision = prior->kappa0 * row[last];
    linear = prior->kappa0 *
             (linalg_inner(row, prior->mu0, d) - linalg_inner(row, side.mu, d));
  } else {
    precision = *side.lambda * (double)side.rows;
    linear = 0.0;
    for (size_t i = 0; i < side.rows; i++)
      linear -= *side.lambda * side.factors[i * d + last];
  }
  const double delta =
    cutpoints_shift(&m->ordinal, m->state.theta, precision, linear);
  for (size_t i = 0; i < side.rows; i++)
    side.factors[i * d + last] += delta;
  if (side.mu)
    side.mu[last] += delta;
}

/* log p(ratings | u, v, theta), the latent values integrated out. */
static void evaluate_ratings(bmf_model *m, int threads) {
  predict_ratings(m, threads);
  m->ordinal.log_lik = cutpoints_log_lik(&m->ordinal, m->state.theta, threads);
  m->ordinal.known = 1;
}

/* ---- a sweep ------------------------------------------------------------ */

status bmf_sweep(void *model, const scan_control *control) {
  bmf_model *m = model;
  m->recording = control->recording;
  m->log_prior = 0.0;
  status outcome = STATUS_OK;
  if (m->data.levels > 0)
    outcome = draw_latent(m, control->threads);
  if (outcome == STATUS_OK)
    outcome = bmf_draw_side(m, BMF_USERS, NULL, control);
  if (outcome == STATUS_OK)
    outcome = bmf_draw_side(m, BMF_ITEMS, NULL, control);
  if (outcome == STATUS_OK && m->data.directions > 0 && !m->mode)
    outcome = bmf_draw_scales(m, control->threads);
  if (outcome == STATUS_OK && m->data.levels > 0 && m->data.biases)
    shift_cutpoints(m);
  if (outcome == STATUS_OK)
    outcome = bmf_draw_hyperparameters(m, BMF_USERS, control->threads);
  if (outcome == STATUS_OK)
    outcome = bmf_draw_hyperparameters(m, BMF_ITEMS, control->threads);
  if (outcome != STATUS_OK)
    return outcome;
  bmf_draw_beta(m);
  if (!isfinite(m->square) || !isfinite(*m->state.rating_precision))
    return STATUS_NOT_FINITE;
  if (m->recording) {
    if (m->data.levels > 0)
      evaluate_ratings(m, control->threads);
    *m->state.kept += 1.0;
    bmf_stream_predictions(m);
    bmf_store_draw(m);
  }
  return STATUS_OK;
}
