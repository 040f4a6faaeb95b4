/* interval_normal_draw() and normals_keyed_between(): their distribution for intervals that hold the mean, lie
 * beside it and far from it, narrow and wide, and wrong variants that the same
 * tests must reject. */
#include "numeric/interval_normal.h"

#include <math.h>

#include "harness.h"
#include "numeric/normals.h"
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

/* One place of a key after the other. */
static uint64_t next_place;

static double keyed_draw(double mean, double low, double high) {
  const philox_key key = {{121, 122}};
  const normals_interval at = {&mean, &low, &high, NULL};
  double z;
  normals_keyed_between(key, next_place++, NULL, &at, &z, 1);
  return z;
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
      EXPECT(p_value_of(keyed_draw, mean, intervals[k]) > TINY_P);
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
    const double x = keyed_draw(0.0, 1e8, 1e8 + 1.0);
    EXPECT(x >= 1e8 && x <= 1e8 + 1e-6);
    const double w = keyed_draw(-1e6, -3.0, -3.0 + 1e-12);
    EXPECT(w >= -3.0 && w <= -3.0 + 1e-12);
  }
}

/* P(t <= x) where t has nearly the density exp(-c t), cut off at current.high. */
static double exponential_cdf(double x, double c) {
  const double scale = -expm1(-c * current.high);
  return -expm1(-c * x) / scale;
}

/* Beyond the probabilities that a double has, on both sides of the mean, on both
 * sides of where the way of drawing changes. */
static void far_tails_are_exponential(void) {
  enum { FEW = 10000 };
  double t[FEW];
  const double bounds[] = {36.0, 200.0, 1e5}, widths[] = {INFINITY, 1e-2};
  for (size_t b = 0; b < LENGTH(bounds); b++)
    for (size_t w = 0; w < LENGTH(widths); w++)
      for (int below = 0; below < 2; below++) {
        const double c = bounds[b], end = c + widths[w];
        for (size_t i = 0; i < FEW; i++)
          t[i] = below ? -c - keyed_draw(0.0, -end, -c)
                       : keyed_draw(0.0, c, end) - c;
        current = (interval){0.0, widths[w]};
        EXPECT(ks_p_value(t, FEW, exponential_cdf, c + 1.0 / c) > TINY_P);
        EXPECT(widths[w] < INFINITY ||
               ks_p_value(t, FEW, exponential_cdf, 1.3 * c) < TINY_P);
      }
  const interval near[] = {{34.9, 34.95}, {35.0, 35.05}, {35.1, 35.15}};
  for (size_t k = 0; k < LENGTH(near); k++)
    EXPECT(p_value_of(keyed_draw, 0.0, near[k]) > TINY_P);
}

/* Values belong to their places, alone and among others. */
static void keyed_values_are_those_of_their_places(void) {
  enum { MANY = 300 };
  const philox_key key = {{7, 8}};
  double mean[MANY], low[MANY], high[MANY], all[MANY], some[MANY];
  int place[MANY];
  for (int i = 0; i < MANY; i++) {
    place[i] = (i * 7) % MANY;
    mean[i] = 0.01 * i - 1.0;
    low[i] = i % 3 == 0 ? -INFINITY : -0.5;
    high[i] = i % 5 == 0 ? INFINITY : (i % 50 == 1 ? -0.4 : 60.0);
    if (i % 40 == 2)
      mean[i] = 100.0;
  }
  const normals_interval at = {mean, low, high, NULL};
  normals_keyed_between(key, 0, NULL, &at, all, MANY);
  double mean_at[MANY], low_at[MANY], high_at[MANY];
  for (int i = 0; i < MANY; i++) {
    mean_at[i] = mean[place[i]];
    low_at[i] = low[place[i]];
    high_at[i] = high[place[i]];
  }
  const normals_interval there = {mean_at, low_at, high_at, NULL};
  normals_keyed_between(key, 0, place, &there, some, MANY);
  for (int i = 0; i < MANY; i++) {
    const normals_interval own = {mean + i, low + i, high + i, NULL};
    double one;
    normals_keyed_between(key, (uint64_t)i, NULL, &own, &one, 1);
    EXPECT(same_bits(&one, all + i, 1));
    EXPECT(same_bits(some + i, all + place[i], 1));
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
  run_test("interval normal: far tails", far_tails_are_exponential);
  run_test("interval normal: places of a key",
           keyed_values_are_those_of_their_places);
  run_test("interval normal: mutants are rejected",
           wrong_variants_are_rejected);
}
