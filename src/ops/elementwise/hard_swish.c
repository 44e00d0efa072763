/* HardSwish: y = x·h, h = x / 6 + ½ cut to 0 … 1.  dx = dy·(x / 3 + ½) where |x| ≤ 3, as in PyTorch, else dy·h. */
#include "ops/elementwise/arithmetic.h"

BROADCAST_ROW_1(hard_swish_row, x *f32x4_max(f32x4_splat(0), f32x4_min(f32x4_splat(1), x * 0.166666667f + 0.5f)))

static Status hard_swish_grad(Grad *grad) {
  Graph *g = grad->graph;
  Value *x = grad->node->in[0], *zero = emit_float(g, 0);
  Value *middle = emit(g, "Add", emit(g, "Mul", x, emit_float(g, 0.333333333f)), emit_float(g, 0.5f));
  Value *ends = emit(g, "Where", emit(g, "Greater", x, zero), emit_float(g, 1), zero);
  Value *slope = emit(g, "Where", emit(g, "LessOrEqual", emit(g, "Abs", x), emit_float(g, 3)), middle, ends);
  grad->dx[0] = emit(g, "Mul", grad->dy[0], slope);
  return STATUS_OK;
}

OPERATOR(hard_swish) = {
    .name = "HardSwish",
    .since = {14, 22},
    .inputs = {1, 1},
    .in_place = 1,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){hard_swish_row},
    .grad = GRADIENT(hard_swish_grad),
    .cases = CASES({"f32[2,3]"}, {"f32[9]:-5..5"}, {"v:f32[3]=-3,0,3", .kink = true}),
};
