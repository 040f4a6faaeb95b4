#include "numeric/rounding.h"

#include "bmf/bmf_features.h"

#include <string.h>

static void add_scaled(double *to, const double *x, double factor, size_t d) {
  for (size_t i = 0; i < d; i++)
    to[i] += factor * x[i];
}

void bmf_features_add(const bmf_features *f, size_t row, const double *c,
                      size_t d, double sign, double *to) {
  for (int e = f->start[row]; e < f->start[row + 1]; e++)
    add_scaled(to, c + (size_t)f->index[e] * d, sign * f->value[e], d);
}

void bmf_features_cross(const bmf_features *f, size_t rows, const double *x,
                        const double *centre, size_t d, double *to) {
  memset(to, 0, f->p * d * sizeof *to);
  for (size_t row = 0; row < rows; row++, x += d)
    for (int e = f->start[row]; e < f->start[row + 1]; e++) {
      double *column = to + (size_t)f->index[e] * d;
      const double value = f->value[e];
      for (size_t i = 0; i < d; i++)
        column[i] += value * (x[i] - centre[i]);
    }
}

void bmf_features_rotate(const bmf_features *f, const double *c, size_t d,
                         int back, double *to) {
  memset(to, 0, f->p * d * sizeof *to);
  for (size_t l = 0; l < f->p; l++)
    for (size_t k = 0; k < f->p; k++)
      if (back)
        add_scaled(to + k * d, c + l * d, f->v[k + f->p * l], d);
      else
        add_scaled(to + l * d, c + k * d, f->v[k + f->p * l], d);
}

/* a <- a + factor x x', both triangles */
static void add_outer(double *a, const double *x, double factor, size_t d) {
  for (size_t j = 0; j < d; j++)
    for (size_t i = 0; i < d; i++)
      a[i + d * j] += factor * x[i] * x[j];
}

double bmf_features_reduce(const bmf_features *f, double lambda, double kappa,
                           const double *rotated, size_t d, double *cross,
                           double *linear, double *inverse) {
  for (size_t k = 0; k < f->p; k++) {
    const double weight = f->s[k] + lambda, share = f->g[k] / weight;
    double *h = cross + k * d;
    add_scaled(h, rotated + k * d, -lambda, d);
    add_outer(inverse, rotated + k * d, lambda, d);
    add_outer(inverse, h, -1.0 / weight, d);
    add_scaled(linear, h, -share, d);
    kappa -= share * f->g[k];
  }
  add_outer(inverse, linear, -1.0 / kappa, d);
  return kappa;
}
