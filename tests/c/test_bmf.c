/* The core of matrix factorisation without R: a row's draw and residuals by every
 * width of vector against plain loops, for the ranks 1 to 201 around the lengths
 * of vectors and blocks and for counts around those of panels; sums over rows;
 * moves of all rows, and what they keep; sweeps of every prior, their segments and
 * what they store; the failures it reports.  That its draws have the right distribution is tested from R. */
#include "bmf/bmf.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "bmf/bmf_scale.h"
#include "harness.h"
#include "numeric/linalg.h"
#include "numeric/rmath.h"

void test_bmf(void);

/* Integers live in memory of doubles, which is aligned for them. */
static int *as_int(double *x) {
  return (int *)(void *)x;
}

static void fill_normals(double *x, size_t length, double scale) {
  for (size_t e = 0; e < length; e++)
    x[e] = scale * norm_rand();
}

/* ---- one row ----------------------------------------------------------- */

/* A regression with memory of exactly the right lengths. */
typedef struct {
  bmf_regression job;
  bmf_ratings ratings;
  double *design, *offset, *prior, *precision, *mu, *start, *index, *value;
} row_fixture;

/* `count` ratings of 7 partners in row 1 of 2; row 0 has two ratings. */
static row_fixture new_row(size_t d, size_t count, int offsets) {
  const size_t partners = 7, stride = bmf_stride(d), all = count + 2;
  row_fixture f = {.design = new_numbers(partners * stride),
                   .offset = new_numbers(partners),
                   .prior = new_numbers(bmf_square_size(d)),
                   .precision = new_numbers(d * d),
                   .mu = new_numbers(d),
                   .start = new_numbers(3),
                   .index = new_numbers(all),
                   .value = new_numbers(all)};
  set_seed(11, (unsigned)(d + 1000 * count));
  f.job.root_beta = 1.3;
  for (size_t j = 0; j < partners; j++)
    for (size_t k = 0; k < d; k++)
      f.design[j * stride + k] = f.job.root_beta * norm_rand();
  fill_normals(f.offset, partners, 1.0);
  fill_normals(f.mu, d, 1.0);
  for (size_t j = 0; j < d; j++)
    for (size_t i = 0; i < d; i++)
      f.precision[i + d * j] = 1.7 * pow(0.4, fabs((double)i - (double)j));
  bmf_set_prior(f.precision, f.mu, d, f.prior);
  for (size_t e = 0; e < all; e++)
    as_int(f.index)[e] = (int)(7.0 * unif_rand());
  fill_normals(f.value, all, 2.0);
  as_int(f.start)[1] = 2;
  as_int(f.start)[2] = (int)all;
  f.job.d = d;
  f.job.stride = stride;
  f.job.panel = bmf_panel_length(d);
  f.job.design = f.design;
  f.job.offset = offsets ? f.offset : NULL;
  f.job.prior = f.prior;
  const bmf_ratings ratings = {
    2, partners, as_int(f.start), as_int(f.index), f.value, NULL};
  f.ratings = ratings;
  return f;
}

static void release_row(row_fixture *f) {
  double *all[] = {f->design, f->offset, f->prior, f->precision,
                   f->mu,     f->start,  f->index, f->value};
  for (size_t i = 0; i < LENGTH(all); i++)
    release_numbers(all[i]);
}

static double response(const row_fixture *f, size_t e) {
  const size_t partner = (size_t)f->ratings.index[e];
  const double offset = f->job.offset ? f->offset[partner] : 0.0;
  return f->job.root_beta * (f->value[e] - offset);
}

/* row (d): normals on entry, the draw on return, by plain loops; returned: the sum
 * of squares. */
