/* Eight floats in vectors of one width: two of 16 bytes or one of 32.  lda_kernel.h
 * includes this file once for each width, after lanes_next.h.
 *   PAIR(x)   x where eight floats take two vectors, else nothing
 *   find      the cell of a topic in a list that has it (lda_words.h)  */

#define OCTET LANE_NAME(octet)

#if LANE_BYTES == 16

#define PAIR(...) __VA_ARGS__

typedef struct {
  VEC a, b;
} OCTET;

/* t at the topics of some cells */
LANE_TARGET static inline VEC LANE_NAME(look_up)(const float *t,
                                                 const uint32_t *cell) {
  const VEC found = {t[cell[0] & LDA_TOPIC], t[cell[1] & LDA_TOPIC],
                     t[cell[2] & LDA_TOPIC], t[cell[3] & LDA_TOPIC]};
  return found;
}

/* Running sums in the order of lda_scan() (lda_pick.h): within each half, then the
 * first half's total onto the second. */
LANE_TARGET static inline OCTET LANE_NAME(scan)(OCTET x) {
  float *number = (float *)&x;
  lda_scan(number, number);
  return x;
}

LANE_TARGET static inline float LANE_NAME(last)(OCTET x) {
  return x.b[3];
}

/* The last number of scan() without the others. */
LANE_TARGET static inline float LANE_NAME(total)(OCTET x) {
  const float first = (x.a[0] + x.a[1]) + (x.a[2] + x.a[3]);
  return ((x.b[0] + x.b[1]) + (x.b[2] + x.b[3])) + first;
}

/* How many running sums are at most `rest`: lda_passed(). */
LANE_TARGET static inline size_t LANE_NAME(passed)(OCTET sums, float rest) {
  return lda_passed((const float *)&sums, rest);
}

LANE_TARGET static inline size_t LANE_NAME(find)(const uint32_t *cell,
                                                 uint32_t topic) {
  return lda_list_find(cell, topic);
}

#else

#undef PAIR
#define PAIR(...)

typedef struct {
  VEC a;
} OCTET;

LANE_TARGET static inline VEC LANE_NAME(look_up)(const float *t,
                                                 const uint32_t *cell) {
  const VEC found = {t[cell[0] & LDA_TOPIC], t[cell[1] & LDA_TOPIC],
                     t[cell[2] & LDA_TOPIC], t[cell[3] & LDA_TOPIC],
                     t[cell[4] & LDA_TOPIC], t[cell[5] & LDA_TOPIC],
                     t[cell[6] & LDA_TOPIC], t[cell[7] & LDA_TOPIC]};
  return found;
}

/* Numbers of each half moved up by so many bytes. */
#define MOVED_UP(x, bytes) \
  _mm256_castsi256_ps(_mm256_slli_si256(_mm256_castps_si256(x), bytes))

LANE_TARGET static inline OCTET LANE_NAME(scan)(OCTET x) {
  const __m256 all = (__m256)x.a;
  const __m256 pair = _mm256_add_ps(all, MOVED_UP(all, 4));
  const __m256 half = _mm256_add_ps(pair, MOVED_UP(pair, 8));
  const __m256 total = _mm256_permute_ps(half, 0xFF);
  const __m256 first = _mm256_permute2f128_ps(total, total, 0x08);
  x.a = (VEC)_mm256_add_ps(half, first);
  return x;
}

#undef MOVED_UP

LANE_TARGET static inline float LANE_NAME(last)(OCTET x) {
  return x.a[7];
}

LANE_TARGET static inline float LANE_NAME(total)(OCTET x) {
  const __m256 all = (__m256)x.a;
  const __m256 pair = _mm256_add_ps(all, _mm256_movehdup_ps(all));
  const __m256 half = _mm256_add_ps(pair, _mm256_permute_ps(pair, 0x02));
  const __m128 second = _mm256_extractf128_ps(half, 1);
  return _mm_cvtss_f32(_mm_add_ss(second, _mm256_castps256_ps128(half)));
}

LANE_TARGET static inline size_t LANE_NAME(passed)(OCTET sums, float rest) {
  const __m256 beyond =
    _mm256_cmp_ps((__m256)sums.a, _mm256_set1_ps(rest), _CMP_LE_OQ);
  const int passed = __builtin_popcount((unsigned)_mm256_movemask_ps(beyond));
  return passed < 8 ? (size_t)passed : 7;
}

LANE_TARGET static inline size_t LANE_NAME(find)(const uint32_t *cell,
                                                 uint32_t topic) {
  const __m256i topics = _mm256_set1_epi32((int)LDA_TOPIC);
  for (size_t i = 0;; i += 8) {
    const __m256i cells =
      _mm256_loadu_si256((const __m256i *)(const void *)(cell + i));
    const __m256i found = _mm256_cmpeq_epi32(_mm256_and_si256(cells, topics),
                                             _mm256_set1_epi32((int)topic));
    const int mask = _mm256_movemask_ps(_mm256_castsi256_ps(found));
    if (mask)
      return i + (size_t)__builtin_ctz((unsigned)mask);
  }
}

#endif
