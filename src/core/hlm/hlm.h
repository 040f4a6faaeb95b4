/* Hierarchical linear regression (Rai, CS772A, "J schools"; Murphy 2012, 24.2.3).
 * With fixed effects b and deviations u_j of group j,
 *
 *   y_i ~ N(o_i + x_i'b + z_i'u_j(i), 1 / (beta v_i)),   u_j ~ N(0, Sigma),
 *   b_k ~ N(m_k, 1 / t_k),   beta ~ Gamma(shape, rate), or beta = 1 (`known`),
 *
 * and one of two priors, IW(df, S) with density proportional to
 * |Sigma|^-((df+q+1)/2) exp(-tr(S Sigma^-1)/2):
 *   wishart   Sigma ~ IW(df, S)
 *   half-t    Sigma | a ~ IW(df + q - 1, 2 df diag(1/a_1, ..., 1/a_q)),
 *             a_k ~ IG(1/2, 1/A_k^2)  (Huang & Wand 2013, doi:10.1214/13-BA815):
 *             sqrt(Sigma_kk) is half-t with df degrees of freedom and scale A_k.
 * `diagonal`: Sigma is diagonal, and each variance has this prior with q = 1.
 *
 * The rows of a group, times sqrt(v_i), are rotated so that z is zero in all but
 * the first min(n_j, q) of them.  These N rows stay with their groups; the others,
 * of all groups, are rotated once more into at most p rows `pool` and a sum of
 * squares `rss`.  No sum of squares is a difference.
 *
 * A sweep, with H_j = I + beta Z_j Sigma Z_j':
 *   beta | Sigma, y         if `collapsed`: b and u integrated out, a slice step
 *   b | Sigma, beta, y      u integrated out
 *   u_j | b, Sigma, beta, y
 *   u_k, Sigma -> s u_k, D Sigma D      for each k, D = diag(1, .., s, .., 1)
 *   a | Sigma
 *   u_k, Sigma -> u_k + c u_l, G Sigma G',  G = I + c E_kl,   for all k != l
 *   Sigma | u, a
 *   beta | b, u, y
 * The moves of the fourth and sixth line are those of the non-centred
 * parametrisation, in which Sigma^-1/2 u is fixed (interweaving: Yu & Meng 2011,
 * doi:10.1198/jcgs.2011.203main; moves along groups: Liu & Sabatti 2000,
 * doi:10.1093/biomet/87.2.353).
 *
 * q bar's columns, p fixed effects, J groups; matrices column-major.
 *   start   J + 1     the reduced rows of group j: start[j], ..., start[j+1] - 1
 *   z       q x N     x  p x N     y  N
 *   pool_x  p x pool  pool_y  pool                                             */
#ifndef GIBBSITE_HLM_H
#define GIBBSITE_HLM_H

#include <stddef.h>

#include "numeric/status.h"
#include "run/scan.h"

typedef struct {
  size_t q, p, groups, pool;
  const int *start;
  const double *z, *x, *y, *pool_x, *pool_y;
  double rss, n, log_weights; /* observations; sum of log v_i                 */
  int diagonal, known, half_t, collapsed, keep;
  const double *mean, *precision; /* p: m, t                                  */
  double df;
  const double *scale; /* half-t: A (q); wishart: S (q x q)                   */
  double shape, rate;
  /* the stored coefficients: b_k / unit_k, and the intercept, which is column
   * intercept_at (p: none), centre + b - sum of column_mean_k b_k / unit_k     */
  const double *unit, *column_mean;
  double centre;
  size_t intercept_at;
  const int *fixed_at; /* q: the fixed effect that is the mean of the bar's
                          column, from 0, or -1                               */
} hlm_data;

typedef struct {
  double *factor; /* q x q: L, lower triangular, Sigma = L L' */
  double *beta;   /* 1     */
  double *b;      /* p: in the units of the data */
  double *u;      /* q x J */
} hlm_state;

/* The rows of a bar whose latent responses or densities change in a sweep: those of
 * group j are row[first[j]], ..., row[first[j + 1] - 1]. */
typedef struct {
  const int *first, *row; /* J + 1; n                                     */
  const double *z;        /* q x n                                        */
} hlm_rows;

