/* .Call entries of Bayesian matrix factorisation: unpack, call the core, pack. */
#include <R.h>
#include <R_ext/Random.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "bmf/bmf.h"
#include "r_args.h"
#include "r_scan.h"
#include "r_store.h"
#include "routines.h"

/* ---- the data ---------------------------------------------------------- */

/* Indices must lie between 0 and size - 1. */
static void check_indices(const int *x, size_t length, size_t size,
                          const char *name) {
  for (size_t e = 0; e < length; e++)
    if (x[e] < 0 || (size_t)x[e] >= size)
      Rf_error("`%s` must lie between 0 and %.0f", name, (double)size - 1.0);
}

/* list(start, index, value, order) */
static bmf_ratings unpack_ratings(SEXP list, size_t rows, size_t partners) {
  bmf_ratings ratings = {.rows = rows, .partners = partners};
  /* a user may have rated an item more than once */
  const compressed all =
    args_compressed(list, "start", "index", rows, partners, 0);
  const size_t count = all.stored;
  ratings.start = all.start;
  ratings.index = all.index;
  ratings.value = args_doubles(list, "value", count);
  ratings.order = args_integers(list, "order", rows);
  check_indices(ratings.order, rows, rows, "order");
  return ratings;
}

/* list(user, item), from 0 */
static bmf_pairs unpack_pairs(SEXP list, size_t n, size_t m) {
  bmf_pairs pairs;
  pairs.count = (size_t)Rf_xlength(args_element(list, "user"));
  pairs.user = args_integers(list, "user", pairs.count);
  pairs.item = args_integers(list, "item", pairs.count);
  check_indices(pairs.user, pairs.count, n, "user");
  check_indices(pairs.item, pairs.count, m, "item");
  return pairs;
}

static bmf_kind unpack_kind(SEXP list) {
  const size_t kind = args_count(list, "kind", 0);
  if (kind > BMF_WISHART)
    Rf_error("`kind` must be 0, 1 or 2");
  return (bmf_kind)kind;
}

static bmf_prior unpack_prior(SEXP list, size_t d) {
  bmf_prior prior = {.kind = unpack_kind(list)};
  if (prior.kind != BMF_FIXED) {
    prior.shape = args_doubles(list, "shape", 3);
    prior.rate = args_doubles(list, "rate", 3);
  }
  if (prior.kind == BMF_WISHART) {
    prior.mu0 = args_doubles(list, "mu0", d);
    prior.w0_inverse = args_doubles(list, "w0_inverse", args_product(d, d));
    prior.kappa0 = args_number(list, "kappa0");
    prior.nu0 = args_number(list, "nu0");
    prior.w0_log_det = args_number(list, "w0_log_det");
  }
  return prior;
}

/* Element `name` of a list, or NULL. */
static SEXP element_or_null(SEXP list, const char *name) {
  SEXP names = Rf_getAttrib(list, R_NamesSymbol);
  for (R_xlen_t i = 0; i < Rf_xlength(names); i++)
    if (strcmp(CHAR(STRING_ELT(names, i)), name) == 0)
      return VECTOR_ELT(list, i);
  return R_NilValue;
}

/* list(start, index, value, v, s, g, shape, rate), or nothing. */
static bmf_features unpack_features(SEXP list, const char *name, size_t rows) {
  SEXP own = element_or_null(list, name);
  bmf_features f = {0};
  if (own == R_NilValue)
    return f;
  f.p = (size_t)Rf_xlength(args_element(own, "s"));
  const compressed all = args_compressed(own, "start", "index", rows, f.p, 0);
  f.start = all.start;
  f.index = all.index;
  f.value = args_doubles(own, "value", all.stored);
  f.v = args_doubles(own, "v", args_product(f.p, f.p));
  f.s = args_doubles(own, "s", f.p);
  f.g = args_doubles(own, "g", f.p);
  f.shape = args_number(own, "shape");
  f.rate = args_number(own, "rate");
  return f;
}

/* What a list says of sizes: n, m, size, biases. */
static bmf_data unpack_sizes(SEXP list) {
  bmf_data data = {0};
  data.n = args_count(list, "n", 1);
  data.m = args_count(list, "m", 1);
  data.d = args_count(list, "size", 1);
  data.biases = args_count(list, "biases", 0) > 0;
  if (data.n > INT_MAX - 1 || data.m > INT_MAX - 1 || data.d > 1024)
    Rf_error("`n`, `m` or `size` is too large");
  args_product(data.n + data.m, bmf_stride(data.d));
  return data;
}

