#include "numeric/rounding.h"

#include "hlm/hlm_categories.h"

#include <math.h>
#include <string.h>

#include "hlm/hlm_binomial.h"
#include "numeric/arena.h"
#include "numeric/linalg.h"
#include "numeric/log_cdf.h"
#include "run/slice.h"

static void carve(hlm_categories *m, arena *work) {
  m->eta = arena_doubles(work, (double)m->n * (double)m->parts);
  m->rest = arena_doubles(work, (double)m->n);
  m->reference = arena_doubles(work, (double)m->n);
}

size_t hlm_categories_work_size(size_t parts, size_t n) {
  hlm_categories model = {.parts = parts, .n = n};
  arena counting = arena_measure();
  carve(&model, &counting);
  return arena_size(&counting);
}

/* eta of category k, without c */
static void keep_predictor(hlm_categories *m, size_t k) {
  hlm_latent *part = m->part + k;
  part->data.offset = m->offset;
  hlm_latent_predict(part);
  memcpy(m->eta + m->n * k, part->eta, m->n * sizeof *m->eta);
  part->data.offset = m->rest;
}

static const hlm_binomial *response_of(const hlm_categories *m, size_t k) {
  return m->part[k].data.response;
}

static void count_reference(hlm_categories *m) {
  memcpy(m->reference, response_of(m, 0)->total, m->n * sizeof *m->reference);
  for (size_t k = 0; k < m->parts; k++)
    for (size_t i = 0; i < m->n; i++)
      m->reference[i] -= response_of(m, k)->success[i];
}

void hlm_categories_open(hlm_categories *m, hlm_latent *part, size_t parts,
                         hlm_latent *shift, hlm_count *proposals, void *work) {
  m->part = part;
  m->shift = shift;
  m->proposals = proposals;
  m->parts = parts;
  m->n = part->data.n;
  m->offset = part->data.offset;
  arena over = arena_over(work);
  carve(m, &over);
  for (size_t k = 0; k < parts; k++)
    keep_predictor(m, k);
  count_reference(m);
  if (shift != NULL)
    shift->data.offset = m->rest;
  const size_t drawn = parts + (shift != NULL);
  for (size_t k = 0; proposals != NULL && k < drawn; k++)
    proposals[k].data.offset = m->rest;
  if (proposals != NULL && shift != NULL)
    proposals[parts].data.mean = shift->mean;
}

/* Draws the effects of part k, or of `shift` for k = parts, with the offset `rest`. */
static status sweep_part(hlm_categories *m, size_t k,
                         const scan_control *control) {
  if (m->proposals != NULL)
    return hlm_count_sweep(m->proposals + k, control);
  return hlm_latent_sweep(k < m->parts ? m->part + k : m->shift, control);
}

/* eta_ic, c = 0 for the first category */
static double eta_of(const hlm_categories *m, size_t i, size_t c) {
  return c == 0 ? 0.0 : m->eta[i + m->n * (c - 1)];
}

/* log(sum_c exp(eta_ic)) over all categories but `left_out` */
static double log_sum(const hlm_categories *m, size_t i, size_t left_out) {
  double most = -INFINITY, sum = 0.0;
  for (size_t c = 0; c <= m->parts; c++)
    if (c != left_out)
      most = fmax(most, eta_of(m, i, c));
  for (size_t c = 0; c <= m->parts; c++)
    if (c != left_out)
      sum += exp(eta_of(m, i, c) - most);
  return most + log(sum);
}

/* Newton's method for d begins where the b - d of all categories have the mean 0: the
 * same point from any b + d. */
static void place_shift(hlm_categories *m) {
  double *start = m->proposals[m->parts].reference;
  const size_t p = m->shift->data.p;
  for (size_t j = 0; j < p; j++) {
    start[j] = 0.0;
    for (size_t k = 0; k < m->parts; k++)
      start[j] += m->part[k].bar->state.b[j] / (double)m->parts;
  }
}

/* d | b, and b - d */
static status draw_shift(hlm_categories *m, const scan_control *control) {
  hlm_latent *shift = m->shift;
  const size_t p = shift->data.p;
  double *d = shift->bar->state.b;
  for (size_t j = 0; j < p; j++) {
    double sum = 0.0;
    for (size_t k = 0; k < m->parts; k++)
      sum += m->part[k].data.bar->precision[j] *
             (m->part[k].bar->state.b[j] - m->part[k].mean[j]);
    shift->mean[j] = sum / shift->data.bar->precision[j];
    d[j] = 0.0;
  }
  if (m->proposals != NULL)
    place_shift(m);
  for (size_t i = 0; i < m->n; i++)
    m->rest[i] = -log_sum(m, i, 0);
  const status outcome = sweep_part(m, m->parts, control);
  for (size_t k = 0; outcome == STATUS_OK && k < m->parts; k++) {
    for (size_t j = 0; j < p; j++)
      m->part[k].bar->state.b[j] -= d[j];
    keep_predictor(m, k);
  }
  return outcome;
}

