#include "numeric/rounding.h"

#include "lda/lda.h"

#include <math.h>
#include <string.h>

#include "lda/lda_kernels.h"
#include "lda/lda_model.h"
#include "numeric/rmath.h"

#define BLOCK 8192.0 /* least tokens and half topics in a block of documents */
#define BATCH 128    /* blocks between two calls of `stop`                   */

/* ---- the work space ----------------------------------------------------------- */

static size_t document_length(const lda_data *data, size_t d) {
  return (size_t)(data->start[d + 1] - data->start[d]);
}

/* Half a topic counts as a token: what a document costs beside its tokens. */
static double document_weight(const lda_data *data, size_t d) {
  return (double)document_length(data, d) + 0.5 * (double)data->k;
}

/* Blocks of whole documents; where `block` is given, their first ones. */
static size_t divide(const lda_data *data, size_t *block) {
  size_t blocks = 0;
  double weight = BLOCK;
  for (size_t d = 0; d < data->documents; d++) {
    if (weight >= BLOCK) {
      if (block)
        block[blocks] = d;
      blocks++;
      weight = 0.0;
    }
    weight += document_weight(data, d);
  }
  if (block)
    block[blocks] = data->documents;
  return blocks;
}

static size_t longest_document(const lda_data *data) {
  size_t longest = 0;
  for (size_t d = 0; d < data->documents; d++)
    if (document_length(data, d) > longest)
      longest = document_length(data, d);
  return longest;
}

static lda_tally take_tally(arena *a, size_t size) {
  lda_tally tally;
  tally.size = 0;
  tally.value = arena_take(a, (double)size, sizeof(double));
  tally.times = arena_take(a, (double)size, sizeof(double));
  return tally;
}

static void carve_scratch(lda_model *m, arena *a, lda_scratch *s) {
  const double padded = (double)m->padded;
  lda_document document = {0};
  document.k = m->data.k;
  document.padded = m->padded;
  document.count = arena_take(a, padded, sizeof(int));
  document.t = arena_take(a, padded, sizeof(float));
  document.run = arena_take(a, padded, sizeof(float));
  document.alpha = m->alpha_single;
  document.inverse = m->inverse;
  document.total = m->total;
  const lda_scratch scratch = {
    document, arena_take(a, padded, sizeof(double)),
    arena_take(a, padded, sizeof(uint32_t)),
    arena_take(a, (double)m->longest + 1.0, sizeof(uint32_t)), NULL};
  if (s)
    *s = scratch;
}

static void carve_words(lda_model *m, arena *a, double cells) {
  const double terms = (double)m->data.terms;
  const double uneven = (double)m->uneven;
  const lda_words words = {m->data.terms,
                           m->data.k,
                           m->padded,
                           arena_take(a, terms + 1.0, sizeof(size_t)),
                           arena_take(a, terms, sizeof(uint32_t)),
                           arena_take(a, terms, sizeof(uint32_t)),
                           arena_take(a, cells, sizeof(uint32_t)),
                           NULL,
                           NULL};
  m->words = words;
  if (m->uneven == 0)
    return;
  m->words.uneven = arena_take(a, terms, sizeof(uint32_t));
  m->words.eta = arena_take(a, uneven * (double)m->padded, sizeof(float));
}

static void carve_numbers(lda_model *m, arena *a) {
  const double k = (double)m->data.k;
  m->number = arena_take(a, k, sizeof(uint32_t));
  m->topic = arena_take(a, k, sizeof(uint32_t));
  if (m->data.k > LDA_MAX_NUMBERED)
    return;
  m->shared = arena_take(a, k * k, sizeof(uint32_t));
  m->assignment = assignment_take(a, m->data.k);
}

