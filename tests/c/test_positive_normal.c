/* positive_normal_draw(): its distribution for means on either side of 0 and far below
 * it, and wrong variants that the same tests must reject. */
#include "numeric/positive_normal.h"

#include <math.h>

#include "harness.h"
#include "numeric/rmath.h"

void test_positive_normal(void);

enum { DRAWS = 200000 };

/* P(z <= x): for a mean far below 0 from the upper tail. */
static double truncated_cdf(double x, double mean) {
  if (x <= 0.0)
    return 0.0;
  const double all = pnorm(mean, 0.0, 1.0, 1, 1);
  return -expm1(pnorm(x - mean, 0.0, 1.0, 0, 1) - all);
}

typedef double (*variant)(double mean);

static double p_value_of(variant draw, double mean) {
  double *z = new_numbers(DRAWS);
  for (size_t i = 0; i < DRAWS; i++)
    z[i] = draw(mean);
  const double p = ks_p_value(z, DRAWS, truncated_cdf, mean);
  release_numbers(z);
  return p;
}

static const double means[] = {-1000.0, -30.0, -6.0, -1.0, -0.3,
                               -1e-9,   0.0,   1e-9, 0.4,  3.0};

static void distribution_is_right(void) {
  set_seed(111, 112);
  for (size_t k = 0; k < LENGTH(means); k++)
    EXPECT(p_value_of(positive_normal_draw, means[k]) > TINY_P);
}

/* Far below 0 the variate is exponential with rate -mean. */
static void extremes_are_right(void) {
  static const double extreme[] = {-1e8, -1e150, -1e300};
  set_seed(113, 114);
  double *z = new_numbers(DRAWS);
  for (size_t k = 0; k < LENGTH(extreme); k++) {
    for (size_t i = 0; i < DRAWS; i++)
      z[i] = -extreme[k] * positive_normal_draw(extreme[k]);
    EXPECT(fabs(z_mean(z, DRAWS, 1.0)) < MAX_Z);
    EXPECT(fabs(z_variance(z, DRAWS, 1.0)) < MAX_Z);
  }
  release_numbers(z);
  EXPECT(positive_normal_draw(1e300) == 1e300);
}

/* ---- wrong variants -------------------------------------------------------- */

static double always_accepted(double mean) {
  return exp_rand() / (0.5 * (hypot(mean, 2.0) - mean));
}

static double rate_of_the_mean(double mean) {
  return exp_rand() / -mean;
}

static double reflected(double mean) {
  return fabs(mean + norm_rand());
}

static double not_truncated(double mean) {
  return mean + norm_rand();
}

static void mutants_are_rejected(void) {
  set_seed(115, 116);
  EXPECT(p_value_of(always_accepted, -1.0) < TINY_P);
  EXPECT(p_value_of(rate_of_the_mean, -6.0) < TINY_P);
  EXPECT(p_value_of(reflected, 0.4) < TINY_P);
  EXPECT(p_value_of(not_truncated, 2.0) < TINY_P);
}

void test_positive_normal(void) {
  run_test("positive normal: distribution", distribution_is_right);
  run_test("positive normal: extreme means", extremes_are_right);
  run_test("positive normal: mutants are rejected", mutants_are_rejected);
}
