#include "numeric/rounding.h"

#include "hlm/hlm_t.h"

#include <math.h>

#include "numeric/rmath.h"
#include "run/slice.h"

static double height_of(double sigma, double nu) {
  return -lbeta(0.5, 0.5 * nu) - 0.5 * log(nu) - log(sigma);
}

/* log of the density of e (an error times the root of its weight) over that of 0 */
static double log_fall(double e, double sigma, double nu) {
  const double z = e / sigma;
  return -0.5 * (nu + 1.0) * log1p(z * z / nu);
}

static double error_of(const hlm_t *r, size_t i, double eta) {
  return r->root[i] * (r->y[i] - eta);
}

/* log p(y | eta), the roots of the weights left out */
static double t_log_lik(const void *response, const double *eta, size_t n) {
  const hlm_t *r = response;
  double sum = 0.0;
  for (size_t i = 0; i < n; i++)
    sum += r->height + log_fall(error_of(r, i, eta[i]), *r->sigma, *r->nu);
  return sum;
}

static hlm_latent_row t_draw(const void *response, size_t i, double eta) {
  const hlm_t *r = response;
  const double nu = *r->nu, sigma = *r->sigma;
  const double z = error_of(r, i, eta) / sigma;
  const double lambda = rgamma(0.5 * (nu + 1.0), 2.0 / (nu + z * z));
  const double root = sqrt(lambda) * r->root[i] / sigma;
  return (hlm_latent_row){root, root * r->y[i]};
}

/* ---- the parameters ------------------------------------------------------------ */

typedef struct {
  const hlm_t *response;
  const double *eta;
  size_t n;
} t_target;

static double log_lik_at(const t_target *t, double sigma, double nu) {
  double sum = 0.0;
  for (size_t i = 0; i < t->n; i++)
    sum += log_fall(error_of(t->response, i, t->eta[i]), sigma, nu);
  return sum + (double)t->n * height_of(sigma, nu);
}

/* At x = log sigma: p(1 / sigma^2), of shape and rate, times sigma^-2. */
static double log_of_sigma(const void *target, double x) {
  const t_target *t = target;
  const hlm_t *r = t->response;
  return log_lik_at(t, exp(x), *r->nu) - 2.0 * r->shape * x -
         r->rate * exp(-2.0 * x);
}

/* At x = log nu: p(nu) times nu. */
static double log_of_nu(const void *target, double x) {
  const t_target *t = target;
  const hlm_t *r = t->response;
  const double nu = exp(x);
  return log_lik_at(t, *r->sigma, nu) + r->nu_shape * x - r->nu_rate * nu;
}

static void draw_phi(const hlm_t_slopes *s) {
  double squares = 0.0;
  for (size_t k = 0; k < s->count; k++) {
    const double away = s->b[s->at[k]] - s->mean[s->at[k]];
    squares += away * away;
  }
  *s->phi =
    rgamma(s->shape + 0.5 * (double)s->count, 1.0 / (s->rate + 0.5 * squares));
}

static void spread_phi(const hlm_t_slopes *s) {
  for (size_t k = 0; k < s->count; k++)
    s->precision[s->at[k]] = *s->phi;
}

static status t_update(void *response, const double *eta, size_t n,
                       const scan_control *control) {
  hlm_t *r = response;
  const t_target target = {r, eta, n};
  (void)control;
  *r->sigma = exp(slice_step(log_of_sigma, &target, log(*r->sigma)));
  if (!r->nu_known)
    *r->nu = exp(slice_step(log_of_nu, &target, log(*r->nu)));
  if (r->slopes.count > 0)
    draw_phi(&r->slopes);
  hlm_t_open(r);
  return STATUS_OK;
}

void hlm_t_open(hlm_t *r) {
  r->height = height_of(*r->sigma, *r->nu);
  spread_phi(&r->slopes);
}

/* ---- the stored quantities ------------------------------------------------------- */

static void t_record(const void *response, double *row, size_t stride) {
  const hlm_t *r = response;
  *row = *r->sigma;
  if (!r->nu_known)
    *(row += stride) = *r->nu;
  if (r->slopes.count > 0)
    *(row + stride) = *r->slopes.phi;
}

hlm_response hlm_t_type(const hlm_t *r) {
  return (hlm_response){.log_lik = t_log_lik,
                        .draw = t_draw,
                        .update = t_update,
                        .parameters = 1 + (size_t)!r->nu_known +
                                      (size_t)(r->slopes.count > 0),
                        .record = t_record};
}
