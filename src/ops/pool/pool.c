/* The checks and sizes of the pools. */
#include "ops/pool/pool.h"
#include "graph/work.h"

static Status check_window(const Node *n, const Window *w, int a, size_t at, const char *name) {
  PoolRange r = pool_range(w, a, at);
  if (r.from < r.to) return STATUS_OK;
  return node_invalid(n, "window %zu along the %s lies on padding only", at, name);
}

/* A window that sees only padding has no largest element and no average. This can be one that starts in the padding, or
 * the last one. */
static Status check_windows(const Node *n, const Window *w, int a, const char *name) {
  for (size_t at = 0; at < w->out[a] && at * w->stride[a] < w->pad[a]; at++) TRY(check_window(n, w, a, at, name));
  return check_window(n, w, a, w->out[a] - 1, name);
}

static size_t padded_end(const WindowAttrs *attrs, const Window *w, int a, int from) {
  size_t end = w->in[a] + w->pad[a] + (from >= 0 ? (size_t)attrs->pad_end[from] : 0);
  size_t slid = (w->out[a] - 1) * w->stride[a] + (w->kernel[a] - 1) * w->dilation[a] + 1;
  bool same = attrs->padding == PAD_SAME_UPPER ||
              attrs->padding == PAD_SAME_LOWER; /* padded until the last window fits */
  return same && slid > end ? slid : end;
}

Pool pool_of(const Node *n, const WindowAttrs *attrs, const Shape *x, const Shape *y) {
  Pool pool = {.window = window_of(attrs, x, y),
               .depth = window_depth_of(attrs, x, y),
               .count_padding = node_int(n, "count_include_pad", 0) != 0};
  for (int a = 0; a < 2; a++)
    pool.padded_end[a] = padded_end(attrs, &pool.window, a, a - 2 + attrs->rank); /* one dimension is the columns */
  pool.padded_end[2] = padded_end(attrs, &pool.depth, 0, attrs->rank - 3);
  return pool;
}

Status pool_infer(Node *n, const Shape *x, Shape *y, Pool **out) {
  WindowAttrs attrs;
  TRY(window_attrs(n, x->rank - 2, NULL, &attrs));
  *y = *x;
  *out = NULL;
  for (int a = 0; a < attrs.rank; a++) TRY(window_out_dim(n, &attrs, a, x->dim[2 + a], &y->dim[2 + a]));
  if (!node_is_concrete(n) || !shape_is_concrete(x)) return STATUS_OK;
  Pool *pool = *out = NODE_PARAMS(n, Pool);
  if (!pool) return STATUS_OUT_OF_MEMORY;
  *pool = pool_of(n, &attrs, x, y);
  pool->planes = shape_span(x, 0, 2);
  TRY(check_windows(n, &pool->depth, 0, "depth"));
  TRY(check_windows(n, &pool->window, 0, "height"));
  return check_windows(n, &pool->window, 1, "width");
}

PoolRange pool_by_fours(const Pool *pool) {
  const Window *w = &pool->window;
  size_t extent = (w->kernel[1] - 1) * w->dilation[1] + 1, stride = w->stride[1], end = w->in[1] + w->pad[1];
  if (end < extent || pool_in(pool) > INT32_MAX) return (PoolRange){0};
  size_t from = (w->pad[1] + stride - 1) / stride, to = (end - extent) / stride + 1;
  if (to > w->out[1]) to = w->out[1];
  return to >= from + 4 ? (PoolRange){.from = from, .to = to} : (PoolRange){0};
}

/* The part of the window that can lie in its picture. */
static double window_size(const Node *n, const Value *picture) {
  int count;
  const int64_t *kernel = node_ints(n, "kernel_shape", &count);
  double size = 1;
  for (int i = 0; i < count && 2 + i < picture->shape.rank; i++)
    size *= (double)(kernel[i] < picture->shape.dim[2 + i] ? kernel[i] : picture->shape.dim[2 + i]);
  return size;
}
double pool_work(const Node *n) { return 2 * work_elements(n->out[0]) * window_size(n, n->in[0]); }
double pool_gradient_work(const Node *n) { return 2 * work_elements(n->in[0]) * window_size(n, n->out[0]); }
