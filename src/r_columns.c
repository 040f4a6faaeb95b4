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
#include "numeric/products.h"
#include "numeric/responses.h"
#include "numeric/t_mixture.h"
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

/* Puts the number of x (n) in place `at` that stands there in order, no larger
 * ones before it and no smaller ones after it.  rPsort() does the same with
 * branches that depend on the numbers, and for missing ones too. */
static void put_in_place(double *x, size_t n, size_t at) {
  size_t first = 0, last = n - 1;
  while (first < last) {
    const double pivot = x[at];
    size_t end = first;
    x[at] = x[last];
    for (size_t i = first; i < last; i++) {
      const double one = x[i];
      x[i] = x[end];
      x[end] = one;
      end += one < pivot;
    }
    x[last] = x[end];
    x[end] = pivot;
    /* of many equal ones all are put aside */
    if (end == first)
      for (size_t i = first + 1; i <= last; i++) {
        const double one = x[i];
        x[i] = x[end + 1];
        x[end + 1] = one;
        end += one == pivot;
      }
    if (at <= end && x[at] == pivot)
      return;
    if (at > end)
      first = end + 1;
    else
      last = end - 1;
  }
}

/* Of x (n) the number in place `at` and the next one, in order; the order of x is
 * lost. */
static void two_in_order(double *x, size_t n, size_t at, double *two) {
  put_in_place(x, n, at);
  two[0] = two[1] = x[at];
  if (at + 1 < n)
    two[1] = x[at + 1];
  for (size_t i = at + 2; i < n; i++)
    two[1] = x[i] < two[1] ? x[i] : two[1];
}

/* Numbers in a sample of a column. */
enum { SAMPLE = 128 };

/* Two numbers of a sample of x, evenly spaced, between which the places `at`
 * and at + 1 are likely to lie; infinite where all on that side are. */
static void likely_bounds(const double *x, size_t n, size_t at,
                          double *bounds) {
  double sample[SAMPLE];
  const size_t step = n / SAMPLE;
  for (size_t i = 0; i < SAMPLE; i++)
    sample[i] = x[i * step];
  const double share = (double)at / (double)n;
  const double centre = SAMPLE * share,
               away = 2.0 + 3.0 * sqrt(SAMPLE * share * (1.0 - share));
  const double low = floor(centre - away), high = ceil(centre + away);
  bounds[0] = R_NegInf;
  bounds[1] = R_PosInf;
  if (low >= 0.0) {
    put_in_place(sample, SAMPLE, (size_t)low);
    bounds[0] = sample[(size_t)low];
  }
  if (high < SAMPLE) {
    put_in_place(sample, SAMPLE, (size_t)high);
    bounds[1] = sample[(size_t)high];
  }
}

/* y <- the numbers of x (n) that are at least, or at most, a bound; how many.
 * y may be x. */
static size_t keep_from(const double *x, size_t n, double bound, double *y) {
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) {
    y[kept] = x[i];
    kept += x[i] >= bound;
  }
  return kept;
}

static size_t keep_to(const double *x, size_t n, double bound, double *y) {
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) {
    y[kept] = x[i];
    kept += x[i] <= bound;
  }
  return kept;
}

/* The quantile of the responses of n linear predictors, none missing; y: n, work.
 * Of many numbers only those between two bounds are put in order, if the quantile
 * lies there. */
static double quantile_of(const double *x, size_t n, response_link link,
                          double p, double *y) {
  const double at = (double)(n - 1) * p;
  const size_t low = (size_t)floor(at);
  size_t above = n, inside = 0;
  double two[2], bounds[2];
  if (n >= 4 * SAMPLE) {
    likely_bounds(x, n, low, bounds);
    if (bounds[0] > R_NegInf)
      above = keep_from(x, n, bounds[0], y);
    inside = keep_to(above < n ? y : x, above, bounds[1], y);
  }
  if (low < n - above || low + 1 >= n - above + inside) {
    memcpy(y, x, n * sizeof *x);
    above = inside = n;
  }
  two_in_order(y, inside, low - (n - above), two);
  responses_mean(link, two, 2, two);
  const double h = at - (double)low;
  return h > 0.0 ? quantile_between(two[0], two[1], h) : two[0];
}

/* The sum of n numbers: four sums side by side, which do not wait for each
 * other. */
