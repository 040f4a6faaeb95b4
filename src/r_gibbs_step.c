/* Blocks of gibbs_sample() that are moved by Metropolis-Hastings steps: the
 * core's sampler on the density of the block given the rest of the state, which
 * is that of the whole state with the block replaced. */
#include <R.h>
#include <string.h>

#include "mh/mh_proposal.h"
#include "mh/mh_sweep.h"
#include "r_args.h"
#include "r_generator.h"
#include "r_gibbs_sample.h"
#include "r_mh_functions.h"
#include "r_mh_proposal.h"

/* Steps for which variates are drawn ahead. */
#define LOOK_AHEAD 64

typedef struct gibbs_step {
  mh_model mh;
  mh_block block;
  mh_session session;
  gibbs_model *gibbs;
  size_t k;
  SEXP gradient; /* call, or R_NilValue */
  double steps;  /* made whenever the block is updated */
} gibbs_step;

/* ---- functions of the state with the block replaced ---------------------------- */

/* The block's numbers as the functions see them: with its dimensions. */
static SEXP block_value(const gibbs_step *s, const double *x) {
  SEXP now = VECTOR_ELT(s->gibbs->values, (R_xlen_t)s->k);
  SEXP value = Rf_duplicate(now);
  memcpy(REAL(value), x, s->mh.d * sizeof(double));
  return value;
}

static SEXP ask_at(const gibbs_step *s, SEXP call, const double *x) {
  gibbs_model *m = s->gibbs;
  SEXP value = PROTECT(block_value(s, x));
  gibbs_show(m, gibbs_with(m, s->k, value));
  SEXP frame = VECTOR_ELT(m->frames, (R_xlen_t)s->k);
  SEXP answer = s->session.asked.list
                  ? mh_eval_asked(&s->session.asked, call, frame, m->kind)
                  : Rf_eval(call, frame);
  if (!answer)
    gibbs_stop(m, FAULT_GENERATOR, R_NilValue);
  PROTECT(answer);
  gibbs_check_generator(m);
  UNPROTECT(2);
  return answer;
}

static int ask_density(void *context, const double *x, double *value) {
  const gibbs_step *s = context;
  gibbs_model *m = s->gibbs;
  SEXP answer = PROTECT(ask_at(s, VECTOR_ELT(m->calls, (R_xlen_t)s->k), x));
  const int type = TYPEOF(answer);
  if ((type != REALSXP && type != INTSXP && type != LGLSXP) ||
      XLENGTH(answer) != 1)
    gibbs_stop(m, FAULT_NUMBER, answer);
  *value = Rf_asReal(answer);
  UNPROTECT(1);
  return 0;
}

static int ask_gradient(void *context, const double *x, double *value) {
  const gibbs_step *s = context;
  SEXP answer = PROTECT(ask_at(s, s->gradient, x));
  if (TYPEOF(answer) != REALSXP || (size_t)XLENGTH(answer) != s->mh.d)
    gibbs_stop(s->gibbs, FAULT_GRADIENT, answer);
  memcpy(value, REAL(answer), s->mh.d * sizeof(double));
  UNPROTECT(1);
  return 0;
}

/* ---- moving -------------------------------------------------------------------- */

static void check_outcome(const gibbs_step *s, status outcome) {
  if (outcome == STATUS_OK)
    return;
  if (s->mh.fault == MH_NO_FAULT || s->mh.fault == MH_PROPOSAL_RATIO)
    gibbs_stop(s->gibbs, FAULT_PROPOSAL, R_NilValue);
  SEXP point = PROTECT(block_value(s, s->mh.fault_point));
  gibbs_stop(s->gibbs,
             s->mh.fault == MH_GRADIENT ? FAULT_GRADIENT : FAULT_DENSITY,
             point);
}

/* Variates by the number of steps that the block has made, all LOOK_AHEAD rows
 * anew when they are used up: wherever a segment begins. */
