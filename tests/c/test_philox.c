/* The counter-based generator: known answers, the use of its words, tests of
 * fit with wrong variants that they must reject, and independence of order. */
#include "numeric/rdist.h"

#include <math.h>
#include <string.h>

#include "harness.h"
#include "numeric/rmath.h"

void test_philox(void);

/* ---- words and streams --------------------------------------------------- */

/* Known answers of Random123 (kat_vectors, philox4x32 with 10 rounds). */
static void philox_known_answers(void) {
  const uint32_t ones = 0xffffffffu;
  const struct {
    uint32_t counter[4], key[2], out[4];
  } known[] = {{{0, 0, 0, 0},
                {0, 0},
                {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}},
               {{ones, ones, ones, ones},
                {ones, ones},
                {0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}},
               {{0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u},
                {0xa4093822u, 0x299f31d0u},
                {0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}}};
  for (size_t i = 0; i < LENGTH(known); i++) {
    uint32_t out[4];
    philox_block(known[i].counter, known[i].key, out);
    EXPECT(memcmp(out, known[i].out, sizeof out) == 0);
  }
}

/* Word w of the stream (key, item, draw): the counter is
 * (item low, item high, draw, block). */
static uint32_t stream_word(philox_key key, uint64_t item, uint32_t draw,
                            uint32_t w) {
  const uint32_t counter[4] = {(uint32_t)item, (uint32_t)(item >> 32), draw,
                               w / 4};
  uint32_t out[4];
  philox_block(counter, key.key, out);
  return out[w % 4];
}

static uint64_t stream_bits(philox_key key, uint64_t item, uint32_t draw,
                            uint32_t pair) {
  return (uint64_t)stream_word(key, item, draw, 2 * pair) << 32 |
         stream_word(key, item, draw, 2 * pair + 1);
}

/* Uniform j is the midpoint of the cell that the pair of words j picks. */
static void philox_counter_words(void) {
  const philox_key key = {{17, 0x89abcdefu}};
  const uint64_t item = 0x123456789abcdef0u;
  philox_stream s = philox_open(key, item, 42);
  for (uint32_t j = 0; j < 20; j++) {
    const uint64_t cell = stream_bits(key, item, 42, j) >> 12;
    EXPECT(philox_unif(&s) == ((double)cell + 0.5) / 4503599627370496.0);
  }
}

static void philox_key_takes_two_uniforms(void) {
  set_seed(71, 72);
  const philox_key key = philox_key_from_r(), other = philox_key_from_r();
  set_seed(71, 72);
  for (int w = 0; w < 2; w++)
    EXPECT(key.key[w] == (uint32_t)floor(ldexp(unif_rand(), 32)));
  EXPECT(key.key[0] != key.key[1]);
  EXPECT(memcmp(&key, &other, sizeof key) != 0);
}

/* The stream of `item` with its next pair of words replaced. */
static philox_stream stream_at(uint64_t bits, uint32_t item) {
  philox_stream s = {{8, 15}, {item, 0, 0, 0}, {0, 0, 0, 0}, 2};
  s.word[2] = (uint32_t)(bits >> 32);
  s.word[3] = (uint32_t)bits;
  return s;
}

static void philox_unif_is_open(void) {
  philox_stream lowest = stream_at(0, 0), highest = stream_at(~(uint64_t)0, 0);
  EXPECT(philox_unif(&lowest) == ldexp(1.0, -53));
  EXPECT(philox_unif(&highest) == 1.0 - ldexp(1.0, -53));
}

enum { PHILOX_N = 200000 };

static double unit_cdf(double x, double unused) {
  (void)unused;
  return x;
}

static double normal_cdf(double x, double mean) {
  return pnorm(x, mean, 1.0, 1, 0);
}

static double first_of_item(size_t i, double (*variate)(philox_stream *)) {
  const philox_key key = {{123, 456}};
  philox_stream s = philox_open(key, i, 0);
  return variate(&s);
}

/* Along one stream, and across items that differ in the lowest bits alone. */
static double philox_p_value(double (*variate)(philox_stream *),
                             distribution cdf, int across) {
  const philox_key key = {{123, 456}};
  double *x = new_numbers(PHILOX_N);
  philox_stream s = philox_open(key, 5, 6);
  for (size_t i = 0; i < PHILOX_N; i++)
    x[i] = across ? first_of_item(i, variate) : variate(&s);
  const double p = ks_p_value(x, PHILOX_N, cdf, 0.0);
  release_numbers(x);
  return p;
}

