#include "gmm.h"

#include <math.h>
#include <stdint.h>

#include "lanes.h"
#include "linalg.h"
#include "rdist.h"
#include "rmath.h"

#define LOG_2PI 1.837877066409345483560659472811

/* ---- sizes and layout of the work space --------------------------------- */

/* At most 64 chunks of at least 512 observations, whole blocks of lanes: the
 * same for any number of threads, so that sums over chunks are too. */
static size_t chunk_length(size_t n) {
  size_t length = (n + 63) / 64;
  if (length < 512)
    length = 512;
  return (length + LANES - 1) / LANES * LANES;
}

static size_t sums_size(const gmm_data *data) {
  return data->k * (1 + data->d + data->d * data->d);
}

/* A chunk's area: log-likelihood, sums, block of x, whitened block, weights. */
static size_t chunk_size(const gmm_data *data) {
  return LANES + sums_size(data) + LANES * (2 * data->d + data->k);
}

static size_t small_size(const gmm_data *data) {
  return 5 * data->d * data->d + 3 * data->d + data->k;
}

static size_t components_size(size_t d, size_t k) {
  return k * (d * d + 2 * d + 1);
}

size_t gmm_columns(const gmm_data *data) {
  return data->k * (1 + data->d + data->d * data->d) + 2 +
         (data->keep_z ? data->n : 0);
}

size_t gmm_work_size(const gmm_data *data) {
  const double k = (double)data->k, d = (double)data->d, n = (double)data->n;
  if (65.0 * (k + 1) * (d + 4) * (d + 4) * LANES + n > (double)(SIZE_MAX / 16))
    return 0;
  const size_t length = chunk_length(data->n);
  const size_t chunks = (data->n + length - 1) / length;
  return components_size(data->d, data->k) + sums_size(data) +
         chunks * chunk_size(data) + data->n + small_size(data);
}

static void components_carve(gmm_components *components, size_t d, size_t k,
                             double *work) {
  components->d = d;
  components->k = k;
  components->chol = work;
  components->mean = work + k * d * d;
  components->inverse_diag = components->mean + k * d;
  components->log_constant = components->inverse_diag + k * d;
}

static void sums_carve(gmm_sums *sums, const gmm_data *data, double *work) {
  sums->count = work;
  sums->sum = work + data->k;
  sums->cross = sums->sum + data->k * data->d;
}

/* ---- the density ---------------------------------------------------------- */

/* log N(x | mu_c, Sigma_c) = log_constant - |L^-1 (x - mu_c)|^2 / 2. */
static void set_constant(gmm_components *p, size_t c, double log_pi) {
  const size_t d = p->d;
  const double *l = p->chol + c * d * d;
  for (size_t j = 0; j < d; j++)
    p->inverse_diag[c * d + j] = 1.0 / l[j + d * j];
  p->log_constant[c] = log_pi - 0.5 * (double)d * LOG_2PI -
                       0.5 * linalg_log_determinant(l, d);
}

/* The components out of their parameters: element e of mu and sigma (laid out
 * as in gmm.h) stands at [e * stride], so that a row of a matrix of draws serves
 * as well as a state. */
static status set_components(gmm_components *p, const double *log_pi,
                             const double *mu, const double *sigma,
                             size_t stride) {
  const size_t d = p->d, k = p->k;
  for (size_t c = 0; c < k; c++) {
    double *l = p->chol + c * d * d;
    for (size_t j = 0; j < d; j++)
      p->mean[c * d + j] = mu[(c + k * j) * stride];
    for (size_t ij = 0; ij < d * d; ij++)
      l[ij] = sigma[(c + k * ij) * stride];
    const status outcome = linalg_cholesky(l, d);
    if (outcome != STATUS_OK)
      return outcome;
    set_constant(p, c, log_pi[c]);
  }
  return STATUS_OK;
}

/* block[j * LANES + lane] <- x; lanes beyond the data repeat the last one. */
static void load_block(const double *x, size_t n, size_t d, size_t lanes,
                       double *restrict block) {
  for (size_t j = 0; j < d; j++)
    for (size_t lane = 0; lane < LANES; lane++)
      block[j * LANES + lane] = x[(lane < lanes ? lane : lanes - 1) + n * j];
}

