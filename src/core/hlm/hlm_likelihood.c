#include "numeric/rounding.h"

#include "hlm/hlm_likelihood.h"

#include <math.h>

#include "numeric/log_cdf.h"
#include "numeric/rmath.h"

void hlm_likelihood_open(hlm_likelihood *rows, double *known) {
  log_cdf_open();
  rows->known = known;
  for (size_t i = 0; i < rows->n; i++)
    known[i] = rows->type == HLM_NEGBINOMIAL ? lgammafn(rows->y[i] + 1.0)
                                             : log(rows->y[i]);
}

/* ---- a row -------------------------------------------------------------------------- */

double hlm_weight(const hlm_likelihood *rows, size_t i) {
  return rows->weights ? rows->weights[i] : 1.0;
}

/* Poisson rows: y (d - expm1(d)), d = eta - log y */
double hlm_log_row(const hlm_likelihood *rows, size_t i, double eta) {
  const double y = rows->y[i], v = hlm_weight(rows, i);
  if (rows->type == HLM_POISSON) {
    const double d = eta - rows->known[i];
    return v * (y > 0.0 ? y * (d - expm1(d)) : -exp(eta));
  }
  if (rows->type == HLM_NEGBINOMIAL)
    return v * log_trials_logistic(y, rows->size, eta - rows->log_size);
  const double f = rows->failures[i];
  return v * (rows->type == HLM_LOGIT ? log_trials_logistic(y, f, eta)
                                      : log_trials_normal(y, f, eta));
}

/* ---- derivatives ------------------------------------------------------------------- */

static hlm_derivatives of_logit(double y, double f, double t) {
  const double small = exp(-fabs(t));
  const double share = (t > 0.0 ? 1.0 : small) / (1.0 + small);
  return (hlm_derivatives){y - (y + f) * share,
                           (y + f) * small / (1.0 + small) / (1.0 + small)};
}

/* Of log Phi(t): g = phi(t) / Phi(t), and g (g + t).  In the lower tail
 * g = x + 1/x - 2/x^3 + 10/x^5 - ..., x = -t. */
static hlm_derivatives of_log_normal(double t) {
  if (t < -30.0) {
    const double s = 1.0 / (t * t);
    const double above = (1.0 - s * (2.0 - s * (10.0 - 74.0 * s))) / -t;
    return (hlm_derivatives){above - t, (above - t) * above};
  }
  const double g = exp(-0.5 * t * t - M_LN_SQRT_2PI - log_cdf_normal(t));
  return (hlm_derivatives){g, g * (g + t)};
}

static hlm_derivatives of_probit(double y, double f, double t) {
  const hlm_derivatives above = of_log_normal(t), below = of_log_normal(-t);
  return (hlm_derivatives){y * above.slope - f * below.slope,
                           y * above.bend + f * below.bend};
}

static hlm_derivatives of_row(const hlm_likelihood *rows, size_t i,
                              double eta) {
  const double y = rows->y[i];
  switch (rows->type) {
  case HLM_POISSON: {
    const double mean = exp(eta);
    return (hlm_derivatives){y - mean, mean};
  }
  case HLM_NEGBINOMIAL:
    return of_logit(y, rows->size, eta - rows->log_size);
  case HLM_LOGIT:
    return of_logit(y, rows->failures[i], eta);
  default:
    return of_probit(y, rows->failures[i], eta);
  }
}

hlm_derivatives hlm_differentiate(const hlm_likelihood *rows, size_t i,
                                  double eta) {
  const hlm_derivatives one = of_row(rows, i, eta);
  const double v = hlm_weight(rows, i);
  return (hlm_derivatives){v * one.slope, v * one.bend};
}

int hlm_is_self_concordant(const hlm_likelihood *rows) {
  return rows->type != HLM_PROBIT;
}

int hlm_is_at_edge(const hlm_likelihood *rows, const int *row, size_t count) {
  int no_y = 1, no_failures = rows->failures != NULL;
  for (size_t at = 0; at < count; at++) {
    const size_t i = (size_t)row[at];
    no_y = no_y && !(rows->y[i] > 0.0);
    no_failures = no_failures && !(rows->failures[i] > 0.0);
  }
  return count > 0 && (no_y || no_failures);
}

/* ---- rough estimates ---------------------------------------------------------------- */

/* Times (1 + sum y) / (1 + sum of means). */
static void expect_counts(const hlm_likelihood *rows, const int *row,
                          size_t count, double *mean) {
  double counts = 1.0, means = 1.0;
  for (size_t at = 0; at < count; at++) {
    const size_t i = (size_t)row[at];
    mean[i] = exp(mean[i]);
    counts += hlm_weight(rows, i) * rows->y[i];
    means += hlm_weight(rows, i) * mean[i];
  }
  for (size_t at = 0; at < count; at++)
    mean[row[at]] *= counts / means;
}

