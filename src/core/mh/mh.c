#include "numeric/rounding.h"

#include "mh/mh.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "mh/mh_hamiltonian.h"
#include "mh/mh_proposal.h"
#include "mh/mh_slice.h"
#include "mh/mh_tempered.h"
#include "numeric/rmath.h"

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

static int covers_all(const mh_model *m, const mh_block *block) {
  int all = block->proposal->d == m->d;
  for (size_t j = 0; all && j < m->d; j++)
    all = block->index[j] == (int)j;
  return all;
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
    m->block[b].whole = covers_all(m, &m->block[b]);
    m->block[b].sloped = mh_needs_slope(m->block[b].proposal);
    m->block[b].symmetric = mh_is_symmetric(m->block[b].proposal);
    offset += block_variates(&m->block[b]);
    if (m->block[b].ladder)
      mh_ladder_open(&m->block[b]);
  }
  m->width = offset;
  m->power = 1.0;
  m->row = m->rows > 0 ? (size_t)((uint64_t)*m->sweep % m->rows) : 0;
}

/* ---- variates ------------------------------------------------------------ */

size_t mh_variates(const mh_model *m) {
  return m->width;
}

static double *block_ahead(const mh_model *m, const mh_block *block) {
  return m->ahead + m->rows * block->offset;
}

void mh_draw_ahead(const mh_model *m) {
  for (size_t b = 0; b < m->blocks; b++) {
    double *own = block_ahead(m, &m->block[b]);
    for (size_t row = 0; row < m->rows; row++)
      own[row] = unif_rand();
    mh_proposal_draw_variates(m->block[b].proposal, m->rows, &m->in_use,
                              own + m->rows);
  }
}

