/* MaxPool: the largest of each window, padding left out, and where it stood: its offset in the whole of X. The first of equal
 * ones wins; NaN wins over numbers, as in PyTorch. */
#include <math.h>
#include "kernels/second_output.h"
#include "ops/pool.h"

static Status max_pool_infer(Node *n) {
  Shape y;
  Pool *pool;
  TRY(node_want_float(n, 0));
  if (node_int(n, "storage_order", 0) != 0 && has_out(n, 1))
    return node_fail(n, STATUS_UNSUPPORTED_OP, "Indices in storage order 1 (columns first) are not supported");
  TRY(node_want_rank(n, 0, 3, RANK_MAX));
  TRY(pool_infer(n, &n->in[0]->shape, &y, &pool));
  TRY(node_output(n, 0, DTYPE_FLOAT32, &y));
  return node_output(n, 1, DTYPE_INT64, &y);
}

static size_t largest(const float *x, size_t width, PoolRange rows, PoolRange columns) {
  size_t best = rows.from * width + columns.from;
  for (size_t i = rows.from; i < rows.to; i += rows.step)
    for (size_t j = columns.from; j < columns.to; j += columns.step)
      if (!(x[i * width + j] <= x[best]) && !isnan(x[best])) best = i * width + j;
  return best;
}

static void max_pool_run(const Node *n) {
  const Pool *pool = n->params;
  const Window *w = &pool->window;
  const float *x = in_f32(n, 0);
  float *y = out_f32(n, 0);
  int64_t *indices = has_out(n, 1) ? n->out[1]->data : NULL;
  for (size_t plane = 0; plane < pool->planes; plane++, x += window_in(w))
    for (size_t i = 0; i < w->out[0]; i++) {
      PoolRange rows = pool_range(w, 0, i);
      for (size_t j = 0; j < w->out[1]; j++) {
        size_t best = largest(x, w->in[1], rows, pool_range(w, 1, j));
        *y++ = x[best];
        if (indices) *indices++ = (int64_t)(plane * window_in(w) + best);
      }
    }
}

static Status max_pool_grad(Grad *g) {
  Node *n = g->node;
  if (n->version < 8) return node_fail(n, STATUS_UNSUPPORTED_OP, "its gradient needs opset 8, where MaxPool has Indices");
  if (node_int(n, "storage_order", 0) != 0)
    return node_fail(n, STATUS_UNSUPPORTED_OP, "its gradient needs Indices in storage order 0");
  TRY(second_output_want(n, "indices"));
  g->dx[0] = emit_with(g->graph, "MaxPoolGrad", node_attrs(n), g->dy[0], n->out[1]);
  return STATUS_OK;
}

CASES_OF(max_pool_cases) = {
    {"f32[2,3,4,6]", "kernel_shape=[2,2] strides=[2,2]", 0, 2},
    {"f32[1,2,5,7]", "kernel_shape=[3,2] strides=[2,1] pads=[1,0,2,1]", 0, 2},
    {"f32[1,2,5,8]", "kernel_shape=[2,3] strides=[2,2] ceil_mode=1 pads=[0,1,0,1]"},
    {"f32[1,2,7,8]", "kernel_shape=[2,3] dilations=[3,2] pads=[2,3,1,0]", 0, 2},
    {"f32[1,2,5,6]", "kernel_shape=[3,3] strides=[2,2] auto_pad=SAME_UPPER", 8},
    {"f32[1,2,5,6]", "kernel_shape=[2,4] auto_pad=SAME_LOWER", 10},
    {"f32[1,2,5,6]", "kernel_shape=[2,4] auto_pad=VALID", 11},
    {"f32[2,3,9]", "kernel_shape=[3] strides=[2] pads=[1,1]", 12, 2},
    {0}};

const Op op_max_pool = {
    .name = "MaxPool",
    .since = {1, 8, 10, 11, 12},
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 2,
    .infer = max_pool_infer,
    .run = max_pool_run,
    .grad = max_pool_grad,
    .cases = CASES(max_pool_cases),
};
