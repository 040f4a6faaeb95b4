/* What mh_sample() and MH steps within gibbs_sample() share on R's side:
 * functions of the user that the core calls, proposals and blocks out of R's
 * lists, and the sampler's own stream of random numbers. */
#ifndef GIBBSITE_R_MH_H
#define GIBBSITE_R_MH_H

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

/* A function as R's caller() gives it, list(call, env, role): the call's first
 * `arguments` arguments are replaced by vectors of d numbers, at each evaluation
 * such as nobody else holds, with `names` (d strings, or R_NilValue). */
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

/* Sets log_density and context for a density of d numbers: a caller, or what
 * native_density() makes. */
void mh_open_density(SEXP density, size_t d, mh_session *session, mh_model *m);

/* Tells `place` of a fault that the core found. */
void mh_report_fault(const mh_model *m, mh_session *session);

/* ---- proposals and blocks ------------------------------------------------ */

/* compiled, functions: as compile_proposal() and proposal_functions() give
 * them; memory: the block's part of the state (written into); names of the
 * block's coordinates, or NULL.  The caller sets `index`. */
void mh_open_block(mh_block *block, SEXP compiled, SEXP memory, SEXP functions,
                   SEXP names, mh_session *session);

/* ---- the sampler's own stream -------------------------------------------- */

/* state$own is a stream of which the sampler alone draws: what the user's
 * functions do to R's generator cannot reach it.  The first element of it is
 * the generator's kind, which they must leave as it is. */
typedef struct {
  SEXP state, chain;
  R_xlen_t slot;
  mh_session *session;
} mh_own_stream;

void mh_open_stream(mh_own_stream *own, SEXP state, mh_session *session);
void mh_take_generator(void *own);
void mh_give_generator(void *own);

#endif
