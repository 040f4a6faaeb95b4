/* Standard normal variates of R's generator, many at a time. */
#ifndef GIBBSITE_NORMALS_H
#define GIBBSITE_NORMALS_H

#include <stddef.h>

/* out (n) <- what n calls of norm_rand() would give, from the same uniforms.
 * inversion: R's normal generator is the one of RNGkind(normal.kind =
 * "Inversion"), whose quantile function is then taken of many uniforms at once;
 * otherwise norm_rand() is called. */
void normals_draw(double *out, size_t n, int inversion);

#endif
