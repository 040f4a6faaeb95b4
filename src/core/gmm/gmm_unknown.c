#include "numeric/rounding.h"

#include "gmm/gmm_unknown.h"

#include <math.h>
#include <stdint.h>

#include "numeric/linalg.h"
#include "numeric/rdist.h"
#include "numeric/rmath.h"
#include "run/slice.h"

/* ---- sizes and layout -------------------------------------------------------- */

static void carve(gmm_unknown *u, size_t max, arena *a) {
  u->concentration = arena_doubles(a, (double)max);
  u->weight = arena_doubles(a, (double)max);
  u->number = arena_take(a, (double)max, sizeof(int));
}

static size_t own_size(size_t max) {
  gmm_unknown u = {0};
  arena count = arena_measure();
  carve(&u, max, &count);
  return arena_size(&count);
}

size_t gmm_unknown_work_size(const gmm_data *mixture) {
  const size_t size = gmm_work_size(mixture), own = own_size(mixture->k);
  return size && own && size <= SIZE_MAX - own ? size + own : 0;
}

static size_t scale_columns(const gmm_data *mixture,
                            const gmm_unknown_data *data) {
  const size_t d = mixture->d;
  if (!data->draw_s0)
    return 0;
  return mixture->form == COVARIANCE_DIAGONAL ? d : d * d;
}

size_t gmm_unknown_columns(const gmm_data *mixture,
                           const gmm_unknown_data *data) {
  gmm_data components = *mixture;
  components.keep_z = components.keep_x = 0;
  const size_t all = gmm_columns(mixture), most = gmm_columns(&components);
  return 3 + (data->draw_alpha ? 1 : 0) + scale_columns(mixture, data) +
         (data->keep_components ? most - 2 : 0) + (all - most);
}

/* Tries of moves in a sweep, and the share of those that merge or split: a chain
 * changes the number of clusters by them, and rarely by single allocations. */
#define TRIES 4
#define EMPTY_RATE 0.6

/* What the moves need of S0. */
static status open_moves(gmm_unknown *u) {
  if (!u->mixture.data.merge_split)
    return STATUS_OK;
  const status outcome = gmm_moves_open(&u->mixture);
  u->mixture.moves.empty_rate = EMPTY_RATE;
  return outcome;
}

/* ---- the partition ------------------------------------------------------------ */

/* The parameters of component c, and its sums, become those of component `to`. */
static void move_component(gmm_model *m, size_t c, size_t to) {
  const size_t d = m->data.d, square = d * d;
  const size_t size = gmm_factor_size(m->data.form, d, 1);
  double *from_factor = gmm_factor(&m->components, c);
  double *to_factor = gmm_factor(&m->components, to);
  m->sums.count[to] = m->sums.count[c];
  for (size_t j = 0; j < d; j++) {
    m->components.mean[to * d + j] = m->components.mean[c * d + j];
    m->sums.sum[to * d + j] = m->sums.sum[c * d + j];
  }
  for (size_t e = 0; e < square; e++)
    m->sums.cross[to * square + e] = m->sums.cross[c * square + e];
  for (size_t e = 0; e < size && to_factor != from_factor; e++)
    to_factor[e] = from_factor[e];
}

/* Component c without observations; its mean is finite and says nothing. */
static void clear_component(gmm_model *m, size_t c) {
  const size_t d = m->data.d;
  m->sums.count[c] = 0.0;
  for (size_t j = 0; j < d; j++)
    m->components.mean[c * d + j] = m->sums.sum[c * d + j] = 0.0;
  for (size_t e = 0; e < d * d; e++)
    m->sums.cross[c * d * d + e] = 0.0;
}

/* Components with observations get the numbers 1, ..., k+, in their order.  The
 * density does not depend on the numbering. */
