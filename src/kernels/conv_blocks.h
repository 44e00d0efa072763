/* The blocks of images that a convolution's products are made of: small images share one. */
#pragma once
#include "kernels/conv.h"
#include "kernels/gemm.h"
#include "size.h"
#include "threads.h"

typedef void ConvProduct(const Gemm *g, void *scratch);

/* The number of images in a block: about 768 pixels' worth, with blocks of nearly equal size. */
static inline size_t conv_images(const Conv *conv, size_t pixels) {
  size_t most = pixels < 768 ? 768 / pixels : 1, batch = conv->batch ? conv->batch : 1, blocks = ceil_div(batch, most);
  return ceil_div(batch, blocks);
}

enum { CONV_WORK = 1 << 18 }; /* multiplications that are worth waking a thread */

/* Each thread has blocks of its own or, if there are few or small ones, a part of every product if that is worth it. */
static inline bool conv_blocks_are_many(const Conv *conv, size_t blocks) {
  const Window *w = &conv->window;
  double work = (double)conv->batch * (double)(conv->features * window_out(w)) *
                (double)(conv->channels / conv->groups * window_kernel(w));
  return blocks >= (size_t)threads_count() && work >= CONV_WORK * (double)blocks;
}

static inline ConvProduct *conv_product_of(const Conv *conv, size_t blocks) {
  return conv_blocks_are_many(conv, blocks) ? gemm_run_alone : gemm_run;
}

static inline void conv_blocks_run(const Conv *conv, size_t blocks, ThreadsTask *task, void *context) {
  if (conv_blocks_are_many(conv, blocks)) threads_run(blocks, task, context);
  else
    for (size_t i = 0; i < blocks; i++) task(context, i, 0);
}