/* Codes of ordinal ratings, whole numbers from 1 to `levels`. */
static void check_codes(const double *code, size_t count, size_t levels) {
  const double most = (double)levels;
  for (size_t e = 0; e < count; e++)
    if (!(code[e] >= 1.0 && code[e] <= most && code[e] == floor(code[e])))
      Rf_error("`value` must hold whole numbers from 1 to `levels`");
}

static void unpack_levels(SEXP list, bmf_data *data) {
  const size_t count = (size_t)data->users.start[data->n];
  data->levels = args_count(list, "levels", 0);
  if (data->levels == 1)
    Rf_error("`levels` must be 0, or at least 2");
  const size_t ordinal = data->levels > 0 ? count : 0;
  data->scale = args_doubles(list, "scale", data->levels);
  data->cutpoint_sd = args_number(list, "cutpoint_sd");
  data->place = args_integers(list, "place", ordinal);
  check_indices(data->place, ordinal, count, "place");
  check_codes(data->users.value, ordinal, data->levels);
}

static bmf_data unpack_data(SEXP list) {
  bmf_data data = unpack_sizes(list);
  data.directions = args_count(list, "directions", 0);
  if (data.directions > data.d)
    Rf_error("`directions` must not exceed `size`");
  data.center = args_number(list, "center");
  data.users = unpack_ratings(args_element(list, "users"), data.n, data.m);
  data.items = unpack_ratings(args_element(list, "items"), data.m, data.n);
  if (data.users.start[data.n] != data.items.start[data.m])
    Rf_error("`users` and `items` must hold the same ratings");
  data.prior = unpack_prior(args_element(list, "prior"), data.d);
  data.features[0] = unpack_features(list, "user_features", data.n);
  data.features[1] = unpack_features(list, "item_features", data.m);
  if (data.features[0].p + data.features[1].p > 0 &&
      data.prior.kind != BMF_WISHART)
    Rf_error("features need a Normal-Wishart prior");
  data.cells = unpack_pairs(args_element(list, "cells"), data.n, data.m);
  data.predict_at =
    unpack_pairs(args_element(list, "predict_at"), data.n, data.m);
  data.keep_u = args_count(list, "keep_u", 0) > 0;
  data.keep_v = args_count(list, "keep_v", 0) > 0;
  unpack_levels(list, &data);
  return data;
}

/* ---- the state --------------------------------------------------------- */

static bmf_state unpack_state(SEXP list, const bmf_data *data) {
  const size_t d = data->d, pairs = data->predict_at.count;
  const int wishart = data->prior.kind == BMF_WISHART;
  bmf_state state;
  state.u = args_doubles(list, "u", d * data->n);
  state.v = args_doubles(list, "v", d * data->m);
  state.rating_precision = args_doubles(list, "beta", 1);
  state.lambda = args_doubles(list, "lambda", wishart ? 0 : 2);
  state.mu = args_doubles(list, "mu", wishart ? 2 * d : 0);
  state.precision = args_doubles(list, "precision", wishart ? 2 * d * d : 0);
  const char *names[2][2] = {{"coefficients_u", "lambda_b_u"},
                             {"coefficients_v", "lambda_b_v"}};
  for (int which = 0; which < 2; which++) {
    const size_t p = data->features[which].p;
    state.coefficients[which] =
      p > 0 ? args_doubles(list, names[which][0], args_product(d, p)) : NULL;
    state.ridge[which] = p > 0 ? args_doubles(list, names[which][1], 1) : NULL;
  }
  state.theta =
    args_doubles(list, "theta", data->levels > 0 ? data->levels - 1 : 0);
  state.kept = args_doubles(list, "kept", 1);
  state.noise = args_doubles(list, "noise", 1);
  state.at_mean = args_doubles(list, "at_mean", pairs);
  state.at_m2 = args_doubles(list, "at_m2", pairs);
  return state;
}

static void *work_space(const bmf_data *data, int threads) {
  const size_t size = bmf_work_size(data, threads);
  if (size == 0)
    scan_stop(STATUS_NO_MEMORY);
  return memset(R_alloc(size, 1), 0, size);
}

