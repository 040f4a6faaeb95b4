/* Bars, their states, nestings and joint draws out of R's lists. */
#ifndef GIBBSITE_R_HLM_BARS_H
#define GIBBSITE_R_HLM_BARS_H

#include <Rinternals.h>
#include <stddef.h>

#include "hlm/hlm.h"
#include "hlm/hlm_joint.h"
#include "hlm/hlm_nested.h"

/* Where the rows of each group begin, and the end of the last. */
const int *hlm_group_starts(SEXP list, const char *name, size_t groups);

/* A number of a state, which a sweep may change. */
double *hlm_unpack_positive(SEXP state, const char *name);

/* All but the rows. */
hlm_data hlm_unpack_model(SEXP list);

/* The deviations of all bars. */
size_t hlm_deviations(const hlm_data *bar, size_t bars);

hlm_state hlm_unpack_state(SEXP list, const hlm_data *bar, size_t bars,
                           size_t p);

/* Element `nesting`; returns their number. */
size_t hlm_unpack_nestings(SEXP list, const hlm_data *bar, size_t bars,
                           const hlm_nesting **to);

/* Element `joint`, which may be absent: place, z (of all bars), deviation, and the
 * entries of each place and the factor by start and index. */
hlm_joint_data hlm_unpack_joint(SEXP list, const hlm_data *bar, size_t bars,
                                size_t n, const double *x);

/* Work space for the model of each bar, R_alloc'd. */
void **hlm_work_of_bars(const hlm_data *bar, size_t bars);

#endif
