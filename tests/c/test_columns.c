/* compressed_check(): every fault of a compressed matrix is found where it is,
 * and nothing beyond the arrays is read on the way (they are as long as they say,
 * so that the sanitizer would tell). */
#include "numeric/columns.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

void test_columns(void);

static int *copy_of(const int *x, size_t n) {
  int *copy = malloc((n > 0 ? n : 1) * sizeof *copy);
  if (copy == NULL)
    abort();
  if (n > 0)
    memcpy(copy, x, n * sizeof *copy);
  return copy;
}

/* The fault, and the place where it should be, of 3 groups of indices below 4. */
static int is_found(const int *start, const int *index, size_t stored,
                    int rising, compressed_fault fault, size_t where) {
  int *starts = copy_of(start, 4), *indices = copy_of(index, stored);
  const compressed x = {starts, 3, indices, stored, 4, rising};
  size_t place = 99;
  const compressed_fault found = compressed_check(&x, &place);
  free(starts);
  free(indices);
  return found == fault && (fault == COMPRESSED_SOUND || place == where);
}

#define FOUND(start, index, stored, fault, where) \
  EXPECT(                                         \
    is_found((const int[])start, (const int[])index, stored, 1, fault, where))
#define LIST(...) \
  { __VA_ARGS__ }

static void test_sound(void) {
  FOUND(LIST(0, 2, 2, 4), LIST(0, 3, 1, 2), 4, COMPRESSED_SOUND, 0);
  FOUND(LIST(0, 0, 0, 0), LIST(0), 0, COMPRESSED_SOUND, 0);
}

static void test_starts(void) {
  FOUND(LIST(1, 2, 2, 4), LIST(0, 3, 1, 2), 4, COMPRESSED_BEGIN, 0);
  /* a start far beyond the entries, and one that falls back behind it */
  FOUND(LIST(0, 1000, 2, 4), LIST(0, 3, 1, 2), 4, COMPRESSED_FALLS, 2);
  FOUND(LIST(0, -5, 2, 4), LIST(0, 3, 1, 2), 4, COMPRESSED_FALLS, 1);
  FOUND(LIST(0, 2, INT_MIN, 4), LIST(0, 3, 1, 2), 4, COMPRESSED_FALLS, 2);
  FOUND(LIST(0, 2, 2, 1000), LIST(0, 3, 1, 2), 4, COMPRESSED_END, 3);
  FOUND(LIST(0, 2, 2, 3), LIST(0, 3, 1, 2), 4, COMPRESSED_END, 3);
}

static void test_indices(void) {
  FOUND(LIST(0, 2, 2, 4), LIST(0, 4, 1, 2), 4, COMPRESSED_LIMIT, 1);
  FOUND(LIST(0, 2, 2, 4), LIST(0, 3, 1, INT_MIN), 4, COMPRESSED_LIMIT, 3);
  FOUND(LIST(0, 2, 2, 4), LIST(3, 0, 1, 2), 4, COMPRESSED_ORDER, 1);
  FOUND(LIST(0, 2, 2, 4), LIST(0, 3, 2, 2), 4, COMPRESSED_ORDER, 3);
  const int start[] = {0, 2, 2, 4}, index[] = {3, 0, 2, 2};
  EXPECT(is_found(start, index, 4, 0, COMPRESSED_SOUND, 0));
}

void test_columns(void) {
  run_test("columns: a sound compressed matrix", test_sound);
  run_test("columns: starts out of order or of range", test_starts);
  run_test("columns: indices out of order or of range", test_indices);
}
