/* .Call entries of hierarchical regressions with other responses than normal ones:
 * unpack, call the core, pack. */
#include <R.h>

#include <limits.h>
#include <math.h>
#include <string.h>

#include "hlm/hlm_binomial.h"
#include "hlm/hlm_categories.h"
#include "hlm/hlm_count.h"
#include "hlm/hlm_latent.h"
#include "hlm/hlm_ordinal.h"
#include "hlm/hlm_proposals.h"
#include "hlm/hlm_t.h"
#include "r_args.h"
#include "r_hlm_bars.h"
#include "r_scan.h"
#include "routines.h"

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

/* With `proposals`, which draw no latent variables, the numbers need not be whole. */
static int has_proposals(SEXP response) {
  return args_optional(response, "proposals") != NULL;
}

static void *open_binomial(SEXP list, size_t n) {
  hlm_binomial *own = (hlm_binomial *)R_alloc(1, sizeof *own);
  const int whole = !has_proposals(list);
  own->total =
    whole ? counts(list, "total", n, 1.0) : args_finite(list, "total", n);
  own->success =
    whole ? counts(list, "success", n, 0.0) : args_finite(list, "success", n);
  for (size_t i = 0; i < n; i++)
    if (!(own->success[i] >= 0.0 && own->success[i] <= own->total[i]))
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
  o->sd = args_positive(list, "sd");
  o->code = counts(list, "code", data->n, 1.0);
  for (size_t i = 0; i < data->n; i++)
    if (o->code[i] > (double)o->levels)
      Rf_error("`code` must not exceed `levels`");
  o->weight = counts(list, "weight", data->n, 1.0);
  own->p = data->p - 1;
  own->mean = args_finite(list, "mean", own->p);
  own->b = args_finite(state, "b", data->p);
  own->theta = args_finite(state, "theta", o->levels - 1);
  for (size_t k = 1; k + 1 < o->levels; k++)
    if (!(own->theta[k] > own->theta[k - 1]))
      Rf_error("`theta` must increase");
  hlm_ordinal_open(own, scan_work(hlm_ordinal_work_size(own)));
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
  slopes.shape = args_positive(list, "shape");
  slopes.rate = args_positive(list, "rate");
  slopes.b = args_doubles(state, "b", bar->p);
  slopes.mean = bar->mean;
  slopes.precision = (double *)R_alloc(bar->p, sizeof(double));
  memcpy(slopes.precision, bar->precision, bar->p * sizeof(double));
  slopes.phi = hlm_unpack_positive(state, "lambda");
  bar->precision = slopes.precision;
  return slopes;
}

static hlm_t *open_t(SEXP list, SEXP state, hlm_latent_data *data,
                     hlm_data *bar) {
  hlm_t *own = (hlm_t *)R_alloc(1, sizeof *own);
  own->y = args_finite(list, "y", data->n);
  own->root = args_finite(list, "root", data->n);
  own->shape = args_positive(list, "shape");
  own->rate = args_positive(list, "rate");
  own->nu_known = args_flag(list, "nu_known");
  own->nu_shape = args_positive(list, "nu_shape");
  own->nu_rate = args_positive(list, "nu_rate");
  own->sigma = hlm_unpack_positive(state, "sigma");
  own->nu = hlm_unpack_positive(state, "nu");
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
  hlm_rows rows = {hlm_group_starts(list, "first", bar->groups),
                   args_integers(list, "row", n),
                   args_finite(list, "bar", args_product(n, bar->q))};
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
    SEXP own = args_item(list, "bars", f, data->bars);
    bar[f] = hlm_unpack_model(own);
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
  data.x = args_finite(list, "fixed", args_product(data.n, data.p));
  data.offset = args_optional_finite(list, "offset", data.n);
  data.nestings = hlm_unpack_nestings(list, data.bar, data.bars, &data.nesting);
  data.joint = hlm_unpack_joint(list, data.bar, data.bars, data.n, data.x);
  return data;
}

/* ---- counts, and proposals for many trials ------------------------------------ */

