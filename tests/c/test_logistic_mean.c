/* The mean of a logistic function of a normal variable: the rule's error as a
 * function of one variable, which bounds it everywhere; values by brute force;
 * symmetry, limits, the slope; and rules that the same bounds reject. */
#include "logistic/logistic_mean.h"

#include <math.h>
#include <string.h>

#include "harness.h"

void test_logistic_mean(void);

#define SQRT_2PI 2.506628274631000502415765284811

static double sigma(double x) {
  return x < 0.0 ? exp(x) / (1.0 + exp(x)) : 1.0 / (1.0 + exp(-x));
}

/* ---- the bounds ------------------------------------------------------------ */

typedef struct {
  double absolute, relative;
} errors;

/* What the rule leaves of equation (1) of logistic_mean.h, at its worst: a fine
 * grid near 0, a coarse one to where sigma underflows.  With s = 1e-300 the
 * integral (2) is (1), and the branch for s = 0 is not taken. */
static errors worst_errors(const logistic_mean_rule *rule) {
  errors worst = {0.0, 0.0};
  for (int i = 0; i <= 80000; i++) {
    const double x = i <= 40000 ? -1e-3 * i : -40.0 - 0.0165 * (i - 40000);
    const double left = fabs(logistic_mean(rule, x, 1e-300) - sigma(x));
    worst.absolute = fmax(worst.absolute, left);
    worst.relative = fmax(worst.relative, left / sigma(x));
  }
  return worst;
}

static void the_rule_keeps_its_bounds(void) {
  logistic_mean_rule rule;
  logistic_mean_open(&rule);
  const errors worst = worst_errors(&rule);
  EXPECT(worst.absolute < 1e-14);
  EXPECT(worst.relative < 1e-12);
}

/* Nodes increase, weights are positive and are those of a distribution. */
static void the_rule_is_a_mixture(void) {
  logistic_mean_rule rule;
  logistic_mean_open(&rule);
  double total = 0.0, variance = 0.0;
  for (size_t j = 0; j < LOGISTIC_MEAN_NODES; j++) {
    EXPECT(rule.weight[j] >= 0.0);
    EXPECT(j == 0 || rule.scale[j] > rule.scale[j - 1]);
    total += rule.weight[j];
    variance += rule.weight[j] * rule.scale[j] * rule.scale[j];
  }
  EXPECT_NEAR(total, 1.0, 1e-14);
  /* that of the logistic distribution, pi^2 / 3 */
  EXPECT_NEAR(variance, 3.289868133696452872944830, 1e-14);
  /* the last node is one that sigma(-745) may still need */
  EXPECT(rule.scale[LOGISTIC_MEAN_NODES - 1] > sqrt(745.0) + 5.5);
}

static void a_node_left_out_breaks_the_bounds(void) {
  logistic_mean_rule rule;
  logistic_mean_open(&rule);
  for (size_t j = 4; j < 30; j += 5) {
    logistic_mean_rule wrong = rule;
    wrong.weight[j] = 0.0;
    EXPECT(worst_errors(&wrong).absolute > 1e-10);
  }
}

/* ---- values ------------------------------------------------------------------ */

/* The integral by the trapezoidal rule over z, fine enough for the poles of
 * sigma at distance pi / s of the real line: its error is below exp(-40). */
static double brute_force(double m, double s) {
  const double step = fmin(0.4, 0.4 / s);
  const long most = lround(ceil(39.0 / step));
  double sum = 0.0;
  for (long j = -most; j <= most; j++) {
    const double z = step * (double)j;
    sum += sigma(m + s * z) * exp(-0.5 * z * z);
  }
  return step * sum / SQRT_2PI;
}

static const double centres[] = {0,  1e-6, 0.01, 0.3, 1,  2.5, 5,
                                 10, 20,   37,   60,  99, 300, 1000};
static const double spreads[] = {0.01, 0.1, 0.5, 1,   2,   3.7,
                                 8,    10,  31,  100, 310, 1000};

static void values_are_those_of_brute_force(void) {
  logistic_mean_rule rule;
  logistic_mean_open(&rule);
  for (size_t a = 0; a < LENGTH(centres); a++)
    for (size_t b = 0; b < LENGTH(spreads); b++) {
      const double m = -centres[a], s = spreads[b];
      const double want = brute_force(m, s), got = logistic_mean(&rule, m, s);
      EXPECT(fabs(got - want) < 1e-13);
      EXPECT(want < 1e-250 || fabs(got / want - 1.0) < 1e-11);
      EXPECT(fabs(logistic_mean(&rule, -m, s) - (1.0 - want)) < 1e-13);
    }
}

