/* Reference: Matsumoto & Nishimura (1998), Mersenne Twister: a 623-dimensionally
 * equidistributed uniform pseudo-random number generator,
 * doi:10.1145/272991.272995 (MT19937).  A uniform is a word over 2^32; that of
 * the word 0, as ?Random has it never 0, is R's half of 1 / (2^32 - 1). */
#include "numeric/rounding.h"

#include "numeric/uniforms.h"

#include "numeric/lanes.h"
#include "numeric/rmath.h"

/* Taking the words and giving them back costs as much as some hundred calls.
 * (bench/generator.R sets another number: none is worth it.) */
#ifndef WORTH_TAKING
#define WORTH_TAKING 1024
#endif

#define SHIFT 397
#define UPPER 0x80000000u
#define LOWER 0x7fffffffu
#define TWIST 0x9908b0dfu
#define MASK_7 0x9d2c5680u
#define MASK_15 0xefc60000u
#define LEAST (0.5 / 4294967295.0)

/* The word that takes the place of `here`: from it, the one after it and the one
 * SHIFT further on. */
static inline uint32_t renewed(uint32_t here, uint32_t next, uint32_t further) {
  const uint32_t y = (here & UPPER) | (next & LOWER);
  return further ^ (y >> 1) ^ ((0u - (y & 1u)) & TWIST);
}

static inline double number(uint32_t y) {
  y ^= y >> 11;
  y ^= (y << 7) & MASK_7;
  y ^= (y << 15) & MASK_15;
  y ^= y >> 18;
  return y > 0 ? (double)y * 0x1p-32 : LEAST;
}

#define LANES_KERNEL "numeric/uniforms_kernel.h"
#include "numeric/lanes_each.h"

static void renew(uint32_t *w) {
  const size_t turn = MERSENNE_WORDS - SHIFT, last = MERSENNE_WORDS - 1;
  LANES_CHOOSE(renew)(w, 0, turn, SHIFT);
  LANES_CHOOSE(renew)(w, turn, last, SHIFT - MERSENNE_WORDS);
  w[last] = renewed(w[last], w[0], w[SHIFT - 1]);
}

static void numbers(const uint32_t *w, double *out, size_t n) {
  for (size_t i = LANES_CHOOSE(numbers)(w, out, n); i < n; i++)
    out[i] = number(w[i]);
}

uint32_t *uniforms_take(const generator *g, size_t n) {
  return g->take && n >= WORTH_TAKING ? g->take(g->own) : NULL;
}

void uniforms_give(const generator *g, const uint32_t *words) {
  if (words)
    g->give(g->own);
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
    numbers(w + *words, out + done, count);
    *words += (uint32_t)count;
    done += count;
  }
}

void uniforms_draw(const generator *g, double *out, size_t n) {
  uint32_t *const words = uniforms_take(g, n);
  uniforms_next(words, out, n);
  uniforms_give(g, words);
}
