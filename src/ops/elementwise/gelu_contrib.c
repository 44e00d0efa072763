/* Gelu (com.microsoft): y = x·Φ(x), as ai.onnx has it since opset 20.  dx = dy·slope by GeluGrad. */
#include "ops/elementwise/gelu.h"

BROADCAST_ROW_1(gelu_contrib_row, f32x4_gelu(x))

static Status gelu_contrib_grad(Grad *g) {
  g->dx[0] = emit(g->graph, "GeluGrad", g->dy[0], g->node->in[0]);
  return STATUS_OK;
}

OPERATOR(gelu_contrib) = {
    .name = "Gelu",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {1, 1},
    .in_place = 1,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){gelu_contrib_row},
    .grad = GRADIENT(gelu_contrib_grad),
    .cases = CASES({"f32[2,3]"}, {"f32[5,3]:-5..5"}),
};
