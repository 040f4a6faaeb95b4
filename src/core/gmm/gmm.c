#include "numeric/rounding.h"

#include "gmm/gmm.h"

#include <math.h>
#include <stdint.h>

#include "numeric/lanes.h"
#include "numeric/linalg.h"
#include "numeric/normals.h"
#include "numeric/rdist.h"
#include "numeric/rmath.h"

#define LOG_2PI 1.837877066409345483560659472811

/* A pattern's area for one component: factor of the covariance with the observed
 * variables first, log constant. */
size_t gmm_pattern_size(const gmm_data *data) {
  return data->d * data->d + 1;
}

static void clear(double *x, size_t length) {
  for (size_t i = 0; i < length; i++)
    x[i] = 0.0;
}

/* ---- rows with missing entries -------------------------------------------- */

/* Variables of a pattern, observed ones first, both groups ascending; returned:
 * the number observed. */
static size_t order_variables(const gmm_model *m, size_t p, size_t *order) {
  const size_t d = m->data.d;
  const int *missing = m->data.missing.missing + p * d;
  size_t observed = 0, last = d;
  for (size_t j = 0; j < d; j++)
    if (!missing[j])
      order[observed++] = j;
  for (size_t j = d; j-- > 0;)
    if (missing[j])
      order[--last] = j;
  return observed;
}

/* For each pattern and component: Cholesky factor of Sigma_c with the observed
 * variables first, and the constant of the observed ones' density.  Mode: of the
 * density of all, the missing ones at their conditional mean, since z_i and they
 * go to their mode together. */
static status prepare_patterns(gmm_model *m) {
  const size_t d = m->data.d, k = m->data.k;
  double *lower = m->matrix[0], *permuted = m->matrix[1];
  size_t *order = m->order;
  for (size_t p = 0; p < m->data.missing.patterns; p++) {
    const size_t observed = order_variables(m, p, order);
    const size_t counted = m->mode ? d : observed;
    for (size_t c = 0; c < k; c++) {
      double *area = m->patterns + (p * k + c) * gmm_pattern_size(&m->data);
      double *constant = area + d * d;
      gmm_lower(&m->components, c, lower);
      for (size_t j = 0; j < d; j++)
        for (size_t i = 0; i < d; i++)
          permuted[i + d * j] = lower[order[i] + d * j];
      linalg_outer_gram(permuted, d, area);
      const status outcome = linalg_cholesky(area, d);
      if (outcome != STATUS_OK)
        return outcome;
      *constant = m->state.log_pi[c] - 0.5 * (double)counted * LOG_2PI;
      for (size_t j = 0; j < counted; j++)
        *constant -= log(area[j + d * j]);
    }
  }
  return STATUS_OK;
}

/* white (d): L^-1 (x - mu) of the observed variables, which come first;
 * returned: log pi_c + log N(x_observed | mu_c, Sigma_c). */
static double observed_log_joint(const gmm_model *m, size_t i, size_t c,
                                 const size_t *order, size_t observed,
                                 double *white) {
  const size_t d = m->data.d, n = m->data.n;
  const size_t p = (size_t)m->data.missing.pattern[i] - 1;
  const double *l =
    m->patterns + (p * m->data.k + c) * gmm_pattern_size(&m->data);
  const double *mean = m->components.mean + c * d;
  double square = 0.0;
  for (size_t r = 0; r < observed; r++) {
    double w = m->x[i + n * order[r]] - mean[order[r]];
    for (size_t q = 0; q < r; q++)
      w -= l[r + d * q] * white[q];
    white[r] = w / l[r + d * r];
    square += white[r] * white[r];
  }
  return l[d * d] - 0.5 * square;
}

/* x_missing | z_i = c, x_observed ~ N(mu_m + L_mo w, L_mm L_mm'), with w the
 * whitened observed part and L the factor with the observed variables first. */
static void draw_missing(const gmm_model *m, size_t i, double *white,
                         size_t *order) {
  const size_t d = m->data.d, n = m->data.n;
  const size_t c = (size_t)m->state.z[i] - 1;
  const size_t p = (size_t)m->data.missing.pattern[i] - 1;
  const size_t first = (size_t)m->data.missing.offset[i];
  const double *l =
    m->patterns + (p * m->data.k + c) * gmm_pattern_size(&m->data);
  const double *mean = m->components.mean + c * d;
  const size_t observed = order_variables(m, p, order);
  observed_log_joint(m, i, c, order, observed, white);
  for (size_t r = observed; r < d; r++)
    white[r] = m->mode ? 0.0 : m->normals[first + r - observed];
  for (size_t r = observed; r < d; r++) {
    double value = mean[order[r]];
    for (size_t q = 0; q <= r; q++)
      value += l[r + d * q] * white[q];
    m->x[i + n * order[r]] = value;
    m->state.x_missing[first + r - observed] = value;
  }
}

