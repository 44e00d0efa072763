/* Philox 4x32-10, counter-based. */
#include "rng.h"

#include "simd.h"

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

/* ---- the same of four blocks, a lane each ---- */

typedef uint32_t u32x4 __attribute__((vector_size(16)));

/* The upper and the lower halves of x · factor. */
static inline void multiply(u32x4 x, uint32_t factor, u32x4 *high, u32x4 *low) {
  i32x4 even = u32x4_multiply_low((i32x4)x, (int32_t)factor), odd = u32x4_multiply_high((i32x4)x, (int32_t)factor);
  *low = (u32x4)__builtin_shufflevector(even, odd, 0, 2, 4, 6);
  *high = (u32x4)__builtin_shufflevector(even, odd, 1, 3, 5, 7);
}

void rng_four_blocks(const Rng *rng, uint32_t stream, uint32_t block, uint32_t out[16]) {
  u32x4 c[4] = {(u32x4){0, 1, 2, 3} + block, (u32x4){0} + stream, (u32x4){0} + (uint32_t)rng->step,
                (u32x4){0} + (uint32_t)(rng->step >> 32)};
  uint32_t k0 = (uint32_t)rng->seed, k1 = (uint32_t)(rng->seed >> 32);
  for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    u32x4 high0, low0, high1, low1;
    multiply(c[0], 0xD2511F53u, &high0, &low0);
    multiply(c[2], 0xCD9E8D57u, &high1, &low1);
    c[0] = high1 ^ c[1] ^ k0, c[1] = low1, c[2] = high0 ^ c[3] ^ k1, c[3] = low0;
  }
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 4; k++) out[4 * i + k] = c[k][i];
}
