/* .Call entries of Metropolis-Hastings: unpack, call the core, pack. */
#include "r_mh.h"

#include <R.h>
#include <R_ext/Random.h>
#include <limits.h>
#include <string.h>

#include "mh/mh_hamiltonian.h"
#include "mh/mh_proposal.h"
#include "mh/mh_tempered.h"
#include "r_args.h"
#include "r_generator.h"
#include "r_native.h"
#include "r_scan.h"
#include "routines.h"

/* ---- a stream for log densities ------------------------------------------ */

static SEXP stream_symbol(void) {
  return Rf_install(".Random.seed");
}

mh_asked mh_open_asked(SEXP list) {
  mh_asked asked = {NULL, 0};
  SEXP names = Rf_getAttrib(list, R_NamesSymbol);
  for (R_xlen_t i = 0; i < Rf_xlength(names); i++)
    if (strcmp(CHAR(STRING_ELT(names, i)), "asked") == 0) {
      SEXP stream = VECTOR_ELT(list, i);
      if (TYPEOF(stream) == INTSXP && XLENGTH(stream) > 1)
        asked.list = list;
      asked.slot = i;
    }
  return asked;
}

SEXP mh_eval_asked(const mh_asked *asked, SEXP call, SEXP env, int kind) {
  SEXP chain = PROTECT(generator_seed());
  Rf_defineVar(stream_symbol(), VECTOR_ELT(asked->list, asked->slot),
               R_GlobalEnv);
  SEXP answer = PROTECT(Rf_eval(call, env));
  const int same = generator_kind() == kind;
  if (same) {
    SET_VECTOR_ELT(asked->list, asked->slot, generator_seed());
    Rf_defineVar(stream_symbol(), chain, R_GlobalEnv);
  }
  UNPROTECT(2);
  return same ? answer : NULL;
}

/* ---- functions of the user ----------------------------------------------- */

static void tell(const mh_session *session, const char *name, SEXP value) {
  PROTECT(value);
  Rf_defineVar(Rf_install(name), value, session->place);
  UNPROTECT(1);
}

/* The core returns to where scan_stop() raises an error; R reads `place`. */
static int refuse(const mh_session *session, const char *fault, SEXP value) {
  tell(session, "value", value);
  tell(session, "fault", Rf_mkString(fault));
  return 1;
}

mh_session mh_open_session(SEXP place, SEXP names) {
  if (TYPEOF(place) != ENVSXP)
    Rf_error("`place` must be an environment");
  const mh_session session = {place, names, R_NilValue, {NULL, 0}};
  return session;
}

mh_closure *mh_open_closure(SEXP caller, size_t d, SEXP names,
                            mh_session *session) {
  mh_closure *f = (mh_closure *)R_alloc(1, sizeof(mh_closure));
  f->session = session;
  f->call = args_element(caller, "call");
  f->env = args_element(caller, "env");
  f->role = args_element(caller, "role");
  f->d = d;
  f->names = names;
  f->draws = 0;
  if (TYPEOF(f->call) != LANGSXP || TYPEOF(f->env) != ENVSXP ||
      CDR(f->call) == R_NilValue)
    Rf_error("a function to be called must be list(call, env, role)");
  if (names != R_NilValue &&
      (TYPEOF(names) != STRSXP || (size_t)XLENGTH(names) != d))
    Rf_error("`names` must name every coordinate");
  return f;
}

/* A vector of its own for each evaluation, put at `argument` of the call: the
 * function may keep it.  One of which R's count of references says that nothing
 * but the call holds it any more is as good as new. */
static void set_argument(const mh_closure *f, SEXP argument, const double *x) {
  const size_t bytes = f->d * sizeof(double);
  SEXP last = CAR(argument);
  if (TYPEOF(last) == REALSXP && !MAYBE_SHARED(last)) {
    memcpy(REAL(last), x, bytes);
    return;
  }
  SEXP vector = Rf_allocVector(REALSXP, (R_xlen_t)f->d);
  SETCAR(argument, vector);
  memcpy(REAL(vector), x, bytes);
  if (f->names != R_NilValue)
    Rf_setAttrib(vector, R_NamesSymbol, f->names);
}

static void stop_changed_kind(const mh_session *session) {
  refuse(session, "generator", R_NilValue);
  Rf_error("the kind of random number generator was changed");
}

