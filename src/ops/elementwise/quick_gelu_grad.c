/* QuickGeluGrad (com.microsoft; dY, X): dx = dy·slope of X. ops/elementwise/gelu.h has the formula. */
#include "ops/elementwise/gelu.h"

static Status quick_gelu_grad_infer(Node *n) {
  float *alpha = NODE_PARAMS(n, float);
  if (!alpha) return STATUS_OUT_OF_MEMORY;
  *alpha = node_float(n, "alpha", 1.702f);
  return arithmetic_gradient_infer(n);
}

BROADCAST_ROW_2(quick_gelu_grad_row, a *f32x4_quick_gelu_slope(b, *(const float *)n->params))

OPERATOR(quick_gelu_grad) = {
    .name = "QuickGeluGrad",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 2},
    .in_place = 1 | 2,
    .infer = quick_gelu_grad_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){quick_gelu_grad_row},
    .cases = CASES({"f32[2,3] f32[2,3]", "alpha=0.5"}, {"f32[7] f32[7]:-5..5"}),
};
