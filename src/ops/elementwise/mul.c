/* Mul: y = a·b with NumPy broadcasting.  da = dy·b, db = dy·a. */
#include "ops/elementwise/arithmetic.h"

static int64_t mul_ints(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
static double mul_floats(double a, double b) { return a * b; }
BROADCAST_ROW_2(mul_row, a *b)

static Status mul_grad(Grad *g) {
  Value *a = g->node->in[0], *b = g->node->in[1], *dy = g->dy[0];
  if (g->want[0]) g->dx[0] = emit(g->graph, "Mul", dy, b);
  if (g->want[1]) g->dx[1] = emit(g->graph, "Mul", dy, a);
  return STATUS_OK;
}

BROADCAST_ROW_INTS(mul_int64, uint64_t, sizeof(uint64_t), a *b)

OPERATOR(mul) = {
    .name = "Mul",
    .since = {1, 6, 7, 13, 14},
    .inputs = {2, 2},
    .scales = 1 | 2,
    .in_place = 1 | 2,
    .flags = OP_FLOAT64 | OP_ALONG_AXIS,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){mul_row, mul_floats, mul_ints, .int64 = mul_int64, .of_sizes = true},
    .grad = GRADIENT(mul_grad),
    .cases = CASES({"f32[2,3] f32[2,3]"}, {"f32[2,3,2] f32[3,1]"}, {"f32[70,5] f32[70,1]"}, {"f32[2,6,3] f32[6,1]"},
                   {"f32[] f32[5]"}, {"i64[2]=5,7 i64[2]=-3,9"}, {"v:i64[2]=5,7 v:i64[2]=-3,9"},
                   {"v:i32[2]=5,7 v:i32[2]=3,9"}),
};
