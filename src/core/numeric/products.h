/* Linear predictors of many rows at many draws, a number's bits the same whatever
 * other rows and draws there are, which BLAS does not promise. */
#ifndef GIBBSITE_PRODUCTS_H
#define GIBBSITE_PRODUCTS_H

#include <stddef.h>

/* out (draws x n) <- offset_i + x_i'w_s.  x: n x p; w: draws x p; offset: n, or
 * NULL. */
void products_predictors(const double *x, size_t n, size_t p, const double *w,
                         size_t draws, const double *offset, double *out);

#endif
