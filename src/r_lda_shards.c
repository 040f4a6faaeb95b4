/* LDA on several machines (core/lda/lda.h): the chain's side asks an R function for
 * the answers of all shards, and a shard answers.
 *
 * A request is list(task, recording, tallying, keys, alpha, phi, number): keys of
 * z and theta in 16 bytes; phi as the bytes of k floats a word, number in an
 * LDA_ADD.  The answer is list(table, histogram, log_lik, log_joint, z), with k
 * counts a word, how often the counts 1, 2, ... occur among n_dk, and topics of 16
 * bits.  */
#include <R.h>
#include <string.h>

#include "lda/lda.h"
#include "lda/lda_model.h"
#include "r_args.h"
#include "r_lda.h"
#include "r_scan.h"
#include "routines.h"

/* ---- the chain's side -------------------------------------------------------- */

static SEXP pack_phi(const lda_model *m) {
  const size_t row = m->data.k * sizeof(float);
  SEXP phi = Rf_allocVector(RAWSXP, (R_xlen_t)(m->data.terms * row));
  for (size_t w = 0; w < m->data.terms; w++)
    memcpy(RAW(phi) + w * row, m->phi + w * m->padded, row);
  return phi;
}

static SEXP pack_number(const lda_model *m) {
  SEXP number = Rf_allocVector(INTSXP, (R_xlen_t)m->data.k);
  for (size_t j = 0; j < m->data.k; j++)
    INTEGER(number)[j] = (int)m->number[j];
  return number;
}

