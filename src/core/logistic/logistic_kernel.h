/* The terms of a block of observations; logistic.c includes this file once for
 * each width of vector, after lanes_next.h. */

#include "numeric/lane_math.h"

/* e = exp(-|eta|) never overflows, and nothing cancels where s is 0 or m:
 * for eta > 0, s eta - m log(1 + exp(eta)) = (s - m) eta - m log(1 + e) and
 * s - m sigma(eta) = (s - m) + m e / (1 + e). */
LANE_TARGET static void LANE_NAME(terms)(logistic_terms *t) {
  for (size_t b = 0; b < LOGISTIC_BLOCK; b += WIDTH) {
    const VEC eta = FROM(t->eta + b), s = FROM(t->success + b);
    const VEC m = FROM(t->total + b);
    const BITS positive = (BITS)(eta > 0.0);
    const VEC away = LANE_NAME(select)(positive, -eta, eta);
    const VEC e = LANE_NAME(exp_nonpositive)(away);
    const VEC share = e / (e + 1.0), part = m * share;
    const VEC left = LANE_NAME(select)(positive, s - m, s);
    AT(t->log_lik + b) = LANE_FMA(left, eta, -m * LANE_NAME(log1p_unit)(e));
    AT(t->residual + b) = left + LANE_NAME(select)(positive, part, -part);
    AT(t->curvature + b) = part / (e + 1.0);
  }
}
