#include "numeric/rounding.h"

#include "lda/lda_words.h"

#include <string.h>

/* A topic takes less time in a row than in a list: a word with more than
 * k / ROW_SHARE topics is a row. */
#define ROW_SHARE 4

/* May a word with this many tokens be a row? */
static int may_be_row(size_t tokens, size_t k) {
  const size_t row = lda_padded(k);
  return tokens >= row || tokens > LDA_MAX_LIST || row <= LDA_SHORT_ROW;
}

size_t lda_slot_size(size_t tokens, size_t k) {
  if (may_be_row(tokens, k))
    return lda_padded(k);
  return lda_list_size(tokens);
}

/* A slot holds a list of at most a word's tokens, padded to whole vectors, or a
 * row. */
double lda_most_cells(size_t n, size_t terms, size_t uneven, size_t k) {
  const size_t padded = lda_padded(k);
  const size_t spare = padded <= LDA_SHORT_ROW ? padded : LDA_LIST_LANES;
  return (double)n + (double)terms * (double)spare +
         (double)uneven * (double)padded;
}

static int is_uneven(const lda_words *words, size_t w) {
  return words->uneven != NULL && words->uneven[w] != 0;
}

static int may_be_row_now(const lda_words *words, size_t w) {
  return is_uneven(words, w) || may_be_row(words->tokens[w], words->k);
}

void lda_words_lay_out(lda_words *words, const int *word, size_t n) {
  size_t cells = 0;
  memset(words->tokens, 0, words->terms * sizeof(uint32_t));
  for (size_t i = 0; i < n; i++)
    words->tokens[word[i] - 1]++;
  for (size_t w = 0; w < words->terms; w++) {
    words->offset[w] = cells;
    cells += is_uneven(words, w) ? words->padded
                                 : lda_slot_size(words->tokens[w], words->k);
  }
  words->offset[words->terms] = cells;
}

/* The row `count` as a list; returns its length. */
static uint32_t list_of_row(const uint32_t *count, size_t k, uint32_t *cell) {
  uint32_t length = 0;
  for (size_t topic = 0; topic < k; topic++)
    if (count[topic])
      cell[length++] = count[topic] << 16 | (uint32_t)topic;
  return length;
}

static void clear(uint32_t *cell, size_t length) {
  memset(cell, 0, length * sizeof(uint32_t));
}

void lda_words_fill(lda_words *words, const int *word, const uint16_t *z,
                    size_t n, uint32_t *scratch) {
  clear(words->cell, words->offset[words->terms]);
  for (size_t w = 0; w < words->terms; w++)
    words->length[w] = may_be_row_now(words, w) ? LDA_ROW : 0;
  /* a list first holds the topic of each of its tokens */
  for (size_t i = 0; i < n; i++) {
    const size_t w = (size_t)word[i] - 1;
    uint32_t *slot = words->cell + words->offset[w];
    if (words->length[w] == LDA_ROW)
      slot[z[i]]++;
    else
      slot[words->length[w]++] = z[i];
  }
  clear(scratch, words->padded);
  for (size_t w = 0; w < words->terms; w++) {
    const uint32_t tokens = words->length[w];
    uint32_t *slot = words->cell + words->offset[w];
    if (tokens == LDA_ROW || tokens == 0)
      continue;
    for (size_t i = 0; i < tokens; i++)
      scratch[slot[i]]++;
    uint32_t length = 0;
    for (size_t i = 0; i < tokens; i++) {
      const uint32_t topic = slot[i], count = scratch[topic];
      scratch[topic] = 0;
      if (count == 0)
        continue;
      slot[length++] = count << 16 | topic;
    }
    clear(slot + length, tokens - length);
    words->length[w] = length;
  }
  lda_words_arrange(words, scratch);
}

static size_t topics_of_row(const uint32_t *count, size_t k) {
  size_t topics = 0;
  for (size_t topic = 0; topic < k; topic++)
    topics += count[topic] != 0;
  return topics;
}

/* By topic, ascending: insertion, since few are out of place. */
static void sort_list(uint32_t *cell, size_t length) {
  for (size_t i = 1; i < length; i++) {
    const uint32_t moving = cell[i], topic = moving & LDA_TOPIC;
    size_t at = i;
    for (; at > 0 && (cell[at - 1] & LDA_TOPIC) > topic; at--)
      cell[at] = cell[at - 1];
    cell[at] = moving;
  }
}

void lda_words_arrange(lda_words *words, uint32_t *scratch) {
  const size_t k = words->k, most = k / ROW_SHARE;
  for (size_t w = 0; w < words->terms; w++) {
    const size_t tokens = words->tokens[w];
    uint32_t *slot = words->cell + words->offset[w];
    const int is_row = words->length[w] == LDA_ROW;
    if (!is_row)
      sort_list(slot, words->length[w]);
    if (!may_be_row_now(words, w))
      continue;
    const size_t topics = is_row ? topics_of_row(slot, k) : words->length[w];
    const int wanted = topics > most || tokens > LDA_MAX_LIST ||
                       words->padded <= LDA_SHORT_ROW || is_uneven(words, w);
    if (wanted == is_row)
      continue;
    memcpy(scratch, slot, words->padded * sizeof(uint32_t));
    clear(slot, words->padded);
    if (is_row) {
      words->length[w] = list_of_row(scratch, k, slot);
    } else {
      for (size_t i = 0; i < topics; i++)
        slot[scratch[i] & LDA_TOPIC] = scratch[i] >> 16;
      words->length[w] = LDA_ROW;
    }
  }
}

const int *lda_words_row(const lda_words *words, size_t w, uint32_t *scratch) {
  const uint32_t *slot = words->cell + words->offset[w];
  if (words->length[w] == LDA_ROW)
    return (const int *)slot;
  clear(scratch, words->padded);
  for (size_t i = 0; i < words->length[w]; i++)
    scratch[slot[i] & LDA_TOPIC] = slot[i] >> 16;
  return (const int *)scratch;
}
