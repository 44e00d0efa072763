/* The checks and sizes of the pools. */
#include "ops/pool.h"

static Status check_window(const Node *n, const Window *w, int a, size_t at) {
  PoolRange r = pool_range(w, a, at);
  if (r.from < r.to) return STATUS_OK;
  return node_invalid(n, "window %zu along the %s lies on padding only", at, a ? "width" : "height");
}

/* A window that sees padding only has nothing to take the largest or the average of. That can be one of those that start in the
 * padding, or the last. */
static Status check_windows(const Node *n, const Window *w) {
  for (int a = 0; a < 2; a++) {
    for (size_t at = 0; at < w->out[a] && at * w->stride[a] < w->pad[a]; at++) TRY(check_window(n, w, a, at));
    TRY(check_window(n, w, a, w->out[a] - 1));
  }
  return STATUS_OK;
}

static void padded_ends(const WindowAttrs *attrs, Pool *pool) {
  const Window *w = &pool->window;
  for (int a = 0; a < 2; a++) {
    int from = a - 2 + attrs->rank; /* one dimension is the columns */
    size_t end = w->in[a] + w->pad[a] + (from >= 0 ? (size_t)attrs->pad_end[from] : 0);
    size_t slid = (w->out[a] - 1) * w->stride[a] + (w->kernel[a] - 1) * w->dilation[a] + 1;
    bool same = attrs->padding == PAD_SAME_UPPER || attrs->padding == PAD_SAME_LOWER; /* padded until the last window fits */
    pool->padded_end[a] = same && slid > end ? slid : end;
  }
}

Pool pool_of(const Node *n, const WindowAttrs *attrs, const Shape *x, const Shape *y) {
  Pool pool = {.window = window_of(attrs, x, y), .count_padding = node_int(n, "count_include_pad", 0) != 0};
  padded_ends(attrs, &pool);
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
  return check_windows(n, &pool->window);
}
