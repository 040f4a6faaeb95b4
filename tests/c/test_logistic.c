/* Logistic regression: terms by hand, derivatives by differences, dense against
 * sparse rows, blocks, the search, and the columns of a design. */
#include "logistic/logistic.h"

#include <math.h>
#include <string.h>

#include "harness.h"
#include "laplace/laplace.h"
#include "logistic/logistic_search.h"
#include "numeric/columns.h"
#include "numeric/dense.h"
#include "numeric/linalg.h"
#include "numeric/rmath.h"

void test_logistic(void);

/* A problem in both forms; release_problem() gives its memory back. */
typedef struct {
  logistic_data dense, sparse;
  double *x, *success, *total, *offset, *precision, *value;
  int *row_start, *column;
} problem;

enum { MAX_ROWS = 1200, MAX_COLUMNS = 9 };
static const double density = 0.4;

static problem make_problem(size_t n, size_t p, int *row_start, int *column) {
  problem q = {.row_start = row_start, .column = column};
  q.x = new_numbers(n * p);
  q.success = new_numbers(n);
  q.total = new_numbers(n);
  q.offset = new_numbers(n);
  q.precision = new_numbers(p * p);
  q.value = new_numbers(n * p);
  int entries = 0;
  for (size_t i = 0; i < n; i++) {
    row_start[i] = entries;
    for (size_t j = 0; j < p; j++) {
      if (j > 0 && unif_rand() > density)
        continue;
      q.x[i + n * j] = q.value[entries] = norm_rand();
      column[entries++] = (int)j;
    }
    q.total[i] = i % 5 == 3 ? 0.0 : 0.5 + 3.0 * unif_rand();
    q.success[i] = q.total[i] * (i % 2 ? unif_rand() : i % 4 == 0);
    q.offset[i] = 0.3 * norm_rand();
  }
  row_start[n] = entries;
  for (size_t j = 0; j < p; j++)
    for (size_t i = 0; i < p; i++)
      q.precision[i + p * j] = i == j ? 1.5 : 0.1;
  const logistic_data both = {.n = n,
                              .p = p,
                              .success = q.success,
                              .total = q.total,
                              .offset = q.offset,
                              .precision = q.precision,
                              .constant = -2.5};
  q.dense = q.sparse = both;
  q.dense.x = q.x;
  q.sparse.row_start = row_start;
  q.sparse.column = column;
  q.sparse.value = q.value;
  return q;
}

static void release_problem(problem *q) {
  double *all[] = {q->x,      q->success,   q->total,
                   q->offset, q->precision, q->value};
  for (size_t k = 0; k < LENGTH(all); k++)
    release_numbers(all[k]);
}

/* Calls check(problem) for sizes around the blocks. */
static void for_problems(void (*check)(const problem *q)) {
  static const size_t rows[] = {1, 7, 255, 256, 257, 512, 700};
  static const size_t columns[] = {1, 3, 5, 9, 2, 4, 6};
  int row_start[MAX_ROWS + 1], column[MAX_ROWS * MAX_COLUMNS];
  set_seed(31, 32);
  for (size_t k = 0; k < LENGTH(rows); k++) {
    problem q = make_problem(rows[k], columns[k], row_start, column);
    check(&q);
    release_problem(&q);
  }
}

/* ---- one observation ----------------------------------------------------- */

/* All terms of one observation; the others of its block differ. */
static logistic_terms linked_terms(int probit, double eta, double success,
                                   double total) {
  logistic_terms t = {.probit = probit};
  for (size_t b = 0; b < LOGISTIC_BLOCK; b++) {
    t.eta[b] = b == 77 ? eta : 0.5 - (double)(b % 9);
    t.success[b] = b == 77 ? success : 0.25;
    t.total[b] = b == 77 ? total : 1.0;
  }
  logistic_fill_terms(&t);
  return t;
}

static logistic_terms terms_of(double eta, double success, double total) {
  return linked_terms(0, eta, success, total);
}

static double log_lik_of(double eta, double success, double total) {
  return terms_of(eta, success, total).log_lik[77];
}

