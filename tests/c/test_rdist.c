/* Random variates: exact use of the generator, tests of fit, and wrong variants
 * that the same tests of fit must reject. */
#include "numeric/rdist.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "drawing.h"
#include "harness.h"
#include "numeric/linalg.h"
#include "numeric/rmath.h"

void test_rdist(void);

/* ---- log gamma: fit ------------------------------------------------------ */

/* P(log G <= g) for G ~ Gamma(shape, 1).  Below x = exp(-30) it is
 * x^shape / Gamma(shape + 1) up to a relative error of exp(-30), and the
 * logarithm reaches where x underflows. */
static double log_gamma_cdf(double g, double shape) {
  if (g < -30.0)
    return exp(shape * g - lgammafn(shape + 1.0));
  return pgamma(exp(g), shape, 1.0, 1, 0);
}

typedef void (*gamma_filler)(double shape, double *x, size_t n);

static void fill_from_r(double shape, double *x, size_t n) {
  for (size_t i = 0; i < n; i++)
    x[i] = rdist_log_gamma(shape);
}

/* One item a variate: what a parallel block does. */
static void fill_from_philox(double shape, double *x, size_t n) {
  const philox_key key = philox_key_from_r();
  for (size_t i = 0; i < n; i++) {
    philox_stream s = philox_open(key, i, 3);
    x[i] = philox_log_gamma(&s, shape);
  }
}

/* One stream for all variates. */
static void fill_from_one_stream(double shape, double *x, size_t n) {
  philox_stream s = philox_open(philox_key_from_r(), 7, 0);
  for (size_t i = 0; i < n; i++)
    x[i] = philox_log_gamma(&s, shape);
}

/* Mutant: Gamma(shape, rate = 2) for Gamma(shape, 1). */
static void fill_with_rate_two(double shape, double *x, size_t n) {
  fill_from_philox(shape, x, n);
  for (size_t i = 0; i < n; i++)
    x[i] -= log(2.0);
}

/* Mutant: Gamma(shape + 1) without the boost U^(1/shape). */
static void fill_without_boost(double shape, double *x, size_t n) {
  fill_from_philox(shape + 1.0, x, n);
}

/* Mutant: the boost U^shape. */
static void fill_with_wrong_boost(double shape, double *x, size_t n) {
  fill_without_boost(shape, x, n);
  for (size_t i = 0; i < n; i++)
    x[i] += shape * log(unif_rand());
}

/* Mutant: d = shape where Marsaglia & Tsang have shape - 1/3. */
static void fill_without_third(double shape, double *x, size_t n) {
  fill_from_philox(shape + 1.0 / 3.0, x, n);
}

static double log_gamma_p_value(gamma_filler fill, double shape) {
  enum { N = 40000 };
  double *x = new_numbers(N);
  set_seed(21, 22);
  fill(shape, x, N);
  const double p = ks_p_value(x, N, log_gamma_cdf, shape);
  release_numbers(x);
  return p;
}

static const double shapes[] = {1e-10, 1e-3, 0.5, 0.999, 1,
                                1.001, 3.7,  100, 1e6};

static void fits_at_every_shape(gamma_filler fill) {
  for (size_t i = 0; i < LENGTH(shapes); i++)
    EXPECT(log_gamma_p_value(fill, shapes[i]) > TINY_P);
}

static void log_gamma_fits(void) {
  fits_at_every_shape(fill_from_r);
}

static void philox_log_gamma_fits(void) {
  fits_at_every_shape(fill_from_philox);
  fits_at_every_shape(fill_from_one_stream);
}

static void log_gamma_mutants(void) {
  for (size_t i = 0; i < LENGTH(shapes); i++) {
    if (shapes[i] >= 0.5)
      EXPECT(log_gamma_p_value(fill_with_rate_two, shapes[i]) < TINY_P);
    if (shapes[i] < 1.0)
      EXPECT(log_gamma_p_value(fill_without_boost, shapes[i]) < TINY_P);
    if (shapes[i] <= 0.5) /* nearer to 1 the two boosts are the same */
      EXPECT(log_gamma_p_value(fill_with_wrong_boost, shapes[i]) < TINY_P);
    if (shapes[i] >= 0.5 && shapes[i] <= 100.0)
      EXPECT(log_gamma_p_value(fill_without_third, shapes[i]) < TINY_P);
  }
}

/* ---- log gamma: exactness and extremes ----------------------------------- */

