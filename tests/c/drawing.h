/* What tests make of the core's routines: products of its factors, and indices
 * drawn by weights. */
#ifndef GIBBSITE_TESTS_DRAWING_H
#define GIBBSITE_TESTS_DRAWING_H

#include <stddef.h>

/* gram (d x d, full symmetric) <- x'x;  x: n x d. */
void cross_product(const double *x, size_t n, size_t d, double *gram);

/* Index in 0..k-1 with probability weights[j] / sum(weights), by one given
 * uniform u in (0, 1): the number of partial sums (from left to right) that are
 * <= u * total, capped at the last index with positive weight.  The weights
 * are not negative and their sum is positive and finite. */
size_t draw_index(const double *weights, size_t k, double u);

#endif
