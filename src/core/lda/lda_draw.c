/* The Dirichlet blocks of LDA.  Their gammas are rejection draws inside parallel
 * loops: Philox, keyed by two words of R's generator a block a sweep, an item a
 * word or a document. */
#include "numeric/rounding.h"

#include "lda/lda_model.h"

#include <math.h>
#include <string.h>

#define WORDS 64 /* words in a block */

/* Sums of gammas below this may have lost terms to underflow. */
#define SMALL 1e-12

/* Probabilities below this are 0 in single precision: products with them would lie
 * where processors are slow or have no numbers.  One topic of each token has a
 * gamma of shape above 1 on either side, so that what is lost is below rounding. */
#define NOTHING 1e-18f

float lda_single(double p) {
  return p > NOTHING ? (float)p : 0.0f;
}

const int *lda_word_counts(const lda_model *m, size_t w, uint32_t *scratch) {
  return m->data.method == LDA_COLLAPSED ? lda_words_row(&m->words, w, scratch)
                                         : m->table + w * m->padded;
}

/* ---- theta ------------------------------------------------------------------ */

/* theta_d | alpha, z ~ Dir(alpha_k + n_dk)   (Daume, p. 4) */
void lda_draw_theta(const lda_model *m, size_t d, const int *count,
                    double *theta) {
  const size_t k = m->data.k, item = m->data.first_document + d;
  philox_stream stream = philox_open(m->theta_key, item, 0);
  double sum = 0.0;
  for (size_t j = 0; j < k; j++) {
    theta[j] = philox_gamma(&stream, m->alpha[j] + (double)count[j]);
    sum += theta[j];
  }
  if (sum > SMALL) {
    for (size_t j = 0; j < k; j++)
      theta[j] /= sum;
    return;
  }
  /* the same variates in logarithms */
  stream = philox_open(m->theta_key, item, 0);
  for (size_t j = 0; j < k; j++)
    theta[j] = m->alpha[j] + (double)count[j];
  philox_log_dirichlet(&stream, theta, k, theta);
  for (size_t j = 0; j < k; j++)
    theta[j] = exp(theta[j]);
}

/* ---- phi -------------------------------------------------------------------- */

/* Gammas of the words of one block, and their sums by topic. */
static void draw_words(lda_model *m, size_t block, uint32_t *row) {
  const size_t k = m->data.k, padded = m->padded;
  const size_t end = (block + 1) * WORDS;
  double *sum = m->partial + block * padded;
  memset(sum, 0, padded * sizeof(double));
  for (size_t w = block * WORDS; w < end && w < m->data.terms; w++) {
    const int *count = lda_word_counts(m, w, row);
    philox_stream stream = philox_open(m->phi_key, w, 0);
    float *phi = m->phi + w * padded;
    for (size_t j = 0; j < k; j++) {
      const double gamma =
        philox_gamma(&stream, lda_eta(m, w, j) + (double)count[j]);
      phi[j] = gamma > 1e-30 ? (float)gamma : 0.0f;
      sum[j] += gamma;
    }
  }
}

static void scale_words(lda_model *m, size_t block, const float *factor) {
  const size_t padded = m->padded, end = (block + 1) * WORDS;
  for (size_t w = block * WORDS; w < end && w < m->data.terms; w++)
    for (size_t j = 0; j < padded; j++)
      m->phi[w * padded + j] = lda_single(m->phi[w * padded + j] * factor[j]);
}

/* log of the gamma of topic k and each word in turn */
static double log_gamma_of(const lda_model *m, size_t w, size_t k,
                           uint32_t *row) {
  const int *count = lda_word_counts(m, w, row);
  philox_stream stream = philox_open(m->phi_key, w, 0);
  for (size_t j = 0; j < k; j++)
    philox_gamma(&stream, lda_eta(m, w, j) + (double)count[j]);
  return philox_log_gamma(&stream, lda_eta(m, w, k) + (double)count[k]);
}

/* A topic whose gammas underflow (next to no tokens, a tiny eta): the same variates
 * in logarithms. */
static void draw_topic_in_logs(lda_model *m, size_t k, uint32_t *row) {
  double largest = -INFINITY, sum = 0.0;
  for (size_t w = 0; w < m->data.terms; w++) {
    const double x = log_gamma_of(m, w, k, row);
    if (x > largest) {
      sum = sum * exp(largest - x) + 1.0;
      largest = x;
    } else {
      sum += exp(x - largest);
    }
  }
  const double log_sum = log(sum);
  for (size_t w = 0; w < m->data.terms; w++)
    m->phi[w * m->padded + k] =
      lda_single(exp(log_gamma_of(m, w, k, row) - largest - log_sum));
}

/* phi_k | eta, z, w ~ Dir(eta_kw + n_kw)   (Daume, p. 4; his beta_k, with the
 * indicator's index mended) */
void lda_draw_phi(lda_model *m) {
  const size_t padded = m->padded;
  const int blocks = (int)((m->data.terms + WORDS - 1) / WORDS);
  lda_scratch *own = m->scratch;
  float *factor = own->document.run;
  double *sum = m->partial;
#ifdef _OPENMP
#pragma omp parallel for num_threads(m->threads) \
  schedule(dynamic) if (m->threads > 1)
#endif
  for (int b = 0; b < blocks; b++)
    draw_words(m, (size_t)b, m->scratch[parts_thread()].row);
  for (size_t b = 1; b < (size_t)blocks; b++)
    for (size_t j = 0; j < m->data.k; j++)
      sum[j] += m->partial[b * padded + j];
  for (size_t j = 0; j < padded; j++)
    factor[j] = j < m->data.k && sum[j] > SMALL ? (float)(1.0 / sum[j]) : 0.0f;
#ifdef _OPENMP
#pragma omp parallel for num_threads(m->threads) \
  schedule(static) if (m->threads > 1)
#endif
  for (int b = 0; b < blocks; b++)
    scale_words(m, (size_t)b, factor);
  for (size_t j = 0; j < m->data.k; j++)
    if (!(sum[j] > SMALL))
      draw_topic_in_logs(m, j, own->row);
}
