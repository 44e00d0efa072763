/* MaxPoolGrad: dx = 0, then dx[indices[i]] += dy[i]. The shape of dx is that of the input of the MaxPool that gave Indices. */
#include <string.h>
#include "ops/op.h"

static Status max_pool_grad_infer(Node *n) {
  TRY(node_want_float(n, 0));
  TRY(node_want_type(n, 1, DTYPE_INT64));
  const Node *pool = n->in[1]->producer;
  char dy[SHAPE_TEXT], indices[SHAPE_TEXT];
  if (!pool || strcmp(pool->op->name, "MaxPool") != 0 || !has_out(pool, 1) || n->in[1] != pool->out[1])
    return node_fail(n, STATUS_UNSUPPORTED_OP, "Indices must come from a MaxPool in the same graph: it tells the shape of dX");
  if (node_is_concrete(n) && !shape_equal(&n->in[0]->shape, &n->in[1]->shape))
    return node_invalid(n, "dY is %s, Indices are %s", shape_print(&n->in[0]->shape, dy), shape_print(&n->in[1]->shape, indices));
  return node_output(n, 0, DTYPE_FLOAT32, &pool->in[0]->shape);
}

static void max_pool_grad_run(const Node *n) {
  const float *dy = in_f32(n, 0);
  const int64_t *indices = n->in[1]->data;
  float *dx = out_f32(n, 0);
  size_t count = in_count(n, 0);
  memset(dx, 0, out_count(n, 0) * sizeof(float));
  for (size_t i = 0; i < count; i++) dx[indices[i]] += dy[i];
}

const Op op_max_pool_grad = {
    .name = "MaxPoolGrad",
    .since = {1, 9},
    .min_in = 2, .max_in = 2, .min_out = 1, .max_out = 1,
    .infer = max_pool_grad_infer,
    .run = max_pool_grad_run,
};
