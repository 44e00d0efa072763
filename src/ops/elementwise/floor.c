/* Floor: the largest whole number ≤ x.  dx = 0. */
#include "ops/elementwise/arithmetic.h"

static double floor_floats(double a, double b) { return floor(a); }
BROADCAST_ROW_1(floor_row, f32x4_floor(x))

OPERATOR(floor) = {
    .name = "Floor",
    .since = {1, 6, 13},
    .inputs = {1, 1},
    .in_place = 1,
    .flags = OP_FLOAT64,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){floor_row, floor_floats},
    .grad = GRADIENT(arithmetic_flat_gradient),
    .cases = CASES({"f32[4]:0.2..0.8"}, {"f32[2,5]:-3..3", .no_grad = "jumps"}),
};
