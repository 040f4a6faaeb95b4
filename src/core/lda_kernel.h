/* Kernels of LDA for one width of vector; lda_kernel.c includes this file once for
 * each width, with
 *   LANE_BYTES     bytes of a vector
 *   LANE_NAME(x)   the name of x for this width
 *   LANE_TARGET    attribute that allows its instructions, or nothing
 * Sums run in LDA_LANES strands (LDA_LIST_LANES for lists), strand j over the
 * elements j, j + LDA_LANES, ...: the same bits for each width. */

typedef float LANE_NAME(floats)
  __attribute__((vector_size(LANE_BYTES), aligned(4), may_alias));
typedef int LANE_NAME(ints)
  __attribute__((vector_size(LANE_BYTES), aligned(4), may_alias));

#define VEC LANE_NAME(floats)
#define INTS LANE_NAME(ints)
#define WIDTH (LANE_BYTES / sizeof(float))
#define PASS (2 * WIDTH)
#define AT(pointer) (*(VEC *)(pointer))
#define FROM(pointer) (*(const VEC *)(pointer))
#define COUNTS(pointer) __builtin_convertvector(*(const INTS *)(pointer), VEC)
/* y where the mask is set, x elsewhere */
#define CHOOSE(mask, y, x) ((VEC)(((INTS)(y) & (mask)) | ((INTS)(x) & ~(mask))))

/* t_k <- (n_dk + alpha_k) / (n_k + sum eta); t may be null of zeros beyond k. */
LANE_TARGET static void LANE_NAME(factors)(const int *count, const float *alpha,
                                           const float *inverse, size_t padded,
                                           float *t) {
  for (size_t j = 0; j < padded; j += WIDTH)
    AT(t + j) = (COUNTS(count + j) + FROM(alpha + j)) * FROM(inverse + j);
}

/* run <- running sums, strand by strand, of t_k (n_kw + eta_w), of which that of
 * the topic `own` is `weight`. */
LANE_TARGET static inline void LANE_NAME(run_row)(const uint32_t *row,
                                                  const float *t, float eta,
                                                  size_t own, float weight,
                                                  size_t padded, float *run) {
  const VEC weights = (VEC){0} + weight;
  INTS from = {0};
  for (size_t e = 0; e < WIDTH; e++)
    from[e] = (int)e - (int)own;
  for (size_t lane = 0; lane < LDA_LANES; lane += PASS) {
    VEC a = {0}, b = {0};
    for (size_t j = lane; j < padded; j += LDA_LANES) {
      const INTS own_a = from == -(int)j, own_b = from == -(int)(j + WIDTH);
      const VEC x = FROM(t + j) * (COUNTS(row + j) + eta);
      const VEC y = FROM(t + j + WIDTH) * (COUNTS(row + j + WIDTH) + eta);
      a += CHOOSE(own_a, weights, x);
      b += CHOOSE(own_b, weights, y);
      AT(run + j) = a;
      AT(run + j + WIDTH) = b;
    }
  }
}

/* ... of x_k y_k. */
LANE_TARGET static inline void LANE_NAME(run_products)(const float *x,
                                                       const float *y,
                                                       size_t padded,
                                                       float *run) {
  for (size_t lane = 0; lane < LDA_LANES; lane += PASS) {
    VEC a = {0}, b = {0};
    for (size_t j = lane; j < padded; j += LDA_LANES) {
      a += FROM(x + j) * FROM(y + j);
      b += FROM(x + j + WIDTH) * FROM(y + j + WIDTH);
      AT(run + j) = a;
      AT(run + j + WIDTH) = b;
    }
  }
}

/* ... of x_k. */
LANE_TARGET static inline void LANE_NAME(run_sums)(const float *x,
                                                   size_t padded, float *run) {
  for (size_t lane = 0; lane < LDA_LANES; lane += PASS) {
    VEC a = {0}, b = {0};
    for (size_t j = lane; j < padded; j += LDA_LANES) {
      a += FROM(x + j);
      b += FROM(x + j + WIDTH);
      AT(run + j) = a;
      AT(run + j + WIDTH) = b;
    }
  }
}

/* ... of t_k n_kw over the cells of a list, one token of the topic `own` left
 * out, whose t is `factor`.  Returns the number of elements of run. */
