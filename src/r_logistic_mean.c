/* .Call entry of the mean of a logistic function of a normal variable. */
#include <R.h>

#include "logistic_mean.h"
#include "r_args.h"
#include "routines.h"

typedef double (*integral)(const logistic_mean_rule *, double, double);

static SEXP integrate(integral of, SEXP m, SEXP s) {
  const R_xlen_t n = XLENGTH(m);
  SEXP result = PROTECT(Rf_allocVector(REALSXP, n));
  const double *centre = REAL(m), *spread = REAL(s);
  double *value = REAL(result);
  logistic_mean_rule rule;
  logistic_mean_open(&rule);
  for (R_xlen_t i = 0; i < n; i++)
    value[i] = of(&rule, centre[i], spread[i]);
  UNPROTECT(1);
  return result;
}

/* m, s: doubles of one length; slope: FALSE for the mean, TRUE for its
 * derivative with respect to m. */
SEXP C_logistic_mean(SEXP m, SEXP s, SEXP slope) {
  if (TYPEOF(m) != REALSXP || TYPEOF(s) != REALSXP || XLENGTH(m) != XLENGTH(s))
    Rf_error("`m` and `s` must be numbers of one length");
  if (TYPEOF(slope) != LGLSXP || XLENGTH(slope) != 1)
    Rf_error("`slope` must be TRUE or FALSE");
  const int derivative = LOGICAL(slope)[0] == TRUE;
  return integrate(derivative ? logistic_mean_slope : logistic_mean, m, s);
}