/* Forward substitution L w = x - mu for all lanes at once. */
static void log_density_block(const gmm_components *p, size_t c,
                              const double *restrict block,
                              double *restrict white, double *restrict out) {
  const size_t d = p->d;
  const double *l = p->chol + c * d * d, *mean = p->mean + c * d;
  double square[LANES] = {0};
  for (size_t j = 0; j < d; j++) {
    double w[LANES];
    for (int lane = 0; lane < LANES; lane++)
      w[lane] = block[j * LANES + lane] - mean[j];
    for (size_t i = 0; i < j; i++) {
      const double factor = l[j + d * i];
      for (int lane = 0; lane < LANES; lane++)
        w[lane] -= factor * white[i * LANES + lane];
    }
    const double scale = p->inverse_diag[c * d + j];
    for (int lane = 0; lane < LANES; lane++) {
      w[lane] *= scale;
      square[lane] += w[lane] * w[lane];
      white[j * LANES + lane] = w[lane];
    }
  }
  for (int lane = 0; lane < LANES; lane++)
    out[lane] = p->log_constant[c] - 0.5 * square[lane];
}

/* Joint log densities log pi_c + log N(x_i | mu_c, Sigma_c) of `lanes` <= LANES
 * observations starting at x: out[c * LANES + lane]. */
static void log_joint_block(const gmm_components *p, const double *x, size_t n,
                            size_t lanes, double *block, double *white,
                            double *out) {
  load_block(x, n, p->d, lanes, block);
  for (size_t c = 0; c < p->k; c++)
    log_density_block(p, c, block, white, out + c * LANES);
}

/* ---- z_i | pi, mu, Sigma, x_i --------------------------------------------- */

/* P(z_i = c | .) proportional to pi_c N(x_i | mu_c, Sigma_c).  weight (k x LANES)
 * holds the joint log densities and is left with the partial sums of the
 * weights divided by the largest; returned: the sum over the valid lanes of
 * log sum_c pi_c N(x_i | mu_c, Sigma_c), one logarithm a block. */
static double accumulate_weights(double *restrict weight, size_t k,
                                 size_t lanes) {
  double largest[LANES], total[LANES] = {0};
  for (int lane = 0; lane < LANES; lane++)
    largest[lane] = weight[lane];
  for (size_t c = 1; c < k; c++)
    for (int lane = 0; lane < LANES; lane++)
      largest[lane] = weight[c * LANES + lane] > largest[lane]
                        ? weight[c * LANES + lane]
                        : largest[lane];
  for (size_t c = 0; c < k; c++)
    for (int lane = 0; lane < LANES; lane++) {
      total[lane] +=
        exp_nonpositive(weight[c * LANES + lane] - largest[lane]);
      weight[c * LANES + lane] = total[lane];
    }
  double log_lik = 0.0, product = 1.0;
  for (size_t lane = 0; lane < lanes; lane++) {
    log_lik += largest[lane];
    product *= total[lane]; /* 1 <= total <= k: k^8 is far from overflow */
  }
  return log_lik + log(product);
}

/* The number of partial sums that are <= u times the total: below k, since
 * u < 1, and never a component of weight zero. */
static void pick_components(const double *restrict partial, size_t k,
                            const double *restrict uniforms, size_t lanes,
                            int *restrict z) {
  double threshold[LANES] = {0};
  int index[LANES] = {0};
  for (size_t lane = 0; lane < lanes; lane++)
    threshold[lane] = uniforms[lane] * partial[(k - 1) * LANES + lane];
  for (size_t c = 0; c + 1 < k; c++)
    for (int lane = 0; lane < LANES; lane++)
      index[lane] += partial[c * LANES + lane] <= threshold[lane];
  for (size_t lane = 0; lane < lanes; lane++)
    z[lane] = index[lane] + 1;
}

/* ---- sums by component ------------------------------------------------------ */

static void clear(double *x, size_t length) {
  for (size_t i = 0; i < length; i++)
    x[i] = 0.0;
}

