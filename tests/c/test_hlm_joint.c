/* The draw of all bars at once: two bars, one with two terms, whose groups are partly
 * crossed.  The same normals give the draw of dense matrices, with a factor that has
 * every place and with one that has no more than those it fills. */
#include "hlm/hlm_joint.h"

#include <math.h>
#include <string.h>

#include "harness.h"
#include "numeric/linalg.h"
#include "numeric/rmath.h"

void test_hlm_joint(void);

enum { ROWS = 9, TERMS = 3, P = 2, FIRST = 3, SECOND = 2 };
enum { U = 2 * FIRST + SECOND, ALL = U + P, FULL = ALL * (ALL + 1) / 2 };

/* the groups of the rows; the deviations' places, those of the second bar last */
static const int groups[2][ROWS] = {{0, 0, 0, 1, 1, 1, 2, 2, 2},
                                    {0, 0, 0, 0, 0, 1, 1, 1, 1}};

typedef struct {
  hlm_data bar[2];
  hlm_joint_data data;
  int place[TERMS * ROWS], deviation[U], entry_start[U + 1],
    entry[TERMS * ROWS];
  int factor_start[ALL + 1], factor_row[FULL];
  double z[TERMS * ROWS], x[P * ROWS], precision[P], mean[P], l[5];
} fixture;

static int deviation_of(size_t term, size_t row) {
  return term < 2 ? 2 * groups[0][row] + (int)term : 2 * FIRST + groups[1][row];
}

/* The first bar's groups are apart: two terms of one share places, and all of them
 * those of the second bar, unless the group is in one of its groups alone. */
static int is_filled(size_t row, size_t column) {
  static const int met[FIRST][SECOND] = {{1, 0}, {1, 1}, {0, 1}};
  if (row >= U || column >= 2 * FIRST)
    return 1;
  return row < 2 * FIRST ? row / 2 == column / 2
                         : met[column / 2][row - 2 * FIRST];
}

static void make_places(fixture *f) {
  int entries = 0;
  for (size_t k = 0; k < U; k++) {
    f->deviation[k] = (int)k;
    for (size_t at = 0; at < (size_t)TERMS * ROWS; at++)
      if (deviation_of(at % TERMS, at / TERMS) == (int)k) {
        f->place[at] = (int)k;
        f->entry[entries++] = (int)at;
      }
    f->entry_start[k + 1] = entries;
  }
}

static size_t make_factor(fixture *f, int sparse) {
  size_t stored = 0;
  for (size_t k = 0; k < ALL; k++) {
    for (size_t i = k; i < ALL; i++)
      if (!sparse || is_filled(i, k))
        f->factor_row[stored++] = (int)i;
    f->factor_start[k + 1] = (int)stored;
  }
  return stored;
}

static void make(fixture *f, int sparse) {
  memset(f, 0, sizeof *f);
  f->bar[0] = (hlm_data){.q = 2, .groups = FIRST};
  f->bar[1] = (hlm_data){.q = 1, .groups = SECOND};
  for (size_t i = 0; i < (size_t)TERMS * ROWS; i++)
    f->z[i] = i % 2 == 0 ? 1.0 : norm_rand();
  for (size_t i = 0; i < (size_t)P * ROWS; i++)
    f->x[i] = norm_rand();
  f->precision[1] = 0.7;
  f->mean[1] = 0.4;
  const double l[] = {1.3, -0.6, 0.0, 0.8, 0.5};
  memcpy(f->l, l, sizeof l);
  make_places(f);
  const size_t stored = make_factor(f, sparse);
  f->data = (hlm_joint_data){
    .bars = 2,
    .deviations = U,
    .p = P,
    .n = ROWS,
    .terms = TERMS,
    .bar = f->bar,
    .place = f->place,
    .z = f->z,
    .x = f->x,
    .precision = f->precision,
    .deviation = f->deviation,
    .entries = {f->entry_start, U, f->entry, (size_t)TERMS * ROWS,
                (size_t)TERMS * ROWS, 1},
    .factor = {f->factor_start, ALL, f->factor_row, stored, ALL, 1}};
}

