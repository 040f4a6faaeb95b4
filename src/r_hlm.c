/* .Call entries of hierarchical linear regression: unpack, call the core, pack. */
#include <R.h>

#include <limits.h>
#include <math.h>
#include <string.h>

#include "hlm/hlm.h"
#include "hlm/hlm_crossed.h"
#include "r_args.h"
#include "r_hlm_bars.h"
#include "r_scan.h"
#include "routines.h"

/* The reduced rows: start, bar (z), fixed (x), response (y), and the pool. */
static void unpack_rows(SEXP list, hlm_data *data) {
  data->start = hlm_group_starts(list, "start", data->groups);
  for (size_t j = 0; j < data->groups; j++)
    if ((size_t)(data->start[j + 1] - data->start[j]) > data->q)
      Rf_error("a group must have 0 to q reduced rows");
  const size_t rows = (size_t)data->start[data->groups];
  data->z = args_finite(list, "bar", args_product(rows, data->q));
  data->x = args_finite(list, "fixed", args_product(rows, data->p));
  data->y = args_finite(list, "response", rows);
  data->pool = (size_t)Rf_xlength(args_element(list, "pool_y"));
  data->pool_y = args_finite(list, "pool_y", data->pool);
  data->pool_x = args_finite(list, "pool_x", args_product(data->pool, data->p));
  data->rss = args_not_negative(list, "rss");
}

static hlm_data unpack_data(SEXP list) {
  hlm_data data = hlm_unpack_model(list);
  if (data.q == 0)
    Rf_error("`q` must be 1 or more");
  unpack_rows(list, &data);
  data.n = args_not_negative(list, "n");
  data.log_weights = args_number(list, "log_weights");
  return data;
}

static void open_model(hlm_model *model, const hlm_data *data,
                       const hlm_state *state) {
  const size_t size = hlm_work_size(data);
  if (size == 0)
    scan_stop(STATUS_NO_MEMORY);
  hlm_open(model, data, state, R_alloc(size, 1));
}

SEXP C_hlm_sweeps(SEXP data_list, SEXP state_list, SEXP n, SEXP control_list) {
  const hlm_data data = unpack_data(data_list);
  const scan_control control = args_control(control_list);
  SEXP copy = PROTECT(scan_copy_state(state_list));
  const hlm_state state = hlm_unpack_state(copy, &data, 1, data.p);
  hlm_model model;
  open_model(&model, &data, &state);
  const scan_model scan = {&model, hlm_sweep, hlm_record};
  SEXP result = scan_segment(&scan, control, n, copy, hlm_columns(&data));
  UNPROTECT(1);
  return result;
}

/* ---- several bars ------------------------------------------------------------ */

static hlm_table unpack_table(SEXP list, size_t rows, size_t columns) {
  hlm_table table;
  table.at = args_compressed(list, "start", "index", rows, columns, 1);
  table.value = args_finite(list, "value", table.at.stored);
  return table;
}

static void unpack_bars(SEXP list, hlm_crossed_data *data) {
  hlm_data *bar = (hlm_data *)R_alloc(data->bars, sizeof *bar);
  size_t *first = (size_t *)R_alloc(data->bars + 1, sizeof *first);
  for (size_t f = 0; f < data->bars; f++) {
    bar[f] = unpack_data(args_item(list, "bars", f, data->bars));
    if (bar[f].p != data->p || bar[f].collapsed)
      Rf_error("the bars must have the same fixed effects");
    first[f] = hlm_deviations(bar, f);
  }
  first[data->bars] = hlm_deviations(bar, data->bars);
  data->bar = bar;
  data->first = first;
}

