/* Standard normal variates, many at a time: those of R's generator, and those that
 * belong to a key.
 *
 * Those of R's make public calls faster (bench/linalg.R: processor time with
 * norm_rand() over time with these): 1.08 (4,000 draws of laplace_logistic()), 1.14
 * and 0.99 (mh_sample() of a density in C and of an R function, d = 10). */
#ifndef GIBBSITE_NORMALS_H
#define GIBBSITE_NORMALS_H

#include "numeric/rdist.h"
#include "numeric/uniforms.h"

/* out (n) <- what n calls of norm_rand() would give, from the same uniforms.
 * Where R's normal generator is that of RNGkind(normal.kind = "Inversion"), its
 * quantile function is taken of many uniforms at once; otherwise, and on 32-bit
 * x86, norm_rand() is called. */
void normals_draw(const generator *g, double *out, size_t n);

/* The normals from, from + 1, ... of the many that belong to a key: quantiles of
 * uniforms, the 2 i-th and the next of the words in block i of Philox4x32-10
 * (rdist.h).  They do not call R, and may be drawn in parallel in any order. */
void normals_keyed(philox_key key, uint64_t from, double *out, size_t n);

/* An interval as N(mean, 1) sees it: the distances of its bounds from the mean, and
 * the probabilities below them.  One above the mean is mirrored, so that it lies in
 * the lower tail. */
typedef struct {
  double low, high, below_low, below_high;
  int mirrored;
} normals_span;

/* low < high, which may be infinite. */
normals_span normals_span_of(double mean, double low, double high);

/* Normals about a mean, each between two such bounds; below: NULL, or below_low and
 * below_high of each interval in turn. */
typedef struct {
  const double *mean, *low, *high, *below;
} normals_interval;

/* out (n) <- N(mean, 1) between its bounds, however far from the mean these are.
 * Each is a function of its place among the many of a key: place[i], or from + i
 * if `place` is NULL.  By inversion of the place's uniform; far out in a tail
 * exponential variates are thinned (Robert 1995, doi:10.1007/BF00143942, sec. 2.2). */
void normals_keyed_between(philox_key key, uint64_t from, const int *place,
                           const normals_interval *at, double *out, size_t n);

#endif
