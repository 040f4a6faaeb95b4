#include "numeric/rounding.h"

#include "hlm/hlm_count.h"

#include <math.h>
#include <string.h>

#include "numeric/arena.h"
#include "numeric/linalg.h"
#include "numeric/log_cdf.h"
#include "numeric/rmath.h"
#include "run/slice.h"

/* The share of the t part of a proposal, and that part's degrees of freedom. */
#define HEAVY 0.1
#define FREEDOM 5.0

/* of find_wide() */
#define WIDE 0.01

/* Newton's method ends at a squared distance from the mode, in standard deviations,
 * below this. */
#define NEAR 0.01
#define MOST_STEPS 1000

/* ---- work space ------------------------------------------------------------------ */

static size_t larger(size_t a, size_t b) {
  return a > b ? a : b;
}

/* Returns what is left for the model of hlm_crossed.h. */
static void *carve(hlm_count *m, arena *work) {
  const hlm_count_data *data = &m->data;
  const size_t p = data->groups.p;
  size_t width = p, deviations = 0, all = 0;
  const double bars = (double)data->groups.bars;
  for (size_t f = 0; f < data->groups.bars; f++) {
    const hlm_data *bar = data->groups.bar + f;
    width = larger(width, bar->q);
    deviations = larger(deviations, bar->q * bar->groups);
    all += bar->q * bar->groups;
  }
  const double w = (double)width, n = (double)data->rows.n;
  m->eta = arena_doubles(work, n);
  m->base = arena_doubles(work, n);
  m->known = arena_doubles(work, n);
  m->along = arena_doubles(work, n);
  m->reference = arena_doubles(work, (double)p);
  m->wide = arena_take(work, (double)p, sizeof *m->wide);
  m->expected = arena_doubles(work, n * bars);
  m->at_edge = arena_take(work, (double)all, sizeof *m->at_edge);
  m->shift = arena_doubles(work, (double)deviations * (double)p);
  m->within = arena_doubles(work, bars > 0.0 ? n * (double)p : 0.0);
  m->right = arena_doubles(work, (double)p);
  m->precision = arena_doubles(work, (double)p * (double)p);
  m->theta = arena_doubles(work, (double)deviations);
  m->centre = arena_doubles(work, w);
  m->factor = arena_doubles(work, w * w);
  m->step = arena_doubles(work, w);
  m->trial = arena_doubles(work, w);
  m->gap = arena_doubles(work, w);
  m->members = arena_doubles(work, (double)deviations);
  m->total = arena_doubles(work, (double)deviations);
  return arena_take(work, (double)hlm_crossed_work_size(&data->groups), 1);
}

size_t hlm_count_work_size(const hlm_count_data *data) {
  hlm_count model = {.data = *data};
  arena counting = arena_measure();
  carve(&model, &counting);
  return arena_size(&counting);
}

/* ---- a block of effects ---------------------------------------------------------- */

/* Effects e (d) with the log density sum log_row(base + design'e) + right'e -
 * e'precision e / 2, over `count` rows. */
typedef struct {
  size_t d, count;
  const int *row;       /* their numbers; NULL: 0, 1, ...            */
  const double *design; /* d x count                                 */
  const double *right, *precision;
  const double *start; /* d: a fixed point */
  const hlm_likelihood *likelihood;
  double log_t; /* of the density of the t part at its centre */
} block;

static double log_t_at_centre(size_t d) {
  return lgammafn(0.5 * (FREEDOM + (double)d)) - lgammafn(0.5 * FREEDOM) -
         0.5 * (double)d * log(0.5 * FREEDOM);
}

static size_t row_at(const block *k, size_t i) {
  return k->row ? (size_t)k->row[i] : i;
}

/* base <- eta - design'e */
static void take_off(hlm_count *m, const block *k, const double *e) {
  for (size_t i = 0; i < k->count; i++)
    m->base[i] =
      m->eta[row_at(k, i)] - linalg_inner(k->design + k->d * i, e, k->d);
}

