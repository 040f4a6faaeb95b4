/* gibbs_sample(): sweeps whose blocks are drawn by functions of the user.
 *
 * The state of a chain holds `values`, a named list with one element a block,
 * which is what the user's functions are given.  It is never changed in place:
 * each update makes a new list (a copy of K pointers), so that a function may
 * keep what it was given.
 *
 *   calls    K calls, `conditional(state, ...)`, each evaluated in its frame
 *   frames   K environments that hold `conditional`, enclosed by
 *   run      the environment that holds `state`, the list as it stands
 *   lengths  K lengths of the blocks
 *   dims     K integer vectors, or NULL for a block without dimensions
 *   kept     the blocks that are recorded, counted from 1
 *   random   0: blocks in their order; 1: K blocks a sweep, each at random
 *   place    where the run is, for R to read when something stops it: sweep,
 *            block, fault
 *
 * The generator is in the hands of the user's functions: nothing here holds its
 * state while one of them runs. */
#include <R.h>
#include <R_ext/Random.h>
#include <limits.h>
#include <math.h>

#include "r_args.h"
#include "r_closure.h"
#include "r_scan.h"
#include "routines.h"

/* Sweeps for which the order of a random scan is drawn ahead: the generator is
 * fetched and put back (5 microseconds) once for all of them. */
#define LOOK_AHEAD 64

typedef enum {
  FAULT_NONE = 0,
  FAULT_SHAPE,     /* wrong type, length or dimensions */
  FAULT_VALUE,     /* not finite                       */
  FAULT_GENERATOR, /* another kind of generator        */
} fault;

typedef struct {
  size_t blocks;
  SEXP calls, frames, run, symbol;
  const double *lengths;
  SEXP dims;
  const int *kept;
  size_t n_kept;
  int random;
  double *place;
  SEXP state;    /* the copy that the segment works on */
  R_xlen_t slot; /* of `values` in it                  */
  const double *sweep;
  int *order; /* LOOK_AHEAD x blocks, counted from 0 */
  int kind;   /* of the generator                    */
} gibbs_model;

/* ---- the value of a block --------------------------------------------------- */

static int same_dims(SEXP value, SEXP dims) {
  SEXP given = Rf_getAttrib(value, R_DimSymbol);
  if (Rf_xlength(given) != Rf_xlength(dims))
    return 0;
  for (R_xlen_t i = 0; i < Rf_xlength(dims); i++)
    if (INTEGER(given)[i] != INTEGER(dims)[i])
      return 0;
  return 1;
}

static int all_finite(SEXP value) {
  const R_xlen_t length = XLENGTH(value);
  if (TYPEOF(value) == REALSXP) {
    const double *x = REAL(value);
    for (R_xlen_t i = 0; i < length; i++)
      if (!R_FINITE(x[i]))
        return 0;
    return 1;
  }
  const int *x = TYPEOF(value) == INTSXP ? INTEGER(value) : LOGICAL(value);
  for (R_xlen_t i = 0; i < length; i++)
    if (x[i] == NA_INTEGER)
      return 0;
  return 1;
}

static fault value_fault(const gibbs_model *m, size_t block, SEXP value) {
  const int type = TYPEOF(value);
  if ((type != REALSXP && type != INTSXP && type != LGLSXP) || OBJECT(value))
    return FAULT_SHAPE;
  if ((double)XLENGTH(value) != m->lengths[block] ||
      !same_dims(value, VECTOR_ELT(m->dims, (R_xlen_t)block)))
    return FAULT_SHAPE;
  return all_finite(value) ? FAULT_NONE : FAULT_VALUE;
}

/* R looks at `place`, and at `value` in `run`, to say what was wrong. */
static void stop_at(const gibbs_model *m, fault what, SEXP value) {
  m->place[2] = (double)what;
  Rf_defineVar(Rf_install("value"), value, m->run);
  Rf_error("a block of gibbs_sample() has an invalid value");
}

/* ---- one block -------------------------------------------------------------- */

static SEXP values_of(const gibbs_model *m) {
  return VECTOR_ELT(m->state, m->slot);
}

/* `values` becomes the current state: R's and ours. */
static void set_values(gibbs_model *m, SEXP values) {
  SET_VECTOR_ELT(m->state, m->slot, values);
  Rf_defineVar(m->symbol, values, m->run);
}

static void set_block(gibbs_model *m, size_t block, SEXP value) {
  SEXP values = PROTECT(Rf_shallow_duplicate(values_of(m)));
  SET_VECTOR_ELT(values, (R_xlen_t)block, value);
  set_values(m, values);
  UNPROTECT(1);
}

/* theta_k | theta_-k by the user's function of the whole current state. */
static void draw_block(gibbs_model *m, size_t block) {
  const R_xlen_t k = (R_xlen_t)block;
  m->place[1] = (double)block + 1.0;
  SEXP value =
    PROTECT(Rf_eval(VECTOR_ELT(m->calls, k), VECTOR_ELT(m->frames, k)));
  const fault what = value_fault(m, block, value);
  if (what != FAULT_NONE)
    stop_at(m, what, value);
  if (generator_kind() != m->kind)
    stop_at(m, FAULT_GENERATOR, value);
  set_block(m, block, value);
  UNPROTECT(1);
}

/* ---- one sweep -------------------------------------------------------------- */

