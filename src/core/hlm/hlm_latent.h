/* Hierarchical regression with latent normal responses: hlm.h with F bars,
 *
 *   log p(s | eta) = sum_i l_i(eta_i),
 *   eta_i = o_i + x_i'b + sum_f z_fi'u_f,j(f,i),   u_fj ~ N(0, Sigma_f),
 *
 * and responses s of a type (hlm_response) for which latent y_i and v_i can be drawn
 * given s_i and eta_i, such that eta_i has the likelihood of y_i ~ N(eta_i, 1 / v_i)
 * given them.  hlm_binomial.h has the first types.  A sweep:
 *   parameters of the response | eta, if it has any
 *   for each bar f and term k:  u_fk, Sigma_f -> s u_fk, D Sigma_f D by a slice step
 *   y_i, v_i | s_i, eta_i, for all rows
 *   all u, with b integrated out, by hlm_joint.h, if the data have `joint`
 *   for each bar f, given the deviations of the others:
 *     b, u_f and Sigma_f by hlm_sweep() for these y: b is drawn with u_f integrated
 *     out
 *   for each bar g whose groups lie within those of a bar f, the moves of
 *   hlm_nested.h
 * The fifth is collapsed Gibbs sampling (Papaspiliopoulos, Roberts & Zanella 2020,
 * doi:10.1093/biomet/asz058).
 *
 * The rows of a group of bar f are reduced anew for each: times sqrt(v_i) and rotated
 * by Householder's reflections; those beyond the first min(n_j, q) go to the pool.
 * A bar without terms (q = 0, one group) sends all its rows there: with it alone the
 * model is a regression without groups.
 *
 * F bars, p fixed effects, n rows; matrices column-major.                      */
#ifndef GIBBSITE_HLM_LATENT_H
#define GIBBSITE_HLM_LATENT_H

#include <stddef.h>

#include "hlm/hlm.h"
#include "hlm/hlm_joint.h"
#include "hlm/hlm_nested.h"
#include "numeric/status.h"
#include "run/scan.h"

/* sqrt(v_i), and sqrt(v_i) y_i */
typedef struct {
  double root, y;
} hlm_latent_row;

/* A type of responses.  `response` is its own data, with its parameters. */
typedef struct {
  /* sum_i l_i(eta_i), constants left out */
  double (*log_lik)(const void *response, const double *eta, size_t n);
  hlm_latent_row (*draw)(const void *response, size_t i, double eta);
  /* Draws the parameters given eta of all rows; NULL if there are none. */
  status (*update)(void *response, const double *eta, size_t n,
                   const scan_control *control);
  /* NULL, or with a last column of x that is 1, whose coefficient `a` the response has a
   * prior of precision t_p for: takes `a`, which becomes 0, over into the parameters,
   * and returns the mean of its prior.  Before b is drawn and last in a sweep. */
  double (*settle)(void *response, double a);
  size_t parameters; /* their columns, which record() writes; or 0 and NULL */
  void (*record)(const void *response, double *row, size_t stride);
} hlm_response;

typedef struct {
  size_t bars, p, n, nestings;
  const hlm_data
    *bar; /* F: q, p, groups, start (of the kept rows), prior, fixed_at
                          and `keep`; known, not collapsed, no units and no centre;
                          the rows and the pool are of this file                 */
  const hlm_rows *rows; /* F: z in the order of the data */
  const double *x;      /* p x n                                          */
  const double *offset; /* n, or NULL for none                            */
  const hlm_nesting *nesting;
  hlm_joint_data joint; /* or no deviations */
  const hlm_response *type;
  void *response;
  double constant; /* added to log_lik */
} hlm_latent_data;

typedef struct {
  hlm_latent_data data;
  hlm_model *bar; /* F */
  double *z, *x, *y, *pool_x,
    *pool_y;    /* the reduced rows of one bar                     */
  double *mean; /* p: the prior means of b */
  double *eta, *along, *trial; /* n */
  hlm_latent_row *latent;      /* n */
  double *rows; /* (q + p + 1) x the largest n_j: (z, x, y) sqrt(v)          */
  double *sums; /* q + p + 1                                                 */
  hlm_nested_work nested;
  hlm_joint joint;
} hlm_latent;

size_t hlm_latent_work_size(const hlm_latent_data *data);

/* A model on `data` and `state` (both borrowed; beta is 1; factor and u bar by bar) in
 * `work`. */
void hlm_latent_open(hlm_latent *model, const hlm_latent_data *data,
                     const hlm_state *state, void *work);

/* model->eta <- eta of the state */
void hlm_latent_predict(hlm_latent *model);

/* A scan_model's functions.  The columns: the fixed effects (with settle()
 * all but the last), for each bar the
 * standard deviations and correlations, the parameters of the response, log_lik, and
 * with `keep` the deviations of each bar, to which the mean of fixed_at is added. */
size_t hlm_latent_columns(const hlm_latent_data *data);
status hlm_latent_sweep(void *model, const scan_control *control);
void hlm_latent_record(void *model, double *row, size_t stride);

#endif
