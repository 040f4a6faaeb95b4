/* Normals many at a time: the bits of R's own, which come one at a time. */

/* The source itself, to reach the quantiles of given probabilities and every
 * width of vector. */
#define normals_draw normals_draw_here
#define normals_keyed normals_keyed_here
#define normals_keyed_between normals_keyed_between_here
#define normals_span_of normals_span_of_here
#include "../../src/core/numeric/normals.c"

#include <float.h>

#include "harness.h"

void test_normals(void);

static void seed(void) {
  set_seed(20, 4);
}

static void every_length_gives_the_same_stream(void) {
  const generator unknown = {0}, inversion = {.inversion = 1};
  const size_t lengths[] = {0, 1, 7, 8, 9, BATCH - 1, BATCH, BATCH + 1, 100000};
  for (size_t l = 0; l < LENGTH(lengths); l++) {
    const size_t n = lengths[l];
    double *one = new_numbers(n + 1), *many = new_numbers(n + 1);
    double *other = new_numbers(n + 1);
    seed();
    for (size_t i = 0; i < n; i++)
      one[i] = norm_rand();
    one[n] = unif_rand();
    seed();
    normals_draw(&inversion, many, n);
    many[n] = unif_rand();
    seed();
    normals_draw(&unknown, other, n);
    other[n] = unif_rand();
    EXPECT(same_bits(one, many, n + 1));
    EXPECT(same_bits(one, other, n + 1));
    release_numbers(one);
    release_numbers(many);
    release_numbers(other);
  }
}

/* Any piece of the normals of a key, from a place beyond 2^32, too: quantiles of
 * the midpoints of cells that pairs of words pick. */
static void keyed_normals_are_those_of_their_places(void) {
  const philox_key key = {{17, 0x89abcdefu}};
  const uint64_t places[] = {0, 1, 2 * (((uint64_t)1 << 32) - 3) + 1};
  enum { MOST = 2 * BATCH + 5 };
  for (size_t at = 0; at < LENGTH(places); at++) {
    double expected[MOST], out[MOST], x[BATCH];
    for (size_t i = 0; i < MOST; i++) {
      const uint64_t place = places[at] + i, block = place / 2;
      const uint32_t counter[] = {(uint32_t)block, (uint32_t)(block >> 32), 0,
                                  0};
      uint32_t word[4];
      philox_block(counter, key.key, word);
      const uint32_t *pair = word + 2 * (place % 2);
      const uint64_t cell = ((uint64_t)pair[0] << 32 | pair[1]) >> 12;
      const double p = ldexp((double)cell + 0.5, -52);
      quantiles(&p, 1, x);
      expected[i] = x[0];
    }
    for (size_t n = 0; n <= MOST; n += n < 9 ? 1 : 50) {
      normals_keyed(key, places[at] + MOST - n, out, n);
      EXPECT(same_bits(out, expected + MOST - n, n));
    }
  }
}

/* The borders of the two approximations, the far tail beyond both. */
static void quantiles_are_those_of_qnorm(void) {
  const double p[] = {0.5,
                      0.075,
                      0.925,
                      0.925 + DBL_EPSILON,
                      0.0749999,
                      0.92500001,
                      1e-10,
                      1.0 - 1e-10,
                      1.3887943864964e-11,
                      1.3887943864965e-11,
                      1e-12,
                      1.0 - 1e-12,
                      1e-300,
                      DBL_MIN,
                      1.0 - DBL_EPSILON / 2.0,
                      0.3,
                      0.999};
  double x[BATCH];
  quantiles(p, LENGTH(p), x);
  for (size_t i = 0; i < LENGTH(p); i++) {
    const double expected = qnorm(p[i], 0.0, 1.0, 1, 0);
#ifdef __i386__
    /* R's has other digits there (normals.c) */
    EXPECT(fabs(x[i] - expected) <= 4.0 * DBL_EPSILON * fabs(expected));
#else
    EXPECT(same_bits(&x[i], &expected, 1));
#endif
  }
}

#if LANES_HAVE_WIDE
static void all_widths_give_the_same_bits(void) {
  double x[BATCH], narrow[BATCH], wide[BATCH];
  for (size_t i = 0; i < BATCH; i++)
    x[i] = -0.425 + 0.85 * (double)i / (BATCH - 1.0);
  memcpy(narrow, x, sizeof x);
  memcpy(wide, x, sizeof x);
  narrow_central(narrow, BATCH);
  if (lanes_has(LANES_WIDE, 0)) {
    wide_central(wide, BATCH);
    EXPECT(same_bits(narrow, wide, BATCH));
  }
  for (size_t i = 0; i < BATCH; i++)
    x[i] = 1.6 + 3.4 * (double)i / (BATCH - 1.0);
  narrow_tail(x, BATCH, narrow);
  if (lanes_has(LANES_WIDE, 0)) {
    wide_tail(x, BATCH, wide);
    EXPECT(same_bits(narrow, wide, BATCH));
    const philox_key key = {{3, 5}};
    narrow_keyed(key, 7, narrow, BATCH);
    wide_keyed(key, 7, wide, BATCH);
    EXPECT(same_bits(narrow, wide, BATCH));
  }
}
#endif

void test_normals(void) {
  run_test("normals: one stream, however many at a time",
           every_length_gives_the_same_stream);
  run_test("normals: those of a key, in pieces",
           keyed_normals_are_those_of_their_places);
  run_test("normals: quantiles of AS 241", quantiles_are_those_of_qnorm);
#if LANES_HAVE_WIDE
  run_test("normals: every width of vector", all_widths_give_the_same_bits);
#endif
}
