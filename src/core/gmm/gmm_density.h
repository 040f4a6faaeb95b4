/* The normal mixture density, a block of observations at a time.
 *
 *   log p(x | c) = log pi_c - d/2 log(2 pi) - log|L_c| - |L_c^-1 (x - mu_c)|^2 / 2,
 *
 * Sigma_c = L_c L_c'.  d variables, k components.  Matrices are column-major. */
#ifndef GIBBSITE_GMM_DENSITY_H
#define GIBBSITE_GMM_DENSITY_H

#include "numeric/arena.h"
#include "numeric/lanes.h"
#include "numeric/status.h"
#include <stddef.h>

/* Products are summed over a bin of up to BIN observations, in GROUP
 * independent partial sums. */
#define BIN 64
#define GROUP 8

/* How the covariances are tied. */
typedef enum {
  COVARIANCE_FULL = 0,     /* Sigma_c any                       */
  COVARIANCE_DIAGONAL = 1, /* Sigma_c diagonal                  */
  COVARIANCE_SHARED = 2    /* Sigma_c the same for all c        */
} gmm_form;

/* Numbers in the factors of all components: full c * d^2 + i + d j (lower
 * triangular), diagonal c * d + j (standard deviations), shared i + d j. */
size_t gmm_factor_size(gmm_form form, size_t d, size_t k);

/* The components as the density needs them. */
typedef struct {
  gmm_form form;
  size_t d, k;
  double *mean;         /* c * d + j                                       */
  double *factor;       /* as above                                        */
  double *inverse_diag; /* c * d + j: 1 / L_c[j, j]                        */
  double *log_constant; /* log pi_c - d/2 log(2 pi) - log|L_c|             */
} gmm_components;

/* Their memory. */
void gmm_components_carve(gmm_components *p, gmm_form form, size_t d, size_t k,
                          arena *a);

/* Factor of component c: lower triangular d x d, or d standard deviations. */
double *gmm_factor(const gmm_components *p, size_t c);

/* Sets inverse_diag and log_constant of component c from its factor. */
void gmm_set_constant(gmm_components *p, size_t c, double log_pi);

/* lower (d x d) <- the factor of component c as a full lower triangular matrix. */
void gmm_lower(const gmm_components *p, size_t c, double *lower);

/* weight[c * LANES + lane] <- log pi_c + log N(x | mu_c, Sigma_c) for `lanes` <=
 * LANES observations, element (i, j) of x at x[i + n j].  scratch: 2 d LANES. */
void gmm_log_joint(const gmm_components *p, const double *x, size_t n,
                   size_t lanes, double *scratch, double *weight);

/* Sum of logarithms: sum over lanes of sum + log(product).  Products are of numbers
 * between 1 and k, `bound` is what they cannot exceed; so one logarithm serves
 * for many observations. */
typedef struct {
  double sum[LANES], product[LANES], bound;
} gmm_log_sum;

gmm_log_sum gmm_log_sum_open(void);
double gmm_log_sum_close(const gmm_log_sum *s);

/* Log joint weights become partial sums over c of exp(weight - largest); log
 * sum_c exp(weight) of the valid lanes is added to s. */
void gmm_accumulate(double *weight, size_t k, size_t lanes, gmm_log_sum *s);

/* z[lane] <- component 1..k of each valid lane, by one uniform in (0, 1) each,
 * with the partial sums that gmm_accumulate() left. */
void gmm_pick(const double *partial, size_t k, const double *uniforms,
              size_t lanes, int *z);

/* The partial sums become probabilities; mean[lane + n c] moves towards those of
 * the valid lanes by `rate` of the way. */
void gmm_average(double *partial, size_t n, size_t k, size_t lanes, double rate,
                 double *mean);

/* Sums of a bin of observations, variable j of the s-th at bin[j * BIN + s], s <
 * filled <= BIN:  sum[j] += sum_s y_js, cross[i + d j] += sum_s y_is y_js (i >= j;
 * diagonal covariances: i = j alone) with y_js = bin[j * BIN + s] - mean[j].
 * Overwrites the bin; ones: BIN of them. */
void gmm_add_bin(gmm_form form, double *bin, size_t d, size_t filled,
                 const double *ones, const double *mean, double *sum,
                 double *cross);

/* Densities and allocation probabilities at x (n x d) under `draws` draws of the
 * parameters, rows of pi (draws x k), mu (draws x k d) and sigma: full draws x
 * k d d (component fastest), diagonal draws x k d (variances), shared draws x d d.
 *   log_density (draws x n)     <- log sum_c pi_c N(x_i | mu_c, Sigma_c)
 *   prob (n x k)                <- mean over draws of P(z_i = c | x_i, draw)
 *   agreement (draws x k x k)   <- sum of P(z_i = a | x_i, draw) over the
 *                                  observations i with pivot[i] = b
 * Each may be NULL.  Component c of draw s is counted in prob as
 * order[s + draws c] (1..k); NULL: as it stands. */
typedef struct {
  gmm_form form;
  size_t n, d, k, draws;
  const double *x, *pi, *mu, *sigma;
  const int *order, *pivot;
  double *log_density, *prob, *agreement;
} gmm_evaluation;

/* work: gmm_evaluate_size() bytes; 0 when the count overflows */
size_t gmm_evaluate_size(gmm_form form, size_t d, size_t k);
status gmm_evaluate(const gmm_evaluation *job, void *work);

#endif
