/* One bound: positive_normal.h.  Two, a and b from the mean (Robert 1995,
 * doi:10.1007/BF00143942, sec. 2.3): if the interval is narrow uniform variates are
 * thinned; else variates without the farther bound are drawn until one lies below
 * it.  Each way is taken only where it accepts at least half. */
#include "numeric/rounding.h"

#include "numeric/interval_normal.h"

#include <math.h>

#include "numeric/positive_normal.h"
#include "numeric/rmath.h"

static double draw_normal(double a, double b) {
  for (;;) {
    const double z = norm_rand();
    if (z > a && z < b)
      return z;
  }
}

/* exp(-(z^2 - nearest^2) / 2), nearest the point of [a, b] closest to 0 */
static double draw_uniform(double a, double b) {
  const double nearest = a > 0.0 ? a : (b < 0.0 ? b : 0.0);
  for (;;) {
    const double z = a + (b - a) * unif_rand();
    if (unif_rand() < exp(0.5 * (nearest - z) * (nearest + z)))
      return z;
  }
}

/* 0 < a */
static double draw_tail(double a, double b) {
  for (;;) {
    const double away = positive_normal_draw(-a);
    if (away < b - a)
      return a + away;
  }
}

/* N(0, 1) between a and b, both finite */
static double draw_between(double a, double b) {
  if (a <= 0.0 && b >= 0.0)
    return b - a > 2.5 ? draw_normal(a, b) : draw_uniform(a, b);
  if (b < 0.0)
    return -draw_between(-b, -a);
  const double rate = 0.5 * (a + hypot(a, 2.0));
  return (b - a) * rate > 1.5 ? draw_tail(a, b) : draw_uniform(a, b);
}

double interval_normal_draw(double mean, double low, double high) {
  if (!isfinite(low) && !isfinite(high))
    return mean + norm_rand();
  if (!isfinite(low))
    return high - positive_normal_draw(high - mean);
  if (!isfinite(high))
    return low + positive_normal_draw(mean - low);
  const double z = mean + draw_between(low - mean, high - mean);
  return fmin(fmax(z, low), high); /* the sum is rounded */
}
