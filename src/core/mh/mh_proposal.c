#include "numeric/rounding.h"

#include "mh/mh_proposal.h"

#include <math.h>
#include <string.h>

#include "numeric/linalg.h"
#include "numeric/normals.h"
#include "numeric/rmath.h"

static const double root_three = 1.7320508075688772;

int mh_is_hamiltonian(const mh_proposal *p) {
  return p->kind == MH_HMC || p->kind == MH_NUTS;
}

int mh_is_slice(const mh_proposal *p) {
  return p->kind == MH_SLICE || p->kind == MH_ELLIPSE;
}

philox_stream mh_open_choices(const double *uniforms) {
  philox_key key;
  for (size_t i = 0; i < 2; i++)
    key.key[i] = (uint32_t)(uniforms[i] * 4294967296.0);
  return philox_open(key, 0, 0);
}

/* ---- variates ------------------------------------------------------------ */

size_t mh_proposal_variates(const mh_proposal *p) {
  if (p->kind == MH_CUSTOM)
    return 0;
  if (p->kind == MH_SLICE)
    return 2;
  if (p->kind == MH_TEMPERED)
    return p->longest - 1 + p->longest * (1 + mh_proposal_variates(p->part));
  if (p->kind == MH_DELAYED)
    return mh_proposal_variates(&p->part[0]) + 1 +
           mh_proposal_variates(&p->part[1]);
  if (mh_is_hamiltonian(p) || p->kind == MH_ELLIPSE)
    return p->d + 2;
  if (p->kind != MH_MIXTURE)
    return p->d + (p->family == MH_T);
  size_t most = 0;
  for (size_t i = 0; i < p->parts; i++) {
    const size_t part = mh_proposal_variates(&p->part[i]);
    most = part > most ? part : most;
  }
  return 1 + most;
}

/* The part that the uniform u chooses. */
static size_t chosen_part(const mh_proposal *p, double u) {
  size_t i = 0;
  for (double sum = p->weight[0]; i + 1 < p->parts && u >= sum; i++)
    sum += p->weight[i + 1];
  return i;
}

static void draw_mixture(const mh_proposal *p, size_t rows, const generator *g,
                         double *out) {
  const size_t width = mh_proposal_variates(p);
  for (double *row = out; row < out + rows * width; row += width) {
    row[0] = unif_rand();
    mh_proposal_draw_variates(&p->part[chosen_part(p, row[0])], 1, g, row + 1);
  }
}

/* d normals, and sqrt(df / chi^2_df). */
static void draw_t(const mh_proposal *p, size_t rows, const generator *g,
                   double *out) {
  for (double *row = out; row < out + rows * (p->d + 1); row += p->d + 1) {
    normals_draw(g, row, p->d);
    row[p->d] = sqrt(p->freedom / rchisq(p->freedom));
  }
}

/* d normals, and two uniforms, the key of choices. */
static void draw_keyed(const mh_proposal *p, size_t rows, const generator *g,
                       double *out) {
  for (double *row = out; row < out + rows * (p->d + 2); row += p->d + 2) {
    normals_draw(g, row, p->d);
    row[p->d] = unif_rand();
    row[p->d + 1] = unif_rand();
  }
}

/* Uniforms for the swaps; for each temperature a uniform and the variates of its
 * step. */
static void draw_tempered(const mh_proposal *p, size_t rows, const generator *g,
                          double *out) {
  const size_t width = mh_proposal_variates(p->part);
  for (size_t row = 0; row < rows; row++) {
    for (size_t k = 0; k + 1 < p->longest; k++)
      *out++ = unif_rand();
    for (size_t k = 0; k < p->longest; k++, out += width) {
      *out++ = unif_rand();
      mh_proposal_draw_variates(p->part, 1, g, out);
    }
  }
}

/* Those of the first proposal, the second's uniform, and its variates. */
static void draw_delayed(const mh_proposal *p, size_t rows, const generator *g,
                         double *out) {
  const size_t first = mh_proposal_variates(&p->part[0]);
  const size_t width = mh_proposal_variates(p);
  for (double *row = out; row < out + rows * width; row += width) {
    mh_proposal_draw_variates(&p->part[0], 1, g, row);
    row[first] = unif_rand();
    mh_proposal_draw_variates(&p->part[1], 1, g, row + first + 1);
  }
}

void mh_proposal_draw_variates(const mh_proposal *p, size_t rows,
                               const generator *g, double *out) {
  if (p->kind == MH_CUSTOM)
    return;
  if (p->kind == MH_TEMPERED)
    draw_tempered(p, rows, g, out);
  else if (p->kind == MH_DELAYED)
    draw_delayed(p, rows, g, out);
  else if (mh_is_hamiltonian(p) || p->kind == MH_ELLIPSE)
    draw_keyed(p, rows, g, out);
  else if (p->kind == MH_SLICE)
    uniforms_draw(g, out, 2 * rows);
  else if (p->kind == MH_MIXTURE)
    draw_mixture(p, rows, g, out);
  else if (p->family == MH_T)
    draw_t(p, rows, g, out);
  else if (p->family == MH_NORMAL)
    normals_draw(g, out, rows * p->d);
  else
    for (size_t i = 0; i < rows * p->d; i++)
      out[i] = root_three * (2.0 * unif_rand() - 1.0);
}

