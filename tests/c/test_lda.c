/* The core of latent Dirichlet allocation without R: counts as rows and as lists
 * through their crossovers, words of more than 65,535 tokens, picks at the ends of
 * the unit interval, shapes around the lengths of vectors, threads, segments,
 * interrupts, and new documents.  That the draws have the right distribution is
 * tested from R (test-lda-exact.R). */
#include "lda/lda.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "lda/lda_heldout.h"
#include "lda/lda_kernels.h"
#include "lda/lda_model.h"
#include "numeric/rmath.h"

void test_lda(void);

static const lda_method methods[] = {LDA_COLLAPSED, LDA_PARTIALLY_COLLAPSED,
                                     LDA_UNCOLLAPSED};

/* ---- a model with its memory ----------------------------------------------- */

/* Every array is a block of its own of exactly the right length, so that the
 * address sanitizer sees any step beyond it. */
typedef struct {
  lda_data data;
  lda_state state;
  double *word, *start, *z, *pivot, *work; /* word, z, pivot: other types */
  double *alpha, *eta;                     /* of the state or of the data */
  double sweep;
} fixture;

static void *as_any(double *x) {
  return x;
}

/* Memory for n numbers of 2 or 4 bytes. */
static double *new_small(size_t n, size_t size) {
  return new_numbers((n * size + sizeof(double) - 1) / sizeof(double));
}

static void set_streams(fixture *f) {
  const lda_streams size = lda_stream_sizes(&f->data);
  f->state.kept = new_numbers(1);
  f->state.theta_sum = new_numbers(size.theta);
  f->state.theta_square = new_numbers(size.theta);
  f->state.theta_base = new_numbers(size.theta_base);
  f->state.phi_sum = new_numbers(size.phi);
  f->state.phi_square = new_numbers(size.phi);
  f->state.phi_base = new_numbers(size.phi_base);
  f->pivot = new_small(size.pivot, sizeof(uint16_t));
  f->state.pivot = as_any(f->pivot);
  f->state.pivot_due = new_numbers(1);
  *f->state.pivot_due = LDA_PIVOT_NEW;
  f->state.stayed = new_numbers(size.topics);
  f->state.switched = new_numbers(size.topics);
}

/* Documents of 0, 7, 14, ... tokens; few words are frequent. */
static fixture new_case(lda_method method, size_t documents, size_t terms,
                        size_t k, int sampled) {
  fixture f = {0};
  size_t n = 0;
  set_seed(17, 4);
  f.start = new_numbers(documents + 1);
  for (size_t d = 0; d < documents; d++) {
    n += 7 * (d % 9) + (documents == 1 ? 40 : 0);
    f.start[d + 1] = (double)n;
  }
  f.alpha = new_numbers(sampled ? 1 : k);
  f.eta = new_numbers(sampled ? 1 : terms);
  const lda_prior alpha = {LDA_FIXED, 0.0, 0.0, k, f.alpha};
  const lda_prior eta = {LDA_FIXED, 0.0, 0.0, terms, f.eta};
  const lda_prior uniform = {LDA_UNIFORM, 0.0, 10.0, 1, NULL};
  const lda_prior gamma = {LDA_GAMMA, 2.0, 3.0, 1, NULL};
  f.word = new_small(n, sizeof(int));
  f.z = new_small(n, sizeof(uint16_t));
  int *word = as_any(f.word);
  uint16_t *z = as_any(f.z);
  for (size_t i = 0; i < n; i++) {
    const double u = unif_rand();
    word[i] = 1 + (int)(u * u * u * (double)terms);
    z[i] = (uint16_t)(unif_rand() * (double)k);
  }
  const lda_data data = {.n = n,
                         .documents = documents,
                         .terms = terms,
                         .k = k,
                         .word = word,
                         .start = f.start,
                         .method = method,
                         .alpha = sampled ? uniform : alpha,
                         .eta = sampled ? gamma : eta,
                         .keep_theta = 1,
                         .keep_phi = 1,
                         .keep_z = 1,
                         .keep_labels = 1};
  f.data = data;
  f.state.z = z;
  f.state.alpha = sampled ? f.alpha : NULL;
  f.state.eta = sampled ? f.eta : NULL;
  for (size_t j = 0; j < data.alpha.length; j++)
    f.alpha[j] = 0.2 + 0.1 * (double)j;
  for (size_t w = 0; w < data.eta.length; w++)
    f.eta[w] = 0.05 + 0.01 * (double)w;
  set_streams(&f);
  return f;
}

