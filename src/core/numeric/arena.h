/* A work space, handed out in pieces by one function that runs twice: first over
 * nothing, which counts the bytes, then over memory of that size.  So the size
 * cannot differ from what is used.
 *
 *   arena a = arena_measure();    carve(&m, &a);   size = arena_size(&a);
 *   arena a = arena_over(work);   carve(&m, &a);
 *
 * Every piece begins at a multiple of 64 bytes, as cache lines and the longest
 * vectors do.  Counts are doubles: their products cannot overflow. */
#ifndef GIBBSITE_ARENA_H
#define GIBBSITE_ARENA_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  char *base;  /* NULL: counting */
  double used; /* bytes          */
} arena;

#define ARENA_LINE 64

static inline arena arena_measure(void) {
  return (arena){NULL, ARENA_LINE};
}

/* Memory of any alignment. */
static inline arena arena_over(void *work) {
  const uintptr_t past = (uintptr_t)work % ARENA_LINE;
  return (arena){work, (double)((ARENA_LINE - past) % ARENA_LINE)};
}

/* `count` elements of `size` bytes; NULL while counting. */
static inline void *arena_take(arena *a, double count, size_t size) {
  const double start = a->used;
  a->used += ceil((count * (double)size + 1.0) / ARENA_LINE) * ARENA_LINE;
  return a->base ? a->base + (size_t)start : NULL;
}

static inline double *arena_doubles(arena *a, double count) {
  return arena_take(a, count, sizeof(double));
}

/* Bytes in all; 0 when no memory is as large. */
static inline size_t arena_size(const arena *a) {
  return a->used < (double)(PTRDIFF_MAX / 2) ? (size_t)a->used : 0;
}

#endif
