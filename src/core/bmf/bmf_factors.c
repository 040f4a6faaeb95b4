#include "numeric/rounding.h"

#include "bmf/bmf_model.h"

#include <math.h>
#include <string.h>

#include "bmf/bmf_scale.h"
#include "numeric/normals.h"

/* ---- u_i | v, ...  and  v_j | u, ... ------------------------------------ */

/* Design vectors of the other side, scaled by sqrt(beta).  An intercept there is
 * an offset here, and its place in the vector holds the 1 that this side's own
 * intercept is multiplied by. */
static void prepare_design(bmf_model *m, const bmf_side *other, double root,
                           int threads) {
  const size_t d = m->data.d, stride = bmf_stride(d);
  const int biases = m->data.biases, count = (int)other->rows;
  const int team = parts_team(4.0 * (double)count * (double)d, threads);
  (void)team;
#ifdef _OPENMP
#pragma omp parallel for num_threads(team) schedule(static) if (team > 1)
#endif
  for (int j = 0; j < count; j++) {
    const double *from = other->factors + (size_t)j * d;
    double *to = m->design + (size_t)j * stride;
    for (size_t k = 0; k < d; k++)
      to[k] = root * from[k];
    if (biases)
      to[d - 1] = root;
    for (size_t k = d; k < stride; k++)
      to[k] = 0.0;
    m->offset[j] = from[d - 1];
  }
}

/* Lambda (d x d) and mu (NULL for 0) of a side into m->prior. */
static void prepare_prior(bmf_model *m, const bmf_side *side) {
  const size_t d = m->data.d;
  if (m->data.prior.kind == BMF_WISHART) {
    bmf_set_prior(side->precision, side->mu, d, m->prior);
    return;
  }
  double *precision = m->matrix[0];
  memset(precision, 0, d * d * sizeof *precision);
  for (size_t k = 0; k < d; k++)
    precision[k + d * k] = *side->lambda;
  bmf_set_prior(precision, NULL, d, m->prior);
}

/* m->shift <- Lambda B'f_i of each row: its prior mean is mu + B'f_i. */
static void prepare_shift(bmf_model *m, const bmf_side *side, int threads) {
  const size_t d = m->data.d;
  double *c = m->spare[0];
  memset(c, 0, side->features->p * d * sizeof *c);
  for (size_t k = 0; k < side->features->p; k++)
    for (size_t j = 0; j < d; j++)
      for (size_t i = 0; i < d; i++)
        c[i + d * k] +=
          side->precision[i + d * j] * side->coefficients[j + d * k];
  bmf_add_features(m, side, NULL, c, 1.0, threads);
}

/* Normals for the factors of a side (the mode: zeros), into the rows themselves,
 * whose old values are not needed any more.  before: rows of other machines. */
static void draw_normals(const bmf_model *m, const bmf_side *side,
                         philox_key key, size_t before, int threads) {
  const size_t d = m->data.d;
  const int parts = (int)parts_count(side->rows, ROWS);
  const int team = parts_team(20.0 * (double)side->rows * (double)d, threads);
  (void)team;
#ifdef _OPENMP
#pragma omp parallel for num_threads(team) schedule(static) if (team > 1)
#endif
  for (int part = 0; part < parts; part++) {
    const parts_range own = parts_of(side->rows, ROWS, part);
    double *to = side->factors + own.first * d;
    if (m->mode)
      memset(to, 0, own.count * d * sizeof *to);
    else
      normals_keyed(key, (before + own.first) * d, to, own.count * d);
  }
}

/* Places first, ..., last - 1 of the order of a side, and their work. */
typedef struct {
  int first, last;
  double work;
} batch;

/* It ends at 4e8 multiplications, some tenths of a second. */
static batch next_batch(size_t d, const bmf_side *side, int first) {
  const bmf_ratings *ratings = side->ratings;
  batch b = {first, first, 0.0};
  for (; b.last < (int)side->rows && b.work < 4e8; b.last++) {
    const size_t row = (size_t)ratings->order[b.last];
    b.work += bmf_row_work(d, (double)ratings->start[row + 1] -
                                (double)ratings->start[row]);
  }
  return b;
}

