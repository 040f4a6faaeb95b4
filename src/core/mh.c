#include "mh.h"

#include <math.h>
#include <stdint.h>

#include "mh_proposal.h"
#include "rmath.h"

/* ---- laying out ---------------------------------------------------------- */

enum { SCRATCH_VECTORS = 9 };

size_t mh_work_size(size_t d) {
  return SCRATCH_VECTORS * d;
}

static size_t block_variates(const mh_block *block) {
  return 1 + mh_proposal_variates(block->proposal);
}

int mh_block_needs_gradient(const mh_block *block) {
  return mh_needs_slope(block->proposal);
}

void mh_open(mh_model *m, double *work) {
  double **scratch[SCRATCH_VECTORS] = {
    &m->from,       &m->to,       &m->next, &m->next_point, &m->next_slope,
    &m->from_slope, &m->to_slope, &m->a,    &m->b};
  for (size_t i = 0; i < SCRATCH_VECTORS; i++)
    *scratch[i] = work + i * m->d;
  size_t offset = 0;
  for (size_t b = 0; b < m->blocks; b++) {
    m->block[b].offset = offset;
    offset += block_variates(&m->block[b]);
  }
  m->width = offset;
}

/* ---- variates ------------------------------------------------------------ */

size_t mh_variates(const mh_model *m) {
  return m->width;
}

/* A block's uniform, then what its proposal uses. */
void mh_draw_variates(const mh_model *m, double *row) {
  for (size_t b = 0; b < m->blocks; b++) {
    double *own = row + m->block[b].offset;
    own[0] = unif_rand();
    mh_proposal_draw_variates(m->block[b].proposal, own + 1);
  }
}

/* The row of this sweep; all rows anew where the sweep's number says so. */
static const double *next_row(const mh_model *m) {
  const size_t row = (size_t)((uint64_t)*m->sweep % m->rows);
  if (row == 0) {
    if (m->take)
      m->take(m->generator);
    for (size_t i = 0; i < m->rows; i++)
      mh_draw_variates(m, m->ahead + i * m->width);
    if (m->give)
      m->give(m->generator);
  }
  return m->ahead + row * m->width;
}

/* ---- the target ---------------------------------------------------------- */

/* The user's value of coordinate j and the log of its derivative; 0 when the
 * value is beyond the doubles, or not told from the bound. */
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

/* The user's point; *log_jacobian: log of its derivative's determinant.  0:
 * the density is zero there, without asking. */
static int map_point(const mh_model *m, const double *x, double *point,
                     double *log_jacobian) {
  int inside = 1;
  *log_jacobian = 0.0;
  for (size_t j = 0; j < m->d; j++) {
    double log_slope = 0.0;
    if (m->map)
      inside = map_coordinate(m, j, x[j], &point[j], &log_slope) && inside;
    else
      point[j] = x[j];
    *log_jacobian += log_slope;
    if (m->lower)
      inside = inside && point[j] >= m->lower[j] && point[j] <= m->upper[j];
    inside = inside && isfinite(point[j]);
  }
  return inside;
}

static status at_fault(mh_model *m, mh_fault fault, const double *point) {
  m->fault = fault;
  m->fault_point = point;
  return STATUS_USER_FUNCTION;
}

/* value <- log density at the point of x, and with the Jacobian's. */
static status evaluate(mh_model *m, const double *x, double *point,
                       double *value) {
  double log_jacobian, log_density;
  value[0] = value[1] = -INFINITY;
  if (!map_point(m, x, point, &log_jacobian))
    return STATUS_OK;
  if (m->log_density(m->context, point, &log_density))
    return STATUS_USER_FUNCTION;
  if (isnan(log_density)) {
    if (!m->reject_nan)
      return at_fault(m, MH_NAN, point);
    *m->nan_count += 1.0;
    return STATUS_OK;
  }
  if (log_density == INFINITY)
    return at_fault(m, MH_PLUS_INFINITY, point);
  value[0] = log_density;
  value[1] = log_density + log_jacobian;
  return STATUS_OK;
}