/* The d of term t of group j of bar f, in units of its prior's standard deviation. */
typedef struct {
  const hlm_categories *model;
  const hlm_rows *rows;
  size_t f, q, j, t;
  double slope, bend, unit; /* of the prior: Q times the mean, Q, Q^-1/2 */
} common_deviation;

static double log_of_common(const void *target, double x) {
  const common_deviation *move = target;
  const hlm_categories *m = move->model;
  const hlm_rows *rows = move->rows;
  const double *total = response_of(m, 0)->total, d = move->unit * x;
  double sum = d * (move->slope - 0.5 * d * move->bend);
  for (int at = rows->first[move->j]; at < rows->first[move->j + 1]; at++) {
    const size_t i = (size_t)rows->row[at];
    sum += log_trials_logistic(m->reference[i], total[i] - m->reference[i],
                               m->rest[i] + d * rows->z[move->t + move->q * i]);
  }
  return sum;
}

static void weigh_common(common_deviation *move) {
  const hlm_categories *m = move->model;
  const size_t q = move->q;
  move->slope = move->bend = 0.0;
  for (size_t k = 0; k < m->parts; k++) {
    const hlm_model *bar = m->part[k].bar + move->f;
    const double *row = bar->inverse + q * move->t;
    move->slope += linalg_inner(row, bar->state.u + q * move->j, q);
    move->bend += row[move->t];
  }
  move->unit = 1.0 / sqrt(move->bend);
}

static void move_common(hlm_categories *m, common_deviation *move) {
  const hlm_rows *rows = move->rows;
  const size_t q = move->q;
  weigh_common(move);
  const double d = move->unit * slice_step(log_of_common, move, 0.0);
  for (size_t k = 0; k < m->parts; k++)
    m->part[k].bar[move->f].state.u[move->t + q * move->j] -= d;
  for (int at = rows->first[move->j]; at < rows->first[move->j + 1]; at++) {
    const size_t i = (size_t)rows->row[at];
    m->rest[i] += d * rows->z[move->t + q * i];
  }
}

/* d | u of all groups, and u - d */
static void draw_common(hlm_categories *m) {
  const hlm_latent_data *data = &m->part->data;
  for (size_t i = 0; i < m->n; i++)
    m->rest[i] = -log_sum(m, i, 0);
  for (size_t f = 0; f < data->bars; f++) {
    const size_t q = data->bar[f].q;
    for (size_t k = 0; k < m->parts; k++) {
      hlm_model *bar = m->part[k].bar + f;
      linalg_inverse_from_cholesky(bar->state.factor, q, bar->inverse);
    }
    common_deviation move = {
      .model = m, .rows = data->rows + f, .f = f, .q = q};
    for (; move.j < data->bar[f].groups; move.j++)
      for (move.t = 0; move.t < q; move.t++)
        move_common(m, &move);
  }
  for (size_t k = 0; k < m->parts; k++)
    keep_predictor(m, k);
}

status hlm_categories_sweep(void *model, const scan_control *control) {
  hlm_categories *m = model;
  status outcome = STATUS_OK;
  for (size_t k = 0; outcome == STATUS_OK && k < m->parts; k++) {
    for (size_t i = 0; i < m->n; i++)
      m->rest[i] = (m->offset ? m->offset[i] : 0.0) - log_sum(m, i, k + 1);
    outcome = sweep_part(m, k, control);
    keep_predictor(m, k);
  }
  if (outcome == STATUS_OK && m->shift != NULL)
    outcome = draw_shift(m, control);
  if (outcome == STATUS_OK && m->parts > 1 && m->part->data.bar->q > 0)
    draw_common(m);
  return outcome;
}

size_t hlm_categories_columns(const hlm_categories *m) {
  return m->parts * (hlm_latent_columns(&m->part->data) - 1) + 1;
}

static double log_likelihood(const hlm_categories *m) {
  double sum = m->part->data.constant;
  for (size_t i = 0; i < m->n; i++) {
    const double log_total = log_sum(m, i, m->parts + 1);
    for (size_t k = 0; k < m->parts; k++)
      sum += response_of(m, k)->success[i] * (m->eta[i + m->n * k] - log_total);
    sum -= m->reference[i] * log_total;
  }
  return sum;
}

void hlm_categories_record(void *model, double *row, size_t stride) {
  hlm_categories *m = model;
  const hlm_latent_data *data = &m->part->data;
  double *next = row;
  for (size_t k = 0; k < m->parts; k++)
    for (size_t j = 0; j < data->p; j++, next += stride)
      *next = m->part[k].bar->state.b[j];
  for (size_t k = 0; k < m->parts; k++)
    for (size_t f = 0; f < data->bars; f++)
      next = hlm_record_covariance(m->part[k].bar + f, next, stride);
  *next = log_likelihood(m);
  for (size_t k = 0; k < m->parts; k++)
    for (size_t f = 0; f < data->bars; f++)
      next = hlm_record_deviations(m->part[k].bar + f, next, stride);
}
