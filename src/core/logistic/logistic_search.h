/* The search for the maximum of the log joint density of logistic.h: Newton's
 * method, or gradient ascent, which the caller chooses. */
#ifndef GIBBSITE_LOGISTIC_SEARCH_H
#define GIBBSITE_LOGISTIC_SEARCH_H

#include "logistic/logistic.h"

typedef enum { LOGISTIC_NEWTON, LOGISTIC_GRADIENT } logistic_method;

typedef enum {
  LOGISTIC_CONVERGED,
  LOGISTIC_LIMIT,      /* the iterations allowed were not enough            */
  LOGISTIC_STALLED,    /* no step raises L, and the maximum is not reached  */
  LOGISTIC_SINGULAR,   /* minus the Hessian has no Cholesky factor          */
  LOGISTIC_INTERRUPTED /* the stop callback answered yes                    */
} logistic_outcome;

typedef struct {
  logistic_method method;
  size_t limit;        /* most iterations                                   */
  int share;           /* whether `share` is asked for                      */
  double tolerance;    /* on the distance to the maximum, in posterior sds  */
  int (*stop)(void *); /* may be NULL                                       */
  void *stop_data;
} logistic_control;

typedef struct {
  logistic_outcome outcome;
  size_t iterations;
  double log_joint; /* L at the maximum                                     */
  double distance;  /* to it before the last step, in posterior sds         */
  double share;     /* smallest share of the curvature that a column could
                       have which the columns before it, and saturated
                       observations, leave to it; 1 unless asked for        */
} logistic_result;

/* Doubles of work that logistic_search() needs. */
size_t logistic_search_size(size_t p);

/* Moves w (p) from where it is to the maximum; factor (p x p) <- L, L L' =
 * minus the Hessian there, upper triangle zero; trace (limit + 1) <- L before
 * the first iteration and after each one. */
logistic_result logistic_search(const logistic_data *data,
                                const logistic_control *control, double *w,
                                double *factor, double *trace, double *work);

#endif
