#include "numeric/rounding.h"

#include "hlm/hlm_nested.h"

#include <math.h>
#include <string.h>

#include "numeric/linalg.h"
#include "numeric/normals.h"
#include "run/slice.h"

static size_t larger(size_t a, size_t b) {
  return a > b ? a : b;
}

void hlm_nested_carve(hlm_nested_work *m, const hlm_data *bar, size_t bars,
                      arena *work) {
  size_t q = 0, groups = 0, deviations = 0;
  for (size_t f = 0; f < bars; f++) {
    q = larger(q, bar[f].q);
    groups = larger(groups, bar[f].groups);
    deviations = larger(deviations, bar[f].q * bar[f].groups);
  }
  const double square = (double)q * (double)q;
  m->normals = arena_doubles(work, (double)deviations);
  m->total = arena_doubles(work, (double)deviations);
  m->count = arena_doubles(work, (double)groups);
  m->outer = arena_doubles(work, square);
  m->inner = arena_doubles(work, square);
  m->precision = arena_doubles(work, square);
  m->move = arena_doubles(work, (double)q);
}

/* The number of inner groups of each outer one, and the sums of their u. */
static void sum_inner(hlm_nested_work *m, const hlm_model *bar,
                      const hlm_nesting *nest) {
  const hlm_data *inner = &bar[nest->inner].data;
  const size_t outer_groups = bar[nest->outer].data.groups;
  const double *u = bar[nest->inner].state.u;
  memset(m->count, 0, outer_groups * sizeof *m->count);
  memset(m->total, 0, outer_groups * inner->q * sizeof *m->total);
  for (size_t j = 0; j < inner->groups; j++) {
    const size_t parent = (size_t)nest->parent[j];
    m->count[parent] += 1.0;
    for (size_t k = 0; k < inner->q; k++)
      m->total[k + inner->q * parent] += u[k + inner->q * j];
  }
}

/* The move d of one outer group:  with A = Sigma_f^-1, B = Sigma_g^-1, c inner groups
 * and their sum s, restricted to the shared terms,
 *   d ~ N(P^-1 (B s - A u), P^-1),  P = A + c B. */
static status draw_move(hlm_nested_work *m, const hlm_model *bar,
                        const hlm_nesting *nest, size_t j) {
  const size_t qf = bar[nest->outer].data.q, qg = bar[nest->inner].data.q,
               shared = nest->shared;
  const double *u = bar[nest->outer].state.u + qf * j;
  const double *s = m->total + qg * j;
  for (size_t k = 0; k < shared; k++) {
    const size_t a = (size_t)nest->outer_term[k],
                 b = (size_t)nest->inner_term[k];
    m->move[k] = linalg_inner(m->inner + qg * b, s, qg) -
                 linalg_inner(m->outer + qf * a, u, qf);
    for (size_t l = 0; l < shared; l++)
      m->precision[k + shared * l] =
        m->outer[a + qf * (size_t)nest->outer_term[l]] +
        m->count[j] * m->inner[b + qg * (size_t)nest->inner_term[l]];
  }
  return linalg_draw_canonical(m->precision, m->move, m->normals + shared * j,
                               shared);
}

/* The first move in all outer groups. */
static status move_all(hlm_nested_work *m, hlm_model *bar,
                       const hlm_nesting *nest, const scan_control *control) {
  const size_t qf = bar[nest->outer].data.q, qg = bar[nest->inner].data.q;
  const size_t groups = bar[nest->outer].data.groups, shared = nest->shared;
  double *u = bar[nest->outer].state.u, *v = bar[nest->inner].state.u;
  normals_draw(&control->generator, m->normals, shared * groups);
  sum_inner(m, bar, nest);
  /* the moves stand where the normals were */
  for (size_t j = 0; j < groups; j++) {
    const status outcome = draw_move(m, bar, nest, j);
    if (outcome != STATUS_OK)
      return outcome;
    for (size_t k = 0; k < shared; k++) {
      m->normals[k + shared * j] = m->move[k];
      u[(size_t)nest->outer_term[k] + qf * j] += m->move[k];
    }
  }
  for (size_t j = 0; j < bar[nest->inner].data.groups; j++)
    for (size_t k = 0; k < shared; k++)
      v[(size_t)nest->inner_term[k] + qg * j] -=
        m->normals[k + shared * (size_t)nest->parent[j]];
  return STATUS_OK;
}

