/* Latent Dirichlet allocation leaves its posterior as it is.  Concentrations,
 * theta and phi drawn from their priors, topics and words drawn given them are a
 * draw of all; after a sweep given these words the topics and concentrations still
 * are, so that no mean has changed, and neither has that of theta and phi by what
 * is summed and recorded of them.  Each draw starts anew.  Few topics are short
 * rows of counts, many topics lists and wide rows.
 *
 * New documents: probabilities and topic shares against sums over all assignments
 * of topics to the tokens. */
#include "lda/lda.h"

#include <math.h>
#include <string.h>

#include "drawing.h"
#include "harness.h"
#include "lda/lda_heldout.h"
#include "lda/lda_kernels.h"
#include "lda/lda_model.h"
#include "numeric/rdist.h"
#include "numeric/rmath.h"

void test_lda_exact(void);

enum {
  DOCUMENTS = 3,
  TERMS = 4,
  MOST_TOPICS = 40,
  MOST_PADDED = 48,
  MOST_TOKENS = 240
};

typedef struct {
  lda_data data;
  lda_state state;
  int word[MOST_TOKENS], rows, lists;
  uint16_t z[MOST_TOKENS], pivot[MOST_TOKENS];
  double start[DOCUMENTS + 1], alpha[MOST_TOPICS], eta[TERMS], kept, pivot_due;
  double theta[DOCUMENTS * MOST_TOPICS], phi[MOST_TOPICS * TERMS];
  double theta_sum[DOCUMENTS * MOST_TOPICS], phi_sum[MOST_TOPICS * TERMS];
  double theta_square[DOCUMENTS * MOST_TOPICS], theta_base[2 * DOCUMENTS];
  double phi_square[MOST_TOPICS * TERMS], phi_base[2 * MOST_TOPICS];
  double stayed[MOST_TOPICS], switched[MOST_TOPICS], *row, *work;
  size_t size;
} fixture;

/* ---- a model and its memory ---------------------------------------------- */

static void open_fixture(fixture *f, lda_method method, size_t k, size_t length,
                         int sampled) {
  const lda_prior alpha = {LDA_FIXED, 0.0, 0.0, k, f->alpha};
  const lda_prior eta = {LDA_FIXED, 0.0, 0.0, TERMS, f->eta};
  const lda_prior uniform = {LDA_UNIFORM, 0.2, 2.0, 1, NULL},
                  gamma = {LDA_GAMMA, 3.0, 4.0, 1, NULL};
  memset(f, 0, sizeof *f);
  for (size_t d = 0; d <= DOCUMENTS; d++)
    f->start[d] = (double)(d * length);
  f->data = (lda_data){.n = DOCUMENTS * length,
                       .documents = DOCUMENTS,
                       .terms = TERMS,
                       .k = k,
                       .word = f->word,
                       .start = f->start,
                       .method = method,
                       .alpha = sampled ? uniform : alpha,
                       .eta = sampled ? gamma : eta,
                       .keep_theta = 1,
                       .keep_phi = 1};
  f->state = (lda_state){.z = f->z,
                         .alpha = sampled ? f->alpha : NULL,
                         .eta = sampled ? f->eta : NULL,
                         .kept = &f->kept,
                         .theta_sum = f->theta_sum,
                         .theta_square = f->theta_square,
                         .theta_base = f->theta_base,
                         .phi_sum = f->phi_sum,
                         .phi_square = f->phi_square,
                         .phi_base = f->phi_base,
                         .pivot = f->pivot,
                         .pivot_due = &f->pivot_due,
                         .stayed = f->stayed,
                         .switched = f->switched};
  for (size_t j = 0; j < k; j++)
    f->alpha[j] = 0.3 + 0.6 * (double)(j % 3);
  for (size_t w = 0; w < TERMS; w++)
    f->eta[w] = w == 0 ? 2.0 : 0.3 * (double)w;
  f->size = lda_work_size(&f->data, 1) / sizeof(double) + 1;
  f->work = new_numbers(f->size);
  f->row = new_numbers(lda_columns(&f->data));
}