static double plain_row(const row_fixture *f, size_t first, size_t last,
                        double *row) {
  const size_t d = f->job.d, stride = f->job.stride;
  double *q = new_numbers(d * d), *b = new_numbers(d), square = 0.0;
  memcpy(q, f->precision, d * d * sizeof *q);
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < d; j++)
      b[i] += f->precision[i + d * j] * f->mu[j];
  for (size_t e = first; e < last; e++) {
    const double *x = f->design + (size_t)f->ratings.index[e] * stride;
    for (size_t j = 0; j < d; j++) {
      b[j] += x[j] * response(f, e);
      for (size_t i = 0; i < d; i++)
        q[i + d * j] += x[i] * x[j];
    }
  }
  EXPECT(linalg_draw_canonical(q, b, row, d) == STATUS_OK);
  memcpy(row, b, d * sizeof *row);
  for (size_t e = first; e < last; e++) {
    const double *x = f->design + (size_t)f->ratings.index[e] * stride;
    double residual = response(f, e);
    for (size_t j = 0; j < d; j++)
      residual -= x[j] * row[j];
    square += residual * residual;
  }
  release_numbers(q);
  release_numbers(b);
  return square;
}

static void check_row(size_t d, size_t count, int offsets) {
  row_fixture f = new_row(d, count, offsets);
  double *area = new_numbers(bmf_area_size(d));
  double *row = new_numbers(d), *expected = new_numbers(d);
  for (int width = LANES_NARROW; width <= LANES_WIDEST; width *= 2) {
    if (!lanes_has((lanes_width)width, 1))
      continue;
    double square = -1.0;
    set_seed(21, 22);
    fill_normals(row, d, 1.0);
    memcpy(expected, row, d * sizeof *row);
    EXPECT(bmf_draw_row_with((lanes_width)width, &f.job, &f.ratings, 1, row,
                             &square, area) == STATUS_OK);
    EXPECT_NEAR(square, plain_row(&f, 2, 2 + count, expected), 1e-10);
    for (size_t k = 0; k < d; k++)
      EXPECT_NEAR(row[k], expected[k], 1e-10);
  }
  release_numbers(row);
  release_numbers(expected);
  release_numbers(area);
  release_row(&f);
}

static const size_t long_ranks[] = {47,  48,  49,  63,  64,  65,  95,  100,
                                    101, 127, 128, 129, 150, 199, 200, 201};

static void test_rows_of_every_rank(void) {
  static const size_t counts[] = {0, 1, 2, 3, 5, 8, 21};
  for (size_t d = 1; d <= 41; d++)
    for (size_t c = 0; c < LENGTH(counts); c++)
      check_row(d, counts[c], d % 2 == 0);
  for (size_t r = 0; r < LENGTH(long_ranks); r++)
    for (size_t c = 0; c < LENGTH(counts); c += 3)
      check_row(long_ranks[r], counts[c], 0);
}

static void test_rows_longer_than_a_panel(void) {
  static const size_t ranks[] = {1, 7, 12, 33, 100};
  for (size_t r = 0; r < LENGTH(ranks); r++) {
    const size_t length = bmf_panel_length(ranks[r]);
    check_row(ranks[r], length - 1, 0);
    check_row(ranks[r], length, 1);
    check_row(ranks[r], length + 1, 0);
    check_row(ranks[r], 2 * length + 3, 1);
  }
}

static void test_rows_report_failure(void) {
  static const double wrong[] = {-1e9, 0.0, NAN, INFINITY};
  static const size_t ranks[] = {1, 4, 6, 13};
  for (size_t r = 0; r < LENGTH(ranks); r++)
    for (size_t w = 0; w < LENGTH(wrong); w++) {
      const size_t d = ranks[r];
      row_fixture f = new_row(d, 0, 0);
      double *area = new_numbers(bmf_area_size(d)), *row = new_numbers(d);
      f.prior[(d - 1) * (f.job.stride + 1)] = wrong[w];
      if (d > 1 && wrong[w] == 0.0)
        f.prior[(d - 2) * f.job.stride + d - 1] = 1.0;
      EXPECT(bmf_draw_row(&f.job, &f.ratings, 1, row, NULL, area) ==
             STATUS_NOT_POSITIVE_DEFINITE);
      release_numbers(row);
      release_numbers(area);
      release_row(&f);
    }
}

