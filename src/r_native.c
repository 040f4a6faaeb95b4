#include "r_native.h"

#include <R.h>
#include <R_ext/Rdynload.h>
#include <limits.h>

#include "r_args.h"
#include "routines.h"

native_call native_open(SEXP pointer) {
  if (TYPEOF(pointer) != EXTPTRSXP)
    Rf_error("a compiled log density must be an external pointer");
  native_call call = {
    (gibbsite_log_density)(void (*)(void))R_ExternalPtrAddrFn(pointer), NULL};
  if (!call.f)
    Rf_error("the external pointer is not of this process");
  SEXP kept = R_ExternalPtrProtected(pointer);
  if (TYPEOF(kept) == VECSXP && XLENGTH(kept) == 3)
    call.data = RAW(VECTOR_ELT(kept, 2));
  return call;
}

typedef struct {
  native_call call;
  int d;
} asked_density;

void *native_context(SEXP pointer, size_t d) {
  if (d > INT_MAX)
    Rf_error("a compiled log density cannot have that many coordinates");
  asked_density *density = (asked_density *)R_alloc(1, sizeof(asked_density));
  density->call = native_open(pointer);
  density->d = (int)d;
  return density;
}

int native_ask(void *context, const double *x, double *value) {
  const asked_density *density = context;
  *value = density->call.f(x, density->d, density->call.data);
  return 0;
}

typedef struct {
  gibbsite_gradient f;
  void *data;
  int d;
} asked_gradient;

void *native_gradient_context(SEXP pointer, size_t d) {
  const asked_density *density = native_context(pointer, d);
  asked_gradient *both = (asked_gradient *)R_alloc(1, sizeof(asked_gradient));
  both->f = (gibbsite_gradient)(void (*)(void))density->call.f;
  both->data = density->call.data;
  both->d = density->d;
  return both;
}

int native_ask_both(void *context, const double *x, double *value,
                    double *slope) {
  const asked_gradient *both = context;
  *value = both->f(x, both->d, both->data, slope);
  return 0;
}

/* A vector of doubles as the header has it. */
static gibbsite_vector describe_vector(SEXP x, SEXP name) {
  if (TYPEOF(x) != REALSXP)
    Rf_error("`data` must be vectors of doubles");
  SEXP dims = Rf_getAttrib(x, R_DimSymbol);
  gibbsite_vector v;
  v.name = CHAR(name);
  v.x = REAL(x);
  v.length = (size_t)XLENGTH(x);
  v.rows = TYPEOF(dims) == INTSXP ? (size_t)INTEGER(dims)[0] : v.length;
  v.columns = v.rows > 0 ? v.length / v.rows : 0;
  return v;
}

/* list(data, vectors, header): raw vectors that hold the structures, and the
 * data that they point into. */
static SEXP describe_data(SEXP data) {
  SEXP names = PROTECT(Rf_getAttrib(data, R_NamesSymbol));
  const size_t count = (size_t)XLENGTH(data);
  SEXP kept = PROTECT(Rf_allocVector(VECSXP, 3));
  const size_t bytes = args_product(count, sizeof(gibbsite_vector));
  SET_VECTOR_ELT(kept, 0, data);
  SET_VECTOR_ELT(kept, 1, Rf_allocVector(RAWSXP, (R_xlen_t)bytes));
  SET_VECTOR_ELT(kept, 2, Rf_allocVector(RAWSXP, sizeof(gibbsite_data)));
  gibbsite_vector *vector = (void *)RAW(VECTOR_ELT(kept, 1));
  for (size_t i = 0; i < count; i++)
    vector[i] = describe_vector(VECTOR_ELT(data, (R_xlen_t)i),
                                STRING_ELT(names, (R_xlen_t)i));
  gibbsite_data *header = (void *)RAW(VECTOR_ELT(kept, 2));
  header->count = count;
  header->vector = vector;
  UNPROTECT(2);
  return kept;
}

/* address: external pointer to the function; data: NULL or a named list of
 * vectors of doubles. */
SEXP C_native_pointer(SEXP address, SEXP data) {
  const native_call call = native_open(address);
  if (data != R_NilValue &&
      (TYPEOF(data) != VECSXP ||
       TYPEOF(Rf_getAttrib(data, R_NamesSymbol)) != STRSXP))
    Rf_error("`data` must be a named list");
  SEXP kept = PROTECT(data == R_NilValue ? R_NilValue : describe_data(data));
  SEXP pointer =
    R_MakeExternalPtrFn((DL_FUNC)(void (*)(void))call.f, R_NilValue, kept);
  UNPROTECT(1);
  return pointer;
}

/* The function that a loaded package has registered for others; an R error when
 * there is none. */
SEXP C_native_callable(SEXP package, SEXP symbol) {
  if (TYPEOF(package) != STRSXP || TYPEOF(symbol) != STRSXP ||
      XLENGTH(package) != 1 || XLENGTH(symbol) != 1)
    Rf_error("`package` and `symbol` must be strings");
  DL_FUNC f =
    R_GetCCallable(CHAR(STRING_ELT(package, 0)), CHAR(STRING_ELT(symbol, 0)));
  return R_MakeExternalPtrFn(f, R_NilValue, R_NilValue);
}

/* The log density at x. */
SEXP C_native_value(SEXP pointer, SEXP x) {
  const native_call call = native_open(pointer);
  if (TYPEOF(x) != REALSXP || XLENGTH(x) > INT_MAX)
    Rf_error("`x` must be numbers");
  return Rf_ScalarReal(call.f(REAL(x), (int)XLENGTH(x), call.data));
}

/* The gradient at x, with the log density as attribute "value". */
SEXP C_native_gradient(SEXP pointer, SEXP x) {
  if (TYPEOF(x) != REALSXP || XLENGTH(x) > INT_MAX)
    Rf_error("`x` must be numbers");
  SEXP slope = PROTECT(Rf_allocVector(REALSXP, XLENGTH(x)));
  SEXP value = PROTECT(Rf_allocVector(REALSXP, 1));
  for (R_xlen_t j = 0; j < XLENGTH(x); j++)
    REAL(slope)[j] = NA_REAL;
  native_ask_both(native_gradient_context(pointer, (size_t)XLENGTH(x)), REAL(x),
                  REAL(value), REAL(slope));
  Rf_setAttrib(slope, Rf_install("value"), value);
  UNPROTECT(2);
  return slope;
}