static hlm_crossed_data unpack_crossed(SEXP list) {
  hlm_crossed_data data = {.bars = args_count(list, "count", 1),
                           .p = args_count(list, "p", 0),
                           .n = args_count(list, "n", 1),
                           .known = args_flag(list, "known"),
                           .keep = args_flag(list, "keep"),
                           .shape = args_not_negative(list, "shape"),
                           .rate = args_not_negative(list, "rate"),
                           .log_weights = args_number(list, "log_weights")};
  unpack_bars(list, &data);
  const size_t all = data.first[data.bars];
  hlm_table *cross = (hlm_table *)R_alloc(data.bars, sizeof *cross);
  const double **within = (const double **)R_alloc(data.bars, sizeof *within);
  const double **right = (const double **)R_alloc(data.bars, sizeof *right);
  for (size_t f = 0; f < data.bars; f++) {
    SEXP own = args_item(list, "cross", f, data.bars);
    cross[f] =
      unpack_table(own, (size_t)data.bar[f].start[data.bar[f].groups], all);
    within[f] = args_finite(own, "within", args_product(data.p, all));
    right[f] = args_finite(own, "right", data.p);
  }
  data.cross = cross;
  data.within = within;
  data.right = right;
  data.rows = unpack_table(args_element(list, "rows"), data.n, all);
  data.x = args_finite(list, "x", args_product(data.p, data.n));
  data.y = args_finite(list, "y", data.n);
  data.nestings = hlm_unpack_nestings(list, data.bar, data.bars, &data.nesting);
  data.joint = hlm_unpack_joint(list, data.bar, data.bars, data.n, data.x);
  return data;
}

SEXP C_hlm_crossed_sweeps(SEXP data_list, SEXP state_list, SEXP n,
                          SEXP control_list) {
  const hlm_crossed_data data = unpack_crossed(data_list);
  const scan_control control = args_control(control_list);
  SEXP copy = PROTECT(scan_copy_state(state_list));
  const hlm_state state = hlm_unpack_state(copy, data.bar, data.bars, data.p);
  hlm_model *bar = (hlm_model *)R_alloc(data.bars, sizeof *bar);
  hlm_crossed model;
  hlm_crossed_open(&model, &data, &state, bar,
                   hlm_work_of_bars(data.bar, data.bars),
                   scan_work(hlm_crossed_work_size(&data)));
  const scan_model scan = {&model, hlm_crossed_sweep, hlm_crossed_record};
  SEXP result =
    scan_segment(&scan, control, n, copy, hlm_crossed_columns(&data));
  UNPROTECT(1);
  return result;
}

/* ---- deviations ------------------------------------------------------------------ */

static const double *doubles(SEXP x, const char *name, size_t length) {
  if (TYPEOF(x) != REALSXP || (size_t)XLENGTH(x) != length)
    Rf_error("`%s` must be %.0f numbers", name, (double)length);
  return REAL(x);
}

/* The deviations of the groups given draws: b (p x S), factor (q x q x S), beta
 * (S).  list(mean, root): q x J x S and q x q x J x S. */
SEXP C_hlm_conditionals(SEXP data_list, SEXP b, SEXP factor, SEXP beta) {
  const hlm_data data = unpack_data(data_list);
  const size_t count = (size_t)Rf_xlength(beta), square = data.q * data.q;
  const size_t all = args_product(args_product(square, data.groups), count);
  hlm_model model;
  const hlm_state none = {0};
  open_model(&model, &data, &none);
  const char *names[] = {"mean", "root", ""};
  SEXP result = PROTECT(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(result, 0, Rf_allocVector(REALSXP, (R_xlen_t)(all / data.q)));
  SET_VECTOR_ELT(result, 1, Rf_allocVector(REALSXP, (R_xlen_t)all));
  const status outcome = hlm_conditionals(
    &model, count, doubles(b, "b", args_product(data.p, count)),
    doubles(factor, "factor", args_product(square, count)),
    doubles(beta, "beta", count), REAL(VECTOR_ELT(result, 0)),
    REAL(VECTOR_ELT(result, 1)));
  if (outcome != STATUS_OK)
    scan_stop(outcome);
  UNPROTECT(1);
  return result;
}

/* The log marginal likelihood at points: factor (q x q x S), log_beta (S). */
SEXP C_hlm_log_marginal(SEXP data_list, SEXP factor, SEXP log_beta) {
  const hlm_data data = unpack_data(data_list);
  const size_t count = (size_t)Rf_xlength(log_beta);
  const double *factors =
    doubles(factor, "factor", args_product(data.q * data.q, count));
  const double *at = doubles(log_beta, "log_beta", count);
  hlm_model model;
  const hlm_state none = {0};
  open_model(&model, &data, &none);
  SEXP result = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)count));
  hlm_log_marginal(&model, count, factors, at, REAL(result));
  UNPROTECT(1);
  return result;
}
