#include "lda_kernels.h"

#include <math.h>

#include "lanes.h"
#include "rmath.h"

#define LANE_BYTES 16
#define LANE_NAME(x) x##_16
#define LANE_TARGET
#include "lda_kernel.h"
#undef LANE_BYTES
#undef LANE_NAME
#undef LANE_TARGET

#if LANES_WIDE
#define LANE_BYTES 32
#define LANE_NAME(x) x##_32
#define LANE_TARGET LANES_WIDE_TARGET
#include "lda_kernel.h"
#define CALL(name, ...) \
  (lanes_wide() ? name##_32(__VA_ARGS__) : name##_16(__VA_ARGS__))
#else
#define CALL(name, ...) name##_16(__VA_ARGS__)
#endif

void lda_collapsed_document(lda_document *d, lda_words *words,
                            const double *eta, size_t eta_step, const int *word,
                            uint16_t *z, size_t n) {
  CALL(collapsed_document, d, words, eta, eta_step, word, z, n);
}

status lda_given_phi(lda_document *d, const float *phi, philox_stream *uniforms,
                     int theta, const int *word, uint16_t *z, size_t n,
                     int *table) {
  return CALL(given_phi, d, phi, uniforms, theta, word, z, n, table);
}

double lda_dot(const float *x, const float *y, size_t padded, float *run) {
  return CALL(dot, x, y, padded, run);
}
