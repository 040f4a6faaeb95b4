/* Logistic regression as a compiled log density for gibbsite::mh_sample():
 *
 *   y_i | w ~ Bernoulli(1 / (1 + exp(-x_i' w))),  w ~ N(0, sd^2 I)
 *
 * with data = list(x = n x d matrix, y = n zeros and ones, sd = one number).
 * logistic_gradient() is the same with its gradient, for
 * native_density(gradient = ).
 *
 *   R CMD SHLIB logistic.c      with PKG_CPPFLAGS=-I<gibbsite's include folder>
 */
#include <gibbsite.h>
#include <math.h>

/* Are the data there, for d coefficients? */
static int find_data(void *data, int d, const gibbsite_vector **x,
                     const gibbsite_vector **y, const gibbsite_vector **sd) {
  *x = gibbsite_find(data, "x");
  *y = gibbsite_find(data, "y");
  *sd = gibbsite_find(data, "sd");
  return *x && *y && *sd && (*x)->columns == (size_t)d &&
         (*y)->length == (*x)->rows;
}

double logistic(const double *w, int d, void *data) {
  const gibbsite_vector *x, *y, *sd;
  if (!find_data(data, d, &x, &y, &sd))
    return NAN;
  double sum = 0.0;
  for (size_t i = 0; i < x->rows; i++) {
    double eta = 0.0;
    for (int j = 0; j < d; j++)
      eta += x->x[i + (size_t)j * x->rows] * w[j];
    /* log(1 + exp(eta)) without overflow */
    sum += y->x[i] * eta - (eta > 0.0 ? eta : 0.0) - log1p(exp(-fabs(eta)));
  }
  for (int j = 0; j < d; j++)
    sum -= w[j] * w[j] / (2.0 * sd->x[0] * sd->x[0]);
  return sum;
}

double logistic_gradient(const double *w, int d, void *data, double *gradient) {
  const gibbsite_vector *x, *y, *sd;
  if (!find_data(data, d, &x, &y, &sd))
    return NAN;
  double sum = 0.0;
  for (int j = 0; j < d; j++) {
    gradient[j] = -w[j] / (sd->x[0] * sd->x[0]);
    sum += 0.5 * w[j] * gradient[j];
  }
  for (size_t i = 0; i < x->rows; i++) {
    double eta = 0.0;
    for (int j = 0; j < d; j++)
      eta += x->x[i + (size_t)j * x->rows] * w[j];
    const double tail = exp(-fabs(eta));
    const double p = (eta > 0.0 ? 1.0 : tail) / (1.0 + tail);
    sum += y->x[i] * eta - (eta > 0.0 ? eta : 0.0) - log1p(tail);
    for (int j = 0; j < d; j++)
      gradient[j] += (y->x[i] - p) * x->x[i + (size_t)j * x->rows];
  }
  return sum;
}
