/* What LDA's state sums over recorded sweeps; see lda.h. */
#include "numeric/rounding.h"

#include "lda/lda_model.h"

#include <string.h>

size_t lda_stride(size_t n) {
  return n / 1048576 + 1;
}

/* From a token of the pivot to the next in the state's z. */
static size_t step_of(const lda_data *data) {
  return data->ask ? 1 : lda_stride(data->n);
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

static void stream_document(lda_model *m, size_t d, const int *count) {
  const size_t k = m->data.k;
  const double total = m->data.start[d + 1] - m->data.start[d] + m->sum_alpha;
  double *sum = m->state.theta_sum + d * k;
  double *square = m->state.theta_square + d * k;
  for (size_t j = 0; j < k; j++)
    if (count[j])
      add_moments(count[j], m->alpha[j], total, sum + m->number[j],
                  square + m->number[j]);
  add_base(m->data.alpha.kind != LDA_FIXED, m->alpha[0], total,
           m->state.theta_base + 2 * d);
}

void lda_stream_documents(lda_model *m) {
  if (m->data.ask) {
    m->data.ask(m->data.context, m, LDA_ADD);
    return;
  }
  const int blocks = (int)m->blocks;
#ifdef _OPENMP
#pragma omp parallel for num_threads(m->threads) \
  schedule(static) if (m->threads > 1)
#endif
  for (int b = 0; b < blocks; b++) {
    int *count = m->scratch[parts_thread()].document.count;
    for (size_t d = m->block[b]; d < m->block[b + 1]; d++) {
      lda_count_document(m, d, count);
      stream_document(m, d, count);
    }
  }
}

void lda_stream_topics(lda_model *m) {
  const size_t k = m->data.k;
  for (size_t w = 0; w < m->data.terms; w++) {
    const int *count = lda_word_counts(m, w, m->scratch->row);
    double *sum = m->state.phi_sum + w * k;
    double *square = m->state.phi_square + w * k;
    for (size_t j = 0; j < k; j++)
      if (count[j])
        add_moments(count[j], lda_eta(m, w, j), m->total[j] + m->sum_eta[j],
                    sum + m->number[j], square + m->number[j]);
  }
  for (size_t j = 0; j < k; j++)
    add_base(m->data.eta.kind != LDA_FIXED, lda_eta(m, 0, j),
             m->total[j] + m->sum_eta[j], m->state.phi_base + 2 * m->number[j]);
}

/* ---- the numbers of the topics -------------------------------------------------- */

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

/* now[j]: tokens of the pivot's topic `a` that are in topic j now. */
static void count_topic(const lda_model *m, size_t a, uint32_t *now) {
  const size_t step = step_of(&m->data);
  memset(now, 0, m->data.k * sizeof(uint32_t));
  for (size_t i = m->first[a]; i < m->first[a + 1]; i++)
    now[m->state.z[m->order[i] * step]]++;
}

/* The same, from `shared` where number_topics() has filled it. */
static const uint32_t *shared_row(const lda_model *m, size_t a) {
  if (m->data.k <= LDA_MAX_NUMBERED)
    return m->shared + a * m->data.k;
  count_topic(m, a, m->scratch->row);
  return m->scratch->row;
}

/* More than all tokens of the pivot: lda_stride() leaves at most 2^20 of them. */
#define SAME_GROUP 4194304u

/* Topics with different rows of eta are not exchanged: a solution with one more
 * pair of topics of one group is the better one, whatever the tokens. */
static void solve_within_groups(lda_model *m) {
  const size_t k = m->data.k;
  for (size_t a = 0; a < k; a++)
    for (size_t j = 0; j < k; j++)
      if (m->group[a] == m->group[j])
        m->shared[a * k + j] += SAME_GROUP;
  assignment_solve(m->shared, k, &m->assignment, m->number);
  for (size_t a = 0; a < k; a++)
    for (size_t j = 0; j < k; j++)
      if (m->group[a] == m->group[j])
        m->shared[a * k + j] -= SAME_GROUP;
}

static int is_exchangeable(const lda_model *m) {
  for (size_t j = 1; j < m->data.k; j++)
    if (m->alpha[j] != m->alpha[0])
      return 0;
  return 1;
}

/* number[j] of the topics as they are now; fills `shared` where it is kept. */
static void number_topics(lda_model *m) {
  const size_t k = m->data.k;
  for (size_t j = 0; j < k; j++)
    m->number[j] = (uint32_t)j;
  if (k > LDA_MAX_NUMBERED)
    return;
  for (size_t a = 0; a < k; a++)
    count_topic(m, a, m->shared + a * k);
  if (k == 1 || !is_exchangeable(m))
    return;
  if (m->eta_topic)
    solve_within_groups(m);
  else
    assignment_solve(m->shared, k, &m->assignment, m->number);
}

/* Where the tokens of each topic of the pivot are now: after number_topics(). */
static void count_moved(lda_model *m) {
  const size_t k = m->data.k;
  for (size_t j = 0; j < k; j++)
    m->topic[m->number[j]] = (uint32_t)j;
  for (size_t a = 0; a < k; a++) {
    const double tokens = (double)(m->first[a + 1] - m->first[a]);
    uint32_t most = 0;
    const uint32_t *now = shared_row(m, a);
    for (size_t j = 0; j < k; j++)
      most = now[j] > most ? now[j] : most;
    const uint32_t own = now[m->topic[a]];
    if (tokens > 0.0)
      m->state.stayed[a] += own / tokens;
    m->state.switched[a] += most > own;
  }
}

/* The topics now as the pivot; in the numbers of the old one, if there is one. */
static void set_pivot(lda_model *m, size_t size) {
  const size_t step = step_of(&m->data);
  const int numbered = *m->state.pivot_due == LDA_PIVOT_AGAIN;
  if (numbered) {
    order_pivot(m, size);
    number_topics(m);
  }
  for (size_t i = 0; i < size; i++) {
    const uint16_t z = m->state.z[i * step];
    m->state.pivot[i] = numbered ? (uint16_t)m->number[z] : z;
  }
  m->ordered = 0;
  *m->state.pivot_due = LDA_PIVOT_SET;
}

void lda_stream_numbers(lda_model *m) {
  const size_t size = lda_stream_sizes(&m->data).pivot;
  if (*m->state.pivot_due != LDA_PIVOT_SET)
    set_pivot(m, size);
  if (!m->ordered)
    order_pivot(m, size);
  number_topics(m);
  count_moved(m);
}
