/* Regression of counts, and of binomial responses with many trials, with groups or
 * without: rows of hlm_likelihood.h with
 *
 *   eta_i = o_i + x_i'b + sum_f z_fi'u_f,j(f,i),  u_fj ~ N(0, Sigma_f),
 *   b ~ N(m, P^-1),  Sigma_f half-t as in hlm.h,
 *   t = 1 / sqrt(r) ~ half-t with df degrees of freedom and scale A  (negbinomial).
 *
 * A sweep:
 *   b | r, y                                       without bars
 *   for each bar f:
 *     u_fj | b, the other bars, Sigma_f, r, y      for each group j; then slice steps
 *                                     of its terms, if its likelihood does not fall to one
 *                                     side: hlm_is_at_edge()
 *     b | theta, ...                               theta_j = u_fj + A_fj b fixed
 *     u_fk, Sigma_f -> s u_fk, D Sigma_f D         a slice step for each term k
 *     u_fk, Sigma_f -> u_fk + c u_fl, G Sigma_f G'  for all k != l, as in hlm.h
 *     Sigma_f | u_f
 *   (each step of b is followed by a slice step along a line, if the prior bounds an
 *   effect as much as the data do: find_wide())
 *   moves of nested bars (hlm_crossed.h), which leave eta as it is
 *   u_fj -> u_fj + d, u_gc -> u_gc - d for all c in j    bars that are nearly nested: a
 *                                     slice step for each j, with the few rows of eta
 *                                     that it moves
 *   t | b, u, y                                    a slice step of log t
 *
 * All conditionals of effects are log-concave.  One is drawn by a
 * Metropolis-Hastings step.  Its proposal does not depend on the effects' present
 * value: a mixture of N(v, H^-1) and a t distribution with the same centre and
 * scale, where v is found by Newton's method from a fixed point (of moves along a line,
 * a point of the line that does not depend on the place) and H is minus the Hessian
 * there.  A step D of Newton's is shortened by log(1 + d) / d, d the largest
 * change of an eta_i: with it the method converges from any point (Sun & Tran-Dinh
 * 2019, doi:10.1007/s10107-018-1282-4, sec. 3), since the third derivatives of a row
 * do not exceed the second ones.  Those of a probit row do, and its steps are halved
 * until the density rises enough (Armijo's rule).
 *
 * With M_i the curvature of row i at a rough estimate of its mean,
 *   A_fj = (Sigma_f^-1 + sum z_i M_i z_i')^-1 sum z_i M_i x_i'
 * over the rows of the group: if rows were normal with precisions M_i, u_fj | b would
 * have the mean -A_fj b + const., theta_j would not depend on b, and b would be drawn
 * with u_f integrated out (a partially centred parametrisation: Papaspiliopoulos,
 * Roberts & Skold 2007, doi:10.1214/088342307000000014).  Given theta, eta_i depends
 * on b by x_i - A_fj'z_fi.  A depends on Sigma_f, r and the data alone.
 *
 * F bars, p fixed effects, n rows, J groups, q terms of a bar; column-major.      */
#ifndef GIBBSITE_HLM_COUNT_H
#define GIBBSITE_HLM_COUNT_H

#include <stddef.h>

#include "hlm/hlm_crossed.h"
#include "hlm/hlm_likelihood.h"
#include "numeric/status.h"
#include "run/scan.h"

/* A term of two bars, of which most groups of the second lie within one of the first.
 * The move of outer group j changes eta of row[i] by change[i] times its d, where i is
 * first[j], ..., first[j + 1] - 1. */
typedef struct {
  size_t outer, inner, outer_term, inner_term;
  const int *parent; /* J of inner: its group of outer  */
  const int *first;  /* J of outer + 1                  */
  const int *row;
  const double *change;
} hlm_near;

typedef struct {
  hlm_crossed_data
    groups;            /* bars, p, first, bar (priors, without rows), nesting,
                              keep; the rows are of this file               */
  const hlm_rows *bar; /* F: z in the order of `row` */
  const hlm_near *near;
  size_t nears;
  hlm_likelihood rows;  /* without `known` and, of negative binomial rows, r  */
  const double *x;      /* p x n                                         */
  const double *offset; /* n, or NULL for none                           */
  const double *mean, *precision; /* p, p x p                              */
  const double *start;            /* p: where Newton's method begins       */
  double freedom, scale;          /* of t                                  */
} hlm_count_data;

typedef struct {
  hlm_state groups;   /* factor, b, u; beta is 1                            */
  double *dispersion; /* 1: t, of negative binomial rows                     */
  const double *sweep;
  double *counts; /* 8: of b: proposals and moves in burn-in, the same after;
                         of u                                               */
} hlm_count_state;

typedef struct {
  hlm_count_data data;
  hlm_count_state state;
  hlm_crossed groups; /* Sigma and the nested bars                          */
  hlm_likelihood rows;
  double *eta, *base, *along; /* n                                   */
  double *known;              /* n: of `rows`                        */
  double *reference; /* p: the mode without groups                        */
  size_t *wide, wide_count; /* effects with slice steps of their own          */
  double *expected; /* n x F: the rough estimates of the means           */
  int *at_edge; /* first[bars]: of a group's first place, hlm_is_at_edge() */
  double *shift, *within; /* the most q p J: A;  p x n: x - A'z             */
  double *right, *precision, *theta; /* p, p x p, the most q J              */
  double *centre, *factor, *step;    /* the most p or q: w, w x w, w        */
  double *trial, *gap;               /* w                                   */
  double *members, *total;           /* the most J: of outer groups         */
} hlm_count;

size_t hlm_count_work_size(const hlm_count_data *data);

/* A model on `data` and `state` (both borrowed) in `work`; bar and bar_work as in
 * hlm_crossed_open(). */
status hlm_count_open(hlm_count *model, const hlm_count_data *data,
                      const hlm_count_state *state, hlm_model *bar,
                      void *const *bar_work, void *work);

/* A scan_model's functions.  The columns: the fixed effects, for each bar the
 * standard deviations and correlations, t if negbinomial, log_lik, and with `keep`
 * the deviations u. */
size_t hlm_count_columns(const hlm_count_data *data);
status hlm_count_sweep(void *model, const scan_control *control);
void hlm_count_record(void *model, double *row, size_t stride);

#endif
