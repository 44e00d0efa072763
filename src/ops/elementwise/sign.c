/* Sign: y = -1, 0 or 1, and NaN of NaN.  It is flat: dx = 0. */
#include "ops/elementwise/arithmetic.h"

static f32x4 sign(f32x4 x) {
  f32x4 zero = f32x4_splat(0), one = f32x4_splat(1);
  return f32x4_select(x > zero, one, f32x4_select(x < zero, -one, x));
}
static int64_t sign_ints(int64_t a, int64_t b) { return (a > 0) - (a < 0); }
static double sign_floats(double a, double b) { return (a > 0) - (a < 0); }
static uint64_t sign_naturals(uint64_t a, uint64_t b) { return (a > 0); }
BROADCAST_ROW_1(sign_row, sign(x))

OPERATOR(sign) = {
    .name = "Sign",
    .since = {9, 13},
    .inputs = {1, 1},
    .in_place = 1,
    .flags = OP_FLOAT64,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){sign_row, sign_floats, sign_ints, sign_naturals},
    .grad = GRADIENT(arithmetic_flat_gradient),
    .cases = CASES({"f32[2,3]"}, {"f32[5]=-2,-0.0,0,3,1"}),
};
