/* Dense kernels: hand-worked cases, identities at orders 1..32, and the refusal
 * of what is not positive definite. */
#include "numeric/linalg.h"

#include <math.h>
#include <string.h>

#include "drawing.h"
#include "harness.h"
#include "numeric/rmath.h"

void test_linalg(void);

enum { MAX_D = 32 };

/* a <- x'x / (2 d), x: 2 d x d standard normals: well conditioned. */
static void random_positive_definite(double *a, size_t d) {
  double *x = new_numbers(2 * d * d);
  for (size_t i = 0; i < 2 * d * d; i++)
    x[i] = norm_rand();
  cross_product(x, 2 * d, d, a);
  for (size_t i = 0; i < d * d; i++)
    a[i] /= 2.0 * (double)d;
  release_numbers(x);
}

/* Element (i, j) of a b, or of a b' when `transposed`; by the definition. */
static double product_element(const double *a, const double *b, size_t d,
                              size_t i, size_t j, int transposed) {
  double sum = 0.0;
  for (size_t c = 0; c < d; c++)
    sum += a[i + d * c] * (transposed ? b[j + d * c] : b[c + d * j]);
  return sum;
}

static double largest_difference(const double *x, const double *y, size_t n) {
  double largest = 0.0;
  for (size_t i = 0; i < n; i++)
    largest = fmax(largest, fabs(x[i] - y[i]));
  return largest;
}

static int is_symmetric(const double *a, size_t d) {
  for (size_t j = 0; j < d; j++)
    for (size_t i = 0; i < d; i++)
      if (a[i + d * j] != a[j + d * i])
        return 0;
  return 1;
}

/* Calls check(a, L, d) for random matrices of every order. */
static void for_every_order(void (*check)(const double *a, const double *l,
                                          size_t d)) {
  double a[MAX_D * MAX_D], l[MAX_D * MAX_D];
  set_seed(11, 12);
  for (size_t d = 1; d <= MAX_D; d++) {
    random_positive_definite(a, d);
    memcpy(l, a, d * d * sizeof *a);
    EXPECT(linalg_cholesky(l, d) == STATUS_OK);
    check(a, l, d);
  }
}

/* ---- Cholesky ------------------------------------------------------------ */

/* 4 12 -16; 12 37 -43; -16 -43 98 has the factor 2; 6 1; -8 5 3. */
static void cholesky_by_hand(void) {
  double a[] = {4, 12, -16, 12, 37, -43, -16, -43, 98};
  const double l[] = {2, 6, -8, 0, 1, 5, 0, 0, 3};
  EXPECT(linalg_cholesky(a, 3) == STATUS_OK);
  EXPECT(same_bits(a, l, 9));
}

static void cholesky_reads_the_lower_triangle(void) {
  double a[] = {4, 12, -16, NAN, 37, -43, NAN, NAN, 98};
  const double l[] = {2, 6, -8, 0, 1, 5, 0, 0, 3};
  EXPECT(linalg_cholesky(a, 3) == STATUS_OK);
  EXPECT(same_bits(a, l, 9));
}

static void cholesky_of_order_one(void) {
  double a = 9.0, zero = 0.0;
  EXPECT(linalg_cholesky(&a, 1) == STATUS_OK && a == 3.0);
  EXPECT(linalg_cholesky(&zero, 1) == STATUS_NOT_POSITIVE_DEFINITE);
}

static void factor_restores(const double *a, const double *l, size_t d) {
  double back[MAX_D * MAX_D];
  for (size_t j = 0; j < d; j++)
    for (size_t i = 0; i < d; i++) {
      back[i + d * j] = product_element(l, l, d, i, j, 1);
      EXPECT(i >= j || l[i + d * j] == 0.0);
    }
  EXPECT(largest_difference(a, back, d * d) < 1e-13);
}

static void cholesky_restores_the_matrix(void) {
  for_every_order(factor_restores);
}

static void refuses(double a11, double a21, double a22) {
  double a[] = {a11, a21, 0.0, a22};
  EXPECT(linalg_cholesky(a, 2) == STATUS_NOT_POSITIVE_DEFINITE);
}

static void cholesky_refuses(void) {
  refuses(1, 2, 3);  /* determinant -1 */
  refuses(1, 2, 4);  /* singular       */
  refuses(-1, 0, 1); /* first pivot    */
  refuses(1, 0, -1); /* last pivot     */
  refuses(0, 0, 1);
  refuses(NAN, 0, 1);
  refuses(1, NAN, 1);
  refuses(1, 0, NAN);
  refuses(INFINITY, 0, 1);
  refuses(1, INFINITY, 1);
  refuses(1, 0, INFINITY);
}

