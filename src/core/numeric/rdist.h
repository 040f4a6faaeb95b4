/* Random variates.  The first group takes its randomness from R's generator
 * (serial code only); the second from the counter-based generator
 * Philox4x32-10 (Salmon et al. 2011, doi:10.1145/2063384.2063405), whose
 * variates are a pure function of (key, item, draw) and may be drawn in
 * parallel in any order.
 * Gamma(shape, rate); W(df, scale) has mean df * scale; IW(df, scale) has
 * density proportional to |S|^-((df+d+1)/2) exp(-tr(scale S^-1)/2). */
#ifndef GIBBSITE_RDIST_H
#define GIBBSITE_RDIST_H

#include "numeric/status.h"
#include <stddef.h>
#include <stdint.h>

/* ---- R's generator ------------------------------------------------------- */

/* One of 0, ..., count - 1, all with the same probability, count >= 1: one
 * unif_rand(). */
size_t rdist_below(size_t count);

/* log of a Gamma(shape, 1) variate; finite for every shape > 0.  Uses rgamma()
 * for shape >= 1, else log rgamma(shape + 1) + log(unif_rand()) / shape, in
 * that order. */
double rdist_log_gamma(double shape);

/* log_p (k) <- log of a Dirichlet(alpha) variate, alpha: k positive numbers: k
 * calls of rdist_log_gamma in order; the largest is taken off, then the log of
 * the sum of exponentials. */
void rdist_log_dirichlet(const double *alpha, size_t k, double *log_p);

/* a (d x d, lower triangular) <- Bartlett factor: a[j,j]^2 ~ chi^2(df - j),
 * j = 0.., a[i,j] ~ N(0, 1), i > j; column by column: rchisq for the diagonal,
 * then norm_rand down the column.  A A' ~ W(df, I), df > d - 1. */
void rdist_bartlett(double df, size_t d, double *a);

/* t (d x d, lower triangular, positive diagonal) with T T' ~ IW(df, L L'),
 * drawn as such: no inverse is formed and the draw is not factored again, which
 * could fail where df is near its bound d - 1.  T = L C^-1, where C' C ~ W(df,
 * I): c[j,j]^2 ~ chi^2(df - (d - 1 - j)), c[i,j] ~ N(0, 1), i > j (Bartlett's
 * decomposition with the coordinates in reverse order); column by column:
 * rchisq for the diagonal, then norm_rand down the column.  work: d * d. */
void rdist_inverse_wishart_factor(double df, const double *l, size_t d,
                                  double *t, double *work);

/* x (d x d) ~ W(df, L L'),  work: d * d;  x ~ IW(df, L L'),  work: 2 d * d. */
void rdist_wishart(double df, const double *l, size_t d, double *x,
                   double *work);
void rdist_inverse_wishart(double df, const double *l, size_t d, double *x,
                           double *work);

/* ---- counter-based ------------------------------------------------------- */

typedef struct {
  uint32_t key[2];
} philox_key;

/* Two words from R's generator (two calls of unif_rand). */
philox_key philox_key_from_r(void);

/* The variates of one (item, draw): a stream of its own. */
typedef struct {
  uint32_t key[2], counter[4], word[4];
  unsigned used; /* words of `word` already used; 4 = empty */
} philox_stream;

/* One block of Philox4x32-10 (for known-answer tests). */
void philox_block(const uint32_t counter[4], const uint32_t key[2],
                  uint32_t out[4]);

/* The counter is (low and high word of item, draw, block within the stream). */
philox_stream philox_open(philox_key key, uint64_t item, uint32_t draw);

/* Uniform: the midpoint of one of 2^52 cells of (0, 1), never 0 or 1. */
double philox_unif(philox_stream *s);

/* Standard normal, by the ziggurat (exact; no cached second variate). */
double philox_normal(philox_stream *s);

/* log of a Gamma(shape, 1) variate (Marsaglia & Tsang 2000), finite for every
 * shape > 0; NaN when the shape is not a positive finite number. */
double philox_log_gamma(philox_stream *s, double shape);

/* The same variate itself: from shapes far below 1 it may underflow to 0. */
double philox_gamma(philox_stream *s, double shape);

/* Binomial(n, p), n a whole number, 0 <= p <= 1: of n uniforms how many are below p.
 * Where n is large the middle one of them in order, a beta variate, says on which
 * side of p half of them lie (Ahrens & Dieter 1974, doi:10.1007/BF02293108). */
double philox_binomial(philox_stream *s, double n, double p);

void philox_log_dirichlet(philox_stream *s, const double *alpha, size_t k,
                          double *log_p);

#endif
