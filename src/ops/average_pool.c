/* AveragePool: the mean of each window; count_include_pad counts the padding's zeros too. */
#include "ops/average_pool.h"

static Status average_pool_infer(Node *n) {
  Shape y;
  Pool *pool;
  TRY(node_want_float(n, 0));
  TRY(node_want_rank(n, 0, 3, RANK_MAX));
  TRY(pool_infer(n, &n->in[0]->shape, &y, &pool));
  return node_output(n, 0, DTYPE_FLOAT32, &y);
}

static float window_sum(const float *x, size_t width, PoolRange rows, PoolRange columns) {
  float sum = 0;
  for (size_t i = rows.from; i < rows.to; i += rows.step)
    for (size_t j = columns.from; j < columns.to; j += columns.step) sum += x[i * width + j];
  return sum;
}

static void average_pool_run(const Node *n) {
  const Pool *pool = n->params;
  const Window *w = &pool->window;
  const float *x = in_f32(n, 0);
  float *y = out_f32(n, 0);
  for (size_t plane = 0; plane < pool->planes; plane++, x += window_in(w))
    for (size_t i = 0; i < w->out[0]; i++)
      for (size_t j = 0; j < w->out[1]; j++)
        *y++ = window_sum(x, w->in[1], pool_range(w, 0, i), pool_range(w, 1, j)) /
               (float)(average_pool_count(pool, 0, i) * average_pool_count(pool, 1, j));
}

static Status average_pool_grad(Grad *g) {
  g->dx[0] = emit_with(g->graph, "AveragePoolGrad", node_attrs(g->node), g->dy[0], emit_shape(g->graph, g->node->in[0]));
  return STATUS_OK;
}

CASES_OF(average_pool_cases) = {
    {"f32[2,3,4,6]", "kernel_shape=[2,2] strides=[2,2]", 7},
    {"f32[1,2,5,7]", "kernel_shape=[3,2] strides=[2,1] pads=[1,0,2,1]"},
    {"f32[1,2,5,7]", "kernel_shape=[3,2] strides=[2,1] pads=[1,0,2,1] count_include_pad=1"},
    {"f32[1,2,5,8]", "kernel_shape=[2,3] strides=[2,2] ceil_mode=1 pads=[0,1,0,1]", 10},
    {"f32[1,2,6,8]", "kernel_shape=[3,3] strides=[2,2] ceil_mode=1 pads=[1,1,1,1] count_include_pad=1", 11},
    {"f32[1,2,5,6]", "kernel_shape=[3,3] strides=[2,2] auto_pad=SAME_UPPER"},
    {"f32[1,2,5,6]", "kernel_shape=[2,4] auto_pad=SAME_LOWER count_include_pad=1"},
    {"f32[1,2,5,6]", "kernel_shape=[2,4] auto_pad=VALID"},
    {"f32[2,3,9]", "kernel_shape=[3] strides=[2] pads=[1,1]"},
    {0}};

const Op op_average_pool = {
    .name = "AveragePool",
    .since = {1, 7, 10, 11, 19},
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .infer = average_pool_infer,
    .run = average_pool_run,
    .grad = average_pool_grad,
    .cases = CASES(average_pool_cases),
};
