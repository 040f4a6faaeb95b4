#include "numeric/rounding.h"

#include "hlm/hlm_crossed.h"

#include <math.h>
#include <string.h>

#include "numeric/arena.h"
#include "numeric/linalg.h"
#include "numeric/normals.h"
#include "numeric/rdist.h"
#include "run/parts.h"
#include "run/slice.h"

#define LOG_2PI 1.837877066409345483560659472811

/* least rows in a part of a sum (parts.h) */
#define ROWS 1024

static void carve(hlm_crossed *m, arena *work) {
  const hlm_crossed_data *data = &m->data;
  size_t rows = 0;
  for (size_t f = 0; f < data->bars; f++) {
    const size_t own = (size_t)data->bar[f].start[data->bar[f].groups];
    rows = own > rows ? own : rows;
  }
  m->y = arena_doubles(work, (double)rows);
  m->right = arena_doubles(work, (double)data->p);
  m->part = arena_doubles(work, (double)parts_count(data->n, ROWS));
  hlm_nested_carve(&m->nested, data->bar, data->bars, work);
  hlm_joint_open(&m->joint, &data->joint, work);
}

size_t hlm_crossed_work_size(const hlm_crossed_data *data) {
  hlm_crossed model = {.data = *data};
  arena counting = arena_measure();
  carve(&model, &counting);
  return arena_size(&counting);
}

void hlm_crossed_open(hlm_crossed *m, const hlm_crossed_data *data,
                      const hlm_state *state, hlm_model *bar,
                      void *const *bar_work, void *work) {
  m->data = *data;
  m->state = *state;
  m->bar = bar;
  arena over = arena_over(work);
  carve(m, &over);
  double *factor = state->factor;
  for (size_t f = 0; f < data->bars; f++) {
    const hlm_data *own = data->bar + f;
    const hlm_state part = {factor, state->beta, state->b,
                            state->u + data->first[f]};
    hlm_open(bar + f, own, &part, bar_work[f]);
    bar[f].data.y = m->y;
    bar[f].pool_right = m->right;
    factor += own->q * own->q;
  }
}

/* ---- the rows of a bar, given the others ------------------------------------- */

/* sum of the row's entries times u */
static double row_times(const hlm_table *t, size_t i, const double *u) {
  double sum = 0.0;
  for (int e = t->at.start[i]; e < t->at.start[i + 1]; e++)
    sum += t->value[e] * u[t->at.index[e]];
  return sum;
}

/* to <- from - table u */
static void subtract(const hlm_table *t, const double *u, const double *from,
                     double *to, int threads) {
  const int rows = (int)t->at.groups;
  const int team = parts_team((double)t->at.stored, threads);
  (void)team;
#ifdef _OPENMP
#pragma omp parallel for num_threads(team) schedule(static) if (team > 1)
#endif
  for (int i = 0; i < rows; i++)
    to[i] = from[i] - row_times(t, (size_t)i, u);
}

/* right <- right_f - W_f u */
static void weigh_within(hlm_crossed *m, size_t f) {
  const hlm_crossed_data *data = &m->data;
  const size_t p = data->p;
  memcpy(m->right, data->right[f], p * sizeof *m->right);
  for (size_t g = 0; g < data->bars; g++)
    for (size_t at = data->first[g]; g != f && at < data->first[g + 1]; at++) {
      const double *w = data->within[f] + p * at;
      const double u = m->state.u[at];
      for (size_t k = 0; k < p; k++)
        m->right[k] -= w[k] * u;
    }
}

static status draw_jointly(hlm_crossed *m, const scan_control *control) {
  if (m->joint.data.deviations == 0)
    return STATUS_OK;
  const double root = sqrt(*m->state.beta);
  for (size_t i = 0; i < m->data.n; i++) {
    m->joint.root[i] = root;
    m->joint.y[i] = root * m->data.y[i];
  }
  return hlm_joint_draw(&m->joint, m->state.factor, m->data.bar->mean,
                        m->state.u, control);
}

