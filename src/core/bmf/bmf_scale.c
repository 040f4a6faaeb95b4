#include "numeric/rounding.h"

#include "bmf/bmf_scale.h"

#include <math.h>
#include <string.h>

#include "numeric/linalg.h"
#include "numeric/rmath.h"
#include "run/slice.h"

/* ---- the scale --------------------------------------------------------- */

/* log density of x = log c: power x - down2 e^-2x - down1 e^-x - up1 e^x -
 * up2 e^2x. */
typedef struct {
  double power, down2, down1, up1, up2;
} scale_density;

static double log_density(const void *data, double x) {
  const scale_density *s = data;
  const double up = exp(x), down = exp(-x);
  return s->power * x - (s->down2 * down + s->down1) * down -
         (s->up2 * up + s->up1) * up;
}

/* A slice step from x = 0; an error if the density does not fall on both sides. */
static status step_scale(const scale_density *s, double *x) {
  if (!(s->down2 > 0.0 && s->up2 > 0.0) || !isfinite(log_density(s, 0.0)))
    return STATUS_NOT_FINITE;
  *x = slice_step(log_density, s, 0.0);
  return STATUS_OK;
}

/* ---- vectors and matrices ---------------------------------------------- */

/* y <- M x, M symmetric */
static void times(const double *matrix, size_t d, const double *x, double *y) {
  memset(y, 0, d * sizeof *y);
  for (size_t k = 0; k < d; k++)
    for (size_t i = 0; i < d; i++)
      y[i] += matrix[i + d * k] * x[k];
}

/* M <- (I + s q q') M (I + s q q'), M symmetric, y = M q. */
static void congruence(double *matrix, size_t d, const double *q,
                       const double *y, double s) {
  const double square = s * s * linalg_inner(q, y, d);
  for (size_t j = 0; j < d; j++)
    for (size_t i = j; i < d; i++) {
      matrix[i + d * j] +=
        s * (q[i] * y[j] + y[i] * q[j]) + square * q[i] * q[j];
      matrix[j + d * i] = matrix[i + d * j];
    }
}

/* x <- (I + s q q') x */
static void stretch(double *x, size_t d, const double *q, double s) {
  const double along = s * linalg_inner(q, x, d);
  for (size_t i = 0; i < d; i++)
    x[i] += along * q[i];
}

/* ---- directions -------------------------------------------------------- */

void bmf_moves_begin(bmf_moves *moves) {
  const size_t d = moves->d;
  for (int side = 0; side < 2; side++) {
    memset(moves->map[side], 0, moves->stride * (d + 1) * sizeof(double));
    for (size_t k = 0; k < d; k++)
      moves->map[side][k + moves->stride * k] = 1.0;
  }
}

/* Uniform on the sphere of the first `rank` coordinates. */
static void draw_direction(bmf_moves *moves) {
  double *q = moves->direction, square = 0.0;
  for (size_t k = 0; k < moves->d; k++) {
    q[k] = k < moves->rank ? norm_rand() : 0.0;
    square += q[k] * q[k];
  }
  for (size_t k = 0; k < moves->rank; k++)
    q[k] /= sqrt(square);
}

static void stretch_maps(bmf_moves *moves, double x) {
  const size_t d = moves->d;
  for (size_t j = 0; j <= d; j++) {
    stretch(moves->map[0] + moves->stride * j, d, moves->direction, expm1(x));
    stretch(moves->map[1] + moves->stride * j, d, moves->direction, expm1(-x));
  }
}

/* ---- Normal-Wishart priors --------------------------------------------- */

/* With A^-1 = I + s q q' for one side (the items: A for A^-1) the log density of
 * bmf_scale.h is, but for a constant, -(a s^2 + 2 b s) / 2,
 *   a = q'Lambda q (q'W0^-1 q + kappa0 (q'mu0)^2),
 *   b = q'W0^-1 Lambda q - kappa0 q'mu0 q'Lambda (mu - mu0).
 * second, first <- the factors of (1 + s)^2 and of 1 + s in it, with the sign
 * changed:  a / 2 and b - a.  y (d) <- Lambda q. */
static void wishart_terms(const bmf_moves *moves, const bmf_wishart_sides *s,
                          int side, double *y, double *second, double *first) {
  const size_t d = moves->d;
  const double *q = moves->direction, *mu = s->mu + (size_t)side * d;
  double *z = moves->work + 2 * d;
  times(s->precision + (size_t)side * d * d, d, q, y);
  times(s->w0_inverse, d, q, z);
  const double along = linalg_inner(q, s->mu0, d);
  const double distance = linalg_inner(y, mu, d) - linalg_inner(y, s->mu0, d);
  const double a =
    linalg_inner(q, y, d) * (linalg_inner(q, z, d) + s->kappa0 * along * along);
  const double b = linalg_inner(z, y, d) - s->kappa0 * along * distance;
  *second = 0.5 * a;
  *first = b - a;
}

/* Here 1 + s is 1 / c of the users and c of the items. */
status bmf_scale_wishart(bmf_moves *moves, const bmf_wishart_sides *s) {
  const size_t d = moves->d;
  const double *q = moves->direction;
  double *users = moves->work, *items = users + d, x = 0.0;
  scale_density density = {0};
  draw_direction(moves);
  wishart_terms(moves, s, 0, users, &density.down2, &density.down1);
  wishart_terms(moves, s, 1, items, &density.up2, &density.up1);
  const status outcome = step_scale(&density, &x);
  if (outcome != STATUS_OK)
    return outcome;
  stretch_maps(moves, x);
  stretch(s->mu, d, q, expm1(x));
  stretch(s->mu + d, d, q, expm1(-x));
  congruence(s->precision, d, q, users, expm1(-x));
  congruence(s->precision + d * d, d, q, items, expm1(x));
  return STATUS_OK;
}