static void terms_by_hand(void) {
  EXPECT_NEAR(log_lik_of(0.0, 1.0, 1.0), -log(2.0), 1e-15);
  EXPECT_NEAR(log_lik_of(2.0, 1.0, 3.0), 2.0 - 3.0 * log1p(exp(2.0)), 1e-15);
  EXPECT_NEAR(log_lik_of(-800.0, 1.0, 1.0), -800.0, 1e-15);
  EXPECT_NEAR(log_lik_of(800.0, 0.0, 1.0), -800.0, 1e-15);
  /* tiny, not lost: log sigma(40) = -exp(-40) + ... */
  EXPECT(fabs(log_lik_of(40.0, 1.0, 1.0) / -exp(-40.0) - 1.0) < 1e-12);
  EXPECT(fabs(log_lik_of(-40.0, 0.0, 1.0) / -exp(-40.0) - 1.0) < 1e-12);
  EXPECT(log_lik_of(1e308, 1.0, 1.0) == 0.0);
  EXPECT(isnan(log_lik_of(NAN, 1.0, 1.0)) && isnan(log_lik_of(NAN, 0.0, 1.0)));
}

/* Against the library's functions, relative to each term's size. */
static void terms_by_the_library(void) {
  double worst = 0.0;
  for (double eta = -700.0; eta < 700.0; eta += 0.37) {
    const double e = exp(-fabs(eta)), m = 2.5;
    const double share = eta > 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
    for (int success = 0; success < 2; success++) {
      const double s = success ? m : 0.0;
      const logistic_terms t = terms_of(eta, s, m);
      const double away = success ? eta : -eta;
      const double log_lik =
        m * (away > 0.0 ? -log1p(exp(-away)) : away - log1p(exp(away)));
      const double rest = success
                            ? m * (eta > 0.0 ? e / (1.0 + e) : 1.0 / (1.0 + e))
                            : -m * share;
      const double curvature = m * e / ((1.0 + e) * (1.0 + e));
      worst = fmax(worst, fabs(t.log_lik[77] / log_lik - 1.0));
      worst = fmax(worst, fabs(t.residual[77] / rest - 1.0));
      worst = fmax(worst, fabs(t.curvature[77] / curvature - 1.0));
    }
  }
  EXPECT(worst < 4e-15);
}

static double probit_log_lik(double eta, double success, double total) {
  return linked_terms(1, eta, success, total).log_lik[77];
}

static void probit_terms_by_hand(void) {
  const double log_root = 0.5 * log(2.0 * acos(-1.0));
  EXPECT_NEAR(probit_log_lik(0.0, 1.0, 3.0), -3.0 * log(2.0), 1e-15);
  EXPECT_NEAR(probit_log_lik(1.3, 1.0, 3.0),
              pnorm(1.3, 0.0, 1.0, 1, 1) + 2.0 * pnorm(1.3, 0.0, 1.0, 0, 1),
              1e-15);
  /* Phi(-t) is about Phi'(t) / t */
  EXPECT_NEAR(probit_log_lik(-1e8, 1.0, 1.0), -5e15 - log_root - log(1e8),
              1e-15);
  EXPECT(probit_log_lik(1e308, 1.0, 1.0) == 0.0);
  EXPECT(probit_log_lik(-1e308, 0.0, 2.0) == 0.0);
  EXPECT(probit_log_lik(-1e308, 1.0, 1.0) == -INFINITY);
  const logistic_terms far = linked_terms(1, -1e150, 1.0, 1.0);
  EXPECT_NEAR(far.residual[77] / 1e150, 1.0, 1e-15);
  EXPECT_NEAR(far.curvature[77], 1.0, 1e-15);
  EXPECT(isnan(probit_log_lik(NAN, 1.0, 1.0)) &&
         isnan(probit_log_lik(NAN, 0.0, 1.0)));
}

/* K(t) as a continued fraction (Abramowitz & Stegun 1964, 26.2.14), t not small:
 * 1 / (t + 2 / (t + 3 / (t + ...))). */
