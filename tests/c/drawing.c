#include "drawing.h"

#include "numeric/linalg.h"

void cross_product(const double *x, size_t n, size_t d, double *gram) {
  for (size_t j = 0; j < d; j++)
    for (size_t i = j; i < d; i++)
      gram[i + d * j] = gram[j + d * i] = linalg_inner(x + n * i, x + n * j, n);
}

/* The first index whose partial sum exceeds u times the total: adding a weight
 * of zero leaves the partial sum where it was, so such an index is passed over.
 * Only rounding (of subnormal totals) can leave no such index. */
size_t draw_index(const double *weights, size_t k, double u) {
  double total = 0.0, partial = 0.0;
  size_t last = 0;
  for (size_t j = 0; j < k; j++)
    total += weights[j];
  const double threshold = u * total;
  for (size_t j = 0; j < k; j++) {
    partial += weights[j];
    if (partial > threshold)
      return j;
    if (weights[j] > 0.0)
      last = j;
  }
  return last;
}
