/* .Call entries of hierarchical linear regression: unpack, call the core, pack. */
#include <R.h>

#include <limits.h>
#include <math.h>
#include <string.h>

#include "hlm/hlm.h"
#include "hlm/hlm_binomial.h"
#include "hlm/hlm_categories.h"
#include "hlm/hlm_count.h"
#include "hlm/hlm_crossed.h"
#include "hlm/hlm_latent.h"
#include "hlm/hlm_ordinal.h"
#include "hlm/hlm_t.h"
#include "r_args.h"
#include "r_scan.h"
#include "routines.h"

static int flag(SEXP list, const char *name) {
  return args_count(list, name, 0) > 0;
}

/* Of a density that is not proper a slice step would not end. */
static double not_negative(SEXP list, const char *name) {
  const double value = args_number(list, name);
  if (!(value >= 0.0 && R_FINITE(value)))
    Rf_error("`%s` must be 0 or more, and finite", name);
  return value;
}

static double positive(SEXP list, const char *name) {
  const double value = not_negative(list, name);
  if (!(value > 0.0))
    Rf_error("`%s` must be positive", name);
  return value;
}

static double *finite_numbers(SEXP list, const char *name, size_t length) {
  double *x = args_doubles(list, name, length);
  for (size_t i = 0; i < length; i++)
    if (!R_FINITE(x[i]))
      Rf_error("`%s` must be finite", name);
  return x;
}

/* NULL for no elements */
static const double *optional_numbers(SEXP list, const char *name, size_t n) {
  return Rf_xlength(args_element(list, name)) > 0
           ? finite_numbers(list, name, n)
           : NULL;
}

/* A number of a state, which a sweep may change. */
static double *positive_parameter(SEXP state, const char *name) {
  double *value = args_doubles(state, name, 1);
  if (!(*value > 0.0 && R_FINITE(*value)))
    Rf_error("`%s` must be positive", name);
  return value;
}

/* Where the rows of each group begin, and the end of the last. */
static const int *group_starts(SEXP list, const char *name, size_t groups) {
  const int *start = args_integers(list, name, groups + 1);
  if (start[0] != 0)
    Rf_error("`%s` must begin with 0", name);
  for (size_t j = 0; j < groups; j++)
    if (start[j + 1] < start[j])
      Rf_error("`%s` must not decrease", name);
  return start;
}

/* The reduced rows: start, bar (z), fixed (x), response (y), and the pool. */
static void unpack_rows(SEXP list, hlm_data *data) {
  data->start = group_starts(list, "start", data->groups);
  for (size_t j = 0; j < data->groups; j++)
    if ((size_t)(data->start[j + 1] - data->start[j]) > data->q)
      Rf_error("a group must have 0 to q reduced rows");
  const size_t rows = (size_t)data->start[data->groups];
  data->z = finite_numbers(list, "bar", args_product(rows, data->q));
  data->x = finite_numbers(list, "fixed", args_product(rows, data->p));
  data->y = finite_numbers(list, "response", rows);
  data->pool = (size_t)Rf_xlength(args_element(list, "pool_y"));
  data->pool_y = finite_numbers(list, "pool_y", data->pool);
  data->pool_x =
    finite_numbers(list, "pool_x", args_product(data->pool, data->p));
  data->rss = not_negative(list, "rss");
}

static void unpack_prior(SEXP list, hlm_data *data) {
  data->mean = finite_numbers(list, "mean", data->p);
  data->precision = finite_numbers(list, "precision", data->p);
  for (size_t j = 0; j < data->p; j++)
    if (data->precision[j] < 0.0)
      Rf_error("`precision` must be 0 or more");
  data->df = positive(list, "df");
  data->scale =
    finite_numbers(list, "scale", data->half_t ? data->q : data->q * data->q);
  for (size_t k = 0; k < data->q; k++)
    if (!(data->scale[data->half_t ? k : k + data->q * k] > 0.0))
      Rf_error("`scale` must be positive");
  data->shape = not_negative(list, "shape");
  data->rate = not_negative(list, "rate");
}

