/* Dense kernels of large order: sums of squares and products of blocks of rows,
 * and the Cholesky factor of the sums.  Column-major matrices; no allocation.
 *
 * Before a chain they replace BLAS and LAPACK because they make
 * laplace_logistic() faster (bench/linalg.R: processor time with R's routines over
 * time with these).  All of them, with the reference BLAS: 2.0 (1e4 x 20
 * predictors), 6.2 (1e5 x 50), 4.1 (1e6 x 20); with OpenBLAS on one thread: 1.1,
 * 1.3, 1.4.  One group at a time, in an earlier run with the reference BLAS: gram
 * 7.1 (1e5 x 50), 7.8 (2,000 x 1,000); cholesky 1.9 (2,000 x 1,000); products 1.9
 * (1e5 x 50), 1.9 (1e6 x 20).
 *
 * Inside a sweep they are used because the bits of a BLAS with threads may
 * depend on their number. */
#ifndef GIBBSITE_DENSE_H
#define GIBBSITE_DENSE_H

#include <stddef.h>

#include "numeric/status.h"

/* Rows of a block come in multiples of this. */
#define DENSE_LANES 8

/* a (p x p, lower triangle alone, leading dimension `stride`) += sign block'
 * block;  block: rows x p, rows a multiple of DENSE_LANES, sign 1 or -1.
 * Fastest where the block begins at a multiple of 64 bytes. */
void dense_add_gram(const double *block, size_t rows, size_t p, double sign,
                    double *a, size_t stride);

/* sum_i x_i y_i, in a fixed order; n a multiple of DENSE_LANES. */
double dense_dot(const double *x, const double *y, size_t n);

/* y <- y + x w;  x: n x columns, leading dimension `stride`. */
void dense_add_columns(double *y, const double *x, size_t stride,
                       const double *w, size_t columns, size_t n);

/* scaled_i <- x_i scale_i (may be x); returns sum_i x_i y_i; n a multiple of
 * DENSE_LANES. */
double dense_scale_and_dot(double *scaled, const double *x, const double *scale,
                           const double *y, size_t n);

/* sum x_i^2, sum (x_i - centre), sum (x_i - centre)^2; any n. */
typedef struct {
  double square, change, spread;
} dense_moments;

dense_moments dense_sum_around(const double *x, size_t n, double centre);

/* b <- L^-1 b, b <- L^-T b;  l: p x p, lower triangle read. */
void dense_solve_lower(const double *l, size_t p, double *b);
void dense_solve_lower_transposed(const double *l, size_t p, double *b);

/* a (p x p, lower triangle read) <- L with a = L L', upper triangle zero.
 * STATUS_NOT_POSITIVE_DEFINITE (also for NaN and Inf) leaves a unusable.  work:
 * dense_cholesky_work(p) doubles. */
status dense_cholesky(double *a, size_t p, double *work);
size_t dense_cholesky_work(size_t p);

#endif