/* K blocks for each of the next LOOK_AHEAD sweeps, uniformly and independently.
 * Refilled where the sweep's number says so, wherever a segment begins. */
static void draw_order(gibbs_model *m) {
  GetRNGstate();
  for (size_t i = 0; i < LOOK_AHEAD * m->blocks; i++)
    m->order[i] = (int)R_unif_index((double)m->blocks);
  PutRNGstate();
}

static status sweep(void *model, const scan_control *control) {
  gibbs_model *m = model;
  (void)control;
  m->place[0] = *m->sweep + 1.0;
  const size_t ahead = (size_t)fmod(*m->sweep, LOOK_AHEAD);
  if (m->random && ahead == 0)
    draw_order(m);
  for (size_t k = 0; k < m->blocks; k++)
    draw_block(m, m->random ? (size_t)m->order[ahead * m->blocks + k] : k);
  return STATUS_OK;
}

static void record(void *model, double *row, size_t stride) {
  const gibbs_model *m = model;
  SEXP values = values_of(m);
  for (size_t j = 0; j < m->n_kept; j++) {
    SEXP value = VECTOR_ELT(values, m->kept[j] - 1);
    const R_xlen_t length = XLENGTH(value);
    const int real = TYPEOF(value) == REALSXP;
    const double *x = real ? REAL(value) : NULL;
    const int *whole = real                      ? NULL
                       : TYPEOF(value) == INTSXP ? INTEGER(value)
                                                 : LOGICAL(value);
    for (R_xlen_t i = 0; i < length; i++, row += stride)
      *row = real ? x[i] : (double)whole[i];
  }
}

/* ---- unpacking -------------------------------------------------------------- */

static SEXP list_of(SEXP data, const char *name, size_t length) {
  SEXP list = args_element(data, name);
  if (TYPEOF(list) != VECSXP || (size_t)XLENGTH(list) != length)
    Rf_error("`%s` must be a list of length %.0f", name, (double)length);
  return list;
}

static R_xlen_t slot_of(SEXP list, const char *name) {
  SEXP element = args_element(list, name);
  R_xlen_t i = 0;
  while (VECTOR_ELT(list, i) != element)
    i++;
  return i;
}

static void unpack_functions(gibbs_model *m, SEXP data) {
  SEXP lengths = args_element(data, "lengths");
  m->blocks = (size_t)Rf_xlength(lengths);
  m->lengths = args_doubles(data, "lengths", m->blocks);
  m->calls = list_of(data, "calls", m->blocks);
  m->frames = list_of(data, "frames", m->blocks);
  m->dims = list_of(data, "dims", m->blocks);
  m->run = args_element(data, "run");
  m->symbol = Rf_install("state");
  m->place = args_doubles(data, "place", 3);
  if (TYPEOF(m->run) != ENVSXP)
    Rf_error("`run` must be an environment");
  for (R_xlen_t k = 0; k < XLENGTH(m->frames); k++) {
    if (TYPEOF(VECTOR_ELT(m->frames, k)) != ENVSXP)
      Rf_error("`frames` must be environments");
    SEXP dims = VECTOR_ELT(m->dims, k);
    if (dims != R_NilValue && TYPEOF(dims) != INTSXP)
      Rf_error("`dims` must be integers");
  }
}

/* Returns the number of columns that are recorded. */
static size_t unpack_kept(gibbs_model *m, SEXP data) {
  m->n_kept = (size_t)Rf_xlength(args_element(data, "kept"));
  m->kept = args_integers(data, "kept", m->n_kept);
  double columns = 0.0;
  for (size_t j = 0; j < m->n_kept; j++) {
    if (m->kept[j] < 1 || (size_t)m->kept[j] > m->blocks)
      Rf_error("`kept` must be numbers of blocks");
    columns += m->lengths[m->kept[j] - 1];
  }
  if (!(columns >= 1.0 && columns <= INT_MAX))
    Rf_error("the draws are too wide");
  return (size_t)columns;
}

/* The segment may have been handed values that no function has returned. */
static void check_values(const gibbs_model *m) {
  list_of(m->state, "values", m->blocks);
  for (size_t k = 0; k < m->blocks; k++)
    if (value_fault(m, k, VECTOR_ELT(values_of(m), (R_xlen_t)k)) != FAULT_NONE)
      Rf_error("block %.0f of the state is invalid", (double)k + 1.0);
}

SEXP C_gibbs_sample_sweeps(SEXP data, SEXP state, SEXP n, SEXP control_list) {
  gibbs_model m = {0};
  unpack_functions(&m, data);
  const size_t columns = unpack_kept(&m, data);
  const scan_control control = args_control(control_list);
  m.state = PROTECT(scan_copy_state(state));
  m.slot = slot_of(m.state, "values");
  m.sweep = args_doubles(m.state, "sweep", 1);
  m.random = args_count(data, "random", 0) > 0;
  if (m.random)
    m.order =
      args_integers(m.state, "order", args_product(LOOK_AHEAD, m.blocks));
  m.kind = generator_kind();
  check_values(&m);
  set_values(&m, values_of(&m));
  const scan_model scan = {&m, sweep, record};
  SEXP result = scan_segment_open(&scan, control, n, m.state, columns);
  UNPROTECT(1);
  return result;
}