static double share_of(const hlm_likelihood *rows, double eta) {
  return rows->type == HLM_LOGIT ? 1.0 / (1.0 + exp(-eta))
                                 : pnorm(eta, 0.0, 1.0, 1, 0);
}

/* eta with F(eta) : F(-eta) = y : f */
static double eta_of_odds(const hlm_likelihood *rows, double y, double f) {
  if (rows->type == HLM_LOGIT)
    return log(y / f);
  return y < f ? qnorm(y / (y + f), 0.0, 1.0, 1, 0)
               : -qnorm(f / (y + f), 0.0, 1.0, 1, 0);
}

/* Half a success and half a failure are added, so that the odds are finite.  A round
 * moves the intercept by the difference between the eta of these odds and that of the
 * odds of the rows' means.  It does not move too far: the second eta changes by less
 * than the intercept. */
static void expect_trials(const hlm_likelihood *rows, const int *row,
                          size_t count, double *eta) {
  enum { ROUNDS = 20 };
  double y = 0.5, f = 0.5, shift = 0.0;
  for (size_t at = 0; at < count; at++) {
    y += rows->y[row[at]];
    f += rows->failures[row[at]];
  }
  const double wanted = eta_of_odds(rows, y, f);
  for (int round = 0; round < ROUNDS; round++) {
    double hits = 0.0, misses = 0.0;
    for (size_t at = 0; at < count; at++) {
      const size_t i = (size_t)row[at];
      const double trials = rows->y[i] + rows->failures[i];
      /* the shares of the probit link end at 1e-197 */
      const double here = fmax(-30.0, fmin(30.0, eta[i] + shift));
      hits += trials * share_of(rows, here);
      misses += trials * share_of(rows, -here);
    }
    const double step = wanted - eta_of_odds(rows, hits, misses);
    if (!(fabs(step) > 0.05))
      break;
    shift += step;
  }
  for (size_t at = 0; at < count; at++) {
    const size_t i = (size_t)row[at];
    eta[i] = of_row(rows, i, eta[i] + shift).bend;
  }
}

void hlm_expect(const hlm_likelihood *rows, const int *row, size_t count,
                double *mean) {
  if (rows->type == HLM_LOGIT || rows->type == HLM_PROBIT)
    expect_trials(rows, row, count, mean);
  else
    expect_counts(rows, row, count, mean);
}

double hlm_rough_bend(const hlm_likelihood *rows, size_t i, double mean) {
  return hlm_weight(rows, i) * (rows->type == HLM_NEGBINOMIAL
                                  ? mean / (1.0 + mean / rows->size)
                                  : mean);
}

/* ---- the likelihood ----------------------------------------------------------------- */

/* log Gamma(a) - (a - 1/2) log a + a - log(2 pi) / 2, a >= 10 */
static double stirling_error(double a) {
  const double s = 1.0 / (a * a);
  return (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s / 1680.0))) / a;
}

/* log of Gamma(y + r) / (Gamma(r) y!); factorial: log y!.  Where y or r is large the
 * large terms are taken off before. */
static double log_ways(double y, double r, double log_r, double factorial) {
  if (y < 64.0) {
    double sum = y * log_r - factorial, product = 1.0;
    for (double k = 1.0; k < y; k += 1.0) {
      product *= 1.0 + k / r;
      if (product > 1e150) {
        sum += log(product);
        product = 1.0;
      }
    }
    return sum + log(product);
  }
  if (y > r)
    return (y + 0.5) * log1p((r - 1.0) / (y + 1.0)) +
           (r - 1.0) * (log(y + r) - 1.0) + stirling_error(y + r) -
           stirling_error(y + 1.0) - lgammafn(r);
  return (y + r - 0.5) * log1p(y / r) + y * log_r - y + stirling_error(y + r) -
         stirling_error(r) - factorial;
}

double hlm_log_of_size(const hlm_likelihood *rows, const double *eta,
                       double log_size) {
  const double size = exp(log_size);
  double sum = rows->constant;
  for (size_t i = 0; i < rows->n; i++) {
    const double y = rows->y[i];
    sum +=
      hlm_weight(rows, i) * (log_ways(y, size, log_size, rows->known[i]) +
                             log_trials_logistic(y, size, eta[i] - log_size));
  }
  return sum;
}

double hlm_log_likelihood(const hlm_likelihood *rows, const double *eta) {
  if (rows->type == HLM_NEGBINOMIAL)
    return hlm_log_of_size(rows, eta, rows->log_size);
  double sum = rows->constant;
  for (size_t i = 0; i < rows->n; i++)
    sum += hlm_log_row(rows, i, eta[i]);
  return sum;
}
