#include "numeric/rounding.h"

#include "lda/lda_heldout.h"

#include <math.h>
#include <string.h>

#include "lda/lda_kernels.h"
#include "lda/lda_model.h"

/* Between two calls of `stop`: documents, and weights of tokens on one thread. */
#define BATCH 256
#define PATIENCE 0x1p28

/* What a thread works with: topics and probabilities of its document's tokens,
 * and the weights since the last call of `stop`. */
typedef struct {
  lda_document document;
  uint16_t *z;
  double *p, since;
} reader;

typedef struct {
  const lda_heldout *job;
  size_t padded;
  float *phi, *alpha; /* padded a word; padded */
  double sum_alpha;
  reader *readers;
} library;

static size_t length_of(const lda_heldout *job, size_t d) {
  return (size_t)(job->start[d + 1] - job->start[d]);
}

static library carve(const lda_heldout *job, arena *a) {
  library l = {job, lda_padded(job->k), NULL, NULL, 0.0, NULL};
  const double padded = (double)l.padded;
  size_t longest = 0;
  for (size_t d = 0; d < job->documents; d++)
    longest = length_of(job, d) > longest ? length_of(job, d) : longest;
  l.phi = arena_take(a, padded * (double)job->terms, sizeof(float));
  l.alpha = arena_take(a, padded, sizeof(float));
  l.readers = arena_take(a, job->threads, sizeof(reader));
  for (int t = 0; t < job->threads; t++) {
    reader r = {.document = {.k = job->k, .padded = l.padded}};
    r.document.count = arena_take(a, padded, sizeof(int));
    r.document.t = arena_take(a, padded, sizeof(float));
    r.document.run = arena_take(a, padded, sizeof(float));
    r.z = arena_take(a, (double)longest, sizeof(uint16_t));
    r.p = arena_take(a, (double)longest, sizeof(double));
    r.document.alpha = l.alpha;
    if (a->base)
      l.readers[t] = r;
  }
  return l;
}

size_t lda_heldout_size(const lda_heldout *job) {
  arena count = arena_measure();
  carve(job, &count);
  return arena_size(&count);
}

static library open_library(const lda_heldout *job, void *work) {
  arena a = arena_over(work);
  library l = carve(job, &a);
  for (size_t j = 0; j < l.padded; j++) {
    l.alpha[j] = j < job->k ? (float)job->alpha[j] : 0.0f;
    l.sum_alpha += j < job->k ? job->alpha[j] : 0.0;
  }
  for (size_t w = 0; w < job->terms; w++)
    for (size_t j = 0; j < l.padded; j++)
      l.phi[w * l.padded + j] =
        j < job->k ? lda_single(job->phi[w * job->k + j]) : 0.0f;
  return l;
}

static void open_document(const library *l, lda_document *d) {
  for (size_t j = 0; j < l->padded; j++) {
    d->count[j] = 0;
    d->t[j] = l->alpha[j];
  }
}

/* The next token joins the document: its topic given those before it.  Returns
 * sum_k (n_dk + alpha_k) phi_kw before. */
static double join(const library *l, lda_document *d, size_t w,
                   philox_stream *stream, uint16_t *z) {
  float sums[8];
  const double mass = lda_dot(d->t, l->phi + w * l->padded, l->padded, d->run);
  lda_sum_wide(d->run, l->padded, sums);
  const size_t k =
    lda_pick_wide(d->run, l->padded, d->k, sums, philox_unif(stream) * mass);
  *z = (uint16_t)k;
  d->t[k] = (float)++d->count[k] + l->alpha[k];
  return mass;
}

static int asked(const library *l) {
  return l->job->stop != NULL && l->job->stop(l->job->stop_data);
}

/* After so many tokens more: must this document be left? */
static int must_stop(const library *l, reader *r, size_t tokens) {
  r->since += (double)tokens * (double)l->padded;
  if (l->job->threads > 1 || r->since < PATIENCE)
    return 0;
  r->since = 0.0;
  return asked(l);
}

/* What is done for one document. */
typedef status (*visit)(const library *l, size_t d, void *target);

static status visit_documents(const library *l, visit one, void *target) {
  const long documents = (long)l->job->documents;
  int failed = 0, interrupted = 0;
  for (long first = 0; first < documents && !interrupted; first += BATCH) {
    const long last = first + BATCH < documents ? first + BATCH : documents;
    if (first > 0 && asked(l))
      return STATUS_INTERRUPTED;
#ifdef _OPENMP
#pragma omp parallel for num_threads(l->job->threads) schedule(dynamic) \
  reduction(+ : failed, interrupted) if (l->job->threads > 1)
#endif
    for (long d = first; d < last; d++) {
      const status outcome =
        interrupted ? STATUS_OK : one(l, (size_t)d, target);
      interrupted += outcome == STATUS_INTERRUPTED;
      failed += outcome == STATUS_NOT_FINITE;
    }
  }
  if (interrupted)
    return STATUS_INTERRUPTED;
  return failed ? STATUS_NOT_FINITE : STATUS_OK;
}

/* ---- fold-in -------------------------------------------------------------------- */

typedef struct {
  size_t burnin, sweeps;
  double *theta, *mean, *square;
} shares;

