/* QuickGeluGrad (com.microsoft; dY, X): dx = dy·slope of X. ops/elementwise/gelu.h has the formula. */
#include "ops/elementwise/gelu.h"
#include "graph/same_shape.h"

static Status quick_gelu_grad_infer(Node *n) {
  TRY(same_shape_want(n, 0, 1));
  return arithmetic_alpha_infer(n);
}

BROADCAST_ROW_2_BY(quick_gelu_grad_row, 4, arithmetic_alpha(n), a *f32x4_quick_gelu_slope(b, alpha))

OPERATOR(quick_gelu_grad) = {
    .name = "QuickGeluGrad",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 2},
    .in_place = 1 | 2,
    .infer = quick_gelu_grad_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){quick_gelu_grad_row, .alpha = 1.702f},
    .cases = CASES({"f32[2,3] f32[2,3]", "alpha=0.5"}, {"f32[7] f32[7]:-5..5"}),
};
