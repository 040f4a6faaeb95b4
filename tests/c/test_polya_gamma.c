/* polya_gamma_draw(): Laplace transform and moments at every kind of shape and
 * tilt, and wrong variants that the same tests must reject. */
#include "numeric/polya_gamma.h"

#include <math.h>

#include "harness.h"
#include "numeric/rmath.h"

void test_polya_gamma(void);

static const size_t shapes[] = {1, 2, 7, 50, 300};
static const double tilts[] = {0.0, 0.1, -2.0, 3.2, 20.0, 100.0};

/* sqrt(c^2/2 + t) / sqrt 2 at t; log cosh without overflow */
static double log_cosh(double x) {
  return fabs(x) + log1p(exp(-2.0 * fabs(x))) - log(2.0);
}

static double log_transform(double b, double c, double t) {
  return b * (log_cosh(0.5 * c) - log_cosh(sqrt(0.25 * c * c + 0.5 * t)));
}

static double mean_of_pg(double b, double c) {
  return c == 0.0 ? 0.25 * b : 0.5 * b / c * tanh(0.5 * c);
}

/* b (sinh c - c) / (4 c^3 cosh^2(c/2)), with sinh c = 2 sinh(c/2) cosh(c/2) */
static double variance_of_pg(double b, double c) {
  if (fabs(c) < 0.01)
    return b / 24.0 * (1.0 - 0.2 * c * c);
  const double h = cosh(0.5 * c);
  return 0.25 * b / (c * c * c) * (2.0 * tanh(0.5 * c) - c / (h * h));
}

typedef double (*variant)(size_t trials, double tilt);

/* The largest |z|: of mean and variance, and of exp(-t w) at t that leave the mean
 * of it at about 0.2 and 0.7. */
static double largest_z(variant draw, size_t b, double c, size_t n) {
  double *w = new_numbers(n);
  double *damped = new_numbers(n);
  for (size_t i = 0; i < n; i++)
    w[i] = draw(b, c);
  const double mean = mean_of_pg((double)b, c);
  double worst = fabs(z_mean(w, n, mean));
  worst = fmax(worst, fabs(z_variance(w, n, variance_of_pg((double)b, c))));
  static const double at[] = {0.4, 1.6};
  for (size_t k = 0; k < LENGTH(at); k++) {
    const double t = at[k] / mean;
    for (size_t i = 0; i < n; i++)
      damped[i] = exp(-t * w[i]);
    worst =
      fmax(worst, fabs(z_mean(damped, n, exp(log_transform((double)b, c, t)))));
  }
  release_numbers(damped);
  release_numbers(w);
  return worst;
}

/* A million draws of PG(1, c) at every tilt, fewer sums of more. */
static size_t size_for(size_t b) {
  const size_t n = 1000000 / b;
  return n < 20000 ? 20000 : n;
}

static void distribution_is_right(void) {
  set_seed(91, 92);
  for (size_t i = 0; i < LENGTH(shapes); i++)
    for (size_t j = 0; j < LENGTH(tilts); j++)
      EXPECT(largest_z(polya_gamma_draw, shapes[i], tilts[j],
                       size_for(shapes[i])) < MAX_Z);
}

/* Either side of the tilt where the inverse Gaussian part is drawn in another
 * way, and of that from which the exponential part is left out. */
static void tilts_around_the_limits_are_right(void) {
  static const double limits[] = {2.0 / 0.64, 60.0};
  set_seed(93, 94);
  for (size_t i = 0; i < LENGTH(limits); i++)
    for (int side = -1; side <= 1; side += 2)
      EXPECT(largest_z(polya_gamma_draw, 1, limits[i] * (1.0 + 1e-9 * side),
                       200000) < MAX_Z);
}

static void extremes_are_finite(void) {
  static const double extreme[] = {1e-300, 1e-8, 700.0, 1e8, 1e150, 1e300};
  set_seed(95, 96);
  EXPECT(polya_gamma_draw(0, 1.0) == 0.0);
  for (size_t i = 0; i < LENGTH(extreme); i++)
    for (int repeat = 0; repeat < 1000; repeat++) {
      const double w = polya_gamma_draw(1, extreme[i]);
      EXPECT(w >= 0.0 && isfinite(w) && (w > 0.0 || extreme[i] > 1e160));
    }
  /* for a large tilt w is 1 / (2c), up to a relative error of sqrt(1/c) */
  EXPECT(fabs(2e12 * polya_gamma_draw(1, 1e12) - 1.0) < 1e-4);
}

/* ---- wrong variants -------------------------------------------------------- */

static double tilt_not_halved(size_t trials, double tilt) {
  return polya_gamma_draw(trials, 2.0 * tilt);
}

static double not_quartered(size_t trials, double tilt) {
  return 4.0 * polya_gamma_draw(trials, tilt);
}

static double one_trial_less(size_t trials, double tilt) {
  return polya_gamma_draw(trials - 1, tilt);
}

/* Its mean for each draw. */
static double no_spread(size_t trials, double tilt) {
  return mean_of_pg((double)trials, tilt);
}

/* A normal with the right mean and variance. */
static double normal_instead(size_t trials, double tilt) {
  return mean_of_pg((double)trials, tilt) +
         sqrt(variance_of_pg((double)trials, tilt)) * norm_rand();
}

static void mutants_are_rejected(void) {
  set_seed(97, 98);
  EXPECT(largest_z(tilt_not_halved, 1, 2.0, 200000) > MAX_Z);
  EXPECT(largest_z(tilt_not_halved, 7, 0.5, 200000) > MAX_Z);
  EXPECT(largest_z(not_quartered, 2, 0.0, 200000) > MAX_Z);
  EXPECT(largest_z(one_trial_less, 50, 2.0, 20000) > MAX_Z);
  EXPECT(!(largest_z(no_spread, 7, 2.0, 20000) < MAX_Z));
  EXPECT(largest_z(normal_instead, 2, 1.0, 200000) > MAX_Z);
}

void test_polya_gamma(void) {
  run_test("Polya-Gamma: transform, mean and variance", distribution_is_right);
  run_test("Polya-Gamma: either side of its limits",
           tilts_around_the_limits_are_right);
  run_test("Polya-Gamma: extreme tilts", extremes_are_finite);
  run_test("Polya-Gamma: mutants are rejected", mutants_are_rejected);
}