static void fill_first(gmm_unknown *u) {
  gmm_model *m = &u->mixture;
  u->filled = 0;
  for (size_t c = 0; c < m->data.k; c++) {
    if (!(m->sums.count[c] > 0.0))
      continue;
    if (c != u->filled)
      move_component(m, c, u->filled);
    u->number[c] = (int)++u->filled;
  }
  for (size_t i = 0; i < m->data.n; i++)
    m->state.z[i] = u->number[m->state.z[i] - 1];
  for (size_t c = u->filled; c < m->data.k; c++)
    clear_component(m, c);
}

static double concentration(const gmm_unknown *u, double alpha, double k) {
  return u->data.dynamic ? alpha / k : alpha;
}

/* log of Gamma(g k) / Gamma(g k + n) prod_{n_c > 0} Gamma(g + n_c) / Gamma(g) */
static double log_partition(const gmm_unknown *u, double alpha, double k) {
  const gmm_model *m = &u->mixture;
  const double g = concentration(u, alpha, k), base = lgammafn(g);
  double value = lgammafn(g * k) - lgammafn(g * k + (double)m->data.n);
  for (size_t c = 0; c < u->filled; c++)
    value += lgammafn(g + m->sums.count[c]) - base;
  return value;
}

/* ---- the blocks of a sweep ------------------------------------------------------ */

/* k components of weight g each from now on. */
static void set_size(gmm_unknown *u, size_t k) {
  const double alpha = *u->state.alpha;
  *u->state.k = (double)k;
  u->mixture.data.k = u->mixture.components.k = k;
  for (size_t c = 0; c < k; c++)
    u->concentration[c] = concentration(u, alpha, (double)k);
}

/* P(k | partition, alpha) is proportional to p(k) k! / (k - k+)! times
 * exp(log_partition)  (Frühwirth-Schnatter et al. 2021, step 3).  By inversion,
 * from one uniform. */
static status draw_size(gmm_unknown *u) {
  const size_t max = u->mixture.room, least = u->filled;
  double largest = -INFINITY, total = 0.0, partial = 0.0;
  for (size_t k = least; k <= max; k++) {
    const double log_weight = u->data.log_prior[k - 1] +
                              lgammafn((double)k + 1.0) -
                              lgammafn((double)(k - least) + 1.0) +
                              log_partition(u, *u->state.alpha, (double)k);
    u->weight[k - 1] = log_weight;
    largest = fmax(largest, log_weight);
  }
  if (!isfinite(largest))
    return STATUS_NOT_FINITE;
  for (size_t k = least; k <= max; k++)
    total += u->weight[k - 1] = exp(u->weight[k - 1] - largest);
  const double threshold = unif_rand() * total;
  size_t chosen = least;
  for (size_t k = least; k <= max && partial <= threshold; k++)
    if (u->weight[k - 1] > 0.0) {
      partial += u->weight[k - 1];
      chosen = k;
    }
  *u->state.k = (double)chosen;
  return STATUS_OK;
}

/* log of p(alpha) alpha p(partition | k, alpha) at log alpha, alpha ~ F(f1, f2). */
static double log_alpha_density(const void *data, double log_alpha) {
  const gmm_unknown *u = data;
  const double alpha = exp(log_alpha), f1 = u->data.f1, f2 = u->data.f2;
  if (!(alpha > 0.0 && isfinite(alpha)))
    return -INFINITY;
  return 0.5 * f1 * log_alpha - 0.5 * (f1 + f2) * log1p(f1 * alpha / f2) +
         log_partition(u, alpha, *u->state.k);
}

/* S0 | Sigma ~ W(df0 + k+ nu0, (G0 + sum_{c <= k+} Sigma_c^-1)^-1); shared: one
 * Sigma.  Drawn through its inverse, which is inverse Wishart. */
