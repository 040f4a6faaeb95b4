#include "numeric/rounding.h"

#include "numeric/log_cdf.h"

quintic log_cdf_normal_table[LOG_CDF_CELLS * LOG_CDF_WIDTH],
  log_cdf_logistic_table[LOG_CDF_CELLS * LOG_CDF_TAIL];

static quintic_knot normal_knot(double x) {
  const double value = pnorm(x, 0.0, 1.0, 1, 1);
  const double slope = exp(dnorm(x, 0.0, 1.0, 1) - value);
  return (quintic_knot){value, slope, -slope * (x + slope)};
}

static quintic_knot logistic_knot(double a) {
  const double p = 1.0 / (1.0 + exp(a));
  return (quintic_knot){log1p(exp(-a)), -p, p * (1.0 - p)};
}

static void fill(quintic *table, double low, size_t cells,
                 quintic_knot (*knot_at)(double)) {
  const double h = 1.0 / LOG_CDF_CELLS;
  quintic_knot left = knot_at(low);
  for (size_t k = 0; k < cells; k++) {
    const quintic_knot right = knot_at(low + h * (double)(k + 1));
    table[k] = quintic_between(left, right, h);
    left = right;
  }
}

void log_cdf_open(void) {
  static int filled;
  if (filled)
    return;
  fill(log_cdf_normal_table, LOG_CDF_LOWEST, LOG_CDF_CELLS * LOG_CDF_WIDTH,
       normal_knot);
  fill(log_cdf_logistic_table, 0.0, LOG_CDF_CELLS * LOG_CDF_TAIL,
       logistic_knot);
  filled = 1;
}
