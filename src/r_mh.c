/* .Call entries of Metropolis-Hastings: unpack, call the core, pack. */
#include <R.h>
#include <R_ext/Random.h>
#include <limits.h>
#include <string.h>

#include "mh/mh_proposal.h"
#include "mh/mh_sweep.h"
#include "r_args.h"
#include "r_generator.h"
#include "r_mh_functions.h"
#include "r_mh_proposal.h"
#include "r_scan.h"
#include "routines.h"

/* ---- the sampler's own stream -------------------------------------------- */

/* state$own is a stream of which the sampler alone draws: what the user's
 * functions do to R's generator cannot reach it.  The first element of it is
 * the generator's kind, which they must leave as it is. */
typedef struct {
  SEXP state, chain;
  R_xlen_t slot;
  mh_session *session;
} own_stream;

static void open_stream(own_stream *own, SEXP state, mh_session *session) {
  SEXP stream = args_element(state, "own");
  if (TYPEOF(stream) != INTSXP || XLENGTH(stream) < 2)
    Rf_error("`own` must be a stream of random numbers");
  own->state = state;
  own->slot = 0;
  own->session = session;
  while (VECTOR_ELT(state, own->slot) != stream)
    own->slot++;
}

/* While the sampler draws, `place` holds the chain's stream. */
static void take_generator(void *own) {
  own_stream *o = own;
  SEXP stream = VECTOR_ELT(o->state, o->slot);
  o->chain = PROTECT(generator_seed());
  if (TYPEOF(o->chain) != INTSXP || INTEGER(o->chain)[0] != INTEGER(stream)[0])
    mh_stop_changed_kind(o->session);
  mh_tell(o->session, "stream", o->chain);
  UNPROTECT(1);
  Rf_defineVar(mh_stream_symbol(), stream, R_GlobalEnv);
  GetRNGstate();
}

static void give_generator(void *own) {
  const own_stream *o = own;
  PutRNGstate();
  SET_VECTOR_ELT(o->state, o->slot, generator_seed());
  Rf_defineVar(mh_stream_symbol(), o->chain, R_GlobalEnv);
}

/* ---- the model ----------------------------------------------------------- */

/* A vector of integers counted from 1, as C counts. */
static const int *from_zero(SEXP x, const char *name, size_t length,
                            size_t limit) {
  if (TYPEOF(x) != INTSXP || (size_t)XLENGTH(x) != length)
    Rf_error("`%s` must be %.0f integers", name, (double)length);
  int *index = (int *)R_alloc(length + 1, sizeof(int));
  for (size_t i = 0; i < length; i++) {
    index[i] = INTEGER(x)[i] - 1;
    if (index[i] < 0 || (size_t)index[i] >= limit)
      Rf_error("`%s` must lie between 1 and %.0f", name, (double)limit);
  }
  return index;
}

static void open_target(mh_model *m, SEXP spec, SEXP functions,
                        mh_session *session) {
  m->d = args_count(spec, "d", 1);
  if (args_element(spec, "map") != R_NilValue)
    m->map = args_integers(spec, "map", m->d);
  if (args_element(spec, "lower") != R_NilValue) {
    m->lower = args_doubles(spec, "lower", m->d);
    m->upper = args_doubles(spec, "upper", m->d);
  }
  if (m->map && !m->lower)
    Rf_error("a transformation needs its bounds");
  m->reject_nan = args_count(spec, "reject_nan", 0) > 0;
  mh_open_density(args_element(functions, "log_density"), m->d, session, m);
  mh_open_gradient(m, args_element(functions, "gradient"), session);
}

static void open_state(mh_model *m, SEXP state) {
  m->sweep = args_doubles(state, "sweep", 1);
  m->x = args_doubles(state, "x", m->d);
  m->point = args_doubles(state, "point", m->d);
  m->value = args_doubles(state, "value", 2);
  m->slope = args_doubles(state, "slope", m->d + 1);
  m->nan_count = args_doubles(state, "nan_count", 1);
  m->high = args_doubles(state, "high", 1);
}

static void open_blocks(mh_model *m, SEXP spec, SEXP functions, SEXP state,
                        mh_session *session) {
  SEXP blocks = args_element(spec, "blocks");
  SEXP memory = args_element(state, "blocks");
  SEXP each = args_element(functions, "blocks");
  m->blocks = (size_t)Rf_xlength(blocks);
  if (m->blocks < 1 || (size_t)Rf_xlength(memory) != m->blocks ||
      (size_t)Rf_xlength(each) != m->blocks)
    Rf_error("`blocks` do not agree");
  m->block = (mh_block *)R_alloc(m->blocks, sizeof(mh_block));
  for (size_t b = 0; b < m->blocks; b++) {
    const R_xlen_t i = (R_xlen_t)b;
    SEXP block = VECTOR_ELT(blocks, i);
    mh_open_block(&m->block[b], args_element(block, "proposal"),
                  VECTOR_ELT(memory, i), VECTOR_ELT(each, i),
                  args_element(block, "names"), session);
    const mh_proposal *p = m->block[b].proposal;
    m->block[b].index =
      from_zero(args_element(block, "index"), "index", p->d, m->d);
    if (mh_needs_slope(p) && !m->gradient)
      Rf_error("a proposal needs a gradient");
    if (m->block[b].memory.ladder && p->d != m->d)
      Rf_error("a tempered proposal must move all coordinates");
    mh_open_scratch(&m->block[b], m->d);
  }
}

/* The model on `state`, which it changes; `spec` and `functions` as R's
 * mh_spec() and mh_functions() give them. */