static void log_gamma_uses_the_generator_as_stated(void) {
  for (size_t i = 0; i < LENGTH(shapes); i++) {
    set_seed(5, 6);
    const double drawn = rdist_log_gamma(shapes[i]), next = unif_rand();
    set_seed(5, 6);
    const int boosted = shapes[i] < 1.0;
    double expected = log(rgamma(boosted ? shapes[i] + 1.0 : shapes[i], 1.0));
    if (boosted)
      expected += log(unif_rand()) / shapes[i];
    EXPECT(drawn == expected && next == unif_rand());
  }
}

static void log_gamma_is_always_finite(void) {
  const double extreme[] = {DBL_MIN, 1e-300, 1e-100, 1e-10, 1e-3,
                            1,       1e10,   1e100,  1e300};
  philox_stream s = philox_open(philox_key_from_r(), 0, 0);
  set_seed(7, 8);
  for (size_t i = 0; i < LENGTH(extreme); i++)
    for (int repeat = 0; repeat < 2000; repeat++) {
      EXPECT(isfinite(rdist_log_gamma(extreme[i])));
      EXPECT(isfinite(philox_log_gamma(&s, extreme[i])));
    }
}

static void philox_log_gamma_refuses_bad_shapes(void) {
  philox_stream s = philox_open(philox_key_from_r(), 0, 0);
  EXPECT(isnan(philox_log_gamma(&s, 0.0)) && isnan(philox_log_gamma(&s, -1.0)));
  EXPECT(isnan(philox_log_gamma(&s, NAN)));
  EXPECT(isnan(philox_log_gamma(&s, INFINITY)));
}

/* ---- Dirichlet ----------------------------------------------------------- */

enum { DIRICHLET_N = 40000, MAX_K = 5 };

typedef void (*dirichlet_drawer)(size_t item, const double *alpha, size_t k,
                                 double *log_p);

static void dirichlet_from_r(size_t item, const double *alpha, size_t k,
                             double *log_p) {
  (void)item;
  rdist_log_dirichlet(alpha, k, log_p);
}

static void dirichlet_from_philox(size_t item, const double *alpha, size_t k,
                                  double *log_p) {
  const philox_key key = {{2024, 99}};
  philox_stream s = philox_open(key, item, 0);
  philox_log_dirichlet(&s, alpha, k, log_p);
}

/* Mutant: alpha + 1, as from gammas without their boost. */
static void dirichlet_without_boost(size_t item, const double *alpha, size_t k,
                                    double *log_p) {
  double raised[MAX_K];
  (void)item;
  for (size_t j = 0; j < k; j++)
    raised[j] = alpha[j] + 1.0;
  rdist_log_dirichlet(raised, k, log_p);
}

/* Mutant: gammas off the log scale, which underflow. */
static void dirichlet_underflowing(size_t item, const double *alpha, size_t k,
                                   double *log_p) {
  double sum = 0.0;
  (void)item;
  for (size_t j = 0; j < k; j++)
    sum += log_p[j] = rgamma(alpha[j], 1.0);
  for (size_t j = 0; j < k; j++)
    log_p[j] = log(log_p[j] / sum);
}

/* The largest |z| of E p_j = a_j / A, E log p_j = psi(a_j) - psi(A), and the
 * mean product E p_i p_j = a_i (a_j + [i = j]) / (A (A + 1)). */
static double dirichlet_moments_z(const double *log_p, const double *alpha,
                                  size_t k) {
  const size_t n = DIRICHLET_N;
  double total = 0.0, largest = 0.0, *value = new_numbers(n);
  for (size_t j = 0; j < k; j++)
    total += alpha[j];
  for (size_t j = 0; j < k; j++) {
    const double z =
      z_mean(log_p + n * j, n, digamma(alpha[j]) - digamma(total));
    for (size_t t = 0; t < n; t++)
      value[t] = exp(log_p[t + n * j]);
    largest =
      fmax(largest, fmax(fabs(z), fabs(z_mean(value, n, alpha[j] / total))));
    for (size_t i = 0; i <= j; i++) {
      for (size_t t = 0; t < n; t++)
        value[t] = exp(log_p[t + n * j] + log_p[t + n * i]);
      const double product =
        alpha[i] * (alpha[j] + (i == j)) / (total * (total + 1.0));
      largest = fmax(largest, fabs(z_mean(value, n, product)));
    }
  }
  release_numbers(value);
  return largest;
}

