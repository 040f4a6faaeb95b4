#include "numeric/rounding.h"

#include "run/cutpoints.h"

#include <math.h>
#include <string.h>

#include "numeric/interval_normal.h"
#include "numeric/linalg.h"
#include "numeric/log_cdf.h"
#include "numeric/rmath.h"
#include "run/parts.h"

#define FREEDOM 5.0
#define PARTS 16

/* Multiplications for a response, roughly. */
#define WORK 150.0

void cutpoints_carve(cutpoints *o, arena *a) {
  const double count = (double)o->count, levels = (double)o->levels;
  const double q = levels - 1.0;
  o->eta = arena_doubles(a, count);
  o->sums = arena_doubles(a, PARTS);
  o->group_count = arena_doubles(a, CUTPOINTS_GROUPS * levels);
  o->group_eta = arena_doubles(a, CUTPOINTS_GROUPS * levels);
  o->centre = arena_doubles(a, q);
  o->trial = arena_doubles(a, q);
  o->step = arena_doubles(a, q);
  o->gradient = arena_doubles(a, q);
  o->coordinates = arena_doubles(a, q);
  o->hessian = arena_doubles(a, q * q);
  o->root = arena_doubles(a, q * q);
}

/* ---- probabilities of levels ------------------------------------------- */

/* The bounds of level `code` (from 1): theta_{c-1} and theta_c. */
typedef struct {
  double low, high;
} interval;

static interval level_bounds(const double *theta, size_t levels, size_t code) {
  const interval level = {code > 1 ? theta[code - 2] : -INFINITY,
                          code < levels ? theta[code - 1] : INFINITY};
  return level;
}

static interval bounds_of(const cutpoints *o, const double *theta,
                          size_t code) {
  return level_bounds(theta, o->levels, code);
}

/* log [Phi(high) - Phi(low)]: from logarithms where the difference is too small for a
 * double. */
static double log_of_span(const normals_span *s) {
  const double p = s->below_high - s->below_low;
  if (p > 1e-290)
    return log(p);
  const double top = pnorm(s->high, 0.0, 1.0, 1, 1);
  return s->low > -INFINITY
           ? top + log1p(-exp(pnorm(s->low, 0.0, 1.0, 1, 1) - top))
           : top;
}

static double log_between(double low, double high) {
  const normals_span s = normals_span_of(0.0, low, high);
  return log_of_span(&s);
}

static double weight_of(const cutpoints *o, size_t e) {
  return o->weight ? o->weight[e] : 1.0;
}

double cutpoints_log_probability(const cutpoints *o, const double *theta,
                                 size_t code, double eta) {
  const interval level = bounds_of(o, theta, code);
  double low = level.low - eta, high = level.high - eta;
  if (low > 0.0) {
    const double upper = -low;
    low = -high;
    high = upper;
  }
  if (low == -INFINITY)
    return log_cdf_normal(high);
  if (high == INFINITY)
    return log_cdf_normal(-low);
  const double top = log_cdf_normal(high);
  return top + log1p(-exp(log_cdf_normal(low) - top));
}

double cutpoints_draw_latent(const cutpoints *o, const double *theta,
                             size_t code, double eta) {
  const interval level = bounds_of(o, theta, code);
  return interval_normal_draw(eta, level.low, level.high);
}

/* Latent values drawn at a time. */
enum { NEAR = 512 };

void cutpoints_draw_latents(const double *theta, size_t levels, philox_key key,
                            const cutpoints_responses *of, double *z,
                            int threads) {
  const int batches = (int)((of->count + NEAR - 1) / NEAR);
  const int team = parts_team(WORK * (double)of->count, threads);
  (void)team;
#ifdef _OPENMP
#pragma omp parallel for num_threads(team) schedule(static) if (team > 1)
#endif
  for (int b = 0; b < batches; b++) {
    const size_t first = (size_t)b * NEAR, rest = of->count - first;
    const size_t n = rest < NEAR ? rest : NEAR;
    double low[NEAR], high[NEAR];
    for (size_t i = 0; i < n; i++) {
      const interval level =
        level_bounds(theta, levels, (size_t)of->code[first + i]);
      low[i] = level.low;
      high[i] = level.high;
    }
    const normals_interval at = {of->eta + first, low, high,
                                 of->below ? of->below + 2 * first : NULL};
    normals_keyed_between(key, first, of->place ? of->place + first : NULL, &at,
                          z + first, n);
  }
}

