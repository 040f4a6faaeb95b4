/* The next width of vector for a file of kernels: the first time the narrowest,
 * then the wide one, then the widest (these only where LANES_WIDE; lanes.h), with
 *   LANE_BYTES     bytes of a vector
 *   LANE_NAME(x)   narrow_x, wide_x or widest_x, the name of x for this width
 *   LANE_TARGET    attribute that allows its instructions, or nothing
 *   VEC, BITS      a vector of doubles, and of 64-bit integers;  WIDTH: how many
 *   FROM(p), AT(p) the vector in memory at p to be read, and to be written
 *   LANE_SPLAT(x)      a vector of x alone
 *   LANE_FMA(a, b, c)  a * b + c of vectors;  LANE_FMA_ONE(a, b, c): of numbers
 * LANES_CHOOSE(x) of lanes.h then names x for the processor at hand.  A file that
 * defines LANES_NEXT_FUSED has LANE_FMA fused where the width has it, takes
 * LANES_CHOOSE_FUSED(x) and has
 *   LANE_HOLD(v)   keeps a vector in its register */

#ifndef LANE_BYTES

#define LANE_BYTES 16
#define LANE_NAME(x) narrow_##x
#define LANE_TARGET
#define LANE_SPLAT(x) ((VEC){(x), (x)})
#define VEC LANE_NAME(vec)
#define BITS LANE_NAME(bits)
#define WIDTH (LANE_BYTES / sizeof(double))
#define FROM(pointer) LANES_LOAD(VEC, LANE_NAME(place), pointer)
#define AT(pointer) LANES_STORE(LANE_NAME(place), pointer)
#if LANES_WIDE
#include <immintrin.h>
#endif
#if defined(LANES_NEXT_FUSED) && LANES_NARROW_FUSES
#include <arm_neon.h>
#define LANE_FMA(a, b, c) \
  ((VEC)vfmaq_f64((float64x2_t)(c), (float64x2_t)(a), (float64x2_t)(b)))
#define LANE_FMA_ONE(a, b, c) __builtin_fma(a, b, c)
#else
#define LANE_FMA(a, b, c) ((a) * (b) + (c))
#define LANE_FMA_ONE(a, b, c) ((a) * (b) + (c))
#endif
#ifdef LANES_NEXT_FUSED
#define LANE_HOLD(v) (void)0
#endif

#elif LANE_BYTES == 16

#undef LANE_BYTES
#undef LANE_NAME
#undef LANE_TARGET
#undef LANE_SPLAT
#define LANE_BYTES 32
#define LANE_NAME(x) wide_##x
#define LANE_SPLAT(x) ((VEC){(x), (x), (x), (x)})
#ifdef LANES_NEXT_FUSED
#undef LANE_HOLD
#undef LANE_FMA
#undef LANE_FMA_ONE
#define LANE_HOLD LANES_HOLD_WIDE
#define LANE_TARGET LANES_FUSED_TARGET
#define LANE_FMA(a, b, c) \
  ((VEC)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define LANE_FMA_ONE(a, b, c) __builtin_fma(a, b, c)
#else
#define LANE_TARGET LANES_WIDE_TARGET
#endif

#else

#undef LANE_BYTES
#undef LANE_NAME
#undef LANE_TARGET
#undef LANE_SPLAT
#define LANE_BYTES 64
#define LANE_NAME(x) widest_##x
#define LANE_SPLAT(x) ((VEC)_mm512_set1_pd(x))
#ifdef LANES_NEXT_FUSED
#undef LANE_HOLD
#undef LANE_FMA
#define LANE_HOLD LANES_HOLD_WIDEST
#define LANE_TARGET LANES_FUSED_WIDEST_TARGET
#define LANE_FMA(a, b, c) \
  ((VEC)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#else
#define LANE_TARGET LANES_WIDEST_TARGET
#endif

#endif

LANES_VECTOR(double, LANE_BYTES, LANE_NAME(vec), LANE_NAME(place));
typedef long long LANE_NAME(bits)
  __attribute__((vector_size(LANE_BYTES), may_alias));