/* All but the rows. */
static hlm_data unpack_model(SEXP list) {
  hlm_data data = {0};
  data.q = args_count(list, "q", 0);
  data.p = args_count(list, "p", 0);
  data.groups = args_count(list, "groups", 1);
  if (data.q > 1024 || data.p > 32768 || data.groups > INT_MAX - 1)
    Rf_error("`q`, `p` or `groups` is too large");
  args_product(args_product(data.q, data.q), data.groups);
  data.diagonal = flag(list, "diagonal");
  data.known = flag(list, "known");
  data.half_t = flag(list, "half_t");
  data.collapsed = flag(list, "collapsed");
  data.keep = flag(list, "keep");
  unpack_prior(list, &data);
  data.unit = finite_numbers(list, "unit", data.p);
  data.column_mean = finite_numbers(list, "column_mean", data.p);
  data.centre = args_number(list, "centre");
  data.intercept_at = args_count(list, "intercept_at", 0);
  data.fixed_at = args_integers(list, "fixed_at", data.q);
  for (size_t k = 0; k < data.q; k++)
    if (data.fixed_at[k] >= 0 && (size_t)data.fixed_at[k] >= data.p)
      Rf_error("`fixed_at` is out of range");
  return data;
}

static hlm_data unpack_data(SEXP list) {
  hlm_data data = unpack_model(list);
  if (data.q == 0)
    Rf_error("`q` must be 1 or more");
  unpack_rows(list, &data);
  data.n = not_negative(list, "n");
  data.log_weights = args_number(list, "log_weights");
  return data;
}

/* The deviations of all bars. */
static size_t deviation_count(const hlm_data *bar, size_t bars) {
  size_t sum = 0;
  for (size_t f = 0; f < bars; f++)
    sum += args_product(bar[f].q, bar[f].groups);
  if (sum > INT_MAX)
    Rf_error("too many deviations");
  return sum;
}

static hlm_state unpack_bars_state(SEXP list, const hlm_data *bar, size_t bars,
                                   size_t p) {
  size_t factors = 0;
  for (size_t f = 0; f < bars; f++)
    factors += bar[f].q * bar[f].q;
  hlm_state state;
  state.factor = finite_numbers(list, "factor", factors);
  state.beta = positive_parameter(list, "beta");
  state.b = finite_numbers(list, "b", p);
  state.u = finite_numbers(list, "u", deviation_count(bar, bars));
  const double *factor = state.factor;
  for (size_t f = 0; f < bars; f++) {
    const size_t q = bar[f].q;
    for (size_t k = 0; k < q; k++)
      if (!(factor[k + q * k] > 0.0))
        Rf_error("`factor` must have a positive diagonal");
    factor += q * q;
  }
  return state;
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
  const hlm_state state = unpack_bars_state(copy, &data, 1, data.p);
  hlm_model model;
  open_model(&model, &data, &state);
  const scan_model scan = {&model, hlm_sweep, hlm_record};
  SEXP result = scan_segment(&scan, control, n, copy, hlm_columns(&data));
  UNPROTECT(1);
  return result;
}

/* ---- several bars ------------------------------------------------------------ */

static SEXP list_item(SEXP list, const char *name, size_t at, size_t length) {
  SEXP all = args_element(list, name);
  if (TYPEOF(all) != VECSXP || (size_t)XLENGTH(all) != length)
    Rf_error("`%s` must be a list of %.0f elements", name, (double)length);
  return VECTOR_ELT(all, (R_xlen_t)at);
}

static hlm_table unpack_table(SEXP list, size_t rows, size_t columns) {
  hlm_table table;
  table.at = args_compressed(list, "start", "index", rows, columns, 1);
  table.value = finite_numbers(list, "value", table.at.stored);
  return table;
}