static size_t next_row(gibbs_step *s) {
  const double *counts = s->block.memory.counts;
  const size_t row = (size_t)(counts[0] + counts[2]) % LOOK_AHEAD;
  if (row == 0) {
    GetRNGstate();
    mh_draw_ahead(&s->mh);
    PutRNGstate();
  }
  return row;
}

static double moves(const gibbs_step *s) {
  return s->block.memory.counts[1] + s->block.memory.counts[3];
}

/* theta_k -> theta_k', leaving p(theta_k | theta_-k) invariant.  The value at
 * the current point is of another density whenever the rest has changed. */
void gibbs_move_block(gibbs_step *s, const scan_control *control) {
  gibbs_model *m = s->gibbs;
  const double before = moves(s);
  /* the user's functions are interrupted as R evaluates them */
  scan_control own = *control;
  own.stop = NULL;
  check_outcome(s, mh_evaluate_current(&s->mh));
  for (double i = 0.0; i < s->steps; i += 1.0)
    check_outcome(s, mh_update(&s->mh, 0, next_row(s), &own));
  if (moves(s) > before) {
    SEXP value = PROTECT(block_value(s, s->mh.x));
    gibbs_set(m, gibbs_with(m, s->k, value));
    UNPROTECT(1);
  } else {
    gibbs_show(m, m->values);
  }
}

/* ---- unpacking ----------------------------------------------------------------- */

static const int *all_coordinates(size_t d) {
  int *index = (int *)R_alloc(d, sizeof(int));
  for (size_t j = 0; j < d; j++)
    index[j] = (int)j;
  return index;
}

static void open_target(gibbs_step *s, SEXP spec, SEXP memory) {
  mh_model *mh = &s->mh;
  mh->context = mh->gradient_context = s;
  mh->log_density = ask_density;
  s->gradient = args_element(spec, "gradient");
  if (s->gradient != R_NilValue)
    mh->gradient = ask_gradient;
  mh->x = args_doubles(memory, "x", mh->d);
  mh->point = args_doubles(memory, "point", mh->d);
  mh->value = args_doubles(memory, "value", 2);
  mh->slope = args_doubles(memory, "slope", mh->d + 1);
  mh->nan_count = args_doubles(memory, "nan_count", 1);
  mh->sweep = s->gibbs->sweep;
}

gibbs_step *gibbs_open_step(gibbs_model *m, size_t k, SEXP spec, SEXP memory) {
  gibbs_step *s = (gibbs_step *)R_alloc(1, sizeof(gibbs_step));
  memset(s, 0, sizeof(gibbs_step));
  s->gibbs = m;
  s->k = k;
  s->mh.d = (size_t)m->lengths[k];
  s->steps = (double)args_count(spec, "steps", 1);
  s->session = mh_open_session(m->run, R_NilValue);
  s->session.asked = mh_open_asked(memory);
  open_target(s, spec, memory);
  mh_open_block(&s->block, args_element(spec, "proposal"),
                args_element(memory, "proposal"),
                args_element(spec, "functions"), R_NilValue, &s->session);
  if (s->block.proposal->d != s->mh.d ||
      (mh_needs_slope(s->block.proposal) && !s->mh.gradient))
    Rf_error("the proposal of block %.0f does not fit it", (double)k + 1.0);
  s->block.index = all_coordinates(s->mh.d);
  s->mh.blocks = 1;
  s->mh.block = &s->block;
  mh_open(&s->mh, (double *)R_alloc(args_product(mh_work_size(1), s->mh.d),
                                    sizeof(double)));
  s->mh.ahead = args_doubles(memory, "ahead",
                             args_product(LOOK_AHEAD, mh_variates(&s->mh)));
  s->mh.rows = LOOK_AHEAD;
  s->mh.in_use = generator_in_use();
  if (TYPEOF(VECTOR_ELT(m->values, (R_xlen_t)k)) != REALSXP)
    Rf_error("a block that is moved must be of doubles");
  memcpy(s->mh.x, REAL(VECTOR_ELT(m->values, (R_xlen_t)k)),
         s->mh.d * sizeof(double));
  return s;
}
