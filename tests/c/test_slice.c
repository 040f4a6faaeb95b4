/* slice_step(): a normal and a skew density come out with their mean and variance,
 * when each step starts from a draw of it. */
#include "slice.h"

#include <math.h>

#include "harness.h"
#include "rmath.h"

void test_slice(void);

typedef struct {
  double mean, sd;
} normal;

static double log_normal_density(const void *data, double x) {
  const normal *n = data;
  const double z = (x - n->mean) / n->sd;
  return -0.5 * z * z;
}

/* x = log y, y ~ Gamma(shape, 1) */
static double log_gamma_density(const void *data, double x) {
  return *(const double *)data * x - exp(x);
}

/* Each starts at a draw of the density itself, so that they are independent. */
enum { STEPS = 40000 };

static void test_normal(void) {
  static const normal widths[] = {{0.3, 0.1}, {-2.0, 1.0}, {5.0, 7.0}};
  set_seed(81, 82);
  for (size_t w = 0; w < LENGTH(widths); w++) {
    double mean = 0.0, square = 0.0;
    for (int step = 0; step < STEPS; step++) {
      const double x = widths[w].mean + widths[w].sd * norm_rand();
      const double after = slice_step(log_normal_density, widths + w, x);
      const double z = (after - widths[w].mean) / widths[w].sd;
      mean += z / STEPS;
      square += z * z / STEPS;
    }
    EXPECT_NEAR(mean, 0.0, 4.5 / sqrt((double)STEPS));
    EXPECT_NEAR(square, 1.0, 4.5 * sqrt(2.0 / STEPS));
  }
}

/* A density that is not symmetric. */
static void test_skew(void) {
  const double shape = 1.5;
  double sum = 0.0;
  set_seed(83, 84);
  for (int step = 0; step < STEPS; step++) {
    const double x = log(rgamma(shape, 1.0));
    sum += exp(slice_step(log_gamma_density, &shape, x)) / STEPS;
  }
  EXPECT_NEAR(sum, shape, 4.5 * sqrt(shape / STEPS));
}

void test_slice(void) {
  run_test("slice: a normal", test_normal);
  run_test("slice: the logarithm of a gamma", test_skew);
}