static hlm_nesting unpack_nesting(SEXP list, const hlm_data *bar, size_t bars) {
  hlm_nesting nest;
  nest.outer = args_count(list, "outer", 0);
  nest.inner = args_count(list, "inner", 0);
  if (nest.outer >= bars || nest.inner >= bars)
    Rf_error("`outer` or `inner` is out of range");
  const hlm_data *outer = bar + nest.outer, *inner = bar + nest.inner;
  nest.shared = (size_t)Rf_xlength(args_element(list, "outer_term"));
  nest.outer_term = args_integers(list, "outer_term", nest.shared);
  nest.inner_term = args_integers(list, "inner_term", nest.shared);
  nest.parent = args_integers(list, "parent", inner->groups);
  for (size_t k = 0; k < nest.shared; k++)
    if (nest.outer_term[k] < 0 || (size_t)nest.outer_term[k] >= outer->q ||
        nest.inner_term[k] < 0 || (size_t)nest.inner_term[k] >= inner->q)
      Rf_error("a shared term is out of range");
  for (size_t j = 0; j < inner->groups; j++)
    if (nest.parent[j] < 0 || (size_t)nest.parent[j] >= outer->groups)
      Rf_error("`parent` is out of range");
  return nest;
}

/* Element `nesting`; returns their number. */
static size_t unpack_nestings(SEXP list, const hlm_data *bar, size_t bars,
                              const hlm_nesting **to) {
  const size_t count = (size_t)Rf_xlength(args_element(list, "nesting"));
  hlm_nesting *nesting = (hlm_nesting *)R_alloc(count + 1, sizeof *nesting);
  for (size_t i = 0; i < count; i++)
    nesting[i] =
      unpack_nesting(list_item(list, "nesting", i, count), bar, bars);
  *to = nesting;
  return count;
}

static void unpack_bars(SEXP list, hlm_crossed_data *data) {
  hlm_data *bar = (hlm_data *)R_alloc(data->bars, sizeof *bar);
  size_t *first = (size_t *)R_alloc(data->bars + 1, sizeof *first);
  for (size_t f = 0; f < data->bars; f++) {
    bar[f] = unpack_data(list_item(list, "bars", f, data->bars));
    if (bar[f].p != data->p || bar[f].collapsed)
      Rf_error("the bars must have the same fixed effects");
    first[f] = deviation_count(bar, f);
  }
  first[data->bars] = deviation_count(bar, data->bars);
  data->bar = bar;
  data->first = first;
}

/* Element `joint`, which may be absent: place, z (of all bars), deviation, and
 * the entries of each place and the factor by start and index. */
static hlm_joint_data unpack_joint(SEXP list, const hlm_data *bar, size_t bars,
                                   size_t n, const double *x) {
  hlm_joint_data data = {0};
  SEXP own = args_optional(list, "joint");
  if (own == NULL)
    return data;
  data.bars = bars;
  data.bar = bar;
  data.p = bar->p;
  data.n = n;
  data.x = x;
  data.precision = bar->precision;
  data.deviations = deviation_count(bar, bars);
  for (size_t f = 0; f < bars; f++)
    data.terms += bar[f].q;
  const size_t entries = args_product(data.terms, n);
  const size_t all = data.deviations + data.p;
  data.z = finite_numbers(own, "z", entries);
  data.place = args_integers(own, "place", entries);
  data.deviation = args_integers(own, "deviation", data.deviations);
  data.entries =
    args_compressed(own, "entry_start", "entry", data.deviations, entries, 1);
  data.factor = args_compressed(own, "factor_start", "factor_row", all, all, 1);
  for (size_t i = 0; i < entries; i++)
    if (data.place[i] < 0 || (size_t)data.place[i] >= data.deviations)
      Rf_error("`place` is out of range");
  for (size_t k = 0; k < data.deviations; k++)
    if (data.deviation[k] < 0 || (size_t)data.deviation[k] >= data.deviations)
      Rf_error("`deviation` is out of range");
  for (size_t k = 0; k < all; k++)
    if (data.factor.start[k] == data.factor.start[k + 1] ||
        (size_t)data.factor.index[data.factor.start[k]] != k)
      Rf_error("a column of the factor must begin with its diagonal");
  return data;
}

