/* Metropolis-Hastings on a density given as a function.
 *
 * Target: a density p on R^d, known up to a constant through its logarithm.  A
 * block is a set of coordinates with a proposal q(y | x); one step on it draws
 * y and moves there with probability
 *
 *   a(x, y) = min(1, p(y) q(x | y) / (p(x) q(y | x)))
 *
 * (Metropolis et al. 1953, doi:10.1063/1.1699114; Hastings 1970,
 * doi:10.1093/biomet/57.1.97).  A sweep takes the blocks in their order.  p(x)
 * is part of the state and not evaluated again, so that the chain is exact also
 * when exp(log density) is an unbiased estimate (Andrieu & Roberts 2009,
 * doi:10.1214/07-AOS574).
 *
 * Bounded coordinates can be moved to the whole line: x is then the working
 * point, `point` the user's, and the working density has the Jacobian's factor.
 *
 * User code is called through mh_function.  Meanwhile the sampler does not hold
 * the state of R's generator: variates are drawn ahead, for `rows` sweeps. */
#ifndef GIBBSITE_MH_H
#define GIBBSITE_MH_H

#include "numeric/status.h"
#include "run/scan.h"
#include <stddef.h>

/* *value <- f(x); 0 when done, else the function failed and the context knows
 * how.  A gradient writes d numbers. */
typedef int (*mh_function)(void *context, const double *x, double *value);

/* y ~ q(. | x), and log q(y | x), of a proposal that the user wrote. */
typedef int (*mh_draw_function)(void *context, const double *x, double *y);
typedef int (*mh_density_function)(void *context, const double *y,
                                   const double *x, double *value);

/* e: independent with mean 0 and variance 1, normal or uniform on (-sqrt 3,
 * sqrt 3); or normals over sqrt(chi^2_df / df), multivariate t. */
typedef enum { MH_NORMAL = 0, MH_T, MH_UNIFORM } mh_family;

typedef enum { MH_FIXED = 0, MH_BURNIN, MH_FOREVER } mh_tuning;

typedef struct mh_model mh_model;
typedef struct mh_block mh_block;
typedef struct mh_memory mh_memory;
typedef struct mh_proposal mh_proposal;

/* A point of a block, with the gradient there (NULL where not needed). */
typedef struct {
  const double *x, *slope;
} mh_place;

/* What every proposal of a kind has in common: mh_types.h lists the kinds. */
typedef struct mh_move_type {
  /* numbers drawn ahead for a step, and their drawing from R's generator for
   * `rows` steps, row by row */
  size_t (*variates)(const mh_proposal *p);
  void (*draw)(const mh_proposal *p, size_t rows, const generator *g,
               double *out);
  /* one step on block b.  u: a uniform; variates: of a row */
  status (*update)(mh_model *m, size_t b, double u, const double *variates,
                   const scan_control *control);
  /* y ~ q(. | x), and *value <- log q(y | x) with every constant that differs
   * between proposals; NULL where q is not known.  work: d numbers.  The value
   * may be NaN when a function of the user's says so. */
  status (*propose)(const mh_proposal *p, const mh_memory *memory, mh_place x,
                    const double *row, double *y, double *work);
  status (*log_q)(const mh_proposal *p, const mh_memory *memory,
                  const double *y, mh_place x, double *value, double *work);
  /* learns from a step that was accepted with probability `rate`, after which
   * the block stands at x; begins again, after a climb.  NULL: does not. */
  void (*learn)(const mh_proposal *p, const mh_memory *memory, const double *x,
                double rate, double *work);
  void (*learn_again)(const mh_proposal *p, const mh_memory *memory);
  /* once the block is laid out; may be NULL */
  void (*open)(mh_block *block);
  int needs_slope;     /* uses gradients                                     */
  int symmetric;       /* q(y | x) = q(x | y), if that holds for its parts   */
  int takes_power;     /* moves on the density to the model's power          */
  int has_transitions; /* stores mh_block.transition with each draw          */
} mh_move_type;

struct mh_proposal {
  const mh_move_type *type;
  mh_family family;
  mh_tuning tuned;
  size_t d;
  double freedom;       /* MH_T: degrees of freedom                          */
  double target;        /* acceptance rate aimed at                          */
  double log_shrink;    /* added to the log s that was learned               */
  const double *mean;   /* d: of independence and ellipse                    */
  const double *factor; /* d x d lower triangular: L, or its diagonal (d)    */
  int diagonal;
  size_t parts; /* proposals that it is made of                              */
  struct mh_proposal *part;
  union {
    struct {
      const double *weight; /* parts */
    } mixture;
    struct {
      void *context;
      mh_draw_function draw;
      mh_density_function log_q;
    } custom;
    struct {
      size_t steps;  /* leapfrog steps                 */
      double jitter; /* of the step, as a share of it  */
    } hmc;
    struct {
      size_t depth; /* greatest depth of the tree */
    } nuts;
    struct {
      size_t widths; /* longest interval */
    } slice;
    struct {
      size_t temperatures;
    } tempered;
    struct {
      int shared; /* both proposals have one memory, but for counts */
    } delayed;
  } settings; /* of its type */
};

