/* .Call entries of the Gaussian mixture: unpack, call the core, pack. */
#include <R.h>
#include <R_ext/Utils.h>

#include <math.h>
#include <string.h>

#include "gmm/gmm_unknown.h"
#include "r_args.h"
#include "r_scan.h"
#include "routines.h"

static gmm_form unpack_form(SEXP form) {
  const size_t value = args_scalar_count(form, "form", 0);
  if (value > COVARIANCE_SHARED)
    Rf_error("`form` must be 0, 1 or 2");
  return (gmm_form)value;
}

/* Labels must lie between `low` and `high`. */
static void check_range(const int *x, size_t length, int low, size_t high,
                        const char *name) {
  for (size_t e = 0; e < length; e++)
    if (x[e] < low || (x[e] > 0 && (size_t)x[e] > high))
      Rf_error("`%s` must lie between %d and %.0f", name, low, (double)high);
}

/* list(entries, patterns, pattern, missing, offset), or NULL for complete data. */
static gmm_missing unpack_missing(SEXP list, size_t n, size_t d) {
  gmm_missing missing = {0};
  if (list == R_NilValue)
    return missing;
  missing.entries = args_count(list, "entries", 1);
  missing.patterns = args_count(list, "patterns", 1);
  const size_t cells = args_product(missing.patterns, d);
  missing.pattern = args_integers(list, "pattern", n);
  missing.missing = args_integers(list, "missing", cells);
  missing.offset = args_integers(list, "offset", n);
  check_range(missing.pattern, n, 0, missing.patterns, "pattern");
  check_range(missing.missing, cells, 0, 1, "missing");
  check_range(missing.offset, n, 0, missing.entries, "offset");
  size_t entries = 0;
  for (size_t i = 0; i < n; i++) {
    if (missing.pattern[i] == 0)
      continue;
    if (missing.offset[i] < 0 || (size_t)missing.offset[i] != entries)
      Rf_error("`offset` must count the missing entries row by row");
    for (size_t j = 0; j < d; j++)
      entries +=
        (size_t)missing.missing[((size_t)missing.pattern[i] - 1) * d + j];
  }
  if (entries != missing.entries)
    Rf_error("`entries` must be the number of missing entries");
  return missing;
}

static gmm_data unpack_data(SEXP list) {
  gmm_data data;
  data.form = unpack_form(args_element(list, "form"));
  args_matrix(args_element(list, "x"), "x", &data.n, &data.d);
  data.k = args_count(list, "k", 1);
  if (data.n < 1 || data.d < 1)
    Rf_error("`x` is empty");
  const size_t square = args_product(data.d, data.d);
  data.x = REAL(args_element(list, "x"));
  data.alpha = args_doubles(list, "alpha", data.k);
  data.m0 = args_doubles(list, "m0", data.d);
  data.q0 = args_doubles(list, "q0", square);
  data.q0_m0 = args_doubles(list, "q0_m0", data.d);
  data.s0 = args_doubles(list, "s0", square);
  data.nu0 = args_number(list, "nu0");
  data.merge_split = args_count(list, "merge_split", 0) > 0;
  data.missing = unpack_missing(args_element(list, "missing"), data.n, data.d);
  data.keep_z = args_count(list, "keep_z", 0) > 0;
  data.keep_x = args_count(list, "keep_x", 0) > 0;
  return data;
}

/* prob: components in the running means of the allocations' probabilities. */
static gmm_state unpack_state(SEXP list, const gmm_data *data, size_t prob) {
  args_product(args_product(data->k, data->d), data->d);
  gmm_state state;
  state.z = args_integers(list, "z", data->n);
  state.log_pi = args_doubles(list, "log_pi", data->k);
  state.mu = args_doubles(list, "mu", data->k * data->d);
  state.factor =
    args_doubles(list, "factor", gmm_factor_size(data->form, data->d, data->k));
  state.x_missing = args_doubles(list, "x_missing", data->missing.entries);
  state.prob = args_doubles(list, "prob", args_product(data->n, prob));
  state.kept = args_doubles(list, "kept", 1);
  state.moves = args_doubles(list, "moves", 2 * MOVE_KINDS);
  check_range(state.z, data->n, 1, data->k, "z");
  return state;
}

