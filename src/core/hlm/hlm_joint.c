#include "numeric/rounding.h"

#include "hlm/hlm_joint.h"

#include <math.h>

#include "numeric/linalg.h"
#include "numeric/normals.h"

static size_t effects_of(const hlm_joint_data *data) {
  return data->deviations + data->p;
}

void hlm_joint_open(hlm_joint *m, const hlm_joint_data *data, arena *work) {
  m->data = *data;
  if (data->deviations == 0)
    return;
  const double n = (double)data->n, all = (double)effects_of(data);
  m->root = arena_doubles(work, n);
  m->y = arena_doubles(work, n);
  m->z = arena_doubles(work, n * (double)data->terms);
  m->x = arena_doubles(work, n * (double)data->p);
  m->value = arena_doubles(work, (double)data->factor.stored);
  m->column = arena_doubles(work, all);
  m->effect = arena_doubles(work, all);
  m->normals = arena_doubles(work, all);
  m->next = arena_take(work, all, sizeof *m->next);
  m->first = arena_take(work, all, sizeof *m->first);
  m->row = arena_take(work, all, sizeof *m->row);
}

/* W */
static void weigh_row(hlm_joint *m, const double *l, size_t i) {
  const hlm_joint_data *data = &m->data;
  const double *z = data->z + data->terms * i;
  double *to = m->z + data->terms * i;
  for (size_t f = 0; f < data->bars; f++) {
    const size_t q = data->bar[f].q;
    for (size_t c = 0; c < q; c++) {
      double sum = 0.0;
      for (size_t k = c; k < q; k++)
        sum += z[k] * l[k + q * c];
      to[c] = m->root[i] * sum;
    }
    z += q;
    to += q;
    l += q * q;
  }
  for (size_t k = 0; k < data->p; k++)
    m->x[k + data->p * i] = m->root[i] * data->x[k + data->p * i];
}

/* Column k of the lower triangle of P into m->column, where that is 0, and element k of
 * W'y into m->effect. */
static void add_deviation(hlm_joint *m, size_t k) {
  const hlm_joint_data *data = &m->data;
  const size_t terms = data->terms, p = data->p;
  double *column = m->column, *fixed = column + data->deviations;
  double right = 0.0;
  column[k] += 1.0;
  for (int e = data->entries.start[k]; e < data->entries.start[k + 1]; e++) {
    const size_t at = (size_t)data->entries.index[e], i = at / terms;
    const double value = m->z[at];
    const int *place = data->place + terms * i;
    for (size_t c = 0; c < terms; c++)
      if ((size_t)place[c] >= k)
        column[place[c]] += value * m->z[c + terms * i];
    for (size_t c = 0; c < p; c++)
      fixed[c] += value * m->x[c + p * i];
    right += value * m->y[i];
  }
  m->effect[k] = right;
}

static void add_fixed(hlm_joint *m, size_t k, const double *mean) {
  const hlm_joint_data *data = &m->data;
  const size_t p = data->p;
  double *column = m->column + data->deviations;
  double right = data->precision[k] * mean[k];
  column[k] += data->precision[k];
  for (size_t i = 0; i < data->n; i++) {
    const double *x = m->x + p * i;
    for (size_t c = k; c < p; c++)
      column[c] += x[k] * x[c];
    right += x[k] * m->y[i];
  }
  m->effect[data->deviations + k] = right;
}

/* Column `from` of C waits for the row where it acts next. */
static void wait_for_row(hlm_joint *m, int from) {
  const compressed *c = &m->data.factor;
  if (m->next[from] < c->start[from + 1]) {
    const int row = c->index[m->next[from]];
    m->row[from] = m->first[row];
    m->first[row] = from;
  }
}

/* Subtracts from column k what the columns of C before it hold. */
static void eliminate(hlm_joint *m, size_t k) {
  const compressed *c = &m->data.factor;
  int from = m->first[k];
  while (from >= 0) {
    const int then = m->row[from], begin = m->next[from]++;
    const double by = m->value[begin];
    for (int e = begin; e < c->start[from + 1]; e++)
      m->column[c->index[e]] -= by * m->value[e];
    wait_for_row(m, from);
    from = then;
  }
}

static status finish_column(hlm_joint *m, size_t k) {
  const compressed *c = &m->data.factor;
  const double pivot = m->column[k];
  if (!(pivot > 0.0 && isfinite(pivot)))
    return STATUS_NOT_POSITIVE_DEFINITE;
  const double root = sqrt(pivot);
  m->value[c->start[k]] = root;
  m->column[k] = 0.0;
  for (int e = c->start[k] + 1; e < c->start[k + 1]; e++) {
    m->value[e] = m->column[c->index[e]] / root;
    m->column[c->index[e]] = 0.0;
  }
  m->next[k] = c->start[k] + 1;
  wait_for_row(m, (int)k);
  return STATUS_OK;
}

/* C, and W'y + (0, t m) in m->effect. */
static status factorise(hlm_joint *m, const double *mean) {
  const hlm_joint_data *data = &m->data;
  const size_t all = effects_of(data);
  for (size_t k = 0; k < all; k++) {
    m->column[k] = 0.0;
    m->first[k] = -1;
  }
  for (size_t k = 0; k < all; k++) {
    if (k < data->deviations)
      add_deviation(m, k);
    else
      add_fixed(m, k - data->deviations, mean);
    eliminate(m, k);
    const status outcome = finish_column(m, k);
    if (outcome != STATUS_OK)
      return outcome;
  }
  return STATUS_OK;
}

/* m->effect <- C'^-1 (C^-1 m->effect + normals) */
static void solve(hlm_joint *m) {
  const compressed *c = &m->data.factor;
  const size_t all = effects_of(&m->data);
  double *effect = m->effect;
  for (size_t k = 0; k < all; k++) {
    effect[k] /= m->value[c->start[k]];
    for (int e = c->start[k] + 1; e < c->start[k + 1]; e++)
      effect[c->index[e]] -= m->value[e] * effect[k];
    effect[k] += m->normals[k];
  }
  for (size_t k = all; k-- > 0;) {
    for (int e = c->start[k] + 1; e < c->start[k + 1]; e++)
      effect[k] -= m->value[e] * effect[c->index[e]];
    effect[k] /= m->value[c->start[k]];
  }
}

/* u <- L e, of all bars */
static void load(const hlm_joint_data *data, const double *l, double *u) {
  for (size_t f = 0; f < data->bars; f++) {
    const size_t q = data->bar[f].q;
    for (size_t j = 0; j < data->bar[f].groups; j++, u += q)
      linalg_lower_times_vector(l, q, u, u);
    l += q * q;
  }
}

status hlm_joint_draw(hlm_joint *m, const double *l, const double *mean,
                      double *u, const scan_control *control) {
  const hlm_joint_data *data = &m->data;
  normals_draw(&control->generator, m->normals, effects_of(data));
  for (size_t i = 0; i < data->n; i++)
    weigh_row(m, l, i);
  const status outcome = factorise(m, mean);
  if (outcome != STATUS_OK)
    return outcome;
  solve(m);
  for (size_t k = 0; k < data->deviations; k++)
    u[data->deviation[k]] = m->effect[k];
  load(data, l, u);
  return STATUS_OK;
}