LANE_TARGET static inline size_t
LANE_NAME(run_list)(const uint32_t *cell, size_t length, uint32_t own,
                    float factor, const float *t, float *run) {
  const VEC factors = (VEC){0} + factor;
  for (size_t lane = 0; lane < LDA_LIST_LANES; lane += WIDTH) {
    VEC sum = {0};
    for (size_t j = lane; j < length || j == lane; j += LDA_LIST_LANES) {
      const INTS topic = *(const INTS *)(cell + j) & (int)LDA_TOPIC;
      INTS count = (*(const INTS *)(cell + j) >> 16) & (int)LDA_TOPIC;
      const INTS is_own = topic == (int)own;
      count += is_own;         /* a mask is -1 */
      count &= ~(count >> 31); /* the zeros after the end name topic 0 */
      VEC weight;
      for (size_t e = 0; e < WIDTH; e++)
        weight[e] = t[cell[j + e] & LDA_TOPIC];
      sum +=
        CHOOSE(is_own, factors, weight) * __builtin_convertvector(count, VEC);
      AT(run + j) = sum;
    }
  }
  return length <= LDA_LIST_LANES
           ? LDA_LIST_LANES
           : (length + LDA_LIST_LANES - 1) / LDA_LIST_LANES * LDA_LIST_LANES;
}

/* ---- z | alpha, eta, w: one document ---------------------------------------- */

/* Most tokens stay in their topic.  So a draw works with what the token's own
 * topic would have without it, and the counts change only when the token moves:
 * a token that stays writes nothing that the next one has to wait for. */

/* t_k with one token of the document less in topic k. */
static inline float LANE_NAME(t_without)(const lda_document *d, size_t k) {
  return ((float)(d->count[k] - 1) + d->alpha[k]) *
         lda_inverse(d->total[k] - 1.0 + d->sum_eta);
}

/* A token leaves (step -1) or joins (step 1) topic k. */
LANE_TARGET static inline void LANE_NAME(move)(lda_document *d, size_t k,
                                               int step) {
  d->count[k] += step;
  d->total[k] += step;
  const float before = d->t[k];
  d->inverse[k] = lda_inverse(d->total[k] + d->sum_eta);
  d->t[k] = ((float)d->count[k] + d->alpha[k]) * d->inverse[k];
  d->sum += (double)d->t[k] - (double)before;
}

/* P(z_i = k | .) proportional to t_k (n_kw + eta_w), all without token i
 * (Griffiths & Steyvers 2004, eq. 5), the word a row; t: t_without() of the old
 * topic. */
LANE_TARGET static inline size_t LANE_NAME(draw_row)(lda_document *d,
                                                     uint32_t *row, size_t old,
                                                     float t, float eta,
                                                     double u) {
  const float own = t * ((float)((int)row[old] - 1) + eta);
  LANE_NAME(run_row)(row, d->t, eta, old, own, d->padded, d->run);
  const size_t drawn = lda_pick_wide(d->run, d->padded, d->k, u);
  if (drawn == old)
    return drawn;
  row[old]--;
  row[drawn]++;
  return drawn;
}

/* Index of the weights t_k, that of the old topic t. */
LANE_TARGET static size_t LANE_NAME(pick_smoothing)(lda_document *d, size_t old,
                                                    float t, double u) {
  const float with = d->t[old];
  d->t[old] = t;
  LANE_NAME(run_sums)(d->t, d->padded, d->run);
  d->t[old] = with;
  return lda_pick_wide(d->run, d->padded, d->k, u);
}

/* The same as draw_row(), the word a list: sum t_k n_kw over its topics and eta_w
 * sum t_k are the masses of two buckets (Yao, Mimno & McCallum 2009,
 * doi:10.1145/1557019.1557121). */
