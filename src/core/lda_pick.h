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

static inline double lda_four(const float *x) {
  return ((double)x[0] + x[1]) + ((double)x[2] + x[3]);
}

static inline double lda_wide_mass(const float *run, size_t size) {
  const float *last = run + size - LDA_LANES;
  return (lda_four(last) + lda_four(last + 4)) +
         (lda_four(last + 8) + lda_four(last + 12));
}

static inline double lda_list_mass(const float *run, size_t size) {
  const float *last = run + size - LDA_LIST_LANES;
  return lda_four(last) + lda_four(last + 4);
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

/* The strand among four at x whose partial totals pass `rest`, which loses those
 * passed over. */
static inline size_t lda_pick_of_four(const float *x, double *rest) {
  const double a = x[0], b = a + x[1], c = b + x[2];
  const size_t lane =
    (size_t)(*rest >= a) + (size_t)(*rest >= b) + (size_t)(*rest >= c);
  const double passed[4] = {0.0, a, b, c};
  *rest -= passed[lane];
  return lane;
}

/* Index of k weights by a uniform u in (0, 1); the order is strand by strand. */
static inline size_t lda_pick_wide(const float *run, size_t size, size_t k,
                                   double u) {
  const float *last = run + size - LDA_LANES;
  const double a = lda_four(last), b = a + lda_four(last + 4);
  const double c = b + lda_four(last + 8);
  double rest =
    u * ((a + lda_four(last + 4)) + (lda_four(last + 8) + lda_four(last + 12)));
  const size_t group =
    (size_t)(rest >= a) + (size_t)(rest >= b) + (size_t)(rest >= c);
  const double passed[4] = {0.0, a, b, c};
  rest -= passed[group];
  const size_t lane = 4 * group + lda_pick_of_four(last + 4 * group, &rest);
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
  const double half = lda_four(last);
  const size_t group = threshold >= half;
  double rest = threshold - (group ? half : 0.0);
  const size_t lane = 4 * group + lda_pick_of_four(last + 4 * group, &rest);
  const size_t at = lda_pick_strand(run, size, LDA_LIST_LANES, lane, rest);
  return at < length ? at : length - 1;
}

#endif
