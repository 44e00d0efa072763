/* Erf: y = 2/√π ∫₀ˣ e^-t² dt.  dx = dy·2/√π·e^-x². */
#include "ops/elementwise/broadcast.h"

static Status erf_infer(Node *n) {
  TRY(node_want_float(n, 0));
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape);
}

BROADCAST_ROW_1(erf_row, f32x4_erf(x))

static void erf_run(const Node *n) { broadcast_run(n, 1, erf_row); }

static Status erf_grad(Grad *g) {
  Value *x = g->node->in[0];
  Value *bell = emit(g->graph, "Exp", emit(g->graph, "Neg", emit(g->graph, "Mul", x, x)));
  g->dx[0] = emit(g->graph, "Mul", g->dy[0], emit(g->graph, "Mul", bell, emit_float(g->graph, 1.12837917f)));
  return STATUS_OK;
}

OPERATOR(erf) = {
    .name = "Erf",
    .since = {9, 13},
    .inputs = {1, 1},
    .in_place = 1,
    .infer = erf_infer,
    .run = erf_run,
    .grad = erf_grad,
    .cases = CASES({"f32[2,3]"}, {"f32[4,2]:-5..5"}),
};