/* a = 1 1; 1 1 + 2^-40: L = 1; 1 2^-20 exactly. */
static void cholesky_nearly_singular(void) {
  const double tiny = ldexp(1.0, -40);
  double a[] = {1, 1, 1, 1 + tiny};
  const double l[] = {1, 1, 0, ldexp(1.0, -20)};
  EXPECT(linalg_cholesky(a, 2) == STATUS_OK);
  EXPECT(same_bits(a, l, 4));
  EXPECT_NEAR(linalg_log_determinant(a, 2), log(tiny), 1e-14);
}

/* ---- solves, inverse, determinant ---------------------------------------- */

/* L = 2; 6 1; -8 5 3:
 * L (1, 2, 3)' = (2, 8, 11)',  L' (1, 2, 3)' = (-10, 17, 9)'. */
static void solves_by_hand(void) {
  const double l[] = {2, 6, -8, 0, 1, 5, 0, 0, 3}, x[] = {1, 2, 3};
  double b[] = {2, 8, 11}, c[] = {-10, 17, 9};
  linalg_solve_lower(l, 3, b);
  linalg_solve_lower_transposed(l, 3, c);
  EXPECT(same_bits(b, x, 3));
  EXPECT(same_bits(c, x, 3));
}

static void solves_undo(const double *a, const double *l, size_t d) {
  double x[MAX_D], b[MAX_D];
  for (size_t i = 0; i < d; i++)
    x[i] = norm_rand();
  for (size_t i = 0; i < d; i++)
    b[i] = product_element(a, x, d, i, 0, 0);
  linalg_solve_lower(l, d, b);
  linalg_solve_lower_transposed(l, d, b);
  EXPECT(largest_difference(x, b, d) < 1e-10);
}

static void solves_undo_the_matrix(void) {
  for_every_order(solves_undo);
}

/* Only the triangle of L is read. */
static void solves_read_the_lower_triangle(void) {
  const double l[] = {2, 6, -8, NAN, 1, 5, NAN, NAN, 3};
  double b[] = {2, 8, 11}, c[] = {-10, 17, 9}, y[3], inverse[9];
  const double x[] = {1, 2, 3};
  linalg_solve_lower(l, 3, b);
  linalg_solve_lower_transposed(l, 3, c);
  linalg_lower_times_vector(l, 3, x, y);
  linalg_inverse_from_cholesky(l, 3, inverse);
  EXPECT(all_finite(b, 3) && all_finite(c, 3));
  EXPECT(all_finite(y, 3) && all_finite(inverse, 9));
}

/* L = 2; 1 3: L L' = 4 2; 2 10, determinant 36, inverse (10 -2; -2 4) / 36. */
static void inverse_by_hand(void) {
  const double l[] = {2, 1, 0, 3};
  double inverse[4];
  linalg_inverse_from_cholesky(l, 2, inverse);
  EXPECT_NEAR(inverse[0], 10.0 / 36, 1e-15);
  EXPECT_NEAR(inverse[1], -2.0 / 36, 1e-15);
  EXPECT(inverse[2] == inverse[1]);
  EXPECT_NEAR(inverse[3], 4.0 / 36, 1e-15);
}

static void inverse_inverts(const double *a, const double *l, size_t d) {
  double inverse[MAX_D * MAX_D];
  linalg_inverse_from_cholesky(l, d, inverse);
  EXPECT(is_symmetric(inverse, d));
  for (size_t j = 0; j < d; j++)
    for (size_t i = 0; i < d; i++)
      EXPECT_NEAR(product_element(a, inverse, d, i, j, 0), i == j, 1e-10);
}

static void inverse_inverts_the_matrix(void) {
  for_every_order(inverse_inverts);
}

/* |L L'| of L = 2; 6 1; -8 5 3 is 36; an underflowing determinant has a log. */
static void log_determinants(void) {
  const double l[] = {2, 6, -8, 0, 1, 5, 0, 0, 3};
  const double small[] = {1e-200, 0, 0, 1e-200}, one = 3.0;
  EXPECT_NEAR(linalg_log_determinant(l, 3), log(36), 1e-14);
  EXPECT_NEAR(linalg_log_determinant(small, 2), 4 * log(1e-200), 1e-14);
  EXPECT_NEAR(linalg_log_determinant(&one, 1), log(9), 1e-14);
}

/* ---- products ------------------------------------------------------------ */

