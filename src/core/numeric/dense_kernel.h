/* Kernels for one width of vector; dense.c includes this file once for each, after
 * lanes_next.h. */

static inline LANE_TARGET double LANE_NAME(total)(VEC sum) {
  union {
    VEC whole;
    dense_pair pairs[WIDTH / 2];
  } parts = {sum};
  dense_pair total = parts.pairs[0];
#if LANE_BYTES >= 32
  total += parts.pairs[1];
#endif
#if LANE_BYTES >= 64
  total += parts.pairs[2] + parts.pairs[3];
#endif
  return total[0] + total[1];
}

/* out[c + 4 b] <- x_c'y_b for four columns x and three columns y: twelve sums in
 * registers, seven loads for twelve products. */
static LANE_TARGET void LANE_NAME(tile)(const double *const *x,
                                        const double *const *y, size_t rows,
                                        double *out) {
  const double *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
  const double *y0 = y[0], *y1 = y[1], *y2 = y[2];
  VEC s00 = {0}, s10 = {0}, s20 = {0}, s30 = {0};
  VEC s01 = {0}, s11 = {0}, s21 = {0}, s31 = {0};
  VEC s02 = {0}, s12 = {0}, s22 = {0}, s32 = {0};
  for (size_t k = 0; k < rows; k += WIDTH) {
    VEC v0 = FROM(y0 + k), v1 = FROM(y1 + k), v2 = FROM(y2 + k);
    LANE_HOLD(v0);
    LANE_HOLD(v1);
    LANE_HOLD(v2);
    VEC u = FROM(x0 + k);
    LANE_HOLD(u);
    s00 = LANE_FMA(u, v0, s00);
    s01 = LANE_FMA(u, v1, s01);
    s02 = LANE_FMA(u, v2, s02);
    u = FROM(x1 + k);
    LANE_HOLD(u);
    s10 = LANE_FMA(u, v0, s10);
    s11 = LANE_FMA(u, v1, s11);
    s12 = LANE_FMA(u, v2, s12);
    u = FROM(x2 + k);
    LANE_HOLD(u);
    s20 = LANE_FMA(u, v0, s20);
    s21 = LANE_FMA(u, v1, s21);
    s22 = LANE_FMA(u, v2, s22);
    u = FROM(x3 + k);
    LANE_HOLD(u);
    s30 = LANE_FMA(u, v0, s30);
    s31 = LANE_FMA(u, v1, s31);
    s32 = LANE_FMA(u, v2, s32);
  }
  out[0] = LANE_NAME(total)(s00);
  out[1] = LANE_NAME(total)(s10);
  out[2] = LANE_NAME(total)(s20);
  out[3] = LANE_NAME(total)(s30);
  out[4] = LANE_NAME(total)(s01);
  out[5] = LANE_NAME(total)(s11);
  out[6] = LANE_NAME(total)(s21);
  out[7] = LANE_NAME(total)(s31);
  out[8] = LANE_NAME(total)(s02);
  out[9] = LANE_NAME(total)(s12);
  out[10] = LANE_NAME(total)(s22);
  out[11] = LANE_NAME(total)(s32);
}

static LANE_TARGET double LANE_NAME(dot)(const double *x, const double *y,
                                         size_t n) {
  VEC sum[DENSE_LANES / WIDTH] = {{0}};
  for (size_t k = 0; k < n; k += DENSE_LANES)
    for (size_t part = 0; part < DENSE_LANES / WIDTH; part++)
      sum[part] = LANE_FMA(FROM(x + k + part * WIDTH),
                           FROM(y + k + part * WIDTH), sum[part]);
  double total = 0.0;
  for (size_t part = 0; part < DENSE_LANES / WIDTH; part++)
    total += LANE_NAME(total)(sum[part]);
  return total;
}

/* y <- y + x w, any n; four columns at a time. */
static LANE_TARGET void LANE_NAME(combine)(double *y, const double *x,
                                           size_t stride, const double *w,
                                           size_t columns, size_t n) {
  size_t j = 0;
  for (; j + 4 <= columns; j += 4) {
    const double *x0 = x + stride * j, *x1 = x0 + stride;
    const double *x2 = x1 + stride, *x3 = x2 + stride;
    const double w0 = w[j], w1 = w[j + 1], w2 = w[j + 2], w3 = w[j + 3];
    const VEC v0 = LANE_SPLAT(w0), v1 = LANE_SPLAT(w1);
    const VEC v2 = LANE_SPLAT(w2), v3 = LANE_SPLAT(w3);
    size_t k = 0;
    for (; k + WIDTH <= n; k += WIDTH)
      AT(y + k) = FROM(y + k) + (LANE_FMA(v0, FROM(x0 + k), v1 * FROM(x1 + k)) +
                                 LANE_FMA(v2, FROM(x2 + k), v3 * FROM(x3 + k)));
    for (; k < n; k++)
      y[k] += LANE_FMA_ONE(w0, x0[k], w1 * x1[k]) +
              LANE_FMA_ONE(w2, x2[k], w3 * x3[k]);
  }
  for (; j < columns; j++) {
    const double *column = x + stride * j;
    const VEC weight = LANE_SPLAT(w[j]);
    size_t k = 0;
    for (; k + WIDTH <= n; k += WIDTH)
      AT(y + k) = LANE_FMA(weight, FROM(column + k), FROM(y + k));
    for (; k < n; k++)
      y[k] = LANE_FMA_ONE(w[j], column[k], y[k]);
  }
}

static LANE_TARGET double LANE_NAME(scale_and_dot)(double *scaled,
                                                   const double *x,
                                                   const double *scale,
                                                   const double *y, size_t n) {
  VEC sum[DENSE_LANES / WIDTH] = {{0}};
  for (size_t k = 0; k < n; k += DENSE_LANES)
    for (size_t part = 0; part < DENSE_LANES / WIDTH; part++) {
      const size_t at = k + part * WIDTH;
      const VEC v = FROM(x + at);
      sum[part] = LANE_FMA(v, FROM(y + at), sum[part]);
      AT(scaled + at) = v * FROM(scale + at);
    }
  double total = 0.0;
  for (size_t part = 0; part < DENSE_LANES / WIDTH; part++)
    total += LANE_NAME(total)(sum[part]);
  return total;
}

static LANE_TARGET dense_moments LANE_NAME(moments)(const double *x, size_t n,
                                                    double centre) {
  enum { PARTS = 2 };
  VEC square[PARTS] = {{0}}, change[PARTS] = {{0}}, spread[PARTS] = {{0}};
  size_t k = 0;
  for (; k + PARTS * WIDTH <= n; k += PARTS * WIDTH)
    for (size_t part = 0; part < PARTS; part++) {
      const VEC v = FROM(x + k + part * WIDTH), away = v - centre;
      square[part] = LANE_FMA(v, v, square[part]);
      change[part] += away;
      spread[part] = LANE_FMA(away, away, spread[part]);
    }
  dense_moments sums = {LANE_NAME(total)(square[0] + square[1]),
                        LANE_NAME(total)(change[0] + change[1]),
                        LANE_NAME(total)(spread[0] + spread[1])};
  for (; k < n; k++) {
    const double away = x[k] - centre;
    sums.square = LANE_FMA_ONE(x[k], x[k], sums.square);
    sums.change += away;
    sums.spread = LANE_FMA_ONE(away, away, sums.spread);
  }
  return sums;
}