/* ---- z_i | pi, mu, Sigma, x_i ----------------------------------------------- */

/* Log joint weights of a block; incomplete rows by their observed entries. */
static void block_weights(const gmm_model *m, size_t first, size_t lanes,
                          double *scratch, double *weight) {
  const size_t k = m->data.k;
  gmm_log_joint(&m->components, m->x + first, m->data.n, lanes, scratch,
                weight);
  if (m->data.missing.entries == 0)
    return;
  size_t *order = (size_t *)(void *)(scratch + m->data.d);
  for (size_t lane = 0; lane < lanes; lane++) {
    const int p = m->data.missing.pattern[first + lane];
    if (p == 0)
      continue;
    const size_t observed = order_variables(m, (size_t)p - 1, order);
    for (size_t c = 0; c < k; c++)
      weight[c * LANES + lane] =
        observed_log_joint(m, first + lane, c, order, observed, scratch);
  }
}

/* The component of the largest weight, the first one of several. */
static void pick_largest(const double *weight, size_t k, size_t lanes, int *z) {
  for (size_t lane = 0; lane < lanes; lane++) {
    size_t best = 0;
    for (size_t c = 1; c < k; c++)
      if (weight[c * LANES + lane] > weight[best * LANES + lane])
        best = c;
    z[lane] = (int)best + 1;
  }
}

static void allocate_block(const gmm_model *m, size_t first, size_t lanes,
                           const gmm_chunk *area, gmm_log_sum *log_lik) {
  const size_t n = m->data.n, k = m->data.k;
  double *weight = area->weight;
  int *z = m->state.z + first;
  block_weights(m, first, lanes, area->scratch, weight);
  if (m->mode)
    pick_largest(weight, k, lanes, z);
  gmm_accumulate(weight, k, lanes, log_lik);
  if (!m->mode)
    gmm_pick(weight, k, m->uniforms + first, lanes, z);
  if (m->recording)
    gmm_average(weight, n, k, lanes, 1.0 / *m->state.kept,
                m->state.prob + first);
  size_t *order = (size_t *)(void *)(area->scratch + m->data.d);
  for (size_t i = first; m->data.missing.entries && i < first + lanes; i++)
    if (m->data.missing.pattern[i] > 0)
      draw_missing(m, i, area->scratch, order);
}

/* ---- sums by component ------------------------------------------------------ */

/* Adds the buffered observations of component c to its sums. */
static void empty_bin(const gmm_model *m, gmm_sums *sums, size_t c) {
  const size_t d = m->data.d;
  gmm_add_bin(m->data.form, sums->bin + c * d * BIN, d, sums->waiting[c],
              sums->ones, m->components.mean + c * d, sums->sum + c * d,
              sums->cross + c * d * d);
  sums->count[c] += (double)sums->waiting[c];
  sums->waiting[c] = 0;
}

/* Adds observations first, ..., first + lanes - 1; `block` holds them side by
 * side where they have just been loaded and none was changed since, else NULL.
 * Afterwards every bin has room for another block. */
static void add_block(const gmm_model *m, gmm_sums *sums, size_t first,
                      size_t lanes, const double *block) {
  const size_t d = m->data.d, k = m->data.k;
  const double *x = block ? block : m->x + first;
  const size_t stride = block ? LANES : m->data.n;
  double *slot[LANES];
  for (size_t lane = 0; lane < lanes; lane++) {
    const size_t c = (size_t)m->state.z[first + lane] - 1;
    slot[lane] = sums->bin + c * d * BIN + sums->waiting[c]++;
  }
  for (size_t j = 0; j < d; j++)
    for (size_t lane = 0; lane < lanes; lane++)
      slot[lane][j * BIN] = x[lane + j * stride];
  for (size_t c = 0; c < k; c++)
    if (sums->waiting[c] > BIN - LANES)
      empty_bin(m, sums, c);
}

static void clear_sums(const gmm_model *m, gmm_sums *sums) {
  const size_t k = m->data.k, d = m->data.d;
  clear(sums->count, k);
  clear(sums->sum, k * d);
  clear(sums->cross, k * d * d);
}