static double excess_of(double t) {
  double below = t;
  for (int k = 400; k > 1; k--)
    below = t + k / below;
  return 1.0 / below;
}

/* Against the library's functions, relative to each term's size, where the
 * logarithms of the library have the digits for it; further out against a continued
 * fraction. */
static void probit_terms_by_the_library(void) {
  double worst = 0.0;
  for (double eta = -300.0; eta < 300.0; eta += 0.0371) {
    const double m = 2.5, t = fabs(eta);
    for (int success = 0; success < 2; success++) {
      const double away = success ? eta : -eta;
      const double log_p = pnorm(away, 0.0, 1.0, 1, 1);
      double slope = exp(dnorm(away, 0.0, 1.0, 1) - log_p);
      double bend = slope * (slope + away);
      if (away < -4.0) {
        slope = t + excess_of(t);
        bend = slope * excess_of(t);
      }
      const logistic_terms terms = linked_terms(1, eta, success ? m : 0.0, m);
      const double sign = success ? m : -m;
      /* a rounding error of t^2 / 2 */
      const double digits = away > 2.0 ? 1.0 + t * t : 1.0;
      if (t > 36.0 && away > 0.0)
        continue;
      worst = fmax(worst, fabs(terms.log_lik[77] / (m * log_p) - 1.0) / digits);
      worst =
        fmax(worst, fabs(terms.residual[77] / (sign * slope) - 1.0) / digits);
      /* the difference h + eta loses digits in the reference */
      const double lost = away < 0.0 && away >= -4.0 ? 30.0 : digits;
      worst = fmax(worst, fabs(terms.curvature[77] / (m * bend) - 1.0) / lost);
    }
  }
  EXPECT(worst < 4e-15);
}

/* ---- the density and its derivatives ------------------------------------- */

/* L by its definition, one observation after another. */
static double by_definition(const problem *q, int probit, const double *w) {
  const size_t n = q->dense.n, p = q->dense.p;
  double value = q->dense.constant;
  for (size_t i = 0; i < n; i++) {
    double eta = q->offset[i];
    for (size_t j = 0; j < p; j++)
      eta += q->x[i + n * j] * w[j];
    const double s = q->success[i], f = q->total[i] - s;
    value += probit
               ? s * pnorm(eta, 0.0, 1.0, 1, 1) + f * pnorm(eta, 0.0, 1.0, 0, 1)
               : s * eta - q->total[i] * log1p(exp(eta));
  }
  for (size_t j = 0; j < p; j++)
    for (size_t i = 0; i < p; i++)
      value -= 0.5 * w[i] * q->precision[i + p * j] * w[j];
  return value;
}

static void derivatives_of(const problem *q, const logistic_data *data) {
  const size_t p = data->p;
  const double h = 1e-5;
  double w[MAX_COLUMNS], up[MAX_COLUMNS], down[MAX_COLUMNS];
  double gradient[MAX_COLUMNS], more[MAX_COLUMNS], less[MAX_COLUMNS];
  double hessian[MAX_COLUMNS * MAX_COLUMNS];
  double *work = new_numbers(logistic_work_size(p));
  for (size_t j = 0; j < p; j++)
    w[j] = norm_rand();
  const double value = logistic_evaluate(data, w, gradient, hessian, work);
  EXPECT_NEAR(value, by_definition(q, data->probit, w), 1e-12);
  EXPECT(logistic_evaluate(data, w, NULL, NULL, work) == value);
  for (size_t j = 0; j < p; j++) {
    memcpy(up, w, p * sizeof *w);
    memcpy(down, w, p * sizeof *w);
    up[j] += h;
    down[j] -= h;
    const double high = logistic_evaluate(data, up, more, NULL, work);
    const double low = logistic_evaluate(data, down, less, NULL, work);
    EXPECT(fabs(gradient[j] - (high - low) / (2.0 * h)) < 1e-5);
    for (size_t i = j; i < p; i++)
      EXPECT(fabs(hessian[i + p * j] + (more[i] - less[i]) / (2.0 * h)) < 1e-5);
  }
  release_numbers(work);
}