static hlm_crossed_data unpack_crossed(SEXP list) {
  hlm_crossed_data data = {.bars = args_count(list, "count", 1),
                           .p = args_count(list, "p", 0),
                           .n = args_count(list, "n", 1),
                           .known = flag(list, "known"),
                           .keep = flag(list, "keep"),
                           .shape = not_negative(list, "shape"),
                           .rate = not_negative(list, "rate"),
                           .log_weights = args_number(list, "log_weights")};
  unpack_bars(list, &data);
  const size_t all = data.first[data.bars];
  hlm_table *cross = (hlm_table *)R_alloc(data.bars, sizeof *cross);
  const double **within = (const double **)R_alloc(data.bars, sizeof *within);
  const double **right = (const double **)R_alloc(data.bars, sizeof *right);
  for (size_t f = 0; f < data.bars; f++) {
    SEXP own = list_item(list, "cross", f, data.bars);
    cross[f] =
      unpack_table(own, (size_t)data.bar[f].start[data.bar[f].groups], all);
    within[f] = finite_numbers(own, "within", args_product(data.p, all));
    right[f] = finite_numbers(own, "right", data.p);
  }
  data.cross = cross;
  data.within = within;
  data.right = right;
  data.rows = unpack_table(args_element(list, "rows"), data.n, all);
  data.x = finite_numbers(list, "x", args_product(data.p, data.n));
  data.y = finite_numbers(list, "y", data.n);
  data.nestings = unpack_nestings(list, data.bar, data.bars, &data.nesting);
  data.joint = unpack_joint(list, data.bar, data.bars, data.n, data.x);
  return data;
}

static void *work_of(size_t size) {
  if (size == 0)
    scan_stop(STATUS_NO_MEMORY);
  return R_alloc(size, 1);
}

SEXP C_hlm_crossed_sweeps(SEXP data_list, SEXP state_list, SEXP n,
                          SEXP control_list) {
  const hlm_crossed_data data = unpack_crossed(data_list);
  const scan_control control = args_control(control_list);
  SEXP copy = PROTECT(scan_copy_state(state_list));
  const hlm_state state = unpack_bars_state(copy, data.bar, data.bars, data.p);
  hlm_model *bar = (hlm_model *)R_alloc(data.bars, sizeof *bar);
  void **bar_work = (void **)R_alloc(data.bars, sizeof *bar_work);
  for (size_t f = 0; f < data.bars; f++)
    bar_work[f] = work_of(hlm_work_size(data.bar + f));
  hlm_crossed model;
  hlm_crossed_open(&model, &data, &state, bar, bar_work,
                   work_of(hlm_crossed_work_size(&data)));
  const scan_model scan = {&model, hlm_crossed_sweep, hlm_crossed_record};
  SEXP result =
    scan_segment(&scan, control, n, copy, hlm_crossed_columns(&data));
  UNPROTECT(1);
  return result;
}

/* ---- latent normal responses ------------------------------------------------- */

/* Whole numbers from `least` to INT_MAX. */
static const double *counts(SEXP list, const char *name, size_t n,
                            double least) {
  const double *x = args_doubles(list, name, n);
  for (size_t i = 0; i < n; i++)
    if (!(x[i] >= least && x[i] <= INT_MAX && x[i] == floor(x[i])))
      Rf_error("`%s` must be whole numbers", name);
  return x;
}

static void *open_binomial(SEXP list, size_t n) {
  hlm_binomial *own = (hlm_binomial *)R_alloc(1, sizeof *own);
  own->total = counts(list, "total", n, 1.0);
  own->success = counts(list, "success", n, 0.0);
  for (size_t i = 0; i < n; i++)
    if (own->success[i] > own->total[i])
      Rf_error("`success` must not exceed `total`");
  return own;
}

static void *open_ordinal(SEXP list, SEXP state, const hlm_latent_data *data) {
  if (data->p == 0)
    Rf_error("`p` must be 1 or more");
  hlm_ordinal *own = (hlm_ordinal *)R_alloc(1, sizeof *own);
  memset(own, 0, sizeof *own);
  cutpoints *o = &own->cutpoints;
  o->levels = args_count(list, "levels", 2);
  if (o->levels > 1024)
    Rf_error("`levels` is too large");
  o->count = data->n;
  o->sd = positive(list, "sd");
  o->code = counts(list, "code", data->n, 1.0);
  for (size_t i = 0; i < data->n; i++)
    if (o->code[i] > (double)o->levels)
      Rf_error("`code` must not exceed `levels`");
  o->weight = counts(list, "weight", data->n, 1.0);
  own->p = data->p - 1;
  own->mean = finite_numbers(list, "mean", own->p);
  own->b = finite_numbers(state, "b", data->p);
  own->theta = finite_numbers(state, "theta", o->levels - 1);
  for (size_t k = 1; k + 1 < o->levels; k++)
    if (!(own->theta[k] > own->theta[k - 1]))
      Rf_error("`theta` must increase");
  hlm_ordinal_open(own, work_of(hlm_ordinal_work_size(own)));
  return own;
}

