/* .Call entries of logistic regression: unpack, call the core, pack. */
#include <R.h>
#include <R_ext/Utils.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "logistic/logistic_gibbs.h"
#include "logistic/logistic_search.h"
#include "numeric/columns.h"
#include "numeric/products.h"
#include "r_args.h"
#include "r_scan.h"
#include "routines.h"

/* NULL, or n numbers. */
static const double *optional_doubles(SEXP list, const char *name, size_t n) {
  return args_element(list, name) == R_NilValue ? NULL
                                                : args_doubles(list, name, n);
}

/* x: list(n, p, row_start, column, value), rows one after another. */
static void unpack_sparse(SEXP x, logistic_data *data) {
  data->n = args_count(x, "n", 1);
  data->p = args_count(x, "p", 0);
  const compressed rows =
    args_compressed(x, "row_start", "column", data->n, data->p, 1);
  data->row_start = rows.start;
  data->column = rows.index;
  data->value = args_doubles(x, "value", rows.stored);
}

static void unpack_design(SEXP x, logistic_data *data) {
  if (TYPEOF(x) == VECSXP)
    unpack_sparse(x, data);
  else {
    args_matrix(x, "x", &data->n, &data->p);
    data->x = REAL(x);
  }
  if (data->n > INT_MAX || data->p > INT_MAX / LOGISTIC_BLOCK)
    Rf_error("`x` is too large");
}

/* list(x, success, total, offset, precision, probit = 0 or 1, constant) */
static logistic_data unpack_data(SEXP list) {
  logistic_data data = {0};
  unpack_design(args_element(list, "x"), &data);
  data.success = args_doubles(list, "success", data.n);
  data.total = args_doubles(list, "total", data.n);
  data.offset = optional_doubles(list, "offset", data.n);
  SEXP precision = args_element(list, "precision");
  data.diagonal = !Rf_isMatrix(precision);
  const size_t square = args_product(data.p, data.p);
  data.precision =
    args_doubles(list, "precision", data.diagonal ? data.p : square);
  data.probit = args_count(list, "probit", 0) > 0;
  data.constant = args_number(list, "constant");
  return data;
}

static double *work_of(size_t doubles) {
  return (double *)R_alloc(args_product(doubles, 1), sizeof(double));
}

static void check_interrupt(void *unused) {
  (void)unused;
  R_CheckUserInterrupt();
}

static int interrupted(void *unused) {
  (void)unused;
  return !R_ToplevelExec(check_interrupt, NULL);
}

static SEXP pack_trace(const double *trace, size_t iterations) {
  SEXP packed = Rf_allocVector(REALSXP, (R_xlen_t)iterations + 1);
  memcpy(REAL(packed), trace, (iterations + 1) * sizeof *trace);
  return packed;
}

/* control: list(gradient = 0 or 1, limit, share = 0 or 1, tolerance).
 * Returns list(map, precision_factor, trace, outcome, log_joint,
 * distance, share); NULL when the user interrupted. */
SEXP C_logistic_search(SEXP list, SEXP start, SEXP control_list) {
  const logistic_data data = unpack_data(list);
  logistic_control control = {0};
  if (args_count(control_list, "gradient", 0) > 0)
    control.method = LOGISTIC_GRADIENT;
  control.limit = args_count(control_list, "limit", 0);
  control.share = args_count(control_list, "share", 0) > 0;
  control.tolerance = args_number(control_list, "tolerance");
  control.stop = interrupted;
  if (TYPEOF(start) != REALSXP || (size_t)XLENGTH(start) != data.p)
    Rf_error("`start` must be %.0f numbers", (double)data.p);
  const char *names[] = {"map",       "precision_factor", "trace", "outcome",
                         "log_joint", "distance",         "share", ""};
  SEXP result = PROTECT(Rf_mkNamed(VECSXP, names));
  SEXP map = Rf_allocVector(REALSXP, (R_xlen_t)data.p);
  SET_VECTOR_ELT(result, 0, map);
  SEXP factor = Rf_allocMatrix(REALSXP, (int)data.p, (int)data.p);
  SET_VECTOR_ELT(result, 1, factor);
  memcpy(REAL(map), REAL(start), data.p * sizeof(double));
  double *trace = work_of(control.limit + 1);
  const logistic_result found =
    logistic_search(&data, &control, REAL(map), REAL(factor), trace,
                    work_of(logistic_search_size(data.p)));
  SET_VECTOR_ELT(result, 2, pack_trace(trace, found.iterations));
  SET_VECTOR_ELT(result, 3, Rf_ScalarInteger((int)found.outcome));
  SET_VECTOR_ELT(result, 4, Rf_ScalarReal(found.log_joint));
  SET_VECTOR_ELT(result, 5, Rf_ScalarReal(found.distance));
  SET_VECTOR_ELT(result, 6, Rf_ScalarReal(found.share));
  UNPROTECT(1);
  return found.outcome == LOGISTIC_INTERRUPTED ? R_NilValue : result;
}