/* ---- sums over rows ---------------------------------------------------- */

static void check_gram(size_t d, size_t count) {
  const size_t stride = bmf_stride(d);
  double *x = new_numbers(d * count), *centre = new_numbers(d);
  double *gram = new_numbers(bmf_square_size(d));
  double *area = new_numbers(bmf_area_size(d));
  set_seed(31, (unsigned)(d + count));
  fill_normals(x, d * count, 1.0);
  fill_normals(centre, d, 1.0);
  bmf_add_gram(x, count, d, centre, gram, area);
  for (size_t j = 0; j < d; j++)
    for (size_t i = j; i <= d; i++) {
      double sum = 0.0;
      for (size_t r = 0; r < count; r++) {
        const double left = i < d ? x[i + d * r] - centre[i] : 1.0;
        sum += left * (x[j + d * r] - centre[j]);
      }
      EXPECT_NEAR(gram[i + j * stride], sum, 1e-11);
    }
  release_numbers(x);
  release_numbers(centre);
  release_numbers(gram);
  release_numbers(area);
}

static void test_sums_over_rows(void) {
  for (size_t d = 1; d <= 21; d++) {
    check_gram(d, 1);
    check_gram(d, 6);
    check_gram(d, bmf_panel_length(d) + 1);
  }
  check_gram(101, 90);
  check_gram(200, 3);
}

/* ---- moves of all rows ------------------------------------------------- */

static void check_move(lanes_width width, size_t d, size_t count) {
  const size_t stride = bmf_stride(d);
  double *x = new_numbers(d * count), *before = new_numbers(d * count);
  double *map = new_numbers(stride * (d + 1));
  double *area = new_numbers(bmf_area_size(d));
  set_seed(32, (unsigned)(d + count));
  fill_normals(x, d * count, 1.0);
  memcpy(before, x, d * count * sizeof *x);
  for (size_t k = 0; k <= d; k++)
    fill_normals(map + stride * k, d, 1.0);
  bmf_move_rows_with(width, x, count, d, map, area);
  for (size_t r = 0; r < count; r++)
    for (size_t i = 0; i < d; i++) {
      double sum = map[i + stride * d];
      for (size_t k = 0; k < d; k++)
        sum += map[i + stride * k] * before[k + d * r];
      EXPECT_NEAR(x[i + d * r], sum, 1e-12);
    }
  release_numbers(x);
  release_numbers(before);
  release_numbers(map);
  release_numbers(area);
}

static void test_moves_of_rows(void) {
  for (int width = LANES_NARROW; width <= LANES_WIDEST; width *= 2) {
    if (!lanes_has((lanes_width)width, 1))
      continue;
    for (size_t d = 1; d <= 21; d++)
      for (size_t count = 1; count <= 9; count++)
        check_move((lanes_width)width, d, count);
    check_move((lanes_width)width, 101, 6);
    check_move((lanes_width)width, 200, 3);
  }
}

/* Rows, precisions and means of both sides, d = 3 with or without intercepts, as
 * bmf_scale.h wants them. */
typedef struct {
  bmf_moves moves;
  double *map[2], *vectors, *hyper, *prior, *u, *v, *area;
} scale_fixture;

enum { SCALED = 3 };

