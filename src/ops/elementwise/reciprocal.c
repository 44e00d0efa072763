/* Reciprocal: y = 1 / x.  dx = -dy·y². */
#include "ops/elementwise/arithmetic.h"

static double reciprocal_floats(double a, double b) { return 1 / a; }
BROADCAST_ROW_1(reciprocal_row, 1.0f / x)

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
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){reciprocal_row, reciprocal_floats},
    .grad = GRADIENT(reciprocal_grad),
    .cases = CASES({"f32[2,3]:0.3..2"}, {"f32[4,2]:-3..-1"}),
};
