#include "numeric/rounding.h"

#include "bmf/bmf.h"

#include <math.h>
#include <string.h>

#include "bmf/bmf_scale.h"
#include "numeric/arena.h"
#include "numeric/linalg.h"
#include "numeric/normals.h"
#include "numeric/rdist.h"
#include "numeric/rmath.h"

#ifdef _OPENMP
#include <omp.h>
#endif

#define LOG_2PI 1.837877066409345483560659472811

/* ---- sizes and layout of the work space -------------------------------- */

static size_t cutpoint_count(const bmf_data *data) {
  return data->levels > 0 ? data->levels - 1 : 0;
}

size_t bmf_hyper_size(const bmf_data *data) {
  const size_t d = data->d;
  size_t size = 1 + (data->prior.kind == BMF_WISHART ? 2 * d + 2 * d * d : 2) +
                cutpoint_count(data);
  for (int which = 0; which < 2; which++)
    if (data->features[which].p > 0)
      size += d * data->features[which].p + 1;
  return size;
}

static int draws_ridge(const bmf_features *features) {
  return features->p > 0 && features->shape > 0.0;
}

/* beta is known: given, or 1. */
static int has_known_precision(const bmf_data *data) {
  return data->prior.kind == BMF_FIXED || data->levels > 0;
}

static size_t hyper_columns(const bmf_data *data) {
  const size_t of_sides[] = {
    [BMF_FIXED] = 0, [BMF_GAMMA] = 2, [BMF_WISHART] = 6};
  return cutpoint_count(data) + (has_known_precision(data) ? 0 : 1) +
         of_sides[data->prior.kind];
}

size_t bmf_columns(const bmf_data *data) {
  return hyper_columns(data) + (size_t)draws_ridge(&data->features[0]) +
         (size_t)draws_ridge(&data->features[1]) + 2 + data->cells.count +
         (data->keep_u ? data->n * data->d : 0) +
         (data->keep_v ? data->m * data->d : 0);
}

double bmf_store_every(double kept, size_t most) {
  double every = 1.0;
  while (floor(kept / every) > (double)most)
    every *= 2.0;
  return every;
}

static size_t larger(size_t a, size_t b) {
  return a > b ? a : b;
}

/* Rows are summed in at most 16 parts of at least 256: a function of their number
 * alone, so that sums are the same for any number of threads. */
static size_t part_length(size_t rows) {
  const size_t length = (rows + 15) / 16;
  return length < 256 ? 256 : length;
}

static size_t part_count(size_t rows) {
  return (rows + part_length(rows) - 1) / part_length(rows);
}

static void carve_scratch(bmf_model *m, arena *a) {
  const double d = (double)m->data.d, stride = (double)bmf_stride(m->data.d);
  for (int part = 0; part < 4; part++)
    m->matrix[part] = arena_doubles(a, d * d);
  for (int part = 0; part < 2; part++) {
    m->vector[part] = arena_doubles(a, d);
    m->map[part] = arena_doubles(a, stride * (d + 1.0));
  }
  m->direction = arena_doubles(a, d);
  m->move_work = arena_doubles(a, 3.0 * d);
}

static void carve_features(bmf_model *m, arena *a) {
  const bmf_features *f = m->data.features;
  const size_t p = larger(f[0].p, f[1].p);
  const size_t rows =
    larger(f[0].p > 0 ? m->data.n : 0, f[1].p > 0 ? m->data.m : 0);
  const double d = (double)m->data.d;
  m->shift = arena_doubles(a, d * (double)rows);
  for (int part = 0; part < 2; part++)
    m->spare[part] = arena_doubles(a, d * (double)p);
}

static void carve(bmf_model *m, int threads, arena *a) {
  const size_t d = m->data.d, most = larger(m->data.n, m->data.m);
  const double square = (double)bmf_square_size(d);
  m->design = arena_doubles(a, (double)most * (double)bmf_stride(d));
  m->offset = arena_doubles(a, (double)most);
  m->prior = arena_doubles(a, square);
  m->squares = arena_doubles(a, (double)m->data.m);
  m->grams = arena_doubles(a, (double)part_count(most) * square);
  carve_scratch(m, a);
  carve_features(m, a);
  if (m->data.levels > 0) {
    m->ordinal.levels = m->data.levels;
    m->ordinal.count = (size_t)m->data.users.start[m->data.n];
    bmf_ordinal_carve(&m->ordinal, a);
    m->latent = arena_doubles(a, (double)m->ordinal.count);
  }
  m->areas = arena_doubles(a, (double)threads * (double)bmf_area_size(d));
}

size_t bmf_work_size(const bmf_data *data, int threads) {
  bmf_model m = {.data = *data};
  arena count = arena_measure();
  carve(&m, threads, &count);
  return arena_size(&count);
}

void bmf_open(bmf_model *m, const bmf_data *data, const bmf_state *state,
              void *work, int threads) {
  arena a = arena_over(work);
  memset(m, 0, sizeof *m);
  m->data = *data;
  m->state = *state;
  carve(m, threads, &a);
  if (data->levels == 0)
    return;
  m->ordinal.sd = data->cutpoint_sd;
  m->ordinal.code = data->users.value;
  m->data.users.value = m->ordinal.z;
  m->data.items.value = m->latent;
}

/* ---- users and items alike --------------------------------------------- */

enum { USERS, ITEMS };

