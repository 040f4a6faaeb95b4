/* Gaussian mixture with an unknown number of components k: a mixture of finite
 * mixtures (Miller & Harrison 2018, doi:10.1080/01621459.2016.1255636) by the
 * telescoping sampler (Frühwirth-Schnatter, Malsiner-Walli & Grün 2021,
 * doi:10.1214/21-BA1294).  The model of gmm.h with
 *
 *   k ~ p(k) on 1, ..., max,   pi | k ~ Dir(g, ..., g),
 *   g = alpha (static) or alpha / k (dynamic),  alpha fixed or ~ F(f1, f2),
 *   S0 fixed or ~ W(df0, G0^-1)  (mean df0 G0^-1; diagonal covariances:
 *   S0_jj ~ Gamma(df0/2, G0_jj/2), shape and rate, independently).
 *
 * With k+ the number of components that hold observations and n_c theirs,
 *
 *   p(partition, k, alpha) is proportional to p(k) p(alpha) k! / (k - k+)!
 *     Gamma(g k) / Gamma(g k + n) prod_{n_c > 0} Gamma(g + n_c) / Gamma(g).
 *
 * A sweep: moves of groups (gmm_moves.h, given k, alpha and S0); mu and Sigma of
 * the components with observations, which are then numbered 1, ..., k+; k and
 * alpha given the partition; S0 given the covariances; the empty components from
 * their prior; pi; z.  Weights and empty components are integrated out of every
 * step up to S0, and drawn before they are used next.
 *
 * Vectors of the state have places for max components.  Beyond the k-th one log_pi
 * and mu are 0 and factors those of the identity.
 *   log_prior   max    log p(k) of k = 1, ..., max, -Inf where it is 0
 *   g0          d x d  G0
 *   k, alpha    1      their values;  s0: d x d  */
#ifndef GIBBSITE_GMM_UNKNOWN_H
#define GIBBSITE_GMM_UNKNOWN_H

#include "gmm/gmm_sweep.h"
#include "numeric/status.h"
#include "run/scan.h"
#include <stddef.h>

typedef struct {
  const double *log_prior, *g0;
  double f1, f2, df0;
  int dynamic, draw_alpha, draw_s0;
  int keep_components; /* record pi, mu and Sigma */
} gmm_unknown_data;

typedef struct {
  double *k, *alpha, *s0;
} gmm_unknown_state;

typedef struct {
  gmm_model mixture; /* its data.k: the present k */
  gmm_unknown_data data;
  gmm_unknown_state state;
  size_t filled;         /* k+                                         */
  double *concentration; /* max: g of each of the present components   */
  double *weight;        /* max: of the values of k                    */
  int *number;           /* max: the new numbers of the components     */
} gmm_unknown;

/* Bytes of work space, mixture->k = max; 0 when the count overflows. */
size_t gmm_unknown_work_size(const gmm_data *mixture);

/* As gmm_open(); mixture->k = max, and alpha and s0 of the mixture are not read. */
status gmm_unknown_open(gmm_unknown *model, const gmm_data *mixture,
                        const gmm_state *state, const gmm_unknown_data *data,
                        const gmm_unknown_state *further, void *work,
                        int threads);

/* A scan_model's `sweep` and `record`. */
status gmm_unknown_sweep(void *model, const scan_control *control);
void gmm_unknown_record(void *model, double *row, size_t stride);

/* The stored quantities: k, n_occupied, alpha and S0 where they are drawn (S0:
 * d x d, diagonal covariances d), log_lik; pi, mu and Sigma with places for max
 * components, 0 beyond the k-th, z (n) and x_missing where kept. */
size_t gmm_unknown_columns(const gmm_data *mixture,
                           const gmm_unknown_data *data);

#endif
