/* .Call entries of the Gaussian mixture: unpack, call the core, pack. */
#include <R.h>
#include <math.h>

#include "gmm.h"
#include "lanes.h"
#include "r_args.h"
#include "r_scan.h"
#include "routines.h"

static gmm_data unpack_data(SEXP list) {
  gmm_data data;
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
  data.keep_z = args_count(list, "keep_z", 0) > 0;
  return data;
}

static gmm_state unpack_state(SEXP list, const gmm_data *data) {
  const size_t means = args_product(data->k, data->d);
  gmm_state state;
  state.z = args_integers(list, "z", data->n);
  state.log_pi = args_doubles(list, "log_pi", data->k);
  state.mu = args_doubles(list, "mu", means);
  state.sigma = args_doubles(list, "sigma", args_product(means, data->d));
  for (size_t i = 0; i < data->n; i++)
    if (state.z[i] < 1 || (size_t)state.z[i] > data->k)
      Rf_error("`z` must lie between 1 and the number of components");
  return state;
}

SEXP C_gmm_sweeps(SEXP data_list, SEXP state_list, SEXP n, SEXP control_list) {
  const gmm_data data = unpack_data(data_list);
  const scan_control control = args_control(control_list);
  SEXP copy = PROTECT(scan_copy_state(state_list));
  const gmm_state state = unpack_state(copy, &data);
  const size_t size = gmm_work_size(&data);
  if (size == 0)
    scan_stop(STATUS_NO_MEMORY);
  double *work = (double *)R_alloc(size, sizeof(double));
  gmm_model model;
  const status outcome = gmm_open(&model, &data, &state, work, control.threads);
  if (outcome != STATUS_OK)
    scan_stop(outcome);
  const scan_model scan = {&model, gmm_sweep, gmm_record};
  SEXP result = scan_segment(&scan, control, n, copy, gmm_columns(&data));
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
  for (size_t e = 0; e < length; e++)
    if (INTEGER(x)[e] < 1 || (size_t)INTEGER(x)[e] > k)
      Rf_error("`%s` must lie between 1 and the number of components", name);
  return INTEGER(x);
}

static gmm_evaluation unpack_evaluation(SEXP x, SEXP pi, SEXP mu, SEXP sigma,
                                        SEXP order, SEXP pivot) {
  gmm_evaluation job = {0};
  size_t rows, columns;
  args_matrix(x, "x", &job.n, &job.d);
  args_matrix(pi, "pi", &job.draws, &job.k);
  args_matrix(mu, "mu", &rows, &columns);
  if (rows != job.draws || columns != args_product(job.k, job.d))
    Rf_error("`mu` must have a row a draw and k d columns");
  args_matrix(sigma, "sigma", &rows, &columns);
  if (rows != job.draws || columns != args_product(job.k * job.d, job.d))
    Rf_error("`sigma` must have a row a draw and k d^2 columns");
  if (job.n < 1 || job.d < 1 || job.k < 1)
    Rf_error("`x` or `pi` is empty");
  job.x = REAL(x);
  job.pi = REAL(pi);
  job.mu = REAL(mu);
  job.sigma = REAL(sigma);
  job.order = unpack_labels(order, "order", job.draws * job.k, job.k);
  job.pivot = unpack_labels(pivot, "pivot", job.n, job.k);
  return job;
}

/* x: n x d; pi: draws x k; mu: draws x k d; sigma: draws x k d^2; order: draws x
 * k integers or NULL; pivot: n integers or NULL; what: c(log_density, prob).
 * Returns list(log_density, prob, agreement), NULL where not asked for;
 * agreement (draws x k x k) comes with a pivot. */
SEXP C_gmm_evaluate(SEXP x, SEXP pi, SEXP mu, SEXP sigma, SEXP order,
                    SEXP pivot, SEXP what) {
  gmm_evaluation job = unpack_evaluation(x, pi, mu, sigma, order, pivot);
  if (TYPEOF(what) != LGLSXP || XLENGTH(what) != 2)
    Rf_error("`what` must be two logical values");
  const char *names[] = {"log_density", "prob", "agreement", ""};
  SEXP result = PROTECT(Rf_mkNamed(VECSXP, names));
  if (LOGICAL(what)[0] == TRUE) {
    args_product(job.draws, job.n);
    SET_VECTOR_ELT(result, 0,
                   Rf_allocMatrix(REALSXP, (int)job.draws, (int)job.n));
    job.log_density = REAL(VECTOR_ELT(result, 0));
  }
  if (LOGICAL(what)[1] == TRUE) {
    SET_VECTOR_ELT(result, 1, Rf_allocMatrix(REALSXP, (int)job.n, (int)job.k));
    job.prob = REAL(VECTOR_ELT(result, 1));
  }
  if (job.pivot) {
    args_product(job.draws, job.k * job.k);
    SET_VECTOR_ELT(result, 2,
                   Rf_alloc3DArray(REALSXP, (int)job.draws, (int)job.k,
                                   (int)job.k));
    job.agreement = REAL(VECTOR_ELT(result, 2));
  }
  double *work =
    (double *)R_alloc(gmm_evaluate_size(job.d, job.k), sizeof(double));
  const status outcome = gmm_evaluate(&job, work);
  if (outcome != STATUS_OK)
    scan_stop(outcome);
  UNPROTECT(1);
  return result;
}
