/* The divisor of an output, shared by AveragePool and its gradient. */
#pragma once
#include "ops/pool/pool.h"

static inline size_t pool_steps(size_t from, size_t to, size_t step) {
  if (from >= to) return 0;
  return step == 1 ? to - from : (to - from + step - 1) / step; /* a division takes as long as a small window */
}

/* Along axis a: kernel positions on the input, or with count_include_pad on input and padding. */
static inline size_t average_pool_count_of(const Pool *pool, const Window *w, int a, size_t at, size_t padded_end) {
  PoolRange r = pool_range(w, a, at);
  if (!pool->count_padding) return pool_steps(r.from, r.to, r.step);
  size_t count = pool_steps(at * w->stride[a], padded_end, w->dilation[a]);
  return count < w->kernel[a] ? count : w->kernel[a];
}
static inline size_t average_pool_count(const Pool *pool, int a, size_t at) {
  return average_pool_count_of(pool, &pool->window, a, at, pool->padded_end[a]);
}

/* The window of an output pixel and its divisor: first for its row, counted over the depth, then for the pixel. */
typedef struct PoolView {
  PoolRange depths, rows, columns;
  size_t row_count;
  float count;
} PoolView;

static inline PoolView average_pool_row(const Pool *pool, size_t row) {
  const Window *w = &pool->window;
  size_t d = row / w->out[0], i = row % w->out[0];
  size_t count = average_pool_count(pool, 0, i) * average_pool_count_of(pool, &pool->depth, 0, d, pool->padded_end[2]);
  return (PoolView){.depths = pool_range(&pool->depth, 0, d), .rows = pool_range(w, 0, i), .row_count = count};
}

static inline void average_pool_column(const Pool *pool, size_t j, PoolView *view) {
  view->columns = pool_range(&pool->window, 1, j);
  view->count = (float)(view->row_count * average_pool_count(pool, 1, j));
}
