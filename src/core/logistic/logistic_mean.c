#include "numeric/rounding.h"

#include "logistic/logistic_mean.h"

#include <math.h>

#include "numeric/blas.h"

#define PI 3.141592653589793238462643383280
#define SQRT_2PI 2.506628274631000502415765284811
#define SQRT_2 1.414213562373095048801688724210

static const double step = 0.28, first = -3.36;

/* The density of Kolmogorov's distribution at k < 1, and at k >= 1: the two
 * series, related by Jacobi's identity, of which a few terms suffice. */
static double density_below(double k) {
  double sum = 0.0;
  for (int j = 1; j <= 5; j += 2) {
    const double a = j * j * PI * PI / (8.0 * k * k);
    sum += (2.0 * a - 1.0) / (k * k) * exp(-a);
  }
  return SQRT_2PI * sum;
}

static double density_above(double k) {
  double sum = 0.0;
  for (int j = 1; j <= 5; j++)
    sum += (j % 2 ? 1.0 : -1.0) * j * j * exp(-2.0 * j * j * k * k);
  return 8.0 * k * sum;
}

void logistic_mean_open(logistic_mean_rule *rule) {
  for (int j = 0; j < LOGISTIC_MEAN_NODES; j++) {
    const double half = 0.5 * (first + step * j);
    const double v = 2.0 * log1p(exp(half)), k = 0.5 * v;
    const double g = 0.5 * (k < 1.0 ? density_below(k) : density_above(k));
    rule->scale[j] = v;
    rule->weight[j] = step * g / (1.0 + exp(-half));
  }
}

/* Beyond this scale no node counts.  The integrand of (2) is largest near
 * v^2 = |m| - s^2 where that is positive, with a width of 1/2, and g leaves less
 * than 1e-19 beyond 9.6. */
static double largest_scale(double m) {
  return fmax(9.6, sqrt(m) + 5.5);
}

/* mean(-m, s) for m >= 0: nothing cancels, so that a small probability keeps its
 * relative accuracy. */
static double lower_mean(const logistic_mean_rule *rule, double m, double s) {
  const double end = largest_scale(m);
  double sum = 0.0;
  for (int j = 0; j < LOGISTIC_MEAN_NODES && rule->scale[j] <= end; j++) {
    const double v = rule->scale[j];
    sum += rule->weight[j] * erfc(m / (SQRT_2 * sqrt(v * v + s * s)));
  }
  return 0.5 * sum;
}

static double sigma_below(double m) {
  return exp(-m) / (1.0 + exp(-m));
}

double logistic_mean(const logistic_mean_rule *rule, double m, double s) {
  if (isnan(m) || !(s >= 0.0))
    return NAN;
  const double size = fabs(m);
  if (isinf(size))
    return m > 0.0 ? 1.0 : 0.0;
  const double lower = s > 0.0 ? lower_mean(rule, size, s) : sigma_below(size);
  return m > 0.0 ? 1.0 - lower : lower;
}

double logistic_mean_slope(const logistic_mean_rule *rule, double m, double s) {
  if (isnan(m) || !(s >= 0.0))
    return NAN;
  const double size = fabs(m);
  if (isinf(size))
    return 0.0;
  if (!(s > 0.0))
    return sigma_below(size) / (1.0 + exp(-size));
  const double end = largest_scale(size);
  double sum = 0.0;
  for (int j = 0; j < LOGISTIC_MEAN_NODES && rule->scale[j] <= end; j++) {
    const double v = rule->scale[j], spread = sqrt(v * v + s * s);
    const double z = size / spread;
    sum += rule->weight[j] / spread * exp(-0.5 * z * z);
  }
  return sum / SQRT_2PI;
}

void logistic_moments(const logistic_posterior *w, const double *x,
                      size_t stride, double *work, double *mean, double *sd) {
  double centre = 0.0, square = 0.0;
  for (size_t j = 0; j < w->p; j++) {
    work[j] = x[j * stride];
    centre += work[j] * w->map[j];
  }
  blas_solve_lower(w->factor, w->p, work);
  for (size_t j = 0; j < w->p; j++)
    square += work[j] * work[j];
  *mean = centre;
  *sd = sqrt(square);
}
