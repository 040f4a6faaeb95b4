/* Elementary functions of vectors, for the kernel files: each includes this one
 * for each width of vector, after lanes_next.h.
 *
 * They replace the C library's exp() and log1p() because they make a
 * public call faster (bench/linalg.R: processor time with the library's over time
 * with these): 1.01 (gibbs_gmm(), 272 x 2, k = 2), 1.42 (1e4 x 5, k = 5), 1.08 (the
 * mode of laplace_logistic(), 1e5 x 50). */

#include "numeric/rmath.h"

/* a + b x, b and a numbers, for polynomials in their first terms */
#define LINEAR(a, b, x) LANE_FMA(LANE_SPLAT(b), x, LANE_SPLAT(a))

/* a where the mask has ones, else b. */
LANE_TARGET static inline VEC LANE_NAME(select)(BITS mask, VEC a, VEC b) {
  return (VEC)((mask & (BITS)a) | (~mask & (BITS)b));
}

/* exp(x) for x <= 0 to about one unit in the last place, 0 below -708:
 * x = n log 2 + r, |r| <= log(2) / 2, n added to the exponent bits of exp(r) =
 * 1 + r + r^2 q(r).  q interpolates (exp(r) - 1 - r) / r^2 at the ten Chebyshev
 * nodes of that interval, which leaves a relative error of 3e-17; its terms are
 * summed in pairs, which are independent.  Adding
 * 1.5 * 2^52 rounds to the nearest whole number and leaves it in the low bits. */
LANE_TARGET static inline VEC LANE_NAME(exp_nonpositive)(VEC x) {
  const double magic = 6755399441055744.0; /* 1.5 * 2^52 */
  const VEC lowest = (VEC){0} - 708.0;
  const BITS too_low = (BITS)(x < lowest);
  const VEC bounded = LANE_NAME(select)(too_low, lowest, x);
  const VEC shifted = LINEAR(magic, 1.44269504088896338700, bounded);
  const VEC n = shifted - magic;
  const VEC high =
    LANE_FMA(-n, LANE_SPLAT(6.93147180369123816490e-01), bounded);
  const VEC r = LANE_FMA(-n, LANE_SPLAT(1.90821492927058770002e-10), high);
  const VEC r2 = r * r, r4 = r2 * r2;
  const VEC q0 = LINEAR(0.5, 0.16666666666666666, r);
  const VEC q2 = LINEAR(0.041666666666624164, 0.008333333333330065, r);
  const VEC q4 = LINEAR(0.0013888888917196719, 0.00019841269863040545, r);
  const VEC q6 = LINEAR(2.4801521322368692e-05, 2.7557268480310024e-06, r);
  const VEC q8 = LINEAR(2.7620075879983367e-07, 2.5100375832561234e-08, r);
  const VEC low_half = LANE_FMA(r2, q2, q0);
  const VEC high_half = LANE_FMA(r4, q8, LANE_FMA(r2, q6, q4));
  const VEC q = LANE_FMA(r4, high_half, low_half);
  const VEC p = 1.0 + LANE_FMA(r2, q, r);
  const VEC scaled = (VEC)((BITS)p + ((BITS)shifted << 52));
  return (VEC)(~too_low & (BITS)scaled);
}

/* log(1 + x) for 0 <= x <= 1 to a few units in the last place, however small x:
 * 2 atanh(s), s = x / (2 + x) <= 1/3, by its series up to s^33 (the remainder is
 * below 2e-18 of it). */
