/* Moves of whole groups of observations between components of a normal mixture
 * (gmm.h), for modes of the posterior between which single allocations do not
 * lead.
 *
 * A move changes (z, Sigma) and leaves
 *
 *   p(z, Sigma | x) = int int p(pi, mu, Sigma, z | x) dpi dmu
 *
 * invariant.  It comes first in a sweep, and the draws of pi | z and of mu |
 * Sigma, z come next: move and draws together leave p(pi, mu, Sigma, z | x)
 * invariant (van Dyk & Park 2008, doi:10.1198/016214508000000409).  Missing
 * entries keep their values.
 *
 * With W_c the scatter of component c about its mean xbar_c,
 *
 *   p(z) is proportional to prod_c Gamma(alpha_c + n_c),
 *   Sigma_c' ~ IW(nu0 + n_c - 1, S0 + W_c), with density g (n_c = 0: the prior),
 *   p(Sigma_c) p(x_c | Sigma_c) / g(Sigma_c)
 *     = Z(nu0 + n_c - 1, S0 + W_c) / Z(nu0, S0)
 *       (2 pi)^(d/2 - n_c d/2) n_c^(-d/2) N(xbar_c | m0, V0 + Sigma_c / n_c),
 *   Z(nu, S) = 2^(nu d/2) Gamma_d(nu/2) |S|^(-nu/2).
 *
 * One degree of freedom is given up for the unknown mean: what is left depends
 * little on Sigma_c.  Diagonal: each variance by itself, d = 1 in Z.  Shared: nu0
 * + n - (occupied components) degrees of freedom and the sum of the scatters.
 *
 * Three moves, each with ordered components drawn uniformly (Jain & Neal 2004,
 * doi:10.1198/1061860043001, have the first two steps of them):
 *   exchange (a, b, c)  b joins a, and c splits into c and b; its reverse is
 *                       the exchange (c, b, a);
 *   empty (a, b)        b empty: a splits into a and b; both occupied: b joins
 *                       a, its reverse;
 *   resplit (a, b)      the observations of both split anew.
 *
 * A set S of N observations splits from two of them, the anchors i and j: i is
 * drawn uniformly, j in proportion to its squared distance D(i, j) from i.  EM of
 * two normals, started at the anchors, gives each other observation its
 * probability of either side, and sides are drawn independently: q(sides | S, i,
 * j) is a product.  For a split in the reverse move the anchors are drawn one from
 * each side, 1 / (n_1 n_2); those of the new split are what the reverse move would
 * draw so.  With
 *
 *   h(sides | S, i, j) = q(sides | S, i, j) n_1 n_2 D(i, j) / (N sum_l D(i, l)),
 *
 * the ratio of a move is that of the densities times h of the sides undone over
 * h of the sides made.  Probabilities stay EDGE away from 0 and 1, so that each
 * split can be undone. */
#ifndef GIBBSITE_GMM_MOVES_H
#define GIBBSITE_GMM_MOVES_H

#include "gmm/gmm_density.h"
#include "numeric/arena.h"
#include "numeric/status.h"
#include "run/scan.h"
#include <stddef.h>

typedef struct gmm_model gmm_model;

/* Kinds of moves, in the order of the counters in the state. */
enum { MOVE_EXCHANGE, MOVE_EMPTY, MOVE_RESPLIT, MOVE_COMBINE, MOVE_KINDS };

/* Components that a move changes at most. */
#define MOVE_LABELS 3

/* Observations of one component: their number, mean, and scatter about it
 * (lower triangle; diagonal covariances: diagonal). */
typedef struct {
  double count, *mean, *scatter;
} gmm_group;

typedef struct {
  double *v0;           /* d x d, the prior covariance of the means  */
  gmm_components sides; /* the two normals of EM                     */
  double *y;            /* the observations of a set, rows x d       */
  double *chance;       /* n: probability of the second side         */
  double *uniforms;     /* n                                         */
  int *proposed;        /* n: labels after the move                  */
  gmm_group before[MOVE_LABELS], after[MOVE_LABELS];
  gmm_group whole, second, half[2]; /* of a set and of its sides     */
  double *factor;                   /* proposed factors, one a changed label  */
  double *bin, *root, *zero;        /* d x BIN, BIN, d                      */
  double *scratch, *weight;         /* of the densities                     */
  double *matrix[2], *vector;
  double empty_rate;                 /* the share of MOVE_EMPTY in the tries */
  double log_prior;                  /* log Z(nu0, S0)              */
  size_t label[MOVE_LABELS], labels; /* the components that change */
} gmm_moves;

/* Their memory, and what follows from the data alone. */
void gmm_moves_carve(gmm_moves *moves, gmm_form form, size_t n, size_t d,
                     arena *a);
status gmm_moves_open(gmm_model *m);

/* Whether a sweep of the sampler of gmm.h has a try. */
int gmm_move_due(const gmm_model *m);

/* One try, where there are two components.  When it is accepted, z, the factors of
 * the covariances and the means of the components moves->label are new, and the
 * sums of these are to be taken afresh; else moves->labels is 0. */
void gmm_move(gmm_model *m, const scan_control *control);

#endif
