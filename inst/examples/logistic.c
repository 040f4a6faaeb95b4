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

/* Rows are taken in blocks: x is stored by columns, and a block of a column
 * stands together in memory. */
enum { BLOCK = 64 };

/* eta = x w for the `n` rows from `from` on. */
static void predict(const gibbsite_vector *x, const double *w, int d,
                    size_t from, size_t n, double *eta) {
  for (size_t i = 0; i < n; i++)
    eta[i] = 0.0;
  for (int j = 0; j < d; j++) {
    const double *column = x->x + (size_t)j * x->rows + from;
    for (size_t i = 0; i < n; i++)
      eta[i] += column[i] * w[j];
  }
}

static size_t rows_from(const gibbsite_vector *x, size_t from) {
  return x->rows - from < BLOCK ? x->rows - from : BLOCK;
}

double logistic(const double *w, int d, void *data) {
  const gibbsite_vector *x, *y, *sd;
  if (!find_data(data, d, &x, &y, &sd))
    return NAN;
  double sum = 0.0, eta[BLOCK];
  for (size_t from = 0; from < x->rows; from += BLOCK) {
    const size_t n = rows_from(x, from);
    predict(x, w, d, from, n, eta);
    /* log(1 + exp(eta)) without overflow */
    for (size_t i = 0; i < n; i++)
      sum += y->x[from + i] * eta[i] - (eta[i] > 0.0 ? eta[i] : 0.0) -
             log1p(exp(-fabs(eta[i])));
  }
  for (int j = 0; j < d; j++)
    sum -= w[j] * w[j] / (2.0 * sd->x[0] * sd->x[0]);
  return sum;
}

double logistic_gradient(const double *w, int d, void *data, double *gradient) {
  const gibbsite_vector *x, *y, *sd;
  if (!find_data(data, d, &x, &y, &sd))
    return NAN;
  double sum = 0.0, eta[BLOCK];
  for (int j = 0; j < d; j++) {
    gradient[j] = -w[j] / (sd->x[0] * sd->x[0]);
    sum += 0.5 * w[j] * gradient[j];
  }
  for (size_t from = 0; from < x->rows; from += BLOCK) {
    const size_t n = rows_from(x, from);
    predict(x, w, d, from, n, eta);
    /* eta becomes y - p */
    for (size_t i = 0; i < n; i++) {
      const double tail = exp(-fabs(eta[i]));
      const double p = (eta[i] > 0.0 ? 1.0 : tail) / (1.0 + tail);
      sum +=
        y->x[from + i] * eta[i] - (eta[i] > 0.0 ? eta[i] : 0.0) - log1p(tail);
      eta[i] = y->x[from + i] - p;
    }
    for (int j = 0; j < d; j++) {
      const double *column = x->x + (size_t)j * x->rows + from;
      for (size_t i = 0; i < n; i++)
        gradient[j] += eta[i] * column[i];
    }
  }
  return sum;
}
