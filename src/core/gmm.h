/* Gaussian mixture (Rai, CS772A, "Gibbs sampling: an example"; Diebolt & Robert
 * 1994, doi:10.1111/j.2517-6161.1994.tb01985.x):
 *
 *   pi ~ Dir(alpha),  mu_c ~ N(m0, V0),  Sigma_c ~ IW(nu0, S0),
 *   z_i | pi ~ Categorical(pi),  x_i | z_i = c ~ N(mu_c, Sigma_c).
 *
 * IW(nu0, S0) has density proportional to
 * |Sigma|^-((nu0 + d + 1)/2) exp(-tr(S0 Sigma^-1)/2).
 *
 * n observations, d variables, k components; every matrix column-major.
 *   x       n x d             observations
 *   alpha   k                 Dirichlet concentrations
 *   m0      d                 prior mean of the means
 *   q0      d x d             V0^-1
 *   q0_m0   d                 V0^-1 m0
 *   nu0     > d - 1           degrees of freedom;  s0: d x d  scale
 *   z       n                 allocations, 1..k
 *   log_pi  k                 log weights (a weight may underflow, its log not)
 *   mu      k x d             means
 *   sigma   k x d x d         covariances                                      */
#ifndef GIBBSITE_GMM_H
#define GIBBSITE_GMM_H

#include <stddef.h>
#include "scan.h"
#include "status.h"

typedef struct {
  size_t n, d, k;
  const double *x, *alpha, *m0, *q0, *q0_m0, *s0;
  double nu0;
  int keep_z; /* record z as well */
} gmm_data;

typedef struct {
  int *z;
  double *log_pi, *mu, *sigma;
} gmm_state;

/* The components as the density needs them; all by component c. */
typedef struct {
  size_t d, k;
  double *mean;         /* c * d + j                                           */
  double *chol;         /* c * d * d + i + d j: Sigma_c = L L', L lower          */
  double *inverse_diag; /* c * d + j: 1 / L[j, j]                                 */
  double *log_constant; /* log pi_c - d/2 log(2 pi) - log|L|                      */
} gmm_components;

/* Sums over the observations of each component, about the current mean:
 *   count[c], sum[c * d + j] = sum (x_ij - mu_cj),
 *   cross[c * d * d + i + d j] (i >= j) = sum (x_i - mu_c)(x_i - mu_c)'.        */
typedef struct {
  double *count, *sum, *cross;
} gmm_sums;

typedef struct {
  gmm_data data;
  gmm_state state;
  gmm_components components;
  gmm_sums sums;
  double log_lik; /* sum_i log sum_c pi_c N(x_i | mu_c, Sigma_c) */
  /* work */
  size_t chunk, chunks; /* observations in a chunk, chunks: functions of n  */
  double *chunk_work;   /* one area a chunk: its sums and its scratch        */
  double *uniforms;     /* n                                                 */
  double *small;        /* scratch of the serial blocks                      */
} gmm_model;

/* Doubles of work space that gmm_open() carves up; 0 when the count overflows. */
size_t gmm_work_size(const gmm_data *data);

/* Prepares a model on `data` and `state` (both borrowed) in `work`: the factors
 * and the sums that follow from the state.  A pure function of them. */
status gmm_open(gmm_model *model, const gmm_data *data, const gmm_state *state,
                double *work, int threads);

/* One sweep of the Gibbs sampler; a scan_model's `sweep`. */
status gmm_sweep(void *model, const scan_control *control);

/* The stored quantities: pi (k), mu (k x d), Sigma (k x d x d), log_lik,
 * n_occupied, and z (n) where it is kept. */
size_t gmm_columns(const gmm_data *data);
void gmm_record(void *model, double *row, size_t stride);

/* Densities and allocation probabilities at x (n x d) under `draws` draws of the
 * parameters, rows of pi (draws x k), mu (draws x k d), sigma (draws x k d d):
 *   log_density (draws x n)     <- log sum_c pi_c N(x_i | mu_c, Sigma_c)
 *   prob (n x k)                <- mean over draws of P(z_i = c | x_i, draw)
 *   agreement (draws x k x k)   <- sum of P(z_i = a | x_i, draw) over the
 *                                  observations i with pivot[i] = b
 * Each may be NULL.  Component c of draw s is counted in prob as
 * order[s + draws c] (1..k); NULL: as it stands. */
typedef struct {
  size_t n, d, k, draws;
  const double *x, *pi, *mu, *sigma;
  const int *order, *pivot;
  double *log_density, *prob, *agreement;
} gmm_evaluation;

/* work: gmm_evaluate_size() doubles */
size_t gmm_evaluate_size(size_t d, size_t k);
status gmm_evaluate(const gmm_evaluation *job, double *work);

#endif
