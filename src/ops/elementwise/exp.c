/* Exp: y = e^x.  dx = dy·y. */
#include "ops/elementwise/arithmetic.h"
#include "kernels/double_math.h"

static double exp_floats(double a, double b) { return double_exp(a); }
BROADCAST_ROW_1(exp_row, f32x4_exp(x))

static Status exp_grad(Grad *g) {
  g->dx[0] = emit(g->graph, "Mul", g->dy[0], g->node->out[0]);
  return STATUS_OK;
}

OPERATOR(exp) = {
    .name = "Exp",
    .since = {1, 6, 13},
    .inputs = {1, 1},
    .in_place = 1,
    .flags = OP_FLOAT64,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){exp_row, exp_floats},
    .grad = GRADIENT(exp_grad),
    .cases = CASES({"f32[2,3]"}, {"f32[4,2]:-20..4"}),
};
