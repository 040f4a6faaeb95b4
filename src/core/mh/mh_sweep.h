/* The sampler: blocks laid out, variates drawn ahead, sweeps, and what is
 * stored. */
#ifndef GIBBSITE_MH_SWEEP_H
#define GIBBSITE_MH_SWEEP_H

#include "mh/mh.h"

/* Numbers of scratch for d coordinates; mh_open(), once target, state and blocks
 * are set, lays it out and sets what follows from them. */
size_t mh_work_size(size_t d);
void mh_open(mh_model *m, double *work);

/* Numbers of look-ahead that one sweep uses. */
size_t mh_variates(const mh_model *m);

/* Fills m->ahead from R's generator: for each block in turn the uniforms of all
 * rows, then what its proposals use, row by row. */
void mh_draw_ahead(const mh_model *m);

/* One step on block b with its variates of a row of the look-ahead. */
status mh_update(mh_model *m, size_t b, size_t row,
                 const scan_control *control);

/* scan_model's functions. */
status mh_sweep(void *model, const scan_control *control);
void mh_record(void *model, double *row, size_t stride);

#endif