/* step <- the gradient at e, factor <- minus the Hessian */
static void differentiate_block(hlm_count *m, const block *k, const double *e) {
  const size_t d = k->d;
  memcpy(m->factor, k->precision, d * d * sizeof *m->factor);
  for (size_t j = 0; j < d; j++)
    m->step[j] =
      (k->right ? k->right[j] : 0.0) - linalg_inner(k->precision + d * j, e, d);
  for (size_t i = 0; i < k->count; i++) {
    const double *x = k->design + d * i;
    const hlm_derivatives at = hlm_differentiate(
      k->likelihood, row_at(k, i), m->base[i] + linalg_inner(x, e, d));
    for (size_t j = 0; j < d; j++) {
      const double bend = at.bend * x[j];
      m->step[j] += at.slope * x[j];
      for (size_t l = j; l < d; l++)
        m->factor[l + d * j] += bend * x[l];
    }
  }
}

static double log_target(const hlm_count *m, const block *k, const double *e) {
  const size_t d = k->d;
  double value = 0.0;
  for (size_t i = 0; i < k->count; i++)
    value += hlm_log_row(k->likelihood, row_at(k, i),
                         m->base[i] + linalg_inner(k->design + d * i, e, d));
  for (size_t j = 0; j < d; j++)
    value += e[j] * ((k->right ? k->right[j] : 0.0) -
                     0.5 * linalg_inner(k->precision + d * j, e, d));
  return value;
}

/* log_target() at centre + s step */
static double log_target_at_step(const hlm_count *m, const block *k, double s) {
  for (size_t j = 0; j < k->d; j++)
    m->gap[j] = m->centre[j] + s * m->step[j];
  return log_target(m, k, m->gap);
}

/* The factor by which a step of Newton's method from the centre is shortened.  slope:
 * of the log density along it. */
static double shortened(const hlm_count *m, const block *k, double slope) {
  if (!hlm_is_self_concordant(k->likelihood)) {
    const double now = log_target_at_step(m, k, 0.0);
    double s = 1.0;
    while (slope > NEAR && s > 1e-10 &&
           !(log_target_at_step(m, k, s) >= now + 1e-4 * s * slope))
      s *= 0.5;
    return s;
  }
  double most = 0.0;
  for (size_t i = 0; i < k->count; i++)
    most = fmax(most, fabs(linalg_inner(k->design + k->d * i, m->step, k->d)));
  return most > 1e-8 ? log1p(most) / most : 1.0;
}

/* centre <- the mode, about; factor <- the factor of minus the Hessian there. */
static status find_mode(hlm_count *m, const block *k) {
  memcpy(m->centre, k->start, k->d * sizeof *m->centre);
  for (int steps = 0; steps < MOST_STEPS; steps++) {
    differentiate_block(m, k, m->centre);
    const status outcome = linalg_cholesky(m->factor, k->d);
    if (outcome != STATUS_OK)
      return outcome;
    linalg_solve_lower(m->factor, k->d, m->step);
    const double distance = linalg_inner(m->step, m->step, k->d);
    linalg_solve_lower_transposed(m->factor, k->d, m->step);
    const double scale = shortened(m, k, distance);
    for (size_t j = 0; j < k->d; j++)
      m->centre[j] += scale * m->step[j];
    if (distance < NEAR)
      return STATUS_OK;
  }
  return STATUS_NOT_FINITE;
}

/* The log density of a block less that of the proposal, of which s is the squared
 * distance from its centre. */
static double log_ratio(const hlm_count *m, const block *k, const double *e) {
  const size_t d = k->d;
  const double value = log_target(m, k, e);
  double square = 0.0;
  for (size_t j = 0; j < d; j++)
    m->gap[j] = e[j] - m->centre[j];
  for (size_t j = 0; j < d; j++) {
    const double at = linalg_inner(m->factor + j + d * j, m->gap + j, d - j);
    square += at * at;
  }
  const double log_t =
    k->log_t - 0.5 * (FREEDOM + (double)d) * log1p(square / FREEDOM);
  const double a = log1p(-HEAVY) - 0.5 * square, b = log(HEAVY) + log_t;
  return value - fmax(a, b) - log1p(exp(-fabs(a - b)));
}

