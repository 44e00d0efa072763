/* Round: the nearest whole number, the even one of two.  dx = 0. */
#include "ops/elementwise/arithmetic.h"

static double round_floats(double a, double b) { return nearbyint(a); }
BROADCAST_ROW_1(round_row, f32x4_nearest(x))

OPERATOR(round) = {
    .name = "Round",
    .since = {11, 22},
    .inputs = {1, 1},
    .in_place = 1,
    .flags = OP_FLOAT64,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){round_row, round_floats},
    .grad = GRADIENT(arithmetic_flat_gradient),
    .cases = CASES({"f32[4]:0.6..0.8"}, {"f32[2,5]:-3..3", .no_grad = "jumps"},
                   {"v:f32[4]=0.5,1.5,-0.5,-2.5", .no_grad = "jumps"}),
};
