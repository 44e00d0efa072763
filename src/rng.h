/* Random numbers that are a pure function of (seed, step, stream, index): Philox 4x32-10
 * (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11), so any machine and thread count draws the same.
 */
#pragma once
#include <stdint.h>

typedef struct Rng {
  uint64_t seed;
  uint64_t step; /* train steps run so far (without training: inferences); each draws new numbers */
} Rng;

/* Four 32-bit numbers, number `block` of `stream` (one stream a node). */
void rng_block(const Rng *rng, uint32_t stream, uint32_t block, uint32_t out[4]);

/* The four blocks from `block` on. */
void rng_four_blocks(const Rng *rng, uint32_t stream, uint32_t block, uint32_t out[16]);

/* Uniform in [0, 1) with 24 bits. */
static inline float rng_unit(uint32_t bits) { return (float)(bits >> 8) * 0x1p-24f; }
