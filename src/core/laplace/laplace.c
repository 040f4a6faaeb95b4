#include "numeric/rounding.h"

#include "laplace/laplace.h"

#include "numeric/blas.h"
#include "numeric/normals.h"

static void draw_one(const laplace_model *m, const generator *g) {
  normals_draw(g, m->w, m->p);
  blas_solve_lower_transposed(m->factor, m->p, m->w);
  for (size_t j = 0; j < m->p; j++)
    m->w[j] += m->mean[j];
}

static void draw_ahead(const laplace_model *m, const generator *g) {
  for (size_t draw = 0; draw < LAPLACE_AHEAD; draw++) {
    normals_draw(g, m->w, m->p);
    for (size_t j = 0; j < m->p; j++)
      m->ahead[draw + LAPLACE_AHEAD * j] = m->w[j];
  }
  blas_solve_rows(m->factor, m->p, m->ahead, LAPLACE_AHEAD);
  for (size_t j = 0; j < m->p; j++)
    for (size_t draw = 0; draw < LAPLACE_AHEAD; draw++)
      m->ahead[draw + LAPLACE_AHEAD * j] += m->mean[j];
  *m->used = 0.0;
}

/* w | . ~ N(m, (L L')^-1), whatever it was before. */
status laplace_sweep(void *model, const scan_control *control) {
  const laplace_model *m = model;
  if (m->ahead == NULL) {
    draw_one(m, &control->generator);
    return STATUS_OK;
  }
  if (*m->used >= LAPLACE_AHEAD)
    draw_ahead(m, &control->generator);
  const size_t draw = (size_t)*m->used;
  for (size_t j = 0; j < m->p; j++)
    m->w[j] = m->ahead[draw + LAPLACE_AHEAD * j];
  *m->used += 1.0;
  return STATUS_OK;
}

void laplace_record(void *model, double *row, size_t stride) {
  const laplace_model *m = model;
  for (size_t j = 0; j < m->p; j++)
    row[j * stride] = m->w[j];
}
