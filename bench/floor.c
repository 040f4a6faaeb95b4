/* The floor of bench/mh.R: a closure called n times at the same vector from a
 * bare loop.  Returns the sum of its values. */
#include <Rinternals.h>

SEXP floor_loop(SEXP f, SEXP x, SEXP n) {
  SEXP call = PROTECT(Rf_lang2(f, x));
  const int times = Rf_asInteger(n);
  double sum = 0.0;
  for (int i = 0; i < times; i++)
    sum += Rf_asReal(Rf_eval(call, R_GlobalEnv));
  UNPROTECT(1);
  return Rf_ScalarReal(sum);
}