static scale_fixture new_scales(int biases) {
  const size_t d = SCALED, stride = bmf_stride(d);
  scale_fixture f = {
    .map = {new_numbers(stride * (d + 1)), new_numbers(stride * (d + 1))},
    .vectors = new_numbers(4 * d),
    .hyper = new_numbers(2 * d + 2 * d * d),
    .prior = new_numbers(d + d * d),
    .u = new_numbers(d * 5),
    .v = new_numbers(d * 2),
    .area = new_numbers(bmf_area_size(d))};
  const bmf_moves moves = {.d = d,
                           .rank = biases ? d - 1 : d,
                           .stride = stride,
                           .map = {f.map[0], f.map[1]},
                           .direction = f.vectors,
                           .work = f.vectors + d};
  f.moves = moves;
  set_seed(33, 34);
  fill_normals(f.u, d * 5, 1.0);
  fill_normals(f.v, d * 2, 1.0);
  fill_normals(f.hyper, 2 * d, 1.0);
  fill_normals(f.prior, d, 1.0);
  for (size_t j = 0; j < d; j++)
    for (size_t i = 0; i < d; i++) {
      f.hyper[2 * d + i + d * j] = pow(0.4, fabs((double)i - (double)j));
      f.hyper[2 * d + d * d + i + d * j] = i == j ? 1.0 + (double)i : 0.2;
      f.prior[d + i + d * j] = i == j ? 2.0 : -0.3;
    }
  bmf_moves_begin(&f.moves);
  return f;
}

static void release_scales(scale_fixture *f) {
  double *all[] = {f->map[0], f->map[1], f->vectors, f->hyper,
                   f->prior,  f->u,      f->v,       f->area};
  for (size_t i = 0; i < LENGTH(all); i++)
    release_numbers(all[i]);
}

/* (x - mu)'Lambda (x - mu) */
static double distance(const double *x, const double *mu,
                       const double *precision) {
  double sum = 0.0;
  for (size_t j = 0; j < SCALED; j++)
    for (size_t i = 0; i < SCALED; i++)
      sum += (x[i] - mu[i]) * precision[i + SCALED * j] * (x[j] - mu[j]);
  return sum;
}

/* What no move may change: predictors, and distances of rows from their means. */
static size_t invariants(const scale_fixture *f, int biases, double *value) {
  size_t count = 0;
  const double *mu = f->hyper, *precision = f->hyper + 2 * SCALED;
  for (size_t i = 0; i < 5; i++) {
    const double *u = f->u + SCALED * i;
    for (size_t j = 0; j < 2; j++)
      value[count++] = bmf_predictor(u, f->v + SCALED * j, SCALED, biases);
    value[count++] = distance(u, mu, precision);
  }
  for (size_t j = 0; j < 2; j++)
    value[count++] =
      distance(f->v + SCALED * j, mu + SCALED, precision + SCALED * SCALED);
  return count;
}

static void test_moves_keep_predictors(void) {
  const size_t d = SCALED;
  for (int biases = 0; biases < 2; biases++) {
    scale_fixture f = new_scales(biases);
    double before[17], after[17];
    const size_t count = invariants(&f, biases, before);
    const bmf_wishart_sides sides = {f.prior, f.prior + d, 1.7, f.hyper,
                                     f.hyper + 2 * d};
    const double old = f.u[0];
    for (int move = 0; move < 5; move++)
      EXPECT(bmf_scale_wishart(&f.moves, &sides) == STATUS_OK);
    if (biases)
      bmf_shift_wishart(&f.moves, &sides);
    bmf_move_rows(f.u, 5, d, f.map[0], f.area);
    bmf_move_rows(f.v, 2, d, f.map[1], f.area);
    EXPECT(invariants(&f, biases, after) == count && count == LENGTH(after));
    EXPECT(fabs(f.u[0] - old) > 1e-3);
    for (size_t e = 0; e < count; e++)
      EXPECT_NEAR(after[e], before[e], 1e-12);
    release_scales(&f);
  }
}

