/* BiasFastGeluGrad_dX (com.microsoft; dY, X, B): dx = dy·slope of X + B. ops/elementwise/gelu.h has the formula. */
#include "ops/elementwise/gelu.h"
#include "graph/same_shape.h"

static Status bias_fast_gelu_grad_dx_infer(Node *n) {
  for (int i = 0; i < 3; i++) TRY(node_want_float(n, i));
  TRY(same_shape_want(n, 0, 1));
  TRY(node_want_rank(n, 2, 1, 1));
  return broadcast_infer(n, DTYPE_FLOAT32);
}

GELU_BIAS_GRAD_ROW(bias_fast_gelu_grad_dx_row, f32x4_fast_gelu_slope(x))

static void bias_fast_gelu_grad_dx_run(const Node *n) { broadcast_run(n, 3, bias_fast_gelu_grad_dx_row); }

OPERATOR(bias_fast_gelu_grad_dx) = {
    .name = "BiasFastGeluGrad_dX",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {3, 3},
    .in_place = 1 | 2,
    .infer = bias_fast_gelu_grad_dx_infer,
    .run = bias_fast_gelu_grad_dx_run,
    .cases = CASES({"f32[2,3] f32[2,3] f32[3]"}, {"f32[2,2,5] f32[2,2,5]:-5..5 f32[5]"}),
};
