/* Logistic and probit regression with a normal prior: the log joint density, its
 * gradient and Hessian.
 *
 *   s_i | w ~ Binomial(m_i, F(eta_i)),  eta = o + X w,  w ~ N(0, Q^-1)
 *   L(w)    = sum_i l_i(eta_i) - w'Qw / 2 + constant
 *   L'(w)   = X' l' - Q w
 *   -L''(w) = X' diag(-l'') X + Q
 *
 *   logit    F = sigma = 1 / (1 + exp(-eta))
 *            l = s eta - m log(1 + exp(eta)),  l' = s - m sigma(eta),
 *            -l'' = m sigma(eta) (1 - sigma(eta))
 *   probit   F = Phi, the normal distribution function
 *            l = s log Phi(eta) + (m - s) log Phi(-eta)
 *            l' = s h(eta) - (m - s) h(-eta),  h(x) = Phi'(x) / Phi(x)
 *            -l'' = s h(eta) (h(eta) + eta) + (m - s) h(-eta) (h(-eta) - eta)
 *
 * (Paisley, E6892 lecture 3, eq. 13-15, whose gradient and Hessian leave out
 * the prior's terms; McCullagh & Nelder 1989, sec. 4.4.)  L is concave.  s and m
 * need not be whole: an observation of weight v has v s and v m in their place.
 *
 *   x          n x p, column-major; or, when x is NULL, sparse by rows: row i
 *              holds value[e] in columns column[e], row_start[i] <= e <
 *              row_start[i + 1], columns increasing
 *   success s, total m   n;   offset o   n, or NULL for none
 *   precision Q          p x p symmetric, or p (its diagonal) when `diagonal`;
 *              zeros make directions flat
 *   constant   what L needs to be the log of a normalised density */
#ifndef GIBBSITE_LOGISTIC_H
#define GIBBSITE_LOGISTIC_H

#include <stddef.h>

#include "numeric/status.h"

/* Rows are taken in blocks of this many: a block stays in cache. */
#define LOGISTIC_BLOCK 256

typedef struct {
  size_t n, p;
  const double *x;
  const int *row_start, *column;
  const double *value;
  const double *success, *total, *offset;
  const double *precision;
  int diagonal;
  int probit; /* else logit */
  double constant;
} logistic_data;

/* Doubles of work that logistic_evaluate() needs. */
size_t logistic_work_size(size_t p);

/* Returns L(w), and fills what is not NULL: gradient (p), and, only with it,
 * hessian (p x p, minus the Hessian; the lower triangle alone).  w: p. */
double logistic_evaluate(const logistic_data *data, const double *w,
                         double *gradient, double *hessian, double *work);

/* Adds the prior's part to what is not NULL, - Q w to `gradient` and Q to
 * `hessian`; returns its part of L, - w'Qw / 2. */
double logistic_add_prior(const logistic_data *data, const double *w,
                          double *gradient, double *hessian);

/* gradient (p) <- X' residual - Q w, in one pass over X; residual: n. */
void logistic_gradient(const logistic_data *data, const double *residual,
                       const double *w, double *gradient);

/* squares (p) <- diagonal of X' diag(weights) X, and gram (p x p, lower
 * triangle) <- all of it; rows of weight 0 cost nothing.  weights: n, none
 * negative; work: as for logistic_evaluate(). */
void logistic_squares(const logistic_data *data, const double *weights,
                      double *squares);
void logistic_gram(const logistic_data *data, const double *weights,
                   double *gram, double *work);

/* eta (count x draws) <- o + X w of rows first, first + 1, ..., for each column
 * of w (p x draws). */
void logistic_predictor(const logistic_data *data, size_t first, size_t count,
                        const double *w, size_t draws, double *eta);

/* result (draws x n) <- linear predictors, or each observation's term of L, for
 * each column of w (p x draws); work: LOGISTIC_BLOCK x draws. */
void logistic_by_row(const logistic_data *data, int log_lik, const double *w,
                     size_t draws, double *result, double *work);

/* Of a block of observations, from linear predictors, successes and totals:
 *   log_lik    l, without overflow
 *   residual   l', to full precision where s is 0 or m
 *   curvature  -l'' */
typedef struct {
  int probit;
  double eta[LOGISTIC_BLOCK], success[LOGISTIC_BLOCK], total[LOGISTIC_BLOCK];
  double log_lik[LOGISTIC_BLOCK], residual[LOGISTIC_BLOCK];
  double curvature[LOGISTIC_BLOCK];
} logistic_terms;

void logistic_fill_terms(logistic_terms *terms);

/* The link; successes and totals of rows first, first + 1, ...; 0 beyond `count`,
 * where eta must be 0 too: nothing is added to anything. */
void logistic_load_response(const logistic_data *data, size_t first,
                            size_t count, logistic_terms *terms);

#endif
