/* Sums over the components of a mixture of normals for one width of vector.
 * mixture.c includes this file once for each width, after lanes_next.h. */

#include "numeric/lane_math.h"

#define ALL(x) LANE_SPLAT(x)

/* Mills' ratio P(Z > x) / phi(x), 0 <= x <= 40, to 5e-15 of it: (x + 4.5) times it is
 * a polynomial of 1 / (x + 4.5), fitted at the Chebyshev nodes of that range. */
LANE_TARGET static inline VEC LANE_NAME(mills)(VEC x) {
  const VEC r = 1.0 / (x + 4.5);
  const VEC u = LANE_FMA(ALL(-10.0125), r, ALL(1.225)), u2 = u * u;
  VEC even = ALL(1.25200036004636899e-8), odd = ALL(-7.445392671876467777e-9);
  even = LANE_FMA(even, u2, ALL(-1.561310154469388287e-7));
  odd = LANE_FMA(odd, u2, ALL(4.210720959333684361e-8));
  even = LANE_FMA(even, u2, ALL(1.344185947142123681e-6));
  odd = LANE_FMA(odd, u2, ALL(-6.591697432815091347e-8));
  even = LANE_FMA(even, u2, ALL(-0.00001133977135812064584));
  odd = LANE_FMA(odd, u2, ALL(2.330045472614111811e-6));
  even = LANE_FMA(even, u2, ALL(0.0001031010946680046726));
  odd = LANE_FMA(odd, u2, ALL(-0.000107976490441040717));
  even = LANE_FMA(even, u2, ALL(-0.0009294661055834414835));
  odd = LANE_FMA(odd, u2, ALL(0.002946579553398689));
  even = LANE_FMA(even, u2, ALL(0.003602762790162081751));
  odd = LANE_FMA(odd, u2, ALL(-0.05296129017906679316));
  even = LANE_FMA(even, u2, ALL(0.2112371894807224137));
  odd = LANE_FMA(odd, u2, ALL(-0.5493157715883410385));
  even = LANE_FMA(even, u2, ALL(1.074298999406639616));
  odd = LANE_FMA(odd, u2, ALL(-1.664617655468465495));
  even = LANE_FMA(even, u2, ALL(2.087557355066977605));
  return r * LANE_FMA(odd, u, even);
}

/* The sum of a vector. */
LANE_TARGET static inline double LANE_NAME(total)(VEC v) {
  double sum = 0.0;
  for (size_t i = 0; i < WIDTH; i++)
    sum += v[i];
  return sum;
}

/* Sums over n components (whole vectors) of Phi(z) and, without the factor
 * 1 / sqrt(2 pi), of its first four derivatives with respect to q, where
 * z = (q - mean) inverse. */
LANE_TARGET static void LANE_NAME(sums)(const double *mean,
                                        const double *inverse, size_t n,
                                        double q, double *sums) {
  VEC below = ALL(0.0), f1 = below, f2 = below, f3 = below, f4 = below;
  const VEC most = ALL(40.0), none = ALL(0.0), one = ALL(1.0);
  for (size_t i = 0; i < n; i += WIDTH) {
    const VEC w = FROM(inverse + i);
    VEC z = (q - FROM(mean + i)) * w;
    z = LANE_NAME(select)((BITS)(z > most), most, z);
    z = LANE_NAME(select)((BITS)(z < -most), -most, z);
    const BITS right = (BITS)(z > none);
    const VEC t = z * z, e = LANE_NAME(exp_nonpositive)(-0.5 * t);
    const VEC x = LANE_NAME(select)(right, z, -z);
    const VEC tail = M_1_SQRT_2PI * e * LANE_NAME(mills)(x);
    below += LANE_NAME(select)(right, one - tail, tail);
    const VEC a = e * w, b = -z * w, c = a * w * w;
    f1 += a;
    f2 = LANE_FMA(a, b, f2);
    f3 = LANE_FMA(c, t - 1.0, f3);
    f4 = LANE_FMA(c * b, t - 3.0, f4);
  }
  sums[0] = LANE_NAME(total)(below);
  sums[1] = LANE_NAME(total)(f1);
  sums[2] = LANE_NAME(total)(f2);
  sums[3] = LANE_NAME(total)(f3);
  sums[4] = LANE_NAME(total)(f4);
}

/* Sums over n components (whole vectors) of the second to fourth powers of
 * x - centre, x ~ N(mean, sd^2), in expectation. */
LANE_TARGET static void LANE_NAME(moments)(const double *mean, const double *sd,
                                           size_t n, double centre,
                                           double *sums) {
  VEC second = ALL(0.0), third = second, fourth = second;
  for (size_t i = 0; i < n; i += WIDTH) {
    const VEC d = FROM(mean + i) - centre, s = FROM(sd + i);
    const VEC d2 = d * d, s2 = s * s;
    second += d2 + s2;
    third = LANE_FMA(d, LANE_FMA(ALL(3.0), s2, d2), third);
    fourth += LANE_FMA(d2, LANE_FMA(ALL(6.0), s2, d2), 3.0 * s2 * s2);
  }
  sums[0] = LANE_NAME(total)(second);
  sums[1] = LANE_NAME(total)(third);
  sums[2] = LANE_NAME(total)(fourth);
}

#undef ALL