/* L, its gradient and minus its Hessian (full) at one w: for tests and for
 * diagnosis. */
SEXP C_logistic_derivatives(SEXP list, SEXP w) {
  const logistic_data data = unpack_data(list);
  const size_t p = data.p;
  if (TYPEOF(w) != REALSXP || (size_t)XLENGTH(w) != p)
    Rf_error("`w` must be %.0f numbers", (double)p);
  const char *names[] = {"value", "gradient", "hessian", ""};
  SEXP result = PROTECT(Rf_mkNamed(VECSXP, names));
  SEXP gradient = Rf_allocVector(REALSXP, (R_xlen_t)p);
  SET_VECTOR_ELT(result, 1, gradient);
  SEXP hessian = Rf_allocMatrix(REALSXP, (int)p, (int)p);
  SET_VECTOR_ELT(result, 2, hessian);
  double *h = REAL(hessian);
  const double value = logistic_evaluate(&data, REAL(w), REAL(gradient), h,
                                         work_of(logistic_work_size(p)));
  for (size_t j = 0; j < p; j++)
    for (size_t i = j + 1; i < p; i++)
      h[j + p * i] = h[i + p * j];
  SET_VECTOR_ELT(result, 0, Rf_ScalarReal(value));
  UNPROTECT(1);
  return result;
}

/* w: p x draws; result: draws x n. */
static void fill_predictors(const logistic_data *data, const double *w,
                            size_t draws, double *result) {
  double *by_draw = work_of(args_product(data->p, draws));
  for (size_t s = 0; s < draws; s++)
    for (size_t j = 0; j < data->p; j++)
      by_draw[s + draws * j] = w[data->p * s + j];
  products_predictors(data->x, data->n, data->p, by_draw, draws, data->offset,
                      result);
}

/* w: p x draws.  what: 0 log joint (draws), 1 log likelihood of each observation
 * without the binomial coefficients (draws x n), 2 linear predictor (draws x
 * n). */
SEXP C_logistic_draws(SEXP list, SEXP w, SEXP what) {
  const logistic_data data = unpack_data(list);
  const size_t kind = args_scalar_count(what, "what", 0);
  size_t rows, draws;
  args_matrix(w, "w", &rows, &draws);
  if (rows != data.p)
    Rf_error("`w` must have a row a coefficient");
  if (kind == 0) {
    SEXP values = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)draws));
    double *work = work_of(logistic_work_size(data.p));
    for (size_t s = 0; s < draws; s++) {
      if (s % 64 == 0)
        R_CheckUserInterrupt();
      REAL(values)
      [s] = logistic_evaluate(&data, REAL(w) + data.p * s, NULL, NULL, work);
    }
    UNPROTECT(1);
    return values;
  }
  args_product(draws, data.n);
  SEXP result = PROTECT(Rf_allocMatrix(REALSXP, (int)draws, (int)data.n));
  if (kind != 1 && data.x) {
    fill_predictors(&data, REAL(w), draws, REAL(result));
    UNPROTECT(1);
    return result;
  }
  double *eta = work_of(args_product(LOGISTIC_BLOCK, draws));
  logistic_by_row(&data, kind == 1, REAL(w), draws, REAL(result), eta);
  UNPROTECT(1);
  return result;
}

