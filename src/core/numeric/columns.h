/* Columns of a matrix: whether those of a compressed one are what they should
 * be, and what a column of a design is like: its mean, standard deviation and
 * sum of squares over the rows that count. */
#ifndef GIBBSITE_COLUMNS_H
#define GIBBSITE_COLUMNS_H

#include <stddef.h>

/* A compressed matrix, by columns (or by rows): group j has the entries
 * start[j], ..., start[j + 1] - 1, and entry e is in row index[e]. */
typedef struct {
  const int *start; /* groups + 1 */
  size_t groups;
  const int *index; /* `stored` */
  size_t stored;
  size_t limit; /* indices are below it                                */
  int rising;   /* within a group they rise: each row at most once     */
} compressed;

typedef enum {
  COMPRESSED_SOUND,
  COMPRESSED_BEGIN, /* start[0] is not 0                             */
  COMPRESSED_FALLS, /* start[*place] is below the one before         */
  COMPRESSED_END,   /* the last start is not the number of entries   */
  COMPRESSED_LIMIT, /* index[*place] is out of range                 */
  COMPRESSED_ORDER  /* index[*place] is not above the one before     */
} compressed_fault;

/* The first fault in that order, before which nothing is read that `stored` and
 * `groups` do not allow; *place counts from 0. */
compressed_fault compressed_check(const compressed *x, size_t *place);

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
