/* Delayed rejection (Tierney & Mira 1999,
 * doi:10.1002/(SICI)1097-0258(19990915)18:17/18<2507::AID-SIM272>3.0.CO;2-O;
 * Green & Mira 2001, doi:10.1093/biomet/88.4.1035).  A first proposal y ~ q1(. |
 * x) is accepted with probability
 *
 *   a1(x, y) = min(1, p(y) q1(x | y) / (p(x) q1(y | x))).
 *
 * Only if it is rejected is a second one, z ~ q2(. | x), made, and accepted with
 * probability
 *
 *   a2(x, y, z) = min(1, p(z) q1(y | z) (1 - a1(z, y)) q2(x | z) /
 *                        (p(x) q1(y | x) (1 - a1(x, y)) q2(z | x))).
 *
 * The way back from z is by the same rejected y.  p may be estimated, afresh at y
 * and z (mh.h): the densities of the estimates' noise cancel.
 *
 * In burn-in a proposal that adapts learns from its own steps alone.  With
 * `log_shrink` the second proposal is the first with other steps, s e^log_shrink
 * in place of s, and both have one memory. */
#include "numeric/rounding.h"

#include "mh/mh_types.h"

#include <math.h>
#include <string.h>

#include "mh/mh_move.h"
#include "mh/mh_proposal.h"
#include "numeric/rmath.h"

/* ---- variates ------------------------------------------------------------ */

static size_t variates(const mh_proposal *p) {
  return p->part[0].type->variates(&p->part[0]) + 1 +
         p->part[1].type->variates(&p->part[1]);
}

/* Those of the first proposal, the second's uniform, and its variates. */
static void draw(const mh_proposal *p, size_t rows, const generator *g,
                 double *out) {
  const mh_proposal *one = &p->part[0], *two = &p->part[1];
  const size_t first = one->type->variates(one), width = variates(p);
  for (double *row = out; row < out + rows * width; row += width) {
    one->type->draw(one, 1, g, row);
    row[first] = unif_rand();
    two->type->draw(two, 1, g, row + first + 1);
  }
}

/* ---- the two tries ------------------------------------------------------- */

static void set_stage(mh_move *move, size_t stage) {
  move->proposal = &move->block->proposal->part[stage];
  move->memory = &move->block->memory.stage[stage];
  move->symmetric = mh_is_symmetric(move->proposal);
}

static status try_stage(mh_model *m, mh_move *move, size_t stage,
                        const double *variates) {
  set_stage(move, stage);
  const status outcome = mh_draw_move(m, move, variates);
  return outcome == STATUS_OK ? mh_evaluate_move(m, move) : outcome;
}

/* Copies the rejected point to `first`, which the second try does not change. */
static void keep_rejected(mh_model *m, mh_move *first) {
  const size_t bytes = first->proposal->d * sizeof(double);
  memcpy(m->rejected, first->y.x, bytes);
  memcpy(m->rejected_slope, first->y.slope, bytes);
  first->y = (mh_place){m->rejected, m->rejected_slope};
}

/* ---- the second ratio ---------------------------------------------------- */

/* log(1 - min(1, exp(log_ratio))) */
static double log_rejection(double log_ratio) {
  if (log_ratio >= 0.0)
    return -INFINITY;
  return log_ratio > -M_LN2 ? log(-expm1(log_ratio)) : log1p(-exp(log_ratio));
}

/* log q1(y | x), which may be zero but no other number that is not finite. */
static status log_first(mh_model *m, const mh_move *first, const double *y,
                        mh_place x, double *value) {
  const mh_proposal *p = first->proposal;
  const status outcome = p->type->log_q(p, first->memory, y, x, value, m->a);
  if (outcome == STATUS_OK && !(*value < INFINITY))
    return mh_at_fault(m, MH_PROPOSAL_RATIO, m->next_point);
  return outcome;
}