static void both_forms(const problem *q) {
  for (int probit = 0; probit < 2; probit++) {
    problem linked = *q;
    linked.dense.probit = linked.sparse.probit = probit;
    derivatives_of(q, &linked.dense);
    derivatives_of(q, &linked.sparse);
  }
}

static void derivatives_by_differences(void) {
  for_problems(both_forms);
}

/* The same by the pieces: L' from residuals, -L'' and its diagonal from
 * curvatures, some of which are 0. */
static void pieces_of(const logistic_data *data) {
  const size_t n = data->n, p = data->p;
  double w[MAX_COLUMNS], sum[MAX_COLUMNS], other[MAX_COLUMNS];
  double hessian[MAX_COLUMNS * MAX_COLUMNS], gram[MAX_COLUMNS * MAX_COLUMNS];
  double *work = new_numbers(logistic_work_size(p));
  double *eta = new_numbers(n), *residual = new_numbers(n);
  double *curvature = new_numbers(n);
  for (size_t j = 0; j < p; j++)
    w[j] = norm_rand();
  logistic_evaluate(data, w, sum, hessian, work);
  logistic_predictor(data, 0, n, w, 1, eta);
  for (size_t i = 0; i < n; i++) {
    const double m = data->total[i], share = 1.0 / (1.0 + exp(-eta[i]));
    residual[i] = data->success[i] - m * share;
    curvature[i] = m * share * (1.0 - share);
  }
  logistic_gradient(data, residual, w, other);
  for (size_t j = 0; j < p; j++)
    EXPECT_NEAR(other[j], sum[j], 1e-12);
  logistic_gram(data, curvature, gram, work);
  logistic_add_prior(data, w, NULL, gram);
  for (size_t j = 0; j < p; j++)
    for (size_t i = j; i < p; i++)
      EXPECT_NEAR(gram[i + p * j], hessian[i + p * j], 1e-12);
  logistic_squares(data, curvature, other);
  for (size_t j = 0; j < p; j++)
    EXPECT_NEAR(other[j] + data->precision[j + p * j], hessian[j + p * j],
                1e-12);
  double *all[] = {work, eta, residual, curvature};
  for (size_t k = 0; k < LENGTH(all); k++)
    release_numbers(all[k]);
}

static void both_pieces(const problem *q) {
  pieces_of(&q->dense);
  pieces_of(&q->sparse);
}

static void derivatives_by_pieces(void) {
  for_problems(both_pieces);
}

static void rows_of(const problem *q) {
  const size_t n = q->dense.n, p = q->dense.p, draws = 3;
  double w[3 * MAX_COLUMNS], *work = new_numbers(LOGISTIC_BLOCK * draws);
  double *dense = new_numbers(n * draws), *sparse = new_numbers(n * draws);
  for (size_t e = 0; e < p * draws; e++)
    w[e] = norm_rand();
  for (int log_lik = 0; log_lik < 2; log_lik++) {
    logistic_by_row(&q->dense, log_lik, w, draws, dense, work);
    logistic_by_row(&q->sparse, log_lik, w, draws, sparse, work);
    for (size_t s = 0; s < draws; s++)
      for (size_t i = 0; i < n; i++) {
        double eta = q->offset[i];
        for (size_t j = 0; j < p; j++)
          eta += q->x[i + n * j] * w[j + p * s];
        if (log_lik)
          eta = log_lik_of(eta, q->success[i], q->total[i]);
        EXPECT_NEAR(dense[s + draws * i], eta, 1e-13);
        EXPECT_NEAR(sparse[s + draws * i], eta, 1e-13);
      }
  }
  release_numbers(work);
  release_numbers(dense);
  release_numbers(sparse);
}

static void terms_by_row(void) {
  for_problems(rows_of);
}

/* ---- the search ---------------------------------------------------------- */

