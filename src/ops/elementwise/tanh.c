/* Tanh: the hyperbolic tangent.  dx = dy·(1 - y²). */
#include "ops/elementwise/arithmetic.h"

BROADCAST_ROW_1(tanh_row, f32x4_tanh(x))

static Status tanh_grad(Grad *g) {
  g->dx[0] = emit(g->graph, "TanhGrad", g->dy[0], g->node->out[0]);
  return STATUS_OK;
}

OPERATOR(tanh) = {
    .name = "Tanh",
    .since = {1, 6, 13},
    .inputs = {1, 1},
    .in_place = 1,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){tanh_row},
    .grad = GRADIENT(tanh_grad),
    .cases = CASES({"f32[2,3]"}, {"f32[4,2]:-4..4"}),
};