/* trial <- centre + s L^-T e */
static void draw_trial(hlm_count *m, size_t d) {
  const int heavy = unif_rand() < HEAVY;
  for (size_t j = 0; j < d; j++)
    m->trial[j] = norm_rand();
  linalg_solve_lower_transposed(m->factor, d, m->trial);
  const double scale = heavy ? sqrt(FREEDOM / rchisq(FREEDOM)) : 1.0;
  for (size_t j = 0; j < d; j++)
    m->trial[j] = m->centre[j] + scale * m->trial[j];
}

/* e and eta <- the next ones.  counts: of proposals and of moves. */
static status move_block(hlm_count *m, const block *k, double *e,
                         double *counts) {
  take_off(m, k, e);
  const status outcome = find_mode(m, k);
  if (outcome != STATUS_OK)
    return outcome;
  draw_trial(m, k->d);
  const double now = log_ratio(m, k, e), then = log_ratio(m, k, m->trial);
  const int moved = log(unif_rand()) < then - now;
  counts[0] += 1.0;
  counts[1] += moved;
  if (moved) {
    memcpy(e, m->trial, k->d * sizeof *e);
    for (size_t i = 0; i < k->count; i++)
      m->eta[row_at(k, i)] =
        m->base[i] + linalg_inner(k->design + k->d * i, e, k->d);
  }
  return STATUS_OK;
}

/* ---- along a line ---------------------------------------------------------------- */

typedef struct {
  const hlm_count *model;
  const block *rows;
  double slope, bend; /* of the quadratic part */
} line;

/* At e + s step, where eta moves by s along. */
static double log_of_line(const void *target, double s) {
  const line *t = target;
  const hlm_count *m = t->model;
  double sum = s * (t->slope - 0.5 * s * t->bend);
  for (size_t i = 0; i < t->rows->count; i++) {
    const size_t row = row_at(t->rows, i);
    sum += hlm_log_row(&m->rows, row, m->eta[row] + s * m->along[i]);
  }
  return sum;
}

/* A slice step of e along `step`. */
static void slide(hlm_count *m, const block *k, double *e) {
  const size_t d = k->d;
  line target = {m, k, 0.0, 0.0};
  for (size_t c = 0; c < d; c++) {
    const double *row = k->precision + d * c;
    target.slope +=
      m->step[c] * ((k->right ? k->right[c] : 0.0) - linalg_inner(row, e, d));
    target.bend += m->step[c] * linalg_inner(row, m->step, d);
  }
  for (size_t i = 0; i < k->count; i++)
    m->along[i] = linalg_inner(k->design + d * i, m->step, d);
  const double s = slice_step(log_of_line, &target, 0.0);
  for (size_t c = 0; c < d; c++)
    e[c] += s * m->step[c];
  for (size_t i = 0; i < k->count; i++)
    m->eta[row_at(k, i)] += s * m->along[i];
}

/* One of the fixed effects along column j of H^-1, in units of the standard deviation
 * of effect j: after move_block(), of which the factor of H is. */
static void slide_fixed(hlm_count *m, const block *k, size_t j, double *e) {
  const size_t d = k->d;
  memset(m->step, 0, d * sizeof *m->step);
  m->step[j] = 1.0;
  linalg_solve_lower(m->factor, d, m->step);
  const double length = sqrt(linalg_inner(m->step, m->step, d));
  linalg_solve_lower_transposed(m->factor, d, m->step);
  for (size_t c = 0; c < d; c++)
    m->step[c] /= length;
  slide(m, k, e);
}

/* Those of a group along each deviation, in units of the prior's standard deviation
 * given the others. */
static void slide_group(hlm_count *m, const block *k, double *e) {
  for (size_t j = 0; j < k->d; j++) {
    memset(m->step, 0, k->d * sizeof *m->step);
    m->step[j] = 1.0 / sqrt(k->precision[j + k->d * j]);
    slide(m, k, e);
  }
}

/* ---- effects --------------------------------------------------------------------- */

