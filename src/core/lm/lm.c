#include "numeric/rounding.h"

#include "lm/lm.h"

#include <math.h>

#include "numeric/arena.h"
#include "numeric/normals.h"
#include "numeric/rdist.h"
#include "run/slice.h"

#define LOG_2PI 1.837877066409345483560659472811

static size_t free_length(const lm_data *data) {
  return data->r < data->p ? data->p : 0;
}

static void carve(lm_model *m, arena *work) {
  const lm_data *data = &m->data;
  m->all_normals = 1 + data->r + free_length(data) + data->missing.count;
  m->normals = arena_doubles(work, (double)m->all_normals);
  m->theta_gap = arena_doubles(work, (double)data->r);
  m->rotated = arena_doubles(work, (double)data->r);
  m->slopes = arena_doubles(work, (double)data->p);
}

size_t lm_work_size(const lm_data *data) {
  lm_model model = {.data = *data};
  arena counting = arena_measure();
  carve(&model, &counting);
  return arena_size(&counting);
}

void lm_open(lm_model *model, const lm_data *data, const lm_state *state,
             void *work) {
  model->data = *data;
  model->state = *state;
  arena over = arena_over(work);
  carve(model, &over);
}

/* Gamma(shape, rate) */
static double draw_gamma(double shape, double rate) {
  return exp(rdist_log_gamma(shape) - log(rate));
}

/* rss + sum_j e_j (theta_j - t_j)^2 + total (alpha - centre)^2 */
static double residual_squares(const lm_model *m) {
  const double *gap = m->theta_gap, *e = m->data.eigenvalue;
  double sum = m->data.rss;
  for (size_t j = 0; j < m->data.r; j++)
    sum += e[j] * gap[j] * gap[j];
  return sum + m->data.total * m->alpha_gap * m->alpha_gap;
}

/* ---- blocks ---------------------------------------------------------------- */

/* lambda: the prior precision of a u_j, and what the prior precision of alpha is
 * multiplied by. */
static double slope_precision(const lm_model *m) {
  return m->data.conjugate ? *m->state.lambda * *m->state.beta
                           : *m->state.lambda;
}

/* alpha | beta ~ N((beta total centre + k m_alpha) / q, 1 / q),
 * q = beta total + k;  k = k_alpha, conjugate k_alpha beta. */
static void draw_alpha(lm_model *m) {
  const lm_data *data = &m->data;
  const double beta = *m->state.beta;
  const double prior = data->prior_precision * (data->conjugate ? beta : 1.0);
  const double q = beta * data->total + prior;
  m->alpha_gap = data->intercept
                   ? prior * data->prior_gap / q + m->normals[0] / sqrt(q)
                   : 0.0;
  *m->state.alpha = data->intercept ? data->centre + m->alpha_gap : 0.0;
}

/* theta_j | lambda, beta ~ N(beta e_j t_j / q_j, 1 / q_j),
 * q_j = beta e_j + k;  k = lambda, conjugate lambda beta.  The mean of theta_j -
 * t_j is -k t_j / q_j. */
static void draw_theta(lm_model *m) {
  const lm_data *data = &m->data;
  const double *normals = m->normals + 1;
  const double beta = *m->state.beta, prior = slope_precision(m);
  for (size_t j = 0; j < data->r; j++) {
    const double q = beta * data->eigenvalue[j] + prior;
    m->theta_gap[j] = normals[j] / sqrt(q) - prior * data->estimate[j] / q;
    m->state.theta[j] = data->estimate[j] + m->theta_gap[j];
  }
}

/* g ~ N(0, I / k): the directions that the data do not inform. */
static void draw_free(lm_model *m) {
  const double *normals = m->normals + 1 + m->data.r;
  const double sd = 1.0 / sqrt(slope_precision(m));
  for (size_t j = 0; j < free_length(&m->data); j++)
    m->state.free[j] = sd * normals[j];
}

/* lambda | theta ~ Gamma(a + r/2, b + theta'theta/2) */
static void draw_lambda(lm_model *m) {
  const lm_data *data = &m->data;
  double squares = 0.0;
  for (size_t j = 0; j < data->r; j++)
    squares += m->state.theta[j] * m->state.theta[j];
  *m->state.lambda =
    draw_gamma(data->a + 0.5 * (double)data->r, data->b + 0.5 * squares);
}

/* beta | alpha, theta ~ Gamma(c + n/2, d + RSS/2) */
static void draw_beta(lm_model *m) {
  *m->state.beta = draw_gamma(m->data.c + 0.5 * m->data.n,
                              m->data.d + 0.5 * residual_squares(m));
}

/* Conjugate, all coefficients integrated out:  beta ~ Gamma(c + n/2, d + S/2),
 * S = rss + sum_j t_j^2 e_j lambda / (e_j + lambda)
 *     + (m_alpha - centre)^2 total k / (total + k).
 * A flat alpha takes one degree of freedom. */
static void draw_beta_alone(lm_model *m) {
  const lm_data *data = &m->data;
  const double k = data->prior_precision;
  double squares = data->rss;
  for (size_t j = 0; j < data->r; j++) {
    const double e = data->eigenvalue[j], t = data->estimate[j];
    squares += t * t * e * (data->lambda / (e + data->lambda));
  }
  if (data->intercept)
    squares +=
      data->prior_gap * data->prior_gap * data->total * (k / (data->total + k));
  const double degrees = data->n - (data->intercept && k <= 0.0 ? 1.0 : 0.0);
  *m->state.beta = draw_gamma(data->c + 0.5 * degrees, data->d + 0.5 * squares);
}