/* Infinity when a draw is not finite or does not sum to one. */
static double dirichlet_largest_z(dirichlet_drawer draw, const double *alpha,
                                  size_t k) {
  const size_t n = DIRICHLET_N;
  double *log_p = new_numbers(n * k), row[MAX_K], largest = 0.0;
  set_seed(31, 32);
  for (size_t t = 0; t < n; t++) {
    double sum = 0.0;
    draw(t, alpha, k, row);
    for (size_t j = 0; j < k; j++) {
      sum += exp(row[j]);
      log_p[t + n * j] = row[j];
    }
    if (!is_near(sum, 1.0, 1e-13))
      largest = INFINITY;
  }
  if (!all_finite(log_p, n * k))
    largest = INFINITY;
  if (isfinite(largest))
    largest = dirichlet_moments_z(log_p, alpha, k);
  release_numbers(log_p);
  return largest;
}

static const double mixed_alpha[] = {0.5, 1, 3.7};
static const double tiny_alpha[] = {1e-3, 1e-3, 1e-3, 1e-3, 1e-3};

static void dirichlet_moments(void) {
  EXPECT(dirichlet_largest_z(dirichlet_from_r, mixed_alpha, 3) < MAX_Z);
  EXPECT(dirichlet_largest_z(dirichlet_from_philox, mixed_alpha, 3) < MAX_Z);
}

static void dirichlet_with_tiny_alpha(void) {
  EXPECT(dirichlet_largest_z(dirichlet_from_r, tiny_alpha, 5) < MAX_Z);
  EXPECT(dirichlet_largest_z(dirichlet_from_philox, tiny_alpha, 5) < MAX_Z);
}

static void dirichlet_mutants(void) {
  EXPECT(dirichlet_largest_z(dirichlet_without_boost, mixed_alpha, 3) > MAX_Z);
  EXPECT(dirichlet_largest_z(dirichlet_without_boost, tiny_alpha, 5) > MAX_Z);
  EXPECT(dirichlet_largest_z(dirichlet_underflowing, tiny_alpha, 5) > MAX_Z);
}

static void dirichlet_is_normalised_gammas(void) {
  double log_p[3], one = NAN;
  set_seed(33, 34);
  rdist_log_dirichlet(mixed_alpha, 3, log_p);
  set_seed(33, 34);
  double g[3], sum = 0.0;
  for (int j = 0; j < 3; j++)
    sum += exp(g[j] = rdist_log_gamma(mixed_alpha[j]));
  for (int j = 0; j < 3; j++)
    EXPECT_NEAR(log_p[j], g[j] - log(sum), 1e-13);
  rdist_log_dirichlet(mixed_alpha, 1, &one);
  EXPECT(one == 0.0);
}

static void dirichlet_at_the_edge_of_doubles(void) {
  const double alpha[] = {DBL_MIN, 1e-300, 1e300, 1};
  double log_p[4];
  philox_stream s = philox_open(philox_key_from_r(), 0, 0);
  for (int repeat = 0; repeat < 1000; repeat++) {
    rdist_log_dirichlet(alpha, 4, log_p);
    EXPECT(all_finite(log_p, 4));
    philox_log_dirichlet(&s, alpha, 4, log_p);
    EXPECT(all_finite(log_p, 4));
  }
}

/* ---- categorical --------------------------------------------------------- */

typedef size_t (*categorical_drawer)(const double *weights, size_t k, double u);

/* Mutant: u is not multiplied by the sum of the weights. */
static size_t categorical_unscaled(const double *weights, size_t k, double u) {
  double partial = 0.0;
  for (size_t j = 0; j < k; j++)
    if ((partial += weights[j]) > u)
      return j;
  return k - 1;
}

/* Mutant: one index too far along. */
static size_t categorical_shifted(const double *weights, size_t k, double u) {
  return (draw_index(weights, k, u) + 1) % k;
}

static double categorical_p_value(categorical_drawer draw) {
  const double weights[] = {0, 0.3, 0, 1.5, 0.2, 2, 0};
  double counts[LENGTH(weights)] = {0}, probabilities[LENGTH(weights)];
  set_seed(41, 42);
  for (int t = 0; t < 100000; t++)
    counts[draw(weights, LENGTH(weights), unif_rand())] += 1.0;
  for (size_t j = 0; j < LENGTH(weights); j++)
    probabilities[j] = weights[j] / 4.0;
  return chi_squared_p_value(counts, probabilities, LENGTH(weights));
}

static void categorical_fits(void) {
  EXPECT(categorical_p_value(draw_index) > TINY_P);
}

static void categorical_mutants(void) {
  EXPECT(categorical_p_value(categorical_unscaled) < TINY_P);
  EXPECT(categorical_p_value(categorical_shifted) < TINY_P);
}

