/* Upsample: what Resize was before opset 10. */
#include "kernels/resize.h"

CASES_OF(upsample_cases) = {
    {"f32[1,2,3,4] f32[4]=1,1,2,3", "", 9},
    {"f32[1,2,3,4]", "mode=linear scales=[1.0,1.0,2.0,2.0]", 7},
    {0}};

const Op op_upsample = {
    .name = "Upsample",
    .since = {7, 9},
    .min_in = 1, .max_in = 2, .min_out = 1, .max_out = 1,
    .flags = OP_SMALL_IN_FLOAT,
    .infer = resize_op_infer,
    .run = resize_op_run,
    .grad = resize_op_grad,
    .cases = CASES(upsample_cases),
};
