/* Moves of two bars of hlm.h, where the groups of one lie within those of the other:
 *   u_fj -> u_fj + d, u_gc -> u_gc - d for all c in j, with d given the others
 *   u_fk -> s u_fk, Sigma_f -> D Sigma_f D as in hlm.h, and the u_g of the same
 *   term such that the predictor stays as it is
 * for the outer bar f and the inner bar g.  They leave the predictor as it is, and so
 * need no data: they move what the data do not tell of nested bars.  A sweep has
 * HLM_NESTED_ROUNDS of them, and before all but the first one draws Sigma_f and
 * Sigma_g given u: that costs little, and the standard deviations need fewer sweeps.
 */
#ifndef GIBBSITE_HLM_NESTED_H
#define GIBBSITE_HLM_NESTED_H

#include <stddef.h>

#include "hlm/hlm.h"
#include "numeric/arena.h"
#include "numeric/status.h"
#include "run/scan.h"

#define HLM_NESTED_ROUNDS 4

/* Bar `inner` has its groups within those of bar `outer`. */
typedef struct {
  size_t outer, inner, shared; /* shared: terms that both have            */
  const int *outer_term, *inner_term; /* shared: from 0                   */
  const int *parent;                  /* J of inner: its group of outer   */
} hlm_nesting;

typedef struct {
  double *normals; /* the most q J: of the moves, then the moves          */
  double *total;   /* the most q J: sums of the inner groups              */
  double *count;   /* the most J                                          */
  double *outer, *inner, *precision, *move; /* the most q x q, or q       */
} hlm_nested_work;

/* Room for moves of any two of the bars. */
void hlm_nested_carve(hlm_nested_work *m, const hlm_data *bar, size_t bars,
                      arena *work);

/* The moves of all pairs, in turn; bar: the models of all bars. */
status hlm_nested_moves(hlm_nested_work *m, hlm_model *bar,
                        const hlm_nesting *nesting, size_t count,
                        const scan_control *control);

#endif