static void add(double *to, const double *from, size_t length) {
  for (size_t e = 0; e < length; e++)
    to[e] += from[e];
}

static void add_sums(const gmm_model *m, gmm_sums *to, const gmm_sums *from) {
  const size_t k = m->data.k, d = m->data.d;
  add(to->count, from->count, k);
  add(to->sum, from->sum, k * d);
  add(to->cross, from->cross, k * d * d);
}

static void open_sums(const gmm_model *m, gmm_sums *sums) {
  clear_sums(m, sums);
  for (size_t s = 0; s < BIN; s++)
    sums->ones[s] = 1.0;
  for (size_t c = 0; c < m->data.k; c++)
    sums->waiting[c] = 0;
}

/* Sums by component; allocations before these; the log-likelihood alone. */
typedef enum { SUM, ALLOCATE, EVALUATE } chunk_task;

/* The task for the observations of one chunk in its own area; outside it only
 * elements of these observations are written, so chunks may run in any order. */
static void run_chunk(const gmm_model *m, size_t index, chunk_task task) {
  const size_t n = m->data.n;
  gmm_chunk *area = m->areas + index;
  gmm_log_sum log_lik = gmm_log_sum_open();
  const size_t first = index * m->chunk;
  const size_t last = first + m->chunk < n ? first + m->chunk : n;
  const int loaded = task == ALLOCATE && m->data.missing.entries == 0;
  open_sums(m, &area->sums);
  for (size_t i = first; i < last; i += LANES) {
    const size_t lanes = last - i < LANES ? last - i : LANES;
    if (task == ALLOCATE)
      allocate_block(m, i, lanes, area, &log_lik);
    if (task == EVALUATE) {
      block_weights(m, i, lanes, area->scratch, area->weight);
      gmm_accumulate(area->weight, m->data.k, lanes, &log_lik);
      continue;
    }
    add_block(m, &area->sums, i, lanes, loaded ? area->scratch : NULL);
  }
  for (size_t c = 0; c < m->data.k; c++)
    empty_bin(m, &area->sums, c);
  area->log_lik = gmm_log_sum_close(&log_lik);
}

/* Chunks that run before the user is asked whether to go on: at least 16, so
 * that threads have enough to do, and some tenths of a second of work. */
static int batch_length(const gmm_model *m) {
  const double d = (double)m->data.d;
  const double work = (double)m->chunk * (double)m->data.k * (d * d + 16.0);
  return work < 2e8 / 64.0 ? 64 : work < 2e8 / 16.0 ? (int)(2e8 / work) : 16;
}

/* Chunks first, ..., last - 1 in parallel.  No team of one is set up: that
 * would take as long as 50 observations. */
static void run_batch(const gmm_model *m, int first, int last, chunk_task task,
                      int threads) {
  const int team = threads < last - first ? threads : last - first;
  if (team < 2) {
    for (int index = first; index < last; index++)
      run_chunk(m, (size_t)index, task);
    return;
  }
#ifdef _OPENMP
#pragma omp parallel for num_threads(team) schedule(dynamic)
#endif
  for (int index = first; index < last; index++)
    run_chunk(m, (size_t)index, task);
}

/* All chunks, then their sums in the order of the chunks. */
static status run_chunks(gmm_model *m, chunk_task task,
                         const scan_control *control) {
  const int chunks = (int)m->chunks, batch = batch_length(m);
  for (int first = 0; first < chunks; first += batch) {
    if (first > 0 && scan_must_stop(control))
      return STATUS_INTERRUPTED;
    const int last = first + batch < chunks ? first + batch : chunks;
    run_batch(m, first, last, task, control->threads);
  }
  m->log_lik = 0.0;
  for (size_t index = 0; index < m->chunks; index++)
    m->log_lik += m->areas[index].log_lik;
  if (task == EVALUATE)
    return STATUS_OK;
  clear_sums(m, &m->sums);
  for (size_t index = 0; index < m->chunks; index++)
    add_sums(m, &m->sums, &m->areas[index].sums);
  return STATUS_OK;
}

/* ---- the blocks of a sweep --------------------------------------------------- */

/* pi | z ~ Dir(alpha + n)   (Rai CS772A, GMM), drawn as logarithms.
 * Mode: proportional to alpha + n - 1, where this is negative 0 (the density is
 * largest on that face of the simplex); all of them: equal weights. */
