/* Reference: Matsumoto & Nishimura (1998), Mersenne Twister: a 623-dimensionally
 * equidistributed uniform pseudo-random number generator,
 * doi:10.1145/272991.272995 (MT19937).  A uniform is a word over 2^32; that of
 * the word 0, as ?Random has it never 0, is R's half of 1 / (2^32 - 1). */
#include "uniforms.h"

#include "rmath.h"

/* Taking the words and giving them back costs as much as some hundred calls. */
#define WORTH_TAKING 1024

#define SHIFT 397

uint32_t *uniforms_take(const generator *g, size_t n) {
  return g->take && n >= WORTH_TAKING ? g->take() : NULL;
}

void uniforms_give(const generator *g, const uint32_t *words) {
  if (words)
    g->give();
}

/* The word that follows `here` when the recurrence has come round: from it, the
 * one after it and the one SHIFT further on. */
static inline uint32_t twisted(uint32_t here, uint32_t next, uint32_t further) {
  const uint32_t y = (here & 0x80000000u) | (next & 0x7fffffffu);
  return further ^ (y >> 1) ^ ((0u - (y & 1u)) & 0x9908b0dfu);
}

/* All words anew.  Each loop reads nothing that it has written less than 227
 * words ago, so that it can run in vectors. */
static void renew(uint32_t *w) {
  for (size_t i = 0; i < MERSENNE_WORDS - SHIFT; i++)
    w[i] = twisted(w[i], w[i + 1], w[i + SHIFT]);
  for (size_t i = MERSENNE_WORDS - SHIFT; i < MERSENNE_WORDS - 1; i++)
    w[i] = twisted(w[i], w[i + 1], w[i + SHIFT - MERSENNE_WORDS]);
  const size_t last = MERSENNE_WORDS - 1;
  w[last] = twisted(w[last], w[0], w[SHIFT - 1]);
}

static inline double tempered(uint32_t y) {
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  y ^= y >> 18;
  const double x = (double)y * 0x1p-32;
  return x > 0.0 ? x : 0.5 / 4294967295.0;
}

void uniforms_next(uint32_t *words, double *out, size_t n) {
  for (size_t i = 0; !words && i < n; i++)
    out[i] = unif_rand();
  for (size_t done = 0; words && done < n;) {
    uint32_t *const w = words + 1;
    if (*words >= MERSENNE_WORDS) {
      renew(w);
      *words = 0;
    }
    const size_t left = MERSENNE_WORDS - *words;
    const size_t count = n - done < left ? n - done : left;
    for (size_t i = 0; i < count; i++)
      out[done + i] = tempered(w[*words + i]);
    *words += (uint32_t)count;
    done += count;
  }
}

void uniforms_draw(const generator *g, double *out, size_t n) {
  uint32_t *const words = uniforms_take(g, n);
  uniforms_next(words, out, n);
  uniforms_give(g, words);
}