/* The model on a protected copy of the state. */
static gmm_model open_model(const gmm_data *data, SEXP copy, int threads) {
  const gmm_state state = unpack_state(copy, data, data->k);
  const size_t size = gmm_work_size(data);
  if (size == 0)
    scan_stop(STATUS_NO_MEMORY);
  gmm_model model;
  const status outcome =
    gmm_open(&model, data, &state, R_alloc(size, 1), threads);
  if (outcome != STATUS_OK)
    scan_stop(outcome);
  return model;
}

/* mode: FALSE for the Gibbs sampler, TRUE for iterated conditional modes. */
SEXP C_gmm_sweeps(SEXP data_list, SEXP state_list, SEXP n, SEXP control_list,
                  SEXP mode) {
  const gmm_data data = unpack_data(data_list);
  const scan_control control = args_control(control_list);
  if (TYPEOF(mode) != LGLSXP || XLENGTH(mode) != 1)
    Rf_error("`mode` must be TRUE or FALSE");
  SEXP copy = PROTECT(scan_copy_state(state_list));
  gmm_model model = open_model(&data, copy, control.threads);
  model.mode = LOGICAL(mode)[0] == TRUE;
  const scan_model scan = {&model, gmm_sweep, gmm_record};
  SEXP result = scan_segment(&scan, control, n, copy, gmm_columns(&data));
  UNPROTECT(1);
  return result;
}

static gmm_unknown_data unpack_unknown(SEXP list, const gmm_data *mixture) {
  gmm_unknown_data data;
  data.log_prior = args_doubles(list, "log_prior", mixture->k);
  data.g0 = args_doubles(list, "g0", mixture->d * mixture->d);
  data.f1 = args_number(list, "f1");
  data.f2 = args_number(list, "f2");
  data.df0 = args_number(list, "df0");
  data.dynamic = args_count(list, "dynamic", 0) > 0;
  data.draw_alpha = args_count(list, "draw_alpha", 0) > 0;
  data.draw_s0 = args_count(list, "draw_s0", 0) > 0;
  data.keep_components = args_count(list, "keep_components", 0) > 0;
  return data;
}

/* Labels in z must be those of the present k components. */
static gmm_unknown_state unpack_unknown_state(SEXP list, const gmm_data *data,
                                              const int *z) {
  gmm_unknown_state state;
  state.k = args_doubles(list, "k", 1);
  state.alpha = args_doubles(list, "alpha", 1);
  state.s0 = args_doubles(list, "s0", data->d * data->d);
  if (!(*state.k >= 1.0 && *state.k <= (double)data->k))
    Rf_error("`k` must lie between 1 and %.0f", (double)data->k);
  check_range(z, data->n, 1, (size_t)*state.k, "z");
  return state;
}

/* data: that of C_gmm_sweeps() with k the largest number of components, and the
 * element `unknown`. */
SEXP C_gmm_unknown_sweeps(SEXP data_list, SEXP state_list, SEXP n,
                          SEXP control_list) {
  const gmm_data mixture = unpack_data(data_list);
  const gmm_unknown_data data =
    unpack_unknown(args_element(data_list, "unknown"), &mixture);
  const scan_control control = args_control(control_list);
  SEXP copy = PROTECT(scan_copy_state(state_list));
  const gmm_state state = unpack_state(copy, &mixture, 0);
  const gmm_unknown_state further =
    unpack_unknown_state(copy, &mixture, state.z);
  const size_t size = gmm_unknown_work_size(&mixture);
  if (size == 0)
    scan_stop(STATUS_NO_MEMORY);
  gmm_unknown model;
  const status outcome =
    gmm_unknown_open(&model, &mixture, &state, &data, &further,
                     R_alloc(size, 1), control.threads);
  if (outcome != STATUS_OK)
    scan_stop(outcome);
  const scan_model scan = {&model, gmm_unknown_sweep, gmm_unknown_record};
  SEXP result =
    scan_segment(&scan, control, n, copy, gmm_unknown_columns(&mixture, &data));
  UNPROTECT(1);
  return result;
}