static void unpack_count_bars(SEXP list, hlm_count_data *data) {
  hlm_crossed_data *groups = &data->groups;
  hlm_data *prior = (hlm_data *)R_alloc(groups->bars + 1, sizeof *prior);
  hlm_rows *bar = (hlm_rows *)R_alloc(groups->bars + 1, sizeof *bar);
  size_t *first = (size_t *)R_alloc(groups->bars + 1, sizeof *first);
  first[0] = 0;
  for (size_t f = 0; f < groups->bars; f++) {
    SEXP own = args_item(list, "bars", f, groups->bars);
    const hlm_data bar_of = hlm_unpack_model(own);
    prior[f] =
      hlm_prior_of_bar(bar_of, (int *)R_alloc(bar_of.groups + 1, sizeof(int)));
    if (prior[f].p != groups->p || !prior[f].half_t || !prior[f].known)
      Rf_error("a bar must have the fixed effects and a half-t prior");
    bar[f] = unpack_hlm_rows(own, prior + f, data->rows.n);
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
  const compressed rows = args_compressed(
    list, "first", "row", bar[near.outer].groups, data->rows.n, 0);
  near.first = rows.start;
  near.row = rows.index;
  near.change = args_finite(list, "change", rows.stored);
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
    near[i] = unpack_near(args_item(list, "near", i, data->nears), data);
  data->near = near;
}

static hlm_likelihood unpack_likelihood(SEXP list) {
  hlm_likelihood rows = {.n = args_count(list, "n", 1)};
  const size_t n = rows.n;
  rows.y = args_finite(list, "y", n);
  rows.weights = args_optional_finite(list, "weights", n);
  rows.constant = args_number(list, "constant");
  rows.type = args_flag(list, "negbinomial") ? HLM_NEGBINOMIAL : HLM_POISSON;
  for (size_t i = 0; i < n; i++)
    if (!(rows.y[i] >= 0.0 && rows.y[i] == floor(rows.y[i])))
      Rf_error("`y` must be counts");
  return rows;
}

/* The model `latent` of binomial responses, of which `list` has `near`. */
static hlm_count_data count_data_of(const hlm_latent_data *latent, SEXP list) {
  hlm_count_data data =
    hlm_proposals_data(latent, scan_work(hlm_proposals_work_size(latent)));
  unpack_nears(list, &data);
  return data;
}

static void open_count(hlm_count *model, const hlm_count_data *data,
                       const hlm_count_state *state) {
  const size_t bars = data->groups.bars;
  hlm_model *bar = (hlm_model *)R_alloc(bars + 1, sizeof *bar);
  const status opened = hlm_count_open(model, data, state, bar,
                                       hlm_work_of_bars(data->groups.bar, bars),
                                       scan_work(hlm_count_work_size(data)));
  if (opened != STATUS_OK)
    scan_stop(opened);
}

static SEXP run_count(const hlm_count_data *data, const hlm_count_state *state,
                      scan_control control, SEXP n, SEXP copy) {
  hlm_count model;
  open_count(&model, data, state);
  const scan_model scan = {&model, hlm_count_sweep, hlm_count_record};
  return scan_segment(&scan, control, n, copy, hlm_count_columns(data));
}

static hlm_count_data unpack_count(SEXP list) {
  hlm_count_data data = {0};
  data.groups.bars = args_count(list, "count", 0);
  data.groups.p = args_count(list, "p", 0);
  data.groups.known = data.groups.keep = 1;
  data.rows = unpack_likelihood(list);
  const size_t n = data.rows.n, p = data.groups.p;
  if (p > 32768)
    Rf_error("`p` is too large");
  data.x = args_finite(list, "x", args_product(n, p));
  data.offset = args_optional_finite(list, "offset", n);
  data.mean = args_finite(list, "mean", p);
  data.precision = args_finite(list, "precision", args_product(p, p));
  data.start = args_finite(list, "start", p);
  data.freedom = args_positive(list, "df");
  data.scale = args_positive(list, "scale");
  unpack_count_bars(list, &data);
  data.groups.nestings = hlm_unpack_nestings(
    list, data.groups.bar, data.groups.bars, &data.groups.nesting);
  unpack_nears(list, &data);
  return data;
}

SEXP C_hlm_latent_sweeps(SEXP data_list, SEXP state_list, SEXP n,
                         SEXP control_list) {
  hlm_data *bar;
  hlm_latent_data data = unpack_latent(data_list, &bar);
  const scan_control control = args_control(control_list);
  SEXP copy = PROTECT(scan_copy_state(state_list));
  const hlm_state state = hlm_unpack_state(copy, data.bar, data.bars, data.p);
  SEXP response = args_element(data_list, "response");
  open_response(response, copy, &data, bar);
  if (has_proposals(response)) {
    const hlm_count_data own = count_data_of(&data, data_list);
    const hlm_count_state all = {state, NULL, args_doubles(copy, "sweep", 1),
                                 args_doubles(copy, "counts", 8)};
    SEXP result = run_count(&own, &all, control, n, copy);
    UNPROTECT(1);
    return result;
  }
  hlm_latent model;
  hlm_latent_open(&model, &data, &state,
                  scan_work(hlm_latent_work_size(&data)));
  const scan_model scan = {&model, hlm_latent_sweep, hlm_latent_record};
  SEXP result =
    scan_segment(&scan, control, n, copy, hlm_latent_columns(&data));
  UNPROTECT(1);
  return result;
}

SEXP C_hlm_count_sweeps(SEXP data_list, SEXP state_list, SEXP n,
                        SEXP control_list) {
  const hlm_count_data data = unpack_count(data_list);
  const scan_control control = args_control(control_list);
  SEXP copy = PROTECT(scan_copy_state(state_list));
  const hlm_count_state state = {
    hlm_unpack_state(copy, data.groups.bar, data.groups.bars, data.groups.p),
    data.rows.type == HLM_NEGBINOMIAL ? hlm_unpack_positive(copy, "dispersion")
                                      : NULL,
    args_doubles(copy, "sweep", 1), args_doubles(copy, "counts", 8)};
  SEXP result = run_count(&data, &state, control, n, copy);
  UNPROTECT(1);
  return result;
}

/* ---- categories -------------------------------------------------------------- */

/* Opens a part and its proposals, if that is not NULL, and moves `state` on to the
 * next. */
static void open_part(hlm_latent *part, hlm_count *proposals, SEXP list,
                      const hlm_latent_data *data, hlm_state *state,
                      const double *sweep, double *counts) {
  if (proposals != NULL) {
    const hlm_count_data own = count_data_of(data, list);
    const hlm_count_state all = {*state, NULL, sweep, counts};
    open_count(proposals, &own, &all);
  }
  hlm_latent_open(part, data, state, scan_work(hlm_latent_work_size(data)));
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
                              const hlm_latent_data *first,
                              hlm_count *proposals, double *counts) {
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
  open_part(shift, proposals, list, &data, &own,
            args_doubles(state, "sweep", 1), counts);
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
    SEXP own = args_item(data_list, "parts", k, parts);
    hlm_data *bar;
    data[k] = unpack_part(own, copy, k > 0 ? data : NULL, &bar);
    if (k == 0)
      bars = (hlm_data *)R_alloc(args_product(parts, data->bars), sizeof *bars);
    if (data[k].bars != data->bars)
      Rf_error("the parts must have the same bars");
    memcpy(bars + k * data->bars, bar, data->bars * sizeof *bars);
  }
  hlm_state state = hlm_unpack_state(copy, bars, parts * data->bars,
                                     args_product(parts, data->p));
  hlm_latent *part = (hlm_latent *)R_alloc(parts, sizeof *part);
  const double *sweep = args_doubles(copy, "sweep", 1);
  hlm_count *proposals = NULL;
  double *counts = NULL;
  if (has_proposals(
        args_element(args_item(data_list, "parts", 0, parts), "response"))) {
    proposals = (hlm_count *)R_alloc(parts + 1, sizeof *proposals);
    counts = args_doubles(copy, "counts", args_product(8, parts + 1));
  }
  for (size_t k = 0; k < parts; k++)
    open_part(part + k, proposals ? proposals + k : NULL,
              args_item(data_list, "parts", k, parts), data + k, &state, sweep,
              counts ? counts + 8 * k : NULL);
  hlm_latent *shift =
    open_shift(data_list, copy, data, proposals ? proposals + parts : NULL,
               counts ? counts + 8 * parts : NULL);
  hlm_categories model;
  hlm_categories_open(&model, part, parts, shift, proposals,
                      scan_work(hlm_categories_work_size(parts, data->n)));
  const scan_model scan = {&model, hlm_categories_sweep, hlm_categories_record};
  SEXP result =
    scan_segment(&scan, control, n, copy, hlm_categories_columns(&model));
  UNPROTECT(1);
  return result;
}