static double alpha_of(const fixture *f, size_t j) {
  return f->alpha[f->data.alpha.length == 1 ? 0 : j];
}

static double eta_of(const fixture *f, size_t w) {
  return f->eta[f->data.eta.length == 1 ? 0 : w];
}

/* ---- drawing all of it --------------------------------------------------- */

static void draw_shares(fixture *f) {
  const size_t k = f->data.k;
  double concentration[MOST_TOPICS];
  for (size_t d = 0; d < DOCUMENTS; d++) {
    for (size_t j = 0; j < k; j++)
      concentration[j] = alpha_of(f, j);
    rdist_log_dirichlet(concentration, k, f->theta + d * k);
    for (size_t j = 0; j < k; j++)
      f->theta[d * k + j] = exp(f->theta[d * k + j]);
  }
  for (size_t j = 0; j < k; j++) {
    for (size_t w = 0; w < TERMS; w++)
      concentration[w] = eta_of(f, w);
    rdist_log_dirichlet(concentration, TERMS, f->phi + j * TERMS);
    for (size_t w = 0; w < TERMS; w++)
      f->phi[j * TERMS + w] = exp(f->phi[j * TERMS + w]);
  }
}

static void draw_all(fixture *f) {
  const size_t k = f->data.k;
  const lda_prior *alpha = &f->data.alpha, *eta = &f->data.eta;
  if (alpha->kind == LDA_UNIFORM)
    f->alpha[0] = alpha->a + (alpha->b - alpha->a) * unif_rand();
  if (eta->kind == LDA_GAMMA)
    f->eta[0] = rgamma(eta->a, 1.0 / eta->b);
  draw_shares(f);
  for (size_t d = 0; d < DOCUMENTS; d++)
    for (size_t i = (size_t)f->start[d]; i < (size_t)f->start[d + 1]; i++) {
      const size_t z = draw_index(f->theta + d * k, k, unif_rand());
      f->z[i] = (uint16_t)z;
      f->word[i] = 1 + (int)draw_index(f->phi + z * TERMS, TERMS, unif_rand());
    }
}

/* ---- what is looked at --------------------------------------------------- */

typedef struct {
  double topic[MOST_TOPICS], document[DOCUMENTS][MOST_TOPICS];
  double word[TERMS][MOST_TOPICS];
} counts;

static counts count_topics(const fixture *f) {
  counts c = {{0}, {{0}}, {{0}}};
  for (size_t d = 0; d < DOCUMENTS; d++)
    for (size_t i = (size_t)f->start[d]; i < (size_t)f->start[d + 1]; i++) {
      c.topic[f->z[i]] += 1.0;
      c.document[d][f->z[i]] += 1.0;
      c.word[f->word[i] - 1][f->z[i]] += 1.0;
    }
  return c;
}

static double sum_of_squares(const double *x, size_t n) {
  double sum = 0.0;
  for (size_t e = 0; e < n; e++)
    sum += x[e] * x[e];
  return sum;
}

static size_t statistics(const fixture *f, double *out) {
  const size_t k = f->data.k, last = f->data.n - 1;
  const counts c = count_topics(f);
  size_t count = 0;
  out[count++] = c.topic[0];
  out[count++] = c.topic[k - 1];
  out[count++] = sum_of_squares(c.topic, k);
  for (size_t d = 0; d < DOCUMENTS; d++)
    out[count++] = sum_of_squares(c.document[d], k);
  for (size_t w = 0; w < TERMS; w++)
    out[count++] = sum_of_squares(c.word[w], k);
  out[count++] = c.word[f->word[0] - 1][f->z[0]];
  out[count++] = c.document[0][f->z[0]];
  out[count++] = c.topic[f->z[last]];
  out[count++] = f->z[0] == f->z[1];
  out[count++] = f->z[0] == f->z[last];
  out[count++] = f->z[last] == 0;
  if (f->data.alpha.length == 1) {
    out[count++] = f->alpha[0];
    out[count++] = log(f->eta[0]);
  }
  return count;
}

