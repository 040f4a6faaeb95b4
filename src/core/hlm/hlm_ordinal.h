/* Ordered responses of hlm_latent.h: with categories 1, ..., K, the cutpoints theta of
 * run/cutpoints.h and w_i observations in row i,
 *
 *   P(c_i <= k) = Phi(theta_k - eta_i).
 *
 * The latent responses:  v_i = w_i,  y_i = sum_l y_il / w_i,  y_il | eta, theta ~
 * N(eta_i, 1) between the cutpoints of c_i.
 *
 * The columns of x are differences from their means, so that theta are the cutpoints at
 * these means m; theta_k + m'b is recorded.  The last column is 1.  Its coefficient a
 * is 0 outside of the regression of the y_i:  theta_k + c and y_i + c have for all c the
 * same probabilities of the c_i, and the density
 *   prod_k N(theta_k + c | 0, sd^2) prod_i N(y_i + c | eta_i, 1 / v_i),
 * which is the conditional of a regression's intercept a = -c with the prior
 * N(mean of theta_k, sd^2 / (K - 1)) (moves along a group: Liu & Sabatti 2000,
 * doi:10.1093/biomet/87.2.353).  So b, a and u are drawn together.               */
#ifndef GIBBSITE_HLM_ORDINAL_H
#define GIBBSITE_HLM_ORDINAL_H

#include "hlm/hlm_latent.h"
#include "run/cutpoints.h"

typedef struct {
  cutpoints cutpoints;    /* levels, count, sd, code, weight                  */
  double *theta;          /* K - 1                                            */
  const double *b, *mean; /* p - 1                                           */
  size_t p;
  hlm_response type;
} hlm_ordinal;

/* Completes a model whose fields above are set but for `type`. */
void hlm_ordinal_open(hlm_ordinal *model, void *work);
size_t hlm_ordinal_work_size(const hlm_ordinal *model);

#endif