static void add_observation(const gmm_model *m, gmm_sums *sums, size_t i,
                            double *deviation) {
  const size_t d = m->data.d, n = m->data.n, c = (size_t)m->state.z[i] - 1;
  const double *mean = m->components.mean + c * d;
  double *sum = sums->sum + c * d, *cross = sums->cross + c * d * d;
  sums->count[c] += 1.0;
  for (size_t j = 0; j < d; j++) {
    deviation[j] = m->data.x[i + n * j] - mean[j];
    sum[j] += deviation[j];
  }
  for (size_t j = 0; j < d; j++)
    for (size_t l = j; l < d; l++)
      cross[l + d * j] += deviation[l] * deviation[j];
}

/* Allocates (when asked to) and sums the observations of one chunk in its own
 * area; nothing else is written, so chunks may run in any order. */
static void run_chunk(const gmm_model *m, size_t index, int allocate) {
  const size_t n = m->data.n, d = m->data.d, k = m->data.k;
  double *area = m->chunk_work + index * chunk_size(&m->data);
  gmm_sums sums;
  sums_carve(&sums, &m->data, area + LANES);
  double *block = area + LANES + sums_size(&m->data);
  double *white = block + LANES * d, *weight = white + LANES * d;
  const size_t first = index * m->chunk;
  const size_t last = first + m->chunk < n ? first + m->chunk : n;
  clear(area, LANES + sums_size(&m->data));
  for (size_t i = first; i < last; i += LANES) {
    const size_t lanes = last - i < LANES ? last - i : LANES;
    if (allocate) {
      log_joint_block(&m->components, m->data.x + i, n, lanes, block, white,
                    weight);
      area[0] += accumulate_weights(weight, k, lanes);
      pick_components(weight, k, m->uniforms + i, lanes, m->state.z + i);
    }
    for (size_t lane = 0; lane < lanes; lane++)
      add_observation(m, &sums, i + lane, white);
  }
}

/* All chunks in parallel, then their sums in the order of the chunks. */
static void run_chunks(gmm_model *m, int allocate, int threads) {
  const size_t size = chunk_size(&m->data), length = sums_size(&m->data);
  const int chunks = (int)m->chunks;
  int team = threads < chunks ? threads : chunks;
  (void)team; /* unused where there is no OpenMP */
#ifdef _OPENMP
#pragma omp parallel for num_threads(team) schedule(static) if (team > 1)
#endif
  for (int index = 0; index < chunks; index++)
    run_chunk(m, (size_t)index, allocate);
  clear(m->sums.count, length);
  m->log_lik = 0.0;
  for (size_t index = 0; index < m->chunks; index++) {
    const double *area = m->chunk_work + index * size;
    m->log_lik += area[0];
    for (size_t e = 0; e < length; e++)
      m->sums.count[e] += area[LANES + e];
  }
}

/* ---- the blocks of a sweep ------------------------------------------------- */

/* pi | z ~ Dir(alpha + n)   (Rai CS772A, GMM), drawn as logarithms. */
static void draw_weights(gmm_model *m) {
  double *concentration = m->small;
  for (size_t c = 0; c < m->data.k; c++)
    concentration[c] = m->data.alpha[c] + m->sums.count[c];
  rdist_log_dirichlet(concentration, m->data.k, m->state.log_pi);
}

/* Sums about mu become sums about mu + shift:
 * sum (y - shift)(y - shift)' = cross - sum shift' - shift sum' + n shift shift'. */
static void move_centre(gmm_sums *sums, size_t c, size_t d,
                        const double *shift) {
  const double count = sums->count[c];
  double *sum = sums->sum + c * d, *cross = sums->cross + c * d * d;
  for (size_t j = 0; j < d; j++)
    for (size_t i = j; i < d; i++)
      cross[i + d * j] += count * shift[i] * shift[j] - sum[i] * shift[j] -
                          shift[i] * sum[j];
  for (size_t j = 0; j < d; j++)
    sum[j] -= count * shift[j];
}

