/* Short vectors of observations: a block of LANES observations is carried through
 * a density side by side. */
#ifndef GIBBSITE_LANES_H
#define GIBBSITE_LANES_H

#define LANES 16

/* For what a constant argument shall specialise. */
#ifdef __GNUC__
#define LANES_INLINE inline __attribute__((always_inline))
#else
#define LANES_INLINE inline
#endif

/* Kernels over lanes (gmm_kernel.h) are compiled for vectors of 16 bytes, which
 * every 64-bit processor has, and where that can be asked at run time for 32 and
 * for 64 bytes too.  They multiply and add in two steps, each rounded, so that
 * all widths give the same bits: AVX2 has no fused multiply-add, and where AVX-512
 * brings it the compiler is told not to use it.  (Windows does not align the
 * stack for 32 bytes.) */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32) && \
  !defined(__APPLE__)
#define LANES_WIDE 1
#define LANES_WIDE_TARGET __attribute__((target("avx2")))
#define lanes_wide() __builtin_cpu_supports("avx2")
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#define LANES_WIDEST_TARGET __attribute__((target("avx512f,avx512dq")))
#else
#define LANES_WIDEST_TARGET \
  __attribute__((target("avx512f,avx512dq"), optimize("fp-contract=off")))
#endif
#define lanes_widest() \
  (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
#define LANES_CHOOSE(x) (lanes_widest() ? widest_##x : LANES_CHOOSE_WIDE(x))
#define LANES_CHOOSE_WIDE(x) (lanes_wide() ? wide_##x : narrow_##x)
#else
#define LANES_WIDE 0
#define LANES_CHOOSE(x) narrow_##x
#define LANES_CHOOSE_WIDE(x) narrow_##x
#endif

/* The same with fused multiply-add, for what is computed once and stored: its
 * bits may differ from one processor to another. */
#define LANES_FUSED LANES_WIDE
#if LANES_FUSED
#define LANES_FUSED_TARGET __attribute__((target("avx2,fma")))
#define LANES_FUSED_WIDEST_TARGET \
  __attribute__((target("avx512f,avx512dq,avx2,fma")))
#define lanes_fused() \
  (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
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

#endif
