/* interval_normal_draw(): its distribution for intervals that hold the mean, lie
 * beside it and far from it, narrow and wide, and wrong variants that the same
 * tests must reject. */
#include "numeric/interval_normal.h"

#include <math.h>

#include "harness.h"
#include "numeric/rmath.h"

void test_interval_normal(void);

enum { DRAWS = 100000 };

/* N(0, 1) between low and high */
typedef struct {
  double low, high;
} interval;

static interval current;

/* P(z <= x), from the tail on the side of the mean. */
static double interval_cdf(double x, double mean) {
  double a = current.low - mean, b = current.high - mean, z = x - mean;
  if (z <= a)
    return 0.0;
  if (z >= b)
    return 1.0;
  const int lower = a + b < 0.0;
  const double from = pnorm(a, 0.0, 1.0, lower, 0);
  const double to = pnorm(b, 0.0, 1.0, lower, 0);
  return (pnorm(z, 0.0, 1.0, lower, 0) - from) / (to - from);
}

typedef double (*variant)(double mean, double low, double high);

static double p_value_of(variant draw, double mean, interval at) {
  double *z = new_numbers(DRAWS);
  current = at;
  int inside = 1;
  for (size_t i = 0; i < DRAWS; i++) {
    z[i] = draw(mean, at.low, at.high);
    inside = inside && z[i] >= at.low && z[i] <= at.high;
  }
  const double p = inside ? ks_p_value(z, DRAWS, interval_cdf, mean) : 0.0;
  release_numbers(z);
  return p;
}

static const interval intervals[] = {
  {-0.3, 0.5},       {-2.0, 1.5},     {-1e-3, 9.0},         {0.0, 0.4},
  {0.1, 6.0},        {0.7, 0.701},    {2.0, 2.5},           {2.0, 9.0},
  {5.0, 20.0},       {-3.0, -2.9},    {-8.0, -0.2},         {30.0, 31.0},
  {-INFINITY, -1.0}, {1.3, INFINITY}, {-INFINITY, INFINITY}};

static void distribution_is_right(void) {
  set_seed(121, 122);
  for (size_t k = 0; k < LENGTH(intervals); k++)
    for (int shifted = 0; shifted < 2; shifted++) {
      const double mean = shifted ? 0.4 : 0.0;
      EXPECT(p_value_of(interval_normal_draw, mean, intervals[k]) > TINY_P);
    }
}

/* A narrow interval far away: almost uniform on it. */
static void extremes_are_right(void) {
  set_seed(123, 124);
  for (int i = 0; i < 1000; i++) {
    const double z = interval_normal_draw(0.0, 1e8, 1e8 + 1.0);
    EXPECT(z >= 1e8 && z <= 1e8 + 1e-6);
    const double y = interval_normal_draw(-1e6, -3.0, -3.0 + 1e-12);
    EXPECT(y >= -3.0 && y <= -3.0 + 1e-12);
  }
}

/* ---- wrong variants -------------------------------------------------------- */

static double uniform_always(double mean, double low, double high) {
  (void)mean;
  return low + (high - low) * unif_rand();
}

/* the distribution beside the mean taken for the one about it */
static double mean_forgotten(double mean, double low, double high) {
  (void)mean;
  return interval_normal_draw(0.0, low, high);
}

static void wrong_variants_are_rejected(void) {
  set_seed(125, 126);
  const interval wide = {-2.0, 1.5}, beside = {0.1, 6.0};
  EXPECT(p_value_of(uniform_always, 0.0, wide) < TINY_P);
  EXPECT(p_value_of(mean_forgotten, 0.4, beside) < TINY_P);
}

void test_interval_normal(void) {
  run_test("interval normal: distribution", distribution_is_right);
  run_test("interval normal: extreme intervals", extremes_are_right);
  run_test("interval normal: mutants are rejected",
           wrong_variants_are_rejected);
}
