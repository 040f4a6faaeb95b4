#include "numeric/rounding.h"

#include "numeric/dense.h"

#include <math.h>
#include <string.h>

#include "numeric/lanes.h"

LANES_VECTOR(double, 16, dense_pair, dense_pair_place);

#define LANES_FUSED 1
#define LANES_KERNEL "numeric/dense_kernel.h"
#include "numeric/lanes_each.h"

typedef void (*tile_kernel)(const double *const *, const double *const *,
                            size_t, double *);
typedef void (*combine_kernel)(double *, const double *, size_t, const double *,
                               size_t, size_t);

double dense_dot(const double *x, const double *y, size_t n) {
  return LANES_CHOOSE(dot)(x, y, n);
}

void dense_add_columns(double *y, const double *x, size_t stride,
                       const double *w, size_t columns, size_t n) {
  LANES_CHOOSE(combine)(y, x, stride, w, columns, n);
}

double dense_scale_and_dot(double *scaled, const double *x, const double *scale,
                           const double *y, size_t n) {
  return LANES_CHOOSE(scale_and_dot)(scaled, x, scale, y, n);
}

dense_moments dense_sum_around(const double *x, size_t n, double centre) {
  return LANES_CHOOSE(moments)(x, n, centre);
}

/* ---- sums of products ---------------------------------------------------- */

enum { TILE_ROWS = 4, TILE_COLUMNS = 3, PANEL = 48 };

/* Pointers to columns first, first + 1, ...; beyond the last one to it: what is
 * computed with those is not stored. */
static void column_pointers(const double *block, size_t rows, size_t p,
                            size_t first, size_t count, const double **x) {
  for (size_t c = 0; c < count; c++)
    x[c] = block + rows * (first + c < p ? first + c : p - 1);
}

static void store_tile(const double *out, size_t i, size_t j, size_t p,
                       double sign, double *a, size_t stride) {
  if (j + TILE_COLUMNS <= i + 1 && i + TILE_ROWS <= p) {
    for (size_t b = 0; b < TILE_COLUMNS; b++)
      for (size_t c = 0; c < TILE_ROWS; c++)
        a[i + c + stride * (j + b)] += sign * out[c + TILE_ROWS * b];
    return;
  }
  for (size_t b = 0; b < TILE_COLUMNS && j + b < p; b++)
    for (size_t c = 0; c < TILE_ROWS && i + c < p; c++)
      if (i + c >= j + b)
        a[i + c + stride * (j + b)] += sign * out[c + TILE_ROWS * b];
}

/* Columns in panels that stay in cache while all others pass by. */
void dense_add_gram(const double *block, size_t rows, size_t p, double sign,
                    double *a, size_t stride) {
  const tile_kernel tile = LANES_CHOOSE(tile);
  const double *x[TILE_ROWS], *y[TILE_COLUMNS];
  double out[TILE_ROWS * TILE_COLUMNS];
  for (size_t panel = 0; panel < p; panel += PANEL) {
    const size_t end = p - panel < PANEL ? p : panel + PANEL;
    for (size_t i = panel; i < p; i += TILE_ROWS) {
      column_pointers(block, rows, p, i, TILE_ROWS, x);
      for (size_t j = panel; j < end && j < i + TILE_ROWS; j += TILE_COLUMNS) {
        column_pointers(block, rows, p, j, TILE_COLUMNS, y);
        tile(x, y, rows, out);
        store_tile(out, i, j, p, sign, a, stride);
      }
    }
  }
}

/* ---- Cholesky ------------------------------------------------------------ */

enum { CHOLESKY_BLOCK = 64 };

size_t dense_cholesky_work(size_t p) {
  return CHOLESKY_BLOCK * (p ? p : 1);
}

/* Columns first .. first + width - 1, from the diagonal down; each one loses the
 * products of those before it in the panel. */
static status factor_panel(double *a, size_t p, size_t first, size_t width) {
  const combine_kernel subtract = LANES_CHOOSE(combine);
  double factor[CHOLESKY_BLOCK];
  for (size_t j = first; j < first + width; j++) {
    double *column = a + p * j;
    for (size_t c = first; c < j; c++)
      factor[c - first] = -a[j + p * c];
    subtract(column + j, a + p * first + j, p, factor, j - first, p - j);
    if (!(column[j] > 0.0 && isfinite(column[j])))
      return STATUS_NOT_POSITIVE_DEFINITE;
    column[j] = sqrt(column[j]);
    const double inverse = 1.0 / column[j];
    for (size_t i = j + 1; i < p; i++)
      column[i] *= inverse;
  }
  return STATUS_OK;
}

/* Right-looking by panels (Golub & Van Loan 2013, sec. 4.2.7): what lies to the
 * right of a panel loses the products of its rows, which `work` holds as
 * columns. */
status dense_cholesky(double *a, size_t p, double *work) {
  for (size_t first = 0; first < p; first += CHOLESKY_BLOCK) {
    const size_t left = p - first;
    const size_t width = left < CHOLESKY_BLOCK ? left : CHOLESKY_BLOCK;
    const status outcome = factor_panel(a, p, first, width);
    if (outcome != STATUS_OK)
      return outcome;
    const size_t below = first + width;
    if (below == p)
      break;
    for (size_t i = below; i < p; i++)
      for (size_t j = 0; j < CHOLESKY_BLOCK; j++)
        work[j + CHOLESKY_BLOCK * (i - below)] = a[i + p * (first + j)];
    dense_add_gram(work, CHOLESKY_BLOCK, p - below, -1.0, a + below + p * below,
                   p);
  }
  for (size_t j = 0; j < p; j++)
    memset(a + p * j, 0, j * sizeof *a);
  return STATUS_OK;
}

/* ---- solutions ----------------------------------------------------------- */

/* What is known of b leaves the rows below a panel in one pass over them. */
void dense_solve_lower(const double *l, size_t p, double *b) {
  const combine_kernel subtract = LANES_CHOOSE(combine);
  double known[CHOLESKY_BLOCK];
  for (size_t first = 0; first < p; first += CHOLESKY_BLOCK) {
    const size_t end = p - first < CHOLESKY_BLOCK ? p : first + CHOLESKY_BLOCK;
    for (size_t j = first; j < end; j++) {
      b[j] /= l[j + p * j];
      known[j - first] = -b[j];
      for (size_t i = j + 1; i < end; i++)
        b[i] -= l[i + p * j] * b[j];
    }
    subtract(b + end, l + end + p * first, p, known, end - first, p - end);
  }
}

void dense_solve_lower_transposed(const double *l, size_t p, double *b) {
  for (size_t j = p; j-- > 0;) {
    const double *column = l + p * j + j + 1, *known = b + j + 1;
    const size_t below = p - j - 1, whole = below - below % DENSE_LANES;
    double sum = dense_dot(column, known, whole);
    for (size_t i = whole; i < below; i++)
      sum += column[i] * known[i];
    b[j] = (b[j] - sum) / l[j + p * j];
  }
}