void gmm_draw_weights(gmm_model *m) {
  const size_t k = m->data.k;
  double *concentration = m->concentration, total = 0.0;
  for (size_t c = 0; c < k; c++) {
    concentration[c] = m->data.alpha[c] + m->sums.count[c];
    total += fmax(concentration[c] - 1.0, 0.0);
  }
  if (!m->mode) {
    rdist_log_dirichlet(concentration, k, m->state.log_pi);
    return;
  }
  for (size_t c = 0; c < k; c++)
    m->state.log_pi[c] = total > 0.0
                           ? log(fmax(concentration[c] - 1.0, 0.0) / total)
                           : -log((double)k);
}

/* Sums of component c about its current mean, observation by observation. */
void gmm_sum_afresh(gmm_model *m, size_t c) {
  const size_t d = m->data.d;
  m->sums.count[c] = 0.0;
  clear(m->sums.sum + c * d, d);
  clear(m->sums.cross + c * d * d, d * d);
  for (size_t i = 0; i < m->data.n; i++)
    if ((size_t)m->state.z[i] == c + 1)
      add_block(m, &m->sums, i, 1, NULL);
  empty_bin(m, &m->sums, c);
}

/* Sums about mu become sums about mu + shift (the mean must be the new one):
 * sum (y - shift)(y - shift)' = cross - sum shift' - shift sum' + n shift
 * shift'.  Where that takes off more than three of sixteen digits (the mean has
 * jumped: a start far from the data, a component that was empty) they are
 * summed afresh. */
static void move_centre(gmm_model *m, size_t c, const double *shift) {
  const size_t d = m->data.d;
  const double count = m->sums.count[c];
  double *sum = m->sums.sum + c * d, *cross = m->sums.cross + c * d * d;
  int cancelled = 0;
  for (size_t j = 0; j < d; j++) {
    const double before = cross[j + d * j];
    for (size_t i = j; i < d; i++)
      cross[i + d * j] +=
        count * shift[i] * shift[j] - sum[i] * shift[j] - shift[i] * sum[j];
    cancelled |= !(before <= 1e3 * (cross[j + d * j] + m->data.s0[j + d * j]));
  }
  for (size_t j = 0; j < d; j++)
    sum[j] -= count * shift[j];
  if (cancelled)
    gmm_sum_afresh(m, c);
}

/* mu_c | Sigma_c, z, x ~ N(m_c, V_c),  V_c^-1 = V0^-1 + n_c Sigma_c^-1,
 * m_c = V_c (V0^-1 m0 + Sigma_c^-1 n_c xbar_c)   (Rai CS772A, GMM).
 * Drawn through chol(V_c^-1); V_c is not formed.  Mode: m_c. */
status gmm_draw_mean(gmm_model *m, size_t c) {
  const size_t d = m->data.d, room = m->room;
  const double count = m->sums.count[c];
  double *mean = m->components.mean + c * d;
  double *precision = m->matrix[0], *q = m->matrix[1], *lower = m->matrix[2];
  double *total = m->vector[0], *b = m->vector[1], *normals = m->vector[2];
  gmm_lower(&m->components, c, lower);
  linalg_inverse_from_cholesky(lower, d, precision);
  for (size_t j = 0; j < d; j++)
    total[j] = m->sums.sum[c * d + j] + count * mean[j];
  for (size_t j = 0; j < d; j++) {
    b[j] = m->data.q0_m0[j];
    for (size_t i = 0; i < d; i++) {
      b[j] += precision[i + d * j] * total[i];
      q[i + d * j] = m->data.q0[i + d * j] + count * precision[i + d * j];
    }
  }
  for (size_t j = 0; j < d; j++)
    normals[j] = m->mode ? 0.0 : norm_rand();
  const status outcome = linalg_draw_canonical(q, b, normals, d);
  for (size_t j = 0; j < d; j++) {
    m->state.mu[c + room * j] = b[j];
    normals[j] = b[j] - mean[j];
    mean[j] = b[j];
  }
  move_centre(m, c, normals);
  return outcome;
}

/* factor <- L with L L' ~ IW(df, scale), or at its mode scale / (df + d + 1). */
static status draw_factor(gmm_model *m, double df, double *scale,
                          double *factor) {
  const size_t d = m->data.d;
  if (m->mode)
    for (size_t e = 0; e < d * d; e++)
      scale[e] /= df + (double)d + 1.0;
  const status outcome = linalg_cholesky(scale, d);
  if (outcome != STATUS_OK)
    return outcome;
  if (m->mode)
    for (size_t e = 0; e < d * d; e++)
      factor[e] = scale[e];
  else
    rdist_inverse_wishart_factor(df, scale, d, factor, m->matrix[1]);
  return STATUS_OK;
}