/* mu_c | Sigma_c, z, x ~ N(m_c, V_c),  V_c^-1 = V0^-1 + n_c Sigma_c^-1,
 * m_c = V_c (V0^-1 m0 + Sigma_c^-1 n_c xbar_c)   (Rai CS772A, GMM).
 * Drawn through chol(V_c^-1); V_c is not formed. */
static status draw_mean(gmm_model *m, size_t c) {
  const size_t d = m->data.d, k = m->data.k;
  const double count = m->sums.count[c];
  double *mean = m->components.mean + c * d;
  double *precision = m->small, *q = precision + d * d;
  double *total = q + d * d, *b = total + d, *normals = b + d;
  linalg_inverse_from_cholesky(m->components.chol + c * d * d, d, precision);
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
    normals[j] = norm_rand();
  const status outcome = linalg_draw_canonical(q, b, normals, d);
  for (size_t j = 0; j < d; j++) {
    m->state.mu[c + k * j] = b[j];
    normals[j] = b[j] - mean[j];
    mean[j] = b[j];
  }
  move_centre(&m->sums, c, d, normals);
  return outcome;
}

/* Sigma_c | mu_c, z, x ~ IW(nu0 + n_c, S0 + sum_{z_i = c} (x_i - mu_c)(x_i - mu_c)')
 * (Rai CS772A, GMM). */
static status draw_covariance(gmm_model *m, size_t c) {
  const size_t d = m->data.d, k = m->data.k;
  double *scale = m->small, *sigma = scale + d * d, *work = sigma + d * d;
  double *l = m->components.chol + c * d * d;
  for (size_t j = 0; j < d; j++)
    for (size_t i = j; i < d; i++)
      scale[i + d * j] =
        m->data.s0[i + d * j] + m->sums.cross[c * d * d + i + d * j];
  status outcome = linalg_cholesky(scale, d);
  if (outcome != STATUS_OK)
    return outcome;
  rdist_inverse_wishart(m->data.nu0 + m->sums.count[c], scale, d, sigma, work);
  for (size_t ij = 0; ij < d * d; ij++) {
    m->state.sigma[c + k * ij] = sigma[ij];
    l[ij] = sigma[ij];
  }
  outcome = linalg_cholesky(l, d);
  if (outcome == STATUS_OK)
    set_constant(&m->components, c, m->state.log_pi[c]);
  return outcome;
}

/* z | pi, mu, Sigma, x: uniforms serially from R's generator, one an
 * observation in the order of the data, then chunks of observations in
 * parallel.  Leaves the log-likelihood of the current parameters. */
static status draw_allocations(gmm_model *m, int threads) {
  for (size_t i = 0; i < m->data.n; i++)
    m->uniforms[i] = unif_rand();
  run_chunks(m, 1, threads);
  return isfinite(m->log_lik) ? STATUS_OK : STATUS_NOT_FINITE;
}

status gmm_sweep(void *model, const scan_control *control) {
  gmm_model *m = model;
  status outcome = STATUS_OK;
  draw_weights(m);
  for (size_t c = 0; c < m->data.k && outcome == STATUS_OK; c++)
    outcome = draw_mean(m, c);
  for (size_t c = 0; c < m->data.k && outcome == STATUS_OK; c++)
    outcome = draw_covariance(m, c);
  return outcome == STATUS_OK ? draw_allocations(m, control->threads) : outcome;
}

/* ---- densities and probabilities of any observations -------------------------- */

/* weight (k x LANES): joint log densities in, P(z = c | x) out;
 * log_density[lane] <- their log-sum-exp. */
static void normalise_block(double *restrict weight, size_t k,
                            double *restrict log_density) {
  for (size_t lane = 0; lane < LANES; lane++) {
    double largest = weight[lane], total = 0.0;
    for (size_t c = 1; c < k; c++)
      if (weight[c * LANES + lane] > largest)
        largest = weight[c * LANES + lane];
    for (size_t c = 0; c < k; c++) {
      weight[c * LANES + lane] =
        exp_nonpositive(weight[c * LANES + lane] - largest);
      total += weight[c * LANES + lane];
    }
    for (size_t c = 0; c < k; c++)
      weight[c * LANES + lane] /= total;
    log_density[lane] = largest + log(total);
  }
}