static double sum_of(const double *x, size_t n) {
  const size_t whole = n / 4 * 4;
  double sums[4] = {0.0};
  for (size_t i = 0; i < whole; i += 4) {
    sums[0] += x[i];
    sums[1] += x[i + 1];
    sums[2] += x[i + 2];
    sums[3] += x[i + 3];
  }
  for (size_t i = whole; i < n; i++)
    sums[i % 4] += x[i];
  return sums[0] + sums[1] + sums[2] + sums[3];
}

static double squares_around(const double *x, size_t n, double centre) {
  const size_t whole = n / 4 * 4;
  double sums[4] = {0.0};
  for (size_t i = 0; i < whole; i += 4) {
    sums[0] += (x[i] - centre) * (x[i] - centre);
    sums[1] += (x[i + 1] - centre) * (x[i + 1] - centre);
    sums[2] += (x[i + 2] - centre) * (x[i + 2] - centre);
    sums[3] += (x[i + 3] - centre) * (x[i + 3] - centre);
  }
  for (size_t i = whole; i < n; i++)
    sums[i % 4] += (x[i] - centre) * (x[i] - centre);
  return sums[0] + sums[1] + sums[2] + sums[3];
}

/* A sum that is a number has no missing one. */
static int any_missing(const double *x, size_t n) {
  if (!ISNAN(sum_of(x, n)))
    return 0;
  for (size_t i = 0; i < n; i++)
    if (ISNAN(x[i]))
      return 1;
  return 0;
}

/* out (count) <- quantiles of the responses of n linear predictors; NA with a
 * missing one.  y: n, work. */
static void column_ends(const double *x, size_t n, response_link link,
                        const double *probs, size_t count, double *y,
                        double *out) {
  const int missing = count > 0 && any_missing(x, n);
  for (size_t k = 0; k < count; k++)
    out[k] = missing ? NA_REAL : quantile_of(x, n, link, probs[k], y);
}

/* values: draws x columns; probs: numbers from 0 to 1. A matrix probs x columns,
 * NA for a column with a missing value. */
SEXP C_column_quantiles(SEXP values, SEXP probs) {
  size_t n, columns;
  check_columns(values, "values", &n, &columns);
  const size_t count = check_probs(probs);
  SEXP result = PROTECT(Rf_allocMatrix(REALSXP, (int)count, (int)columns));
  double *work = (double *)R_alloc(n, sizeof(double));
  for (size_t j = 0; j < columns; j++) {
    column_ends(REAL(values) + j * n, n, RESPONSE_IDENTITY, REAL(probs), count,
                work, REAL(result) + j * count);
    if (j % 1024 == 0)
      R_CheckUserInterrupt();
  }
  UNPROTECT(1);
  return result;
}