/* All but the counts of words. */
static void carve_common(lda_model *m, arena *a) {
  const lda_data *data = &m->data;
  const double padded = (double)m->padded, terms = (double)data->terms;
  const size_t distinct = lda_tally_size(data->n);
  m->alpha = arena_take(a, (double)data->k, sizeof(double));
  m->sum_eta = arena_take(a, (double)data->k, sizeof(double));
  m->group = arena_take(a, (double)data->k, sizeof(uint32_t));
  m->alpha_single = arena_take(a, padded, sizeof(float));
  m->inverse = arena_take(a, padded, sizeof(float));
  m->total = arena_take(a, padded, sizeof(double));
  m->phi = arena_take(a, padded * terms, sizeof(float));
  m->partial = arena_take(a, padded * (terms / 64.0 + 1.0), sizeof(double));
  m->block = arena_take(a, (double)m->blocks + 1.0, sizeof(size_t));
  m->block_log_lik = arena_take(a, (double)m->blocks, sizeof(double));
  m->block_log_joint = arena_take(a, (double)m->blocks, sizeof(double));
  m->lengths = take_tally(a, distinct);
  m->document_cells = take_tally(a, distinct);
  m->word_cells = take_tally(a, distinct);
  m->topics = take_tally(a, data->k);
  m->word_histogram = arena_take(a, (double)m->most + 1.0, sizeof(uint32_t));
  m->order =
    arena_take(a, (double)lda_stream_sizes(data).pivot, sizeof(uint32_t));
  m->first = arena_take(a, (double)data->k + 1.0, sizeof(size_t));
  carve_numbers(m, a);
  m->theta = arena_take(
    a, data->keep_theta ? (double)data->k * (double)data->documents : 0.0,
    sizeof(double));
}

/* The counts of words, then what each thread works with. */
static void carve_threads(lda_model *m, arena *a, double cells) {
  const double table = (double)m->padded * (double)m->data.terms;
  m->scratch = arena_take(a, m->threads, sizeof(lda_scratch));
  for (int t = 0; t < m->threads; t++)
    carve_scratch(m, a, a->base ? m->scratch + t : NULL);
  if (m->data.method == LDA_COLLAPSED) {
    carve_words(m, a, cells);
    return;
  }
  m->table = arena_take(a, table * m->threads, sizeof(int));
  for (int t = 0; a->base && t < m->threads; t++)
    m->scratch[t].table = m->table + (size_t)t * m->padded * m->data.terms;
}

static void carve(lda_model *m, arena *a) {
  carve_common(m, a);
  carve_threads(m, a,
                lda_most_cells(m->data.n, m->data.terms, m->uneven, m->data.k));
}

/* Do the topics differ in eta_kw? */
static int is_uneven(const lda_data *data, size_t w) {
  const double *eta = data->eta.value + w * data->k;
  for (size_t j = 1; j < data->k; j++)
    if (eta[j] != eta[0])
      return 1;
  return 0;
}

static size_t count_uneven(const lda_data *data) {
  size_t uneven = 0;
  for (size_t w = 0; w < data->terms; w++)
    uneven += (size_t)is_uneven(data, w);
  if (uneven > 0 && lda_padded(data->k) <= LDA_SHORT_ROW)
    return data->terms;
  return uneven;
}

/* Where eta_kw stands in eta: one number, one a word, or k a word. */
static void set_steps(lda_model *m) {
  const size_t length = m->data.eta.length;
  const int by_topic = m->data.k > 1 && length == m->data.k * m->data.terms;
  m->eta_topic = by_topic ? 1 : 0;
  m->eta_word = by_topic ? m->data.k : length > 1 ? 1 : 0;
  if (by_topic && m->data.method == LDA_COLLAPSED)
    m->uneven = count_uneven(&m->data);
}

static lda_model model_of(const lda_data *data, int threads) {
  lda_model m = {0};
  m.data = *data;
  m.threads = threads < 1 ? 1 : threads;
  m.padded = lda_padded(data->k);
  m.blocks = divide(data, NULL);
  m.longest = longest_document(data);
  m.most = data->n < LDA_MAX_LIST ? data->n : LDA_MAX_LIST;
  set_steps(&m);
  return m;
}

