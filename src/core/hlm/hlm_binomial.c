#include "numeric/rounding.h"

#include "hlm/hlm_binomial.h"

#include <math.h>

#include "numeric/log_cdf.h"
#include "numeric/polya_gamma.h"
#include "numeric/positive_normal.h"

/* The binomial coefficients are left out below, too. */
double hlm_logit_log_row(const hlm_binomial *r, size_t i, double eta) {
  const double s = r->success[i], f = r->total[i] - s;
  return (eta > 0.0 ? -f * eta : s * eta) -
         r->total[i] * log_cdf_logistic(fabs(eta));
}

static double logit_log_lik(const void *response, const double *eta, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++)
    sum += hlm_logit_log_row(response, i, eta[i]);
  return sum;
}

static double probit_log_lik(const void *response, const double *eta,
                             size_t n) {
  const hlm_binomial *r = response;
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) {
    const double s = r->success[i], f = r->total[i] - s;
    sum += (s > 0.0 ? s * log_cdf_normal(eta[i]) : 0.0) +
           (f > 0.0 ? f * log_cdf_normal(-eta[i]) : 0.0);
  }
  return sum;
}

static hlm_latent_row logit_draw(const void *response, size_t i, double eta) {
  const hlm_binomial *r = response;
  const double total = r->total[i];
  const double root = sqrt(polya_gamma_draw((size_t)total, eta));
  return (hlm_latent_row){root, (r->success[i] - 0.5 * total) / root};
}

static hlm_latent_row probit_draw(const void *response, size_t i, double eta) {
  const hlm_binomial *r = response;
  const double total = r->total[i], success = r->success[i];
  double sum = 0.0;
  for (size_t l = 0; l < (size_t)total; l++)
    sum += l < (size_t)success ? positive_normal_draw(eta)
                               : -positive_normal_draw(-eta);
  return (hlm_latent_row){sqrt(total), sum / sqrt(total)};
}

const hlm_response hlm_logit = {.log_lik = logit_log_lik, .draw = logit_draw};
const hlm_response hlm_probit = {.log_lik = probit_log_lik,
                                 .draw = probit_draw};
