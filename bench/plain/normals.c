/* numeric/normals.h by a call of norm_rand() or philox_normal() for each number:
 * what bench/linalg.R compares our quantiles with.  No part of the package. */
#include "numeric/normals.h"

#include "numeric/rmath.h"

void normals_draw(const generator *g, double *out, size_t n) {
  (void)g;
  for (size_t i = 0; i < n; i++)
    out[i] = norm_rand();
}

void normals_keyed(philox_key key, uint64_t from, double *out, size_t n) {
  philox_stream s = philox_open(key, from, 0);
  for (size_t i = 0; i < n; i++)
    out[i] = philox_normal(&s);
}

normals_span normals_span_of(double mean, double low, double high) {
  const int mirrored = low > mean;
  normals_span s = {.low = mirrored ? mean - high : low - mean,
                    .high = mirrored ? mean - low : high - mean,
                    .mirrored = mirrored};
  s.below_low = pnorm(s.low, 0.0, 1.0, 1, 0);
  s.below_high = pnorm(s.high, 0.0, 1.0, 1, 0);
  return s;
}

void normals_keyed_between(philox_key key, uint64_t from, const int *place,
                           const normals_interval *at, double *out, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const normals_span s =
      normals_span_of(at->mean[i], at->low[i], at->high[i]);
    philox_stream own =
      philox_open(key, place ? (uint64_t)place[i] : from + i, 0);
    const double p =
      s.below_low + philox_unif(&own) * (s.below_high - s.below_low);
    const double x = qnorm(p, 0.0, 1.0, 1, 0);
    out[i] = at->mean[i] + (s.mirrored ? -x : x);
  }
}
