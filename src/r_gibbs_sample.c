/* The sweeps of gibbs_sample(): see r_gibbs_sample.h. */
#include "r_gibbs_sample.h"

#include <R.h>
#include <R_ext/Random.h>
#include <limits.h>
#include <math.h>

#include "r_args.h"
#include "r_generator.h"
#include "r_scan.h"
#include "routines.h"

/* Sweeps for which the order of a random scan is drawn ahead: the generator is
 * fetched and put back (5 microseconds) once for all of them. */
#define LOOK_AHEAD 64

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

/* A row or a column of numbers without its dimensions, if the block is a plain
 * vector: sample_mvnorm(1, ...) gives a row. */
static SEXP as_vector(const gibbs_model *m, size_t block, SEXP value) {
  SEXP given = Rf_getAttrib(value, R_DimSymbol);
  if (VECTOR_ELT(m->dims, (R_xlen_t)block) != R_NilValue ||
      Rf_xlength(given) != 2 || Rf_isObject(value) ||
      (INTEGER(given)[0] != 1 && INTEGER(given)[1] != 1))
    return value;
  value = PROTECT(Rf_shallow_duplicate(value));
  Rf_setAttrib(value, R_DimNamesSymbol, R_NilValue);
  Rf_setAttrib(value, R_DimSymbol, R_NilValue);
  UNPROTECT(1);
  return value;
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

static gibbs_fault value_fault(const gibbs_model *m, size_t block, SEXP value) {
  const int type = TYPEOF(value);
  if ((type != REALSXP && type != INTSXP && type != LGLSXP) ||
      Rf_isObject(value))
    return FAULT_SHAPE;
  if ((double)XLENGTH(value) != m->lengths[block] ||
      !same_dims(value, VECTOR_ELT(m->dims, (R_xlen_t)block)))
    return FAULT_SHAPE;
  return all_finite(value) ? FAULT_NONE : FAULT_VALUE;
}

void gibbs_stop(const gibbs_model *m, gibbs_fault what, SEXP value) {
  m->place[2] = (double)what;
  PROTECT(value);
  Rf_defineVar(Rf_install("value"), value, m->run);
  UNPROTECT(1);
  Rf_error("a function given to gibbs_sample() has failed");
}

void gibbs_check_generator(const gibbs_model *m) {
  if (generator_kind() != m->kind)
    gibbs_stop(m, FAULT_GENERATOR, R_NilValue);
}

/* ---- one block --------------------------------------------------------- */

void gibbs_show(gibbs_model *m, SEXP values) {
  PROTECT(values);
  Rf_defineVar(m->symbol, values, m->run);
  UNPROTECT(1);
}

void gibbs_set(gibbs_model *m, SEXP values) {
  SET_VECTOR_ELT(m->state, m->slot, values);
  m->values = values;
  gibbs_show(m, values);
}

SEXP gibbs_with(const gibbs_model *m, size_t k, SEXP value) {
  SEXP values = Rf_shallow_duplicate(m->values);
  SET_VECTOR_ELT(values, (R_xlen_t)k, value);
  return values;
}

/* theta_k | theta_-k by the user's function of the whole current state. */
static void draw_block(gibbs_model *m, size_t block) {
  const R_xlen_t k = (R_xlen_t)block;
  SEXP value =
    PROTECT(Rf_eval(VECTOR_ELT(m->calls, k), VECTOR_ELT(m->frames, k)));
  value = PROTECT(as_vector(m, block, value));
  const gibbs_fault what = value_fault(m, block, value);
  if (what != FAULT_NONE)
    gibbs_stop(m, what, value);
  gibbs_check_generator(m);
  gibbs_set(m, gibbs_with(m, block, value));
  UNPROTECT(2);
}

static void update_block(gibbs_model *m, size_t block,
                         const scan_control *control) {
  m->place[1] = (double)block + 1.0;
  if (m->step[block])
    gibbs_move_block(m->step[block], control);
  else
    draw_block(m, block);
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
  m->place[0] = *m->sweep + 1.0;
  const size_t ahead = (size_t)fmod(*m->sweep, LOOK_AHEAD);
  if (m->random && ahead == 0)
    draw_order(m);
  for (size_t k = 0; k < m->blocks; k++)
    update_block(m, m->random ? (size_t)m->order[ahead * m->blocks + k] : k,
                 control);
  return STATUS_OK;
}

static void record(void *model, double *row, size_t stride) {
  const gibbs_model *m = model;
  for (size_t j = 0; j < m->n_kept; j++) {
    SEXP value = VECTOR_ELT(m->values, m->kept[j] - 1);
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

/* The state may have been made by anybody. */
static void open_values(gibbs_model *m) {
  SEXP values = list_of(m->state, "values", m->blocks);
  m->slot = slot_of(m->state, "values");
  for (size_t k = 0; k < m->blocks; k++)
    if (value_fault(m, k, VECTOR_ELT(values, (R_xlen_t)k)) != FAULT_NONE)
      Rf_error("block %.0f of the state is invalid", (double)k + 1.0);
  gibbs_set(m, values);
}

static void open_steps(gibbs_model *m, SEXP data) {
  SEXP specs = list_of(data, "steps", m->blocks);
  SEXP memory = list_of(m->state, "steps", m->blocks);
  m->step =
    (struct gibbs_step **)R_alloc(m->blocks, sizeof(struct gibbs_step *));
  for (size_t k = 0; k < m->blocks; k++) {
    SEXP spec = VECTOR_ELT(specs, (R_xlen_t)k);
    m->step[k] =
      spec == R_NilValue
        ? NULL
        : gibbs_open_step(m, k, spec, VECTOR_ELT(memory, (R_xlen_t)k));
  }
}

SEXP C_gibbs_sample_sweeps(SEXP data, SEXP state, SEXP n, SEXP control_list) {
  gibbs_model m = {0};
  unpack_functions(&m, data);
  const size_t columns = unpack_kept(&m, data);
  const scan_control control = args_control(control_list);
  m.state = PROTECT(scan_copy_state(state));
  m.sweep = args_doubles(m.state, "sweep", 1);
  m.random = args_count(data, "random", 0) > 0;
  if (m.random)
    m.order =
      args_integers(m.state, "order", args_product(LOOK_AHEAD, m.blocks));
  m.kind = generator_kind();
  open_values(&m);
  open_steps(&m, data);
  const scan_model scan = {&m, sweep, record};
  SEXP result = scan_segment_open(&scan, control, n, m.state, columns);
  UNPROTECT(1);
  return result;
}