/* Partial sums 1, 2, 4: a partial sum equal to u * 4 counts. */
static void categorical_is_exact_at_the_steps(void) {
  const double weights[] = {1, 1, 2};
  EXPECT(draw_index(weights, 3, DBL_MIN) == 0);
  EXPECT(draw_index(weights, 3, nextafter(0.25, 0)) == 0);
  EXPECT(draw_index(weights, 3, 0.25) == 1);
  EXPECT(draw_index(weights, 3, nextafter(0.5, 0)) == 1);
  EXPECT(draw_index(weights, 3, 0.5) == 2);
  EXPECT(draw_index(weights, 3, nextafter(1, 0)) == 2);
}

/* The stated rule, written out. */
static size_t categorical_by_counting(const double *weights, size_t k,
                                      double u) {
  double total = 0.0, partial = 0.0;
  size_t count = 0, last = 0;
  for (size_t j = 0; j < k; j++)
    total += weights[j];
  for (size_t j = 0; j < k; j++) {
    partial += weights[j];
    count += partial <= u * total;
    last = weights[j] > 0.0 ? j : last;
  }
  return count < last ? count : last;
}

static void categorical_counts_partial_sums(void) {
  double weights[12];
  set_seed(43, 44);
  for (int t = 0; t < 20000; t++) {
    const size_t k = 1 + (size_t)(12.0 * unif_rand());
    for (size_t j = 0; j < k; j++)
      weights[j] = unif_rand() < 0.4 ? 0.0 : exp(20.0 * norm_rand());
    weights[(size_t)((double)k * unif_rand())] = 1.0;
    const double u = unif_rand();
    const size_t drawn = draw_index(weights, k, u);
    EXPECT(drawn == categorical_by_counting(weights, k, u));
    EXPECT(drawn < k && weights[drawn] > 0.0);
  }
}

/* u * total rounds up to the total when the total is subnormal. */
static void categorical_never_picks_a_zero(void) {
  const double least = nextafter(0, 1), top = nextafter(1, 0);
  const double subnormal[] = {0, least, least, 0, 0}, one[] = {1e-300};
  EXPECT(draw_index(subnormal, 5, top) == 2);
  EXPECT(draw_index(subnormal, 5, DBL_MIN) == 1);
  EXPECT(draw_index(one, 1, top) == 0);
  EXPECT(draw_index(one, 1, DBL_MIN) == 0);
}

/* ---- Wishart and inverse Wishart ----------------------------------------- */

/* Scale S = L L', L = 1; 0.5 2; -1 0.3 1.5, and a direction v. */
enum { D = 3, WISHART_N = 40000 };
static const double wishart_l[] = {1, 0.5, -1, 0, 2, 0.3, 0, 0, 1.5};
static const double direction[] = {1, 0.5, -1};

typedef void (*matrix_drawer)(double df, double *out);

static void wishart(double df, double *out) {
  double work[D * D];
  rdist_wishart(df, wishart_l, D, out, work);
}

static void inverse_wishart(double df, double *out) {
  double work[2 * D * D];
  rdist_inverse_wishart(df, wishart_l, D, out, work);
}

static void invert(double *a) {
  double l[D * D];
  memcpy(l, a, sizeof l);
  EXPECT(linalg_cholesky(l, D) == STATUS_OK);
  linalg_inverse_from_cholesky(l, D, a);
}

/* Mutant: the inverse of W(df, S), that is IW(df, S^-1). */
static void inverse_wishart_inverted_scale(double df, double *out) {
  wishart(df, out);
  invert(out);
}

static void inverse_wishart_df_plus_one(double df, double *out) {
  inverse_wishart(df + 1.0, out);
}

static void wishart_df_minus_one(double df, double *out) {
  wishart(df - 1.0, out);
}

/* Mutant: Bartlett's degrees of freedom in the reverse order. */
static void wishart_reversed_bartlett(double df, double *out) {
  double m[D * D];
  rdist_bartlett(df, D, m);
  for (size_t j = 0; j < D; j++)
    m[j + D * j] = sqrt(rchisq(df - (double)(D - 1 - j)));
  for (size_t j = 0; j < D; j++)
    linalg_lower_times_vector(wishart_l, D, m + D * j, m + D * j);
  linalg_outer_gram(m, D, out);
}