/* The row of this sweep; all rows anew where the sweep's number says so. */
static size_t next_row(mh_model *m) {
  const size_t row = m->row;
  m->row = row + 1 < m->rows ? row + 1 : 0;
  if (row > 0)
    return row;
  if (m->take)
    m->take(m->generator);
  mh_draw_ahead(m);
  if (m->give)
    m->give(m->generator);
  return row;
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

/* The user's point; *log_jacobian: log of its derivative's determinant.  0:
 * the density is zero there, without asking. */
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

static status at_fault(mh_model *m, mh_fault fault, const double *point) {
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
      return at_fault(m, MH_GRADIENT, point);
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

/* ---- one step ------------------------------------------------------------ */

static void gather(const mh_block *block, const double *x, double *own) {
  for (size_t j = 0; j < block->proposal->d; j++)
    own[j] = x[block->index[j]];
}

/* The target's gradient: that of p to its power. */
static void gather_slope(const mh_model *m, const mh_block *block,
                         const double *slope, double *own) {
  for (size_t j = 0; j < block->proposal->d; j++)
    own[j] = m->power * slope[block->index[j]];
}

/* What a step is about: the block's own coordinates before and after. */
typedef struct {
  mh_block *block;
  double *proposed; /* y.x, to be written */
  mh_place x, y;
  double value[2];   /* of the proposal */
  double correction; /* log q(x | y) - log q(y | x) */
  double log_ratio;
} mh_move;

static status start_move(mh_model *m, size_t b, mh_move *move) {
  move->block = &m->block[b];
  const int whole = move->block->whole;
  move->proposed = whole ? m->next : m->to;
  move->x = (mh_place){whole ? m->x : m->from, m->from_slope};
  move->y = (mh_place){move->proposed, m->to_slope};
  move->correction = 0.0;
  if (!whole)
    gather(move->block, m->x, m->from);
  if (!move->block->sloped)
    return STATUS_OK;
  const status outcome = mh_know_slope(m);
  gather_slope(m, move->block, m->slope + 1, m->from_slope);
  return outcome;
}

/* Proposals of compiled kinds may overflow, and then have density zero. */
static status draw_move(mh_model *m, mh_move *move, const double *row) {
  const mh_proposal *p = move->block->proposal;
  return mh_propose(p, &move->block->memory, move->x, row, move->proposed,
                    m->a);
}

/* log q(x | y) - log q(y | x).  A custom proposal that could not have made its
 * own draw, or gives NaN, is at fault. */
static status evaluate_correction(mh_model *m, mh_move *move) {
  const mh_proposal *p = move->block->proposal;
  const mh_memory *memory = &move->block->memory;
  double there, back;
  if (move->block->symmetric)
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
  if (!move->block->whole) {
    memcpy(m->next, m->x, m->d * sizeof(double));
    for (size_t j = 0; j < move->block->proposal->d; j++)
      m->next[move->block->index[j]] = m->to[j];
  }
  status outcome = mh_evaluate(m, m->next, m->next_point, move->value);
  move->log_ratio = -INFINITY;
  if (outcome != STATUS_OK || !(move->value[1] > -INFINITY))
    return outcome;
  if (move->block->sloped) {
    outcome = mh_evaluate_slope(m, m->next, m->next_point, m->next_slope);
    gather_slope(m, move->block, m->next_slope, m->to_slope);
  }
  if (outcome == STATUS_OK)
    outcome = evaluate_correction(m, move);
  move->log_ratio =
    m->power * (move->value[1] - m->value[1]) + move->correction;
  return outcome;
}

static void accept_move(mh_model *m, const mh_move *move) {
  const int has_slope = move->block->sloped;
  const size_t bytes = m->d * sizeof(double);
  memcpy(m->x, m->next, bytes);
  memcpy(m->point, m->next_point, bytes);
  if (has_slope)
    memcpy(m->slope + 1, m->next_slope, bytes);
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

void mh_count(mh_block *block, int in_burnin, int moved) {
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

static status metropolis_update(mh_model *m, size_t b, double u,
                                const double *variates,
                                const scan_control *control) {
  mh_move move;
  const int in_burnin = scan_in_burnin(*m->sweep + 1.0, control);
  status outcome = start_move(m, b, &move);
  if (outcome == STATUS_OK)
    outcome = draw_move(m, &move, variates);
  if (outcome == STATUS_OK)
    outcome = evaluate_move(m, &move);
  if (outcome != STATUS_OK)
    return outcome;
  const int moved = move.log_ratio >= 0.0 || log(u) < move.log_ratio;
  if (m->trace)
    write_trace(m, b, &move, u, moved);
  if (moved)
    accept_move(m, &move);
  mh_count(move.block, in_burnin, moved);
  learn_from(m, &move, in_burnin);
  return STATUS_OK;
}

status mh_step(mh_model *m, size_t b, double u, const double *variates,
               const scan_control *control) {
  switch (m->block[b].proposal->kind) {
  case MH_HMC:
  case MH_NUTS:
    return mh_hamiltonian_update(m, b, u, variates, control);
  case MH_SLICE:
    return mh_slice_update(m, b, u, variates, control);
  case MH_ELLIPSE:
    return mh_ellipse_update(m, b, u, variates, control);
  case MH_TEMPERED:
    return mh_tempered_update(m, b, u, variates, control);
  default:
    return metropolis_update(m, b, u, variates, control);
  }
}

status mh_update(mh_model *m, size_t b, size_t row,
                 const scan_control *control) {
  const double *ahead = block_ahead(m, &m->block[b]), u = ahead[row];
  const double *variates =
    ahead + m->rows + row * (block_variates(&m->block[b]) - 1);
  return mh_step(m, b, u, variates, control);
}

/* ---- a sweep ------------------------------------------------------------- */

status mh_sweep(void *model, const scan_control *control) {
  mh_model *m = model;
  const size_t row = next_row(m);
  status outcome = STATUS_OK;
  for (size_t b = 0; b < m->blocks && outcome == STATUS_OK; b++)
    outcome = mh_update(m, b, row, control);
  return outcome;
}

static void record_transitions(mh_model *m) {
  for (size_t b = 0; b < m->blocks; b++) {
    if (!mh_is_hamiltonian(m->block[b].proposal))
      continue;
    memcpy(m->transitions, m->block[b].transition,
           MH_TRANSITION * sizeof(double));
    m->transitions += MH_TRANSITION;
  }
}

void mh_record(void *model, double *row, size_t stride) {
  mh_model *m = model;
  if (m->transitions)
    record_transitions(m);
  for (size_t k = 0; k < m->kept; k++, row += stride)
    *row = m->point[m->keep[k]];
  *row = m->value[0];
}
