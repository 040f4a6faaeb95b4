/* .Call entries of measures of convergence. */
#include <R.h>
#include <R_ext/Utils.h>
#include <limits.h>
#include <math.h>

#include "numeric/convergence.h"
#include "r_args.h"
#include "routines.h"

/* draws: draws x chains x variables. */
static convergence_work work_for(SEXP draws, size_t *variables) {
  SEXP size = Rf_getAttrib(draws, R_DimSymbol);
  if (TYPEOF(draws) != REALSXP || Rf_length(size) != 3)
    Rf_error("`draws` must be an array of numbers with three dimensions");
  const size_t n = (size_t)INTEGER(size)[0], chains = (size_t)INTEGER(size)[1];
  *variables = (size_t)INTEGER(size)[2];
  arena a = arena_measure();
  convergence_take(&a, n, chains);
  a = arena_over(R_alloc(arena_size(&a), 1));
  convergence_work w = convergence_take(&a, n, chains);
  convergence_open(&w);
  return w;
}

typedef enum { VARIES, CONSTANT, NOT_FINITE } kind;

static kind kind_of(const double *x, size_t n) {
  int varies = 0;
  for (size_t i = 0; i < n; i++) {
    if (!R_FINITE(x[i]))
      return NOT_FINITE;
    varies |= x[i] != x[0];
  }
  return varies ? VARIES : CONSTANT;
}

static SEXP new_table(const char **names, size_t variables) {
  SEXP table = PROTECT(Rf_mkNamed(VECSXP, names));
  for (R_xlen_t j = 0; j < XLENGTH(table); j++)
    SET_VECTOR_ELT(
      table, j, Rf_allocVector(j < 3 ? REALSXP : LGLSXP, (R_xlen_t)variables));
  UNPROTECT(1);
  return table;
}

static double number_or_na(double x) {
  return ISNAN(x) ? NA_REAL : x;
}

/* list(rhat, ess_bulk, ess_tail, constant, finite), an element for each variable;
 * NA where a measure is not defined. */
SEXP C_convergence(SEXP draws) {
  size_t variables;
  convergence_work w = work_for(draws, &variables);
  const size_t n = w.draws * w.chains;
  const char *names[] = {"rhat",     "ess_bulk", "ess_tail",
                         "constant", "finite",   ""};
  SEXP table = PROTECT(new_table(names, variables));
  for (size_t v = 0; v < variables; v++) {
    R_CheckUserInterrupt();
    const double *x = REAL(draws) + v * n;
    const kind is = kind_of(x, n);
    convergence_measures of = {NA_REAL, NA_REAL, NA_REAL};
    if (is == VARIES)
      of = convergence_measure(&w, x);
    REAL(VECTOR_ELT(table, 0))[v] = number_or_na(of.rhat);
    REAL(VECTOR_ELT(table, 1))[v] = number_or_na(of.ess_bulk);
    REAL(VECTOR_ELT(table, 2))[v] = number_or_na(of.ess_tail);
    LOGICAL(VECTOR_ELT(table, 3))[v] = is == CONSTANT;
    LOGICAL(VECTOR_ELT(table, 4))[v] = is != NOT_FINITE;
  }
  UNPROTECT(1);
  return table;
}

/* list(ess, error) of the mean of each variable; NA where it is not defined. The
 * error is 0 of draws that are all the same. */
SEXP C_mean_error(SEXP draws) {
  size_t variables;
  convergence_work w = work_for(draws, &variables);
  const size_t n = w.draws * w.chains;
  const char *names[] = {"ess", "error", ""};
  SEXP table = PROTECT(new_table(names, variables));
  for (size_t v = 0; v < variables; v++) {
    R_CheckUserInterrupt();
    const double *x = REAL(draws) + v * n;
    const kind is = kind_of(x, n);
    convergence_mean of = {NA_REAL, is == CONSTANT && n > 1 ? 0.0 : NA_REAL};
    if (is == VARIES)
      of = convergence_of_mean(&w, x);
    REAL(VECTOR_ELT(table, 0))[v] = number_or_na(of.ess);
    REAL(VECTOR_ELT(table, 1))[v] = number_or_na(of.mcse);
  }
  UNPROTECT(1);
  return table;
}