static void add_moments(const library *l, size_t d, const int *count,
                        double *mean, double *square) {
  const size_t k = l->job->k;
  const double total = (double)length_of(l->job, d) + l->sum_alpha;
  for (size_t j = 0; j < k; j++) {
    const double a = l->job->alpha[j] + count[j];
    mean[d * k + j] += a / total;
    square[d * k + j] += a * (a + 1.0) / (total * (total + 1.0));
  }
}

/* theta ~ Dir(alpha + n_d), in logarithms until the end. */
static void draw_theta(const library *l, const int *count,
                       philox_stream *stream, double *theta) {
  const size_t k = l->job->k;
  for (size_t j = 0; j < k; j++)
    theta[j] = l->job->alpha[j] + count[j];
  philox_log_dirichlet(stream, theta, k, theta);
  for (size_t j = 0; j < k; j++)
    theta[j] = exp(theta[j]);
}

static status fold_in_document(const library *l, size_t d, void *target) {
  const shares *s = target;
  reader *r = l->readers + parts_thread();
  const lda_heldout *job = l->job;
  const size_t k = job->k, length = length_of(job, d);
  const int *word = job->word + (size_t)job->start[d];
  philox_stream stream = philox_open(job->key, d, 0);
  open_document(l, &r->document);
  for (size_t i = 0; i < length; i++)
    if (!(join(l, &r->document, (size_t)word[i] - 1, &stream, r->z + i) > 0.0))
      return STATUS_NOT_FINITE;
  memset(s->mean + d * k, 0, k * sizeof(double));
  memset(s->square + d * k, 0, k * sizeof(double));
  for (size_t sweep = 0; sweep < s->burnin + s->sweeps; sweep++) {
    const status outcome =
      lda_given_phi(&r->document, l->phi, &stream, 0, word, r->z, length, NULL);
    if (outcome != STATUS_OK)
      return outcome;
    if (must_stop(l, r, length + 1))
      return STATUS_INTERRUPTED;
    if (sweep >= s->burnin)
      add_moments(l, d, r->document.count, s->mean, s->square);
  }
  for (size_t j = 0; j < k; j++) {
    s->mean[d * k + j] /= (double)s->sweeps;
    s->square[d * k + j] /= (double)s->sweeps;
  }
  draw_theta(l, r->document.count, &stream, s->theta + d * k);
  return STATUS_OK;
}

status lda_fold_in(const lda_heldout *job, size_t burnin, size_t sweeps,
                   double *theta, double *mean, double *square, void *work) {
  const library l = open_library(job, work);
  shares target = {burnin, sweeps, theta, mean, square};
  return visit_documents(&l, fold_in_document, &target);
}

/* ---- probabilities ---------------------------------------------------------------- */

void lda_token_probabilities(const lda_heldout *job, const double *theta,
                             double *p) {
  const long documents = (long)job->documents;
#ifdef _OPENMP
#pragma omp parallel for num_threads(job->threads) \
  schedule(static) if (job->threads > 1)
#endif
  for (long d = 0; d < documents; d++) {
    const size_t end = (size_t)job->start[d + 1];
    for (size_t i = (size_t)job->start[d]; i < end; i++) {
      const double *phi = job->phi + ((size_t)job->word[i] - 1) * job->k;
      p[i] = 0.0;
      for (size_t j = 0; j < job->k; j++)
        p[i] += theta[(size_t)d * job->k + j] * phi[j];
    }
  }
}

/* ---- from left to right ------------------------------------------------------------- */

/* Adds one particle's p(w_i | w_<i, z_<i) to p. */
static status run_particle(const library *l, size_t d, size_t particle,
                           reader *r) {
  const lda_heldout *job = l->job;
  const size_t length = length_of(job, d);
  const int *word = job->word + (size_t)job->start[d];
  philox_stream stream = philox_open(job->key, d, (uint32_t)particle);
  open_document(l, &r->document);
  for (size_t i = 0; i < length; i++) {
    const status outcome =
      lda_given_phi(&r->document, l->phi, &stream, 0, word, r->z, i, NULL);
    const double mass =
      join(l, &r->document, (size_t)word[i] - 1, &stream, r->z + i);
    if (outcome != STATUS_OK || !(mass > 0.0))
      return STATUS_NOT_FINITE;
    if (must_stop(l, r, i + 1))
      return STATUS_INTERRUPTED;
    r->p[i] += mass / ((double)i + l->sum_alpha);
  }
  return STATUS_OK;
}

typedef struct {
  size_t particles;
  double *log_p;
} readings;

static status read_document(const library *l, size_t d, void *target) {
  const readings *s = target;
  reader *r = l->readers + parts_thread();
  const size_t length = length_of(l->job, d);
  memset(r->p, 0, length * sizeof(double));
  for (size_t particle = 0; particle < s->particles; particle++) {
    const status outcome = run_particle(l, d, particle, r);
    if (outcome != STATUS_OK)
      return outcome;
  }
  s->log_p[d] = 0.0;
  for (size_t i = 0; i < length; i++)
    s->log_p[d] += log(r->p[i] / (double)s->particles);
  return STATUS_OK;
}

status lda_left_to_right(const lda_heldout *job, size_t particles,
                         double *log_p, void *work) {
  const library l = open_library(job, work);
  readings target = {particles, log_p};
  return visit_documents(&l, read_document, &target);
}
