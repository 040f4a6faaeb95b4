#include "numeric/rounding.h"

#include <math.h>
#include <string.h>

#include "lda/lda_kernels.h"
#include "lda/lda_model.h"
#include "numeric/rmath.h"

#define BATCH 128 /* blocks between two calls of `stop` */

/* ---- alpha, eta ------------------------------------------------------------------- */

/* alpha | z, theta integrated out (the notes have alpha | theta). */
void lda_draw_alpha(lda_model *m) {
  if (lda_is_sampled(&m->data.alpha))
    m->state.alpha[0] =
      lda_slice(&m->data.alpha, &m->document_cells, &m->lengths,
                (double)m->data.k, m->state.alpha[0]);
  lda_set_alpha(m);
}

/* eta | z, w, phi integrated out. */
void lda_draw_eta(lda_model *m) {
  if (lda_is_sampled(&m->data.eta))
    m->state.eta[0] = lda_slice(&m->data.eta, &m->word_cells, &m->topics,
                                (double)m->data.terms, m->state.eta[0]);
  if (lda_is_sampled(&m->data.eta))
    lda_set_eta(m);
}

/* ---- documents -------------------------------------------------------------------- */

static void single(const double *x, size_t k, float *y) {
  for (size_t j = 0; j < k; j++)
    y[j] = lda_single(x[j]);
}

/* sum over the tokens of log p(w_i | theta_d, phi); equal words stand side by
 * side more often than not. */
static double log_lik_of(const lda_model *m, size_t d, const float *theta,
                         float *run) {
  const size_t first = (size_t)m->data.start[d];
  const size_t length = lda_document_length(&m->data, d);
  double sum = 0.0, last = 0.0;
  for (size_t i = 0; i < length; i++) {
    const size_t w = (size_t)m->data.word[first + i] - 1;
    if (i == 0 || m->data.word[first + i] != m->data.word[first + i - 1])
      last = log(lda_dot(theta, m->phi + w * m->padded, m->padded, run));
    sum += last;
  }
  return sum;
}

/* theta_d | alpha, z into the document's factors; recorded where asked for. */
static void set_theta(const lda_model *m, size_t d, const int *count,
                      lda_scratch *s) {
  lda_draw_theta(m, d, count, s->theta);
  single(s->theta, m->data.k, s->document.t);
  if (m->recording && m->data.keep_theta)
    memcpy(m->theta + d * m->data.k, s->theta, m->data.k * sizeof(double));
}

/* What is kept of a document once its topics are drawn. */
static void finish_document(const lda_model *m, size_t d, const int *count,
                            lda_scratch *s, double *log_joint) {
  if (m->tallying)
    lda_tally_document(m, count, s->histogram);
  if (m->recording && m->data.alpha.length > 1)
    *log_joint += lda_log_document(m, d, count);
}

/* z of one document given phi. */
static status draw_document(const lda_model *m, size_t d, lda_scratch *s,
                            double *log_lik, double *log_joint) {
  const size_t first = (size_t)m->data.start[d];
  const int given_theta = m->data.method == LDA_UNCOLLAPSED;
  lda_document *document = &s->document;
  philox_stream uniforms = philox_open(m->z_key, m->data.first_document + d, 0);
  lda_count_document(m, d, document->count);
  if (given_theta) {
    set_theta(m, d, document->count, s);
    if (m->recording)
      *log_lik += log_lik_of(m, d, document->t, document->run);
  } else {
    for (size_t j = 0; j < m->data.k; j++)
      document->t[j] = (float)document->count[j] + m->alpha_single[j];
  }
  const status outcome = lda_given_phi(
    document, m->phi, &uniforms, given_theta, m->data.word + first,
    m->state.z + first, lda_document_length(&m->data, d), s->table);
  if (given_theta && (m->tallying || m->recording))
    lda_count_document(m, d, document->count);
  finish_document(m, d, document->count, s, log_joint);
  return outcome;
}

/* log p(w_d | theta_d, phi) with theta_d drawn given the document's topics. */
static double score_document(const lda_model *m, size_t d, lda_scratch *s) {
  lda_count_document(m, d, s->document.count);
  set_theta(m, d, s->document.count, s);
  return log_lik_of(m, d, s->document.t, s->document.run);
}

