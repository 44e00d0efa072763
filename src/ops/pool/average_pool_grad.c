/* AveragePoolGrad: dx = for every window it is in, that window's dy over its count. Unlike ONNX Runtime's, which finds
 * the shape of dx in its graph, ours takes it as a second input: Shape(X). */
#include <string.h>
#include "ops/pool/average_pool.h"
#include "ops/pool/pool.h"
#include "threads.h"

static Status average_pool_grad_infer(Node *n) {
  const Dim *dims;
  int rank;
  Shape y;
  Pool *pool;
  char came[SHAPE_TEXT], wanted[SHAPE_TEXT];
  TRY(node_want_float(n, 0));
  if (!has_in(n, 1))
    return node_fail(n, STATUS_UNSUPPORTED_OP, "input 1, the shape of X, is missing, and dY does not tell it");
  TRY(node_known(n, 1, &dims, &rank));
  if (rank < 3 || rank > RANK_MAX)
    return node_invalid(n, "the shape of X has %d dimensions, a pool needs 3 to 5", rank);
  Shape x = shape_of(rank, dims);
  TRY(pool_infer(n, &x, &y, &pool));
  if (pool && !shape_equal(&y, &n->in[0]->shape))
    return node_invalid(n, "dY is %s, AveragePool gives %s", shape_print(&n->in[0]->shape, came),
                        shape_print(&y, wanted));
  return node_output(n, 0, DTYPE_FLOAT32, &x);
}

static void window_add(float *dx, const Window *w, const PoolView *v, float dy) {
  for (size_t d = v->depths.from; d < v->depths.to; d += v->depths.step)
    for (size_t i = v->rows.from; i < v->rows.to; i += v->rows.step)
      for (size_t j = v->columns.from; j < v->columns.to; j += v->columns.step)
        dx[(d * w->in[0] + i) * w->in[1] + j] += dy;
}

/* The outputs of a row whose windows have all of their columns on the input, and lie apart: the columns of each take
 * one number. */
static PoolRange windows_apart(const Window *w) {
  size_t pad = w->pad[1], kernel = w->kernel[1], stride = w->stride[1], in = w->in[1] + pad;
  if (w->dilation[1] != 1 || stride < kernel || in < kernel) return (PoolRange){0, 0, 1};
  size_t from = (pad + stride - 1) / stride, to = (in - kernel) / stride + 1;
  if (to > w->out[1]) to = w->out[1];
  return (PoolRange){from < to ? from : to, to, 1};
}

/* dx[j·stride … + kernel) += dy[j] / count */
static void spread_row(float *dx, const float *dy, size_t outputs, size_t kernel, size_t stride, float count) {
  size_t j = 0;
  if (kernel == 2 && stride == 2)
    for (; j + 4 <= outputs; j += 4, dx += 8) {
      f32x4 g = f32x4_load(dy + j) / count;
      f32x4_store(dx, f32x4_load(dx) + __builtin_shufflevector(g, g, 0, 0, 1, 1));
      f32x4_store(dx + 4, f32x4_load(dx + 4) + __builtin_shufflevector(g, g, 2, 2, 3, 3));
    }
  for (; j < outputs; j++, dx += stride) {
    float g = dy[j] / count;
    size_t k = 0;
    for (; k + 4 <= kernel; k += 4) f32x4_store(dx + k, f32x4_load(dx + k) + g);
    for (; k < kernel; k++) dx[k] += g;
  }
}

static void spread_windows(float *dx, const Pool *pool, const PoolView *v, PoolRange apart, const float *dy) {
  const Window *w = &pool->window;
  size_t first = apart.from * w->stride[1] - w->pad[1];
  float count = (float)(v->row_count * w->kernel[1]);
  for (size_t d = v->depths.from; d < v->depths.to; d += v->depths.step)
    for (size_t i = v->rows.from; i < v->rows.to; i += v->rows.step)
      spread_row(dx + (d * w->in[0] + i) * w->in[1] + first, dy + apart.from, apart.to - apart.from, w->kernel[1],
                 w->stride[1], count);
}

static void run_planes(void *context, size_t from, size_t to) {
  const Node *n = context;
  const Pool *pool = n->params;
  size_t rows = pool->depth.out[0] * pool->window.out[0], columns = pool->window.out[1];
  const float *dy = in_f32(n, 0) + from * pool_out(pool);
  float *dx = out_f32(n, 0) + from * pool_in(pool);
  PoolRange apart = windows_apart(&pool->window);
  memset(dx, 0, (to - from) * pool_in(pool) * sizeof *dx);
  for (size_t plane = from; plane < to; plane++, dx += pool_in(pool))
    for (size_t row = 0; row < rows; row++, dy += columns) {
      PoolView view = average_pool_row(pool, row);
      if (apart.from < apart.to) spread_windows(dx, pool, &view, apart, dy);
      for (size_t j = 0; j < columns; j++) {
        if (j == apart.from) j = apart.to;
        if (j >= columns) break;
        average_pool_column(pool, j, &view);
        window_add(dx, &pool->window, &view, dy[j] / view.count);
      }
    }
}

static void average_pool_grad_run(const Node *n) {
  const Pool *pool = n->params;
  threads_split(pool->planes, threads_grain(pool_in(pool)), run_planes, (void *)n);
}

OPERATOR(average_pool_grad) = {
    .name = "AveragePoolGrad",
    .since = {1, 9},
    .inputs = {1, 2},
    .flags = OP_OURS, /* its AveragePoolGrad has dY alone */
    .infer = average_pool_grad_infer,
    .run = average_pool_grad_run,
    .work = pool_gradient_work,
    .cases = CASES({"f32[2,3,2,3] i64[4]=2,3,4,6", "kernel_shape=[2,2] strides=[2,2]"},
                   {"f32[1,2,2,6] i64[4]=1,2,4,12", "kernel_shape=[2,2] strides=[2,2] pads=[0,1,0,0]"},
                   {"f32[1,2,2] i64[3]=1,2,12", "kernel_shape=[5] strides=[6]"}),
};
