#include "numeric/rounding.h"

#include "numeric/siphash.h"

static uint64_t rotated(uint64_t x, int by) {
  return x << by | x >> (64 - by);
}

static void mix(uint64_t v[4], int rounds) {
  while (rounds-- > 0) {
    v[0] += v[1], v[1] = rotated(v[1], 13) ^ v[0], v[0] = rotated(v[0], 32);
    v[2] += v[3], v[3] = rotated(v[3], 16) ^ v[2];
    v[0] += v[3], v[3] = rotated(v[3], 21) ^ v[0];
    v[2] += v[1], v[1] = rotated(v[1], 17) ^ v[2], v[2] = rotated(v[2], 32);
  }
}

static void take_word(uint64_t v[4], uint64_t word) {
  v[3] ^= word;
  mix(v, 2);
  v[0] ^= word;
}

static uint64_t word_of(const unsigned char *b) {
  return (uint64_t)b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 |
         (uint64_t)b[3] << 24 | (uint64_t)b[4] << 32 | (uint64_t)b[5] << 40 |
         (uint64_t)b[6] << 48 | (uint64_t)b[7] << 56;
}

siphash siphash_start(void) {
  const uint64_t k0 = UINT64_C(0x0706050403020100);
  const uint64_t k1 = UINT64_C(0x0f0e0d0c0b0a0908);
  const siphash h = {{UINT64_C(0x736f6d6570736575) ^ k0,
                      UINT64_C(0x646f72616e646f6d) ^ k1 ^ 0xee,
                      UINT64_C(0x6c7967656e657261) ^ k0,
                      UINT64_C(0x7465646279746573) ^ k1},
                     0,
                     0};
  return h;
}

void siphash_add(siphash *h, const unsigned char *bytes, size_t n) {
  siphash s = *h;
  const int held = (int)(s.length % 8) * 8;
  s.length += n;
  for (; n >= 8; n -= 8, bytes += 8) {
    const uint64_t word = word_of(bytes);
    take_word(s.v, s.tail | word << held);
    s.tail = held > 0 ? word >> (64 - held) : 0;
  }
  for (int at = held; n > 0; n--, bytes++) {
    s.tail |= (uint64_t)*bytes << at;
    at += 8;
    if (at == 64) {
      take_word(s.v, s.tail);
      s.tail = 0;
      at = 0;
    }
  }
  *h = s;
}

void siphash_end(siphash h, unsigned char digest[16]) {
  take_word(h.v, h.length << 56 | h.tail);
  h.v[2] ^= 0xee;
  mix(h.v, 4);
  bytes_of(h.v[0] ^ h.v[1] ^ h.v[2] ^ h.v[3], 8, digest);
  h.v[1] ^= 0xdd;
  mix(h.v, 4);
  bytes_of(h.v[0] ^ h.v[1] ^ h.v[2] ^ h.v[3], 8, digest + 8);
}
