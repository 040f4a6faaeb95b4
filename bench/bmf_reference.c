/* What bench/bmf.R compares gibbs_bmf() with in C: the rows of a sweep done with
 * R's BLAS and LAPACK, and the peak of the processor's multiply-adds.
 *
 * A row as a careful programmer would do it with libraries: the factors of the
 * rated partners gathered into a panel, Q = Lambda + beta X'X by dsyrk, X'y by
 * dgemv, dpotrf, two triangular solves about the normals.  Hyperparameters, the
 * precision of the ratings and all else are left out, which is to its favour. */
#include <R.h>
#include <R_ext/BLAS.h>
#include <R_ext/Lapack.h>
#include <R_ext/Random.h>
#include <Rinternals.h>
#include <string.h>
#include <time.h>

#ifndef FCONE
#define FCONE
#endif

/* rows: list(start, index, value); x: d x rows, overwritten; partners: d x other
 * rows; precision: Lambda (d x d). */
SEXP bmf_reference_rows(SEXP start_, SEXP index_, SEXP value_, SEXP x_,
                        SEXP partners_, SEXP precision_, SEXP beta_) {
  const int *start = INTEGER(start_), *index = INTEGER(index_);
  const double *value = REAL(value_), *partners = REAL(partners_);
  const int d = Rf_nrows(x_), rows = Rf_ncols(x_), one = 1;
  const double unit = 1.0, zero = 0.0, beta = Rf_asReal(beta_);
  int longest = 1, info = 0;
  for (int i = 0; i < rows; i++)
    if (start[i + 1] - start[i] > longest)
      longest = start[i + 1] - start[i];
  double *panel = (double *)R_alloc((size_t)longest * d, sizeof(double));
  double *q = (double *)R_alloc((size_t)d * d, sizeof(double));
  double *b = (double *)R_alloc((size_t)d, sizeof(double));
  double *x = REAL(x_);
  GetRNGstate();
  for (size_t e = 0; e < (size_t)d * rows; e++)
    x[e] = norm_rand();
  PutRNGstate();
  for (int i = 0; i < rows; i++) {
    const int count = start[i + 1] - start[i];
    double *row = x + (size_t)i * d;
    for (int e = 0; e < count; e++)
      memcpy(panel + (size_t)e * d, partners + (size_t)index[start[i] + e] * d,
             d * sizeof(double));
    memcpy(q, REAL(precision_), (size_t)d * d * sizeof(double));
    memset(b, 0, d * sizeof(double));
    if (count > 0) {
      F77_CALL(dsyrk)
      ("L", "N", &d, &count, &beta, panel, &d, &unit, q, &d FCONE FCONE);
      F77_CALL(dgemv)
      ("N", &d, &count, &beta, panel, &d, value + start[i], &one, &zero, b,
       &one FCONE);
    }
    F77_CALL(dpotrf)("L", &d, q, &d, &info FCONE);
    F77_CALL(dtrsv)("L", "N", "N", &d, q, &d, b, &one FCONE FCONE FCONE);
    for (int k = 0; k < d; k++)
      row[k] += b[k];
    F77_CALL(dtrsv)("L", "T", "N", &d, q, &d, row, &one FCONE FCONE FCONE);
  }
  return Rf_ScalarInteger(info);
}

/* ---- the peak ---------------------------------------------------------------- */

#if defined(__x86_64__) && defined(__GNUC__)
#define VECTOR(bytes) __attribute__((vector_size(bytes)))
typedef double VECTOR(16) vec2;
typedef double VECTOR(32) vec4;
typedef double VECTOR(64) vec8;

/* Ten chains of a <- a * b + c that do not wait for one another. */
#define PEAK(name, type, fma)                                     \
  static double name(long rounds) {                               \
    type b = (type){0} + 0.999, c = (type){0} + 1e-3;             \
    type a0 = b, a1 = b, a2 = b, a3 = b, a4 = b;                  \
    type a5 = b, a6 = b, a7 = b, a8 = b, a9 = b;                  \
    for (long r = 0; r < rounds; r++) {                           \
      a0 = fma(a0, b, c), a1 = fma(a1, b, c), a2 = fma(a2, b, c); \
      a3 = fma(a3, b, c), a4 = fma(a4, b, c), a5 = fma(a5, b, c); \
      a6 = fma(a6, b, c), a7 = fma(a7, b, c), a8 = fma(a8, b, c); \
      a9 = fma(a9, b, c);                                         \
    }                                                             \
    a0 += a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9;             \
    return a0[0];                                                 \
  }

#include <immintrin.h>
#define FMA2(a, b, c) ((a) * (b) + (c))
#define FMA4(a, b, c) \
  ((vec4)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c))
#define FMA8(a, b, c) \
  ((vec8)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c))
PEAK(peak_2, vec2, FMA2)
__attribute__((target("avx2,fma"))) PEAK(peak_4, vec4, FMA4)
  __attribute__((target("avx512f"))) PEAK(peak_8, vec8, FMA8)

    static double seconds(void) {
  return (double)clock() / CLOCKS_PER_SEC;
}

/* Operations (two a multiply-add) of this processor a second, with vectors of so
 * many doubles; NA where it has no such vectors. */
SEXP bmf_reference_peak(SEXP width_) {
  const int width = Rf_asInteger(width_);
  const long rounds = 20000000L;
  if ((width == 8 && !__builtin_cpu_supports("avx512f")) ||
      (width == 4 && !__builtin_cpu_supports("fma")))
    return Rf_ScalarReal(NA_REAL);
  const double began = seconds();
  volatile double keep = width == 8   ? peak_8(rounds)
                         : width == 4 ? peak_4(rounds)
                                      : peak_2(rounds);
  (void)keep;
  return Rf_ScalarReal(20.0 * width * (double)rounds / (seconds() - began));
}
#else
SEXP bmf_reference_peak(SEXP width_) {
  (void)width_;
  return Rf_ScalarReal(NA_REAL);
}
#endif
