/* PG(1, c) = J / 4, J ~ J*(1, z), z = |c| / 2, by Devroye's method (Polson, Scott
 * & Windle 2013, sec. 4; Devroye 2009, doi:10.1016/j.spl.2009.07.028).  The
 * density of J*(1, z) is
 *
 *   f(x) = cosh(z) exp(-z^2 x / 2) sum_n (-1)^n a_n(x)
 *   a_n(x) = pi (n + 1/2) (2 / (pi x))^(3/2) exp(-2 (n + 1/2)^2 / x)   x <= t
 *   a_n(x) = pi (n + 1/2) exp(-(n + 1/2)^2 pi^2 x / 2)                 x >  t
 *
 * whose partial sums lie above and below it in turn.  The proposal has the density
 * of the first term: up to t inverse Gaussian with mean 1/z and shape 1, above t
 * exponential with rate K = pi^2/8 + z^2/2.  It is accepted with probability
 * f / first term = 1 - a_1/a_0 + a_2/a_0 - ..., which is never below 0.99. */
#include "numeric/rounding.h"

#include "numeric/polya_gamma.h"

#include <math.h>

#include "numeric/rmath.h"

#define SPLIT 0.64

/* Above it the exponential part has a probability below 1e-100. */
#define LARGE_TILT 30.0

typedef struct {
  double z;
  double rate;  /* K */
  double right; /* probability of the exponential part */
} jacobi;

/* Phi(x) without loss of digits in the lower tail. */
static double normal_cdf(double x) {
  return 0.5 * erfc(-x * sqrt(0.5));
}

/* Masses: pi / (2K) exp(-K t), and 2 exp(-z) P(IG(1/z, 1) <= t). */
static jacobi open_jacobi(double tilt) {
  jacobi j = {0.5 * fabs(tilt), 0.0, 0.0};
  j.rate = 0.125 * M_PI * M_PI + 0.5 * j.z * j.z;
  if (j.z > LARGE_TILT)
    return j;
  const double root = sqrt(1.0 / SPLIT);
  const double right = 0.5 * M_PI / j.rate * exp(-j.rate * SPLIT);
  const double left =
    2.0 * (exp(-j.z) * normal_cdf(root * (SPLIT * j.z - 1.0)) +
           exp(j.z) * normal_cdf(-root * (SPLIT * j.z + 1.0)));
  j.right = right / (left + right);
  return j;
}

/* IG(1/z, 1) below t for a mean 1/z above t: one over a chi-squared variate with
 * one degree of freedom, below t (the tail of a normal by two exponentials), and
 * thinned by exp(-z^2 x / 2). */
static double draw_left_wide(double z) {
  for (;;) {
    double e1, e2;
    do {
      e1 = exp_rand();
      e2 = exp_rand();
    } while (e1 * e1 > 2.0 * e2 / SPLIT);
    const double under = 1.0 + SPLIT * e1;
    const double x = SPLIT / (under * under);
    if (unif_rand() <= exp(-0.5 * z * z * x))
      return x;
  }
}

/* The same for a mean below t: drawn whole until it is below t (Michael, Schucany &
 * Haas 1976, doi:10.1080/00031305.1976.10479147).  x is the smaller root of their
 * equation, in a form in which nothing cancels. */
static double draw_left_narrow(double z) {
  const double mean = 1.0 / z;
  for (;;) {
    const double normal = norm_rand();
    const double half = 0.5 * mean * normal * normal;
    const double x = mean / (1.0 + half + sqrt(2.0 * half + half * half));
    const double other = mean * (mean / x);
    const double drawn = unif_rand() <= mean / (mean + x) ? x : other;
    if (drawn <= SPLIT)
      return drawn;
  }
}

/* Is u below 1 - a_1/a_0 + a_2/a_0 - ... ?  a_n/a_0 = (2n + 1) s^(n (n + 1)). */
static int accepted(double x, double u) {
  if (u < 0.99)
    return 1;
  const double log_s = x <= SPLIT ? -2.0 / x : -0.5 * M_PI * M_PI * x;
  double sum = 1.0;
  for (double n = 1.0;; n += 1.0) {
    const double term = (2.0 * n + 1.0) * exp(log_s * n * (n + 1.0));
    const int below = fmod(n, 2.0) > 0.5;
    sum += below ? -term : term;
    if (below ? u <= sum : u > sum)
      return below;
  }
}

static double draw_jacobi(const jacobi *j) {
  for (;;) {
    double x;
    if (j->right > 0.0 && unif_rand() < j->right)
      x = SPLIT + exp_rand() / j->rate;
    else
      x = j->z * SPLIT < 1.0 ? draw_left_wide(j->z) : draw_left_narrow(j->z);
    if (accepted(x, unif_rand()))
      return x;
  }
}

double polya_gamma_draw(size_t trials, double tilt) {
  const jacobi j = open_jacobi(tilt);
  double sum = 0.0;
  for (size_t i = 0; i < trials; i++)
    sum += draw_jacobi(&j);
  return 0.25 * sum;
}
