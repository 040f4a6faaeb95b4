/* The Mersenne Twister for one width of vector; uniforms.c includes this file
 * once for each width, after lanes_next.h. */

LANES_VECTOR(uint32_t, LANE_BYTES / 2, LANE_NAME(words),
             LANE_NAME(words_place));
typedef int32_t LANE_NAME(signed)
  __attribute__((vector_size(LANE_BYTES / 2), may_alias));

#define WORDS LANE_NAME(words)
#define FROM_WORDS(pointer) LANES_LOAD(WORDS, LANE_NAME(words_place), pointer)
#define AT_WORDS(pointer) LANES_STORE(LANE_NAME(words_place), pointer)

/* w[first], ..., w[last - 1] <- next(w[i], w[i + 1], w[i + shift]); no word that
 * is read here has been written less than 227 words ago. */
LANE_TARGET static void LANE_NAME(renew)(uint32_t *w, size_t first, size_t last,
                                         ptrdiff_t shift) {
  size_t i = first;
  for (; i + WIDTH <= last; i += WIDTH) {
    const WORDS here = FROM_WORDS(w + i), next = FROM_WORDS(w + i + 1);
    const WORDS y = (here & UPPER) | (next & LOWER);
    const WORDS further = FROM_WORDS(w + i + shift);
    AT_WORDS(w + i) = further ^ (y >> 1) ^ (-(y & 1u) & TWIST);
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
    WORDS y = FROM_WORDS(w + i);
    y ^= y >> 11;
    y ^= (y << 7) & MASK_7;
    y ^= (y << 15) & MASK_15;
    y ^= y >> 18;
    const LANE_NAME(signed) moved = (LANE_NAME(signed))(y ^ 0x80000000u);
    const VEC x = (__builtin_convertvector(moved, VEC) + 0x1p31) * 0x1p-32;
    const BITS inside = (BITS)(x > 0.0);
    const BITS least = (BITS)LANE_SPLAT(LEAST);
    AT(out + i) = (VEC)((inside & (BITS)x) | (~inside & least));
  }
  return i;
}

#undef WORDS
#undef FROM_WORDS
#undef AT_WORDS