static void open_model(mh_model *m, SEXP spec, SEXP functions, SEXP state,
                       mh_session *session) {
  memset(m, 0, sizeof(mh_model));
  open_target(m, spec, functions, session);
  open_state(m, state);
  open_blocks(m, spec, functions, state, session);
  const size_t work = args_product(mh_work_size(1), m->d);
  m->rows = args_count(spec, "rows", 1);
  mh_open(m, (double *)R_alloc(work, sizeof(double)));
  m->ahead =
    args_doubles(state, "ahead", args_product(m->rows, mh_variates(m)));
  SEXP keep = args_element(spec, "keep");
  m->kept = (size_t)Rf_xlength(keep);
  m->keep = from_zero(keep, "keep", m->kept, m->d);
}

/* ---- entries ------------------------------------------------------------- */

typedef struct {
  mh_model model;
  mh_session session;
} mh_run;

static status sweep(void *run, const scan_control *control) {
  mh_run *r = run;
  const status outcome = mh_sweep(&r->model, control);
  if (outcome == STATUS_USER_FUNCTION)
    mh_report_fault(&r->model, &r->session);
  return outcome;
}

static void record(void *run, double *row, size_t stride) {
  mh_record(&((mh_run *)run)->model, row, stride);
}

/* The steps of a segment, a column each; NULL when none were asked for. */
static SEXP open_trace(mh_model *m, SEXP spec, SEXP n) {
  if (args_count(spec, "debug", 0) == 0)
    return R_NilValue;
  const size_t steps = args_product(args_scalar_count(n, "n", 0), m->blocks);
  if (steps > INT_MAX || m->d > INT_MAX - MH_TRACE)
    Rf_error("a segment cannot hold the trace of that many steps");
  args_product(steps, m->d + MH_TRACE);
  SEXP trace = Rf_allocMatrix(REALSXP, (int)m->d + MH_TRACE, (int)steps);
  m->trace = REAL(trace);
  return trace;
}

/* Transitions of Hamiltonian dynamics with each draw, a column each; NULL when
 * there are none. */
static SEXP open_transitions(mh_run *run, SEXP n, const scan_control *control) {
  size_t blocks = 0;
  for (size_t b = 0; b < run->model.blocks; b++)
    blocks += (size_t)run->model.block[b].proposal->type->has_transitions;
  if (blocks == 0)
    return R_NilValue;
  const size_t rows =
    scan_rows(*run->model.sweep, args_scalar_count(n, "n", 0), control);
  const size_t columns = args_product(rows, blocks);
  if (columns > INT_MAX)
    Rf_error("a segment cannot hold that many transitions");
  args_product(columns, MH_TRANSITION);
  SEXP transitions = Rf_allocMatrix(REALSXP, MH_TRANSITION, (int)columns);
  run->model.transitions = REAL(transitions);
  return transitions;
}

/* The result with trace and transitions. */
static SEXP with_steps(SEXP result, SEXP trace, SEXP transitions) {
  if (result == R_NilValue)
    return result;
  const char *names[] = {"state", "draws", "rng", "trace", "transitions", ""};
  SEXP all = PROTECT(Rf_mkNamed(VECSXP, names));
  for (R_xlen_t i = 0; i < 3; i++)
    SET_VECTOR_ELT(all, i, VECTOR_ELT(result, i));
  SET_VECTOR_ELT(all, 3, trace);
  SET_VECTOR_ELT(all, 4, transitions);
  UNPROTECT(1);
  return all;
}

SEXP C_mh_sweeps(SEXP spec, SEXP functions, SEXP state_list, SEXP n,
                 SEXP control_list, SEXP place) {
  mh_run run;
  own_stream own;
  const scan_control control = args_control(control_list);
  run.session = mh_open_session(place, args_element(spec, "names"));
  SEXP state = PROTECT(scan_copy_state(state_list));
  mh_tell(&run.session, "state", state);
  run.session.asked = mh_open_asked(state);
  open_model(&run.model, spec, functions, state, &run.session);
  open_stream(&own, state, &run.session);
  run.model.take = take_generator;
  run.model.give = give_generator;
  run.model.generator = &own;
  run.model.in_use = generator_in_use();
  SEXP trace = PROTECT(open_trace(&run.model, spec, n));
  SEXP transitions = PROTECT(open_transitions(&run, n, &control));
  const scan_model scan = {&run, sweep, record};
  SEXP result =
    PROTECT(scan_segment_open(&scan, control, n, state, run.model.kept + 1));
  result = with_steps(result, trace, transitions);
  UNPROTECT(4);
  return result;
}

/* The log density at a point of the user's, as the sampler asks for it. */
SEXP C_mh_evaluate(SEXP density, SEXP point, SEXP names, SEXP place) {
  mh_model m;
  mh_session session = mh_open_session(place, names);
  double value = 0.0;
  if (TYPEOF(point) != REALSXP || XLENGTH(point) < 1)
    Rf_error("`point` must be a vector of numbers");
  memset(&m, 0, sizeof(mh_model));
  mh_open_density(density, (size_t)XLENGTH(point), &session, &m);
  if (m.log_density(m.context, REAL(point), &value))
    scan_stop(STATUS_USER_FUNCTION);
  return Rf_ScalarReal(value);
}

/* Point and value of a state from its x: R's mh_start() fills the rest. */
SEXP C_mh_settle(SEXP spec, SEXP functions, SEXP state_list, SEXP place) {
  mh_run run;
  run.session = mh_open_session(place, args_element(spec, "names"));
  SEXP state = PROTECT(scan_copy_state(state_list));
  mh_tell(&run.session, "state", state);
  open_model(&run.model, spec, functions, state, &run.session);
  const status outcome = mh_evaluate_current(&run.model);
  if (outcome == STATUS_USER_FUNCTION)
    mh_report_fault(&run.model, &run.session);
  if (outcome != STATUS_OK)
    scan_stop(outcome);
  UNPROTECT(1);
  return state;
}
