/* Matrix factorisation leaves its posterior as it is.  Parameters drawn from the
 * prior and ratings drawn given them are a draw of both; after sweeps given these
 * ratings they still are, so that no mean has changed.  Each draw starts anew.
 * What is fused in the products of a row is compared with fma(). */
#include "bmf/bmf.h"

#include <math.h>
#include <string.h>

#include "bmf/bmf_scale.h"
#include "harness.h"
#include "numeric/lanes.h"
#include "numeric/linalg.h"
#include "numeric/rdist.h"
#include "numeric/rmath.h"

void test_bmf_exact(void);

enum { USERS = 5, ITEMS = 4, MOST = 3, CELLS = USERS * ITEMS };

/* ---- a model and its memory ---------------------------------------------- */

typedef struct {
  bmf_data data;
  bmf_state state;
  double u[USERS * MOST], v[ITEMS * MOST], beta, lambda[2], mu[2 * MOST];
  double precision[2 * MOST * MOST], kept, noise;
  double shape[3], rate[3], mu0[MOST], w0_factor[MOST * MOST];
  double w0_inverse[MOST * MOST];
  int start[2][USERS + 1], index[2][CELLS], order[2][USERS];
  double value[2][CELLS];
} fixture;

/* Item 2 is rated by user 4 alone, user 1 rates nothing. */
static int is_rated(size_t i, size_t j) {
  return i != 1 && (j != 2 || i == 4) && (i + 2 * j) % 5 != 0;
}

static void set_prior(fixture *f, bmf_kind kind, size_t d) {
  for (size_t e = 0; e < 3; e++) {
    f->shape[e] = 6.0 + (double)e;
    f->rate[e] = 5.0 - (double)e;
  }
  for (size_t j = 0; j < d; j++) {
    f->mu0[j] = 0.3 - 0.5 * (double)j;
    for (size_t i = j; i < d; i++)
      f->w0_factor[i + d * j] = i == j ? 0.3 + 0.1 * (double)j : 0.1;
  }
  linalg_inverse_from_cholesky(f->w0_factor, d, f->w0_inverse);
  f->data.prior = (bmf_prior){kind,
                              f->shape,
                              f->rate,
                              f->mu0,
                              f->w0_inverse,
                              1.5,
                              (double)d + 9.0,
                              linalg_log_determinant(f->w0_factor, d)};
  f->lambda[0] = 1.4;
  f->lambda[1] = 0.8;
  f->beta = 1.2;
}

static void compress(fixture *f, size_t side) {
  const size_t rows = side == 0 ? USERS : ITEMS;
  const size_t others = side == 0 ? ITEMS : USERS;
  int count = 0;
  for (size_t r = 0; r < rows; r++) {
    f->order[side][r] = (int)(rows - 1 - r);
    for (size_t o = 0; o < others; o++)
      if (side == 0 ? is_rated(r, o) : is_rated(o, r))
        f->index[side][count++] = (int)o;
    f->start[side][r + 1] = count;
  }
  *(side == 0 ? &f->data.users : &f->data.items) =
    (bmf_ratings){rows,           others,         f->start[side],
                  f->index[side], f->value[side], f->order[side]};
}

static void open_fixture(fixture *f, bmf_kind kind, size_t d, int biases) {
  memset(f, 0, sizeof *f);
  f->data.n = USERS;
  f->data.m = ITEMS;
  f->data.d = d;
  f->data.biases = biases;
  f->data.directions = 2;
  set_prior(f, kind, d);
  compress(f, 0);
  compress(f, 1);
  f->state = (bmf_state){.u = f->u,
                         .v = f->v,
                         .rating_precision = &f->beta,
                         .lambda = f->lambda,
                         .mu = f->mu,
                         .precision = f->precision,
                         .kept = &f->kept,
                         .noise = &f->noise};
}

/* ---- drawing all of it --------------------------------------------------- */

