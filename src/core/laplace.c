#include "laplace.h"

#include "linalg.h"
#include "rmath.h"

/* w | . ~ N(m, (L L')^-1), whatever it was before. */
status laplace_sweep(void *model, const scan_control *control) {
  (void)control;
  const laplace_model *m = model;
  for (size_t j = 0; j < m->p; j++)
    m->w[j] = norm_rand();
  linalg_solve_lower_transposed(m->factor, m->p, m->w);
  for (size_t j = 0; j < m->p; j++)
    m->w[j] += m->mean[j];
  return STATUS_OK;
}

void laplace_record(void *model, double *row, size_t stride) {
  const laplace_model *m = model;
  for (size_t j = 0; j < m->p; j++)
    row[j * stride] = m->w[j];
}
