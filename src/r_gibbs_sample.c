/* A block of gibbs_sample() and its value: see r_gibbs_sample.h. */
#include "r_gibbs_sample.h"

#include <R.h>

#include "r_generator.h"

/* ---- the value of a block --------------------------------------------------- */

static int same_dims(SEXP value, SEXP dims) {
  SEXP given = Rf_getAttrib(value, R_DimSymbol);
  if (Rf_xlength(given) != Rf_xlength(dims))
    return 0;
  for (R_xlen_t i = 0; i < Rf_xlength(dims); i++)
    if (INTEGER(given)[i] != INTEGER(dims)[i])
      return 0;
  return 1;
}

/* A row or a column of numbers without its dimensions, if the block is a plain
 * vector: sample_mvnorm(1, ...) gives a row. */
static SEXP as_vector(const gibbs_model *m, size_t block, SEXP value) {
  SEXP given = Rf_getAttrib(value, R_DimSymbol);
  if (VECTOR_ELT(m->dims, (R_xlen_t)block) != R_NilValue ||
      Rf_xlength(given) != 2 || Rf_isObject(value) ||
      (INTEGER(given)[0] != 1 && INTEGER(given)[1] != 1))
    return value;
  value = PROTECT(Rf_shallow_duplicate(value));
  Rf_setAttrib(value, R_DimNamesSymbol, R_NilValue);
  Rf_setAttrib(value, R_DimSymbol, R_NilValue);
  UNPROTECT(1);
  return value;
}

/* Whether an element has the name of another element of the block in `init`.
 * Names that `init` does not have are labels of the user. */
static int in_other_order(SEXP value, SEXP names) {
  SEXP given = Rf_getAttrib(value, R_NamesSymbol);
  if (TYPEOF(given) != STRSXP || TYPEOF(names) != STRSXP || given == names)
    return 0;
  const R_xlen_t length = XLENGTH(names);
  for (R_xlen_t i = 0; i < length; i++)
    if (STRING_ELT(given, i) != STRING_ELT(names, i))
      for (R_xlen_t j = 0; j < length; j++)
        if (STRING_ELT(given, i) == STRING_ELT(names, j))
          return 1;
  return 0;
}

static int all_finite(SEXP value) {
  const R_xlen_t length = XLENGTH(value);
  if (TYPEOF(value) == REALSXP) {
    const double *x = REAL(value);
    for (R_xlen_t i = 0; i < length; i++)
      if (!R_FINITE(x[i]))
        return 0;
    return 1;
  }
  const int *x = TYPEOF(value) == INTSXP ? INTEGER(value) : LOGICAL(value);
  for (R_xlen_t i = 0; i < length; i++)
    if (x[i] == NA_INTEGER)
      return 0;
  return 1;
}

gibbs_fault gibbs_value_fault(const gibbs_model *m, size_t block, SEXP value) {
  const int type = TYPEOF(value);
  if ((type != REALSXP && type != INTSXP && type != LGLSXP) ||
      Rf_isObject(value))
    return FAULT_SHAPE;
  if ((double)XLENGTH(value) != m->lengths[block] ||
      !same_dims(value, VECTOR_ELT(m->dims, (R_xlen_t)block)))
    return FAULT_SHAPE;
  return all_finite(value) ? FAULT_NONE : FAULT_VALUE;
}

void gibbs_stop(const gibbs_model *m, gibbs_fault what, SEXP value) {
  m->place[2] = (double)what;
  PROTECT(value);
  Rf_defineVar(Rf_install("value"), value, m->run);
  UNPROTECT(1);
  Rf_error("a function given to gibbs_sample() has failed");
}

void gibbs_check_generator(const gibbs_model *m) {
  if (generator_kind() != m->kind)
    gibbs_stop(m, FAULT_GENERATOR, R_NilValue);
}

/* ---- one block --------------------------------------------------------- */

void gibbs_show(gibbs_model *m, SEXP values) {
  PROTECT(values);
  Rf_defineVar(m->symbol, values, m->run);
  UNPROTECT(1);
}

void gibbs_set(gibbs_model *m, SEXP values) {
  SET_VECTOR_ELT(m->state, m->slot, values);
  m->values = values;
  gibbs_show(m, values);
}

SEXP gibbs_with(const gibbs_model *m, size_t k, SEXP value) {
  SEXP values = Rf_shallow_duplicate(m->values);
  SET_VECTOR_ELT(values, (R_xlen_t)k, value);
  return values;
}

void gibbs_draw_block(gibbs_model *m, size_t block) {
  const R_xlen_t k = (R_xlen_t)block;
  SEXP value =
    PROTECT(Rf_eval(VECTOR_ELT(m->calls, k), VECTOR_ELT(m->frames, k)));
  value = PROTECT(as_vector(m, block, value));
  const gibbs_fault what = gibbs_value_fault(m, block, value);
  if (what != FAULT_NONE)
    gibbs_stop(m, what, value);
  if (in_other_order(value, VECTOR_ELT(m->names, k)))
    gibbs_stop(m, FAULT_ORDER, value);
  gibbs_check_generator(m);
  gibbs_set(m, gibbs_with(m, block, value));
  UNPROTECT(2);
}
