#include "numeric/rounding.h"

#include "logistic/logistic_inexact.h"

#include <math.h>
#include <string.h>

#include "numeric/dense.h"

/* ---- what things cost ---------------------------------------------------- */

/* Multiplications of a matrix with itself have their operands in registers and
 * cache; those of a vector wait for memory, and take about so much longer. */
static const double SLOWER = 16.0;

/* A Hessian and its factor over a conjugate gradient: a sparse Hessian is made
 * entry by entry, a conjugate gradient passes twice over X, over the factor
 * and, unless it is diagonal, once over Q. */
static double counted_price(const logistic_data *data) {
  const double n = (double)data->n, p = (double)data->p;
  double entries = n * p, hessian = n * p * p / SLOWER;
  if (!data->x) {
    entries = data->row_start[data->n];
    hessian = 0.0;
    for (size_t i = 0; i < data->n; i++) {
      const double own = data->row_start[i + 1] - data->row_start[i];
      hessian += own * own;
    }
  }
  const double factor = p * p * p / (3.0 * SLOWER);
  const double square = p * p * (data->diagonal ? 2.0 : 4.0);
  return (hessian + factor) / (4.0 * entries + square + 1.0);
}

/* Above this price, that of 200 columns, a search was found to take half to two
 * thirds as long as with exact solutions; at 100 columns and many rows it takes
 * longer. */
static const double WORTH_IT = 3.0;

static double price_of(const logistic_data *data,
                       const logistic_control *control) {
  return control->price > 0.0 ? control->price : counted_price(data);
}

int logistic_inexact_pays(const logistic_data *data,
                          const logistic_control *control) {
  return control->method == LOGISTIC_NEWTON &&
         price_of(data, control) >= WORTH_IT;
}

/* ---- the search's own numbers -------------------------------------------- */

typedef struct {
  const logistic_data *data;
  const logistic_control *control;
  double *w, *factor;                   /* the caller's                    */
  double *eta, *xv, *x_probe;           /* n: o + X w, X v, X probe        */
  double *residual, *curvature;         /* n: terms of L' and L''          */
  double *gradient, *v;                 /* p: L', the step                 */
  double *rest, *solved, *probe, *bend; /* p: of conjugate gradients       */
  double *scale;                        /* p: diagonal of -L'' at first    */
  double *work;
  double value; /* L(w)                                                    */
  double price; /* of a factor, in conjugate gradients                     */
  double spent; /* conjugate gradients since the last factor               */
  int factored; /* whether there is one: else `scale` takes its place      */
  int stopped;
} approach;

size_t logistic_inexact_size(const logistic_data *data) {
  const size_t p = data->p, rows = logistic_work_size(p);
  const size_t factor = dense_cholesky_work(p);
  return 5 * data->n + 7 * p + (rows > factor ? rows : factor);
}

static approach open_approach(const logistic_data *data,
                              const logistic_control *control, double *w,
                              double *factor, double *work) {
  const size_t n = data->n, p = data->p;
  approach a = {.data = data, .control = control, .w = w, .factor = factor};
  double **rows[] = {&a.eta, &a.xv, &a.x_probe, &a.residual, &a.curvature};
  double **columns[] = {&a.gradient, &a.v,    &a.rest, &a.solved,
                        &a.probe,    &a.bend, &a.scale};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++, work += n)
    *rows[k] = work;
  for (size_t k = 0; k < sizeof columns / sizeof *columns; k++, work += p)
    *columns[k] = work;
  a.work = work;
  a.price = price_of(data, control);
  return a;
}

static double inner(const double *x, const double *y, size_t n) {
  const size_t whole = n - n % DENSE_LANES;
  double sum = dense_dot(x, y, whole);
  for (size_t i = whole; i < n; i++)
    sum += x[i] * y[i];
  return sum;
}

/* y <- y + factor x */
static void add_multiple(double *y, double factor, const double *x, size_t n) {
  for (size_t i = 0; i < n; i++)
    y[i] += factor * x[i];
}

/* Remembered, since a second answer could differ. */
static int must_stop(approach *a) {
  const logistic_control *control = a->control;
  if (control->stop != NULL && control->stop(control->stop_data))
    a->stopped = 1;
  return a->stopped;
}

/* ---- L along a line ------------------------------------------------------ */

/* L, L' and L'' along v. */
typedef struct {
  double value, slope, bend;
} line;

