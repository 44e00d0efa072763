/* The blocks of images that a convolution's products are made of: small images share one. */
#pragma once
#include "kernels/conv.h"
#include "kernels/gemm.h"
#include "threads.h"

typedef void ConvProduct(const Gemm *g, void *scratch);

/* Images of a block: until they have about 768 pixels, blocks of nearly equal size. */
static inline size_t conv_images(const Conv *conv, size_t pixels) {
  size_t most = pixels < 768 ? 768 / pixels : 1, batch = conv->batch ? conv->batch : 1, blocks = (batch + most - 1) / most;
  return (batch + blocks - 1) / blocks;
}

/* Each thread has blocks of its own, or, where there are too few of them, part of every product. */
static inline bool conv_blocks_are_many(size_t blocks) { return blocks >= (size_t)threads_count(); }
static inline ConvProduct *conv_product_of(size_t blocks) { return conv_blocks_are_many(blocks) ? gemm_run_alone : gemm_run; }

static inline void conv_blocks_run(size_t blocks, ThreadsTask *task, void *context) {
  if (conv_blocks_are_many(blocks)) threads_run(blocks, task, context);
  else
    for (size_t i = 0; i < blocks; i++) task(context, i, 0);
}
