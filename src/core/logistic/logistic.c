#include "numeric/rounding.h"

#include "logistic/logistic.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "logistic/logistic_inexact.h"
#include "numeric/blas.h"
#include "numeric/dense.h"
#include "numeric/lanes.h"
#include "numeric/linalg.h"

/* ---- a block of observations ---------------------------------------------- */

#define LANES_FUSED 1
#define LANES_KERNEL "logistic/logistic_kernel.h"
#include "numeric/lanes_each.h"

void logistic_fill_terms(logistic_terms *terms) {
  if (terms->probit)
    LANES_CHOOSE(probit_terms)(terms);
  else
    LANES_CHOOSE(logit_terms)(terms);
}

void logistic_load_response(const logistic_data *data, size_t first,
                            size_t count, logistic_terms *terms) {
  terms->probit = data->probit;
  memcpy(terms->success, data->success + first, count * sizeof(double));
  memcpy(terms->total, data->total + first, count * sizeof(double));
  for (size_t b = count; b < LOGISTIC_BLOCK; b++)
    terms->success[b] = terms->total[b] = 0.0;
}

/* In four independent sums; x is 0 beyond the rows of a block that is not
 * full. */
static double sum_of(const double *x) {
  double sum[4] = {0.0, 0.0, 0.0, 0.0};
  for (size_t b = 0; b < LOGISTIC_BLOCK; b += 4)
    for (size_t part = 0; part < 4; part++)
      sum[part] += x[b + part];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* ---- blocks of dense rows ------------------------------------------------ */

/* LOGISTIC_BLOCK rows: column j begins at column + stride * j. */
typedef struct {
  const double *column;
  size_t stride;
} row_block;

/* Rows first, first + 1, ... of x where they are, if there are enough; else in
 * `copy` (LOGISTIC_BLOCK x p) with rows of zeros after them, so that loops over
 * a block have a known length. */
static row_block find_block(const logistic_data *data, size_t first,
                            size_t count, double *copy) {
  const double *x = data->x + first;
  if (count == LOGISTIC_BLOCK)
    return (row_block){x, data->n};
  for (size_t j = 0; j < data->p; j++) {
    double *column = copy + LOGISTIC_BLOCK * j;
    memcpy(column, x + data->n * j, count * sizeof *column);
    for (size_t b = count; b < LOGISTIC_BLOCK; b++)
      column[b] = 0.0;
  }
  return (row_block){copy, LOGISTIC_BLOCK};
}

/* eta <- block w + o */
static void block_predictor(const logistic_data *data, size_t first,
                            size_t count, row_block block, const double *w,
                            double *eta) {
  memset(eta, 0, LOGISTIC_BLOCK * sizeof *eta);
  if (data->offset)
    memcpy(eta, data->offset + first, count * sizeof *eta);
  dense_add_columns(eta, block.column, block.stride, w, data->p,
                    LOGISTIC_BLOCK);
}

static void add_block_gradient(const logistic_terms *terms, row_block block,
                               size_t p, double *gradient) {
  for (size_t j = 0; j < p; j++)
    gradient[j] += dense_dot(block.column + block.stride * j, terms->residual,
                             LOGISTIC_BLOCK);
}

/* The same, and hessian (lower triangle) += block' diag(curvature) block;
 * scaled: LOGISTIC_BLOCK x p, and may be the block. */
static void add_block_derivatives(const logistic_terms *terms, row_block block,
                                  size_t p, double *gradient, double *hessian,
                                  double *scaled) {
  double root[LOGISTIC_BLOCK];
  for (size_t b = 0; b < LOGISTIC_BLOCK; b++)
    root[b] = sqrt(terms->curvature[b]);
  for (size_t j = 0; j < p; j++)
    gradient[j] += dense_scale_and_dot(scaled + LOGISTIC_BLOCK * j,
                                       block.column + block.stride * j, root,
                                       terms->residual, LOGISTIC_BLOCK);
  dense_add_gram(scaled, LOGISTIC_BLOCK, p, 1.0, hessian, p);
}

/* A block's part of L, of L' and of -L''. */
static double add_dense(const logistic_data *data, size_t first, size_t count,
                        const double *w, double *gradient, double *hessian,
                        logistic_terms *terms, double *work) {
  const row_block block = find_block(data, first, count, work);
  block_predictor(data, first, count, block, w, terms->eta);
  logistic_fill_terms(terms);
  if (hessian)
    add_block_derivatives(terms, block, data->p, gradient, hessian, work);
  else if (gradient)
    add_block_gradient(terms, block, data->p, gradient);
  return sum_of(terms->log_lik);
}

/* ---- sparse rows --------------------------------------------------------- */

/* from + x_i'w */
static double add_row_product(const logistic_data *data, size_t i, double from,
                              const double *w) {
  for (int e = data->row_start[i]; e < data->row_start[i + 1]; e++)
    from += data->value[e] * w[data->column[e]];
  return from;
}

static double sparse_predictor(const logistic_data *data, size_t i,
                               const double *w) {
  return add_row_product(data, i, data->offset ? data->offset[i] : 0.0, w);
}

/* gradient += residual x_i */
static void add_row_gradient(const logistic_data *data, size_t i,
                             double residual, double *gradient) {
  for (int e = data->row_start[i]; e < data->row_start[i + 1]; e++)
    gradient[data->column[e]] += residual * data->value[e];
}

/* hessian (lower triangle) += curvature x_i x_i' */
static void add_row_hessian(const logistic_data *data, size_t i,
                            double curvature, double *hessian) {
  const int from = data->row_start[i], to = data->row_start[i + 1];
  for (int e = from; e < to; e++) {
    double *column = hessian + data->p * (size_t)data->column[e];
    const double factor = curvature * data->value[e];
    for (int f = e; f < to; f++)
      column[data->column[f]] += factor * data->value[f];
  }
}

static double add_sparse(const logistic_data *data, size_t first, size_t count,
                         const double *w, double *gradient, double *hessian,
                         logistic_terms *terms) {
  for (size_t b = 0; b < LOGISTIC_BLOCK; b++)
    terms->eta[b] = b < count ? sparse_predictor(data, first + b, w) : 0.0;
  logistic_fill_terms(terms);
  for (size_t b = 0; b < count; b++) {
    const size_t i = first + b;
    if (gradient)
      add_row_gradient(data, i, terms->residual[b], gradient);
    if (hessian)
      add_row_hessian(data, i, terms->curvature[b], hessian);
  }
  return sum_of(terms->log_lik);
}

/* The likelihood's part of L, of L' and of -L''. */
static double add_likelihood(const logistic_data *data, const double *w,
                             double *gradient, double *hessian, double *work) {
  logistic_terms terms;
  double value = 0.0;
  for (size_t first = 0; first < data->n; first += LOGISTIC_BLOCK) {
    const size_t left = data->n - first;
    const size_t count = left < LOGISTIC_BLOCK ? left : LOGISTIC_BLOCK;
    logistic_load_response(data, first, count, &terms);
    value +=
      data->x
        ? add_dense(data, first, count, w, gradient, hessian, &terms, work)
        : add_sparse(data, first, count, w, gradient, hessian, &terms);
  }
  return value;
}

/* ---- the log joint density ----------------------------------------------- */

double logistic_add_prior(const logistic_data *data, const double *w,
                          double *gradient, double *hessian) {
  const size_t p = data->p;
  double square = 0.0;
  for (size_t j = 0; j < p; j++) {
    double pull = 0.0;
    if (data->diagonal)
      pull = data->precision[j] * w[j];
    else
      for (size_t i = 0; i < p; i++)
        pull += data->precision[i + p * j] * w[i];
    square += w[j] * pull;
    if (gradient)
      gradient[j] -= pull;
    if (!hessian)
      continue;
    if (data->diagonal)
      hessian[j + p * j] += data->precision[j];
    else
      for (size_t i = j; i < p; i++)
        hessian[i + p * j] += data->precision[i + p * j];
  }
  return -0.5 * square;
}

/* Where dense_add_gram() is fastest. */
enum { ALIGNMENT = 64 };

static double *aligned(double *work) {
  const size_t beyond = (uintptr_t)work % ALIGNMENT;
  return beyond == 0 ? work : work + (ALIGNMENT - beyond) / sizeof *work;
}

size_t logistic_work_size(size_t p) {
  return LOGISTIC_BLOCK * (p ? p : 1) + ALIGNMENT / sizeof(double);
}

double logistic_evaluate(const logistic_data *data, const double *w,
                         double *gradient, double *hessian, double *work) {
  if (gradient)
    memset(gradient, 0, data->p * sizeof *gradient);
  if (hessian)
    memset(hessian, 0, data->p * data->p * sizeof *hessian);
  const double likelihood =
    add_likelihood(data, w, gradient, hessian, aligned(work));
  return data->constant + likelihood +
         logistic_add_prior(data, w, gradient, hessian);
}

/* ---- its derivatives piece by piece --------------------------------------- */

/* sum += X' part of rows first, first + 1, ..., where they are. */
static void add_columns_dot(const logistic_data *data, size_t first,
                            size_t count, const double *part, double *sum) {
  const size_t whole = count - count % DENSE_LANES;
  for (size_t j = 0; j < data->p; j++) {
    const double *column = data->x + data->n * j + first;
    double own = dense_dot(column, part, whole);
    for (size_t b = whole; b < count; b++)
      own += column[b] * part[b];
    sum[j] += own;
  }
}

void logistic_gradient(const logistic_data *data, const double *residual,
                       const double *w, double *gradient) {
  memset(gradient, 0, data->p * sizeof *gradient);
  for (size_t i = 0; !data->x && i < data->n; i++)
    add_row_gradient(data, i, residual[i], gradient);
  if (data->x)
    add_columns_dot(data, 0, data->n, residual, gradient);
  logistic_add_prior(data, w, gradient, NULL);
}

void logistic_bend(const logistic_data *data, const double *curvature,
                   const double *v, double *xv, double *bend) {
  double part[LOGISTIC_BLOCK];
  memset(bend, 0, data->p * sizeof *bend);
  memset(xv, 0, data->n * sizeof *xv);
  for (size_t i = 0; !data->x && i < data->n; i++) {
    xv[i] = add_row_product(data, i, 0.0, v);
    add_row_gradient(data, i, -curvature[i] * xv[i], bend);
  }
  for (size_t first = 0; data->x && first < data->n; first += LOGISTIC_BLOCK) {
    const size_t left = data->n - first;
    const size_t count = left < LOGISTIC_BLOCK ? left : LOGISTIC_BLOCK;
    dense_add_columns(xv + first, data->x + first, data->n, v, data->p, count);
    for (size_t b = 0; b < count; b++)
      part[b] = -curvature[first + b] * xv[first + b];
    add_columns_dot(data, first, count, part, bend);
  }
  logistic_add_prior(data, v, bend, NULL);
}

/* sum_i m_i x_i^2, in four independent sums. */
static double weighted_square(const double *m, const double *x, size_t n) {
  double sum[4] = {0.0, 0.0, 0.0, 0.0};
  size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (size_t part = 0; part < 4; part++)
      sum[part] += m[i + part] * x[i + part] * x[i + part];
  for (; i < n; i++)
    sum[0] += m[i] * x[i] * x[i];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

void logistic_squares(const logistic_data *data, const double *weights,
                      double *squares) {
  memset(squares, 0, data->p * sizeof *squares);
  for (size_t j = 0; data->x && j < data->p; j++)
    squares[j] = weighted_square(weights, data->x + data->n * j, data->n);
  for (size_t i = 0; !data->x && i < data->n; i++)
    for (int e = data->row_start[i]; e < data->row_start[i + 1]; e++)
      squares[data->column[e]] += weights[i] * data->value[e] * data->value[e];
}

/* Rows of x, times the root of their weights, as a block that is full but for a
 * last one; rows of zeros make up its number to a multiple of DENSE_LANES. */
static void add_chosen_rows(const logistic_data *data, const double *weights,
                            const size_t *chosen, size_t count, double *gram,
                            double *block) {
  const size_t rows = (count + DENSE_LANES - 1) / DENSE_LANES * DENSE_LANES;
  double root[LOGISTIC_BLOCK];
  for (size_t b = 0; b < count; b++)
    root[b] = sqrt(weights[chosen[b]]);
  for (size_t j = 0; j < data->p; j++) {
    const double *column = data->x + data->n * j;
    double *scaled = block + rows * j;
    for (size_t b = 0; b < count; b++)
      scaled[b] = root[b] * column[chosen[b]];
    for (size_t b = count; b < rows; b++)
      scaled[b] = 0.0;
  }
  dense_add_gram(block, rows, data->p, 1.0, gram, data->p);
}

void logistic_gram(const logistic_data *data, const double *weights,
                   double *gram, double *work) {
  size_t chosen[LOGISTIC_BLOCK], count = 0;
  double *block = aligned(work);
  memset(gram, 0, data->p * data->p * sizeof *gram);
  for (size_t i = 0; i < data->n; i++) {
    if (!(weights[i] > 0.0))
      continue;
    if (!data->x) {
      add_row_hessian(data, i, weights[i], gram);
      continue;
    }
    chosen[count++] = i;
    if (count == LOGISTIC_BLOCK) {
      add_chosen_rows(data, weights, chosen, count, gram, block);
      count = 0;
    }
  }
  if (count > 0)
    add_chosen_rows(data, weights, chosen, count, gram, block);
}

/* ---- draws ---------------------------------------------------------------- */

void logistic_predictor(const logistic_data *data, size_t first, size_t count,
                        const double *w, size_t draws, double *eta) {
  for (size_t s = 0; s < draws; s++) {
    double *column = eta + count * s;
    const double *parameter = w + data->p * s;
    for (size_t b = 0; b < count; b++)
      column[b] = data->x ? (data->offset ? data->offset[first + b] : 0.0)
                          : sparse_predictor(data, first + b, parameter);
    for (size_t j = 0; data->x && j < data->p; j++) {
      const double *x = data->x + data->n * j + first;
      for (size_t b = 0; b < count; b++)
        column[b] += parameter[j] * x[b];
    }
  }
}

void logistic_by_row(const logistic_data *data, int log_lik, const double *w,
                     size_t draws, double *result, double *work) {
  logistic_terms terms;
  for (size_t first = 0; first < data->n; first += LOGISTIC_BLOCK) {
    const size_t left = data->n - first;
    const size_t count = left < LOGISTIC_BLOCK ? left : LOGISTIC_BLOCK;
    logistic_predictor(data, first, count, w, draws, work);
    logistic_load_response(data, first, count, &terms);
    for (size_t s = 0; s < draws; s++) {
      memset(terms.eta, 0, sizeof terms.eta);
      memcpy(terms.eta, work + count * s, count * sizeof *work);
      if (log_lik)
        logistic_fill_terms(&terms);
      const double *from = log_lik ? terms.log_lik : terms.eta;
      for (size_t b = 0; b < count; b++)
        result[s + draws * (first + b)] = from[b];
    }
  }
}

/* ---- the search for its maximum ------------------------------------------ */

/* The search's own numbers; pointers into its work. */
typedef struct {
  const logistic_data *data;
  const logistic_control *control;
  double *w, *factor;
  double *gradient, *hessian, *direction, *trial, *scale, *work;
  double *last_w, *last_gradient;
  double value;
  int scaled; /* scale is filled */
} search;

size_t logistic_search_size(const logistic_data *data,
                            const logistic_control *control) {
  const size_t p = data->p;
  const size_t rows = logistic_work_size(p), factor = dense_cholesky_work(p);
  const size_t direct = p * p + 6 * p + (rows > factor ? rows : factor);
  const size_t inexact = logistic_inexact_size(data);
  return logistic_inexact_pays(data, control) && inexact > direct ? inexact
                                                                  : direct;
}

static search open_search(const logistic_data *data,
                          const logistic_control *control, double *w,
                          double *factor, double *work) {
  const size_t p = data->p;
  search s = {.data = data, .control = control, .w = w, .factor = factor};
  s.hessian = work;
  s.gradient = s.hessian + p * p;
  s.direction = s.gradient + p;
  s.trial = s.direction + p;
  s.scale = s.trial + p;
  s.last_w = s.scale + p;
  s.last_gradient = s.last_w + p;
  s.work = s.last_gradient + p;
  return s;
}

/* sum_i m_i x_ij^2 b + Q_jj, b = 1/4 (logit) or 1 (probit): no curvature in
 * direction j is above it, since sigma (1 - sigma) <= 1/4 and h(x) (h(x) + x) < 1
 * (Boehning & Lindsay 1988, doi:10.1007/BF00049423).  A column of zeros without a prior has 1.  Found
 * when first asked for: most searches do without. */
static void need_scale(search *s) {
  const logistic_data *data = s->data;
  const size_t p = data->p;
  if (s->scaled)
    return;
  s->scaled = 1;
  const double bound = data->probit ? 1.0 : 0.25;
  logistic_squares(data, data->total, s->scale);
  for (size_t j = 0; j < p; j++) {
    s->scale[j] =
      bound * s->scale[j] + data->precision[data->diagonal ? j : j + p * j];
    if (!(s->scale[j] > 0.0))
      s->scale[j] = 1.0;
  }
}

static double evaluate(search *s, const double *w, int derivatives) {
  return logistic_evaluate(s->data, w, derivatives ? s->gradient : NULL,
                           derivatives > 1 ? s->hessian : NULL, s->work);
}

/* factor <- L, L L' = -L'' + ridge diag(scale); 0 when there is none. */
static int factorise(search *s, double ridge) {
  const size_t p = s->data->p;
  memcpy(s->factor, s->hessian, p * p * sizeof *s->factor);
  if (ridge > 0.0) {
    need_scale(s);
    for (size_t j = 0; j < p; j++)
      s->factor[j + p * j] += ridge * s->scale[j];
  }
  return dense_cholesky(s->factor, p, s->work) == STATUS_OK;
}

/* direction <- (L L')^-1 L'; returns the squared distance to the maximum of the
 * quadratic that touches L here, in its own metric. */
static double newton_direction(search *s) {
  const size_t p = s->data->p;
  memcpy(s->direction, s->gradient, p * sizeof *s->direction);
  blas_solve_lower(s->factor, p, s->direction);
  const double square = linalg_inner(s->direction, s->direction, p);
  blas_solve_lower_transposed(s->factor, p, s->direction);
  return square;
}

static void step_along(search *s, double length) {
  for (size_t j = 0; j < s->data->p; j++)
    s->trial[j] = s->w[j] + length * s->direction[j];
}

/* Armijo's condition, with room for the rounding error of L. */
static int rises_enough(const search *s, double value, double length,
                        double slope) {
  const double rounding = 1e-13 * (1.0 + fabs(s->value));
  return value >= s->value + 1e-4 * length * slope - rounding;
}

/* Step `length`, halved until L rises enough: the length taken, 0 for none.
 * Derivatives are computed with the first trial, which is nearly always the one
 * taken, and again after halvings. */
static double climb(search *s, double length, double slope, int derivatives) {
  step_along(s, length);
  double value = evaluate(s, s->trial, derivatives);
  int halvings = 0;
  while (!rises_enough(s, value, length, slope)) {
    if (++halvings > 100)
      return 0.0;
    length *= 0.5;
    step_along(s, length);
    value = evaluate(s, s->trial, 0);
  }
  if (halvings)
    value = evaluate(s, s->trial, derivatives);
  memcpy(s->w, s->trial, s->data->p * sizeof *s->w);
  s->value = value;
  return length;
}

static int must_stop(const search *s) {
  return s->control->stop != NULL && s->control->stop(s->control->stop_data);
}

/* The factor of -L'', with as little of a ridge as gives it one where all
 * observations are saturated; the ridge, or -1 when none helps. */
static double factorise_with_ridge(search *s) {
  if (factorise(s, 0.0))
    return 0.0;
  for (double ridge = 1e-14; ridge <= 1.0; ridge *= 10.0)
    if (factorise(s, ridge))
      return ridge;
  return -1.0;
}

/* The error of a Newton step is of second order: where one took the distance
 * from d to rd, the next takes rd to about r^2 rd, and moves -L'' by about r^2
 * relative to itself.  Converged: that is below the tolerance, or the distance
 * itself is. */
static int has_converged(double distance, double last, double tolerance) {
  const double ratio = distance / last;
  return distance <= 0.1 * tolerance ||
         (distance <= 1e-4 && ratio * ratio <= tolerance);
}

/* `taken` iterations have been made. */
static logistic_result newton(search *s, size_t taken, double *trace) {
  logistic_result result = {LOGISTIC_LIMIT, taken, 0.0, INFINITY, 0.0};
  double last = INFINITY;
  for (;; result.iterations++) {
    const double ridge = factorise_with_ridge(s);
    if (ridge < 0.0) {
      result.outcome = LOGISTIC_SINGULAR;
      break;
    }
    const double square = newton_direction(s);
    result.distance = sqrt(square);
    result.log_joint = s->value + 0.5 * square;
    if (ridge <= 0.0 &&
        has_converged(result.distance, last, s->control->tolerance)) {
      step_along(s, 1.0);
      memcpy(s->w, s->trial, s->data->p * sizeof *s->w);
      result.outcome = LOGISTIC_CONVERGED;
      break;
    }
    if (result.iterations == s->control->limit)
      break;
    if (must_stop(s)) {
      result.outcome = LOGISTIC_INTERRUPTED;
      break;
    }
    const double length = climb(s, 1.0, square, 2);
    if (!(length > 0.0)) {
      result.outcome = LOGISTIC_STALLED;
      break;
    }
    last = length < 1.0 || ridge > 0.0 ? INFINITY : result.distance;
    trace[result.iterations + 1] = s->value;
  }
  return result;
}

/* ---- gradient ascent ----------------------------------------------------- */

/* w <- w + t D^-1 L', D = diag(scale), so that the units of the columns do not
 * matter.  The first t tried is Barzilai & Borwein's (1988,
 * doi:10.1093/imanum/8.1.141), from what the last step did to the gradient; it
 * is halved until L rises. */
static double first_length(search *s) {
  const size_t p = s->data->p;
  double moved = 0.0, bent = 0.0;
  for (size_t j = 0; j < p; j++) {
    const double dw = s->w[j] - s->last_w[j];
    moved += dw * dw * s->scale[j];
    bent += dw * (s->last_gradient[j] - s->gradient[j]);
  }
  return moved > 0.0 && bent > 0.0 ? moved / bent : 1.0;
}

/* How far the maximum is, by a Newton step that is not taken. */
static double judge_distance(search *s) {
  evaluate(s, s->w, 2);
  return factorise(s, 0.0) ? sqrt(newton_direction(s)) : INFINITY;
}

enum { GRADIENT_LOOK = 50 };

static logistic_result ascend(search *s, double *trace) {
  const size_t p = s->data->p;
  need_scale(s);
  logistic_result result = {LOGISTIC_LIMIT, 0, 0.0, INFINITY, 0.0};
  memcpy(s->last_w, s->w, p * sizeof *s->w);
  for (;; result.iterations++) {
    const size_t done = result.iterations;
    if (done % GRADIENT_LOOK == 0 || done == s->control->limit) {
      result.distance = judge_distance(s);
      result.log_joint = s->value;
      if (result.distance <= s->control->tolerance)
        result.outcome = LOGISTIC_CONVERGED;
      else if (must_stop(s))
        result.outcome = LOGISTIC_INTERRUPTED;
      if (result.outcome != LOGISTIC_LIMIT || done == s->control->limit)
        break;
    }
    const double length = first_length(s);
    for (size_t j = 0; j < p; j++)
      s->direction[j] = s->gradient[j] / s->scale[j];
    const double slope = linalg_inner(s->direction, s->gradient, p);
    memcpy(s->last_w, s->w, p * sizeof *s->w);
    memcpy(s->last_gradient, s->gradient, p * sizeof *s->w);
    if (!(climb(s, length, slope, 1) > 0.0)) {
      result.outcome = LOGISTIC_STALLED;
      result.distance = judge_distance(s);
      break;
    }
    trace[done + 1] = s->value;
  }
  return result;
}

/* Pivot j of the factor over what it would be if column j stood alone with
 * every observation at its most informative. */
static double smallest_share(search *s) {
  const size_t p = s->data->p;
  need_scale(s);
  double smallest = 1.0;
  for (size_t j = 0; j < p; j++) {
    const double pivot = s->factor[j + p * j];
    smallest = fmin(smallest, pivot * pivot / s->scale[j]);
  }
  return smallest;
}

logistic_result logistic_search(const logistic_data *data,
                                const logistic_control *control, double *w,
                                double *factor, double *trace, double *work) {
  logistic_way way = {0, 0};
  if (logistic_inexact_pays(data, control))
    way = logistic_approach(data, control, w, factor, trace, work);
  if (way.stopped)
    return (logistic_result){LOGISTIC_INTERRUPTED, way.iterations,
                             trace[way.iterations], INFINITY, 1.0};
  search s = open_search(data, control, w, factor, work);
  s.value = evaluate(&s, w, 2);
  trace[way.iterations] = s.value;
  logistic_result result = control->method == LOGISTIC_NEWTON
                             ? newton(&s, way.iterations, trace)
                             : ascend(&s, trace);
  result.share = control->share ? smallest_share(&s) : 1.0;
  return result;
}