static SEXP run(const bmf_data *data, SEXP data_list, SEXP state_list, SEXP n,
                SEXP control_list, int mode) {
  const scan_control control = args_control(control_list);
  SEXP copy = PROTECT(store_copy_state(state_list));
  const bmf_state state = unpack_state(copy, data);
  bmf_model model;
  bmf_open(&model, data, &state, work_space(data, control.threads),
           control.threads);
  model.mode = mode;
  const double sweep = args_number(copy, "sweep");
  const size_t rows = scan_rows(sweep, args_scalar_count(n, "n", 0), &control);
  model.store = store_prepare(copy, args_count(data_list, "cap", 0), rows,
                              args_product(data->n + data->m, data->d),
                              bmf_hyper_size(data));
  const scan_model scan = {&model, bmf_sweep, bmf_record};
  SEXP result = scan_segment(&scan, control, n, copy, bmf_columns(data));
  UNPROTECT(1);
  return result;
}

/* mode: FALSE for the Gibbs sampler, TRUE for iterated conditional modes. */
SEXP C_bmf_sweeps(SEXP data_list, SEXP state_list, SEXP n, SEXP control_list,
                  SEXP mode) {
  const bmf_data data = unpack_data(data_list);
  if (TYPEOF(mode) != LGLSXP || XLENGTH(mode) != 1)
    Rf_error("`mode` must be TRUE or FALSE");
  return run(&data, data_list, state_list, n, control_list,
             LOGICAL(mode)[0] == TRUE);
}

/* ---- a chain on several machines ---------------------------------------- */

/* beta and the hyperparameters of both sides, as C_bmf_fold_in() takes them. */
static SEXP pack_hyper(const bmf_model *m) {
  bmf_data sizes = m->data;
  sizes.levels = 0;
  const size_t size = bmf_hyper_size(&sizes), d = sizes.d;
  SEXP hyper = Rf_allocVector(REALSXP, (R_xlen_t)size);
  double *to = REAL(hyper);
  *to++ = *m->state.rating_precision;
  if (m->data.prior.kind == BMF_WISHART) {
    memcpy(to, m->state.mu, 2 * d * sizeof(double));
    memcpy(to + 2 * d, m->state.precision, 2 * d * d * sizeof(double));
  } else {
    memcpy(to, m->state.lambda, 2 * sizeof(double));
  }
  return hyper;
}

/* The factors of the other side.  Before the users of ordinal ratings are drawn their
 * latent values are, given both sides: the items' factors, then the users'. */
static SEXP pack_factors(const bmf_model *m, int which) {
  const size_t row = m->data.d * sizeof(double);
  const size_t u = m->data.n * row, v = m->data.m * row;
  if (which == BMF_ITEMS)
    return args_raw(m->state.u, u);
  if (m->data.levels == 0)
    return args_raw(m->state.v, v);
  SEXP both = Rf_allocVector(RAWSXP, (R_xlen_t)(v + u));
  memcpy(RAW(both), m->state.v, v);
  memcpy(RAW(both) + v, m->state.u, u);
  return both;
}

/* list(which, key, hyper, factors, latent_key, theta): which side, 0 for the users; the
 * bytes of the key and of the factors; the last two are NULL but for the users of
 * ordinal ratings.  The answer of the function is list(factors, squares), of all rows
 * of the side and, of items, their squares.  An error or an interrupt of the function
 * leaves .Call(). */
