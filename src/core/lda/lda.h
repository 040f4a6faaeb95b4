/* Latent Dirichlet allocation (Daume, "Bayesian inference II", eq. 1; Blei, Ng &
 * Jordan 2003):
 *
 *   phi_k ~ Dir(eta),  theta_d ~ Dir(alpha),
 *   z_i | theta ~ Categorical(theta_d(i)),
 *   w_i | z_i = k, phi ~ Categorical(phi_k),
 *
 * (the notes write beta_k for phi_k), alpha and eta fixed or with a prior:
 * uniform(lower, upper) or gamma(shape, rate).  The sweeps leave
 * p(z, alpha, eta, theta, phi | w) invariant:
 *
 *   alpha | z        a slice step, theta integrated out
 *   eta   | z, w     a slice step, phi integrated out
 *   then, by the method,
 *   uncollapsed            theta | alpha, z;  phi | eta, z, w;  z | theta, phi, w
 *   partially collapsed    phi | eta, z, w;   z | phi, alpha, w  document by
 *                          document, theta integrated out (Magnusson et al. 2018,
 *                          doi:10.1080/10618600.2017.1366913)
 *   collapsed              z | alpha, eta, w  (Griffiths & Steyvers 2004,
 *                          doi:10.1073/pnas.0307752101)
 *
 * alpha comes first: it and the theta drawn after it are together a draw of
 * (alpha, theta) | z.  A theta drawn before it would belong to another alpha.
 *
 * n tokens in `documents` documents, `terms` words, k topics.
 *   word    n              1..terms, document after document
 *   start   documents + 1  tokens before document d
 *   z       n              topics, 0..k-1
 *   alpha   1 or k         concentrations of theta
 *   eta     1, terms or k x terms  concentrations of phi, eta_kw
 * Where they are sampled alpha and eta are one number and belong to the state; fixed
 * ones belong to the data.
 * Counts: n_dk tokens of document d in topic k, n_kw tokens of word w in topic k,
 * n_k tokens in topic k, N_d tokens of document d.
 *
 * Running sums over recorded sweeps; `theta_sum` and the like have length 0 until
 * the first (lda_streams).  E(theta_dk | z) = (n_dk + alpha_k) / A_d,
 * A_d = N_d + sum alpha, E(theta_dk^2 | z) = (n_dk + alpha_k)(n_dk + alpha_k + 1) /
 * (A_d (A_d + 1)); phi_kw likewise with n_kw, eta_w and B_k = n_k + sum eta.  What
 * does not vanish with the count is the same for all topics of a document (words
 * of a topic) and is summed once:
 *   theta_sum     k x documents  sum of n_dk / A_d
 *   theta_square  k x documents  sum of n_dk (n_dk + 2 alpha_k + 1)/(A_d (A_d + 1))
 *   theta_base    2 x documents  sums of a / A_d and b / (A_d (A_d + 1)), where
 *                 a = alpha, b = alpha (alpha + 1), or 1 and 1 for a fixed alpha
 *   phi_sum, phi_square  k x terms,  phi_base  2 x k  in the same way
 * so that a mean needs no pass over the topics that a word never has.
 *   pivot     topics of every lda_stride(n)-th token at the first recorded sweep,
 *             also where the sums begin anew later (unless pivot_due says so)
 *   stayed    k  sum over recorded sweeps of the share of topic k's tokens (in
 *                the pivot) that are in topic k now
 *   switched  k  recorded sweeps in which more of them are in another topic
 *
 * Under an alpha that is the same for all topics a sweep may exchange those with
 * the same row of eta (all of them, unless eta is k x terms).  In
 * these sums and in the recorded rows a topic has the number of the pivot's topic
 * with which it shares most tokens: the numbers maximise the number of tokens of
 * the pivot in their own topic (pivotal reordering, Papastamoulis & Iliopoulos
 * 2010, doi:10.1198/jcgs.2010.09008).  The state keeps the sampler's numbers.  */
#ifndef GIBBSITE_LDA_H
#define GIBBSITE_LDA_H

#include "numeric/rdist.h"
#include "numeric/status.h"
#include "run/scan.h"
#include <stddef.h>
#include <stdint.h>