/* Element `slopes` of t errors: at, shape and rate; the first may have no elements.
 * The precisions of the fixed effects, which are drawn, become a copy. */
static hlm_t_slopes unpack_slopes(SEXP list, SEXP state, hlm_data *bar) {
  hlm_t_slopes slopes = {0};
  slopes.count = (size_t)Rf_xlength(args_element(list, "at"));
  if (slopes.count == 0)
    return slopes;
  slopes.at = args_integers(list, "at", slopes.count);
  for (size_t k = 0; k < slopes.count; k++)
    if (slopes.at[k] < 0 || (size_t)slopes.at[k] >= bar->p)
      Rf_error("`at` is out of range");
  slopes.shape = positive(list, "shape");
  slopes.rate = positive(list, "rate");
  slopes.b = args_doubles(state, "b", bar->p);
  slopes.mean = bar->mean;
  slopes.precision = (double *)R_alloc(bar->p, sizeof(double));
  memcpy(slopes.precision, bar->precision, bar->p * sizeof(double));
  slopes.phi = positive_parameter(state, "lambda");
  bar->precision = slopes.precision;
  return slopes;
}

static hlm_t *open_t(SEXP list, SEXP state, hlm_latent_data *data,
                     hlm_data *bar) {
  hlm_t *own = (hlm_t *)R_alloc(1, sizeof *own);
  own->y = finite_numbers(list, "y", data->n);
  own->root = finite_numbers(list, "root", data->n);
  own->shape = positive(list, "shape");
  own->rate = positive(list, "rate");
  own->nu_known = flag(list, "nu_known");
  own->nu_shape = positive(list, "nu_shape");
  own->nu_rate = positive(list, "nu_rate");
  own->sigma = positive_parameter(state, "sigma");
  own->nu = positive_parameter(state, "nu");
  own->slopes = unpack_slopes(args_element(list, "slopes"), state, bar);
  if (own->slopes.count > 0 && data->bars > 1)
    Rf_error("slopes of unknown precision go with a single bar");
  hlm_t_open(own);
  return own;
}

/* The responses of element `type`.  A type with parameters keeps them in `state`, the
 * copy that is returned. */
static void open_response(SEXP list, SEXP state, hlm_latent_data *data,
                          hlm_data *bar) {
  SEXP name = args_element(list, "type");
  const char *type =
    Rf_isString(name) && XLENGTH(name) == 1 ? CHAR(STRING_ELT(name, 0)) : "";
  if (strcmp(type, "ordinal") == 0) {
    hlm_ordinal *own = open_ordinal(list, state, data);
    data->type = &own->type;
    data->response = own;
  } else if (strcmp(type, "logit") == 0 || strcmp(type, "probit") == 0) {
    data->type = strcmp(type, "logit") == 0 ? &hlm_logit : &hlm_probit;
    data->response = open_binomial(list, data->n);
  } else if (strcmp(type, "t") == 0) {
    hlm_t *own = open_t(list, state, data, bar);
    hlm_response *made = (hlm_response *)R_alloc(1, sizeof *made);
    *made = hlm_t_type(own);
    data->type = made;
    data->response = own;
  } else {
    Rf_error("no responses are of type \"%s\"", type);
  }
}

/* The first min(n_j, q) rows of each group are kept. */
static const int *kept_starts(const int *first, const hlm_data *data) {
  int *start = (int *)R_alloc(data->groups + 1, sizeof *start);
  start[0] = 0;
  for (size_t j = 0; j < data->groups; j++) {
    const int count = first[j + 1] - first[j];
    start[j + 1] = start[j] + ((size_t)count < data->q ? count : (int)data->q);
  }
  return start;
}