/* right <- P m, precision <- P */
static void open_fixed(hlm_count *m) {
  const hlm_count_data *data = &m->data;
  const size_t p = data->groups.p;
  memcpy(m->precision, data->precision, p * p * sizeof *m->precision);
  for (size_t j = 0; j < p; j++)
    m->right[j] = linalg_inner(m->precision + p * j, data->mean, p);
}

static block fixed_block(const hlm_count *m, const double *design) {
  const hlm_count_data *data = &m->data;
  return (block){data->groups.p, data->rows.n, NULL,
                 design,         m->right,     m->precision,
                 m->reference,   &m->rows,     log_t_at_centre(data->groups.p)};
}

static status move_fixed(hlm_count *m, const double *design, double *counts) {
  const block fixed = fixed_block(m, design);
  const status outcome = move_block(m, &fixed, m->state.groups.b, counts);
  if (outcome == STATUS_OK && m->wide_count > 0)
    slide_fixed(m, &fixed,
                m->wide[(size_t)fmod(*m->state.sweep, (double)m->wide_count)],
                m->state.groups.b);
  return outcome;
}

static status draw_fixed(hlm_count *m, double *counts) {
  open_fixed(m);
  return move_fixed(m, m->data.x, counts);
}

/* theta <- u + sign A b */
static void shift_groups(const hlm_count *m, size_t f, double sign,
                         const double *from, double *to) {
  const hlm_data *bar = m->data.groups.bar + f;
  const size_t q = bar->q, p = m->data.groups.p;
  for (size_t j = 0; j < bar->groups; j++)
    for (size_t k = 0; k < q; k++) {
      double sum = 0.0;
      for (size_t c = 0; c < p; c++)
        sum += m->shift[k + q * (c + p * j)] * m->state.groups.b[c];
      to[k + q * j] = from[k + q * j] + sign * sum;
    }
}

/* precision += sum A_j'Q A_j,  right += sum A_j'Q theta_j;  Q = Sigma_f^-1 */
static void add_groups(hlm_count *m, size_t f) {
  const hlm_data *bar = m->data.groups.bar + f;
  const size_t q = bar->q, p = m->data.groups.p;
  const double *inverse = m->groups.bar[f].inverse;
  for (size_t j = 0; j < bar->groups; j++) {
    const double *a = m->shift + q * p * j;
    for (size_t c = 0; c < p; c++) {
      for (size_t k = 0; k < q; k++)
        m->gap[k] = linalg_inner(inverse + q * k, a + q * c, q);
      m->right[c] += linalg_inner(m->gap, m->theta + q * j, q);
      for (size_t l = 0; l < p; l++)
        m->precision[l + p * c] += linalg_inner(m->gap, a + q * l, q);
    }
  }
}

/* A of group j, and x - A'z of its rows */
static status shift_group(hlm_count *m, size_t f, size_t j) {
  const hlm_rows *rows = m->data.bar + f;
  const size_t q = m->data.groups.bar[f].q, p = m->data.groups.p;
  const size_t first = (size_t)rows->first[j], end = (size_t)rows->first[j + 1];
  double *h = m->factor, *a = m->shift + q * p * j;
  memcpy(h, m->groups.bar[f].inverse, q * q * sizeof *h);
  memset(a, 0, q * p * sizeof *a);
  for (size_t i = first; i < end; i++) {
    const size_t row = (size_t)rows->row[i];
    const double *z = rows->z + q * i, *x = m->data.x + p * row;
    const double bend =
      hlm_rough_bend(&m->rows, row, m->expected[row + m->rows.n * f]);
    for (size_t k = 0; k < q; k++) {
      for (size_t l = k; l < q; l++)
        h[l + q * k] += bend * z[k] * z[l];
      for (size_t c = 0; c < p; c++)
        a[k + q * c] += bend * z[k] * x[c];
    }
  }
  const status outcome = linalg_cholesky(h, q);
  for (size_t c = 0; outcome == STATUS_OK && c < p; c++) {
    linalg_solve_lower(h, q, a + q * c);
    linalg_solve_lower_transposed(h, q, a + q * c);
    for (size_t i = first; i < end; i++) {
      const size_t at = c + p * (size_t)rows->row[i];
      m->within[at] =
        m->data.x[at] - linalg_inner(a + q * c, rows->z + q * i, q);
    }
  }
  return outcome;
}

