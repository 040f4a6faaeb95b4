/* The concentration of symmetric Dirichlet distributions given counts: its density
 * and a slice step. */
#ifndef GIBBSITE_LDA_PRIOR_H
#define GIBBSITE_LDA_PRIOR_H

#include "lda/lda.h"
#include <stddef.h>
#include <stdint.h>

/* What a sampled concentration may be: beyond, weights in single precision would
 * leave their range.  Priors have next to no mass there. */
#define LDA_LEAST 1e-20
#define LDA_MOST 1e20

/* The distinct values of counts and how often each occurs. */
typedef struct {
  size_t size;
  double *value, *times;
} lda_tally;

/* Room for the distinct positive values of counts with the sum n, and for all
 * above 65,535. */
size_t lda_tally_size(size_t n);

/* Adds one count; a histogram of the values 0..largest, which is cleared.  Zeros
 * count for nothing. */
void lda_tally_add(lda_tally *tally, double value);
void lda_tally_from(lda_tally *tally, uint32_t *histogram, size_t largest);

/* log p(z | a) of groups of draws from Categorical(theta), theta ~ Dir(a, ..., a)
 * with `dimension` elements, integrated out (Griffiths & Steyvers 2004, eq. 2-3):
 *   sum_groups log G(D a) - log G(D a + N)  +  sum_cells log G(n + a) - log G(a)
 * where the groups have N draws, and the cells (groups x elements) n. */
double lda_log_marginal(const lda_tally *cells, const lda_tally *groups,
                        double dimension, double a);

/* log density, constants included; 0 for a fixed value. */
double lda_log_prior(const lda_prior *prior, double a);

/* a | counts by a slice step (slice.h) in x = log a, whose density has the factor
 * a = da / dx. */
double lda_slice(const lda_prior *prior, const lda_tally *cells,
                 const lda_tally *groups, double dimension, double a);

#endif