typedef struct {
  hlm_data data;
  hlm_state state;
  size_t all_normals;
  double *normals;  /* of a sweep: b; of each group q and its rows; shears    */
  double *residual; /* N: of the groups' rows                                 */
  double *pool_residual; /* pool                                              */
  const double *pool_right; /* p: added to the pool's X_0'y_0, or NULL        */
  /* of weigh() */
  double *loaded;         /* q x N: z_i'L                                     */
  double *root;           /* q x q x J: the factors C_j, H_j = C_j C_j'       */
  double *white_x;        /* p x N: C_j^-1 x                                  */
  double *white_y;        /* N                                                */
  double *part_gram;      /* p x p a part                                     */
  double *part_right;     /* p a part                                         */
  double *part_sum;       /* 1 a part                                         */
  double *panel;          /* for dense_cholesky()                             */
  double *gram, *right;   /* the posterior precision of b, then its factor    */
  double log_det;         /* sum of log |H_j|                                 */
  double *inverse, *sums; /* q x q: Sigma^-1, the prior's S                   */
  double *scatter, *work; /* q x q                                            */
  double *b;              /* p: in units of the reduced rows                  */
  double *length;         /* q: of hlm_record()                               */
} hlm_model;

size_t hlm_work_size(const hlm_data *data);

/* A model on `data` and `state` (both borrowed) in `work`. */
void hlm_open(hlm_model *model, const hlm_data *data, const hlm_state *state,
              void *work);

/* The lines of a sweep from b to Sigma, with m->normals and, if it is collapsed,
 * beta drawn before. */
status hlm_draw_effects(hlm_model *model, int threads);

/* Standard deviations and correlations of Sigma; returns the place after them. */
double *hlm_record_covariance(hlm_model *model, double *next, size_t stride);

/* With `keep` the w_j = u_j + their means into the places after `next`; returns the
 * last one. */
double *hlm_record_deviations(const hlm_model *model, double *next,
                              size_t stride);

/* One sweep; a scan_model's `sweep`. */
status hlm_sweep(void *model, const scan_control *control);

/* The move u_k -> s u_k in all groups, Sigma -> D Sigma D: the log density of x =
 * log s without that of the responses, constants left out.  It has the prior of
 * Sigma (a integrated out) and its Jacobian, s^(q+1); the powers of s from u and its
 * Jacobian cancel.  m->inverse is Sigma^-1.  The second function moves u, Sigma and
 * this. */
double hlm_log_scale(const hlm_model *model, size_t k, double x);
void hlm_scale_groups(hlm_model *model, size_t k, double x);

/* a | Sigma: m->sums is the S of Sigma's prior;  Sigma | u, a. */
void hlm_draw_sums(hlm_model *model);
status hlm_draw_covariance(hlm_model *model);

/* The move u_k -> u_k + c u_l in all groups, Sigma -> G Sigma G': m->inverse <-
 * G'^-1 Sigma^-1 G^-1.  The log density of c without that of the responses is
 * (Q S)_kl c - Q_kk S_ll c^2 / 2, Q = Sigma^-1, S = m->sums. */
void hlm_shear_inverse(hlm_model *model, size_t k, size_t l, double c);

/* The stored quantities: the fixed effects (p), the standard deviations (q) and,
 * unless `diagonal`, the correlations (the lower triangle by columns) of Sigma,
 * sigma = 1 / sqrt(beta) unless `known`, log_lik, and with `keep` the w_j = u_j
 * + their means (q x J). */
size_t hlm_columns(const hlm_data *data);
void hlm_record(void *model, double *row, size_t stride);

/* For each of `count` draws (b: p x count, factor: q x q x count, beta: count) and
 * group the conditional u_j ~ N(mean, root root') given the rows of the data:
 * mean q x J x count, root q x q x J x count. */
status hlm_conditionals(hlm_model *model, size_t count, const double *b,
                        const double *factor, const double *beta, double *mean,
                        double *root);

/* log p(y | Sigma, beta) p(log beta) with b and u integrated out, constants left
 * out, for each of `count` points (factor: q x q x count, log_beta: count);
 * p(log beta) is 1 if beta is known.  -Inf where H_j is not positive definite. */
void hlm_log_marginal(hlm_model *model, size_t count, const double *factor,
                      const double *log_beta, double *value);

#endif
