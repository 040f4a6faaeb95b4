#include "numeric/rounding.h"

#include "mh/mh_move.h"

#include <math.h>
#include <string.h>

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

status mh_start_move(mh_model *m, size_t b, mh_move *move) {
  move->block = &m->block[b];
  move->proposal = move->block->proposal;
  move->memory = &move->block->memory;
  move->symmetric = move->block->symmetric;
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
status mh_draw_move(mh_model *m, mh_move *move, const double *variates) {
  return move->proposal->type->propose(move->proposal, move->memory, move->x,
                                       variates, move->proposed, m->a);
}

/* log q(x | y) - log q(y | x).  It is an error of a custom proposal if log q of
 * its own draw is -Inf or NaN. */
static status evaluate_correction(mh_model *m, mh_move *move) {
  const mh_proposal *p = move->proposal;
  double there, back;
  move->correction = 0.0;
  if (move->symmetric)
    return STATUS_OK;
  status outcome =
    p->type->log_q(p, move->memory, move->y.x, move->x, &there, m->a);
  if (outcome == STATUS_OK)
    outcome = p->type->log_q(p, move->memory, move->x.x, move->y, &back, m->a);
  if (outcome != STATUS_OK)
    return outcome;
  if (!(isfinite(there) && back < INFINITY))
    return mh_at_fault(m, MH_PROPOSAL_RATIO, m->next_point);
  move->correction = back - there;
  return STATUS_OK;
}

/* The log of p(y) q(x | y) / (p(x) q(y | x)), from the value that the state
 * holds for x. */
status mh_evaluate_move(mh_model *m, mh_move *move) {
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

void mh_accept_move(mh_model *m, const mh_move *move) {
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

void mh_write_trace(mh_model *m, size_t b, const mh_move *move, double u,
                    int moved) {
  const double numbers[MH_TRACE] = {
    *m->sweep + 1.0,  (double)b + 1.0, u,    move->value[0], move->value[1],
    move->correction, move->log_ratio, moved};
  for (size_t i = 0; i < MH_TRACE; i++)
    *m->trace++ = numbers[i];
  for (size_t j = 0; j < m->d; j++)
    *m->trace++ = m->next[j];
}

void mh_learn_from(mh_model *m, const mh_move *move, int in_burnin) {
  const mh_proposal *p = move->proposal;
  if (!p->type->learn || p->tuned == MH_FIXED ||
      (p->tuned == MH_BURNIN && !in_burnin))
    return;
  gather(move->block, m->x, m->from);
  p->type->learn(p, move->memory, m->from, exp(fmin(move->log_ratio, 0.0)),
                 m->a);
  if (in_burnin)
    mh_forget_climb(m);
}

int mh_accepts(double u, double log_ratio) {
  return log_ratio >= 0.0 || log(u) < log_ratio;
}

status mh_metropolis_update(mh_model *m, size_t b, double u,
                            const double *variates,
                            const scan_control *control) {
  mh_move move;
  const int in_burnin = scan_in_burnin(*m->sweep + 1.0, control);
  status outcome = mh_start_move(m, b, &move);
  if (outcome == STATUS_OK)
    outcome = mh_draw_move(m, &move, variates);
  if (outcome == STATUS_OK)
    outcome = mh_evaluate_move(m, &move);
  if (outcome != STATUS_OK)
    return outcome;
  const int moved = mh_accepts(u, move.log_ratio);
  if (m->trace)
    mh_write_trace(m, b, &move, u, moved);
  if (moved)
    mh_accept_move(m, &move);
  mh_count(move.memory, in_burnin, moved);
  mh_learn_from(m, &move, in_burnin);
  return STATUS_OK;
}
