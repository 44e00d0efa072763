/* Ceil: the smallest whole number ≥ x.  dx = 0. */
#include "ops/elementwise/arithmetic.h"

static double ceil_floats(double a, double b) { return ceil(a); }
BROADCAST_ROW_1(ceil_row, f32x4_ceil(x))

OPERATOR(ceil) = {
    .name = "Ceil",
    .since = {1, 6, 13},
    .inputs = {1, 1},
    .in_place = 1,
    .flags = OP_FLOAT64,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){ceil_row, ceil_floats},
    .grad = GRADIENT(arithmetic_flat_gradient),
    .cases = CASES({"f32[4]:0.2..0.8"}, {"f32[2,5]:-3..3", .no_grad = "jumps"}),
};
