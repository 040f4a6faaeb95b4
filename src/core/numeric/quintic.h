/* Polynomials of degree 5 between two knots of a function, with its values and its
 * first two derivatives at both (quintic Hermite interpolation). */
#ifndef GIBBSITE_QUINTIC_H
#define GIBBSITE_QUINTIC_H

/* A function and its first two derivatives at a knot. */
typedef struct {
  double value, slope, bend;
} quintic_knot;

/* sum_k c_k t^k, t from 0 at the left knot to 1 at the right one. */
typedef struct {
  double c[6];
} quintic;

/* h: the distance of the knots. */
static inline quintic quintic_between(quintic_knot left, quintic_knot right,
                                      double h) {
  const double rise = right.value - left.value;
  const double d0 = h * left.slope, d1 = h * right.slope;
  const double s0 = 0.5 * h * h * left.bend, s1 = 0.5 * h * h * right.bend;
  return (quintic){{left.value, d0, s0,
                    10.0 * rise - 6.0 * d0 - 4.0 * d1 - 3.0 * s0 + s1,
                    -15.0 * rise + 8.0 * d0 + 7.0 * d1 + 3.0 * s0 - 2.0 * s1,
                    6.0 * rise - 3.0 * (d0 + d1) - s0 + s1}};
}

static inline double quintic_at(const quintic *q, double t) {
  const double *c = q->c;
  return c[0] + t * (c[1] + t * (c[2] + t * (c[3] + t * (c[4] + t * c[5]))));
}

/* Its derivative with respect to t. */
static inline double quintic_slope(const quintic *q, double t) {
  const double *c = q->c;
  return c[1] + t * (2.0 * c[2] +
                     t * (3.0 * c[3] + t * (4.0 * c[4] + t * 5.0 * c[5])));
}

#endif
