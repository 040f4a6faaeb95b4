#include "numeric/rounding.h"

#include "run/slice.h"

#include <math.h>

#include "numeric/rmath.h"

double slice_step(slice_log_density log_density, const void *data, double x) {
  const double height = log_density(data, x) + log(unif_rand());
  /* a state that has left the range of numbers: its sampler says so */
  if (isnan(height))
    return x;
  double left = x - unif_rand(), right = left + 1.0;
  while (log_density(data, left) > height)
    left -= 1.0;
  while (log_density(data, right) > height)
    right += 1.0;
  for (;;) {
    const double proposal = left + unif_rand() * (right - left);
    if (log_density(data, proposal) >= height)
      return proposal;
    if (proposal < x)
      left = proposal;
    else
      right = proposal;
  }
}
