/* Kernels of the mixture density for one width of vector; gmm_density.c includes
 * this file once for each width, after lanes_next.h.  A pass handles two vectors
 * of observations, so that sums stay in registers. */

#define PASS (2 * WIDTH)
#include "numeric/lane_math.h"

/* block[j * LANES + lane] <- x[lane + n j] */
LANE_TARGET static void LANE_NAME(load)(const double *x, size_t n, size_t d,
                                        double *block) {
  for (size_t j = 0; j < d; j++)
    for (size_t lane = 0; lane < LANES; lane += WIDTH)
      AT(block + j * LANES + lane) = FROM(x + n * j + lane);
}

/* out <- constant - |L^-1 (x - mu)|^2 / 2 by forward substitution, two rows at a
 * time: each w[i] is loaded once for both. */
LANE_TARGET static void LANE_NAME(full)(const double *l, const double *mean,
                                        const double *inverse, size_t d,
                                        double constant, const double *block,
                                        double *white, double *out) {
  VEC square0 = {0}, square1 = {0};
  size_t j = 0;
  for (; j + 1 < d; j += 2) {
    VEC u0 = FROM(block + j * LANES) - mean[j];
    VEC u1 = FROM(block + j * LANES + WIDTH) - mean[j];
    VEC v0 = FROM(block + (j + 1) * LANES) - mean[j + 1];
    VEC v1 = FROM(block + (j + 1) * LANES + WIDTH) - mean[j + 1];
    for (size_t i = 0; i < j; i++) {
      const double a = l[j + d * i], b = l[j + 1 + d * i];
      const VEC w0 = FROM(white + i * PASS);
      const VEC w1 = FROM(white + i * PASS + WIDTH);
      u0 -= a * w0;
      u1 -= a * w1;
      v0 -= b * w0;
      v1 -= b * w1;
    }
    u0 *= inverse[j];
    u1 *= inverse[j];
    v0 = (v0 - l[j + 1 + d * j] * u0) * inverse[j + 1];
    v1 = (v1 - l[j + 1 + d * j] * u1) * inverse[j + 1];
    square0 += u0 * u0 + v0 * v0;
    square1 += u1 * u1 + v1 * v1;
    AT(white + j * PASS) = u0;
    AT(white + j * PASS + WIDTH) = u1;
    AT(white + (j + 1) * PASS) = v0;
    AT(white + (j + 1) * PASS + WIDTH) = v1;
  }
  if (j < d) {
    VEC u0 = FROM(block + j * LANES) - mean[j];
    VEC u1 = FROM(block + j * LANES + WIDTH) - mean[j];
    for (size_t i = 0; i < j; i++) {
      u0 -= l[j + d * i] * FROM(white + i * PASS);
      u1 -= l[j + d * i] * FROM(white + i * PASS + WIDTH);
    }
    u0 *= inverse[j];
    u1 *= inverse[j];
    square0 += u0 * u0;
    square1 += u1 * u1;
  }
  AT(out) = constant - 0.5 * square0;
  AT(out + WIDTH) = constant - 0.5 * square1;
}

LANE_TARGET static void LANE_NAME(diagonal)(const double *mean,
                                            const double *inverse, size_t d,
                                            double constant,
                                            const double *block, double *out) {
  VEC square0 = {0}, square1 = {0};
  for (size_t j = 0; j < d; j++) {
    const VEC w0 = (FROM(block + j * LANES) - mean[j]) * inverse[j];
    const VEC w1 = (FROM(block + j * LANES + WIDTH) - mean[j]) * inverse[j];
    square0 += w0 * w0;
    square1 += w1 * w1;
  }
  AT(out) = constant - 0.5 * square0;
  AT(out + WIDTH) = constant - 0.5 * square1;
}

/* Log joint densities of a block under all components. */
LANE_TARGET static void LANE_NAME(densities)(const gmm_components *p,
                                             const double *block, double *white,
                                             double *weight) {
  const size_t d = p->d;
  for (size_t c = 0; c < p->k; c++) {
    const double *mean = p->mean + c * d, *inverse = p->inverse_diag + c * d;
    const double constant = p->log_constant[c], *l = gmm_factor(p, c);
    for (size_t lane = 0; lane < LANES; lane += PASS) {
      const double *x = block + lane;
      double *out = weight + c * LANES + lane;
      if (p->form == COVARIANCE_DIAGONAL) {
        LANE_NAME(diagonal)(mean, inverse, d, constant, x, out);
      } else {
        LANE_NAME(full)(l, mean, inverse, d, constant, x, white, out);
      }
    }
  }
}

/* partial_sums() for two components: the larger weight's exponential is 1, so
 * that the other's is all there is to compute. */
LANE_TARGET static void
LANE_NAME(two_partial_sums)(double *weight, double *largest, double *total) {
  for (size_t lane = 0; lane < LANES; lane += WIDTH) {
    double *v = weight + lane, *w = v + LANES;
    const VEC x0 = FROM(v), x1 = FROM(w);
    const BITS second = (BITS)(x1 > x0);
    const VEC top = LANE_NAME(select)(second, x1, x0);
    const VEC low = LANE_NAME(select)(second, x0, x1);
    const VEC part = LANE_NAME(exp_nonpositive)(low - top), sum = part + 1.0;
    AT(v) = LANE_NAME(select)(second, part, (VEC){0} + 1.0);
    AT(w) = sum;
    AT(largest + lane) = top;
    AT(total + lane) = sum;
  }
}

/* Log weights of a block become partial sums over c of exp(weight - largest);
 * leaves the largest log weight and the total of each lane. */
