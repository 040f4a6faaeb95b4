/* n_kw of collapsed LDA in little memory.  A word has a slot of cells of 4 bytes:
 * either a row, the counts of all topics (padded with zeros to a multiple of
 * LDA_LANES), or a list, the topics that the word has, each count << 16 | topic, then
 * zeros.
 *
 * A word of N tokens has at most N topics, so a list of that many cells
 * never overflows; a word with fewer tokens than topics is always a list, and one
 * whose counts may not fit 16 bits always a row; with few topics all words are rows.
 * Others are laid out at the
 * start of each sweep by the number of their topics, and stay so until the next.
 * Lists are sorted by topic there too, so that what a slot holds when a sweep begins
 * is a function of the counts, however they came about.
 *
 * A word is uneven where eta_kw differs between the topics; with short rows and one
 * uneven word all words count as uneven.  Such a word is always a row, and eta_kw of
 * it stands in a row of `eta` beside. */
#ifndef GIBBSITE_LDA_WORDS_H
#define GIBBSITE_LDA_WORDS_H

#include <stddef.h>
#include <stdint.h>

#define LDA_LANES 16       /* a row is summed in as many strands  */
#define LDA_LIST_LANES 8   /* and a list in as many               */
#define LDA_ROW UINT32_MAX /* the `length` of a row               */
#define LDA_TOPIC 0xFFFFu  /* the bits of a cell that name a topic */
#define LDA_MAX_LIST 65535 /* tokens of a word that fit a list    */

/* With up to so many topics, padded, all words are rows: they are summed as fast as
 * a list is looked up. */
#define LDA_SHORT_ROW 32

typedef struct {
  size_t terms, k, padded; /* padded: k to a multiple of LDA_LANES    */
  size_t *offset;          /* terms + 1: first cell of a slot         */
  uint32_t *length;        /* terms: cells of a list in use, or LDA_ROW */
  uint32_t *tokens;        /* terms: N_w                              */
  uint32_t *cell;
  uint32_t *uneven; /* terms: its row of eta, from 1, or 0; NULL: none uneven */
  float *eta;       /* padded an uneven word; NULL: none uneven             */
} lda_words;

static inline size_t lda_padded(size_t k) {
  return (k + LDA_LANES - 1) / LDA_LANES * LDA_LANES;
}

/* eta_kw of an uneven word, or NULL. */
static inline const float *lda_uneven_eta(const lda_words *words, size_t w) {
  if (words->uneven == NULL || words->uneven[w] == 0)
    return NULL;
  return words->eta + (words->uneven[w] - 1) * words->padded;
}

/* Cells of the slot of a word with this many tokens that is not uneven. */
size_t lda_slot_size(size_t tokens, size_t k);

/* Cells of all slots are at most this many; `uneven` words are. */
double lda_most_cells(size_t n, size_t terms, size_t uneven, size_t k);

/* offset, length and tokens from the words 1..terms. */
void lda_words_lay_out(lda_words *words, const int *word, size_t n);

/* Counts from the topics z, then lda_words_arrange(). */
void lda_words_fill(lda_words *words, const int *word, const uint16_t *z,
                    size_t n, uint32_t *scratch);

/* Each word as a row or a list, by its number of topics.  scratch: padded. */
void lda_words_arrange(lda_words *words, uint32_t *scratch);

/* The counts of a word as a row: in place, or in scratch (padded). */
const int *lda_words_row(const lda_words *words, size_t w, uint32_t *scratch);

/* Cells of a list with the zeros that fill its last vector. */
static inline size_t lda_list_size(size_t length) {
  return (length + LDA_LIST_LANES - 1) / LDA_LIST_LANES * LDA_LIST_LANES;
}

/* The cell of a topic that the list has. */
static inline size_t lda_list_find(const uint32_t *cell, uint32_t topic) {
  size_t i = 0;
  while ((cell[i] & LDA_TOPIC) != topic)
    i++;
  return i;
}

/* One token less of the topic in cell i; the last cell takes the place of an empty
 * one. */
static inline void lda_list_remove(uint32_t *cell, uint32_t *length, size_t i) {
  const uint32_t left = cell[i] - (LDA_TOPIC + 1);
  const uint32_t empty = left <= LDA_TOPIC;
  const size_t last = *length - 1;
  cell[i] = empty ? cell[last] : left;
  cell[last] = empty ? 0 : cell[last];
  *length -= empty;
}

/* One token more of any topic. */
static inline void lda_list_add(uint32_t *cell, uint32_t *length,
                                uint32_t topic) {
  size_t i = 0;
  while (i < *length && (cell[i] & LDA_TOPIC) != topic)
    i++;
  if (i < *length) {
    cell[i] += LDA_TOPIC + 1;
    return;
  }
  cell[i] = (LDA_TOPIC + 1) | topic;
  ++*length;
}

#endif
