/* Add: y = a + b with NumPy broadcasting.  da = db = dy. */
#include "ops/elementwise/arithmetic.h"

static int64_t add_ints(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static double add_floats(double a, double b) { return a + b; }
BROADCAST_ROW_2(add_row, a + b)

static Status add_grad(Grad *g) {
  g->dx[0] = g->dx[1] = g->dy[0];
  return STATUS_OK;
}

BROADCAST_ROW_INTS(add_int64, uint64_t, sizeof(uint64_t), a + b)

OPERATOR(add) = {
    .name = "Add",
    .since = {1, 6, 7, 13, 14},
    .inputs = {2, 2},
    .biases = 1 | 2,
    .in_place = 1 | 2,
    .flags = OP_FLOAT64 | OP_ALONG_AXIS,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){add_row, add_floats, add_ints, .int64 = add_int64, .of_sizes = true},
    .grad = GRADIENT(add_grad),
    .cases = CASES({"f32[2,3] f32[2,3]"}, {"f32[2,5] f32[]"}, {"f32[1] f32[7]"}, {"f32[3,5] f32[5]"},
                   {"f32[2,3,2,3] f32[3,1,1]"}, {"f32[2,1,3] f32[4,1]"}, {"f32[3,1] f32[2,3,5]"}, {"f32[0,3] f32[3]"},
                   {"i64[3]=1,2,3 i64[1]=-1"}, {"v:i64[2,2]=1,2,3,4 v:i64[2]=10,20"}, {"v:i32[3]=1,-2,3 v:i32[]=7"},
                   {"f32[2,3] f32[3]", .opset = 7}, {"f32[1,3] f32[4,3]"}, {"f32[70,5] f32[5]"},
                   {"f32[2,9,3] f32[2,1,3]"}, {"v:i64[4,2]=1,2,3,4,5,6,7,8 v:i64[4,1]=10,20,30,40"}),
};
