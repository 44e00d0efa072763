/* SoftmaxCrossEntropyLossInternal (com.microsoft): as SoftmaxCrossEntropyLoss, with ignore_index as input 3. */
#include "ops/loss/cross_entropy.h"

static Status softmax_cross_entropy_loss_internal_grad(Grad *g) {
  return cross_entropy_grad(g, "SoftmaxCrossEntropyLossInternalGrad");
}

OPERATOR(softmax_cross_entropy_loss_internal) = {
    .name = "SoftmaxCrossEntropyLossInternal",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {2, 4},
    .outputs = {1, 2},
    .infer = cross_entropy_infer,
    .run = cross_entropy_run,
    .counted = cross_entropy_counted,
    .grad = GRADIENT(softmax_cross_entropy_loss_internal_grad),
    .cases = CASES({"f32[3,5] v:i64[3]=0,4,2", NULL, 0, 2}, {"f32[2,5] v:i64[2]=7,7 - i64[]=7", NULL, 0, 2},
                   {"f32[4,5] v:i64[4]=0,-1,2,1 - v:i64[]=-1", "reduction=mean", 0, 2},
                   {"f32[4,5] v:i64[4]=0,1,2,1 f32[5]=1,2,0.5,1,3 i64[]=1", "reduction=none ignore_index=-1"}),
};