static void release(fixture *f) {
  release_numbers(f->word);
  release_numbers(f->start);
  release_numbers(f->z);
  release_numbers(f->alpha);
  release_numbers(f->eta);
  release_numbers(f->state.kept);
  release_numbers(f->state.theta_sum);
  release_numbers(f->state.theta_square);
  release_numbers(f->state.theta_base);
  release_numbers(f->state.phi_sum);
  release_numbers(f->state.phi_square);
  release_numbers(f->state.phi_base);
  release_numbers(f->pivot);
  release_numbers(f->state.pivot_due);
  release_numbers(f->state.stayed);
  release_numbers(f->state.switched);
}

/* n sweeps, all recorded, on a model opened for them. */
static status run(fixture *f, size_t n, int threads, double *draws, size_t rows,
                  int (*stop)(void *)) {
  const size_t size = lda_work_size(&f->data, threads);
  double *work = new_numbers(size / sizeof(double) + 1);
  lda_model *model = lda_open(&f->data, &f->state, work, threads);
  const scan_model scan = {model, lda_sweep, lda_record};
  const scan_control control = {.thin = 1.0, .threads = threads, .stop = stop};
  const status outcome =
    scan_sweeps(&scan, &control, n, &f->sweep, draws, rows);
  release_numbers(work);
  return outcome;
}

static double *draws_of(lda_method method, const size_t *size, int sampled,
                        int threads, int cut, size_t *length) {
  fixture f = new_case(method, size[0], size[1], size[2], sampled);
  const size_t columns = lda_columns(&f.data), sweeps = 4;
  double *draws = new_numbers(sweeps * columns);
  *length = sweeps * columns;
  for (size_t row = 0; row < sweeps; row += cut ? 1 : sweeps) {
    double *part = new_numbers((cut ? 1 : sweeps) * columns);
    EXPECT(run(&f, cut ? 1 : sweeps, threads, part, cut ? 1 : sweeps, NULL) ==
           STATUS_OK);
    for (size_t c = 0; c < columns; c++)
      for (size_t r = 0; r < (cut ? 1 : sweeps); r++)
        draws[c * sweeps + row + r] = part[c * (cut ? 1 : sweeps) + r];
    release_numbers(part);
  }
  release(&f);
  return draws;
}

/* documents, terms, topics */
static const size_t sizes[][3] = {{1, 3, 1},    {4, 5, 2},     {30, 12, 15},
                                  {60, 9, 16},  {40, 300, 17}, {50, 70, 33},
                                  {90, 20, 70}, {20, 65, 200}};

static void sizes_threads_and_segments(void) {
  for (size_t s = 0; s < LENGTH(sizes); s++)
    for (size_t m = 0; m < LENGTH(methods); m++)
      for (int sampled = 0; sampled < 2; sampled++) {
        size_t n;
        double *one = draws_of(methods[m], sizes[s], sampled, 1, 0, &n);
        double *two = draws_of(methods[m], sizes[s], sampled, 2, 0, &n);
        double *cut = draws_of(methods[m], sizes[s], sampled, 3, 1, &n);
        EXPECT(all_finite(one, n));
        EXPECT(same_bits(one, two, n));
        EXPECT(same_bits(one, cut, n));
        release_numbers(one);
        release_numbers(two);
        release_numbers(cut);
      }
}

/* ---- counts -------------------------------------------------------------------- */

typedef struct {
  lda_words words;
  double *memory[4];
} slots;

static slots new_slots(const int *word, const uint16_t *z, size_t n,
                       size_t terms, size_t k, uint32_t *scratch) {
  slots s = {.words = {.terms = terms, .k = k, .padded = lda_padded(k)}};
  s.memory[0] = new_small(terms + 1, sizeof(size_t));
  s.memory[1] = new_small(terms, sizeof(uint32_t));
  s.memory[2] = new_small(terms, sizeof(uint32_t));
  s.words.offset = as_any(s.memory[0]);
  s.words.length = as_any(s.memory[1]);
  s.words.tokens = as_any(s.memory[2]);
  lda_words_lay_out(&s.words, word, n);
  s.memory[3] = new_small(s.words.offset[terms], sizeof(uint32_t));
  s.words.cell = as_any(s.memory[3]);
  lda_words_fill(&s.words, word, z, n, scratch);
  return s;
}

