/* Short vectors: what the files of kernels share. */
#ifndef GIBBSITE_LANES_H
#define GIBBSITE_LANES_H

#include "numeric/rounding.h"

/* A block of so many observations is carried through a density side by side. */
#define LANES 16

/* For what a constant argument shall specialise. */
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
 * and where that can be asked at run time for 32 and for 64 bytes too.  They
 * multiply and add in two steps, each rounded (rounding.h), so that all widths
 * give the same bits: AVX2 has no fused multiply-add.  (Windows does not align the
 * stack for 32 bytes.)  LANES_MOST: bytes of the longest vectors, for tools/bits.sh
 * to compare them. */
#ifndef LANES_MOST
#define LANES_MOST 64
#endif
#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32) && \
  !defined(__APPLE__)
#define LANES_WIDE 1
#define LANES_WIDE_TARGET __attribute__((target("avx2")))
#define LANES_WIDEST_TARGET __attribute__((target("avx512f,avx512dq")))
#define lanes_wide() (LANES_MOST >= 32 && __builtin_cpu_supports("avx2"))
#define lanes_widest()                                      \
  (LANES_MOST >= 64 && __builtin_cpu_supports("avx512f") && \
   __builtin_cpu_supports("avx512dq"))
#define LANES_CHOOSE(x) (lanes_widest() ? widest_##x : LANES_CHOOSE_WIDE(x))
#define LANES_CHOOSE_WIDE(x) (lanes_wide() ? wide_##x : narrow_##x)
#else
#define LANES_WIDE 0
#define LANES_CHOOSE(x) narrow_##x
#define LANES_CHOOSE_WIDE(x) narrow_##x
#endif

/* The same with fused multiply-add, for what takes most of the time: its bits may
 * differ from one processor to another. */
#define LANES_FUSED LANES_WIDE
#if LANES_FUSED
#define LANES_FUSED_TARGET __attribute__((target("avx2,fma")))
#define LANES_FUSED_WIDEST_TARGET \
  __attribute__((target("avx512f,avx512dq,avx2,fma")))
#define lanes_fused() (lanes_wide() && __builtin_cpu_supports("fma"))
#define lanes_fused_widest() (lanes_fused() && lanes_widest())
#define LANES_CHOOSE_FUSED(x) \
  (lanes_fused_widest() ? widest_##x : lanes_fused() ? wide_##x : narrow_##x)
/* Keeps a vector that is used several times in its register: compilers would
 * rather load it again for each use. */
#define LANES_HOLD_WIDE(v) __asm__("" : "+x"(v))
#define LANES_HOLD_WIDEST(v) __asm__("" : "+v"(v))
#else
#define LANES_CHOOSE_FUSED(x) narrow_##x
#endif

/* Where every processor of an architecture fuses, so do vectors of 16 bytes. */
#if defined(__aarch64__) && defined(__GNUC__)
#define LANES_NARROW_FUSES 1
#else
#define LANES_NARROW_FUSES 0
#endif

#endif
