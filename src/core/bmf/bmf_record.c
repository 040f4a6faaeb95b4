#include "numeric/rounding.h"

#include "bmf/bmf_model.h"

#include <math.h>
#include <string.h>

#include "numeric/rmath.h"

/* ---- running averages and stored draws ---------------------------------- */

double bmf_predictor(const double *u, const double *v, size_t d, int biases) {
  const size_t rank = biases ? d - 1 : d;
  double sum = biases ? u[rank] + v[rank] : 0.0;
  for (size_t k = 0; k < rank; k++)
    sum += u[k] * v[k];
  return sum;
}

static double predictor_single(const float *u, const float *v, size_t d,
                               int biases) {
  const size_t rank = biases ? d - 1 : d;
  double sum = biases ? (double)u[rank] + (double)v[rank] : 0.0;
  for (size_t k = 0; k < rank; k++)
    sum += (double)u[k] * (double)v[k];
  return sum;
}

void bmf_values_single(const bmf_data *sizes, const float *factors,
                       const bmf_codes *pairs, double constant, double *out,
                       size_t stride) {
  const size_t d = sizes->d;
  const float *v = factors + sizes->n * d;
  for (size_t p = 0; p < pairs->count; p++)
    out[p * stride] =
      constant + predictor_single(factors + ((size_t)pairs->user[p] - 1) * d,
                                  v + ((size_t)pairs->item[p] - 1) * d, d,
                                  sizes->biases);
}

static double pair_predictor(const bmf_model *m, const bmf_pairs *pairs,
                             size_t p) {
  const size_t d = m->data.d;
  return bmf_predictor(m->state.u + (size_t)pairs->user[p] * d,
                       m->state.v + (size_t)pairs->item[p] * d, d,
                       m->data.biases);
}

/* Welford (1962), doi:10.1080/00401706.1962.10490022 */
void bmf_welford(const double *value, size_t n, double count, double *mean,
                 double *m2) {
  for (size_t i = 0; i < n; i++) {
    const double deviation = value[i] - mean[i];
    mean[i] += deviation / count;
    m2[i] += deviation * (value[i] - mean[i]);
  }
}

void bmf_stream_predictions(bmf_model *m) {
  const bmf_pairs *pairs = &m->data.predict_at;
  const double kept = *m->state.kept;
  *m->state.noise +=
    (1.0 / *m->state.rating_precision - *m->state.noise) / kept;
  for (size_t p = 0; p < pairs->count; p++) {
    const double value = pair_predictor(m, pairs, p);
    bmf_welford(&value, 1, kept, m->state.at_mean + p, m->state.at_m2 + p);
  }
}

static void store_hyperparameters(const bmf_model *m, double *to) {
  const size_t d = m->data.d;
  *to++ = *m->state.rating_precision;
  if (m->data.prior.kind == BMF_WISHART) {
    memcpy(to, m->state.mu, 2 * d * sizeof *to);
    memcpy(to + 2 * d, m->state.precision, 2 * d * d * sizeof *to);
    to += 2 * d + 2 * d * d;
  } else {
    memcpy(to, m->state.lambda, 2 * sizeof *to);
    to += 2;
  }
  for (int which = BMF_USERS; which <= BMF_ITEMS; which++) {
    const size_t length = d * m->data.features[which].p;
    if (length == 0)
      continue;
    memcpy(to, m->state.coefficients[which], length * sizeof *to);
    to[length] = *m->state.ridge[which];
    to += length + 1;
  }
  for (size_t k = 0; k < bmf_cutpoint_count(&m->data); k++)
    to[k] = m->state.theta[k];
}

/* Stores this draw if the thinning schedule selects it. */
void bmf_store_draw(bmf_model *m) {
  const draw_store *store = &m->store;
  size_t place;
  if (!store_selects(store, *m->state.kept, &place))
    return;
  const size_t users = m->data.n * m->data.d;
  store_single(m->state.u, users, store->factors[place]);
  store_single(m->state.v, m->data.m * m->data.d,
               store->factors[place] + users);
  store_hyperparameters(m, store->hypers[place]);
}

/* ---- a row of the draws ------------------------------------------------- */

