/* Dense kernels of small order with a fixed order of sums: what feeds a chain
 * uses these and not a threaded BLAS, whose bits depend on its threads.
 * Matrices are column-major with leading dimension d; of an L the lower
 * triangle alone is read.  Unless said otherwise inputs and outputs do not
 * overlap.  Nothing allocates. */
#ifndef GIBBSITE_LINALG_H
#define GIBBSITE_LINALG_H

#include "numeric/status.h"
#include <stddef.h>

/* a (d x d, lower triangle read) <- L with a = L L', upper triangle zeroed.
 * STATUS_NOT_POSITIVE_DEFINITE (also for NaN and Inf) leaves a unusable. */
status linalg_cholesky(double *a, size_t d);

/* b <- L^-1 b  and  b <- L^-T b;  L: lower triangular, b: d. */
void linalg_solve_lower(const double *l, size_t d, double *b);
void linalg_solve_lower_transposed(const double *l, size_t d, double *b);

/* inverse (d x d, full symmetric) <- (L L')^-1: column by column through the
 * two triangular solves. For the precision that is added to another one. */
void linalg_inverse_from_cholesky(const double *l, size_t d, double *inverse);

/* x'y, summed from the first element to the last. */
double linalg_inner(const double *x, const double *y, size_t n);

/* log |L L'| */
double linalg_log_determinant(const double *l, size_t d);

/* y <- L x (y and x may be the same), out (d x d, full symmetric) <- M M' */
void linalg_lower_times_vector(const double *l, size_t d, const double *x,
                               double *y);
void linalg_outer_gram(const double *m, size_t d, double *out);

/* L <- the factor of L L' + v v' (O(d^2), by rotations); v is used up. */
void linalg_rank_one_update(double *l, size_t d, double *v);

/* A draw from N(Q^-1 b, Q^-1) through Q = L L':  L^-T (L^-1 b + e),
 * e ~ N(0, I) given in `normals` (d).  On return q holds L and b the draw. */
status linalg_draw_canonical(double *q, double *b, const double *normals,
                             size_t d);

#endif