/* c and lambdas move together; intercepts by a constant. */
static void test_moves_of_lambda(void) {
  static const double shape[] = {2.0, 3.0}, rate[] = {1.0, 1.5};
  scale_fixture f = new_scales(1);
  double lambda[] = {1.3, 0.8};
  const bmf_isotropic_sides sides = {.count = {5.0, 2.0},
                                     .lambda = lambda,
                                     .sum = {1.0, -0.4},
                                     .square = {3.0, 1.1},
                                     .shape = shape,
                                     .rate = rate};
  const size_t last = f.moves.stride * SCALED + SCALED - 1;
  EXPECT(bmf_scale_lambda(&f.moves, &sides) == STATUS_OK);
  const double c = f.map[0][0];
  EXPECT(fabs(c - 1.0) > 1e-3);
  EXPECT_NEAR(f.map[1][0], 1.0 / c, 1e-14);
  EXPECT_NEAR(lambda[0], 1.3 / (c * c), 1e-14);
  EXPECT_NEAR(lambda[1], 0.8 * c * c, 1e-14);
  EXPECT(f.map[0][last - f.moves.stride] == 1.0);
  bmf_shift_isotropic(&f.moves, &sides);
  EXPECT(f.map[0][last] == -f.map[1][last] && f.map[0][last] != 0.0);
  lambda[0] = NAN;
  EXPECT(bmf_scale_lambda(&f.moves, &sides) == STATUS_NOT_FINITE);
  release_scales(&f);
}

/* ---- sweeps ------------------------------------------------------------ */

enum { USERS = 9, ITEMS = 6, PAIRS = 3 };

typedef struct {
  bmf_data data;
  bmf_state state;
  draw_store store;
  double *start[2], *index[2], *value[2], *order[2];
  double *shape, *rate, *mu0, *w0_inverse, *pairs;
  double sweep;
} fixture;

/* Users rate items where (3 i + 5 j) mod 4 > 0; user 4 and item 2 are not rated. */
static int is_rated(size_t i, size_t j) {
  return i != 4 && j != 2 && (3 * i + 5 * j) % 4 > 0;
}

static double rating(size_t i, size_t j) {
  return sin((double)(7 * i + 3 * j)) + (double)(i % 3) - 1.0;
}

static void compress(fixture *f, int side) {
  const size_t rows = side == 0 ? USERS : ITEMS;
  const size_t others = side == 0 ? ITEMS : USERS;
  f->start[side] = new_numbers(rows + 1);
  f->index[side] = new_numbers(rows * others);
  f->value[side] = new_numbers(rows * others);
  f->order[side] = new_numbers(rows);
  size_t count = 0;
  for (size_t r = 0; r < rows; r++) {
    as_int(f->order[side])[r] = (int)(rows - 1 - r);
    for (size_t o = 0; o < others; o++)
      if (side == 0 ? is_rated(r, o) : is_rated(o, r)) {
        as_int(f->index[side])[count] = (int)o;
        f->value[side][count++] = side == 0 ? rating(r, o) : rating(o, r);
      }
    as_int(f->start[side])[r + 1] = (int)count;
  }
  const bmf_ratings ratings = {rows,
                               others,
                               as_int(f->start[side]),
                               as_int(f->index[side]),
                               f->value[side],
                               as_int(f->order[side])};
  *(side == 0 ? &f->data.users : &f->data.items) = ratings;
}

static void set_prior(fixture *f, bmf_kind kind, size_t d) {
  f->shape = new_numbers(3);
  f->rate = new_numbers(3);
  f->mu0 = new_numbers(d);
  f->w0_inverse = new_numbers(d * d);
  for (size_t e = 0; e < 3; e++) {
    f->shape[e] = 2.0 + (double)e;
    f->rate[e] = 1.5 + (double)e;
  }
  for (size_t j = 0; j < d; j++)
    f->w0_inverse[j + d * j] = 2.0;
  const bmf_prior prior = {
    kind,          f->shape, f->rate,         f->mu0,
    f->w0_inverse, 1.5,      (double)d + 2.0, -(double)d * log(2.0)};
  f->data.prior = prior;
}

