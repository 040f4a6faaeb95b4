#include "numeric/rounding.h"

#include "numeric/equal.h"

#define LANES_NUMBER unsigned short
#define LANES_BITS short
#define LANES_UPTO 32
#define LANES_KERNEL "numeric/equal_kernel.h"
#include "numeric/lanes_each.h"

size_t equal_rows(size_t draws) {
  return (draws + 15) / 16 * 16;
}

/* Entries at a time: a place of the narrowest vector counts up to 32768. */
#define MOST ((size_t)262144)

static size_t count_equal(const unsigned short *a, const unsigned short *b,
                          size_t rows) {
  size_t total = 0;
  for (size_t i = 0; i < rows; i += MOST) {
    const size_t some = rows - i < MOST ? rows - i : MOST;
    total += LANES_CHOOSE(equal)(a + i, b + i, some);
  }
  return total;
}

/* Columns at a time, which stay in the cache beside all others in turn. */
#define TILE 32

void equal_shares(const unsigned short *labels, size_t draws, size_t n,
                  double *share) {
  const size_t rows = equal_rows(draws), filled = rows - draws;
  for (size_t first = 0; first < n; first += TILE) {
    const size_t end = n - first < TILE ? n : first + TILE;
    for (size_t i = 0; i < end; i++)
      for (size_t j = i > first ? i : first; j < end; j++) {
        const size_t same =
          count_equal(labels + rows * i, labels + rows * j, rows) - filled;
        share[i + n * j] = share[j + n * i] = (double)same / (double)draws;
      }
  }
}
