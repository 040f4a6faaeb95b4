#include "numeric/rounding.h"

#include "hlm/hlm_binomial.h"

#include <math.h>

#include "numeric/log_cdf.h"
#include "numeric/polya_gamma.h"
#include "numeric/positive_normal.h"

static double logit_log_lik(const void *response, const double *eta, size_t n) {
  const hlm_binomial *r = response;
  double sum = 0.0;
  for (size_t i = 0; i < n; i++)
    sum +=
      log_trials_logistic(r->success[i], r->total[i] - r->success[i], eta[i]);
  return sum;
}

static double probit_log_lik(const void *response, const double *eta,
                             size_t n) {
  const hlm_binomial *r = response;
  double sum = 0.0;
  for (size_t i = 0; i < n; i++)
    sum +=
      log_trials_normal(r->success[i], r->total[i] - r->success[i], eta[i]);
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
