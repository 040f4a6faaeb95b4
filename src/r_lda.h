/* Lists of R as the data and the state of LDA, shared by r_lda*.c. */
#ifndef GIBBSITE_R_LDA_H
#define GIBBSITE_R_LDA_H

#include <Rinternals.h>

#include "lda/lda.h"

/* The words of all documents, of some (perhaps none), or none: they are in
 * shards. */
typedef enum {
  LDA_WORDS_HERE,
  LDA_WORDS_OF_SHARD,
  LDA_WORDS_APART
} lda_words_at;

lda_data lda_unpack_data(SEXP list, lda_words_at where);
double *lda_unpack_positive(SEXP list, const char *name, size_t length);

/* Topics of 16 bits in a raw vector. */
uint16_t *lda_unpack_topics(SEXP list, const char *name, size_t length,
                            size_t k);

/* Puts zeros in the place of an empty element of the state. */
void lda_allocate(SEXP state, const char *name, SEXPTYPE type, size_t length);

/* Work space, freed when the call of .Call() ends. */
void *lda_take_work(const lda_data *data, int threads);

/* n sweeps: the value of C_lda_sweeps(). */
SEXP lda_run(const lda_data *data, SEXP state, SEXP n, SEXP control);

#endif
