/* .Call entry of the mean of a logistic function of a normal variable. */
#include <R.h>

#include "logistic_mean.h"
#include "r_args.h"
#include "routines.h"

/* m, s: doubles of one length.  Returns list(mean, slope). */
SEXP C_logistic_mean(SEXP m, SEXP s) {
  if (TYPEOF(m) != REALSXP || TYPEOF(s) != REALSXP || XLENGTH(m) != XLENGTH(s))
    Rf_error("`m` and `s` must be numbers of one length");
  const R_xlen_t n = XLENGTH(m);
  const char *names[] = {"mean", "slope", ""};
  SEXP result = PROTECT(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(result, 0, Rf_allocVector(REALSXP, n));
  SET_VECTOR_ELT(result, 1, Rf_allocVector(REALSXP, n));
  double *mean = REAL(VECTOR_ELT(result, 0));
  double *slope = REAL(VECTOR_ELT(result, 1));
  const double *centre = REAL(m), *spread = REAL(s);
  logistic_mean_rule rule;
  logistic_mean_open(&rule);
  for (R_xlen_t i = 0; i < n; i++) {
    mean[i] = logistic_mean(&rule, centre[i], spread[i]);
    slope[i] = logistic_mean_slope(&rule, centre[i], spread[i]);
  }
  UNPROTECT(1);
  return result;
}