/* x ~ N(mu, Q^-1), Q = L L' */
static void draw_vector(const double *mu, const double *l, size_t d,
                        double *x) {
  for (size_t k = 0; k < d; k++)
    x[k] = norm_rand();
  linalg_solve_lower_transposed(l, d, x);
  for (size_t k = 0; k < d; k++)
    x[k] += mu[k];
}

/* Lambda ~ W(nu0, W0), mu ~ N(mu0, (kappa0 Lambda)^-1), rows ~ N(mu, Lambda^-1) */
static void draw_wishart_side(fixture *f, size_t side) {
  const size_t d = f->data.d, rows = side == 0 ? USERS : ITEMS;
  double *lambda = f->precision + side * d * d, *mu = f->mu + side * d;
  double l[MOST * MOST], root[MOST * MOST], work[MOST * MOST];
  rdist_wishart(f->data.prior.nu0, f->w0_factor, d, lambda, work);
  memcpy(l, lambda, d * d * sizeof *l);
  EXPECT(linalg_cholesky(l, d) == STATUS_OK);
  for (size_t e = 0; e < d * d; e++)
    root[e] = sqrt(f->data.prior.kappa0) * l[e];
  draw_vector(f->mu0, root, d, mu);
  for (size_t r = 0; r < rows; r++)
    draw_vector(mu, l, d, (side == 0 ? f->u : f->v) + r * d);
}

static void draw_isotropic_side(fixture *f, size_t side) {
  const size_t d = f->data.d, rows = side == 0 ? USERS : ITEMS;
  double *x = side == 0 ? f->u : f->v;
  if (f->data.prior.kind == BMF_GAMMA)
    f->lambda[side] = rgamma(f->shape[side], 1.0 / f->rate[side]);
  for (size_t e = 0; e < rows * d; e++)
    x[e] = norm_rand() / sqrt(f->lambda[side]);
}

static void draw_ratings(fixture *f) {
  const size_t d = f->data.d;
  double table[USERS][ITEMS];
  for (size_t i = 0; i < USERS; i++)
    for (size_t j = 0; j < ITEMS; j++)
      table[i][j] =
        bmf_predictor(f->u + d * i, f->v + d * j, d, f->data.biases) +
        norm_rand() / sqrt(f->beta);
  for (size_t i = 0; i < USERS; i++)
    for (int e = f->start[0][i]; e < f->start[0][i + 1]; e++)
      f->value[0][e] = table[i][f->index[0][e]];
  for (size_t j = 0; j < ITEMS; j++)
    for (int e = f->start[1][j]; e < f->start[1][j + 1]; e++)
      f->value[1][e] = table[f->index[1][e]][j];
}

static void draw_all(fixture *f) {
  if (f->data.prior.kind != BMF_FIXED)
    f->beta = rgamma(f->shape[2], 1.0 / f->rate[2]);
  for (size_t side = 0; side < 2; side++)
    if (f->data.prior.kind == BMF_WISHART)
      draw_wishart_side(f, side);
    else
      draw_isotropic_side(f, side);
  draw_ratings(f);
}

/* ---- what is looked at --------------------------------------------------- */

static double sum_of_squares(const double *x, size_t n) {
  double sum = 0.0;
  for (size_t e = 0; e < n; e++)
    sum += x[e] * x[e];
  return sum;
}

/* sum (r_ij - u_i'v_j)^2 */
static double residuals(const fixture *f) {
  const size_t d = f->data.d;
  double sum = 0.0;
  for (size_t i = 0; i < USERS; i++)
    for (int e = f->start[0][i]; e < f->start[0][i + 1]; e++) {
      const double *v = f->v + d * (size_t)f->index[0][e];
      const double rest =
        f->value[0][e] - bmf_predictor(f->u + d * i, v, d, f->data.biases);
      sum += rest * rest;
    }
  return sum;
}

static size_t rows_statistics(const fixture *f, double *out) {
  const size_t d = f->data.d, last = d - 1;
  const double u = sum_of_squares(f->u, USERS * d);
  const double v = sum_of_squares(f->v, ITEMS * d);
  size_t count = 0;
  out[count++] = log(u) - log(v);
  out[count++] = log(u) + log(v);
  out[count++] = f->u[0];
  out[count++] = f->v[last] * f->v[last];
  out[count++] = f->u[last] * f->u[d + last];
  out[count++] = f->u[0] * f->v[0];
  out[count++] = f->u[last] - f->v[last];
  return count;
}