/* The log of p(y) q1(z | y) / (p(z) q1(y | z)): of the first try on the way back
 * from z.  back: log q1(y | z). */
static status log_ratio_back(mh_model *m, const mh_move *first,
                             const mh_move *second, double back,
                             double *value) {
  double onward;
  *value = m->power * (first->value[1] - second->value[1]);
  if (first->symmetric || !(first->value[1] > -INFINITY))
    return STATUS_OK;
  const status outcome = log_first(m, first, second->y.x, first->y, &onward);
  *value += onward - back;
  return outcome;
}

/* Multiplies the ratio of the second try, so far p(z) q2(x | z) / (p(x) q2(z | x)),
 * by the factors of the first try.  If the first point has overflowed, the second
 * try is rejected. */
static status add_first_try(mh_model *m, const mh_move *first,
                            mh_move *second) {
  double there, back, ratio_back;
  const double *y = first->y.x;
  if (!(second->value[1] > -INFINITY))
    return STATUS_OK;
  status outcome = log_first(m, first, y, first->x, &there);
  if (outcome == STATUS_OK)
    outcome = log_first(m, first, y, second->y, &back);
  if (outcome == STATUS_OK)
    outcome = log_ratio_back(m, first, second, back, &ratio_back);
  if (outcome != STATUS_OK)
    return outcome;
  const double factors =
    back - there + log_rejection(ratio_back) - log_rejection(first->log_ratio);
  const int possible = there > -INFINITY && back > -INFINITY;
  second->correction += possible ? factors : -INFINITY;
  second->log_ratio += possible ? factors : -INFINITY;
  return STATUS_OK;
}

/* ---- a step -------------------------------------------------------------- */

static int end_try(mh_model *m, size_t b, const mh_move *move, double u,
                   int in_burnin, int last) {
  const int moved = mh_accepts(u, move->log_ratio);
  if (m->trace && (moved || last))
    mh_write_trace(m, b, move, u, moved);
  if (moved)
    mh_accept_move(m, move);
  mh_count(move->memory, in_burnin, moved);
  return moved;
}

static status second_try(mh_model *m, mh_move *first, mh_move *second,
                         const double *variates) {
  keep_rejected(m, first);
  *second = *first;
  second->y = (mh_place){second->proposed, m->to_slope};
  const status outcome = try_stage(m, second, 1, variates);
  return outcome == STATUS_OK ? add_first_try(m, first, second) : outcome;
}

/* u: of the first decision. */
static status update(mh_model *m, size_t b, double u, const double *variates,
                     const scan_control *control) {
  mh_move first, second;
  const int in_burnin = scan_in_burnin(*m->sweep + 1.0, control);
  status outcome = mh_start_move(m, b, &first);
  if (outcome == STATUS_OK)
    outcome = try_stage(m, &first, 0, variates);
  if (outcome != STATUS_OK)
    return outcome;
  variates += first.proposal->type->variates(first.proposal);
  int moved = end_try(m, b, &first, u, in_burnin, 0);
  const int again = !moved;
  if (again) {
    outcome = second_try(m, &first, &second, variates + 1);
    if (outcome != STATUS_OK)
      return outcome;
    moved = end_try(m, b, &second, *variates, in_burnin, 1);
  }
  mh_count(&m->block[b].memory, in_burnin, moved);
  mh_learn_from(m, &first, in_burnin);
  if (again)
    mh_learn_from(m, &second, in_burnin);
  return STATUS_OK;
}

static void learn_again(const mh_proposal *p, const mh_memory *memory) {
  for (size_t i = 0; i < 2; i++)
    if (p->part[i].type->learn_again)
      p->part[i].type->learn_again(&p->part[i], &memory->stage[i]);
}

const mh_move_type mh_delayed = {.variates = variates,
                                 .draw = draw,
                                 .update = update,
                                 .learn_again = learn_again,
                                 .takes_power = 1};
