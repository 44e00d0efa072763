/* Packing one panel: lines of an operand side by side, k-major, for the tile of gemm.c. */
#pragma once
#include "kernels/gemm.h"
#include "size.h"

enum { GEMM_DEPTH_BLOCK = 384 }; /* a panel of B is 12 KB at most and stays in the first cache */

/* Blocks have nearly equal depth too: 400 is 200 + 200, because a short last one would hardly be worth its stores. */
static inline size_t gemm_block_depth(size_t depth) {
  size_t blocks = ceil_div(depth, GEMM_DEPTH_BLOCK);
  return blocks ? ceil_div(depth, blocks) : 0;
}

/* The most rows of a tile, and so of a panel of A. */
#ifdef TRAINLET_RELAXED
#define TILE_ROWS 6 /* a fused multiply-add needs no register for the product */
#else
#define TILE_ROWS                                                                                                      \
  5 /* 10 accumulators, 2 of B, 1 of A and the product: with one row more the 16 registers of V8 spill */
#endif

/* packed[k · width + i] = element (line + i, from + k) of the source, 0 for count ≤ i < width; width ≤ 8. */
void gemm_pack_panel(const GemmSource *source, size_t line, size_t count, size_t width, size_t from, size_t depth,
                     float *packed);

/* True if every run reads B from memory, because no cache holds so many floats. */
static inline bool gemm_is_large(const Gemm *g) { return (uint64_t)g->columns * g->depth > 1 << 19; }