static SEXP pack_request(const lda_model *m, lda_task task) {
  const char *names[] = {"task",  "recording", "tallying", "keys",
                         "alpha", "phi",       "number",   ""};
  const philox_key keys[] = {m->z_key, m->theta_key};
  const int tallying =
    task == LDA_COUNT ? lda_is_sampled(&m->data.alpha) : m->tallying;
  SEXP request = PROTECT(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(request, 0, Rf_ScalarInteger((int)task));
  SET_VECTOR_ELT(request, 1, Rf_ScalarInteger(m->recording));
  SET_VECTOR_ELT(request, 2, Rf_ScalarInteger(tallying));
  SET_VECTOR_ELT(request, 3, args_raw(keys, sizeof keys));
  if (m->state.alpha)
    SET_VECTOR_ELT(request, 4, Rf_ScalarReal(m->state.alpha[0]));
  if (task == LDA_DRAW)
    SET_VECTOR_ELT(request, 5, pack_phi(m));
  if (task == LDA_ADD)
    SET_VECTOR_ELT(request, 6, pack_number(m));
  UNPROTECT(1);
  return request;
}

static void take_counts(lda_model *m, SEXP answer) {
  const int *table =
    args_integers(answer, "table", args_product(m->data.k, m->data.terms));
  for (size_t w = 0; w < m->data.terms; w++)
    memcpy(m->table + w * m->padded, table + w * m->data.k,
           m->data.k * sizeof(int));
  SEXP histogram = args_element(answer, "histogram");
  if (TYPEOF(histogram) != INTSXP || (size_t)XLENGTH(histogram) > m->longest)
    Rf_error("`histogram` has the wrong length");
  for (R_xlen_t i = 0; i < XLENGTH(histogram); i++)
    m->scratch[0].histogram[i + 1] = (uint32_t)INTEGER(histogram)[i];
}

static void take_record(lda_model *m, SEXP answer) {
  const size_t bytes = m->blocks * sizeof(double);
  const size_t topics = lda_stream_sizes(&m->data).pivot;
  memcpy(m->block_log_lik, args_doubles(answer, "log_lik", m->blocks), bytes);
  memcpy(m->block_log_joint, args_doubles(answer, "log_joint", m->blocks),
         bytes);
  memcpy(m->state.z, lda_unpack_topics(answer, "z", topics, m->data.k),
         topics * sizeof(uint16_t));
}

/* An error or an interrupt of the function leaves .Call(). */
static void ask(void *function, lda_model *m, lda_task task) {
  SEXP request = PROTECT(pack_request(m, task));
  SEXP call = PROTECT(Rf_lang2((SEXP)function, request));
  SEXP answer = PROTECT(Rf_eval(call, R_BaseEnv));
  if (task != LDA_ADD)
    take_counts(m, answer);
  if (task == LDA_DRAW && m->recording)
    take_record(m, answer);
  UNPROTECT(3);
}

static lda_data unpack_sharded(SEXP list, lda_words_at where) {
  const lda_data data = lda_unpack_data(list, where);
  if (data.method != LDA_PARTIALLY_COLLAPSED || data.keep_theta || data.keep_z)
    Rf_error("`data` cannot be in shards");
  return data;
}

SEXP C_lda_sweeps_apart(SEXP data_list, SEXP state, SEXP n, SEXP control,
                        SEXP function) {
  lda_data data = unpack_sharded(data_list, LDA_WORDS_APART);
  data.ask = ask;
  data.context = function;
  return lda_run(&data, state, n, control);
}

/* The first documents, from 0, of the blocks in which log_lik is summed. */
SEXP C_lda_blocks(SEXP data_list) {
  const lda_data data = unpack_sharded(data_list, LDA_WORDS_APART);
  const size_t blocks = lda_divide(&data, NULL);
  size_t *block = (size_t *)(void *)R_alloc(blocks + 1, sizeof(size_t));
  lda_divide(&data, block);
  SEXP first = Rf_allocVector(INTSXP, (R_xlen_t)blocks);
  for (size_t b = 0; b < blocks; b++)
    INTEGER(first)[b] = (int)block[b];
  return first;
}

/* ---- a shard's side ----------------------------------------------------------- */

static void unpack_place(SEXP list, lda_data *data) {
  SEXP block = args_element(list, "block");
  data->first_document = args_count(list, "first_document", 0);
  data->blocks = (size_t)Rf_xlength(block);
  data->block = args_integers(list, "block", data->blocks);
  for (size_t b = 0; b < data->blocks; b++)
    if (data->block[b] < (b ? data->block[b - 1] + 1 : 0) ||
        (size_t)data->block[b] >= data->documents)
      Rf_error("`block` must rise from 0 on, below the documents");
}

static lda_state unpack_shard(SEXP list, SEXP request, const lda_data *data,
                              int adding) {
  const lda_streams size = lda_stream_sizes(data);
  lda_state state = {0};
  state.z = lda_unpack_topics(list, "z", data->n, data->k);
  if (data->alpha.kind != LDA_FIXED)
    state.alpha = lda_unpack_positive(request, "alpha", 1);
  if (!adding)
    return state;
  lda_allocate(list, "theta_sum", REALSXP, size.theta);
  lda_allocate(list, "theta_square", REALSXP, size.theta);
  lda_allocate(list, "theta_base", REALSXP, size.theta_base);
  state.theta_sum = args_doubles(list, "theta_sum", size.theta);
  state.theta_square = args_doubles(list, "theta_square", size.theta);
  state.theta_base = args_doubles(list, "theta_base", size.theta_base);
  return state;
}

static void set_phi(lda_model *m, SEXP request) {
  const size_t row = m->data.k * sizeof(float);
  const unsigned char *phi = args_bytes(request, "phi", m->data.terms * row);
  for (size_t w = 0; w < m->data.terms; w++)
    memcpy(m->phi + w * m->padded, phi + w * row, row);
}

static void set_keys(lda_model *m, SEXP request) {
  philox_key keys[2];
  memcpy(keys, args_bytes(request, "keys", sizeof keys), sizeof keys);
  m->z_key = keys[0];
  m->theta_key = keys[1];
}

static void set_number(lda_model *m, SEXP request) {
  const int *number = args_integers(request, "number", m->data.k);
  for (size_t j = 0; j < m->data.k; j++) {
    if (number[j] < 0 || (size_t)number[j] >= m->data.k)
      Rf_error("`number` must be numbers of topics");
    m->number[j] = (uint32_t)number[j];
  }
}

static SEXP pack_table(const lda_model *m) {
  SEXP table = Rf_allocVector(INTSXP, (R_xlen_t)(m->data.terms * m->data.k));
  for (size_t w = 0; w < m->data.terms; w++)
    memcpy(INTEGER(table) + w * m->data.k, m->table + w * m->padded,
           m->data.k * sizeof(int));
  return table;
}

static SEXP pack_histogram(const lda_model *m) {
  SEXP histogram = Rf_allocVector(INTSXP, (R_xlen_t)m->longest);
  for (size_t i = 0; i < m->longest; i++)
    INTEGER(histogram)[i] = (int)m->scratch[0].histogram[i + 1];
  return histogram;
}

/* Topics of the shard's tokens that stand in the pivot. */
static SEXP pack_sample(const lda_model *m, SEXP list) {
  const size_t stride = args_count(list, "stride", 1);
  const size_t skip = args_count(list, "skip", 0);
  const size_t n = m->data.n;
  const size_t size = n > skip ? (n - skip + stride - 1) / stride : 0;
  SEXP z = Rf_allocVector(RAWSXP, (R_xlen_t)(2 * size));
  uint16_t *topic = (uint16_t *)(void *)RAW(z);
  for (size_t i = 0; i < size; i++)
    topic[i] = m->state.z[skip + i * stride];
  return z;
}

static SEXP pack_answer(const lda_model *m, SEXP data_list, SEXP state) {
  const char *names[] = {"state",     "table", "histogram", "log_lik",
                         "log_joint", "z",     ""};
  SEXP answer = PROTECT(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(answer, 0, state);
  SET_VECTOR_ELT(answer, 1, pack_table(m));
  SET_VECTOR_ELT(answer, 2, pack_histogram(m));
  if (m->recording) {
    SET_VECTOR_ELT(answer, 3, args_numbers(m->block_log_lik, m->blocks));
    SET_VECTOR_ELT(answer, 4, args_numbers(m->block_log_joint, m->blocks));
    SET_VECTOR_ELT(answer, 5, pack_sample(m, data_list));
  }
  UNPROTECT(1);
  return answer;
}

static status draw(lda_model *m, SEXP request, int threads) {
  const scan_control control = {
    .threads = threads, .recording = m->recording, .stop = scan_interrupted};
  set_phi(m, request);
  set_keys(m, request);
  const status outcome = lda_draw_documents(m, &control);
  lda_merge_histograms(m);
  return outcome;
}

/* list(state, table, histogram, log_lik, log_joint, z): what is not asked for is
 * NULL.  `state`: list(z, theta_sum, theta_square, theta_base). */
SEXP C_lda_shard(SEXP data_list, SEXP state_list, SEXP request, SEXP threads) {
  const size_t task = args_count(request, "task", 0);
  lda_data data = unpack_sharded(data_list, LDA_WORDS_OF_SHARD);
  unpack_place(data_list, &data);
  SEXP copy = PROTECT(scan_copy_state(state_list));
  const lda_state state = unpack_shard(copy, request, &data, task == LDA_ADD);
  const int team = args_threads(threads);
  lda_model *m =
    lda_open_shard(&data, &state, lda_take_work(&data, team), team);
  status outcome = STATUS_OK;
  m->tallying = args_count(request, "tallying", 0) > 0;
  if (task == LDA_DRAW) {
    m->recording = args_count(request, "recording", 0) > 0;
    outcome = draw(m, request, team);
  } else if (task == LDA_ADD) {
    set_number(m, request);
    lda_stream_documents(m);
  } else {
    lda_count_tokens(m);
  }
  if (outcome != STATUS_OK && outcome != STATUS_INTERRUPTED)
    scan_stop(outcome);
  SEXP answer =
    outcome == STATUS_OK ? pack_answer(m, data_list, copy) : R_NilValue;
  UNPROTECT(1);
  return answer;
}
