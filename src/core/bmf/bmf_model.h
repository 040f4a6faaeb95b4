/* A model of matrix factorisation while it runs, shared by bmf_*.c. */
#ifndef GIBBSITE_BMF_MODEL_H
#define GIBBSITE_BMF_MODEL_H

#include "bmf/bmf.h"
#include "run/parts.h"

#define LOG_2PI 1.837877066409345483560659472811

/* least rows in a part of a sum (parts.h) */
#define ROWS 256

static inline size_t bmf_cutpoint_count(const bmf_data *data) {
  return data->levels > 0 ? data->levels - 1 : 0;
}

static inline int bmf_draws_ridge(const bmf_features *features) {
  return features->p > 0 && features->shape > 0.0;
}

/* beta is known: given, or 1. */
static inline int bmf_has_known_precision(const bmf_data *data) {
  return data->prior.kind == BMF_FIXED || data->levels > 0;
}

static inline double bmf_rating_count(const bmf_data *data) {
  return (double)data->users.start[data->n];
}

static inline size_t larger(size_t a, size_t b) {
  return a > b ? a : b;
}

/* ---- bmf_side.c: users and items alike ---------------------------------- */

typedef struct {
  int which;
  size_t rows;
  const bmf_ratings *ratings;
  double *factors; /* d x rows */
  double *lambda, *mu, *precision;
  const bmf_features *features;
  double *coefficients, *ridge;
} bmf_side;

bmf_side bmf_side_of(const bmf_model *m, int which);

static inline int bmf_has_features(const bmf_side *side) {
  return side->features != NULL && side->features->p > 0;
}

/* Multiplications for a row with so many ratings, roughly. */
double bmf_row_work(size_t d, double ratings);

/* m->shift (d x rows) <- from (d x rows, NULL for 0) plus sign times sum_k f_ik
 * c_k,  c: d x p. */
void bmf_add_features(bmf_model *m, const bmf_side *side, const double *from,
                      const double *c, double sign, int threads);

/* ---- bmf_factors.c ------------------------------------------------------ */

status bmf_draw_scales(bmf_model *m, int threads);

/* ---- bmf_hyper.c -------------------------------------------------------- */

double bmf_log_gamma_density(double x, double shape, double rate);
double bmf_sum_squares(const double *x, size_t length);
status bmf_draw_hyperparameters(bmf_model *m, int which, int threads);
void bmf_draw_beta(bmf_model *m);

/* ---- bmf_record.c ------------------------------------------------------- */

void bmf_stream_predictions(bmf_model *m);
void bmf_store_draw(bmf_model *m);

#endif
