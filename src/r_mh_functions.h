/* Functions of the user that Metropolis-Hastings calls: densities, gradients and
 * proposals, in mh_sample() and in MH steps within gibbs_sample(). */
#ifndef GIBBSITE_R_MH_FUNCTIONS_H
#define GIBBSITE_R_MH_FUNCTIONS_H

#include <Rinternals.h>

#include "mh/mh.h"

/* ---- a stream for log densities ------------------------------------------ */

/* Element `asked` of a list: the stream on which log densities are asked where
 * functions of the user draw on the chain's own.  However many numbers a density
 * takes, and whether it sets a seed, these draws are the same. */
typedef struct {
  SEXP list;     /* NULL: densities run on the chain's stream */
  R_xlen_t slot; /* of `asked` in it                          */
} mh_asked;

/* The variable that holds R's own stream. */
SEXP mh_stream_symbol(void);

/* Without such an element (a state of an earlier version) there is none. */
mh_asked mh_open_asked(SEXP list);

/* Evaluates a call there; the kind of generator must stay `kind`, else the
 * answer is NULL. */
SEXP mh_eval_asked(const mh_asked *asked, SEXP call, SEXP env, int kind);

/* ---- functions of the user ----------------------------------------------- */

/* `place` is an environment in which R reads where a run is when something
 * stops it: `role` (the function's name) and `call` (whose first argument is
 * the point) of the function called last, and when no R error happened `fault`
 * (a word), `value` (the refused answer), `point` (of a fault in the core). */
typedef struct {
  SEXP place;
  SEXP names; /* of points, or R_NilValue       */
  SEXP role;  /* of the function called last    */
  mh_asked asked;
} mh_session;

mh_session mh_open_session(SEXP place, SEXP names);

/* `name` of `place` <- value. */
void mh_tell(const mh_session *session, const char *name, SEXP value);

/* An R error: the user's code has changed the kind of generator. */
void mh_stop_changed_kind(const mh_session *session);

/* A function as R's caller() gives it, list(call, env, role): the call's first
 * `arguments` arguments are replaced by vectors of d numbers with `names` (d
 * strings, or R_NilValue).  Each evaluation gets fresh vectors, so that the user
 * may keep them. */
typedef struct {
  mh_session *session;
  SEXP call, env, role, names;
  size_t d;
  int draws; /* on the chain's stream, also where densities have another */
} mh_closure;

/* Allocated by R_alloc; an R error when it is none. */
mh_closure *mh_open_closure(SEXP caller, size_t d, SEXP names,
                            mh_session *session);

/* mh_function and its kin on an mh_closure. */
int mh_ask_number(void *context, const double *x, double *value);
int mh_ask_vector(void *context, const double *x, double *value);
int mh_ask_density(void *context, const double *y, const double *x,
                   double *value);

/* A draw of a custom proposal must be finite: the density has no other points. */
int mh_ask_draw(void *context, const double *x, double *y);

/* Sets log_density and context for a density of d numbers: a caller, or what
 * native_density() makes. */
void mh_open_density(SEXP density, size_t d, mh_session *session, mh_model *m);

/* Sets the gradient: NULL; a caller; a string: the density's values have the
 * gradient; or what native_gradient() makes. */
void mh_open_gradient(mh_model *m, SEXP gradient, mh_session *session);

/* Tells `place` of a fault that the core found. */
void mh_report_fault(const mh_model *m, mh_session *session);

#endif
