/* TanhGrad (com.microsoft): dx = dy·(1 - y²), y is the output of Tanh. */
#include "ops/elementwise/arithmetic.h"

BROADCAST_ROW_2_LONG(tanh_grad_row, a * (1.0f - b * b))

OPERATOR(tanh_grad) = {
    .name = "TanhGrad",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 2},
    .in_place = 1 | 2,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){tanh_grad_row},
    .cases = CASES({"f32[2,3] f32[2,3]"}),
};