static status draw_centred(hlm_count *m, size_t f, double *counts) {
  double *u = m->state.groups.u + m->data.groups.first[f];
  status outcome = STATUS_OK;
  for (size_t j = 0; j < m->data.groups.bar[f].groups; j++)
    if ((outcome = shift_group(m, f, j)) != STATUS_OK)
      return outcome;
  open_fixed(m);
  shift_groups(m, f, 1.0, u, m->theta);
  add_groups(m, f);
  outcome = move_fixed(m, m->within, counts);
  shift_groups(m, f, -1.0, m->theta, u);
  return outcome;
}

static status draw_groups(hlm_count *m, size_t f, double *counts) {
  const hlm_data *bar = m->data.groups.bar + f;
  const hlm_rows *rows = m->data.bar + f;
  const size_t q = bar->q;
  const double log_t = log_t_at_centre(q);
  status outcome = STATUS_OK;
  memset(m->theta, 0, q * sizeof *m->theta);
  for (size_t j = 0; outcome == STATUS_OK && j < bar->groups; j++) {
    const size_t first = (size_t)rows->first[j];
    const block group = {q,
                         (size_t)rows->first[j + 1] - first,
                         rows->row + first,
                         rows->z + q * first,
                         NULL,
                         m->groups.bar[f].inverse,
                         m->theta,
                         &m->rows,
                         log_t};
    const size_t at = m->data.groups.first[f] + q * j;
    double *u = m->state.groups.u + at;
    outcome = move_block(m, &group, u, counts);
    if (outcome == STATUS_OK && m->at_edge[at])
      slide_group(m, &group, u);
  }
  return outcome;
}

/* ---- scales ---------------------------------------------------------------------- */

typedef struct {
  const hlm_count *model;
  size_t f, k;
} scale_target;

/* along_i <- z_ik u_jl */
static void measure_along(hlm_count *m, size_t f, size_t k, size_t l) {
  const hlm_rows *rows = m->data.bar + f;
  const size_t q = m->data.groups.bar[f].q;
  const double *u = m->groups.bar[f].state.u;
  for (size_t j = 0; j < m->data.groups.bar[f].groups; j++)
    for (size_t i = (size_t)rows->first[j]; i < (size_t)rows->first[j + 1]; i++)
      m->along[rows->row[i]] = rows->z[k + q * i] * u[l + q * j];
}

static double log_of_scale(const void *target, double x) {
  const scale_target *t = target;
  const hlm_count *m = t->model;
  const double step = expm1(x);
  double sum = hlm_log_scale(m->groups.bar + t->f, t->k, x);
  for (size_t i = 0; i < m->rows.n; i++)
    sum += hlm_log_row(&m->rows, i, m->eta[i] + step * m->along[i]);
  return sum;
}

/* u_fk, Sigma_f <- s u_fk, D Sigma_f D */
static void scale_coordinate(hlm_count *m, size_t f, size_t k) {
  measure_along(m, f, k, k);
  const scale_target target = {m, f, k};
  const double x = slice_step(log_of_scale, &target, 0.0);
  const double step = expm1(x);
  for (size_t i = 0; i < m->rows.n; i++)
    m->eta[i] += step * m->along[i];
  hlm_scale_groups(m->groups.bar + f, k, x);
}

/* The c with which u_fk + c u_fl is orthogonal to u_fl: the same point from anywhere
 * along the line, where Newton's method can begin. */
static double orthogonal(const hlm_model *bar, size_t k, size_t l) {
  const size_t q = bar->data.q;
  const double *u = bar->state.u;
  double product = 0.0, square = 0.0;
  for (size_t j = 0; j < bar->data.groups; j++) {
    product += u[k + q * j] * u[l + q * j];
    square += u[l + q * j] * u[l + q * j];
  }
  return square > 0.0 ? -product / square : 0.0;
}

