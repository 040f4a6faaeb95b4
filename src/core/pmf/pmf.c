#include "numeric/rounding.h"

#include "pmf/pmf.h"

#include <math.h>
#include <string.h>

#include "numeric/arena.h"
#include "numeric/rmath.h"
#include "run/parts.h"
#include "run/slice.h"

/* ---- the work space ------------------------------------------------------ */

static void carve(pmf_model *m, int threads, arena *a) {
  const pmf_data *data = &m->data;
  const size_t most = data->n > data->m ? data->n : data->m;
  m->stride = (3 * data->k + 7) / 8 * 8;
  m->total = arena_doubles(a, (double)data->k);
  m->part = arena_doubles(a, (double)most);
  m->areas = arena_doubles(a, (double)threads * (double)m->stride);
}

size_t pmf_work_size(const pmf_data *data, int threads) {
  pmf_model m = {.data = *data};
  arena count = arena_measure();
  carve(&m, threads, &count);
  return arena_size(&count);
}

void pmf_open(pmf_model *m, const pmf_data *data, const pmf_state *state,
              void *work, int threads) {
  arena a = arena_over(work);
  memset(m, 0, sizeof *m);
  m->data = *data;
  m->state = *state;
  carve(m, threads, &a);
}

static double *factors_of(const pmf_model *m, int which) {
  return which == 0 ? m->state.u : m->state.v;
}

static double *rates_of(const pmf_model *m, int which) {
  return which == 0 ? m->state.rate_u : m->state.rate_v;
}

static size_t rows_of(const pmf_model *m, int which) {
  return which == 0 ? m->data.n : m->data.m;
}

/* total (k) <- sum over the rows of a side. */
static void sum_factors(const pmf_model *m, int which, double *total) {
  const size_t k = m->data.k, rows = rows_of(m, which);
  const double *f = factors_of(m, which);
  memset(total, 0, k * sizeof *total);
  for (size_t r = 0; r < rows; r++)
    for (size_t j = 0; j < k; j++)
      total[j] += f[r * k + j];
}

/* ---- s_ui | y, theta, beta ------------------------------------------------ */

/* Counts up to this one are drawn one by one. */
#define FEW 16.0

/* A multinomial count: y times a category by the running sums of p. */
static void add_one_by_one(philox_stream *s, double y, const double *p,
                           size_t k, double *count, double *running) {
  double sum = 0.0;
  for (size_t j = 0; j < k; j++)
    running[j] = sum += p[j];
  for (double i = 0.0; i < y; i += 1.0) {
    const double at = philox_unif(s) * sum;
    size_t j = 0;
    while (j + 1 < k && running[j] <= at)
      j++;
    count[j] += 1.0;
  }
}

/* The same by binomials, category after category. */
static void add_by_binomials(philox_stream *s, double y, const double *p,
                             size_t k, double *count, double *rest) {
  double sum = 0.0;
  for (size_t j = k; j-- > 0;)
    rest[j] = sum += p[j];
  for (size_t j = 0; j + 1 < k && y > 0.0; j++) {
    const double own =
      rest[j] > 0.0 ? philox_binomial(s, y, p[j] / rest[j]) : 0.0;
    count[j] += own;
    y -= own;
  }
  count[k - 1] += y;
}

/* count (k) += s of one pair.  p, work: k.  Returned: whether the pair has an
 * expected count. */
static int add_pair(philox_stream *s, const double *f, const double *g,
                    double y, size_t k, double *count, double *area) {
  double *p = area, *work = area + k, sum = 0.0;
  for (size_t j = 0; j < k; j++)
    sum += p[j] = f[j] * g[j];
  if (!(sum > 0.0 && isfinite(sum)))
    return 0;
  if (k == 1)
    count[0] += y;
  else if (y <= FEW)
    add_one_by_one(s, y, p, k, count, work);
  else
    add_by_binomials(s, y, p, k, count, work);
  return 1;
}

/* ---- a row: xi, s, theta --------------------------------------------------- */