/* What a block learns and counts; in the chain's state. */
struct mh_memory {
  double *factor; /* d x d: adaptive's L; also that of Hamiltonian dynamics, */
                  /* or its diagonal (d); d: widths of slices                */
  double *mean;   /* d: adaptive's mean of the chain, or a window's          */
  double *tuning; /* 2: log s, updates made                                  */
  double *counts; /* 4: steps and moves in burn-in, steps and moves after    */
  /* of Hamiltonian dynamics alone: mh_warmup.h, mh_trajectory.h */
  double *spread;    /* as factor: a window's sums of squares about its mean */
  double *averaging; /* MH_AVERAGING                                         */
  double *energies;  /* MH_ENERGIES                                          */
  double *effort;    /* slices: points asked for in burn-in, and after        */
  mh_memory *stage;  /* delayed rejection: those of its two proposals         */
  struct mh_ladder *ladder; /* of parallel tempering                         */
};

enum { MH_AVERAGING = 5, MH_ENERGIES = 7 };

/* One transition of Hamiltonian dynamics, as it is stored with a draw, in this
 * order: sweep; block, from 1; acceptance statistic; step; depth of the tree;
 * leapfrog steps; divergent or not; energy. */
enum { MH_TRANSITION = 8 };

struct mh_block {
  mh_proposal *proposal;
  mh_memory memory;
  struct mh_trajectory *trajectory; /* scratch of Hamiltonian dynamics        */
  double transition[MH_TRANSITION]; /* the last one                           */
  const int *index; /* proposal->d coordinates of x, from 0                  */
  size_t offset;    /* numbers of look-ahead a sweep before its own          */
  int whole;        /* all coordinates in their order: needs no gathering    */
  int sloped;       /* its proposal uses the gradient                        */
  int symmetric;    /* q(y | x) = q(x | y)                                   */
};

/* How a coordinate's working value w gives the user's value. */
typedef enum {
  MH_LINE = 0, /* w                                                          */
  MH_ABOVE,    /* lower + exp(w)                                             */
  MH_BELOW,    /* upper - exp(w)                                             */
  MH_BETWEEN   /* lower + (upper - lower) / (1 + exp(-w))                    */
} mh_map;

typedef enum {
  MH_NO_FAULT = 0,
  MH_NAN,
  MH_PLUS_INFINITY,
  MH_GRADIENT,      /* a gradient that is not finite                         */
  MH_PROPOSAL,      /* a proposed point that is not finite                   */
  MH_PROPOSAL_RATIO /* a log q that is NaN, or +Inf                          */
} mh_fault;

/* One step for the trace, MH_TRACE + d numbers: sweep; block, from 1; uniform;
 * log density and working log density of the proposal; log of q(x | y) / q(y |
 * x); log of the ratio in a(x, y); moved or not; the proposal y, all of it. */
enum { MH_TRACE = 8 };

struct mh_model {
  size_t d, blocks;
  mh_block *block;
  /* the target */
  void *context, *gradient_context;
  mh_function log_density, gradient; /* gradient may be NULL                  */
  const int *map;                    /* d: mh_map; NULL: all MH_LINE          */
  const double *lower, *upper;       /* d; NULL: no bounds                    */
  int reject_nan;                    /* NaN counts as a density of zero       */
  /* the state */
  double *x;           /* d: working point                                    */
  double *point;       /* d: the user's point                                 */
  double *value;       /* 2: log density at point, working log density at x   */
  double *slope;       /* 1 + d: 1 if known, gradient of the working density  */
  double *nan_count;   /* 1: NaNs counted as zero                             */
  double *high;        /* 1: the working log density where adaptation last    */
                       /* began; NULL: it never begins again                  */
  double *ahead;       /* rows x mh_variates(): mh_sweep.h                   */
  size_t rows, width;  /* of look-ahead: sweeps, numbers for each             */
  size_t row;          /* of the sweep to come                                */
  generator in_use;    /* R's, from which variates come                       */
  const double *sweep; /* sweeps done: moved on by the scan                   */
  /* the generator is taken only while variates are drawn; may be NULL */
  void (*take)(void *), (*give)(void *);
  void *generator;
  /* what is stored: `kept` coordinates, from 0, then the log density */
  const int *keep;
  size_t kept;
  /* scratch, mh_work_size() (mh_sweep.h) */
  double *from, *to, *next, *next_point, *next_slope;
  double *from_slope, *to_slope, *a, *b, *rejected, *rejected_slope;
  double *trace; /* NULL, or where the next step's numbers go                 */
  double *transitions; /* NULL, or where those of the next draw go            */
  mh_fault fault;
  const double *fault_point;
  double power; /* the target is p to this power; mh_open() sets 1           */
};

/* The state's point and value from x: for a start, or when the density has
 * changed since. */
status mh_evaluate_current(mh_model *m);

/* At a working point x: the user's point, and value <- log density there, log
 * density of x (-INFINITY both where it is zero). */
status mh_evaluate(mh_model *m, const double *x, double *point, double *value);

/* slope <- gradient of the working log density at x, by the chain rule. */
status mh_evaluate_slope(mh_model *m, const double *x, const double *point,
                         double *slope);

/* The gradient at the state's point, unless it is known. */
status mh_know_slope(mh_model *m);

/* After a step of burn-in: a chain that starts far below the typical log density
 * climbs, and adaptation would learn the direction of the climb instead of the
 * density's shape.  So adaptation starts again while the chain climbs. */
void mh_forget_climb(mh_model *m);

/* Counts a step, and whether it was accepted. */
void mh_count(const mh_memory *memory, int in_burnin, int moved);

/* The status of a fault, which is noted with its point. */
status mh_at_fault(mh_model *m, mh_fault fault, const double *point);

/* Writes the trace of a step that ended at the state's point. */
void mh_trace_end(mh_model *m, size_t b, double u);

#endif
