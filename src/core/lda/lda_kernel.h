/* Kernels of LDA for one width of vector; lda_kernel.c includes this file once for
 * each width, after lanes_next.h.  Sums run in LDA_LANES strands (LDA_LIST_LANES for
 * lists), strand j over the elements j, j + LDA_LANES, ...: the same bits for each
 * width. */

#include "lda/lda_octet.h"

LANES_VECTOR(int, LANE_BYTES, LANE_NAME(ints), LANE_NAME(ints_place));

#define INTS LANE_NAME(ints)
#define FROM_INTS(pointer) LANES_LOAD(INTS, LANE_NAME(ints_place), pointer)
#define COUNTS(pointer) __builtin_convertvector(FROM_INTS(pointer), VEC)
/* 0 where the mask is set, x elsewhere */
#define UNLESS(mask, x) ((VEC)((INTS)(x) & ~(mask)))

/* ---- eight floats ----------------------------------------------------------- */

LANE_TARGET static inline OCTET LANE_NAME(load)(const float *x) {
  OCTET eight = {FROM(x) PAIR(, FROM(x + WIDTH))};
  return eight;
}

LANE_TARGET static inline void LANE_NAME(keep)(float *x, OCTET eight) {
  AT(x) = eight.a;
  PAIR(AT(x + WIDTH) = eight.b;)
}

LANE_TARGET static inline OCTET LANE_NAME(add)(OCTET x, OCTET y) {
  x.a += y.a;
  PAIR(x.b += y.b;)
  return x;
}

/* An index to compare with: that of the topics from 0 on. */
LANE_TARGET static inline INTS LANE_NAME(count_up)(void) {
  INTS index = {0};
  for (size_t e = 0; e < WIDTH; e++)
    index[e] = (int)e;
  return index;
}

/* ---- running sums ----------------------------------------------------------- */

/* Each writes its running sums, strand by strand, and returns what the strands j
 * and j + 8 sum to. */

/* t_k (n_kw + eta_w) of eight topics, 0 for the topic `own`; `index` moves on. */
LANE_TARGET static inline OCTET LANE_NAME(weigh)(const uint32_t *row,
                                                 const float *t, float eta,
                                                 INTS own, INTS *index) {
  OCTET x;
  x.a = UNLESS(*index == own, FROM(t) * (COUNTS(row) + eta));
  *index += (int)WIDTH;
  PAIR(x.b =
         UNLESS(*index == own, FROM(t + WIDTH) * (COUNTS(row + WIDTH) + eta));
       *index += (int)WIDTH;)
  return x;
}

/* The same for an uneven word: t_k (n_kw + eta_kw). */
LANE_TARGET static inline OCTET LANE_NAME(weigh_uneven)(const uint32_t *row,
                                                        const float *t,
                                                        const float *eta,
                                                        INTS own, INTS *index) {
  OCTET x;
  x.a = UNLESS(*index == own, FROM(t) * (COUNTS(row) + FROM(eta)));
  *index += (int)WIDTH;
  PAIR(x.b = UNLESS(*index == own, FROM(t + WIDTH) *
                                     (COUNTS(row + WIDTH) + FROM(eta + WIDTH)));
       *index += (int)WIDTH;)
  return x;
}

LANE_TARGET static inline OCTET LANE_NAME(run_row)(const uint32_t *row,
                                                   const float *t, float eta,
                                                   size_t own, size_t padded,
                                                   float *run) {
  const INTS owns = (INTS){0} + (int)own;
  INTS index = LANE_NAME(count_up)();
  OCTET low = {0}, high = {0};
  for (size_t j = 0; j < padded; j += LDA_LANES) {
    low =
      LANE_NAME(add)(low, LANE_NAME(weigh)(row + j, t + j, eta, owns, &index));
    LANE_NAME(keep)(run + j, low);
    high = LANE_NAME(add)(
      high, LANE_NAME(weigh)(row + j + 8, t + j + 8, eta, owns, &index));
    LANE_NAME(keep)(run + j + 8, high);
  }
  return LANE_NAME(add)(low, high);
}