/* Users x -> c x; the items' intercepts too. */
static void scale_maps(bmf_moves *moves, double c) {
  const size_t d = moves->d;
  for (size_t j = 0; j <= d; j++) {
    for (size_t i = 0; i < d; i++)
      moves->map[0][i + moves->stride * j] *= c;
    for (size_t i = moves->rank; i < d; i++)
      moves->map[1][i + moves->stride * j] *= c;
  }
}

status bmf_scale_latent_wishart(bmf_moves *moves, const bmf_wishart_sides *s,
                                double nu0, double power, double square,
                                double *x) {
  const size_t d = moves->d, rank = moves->rank;
  const size_t scaled = d + (d - rank);
  double *y = moves->work;
  scale_density density = {.power = power - nu0 * (double)scaled,
                           .up2 = 0.5 * square};
  times(s->precision, d, s->mu0, y);
  density.down2 = 0.5 * (linalg_inner(s->w0_inverse, s->precision, d * d) +
                         s->kappa0 * linalg_inner(y, s->mu0, d));
  density.down1 = -s->kappa0 * linalg_inner(y, s->mu, d);
  if (rank < d) {
    double second, first;
    for (size_t k = 0; k < d; k++)
      moves->direction[k] = k == rank ? 1.0 : 0.0;
    wishart_terms(moves, s, 1, y, &second, &first);
    density.down2 += second;
    density.down1 += first;
  }
  const status outcome = step_scale(&density, x);
  if (outcome != STATUS_OK)
    return outcome;
  const double c = exp(*x);
  scale_maps(moves, c);
  for (size_t k = 0; k < d; k++)
    s->mu[k] *= c;
  for (size_t e = 0; e < d * d; e++)
    s->precision[e] /= c * c;
  if (rank < d) {
    s->mu[d + rank] *= c;
    congruence(s->precision + d * d, d, moves->direction, y, expm1(-*x));
  }
  return STATUS_OK;
}

static double draw_normal(double precision, double linear) {
  return linear / precision + norm_rand() / sqrt(precision);
}

static void shift_maps(bmf_moves *moves, double delta) {
  const size_t at = moves->stride * moves->d + moves->d - 1;
  moves->map[0][at] += delta;
  moves->map[1][at] -= delta;
}

/* mu_u + delta e, mu_v - delta e, e the intercept: of the density remains
 * prod exp(-kappa0 (mu - mu0)'Lambda (mu - mu0) / 2), so delta is normal. */
void bmf_shift_wishart(bmf_moves *moves, const bmf_wishart_sides *s) {
  const size_t d = moves->d, last = d - 1;
  double precision = 0.0, linear = 0.0;
  for (size_t side = 0; side < 2; side++) {
    const double *row = s->precision + side * d * d + d * last;
    const double *mu = s->mu + side * d, sign = side == 0 ? -1.0 : 1.0;
    precision += s->kappa0 * row[last];
    linear += sign * s->kappa0 *
              (linalg_inner(row, mu, d) - linalg_inner(row, s->mu0, d));
  }
  const double delta = draw_normal(precision, linear);
  s->mu[last] += delta;
  s->mu[d + last] -= delta;
  shift_maps(moves, delta);
}

/* ---- rows about zero --------------------------------------------------- */

status bmf_scale_lambda(bmf_moves *moves, const bmf_isotropic_sides *s) {
  const size_t d = moves->d, rank = moves->rank;
  double x = 0.0;
  const scale_density density = {
    .power = 2.0 * (s->shape[1] - s->shape[0]) +
             (rank < d ? s->count[1] - s->count[0] : 0.0),
    .down2 = s->lambda[0] * (s->rate[0] + 0.5 * s->square[0]),
    .up2 = s->lambda[1] * (s->rate[1] + 0.5 * s->square[1]),
  };
  const status outcome = step_scale(&density, &x);
  if (outcome != STATUS_OK)
    return outcome;
  const double c = exp(x);
  for (int side = 0; side < 2; side++) {
    const double factor = side == 0 ? c : 1.0 / c;
    s->lambda[side] /= factor * factor;
    for (size_t j = 0; j <= d; j++)
      for (size_t i = 0; i < rank; i++)
        moves->map[side][i + moves->stride * j] *= factor;
  }
  return STATUS_OK;
}

status bmf_scale_latent_lambda(bmf_moves *moves, bmf_isotropic_sides *s,
                               double power, double square, double *x) {
  const int biases = moves->rank < moves->d;
  const scale_density density = {
    .power = power - 2.0 * s->shape[0] + (biases ? s->count[1] : 0.0),
    .down2 = s->lambda[0] * s->rate[0],
    .up2 = 0.5 * (square + s->lambda[1] * s->square[1]),
  };
  const status outcome = step_scale(&density, x);
  if (outcome != STATUS_OK)
    return outcome;
  const double c = exp(*x);
  scale_maps(moves, c);
  s->lambda[0] /= c * c;
  for (int side = 0; side < 2; side++) {
    s->sum[side] *= c;
    s->square[side] *= c * c;
  }
  return STATUS_OK;
}

/* a_i + delta, b_j - delta: prod N(a_i | 0, 1 / lambda_u) prod N(b_j | 0, 1 /
 * lambda_v), so delta is normal. */
void bmf_shift_isotropic(bmf_moves *moves, const bmf_isotropic_sides *s) {
  shift_maps(
    moves, draw_normal(s->lambda[0] * s->count[0] + s->lambda[1] * s->count[1],
                       s->lambda[1] * s->sum[1] - s->lambda[0] * s->sum[0]));
}