/* Called with the generator's state where R looks for it. */
static SEXP ask(const mh_closure *f, const double *x) {
  mh_session *session = f->session;
  set_argument(f, CDR(f->call), x);
  if (session->role != f->role) {
    session->role = f->role;
    tell(session, "role", f->role);
    tell(session, "call", f->call);
  }
  if (f->draws || !session->asked.list)
    return Rf_eval(f->call, f->env);
  SEXP answer =
    mh_eval_asked(&session->asked, f->call, f->env, generator_kind());
  if (!answer)
    stop_changed_kind(session);
  return answer;
}

/* One number; an integer or a missing logical counts as one. */
static int one_number(SEXP answer, double *value) {
  if (XLENGTH(answer) != 1)
    return 0;
  if (TYPEOF(answer) == REALSXP) {
    *value = REAL(answer)[0];
    return 1;
  }
  const int whole = TYPEOF(answer) == INTSXP && !Rf_isObject(answer);
  const int missing =
    TYPEOF(answer) == LGLSXP && LOGICAL(answer)[0] == NA_LOGICAL;
  *value = Rf_asReal(answer);
  return whole || missing;
}

static int is_numeric(SEXP answer) {
  return TYPEOF(answer) == REALSXP || TYPEOF(answer) == INTSXP ||
         TYPEOF(answer) == LGLSXP;
}

static int take_number(const mh_closure *f, SEXP answer, double *value) {
  if (is_numeric(answer) && one_number(answer, value))
    return 0;
  return refuse(f->session, "number", answer);
}

int mh_ask_number(void *context, const double *x, double *value) {
  const mh_closure *f = context;
  return take_number(f, ask(f, x), value);
}

int mh_ask_vector(void *context, const double *x, double *value) {
  const mh_closure *f = context;
  SEXP answer = PROTECT(ask(f, x));
  const int whole = TYPEOF(answer) == INTSXP && !Rf_isObject(answer);
  const int good =
    (TYPEOF(answer) == REALSXP || whole) && (size_t)XLENGTH(answer) == f->d;
  for (size_t j = 0; good && j < f->d; j++)
    value[j] = !whole                             ? REAL(answer)[j]
               : INTEGER(answer)[j] == NA_INTEGER ? NA_REAL
                                                  : INTEGER(answer)[j];
  if (!good)
    refuse(f->session, "vector", answer);
  UNPROTECT(1);
  return !good;
}

int mh_ask_density(void *context, const double *y, const double *x,
                   double *value) {
  const mh_closure *f = context;
  set_argument(f, CDDR(f->call), x);
  return take_number(f, ask(f, y), value);
}

/* A draw of a custom proposal must be finite: one that is not can be no point
 * of the density's. */
static int ask_draw(void *context, const double *x, double *y) {
  const mh_closure *f = context;
  if (mh_ask_vector(context, x, y))
    return 1;
  for (size_t j = 0; j < f->d; j++)
    if (!R_FINITE(y[j]))
      return refuse(f->session, "draw", R_NilValue);
  return 0;
}

void mh_open_density(SEXP density, size_t d, mh_session *session, mh_model *m) {
  if (TYPEOF(density) == EXTPTRSXP) {
    m->context = native_context(density, d);
    m->log_density = native_ask;
    return;
  }
  m->context = mh_open_closure(density, d, session->names, session);
  m->log_density = mh_ask_number;
}

/* ---- a gradient that comes with the value ----------------------------------- */

/* The value and the gradient at x, asked together.  The sampler asks for the
 * value first, and then for the gradient at the same point. */
typedef struct {
  int (*ask)(void *context, const double *x, double *value, double *slope);
  void *context;
  size_t d;
  int known;
  double *x, *slope;
} mh_carrier;

static int carried_value(void *context, const double *x, double *value) {
  mh_carrier *c = context;
  c->known = 0;
  if (c->ask(c->context, x, value, c->slope))
    return 1;
  memcpy(c->x, x, c->d * sizeof(double));
  c->known = 1;
  return 0;
}

static int carried_slope(void *context, const double *x, double *slope) {
  mh_carrier *c = context;
  const size_t bytes = c->d * sizeof(double);
  double value;
  if ((!c->known || memcmp(c->x, x, bytes) != 0) && carried_value(c, x, &value))
    return 1;
  memcpy(slope, c->slope, bytes);
  return 0;
}