/* s <= m; where latent variables are drawn, whole, and m small enough for a loop. */
static void check_counts(const logistic_data *data, int augmented) {
  for (size_t i = 0; i < data->n; i++) {
    const double s = data->success[i], m = data->total[i];
    if (!(s >= 0.0 && s <= m &&
          (!augmented || (m <= INT_MAX && floor(s) == s && floor(m) == m))))
      Rf_error("`success` and `total` must be counts");
  }
}

/* data: list(density, map, precision_factor, every); state: list(sweep, w,
 * counts, leap). */
SEXP C_logistic_sweeps(SEXP list, SEXP state_list, SEXP n, SEXP control_list) {
  logistic_gibbs_data data = {0};
  data.density = unpack_data(args_element(list, "density"));
  const size_t p = data.density.p;
  data.map = args_doubles(list, "map", p);
  data.factor = args_doubles(list, "precision_factor", args_product(p, p));
  data.every = (double)args_count(list, "every", 0);
  check_counts(&data.density, data.every > 0.0);
  const scan_control control = args_control(control_list);
  SEXP copy = PROTECT(scan_copy_state(state_list));
  const logistic_gibbs_state state = {
    args_doubles(copy, "w", p), args_doubles(copy, "counts", 4),
    args_doubles(copy, "leap", 1), args_doubles(copy, "sweep", 1)};
  const size_t size = logistic_gibbs_work_size(&data);
  if (size == 0)
    scan_stop(STATUS_NO_MEMORY);
  logistic_gibbs model;
  logistic_gibbs_open(&model, &data, &state, R_alloc(size, 1));
  const scan_model scan = {&model, logistic_gibbs_sweep, logistic_gibbs_record};
  SEXP result = scan_segment(&scan, control, n, copy, p);
  UNPROTECT(1);
  return result;
}

static int all_positive(const double *x, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!(x[i] > 0.0))
      return 0;
  return 1;
}

/* x: a matrix, or list(n, p, start, row, value) with columns one after another;
 * counts: n numbers.  Returns list(mean, sd, squares, finite), each with an
 * element a column. */
SEXP C_design_columns(SEXP x, SEXP counts) {
  size_t n, p;
  const int *start = NULL, *row = NULL;
  const double *value;
  if (TYPEOF(x) == VECSXP) {
    n = args_count(x, "n", 1);
    p = args_count(x, "p", 0);
    const compressed columns = args_compressed(x, "start", "row", p, n, 1);
    start = columns.start;
    row = columns.index;
    value = args_doubles(x, "value", columns.stored);
  } else {
    args_matrix(x, "x", &n, &p);
    value = REAL(x);
  }
  if (n == 0)
    Rf_error("`x` must have rows");
  if (TYPEOF(counts) != REALSXP || (size_t)XLENGTH(counts) != n)
    Rf_error("`counts` must be %.0f numbers", (double)n);
  const double *weights = all_positive(REAL(counts), n) ? NULL : REAL(counts);
  const char *names[] = {"mean", "sd", "squares", "finite", ""};
  SEXP result = PROTECT(Rf_mkNamed(VECSXP, names));
  for (int k = 0; k < 4; k++)
    SET_VECTOR_ELT(result, k,
                   Rf_allocVector(k < 3 ? REALSXP : LGLSXP, (R_xlen_t)p));
  for (size_t j = 0; j < p; j++) {
    const size_t from = start ? (size_t)start[j] : n * j;
    const size_t stored = start ? (size_t)start[j + 1] - from : n;
    const column_summary column = columns_describe(
      value + from, row ? row + from : NULL, stored, weights, n);
    REAL(VECTOR_ELT(result, 0))[j] = column.mean;
    REAL(VECTOR_ELT(result, 1))[j] = column.sd;
    REAL(VECTOR_ELT(result, 2))[j] = column.squares;
    LOGICAL(VECTOR_ELT(result, 3))[j] = column.finite;
  }
  UNPROTECT(1);
  return result;
}
