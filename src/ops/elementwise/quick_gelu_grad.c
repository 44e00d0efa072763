/* QuickGeluGrad (com.microsoft; dY, X): dx = dy·slope of X. ops/elementwise/gelu.h has the formula. */
#include "ops/elementwise/gelu.h"
#include "graph/same_shape.h"

static Status quick_gelu_grad_infer(Node *n) {
  float *alpha = NODE_PARAMS(n, float);
  if (!alpha) return STATUS_OUT_OF_MEMORY;
  *alpha = node_float(n, "alpha", 1.702f);
  TRY(node_want_float(n, 0));
  TRY(node_want_float(n, 1));
  TRY(same_shape_want(n, 0, 1));
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[1]->shape);
}

BROADCAST_ROW_2(quick_gelu_grad_row, a *f32x4_quick_gelu_slope(b, *(const float *)n->params))

static void quick_gelu_grad_run(const Node *n) { broadcast_run(n, 2, quick_gelu_grad_row); }

OPERATOR(quick_gelu_grad) = {
    .name = "QuickGeluGrad",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 2},
    .in_place = 1 | 2,
    .infer = quick_gelu_grad_infer,
    .run = quick_gelu_grad_run,
    .cases = CASES({"f32[2,3] f32[2,3]", "alpha=0.5"}, {"f32[7] f32[7]:-5..5"}),
};
