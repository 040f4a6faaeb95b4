/* .Call entry of linear regression: unpack, call the core, pack. */
#include <R.h>

#include "lm/lm.h"
#include "r_args.h"
#include "r_scan.h"
#include "routines.h"

/* Elements that must be positive. */
static const double *positives(SEXP list, const char *name, size_t length) {
  const double *x = args_doubles(list, name, length);
  for (size_t i = 0; i < length; i++)
    if (!(x[i] > 0.0))
      Rf_error("`%s` must be positive", name);
  return x;
}

/* list(x, offset, weight), or NULL where no response is drawn. */
static lm_missing unpack_missing(SEXP list, size_t p) {
  lm_missing missing = {0};
  if (list == R_NilValue)
    return missing;
  size_t columns;
  args_matrix(args_element(list, "x"), "x", &missing.count, &columns);
  if (columns != p)
    Rf_error("`x` must have a column a predictor");
  missing.x = REAL(args_element(list, "x"));
  missing.offset = args_doubles(list, "offset", missing.count);
  missing.weight = positives(list, "weight", missing.count);
  return missing;
}

static lm_data unpack_data(SEXP list) {
  lm_data data = {0};
  args_matrix(args_element(list, "vectors"), "vectors", &data.p, &data.r);
  if (data.r > data.p)
    Rf_error("`vectors` has more columns than rows");
  data.vectors = REAL(args_element(list, "vectors"));
  data.conjugate = args_count(list, "conjugate", 0) > 0;
  data.collapsed = args_count(list, "collapsed", 0) > 0;
  data.intercept = args_count(list, "intercept", 0) > 0;
  data.intercept_at = args_count(list, "intercept_at", 0);
  if (data.intercept && data.intercept_at > data.p)
    Rf_error("`intercept_at` is out of range");
  data.n = args_positive(list, "n");
  data.log_weights = args_number(list, "log_weights");
  data.c = args_positive(list, "c");
  data.d = args_positive(list, "d");
  data.horseshoe = args_count(list, "horseshoe", 0) > 0;
  if (data.horseshoe) {
    data.tau = args_positive(list, "tau");
  } else if (data.conjugate) {
    data.lambda = args_positive(list, "lambda");
  } else {
    data.a = args_positive(list, "a");
    data.b = args_positive(list, "b");
  }
  data.total = args_positive(list, "total");
  data.centre = args_number(list, "centre");
  data.prior_gap = args_number(list, "prior_gap");
  data.prior_precision = args_not_negative(list, "prior_precision");
  data.rss = args_not_negative(list, "rss");
  data.eigenvalue = positives(list, "eigenvalue", data.r);
  data.estimate = args_doubles(list, "estimate", data.r);
  data.scale = positives(list, "scale", data.p);
  data.mean = args_doubles(list, "mean", data.p);
  if (data.horseshoe && data.r == data.p)
    data.gram = args_doubles(list, "gram", args_product(data.p, data.p));
  data.missing = unpack_missing(args_element(list, "missing"), data.p);
  return data;
}

static lm_state unpack_state(SEXP list, const lm_data *data) {
  lm_state state;
  state.lambda = args_doubles(list, "lambda", 1);
  state.beta = args_doubles(list, "beta", 1);
  if (!(*state.lambda > 0.0 && *state.beta > 0.0))
    Rf_error("`lambda` and `beta` must be positive");
  state.alpha = args_doubles(list, "alpha", 1);
  state.theta = args_doubles(list, "theta", data->r);
  state.free = args_doubles(list, "free", data->r < data->p ? data->p : 0);
  const size_t scales = data->horseshoe ? data->p : 0;
  state.local = args_doubles(list, "local", scales);
  state.local_aux = args_doubles(list, "local_aux", scales);
  return state;
}

SEXP C_lm_sweeps(SEXP data_list, SEXP state_list, SEXP n, SEXP control_list) {
  const lm_data data = unpack_data(data_list);
  const scan_control control = args_control(control_list);
  SEXP copy = PROTECT(scan_copy_state(state_list));
  const lm_state state = unpack_state(copy, &data);
  const size_t size = lm_work_size(&data);
  if (size == 0)
    scan_stop(STATUS_NO_MEMORY);
  lm_model model;
  lm_open(&model, &data, &state, R_alloc(size, 1));
  const scan_model scan = {&model, lm_sweep, lm_record};
  SEXP result = scan_segment(&scan, control, n, copy, lm_columns(&data));
  UNPROTECT(1);
  return result;
}
