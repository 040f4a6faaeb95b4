#include "numeric/rounding.h"

#include "lda/lda_prior.h"

#include <math.h>

#include "numeric/rmath.h"
#include "run/slice.h"

size_t lda_tally_size(size_t n) {
  return (size_t)sqrt(2.0 * (double)n) + n / 65535 + 2;
}

void lda_tally_add(lda_tally *tally, double value) {
  tally->value[tally->size] = value;
  tally->times[tally->size++] = 1.0;
}

void lda_tally_from(lda_tally *tally, uint32_t *histogram, size_t largest) {
  histogram[0] = 0;
  for (size_t value = 1; value <= largest; value++)
    if (histogram[value]) {
      tally->value[tally->size] = (double)value;
      tally->times[tally->size++] = (double)histogram[value];
      histogram[value] = 0;
    }
}

/* sum times (log G(a + value) - log G(a)) */
static double log_rising(const lda_tally *tally, double a) {
  const double base = lgammafn(a);
  double sum = 0.0;
  for (size_t i = 0; i < tally->size; i++)
    sum += tally->times[i] * (lgammafn(a + tally->value[i]) - base);
  return sum;
}

double lda_log_marginal(const lda_tally *cells, const lda_tally *groups,
                        double dimension, double a) {
  return log_rising(cells, a) - log_rising(groups, dimension * a);
}

double lda_log_prior(const lda_prior *prior, double a) {
  switch (prior->kind) {
  case LDA_UNIFORM:
    return a > prior->a && a < prior->b ? -log(prior->b - prior->a) : -INFINITY;
  case LDA_GAMMA:
    return prior->a * log(prior->b) - lgammafn(prior->a) +
           (prior->a - 1.0) * log(a) - prior->b * a;
  default:
    return 0.0;
  }
}

typedef struct {
  const lda_prior *prior;
  const lda_tally *cells, *groups;
  double dimension;
} concentration;

static double log_density(const void *data, double x) {
  const concentration *c = data;
  const double a = exp(x);
  if (!(a > LDA_LEAST && a < LDA_MOST))
    return -INFINITY;
  const double log_prior = lda_log_prior(c->prior, a);
  if (!isfinite(log_prior))
    return -INFINITY;
  return log_prior + x + lda_log_marginal(c->cells, c->groups, c->dimension, a);
}

double lda_slice(const lda_prior *prior, const lda_tally *cells,
                 const lda_tally *groups, double dimension, double a) {
  const concentration c = {prior, cells, groups, dimension};
  return exp(slice_step(log_density, &c, log(a)));
}
