/* The statistical checks themselves: they accept the truth, reject its
 * neighbours, and have the size they claim. */
#include "harness.h"

#include <math.h>

#include "numeric/rmath.h"

void test_harness(void);

static double uniform_cdf(double x, double shift) {
  return fmin(1.0, fmax(0.0, x - shift));
}

static void fill_uniform(double *x, size_t n) {
  for (size_t i = 0; i < n; i++)
    x[i] = unif_rand();
}

static void ks_knows_a_hand_worked_case(void) {
  /* Distance 1/4 with n = 4: t = 1/2; the series for P(K > 1/2) summed in
   * forty digits. */
  double x[] = {0.75, 0.25, 0.5, 1.0};
  EXPECT_NEAR(ks_p_value(x, 4, uniform_cdf, 0.0), 0.9639452436648751, 1e-12);
  double bad[] = {0.5, NAN};
  EXPECT(ks_p_value(bad, 2, uniform_cdf, 0.0) == 0.0);
}

static void ks_p_values_are_uniform(void) {
  enum { RUNS = 1000, SIZE = 2000 };
  double x[SIZE], counts[10] = {0}, tenth[10];
  set_seed(1, 2);
  for (int run = 0; run < RUNS; run++) {
    fill_uniform(x, SIZE);
    const double p = ks_p_value(x, SIZE, uniform_cdf, 0.0);
    counts[p < 1.0 ? (int)(10.0 * p) : 9] += 1.0;
  }
  for (int j = 0; j < 10; j++)
    tenth[j] = 0.1;
  EXPECT(chi_squared_p_value(counts, tenth, 10) > TINY_P);
}

static void ks_rejects_a_shift(void) {
  enum { SIZE = 20000 };
  double *x = new_numbers(SIZE);
  set_seed(3, 4);
  fill_uniform(x, SIZE);
  EXPECT(ks_p_value(x, SIZE, uniform_cdf, 0.0) > TINY_P);
  EXPECT(ks_p_value(x, SIZE, uniform_cdf, 0.02) < TINY_P);
  release_numbers(x);
}

static void chi_squared_knows_a_hand_worked_case(void) {
  /* (10 - 15)^2/15 + (20 - 15)^2/15 = 10/3 on one degree of freedom. */
  const double counts[] = {10, 20, 0}, probabilities[] = {0.5, 0.5, 0};
  const double impossible[] = {15, 15, 1};
  EXPECT_NEAR(chi_squared_p_value(counts, probabilities, 3),
              2.0 * pnorm(-sqrt(10.0 / 3.0), 0, 1, 1, 0), 1e-12);
  EXPECT(chi_squared_p_value(impossible, probabilities, 3) == 0.0);
}

static void z_scores_know_a_hand_worked_case(void) {
  /* mean 2.5, m2 = 1.25, m4 = (2 * 1.5^4 + 2 * 0.5^4) / 4 = 2.5625. */
  const double x[] = {1, 2, 3, 4};
  EXPECT_NEAR(z_mean(x, 4, 2.0), 0.5 / sqrt(1.25 / 4), 1e-12);
  EXPECT_NEAR(z_variance(x, 4, 1.0), 0.25 / sqrt((2.5625 - 1.5625) / 4), 1e-12);
}

void test_harness(void) {
  run_test("harness: Kolmogorov-Smirnov, by hand", ks_knows_a_hand_worked_case);
  run_test("harness: Kolmogorov-Smirnov p-values are uniform",
           ks_p_values_are_uniform);
  run_test("harness: Kolmogorov-Smirnov rejects a shift", ks_rejects_a_shift);
  run_test("harness: chi-squared, by hand",
           chi_squared_knows_a_hand_worked_case);
  run_test("harness: z-scores, by hand", z_scores_know_a_hand_worked_case);
}