size_t gmm_evaluate_size(size_t d, size_t k) {
  return components_size(d, k) + k + LANES * (2 * d + k);
}

/* What the probabilities of one block under draw s add to the sums. */
static void add_probabilities(const gmm_evaluation *job, size_t s, size_t first,
                              size_t lanes, const double *weight) {
  const size_t n = job->n, k = job->k, draws = job->draws;
  for (size_t c = 0; c < k; c++) {
    const size_t label =
      job->order ? (size_t)job->order[s + draws * c] - 1 : c;
    for (size_t lane = 0; lane < lanes; lane++) {
      const size_t i = first + lane;
      const double p = weight[c * LANES + lane];
      if (job->prob)
        job->prob[i + n * label] += p / (double)draws;
      if (job->agreement)
        job->agreement[s + draws * (c + k * ((size_t)job->pivot[i] - 1))] += p;
    }
  }
}

static void evaluate_draw(const gmm_evaluation *job, size_t s,
                          const gmm_components *p, double *block) {
  const size_t n = job->n;
  double *white = block + LANES * job->d, *weight = white + LANES * job->d;
  double log_density[LANES];
  for (size_t i = 0; i < n; i += LANES) {
    const size_t lanes = n - i < LANES ? n - i : LANES;
    log_joint_block(p, job->x + i, n, lanes, block, white, weight);
    normalise_block(weight, job->k, log_density);
    for (size_t lane = 0; job->log_density && lane < lanes; lane++)
      job->log_density[s + job->draws * (i + lane)] = log_density[lane];
    add_probabilities(job, s, i, lanes, weight);
  }
}

status gmm_evaluate(const gmm_evaluation *job, double *work) {
  gmm_components p;
  components_carve(&p, job->d, job->k, work);
  double *log_pi = work + components_size(job->d, job->k);
  double *scratch = log_pi + job->k;
  if (job->prob)
    clear(job->prob, job->n * job->k);
  if (job->agreement)
    clear(job->agreement, job->draws * job->k * job->k);
  for (size_t s = 0; s < job->draws; s++) {
    for (size_t c = 0; c < job->k; c++)
      log_pi[c] = log(job->pi[s + job->draws * c]);
    const status outcome = set_components(&p, log_pi, job->mu + s,
                                          job->sigma + s, job->draws);
    if (outcome != STATUS_OK)
      return outcome;
    evaluate_draw(job, s, &p, scratch);
  }
  return STATUS_OK;
}

/* ---- opening and recording ---------------------------------------------------- */

status gmm_open(gmm_model *m, const gmm_data *data, const gmm_state *state,
                double *work, int threads) {
  m->data = *data;
  m->state = *state;
  m->chunk = chunk_length(data->n);
  m->chunks = (data->n + m->chunk - 1) / m->chunk;
  components_carve(&m->components, data->d, data->k, work);
  work += components_size(data->d, data->k);
  sums_carve(&m->sums, data, work);
  work += sums_size(data);
  m->chunk_work = work;
  work += m->chunks * chunk_size(data);
  m->uniforms = work;
  m->small = work + data->n;
  const status outcome = set_components(&m->components, state->log_pi,
                                        state->mu, state->sigma, 1);
  if (outcome == STATUS_OK)
    run_chunks(m, 0, threads);
  return outcome;
}

void gmm_record(void *model, double *row, size_t stride) {
  const gmm_model *m = model;
  const size_t k = m->data.k, d = m->data.d;
  double occupied = 0.0;
  for (size_t c = 0; c < k; c++, row += stride)
    *row = exp(m->state.log_pi[c]);
  for (size_t e = 0; e < k * d; e++, row += stride)
    *row = m->state.mu[e];
  for (size_t e = 0; e < k * d * d; e++, row += stride)
    *row = m->state.sigma[e];
  for (size_t c = 0; c < k; c++)
    occupied += m->sums.count[c] > 0.0;
  row[0] = m->log_lik;
  row[stride] = occupied;
  row += 2 * stride;
  for (size_t i = 0; m->data.keep_z && i < m->data.n; i++, row += stride)
    *row = m->state.z[i];
}
