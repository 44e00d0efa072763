/* LeakyReluGrad (com.microsoft): dx = dy where y > 0, else alpha·dy; y is the output of LeakyRelu, or its input. */
#include "ops/elementwise/arithmetic.h"

BROADCAST_ROW_2_BY(leaky_relu_grad_row, 16, arithmetic_alpha(n), f32x4_select(b > f32x4_splat(0), a, a *alpha))

OPERATOR(leaky_relu_grad) = {
    .name = "LeakyReluGrad",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 2},
    .in_place = 1 | 2,
    .infer = arithmetic_alpha_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){leaky_relu_grad_row, .alpha = 0.01f},
    .cases = CASES({"f32[2,3] f32[2,3]", "alpha=0.3"}),
};
