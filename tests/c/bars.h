/* Rows, priors and draws of models with bars (hlm_latent.h), which tests of several
 * types of responses share: no bar, one, two crossed or two nested ones. */
#ifndef GIBBSITE_TESTS_BARS_H
#define GIBBSITE_TESTS_BARS_H

#include "hlm/hlm_latent.h"

enum { BAR_ROWS = 12, MOST_BARS = 2, BAR_Q = 2, BAR_P = 2, BAR_GROUPS = 4 };

/* q: terms of each bar; {0, 0} for a model without bars; nested: the groups of the
 * first bar lie within those of the second, and share its first term */
typedef struct {
  size_t bars, q[MOST_BARS];
  int offset, nested;
} bars_form;

typedef struct {
  hlm_latent_data data; /* all but the type, the response and the constant */
  hlm_data bar[MOST_BARS];
  hlm_rows rows[MOST_BARS];
  hlm_state state;
  hlm_nesting nesting;
  int term[1], parent[BAR_GROUPS];
  int first[MOST_BARS][BAR_GROUPS + 1], start[MOST_BARS][BAR_GROUPS + 1];
  int row[MOST_BARS][BAR_ROWS], fixed_at[BAR_Q];
  double z[MOST_BARS][BAR_Q * BAR_ROWS], x[BAR_P * BAR_ROWS], offset[BAR_ROWS];
  double mean[BAR_P], precision[BAR_P], unit[BAR_P], column_mean[BAR_P];
  double scale[BAR_Q], beta, b[BAR_P];
  size_t effects; /* of b that are drawn, the first ones; the others are 0 */
  double factor[MOST_BARS * BAR_Q * BAR_Q], u[MOST_BARS * BAR_Q * BAR_GROUPS];
} bars;

void bars_open(bars *f, bars_form of);

/* Draws b, the covariances and the deviations from their priors. */
void bars_draw(bars *f);

/* eta of all rows */
void bars_predict(const bars *f, double *eta);

/* Statistics of b, covariances and deviations; returns the place after them. */
double *bars_statistics(const bars *f, double *next);

#endif