/* Mutant: S for L, so that the scale is S S'. */
static void wishart_of_scale_for_factor(double df, double *out) {
  double m[D * D], s[D * D], product[D * D] = {0};
  linalg_outer_gram(wishart_l, D, s);
  rdist_bartlett(df, D, m);
  for (size_t j = 0; j < D; j++)
    for (size_t c = 0; c < D; c++)
      for (size_t i = 0; i < D; i++)
        product[i + D * j] += s[i + D * c] * m[c + D * j];
  linalg_outer_gram(product, D, out);
}

static double quadratic_form(const double *a) {
  double sum = 0.0;
  for (size_t j = 0; j < D; j++)
    for (size_t i = 0; i < D; i++)
      sum += direction[i] * a[i + D * j] * direction[j];
  return sum;
}

/* WISHART_N draws, element e of draw t at [t + N e]. */
static double *draw_matrices(matrix_drawer draw, double df) {
  double *x = new_numbers(WISHART_N * D * D), out[D * D];
  set_seed(51, 52);
  for (size_t t = 0; t < WISHART_N; t++) {
    draw(df, out);
    for (size_t e = 0; e < D * D; e++)
      x[t + WISHART_N * e] = out[e];
  }
  return x;
}

/* The largest |z| of the means against mean_factor * S and of the variances of
 * the diagonal against variance_factor * S_jj^2. */
static double matrix_moments_z(matrix_drawer draw, double df,
                               double mean_factor, double variance_factor) {
  double *x = draw_matrices(draw, df), s[D * D], largest = 0.0;
  linalg_outer_gram(wishart_l, D, s);
  for (size_t e = 0; e < D * D; e++) {
    const double *element = x + WISHART_N * e;
    largest =
      fmax(largest, fabs(z_mean(element, WISHART_N, mean_factor * s[e])));
    if (e % (D + 1) == 0) /* on the diagonal */
      largest = fmax(largest, fabs(z_variance(element, WISHART_N,
                                              variance_factor * s[e] * s[e])));
  }
  release_numbers(x);
  return largest;
}

/* E W = df S,  Var W_jj = 2 df S_jj^2. */
static double wishart_z(matrix_drawer draw) {
  const double df = 5.5;
  return matrix_moments_z(draw, df, df, 2.0 * df);
}

/* With m = df - d - 1:  E = S / m,  Var_jj = 2 S_jj^2 / (m^2 (m - 2)). */
static double inverse_wishart_z(matrix_drawer draw) {
  const double df = 20, m = df - D - 1;
  return matrix_moments_z(draw, df, 1.0 / m, 2.0 / (m * m * (m - 2.0)));
}

static void wishart_moments(void) {
  EXPECT(wishart_z(wishart) < MAX_Z);
}

static void inverse_wishart_moments(void) {
  EXPECT(inverse_wishart_z(inverse_wishart) < MAX_Z);
}

static void matrix_moment_mutants(void) {
  EXPECT(wishart_z(wishart_df_minus_one) > MAX_Z);
  EXPECT(wishart_z(wishart_reversed_bartlett) > MAX_Z);
  EXPECT(wishart_z(wishart_of_scale_for_factor) > MAX_Z);
  EXPECT(inverse_wishart_z(inverse_wishart_df_plus_one) > MAX_Z);
  EXPECT(inverse_wishart_z(inverse_wishart_inverted_scale) > MAX_Z);
}

static double chi_squared_cdf(double x, double df) {
  return pchisq(x, df, 1, 0);
}

/* v'W v / v'S v ~ chi^2(df). */
static double wishart_p_value(matrix_drawer draw, double df) {
  double *x = new_numbers(WISHART_N), w[D * D];
  linalg_outer_gram(wishart_l, D, w);
  const double scale = quadratic_form(w);
  set_seed(53, 54);
  for (size_t t = 0; t < WISHART_N; t++) {
    draw(df, w);
    x[t] = quadratic_form(w) / scale;
  }
  const double p = ks_p_value(x, WISHART_N, chi_squared_cdf, df);
  release_numbers(x);
  return p;
}

/* S ~ IW(df, scale): v'scale v / v'S v ~ chi^2(df - d + 1), and when `inverted`
 * v'S^-1 v / v'scale^-1 v ~ chi^2(df). */
static double inverse_wishart_p_value(matrix_drawer draw, double df,
                                      int inverted) {
  double *x = new_numbers(WISHART_N), s[D * D];
  linalg_outer_gram(wishart_l, D, s);
  if (inverted)
    invert(s);
  const double scale = quadratic_form(s);
  set_seed(55, 56);
  for (size_t t = 0; t < WISHART_N; t++) {
    draw(df, s);
    if (inverted)
      invert(s);
    x[t] = inverted ? quadratic_form(s) / scale : scale / quadratic_form(s);
  }
  const double p =
    ks_p_value(x, WISHART_N, chi_squared_cdf, inverted ? df : df - D + 1.0);
  release_numbers(x);
  return p;
}

