#include "numeric/rounding.h"

#include "lda/lda_kernels.h"

#include <math.h>

#include "numeric/lanes.h"

/* What a width has names of its own for: t at four or eight cells' topics; running
 * sums of eight numbers, within each half, then the first half's total onto the
 * second, which is the order of lda_scan() (lda_pick.h); the last of them; the same
 * number without the others; how many of them `rest` has passed; the cell of a
 * topic. */

LANES_VECTOR(float, 16, floats_16, floats_place_16);
LANES_VECTOR(int, 16, ints_16, ints_place_16);
typedef struct {
  floats_16 a, b;
} octet_16;

static inline floats_16 look_up_16(const float *t, const uint32_t *cell) {
  const floats_16 found = {t[cell[0] & LDA_TOPIC], t[cell[1] & LDA_TOPIC],
                           t[cell[2] & LDA_TOPIC], t[cell[3] & LDA_TOPIC]};
  return found;
}

static inline octet_16 scan_16(octet_16 x) {
  float *number = (float *)&x;
  lda_scan(number, number);
  return x;
}

static inline float last_16(octet_16 x) {
  return x.b[3];
}

static inline float total_16(octet_16 x) {
  const float first = (x.a[0] + x.a[1]) + (x.a[2] + x.a[3]);
  return ((x.b[0] + x.b[1]) + (x.b[2] + x.b[3])) + first;
}

static inline size_t passed_16(octet_16 sums, float rest) {
  return lda_passed((const float *)&sums, rest);
}

#define find_16 lda_list_find
#define LANE_BYTES 16
#define LANE_NAME(x) x##_16
#define LANE_TARGET
#define PAIR(...) __VA_ARGS__
#include "lda/lda_kernel.h"
#undef LANE_BYTES
#undef LANE_NAME
#undef LANE_TARGET
#undef PAIR

#if LANES_WIDE
#include <immintrin.h>

LANES_VECTOR(float, 32, floats_32, floats_place_32);
LANES_VECTOR(int, 32, ints_32, ints_place_32);
typedef struct {
  floats_32 a;
} octet_32;

LANES_WIDE_TARGET static inline floats_32 look_up_32(const float *t,
                                                     const uint32_t *cell) {
  const floats_32 found = {t[cell[0] & LDA_TOPIC], t[cell[1] & LDA_TOPIC],
                           t[cell[2] & LDA_TOPIC], t[cell[3] & LDA_TOPIC],
                           t[cell[4] & LDA_TOPIC], t[cell[5] & LDA_TOPIC],
                           t[cell[6] & LDA_TOPIC], t[cell[7] & LDA_TOPIC]};
  return found;
}

/* Numbers of each half moved up by so many bytes. */
#define MOVED_UP(x, bytes) \
  _mm256_castsi256_ps(_mm256_slli_si256(_mm256_castps_si256(x), bytes))

LANES_WIDE_TARGET static inline octet_32 scan_32(octet_32 x) {
  const __m256 all = (__m256)x.a;
  const __m256 pair = _mm256_add_ps(all, MOVED_UP(all, 4));
  const __m256 half = _mm256_add_ps(pair, MOVED_UP(pair, 8));
  const __m256 total = _mm256_permute_ps(half, 0xFF);
  const __m256 first = _mm256_permute2f128_ps(total, total, 0x08);
  x.a = (floats_32)_mm256_add_ps(half, first);
  return x;
}

LANES_WIDE_TARGET static inline float last_32(octet_32 x) {
  return x.a[7];
}

LANES_WIDE_TARGET static inline float total_32(octet_32 x) {
  const __m256 all = (__m256)x.a;
  const __m256 pair = _mm256_add_ps(all, _mm256_movehdup_ps(all));
  const __m256 half = _mm256_add_ps(pair, _mm256_permute_ps(pair, 0x02));
  const __m128 second = _mm256_extractf128_ps(half, 1);
  return _mm_cvtss_f32(_mm_add_ss(second, _mm256_castps256_ps128(half)));
}

LANES_WIDE_TARGET static inline size_t passed_32(octet_32 sums, float rest) {
  const __m256 beyond =
    _mm256_cmp_ps((__m256)sums.a, _mm256_set1_ps(rest), _CMP_LE_OQ);
  const int passed = __builtin_popcount((unsigned)_mm256_movemask_ps(beyond));
  return passed < 8 ? (size_t)passed : 7;
}

LANES_WIDE_TARGET static inline size_t find_32(const uint32_t *cell,
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

#define LANE_BYTES 32
#define LANE_NAME(x) x##_32
#define LANE_TARGET LANES_WIDE_TARGET
#define PAIR(...)
#include "lda/lda_kernel.h"
#define CALL(name, ...) \
  (lanes_wide() ? name##_32(__VA_ARGS__) : name##_16(__VA_ARGS__))
#else
#define CALL(name, ...) name##_16(__VA_ARGS__)
#endif

void lda_collapsed_document(lda_document *d, lda_words *words,
                            const double *eta, size_t eta_step, const int *word,
                            uint16_t *z, size_t n, uint32_t *uniforms) {
  CALL(collapsed_document, d, words, eta, eta_step, word, z, n, uniforms);
}

status lda_given_phi(lda_document *d, const float *phi, philox_stream *uniforms,
                     int theta, const int *word, uint16_t *z, size_t n,
                     int *table) {
  return CALL(given_phi, d, phi, uniforms, theta, word, z, n, table);
}

double lda_dot(const float *x, const float *y, size_t padded, float *run) {
  return CALL(dot, x, y, padded, run);
}
