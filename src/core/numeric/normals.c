#include "numeric/rounding.h"

#include "numeric/normals.h"

#include <math.h>
#include <string.h>

#include "numeric/lanes.h"
#include "numeric/rmath.h"

/* Normals made at a time: a multiple of the widest vector. */
#define BATCH 128

/* R itself is compiled for the processors that every machine of its kind has, and
 * by default such that products and sums are fused where all of these can. */
#define LANES_FUSED LANES_NARROW_FUSES

/* Not the widest vectors: they lower the clock of the work around them, and few
 * normals are drawn at a time. */
#define LANES_UPTO 32
#define LANES_KERNEL "numeric/normals_kernel.h"
#include "numeric/lanes_each.h"

/* n rounded up to whole vectors; the entries from n on become `filler`. */
static size_t fill_vectors(double *x, size_t n, double filler) {
  const size_t whole = (n + 7) / 8 * 8;
  for (size_t i = n; i < whole; i++)
    x[i] = filler;
  return whole;
}

/* x (n <= BATCH) <- quantiles of the probabilities p, as qnorm() finds them. */
static void quantiles(const double *p, size_t n, double *x) {
  size_t at[BATCH], tails = 0;
  double root[BATCH], z[BATCH];
  for (size_t i = 0; i < n; i++) {
    x[i] = p[i] - 0.5;
    at[tails] = i;
    tails += fabs(x[i]) > 0.425;
  }
  for (size_t t = 0; t < tails; t++) {
    const double low = p[at[t]], high = 0.5 - low + 0.5;
    root[t] = sqrt(-log(low < 0.5 ? low : high));
  }
  LANES_CHOOSE(central)(x, fill_vectors(x, n, 0.0));
  LANES_CHOOSE(tail)(root, fill_vectors(root, tails, 2.0), z);
  for (size_t t = 0; t < tails; t++) {
    const double low = p[at[t]], near = low < 0.5 ? -z[t] : z[t];
    x[at[t]] = root[t] <= 5.0 ? near : qnorm(low, 0.0, 1.0, 1, 0);
  }
}

void normals_keyed(philox_key key, uint64_t from, double *out, size_t n) {
  double p[BATCH + 16], x[BATCH];
  for (size_t i = 0; i < n; i += BATCH) {
    const size_t count = n - i < BATCH ? n - i : BATCH;
    const size_t skip = (from + i) % 2;
    LANES_CHOOSE(keyed)(key, (from + i) / 2, p, skip + count);
    quantiles(p + skip, count, x);
    memcpy(out + i, x, count * sizeof *x);
  }
}

/* ---- between bounds ----------------------------------------------------- */

/* p (n) <- uniforms of the key: those that normals_keyed() takes quantiles of. */
static void keyed_uniforms(philox_key key, uint64_t from, const int *place,
                           double *p, size_t n) {
  if (place == NULL) {
    double all[BATCH + 16];
    const size_t skip = from % 2;
    LANES_CHOOSE(keyed)(key, from / 2, all, skip + n);
    memcpy(p, all + skip, n * sizeof *p);
    return;
  }
  for (size_t i = 0; i < n; i++) {
    philox_stream s = philox_open(key, (uint64_t)place[i] / 2, 0);
    p[i] = philox_unif(&s);
    if (place[i] % 2 == 1)
      p[i] = philox_unif(&s);
  }
}

static normals_span distances(double mean, double low, double high) {
  const double a = low - mean, b = high - mean;
  const int above = a > 0.0;
  return (normals_span){
    .low = above ? -b : a, .high = above ? -a : b, .mirrored = above};
}

normals_span normals_span_of(double mean, double low, double high) {
  normals_span s = distances(mean, low, high);
  s.below_low = s.low > -INFINITY ? pnorm(s.low, 0.0, 1.0, 1, 0) : 0.0;
  s.below_high = pnorm(s.high, 0.0, 1.0, 1, 0);
  return s;
}

/* The span of element i. */
static normals_span span_at(const normals_interval *at, size_t i) {
  if (at->below == NULL)
    return normals_span_of(at->mean[i], at->low[i], at->high[i]);
  normals_span s = distances(at->mean[i], at->low[i], at->high[i]);
  s.below_low = at->below[2 * i];
  s.below_high = at->below[2 * i + 1];
  return s;
}

/* Where probabilities begin to underflow. */
#define FAR (-35.0)

/* s->high <= FAR: the distance from `high` has the density exp(-c t - t^2 / 2), c =
 * -high. */
static double far_normal(const normals_span *s, philox_key key,
                         uint64_t place) {
  philox_stream stream = philox_open(key, place, 1);
  const double c = -s->high, cut = expm1(-c * (s->high - s->low));
  for (;;) {
    const double t = -log1p(philox_unif(&stream) * cut) / c;
    /* the loop must end for NaN, too */
    if (!(philox_unif(&stream) >= exp(-0.5 * t * t)))
      return s->high - t;
  }
}

void normals_keyed_between(philox_key key, uint64_t from, const int *place,
                           const normals_interval *at, double *out, size_t n) {
  /* the largest below 1: a sum may be rounded to 1 */
  const double most = 1.0 - 0x1p-53;
  normals_span s[BATCH];
  double p[BATCH], x[BATCH];
  for (size_t first = 0; first < n; first += BATCH) {
    const size_t count = n - first < BATCH ? n - first : BATCH;
    const int *own = place ? place + first : NULL;
    keyed_uniforms(key, from + first, own, p, count);
    for (size_t i = 0; i < count; i++) {
      s[i] = span_at(at, first + i);
      p[i] = s[i].below_low + p[i] * (s[i].below_high - s[i].below_low);
      p[i] = s[i].high <= FAR ? 0.5 : fmin(p[i], most);
    }
    quantiles(p, count, x);
    for (size_t i = 0; i < count; i++) {
      if (s[i].high <= FAR)
        x[i] =
          far_normal(&s[i], key, own ? (uint64_t)own[i] : from + first + i);
      const double z = at->mean[first + i] + (s[i].mirrored ? -x[i] : x[i]);
      /* sums are rounded */
      out[first + i] = fmin(fmax(z, at->low[first + i]), at->high[first + i]);
    }
  }
}

/* R's uniforms have 32 bits; two of them make one with 27 + 32. */
static void wide_uniforms(uint32_t *words, double *p, size_t n) {
  const double cells = 134217728.0; /* 2^27 */
  double u[2 * BATCH];
  uniforms_next(words, u, 2 * n);
  for (size_t i = 0; i < n; i++)
    p[i] = ((double)(int)(cells * u[2 * i]) + u[2 * i + 1]) / cells;
}

/* On a 32-bit x86 processor R itself computes with more digits than a double
 * has (rounding.h), so that its quantiles differ from those of this file. */
static int by_inversion(const generator *g) {
#ifdef __i386__
  (void)g;
  return 0;
#else
  return g->inversion;
#endif
}

void normals_draw(const generator *g, double *out, size_t n) {
  uint32_t *const words = by_inversion(g) ? uniforms_take(g, 2 * n) : NULL;
  for (size_t i = 0; !by_inversion(g) && i < n; i++)
    out[i] = norm_rand();
  for (size_t first = 0; by_inversion(g) && first < n; first += BATCH) {
    const size_t count = n - first < BATCH ? n - first : BATCH;
    double p[BATCH], x[BATCH];
    wide_uniforms(words, p, count);
    quantiles(p, count, x);
    memcpy(out + first, x, count * sizeof *x);
  }
  uniforms_give(g, words);
}
