/* Cos: y = cos x.  dx = -dy·sin x. */
#include "ops/elementwise/broadcast.h"
#include "kernels/trig.h"

static Status cos_infer(Node *n) {
  TRY(node_want_float(n, 0));
  return node_output(n, 0, DTYPE_FLOAT32, &n->in[0]->shape);
}

BROADCAST_ROW_1(cos_row, f32x4_cos(x))

static void cos_run(const Node *n) { broadcast_run(n, 1, cos_row); }

static Status cos_grad(Grad *g) {
  g->dx[0] = emit(g->graph, "Neg", emit(g->graph, "Mul", g->dy[0], emit(g->graph, "Sin", g->node->in[0])));
  return STATUS_OK;
}

OPERATOR(cos) = {
    .name = "Cos",
    .since = {7, 22},
    .inputs = {1, 1},
    .in_place = 1,
    .infer = cos_infer,
    .run = cos_run,
    .grad = cos_grad,
    .cases = CASES({"f32[2,3]"}, {"f32[40]:-9..9"},
                   {"f32[7]:-1000..1000", .no_grad = "a difference of 1e-3 drowns in the angle"}),
};
