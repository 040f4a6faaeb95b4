/* The terms of a block of observations, by link; logistic.c includes this file once
 * for each width of vector, after lanes_next.h. */

#include "numeric/lane_math.h"

/* e = exp(-|eta|) never overflows, and nothing cancels where s is 0 or m:
 * for eta > 0, s eta - m log(1 + exp(eta)) = (s - m) eta - m log(1 + e) and
 * s - m sigma(eta) = (s - m) + m e / (1 + e). */
LANE_TARGET static void LANE_NAME(logit_terms)(logistic_terms *t) {
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

/* K(t) = -Q'(t) / Q(t) - t, Q = Phi(-.) the upper tail of the normal distribution,
 * t >= 0, to a few units in the last place: about 1/t for large t.  (t + 5/4) K(t)
 * is a polynomial in u = (t - 4) / (t + 4), which interpolates it at the 28 Chebyshev
 * nodes of -1 <= u <= 1 and leaves a relative error of 1e-16; its even and its odd
 * terms are summed side by side. */
LANE_TARGET static inline VEC LANE_NAME(tail_excess)(VEC t) {
  static const double even[] = {
    1.1844375085697232,      -0.14259871052439452,  -0.06750053481076351,
    0.032360231946971525,    -0.010095793629049069, 0.0024915720236999652,
    -0.00046413092640038754, 3.896573195562015e-05, 1.703580735174054e-05,
    -1.1802610085700332e-05, 4.574926478633692e-06, -1.2902027069958226e-06,
    2.4858395797692447e-07,  -2.438494756035184e-08};
  static const double odd[] = {
    -0.1554020567759819,     0.1824812571327506,      -0.025396637049825744,
    -0.0027683667926589176,  0.0036817230605858857,   -0.001759719978476808,
    0.0006412080936475851,   -0.00019808500152392218, 5.2828287712269654e-05,
    -1.1822653010919231e-05, 2.0209935849944703e-06,  -1.9688976310016765e-07,
    -6.327518385011884e-09,  3.3986875277553945e-09};
  const VEC u = (t - 4.0) / (t + 4.0), u2 = u * u;
  VEC p = LANE_SPLAT(even[13]), q = LANE_SPLAT(odd[13]);
  for (int j = 12; j >= 0; j--) {
    p = LANE_FMA(p, u2, LANE_SPLAT(even[j]));
    q = LANE_FMA(q, u2, LANE_SPLAT(odd[j]));
  }
  return LANE_FMA(q, u, p) / (t + 1.25);
}

/* log(x) for finite x > 1/2, to about one unit in the last place of 1 or of the
 * result: x = 2^n f, 1 <= f < 2. */
LANE_TARGET static inline VEC LANE_NAME(log_above_half)(VEC x) {
  const double magic = 6755399441055744.0; /* 1.5 * 2^52 */
  const BITS one = (BITS)((VEC){0} + 1.0), shift = (BITS)((VEC){0} + magic);
  const BITS exponent = ((BITS)x >> 52) - 1023;
  const VEC n = (VEC)(shift + exponent) - magic;
  const VEC f = (VEC)(((BITS)x & 0xFFFFFFFFFFFFF) | one);
  return LANE_FMA(n, LANE_SPLAT(0.69314718055994530942),
                  LANE_NAME(log1p_unit)(f - 1.0));
}

/* With t = |eta|, outcomes on the side of eta have the probability 1 - Q(t) and
 * the slope g = -Q'(t) / (1 - Q(t)); those on the other side have Q(t) and
 * k = -Q'(t) / Q(t) = t + K(t): no difference of nearly equal numbers is taken. */
LANE_TARGET static void LANE_NAME(probit_terms)(logistic_terms *terms) {
  const double root = 0.39894228040143267794, log_root = 0.91893853320467274178;
  for (size_t b = 0; b < LOGISTIC_BLOCK; b += WIDTH) {
    const VEC eta = FROM(terms->eta + b), s = FROM(terms->success + b);
    const VEC f = FROM(terms->total + b) - s;
    const BITS positive = (BITS)(eta > 0.0);
    const VEC t = LANE_NAME(select)(positive, eta, -eta);
    const VEC same = LANE_NAME(select)(positive, s, f);
    const VEC other = LANE_NAME(select)(positive, f, s);
    const VEC half = -0.5 * t * t;
    const VEC density = root * LANE_NAME(exp_nonpositive)(half);
    const VEC excess = LANE_NAME(tail_excess)(t), k = t + excess;
    const VEC tail = density / k, rest = 1.0 - tail, g = density / rest;
    const VEC log_tail = half - log_root - LANE_NAME(log_above_half)(k);
    const VEC log_rest = -LANE_NAME(log1p_unit)(tail / rest);
    const BITS some = (BITS)(other > 0.0);
    const VEC far = (VEC)(some & (BITS)(other * log_tail));
    const VEC slope = LANE_FMA(same, g, -other * k);
    AT(terms->log_lik + b) = LANE_FMA(same, log_rest, far);
    AT(terms->residual + b) = LANE_NAME(select)(positive, slope, -slope);
    AT(terms->curvature + b) = LANE_FMA(same, g * (g + t), other * k * excess);
  }
}