static double log_determinant(const double *q, size_t d) {
  double l[MOST * MOST];
  memcpy(l, q, d * d * sizeof *l);
  EXPECT(linalg_cholesky(l, d) == STATUS_OK);
  return linalg_log_determinant(l, d);
}

static size_t hyper_statistics(const fixture *f, double *out) {
  const size_t d = f->data.d;
  const double *q = f->precision + d * d;
  size_t count = 0;
  if (f->data.prior.kind == BMF_GAMMA) {
    out[count++] = log(f->lambda[0]);
    out[count++] = log(f->lambda[1]);
    out[count++] = f->lambda[0] * sum_of_squares(f->u, USERS * d);
  }
  if (f->data.prior.kind == BMF_WISHART) {
    const double log_u = log_determinant(f->precision, d);
    const double log_v = log_determinant(q, d);
    out[count++] = log_u;
    out[count++] = log_v;
    /* the sides are alike: what moves one against the other shows here */
    out[count++] = (log_u - log_v) * (log_u - log_v);
    out[count++] = q[0] - f->precision[d * d - 1];
    out[count++] = q[1];
    out[count++] = f->mu[0];
    out[count++] = f->mu[d] * f->mu[2 * d - 1];
    out[count++] =
      (f->u[0] - f->mu[0]) * (f->u[0] - f->mu[0]) * f->precision[0];
  }
  return count;
}

static size_t statistics(const fixture *f, double *out) {
  const size_t d = f->data.d;
  size_t count = rows_statistics(f, out);
  count += hyper_statistics(f, out + count);
  out[count++] = residuals(f);
  out[count++] = f->value[0][0] * bmf_predictor(f->u, f->v + d, d, 0);
  if (f->data.prior.kind != BMF_FIXED) {
    out[count++] = log(f->beta);
    out[count++] = f->beta * residuals(f);
  }
  return count;
}

/* ---- sweeps -------------------------------------------------------------- */

static void sweep_model(fixture *f, double *work, size_t size) {
  const scan_control control = {.thin = 1.0, .threads = 1};
  bmf_model model;
  memset(work, 0, size * sizeof *work);
  bmf_open(&model, &f->data, &f->state, work, 1);
  EXPECT(bmf_sweep(&model, &control) == STATUS_OK);
}

static void sweeps_of(bmf_kind kind, size_t d, int biases, size_t draws) {
  fixture f;
  double before[MOST_STATISTICS], after[MOST_STATISTICS];
  open_fixture(&f, kind, d, biases);
  const size_t size = bmf_work_size(&f.data, 1) / sizeof(double);
  double *work = new_numbers(size);
  set_seed(11, 12 + (unsigned)d);
  draw_all(&f);
  invariance sweeps = new_invariance(statistics(&f, before));
  for (size_t i = 0; i < draws; i++) {
    draw_all(&f);
    statistics(&f, before);
    sweep_model(&f, work, size);
    statistics(&f, after);
    compare(&sweeps, before, after);
  }
  EXPECT_INVARIANT(&sweeps);
  release_numbers(work);
}

static const bmf_kind kinds[] = {BMF_FIXED, BMF_GAMMA, BMF_WISHART};

static void sweeps_leave_the_posterior(void) {
  for (size_t k = 0; k < LENGTH(kinds); k++)
    for (int biases = 0; biases < 2; biases++)
      sweeps_of(kinds[k], biases ? 3 : 2, biases, 20000);
}

/* ---- moves of all rows alone --------------------------------------------- */