LANE_TARGET static inline OCTET
LANE_NAME(run_uneven)(const uint32_t *row, const float *t, const float *eta,
                      size_t own, size_t padded, float *run) {
  const INTS owns = (INTS){0} + (int)own;
  INTS index = LANE_NAME(count_up)();
  OCTET low = {0}, high = {0};
  for (size_t j = 0; j < padded; j += LDA_LANES) {
    low = LANE_NAME(add)(
      low, LANE_NAME(weigh_uneven)(row + j, t + j, eta + j, owns, &index));
    LANE_NAME(keep)(run + j, low);
    high =
      LANE_NAME(add)(high, LANE_NAME(weigh_uneven)(row + j + 8, t + j + 8,
                                                   eta + j + 8, owns, &index));
    LANE_NAME(keep)(run + j + 8, high);
  }
  return LANE_NAME(add)(low, high);
}

/* x_k y_k of eight topics. */
LANE_TARGET static inline OCTET LANE_NAME(product)(const float *x,
                                                   const float *y) {
  OCTET z = {FROM(x) * FROM(y) PAIR(, FROM(x + WIDTH) * FROM(y + WIDTH))};
  return z;
}

LANE_TARGET static inline OCTET LANE_NAME(run_products)(const float *x,
                                                        const float *y,
                                                        size_t padded,
                                                        float *run) {
  OCTET low = {0}, high = {0};
  for (size_t j = 0; j < padded; j += LDA_LANES) {
    low = LANE_NAME(add)(low, LANE_NAME(product)(x + j, y + j));
    LANE_NAME(keep)(run + j, low);
    high = LANE_NAME(add)(high, LANE_NAME(product)(x + j + 8, y + j + 8));
    LANE_NAME(keep)(run + j + 8, high);
  }
  return LANE_NAME(add)(low, high);
}

/* ... of x_k. */
LANE_TARGET static inline OCTET LANE_NAME(run_sums)(const float *x,
                                                    size_t padded, float *run) {
  OCTET low = {0}, high = {0};
  for (size_t j = 0; j < padded; j += LDA_LANES) {
    low = LANE_NAME(add)(low, LANE_NAME(load)(x + j));
    LANE_NAME(keep)(run + j, low);
    high = LANE_NAME(add)(high, LANE_NAME(load)(x + j + 8));
    LANE_NAME(keep)(run + j + 8, high);
  }
  return LANE_NAME(add)(low, high);
}

/* t_k n_kw of some cells of a list, 0 for the topic `own`. */
LANE_TARGET static inline VEC LANE_NAME(weigh_cells)(const uint32_t *cell,
                                                     INTS own, const float *t) {
  const INTS cells = FROM_INTS(cell);
  const INTS is_own = (cells & (int)LDA_TOPIC) == own;
  const INTS count = (cells >> 16) & (int)LDA_TOPIC & ~is_own;
  return LANE_NAME(look_up)(t, cell) * __builtin_convertvector(count, VEC);
}

/* ... of the cells of a list. */
LANE_TARGET static inline OCTET LANE_NAME(run_list)(const uint32_t *cell,
                                                    size_t size, uint32_t own,
                                                    const float *t,
                                                    float *run) {
  const INTS owns = (INTS){0} + (int)own;
  OCTET sum = {0};
  size_t j = 0;
  do {
    sum.a += LANE_NAME(weigh_cells)(cell + j, owns, t);
    PAIR(sum.b += LANE_NAME(weigh_cells)(cell + j + WIDTH, owns, t);)
    LANE_NAME(keep)(run + j, sum);
    j += LDA_LIST_LANES;
  } while (j < size);
  return sum;
}

/* ---- picking ------------------------------------------------------------------ */

/* What a pick among columns goes by. */
typedef struct {
  float sums[9]; /* of the columns before each, and of all */
  OCTET scanned;
} LANE_NAME(columns);

