/* The next width of vector for a file of kernels (lanes_each.h): the first time
 * the narrowest, then the wide one, then the widest, with
 *   LANE_BYTES     bytes of a vector
 *   LANE_NAME(x)   narrow_x, wide_x or widest_x, the name of x for this width
 *   LANE_TARGET    attribute that allows its instructions, or nothing
 *   VEC, BITS      a vector of LANES_NUMBER (double unless defined), and of integers
 *                  of its size;  WIDTH: how many
 *   FROM(p), AT(p) the vector in memory at p to be read, and to be written
 * and for doubles
 *   LANE_SPLAT(x)      a vector of x alone
 *   LANE_FMA(a, b, c)  a * b + c of vectors;  LANE_FMA_ONE(a, b, c): of numbers
 * both fused where LANES_FUSED is 1 and the width has it; then also
 *   LANE_HOLD(v)   keeps a vector in its register, where compilers would rather
 *                  load it again for each use */

#ifndef LANE_BYTES

#ifndef LANES_NUMBER
#define LANES_NUMBER double
#define LANES_BITS long long
#endif
#ifndef LANES_FUSED
#define LANES_FUSED 0
#endif

#define LANE_BYTES 16
#define LANE_NAME(x) narrow_##x
#define LANE_TARGET
#define LANE_SPLAT(x) ((VEC){(x), (x)})
#define VEC LANE_NAME(vec)
#define BITS LANE_NAME(bits)
#define WIDTH (LANE_BYTES / sizeof(LANES_NUMBER))
#define FROM(pointer) LANES_LOAD(VEC, LANE_NAME(place), pointer)
#define AT(pointer) LANES_STORE(LANE_NAME(place), pointer)
#if LANES_HAVE_WIDE
#include <immintrin.h>
#endif
#if LANES_FUSED && LANES_NARROW_FUSES
#include <arm_neon.h>
#define LANE_FMA(a, b, c) \
  ((VEC)vfmaq_f64((float64x2_t)(c), (float64x2_t)(a), (float64x2_t)(b)))
#define LANE_FMA_ONE(a, b, c) __builtin_fma(a, b, c)
#else
#define LANE_FMA(a, b, c) ((a) * (b) + (c))
#define LANE_FMA_ONE(a, b, c) ((a) * (b) + (c))
#endif
#if LANES_FUSED
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
#if LANES_FUSED
#undef LANE_HOLD
#undef LANE_FMA
#undef LANE_FMA_ONE
#define LANE_HOLD(v) __asm__("" : "+x"(v))
#define LANE_TARGET __attribute__((target("avx2,fma")))
#define LANE_FMA(a, b, c) \
  ((VEC)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define LANE_FMA_ONE(a, b, c) __builtin_fma(a, b, c)
#else
#define LANE_TARGET __attribute__((target("avx2")))
#endif

#else

#undef LANE_BYTES
#undef LANE_NAME
#undef LANE_TARGET
#undef LANE_SPLAT
#define LANE_BYTES 64
#define LANE_NAME(x) widest_##x
#define LANE_SPLAT(x) ((VEC)_mm512_set1_pd(x))
#if LANES_FUSED
#undef LANE_HOLD
#undef LANE_FMA
#define LANE_HOLD(v) __asm__("" : "+v"(v))
#define LANE_TARGET __attribute__((target("avx512f,avx512dq,avx2,fma")))
#define LANE_FMA(a, b, c) \
  ((VEC)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#else
#define LANE_TARGET __attribute__((target("avx512f,avx512dq")))
#endif

#endif

LANES_VECTOR(LANES_NUMBER, LANE_BYTES, LANE_NAME(vec), LANE_NAME(place));
typedef LANES_BITS LANE_NAME(bits)
  __attribute__((vector_size(LANE_BYTES), may_alias));
