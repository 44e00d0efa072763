/* BiasGelu (com.microsoft): y = gelu(A + B), B a vector.  dA = dy·slope by BiasGeluGrad_dX, dB is its sum. */
#include "ops/elementwise/gelu.h"

static Status bias_gelu_infer(Node *n) {
  TRY(node_want_float(n, 0));
  TRY(node_want_float(n, 1));
  TRY(node_want_rank(n, 1, 1, 1));
  return broadcast_infer(n, DTYPE_FLOAT32);
}

BROADCAST_ROW_2_LONG(bias_gelu_row, f32x4_gelu(a + b))

static Status bias_gelu_grad(Grad *g) {
  Node *n = g->node;
  g->dx[0] = g->dx[1] = emit(g->graph, "BiasGeluGrad_dX", g->dy[0], n->in[0], n->in[1]);
  return STATUS_OK;
}

OPERATOR(bias_gelu) = {
    .name = "BiasGelu",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 2},
    .biases = 2,
    .in_place = 1,
    .infer = bias_gelu_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){bias_gelu_row},
    .grad = GRADIENT(bias_gelu_grad),
    .cases = CASES({"f32[2,3] f32[3]"}, {"f32[2,2,5]:-4..4 f32[5]"}),
};
