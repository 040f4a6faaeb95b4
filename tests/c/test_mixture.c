/* Quantiles of mixtures of normals, beside the distribution functions of the
 * library, for numbers of components that fill the vectors and that do not. */
#include "numeric/mixture.h"

#include <math.h>

#include "drawing.h"
#include "harness.h"
#include "numeric/rmath.h"

void test_mixture(void);

static double share_below(const double *mean, const double *sd, size_t n,
                          double q) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++)
    sum += pnorm(q, mean[i], sd[i], 1, 0);
  return sum / (double)n;
}

static void has_its_probability_below(size_t n, double spread, double unlike) {
  double *mean = new_numbers(n), *sd = new_numbers(n);
  for (size_t i = 0; i < n; i++) {
    mean[i] = 5.0 + spread * norm_rand();
    sd[i] = exp(unlike * norm_rand());
  }
  arena size = arena_measure();
  mixture_take(&size, n);
  double *memory = new_numbers(arena_size(&size) / sizeof(double) + 1);
  arena a = arena_over(memory);
  mixture m = mixture_take(&a, n);
  mixture_set_sd(&m, sd);
  mixture_set_mean(&m, mean);
  const double p[] = {1e-10, 0.01, 0.5, 0.9};
  for (size_t k = 0; k < 4; k++)
    EXPECT_NEAR(share_below(mean, sd, n, mixture_quantile(&m, p[k])) / p[k],
                1.0, 1e-8);
  EXPECT(isinf(mixture_quantile(&m, 0.0)) && isinf(mixture_quantile(&m, 1.0)));
  mean[0] = NAN;
  mixture_set_mean(&m, mean);
  EXPECT(isnan(mixture_quantile(&m, 0.5)));
  release_numbers(memory);
  release_numbers(mean);
  release_numbers(sd);
}

static void of_any_size(void) {
  set_seed(1, 2);
  for (size_t n = 1; n < 20; n++)
    for (int wide = 0; wide < 3; wide++)
      has_its_probability_below(n, pow(10.0, wide - 1), 0.3 * wide);
}

void test_mixture(void) {
  run_test("mixture: quantiles have their probability below them", of_any_size);
}