static void move_once(fixture *f, double *map[2], double *area) {
  const size_t d = f->data.d;
  double vectors[4 * MOST];
  const bmf_wishart_sides wishart = {f->mu0, f->w0_inverse,
                                     f->data.prior.kappa0, f->mu, f->precision};
  bmf_isotropic_sides isotropic = {.count = {USERS, ITEMS},
                                   .lambda = f->lambda,
                                   .shape = f->shape,
                                   .rate = f->rate};
  bmf_moves moves = {.d = d,
                     .rank = f->data.biases ? d - 1 : d,
                     .stride = bmf_stride(d),
                     .map = {map[0], map[1]},
                     .direction = vectors,
                     .work = vectors + d};
  bmf_moves_begin(&moves);
  for (size_t i = 0; f->data.biases && i < USERS + ITEMS; i++) {
    const size_t side = i < USERS ? 0 : 1;
    const double x = side ? f->v[(i - USERS) * d + d - 1] : f->u[i * d + d - 1];
    isotropic.sum[side] += x;
    isotropic.square[side] += x * x;
  }
  EXPECT((f->data.prior.kind == BMF_WISHART
            ? bmf_scale_wishart(&moves, &wishart)
            : bmf_scale_lambda(&moves, &isotropic)) == STATUS_OK);
  if (f->data.biases && f->data.prior.kind == BMF_WISHART)
    bmf_shift_wishart(&moves, &wishart);
  else if (f->data.biases)
    bmf_shift_isotropic(&moves, &isotropic);
  bmf_move_rows(f->u, USERS, d, map[0], area);
  bmf_move_rows(f->v, ITEMS, d, map[1], area);
}

/* The ratings play no part: what they know does not move. */
static void moves_of(bmf_kind kind, size_t d, int biases) {
  fixture f;
  double before[MOST_STATISTICS], after[MOST_STATISTICS];
  open_fixture(&f, kind, d, biases);
  const size_t size = bmf_stride(d) * (d + 1);
  double *map[2] = {new_numbers(size), new_numbers(size)};
  double *area = new_numbers(bmf_area_size(d));
  set_seed(13, 14);
  draw_all(&f);
  size_t count = rows_statistics(&f, before);
  invariance moves = new_invariance(count + hyper_statistics(&f, before));
  for (int i = 0; i < 60000; i++) {
    draw_all(&f);
    count = rows_statistics(&f, before);
    hyper_statistics(&f, before + count);
    const double fitted = residuals(&f);
    move_once(&f, map, area);
    EXPECT_NEAR(residuals(&f), fitted, 1e-8);
    rows_statistics(&f, after);
    hyper_statistics(&f, after + count);
    compare(&moves, before, after);
  }
  EXPECT_INVARIANT(&moves);
  release_numbers(map[0]);
  release_numbers(map[1]);
  release_numbers(area);
}

static void moves_leave_the_prior(void) {
  for (int biases = 0; biases < 2; biases++) {
    moves_of(BMF_GAMMA, biases ? 3 : 2, biases);
    moves_of(BMF_WISHART, biases ? 3 : 2, biases);
  }
}

/* ---- what is fused ------------------------------------------------------- */

/* a b + c as the kernels of this width have it */
static double step(lanes_width width, double a, double b, double c) {
  return width == LANES_NARROW && !LANES_NARROW_FUSES ? a * b + c
                                                      : fma(a, b, c);
}

/* The sums of products in the order of the kernels: where one vector covers a column
 * those of every other partner, then both together.  x: count vectors of d + 1; q:
 * d columns of d + 1. */
static void add_in_order(lanes_width width, const double *x, size_t count,
                         size_t d, double *q) {
  const size_t sums = width == LANES_NARROW && d > 1 ? 1 : 2;
  for (size_t j = 0; j < d; j++)
    for (size_t i = j; i <= d; i++) {
      double sum[2] = {0.0, 0.0};
      for (size_t e = 0; e < count; e++) {
        const double *own = x + e * (d + 1);
        sum[e % sums] = step(width, own[i], own[j], sum[e % sums]);
      }
      q[i + (d + 1) * j] += sum[0] + sum[1];
    }
}

/* The factor of the block on the diagonal and what it leaves of all rows, which
 * is not fused. */
