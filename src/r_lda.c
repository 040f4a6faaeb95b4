/* .Call entries of latent Dirichlet allocation: unpack, call the core, pack. */
#include <R.h>
#include <string.h>

#include "lda/lda.h"
#include "lda/lda_heldout.h"
#include "r_args.h"
#include "r_lda.h"
#include "r_scan.h"
#include "routines.h"

/* ---- data ------------------------------------------------------------------------ */

static void check_words(const int *word, size_t n, size_t terms) {
  for (size_t i = 0; i < n; i++)
    if (word[i] < 1 || (size_t)word[i] > terms)
      Rf_error("`word` must lie between 1 and %.0f", (double)terms);
}

/* Starts of documents: 0, ..., n, never decreasing. */
static const double *unpack_start(SEXP start, size_t n, size_t *documents) {
  if (TYPEOF(start) != REALSXP || XLENGTH(start) < 2)
    Rf_error("`start` must be a number a document and one more");
  const size_t length = (size_t)XLENGTH(start);
  const double *x = REAL(start);
  for (size_t d = 0; d + 1 < length; d++)
    if (!(x[d + 1] >= x[d]))
      Rf_error("`start` must not decrease");
  if (x[0] < 0.0 || x[0] > 0.0 || x[length - 1] < (double)n ||
      x[length - 1] > (double)n)
    Rf_error("`start` must go from 0 to %.0f", (double)n);
  *documents = length - 1;
  return x;
}

static const int *unpack_words(SEXP word, size_t *n, R_xlen_t least) {
  if (TYPEOF(word) != INTSXP || XLENGTH(word) < least)
    Rf_error("`word` must be integers");
  *n = (size_t)XLENGTH(word);
  return INTEGER(word);
}

double *lda_unpack_positive(SEXP list, const char *name, size_t length) {
  double *x = args_doubles(list, name, length);
  for (size_t i = 0; i < length; i++)
    if (!(x[i] > 0.0 && R_FINITE(x[i])))
      Rf_error("`%s` must be positive", name);
  return x;
}

/* The prior of a concentration; `name`: its fixed values, one, `some` or `most`,
 * or none where it is sampled. */
static lda_prior unpack_prior(SEXP list, const char *prior_name,
                              const char *name, size_t some, size_t most) {
  const double *x = args_doubles(list, prior_name, 3);
  lda_prior prior = {(lda_prior_kind)x[0], x[1], x[2], 1, NULL};
  if (prior.kind > LDA_GAMMA)
    Rf_error("`%s` must be of kind 0, 1 or 2", prior_name);
  const size_t length = (size_t)Rf_xlength(args_element(list, name));
  const int fixed = prior.kind == LDA_FIXED;
  if (fixed ? length != 1 && length != some && length != most : length != 0)
    Rf_error("`%s` has the wrong length", name);
  if (!fixed)
    return prior;
  prior.length = length;
  prior.value = lda_unpack_positive(list, name, prior.length);
  return prior;
}

lda_data lda_unpack_data(SEXP list, lda_words_at where) {
  lda_data data = {0};
  if (where == LDA_WORDS_APART)
    data.n = args_count(list, "tokens", 1);
  else
    data.word = unpack_words(args_element(list, "word"), &data.n,
                             where == LDA_WORDS_HERE);
  data.start =
    unpack_start(args_element(list, "start"), data.n, &data.documents);
  data.k = args_count(list, "k", 1);
  data.terms = args_count(list, "terms", 1);
  if (data.word)
    check_words(data.word, data.n, data.terms);
  const size_t method = args_count(list, "method", 0);
  if (data.k > LDA_MAX_TOPICS || method > LDA_UNCOLLAPSED)
    Rf_error("`k` or `method` is out of range");
  data.method = (lda_method)method;
  data.alpha = unpack_prior(list, "alpha_prior", "alpha", data.k, data.k);
  data.eta = unpack_prior(list, "eta_prior", "eta", data.terms,
                          args_product(data.k, data.terms));
  data.keep_theta = args_count(list, "keep_theta", 0) > 0;
  data.keep_phi = args_count(list, "keep_phi", 0) > 0;
  data.keep_z = args_count(list, "keep_z", 0) > 0;
  data.keep_labels = args_count(list, "keep_labels", 0) > 0;
  args_product(data.k, data.documents);
  args_product(data.k, data.terms);
  return data;
}

/* ---- state ----------------------------------------------------------------------- */