static int draw_row(const pmf_model *m, int which, size_t row, philox_key key,
                    double *area) {
  const size_t k = m->data.k;
  const pmf_counts *by = &m->data.counts[which];
  const pmf_prior *prior = &m->data.prior[which];
  const double *others = factors_of(m, 1 - which);
  double *f = factors_of(m, which) + row * k;
  double *rate = rates_of(m, which) + row;
  double *count = area + 2 * k;
  philox_stream s = philox_open(key, row, 0);
  if (isfinite(prior->rate_shape)) {
    double sum = 0.0;
    for (size_t j = 0; j < k; j++)
      sum += f[j];
    const double drawn =
      philox_gamma(&s, prior->rate_shape + (double)k * prior->shape) /
      (prior->rate_shape / prior->rate_mean + sum);
    *rate = drawn > PMF_LEAST ? drawn : PMF_LEAST;
  }
  memset(count, 0, k * sizeof *count);
  int sound = 1;
  for (size_t e = (size_t)by->start[row]; e < (size_t)by->start[row + 1]; e++)
    sound &= add_pair(&s, f, others + (size_t)by->index[e] * k, by->value[e], k,
                      count, area);
  for (size_t j = 0; j < k; j++) {
    const double drawn =
      philox_gamma(&s, prior->shape + count[j]) / (*rate + m->total[j]);
    sound &= isfinite(drawn);
    f[j] = drawn > PMF_LEAST ? drawn : PMF_LEAST;
  }
  return sound;
}

status pmf_draw_side(pmf_model *m, int which, philox_key key,
                     const scan_control *control) {
  if (scan_must_stop(control))
    return STATUS_INTERRUPTED;
  sum_factors(m, 1 - which, m->total);
  const int rows = (int)rows_of(m, which);
  const double counts = (double)m->data.counts[which].start[rows];
  const int team =
    parts_team((counts + rows) * (double)m->data.k * 4.0, control->threads);
  (void)team;
  int sound = 1;
#ifdef _OPENMP
#pragma omp parallel for num_threads(team) schedule(dynamic, 16)               \
  reduction(& : sound) if (team > 1)
#endif
  for (int row = 0; row < rows; row++)
    sound &= draw_row(m, which, (size_t)row, key,
                      m->areas + (size_t)parts_thread() * m->stride);
  return sound ? STATUS_OK : STATUS_NOT_FINITE;
}

/* ---- scales ---------------------------------------------------------------- */

/* theta_.k -> e^t theta_.k, beta_.k -> e^-t beta_.k leaves the expected counts as
 * they are.  With the Jacobian and the Haar measure of the group (Liu & Sabatti
 * 2000, doi:10.1093/biomet/87.2.353) t has the log density
 *   p t - x e^t - y e^-t,  p = n a - m c,  x = sum_u xi_u theta_uk,
 *   y = sum_i eta_i beta_ik. */
typedef struct {
  double p, x, y;
} scale_density;

static double log_scale_density(const void *data, double t) {
  const scale_density *d = data;
  return d->p * t - d->x * exp(t) - d->y * exp(-t);
}

static double weighted_sum(const pmf_model *m, int which, size_t j) {
  const double *f = factors_of(m, which), *rate = rates_of(m, which);
  double sum = 0.0;
  for (size_t r = 0; r < rows_of(m, which); r++)
    sum += rate[r] * f[r * m->data.k + j];
  return sum;
}

static void scale_factor(pmf_model *m, int which, size_t j, double by) {
  double *f = factors_of(m, which);
  for (size_t r = 0; r < rows_of(m, which); r++) {
    const double scaled = f[r * m->data.k + j] * by;
    f[r * m->data.k + j] = scaled > PMF_LEAST ? scaled : PMF_LEAST;
  }
}

static status draw_scales(pmf_model *m) {
  const pmf_data *data = &m->data;
  for (size_t j = 0; j < data->k; j++) {
    const scale_density d = {(double)data->n * data->prior[0].shape -
                               (double)data->m * data->prior[1].shape,
                             weighted_sum(m, 0, j), weighted_sum(m, 1, j)};
    if (!isfinite(d.x) || !isfinite(d.y))
      return STATUS_NOT_FINITE;
    const double t = slice_step(log_scale_density, &d, 0.0);
    scale_factor(m, 0, j, exp(t));
    scale_factor(m, 1, j, exp(-t));
  }
  return STATUS_OK;
}

/* ---- log densities ---------------------------------------------------------- */

