#include "numeric/rounding.h"

#include "logistic/logistic_gibbs.h"

#include <math.h>
#include <string.h>

#include "numeric/arena.h"
#include "numeric/dense.h"
#include "numeric/linalg.h"
#include "numeric/normals.h"
#include "numeric/polya_gamma.h"
#include "numeric/positive_normal.h"
#include "numeric/rmath.h"

/* q: the share of its t part and that part's degrees of freedom. */
#define HEAVY 0.25
#define FREEDOM 5.0

/* Hamiltonian steps: the share that should be accepted, and the most leaps of one. */
#define ACCEPTED 0.8
#define MOST_LEAPS 50.0

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
  model->known = model->factored = 0;
  arena over = arena_over(work);
  carve(model, &over);
  memset(model->zero, 0, data->density.p * sizeof *model->zero);
}

/* ---- augmentation ---------------------------------------------------------- */

/* Logit: omega_i | w ~ PG(m_i, eta_i); eta_i <- s_i - m_i/2 - omega_i o_i */
static void draw_omega(logistic_gibbs *m) {
  const logistic_data *density = &m->data.density;
  for (size_t i = 0; i < density->n; i++) {
    m->omega[i] = polya_gamma_draw((size_t)density->total[i], m->eta[i]);
    m->eta[i] = density->success[i] - 0.5 * density->total[i];
    if (density->offset)
      m->eta[i] -= m->omega[i] * density->offset[i];
  }
}

/* Probit: z_ij | w ~ N(eta_i, 1), positive for the s_i successes, negative for the
 * failures after them; eta_i <- sum_j (z_ij - o_i) */
static void draw_latent(logistic_gibbs *m) {
  const logistic_data *density = &m->data.density;
  for (size_t i = 0; i < density->n; i++) {
    const size_t total = (size_t)density->total[i];
    const size_t success = (size_t)density->success[i];
    const double eta = m->eta[i];
    double sum = 0.0;
    for (size_t j = 0; j < total; j++)
      sum +=
        j < success ? positive_normal_draw(eta) : -positive_normal_draw(-eta);
    m->eta[i] =
      density->offset ? sum - density->total[i] * density->offset[i] : sum;
  }
}

/* precision <- the factor of P = X' diag(weights) X + Q.  For the probit link P
 * never changes. */
static status factorise(logistic_gibbs *m) {
  const logistic_data *density = &m->data.density;
  if (m->factored)
    return STATUS_OK;
  logistic_gram(density, density->probit ? density->total : m->omega,
                m->precision, m->block);
  logistic_add_prior(density, m->zero, NULL, m->precision);
  m->factored = density->probit;
  return dense_cholesky(m->precision, density->p, m->panel);
}

/* w | omega or z ~ N(P^-1 X' eta, P^-1), eta as the steps above leave it */
static status draw_coefficients(logistic_gibbs *m) {
  const logistic_data *density = &m->data.density;
  const size_t p = density->p;
  const status outcome = factorise(m);
  if (outcome != STATUS_OK)
    return outcome;
  logistic_gradient(density, m->eta, m->zero, m->shift);
  dense_solve_lower(m->precision, p, m->shift);
  for (size_t j = 0; j < p; j++)
    m->shift[j] += m->normals[j];
  dense_solve_lower_transposed(m->precision, p, m->shift);
  memcpy(m->state.w, m->shift, p * sizeof *m->shift);
  return STATUS_OK;
}

status logistic_gibbs_augment(logistic_gibbs *model, const generator *g) {
  const logistic_data *density = &model->data.density;
  model->known = 0;
  logistic_predictor(density, 0, density->n, model->state.w, 1, model->eta);
  if (density->probit)
    draw_latent(model);
  else
    draw_omega(model);
  normals_draw(g, model->normals, model->data.density.p);
  return draw_coefficients(model);
}

/* ---- what the other two steps share ----------------------------------------- */

