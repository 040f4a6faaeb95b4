/* Picking an index from running sums in strands, and what the kernels of LDA work
 * on.  Strand s of `run` is run[s], run[s + lanes], ...: the partial sums of the
 * weights at these places; the last `lanes` numbers are the strands' totals.
 *
 * Weights, running sums and what is left of a threshold are held in single
 * precision: a probability is off by at most some 1e-7 of the sum of the weights
 * that are picked from (which leave a token's own topic out: lda_kernel.h). */
#ifndef GIBBSITE_LDA_PICK_H
#define GIBBSITE_LDA_PICK_H

#include "lda/lda_words.h"
#include <stddef.h>

#define LDA_AHEAD 4 /* tokens whose word is fetched early */

/* A document and what its tokens need of the topics.  Arrays of `padded` numbers,
 * zero beyond k. */
typedef struct {
  size_t k, padded;
  int *count;            /* n_dk                                              */
  float *alpha;          /* alpha_k                                           */
  float *inverse;        /* collapsed: 1 / (n_k + sum_w eta_kw)               */
  float *t;              /* (n_dk + alpha_k) inverse_k; given phi: the factor
                          that multiplies phi                               */
  float *run;            /* running sums                                      */
  double *total;         /* n_k                                               */
  double sum;            /* sum t_k                                           */
  const double *sum_eta; /* sum_w eta_kw                                    */
} lda_document;

/* Tokens of a document: words from 1, topics, a uniform each; the first `ahead`
 * have a word LDA_AHEAD places on.  eta[w * eta_step] belongs to word w, unless
 * it is uneven (lda_words.h). */
typedef struct {
  const int *word;
  uint16_t *z;
  const double *u, *eta;
  size_t n, ahead, eta_step;
} lda_tokens;

/* Values of the topics of a short row after a move: t_k with one token less of the
 * document, and `inverse` with one token less and with one more. */
typedef struct {
  float t_less[LDA_SHORT_ROW], less[LDA_SHORT_ROW], more[LDA_SHORT_ROW];
} lda_neighbours;

static inline float lda_inverse(double x) {
  return 1.0f / (float)x;
}

/* t_k: count n_dk, inverse 1 / (n_k + sum eta) */
static inline float lda_factor(int count, float alpha, float inverse) {
  return ((float)count + alpha) * inverse;
}

/* Running sums of eight numbers: within each half, then the first half's total
 * onto the second; kernels for wide vectors add in the same order. */
static inline void lda_scan(const float *x, float *sums) {
  float pair[8];
  for (size_t j = 0; j < 8; j++)
    pair[j] = x[j] + (j % 4 >= 1 ? x[j - 1] : 0.0f);
  for (size_t j = 0; j < 8; j++)
    sums[j] = pair[j] + (j % 4 >= 2 ? pair[j - 2] : 0.0f);
  for (size_t j = 4; j < 8; j++)
    sums[j] += sums[3];
}

/* How many of eight running sums `rest` has passed; by rounding at most all but
 * the last. */
static inline size_t lda_passed(const float *sums, float rest) {
  size_t passed = 0;
  for (size_t j = 0; j < 7; j++)
    passed += sums[j] <= rest;
  return passed;
}

/* The totals of the strands j and j + 8. */
static inline void lda_fold(const float *last, float *folded) {
  for (size_t j = 0; j < 8; j++)
    folded[j] = last[j] + last[j + 8];
}

/* The total of all weights in `run`, and the running sums over its columns. */
static inline float lda_sum_wide(const float *run, size_t size, float *sums) {
  float folded[8];
  lda_fold(run + size - LDA_LANES, folded);
  lda_scan(folded, sums);
  return sums[7];
}

/* The place in a strand that starts at `first` where the partial sums pass
 * `rest`; by rounding at most its last. */
static inline size_t lda_pick_strand(const float *run, size_t size,
                                     size_t lanes, size_t first, float rest) {
  size_t passed = 0;
  for (size_t j = first; j + lanes < size; j += lanes)
    passed += run[j] <= rest;
  return first + passed * lanes;
}

/* `at`, or a place among the k weights where rounding has led beyond them. */
static inline size_t lda_pick_below(size_t at, size_t k) {
  if (at < k)
    return at;
  return at >= LDA_LANES ? at - LDA_LANES : k - 1;
}

/* Index of k weights, given the column (the sums before it are taken off `rest`).
 * The order: strands 0, 8, then 1, 9, ...; in a strand upwards. */
static inline size_t lda_pick_column(const float *run, size_t size, size_t k,
                                     size_t column, float rest) {
  const float first = run[size - LDA_LANES + column];
  const int second = rest >= first; /* no branch: unpredictable */
  const size_t at =
    lda_pick_strand(run, size, LDA_LANES, column + 8 * (size_t)second,
                    rest - (float)second * first);
  return lda_pick_below(at, k);
}

/* The same for strands of one number or two (LDA_SHORT_ROW), all comparisons at
 * once. */
static inline size_t lda_pick_short(const float *run, size_t size, size_t k,
                                    size_t column, float rest) {
  const float *own = run + column;
  const float first = own[size - LDA_LANES];
  const size_t next = size > LDA_LANES ? LDA_LANES : 0;
  const size_t low = next * (size_t)(own[0] <= rest);
  const size_t high = next * (size_t)(own[8] <= rest - first) + 8;
  const size_t at = low + (size_t)(rest >= first) * (high - low);
  return lda_pick_below(column + at, k);
}

/* Index of k weights by a threshold below their total, given lda_sum_wide()'s
 * sums. */
static inline size_t lda_pick_wide(const float *run, size_t size, size_t k,
                                   const float *sums, double threshold) {
  const float rest = (float)threshold;
  const size_t column = lda_passed(sums, rest);
  const float before = column ? sums[column - 1] : 0.0f;
  return lda_pick_column(run, size, k, column, rest - before);
}

#endif
