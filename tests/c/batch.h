/* Batch: numbers by formula, the same in tests/golden/scripts/make_w.py and tests/js/models/golden.test.js. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* The finaliser lowbias32 over seed · 0x9E3779B9 + i. */
static inline uint32_t batch_bits(uint32_t seed, size_t i) {
  uint32_t x = (uint32_t)i + seed * 0x9E3779B9u;
  x = (x ^ x >> 16) * 0x7FEB352Du;
  x = (x ^ x >> 15) * 0x846CA68Bu;
  return x ^ x >> 16;
}
/* In [0, 1) with 24 bits. */
static inline double batch_unit(uint32_t seed, size_t i) { return (batch_bits(seed, i) >> 8) * 0x1p-24; }
/* In [-1, 1): the weights of every checksum are batch_signed(7, i). */
static inline double batch_signed(uint32_t seed, size_t i) { return 2 * batch_unit(seed, i) - 1; }