/* Sigma_c | mu_c, z, x ~ IW(nu0 + n_c, S0 + sum_{z_i = c} (x_i - mu_c)(x_i - mu_c)')
 * (Rai CS772A, GMM). */
static status draw_full(gmm_model *m, size_t c) {
  const size_t d = m->data.d;
  double *scale = m->matrix[0];
  for (size_t j = 0; j < d; j++)
    for (size_t i = j; i < d; i++)
      scale[i + d * j] =
        m->data.s0[i + d * j] + m->sums.cross[c * d * d + i + d * j];
  return draw_factor(m, m->data.nu0 + m->sums.count[c], scale,
                     gmm_factor(&m->components, c));
}

/* Sigma | mu, z, x ~ IW(nu0 + n, S0 + sum_i (x_i - mu_{z_i})(x_i - mu_{z_i})'). */
static status draw_shared(gmm_model *m) {
  const size_t d = m->data.d;
  double *scale = m->matrix[0];
  for (size_t j = 0; j < d; j++)
    for (size_t i = j; i < d; i++) {
      scale[i + d * j] = m->data.s0[i + d * j];
      for (size_t c = 0; c < m->data.k; c++)
        scale[i + d * j] += m->sums.cross[c * d * d + i + d * j];
    }
  return draw_factor(m, m->data.nu0 + (double)m->data.n, scale,
                     gmm_factor(&m->components, 0));
}

/* sigma2_cj | mu_c, z, x ~ IG((nu0 + n_c)/2, (S0_jj + sum_{z_i = c} (x_ij -
 * mu_cj)^2)/2): the sum over a chi-square of nu0 + n_c.  Mode: over nu0 + n_c +
 * 2. */
static status draw_diagonal(gmm_model *m, size_t c) {
  const size_t d = m->data.d;
  const double df = m->data.nu0 + m->sums.count[c];
  double *deviation = gmm_factor(&m->components, c);
  for (size_t j = 0; j < d; j++) {
    const double sum =
      m->data.s0[j + d * j] + m->sums.cross[c * d * d + j + d * j];
    deviation[j] = sqrt(sum / (m->mode ? df + 2.0 : rchisq(df)));
    if (!(deviation[j] > 0.0) || !isfinite(deviation[j]))
      return STATUS_NOT_POSITIVE_DEFINITE;
  }
  return STATUS_OK;
}

status gmm_draw_covariances(gmm_model *m, size_t first, size_t last) {
  status outcome = STATUS_OK;
  if (m->data.form == COVARIANCE_SHARED)
    return draw_shared(m);
  for (size_t c = first; c < last && outcome == STATUS_OK; c++)
    outcome = m->data.form == COVARIANCE_DIAGONAL ? draw_diagonal(m, c)
                                                  : draw_full(m, c);
  return outcome;
}

void gmm_set_constants(gmm_model *m) {
  for (size_t c = 0; c < m->data.k; c++)
    gmm_set_constant(&m->components, c, m->state.log_pi[c]);
}

/* z, x_missing | pi, mu, Sigma, x_observed: z given the observed entries, then
 * the missing ones given z.  Uniforms (one an observation) and normals (one a
 * missing entry) come serially from R's generator, in the order of the data;
 * then chunks of observations run in parallel.  Leaves the log-likelihood of the
 * current parameters. */
status gmm_draw_allocations(gmm_model *m, const scan_control *control) {
  if (!m->mode) {
    uniforms_draw(&control->generator, m->uniforms, m->data.n);
    normals_draw(&control->generator, m->normals, m->data.missing.entries);
  }
  status outcome = prepare_patterns(m);
  if (m->recording)
    *m->state.kept += 1.0;
  if (outcome == STATUS_OK)
    outcome = run_chunks(m, ALLOCATE, control);
  if (outcome == STATUS_OK && !isfinite(m->log_lik))
    outcome = STATUS_NOT_FINITE;
  return outcome;
}

void gmm_sum_all(gmm_model *m, int threads) {
  const scan_control unasked = {.threads = threads};
  run_chunks(m, SUM, &unasked);
}

status gmm_log_likelihood(gmm_model *m, const scan_control *control,
                          double *value) {
  status outcome = prepare_patterns(m);
  if (outcome == STATUS_OK)
    outcome = run_chunks(m, EVALUATE, control);
  *value = m->log_lik;
  return outcome;
}
