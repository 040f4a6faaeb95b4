/* Dense kernels: sums against their definition at every order around the tiles
 * and panels, the Cholesky factor against the small kernels' and its refusals. */
#include "numeric/dense.h"

#include <math.h>
#include <string.h>

#include "harness.h"
#include "numeric/linalg.h"
#include "numeric/rmath.h"

void test_dense(void);

static double *normals(size_t n) {
  double *x = new_numbers(n);
  for (size_t i = 0; i < n; i++)
    x[i] = norm_rand();
  return x;
}

/* ---- sums of products ---------------------------------------------------- */

/* The lower triangle gains sign x_i'x_j; nothing else is touched, also where the
 * matrix is a corner of a larger one. */
static void gram_of(size_t rows, size_t p, double sign) {
  const size_t stride = p + 3;
  double *x = normals(rows * p), *a = normals(stride * p);
  double *before = new_numbers(stride * p);
  memcpy(before, a, stride * p * sizeof *a);
  dense_add_gram(x, rows, p, sign, a, stride);
  for (size_t j = 0; j < p; j++)
    for (size_t i = 0; i < stride; i++) {
      double sum = 0.0;
      for (size_t k = 0; i >= j && i < p && k < rows; k++)
        sum += x[k + rows * i] * x[k + rows * j];
      const size_t at = i + stride * j;
      if (i >= j && i < p)
        EXPECT_NEAR(a[at], before[at] + sign * sum, 1e-13 * (double)rows);
      else
        EXPECT(same_bits(a + at, before + at, 1));
    }
  release_numbers(x);
  release_numbers(a);
  release_numbers(before);
}

static void gram_at_every_order(void) {
  set_seed(21, 22);
  for (size_t p = 1; p <= 20; p++)
    gram_of(DENSE_LANES, p, 1.0);
  const size_t orders[] = {47, 48, 49, 52, 95, 97, 131};
  for (size_t k = 0; k < LENGTH(orders); k++)
    gram_of(3 * DENSE_LANES, orders[k], k % 2 ? -1.0 : 1.0);
  gram_of(0, 5, 1.0);
}

static void dot_and_scale(void) {
  set_seed(23, 24);
  for (size_t n = 0; n <= 64; n += DENSE_LANES) {
    double *x = normals(n + 1), *y = normals(n + 1), *z = normals(n + 1);
    double *scaled = normals(n + 1), sum = 0.0;
    const double beyond = scaled[n];
    for (size_t i = 0; i < n; i++)
      sum += x[i] * y[i];
    EXPECT_NEAR(dense_dot(x, y, n), sum, 1e-13);
    EXPECT_NEAR(dense_scale_and_dot(scaled, x, z, y, n), sum, 1e-13);
    for (size_t i = 0; i < n; i++)
      EXPECT(scaled[i] == x[i] * z[i]);
    EXPECT(scaled[n] == beyond);
    /* in place */
    EXPECT_NEAR(dense_scale_and_dot(x, x, z, y, n), sum, 1e-13);
    EXPECT(same_bits(x, scaled, n));
    release_numbers(x);
    release_numbers(y);
    release_numbers(z);
    release_numbers(scaled);
  }
}

/* Any number of rows and columns; the rows between two columns play no part. */
static void sums_of_columns(void) {
  set_seed(24, 25);
  for (size_t n = 0; n <= 21; n++)
    for (size_t columns = 0; columns <= 9; columns++) {
      const size_t stride = n + 2;
      double *x = normals(stride * (columns + 1)), *w = normals(columns + 1);
      double *y = normals(n + 1), *z = new_numbers(n + 1);
      memcpy(z, y, (n + 1) * sizeof *z);
      dense_add_columns(z, x, stride, w, columns, n);
      for (size_t i = 0; i < n; i++) {
        double sum = y[i];
        for (size_t j = 0; j < columns; j++)
          sum += w[j] * x[i + stride * j];
        EXPECT_NEAR(z[i], sum, 1e-14);
      }
      EXPECT(same_bits(z + n, y + n, 1));
      release_numbers(x);
      release_numbers(w);
      release_numbers(y);
      release_numbers(z);
    }
}

