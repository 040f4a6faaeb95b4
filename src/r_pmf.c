/* .Call entries of Poisson factorisation: unpack, call the core, pack. */
#include <R.h>
#include <R_ext/Random.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "numeric/rmath.h"
#include "pmf/pmf.h"
#include "r_args.h"
#include "r_scan.h"
#include "r_store.h"
#include "routines.h"

/* ---- the data ---------------------------------------------------------- */

/* list(start, index, value) */
static pmf_counts unpack_counts(SEXP list, size_t rows, size_t partners) {
  pmf_counts counts = {.rows = rows, .partners = partners};
  const compressed all =
    args_compressed(list, "start", "index", rows, partners, 0);
  counts.start = all.start;
  counts.index = all.index;
  counts.value = args_doubles(list, "value", all.stored);
  for (size_t e = 0; e < all.stored; e++)
    if (!(counts.value[e] >= 1.0 && counts.value[e] == floor(counts.value[e]) &&
          counts.value[e] < 9007199254740992.0))
      Rf_error("`value` must hold whole numbers of at least 1");
  return counts;
}

/* a, a', b' of each side; a' may be infinite. */
static void unpack_prior(SEXP list, pmf_data *data) {
  const double *x = args_doubles(list, "prior", 6);
  for (int which = 0; which < 2; which++) {
    const double *own = x + 3 * which;
    if (!(own[0] > 0.0 && own[1] > 0.0 && own[2] > 0.0 && isfinite(own[0]) &&
          isfinite(own[2])))
      Rf_error("`prior` must hold positive numbers");
    data->prior[which] = (pmf_prior){own[0], own[1], own[2]};
  }
}

static const int *unpack_codes(SEXP list, const char *name, size_t length,
                               size_t size) {
  const int *code = args_integers(list, name, length);
  for (size_t c = 0; c < length; c++)
    if (code[c] < 0 || (size_t)code[c] >= size)
      Rf_error("`%s` must lie between 0 and %.0f", name, (double)size - 1.0);
  return code;
}

/* n, m, size, prior, users */
static pmf_data unpack_users(SEXP list) {
  pmf_data data = {0};
  data.n = args_count(list, "n", 1);
  data.m = args_count(list, "m", 1);
  data.k = args_count(list, "size", 1);
  if (data.n > INT_MAX - 1 || data.m > INT_MAX - 1 || data.k > 1024)
    Rf_error("`n`, `m` or `size` is too large");
  args_product(data.n + data.m, data.k * sizeof(double));
  unpack_prior(list, &data);
  data.counts[0] = unpack_counts(args_element(list, "users"), data.n, data.m);
  return data;
}

static pmf_data unpack_data(SEXP list) {
  pmf_data data = unpack_users(list);
  data.counts[1] = unpack_counts(args_element(list, "items"), data.m, data.n);
  const size_t stored = (size_t)data.counts[0].start[data.n];
  if (stored != (size_t)data.counts[1].start[data.m])
    Rf_error("`users` and `items` must hold the same counts");
  SEXP cells = args_element(list, "cells");
  data.cells = (size_t)Rf_xlength(args_element(cells, "user"));
  data.cell_user = unpack_codes(cells, "user", data.cells, data.n);
  data.cell_item = unpack_codes(cells, "item", data.cells, data.m);
  data.keep[0] = args_count(list, "keep_theta", 0) > 0;
  data.keep[1] = args_count(list, "keep_beta", 0) > 0;
  for (size_t e = 0; e < stored; e++)
    data.log_const += lgammafn(data.counts[0].value[e] + 1.0);
  return data;
}

static pmf_state unpack_state(SEXP list, const pmf_data *data) {
  pmf_state state;
  state.u = args_doubles(list, "u", data->n * data->k);
  state.v = args_doubles(list, "v", data->m * data->k);
  state.rate_u = args_doubles(list, "rate_u", data->n);
  state.rate_v = args_doubles(list, "rate_v", data->m);
  state.kept = args_doubles(list, "kept", 1);
  return state;
}

static void *work_space(const pmf_data *data, int threads) {
  const size_t size = pmf_work_size(data, threads);
  if (size == 0)
    scan_stop(STATUS_NO_MEMORY);
  return memset(R_alloc(size, 1), 0, size);
}

SEXP C_pmf_sweeps(SEXP data_list, SEXP state_list, SEXP n, SEXP control_list) {
  const pmf_data data = unpack_data(data_list);
  const scan_control control = args_control(control_list);
  SEXP copy = PROTECT(store_copy_state(state_list));
  const pmf_state state = unpack_state(copy, &data);
  pmf_model model;
  pmf_open(&model, &data, &state, work_space(&data, control.threads),
           control.threads);
  const double sweep = args_number(copy, "sweep");
  const size_t rows = scan_rows(sweep, args_scalar_count(n, "n", 0), &control);
  model.store = store_prepare(copy, args_count(data_list, "cap", 0), rows,
                              args_product(data.n + data.m, data.k), 0);
  const scan_model scan = {&model, pmf_sweep, pmf_record};
  SEXP result = scan_segment(&scan, control, n, copy, pmf_columns(&data));
  UNPROTECT(1);
  return result;
}

/* Factors of new users (k x n) after `sweeps` sweeps from u (k x n), given the items
 * v (k x m).  data: list(n, m, size, prior, users). */
SEXP C_pmf_fold_in(SEXP data_list, SEXP u, SEXP v, SEXP sweeps) {
  const pmf_data data = unpack_users(data_list);
  const size_t count = args_scalar_count(sweeps, "sweeps", 1);
  if (count > 1000000)
    Rf_error("`sweeps` must be at most 1000000");
  if (TYPEOF(u) != REALSXP || (size_t)XLENGTH(u) != data.n * data.k ||
      TYPEOF(v) != REALSXP || (size_t)XLENGTH(v) != data.m * data.k)
    Rf_error("`u` and `v` must have a number for each factor");
  SEXP drawn = PROTECT(Rf_duplicate(u));
  double *rate = (double *)(void *)R_alloc(data.n, sizeof(double));
  for (size_t r = 0; r < data.n; r++)
    rate[r] = data.prior[0].rate_mean;
  const pmf_state state = {.u = REAL(drawn), .v = REAL(v), .rate_u = rate};
  pmf_model model;
  pmf_open(&model, &data, &state, work_space(&data, 1), 1);
  const scan_control control = {.threads = 1};
  status outcome = STATUS_OK;
  GetRNGstate();
  for (size_t s = 0; s < count && outcome == STATUS_OK; s++)
    outcome = pmf_draw_side(&model, 0, philox_key_from_r(), &control);
  PutRNGstate();
  if (outcome != STATUS_OK)
    scan_stop(outcome);
  UNPROTECT(1);
  return drawn;
}
