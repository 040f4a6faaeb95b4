/* The Mersenne Twister for one width of vector; uniforms.c includes this file
 * once for each width, with LANE_BYTES, LANE_NAME and LANE_TARGET. */

typedef uint32_t LANE_NAME(words)
  __attribute__((vector_size(LANE_BYTES / 2), aligned(4), may_alias));
typedef int32_t LANE_NAME(signed)
  __attribute__((vector_size(LANE_BYTES / 2), aligned(4), may_alias));
typedef double LANE_NAME(uniforms)
  __attribute__((vector_size(LANE_BYTES), aligned(8), may_alias));
typedef long long LANE_NAME(masks)
  __attribute__((vector_size(LANE_BYTES), aligned(8), may_alias));

#define WORDS LANE_NAME(words)
#define WIDTH (LANE_BYTES / sizeof(double))

/* w[first], ..., w[last - 1] <- next(w[i], w[i + 1], w[i + shift]); no word that
 * is read here has been written less than 227 words ago. */
LANE_TARGET static void LANE_NAME(renew)(uint32_t *w, size_t first, size_t last,
                                         ptrdiff_t shift) {
  size_t i = first;
  for (; i + WIDTH <= last; i += WIDTH) {
    const WORDS here = *(const WORDS *)(w + i),
                next = *(const WORDS *)(w + i + 1);
    const WORDS y = (here & UPPER) | (next & LOWER);
    const WORDS further = *(const WORDS *)(w + i + shift);
    *(WORDS *)(w + i) = further ^ (y >> 1) ^ (-(y & 1u) & TWIST);
  }
  for (; i < last; i++)
    w[i] = renewed(w[i], w[i + 1], w[(ptrdiff_t)i + shift]);
}

/* Numbers from the first words, as many as fill whole vectors; their count.  A
 * word becomes a double by way of a signed number, for which every processor has
 * an instruction. */
LANE_TARGET static size_t LANE_NAME(numbers)(const uint32_t *w, double *out,
                                             size_t n) {
  size_t i = 0;
  for (; i + WIDTH <= n; i += WIDTH) {
    WORDS y = *(const WORDS *)(w + i);
    y ^= y >> 11;
    y ^= (y << 7) & MASK_7;
    y ^= (y << 15) & MASK_15;
    y ^= y >> 18;
    const LANE_NAME(signed) moved = (LANE_NAME(signed))(y ^ 0x80000000u);
    const LANE_NAME(uniforms) x =
      (__builtin_convertvector(moved, LANE_NAME(uniforms)) + 0x1p31) * 0x1p-32;
    const LANE_NAME(masks) inside = (LANE_NAME(masks))(x > 0.0);
    const LANE_NAME(uniforms) least = (LANE_NAME(uniforms)){0} + LEAST;
    *(LANE_NAME(uniforms) *)(out + i) = (LANE_NAME(uniforms))(
      (inside & (LANE_NAME(masks))x) | (~inside & (LANE_NAME(masks))least));
  }
  return i;
}

#undef WORDS
#undef WIDTH
