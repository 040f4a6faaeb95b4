/* Features of the rows of a side (users or items), on which the prior mean of a
 * row depends (Macau: Simm et al. 2017, doi:10.1109/MLSP.2017.8168143):
 *
 *   x_i ~ N(mu + B'f_i, Lambda^-1),  B | Lambda, lambda_B ~ MN(0, I / lambda_B,
 *   Lambda^-1):  rows b_k ~ N(0, (lambda_B Lambda)^-1), independent,
 *   mu | Lambda ~ N(mu0, (kappa0 Lambda)^-1),  Lambda ~ W(nu0, W0),
 *   lambda_B ~ Gamma(shape, rate), or known.
 *
 * Given the rows this is a conjugate regression on (1, f), and mu, B and Lambda are
 * drawn together, which their paper does in two blocks.  With the features F (rows
 * x p), K = F'F + lambda_B I has to be solved in each sweep, for a new lambda_B.
 * F'F = V diag(s) V' is known once and for all, and B~ = V'B has the prior of B; so
 * K is diagonal for the features F V, and the precision of (B~, mu) over Lambda is
 * an arrow,
 *   [diag(s_k + lambda_B)  g]
 *   [g'       rows + kappa0],   g = V'F'1,
 * whose solution takes one division a feature and two products with V.
 *
 * B is kept as its transpose, d x p: b_k is column k.  p: features; d: coordinates
 * of a row; all matrices column-major. */
#ifndef GIBBSITE_BMF_FEATURES_H
#define GIBBSITE_BMF_FEATURES_H

#include <stddef.h>

typedef struct {
  size_t p;            /* 0: no features                                   */
  const int *start;    /* rows + 1 offsets from 0                          */
  const int *index;    /* features, from 0                                 */
  const double *value; /* of the stored entries of F, row by row           */
  const double *v;     /* V: p x p                                         */
  const double *s;     /* p                                                */
  const double *g;     /* p                                                */
  double shape, rate;  /* of lambda_B; shape 0: lambda_B is known          */
} bmf_features;

/* to (d) <- to + sign sum_k f_ik c_k,  c: d x p. */
void bmf_features_add(const bmf_features *f, size_t row, const double *c,
                      size_t d, double sign, double *to);

/* to (d x p) <- sum_i (x_i - centre) f_i',  x: d x rows. */
void bmf_features_cross(const bmf_features *f, size_t rows, const double *x,
                        const double *centre, size_t d, double *to);

/* to <- c V, with `back` c V';  c: d x p. */
void bmf_features_rotate(const bmf_features *f, const double *c, size_t d,
                         int back, double *to);

/* The regression about a reference (mu, B~), on return without B~.  On entry cross
 * has the products of F V with the rows' residuals about the reference, linear
 * their sum plus kappa0 (mu0 - mu), inverse W0^-1 plus their scatter plus kappa0
 * (mu0 - mu)(mu0 - mu)'.  On return
 *   cross   h_k, the linear term of b~_k: cross less lambda_B b~_k
 *   linear  of mu, after B~ was integrated out
 *   inverse W*^-1,  Lambda | rows ~ W(nu0 + rows, W*)
 * and the value is kappa*:  mu | Lambda, rows ~ N(mu + linear / kappa*, (kappa*
 * Lambda)^-1),  b~_k | mu + m, Lambda, rows ~ N(b~_k + (h_k - g_k m) / (s_k +
 * lambda_B), ((s_k + lambda_B) Lambda)^-1).
 * kappa: rows + kappa0; rotated: B~. */
double bmf_features_reduce(const bmf_features *f, double lambda, double kappa,
                           const double *rotated, size_t d, double *cross,
                           double *linear, double *inverse);

#endif