/* The answer's attribute "gradient". */
static int ask_with_gradient(void *context, const double *x, double *value,
                             double *slope) {
  const mh_closure *f = context;
  SEXP answer = PROTECT(ask(f, x));
  int bad = take_number(f, answer, value);
  SEXP gradient = Rf_getAttrib(answer, Rf_install("gradient"));
  if (!bad && *value > R_NegInf) {
    if (TYPEOF(gradient) == REALSXP && (size_t)XLENGTH(gradient) == f->d)
      memcpy(slope, REAL(gradient), f->d * sizeof(double));
    else
      bad = refuse(f->session, "attribute", gradient);
  }
  UNPROTECT(1);
  return bad;
}

static void carry_gradient(mh_model *m,
                           int (*both)(void *, const double *, double *,
                                       double *),
                           void *context) {
  mh_carrier *c = (mh_carrier *)R_alloc(1, sizeof(mh_carrier));
  double *numbers = (double *)R_alloc(args_product(2, m->d), sizeof(double));
  *c = (mh_carrier){both, context, m->d, 0, numbers, numbers + m->d};
  m->context = m->gradient_context = c;
  m->log_density = carried_value;
  m->gradient = carried_slope;
}

/* NULL; a caller; a string: the density's values have the gradient; or what
 * native_gradient() makes. */
static void open_gradient(mh_model *m, SEXP gradient, mh_session *session) {
  if (gradient == R_NilValue)
    return;
  if (TYPEOF(gradient) == EXTPTRSXP) {
    carry_gradient(m, native_ask_both, native_gradient_context(gradient, m->d));
    return;
  }
  if (TYPEOF(gradient) == STRSXP && m->log_density == mh_ask_number) {
    carry_gradient(m, ask_with_gradient, m->context);
    return;
  }
  m->gradient = mh_ask_vector;
  m->gradient_context =
    mh_open_closure(gradient, m->d, session->names, session);
}

void mh_report_fault(const mh_model *m, mh_session *session) {
  static const char *const words[] = {
    [MH_NAN] = "nan",
    [MH_PLUS_INFINITY] = "infinite",
    [MH_GRADIENT] = "gradient",
    [MH_PROPOSAL_RATIO] = "ratio",
  };
  if (m->fault == MH_NO_FAULT)
    return;
  SEXP point = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)m->d));
  memcpy(REAL(point), m->fault_point, m->d * sizeof(double));
  if (session->names != R_NilValue)
    Rf_setAttrib(point, R_NamesSymbol, session->names);
  tell(session, "point", point);
  tell(session, "fault", Rf_mkString(words[m->fault]));
  UNPROTECT(1);
}

/* ---- proposals and blocks ------------------------------------------------ */

static size_t code(SEXP list, const char *name, size_t largest) {
  const size_t value = args_count(list, name, 0);
  if (value > largest)
    Rf_error("`%s` must be at most %.0f", name, (double)largest);
  return value;
}

/* d numbers for a diagonal, else d x d. */
static void open_factor(mh_proposal *p, SEXP compiled) {
  const size_t length = (size_t)Rf_xlength(args_element(compiled, "factor"));
  p->diagonal = length == p->d;
  p->factor = args_doubles(compiled, "factor",
                           p->diagonal ? p->d : args_product(p->d, p->d));
}

static void open_proposal(mh_proposal *p, SEXP compiled, SEXP functions,
                          SEXP names, mh_session *session);

static void open_parts(mh_proposal *p, SEXP compiled, SEXP functions,
                       SEXP names, mh_session *session) {
  SEXP parts = args_element(compiled, "parts");
  SEXP each = args_element(functions, "parts");
  p->parts = (size_t)Rf_xlength(parts);
  if (TYPEOF(parts) != VECSXP || p->parts < 1 ||
      (size_t)Rf_xlength(each) != p->parts)
    Rf_error("`parts` must be a list of proposals");
  p->weight = args_doubles(compiled, "weights", p->parts);
  p->part = (mh_proposal *)R_alloc(p->parts, sizeof(mh_proposal));
  for (size_t i = 0; i < p->parts; i++) {
    open_proposal(&p->part[i], VECTOR_ELT(parts, (R_xlen_t)i),
                  VECTOR_ELT(each, (R_xlen_t)i), names, session);
    if (p->part[i].kind == MH_ADAPTIVE || p->part[i].kind >= MH_MIXTURE ||
        p->part[i].tuned != MH_FIXED || p->part[i].d != p->d)
      Rf_error("a part of a mixture must be a fixed proposal");
  }
}

