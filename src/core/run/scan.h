/* The one loop over sweeps.
 *
 * A model hands over `sweep`, which carries its state through one sweep, and
 * `record`, which writes the stored quantities of the current state as one row.
 * `sweep_count` is the number of sweeps since the start of the chain; it is
 * part of the chain's state.  A row is recorded after sweep t when t > burnin
 * and (t - burnin) is a multiple of thin, so that the rows do not depend on how
 * a run is cut into calls of scan_sweeps(). */
#ifndef GIBBSITE_SCAN_H
#define GIBBSITE_SCAN_H

#include "numeric/status.h"
#include "numeric/uniforms.h"
#include <stddef.h>

typedef struct {
  double burnin;       /* sweeps that are run first and not recorded       */
  double thin;         /* sweeps per recorded row, >= 1                    */
  int threads;         /* threads inside a sweep; never change a draw      */
  int recording;       /* set by scan_sweeps(): this sweep will be recorded */
  int (*stop)(void *); /* nonzero = give up; may be NULL; never called in
                          a parallel region                                */
  void *stop_data;
  generator generator; /* of the segment: uniforms.h, normals.h */
} scan_control;

/* Whether the user wants the run to end. */
static inline int scan_must_stop(const scan_control *control) {
  return control->stop != NULL && control->stop(control->stop_data);
}

typedef struct {
  void *model;
  status (*sweep)(void *model, const scan_control *control);
  /* column c of the row goes to row[c * stride] */
  void (*record)(void *model, double *row, size_t stride);
} scan_model;

/* Rows that sweeps sweep_count + 1, ..., sweep_count + n will record. */
size_t scan_rows(double sweep_count, size_t n, const scan_control *control);

/* Runs n sweeps.  draws: rows x columns, column-major, rows = scan_rows(...).
 * *sweep_count is moved on by the sweeps done. */
status scan_sweeps(const scan_model *scan, const scan_control *control,
                   size_t n, double *sweep_count, double *draws, size_t rows);

/* True when sweep t falls in burn-in: where adaptation is allowed. */
int scan_in_burnin(double t, const scan_control *control);

#endif
