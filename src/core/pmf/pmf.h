/* Poisson-gamma matrix factorisation (Gopalan, Hofman & Blei 2015, "Scalable
 * recommendation with hierarchical Poisson factorization", UAI), all gammas with
 * shape and rate:
 *
 *   y_ui ~ Poisson(theta_u' beta_i) for every user u and item i,
 *   theta_uk ~ Gamma(a, xi_u),   xi_u  ~ Gamma(a', a'/b'),
 *   beta_ik  ~ Gamma(c, eta_i),  eta_i ~ Gamma(c', c'/d').
 *
 * y_ui is the sum of s_uik ~ Poisson(theta_uk beta_ik).  A sweep draws users, then
 * items, then scales (pmf_sweep.c).  For users, in parallel over u:
 *
 *   xi_u | theta_u         ~ Gamma(a' + K a, a'/b' + sum_k theta_uk)
 *   s_ui | y, theta, beta  ~ Multinomial(y_ui, theta_uk beta_ik), where y_ui > 0
 *   theta_uk | s, xi, beta ~ Gamma(a + sum_i s_uik, xi_u + sum_i beta_ik)
 *
 * and for items with the roles exchanged.  s is drawn anew for each side, so that
 * it is no part of the state, and a pair without a count costs nothing.
 *
 * n users, m items, K = k factors; `which` is 0 for users, 1 for items.
 *   u       k x n   theta, a column a user        v       k x m   beta
 *   rate_u  n       xi                            rate_v  m       eta
 * A theta or beta below PMF_LEAST counts as PMF_LEAST: logs stay finite.
 *
 * Random numbers of row r of a side: the stream philox_open(key, r, 0) of the
 * side's key of this sweep, in the order xi (unless known), s pair by pair, theta.
 * So the draws do not depend on threads. */
#ifndef GIBBSITE_PMF_H
#define GIBBSITE_PMF_H

#include "numeric/rdist.h"
#include "numeric/status.h"
#include "run/scan.h"
#include "run/store.h"
#include <stddef.h>

#define PMF_LEAST 1e-300

/* Positive counts compressed by row. */
typedef struct {
  size_t rows, partners;
  const int *start;    /* rows + 1 offsets from 0 */
  const int *index;    /* partners, from 0        */
  const double *value; /* whole numbers >= 1      */
} pmf_counts;

/* a, a', b' of users, or c, c', d' of items.  An infinite a': the rates are known,
 * and are b'. */
typedef struct {
  double shape, rate_shape, rate_mean;
} pmf_prior;

typedef struct {
  size_t n, m, k;
  pmf_counts counts[2];
  pmf_prior prior[2];
  size_t cells; /* pairs whose expected counts are recorded, from 0 */
  const int *cell_user, *cell_item;
  int keep[2];      /* record theta, beta         */
  double log_const; /* sum of log(y!)             */
} pmf_data;

typedef struct {
  double *u, *v, *rate_u, *rate_v;
  double *kept; /* recorded draws */
} pmf_state;

typedef struct {
  pmf_data data;
  pmf_state state;
  draw_store store; /* without hypers */
  double log_lik, log_joint;
  /* work */
  double *total; /* k: sums of the other side's factors         */
  double *part;  /* one a row of the longer side: of a sum      */
  double *areas; /* 3 k a thread                                */
  size_t stride; /* of areas                                    */
} pmf_model;

/* Bytes of work space; 0 when the count overflows. */
size_t pmf_work_size(const pmf_data *data, int threads);
void pmf_open(pmf_model *m, const pmf_data *data, const pmf_state *state,
              void *work, int threads);

/* One side given the other (0: users). */
status pmf_draw_side(pmf_model *m, int which, philox_key key,
                     const scan_control *control);

/* For scan_model. */
status pmf_sweep(void *model, const scan_control *control);
size_t pmf_columns(const pmf_data *data);
void pmf_record(void *model, double *row, size_t stride);

#endif
