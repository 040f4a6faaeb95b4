/* gibbs_sample(): sweeps whose blocks are drawn by functions of the user, or
 * moved by Metropolis-Hastings steps on a log density of the user.
 *
 * The state of a chain holds `values`, a named list with one element a block,
 * which is what the user's functions are given.  It is never changed in place:
 * each update makes a new list (a copy of K pointers), so that a function may
 * keep what it was given.
 *
 *   calls    K calls, `conditional(state, ...)`, each evaluated in its frame
 *   frames   K environments that hold `conditional` (of an MH block the log
 *            density, and perhaps `gradient`), enclosed by
 *   run      the environment that holds `state`, the list as it stands
 *   lengths  K lengths of the blocks
 *   dims     K integer vectors, or NULL for a block without dimensions
 *   steps    K lists, or NULL for a block that is drawn
 *   kept     the blocks that are recorded, counted from 1
 *   random   0: blocks in their order; 1: K blocks a sweep, each at random
 *   place    where the run is, for R to read when something stops it: sweep,
 *            block, fault
 *
 * The user's functions draw on R's generator: its state is not held here while
 * one of them runs. */
#ifndef GIBBSITE_R_GIBBS_SAMPLE_H
#define GIBBSITE_R_GIBBS_SAMPLE_H

#include <Rinternals.h>
#include <stddef.h>

#include "run/scan.h"

/* What is wrong with what a function returned; R has the words. */
typedef enum {
  FAULT_NONE = 0,
  FAULT_SHAPE,     /* wrong type, length or dimensions           */
  FAULT_VALUE,     /* not finite                                 */
  FAULT_GENERATOR, /* another kind of generator                  */
  FAULT_NUMBER,    /* a log density that is not one number       */
  FAULT_GRADIENT,  /* a gradient that is not d finite numbers    */
  FAULT_DENSITY,   /* a log density that is NaN or +Inf: `value` */
                   /* is the point                               */
  FAULT_PROPOSAL,  /* a proposal of the user's                   */
  FAULT_ORDER      /* names of `init` in another order           */
} gibbs_fault;

struct gibbs_step;

typedef struct {
  size_t blocks;
  SEXP calls, frames, run, symbol;
  const double *lengths;
  SEXP dims, names;         /* of the blocks in `init` */
  struct gibbs_step **step; /* NULL for a block that is drawn */
  const int *kept;
  size_t n_kept;
  int random;
  double *place;
  SEXP state;  /* the copy that the segment works on       */
  SEXP values; /* where it stands; protected by `state`    */
  R_xlen_t slot;
  const double *sweep;
  int *order; /* LOOK_AHEAD x blocks, counted from 0      */
  int kind;   /* of the generator                         */
} gibbs_model;

/* `values` becomes the state that the functions see. */
void gibbs_show(gibbs_model *m, SEXP values);

/* `values` becomes the current state. */
void gibbs_set(gibbs_model *m, SEXP values);

/* A copy of the current state in which block k is `value`; to be protected. */
SEXP gibbs_with(const gibbs_model *m, size_t k, SEXP value);

/* An error of which R reads in `place` and in `value`. */
void gibbs_stop(const gibbs_model *m, gibbs_fault what, SEXP value);

/* The user's function must have left the kind of generator. */
void gibbs_check_generator(const gibbs_model *m);

/* What is wrong with a value of a block. */
gibbs_fault gibbs_value_fault(const gibbs_model *m, size_t block, SEXP value);

/* theta_k | theta_-k by the user's function of the whole current state. */
void gibbs_draw_block(gibbs_model *m, size_t block);

/* Block k as a block that is moved: spec as R's step_spec() has it, memory the
 * block's part of the state. */
struct gibbs_step *gibbs_open_step(gibbs_model *m, size_t k, SEXP spec,
                                   SEXP memory);
void gibbs_move_block(struct gibbs_step *step, const scan_control *control);

#endif