/* u_fk, Sigma_f <- u_fk + c u_fl, G Sigma_f G' */
static status shear(hlm_count *m, size_t f, size_t k, size_t l,
                    double *counts) {
  hlm_model *bar = m->groups.bar + f;
  const size_t q = bar->data.q;
  const double start = orthogonal(bar, k, l);
  const double precision = bar->inverse[k + q * k] * bar->sums[l + q * l];
  const double right = linalg_inner(bar->inverse + q * k, bar->sums + q * l, q);
  double c = 0.0;
  measure_along(m, f, k, l);
  const block along = {1,        m->rows.n, NULL,
                       m->along, &right,    &precision,
                       &start,   &m->rows,  log_t_at_centre(1)};
  const status outcome = move_block(m, &along, &c, counts);
  for (size_t j = 0; j < bar->data.groups; j++)
    bar->state.u[k + q * j] += c * bar->state.u[l + q * j];
  hlm_shear_inverse(bar, k, l, c);
  return outcome;
}

static status shear_all(hlm_count *m, size_t f, double *counts) {
  const hlm_data *bar = m->data.groups.bar + f;
  status outcome = STATUS_OK;
  for (size_t k = 0; !bar->diagonal && k < bar->q; k++)
    for (size_t l = 0; outcome == STATUS_OK && l < bar->q; l++)
      if (k != l)
        outcome = shear(m, f, k, l, counts);
  return outcome;
}

static status draw_bar(hlm_count *m, size_t f, double *counts) {
  hlm_model *bar = m->groups.bar + f;
  linalg_inverse_from_cholesky(bar->state.factor, bar->data.q, bar->inverse);
  status outcome = draw_groups(m, f, counts + 4);
  if (outcome == STATUS_OK && m->data.groups.p > 0)
    outcome = draw_centred(m, f, counts);
  if (outcome != STATUS_OK)
    return outcome;
  for (size_t k = 0; k < bar->data.q; k++)
    scale_coordinate(m, f, k);
  hlm_draw_sums(bar);
  outcome = shear_all(m, f, counts + 4);
  return outcome == STATUS_OK ? hlm_draw_covariance(bar) : outcome;
}

/* ---- the dispersion -------------------------------------------------------------- */

/* Of x = log t, with the Jacobian t. */
static double log_of_dispersion(const void *model, double x) {
  const hlm_count *m = model;
  const double t = exp(x) / m->data.scale, df = m->data.freedom;
  /* a density of 0 beyond what doubles hold */
  if (fabs(x) > 150.0)
    return -INFINITY;
  return hlm_log_of_size(&m->rows, m->eta, -2.0 * x) -
         0.5 * (df + 1.0) * log1p(t * t / df) + x;
}

static void set_size(hlm_count *m) {
  m->rows.log_size = -2.0 * log(*m->state.dispersion);
  m->rows.size = exp(m->rows.log_size);
}

static void draw_dispersion(hlm_count *m) {
  *m->state.dispersion =
    exp(slice_step(log_of_dispersion, m, log(*m->state.dispersion)));
  set_size(m);
}

/* ---- nearly nested bars ------------------------------------------------------------ */

typedef struct {
  const hlm_count *model;
  const hlm_near *near;
  size_t j;
  double slope, bend; /* of the prior */
  double unit;        /* of d         */
} near_target;

static double log_of_near(const void *target, double x) {
  const near_target *t = target;
  const double d = t->unit * x;
  double sum = d * (t->slope - 0.5 * d * t->bend);
  for (int i = t->near->first[t->j]; i < t->near->first[t->j + 1]; i++) {
    const size_t row = (size_t)t->near->row[i];
    sum += hlm_log_row(&t->model->rows, row,
                       t->model->eta[row] + d * t->near->change[i]);
  }
  return sum;
}

/* members, total <- of each outer group the inner ones, and the sums of their
 * (Sigma_g^-1 u_gc)_l */
