/* numeric/uniforms.h by a call of unif_rand() for each number: what bench/linalg.R
 * compares our generator with.  No part of the package. */
#include "numeric/uniforms.h"

#include "numeric/rmath.h"

uint32_t *uniforms_take(const generator *g, size_t n) {
  (void)g;
  (void)n;
  return NULL;
}

void uniforms_give(const generator *g, const uint32_t *words) {
  (void)g;
  (void)words;
}

void uniforms_next(uint32_t *words, double *out, size_t n) {
  (void)words;
  for (size_t i = 0; i < n; i++)
    out[i] = unif_rand();
}

void uniforms_draw(const generator *g, double *out, size_t n) {
  (void)g;
  uniforms_next(NULL, out, n);
}
