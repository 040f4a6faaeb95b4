/* Quantiles of mixtures, with equal weights, of t distributions: of n kinds, each with
 * its degrees of freedom, at any places.  The distribution function of a kind comes
 * from polynomials of degree 5 between knots 1/16 apart, with its value, its density
 * and the density's slope at both knots; they are filled when they are first needed.
 * The difference from pt() is below 1e-10, and below 1e-9 with fewer than one degree
 * of freedom (0.2 at least). */
#ifndef GIBBSITE_T_MIXTURE_H
#define GIBBSITE_T_MIXTURE_H

#include <stddef.h>

#include "numeric/arena.h"
#include "numeric/quintic.h"

#define T_MIXTURE_CELLS 16 /* in a unit */
#define T_MIXTURE_WIDTH 10 /* of the table, from 0 */

typedef struct {
  size_t n;
  const double *nu; /* n */
  quintic *cells;   /* CELLS WIDTH of each kind, NaN until filled */
} t_mixture;

t_mixture t_mixture_take(arena *a, size_t n);

/* nu (n) must stay. */
void t_mixture_open(t_mixture *m, const double *nu);

/* P(T > z) for z >= 0 and the density at z, of kind s. */
void t_mixture_tail(t_mixture *m, size_t s, double z, double *tail,
                    double *density);

/* The quantile p, 0 < p < 1, of the components mean[k] + scale sd[k mod n] T, where T
 * is of kind k mod n, and k < n points: by Newton's method from `guess` until a step is
 * below `near`, which is a small part of the standard deviations; NaN if it fails. */
double t_mixture_quantile(t_mixture *m, double p, const double *mean,
                          size_t points, const double *sd, double scale,
                          double guess, double near);

#endif