LANE_TARGET static inline float LANE_NAME(open)(OCTET totals,
                                                LANE_NAME(columns) * columns) {
  columns->scanned = LANE_NAME(scan)(totals);
  columns->sums[0] = 0.0f;
  LANE_NAME(keep)(columns->sums + 1, columns->scanned);
  return LANE_NAME(last)(columns->scanned);
}

/* lda_pick_wide() */
LANE_TARGET static inline size_t
LANE_NAME(pick_wide)(const float *run, size_t size, size_t k,
                     const LANE_NAME(columns) * columns, double threshold) {
  const float rest = (float)threshold;
  const size_t column = LANE_NAME(passed)(columns->scanned, rest);
  return lda_pick_column(run, size, k, column, rest - columns->sums[column]);
}

/* ---- z | alpha, eta, w: one document ---------------------------------------- */

/* Most tokens stay in their topic, and the weight of that topic takes one product.
 * So the unit interval begins with a token's own topic.  The running sums of the
 * other topics are searched only where the uniform lies beyond it, and counts
 * change only where the token moves. */

/* t_k <- (n_dk + alpha_k) / (n_k + sum eta); returns their sum. */
LANE_TARGET static double LANE_NAME(factors)(const lda_document *d) {
  LANE_NAME(columns) columns;
  for (size_t j = 0; j < d->padded; j += WIDTH)
    AT(d->t + j) =
      (COUNTS(d->count + j) + FROM(d->alpha + j)) * FROM(d->inverse + j);
  return (double)LANE_NAME(open)(LANE_NAME(run_sums)(d->t, d->padded, d->run),
                                 &columns);
}

/* t_k with one token of the document less in topic k. */
static inline float LANE_NAME(t_without)(const lda_document *d, size_t k) {
  return lda_factor(d->count[k] - 1, d->alpha[k],
                    lda_inverse(d->total[k] - 1.0 + d->sum_eta[k]));
}

/* A token leaves (step -1) or joins (step 1) topic k. */
LANE_TARGET static inline void LANE_NAME(move)(lda_document *d, size_t k,
                                               int step) {
  d->count[k] += step;
  d->total[k] += step;
  const float before = d->t[k];
  d->inverse[k] = lda_inverse(d->total[k] + d->sum_eta[k]);
  d->t[k] = lda_factor(d->count[k], d->alpha[k], d->inverse[k]);
  d->sum += (double)d->t[k] - (double)before;
}

/* P(z_i = k | .) proportional to t_k (n_kw + eta_w), all without token i
 * (Griffiths & Steyvers 2004, eq. 5), the word a row; t: t_without() of the old
 * topic; uneven: eta_kw of an uneven word, else NULL. */
LANE_TARGET static inline size_t
LANE_NAME(draw_row)(lda_document *d, uint32_t *row, size_t old, float t,
                    float eta, const float *uneven, double u) {
  LANE_NAME(columns) columns;
  const float own =
    t * ((float)((int)row[old] - 1) + (uneven ? uneven[old] : eta));
  const OCTET sums =
    uneven ? LANE_NAME(run_uneven)(row, d->t, uneven, old, d->padded, d->run)
           : LANE_NAME(run_row)(row, d->t, eta, old, d->padded, d->run);
  const double others = (double)LANE_NAME(open)(sums, &columns);
  const double rest = u * others - (1.0 - u) * (double)own;
  if (rest < 0.0)
    return old;
  const size_t drawn =
    LANE_NAME(pick_wide)(d->run, d->padded, d->k, &columns, rest);
  row[old]--;
  row[drawn]++;
  return drawn;
}

/* One of the other topics by t_k; `share` of their sum is passed. */
LANE_TARGET static inline size_t
LANE_NAME(draw_smoothing)(lda_document *d, size_t old, double share) {
  LANE_NAME(columns) columns;
  const float t = d->t[old];
  d->t[old] = 0.0f;
  const double total = (double)LANE_NAME(open)(
    LANE_NAME(run_sums)(d->t, d->padded, d->run), &columns);
  d->t[old] = t;
  return LANE_NAME(pick_wide)(d->run, d->padded, d->k, &columns, share * total);
}

