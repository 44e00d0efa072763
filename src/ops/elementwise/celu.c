/* Celu: y = x where x > 0, else alpha·(e^(x/alpha) - 1).  dx = dy where x > 0, else dy·(y / alpha + 1). */
#include "ops/elementwise/arithmetic.h"

BROADCAST_ROW_1(celu_row,
                f32x4_select(x > f32x4_splat(0), x, (f32x4_exp(x / arithmetic_alpha(n)) - 1.0f) * arithmetic_alpha(n)))

static Status celu_grad(Grad *grad) {
  Graph *g = grad->graph;
  Value *x = grad->node->in[0], *y = grad->node->out[0], *dy = grad->dy[0];
  Value *ratio = emit(g, "Mul", y, emit_float(g, 1 / arithmetic_alpha(grad->node)));
  Value *below = emit(g, "Mul", dy, emit(g, "Add", ratio, emit_float(g, 1)));
  grad->dx[0] = emit(g, "Where", emit(g, "Greater", x, emit_float(g, 0)), dy, below);
  return STATUS_OK;
}

OPERATOR(celu) = {
    .name = "Celu",
    .since = {12},
    .inputs = {1, 1},
    .in_place = 1,
    .infer = arithmetic_alpha_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){celu_row, .alpha = 1},
    .grad = GRADIENT(celu_grad),
    .cases = CASES({"f32[2,3]"}, {"f32[7]:-4..4", "alpha=0.5"}),
};