/* log Gamma(a + n) / Gamma(a) */
static double log_rising(double a, double n) {
  return lgammafn(a + n) - lgammafn(a);
}

/* log p(w, z, alpha, eta), theta and phi integrated out. */
static double log_joint(const fixture *f) {
  const size_t k = f->data.k;
  const counts c = count_topics(f);
  double all_alpha = 0.0, all_eta = 0.0, sum = 0.0;
  for (size_t j = 0; j < k; j++)
    all_alpha += alpha_of(f, j);
  for (size_t w = 0; w < TERMS; w++)
    all_eta += eta_of(f, w);
  for (size_t d = 0; d < DOCUMENTS; d++)
    sum -= log_rising(all_alpha, f->start[1]);
  for (size_t j = 0; j < k; j++) {
    sum -= log_rising(all_eta, c.topic[j]);
    for (size_t d = 0; d < DOCUMENTS; d++)
      sum += log_rising(alpha_of(f, j), c.document[d][j]);
    for (size_t w = 0; w < TERMS; w++)
      sum += log_rising(eta_of(f, w), c.word[w][j]);
  }
  if (f->data.alpha.length > 1)
    return sum;
  return sum - log(f->data.alpha.b - f->data.alpha.a) +
         dgamma(f->eta[0], f->data.eta.a, 1.0 / f->data.eta.b, 1);
}

/* Mean over tokens of log sum_k theta_dk phi_kw */
static double log_likelihood(const fixture *f) {
  const size_t k = f->data.k;
  double sum = 0.0;
  for (size_t d = 0; d < DOCUMENTS; d++)
    for (size_t i = (size_t)f->start[d]; i < (size_t)f->start[d + 1]; i++) {
      double p = 0.0;
      for (size_t j = 0; j < k; j++)
        p += f->theta[d * k + j] * f->phi[j * TERMS + f->word[i] - 1];
      sum += log(p);
    }
  return sum / (double)f->data.n;
}

/* theta of document 1 and phi of the last topic, of first and second order, and
 * the likelihood: as they were drawn ... */
static size_t true_shares(const fixture *f, double *out) {
  const size_t k = f->data.k;
  const double *theta = f->theta + k, *phi = f->phi + (k - 1) * TERMS;
  const double value[] = {
    theta[0], theta[0] * theta[0], theta[k - 1], theta[k - 1] * theta[k - 1],
    phi[0],   phi[0] * phi[0],     phi[2],       phi[2] * phi[2]};
  for (size_t e = 0; e < LENGTH(value); e++)
    out[e] = out[LENGTH(value) + e] = value[e];
  out[2 * LENGTH(value)] = log_likelihood(f);
  return 2 * LENGTH(value) + 1;
}

/* ... as the sums of one recorded sweep have them, and as they are recorded. */
static void recorded_shares(const fixture *f, double *out) {
  const size_t k = f->data.k, last = k - 1;
  const int sampled = f->data.alpha.length == 1;
  const double *base = f->theta_base + 2, *of_last = f->phi_base + 2 * last;
  size_t count = 0;
  for (size_t e = 0; e < 2; e++) {
    const size_t j = e == 0 ? 0 : last;
    const double a = sampled ? 1.0 : f->alpha[j];
    out[count++] = f->theta_sum[k + j] + a * base[0];
    out[count++] =
      f->theta_square[k + j] + (sampled ? base[1] : a * (a + 1.0) * base[1]);
  }
  for (size_t w = 0; w < 4; w += 2) {
    const double a = sampled ? 1.0 : f->eta[w];
    out[count++] = f->phi_sum[w * k + last] + a * of_last[0];
    out[count++] = f->phi_square[w * k + last] +
                   (sampled ? of_last[1] : a * (a + 1.0) * of_last[1]);
  }
  const double *row = f->row + (sampled ? 2 : 0), *theta = row + 3 + k;
  const double *phi = theta + DOCUMENTS * k;
  const double drawn[] = {theta[1], theta[1 + DOCUMENTS * last], phi[last],
                          phi[last + 2 * k]};
  for (size_t e = 0; e < LENGTH(drawn); e++) {
    out[count++] = drawn[e];
    out[count++] = drawn[e] * drawn[e];
  }
  out[count] = row[1];
}