typedef struct {
  int which;
  size_t rows;
  const bmf_ratings *ratings;
  double *factors; /* d x rows */
  double *lambda, *mu, *precision;
  const bmf_features *features;
  double *coefficients, *ridge;
} bmf_side;

static bmf_side side_of(const bmf_model *m, int which) {
  const size_t d = m->data.d, at = which == USERS ? 0 : 1;
  bmf_side side = {0};
  side.which = which;
  side.rows = which == USERS ? m->data.n : m->data.m;
  side.ratings = which == USERS ? &m->data.users : &m->data.items;
  side.factors = which == USERS ? m->state.u : m->state.v;
  if (m->data.prior.kind == BMF_WISHART) {
    side.mu = m->state.mu + at * d;
    side.precision = m->state.precision + at * d * d;
    side.features = &m->data.features[at];
    side.coefficients = m->state.coefficients[at];
    side.ridge = m->state.ridge[at];
  } else {
    side.lambda = m->state.lambda + at;
  }
  return side;
}

/* ---- threads ----------------------------------------------------------- */

static int thread_number(void) {
#ifdef _OPENMP
  return omp_get_thread_num();
#else
  return 0;
#endif
}

/* Threads for so many multiplications: one where starting more would take
 * longer than the work. */
static int team_for(double work, int threads) {
  return work < 3e5 ? 1 : threads;
}

/* Multiplications for a row with so many ratings, roughly. */
static double row_work(size_t d, double ratings) {
  const double size = (double)d;
  return ratings * size * (0.5 * size + 4.0) +
         size * size * (size / 6.0 + 2.0) + 100.0;
}

/* ---- u_i | v, ...  and  v_j | u, ... ----------------------------------- */

/* Design vectors of the other side, scaled by sqrt(beta).  An intercept there is
 * an offset here, and its place in the vector holds the 1 that this side's own
 * intercept is multiplied by. */
