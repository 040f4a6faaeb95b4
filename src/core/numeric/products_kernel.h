/* Linear predictors for one width of vector, over the draws.  products.c includes
 * this file once for each width, after lanes_next.h. */

/* out[s] <- start + sum_j w[s + step j] x[n j] for s < count, terms in order. */
LANE_TARGET static void LANE_NAME(row)(const double *w, size_t step,
                                       size_t count, const double *x, size_t n,
                                       size_t p, double start, double *out) {
  size_t s = 0;
  for (; s + 4 * WIDTH <= count; s += 4 * WIDTH) {
    VEC a = LANE_SPLAT(start), b = a, c = a, d = a;
    for (size_t j = 0; j < p; j++) {
      const double *from = w + step * j + s;
      const VEC value = LANE_SPLAT(x[n * j]);
      a += value * FROM(from);
      b += value * FROM(from + WIDTH);
      c += value * FROM(from + 2 * WIDTH);
      d += value * FROM(from + 3 * WIDTH);
    }
    AT(out + s) = a;
    AT(out + s + WIDTH) = b;
    AT(out + s + 2 * WIDTH) = c;
    AT(out + s + 3 * WIDTH) = d;
  }
  for (; s < count; s++) {
    out[s] = start;
    for (size_t j = 0; j < p; j++)
      out[s] += x[n * j] * w[step * j + s];
  }
}
