/* numeric/normals.h by a call of norm_rand() for each number: what bench/linalg.R
 * compares our quantiles with.  No part of the package. */
#include "numeric/normals.h"

#include "numeric/rmath.h"

uint32_t *normals_take(const generator *g, size_t n) {
  (void)g;
  (void)n;
  return NULL;
}

void normals_next(const generator *g, uint32_t *words, double *out, size_t n) {
  (void)g;
  (void)words;
  for (size_t i = 0; i < n; i++)
    out[i] = norm_rand();
}

void normals_draw(const generator *g, double *out, size_t n) {
  normals_next(g, NULL, out, n);
}
