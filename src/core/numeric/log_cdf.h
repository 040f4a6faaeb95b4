/* Logarithms of distribution functions at many points: polynomials of degree 5
 * between knots 1/64 apart, with the values and the first two derivatives of the
 * function at both knots.  The difference from pnorm() is below 3e-15 (1 + |value|). */
#ifndef GIBBSITE_LOG_CDF_H
#define GIBBSITE_LOG_CDF_H

#include <math.h>
#include <stddef.h>

#include "numeric/quintic.h"
#include "numeric/rmath.h"

#define LOG_CDF_CELLS 64 /* in a unit */
#define LOG_CDF_LOWEST (-36.0)
#define LOG_CDF_WIDTH 44 /* of the table of log Phi */
#define LOG_CDF_TAIL 40  /* of that of log(1 + exp(-a)), from a = 0 */

extern quintic log_cdf_normal_table[LOG_CDF_CELLS * LOG_CDF_WIDTH],
  log_cdf_logistic_table[LOG_CDF_CELLS * LOG_CDF_TAIL];

/* Fills the tables, before the first use, in one thread. */
void log_cdf_open(void);

/* At the distance `away` from the first knot, inside the table. */
static inline double log_cdf_at(const quintic *table, double away) {
  const double place = away * LOG_CDF_CELLS;
  const size_t cell = (size_t)place;
  return quintic_at(table + cell, place - (double)cell);
}

/* log Phi(x) */
static inline double log_cdf_normal(double x) {
  const double away = x - LOG_CDF_LOWEST;
  if (away >= 0.0 && away < LOG_CDF_WIDTH)
    return log_cdf_at(log_cdf_normal_table, away);
  return pnorm(x, 0.0, 1.0, 1, 1);
}

/* log(1 + exp(-a)), a >= 0 */
static inline double log_cdf_logistic(double a) {
  if (a < LOG_CDF_TAIL)
    return log_cdf_at(log_cdf_logistic_table, a);
  return log1p(exp(-a));
}

/* log P of y successes and f failures, without the binomial coefficient:
 * y log F(x) + f log F(-x), F the logistic or the normal distribution function. */
static inline double log_trials_logistic(double y, double f, double x) {
  return (x > 0.0 ? -f * x : y * x) - (y + f) * log_cdf_logistic(fabs(x));
}

static inline double log_trials_normal(double y, double f, double x) {
  return (y > 0.0 ? y * log_cdf_normal(x) : 0.0) +
         (f > 0.0 ? f * log_cdf_normal(-x) : 0.0);
}

#endif