size_t lda_work_size(const lda_data *data, int threads) {
  lda_model m = model_of(data, threads);
  arena count = arena_measure();
  arena_take(&count, 1.0, sizeof(lda_model));
  carve(&m, &count);
  return arena_size(&count);
}

/* ---- counts --------------------------------------------------------------------- */

static int is_sampled(const lda_prior *prior) {
  return prior->kind != LDA_FIXED;
}

/* What follows from alpha and eta, and from n_k. */
static void set_alpha(lda_model *m) {
  const double *alpha = lda_alpha_now(m);
  m->sum_alpha = 0.0;
  for (size_t j = 0; j < m->data.k; j++) {
    m->alpha[j] = alpha[m->data.alpha.length == 1 ? 0 : j];
    m->alpha_single[j] = (float)m->alpha[j];
    m->sum_alpha += m->alpha[j];
  }
}

static void set_eta(lda_model *m) {
  const double *eta = lda_eta_now(m);
  const size_t k = m->data.k;
  for (size_t j = 0; j < k; j++)
    m->sum_eta[j] =
      m->data.eta.length == 1 ? (double)m->data.terms * eta[0] : 0.0;
  for (size_t w = 0; m->data.eta.length > 1 && w < m->data.terms; w++)
    for (size_t j = 0; j < k; j++)
      m->sum_eta[j] += lda_eta(m, w, j);
}

/* The rows of eta of uneven words, in single precision. */
static void set_uneven(lda_model *m) {
  size_t rows = 0;
  for (size_t w = 0; m->uneven > 0 && w < m->data.terms; w++) {
    if (m->uneven < m->data.terms && !is_uneven(&m->data, w))
      continue;
    float *row = m->words.eta + rows * m->padded;
    for (size_t j = 0; j < m->data.k; j++)
      row[j] = (float)lda_eta(m, w, j);
    m->words.uneven[w] = (uint32_t)++rows;
  }
}

static int same_eta(const lda_model *m, size_t i, size_t j) {
  for (size_t w = 0; w < m->data.terms; w++)
    if (lda_eta(m, w, i) != lda_eta(m, w, j))
      return 0;
  return 1;
}

/* A topic has the same eta as the first topic of its group. */
static void set_groups(lda_model *m) {
  for (size_t j = 0; m->eta_topic && j < m->data.k; j++) {
    size_t i = 0;
    while (i < j && !(m->group[i] == i && m->sum_eta[i] == m->sum_eta[j] &&
                      same_eta(m, i, j)))
      i++;
    m->group[j] = (uint32_t)i;
  }
}

/* n_k; the tally of which lists all topics. */
static void set_totals(lda_model *m) {
  m->topics.size = m->data.k;
  for (size_t j = 0; j < m->data.k; j++) {
    m->topics.value[j] = m->total[j];
    m->topics.times[j] = 1.0;
  }
}

void lda_count_document(const lda_model *m, size_t d, int *count) {
  const size_t first = (size_t)m->data.start[d];
  const size_t length = document_length(&m->data, d);
  memset(count, 0, m->padded * sizeof(int));
  for (size_t i = 0; i < length; i++)
    count[m->state.z[first + i]]++;
}

/* log p(z_d | alpha) when alpha differs between the topics. */
static double log_document(const lda_model *m, size_t d, const int *count) {
  double sum = lgammafn(m->sum_alpha) -
               lgammafn(m->sum_alpha + (double)document_length(&m->data, d));
  for (size_t j = 0; j < m->data.k; j++)
    if (count[j])
      sum += lgammafn(m->alpha[j] + count[j]) - lgammafn(m->alpha[j]);
  return sum;
}

/* log p(w | z) when eta differs between the words or the topics. */
static double log_words(const lda_model *m) {
  double sum = 0.0;
  for (size_t j = 0; j < m->data.k; j++)
    sum += lgammafn(m->sum_eta[j]) - lgammafn(m->sum_eta[j] + m->total[j]);
  for (size_t w = 0; w < m->data.terms; w++) {
    const int *count = lda_word_counts(m, w, m->scratch->row);
    for (size_t j = 0; j < m->data.k; j++)
      if (count[j]) {
        const double eta = lda_eta(m, w, j);
        sum += lgammafn(eta + count[j]) - lgammafn(eta);
      }
  }
  return sum;
}

