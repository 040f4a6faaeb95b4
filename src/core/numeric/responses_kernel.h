/* Expected responses for one width of vector.  responses.c includes this file once
 * for each width, after lanes_next.h. */

#include "numeric/lane_math.h"

/* 1 / (1 + exp(-x)) */
LANE_TARGET static inline VEC LANE_NAME(logistic)(VEC x) {
  const VEC e = LANE_NAME(exp_nonpositive)(-LANE_NAME(size)(x));
  const VEC upper = 1.0 / (1.0 + e);
  return LANE_NAME(select)((BITS)(x < LANE_SPLAT(0.0)), e * upper, upper);
}

/* Phi(x), 0 or 1 beyond 40. */
LANE_TARGET static inline VEC LANE_NAME(normal)(VEC x) {
  const VEC z = LANE_NAME(within)(x, 40.0);
  return LANE_NAME(normal_cdf)(z, LANE_NAME(exp_nonpositive)(-0.5 * z * z));
}

/* exp(x), as the square of exp(x / 2), so that it overflows where it must. */
LANE_TARGET static inline VEC LANE_NAME(exponential)(VEC x) {
  const VEC e = LANE_NAME(exp_nonpositive)(-0.5 * LANE_NAME(size)(x));
  const VEC root = LANE_NAME(select)((BITS)(x < LANE_SPLAT(0.0)), e, 1.0 / e);
  return root * root;
}

LANE_TARGET static inline VEC LANE_NAME(response)(response_link link, VEC x) {
  const VEC mean = link == RESPONSE_LOGIT    ? LANE_NAME(logistic)(x)
                   : link == RESPONSE_PROBIT ? LANE_NAME(normal)(x)
                                             : LANE_NAME(exponential)(x);
  return LANE_NAME(select)((BITS)(x == x), mean, x);
}

LANE_TARGET static void LANE_NAME(responses)(response_link link,
                                             const double *eta, size_t n,
                                             double *mean) {
  size_t i = 0;
  for (; i + WIDTH <= n; i += WIDTH)
    AT(mean + i) = LANE_NAME(response)(link, FROM(eta + i));
  if (i == n)
    return;
  double rest[WIDTH] = {0.0};
  memcpy(rest, eta + i, (n - i) * sizeof *eta);
  AT(rest) = LANE_NAME(response)(link, FROM(rest));
  memcpy(mean + i, rest, (n - i) * sizeof *eta);
}
