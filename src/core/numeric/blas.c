#include "numeric/rounding.h"

#include "numeric/blas.h"

/* R declares BLAS for its compiler of Fortran.  Without R (tests/c) these are
 * gfortran's names; the lengths of strings come last. */
#ifndef MATHLIB_STANDALONE
#include <R_ext/BLAS.h>
#ifndef FCONE
#define FCONE
#endif
#else
#define F77_CALL(name) name##_
#define FCONE , (size_t)1
void dtrsv_(const char *uplo, const char *trans, const char *diag, const int *n,
            const double *a, const int *lda, double *x, const int *incx, size_t,
            size_t, size_t);
void dtrsm_(const char *side, const char *uplo, const char *trans,
            const char *diag, const int *m, const int *n, const double *alpha,
            const double *a, const int *lda, double *b, const int *ldb, size_t,
            size_t, size_t, size_t);
#endif

static void solve_one(const char *trans, const double *l, size_t p, double *b) {
  const int n = (int)p, lda = n > 0 ? n : 1, step = 1;
  F77_CALL(dtrsv)("L", trans, "N", &n, l, &lda, b, &step FCONE FCONE FCONE);
}

void blas_solve_lower(const double *l, size_t p, double *b) {
  solve_one("N", l, p, b);
}

void blas_solve_lower_transposed(const double *l, size_t p, double *b) {
  solve_one("T", l, p, b);
}

void blas_solve_rows(const double *l, size_t p, double *b, size_t sides) {
  const int m = (int)sides, n = (int)p, lda = n > 0 ? n : 1;
  const int ldb = m > 0 ? m : 1;
  const double one = 1.0;
  F77_CALL(dtrsm)
  ("R", "L", "N", "N", &m, &n, &one, l, &lda, b, &ldb FCONE FCONE FCONE FCONE);
}