static size_t first_of_part(size_t count, size_t part) {
  return (size_t)((double)count * (double)part / PARTS);
}

double cutpoints_log_lik(const cutpoints *o, const double *theta, int threads) {
  const int team = parts_team(WORK * (double)o->count, threads);
  (void)team;
#ifdef _OPENMP
#pragma omp parallel for num_threads(team) schedule(static) if (team > 1)
#endif
  for (int part = 0; part < PARTS; part++) {
    const size_t last = first_of_part(o->count, (size_t)part + 1);
    double sum = 0.0;
    for (size_t e = first_of_part(o->count, (size_t)part); e < last; e++) {
      const interval level = bounds_of(o, theta, (size_t)o->code[e]);
      const normals_span s = normals_span_of(o->eta[e], level.low, level.high);
      sum += weight_of(o, e) * log_of_span(&s);
      if (o->below) {
        o->below[2 * e] = s.below_low;
        o->below[2 * e + 1] = s.below_high;
      }
    }
    o->sums[part] = sum;
  }
  double total = 0.0;
  for (int part = 0; part < PARTS; part++)
    total += o->sums[part];
  return total;
}

double cutpoints_log_prior(const cutpoints *o, const double *theta) {
  double total = lgammafn((double)o->levels);
  for (size_t k = 0; k + 1 < o->levels; k++)
    total += dnorm(theta[k], 0.0, o->sd, 1);
  return total;
}

/* What F has besides the log likelihood; -Inf where theta is not in order. */
static double log_other(const cutpoints *o, const double *theta) {
  double total = 0.0;
  for (size_t k = 0; k + 1 < o->levels; k++) {
    total -= 0.5 * (theta[k] / o->sd) * (theta[k] / o->sd);
    if (k > 0 && !(theta[k] > theta[k - 1]))
      return -INFINITY;
    if (k > 0)
      total += log(theta[k] - theta[k - 1]);
  }
  return total;
}

/* ---- F~ ---------------------------------------------------------------- */

/* Responses grouped by their eta; False where these are not finite. */
static int group_responses(cutpoints *o) {
  double low = INFINITY, high = -INFINITY, sum = 0.0;
  for (size_t e = 0; e < o->count; e++) {
    low = fmin(low, o->eta[e]);
    high = fmax(high, o->eta[e]);
    sum += o->eta[e];
  }
  if (!isfinite(sum))
    return 0;
  const size_t size = CUTPOINTS_GROUPS * o->levels;
  memset(o->group_count, 0, size * sizeof *o->group_count);
  memset(o->group_eta, 0, size * sizeof *o->group_eta);
  const double scale = high > low ? CUTPOINTS_GROUPS / (high - low) : 0.0;
  for (size_t e = 0; e < o->count; e++) {
    const double at = fmin((o->eta[e] - low) * scale, CUTPOINTS_GROUPS - 1.0);
    const size_t group =
      ((size_t)o->code[e] - 1) * CUTPOINTS_GROUPS + (size_t)at;
    o->group_count[group] += weight_of(o, e);
    o->group_eta[group] += weight_of(o, e) * o->eta[e];
  }
  for (size_t group = 0; group < size; group++)
    if (o->group_count[group] > 0.0)
      o->group_eta[group] /= o->group_count[group];
  return 1;
}

static double grouped_log_density(const cutpoints *o, const double *theta) {
  double total = log_other(o, theta);
  if (total == -INFINITY)
    return total;
  for (size_t group = 0; group < CUTPOINTS_GROUPS * o->levels; group++) {
    if (o->group_count[group] == 0.0)
      continue;
    const interval level = bounds_of(o, theta, group / CUTPOINTS_GROUPS + 1);
    const double eta = o->group_eta[group];
    total +=
      o->group_count[group] * log_between(level.low - eta, level.high - eta);
  }
  return total;
}

/* Those of n log [Phi(theta_c - eta) - Phi(theta_{c-1} - eta)], c = code: with l and
 * h its bounds, and a = phi(h) / P, b = phi(l) / P, the derivatives by theta_c and
 * theta_{c-1} are a and -b, -h a - a^2 and l b - b^2, and a b for both. */
