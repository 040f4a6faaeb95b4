/* slice_step(): a normal and a skew density come out with their mean and variance,
 * when each step starts from a draw of it; so do a density on an interval much
 * shorter than the step and one with two modes apart, in which a step that treats
 * the sides unlike would move to one of them. */
#include "run/slice.h"

#include <math.h>

#include "harness.h"
#include "numeric/rmath.h"

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

/* Uniform on (0, width). */
static double log_box(const void *data, double x) {
  return x > 0.0 && x < *(const double *)data ? 0.0 : -INFINITY;
}

/* Up to 0.7 a density of 2 a unit, from 1.2 to 1.9 half of that. */
static double log_towers(const void *data, double x) {
  (void)data;
  if (x > 0.0 && x < 0.7)
    return log(2.0);
  return x > 1.2 && x < 1.9 ? 0.0 : -INFINITY;
}

/* Where the density is uniform, its distribution function at the step's end is
 * uniform too: in ten cells, and where the step came from plays no part. */
static void test_box(void) {
  static const double widths[] = {0.2, 0.8, 1.7, 6.0};
  set_seed(85, 86);
  for (size_t w = 0; w < LENGTH(widths); w++) {
    double cells[10] = {0.0}, even[10];
    invariance steps = new_invariance(4);
    for (int step = 0; step < STEPS; step++) {
      const double x = widths[w] * unif_rand();
      const double y = slice_step(log_box, widths + w, x), u = y / widths[w];
      const double before[] = {x, x * x, x<0.3 * widths[w], x> 1.0 / 3.0};
      const double after[] = {y, y * y, y<0.3 * widths[w], y> 1.0 / 3.0};
      compare(&steps, before, after);
      cells[(int)(10.0 * u)] += 1.0;
    }
    for (size_t c = 0; c < LENGTH(even); c++)
      even[c] = 0.1;
    EXPECT(chi_squared_p_value(cells, even, LENGTH(even)) > TINY_P);
    if (widths[w] > 0.5)
      EXPECT_INVARIANT(&steps);
  }
}

static void test_towers(void) {
  invariance steps = new_invariance(5);
  set_seed(87, 88);
  for (int step = 0; step < 4 * STEPS; step++) {
    const double tower = unif_rand() < 2.0 / 3.0 ? 0.0 : 1.2;
    const double x = tower + 0.7 * unif_rand();
    const double y = slice_step(log_towers, NULL, x);
    const double before[] = {x, x > 1.0, x * x, fmod(x, 1.2), x > 1.7};
    const double after[] = {y, y > 1.0, y * y, fmod(y, 1.2), y > 1.7};
    compare(&steps, before, after);
  }
  EXPECT_INVARIANT(&steps);
}

/* Not an endless search. */
static void test_no_number(void) {
  static const normal nowhere = {0.0, NAN};
  EXPECT(slice_step(log_normal_density, &nowhere, 2.0) == 2.0);
}

void test_slice(void) {
  run_test("slice: a box", test_box);
  run_test("slice: two towers", test_towers);
  run_test("slice: a normal", test_normal);
  run_test("slice: the logarithm of a gamma", test_skew);
  run_test("slice: no number", test_no_number);
}