/* At least two temperatures. */
static void open_tempered(mh_proposal *p, SEXP compiled, SEXP functions,
                          SEXP names, mh_session *session) {
  SEXP parts = args_element(compiled, "parts");
  SEXP each = args_element(functions, "parts");
  p->longest = args_count(compiled, "longest", 2);
  if (TYPEOF(parts) != VECSXP || XLENGTH(parts) != 1 ||
      TYPEOF(each) != VECSXP || XLENGTH(each) != 1)
    Rf_error("a tempered proposal has one part");
  p->parts = 1;
  p->part = (mh_proposal *)R_alloc(1, sizeof(mh_proposal));
  open_proposal(p->part, VECTOR_ELT(parts, 0), VECTOR_ELT(each, 0), names,
                session);
  if (mh_is_hamiltonian(p->part) || p->part->kind == MH_TEMPERED ||
      p->part->d != p->d)
    Rf_error("a proposal cannot be tempered");
}

/* Two proposals; log_shrink: of the second, as its memory is the first's; NA: it
 * has its own. */
static void open_delayed(mh_proposal *p, SEXP compiled, SEXP functions,
                         SEXP names, mh_session *session) {
  SEXP parts = args_element(compiled, "parts");
  SEXP each = args_element(functions, "parts");
  if (TYPEOF(parts) != VECSXP || XLENGTH(parts) != 2 ||
      TYPEOF(each) != VECSXP || XLENGTH(each) != 2)
    Rf_error("delayed rejection has two proposals");
  p->parts = 2;
  p->part = (mh_proposal *)R_alloc(2, sizeof(mh_proposal));
  for (R_xlen_t i = 0; i < 2; i++) {
    mh_proposal *part = &p->part[i];
    open_proposal(part, VECTOR_ELT(parts, i), VECTOR_ELT(each, i), names,
                  session);
    if (part->kind > MH_MIXTURE || part->tuned == MH_FOREVER || part->d != p->d)
      Rf_error("a proposal cannot be part of delayed rejection");
  }
  const double *shrink = args_doubles(compiled, "log_shrink", 1);
  p->part[1].log_shrink = ISNAN(shrink[0]) ? 0.0 : shrink[0];
  p->longest = ISNAN(shrink[0]) ? 2 : 1;
}

static void open_custom(mh_proposal *p, SEXP functions, SEXP names,
                        mh_session *session) {
  mh_closure **closures = (mh_closure **)R_alloc(2, sizeof(mh_closure *));
  closures[0] =
    mh_open_closure(args_element(functions, "draw"), p->d, names, session);
  closures[1] =
    mh_open_closure(args_element(functions, "log_q"), p->d, names, session);
  closures[0]->draws = 1;
  if (CDDR(closures[1]->call) == R_NilValue)
    Rf_error("a proposal's density must be called with two points");
  p->context = closures;
}

static int draw_custom(void *context, const double *x, double *y) {
  return ask_draw(((mh_closure **)context)[0], x, y);
}

static int density_custom(void *context, const double *y, const double *x,
                          double *value) {
  return mh_ask_density(((mh_closure **)context)[1], y, x, value);
}

/* longest: more than 30 doublings could not be counted */
static void open_hamiltonian(mh_proposal *p, SEXP compiled) {
  p->diagonal = args_count(compiled, "dense", 0) == 0;
  p->longest = args_count(compiled, "longest", 1);
  p->jitter = args_number(compiled, "jitter");
  if (p->kind == MH_NUTS && p->longest > 30)
    Rf_error("`longest` must be at most 30");
}

