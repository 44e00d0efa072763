/* AveragePoolGrad: dx = for every window it is in, that window's dy over its count. Unlike ONNX Runtime's, which finds
 * the shape of dx in its graph, ours takes it as a second input: Shape(X). */
#include <string.h>
#include "ops/pool/average_pool.h"
#include "ops/pool/pool.h"

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

static void average_pool_grad_run(const Node *n) {
  const Pool *pool = n->params;
  const float *dy = in_f32(n, 0);
  float *dx = out_f32(n, 0);
  memset(dx, 0, out_count(n, 0) * sizeof(float));
  for (size_t plane = 0; plane < pool->planes; plane++, dx += pool_in(pool))
    for (size_t row = 0; row < pool->depth.out[0] * pool->window.out[0]; row++) {
      PoolView view = average_pool_row(pool, row);
      for (size_t j = 0; j < pool->window.out[1]; j++) {
        average_pool_column(pool, j, &view);
        window_add(dx, &pool->window, &view, *dy++ / view.count);
      }
    }
}

OPERATOR(average_pool_grad) = {
    .name = "AveragePoolGrad",
    .since = {1, 9},
    .inputs = {1, 2},
    .flags = OP_OURS, /* its AveragePoolGrad has dY alone */
    .infer = average_pool_grad_infer,
    .run = average_pool_grad_run,
    .work = pool_gradient_work,
    .cases = CASES({"f32[2,3,2,3] i64[4]=2,3,4,6", "kernel_shape=[2,2] strides=[2,2]"}),
};
