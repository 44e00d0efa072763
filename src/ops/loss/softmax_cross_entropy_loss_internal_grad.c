/* SoftmaxCrossEntropyLossInternalGrad (com.microsoft): the gradient of SoftmaxCrossEntropyLossInternal from its
 * log-probabilities. */
#include "ops/loss/cross_entropy.h"

OPERATOR(softmax_cross_entropy_loss_internal_grad) = {
    .name = "SoftmaxCrossEntropyLossInternalGrad",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {3, 6},
    .in_place = 2,
    .infer = cross_entropy_gradient_infer,
    .run = cross_entropy_gradient_run,
    .cases = CASES({"f32[] f32[3,5]:-3..0 v:i64[3]=0,4,2"},
                   {"f32[3] f32[3,5]:-3..0 v:i64[3]=0,4,2 f32[5]=1,2,0.5,1,3", "reduction=none"}),
};