/* ---- what a proposal is -------------------------------------------------- */

int mh_needs_slope(const mh_proposal *p) {
  int needs = p->kind == MH_LANGEVIN || mh_is_hamiltonian(p);
  for (size_t i = 0; i < p->parts; i++)
    needs = needs || mh_needs_slope(&p->part[i]);
  return needs;
}

int mh_is_symmetric(const mh_proposal *p) {
  if (p->kind == MH_RANDOM_WALK || p->kind == MH_ADAPTIVE)
    return 1;
  if (p->kind != MH_MIXTURE)
    return 0;
  int symmetric = 1;
  for (size_t i = 0; i < p->parts; i++)
    symmetric = symmetric && mh_is_symmetric(&p->part[i]);
  return symmetric;
}

static const double *factor_of(const mh_proposal *p, const mh_memory *memory) {
  return p->kind == MH_ADAPTIVE ? memory->factor : p->factor;
}

/* s: 1 for a proposal that learns none. */
static double step_of(const mh_proposal *p, const mh_memory *memory) {
  return p->kind == MH_ADAPTIVE || p->kind == MH_LANGEVIN
           ? exp(memory->tuning[0] + p->log_shrink)
           : 1.0;
}

/* ---- the factor L -------------------------------------------------------- */

void mh_times_factor(const mh_proposal *p, const double *l, const double *x,
                     double *y) {
  if (p->diagonal)
    for (size_t j = 0; j < p->d; j++)
      y[j] = l[j] * x[j];
  else
    linalg_lower_times_vector(l, p->d, x, y);
}

void mh_solve_factor(const mh_proposal *p, const double *l, double *b) {
  if (p->diagonal)
    for (size_t j = 0; j < p->d; j++)
      b[j] /= l[j];
  else
    linalg_solve_lower(l, p->d, b);
}

/* log |L| */
static double log_factor(const mh_proposal *p, const double *l) {
  double sum = 0.0;
  for (size_t j = 0; j < p->d; j++)
    sum += log(l[p->diagonal ? j : j + p->d * j]);
  return sum;
}

/* out <- L L' g: the gradient in the metric of L. */
static void times_covariance(const mh_proposal *p, const double *l,
                             const double *g, double *out) {
  const size_t d = p->d;
  if (p->diagonal) {
    for (size_t j = 0; j < d; j++)
      out[j] = l[j] * l[j] * g[j];
    return;
  }
  for (size_t j = 0; j < d; j++) {
    double sum = 0.0;
    for (size_t i = j; i < d; i++)
      sum += l[i + d * j] * g[i];
    out[j] = sum;
  }
  linalg_lower_times_vector(l, d, out, out);
}

/* ---- centres ------------------------------------------------------------- */

/* out <- the centre of q(. | x): x, m, or x + s^2/2 L L' grad log p(x)
 * (Roberts & Tweedie 1996, doi:10.2307/3318418). */
static void centre(const mh_proposal *p, double step, mh_place x, double *out) {
  const size_t d = p->d;
  if (p->kind == MH_LANGEVIN) {
    times_covariance(p, p->factor, x.slope, out);
    for (size_t j = 0; j < d; j++)
      out[j] = x.x[j] + 0.5 * step * step * out[j];
    return;
  }
  const double *from = p->kind == MH_INDEPENDENCE ? p->mean : x.x;
  for (size_t j = 0; j < d; j++)
    out[j] = from[j];
}

/* ---- drawing ------------------------------------------------------------- */

/* y <- x + scale L e, L diagonal */
static void walk_along_axes(const mh_proposal *p, double scale, const double *x,
                            const double *e, double *y) {
  for (size_t j = 0; j < p->d; j++)
    y[j] = x[j] + scale * (p->factor[j] * e[j]);
}

status mh_propose(const mh_proposal *p, const mh_memory *memory, mh_place x,
                  const double *row, double *y, double *work) {
  if (p->kind == MH_CUSTOM)
    return p->draw(p->context, x.x, y) ? STATUS_USER_FUNCTION : STATUS_OK;
  if (p->kind == MH_MIXTURE)
    return mh_propose(&p->part[chosen_part(p, row[0])], memory, x, row + 1, y,
                      work);
  const double step = step_of(p, memory);
  const double scale = p->family == MH_T ? step * row[p->d] : step;
  if (p->kind == MH_RANDOM_WALK && p->diagonal) {
    walk_along_axes(p, scale, x.x, row, y);
    return STATUS_OK;
  }
  mh_times_factor(p, factor_of(p, memory), row, work);
  centre(p, step, x, y);
  for (size_t j = 0; j < p->d; j++)
    y[j] += scale * work[j];
  return STATUS_OK;
}

/* ---- log q --------------------------------------------------------------- */

/* log density of e: independent normals, uniforms, or multivariate t.  The edge
 * of the uniforms' support is met a rounding error away, from both sides alike,
 * so that the wider one changes no ratio. */