static void tally_document(const lda_model *m, const int *count,
                           uint32_t *histogram) {
  for (size_t j = 0; j < m->data.k; j++)
    histogram[count[j]]++;
}

/* The threads' histograms of n_dk as one tally. */
static void tally_documents(lda_model *m) {
  uint32_t *all = m->scratch[0].histogram;
  for (int t = 1; t < m->threads; t++)
    for (size_t value = 0; value <= m->longest; value++) {
      all[value] += m->scratch[t].histogram[value];
      m->scratch[t].histogram[value] = 0;
    }
  m->document_cells.size = 0;
  lda_tally_from(&m->document_cells, all, m->longest);
}

/* Of counts too large for the histogram there are few. */
static void tally_words(lda_model *m) {
  lda_tally *tally = &m->word_cells;
  tally->size = 0;
  for (size_t w = 0; w < m->data.terms; w++) {
    const int *count = lda_word_counts(m, w, m->scratch->row);
    for (size_t j = 0; j < m->data.k; j++)
      if ((size_t)count[j] <= m->most)
        m->word_histogram[count[j]]++;
      else
        lda_tally_add(tally, count[j]);
  }
  lda_tally_from(tally, m->word_histogram, m->most);
}

/* ---- alpha, eta ------------------------------------------------------------------- */

/* alpha | z, theta integrated out (the notes have alpha | theta). */
static void draw_alpha(lda_model *m) {
  if (is_sampled(&m->data.alpha))
    m->state.alpha[0] =
      lda_slice(&m->data.alpha, &m->document_cells, &m->lengths,
                (double)m->data.k, m->state.alpha[0]);
  set_alpha(m);
}

/* eta | z, w, phi integrated out. */
static void draw_eta(lda_model *m) {
  if (is_sampled(&m->data.eta))
    m->state.eta[0] = lda_slice(&m->data.eta, &m->word_cells, &m->topics,
                                (double)m->data.terms, m->state.eta[0]);
  if (is_sampled(&m->data.eta))
    set_eta(m);
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
  const size_t length = document_length(&m->data, d);
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
    tally_document(m, count, s->histogram);
  if (m->recording && m->data.alpha.length > 1)
    *log_joint += log_document(m, d, count);
}

/* z of one document given phi. */
static status draw_document(const lda_model *m, size_t d, lda_scratch *s,
                            double *log_lik, double *log_joint) {
  const size_t first = (size_t)m->data.start[d];
  const int given_theta = m->data.method == LDA_UNCOLLAPSED;
  lda_document *document = &s->document;
  philox_stream uniforms = philox_open(m->z_key, d, 0);
  lda_count_document(m, d, document->count);
  if (given_theta) {
    set_theta(m, d, document->count, s);
    if (m->recording)
      *log_lik += log_lik_of(m, d, document->t, document->run);
  } else {
    for (size_t j = 0; j < m->data.k; j++)
      document->t[j] = (float)document->count[j] + m->alpha_single[j];
  }
  const status outcome = lda_given_phi(document, m->phi, &uniforms, given_theta,
                                       m->data.word + first, m->state.z + first,
                                       document_length(&m->data, d), s->table);
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
  lda_scratch *s = m->scratch + lda_thread();
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

static int must_stop(const scan_control *control) {
  return control->stop != NULL && control->stop(control->stop_data);
}

/* All blocks, in any order: what they write is theirs alone, or sums of whole
 * numbers. */
static status run_blocks(lda_model *m, int draw, const scan_control *control) {
  const int blocks = (int)m->blocks;
  int failed = 0;
  for (int first = 0; first < blocks; first += BATCH) {
    if (first > 0 && must_stop(control))
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
                             document_length(&m->data, d), uniforms);
      finish_document(m, d, s->document.count, s, m->block_log_joint + b);
    }
  }
  uniforms_give(g, uniforms);
}