static void open_proposal(mh_proposal *p, SEXP compiled, SEXP functions,
                          SEXP names, mh_session *session) {
  memset(p, 0, sizeof(mh_proposal));
  p->kind = (mh_kind)code(compiled, "kind", MH_DELAYED);
  p->family = (mh_family)code(compiled, "family", MH_UNIFORM);
  p->tuned = (mh_tuning)code(compiled, "tuned", MH_FOREVER);
  p->d = args_count(compiled, "d", 1);
  p->freedom = args_doubles(compiled, "df", 1)[0];
  p->target = args_number(compiled, "target");
  if (p->kind == MH_RANDOM_WALK || p->kind == MH_INDEPENDENCE ||
      p->kind == MH_LANGEVIN || p->kind == MH_ELLIPSE)
    open_factor(p, compiled);
  if (p->kind == MH_INDEPENDENCE || p->kind == MH_ELLIPSE)
    p->mean = args_doubles(compiled, "mean", p->d);
  if (p->kind == MH_MIXTURE)
    open_parts(p, compiled, functions, names, session);
  if (mh_is_hamiltonian(p))
    open_hamiltonian(p, compiled);
  if (p->kind == MH_SLICE)
    p->longest = args_count(compiled, "longest", 1);
  if (p->kind == MH_TEMPERED)
    open_tempered(p, compiled, functions, names, session);
  if (p->kind == MH_DELAYED)
    open_delayed(p, compiled, functions, names, session);
  if (p->kind == MH_CUSTOM) {
    open_custom(p, functions, names, session);
    p->draw = draw_custom;
    p->log_q = density_custom;
  }
}

/* The numbers of a block's factor. */
static size_t factor_length(const mh_proposal *p) {
  if (p->kind == MH_SLICE || (mh_is_hamiltonian(p) && p->diagonal))
    return p->d;
  return p->kind == MH_ADAPTIVE || mh_is_hamiltonian(p)
           ? args_product(p->d, p->d)
           : 0;
}

static void open_memory(mh_memory *own, const mh_proposal *p, SEXP memory);

/* A second proposal that is the first with other steps counts on its own. */
static void open_stages(mh_memory *own, const mh_proposal *p, SEXP memory) {
  SEXP stages = args_element(memory, "stages");
  if (TYPEOF(stages) != VECSXP || XLENGTH(stages) != 2)
    Rf_error("`stages` must be the memories of two proposals");
  own->stage = (mh_memory *)R_alloc(2, sizeof(mh_memory));
  memset(own->stage, 0, 2 * sizeof(mh_memory));
  open_memory(&own->stage[0], &p->part[0], VECTOR_ELT(stages, 0));
  SEXP second = VECTOR_ELT(stages, 1);
  if (p->longest == 2) {
    open_memory(&own->stage[1], &p->part[1], second);
    return;
  }
  own->stage[1] = own->stage[0];
  own->stage[1].counts = args_doubles(second, "counts", 4);
}

static void open_memory(mh_memory *own, const mh_proposal *p, SEXP memory) {
  const int hamiltonian = mh_is_hamiltonian(p);
  const int has_mean = p->kind == MH_ADAPTIVE || hamiltonian;
  own->tuning = args_doubles(memory, "tuning", 2);
  own->counts = args_doubles(memory, "counts", 4);
  own->factor = args_doubles(memory, "factor", factor_length(p));
  own->mean = args_doubles(memory, "mean", has_mean ? p->d : 0);
  if (mh_is_slice(p))
    own->effort = args_doubles(memory, "effort", 2);
  if (p->kind == MH_DELAYED)
    open_stages(own, p, memory);
  if (!hamiltonian)
    return;
  own->spread = args_doubles(memory, "spread", factor_length(p));
  own->averaging = args_doubles(memory, "averaging", MH_AVERAGING);
  own->energies = args_doubles(memory, "energies", MH_ENERGIES);
}

void mh_open_block(mh_block *block, SEXP compiled, SEXP memory, SEXP functions,
                   SEXP names, mh_session *session) {
  mh_proposal *p = (mh_proposal *)R_alloc(1, sizeof(mh_proposal));
  open_proposal(p, compiled, functions, names, session);
  memset(block, 0, sizeof(mh_block));
  block->proposal = p;
  open_memory(&block->memory, p, memory);
}

