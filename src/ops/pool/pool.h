/* Parts that the pools share: the checks, the window, and the input pixels of an output. */
#pragma once
#include "ops/conv/window.h"
#include "simd.h"

typedef struct Pool {
  Window window, depth; /* depth: along its axis 0, of three spatial dims */
  size_t planes;        /* N · C */
  /* end of input and padding along height, width and depth, counted from the start of the padding */
  size_t padded_end[3];
  bool count_padding;
} Pool;

/* Input shape x; gives y's shape, and the pool when every shape of the node is numbers (NULL otherwise). */
Status pool_infer(Node *n, const Shape *x, Shape *y, Pool **pool);

/* The same without the planes; only the spatial dims need be numbers. */
Pool pool_of(const Node *n, const WindowAttrs *attrs, const Shape *x, const Shape *y);

typedef struct PoolRange {
  size_t from, to, step;
} PoolRange;

/* Numbers of x's and y's planes, with their depth. */
static inline size_t pool_in(const Pool *p) { return p->depth.in[0] * window_in(&p->window); }
static inline size_t pool_out(const Pool *p) { return p->depth.out[0] * window_out(&p->window); }

/* The input positions that output position `at` sees along axis a. */
static inline PoolRange pool_range(const Window *w, int a, size_t at) {
  size_t start = at * w->stride[a], end = start + w->kernel[a] * w->dilation[a], pad = w->pad[a], step = w->dilation[a];
  size_t from = start >= pad ? start - pad : (step - (pad - start) % step) % step;
  size_t to = end <= pad ? 0 : end - pad;
  return (PoolRange){from, to < w->in[a] ? to : w->in[a], step};
}

/* p[0], p[stride], p[2 · stride], p[3 · stride] */
static inline f32x4 pool_lanes(const float *p, size_t stride) {
  if (stride > 2) return (f32x4){p[0], p[stride], p[2 * stride], p[3 * stride]};
  return stride == 1 ? f32x4_load(p) : __builtin_shufflevector(f32x4_load(p), f32x4_load(p + 3), 0, 2, 5, 7);
}
/* The windows of a row that are done four at a time, side by side: at least four, or none where this is not possible.
 * They have all of their columns on the input. */
PoolRange pool_by_fours(const Pool *pool);

double pool_work(const Node *n);
double pool_gradient_work(const Node *n);
