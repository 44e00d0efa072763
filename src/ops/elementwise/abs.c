/* Abs: y = |x|.  dx = dy·sign x. */
#include "ops/elementwise/arithmetic.h"

static int64_t abs_ints(int64_t a, int64_t b) { return a < 0 ? (int64_t)(0 - (uint64_t)a) : a; }
static double abs_floats(double a, double b) { return fabs(a); }
static uint64_t abs_naturals(uint64_t a, uint64_t b) { return a; }
BROADCAST_ROW_1(abs_row, f32x4_abs(x))
BROADCAST_ROW_INTS(abs_int64, uint64_t, sizeof(uint64_t), (a ^ (0 - (a >> 63))) + (a >> 63))

static Status abs_grad(Grad *g) {
  g->dx[0] = emit(g->graph, "Mul", g->dy[0], emit(g->graph, "Sign", g->node->in[0]));
  return STATUS_OK;
}

OPERATOR(abs) = {
    .name = "Abs",
    .since = {1, 6, 13},
    .inputs = {1, 1},
    .in_place = 1,
    .flags = OP_FLOAT64,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){abs_row, abs_floats, abs_ints, abs_naturals, .int64 = abs_int64},
    .grad = GRADIENT(abs_grad),
    .cases = CASES({"f32[2,3]"}, {"f32[4,2]"}, {"v:f32[3]=0,-1,2", .kink = true}),
};