/* u_fk -> s u_fk, Sigma_f -> D Sigma_f D, and u_gl -> u_gl - (s - 1) u_fk for the
 * inner groups: with t_c = u_fk of the outer group of c,
 *   -sum_c (s - 1) t_c ((s - 1) t_c B_ll / 2 - (B u_gc)_l) + hlm_log_scale(). */
typedef struct {
  const hlm_model *outer;
  size_t k;
  double square, product;
} nested_scale;

static double log_of_nested_scale(const void *target, double x) {
  const nested_scale *t = target;
  const double step = expm1(x);
  return step * (t->product - 0.5 * step * t->square) +
         hlm_log_scale(t->outer, t->k, x);
}

static void scale_nested(const hlm_nested_work *m, hlm_model *bar,
                         const hlm_nesting *nest, size_t at) {
  hlm_model *outer = bar + nest->outer;
  const hlm_data *inner = &bar[nest->inner].data;
  const size_t qf = outer->data.q, qg = inner->q;
  const size_t k = (size_t)nest->outer_term[at],
               l = (size_t)nest->inner_term[at];
  const double *u = outer->state.u;
  double *v = bar[nest->inner].state.u;
  nested_scale target = {outer, k, 0.0, 0.0};
  for (size_t j = 0; j < inner->groups; j++) {
    const double t = u[k + qf * (size_t)nest->parent[j]];
    target.square += t * t * m->inner[l + qg * l];
    target.product += t * linalg_inner(m->inner + qg * l, v + qg * j, qg);
  }
  const double x = slice_step(log_of_nested_scale, &target, 0.0);
  const double step = expm1(x);
  for (size_t j = 0; j < inner->groups; j++)
    v[l + qg * j] -= step * u[k + qf * (size_t)nest->parent[j]];
  hlm_scale_groups(outer, k, x);
}

static status move_pair(hlm_nested_work *m, hlm_model *bar,
                        const hlm_nesting *nest, const scan_control *control) {
  hlm_model *outer = bar + nest->outer, *inner = bar + nest->inner;
  const size_t qf = outer->data.q;
  linalg_inverse_from_cholesky(outer->state.factor, qf, m->outer);
  linalg_inverse_from_cholesky(inner->state.factor, inner->data.q, m->inner);
  const status outcome = move_all(m, bar, nest, control);
  if (outcome != STATUS_OK)
    return outcome;
  memcpy(outer->inverse, m->outer, qf * qf * sizeof *m->outer);
  for (size_t k = 0; k < nest->shared; k++)
    scale_nested(m, bar, nest, k);
  return STATUS_OK;
}

/* Sigma | u */
static status draw_covariance(hlm_model *bar) {
  linalg_inverse_from_cholesky(bar->state.factor, bar->data.q, bar->inverse);
  hlm_draw_sums(bar);
  return hlm_draw_covariance(bar);
}

status hlm_nested_moves(hlm_nested_work *m, hlm_model *bar,
                        const hlm_nesting *nesting, size_t count,
                        const scan_control *control) {
  status outcome = STATUS_OK;
  for (int round = 0; round < HLM_NESTED_ROUNDS; round++)
    for (size_t i = 0; i < count && outcome == STATUS_OK; i++) {
      if (round > 0)
        outcome = draw_covariance(bar + nesting[i].outer);
      if (round > 0 && outcome == STATUS_OK)
        outcome = draw_covariance(bar + nesting[i].inner);
      if (outcome == STATUS_OK)
        outcome = move_pair(m, bar, nesting + i, control);
    }
  return outcome;
}