/* Mutant: shifted by 1/128. */
static double shifted_unif(philox_stream *s) {
  return fmin(1.0, philox_unif(s) + 1.0 / 128);
}

/* Mutant: the innermost layer is stretched. */
static double boxy_normal(philox_stream *s) {
  const double x = philox_normal(s);
  return fabs(x) < 0.2723 ? x * (1.0 + 0.2 * philox_unif(s)) : x;
}

static void philox_uniforms_fit(void) {
  EXPECT(philox_p_value(philox_unif, unit_cdf, 0) > TINY_P);
  EXPECT(philox_p_value(philox_unif, unit_cdf, 1) > TINY_P);
  EXPECT(philox_p_value(shifted_unif, unit_cdf, 0) < TINY_P);
}

static void philox_normals_fit(void) {
  EXPECT(philox_p_value(philox_normal, normal_cdf, 0) > TINY_P);
  EXPECT(philox_p_value(philox_normal, normal_cdf, 1) > TINY_P);
  EXPECT(philox_p_value(boxy_normal, normal_cdf, 0) < TINY_P);
}

/* Products of neighbours have mean zero: across items, draws and one stream. */
static void philox_neighbours_are_uncorrelated(void) {
  const philox_key key = {{9, 10}};
  double *x = new_numbers(3 * PHILOX_N);
  for (size_t i = 0; i < PHILOX_N; i++) {
    philox_stream s = philox_open(key, i, 0),
                  next_item = philox_open(key, i + 1, 0);
    philox_stream next_draw = philox_open(key, i, 1);
    const double z = philox_normal(&s);
    x[i] = z * philox_normal(&next_item);
    x[PHILOX_N + i] = z * philox_normal(&next_draw);
    x[2 * PHILOX_N + i] = z * philox_normal(&s);
  }
  for (int pair = 0; pair < 3; pair++)
    EXPECT(fabs(z_mean(x + pair * PHILOX_N, PHILOX_N, 0.0)) < MAX_Z);
  release_numbers(x);
}

/* The normals in 256 cells of equal probability, the outermost split at +-4:
 * the tail beyond 3.44 and every layer carry their share. */
static double normal_cells_p_value(double (*variate)(philox_stream *)) {
  enum { CELLS = 256 };
  const philox_key key = {{77, 78}};
  double counts[CELLS + 2] = {0}, probabilities[CELLS + 2];
  philox_stream s = philox_open(key, 0, 0);
  for (long t = 0; t < 2000000; t++) {
    const double x = variate(&s);
    if (fabs(x) > 4.0)
      counts[CELLS + (x > 0.0)] += 1.0;
    else
      counts[(int)(CELLS * pnorm(x, 0, 1, 1, 0))] += 1.0;
  }
  const double beyond = pnorm(-4.0, 0, 1, 1, 0);
  for (int j = 0; j < CELLS + 2; j++)
    probabilities[j] = j < CELLS ? 1.0 / CELLS : beyond;
  probabilities[0] -= beyond;
  probabilities[CELLS - 1] -= beyond;
  return chi_squared_p_value(counts, probabilities, CELLS + 2);
}

/* Mutant: a normal whose tail stops at 4. */
static double tailless_normal(philox_stream *s) {
  double x;
  do
    x = philox_normal(s);
  while (fabs(x) > 4.0);
  return x;
}

static void philox_normals_fill_their_cells(void) {
  EXPECT(normal_cells_p_value(philox_normal) > TINY_P);
  EXPECT(normal_cells_p_value(tailless_normal) < TINY_P);
  EXPECT(normal_cells_p_value(boxy_normal) < TINY_P);
}

/* Edges of the 128 layers: f(edge[i + 1]) = f(edge[i]) + v / edge[i], from
 * r = edge[1] (Marsaglia & Tsang 2000, table 1: 3.442619855899) inwards;
 * v = r f(r) + the tail. */
