/* What the pools share: the checks, the window, and what of the input an output sees. */
#pragma once
#include "ops/window.h"

typedef struct Pool {
  Window window;
  size_t planes;        /* N · C */
  size_t padded_end[2]; /* input and padding end here, counted from the start of the padding */
  bool count_padding;
} Pool;

/* Input shape x; gives y's shape, and the pool when every shape of the node is numbers (NULL otherwise). */
Status pool_infer(Node *n, const Shape *x, Shape *y, Pool **pool);

/* The same without the planes; only the spatial dims need be numbers. */
Pool pool_of(const Node *n, const WindowAttrs *attrs, const Shape *x, const Shape *y);

typedef struct PoolRange {
  size_t from, to, step;
} PoolRange;

/* The input positions that output position `at` sees along axis a. */
static inline PoolRange pool_range(const Window *w, int a, size_t at) {
  size_t start = at * w->stride[a], end = start + w->kernel[a] * w->dilation[a], pad = w->pad[a], step = w->dilation[a];
  size_t from = start >= pad ? start - pad : (step - (pad - start) % step) % step;
  size_t to = end <= pad ? 0 : end - pad;
  return (PoolRange){from, to < w->in[a] ? to : w->in[a], step};
}