static void factor_in_order(lanes_width width, size_t d, double *q,
                            double *inverse) {
  const size_t rows = d + 1;
  double l[MOST * MOST];
  for (size_t j = 0; j < d; j++)
    for (size_t i = j; i < d; i++) {
      double rest = q[i + rows * j];
      for (size_t k = 0; k < j; k++)
        rest = step(width, -l[i + d * k], l[j + d * k], rest);
      if (i == j)
        inverse[j] = 1.0 / sqrt(rest);
      l[i + d * j] = rest * inverse[j];
    }
  for (size_t j = 0; j < d; j++)
    for (size_t i = j; i <= d; i++) {
      for (size_t k = 0; k < j; k++)
        q[i + rows * j] -= q[i + rows * k] * l[j + d * k];
      q[i + rows * j] *= inverse[j];
    }
}

/* f: normals on entry, the draw on return. */
static void draw_in_order(lanes_width width, const double *x, size_t count,
                          size_t d, double *f) {
  double q[MOST * (MOST + 1)] = {0}, inverse[MOST];
  for (size_t j = 0; j < d; j++)
    q[j + (d + 1) * j] = 1.7;
  add_in_order(width, x, count, d, q);
  factor_in_order(width, d, q, inverse);
  for (size_t j = d; j-- > 0;) {
    double rest = q[d + (d + 1) * j] + f[j];
    for (size_t i = j + 1; i < d; i++)
      rest = step(width, -q[i + (d + 1) * j], f[i], rest);
    f[j] = rest * inverse[j];
  }
}

/* A row of `count` partners, each rated once; d is at most 3. */
static void fused_row(lanes_width width, size_t d, size_t count) {
  enum { PARTNERS = 7 };
  double precision[MOST * MOST] = {0}, x[PARTNERS * (MOST + 1)];
  double value[PARTNERS], row[MOST], expected[MOST];
  int start[2] = {0, (int)count}, index[PARTNERS];
  double *prior = new_numbers(bmf_square_size(d));
  double *design = new_numbers(PARTNERS * bmf_stride(d));
  double *area = new_numbers(bmf_area_size(d));
  for (size_t e = 0; e < count; e++) {
    index[e] = (int)(PARTNERS - 1 - e);
    value[e] = norm_rand();
    for (size_t k = 0; k < d; k++)
      x[k + e * (d + 1)] = design[k + bmf_stride(d) * (PARTNERS - 1 - e)] =
        norm_rand();
    x[d + e * (d + 1)] = 1.3 * value[e];
  }
  for (size_t k = 0; k < d; k++) {
    precision[k + d * k] = 1.7;
    row[k] = expected[k] = norm_rand();
  }
  bmf_set_prior(precision, NULL, d, prior);
  const bmf_regression job = {.d = d,
                              .stride = bmf_stride(d),
                              .root_beta = 1.3,
                              .design = design,
                              .prior = prior,
                              .panel = bmf_panel_length(d)};
  const bmf_ratings ratings = {1, PARTNERS, start, index, value, NULL};
  EXPECT(bmf_draw_row_with(width, &job, &ratings, 0, row, NULL, area) ==
         STATUS_OK);
  draw_in_order(width, x, count, d, expected);
  EXPECT(same_bits(row, expected, d));
  release_numbers(prior);
  release_numbers(design);
  release_numbers(area);
}

static void what_is_fused_is_written(void) {
  set_seed(15, 16);
  for (int width = LANES_NARROW; width <= LANES_WIDEST; width *= 2)
    for (size_t d = 1; lanes_has((lanes_width)width, 1) && d <= MOST; d++)
      for (size_t count = 1; count <= 7; count++)
        for (int again = 0; again < 20; again++)
          fused_row((lanes_width)width, d, count);
}

void test_bmf_exact(void) {
  run_test("bmf: what is fused is written", what_is_fused_is_written);
  run_test("bmf: sweeps leave the posterior", sweeps_leave_the_posterior);
  run_test("bmf: moves leave the prior", moves_leave_the_prior);
}
