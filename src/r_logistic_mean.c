/* .Call entries of predictions from a normal distribution of coefficients. */
#include <R.h>

#include "logistic/logistic_mean.h"
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

/* x: n x p; data: list(map, precision_factor).  Returns list(mean, sd), a number
 * for each row, the same whatever other rows there are. */
SEXP C_logistic_predictor(SEXP x, SEXP data) {
  size_t n, p;
  args_matrix(x, "x", &n, &p);
  const logistic_posterior w = {
    p, args_doubles(data, "map", p),
    args_doubles(data, "precision_factor", args_product(p, p))};
  const char *names[] = {"mean", "sd", ""};
  SEXP result = PROTECT(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(result, 0, Rf_allocVector(REALSXP, (R_xlen_t)n));
  SET_VECTOR_ELT(result, 1, Rf_allocVector(REALSXP, (R_xlen_t)n));
  double *mean = REAL(VECTOR_ELT(result, 0)), *sd = REAL(VECTOR_ELT(result, 1));
  double *work = (double *)R_alloc(p, sizeof(double));
  for (size_t i = 0; i < n; i++)
    logistic_moments(&w, REAL(x) + i, n, work, mean + i, sd + i);
  UNPROTECT(1);
  return result;
}
