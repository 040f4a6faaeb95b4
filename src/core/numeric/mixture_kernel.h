/* Sums over the components of a mixture of normals for one width of vector.
 * mixture.c includes this file once for each width, after lanes_next.h. */

#include "numeric/lane_math.h"

#define ALL(x) LANE_SPLAT(x)

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
  for (size_t i = 0; i < n; i += WIDTH) {
    const VEC w = FROM(inverse + i);
    const VEC z = LANE_NAME(within)((q - FROM(mean + i)) * w, 40.0);
    const VEC t = z * z, e = LANE_NAME(exp_nonpositive)(-0.5 * t);
    below += LANE_NAME(normal_cdf)(z, e);
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

/* out <- the sum, the least and the largest of n numbers. */
LANE_TARGET static void LANE_NAME(range)(const double *x, size_t n,
                                         double *out) {
  VEC sum = ALL(0.0), least = ALL(INFINITY), most = ALL(-INFINITY);
  size_t i = 0;
  for (; i + WIDTH <= n; i += WIDTH) {
    const VEC one = FROM(x + i);
    sum += one;
    least = LANE_NAME(select)((BITS)(one < least), one, least);
    most = LANE_NAME(select)((BITS)(one > most), one, most);
  }
  out[0] = LANE_NAME(total)(sum);
  out[1] = INFINITY;
  out[2] = -INFINITY;
  for (size_t k = 0; k < WIDTH; k++) {
    out[1] = fmin(out[1], least[k]);
    out[2] = fmax(out[2], most[k]);
  }
  for (; i < n; i++) {
    out[0] += x[i];
    out[1] = fmin(out[1], x[i]);
    out[2] = fmax(out[2], x[i]);
  }
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
