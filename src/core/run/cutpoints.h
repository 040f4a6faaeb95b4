/* Cutpoints of responses on an ordered scale of K levels, ordered probit (Albert &
 * Chib 1993, doi:10.1080/01621459.1993.10476321, sec. 3):
 *
 *   c_e = k  iff  theta_{k-1} < z_e <= theta_k,  z_e ~ N(eta_e, 1),
 *   -Inf = theta_0 < theta_1 < ... < theta_K = Inf,
 *   p(theta) = (K - 1)! prod_k N(theta_k | 0, sd^2) where theta is in order.
 *
 * theta | eta, with the z_e integrated out (Cowles 1996, doi:10.1007/BF00162520,
 * draws cutpoints so, by another proposal): an independence step (Hastings 1970,
 * doi:10.1093/biomet/57.1.97) in the coordinates
 *   a_1 = theta_1,  a_k = log(theta_k - theta_{k-1}),
 * in which every point is in order, and in which the log density is, up to a
 * constant,
 *   F(theta) = sum_e w_e log [Phi(theta_c - eta_e) - Phi(theta_{c-1} - eta_e)]
 *              - sum_k theta_k^2 / (2 sd^2) + sum_{k > 1} log(theta_k - theta_{k-1}).
 * The proposal is t_5(a^, M^-1): a^ maximises F~, which is F of the responses grouped
 * by their eta, each group at its mean eta, and M is minus the Hessian of F~ in a.
 * F~ is concave in theta.  The proposal depends on eta and the responses alone, has
 * heavier tails than the target, and needs no adaptation.  w_e is the number of observations of row e. */
#ifndef GIBBSITE_CUTPOINTS_H
#define GIBBSITE_CUTPOINTS_H

#include "numeric/arena.h"
#include "numeric/normals.h"
#include "numeric/status.h"
#include <stddef.h>

#define CUTPOINTS_GROUPS 128

typedef struct {
  size_t levels;        /* K, at least 2; 0: responses are not ordinal      */
  size_t count;         /* N                                                */
  double sd;            /* of a cutpoint's prior                            */
  const double *code;   /* N: c, from 1 to K                                */
  const double *weight; /* N: w; NULL for 1                                */
  double *eta;          /* N                                                */
  double log_lik;       /* at the current theta and eta, once known         */
  int known;
  int accepted;  /* whether the last proposal was                            */
  double *below; /* NULL, or 2 x N: of the responses at the theta of the last
                    log likelihood, below_low and below_high of normals_span */
  /* work; q = K - 1 */
  double *sums; /* one a part of the responses             */
  double *group_count,
    *group_eta; /* CUTPOINTS_GROUPS x K                          */
  double *centre, *trial, *step; /* q                                       */
  double *gradient, *hessian;    /* q,  q x q: of minus F~                   */
  double *root, *coordinates;    /* q x q: Cholesky factor of M;  q: a^       */
} cutpoints;

void cutpoints_carve(cutpoints *o, arena *a);

/* sum_e log P(c_e | theta, eta_e), the same for any number of threads. */
double cutpoints_log_lik(const cutpoints *o, const double *theta, int threads);

/* log [Phi(theta_c - eta) - Phi(theta_{c-1} - eta)], c = code; after log_cdf_open() */
double cutpoints_log_probability(const cutpoints *o, const double *theta,
                                 size_t code, double eta);

/* A draw of N(eta, 1) between the cutpoints of `code`. */
double cutpoints_draw_latent(const cutpoints *o, const double *theta,
                             size_t code, double eta);

/* Responses of an ordered scale: their levels, predictors and places among all (NULL:
 * the first, the second, ...). */
typedef struct {
  const double *code, *eta;
  const int *place;
  size_t count;
  const double *below; /* NULL, or as in `cutpoints`                          */
} cutpoints_responses;

/* z (count) <- latent values of responses: functions of the key and their places. */
void cutpoints_draw_latents(const double *theta, size_t levels, philox_key key,
                            const cutpoints_responses *of, double *z,
                            int threads);

/* log p(theta) */
double cutpoints_log_prior(const cutpoints *o, const double *theta);

/* theta (q) for the eta of `o`.  R's generator: q normals, a chi-square and a uniform
 * variate. */
status cutpoints_draw(cutpoints *o, double *theta, int threads);

/* All theta_k + delta, where delta has the density prod_k N(theta_k + delta | 0,
 * sd^2) exp(-precision delta^2 / 2 + linear delta).  Returns delta. */
double cutpoints_shift(const cutpoints *o, double *theta, double precision,
                       double linear);

#endif
