#include "numeric/rounding.h"

#include "numeric/convergence.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "numeric/rmath.h"

/* Autocovariances up to this lag are sums of products, those beyond come from a
 * Fourier transform: most chains need few. */
enum { DIRECT_LAGS = 64 };

static size_t power_of_two(size_t least) {
  size_t n = 1;
  while (n < least)
    n *= 2;
  return n;
}

convergence_work convergence_take(arena *a, size_t draws, size_t chains) {
  convergence_work w = {.draws = draws, .chains = chains};
  /* a single draw cannot be split */
  w.half = draws > 1 ? draws / 2 : draws;
  w.parts = draws > 1 ? 2 * chains : chains;
  w.length = power_of_two(2 * w.half);
  const double all = (double)draws * (double)chains;
  const double split = (double)w.half * (double)w.parts;
  const double length = (double)w.length;
  w.sorted = arena_take(a, all, sizeof *w.sorted);
  w.fold = arena_take(a, all, sizeof *w.fold);
  w.score = arena_doubles(a, 2.0 * split + 1.0);
  w.series = arena_doubles(a, split);
  /* also the means of the parts, which may be many and short */
  w.real = arena_doubles(a, fmax(length, (double)w.parts));
  w.imaginary = arena_doubles(a, length);
  w.power = arena_doubles(a, length);
  w.cosine = arena_doubles(a, length / 2.0);
  w.sine = arena_doubles(a, length / 2.0);
  w.covariance = arena_doubles(a, (double)w.half);
  w.correlation = arena_doubles(a, (double)w.half + 1.0);
  return w;
}

void convergence_open(convergence_work *w) {
  const double turn = 2.0 * M_PI / (double)w->length;
  for (size_t i = 0; i < w->length / 2; i++) {
    w->cosine[i] = cos(turn * (double)i);
    w->sine[i] = -sin(turn * (double)i);
  }
  for (size_t i = 0; i <= 2 * w->half * w->parts; i++)
    w->score[i] = NAN;
}

/* ---- order and ranks ------------------------------------------------------------ */

static void merge(const convergence_draw *a, size_t n,
                  const convergence_draw *b, size_t m, convergence_draw *out) {
  size_t i = 0, j = 0;
  while (i < n && j < m)
    *out++ = b[j].value < a[i].value ? b[j++] : a[i++];
  memcpy(out, a + i, (n - i) * sizeof *a);
  memcpy(out + (n - i), b + j, (m - j) * sizeof *b);
}

static void insert_draws(convergence_draw *x, size_t n) {
  for (size_t i = 1; i < n; i++) {
    const convergence_draw next = x[i];
    size_t j = i;
    for (; j > 0 && next.value < x[j - 1].value; j--)
      x[j] = x[j - 1];
    x[j] = next;
  }
}

/* Merge sort by value; `other`: n more. */
static void sort_draws(convergence_draw *x, size_t n, convergence_draw *other) {
  if (n <= 16) {
    insert_draws(x, n);
    return;
  }
  const size_t half = n / 2;
  sort_draws(x, half, other);
  sort_draws(x + half, n - half, other);
  memcpy(other, x, n * sizeof *x);
  merge(other, half, other + half, n - half, x);
}

/* Where draw i of a chain stands in the split chains. */
static size_t place_of(const convergence_work *w, size_t chain, size_t i) {
  if (i < w->half)
    return chain * w->half + i;
  const size_t late = w->draws - w->half;
  return i < late ? SIZE_MAX : (w->chains + chain) * w->half + (i - late);
}

/* A power of two that brings the range of x near to 1. */
static double scale_of(const double *x, size_t n) {
  double low = x[0], high = x[0];
  for (size_t i = 1; i < n; i++) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
  }
  const double range = high - low;
  if (!(range > 0.0 && isfinite(range)))
    return 1.0;
  const int exponent = ilogb(range);
  return ldexp(1.0, exponent < -1000 ? 1000 : -exponent);
}

