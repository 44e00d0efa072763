/* Sqrt: y = √x.  dx = dy / 2y. */
#include "ops/elementwise/arithmetic.h"

static double sqrt_floats(double a, double b) { return sqrt(a); }
BROADCAST_ROW_1(sqrt_row, f32x4_sqrt(x))

static Status sqrt_grad(Grad *g) {
  Value *half = emit(g->graph, "Mul", g->dy[0], emit_float(g->graph, 0.5f));
  g->dx[0] = emit(g->graph, "Div", half, g->node->out[0]);
  return STATUS_OK;
}

OPERATOR(sqrt) = {
    .name = "Sqrt",
    .since = {1, 6, 13},
    .inputs = {1, 1},
    .in_place = 1,
    .flags = OP_FLOAT64,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){sqrt_row, sqrt_floats},
    .grad = GRADIENT(sqrt_grad),
    .cases = CASES({"f32[2,3]:0.1..2"}, {"f32[4,2]:1..1000"}),
};
