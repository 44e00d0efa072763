/* SoftmaxCrossEntropyLoss: the loss of class scores (N, C, d…) against labels, and the log-probabilities.
 * ops/loss/cross_entropy.h has the formulas. A label that is no class makes the loss NaN. */
#include "ops/loss/cross_entropy.h"

static Status softmax_cross_entropy_loss_grad(Grad *g) { return cross_entropy_grad(g, "SoftmaxCrossEntropyLossGrad"); }

OPERATOR(softmax_cross_entropy_loss) = {
    .name = "SoftmaxCrossEntropyLoss",
    .since = {12, 13},
    .inputs = {2, 3},
    .outputs = {1, 2},
    .infer = cross_entropy_infer,
    .run = cross_entropy_run,
    .counted = cross_entropy_counted,
    .grad = GRADIENT(softmax_cross_entropy_loss_grad),
    .cases = CASES({"f32[3,5] v:i64[3]=0,4,2"}, {"f32[3,5] v:i64[3]=0,4,2", NULL, 12, 2},
                   {"f32[3,5] v:i32[3]=0,4,2", "reduction=sum", 0, 2},
                   {"f32[3,5] v:i64[3]=0,4,2", "reduction=none", 0, 2}, {"f32[3,5] v:i64[3]=0,4,2 f32[5]=1,2,0.5,1,3"},
                   {"f32[3,5] v:i64[3]=0,4,2 f32[5]=1,2,0.5,1,3", "reduction=none"},
                   {"f32[4,5] v:i64[4]=0,-100,2,-100", "ignore_index=-100"},
                   {"f32[4,5] v:i64[4]=1,1,2,4 f32[5]=1,2,0.5,1,3", "ignore_index=1 reduction=sum"},
                   {"f32[2,4,3] v:i64[2,3]=0,3,2,1,1,3", NULL, 0, 2},
                   {"f32[2,4,3,2] v:i64[2,3,2]=0,3,2,1,1,3,2,2,0,1,0,3 f32[4]=1,2,0.5,1", "ignore_index=1"},
                   {"f32[2,4,3] v:i32[2,3]=0,3,2,1,1,3", "reduction=none"},
                   {"f32[2,11,7]:-3..3 v:i64[2,7]=0,10,2,1,1,3,9,4,5,10,0,7,8,6", NULL, 0, 2},
                   {"f32[2,4,2] v:i64[2,2]=0,3,2,1"}, {"f32[5,9]:-3..3 v:i64[5]=0,8,3,3,5 f32[9]=1,2,0.5,1,3,1,1,2,1"},
                   {"f32[2,300]:-4..4 v:i64[2]=299,4"}, {"f32[1,3,70] i64[1,70]:0..3", NULL, 0, 2},
                   {"f32[2,3] v:i64[2]=0,3", .no_grad = "a label that is no class: the loss is NaN"},
                   {"f32[2,3,9] v:i64[2,9]=0,1,2,1,1,0,2,2,0,2,1,1,0,0,2,1,0,2"}, {"f32[3,7] v:i64[3]=0,6,2"}),
};
