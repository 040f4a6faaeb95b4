/* The tables of log_cdf.h beside R's functions: inside, at the knots, at both ends and
 * beyond them. */
#include "numeric/log_cdf.h"

#include <math.h>

#include "harness.h"

void test_log_cdf(void);

static double worst_of(double low, double high, double (*f)(double),
                       double (*exact)(double)) {
  enum { POINTS = 400000 };
  double worst = 0.0;
  for (int i = 0; i <= POINTS; i++) {
    const double x = low + (high - low) * (double)i / POINTS, value = exact(x);
    worst = fmax(worst, fabs(f(x) - value) / (1.0 + fabs(value)));
  }
  return worst;
}

static double log_phi(double x) {
  return pnorm(x, 0.0, 1.0, 1, 1);
}

static double log1p_exp_minus(double a) {
  return log1p(exp(-a));
}

static double by_table(double x) {
  return log_cdf_normal(x);
}

static double by_logistic_table(double a) {
  return log_cdf_logistic(a);
}

/* Degree 1: the same knots without the derivatives. */
static double by_lines(double x) {
  const double place = (x - LOG_CDF_LOWEST) * LOG_CDF_CELLS;
  const double low = floor(place);
  const double left = log_phi(LOG_CDF_LOWEST + low / LOG_CDF_CELLS);
  const double right = log_phi(LOG_CDF_LOWEST + (low + 1.0) / LOG_CDF_CELLS);
  return left + (place - low) * (right - left);
}

static void tables_are_exact(void) {
  log_cdf_open();
  log_cdf_open();
  EXPECT(worst_of(-45.0, 12.0, by_table, log_phi) < 3e-15);
  EXPECT(worst_of(-3.0, 3.0, by_table, log_phi) < 3e-15);
  EXPECT(worst_of(0.0, 60.0, by_logistic_table, log1p_exp_minus) < 1e-15);
  EXPECT(worst_of(-3.0, 3.0, by_lines, log_phi) > 1e-7);
}

static void knots_and_ends_are_exact(void) {
  const double knots[] = {LOG_CDF_LOWEST, -1.0, 0.0, 0.5,
                          LOG_CDF_LOWEST + LOG_CDF_WIDTH};
  for (size_t i = 0; i < LENGTH(knots); i++)
    EXPECT(log_cdf_normal(knots[i]) == log_phi(knots[i]));
  EXPECT(log_cdf_logistic(0.0) == log1p_exp_minus(0.0));
  EXPECT(log_cdf_normal(-INFINITY) == -INFINITY);
  EXPECT(log_cdf_normal(INFINITY) == 0.0);
  EXPECT(log_cdf_logistic(INFINITY) == 0.0);
  EXPECT(isnan(log_cdf_normal(NAN)) && isnan(log_cdf_logistic(NAN)));
}

void test_log_cdf(void) {
  run_test("log_cdf: inside the tables and beyond", tables_are_exact);
  run_test("log_cdf: knots, ends and no number", knots_and_ends_are_exact);
}
