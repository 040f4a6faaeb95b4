/* Gaussian mixture (Rai, CS772A, "Gibbs sampling: an example"; Diebolt & Robert
 * 1994, doi:10.1111/j.2517-6161.1994.tb01985.x):
 *
 *   pi ~ Dir(alpha),  mu_c ~ N(m0, V0),  Sigma_c ~ IW(nu0, S0),
 *   z_i | pi ~ Categorical(pi),  x_i | z_i = c ~ N(mu_c, Sigma_c).
 *
 * IW(nu0, S0) has density proportional to
 * |Sigma|^-((nu0 + d + 1)/2) exp(-tr(S0 Sigma^-1)/2).  Diagonal covariances:
 * sigma2_cj ~ IG(nu0/2, S0_jj/2) independently (shape, scale).  Shared: one
 * Sigma ~ IW(nu0, S0) for all components.  Missing entries of x are unknowns
 * like z, drawn together with it.
 *
 * n observations, d variables, k components; every matrix column-major.
 *   x         n x d    observations
 *   alpha     k        Dirichlet concentrations
 *   m0        d        prior mean of the means
 *   q0        d x d    V0^-1
 *   q0_m0     d        V0^-1 m0
 *   nu0       degrees of freedom (> d - 1, diagonal: > 0);  s0: d x d  scale
 *   z         n        allocations, 1..k
 *   log_pi    k        log weights (a weight may underflow, its log not)
 *   mu        k x d    means
 *   factor    factors L_c of the covariances, laid out as in gmm_density.h
 *   x_missing values of the missing entries, by row and then by column
 *   prob      n x k    running mean of P(z_i = c | .) over recorded sweeps   */
#ifndef GIBBSITE_GMM_H
#define GIBBSITE_GMM_H

#include "gmm/gmm_combine.h"
#include "gmm/gmm_density.h"
#include "gmm/gmm_moves.h"
#include "numeric/status.h"
#include "run/scan.h"
#include <stddef.h>

/* Rows with missing entries come in patterns: pattern[i] is 0 for a complete row,
 * else p = 1..patterns, and missing[(p - 1) * d + j] says whether x_ij is missing.
 * The missing entries of row i start at x_missing[offset[i]]. */
typedef struct {
  size_t entries, patterns;
  const int *pattern, *missing, *offset;
} gmm_missing;

typedef struct {
  gmm_form form;
  size_t n, d, k;
  const double *x, *alpha, *m0, *q0, *q0_m0, *s0;
  double nu0;
  gmm_missing missing;
  int keep_z, keep_x; /* record z, the missing entries as well */
  int merge_split;    /* moves of gmm_moves.h */
} gmm_data;

typedef struct {
  int *z;
  double *log_pi, *mu, *factor, *x_missing, *prob;
  double *kept;  /* recorded sweeps behind prob (1 number)               */
  double *moves; /* tries of each kind of move, then how many succeeded */
} gmm_state;

/* Sums over the observations of each component, about the current mean:
 *   count[c], sum[c * d + j] = sum (x_ij - mu_cj),
 *   cross[c * d * d + i + d j] (i >= j) = sum (x_i - mu_c)(x_i - mu_c)'
 * (diagonal covariances: i = j alone).  Observations first wait in a bin of their
 * component, variable j of the s-th one at bin[(c * d + j) * BIN + s], for their
 * products to be summed many at a time. */
typedef struct {
  double *count, *sum, *cross;
  double *bin, *ones; /* ones: a row of a bin */
  size_t *waiting;    /* k: observations in each bin */
} gmm_sums;

/* What a chunk of observations works with. */
typedef struct {
  gmm_sums sums;
  double *scratch, *weight; /* of the densities: 2 d LANES, k LANES */
  double log_lik;
} gmm_chunk;

struct gmm_model {
  gmm_data data;
  gmm_state state;
  gmm_components components;
  gmm_sums sums;
  size_t room; /* components for which mu and the rows of draws have places */
  double log_lik; /* sum_i log sum_c pi_c N(x_i | mu_c, Sigma_c), observed x */
  int mode;       /* blocks go to their conditional modes (ICM) */
  int recording;  /* this sweep enters prob */
  /* work */
  size_t chunk, chunks; /* observations in a chunk, chunks: functions of n  */
  double *x;            /* the data with missing entries filled in          */
  gmm_chunk *areas;     /* one a chunk                                      */
  double *uniforms;     /* n                                                */
  double *normals;      /* one a missing entry                              */
  double *patterns;     /* one area a pattern and component                 */
  /* scratch of the serial blocks */
  double *matrix[3], *vector[3]; /* d x d, d */
  double *concentration;         /* k        */
  size_t *order;                 /* d        */
  gmm_moves moves;
  gmm_combine_work combine;
};

/* The blocks of a sweep (gmm_sweep.c, gmm_unknown.c).  Covariances: those of
 * components first, ..., last - 1, or the shared one.  They leave what densities
 * need of them to gmm_set_constants(). */
void gmm_draw_weights(gmm_model *m);
status gmm_draw_mean(gmm_model *m, size_t c);
status gmm_draw_covariances(gmm_model *m, size_t first, size_t last);
void gmm_set_constants(gmm_model *m);
status gmm_log_likelihood(gmm_model *m, const scan_control *control,
                          double *value);
status gmm_draw_allocations(gmm_model *m, const scan_control *control);

/* The sums of every component, or of one, from the observations. */
void gmm_sum_all(gmm_model *m, int threads);
void gmm_sum_afresh(gmm_model *m, size_t c);

/* Doubles that a pattern of missing entries needs for one component. */
size_t gmm_pattern_size(const gmm_data *data);

#endif
