#include "numeric/rounding.h"

#include "gmm/gmm_density.h"

#include <math.h>
#include <string.h>

#include "numeric/lanes.h"
#include "numeric/linalg.h"

#define LOG_2PI 1.837877066409345483560659472811

/* ---- components ---------------------------------------------------------- */

/* A double cannot overflow. */
static double factor_numbers(gmm_form form, double d, double k) {
  if (form == COVARIANCE_DIAGONAL)
    return k * d;
  return form == COVARIANCE_SHARED ? d * d : k * d * d;
}

size_t gmm_factor_size(gmm_form form, size_t d, size_t k) {
  return (size_t)factor_numbers(form, (double)d, (double)k);
}

void gmm_components_carve(gmm_components *p, gmm_form form, size_t d, size_t k,
                          arena *a) {
  const double means = (double)d * (double)k;
  p->form = form;
  p->d = d;
  p->k = k;
  p->factor = arena_doubles(a, factor_numbers(form, (double)d, (double)k));
  p->mean = arena_doubles(a, means);
  p->inverse_diag = arena_doubles(a, means);
  p->log_constant = arena_doubles(a, (double)k);
}

double *gmm_factor(const gmm_components *p, size_t c) {
  if (p->form == COVARIANCE_DIAGONAL)
    return p->factor + c * p->d;
  return p->form == COVARIANCE_SHARED ? p->factor : p->factor + c * p->d * p->d;
}

void gmm_set_constant(gmm_components *p, size_t c, double log_pi) {
  const size_t d = p->d;
  const size_t step = p->form == COVARIANCE_DIAGONAL ? 1 : d + 1;
  const double *l = gmm_factor(p, c);
  double log_root = 0.0;
  for (size_t j = 0; j < d; j++) {
    p->inverse_diag[c * d + j] = 1.0 / l[j * step];
    log_root += log(l[j * step]);
  }
  p->log_constant[c] = log_pi - 0.5 * (double)d * LOG_2PI - log_root;
}

void gmm_lower(const gmm_components *p, size_t c, double *lower) {
  const size_t d = p->d;
  const double *l = gmm_factor(p, c);
  for (size_t j = 0; j < d; j++)
    for (size_t i = 0; i < d; i++) {
      const double full = p->form == COVARIANCE_DIAGONAL ? l[j] : l[i + d * j];
      const int inside = p->form == COVARIANCE_DIAGONAL ? i == j : i >= j;
      lower[i + d * j] = inside ? full : 0.0;
    }
}

/* ---- a block of observations ---------------------------------------------- */

#define LANES_KERNEL "gmm/gmm_kernel.h"
#include "numeric/lanes_each.h"

/* block[j * LANES + lane] <- x; lanes beyond the data repeat the last one. */
static void load_block(const double *x, size_t n, size_t d, size_t lanes,
                       double *block) {
  if (lanes == LANES) {
    LANES_CHOOSE(load)(x, n, d, block);
    return;
  }
  for (size_t j = 0; j < d; j++)
    for (size_t lane = 0; lane < LANES; lane++)
      block[j * LANES + lane] = x[(lane < lanes ? lane : lanes - 1) + n * j];
}

void gmm_log_joint(const gmm_components *p, const double *x, size_t n,
                   size_t lanes, double *scratch, double *weight) {
  load_block(x, n, p->d, lanes, scratch);
  LANES_CHOOSE(densities)(p, scratch, scratch + LANES * p->d, weight);
}

void gmm_pick(const double *partial, size_t k, const double *uniforms,
              size_t lanes, int *z) {
  if (lanes == LANES) {
    LANES_CHOOSE(pick)(partial, k, uniforms, z);
    return;
  }
  double u[LANES] = {0};
  int picked[LANES];
  for (size_t lane = 0; lane < lanes; lane++)
    u[lane] = uniforms[lane];
  LANES_CHOOSE(pick)(partial, k, u, picked);
  for (size_t lane = 0; lane < lanes; lane++)
    z[lane] = picked[lane];
}

void gmm_average(double *partial, size_t n, size_t k, size_t lanes, double rate,
                 double *mean) {
  LANES_CHOOSE(normalise)(partial, k);
  for (size_t c = 0; c < k; c++) {
    const double *p = partial + c * LANES;
    double *to = mean + n * c, last[LANES] = {0};
    if (lanes == LANES) {
      LANES_CHOOSE(average)(p, rate, to);
      continue;
    }
    for (size_t lane = 0; lane < lanes; lane++)
      last[lane] = to[lane];
    LANES_CHOOSE(average)(p, rate, last);
    for (size_t lane = 0; lane < lanes; lane++)
      to[lane] = last[lane];
  }
}

void gmm_add_bin(gmm_form form, double *bin, size_t d, size_t filled,
                 const double *ones, const double *mean, double *sum,
                 double *cross) {
  LANES_CHOOSE(add_bin)(form, bin, d, filled, ones, mean, sum, cross);
}

/* ---- the log-likelihood ------------------------------------------------------ */

#define LARGEST_PRODUCT 1e300

gmm_log_sum gmm_log_sum_open(void) {
  gmm_log_sum s = {.bound = 1.0};
  for (size_t lane = 0; lane < LANES; lane++)
    s.product[lane] = 1.0;
  return s;
}

/* Logarithms of the products move into the sum. */
static void take_logarithms(gmm_log_sum *s) {
  for (size_t lane = 0; lane < LANES; lane++) {
    s->sum[lane] += log(s->product[lane]);
    s->product[lane] = 1.0;
  }
  s->bound = 1.0;
}