/* log t_5(w | map, H^-1), the constant left out; square = (w - map)'H(w - map). */
static double log_heavy(const logistic_gibbs *m, double square) {
  const double p = (double)m->data.density.p;
  return -0.5 * (FREEDOM + p) * log1p(square / FREEDOM);
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

static logistic_place place_of(const logistic_gibbs *m, const double *w) {
  return (logistic_place){
    logistic_evaluate(&m->data.density, w, NULL, NULL, m->block),
    square_of(m, w)};
}

static void need_place(logistic_gibbs *m) {
  if (!m->known)
    m->place = place_of(m, m->state.w);
  m->known = 1;
}

static void move_to_trial(logistic_gibbs *m, logistic_place place) {
  memcpy(m->state.w, m->trial, m->data.density.p * sizeof *m->trial);
  m->place = place;
}

/* ---- independence ---------------------------------------------------------- */

/* log p(w) - log q(w), the normal's constant left out. */
static double log_ratio(const logistic_gibbs *m, logistic_place place) {
  const double normal = log1p(-HEAVY) - 0.5 * place.square;
  const double heavy = log(HEAVY) + m->log_t + log_heavy(m, place.square);
  const double larger = fmax(normal, heavy);
  return place.joint - (larger + log1p(exp(fmin(normal, heavy) - larger)));
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
  need_place(model);
  const double value = log_ratio(model, model->place);
  draw_trial(model, g);
  const logistic_place trial = place_of(model, model->trial);
  const int moved = log(unif_rand()) < log_ratio(model, trial) - value;
  if (moved)
    move_to_trial(model, trial);
  double *counts = model->state.counts + (in_burnin ? 0 : 2);
  counts[0] += 1.0;
  counts[1] += moved;
}

/* ---- Hamiltonian ------------------------------------------------------------- */

/* normals += length L^-1 L'(trial), the gradient with respect to L'w; returns
 * L(trial). */
static double kick(logistic_gibbs *m, double length) {
  const size_t p = m->data.density.p;
  const double joint =
    logistic_evaluate(&m->data.density, m->trial, m->shift, NULL, m->block);
  dense_solve_lower(m->data.factor, p, m->shift);
  for (size_t j = 0; j < p; j++)
    m->normals[j] += length * m->shift[j];
  return joint;
}

/* trial += length L^-T normals */
static void leap(logistic_gibbs *m, double length) {
  const size_t p = m->data.density.p;
  memcpy(m->shift, m->normals, p * sizeof *m->shift);
  dense_solve_lower_transposed(m->data.factor, p, m->shift);
  for (size_t j = 0; j < p; j++)
    m->trial[j] += length * m->shift[j];
}

static double half_square(const double *x, size_t p) {
  double sum = 0.0;
  for (size_t j = 0; j < p; j++)
    sum += x[j] * x[j];
  return 0.5 * sum;
}

/* Robbins & Monro's (1951, doi:10.1214/aoms/1177729586) search for the length of a
 * leap with which steps are accepted as often as they should; frozen after the
 * burn-in. */
static void adapt_leap(logistic_gibbs *m, double probability) {
  const double done = m->state.counts[0] - LOGISTIC_TRIAL;
  *m->state.leap *= exp((probability - ACCEPTED) * pow(done + 1.0, -0.6));
}

/* Normals, a uniform for the number of leaps, one for the acceptance. */
void logistic_gibbs_travel(logistic_gibbs *model, const generator *g,
                           int in_burnin) {
  logistic_gibbs *m = model;
  const size_t p = m->data.density.p;
  const double length = *m->state.leap;
  need_place(m);
  normals_draw(g, m->normals, p);
  const double most = fmin(MOST_LEAPS, ceil(M_PI / length));
  const double leaps = 1.0 + floor(unif_rand() * most);
  const double before = m->place.joint - half_square(m->normals, p);
  memcpy(m->trial, m->state.w, p * sizeof *m->trial);
  logistic_place end = {kick(m, 0.5 * length), 0.0};
  for (double k = 1.0; k <= leaps; k++) {
    leap(m, length);
    end.joint = kick(m, k < leaps ? length : 0.5 * length);
  }
  const double change = end.joint - half_square(m->normals, p) - before;
  if (log(unif_rand()) < change) {
    end.square = square_of(m, m->trial);
    move_to_trial(m, end);
  }
  if (in_burnin)
    adapt_leap(m, change < 0.0 ? exp(change) : change >= 0.0);
}

/* ---- the sweep --------------------------------------------------------------- */

/* Few of the proposals in the burn-in so far were accepted. */
static int is_far_from_normal(const logistic_gibbs *m) {
  const double *counts = m->state.counts;
  return counts[0] >= LOGISTIC_TRIAL && counts[1] < 0.5 * counts[0];
}

static int must_augment(const logistic_gibbs *m) {
  return m->data.every > 0.0 &&
         (m->state.counts[0] < LOGISTIC_TRIAL || is_far_from_normal(m) ||
          !(fmod(*m->state.sweep + 1.0, m->data.every) > 0.0));
}

status logistic_gibbs_sweep(void *model, const scan_control *control) {
  logistic_gibbs *m = model;
  const generator *g = &control->generator;
  const int in_burnin = scan_in_burnin(*m->state.sweep + 1.0, control);
  const int far = is_far_from_normal(m);
  if (must_augment(m)) {
    const status outcome = logistic_gibbs_augment(m, g);
    if (outcome != STATUS_OK)
      return outcome;
  }
  logistic_gibbs_propose(m, g, in_burnin);
  if (far)
    logistic_gibbs_travel(m, g, in_burnin);
  return isfinite(m->place.joint) ? STATUS_OK : STATUS_NOT_FINITE;
}

void logistic_gibbs_record(void *model, double *row, size_t stride) {
  const logistic_gibbs *m = model;
  for (size_t j = 0; j < m->data.density.p; j++)
    row[stride * j] = m->state.w[j];
}
