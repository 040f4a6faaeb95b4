#include "numeric/rounding.h"

#include "numeric/assignment.h"

#include <string.h>

#define FREE UINT32_MAX

assignment_work assignment_take(arena *a, size_t n) {
  const double size = (double)n;
  const assignment_work work = {arena_take(a, size, sizeof(int64_t)),
                                arena_take(a, size, sizeof(int64_t)),
                                arena_take(a, size, sizeof(int64_t)),
                                arena_take(a, size, sizeof(uint32_t)),
                                arena_take(a, size, sizeof(uint32_t)),
                                arena_take(a, size, sizeof(uint32_t)),
                                arena_take(a, size, 1)};
  return work;
}

/* A cost to minimise.  A row's own column is cheaper by less than one unit of
 * weight, also in sum. */
static int64_t cost(const uint32_t *weight, size_t n, size_t i, size_t j) {
  return -((int64_t)weight[i * n + j] * (int64_t)(n + 1) + (i == j));
}

/* Prices with cost >= row_price + column_price, and equality in each assigned
 * pair: a row takes its cheapest column where that is free. */
static void begin(const uint32_t *weight, size_t n, assignment_work *w) {
  for (size_t j = 0; j < n; j++) {
    w->column_price[j] = 0;
    w->row_of[j] = FREE;
  }
  for (size_t i = 0; i < n; i++) {
    size_t best = i;
    for (size_t j = 0; j < n; j++)
      if (cost(weight, n, i, j) < cost(weight, n, i, best))
        best = j;
    w->row_price[i] = cost(weight, n, i, best);
    w->column_of[i] = FREE;
    if (w->row_of[best] == FREE) {
      w->row_of[best] = (uint32_t)i;
      w->column_of[i] = (uint32_t)best;
    }
  }
}

/* Shortens the distances of columns through row i, which is at distance `at`. */
static void scan_row(const uint32_t *weight, size_t n, assignment_work *w,
                     size_t i, int64_t at) {
  for (size_t j = 0; j < n; j++) {
    const int64_t through =
      at + cost(weight, n, i, j) - w->row_price[i] - w->column_price[j];
    if (!w->done[j] && through < w->distance[j]) {
      w->distance[j] = through;
      w->before[j] = (uint32_t)i;
    }
  }
}

static size_t nearest(const assignment_work *w, size_t n) {
  size_t best = n;
  for (size_t j = 0; j < n; j++)
    if (!w->done[j] && (best == n || w->distance[j] < w->distance[best]))
      best = j;
  return best;
}

/* The shortest path from the free row `start` to a free column (Dijkstra). */
static size_t find_path(const uint32_t *weight, size_t n, assignment_work *w,
                        size_t start) {
  memset(w->done, 0, n);
  for (size_t j = 0; j < n; j++)
    w->distance[j] = INT64_MAX;
  scan_row(weight, n, w, start, 0);
  for (;;) {
    const size_t j = nearest(w, n);
    if (w->row_of[j] == FREE)
      return j;
    w->done[j] = 1;
    scan_row(weight, n, w, w->row_of[j], w->distance[j]);
  }
}

/* Prices after a path that ends at distance `length`. */
static void reprice(size_t n, assignment_work *w, size_t start,
                    int64_t length) {
  w->row_price[start] += length;
  for (size_t j = 0; j < n; j++)
    if (w->done[j]) {
      w->row_price[w->row_of[j]] += length - w->distance[j];
      w->column_price[j] -= length - w->distance[j];
    }
}

static void assign_row(const uint32_t *weight, size_t n, assignment_work *w,
                       size_t start) {
  size_t j = find_path(weight, n, w, start);
  reprice(n, w, start, w->distance[j]);
  for (;;) {
    const size_t i = w->before[j];
    const size_t next = w->column_of[i];
    w->row_of[j] = (uint32_t)i;
    w->column_of[i] = (uint32_t)j;
    if (i == start)
      return;
    j = next;
  }
}

void assignment_solve(const uint32_t *weight, size_t n, assignment_work *work,
                      uint32_t *row_of) {
  begin(weight, n, work);
  for (size_t i = 0; i < n; i++)
    if (work->column_of[i] == FREE)
      assign_row(weight, n, work, i);
  memcpy(row_of, work->row_of, n * sizeof(uint32_t));
}