/* x = 1 2; 3 4; 5 6: x'x = 35 44; 44 56. */
static void gram_by_hand(void) {
  const double x[] = {1, 3, 5, 2, 4, 6}, expected[] = {35, 44, 44, 56};
  double gram[4];
  cross_product(x, 3, 2, gram);
  EXPECT(same_bits(gram, expected, 4));
}

/* Whole numbers: every order of the sum gives the same bits. */
static void gram_of_every_length(void) {
  double x[80], gram[4];
  for (size_t n = 0; n <= 40; n++) {
    double expected = 0.0;
    for (size_t i = 0; i < n; i++) {
      x[i] = (double)i + 1.0;
      x[n + i] = (double)(i * i);
      expected += x[i] * x[n + i];
    }
    cross_product(x, n, 2, gram);
    EXPECT(gram[1] == expected && gram[2] == expected);
  }
}

/* M = 1 2; 3 4 (by rows): M M' = 5 11; 11 25. */
static void outer_gram_by_hand(void) {
  const double m[] = {1, 3, 2, 4}, expected[] = {5, 11, 11, 25};
  double out[] = {NAN, NAN, NAN, NAN};
  linalg_outer_gram(m, 2, out);
  EXPECT(same_bits(out, expected, 4));
}

static void products_agree(const double *a, const double *l, size_t d) {
  double out[MAX_D * MAX_D], x[MAX_D], y[MAX_D];
  linalg_outer_gram(l, d, out);
  EXPECT(largest_difference(a, out, d * d) < 1e-13);
  EXPECT(is_symmetric(out, d));
  for (size_t i = 0; i < d; i++)
    x[i] = norm_rand();
  linalg_lower_times_vector(l, d, x, y);
  for (size_t i = 0; i < d; i++)
    EXPECT_NEAR(y[i], product_element(l, x, d, i, 0, 0), 1e-13);
  linalg_lower_times_vector(l, d, x, x);
  EXPECT(same_bits(x, y, d));
}

static void products_at_every_order(void) {
  for_every_order(products_agree);
}

/* ---- draws from N(Q^-1 b, Q^-1) ------------------------------------------ */

/* Q = 4 2; 2 3: L = 2; 1 sqrt(2).  b = (2, 5), e = (1, -1):
 * L^-1 b = (1, 2 sqrt(2)),
 * L^-T (2, 2 sqrt(2) - 1) = (1 / (2 sqrt(2)), 2 - 1 / sqrt(2)). */
static void draw_canonical_by_hand(void) {
  double q[] = {4, 2, 2, 3}, b[] = {2, 5};
  const double normals[] = {1, -1}, l[] = {2, 1, 0, sqrt(2)};
  EXPECT(linalg_draw_canonical(q, b, normals, 2) == STATUS_OK);
  EXPECT_NEAR(b[0], 1 / (2 * sqrt(2)), 1e-15);
  EXPECT_NEAR(b[1], 2 - 1 / sqrt(2), 1e-15);
  EXPECT(largest_difference(q, l, 4) < 1e-15);
}

static void draw_canonical_of_order_one(void) {
  double q = 4, b = 6;
  const double normal = 3;
  EXPECT(linalg_draw_canonical(&q, &b, &normal, 1) == STATUS_OK);
  EXPECT(b == 6.0 / 4 + 3.0 / 2);
}

static void draw_canonical_refuses(void) {
  double q[] = {1, 2, 2, 1}, b[] = {1, 1};
  const double normals[] = {0, 0};
  EXPECT(linalg_draw_canonical(q, b, normals, 2) ==
         STATUS_NOT_POSITIVE_DEFINITE);
}

/* Q = L L', L = 1; -1 2; 0.5 1 1.5; m = (1, -2, 3). */
static const double draw_q[] = {1, -1, 0.5, -1, 5, 1.5, 0.5, 1.5, 3.5};
static const double draw_mean[] = {1, -2, 3};

typedef void (*canonical_drawer)(double *q, double *b, const double *normals);

static void draw_right(double *q, double *b, const double *normals) {
  EXPECT(linalg_draw_canonical(q, b, normals, 3) == STATUS_OK);
}

/* Mutant: the noise goes through L^-1 and so has the covariance (L' L)^-1. */
static void draw_untransposed(double *q, double *b, const double *normals) {
  double noise[] = {normals[0], normals[1], normals[2]};
  EXPECT(linalg_cholesky(q, 3) == STATUS_OK);
  linalg_solve_lower(q, 3, noise);
  linalg_solve_lower(q, 3, b);
  linalg_solve_lower_transposed(q, 3, b);
  for (int i = 0; i < 3; i++)
    b[i] += noise[i];
}