/* Topics of 16 bits in a raw vector. */
uint16_t *lda_unpack_topics(SEXP list, const char *name, size_t length,
                            size_t k) {
  SEXP x = args_element(list, name);
  if (TYPEOF(x) != RAWSXP || (size_t)XLENGTH(x) != 2 * length)
    Rf_error("`%s` must be %.0f bytes", name, 2.0 * (double)length);
  uint16_t *topic = (uint16_t *)(void *)RAW(x);
  for (size_t i = 0; i < length; i++)
    if (topic[i] >= k)
      Rf_error("`%s` must hold topics below %.0f", name, (double)k);
  return topic;
}

/* Puts zeros in the place of an empty element of the state. */
void lda_allocate(SEXP state, const char *name, SEXPTYPE type, size_t length) {
  SEXP names = Rf_getAttrib(state, R_NamesSymbol);
  if (Rf_xlength(args_element(state, name)) > 0)
    return;
  for (R_xlen_t i = 0; i < Rf_xlength(state); i++)
    if (strcmp(CHAR(STRING_ELT(names, i)), name) == 0) {
      SEXP x = Rf_allocVector(type, (R_xlen_t)length);
      SET_VECTOR_ELT(state, i, x);
      if (type == RAWSXP)
        memset(RAW(x), 0, length);
      else
        memset(REAL(x), 0, length * sizeof(double));
    }
}

/* Running sums: there from the first recorded sweep on. */
static lda_state unpack_streams(SEXP list, const lda_data *data, int recording,
                                lda_state state) {
  lda_streams size = lda_stream_sizes(data);
  if (data->ask)
    size.theta = size.theta_base = 0;
  if (recording) {
    lda_allocate(list, "theta_sum", REALSXP, size.theta);
    lda_allocate(list, "theta_square", REALSXP, size.theta);
    lda_allocate(list, "theta_base", REALSXP, size.theta_base);
    lda_allocate(list, "phi_sum", REALSXP, size.phi);
    lda_allocate(list, "phi_square", REALSXP, size.phi);
    lda_allocate(list, "phi_base", REALSXP, size.phi_base);
    lda_allocate(list, "pivot", RAWSXP, 2 * size.pivot);
    lda_allocate(list, "stayed", REALSXP, size.topics);
    lda_allocate(list, "switched", REALSXP, size.topics);
  }
  if (Rf_xlength(args_element(list, "phi_sum")) == 0)
    return state;
  state.theta_sum = args_doubles(list, "theta_sum", size.theta);
  state.theta_square = args_doubles(list, "theta_square", size.theta);
  state.theta_base = args_doubles(list, "theta_base", size.theta_base);
  state.phi_sum = args_doubles(list, "phi_sum", size.phi);
  state.phi_square = args_doubles(list, "phi_square", size.phi);
  state.phi_base = args_doubles(list, "phi_base", size.phi_base);
  state.pivot = lda_unpack_topics(list, "pivot", size.pivot, data->k);
  state.stayed = args_doubles(list, "stayed", size.topics);
  state.switched = args_doubles(list, "switched", size.topics);
  return state;
}

void *lda_take_work(const lda_data *data, int threads) {
  const size_t size = lda_work_size(data, threads);
  if (size == 0)
    scan_stop(STATUS_NO_MEMORY);
  return R_alloc(size, 1);
}

static lda_state unpack_state(SEXP list, const lda_data *data, int recording) {
  lda_state state = {0};
  const size_t topics = data->ask ? lda_stream_sizes(data).pivot : data->n;
  state.z = lda_unpack_topics(list, "z", topics, data->k);
  if (data->alpha.kind != LDA_FIXED)
    state.alpha = lda_unpack_positive(list, "alpha", 1);
  if (data->eta.kind != LDA_FIXED)
    state.eta = lda_unpack_positive(list, "eta", 1);
  state.kept = args_doubles(list, "kept", 1);
  state.pivot_due = args_doubles(list, "pivot_due", 1);
  return unpack_streams(list, data, recording, state);
}

SEXP lda_run(const lda_data *data, SEXP state_list, SEXP n, SEXP control_list) {
  const scan_control control = args_control(control_list);
  SEXP copy = PROTECT(scan_copy_state(state_list));
  const double sweep = args_number(copy, "sweep");
  const int recording =
    scan_rows(sweep, args_scalar_count(n, "n", 0), &control) > 0;
  const lda_state state = unpack_state(copy, data, recording);
  void *work = lda_take_work(data, control.threads);
  lda_model *model = lda_open(data, &state, work, control.threads);
  const scan_model scan = {model, lda_sweep, lda_record};
  SEXP result = scan_segment(&scan, control, n, copy, lda_columns(data));
  UNPROTECT(1);
  return result;
}