/* The mean of n numbers, and the sum of their squared deviations from it. */
static void moments_of(const double *x, size_t n, double *mean,
                       double *squares) {
  *mean = sum_of(x, n) / (double)n;
  *squares = squares_around(x, n, *mean);
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

static mixture take_mixture(size_t n) {
  arena a = arena_measure();
  mixture_take(&a, n);
  a = arena_over(R_alloc(arena_size(&a), 1));
  return mixture_take(&a, n);
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
  mixture m = take_mixture(n);
  double *work = (double *)R_alloc(n, sizeof(double));
  for (size_t j = 0; j < columns; j++) {
    if (j == 0 || next_sd > 0)
      mixture_set_sd(&m, REAL(sd) + j * next_sd);
    const double *own = REAL(mean) + j * n;
    double *out = REAL(result) + j * count;
    if (m.most_sd > 0.0)
      mixture_ends(&m, own, REAL(probs), count, out);
    else
      column_ends(own, n, RESPONSE_IDENTITY, REAL(probs), count, work, out);
    if (j % 256 == 0)
      R_CheckUserInterrupt();
  }
  UNPROTECT(1);
  return result;
}

/* data: list(mean: draws x columns; spread: of the same size or NULL; points: draws x
 * any; sd, nu: draws; scale: columns; guess: probs x columns; near).  The quantiles of
 * the mixtures over the draws of t distributions of scale `sd` times the column's
 * scale, about `mean`, or with `spread` about all mean + spread times points; NA where
 * Newton's method from the guess fails. */
SEXP C_t_mixture_quantiles(SEXP data, SEXP probs) {
  SEXP mean = args_element(data, "mean"), spread = args_element(data, "spread");
  SEXP points = args_element(data, "points");
  size_t n, columns, rows, several;
  check_columns(mean, "mean", &n, &columns);
  check_columns(points, "points", &rows, &several);
  const size_t count = check_probs(probs);
  const int spreads = spread != R_NilValue;
  if (rows != n)
    Rf_error("`points` must have the rows of `mean`");
  const double *around =
    spreads ? args_doubles(data, "spread", n * columns) : NULL;
  const double *sd = args_doubles(data, "sd", n),
               *nu = args_doubles(data, "nu", n);
  const double *scale = args_doubles(data, "scale", columns);
  const double *guess = args_doubles(data, "guess", count * columns);
  const double near = args_doubles(data, "near", 1)[0];
  if (!spreads)
    several = 1;
  double *centre = (double *)R_alloc(args_product(n, several), sizeof(double));
  arena a = arena_measure();
  t_mixture_take(&a, n);
  a = arena_over(R_alloc(arena_size(&a), 1));
  t_mixture m = t_mixture_take(&a, n);
  t_mixture_open(&m, nu);
  SEXP result = PROTECT(Rf_allocMatrix(REALSXP, (int)count, (int)columns));
  for (size_t j = 0; j < columns; j++) {
    for (size_t l = 0; l < several; l++)
      for (size_t s = 0; s < n; s++)
        centre[s + n * l] =
          REAL(mean)[s + n * j] +
          (spreads ? around[s + n * j] * REAL(points)[s + n * l] : 0.0);
    for (size_t k = 0; k < count; k++) {
      const double q =
        t_mixture_quantile(&m, REAL(probs)[k], centre, several, sd, scale[j],
                           guess[k + count * j], near);
      REAL(result)[k + count * j] = ISNAN(q) ? NA_REAL : q;
    }
    if (j % 16 == 0)
      R_CheckUserInterrupt();
  }
  UNPROTECT(1);
  return result;
}

static response_link check_link(SEXP link) {
  const size_t at = args_scalar_count(link, "link", 0);
  if (at > RESPONSE_LOG)
    Rf_error("`link` must be at most %d", RESPONSE_LOG);
  return (response_link)at;
}

/* The expected responses of linear predictors, of the shape of eta. */
SEXP C_expected_responses(SEXP eta, SEXP link) {
  if (TYPEOF(eta) != REALSXP)
    Rf_error("`eta` must be numbers");
  const response_link own = check_link(link);
  SEXP result = PROTECT(Rf_duplicate(eta));
  responses_mean(own, REAL(result), (size_t)XLENGTH(result), REAL(result));
  UNPROTECT(1);
  return result;
}

/* What C_predicted_columns() needs of the draws. */
typedef struct {
  const double *w, *probs; /* draws x (at least p), count                   */
  size_t draws, p, count;
  response_link link;
  mixture *normal; /* NULL without normal distributions about responses */
  double *work;    /* draws                                             */
} predicted;

/* The summaries of one row; eta: draws, lost. */
static void summarise_row(const predicted *of, double *eta, double *mean,
                          double *squares, double *ends) {
  const int mixed = of->normal && of->normal->most_sd > 0.0;
  if (!mixed)
    column_ends(eta, of->draws, of->link, of->probs, of->count, of->work, ends);
  responses_mean(of->link, eta, of->draws, eta);
  moments_of(eta, of->draws, mean, squares);
  if (mixed)
    mixture_ends(of->normal, eta, of->probs, of->count, ends);
}

/* Rows at a time, whose linear predictors stay in a near cache. */
enum { ROWS = 8 };

static void summarise_rows(const predicted *of, const double *x,
                           const double *offset, size_t n, double *mean,
                           double *squares, double *ends) {
  double *few = (double *)R_alloc(args_product(of->p, ROWS), sizeof(double));
  double *eta =
    (double *)R_alloc(args_product(of->draws, ROWS), sizeof(double));
  for (size_t i = 0; i < n; i += ROWS) {
    const size_t rows = n - i < ROWS ? n - i : ROWS;
    for (size_t j = 0; j < of->p; j++)
      memcpy(few + rows * j, x + i + n * j, rows * sizeof *x);
    products_predictors(few, rows, of->p, of->w, of->draws,
                        offset ? offset + i : NULL, eta);
    for (size_t r = 0; r < rows; r++)
      summarise_row(of, eta + of->draws * r, mean + i + r, squares + i + r,
                    ends + of->count * (i + r));
    if (i % 256 == 0)
      R_CheckUserInterrupt();
  }
}

/* Summaries over the draws of predictions from rows of a design, without a
 * matrix draws x rows.  data: list(x: rows x p, w: draws x at least p, offset:
 * rows or NULL, link: see response_link); sd: NULL, or a number for each draw: quantiles
 * are those of the mixture of N(response, sd^2).  list(mean, squares,
 * quantiles), the first two as of C_column_moments(), the third probs x rows. */
SEXP C_predicted_columns(SEXP data, SEXP sd, SEXP probs) {
  SEXP x = args_element(data, "x"), w = args_element(data, "w");
  SEXP offset = args_element(data, "offset");
  predicted of = {.link = check_link(args_element(data, "link")),
                  .count = check_probs(probs)};
  size_t n, columns;
  args_matrix(x, "x", &n, &of.p);
  check_columns(w, "w", &of.draws, &columns);
  if (columns < of.p)
    Rf_error("`w` must have a column for each of `x`");
  const double *shift =
    offset == R_NilValue ? NULL : args_doubles(data, "offset", n);
  if (sd != R_NilValue &&
      (TYPEOF(sd) != REALSXP || (size_t)XLENGTH(sd) != of.draws))
    Rf_error("`sd` must be NULL or a number for each draw");
  of.w = REAL(w);
  of.probs = REAL(probs);
  of.work = (double *)R_alloc(of.draws, sizeof(double));
  mixture m;
  if (sd != R_NilValue) {
    m = take_mixture(of.draws);
    mixture_set_sd(&m, REAL(sd));
    of.normal = &m;
  }
  const char *names[] = {"mean", "squares", "quantiles", ""};
  SEXP result = PROTECT(Rf_mkNamed(VECSXP, names));
  for (int part = 0; part < 2; part++)
    SET_VECTOR_ELT(result, part, Rf_allocVector(REALSXP, (R_xlen_t)n));
  SET_VECTOR_ELT(result, 2, Rf_allocMatrix(REALSXP, (int)of.count, (int)n));
  summarise_rows(&of, REAL(x), shift, n, REAL(VECTOR_ELT(result, 0)),
                 REAL(VECTOR_ELT(result, 1)), REAL(VECTOR_ELT(result, 2)));
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

/* The mean over the draws of P(k), and P(k) <- P(k + 1) of each: Panjer's class,
 * P(k + 1) = (slope + rise / (k + 1)) P(k). */
static double mean_probability(double *own, const double *slope,
                               const double *rise, size_t n, double k) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) {
    sum += own[i];
    own[i] *= slope[i] + rise[i] / (k + 1.0);
  }
  return sum / (double)n;
}

