#include "numeric/rounding.h"

#include "numeric/columns.h"

#include <math.h>

#include "numeric/dense.h"

/* ---- compressed matrices ---------------------------------------------------- */

/* All starts before any index, since they say where the indices are. */
static compressed_fault check_starts(const compressed *x, size_t *place) {
  *place = 0;
  if (x->start[0] != 0)
    return COMPRESSED_BEGIN;
  for (size_t j = 1; j <= x->groups; j++)
    if (x->start[j] < x->start[j - 1]) {
      *place = j;
      return COMPRESSED_FALLS;
    }
  *place = x->groups;
  return (size_t)x->start[x->groups] == x->stored ? COMPRESSED_SOUND
                                                  : COMPRESSED_END;
}

compressed_fault compressed_check(const compressed *x, size_t *place) {
  const compressed_fault fault = check_starts(x, place);
  if (fault != COMPRESSED_SOUND)
    return fault;
  for (size_t e = 0; e < x->stored; e++)
    if (x->index[e] < 0 || (size_t)x->index[e] >= x->limit) {
      *place = e;
      return COMPRESSED_LIMIT;
    }
  for (size_t j = 0; x->rising && j < x->groups; j++)
    for (size_t e = (size_t)x->start[j] + 1; e < (size_t)x->start[j + 1]; e++)
      if (x->index[e] <= x->index[e - 1]) {
        *place = e;
        return COMPRESSED_ORDER;
      }
  return COMPRESSED_SOUND;
}

/* ---- one column --------------------------------------------------------------- */

/* The column when all n rows count, in one pass of sums around v_0.  A second
 * pass is taken where cancellation is large: where v_0 is far from the mean.  A
 * number that is not finite leaves no finite sum. */
static column_summary describe_whole(const double *v, size_t n) {
  const dense_moments sums = dense_sum_around(v, n, v[0]);
  column_summary column = {v[0] + sums.change / (double)n, 0.0, sums.square, 1};
  column.finite = isfinite(sums.square) && isfinite(sums.spread);
  const double shift = sums.change * (sums.change / (double)n);
  /* all the same, or by less than can be squared: left to the caller */
  if (!column.finite || !(sums.spread > 0.0))
    return column;
  const double left = sums.spread - shift > 1e-3 * sums.spread
                        ? sums.spread - shift
                        : dense_sum_around(v, n, column.mean).spread;
  column.sd = sqrt(left / (double)(n - 1));
  return column;
}

static int does_count(const double *counts, const int *row, size_t e) {
  return counts == NULL || counts[row ? (size_t)row[e] : e] > 0.0;
}

static size_t rows_that_count(const double *counts, size_t n) {
  size_t used = 0;
  for (size_t i = 0; i < n; i++)
    used += counts == NULL || counts[i] > 0.0;
  return used;
}

column_summary columns_describe(const double *values, const int *row,
                                size_t stored, const double *counts, size_t n) {
  if (counts == NULL && row == NULL && n > 0) {
    const column_summary whole = describe_whole(values, n);
    if (whole.finite && whole.sd > 0.0)
      return whole;
  }
  column_summary column = {0.0, 0.0, 0.0, 1};
  const size_t used = rows_that_count(counts, n);
  double sum = 0.0, low = INFINITY, high = -INFINITY, spread = 0.0;
  size_t met = 0;
  for (size_t e = 0; e < stored; e++) {
    const double v = values[e];
    if (!isfinite(v))
      column.finite = 0;
    if (!does_count(counts, row, e))
      continue;
    sum += v;
    column.squares += v * v;
    low = v < low ? v : low;
    high = v > high ? v : high;
    met++;
  }
  if (used == 0)
    return column;
  column.mean = sum / (double)used;
  if (met < used) {
    low = low < 0.0 ? low : 0.0;
    high = high > 0.0 ? high : 0.0;
  }
  /* all the same: rounding must not make that a spread, or shift the mean */
  if (!(low < high)) {
    column.mean = low;
    return column;
  }
  for (size_t e = 0; e < stored; e++)
    if (does_count(counts, row, e))
      spread += (values[e] - column.mean) * (values[e] - column.mean);
  spread += (double)(used - met) * column.mean * column.mean;
  column.sd = sqrt(spread / (double)(used - 1));
  /* it varies, but by less than can be squared */
  if (!(column.sd > 0.0))
    column.sd = high - low;
  return column;
}