static void quadratic_forms_fit(void) {
  const double df[] = {2.5, 3, 7.25, 40};
  for (size_t i = 0; i < LENGTH(df); i++) {
    EXPECT(wishart_p_value(wishart, df[i]) > TINY_P);
    EXPECT(inverse_wishart_p_value(inverse_wishart, df[i], 0) > TINY_P);
    if (df[i] >= D) /* below, draws too near singular to be inverted here */
      EXPECT(inverse_wishart_p_value(inverse_wishart, df[i], 1) > TINY_P);
  }
}

static void quadratic_form_mutants(void) {
  const double df = 7.25;
  EXPECT(wishart_p_value(wishart_df_minus_one, df) < TINY_P);
  EXPECT(wishart_p_value(wishart_reversed_bartlett, df) < TINY_P);
  EXPECT(wishart_p_value(wishart_of_scale_for_factor, df) < TINY_P);
  for (int inverted = 0; inverted < 2; inverted++) {
    EXPECT(inverse_wishart_p_value(inverse_wishart_df_plus_one, df, inverted) <
           TINY_P);
    EXPECT(inverse_wishart_p_value(inverse_wishart_inverted_scale, df,
                                   inverted) < TINY_P);
  }
}

/* log|W| - log|S| is a sum of log chi^2(df - j), j = 0..d-1: mean
 * sum psi((df - j)/2) + d log 2, variance sum psi'((df - j)/2). */
static void wishart_determinant(void) {
  const double df = 4.5;
  double mean = D * log(2.0) + linalg_log_determinant(wishart_l, D);
  double variance = 0.0, *x = new_numbers(WISHART_N), w[D * D];
  for (int j = 0; j < D; j++) {
    mean += digamma((df - j) / 2.0);
    variance += trigamma((df - j) / 2.0);
  }
  set_seed(57, 58);
  for (size_t t = 0; t < WISHART_N; t++) {
    wishart(df, w);
    EXPECT(linalg_cholesky(w, D) == STATUS_OK);
    x[t] = linalg_log_determinant(w, D);
  }
  EXPECT(fabs(z_mean(x, WISHART_N, mean)) < MAX_Z);
  EXPECT(fabs(z_variance(x, WISHART_N, variance)) < MAX_Z);
  release_numbers(x);
}

/* d = 1: 1/s ~ Gamma(df/2, rate = scale/2), so scale/s ~ chi^2(df). */
static void inverse_wishart_of_order_one(void) {
  const double df = 3.3, l = 1.7;
  double *x = new_numbers(WISHART_N), work[2], s;
  set_seed(59, 60);
  for (size_t t = 0; t < WISHART_N; t++) {
    rdist_inverse_wishart(df, &l, 1, &s, work);
    x[t] = l * l / s;
  }
  EXPECT(ks_p_value(x, WISHART_N, chi_squared_cdf, df) > TINY_P);
  for (size_t t = 0; t < WISHART_N; t++)
    x[t] *= 2.0; /* mutant: rate = scale */
  EXPECT(ks_p_value(x, WISHART_N, chi_squared_cdf, df) < TINY_P);
  release_numbers(x);
}

static void bartlett_uses_the_generator_as_stated(void) {
  double a[D * D];
  memset(a, 0xff, sizeof a);
  set_seed(61, 62);
  rdist_bartlett(5.5, D, a);
  const double next = unif_rand();
  set_seed(61, 62);
  for (size_t j = 0; j < D; j++) {
    EXPECT(a[j + D * j] == sqrt(rchisq(5.5 - (double)j)));
    for (size_t i = j + 1; i < D; i++)
      EXPECT(a[i + D * j] == norm_rand());
    for (size_t i = 0; i < j; i++)
      EXPECT(a[i + D * j] == 0.0);
  }
  EXPECT(next == unif_rand());
}

/* W: L A A' L'. */
static void wisharts_follow_from_the_bartlett_factor(void) {
  double a[D * D], w[D * D], inner[D * D];
  set_seed(63, 64);
  rdist_bartlett(5.5, D, a);
  set_seed(63, 64);
  wishart(5.5, w);
  linalg_outer_gram(a, D, inner);
  for (size_t i = 0; i < D; i++)
    for (size_t j = 0; j < D; j++) {
      double sum = 0.0;
      for (size_t p = 0; p < D; p++)
        for (size_t q = 0; q < D; q++)
          sum += wishart_l[i + D * p] * inner[p + D * q] * wishart_l[j + D * q];
      EXPECT_NEAR(w[i + D * j], sum, 1e-12);
      EXPECT(w[i + D * j] == w[j + D * i]);
    }
}

