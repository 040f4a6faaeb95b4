/* What Hamiltonian dynamics learns in burn-in: the step, by dual averaging
 * (Nesterov 2009, doi:10.1007/s10107-007-0149-x; Hoffman & Gelman 2014, section
 * 3.2), and the factor L of M^-1, in windows.
 *
 * A first buffer adapts the step alone.  Windows follow, each twice as long as
 * the one before; at the end of each the covariance of its positions becomes
 * M^-1, and the step is found anew.  A last buffer adapts the step to the last
 * M.  Buffers and windows depend on the length of the burn-in alone. */
#ifndef GIBBSITE_MH_WARMUP_H
#define GIBBSITE_MH_WARMUP_H

#include "mh/mh.h"

/* Elements of memory.averaging. */
enum {
  MH_CENTRE = 0, /* where log s is shrunk to                     */
  MH_ERROR,      /* mean error of the acceptance statistic       */
  MH_LOG_STEP,   /* weighted mean of log s                       */
  MH_UPDATES,    /* since the step was found anew                */
  MH_COLLECTED   /* positions in the window                      */
};

/* Must the step be found anew before sweep t? */
int mh_warmup_begins(const mh_memory *memory);

/* Averaging begins at the step of memory.tuning. */
void mh_warmup_begin(const mh_memory *memory);

/* After sweep t of burn-in, with the acceptance statistic `rate`, at the model's
 * point x. */
void mh_warmup_learn(const mh_block *block, const double *x, double rate,
                     double t, double burnin);

/* Does a window end with sweep t?  Is sweep t in one? */
int mh_window_ends(double t, double burnin);
int mh_in_window(double t, double burnin);

#endif
