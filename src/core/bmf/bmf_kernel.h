/* Kernels of bmf_rows.c for one width of vector; the file is included once for
 * each width, after lanes_next.h.  A tile is three vectors high and four columns
 * wide: twelve sums, each with a name, so that they stay in registers. */

/* column at: q <- base + sign * sum */
#define ADD(at, sum) (AT(q + (at)) = LANE_FMA(scale, sum, FROM(base + (at))))

/* Vectors that cover rows first, ..., d of a column. */
#define VECTORS(first) ((d - (first) + WIDTH) / WIDTH)

/* q[i + r, j + c] <- base[i + r, j + c] + sign * sum_e x_e[i + r] x_e[j + c] for the
 * rows r of three, two or one vectors and c = 0, ..., 3; x_e = x + e * stride;
 * base may be q. */
LANE_TARGET static void LANE_NAME(tile_3)(const double *x, size_t stride,
                                          size_t count, size_t i, size_t j,
                                          double sign, const double *base,
                                          double *q) {
  VEC a0 = {0}, a1 = {0}, a2 = {0}, b0 = {0}, b1 = {0}, b2 = {0};
  VEC c0 = {0}, c1 = {0}, c2 = {0}, d0 = {0}, d1 = {0}, d2 = {0};
  const double *xi = x + i, *xj = x + j;
  for (size_t e = 0; e < count; e++, xi += stride, xj += stride) {
    const VEC r0 = FROM(xi), r1 = FROM(xi + WIDTH), r2 = FROM(xi + 2 * WIDTH);
    VEC s = LANE_SPLAT(xj[0]);
    a0 = LANE_FMA(r0, s, a0);
    a1 = LANE_FMA(r1, s, a1);
    a2 = LANE_FMA(r2, s, a2);
    s = LANE_SPLAT(xj[1]);
    b0 = LANE_FMA(r0, s, b0);
    b1 = LANE_FMA(r1, s, b1);
    b2 = LANE_FMA(r2, s, b2);
    s = LANE_SPLAT(xj[2]);
    c0 = LANE_FMA(r0, s, c0);
    c1 = LANE_FMA(r1, s, c1);
    c2 = LANE_FMA(r2, s, c2);
    s = LANE_SPLAT(xj[3]);
    d0 = LANE_FMA(r0, s, d0);
    d1 = LANE_FMA(r1, s, d1);
    d2 = LANE_FMA(r2, s, d2);
  }
  const VEC scale = LANE_SPLAT(sign);
  const size_t a = j * stride + i, b = a + stride, c = b + stride;
  const size_t last = c + stride;
  ADD(a, a0);
  ADD(a + WIDTH, a1);
  ADD(a + 2 * WIDTH, a2);
  ADD(b, b0);
  ADD(b + WIDTH, b1);
  ADD(b + 2 * WIDTH, b2);
  ADD(c, c0);
  ADD(c + WIDTH, c1);
  ADD(c + 2 * WIDTH, c2);
  ADD(last, d0);
  ADD(last + WIDTH, d1);
  ADD(last + 2 * WIDTH, d2);
}

LANE_TARGET static void LANE_NAME(tile_2)(const double *x, size_t stride,
                                          size_t count, size_t i, size_t j,
                                          double sign, const double *base,
                                          double *q) {
  VEC a0 = {0}, a1 = {0}, b0 = {0}, b1 = {0};
  VEC c0 = {0}, c1 = {0}, d0 = {0}, d1 = {0};
  const double *xi = x + i, *xj = x + j;
  for (size_t e = 0; e < count; e++, xi += stride, xj += stride) {
    const VEC r0 = FROM(xi), r1 = FROM(xi + WIDTH);
    VEC s = LANE_SPLAT(xj[0]);
    a0 = LANE_FMA(r0, s, a0);
    a1 = LANE_FMA(r1, s, a1);
    s = LANE_SPLAT(xj[1]);
    b0 = LANE_FMA(r0, s, b0);
    b1 = LANE_FMA(r1, s, b1);
    s = LANE_SPLAT(xj[2]);
    c0 = LANE_FMA(r0, s, c0);
    c1 = LANE_FMA(r1, s, c1);
    s = LANE_SPLAT(xj[3]);
    d0 = LANE_FMA(r0, s, d0);
    d1 = LANE_FMA(r1, s, d1);
  }
  const VEC scale = LANE_SPLAT(sign);
  const size_t a = j * stride + i, b = a + stride, c = b + stride;
  const size_t last = c + stride;
  ADD(a, a0);
  ADD(a + WIDTH, a1);
  ADD(b, b0);
  ADD(b + WIDTH, b1);
  ADD(c, c0);
  ADD(c + WIDTH, c1);
  ADD(last, d0);
  ADD(last + WIDTH, d1);
}

