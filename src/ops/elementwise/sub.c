/* Sub: y = a - b with NumPy broadcasting.  da = dy, db = -dy. */
#include "ops/elementwise/arithmetic.h"

static int64_t sub_ints(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static double sub_floats(double a, double b) { return a - b; }
BROADCAST_ROW_2(sub_row, a - b)

static Status sub_grad(Grad *g) {
  g->dx[0] = g->dy[0];
  if (g->want[1]) g->dx[1] = emit(g->graph, "Neg", g->dy[0]);
  return STATUS_OK;
}

BROADCAST_ROW_INTS(sub_int64, uint64_t, sizeof(uint64_t), a - b)

OPERATOR(sub) = {
    .name = "Sub",
    .since = {1, 6, 7, 13, 14},
    .inputs = {2, 2},
    .biases = 2,
    .in_place = 1 | 2,
    .flags = OP_FLOAT64 | OP_ALONG_AXIS,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){sub_row, sub_floats, sub_ints, .int64 = sub_int64},
    .grad = GRADIENT(sub_grad),
    .cases = CASES({"f32[2,3] f32[2,3]"}, {"f32[] f32[6]"}, {"f32[4,1] f32[1,3]"}, {"f32[5] f32[2,5]"},
                   {"i64[2]=5,7 i64[2]=3,9"}, {"v:i32[2]=5,7 v:i32[2]=3,9"}),
};
