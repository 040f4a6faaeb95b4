/* Kernels for one width of vector; dense.c includes this file once for each, with
 *   LANE_BYTES     bytes of a vector
 *   LANE_NAME(x)   the name of x for this width
 *   LANE_TARGET    attribute that allows its instructions, or nothing */

typedef double LANE_NAME(vec)
  __attribute__((vector_size(LANE_BYTES), aligned(8), may_alias));

#define VEC LANE_NAME(vec)
#define WIDTH (LANE_BYTES / sizeof(double))
#define AT(pointer) (*(VEC *)(pointer))
#define FROM(pointer) (*(const VEC *)(pointer))

static inline LANE_TARGET double LANE_NAME(total)(VEC sum) {
  double total = sum[0];
  for (size_t lane = 1; lane < WIDTH; lane++)
    total += sum[lane];
  return total;
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
    const VEC v0 = FROM(y0 + k), v1 = FROM(y1 + k), v2 = FROM(y2 + k);
    VEC u = FROM(x0 + k);
    s00 += u * v0;
    s01 += u * v1;
    s02 += u * v2;
    u = FROM(x1 + k);
    s10 += u * v0;
    s11 += u * v1;
    s12 += u * v2;
    u = FROM(x2 + k);
    s20 += u * v0;
    s21 += u * v1;
    s22 += u * v2;
    u = FROM(x3 + k);
    s30 += u * v0;
    s31 += u * v1;
    s32 += u * v2;
  }
  const VEC sums[12] = {s00, s10, s20, s30, s01, s11,
                        s21, s31, s02, s12, s22, s32};
  for (size_t e = 0; e < 12; e++)
    out[e] = LANE_NAME(total)(sums[e]);
}

static LANE_TARGET double LANE_NAME(dot)(const double *x, const double *y,
                                         size_t n) {
  VEC sum[DENSE_LANES / WIDTH] = {{0}};
  for (size_t k = 0; k < n; k += DENSE_LANES)
    for (size_t part = 0; part < DENSE_LANES / WIDTH; part++)
      sum[part] += FROM(x + k + part * WIDTH) * FROM(y + k + part * WIDTH);
  double total = 0.0;
  for (size_t part = 0; part < DENSE_LANES / WIDTH; part++)
    total += LANE_NAME(total)(sum[part]);
  return total;
}

/* y <- y + factor x, any n */
static LANE_TARGET void LANE_NAME(add)(double *y, const double *x,
                                       double factor, size_t n) {
  size_t k = 0;
  for (; k + WIDTH <= n; k += WIDTH)
    AT(y + k) += factor * FROM(x + k);
  for (; k < n; k++)
    y[k] += factor * x[k];
}

/* From the last element to the first; the sums of four rows at a time. */
static LANE_TARGET void LANE_NAME(solve)(const double *l, size_t p, double *b) {
  enum { PARTS = DENSE_LANES * sizeof(double) / LANE_BYTES };
  for (size_t j = p; j-- > 0;) {
    const double *column = l + p * j;
    VEC sum[4][PARTS] = {{{0}}};
    size_t i = j + 1;
    for (; i + 4 <= p; i += 4)
      for (size_t row = 0; row < 4; row++)
        for (size_t part = 0; part < PARTS; part++)
          sum[row][part] +=
            column[i + row] * FROM(b + DENSE_LANES * (i + row) + part * WIDTH);
    for (; i < p; i++)
      for (size_t part = 0; part < PARTS; part++)
        sum[0][part] += column[i] * FROM(b + DENSE_LANES * i + part * WIDTH);
    for (size_t part = 0; part < PARTS; part++) {
      double *own = b + DENSE_LANES * j + part * WIDTH;
      AT(own) = (FROM(own) - ((sum[0][part] + sum[1][part]) +
                              (sum[2][part] + sum[3][part]))) /
                column[j];
    }
  }
}

#undef VEC
#undef WIDTH
#undef AT
#undef FROM