static void ask(void *function, bmf_model *m, int which, philox_key key) {
  const char *names[] = {"which",      "key",   "hyper", "factors",
                         "latent_key", "theta", ""};
  const int users = which == BMF_USERS;
  const size_t d = m->data.d, rows = users ? m->data.n : m->data.m;
  SEXP request = PROTECT(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(request, 0, Rf_ScalarInteger(which));
  SET_VECTOR_ELT(request, 1, args_raw(&key, sizeof key));
  SET_VECTOR_ELT(request, 2, pack_hyper(m));
  SET_VECTOR_ELT(request, 3, pack_factors(m, which));
  if (users && m->data.levels > 0) {
    SET_VECTOR_ELT(request, 4, args_raw(&m->latent_key, sizeof m->latent_key));
    SET_VECTOR_ELT(request, 5,
                   args_numbers(m->state.theta, m->data.levels - 1));
  }
  SEXP call = PROTECT(Rf_lang2((SEXP)function, request));
  SEXP answer = PROTECT(Rf_eval(call, R_BaseEnv));
  memcpy(users ? m->state.u : m->state.v,
         args_doubles(answer, "factors", rows * d), rows * d * sizeof(double));
  if (!users)
    memcpy(m->squares, args_doubles(answer, "squares", rows),
           rows * sizeof(double));
  UNPROTECT(3);
}

/* The Gibbs sampler; function: see ask(). */
SEXP C_bmf_sweeps_apart(SEXP data_list, SEXP state_list, SEXP n,
                        SEXP control_list, SEXP function) {
  bmf_data data = unpack_data(data_list);
  if (data.features[0].p + data.features[1].p > 0)
    Rf_error("`data` cannot be in shards");
  if (!Rf_isFunction(function))
    Rf_error("`function` must be a function");
  data.ask = ask;
  data.context = function;
  return run(&data, data_list, state_list, n, control_list, 0);
}

/* ---- what stored draws say --------------------------------------------- */

/* Codes from 1, as R has them. */
static const int *unpack_codes(SEXP x, const char *name, size_t length,
                               size_t size) {
  if (TYPEOF(x) != INTSXP || (size_t)XLENGTH(x) != length)
    Rf_error("`%s` must be %.0f integers", name, (double)length);
  const int *code = INTEGER(x);
  for (size_t e = 0; e < length; e++)
    if (code[e] < 1 || (size_t)code[e] > size)
      Rf_error("`%s` must lie between 1 and %.0f", name, (double)size);
  return code;
}

static const float *unpack_factors(SEXP draw, const bmf_data *sizes) {
  const size_t count = args_product(sizes->n + sizes->m, sizes->d);
  if (TYPEOF(draw) != RAWSXP ||
      (size_t)XLENGTH(draw) != args_product(count, sizeof(float)))
    Rf_error("a stored draw has the wrong length");
  return (const float *)(const void *)RAW(draw);
}

/* list(mean, m2), zeros: of a predictor each and its squared deviations. */
static SEXP new_moments(size_t pairs) {
  const char *names[] = {"mean", "m2", ""};
  SEXP moments = PROTECT(Rf_mkNamed(VECSXP, names));
  for (int part = 0; part < 2; part++) {
    SET_VECTOR_ELT(moments, part, Rf_allocVector(REALSXP, (R_xlen_t)pairs));
    memset(REAL(VECTOR_ELT(moments, part)), 0, pairs * sizeof(double));
  }
  UNPROTECT(1);
  return moments;
}

typedef struct {
  bmf_data sizes;
  SEXP draws; /* a list of raw vectors */
  bmf_codes pairs;
  double center;
} pair_request;

static const float *request_draw(const pair_request *r, size_t s) {
  return unpack_factors(VECTOR_ELT(r->draws, (R_xlen_t)s), &r->sizes);
}

/* Pairs at a time. */
enum { NEAR = 256 };

/* Of the pairs from `first` on, at most so many that their numbers stay in the
 * processor's cache. */
static bmf_codes next_pairs(const pair_request *r, size_t first) {
  const size_t left = r->pairs.count - first;
  return (bmf_codes){r->pairs.user + first, r->pairs.item + first,
                     left < NEAR ? left : NEAR};
}

/* out: draws x pairs, in turn those of a few draws, which are neighbours. */
static void fill_predictors(const pair_request *r, double *out) {
  const size_t count = (size_t)XLENGTH(r->draws), few = 8;
  for (size_t s = 0; s < count; s += few) {
    const size_t end = count - s < few ? count : s + few;
    R_CheckUserInterrupt();
    for (size_t p = 0; p < r->pairs.count; p += NEAR) {
      const bmf_codes some = next_pairs(r, p);
      for (size_t i = s; i < end; i++)
        bmf_values_single(&r->sizes, request_draw(r, i), &some, r->center,
                          out + count * p + i, count);
    }
  }
}

/* mean, m2: a number for each pair. */
static void fill_moments(const pair_request *r, double *mean, double *m2) {
  double value[NEAR];
  for (size_t s = 0; s < (size_t)XLENGTH(r->draws); s++) {
    const float *draw = request_draw(r, s);
    R_CheckUserInterrupt();
    for (size_t p = 0; p < r->pairs.count; p += NEAR) {
      const bmf_codes some = next_pairs(r, p);
      bmf_values_single(&r->sizes, draw, &some, r->center, value, 1);
      bmf_welford(value, some.count, (double)s + 1.0, mean + p, m2 + p);
    }
  }
}

/* Linear predictors of the pairs (user, item), codes from 1, in each of the draws
 * (a list of raw vectors), with the constant `center`: draws x pairs; or, with
 * moments, list(mean, m2), m2 the sum of squared deviations. */
SEXP C_bmf_linear(SEXP sizes_list, SEXP draws, SEXP user, SEXP item,
                  SEXP center, SEXP moments) {
  pair_request r = {.sizes = unpack_sizes(sizes_list), .draws = draws};
  const size_t pairs = (size_t)Rf_xlength(user);
  r.pairs = (bmf_codes){unpack_codes(user, "user", pairs, r.sizes.n),
                        unpack_codes(item, "item", pairs, r.sizes.m), pairs};
  if (TYPEOF(draws) != VECSXP || TYPEOF(moments) != LGLSXP ||
      XLENGTH(moments) != 1 || pairs > INT_MAX || XLENGTH(draws) > INT_MAX)
    Rf_error("`draws` must be a list and `moments` TRUE or FALSE");
  if (TYPEOF(center) != REALSXP || XLENGTH(center) != 1)
    Rf_error("`center` must be a number");
  r.center = REAL(center)[0];
  if (LOGICAL(moments)[0] == TRUE) {
    SEXP result = PROTECT(new_moments(pairs));
    fill_moments(&r, REAL(VECTOR_ELT(result, 0)), REAL(VECTOR_ELT(result, 1)));
    UNPROTECT(1);
    return result;
  }
  SEXP result =
    PROTECT(Rf_allocMatrix(REALSXP, (int)XLENGTH(draws), (int)pairs));
  fill_predictors(&r, REAL(result));
  UNPROTECT(1);
  return result;
}

/* ---- rows alone, given the rest -------------------------------------------- */

/* hyper: one of hyper_draws, without the coefficients of features. */
static bmf_state given_state(const bmf_data *data, SEXP hyper, double *u,
                             double *v) {
  const size_t size = bmf_hyper_size(data);
  if (TYPEOF(hyper) != REALSXP || (size_t)XLENGTH(hyper) != size)
    Rf_error("`hyper` must be %.0f numbers", (double)size);
  double *numbers = (double *)(void *)R_alloc(size, sizeof(double));
  memcpy(numbers, REAL(hyper), size * sizeof(double));
  bmf_state state = {.u = u, .v = v};
  state.rating_precision = numbers;
  state.lambda = numbers + 1;
  state.mu = numbers + 1;
  state.precision = numbers + 1 + 2 * data->d;
  return state;
}

/* One draw of new users' factors (d x n), given the items and hyperparameters of a
 * stored draw.  sizes: n is the number of new users, m, size and biases are the
 * fit's; ratings: list(start, index, value, order) of the new users; kind: the
 * prior's; hyper: see given_state(); v: the items (d x m); shift: NULL, or Lambda
 * B'f of each new user (d x n). */
SEXP C_bmf_fold_in(SEXP sizes_list, SEXP ratings, SEXP kind, SEXP hyper, SEXP v,
                   SEXP shift) {
  bmf_data data = unpack_sizes(sizes_list);
  const size_t d = data.d;
  data.users = unpack_ratings(ratings, data.n, data.m);
  data.prior.kind = unpack_kind(kind);
  if (TYPEOF(v) != REALSXP || (size_t)XLENGTH(v) != d * data.m)
    Rf_error("`v` must be %.0f numbers", (double)(d * data.m));
  const int shifted = shift != R_NilValue;
  if (shifted &&
      (TYPEOF(shift) != REALSXP || (size_t)XLENGTH(shift) != d * data.n))
    Rf_error("`shift` must be %.0f numbers", (double)(d * data.n));
  SEXP u = PROTECT(Rf_allocMatrix(REALSXP, (int)d, (int)data.n));
  const bmf_state state = given_state(&data, hyper, REAL(u), REAL(v));
  bmf_model model;
  bmf_open(&model, &data, &state, work_space(&data, 1), 1);
  const scan_control control = {.threads = 1};
  GetRNGstate();
  const status outcome =
    bmf_draw_side(&model, BMF_USERS, shifted ? REAL(shift) : NULL, &control);
  PutRNGstate();
  if (outcome != STATUS_OK)
    scan_stop(outcome);
  UNPROTECT(1);
  return u;
}

static philox_key unpack_key(SEXP request, const char *name) {
  philox_key key;
  memcpy(&key, args_bytes(request, name, sizeof key), sizeof key);
  return key;
}

/* The `count` numbers of the factors of a request. */
static double *unpack_request_factors(SEXP request, size_t count) {
  const size_t size = args_product(count, sizeof(double));
  double *factors = (double *)(void *)R_alloc(count, sizeof(double));
  memcpy(factors, args_bytes(request, "factors", size), size);
  return factors;
}

/* Latent values of the ordinal ratings that a worker has of a side.  sizes: n, m of all,
 * size, biases; part: list(start, index, value, order, first, place), its ratings as
 * codes; side: 0 for the users; request: of ask(). */
SEXP C_bmf_latents(SEXP sizes_list, SEXP part, SEXP side, SEXP request,
                   SEXP threads) {
  bmf_data data = unpack_sizes(sizes_list);
  const int users = args_scalar_count(side, "side", 0) == BMF_USERS;
  const size_t all = users ? data.n : data.m;
  const size_t others = data.n + data.m - all;
  const size_t rows = (size_t)Rf_xlength(args_element(part, "order"));
  const size_t first = args_count(part, "first", 0);
  if (first > all || rows > all - first)
    Rf_error("`part` must have rows of the side");
  const bmf_ratings ratings = unpack_ratings(part, rows, others);
  *(users ? &data.users : &data.items) = ratings;
  const size_t count = (size_t)ratings.start[rows];
  const size_t q = (size_t)Rf_xlength(args_element(request, "theta"));
  data.levels = q + 1;
  check_codes(ratings.value, count, data.levels);
  data.place = args_integers(part, "place", count);
  check_indices(data.place, count, (size_t)INT_MAX, "place");
  double *v = unpack_request_factors(request, (data.n + data.m) * data.d);
  const bmf_state state = {.v = v,
                           .u = v + data.m * data.d,
                           .theta = args_doubles(request, "theta", q)};
  double *eta = (double *)(void *)R_alloc(count, sizeof(double));
  SEXP z = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)count));
  bmf_draw_latents(&data, &state, users ? BMF_USERS : BMF_ITEMS,
                   unpack_key(request, "latent_key"), first, eta, REAL(z),
                   args_threads(threads));
  UNPROTECT(1);
  return z;
}

