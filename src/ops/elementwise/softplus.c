/* Softplus: y = ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|).  dx = dy·sigmoid x. */
#include "ops/elementwise/arithmetic.h"

static f32x4 softplus(f32x4 x) {
  f32x4 zero = f32x4_splat(0);
  return f32x4_select(x < zero, zero, x) + f32x4_log1p_unit(f32x4_exp(-f32x4_abs(x)));
}
BROADCAST_ROW_1(softplus_row, softplus(x))

static Status softplus_grad(Grad *g) {
  g->dx[0] = emit(g->graph, "Mul", g->dy[0], emit(g->graph, "Sigmoid", g->node->in[0]));
  return STATUS_OK;
}

OPERATOR(softplus) = {
    .name = "Softplus",
    .since = {1, 22},
    .inputs = {1, 1},
    .in_place = 1,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){softplus_row},
    .grad = GRADIENT(softplus_grad),
    .cases = CASES({"f32[2,3]"}, {"f32[4,2]:-9..9"}),
};
