/* What LDA's state sums over recorded sweeps; see lda.h. */
#include "numeric/rounding.h"

#include "lda/lda_model.h"

#include <string.h>

size_t lda_stride(size_t n) {
  return n / 1048576 + 1;
}

lda_streams lda_stream_sizes(const lda_data *data) {
  const lda_streams sizes = {data->k * data->documents,
                             2 * data->documents,
                             data->k * data->terms,
                             2 * data->k,
                             (data->n + lda_stride(data->n) - 1) /
                               lda_stride(data->n),
                             data->k};
  return sizes;
}

/* Terms of a count n with concentration a in the first two moments of one element
 * of a Dirichlet whose parameters sum to `total`. */
static void add_moments(double n, double a, double total, double *sum,
                        double *square) {
  *sum += n / total;
  *square += n * (n + 2.0 * a + 1.0) / (total * (total + 1.0));
}

/* Those that are left of a count of zero. */
static void add_base(int sampled, double a, double total, double *base) {
  base[0] += (sampled ? a : 1.0) / total;
  base[1] += (sampled ? a * (a + 1.0) : 1.0) / (total * (total + 1.0));
}

void lda_stream_document(const lda_model *m, size_t d, const int *count) {
  const size_t k = m->data.k;
  const double total = m->data.start[d + 1] - m->data.start[d] + m->sum_alpha;
  double *sum = m->state.theta_sum + d * k;
  double *square = m->state.theta_square + d * k;
  for (size_t j = 0; j < k; j++)
    if (count[j])
      add_moments(count[j], m->alpha[j], total, sum + j, square + j);
  add_base(m->data.alpha.kind != LDA_FIXED, m->alpha[0], total,
           m->state.theta_base + 2 * d);
}

void lda_stream_topics(lda_model *m) {
  const size_t k = m->data.k;
  for (size_t w = 0; w < m->data.terms; w++) {
    const int *count = lda_word_counts(m, w, m->scratch->row);
    const double eta = lda_eta(m, w);
    for (size_t j = 0; j < k; j++)
      if (count[j])
        add_moments(count[j], eta, m->total[j] + m->sum_eta,
                    m->state.phi_sum + w * k + j,
                    m->state.phi_square + w * k + j);
  }
  for (size_t j = 0; j < k; j++)
    add_base(m->data.eta.kind != LDA_FIXED, lda_eta(m, 0),
             m->total[j] + m->sum_eta, m->state.phi_base + 2 * j);
}

/* Tokens of the pivot, topic by topic: order holds them, first where a topic
 * starts. */
static void order_pivot(lda_model *m, size_t size) {
  const size_t k = m->data.k;
  memset(m->first, 0, (k + 1) * sizeof(size_t));
  for (size_t i = 0; i < size; i++)
    m->first[m->state.pivot[i] + 1]++;
  for (size_t j = 0; j < k; j++)
    m->first[j + 1] += m->first[j];
  for (size_t i = 0; i < size; i++)
    m->order[m->first[m->state.pivot[i]]++] = (uint32_t)i;
  for (size_t j = k; j > 0; j--)
    m->first[j] = m->first[j - 1];
  m->first[0] = 0;
  m->ordered = 1;
}

/* Where the tokens of each topic of the pivot are now. */
void lda_stream_switches(lda_model *m) {
  const size_t stride = lda_stride(m->data.n), k = m->data.k;
  const size_t size = lda_stream_sizes(&m->data).pivot;
  uint32_t *now = m->scratch->row;
  if (*m->state.kept <= 1.0)
    for (size_t i = 0; i < size; i++)
      m->state.pivot[i] = m->state.z[i * stride];
  if (!m->ordered)
    order_pivot(m, size);
  for (size_t j = 0; j < k; j++) {
    const double tokens = (double)(m->first[j + 1] - m->first[j]);
    uint32_t most = 0;
    memset(now, 0, k * sizeof(uint32_t));
    for (size_t i = m->first[j]; i < m->first[j + 1]; i++) {
      const uint32_t count = ++now[m->state.z[m->order[i] * stride]];
      most = count > most ? count : most;
    }
    if (tokens > 0.0)
      m->state.stayed[j] += now[j] / tokens;
    m->state.switched[j] += most > now[j];
  }
}