/* Rows of a side that a worker has: the answer to the request of ask(), or NULL
 * after an interrupt.  sizes: n, m of the part, size, biases; part: list(start,
 * index, value, order, first), first the number of rows of the side before them;
 * kind: the prior's. */
SEXP C_bmf_part(SEXP sizes_list, SEXP part, SEXP kind, SEXP request,
                SEXP threads) {
  bmf_data data = unpack_sizes(sizes_list);
  const size_t d = data.d;
  const int users = args_count(request, "which", 0) == BMF_USERS;
  const size_t rows = users ? data.n : data.m;
  const size_t others = data.n + data.m - rows;
  *(users ? &data.users : &data.items) = unpack_ratings(part, rows, others);
  data.prior.kind = unpack_kind(kind);
  const philox_key key = unpack_key(request, "key");
  double *other = unpack_request_factors(request, d * others);
  const char *names[] = {"factors", "squares", ""};
  SEXP answer = PROTECT(Rf_mkNamed(VECSXP, names));
  SEXP own = Rf_allocVector(REALSXP, (R_xlen_t)(d * rows));
  SET_VECTOR_ELT(answer, 0, own);
  const bmf_state state =
    given_state(&data, args_element(request, "hyper"),
                users ? REAL(own) : other, users ? other : REAL(own));
  const scan_control control = {.threads = args_threads(threads),
                                .stop = scan_interrupted};
  bmf_model model;
  bmf_open(&model, &data, &state, work_space(&data, control.threads),
           control.threads);
  const status outcome =
    bmf_draw_given(&model, users ? BMF_USERS : BMF_ITEMS, key,
                   args_count(part, "first", 0), NULL, &control);
  if (outcome != STATUS_OK && outcome != STATUS_INTERRUPTED)
    scan_stop(outcome);
  if (!users)
    SET_VECTOR_ELT(answer, 1, args_numbers(model.squares, rows));
  UNPROTECT(1);
  return outcome == STATUS_OK ? answer : R_NilValue;
}
