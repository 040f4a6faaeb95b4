#include "numeric/rounding.h"

#include "lda/lda.h"

#include <math.h>
#include <string.h>

#include "lda/lda_kernels.h"
#include "lda/lda_model.h"

#define BLOCK 8192.0 /* least tokens and half topics in a block of documents */

/* ---- the work space ----------------------------------------------------------- */

/* Half a topic counts as a token: what a document costs beside its tokens. */
static double document_weight(const lda_data *data, size_t d) {
  return (double)lda_document_length(data, d) + 0.5 * (double)data->k;
}

/* Blocks of whole documents. */
size_t lda_divide(const lda_data *data, size_t *block) {
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
    if (lda_document_length(data, d) > longest)
      longest = lda_document_length(data, d);
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

static size_t count_uneven(const lda_data *data) {
  size_t uneven = 0;
  for (size_t w = 0; w < data->terms; w++)
    uneven += (size_t)lda_is_uneven(data, w);
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
  m.blocks = data->block ? data->blocks : lda_divide(data, NULL);
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
      ? lda_log_words(m)
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
    outcome = lda_score_blocks(m, control);
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
  m->tallying = m->recording || lda_is_sampled(&m->data.alpha);
  if (m->recording)
    *m->state.kept += 1.0;
  lda_draw_alpha(m);
  lda_draw_eta(m);
  /* also where nothing is recorded: thinning must not show in the draws */
  m->phi_key = philox_key_from_r();
  m->theta_key = philox_key_from_r();
  m->z_key = philox_key_from_r();
  status outcome =
    collapsed ? lda_draw_collapsed(m, control) : lda_draw_given_phi(m, control);
  lda_set_totals(m);
  if (m->tallying)
    lda_tally_documents(m);
  if (m->recording || lda_is_sampled(&m->data.eta))
    lda_tally_words(m);
  if (m->recording && outcome == STATUS_OK)
    outcome = record_summaries(m, control);
  return outcome;
}

/* ---- opening and recording ------------------------------------------------------------- */

static void set_blocks(lda_model *m) {
  if (m->data.block == NULL) {
    lda_divide(&m->data, m->block);
    return;
  }
  for (size_t b = 0; b < m->blocks; b++)
    m->block[b] = (size_t)m->data.block[b];
  m->block[m->blocks] = m->data.documents;
}

/* The work space, cleared. */
static lda_model *open_over(const lda_data *data, const lda_state *state,
                            void *work, int threads) {
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
  set_blocks(m);
  return m;
}

lda_model *lda_open_shard(const lda_data *data, const lda_state *state,
                          void *work, int threads) {
  lda_model *m = open_over(data, state, work, threads);
  lda_set_alpha(m);
  return m;
}

lda_model *lda_open(const lda_data *data, const lda_state *state, void *work,
                    int threads) {
  lda_model *m = open_over(data, state, work, threads);
  lda_tally_lengths(m);
  if (!lda_is_sampled(&data->eta)) {
    lda_set_eta(m);
    lda_set_uneven(m);
    lda_set_groups(m);
  }
  lda_count_all(m);
  return m;
}

static double topics_used(const lda_model *m) {
  double used = 0.0;
  for (size_t j = 0; j < m->data.k; j++)
    used += m->total[j] > 0.0;
  return used;
}

size_t lda_columns(const lda_data *data) {
  return lda_is_sampled(&data->alpha) + lda_is_sampled(&data->eta) + 3 +
         data->k + (data->keep_theta ? data->documents * data->k : 0) +
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
  if (lda_is_sampled(&m->data.alpha)) {
    *row = m->state.alpha[0];
    row += stride;
  }
  if (lda_is_sampled(&m->data.eta)) {
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