/* The same as draw_row(), the word a list: sum t_k n_kw over its topics and eta_w
 * sum t_k are the masses of two buckets (Yao, Mimno & McCallum 2009,
 * doi:10.1145/1557019.1557121). */
LANE_TARGET static inline size_t
LANE_NAME(draw_list)(lda_document *d, uint32_t *cell, uint32_t *length,
                     size_t old, float t, float eta, double u) {
  LANE_NAME(columns) columns;
  const size_t at = LANE_NAME(find)(cell, (uint32_t)old);
  const size_t size = lda_list_size(*length);
  const float own = t * ((float)((int)(cell[at] >> 16) - 1) + eta);
  const double mass = (double)LANE_NAME(open)(
    LANE_NAME(run_list)(cell, size, (uint32_t)old, d->t, d->run), &columns);
  const double smoothing = (double)eta * (d->sum - (double)d->t[old]);
  const double rest = u * (mass + smoothing) - (1.0 - u) * (double)own;
  if (rest < 0.0)
    return old;
  size_t drawn;
  if (rest < mass) {
    const size_t column = LANE_NAME(passed)(columns.scanned, (float)rest);
    const size_t place = lda_pick_strand(d->run, size, LDA_LIST_LANES, column,
                                         (float)rest - columns.sums[column]);
    const size_t to = place < *length ? place : *length - 1;
    drawn = cell[to] & LDA_TOPIC;
    cell[to] += LDA_TOPIC + 1;
    lda_list_remove(cell, length, at);
  } else {
    drawn = LANE_NAME(draw_smoothing)(d, old, (rest - mass) / smoothing);
    lda_list_remove(cell, length, at); /* first: it may be full */
    lda_list_add(cell, length, (uint32_t)drawn);
  }
  return drawn;
}

LANE_TARGET static void LANE_NAME(draw_tokens)(lda_document *document,
                                               const lda_words *words,
                                               const lda_tokens *tokens) {
  /* a local copy, so that stores through z and cell cannot alias it */
  lda_document d = *document;
  const lda_words own = *words;
  const lda_tokens of = *tokens;
  for (size_t i = 0; i < of.n; i++) {
    const size_t w = (size_t)of.word[i] - 1, old = of.z[i];
    uint32_t *slot = own.cell + own.offset[w];
    const float eta = (float)of.eta[w * of.eta_step];
    if (i < of.ahead) {
      const size_t next = own.offset[(size_t)of.word[i + LDA_AHEAD] - 1];
      __builtin_prefetch(own.cell + next, 1);
      __builtin_prefetch(own.cell + next + 16, 1);
    }
    const float t = LANE_NAME(t_without)(&d, old);
    const size_t drawn =
      own.length[w] == LDA_ROW
        ? LANE_NAME(draw_row)(&d, slot, old, t, eta, lda_uneven_eta(&own, w),
                              of.u[i])
        : LANE_NAME(draw_list)(&d, slot, own.length + w, old, t, eta, of.u[i]);
    if (drawn == old)
      continue;
    LANE_NAME(move)(&d, old, -1);
    LANE_NAME(move)(&d, drawn, 1);
    of.z[i] = (uint16_t)drawn;
  }
  document->sum = d.sum;
}

/* ---- the same where all words are short rows ---------------------------------- */

/* With few topics the time of a token is the latency of its chain of operations.
 * So the weights of a token that stays remain in registers.  For a token that moves
 * the values of its two topics were computed before (lda_neighbours); the divisions
 * that renew these are off the critical path.  The draws are those of
 * draw_row(). */

LANE_TARGET static void LANE_NAME(precompute_moves)(const lda_document *d,
                                                    lda_neighbours *beside) {
  for (size_t k = 0; k < d->k; k++) {
    beside->less[k] = lda_inverse(d->total[k] - 1.0 + d->sum_eta[k]);
    beside->more[k] = lda_inverse(d->total[k] + 1.0 + d->sum_eta[k]);
    beside->t_less[k] =
      lda_factor(d->count[k] - 1, d->alpha[k], beside->less[k]);
  }
}

