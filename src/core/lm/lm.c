#include "numeric/rounding.h"

#include "lm/lm.h"

#include <math.h>
#include <string.h>

#include "numeric/arena.h"
#include "numeric/dense.h"
#include "numeric/linalg.h"
#include "numeric/normals.h"
#include "numeric/rdist.h"
#include "run/slice.h"

/* a multiple of DENSE_LANES */
#define SPREAD_ROWS 64

#define LOG_2PI 1.837877066409345483560659472811

static size_t free_length(const lm_data *data) {
  return data->r < data->p ? data->p : 0;
}

/* The order of A or M; 0 without a horseshoe. */
static size_t factor_order(const lm_data *data) {
  return data->horseshoe ? data->r : 0;
}

/* For dense_cholesky() and spread_local(). */
static double panel_length(const lm_data *data) {
  return data->horseshoe ? fmax((double)dense_cholesky_work(data->r),
                                SPREAD_ROWS * (double)data->r)
                         : 0.0;
}

static void carve(lm_model *m, arena *work) {
  const lm_data *data = &m->data;
  m->all_normals = 1 + data->r + free_length(data) + data->missing.count;
  m->normals = arena_doubles(work, (double)m->all_normals);
  m->theta_gap = arena_doubles(work, (double)data->r);
  m->rotated = arena_doubles(work, (double)data->r);
  m->slopes = arena_doubles(work, (double)data->p);
  const double order = (double)factor_order(data);
  m->factor = arena_doubles(work, order * order);
  m->panel = arena_doubles(work, panel_length(data));
  const int thin = data->r < data->p;
  m->spread = arena_doubles(work, thin ? order * order : 0.0);
  m->design = arena_doubles(work, thin ? order * (double)data->p : 0.0);
  m->right = arena_doubles(work, data->horseshoe ? (double)data->p : 0.0);
  m->u = arena_doubles(work, data->horseshoe ? (double)data->p : 0.0);
}

size_t lm_work_size(const lm_data *data) {
  lm_model model = {.data = *data};
  arena counting = arena_measure();
  carve(&model, &counting);
  return arena_size(&counting);
}

/* B'b, and B where r < p. */
static void open_horseshoe(lm_model *m) {
  const lm_data *data = &m->data;
  const size_t p = data->p, r = data->r;
  for (size_t j = 0; j < p; j++) {
    m->right[j] = 0.0;
    for (size_t k = 0; k < r; k++)
      m->right[j] +=
        data->vectors[j + p * k] * data->eigenvalue[k] * data->estimate[k];
  }
  for (size_t j = 0; j < p && r < p; j++)
    for (size_t k = 0; k < r; k++)
      m->design[k + r * j] =
        sqrt(data->eigenvalue[k]) * data->vectors[j + p * k];
}

