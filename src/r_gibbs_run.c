/* The sweeps of gibbs_sample(): see r_gibbs_sample.h. */
#include <R.h>
#include <R_ext/Random.h>
#include <limits.h>
#include <math.h>

#include "r_args.h"
#include "r_generator.h"
#include "r_gibbs_sample.h"
#include "r_scan.h"
#include "routines.h"

/* Sweeps for which the order of a random scan is drawn ahead: the generator is
 * fetched and put back (5 microseconds) once for all of them. */
#define LOOK_AHEAD 64

/* ---- one sweep -------------------------------------------------------------- */

static void update_block(gibbs_model *m, size_t block,
                         const scan_control *control) {
  m->place[1] = (double)block + 1.0;
  if (m->step[block])
    gibbs_move_block(m->step[block], control);
  else
    gibbs_draw_block(m, block);
}

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
  m->names = list_of(data, "names", m->blocks);
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
    if (gibbs_value_fault(m, k, VECTOR_ELT(values, (R_xlen_t)k)) != FAULT_NONE)
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