/* start, slope, rise: of each draw, P(0) and what leads to P(1), P(2), ... The
 * least numbers k, at most `most`, where the mean over the draws of P(0) + ... +
 * P(k) is at least each of probs, which must not fall; NaN where none is. */
SEXP C_least_counts(SEXP start, SEXP slope, SEXP rise, SEXP probs, SEXP most) {
  const size_t n = (size_t)Rf_xlength(start);
  const size_t count = check_probs(probs);
  SEXP lists[] = {start, slope, rise};
  for (size_t a = 0; a < 3; a++)
    if (TYPEOF(lists[a]) != REALSXP || (size_t)XLENGTH(lists[a]) != n || n == 0)
      Rf_error("`start`, `slope` and `rise` must have a number for each draw");
  const double last = Rf_asReal(most);
  if (!(last >= 1.0))
    Rf_error("`most` must be at least 1");
  double *own = (double *)R_alloc(n, sizeof(double));
  memcpy(own, REAL(start), n * sizeof(double));
  SEXP result = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)count));
  double below = 0.0;
  size_t found = 0;
  for (double k = 0.0; k <= last && found < count; k += 1.0) {
    below += mean_probability(own, REAL(slope), REAL(rise), n, k);
    while (found < count && below >= REAL(probs)[found])
      REAL(result)[found++] = k;
  }
  while (found < count)
    REAL(result)[found++] = NAN;
  UNPROTECT(1);
  return result;
}
