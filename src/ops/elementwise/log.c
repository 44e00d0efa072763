/* Log: y = ln x.  dx = dy / x. */
#include "ops/elementwise/arithmetic.h"
#include "kernels/double_math.h"

static double log_floats(double a, double b) { return double_log(a); }
BROADCAST_ROW_1(log_row, f32x4_log(x))

static Status log_grad(Grad *g) {
  g->dx[0] = emit(g->graph, "Div", g->dy[0], g->node->in[0]);
  return STATUS_OK;
}

OPERATOR(log) = {
    .name = "Log",
    .since = {1, 6, 13},
    .inputs = {1, 1},
    .in_place = 1,
    .flags = OP_FLOAT64,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){log_row, log_floats},
    .grad = GRADIENT(log_grad),
    .cases = CASES({"f32[2,3]:0.1..2"}, {"f32[4,2]:1..1000"}),
};