static status draw_collapsed(lda_model *m, const scan_control *control) {
  lda_scratch *s = m->scratch;
  lda_words_arrange(&m->words, s->row);
  s->document.sum_eta = m->sum_eta;
  for (size_t j = 0; j < m->data.k; j++)
    m->inverse[j] = lda_inverse(m->total[j] + m->sum_eta[j]);
  for (size_t first = 0; first < m->blocks; first += BATCH) {
    if (first > 0 && must_stop(control))
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
  memset(m->total, 0, m->padded * sizeof(double));
  for (size_t w = 0; w < m->data.terms; w++)
    for (size_t j = 0; j < m->data.k; j++)
      m->total[j] += m->table[w * m->padded + j];
}

static status draw_given_phi(lda_model *m, const scan_control *control) {
  lda_draw_phi(m);
  memset(m->table, 0, m->padded * m->data.terms * sizeof(int));
  const status outcome = run_blocks(m, 1, control);
  merge_tables(m);
  return outcome;
}

/* ---- a sweep -------------------------------------------------------------------------- */

static double sum_of(const double *x, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++)
    sum += x[i];
  return sum;
}

/* log p(w, z, alpha, eta), theta and phi integrated out. */
static double log_joint_of(const lda_model *m) {
  const lda_data *data = &m->data;
  const double documents = data->alpha.length > 1
                             ? sum_of(m->block_log_joint, m->blocks)
                             : lda_log_marginal(&m->document_cells, &m->lengths,
                                                (double)data->k, m->alpha[0]);
  const double words =
    data->eta.length > 1
      ? log_words(m)
      : lda_log_marginal(&m->word_cells, &m->topics, (double)data->terms,
                         lda_eta(m, 0, 0));
  return documents + words + lda_log_prior(&data->alpha, m->alpha[0]) +
         lda_log_prior(&data->eta, lda_eta(m, 0, 0));
}

/* What is recorded of the new topics; collapsed: with phi and theta drawn given
 * them. */
static status record_summaries(lda_model *m, const scan_control *control) {
  status outcome = STATUS_OK;
  lda_stream_numbers(m);
  lda_stream_topics(m);
  lda_stream_documents(m);
  if (m->data.method == LDA_COLLAPSED) {
    lda_draw_phi(m);
    outcome = run_blocks(m, 0, control);
  }
  m->log_lik = sum_of(m->block_log_lik, m->blocks);
  m->log_joint = log_joint_of(m);
  if (outcome == STATUS_OK && !(isfinite(m->log_lik) && isfinite(m->log_joint)))
    outcome = STATUS_NOT_FINITE;
  return outcome;
}

status lda_sweep(void *model, const scan_control *control) {
  lda_model *m = model;
  const int collapsed = m->data.method == LDA_COLLAPSED;
  m->recording = control->recording;
  m->tallying = m->recording || is_sampled(&m->data.alpha);
  if (m->recording)
    *m->state.kept += 1.0;
  draw_alpha(m);
  draw_eta(m);
  /* also where nothing is recorded: thinning must not show in the draws */
  m->phi_key = philox_key_from_r();
  m->theta_key = philox_key_from_r();
  m->z_key = philox_key_from_r();
  status outcome =
    collapsed ? draw_collapsed(m, control) : draw_given_phi(m, control);
  set_totals(m);
  if (m->tallying)
    tally_documents(m);
  if (m->recording || is_sampled(&m->data.eta))
    tally_words(m);
  if (m->recording && outcome == STATUS_OK)
    outcome = record_summaries(m, control);
  return outcome;
}

/* ---- opening and recording ------------------------------------------------------------- */