static void ziggurat_edges(double *edge) {
  const double r = 3.4426198558966523;
  const double v = r * exp(-0.5 * r * r) +
                   sqrt(2.0 * 3.14159265358979323846) * pnorm(r, 0, 1, 0, 0);
  edge[0] = v / exp(-0.5 * r * r);
  edge[1] = r;
  for (int i = 1; i < 127; i++)
    edge[i + 1] = sqrt(-2.0 * log(exp(-0.5 * edge[i] * edge[i]) + v / edge[i]));
  edge[128] = 0.0;
}

/* The ziggurat splits 64 bits into 52 of position, one of sign, 7 of layer. */
static double position_of(uint64_t bits) {
  return ((double)(bits >> 12) + 0.5) / 4503599627370496.0;
}

static uint64_t bits_of(double position, size_t layer) {
  return (uint64_t)(position * 4503599627370496.0) << 12 | layer;
}

/* The table: a point left of the next edge is returned as it is, so the edges
 * can be read off; all 128 are met, as often with one sign as the other. */
static void ziggurat_table(void) {
  const philox_key key = {{1, 2}};
  double edge[129], met[128][2] = {{0}};
  ziggurat_edges(edge);
  for (uint32_t i = 0; i < 200000; i++) {
    const uint64_t bits = stream_bits(key, i, 0, 0);
    const size_t layer = bits & 127;
    const double sign = bits & 128 ? -1.0 : 1.0;
    const double x = position_of(bits) * edge[layer];
    if (x > edge[layer + 1] - 1e-9)
      continue;
    philox_stream s = philox_open(key, i, 0);
    EXPECT_NEAR(philox_normal(&s), sign * x, 1e-13);
    met[layer][sign > 0] += 1.0;
  }
  for (int layer = 0; layer < 127; layer++) /* the last edge is 0: never met */
    EXPECT(met[layer][0] > 0.0 && met[layer][1] > 0.0);
}

/* Points put right of the next edge, in the wedge of each layer 1..127, are
 * kept with probability (f(x) - f(edge[i])) / (f(edge[i + 1]) - f(edge[i])):
 * the excess of points kept over their expectation, in standard deviations. */
static double wedge_z(double height_factor) {
  double edge[129], excess = 0.0, variance = 0.0;
  ziggurat_edges(edge);
  set_seed(81, 82);
  for (uint32_t t = 0; t < 200000; t++) {
    const size_t i = 1 + t % 127;
    const double next = edge[i + 1] / edge[i];
    const uint64_t bits = bits_of(next + (1.0 - next) * unif_rand(), i);
    const double x = position_of(bits) * edge[i];
    const double low = exp(-0.5 * edge[i] * edge[i]);
    const double high = exp(-0.5 * edge[i + 1] * edge[i + 1]);
    const double p = height_factor * (exp(-0.5 * x * x) - low) / (high - low);
    philox_stream s = stream_at(bits, t);
    excess += is_near(philox_normal(&s), x, 1e-12) - p;
    variance += p * (1.0 - p);
  }
  return excess / sqrt(variance);
}

static void ziggurat_wedges(void) {
  EXPECT(fabs(wedge_z(1.0)) < MAX_Z);
  EXPECT(fabs(wedge_z(0.97)) > MAX_Z); /* another curve is told apart */
}

static double upper_tail_cdf(double x, double from) {
  return 1.0 - pnorm(x, 0, 1, 0, 0) / pnorm(from, 0, 1, 0, 0);
}

/* Points put at the end of layer 0 give the tail beyond r, with their sign. */
static void ziggurat_tail(void) {
  const uint64_t last = bits_of(0.9999, 0), negative = last | 128;
  double edge[129], *x = new_numbers(PHILOX_N);
  ziggurat_edges(edge);
  for (uint32_t t = 0; t < PHILOX_N; t++) {
    philox_stream s = stream_at(last, t), mirrored = stream_at(negative, t);
    x[t] = philox_normal(&s);
    EXPECT(philox_normal(&mirrored) == -x[t]);
  }
  EXPECT(ks_p_value(x, PHILOX_N, upper_tail_cdf, edge[1]) > TINY_P);
  for (size_t t = 0; t < PHILOX_N; t++) /* mutant: no rejection in the tail */
    x[t] = edge[1] + exp_rand() / edge[1];
  EXPECT(ks_p_value(x, PHILOX_N, upper_tail_cdf, edge[1]) < TINY_P);
  release_numbers(x);
}