/* Two x_e at a time: four sums alone would be bound by the latency of an
 * addition. */
LANE_TARGET static void LANE_NAME(tile_1)(const double *x, size_t stride,
                                          size_t count, size_t i, size_t j,
                                          double sign, const double *base,
                                          double *q) {
  VEC a0 = {0}, b0 = {0}, c0 = {0}, d0 = {0};
  VEC a1 = {0}, b1 = {0}, c1 = {0}, d1 = {0};
  const double *xi = x + i, *xj = x + j;
  size_t e = 0;
  for (; e + 2 <= count; e += 2, xi += 2 * stride, xj += 2 * stride) {
    const VEC r0 = FROM(xi), r1 = FROM(xi + stride);
    a0 = LANE_FMA(r0, LANE_SPLAT(xj[0]), a0);
    a1 = LANE_FMA(r1, LANE_SPLAT(xj[stride]), a1);
    b0 = LANE_FMA(r0, LANE_SPLAT(xj[1]), b0);
    b1 = LANE_FMA(r1, LANE_SPLAT(xj[stride + 1]), b1);
    c0 = LANE_FMA(r0, LANE_SPLAT(xj[2]), c0);
    c1 = LANE_FMA(r1, LANE_SPLAT(xj[stride + 2]), c1);
    d0 = LANE_FMA(r0, LANE_SPLAT(xj[3]), d0);
    d1 = LANE_FMA(r1, LANE_SPLAT(xj[stride + 3]), d1);
  }
  if (e < count) {
    const VEC r0 = FROM(xi);
    a0 = LANE_FMA(r0, LANE_SPLAT(xj[0]), a0);
    b0 = LANE_FMA(r0, LANE_SPLAT(xj[1]), b0);
    c0 = LANE_FMA(r0, LANE_SPLAT(xj[2]), c0);
    d0 = LANE_FMA(r0, LANE_SPLAT(xj[3]), d0);
  }
  const VEC scale = LANE_SPLAT(sign);
  const size_t a = j * stride + i;
  ADD(a, a0 + a1);
  ADD(a + stride, b0 + b1);
  ADD(a + 2 * stride, c0 + c1);
  ADD(a + 3 * stride, d0 + d1);
}

/* Columns j, ..., j + 3, rows j, ..., d: q <- base + sign * sum_e x_e x_e'.  Beyond
 * row d and above the diagonal q holds what is never read, or is multiplied by
 * 0: it must be finite. */
LANE_TARGET static void LANE_NAME(add_columns)(const double *x, size_t stride,
                                               size_t count, size_t d, size_t j,
                                               double sign, const double *base,
                                               double *q) {
  size_t i = j, vectors = VECTORS(j);
  while (vectors > 0) {
    if (vectors == 1) {
      LANE_NAME(tile_1)(x, stride, count, i, j, sign, base, q);
      return;
    }
    const size_t step = vectors == 2 || vectors == 4 ? 2 : 3;
    if (step == 2)
      LANE_NAME(tile_2)(x, stride, count, i, j, sign, base, q);
    else
      LANE_NAME(tile_3)(x, stride, count, i, j, sign, base, q);
    i += step * WIDTH;
    vectors -= step;
  }
}

