/* Gelu (com.microsoft): y = x·Φ(x), as ai.onnx has it since opset 20.  dx = dy·slope by GeluGrad. */
#include "ops/elementwise/gelu.h"

static Status gelu_contrib_infer(Node *n) {
  TRY(node_want_float(n, 0));
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape);
}

BROADCAST_ROW_1(gelu_contrib_row, f32x4_gelu(x))

static void gelu_contrib_run(const Node *n) { broadcast_run(n, 1, gelu_contrib_row); }

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
    .infer = gelu_contrib_infer,
    .run = gelu_contrib_run,
    .grad = gelu_contrib_grad,
    .cases = CASES({"f32[2,3]"}, {"f32[5,3]:-5..5"}),
};
