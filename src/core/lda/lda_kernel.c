#include "numeric/rounding.h"

#include "lda/lda_kernels.h"

#include <math.h>

#define LANES_NUMBER float
#define LANES_BITS int
#define LANES_UPTO 32
#define LANES_KERNEL "lda/lda_kernel.h"
#include "numeric/lanes_each.h"

void lda_collapsed_document(lda_document *d, lda_words *words,
                            const double *eta, size_t eta_step, const int *word,
                            uint16_t *z, size_t n, uint32_t *uniforms) {
  LANES_CHOOSE(collapsed_document)
  (d, words, eta, eta_step, word, z, n, uniforms);
}

status lda_given_phi(lda_document *d, const float *phi, philox_stream *uniforms,
                     int theta, const int *word, uint16_t *z, size_t n,
                     int *table) {
  return LANES_CHOOSE(given_phi)(d, phi, uniforms, theta, word, z, n, table);
}

double lda_dot(const float *x, const float *y, size_t padded, float *run) {
  return LANES_CHOOSE(dot)(x, y, padded, run);
}
