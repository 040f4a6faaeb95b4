/* Hierarchical logistic and probit regression: hlm.h with binomial responses,
 *
 *   s_i ~ Binomial(m_i, F(eta_i)),  eta_i = o_i + x_i'b + z_i'u_j(i),
 *
 * F the logistic or the normal distribution function.  A sweep moves
 * u_k, Sigma -> s u_k, D Sigma D for each k by a slice step.  It draws a latent
 * normal response y_i of precision v_i for each row (logistic_gibbs.h has the
 * sources), and then takes a sweep of hlm.h for these:
 *
 *   logit    v_i | eta ~ PG(m_i, eta_i),  y_i = (s_i - m_i/2) / v_i
 *   probit   v_i = m_i,  y_i = sum_l y_il / m_i,  y_il | eta ~ N(eta_i, 1),
 *            positive for s_i of them, negative for the others
 *
 * The rows of a group stand together.  They are reduced anew in each sweep: times
 * sqrt(v_i) and rotated by Householder's reflections, those beyond the first
 * min(n_j, q) go to the pool.                                                  */
#ifndef GIBBSITE_HLM_BINOMIAL_H
#define GIBBSITE_HLM_BINOMIAL_H

#include <stddef.h>

#include "hlm/hlm.h"
#include "numeric/status.h"
#include "run/scan.h"

typedef struct {
  /* q, p, groups, start, prior and `keep`; known, no units and no centre; the rows
   * and the pool are of this file */
  hlm_data groups;
  int probit;
  const int
    *first; /* J + 1: the rows of group j: first[j], ..., first[j+1] - 1 */
  const double *z,
    *x; /* q x n, p x n                                         */
  const double *success,
    *total;             /* n: s, m > 0                                */
  const double *offset; /* n, or NULL for none                        */
  double constant;      /* sum of log binomial coefficients           */
} hlm_binomial_data;

typedef struct {
  hlm_binomial_data data;
  hlm_model groups;
  double *z, *x, *y, *pool_x,
    *pool_y;           /* the reduced rows                     */
  double *eta, *along; /* n */
  double
    *rows; /* (q + p + 1) x the largest n_j: (z, x, y) sqrt(v)            */
  double
    *sums; /* q + p + 1                                                   */
} hlm_binomial;

size_t hlm_binomial_work_size(const hlm_binomial_data *data);

/* A model on `data` and `state` (both borrowed; beta is 1) in `work`. */
void hlm_binomial_open(hlm_binomial *model, const hlm_binomial_data *data,
                       const hlm_state *state, void *work);

/* A scan_model's functions; the columns are hlm_columns(). */
status hlm_binomial_sweep(void *model, const scan_control *control);
void hlm_binomial_record(void *model, double *row, size_t stride);

#endif