static void release_slots(slots *s) {
  for (size_t i = 0; i < LENGTH(s->memory); i++)
    release_numbers(s->memory[i]);
}

/* Slots filled from z hold what slots have that went through the moves to z. */
static int same_slots(const slots *a, const slots *b) {
  const size_t terms = a->words.terms;
  return memcmp(a->words.length, b->words.length, terms * sizeof(uint32_t)) ==
           0 &&
         memcmp(a->words.cell, b->words.cell,
                a->words.offset[terms] * sizeof(uint32_t)) == 0;
}

static void move_token(lda_words *words, size_t w, uint32_t from, uint32_t to) {
  uint32_t *slot = words->cell + words->offset[w];
  if (words->length[w] == LDA_ROW) {
    slot[from]--;
    slot[to]++;
    return;
  }
  lda_list_remove(slot, words->length + w, lda_list_find(slot, from));
  lda_list_add(slot, words->length + w, to);
}

/* Topics gather in few and scatter again, so that words change their layout. */
static void rows_and_lists(void) {
  const size_t ks[] = {1, 5, 32, 33, 40};
  set_seed(3, 5);
  for (size_t c = 0; c < LENGTH(ks); c++) {
    const size_t n = 900, terms = 40, k = ks[c];
    double *memory[3] = {new_small(n, 4), new_small(n, 2),
                         new_small(lda_padded(k), 4)};
    int *word = as_any(memory[0]), rows = 0, lists = 0;
    uint16_t *z = as_any(memory[1]);
    uint32_t *scratch = as_any(memory[2]);
    for (size_t i = 0; i < n; i++) {
      const double u = unif_rand();
      word[i] = 1 + (int)(u * u * u * (double)terms);
    }
    slots moved = new_slots(word, z, n, terms, k, scratch);
    for (int round = 0; round < 12; round++) {
      const double reach = round % 3 == 1 ? 1.0 : (double)k;
      for (size_t i = 0; i < n; i++) {
        const uint32_t to = (uint32_t)(unif_rand() * reach);
        move_token(&moved.words, (size_t)word[i] - 1, z[i], to);
        z[i] = (uint16_t)to;
      }
      lda_words_arrange(&moved.words, scratch);
      slots fresh = new_slots(word, z, n, terms, k, scratch);
      EXPECT(same_slots(&moved, &fresh));
      for (size_t w = 0; w < terms; w++) {
        rows += moved.words.length[w] == LDA_ROW;
        lists += moved.words.length[w] != LDA_ROW;
      }
      release_slots(&fresh);
    }
    EXPECT(rows > 0 && (lists > 0) == (k > 32));
    release_slots(&moved);
    for (size_t i = 0; i < 3; i++)
      release_numbers(memory[i]);
  }
}

/* A count of 65,536 does not fit a list: such a word is a row, also where all its
 * tokens are in one topic and where it has fewer tokens than there are topics. */
static void very_frequent_words(void) {
  const size_t ns[] = {65535, 65536, 70000}, ks[] = {2, 40};
  for (size_t a = 0; a < LENGTH(ns); a++)
    for (size_t b = 0; b < LENGTH(ks); b++) {
      const size_t n = ns[a], k = ks[b];
      double *memory[3] = {new_small(n, 4), new_small(n, 2),
                           new_small(lda_padded(k), 4)};
      int *word = as_any(memory[0]);
      for (size_t i = 0; i < n; i++)
        word[i] = 1;
      slots s = new_slots(word, as_any(memory[1]), n, 1, k, as_any(memory[2]));
      const int *row = lda_words_row(&s.words, 0, as_any(memory[2]));
      EXPECT(row[0] == (int)n && row[1] == 0);
      if (n > 65535)
        EXPECT(s.words.length[0] == LDA_ROW);
      release_slots(&s);
      for (size_t i = 0; i < 3; i++)
        release_numbers(memory[i]);
    }
}

