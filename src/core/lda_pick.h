/* Picking an index from running sums in strands, and what the kernels of LDA work
 * on.  Strand s of `run` is run[s], run[s + lanes], ...: the partial sums of the
 * weights at these places; the last `lanes` numbers are the strands' totals.
 *
 * Weights are held in single precision, so that a probability is off by at most
 * some 1e-7 of itself, and the threshold in double. */
#ifndef GIBBSITE_LDA_PICK_H
#define GIBBSITE_LDA_PICK_H

#include "lda_words.h"
#include <stddef.h>

#define LDA_AHEAD 4 /* tokens whose word is fetched early */

/* A document and what its tokens need of the topics.  Arrays of `padded` numbers,
 * zero beyond k. */
typedef struct {
  size_t k, padded;
  int *count;          /* n_dk                                              */
  float *alpha;        /* alpha_k                                           */
  float *inverse;      /* collapsed: 1 / (n_k + sum eta)                    */
  float *t;            /* (n_dk + alpha_k) inverse_k; given phi: the factor
                          that multiplies phi                               */
  float *run;          /* running sums                                      */
  double *total;       /* n_k                                               */
  double sum, sum_eta; /* sum t_k, sum eta_w                                */
} lda_document;

static inline float lda_inverse(double x) {
  return 1.0f / (float)x;
}

typedef float lda_vector
  __attribute__((vector_size(16), aligned(4), may_alias));

/* The strands' totals, four together: x0 + x4 + ..., x1 + x5 + ..., ... */
static inline void lda_fold(const float *last, size_t lanes, float *folded) {
  const lda_vector *part = (const lda_vector *)(const void *)last;
  lda_vector sum = part[0] + part[1];
  if (lanes == LDA_LANES)
    sum += part[2] + part[3];
  *(lda_vector *)(void *)folded = sum;
}

/* Total of four numbers. */
static inline double lda_four(const float *x) {
  return (((double)x[0] + x[1]) + x[2]) + x[3];
}

static inline double lda_wide_mass(const float *run, size_t size) {
  float folded[4];
  lda_fold(run + size - LDA_LANES, LDA_LANES, folded);
  return lda_four(folded);
}

static inline double lda_list_mass(const float *run, size_t size) {
  float folded[4];
  lda_fold(run + size - LDA_LIST_LANES, LDA_LIST_LANES, folded);
  return lda_four(folded);
}

/* The place in a strand that starts at `first` where the partial sums pass
 * `rest`; by rounding at most its last. */
static inline size_t lda_pick_strand(const float *run, size_t size,
                                     size_t lanes, size_t first, double rest) {
  const float bound = (float)rest;
  size_t passed = 0;
  for (size_t j = first; j + lanes < size; j += lanes)
    passed += run[j] <= bound;
  return first + passed * lanes;
}

/* Which of four numbers, `step` apart, has the partial sum that passes `rest`, which
 * loses those before. */
static inline size_t lda_pick_of_four(const float *x, size_t step,
                                      double *rest) {
  const double a = x[0], b = a + x[step], c = b + x[2 * step];
  const size_t at =
    (size_t)(*rest >= a) + (size_t)(*rest >= b) + (size_t)(*rest >= c);
  const double passed[4] = {0.0, a, b, c};
  *rest -= passed[at];
  return at;
}

/* Index of k weights by a uniform u in (0, 1).  The order: strands 0, 4, 8, 12, then
 * 1, 5, ...; in a strand upwards. */
static inline size_t lda_pick_wide(const float *run, size_t size, size_t k,
                                   double u) {
  const float *last = run + size - LDA_LANES;
  float folded[4];
  lda_fold(last, LDA_LANES, folded);
  double rest = u * lda_four(folded);
  const size_t column = lda_pick_of_four(folded, 1, &rest);
  const size_t lane = column + 4 * lda_pick_of_four(last + column, 4, &rest);
  const size_t at = lda_pick_strand(run, size, LDA_LANES, lane, rest);
  if (at < k)
    return at;
  /* beyond the last weight by rounding alone */
  return at >= LDA_LANES ? at - LDA_LANES : k - 1;
}

/* Place of a cell of a list by a threshold below its mass. */
static inline size_t lda_pick_list(const float *run, size_t size, size_t length,
                                   double threshold) {
  const float *last = run + size - LDA_LIST_LANES;
  float folded[4];
  double rest = threshold;
  lda_fold(last, LDA_LIST_LANES, folded);
  const size_t column = lda_pick_of_four(folded, 1, &rest);
  const size_t half = rest >= (double)last[column];
  rest -= half ? (double)last[column] : 0.0;
  const size_t at =
    lda_pick_strand(run, size, LDA_LIST_LANES, column + 4 * half, rest);
  return at < length ? at : length - 1;
}

#endif