static void sum_members(hlm_count *m, const hlm_near *near) {
  const hlm_model *inner = m->groups.bar + near->inner;
  const size_t q = inner->data.q;
  const size_t groups = m->data.groups.bar[near->outer].groups;
  memset(m->members, 0, groups * sizeof *m->members);
  memset(m->total, 0, groups * sizeof *m->total);
  for (size_t c = 0; c < inner->data.groups; c++) {
    m->members[near->parent[c]] += 1.0;
    m->total[near->parent[c]] += linalg_inner(
      inner->inverse + q * near->inner_term, inner->state.u + q * c, q);
  }
}

/* The moves become m->total. */
static void move_near(hlm_count *m, const hlm_near *near) {
  hlm_model *outer = m->groups.bar + near->outer;
  hlm_model *inner = m->groups.bar + near->inner;
  const size_t k = near->outer_term, l = near->inner_term;
  const size_t qf = outer->data.q, qg = inner->data.q;
  linalg_inverse_from_cholesky(outer->state.factor, qf, outer->inverse);
  linalg_inverse_from_cholesky(inner->state.factor, qg, inner->inverse);
  sum_members(m, near);
  for (size_t j = 0; j < outer->data.groups; j++) {
    double *u = outer->state.u + qf * j;
    near_target target = {m, near, j, 0.0, 0.0, 0.0};
    target.slope = m->total[j] - linalg_inner(outer->inverse + qf * k, u, qf);
    target.bend =
      outer->inverse[k + qf * k] + m->members[j] * inner->inverse[l + qg * l];
    target.unit = 1.0 / sqrt(target.bend);
    const double d = target.unit * slice_step(log_of_near, &target, 0.0);
    u[k] += d;
    for (int i = near->first[j]; i < near->first[j + 1]; i++)
      m->eta[near->row[i]] += d * near->change[i];
    m->total[j] = d;
  }
  for (size_t c = 0; c < inner->data.groups; c++)
    inner->state.u[l + qg * c] -= m->total[near->parent[c]];
}

/* ---- the sweep ------------------------------------------------------------------- */

static void predict(hlm_count *m) {
  const hlm_count_data *data = &m->data;
  const size_t p = data->groups.p;
  for (size_t i = 0; i < data->rows.n; i++)
    m->eta[i] = (data->offset ? data->offset[i] : 0.0) +
                linalg_inner(data->x + p * i, m->state.groups.b, p);
  for (size_t f = 0; f < data->groups.bars; f++) {
    const hlm_rows *rows = data->bar + f;
    const hlm_data *bar = data->groups.bar + f;
    const double *u = m->state.groups.u + data->groups.first[f];
    for (size_t j = 0; j < bar->groups; j++)
      for (size_t i = (size_t)rows->first[j]; i < (size_t)rows->first[j + 1];
           i++)
        m->eta[rows->row[i]] +=
          linalg_inner(rows->z + bar->q * i, u + bar->q * j, bar->q);
  }
}

/* The fixed effects that the prior bounds as much as the data do: those with more
 * than WIDE of their prior variance at the reference.  Their posterior is far from
 * normal where all counts of a level are 0. */
static void find_wide(hlm_count *m) {
  const size_t p = m->data.groups.p;
  m->wide_count = 0;
  for (size_t j = 0; j < p; j++) {
    memset(m->step, 0, p * sizeof *m->step);
    m->step[j] = 1.0;
    linalg_solve_lower(m->factor, p, m->step);
    const double variance = linalg_inner(m->step, m->step, p);
    if (variance * m->data.precision[j + p * j] > WIDE)
      m->wide[m->wide_count++] = j;
  }
}

/* reference <- the mode of b without groups, of a negative binomial distribution as of a
 * Poisson one */
static status find_reference(hlm_count *m) {
  const hlm_count_data *data = &m->data;
  block fixed = fixed_block(m, data->x);
  fixed.start = data->start;
  hlm_likelihood poisson = m->rows;
  poisson.type = HLM_POISSON;
  if (m->rows.type == HLM_NEGBINOMIAL)
    fixed.likelihood = &poisson;
  for (size_t i = 0; i < data->rows.n; i++)
    m->base[i] = data->offset ? data->offset[i] : 0.0;
  open_fixed(m);
  const status outcome = find_mode(m, &fixed);
  memcpy(m->reference, m->centre, data->groups.p * sizeof *m->reference);
  if (outcome == STATUS_OK)
    find_wide(m);
  return outcome;
}

