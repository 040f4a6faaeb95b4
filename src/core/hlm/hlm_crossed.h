/* Hierarchical linear regression with several bars: hlm.h with
 *
 *   y_i ~ N(o_i + x_i'b + sum_f z_fi'u_f,j(f,i), 1 / (beta v_i)),
 *   u_fj ~ N(0, Sigma_f),
 *
 * where bar f has terms z_f, groups j(f, .) and its own prior of Sigma_f.  The groups
 * of the bars may be crossed, nested or partly so.  A sweep:
 *   all u, with b integrated out, by hlm_joint.h, if the data have `joint`
 *   for each bar f, given the deviations of the others:
 *     b, u_f and Sigma_f by hlm_draw_effects(): b is drawn with u_f integrated out
 *   for each bar g whose groups lie within those of a bar f, the moves of
 *   hlm_nested.h
 *   beta | b, u, y
 * The second is collapsed Gibbs sampling (Papaspiliopoulos, Roberts & Zanella 2020,
 * doi:10.1093/biomet/asz058), whose autocorrelation does not grow with the data for
 * crossed bars.
 *
 * The rows of a group of bar f, times sqrt(v_i), are rotated by Q_fj as in hlm.h.
 * With the rotation of all kept rows Q_f and the other directions P_f,
 *   Q_f'(y - sum_g Z_g u_g)    = y_f - C_f u           (`cross`)
 *   X'P_f P_f'(y - sum_g Z_g u_g) = right_f - W_f u    (`within`)
 * with g over the other bars: the columns of f's own deviations are zero.
 *
 * F bars, p fixed effects, n rows, U deviations of all bars; u is bar by bar, each q
 * x J.                                                                         */
#ifndef GIBBSITE_HLM_CROSSED_H
#define GIBBSITE_HLM_CROSSED_H

#include <stddef.h>

#include "hlm/hlm.h"
#include "hlm/hlm_joint.h"
#include "hlm/hlm_nested.h"
#include "numeric/columns.h"
#include "numeric/status.h"
#include "run/scan.h"

/* A sparse matrix by rows. */
typedef struct {
  compressed at;
  const double *value;
} hlm_table;

typedef struct {
  size_t bars, p, n, nestings;
  const hlm_data *bar;         /* F: its rows and prior; y: y_f; known, not
                                  collapsed; pool_y is 0                      */
  const size_t *first;         /* F + 1: where the deviations of a bar begin  */
  const hlm_table *cross;      /* F: C_f, kept rows of f x U                  */
  const double *const *within; /* F: W_f, p x U                               */
  const double *const *right;  /* F: p                                        */
  hlm_table rows;              /* n x U: sqrt(v_i) z_fi                       */
  const double *x, *y;         /* p x n, n: times sqrt(v_i)                   */
  const hlm_nesting *nesting;
  hlm_joint_data joint; /* or no deviations */
  int known, keep;
  double shape, rate, log_weights;
} hlm_crossed_data;

typedef struct {
  hlm_crossed_data data;
  hlm_state state; /* factor: bar by bar; u: U                               */
  hlm_model *bar;  /* F */
  double *y, *right; /* the most rows of a bar; p                             */
  double *part;      /* of residual_squares()                                 */
  hlm_nested_work nested;
  hlm_joint joint;
  double squares;
} hlm_crossed;

size_t hlm_crossed_work_size(const hlm_crossed_data *data);

/* A model on `data` and `state` (both borrowed) in `work`; `bar` has room for F
 * models, whose work is bar_work[f], hlm_work_size() bytes each. */
void hlm_crossed_open(hlm_crossed *model, const hlm_crossed_data *data,
                      const hlm_state *state, hlm_model *bar,
                      void *const *bar_work, void *work);

/* The moves of all pairs of nested bars, which leave the predictor as it is. */
status hlm_crossed_move_nested(hlm_crossed *model, const scan_control *control);

/* A scan_model's functions.  The columns: the fixed effects, for each bar the
 * standard deviations and correlations, sigma unless `known`, log_lik, and with `keep`
 * the deviations u (U). */
size_t hlm_crossed_columns(const hlm_crossed_data *data);
status hlm_crossed_sweep(void *model, const scan_control *control);
void hlm_crossed_record(void *model, double *row, size_t stride);

#endif
