/* Tanh: the hyperbolic tangent.  dx = dy·(1 - y²). */
#include "ops/elementwise/broadcast.h"

static Status tanh_infer(Node *n) {
  TRY(node_want_float(n, 0));
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape);
}

BROADCAST_ROW_1(tanh_row, f32x4_tanh(x))

static void tanh_run(const Node *n) { broadcast_run(n, 1, tanh_row); }

static Status tanh_grad(Grad *g) {
  g->dx[0] = emit(g->graph, "TanhGrad", g->dy[0], g->node->out[0]);
  return STATUS_OK;
}

OPERATOR(tanh) = {
    .name = "Tanh",
    .since = {1, 6, 13},
    .inputs = {1, 1},
    .in_place = 1,
    .infer = tanh_infer,
    .run = tanh_run,
    .grad = tanh_grad,
    .cases = CASES({"f32[2,3]"}, {"f32[4,2]:-4..4"}),
};
