/* SigmoidGrad (com.microsoft): dx = dy·y·(1 - y), y is the output of Sigmoid. */
#include "ops/elementwise/arithmetic.h"

BROADCAST_ROW_2_LONG(sigmoid_grad_row, a *b * (1.0f - b))

OPERATOR(sigmoid_grad) = {
    .name = "SigmoidGrad",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 2},
    .in_place = 1 | 2,
    .infer = arithmetic_infer,
    .run = arithmetic_run,
    .own = &(const Arithmetic){sigmoid_grad_row},
    .cases = CASES({"f32[2,3] f32[2,3]"}),
};
