/* Relu: y = max(x, 0).  dx = dy where x > 0, else 0; at x = 0 the gradient is 0, as in PyTorch. */
#include "kernels/broadcast.h"

static Status relu_infer(Node *n) {
  TRY(node_want_float(n, 0));
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape);
}

BROADCAST_ROW_1(row_relu, f32x4_select(x < f32x4_splat(0), f32x4_splat(0), x)) /* NaN stays NaN */

static void relu_run(const Node *n) { broadcast_run(n, 1, row_relu); }

static Status relu_grad(Grad *g) {
  g->dx[0] = emit(g->graph, "ReluGrad", g->dy[0], g->node->out[0]);
  return STATUS_OK;
}

CASES_OF(relu_cases) = {{"f32[2,3]"}, {"f32[5]"}, {"f32[]"}, {0}};

const Op op_relu = {
    .name = "Relu",
    .since = {1, 6, 13, 14},
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .in_place = 1,
    .infer = relu_infer,
    .run = relu_run,
    .grad = relu_grad,
    .cases = CASES(relu_cases),
};
