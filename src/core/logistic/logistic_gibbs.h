/* Draws from the posterior of a logistic or probit regression (logistic.h), with
 * counts s and m, which the augmentation needs whole.  A sweep has up to three steps, each of which leaves the
 * posterior invariant:
 *
 *   augmentation, logit (Polson, Scott & Windle 2013,
 *                        doi:10.1080/01621459.2013.829001)
 *     omega_i | w  ~ PG(m_i, eta_i)
 *     w | omega    ~ N(P^-1 X'(s - m/2 - omega o), P^-1),  P = X' diag(omega) X + Q
 *   augmentation, probit (Albert & Chib 1993, doi:10.1080/01621459.1993.10476321)
 *     z_ij | w  ~ N(eta_i, 1), j = 1 .. m_i, given that it is positive for the
 *                 successes and negative for the failures
 *     w | z     ~ N(P^-1 X' r, P^-1),  r_i = sum_j (z_ij - o_i),  P = X' diag(m) X + Q
 *   independence (Hastings 1970, doi:10.1093/biomet/57.1.97)
 *     w* ~ q, accepted with probability min(1, p(w*) q(w) / (p(w) q(w*))),
 *     q = 3/4 N(map, H^-1) + 1/4 t_5(map, H^-1),  H = -L''(map)
 *
 *   Hamiltonian (Duane et al. 1987, doi:10.1016/0370-2693(87)91197-X; Neal 2011,
 *                doi:10.1201/b10905-6)
 *     leapfrog steps of one length in the coordinates L'w, their number uniform on
 *     1 .. pi / length (50 at most); the length is adapted in the burn-in
 *
 * The second costs one evaluation of L.  q has heavier tails than p, so that p / q
 * is bounded.  Where it is accepted often, the first step, which costs much more, is
 * left out of most sweeps: it is taken
 *   - in the first LOGISTIC_TRIAL sweeps of the burn-in, and without a burn-in always;
 *   - if less than half of the proposals were accepted in the burn-in so far;
 *   - in every sweep whose number is a multiple of `every`.
 * It is never taken if `every` is 0.  The third step is taken in the second of these
 * cases.  After the burn-in the choice
 * depends on the number of the sweep alone.                                      */
#ifndef GIBBSITE_LOGISTIC_GIBBS_H
#define GIBBSITE_LOGISTIC_GIBBS_H

#include <stddef.h>

#include "logistic/logistic.h"
#include "numeric/status.h"
#include "run/scan.h"

#define LOGISTIC_TRIAL 50

typedef struct {
  logistic_data density;
  const double *map;    /* p                                               */
  const double *factor; /* p x p, lower triangular: L, L L' = H            */
  double every;
} logistic_gibbs_data;

typedef struct {
  double *w;           /* p                                                  */
  double *counts;      /* 4: proposals and moves in burn-in, the same after  */
  double *leap;        /* length of a leap of the Hamiltonian step           */
  const double *sweep; /* sweeps done: moved on by the scan                  */
} logistic_gibbs_state;

/* Of a w: L(w), and (w - map)'H(w - map). */
typedef struct {
  double joint, square;
} logistic_place;

typedef struct {
  logistic_gibbs_data data;
  logistic_gibbs_state state;
  double
    log_t; /* log of the ratio of the densities of q's parts at its centre */
  logistic_place place; /* of w, if `known`                                */
  int known;
  int factored; /* precision holds the factor of P, which never changes    */
  /* work */
  double *normals, *trial, *zero, *shift; /* p     */
  double *precision;                      /* p x p */
  double *eta, *omega;                    /* n     */
  double *block, *panel;
} logistic_gibbs;

size_t logistic_gibbs_work_size(const logistic_gibbs_data *data);

/* A model on `data` and `state` (both borrowed) in `work`. */
void logistic_gibbs_open(logistic_gibbs *model, const logistic_gibbs_data *data,
                         const logistic_gibbs_state *state, void *work);

/* The steps. */
status logistic_gibbs_augment(logistic_gibbs *model, const generator *g);
void logistic_gibbs_propose(logistic_gibbs *model, const generator *g,
                            int in_burnin);
void logistic_gibbs_travel(logistic_gibbs *model, const generator *g,
                           int in_burnin);

/* A scan_model's functions; w is stored. */
status logistic_gibbs_sweep(void *model, const scan_control *control);
void logistic_gibbs_record(void *model, double *row, size_t stride);

#endif