/* The replicas of a block that has all d coordinates. */
static void open_ladder(mh_block *block, SEXP memory, size_t d) {
  const mh_proposal *p = block->proposal;
  const size_t count = p->longest, pairs = count - 1;
  mh_ladder *l = (mh_ladder *)R_alloc(1, sizeof(mh_ladder));
  SEXP inner = args_element(memory, "inner");
  if (p->d != d || TYPEOF(inner) != VECSXP || (size_t)XLENGTH(inner) != count)
    Rf_error("a tempered proposal must move all coordinates");
  l->power = args_doubles(memory, "power", count);
  l->x = args_doubles(memory, "x", args_product(pairs, d));
  l->point = args_doubles(memory, "point", args_product(pairs, d));
  l->value = args_doubles(memory, "value", args_product(pairs, 2));
  l->slope = args_doubles(memory, "slope", args_product(pairs, d + 1));
  l->swaps = args_doubles(memory, "swaps", args_product(pairs, 2));
  l->heights = args_doubles(memory, "heights", args_product(count, 3));
  l->journeys = args_doubles(memory, "journeys", args_product(count, 2) + 1);
  for (size_t k = 0; k < count; k++)
    if (!(l->journeys[k] >= 0.0 && l->journeys[k] < (double)count))
      Rf_error("`journeys` must begin with numbers of replicas");
  l->rate = (double *)R_alloc(2 * pairs, sizeof(double));
  l->gap = l->rate + pairs;
  l->inner = (mh_block *)R_alloc(count, sizeof(mh_block));
  memset(l->inner, 0, count * sizeof(mh_block));
  for (size_t k = 0; k < count; k++) {
    l->inner[k].proposal = p->part;
    open_memory(&l->inner[k].memory, p->part, VECTOR_ELT(inner, (R_xlen_t)k));
  }
  block->ladder = l;
}

/* Scratch for the block of a model on d coordinates. */
static void open_trajectory(mh_block *block, size_t d) {
  arena a = arena_measure();
  mh_trajectory_open(block->proposal, d, &a);
  const size_t bytes = arena_size(&a);
  if (bytes == 0)
    Rf_error("the trajectories of a block are too long");
  a = arena_over(R_alloc(bytes, 1));
  block->trajectory = mh_trajectory_open(block->proposal, d, &a);
}

/* ---- the sampler's own stream -------------------------------------------- */

void mh_open_stream(mh_own_stream *own, SEXP state, mh_session *session) {
  SEXP stream = args_element(state, "own");
  if (TYPEOF(stream) != INTSXP || XLENGTH(stream) < 2)
    Rf_error("`own` must be a stream of random numbers");
  own->state = state;
  own->slot = 0;
  own->session = session;
  while (VECTOR_ELT(state, own->slot) != stream)
    own->slot++;
}

/* While the sampler draws, the chain's stream waits in `place`. */
void mh_take_generator(void *own) {
  mh_own_stream *o = own;
  SEXP stream = VECTOR_ELT(o->state, o->slot);
  o->chain = PROTECT(generator_seed());
  if (TYPEOF(o->chain) != INTSXP || INTEGER(o->chain)[0] != INTEGER(stream)[0])
    stop_changed_kind(o->session);
  tell(o->session, "stream", o->chain);
  UNPROTECT(1);
  Rf_defineVar(stream_symbol(), stream, R_GlobalEnv);
  GetRNGstate();
}

void mh_give_generator(void *own) {
  const mh_own_stream *o = own;
  PutRNGstate();
  SET_VECTOR_ELT(o->state, o->slot, generator_seed());
  Rf_defineVar(stream_symbol(), o->chain, R_GlobalEnv);
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
  open_gradient(m, args_element(functions, "gradient"), session);
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
    if (mh_block_needs_gradient(&m->block[b]) && !m->gradient)
      Rf_error("a proposal needs a gradient");
    if (mh_is_hamiltonian(p))
      open_trajectory(&m->block[b], m->d);
    if (p->kind == MH_TEMPERED)
      open_ladder(&m->block[b], VECTOR_ELT(memory, i), m->d);
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
    blocks += mh_is_hamiltonian(run->model.block[b].proposal);
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
  mh_own_stream own;
  const scan_control control = args_control(control_list);
  run.session = mh_open_session(place, args_element(spec, "names"));
  SEXP state = PROTECT(scan_copy_state(state_list));
  tell(&run.session, "state", state);
  run.session.asked = mh_open_asked(state);
  open_model(&run.model, spec, functions, state, &run.session);
  mh_open_stream(&own, state, &run.session);
  run.model.take = mh_take_generator;
  run.model.give = mh_give_generator;
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
  tell(&run.session, "state", state);
  open_model(&run.model, spec, functions, state, &run.session);
  const status outcome = mh_evaluate_current(&run.model);
  if (outcome == STATUS_USER_FUNCTION)
    mh_report_fault(&run.model, &run.session);
  if (outcome != STATUS_OK)
    scan_stop(outcome);
  UNPROTECT(1);
  return state;
}
