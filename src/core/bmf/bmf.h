/* Bayesian matrix factorisation (Paisley, E6892 lecture 3, eq. 16-29; Rai, CS772A,
 * "one more example"; Salakhutdinov & Mnih 2008, doi:10.1145/1390156.1390267):
 *
 *   r_ij ~ N(u_i'v_j, 1 / beta),  (i, j) observed,  after a constant is taken off,
 *
 * with one of three priors, Gamma(shape, rate):
 *   fixed    u_i, v_j ~ N(0, c I),  1 / beta = sigma2
 *   gamma    u_i ~ N(0, I / lambda_u),  v_j ~ N(0, I / lambda_v),
 *            lambda_u ~ Gamma(a, b),  lambda_v ~ Gamma(c, d),  beta ~ Gamma(e, f)
 *   wishart  u_i ~ N(mu_u, Lambda_u^-1),  Lambda_u ~ W(nu0, W0),
 *            mu_u | Lambda_u ~ N(mu0, (kappa0 Lambda_u)^-1),  the same for the
 *            items,  beta ~ Gamma(e, f);  W(nu0, W0) has mean nu0 W0.
 * With biases r_ij ~ N(w_i'x_j + a_i + b_j, 1 / beta), and the intercepts are the
 * last coordinates of u_i = (w_i, a_i) and v_j = (x_j, b_j), which have the priors
 * above.  Given the items, u_i has the design vector (x_j, 1) and the offset b_j.
 *
 * With features of the users, of the items or of both the prior mean of a row
 * depends on its features: bmf_features.h.  Normal-Wishart priors alone.
 * Ordinal ratings (cutpoints.h) take the place of r_ij ~ N(., 1 / beta): their
 * latent values are r_ij, beta is 1, and nothing is taken off.  With biases their
 * cutpoints are also moved together with the a_i.
 *
 * n users, m items, d = rank + biases; matrices column-major.
 *   u         d x n     v         d x m
 *   rating_precision   beta (a name that Rmath.h takes)
 *   lambda    lambda_u, lambda_v (fixed: 1 / c twice)          not wishart
 *   mu        mu_u, mu_v: d x 2                                wishart alone
 *   precision Lambda_u, Lambda_v: d x d x 2                    wishart alone
 *   coefficients  B_u', B_v' of bmf_features.h: d x p each, and
 *   ridge     their lambda_B                              with features alone
 *   theta     cutpoints, K - 1                                  ordinal alone
 *   kept      recorded sweeps so far
 *   noise     running mean of 1 / beta over them
 *   at_mean, at_m2   of the pairs `predict_at`: mean and sum of squared deviations
 *             over them of the linear predictor, without the constant */
#ifndef GIBBSITE_BMF_H
#define GIBBSITE_BMF_H

#include "bmf/bmf_features.h"
#include "bmf/bmf_rows.h"
#include "numeric/rdist.h"
#include "numeric/status.h"
#include "run/cutpoints.h"
#include "run/scan.h"
#include "run/store.h"
#include <stddef.h>

typedef enum { BMF_FIXED, BMF_GAMMA, BMF_WISHART } bmf_kind;

typedef struct {
  bmf_kind kind;
  const double *shape, *rate;     /* of lambda_u, lambda_v, beta: 3 each     */
  const double *mu0, *w0_inverse; /* d;  d x d                               */
  double kappa0, nu0, w0_log_det; /* the last: log |W0|                      */
} bmf_prior;

/* Pairs of a user and an item, from 0. */
typedef struct {
  size_t count;
  const int *user, *item;
} bmf_pairs;

typedef struct bmf_model bmf_model;

typedef struct {
  size_t n, m, d;
  int biases;
  size_t directions;        /* of the moves of bmf_scale.h; 0: no moves     */
  double center;            /* the constant that was taken off              */
  bmf_ratings users, items; /* the same ratings by user and by item         */
  bmf_prior prior;
  bmf_features features[2]; /* of users and of items                        */
  bmf_pairs cells;          /* whose means are recorded                     */
  bmf_pairs predict_at;
  int keep_u, keep_v; /* record u, v as well                          */
  size_t levels;      /* K of ordinal ratings, values 1 to K; else 0  */
  double cutpoint_sd;
  const double *scale; /* K: the ratings of the levels                 */
  const int *place;    /* of the ratings by item, from 0: where they are by
                       user; ordinal alone                          */
  /* NULL; or a chain on several machines, without features: has others draw a
     side by bmf_draw_given(), before the users the latent values of ordinal
     ratings by bmf_draw_latents(), and writes what they answer into its factors,
     of items also into m->squares */
  void (*ask)(void *context, bmf_model *m, int which, philox_key key);
  void *context;
} bmf_data;

