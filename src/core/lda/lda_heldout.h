/* Documents that the fit has not seen, given phi and alpha.
 *   word, start    as in lda.h
 *   phi    k x terms     alpha  k
 * Documents are independent: each has its own stream of Philox, so that threads
 * and the order of documents change nothing.  When `stop` answers yes the outcome is
 * STATUS_INTERRUPTED and the results are of no use. */
#ifndef GIBBSITE_LDA_HELDOUT_H
#define GIBBSITE_LDA_HELDOUT_H

#include "numeric/rdist.h"
#include "numeric/status.h"
#include <stddef.h>

typedef struct {
  size_t n, documents, terms, k;
  const int *word;
  const double *start, *phi, *alpha;
  philox_key key;
  int threads;
  int (*stop)(void *); /* asked now and then, never by a thread of several; may
                          be NULL */
  void *stop_data;
} lda_heldout;

/* Bytes of work space; 0 when the count overflows. */
size_t lda_heldout_size(const lda_heldout *job);

/* Fold-in: Gibbs sampling of z | phi, alpha, w with theta integrated out, begun by
 * drawing each token given those before it; `burnin` sweeps, then `sweeps` over
 * which
 *   mean, square  k x documents  E(theta | z) and E(theta^2 | z) are averaged;
 *   theta         k x documents  a draw of theta | z at the end. */
status lda_fold_in(const lda_heldout *job, size_t burnin, size_t sweeps,
                   double *theta, double *mean, double *square, void *work);

/* p (n): p(w_i | theta, phi) = sum_k theta_dk phi_kw; theta: k x documents. */
void lda_token_probabilities(const lda_heldout *job, const double *theta,
                             double *p);

/* log_p (documents): log of an unbiased estimate of p(w_d | phi, alpha), the mean
 * over `particles` of products from left to right (Wallach, Murray, Salakhutdinov
 * & Mimno 2009, doi:10.1145/1553374.1553515, algorithm 3, in which each step
 * resamples all topics before it; Buntine 2009, doi:10.1007/978-3-642-05224-8_6). */
status lda_left_to_right(const lda_heldout *job, size_t particles,
                         double *log_p, void *work);

#endif