/* Rows of a batch in parallel; each is written by one thread and depends on nothing
 * that another writes. */
static status draw_rows(bmf_model *m, const bmf_regression *job,
                        const bmf_side *side, const batch *b, int threads) {
  const size_t d = m->data.d;
  const bmf_ratings *ratings = side->ratings;
  const int team = parts_team(b->work, threads);
  const int chunk = 1 + (int)(3e4 * (double)(b->last - b->first) / b->work);
  int failed = 0;
  (void)team;
  (void)chunk;
#ifdef _OPENMP
#pragma omp parallel for num_threads(team) schedule(dynamic, chunk) \
  reduction(| : failed) if (team > 1)
#endif
  for (int at = b->first; at < b->last; at++) {
    const size_t row = (size_t)ratings->order[at];
    double *square = side->which == BMF_ITEMS ? m->squares + row : NULL;
    double *area = m->areas + (size_t)parts_thread() * bmf_area_size(d);
    failed |= bmf_draw_row(job, ratings, row, side->factors + row * d, square,
                           area) != STATUS_OK;
  }
  return failed ? STATUS_NOT_POSITIVE_DEFINITE : STATUS_OK;
}

/* Batches of a side, between which the user may stop. */
static status draw_batches(bmf_model *m, const bmf_regression *job,
                           const bmf_side *side, const scan_control *control) {
  for (batch b = next_batch(m->data.d, side, 0); b.first < b.last;
       b = next_batch(m->data.d, side, b.last)) {
    if (b.first > 0 && scan_must_stop(control))
      return STATUS_INTERRUPTED;
    const status outcome = draw_rows(m, job, side, &b, control->threads);
    if (outcome != STATUS_OK)
      return outcome;
  }
  return STATUS_OK;
}

status bmf_draw_given(bmf_model *m, int which, philox_key key, size_t first,
                      const double *shift, const scan_control *control) {
  const size_t d = m->data.d;
  const bmf_side side = bmf_side_of(m, which);
  const bmf_side other =
    bmf_side_of(m, which == BMF_USERS ? BMF_ITEMS : BMF_USERS);
  bmf_regression job = {0};
  job.d = d;
  job.stride = bmf_stride(d);
  job.panel = bmf_panel_length(d);
  job.root_beta = sqrt(*m->state.rating_precision);
  job.design = m->design;
  job.offset = m->data.biases ? m->offset : NULL;
  job.prior = m->prior;
  job.shift = shift;
  prepare_design(m, &other, job.root_beta, control->threads);
  prepare_prior(m, &side);
  if (bmf_has_features(&side)) {
    prepare_shift(m, &side, control->threads);
    job.shift = m->shift;
  }
  draw_normals(m, &side, key, first, control->threads);
  return draw_batches(m, &job, &side, control);
}

status bmf_draw_side(bmf_model *m, int which, const double *shift,
                     const scan_control *control) {
  const philox_key none = {{0, 0}};
  const philox_key key = m->mode ? none : philox_key_from_r();
  if (m->data.ask == NULL)
    return bmf_draw_given(m, which, key, 0, shift, control);
  m->data.ask(m->data.context, m, which, key);
  return STATUS_OK;
}

/* ---- scales of users and items against each other ----------------------- */

static void move_rows(bmf_model *m, const bmf_side *side, const double *map,
                      int threads) {
  const size_t d = m->data.d;
  const int parts = (int)parts_count(side->rows, ROWS);
  const int team = parts_team((double)side->rows * (double)(d * d), threads);
  (void)team;
#ifdef _OPENMP
#pragma omp parallel for num_threads(team) schedule(static) if (team > 1)
#endif
  for (int part = 0; part < parts; part++) {
    const parts_range own = parts_of(side->rows, ROWS, part);
    bmf_move_rows(side->factors + own.first * d, own.count, d, map,
                  m->areas + (size_t)parts_thread() * bmf_area_size(d));
  }
}

/* B' <- M B', and no constant: the density of B and the Jacobian have the factors
 * |M|^-p and |M|^p. */
static void move_coefficients(bmf_model *m, const bmf_side *side, double *map) {
  const size_t d = m->data.d, stride = bmf_stride(d);
  memset(map + stride * d, 0, stride * sizeof *map);
  bmf_move_rows(side->coefficients, side->features->p, d, map, m->areas);
}

