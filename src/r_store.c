#include "r_store.h"

#include <R.h>
#include <string.h>

#include "r_args.h"

static int is_stored_draws(const char *name) {
  return strcmp(name, "factor_draws") == 0 || strcmp(name, "hyper_draws") == 0;
}

SEXP store_copy_state(SEXP state) {
  if (TYPEOF(state) != VECSXP)
    Rf_error("`state` must be a list");
  SEXP copy = PROTECT(Rf_shallow_duplicate(state));
  SEXP names = Rf_getAttrib(copy, R_NamesSymbol);
  for (R_xlen_t i = 0; i < Rf_xlength(names); i++)
    if (!is_stored_draws(CHAR(STRING_ELT(names, i))))
      SET_VECTOR_ELT(copy, i, Rf_duplicate(VECTOR_ELT(copy, i)));
  UNPROTECT(1);
  return copy;
}

static void set_element(SEXP list, const char *name, SEXP value) {
  SEXP names = Rf_getAttrib(list, R_NamesSymbol);
  for (R_xlen_t i = 0; i < Rf_xlength(names); i++)
    if (strcmp(CHAR(STRING_ELT(names, i)), name) == 0)
      SET_VECTOR_ELT(list, i, value);
}

/* Element `name` of the copy, a list of the `held` draws of the set, <- the places
 * 1, ..., places of the thinner set: every step-th of the old ones, and new
 * vectors of this type and length.  Returned: how many stayed. */
static size_t renew_draws(SEXP copy, const char *name, size_t held,
                          size_t places, size_t step, SEXPTYPE type,
                          size_t length) {
  SEXP old = args_element(copy, name);
  if (TYPEOF(old) != VECSXP || (size_t)XLENGTH(old) != held)
    Rf_error("`%s` must be a list of %.0f", name, (double)held);
  SEXP fresh = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t)places));
  const size_t stay = held / step;
  for (size_t place = 0; place < places; place++)
    SET_VECTOR_ELT(fresh, (R_xlen_t)place,
                   place < stay
                     ? VECTOR_ELT(old, (R_xlen_t)((place + 1) * step - 1))
                     : Rf_allocVector(type, (R_xlen_t)length));
  set_element(copy, name, fresh);
  UNPROTECT(1);
  return stay;
}

draw_store store_prepare(SEXP copy, size_t cap, size_t rows, size_t factors,
                         size_t hypers) {
  draw_store store = {0};
  const size_t kept = args_count(copy, "kept", 0);
  if (cap == 0)
    return store;
  const size_t after = kept + rows;
  store.every = store_every((double)after, cap);
  const size_t places = after / (size_t)store.every;
  const double before = store_every((double)kept, cap);
  const size_t held = kept / (size_t)before;
  const size_t step = (size_t)(store.every / before);
  const size_t stay = renew_draws(copy, "factor_draws", held, places, step,
                                  RAWSXP, args_product(factors, sizeof(float)));
  renew_draws(copy, "hyper_draws", held, places, step, REALSXP, hypers);
  store.factors = (float **)(void *)R_alloc(places + 1, sizeof(float *));
  store.hypers = (double **)(void *)R_alloc(places + 1, sizeof(double *));
  for (size_t p = 0; p < places; p++) {
    SEXP factor = VECTOR_ELT(args_element(copy, "factor_draws"), (R_xlen_t)p);
    SEXP hyper = VECTOR_ELT(args_element(copy, "hyper_draws"), (R_xlen_t)p);
    store.factors[p] = p < stay ? NULL : (float *)(void *)RAW(factor);
    store.hypers[p] = p < stay ? NULL : REAL(hyper);
  }
  return store;
}
