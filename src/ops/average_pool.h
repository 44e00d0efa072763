/* What AveragePool and its gradient share: by how many an output is divided. */
#pragma once
#include "ops/pool.h"

static inline size_t pool_steps(size_t from, size_t to, size_t step) { return from < to ? (to - from + step - 1) / step : 0; }

/* Along axis a: kernel positions on the input, or with count_include_pad on input and padding. */
static inline size_t average_pool_count(const Pool *pool, int a, size_t at) {
  const Window *w = &pool->window;
  PoolRange r = pool_range(w, a, at);
  if (!pool->count_padding) return pool_steps(r.from, r.to, r.step);
  size_t count = pool_steps(at * w->stride[a], pool->padded_end[a], w->dilation[a]);
  return count < w->kernel[a] ? count : w->kernel[a];
}