/* first, row and bar (z) */
static hlm_rows unpack_hlm_rows(SEXP list, const hlm_data *bar, size_t n) {
  hlm_rows rows = {group_starts(list, "first", bar->groups),
                   args_integers(list, "row", n),
                   finite_numbers(list, "bar", args_product(n, bar->q))};
  if ((size_t)rows.first[bar->groups] != n)
    Rf_error("each row must be in a group");
  char *seen = R_alloc(n + 1, 1);
  memset(seen, 0, n + 1);
  for (size_t at = 0; at < n; at++) {
    if (rows.row[at] < 0 || (size_t)rows.row[at] >= n || seen[rows.row[at]])
      Rf_error("`row` must have each row once");
    seen[rows.row[at]] = 1;
  }
  return rows;
}

static hlm_data *unpack_latent_bars(SEXP list, hlm_latent_data *data) {
  hlm_data *bar = (hlm_data *)R_alloc(data->bars, sizeof *bar);
  hlm_rows *rows = (hlm_rows *)R_alloc(data->bars, sizeof *rows);
  for (size_t f = 0; f < data->bars; f++) {
    SEXP own = list_item(list, "bars", f, data->bars);
    bar[f] = unpack_model(own);
    if (bar[f].p != data->p || !bar[f].known || bar[f].collapsed)
      Rf_error(
        "the bars must have the same fixed effects, and known variances");
    rows[f] = unpack_hlm_rows(own, bar + f, data->n);
    bar[f].start = kept_starts(rows[f].first, bar + f);
  }
  data->bar = bar;
  data->rows = rows;
  return bar;
}

/* bar: the bars of the result, which may be changed until the model is opened */
static hlm_latent_data unpack_latent(SEXP list, hlm_data **bar) {
  hlm_latent_data data = {.bars = args_count(list, "count", 1),
                          .p = args_count(list, "p", 0),
                          .n = args_count(list, "n", 0),
                          .constant = args_number(list, "constant")};
  *bar = unpack_latent_bars(list, &data);
  data.x = finite_numbers(list, "fixed", args_product(data.n, data.p));
  data.offset = optional_numbers(list, "offset", data.n);
  data.nestings = unpack_nestings(list, data.bar, data.bars, &data.nesting);
  data.joint = unpack_joint(list, data.bar, data.bars, data.n, data.x);
  return data;
}

SEXP C_hlm_latent_sweeps(SEXP data_list, SEXP state_list, SEXP n,
                         SEXP control_list) {
  hlm_data *bar;
  hlm_latent_data data = unpack_latent(data_list, &bar);
  const scan_control control = args_control(control_list);
  SEXP copy = PROTECT(scan_copy_state(state_list));
  const hlm_state state = unpack_bars_state(copy, data.bar, data.bars, data.p);
  open_response(args_element(data_list, "response"), copy, &data, bar);
  hlm_latent model;
  hlm_latent_open(&model, &data, &state, work_of(hlm_latent_work_size(&data)));
  const scan_model scan = {&model, hlm_latent_sweep, hlm_latent_record};
  SEXP result =
    scan_segment(&scan, control, n, copy, hlm_latent_columns(&data));
  UNPROTECT(1);
  return result;
}

/* ---- categories -------------------------------------------------------------- */

/* Opens part k, and moves `state` on to the next. */
static void open_part(hlm_latent *part, const hlm_latent_data *data,
                      hlm_state *state) {
  hlm_latent_open(part, data, state, work_of(hlm_latent_work_size(data)));
  state->b += data->p;
  for (size_t f = 0; f < data->bars; f++) {
    state->factor += data->bar[f].q * data->bar[f].q;
    state->u += data->bar[f].q * data->bar[f].groups;
  }
}

/* Element `list` of the categories: a logit model of the same rows and fixed effects as
 * `first`, if that is not NULL. */
static hlm_latent_data unpack_part(SEXP list, SEXP state,
                                   const hlm_latent_data *first,
                                   hlm_data **bar) {
  hlm_latent_data data = unpack_latent(list, bar);
  open_response(args_element(list, "response"), state, &data, *bar);
  if (data.type != &hlm_logit ||
      (first != NULL && (data.n != first->n || data.p != first->p)))
    Rf_error("the parts must be logit models of the same rows and effects");
  return data;
}

