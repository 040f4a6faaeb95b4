#include "r_mh_functions.h"

#include <R.h>
#include <string.h>

#include "r_args.h"
#include "r_generator.h"
#include "r_native.h"
#include "r_scan.h"

/* ---- a stream for log densities ------------------------------------------ */

SEXP mh_stream_symbol(void) {
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
  Rf_defineVar(mh_stream_symbol(), VECTOR_ELT(asked->list, asked->slot),
               R_GlobalEnv);
  SEXP answer = PROTECT(Rf_eval(call, env));
  const int same = generator_kind() == kind;
  if (same) {
    SET_VECTOR_ELT(asked->list, asked->slot, generator_seed());
    Rf_defineVar(mh_stream_symbol(), chain, R_GlobalEnv);
  }
  UNPROTECT(2);
  return same ? answer : NULL;
}

/* ---- functions of the user ----------------------------------------------- */

void mh_tell(const mh_session *session, const char *name, SEXP value) {
  PROTECT(value);
  Rf_defineVar(Rf_install(name), value, session->place);
  UNPROTECT(1);
}

/* The core returns to where scan_stop() raises an error; R reads `place`. */
static int refuse(const mh_session *session, const char *fault, SEXP value) {
  mh_tell(session, "value", value);
  mh_tell(session, "fault", Rf_mkString(fault));
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

/* Puts x at `argument` of the call.  The function may keep the vector: the one of
 * the last evaluation is used again only if R's count of references shows that
 * nothing but the call holds it. */
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

void mh_stop_changed_kind(const mh_session *session) {
  refuse(session, "generator", R_NilValue);
  Rf_error("the kind of random number generator was changed");
}

/* Called with the generator's state where R looks for it. */
static SEXP ask(const mh_closure *f, const double *x) {
  mh_session *session = f->session;
  set_argument(f, CDR(f->call), x);
  if (session->role != f->role) {
    session->role = f->role;
    mh_tell(session, "role", f->role);
    mh_tell(session, "call", f->call);
  }
  if (f->draws || !session->asked.list)
    return Rf_eval(f->call, f->env);
  SEXP answer =
    mh_eval_asked(&session->asked, f->call, f->env, generator_kind());
  if (!answer)
    mh_stop_changed_kind(session);
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

int mh_ask_draw(void *context, const double *x, double *y) {
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

void mh_open_gradient(mh_model *m, SEXP gradient, mh_session *session) {
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
  mh_tell(session, "point", point);
  mh_tell(session, "fault", Rf_mkString(words[m->fault]));
  UNPROTECT(1);
}