static void set_state(fixture *f) {
  const size_t d = f->data.d;
  const int wishart = f->data.prior.kind == BMF_WISHART;
  f->state.u = new_numbers(d * USERS);
  f->state.v = new_numbers(d * ITEMS);
  f->state.rating_precision = new_numbers(1);
  f->state.lambda = new_numbers(wishart ? 0 : 2);
  f->state.mu = new_numbers(wishart ? 2 * d : 0);
  f->state.precision = new_numbers(wishart ? 2 * d * d : 0);
  f->state.kept = new_numbers(1);
  f->state.noise = new_numbers(1);
  f->state.at_mean = new_numbers(PAIRS);
  f->state.at_m2 = new_numbers(PAIRS);
  fill_normals(f->state.v, d * ITEMS, 0.7);
  *f->state.rating_precision = 1.2;
  for (size_t e = 0; !wishart && e < 2; e++)
    f->state.lambda[e] = 1.4;
  for (size_t e = 0; wishart && e < 2 * d; e++)
    f->state.precision[e / d * d * d + e % d * (d + 1)] = 1.4;
}

static fixture new_fixture(bmf_kind kind, size_t d, int biases) {
  fixture f = {
    .data = {
      .n = USERS, .m = ITEMS, .d = d, .biases = biases, .directions = 3}};
  set_seed(51, 52);
  f.data.center = 0.25;
  compress(&f, 0);
  compress(&f, 1);
  set_prior(&f, kind, d);
  f.pairs = new_numbers(2 * PAIRS);
  int *user = as_int(f.pairs), *item = as_int(f.pairs + PAIRS);
  for (int p = 0; p < PAIRS; p++) {
    user[p] = 4 * p;
    item[p] = 5 - 2 * p;
  }
  const bmf_pairs pairs = {PAIRS, user, item};
  f.data.cells = pairs;
  f.data.predict_at = pairs;
  f.data.keep_u = f.data.keep_v = 1;
  set_state(&f);
  return f;
}

static void release_fixture(fixture *f) {
  double *all[] = {f->shape,
                   f->rate,
                   f->mu0,
                   f->w0_inverse,
                   f->pairs,
                   f->state.u,
                   f->state.v,
                   f->state.rating_precision,
                   f->state.lambda,
                   f->state.mu,
                   f->state.precision,
                   f->state.kept,
                   f->state.noise,
                   f->state.at_mean,
                   f->state.at_m2};
  for (size_t i = 0; i < LENGTH(all); i++)
    release_numbers(all[i]);
  for (int side = 0; side < 2; side++) {
    release_numbers(f->start[side]);
    release_numbers(f->index[side]);
    release_numbers(f->value[side]);
    release_numbers(f->order[side]);
  }
}

static status run_segment(fixture *f, size_t sweeps, int mode,
                          const scan_control *control, double *draws) {
  bmf_model model;
  double *work = new_bytes(bmf_work_size(&f->data, control->threads));
  bmf_open(&model, &f->data, &f->state, work, control->threads);
  model.mode = mode;
  model.store = f->store;
  const scan_model scan = {&model, bmf_sweep, bmf_record};
  const size_t rows = scan_rows(f->sweep, sweeps, control);
  const status outcome =
    scan_sweeps(&scan, control, sweeps, &f->sweep, draws, rows);
  release_numbers(work);
  return outcome;
}

static const bmf_kind kinds[] = {BMF_FIXED, BMF_GAMMA, BMF_WISHART};

static void test_segments_and_threads(void) {
  const scan_control one = {.thin = 1.0, .threads = 1};
  const scan_control three = {.thin = 1.0, .threads = 3};
  for (size_t k = 0; k < LENGTH(kinds); k++)
    for (size_t d = 2; d <= 14; d += 3) {
      fixture whole = new_fixture(kinds[k], d, d % 2 == 1);
      fixture cut = new_fixture(kinds[k], d, d % 2 == 1);
      const size_t columns = bmf_columns(&whole.data);
      double *all = new_numbers(4 * columns), *part = new_numbers(columns);
      set_seed(61, 62);
      EXPECT(run_segment(&whole, 4, 0, &one, all) == STATUS_OK);
      EXPECT(all_finite(all, 4 * columns));
      set_seed(61, 62);
      for (size_t s = 0; s < 4; s++) {
        EXPECT(run_segment(&cut, 1, 0, &three, part) == STATUS_OK);
        for (size_t c = 0; c < columns; c++)
          EXPECT(same_bits(all + s + 4 * c, part + c, 1));
      }
      EXPECT(same_bits(whole.state.u, cut.state.u, d * USERS));
      EXPECT(same_bits(whole.state.at_m2, cut.state.at_m2, PAIRS));
      release_numbers(all);
      release_numbers(part);
      release_fixture(&whole);
      release_fixture(&cut);
    }
}