static void order_draws(convergence_work *w, const double *x, double scale) {
  size_t at = 0;
  for (size_t chain = 0; chain < w->chains; chain++)
    for (size_t i = 0; i < w->draws; i++, at++)
      w->sorted[at] = (convergence_draw){scale * x[at], place_of(w, chain, i)};
  sort_draws(w->sorted, at, w->fold);
}

/* The normal score of a rank, given twice the rank: ranks of ties are halves.
 * Blom's offset, as in section 4.1. */
static double score_of(convergence_work *w, size_t twice) {
  if (isnan(w->score[twice])) {
    const double size = (double)(w->half * w->parts);
    w->score[twice] =
      qnorm((0.5 * (double)twice - 0.375) / (size + 0.25), 0.0, 1.0, 1, 0);
  }
  return w->score[twice];
}

/* The normal scores of sorted draws, as split chains.  Draws in none of them have
 * no rank. */
static void score_draws(convergence_work *w, const convergence_draw *sorted) {
  const size_t n = w->draws * w->chains;
  size_t before = 0;
  for (size_t first = 0, next; first < n; first = next) {
    size_t equal = 0;
    for (next = first; next < n && sorted[next].value == sorted[first].value;
         next++)
      equal += sorted[next].place != SIZE_MAX;
    if (equal == 0)
      continue;
    const double score = score_of(w, 2 * before + equal + 1);
    for (size_t i = first; i < next; i++)
      if (sorted[i].place != SIZE_MAX)
        w->series[sorted[i].place] = score;
    before += equal;
  }
}

/* |x - median(x)| in order: a merge of the draws below the median, backwards, and
 * of those above. */
static void fold_draws(convergence_work *w) {
  const convergence_draw *x = w->sorted;
  const size_t n = w->draws * w->chains, middle = n / 2;
  const double median =
    n % 2 ? x[middle].value : 0.5 * (x[middle - 1].value + x[middle].value);
  size_t below = middle, above = middle;
  for (size_t i = 0; i < n; i++) {
    const int down = above == n || (below > 0 && median - x[below - 1].value <
                                                   x[above].value - median);
    w->fold[i] = down ? x[--below] : x[above++];
    w->fold[i].value = fabs(w->fold[i].value - median);
  }
}

static double quantile_of(const convergence_work *w, double p) {
  const double at = (double)(w->draws * w->chains - 1) * p;
  const size_t low = (size_t)floor(at), high = (size_t)ceil(at);
  return quantile_between(w->sorted[low].value, w->sorted[high].value,
                          at - (double)low);
}

static void mark_below(convergence_work *w, double quantile) {
  const size_t n = w->draws * w->chains;
  for (size_t i = 0; i < n; i++)
    if (w->sorted[i].place != SIZE_MAX)
      w->series[w->sorted[i].place] = w->sorted[i].value <= quantile;
}

/* ---- R-hat ---------------------------------------------------------------------- */

static double mean_of(const double *x, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++)
    sum += x[i];
  return sum / (double)n;
}

/* With the divisor n - 1. */
static double variance_of(const double *x, size_t n, double mean) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++)
    sum += (x[i] - mean) * (x[i] - mean);
  return sum / (double)(n - 1);
}

/* posterior's test, on values of a scale near 1 */
static int is_constant(const convergence_work *w) {
  const size_t n = w->half * w->parts;
  double low = w->series[0], high = w->series[0];
  for (size_t i = 1; i < n; i++) {
    low = w->series[i] < low ? w->series[i] : low;
    high = w->series[i] > high ? w->series[i] : high;
  }
  return high - low < DBL_EPSILON;
}

/* Variance of the means of the split chains; `means`: one a split chain. */
static double variance_of_means(const convergence_work *w, double *means) {
  for (size_t c = 0; c < w->parts; c++)
    means[c] = mean_of(w->series + c * w->half, w->half);
  return variance_of(means, w->parts, mean_of(means, w->parts));
}

/* sqrt((B / W + n - 1) / n) with n = half, equations 1 to 4. */
static double rhat_of_series(convergence_work *w) {
  if (is_constant(w))
    return NAN;
  double *means = w->real, within = 0.0;
  const double n = (double)w->half, between = n * variance_of_means(w, means);
  for (size_t c = 0; c < w->parts; c++)
    within += variance_of(w->series + c * w->half, w->half, means[c]);
  within /= (double)w->parts;
  return sqrt((between / within + n - 1.0) / n);
}