/* A token moves: the same as move() of each topic, `sum` left out. */
LANE_TARGET static inline void LANE_NAME(move_token)(lda_document *d,
                                                     lda_neighbours *beside,
                                                     size_t old, size_t drawn) {
  const float less = beside->less[old], more = beside->more[drawn];
  const float from = d->inverse[old], to = d->inverse[drawn];
  const int left = --d->count[old], joined = ++d->count[drawn];
  d->t[old] = lda_factor(left, d->alpha[old], less);
  d->t[drawn] = lda_factor(joined, d->alpha[drawn], more);
  d->inverse[old] = less;
  d->inverse[drawn] = more;
  beside->more[old] = from;
  beside->less[drawn] = to;
  beside->t_less[drawn] = lda_factor(joined - 1, d->alpha[drawn], to);
  beside->less[old] = lda_inverse(--d->total[old] - 1.0 + d->sum_eta[old]);
  beside->more[drawn] =
    lda_inverse(++d->total[drawn] + 1.0 + d->sum_eta[drawn]);
  beside->t_less[old] = lda_factor(left - 1, d->alpha[old], beside->less[old]);
}

/* run_row() or run_uneven() into registers: `low` and `high` are its running
 * sums. */
LANE_TARGET static LANES_INLINE OCTET LANE_NAME(run_short)(
  const uint32_t *row, const float *t, float eta, const float *uneven,
  size_t own, size_t strides, OCTET *low, OCTET *high) {
  const INTS owns = (INTS){0} + (int)own;
  INTS index = LANE_NAME(count_up)();
  for (size_t s = 0; s < strides; s++, row += LDA_LANES, t += LDA_LANES) {
    if (uneven) {
      const float *at = uneven + s * LDA_LANES;
      low[s] = LANE_NAME(weigh_uneven)(row, t, at, owns, &index);
      high[s] = LANE_NAME(weigh_uneven)(row + 8, t + 8, at + 8, owns, &index);
    } else {
      low[s] = LANE_NAME(weigh)(row, t, eta, owns, &index);
      high[s] = LANE_NAME(weigh)(row + 8, t + 8, eta, owns, &index);
    }
  }
  for (size_t s = 1; s < strides; s++) {
    low[s] = LANE_NAME(add)(low[s - 1], low[s]);
    high[s] = LANE_NAME(add)(high[s - 1], high[s]);
  }
  return LANE_NAME(add)(low[strides - 1], high[strides - 1]);
}

/* `strides` of LDA_LANES topics, a constant.  all_eta: eta_kw of all words, where
 * they are uneven; else the constant NULL. */
LANE_TARGET static LANES_INLINE void
LANE_NAME(draw_in_short_rows)(const lda_document *document, uint32_t *cell,
                              const float *all_eta, const lda_tokens *tokens,
                              lda_neighbours *beside, const size_t strides) {
  lda_document d = *document;
  const lda_tokens of = *tokens;
  const size_t padded = strides * LDA_LANES;
  OCTET low[LDA_SHORT_ROW / LDA_LANES], high[LDA_SHORT_ROW / LDA_LANES];
  for (size_t i = 0; i < of.n; i++) {
    const size_t w = (size_t)of.word[i] - 1, old = of.z[i];
    uint32_t *row = cell + w * padded;
    const float *uneven = all_eta ? all_eta + w * padded : NULL;
    const float eta = uneven ? uneven[old] : (float)of.eta[w * of.eta_step];
    if (i < of.ahead) {
      const size_t next = (size_t)of.word[i + LDA_AHEAD] - 1;
      for (size_t j = 0; j < padded; j += LDA_LANES)
        __builtin_prefetch(cell + next * padded + j, 1);
    }
    const OCTET sums =
      LANE_NAME(run_short)(row, d.t, eta, uneven, old, strides, low, high);
    const float own = beside->t_less[old] * ((float)((int)row[old] - 1) + eta);
    const double stays = (1.0 - of.u[i]) * (double)own;
    const double passed = of.u[i] * (double)LANE_NAME(total)(sums);
    if (passed < stays)
      continue;
    LANE_NAME(columns) columns;
    (void)LANE_NAME(open)(sums, &columns);
    for (size_t s = 0; s < strides; s++) {
      LANE_NAME(keep)(d.run + s * LDA_LANES, low[s]);
      LANE_NAME(keep)(d.run + s * LDA_LANES + 8, high[s]);
    }
    const float rest = (float)(passed - stays);
    const size_t column = LANE_NAME(passed)(columns.scanned, rest);
    const size_t drawn =
      lda_pick_short(d.run, padded, d.k, column, rest - columns.sums[column]);
    if (drawn == old)
      continue;
    row[old]--;
    row[drawn]++;
    LANE_NAME(move_token)(&d, beside, old, drawn);
    of.z[i] = (uint16_t)drawn;
  }
}