static logistic_result search_from(const logistic_data *data, double start,
                                   logistic_method method, double *w,
                                   double *factor, double *trace) {
  const size_t p = data->p;
  const logistic_control control = {
    .method = method, .limit = 5000, .tolerance = 1e-8};
  double *work = new_numbers(logistic_search_size(p));
  for (size_t j = 0; j < p; j++)
    w[j] = start;
  const logistic_result found =
    logistic_search(data, &control, w, factor, trace, work);
  release_numbers(work);
  return found;
}

/* The gradient vanishes, the factor is that of minus the Hessian, the trace
 * rises, and other starts and the other method end at the same place. */
static void search_of(const problem *q) {
  const size_t p = q->dense.p;
  double w[MAX_COLUMNS], other[MAX_COLUMNS], gradient[MAX_COLUMNS];
  double factor[MAX_COLUMNS * MAX_COLUMNS], hessian[MAX_COLUMNS * MAX_COLUMNS];
  double *trace = new_numbers(5001), *work = new_numbers(logistic_work_size(p));
  const logistic_result found =
    search_from(&q->dense, 0.0, LOGISTIC_NEWTON, w, factor, trace);
  EXPECT(found.outcome == LOGISTIC_CONVERGED && found.iterations < 20);
  for (size_t k = 0; k < found.iterations; k++)
    EXPECT(trace[k + 1] >= trace[k] - 1e-10);
  const double value = logistic_evaluate(&q->dense, w, gradient, hessian, work);
  EXPECT_NEAR(found.log_joint, value, 1e-12);
  for (size_t j = 0; j < p; j++) {
    EXPECT(fabs(gradient[j]) < 1e-8);
    for (size_t i = j; i < p; i++) {
      double product = 0.0;
      for (size_t c = 0; c < p; c++)
        product += factor[i + p * c] * factor[j + p * c];
      EXPECT_NEAR(product, hessian[i + p * j], 1e-7);
    }
    for (size_t i = 0; i < j; i++)
      EXPECT(factor[i + p * j] == 0.0);
  }
  const double starts[] = {0.0, 30.0, -1000.0};
  for (size_t k = 0; k < LENGTH(starts); k++) {
    search_from(&q->sparse, starts[k], LOGISTIC_NEWTON, other, factor, trace);
    for (size_t j = 0; j < p; j++)
      EXPECT_NEAR(other[j], w[j], 1e-7);
  }
  const logistic_result ascent =
    search_from(&q->dense, 1.0, LOGISTIC_GRADIENT, other, factor, trace);
  EXPECT(ascent.outcome == LOGISTIC_CONVERGED);
  for (size_t j = 0; j < p; j++)
    EXPECT_NEAR(other[j], w[j], 1e-6);
  release_numbers(trace);
  release_numbers(work);
}

static void search_finds_the_mode(void) {
  for_problems(search_of);
}

/* ---- the way to the mode by conjugate gradients -------------------------- */

static int always(void *unused) {
  (void)unused;
  return 1;
}

/* y = 1 where x > 0, and no prior: there is no maximum. */
static void search_without_a_maximum(void) {
  const double x[] = {-2, -1, 1, 2}, success[] = {0, 0, 1, 1};
  const double total[] = {1, 1, 1, 1}, none = 0.0;
  const logistic_data data = {.n = 4,
                              .p = 1,
                              .x = x,
                              .success = success,
                              .total = total,
                              .precision = &none,
                              .diagonal = 1};
  logistic_control control = {.limit = 5, .share = 1, .tolerance = 1e-8};
  double w = 0.0, factor, trace[6],
         *work = new_numbers(logistic_search_size(data.p));
  logistic_result found =
    logistic_search(&data, &control, &w, &factor, trace, work);
  EXPECT(found.outcome == LOGISTIC_LIMIT && found.iterations == 5);
  EXPECT(found.share < 0.1);
  w = 0.0;
  control.stop = always;
  found = logistic_search(&data, &control, &w, &factor, trace, work);
  EXPECT(found.outcome == LOGISTIC_INTERRUPTED && found.iterations == 0);
  release_numbers(work);
}

/* ---- the columns of a design --------------------------------------------- */