/* Element `shift`, NULL if that has no elements. */
static hlm_latent *open_shift(SEXP data_list, SEXP state,
                              const hlm_latent_data *first) {
  SEXP list = args_element(data_list, "shift");
  if (Rf_xlength(list) == 0)
    return NULL;
  hlm_data *bar;
  const hlm_latent_data data = unpack_part(list, state, first, &bar);
  if (data.bars != 1 || bar->q > 0)
    Rf_error("`shift` must have no groups");
  for (size_t j = 0; j < data.p; j++)
    if (!(bar->precision[j] > 0.0))
      Rf_error("`precision` of `shift` must be positive");
  double *room = (double *)R_alloc(data.p + 1, sizeof *room);
  hlm_state own = {.beta = room, .b = room + 1};
  *own.beta = 1.0;
  hlm_latent *shift = (hlm_latent *)R_alloc(1, sizeof *shift);
  open_part(shift, &data, &own);
  return shift;
}

/* Element `parts`: of each category but the first, as for C_hlm_latent_sweeps();
 * `shift`: the same of the first, without groups, or no elements.  A state has the
 * parts' elements one after the other. */
SEXP C_hlm_categories_sweeps(SEXP data_list, SEXP state_list, SEXP n,
                             SEXP control_list) {
  const size_t parts = (size_t)Rf_xlength(args_element(data_list, "parts"));
  if (parts == 0)
    Rf_error("`parts` must have elements");
  const scan_control control = args_control(control_list);
  SEXP copy = PROTECT(scan_copy_state(state_list));
  hlm_latent_data *data = (hlm_latent_data *)R_alloc(parts, sizeof *data);
  hlm_data *bars = NULL;
  for (size_t k = 0; k < parts; k++) {
    SEXP own = list_item(data_list, "parts", k, parts);
    hlm_data *bar;
    data[k] = unpack_part(own, copy, k > 0 ? data : NULL, &bar);
    if (k == 0)
      bars = (hlm_data *)R_alloc(args_product(parts, data->bars), sizeof *bars);
    if (data[k].bars != data->bars)
      Rf_error("the parts must have the same bars");
    memcpy(bars + k * data->bars, bar, data->bars * sizeof *bars);
  }
  hlm_state state = unpack_bars_state(copy, bars, parts * data->bars,
                                      args_product(parts, data->p));
  hlm_latent *part = (hlm_latent *)R_alloc(parts, sizeof *part);
  for (size_t k = 0; k < parts; k++)
    open_part(part + k, data + k, &state);
  hlm_categories model;
  hlm_categories_open(&model, part, parts, open_shift(data_list, copy, data),
                      work_of(hlm_categories_work_size(parts, data->n)));
  const scan_model scan = {&model, hlm_categories_sweep, hlm_categories_record};
  SEXP result =
    scan_segment(&scan, control, n, copy, hlm_categories_columns(&model));
  UNPROTECT(1);
  return result;
}

/* ---- counts ------------------------------------------------------------------ */

/* Bars of which the prior alone is in the first list. */
static void unpack_count_bars(SEXP list, hlm_count_data *data) {
  hlm_crossed_data *groups = &data->groups;
  hlm_data *prior = (hlm_data *)R_alloc(groups->bars + 1, sizeof *prior);
  hlm_rows *bar = (hlm_rows *)R_alloc(groups->bars + 1, sizeof *bar);
  size_t *first = (size_t *)R_alloc(groups->bars + 1, sizeof *first);
  first[0] = 0;
  for (size_t f = 0; f < groups->bars; f++) {
    SEXP own = list_item(list, "bars", f, groups->bars);
    prior[f] = unpack_model(own);
    if (prior[f].p != groups->p || !prior[f].half_t || !prior[f].known)
      Rf_error("a bar must have the fixed effects and a half-t prior");
    int *none = (int *)R_alloc(prior[f].groups + 1, sizeof *none);
    for (size_t j = 0; j <= prior[f].groups; j++)
      none[j] = 0;
    prior[f].start = none;
    bar[f] = unpack_hlm_rows(own, prior + f, data->n);
    first[f + 1] = first[f] + args_product(prior[f].q, prior[f].groups);
  }
  groups->bar = prior;
  groups->first = first;
  data->bar = bar;
}

