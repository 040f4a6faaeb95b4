/* Moves of all factors of a matrix factorisation at once that leave the likelihood
 * as it is.  An invertible A takes u_i to A u_i and v_j to A^-T v_j, and no u_i'v_j
 * changes.  With intercepts, u_i = (w_i, a_i) and v_j = (x_j, b_j), A acts on w and
 * x alone, and a_i + delta, b_j - delta changes nothing either.  In these
 * directions only the prior determines the posterior, and a chain that draws one
 * side given the other mixes slowly.
 *
 * The moves of one kind are a group with one parameter: x = log c of
 *   A(c) = I + (c - 1) q q',  q a unit vector
 * (A(c) A(c') = A(c c'), A(1 / c) its inverse), x = log c of A(c) = c I, or x =
 * delta.  The posterior is invariant when x has the density, dx being the group's
 * invariant measure,
 *   p(state moved by x) |d(state moved by x) / d(state)|
 * (generalised Gibbs: Liu & Sabatti 2000, doi:10.1093/biomet/87.2.353, theorem 1),
 * drawn, or moved by a step that leaves it invariant and does not depend on where
 * on its orbit the state lies: slice_step() from x = 0 (slice.h).
 *
 * Normal-Wishart: mu and Lambda go along with the rows,
 *   mu_u -> A mu_u,  Lambda_u -> A^-T Lambda_u A^-1,  the items by A^-T for A.
 * Factors of |A| in density and Jacobian: n rows |A|^-n and |A|^n; mu_u |A|^-1 and
 * |A|; Lambda_u |A|^-(nu0 - d - 1) and |A|^-(d + 1), which leaves |A|^-nu0; those of
 * the items are the inverse, so that nothing is left, whatever n and m.  There
 * remains, of either side, at the place moved to,
 *   exp(-(tr(W0^-1 Lambda) + kappa0 (mu - mu0)'Lambda (mu - mu0)) / 2).
 *
 * Gammas: A = c I with lambda_u / c^2 and lambda_v c^2.  Rows without intercepts
 * cancel as above; n intercepts, which stay, keep the factor lambda_u^(n / 2); of
 * lambda_u^(a - 1) dlambda_u there is c^(-2 a).  In all the density of log c is
 *   c^(2 (c_v - a) + m - n) exp(-b lambda_u / c^2 - d lambda_v c^2) *
 *   exp(-lambda_u / c^2 sum a_i^2 / 2 - lambda_v c^2 sum b_j^2 / 2)
 * for lambda_u ~ Gamma(a, b), lambda_v ~ Gamma(c_v, d); without intercepts m - n
 * and the second line are left out.
 *
 * With fixed precisions no scale is drawn: the prior variance of the rows is known,
 * and the n d coordinates of a side determine their scale almost exactly.
 *
 * Latent values of ordinal ratings (cutpoints.h) do not let the likelihood stay as
 * it is, but have a scale of their own: with x = log c,
 *   z_e, theta_k, u_i -> c z_e, c theta_k, c u_i,  and b_j -> c b_j with intercepts,
 * no rating changes, and N(z_e | eta_e, 1) is left with exp(-c^2 S / 2), S = sum (z_e
 * - eta_e)^2.  Hyperparameters go along as above, by A = c I of the users and A = I +
 * (c - 1) e e' of the items, e their intercept.  N values z and K - 1 cutpoints have
 * the Jacobian c^(N + K - 1); so the density of x is
 *   Normal-Wishart  c^(N + K - 1 - nu0 d) exp(-c^2 (S + sum theta^2 / sd^2) / 2) *
 *                   exp(-(tr(W0^-1 Lambda) + kappa0 (mu - mu0)'Lambda (mu - mu0)) / 2)
 *                   of the users at the place moved to; with intercepts also c^-nu0
 *                   and that of the items;
 *   gammas          c^(N + K - 1 - 2 a) exp(-c^2 (S + sum theta^2 / sd^2) / 2 - b
 *                   lambda_u / c^2); with intercepts also c^m exp(-c^2 lambda_v
 *                   sum b_j^2 / 2), because lambda_v stays.
 *
 * The densities depend on the state through d x d matrices alone.  So the moves
 * follow one another on these, and the rows are multiplied once, by the product of
 * all moves.
 * d coordinates, of which the first `rank` are no intercepts; side 0: users, side
 * 1: items; column-major, all symmetric matrices with both triangles. */
#ifndef GIBBSITE_BMF_SCALE_H
#define GIBBSITE_BMF_SCALE_H

#include "numeric/status.h"
#include <stddef.h>

typedef struct {
  size_t d, rank;
  size_t stride;     /* bmf_stride(d)                                    */
  double *map[2];    /* stride x (d + 1), zeros from row d on: rows of a
                        side x <- M x + h, (M, h)                        */
  double *direction; /* d: q, 0 at the intercept                         */
  double *work;      /* 3 d                                              */
} bmf_moves;

/* A Normal-Wishart prior, the same for both sides. */
typedef struct {
  const double *mu0, *w0_inverse; /* d, d x d                            */
  double kappa0;
  double *mu, *precision; /* mu_u, mu_v: d x 2;  Lambdas: d x d x 2      */
} bmf_wishart_sides;

/* Rows ~ N(0, I / lambda), each side with its own lambda. */
typedef struct {
  double count[2], *lambda;
  double sum[2], square[2]; /* of the intercepts; 0 where there are none */
  const double *shape;      /* of the gammas of the lambdas;             */
  const double *rate;       /* not used where these are fixed            */
} bmf_isotropic_sides;

/* Maps that change nothing. */
void bmf_moves_begin(bmf_moves *moves);

/* One move in a direction of its own, drawn uniformly: all but the rows move. */
status bmf_scale_wishart(bmf_moves *moves, const bmf_wishart_sides *sides);

/* One move of all directions by the same c. */
status bmf_scale_lambda(bmf_moves *moves, const bmf_isotropic_sides *sides);

/* Of latent values: power is N + K - 1, square is S + sum theta^2 / sd^2.  *x: log c,
 * by which the cutpoints are to be multiplied. */
status bmf_scale_latent_wishart(bmf_moves *moves,
                                const bmf_wishart_sides *sides, double nu0,
                                double power, double square, double *x);
status bmf_scale_latent_lambda(bmf_moves *moves, bmf_isotropic_sides *sides,
                               double power, double square, double *x);

/* a_i + delta, b_j - delta */
void bmf_shift_wishart(bmf_moves *moves, const bmf_wishart_sides *sides);
void bmf_shift_isotropic(bmf_moves *moves, const bmf_isotropic_sides *sides);

#endif
