#include "numeric/rounding.h"

#include "numeric/mixture.h"

#include <math.h>
#include <string.h>

#include "numeric/rmath.h"

/* Most of the time of a prediction's interval is spent here. */
#define LANES_FUSED 1
#define LANES_UPTO 32
#define LANES_KERNEL "numeric/mixture_kernel.h"
#include "numeric/lanes_each.h"

mixture mixture_take(arena *a, size_t n) {
  const size_t whole = (n + 7) / 8 * 8;
  mixture m = {.n = n, .whole = whole};
  m.mean = arena_doubles(a, (double)whole);
  m.sd = arena_doubles(a, (double)whole);
  m.inverse = arena_doubles(a, (double)whole);
  return m;
}

/* The last vector is filled up with sd 0 and inverse 1, and with a mean that adds
 * nothing to the sums: the centre for moments, and one beyond every q. */
static void fill_means(mixture *m, double filler) {
  for (size_t i = m->n; i < m->whole; i++)
    m->mean[i] = filler;
}

#define BEYOND 1e300

void mixture_set_sd(mixture *m, const double *sd) {
  m->least_sd = INFINITY;
  m->most_sd = 0.0;
  for (size_t i = 0; i < m->n; i++) {
    m->sd[i] = sd[i];
    m->inverse[i] = 1.0 / sd[i] < BEYOND ? 1.0 / sd[i] : BEYOND;
    m->least_sd = sd[i] < m->least_sd ? sd[i] : m->least_sd;
    m->most_sd = sd[i] > m->most_sd ? sd[i] : m->most_sd;
  }
  for (size_t i = m->n; i < m->whole; i++) {
    m->sd[i] = 0.0;
    m->inverse[i] = 1.0;
  }
}

void mixture_set_mean(mixture *m, const double *mean) {
  double sums[3];
  memcpy(m->mean, mean, m->n * sizeof *mean);
  LANES_CHOOSE(range)(m->mean, m->n, sums);
  m->least = sums[1];
  m->most = sums[2];
  m->reflected = 0;
  m->centre = sums[0] / (double)m->n;
  fill_means(m, m->centre);
  LANES_CHOOSE(moments)(m->mean, m->sd, m->whole, m->centre, sums);
  fill_means(m, BEYOND);
  const double variance = sums[0] / (double)m->n;
  m->spread = sqrt(variance);
  m->skewness = sums[1] / (double)m->n / (variance * m->spread);
  m->excess = sums[2] / (double)m->n / (variance * variance) - 3.0;
}

/* The mixture of -x. */
static void reflect(mixture *m) {
  const double least = m->least;
  for (size_t i = 0; i < m->n; i++)
    m->mean[i] = -m->mean[i];
  m->least = -m->most;
  m->most = -least;
  m->centre = -m->centre;
  m->skewness = -m->skewness;
  m->reflected = !m->reflected;
}

/* Cornish and Fisher's expansion about the normal quantile z, where the cumulants
 * are small enough for it. */
static double first_guess(const mixture *m, double z) {
  const double g1 = m->skewness, g2 = m->excess, z2 = z * z;
  double w = z;
  if (fabs(g1) < 0.5 && fabs(g2) < 0.5)
    w += (z2 - 1.0) * g1 / 6.0 + z * (z2 - 3.0) * g2 / 24.0 -
         z * (2.0 * z2 - 5.0) * g1 * g1 / 36.0;
  return m->centre + w * m->spread;
}

/* f <- F(q) - p and the first four derivatives of F, the mixture's distribution
 * function, at q. */
static void derivatives(const mixture *m, double p, double q, double *f) {
  LANES_CHOOSE(sums)(m->mean, m->inverse, m->whole, q, f);
  for (int k = 0; k < 5; k++)
    f[k] *= (k > 0 ? M_1_SQRT_2PI : 1.0) / (double)m->n;
  f[0] -= p;
}

/* The step to the root, by the inverse of the Taylor series, whose first term is
 * Newton's step u; what is left out is of the order u^5. */
static double series_step(const double *f, double u) {
  const double a2 = f[2] / (2.0 * f[1]), a3 = f[3] / (6.0 * f[1]),
               a4 = f[4] / (24.0 * f[1]);
  const double c3 = 2.0 * a2 * a2 - a3, c4 = 5.0 * a2 * (a3 - a2 * a2) - a4;
  return u * (1.0 + u * (-a2 + u * (c3 + u * c4)));
}

/* p <= 1/2.  The root lies between the least and the largest of the components'
 * quantiles.  A step out of what is known to hold it halves that; so does every
 * step from the 40th on, where components of sd 0 make jumps.  The series has
 * terms of the order (u reach)^k. */
static double lower_quantile(const mixture *m, double p) {
  const double z = qnorm(p, 0.0, 1.0, 1, 0);
  if (!isfinite(z))
    return z;
  const double reach = (1.0 - z) / m->least_sd;
  double low = m->least + z * m->most_sd, high = m->most + z * m->least_sd;
  const double narrow = 1e-12 * fmin(m->spread, high - low);
  double q = fmin(fmax(first_guess(m, z), low), high), f[5];
  for (int step = 0; step < 200; step++) {
    derivatives(m, p, q, f);
    if (f[0] == 0.0)
      break;
    *(f[0] > 0.0 ? &high : &low) = q;
    const double u = -f[0] / f[1], next = q + series_step(f, u);
    if (fabs(u) * reach <= 1e-2)
      return next;
    if (step < 40 && next > low && next < high)
      q = next;
    else
      q = low + (high - low) / 2.0;
    if (high - low <= narrow)
      break;
  }
  return q;
}

double mixture_quantile(mixture *m, double p) {
  if (!isfinite(m->centre) || !isfinite(m->most_sd) || isnan(m->spread))
    return NAN;
  if (m->n == 1)
    return m->mean[0] + qnorm(p, 0.0, 1.0, 1, 0) * m->sd[0];
  const int upper = p > 0.5;
  if (upper != m->reflected)
    reflect(m);
  return upper ? -lower_quantile(m, 1.0 - p) : lower_quantile(m, p);
}
