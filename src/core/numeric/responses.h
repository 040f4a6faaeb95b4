/* The expected responses of many linear predictors, a number's bits the same whatever
 * stands beside it. */
#ifndef GIBBSITE_RESPONSES_H
#define GIBBSITE_RESPONSES_H

#include <stddef.h>

typedef enum {
  RESPONSE_IDENTITY,
  RESPONSE_LOGIT,
  RESPONSE_PROBIT,
  RESPONSE_LOG
} response_link;

/* mean (n) <- eta, 1 / (1 + exp(-eta)), Phi(eta) or exp(eta), to 1e-13 of it where it
 * is at least 1e-300; NaN stays.  mean may be eta. */
void responses_mean(response_link link, const double *eta, size_t n,
                    double *mean);

#endif