static size_t hyper_columns(const bmf_data *data) {
  const size_t of_sides[] = {
    [BMF_FIXED] = 0, [BMF_GAMMA] = 2, [BMF_WISHART] = 6};
  return bmf_cutpoint_count(data) + (bmf_has_known_precision(data) ? 0 : 1) +
         of_sides[data->prior.kind];
}

size_t bmf_columns(const bmf_data *data) {
  return hyper_columns(data) + (size_t)bmf_draws_ridge(&data->features[0]) +
         (size_t)bmf_draws_ridge(&data->features[1]) + 2 + data->cells.count +
         (data->keep_u ? data->n * data->d : 0) +
         (data->keep_v ? data->m * data->d : 0);
}

double bmf_log_joint(const bmf_model *m) {
  if (m->data.levels > 0)
    return m->log_prior + m->ordinal.log_lik +
           cutpoints_log_prior(&m->ordinal, m->state.theta);
  const bmf_prior *prior = &m->data.prior;
  const double precision = *m->state.rating_precision;
  double total = m->log_prior +
                 0.5 * bmf_rating_count(&m->data) * (log(precision) - LOG_2PI) -
                 0.5 * precision * m->square;
  if (prior->kind != BMF_FIXED)
    total += bmf_log_gamma_density(precision, prior->shape[2], prior->rate[2]);
  return total;
}

/* beta, then lambda or of each side trace, log determinant, length of the mean. */
static double *record_precisions(const bmf_model *m, double *row,
                                 size_t stride) {
  const size_t d = m->data.d;
  if (!bmf_has_known_precision(&m->data)) {
    *row = *m->state.rating_precision;
    row += stride;
  }
  if (m->data.prior.kind == BMF_FIXED)
    return row;
  for (size_t which = 0; which < 2; which++) {
    if (m->data.prior.kind == BMF_GAMMA) {
      *row = m->state.lambda[which];
      row += stride;
      continue;
    }
    double trace = 0.0;
    for (size_t j = 0; j < d; j++)
      trace += m->state.precision[which * d * d + j + d * j];
    row[0] = trace;
    row[stride] = m->log_det[which];
    row[2 * stride] = sqrt(bmf_sum_squares(m->state.mu + which * d, d));
    row += 3 * stride;
  }
  for (size_t which = 0; which < 2; which++)
    if (bmf_draws_ridge(&m->data.features[which])) {
      *row = *m->state.ridge[which];
      row += stride;
    }
  return row;
}

static double *record_all(const double *x, size_t length, double *row,
                          size_t stride) {
  for (size_t e = 0; e < length; e++, row += stride)
    *row = x[e];
  return row;
}

/* The mean of a rating given the predictor: of an ordinal one
 * scale_K - sum_k (scale_{k+1} - scale_k) Phi(theta_k - eta). */
static double mean_rating(const bmf_model *m, double eta) {
  const double *scale = m->data.scale;
  if (m->data.levels == 0)
    return m->data.center + eta;
  double mean = scale[m->data.levels - 1];
  for (size_t k = 0; k + 1 < m->data.levels; k++)
    mean -= (scale[k + 1] - scale[k]) *
            pnorm(m->state.theta[k] - eta, 0.0, 1.0, 1, 0);
  return mean;
}

/* Root mean squared residual; log likelihood of ordinal ratings. */
static double record_fit(const bmf_model *m) {
  const double ratings = bmf_rating_count(&m->data);
  if (m->data.levels > 0)
    return m->ordinal.log_lik;
  return ratings > 0.0 ? sqrt(m->square / ratings) : 0.0;
}

void bmf_record(void *model, double *row, size_t stride) {
  const bmf_model *m = model;
  row = record_all(m->state.theta, bmf_cutpoint_count(&m->data), row, stride);
  row = record_precisions(m, row, stride);
  row[0] = record_fit(m);
  row[stride] = bmf_log_joint(m);
  row += 2 * stride;
  for (size_t c = 0; c < m->data.cells.count; c++, row += stride)
    *row = mean_rating(m, pair_predictor(m, &m->data.cells, c));
  if (m->data.keep_u)
    row = record_all(m->state.u, m->data.n * m->data.d, row, stride);
  if (m->data.keep_v)
    record_all(m->state.v, m->data.m * m->data.d, row, stride);
}
