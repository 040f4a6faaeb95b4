/* What a column of a design matrix is like: its mean, standard deviation and
 * sum of squares over the rows that count. */
#ifndef GIBBSITE_COLUMNS_H
#define GIBBSITE_COLUMNS_H

#include <stddef.h>

typedef struct {
  double mean, sd; /* sd: with n - 1; 0 when the column does not vary */
  double squares;  /* sum of squares                                  */
  int finite;      /* no NaN and no infinity, in any row              */
} column_summary;

/* values: `stored` numbers, in rows row[0], row[1], ... (row NULL: 0, 1, ...);
 * rows that are not stored are zero.  Row i of n counts where counts[i] > 0;
 * counts NULL: every row. */
column_summary columns_describe(const double *values, const int *row,
                                size_t stored, const double *counts, size_t n);

#endif