LANE_TARGET static void LANE_NAME(add_products)(const double *x, size_t stride,
                                                size_t count, size_t d,
                                                const double *base, double *q) {
  for (size_t j = 0; j < d; j += 4)
    LANE_NAME(add_columns)(x, stride, count, d, j, 1.0, base, q);
}

/* Four finished columns: rows j, ..., d of L from those of q, given the factor l
 * of the block on the diagonal and the inverses of its diagonal. */
LANE_TARGET static void LANE_NAME(solve_columns)(size_t stride, size_t d,
                                                 size_t j, const double *l,
                                                 const double *inverse,
                                                 double *q) {
  double *a = q + j * stride + j, *b = a + stride, *c = b + stride;
  double *last = c + stride;
  const VEC i0 = LANE_SPLAT(inverse[0]), i1 = LANE_SPLAT(inverse[1]);
  const VEC i2 = LANE_SPLAT(inverse[2]), i3 = LANE_SPLAT(inverse[3]);
  const VEC l10 = LANE_SPLAT(-l[1]), l20 = LANE_SPLAT(-l[2]);
  const VEC l30 = LANE_SPLAT(-l[3]), l21 = LANE_SPLAT(-l[6]);
  const VEC l31 = LANE_SPLAT(-l[7]), l32 = LANE_SPLAT(-l[11]);
  for (size_t v = 0, r = 0; v < VECTORS(j); v++, r += WIDTH) {
    const VEC x0 = FROM(a + r) * i0;
    const VEC x1 = LANE_FMA(l10, x0, FROM(b + r)) * i1;
    const VEC x2 = LANE_FMA(l21, x1, LANE_FMA(l20, x0, FROM(c + r))) * i2;
    const VEC x3 =
      LANE_FMA(l32, x2, LANE_FMA(l31, x1, LANE_FMA(l30, x0, FROM(last + r)))) *
      i3;
    AT(a + r) = x0;
    AT(b + r) = x1;
    AT(c + r) = x2;
    AT(last + r) = x3;
  }
}

/* The block on the diagonal, at most 4 x 4: l (4 x 4, column-major) <- its factor,
 * inverse <- 1 over its diagonal.  False where a pivot is not positive. */
LANE_TARGET static inline int LANE_NAME(factor_block)(const double *q,
                                                      size_t stride,
                                                      size_t columns, double *l,
                                                      double *inverse) {
  for (size_t j = 0; j < columns; j++) {
    double pivot = q[j * stride + j];
    for (size_t k = 0; k < j; k++)
      pivot = LANE_FMA_ONE(-l[4 * k + j], l[4 * k + j], pivot);
    if (!(pivot > 0.0 && isfinite(pivot)))
      return 0;
    inverse[j] = 1.0 / sqrt(pivot);
    for (size_t i = j + 1; i < columns; i++) {
      double rest = q[j * stride + i];
      for (size_t k = 0; k < j; k++)
        rest = LANE_FMA_ONE(-l[4 * k + i], l[4 * k + j], rest);
      l[4 * j + i] = rest * inverse[j];
    }
  }
  return 1;
}

/* q <- L with Q = L L', and below it L^-1 b; inverse (d, and up to 3 more): 1 over
 * the diagonal.  Columns four at a time: products of the finished columns are
 * taken off, the block on the diagonal is factored, the rows below it follow. */
LANE_TARGET static status LANE_NAME(factor)(size_t stride, size_t d, double *q,
                                            double *inverse) {
  for (size_t j = 0; j < d; j += 4) {
    const size_t columns = d - j < 4 ? d - j : 4;
    double l[16];
    LANE_NAME(add_columns)(q, stride, j, d, j, -1.0, q, q);
    if (!LANE_NAME(factor_block)(q + j * stride + j, stride, columns, l,
                                 inverse + j))
      return STATUS_NOT_POSITIVE_DEFINITE;
    if (columns == 4)
      LANE_NAME(solve_columns)(stride, d, j, l, inverse + j, q);
    else
      solve_last_columns(stride, d, j, columns, l, inverse + j, q);
    clear_above(q + j * stride + j, stride, columns);
  }
  return STATUS_OK;
}

