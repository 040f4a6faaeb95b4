#include "numeric/rounding.h"

#include "bmf/bmf_model.h"

#include <math.h>
#include <string.h>

#include "numeric/linalg.h"
#include "numeric/rdist.h"
#include "numeric/rmath.h"

/* ---- hyperparameters ---------------------------------------------------- */

/* log Gamma(x | shape, rate) */
double bmf_log_gamma_density(double x, double shape, double rate) {
  return shape * log(rate) - lgammafn(shape) + (shape - 1.0) * log(x) -
         rate * x;
}

/* Gamma(shape, rate), or its mode (0 where the density falls from there on). */
static double draw_gamma(const bmf_model *m, double shape, double rate) {
  if (m->mode)
    return shape > 1.0 ? (shape - 1.0) / rate : 0.0;
  return rgamma(shape, 1.0 / rate); /* R's second argument is the scale */
}

/* In four independent partial sums. */
double bmf_sum_squares(const double *x, size_t length) {
  double sum[4] = {0.0, 0.0, 0.0, 0.0};
  size_t i = 0;
  for (; i + 4 <= length; i += 4)
    for (size_t lane = 0; lane < 4; lane++)
      sum[lane] += x[i + lane] * x[i + lane];
  for (size_t lane = 0; i < length; i++, lane++)
    sum[lane] += x[i] * x[i];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* lambda_u | u ~ Gamma(a + n d / 2, b + sum_i u_i'u_i / 2), items alike (Rai,
 * CS772A).  Fixed: nothing to draw. */
static void draw_lambda(bmf_model *m, const bmf_side *side) {
  const bmf_prior *prior = &m->data.prior;
  const size_t length = side->rows * m->data.d;
  const double half = 0.5 * (double)length;
  const int drawn = prior->kind == BMF_GAMMA;
  if (!drawn && !m->recording)
    return;
  const double square = bmf_sum_squares(side->factors, length);
  if (drawn)
    *side->lambda = draw_gamma(m, prior->shape[side->which] + half,
                               prior->rate[side->which] + 0.5 * square);
  if (!m->recording)
    return;
  m->log_prior +=
    half * (log(*side->lambda) - LOG_2PI) - 0.5 * *side->lambda * square;
  if (drawn)
    m->log_prior += bmf_log_gamma_density(
      *side->lambda, prior->shape[side->which], prior->rate[side->which]);
}

/* Sums over the rows of a side about the current mean: m->grams (its first one) <-
 * those of bmf_add_gram(). */
static void sum_rows(bmf_model *m, const bmf_side *side, int threads) {
  const size_t d = m->data.d, size = bmf_square_size(d), rows = side->rows;
  const int parts = (int)parts_count(rows, ROWS);
  const double work = bmf_row_work(d, (double)rows);
  const int team = parts > 1 ? parts_team(work, threads) : 1;
  (void)team;
#ifdef _OPENMP
#pragma omp parallel for num_threads(team) schedule(dynamic) if (team > 1)
#endif
  for (int part = 0; part < parts; part++) {
    const parts_range own = parts_of(rows, ROWS, part);
    double *gram = m->grams + (size_t)part * size;
    memset(gram, 0, size * sizeof *gram);
    bmf_add_gram(side->factors + own.first * d, own.count, d, side->mu, gram,
                 m->areas + (size_t)parts_thread() * bmf_area_size(d));
  }
  for (size_t part = 1; part < (size_t)parts; part++)
    for (size_t e = 0; e < size; e++)
      m->grams[e] += m->grams[part * size + e];
}

/* What the hyperparameters of a side are drawn from: the mean of its rows (d), and
 * sum (x - mean)(x - mean)' (d x d, both triangles). */
static void side_moments(bmf_model *m, const bmf_side *side, int threads,
                         double *mean, double *scatter) {
  const size_t d = m->data.d, stride = bmf_stride(d);
  const double count = (double)side->rows;
  sum_rows(m, side, threads);
  for (size_t j = 0; j < d; j++)
    for (size_t i = j; i < d; i++) {
      const double si = m->grams[d + i * stride], sj = m->grams[d + j * stride];
      scatter[i + d * j] = m->grams[i + j * stride] - si * sj / count;
      scatter[j + d * i] = scatter[i + d * j];
    }
  for (size_t j = 0; j < d; j++)
    mean[j] = side->mu[j] + m->grams[d + j * stride] / count;
}

/* (x - y)' Q (x - y) */
static double quadratic(const double *q, size_t d, const double *x,
                        const double *y) {
  double total = 0.0;
  for (size_t j = 0; j < d; j++) {
    double sum = 0.0;
    for (size_t i = 0; i < d; i++)
      sum += q[i + d * j] * (x[i] - y[i]);
    total += sum * (x[j] - y[j]);
  }
  return total;
}

/* tr(A B) of symmetric matrices. */
static double trace_of_product(const double *a, const double *b, size_t d) {
  double sum = 0.0;
  for (size_t e = 0; e < d * d; e++)
    sum += a[e] * b[e];
  return sum;
}

/* log N(rows | mu, Lambda^-1) + log N(mu | mu0, (kappa0 Lambda)^-1) +
 * log W(Lambda | nu0, W0). */
static double log_wishart_side(const bmf_model *m, const bmf_side *side,
                               const double *mean, const double *scatter) {
  const bmf_prior *prior = &m->data.prior;
  const size_t d = m->data.d;
  const double n = (double)side->rows, size = (double)d;
  const double log_det = m->log_det[side->which], nu0 = prior->nu0;
  const double *lambda = side->precision;
  const double rows = 0.5 * n * (log_det - size * LOG_2PI) -
                      0.5 * (trace_of_product(lambda, scatter, d) +
                             n * quadratic(lambda, d, mean, side->mu));
  const double centre =
    0.5 * (size * (log(prior->kappa0) - LOG_2PI) + log_det -
           prior->kappa0 * quadratic(lambda, d, side->mu, prior->mu0));
  double log_constant = 0.5 * nu0 * (size * M_LN2 + prior->w0_log_det) +
                        0.25 * size * (size - 1.0) * log(M_PI);
  for (size_t j = 0; j < d; j++)
    log_constant += lgammafn(0.5 * (nu0 - (double)j));
  const double spread = 0.5 * (nu0 - size - 1.0) * log_det -
                        0.5 * trace_of_product(prior->w0_inverse, lambda, d) -
                        log_constant;
  return rows + centre + spread;
}

/* Lambda ~ W(df, W*) from r = W*^-1 (r <- R, r = R R'; m->matrix[2] <- Bartlett's
 * A, A A' ~ W(df, I)):  Lambda = M M' with M = R^-T A.  The mode: (df - d) W* with
 * mu, whose density has |Lambda|^(1 / 2), and p rows more with p features. */
static status draw_precision(bmf_model *m, const bmf_side *side, double df,
                             double *r) {
  const size_t d = m->data.d;
  double *a = m->matrix[2], *product = m->matrix[3];
  const status outcome = linalg_cholesky(r, d);
  if (outcome != STATUS_OK)
    return outcome;
  if (m->mode) {
    const double p = bmf_has_features(side) ? (double)side->features->p : 0.0;
    memset(a, 0, d * d * sizeof *a);
    for (size_t j = 0; j < d; j++)
      a[j + d * j] = sqrt(df - (double)d + p);
  } else {
    rdist_bartlett(df, d, a);
  }
  memcpy(product, a, d * d * sizeof *a);
  for (size_t j = 0; j < d; j++)
    linalg_solve_lower_transposed(r, d, product + d * j);
  linalg_outer_gram(product, d, side->precision);
  m->log_det[side->which] =
    linalg_log_determinant(a, d) - linalg_log_determinant(r, d);
  return STATUS_OK;
}

/* e (d) ~ N(0, Lambda^-1), as R A^-T times normals; the mode: 0. */
static void draw_deviation(const bmf_model *m, const double *r, double *e) {
  const size_t d = m->data.d;
  for (size_t j = 0; j < d; j++)
    e[j] = m->mode ? 0.0 : norm_rand();
  linalg_solve_lower_transposed(m->matrix[2], d, e);
  linalg_lower_times_vector(r, d, e, e);
}

/* Lambda | rows ~ W(nu0 + n, W*), mu | Lambda, rows ~ N(mu*, (kappa* Lambda)^-1):
 *   W*^-1 = W0^-1 + S + kappa0 n / (kappa0 + n) (xbar - mu0)(xbar - mu0)',
 *   kappa* = kappa0 + n,  mu* = (kappa0 mu0 + n xbar) / kappa*,
 * S = sum (x - xbar)(x - xbar)', centred (Salakhutdinov & Mnih 2008, eq. 14).
 * Their joint mode: mu = mu*, Lambda = (nu0 + n - d) W*. */
static status draw_wishart(bmf_model *m, const bmf_side *side, int threads) {
  const bmf_prior *prior = &m->data.prior;
  const size_t d = m->data.d;
  const double n = (double)side->rows, kappa = prior->kappa0 + n;
  double *scatter = m->matrix[0], *r = m->matrix[1];
  double *mean = m->vector[0], *e = m->vector[1];
  side_moments(m, side, threads, mean, scatter);
  for (size_t j = 0; j < d; j++)
    for (size_t i = 0; i < d; i++)
      r[i + d * j] = prior->w0_inverse[i + d * j] + scatter[i + d * j] +
                     prior->kappa0 * n / kappa * (mean[i] - prior->mu0[i]) *
                       (mean[j] - prior->mu0[j]);
  const status outcome = draw_precision(m, side, prior->nu0 + n, r);
  if (outcome != STATUS_OK)
    return outcome;
  draw_deviation(m, r, e);
  for (size_t j = 0; j < d; j++)
    side->mu[j] = (prior->kappa0 * prior->mu0[j] + n * mean[j]) / kappa +
                  e[j] / sqrt(kappa);
  if (m->recording)
    m->log_prior += log_wishart_side(m, side, mean, scatter);
  return STATUS_OK;
}

/* ---- coefficients of features ------------------------------------------- */

/* The rows less B'f_i, in m->shift. */
static bmf_side residual_side(bmf_model *m, const bmf_side *side, int threads) {
  bmf_side rest = *side;
  bmf_add_features(m, side, side->factors, side->coefficients, -1.0, threads);
  rest.factors = m->shift;
  return rest;
}

/* The regression of the rows about the current mu and B (bmf_features.h):
 * m->spare[0] <- B~, m->spare[1] <- cross, linear (d), r <- W*^-1.  Returned:
 * kappa*. */
static double reduce_side(bmf_model *m, const bmf_side *side, int threads,
                          double *linear, double *r) {
  const bmf_prior *prior = &m->data.prior;
  const size_t d = m->data.d, stride = bmf_stride(d);
  const bmf_features *f = side->features;
  double *rotated = m->spare[0], *cross = m->spare[1];
  const bmf_side rest = residual_side(m, side, threads);
  sum_rows(m, &rest, threads);
  for (size_t j = 0; j < d; j++)
    for (size_t i = j; i < d; i++) {
      r[i + d * j] = prior->w0_inverse[i + d * j] + m->grams[i + j * stride] +
                     prior->kappa0 * (prior->mu0[i] - side->mu[i]) *
                       (prior->mu0[j] - side->mu[j]);
      r[j + d * i] = r[i + d * j];
    }
  for (size_t j = 0; j < d; j++)
    linear[j] =
      m->grams[d + j * stride] + prior->kappa0 * (prior->mu0[j] - side->mu[j]);
  bmf_features_cross(f, side->rows, rest.factors, side->mu, d, rotated);
  bmf_features_rotate(f, rotated, d, 0, cross);
  bmf_features_rotate(f, side->coefficients, d, 0, rotated);
  return bmf_features_reduce(f, *side->ridge,
                             prior->kappa0 + (double)side->rows, rotated, d,
                             cross, linear, r);
}

/* sum_k b_k' Lambda b_k */
static double sum_of_coefficients(const bmf_model *m, const bmf_side *side) {
  const size_t d = m->data.d;
  double total = 0.0;
  memset(m->vector[1], 0, d * sizeof *m->vector[1]);
  for (size_t k = 0; k < side->features->p; k++)
    total +=
      quadratic(side->precision, d, side->coefficients + d * k, m->vector[1]);
  return total;
}

/* lambda_B | B, Lambda ~ Gamma(shape + p d / 2, rate + sum_k b_k'Lambda b_k / 2),
 * and the log density of B and lambda_B. */
static void draw_ridge(bmf_model *m, const bmf_side *side) {
  const bmf_features *f = side->features;
  const double p = (double)f->p, half = 0.5 * p * (double)m->data.d;
  const double square = sum_of_coefficients(m, side);
  if (bmf_draws_ridge(f))
    *side->ridge = draw_gamma(m, f->shape + half, f->rate + 0.5 * square);
  if (!m->recording)
    return;
  m->log_prior += half * (log(*side->ridge) - LOG_2PI) +
                  0.5 * p * m->log_det[side->which] -
                  0.5 * *side->ridge * square;
  if (bmf_draws_ridge(f))
    m->log_prior += bmf_log_gamma_density(*side->ridge, f->shape, f->rate);
}

/* Lambda, mu and B given the rows and lambda_B, jointly, by bmf_features_reduce();
 * then lambda_B.  Their joint mode: Lambda = (nu0 + n - d + p) W*. */
static status draw_with_features(bmf_model *m, const bmf_side *side,
                                 int threads) {
  const size_t d = m->data.d;
  const bmf_features *f = side->features;
  double *r = m->matrix[1], *linear = m->vector[0], *e = m->vector[1];
  double *rotated = m->spare[0];
  const double kappa = reduce_side(m, side, threads, linear, r);
  const status outcome =
    draw_precision(m, side, m->data.prior.nu0 + (double)side->rows, r);
  if (outcome != STATUS_OK)
    return outcome;
  draw_deviation(m, r, e);
  for (size_t j = 0; j < d; j++) {
    linear[j] = linear[j] / kappa + e[j] / sqrt(kappa);
    side->mu[j] += linear[j];
  }
  for (size_t k = 0; k < f->p; k++) {
    const double weight = f->s[k] + *side->ridge;
    draw_deviation(m, r, e);
    for (size_t j = 0; j < d; j++)
      rotated[j + d * k] +=
        (m->spare[1][j + d * k] - f->g[k] * linear[j]) / weight +
        e[j] / sqrt(weight);
  }
  bmf_features_rotate(f, rotated, d, 1, side->coefficients);
  draw_ridge(m, side);
  if (m->recording) {
    const bmf_side rest = residual_side(m, side, threads);
    side_moments(m, &rest, threads, m->vector[0], m->matrix[0]);
    m->log_prior += log_wishart_side(m, side, m->vector[0], m->matrix[0]);
  }
  return STATUS_OK;
}

status bmf_draw_hyperparameters(bmf_model *m, int which, int threads) {
  const bmf_side side = bmf_side_of(m, which);
  if (bmf_has_features(&side))
    return draw_with_features(m, &side, threads);
  if (m->data.prior.kind == BMF_WISHART)
    return draw_wishart(m, &side, threads);
  draw_lambda(m, &side);
  return STATUS_OK;
}

/* ---- the precision of the ratings --------------------------------------- */

/* beta | u, v, r ~ Gamma(e + N / 2, f + sum (r_ij - u_i'v_j)^2 / 2), N ratings. */
void bmf_draw_beta(bmf_model *m) {
  const bmf_prior *prior = &m->data.prior;
  double square = 0.0;
  for (size_t j = 0; j < m->data.m; j++)
    square += m->squares[j];
  m->square = square / *m->state.rating_precision;
  if (bmf_has_known_precision(&m->data))
    return;
  *m->state.rating_precision =
    draw_gamma(m, prior->shape[2] + 0.5 * bmf_rating_count(&m->data),
               prior->rate[2] + 0.5 * m->square);
}
