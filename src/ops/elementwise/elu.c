/* Elu: y = x where x > 0, else alpha·(e^x - 1).  dx = dy where x > 0, else dy·(y + alpha). */
#include "ops/elementwise/arithmetic.h"

BROADCAST_ROW_1(elu_row, f32x4_select(x > f32x4_splat(0), x, (f32x4_exp(x) - 1.0f) * arithmetic_alpha(n)))

static Status elu_grad(Grad *grad) {
  Graph *g = grad->graph;
  Value *x = grad->node->in[0], *y = grad->node->out[0], *dy = grad->dy[0];
  Value *below = emit(g, "Mul", dy, emit(g, "Add", y, emit_float(g, arithmetic_alpha(grad->node))));
  grad->dx[0] = emit(g, "Where", emit(g, "Greater", x, emit_float(g, 0)), dy, below);
  return STATUS_OK;
}

OPERATOR(elu) = {
    .name = "Elu",
    .since = {1, 6, 22},
    .inputs = {1, 1},
    .in_place = 1,
    .infer = arithmetic_alpha_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){elu_row, .alpha = 1},
    .grad = GRADIENT(elu_grad),
    .cases = CASES({"f32[2,3]"}, {"f32[7]:-4..4", "alpha=0.5"}, {"v:f32[3]=0,-1,2", "alpha=0.5", .kink = true}),
};
