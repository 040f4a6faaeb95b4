/* Densities of three coordinates that can be drawn from, with their gradients:
 * one on the line, and one between bounds. */
#ifndef GIBBSITE_TEST_MH_TARGETS_H
#define GIBBSITE_TEST_MH_TARGETS_H

#include <math.h>

#include "mh/mh.h"
#include "numeric/rmath.h"

enum { D = 3 };

/* x_1 ~ N(0, 1.5^2), x_2 ~ N(0.4 x_1^2 - 0.9, 1), x_3 ~ N(0.5 x_2, 0.8^2) */
static int bent(void *context, const double *x, double *value) {
  const double second = x[1] - 0.4 * x[0] * x[0] + 0.9;
  const double third = (x[2] - 0.5 * x[1]) / 0.8;
  (void)context;
  *value = -0.5 * (x[0] * x[0] / 2.25 + second * second + third * third);
  return 0;
}

static int bent_slope(void *context, const double *x, double *slope) {
  const double second = x[1] - 0.4 * x[0] * x[0] + 0.9;
  const double third = (x[2] - 0.5 * x[1]) / 0.64;
  (void)context;
  slope[0] = -x[0] / 2.25 + 0.8 * x[0] * second;
  slope[1] = -second + 0.5 * third;
  slope[2] = -third;
  return 0;
}

static void draw_bent(double *x) {
  x[0] = 1.5 * norm_rand();
  x[1] = 0.4 * x[0] * x[0] - 0.9 + norm_rand();
  x[2] = 0.5 * x[1] + 0.8 * norm_rand();
}

/* x_1 - 1 ~ Gamma(3, 1), 2 - x_2 ~ Gamma(2.5, 2), (x_3 + 1) / 4 ~ Beta(2, 3), each
 * moved to the line. */
static const double lower[D] = {1.0, -INFINITY, -1.0};
static const double upper[D] = {INFINITY, 2.0, 3.0};
static const int maps[D] = {MH_ABOVE, MH_BELOW, MH_BETWEEN};

static int bounded(void *context, const double *x, double *value) {
  (void)context;
  *value = 2.0 * log(x[0] - 1.0) - (x[0] - 1.0) + 1.5 * log(2.0 - x[1]) -
           2.0 * (2.0 - x[1]) + log(x[2] + 1.0) + 2.0 * log(3.0 - x[2]);
  return 0;
}

static int bounded_slope(void *context, const double *x, double *slope) {
  (void)context;
  slope[0] = 2.0 / (x[0] - 1.0) - 1.0;
  slope[1] = 2.0 - 1.5 / (2.0 - x[1]);
  slope[2] = 1.0 / (x[2] + 1.0) - 2.0 / (3.0 - x[2]);
  return 0;
}

static void draw_bounded(double *x) {
  const double a = rgamma(2.0, 1.0), b = rgamma(3.0, 1.0);
  x[0] = log(rgamma(3.0, 1.0));
  x[1] = log(rgamma(2.5, 0.5));
  x[2] = log(a / b);
}

static const int coordinates[D] = {0, 1, 2};

/* Where a chain is, and how to draw where it is from the density. */
typedef struct {
  void (*draw)(double *x);
  double x[D], point[D], value[2], slope[D + 1], nan_count, sweep;
  int keep[D];
} target_chain;

/* The density with its gradient and bounds, for a chain at `at`.  Blocks and rows
 * drawn ahead are not set. */
static mh_model target_model(target_chain *at, int has_bounds) {
  at->draw = has_bounds ? draw_bounded : draw_bent;
  return (mh_model){.d = D,
                    .log_density = has_bounds ? bounded : bent,
                    .gradient = has_bounds ? bounded_slope : bent_slope,
                    .map = has_bounds ? maps : NULL,
                    .lower = has_bounds ? lower : NULL,
                    .upper = has_bounds ? upper : NULL,
                    .x = at->x,
                    .point = at->point,
                    .value = at->value,
                    .slope = at->slope,
                    .nan_count = &at->nan_count,
                    .sweep = &at->sweep,
                    .keep = at->keep};
}

#endif
