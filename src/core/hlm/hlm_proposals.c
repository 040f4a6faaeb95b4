#include "numeric/rounding.h"

#include "hlm/hlm_proposals.h"

#include <string.h>

#include "hlm/hlm_binomial.h"
#include "numeric/arena.h"

typedef struct {
  hlm_data *prior;
  hlm_rows *rows;
  size_t *first;
  int *none;
  double *z, *failures, *start, *precision;
} places;

static places carve(const hlm_latent_data *data, arena *work) {
  const double bars = (double)data->bars, p = (double)data->p;
  size_t groups = 0, terms = 0;
  for (size_t f = 0; f < data->bars; f++) {
    groups = data->bar[f].groups > groups ? data->bar[f].groups : groups;
    terms += data->bar[f].q;
  }
  return (places){.prior = arena_take(work, bars, sizeof(hlm_data)),
                  .rows = arena_take(work, bars, sizeof(hlm_rows)),
                  .first = arena_take(work, bars + 1.0, sizeof(size_t)),
                  .none = arena_take(work, (double)groups + 1.0, sizeof(int)),
                  .z = arena_doubles(work, (double)terms * (double)data->n),
                  .failures = arena_doubles(work, (double)data->n),
                  .start = arena_doubles(work, p),
                  .precision = arena_doubles(work, p * p)};
}

size_t hlm_proposals_work_size(const hlm_latent_data *data) {
  arena counting = arena_measure();
  carve(data, &counting);
  return arena_size(&counting);
}

hlm_data hlm_prior_of_bar(hlm_data bar, int *none) {
  memset(none, 0, (bar.groups + 1) * sizeof *none);
  bar.start = none;
  return bar;
}

/* z <- that of `rows` in the order of the groups */
static hlm_rows by_group(hlm_rows rows, size_t q, size_t n, double *z) {
  for (size_t at = 0; at < n; at++)
    memcpy(z + q * at, rows.z + q * (size_t)rows.row[at], q * sizeof *z);
  rows.z = z;
  return rows;
}

static void take_bars(hlm_count_data *to, const hlm_latent_data *data,
                      const places *own) {
  size_t bars = 0;
  double *z = own->z;
  own->first[0] = 0;
  for (size_t f = 0; f < data->bars; f++) {
    const hlm_data bar = hlm_prior_of_bar(data->bar[f], own->none);
    if (bar.q == 0)
      continue;
    own->prior[bars] = bar;
    own->rows[bars] = by_group(data->rows[f], bar.q, data->n, z);
    own->first[bars + 1] = own->first[bars] + bar.q * bar.groups;
    z += bar.q * data->n;
    bars++;
  }
  to->groups.bars = bars;
  to->groups.bar = own->prior;
  to->groups.first = own->first;
  to->bar = own->rows;
}

static hlm_likelihood likelihood_of(const hlm_latent_data *data,
                                    double *failures) {
  const hlm_binomial *own = data->response;
  for (size_t i = 0; i < data->n; i++)
    failures[i] = own->total[i] - own->success[i];
  return (hlm_likelihood){.type =
                            data->type == &hlm_probit ? HLM_PROBIT : HLM_LOGIT,
                          .n = data->n,
                          .y = own->success,
                          .failures = failures,
                          .constant = data->constant};
}

hlm_count_data hlm_proposals_data(const hlm_latent_data *data, void *work) {
  arena over = arena_over(work);
  const places own = carve(data, &over);
  const size_t p = data->p;
  memset(own.start, 0, p * sizeof *own.start);
  memset(own.precision, 0, p * p * sizeof *own.precision);
  for (size_t j = 0; j < p; j++)
    own.precision[j + p * j] = data->bar->precision[j];
  hlm_count_data to = {.groups = {.p = p,
                                  .known = 1,
                                  .keep = 1,
                                  .nestings = data->nestings,
                                  .nesting = data->nesting},
                       .rows = likelihood_of(data, own.failures),
                       .x = data->x,
                       .offset = data->offset,
                       .mean = data->bar->mean,
                       .precision = own.precision,
                       .start = own.start,
                       .freedom = 1.0,
                       .scale = 1.0};
  take_bars(&to, data, &own);
  return to;
}