LANE_TARGET static inline size_t
LANE_NAME(draw_list)(lda_document *d, uint32_t *cell, uint32_t *length,
                     size_t old, float t, float eta, double u) {
  const size_t size =
    LANE_NAME(run_list)(cell, *length, (uint32_t)old, t, d->t, d->run);
  const double mass = lda_list_mass(d->run, size);
  const double sum = d->sum + ((double)t - (double)d->t[old]);
  const double smoothing = (double)eta * sum;
  const double threshold = u * (mass + smoothing);
  size_t drawn;
  if (threshold < mass) {
    const size_t at = lda_pick_list(d->run, size, *length, threshold);
    drawn = cell[at] & LDA_TOPIC;
    if (drawn == old)
      return drawn;
    cell[at] += LDA_TOPIC + 1;
    lda_list_remove(cell, length, (uint32_t)old);
    return drawn;
  }
  drawn = LANE_NAME(pick_smoothing)(d, old, t, (threshold - mass) / smoothing);
  if (drawn == old)
    return drawn;
  lda_list_remove(cell, length, (uint32_t)old); /* first: it may be full */
  lda_list_add(cell, length, (uint32_t)drawn);
  return drawn;
}

/* One uniform of R's generator a token. */
LANE_TARGET static void
LANE_NAME(collapsed_document)(lda_document *d, lda_words *words,
                              const double *eta, size_t eta_step,
                              const int *word, uint16_t *z, size_t n) {
  LANE_NAME(factors)(d->count, d->alpha, d->inverse, d->padded, d->t);
  LANE_NAME(run_sums)(d->t, d->padded, d->run);
  d->sum = lda_wide_mass(d->run, d->padded);
  for (size_t i = 0; i < n; i++) {
    const size_t w = (size_t)word[i] - 1, old = z[i];
    uint32_t *slot = words->cell + words->offset[w];
    const float weight = (float)eta[w * eta_step];
    if (i + LDA_AHEAD < n) {
      const size_t next = (size_t)word[i + LDA_AHEAD] - 1;
      __builtin_prefetch(words->cell + words->offset[next], 1);
      __builtin_prefetch(words->cell + words->offset[next] + 16, 1);
    }
    const float t = LANE_NAME(t_without)(d, old);
    const double u = unif_rand();
    const size_t drawn =
      words->length[w] == LDA_ROW
        ? LANE_NAME(draw_row)(d, slot, old, t, weight, u)
        : LANE_NAME(draw_list)(d, slot, words->length + w, old, t, weight, u);
    if (drawn == old)
      continue;
    LANE_NAME(move)(d, old, -1);
    LANE_NAME(move)(d, drawn, 1);
    z[i] = (uint16_t)drawn;
  }
}

/* ---- z given phi: one document ---------------------------------------------- */

/* P(z_i = k | .) proportional to (n_dk + alpha_k) phi_kw without token i, theta
 * integrated out; with `theta` instead to theta_dk phi_kw.  phi: padded floats a
 * word.  table, if any: n_kw of the new topics, padded a word, added to. */
LANE_TARGET static status
LANE_NAME(given_phi)(lda_document *d, const float *phi, philox_stream *uniforms,
                     int theta, const int *word, uint16_t *z, size_t n,
                     int *table) {
  const size_t padded = d->padded;
  for (size_t i = 0; i < n; i++) {
    const size_t w = (size_t)word[i] - 1, old = z[i];
    if (i + LDA_AHEAD < n) {
      const size_t next = (size_t)word[i + LDA_AHEAD] - 1;
      for (size_t j = 0; j < padded && j < 128; j += 16)
        __builtin_prefetch(phi + next * padded + j);
    }
    if (!theta)
      d->t[old] = (float)--d->count[old] + d->alpha[old];
    LANE_NAME(run_products)(d->t, phi + w * padded, padded, d->run);
    if (!(lda_wide_mass(d->run, padded) > 0.0))
      return STATUS_NOT_FINITE;
    const size_t drawn =
      lda_pick_wide(d->run, padded, d->k, philox_unif(uniforms));
    if (!theta)
      d->t[drawn] = (float)++d->count[drawn] + d->alpha[drawn];
    z[i] = (uint16_t)drawn;
    if (table)
      table[w * padded + drawn]++;
  }
  return STATUS_OK;
}

/* sum_k x_k y_k */
LANE_TARGET static double LANE_NAME(dot)(const float *x, const float *y,
                                         size_t padded, float *run) {
  LANE_NAME(run_products)(x, y, padded, run);
  return lda_wide_mass(run, padded);
}

#undef VEC
#undef INTS
#undef WIDTH
#undef PASS
#undef AT
#undef FROM
#undef COUNTS
#undef CHOOSE