SEXP C_lda_sweeps(SEXP data_list, SEXP state_list, SEXP n, SEXP control_list) {
  const lda_data data = lda_unpack_data(data_list, LDA_WORDS_HERE);
  return lda_run(&data, state_list, n, control_list);
}

/* ---- new documents ----------------------------------------------------------------- */

static lda_heldout unpack_heldout(SEXP word, SEXP start, SEXP phi,
                                  SEXP threads) {
  lda_heldout job = {0};
  job.word = unpack_words(word, &job.n, 1);
  job.start = unpack_start(start, job.n, &job.documents);
  args_matrix(phi, "phi", &job.k, &job.terms);
  if (job.k < 1 || job.k > LDA_MAX_TOPICS)
    Rf_error("`phi` must have a row a topic");
  job.phi = REAL(phi);
  check_words(job.word, job.n, job.terms);
  args_product(job.k, job.documents);
  job.threads = args_threads(threads);
  job.stop = scan_interrupted;
  return job;
}

static const double *unpack_alpha(SEXP alpha, size_t k) {
  if (TYPEOF(alpha) != REALSXP || (size_t)XLENGTH(alpha) != k)
    Rf_error("`alpha` must be %.0f numbers", (double)k);
  return REAL(alpha);
}

static void *heldout_work(const lda_heldout *job) {
  const size_t size = lda_heldout_size(job);
  if (size == 0)
    scan_stop(STATUS_NO_MEMORY);
  return R_alloc(size, 1);
}

static philox_key fresh_key(void) {
  GetRNGstate();
  const philox_key key = philox_key_from_r();
  PutRNGstate();
  return key;
}

static void check_effort(size_t count) {
  if (count > 1000000)
    Rf_error("there can be at most 1e6 sweeps or particles");
}

/* The result, or NULL when the user interrupted. */
static SEXP answer(SEXP result, status outcome) {
  if (outcome == STATUS_INTERRUPTED)
    return R_NilValue;
  if (outcome != STATUS_OK)
    scan_stop(outcome);
  return result;
}

/* sweeps: list(burnin, kept).  list(theta, mean, square), each k x documents. */
SEXP C_lda_fold_in(SEXP word, SEXP start, SEXP phi, SEXP alpha, SEXP sweeps,
                   SEXP threads) {
  lda_heldout job = unpack_heldout(word, start, phi, threads);
  job.alpha = unpack_alpha(alpha, job.k);
  const size_t first = args_count(sweeps, "burnin", 0);
  const size_t kept = args_count(sweeps, "kept", 1);
  check_effort(first);
  check_effort(kept);
  const char *names[] = {"theta", "mean", "square", ""};
  SEXP result = PROTECT(Rf_mkNamed(VECSXP, names));
  for (int part = 0; part < 3; part++)
    SET_VECTOR_ELT(result, part,
                   Rf_allocMatrix(REALSXP, (int)job.k, (int)job.documents));
  job.key = fresh_key();
  const status outcome = lda_fold_in(
    &job, first, kept, REAL(VECTOR_ELT(result, 0)), REAL(VECTOR_ELT(result, 1)),
    REAL(VECTOR_ELT(result, 2)), heldout_work(&job));
  UNPROTECT(1);
  return answer(result, outcome);
}

SEXP C_lda_token_probabilities(SEXP word, SEXP start, SEXP phi, SEXP theta,
                               SEXP threads) {
  const lda_heldout job = unpack_heldout(word, start, phi, threads);
  size_t rows, columns;
  args_matrix(theta, "theta", &rows, &columns);
  if (rows != job.k || columns != job.documents)
    Rf_error("`theta` must have a row a topic and a column a document");
  SEXP p = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)job.n));
  lda_token_probabilities(&job, REAL(theta), REAL(p));
  UNPROTECT(1);
  return p;
}

SEXP C_lda_left_to_right(SEXP word, SEXP start, SEXP phi, SEXP alpha,
                         SEXP particles, SEXP threads) {
  lda_heldout job = unpack_heldout(word, start, phi, threads);
  job.alpha = unpack_alpha(alpha, job.k);
  const size_t count = args_scalar_count(particles, "particles", 1);
  check_effort(count);
  SEXP log_p = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)job.documents));
  job.key = fresh_key();
  const status outcome =
    lda_left_to_right(&job, count, REAL(log_p), heldout_work(&job));
  UNPROTECT(1);
  return answer(log_p, outcome);
}