static status draw_bar(hlm_crossed *m, size_t f, const scan_control *control) {
  hlm_model *bar = m->bar + f;
  normals_draw(&control->generator, bar->normals, bar->all_normals);
  subtract(m->data.cross + f, m->state.u, m->data.bar[f].y, m->y,
           control->threads);
  weigh_within(m, f);
  return hlm_draw_effects(bar, control->threads);
}

/* ---- the noise --------------------------------------------------------------------- */

/* sum_i v_i (y_i - x_i'b - sum_f z_fi'u_f)^2 */
static double residual_squares(hlm_crossed *m, int threads) {
  const hlm_crossed_data *data = &m->data;
  const size_t p = data->p;
  const int parts = (int)parts_count(data->n, ROWS);
  const double *b = m->bar[data->bars - 1].b;
  const int team =
    parts_team((double)data->n * (double)(p + data->bars), threads);
  (void)team;
#ifdef _OPENMP
#pragma omp parallel for num_threads(team) schedule(static) if (team > 1)
#endif
  for (int part = 0; part < parts; part++) {
    const parts_range own = parts_of(data->n, ROWS, part);
    double sum = 0.0;
    for (size_t i = own.first; i < own.first + own.count; i++) {
      const double gap = data->y[i] - linalg_inner(data->x + p * i, b, p) -
                         row_times(&data->rows, i, m->state.u);
      sum += gap * gap;
    }
    m->part[part] = sum;
  }
  double sum = 0.0;
  for (int part = 0; part < parts; part++)
    sum += m->part[part];
  return sum;
}

status hlm_crossed_move_nested(hlm_crossed *m, const scan_control *control) {
  return hlm_nested_moves(&m->nested, m->bar, m->data.nesting, m->data.nestings,
                          control);
}

status hlm_crossed_sweep(void *model, const scan_control *control) {
  hlm_crossed *m = model;
  const hlm_crossed_data *data = &m->data;
  status outcome = draw_jointly(m, control);
  for (size_t f = 0; outcome == STATUS_OK && f < data->bars; f++)
    outcome = draw_bar(m, f, control);
  if (outcome == STATUS_OK)
    outcome = hlm_crossed_move_nested(m, control);
  if (outcome != STATUS_OK)
    return outcome;
  m->squares = residual_squares(m, control->threads);
  if (!data->known) {
    const double shape = data->shape + 0.5 * (double)data->n;
    const double rate = data->rate + 0.5 * m->squares;
    *m->state.beta = exp(rdist_log_gamma(shape) - log(rate));
  }
  const int sound =
    *m->state.beta > 0.0 && isfinite(*m->state.beta) && isfinite(m->squares);
  return sound ? STATUS_OK : STATUS_NOT_FINITE;
}

/* ---- the stored quantities ----------------------------------------------------------- */

size_t hlm_crossed_columns(const hlm_crossed_data *data) {
  size_t columns = data->p + (data->known ? 1 : 2);
  for (size_t f = 0; f < data->bars; f++) {
    const hlm_data *bar = data->bar + f;
    columns += bar->q + (bar->diagonal ? 0 : bar->q * (bar->q - 1) / 2) +
               (data->keep ? bar->q * bar->groups : 0);
  }
  return columns;
}

void hlm_crossed_record(void *model, double *row, size_t stride) {
  hlm_crossed *m = model;
  const hlm_crossed_data *data = &m->data;
  const double beta = *m->state.beta;
  double *next = row;
  for (size_t k = 0; k < data->p; k++, next += stride)
    *next = m->state.b[k];
  for (size_t f = 0; f < data->bars; f++)
    next = hlm_record_covariance(m->bar + f, next, stride);
  if (!data->known) {
    *next = 1.0 / sqrt(beta);
    next += stride;
  }
  *next = 0.5 * ((double)data->n * (log(beta) - LOG_2PI) + data->log_weights -
                 beta * m->squares);
  for (size_t f = 0; data->keep && f < data->bars; f++) {
    const hlm_data *bar = data->bar + f;
    const double *u = m->state.u + data->first[f];
    for (size_t j = 0; j < bar->groups; j++)
      for (size_t k = 0; k < bar->q; k++)
        *(next += stride) = u[k + bar->q * j];
  }
}