/* ---- effective sample size ------------------------------------------------------ */

/* In place, of `length` complex numbers; radix 2. */
static void transform(convergence_work *w) {
  const size_t n = w->length;
  double *re = w->real, *im = w->imaginary;
  for (size_t i = 1, j = 0; i < n; i++) {
    size_t bit = n / 2;
    for (; j & bit; bit /= 2)
      j ^= bit;
    j ^= bit;
    if (i < j) {
      const double a = re[i], b = im[i];
      re[i] = re[j];
      im[i] = im[j];
      re[j] = a;
      im[j] = b;
    }
  }
  for (size_t size = 2; size <= n; size *= 2)
    for (size_t start = 0; start < n; start += size)
      for (size_t k = 0; k < size / 2; k++) {
        const double c = w->cosine[k * (n / size)], s = w->sine[k * (n / size)];
        const size_t i = start + k, j = i + size / 2;
        const double a = re[j] * c - im[j] * s, b = re[j] * s + im[j] * c;
        re[j] = re[i] - a;
        im[j] = im[i] - b;
        re[i] += a;
        im[i] += b;
      }
}

/* The series minus the means of its chains. */
static void centre_series(convergence_work *w) {
  for (size_t c = 0; c < w->parts; c++) {
    double *x = w->series + c * w->half;
    const double mean = mean_of(x, w->half);
    for (size_t i = 0; i < w->half; i++)
      x[i] -= mean;
  }
}

/* sum_i x_i x_{i + lag} / half, averaged over the chains; four sums, which the
 * processor adds at once. */
static double covariance_at(const convergence_work *w, size_t lag) {
  double sums[4] = {0.0, 0.0, 0.0, 0.0};
  for (size_t c = 0; c < w->parts; c++) {
    const double *x = w->series + c * w->half, *y = x + lag;
    const size_t n = w->half - lag;
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
      for (size_t k = 0; k < 4; k++)
        sums[k] += x[i + k] * y[i + k];
    for (; i < n; i++)
      sums[0] += x[i] * y[i];
  }
  return (sums[0] + sums[1] + (sums[2] + sums[3])) /
         ((double)w->half * (double)w->parts);
}

/* The same at all lags: the transform of the sum of the chains' spectra.  Two
 * chains are transformed as one complex series x + i y, since |X_k|^2 + |Y_k|^2 is
 * (|Z_k|^2 + |Z_{-k}|^2) / 2. */
static void covariances_at_all_lags(convergence_work *w) {
  const size_t n = w->length;
  memset(w->power, 0, n * sizeof *w->power);
  for (size_t c = 0; c < w->parts; c += 2) {
    const int pair = c + 1 < w->parts;
    memset(w->real, 0, n * sizeof *w->real);
    memset(w->imaginary, 0, n * sizeof *w->imaginary);
    memcpy(w->real, w->series + c * w->half, w->half * sizeof *w->real);
    if (pair)
      memcpy(w->imaginary, w->series + (c + 1) * w->half,
             w->half * sizeof *w->imaginary);
    transform(w);
    for (size_t k = 0; k < n; k++)
      w->power[k] +=
        w->real[k] * w->real[k] + w->imaginary[k] * w->imaginary[k];
  }
  for (size_t k = 0; k < n; k++)
    w->real[k] = 0.5 * (w->power[k] + w->power[(n - k) % n]);
  memset(w->imaginary, 0, n * sizeof *w->imaginary);
  transform(w);
  const double divisor = (double)n * (double)w->half * (double)w->parts;
  for (size_t t = 0; t < w->half; t++)
    w->covariance[t] = w->real[t] / divisor;
}

/* The autocorrelations rho_t of equation 10. */
typedef struct {
  convergence_work *w;
  size_t known; /* lags whose covariance is known */
  double within, total;
} correlations;