/* The plug-in sigma(m), and Gauss-Hermite with three nodes, are not within the
 * tolerance of the test above. */
static void wrong_rules_are_told_apart(void) {
  double plug_in = 0.0, hermite = 0.0;
  for (size_t a = 0; a < LENGTH(centres); a++)
    for (size_t b = 0; b < LENGTH(spreads); b++) {
      const double m = -centres[a], s = spreads[b], far = sqrt(3.0) * s;
      const double want = brute_force(m, s);
      const double three =
        2.0 / 3.0 * sigma(m) + (sigma(m - far) + sigma(m + far)) / 6.0;
      plug_in = fmax(plug_in, fabs(sigma(m) - want));
      hermite = fmax(hermite, fabs(three - want));
    }
  EXPECT(plug_in > 0.1);
  EXPECT(hermite > 0.01);
}

static void slopes_are_those_of_brute_force(void) {
  logistic_mean_rule rule;
  logistic_mean_open(&rule);
  for (size_t a = 0; a < LENGTH(centres); a++)
    for (size_t b = 0; b < LENGTH(spreads); b++) {
      const double m = centres[a], s = spreads[b];
      /* by parts: E sigma'(m + s Z) = E Z sigma(m + s Z) / s */
      const double step = fmin(0.4, 0.4 / s);
      const long most = lround(ceil(39.0 / step));
      double sum = 0.0;
      for (long j = -most; j <= most; j++) {
        const double z = step * (double)j, p = sigma(m + s * z);
        sum += p * (1.0 - p) * exp(-0.5 * z * z);
      }
      const double want = step * sum / SQRT_2PI;
      EXPECT(fabs(logistic_mean_slope(&rule, m, s) - want) < 1e-13);
      EXPECT(fabs(logistic_mean_slope(&rule, -m, s) - want) < 1e-13);
    }
}

static void limits_are_exact(void) {
  logistic_mean_rule rule;
  logistic_mean_open(&rule);
  EXPECT(fabs(logistic_mean(&rule, 0.0, 5.0) - 0.5) < 1e-14);
  EXPECT_NEAR(logistic_mean(&rule, -2.0, 0.0), sigma(-2.0), 1e-15);
  EXPECT_NEAR(logistic_mean_slope(&rule, 0.0, 0.0), 0.25, 1e-15);
  EXPECT(logistic_mean(&rule, -1e3, 0.0) >= 0.0);
  EXPECT(logistic_mean(&rule, INFINITY, 3.0) >= 1.0);
  EXPECT(logistic_mean(&rule, -INFINITY, 3.0) <= 0.0);
  EXPECT(fabs(logistic_mean(&rule, 1.0, INFINITY) - 0.5) < 1e-14);
  EXPECT(isnan(logistic_mean(&rule, NAN, 1.0)));
  EXPECT(isnan(logistic_mean(&rule, 1.0, -1.0)));
  EXPECT(isnan(logistic_mean_slope(&rule, 1.0, NAN)));
}

/* Sigma^-1 = L L' with L = (2 0; 1 3): Sigma = (10 -2; -2 4) / 36. */
static void moments_by_hand(void) {
  const double map[] = {0.5, -2.0}, factor[] = {2.0, 1.0, 0.0, 3.0};
  const double x[] = {3.0, 9.0, -1.0, 9.0}; /* every other one is of the row */
  const logistic_posterior w = {2, map, factor};
  double work[2], mean, sd;
  logistic_moments(&w, x, 2, work, &mean, &sd);
  EXPECT_NEAR(mean, 3.5, 1e-15);
  EXPECT_NEAR(sd, sqrt((9.0 * 10.0 + 12.0 + 4.0) / 36.0), 1e-14);
}

void test_logistic_mean(void) {
  run_test("logistic mean: a rule of positive weights", the_rule_is_a_mixture);
  run_test("logistic mean: errors within the bounds",
           the_rule_keeps_its_bounds);
  run_test("logistic mean: a node left out is noticed",
           a_node_left_out_breaks_the_bounds);
  run_test("logistic mean: values by brute force",
           values_are_those_of_brute_force);
  run_test("logistic mean: plug-in and Gauss-Hermite are noticed",
           wrong_rules_are_told_apart);
  run_test("logistic mean: slopes by brute force",
           slopes_are_those_of_brute_force);
  run_test("logistic mean: limits", limits_are_exact);
  run_test("logistic mean: moments of a predictor, by hand", moments_by_hand);
}
