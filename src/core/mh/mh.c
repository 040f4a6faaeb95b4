#include "numeric/rounding.h"

#include "mh/mh.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- the target ---------------------------------------------------------- */

/* The user's value of coordinate j and the log of its derivative.  Returns 0 if
 * the value overflows or rounds to the bound. */
static int map_coordinate(const mh_model *m, size_t j, double w, double *value,
                          double *log_slope) {
  const double lower = m->lower[j], upper = m->upper[j];
  const double tail = exp(-fabs(w)); /* the smaller side of the logistic */
  switch ((mh_map)m->map[j]) {
  case MH_ABOVE:
    *value = lower + exp(w);
    *log_slope = w;
    return *value > lower && *value < INFINITY;
  case MH_BELOW:
    *value = upper - exp(w);
    *log_slope = w;
    return *value<upper && * value> - INFINITY;
  case MH_BETWEEN:
    *value = lower + (upper - lower) * (w < 0.0 ? tail : 1.0) / (1.0 + tail);
    *log_slope = log(upper - lower) - fabs(w) - 2.0 * log1p(tail);
    return *value > lower && *value < upper;
  default:
    *value = w;
    *log_slope = 0.0;
    return isfinite(w);
  }
}

static int all_finite(const double *x, size_t d) {
  int finite = 1;
  for (size_t j = 0; j < d; j++)
    finite &= fabs(x[j]) <= DBL_MAX;
  return finite;
}

static int inside_bounds(const mh_model *m, const double *point) {
  int inside = 1;
  for (size_t j = 0; m->lower && j < m->d; j++)
    inside = inside && point[j] >= m->lower[j] && point[j] <= m->upper[j];
  return inside;
}

/* The user's point; *log_jacobian: log of its derivative's determinant.  Returns
 * 0 if the point is on a bound or overflows: the density is then taken as zero
 * and not evaluated. */
static int map_point(const mh_model *m, const double *x, double *point,
                     double *log_jacobian) {
  int inside = 1;
  *log_jacobian = 0.0;
  for (size_t j = 0; m->map && j < m->d; j++) {
    double log_slope;
    inside = map_coordinate(m, j, x[j], &point[j], &log_slope) && inside;
    *log_jacobian += log_slope;
  }
  if (!m->map)
    memcpy(point, x, m->d * sizeof(double));
  return inside && all_finite(point, m->d) && inside_bounds(m, point);
}

status mh_at_fault(mh_model *m, mh_fault fault, const double *point) {
  m->fault = fault;
  m->fault_point = point;
  return STATUS_USER_FUNCTION;
}

status mh_evaluate(mh_model *m, const double *x, double *point, double *value) {
  double log_jacobian, log_density;
  value[0] = value[1] = -INFINITY;
  if (!map_point(m, x, point, &log_jacobian))
    return STATUS_OK;
  if (m->log_density(m->context, point, &log_density))
    return STATUS_USER_FUNCTION;
  if (isnan(log_density)) {
    if (!m->reject_nan)
      return mh_at_fault(m, MH_NAN, point);
    *m->nan_count += 1.0;
    return STATUS_OK;
  }
  if (log_density == INFINITY)
    return mh_at_fault(m, MH_PLUS_INFINITY, point);
  value[0] = log_density;
  value[1] = log_density + log_jacobian;
  return STATUS_OK;
}

status mh_evaluate_current(mh_model *m) {
  m->slope[0] = 0.0;
  return mh_evaluate(m, m->x, m->point, m->value);
}

/* d point / d w and d log |d point / d w| / d w. */
static void map_slopes(const mh_model *m, size_t j, double w, double *slope,
                       double *log_slope_slope) {
  const double tail = exp(-fabs(w));
  const double larger = 1.0 / (1.0 + tail), smaller = tail / (1.0 + tail);
  switch ((mh_map)m->map[j]) {
  case MH_ABOVE:
  case MH_BELOW:
    *slope = m->map[j] == MH_ABOVE ? exp(w) : -exp(w);
    *log_slope_slope = 1.0;
    return;
  case MH_BETWEEN:
    *slope = (m->upper[j] - m->lower[j]) * larger * smaller;
    *log_slope_slope = w < 0.0 ? larger - smaller : smaller - larger;
    return;
  default:
    *slope = 1.0;
    *log_slope_slope = 0.0;
  }
}

status mh_evaluate_slope(mh_model *m, const double *x, const double *point,
                         double *slope) {
  if (m->gradient(m->gradient_context, point, slope))
    return STATUS_USER_FUNCTION;
  for (size_t j = 0; j < m->d; j++) {
    double inner, outer;
    if (!isfinite(slope[j]))
      return mh_at_fault(m, MH_GRADIENT, point);
    if (m->map) {
      map_slopes(m, j, x[j], &inner, &outer);
      slope[j] = slope[j] * inner + outer;
    }
  }
  return STATUS_OK;
}

status mh_know_slope(mh_model *m) {
  if (m->slope[0] > 0.0)
    return STATUS_OK;
  const status outcome = mh_evaluate_slope(m, m->x, m->point, m->slope + 1);
  m->slope[0] = outcome == STATUS_OK;
  return outcome;
}

/* ---- what a step notes --------------------------------------------------- */

void mh_trace_end(mh_model *m, size_t b, double u) {
  const double numbers[MH_TRACE] = {*m->sweep + 1.0,
                                    (double)b + 1.0,
                                    u,
                                    m->value[0],
                                    m->value[1],
                                    NAN,
                                    NAN,
                                    1.0};
  for (size_t i = 0; i < MH_TRACE; i++)
    *m->trace++ = numbers[i];
  for (size_t j = 0; j < m->d; j++)
    *m->trace++ = m->x[j];
}

void mh_count(const mh_memory *memory, int in_burnin, int moved) {
  double *counts = memory->counts + (in_burnin ? 0 : 2);
  counts[0] += 1.0;
  counts[1] += moved;
}

/* ---- adaptation after a climb -------------------------------------------- */

/* Among typical points the log density varies by about d / 2.  A rise of more than
 * 10 + d above the point where adaptation began means that the chain has climbed
 * there from a region of low density. */
void mh_forget_climb(mh_model *m) {
  if (!m->high || !(m->value[1] > *m->high + 10.0 + (double)m->d))
    return;
  *m->high = m->value[1];
  for (size_t b = 0; b < m->blocks; b++) {
    const mh_block *block = &m->block[b];
    if (block->proposal->type->learn_again)
      block->proposal->type->learn_again(block->proposal, &block->memory);
  }
}
