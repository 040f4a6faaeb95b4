/* The eight schools of bench/densities.R as a compiled log density with its
 * gradient, for native_density(); data = list(y, sigma). */
#include <gibbsite.h>
#include <math.h>

enum { SCHOOLS = 8 };

double schools_gradient(const double *x, int d, void *data, double *gradient) {
  const gibbsite_vector *y = gibbsite_find(data, "y");
  const gibbsite_vector *sigma = gibbsite_find(data, "sigma");
  if (!y || !sigma || d != SCHOOLS + 2 || y->length != SCHOOLS ||
      sigma->length != SCHOOLS)
    return NAN;
  const double mu = x[0], tau = exp(x[1]), *eta = x + 2;
  double sum = -mu * mu / 50.0 - log1p(tau * tau / 25.0) + x[1];
  double rise = 0.0, stretch = 0.0;
  for (size_t j = 0; j < SCHOOLS; j++) {
    const double z = (y->x[j] - mu - tau * eta[j]) / sigma->x[j];
    const double away = z / sigma->x[j];
    sum -= 0.5 * (eta[j] * eta[j] + z * z);
    rise += away;
    stretch += eta[j] * away;
    gradient[j + 2] = -eta[j] + tau * away;
  }
  gradient[0] = -mu / 25.0 + rise;
  gradient[1] = 1.0 - 2.0 * tau * tau / (25.0 + tau * tau) + tau * stretch;
  return sum;
}

double schools(const double *x, int d, void *data) {
  double unused[SCHOOLS + 2];
  return schools_gradient(x, d, data, unused);
}