static double expected(const pmf_model *m, size_t user, size_t item) {
  const size_t k = m->data.k;
  const double *f = m->state.u + user * k, *g = m->state.v + item * k;
  double sum = 0.0;
  for (size_t j = 0; j < k; j++)
    sum += f[j] * g[j];
  return sum;
}

/* sum_{u, i} log Poisson(y_ui | theta_u'beta_i): pairs without a count enter through
 * sum_k (sum_u theta_uk) (sum_i beta_ik). */
static double log_likelihood(pmf_model *m, int threads) {
  const pmf_counts *by = &m->data.counts[0];
  const int rows = (int)m->data.n;
  const int team =
    parts_team((double)by->start[rows] * (double)m->data.k, threads);
  (void)team;
#ifdef _OPENMP
#pragma omp parallel for num_threads(team) schedule(static) if (team > 1)
#endif
  for (int u = 0; u < rows; u++) {
    double sum = 0.0;
    for (size_t e = (size_t)by->start[u]; e < (size_t)by->start[u + 1]; e++)
      sum += by->value[e] * log(expected(m, (size_t)u, (size_t)by->index[e]));
    m->part[u] = sum;
  }
  double sum = -m->data.log_const, *users = m->areas;
  for (int u = 0; u < rows; u++)
    sum += m->part[u];
  sum_factors(m, 0, users);
  sum_factors(m, 1, m->total);
  for (size_t j = 0; j < m->data.k; j++)
    sum -= users[j] * m->total[j];
  return sum;
}

static double log_gamma_density(double x, double shape, double rate) {
  return shape * log(rate) - lgammafn(shape) + (shape - 1.0) * log(x) -
         rate * x;
}

static double log_prior(const pmf_model *m, int which) {
  const pmf_prior *prior = &m->data.prior[which];
  const size_t k = m->data.k;
  double sum = 0.0;
  for (size_t r = 0; r < rows_of(m, which); r++) {
    const double rate = rates_of(m, which)[r];
    const double *f = factors_of(m, which) + r * k;
    if (isfinite(prior->rate_shape))
      sum += log_gamma_density(rate, prior->rate_shape,
                               prior->rate_shape / prior->rate_mean);
    for (size_t j = 0; j < k; j++)
      sum += log_gamma_density(f[j], prior->shape, rate);
  }
  return sum;
}

/* ---- a sweep ----------------------------------------------------------------- */

static void store_draw(const pmf_model *m) {
  size_t place;
  if (!store_selects(&m->store, *m->state.kept, &place))
    return;
  const size_t users = m->data.n * m->data.k;
  store_single(m->state.u, users, m->store.factors[place]);
  store_single(m->state.v, m->data.m * m->data.k,
               m->store.factors[place] + users);
}

status pmf_sweep(void *model, const scan_control *control) {
  pmf_model *m = model;
  status outcome = STATUS_OK;
  for (int which = 0; which < 2 && outcome == STATUS_OK; which++)
    outcome = pmf_draw_side(m, which, philox_key_from_r(), control);
  if (outcome == STATUS_OK)
    outcome = draw_scales(m);
  if (outcome != STATUS_OK || !control->recording)
    return outcome;
  *m->state.kept += 1.0;
  m->log_lik = log_likelihood(m, control->threads);
  m->log_joint = m->log_lik + log_prior(m, 0) + log_prior(m, 1);
  store_draw(m);
  return isfinite(m->log_joint) ? STATUS_OK : STATUS_NOT_FINITE;
}

size_t pmf_columns(const pmf_data *data) {
  return 2 + data->cells + (data->keep[0] ? data->n * data->k : 0) +
         (data->keep[1] ? data->m * data->k : 0);
}

/* log_lik, log_joint, expected counts of the cells, theta and beta. */
void pmf_record(void *model, double *row, size_t stride) {
  const pmf_model *m = model;
  row[0] = m->log_lik;
  row[stride] = m->log_joint;
  row += 2 * stride;
  for (size_t c = 0; c < m->data.cells; c++, row += stride)
    *row =
      expected(m, (size_t)m->data.cell_user[c], (size_t)m->data.cell_item[c]);
  for (int which = 0; which < 2; which++)
    for (size_t e = 0; m->data.keep[which] && e < rows_of(m, which) * m->data.k;
         e++, row += stride)
      *row = factors_of(m, which)[e];
}