/* n_kw, n_k and the tallies from z. */
static void count_all(lda_model *m) {
  const lda_data *data = &m->data;
  for (size_t i = 0; i < data->n; i++)
    m->total[m->state.z[i]] += 1.0;
  if (data->method == LDA_COLLAPSED) {
    lda_words_lay_out(&m->words, data->word, data->n);
    lda_words_fill(&m->words, data->word, m->state.z, data->n, m->scratch->row);
  } else {
    for (size_t i = 0; i < data->n; i++)
      m->table[((size_t)data->word[i] - 1) * m->padded + m->state.z[i]]++;
  }
  set_totals(m);
  for (size_t d = 0; is_sampled(&data->alpha) && d < data->documents; d++) {
    lda_count_document(m, d, m->scratch->document.count);
    tally_document(m, m->scratch->document.count, m->scratch->histogram);
  }
  tally_documents(m);
  if (is_sampled(&data->eta))
    tally_words(m);
}

static void tally_lengths(lda_model *m) {
  uint32_t *histogram = m->scratch->histogram;
  for (size_t d = 0; d < m->data.documents; d++)
    histogram[document_length(&m->data, d)]++;
  lda_tally_from(&m->lengths, histogram, m->longest);
}

lda_model *lda_open(const lda_data *data, const lda_state *state, void *work,
                    int threads) {
  const lda_model fresh = model_of(data, threads);
  arena a = arena_over(work);
  lda_model *m = arena_take(&a, 1.0, sizeof(lda_model));
  *m = fresh;
  m->state = *state;
  const double start = a.used;
  carve(m, &a);
  memset(a.base + (size_t)start, 0, (size_t)(a.used - start));
  /* clearing took the scratch areas' addresses with it */
  a.used = start;
  carve(m, &a);
  divide(data, m->block);
  tally_lengths(m);
  if (!is_sampled(&data->eta)) {
    set_eta(m);
    set_uneven(m);
    set_groups(m);
  }
  count_all(m);
  return m;
}

static double topics_used(const lda_model *m) {
  double used = 0.0;
  for (size_t j = 0; j < m->data.k; j++)
    used += m->total[j] > 0.0;
  return used;
}

size_t lda_columns(const lda_data *data) {
  return is_sampled(&data->alpha) + is_sampled(&data->eta) + 3 + data->k +
         (data->keep_theta ? data->documents * data->k : 0) +
         (data->keep_phi ? data->k * data->terms : 0) +
         (data->keep_z ? data->n : 0) + (data->keep_labels ? data->k : 0);
}

/* theta[d, k] and phi[k, w], the first index fastest; z and labels from 1. */
static void record_blocks(const lda_model *m, double *row, size_t stride) {
  const lda_data *data = &m->data;
  const uint32_t *topic = m->topic;
  for (size_t a = 0; data->keep_theta && a < data->k; a++)
    for (size_t d = 0; d < data->documents; d++, row += stride)
      *row = m->theta[d * data->k + topic[a]];
  for (size_t w = 0; data->keep_phi && w < data->terms; w++)
    for (size_t a = 0; a < data->k; a++, row += stride)
      *row = (double)m->phi[w * m->padded + topic[a]];
  for (size_t i = 0; data->keep_z && i < data->n; i++, row += stride)
    *row = m->number[m->state.z[i]] + 1.0;
  for (size_t a = 0; data->keep_labels && a < data->k; a++, row += stride)
    *row = topic[a] + 1.0;
}

void lda_record(void *model, double *row, size_t stride) {
  const lda_model *m = model;
  if (is_sampled(&m->data.alpha)) {
    *row = m->state.alpha[0];
    row += stride;
  }
  if (is_sampled(&m->data.eta)) {
    *row = m->state.eta[0];
    row += stride;
  }
  row[0] = m->log_joint;
  row[stride] = m->log_lik / (double)m->data.n;
  row[2 * stride] = topics_used(m);
  row += 3 * stride;
  for (size_t a = 0; a < m->data.k; a++, row += stride)
    *row = m->total[m->topic[a]];
  record_blocks(m, row, stride);
}