static double correlation_at(correlations *r, size_t lag) {
  convergence_work *w = r->w;
  if (lag >= r->known && lag >= DIRECT_LAGS) {
    covariances_at_all_lags(w);
    r->known = w->half;
  }
  for (; r->known <= lag; r->known++)
    w->covariance[r->known] = covariance_at(w, r->known);
  return 1.0 - (r->within - w->covariance[lag]) / r->total;
}

/* Geyer's initial positive sequence: rho_0, rho_1, ... in w->correlation.  Returns
 * the lag at which it ends. */
static size_t positive_sequence(correlations *r) {
  double *rho = r->w->correlation, even = 1.0, odd = correlation_at(r, 1);
  size_t t = 0;
  memset(rho, 0, (r->w->half + 1) * sizeof *rho);
  rho[0] = even;
  rho[1] = odd;
  while (t + 5 < r->w->half && even + odd > 0.0) {
    t += 2;
    even = correlation_at(r, t);
    odd = correlation_at(r, t + 1);
    if (even + odd >= 0.0) {
      rho[t] = even;
      rho[t + 1] = odd;
    }
  }
  if (even > 0.0)
    rho[t] = even;
  return t;
}

/* Geyer's initial monotone sequence. */
static void make_monotone(double *rho, size_t last) {
  for (size_t t = 2; t + 2 <= last; t += 2)
    if (rho[t] + rho[t + 1] > rho[t - 2] + rho[t - 1])
      rho[t] = rho[t + 1] = 0.5 * (rho[t - 2] + rho[t - 1]);
}

/* half * parts / tau, equations 10 to 13. */
static double ess_of_series(convergence_work *w) {
  if (w->half < 3 || is_constant(w))
    return NAN;
  const double n = (double)w->half, size = n * (double)w->parts;
  const double between = w->parts > 1 ? variance_of_means(w, w->real) : 0.0;
  centre_series(w);
  correlations r = {w, 0, 0.0, 0.0};
  const double first = covariance_at(w, 0);
  r.within = first * n / (n - 1.0);
  r.total = first + between;
  const size_t last = positive_sequence(&r);
  make_monotone(w->correlation, last);
  double tau = -1.0 + w->correlation[last];
  for (size_t t = 0; t < (last > 0 ? last : 1); t++)
    tau += 2.0 * w->correlation[t];
  const double least = 1.0 / log10(size);
  return size / (tau < least ? least : tau);
}

/* ---- the measures --------------------------------------------------------------- */

/* NaN if either is. */
static double both(double a, double b, int larger) {
  if (isnan(a) || isnan(b))
    return NAN;
  return (a > b) == larger ? a : b;
}

static double ess_below(convergence_work *w, double p) {
  mark_below(w, quantile_of(w, p));
  return ess_of_series(w);
}

convergence_measures convergence_measure(convergence_work *w, const double *x) {
  convergence_measures out;
  order_draws(w, x, scale_of(x, w->draws * w->chains));
  score_draws(w, w->sorted);
  const double bulk = rhat_of_series(w);
  out.ess_bulk = ess_of_series(w);
  fold_draws(w);
  score_draws(w, w->fold);
  out.rhat = both(bulk, rhat_of_series(w), 1);
  const double lower = ess_below(w, 0.05);
  out.ess_tail = both(lower, ess_below(w, 0.95), 0);
  return out;
}

convergence_mean convergence_of_mean(convergence_work *w, const double *x) {
  const size_t n = w->draws * w->chains;
  const double scale = scale_of(x, n);
  double sum = 0.0, square = 0.0;
  for (size_t i = 0; i < n; i++)
    sum += scale * x[i];
  const double mean = sum / (double)n;
  size_t at = 0;
  for (size_t chain = 0; chain < w->chains; chain++)
    for (size_t i = 0; i < w->draws; i++, at++) {
      const double value = scale * x[at];
      const size_t place = place_of(w, chain, i);
      square += (value - mean) * (value - mean);
      if (place != SIZE_MAX)
        w->series[place] = value;
    }
  const double ess = ess_of_series(w);
  const double sd = sqrt(square / (double)(n - 1));
  return (convergence_mean){ess, sd / sqrt(ess) / scale};
}
