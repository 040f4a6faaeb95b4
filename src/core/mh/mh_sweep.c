#include "numeric/rounding.h"

#include "mh/mh_sweep.h"

#include <stdint.h>
#include <string.h>

#include "mh/mh_proposal.h"
#include "numeric/rmath.h"

/* ---- laying out ---------------------------------------------------------- */

enum { SCRATCH_VECTORS = 11 };

size_t mh_work_size(size_t d) {
  return SCRATCH_VECTORS * d;
}

static size_t block_variates(const mh_block *block) {
  return 1 + block->proposal->type->variates(block->proposal);
}

static int covers_all(const mh_model *m, const mh_block *block) {
  int all = block->proposal->d == m->d;
  for (size_t j = 0; all && j < m->d; j++)
    all = block->index[j] == (int)j;
  return all;
}

void mh_open(mh_model *m, double *work) {
  double **scratch[SCRATCH_VECTORS] = {
    &m->from,       &m->to,         &m->next,          &m->next_point,
    &m->next_slope, &m->from_slope, &m->to_slope,      &m->a,
    &m->b,          &m->rejected,   &m->rejected_slope};
  for (size_t i = 0; i < SCRATCH_VECTORS; i++)
    *scratch[i] = work + i * m->d;
  size_t offset = 0;
  for (size_t b = 0; b < m->blocks; b++) {
    m->block[b].offset = offset;
    m->block[b].whole = covers_all(m, &m->block[b]);
    m->block[b].sloped = mh_needs_slope(m->block[b].proposal);
    m->block[b].symmetric = mh_is_symmetric(m->block[b].proposal);
    offset += block_variates(&m->block[b]);
    if (m->block[b].proposal->type->open)
      m->block[b].proposal->type->open(&m->block[b]);
  }
  m->width = offset;
  m->power = 1.0;
  m->row = m->rows > 0 ? (size_t)((uint64_t)*m->sweep % m->rows) : 0;
}

/* ---- variates ------------------------------------------------------------ */

size_t mh_variates(const mh_model *m) {
  return m->width;
}

static double *block_ahead(const mh_model *m, const mh_block *block) {
  return m->ahead + m->rows * block->offset;
}

void mh_draw_ahead(const mh_model *m) {
  for (size_t b = 0; b < m->blocks; b++) {
    double *own = block_ahead(m, &m->block[b]);
    for (size_t row = 0; row < m->rows; row++)
      own[row] = unif_rand();
    const mh_proposal *p = m->block[b].proposal;
    p->type->draw(p, m->rows, &m->in_use, own + m->rows);
  }
}

/* The row of this sweep; all rows anew where the sweep's number says so. */
static size_t next_row(mh_model *m) {
  const size_t row = m->row;
  m->row = row + 1 < m->rows ? row + 1 : 0;
  if (row > 0)
    return row;
  if (m->take)
    m->take(m->generator);
  mh_draw_ahead(m);
  if (m->give)
    m->give(m->generator);
  return row;
}

/* ---- a sweep ------------------------------------------------------------- */

status mh_update(mh_model *m, size_t b, size_t row,
                 const scan_control *control) {
  const double *ahead = block_ahead(m, &m->block[b]), u = ahead[row];
  const double *variates =
    ahead + m->rows + row * (block_variates(&m->block[b]) - 1);
  return m->block[b].proposal->type->update(m, b, u, variates, control);
}

status mh_sweep(void *model, const scan_control *control) {
  mh_model *m = model;
  const size_t row = next_row(m);
  status outcome = STATUS_OK;
  for (size_t b = 0; b < m->blocks && outcome == STATUS_OK; b++)
    outcome = mh_update(m, b, row, control);
  return outcome;
}

static void record_transitions(mh_model *m) {
  for (size_t b = 0; b < m->blocks; b++) {
    if (!m->block[b].proposal->type->has_transitions)
      continue;
    memcpy(m->transitions, m->block[b].transition,
           MH_TRANSITION * sizeof(double));
    m->transitions += MH_TRANSITION;
  }
}

void mh_record(void *model, double *row, size_t stride) {
  mh_model *m = model;
  if (m->transitions)
    record_transitions(m);
  for (size_t k = 0; k < m->kept; k++, row += stride)
    *row = m->point[m->keep[k]];
  *row = m->value[0];
}
