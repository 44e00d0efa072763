/* Relu: y = max(x, 0).  dx = dy where x > 0, else 0; at x = 0 the gradient is 0, as in PyTorch. */
#include "ops/elementwise/arithmetic.h"

static double relu_floats(double a, double b) { return a < 0 ? 0 : a; }
static int64_t relu_ints(int64_t a, int64_t b) { return a < 0 ? 0 : a; }

BROADCAST_ROW_1(row_relu, f32x4_select(x < f32x4_splat(0), f32x4_splat(0), x)) /* NaN stays NaN */

static Status relu_grad(Grad *g) {
  g->dx[0] = emit(g->graph, "ReluGrad", g->dy[0], g->node->out[0]);
  return STATUS_OK;
}

OPERATOR(relu) = {
    .name = "Relu",
    .since = {1, 6, 13, 14},
    .inputs = {1, 1},
    .in_place = 1,
    .flags = OP_FLOAT64,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){row_relu, relu_floats, relu_ints},
    .grad = GRADIENT(relu_grad),
    .cases = CASES({"f32[2,3]"}, {"f32[5]"}, {"f32[]"}, {"v:f64[3]=-1,0,1e300"}, {"v:i64[3]=-5,0,9007199254740993"},
                   {"i8[4]:-100..100"}),
};
