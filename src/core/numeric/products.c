#include "numeric/rounding.h"

#include "numeric/products.h"

#define LANES_UPTO 32
#define LANES_KERNEL "numeric/products_kernel.h"
#include "numeric/lanes_each.h"

/* Draws at a time, whose coefficients stay in the nearest cache. */
#define TILE 256

void products_predictors(const double *x, size_t n, size_t p, const double *w,
                         size_t draws, const double *offset, double *out) {
  for (size_t s = 0; s < draws; s += TILE) {
    const size_t count = draws - s < TILE ? draws - s : TILE;
    for (size_t i = 0; i < n; i++)
      LANES_CHOOSE(row)
    (w + s, draws, count, x + i, n, p, offset ? offset[i] : 0.0,
     out + draws * i + s);
  }
}