/* T C = L for the C of the header, drawn here from the same generator; T is
 * lower triangular with a positive diagonal. */
static void inverse_wishart_factor_is_as_stated(void) {
  const double df[] = {2.05, 5.5, 1e3, 1e9};
  for (size_t r = 0; r < LENGTH(df); r++) {
    double t[D * D], c[D * D] = {0}, work[D * D];
    memset(t, 0xff, sizeof t);
    set_seed(67, 68);
    rdist_inverse_wishart_factor(df[r], wishart_l, D, t, work);
    const double next = unif_rand();
    set_seed(67, 68);
    for (size_t j = 0; j < D; j++) {
      c[j + D * j] = sqrt(rchisq(df[r] - (double)(D - 1 - j)));
      for (size_t i = j + 1; i < D; i++)
        c[i + D * j] = norm_rand();
    }
    EXPECT(next == unif_rand());
    for (size_t i = 0; i < D; i++)
      for (size_t j = 0; j < D; j++) {
        double sum = 0.0, size = 0.0;
        for (size_t m = 0; m < D; m++) {
          sum += t[i + D * m] * c[m + D * j];
          size += fabs(t[i + D * m] * c[m + D * j]);
        }
        EXPECT(fabs(sum - wishart_l[i + D * j]) <= 1e-14 * (1.0 + size));
        EXPECT(i != j || t[i + D * j] > 0.0);
        EXPECT(i >= j || t[i + D * j] == 0.0);
      }
  }
}

/* S = T T', to the last bit and symmetric. */
static void inverse_wishart_is_its_factor_squared(void) {
  double t[D * D], s[D * D], squared[D * D], work[D * D];
  set_seed(69, 70);
  rdist_inverse_wishart_factor(5.5, wishart_l, D, t, work);
  linalg_outer_gram(t, D, squared);
  set_seed(69, 70);
  inverse_wishart(5.5, s);
  EXPECT(same_bits(s, squared, D * D));
  for (size_t i = 0; i < D; i++)
    for (size_t j = 0; j < i; j++)
      EXPECT(s[i + D * j] == s[j + D * i]);
}

/* T is the Cholesky factor of T T' ~ IW(df, L L'), so that, with d = 1 and 2 as
 * well, t[0,0]^2 = L[0,0]^2 / chi^2(df - d + 1), and log|T T'| - log|L L'| is
 * minus a sum of log chi^2(df - j). */
static void inverse_wishart_factor_fits(void) {
  for (size_t d = 1; d <= D; d++) {
    const double df = (double)d + 1.5;
    double l[D * D], t[D * D], work[D * D], mean = 0.0, variance = 0.0;
    double *x = new_numbers(WISHART_N), *log_det = new_numbers(WISHART_N);
    for (size_t e = 0; e < d * d; e++)
      l[e] = wishart_l[e % d + D * (e / d)];
    for (size_t j = 0; j < d; j++) {
      mean -= digamma((df - (double)j) / 2.0) + log(2.0);
      variance += trigamma((df - (double)j) / 2.0);
    }
    mean += linalg_log_determinant(l, d);
    set_seed(71, 72);
    for (size_t r = 0; r < WISHART_N; r++) {
      rdist_inverse_wishart_factor(df, l, d, t, work);
      x[r] = pow(l[0] / t[0], 2.0);
      log_det[r] = linalg_log_determinant(t, d);
    }
    EXPECT(ks_p_value(x, WISHART_N, chi_squared_cdf, df - (double)d + 1.0) >
           TINY_P);
    EXPECT(fabs(z_mean(log_det, WISHART_N, mean)) < MAX_Z);
    EXPECT(fabs(z_variance(log_det, WISHART_N, variance)) < MAX_Z);
    /* mutant: degrees of freedom in the order of rdist_bartlett() */
    EXPECT(d == 1 || ks_p_value(x, WISHART_N, chi_squared_cdf, df) < TINY_P);
    release_numbers(x);
    release_numbers(log_det);
  }
}

/* Draws so far apart in scale that their product has no Cholesky factor in
 * doubles still have a T. */
