/* Philox 4x32-10, counter-based. */
#include "rng.h"

void rng_block(const Rng *rng, uint32_t stream, uint32_t block, uint32_t out[4]) {
  uint32_t c[4] = {block, stream, (uint32_t)rng->step, (uint32_t)(rng->step >> 32)};
  uint32_t k0 = (uint32_t)rng->seed, k1 = (uint32_t)(rng->seed >> 32);
  for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    uint64_t p0 = (uint64_t)0xD2511F53u * c[0], p1 = (uint64_t)0xCD9E8D57u * c[2];
    uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ c[1] ^ k0, (uint32_t)p1, (uint32_t)(p0 >> 32) ^ c[3] ^ k1, (uint32_t)p0};
    for (int i = 0; i < 4; i++) c[i] = next[i];
  }
  for (int i = 0; i < 4; i++) out[i] = c[i];
}