static status draw_scale(gmm_unknown *u) {
  gmm_model *m = &u->mixture;
  const size_t d = m->data.d;
  const size_t matrices = m->data.form == COVARIANCE_SHARED ? 1 : u->filled;
  const double df = u->data.df0 + (double)matrices * m->data.nu0;
  double *rate = m->matrix[0], *lower = m->matrix[1], *inverse = m->matrix[2];
  for (size_t e = 0; e < d * d; e++)
    rate[e] = u->data.g0[e];
  for (size_t c = 0; c < matrices; c++) {
    gmm_lower(&m->components, c, lower);
    linalg_inverse_from_cholesky(lower, d, inverse);
    for (size_t e = 0; e < d * d; e++)
      rate[e] += inverse[e];
  }
  const status outcome = linalg_cholesky(rate, d);
  if (outcome != STATUS_OK)
    return outcome;
  rdist_inverse_wishart_factor(df, rate, d, lower, inverse);
  linalg_inverse_from_cholesky(lower, d, u->state.s0);
  return STATUS_OK;
}

/* Diagonal covariances: S0_jj ~ Gamma((df0 + k+ nu0) / 2, (G0_jj + sum_c 1 /
 * sigma2_cj) / 2), shape and rate. */
static void draw_scales(gmm_unknown *u) {
  gmm_model *m = &u->mixture;
  const size_t d = m->data.d;
  const double df = u->data.df0 + (double)u->filled * m->data.nu0;
  for (size_t j = 0; j < d; j++) {
    double rate = u->data.g0[j + d * j];
    for (size_t c = 0; c < u->filled; c++) {
      const double deviation = gmm_factor(&m->components, c)[j];
      rate += 1.0 / (deviation * deviation);
    }
    u->state.s0[j + d * j] = rchisq(df) / rate;
  }
}

static status draw_s0(gmm_unknown *u) {
  status outcome = STATUS_OK;
  if (u->mixture.data.form == COVARIANCE_DIAGONAL)
    draw_scales(u);
  else
    outcome = draw_scale(u);
  return outcome == STATUS_OK ? open_moves(u) : outcome;
}

/* mu_c, Sigma_c of the components with observations. */
static status draw_filled(gmm_unknown *u) {
  status outcome = STATUS_OK;
  for (size_t c = 0; c < u->filled && outcome == STATUS_OK; c++)
    outcome = gmm_draw_mean(&u->mixture, c);
  if (outcome == STATUS_OK)
    outcome = gmm_draw_covariances(&u->mixture, 0, u->filled);
  return outcome;
}

/* Empty components from their prior. */
static status draw_empty(gmm_unknown *u) {
  gmm_model *m = &u->mixture;
  const size_t k = m->data.k;
  status outcome = STATUS_OK;
  for (size_t c = u->filled; c < k; c++)
    clear_component(m, c);
  if (m->data.form != COVARIANCE_SHARED)
    outcome = gmm_draw_covariances(m, u->filled, k);
  for (size_t c = u->filled; c < k && outcome == STATUS_OK; c++)
    outcome = gmm_draw_mean(m, c);
  return outcome;
}

/* The identity as the factor of component c. */
static void clear_factor(gmm_model *m, size_t c) {
  const size_t d = m->data.d;
  double *factor = gmm_factor(&m->components, c);
  if (m->data.form == COVARIANCE_DIAGONAL)
    for (size_t j = 0; j < d; j++)
      factor[j] = 1.0;
  else if (m->data.form == COVARIANCE_FULL)
    for (size_t e = 0; e < d * d; e++)
      factor[e] = e % (d + 1) == 0 ? 1.0 : 0.0;
}

/* The state gets the components; places that are not used are cleared. */
static void store_components(gmm_unknown *u) {
  gmm_model *m = &u->mixture;
  const size_t d = m->data.d, room = m->room;
  for (size_t c = m->data.k; c < room; c++) {
    clear_component(m, c);
    clear_factor(m, c);
    m->state.log_pi[c] = 0.0;
  }
  for (size_t c = 0; c < room; c++)
    for (size_t j = 0; j < d; j++)
      m->state.mu[c + room * j] = m->components.mean[c * d + j];
  for (size_t e = 0; e < gmm_factor_size(m->data.form, d, room); e++)
    m->state.factor[e] = m->components.factor[e];
}