LANE_TARGET static inline VEC LANE_NAME(log1p_unit)(VEC x) {
  const VEC s = x / (x + 2.0), t = s * s;
  VEC p = LINEAR(1.0 / 31.0, 1.0 / 33.0, t);
  p = LANE_FMA(p, t, LANE_SPLAT(1.0 / 29.0));
  p = LANE_FMA(p, t, LANE_SPLAT(1.0 / 27.0));
  p = LANE_FMA(p, t, LANE_SPLAT(1.0 / 25.0));
  p = LANE_FMA(p, t, LANE_SPLAT(1.0 / 23.0));
  p = LANE_FMA(p, t, LANE_SPLAT(1.0 / 21.0));
  p = LANE_FMA(p, t, LANE_SPLAT(1.0 / 19.0));
  p = LANE_FMA(p, t, LANE_SPLAT(1.0 / 17.0));
  p = LANE_FMA(p, t, LANE_SPLAT(1.0 / 15.0));
  p = LANE_FMA(p, t, LANE_SPLAT(1.0 / 13.0));
  p = LANE_FMA(p, t, LANE_SPLAT(1.0 / 11.0));
  p = LANE_FMA(p, t, LANE_SPLAT(1.0 / 9.0));
  p = LANE_FMA(p, t, LANE_SPLAT(1.0 / 7.0));
  p = LANE_FMA(p, t, LANE_SPLAT(1.0 / 5.0));
  p = LANE_FMA(p, t, LANE_SPLAT(1.0 / 3.0));
  p = LANE_FMA(p, t, LANE_SPLAT(1.0));
  return 2.0 * s * p;
}

/* Mills' ratio P(Z > x) / phi(x), 0 <= x <= 40, to 5e-15 of it: (x + 4.5) times it is
 * a polynomial of 1 / (x + 4.5), fitted at the Chebyshev nodes of that range. */
LANE_TARGET static inline VEC LANE_NAME(mills)(VEC x) {
  const VEC r = 1.0 / (x + 4.5);
  const VEC u = LANE_FMA(LANE_SPLAT(-10.0125), r, LANE_SPLAT(1.225)),
            u2 = u * u;
  VEC even = LANE_SPLAT(1.25200036004636899e-8),
      odd = LANE_SPLAT(-7.445392671876467777e-9);
  even = LANE_FMA(even, u2, LANE_SPLAT(-1.561310154469388287e-7));
  odd = LANE_FMA(odd, u2, LANE_SPLAT(4.210720959333684361e-8));
  even = LANE_FMA(even, u2, LANE_SPLAT(1.344185947142123681e-6));
  odd = LANE_FMA(odd, u2, LANE_SPLAT(-6.591697432815091347e-8));
  even = LANE_FMA(even, u2, LANE_SPLAT(-0.00001133977135812064584));
  odd = LANE_FMA(odd, u2, LANE_SPLAT(2.330045472614111811e-6));
  even = LANE_FMA(even, u2, LANE_SPLAT(0.0001031010946680046726));
  odd = LANE_FMA(odd, u2, LANE_SPLAT(-0.000107976490441040717));
  even = LANE_FMA(even, u2, LANE_SPLAT(-0.0009294661055834414835));
  odd = LANE_FMA(odd, u2, LANE_SPLAT(0.002946579553398689));
  even = LANE_FMA(even, u2, LANE_SPLAT(0.003602762790162081751));
  odd = LANE_FMA(odd, u2, LANE_SPLAT(-0.05296129017906679316));
  even = LANE_FMA(even, u2, LANE_SPLAT(0.2112371894807224137));
  odd = LANE_FMA(odd, u2, LANE_SPLAT(-0.5493157715883410385));
  even = LANE_FMA(even, u2, LANE_SPLAT(1.074298999406639616));
  odd = LANE_FMA(odd, u2, LANE_SPLAT(-1.664617655468465495));
  even = LANE_FMA(even, u2, LANE_SPLAT(2.087557355066977605));
  return r * LANE_FMA(odd, u, even);
}

/* |x| */
LANE_TARGET static inline VEC LANE_NAME(size)(VEC x) {
  return LANE_NAME(select)((BITS)(x < LANE_SPLAT(0.0)), -x, x);
}

/* x, or -most or most beyond these. */
LANE_TARGET static inline VEC LANE_NAME(within)(VEC x, double most) {
  const VEC high = LANE_SPLAT(most);
  x = LANE_NAME(select)((BITS)(x > high), high, x);
  return LANE_NAME(select)((BITS)(x < -high), -high, x);
}

/* Phi(x), |x| <= 40, from e = exp(-x^2 / 2). */
LANE_TARGET static inline VEC LANE_NAME(normal_cdf)(VEC x, VEC e) {
  const VEC tail = M_1_SQRT_2PI * e * LANE_NAME(mills)(LANE_NAME(size)(x));
  return LANE_NAME(select)((BITS)(x > LANE_SPLAT(0.0)), 1.0 - tail, tail);
}

#undef LINEAR
