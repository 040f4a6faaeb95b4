#include "numeric/rounding.h"

#include "logistic/logistic_search.h"

#include <math.h>
#include <string.h>

#include "numeric/blas.h"
#include "numeric/dense.h"
#include "numeric/linalg.h"

/* ---- Newton's method ----------------------------------------------------- */

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

size_t logistic_search_size(size_t p) {
  const size_t rows = logistic_work_size(p), factor = dense_cholesky_work(p);
  return p * p + 6 * p + (rows > factor ? rows : factor);
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

static logistic_result newton(search *s, double *trace) {
  logistic_result result = {LOGISTIC_LIMIT, 0, 0.0, INFINITY, 0.0};
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
  search s = open_search(data, control, w, factor, work);
  s.value = evaluate(&s, w, 2);
  trace[0] = s.value;
  logistic_result result =
    control->method == LOGISTIC_NEWTON ? newton(&s, trace) : ascend(&s, trace);
  result.share = control->share ? smallest_share(&s) : 1.0;
  return result;
}
