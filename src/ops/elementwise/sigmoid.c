/* Sigmoid: y = 1 / (1 + e^-x).  dx = dy·y·(1 - y). */
#include "ops/elementwise/broadcast.h"

static Status sigmoid_infer(Node *n) {
  TRY(node_want_float(n, 0));
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape);
}

BROADCAST_ROW_1(sigmoid_row, f32x4_sigmoid(x))

static void sigmoid_run(const Node *n) { broadcast_run(n, 1, sigmoid_row); }

static Status sigmoid_grad(Grad *g) {
  g->dx[0] = emit(g->graph, "SigmoidGrad", g->dy[0], g->node->out[0]);
  return STATUS_OK;
}

OPERATOR(sigmoid) = {
    .name = "Sigmoid",
    .since = {1, 6, 13},
    .inputs = {1, 1},
    .in_place = 1,
    .infer = sigmoid_infer,
    .run = sigmoid_run,
    .grad = sigmoid_grad,
    .cases = CASES({"f32[2,3]"}, {"f32[4,2]:-9..9"}),
};
