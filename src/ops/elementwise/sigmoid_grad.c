/* SigmoidGrad (com.microsoft): dx = dy·y·(1 - y), y is the output of Sigmoid. */
#include "ops/elementwise/broadcast.h"

static Status sigmoid_grad_infer(Node *n) {
  TRY(node_want_float(n, 0));
  TRY(node_want_float(n, 1));
  return broadcast_infer(n, DTYPE_FLOAT32);
}

BROADCAST_ROW_2(sigmoid_grad_row, a *b * (1.0f - b))

static void sigmoid_grad_run(const Node *n) { broadcast_run(n, 2, sigmoid_grad_row); }

OPERATOR(sigmoid_grad) = {
    .name = "SigmoidGrad",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 2},
    .in_place = 1 | 2,
    .infer = sigmoid_grad_infer,
    .run = sigmoid_grad_run,
    .cases = CASES({"f32[2,3] f32[2,3]"}),
};
