/* The distribution functions of t_mixture.h beside R's, and quantiles of mixtures. */
#include "numeric/t_mixture.h"

#include <math.h>
#include <stdlib.h>

#include "harness.h"
#include "numeric/rmath.h"

void test_t_mixture(void);

enum { KINDS = 5, POINTS = 3 };
static const double degrees[KINDS] = {0.3, 1.0, 2.5, 30.0, 1e7};

static t_mixture opened(size_t n, const double *nu) {
  arena a = arena_measure();
  t_mixture_take(&a, n);
  a = arena_over(malloc(arena_size(&a)));
  t_mixture m = t_mixture_take(&a, n);
  t_mixture_open(&m, nu);
  return m;
}

static void tails_are_those_of_r(void) {
  t_mixture m = opened(KINDS, degrees);
  for (size_t s = 0; s < KINDS; s++)
    for (int i = 0; i <= 4000; i++) {
      const double z = 12.0 * i / 4000.0;
      double tail, density;
      t_mixture_tail(&m, s, z, &tail, &density);
      EXPECT(fabs(tail - pt(z, degrees[s], 0, 0)) <
             (degrees[s] < 1.0 ? 1e-9 : 1e-10));
      EXPECT(fabs(density - dt(z, degrees[s], 0)) < 1e-7);
    }
  free(m.cells);
}

/* P(X < q) of the mixture, by R's function. */
static double below(const double *mean, const double *sd, double scale,
                    double q) {
  double sum = 0.0;
  for (size_t k = 0; k < KINDS * POINTS; k++)
    sum +=
      pt((q - mean[k]) / (scale * sd[k % KINDS]), degrees[k % KINDS], 1, 0);
  return sum / (KINDS * POINTS);
}

static void quantiles_have_their_probability(void) {
  t_mixture m = opened(KINDS, degrees);
  const double sd[KINDS] = {1.0, 0.5, 2.0, 1.0, 3.0}, scale = 0.7;
  const double probs[] = {0.001, 0.025, 0.5, 0.8, 0.975};
  double mean[KINDS * POINTS];
  for (size_t k = 0; k < KINDS * POINTS; k++)
    mean[k] = 10.0 + sin((double)k);
  for (size_t i = 0; i < LENGTH(probs); i++) {
    /* from a guess near it, which bisection finds */
    double low = -1e6, high = 1e6;
    for (int step = 0; step < 60; step++) {
      const double middle = 0.5 * (low + high);
      *(below(mean, sd, scale, middle) < probs[i] ? &low : &high) = middle;
    }
    const double q = t_mixture_quantile(&m, probs[i], mean, POINTS, sd, scale,
                                        low + 0.05, 1e-5);
    EXPECT(fabs(q - low) < 1e-7 * (1.0 + fabs(low)));
  }
  EXPECT(
    isnan(t_mixture_quantile(&m, 0.5, mean, POINTS, sd, scale, 1e300, 1e-5)));
  mean[3] = NAN;
  EXPECT(
    isnan(t_mixture_quantile(&m, 0.5, mean, POINTS, sd, scale, 10.0, 1e-5)));
  free(m.cells);
}

void test_t_mixture(void) {
  run_test("t_mixture: tails and densities", tails_are_those_of_r);
  run_test("t_mixture: quantiles", quantiles_have_their_probability);
}