/* A vector of labels 1..k of this length, or NULL. */
static const int *unpack_labels(SEXP x, const char *name, size_t length,
                                size_t k) {
  if (x == R_NilValue)
    return NULL;
  if (TYPEOF(x) != INTSXP || (size_t)XLENGTH(x) != length)
    Rf_error("`%s` must be NULL or %.0f integers", name, (double)length);
  check_range(INTEGER(x), length, 1, k, name);
  return INTEGER(x);
}

/* list(x, pi, mu, sigma): x n x d, pi draws x k, mu draws x k d, sigma draws x
 * (the numbers of the form). */
static gmm_evaluation unpack_evaluation(SEXP form, SEXP x, SEXP blocks) {
  gmm_evaluation job = {0};
  size_t rows, columns;
  job.form = unpack_form(form);
  args_matrix(x, "x", &job.n, &job.d);
  SEXP pi = args_element(blocks, "pi"), mu = args_element(blocks, "mu");
  SEXP sigma = args_element(blocks, "sigma");
  args_matrix(pi, "pi", &job.draws, &job.k);
  args_matrix(mu, "mu", &rows, &columns);
  if (rows != job.draws || columns != args_product(job.k, job.d))
    Rf_error("`mu` must have a row a draw and k d columns");
  args_matrix(sigma, "sigma", &rows, &columns);
  args_product(job.k * job.d, job.d);
  if (rows != job.draws || columns != gmm_factor_size(job.form, job.d, job.k))
    Rf_error("`sigma` has the wrong number of rows or columns");
  if (job.n < 1 || job.d < 1 || job.k < 1)
    Rf_error("`x` or `pi` is empty");
  job.x = REAL(x);
  job.pi = REAL(pi);
  job.mu = REAL(mu);
  job.sigma = REAL(sigma);
  return job;
}

/* order: draws x k integers or NULL; pivot: n integers or NULL; what:
 * c(log_density, prob).  Returns list(log_density, prob, agreement), NULL where
 * not asked for; agreement (draws x k x k) comes with a pivot. */
SEXP C_gmm_evaluate(SEXP form, SEXP x, SEXP blocks, SEXP order, SEXP pivot,
                    SEXP what) {
  gmm_evaluation job = unpack_evaluation(form, x, blocks);
  const int draws = (int)job.draws, k = (int)job.k, n = (int)job.n;
  job.order = unpack_labels(order, "order", job.draws * job.k, job.k);
  job.pivot = unpack_labels(pivot, "pivot", job.n, job.k);
  if (TYPEOF(what) != LGLSXP || XLENGTH(what) != 2)
    Rf_error("`what` must be two logical values");
  const char *names[] = {"log_density", "prob", "agreement", ""};
  SEXP result = PROTECT(Rf_mkNamed(VECSXP, names));
  if (LOGICAL(what)[0] == TRUE) {
    args_product(job.draws, job.n);
    SET_VECTOR_ELT(result, 0, Rf_allocMatrix(REALSXP, draws, n));
    job.log_density = REAL(VECTOR_ELT(result, 0));
  }
  if (LOGICAL(what)[1] == TRUE) {
    SET_VECTOR_ELT(result, 1, Rf_allocMatrix(REALSXP, n, k));
    job.prob = REAL(VECTOR_ELT(result, 1));
  }
  if (job.pivot) {
    args_product(job.draws, job.k * job.k);
    SET_VECTOR_ELT(result, 2, Rf_alloc3DArray(REALSXP, draws, k, k));
    job.agreement = REAL(VECTOR_ELT(result, 2));
  }
  const size_t size = gmm_evaluate_size(job.form, job.d, job.k);
  if (size == 0)
    scan_stop(STATUS_NO_MEMORY);
  const status outcome = gmm_evaluate(&job, R_alloc(size, 1));
  if (outcome != STATUS_OK)
    scan_stop(outcome);
  UNPROTECT(1);
  return result;
}