#define LDA_MAX_TOPICS 65535
#define LDA_PIVOT_SET 0.0
#define LDA_PIVOT_NEW 1.0     /* the next recorded sweep sets the pivot */
#define LDA_PIVOT_AGAIN 2.0   /* the same, in the numbers of the present one */
#define LDA_MAX_NUMBERED 1024 /* of more topics the numbers are the sampler's */

typedef enum {
  LDA_COLLAPSED,
  LDA_PARTIALLY_COLLAPSED,
  LDA_UNCOLLAPSED
} lda_method;

typedef enum { LDA_FIXED, LDA_UNIFORM, LDA_GAMMA } lda_prior_kind;

/* uniform(a, b), gamma(shape a, rate b), or the `length` fixed values. */
typedef struct {
  lda_prior_kind kind;
  double a, b;
  size_t length;       /* sampled: 1    */
  const double *value; /* sampled: NULL */
} lda_prior;

typedef struct lda_model lda_model;

/* A chain on several machines (partially collapsed): the documents are in shards,
 * and the sweep is cut where the documents are independent.  The chain's own model
 * has `ask` and no words.  Its state has in `z` the topics of every
 * lda_stride(n)-th token alone, and theta's sums are those of the shards.  It
 * draws alpha, eta and phi, asks all shards, and writes what they answer into its
 * table, histogram, sums of blocks and z:
 *   LDA_COUNT  n_kw, and the histogram of n_dk where alpha is sampled
 *   LDA_DRAW   the same after z | phi, alpha, w; in a recorded sweep also the sums
 *              of blocks and z
 *   LDA_ADD    no answer: theta's sums, with the numbers of the topics
 * A shard's model has the numbers of its first document and token in the corpus,
 * so that it draws what one machine would.  */
typedef enum { LDA_COUNT, LDA_DRAW, LDA_ADD } lda_task;

typedef struct {
  size_t n, documents, terms, k;
  const int *word;
  const double *start;
  lda_method method;
  lda_prior alpha, eta;
  int keep_theta, keep_phi, keep_z, keep_labels;
  void (*ask)(void *context, lda_model *m, lda_task task); /* or NULL */
  void *context;
  size_t first_document;
  const int *block; /* NULL, or the first documents of a shard's blocks */
  size_t blocks;    /* and how many                                     */
} lda_data;

typedef struct {
  uint16_t *z;
  double *alpha, *eta; /* 1 number; NULL where fixed */
  double *kept;        /* recorded sweeps (1 number) */
  double *theta_sum, *theta_square, *theta_base;
  double *phi_sum, *phi_square, *phi_base;
  uint16_t *pivot;
  double *pivot_due; /* LDA_PIVOT_* (1 number) */
  double *stayed, *switched;
} lda_state;

/* The sizes of a state's streams, in the order of lda_state. */
typedef struct {
  size_t theta, theta_base, phi, phi_base, pivot, topics;
} lda_streams;

/* Every n / 2^20-th token stands in the pivot, at least every one. */
size_t lda_stride(size_t n);
lda_streams lda_stream_sizes(const lda_data *data);

/* The blocks of documents over which log_lik is summed: their number and, where
 * `block` is given, their first documents and, last, the number of documents.  */
size_t lda_divide(const lda_data *data, size_t *block);

/* Bytes of work space; 0 when the count overflows. */
size_t lda_work_size(const lda_data *data, int threads);

/* Prepares a model on `data` and `state` (both borrowed) in `work` (aligned for
 * doubles): the counts that follow from z.  Returns where the model stands in
 * the work space. */
lda_model *lda_open(const lda_data *data, const lda_state *state, void *work,
                    int threads);

/* A shard's model, for one task: nothing is counted yet. */
lda_model *lda_open_shard(const lda_data *data, const lda_state *state,
                          void *work, int threads);

/* A scan_model's `sweep` and `record`.  A row: alpha and eta where they are
 * sampled, log_joint = log p(w, z, alpha, eta) with theta and phi integrated out,
 * log_lik = the mean over tokens of log p(w_i | theta, phi), topics with tokens,
 * n_k (k), then where kept theta (documents x k), phi (k x terms), z (n; 1..k) and
 * the sampler's number of each topic (k; 1..k). */
status lda_sweep(void *model, const scan_control *control);
size_t lda_columns(const lda_data *data);
void lda_record(void *model, double *row, size_t stride);

#endif