double gmm_log_sum_close(const gmm_log_sum *s) {
  double sum = 0.0, product = 1.0;
  for (size_t lane = 0; lane < LANES; lane++) {
    sum += s->sum[lane];
    if (product * s->product[lane] > LARGEST_PRODUCT) {
      sum += log(product);
      product = 1.0;
    }
    product *= s->product[lane];
  }
  return sum + log(product);
}

static void multiply_lanes(gmm_log_sum *restrict s,
                           const double *restrict largest,
                           const double *restrict total) {
  for (size_t lane = 0; lane < LANES; lane++) {
    s->sum[lane] += largest[lane];
    s->product[lane] *= total[lane];
  }
}

void gmm_accumulate(double *weight, size_t k, size_t lanes, gmm_log_sum *s) {
  double largest[LANES], total[LANES];
  LANES_CHOOSE(partial_sums)(weight, k, largest, total);
  for (size_t lane = lanes; lane < LANES; lane++) {
    largest[lane] = 0.0;
    total[lane] = 1.0;
  }
  s->bound *= (double)k; /* 1 <= total <= k */
  multiply_lanes(s, largest, total);
  if (s->bound > LARGEST_PRODUCT / (double)k)
    take_logarithms(s);
}

/* ---- densities and probabilities of any observations ------------------------ */

/* weight (k x LANES): joint log densities in, P(z = c | x) out;
 * log_density[lane] <- their log-sum-exp. */
static void normalise_block(double *weight, size_t k, double *log_density) {
  double largest[LANES], total[LANES];
  LANES_CHOOSE(partial_sums)(weight, k, largest, total);
  LANES_CHOOSE(normalise)(weight, k);
  for (int lane = 0; lane < LANES; lane++)
    log_density[lane] = largest[lane] + log(total[lane]);
}

/* Factor of component c from row s of the draws of Sigma. */
static status set_factor(gmm_components *p, size_t c, const double *sigma,
                         size_t draws) {
  const size_t d = p->d, k = p->k;
  double *l = gmm_factor(p, c);
  if (p->form == COVARIANCE_DIAGONAL) {
    for (size_t j = 0; j < d; j++) {
      const double variance = sigma[(c + k * j) * draws];
      if (!(variance > 0.0))
        return STATUS_NOT_POSITIVE_DEFINITE;
      l[j] = sqrt(variance);
    }
    return STATUS_OK;
  }
  const int shared = p->form == COVARIANCE_SHARED;
  if (shared && c > 0)
    return STATUS_OK; /* the first one is that of all */
  for (size_t ij = 0; ij < d * d; ij++)
    l[ij] = sigma[(shared ? ij : c + k * ij) * draws];
  return linalg_cholesky(l, d);
}

static status set_draw(gmm_components *p, const gmm_evaluation *job, size_t s) {
  for (size_t c = 0; c < p->k; c++) {
    for (size_t j = 0; j < p->d; j++)
      p->mean[c * p->d + j] = job->mu[s + job->draws * (c + p->k * j)];
    const status outcome = set_factor(p, c, job->sigma + s, job->draws);
    if (outcome != STATUS_OK)
      return outcome;
    gmm_set_constant(p, c, log(job->pi[s + job->draws * c]));
  }
  return STATUS_OK;
}

/* What the probabilities of one block under draw s add to the sums. */
static void add_probabilities(const gmm_evaluation *job, size_t s, size_t first,
                              size_t lanes, const double *weight) {
  const size_t n = job->n, k = job->k, draws = job->draws;
  for (size_t c = 0; c < k; c++) {
    const size_t label = job->order ? (size_t)job->order[s + draws * c] - 1 : c;
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
                          const gmm_components *p, double *scratch,
                          double *weight) {
  const size_t n = job->n;
  double log_density[LANES];
  for (size_t i = 0; i < n; i += LANES) {
    const size_t lanes = n - i < LANES ? n - i : LANES;
    gmm_log_joint(p, job->x + i, n, lanes, scratch, weight);
    normalise_block(weight, job->k, log_density);
    for (size_t lane = 0; job->log_density && lane < lanes; lane++)
      job->log_density[s + job->draws * (i + lane)] = log_density[lane];
    if (job->prob || job->agreement)
      add_probabilities(job, s, i, lanes, weight);
  }
}

typedef struct {
  gmm_components components;
  double *scratch, *weight;
} evaluator;

static evaluator carve(gmm_form form, size_t d, size_t k, arena *a) {
  evaluator e;
  gmm_components_carve(&e.components, form, d, k, a);
  e.scratch = arena_doubles(a, 2.0 * LANES * (double)d);
  e.weight = arena_doubles(a, LANES * (double)k);
  return e;
}

size_t gmm_evaluate_size(gmm_form form, size_t d, size_t k) {
  arena count = arena_measure();
  carve(form, d, k, &count);
  return arena_size(&count);
}

status gmm_evaluate(const gmm_evaluation *job, void *work) {
  const size_t n = job->n, k = job->k;
  arena a = arena_over(work);
  evaluator at = carve(job->form, job->d, k, &a);
  for (size_t e = 0; job->prob && e < n * k; e++)
    job->prob[e] = 0.0;
  for (size_t e = 0; job->agreement && e < job->draws * k * k; e++)
    job->agreement[e] = 0.0;
  for (size_t s = 0; s < job->draws; s++) {
    const status outcome = set_draw(&at.components, job, s);
    if (outcome != STATUS_OK)
      return outcome;
    evaluate_draw(job, s, &at.components, at.scratch, at.weight);
  }
  return STATUS_OK;
}
