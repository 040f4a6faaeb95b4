/* Independent draws from a normal distribution that is given by its mean and the
 * factor of its precision:  w = m + L^-T e ~ N(m, (L L')^-1),  e ~ N(0, I)
 * (Paisley, E6892 lecture 3, eq. 6-12: the Laplace approximation).
 *
 *   mean m    p
 *   factor L  p x p, lower triangular
 *
 * A draw is a sweep.  Normals come from R's generator, p a draw; LAPLACE_AHEAD
 * draws are made at a time, since L is read once for all of them, and wait in the
 * state until their sweep comes. */
#ifndef GIBBSITE_LAPLACE_H
#define GIBBSITE_LAPLACE_H

#include <stddef.h>

#include "run/scan.h"

#define LAPLACE_AHEAD 8

typedef struct {
  size_t p;
  const double *mean, *factor;
  double *w;     /* p: the state                                         */
  double *ahead; /* LAPLACE_AHEAD x p: draws to come; NULL: one at a time */
  double *used;  /* how many of them have been                           */
} laplace_model;

status laplace_sweep(void *model, const scan_control *control);
void laplace_record(void *model, double *row, size_t stride);

#endif
