#include "r_args.h"

#include <R.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "routines.h"
#include "threads.h"

SEXP args_optional(SEXP list, const char *name) {
  if (TYPEOF(list) != VECSXP)
    Rf_error("a list with an element `%s` was expected", name);
  SEXP names = Rf_getAttrib(list, R_NamesSymbol);
  for (R_xlen_t i = 0; i < Rf_xlength(names); i++)
    if (strcmp(CHAR(STRING_ELT(names, i)), name) == 0)
      return VECTOR_ELT(list, i);
  return NULL;
}

SEXP args_element(SEXP list, const char *name) {
  SEXP x = args_optional(list, name);
  if (x == NULL)
    Rf_error("the list has no element `%s`", name);
  return x;
}

double *args_doubles(SEXP list, const char *name, size_t length) {
  SEXP x = args_element(list, name);
  if (TYPEOF(x) != REALSXP || (size_t)XLENGTH(x) != length)
    Rf_error("`%s` must be %.0f numbers", name, (double)length);
  return REAL(x);
}

int *args_integers(SEXP list, const char *name, size_t length) {
  SEXP x = args_element(list, name);
  if (TYPEOF(x) != INTSXP || (size_t)XLENGTH(x) != length)
    Rf_error("`%s` must be %.0f integers", name, (double)length);
  return INTEGER(x);
}

const unsigned char *args_bytes(SEXP list, const char *name, size_t size) {
  SEXP x = args_element(list, name);
  if (TYPEOF(x) != RAWSXP || (size_t)XLENGTH(x) != size)
    Rf_error("`%s` must be %.0f bytes", name, (double)size);
  return RAW(x);
}

SEXP args_raw(const void *bytes, size_t size) {
  SEXP x = Rf_allocVector(RAWSXP, (R_xlen_t)size);
  if (size > 0)
    memcpy(RAW(x), bytes, size);
  return x;
}

SEXP args_numbers(const double *x, size_t n) {
  SEXP y = Rf_allocVector(REALSXP, (R_xlen_t)n);
  if (n > 0)
    memcpy(REAL(y), x, n * sizeof(double));
  return y;
}

double args_number(SEXP list, const char *name) {
  const double x = args_doubles(list, name, 1)[0];
  if (!isfinite(x))
    Rf_error("`%s` must be a finite number", name);
  return x;
}

size_t args_scalar_count(SEXP x, const char *name, size_t min) {
  if ((TYPEOF(x) != REALSXP && TYPEOF(x) != INTSXP) || XLENGTH(x) != 1)
    Rf_error("`%s` must be one whole number", name);
  const double value = Rf_asReal(x);
  if (!(value >= (double)min && value < 9007199254740992.0) ||
      floor(value) < value)
    Rf_error("`%s` must be a whole number of at least %.0f", name, (double)min);
  return (size_t)value;
}

size_t args_count(SEXP list, const char *name, size_t min) {
  return args_scalar_count(args_element(list, name), name, min);
}

void args_matrix(SEXP x, const char *name, size_t *rows, size_t *columns) {
  if (TYPEOF(x) != REALSXP || !Rf_isMatrix(x))
    Rf_error("`%s` must be a matrix of numbers", name);
  *rows = (size_t)Rf_nrows(x);
  *columns = (size_t)Rf_ncols(x);
}

compressed args_compressed(SEXP list, const char *start, const char *index,
                           size_t groups, size_t limit, int rising) {
  const size_t stored = (size_t)Rf_xlength(args_element(list, index));
  const compressed x = {args_integers(list, start, groups + 1),
                        groups,
                        args_integers(list, index, stored),
                        stored,
                        limit,
                        rising};
  size_t place;
  switch (compressed_check(&x, &place)) {
  case COMPRESSED_SOUND:
    break;
  case COMPRESSED_BEGIN:
  case COMPRESSED_FALLS:
  case COMPRESSED_END:
    Rf_error("`%s` must rise from 0 to %.0f: not so at %.0f", start,
             (double)stored, (double)place + 1.0);
  case COMPRESSED_LIMIT:
    Rf_error("`%s` must lie between 0 and %.0f: not so at %.0f", index,
             (double)limit - 1.0, (double)place + 1.0);
  case COMPRESSED_ORDER:
    Rf_error("`%s` must rise within a row or column: not so at %.0f", index,
             (double)place + 1.0);
  }
  return x;
}

/* What is wrong with the starts and indices (from 0) of a sparse matrix that a
 * user gave: NULL, or c(fault, place), the place counted from 1. */
SEXP C_sparse_fault(SEXP start, SEXP index, SEXP limit) {
  if (TYPEOF(start) != INTSXP || XLENGTH(start) < 1 || Rf_isObject(start) ||
      TYPEOF(index) != INTSXP || Rf_isObject(index))
    Rf_error("`start` and `index` must be integers");
  const compressed x = {INTEGER(start),
                        (size_t)XLENGTH(start) - 1,
                        INTEGER(index),
                        (size_t)XLENGTH(index),
                        args_scalar_count(limit, "limit", 0),
                        1};
  size_t place;
  const compressed_fault fault = compressed_check(&x, &place);
  if (fault == COMPRESSED_SOUND)
    return R_NilValue;
  SEXP found = Rf_allocVector(REALSXP, 2);
  REAL(found)[0] = (double)fault;
  REAL(found)[1] = (double)place + 1.0;
  return found;
}

size_t args_product(size_t a, size_t b) {
  if (b != 0 && a > (size_t)PTRDIFF_MAX / sizeof(double) / b)
    Rf_error("the sizes are too large for this machine");
  return a * b;
}

int args_threads(SEXP x) {
  const size_t wanted = args_scalar_count(x, "threads", 1);
  return threads_allowed(wanted > 1024 ? 1024 : (int)wanted);
}

scan_control args_control(SEXP control) {
  scan_control c = {0};
  c.burnin = (double)args_count(control, "burnin", 0);
  c.thin = (double)args_count(control, "thin", 1);
  c.threads = args_threads(args_element(control, "threads"));
  return c;
}

int args_flag(SEXP list, const char *name) {
  return args_count(list, name, 0) > 0;
}

/* Of a density that is not proper a slice step would not end. */
double args_not_negative(SEXP list, const char *name) {
  const double value = args_number(list, name);
  if (!(value >= 0.0 && R_FINITE(value)))
    Rf_error("`%s` must be 0 or more, and finite", name);
  return value;
}

double args_positive(SEXP list, const char *name) {
  const double value = args_not_negative(list, name);
  if (!(value > 0.0))
    Rf_error("`%s` must be positive", name);
  return value;
}

double *args_finite(SEXP list, const char *name, size_t length) {
  double *x = args_doubles(list, name, length);
  for (size_t i = 0; i < length; i++)
    if (!R_FINITE(x[i]))
      Rf_error("`%s` must be finite", name);
  return x;
}

/* NULL for no elements */
const double *args_optional_finite(SEXP list, const char *name, size_t n) {
  return Rf_xlength(args_element(list, name)) > 0 ? args_finite(list, name, n)
                                                  : NULL;
}

SEXP args_item(SEXP list, const char *name, size_t at, size_t length) {
  SEXP all = args_element(list, name);
  if (TYPEOF(all) != VECSXP || (size_t)XLENGTH(all) != length)
    Rf_error("`%s` must be a list of %.0f elements", name, (double)length);
  return VECTOR_ELT(all, (R_xlen_t)at);
}
