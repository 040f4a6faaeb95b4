#include "r_scan.h"

#include <R.h>
#include <R_ext/Random.h>
#include <limits.h>

#include "r_args.h"
#include "r_generator.h"

/* ---- interrupts ------------------------------------------------------------ */

static void check_interrupt(void *unused) {
  (void)unused;
  R_CheckUserInterrupt();
}

int scan_interrupted(void *unused) {
  (void)unused;
  return !R_ToplevelExec(check_interrupt, NULL);
}

/* The same at every 256th sweep: R's evaluator looks for itself, and a sweep of
 * nothing but compiled code is short. */
static int interrupted_seldom(void *sweeps) {
  unsigned *count = sweeps;
  return (*count)++ % 256 == 0 && scan_interrupted(NULL);
}

/* ---- state, draws and generator in one value -------------------------------- */

SEXP scan_copy_state(SEXP state) {
  if (TYPEOF(state) != VECSXP)
    Rf_error("`state` must be a list");
  return Rf_duplicate(state);
}

/* An error of class `gibbsite_collapse`, so that R can say why a chain has come
 * to a state without a likelihood. */
static void stop_collapse(const char *message) {
  const char *names[] = {"message", "call", ""};
  const char *classes[] = {"gibbsite_collapse", "simpleError", "error",
                           "condition"};
  const int n_classes = sizeof classes / sizeof classes[0];
  SEXP condition = PROTECT(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(condition, 0, Rf_mkString(message));
  SEXP class = PROTECT(Rf_allocVector(STRSXP, n_classes));
  for (int i = 0; i < n_classes; i++)
    SET_STRING_ELT(class, i, Rf_mkChar(classes[i]));
  Rf_classgets(condition, class);
  SEXP call = PROTECT(Rf_lang2(Rf_install("stop"), condition));
  Rf_eval(call, R_BaseEnv);
  UNPROTECT(3);
}

void scan_stop(status outcome) {
  switch (outcome) {
  case STATUS_NOT_POSITIVE_DEFINITE:
    stop_collapse(
      "a covariance or precision matrix is no longer positive definite");
    break;
  case STATUS_NOT_FINITE:
    stop_collapse("the log-likelihood is no longer finite");
    break;
  case STATUS_USER_FUNCTION:
    Rf_error("a function given to the sampler gave no usable answer");
  case STATUS_NO_MEMORY:
    Rf_error("there is not enough memory");
  default:
    break;
  }
  Rf_error("unknown status %d of a sampler", (int)outcome);
}

/* The rows of a segment and, once they are run, state, draws and generator. */
static SEXP run_segment(const scan_model *scan, scan_control control, SEXP n,
                        SEXP state, size_t columns, int hold_generator) {
  const size_t sweeps = args_scalar_count(n, "n", 0);
  double *sweep = args_doubles(state, "sweep", 1);
  if (!(*sweep >= 0.0 && *sweep + (double)sweeps < 9007199254740992.0))
    Rf_error("`sweep` must be a count below 2^53");
  const size_t rows = scan_rows(*sweep, sweeps, &control);
  args_product(rows, columns);
  if (rows > INT_MAX || columns > INT_MAX)
    Rf_error("a segment cannot hold that many draws");
  const char *names[] = {"state", "draws", "rng", ""};
  SEXP result = PROTECT(Rf_mkNamed(VECSXP, names));
  SEXP draws = Rf_allocMatrix(REALSXP, (int)rows, (int)columns);
  SET_VECTOR_ELT(result, 0, state);
  SET_VECTOR_ELT(result, 1, draws);
  if (hold_generator)
    GetRNGstate();
  control.generator = generator_in_use();
  const status outcome =
    scan_sweeps(scan, &control, sweeps, sweep, REAL(draws), rows);
  if (hold_generator)
    PutRNGstate();
  if (outcome != STATUS_OK && outcome != STATUS_INTERRUPTED)
    scan_stop(outcome);
  SET_VECTOR_ELT(result, 2, Rf_duplicate(generator_seed()));
  UNPROTECT(1);
  return outcome == STATUS_OK ? result : R_NilValue;
}

SEXP scan_segment(const scan_model *scan, scan_control control, SEXP n,
                  SEXP state, size_t columns) {
  control.stop = scan_interrupted;
  return run_segment(scan, control, n, state, columns, 1);
}

SEXP scan_segment_open(const scan_model *scan, scan_control control, SEXP n,
                       SEXP state, size_t columns) {
  unsigned sweeps = 0;
  control.stop = interrupted_seldom;
  control.stop_data = &sweeps;
  return run_segment(scan, control, n, state, columns, 0);
}

void *scan_work(size_t size) {
  if (size == 0)
    scan_stop(STATUS_NO_MEMORY);
  return R_alloc(size, 1);
}
