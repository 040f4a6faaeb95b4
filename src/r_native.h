/* Log densities in compiled code of the user: see inst/include/gibbsite.h. */
#ifndef GIBBSITE_R_NATIVE_H
#define GIBBSITE_R_NATIVE_H

#include <Rinternals.h>

#include "gibbsite.h"

typedef struct {
  gibbsite_log_density f;
  void *data;
} native_call;

/* What native_pointer() made; an R error when it is of another process.  The
 * value at x is call.f(x, d, call.data) as long as `pointer` is protected. */
native_call native_open(SEXP pointer);

/* The same as the core asks for a density: native_ask(context, x, &value) is
 * 0.  The context is R_alloc'd. */
void *native_context(SEXP pointer, size_t d);
int native_ask(void *context, const double *x, double *value);

/* A function that gives the gradient with its value. */
void *native_gradient_context(SEXP pointer, size_t d);
int native_ask_both(void *context, const double *x, double *value,
                    double *slope);

#endif