static void a_word_of_many_tokens_is_drawn(void) {
  fixture f = new_case(LDA_COLLAPSED, 9, 4, 3, 1);
  release_numbers(f.word);
  release_numbers(f.z);
  release_numbers(f.pivot);
  const size_t n = 140000;
  f.word = new_small(n, sizeof(int));
  f.z = new_small(n, sizeof(uint16_t));
  f.pivot = new_small(n, sizeof(uint16_t));
  int *word = as_any(f.word);
  for (size_t i = 0; i < n; i++)
    word[i] = i % 2 ? 1 : 1 + (int)(i / 2 % 4);
  for (size_t d = 0; d <= 9; d++)
    f.start[d] = d < 9 ? (double)(d * 15000) : (double)n;
  f.data.n = n;
  f.data.word = word;
  f.data.keep_z = f.data.keep_labels = 0;
  f.state.z = as_any(f.z);
  f.state.pivot = as_any(f.pivot);
  double *draws = new_numbers(2 * lda_columns(&f.data));
  EXPECT(run(&f, 2, 1, draws, 2, NULL) == STATUS_OK);
  /* alpha, eta, log_joint, log_lik, topics used, then the topics' sizes */
  EXPECT_NEAR(draws[10] + draws[12] + draws[14], (double)n, 0.0);
  release_numbers(draws);
  release(&f);
}

/* ---- picks ----------------------------------------------------------------------- */

/* Running sums of weights in strands, and which index each uniform picks. */
static void picks_lie_within(void) {
  const size_t ks[] = {1, 2, 15, 16, 17, 31, 32, 33, 100};
  const double us[] = {0x1p-53, 0.25, 0.5, 0.999999, 1.0 - 0x1p-53};
  for (size_t c = 0; c < LENGTH(ks); c++) {
    const size_t k = ks[c], padded = lda_padded(k);
    double *memory[3] = {new_small(padded, 4), new_small(padded, 4),
                         new_small(padded, 4)};
    float *x = as_any(memory[0]), *y = as_any(memory[1]);
    float *sums = as_any(memory[2]);
    for (size_t j = 0; j < k; j++) {
      x[j] = j % 3 ? 0.3f : 1e-6f;
      y[j] = 1.0f;
    }
    const double total = lda_dot(x, y, padded, sums);
    double expected = 0.0;
    for (size_t j = 0; j < k; j++)
      expected += (double)x[j];
    EXPECT_NEAR(total, expected, 1e-5);
    float columns[8];
    EXPECT_NEAR(lda_sum_wide(sums, padded, columns), total, 0.0);
    for (size_t u = 0; u < LENGTH(us); u++)
      EXPECT(lda_pick_wide(sums, padded, k, columns, us[u] * total) < k);
    double picked = 0.0;
    for (size_t u = 0; u < 4000; u++)
      picked += lda_pick_wide(sums, padded, k, columns,
                              ((double)u + 0.5) / 4000.0 * total) == k - 1;
    EXPECT(fabs(picked / 4000.0 - (double)x[k - 1] / expected) < 6e-4);
    for (size_t i = 0; i < 3; i++)
      release_numbers(memory[i]);
  }
}

/* ---- stopping, sizes, new documents ------------------------------------------------ */

static int always(void *unused) {
  (void)unused;
  return 1;
}

static void it_stops_when_asked(void) {
  fixture f = new_case(LDA_COLLAPSED, 5, 4, 2, 1);
  double *draws = new_numbers(3 * lda_columns(&f.data));
  EXPECT(run(&f, 3, 1, draws, 3, always) == STATUS_INTERRUPTED);
  release_numbers(draws);
  release(&f);
}

/* Counts that overflow are seen before anything is allocated. */
static void too_large_is_refused(void) {
  fixture f = new_case(LDA_COLLAPSED, 5, 4, 2, 1);
  lda_data data = f.data;
  data.terms = SIZE_MAX >> 14;
  data.k = LDA_MAX_TOPICS;
  EXPECT(lda_work_size(&data, 1) == 0);
  EXPECT(lda_work_size(&f.data, 1) > 0);
  release(&f);
}

