/* The mean of a logistic function of a normal variable:
 *
 *   mean(m, s) = E sigma(m + s Z),  sigma(x) = 1 / (1 + exp(-x)),  Z ~ N(0, 1),
 *
 * the probability that a logistic regression predicts when x'w ~ N(m, s^2).
 *
 * The logistic distribution is a scale mixture of normals (Andrews & Mallows
 * 1974, doi:10.1111/j.2517-6161.1974.tb00989.x; Stefanski 1991,
 * doi:10.1016/0167-7152(91)90181-P):
 *
 *   sigma(x) = int Phi(x / v) g(v) dv,   V = 2 K, K ~ Kolmogorov,         (1)
 *
 * and a normal mixed over a normal is normal, so that
 *
 *   mean(m, s) = int Phi(m / sqrt(v^2 + s^2)) g(v) dv.                    (2)
 *
 * Both integrals are taken by one rule with fixed nodes and positive weights.
 * Let e(x) be what the rule leaves of (1) at x.  What it leaves of (2) is
 * E e(m + s Z), and therefore at most sup |e|, whatever m and s, and relative to
 * mean(m, s) at most sup |e / sigma|: one function of one variable bounds the
 * error everywhere.  tests/c/test_logistic_mean.c finds sup |e| below 1e-14 and
 * sup |e / sigma| below 1e-12 on x > -700. */
#ifndef GIBBSITE_LOGISTIC_MEAN_H
#define GIBBSITE_LOGISTIC_MEAN_H

#include <stddef.h>

/* The trapezoidal rule in t, v = 2 log(1 + exp(t / 2)), with step 0.28 from -3.36:
 * g falls off as exp(-pi^2 / (2 v^2)) below and exp(-v^2 / 2) above. */
enum { LOGISTIC_MEAN_NODES = 132 };

typedef struct {
  double scale[LOGISTIC_MEAN_NODES];  /* v, increasing         */
  double weight[LOGISTIC_MEAN_NODES]; /* g(v) dv/dt times step */
} logistic_mean_rule;

void logistic_mean_open(logistic_mean_rule *rule);

/* mean(m, s); s >= 0, else NaN. */
double logistic_mean(const logistic_mean_rule *rule, double m, double s);

/* d mean / dm = E sigma'(m + s Z).  With it Var sigma(m + s Z) =
 * mean (1 - mean) - slope, for sigma' = sigma - sigma^2. */
double logistic_mean_slope(const logistic_mean_rule *rule, double m, double s);

/* The linear predictor x'w of one observation under w ~ N(map, (L L')^-1) is
 * normal with mean x'map and standard deviation |L^-1 x|.
 *   x    p numbers, `stride` apart     map   p
 *   L    p x p, lower triangular       work  p */
typedef struct {
  size_t p;
  const double *map, *factor;
} logistic_posterior;

void logistic_moments(const logistic_posterior *w, const double *x,
                      size_t stride, double *work, double *mean, double *sd);

#endif
