/* Reciprocal: y = 1 / x.  dx = -dy·y². */
#include "ops/elementwise/arithmetic.h"

static double reciprocal_floats(double a, double b) { return 1 / a; }
static const Arithmetic arithmetic = {reciprocal_floats, NULL, NULL};
BROADCAST_ROW_1(reciprocal_row, 1.0f / x)

static Status reciprocal_infer(Node *n) { return arithmetic_infer(n, &arithmetic); }
static void reciprocal_run(const Node *n) { arithmetic_run(n, reciprocal_row); }

static Status reciprocal_grad(Grad *g) {
  Value *y = g->node->out[0];
  g->dx[0] = emit(g->graph, "Neg", emit(g->graph, "Mul", g->dy[0], emit(g->graph, "Mul", y, y)));
  return STATUS_OK;
}

OPERATOR(reciprocal) = {
    .name = "Reciprocal",
    .since = {1, 6, 13},
    .inputs = {1, 1},
    .in_place = 1,
    .flags = OP_FLOAT64,
    .infer = reciprocal_infer,
    .run = reciprocal_run,
    .grad = reciprocal_grad,
    .cases = CASES({"f32[2,3]:0.3..2"}, {"f32[4,2]:-3..-1"}),
};
