/* Standard normal variates of R's generator, many at a time.
 *
 * They make public calls faster (bench/linalg.R: processor time with norm_rand()
 * over time with these): 1.08 and 1.12 (gibbs_bmf(), rank 10 and 30), 1.08 (4,000
 * draws of laplace_logistic()), 1.14 and 0.99 (mh_sample() of a density in C and of
 * an R function, d = 10). */
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
