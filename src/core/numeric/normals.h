/* Standard normal variates of R's generator, many at a time. */
#ifndef GIBBSITE_NORMALS_H
#define GIBBSITE_NORMALS_H

#include "numeric/uniforms.h"

/* out (n) <- what n calls of norm_rand() would give, from the same uniforms.
 * Where R's normal generator is that of RNGkind(normal.kind = "Inversion"), its
 * quantile function is taken of many uniforms at once; otherwise, and on 32-bit
 * x86, norm_rand() is called. */
void normals_draw(const generator *g, double *out, size_t n);

/* The same in three steps, as in uniforms.h (give the words back by
 * uniforms_give()).  With words the second does not call R. */
uint32_t *normals_take(const generator *g, size_t n);
void normals_next(const generator *g, uint32_t *words, double *out, size_t n);

#endif