/* What is recorded of the ratings: root mean square error and cells. */
static void test_record(void) {
  const scan_control control = {.thin = 1.0, .threads = 1};
  for (int biases = 0; biases < 2; biases++) {
    fixture f = new_fixture(BMF_GAMMA, 4, biases);
    double *row = new_numbers(bmf_columns(&f.data)), square = 0.0;
    size_t count = 0;
    set_seed(71, 72);
    EXPECT(run_segment(&f, 1, 0, &control, row) == STATUS_OK);
    for (size_t i = 0; i < USERS; i++)
      for (size_t j = 0; j < ITEMS; j++)
        if (is_rated(i, j)) {
          const double residual =
            rating(i, j) -
            bmf_predictor(f.state.u + 4 * i, f.state.v + 4 * j, 4, biases);
          square += residual * residual;
          count++;
        }
    EXPECT_NEAR(row[3], sqrt(square / (double)count), 1e-12);
    for (size_t p = 0; p < PAIRS; p++) {
      const size_t user = (size_t)f.data.cells.user[p];
      const size_t item = (size_t)f.data.cells.item[p];
      const double mean =
        bmf_predictor(f.state.u + 4 * user, f.state.v + 4 * item, 4, biases);
      EXPECT_NEAR(row[5 + p], 0.25 + mean, 1e-14);
      EXPECT_NEAR(f.state.at_mean[p], mean, 1e-14);
    }
    EXPECT(same_bits(row + 5 + PAIRS, f.state.u, 4 * USERS));
    release_numbers(row);
    release_fixture(&f);
  }
}

/* Mean and sum of squared deviations, one value after another. */
static void test_running_moments(void) {
  static const double x[] = {3.0, -1.0, 2.5, 8.0, 2.0};
  double mean = 0.0, m2 = 0.0, square = 0.0;
  for (size_t i = 0; i < LENGTH(x); i++)
    bmf_welford(x + i, 1, (double)i + 1.0, &mean, &m2);
  EXPECT_NEAR(mean, mean_of(x, LENGTH(x)), 1e-14);
  for (size_t i = 0; i < LENGTH(x); i++)
    square += (x[i] - mean) * (x[i] - mean);
  EXPECT_NEAR(m2, square, 1e-13);
}

/* Conditional modes only raise the log joint density. */
static void test_modes_climb(void) {
  const scan_control control = {.thin = 1.0, .threads = 1};
  for (size_t k = 0; k < LENGTH(kinds); k++) {
    fixture f = new_fixture(kinds[k], 3, 1);
    const size_t columns = bmf_columns(&f.data);
    const size_t at = kinds[k] == BMF_FIXED ? 1 : kinds[k] == BMF_GAMMA ? 4 : 8;
    double *row = new_numbers(columns), before = -INFINITY;
    for (int sweep = 0; sweep < 50; sweep++) {
      EXPECT(run_segment(&f, 1, 1, &control, row) == STATUS_OK);
      EXPECT(row[at] >= before - 1e-9);
      before = row[at];
    }
    release_numbers(row);
    release_fixture(&f);
  }
}

/* ---- stored draws ------------------------------------------------------ */

