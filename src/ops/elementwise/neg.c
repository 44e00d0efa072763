/* Neg: y = -x.  dx = -dy. */
#include "ops/elementwise/arithmetic.h"

static int64_t neg_ints(int64_t a, int64_t b) { return (int64_t)(0 - (uint64_t)a); }
static double neg_floats(double a, double b) { return -a; }
BROADCAST_ROW_1(neg_row, -x)

static Status neg_grad(Grad *g) {
  g->dx[0] = emit(g->graph, "Neg", g->dy[0]);
  return STATUS_OK;
}

OPERATOR(neg) = {
    .name = "Neg",
    .since = {1, 6, 13},
    .inputs = {1, 1},
    .in_place = 1,
    .flags = OP_FLOAT64,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){neg_row, neg_floats, neg_ints},
    .grad = GRADIENT(neg_grad),
    .cases = CASES({"f32[2,3]"}, {"f32[4,2]"}),
};