/* ---- Philox: independence of order --------------------------------------- */

enum { ITEMS = 300, DRAWS = 3, VARIATES = 6 };

/* Some of each kind, from the stream (item, draw). */
static void visit(philox_key key, size_t cell, double *out) {
  const double alpha[] = {0.3, 2, 1e-3};
  philox_stream s = philox_open(key, cell / DRAWS, (uint32_t)(cell % DRAWS));
  out[0] = philox_unif(&s);
  out[1] = philox_normal(&s);
  out[2] = philox_log_gamma(&s, 0.7);
  philox_log_dirichlet(&s, alpha, 3, out + 3);
}

static void philox_does_not_know_the_order(void) {
  const size_t cells = ITEMS * DRAWS;
  const philox_key key = {{3, 4}};
  double *forward = new_numbers(VARIATES * ITEMS * DRAWS);
  double *other = new_numbers(VARIATES * ITEMS * DRAWS);
  for (size_t i = 0; i < cells; i++)
    visit(key, i, forward + VARIATES * i);
  for (size_t i = cells; i-- > 0;)
    visit(key, i, other + VARIATES * i);
  EXPECT(same_bits(forward, other, VARIATES * cells));
  memset(other, 0, VARIATES * cells * sizeof *other);
  for (size_t i = 0; i < cells; i++) { /* 7 and 900 have no common divisor */
    const size_t shuffled = 7 * i % cells;
    visit(key, shuffled, other + VARIATES * shuffled);
  }
  EXPECT(same_bits(forward, other, VARIATES * cells));
  release_numbers(forward);
  release_numbers(other);
}

/* Two streams used in turn give what each gives alone. */
static void philox_streams_do_not_meet(void) {
  const philox_key key = {{5, 6}};
  double alone[200], in_turn[200];
  for (size_t item = 0; item < 2; item++) {
    philox_stream s = philox_open(key, item, 0);
    for (size_t j = 0; j < 100; j++)
      alone[100 * item + j] = philox_log_gamma(&s, 0.4);
  }
  philox_stream s[2] = {philox_open(key, 0, 0), philox_open(key, 1, 0)};
  for (size_t j = 0; j < 100; j++)
    for (size_t item = 0; item < 2; item++)
      in_turn[100 * item + j] = philox_log_gamma(&s[item], 0.4);
  EXPECT(same_bits(alone, in_turn, 200));
}

/* Items (also beyond 32 bits), draws and keys each make another stream. */
static void philox_streams_differ(void) {
  const uint64_t far = (uint64_t)1 << 32;
  const struct {
    uint32_t key0, key1;
    uint64_t item;
    uint32_t draw;
  } cell[] = {{0, 0, 0, 0},   {0, 0, 1, 0},       {0, 0, 0, 1}, {0, 0, far, 0},
              {0, 0, far, 1}, {0, 0, far + 1, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}};
  double first[LENGTH(cell)];
  for (size_t i = 0; i < LENGTH(cell); i++) {
    const philox_key key = {{cell[i].key0, cell[i].key1}};
    philox_stream s = philox_open(key, cell[i].item, cell[i].draw);
    first[i] = philox_unif(&s);
    for (size_t j = 0; j < i; j++)
      EXPECT(first[i] != first[j]);
  }
}

void test_philox(void) {
  run_test("philox: known answers", philox_known_answers);
  run_test("philox: counter words", philox_counter_words);
  run_test("philox: key from two uniforms", philox_key_takes_two_uniforms);
  run_test("philox: uniforms are in the open interval", philox_unif_is_open);
  run_test("philox: uniforms fit", philox_uniforms_fit);
  run_test("philox: normals fit", philox_normals_fit);
  run_test("philox: normals fill 258 cells", philox_normals_fill_their_cells);
  run_test("philox: ziggurat, table of edges", ziggurat_table);
  run_test("philox: ziggurat, wedges", ziggurat_wedges);
  run_test("philox: ziggurat, tail", ziggurat_tail);
  run_test("philox: neighbours are uncorrelated",
           philox_neighbours_are_uncorrelated);
  run_test("philox: order of visits never shows",
           philox_does_not_know_the_order);
  run_test("philox: streams do not meet", philox_streams_do_not_meet);
  run_test("philox: items, draws and keys differ", philox_streams_differ);
}