static double log_standard(const mh_proposal *p, const double *e) {
  const double d = (double)p->d;
  double square = 0.0, largest = 0.0;
  for (size_t j = 0; j < p->d; j++) {
    square += e[j] * e[j];
    largest = fmax(largest, fabs(e[j]));
  }
  if (p->family == MH_UNIFORM)
    return largest <= root_three * (1.0 + 1e-9) ? -d * log(2.0 * root_three)
                                                : -INFINITY;
  if (p->family == MH_NORMAL)
    return -0.5 * square - d * M_LN_SQRT_2PI;
  const double nu = p->freedom;
  return lgammafn(0.5 * (nu + d)) - lgammafn(0.5 * nu) -
         0.5 * d * log(nu * M_PI) - 0.5 * (nu + d) * log1p(square / nu);
}

/* log sum_i w_i q_i(y | x), the largest taken out. */
static status log_mixture(const mh_proposal *p, const mh_memory *memory,
                          const double *y, mh_place x, double *value,
                          double *work) {
  double top = -INFINITY, sum = 0.0;
  for (size_t i = 0; i < p->parts; i++) {
    double part;
    const status outcome =
      mh_proposal_log_q(&p->part[i], memory, y, x, &part, work);
    if (outcome != STATUS_OK)
      return outcome;
    part += log(p->weight[i]);
    if (isnan(part) || part == INFINITY) {
      *value = part;
      return STATUS_OK;
    }
    if (part > top) {
      sum = sum * exp(top - part) + 1.0;
      top = part;
    } else if (part > -INFINITY) {
      sum += exp(part - top);
    }
  }
  *value = top > -INFINITY ? top + log(sum) : -INFINITY;
  return STATUS_OK;
}

status mh_proposal_log_q(const mh_proposal *p, const mh_memory *memory,
                         const double *y, mh_place x, double *value,
                         double *work) {
  if (p->kind == MH_CUSTOM)
    return p->log_q(p->context, y, x.x, value) ? STATUS_USER_FUNCTION
                                               : STATUS_OK;
  if (p->kind == MH_MIXTURE)
    return log_mixture(p, memory, y, x, value, work);
  const double *l = factor_of(p, memory);
  const double step = step_of(p, memory);
  centre(p, step, x, work);
  for (size_t j = 0; j < p->d; j++)
    work[j] = (y[j] - work[j]) / step;
  mh_solve_factor(p, l, work);
  *value = log_standard(p, work) - log_factor(p, l) - (double)p->d * log(step);
  return STATUS_OK;
}

/* ---- learning ------------------------------------------------------------ */

double mh_gain(double n) {
  return fmin(1.0, 3.0 * pow(fmax(n, 1.0), -2.0 / 3.0));
}

/* log s <- log s + gain (rate - target): Robbins & Monro's search for the scale
 * with the wanted rate (Andrieu & Thoms 2008, algorithm 4,
 * doi:10.1007/s11222-008-9110-y). */
static void learn_scale(const mh_proposal *p, double *tuning, double rate) {
  tuning[0] += mh_gain(tuning[1]) * (rate - p->target);
}

/* mean <- mean + g (x - mean), L L' <- (1 - g) L L' + g (x - mean)(x - mean)'
 * (Haario, Saksman & Tamminen 2001, doi:10.2307/3318737).  With g = 2 / (n +
 * n0) in place of 1 / n the weight of the n-th point grows as n, and that of
 * the first points, far from the mass of p, vanishes. */
static void learn_covariance(const mh_proposal *p, const mh_memory *memory,
                             const double *x, double *work) {
  const size_t d = p->d;
  const double gain = 2.0 / (memory->tuning[1] + 10.0 * (double)d + 40.0);
  const double shrink = sqrt(1.0 - gain), grow = sqrt(gain);
  for (size_t j = 0; j < d; j++) {
    const double apart = x[j] - memory->mean[j];
    memory->mean[j] += gain * apart;
    work[j] = grow * apart;
    for (size_t i = j; i < d; i++)
      memory->factor[i + d * j] *= shrink;
  }
  linalg_rank_one_update(memory->factor, d, work);
}

void mh_learn(const mh_proposal *p, const mh_memory *memory, const double *x,
              double rate, double *work) {
  memory->tuning[1] += 1.0;
  learn_scale(p, memory->tuning, rate);
  if (p->kind != MH_ADAPTIVE)
    return;
  if (memory->tuning[1] > 0.0)
    learn_covariance(p, memory, x, work);
  else
    memcpy(memory->mean, x, p->d * sizeof(double));
}

/* Points seen so far count no more: the next one is the mean, and the weights
 * grow from there.  L and s stay as they are. */
void mh_learn_again(const mh_proposal *p, const mh_memory *memory) {
  if (mh_is_hamiltonian(p))
    return;
  memory->tuning[1] = p->kind == MH_ADAPTIVE ? -1.0 : 0.0;
  for (size_t i = 0; p->kind == MH_DELAYED && i < 2; i++)
    mh_learn_again(&p->part[i], &memory->stage[i]);
}
