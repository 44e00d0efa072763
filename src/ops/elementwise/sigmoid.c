/* Sigmoid: y = 1 / (1 + e^-x).  dx = dy·y·(1 - y). */
#include "ops/elementwise/arithmetic.h"

BROADCAST_ROW_1(sigmoid_row, f32x4_sigmoid(x))

static Status sigmoid_grad(Grad *g) {
  g->dx[0] = emit(g->graph, "SigmoidGrad", g->dy[0], g->node->out[0]);
  return STATUS_OK;
}

OPERATOR(sigmoid) = {
    .name = "Sigmoid",
    .since = {1, 6, 13},
    .inputs = {1, 1},
    .in_place = 1,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){sigmoid_row},
    .grad = GRADIENT(sigmoid_grad),
    .cases = CASES({"f32[2,3]"}, {"f32[4,2]:-9..9"}),
};
