/* The move "combine and split" of a normal mixture (gmm.h): two components
 * become one, and a third one becomes two, with the allocations integrated out
 * (the moves of Richardson & Green 1997, doi:10.1111/1467-9868.00095, one after
 * the other, so that k stays; without allocations as in Cappé, Robert & Rydén
 * 2003, doi:10.1111/1467-9868.00409).  Components that overlap change places at
 * once, however many observations they have.
 *
 * Components a and b with weights w_a, w_b combine into one of the same weight,
 * mean and covariance:
 *
 *   w = w_a + w_b,  p = w_a / w,  mu = p mu_a + (1 - p) mu_b,
 *   W = p Sigma_a + (1 - p) Sigma_b,
 *   delta = (p (1 - p))^(1/2) (mu_b - mu_a),  Sigma = W + delta delta'.
 *
 * The reverse takes Sigma = L L', a share p, a vector v in the unit ball and a
 * matrix B with 0 < B < I:
 *
 *   delta = L v,  W = Sigma - delta delta' = M M',
 *   mu_a = mu - ((1 - p) / p)^(1/2) delta,  Sigma_a = M B M' / p,
 *   mu_b = mu + (p / (1 - p))^(1/2) delta,  Sigma_b = M (I - B) M' / (1 - p).
 *
 * One to one: (w, mu, Sigma; p, v, B) <-> (w_a, mu_a, Sigma_a, w_b, mu_b,
 * Sigma_b), with the Jacobian
 *
 *   J = w |Sigma|^(1/2) |W|^((d + 1)/2) (p (1 - p))^(-d (d + 2)/2).
 *
 * p is uniform, v has the density proportional to (1 - |v|^2)^(V_BETA - 1), and B is
 * matrix beta with the parameters
 *
 *   s = (d - 1)/2 + 1/2 + B_SHAPE p,  t = (d - 1)/2 + 1/2 + B_SHAPE (1 - p),
 *
 * about p I, so that the covariances are alike.  With 1 - |v|^2 = |W| / |Sigma|,
 * |B| = p^d |Sigma_a| / |W| and |I - B| = (1 - p)^d |Sigma_b| / |W|, the density q
 * of (p, v, B) is a function of determinants.
 *
 * The pair to be combined is drawn in proportion to (|W| / |Sigma|)^OVERLAP_POWER, which
 * is large where components overlap; then which of its labels is freed, and the
 * component c that splits, uniformly.  The reverse of (a, b, c) is (c, b, a), and
 * the move is accepted with the probability min(1, r),
 *
 *   r = p(x | theta') p(theta') / (p(x | theta) p(theta))
 *       (q / J of the split undone) / (q / J of the split made)
 *       P'(pair c, b) / P(pair a, b),
 *
 * theta = (pi, mu, Sigma).  It leaves p(theta | x) invariant; z and the missing
 * entries are drawn next.  Diagonal covariances: each variable by itself, d = 1,
 * with the same p.  Shared covariance: no such move. */
#ifndef GIBBSITE_GMM_COMBINE_H
#define GIBBSITE_GMM_COMBINE_H

#include "gmm/gmm_density.h"
#include "numeric/arena.h"
#include "numeric/status.h"
#include "run/scan.h"
#include <stddef.h>

typedef struct gmm_model gmm_model;

/* One component: its log weight, mean and factor (full: d x d, diagonal: d). */
typedef struct {
  double log_weight, *mean, *factor;
} gmm_part;

typedef struct {
  gmm_part old[3], new[3]; /* of the labels a, b, c                 */
  double *nearness;        /* k x k: (|W| / |Sigma|)^OVERLAP_POWER of a pair */
  double *matrix[4], *vector;
} gmm_combine_work;

void gmm_combine_carve(gmm_combine_work *work, size_t d, size_t k, arena *a);

/* Whether a sweep has a try, and one try. */
int gmm_combine_due(const gmm_model *m);
status gmm_combine(gmm_model *m, const scan_control *control);

#endif