/* expected <- those of bar f, about the reference */
static void expect_rows(hlm_count *m, size_t f) {
  const hlm_count_data *data = &m->data;
  const hlm_rows *rows = data->bar + f;
  const size_t p = data->groups.p;
  double *own = m->expected + m->rows.n * f;
  for (size_t i = 0; i < m->rows.n; i++)
    own[i] = (data->offset ? data->offset[i] : 0.0) +
             linalg_inner(data->x + p * i, m->reference, p);
  for (size_t j = 0; j < data->groups.bar[f].groups; j++) {
    const int *row = rows->row + rows->first[j];
    const size_t count = (size_t)(rows->first[j + 1] - rows->first[j]);
    hlm_expect(&m->rows, row, count, own);
    m->at_edge[data->groups.first[f] + data->groups.bar[f].q * j] =
      hlm_is_at_edge(&m->rows, row, count);
  }
}

status hlm_count_open(hlm_count *m, const hlm_count_data *data,
                      const hlm_count_state *state, hlm_model *bar,
                      void *const *bar_work, void *work) {
  m->data = *data;
  m->rows = data->rows;
  m->state = *state;
  m->wide_count = 0;
  arena over = arena_over(work);
  void *rest = carve(m, &over);
  hlm_crossed_open(&m->groups, &data->groups, &state->groups, bar, bar_work,
                   rest);
  if (m->rows.type == HLM_NEGBINOMIAL)
    set_size(m);
  hlm_likelihood_open(&m->rows, m->known);
  const status outcome = data->groups.p > 0 ? find_reference(m) : STATUS_OK;
  for (size_t f = 0; outcome == STATUS_OK && f < data->groups.bars; f++)
    expect_rows(m, f);
  return outcome;
}

status hlm_count_sweep(void *model, const scan_control *control) {
  hlm_count *m = model;
  const hlm_count_data *data = &m->data;
  double *counts =
    m->state.counts + (scan_in_burnin(*m->state.sweep + 1.0, control) ? 0 : 2);
  predict(m);
  status outcome = data->groups.bars > 0 ? STATUS_OK : draw_fixed(m, counts);
  for (size_t f = 0; outcome == STATUS_OK && f < data->groups.bars; f++)
    outcome = draw_bar(m, f, counts);
  if (outcome == STATUS_OK)
    outcome = hlm_crossed_move_nested(&m->groups, control);
  if (outcome != STATUS_OK)
    return outcome;
  for (size_t i = 0; i < data->nears; i++)
    move_near(m, data->near + i);
  if (data->rows.type == HLM_NEGBINOMIAL)
    draw_dispersion(m);
  return isfinite(hlm_log_likelihood(&m->rows, m->eta)) ? STATUS_OK
                                                        : STATUS_NOT_FINITE;
}

/* ---- the stored quantities ------------------------------------------------------- */

size_t hlm_count_columns(const hlm_count_data *data) {
  return hlm_crossed_columns(&data->groups) +
         (data->rows.type == HLM_NEGBINOMIAL);
}

void hlm_count_record(void *model, double *row, size_t stride) {
  hlm_count *m = model;
  const hlm_crossed_data *groups = &m->data.groups;
  double *next = row;
  for (size_t k = 0; k < groups->p; k++, next += stride)
    *next = m->state.groups.b[k];
  for (size_t f = 0; f < groups->bars; f++)
    next = hlm_record_covariance(m->groups.bar + f, next, stride);
  if (m->rows.type == HLM_NEGBINOMIAL) {
    *next = *m->state.dispersion;
    next += stride;
  }
  predict(m);
  *next = hlm_log_likelihood(&m->rows, m->eta);
  for (size_t f = 0; f < groups->bars; f++)
    next = hlm_record_deviations(m->groups.bar + f, next, stride);
}
