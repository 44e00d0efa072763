/* What AveragePool and its gradient share: by how many an output is divided. */
#pragma once
#include "ops/pool.h"

static inline size_t pool_steps(size_t from, size_t to, size_t step) { return from < to ? (to - from + step - 1) / step : 0; }

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

/* What output pixel `at` of a plane sees, and by how many it is divided. */
typedef struct PoolView {
  PoolRange depths, rows, columns;
  float count;
} PoolView;

static inline PoolView average_pool_view(const Pool *pool, size_t at) {
  const Window *w = &pool->window;
  size_t j = at % w->out[1], i = at / w->out[1] % w->out[0], d = at / window_out(w);
  size_t count = average_pool_count(pool, 0, i) * average_pool_count(pool, 1, j) *
                 average_pool_count_of(pool, &pool->depth, 0, d, pool->padded_end[2]);
  return (PoolView){pool_range(&pool->depth, 0, d), pool_range(w, 0, i), pool_range(w, 1, j), (float)count};
}