static void inverse_wishart_factor_of_small_df(void) {
  double t[D * D], s[D * D], work[D * D];
  int failures = 0;
  set_seed(73, 74);
  for (size_t r = 0; r < 2000; r++) {
    rdist_inverse_wishart_factor(2.05, wishart_l, D, t, work);
    EXPECT(all_finite(t, D * D));
    for (size_t j = 0; j < D; j++)
      EXPECT(t[j + D * j] > 0.0);
    linalg_outer_gram(t, D, s);
    failures += linalg_cholesky(s, D) != STATUS_OK;
  }
  EXPECT(failures > 0);
}

/* Only the lower triangle of L is read. */
static void wisharts_read_the_lower_triangle(void) {
  double l[D * D], expected[D * D], out[D * D], work[2 * D * D];
  for (size_t e = 0; e < D * D; e++)
    l[e] = e % D < e / D ? NAN : wishart_l[e];
  set_seed(65, 66);
  wishart(5.5, expected);
  set_seed(65, 66);
  rdist_wishart(5.5, l, D, out, work);
  EXPECT(same_bits(out, expected, D * D));
  set_seed(65, 66);
  inverse_wishart(5.5, expected);
  set_seed(65, 66);
  rdist_inverse_wishart(5.5, l, D, out, work);
  EXPECT(same_bits(out, expected, D * D));
  set_seed(65, 66);
  rdist_inverse_wishart_factor(5.5, wishart_l, D, expected, work);
  set_seed(65, 66);
  rdist_inverse_wishart_factor(5.5, l, D, out, work);
  EXPECT(same_bits(out, expected, D * D));
}

/* ---- the tests ----------------------------------------------------------- */

static void test_gamma_and_dirichlet(void) {
  run_test("rdist: log gamma uses R's generator as stated",
           log_gamma_uses_the_generator_as_stated);
  run_test("rdist: log gamma fits at shapes 1e-10 to 1e6", log_gamma_fits);
  run_test("rdist: Philox log gamma fits", philox_log_gamma_fits);
  run_test("rdist: wrong log gammas rejected", log_gamma_mutants);
  run_test("rdist: log gamma is finite", log_gamma_is_always_finite);
  run_test("rdist: Philox log gamma of a bad shape is NaN",
           philox_log_gamma_refuses_bad_shapes);
  run_test("rdist: Dirichlet is normalised gammas",
           dirichlet_is_normalised_gammas);
  run_test("rdist: Dirichlet moments", dirichlet_moments);
  run_test("rdist: Dirichlet with alpha = 0.001", dirichlet_with_tiny_alpha);
  run_test("rdist: Dirichlet at the edge of doubles",
           dirichlet_at_the_edge_of_doubles);
  run_test("rdist: wrong Dirichlets rejected", dirichlet_mutants);
}

static void test_categorical(void) {
  run_test("rdist: categorical fits", categorical_fits);
  run_test("rdist: wrong categoricals rejected", categorical_mutants);
  run_test("rdist: categorical is exact at its steps",
           categorical_is_exact_at_the_steps);
  run_test("rdist: categorical counts partial sums",
           categorical_counts_partial_sums);
  run_test("rdist: categorical never picks a weight of zero",
           categorical_never_picks_a_zero);
}

static void test_wishart(void) {
  run_test("rdist: Bartlett factor uses R's generator as stated",
           bartlett_uses_the_generator_as_stated);
  run_test("rdist: Wisharts follow from the Bartlett factor",
           wisharts_follow_from_the_bartlett_factor);
  run_test("rdist: inverse Wishart factor is as stated",
           inverse_wishart_factor_is_as_stated);
  run_test("rdist: inverse Wishart is its factor squared",
           inverse_wishart_is_its_factor_squared);
  run_test("rdist: inverse Wishart factor fits", inverse_wishart_factor_fits);
  run_test("rdist: inverse Wishart factor of small df",
           inverse_wishart_factor_of_small_df);
  run_test("rdist: Wisharts read the lower triangle of L alone",
           wisharts_read_the_lower_triangle);
  run_test("rdist: Wishart moments", wishart_moments);
  run_test("rdist: inverse Wishart moments", inverse_wishart_moments);
  run_test("rdist: wrong moments rejected", matrix_moment_mutants);
  run_test("rdist: quadratic forms are chi-squared", quadratic_forms_fit);
  run_test("rdist: wrong quadratic forms rejected", quadratic_form_mutants);
  run_test("rdist: Wishart log determinant", wishart_determinant);
  run_test("rdist: inverse Wishart of order 1 is inverse gamma",
           inverse_wishart_of_order_one);
}

void test_rdist(void) {
  test_gamma_and_dirichlet();
  test_categorical();
  test_wishart();
}
