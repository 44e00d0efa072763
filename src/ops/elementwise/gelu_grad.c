/* GeluGrad (com.microsoft; dY, X): dx = dy·slope of X. ops/elementwise/gelu.h has the formula. */
#include "ops/elementwise/gelu.h"

BROADCAST_ROW_2_LONG(gelu_grad_row, a *f32x4_gelu_slope(b))

OPERATOR(gelu_grad) = {
    .name = "GeluGrad",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 2},
    .in_place = 1 | 2,
    .infer = arithmetic_gradient_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){gelu_grad_row},
    .cases = CASES({"f32[2,3] f32[2,3]"}, {"f32[7] f32[7]:-5..5"}),
};