/* ---- Cholesky ------------------------------------------------------------ */

static void cholesky_of(size_t p) {
  const size_t rows = (p / DENSE_LANES + 2) * DENSE_LANES;
  double *x = normals(rows * p), *a = new_numbers(p * p);
  double *l = new_numbers(p * p), *work = new_numbers(dense_cholesky_work(p));
  dense_add_gram(x, rows, p, 1.0, a, p);
  for (size_t j = 0; j < p; j++)
    a[j + p * j] += 1.0;
  memcpy(l, a, p * p * sizeof *a);
  EXPECT(dense_cholesky(l, p, work) == STATUS_OK);
  EXPECT(linalg_cholesky(a, p) == STATUS_OK);
  double largest = 0.0;
  for (size_t e = 0; e < p * p; e++)
    largest = fmax(largest, fabs(l[e] - a[e]));
  EXPECT(largest < 1e-12 * (double)(p + 1));
  release_numbers(x);
  release_numbers(a);
  release_numbers(l);
  release_numbers(work);
}

static void cholesky_is_that_of_linalg(void) {
  set_seed(25, 26);
  const size_t orders[] = {1, 2, 3, 8, 31, 63, 64, 65, 127, 128, 129, 200};
  for (size_t k = 0; k < LENGTH(orders); k++)
    cholesky_of(orders[k]);
}

/* The identity with one pivot in place `at` that is no good. */
static void refuses(size_t p, size_t at, double pivot) {
  double *a = new_numbers(p * p), *work = new_numbers(dense_cholesky_work(p));
  for (size_t j = 0; j < p; j++)
    a[j + p * j] = j == at ? pivot : 1.0;
  EXPECT(dense_cholesky(a, p, work) == STATUS_NOT_POSITIVE_DEFINITE);
  release_numbers(a);
  release_numbers(work);
}

static void cholesky_refuses(void) {
  const double wrong[] = {0.0, -1.0, NAN, INFINITY, -INFINITY};
  for (size_t k = 0; k < LENGTH(wrong); k++) {
    refuses(1, 0, wrong[k]);
    refuses(100, 0, wrong[k]);
    refuses(100, 63, wrong[k]);
    refuses(100, 64, wrong[k]);
    refuses(100, 99, wrong[k]);
  }
}

/* At every order around the panels, is linalg's solve. */
static void solves_are_those_of_linalg(void) {
  const size_t orders[] = {1, 2, 7, 8, 9, 63, 64, 65, 72, 127, 128, 129, 200};
  set_seed(29, 30);
  for (size_t k = 0; k < LENGTH(orders); k++) {
    const size_t p = orders[k];
    double *l = normals(p * p), *b = normals(p), *one = new_numbers(p);
    for (size_t j = 0; j < p; j++)
      l[j + p * j] = 3.0 + fabs(l[j + p * j]) + (double)p;
    memcpy(one, b, p * sizeof *b);
    linalg_solve_lower(l, p, one);
    dense_solve_lower(l, p, b);
    for (size_t j = 0; j < p; j++)
      EXPECT_NEAR(b[j], one[j], 1e-14);
    linalg_solve_lower_transposed(l, p, one);
    dense_solve_lower_transposed(l, p, b);
    for (size_t j = 0; j < p; j++)
      EXPECT_NEAR(b[j], one[j], 1e-14);
    release_numbers(l);
    release_numbers(b);
    release_numbers(one);
  }
}

void test_dense(void) {
  run_test("dense: gram at every order", gram_at_every_order);
  run_test("dense: dot and scale", dot_and_scale);
  run_test("dense: sums of columns", sums_of_columns);
  run_test("dense: cholesky is that of linalg", cholesky_is_that_of_linalg);
  run_test("dense: cholesky refuses", cholesky_refuses);
  run_test("dense: solves are those of linalg", solves_are_those_of_linalg);
}
