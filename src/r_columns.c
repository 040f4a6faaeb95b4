/* .Call entries of summaries of columns: moments and quantiles of draws, and
 * quantiles of mixtures of normals over draws. */
#include <R.h>
#include <R_ext/Utils.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "numeric/convergence.h"
#include "numeric/equal.h"
#include "numeric/mixture.h"
#include "r_args.h"
#include "routines.h"

/* probs: numbers from 0 to 1; their number. */
static size_t check_probs(SEXP probs) {
  if (TYPEOF(probs) != REALSXP || Rf_isMatrix(probs))
    Rf_error("`probs` must be a vector of numbers");
  const size_t count = (size_t)XLENGTH(probs);
  for (size_t k = 0; k < count; k++)
    if (!(REAL(probs)[k] >= 0.0 && REAL(probs)[k] <= 1.0))
      Rf_error("`probs` must lie between 0 and 1");
  return count;
}

/* values: draws x columns, with at least a row. */
static void check_columns(SEXP values, const char *name, size_t *n,
                          size_t *columns) {
  args_matrix(values, name, n, columns);
  if (*n < 1 || *n > INT_MAX)
    Rf_error("`%s` must have rows", name);
}

/* Of x (n) the number in place `at` and the next one, in order; the order of x is
 * lost. */
static void two_in_order(double *x, int n, int at, double *two) {
  rPsort(x, n, at);
  two[0] = two[1] = x[at];
  if (at + 1 < n)
    two[1] = x[at + 1];
  for (int i = at + 2; i < n; i++)
    two[1] = x[i] < two[1] ? x[i] : two[1];
}

/* Two numbers of a sample of x, evenly spaced, between which the places `at` and
 * at + 1 are likely to lie. */
static void likely_bounds(const double *x, int n, int at, double *bounds) {
  enum { SAMPLE = 128 };
  double sample[SAMPLE];
  const int step = n / SAMPLE;
  for (int i = 0; i < SAMPLE; i++)
    sample[i] = x[i * step];
  R_rsort(sample, SAMPLE);
  const double share = (double)at / (double)n;
  const double centre = SAMPLE * share,
               away = 2.0 + 3.0 * sqrt(SAMPLE * share * (1.0 - share));
  const int low = (int)floor(centre - away), high = (int)ceil(centre + away);
  bounds[0] = low < 0 ? R_NegInf : sample[low];
  bounds[1] = high >= SAMPLE ? R_PosInf : sample[high];
}

/* The quantile of n numbers; y: n, work.  Of many numbers only those between two
 * bounds are put in order, if the quantile lies there. */
static double quantile_of(const double *x, int n, double p, double *y) {
  const double at = (double)(n - 1) * p;
  const int low = (int)floor(at);
  double two[2], bounds[2] = {R_NegInf, R_PosInf};
  int below = 0, inside = 0;
  if (n >= 512) {
    likely_bounds(x, n, low, bounds);
    for (int i = 0; i < n; i++) {
      y[inside] = x[i];
      below += x[i] < bounds[0];
      inside += (x[i] >= bounds[0]) & (x[i] <= bounds[1]);
    }
  }
  if (low < below || low + 1 >= below + inside) {
    memcpy(y, x, (size_t)n * sizeof *x);
    below = 0;
    inside = n;
  }
  two_in_order(y, inside, low - below, two);
  const double h = at - (double)low;
  return h > 0.0 ? quantile_between(two[0], two[1], h) : two[0];
}

/* out (count) <- quantiles of n numbers; NA with a missing one.  y: n + 1, work. */
static void column_ends(const double *x, size_t n, const double *probs,
                        size_t count, double *y, double *out) {
  int missing = 0;
  for (size_t i = 0; i < n; i++)
    missing |= x[i] != x[i];
  for (size_t k = 0; k < count; k++)
    out[k] = missing ? NA_REAL : quantile_of(x, (int)n, probs[k], y);
}

/* values: draws x columns; probs: numbers from 0 to 1. A matrix probs x columns,
 * NA for a column with a missing value. */
SEXP C_column_quantiles(SEXP values, SEXP probs) {
  size_t n, columns;
  check_columns(values, "values", &n, &columns);
  const size_t count = check_probs(probs);
  SEXP result = PROTECT(Rf_allocMatrix(REALSXP, (int)count, (int)columns));
  double *work = (double *)R_alloc(n + 1, sizeof(double));
  for (size_t j = 0; j < columns; j++) {
    column_ends(REAL(values) + j * n, n, REAL(probs), count, work,
                REAL(result) + j * count);
    if (j % 1024 == 0)
      R_CheckUserInterrupt();
  }
  UNPROTECT(1);
  return result;
}

