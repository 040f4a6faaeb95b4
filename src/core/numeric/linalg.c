#include "numeric/rounding.h"

#include "numeric/linalg.h"

#include <math.h>

/* ---- building blocks ----------------------------------------------------- */

double linalg_inner(const double *x, const double *y, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++)
    sum += x[i] * y[i];
  return sum;
}

/* sum x_i y_i in four independent partial sums; the order of the additions
 * depends on n alone. */
static double dot(const double *restrict x, const double *restrict y,
                  size_t n) {
  double sum[4] = {0.0, 0.0, 0.0, 0.0};
  size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (size_t lane = 0; lane < 4; lane++)
      sum[lane] += x[i + lane] * y[i + lane];
  for (size_t lane = 0; i < n; i++, lane++)
    sum[lane] += x[i] * y[i];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* y <- y + factor x */
static void add_multiple(double *restrict y, const double *restrict x,
                         double factor, size_t n) {
  for (size_t i = 0; i < n; i++)
    y[i] += factor * x[i];
}

/* The upper triangle from the lower one: symmetric to the last bit. */
static void mirror_lower(double *a, size_t d) {
  for (size_t j = 0; j < d; j++)
    for (size_t i = j + 1; i < d; i++)
      a[j + d * i] = a[i + d * j];
}

/* b <- L^-1 b when the first `first` elements of b are zero. */
static void solve_lower_from(const double *restrict l, size_t d, size_t first,
                             double *restrict b) {
  for (size_t j = first; j < d; j++) {
    const double *column = l + d * j;
    b[j] /= column[j];
    add_multiple(b + j + 1, column + j + 1, -b[j], d - j - 1);
  }
}

/* Elements first, ..., d - 1 of L^-T b; those before stay as they are. */
static void solve_transposed_from(const double *restrict l, size_t d,
                                  size_t first, double *restrict b) {
  for (size_t j = d; j-- > first;) {
    const double *column = l + d * j;
    b[j] = (b[j] - dot(column + j + 1, b + j + 1, d - j - 1)) / column[j];
  }
}

/* ---- products ------------------------------------------------------------ */

void linalg_outer_gram(const double *m, size_t d, double *out) {
  for (size_t j = 0; j < d; j++) {
    double *column = out + d * j;
    for (size_t i = j; i < d; i++)
      column[i] = 0.0;
    for (size_t c = 0; c < d; c++)
      add_multiple(column + j, m + d * c + j, m[j + d * c], d - j);
  }
  mirror_lower(out, d);
}

/* From the last column to the first: y_j is still x_j when column j is reached,
 * so that y may be x. */
void linalg_lower_times_vector(const double *l, size_t d, const double *x,
                               double *y) {
  for (size_t j = 0; j < d; j++)
    y[j] = x[j];
  for (size_t j = d; j-- > 0;) {
    const double *column = l + d * j;
    add_multiple(y + j + 1, column + j + 1, y[j], d - j - 1);
    y[j] *= column[j];
  }
}

/* ---- factors and solves -------------------------------------------------- */

/* Right-looking: column j of L, then a - l_j l_j' in the columns to its right.
 * An infinite pivot is refused too: it has no factor to go on with. */
status linalg_cholesky(double *a, size_t d) {
  for (size_t j = 0; j < d; j++) {
    double *column = a + d * j;
    if (!(column[j] > 0.0 && isfinite(column[j])))
      return STATUS_NOT_POSITIVE_DEFINITE;
    column[j] = sqrt(column[j]);
    for (size_t i = j + 1; i < d; i++)
      column[i] /= column[j];
    for (size_t c = j + 1; c < d; c++)
      add_multiple(a + d * c + c, column + c, -column[c], d - c);
    for (size_t i = 0; i < j; i++)
      column[i] = 0.0;
  }
  return STATUS_OK;
}

void linalg_solve_lower(const double *l, size_t d, double *b) {
  solve_lower_from(l, d, 0, b);
}

void linalg_solve_lower_transposed(const double *l, size_t d, double *b) {
  solve_transposed_from(l, d, 0, b);
}

/* Column j: only its elements from the diagonal down are needed, and L^-1 e_j
 * is zero above them. */
void linalg_inverse_from_cholesky(const double *l, size_t d, double *inverse) {
  for (size_t j = 0; j < d; j++) {
    double *column = inverse + d * j;
    for (size_t i = 0; i < d; i++)
      column[i] = i == j ? 1.0 : 0.0;
    solve_lower_from(l, d, j, column);
    solve_transposed_from(l, d, j, column);
  }
  mirror_lower(inverse, d);
}

/* Givens rotations take v into the columns of L from left to right (Gill, Golub,
 * Murray & Saunders 1974, method C1, doi:10.2307/2005923). */
void linalg_rank_one_update(double *l, size_t d, double *v) {
  for (size_t j = 0; j < d; j++) {
    double *column = l + d * j;
    const double radius = hypot(column[j], v[j]);
    const double cosine = radius / column[j], sine = v[j] / column[j];
    column[j] = radius;
    for (size_t i = j + 1; i < d; i++) {
      column[i] = (column[i] + sine * v[i]) / cosine;
      v[i] = cosine * v[i] - sine * column[i];
    }
  }
}

double linalg_log_determinant(const double *l, size_t d) {
  double sum = 0.0;
  for (size_t j = 0; j < d; j++)
    sum += log(l[j + d * j]);
  return 2.0 * sum;
}

/* L^-T e has covariance (L L')^-1 = Q^-1, and L^-T L^-1 b = Q^-1 b. */
status linalg_draw_canonical(double *q, double *b, const double *normals,
                             size_t d) {
  const status outcome = linalg_cholesky(q, d);
  if (outcome != STATUS_OK)
    return outcome;
  linalg_solve_lower(q, d, b);
  for (size_t j = 0; j < d; j++)
    b[j] += normals[j];
  linalg_solve_lower_transposed(q, d, b);
  return STATUS_OK;
}
