/* R-hat and effective sample sizes of one quantity (Vehtari, Gelman, Simpson,
 * Carpenter & Buerkner 2021, doi:10.1214/20-BA1221), the numbers of the R package
 * posterior up to rounding.
 *
 *   x: draws x chains, column-major.  Each chain is split into its first and last
 *   floor(draws / 2) draws; the one in the middle of an odd number is left out.
 *
 * rhat      the larger of the split R-hats of the normal scores of x and of
 *           |x - median(x)| (equations 3, 4 and section 4.2)
 * ess_bulk  effective sample size of the normal scores (equation 10)
 * ess_tail  the smaller of those of the indicators x <= q, with q the 5% and the
 *           95% quantile
 *
 * A measure that is not defined, as of a constant, is NaN. */
#ifndef GIBBSITE_CONVERGENCE_H
#define GIBBSITE_CONVERGENCE_H

#include "numeric/arena.h"
#include <stddef.h>

typedef struct {
  double value;
  size_t place; /* in the split chains; SIZE_MAX: in none */
} convergence_draw;

typedef struct {
  size_t draws, chains; /* of x                                     */
  size_t half, parts;   /* of the split chains: length, number      */
  size_t length;        /* of a Fourier transform: a power of two   */
  convergence_draw *sorted,
    *fold;               /* draws * chains                           */
  double *score;         /* 2 * half * parts: normal scores, by twice
                                    * the rank; NaN: not known yet             */
  double *series;        /* half x parts                             */
  double *real;          /* length, at least `parts`                 */
  double *imaginary;     /* length                                   */
  double *power;         /* length                                   */
  double *cosine, *sine; /* length / 2                               */
  double *covariance,
    *correlation; /* half                                    */
} convergence_work;

typedef struct {
  double rhat, ess_bulk, ess_tail;
} convergence_measures;

/* R's default quantile (type 7) between two neighbours in order; h: how far from
 * the lower one, in [0, 1). */
static inline double quantile_between(double low, double high, double h) {
  return h > 0.0 && low != high ? (1.0 - h) * low + h * high : low;
}

/* Work space for x of this size. */
convergence_work convergence_take(arena *a, size_t draws, size_t chains);

/* To be called once, when the work space has memory. */
void convergence_open(convergence_work *w);

/* x is finite.  It is multiplied by a power of two first, so that the measures do
 * not depend on its scale. */
convergence_measures convergence_measure(convergence_work *w, const double *x);

/* The effective sample size of the values themselves, and the Monte Carlo standard
 * error of their mean, sd(x) / sqrt(ess). */
typedef struct {
  double ess, mcse;
} convergence_mean;

convergence_mean convergence_of_mean(convergence_work *w, const double *x);

#endif