static hlm_near unpack_near(SEXP list, const hlm_count_data *data) {
  hlm_near near = {.outer = args_count(list, "outer", 0),
                   .inner = args_count(list, "inner", 0),
                   .outer_term = args_count(list, "outer_term", 0),
                   .inner_term = args_count(list, "inner_term", 0)};
  const hlm_data *bar = data->groups.bar;
  if (near.outer >= data->groups.bars || near.inner >= data->groups.bars ||
      near.outer_term >= bar[near.outer].q ||
      near.inner_term >= bar[near.inner].q)
    Rf_error("a bar or term is out of range");
  const size_t groups = bar[near.inner].groups;
  near.parent = args_integers(list, "parent", groups);
  for (size_t c = 0; c < groups; c++)
    if (near.parent[c] < 0 || (size_t)near.parent[c] >= bar[near.outer].groups)
      Rf_error("`parent` is out of range");
  const compressed rows =
    args_compressed(list, "first", "row", bar[near.outer].groups, data->n, 0);
  near.first = rows.start;
  near.row = rows.index;
  near.change = finite_numbers(list, "change", rows.stored);
  return near;
}

/* Element `near`, which may be absent. */
static void unpack_nears(SEXP list, hlm_count_data *data) {
  SEXP all = args_optional(list, "near");
  if (all == NULL)
    return;
  data->nears = (size_t)Rf_xlength(all);
  hlm_near *near = (hlm_near *)R_alloc(data->nears + 1, sizeof *near);
  for (size_t i = 0; i < data->nears; i++)
    near[i] = unpack_near(list_item(list, "near", i, data->nears), data);
  data->near = near;
}

static hlm_count_data unpack_count(SEXP list) {
  hlm_count_data data = {0};
  data.groups.bars = args_count(list, "count", 0);
  data.groups.p = args_count(list, "p", 0);
  data.groups.known = data.groups.keep = 1;
  data.n = args_count(list, "n", 1);
  const size_t n = data.n, p = data.groups.p;
  if (p > 32768)
    Rf_error("`p` is too large");
  data.negbinomial = flag(list, "negbinomial");
  data.x = finite_numbers(list, "x", args_product(n, p));
  data.y = finite_numbers(list, "y", n);
  for (size_t i = 0; i < n; i++)
    if (!(data.y[i] >= 0.0 && data.y[i] == floor(data.y[i])))
      Rf_error("`y` must be counts");
  data.weights = optional_numbers(list, "weights", n);
  data.offset = optional_numbers(list, "offset", n);
  data.mean = finite_numbers(list, "mean", p);
  data.precision = finite_numbers(list, "precision", args_product(p, p));
  data.start = finite_numbers(list, "start", p);
  data.freedom = positive(list, "df");
  data.scale = positive(list, "scale");
  data.constant = args_number(list, "constant");
  unpack_count_bars(list, &data);
  data.groups.nestings = unpack_nestings(
    list, data.groups.bar, data.groups.bars, &data.groups.nesting);
  unpack_nears(list, &data);
  return data;
}

SEXP C_hlm_count_sweeps(SEXP data_list, SEXP state_list, SEXP n,
                        SEXP control_list) {
  const hlm_count_data data = unpack_count(data_list);
  const scan_control control = args_control(control_list);
  SEXP copy = PROTECT(scan_copy_state(state_list));
  const hlm_count_state state = {
    unpack_bars_state(copy, data.groups.bar, data.groups.bars, data.groups.p),
    positive_parameter(copy, "dispersion"), args_doubles(copy, "sweep", 1),
    args_doubles(copy, "counts", 8)};
  const size_t bars = data.groups.bars;
  hlm_model *bar = (hlm_model *)R_alloc(bars + 1, sizeof *bar);
  void **bar_work = (void **)R_alloc(bars + 1, sizeof *bar_work);
  for (size_t f = 0; f < bars; f++)
    bar_work[f] = work_of(hlm_work_size(data.groups.bar + f));
  hlm_count model;
  const status opened = hlm_count_open(&model, &data, &state, bar, bar_work,
                                       work_of(hlm_count_work_size(&data)));
  if (opened != STATUS_OK)
    scan_stop(opened);
  const scan_model scan = {&model, hlm_count_sweep, hlm_count_record};
  SEXP result = scan_segment(&scan, control, n, copy, hlm_count_columns(&data));
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
