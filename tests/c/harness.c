#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numeric/rmath.h"

/* The harness alone keeps state between calls: the tally. */
static struct { int passed, failed, current_ok; } tally = {0, 0, 1};

void run_test(const char *name, void (*body)(void)) {
  tally.current_ok = 1;
  body();
  printf("%s  %s\n", tally.current_ok ? "ok  " : "FAIL", name);
  fflush(stdout);
  if (tally.current_ok)
    tally.passed++;
  else
    tally.failed++;
}

int finish_tests(void) {
  printf("%d passed, %d failed\n", tally.passed, tally.failed);
  return tally.failed == 0 && tally.passed > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

void expect(int condition, const char *text, const char *file, int line) {
  if (condition)
    return;
  printf("  %s:%d: not so: %s\n", file, line, text);
  tally.current_ok = 0;
}

int is_near(double a, double b, double tolerance) {
  return fabs(a - b) <= tolerance * fmax(1.0, fabs(b));
}

double *new_numbers(size_t n) {
  double *x = calloc(n > 0 ? n : 1, sizeof *x);
  if (x == NULL) {
    fprintf(stderr, "no memory for %lu numbers\n", (unsigned long)n);
    exit(EXIT_FAILURE);
  }
  return x;
}

double *new_bytes(size_t bytes) {
  return new_numbers((bytes + sizeof(double) - 1) / sizeof(double));
}

void release_numbers(double *x) {
  free(x);
}

int all_finite(const double *x, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!isfinite(x[i]))
      return 0;
  return 1;
}

int same_bits(const double *x, const double *y, size_t n) {
  return memcmp(x, y, n * sizeof *x) == 0;
}

/* ---- statistics ---------------------------------------------------------- */

double mean_of(const double *x, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++)
    sum += x[i];
  return sum / (double)n;
}

static double central_moment(const double *x, size_t n, double power) {
  const double centre = mean_of(x, n);
  double sum = 0.0;
  for (size_t i = 0; i < n; i++)
    sum += pow(x[i] - centre, power);
  return sum / (double)n;
}

double z_mean(const double *x, size_t n, double expected) {
  const double error = sqrt(central_moment(x, n, 2.0) / (double)n);
  return (mean_of(x, n) - expected) / error;
}

double z_variance(const double *x, size_t n, double expected) {
  const double variance = central_moment(x, n, 2.0);
  const double fourth = central_moment(x, n, 4.0);
  return (variance - expected) /
         sqrt((fourth - variance * variance) / (double)n);
}

static int compare_numbers(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* P(K > t) = 2 sum_j (-1)^(j-1) exp(-2 j^2 t^2)   (Kolmogorov 1933);
 * below 0.2 it is 1 to twelve digits and the series slow. */
static double kolmogorov_tail(double t) {
  double sum = 0.0;
  if (t < 0.2)
    return 1.0;
  for (int j = 1; j <= 100; j++)
    sum += (j % 2 == 1 ? 2.0 : -2.0) * exp(-2.0 * j * j * t * t);
  return sum;
}

double ks_p_value(double *x, size_t n, distribution cdf, double parameter) {
  double distance = 0.0;
  if (!all_finite(x, n))
    return 0.0;
  qsort(x, n, sizeof *x, compare_numbers);
  for (size_t i = 0; i < n; i++) {
    const double p = cdf(x[i], parameter);
    distance = fmax(distance, fmax(p - (double)i / (double)n,
                                   (double)(i + 1) / (double)n - p));
  }
  return kolmogorov_tail(sqrt((double)n) * distance);
}

double chi_squared_p_value(const double *counts, const double *probabilities,
                           size_t k) {
  double total = 0.0, statistic = 0.0, cells = 0.0;
  for (size_t j = 0; j < k; j++)
    total += counts[j];
  for (size_t j = 0; j < k; j++) {
    const double expected = total * probabilities[j];
    if (expected == 0.0 && counts[j] > 0.0)
      return 0.0;
    if (expected == 0.0)
      continue;
    statistic += (counts[j] - expected) * (counts[j] - expected) / expected;
    cells += 1.0;
  }
  return pchisq(statistic, cells - 1.0, 0, 0);
}

/* ---- invariance ---------------------------------------------------------- */

double squash(double x) {
  return x / (1.0 + fabs(x));
}

invariance new_invariance(size_t count) {
  return (invariance){.count = count};
}

void compare(invariance *v, const double *before, const double *after) {
  v->n += 1.0;
  for (size_t s = 0; s < v->count; s++) {
    const double change = after[s] - before[s];
    v->sum[s] += change;
    v->square[s] += change * change;
  }
}

int is_invariant(const invariance *v) {
  int holds = v->n > 0.0;
  for (size_t s = 0; s < v->count; s++) {
    const double mean = v->sum[s] / v->n;
    const double z = mean / sqrt((v->square[s] / v->n - mean * mean) / v->n);
    if (fabs(z) < MAX_Z)
      continue;
    printf("  statistic %lu: z = %.1f\n", (unsigned long)s, z);
    holds = 0;
  }
  return holds;
}
