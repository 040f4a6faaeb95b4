#include "bars.h"

#include <math.h>
#include <string.h>

#include "harness.h"
#include "numeric/linalg.h"
#include "numeric/rdist.h"
#include "numeric/rmath.h"

/* Groups of the first bar are blocks of rows, of the second larger blocks or every
 * third row. */
static size_t group_of(const bars *f, size_t bar, size_t i) {
  if (f->bar[bar].q == 0)
    return 0;
  if (bar == 0)
    return i / 3;
  return f->data.nestings > 0 ? i / 6 : i % 3;
}

static void make_bar(bars *f, size_t bar, size_t q) {
  const size_t others = f->data.nestings > 0 ? 2 : 3;
  const size_t groups = q == 0 ? 1 : bar == 0 ? 4 : others;
  f->bar[bar] = (hlm_data){.q = q,
                           .p = BAR_P,
                           .groups = groups,
                           .start = f->start[bar],
                           .known = 1,
                           .half_t = 1,
                           .mean = f->mean,
                           .precision = f->precision,
                           .df = 5.0,
                           .scale = f->scale,
                           .unit = f->unit,
                           .column_mean = f->column_mean,
                           .intercept_at = BAR_P,
                           .fixed_at = f->fixed_at};
  int at = 0;
  for (size_t j = 0; j < groups; j++) {
    for (size_t i = 0; i < BAR_ROWS; i++)
      if (group_of(f, bar, i) == j)
        f->row[bar][at++] = (int)i;
    const int count = at - f->first[bar][j];
    f->first[bar][j + 1] = at;
    f->start[bar][j + 1] = f->start[bar][j] + (count < (int)q ? count : (int)q);
  }
  for (size_t i = 0; i < BAR_ROWS; i++)
    for (size_t k = 0; k < q; k++)
      f->z[bar][k + q * i] = k == 0 ? 1.0 : norm_rand();
  f->rows[bar] = (hlm_rows){f->first[bar], f->row[bar], f->z[bar]};
}

void bars_open(bars *f, bars_form of) {
  memset(f, 0, sizeof *f);
  for (size_t k = 0; k < BAR_P; k++) {
    f->mean[k] = 0.5 - (double)k;
    f->precision[k] = 1.0 + (double)k;
    f->unit[k] = 1.0;
  }
  for (size_t k = 0; k < BAR_Q; k++) {
    f->scale[k] = 0.6 + 0.2 * (double)k;
    f->fixed_at[k] = -1;
  }
  for (size_t i = 0; i < BAR_ROWS; i++) {
    f->x[BAR_P * i] = 1.0;
    f->x[1 + BAR_P * i] = norm_rand();
    f->offset[i] = 0.5 * norm_rand();
  }
  for (size_t j = 0; j < BAR_GROUPS; j++)
    f->parent[j] = (int)j / 2;
  f->nesting = (hlm_nesting){.outer = 1,
                             .inner = 0,
                             .shared = 1,
                             .outer_term = f->term,
                             .inner_term = f->term,
                             .parent = f->parent};
  f->data.nestings = (size_t)of.nested;
  for (size_t bar = 0; bar < of.bars; bar++)
    make_bar(f, bar, of.q[bar]);
  f->data = (hlm_latent_data){.bars = of.bars,
                              .nestings = (size_t)of.nested,
                              .nesting = &f->nesting,
                              .p = BAR_P,
                              .n = BAR_ROWS,
                              .bar = f->bar,
                              .rows = f->rows,
                              .x = f->x,
                              .offset = of.offset ? f->offset : NULL};
  f->effects = BAR_P;
  f->beta = 1.0;
  f->state = (hlm_state){f->factor, &f->beta, f->b, f->u};
}

/* L of a covariance with the half-t prior */
static void draw_factor(const hlm_data *bar, double *factor) {
  const size_t q = bar->q;
  double sums[BAR_Q * BAR_Q] = {0.0}, work[2 * BAR_Q * BAR_Q];
  for (size_t k = 0; k < q; k++)
    sums[k + q * k] =
      2.0 * bar->df * rgamma(0.5, bar->scale[k] * bar->scale[k]);
  EXPECT(linalg_cholesky(sums, q) == STATUS_OK);
  rdist_inverse_wishart(bar->df + (double)q - 1.0, sums, q, factor, work);
  EXPECT(linalg_cholesky(factor, q) == STATUS_OK);
  for (size_t k = 1; k < q; k++)
    for (size_t i = 0; i < k; i++)
      factor[i + q * k] = 0.0;
}

void bars_draw(bars *f) {
  double *factor = f->factor, *u = f->u;
  for (size_t k = 0; k < f->effects; k++)
    f->b[k] = f->mean[k] + norm_rand() / sqrt(f->precision[k]);
  for (size_t bar = 0; bar < f->data.bars; bar++) {
    const size_t q = f->bar[bar].q;
    if (q == 0)
      continue;
    draw_factor(&f->bar[bar], factor);
    for (size_t j = 0; j < f->bar[bar].groups; j++, u += q) {
      for (size_t k = 0; k < q; k++)
        u[k] = norm_rand();
      linalg_lower_times_vector(factor, q, u, u);
    }
    factor += q * q;
  }
}

void bars_predict(const bars *f, double *eta) {
  for (size_t i = 0; i < BAR_ROWS; i++) {
    const double *u = f->u;
    eta[i] = (f->data.offset ? f->offset[i] : 0.0) +
             linalg_inner(f->x + BAR_P * i, f->b, BAR_P);
    for (size_t bar = 0; bar < f->data.bars; bar++) {
      const size_t q = f->bar[bar].q;
      eta[i] += linalg_inner(f->z[bar] + q * i, u + q * group_of(f, bar, i), q);
      u += q * f->bar[bar].groups;
    }
  }
}

double *bars_statistics(const bars *f, double *next) {
  const double *factor = f->factor, *u = f->u;
  for (size_t k = 0; k < f->effects; k++) {
    *next++ = f->b[k];
    *next++ = squash(f->b[k] * f->b[k]);
  }
  for (size_t bar = 0; bar < f->data.bars; bar++) {
    const size_t q = f->bar[bar].q;
    if (q == 0)
      continue;
    *next++ = log(factor[0]);
    *next++ = squash(u[0] * u[q]);
    *next++ = squash(u[0] * u[0] / (factor[0] * factor[0]));
    *next++ = squash(u[0] * f->b[0]);
    if (q > 1)
      *next++ = factor[1] / hypot(factor[1], factor[3]);
    factor += q * q;
    u += q * f->bar[bar].groups;
  }
  return next;
}