typedef struct {
  double *u, *v, *rating_precision, *lambda, *mu, *precision, *theta;
  double *coefficients[2], *ridge[2];
  double *kept, *noise, *at_mean, *at_m2;
} bmf_state;

struct bmf_model {
  bmf_data data;
  bmf_state state;
  draw_store store;
  int mode;          /* blocks go to their conditional modes (ICM)        */
  int recording;     /* this sweep is recorded                            */
  double square;     /* sum (r_ij - u_i'v_j)^2                            */
  double log_prior;  /* log density of u, v and their hyperparameters     */
  double log_det[2]; /* log |Lambda_u|, log |Lambda_v|                    */
  cutpoints ordinal;
  philox_key latent_key; /* ordinal: of this sweep's latent values          */
  /* work */
  double *drawn,
    *latent;        /* ordinal: z of the ratings by user, by item        */
  double *design;   /* of the other side: its count x stride             */
  double *offset;   /* of the other side: its intercepts                 */
  double *prior;    /* bmf_set_prior()                                   */
  double *squares;  /* one an item                                       */
  double *grams;    /* one an area of rows                               */
  double *areas;    /* one a thread                                      */
  double *shift;    /* d x rows of a side with features                    */
  double *spare[2]; /* d x p: B as it is needed                            */
  /* scratch of the serial blocks */
  double *matrix[4], *vector[2];          /* d x d, d       */
  double *map[2], *direction, *move_work; /* of bmf_scale.h */
};

/* Numbers of a stored draw beside the factors: beta, lambda or mu and precision; of
 * users and of items with features B' and lambda_B; of ordinal ratings theta. */
size_t bmf_hyper_size(const bmf_data *data);

/* Bytes of work space; 0 when the count overflows. */
size_t bmf_work_size(const bmf_data *data, int threads);

/* Prepares a model on `data` and `state` (both borrowed) in `work`, which holds
 * zeros, for at most so many threads. */
void bmf_open(bmf_model *model, const bmf_data *data, const bmf_state *state,
              void *work, int threads);

/* One sweep: of ordinal ratings cutpoints and latent values; users, items, moves of
 * both (bmf_scale.h), their hyperparameters, beta.  With model->mode each block is
 * set to its conditional mode, without the moves.  A scan_model's `sweep`. */
status bmf_sweep(void *model, const scan_control *control);

enum { BMF_USERS, BMF_ITEMS };

/* Users or items alone, given the other side and the hyperparameters of the state;
 * of items also model->squares.  Row i has the normals of the key (normals.h) from
 * (first + i) d on.  shift: NULL, or Lambda B'f_i of each (d x rows), where the
 * model has no features. */
status bmf_draw_given(bmf_model *model, int which, philox_key key, size_t first,
                      const double *shift, const scan_control *control);

/* The same for all rows of a side; R's generator gives the key. */
status bmf_draw_side(bmf_model *model, int which, const double *shift,
                     const scan_control *control);

/* z, eta (one a rating) <- latent values of the ordinal ratings that some of the rows
 * of a side have, and what they are predicted to be: of the rows first, first + 1, ...
 * of a state with all rows of both sides.  data: sizes, levels, ratings with their
 * codes, and the places of the ratings among all of them by user. */
void bmf_draw_latents(const bmf_data *data, const bmf_state *state, int which,
                      philox_key key, size_t first, double *eta, double *z,
                      int threads);

/* Recorded: of ordinal ratings theta, and no beta; the precisions (gamma: beta,
 * lambda_u, lambda_v; wishart: beta, and of users and of items the trace and log
 * determinant of Lambda and the length of mu), the unknown lambda_B, root mean
 * squared residual (ordinal: log likelihood), log joint density, cells (the mean of
 * the rating, with the constant), u (d x n) and v (d x m) where kept. */
size_t bmf_columns(const bmf_data *data);
void bmf_record(void *model, double *row, size_t stride);

/* u'v (with biases w'x + a + b) of vectors of d. */
double bmf_predictor(const double *u, const double *v, size_t d, int biases);

/* Pairs of users and items, codes from 1. */
typedef struct {
  const int *user, *item; /* count */
  size_t count;
} bmf_codes;

/* out[p * stride] <- constant + predictor of pair p, of stored factors: d x n and
 * d x m. */
void bmf_values_single(const bmf_data *sizes, const float *factors,
                       const bmf_codes *pairs, double constant, double *out,
                       size_t stride);

/* One more value each, the count-th, into n running means and sums of squared
 * deviations from them. */
void bmf_welford(const double *value, size_t n, double count, double *mean,
                 double *m2);

#endif
