/* SipHash-2-4 with an output of 128 bits (Aumasson & Bernstein 2012,
 * doi:10.1007/978-3-642-34931-7_28, and their reference code), with the key of
 * its published test vectors, the bytes 0, 1, ..., 15.
 *
 * The value depends on the bytes alone: words are put together from bytes by
 * arithmetic, whatever the machine's order of bytes. It finds changes made by
 * accident. The key is no secret, so it does not find forgeries. */
#ifndef GIBBSITE_SIPHASH_H
#define GIBBSITE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint64_t v[4];
  uint64_t length; /* bytes so far                                     */
  uint64_t tail;   /* the last length % 8 of them, the first the lowest */
} siphash;

siphash siphash_start(void);
void siphash_add(siphash *h, const unsigned char *bytes, size_t n);
void siphash_end(siphash h, unsigned char digest[16]);

/* The lowest n bytes of x, little-endian. */
static inline void bytes_of(uint64_t x, size_t n, unsigned char *bytes) {
  for (size_t i = 0; i < n; i++)
    bytes[i] = (unsigned char)(x >> 8 * i);
}

#endif
