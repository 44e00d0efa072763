/* TanhGrad (com.microsoft): dx = dy·(1 - y²), y is the output of Tanh. */
#include "ops/elementwise/broadcast.h"

static Status tanh_grad_infer(Node *n) {
  TRY(node_want_float(n, 0));
  TRY(node_want_float(n, 1));
  return broadcast_infer(n, DTYPE_FLOAT32);
}

BROADCAST_ROW_2(tanh_grad_row, a * (1.0f - b * b))

static void tanh_grad_run(const Node *n) { broadcast_run(n, 2, tanh_grad_row); }

OPERATOR(tanh_grad) = {
    .name = "TanhGrad",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 2},
    .in_place = 1 | 2,
    .infer = tanh_grad_infer,
    .run = tanh_grad_run,
    .cases = CASES({"f32[2,3] f32[2,3]"}),
};
