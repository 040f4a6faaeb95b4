/* The quantile function of the standard normal distribution for one width of
 * vector: the two rational approximations of AS 241, routine PPND16 (Wichura
 * 1988, doi:10.2307/2347330), that cover all but 3e-11 of the distribution.
 * normals.c includes this file once for each width, after lanes_next.h.  Products
 * and sums stand in Horner's order, as in R's qnorm(), so that the bits are R's
 * (normals.c says which products are fused). */

/* y x + a */
#define STEP(y, x, a) LANE_FMA(y, x, LANE_SPLAT(a))

/* |p - 1/2| <= 0.425: x[i] <- quantile of p = x[i] + 1/2. */
LANE_TARGET static void LANE_NAME(central)(double *x, size_t n) {
  for (size_t i = 0; i < n; i += WIDTH) {
    const VEC q = FROM(x + i), r = STEP(-q, q, 0.180625);
    VEC above =
      STEP(r, LANE_SPLAT(2509.0809287301226727), 33430.575583588128105);
    VEC below =
      STEP(r, LANE_SPLAT(5226.495278852854561), 28729.085735721942674);
    above = STEP(above, r, 67265.770927008700853);
    below = STEP(below, r, 39307.89580009271061);
    above = STEP(above, r, 45921.953931549871457);
    below = STEP(below, r, 21213.794301586595867);
    above = STEP(above, r, 13731.693765509461125);
    below = STEP(below, r, 5394.1960214247511077);
    above = STEP(above, r, 1971.5909503065514427);
    below = STEP(below, r, 687.1870074920579083);
    above = STEP(above, r, 133.14166789178437745);
    below = STEP(below, r, 42.313330701600911252);
    above = STEP(above, r, 3.387132872796366608);
    below = STEP(below, r, 1.0);
    AT(x + i) = q * above / below;
  }
}

/* The upper tail: z[i] <- quantile of 1 - p, root[i] = sqrt(-log p) <= 5. */
LANE_TARGET static void LANE_NAME(tail)(const double *root, size_t n,
                                        double *z) {
  for (size_t i = 0; i < n; i += WIDTH) {
    const VEC r = FROM(root + i) - 1.6;
    VEC above =
      STEP(r, LANE_SPLAT(7.7454501427834140764e-4), 0.0227238449892691845833);
    VEC below =
      STEP(r, LANE_SPLAT(1.05075007164441684324e-9), 5.475938084995344946e-4);
    above = STEP(above, r, 0.24178072517745061177);
    below = STEP(below, r, 0.0151986665636164571966);
    above = STEP(above, r, 1.27045825245236838258);
    below = STEP(below, r, 0.14810397642748007459);
    above = STEP(above, r, 3.64784832476320460504);
    below = STEP(below, r, 0.68976733498510000455);
    above = STEP(above, r, 5.7694972214606914055);
    below = STEP(below, r, 1.6763848301838038494);
    above = STEP(above, r, 4.6303378461565452959);
    below = STEP(below, r, 2.05319162663775882187);
    above = STEP(above, r, 1.42343711074968357734);
    below = STEP(below, r, 1.0);
    AT(z + i) = above / below;
  }
}

#undef STEP

typedef uint64_t LANE_NAME(pair)
  __attribute__((vector_size(LANE_BYTES), may_alias));
#define PAIR LANE_NAME(pair)

/* Products of numbers below 2^32, for which gcc does not find the instruction. */
#if LANE_BYTES == 32
#define PRODUCT(a, b) ((PAIR)_mm256_mul_epu32((__m256i)(a), (__m256i)(b)))
#else
#define PRODUCT(a, b) ((a) * (b))
#endif

/* (0, 1) cut into 2^52 cells: the midpoint of that of a pair of words. */
#define MIDPOINT(high, low)                                               \
  (((VEC)((((high) << 32 | (low)) >> 12) | 0x4330000000000000) - 0x1p52 + \
    0.5) *                                                                \
   0x1p-52)

/* p <- uniforms of the blocks first, first + 1, ... of Philox4x32-10, two of each,
 * `count` of them rounded up to whole vectors of blocks.  A word has a place of 64
 * bits; philox_block() says what happens to it. */
LANE_TARGET static void LANE_NAME(keyed)(philox_key key, uint64_t first,
                                         double *p, size_t count) {
  const PAIR word = {0}, low = word + 0xffffffff;
  const PAIR m0 = word + 0xD2511F53, m1 = word + 0xCD9E8D57;
  for (size_t i = 0; i < count; i += 2 * WIDTH, p += 2 * WIDTH) {
    PAIR c0 = word, c1 = word, c2 = word, c3 = word;
    for (size_t l = 0; l < WIDTH; l++)
      c0[l] = first++;
    c1 = c0 >> 32;
    c0 &= low;
    uint32_t k0 = key.key[0], k1 = key.key[1];
    for (int round = 0; round < 10; round++) {
      const PAIR p0 = PRODUCT(c0, m0), p1 = PRODUCT(c2, m1);
      c0 = (p1 >> 32) ^ c1 ^ k0;
      c1 = p1 & low;
      c2 = (p0 >> 32) ^ c3 ^ k1;
      c3 = p0 & low;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    const VEC one = MIDPOINT(c0, c1), other = MIDPOINT(c2, c3);
    for (size_t l = 0; l < WIDTH; l++) {
      p[2 * l] = one[l];
      p[2 * l + 1] = other[l];
    }
  }
}

#undef MIDPOINT
#undef PRODUCT
#undef PAIR
