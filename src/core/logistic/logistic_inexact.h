/* The way to the maximum of a logistic regression by inexact Newton steps
 * (Nocedal & Wright 2006, ch. 7, doi:10.1007/978-0-387-40065-5): Newton's
 * equations
 *   -L''(w) v = L'(w)
 * are solved by conjugate gradients, each of which takes two passes over X in
 * place of the n p^2 operations of a Hessian and the p^3 / 3 of its factor.
 * They are preconditioned by the factor at an earlier w, which is made anew
 * when the conjugate gradients since have cost as much as a factor does.
 * newton() in logistic.c goes on from where this ends, at the maximum nearly
 * always, and judges it by an exact solution. */
#ifndef GIBBSITE_LOGISTIC_INEXACT_H
#define GIBBSITE_LOGISTIC_INEXACT_H

#include <stddef.h>

#include "logistic/logistic.h"

/* Whether a factor costs so many times as much as a conjugate gradient that the
 * search is to begin like this.  control->price: how many, for tests. */
int logistic_inexact_pays(const logistic_data *data,
                          const logistic_control *control);

/* Doubles of work that logistic_approach() needs. */
size_t logistic_inexact_size(const logistic_data *data);

typedef struct {
  size_t iterations;
  int stopped; /* by control->stop */
} logistic_way;

/* Moves w to the maximum, or as near as it can; fills trace with L before the
 * first iteration and after each.  factor (p x p) is work too. */
logistic_way logistic_approach(const logistic_data *data,
                               const logistic_control *control, double *w,
                               double *factor, double *trace, double *work);

#endif
