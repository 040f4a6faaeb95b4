#include "numeric/rounding.h"

#include "logistic/logistic.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "numeric/dense.h"
#include "numeric/lanes.h"

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
