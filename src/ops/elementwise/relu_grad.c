/* ReluGrad (com.microsoft): dx = dy where x > 0, else 0; x is the input or the output of Relu, the sign is the same. */
#include "ops/elementwise/arithmetic.h"

BROADCAST_ROW_2(row_relu_grad, f32x4_select(b > f32x4_splat(0), a, f32x4_splat(0)))

OPERATOR(relu_grad) = {
    .name = "ReluGrad",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 2},
    .in_place = 1 | 2,
    .infer = arithmetic_gradient_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){row_relu_grad},
    .cases = CASES({"f32[2,3] f32[2,3]"}),
};
