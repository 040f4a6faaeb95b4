/* Binomial responses of hlm_latent.h,
 *
 *   s_i ~ Binomial(m_i, F(eta_i)),
 *
 * F the logistic or the normal distribution function.  The latent responses
 * (logistic_gibbs.h has the sources):
 *
 *   logit    v_i | eta ~ PG(m_i, eta_i),  y_i = (s_i - m_i/2) / v_i
 *   probit   v_i = m_i,  y_i = sum_l y_il / m_i,  y_il | eta ~ N(eta_i, 1),
 *            positive for s_i of them, negative for the others                  */
#ifndef GIBBSITE_HLM_BINOMIAL_H
#define GIBBSITE_HLM_BINOMIAL_H

#include "hlm/hlm_latent.h"

typedef struct {
  const double *success, *total; /* n: s, m > 0 */
} hlm_binomial;

extern const hlm_response hlm_logit, hlm_probit;

#endif
