/* Rows whose log-likelihood l_i is a concave function of the linear predictor eta_i:
 *
 *   poisson      y_i ~ Poisson(exp(eta_i))
 *   negbinomial  y_i ~ NB(mean exp(eta_i), size r):  variance mu + mu^2 / r
 *   logit        y_i ~ Binomial(y_i + f_i, F(eta_i)),  F the logistic distribution
 *   probit       the same with F the normal distribution
 *
 * Row i counts v_i times.  A negative binomial row has the likelihood of a logit row
 * with r failures at eta_i - log r.  y and f of logit and probit rows need not be
 * whole.                                                                          */
#ifndef GIBBSITE_HLM_LIKELIHOOD_H
#define GIBBSITE_HLM_LIKELIHOOD_H

#include <stddef.h>

typedef enum { HLM_POISSON, HLM_NEGBINOMIAL, HLM_LOGIT, HLM_PROBIT } hlm_type;

typedef struct {
  hlm_type type;
  size_t n;
  const double *y;        /* n                                   */
  const double *failures; /* n: f, of logit and probit rows      */
  const double *weights;  /* n, or NULL for 1                    */
  double constant;        /* added to the sum of the rows        */
  double size, log_size;  /* r of negative binomial rows         */
  double
    *known; /* n: log y! of negative binomial rows, log y of Poisson ones */
} hlm_likelihood;

/* Fills `known`, n numbers. */
void hlm_likelihood_open(hlm_likelihood *rows, double *known);

double hlm_weight(const hlm_likelihood *rows, size_t i);

/* l_i without a constant, such that nothing cancels for large counts of Poisson rows. */
double hlm_log_row(const hlm_likelihood *rows, size_t i, double eta);

/* The first derivative of l_i, and minus the second one. */
typedef struct {
  double slope, bend;
} hlm_derivatives;

hlm_derivatives hlm_differentiate(const hlm_likelihood *rows, size_t i,
                                  double eta);

/* Whether |l_i'''| <= |l_i''| for all rows. */
int hlm_is_self_concordant(const hlm_likelihood *rows);

/* Whether the rows in `row` are all successes or all failures, or counts of 0: their
 * likelihood does not fall to one side. */
int hlm_is_at_edge(const hlm_likelihood *rows, const int *row, size_t count);

/* mean (n): eta of the `count` rows in `row` becomes the means of Poisson and negative
 * binomial rows, the curvatures of logit and probit ones, with an intercept added to
 * eta with which the sum of these rows' means is about that of y. */
void hlm_expect(const hlm_likelihood *rows, const int *row, size_t count,
                double *mean);

/* The curvature of row i where hlm_expect() gave `mean`, with the present r. */
double hlm_rough_bend(const hlm_likelihood *rows, size_t i, double mean);

/* sum of v_i log p(y_i | eta_i); the second with another r. */
double hlm_log_likelihood(const hlm_likelihood *rows, const double *eta);
double hlm_log_of_size(const hlm_likelihood *rows, const double *eta,
                       double log_size);

#endif
