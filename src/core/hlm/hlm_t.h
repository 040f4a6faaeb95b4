/* Responses with Student t errors, of hlm_latent.h,
 *
 *   y_i ~ t_nu(eta_i, sigma / sqrt(v_i))     (v_i the weight)
 *       = N(eta_i, sigma^2 / (lambda_i v_i)),  lambda_i ~ Gamma(nu/2, nu/2),
 *   1 / sigma^2 ~ Gamma(shape, rate),  nu ~ Gamma(nu_shape, nu_rate), or known
 *
 * (shapes and rates; Geweke 1993, doi:10.1002/jae.3950080504; the prior of nu with
 * shape 2 and rate 0.1: Juarez & Steel 2010, doi:10.1198/jbes.2009.07145).  With e_i =
 * sqrt(v_i) (y_i - eta_i) a sweep draws
 *   sigma | nu, eta, then nu | sigma, eta    slice steps of their logarithms, with
 *                                            lambda_i integrated out
 *   phi | b     if there are slopes k with b_k ~ N(m_k, 1 / phi), phi ~ Gamma(a, c):
 *               Gamma(a + K/2, c + sum_k (b_k - m_k)^2 / 2)
 *   lambda_i | sigma, nu, eta ~ Gamma((nu + 1)/2, (nu + e_i^2 / sigma^2) / 2)
 * phi is what ?lm_prior calls lambda.                                              */
#ifndef GIBBSITE_HLM_T_H
#define GIBBSITE_HLM_T_H

#include "hlm/hlm_latent.h"

/* Slopes whose common precision phi is drawn. */
typedef struct {
  size_t count;           /* K, 0 for none                                    */
  const int *at;          /* K: the fixed effects, from 0                     */
  double shape, rate;     /* a, c                                             */
  const double *b, *mean; /* p: the state's b; m                             */
  double *precision; /* p: that of the model's bar, to which phi is written */
  double *phi;       /* 1                                                */
} hlm_t_slopes;

typedef struct {
  const double *y, *root; /* n: y_i; sqrt(v_i)                               */
  double shape, rate, nu_shape, nu_rate;
  int nu_known;
  double *sigma, *nu; /* 1 each */
  hlm_t_slopes slopes;
  double height; /* log density of an error of 0 and weight 1               */
} hlm_t;

/* Makes what depends on the parameters agree with them. */
void hlm_t_open(hlm_t *response);

/* The type of such responses.  The columns: sigma, nu unless it is known, and phi if
 * there are slopes. */
hlm_response hlm_t_type(const hlm_t *response);

#endif
