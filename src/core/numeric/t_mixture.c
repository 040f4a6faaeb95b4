#include "numeric/rounding.h"

#include "numeric/t_mixture.h"

#include <math.h>

#include "numeric/rmath.h"

enum { CELLS = T_MIXTURE_CELLS * T_MIXTURE_WIDTH };

t_mixture t_mixture_take(arena *a, size_t n) {
  t_mixture m = {.n = n};
  m.cells = (quintic *)arena_doubles(a, 6.0 * CELLS * (double)n);
  return m;
}

void t_mixture_open(t_mixture *m, const double *nu) {
  m->nu = nu;
  for (size_t i = 0; m->cells && i < CELLS * m->n; i++)
    m->cells[i].c[0] = NAN;
}

/* The upper tail: its derivative is minus the density, whose slope is -(nu + 1) z /
 * (nu + z^2) times itself. */
static quintic_knot knot_at(double nu, double z) {
  const double density = dt(z, nu, 0);
  return (quintic_knot){pt(z, nu, 0, 0), -density,
                        density * (nu + 1.0) * z / (nu + z * z)};
}

void t_mixture_tail(t_mixture *m, size_t s, double z, double *tail,
                    double *density) {
  const double place = z * T_MIXTURE_CELLS;
  if (!(place < CELLS)) {
    *tail = pt(z, m->nu[s], 0, 0);
    *density = dt(z, m->nu[s], 0);
    return;
  }
  const size_t at = (size_t)place;
  quintic *cell = m->cells + CELLS * s + at;
  if (isnan(cell->c[0])) {
    const double h = 1.0 / T_MIXTURE_CELLS, left = (double)at * h;
    *cell =
      quintic_between(knot_at(m->nu[s], left), knot_at(m->nu[s], left + h), h);
  }
  *tail = quintic_at(cell, place - (double)at);
  *density = -T_MIXTURE_CELLS * quintic_slope(cell, place - (double)at);
}

/* Newton's step to the quantile p <= 1/2 of the mixture of sign x, from q. */
static double step_from(t_mixture *m, double p, double sign, const double *mean,
                        size_t points, const double *sd, double scale,
                        double q) {
  double below = 0.0, density = 0.0;
  for (size_t l = 0; l < points; l++)
    for (size_t s = 0; s < m->n; s++) {
      const double inverse = 1.0 / (scale * sd[s]);
      const double z = (q - sign * mean[s + m->n * l]) * inverse;
      double tail, own;
      t_mixture_tail(m, s, fabs(z), &tail, &own);
      below += z < 0.0 ? tail : 1.0 - tail;
      density += own * inverse;
    }
  return (p * (double)(m->n * points) - below) / density;
}

double t_mixture_quantile(t_mixture *m, double p, const double *mean,
                          size_t points, const double *sd, double scale,
                          double guess, double near) {
  const double sign = p > 0.5 ? -1.0 : 1.0, lower = p > 0.5 ? 1.0 - p : p;
  double q = sign * guess;
  for (int i = 0; i < 20; i++) {
    const double step = step_from(m, lower, sign, mean, points, sd, scale, q);
    q += step;
    if (!isfinite(q))
      break;
    if (fabs(step) < near)
      return sign * q;
  }
  return NAN;
}
