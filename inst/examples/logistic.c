/* Logistic regression as a compiled log density for gibbsite::mh_sample():
 *
 *   y_i | w ~ Bernoulli(1 / (1 + exp(-x_i' w))),  w ~ N(0, sd^2 I)
 *
 * up to a constant, with data = list(x = n x d matrix, y = n zeros and ones, sd =
 * one number).
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
         (*y)->length == (*x)->rows && (*sd)->length == 1;
}

/* x is stored by columns.  Rows are taken in blocks of 64, so that the linear
 * predictors of a block stay in the cache while the columns are read in order. */
enum { BLOCK = 64 };

/* The rows of the block that begins at row `from`. */
static size_t block_rows(const gibbsite_vector *x, size_t from) {
  return x->rows - from < BLOCK ? x->rows - from : BLOCK;
}

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

/* log p(y | eta) = y eta - log(1 + exp(eta)) without overflow; tail is
 * exp(-|eta|). */
static double log_probability(double y, double eta, double tail) {
  return y * eta - (eta > 0.0 ? eta : 0.0) - log1p(tail);
}

double logistic(const double *w, int d, void *data) {
  const gibbsite_vector *x, *y, *sd;
  if (!find_data(data, d, &x, &y, &sd))
    return NAN;
  double sum = 0.0, eta[BLOCK];
  for (size_t from = 0; from < x->rows; from += BLOCK) {
    const size_t n = block_rows(x, from);
    predict(x, w, d, from, n, eta);
    for (size_t i = 0; i < n; i++)
      sum += log_probability(y->x[from + i], eta[i], exp(-fabs(eta[i])));
  }
  for (int j = 0; j < d; j++)
    sum -= w[j] * w[j] / (2.0 * sd->x[0] * sd->x[0]);
  return sum;
}

double logistic_gradient(const double *w, int d, void *data, double *gradient) {
  const gibbsite_vector *x, *y, *sd;
  if (!find_data(data, d, &x, &y, &sd))
    return NAN;
  double sum = 0.0, eta[BLOCK], residual[BLOCK];
  for (int j = 0; j < d; j++) {
    gradient[j] = -w[j] / (sd->x[0] * sd->x[0]);
    sum += 0.5 * w[j] * gradient[j];
  }
  for (size_t from = 0; from < x->rows; from += BLOCK) {
    const size_t n = block_rows(x, from);
    predict(x, w, d, from, n, eta);
    for (size_t i = 0; i < n; i++) {
      const double tail = exp(-fabs(eta[i]));
      sum += log_probability(y->x[from + i], eta[i], tail);
      residual[i] = y->x[from + i] - (eta[i] > 0.0 ? 1.0 : tail) / (1.0 + tail);
    }
    for (int j = 0; j < d; j++) {
      const double *column = x->x + (size_t)j * x->rows + from;
      for (size_t i = 0; i < n; i++)
        gradient[j] += residual[i] * column[i];
    }
  }
  return sum;
}
