/* FastGeluGrad (com.microsoft; dY, X): dx = dy·slope of X. ops/elementwise/gelu.h has the formula. */
#include "ops/elementwise/gelu.h"
#include "graph/same_shape.h"

static Status fast_gelu_grad_infer(Node *n) {
  TRY(node_want_float(n, 0));
  TRY(node_want_float(n, 1));
  TRY(same_shape_want(n, 0, 1));
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[1]->shape);
}

BROADCAST_ROW_2(fast_gelu_grad_row, a *f32x4_fast_gelu_slope(b))

static void fast_gelu_grad_run(const Node *n) { broadcast_run(n, 2, fast_gelu_grad_row); }

OPERATOR(fast_gelu_grad) = {
    .name = "FastGeluGrad",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 2},
    .in_place = 1 | 2,
    .infer = fast_gelu_grad_infer,
    .run = fast_gelu_grad_run,
    .cases = CASES({"f32[2,3] f32[2,3]"}, {"f32[7] f32[7]:-5..5"}),
};
