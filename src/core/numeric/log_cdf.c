#include "numeric/rounding.h"

#include "numeric/log_cdf.h"

log_cdf_cell log_cdf_normal_table[LOG_CDF_CELLS * LOG_CDF_WIDTH],
  log_cdf_logistic_table[LOG_CDF_CELLS * LOG_CDF_TAIL];

/* A function and its first two derivatives at a knot. */
typedef struct {
  double value, slope, bend;
} knot;

static knot normal_knot(double x) {
  const double value = pnorm(x, 0.0, 1.0, 1, 1);
  const double slope = exp(dnorm(x, 0.0, 1.0, 1) - value);
  return (knot){value, slope, -slope * (x + slope)};
}

static knot logistic_knot(double a) {
  const double p = 1.0 / (1.0 + exp(a));
  return (knot){log1p(exp(-a)), -p, p * (1.0 - p)};
}

static void fill(log_cdf_cell *table, double low, size_t cells,
                 knot (*knot_at)(double)) {
  const double h = 1.0 / LOG_CDF_CELLS;
  knot left = knot_at(low);
  for (size_t k = 0; k < cells; k++) {
    const knot right = knot_at(low + h * (double)(k + 1));
    const double rise = right.value - left.value;
    const double d0 = h * left.slope, d1 = h * right.slope;
    const double s0 = 0.5 * h * h * left.bend, s1 = 0.5 * h * h * right.bend;
    table[k] = (log_cdf_cell){
      {left.value, d0, s0, 10.0 * rise - 6.0 * d0 - 4.0 * d1 - 3.0 * s0 + s1,
       -15.0 * rise + 8.0 * d0 + 7.0 * d1 + 3.0 * s0 - 2.0 * s1,
       6.0 * rise - 3.0 * (d0 + d1) - s0 + s1}};
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