status mh_evaluate_current(mh_model *m) {
  m->slope[0] = 0.0;
  return evaluate(m, m->x, m->point, m->value);
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

/* slope <- gradient of the working log density at x, by the chain rule. */
static status evaluate_slope(mh_model *m, const double *x, const double *point,
                             double *slope) {
  if (m->gradient(m->gradient_context, point, slope))
    return STATUS_USER_FUNCTION;
  for (size_t j = 0; j < m->d; j++) {
    double inner, outer;
    if (!isfinite(slope[j]))
      return at_fault(m, MH_GRADIENT, point);
    if (m->map) {
      map_slopes(m, j, x[j], &inner, &outer);
      slope[j] = slope[j] * inner + outer;
    }
  }
  return STATUS_OK;
}

/* The gradient at the state's point, unless it is known. */
static status know_slope(mh_model *m) {
  if (m->slope[0] > 0.0)
    return STATUS_OK;
  const status outcome = evaluate_slope(m, m->x, m->point, m->slope + 1);
  m->slope[0] = outcome == STATUS_OK;
  return outcome;
}

/* ---- one step ------------------------------------------------------------ */

static void gather(const mh_block *block, const double *x, double *own) {
  for (size_t j = 0; j < block->proposal->d; j++)
    own[j] = x[block->index[j]];
}

/* What a step is about: the block's own coordinates before and after. */
typedef struct {
  mh_block *block;
  mh_place x, y;
  double value[2];   /* of the proposal */
  double correction; /* log q(x | y) - log q(y | x) */
  double log_ratio;
} mh_move;

static status start_move(mh_model *m, size_t b, mh_move *move) {
  move->block = &m->block[b];
  move->x = (mh_place){m->from, m->from_slope};
  move->y = (mh_place){m->to, m->to_slope};
  move->correction = 0.0;
  gather(move->block, m->x, m->from);
  if (!mh_needs_slope(move->block->proposal))
    return STATUS_OK;
  const status outcome = know_slope(m);
  gather(move->block, m->slope + 1, m->from_slope);
  return outcome;
}

/* Proposals of compiled kinds may overflow, and then have density zero. */
static status draw_move(mh_model *m, mh_move *move, const double *row) {
  const mh_proposal *p = move->block->proposal;
  return mh_propose(p, &move->block->memory, move->x, row, m->to, m->a);
}

/* log q(x | y) - log q(y | x).  A custom proposal that could not have made its
 * own draw, or gives NaN, is at fault. */
static status evaluate_correction(mh_model *m, mh_move *move) {
  const mh_proposal *p = move->block->proposal;
  const mh_memory *memory = &move->block->memory;
  double there, back;
  if (mh_is_symmetric(p))
    return STATUS_OK;
  status outcome =
    mh_proposal_log_q(p, memory, move->y.x, move->x, &there, m->a);
  if (outcome == STATUS_OK)
    outcome = mh_proposal_log_q(p, memory, move->x.x, move->y, &back, m->a);
  if (outcome != STATUS_OK)
    return outcome;
  if (!(isfinite(there) && back < INFINITY))
    return at_fault(m, MH_PROPOSAL_RATIO, m->next_point);
  move->correction = back - there;
  return STATUS_OK;
}

/* The log of p(y) q(x | y) / (p(x) q(y | x)), from the value that the state
 * holds for x. */
static status evaluate_move(mh_model *m, mh_move *move) {
  for (size_t j = 0; j < m->d; j++)
    m->next[j] = m->x[j];
  for (size_t j = 0; j < move->block->proposal->d; j++)
    m->next[move->block->index[j]] = m->to[j];
  status outcome = evaluate(m, m->next, m->next_point, move->value);
  move->log_ratio = -INFINITY;
  if (outcome != STATUS_OK || !(move->value[1] > -INFINITY))
    return outcome;
  if (mh_needs_slope(move->block->proposal)) {
    outcome = evaluate_slope(m, m->next, m->next_point, m->next_slope);
    gather(move->block, m->next_slope, m->to_slope);
  }
  if (outcome == STATUS_OK)
    outcome = evaluate_correction(m, move);
  move->log_ratio = move->value[1] - m->value[1] + move->correction;
  return outcome;
}

static void accept_move(mh_model *m, const mh_move *move) {
  const int has_slope = mh_needs_slope(move->block->proposal);
  for (size_t j = 0; j < m->d; j++) {
    m->x[j] = m->next[j];
    m->point[j] = m->next_point[j];
    if (has_slope)
      m->slope[j + 1] = m->next_slope[j];
  }
  m->value[0] = move->value[0];
  m->value[1] = move->value[1];
  m->slope[0] = has_slope;
}

static void write_trace(mh_model *m, size_t b, const mh_move *move, double u,
                        int moved) {
  const double numbers[MH_TRACE] = {
    *m->sweep + 1.0,  (double)b + 1.0, u,    move->value[0], move->value[1],
    move->correction, move->log_ratio, moved};
  for (size_t i = 0; i < MH_TRACE; i++)
    *m->trace++ = numbers[i];
  for (size_t j = 0; j < m->d; j++)
    *m->trace++ = m->next[j];
}

static void count_move(mh_block *block, int in_burnin, int moved) {
  double *counts = block->memory.counts + (in_burnin ? 0 : 2);
  counts[0] += 1.0;
  counts[1] += moved;
}

static void learn_from(mh_model *m, const mh_move *move, int in_burnin) {
  const mh_proposal *p = move->block->proposal;
  if (p->tuned == MH_FIXED || (p->tuned == MH_BURNIN && !in_burnin))
    return;
  gather(move->block, m->x, m->from);
  mh_learn(p, &move->block->memory, m->from, exp(fmin(move->log_ratio, 0.0)),
           m->a);
}

status mh_update(mh_model *m, size_t b, const double *row,
                 const scan_control *control) {
  mh_move move;
  const double u = row[m->block[b].offset];
  const int in_burnin = scan_in_burnin(*m->sweep + 1.0, control);
  status outcome = start_move(m, b, &move);
  if (outcome == STATUS_OK)
    outcome = draw_move(m, &move, row + m->block[b].offset + 1);
  if (outcome == STATUS_OK)
    outcome = evaluate_move(m, &move);
  if (outcome != STATUS_OK)
    return outcome;
  const int moved = move.log_ratio >= 0.0 || log(u) < move.log_ratio;
  if (m->trace)
    write_trace(m, b, &move, u, moved);
  if (moved)
    accept_move(m, &move);
  count_move(move.block, in_burnin, moved);
  learn_from(m, &move, in_burnin);
  return STATUS_OK;
}

status mh_examine(mh_model *m, size_t b, const double *y, double *out) {
  mh_move move;
  status outcome = start_move(m, b, &move);
  for (size_t j = 0; j < m->block[b].proposal->d; j++)
    m->to[j] = y[j];
  if (outcome == STATUS_OK)
    outcome = evaluate_move(m, &move);
  const mh_proposal *p = move.block->proposal;
  const mh_memory *memory = &move.block->memory;
  if (outcome == STATUS_OK)
    outcome = mh_proposal_log_q(p, memory, m->to, move.x, &out[0], m->a);
  if (outcome == STATUS_OK)
    outcome = mh_proposal_log_q(p, memory, m->from, move.y, &out[1], m->a);
  out[2] = move.log_ratio;
  return outcome;
}

/* ---- a sweep ------------------------------------------------------------- */

status mh_sweep(void *model, const scan_control *control) {
  mh_model *m = model;
  const double *row = next_row(m);
  status outcome = STATUS_OK;
  for (size_t b = 0; b < m->blocks && outcome == STATUS_OK; b++)
    outcome = mh_update(m, b, row, control);
  return outcome;
}

void mh_record(void *model, double *row, size_t stride) {
  const mh_model *m = model;
  for (size_t k = 0; k < m->kept; k++, row += stride)
    *row = m->point[m->keep[k]];
  *row = m->value[0];
}
