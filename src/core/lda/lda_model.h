/* A model of LDA while it runs, shared by lda*.c. */
#ifndef GIBBSITE_LDA_MODEL_H
#define GIBBSITE_LDA_MODEL_H

#include <math.h>

#include "lda/lda.h"
#include "lda/lda_pick.h"
#include "lda/lda_prior.h"
#include "lda/lda_words.h"
#include "numeric/arena.h"
#include "numeric/assignment.h"
#include "run/parts.h"

/* What a thread works with. */
typedef struct {
  lda_document document;
  double *theta;       /* k                                        */
  uint32_t *row;       /* padded: a list written out as a row      */
  uint32_t *histogram; /* of n_dk                                  */
  int *table;          /* n_kw of what it has drawn, padded a word */
} lda_scratch;

struct lda_model {
  lda_data data;
  lda_state state;
  int threads, recording, tallying;
  size_t padded;
  double *alpha, sum_alpha;      /* alpha: k                           */
  double *sum_eta;               /* k: sum_w eta_kw                    */
  size_t eta_word, eta_topic;    /* steps of eta: a word, a topic      */
  size_t uneven;                 /* words with a row of eta: collapsed */
  uint32_t *group;               /* k: the first topic with this eta   */
  float *alpha_single, *inverse; /* padded                             */
  double *total;                 /* padded: n_k                        */
  lda_words words;               /* n_kw: collapsed                    */
  int *table;                    /* n_kw: else, padded a word; a copy a
                                        thread, what is counted in the first */
  float *phi;                    /* padded a word                      */
  double *partial;               /* padded a block of words            */
  size_t *block, blocks;         /* documents block[b]..block[b + 1] - 1 */
  double *block_log_lik, *block_log_joint;
  size_t longest, most; /* largest N_d; n_kw in the histogram  */
  lda_tally lengths, document_cells, word_cells, topics;
  uint32_t *word_histogram;
  uint32_t *order; /* tokens of the pivot by topic       */
  size_t *first;   /* k + 1: where a topic starts there  */
  int ordered;
  uint32_t *number, *topic; /* k: the number of a topic; its inverse */
  uint32_t *shared; /* k x k: tokens of the pivot's topic (row) in one */
  assignment_work assignment;
  lda_scratch *scratch;
  double *theta; /* k a document, where kept           */
  philox_key phi_key, theta_key, z_key;
  double log_lik, log_joint;
};

/* alpha and eta as they are now. */
static inline const double *lda_alpha_now(const lda_model *m) {
  return m->state.alpha ? m->state.alpha : m->data.alpha.value;
}

static inline const double *lda_eta_now(const lda_model *m) {
  return m->state.eta ? m->state.eta : m->data.eta.value;
}

/* eta_kw */
static inline double lda_eta(const lda_model *m, size_t w, size_t k) {
  return lda_eta_now(m)[w * m->eta_word + k * m->eta_topic];
}

static inline size_t lda_document_length(const lda_data *data, size_t d) {
  return (size_t)(data->start[d + 1] - data->start[d]);
}

static inline int lda_is_sampled(const lda_prior *prior) {
  return prior->kind != LDA_FIXED;
}

/* ---- lda_counts.c --------------------------------------------------------------- */

/* What follows from alpha and eta. */
void lda_set_alpha(lda_model *m);
void lda_set_eta(lda_model *m);
void lda_set_groups(lda_model *m);
void lda_set_uneven(lda_model *m);
int lda_is_uneven(const lda_data *data, size_t w);

/* n_dk of a document; n_kw, n_k and the tallies from z; tallies of a sweep. */
void lda_count_document(const lda_model *m, size_t d, int *count);
void lda_count_tokens(lda_model *m);
void lda_count_all(lda_model *m);
void lda_sum_table(lda_model *m);
void lda_set_totals(lda_model *m);
void lda_tally_lengths(lda_model *m);
void lda_tally_document(const lda_model *m, const int *count,
                        uint32_t *histogram);
void lda_merge_histograms(lda_model *m);
void lda_tally_documents(lda_model *m);
void lda_tally_words(lda_model *m);

/* log p(z_d | alpha) and log p(w | z), of concentrations that differ. */
double lda_log_document(const lda_model *m, size_t d, const int *count);
double lda_log_words(const lda_model *m);

/* ---- lda.c: the blocks of a sweep --------------------------------------------- */

void lda_draw_alpha(lda_model *m);
void lda_draw_eta(lda_model *m);
status lda_draw_collapsed(lda_model *m, const scan_control *control);
status lda_draw_given_phi(lda_model *m, const scan_control *control);
status lda_draw_documents(lda_model *m, const scan_control *control);

/* log p(w_d | theta_d, phi) of each block of documents, theta_d drawn. */
status lda_score_blocks(lda_model *m, const scan_control *control);

/* ---- lda_draw.c, lda_stream.c, lda_words.c ------------------------------------ */

/* n_kw of a word as a row. */
const int *lda_word_counts(const lda_model *m, size_t w, uint32_t *scratch);

/* A probability in single precision; 0 below 1e-18. */
float lda_single(double p);

/* phi | eta, z, w ~ Dir(eta + n_k), and theta_d | alpha, z ~ Dir(alpha + n_d). */
void lda_draw_phi(lda_model *m);
void lda_draw_theta(const lda_model *m, size_t d, const int *count,
                    double *theta);

/* Running sums over recorded sweeps; the numbers of the topics come first. */
void lda_stream_numbers(lda_model *m);
void lda_stream_documents(lda_model *m);
void lda_stream_topics(lda_model *m);

#endif
