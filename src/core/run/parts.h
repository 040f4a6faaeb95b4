/* Work in parallel: into how many parts it is cut, and for how many threads.
 * Parts depend on the size of the work alone, so that sums over them are the
 * same for any number of threads. */
#ifndef GIBBSITE_PARTS_H
#define GIBBSITE_PARTS_H

#include <stddef.h>
#ifdef _OPENMP
#include <omp.h>
#endif

/* Length of each of at most 16 parts, which have at least `least` elements. */
static inline size_t parts_length(size_t count, size_t least) {
  const size_t length = (count + 15) / 16;
  return length < least ? least : length;
}

static inline size_t parts_count(size_t count, size_t least) {
  const size_t length = parts_length(count, least);
  return (count + length - 1) / length;
}

/* The elements of a part, the last of which may be shorter. */
typedef struct {
  size_t first, count;
} parts_range;

static inline parts_range parts_of(size_t count, size_t least, int part) {
  const size_t length = parts_length(count, least);
  const size_t first = (size_t)part * length, rest = count - first;
  const parts_range range = {first, rest < length ? rest : length};
  return range;
}

/* Threads for so many multiplications: one where starting more would take
 * longer than the work. */
static inline int parts_team(double work, int threads) {
  return work < 3e5 ? 1 : threads;
}

/* The number of the thread that runs, from 0. */
static inline int parts_thread(void) {
#ifdef _OPENMP
  return omp_get_thread_num();
#else
  return 0;
#endif
}

#endif
