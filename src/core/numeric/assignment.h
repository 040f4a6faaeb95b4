/* The assignment problem: each row its own column, the sum of the weights as large
 * as possible, by shortest augmenting paths (Jonker & Volgenant 1987,
 * doi:10.1007/BF02278710). */
#ifndef GIBBSITE_ASSIGNMENT_H
#define GIBBSITE_ASSIGNMENT_H

#include "numeric/arena.h"
#include <stddef.h>
#include <stdint.h>

typedef struct {
  int64_t *row_price, *column_price, *distance; /* n       */
  uint32_t *column_of, *row_of, *before;        /* n       */
  unsigned char *done;                          /* n       */
} assignment_work;

/* Work space for problems of size n, n < 2^20. */
assignment_work assignment_take(arena *a, size_t n);

/* weight: n x n, row after row.  row_of[j]: the row that gets column j.  Of
 * equally good solutions it is one with the most rows in the column of their own
 * number. */
void assignment_solve(const uint32_t *weight, size_t n, assignment_work *work,
                      uint32_t *row_of);

#endif
