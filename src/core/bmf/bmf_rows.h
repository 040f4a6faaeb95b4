/* Many small Gaussian regressions with one prior: the users of a matrix
 * factorisation given its items, or the items given the users.
 *
 * Row i has ratings y_e of the partners index[e], e = start[i], ..., start[i + 1]
 * - 1, with y_e ~ N(x_e' f_i + o_e, 1 / beta), where x_e is the partner's design
 * vector and o_e its offset, and f_i ~ N(mu, Lambda^-1).  So
 *   f_i | . ~ N(Q^-1 b, Q^-1),  Q = Lambda + beta sum_e x_e x_e',
 *   b = Lambda mu + beta sum_e (y_e - o_e) x_e
 * (Paisley, E6892 lecture 3, eq. 29; Salakhutdinov & Mnih 2008, eq. 11-13,
 * doi:10.1145/1390156.1390267).
 *
 * d numbers a row (1 or more).  A vector is padded to `stride` doubles, with room
 * for one more coordinate, which carries the response: sums of products of (x, y)
 * give Q and b at once, and the Cholesky factor of Q bordered by b' has L^-1 b as
 * its last row.  Everything is scaled by sqrt(beta), so that Q is a plain sum. */
#ifndef GIBBSITE_BMF_ROWS_H
#define GIBBSITE_BMF_ROWS_H

#include "numeric/lanes.h"
#include "numeric/status.h"
#include <stddef.h>

/* Ratings compressed by row. */
typedef struct {
  size_t rows, partners;
  const int *start;    /* rows + 1 offsets from 0                       */
  const int *index;    /* partners, from 0                              */
  const double *value; /* the ratings, centred                          */
  const int *order;    /* rows from 0, as they are to be drawn: in parts,
                          those with most ratings first          */
} bmf_ratings;

typedef struct {
  size_t d, stride;
  double root_beta;     /* sqrt(beta)                                     */
  const double *design; /* partners x stride, row by row: sqrt(beta) x,
                           zeros from coordinate d on                    */
  const double *offset; /* one a partner, or NULL                         */
  const double *prior;  /* bmf_square_size(d): see bmf_set_prior()        */
  size_t panel;         /* partners gathered at a time                    */
  const double *shift;  /* rows x d: what f_i's own prior mean adds to
                           Lambda mu, or NULL                           */
} bmf_regression;

/* Doubles of a padded vector, of a padded matrix, of the partners gathered at a
 * time, and of the scratch area of a thread. */
size_t bmf_stride(size_t d);
size_t bmf_square_size(size_t d);
size_t bmf_panel_length(size_t d);
size_t bmf_area_size(size_t d);

/* prior (bmf_square_size(d)) <- Lambda (d x d), with (Lambda mu)' below it; mu
 * may be NULL for 0. */
void bmf_set_prior(const double *precision, const double *mu, size_t d,
                   double *prior);

/* f (d): standard normals on entry (zeros for the mode), the draw on return.
 * area: zeros before the first row.  square: NULL, or to receive beta times the
 * row's sum of squared residuals. */
status bmf_draw_row(const bmf_regression *job, const bmf_ratings *ratings,
                    size_t row, double *f, double *square, double *area);

/* Rows of x about a centre: gram (bmf_square_size(d), padded like a prior's: d
 * columns of `stride`) += sum_r (x_r - centre)(x_r - centre)', lower triangle,
 * and in row d sum_r (x_r - centre)'.  x: count vectors of d; centre: d. */
void bmf_add_gram(const double *x, size_t count, size_t d, const double *centre,
                  double *gram, double *area);

/* Rows x <- M x + h.  x: count vectors of d; map: bmf_stride(d) x (d + 1), (M, h)
 * and zeros below. */
void bmf_move_rows(double *x, size_t count, size_t d, const double *map,
                   double *area);

/* Kernels for vectors of 16, 32 and 64 bytes: whether this processor has them, and
 * bmf_draw_row() and bmf_move_rows() by one of them, for the tests. */
status bmf_draw_row_with(lanes_width width, const bmf_regression *job,
                         const bmf_ratings *ratings, size_t row, double *f,
                         double *square, double *area);
void bmf_move_rows_with(lanes_width width, double *x, size_t count, size_t d,
                        const double *map, double *area);

#endif
