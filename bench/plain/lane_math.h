/* numeric/lane_math.h by the C library's exp() and log1p(), element by element: what
 * bench/linalg.R compares our vectors with.  No part of the package. */
#include <math.h>

LANE_TARGET static inline VEC LANE_NAME(select)(BITS mask, VEC a, VEC b) {
  return (VEC)((mask & (BITS)a) | (~mask & (BITS)b));
}

LANE_TARGET static inline VEC LANE_NAME(exp_nonpositive)(VEC x) {
  for (size_t i = 0; i < LANE_BYTES / sizeof(double); i++)
    x[i] = x[i] < -708.0 ? 0.0 : exp(x[i]);
  return x;
}

LANE_TARGET static inline VEC LANE_NAME(log1p_unit)(VEC x) {
  for (size_t i = 0; i < LANE_BYTES / sizeof(double); i++)
    x[i] = log1p(x[i]);
  return x;
}
