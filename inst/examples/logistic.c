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

/* sum over i of log p(y_i | eta_i) = y_i eta_i - log(1 + exp(eta_i)), without
 * overflow, since log(1 + exp(eta)) = max(eta, 0) + log(1 + exp(-|eta|)).
 * Sets tail[i] = exp(-|eta_i|).  The product of the n <= BLOCK factors
 * 1 + tail[i] is at most 2^n, so that one logarithm serves a block. */
static double log_probability(const double *y, const double *eta, size_t n,
                              double *tail) {
  double sum = 0.0, product = 1.0;
  for (size_t i = 0; i < n; i++) {
    tail[i] = exp(-fabs(eta[i]));
    sum += y[i] * eta[i] - (eta[i] > 0.0 ? eta[i] : 0.0);
    product *= 1.0 + tail[i];
  }
  return sum - log(product);
}

/* a' b by four partial sums, which a processor adds at the same time. */
static double dot(const double *a, const double *b, size_t n) {
  double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    s0 += a[i] * b[i];
    s1 += a[i + 1] * b[i + 1];
    s2 += a[i + 2] * b[i + 2];
    s3 += a[i + 3] * b[i + 3];
  }
  for (; i < n; i++)
    s0 += a[i] * b[i];
  return (s0 + s1) + (s2 + s3);
}

double logistic(const double *w, int d, void *data) {
  const gibbsite_vector *x, *y, *sd;
  if (!find_data(data, d, &x, &y, &sd))
    return NAN;
  double sum = 0.0, eta[BLOCK], tail[BLOCK];
  for (size_t from = 0; from < x->rows; from += BLOCK) {
    const size_t n = block_rows(x, from);
    predict(x, w, d, from, n, eta);
    sum += log_probability(y->x + from, eta, n, tail);
  }
  for (int j = 0; j < d; j++)
    sum -= w[j] * w[j] / (2.0 * sd->x[0] * sd->x[0]);
  return sum;
}

double logistic_gradient(const double *w, int d, void *data, double *gradient) {
  const gibbsite_vector *x, *y, *sd;
  if (!find_data(data, d, &x, &y, &sd))
    return NAN;
  double sum = 0.0, eta[BLOCK], tail[BLOCK], residual[BLOCK];
  for (int j = 0; j < d; j++) {
    gradient[j] = -w[j] / (sd->x[0] * sd->x[0]);
    sum += 0.5 * w[j] * gradient[j];
  }
  for (size_t from = 0; from < x->rows; from += BLOCK) {
    const size_t n = block_rows(x, from);
    predict(x, w, d, from, n, eta);
    sum += log_probability(y->x + from, eta, n, tail);
    for (size_t i = 0; i < n; i++)
      residual[i] =
        y->x[from + i] - (eta[i] > 0.0 ? 1.0 : tail[i]) / (1.0 + tail[i]);
    for (int j = 0; j < d; j++)
      gradient[j] += dot(residual, x->x + (size_t)j * x->rows + from, n);
  }
  return sum;
}
