/* Short vectors of observations.  A block of LANES observations is carried
 * through a density side by side: loops of a constant length over the lanes
 * are what a compiler turns into vector instructions at -O2. */
#ifndef GIBBSITE_LANES_H
#define GIBBSITE_LANES_H

#include <limits.h>
#include <stdint.h>
#include <string.h>

#define LANES 8

/* A function compiled twice, the wider version chosen by the processor when the
 * library is loaded.  AVX2 without fused multiply-add rounds as SSE2 does, so
 * that both give the same bits.  Elsewhere the word is empty. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && \
  !defined(__clang__)
#define VECTORISED __attribute__((target_clones("avx2", "default")))
#else
#define VECTORISED
#endif

/* exp(x) for x <= 0 to about one unit in the last place, 0 below -708:
 * x = n log 2 + r, |r| <= log(2) / 2, the Taylor polynomial of degree 13 for
 * exp(r) (its remainder is below 5e-18), n added to the exponent bits.  Adding
 * 1.5 * 2^52 rounds to the nearest whole number and leaves it in the low bits. */
static inline double exp_nonpositive(double x) {
  const double magic = 6755399441055744.0; /* 1.5 * 2^52 */
  const double bounded = x < -708.0 ? -708.0 : x;
  const double shifted = bounded * 1.44269504088896338700 + magic;
  const double n = shifted - magic;
  const double r = (bounded - n * 6.93147180369123816490e-01) -
                   n * 1.90821492927058770002e-10;
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  uint64_t bits, exponent;
  memcpy(&exponent, &shifted, sizeof exponent);
  memcpy(&bits, &p, sizeof bits);
  bits += exponent << 52;
  memcpy(&p, &bits, sizeof p);
  return x < -708.0 ? 0.0 : p;
}

#endif