static void add_group(cutpoints *o, const double *theta, size_t code,
                      double eta, double n) {
  const size_t q = o->levels - 1;
  const interval level = bounds_of(o, theta, code);
  const double low = level.low - eta, high = level.high - eta;
  const double log_p = log_between(low, high);
  const double a = exp(dnorm(high, 0.0, 1.0, 1) - log_p);
  const double b = exp(dnorm(low, 0.0, 1.0, 1) - log_p);
  if (code <= q) {
    o->gradient[code - 1] += n * a;
    o->hessian[(code - 1) * (q + 1)] += n * (high * a + a * a);
  }
  if (code > 1) {
    o->gradient[code - 2] -= n * b;
    o->hessian[(code - 2) * (q + 1)] += n * (b * b - low * b);
  }
  if (code > 1 && code <= q) {
    o->hessian[(code - 2) * q + code - 1] -= n * a * b;
    o->hessian[(code - 1) * q + code - 2] -= n * a * b;
  }
}

/* Gradient of F~ in theta, and minus its Hessian. */
static void differentiate(cutpoints *o, const double *theta) {
  const size_t q = o->levels - 1;
  memset(o->hessian, 0, q * q * sizeof *o->hessian);
  for (size_t k = 0; k < q; k++) {
    o->gradient[k] = -theta[k] / (o->sd * o->sd);
    o->hessian[k * (q + 1)] = 1.0 / (o->sd * o->sd);
  }
  for (size_t k = 1; k < q; k++) {
    const double inverse = 1.0 / (theta[k] - theta[k - 1]);
    o->gradient[k] += inverse;
    o->gradient[k - 1] -= inverse;
    o->hessian[k * (q + 1)] += inverse * inverse;
    o->hessian[(k - 1) * (q + 1)] += inverse * inverse;
    o->hessian[(k - 1) * q + k] -= inverse * inverse;
    o->hessian[k * q + k - 1] -= inverse * inverse;
  }
  for (size_t group = 0; group < CUTPOINTS_GROUPS * o->levels; group++)
    if (o->group_count[group] > 0.0)
      add_group(o, theta, group / CUTPOINTS_GROUPS + 1, o->group_eta[group],
                o->group_count[group]);
}

/* Cutpoints that give the levels' shares, half a response more each, if eta were
 * normal with its mean and variance. */
static void first_centre(cutpoints *o) {
  const double levels = (double)o->levels;
  double count = 0.0, mean = 0.0, square = 0.0, below = 0.0;
  for (size_t group = 0; group < CUTPOINTS_GROUPS * o->levels; group++)
    count += o->group_count[group];
  for (size_t group = 0; group < CUTPOINTS_GROUPS * o->levels; group++)
    mean += o->group_count[group] * o->group_eta[group] / count;
  for (size_t group = 0; group < CUTPOINTS_GROUPS * o->levels; group++) {
    const double away = o->group_eta[group] - mean;
    square += o->group_count[group] * away * away / count;
  }
  for (size_t k = 0; k + 1 < o->levels; k++) {
    below += 0.5;
    for (size_t group = 0; group < CUTPOINTS_GROUPS; group++)
      below += o->group_count[k * CUTPOINTS_GROUPS + group];
    o->centre[k] =
      mean + sqrt(1.0 + square) *
               qnorm(below / (count + 0.5 * levels), 0.0, 1.0, 1, 0);
  }
}

/* step <- (minus Hessian)^-1 gradient at the centre; *decrement their product. */
static status newton_step(cutpoints *o, double *decrement) {
  const size_t q = o->levels - 1;
  differentiate(o, o->centre);
  memcpy(o->root, o->hessian, q * q * sizeof *o->root);
  memcpy(o->step, o->gradient, q * sizeof *o->step);
  const status outcome = linalg_cholesky(o->root, q);
  if (outcome != STATUS_OK)
    return outcome;
  linalg_solve_lower(o->root, q, o->step);
  linalg_solve_lower_transposed(o->root, q, o->step);
  *decrement = linalg_inner(o->step, o->gradient, q);
  return STATUS_OK;
}

/* The maximum of F~ by Newton's method, steps halved until F~ grows. */
static status find_centre(cutpoints *o) {
  const size_t q = o->levels - 1;
  first_centre(o);
  double decrement = INFINITY;
  for (int turn = 0; turn < 100 && decrement > 1e-20; turn++) {
    const status outcome = newton_step(o, &decrement);
    if (outcome != STATUS_OK)
      return outcome;
    const double before = grouped_log_density(o, o->centre);
    double length = 1.0;
    for (int half = 0; half < 60; half++, length *= 0.5) {
      for (size_t k = 0; k < q; k++)
        o->trial[k] = o->centre[k] + length * o->step[k];
      /* near the maximum the growth is lost in rounding */
      if (decrement < 1e-8 ||
          grouped_log_density(o, o->trial) >= before + 0.1 * length * decrement)
        break;
    }
    memcpy(o->centre, o->trial, q * sizeof *o->centre);
  }
  return STATUS_OK;
}

