#include "numeric/rounding.h"

#include <string.h>

#include "lda/lda_kernels.h"
#include "lda/lda_model.h"
#include "numeric/rmath.h"

/* ---- what follows from alpha and eta ---------------------------------------- */

/* What follows from alpha and eta, and from n_k. */
void lda_set_alpha(lda_model *m) {
  const double *alpha = lda_alpha_now(m);
  m->sum_alpha = 0.0;
  for (size_t j = 0; j < m->data.k; j++) {
    m->alpha[j] = alpha[m->data.alpha.length == 1 ? 0 : j];
    m->alpha_single[j] = (float)m->alpha[j];
    m->sum_alpha += m->alpha[j];
  }
}

void lda_set_eta(lda_model *m) {
  const double *eta = lda_eta_now(m);
  const size_t k = m->data.k;
  for (size_t j = 0; j < k; j++)
    m->sum_eta[j] =
      m->data.eta.length == 1 ? (double)m->data.terms * eta[0] : 0.0;
  for (size_t w = 0; m->data.eta.length > 1 && w < m->data.terms; w++)
    for (size_t j = 0; j < k; j++)
      m->sum_eta[j] += lda_eta(m, w, j);
}

/* Do the topics differ in eta_kw? */
int lda_is_uneven(const lda_data *data, size_t w) {
  const double *eta = data->eta.value + w * data->k;
  for (size_t j = 1; j < data->k; j++)
    if (eta[j] != eta[0])
      return 1;
  return 0;
}

/* The rows of eta of uneven words, in single precision. */
void lda_set_uneven(lda_model *m) {
  size_t rows = 0;
  for (size_t w = 0; m->uneven > 0 && w < m->data.terms; w++) {
    if (m->uneven < m->data.terms && !lda_is_uneven(&m->data, w))
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
void lda_set_groups(lda_model *m) {
  for (size_t j = 0; m->eta_topic && j < m->data.k; j++) {
    size_t i = 0;
    while (i < j && !(m->group[i] == i && m->sum_eta[i] == m->sum_eta[j] &&
                      same_eta(m, i, j)))
      i++;
    m->group[j] = (uint32_t)i;
  }
}

/* ---- counts of topics --------------------------------------------------------- */

/* n_k; the tally of which lists all topics. */
void lda_set_totals(lda_model *m) {
  m->topics.size = m->data.k;
  for (size_t j = 0; j < m->data.k; j++) {
    m->topics.value[j] = m->total[j];
    m->topics.times[j] = 1.0;
  }
}

void lda_count_document(const lda_model *m, size_t d, int *count) {
  const size_t first = (size_t)m->data.start[d];
  const size_t length = lda_document_length(&m->data, d);
  memset(count, 0, m->padded * sizeof(int));
  for (size_t i = 0; i < length; i++)
    count[m->state.z[first + i]]++;
}

/* log p(z_d | alpha) when alpha differs between the topics. */
double lda_log_document(const lda_model *m, size_t d, const int *count) {
  double sum =
    lgammafn(m->sum_alpha) -
    lgammafn(m->sum_alpha + (double)lda_document_length(&m->data, d));
  for (size_t j = 0; j < m->data.k; j++)
    if (count[j])
      sum += lgammafn(m->alpha[j] + count[j]) - lgammafn(m->alpha[j]);
  return sum;
}

/* log p(w | z) when eta differs between the words or the topics. */
double lda_log_words(const lda_model *m) {
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

void lda_tally_document(const lda_model *m, const int *count,
                        uint32_t *histogram) {
  for (size_t j = 0; j < m->data.k; j++)
    histogram[count[j]]++;
}

/* The threads' histograms of n_dk in the first one's. */
void lda_merge_histograms(lda_model *m) {
  uint32_t *all = m->scratch[0].histogram;
  for (int t = 1; t < m->threads; t++)
    for (size_t value = 0; value <= m->longest; value++) {
      all[value] += m->scratch[t].histogram[value];
      m->scratch[t].histogram[value] = 0;
    }
}

/* They as one tally. */
void lda_tally_documents(lda_model *m) {
  lda_merge_histograms(m);
  m->document_cells.size = 0;
  lda_tally_from(&m->document_cells, m->scratch[0].histogram, m->longest);
}

/* Of counts too large for the histogram there are few. */
void lda_tally_words(lda_model *m) {
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

void lda_tally_lengths(lda_model *m) {
  uint32_t *histogram = m->scratch->histogram;
  for (size_t d = 0; d < m->data.documents; d++)
    histogram[lda_document_length(&m->data, d)]++;
  lda_tally_from(&m->lengths, histogram, m->longest);
}

/* n_k from n_kw. */
void lda_sum_table(lda_model *m) {
  memset(m->total, 0, m->padded * sizeof(double));
  for (size_t w = 0; w < m->data.terms; w++)
    for (size_t j = 0; j < m->data.k; j++)
      m->total[j] += m->table[w * m->padded + j];
}

/* n_kw, n_k and the histogram of n_dk from z. */
void lda_count_tokens(lda_model *m) {
  const lda_data *data = &m->data;
  if (data->ask) {
    data->ask(data->context, m, LDA_COUNT);
    lda_sum_table(m);
    return;
  }
  for (size_t i = 0; i < data->n; i++)
    m->total[m->state.z[i]] += 1.0;
  if (data->method == LDA_COLLAPSED) {
    lda_words_lay_out(&m->words, data->word, data->n);
    lda_words_fill(&m->words, data->word, m->state.z, data->n, m->scratch->row);
  } else {
    for (size_t i = 0; i < data->n; i++)
      m->table[((size_t)data->word[i] - 1) * m->padded + m->state.z[i]]++;
  }
  for (size_t d = 0; lda_is_sampled(&data->alpha) && d < data->documents; d++) {
    lda_count_document(m, d, m->scratch->document.count);
    lda_tally_document(m, m->scratch->document.count, m->scratch->histogram);
  }
}

/* They and the tallies. */
void lda_count_all(lda_model *m) {
  lda_count_tokens(m);
  lda_set_totals(m);
  lda_tally_documents(m);
  if (lda_is_sampled(&m->data.eta))
    lda_tally_words(m);
}