/* ---- sweeps -------------------------------------------------------------- */
static void clear_sums(fixture *f) {
  f->kept = 0.0;
  f->pivot_due = LDA_PIVOT_NEW;
  memset(f->theta_sum, 0, sizeof f->theta_sum);
  memset(f->theta_square, 0, sizeof f->theta_square);
  memset(f->theta_base, 0, sizeof f->theta_base);
  memset(f->phi_sum, 0, sizeof f->phi_sum);
  memset(f->phi_square, 0, sizeof f->phi_square);
  memset(f->phi_base, 0, sizeof f->phi_base);
}

static void sweep_model(fixture *f) {
  const scan_control control = {.thin = 1.0, .threads = 1, .recording = 1};
  clear_sums(f);
  lda_model *model = lda_open(&f->data, &f->state, f->work, 1);
  for (size_t w = 0; f->data.method == LDA_COLLAPSED && w < TERMS; w++) {
    f->rows += model->words.length[w] == LDA_ROW;
    f->lists += model->words.length[w] != LDA_ROW;
  }
  EXPECT(lda_sweep(model, &control) == STATUS_OK);
  lda_record(model, f->row, 1);
  EXPECT_NEAR(f->row[f->data.alpha.length == 1 ? 2 : 0], log_joint(f), 1e-9);
}

static void sweeps_of(lda_method method, size_t k, size_t length, int sampled,
                      int draws) {
  static fixture f;
  double before[MOST_STATISTICS], after[MOST_STATISTICS];
  double drawn[MOST_STATISTICS], recorded[MOST_STATISTICS];
  open_fixture(&f, method, k, length, sampled);
  set_seed(31 + (unsigned)k, 32);
  draw_all(&f);
  invariance sweep = new_invariance(statistics(&f, before));
  invariance shares = new_invariance(true_shares(&f, drawn));
  for (int i = 0; i < draws; i++) {
    draw_all(&f);
    statistics(&f, before);
    true_shares(&f, drawn);
    sweep_model(&f);
    statistics(&f, after);
    recorded_shares(&f, recorded);
    compare(&sweep, before, after);
    compare(&shares, drawn, recorded);
  }
  EXPECT_INVARIANT(&sweep);
  EXPECT_INVARIANT(&shares);
  if (method == LDA_COLLAPSED)
    EXPECT(f.rows > draws / 2 && (f.lists > draws / 2) == (k > LDA_SHORT_ROW));
  release_numbers(f.work);
  release_numbers(f.row);
}

static void sweeps_of_method(lda_method method) {
  for (int sampled = 0; sampled < 2; sampled++) {
    sweeps_of(method, 3, 8, sampled, 10000);
    sweeps_of(method, 20, 8, sampled, 3000);
    sweeps_of(method, 40, sampled ? 70 : 40, sampled, 1500);
  }
}

static void collapsed_sweeps(void) {
  sweeps_of_method(LDA_COLLAPSED);
}

static void partially_collapsed_sweeps(void) {
  sweeps_of_method(LDA_PARTIALLY_COLLAPSED);
}

static void uncollapsed_sweeps(void) {
  sweeps_of_method(LDA_UNCOLLAPSED);
}

/* ---- the tokens of one document ------------------------------------------- */