/* The mean of n numbers, and the sum of their squared deviations from it. */
static void moments_of(const double *x, size_t n, double *mean,
                       double *squares) {
  double sums[4] = {0.0}, own[4] = {0.0};
  for (size_t i = 0; i < n; i++)
    sums[i % 4] += x[i];
  const double centre = (sums[0] + sums[1] + sums[2] + sums[3]) / (double)n;
  for (size_t i = 0; i < n; i++) {
    const double away = x[i] - centre;
    own[i % 4] += away * away;
  }
  *mean = centre;
  *squares = own[0] + own[1] + own[2] + own[3];
}

/* values: draws x columns.  list(mean, squares): of each column its mean and the
 * sum of squared deviations from it. */
SEXP C_column_moments(SEXP values) {
  size_t n, columns;
  check_columns(values, "values", &n, &columns);
  const char *names[] = {"mean", "squares", ""};
  SEXP result = PROTECT(Rf_mkNamed(VECSXP, names));
  for (int part = 0; part < 2; part++)
    SET_VECTOR_ELT(result, part, Rf_allocVector(REALSXP, (R_xlen_t)columns));
  double *mean = REAL(VECTOR_ELT(result, 0));
  double *squares = REAL(VECTOR_ELT(result, 1));
  for (size_t j = 0; j < columns; j++)
    moments_of(REAL(values) + j * n, n, mean + j, squares + j);
  UNPROTECT(1);
  return result;
}

static void mixture_ends(mixture *m, const double *mean, const double *probs,
                         size_t count, double *out) {
  mixture_set_mean(m, mean);
  for (size_t k = 0; k < count; k++) {
    const double q = mixture_quantile(m, probs[k]);
    out[k] = ISNAN(q) ? NA_REAL : q;
  }
}

/* mean: draws x columns; sd: of the same size, or a number for each draw.  The
 * quantiles of the mixture over the draws of N(mean, sd^2), probs x columns; those
 * of the means where all sd are 0. */
SEXP C_mixture_quantiles(SEXP mean, SEXP sd, SEXP probs) {
  size_t n, columns;
  check_columns(mean, "mean", &n, &columns);
  const size_t count = check_probs(probs);
  if (TYPEOF(sd) != REALSXP ||
      ((size_t)XLENGTH(sd) != n * columns && (size_t)XLENGTH(sd) != n))
    Rf_error("`sd` must have the size of `mean`, or a number for each row");
  const size_t next_sd = (size_t)XLENGTH(sd) == n ? 0 : n;
  SEXP result = PROTECT(Rf_allocMatrix(REALSXP, (int)count, (int)columns));
  arena a = arena_measure();
  mixture_take(&a, n);
  a = arena_over(R_alloc(arena_size(&a), 1));
  mixture m = mixture_take(&a, n);
  double *work = (double *)R_alloc(n + 1, sizeof(double));
  for (size_t j = 0; j < columns; j++) {
    if (j == 0 || next_sd > 0)
      mixture_set_sd(&m, REAL(sd) + j * next_sd);
    const double *own = REAL(mean) + j * n;
    double *out = REAL(result) + j * count;
    if (m.most_sd > 0.0)
      mixture_ends(&m, own, REAL(probs), count, out);
    else
      column_ends(own, n, REAL(probs), count, work, out);
    if (j % 256 == 0)
      R_CheckUserInterrupt();
  }
  UNPROTECT(1);
  return result;
}

/* z: draws x observations, whole numbers from 0 to 65535.  The share of draws in
 * which two observations have the same, observations x observations. */
SEXP C_coclustering(SEXP z) {
  size_t draws, n;
  check_columns(z, "z", &draws, &n);
  const size_t rows = equal_rows(draws);
  unsigned short *labels =
    (unsigned short *)R_alloc(args_product(rows, n), sizeof *labels);
  for (size_t j = 0; j < n; j++)
    for (size_t s = 0; s < rows; s++) {
      const double label = s < draws ? REAL(z)[s + draws * j] : 0.0;
      if (!(label >= 0.0 && label <= 65535.0))
        Rf_error("`z` must be whole numbers from 0 to 65535");
      labels[s + rows * j] = (unsigned short)label;
    }
  args_product(n, n);
  SEXP result = PROTECT(Rf_allocMatrix(REALSXP, (int)n, (int)n));
  equal_shares(labels, draws, n, REAL(result));
  UNPROTECT(1);
  return result;
}
