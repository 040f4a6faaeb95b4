/* Short vectors: what the files of kernels share. */
#ifndef GIBBSITE_LANES_H
#define GIBBSITE_LANES_H

#include "numeric/rounding.h"

/* A block of so many observations is carried through a density side by side. */
#define LANES 16

/* Functions that are to be specialised for a constant argument. */
#ifdef __GNUC__
#define LANES_INLINE inline __attribute__((always_inline))
#else
#define LANES_INLINE inline
#endif

/* Vectors of `bytes`: `name` to compute with, and `place` for loads and stores
 * alone, at any address where a number may stand.  No function takes or returns a
 * `place`: how a type of less alignment than its size is passed differs between
 * compilers, and gcc 14 for arm64 breaks down over it. */
#define LANES_VECTOR(number, bytes, name, place)                      \
  typedef number name __attribute__((vector_size(bytes), may_alias)); \
  typedef number place                                                \
    __attribute__((vector_size(bytes), may_alias, aligned(_Alignof(number))))
#define LANES_LOAD(name, place, pointer) ((name) * (const place *)(pointer))
#define LANES_STORE(place, pointer) (*(place *)(pointer))

/* Kernels are compiled for vectors of 16 bytes, which every 64-bit processor has,
 * and for 32 and 64 bytes where the processor can be asked at run time
 * (lanes_each.h).  They multiply and add in two steps, each rounded (rounding.h), so
 * that all widths give the same bits: AVX2 has no fused multiply-add.  A file of
 * kernels that take most of the time may ask for it: its bits may then differ from
 * one processor to another.  (Windows does not align the stack for 32 bytes.)
 * LANES_MOST: bytes of the longest vectors, for tools/bits.sh to compare them. */
#ifndef LANES_MOST
#define LANES_MOST 64
#endif
#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32) && \
  !defined(__APPLE__)
#define LANES_HAVE_WIDE 1
#else
#define LANES_HAVE_WIDE 0
#endif

/* By the bytes of a vector. */
typedef enum {
  LANES_NARROW = 16,
  LANES_WIDE = 32,  /* AVX2                  */
  LANES_WIDEST = 64 /* AVX-512 F, AVX-512 DQ */
} lanes_width;

/* Has the processor vectors of this width (with fused multiply-add)? */
static inline int lanes_has(lanes_width width, int fused) {
#if LANES_HAVE_WIDE
  if (width == LANES_NARROW)
    return 1;
  if ((int)width > LANES_MOST || !__builtin_cpu_supports("avx2") ||
      (fused && !__builtin_cpu_supports("fma")))
    return 0;
  return width == LANES_WIDE || (__builtin_cpu_supports("avx512f") &&
                                 __builtin_cpu_supports("avx512dq"));
#else
  (void)fused;
  return width == LANES_NARROW;
#endif
}

/* The longest of them, of at most `most` bytes. */
static inline lanes_width lanes_longest(int most, int fused) {
  if (most >= LANES_WIDEST && lanes_has(LANES_WIDEST, fused))
    return LANES_WIDEST;
  return most >= LANES_WIDE && lanes_has(LANES_WIDE, fused) ? LANES_WIDE
                                                            : LANES_NARROW;
}

/* Where every processor of an architecture fuses, so do vectors of 16 bytes. */
#if defined(__aarch64__) && defined(__GNUC__)
#define LANES_NARROW_FUSES 1
#else
#define LANES_NARROW_FUSES 0
#endif

#endif
