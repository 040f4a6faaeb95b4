/* The deviations of all bars at once, given normal responses:
 *
 *   y_i ~ N(x_i'b + sum_f z_fi'u_f,j(f,i), 1 / v_i),
 *   u_fj = L_f e_fj,   e ~ N(0, I),   b_k ~ N(m_k, 1 / t_k).
 *
 * With W = V^1/2 (Z L, X), the effects (e, b) have the precision
 *   P = W'W + diag(1, t),   and the mean P^-1 (W'V^1/2 y + (0, t m)).
 * Groups that are nearly nested (pupils of whom few change their school) need many
 * sweeps of a bar at a time, since the data hardly tell the bars apart.  There P = C C'
 * is sparse, if its columns are eliminated in the right order, and one draw costs about
 * as much as a sweep.  The order and the places of C are found before the chain.
 *
 * F bars, U deviations, p fixed effects, n rows, Q terms of all bars; the effects at
 * places 0, ..., U - 1 are deviations, those after them are b.  Column-major.      */
#ifndef GIBBSITE_HLM_JOINT_H
#define GIBBSITE_HLM_JOINT_H

#include <stddef.h>

#include "hlm/hlm.h"
#include "numeric/arena.h"
#include "numeric/columns.h"
#include "numeric/status.h"
#include "run/scan.h"

typedef struct {
  size_t bars, deviations, p, n, terms;
  const hlm_data *bar;     /* F: q and groups                                */
  const int *place;        /* Q x n: the places of the deviations of a row   */
  const double *z, *x;     /* Q x n, p x n                                   */
  const double *precision; /* p: t                                          */
  const int *deviation;    /* U: which one of u stands at a place            */
  compressed entries;      /* by place: where `place` has it                 */
  compressed factor;       /* C by columns: U + p, each from its diagonal    */
} hlm_joint_data;

typedef struct {
  hlm_joint_data data;
  double *root, *y; /* n: sqrt(v_i), sqrt(v_i) y_i: of the caller */
  double *z, *x;    /* Q x n, p x n: W                            */
  double *value;    /* of C                                       */
  double *column, *effect, *normals; /* U + p                      */
  int *next, *first, *row;           /* U + p                      */
} hlm_joint;

/* No room is needed without deviations. */
void hlm_joint_open(hlm_joint *model, const hlm_joint_data *data, arena *work);

/* u | L, y, b integrated out.  l: bar by bar, each q x q; mean: m. */
status hlm_joint_draw(hlm_joint *model, const double *l, const double *mean,
                      double *u, const scan_control *control);

#endif