/* log p(lambda, beta | y), constants left out: lm.h. */
static double log_collapsed(const lm_data *data, double lambda, double beta) {
  const double degrees =
    data->n - (double)data->r - (data->intercept ? 1.0 : 0.0);
  double sum = (data->a - 1.0) * log(lambda) - data->b * lambda +
               (data->c - 1.0 + 0.5 * degrees) * log(beta) -
               (data->d + 0.5 * data->rss) * beta;
  for (size_t j = 0; j < data->r; j++) {
    const double known = beta * data->eigenvalue[j], t = data->estimate[j];
    const double q = lambda / (lambda + known) * known;
    sum += 0.5 * (log(q) - q * t * t);
  }
  if (data->intercept && data->prior_precision > 0.0) {
    const double k = data->prior_precision, known = beta * data->total;
    const double q = k / (k + known) * known;
    sum += 0.5 * (log(q) - q * data->prior_gap * data->prior_gap);
  }
  return sum;
}

/* The same of x = log lambda, of x = log beta: the factor exp(x) is that of the
 * change of variable. */
static double log_of_lambda(const void *model, double x) {
  const lm_model *m = model;
  return log_collapsed(&m->data, exp(x), *m->state.beta) + x;
}

static double log_of_beta(const void *model, double x) {
  const lm_model *m = model;
  return log_collapsed(&m->data, *m->state.lambda, exp(x)) + x;
}

static void draw_precisions_alone(lm_model *m) {
  *m->state.lambda = exp(slice_step(log_of_lambda, m, log(*m->state.lambda)));
  *m->state.beta = exp(slice_step(log_of_beta, m, log(*m->state.beta)));
}

status lm_sweep(void *model, const scan_control *control) {
  lm_model *m = model;
  normals_draw(&control->generator, m->normals, m->all_normals);
  if (m->data.conjugate) {
    draw_beta_alone(m);
    draw_alpha(m);
    draw_theta(m);
  } else if (m->data.collapsed) {
    draw_precisions_alone(m);
    draw_alpha(m);
    draw_theta(m);
  } else {
    draw_alpha(m);
    draw_theta(m);
    draw_lambda(m);
    draw_beta(m);
  }
  draw_free(m);
  const double lambda = *m->state.lambda, beta = *m->state.beta;
  const int sound = lambda > 0.0 && isfinite(lambda) && beta > 0.0 &&
                    isfinite(beta) && isfinite(residual_squares(m));
  return sound ? STATUS_OK : STATUS_NOT_FINITE;
}

/* ---- the stored quantities ----------------------------------------------------- */

/* w = u / s, u = V (theta - V'g) + g */
static void slopes_of(lm_model *m) {
  const lm_data *data = &m->data;
  const size_t p = data->p, free = free_length(data);
  for (size_t j = 0; j < p; j++)
    m->slopes[j] = free > 0 ? m->state.free[j] : 0.0;
  for (size_t j = 0; j < data->r; j++) {
    const double *v = data->vectors + p * j;
    double along = 0.0;
    for (size_t i = 0; i < free; i++)
      along += v[i] * m->state.free[i];
    m->rotated[j] = m->state.theta[j] - along;
  }
  for (size_t j = 0; j < data->r; j++)
    for (size_t i = 0; i < p; i++)
      m->slopes[i] += data->vectors[i + p * j] * m->rotated[j];
  for (size_t i = 0; i < p; i++)
    m->slopes[i] /= data->scale[i];
}

static double log_likelihood(const lm_model *m) {
  const double beta = *m->state.beta, n = m->data.n;
  return 0.5 * (n * (log(beta) - LOG_2PI) + m->data.log_weights -
                beta * residual_squares(m));
}

/* y_i ~ N(o_i + alpha + x_i'w, 1 / (beta v_i)), x_i centred */
static double missing_response(const lm_model *m, size_t i) {
  const lm_missing *missing = &m->data.missing;
  const double *normals = m->normals + m->all_normals - missing->count;
  double mean = missing->offset[i] + *m->state.alpha;
  for (size_t j = 0; j < m->data.p; j++)
    mean += missing->x[i + missing->count * j] * m->slopes[j];
  return mean + normals[i] / sqrt(*m->state.beta * missing->weight[i]);
}

size_t lm_columns(const lm_data *data) {
  return data->p + (data->intercept ? 1 : 0) + 1 + (data->conjugate ? 0 : 1) +
         1 + data->missing.count;
}

void lm_record(void *model, double *row, size_t stride) {
  lm_model *m = model;
  const lm_data *data = &m->data;
  slopes_of(m);
  double *next = row, *intercept = NULL;
  double moved = 0.0;
  for (size_t j = 0; j < data->p + (data->intercept ? 1 : 0); j++) {
    if (data->intercept && j == data->intercept_at) {
      intercept = next;
    } else {
      const size_t slope = j - (intercept != NULL ? 1 : 0);
      *next = m->slopes[slope];
      moved += data->mean[slope] * m->slopes[slope];
    }
    next += stride;
  }
  if (intercept != NULL)
    *intercept = *m->state.alpha - moved;
  *next = 1.0 / sqrt(*m->state.beta);
  next += stride;
  if (!data->conjugate) {
    *next = *m->state.lambda;
    next += stride;
  }
  *next = log_likelihood(m);
  for (size_t i = 0; i < data->missing.count; i++)
    *(next += stride) = missing_response(m, i);
}
