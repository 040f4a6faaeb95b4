#include "numeric/rounding.h"

#include "logistic/logistic_gibbs.h"

#include <math.h>
#include <string.h>

#include "numeric/arena.h"
#include "numeric/dense.h"
#include "numeric/linalg.h"
#include "numeric/normals.h"
#include "numeric/polya_gamma.h"
#include "numeric/rmath.h"

/* q: the share of its t part and that part's degrees of freedom. */
#define HEAVY 0.25
#define FREEDOM 5.0

static void carve(logistic_gibbs *m, arena *work) {
  const size_t n = m->data.density.n, p = m->data.density.p;
  m->normals = arena_doubles(work, (double)p);
  m->trial = arena_doubles(work, (double)p);
  m->zero = arena_doubles(work, (double)p);
  m->shift = arena_doubles(work, (double)p);
  m->precision = arena_doubles(work, (double)p * (double)p);
  m->eta = arena_doubles(work, (double)n);
  m->omega = arena_doubles(work, (double)n);
  m->block = arena_doubles(work, (double)logistic_work_size(p));
  m->panel = arena_doubles(work, (double)dense_cholesky_work(p));
}

size_t logistic_gibbs_work_size(const logistic_gibbs_data *data) {
  logistic_gibbs model = {.data = *data};
  arena counting = arena_measure();
  carve(&model, &counting);
  return arena_size(&counting);
}

void logistic_gibbs_open(logistic_gibbs *model, const logistic_gibbs_data *data,
                         const logistic_gibbs_state *state, void *work) {
  const double p = (double)data->density.p;
  model->data = *data;
  model->state = *state;
  model->log_t = lgammafn(0.5 * (FREEDOM + p)) - lgammafn(0.5 * FREEDOM) -
                 0.5 * p * log(0.5 * FREEDOM);
  model->known = 0;
  arena over = arena_over(work);
  carve(model, &over);
  memset(model->zero, 0, data->density.p * sizeof *model->zero);
}

/* ---- augmentation ---------------------------------------------------------- */

/* omega_i | w ~ PG(m_i, eta_i) */
static void draw_omega(logistic_gibbs *m) {
  const logistic_data *density = &m->data.density;
  logistic_predictor(density, 0, density->n, m->state.w, 1, m->eta);
  for (size_t i = 0; i < density->n; i++)
    m->omega[i] = polya_gamma_draw((size_t)density->total[i], m->eta[i]);
}

/* w | omega ~ N(P^-1 X'(s - m/2 - omega o), P^-1), P = X' diag(omega) X + Q */
static status draw_coefficients(logistic_gibbs *m) {
  const logistic_data *density = &m->data.density;
  const size_t p = density->p;
  double *residual = m->eta;
  for (size_t i = 0; i < density->n; i++) {
    residual[i] = density->success[i] - 0.5 * density->total[i];
    if (density->offset)
      residual[i] -= m->omega[i] * density->offset[i];
  }
  logistic_gradient(density, residual, m->zero, m->shift);
  logistic_gram(density, m->omega, m->precision, m->block);
  logistic_add_prior(density, m->zero, NULL, m->precision);
  const status outcome = dense_cholesky(m->precision, p, m->panel);
  if (outcome != STATUS_OK)
    return outcome;
  dense_solve_lower(m->precision, p, m->shift);
  for (size_t j = 0; j < p; j++)
    m->shift[j] += m->normals[j];
  dense_solve_lower_transposed(m->precision, p, m->shift);
  memcpy(m->state.w, m->shift, p * sizeof *m->shift);
  return STATUS_OK;
}

status logistic_gibbs_augment(logistic_gibbs *model, const generator *g) {
  model->known = 0;
  draw_omega(model);
  normals_draw(g, model->normals, model->data.density.p);
  return draw_coefficients(model);
}

/* ---- independence ---------------------------------------------------------- */

/* log q(w), the normal's constant left out;  square = (w - map)'H(w - map). */
static double log_proposal(const logistic_gibbs *m, double square) {
  const double p = (double)m->data.density.p;
  const double normal = log1p(-HEAVY) - 0.5 * square;
  const double heavy =
    log(HEAVY) + m->log_t - 0.5 * (FREEDOM + p) * log1p(square / FREEDOM);
  const double larger = fmax(normal, heavy);
  return larger + log1p(exp(fmin(normal, heavy) - larger));
}

/* |L'(w - map)|^2 */
static double square_of(const logistic_gibbs *m, const double *w) {
  const size_t p = m->data.density.p;
  const double *l = m->data.factor;
  double sum = 0.0;
  for (size_t j = 0; j < p; j++) {
    double part = 0.0;
    for (size_t i = j; i < p; i++)
      part += l[i + p * j] * (w[i] - m->data.map[i]);
    sum += part * part;
  }
  return sum;
}

static double log_ratio(const logistic_gibbs *m, const double *w) {
  return logistic_evaluate(&m->data.density, w, NULL, NULL, m->block) -
         log_proposal(m, square_of(m, w));
}

/* trial <- a draw of q: a uniform says which part, then the normals, for the t part
 * a chi-squared variate. */
static void draw_trial(logistic_gibbs *m, const generator *g) {
  const size_t p = m->data.density.p;
  const int heavy = unif_rand() < HEAVY;
  normals_draw(g, m->trial, p);
  const double scale = heavy ? sqrt(FREEDOM / rchisq(FREEDOM)) : 1.0;
  dense_solve_lower_transposed(m->data.factor, p, m->trial);
  for (size_t j = 0; j < p; j++)
    m->trial[j] = m->data.map[j] + scale * m->trial[j];
}

void logistic_gibbs_propose(logistic_gibbs *model, const generator *g,
                            int in_burnin) {
  if (!model->known)
    model->value = log_ratio(model, model->state.w);
  model->known = 1;
  draw_trial(model, g);
  const double value = log_ratio(model, model->trial);
  const int moved = log(unif_rand()) < value - model->value;
  if (moved) {
    memcpy(model->state.w, model->trial,
           model->data.density.p * sizeof *model->trial);
    model->value = value;
  }
  double *counts = model->state.counts + (in_burnin ? 0 : 2);
  counts[0] += 1.0;
  counts[1] += moved;
}

/* ---- the sweep --------------------------------------------------------------- */

static int must_augment(const logistic_gibbs *m) {
  const double *counts = m->state.counts;
  return counts[0] < LOGISTIC_TRIAL || counts[1] < 0.5 * counts[0] ||
         !(fmod(*m->state.sweep + 1.0, m->data.every) > 0.0);
}

status logistic_gibbs_sweep(void *model, const scan_control *control) {
  logistic_gibbs *m = model;
  if (must_augment(m)) {
    const status outcome = logistic_gibbs_augment(m, &control->generator);
    if (outcome != STATUS_OK)
      return outcome;
  }
  logistic_gibbs_propose(m, &control->generator,
                         scan_in_burnin(*m->state.sweep + 1.0, control));
  return isfinite(m->value) ? STATUS_OK : STATUS_NOT_FINITE;
}

void logistic_gibbs_record(void *model, double *row, size_t stride) {
  const logistic_gibbs *m = model;
  for (size_t j = 0; j < m->data.density.p; j++)
    row[stride * j] = m->state.w[j];
}
