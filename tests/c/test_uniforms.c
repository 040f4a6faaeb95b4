/* Uniforms many at a time.  That they are R's own is tested from R
 * (test-gmm-exact.R); here the Mersenne Twister against its published values. */
/* The source itself, to reach every width of vector. */
#define uniforms_draw uniforms_draw_here
#define uniforms_next uniforms_next_here
#define uniforms_take uniforms_take_here
#define uniforms_give uniforms_give_here
#include "../../src/core/numeric/uniforms.c"

#include <string.h>

#include "harness.h"

void test_uniforms(void);

static uint32_t words[1 + MERSENNE_WORDS];
static int given;

static uint32_t *take(void *own) {
  given = 0;
  return own;
}

static void give(void *own) {
  given = own == words;
}

static const generator twister = {.take = take, .give = give, .own = words};

/* The authors' init_genrand(). */
static void initialise(uint32_t seed) {
  words[0] = MERSENNE_WORDS;
  words[1] = seed;
  for (uint32_t i = 1; i < MERSENNE_WORDS; i++)
    words[i + 1] = 1812433253u * (words[i] ^ (words[i] >> 30)) + i;
}

/* Seeded with 5489, the ten thousandth number is 4123659995: section
 * [rand.predef] of the C++ standard. */
static void the_published_value(void) {
  double *u = new_numbers(10000);
  initialise(5489);
  uniforms_draw(&twister, u, 10000);
  EXPECT(u[9999] * 4294967296.0 == 4123659995.0);
  EXPECT(u[0] * 4294967296.0 == 3499211612.0);
  EXPECT(given);
  release_numbers(u);
}

/* However the numbers are cut into pieces. */
static void pieces_give_the_same_stream(void) {
  enum { LENGTH_OF_ALL = 5000 };
  double *whole = new_numbers(LENGTH_OF_ALL);
  double *pieces = new_numbers(LENGTH_OF_ALL);
  initialise(1);
  uniforms_draw(&twister, whole, LENGTH_OF_ALL);
  initialise(1);
  size_t done = 0;
  for (size_t piece = 0; done < LENGTH_OF_ALL; piece += 61) {
    const size_t left = LENGTH_OF_ALL - done;
    const size_t count = piece < left ? piece : left;
    uniforms_next(words, pieces + done, count);
    done += count;
  }
  EXPECT(same_bits(whole, pieces, LENGTH_OF_ALL));
  release_numbers(whole);
  release_numbers(pieces);
}

/* A word of 0 stays inside (0, 1). */
static void never_zero(void) {
  double u;
  words[0] = 0;
  words[1] = 0;
  uniforms_next(words, &u, 1);
  EXPECT(u > 0.0 && u < 1e-9);
}

/* Few numbers, or a generator that is not known: unif_rand(). */
static void few_come_one_by_one(void) {
  const generator unknown = {0};
  double u[100], v[100], w[100];
  set_seed(3, 4);
  for (size_t i = 0; i < LENGTH(u); i++)
    u[i] = unif_rand();
  set_seed(3, 4);
  uniforms_draw(&twister, v, LENGTH(v));
  set_seed(3, 4);
  uniforms_draw(&unknown, w, LENGTH(w));
  EXPECT(same_bits(u, v, LENGTH(u)));
  EXPECT(same_bits(u, w, LENGTH(u)));
}

#if LANES_HAVE_WIDE
static void all_widths_give_the_same_bits(void) {
  double narrow[MERSENNE_WORDS], wide[MERSENNE_WORDS];
  uint32_t start[1 + MERSENNE_WORDS], w[1 + MERSENNE_WORDS];
  const size_t turn = MERSENNE_WORDS - SHIFT;
  initialise(7);
  memcpy(start, words, sizeof start);
  memcpy(w, words, sizeof w);
  narrow_renew(words + 1, 0, turn, SHIFT);
  size_t filled = narrow_numbers(words + 1, narrow, MERSENNE_WORDS);
  EXPECT(filled == MERSENNE_WORDS);
  if (lanes_has(LANES_WIDE, 0)) {
    wide_renew(w + 1, 0, turn, SHIFT);
    EXPECT(memcmp(w, words, sizeof w) == 0);
    filled = wide_numbers(w + 1, wide, MERSENNE_WORDS);
    EXPECT(same_bits(narrow, wide, filled));
  }
  memcpy(w, start, sizeof w);
  if (lanes_has(LANES_WIDEST, 0)) {
    widest_renew(w + 1, 0, turn, SHIFT);
    EXPECT(memcmp(w, words, sizeof w) == 0);
    filled = widest_numbers(w + 1, wide, MERSENNE_WORDS);
    EXPECT(same_bits(narrow, wide, filled));
  }
}
#endif

void test_uniforms(void) {
  run_test("uniforms: published value", the_published_value);
  run_test("uniforms: in pieces", pieces_give_the_same_stream);
  run_test("uniforms: the word 0", never_zero);
  run_test("uniforms: few of them", few_come_one_by_one);
#if LANES_HAVE_WIDE
  run_test("uniforms: every width of vector", all_widths_give_the_same_bits);
#endif
}
