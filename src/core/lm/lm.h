/* Linear regression (Rai, CS772A, "Gibbs sampling: another simple example").
 * With centred predictors in units of their scales, z_ij = (x_ij - m_j) / s_j,
 *
 *   y_i ~ N(o_i + alpha + z_i'u, 1 / (beta v_i)),   u_j ~ N(0, 1 / lambda),
 *   lambda ~ Gamma(a, b),  beta ~ Gamma(c, d)       (shape, rate),
 *   alpha ~ N(m_alpha, 1 / k_alpha),
 *
 * or, conjugate: u_j | beta ~ N(0, 1 / (lambda beta)) with a fixed lambda and
 * alpha | beta ~ N(m_alpha, 1 / (k_alpha beta)).  The coefficients are w_j = u_j /
 * s_j, and the intercept is alpha - sum m_j w_j.
 *
 * The m_j are the means with the weights v, so that alpha and u are independent.
 * With the eigenvectors V of sum_i v_i z_i z_i', with eigenvalues e_1 >= ... >= e_r > 0,
 * theta = V'u are independent given lambda and beta:
 *
 *   sum_i v_i (y_i - o_i - alpha - z_i'u)^2
 *     = rss + sum_j e_j (theta_j - t_j)^2 + total (alpha - centre)^2,
 *
 * where t_j are the least squares estimates and centre is the weighted mean of
 * y - o.  A sweep draws the gaps theta_j - t_j and alpha - centre, in which nothing
 * cancels.
 *
 * If r < p the data do not inform the directions orthogonal to V.  Given
 * lambda they are independent of the data and of theta, so that lambda is drawn
 * given theta alone and they are drawn from their prior: g ~ N(0, I / lambda) of
 * length p, of which g - V V'g enters u.
 *
 * Where the data hardly separate noise from slopes (`collapsed`), theta and alpha
 * are integrated out and log lambda and log beta drawn by slice steps from
 *
 *   p(lambda, beta | y) prop. to lambda^(a-1) exp(-b lambda)
 *     beta^(c-1 + (n-r-1)/2) exp(-(d + rss/2) beta)
 *     prod_j N(t_j | 0, 1/lambda + 1/(beta e_j))
 *     N(centre | m_alpha, 1/k_alpha + 1/(beta total))
 *
 * (n-r and no last factor without an intercept), and then alpha and theta.
 *
 * Horseshoe:  u_j | l_j, lambda, beta ~ N(0, l_j / (lambda beta)), the roots of
 * l_j and of 1 / lambda half-Cauchy with scales 1 and tau, alpha | beta as if
 * conjugate.  With auxiliary n_j (Makalic & Schmidt 2016, eq. 4 to 8,
 * doi:10.1109/LSP.2015.2503725),
 *
 *   1/l_j ~ Exp(1/n_j + beta lambda u_j^2 / 2),   1/n_j ~ Exp(1 + 1/l_j).
 *
 * lambda is drawn given the l_j alone, by a slice step on its logarithm, and beta
 * given these two (Johndrow, Orenstein & Bhattacharya 2020).  With D = diag(l_j / lambda),
 * and B = diag(e)^(1/2) V', b = diag(e)^(1/2) t, so that
 * sum_i v_i (y_i - ..)^2 = rss + |b - B u|^2 (alpha left out),
 *
 *   p(log lambda | l, y) prop. to tau_root / (1 + tau_root^2 / tau^2)
 *     |I + B D B'|^(-1/2) (d + S/2)^-(c + n/2),   tau_root = lambda^(-1/2),
 *
 * S as with the conjugate prior, and u | beta has
 *
 *   r = p:  precision beta A, A = B'B + D^-1, and mean A^-1 B'b,
 *   r < p:  with M = I + B D B', mean D B' M^-1 b; drawn from x ~ N(0, D / beta)
 *           and y ~ N(B x, I / beta) as x + D B' M^-1 (b - y)
 *           (Bhattacharya, Chakraborty & Mallick 2016,
 *           doi:10.1093/biomet/asw042).
 *
 *   eigenvalue, t   r        vectors  p x r, column-major
 *   gram            p x p: B'B, of which the lower triangle is read
 *   scale, mean     p        s_j, m_j                                        */
#ifndef GIBBSITE_LM_H
#define GIBBSITE_LM_H

#include <stddef.h>

#include "numeric/status.h"
#include "run/scan.h"

/* Missing responses: their rows of centred predictors in their own units
 * (count x p), offsets and weights. */
typedef struct {
  size_t count;
  const double *x, *offset, *weight;
} lm_missing;

typedef struct {
  size_t p, r;
  int conjugate, intercept, collapsed;
  int horseshoe; /* with `conjugate`: local scales instead of a fixed lambda */
  double n;      /* observations                                   */
  double log_weights; /* sum of log v_i                                 */
  double a, b, c, d;
  double lambda; /* conjugate: the fixed lambda                         */
  double tau;    /* horseshoe: scale of the root of 1 / lambda          */
  double total, centre;
  double prior_gap, prior_precision; /* m_alpha - centre, k_alpha (0: flat) */
  double rss;
  const double *eigenvalue, *estimate, *vectors, *scale, *mean;
  const double *gram;  /* horseshoe with r = p */
  size_t intercept_at; /* its place among the coefficients, from 0 */
  lm_missing missing;
} lm_data;

typedef struct {
  double *lambda, *beta;     /* 1 number each                              */
  double *alpha;             /* 0 without an intercept                     */
  double *theta;             /* r                                          */
  double *free;              /* p: g, horseshoe u; of length 0 when r = p  */
  double *local, *local_aux; /* horseshoe: l, n (p)                      */
} lm_state;

typedef struct {
  lm_data data;
  lm_state state;
  /* work */
  double *normals;   /* of a sweep: alpha, theta, g, missing responses   */
  double alpha_gap;  /* alpha - centre  */
  double *theta_gap; /* r: theta_j - t_j */
  double *rotated;   /* r */
  double *slopes;    /* p */
  double *design;    /* horseshoe, r < p: B (r x p)          */
  double *factor;    /* horseshoe: of A or M                 */
  double *panel;     /* horseshoe: for sums and factors     */
  double *spread;    /* horseshoe, r < p: B diag(l) B'       */
  double *right, *u; /* horseshoe: p */
  size_t all_normals;
} lm_model;

size_t lm_work_size(const lm_data *data);

/* A model on `data` and `state` (both borrowed) in `work`. */
void lm_open(lm_model *model, const lm_data *data, const lm_state *state,
             void *work);

/* One sweep; a scan_model's `sweep`. */
status lm_sweep(void *model, const scan_control *control);

/* The stored quantities: the coefficients (p, and the intercept if there is one),
 * sigma = 1 / sqrt(beta), lambda (not conjugate) or, horseshoe, tau = 1 /
 * sqrt(lambda), log_lik, missing responses. */
size_t lm_columns(const lm_data *data);
void lm_record(void *model, double *row, size_t stride);

#endif
