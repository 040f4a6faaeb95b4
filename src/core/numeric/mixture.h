/* Quantiles of a mixture, with equal weights, of the n normal distributions
 * N(mean[i], sd[i]^2). */
#ifndef GIBBSITE_MIXTURE_H
#define GIBBSITE_MIXTURE_H

#include "numeric/arena.h"
#include <stddef.h>

typedef struct {
  size_t n, whole;          /* whole: n rounded up to whole vectors     */
  double *mean, *sd;        /* whole                                    */
  double *inverse;          /* whole: 1 / sd                            */
  double least_sd, most_sd; /* of the components                        */
  double least, most;       /* means of the components                  */
  double centre, spread;    /* mean and standard deviation of the mixture */
  double skewness, excess;  /* its standardised cumulants               */
  int reflected;            /* does it hold the mixture of -x?          */
} mixture;

mixture mixture_take(arena *a, size_t n);

/* First the standard deviations (n), at least 0, which may serve for many sets of
 * means (n). */
void mixture_set_sd(mixture *m, const double *sd);
void mixture_set_mean(mixture *m, const double *mean);

/* The quantile p, 0 < p < 1, to 1e-10 of the spread; NaN if a mean or a standard
 * deviation is not finite. */
double mixture_quantile(mixture *m, double p);

#endif
