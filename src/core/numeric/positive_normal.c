/* Normal variates until one is positive, if the mean is.  Else, with a = -mean, by
 * rejection from the exponential distribution with rate r = (a + sqrt(a^2 + 4)) / 2,
 * which is accepted most often (Robert 1995, doi:10.1007/BF00143942, sec. 2.2): z is
 * accepted with probability exp(-(z + a - r)^2 / 2), and r - a = 1 / r. */
#include "numeric/rounding.h"

#include "numeric/positive_normal.h"

#include <math.h>

#include "numeric/rmath.h"

static double draw_beyond(double a) {
  const double rate = 0.5 * (a + hypot(a, 2.0));
  for (;;) {
    const double e = exp_rand(), away = (e - 1.0) / rate;
    if (unif_rand() < exp(-0.5 * away * away))
      return e / rate;
  }
}

double positive_normal_draw(double mean) {
  if (!(mean > 0.0))
    return draw_beyond(-mean);
  for (;;) {
    const double z = mean + norm_rand();
    if (z > 0.0)
      return z;
  }
}