/* A document of three tokens of the words 1, 2 and 3 among others of which the first
 * is frequent: where there are many topics a row, the other two lists.  They begin
 * in the largest topic, so that the first to leave it changes much. */
enum { OWN = 3, OTHERS = 150, ALL = OWN + OTHERS, TRIALS = 100000 };

typedef struct {
  size_t k, padded;
  int word[ALL], count[MOST_PADDED];
  uint16_t z[ALL];
  float alpha[MOST_PADDED], inverse[MOST_PADDED], t[MOST_PADDED];
  float run[MOST_PADDED];
  double eta[TERMS * MOST_PADDED], total[MOST_PADDED], sum_eta[MOST_PADDED];
  float eta_rows[TERMS * MOST_PADDED];
  uint32_t uneven[TERMS];
  size_t offset[TERMS + 1];
  uint32_t length[TERMS], tokens[TERMS], cell[TERMS * MOST_PADDED + ALL];
  uint32_t scratch[MOST_PADDED];
  lda_words words;
} document_fixture;

/* eta: k a word; where it differs between topics the words 1 and 3 are uneven, with
 * few topics all. */
static void open_document(document_fixture *f, size_t k, int by_topic) {
  memset(f, 0, sizeof *f);
  f->k = k;
  f->padded = lda_padded(k);
  for (size_t i = 0; i < ALL; i++) {
    f->word[i] = i < OWN ? 1 + (int)i : i < OWN + 110 ? 1 : 2 + (int)(i % 3);
    f->z[i] = (uint16_t)(i < OWN || f->word[i] > 1 ? 0 : i * i % 31 % k);
  }
  for (size_t j = 0; j < k; j++)
    f->alpha[j] = j < 5 ? 2.0f : 0.1f;
  f->words = (lda_words){TERMS,     k,       f->padded, f->offset, f->length,
                         f->tokens, f->cell, NULL,      NULL};
  uint32_t rows = 0;
  for (size_t w = 0; w < TERMS; w++) {
    for (size_t j = 0; j < k; j++) {
      const double more = by_topic && w != 1 ? (double)((j + w) % 4) : 0.0;
      f->sum_eta[j] += f->eta[w * k + j] = 0.3 + 0.6 * (double)w + more;
      f->eta_rows[rows * f->padded + j] = (float)f->eta[w * k + j];
    }
    if (w != 1 || k <= LDA_SHORT_ROW)
      f->uneven[w] = ++rows;
  }
  if (by_topic) {
    f->words.uneven = f->uneven;
    f->words.eta = f->eta_rows;
  }
}

/* Counts from the topics as they are at first. */
static lda_document count_document(document_fixture *f) {
  memset(f->count, 0, sizeof f->count);
  memset(f->total, 0, sizeof f->total);
  for (size_t i = 0; i < ALL; i++)
    f->total[f->z[i]] += 1.0;
  for (size_t i = 0; i < OWN; i++)
    f->count[f->z[i]]++;
  for (size_t j = 0; j < f->k; j++)
    f->inverse[j] = lda_inverse(f->total[j] + f->sum_eta[j]);
  lda_words_lay_out(&f->words, f->word, ALL);
  lda_words_fill(&f->words, f->word, f->z, ALL, f->scratch);
  return (lda_document){f->k, f->padded, f->count, f->alpha, f->inverse,
                        f->t, f->run,    f->total, 0.0,      f->sum_eta};
}

/* p <- P(z_i = j | all other topics), proportional to
 * (n_dj + alpha_j)(n_wj + eta_jw) / (n_j + sum_w eta_jw), all without token i. */
