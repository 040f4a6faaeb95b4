#include "numeric/rounding.h"

#include "hlm/hlm_ordinal.h"

#include <math.h>
#include <string.h>

#include "numeric/arena.h"
#include "numeric/linalg.h"

static double ordinal_log_lik(const void *response, const double *eta,
                              size_t n) {
  const hlm_ordinal *r = response;
  const cutpoints *o = &r->cutpoints;
  double sum = 0.0;
  for (size_t i = 0; i < n; i++)
    sum += o->weight[i] *
           cutpoints_log_probability(o, r->theta, (size_t)o->code[i], eta[i]);
  return sum;
}

static hlm_latent_row ordinal_draw(const void *response, size_t i, double eta) {
  const hlm_ordinal *r = response;
  const cutpoints *o = &r->cutpoints;
  const double weight = o->weight[i];
  double sum = 0.0;
  for (size_t l = 0; l < (size_t)weight; l++)
    sum += cutpoints_draw_latent(o, r->theta, (size_t)o->code[i], eta);
  return (hlm_latent_row){sqrt(weight), sum / sqrt(weight)};
}

static status ordinal_update(void *response, const double *eta, size_t n,
                             const scan_control *control) {
  hlm_ordinal *r = response;
  memcpy(r->cutpoints.eta, eta, n * sizeof *eta);
  return cutpoints_draw(&r->cutpoints, r->theta, control->threads);
}

static double ordinal_settle(void *response, double a) {
  hlm_ordinal *r = response;
  const size_t q = r->cutpoints.levels - 1;
  double sum = 0.0;
  for (size_t k = 0; k < q; k++) {
    r->theta[k] -= a;
    sum += r->theta[k];
  }
  return sum / (double)q;
}

static void ordinal_record(const void *response, double *row, size_t stride) {
  const hlm_ordinal *r = response;
  const double moved = linalg_inner(r->mean, r->b, r->p);
  for (size_t k = 0; k + 1 < r->cutpoints.levels; k++)
    row[k * stride] = r->theta[k] + moved;
}

size_t hlm_ordinal_work_size(const hlm_ordinal *model) {
  hlm_ordinal counted = *model;
  arena counting = arena_measure();
  cutpoints_carve(&counted.cutpoints, &counting);
  return arena_size(&counting);
}

void hlm_ordinal_open(hlm_ordinal *model, void *work) {
  arena over = arena_over(work);
  cutpoints_carve(&model->cutpoints, &over);
  model->cutpoints.known = 0;
  model->type = (hlm_response){.log_lik = ordinal_log_lik,
                               .draw = ordinal_draw,
                               .update = ordinal_update,
                               .settle = ordinal_settle,
                               .parameters = model->cutpoints.levels - 1,
                               .record = ordinal_record};
}