/* The prior along w + t v: value - slope t - bend t^2 / 2 */
static line prior_along(const approach *a) {
  const size_t p = a->data->p;
  line prior;
  memset(a->bend, 0, p * sizeof *a->bend);
  prior.bend = -2.0 * logistic_add_prior(a->data, a->v, a->bend, NULL);
  prior.slope = -inner(a->bend, a->w, p);
  prior.value = logistic_add_prior(a->data, a->w, NULL, NULL);
  return prior;
}

/* At w + t v; leaves the terms of L' and L'' there. */
static line look_along(approach *a, double t, line prior) {
  const logistic_data *data = a->data;
  logistic_terms terms;
  line found = {data->constant + prior.value -
                  t * (prior.slope + 0.5 * t * prior.bend),
                -prior.slope - t * prior.bend, -prior.bend};
  for (size_t first = 0; first < data->n; first += LOGISTIC_BLOCK) {
    const size_t left = data->n - first;
    const size_t count = left < LOGISTIC_BLOCK ? left : LOGISTIC_BLOCK;
    const double *xv = a->xv + first;
    logistic_load_response(data, first, count, &terms);
    memset(terms.eta, 0, sizeof terms.eta);
    for (size_t b = 0; b < count; b++)
      terms.eta[b] = a->eta[first + b] + t * xv[b];
    logistic_fill_terms(&terms);
    for (size_t b = 0; b < count; b++) {
      found.value += terms.log_lik[b];
      found.slope += terms.residual[b] * xv[b];
      found.bend -= terms.curvature[b] * xv[b] * xv[b];
    }
    memcpy(a->residual + first, terms.residual, count * sizeof *xv);
    memcpy(a->curvature + first, terms.curvature, count * sizeof *xv);
  }
  return found;
}

/* Newton's method in one variable, kept between the points where L is known to
 * rise and to fall; at most four times as far as before where none falls. */
static double next_length(double t, line here, double low, double high) {
  const double next = t - here.slope / here.bend;
  if (isinf(high))
    return next > low && next < 4.0 * t ? next : 4.0 * t;
  return next > low && next < high ? next : 0.5 * (low + high);
}

/* The length of a step that meets Wolfe's conditions (Nocedal & Wright 2006,
 * eq. 3.7): L has risen, but for its rounding error, and hardly rises or falls
 * any more; within 1e-4 sds of the maximum, where L is a parabola, the slope's
 * own rounding error is not asked.  A trial costs n operations, as X w and X v
 * are known.  0 when there is none. */
static double climb(approach *a, double slope) {
  const line prior = prior_along(a);
  const double rounding = 1e-13 * (1.0 + fabs(a->value));
  const double level = fmax(0.1 * slope, 1e-9);
  double low = 0.0, high = INFINITY, t = 1.0;
  for (int trial = 0; trial < 60; trial++) {
    const line here = look_along(a, t, prior);
    const int risen = here.value >= a->value + 1e-4 * t * slope - rounding;
    if (risen && fabs(here.slope) <= level) {
      a->value = here.value;
      return t;
    }
    if (risen && here.slope > 0.0)
      low = t;
    else
      high = t;
    t = next_length(t, here, low, high);
  }
  return 0.0;
}

/* w <- w + length v */
static void move(approach *a, double length) {
  add_multiple(a->w, length, a->v, a->data->p);
  add_multiple(a->eta, length, a->xv, a->data->n);
  logistic_gradient(a->data, a->residual, a->w, a->gradient);
}

/* ---- Newton's equations -------------------------------------------------- */

/* Observations of less than this part of the largest curvature are left out of
 * a factor: in data that are nearly separated they are many.  The conjugate
 * gradients account for these. */
static const double SATURATED = 1e-9;

/* factor <- that of -L'' at w, nearly; 0 when there is none. */
static int renew_factor(approach *a) {
  const size_t n = a->data->n;
  double *weights = a->x_probe, most = 0.0;
  for (size_t i = 0; i < n; i++)
    most = fmax(most, a->curvature[i]);
  for (size_t i = 0; i < n; i++)
    weights[i] = a->curvature[i] > SATURATED * most ? a->curvature[i] : 0.0;
  logistic_gram(a->data, weights, a->factor, a->work);
  logistic_add_prior(a->data, a->w, NULL, a->factor);
  a->spent = 0.0;
  a->factored = 1;
  return dense_cholesky(a->factor, a->data->p, a->work) == STATUS_OK;
}

