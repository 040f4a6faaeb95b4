/* numeric/dense.h by R's BLAS and LAPACK: what bench/linalg.R compares our kernels
 * with.  No part of the package.  With one of the PLAIN_ names defined only that
 * group of functions is here. */
#if !defined(PLAIN_GRAM) && !defined(PLAIN_CHOLESKY) && \
  !defined(PLAIN_PRODUCTS)
#define PLAIN_GRAM
#define PLAIN_CHOLESKY
#define PLAIN_PRODUCTS
#define PLAIN_REST
#endif

#include "numeric/blas.h"
#include "numeric/dense.h"

#include <R_ext/BLAS.h>
#include <R_ext/Lapack.h>
#include <string.h>

#ifndef FCONE
#define FCONE
#endif

#define ONE (&(const double){1.0})
#define STEP (&(const int){1})

#ifdef PLAIN_GRAM
void dense_add_gram(const double *block, size_t rows, size_t p, double sign,
                    double *a, size_t stride) {
  const int order = (int)p, k = (int)rows, lda = (int)stride;
  if (order > 0)
    F77_CALL(dsyrk)
  ("L", "T", &order, &k, &sign, block, &k, ONE, a, &lda FCONE FCONE);
}
#endif

#ifdef PLAIN_PRODUCTS
double dense_dot(const double *x, const double *y, size_t n) {
  const int size = (int)n;
  return F77_CALL(ddot)(&size, x, STEP, y, STEP);
}

void dense_add_columns(double *y, const double *x, size_t stride,
                       const double *w, size_t columns, size_t n) {
  const int m = (int)n, k = (int)columns, ldx = (int)stride;
  if (m > 0 && k > 0)
    F77_CALL(dgemv)
  ("N", &m, &k, ONE, x, &ldx, w, STEP, ONE, y, STEP FCONE);
}

double dense_scale_and_dot(double *scaled, const double *x, const double *scale,
                           const double *y, size_t n) {
  const double sum = dense_dot(x, y, n);
  for (size_t i = 0; i < n; i++)
    scaled[i] = x[i] * scale[i];
  return sum;
}
#endif

#ifdef PLAIN_REST
dense_moments dense_sum_around(const double *x, size_t n, double centre) {
  dense_moments sums = {0.0, 0.0, 0.0};
  for (size_t i = 0; i < n; i++) {
    const double away = x[i] - centre;
    sums.square += x[i] * x[i];
    sums.change += away;
    sums.spread += away * away;
  }
  return sums;
}

void dense_solve_lower(const double *l, size_t p, double *b) {
  blas_solve_lower(l, p, b);
}

void dense_solve_lower_transposed(const double *l, size_t p, double *b) {
  blas_solve_lower_transposed(l, p, b);
}
#endif

#ifdef PLAIN_CHOLESKY
size_t dense_cholesky_work(size_t p) {
  (void)p;
  return 1;
}

status dense_cholesky(double *a, size_t p, double *work) {
  const int order = (int)p;
  int info = 0;
  (void)work;
  if (order > 0)
    F77_CALL(dpotrf)("L", &order, a, &order, &info FCONE);
  for (size_t j = 0; j < p; j++)
    memset(a + p * j, 0, j * sizeof *a);
  return info == 0 ? STATUS_OK : STATUS_NOT_POSITIVE_DEFINITE;
}
#endif