static void test_stored_draws(void) {
  EXPECT(store_every(0.0, 5) == 1.0);
  EXPECT(store_every(5.0, 5) == 1.0);
  EXPECT(store_every(6.0, 5) == 2.0);
  EXPECT(store_every(11.0, 5) == 2.0);
  EXPECT(store_every(12.0, 5) == 4.0);
  EXPECT(store_every(1e9, 1) == 536870912.0);
  const scan_control control = {.thin = 1.0, .threads = 1};
  fixture f = new_fixture(BMF_WISHART, 3, 0);
  const size_t length = 3 * (USERS + ITEMS), hypers = bmf_hyper_size(&f.data);
  const size_t columns = bmf_columns(&f.data);
  double *memory = new_numbers(length), *hyper = new_numbers(hypers);
  double *draws = new_numbers(4 * columns);
  float *places[] = {NULL, (float *)(void *)memory};
  double *numbers[] = {NULL, hyper};
  *f.state.kept = 2.0; /* number 2 is stored already, 4 will be */
  f.store.every = 2.0;
  f.store.factors = places;
  f.store.hypers = numbers;
  EXPECT(run_segment(&f, 3, 0, &control, draws) == STATUS_OK);
  const size_t first = columns - length;
  for (size_t e = 0; e < length; e++)
    EXPECT(places[1][e] == (float)draws[1 + 3 * (first + e)]);
  EXPECT(same_bits(hyper, draws + 1, 1));
  const float *u = places[1], *v = places[1] + 3 * USERS;
  const int one = 1;
  const bmf_codes pair = {&one, &one, 1};
  double value[2];
  for (int biases = 0; biases < 2; biases++) {
    const bmf_data sizes = {.n = USERS, .d = 3, .biases = biases};
    bmf_values_single(&sizes, u, &pair, 0.5, value + biases, 1);
  }
  EXPECT_NEAR(value[0] - 0.5,
              (double)u[0] * (double)v[0] + (double)u[1] * (double)v[1] +
                (double)u[2] * (double)v[2],
              1e-15);
  EXPECT_NEAR(value[1] - 0.5,
              (double)u[0] * (double)v[0] + (double)u[1] * (double)v[1] +
                (double)u[2] + (double)v[2],
              1e-15);
  release_numbers(memory);
  release_numbers(hyper);
  release_numbers(draws);
  release_fixture(&f);
}

/* ---- failures ---------------------------------------------------------- */

static int always(void *calls) {
  return ++*(int *)calls > 0;
}

static void test_failures(void) {
  int calls = 0;
  const scan_control control = {.thin = 1.0, .threads = 1};
  const scan_control stopped = {
    .thin = 1.0, .threads = 1, .stop = always, .stop_data = &calls};
  fixture f = new_fixture(BMF_GAMMA, 3, 0);
  double *row = new_numbers(bmf_columns(&f.data));
  EXPECT(run_segment(&f, 1, 0, &stopped, row) == STATUS_INTERRUPTED);
  EXPECT(calls == 1 && f.sweep == 0.0);
  f.state.lambda[0] = -1e9;
  EXPECT(run_segment(&f, 1, 0, &control, row) == STATUS_NOT_POSITIVE_DEFINITE);
  f.state.lambda[0] = 1.0;
  f.value[0][0] = f.value[1][0] = NAN;
  EXPECT(run_segment(&f, 1, 0, &control, row) != STATUS_OK);
  bmf_data huge = f.data;
  huge.n = SIZE_MAX / 64;
  EXPECT(bmf_work_size(&huge, 1) == 0);
  release_numbers(row);
  release_fixture(&f);
}

void test_bmf(void) {
  run_test("bmf: a row of every rank", test_rows_of_every_rank);
  run_test("bmf: rows longer than a panel", test_rows_longer_than_a_panel);
  run_test("bmf: a row reports failure", test_rows_report_failure);
  run_test("bmf: sums over rows", test_sums_over_rows);
  run_test("bmf: moves of rows", test_moves_of_rows);
  run_test("bmf: moves keep predictors", test_moves_keep_predictors);
  run_test("bmf: moves of lambda", test_moves_of_lambda);
  run_test("bmf: segments and threads", test_segments_and_threads);
  run_test("bmf: what is recorded", test_record);
  run_test("bmf: running moments", test_running_moments);
  run_test("bmf: conditional modes climb", test_modes_climb);
  run_test("bmf: stored draws", test_stored_draws);
  run_test("bmf: failures", test_failures);
}