void lm_open(lm_model *model, const lm_data *data, const lm_state *state,
             void *work) {
  model->data = *data;
  model->state = *state;
  arena over = arena_over(work);
  carve(model, &over);
  if (data->horseshoe)
    open_horseshoe(model);
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

/* Conjugate, the slopes integrated out:  sum_j t_j^2 e_j lambda / (e_j + lambda) */
static double conjugate_squares(const lm_data *data) {
  double squares = 0.0;
  for (size_t j = 0; j < data->r; j++) {
    const double e = data->eigenvalue[j], t = data->estimate[j];
    squares += t * t * e * (data->lambda / (e + data->lambda));
  }
  return squares;
}

/* All coefficients integrated out:  beta ~ Gamma(c + n/2, d + S/2),
 * S = rss + (what the slopes leave: `squares`)
 *     + (m_alpha - centre)^2 total k / (total + k).
 * A flat alpha takes one degree of freedom. */
typedef struct {
  double shape, rate;
} gamma_of_beta;

static gamma_of_beta beta_alone(const lm_model *m, double squares) {
  const lm_data *data = &m->data;
  const double k = data->prior_precision;
  squares += data->rss;
  if (data->intercept)
    squares +=
      data->prior_gap * data->prior_gap * data->total * (k / (data->total + k));
  const double degrees = data->n - (data->intercept && k <= 0.0 ? 1.0 : 0.0);
  return (gamma_of_beta){data->c + 0.5 * degrees, data->d + 0.5 * squares};
}

static void draw_beta_alone(lm_model *m, double squares) {
  const gamma_of_beta found = beta_alone(m, squares);
  *m->state.beta = draw_gamma(found.shape, found.rate);
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

/* ---- the horseshoe ----------------------------------------------------------- */

/* theta = V'u, and its gaps. */
static void rotate_slopes(lm_model *m, const double *u) {
  const lm_data *data = &m->data;
  for (size_t k = 0; k < data->r; k++) {
    const double *v = data->vectors + data->p * k;
    m->state.theta[k] = linalg_inner(v, u, data->p);
    m->theta_gap[k] = m->state.theta[k] - data->estimate[k];
  }
}

/* r = p, at lambda: the factor of A, log |I + B D B'|, the conditional mean of u,
 * and |b - B u|^2 + u'D^-1 u there. */
static status condition_full(lm_model *m, double lambda,
                             double *log_determinant, double *squares) {
  const lm_data *data = &m->data;
  const size_t p = data->p;
  const double *local = m->state.local;
  double sum = 0.0;
  for (size_t e = 0; e < p * p; e++)
    m->factor[e] = data->gram[e];
  for (size_t j = 0; j < p; j++) {
    m->factor[j + p * j] += lambda / local[j];
    sum += log(local[j] / lambda);
    m->u[j] = m->right[j];
  }
  const status found = dense_cholesky(m->factor, p, m->panel);
  if (found != STATUS_OK)
    return found;
  *log_determinant = linalg_log_determinant(m->factor, p) + sum;
  dense_solve_lower(m->factor, p, m->u);
  dense_solve_lower_transposed(m->factor, p, m->u);
  rotate_slopes(m, m->u);
  *squares = 0.0;
  for (size_t j = 0; j < p; j++)
    *squares += data->eigenvalue[j] * m->theta_gap[j] * m->theta_gap[j] +
                m->u[j] * m->u[j] * (lambda / local[j]);
  return STATUS_OK;
}

/* The draw around the mean that is in u. */
static void draw_full(lm_model *m) {
  const size_t p = m->data.p;
  double *noise = m->normals + 1;
  dense_solve_lower_transposed(m->factor, p, noise);
  for (size_t j = 0; j < p; j++)
    m->u[j] += noise[j] / sqrt(*m->state.beta);
}

/* r < p: B diag(l) B', lower triangle; a panel has SPREAD_ROWS columns of
 * B diag(l)^(1/2) as its rows. */
static void spread_local(lm_model *m) {
  const size_t r = m->data.r, p = m->data.p;
  memset(m->spread, 0, r * r * sizeof *m->spread);
  for (size_t first = 0; first < p; first += SPREAD_ROWS) {
    memset(m->panel, 0, SPREAD_ROWS * r * sizeof *m->panel);
    for (size_t row = 0; row < SPREAD_ROWS && first + row < p; row++) {
      const double root = sqrt(m->state.local[first + row]);
      const double *column = m->design + r * (first + row);
      for (size_t k = 0; k < r; k++)
        m->panel[row + SPREAD_ROWS * k] = root * column[k];
    }
    dense_add_gram(m->panel, SPREAD_ROWS, r, 1.0, m->spread, r);
  }
}

/* r < p, at lambda: the factor of M, log |M|, and b'M^-1 b. */
static status condition_thin(lm_model *m, double lambda,
                             double *log_determinant, double *squares) {
  const lm_data *data = &m->data;
  const size_t r = data->r;
  for (size_t e = 0; e < r * r; e++)
    m->factor[e] = m->spread[e] / lambda;
  for (size_t k = 0; k < r; k++) {
    m->factor[k + r * k] += 1.0;
    m->rotated[k] = sqrt(data->eigenvalue[k]) * data->estimate[k];
  }
  const status found = dense_cholesky(m->factor, r, m->panel);
  if (found != STATUS_OK)
    return found;
  *log_determinant = linalg_log_determinant(m->factor, r);
  dense_solve_lower(m->factor, r, m->rotated);
  *squares = linalg_inner(m->rotated, m->rotated, r);
  return STATUS_OK;
}

static status condition_slopes(lm_model *m, double lambda,
                               double *log_determinant, double *squares) {
  return m->data.r == m->data.p
           ? condition_full(m, lambda, log_determinant, squares)
           : condition_thin(m, lambda, log_determinant, squares);
}

/* log p(log lambda | l, y), constants left out; -Inf where A or M cannot be
 * factored.  The model's work is used, its state is not changed. */
static double log_of_global(const void *model, double x) {
  lm_model at = *(const lm_model *)model;
  const double tau = at.data.tau;
  double log_determinant, squares;
  if (condition_slopes(&at, exp(x), &log_determinant, &squares) != STATUS_OK)
    return -INFINITY;
  const gamma_of_beta found = beta_alone(&at, squares);
  return -0.5 * x - log1p(exp(-x) / (tau * tau)) - 0.5 * log_determinant -
         found.shape * log(found.rate);
}

static void draw_thin(lm_model *m) {
  const lm_data *data = &m->data;
  const size_t r = data->r;
  const double *noise = m->normals + 1, *normals = noise + r;
  const double *local = m->state.local, lambda = *m->state.lambda;
  const double beta = *m->state.beta;
  for (size_t k = 0; k < r; k++)
    m->rotated[k] =
      sqrt(data->eigenvalue[k]) * data->estimate[k] - noise[k] / sqrt(beta);
  for (size_t j = 0; j < data->p; j++) {
    m->u[j] = sqrt(local[j] / (lambda * beta)) * normals[j];
    for (size_t k = 0; k < r; k++)
      m->rotated[k] -= m->design[k + r * j] * m->u[j];
  }
  dense_solve_lower(m->factor, r, m->rotated);
  dense_solve_lower_transposed(m->factor, r, m->rotated);
  for (size_t j = 0; j < data->p; j++) {
    m->u[j] +=
      local[j] / lambda * linalg_inner(m->design + r * j, m->rotated, r);
    m->state.free[j] = m->u[j];
  }
}

/* A draw from the inverse gamma distribution of shape 1. */
static double draw_inverse_exponential(double rate) {
  return 1.0 / draw_gamma(1.0, rate);
}

static void draw_local(lm_model *m) {
  double *local = m->state.local, *aux = m->state.local_aux;
  const double precision = *m->state.beta * *m->state.lambda;
  for (size_t j = 0; j < m->data.p; j++) {
    local[j] = draw_inverse_exponential(1.0 / aux[j] +
                                        0.5 * precision * m->u[j] * m->u[j]);
    aux[j] = draw_inverse_exponential(1.0 + 1.0 / local[j]);
  }
}

static status sweep_horseshoe(lm_model *m) {
  const int full = m->data.r == m->data.p;
  double log_determinant, squares;
  if (!full)
    spread_local(m);
  *m->state.lambda = exp(slice_step(log_of_global, m, log(*m->state.lambda)));
  const status found =
    condition_slopes(m, *m->state.lambda, &log_determinant, &squares);
  if (found != STATUS_OK)
    return found;
  draw_beta_alone(m, squares);
  draw_alpha(m);
  if (full)
    draw_full(m);
  else
    draw_thin(m);
  rotate_slopes(m, m->u);
  draw_local(m);
  return STATUS_OK;
}

/* ---- a sweep ------------------------------------------------------------------ */

static int is_sound(const lm_model *m) {
  const double lambda = *m->state.lambda, beta = *m->state.beta;
  return lambda > 0.0 && isfinite(lambda) && beta > 0.0 && isfinite(beta) &&
         isfinite(residual_squares(m));
}

status lm_sweep(void *model, const scan_control *control) {
  lm_model *m = model;
  normals_draw(&control->generator, m->normals, m->all_normals);
  if (m->data.horseshoe) {
    const status done = sweep_horseshoe(m);
    if (done != STATUS_OK)
      return done;
    return is_sound(m) ? STATUS_OK : STATUS_NOT_FINITE;
  }
  if (m->data.conjugate) {
    draw_beta_alone(m, conjugate_squares(&m->data));
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
  return is_sound(m) ? STATUS_OK : STATUS_NOT_FINITE;
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
  const int precision = data->horseshoe || !data->conjugate;
  return data->p + (data->intercept ? 1 : 0) + 1 + (precision ? 1 : 0) + 1 +
         data->missing.count;
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
  if (data->horseshoe || !data->conjugate) {
    const double lambda = *m->state.lambda;
    *next = data->horseshoe ? 1.0 / sqrt(lambda) : lambda;
    next += stride;
  }
  *next = log_likelihood(m);
  for (size_t i = 0; i < data->missing.count; i++)
    *(next += stride) = missing_response(m, i);
}