LANE_TARGET static void LANE_NAME(partial_sums)(double *weight, size_t k,
                                                double *largest,
                                                double *total) {
  if (k == 2) {
    LANE_NAME(two_partial_sums)(weight, largest, total);
    return;
  }
  for (size_t lane = 0; lane < LANES; lane += PASS) {
    double *v = weight + lane, *w = v + WIDTH;
    VEC top0 = FROM(v), top1 = FROM(w), sum0 = {0}, sum1 = {0};
    for (size_t c = 1; c < k; c++) {
      const VEC x0 = FROM(v + c * LANES), x1 = FROM(w + c * LANES);
      top0 = LANE_NAME(select)((BITS)(x0 > top0), x0, top0);
      top1 = LANE_NAME(select)((BITS)(x1 > top1), x1, top1);
    }
    for (size_t c = 0; c < k; c++) {
      sum0 += LANE_NAME(exp_nonpositive)(FROM(v + c * LANES) - top0);
      sum1 += LANE_NAME(exp_nonpositive)(FROM(w + c * LANES) - top1);
      AT(v + c * LANES) = sum0;
      AT(w + c * LANES) = sum1;
    }
    AT(largest + lane) = top0;
    AT(largest + lane + WIDTH) = top1;
    AT(total + lane) = sum0;
    AT(total + lane + WIDTH) = sum1;
  }
}

/* z[lane] <- 1 + the number of partial sums that are <= u times the total: at
 * most k, since u < 1, and never a component of weight zero. */
LANE_TARGET static void LANE_NAME(pick)(const double *partial, size_t k,
                                        const double *uniforms, int *z) {
  for (size_t lane = 0; lane < LANES; lane += WIDTH) {
    const double *w = partial + lane;
    const VEC threshold = FROM(uniforms + lane) * FROM(w + (k - 1) * LANES);
    BITS count = (BITS){0} + 1;
    for (size_t c = 0; c + 1 < k; c++)
      count -= (BITS)(FROM(w + c * LANES) <= threshold);
    for (size_t e = 0; e < WIDTH; e++)
      z[lane + e] = (int)count[e];
  }
}

/* Partial sums become probabilities. */
LANE_TARGET static void LANE_NAME(normalise)(double *weight, size_t k) {
  for (size_t lane = 0; lane < LANES; lane += WIDTH) {
    double *w = weight + lane;
    const VEC scale = 1.0 / FROM(w + (k - 1) * LANES);
    VEC before = {0};
    for (size_t c = 0; c < k; c++) {
      const VEC partial = FROM(w + c * LANES);
      AT(w + c * LANES) = (partial - before) * scale;
      before = partial;
    }
  }
}

/* mean <- mean + rate (p - mean) */
LANE_TARGET static void LANE_NAME(average)(const double *p, double rate,
                                           double *mean) {
  for (size_t lane = 0; lane < LANES; lane += WIDTH)
    AT(mean + lane) =
      FROM(mean + lane) + rate * (FROM(p + lane) - FROM(mean + lane));
}

/* part[r][g] <- sum of a_r[s] b[s] over the slots s = g, g + GROUP, ... */
LANE_TARGET static inline void LANE_NAME(products)(const double *const a[4],
                                                   const double *b,
                                                   size_t slots,
                                                   double part[4][GROUP]) {
  for (size_t g = 0; g < GROUP; g += WIDTH) {
    VEC sum0 = {0}, sum1 = {0}, sum2 = {0}, sum3 = {0};
    for (size_t s = g; s < slots; s += GROUP) {
      const VEC y = FROM(b + s);
      sum0 += FROM(a[0] + s) * y;
      sum1 += FROM(a[1] + s) * y;
      sum2 += FROM(a[2] + s) * y;
      sum3 += FROM(a[3] + s) * y;
    }
    AT(part[0] + g) = sum0;
    AT(part[1] + g) = sum1;
    AT(part[2] + g) = sum2;
    AT(part[3] + g) = sum3;
  }
}

/* total[i] += row_i . b for `rows` rows of a bin. */
LANE_TARGET static inline void
LANE_NAME(add_products)(const double *row, size_t rows, const double *b,
                        size_t slots, double *total) {
  double part[4][GROUP];
  for (size_t i = 0; i < rows; i += 4) {
    const double *four[4];
    for (size_t r = 0; r < 4; r++) /* past the last one: that one again */
      four[r] = row + BIN * (i + r < rows ? i + r : rows - 1);
    LANE_NAME(products)(four, b, slots, part);
    for (size_t r = 0; r < 4 && i + r < rows; r++) {
      const double *p = part[r];
      total[i + r] +=
        ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
    }
  }
}

/* Sums of the deviations in a bin and of their products; slots that fill up the
 * last group hold deviations of 0. */
LANE_TARGET static void LANE_NAME(add_bin)(gmm_form form, double *bin, size_t d,
                                           size_t filled, const double *ones,
                                           const double *mean, double *sum,
                                           double *cross) {
  const size_t slots = (filled + GROUP - 1) / GROUP * GROUP;
  for (size_t j = 0; j < d; j++) {
    double *row = bin + j * BIN;
    for (size_t s = 0; s < slots; s += WIDTH)
      AT(row + s) = FROM(row + s) - mean[j];
    for (size_t s = filled; s < slots; s++)
      row[s] = 0.0;
  }
  LANE_NAME(add_products)(bin, d, ones, slots, sum);
  for (size_t j = 0; j < d; j++) {
    const double *row = bin + j * BIN;
    LANE_NAME(add_products)
    (row, form == COVARIANCE_DIAGONAL ? 1 : d - j, row, slots,
     cross + j + d * j);
  }
}

#undef PASS
