#include "numeric/rounding.h"

#include "run/scan.h"

#include <math.h>

/* Rows recorded by sweeps 1..t of the chain.  Counts of sweeps are whole
 * numbers held in doubles, exact below 2^53. */
static double rows_until(double t, const scan_control *control) {
  return t > control->burnin ? floor((t - control->burnin) / control->thin)
                             : 0.0;
}

/* The first sweep after t that is recorded. */
static double next_recorded(double t, const scan_control *control) {
  return control->burnin + (rows_until(t, control) + 1.0) * control->thin;
}

size_t scan_rows(double sweep_count, size_t n, const scan_control *control) {
  return (size_t)(rows_until(sweep_count + (double)n, control) -
                  rows_until(sweep_count, control));
}

int scan_in_burnin(double t, const scan_control *control) {
  return t <= control->burnin;
}

status scan_sweeps(const scan_model *scan, const scan_control *control,
                   size_t n, double *sweep_count, double *draws, size_t rows) {
  scan_control now = *control;
  double next = next_recorded(*sweep_count, control);
  size_t row = 0;
  for (size_t i = 0; i < n; i++) {
    if (scan_must_stop(control))
      return STATUS_INTERRUPTED;
    now.recording = *sweep_count + 1.0 == next;
    const status outcome = scan->sweep(scan->model, &now);
    if (outcome != STATUS_OK)
      return outcome;
    *sweep_count += 1.0;
    if (!now.recording)
      continue;
    scan->record(scan->model, draws + row++, rows);
    next += control->thin;
  }
  return STATUS_OK;
}
