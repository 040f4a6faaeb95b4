/* A small test harness and the statistical checks that the tests share.
 *
 * A statistical check compares with a distribution or a moment and has a known
 * rate of false alarms: TINY_P for a p-value, P(|N(0, 1)| > 4.5) = 7e-6 for
 * a z-score.  Seeds are fixed, so a pass stays a pass. */
#ifndef GIBBSITE_TESTS_HARNESS_H
#define GIBBSITE_TESTS_HARNESS_H

#include <stddef.h>

#define TINY_P 1e-4
#define MAX_Z 4.5

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Runs one test and prints its line. */
void run_test(const char *name, void (*body)(void));

/* Prints the count of tests; the exit status of the program. */
int finish_tests(void);

/* Marks the running test as failed unless `condition` holds. */
void expect(int condition, const char *text, const char *file, int line);
#define EXPECT(condition) \
  expect((condition) != 0, #condition, __FILE__, __LINE__)

/* |a - b| <= tolerance * max(1, |b|); false for NaN. */
int is_near(double a, double b, double tolerance);
#define EXPECT_NEAR(a, b, tolerance) \
  expect(is_near(a, b, tolerance), #a " near " #b, __FILE__, __LINE__)

/* n doubles, zeroed; ends the program when there is no memory. */
double *new_numbers(size_t n);
/* The same for at least so many bytes. */
double *new_bytes(size_t bytes);
void release_numbers(double *x);

/* n numbers: every one finite? the same bits? */
int all_finite(const double *x, size_t n);
int same_bits(const double *x, const double *y, size_t n);

/* ---- statistics ---------------------------------------------------------- */

double mean_of(const double *x, size_t n);

/* (mean(x) - expected) / standard error, from the sample. */
double z_mean(const double *x, size_t n, double expected);

/* (var(x) - expected) / standard error; the variance of the sample variance is
 * (m4 - m2^2) / n, from the sample. */
double z_variance(const double *x, size_t n, double expected);

/* One-sample Kolmogorov-Smirnov test, asymptotic p-value; sorts x. */
typedef double (*distribution)(double x, double parameter);
double ks_p_value(double *x, size_t n, distribution cdf, double parameter);

/* Pearson's chi-squared test of counts against probabilities (cells of
 * probability zero must be empty, else the p-value is 0). */
double chi_squared_p_value(const double *counts, const double *probabilities,
                           size_t k);

/* Does a step leave a distribution as it is?  Statistics of a draw from that
 * distribution and of where the step went from there have the same mean; draws are
 * independent, so that the mean of their differences has a standard error without
 * more ado. */
enum { MOST_STATISTICS = 32 };

typedef struct {
  size_t count; /* statistics */
  double n, sum[MOST_STATISTICS], square[MOST_STATISTICS];
} invariance;

invariance new_invariance(size_t count);
void compare(invariance *v, const double *before, const double *after);

/* x / (1 + |x|): a statistic with moments, of one that may have none. */
double squash(double x);

/* Every |z| below MAX_Z, and every statistic moved; else says which did not. */
int is_invariant(const invariance *v);
#define EXPECT_INVARIANT(v) \
  expect(is_invariant(v), #v " is invariant", __FILE__, __LINE__)

#endif