/* The latent values' part of the density of their scale. */
static double latent_square(const bmf_model *m) {
  double square = 0.0;
  for (size_t j = 0; j < m->data.m; j++)
    square += m->squares[j];
  for (size_t k = 0; k < bmf_cutpoint_count(&m->data); k++)
    square += m->state.theta[k] / m->data.cutpoint_sd * m->state.theta[k] /
              m->data.cutpoint_sd;
  return square;
}

static double latent_power(const bmf_model *m) {
  return (double)(m->ordinal.count + bmf_cutpoint_count(&m->data));
}

static void scale_cutpoints(bmf_model *m, double x) {
  for (size_t k = 0; k < bmf_cutpoint_count(&m->data); k++)
    m->state.theta[k] *= exp(x);
}

static status move_wishart(bmf_model *m, bmf_moves *moves) {
  const bmf_prior *prior = &m->data.prior;
  const bmf_wishart_sides sides = {prior->mu0, prior->w0_inverse, prior->kappa0,
                                   m->state.mu, m->state.precision};
  status outcome = STATUS_OK;
  for (size_t k = 0; k < m->data.directions && outcome == STATUS_OK; k++)
    outcome = bmf_scale_wishart(moves, &sides);
  if (m->data.levels > 0 && outcome == STATUS_OK) {
    double x = 0.0;
    outcome = bmf_scale_latent_wishart(moves, &sides, prior->nu0,
                                       latent_power(m), latent_square(m), &x);
    scale_cutpoints(m, x);
  }
  if (m->data.biases)
    bmf_shift_wishart(moves, &sides);
  return outcome;
}

static status move_isotropic(bmf_model *m, bmf_moves *moves) {
  const size_t d = moves->d;
  const bmf_prior *prior = &m->data.prior;
  bmf_isotropic_sides sides = {.count = {(double)m->data.n, (double)m->data.m},
                               .lambda = m->state.lambda,
                               .shape = prior->shape,
                               .rate = prior->rate};
  for (int which = BMF_USERS; m->data.biases && which <= BMF_ITEMS; which++) {
    const bmf_side side = bmf_side_of(m, which);
    for (size_t row = 0; row < side.rows; row++) {
      const double intercept = side.factors[row * d + d - 1];
      sides.sum[which] += intercept;
      sides.square[which] += intercept * intercept;
    }
  }
  status outcome =
    prior->kind == BMF_GAMMA ? bmf_scale_lambda(moves, &sides) : STATUS_OK;
  if (prior->kind == BMF_GAMMA && m->data.levels > 0 && outcome == STATUS_OK) {
    double x = 0.0;
    outcome = bmf_scale_latent_lambda(moves, &sides, latent_power(m),
                                      latent_square(m), &x);
    scale_cutpoints(m, x);
  }
  if (m->data.biases)
    bmf_shift_isotropic(moves, &sides);
  return outcome;
}

/* Moves of bmf_scale.h; the rows follow at the end.  Residuals stay what they
 * are, but for a factor where the latent values are scaled. */
status bmf_draw_scales(bmf_model *m, int threads) {
  const size_t d = m->data.d;
  bmf_moves moves = {.d = d,
                     .rank = m->data.biases ? d - 1 : d,
                     .stride = bmf_stride(d),
                     .map = {m->map[0], m->map[1]},
                     .direction = m->direction,
                     .work = m->move_work};
  if (m->data.prior.kind == BMF_FIXED && !m->data.biases)
    return STATUS_OK;
  bmf_moves_begin(&moves);
  const status outcome = m->data.prior.kind == BMF_WISHART
                           ? move_wishart(m, &moves)
                           : move_isotropic(m, &moves);
  if (outcome != STATUS_OK)
    return outcome;
  for (int which = BMF_USERS; which <= BMF_ITEMS; which++) {
    const bmf_side side = bmf_side_of(m, which);
    move_rows(m, &side, moves.map[which], threads);
    if (bmf_has_features(&side))
      move_coefficients(m, &side, moves.map[which]);
  }
  return STATUS_OK;
}