static void columns_by_hand(void) {
  const double v[] = {1, 2, 3, 6}, counts[] = {1, 1, 0.5, 0};
  column_summary c = columns_describe(v, NULL, 4, NULL, 4);
  EXPECT_NEAR(c.mean, 3.0, 1e-15);
  EXPECT_NEAR(c.sd, sqrt(14.0 / 3.0), 1e-15);
  EXPECT_NEAR(c.squares, 50.0, 1e-15);
  c = columns_describe(v, NULL, 4, counts, 4);
  EXPECT(c.mean == 2.0 && c.sd == 1.0 && c.squares == 14.0 && c.finite);
  /* rows 1 and 3 of four are zero */
  const int row[] = {0, 2};
  c = columns_describe(v, row, 2, NULL, 4);
  EXPECT_NEAR(c.mean, 0.75, 1e-15);
  EXPECT_NEAR(c.sd, sqrt(2.75 / 3.0), 1e-15);
  c = columns_describe(v, row, 0, NULL, 4);
  EXPECT(c.mean == 0.0 && c.sd == 0.0 && c.squares == 0.0);
  const double same[] = {0.1, 0.1, 0.1};
  c = columns_describe(same, NULL, 3, NULL, 3);
  EXPECT(c.mean == 0.1 && c.sd == 0.0);
  const double wild[] = {1, NAN, 2}, far[] = {1, 2, INFINITY};
  EXPECT(!columns_describe(wild, NULL, 3, NULL, 3).finite);
  EXPECT(!columns_describe(far, NULL, 3, counts, 3).finite);
}

/* ---- draws from the approximation ---------------------------------------- */

static void have_the_moments(int one_at_a_time) {
  const scan_control control = {.thin = 1.0, .threads = 1};
  /* precision L L' = 4 2; 2 2, covariance 1/2 -1/2; -1/2 1 */
  const double mean[] = {1.0, -3.0}, factor[] = {2, 1, 0, 1};
  enum { DRAWS = 20000 };
  double w[2], row[2], *x = new_numbers(DRAWS), *y = new_numbers(DRAWS);
  double *product = new_numbers(DRAWS);
  double ahead[2 * LAPLACE_AHEAD], used = LAPLACE_AHEAD;
  const laplace_model several = {2, mean, factor, w, ahead, &used};
  laplace_model model = several;
  if (one_at_a_time)
    model.ahead = NULL;
  set_seed(33, 34);
  for (size_t s = 0; s < DRAWS; s++) {
    EXPECT(laplace_sweep(&model, &control) == STATUS_OK);
    laplace_record(&model, row, 1);
    x[s] = row[0];
    y[s] = row[1];
    product[s] = (row[0] - 1.0) * (row[1] + 3.0);
  }
  EXPECT(fabs(z_mean(x, DRAWS, 1.0)) < MAX_Z);
  EXPECT(fabs(z_mean(y, DRAWS, -3.0)) < MAX_Z);
  EXPECT(fabs(z_variance(x, DRAWS, 0.5)) < MAX_Z);
  EXPECT(fabs(z_variance(y, DRAWS, 1.0)) < MAX_Z);
  EXPECT(fabs(z_mean(product, DRAWS, -0.5)) < MAX_Z);
  release_numbers(x);
  release_numbers(y);
  release_numbers(product);
}

static void draws_have_the_moments(void) {
  have_the_moments(0);
  have_the_moments(1);
}

void test_logistic(void) {
  run_test("logistic: terms by hand", terms_by_hand);
  run_test("logistic: terms by the library", terms_by_the_library);
  run_test("probit: terms by hand", probit_terms_by_hand);
  run_test("probit: terms by the library", probit_terms_by_the_library);
  run_test("logistic: derivatives by differences", derivatives_by_differences);
  run_test("logistic: derivatives by pieces", derivatives_by_pieces);
  run_test("logistic: terms by row", terms_by_row);
  run_test("logistic: search finds the mode", search_finds_the_mode);
  run_test("logistic: search without a maximum", search_without_a_maximum);
  run_test("logistic: columns by hand", columns_by_hand);
  run_test("laplace: draws have the moments", draws_have_the_moments);
}