static void new_documents(void) {
  const int word[] = {1, 1, 3, 2, 3};
  const double start[] = {0.0, 3.0, 3.0, 5.0}, alpha[] = {0.4, 0.7};
  const double phi[] = {0.5, 0.1, 0.2, 0.3, 0.3, 0.6};
  double theta[2][6], mean[2][6], square[2][6], log_p[2][3], p[5];
  for (int t = 0; t < 2; t++) {
    const lda_heldout job = {5,   3,     3,        2,     word, start,
                             phi, alpha, {{1, 2}}, t + 1, NULL, NULL};
    double *work = new_numbers(lda_heldout_size(&job) / sizeof(double) + 1);
    EXPECT(lda_fold_in(&job, 3, 4, theta[t], mean[t], square[t], work) ==
           STATUS_OK);
    EXPECT(lda_left_to_right(&job, 5, log_p[t], work) == STATUS_OK);
    lda_token_probabilities(&job, theta[t], p);
    EXPECT_NEAR(p[0], theta[t][0] * 0.5 + theta[t][1] * 0.1, 1e-12);
    EXPECT_NEAR(log_p[t][1], 0.0, 0.0); /* no tokens */
    EXPECT_NEAR(mean[t][2], 0.4 / 1.1, 1e-12);
    release_numbers(work);
  }
  EXPECT(same_bits(theta[0], theta[1], 6) && same_bits(mean[0], mean[1], 6));
  EXPECT(same_bits(log_p[0], log_p[1], 3));
}

/* One document that takes long, and many that do not. */
static void new_documents_stop_when_asked(void) {
  enum { documents = 300 };
  const double alpha[] = {0.4, 0.7}, phi[] = {0.5, 0.5};
  int word[documents];
  double one[] = {0.0, documents}, many[documents + 1], log_p[documents];
  double theta[2 * documents], mean[2 * documents], square[2 * documents];
  for (int i = 0; i <= documents; i++)
    many[i] = i;
  for (int i = 0; i < documents; i++)
    word[i] = 1;
  lda_heldout job = {documents, 1,     1,        2, word,   one,
                     phi,       alpha, {{1, 2}}, 1, always, NULL};
  double *work = new_numbers(lda_heldout_size(&job) / sizeof(double) + 1);
  EXPECT(lda_fold_in(&job, 1000000000, 1, theta, mean, square, work) ==
         STATUS_INTERRUPTED);
  EXPECT(lda_left_to_right(&job, 1000000000, log_p, work) ==
         STATUS_INTERRUPTED);
  release_numbers(work);
  job.documents = documents;
  job.start = many;
  for (job.threads = 1; job.threads <= 2; job.threads++) {
    work = new_numbers(lda_heldout_size(&job) / sizeof(double) + 1);
    EXPECT(lda_fold_in(&job, 1, 1, theta, mean, square, work) ==
           STATUS_INTERRUPTED);
    EXPECT(lda_left_to_right(&job, 1, log_p, work) == STATUS_INTERRUPTED);
    release_numbers(work);
  }
}

/* Words that no topic has. */
static void impossible_words_are_reported(void) {
  const int word[] = {1};
  const double start[] = {0.0, 1.0}, alpha[] = {0.4, 0.7}, phi[] = {0.0, 0.0};
  const lda_heldout job = {1,   1,     1,        2, word, start,
                           phi, alpha, {{1, 2}}, 1, NULL, NULL};
  double theta[2], mean[2], square[2], log_p[1];
  double *work = new_numbers(lda_heldout_size(&job) / sizeof(double) + 1);
  EXPECT(lda_fold_in(&job, 1, 1, theta, mean, square, work) ==
         STATUS_NOT_FINITE);
  EXPECT(lda_left_to_right(&job, 2, log_p, work) == STATUS_NOT_FINITE);
  release_numbers(work);
}

void test_lda(void) {
  run_test("lda: sizes, threads, segments", sizes_threads_and_segments);
  run_test("lda: rows and lists", rows_and_lists);
  run_test("lda: counts of 65,536", very_frequent_words);
  run_test("lda: a word of many tokens", a_word_of_many_tokens_is_drawn);
  run_test("lda: picks lie within", picks_lie_within);
  run_test("lda: it stops when asked", it_stops_when_asked);
  run_test("lda: too large is refused", too_large_is_refused);
  run_test("lda: new documents", new_documents);
  run_test("lda: new documents stop when asked", new_documents_stop_when_asked);
  run_test("lda: impossible words are reported", impossible_words_are_reported);
}