/* Row i of W: sqrt(v_i) (Z L, X). */
static void weighed(const fixture *f, double root, size_t i, double *w) {
  const double *z = f->z + TERMS * i, *l = f->l;
  memset(w, 0, ALL * sizeof *w);
  w[deviation_of(0, i)] = root * (z[0] * l[0] + z[1] * l[1]);
  w[deviation_of(1, i)] = root * z[1] * l[3];
  w[deviation_of(2, i)] = root * z[2] * l[4];
  for (size_t k = 0; k < P; k++)
    w[U + k] = root * f->x[k + P * i];
}

/* u by dense matrices; the normals are those that the core draws. */
static void draw_dense(const fixture *f, const double *root, const double *y,
                       double *u) {
  double precision[ALL * ALL] = {0}, effect[ALL] = {0}, w[ALL], normals[ALL];
  for (size_t i = 0; i < ROWS; i++) {
    weighed(f, root[i], i, w);
    for (size_t k = 0; k < ALL; k++) {
      effect[k] += w[k] * y[i];
      for (size_t c = 0; c < ALL; c++)
        precision[c + ALL * k] += w[k] * w[c];
    }
  }
  for (size_t k = 0; k < U; k++)
    precision[k + ALL * k] += 1.0;
  for (size_t k = 0; k < P; k++) {
    precision[U + k + ALL * (U + k)] += f->precision[k];
    effect[U + k] += f->precision[k] * f->mean[k];
  }
  for (size_t k = 0; k < ALL; k++)
    normals[k] = norm_rand();
  EXPECT(linalg_draw_canonical(precision, effect, normals, ALL) == STATUS_OK);
  for (size_t j = 0; j < FIRST; j++) {
    const double *e = effect + 2 * j;
    u[2 * j] = f->l[0] * e[0];
    u[2 * j + 1] = f->l[1] * e[0] + f->l[3] * e[1];
  }
  for (size_t j = 0; j < SECOND; j++)
    u[2 * FIRST + j] = f->l[4] * effect[2 * FIRST + j];
}

static void check_draw(int sparse) {
  static fixture f;
  static double work[4096];
  hlm_joint model;
  set_seed(71, 72);
  make(&f, sparse);
  arena over = arena_over(work);
  hlm_joint_open(&model, &f.data, &over);
  EXPECT(arena_size(&over) <= sizeof work);
  double root[ROWS], y[ROWS], u[U], expected[U];
  for (size_t i = 0; i < ROWS; i++) {
    root[i] = 0.5 + unif_rand();
    y[i] = norm_rand();
  }
  const scan_control control = {.thin = 1.0, .threads = 1};
  /* the second one finds nothing left of the first */
  for (int time = 0; time < 2; time++) {
    memcpy(model.root, root, sizeof root);
    memcpy(model.y, y, sizeof y);
    set_seed(73, 74);
    EXPECT(hlm_joint_draw(&model, f.l, f.mean, u, &control) == STATUS_OK);
    set_seed(73, 74);
    draw_dense(&f, root, y, expected);
    for (size_t k = 0; k < U; k++)
      EXPECT_NEAR(u[k], expected[k], 1e-12);
  }
}

/* Data that are no numbers are found. */
static void check_failure(void) {
  static fixture f;
  static double work[4096];
  hlm_joint model;
  set_seed(75, 76);
  make(&f, 1);
  arena over = arena_over(work);
  hlm_joint_open(&model, &f.data, &over);
  for (size_t i = 0; i < ROWS; i++) {
    model.root[i] = i == 4 ? NAN : 1.0;
    model.y[i] = 0.0;
  }
  const scan_control control = {.thin = 1.0, .threads = 1};
  double u[U];
  EXPECT(hlm_joint_draw(&model, f.l, f.mean, u, &control) ==
         STATUS_NOT_POSITIVE_DEFINITE);
}

static void a_full_factor(void) {
  check_draw(0);
}

static void a_sparse_factor(void) {
  check_draw(1);
}

void test_hlm_joint(void) {
  run_test("hlm_joint: a draw by dense matrices", a_full_factor);
  run_test("hlm_joint: the same by a sparse factor", a_sparse_factor);
  run_test("hlm_joint: NaN is found", check_failure);
}
