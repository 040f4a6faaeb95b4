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
 * User code is called through mh_function and never while the generator is
 * taken: variates are drawn ahead, `rows` sweeps at a time. */
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

typedef enum {
  MH_RANDOM_WALK = 0, /* y = x + L e                                         */
  MH_ADAPTIVE,        /* y = x + s L e, s and L learned                      */
  MH_INDEPENDENCE,    /* y = m + L e                                         */
  MH_CUSTOM,          /* user's                                              */
  MH_LANGEVIN,        /* y = x + s^2/2 L L' grad log p(x) + s L e, s learned */
  MH_MIXTURE,         /* y ~ sum_i w_i q_i(. | x)                            */
  MH_HMC,             /* Hamiltonian dynamics: mh_hamiltonian.h              */
  MH_NUTS,            /* the same, of a length that it finds: mh_nuts.h      */
  MH_SLICE,           /* slice sampling, coordinate by coordinate: mh_slice.h */
  MH_ELLIPSE,         /* elliptical slice sampling: mh_slice.h               */
  MH_TEMPERED,        /* parallel tempering of a proposal: mh_tempered.h     */
  MH_DELAYED          /* a second proposal after a rejection: mh_delayed.h   */
} mh_kind;

/* e: independent with mean 0 and variance 1, normal or uniform on (-sqrt 3,
 * sqrt 3); or normals over sqrt(chi^2_df / df), multivariate t. */
typedef enum { MH_NORMAL = 0, MH_T, MH_UNIFORM } mh_family;

typedef enum { MH_FIXED = 0, MH_BURNIN, MH_FOREVER } mh_tuning;

typedef struct mh_proposal {
  mh_kind kind;
  mh_family family;
  mh_tuning tuned;
  size_t d;
  double freedom;       /* MH_T: degrees of freedom                          */
  double target;        /* acceptance rate aimed at                          */
  double log_shrink;    /* added to the log s that was learned               */
  const double *mean;   /* d: independence, the normal of MH_ELLIPSE         */
  const double *factor; /* d x d lower triangular: L, or its diagonal (d)    */
  int diagonal;
  size_t parts; /* mixture: its proposals and their weights; MH_TEMPERED: 1; */
                /* MH_DELAYED: 2                                             */
  const double *weight;
  struct mh_proposal *part;
  size_t longest; /* MH_HMC: leapfrog steps; MH_NUTS: greatest depth of tree; */
                  /* MH_SLICE: longest interval, in widths; MH_TEMPERED:      */
                  /* temperatures; MH_DELAYED: memories                       */
  double jitter;  /* MH_HMC: of the step, as a share of it                   */
  void *context;  /* custom */
  mh_draw_function draw;
  mh_density_function log_q;
} mh_proposal;

/* What a block learns and counts; in the chain's state. */
typedef struct mh_memory {
  double *factor; /* d x d: adaptive's L; also that of Hamiltonian dynamics, */
                  /* or its diagonal (d); d: widths of MH_SLICE              */
  double *mean;   /* d: adaptive's mean of the chain, or a window's          */
  double *tuning; /* 2: log s, updates made                                  */
  double *counts; /* 4: steps and moves in burn-in, steps and moves after    */
  /* of Hamiltonian dynamics alone: mh_warmup.h, mh_hamiltonian.h */
  double *spread;    /* as factor: a window's sums of squares about its mean */
  double *averaging; /* MH_AVERAGING                                         */
  double *energies;  /* MH_ENERGIES                                          */
  double *effort;    /* slices: points asked for in burn-in, and after        */
  struct mh_memory *stage; /* MH_DELAYED: those of its two proposals          */
} mh_memory;

enum { MH_AVERAGING = 5, MH_ENERGIES = 7 };

/* One transition of Hamiltonian dynamics, as it is stored with a draw, in this
 * order: sweep; block, from 1; acceptance statistic; step; depth of the tree;
 * leapfrog steps; divergent or not; energy. */
enum { MH_TRANSITION = 8 };

typedef struct {
  mh_proposal *proposal;
  mh_memory memory;
  struct mh_trajectory *trajectory; /* scratch of Hamiltonian dynamics        */
  struct mh_ladder *ladder;         /* of MH_TEMPERED                         */
  double transition[MH_TRANSITION]; /* the last one                           */
  const int *index; /* proposal->d coordinates of x, from 0                  */
  size_t offset;    /* numbers of look-ahead a sweep before its own          */
  int whole;        /* all coordinates in their order: needs no gathering    */
  int sloped;       /* its proposal uses the gradient                        */
  int symmetric;    /* q(y | x) = q(x | y)                                   */
} mh_block;

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

typedef struct {
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
  double *ahead;       /* rows x mh_variates(): see mh_draw_ahead()           */
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
  /* scratch, mh_work_size() */
  double *from, *to, *next, *next_point, *next_slope;
  double *from_slope, *to_slope, *a, *b, *rejected, *rejected_slope;
  double *trace; /* NULL, or where the next step's numbers go                 */
  double *transitions; /* NULL, or where those of the next draw go            */
  mh_fault fault;
  const double *fault_point;
  double power; /* the target is p to this power; mh_open() sets 1           */
} mh_model;

/* Numbers of scratch for d coordinates; mh_open(), once target, state and blocks
 * are set, lays it out and sets what follows from them. */
size_t mh_work_size(size_t d);
void mh_open(mh_model *m, double *work);

/* Does its proposal use the gradient? */
int mh_block_needs_gradient(const mh_block *block);

/* Numbers of look-ahead that one sweep uses. */
size_t mh_variates(const mh_model *m);

/* Fills m->ahead from R's generator: for each block in turn the uniforms of all
 * rows, then what its proposals use, row by row. */
void mh_draw_ahead(const mh_model *m);

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

/* One step on block b with its variates of a row of the look-ahead. */
status mh_update(mh_model *m, size_t b, size_t row,
                 const scan_control *control);

/* The same with a uniform and variates that are given. */
status mh_step(mh_model *m, size_t b, double u, const double *variates,
               const scan_control *control);

/* After a step of burn-in: far below the typical log density a chain climbs, and
 * learns the way up in place of the density's shape.  While it does so learning
 * begins again and again. */
void mh_forget_climb(mh_model *m);

/* Counts a step. */
void mh_count(const mh_memory *memory, int in_burnin, int moved);

/* The status of a fault, which is noted with its point. */
status mh_at_fault(mh_model *m, mh_fault fault, const double *point);

/* Writes the trace of a step that ended at the state's point. */
void mh_trace_end(mh_model *m, size_t b, double u);

/* scan_model's functions. */
status mh_sweep(void *model, const scan_control *control);
void mh_record(void *model, double *row, size_t stride);

#endif