/* k and alpha given the partition, S0 given the covariances. */
static status draw_hyperparameters(gmm_unknown *u) {
  const status outcome = draw_size(u);
  if (outcome != STATUS_OK)
    return outcome;
  if (u->data.draw_alpha)
    *u->state.alpha =
      exp(slice_step(log_alpha_density, u, log(*u->state.alpha)));
  set_size(u, (size_t)*u->state.k);
  return u->data.draw_s0 ? draw_s0(u) : STATUS_OK;
}

status gmm_unknown_sweep(void *model, const scan_control *control) {
  gmm_unknown *u = model;
  gmm_model *m = &u->mixture;
  for (int try = 0; m->data.merge_split && try < TRIES; try++)
    gmm_move_groups(m, control);
  fill_first(u);
  status outcome = draw_filled(u);
  if (outcome == STATUS_OK)
    outcome = draw_hyperparameters(u);
  if (outcome == STATUS_OK)
    outcome = draw_empty(u);
  if (outcome == STATUS_OK) {
    gmm_draw_weights(m);
    gmm_set_constants(m);
    outcome = gmm_draw_allocations(m, control);
  }
  store_components(u);
  return outcome;
}

/* ---- opening and recording ------------------------------------------------------ */

status gmm_unknown_open(gmm_unknown *u, const gmm_data *mixture,
                        const gmm_state *state, const gmm_unknown_data *data,
                        const gmm_unknown_state *further, void *work,
                        int threads) {
  gmm_data own = *mixture;
  arena space = arena_over(work);
  u->data = *data;
  u->state = *further;
  carve(u, mixture->k, &space);
  own.alpha = u->concentration;
  own.s0 = u->state.s0;
  const status outcome = gmm_open(&u->mixture, &own, state,
                                  (char *)work + own_size(mixture->k), threads);
  set_size(u, (size_t)*u->state.k);
  return outcome == STATUS_OK ? open_moves(u) : outcome;
}

static double *record_scale(const gmm_unknown *u, double *row, size_t stride) {
  const size_t d = u->mixture.data.d;
  const size_t size = scale_columns(&u->mixture.data, &u->data);
  for (size_t e = 0; e < size; e++, row += stride)
    *row = u->state.s0[size == d * d ? e : e * (d + 1)];
  return row;
}

static double *record_components(const gmm_unknown *u, double *row,
                                 size_t stride) {
  const gmm_model *m = &u->mixture;
  const size_t d = m->data.d, room = m->room;
  const size_t before = room * (1 + d);
  const size_t size = gmm_factor_size(m->data.form, d, room);
  for (size_t e = 0; e < before + size; e++)
    row[e * stride] = 0.0;
  for (size_t c = 0; c < m->data.k; c++)
    row[c * stride] = exp(m->state.log_pi[c]);
  for (size_t e = 0; e < room * d; e++)
    row[(room + e) * stride] = m->state.mu[e];
  return gmm_record_covariances(m, row + before * stride, stride);
}

void gmm_unknown_record(void *model, double *row, size_t stride) {
  const gmm_unknown *u = model;
  const gmm_model *m = &u->mixture;
  double occupied = 0.0;
  for (size_t c = 0; c < m->data.k; c++)
    occupied += m->sums.count[c] > 0.0;
  row[0] = *u->state.k;
  row[stride] = occupied;
  row += 2 * stride;
  if (u->data.draw_alpha) {
    *row = *u->state.alpha;
    row += stride;
  }
  row = record_scale(u, row, stride);
  *row = m->log_lik;
  row += stride;
  if (u->data.keep_components)
    row = record_components(u, row, stride);
  gmm_record_observations(m, row, stride);
}