/* The squared distance of columns i and j of x, d x n. */
static double squared_distance(const double *x, size_t d, size_t i, size_t j) {
  double sum = 0.0;
  for (size_t c = 0; c < d; c++) {
    const double gap = x[c + d * i] - x[c + d * j];
    sum += gap * gap;
  }
  return sum;
}

/* near <- the `count` nearest columns of column i of x, d x n, among those at another
 * place; distances that differ by rounding are equal.  Returns how many. */
static size_t find_near(const double *x, size_t n, size_t d, size_t i,
                        size_t count, double *square, double *sorted,
                        size_t *near) {
  for (size_t j = 0; j < n; j++) {
    const double at = squared_distance(x, d, i, j);
    square[j] = sorted[j] = at > 0.0 ? at : INFINITY;
  }
  rPsort(sorted, (int)n, (int)count - 1);
  const double limit = sorted[count - 1] * (1.0 + 2e-8);
  size_t found = 0;
  for (size_t j = 0; j < n; j++)
    if (square[j] <= limit && isfinite(square[j]))
      near[found++] = j;
  return found;
}

/* sum <- sum + the sum over the `count` columns j in `near` of
 * weight (z_i - z_j)(z_i - z_j)', the lower triangle. */
static void add_scatter(const double *z, size_t d, size_t i, const size_t *near,
                        size_t count, double weight, double *sum) {
  for (size_t k = 0; k < count; k++)
    for (size_t c = 0; c < d; c++) {
      const double gap = z[c + d * i] - z[c + d * near[k]];
      for (size_t l = 0; l <= c; l++)
        sum[c + d * l] += weight * gap * (z[l + d * i] - z[l + d * near[k]]);
    }
}

/* The sum over the columns i of z, d x n, of d S_i / (n tr(W^-1 S_i)).  S_i is half the
 * mean of (z_i - z_j)(z_i - z_j)' over the `count` nearest j, plus R, a diagonal matrix.
 * white: L^-1 z, where L L' = W; rounding: list(variance, trace): the diagonal of R, and
 * tr(W^-1 R). */
SEXP C_near_scatter(SEXP z, SEXP white, SEXP count, SEXP rounding) {
  size_t n, d, rows, columns;
  args_matrix(z, "z", &d, &n);
  args_matrix(white, "white", &rows, &columns);
  const size_t nearest = args_scalar_count(count, "count", 1);
  const double *variance = args_doubles(rounding, "variance", d);
  const double rounded = args_number(rounding, "trace");
  if (rows != d || columns != n)
    Rf_error("`white` must have the size of `z`");
  if (nearest >= n)
    Rf_error("`count` must be below the number of columns");
  double *work = (double *)R_alloc(2 * n, sizeof *work);
  size_t *near = (size_t *)R_alloc(n, sizeof *near);
  SEXP result = PROTECT(Rf_allocMatrix(REALSXP, (int)d, (int)d));
  double *sum = REAL(result);
  const double *u = REAL(white);
  memset(sum, 0, d * d * sizeof *sum);
  for (size_t i = 0; i < n; i++) {
    const size_t found = find_near(u, n, d, i, nearest, work, work + n, near);
    const double half = 0.5 / (double)found;
    double trace = 0.0;
    for (size_t k = 0; k < found; k++)
      trace += squared_distance(u, d, i, near[k]);
    const double weight = (double)d / ((double)n * (half * trace + rounded));
    add_scatter(REAL(z), d, i, near, found, weight * half, sum);
    for (size_t c = 0; c < d; c++)
      sum[c + d * c] += weight * variance[c];
  }
  for (size_t c = 0; c < d; c++)
    for (size_t l = 0; l < c; l++)
      sum[l + d * c] = sum[c + d * l];
  UNPROTECT(1);
  return result;
}