/* ---- the proposal ------------------------------------------------------ */

static void to_coordinates(const double *theta, size_t q, double *a) {
  for (size_t k = 0; k < q; k++)
    a[k] = k == 0 ? theta[0] : log(theta[k] - theta[k - 1]);
}

/* M = J' H J, H minus the Hessian of F~ in theta at its maximum, where the gradient
 * is 0; d theta_k / d a_j is 1 for j = 1 and theta_j - theta_{j-1} for 1 < j <= k. */
static status factor_spread(cutpoints *o) {
  const size_t q = o->levels - 1;
  differentiate(o, o->centre);
  double *m = o->root;
  for (size_t j = q; j-- > 0;)
    for (size_t i = q; i-- > 0;)
      m[i + q * j] = o->hessian[i + q * j] +
                     (i + 1 < q ? m[i + 1 + q * j] : 0.0) +
                     (j + 1 < q ? m[i + q * (j + 1)] : 0.0) -
                     (i + 1 < q && j + 1 < q ? m[i + 1 + q * (j + 1)] : 0.0);
  to_coordinates(o->centre, q, o->coordinates);
  for (size_t j = 0; j < q; j++)
    for (size_t i = 0; i < q; i++)
      m[i + q * j] *= (i > 0 ? exp(o->coordinates[i]) : 1.0) *
                      (j > 0 ? exp(o->coordinates[j]) : 1.0);
  return linalg_cholesky(m, q);
}

/* log t_5(a | a^, M^-1) without its constant, a those of theta. */
static double log_proposal(const cutpoints *o, const double *theta,
                           double *work) {
  const size_t q = o->levels - 1;
  double square = 0.0;
  to_coordinates(theta, q, work);
  for (size_t j = 0; j < q; j++) {
    double sum = 0.0;
    for (size_t i = j; i < q; i++)
      sum += o->root[i + q * j] * (work[i] - o->coordinates[i]);
    square += sum * sum;
  }
  return -0.5 * (FREEDOM + (double)q) * log1p(square / FREEDOM);
}

static void propose(cutpoints *o, double *theta) {
  const size_t q = o->levels - 1;
  double *e = o->step;
  for (size_t k = 0; k < q; k++)
    e[k] = norm_rand();
  linalg_solve_lower_transposed(o->root, q, e);
  const double scale = sqrt(FREEDOM / rchisq(FREEDOM));
  for (size_t k = 0; k < q; k++) {
    const double a = o->coordinates[k] + scale * e[k];
    theta[k] = k == 0 ? a : theta[k - 1] + exp(a);
  }
}

status cutpoints_draw(cutpoints *o, double *theta, int threads) {
  const size_t q = o->levels - 1;
  if (!o->known)
    o->log_lik = cutpoints_log_lik(o, theta, threads);
  if (!group_responses(o))
    return STATUS_NOT_FINITE;
  status outcome = find_centre(o);
  if (outcome == STATUS_OK)
    outcome = factor_spread(o);
  if (outcome != STATUS_OK)
    return outcome;
  propose(o, o->trial);
  const double log_lik = cutpoints_log_lik(o, o->trial, threads);
  const double ratio = log_lik + log_other(o, o->trial) - o->log_lik -
                       log_other(o, theta) + log_proposal(o, theta, o->step) -
                       log_proposal(o, o->trial, o->step);
  o->accepted = log(unif_rand()) < ratio;
  if (o->accepted)
    memcpy(theta, o->trial, q * sizeof *theta);
  return STATUS_OK;
}

double cutpoints_shift(const cutpoints *o, double *theta, double precision,
                       double linear) {
  const size_t q = o->levels - 1;
  for (size_t k = 0; k < q; k++) {
    precision += 1.0 / (o->sd * o->sd);
    linear -= theta[k] / (o->sd * o->sd);
  }
  const double delta = linear / precision + norm_rand() / sqrt(precision);
  for (size_t k = 0; k < q; k++)
    theta[k] += delta;
  return delta;
}