/* One block of documents: draw (given phi) and score where that comes after. */
static status run_block(lda_model *m, size_t b, int draw) {
  lda_scratch *s = m->scratch + parts_thread();
  const int score = m->recording && m->data.method != LDA_UNCOLLAPSED;
  status outcome = STATUS_OK;
  double log_lik = 0.0, log_joint = 0.0;
  for (size_t d = m->block[b]; d < m->block[b + 1]; d++) {
    if (draw && outcome == STATUS_OK)
      outcome = draw_document(m, d, s, &log_lik, &log_joint);
    if (score)
      log_lik += score_document(m, d, s);
  }
  m->block_log_lik[b] = log_lik;
  if (draw)
    m->block_log_joint[b] = log_joint;
  return outcome;
}

/* All blocks, in any order: what they write is theirs alone, or sums of whole
 * numbers. */
static status run_blocks(lda_model *m, int draw, const scan_control *control) {
  const int blocks = (int)m->blocks;
  int failed = 0;
  for (int first = 0; first < blocks; first += BATCH) {
    if (first > 0 && scan_must_stop(control))
      return STATUS_INTERRUPTED;
    const int last = first + BATCH < blocks ? first + BATCH : blocks;
#ifdef _OPENMP
#pragma omp parallel for num_threads(m->threads) schedule(dynamic) \
  reduction(+ : failed) if (m->threads > 1)
#endif
    for (int b = first; b < last; b++)
      failed += run_block(m, (size_t)b, draw) != STATUS_OK;
  }
  return failed ? STATUS_NOT_FINITE : STATUS_OK;
}

status lda_score_blocks(lda_model *m, const scan_control *control) {
  return run_blocks(m, 0, control);
}

/* ---- z | alpha, eta, w -------------------------------------------------------------- */

/* Blocks first, ..., last - 1, token by token, one uniform a token in the tokens'
 * order. */
static void draw_blocks(lda_model *m, size_t first, size_t last,
                        const generator *g) {
  lda_scratch *s = m->scratch;
  const double *start = m->data.start;
  const size_t begin = m->block[first], end = m->block[last];
  const size_t tokens = (size_t)(start[end] - start[begin]);
  uint32_t *const uniforms = uniforms_take(g, tokens);
  for (size_t b = first; b < last; b++) {
    m->block_log_joint[b] = 0.0;
    for (size_t d = m->block[b]; d < m->block[b + 1]; d++) {
      const size_t at = (size_t)start[d];
      lda_count_document(m, d, s->document.count);
      lda_collapsed_document(&s->document, &m->words, lda_eta_now(m),
                             m->eta_word, m->data.word + at, m->state.z + at,
                             lda_document_length(&m->data, d), uniforms);
      finish_document(m, d, s->document.count, s, m->block_log_joint + b);
    }
  }
  uniforms_give(g, uniforms);
}

status lda_draw_collapsed(lda_model *m, const scan_control *control) {
  lda_scratch *s = m->scratch;
  lda_words_arrange(&m->words, s->row);
  s->document.sum_eta = m->sum_eta;
  for (size_t j = 0; j < m->data.k; j++)
    m->inverse[j] = lda_inverse(m->total[j] + m->sum_eta[j]);
  for (size_t first = 0; first < m->blocks; first += BATCH) {
    if (first > 0 && scan_must_stop(control))
      return STATUS_INTERRUPTED;
    const size_t last = first + BATCH < m->blocks ? first + BATCH : m->blocks;
    draw_blocks(m, first, last, &control->generator);
  }
  return STATUS_OK;
}

/* ---- z | phi, w ---------------------------------------------------------------------- */

/* The threads' counts of one word into the first table. */
static void merge_word(lda_model *m, size_t w) {
  const size_t padded = m->padded, size = padded * m->data.terms;
  int *all = m->table + w * padded;
  for (int t = 1; t < m->threads; t++) {
    int *part = all + (size_t)t * size;
    for (size_t j = 0; j < padded; j++)
      all[j] += part[j];
    memset(part, 0, padded * sizeof(int));
  }
}

static void merge_tables(lda_model *m) {
  const int terms = m->threads > 1 ? (int)m->data.terms : 0;
#ifdef _OPENMP
#pragma omp parallel for num_threads(m->threads) \
  schedule(static) if (m->threads > 1)
#endif
  for (int w = 0; w < terms; w++)
    merge_word(m, (size_t)w);
}

status lda_draw_documents(lda_model *m, const scan_control *control) {
  memset(m->table, 0, m->padded * m->data.terms * sizeof(int));
  const status outcome = run_blocks(m, 1, control);
  merge_tables(m);
  return outcome;
}

status lda_draw_given_phi(lda_model *m, const scan_control *control) {
  status outcome = STATUS_OK;
  lda_draw_phi(m);
  if (m->data.ask)
    m->data.ask(m->data.context, m, LDA_DRAW);
  else
    outcome = lda_draw_documents(m, control);
  lda_sum_table(m);
  return outcome;
}