/* Mutant: the precision taken for the covariance. */
static void draw_covariance_for_precision(double *q, double *b,
                                          const double *normals) {
  double noise[3];
  EXPECT(linalg_cholesky(q, 3) == STATUS_OK);
  linalg_lower_times_vector(q, 3, normals, noise);
  linalg_solve_lower(q, 3, b);
  linalg_solve_lower_transposed(q, 3, b);
  for (int i = 0; i < 3; i++)
    b[i] += noise[i];
}

/* Mutant: b taken for the mean. */
static void draw_without_mean(double *q, double *b, const double *normals) {
  memset(b, 0, 3 * sizeof *b);
  EXPECT(linalg_draw_canonical(q, b, normals, 3) == STATUS_OK);
}

/* One draw with b = Q m. */
static void draw_once(canonical_drawer draw, double *b) {
  double q[9], normals[3];
  memcpy(q, draw_q, sizeof q);
  for (size_t i = 0; i < 3; i++) {
    b[i] = product_element(draw_q, draw_mean, 3, i, 0, 0);
    normals[i] = norm_rand();
  }
  draw(q, b, normals);
}

/* The largest |z| of the means and of the mean products of deviations, the
 * latter against Q^-1; standard errors from the draws. */
static double largest_z(canonical_drawer draw) {
  enum { N = 40000 };
  double *x = new_numbers(3 * N), *product = new_numbers(N);
  double l[9], v[9], b[3], largest = 0.0;
  memcpy(l, draw_q, sizeof l);
  EXPECT(linalg_cholesky(l, 3) == STATUS_OK);
  linalg_inverse_from_cholesky(l, 3, v);
  set_seed(13, 14);
  for (size_t t = 0; t < N; t++) {
    draw_once(draw, b);
    for (size_t i = 0; i < 3; i++)
      x[t + N * i] = b[i];
  }
  for (size_t i = 0; i < 3; i++)
    for (size_t j = 0; j <= i; j++) {
      for (size_t t = 0; t < N; t++)
        product[t] =
          (x[t + N * i] - draw_mean[i]) * (x[t + N * j] - draw_mean[j]);
      largest = fmax(largest, fabs(z_mean(product, N, v[i + 3 * j])));
      largest = fmax(largest, fabs(z_mean(x + N * i, N, draw_mean[i])));
    }
  release_numbers(x);
  release_numbers(product);
  return largest;
}

static void draw_canonical_moments(void) {
  EXPECT(largest_z(draw_right) < MAX_Z);
}

static void draw_canonical_mutants(void) {
  EXPECT(largest_z(draw_untransposed) > MAX_Z);
  EXPECT(largest_z(draw_covariance_for_precision) > MAX_Z);
  EXPECT(largest_z(draw_without_mean) > MAX_Z);
}

void test_linalg(void) {
  run_test("linalg: Cholesky factor, by hand", cholesky_by_hand);
  run_test("linalg: Cholesky reads the lower triangle alone",
           cholesky_reads_the_lower_triangle);
  run_test("linalg: Cholesky of order 1", cholesky_of_order_one);
  run_test("linalg: L L' restores the matrix", cholesky_restores_the_matrix);
  run_test("linalg: Cholesky refuses what is not positive definite",
           cholesky_refuses);
  run_test("linalg: Cholesky of a nearly singular matrix",
           cholesky_nearly_singular);
  run_test("linalg: triangular solves, by hand", solves_by_hand);
  run_test("linalg: triangular solves undo the matrix", solves_undo_the_matrix);
  run_test("linalg: the upper triangle of L is not read",
           solves_read_the_lower_triangle);
  run_test("linalg: inverse, by hand", inverse_by_hand);
  run_test("linalg: inverse at every order", inverse_inverts_the_matrix);
  run_test("linalg: log determinants", log_determinants);
  run_test("linalg: x'x, by hand", gram_by_hand);
  run_test("linalg: x'x of every length", gram_of_every_length);
  run_test("linalg: M M', by hand", outer_gram_by_hand);
  run_test("linalg: products at every order", products_at_every_order);
  run_test("linalg: draw from N(Q^-1 b, Q^-1), by hand",
           draw_canonical_by_hand);
  run_test("linalg: the same at order 1", draw_canonical_of_order_one);
  run_test("linalg: the same refuses an indefinite Q", draw_canonical_refuses);
  run_test("linalg: the same, mean and covariance", draw_canonical_moments);
  run_test("linalg: the same, wrong variants rejected", draw_canonical_mutants);
}
