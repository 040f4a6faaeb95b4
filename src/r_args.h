/* Lists and vectors of R as checked C values.  R code has checked what a user
 * gave; these re-check types and lengths, so that a wrong call is an R error
 * and never a crash. */
#ifndef GIBBSITE_R_ARGS_H
#define GIBBSITE_R_ARGS_H

#include <Rinternals.h>
#include <stddef.h>

#include "numeric/columns.h"
#include "run/scan.h"

/* Element `name` of a list; an error when it is missing, or NULL. */
SEXP args_element(SEXP list, const char *name);
SEXP args_optional(SEXP list, const char *name);

/* Element `name` as a double (or integer) vector of just this length. */
double *args_doubles(SEXP list, const char *name, size_t length);
int *args_integers(SEXP list, const char *name, size_t length);
const unsigned char *args_bytes(SEXP list, const char *name, size_t size);

/* A finite number; a whole number of at least `min`, below 2^53. */
double args_number(SEXP list, const char *name);
size_t args_count(SEXP list, const char *name, size_t min);
size_t args_scalar_count(SEXP x, const char *name, size_t min);

int args_flag(SEXP list, const char *name);
double args_not_negative(SEXP list, const char *name);
double args_positive(SEXP list, const char *name);

/* Finite numbers; the second gives NULL for no elements. */
double *args_finite(SEXP list, const char *name, size_t length);
const double *args_optional_finite(SEXP list, const char *name, size_t length);

/* Element `at` of element `name`, a list of just this length. */
SEXP args_item(SEXP list, const char *name, size_t at, size_t length);

/* Threads: no more than are allowed, and than 1,024. */
int args_threads(SEXP x);

/* Rows and columns of a double matrix. */
void args_matrix(SEXP x, const char *name, size_t *rows, size_t *columns);

/* Starts and indices of a compressed matrix, elements `start` and `index` of a
 * list: everything is checked here, before a value of it is used.  `rising`: each
 * group holds an index once, in order. */
compressed args_compressed(SEXP list, const char *start, const char *index,
                           size_t groups, size_t limit, int rising);

/* a * b, an error when it overflows. */
size_t args_product(size_t a, size_t b);

/* list(burnin, thin, threads). */
scan_control args_control(SEXP control);

/* A raw vector, as args_bytes() reads it, and a double vector. */
SEXP args_raw(const void *bytes, size_t size);
SEXP args_numbers(const double *x, size_t n);

#endif
