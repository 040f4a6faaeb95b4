#include "numeric/rounding.h"

#include "mh/mh_proposal.h"

#include <math.h>

#include "numeric/linalg.h"
#include "numeric/normals.h"
#include "numeric/rmath.h"

static const double root_three = 1.7320508075688772;

/* ---- variates ------------------------------------------------------------ */

size_t mh_law_variates(const mh_proposal *p) {
  return p->d + (p->family == MH_T);
}

/* d normals, and sqrt(df / chi^2_df). */
static void draw_t(const mh_proposal *p, size_t rows, const generator *g,
                   double *out) {
  for (double *row = out; row < out + rows * (p->d + 1); row += p->d + 1) {
    normals_draw(g, row, p->d);
    row[p->d] = sqrt(p->freedom / rchisq(p->freedom));
  }
}

void mh_law_draw(const mh_proposal *p, size_t rows, const generator *g,
                 double *out) {
  if (p->family == MH_T)
    draw_t(p, rows, g, out);
  else if (p->family == MH_NORMAL)
    normals_draw(g, out, rows * p->d);
  else
    for (size_t i = 0; i < rows * p->d; i++)
      out[i] = root_three * (2.0 * unif_rand() - 1.0);
}

size_t mh_keyed_variates(const mh_proposal *p) {
  return p->d + 2;
}

void mh_keyed_draw(const mh_proposal *p, size_t rows, const generator *g,
                   double *out) {
  for (double *row = out; row < out + rows * (p->d + 2); row += p->d + 2) {
    normals_draw(g, row, p->d);
    row[p->d] = unif_rand();
    row[p->d + 1] = unif_rand();
  }
}

philox_stream mh_open_choices(const double *uniforms) {
  philox_key key;
  for (size_t i = 0; i < 2; i++)
    key.key[i] = (uint32_t)(uniforms[i] * 4294967296.0);
  return philox_open(key, 0, 0);
}

/* ---- what a proposal is -------------------------------------------------- */

int mh_needs_slope(const mh_proposal *p) {
  int needs = p->type->needs_slope;
  for (size_t i = 0; i < p->parts; i++)
    needs = needs || mh_needs_slope(&p->part[i]);
  return needs;
}

int mh_is_symmetric(const mh_proposal *p) {
  int symmetric = p->type->symmetric;
  for (size_t i = 0; symmetric && i < p->parts; i++)
    symmetric = mh_is_symmetric(&p->part[i]);
  return symmetric;
}

/* ---- the factor L -------------------------------------------------------- */

void mh_times_factor(const mh_proposal *p, const double *l, const double *x,
                     double *y) {
  if (p->diagonal)
    for (size_t j = 0; j < p->d; j++)
      y[j] = l[j] * x[j];
  else
    linalg_lower_times_vector(l, p->d, x, y);
}

void mh_solve_factor(const mh_proposal *p, const double *l, double *b) {
  if (p->diagonal)
    for (size_t j = 0; j < p->d; j++)
      b[j] /= l[j];
  else
    linalg_solve_lower(l, p->d, b);
}

/* ---- y = c + s L e ------------------------------------------------------- */

void mh_add_step(const mh_proposal *p, const double *l, double step,
                 const double *row, double *y, double *work) {
  const double scale = p->family == MH_T ? step * row[p->d] : step;
  mh_times_factor(p, l, row, work);
  for (size_t j = 0; j < p->d; j++)
    y[j] += scale * work[j];
}

/* log |L| */
static double log_factor(const mh_proposal *p, const double *l) {
  double sum = 0.0;
  for (size_t j = 0; j < p->d; j++)
    sum += log(l[p->diagonal ? j : j + p->d * j]);
  return sum;
}

/* log density of e: independent normals, uniforms, or multivariate t.  The support
 * of the uniforms is taken a little wider, for rounding errors; as it is so in both
 * directions, no ratio changes. */
static double log_standard(const mh_proposal *p, const double *e) {
  const double d = (double)p->d;
  double square = 0.0, largest = 0.0;
  for (size_t j = 0; j < p->d; j++) {
    square += e[j] * e[j];
    largest = fmax(largest, fabs(e[j]));
  }
  if (p->family == MH_UNIFORM)
    return largest <= root_three * (1.0 + 1e-9) ? -d * log(2.0 * root_three)
                                                : -INFINITY;
  if (p->family == MH_NORMAL)
    return -0.5 * square - d * M_LN_SQRT_2PI;
  const double nu = p->freedom;
  return lgammafn(0.5 * (nu + d)) - lgammafn(0.5 * nu) -
         0.5 * d * log(nu * M_PI) - 0.5 * (nu + d) * log1p(square / nu);
}

double mh_step_log_q(const mh_proposal *p, const double *l, double step,
                     const double *y, double *centre) {
  for (size_t j = 0; j < p->d; j++)
    centre[j] = (y[j] - centre[j]) / step;
  mh_solve_factor(p, l, centre);
  return log_standard(p, centre) - log_factor(p, l) - (double)p->d * log(step);
}

/* ---- the step s ---------------------------------------------------------- */

double mh_learned_step(const mh_proposal *p, const mh_memory *memory) {
  return exp(memory->tuning[0] + p->log_shrink);
}

double mh_gain(double n) {
  return fmin(1.0, 3.0 * pow(fmax(n, 1.0), -2.0 / 3.0));
}

/* log s <- log s + gain (rate - target): Robbins & Monro's search for the scale
 * with the wanted rate (Andrieu & Thoms 2008, algorithm 4,
 * doi:10.1007/s11222-008-9110-y). */
void mh_learn_step(const mh_proposal *p, const mh_memory *memory, double rate) {
  double *tuning = memory->tuning;
  tuning[1] += 1.0;
  tuning[0] += mh_gain(tuning[1]) * (rate - p->target);
}

void mh_count_again(const mh_proposal *p, const mh_memory *memory) {
  (void)p;
  memory->tuning[1] = 0.0;
}