LANE_TARGET static void LANE_NAME(draw_short)(const lda_document *d,
                                              const lda_words *words,
                                              const lda_tokens *tokens,
                                              lda_neighbours *beside) {
  uint32_t *cell = words->cell;
  const int wide = d->padded > LDA_LANES;
  if (words->eta == NULL && !wide)
    LANE_NAME(draw_in_short_rows)(d, cell, NULL, tokens, beside, 1);
  else if (words->eta == NULL)
    LANE_NAME(draw_in_short_rows)(d, cell, NULL, tokens, beside, 2);
  else if (!wide)
    LANE_NAME(draw_in_short_rows)(d, cell, words->eta, tokens, beside, 1);
  else
    LANE_NAME(draw_in_short_rows)(d, cell, words->eta, tokens, beside, 2);
}

/* ---- a document ---------------------------------------------------------------- */

/* Tokens whose uniforms are drawn together. */
#define BATCH 256

/* A document, with uniforms from R's generator or its words (uniforms.h). */
LANE_TARGET static void LANE_NAME(collapsed_document)(
  lda_document *d, lda_words *words, const double *eta, size_t eta_step,
  const int *word, uint16_t *z, size_t n, uint32_t *uniforms) {
  double u[BATCH];
  lda_neighbours beside;
  if (d->padded <= LDA_SHORT_ROW)
    LANE_NAME(precompute_moves)(d, &beside);
  d->sum = LANE_NAME(factors)(d);
  for (size_t first = 0; first < n; first += BATCH) {
    const size_t left = n - first, size = left < BATCH ? left : BATCH;
    const lda_tokens tokens = {
      word + first, z + first, u,
      eta,          size,      left > LDA_AHEAD ? left - LDA_AHEAD : 0,
      eta_step};
    uniforms_next(uniforms, u, size);
    if (d->padded <= LDA_SHORT_ROW)
      LANE_NAME(draw_short)(d, words, &tokens, &beside);
    else
      LANE_NAME(draw_tokens)(d, words, &tokens);
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
  LANE_NAME(columns) columns;
  for (size_t i = 0; i < n; i++) {
    const size_t w = (size_t)word[i] - 1, old = z[i];
    if (i + LDA_AHEAD < n) {
      const size_t next = (size_t)word[i + LDA_AHEAD] - 1;
      for (size_t j = 0; j < padded && j < 128; j += 16)
        __builtin_prefetch(phi + next * padded + j);
    }
    if (!theta)
      d->t[old] = (float)--d->count[old] + d->alpha[old];
    const double mass = (double)LANE_NAME(open)(
      LANE_NAME(run_products)(d->t, phi + w * padded, padded, d->run),
      &columns);
    if (!(mass > 0.0))
      return STATUS_NOT_FINITE;
    const size_t drawn = LANE_NAME(pick_wide)(d->run, padded, d->k, &columns,
                                              philox_unif(uniforms) * mass);
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
  LANE_NAME(columns) columns;
  return (double)LANE_NAME(open)(LANE_NAME(run_products)(x, y, padded, run),
                                 &columns);
}

#undef INTS
#undef OCTET
#undef FROM_INTS
#undef COUNTS
#undef UNLESS
#undef BATCH
