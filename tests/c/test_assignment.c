/* assignment_solve() beside all permutations, and its preference among equals. */
#include "numeric/assignment.h"

#include <stdlib.h>
#include <string.h>

#include "drawing.h"
#include "harness.h"
#include "numeric/rmath.h"

void test_assignment(void);

enum { MOST = 7 };

typedef struct {
  size_t n;
  const uint32_t *weight;
  uint32_t column[MOST];
  long
    best; /* of the sums of weights, with the rows that stay as a tie-break */
} enumeration;

static long value_of(const uint32_t *weight, size_t n, const uint32_t *row_of) {
  long sum = 0;
  for (size_t j = 0; j < n; j++)
    sum += (long)(n + 1) * (long)weight[row_of[j] * n + j] + (row_of[j] == j);
  return sum;
}

/* All permutations of the columns from `at` on. */
static void enumerate(enumeration *e, size_t at) {
  if (at == e->n) {
    const long value = value_of(e->weight, e->n, e->column);
    e->best = value > e->best ? value : e->best;
    return;
  }
  for (size_t i = at; i < e->n; i++) {
    const uint32_t first = e->column[at], other = e->column[i];
    e->column[at] = other;
    e->column[i] = first;
    enumerate(e, at + 1);
    e->column[i] = other;
    e->column[at] = first;
  }
}

static void solve(const uint32_t *weight, size_t n, uint32_t *row_of) {
  arena size = arena_measure();
  assignment_take(&size, n);
  double *memory = new_numbers(arena_size(&size) / sizeof(double) + 1);
  arena a = arena_over(memory);
  assignment_work work = assignment_take(&a, n);
  assignment_solve(weight, n, &work, row_of);
  release_numbers(memory);
}

static void is_the_best_of_all(void) {
  set_seed(7, 8);
  for (int trial = 0; trial < 2000; trial++) {
    uint32_t weight[MOST * MOST], row_of[MOST];
    enumeration e = {.n = 1 + (size_t)trial % MOST, .weight = weight};
    /* few values, so that many solutions are equally good; rows of zeros */
    const double most = trial % 3 == 0 ? 2.0 : trial % 3 == 1 ? 9.0 : 1e6;
    for (size_t i = 0; i < e.n * e.n; i++)
      weight[i] = (uint32_t)(most * unif_rand());
    if (trial % 5 == 0)
      memset(weight, 0, e.n * sizeof(uint32_t));
    for (size_t j = 0; j < e.n; j++)
      e.column[j] = (uint32_t)j;
    enumerate(&e, 0);
    solve(weight, e.n, row_of);
    EXPECT(value_of(weight, e.n, row_of) == e.best);
  }
}

/* A permutation of a large table with a heavy diagonal is found. */
static void a_permutation_is_found(void) {
  enum { LARGE = 300 };
  uint32_t *weight = calloc((size_t)LARGE * LARGE, sizeof *weight);
  uint32_t column[LARGE], row_of[LARGE];
  if (weight == NULL)
    abort();
  set_seed(9, 10);
  for (size_t j = 0; j < LARGE; j++)
    column[j] = (uint32_t)j;
  for (size_t j = LARGE - 1; j > 0; j--) {
    const size_t i = (size_t)((double)(j + 1) * unif_rand());
    const uint32_t other = column[i];
    column[i] = column[j];
    column[j] = other;
  }
  for (size_t i = 0; i < (size_t)LARGE * LARGE; i++)
    weight[i] = (uint32_t)(50.0 * unif_rand());
  for (size_t i = 0; i < LARGE; i++)
    weight[i * LARGE + column[i]] += 60;
  solve(weight, LARGE, row_of);
  for (size_t i = 0; i < LARGE; i++)
    EXPECT(row_of[column[i]] == i);
  free(weight);
}

void test_assignment(void) {
  run_test("assignment: the best of all permutations", is_the_best_of_all);
  run_test("assignment: a permutation in a large table",
           a_permutation_is_found);
}