static void token_conditional(const document_fixture *f, const uint16_t *z,
                              size_t i, double *p) {
  double sum = 0.0;
  for (size_t j = 0; j < f->k; j++) {
    double own = 0.0, of_word = 0.0, all = 0.0;
    for (size_t l = 0; l < ALL; l++)
      if (l != i && z[l] == j) {
        own += l < OWN;
        of_word += f->word[l] == f->word[i];
        all += 1.0;
      }
    p[j] = (own + (double)f->alpha[j]) *
           (of_word + f->eta[((size_t)f->word[i] - 1) * f->k + j]) /
           (all + f->sum_eta[j]);
    sum += p[j];
  }
  for (size_t j = 0; j < f->k; j++)
    p[j] /= sum;
}

/* Probabilities, by summing over all ways: of each token's new topic, k a token,
 * and of which tokens stay, 2^OWN. */
static void enumerate_document(const document_fixture *f, double *topic,
                               double *stay) {
  const size_t k = f->k;
  double first[MOST_TOPICS], second[MOST_TOPICS], third[MOST_TOPICS];
  uint16_t z[ALL];
  memcpy(z, f->z, sizeof z);
  token_conditional(f, z, 0, first);
  for (size_t a = 0; a < k; a++) {
    z[0] = (uint16_t)a;
    z[1] = f->z[1];
    token_conditional(f, z, 1, second);
    topic[a] = first[a];
    for (size_t b = 0; b < k; b++) {
      z[1] = (uint16_t)b;
      token_conditional(f, z, 2, third);
      topic[k + b] += first[a] * second[b];
      for (size_t c = 0; c < k; c++) {
        const double p = first[a] * second[b] * third[c];
        topic[2 * k + c] += p;
        stay[(a == f->z[0]) + 2 * (b == f->z[1]) + 4 * (c == f->z[2])] += p;
      }
    }
  }
}

static void document_of(size_t k, int by_topic) {
  static document_fixture f;
  double topic[OWN * MOST_TOPICS] = {0}, stay[8] = {0}, stayed[8] = {0};
  double drawn[OWN * MOST_TOPICS] = {0};
  uint16_t z[OWN];
  open_document(&f, k, by_topic);
  enumerate_document(&f, topic, stay);
  set_seed(33, 34 + (unsigned)k);
  for (int trial = 0; trial < TRIALS; trial++) {
    lda_document document = count_document(&f);
    memcpy(z, f.z, sizeof z);
    lda_collapsed_document(&document, &f.words, f.eta, k, f.word, z, OWN, NULL);
    stayed[(z[0] == f.z[0]) + 2 * (z[1] == f.z[1]) + 4 * (z[2] == f.z[2])] +=
      1.0;
    for (size_t i = 0; i < OWN; i++)
      drawn[i * k + z[i]] += 1.0;
  }
  for (size_t i = 0; i < OWN; i++)
    EXPECT(chi_squared_p_value(drawn + i * k, topic + i * k, k) > TINY_P);
  EXPECT(chi_squared_p_value(stayed, stay, 8) > TINY_P);
  EXPECT(f.length[0] == LDA_ROW);
  EXPECT((f.length[1] == LDA_ROW) == (k <= LDA_SHORT_ROW));
  EXPECT((f.length[2] == LDA_ROW) == (by_topic || k <= LDA_SHORT_ROW));
}

static void tokens_of_all_sizes(int by_topic) {
  document_of(2, by_topic);
  document_of(16, by_topic);
  document_of(19, by_topic);
  document_of(40, by_topic);
}

static void tokens_by_enumeration(void) {
  tokens_of_all_sizes(0);
}

static void uneven_words_by_enumeration(void) {
  tokens_of_all_sizes(1);
}

/* ---- new documents ------------------------------------------------------- */

enum { NEW = 3, NEW_TOPICS = 3, COPIES = 20000 };

static const double new_alpha[] = {0.4, 1.1, 0.2};
static const double new_phi[] = {0.5, 0.1, 0.2, 0.3, 0.3, 0.1, 0.2, 0.6, 0.7};
static const int new_word[NEW] = {1, 3, 1};

/* p(w) summed over all topics of the tokens, and E(theta_k | w), E(theta_k^2 | w)
 * likewise. */
