/* Solutions by BLAS against those of linalg.  Solving with a well-conditioned L,
 * each of the p steps rounds to about 1e-16 of the largest element. */
#include "numeric/blas.h"

#include <math.h>

#include "harness.h"
#include "numeric/linalg.h"
#include "numeric/rmath.h"

void test_blas(void);

enum { SIDES = 5 };

/* A lower triangle; what is above it must not be read. */
static double *triangle(size_t p) {
  double *l = new_numbers(p * p);
  for (size_t j = 0; j < p; j++)
    for (size_t i = 0; i < p; i++)
      l[i + p * j] = i < j ? NAN : norm_rand() + (i == j ? 9.0 + (double)p : 0);
  return l;
}

static void one_side(void) {
  const size_t orders[] = {0, 1, 2, 7, 30};
  set_seed(27, 28);
  for (size_t k = 0; k < LENGTH(orders); k++) {
    const size_t p = orders[k];
    double *l = triangle(p), *b = new_numbers(p), *own = new_numbers(p);
    for (size_t j = 0; j < p; j++)
      own[j] = b[j] = norm_rand();
    blas_solve_lower(l, p, b);
    linalg_solve_lower(l, p, own);
    for (size_t j = 0; j < p; j++)
      EXPECT_NEAR(b[j], own[j], 1e-15 * (double)p);
    blas_solve_lower_transposed(l, p, b);
    linalg_solve_lower_transposed(l, p, own);
    for (size_t j = 0; j < p; j++)
      EXPECT_NEAR(b[j], own[j], 1e-15 * (double)p);
    release_numbers(l);
    release_numbers(b);
    release_numbers(own);
  }
}

/* The rows of b are sides of L^-T. */
static void several_sides(void) {
  set_seed(29, 30);
  for (size_t p = 1; p < 40; p += 3) {
    double *l = triangle(p), *b = new_numbers(SIDES * p);
    double *own = new_numbers(SIDES * p);
    for (size_t side = 0; side < SIDES; side++)
      for (size_t j = 0; j < p; j++)
        own[j + p * side] = b[side + SIDES * j] = norm_rand();
    blas_solve_rows(l, p, b, SIDES);
    for (size_t side = 0; side < SIDES; side++) {
      linalg_solve_lower_transposed(l, p, own + p * side);
      for (size_t j = 0; j < p; j++)
        EXPECT_NEAR(b[side + SIDES * j], own[j + p * side], 1e-15 * (double)p);
    }
    release_numbers(l);
    release_numbers(b);
    release_numbers(own);
  }
}

void test_blas(void) {
  run_test("blas: one side", one_side);
  run_test("blas: several sides", several_sides);
}
