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
