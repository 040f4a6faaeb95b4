/* Triangular solutions by BLAS, for work before and after a chain whose order is
 * that of the data: modes, independent draws, predictions.  Inside a sweep
 * linalg.h and dense.h stand instead, since the bits of a BLAS with threads may
 * depend on their number.
 *
 * l: p x p, column-major, lower triangle read; p fits an int. */
#ifndef GIBBSITE_BLAS_H
#define GIBBSITE_BLAS_H

#include <stddef.h>

/* b <- L^-1 b, b <- L^-T b;  b: p. */
void blas_solve_lower(const double *l, size_t p, double *b);
void blas_solve_lower_transposed(const double *l, size_t p, double *b);

/* Each row of b is a right-hand side: b <- b L^-1;  b: sides x p. */
void blas_solve_rows(const double *l, size_t p, double *b, size_t sides);

#endif
