/* In how many draws two observations have the same label. */
#ifndef GIBBSITE_EQUAL_H
#define GIBBSITE_EQUAL_H

#include <stddef.h>

/* Draws, rounded up to whole vectors. */
size_t equal_rows(size_t draws);

/* labels: equal_rows(draws) x n, of which the rows from `draws` on have one number
 * for all; share: n x n, symmetric, of the draws. */
void equal_shares(const unsigned short *labels, size_t draws, size_t n,
                  double *share);

#endif