/* solved <- M^-1 rest; returns rest' M^-1 rest. */
static double precondition(approach *a) {
  const size_t p = a->data->p;
  memcpy(a->solved, a->rest, p * sizeof *a->rest);
  if (a->factored) {
    dense_solve_lower(a->factor, p, a->solved);
    dense_solve_lower_transposed(a->factor, p, a->solved);
  } else {
    for (size_t j = 0; j < p; j++)
      a->solved[j] /= a->scale[j];
  }
  return inner(a->solved, a->rest, p);
}

/* Solve until the rest is this small relative to L'(w), both in the metric of
 * the preconditioner: the better, the nearer the maximum is, so that the steps
 * converge faster than linearly (Eisenstat & Walker 1996,
 * doi:10.1137/0917003).  distance: to the maximum, in posterior sds. */
static double forcing(double distance) {
  return fmin(0.25, sqrt(distance));
}

/* v <- about (-L'')^-1 L' by preconditioned conjugate gradients (Nocedal &
 * Wright 2006, algorithms 5.3 and 7.1), xv <- X v; returns how well: what is
 * left of the gradient over the gradient.  Any number of them gives a
 * direction in which L rises. */
static double solve(approach *a) {
  const size_t n = a->data->n, p = a->data->p;
  memset(a->v, 0, p * sizeof *a->v);
  memset(a->xv, 0, n * sizeof *a->xv);
  memcpy(a->rest, a->gradient, p * sizeof *a->rest);
  const double first = precondition(a);
  const double enough = forcing(sqrt(first));
  double size = first;
  memcpy(a->probe, a->solved, p * sizeof *a->probe);
  for (size_t k = 0; k == 0 || k < a->price; k++) {
    logistic_bend(a->data, a->curvature, a->probe, a->x_probe, a->bend);
    const double curvature = -inner(a->probe, a->bend, p);
    if (!(curvature > 0.0) || must_stop(a))
      break;
    a->spent += 1.0;
    const double length = size / curvature;
    add_multiple(a->v, length, a->probe, p);
    add_multiple(a->xv, length, a->x_probe, n);
    add_multiple(a->rest, length, a->bend, p);
    const double next = precondition(a);
    const double ratio = next / size;
    size = next;
    if (size <= enough * enough * first)
      break;
    for (size_t j = 0; j < p; j++)
      a->probe[j] = a->solved[j] + ratio * a->probe[j];
  }
  return sqrt(size / first);
}

/* ---- the way ------------------------------------------------------------- */

static void begin(approach *a) {
  const logistic_data *data = a->data;
  const size_t p = data->p;
  logistic_predictor(data, 0, data->n, a->w, 1, a->eta);
  memset(a->v, 0, p * sizeof *a->v);
  memset(a->xv, 0, data->n * sizeof *a->xv);
  a->value = look_along(a, 0.0, prior_along(a)).value;
  logistic_gradient(data, a->residual, a->w, a->gradient);
  logistic_squares(data, a->curvature, a->scale);
  for (size_t j = 0; j < p; j++) {
    a->scale[j] += data->precision[data->diagonal ? j : j + p * j];
    if (!(a->scale[j] > 0.0))
      a->scale[j] = 1.0;
  }
}

/* Near the maximum, where a step should leave a small part of the distance:
 * whether rounding errors are all that is left to step along. */
static int is_lost_in_rounding(double distance, double last) {
  return distance < 1e-4 && distance > 0.5 * last;
}

logistic_way logistic_approach(const logistic_data *data,
                               const logistic_control *control, double *w,
                               double *factor, double *trace, double *work) {
  approach a = open_approach(data, control, w, factor, work);
  begin(&a);
  trace[0] = a.value;
  size_t done = 0;
  double last = INFINITY;
  while (done < control->limit) {
    if (a.spent >= a.price && !renew_factor(&a))
      break;
    const double left = solve(&a);
    const double slope = inner(a.v, a.gradient, data->p);
    const double distance = sqrt(slope);
    if (a.stopped || !(slope > 0.0) || is_lost_in_rounding(distance, last))
      break;
    const double length = climb(&a, slope);
    if (!(length > 0.0))
      break;
    move(&a, length);
    trace[++done] = a.value;
    last = distance;
    /* such a step leaves about so much of the distance */
    if (distance * fmax(left, distance) <= 0.01 * control->tolerance)
      break;
  }
  return (logistic_way){done, a.stopped};
}
