#include "numeric/rounding.h"

#include "bmf/bmf_model.h"

#include <string.h>

/* ---- a side ------------------------------------------------------------- */

bmf_side bmf_side_of(const bmf_model *m, int which) {
  const size_t d = m->data.d, at = which == BMF_USERS ? 0 : 1;
  bmf_side side = {0};
  side.which = which;
  side.rows = which == BMF_USERS ? m->data.n : m->data.m;
  side.ratings = which == BMF_USERS ? &m->data.users : &m->data.items;
  side.factors = which == BMF_USERS ? m->state.u : m->state.v;
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

/* Multiplications for a row with so many ratings, roughly. */
double bmf_row_work(size_t d, double ratings) {
  const double size = (double)d;
  return ratings * size * (0.5 * size + 4.0) +
         size * size * (size / 6.0 + 2.0) + 100.0;
}

/* m->shift (d x rows) <- from (d x rows, NULL for 0) plus sign times sum_k f_ik
 * c_k,  c: d x p. */
void bmf_add_features(bmf_model *m, const bmf_side *side, const double *from,
                      const double *c, double sign, int threads) {
  const size_t d = m->data.d;
  const int rows = (int)side->rows;
  const double entries = (double)side->features->start[side->rows];
  const int team = parts_team(2.0 * entries * (double)d, threads);
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
