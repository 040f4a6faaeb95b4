/* The inner loops of LDA, in the widest vectors that the processor has. */
#ifndef GIBBSITE_LDA_KERNELS_H
#define GIBBSITE_LDA_KERNELS_H

#include "lda/lda_pick.h"
#include "lda/lda_words.h"
#include "numeric/rdist.h"
#include "numeric/status.h"
#include "numeric/uniforms.h"

/* z | alpha, eta, w of the n tokens of a document whose counts stand in d->count:
 * one uniform a token from the words that uniforms_take() gave, or NULL.
 * eta[w * eta_step] belongs to word w, unless it is uneven (lda_words.h). */
void lda_collapsed_document(lda_document *d, lda_words *words,
                            const double *eta, size_t eta_step, const int *word,
                            uint16_t *z, size_t n, uint32_t *uniforms);

/* z | phi, w with theta integrated out (d->count: n_dk, d->t: n_dk + alpha_k), or
 * given theta, which then stands in d->t.  phi: `padded` floats a word.  table: n_kw
 * laid out like phi, the new topics are counted there; or NULL.
 * STATUS_NOT_FINITE when all weights of a token vanish. */
status lda_given_phi(lda_document *d, const float *phi, philox_stream *uniforms,
                     int theta, const int *word, uint16_t *z, size_t n,
                     int *table);

/* sum_k x_k y_k; run: scratch of `padded` floats. */
double lda_dot(const float *x, const float *y, size_t padded, float *run);

#endif
