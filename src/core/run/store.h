/* Draws of the factors of a factorisation, stored for prediction: recorded draw
 * number t is stored where t is a multiple of `every` (0: none is), in place t /
 * every - 1 of `factors` (those of the users, then those of the items, in single
 * precision) and of `hypers` (what else a prediction needs, by the model).  Places
 * of earlier runs are NULL. */
#ifndef GIBBSITE_STORE_H
#define GIBBSITE_STORE_H

#include <math.h>
#include <stddef.h>

typedef struct {
  double every;
  float **factors;
  double **hypers;
} draw_store;

/* The least power of 2 of which at most `most` (>= 1) multiples are in 1..kept. */
static inline double store_every(double kept, size_t most) {
  double every = 1.0;
  while (floor(kept / every) > (double)most)
    every *= 2.0;
  return every;
}

/* Whether the kept-th recorded draw is stored; *place <- where. */
static inline int store_selects(const draw_store *store, double kept,
                                size_t *place) {
  if (store->every <= 0.0 || fmod(kept, store->every) != 0.0)
    return 0;
  *place = (size_t)(kept / store->every) - 1;
  return 1;
}

static inline void store_single(const double *x, size_t length, float *to) {
  for (size_t e = 0; e < length; e++)
    to[e] = (float)x[e];
}

#endif