static double enumerate(double *mean, double *square) {
  const double all = 1.7;
  double total = 0.0;
  memset(mean, 0, NEW_TOPICS * sizeof *mean);
  memset(square, 0, NEW_TOPICS * sizeof *square);
  for (int code = 0; code < 27; code++) {
    const int z[NEW] = {code % 3, code / 3 % 3, code / 9};
    double count[NEW_TOPICS] = {0.0}, p = 1.0;
    for (int i = 0; i < NEW; i++) {
      p *= (count[z[i]] + new_alpha[z[i]]) / ((double)i + all);
      p *= new_phi[(new_word[i] - 1) * NEW_TOPICS + z[i]];
      count[z[i]] += 1.0;
    }
    total += p;
    for (int j = 0; j < NEW_TOPICS; j++) {
      const double a = count[j] + new_alpha[j], b = NEW + all;
      mean[j] += p * a / b;
      square[j] += p * a * (a + 1.0) / (b * (b + 1.0));
    }
  }
  for (int j = 0; j < NEW_TOPICS; j++) {
    mean[j] /= total;
    square[j] /= total;
  }
  return total;
}

/* The same document many times: each has a stream of its own. */
static void new_documents_by_enumeration(void) {
  double mean[NEW_TOPICS], square[NEW_TOPICS];
  const double p = enumerate(mean, square);
  double *word = new_numbers(NEW * COPIES), *start = new_numbers(COPIES + 1);
  double *theta = new_numbers(3 * NEW_TOPICS * COPIES);
  double *means = theta + NEW_TOPICS * COPIES,
         *squares = means + NEW_TOPICS * COPIES;
  double *log_p = new_numbers(COPIES), *one = new_numbers(COPIES);
  int *words = (int *)(void *)word;
  for (size_t i = 0; i < NEW * COPIES; i++)
    words[i] = new_word[i % NEW];
  for (size_t d = 0; d <= COPIES; d++)
    start[d] = (double)(NEW * d);
  const lda_heldout job = {NEW * COPIES, COPIES, 3,       NEW_TOPICS,
                           words,        start,  new_phi, new_alpha,
                           {{3, 4}},     1,      NULL,    NULL};
  double *work = new_numbers(lda_heldout_size(&job) / sizeof(double) + 1);
  EXPECT(lda_left_to_right(&job, 1, log_p, work) == STATUS_OK);
  for (size_t d = 0; d < COPIES; d++)
    one[d] = exp(log_p[d]);
  EXPECT(fabs(z_mean(one, COPIES, p)) < MAX_Z);
  EXPECT(lda_fold_in(&job, 15, 1, theta, means, squares, work) == STATUS_OK);
  for (size_t j = 0; j < NEW_TOPICS; j++)
    for (int what = 0; what < 4; what++) {
      const double *from = what < 2 ? theta : what == 2 ? means : squares;
      for (size_t d = 0; d < COPIES; d++)
        one[d] = what == 1 ? from[d * NEW_TOPICS + j] * from[d * NEW_TOPICS + j]
                           : from[d * NEW_TOPICS + j];
      EXPECT(fabs(z_mean(one, COPIES, what % 2 ? square[j] : mean[j])) < MAX_Z);
    }
  release_numbers(word);
  release_numbers(start);
  release_numbers(theta);
  release_numbers(log_p);
  release_numbers(one);
  release_numbers(work);
}

void test_lda_exact(void) {
  run_test("lda: collapsed sweeps leave the posterior", collapsed_sweeps);
  run_test("lda: partially collapsed sweeps too", partially_collapsed_sweeps);
  run_test("lda: uncollapsed sweeps too", uncollapsed_sweeps);
  run_test("lda: tokens of a document by enumeration", tokens_by_enumeration);
  run_test("lda: uneven words by enumeration", uneven_words_by_enumeration);
  run_test("lda: new documents by enumeration", new_documents_by_enumeration);
}
