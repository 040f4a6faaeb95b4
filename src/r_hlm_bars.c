/* Bars, their states, nestings and joint draws out of R's lists. */
#include <R.h>

#include <limits.h>

#include "r_args.h"
#include "r_hlm_bars.h"
#include "r_scan.h"

/* Where the rows of each group begin, and the end of the last. */
const int *hlm_group_starts(SEXP list, const char *name, size_t groups) {
  const int *start = args_integers(list, name, groups + 1);
  if (start[0] != 0)
    Rf_error("`%s` must begin with 0", name);
  for (size_t j = 0; j < groups; j++)
    if (start[j + 1] < start[j])
      Rf_error("`%s` must not decrease", name);
  return start;
}

/* A number of a state, which a sweep may change. */
double *hlm_unpack_positive(SEXP state, const char *name) {
  double *value = args_doubles(state, name, 1);
  if (!(*value > 0.0 && R_FINITE(*value)))
    Rf_error("`%s` must be positive", name);
  return value;
}

static void unpack_prior(SEXP list, hlm_data *data) {
  data->mean = args_finite(list, "mean", data->p);
  data->precision = args_finite(list, "precision", data->p);
  for (size_t j = 0; j < data->p; j++)
    if (data->precision[j] < 0.0)
      Rf_error("`precision` must be 0 or more");
  data->df = args_positive(list, "df");
  data->scale =
    args_finite(list, "scale", data->half_t ? data->q : data->q * data->q);
  for (size_t k = 0; k < data->q; k++)
    if (!(data->scale[data->half_t ? k : k + data->q * k] > 0.0))
      Rf_error("`scale` must be positive");
  data->shape = args_not_negative(list, "shape");
  data->rate = args_not_negative(list, "rate");
}

/* All but the rows. */
hlm_data hlm_unpack_model(SEXP list) {
  hlm_data data = {0};
  data.q = args_count(list, "q", 0);
  data.p = args_count(list, "p", 0);
  data.groups = args_count(list, "groups", 1);
  if (data.q > 1024 || data.p > 32768 || data.groups > INT_MAX - 1)
    Rf_error("`q`, `p` or `groups` is too large");
  args_product(args_product(data.q, data.q), data.groups);
  data.diagonal = args_flag(list, "diagonal");
  data.known = args_flag(list, "known");
  data.half_t = args_flag(list, "half_t");
  data.collapsed = args_flag(list, "collapsed");
  data.keep = args_flag(list, "keep");
  unpack_prior(list, &data);
  data.unit = args_finite(list, "unit", data.p);
  data.column_mean = args_finite(list, "column_mean", data.p);
  data.centre = args_number(list, "centre");
  data.intercept_at = args_count(list, "intercept_at", 0);
  data.fixed_at = args_integers(list, "fixed_at", data.q);
  for (size_t k = 0; k < data.q; k++)
    if (data.fixed_at[k] >= 0 && (size_t)data.fixed_at[k] >= data.p)
      Rf_error("`fixed_at` is out of range");
  return data;
}

/* The deviations of all bars. */
size_t hlm_deviations(const hlm_data *bar, size_t bars) {
  size_t sum = 0;
  for (size_t f = 0; f < bars; f++)
    sum += args_product(bar[f].q, bar[f].groups);
  if (sum > INT_MAX)
    Rf_error("too many deviations");
  return sum;
}

hlm_state hlm_unpack_state(SEXP list, const hlm_data *bar, size_t bars,
                           size_t p) {
  size_t factors = 0;
  for (size_t f = 0; f < bars; f++)
    factors += bar[f].q * bar[f].q;
  hlm_state state;
  state.factor = args_finite(list, "factor", factors);
  state.beta = hlm_unpack_positive(list, "beta");
  state.b = args_finite(list, "b", p);
  state.u = args_finite(list, "u", hlm_deviations(bar, bars));
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
size_t hlm_unpack_nestings(SEXP list, const hlm_data *bar, size_t bars,
                           const hlm_nesting **to) {
  const size_t count = (size_t)Rf_xlength(args_element(list, "nesting"));
  hlm_nesting *nesting = (hlm_nesting *)R_alloc(count + 1, sizeof *nesting);
  for (size_t i = 0; i < count; i++)
    nesting[i] =
      unpack_nesting(args_item(list, "nesting", i, count), bar, bars);
  *to = nesting;
  return count;
}

/* Element `joint`, which may be absent: place, z (of all bars), deviation, and
 * the entries of each place and the factor by start and index. */
hlm_joint_data hlm_unpack_joint(SEXP list, const hlm_data *bar, size_t bars,
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
  data.deviations = hlm_deviations(bar, bars);
  for (size_t f = 0; f < bars; f++)
    data.terms += bar[f].q;
  const size_t entries = args_product(data.terms, n);
  const size_t all = data.deviations + data.p;
  data.z = args_finite(own, "z", entries);
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

void **hlm_work_of_bars(const hlm_data *bar, size_t bars) {
  void **work = (void **)R_alloc(bars + 1, sizeof *work);
  for (size_t f = 0; f < bars; f++)
    work[f] = scan_work(hlm_work_size(bar + f));
  return work;
}
