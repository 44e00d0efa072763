/* ReluGrad (com.microsoft): dx = dy where x > 0, else 0; x is the input or the output of Relu, the sign is the same. */
#include "ops/elementwise/broadcast.h"
#include "graph/same_shape.h"

static Status relu_grad_infer(Node *n) {
  TRY(node_want_float(n, 0));
  TRY(node_want_float(n, 1));
  TRY(same_shape_want(n, 0, 1));
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[1]->shape);
}

BROADCAST_ROW_2(row_relu_grad, f32x4_select(b > f32x4_splat(0), a, f32x4_splat(0)))

static void relu_grad_run(const Node *n) { broadcast_run(n, 2, row_relu_grad); }

OPERATOR(relu_grad) = {
    .name = "ReluGrad",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 2},
    .in_place = 1 | 2,
    .infer = relu_grad_infer,
    .run = relu_grad_run,
    .cases = CASES({"f32[2,3] f32[2,3]"}),
};