/* x <- L^-T (w + x), w in row d of q; x (stride): zeros from d on.  Four columns
 * at a time from the last: the products with what is known of x, then the block.
 * The first vector may take in elements of x that are not known yet: 0 in
 * `known`. */
LANE_TARGET static void LANE_NAME(solve_transposed)(size_t stride, size_t d,
                                                    const double *q,
                                                    const double *inverse,
                                                    double *known, double *x) {
  const size_t blocks = (d + 3) / 4;
  for (size_t block = blocks; block-- > 0;) {
    const size_t j = 4 * block, columns = d - j < 4 ? d - j : 4;
    const double *a = q + j * stride, *b = a + stride, *c = b + stride;
    const double *last = c + stride;
    VEC s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    for (size_t i = (j + 4) / WIDTH * WIDTH; i < d; i += WIDTH) {
      const VEC y = FROM(known + i);
      s0 = LANE_FMA(FROM(a + i), y, s0);
      s1 = LANE_FMA(FROM(b + i), y, s1);
      s2 = LANE_FMA(FROM(c + i), y, s2);
      s3 = LANE_FMA(FROM(last + i), y, s3);
    }
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    for (size_t e = 0; e < WIDTH; e++) {
      sum[0] += s0[e];
      sum[1] += s1[e];
      sum[2] += s2[e];
      sum[3] += s3[e];
    }
    for (size_t k = columns; k-- > 0;) {
      const double *column = a + k * stride;
      double rest = column[d] + x[j + k] - sum[k];
      for (size_t r = k + 1; r < columns; r++)
        rest = LANE_FMA_ONE(-column[j + r], known[j + r], rest);
      known[j + k] = rest * inverse[j + k];
    }
  }
}

/* sum_e (x_e' f)^2 */
LANE_TARGET static double LANE_NAME(sum_squares)(const double *x, size_t stride,
                                                 size_t count, size_t d,
                                                 const double *f) {
  double total = 0.0;
  size_t e = 0;
  for (; e + 4 <= count; e += 4, x += 4 * stride) {
    VEC s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    for (size_t i = 0; i <= d; i += WIDTH) {
      const VEC y = FROM(f + i);
      s0 = LANE_FMA(FROM(x + i), y, s0);
      s1 = LANE_FMA(FROM(x + stride + i), y, s1);
      s2 = LANE_FMA(FROM(x + 2 * stride + i), y, s2);
      s3 = LANE_FMA(FROM(x + 3 * stride + i), y, s3);
    }
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    for (size_t k = 0; k < WIDTH; k++) {
      sum[0] += s0[k];
      sum[1] += s1[k];
      sum[2] += s2[k];
      sum[3] += s3[k];
    }
    total += LANE_FMA_ONE(sum[0], sum[0], sum[1] * sum[1]) +
             LANE_FMA_ONE(sum[2], sum[2], sum[3] * sum[3]);
  }
  for (; e < count; e++, x += stride) {
    double sum = 0.0;
    for (size_t i = 0; i <= d; i++)
      sum = LANE_FMA_ONE(x[i], f[i], sum);
    total = LANE_FMA_ONE(sum, sum, total);
  }
  return total;
}

/* Vectors of the partners first, ..., first + count - 1 of the ratings into the
 * panel, each with its response as coordinate d. */
LANE_TARGET static void LANE_NAME(gather)(const bmf_regression *job,
                                          const bmf_ratings *ratings,
                                          size_t first, size_t count,
                                          double *panel) {
  const size_t d = job->d, stride = job->stride;
  const int *index = ratings->index + first;
  const double *value = ratings->value + first;
  const size_t ahead = gather_ahead(ratings->partners * stride, count);
  for (size_t e = 0; e < count; e++, panel += stride) {
    const size_t partner = (size_t)index[e];
    const double *x = job->design + partner * stride;
    if (e + ahead < count)
      fetch_ahead(job->design + (size_t)index[e + ahead] * stride, d);
    for (size_t i = 0; i <= d; i += WIDTH)
      AT(panel + i) = FROM(x + i);
    const double offset = job->offset ? job->offset[partner] : 0.0;
    panel[d] = job->root_beta * (value[e] - offset);
  }
}

