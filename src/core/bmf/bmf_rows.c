#include "numeric/rounding.h"

#include "bmf/bmf_rows.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "numeric/lanes.h"

/* ---- sizes and layout -------------------------------------------------- */

/* A multiple of the longest vector, 8 doubles: a cache line. */
#define PAD 8

size_t bmf_stride(size_t d) {
  return (d + PAD) / PAD * PAD;
}

/* Whole blocks of four columns, and what the last vector may write beyond. */
size_t bmf_square_size(size_t d) {
  return (d + 3) / 4 * 4 * bmf_stride(d) + PAD;
}

/* As many as fit a part of the second-level cache beside the matrix. */
size_t bmf_panel_length(size_t d) {
  const size_t length = 8192 / bmf_stride(d);
  return length < 16 ? 16 : length;
}

typedef struct {
  double *panel, *q, *inverse, *solution;
} bmf_area;

/* Rows start at a multiple of 64 bytes, as cache lines do. */
static double *align_line(double *x) {
  const uintptr_t address = (uintptr_t)(void *)x;
  return x + (64 - address % 64) % 64 / sizeof(double);
}

size_t bmf_area_size(size_t d) {
  const size_t stride = bmf_stride(d);
  return PAD + bmf_panel_length(d) * stride + PAD + bmf_square_size(d) +
         2 * stride + PAD;
}

static bmf_area carve_area(size_t d, double *area) {
  const size_t stride = bmf_stride(d);
  bmf_area at;
  at.panel = align_line(area);
  at.q = at.panel + bmf_panel_length(d) * stride + PAD;
  at.inverse = at.q + bmf_square_size(d);
  at.solution = at.inverse + stride;
  return at;
}

void bmf_set_prior(const double *precision, const double *mu, size_t d,
                   double *prior) {
  const size_t stride = bmf_stride(d);
  memset(prior, 0, bmf_square_size(d) * sizeof *prior);
  for (size_t j = 0; j < d; j++) {
    memcpy(prior + j * stride, precision + j * d, d * sizeof *prior);
    for (size_t i = 0; mu && i < d; i++)
      prior[d + j * stride] += precision[i + d * j] * mu[i];
  }
}

/* ---- what all widths share --------------------------------------------- */

/* Cache lines of a vector that will be gathered soon. */
static inline void fetch_ahead(const double *x, size_t d) {
#if defined(__GNUC__)
  for (size_t i = 0; i <= d; i += PAD)
    __builtin_prefetch(x + i);
#else
  (void)x;
  (void)d;
#endif
}

/* How many vectors ahead of the gathered one to prefetch.  A design (of so many
 * doubles) that fits a second-level cache of 1 MB needs none: `count` is beyond
 * the last. */
static inline size_t gather_ahead(size_t design, size_t count) {
  return design > ((size_t)1 << 17) ? 8 : count;
}

/* As solve_columns() for fewer than four columns: the last ones. */
static void solve_last_columns(size_t stride, size_t d, size_t j,
                               size_t columns, const double *l,
                               const double *inverse, double *q) {
  for (size_t c = 0; c < columns; c++)
    for (size_t i = j + c; i <= d; i++) {
      double rest = q[(j + c) * stride + i];
      for (size_t k = 0; k < c; k++)
        rest -= q[(j + k) * stride + i] * l[4 * k + c];
      q[(j + c) * stride + i] = rest * inverse[c];
    }
}

/* Zeros above the diagonal of a block: solve_transposed() may meet them. */
static inline void clear_above(double *q, size_t stride, size_t columns) {
  for (size_t j = 1; j < columns; j++)
    for (size_t i = 0; i < j; i++)
      q[j * stride + i] = 0.0;
}

/* ---- kernels ----------------------------------------------------------- */

#define LANES_FUSED 1
#define LANES_KERNEL "bmf/bmf_kernel.h"
#include "numeric/lanes_each.h"

/* With few coordinates the longest vectors would hold mostly padding. */
static lanes_width best_width(size_t d) {
  return lanes_longest(d >= 16 ? LANES_WIDEST : LANES_WIDE, LANES_FUSED);
}

status bmf_draw_row_with(lanes_width width, const bmf_regression *job,
                         const bmf_ratings *ratings, size_t row, double *f,
                         double *square, double *area) {
  return LANES_OF(width, draw_row)(job, ratings, row, f, square, area);
}

status bmf_draw_row(const bmf_regression *job, const bmf_ratings *ratings,
                    size_t row, double *f, double *square, double *area) {
  return bmf_draw_row_with(best_width(job->d), job, ratings, row, f, square,
                           area);
}

typedef void (*add_kernel)(const double *, size_t, size_t, size_t,
                           const double *, double *);

void bmf_add_gram(const double *x, size_t count, size_t d, const double *centre,
                  double *gram, double *area) {
  const size_t stride = bmf_stride(d), length = bmf_panel_length(d);
  const add_kernel add = LANES_OF(best_width(d), add_products);
  double *panel = carve_area(d, area).panel;
  for (size_t first = 0; first < count; first += length) {
    const size_t here = count - first < length ? count - first : length;
    for (size_t r = 0; r < here; r++) {
      double *to = panel + r * stride;
      const double *from = x + (first + r) * d;
      for (size_t k = 0; k < d; k++)
        to[k] = from[k] - centre[k];
      to[d] = 1.0;
      for (size_t k = d + 1; k < stride; k++)
        to[k] = 0.0;
    }
    add(panel, stride, here, d, gram, gram);
  }
}

void bmf_move_rows_with(lanes_width width, double *x, size_t count, size_t d,
                        const double *map, double *area) {
  LANES_OF(width, move_rows)(x, count, d, map, carve_area(d, area).panel);
}

void bmf_move_rows(double *x, size_t count, size_t d, const double *map,
                   double *area) {
  bmf_move_rows_with(best_width(d), x, count, d, map, area);
}
