/* The quantile function of the standard normal distribution for one width of
 * vector: the two rational approximations of AS 241, routine PPND16 (Wichura
 * 1988, doi:10.2307/2347330), that cover all but 3e-11 of the distribution.
 * normals.c includes this file once for each width, after lanes_next.h.  Products
 * and sums stand in Horner's order, as in R's qnorm(), so that the bits are R's
 * (normals.c says which products are fused). */

/* y x + a */
#define STEP(y, x, a) LANE_FMA(y, x, LANE_SPLAT(a))

/* |p - 1/2| <= 0.425: x[i] <- quantile of p = x[i] + 1/2. */
LANE_TARGET static void LANE_NAME(central)(double *x, size_t n) {
  for (size_t i = 0; i < n; i += WIDTH) {
    const VEC q = FROM(x + i), r = STEP(-q, q, 0.180625);
    VEC above =
      STEP(r, LANE_SPLAT(2509.0809287301226727), 33430.575583588128105);
    VEC below =
      STEP(r, LANE_SPLAT(5226.495278852854561), 28729.085735721942674);
    above = STEP(above, r, 67265.770927008700853);
    below = STEP(below, r, 39307.89580009271061);
    above = STEP(above, r, 45921.953931549871457);
    below = STEP(below, r, 21213.794301586595867);
    above = STEP(above, r, 13731.693765509461125);
    below = STEP(below, r, 5394.1960214247511077);
    above = STEP(above, r, 1971.5909503065514427);
    below = STEP(below, r, 687.1870074920579083);
    above = STEP(above, r, 133.14166789178437745);
    below = STEP(below, r, 42.313330701600911252);
    above = STEP(above, r, 3.387132872796366608);
    below = STEP(below, r, 1.0);
    AT(x + i) = q * above / below;
  }
}

/* The upper tail: z[i] <- quantile of 1 - p, root[i] = sqrt(-log p) <= 5. */
LANE_TARGET static void LANE_NAME(tail)(const double *root, size_t n,
                                        double *z) {
  for (size_t i = 0; i < n; i += WIDTH) {
    const VEC r = FROM(root + i) - 1.6;
    VEC above =
      STEP(r, LANE_SPLAT(7.7454501427834140764e-4), 0.0227238449892691845833);
    VEC below =
      STEP(r, LANE_SPLAT(1.05075007164441684324e-9), 5.475938084995344946e-4);
    above = STEP(above, r, 0.24178072517745061177);
    below = STEP(below, r, 0.0151986665636164571966);
    above = STEP(above, r, 1.27045825245236838258);
    below = STEP(below, r, 0.14810397642748007459);
    above = STEP(above, r, 3.64784832476320460504);
    below = STEP(below, r, 0.68976733498510000455);
    above = STEP(above, r, 5.7694972214606914055);
    below = STEP(below, r, 1.6763848301838038494);
    above = STEP(above, r, 4.6303378461565452959);
    below = STEP(below, r, 2.05319162663775882187);
    above = STEP(above, r, 1.42343711074968357734);
    below = STEP(below, r, 1.0);
    AT(z + i) = above / below;
  }
}

#undef STEP