static void prepare_design(bmf_model *m, const bmf_side *other, double root,
                           int threads) {
  const size_t d = m->data.d, stride = bmf_stride(d);
  const int biases = m->data.biases, count = (int)other->rows;
  const int team = team_for(4.0 * (double)count * (double)d, threads);
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

static int has_features(const bmf_side *side) {
  return side->features != NULL && side->features->p > 0;
}

/* m->shift (d x rows) <- from (d x rows, NULL for 0) plus sign times sum_k f_ik
 * c_k,  c: d x p. */
static void add_features(bmf_model *m, const bmf_side *side, const double *from,
                         const double *c, double sign, int threads) {
  const size_t d = m->data.d;
  const int rows = (int)side->rows;
  const double entries = (double)side->features->start[side->rows];
  const int team = team_for(2.0 * entries * (double)d, threads);
  (void)team;
#ifdef _OPENMP
#pragma omp parallel for num_threads(team) schedule(static) if (team > 1)
#endif
  for (int row = 0; row < rows; row++) {
    double *to = m->shift + (size_t)row * d;
    for (size_t i = 0; i < d; i++)
      to[i] = from ? from[(size_t)row * d + i] : 0.0;
    bmf_features_add(side->features, (size_t)row, c, d, sign, to);
  }
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
  add_features(m, side, NULL, c, 1.0, threads);
}

/* Normals for the factors of rows, from R's generator (the mode: zeros). */
typedef struct {
  double *to;
  size_t count;
} normals_job;

/* Taken before a parallel block: R needs memory for it. */
static uint32_t *take_words(const bmf_model *m, const normals_job *normals,
                            const generator *g) {
  return m->mode ? NULL : normals_take(g, normals->count);
}

static void draw_normals(const bmf_model *m, const normals_job *normals,
                         uint32_t *words, const generator *g) {
  if (m->mode)
    memset(normals->to, 0, normals->count * sizeof *normals->to);
  else
    normals_next(g, words, normals->to, normals->count);
}

/* Places first, ..., last - 1 of the order of a side, and their work. */
typedef struct {
  int first, last;
  double work;
} batch;

/* It ends at `most` rows, once these take 1e7 multiplications (threads wait for one
 * another at the end), and in any case at 4e8, some tenths of a second. */
static batch next_batch(size_t d, const bmf_side *side, int first, int most) {
  const bmf_ratings *ratings = side->ratings;
  batch b = {first, first, 0.0};
  const int rows = (int)side->rows;
  for (; b.last < rows && b.work < 4e8; b.last++) {
    if (b.last - first >= most && b.work > 1e7)
      break;
    const size_t row = (size_t)ratings->order[b.last];
    b.work += row_work(d, (double)ratings->start[row + 1] -
                            (double)ratings->start[row]);
  }
  return b;
}

/* Rows of a batch in parallel; each is written by one thread and depends on nothing
 * that another writes.  The main thread, which alone may use R's generator, first
 * draws the normals that are wanted next. */
static status draw_rows(bmf_model *m, const bmf_regression *job,
                        const bmf_side *side, const batch *b,
                        const normals_job *ahead, const scan_control *control) {
  const size_t d = m->data.d;
  const bmf_ratings *ratings = side->ratings;
  const int team = team_for(b->work, control->threads);
  const int chunk = 1 + (int)(3e4 * (double)(b->last - b->first) / b->work);
  const generator *g = &control->generator;
  uint32_t *const words = take_words(m, ahead, g);
  int failed = 0;
  (void)team;
  (void)chunk;
#ifdef _OPENMP
#pragma omp parallel num_threads(team) reduction(| : failed) if (team > 1)
#endif
  {
    if (thread_number() == 0)
      draw_normals(m, ahead, words, g);
#ifdef _OPENMP
#pragma omp for schedule(dynamic, chunk) nowait
#endif
    for (int at = b->first; at < b->last; at++) {
      const size_t row = (size_t)ratings->order[at];
      double *square = side->which == ITEMS ? m->squares + row : NULL;
      double *area = m->areas + (size_t)thread_number() * bmf_area_size(d);
      failed |= bmf_draw_row(job, ratings, row, side->factors + row * d, square,
                             area) != STATUS_OK;
    }
  }
  uniforms_give(g, words);
  return failed ? STATUS_NOT_POSITIVE_DEFINITE : STATUS_OK;
}

/* Normals of the rows up to the last one of a batch, those before `drawn` being
 * there. */
static normals_job normals_of_batch(size_t d, const bmf_side *side,
                                    const batch *b, size_t drawn) {
  size_t last = drawn;
  for (int at = b->first; at < b->last; at++)
    last = larger(last, (size_t)side->ratings->order[at] + 1);
  const normals_job normals = {side->factors + drawn * d, (last - drawn) * d};
  return normals;
}

/* Batches of a side, between which the user may stop.  Normals are drawn serially
 * and in order, into the rows themselves, whose old values are not needed any more:
 * those of a batch along with the rows of the one before, and `after` along with
 * the last one.  drawn: rows that have theirs. */
static status draw_batches(bmf_model *m, const bmf_regression *job,
                           const bmf_side *side, size_t drawn,
                           normals_job after, const scan_control *control) {
  const size_t d = m->data.d, rows = side->rows;
  const int most = (int)(drawn < rows ? (rows + 3) / 4 : rows);
  batch now = next_batch(d, side, 0, most);
  normals_job normals = normals_of_batch(d, side, &now, drawn);
  double work = 0.0;
  uint32_t *const words = take_words(m, &normals, &control->generator);
  draw_normals(m, &normals, words, &control->generator);
  uniforms_give(&control->generator, words);
  while (now.first < now.last) {
    drawn += normals.count / d;
    const batch next = next_batch(d, side, now.last, most);
    normals = normals_of_batch(d, side, &next, drawn);
    const status outcome = draw_rows(
      m, job, side, &now, next.first < next.last ? &normals : &after, control);
    if (outcome != STATUS_OK)
      return outcome;
    work += now.work;
    if (work >= 4e8 && next.first < next.last) {
      work = 0.0;
      if (control->stop && control->stop(control->stop_data))
        return STATUS_INTERRUPTED;
    }
    now = next;
  }
  return STATUS_OK;
}

/* The conditional of bmf_rows.h for all rows of a side. */
static status draw_side(bmf_model *m, int which, size_t drawn,
                        normals_job after, const double *shift,
                        const scan_control *control) {
  const size_t d = m->data.d;
  const bmf_side side = side_of(m, which);
  const bmf_side other = side_of(m, which == USERS ? ITEMS : USERS);
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
  if (has_features(&side)) {
    prepare_shift(m, &side, control->threads);
    job.shift = m->shift;
  }
  return draw_batches(m, &job, &side, drawn, after, control);
}

status bmf_draw_users(bmf_model *m, const double *shift,
                      const scan_control *control) {
  const normals_job none = {m->state.u, 0};
  return draw_side(m, USERS, 0, none, shift, control);
}

/* Users, then items.  Once the items stand in the users' design vectors, they can
 * take their normals. */
static status draw_factors(bmf_model *m, const scan_control *control) {
  const normals_job none = {m->state.v, 0};
  const normals_job items = {m->state.v, m->data.m * m->data.d};
  const status outcome = draw_side(m, USERS, 0, items, NULL, control);
  return outcome == STATUS_OK
           ? draw_side(m, ITEMS, m->data.m, none, NULL, control)
           : outcome;
}

/* ---- scales of users and items against each other ---------------------- */

static void move_rows(bmf_model *m, const bmf_side *side, const double *map,
                      int threads) {
  const size_t d = m->data.d, length = part_length(side->rows);
  const int parts = (int)part_count(side->rows);
  const int team = team_for((double)side->rows * (double)(d * d), threads);
  (void)team;
#ifdef _OPENMP
#pragma omp parallel for num_threads(team) schedule(static) if (team > 1)
#endif
  for (int part = 0; part < parts; part++) {
    const size_t first = (size_t)part * length;
    const size_t rest = side->rows - first;
    bmf_move_rows(side->factors + first * d, rest < length ? rest : length, d,
                  map, m->areas + (size_t)thread_number() * bmf_area_size(d));
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
  for (size_t k = 0; k < cutpoint_count(&m->data); k++)
    square += m->state.theta[k] / m->data.cutpoint_sd * m->state.theta[k] /
              m->data.cutpoint_sd;
  return square;
}

static double latent_power(const bmf_model *m) {
  return (double)(m->ordinal.count + cutpoint_count(&m->data));
}

static void scale_cutpoints(bmf_model *m, double x) {
  for (size_t k = 0; k < cutpoint_count(&m->data); k++)
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
  for (int which = USERS; m->data.biases && which <= ITEMS; which++) {
    const bmf_side side = side_of(m, which);
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
static status draw_scales(bmf_model *m, int threads) {
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
  for (int which = USERS; which <= ITEMS; which++) {
    const bmf_side side = side_of(m, which);
    move_rows(m, &side, moves.map[which], threads);
    if (has_features(&side))
      move_coefficients(m, &side, moves.map[which]);
  }
  return STATUS_OK;
}

/* ---- hyperparameters --------------------------------------------------- */

/* log Gamma(x | shape, rate) */
static double log_gamma_density(double x, double shape, double rate) {
  return shape * log(rate) - lgammafn(shape) + (shape - 1.0) * log(x) -
         rate * x;
}

/* Gamma(shape, rate), or its mode (0 where the density falls from there on). */
static double draw_gamma(const bmf_model *m, double shape, double rate) {
  if (m->mode)
    return shape > 1.0 ? (shape - 1.0) / rate : 0.0;
  return rgamma(shape, 1.0 / rate); /* R's second argument is the scale */
}

/* In four independent partial sums. */
static double sum_squares(const double *x, size_t length) {
  double sum[4] = {0.0, 0.0, 0.0, 0.0};
  size_t i = 0;
  for (; i + 4 <= length; i += 4)
    for (size_t lane = 0; lane < 4; lane++)
      sum[lane] += x[i + lane] * x[i + lane];
  for (size_t lane = 0; i < length; i++, lane++)
    sum[lane] += x[i] * x[i];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* lambda_u | u ~ Gamma(a + n d / 2, b + sum_i u_i'u_i / 2), items alike (Rai,
 * CS772A).  Fixed: nothing to draw. */
static void draw_lambda(bmf_model *m, const bmf_side *side) {
  const bmf_prior *prior = &m->data.prior;
  const size_t length = side->rows * m->data.d;
  const double half = 0.5 * (double)length;
  const int drawn = prior->kind == BMF_GAMMA;
  if (!drawn && !m->recording)
    return;
  const double square = sum_squares(side->factors, length);
  if (drawn)
    *side->lambda = draw_gamma(m, prior->shape[side->which] + half,
                               prior->rate[side->which] + 0.5 * square);
  if (!m->recording)
    return;
  m->log_prior +=
    half * (log(*side->lambda) - LOG_2PI) - 0.5 * *side->lambda * square;
  if (drawn)
    m->log_prior += log_gamma_density(*side->lambda, prior->shape[side->which],
                                      prior->rate[side->which]);
}

/* Sums over the rows of a side about the current mean: m->grams (its first one) <-
 * those of bmf_add_gram(). */
static void sum_rows(bmf_model *m, const bmf_side *side, int threads) {
  const size_t d = m->data.d, size = bmf_square_size(d), rows = side->rows;
  const size_t length = part_length(rows);
  const int parts = (int)part_count(rows);
  const double work = row_work(d, (double)rows);
  const int team = parts > 1 ? team_for(work, threads) : 1;
  (void)team;
#ifdef _OPENMP
#pragma omp parallel for num_threads(team) schedule(dynamic) if (team > 1)
#endif
  for (int part = 0; part < parts; part++) {
    const size_t first = (size_t)part * length;
    const size_t count = rows - first < length ? rows - first : length;
    double *gram = m->grams + (size_t)part * size;
    memset(gram, 0, size * sizeof *gram);
    bmf_add_gram(side->factors + first * d, count, d, side->mu, gram,
                 m->areas + (size_t)thread_number() * bmf_area_size(d));
  }
  for (size_t part = 1; part < (size_t)parts; part++)
    for (size_t e = 0; e < size; e++)
      m->grams[e] += m->grams[part * size + e];
}

/* What the hyperparameters of a side are drawn from: the mean of its rows (d), and
 * sum (x - mean)(x - mean)' (d x d, both triangles). */
static void side_moments(bmf_model *m, const bmf_side *side, int threads,
                         double *mean, double *scatter) {
  const size_t d = m->data.d, stride = bmf_stride(d);
  const double count = (double)side->rows;
  sum_rows(m, side, threads);
  for (size_t j = 0; j < d; j++)
    for (size_t i = j; i < d; i++) {
      const double si = m->grams[d + i * stride], sj = m->grams[d + j * stride];
      scatter[i + d * j] = m->grams[i + j * stride] - si * sj / count;
      scatter[j + d * i] = scatter[i + d * j];
    }
  for (size_t j = 0; j < d; j++)
    mean[j] = side->mu[j] + m->grams[d + j * stride] / count;
}

/* (x - y)' Q (x - y) */
static double quadratic(const double *q, size_t d, const double *x,
                        const double *y) {
  double total = 0.0;
  for (size_t j = 0; j < d; j++) {
    double sum = 0.0;
    for (size_t i = 0; i < d; i++)
      sum += q[i + d * j] * (x[i] - y[i]);
    total += sum * (x[j] - y[j]);
  }
  return total;
}

/* tr(A B) of symmetric matrices. */
static double trace_of_product(const double *a, const double *b, size_t d) {
  double sum = 0.0;
  for (size_t e = 0; e < d * d; e++)
    sum += a[e] * b[e];
  return sum;
}

/* log N(rows | mu, Lambda^-1) + log N(mu | mu0, (kappa0 Lambda)^-1) +
 * log W(Lambda | nu0, W0). */
static double log_wishart_side(const bmf_model *m, const bmf_side *side,
                               const double *mean, const double *scatter) {
  const bmf_prior *prior = &m->data.prior;
  const size_t d = m->data.d;
  const double n = (double)side->rows, size = (double)d;
  const double log_det = m->log_det[side->which], nu0 = prior->nu0;
  const double *lambda = side->precision;
  const double rows = 0.5 * n * (log_det - size * LOG_2PI) -
                      0.5 * (trace_of_product(lambda, scatter, d) +
                             n * quadratic(lambda, d, mean, side->mu));
  const double centre =
    0.5 * (size * (log(prior->kappa0) - LOG_2PI) + log_det -
           prior->kappa0 * quadratic(lambda, d, side->mu, prior->mu0));
  double log_constant = 0.5 * nu0 * (size * M_LN2 + prior->w0_log_det) +
                        0.25 * size * (size - 1.0) * log(M_PI);
  for (size_t j = 0; j < d; j++)
    log_constant += lgammafn(0.5 * (nu0 - (double)j));
  const double spread = 0.5 * (nu0 - size - 1.0) * log_det -
                        0.5 * trace_of_product(prior->w0_inverse, lambda, d) -
                        log_constant;
  return rows + centre + spread;
}

/* Lambda ~ W(df, W*) from r = W*^-1 (r <- R, r = R R'; m->matrix[2] <- Bartlett's
 * A, A A' ~ W(df, I)):  Lambda = M M' with M = R^-T A.  The mode: (df - d) W* with
 * mu, whose density has |Lambda|^(1 / 2), and p rows more with p features. */
static status draw_precision(bmf_model *m, const bmf_side *side, double df,
                             double *r) {
  const size_t d = m->data.d;
  double *a = m->matrix[2], *product = m->matrix[3];
  const status outcome = linalg_cholesky(r, d);
  if (outcome != STATUS_OK)
    return outcome;
  if (m->mode) {
    const double p = has_features(side) ? (double)side->features->p : 0.0;
    memset(a, 0, d * d * sizeof *a);
    for (size_t j = 0; j < d; j++)
      a[j + d * j] = sqrt(df - (double)d + p);
  } else {
    rdist_bartlett(df, d, a);
  }
  memcpy(product, a, d * d * sizeof *a);
  for (size_t j = 0; j < d; j++)
    linalg_solve_lower_transposed(r, d, product + d * j);
  linalg_outer_gram(product, d, side->precision);
  m->log_det[side->which] =
    linalg_log_determinant(a, d) - linalg_log_determinant(r, d);
  return STATUS_OK;
}

/* e (d) ~ N(0, Lambda^-1), as R A^-T times normals; the mode: 0. */
static void draw_deviation(const bmf_model *m, const double *r, double *e) {
  const size_t d = m->data.d;
  for (size_t j = 0; j < d; j++)
    e[j] = m->mode ? 0.0 : norm_rand();
  linalg_solve_lower_transposed(m->matrix[2], d, e);
  linalg_lower_times_vector(r, d, e, e);
}

/* Lambda | rows ~ W(nu0 + n, W*), mu | Lambda, rows ~ N(mu*, (kappa* Lambda)^-1):
 *   W*^-1 = W0^-1 + S + kappa0 n / (kappa0 + n) (xbar - mu0)(xbar - mu0)',
 *   kappa* = kappa0 + n,  mu* = (kappa0 mu0 + n xbar) / kappa*,
 * S = sum (x - xbar)(x - xbar)', centred (Salakhutdinov & Mnih 2008, eq. 14).
 * Their joint mode: mu = mu*, Lambda = (nu0 + n - d) W*. */
static status draw_wishart(bmf_model *m, const bmf_side *side, int threads) {
  const bmf_prior *prior = &m->data.prior;
  const size_t d = m->data.d;
  const double n = (double)side->rows, kappa = prior->kappa0 + n;
  double *scatter = m->matrix[0], *r = m->matrix[1];
  double *mean = m->vector[0], *e = m->vector[1];
  side_moments(m, side, threads, mean, scatter);
  for (size_t j = 0; j < d; j++)
    for (size_t i = 0; i < d; i++)
      r[i + d * j] = prior->w0_inverse[i + d * j] + scatter[i + d * j] +
                     prior->kappa0 * n / kappa * (mean[i] - prior->mu0[i]) *
                       (mean[j] - prior->mu0[j]);
  const status outcome = draw_precision(m, side, prior->nu0 + n, r);
  if (outcome != STATUS_OK)
    return outcome;
  draw_deviation(m, r, e);
  for (size_t j = 0; j < d; j++)
    side->mu[j] = (prior->kappa0 * prior->mu0[j] + n * mean[j]) / kappa +
                  e[j] / sqrt(kappa);
  if (m->recording)
    m->log_prior += log_wishart_side(m, side, mean, scatter);
  return STATUS_OK;
}

/* ---- coefficients of features ------------------------------------------ */

/* The rows less B'f_i, in m->shift. */
static bmf_side residual_side(bmf_model *m, const bmf_side *side, int threads) {
  bmf_side rest = *side;
  add_features(m, side, side->factors, side->coefficients, -1.0, threads);
  rest.factors = m->shift;
  return rest;
}

/* The regression of the rows about the current mu and B (bmf_features.h):
 * m->spare[0] <- B~, m->spare[1] <- cross, linear (d), r <- W*^-1.  Returned:
 * kappa*. */
static double reduce_side(bmf_model *m, const bmf_side *side, int threads,
                          double *linear, double *r) {
  const bmf_prior *prior = &m->data.prior;
  const size_t d = m->data.d, stride = bmf_stride(d);
  const bmf_features *f = side->features;
  double *rotated = m->spare[0], *cross = m->spare[1];
  const bmf_side rest = residual_side(m, side, threads);
  sum_rows(m, &rest, threads);
  for (size_t j = 0; j < d; j++)
    for (size_t i = j; i < d; i++) {
      r[i + d * j] = prior->w0_inverse[i + d * j] + m->grams[i + j * stride] +
                     prior->kappa0 * (prior->mu0[i] - side->mu[i]) *
                       (prior->mu0[j] - side->mu[j]);
      r[j + d * i] = r[i + d * j];
    }
  for (size_t j = 0; j < d; j++)
    linear[j] =
      m->grams[d + j * stride] + prior->kappa0 * (prior->mu0[j] - side->mu[j]);
  bmf_features_cross(f, side->rows, rest.factors, side->mu, d, rotated);
  bmf_features_rotate(f, rotated, d, 0, cross);
  bmf_features_rotate(f, side->coefficients, d, 0, rotated);
  return bmf_features_reduce(f, *side->ridge,
                             prior->kappa0 + (double)side->rows, rotated, d,
                             cross, linear, r);
}

/* sum_k b_k' Lambda b_k */
static double sum_of_coefficients(const bmf_model *m, const bmf_side *side) {
  const size_t d = m->data.d;
  double total = 0.0;
  memset(m->vector[1], 0, d * sizeof *m->vector[1]);
  for (size_t k = 0; k < side->features->p; k++)
    total +=
      quadratic(side->precision, d, side->coefficients + d * k, m->vector[1]);
  return total;
}

/* lambda_B | B, Lambda ~ Gamma(shape + p d / 2, rate + sum_k b_k'Lambda b_k / 2),
 * and the log density of B and lambda_B. */
static void draw_ridge(bmf_model *m, const bmf_side *side) {
  const bmf_features *f = side->features;
  const double p = (double)f->p, half = 0.5 * p * (double)m->data.d;
  const double square = sum_of_coefficients(m, side);
  if (draws_ridge(f))
    *side->ridge = draw_gamma(m, f->shape + half, f->rate + 0.5 * square);
  if (!m->recording)
    return;
  m->log_prior += half * (log(*side->ridge) - LOG_2PI) +
                  0.5 * p * m->log_det[side->which] -
                  0.5 * *side->ridge * square;
  if (draws_ridge(f))
    m->log_prior += log_gamma_density(*side->ridge, f->shape, f->rate);
}

/* Lambda, mu and B given the rows and lambda_B, jointly, by bmf_features_reduce();
 * then lambda_B.  Their joint mode: Lambda = (nu0 + n - d + p) W*. */
static status draw_with_features(bmf_model *m, const bmf_side *side,
                                 int threads) {
  const size_t d = m->data.d;
  const bmf_features *f = side->features;
  double *r = m->matrix[1], *linear = m->vector[0], *e = m->vector[1];
  double *rotated = m->spare[0];
  const double kappa = reduce_side(m, side, threads, linear, r);
  const status outcome =
    draw_precision(m, side, m->data.prior.nu0 + (double)side->rows, r);
  if (outcome != STATUS_OK)
    return outcome;
  draw_deviation(m, r, e);
  for (size_t j = 0; j < d; j++) {
    linear[j] = linear[j] / kappa + e[j] / sqrt(kappa);
    side->mu[j] += linear[j];
  }
  for (size_t k = 0; k < f->p; k++) {
    const double weight = f->s[k] + *side->ridge;
    draw_deviation(m, r, e);
    for (size_t j = 0; j < d; j++)
      rotated[j + d * k] +=
        (m->spare[1][j + d * k] - f->g[k] * linear[j]) / weight +
        e[j] / sqrt(weight);
  }
  bmf_features_rotate(f, rotated, d, 1, side->coefficients);
  draw_ridge(m, side);
  if (m->recording) {
    const bmf_side rest = residual_side(m, side, threads);
    side_moments(m, &rest, threads, m->vector[0], m->matrix[0]);
    m->log_prior += log_wishart_side(m, side, m->vector[0], m->matrix[0]);
  }
  return STATUS_OK;
}

static status draw_hyperparameters(bmf_model *m, int which, int threads) {
  const bmf_side side = side_of(m, which);
  if (has_features(&side))
    return draw_with_features(m, &side, threads);
  if (m->data.prior.kind == BMF_WISHART)
    return draw_wishart(m, &side, threads);
  draw_lambda(m, &side);
  return STATUS_OK;
}

/* ---- ordinal ratings --------------------------------------------------- */

/* eta of every rating, by user; they do not depend on the threads. */
static void predict_ratings(bmf_model *m, int threads) {
  const size_t d = m->data.d;
  const bmf_ratings *by = &m->data.users;
  const int n = (int)m->data.n;
  const int team = team_for((double)m->ordinal.count * (double)d, threads);
  (void)team;
#ifdef _OPENMP
#pragma omp parallel for num_threads(team) schedule(static) if (team > 1)
#endif
  for (int i = 0; i < n; i++)
    for (size_t e = (size_t)by->start[i]; e < (size_t)by->start[i + 1]; e++)
      m->ordinal.eta[e] =
        bmf_predictor(m->state.u + (size_t)i * d,
                      m->state.v + (size_t)by->index[e] * d, d, m->data.biases);
}

/* Cutpoints, then the latent values.  What is known of the end of the last sweep is
 * what is computed here otherwise. */
static status draw_latent(bmf_model *m, int threads) {
  bmf_ordinal *o = &m->ordinal;
  if (!o->known)
    predict_ratings(m, threads);
  const status outcome = bmf_ordinal_draw(o, m->state.theta, threads);
  for (size_t e = 0; e < o->count; e++)
    m->latent[e] = o->z[m->data.place[e]];
  o->known = 0;
  return outcome;
}

/* a_i + delta, theta_k + delta: no probability of a rating changes, and the prior
 * of the two is normal in delta.  mu_u goes along with the a_i. */
static void shift_cutpoints(bmf_model *m) {
  const size_t d = m->data.d, last = d - 1;
  const bmf_prior *prior = &m->data.prior;
  const bmf_side side = side_of(m, USERS);
  double precision, linear;
  if (prior->kind == BMF_WISHART) {
    const double *row = side.precision + d * last;
    precision = prior->kappa0 * row[last];
    linear = prior->kappa0 *
             (linalg_inner(row, prior->mu0, d) - linalg_inner(row, side.mu, d));
  } else {
    precision = *side.lambda * (double)side.rows;
    linear = 0.0;
    for (size_t i = 0; i < side.rows; i++)
      linear -= *side.lambda * side.factors[i * d + last];
  }
  const double delta =
    bmf_ordinal_shift(&m->ordinal, m->state.theta, precision, linear);
  for (size_t i = 0; i < side.rows; i++)
    side.factors[i * d + last] += delta;
  if (side.mu)
    side.mu[last] += delta;
}

/* log p(ratings | u, v, theta), the latent values integrated out. */
static void evaluate_ratings(bmf_model *m, int threads) {
  predict_ratings(m, threads);
  m->ordinal.log_lik =
    bmf_ordinal_log_lik(&m->ordinal, m->state.theta, threads);
  m->ordinal.known = 1;
}

/* ---- the precision of the ratings -------------------------------------- */

static double rating_count(const bmf_data *data) {
  return (double)data->users.start[data->n];
}

/* beta | u, v, r ~ Gamma(e + N / 2, f + sum (r_ij - u_i'v_j)^2 / 2), N ratings. */
static void draw_beta(bmf_model *m) {
  const bmf_prior *prior = &m->data.prior;
  double square = 0.0;
  for (size_t j = 0; j < m->data.m; j++)
    square += m->squares[j];
  m->square = square / *m->state.rating_precision;
  if (has_known_precision(&m->data))
    return;
  *m->state.rating_precision =
    draw_gamma(m, prior->shape[2] + 0.5 * rating_count(&m->data),
               prior->rate[2] + 0.5 * m->square);
}

static double log_joint(const bmf_model *m) {
  if (m->data.levels > 0)
    return m->log_prior + m->ordinal.log_lik +
           bmf_ordinal_log_prior(&m->ordinal, m->state.theta);
  const bmf_prior *prior = &m->data.prior;
  const double precision = *m->state.rating_precision;
  double total = m->log_prior +
                 0.5 * rating_count(&m->data) * (log(precision) - LOG_2PI) -
                 0.5 * precision * m->square;
  if (prior->kind != BMF_FIXED)
    total += log_gamma_density(precision, prior->shape[2], prior->rate[2]);
  return total;
}

/* ---- what is recorded -------------------------------------------------- */

double bmf_predictor(const double *u, const double *v, size_t d, int biases) {
  const size_t rank = biases ? d - 1 : d;
  double sum = biases ? u[rank] + v[rank] : 0.0;
  for (size_t k = 0; k < rank; k++)
    sum += u[k] * v[k];
  return sum;
}

double bmf_predictor_single(const float *u, const float *v, size_t d,
                            int biases) {
  const size_t rank = biases ? d - 1 : d;
  double sum = biases ? (double)u[rank] + (double)v[rank] : 0.0;
  for (size_t k = 0; k < rank; k++)
    sum += (double)u[k] * (double)v[k];
  return sum;
}

static double pair_predictor(const bmf_model *m, const bmf_pairs *pairs,
                             size_t p) {
  const size_t d = m->data.d;
  return bmf_predictor(m->state.u + (size_t)pairs->user[p] * d,
                       m->state.v + (size_t)pairs->item[p] * d, d,
                       m->data.biases);
}

/* Welford (1962), doi:10.1080/00401706.1962.10490022 */
void bmf_welford(double value, double count, double *mean, double *m2) {
  const double deviation = value - *mean;
  *mean += deviation / count;
  *m2 += deviation * (value - *mean);
}

static void stream_predictions(bmf_model *m) {
  const bmf_pairs *pairs = &m->data.predict_at;
  const double kept = *m->state.kept;
  *m->state.noise +=
    (1.0 / *m->state.rating_precision - *m->state.noise) / kept;
  for (size_t p = 0; p < pairs->count; p++)
    bmf_welford(pair_predictor(m, pairs, p), kept, m->state.at_mean + p,
                m->state.at_m2 + p);
}

static void store_single(const double *x, size_t length, float *to) {
  for (size_t e = 0; e < length; e++)
    to[e] = (float)x[e];
}

static void store_hyperparameters(const bmf_model *m, double *to) {
  const size_t d = m->data.d;
  *to++ = *m->state.rating_precision;
  if (m->data.prior.kind == BMF_WISHART) {
    memcpy(to, m->state.mu, 2 * d * sizeof *to);
    memcpy(to + 2 * d, m->state.precision, 2 * d * d * sizeof *to);
    to += 2 * d + 2 * d * d;
  } else {
    memcpy(to, m->state.lambda, 2 * sizeof *to);
    to += 2;
  }
  for (int which = USERS; which <= ITEMS; which++) {
    const size_t length = d * m->data.features[which].p;
    if (length == 0)
      continue;
    memcpy(to, m->state.coefficients[which], length * sizeof *to);
    to[length] = *m->state.ridge[which];
    to += length + 1;
  }
  for (size_t k = 0; k < cutpoint_count(&m->data); k++)
    to[k] = m->state.theta[k];
}

/* This draw, where it belongs to the set that is stored. */
static void store_draw(bmf_model *m) {
  const bmf_store *store = &m->store;
  const double kept = *m->state.kept;
  if (store->every <= 0.0 || fmod(kept, store->every) != 0.0)
    return;
  const size_t place = (size_t)(kept / store->every) - 1;
  const size_t users = m->data.n * m->data.d;
  store_single(m->state.u, users, store->factors[place]);
  store_single(m->state.v, m->data.m * m->data.d,
               store->factors[place] + users);
  store_hyperparameters(m, store->hypers[place]);
}

/* beta, then lambda or of each side trace, log determinant, length of the mean. */
static double *record_precisions(const bmf_model *m, double *row,
                                 size_t stride) {
  const size_t d = m->data.d;
  if (!has_known_precision(&m->data)) {
    *row = *m->state.rating_precision;
    row += stride;
  }
  if (m->data.prior.kind == BMF_FIXED)
    return row;
  for (size_t which = 0; which < 2; which++) {
    if (m->data.prior.kind == BMF_GAMMA) {
      *row = m->state.lambda[which];
      row += stride;
      continue;
    }
    double trace = 0.0;
    for (size_t j = 0; j < d; j++)
      trace += m->state.precision[which * d * d + j + d * j];
    row[0] = trace;
    row[stride] = m->log_det[which];
    row[2 * stride] = sqrt(sum_squares(m->state.mu + which * d, d));
    row += 3 * stride;
  }
  for (size_t which = 0; which < 2; which++)
    if (draws_ridge(&m->data.features[which])) {
      *row = *m->state.ridge[which];
      row += stride;
    }
  return row;
}

static double *record_all(const double *x, size_t length, double *row,
                          size_t stride) {
  for (size_t e = 0; e < length; e++, row += stride)
    *row = x[e];
  return row;
}

/* The mean of a rating given the predictor: of an ordinal one
 * scale_K - sum_k (scale_{k+1} - scale_k) Phi(theta_k - eta). */
static double mean_rating(const bmf_model *m, double eta) {
  const double *scale = m->data.scale;
  if (m->data.levels == 0)
    return m->data.center + eta;
  double mean = scale[m->data.levels - 1];
  for (size_t k = 0; k + 1 < m->data.levels; k++)
    mean -= (scale[k + 1] - scale[k]) *
            pnorm(m->state.theta[k] - eta, 0.0, 1.0, 1, 0);
  return mean;
}

/* Root mean squared residual; log likelihood of ordinal ratings. */
static double record_fit(const bmf_model *m) {
  const double ratings = rating_count(&m->data);
  if (m->data.levels > 0)
    return m->ordinal.log_lik;
  return ratings > 0.0 ? sqrt(m->square / ratings) : 0.0;
}

void bmf_record(void *model, double *row, size_t stride) {
  const bmf_model *m = model;
  row = record_all(m->state.theta, cutpoint_count(&m->data), row, stride);
  row = record_precisions(m, row, stride);
  row[0] = record_fit(m);
  row[stride] = log_joint(m);
  row += 2 * stride;
  for (size_t c = 0; c < m->data.cells.count; c++, row += stride)
    *row = mean_rating(m, pair_predictor(m, &m->data.cells, c));
  if (m->data.keep_u)
    row = record_all(m->state.u, m->data.n * m->data.d, row, stride);
  if (m->data.keep_v)
    record_all(m->state.v, m->data.m * m->data.d, row, stride);
}

/* ---- a sweep ----------------------------------------------------------- */

status bmf_sweep(void *model, const scan_control *control) {
  bmf_model *m = model;
  m->recording = control->recording;
  m->log_prior = 0.0;
  status outcome = STATUS_OK;
  if (m->data.levels > 0)
    outcome = draw_latent(m, control->threads);
  if (outcome == STATUS_OK)
    outcome = draw_factors(m, control);
  if (outcome == STATUS_OK && m->data.directions > 0 && !m->mode)
    outcome = draw_scales(m, control->threads);
  if (outcome == STATUS_OK && m->data.levels > 0 && m->data.biases)
    shift_cutpoints(m);
  if (outcome == STATUS_OK)
    outcome = draw_hyperparameters(m, USERS, control->threads);
  if (outcome == STATUS_OK)
    outcome = draw_hyperparameters(m, ITEMS, control->threads);
  if (outcome != STATUS_OK)
    return outcome;
  draw_beta(m);
  if (!isfinite(m->square) || !isfinite(*m->state.rating_precision))
    return STATUS_NOT_FINITE;
  if (m->recording) {
    if (m->data.levels > 0)
      evaluate_ratings(m, control->threads);
    *m->state.kept += 1.0;
    stream_predictions(m);
    store_draw(m);
  }
  return STATUS_OK;
}