LANE_TARGET static status LANE_NAME(draw_row)(const bmf_regression *job,
                                              const bmf_ratings *ratings,
                                              size_t row, double *f,
                                              double *square, double *area) {
  const size_t d = job->d, stride = job->stride;
  const size_t first = (size_t)ratings->start[row];
  const size_t last = (size_t)ratings->start[row + 1];
  const bmf_area at = carve_area(d, area);
  if (first == last)
    memcpy(at.q, job->prior, bmf_square_size(d) * sizeof *at.q);
  size_t begin = first, count = 0;
  for (size_t e = first; e < last; e += count) {
    begin = e;
    count = last - e < job->panel ? last - e : job->panel;
    LANE_NAME(gather)(job, ratings, e, count, at.panel);
    const double *base = e == first ? job->prior : at.q;
    LANE_NAME(add_products)(at.panel, stride, count, d, base, at.q);
  }
  for (size_t j = 0; job->shift && j < d; j++)
    at.q[d + j * stride] += job->shift[row * d + j];
  const status outcome = LANE_NAME(factor)(stride, d, at.q, at.inverse);
  if (outcome != STATUS_OK)
    return outcome;
  memset(at.solution, 0, stride * sizeof *at.solution);
  LANE_NAME(solve_transposed)(stride, d, at.q, at.inverse, at.solution, f);
  memcpy(f, at.solution, d * sizeof *f);
  if (square == NULL)
    return STATUS_OK;
  /* the last partners gathered are still in the panel */
  at.solution[d] = -1.0;
  *square = LANE_NAME(sum_squares)(at.panel, stride, count, d, at.solution);
  for (size_t e = first; e < begin; e += job->panel) {
    LANE_NAME(gather)(job, ratings, e, job->panel, at.panel);
    *square +=
      LANE_NAME(sum_squares)(at.panel, stride, job->panel, d, at.solution);
  }
  return STATUS_OK;
}

/* Four rows of y (4 x stride) <- M x + h, x: 4 x stride. */
LANE_TARGET static void LANE_NAME(move_four)(const double *x, size_t d,
                                             size_t stride, const double *map,
                                             double *y) {
  for (size_t i = 0; i < d; i += WIDTH) {
    VEC a = FROM(map + d * stride + i), b = a, c = a, last = a;
    for (size_t k = 0; k < d; k++) {
      const VEC column = FROM(map + k * stride + i);
      a = LANE_FMA(column, LANE_SPLAT(x[k]), a);
      b = LANE_FMA(column, LANE_SPLAT(x[stride + k]), b);
      c = LANE_FMA(column, LANE_SPLAT(x[2 * stride + k]), c);
      last = LANE_FMA(column, LANE_SPLAT(x[3 * stride + k]), last);
    }
    AT(y + i) = a;
    AT(y + stride + i) = b;
    AT(y + 2 * stride + i) = c;
    AT(y + 3 * stride + i) = last;
  }
}

/* panel: 8 x stride */
LANE_TARGET static void LANE_NAME(move_rows)(double *x, size_t count, size_t d,
                                             const double *map, double *panel) {
  const size_t stride = bmf_stride(d);
  double *moved = panel + 4 * stride;
  memset(panel, 0, 4 * stride * sizeof *panel);
  for (size_t first = 0; first < count; first += 4, x += 4 * d) {
    const size_t here = count - first < 4 ? count - first : 4;
    for (size_t r = 0; r < here; r++)
      memcpy(panel + r * stride, x + r * d, d * sizeof *x);
    LANE_NAME(move_four)(panel, d, stride, map, moved);
    for (size_t r = 0; r < here; r++)
      memcpy(x + r * d, moved + r * stride, d * sizeof *x);
  }
}

#undef ADD
#undef VECTORS
